"""A foreign server on the test network: a container that is no host of the bench."""

import contextlib
import json

import docker
import pytest
from tests.foreign import reply4
from tests.lab.commands import (
    LONG_TRIALS,
    ROOT,
    SERVING,
    complaint,
    leaselab,
    resumed,
    stopped,
    trials_of,
)

from leaselab.lab.deploy.deployment import read_deployment, write_deployment

pytestmark = pytest.mark.lab

NETWORK = "leaselab-test"
NAME = "leaselab-stranger"
# Sends the frame of its argument (hexadecimal): once, or for each DHCPDISCOVER that it hears.
STRANGER = """
import socket, sys
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
wire.bind(("eth0", 0x0800))
frame = bytes.fromhex(sys.argv[2])
if sys.argv[1] == "once":
    sys.exit(wire.send(frame) != len(frame))
print("ready", flush=True)
while True:
    heard = wire.recv(2048)
    if heard[36:38] == b"\\0\\x43" and heard[42] == 1:
        wire.send(frame)
"""
# Until it listens; what it says goes to a file, so that the command ends and it does not.
SERVE = """
python3 -c "$0" serve "$1" > /tmp/said 2>&1 &
for _ in $(seq 400); do
  if grep -q ready /tmp/said; then exit; fi
  sleep 0.1
done
cat /tmp/said; exit 1
"""


class Stranger:
    """A machine on the test network with addresses of its own."""

    def __init__(self, container):
        self._container = container
        container.reload()
        place = container.attrs["NetworkSettings"]["Networks"][NETWORK]
        self.mac, self.address = place["MacAddress"], place["IPAddress"]
        mac = bytes.fromhex(self.mac.replace(":", ""))
        self._offer = reply4(mac, self.address, self.address).hex()

    @property
    def words(self):
        """What is said of its offer."""
        return f"DHCPOFFER from {self.address} ({self.mac}), server identifier {self.address}"

    def serve(self):
        """Answer every client from now on."""
        self._run(["sh", "-c", SERVE, STRANGER, self._offer])

    def offer(self):
        """Answer once, without having been asked."""
        self._run(["python3", "-c", STRANGER, "once", self._offer])

    def leave(self):
        """Be there no more."""
        with contextlib.suppress(docker.errors.NotFound):
            self._container.remove(force=True)

    def _run(self, argv):
        done = self._container.exec_run(argv)
        assert done.exit_code == 0, done.output.decode()


@pytest.fixture
def stranger(deployed):
    """It has a host's image and belongs to this checkout, so that `lab down` removes it."""
    assert deployed["hosts"]
    engine = docker.from_env()
    host = engine.containers.get(SERVING[1])
    container = engine.containers.run(
        host.image.id,
        name=NAME,
        entrypoint=["sleep", "600"],
        command=[],
        network=NETWORK,
        cgroup_parent=host.attrs["HostConfig"]["CgroupParent"] or None,
        labels={"leaselab_checkout": str(ROOT)},
        detach=True,
    )
    item = Stranger(container)
    yield item
    item.leave()


@pytest.fixture
def kept_record(deployed):
    """What a refused deployment has others forget; it has changed nothing."""
    record = read_deployment(ROOT, deployed["name"])
    yield
    if record is not None:
        write_deployment(ROOT, deployed["name"], record)


def test_no_sweep_begins_beside_a_foreign_server_and_it_goes_on_alone(
    stranger, bench_file, results
):
    """What the generator asks is answered before the start, or in the warm-up."""
    stranger.serve()
    bench = bench_file(warm_up_s=1)
    message = stopped(results, "step", "sweep", bench)
    assert "foreign traffic on the test network" in message
    assert f"found {stranger.words}" in message
    stranger.leave()
    resumed(results)


def test_a_foreign_reply_voids_the_trial_that_it_fell_into(
    stranger, engine, bench_file, results
):
    sweep = engine("step", "sweep", bench_file(**LONG_TRIALS), "--results", results)
    sweep.saw(r"run 1/1: \d+/s for")
    stranger.offer()
    code, last = sweep.end()
    assert code == 0, last
    shown = leaselab("show", "last", "--results", results, "--json")
    trials = trials_of(json.loads(shown.stdout))
    (at,) = [place for place, trial in enumerate(trials) if not trial["valid"]]
    assert trials[at]["reason"] == "foreign-reply"
    assert trials[at]["detail"] == stranger.words
    assert (trials[at + 1]["valid"], trials[at + 1]["rate"]) == (True, trials[at]["rate"])


@pytest.mark.usefixtures("kept_record")
def test_no_server_is_deployed_beside_a_foreign_server(stranger, deployed, results):
    """It is refused before anything of a variant is changed."""
    stranger.serve()
    scenario = deployed["scenario"]["name"]
    done = leaselab("step", "deploy", scenario, "--results", results)
    assert done.returncode == 4, done.stderr
    message = complaint(done)
    assert (
        "There is DHCP on the test network while the servers of the bench are stopped"
        in message
    )
    for host in ("leaselab-server", "leaselab-generator"):
        assert f"{host} heard {stranger.words}" in message
