"""A server of any kind as its contract sees it: the program, and those that control it.

It is run, and not imported, by the name of what it plays, from the folder `bin` beside
`state.json`, in which a test says how it is:

- rcode, records: its answer over DNS, at each of its ports
- answers: recorded answers of its statistics; emptied: those after its caches were emptied
- held: how much it holds; late: what comes while it is emptied; warm: it cannot be emptied
- serial_files: its serial number is the sum of the numbers in them
- log, says: what it logs and prints as it starts; columns: those of its file of leases
- dies: its last words, with which it ends as it starts
- replies: what Kea answers, by command; reloads: what it logs on SIGHUP, by file
- mute: nothing that controls it is answered

What it is asked is in the file `asked`.
"""

import contextlib
import fcntl
import json
import os
import signal
import socket
import struct
import sys
import threading
import time
from pathlib import Path

HERE = Path(sys.argv[0]).parents[1]


def state():
    return json.loads((HERE / "state.json").read_text())


def change(**fields):
    draft = HERE / f"state.{threading.get_ident()}"
    draft.write_text(json.dumps({**state(), **fields}))
    draft.replace(HERE / "state.json")


def note(*words):
    with (HERE / "asked").open("a") as file:
        file.write(" ".join(words) + "\n")


def empty():
    """Empty it, as a flush, a purge or a wipe does."""
    now = state()
    if not now["warm"]:
        change(held=now["late"], late=0, answers=now["emptied"] or now["answers"])


def serial():
    files = [Path(path) for path in state()["serial_files"]]
    return sum(int(path.read_text()) for path in files if path.exists()) % (1 << 32)


def lines(path):
    return len(path.read_text().splitlines()) if path.exists() else 0


# --- what it serves -------------------------------------------------------------------


def names(udp):
    while True:
        query, asker = udp.recvfrom(512)
        now = state()
        if now["mute"]:
            continue
        answer = query[:2] + struct.pack("!HHHHH", 0x8400 | now["rcode"], 1, 0, 0, 0)
        if now["records"]:
            data = b"\0\0" + struct.pack("!5I", serial(), 2, 3, 4, 5)
            record = b"\xc0\x0c" + struct.pack("!HHIH", 6, 1, 60, len(data)) + data
            answer = answer[:6] + struct.pack("!HHH", 1, 0, 0) + query[12:] + record
        udp.sendto(answer, asker)


def statistics(port):
    """named's, over HTTP."""
    from http.server import BaseHTTPRequestHandler, HTTPServer  # noqa: PLC0415  # takes long

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            now = state()
            if now["mute"]:
                return
            text = Path(now["answers"]).read_bytes()
            if self.path.endswith("/zones"):
                zones = [{"name": "z.test", "serial": serial()}]
                text = json.dumps({"views": {"_default": {"zones": zones}}}).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    return HTTPServer(("127.0.0.1", port), Handler).serve_forever


def commands(listening, answer):
    """Answer what comes over a control socket."""
    while True:
        connection, _ = listening.accept()
        with connection, contextlib.suppress(BrokenPipeError):
            command = connection.recv(4096).decode()
            while state()["mute"]:
                time.sleep(0.01)
            connection.sendall(answer(command).encode())


def of_text(command):
    """NSD's and Unbound's."""
    note(command.strip())
    _, verb = command.split()
    if verb == "reload":
        empty()
        return "ok\n"
    answer = {"status": "status", "stats_noreset": "answers"}.get(verb)
    return Path(state()[answer]).read_text() if answer else f"error unknown command '{verb}'\n"


def of_kea(command):
    asked = json.loads(command)
    verb, arguments = asked["command"], asked.get("arguments", {})
    note(verb, *(json.dumps(value) for value in arguments.values()))
    now = state()
    if verb in now["replies"]:
        return json.dumps(now["replies"][verb])
    known = {**now["answers"], "subnet[50].assigned-addresses": now["held"]}
    if verb.endswith("-wipe") or (verb == "config-reload" and not lines(HERE / "leases.csv")):
        empty()
    elif verb == "config-reload":
        change(held=lines(HERE / "leases.csv") - 1)
    elif verb == "statistic-get":
        return json.dumps(
            {"result": 0, "arguments": {arguments["name"]: [[known[arguments["name"]], ""]]}}
        )
    said = {"version-get": {"extended": "2.6.3 (tarball)"}, "config-get": now["configuration"]}
    return json.dumps({"result": 0, "arguments": said.get(verb, {})})


