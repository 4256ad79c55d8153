"""The verbs of a pipeline one by one, on a real repository; playbooks left out."""

import errno
import gzip
import json
import os
import re
import threading
from argparse import Namespace
from copy import deepcopy
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path

import msgspec
import pytest
from tests.bench_document import DOCUMENT
from tests.build_record import ANSWER
from tests.here import LISTING, Here, request
from tests.inventories import parsed
from tests.repositories import commit, make_repository
from tests.waiting import HANGS_S

from leaselab.archive.store import Store
from leaselab.builds.artifacts import source_hash
from leaselab.builds.repository import open_repository
from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.checkout import checkout_root
from leaselab.cli import bench_options, hold
from leaselab.cli.main import main
from leaselab.lab.bench import benches, lease, made_here
from leaselab.lab.bench.lease import write_hold
from leaselab.lab.bench.lock import ask, new_hold
from leaselab.lab.deploy import deployment
from leaselab.lab.deploy.playbook import PlaybookStats
from leaselab.model.bench import HostAccess
from leaselab.model.errors import (
    IN_USE,
    LeaselabError,
    Outcome,
    lab_broken,
    server_broken,
    usage_error,
)
from leaselab.model.procedures import procedure_of
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.run import building, preparation, variants

KEY = ANSWER["key"]
BUILDS = "leaselab_builds"
GENERATOR = HostAccess("gen", "192.0.2.1", "root", "/key", "/known")


class Playbooks:
    """What each playbook was given; one that is to fail does."""

    def __init__(self, checkout):
        self.given = {}
        self.proofs = set()
        self.here = None
        self.played = []
        self.faults = {}
        self.states = {"sut": "0", "gen": "0", "builder": "0"}
        self.there = set()
        self.variables = {"leaselab_bench": "rack1"}
        """Those of the inventory for the server's host."""
        self.company = True
        """Whether a server can be up at two places at once."""
        self.checkout = checkout
        self.building = threading.Event()
        """Once set, a build of the generator ends."""
        self.building.set()

    def __call__(self, names, _inventory, variables, _show=None, keep=lambda: None):
        """Note what is played; its proof must be that of a lock that is held."""
        keep()
        if "bench_lock_hold" in variables:
            proof = Path(variables["bench_lock_hold"])
            assert proof.read_bytes()
            self.proofs.add(proof)
        if names == "generator":
            return self.generator(names, variables)
        for name in (names,) if isinstance(names, str) else names:
            self._play(name, variables)
        custom = {"environment": "7-abc", "build": {"key": KEY}}
        return PlaybookStats(1, self.checkout / "log", custom)

    def generator(self, name, variables):
        """Build the generator as its playbook does, beside another one."""
        self.given[name] = variables
        builds = self.checkout / ".leaselab" / "builds"
        (builds / KEY).mkdir(parents=True, exist_ok=True)
        (builds / KEY / "artifact.tar.gz").touch()
        kept = {"source": source_hash(), "key": KEY}
        (builds / "leaseload.json").write_text(json.dumps(kept), encoding="utf-8")
        assert self.building.wait(HANGS_S)
        return PlaybookStats(2, self.checkout / "log")

    def _play(self, name, variables):
        self.given[name] = variables
        self.played.append(name)
        if name == "lab_up":
            self.here.dead.clear()
        if name in self.faults:
            raise self.faults[name]
        if name == "tune":
            self._describe(variables)

    def _describe(self, variables):
        """Write what lies on the bench, a file for each variant."""
        bench = deepcopy(DOCUMENT)
        scenario = Catalogue(self.checkout).find(variables["scenario"])
        bench["scenario"] = msgspec.to_builtins(scenario)
        bench["procedure"] = variables["leaselab_procedure"]
        if key := variables.get("leaselab_generator_build"):
            bench["generator"]["build"] = {"key": key}
        if self.company:
            second = {"interface": "leaselab2", "address": "198.18.0.11"}
            bench["hosts"]["server"]["second"] = second
        server = bench["servers"]["server"]
        server["capabilities"] = ["two-addresses"] if self.company else []
        path = Path(variables["bench_file_path"])
        places = variables.get("leaselab_places", [1])
        builds = variables.get(BUILDS, [variables.get("leaselab_build", "")])
        there = product(places if self.company else places[:1], builds)
        for number, (at, build) in enumerate(there, start=2):
            server["variant"] = f"{scenario.name}{build}" + ("-at2" if at == 2 else "")
            self.there.add(server["variant"])
            path.write_text(json.dumps(bench), encoding="utf-8")
            path = path.with_name(f"bench-{number}.json")


