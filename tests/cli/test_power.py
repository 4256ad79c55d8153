"""`lab power` and the recovery of dead hosts: who is asked first, and what is left alone."""

import json
from functools import partial

import pytest
from tests.bench_document import DOCUMENT
from tests.here import LISTING, Here, request
from tests.inventories import parsed

from leaselab.archive.bench_notes import RECOVERY, STATUS, read_note, write_note
from leaselab.archive.store import Store
from leaselab.catalog.checkout import checkout_root
from leaselab.cli import check, hold, lab
from leaselab.cli.main import main
from leaselab.lab.bench import benches, lease
from leaselab.lab.bench.lease import write_hold
from leaselab.lab.bench.lock import ask, new_hold, status
from leaselab.lab.deploy import deployment
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.lab.hosts import boot
from leaselab.model.bench import HostAccess
from leaselab.model.errors import IN_USE, lab_broken
from leaselab.run import preparation, recovery, workshop
from leaselab.run.experiment import begin
from leaselab.run.recovery import Switched

GENERATOR = HostAccess("gen", "192.0.2.1", "root", "/key", "/known")
SWITCH = {"leaselab_power": {"command": ["pdu", "{action}", "{host}"]}}
HOSTS = {"sut": {"leaselab_bench": "rack1", **SWITCH}, "gen": SWITCH, "bld": {}}


class Bench(Here):
    """A bench whose power switches are noted, not used; a cycle brings a host back."""

    switched = ()
    stays_dead = False

    def switch(self, _inventory, host, verb):
        self.switched = (*self.switched, (host.access.name, verb))
        with_lock = "gen" not in self.dead
        self.holders = (*getattr(self, "holders", ()), self.holder() if with_lock else None)
        if verb in ("on", "cycle") and not self.stays_dead:
            self.dead.discard(host.access.name)
        return Switched("on", "off" if verb == "off" else "on")

    def wait(self, host, _switched):
        if host.access.name in self.dead:
            raise lab_broken("it does not answer by SSH within 600 s", where=host.access.name)
        return 42.0

    def holder(self):
        with self(GENERATOR) as generator:
            return (status(generator).holder or {}).get("purpose")


@pytest.fixture
def hostvars():
    return {name: dict(variables) for name, variables in HOSTS.items()}


@pytest.fixture
def bench(tmp_path, monkeypatch, hostvars):
    monkeypatch.setenv("LEASELAB_ROOT", str(tmp_path))
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path / "results"))
    listing = {**LISTING, "_meta": {"hostvars": hostvars}, "builder": {"hosts": ["bld"]}}
    monkeypatch.setattr(benches, "read_inventory", lambda path: parsed(path, listing))
    bench = Bench(tmp_path / "host", monkeypatch, lease, hold, benches, boot)
    monkeypatch.setattr(
        recovery, "silent", partial(boot.silent, connector=bench, sleep=lambda _: None)
    )
    for module in (lab, recovery):
        monkeypatch.setattr(module, "switch", bench.switch)
        monkeypatch.setattr(module, "wait", bench.wait)
    return bench


def taken(bench, token="theirs"):  # noqa: S107  # made up
    with bench(GENERATOR) as generator:
        ask(generator, "acquire", {**request("ana@laptop"), "token": token})


def hold_here(bench):
    """Have this checkout hold the bench."""
    held = new_hold("a build", 600)
    write_hold(checkout_root(), "rack1", held)
    with bench(GENERATOR) as generator:
        ask(generator, "acquire", held)


def said_after(capsys, *words, code=0):
    """What a command says, which ends so."""
    assert main([*words]) == code
    return "".join(capsys.readouterr())


