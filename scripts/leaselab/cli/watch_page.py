"""The live page of ``leaselab watch``, served to this machine alone."""

from __future__ import annotations

import ipaddress
import json
import sys
import threading
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from leaselab.cli.followed import Source
from leaselab.model.errors import usage_error
from leaselab.report.site.bracket_chart import bracket_chart
from leaselab.report.site.figure import script
from leaselab.report.site.pages import live_page, page_file
from leaselab.report.site.seconds_chart import seconds_chart

LOOPBACK = "127.0.0.1"
EVERY_S = 1.0
_FILES = {
    "/assets/live.js": "text/javascript",
    "/assets/leaselab.css": "text/css",
    "/assets/icon.svg": "image/svg+xml",
}


def serve(source: Source, port: int) -> None:
    """Serve the page until the sweep ends or the user interrupts.

    Raises usage_error when the port is taken.
    """
    pages = _Pages(source)
    try:
        server = _server(pages, port)
    except OSError as error:
        raise usage_error(
            f"port {port} cannot be used: {error.strerror}", where=LOOPBACK, todo="name another"
        ) from error
    with server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        print(f"http://{LOOPBACK}:{server.server_address[1]}/", flush=True)
        print("leaselab: until the sweep ends, or Ctrl-C", file=sys.stderr, flush=True)
        ended = threading.Event()
        try:
            while pages.refresh():
                ended.wait(EVERY_S)
        except KeyboardInterrupt:
            pass  # the sweep continues; the viewer has disconnected
        finally:
            server.shutdown()


def names_loopback(host: str | None) -> bool:
    """Whether a request's Host header names this machine's loopback address.

    Only such a request is answered: a page of the web whose name is made to lead here (DNS
    rebinding) asks by that name, and would be allowed to read the answers.  Any port is
    right, as the page may be looked at through a forwarded one.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class _Pages:
    """What the page and its script ask for."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._script = script().encode()

    def refresh(self) -> bool:
        with self._lock:
            return self._source.refresh()

    def content(self, path: str) -> tuple[bytes, str] | None:
        """What lies at a path, and its type; None where there is nothing."""
        if path == "/":
            return live_page(self._source.view.title).encode(), "text/html; charset=utf-8"
        if path == "/state.json":
            return self._state(), "application/json"
        if path == "/assets/charts.js":
            return self._script, "text/javascript"
        kind = _FILES.get(path)
        return (page_file(path.rpartition("/")[2]), kind) if kind else None

    def _state(self) -> bytes:
        with self._lock:
            view = self._source.view
            state = {
                "title": view.title,
                "facts": view.facts(datetime.now(UTC)),
                "bracket": bracket_chart(view.tried, view.procedure, f"{view.plural}/s"),
                "chart": seconds_chart(
                    view.round(),
                    plural=view.plural,
                    holds=view.holds,
                    loss_goal=view.procedure.loss_goal,
                    offered=view.procedure.ramps,
                ),
            }
        return json.dumps(state).encode()


def _server(pages: _Pages, port: int) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name that http.server asks for
            if not names_loopback(self.headers.get("Host")):
                self.send_error(
                    HTTPStatus.MISDIRECTED_REQUEST, explain=f"ask for http://{LOOPBACK}/"
                )
                return
            there = pages.content(self.path)
            if there is None:
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            content, kind = there
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name
            """Log nothing: there is a request each second."""

    return ThreadingHTTPServer((LOOPBACK, port), Handler)