@pytest.fixture
def playbooks(tmp_path, monkeypatch):
    checkout = tmp_path / "checkout"
    playbooks = Playbooks(checkout)
    (checkout / ".leaselab").mkdir(parents=True)
    for name in ("scenarios", "roles", "ansible", "ansible.cfg"):
        (checkout / name).symlink_to(checkout_root() / name)
    monkeypatch.setenv("LEASELAB_ROOT", str(checkout))
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path / "results"))
    hostvars = {"hostvars": {"sut": playbooks.variables, "gen": {}}}
    listing = {**LISTING, "_meta": hostvars, "builder": {"hosts": ["sut"]}}
    monkeypatch.setattr(benches, "read_inventory", lambda path: parsed(path, listing))
    monkeypatch.setattr(made_here, "LOCKS", (tmp_path,))
    playbooks.here = Here(tmp_path / "host", monkeypatch, lease)
    monkeypatch.setattr(deployment, "host_states", lambda _: dict(playbooks.states))
    monkeypatch.setattr(deployment, "builder_state", lambda _: playbooks.states["builder"])
    monkeypatch.setattr(deployment, "variants_there", lambda _: playbooks.there)
    monkeypatch.setattr(preparation, "run_playbook", playbooks)
    return playbooks


@pytest.fixture
def bench(playbooks):
    """The bench, prepared and this test's alone."""
    assert playbooks.given == {}
    inventory = bench_options.inventory_of(Namespace(inventory=None, bench=None, lab="docker"))
    with preparation.leased(inventory, "a test") as bench:
        preparation.prepare(bench)
        yield bench


@pytest.fixture
def deploy(playbooks, bench):
    """Deploy a scenario on the bench; what is deployed, and what `deploy` and `tune` got."""

    def deploy(name, key="", **options):
        playbooks.given.clear()
        scenario = Catalogue(checkout_root()).find(name)
        options = {"full": False, "generator_build": key, **options}
        made = variants.deploy(scenario, bench, MaxRate(rounds=5), **options)
        assert {there.procedure.rounds for there in made} == {5}
        return made, dict(playbooks.given)

    return deploy


@pytest.fixture
def repository(tmp_path):
    place = make_repository(tmp_path / "server")
    commit(place, "Break it", {"n": "1"})
    return place


@pytest.fixture
def built(playbooks, repository):
    """A build of the repository's commit, as role build leaves it."""
    source = open_repository(str(repository), playbooks.checkout).resolve("HEAD")
    folder = playbooks.checkout / ".leaselab" / "builds" / KEY
    folder.mkdir(parents=True)
    content = {**ANSWER, "name": "kea", "source": asdict(source)}
    content |= {"commit": source.hash, "tree": source.tree}
    (folder / "build.json").write_text(json.dumps(content), encoding="utf-8")
    (folder / "artifact.tar.gz").touch()
    log = folder.parent / f"{source.tree}.log.gz"
    log.write_bytes(gzip.compress(b"the whole log"))
    return source


@pytest.mark.parametrize(
    "command",
    [
        ["step", "provision"],
        ["step", "build", "v4-memfile", "--repo", "REPO"],
        ["step", "deploy", "v4-memfile"],
        ["step", "tune", "v4-memfile"],
        ["run", "v4-memfile", "v6-memfile"],
        ["run", "v4-memfile", "--repo", "REPO", "--commits", "HEAD", "--anchor", "HEAD~1"],
        ["calibrate", "--error-budget"],
        ["compare", "package", "package", "--live", "--scenario", "v4-memfile"],
        ["bisect", "v4-memfile", "--repo", "REPO", "--good", "HEAD~1", "--bad", "HEAD"],
        ["lab", "take"],
    ],
    ids=" ".join,
)
def test_no_command_plays_anything_on_a_bench_that_another_has(
    playbooks, repository, command, capsys
):
    commit(repository, "Mend it", {"n": "2"})
    with playbooks.here(GENERATOR) as generator:
        ask(generator, "acquire", request("ben@desk"))
    assert main([str(repository) if item == "REPO" else item for item in command]) == IN_USE
    said = capsys.readouterr().err
    assert "gen: the bench is in use (found ben@desk, a test, for " in said
    assert "wait; if it is dead, its lock expires in " in said
    assert "kill" not in said
    assert playbooks.given == {}