class TestCommand:
    def test_it_says_what_was_done_and_how_long_the_boot_took(self, bench, capsys):
        """Nothing is waited for after `off` and `status`."""
        said = said_after(capsys, "lab", "power", "cycle", "sut")
        assert said == "sut: on, was on; it answers by SSH, 42 s later\n"
        assert bench.holders == ("power cycle of sut",), "nobody may begin meanwhile"
        assert bench.holder() is None
        known = {"bench": "rack1", "host": "sut", "before": "on", "answered_after_s": None}
        for verb, state in (("off", "off"), ("status", "on")):
            document = json.loads(said_after(capsys, "lab", "power", verb, "sut", "--json"))
            assert document == {**known, "power": state}

    @pytest.mark.parametrize("host", ["sut", "gen"])
    def test_a_bench_that_is_held_is_refused_unless_it_is_forced(self, bench, capsys, host):
        taken(bench)
        said = said_after(capsys, "lab", "power", "cycle", host, code=IN_USE)
        assert "the bench is in use (found ana@laptop, a test" in said
        assert bench.switched == ()
        assert main(["lab", "power", "status", host]) == 0
        assert main(["lab", "power", "cycle", host, "--force"]) == 0
        assert bench.switched == ((host, "status"), (host, "cycle"))

    def test_who_holds_the_bench_may_switch_it_and_holds_it_on(self, bench):
        hold_here(bench)
        assert main(["lab", "power", "cycle", "sut"]) == 0
        assert main(["lab", "power", "cycle", "gen"]) == 0
        assert bench.holder() == "a build"

    def test_a_dead_generator_may_be_switched_itself_and_no_other_host(self, bench, capsys):
        bench.dead = {"gen"}
        said = said_after(capsys, "lab", "power", "cycle", "sut", code=4)
        assert "gen: it does not answer, so the holder of the bench is unknown" in said
        assert bench.switched == ()
        said = said_after(capsys, "lab", "power", "cycle", "gen")
        assert "the bench lock is not checked" in said
        assert bench.switched == (("gen", "cycle"),)

    @pytest.mark.usefixtures("bench")
    def test_a_host_that_nothing_switches_and_one_that_is_none_are_reported(self, capsys):
        said = said_after(capsys, "lab", "power", "on", "bld", code=2)
        assert "host bld: this host has no power switch" in said
        assert "'sut'?" in said_after(capsys, "lab", "power", "on", "sot", code=2)


@pytest.fixture
def playbooks(bench, monkeypatch):
    """What is played finds every host alive, or says which is not.

    `provision` also proves `run` and `rerun`, which prepare a bench by the same function.
    """

    def play(*_):
        if bench.dead:
            raise lab_broken("cannot be reached", where=min(bench.dead))
        raise KeyboardInterrupt

    def look(_):
        errors = [{"level": "error", "text": f"{host}: ssh"} for host in bench.dead]
        return {"findings": errors}

    monkeypatch.setattr(preparation, "play", play)
    monkeypatch.setattr(deployment, "played_hash", lambda *_: "0")
    monkeypatch.setattr(hold, "inspect", look)
    monkeypatch.setattr(preparation, "install_lock", lambda _: None)


@pytest.mark.parametrize("command", ["lab power on gen", "step provision"])
@pytest.mark.usefixtures("playbooks")
def test_a_generator_that_was_last_seen_in_maintenance_is_left_alone(
    bench, capsys, tmp_path, command
):
    bench.dead = {"gen"}
    note = {"state": "maintenance", "detail": "ana@laptop: new card"}
    write_note(tmp_path / "results", "rack1", STATUS, note)
    said = said_after(capsys, *command.split(), code=4)
    assert "last seen in maintenance: ana@laptop: new card" in said
    assert bench.switched == ()


