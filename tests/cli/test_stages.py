"""The verbs of a pipeline one by one, on a real repository; playbooks left out."""

import errno
import gzip
import json
import os
import re
import threading
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

import msgspec
import pytest
from tests.bench_document import DOCUMENT
from tests.build_record import ANSWER
from tests.here import Here, request
from tests.inventories import parsed
from tests.repositories import commit, make_repository

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
from leaselab.model.errors import IN_USE, LeaselabError, lab_broken, server_broken, usage_error
from leaselab.model.procedures import procedure_of
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.run import preparation, variants

KEY = ANSWER["key"]
GENERATOR = HostAccess("gen", "192.0.2.1", "root", "/key", "/known")


class Playbooks:
    """What each playbook was given; one that is to fail does."""

    def __init__(self, checkout):
        self.given = {}
        self.proofs = set()
        self.here = None
        self.played = []
        self.faults = {}
        self.states = {"sut": "0", "gen": "0"}
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
        assert self.building.wait(60)
        return PlaybookStats(2, self.checkout / "log")

    def _play(self, name, variables):
        self.given[name] = variables
        self.played.append(name)
        if name == "lab_up":
            self.here.dead.clear()
        if name in self.faults:
            raise self.faults[name]
        if name == "tune":
            bench = {**DOCUMENT, "procedure": variables["leaselab_procedure"]}
            scenario = Catalogue(self.checkout).find(variables["scenario"])
            key = variables.get("leaselab_generator_build")
            bench["generator"] = {
                **DOCUMENT["generator"],
                "build": {"key": key} if key else None,
            }
            bench["scenario"] = msgspec.to_builtins(scenario)
            path = Path(variables["bench_file_path"])
            places = variables.get("leaselab_places", [1])
            for at in places if self.company else places[:1]:
                bench["servers"] = {"server": self._server(scenario, at)}
                bench["hosts"] = {**DOCUMENT["hosts"], "server": self._host()}
                path.write_text(json.dumps(bench), encoding="utf-8")
                path = path.with_name("bench-at2.json")

    def _server(self, scenario, at):
        variant = scenario.name + ("-at2" if at == 2 else "")
        self.there.add(variant)
        capabilities = ["two-addresses"] if self.company else []
        server = DOCUMENT["servers"]["server"]
        return {**server, "variant": variant, "capabilities": capabilities}

    def _host(self):
        second = {"interface": "leaselab2", "address": "198.18.0.11"}
        return {**DOCUMENT["hosts"]["server"], "second": second if self.company else None}


@pytest.fixture
def playbooks(tmp_path, monkeypatch):
    checkout = tmp_path / "checkout"
    playbooks = Playbooks(checkout)
    (checkout / ".leaselab").mkdir(parents=True)
    for name in ("scenarios", "roles", "ansible", "ansible.cfg"):
        (checkout / name).symlink_to(checkout_root() / name)
    monkeypatch.setenv("LEASELAB_ROOT", str(checkout))
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path / "results"))
    groups = {
        "dhcp_server": {"hosts": ["sut"]},
        "dhcp_generator": {"hosts": ["gen"]},
        "builder": {"hosts": ["sut"]},
    }
    hostvars = {"sut": playbooks.variables, "gen": {}}
    listing = {"_meta": {"hostvars": hostvars}, **groups}
    monkeypatch.setattr(benches, "read_inventory", lambda path: parsed(path, listing))
    monkeypatch.setattr(made_here, "LOCKS", (tmp_path,))
    playbooks.here = Here(tmp_path / "host", monkeypatch, lease)
    for module in (preparation, variants, deployment):
        monkeypatch.setattr(module, "host_states", lambda _: dict(playbooks.states))
    monkeypatch.setattr(variants, "variants_there", lambda _: playbooks.there)
    monkeypatch.setattr(preparation, "run_playbook", playbooks)
    return playbooks


@pytest.fixture
def bench(playbooks):
    """The bench, prepared and this test's alone."""
    assert playbooks.given == {}
    inventory = bench_options.inventory_of(Namespace(inventory=None, bench=None))
    with preparation.leased(inventory, "a test") as bench:
        preparation.prepare(bench)
        yield bench