@pytest.mark.parametrize(
    ("errno_", "command"), [(errno.EACCES, "run"), (errno.ENOSPC, "step deploy")]
)
def test_results_that_cannot_be_written_are_reported_before_anything_is_played(
    playbooks, command, errno_, capsys, monkeypatch
):
    def refuse(path, *_):
        raise OSError(errno_, os.strerror(errno_), str(path))

    monkeypatch.setattr("leaselab.archive.store.write_whole", refuse)
    full = errno_ == errno.ENOSPC
    assert main([*command.split(), "v4-memfile"]) == (4 if full else 2)
    assert ("no space left" if full else "cannot be written") in capsys.readouterr().err
    assert playbooks.given == {}
    assert playbooks.here.connections == 0


def test_provisioning_reports_the_environment_and_is_not_done_twice(playbooks, document):
    """Each playbook has the proof that the bench is its command's, which is then freed."""
    for options, played in (([], True), ([], False), (["--full"], True)):
        playbooks.given.clear()
        made = document("step", "provision", *options)
        assert made == {"bench": "rack1", "environment": "7-abc"}
        assert set(playbooks.given) == ({"generator", "provision"} if played else set())
    (proof,) = playbooks.proofs
    assert proof == playbooks.checkout / ".leaselab" / "holds" / "rack1.command.json"
    assert proof.read_bytes() == b""


def test_building_prints_the_key_and_nothing_else(playbooks, repository, capsys):
    assert main(["step", "build", "v4-memfile", "--repo", str(repository)]) == 0
    assert capsys.readouterr().out == f"{KEY}\n"
    source = playbooks.given["build"]["leaselab_source"]
    assert (source["commit"]["subject"], source["server"]) == ("Break it", "kea")


@pytest.mark.parametrize("stage", ["build", "deploy"])
@pytest.mark.parametrize("fault", [server_broken("does not serve"), lab_broken("no route")])
def test_a_commit_that_cannot_be_served_is_a_result_and_a_broken_lab_is_none(
    playbooks, repository, built, stage, fault
):
    folder = repository.parent
    ids = folder / "ids"
    playbooks.faults[stage] = fault
    main(["step", "provision"])
    options = {"build": ["--repo", str(repository)], "deploy": ["--build", KEY]}[stage]
    words = ["step", stage, "v4-memfile", *options, "--id-file", str(ids), "--set", "rounds=5"]
    assert main(words) == fault.code
    rows = Store(folder / "results").index.rows()
    assert ids.exists() == bool(rows) == (fault.outcome is Outcome.BUILD)
    if rows:
        assert ids.read_text(encoding="utf-8") == f"{rows[0]['id']}\n"
        record = Store(folder / "results").load("last")
        assert (record.outcome, record.server.commit) == ("build-failed", built.hash)
        assert (record.bench.environment, record.procedure.rounds) == ("7-abc", 5)
        log = list((folder / "results").glob("*/*/*/build.log.gz"))
        assert len(log) == (stage == "build")


def test_packages_that_do_not_serve_are_no_result_of_a_commit(playbooks, tmp_path):
    playbooks.faults["deploy"] = server_broken("does not serve", where="sut")
    assert main(["step", "deploy", "v4-memfile"]) == 5
    assert Store(tmp_path / "results").index.rows() == []
    assert main(["step", "deploy", "v4-memfile", "--build", "feedbeef"]) == 2


def test_a_build_is_deployed_by_its_key_and_leaves_hosts_prepared(playbooks, built):
    assert built.subject == "Break it"
    main(["step", "provision"])
    playbooks.faults["tune"] = lab_broken("no route", where="sut")
    assert main(["step", "deploy", "v4-memfile", "--build", KEY]) == 0
    assert playbooks.given["deploy"]["leaselab_build"] == KEY
    playbooks.given.clear()
    assert main(["step", "provision"]) == 0
    assert playbooks.given == {}
    assert main(["step", "tune", "v4-memfile"]) == 4
    assert main(["step", "provision"]) == 0
    assert "provision" in playbooks.given


