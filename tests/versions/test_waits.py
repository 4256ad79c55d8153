"""Where the time of a real Kea goes that has a far database, is stopped often, or both.

The packets that it exchanges and the times of its stops are the truth.
"""

import json
import subprocess
from collections import Counter

import pytest
from tests.contracts import ROLES
from tests.rooted import APART, LOADS, cabled, offered
from tests.tools import AS_ROOT, run
from tests.versions.test_kea_databases import Database

PACKAGES = ("postgresql", "kea-admin", "kea-dhcp4-server")
PORT = 13067
CONFIG = {
    "interfaces-config": {"interfaces": ["s0"], "dhcp-socket-type": "udp"},
    "lease-database": {
        "type": "postgresql",
        "host": "127.0.0.1",
        "port": PORT,
        "name": "kea",
        "user": "postgres",
    },
    "subnet4": [
        {
            "id": 1,
            "subnet": "10.0.0.0/8",
            "pools": [{"pool": "10.0.0.1 - 10.0.3.254"}],
            "relay": {"ip-addresses": ["198.18.0.30"]},
        }
    ],
    "loggers": [
        {"name": "kea-dhcp4", "severity": "WARN", "output-options": [{"output": "stdout"}]}
    ],
    "multi-threading": {"enable-multi-threading": False},
}
KEA = {
    "argv": ["/usr/sbin/kea-dhcp4", "-c", "/etc/kea.json"],
    "pid_file": "/run/kea.pid",
    "output_file": "/run/kea.out",
    "error_words": ["ERROR"],
    "environment": {"KEA_PIDFILE_DIR": "/run", "KEA_LOCKFILE_DIR": "none"},
}
LINK = {
    "argv": ["/usr/bin/python3", "/opt/leaselab-delayed-link", "/etc/link.json", "127.0.0.1"],
    "pid_file": "/run/link.pid",
    "output_file": "/run/link.out",
    "error_words": ["ERROR"],
}
LOOKS = """
import contextlib, json, os, select, socket, struct, sys, threading, time
sys.path.insert(0, "/opt/leaselab")
from leaselab_contract import brake, process, waits
stop_s, port, link, kea = map(json.loads, sys.argv[1:])
with contextlib.suppress(PermissionError):
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # Kea, too, on a busy machine
EVERYTHING, IPV4, TIMES, ROOM, SENT = 3, 0x800, 35, 33, 4
wire = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(EVERYTHING))
wire.setsockopt(socket.SOL_SOCKET, TIMES, 1)
wire.setsockopt(socket.SOL_SOCKET, ROOM, 1 << 27)
events, over = [], threading.Event()
def brakes():
    while stop_s and not over.wait(0.02):
        events.append((time.time(), "stop"))
        with brake.stopped(pid):
            time.sleep(stop_s)
            events.append((time.time(), "go"))
def event(packet, device, sent):
    head = 4 * (packet[0] & 15)
    if device == "s0" and packet[9] == socket.IPPROTO_UDP:
        return "reply" if sent else "request"
    if device != "lo" or sent or packet[9] != socket.IPPROTO_TCP:
        return None
    ports = struct.unpack_from("!HH", packet, head)
    is_data = len(packet) > head + 4 * (packet[head + 12] >> 4)
    return {ports[0]: "answer", ports[1]: "question"}.get(port) if is_data else None
def listens(table, port):
    with open(f"/proc/net/{table}") as file:
        if f":{port:04X} " not in file.read():
            raise OSError("it does not listen")
for each, where in ((link, ("tcp", port)), (kea, ("udp", 67))):
    process.wait_until(lambda: listens(*where), process.launch(each), each, 1800)
pid = process.running_pid(kea)
watch, looks = waits.Watch([pid], lambda _: "database"), []
print("looks", flush=True)
braking = threading.Thread(target=brakes)
braking.start()
def ends(seconds):
    looks.append(seconds)
    return select.select([sys.stdin], [], [], seconds)[0]
watch.until(ends)
over.set()
braking.join()
spent = watch.taken()
process.end(kea)
process.end(link)
with contextlib.suppress(BlockingIOError):
    while True:
        packet, ((_, _, at), *_), _, (device, protocol, kind, *_) = wire.recvmsg(
            1 << 16, 99, socket.MSG_DONTWAIT
        )
        if protocol == IPV4 and (what := event(packet, device, kind == SENT)):
            seconds, nanoseconds = struct.unpack("qq", at)
            events.append((seconds + nanoseconds / 1e9, what))
weighed = sum(looks) ** 2 / sum(seconds**2 for seconds in looks)
print(json.dumps({"waits": spent, "looks": weighed, "events": sorted(events)}))
"""
STOPPED = "stopped by a signal"


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """A database with Kea's schema, and Kea beside it in its root, with the contract."""
    made = Database("trixie", "postgresql", PACKAGES)
    run(*AS_ROOT, "mkdir", "-p", made.place / "opt")
    run(*AS_ROOT, "cp", "-rT", ROLES / "contract/files", made.place / "opt/leaselab")
    run(*AS_ROOT, "cp", ROLES / "delayed_link/files/leaselab-delayed-link", made.place / "opt")
    text = json.dumps({"Dhcp4": CONFIG})
    run(*AS_ROOT, "tee", made.place / "etc/kea.json", input=text)
    with made.running(tmp_path_factory.mktemp("database") / "log"):
        made.done("kea-admin", *made.settings["schema_argv"][1:])
        yield made