def server():
    now, settings = state(), json.loads((HERE / "settings.json").read_text())
    if now["dies"]:
        sys.exit(now["dies"])
    leases = HERE / "leases.csv"
    if now["columns"] and not leases.exists():
        leases.write_text(now["columns"])
    change(held=max(0, lines(leases) - 1), late=0)
    serves = (HERE / "serves").open("w")
    fcntl.flock(serves, fcntl.LOCK_EX)  # as long as it lives
    sys.stdout.write(now["says"])
    sys.stdout.flush()
    for path, text in now["log"].items():
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_text(text)
    work = []
    for port in now["ports"]:
        udp = socket.socket(type=socket.SOCK_DGRAM)
        udp.bind((settings["address"], port))
        work.append((names, udp))
    if "statistics_port" in settings:
        work.append((statistics(settings["statistics_port"]),))
    for name, answer in (("socket", of_text), ("control_socket", of_kea)):
        if name in settings:
            Path(settings[name]).unlink(missing_ok=True)
            control = socket.socket(socket.AF_UNIX)
            control.bind(settings[name])
            control.listen()
            work.append((commands, control, answer))

    def reload(*_):
        for path, text in state()["reloads"].items():
            with Path(path).open("a") as file:
                file.write(text)

    def end(how):
        sys.excepthook(how.exc_type, how.exc_value, how.exc_traceback)
        os._exit(1)

    signal.signal(signal.SIGHUP, reload)
    threading.excepthook = end
    for function, *arguments in work:
        threading.Thread(target=function, args=arguments, daemon=True).start()
    while True:
        signal.pause()


def bus():
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(HERE / "bus"))
    listening.listen()
    signal.pause()


# --- the programs that control it -----------------------------------------------------


def serves():
    with contextlib.suppress(FileNotFoundError), (HERE / "serves").open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def dbus_send():
    now, held = state(), lines(HERE / "leases")
    if sys.argv[-1].endswith("GetVersion"):
        return "   2.91\n"
    counts = {**now["answers"], "leases_allocated_4": held + 2, "leases_pruned_4": 2}
    return "".join(f"      {name}      uint32 {value}\n" for name, value in counts.items())


def pdns_control():
    now, verb = state(), sys.argv[2]
    if verb == "version":
        return "4.9.18\n"
    if verb == "show":
        text = Path(now["answers"]).read_text()
        return text.replace("packetcache-size=0", f"packetcache-size={now['held']}")
    if verb == "current-config":
        return Path(now["configuration"]).read_text()
    if verb == "purge":
        empty()
        return ""
    sys.stdout.write(f"Unknown command: '{verb}'\n")
    return sys.exit(1)


def rec_control():
    now, verb = state(), sys.argv[2]
    if verb == "wipe-cache":
        empty()
    parts = (now["held"] - 3, 2, 1) if now["held"] else (0, 0, 0)
    figures = {**now["answers"], **dict(zip(now["caches"], parts, strict=True))}
    rows = "".join(f"{name}\t{value}\n" for name, value in figures.items())
    return {"version": "5.2.2\n", "get-all": f"{rows}x-our-latency\t1.5\n"}.get(verb, "")


def rndc():
    empty()
    return ""


def knotc():
    return "Version: 3.4.6\n"


CONTROLS = {
    "dbus-send": dbus_send,
    "knotc": knotc,
    "pdns_control": pdns_control,
    "rec_control": rec_control,
    "rndc": rndc,
}

if __name__ == "__main__":
    name = Path(sys.argv[0]).name
    if name in CONTROLS:
        note(name, *sys.argv[1:])
        if state()["mute"] or not serves():
            sys.exit("connection refused")
        sys.stdout.write(CONTROLS[name]())
    elif name == "bus":
        bus()
    else:
        server()