def scenario_of(name):
    return Catalogue(checkout_root()).find(name)


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
    log = folder.parent / f"{source.tree}.log.gz"
    log.write_bytes(gzip.compress(b"the whole log"))
    return source


def the_result(ids, results):
    """The one result that was archived, by the file that says which."""
    store = Store(results)
    (row,) = store.index.rows()
    assert ids.read_text(encoding="utf-8") == f"{row['id']}\n"
    return store.load(row["id"])


@pytest.mark.parametrize(
    "command",
    [
        ["step", "provision"],
        ["step", "build", "v4-memfile", "--repo", "REPO"],
        ["step", "deploy", "v4-memfile"],
        ["step", "tune", "v4-memfile"],
        ["run", "v4-memfile"],
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


@pytest.mark.parametrize("errno_", [errno.EROFS, errno.EACCES, errno.ENOSPC])
@pytest.mark.parametrize("command", ["run", "step deploy"])
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


def test_every_playbook_has_the_proof_that_the_bench_is_its_commands(playbooks):
    assert main(["step", "provision"]) == 0
    proof = playbooks.checkout / ".leaselab" / "holds" / "rack1.command.json"
    assert playbooks.proofs == {proof}
    assert proof.read_bytes() == b""  # it was freed


def test_a_lab_that_is_down_is_brought_up_before_it_is_locked(playbooks, monkeypatch):
    """And one of another checkout is taken over where that is asked for."""
    playbooks.variables["leaselab_lab"] = "docker"
    playbooks.here.dead.add("gen")
    monkeypatch.setattr(hold, "inspect", lambda _: {"findings": []})
    assert main(["lab", "take", "--take-over"]) == 0
    assert playbooks.given["lab_up"]["docker_lab_take_over"] is True


@pytest.mark.usefixtures("playbooks")
def test_provisioning_reports_the_environment(capsys):
    assert main(["step", "provision", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"bench": "rack1", "environment": "7-abc"}


def test_building_prints_the_key_and_nothing_else(playbooks, repository, capsys):
    assert main(["step", "build", "v4-memfile", "--repo", str(repository)]) == 0
    assert capsys.readouterr().out == f"{KEY}\n"
    source = playbooks.given["build"]["leaselab_source"]
    assert source["commit"]["subject"] == "Break it"
    assert source["server"] == "kea"


@pytest.mark.parametrize("stage", ["build", "deploy"])
def test_a_commit_that_cannot_be_served_is_a_result_with_its_environment(
    playbooks, repository, built, stage, capsys
):
    folder = repository.parent
    ids = folder / "ids"
    playbooks.faults[stage] = server_broken("does not serve", where="sut")
    main(["step", "provision"])
    options = {"build": ["--repo", str(repository)], "deploy": ["--build", KEY]}[stage]
    arguments = [
        "step",
        stage,
        "v4-memfile",
        *options,
        "--id-file",
        str(ids),
        "--set",
        "rounds=5",
    ]
    assert main(arguments) == 5
    assert capsys.readouterr().err.splitlines()[-1] == "leaselab: sut: does not serve"
    record = the_result(ids, folder / "results")
    assert record.outcome == "build-failed"
    assert record.server.commit == built.hash
    assert record.bench.environment == "7-abc"
    assert record.procedure.rounds == 5
    log = list((folder / "results").glob("*/*/*/build.log.gz"))
    assert len(log) == (1 if stage == "build" else 0)


@pytest.mark.parametrize("stage", ["build", "deploy"])
def test_a_broken_lab_is_no_result(playbooks, repository, stage, tmp_path):
    playbooks.faults[stage] = lab_broken("no route", where="sut")
    options = ["--repo", str(repository)] if stage == "build" else []
    assert (
        main(["step", stage, "v4-memfile", *options, "--id-file", str(tmp_path / "ids")]) == 4
    )
    assert not (tmp_path / "ids").exists()
    assert Store(tmp_path / "results").index.rows() == []


def test_packages_that_do_not_serve_are_no_result_of_a_commit(playbooks, tmp_path):
    playbooks.faults["deploy"] = server_broken("does not serve", where="sut")
    assert main(["step", "deploy", "v4-memfile"]) == 5
    assert Store(tmp_path / "results").index.rows() == []


@pytest.mark.usefixtures("playbooks")
def test_a_build_that_is_not_there_is_refused(capsys):
    assert main(["step", "deploy", "v4-memfile", "--build", "feedbeef"]) == 2
    assert "no such build (found 'feedbeef'" in capsys.readouterr().err


def test_a_build_is_deployed_by_its_key(playbooks, built):
    assert main(["step", "deploy", "v4-memfile", "--build", KEY]) == 0
    assert playbooks.given["deploy"]["leaselab_build"] == KEY
    assert built.subject == "Break it"


def test_tuning_writes_what_a_sweep_is_given(playbooks, tmp_path, capsys):
    path = tmp_path / "ci" / "bench.json"
    assert main(["step", "tune", "v4-memfile", "--set", "rounds=3", "-o", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}\n"
    procedure = json.loads(path.read_text(encoding="utf-8"))["procedure"]
    assert procedure_of(procedure) == MaxRate(rounds=3)
    assert "leaselab_build" not in playbooks.given["tune"]


def test_each_bench_has_files_of_its_own(playbooks):
    """Commands on several benches of a checkout run at the same time."""
    assert main(["step", "tune", "v4-memfile"]) == 0
    path = Path(playbooks.given["tune"]["bench_file_path"])
    assert path.parent == playbooks.checkout / ".leaselab" / "benches" / "rack1"


def test_tuning_that_fails_leaves_nothing_to_measure_by(playbooks, tmp_path):
    """It outlasts a build in a pipeline's workspace, as it is not published."""
    path = tmp_path / "bench.json"
    path.write_text("of an earlier build", encoding="utf-8")
    playbooks.faults["tune"] = lab_broken("no route", where="sut")
    assert main(["step", "tune", "v4-memfile", "-o", str(path)]) == 4
    assert not path.exists()


@pytest.mark.usefixtures("playbooks")
@pytest.mark.parametrize("stage", ["build", "deploy", "tune"])
def test_what_cannot_be_measured_is_refused_before_anything_is_touched(
    stage, playbooks, repository
):
    options = ["--repo", str(repository)] if stage == "build" else []
    assert (
        main(["step", stage, "v4-memfile", *options, "--set", "rounds=1", "--set", "trim=1"])
        == 2
    )
    assert main(["step", stage, "v4-nosuch", *options]) == 2
    assert playbooks.given == {}


def test_hosts_that_are_as_they_were_are_not_prepared_again(playbooks, capsys):
    assert main(["step", "provision"]) == 0
    playbooks.given.clear()
    assert main(["step", "provision"]) == 0
    assert playbooks.given == {}
    assert "the hosts are prepared as they were" in capsys.readouterr().err
    assert main(["step", "provision", "--full"]) == 0
    assert set(playbooks.given) == {"generator", "provision"}


def test_a_build_of_the_generator_that_is_waited_for_says_how_it_ended(
    playbooks, monkeypatch, capsys
):
    playbooks.building.clear()
    monkeypatch.setattr(preparation, "wait", lambda *_, **__: playbooks.building.set())
    assert main(["step", "provision"]) == 0
    assert re.search(
        r"building the generator\n(?:.*\n)*  \d+ s, 2 changes\n", capsys.readouterr().err
    )


def test_a_lab_that_was_down_is_brought_up_once(playbooks):
    playbooks.variables["leaselab_lab"] = "docker"
    playbooks.here.dead.add("gen")
    assert main(["step", "provision"]) == 0
    assert playbooks.played == ["lab_up", "provision"]


def test_a_lab_of_this_machine_is_brought_up_again_where_its_inventory_changed(
    playbooks, monkeypatch
):
    """Also while it is held: what `lab take` brought up was another lab."""
    write_hold(playbooks.checkout, "rack1", new_hold("a build", 600))
    playbooks.variables["leaselab_lab"] = "docker"
    assert main(["step", "provision"]) == 0
    playbooks.given.clear()
    assert main(["step", "provision"]) == 0
    assert playbooks.given == {}
    monkeypatch.setattr(preparation, "played_hash", lambda *_: "another")
    assert main(["step", "provision"]) == 0
    assert set(playbooks.given) == {"lab_up", "generator", "provision"}


@pytest.mark.parametrize("changed", [{"sut": "1", "gen": "0"}, {"sut": "0"}])
def test_a_host_that_is_another_one_now_is_prepared_again(playbooks, changed):
    assert main(["step", "provision"]) == 0
    playbooks.given.clear()
    playbooks.states = changed
    assert main(["step", "provision"]) == 0
    assert set(playbooks.given) == {"generator", "provision"}


def test_deploying_leaves_hosts_prepared_and_one_that_fails_does_not(playbooks, built):
    assert built.subject == "Break it"
    main(["step", "provision"])
    playbooks.faults["tune"] = lab_broken("no route", where="sut")
    assert main(["step", "deploy", "v4-memfile", "--build", KEY]) == 0
    playbooks.given.clear()
    assert main(["step", "provision"]) == 0
    assert playbooks.given == {}
    assert main(["step", "tune", "v4-memfile"]) == 4
    assert main(["step", "provision"]) == 0
    assert "provision" in playbooks.given


def test_what_is_deployed_is_not_deployed_again_for_other_sweep_parameters(playbooks, bench):
    """Another scenario is, and so is the same one after the server failed."""

    def deploy(scenario, **parameters):
        playbooks.given.clear()
        [deployed] = variants.deploy(
            scenario_of(scenario), bench, MaxRate(**parameters), full=False
        )
        return sorted(playbooks.given), deployed

    assert deploy("v4-memfile")[0] == ["deploy", "tune"]
    played, deployed = deploy("v4-memfile", rounds=5)
    assert played == []
    assert deployed.procedure.rounds == 5
    assert deploy("v6-memfile")[0] == ["deploy", "tune"]
    assert deploy("v4-memfile")[0] == [], "it lies beside the other one"
    deployment.distrust_deployment(checkout_root(), bench.inventory.bench)
    assert deploy("v6-memfile")[0] == ["deploy", "tune"]
    assert deploy("v6-memfile")[0] == []


def test_a_build_is_deployed_at_both_places_in_one_play(playbooks, bench):
    """Only where nothing of it lies already, and what lies there does not make room for it."""

    def deploy(scenario, places=variants.PLACES, keep=()):
        playbooks.given.clear()
        result = variants.deploy(
            scenario_of(scenario),
            bench,
            MaxRate(rounds=5),
            full=False,
            places=places,
            keep=keep,
        )
        given = playbooks.given.get("deploy", {})
        assert {record.procedure.rounds for record in result} == {5}
        return (
            [item.server.variant for item in result],
            given.get("leaselab_places"),
            given.get("leaselab_keep"),
        )

    both = ["v4-memfile", "v4-memfile-at2"]
    assert deploy("v4-memfile", keep=["other"]) == (both, [1, 2], ["other"])
    assert deploy("v4-memfile") == (both, None, None)
    assert deploy("v4-memfile", places=(1,)) == (both[:1], None, None)
    assert deploy("v6-memfile", places=(1,)) == (["v6-memfile"], [1], [])
    assert deploy("v6-memfile") == (["v6-memfile", "v6-memfile-at2"], [2], ["v6-memfile"])
    assert deploy("v4-memfile") == (both, None, None)
    playbooks.there.remove("v4-memfile")
    deploy("v4-memfile-mt")
    assert deploy("v4-memfile") == (both, [1], ["v4-memfile-at2"])


def test_a_server_that_cannot_be_up_at_both_places_is_deployed_at_the_first(playbooks, bench):

    def deploy():
        playbooks.given.clear()
        return variants.deploy(
            scenario_of("v4-memfile"), bench, MaxRate(), full=False, places=variants.PLACES
        )

    both = deploy()
    assert len(both) == 2
    deployment.distrust_deployment(checkout_root(), bench.inventory.bench)
    playbooks.company = False
    (alone,) = deploy()
    assert playbooks.given["deploy"]["leaselab_places"] == [1, 2]
    assert deploy() == [alone]
    assert not playbooks.given


def test_a_host_keeps_one_build_of_a_generator(playbooks, bench):
    """Whatever was deployed with another one is deployed again; what has none still stands."""

    def deploy(scenario, key=""):
        playbooks.given.clear()
        variants.deploy(
            scenario_of(scenario), bench, MaxRate(), generator_build=key, full=False
        )
        return playbooks.given.get("deploy", {}).get("leaselab_generator_build", "none")

    assert deploy("v4-memfile") == "none"
    assert deploy("v6-memfile", "a") == "a"
    assert deploy("v4-memfile", "a") == "a"
    assert deploy("v6-memfile", "a") == "none", "it lies there still"
    assert deploy("v6-memfile", "b") == "b"
    assert deploy("v6-memfile", "a") == "a"
    assert deploy("v4-memfile") == "none"
    assert not playbooks.given, "that has no build"


def test_what_a_scenario_sets_on_hosts_holds_until_the_next_one_is_deployed(playbooks, bench):
    """What lies there was tuned with other settings, so none of it still stands."""
    first, other = (
        f"v4-hardware-smt-off-governor-{name}" for name in ("powersave", "schedutil")
    )

    def deploy(scenario):
        playbooks.given.clear()
        variants.deploy(scenario_of(scenario), bench, MaxRate(), full=False)
        return sorted(playbooks.given)

    assert deploy("v4-memfile") == ["deploy", "tune"]
    assert deploy(first) == ["deploy", "tune"]
    assert deploy(first) == []
    assert deploy(other) == ["deploy", "tune"]
    assert deploy("v4-memfile") == ["deploy", "tune"]
    assert deploy("v6-memfile") == ["deploy", "tune"]
    assert deploy("v4-memfile") == []
    assert deploy(first) == ["deploy", "tune"]
    playbooks.given.clear()
    variants.give_back(bench)
    assert set(playbooks.given) == {"retune"}
    assert deploy("v4-memfile") == ["deploy", "tune"]
    assert deploy("v4-memfile") == []
    variants.tune(scenario_of(first), bench, MaxRate())
    record = deployment.read_deployment(checkout_root(), bench.inventory.bench)
    assert record.settings == Catalogue(playbooks.checkout).find(first).hosts


def test_a_variant_that_has_made_room_for_others_is_deployed_again(playbooks, bench):
    """As in a long search for a slow commit, which comes back to one of its first."""
    for scenario in ("v4-memfile", "v6-memfile"):
        variants.deploy(scenario_of(scenario), bench, MaxRate(), full=False)
    playbooks.there.remove("v4-memfile")
    variants.deploy(scenario_of("v4-memfile-mt"), bench, MaxRate(), full=False)
    for scenario, played in (("v6-memfile", []), ("v4-memfile", ["deploy", "tune"])):
        playbooks.given.clear()
        variants.deploy(scenario_of(scenario), bench, MaxRate(), full=False)
        assert sorted(playbooks.given) == played


def test_a_scenario_that_hosts_refuse_leaves_what_lies_there_deployed(playbooks, bench):
    """A run of many points that are refused does not prepare the hosts again for each."""
    variants.deploy(scenario_of("v4-memfile"), bench, MaxRate(), full=False)
    for fault, played in ((usage_error("no governor"), []), (lab_broken("gone"), ["deploy"])):
        playbooks.faults["deploy"] = fault
        with pytest.raises(LeaselabError):
            variants.deploy(scenario_of("v6-memfile"), bench, MaxRate(), full=False)
        playbooks.faults.clear()
        playbooks.given.clear()
        variants.deploy(scenario_of("v4-memfile"), bench, MaxRate(), full=False)
        assert list(playbooks.given)[:1] == played