def spent(events):
    """Seconds of requests by what they waited for, and how many questions they had.

    A request that comes during a stop waits in the socket until the stop has ended.
    """
    seconds, questions, state, before = Counter(), 0, set(), 0.0
    begins = {"request": "asked", "question": "database", "stop": STOPPED}
    ends = {"reply": "asked", "answer": "database", "go": STOPPED}
    for at, what in events:
        if "asked" in state:
            order = ("socket", "database", STOPPED, "asked")
            seconds[next(each for each in order if each in state)] += at - before
            questions += what == "question"
        before = at
        if what == "request" and STOPPED in state:
            state.add("socket")
        state |= {begins.get(what)}
        state -= {ends.get(what), "socket" if what == "go" else None}
    return seconds, questions


@pytest.mark.parametrize(("one_way_s", "stop_s"), [(0.005, 0.0), (0.0, 0.02), (0.005, 0.02)])
def test_the_waits_of_a_real_server_are_those_that_its_packets_show(
    database, one_way_s, stop_s
):
    """Within 5 %, or what so many looks can say, by their weights: four standard deviations.

    While it waits for a processor, an answer or a stop may be there, or not yet.  What it does
    after a reply belongs to no request there, and may be stopped, too.
    """
    settings = json.dumps({"one_way_ms": 1e3 * one_way_s})
    run(*AS_ROOT, "tee", database.place / "etc/link.json", input=settings)
    with cabled("waits") as (server, generator):
        inside = [*server, "unshare", "--mount", "sh", "-c", APART, "sh", database.place]
        link = {**LINK, "argv": [*LINK["argv"], str(PORT), database.settings["socket"]]}
        given = [json.dumps(each) for each in (stop_s, PORT, link, KEA)]
        words = [*map(str, inside), "python3", "-c", LOOKS, *given]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(words, **pipes) as looking:
            assert looking.stdout.readline() == "looks\n"
            load = ["--window", "1", "--transactions", "100", "--clients", "20"]
            assert offered(generator, *LOADS[4], *load)["ended"] != "failed"
            seen = json.loads(looking.communicate("\n")[0])
    truth, questions = spent(seen["events"])
    assert truth["database"] >= 2 * one_way_s * questions
    waits, elapsed_s = seen["waits"], sum(truth.values())
    for name in ("database", STOPPED):
        share = truth[name] / elapsed_s
        spread_s = elapsed_s * (share * (1 - share) / seen["looks"]) ** 0.5
        reach_s = max(4 * spread_s, 0.05 * truth[name])
        most_s = truth[name] + (truth["socket"] if name == STOPPED else 0.0)
        least_s = truth[name] - waits["processor"]
        seen_s = waits.get(name, 0.0)
        assert least_s - reach_s <= seen_s <= most_s + reach_s, (name, truth, waits)