@pytest.mark.usefixtures("playbooks")
class TestRecovery:
    @pytest.mark.parametrize(
        ("dead", "holders"),
        [
            ({"sut"}, ("step provision",)),
            ({"gen"}, (None,)),
            ({"sut", "gen"}, (None, "step provision")),
        ],
    )
    def test_dead_hosts_are_cycled_once_before_anything_is_played(
        self, bench, capsys, dead, holders
    ):
        """The generator first, as it knows who has the bench, which is nobody's meanwhile."""
        bench.dead = set(dead)
        said = said_after(capsys, "step", "provision", code=130)
        assert bench.switched == tuple((name, "cycle") for name in sorted(dead))
        assert bench.holders == holders
        assert bench.holder() is None
        for name in dead:
            assert f"leaselab: {name} does not answer: its power is cycled\n" in said
            assert f"leaselab: {name} answers again, 42 s later\n" in said
        note = read_note(bench.folder.parent / "results", "rack1", RECOVERY)
        assert set(note["boot_s"]) <= {"server", "generator"}

    @pytest.mark.parametrize("held", [False, True])
    def test_a_bench_that_is_taken_is_recovered_too_and_what_was_held_is_released(
        self, bench, monkeypatch, held
    ):
        def stop(_):
            if bench.dead:
                raise lab_broken("cannot be reached", where="sut")

        monkeypatch.setattr(hold, "stop_leftovers", stop)
        if held:
            hold_here(bench)
        bench.dead = {"sut"}
        assert main(["lab", "take"]) == 0
        assert bench.switched == (("sut", "cycle"),)
        assert bench.holder() == "lab take"
        assert main(["lab", "release"]) == 0

    def test_nothing_is_done_to_a_bench_that_is_held(self, bench, capsys):
        taken(bench)
        bench.dead = {"sut"}
        for command in (["step", "provision"], ["lab", "take"]):
            said = said_after(capsys, *command, code=IN_USE)
            assert "the bench is in use (found ana@laptop" in said
        assert bench.switched == ()

    def test_where_no_host_answers_it_may_be_the_way_there(self, bench, hostvars, capsys):
        """A sweep may go on behind a broken network; a lab of this machine is brought up."""
        bench.dead = {"sut", "gen", "bld"}
        said = said_after(capsys, "step", "provision", code=4)
        assert "no host was power-cycled: no host answers" in said
        hostvars["sut"]["leaselab_lab"] = "guest"
        said = said_after(capsys, "step", "provision", code=4)
        assert "no host was power-cycled" not in said
        assert bench.switched == ()

    def test_a_dead_generator_without_a_switch_keeps_all_from_being_switched(
        self, bench, hostvars, capsys
    ):
        hostvars["gen"].clear()
        bench.dead = {"sut", "gen"}
        said = said_after(capsys, "step", "provision", code=4)
        assert "gen keeps the bench lock, does not answer" in said
        assert bench.switched == ()

    def test_one_that_does_not_come_back_is_cycled_once(self, bench, capsys):
        bench.dead, bench.stays_dead = {"sut"}, True
        said = said_after(capsys, "step", "provision", code=4)
        assert "sut: it does not answer by SSH" in said
        assert bench.switched == (("sut", "cycle"),)
        assert bench.holder() is None

    @pytest.mark.parametrize("recovers", [True, False])
    def test_a_check_only_looks_unless_it_is_to_recover(
        self, bench, monkeypatch, capsys, recovers
    ):
        seen = []

        def look(*_):
            seen.append(set(bench.dead))
            return {"bench": "rack1", "ok": True, "errors": 0, "warnings": 0, "findings": []}

        monkeypatch.setattr(check, "inspect", look)
        bench.dead = {"sut"}
        assert main(["lab", "check", *["--recover"][: int(recovers)]]) == 0
        assert seen == [set() if recovers else {"sut"}]
        bench.dead = {"sut"}
        taken(bench)
        said = said_after(capsys, "lab", "check", "--recover")
        assert "of the recovery: gen: the bench is in use" in said
        assert seen[-1] == {"sut"}
        assert main(["lab", "check", "--recover", "--judge", "-"]) == 2, "that asks no host"


class TestResume:
    @pytest.fixture
    def sweep(self, bench, monkeypatch, tmp_path):
        """An unfinished sweep of the bench; what goes on with it notes who is dead."""
        (tmp_path / "inventory").mkdir()
        (tmp_path / "inventory" / "rack1.yml").touch()
        document = {**DOCUMENT, "name": "rack1", "inventory": "inventory/rack1.yml"}
        point_id = "20261123T113005Z-v4-memfile-3f9a"
        store = Store(tmp_path / "results")
        bench_of = parse_bench(document, "tests")
        (running,) = begin(store, {point_id: bench_of}, tmp_path)
        running.close()
        bench.seen = []

        class Unconnected(workshop.Workshop):
            def connect(self, *_):
                bench.seen.append(set(bench.dead))
                raise lab_broken("as far as this test goes")

        monkeypatch.setattr(workshop, "LAB", Unconnected())
        return running.id

    def test_a_dead_host_is_left_dead_unless_it_is_asked_for(self, bench, sweep):
        bench.dead = {"sut"}
        assert main(["resume", sweep]) == 4
        assert main(["resume", sweep, "--recover"]) == 4
        assert bench.seen == [{"sut"}, set()]
        assert bench.holders == (sweep,)

    def test_another_users_bench_is_left_alone(self, bench, sweep, capsys):
        taken(bench)
        bench.dead = {"sut"}
        assert main(["resume", sweep, "--recover"]) == IN_USE
        assert "the bench is in use (found ana@laptop" in capsys.readouterr().err
        assert bench.switched == ()
        assert bench.seen == []
