"""A double of a controller's remote API: as much of it as jenkins-jobs uses.

It remembers jobs, folders and views, wants a user and a crumb, and refuses what Jenkins
refuses: a job in a folder that is not there, a second one of the same name, another kind of
job under an old name, a POST without the crumb.
"""

import base64
import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree

USER, TOKEN = "leaselab-jobs", "a-token-made-up-here"
CRUMB = "crumb-made-up-here"
CONTAINERS = ("Folder", "WorkflowMultiBranchProject")


def parsed(text):
    """The XML of a configuration; ValueError where it is none."""
    try:
        return ElementTree.fromstring(text)  # noqa: S314 - made by the test itself
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from error


class Controller:
    """What the double remembers."""

    def __init__(self):
        self.jobs = {}
        self.views = {}
        self.posts = []
        self.url = ""

    def container(self, name):
        """Whether there is a folder of that name; the empty name is the controller itself."""
        return not name or (
            name in self.jobs and parsed(self.jobs[name]).tag.endswith(CONTAINERS)
        )

    def tree(self, parent=""):
        """What lies in a folder, with all below it."""
        results = []
        for name in self.jobs:
            folder, _, short = name.rpartition("/")
            if folder == parent:
                path = "".join(f"job/{part}/" for part in name.split("/"))
                item = {"name": short, "url": f"{self.url}/{path}"}
                if self.container(name):
                    item["jobs"] = self.tree(name)
                else:
                    item["color"] = "notbuilt"
                results.append(item)
        return results

    def state(self):
        """All that it remembers, to compare with later."""
        return dict(self.jobs), dict(self.views)


def as_stored(text, old=None):
    """A configuration as Jenkins would write it back; ValueError where it would refuse."""
    new = parsed(text)
    if old is not None and parsed(old).tag != new.tag:
        raise ValueError("another kind of job")
    if new.tag == "flow-definition" and new.find("disabled") is None:
        ElementTree.SubElement(new, "disabled").text = "false"
    for element in new.iter():
        element.text, element.tail = (element.text or "").strip(), ""
    return ElementTree.tostring(new, encoding="unicode")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    @property
    def controller(self):
        return self.server.controller

    def answer(self, code, body="", **headers):
        data = body.encode()
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("X-Jenkins", "2.580.1")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def answer_json(self, value):
        self.answer(200, json.dumps(value))

    def known(self):
        """Whether the request names its user; answers it if not."""
        wanted = "Basic " + base64.b64encode(f"{USER}:{TOKEN}".encode()).decode()
        if self.headers.get("Authorization") == wanted:
            return True
        self.answer(401, "who are you?")
        return False

    def parts(self):
        """(folder or job, view, what is asked of it) of the path, and the query."""
        split = urlsplit(self.path)
        match = re.fullmatch(r"/((?:job/[^/]+/)*)(?:view/([^/]+)/)?(.*)", split.path)
        names = [unquote(part) for part in re.findall(r"job/([^/]+)/", match[1])]
        view = unquote(match[2]) if match[2] else None
        return "/".join(names), view, match[3], parse_qs(split.query)

    def do_GET(self):
        if not self.known():
            return
        job, view, asked, _ = self.parts()
        controller = self.controller
        if asked == "crumbIssuer/api/json":
            self.answer_json({"crumbRequestField": "Jenkins-Crumb", "crumb": CRUMB})
        elif view is not None:
            self.show(controller.views.get(view), asked, {"name": view})
        elif job:
            config = controller.jobs.get(job)
            disabled = "<disabled>true</disabled>" in (config or "")
            info = {"name": job.rpartition("/")[2], "disabled": disabled}
            self.show(config, asked, info)
        elif asked == "api/json":
            views = [{"name": name, "url": controller.url} for name in controller.views]
            self.answer_json({"jobs": controller.tree(), "views": views})
        else:
            self.answer(200 if not asked else 404)

    def show(self, config, asked, info):
        if config is None:
            self.answer(404)
        elif asked == "config.xml":
            self.answer(200, config)
        else:
            self.answer_json(info)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        if not self.known():
            return
        if self.headers.get("Jenkins-Crumb") != CRUMB:
            self.answer(403, "No valid crumb was included in the request")
            return
        job, view, asked, query = self.parts()
        (name,) = query.get("name", [""])
        self.controller.posts.append((asked, view or "/".join(filter(None, (job, name)))))
        try:
            self.change(job, view, asked, name, body)
        except KeyError:
            self.answer(404)
        except ValueError as error:
            self.answer(500, str(error))

    def change(self, job, view, asked, name, body):
        if asked == "createView" or view is not None:
            self.change_view(view, asked, name, body)
        else:
            self.change_job(job, asked, name, body)
        if asked == "doDelete":
            self.answer(302, Location=f"{self.controller.url}/")
        else:
            self.answer(200)

    def change_view(self, view, asked, name, body):
        views = self.controller.views
        if asked == "createView":
            if name in views:
                raise ValueError(f"{name} is there")
            views[name] = as_stored(body)
        elif asked == "config.xml":
            views[view] = as_stored(body, views[view])
        elif asked == "doDelete":
            del views[view]
        else:
            raise KeyError(asked)

    def change_job(self, job, asked, name, body):
        jobs = self.controller.jobs
        if asked == "createItem":
            if not self.controller.container(job):
                raise KeyError(job)
            full = f"{job}/{name}" if job else name
            if full in jobs or re.search(r"[?*/\\%!@#$^&|<>\[\]:;]", name):
                raise ValueError(f"{name} is there, or is no name")
            jobs[full] = as_stored(body)
        elif asked == "config.xml":
            jobs[job] = as_stored(body, jobs[job])
        elif asked == "doDelete":
            del jobs[job]
            for below in [item for item in jobs if item.startswith(f"{job}/")]:
                del jobs[below]
        else:
            raise KeyError(asked)


@contextmanager
def running():
    """A controller that answers on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.controller = Controller()
    server.controller.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.controller
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