def test_tuning_writes_what_a_sweep_is_given_or_nothing(playbooks, tmp_path, capsys):
    """A file of an earlier tuning outlasts a build in a pipeline's workspace."""
    path = tmp_path / "ci" / "bench.json"
    assert main(["step", "tune", "v4-memfile", "--set", "rounds=3", "-o", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}\n"
    procedure = json.loads(path.read_text(encoding="utf-8"))["procedure"]
    assert procedure_of(procedure) == MaxRate(rounds=3)
    assert "leaselab_build" not in playbooks.given["tune"]
    # Commands on several benches of a checkout run at the same time.
    made = Path(playbooks.given["tune"]["bench_file_path"])
    assert made.parent == playbooks.checkout / ".leaselab" / "benches" / "rack1"
    playbooks.faults["tune"] = lab_broken("no route", where="sut")
    assert main(["step", "tune", "v4-memfile", "-o", str(path)]) == 4
    assert not path.exists()


@pytest.mark.parametrize("stage", ["build", "deploy", "tune"])
def test_what_cannot_be_measured_is_refused_before_anything_is_touched(
    stage, playbooks, repository
):
    options = ["--repo", str(repository)] if stage == "build" else []
    sets = ["--set", "rounds=1", "--set", "trim=1"]
    assert main(["step", stage, "v4-memfile", *options, *sets]) == 2
    assert main(["step", stage, "v4-nosuch", *options]) == 2
    assert playbooks.given == {}


def test_a_build_of_the_generator_that_is_waited_for_says_how_it_ended(
    playbooks, monkeypatch, capsys
):
    playbooks.building.clear()
    monkeypatch.setattr(preparation, "wait", lambda *_, **__: playbooks.building.set())
    assert main(["step", "provision"]) == 0
    ended = r"building the generator\n(?:.*\n)*  \d+ s, 2 changes\n"
    assert re.search(ended, capsys.readouterr().err)


def test_a_lab_that_was_down_is_brought_up_once_before_it_is_locked(playbooks, monkeypatch):
    """And one of another checkout is taken over where that is asked for."""
    playbooks.variables["leaselab_lab"] = "docker"
    playbooks.here.dead.add("gen")
    assert main(["step", "provision"]) == 0
    assert playbooks.played == ["lab_up", "provision"]
    playbooks.here.dead.add("gen")
    monkeypatch.setattr(hold, "inspect", lambda _: {"findings": []})
    assert main(["lab", "take", "--take-over"]) == 0
    assert playbooks.given["lab_up"]["docker_lab_take_over"] is True


def test_a_lab_of_this_machine_is_brought_up_again_where_its_inventory_changed(
    playbooks, monkeypatch
):
    """Also while it is held: what `lab take` brought up was another lab."""
    write_hold(playbooks.checkout, "rack1", new_hold("a build", 600))
    playbooks.variables["leaselab_lab"] = "docker"
    for played in (True, False, True):
        playbooks.given.clear()
        assert main(["step", "provision"]) == 0
        assert ("lab_up" in playbooks.given) == ("provision" in playbooks.given) == played
        if not played:
            monkeypatch.setattr(deployment, "played_hash", lambda *_: "another")


@pytest.mark.parametrize("changed", [{"sut": "1", "gen": "0"}, {"sut": "0"}])
def test_a_host_that_is_another_one_now_is_prepared_again(playbooks, changed):
    assert main(["step", "provision"]) == 0
    playbooks.given.clear()
    playbooks.states = changed
    assert main(["step", "provision"]) == 0
    assert set(playbooks.given) == {"generator", "provision"}


def test_what_is_deployed_is_not_deployed_again(playbooks, deploy, bench):
    """Another scenario is, the same one after the server failed, and one that made room.

    As in a long search for a slow commit, which comes back to one of its first.
    """
    assert [*deploy("v4-memfile")[1]] == ["deploy", "tune"]
    assert not deploy("v4-memfile")[1]
    assert deploy("v6-memfile")[1]
    assert not deploy("v4-memfile")[1], "it lies beside the other one"
    deployment.distrust_deployment(checkout_root(), bench.inventory.bench)
    assert deploy("v6-memfile")[1]
    assert not deploy("v6-memfile")[1]
    assert deploy("v4-memfile")[1]
    playbooks.there.remove("v4-memfile")
    assert deploy("v4-memfile-mt")[1]
    assert not deploy("v6-memfile")[1]
    assert deploy("v4-memfile")[1]


def test_a_build_is_deployed_at_both_places_in_one_play(playbooks, deploy):
    """Only where nothing of it lies already, and what lies there does not make room for it."""

    def at(scenario, places=variants.PLACES, keep=()):
        made, given = deploy(scenario, places=places, keep=keep)
        asked = [given.get("deploy", {}).get(f"leaselab_{name}") for name in ("places", "keep")]
        return [item.server.variant for item in made], *asked

    both, other = ["v4-memfile", "v4-memfile-at2"], ["v6-memfile", "v6-memfile-at2"]
    assert at("v4-memfile", keep=["other"]) == (both, [1, 2], ["other"])
    assert at("v4-memfile") == (both, None, None)
    assert at("v4-memfile", places=(1,)) == (both[:1], None, None)
    assert at("v6-memfile", places=(1,)) == (other[:1], [1], [])
    assert at("v6-memfile") == (other, [2], other[:1])
    assert at("v4-memfile") == (both, None, None)
    playbooks.there.remove("v4-memfile")
    at("v4-memfile-mt")
    assert at("v4-memfile") == (both, [1], both[1:])


def test_builds_ahead_are_deployed_in_one_play_and_not_again(playbooks, deploy):
    def of(build, *ahead, places=variants.PLACES, **options):
        made, given = deploy(
            "v4-memfile", build_key=build, ahead=ahead, places=places, **options
        )
        return [item.server.variant for item in made], given.get("deploy", {}).get(BUILDS)

    first, second, third = (
        [f"v4-memfile{name}", f"v4-memfile{name}-at2"] for name in ("a", "b", "c")
    )
    assert of("a", "b", "a") == (first, ["a", "b"])
    assert of("b") == (second, None)
    assert of("c", "a", "b") == (third, None)
    assert of("c", "a", full=True) == (third, ["c", "a"])
    playbooks.company = False
    assert of("d", "e") == (["v4-memfiled"], ["d", "e"])
    assert of("e") == (["v4-memfilee"], None)


def test_what_is_built_is_not_asked_of_an_unchanged_builder_again(
    playbooks, built, bench, tmp_path
):
    def plays(source, **options):
        """Build a commit; return whether the playbook was played."""
        playbooks.given.clear()
        store = Store(tmp_path / "results")
        asked = ("kea", source, tmp_path, bench, store)
        assert building.build_commit(*asked, **options) == KEY
        return "build" in playbooks.given

    assert plays(built, full=False)
    assert not plays(built, full=False)
    assert plays(built, full=True)
    assert plays(built, layout=1, full=False)
    assert not plays(replace(built, ref="main"), full=False)
    renamed = replace(built, described="v2.0")
    assert plays(renamed, full=False)
    assert plays(renamed, full=False), "the kept record has another name for people"
    playbooks.states["builder"] = "with other packages"
    assert plays(built, full=False)
    assert not plays(built, full=False)
    (playbooks.checkout / ".leaselab/builds" / KEY / "artifact.tar.gz").unlink()
    assert plays(built, full=False)


def test_a_host_keeps_one_build_of_a_generator(deploy):
    """Whatever was deployed with another one is deployed again; what has none still stands."""

    def played(scenario, key=""):
        given = deploy(scenario, key)[1]
        return given.get("deploy", {}).get("leaselab_generator_build", "") if given else None

    assert played("v4-memfile") == ""
    assert played("v6-memfile", "a") == "a"
    assert played("v4-memfile", "a") == "a"
    assert played("v6-memfile", "a") is None, "it lies there still"
    assert played("v6-memfile", "b") == "b"
    assert played("v6-memfile", "a") == "a"
    assert played("v4-memfile") is None, "that has no build"


def test_what_a_scenario_sets_on_hosts_holds_until_the_next_one_is_deployed(
    playbooks, deploy, bench
):
    """What lies there was tuned with other settings, so none of it still stands."""
    first, other = (
        f"v4-hardware-smt-off-governor-{name}" for name in ("powersave", "schedutil")
    )
    order = (
        *(("v4-memfile", True), (first, True), (first, False), (other, True)),
        *(("v4-memfile", True), ("v6-memfile", True), ("v4-memfile", False), (first, True)),
    )
    assert [bool(deploy(name)[1]) for name, _ in order] == [played for _, played in order]
    playbooks.given.clear()
    variants.give_back(bench)
    assert set(playbooks.given) == {"retune"}
    assert deploy("v4-memfile")[1]
    assert not deploy("v4-memfile")[1]
    scenario = Catalogue(playbooks.checkout).find(first)
    variants.tune(scenario, bench, MaxRate())
    record = deployment.read_deployment(checkout_root(), bench.inventory.bench)
    assert record.settings == scenario.hosts


def test_a_scenario_that_hosts_refuse_leaves_what_lies_there_deployed(playbooks, deploy):
    """A run of many points that are refused does not prepare the hosts again for each."""
    deploy("v4-memfile")
    for fault, played in ((usage_error("no governor"), False), (lab_broken("gone"), True)):
        playbooks.faults["deploy"] = fault
        with pytest.raises(LeaselabError):
            deploy("v6-memfile")
        playbooks.faults.clear()
        assert bool(deploy("v4-memfile")[1]) == played
