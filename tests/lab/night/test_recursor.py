"""A recursor asks the lab's own hierarchy, and no query of it leaves the test network."""

import json

import pytest
from tests.lab.commands import leaselab, trials_of

pytestmark = pytest.mark.lab

SCENARIO = "bind9-recursive-cold"

# Counts packets to or from the ports of DNS, by interface, until it is ended; what SSH carries
# is not of them.  UDP and TCP alike, over IPv4 and IPv6.
COUNT = """
import collections, json, signal, socket, struct
PORTS = {53, 853, 5353}
counts = collections.Counter()
wire = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
def tell(*_):
    with open("/tmp/dns-packets.json", "w") as file:
        json.dump(counts, file)
    raise SystemExit
signal.signal(signal.SIGTERM, tell)
open("/tmp/dns-packets.ready", "w").close()
while True:
    packet, (interface, protocol, *_) = wire.recvfrom(256)
    if protocol == 0x0800:
        kind, ports = packet[9], (packet[0] & 15) * 4
    elif protocol == 0x86DD:
        kind, ports = packet[6], 40
    else:
        continue
    counts[interface + " all"] += 1
    if kind in (6, 17) and PORTS & set(struct.unpack("!2H", packet[ports:ports + 4])):
        counts[interface + " dns"] += 1
"""
BEGIN = """
rm -f /tmp/dns-packets.*
python3 -c "$(cat)" > /tmp/dns-packets.said 2>&1 < /dev/null &
echo $! > /tmp/dns-packets.pid
for _ in $(seq 400); do
  if [ -e /tmp/dns-packets.ready ]; then exit; fi
  sleep 0.1
done
cat /tmp/dns-packets.said; exit 1
"""
END = """
pid=$(cat /tmp/dns-packets.pid); kill $pid
for _ in $(seq 400); do [ -e /proc/$pid ] || break; sleep 0.1; done
cat /tmp/dns-packets.json; rm -f /tmp/dns-packets.*
"""
HOSTS = ("server", "partner", "generator")


@pytest.fixture
def counted(on_host):
    """Count the packets of all hosts from now on; return how to end that, and what was seen."""

    def begin(role):
        on_host(role, BEGIN.replace('"$(cat)"', f"'{COUNT}'"))

    for role in HOSTS:
        begin(role)
    return lambda: {role: json.loads(on_host(role, END)) for role in HOSTS}


def test_no_query_of_a_recursor_leaves_the_test_network(bench_file, deployed, results, counted):
    bench = bench_file(start_rate=300, trial_s=2)
    done = leaselab("step", "sweep", bench, "--results", results, "--json")
    seen = counted()
    assert done.returncode == 0, done.stderr
    trials = trials_of(json.loads(done.stdout))
    asked = sum(trial["attempted"] for trial in trials)
    for role in HOSTS:
        inside = deployed["hosts"][role]["test_interface"]
        # each query of the generator, and what the recursor asks for it
        assert seen[role][f"{inside} dns"] > asked, seen
        outside = {name for name in seen[role] if name.split()[0] not in (inside, "lo")}
        # SSH is there, so it was looked at; nothing of DNS is
        assert {name.split()[1] for name in outside} == {"all"}, seen


def test_a_cold_cache_is_empty_before_each_trial(bench_file, results):
    done = leaselab("step", "sweep", bench_file(start_rate=200), "--results", results, "--json")
    assert done.returncode == 0, done.stderr
    trials = trials_of(json.loads(done.stdout))
    assert len(trials) > 1
    for trial in trials:
        assert trial["held"]["server"] >= trial["completed"]
        before, *_, after = trial["samples"]["server"]
        recursed = after["counters"]["QryRecursion"] - before["counters"]["QryRecursion"]
        assert recursed >= trial["completed"]
