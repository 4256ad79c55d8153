"""A lab without hosts: the engine's own order, journals and records; made-up rounds.

Playbooks, connections and traffic are left out.  What is built, deployed and measured is
noted, and a test says what fails, and where.
"""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.bench_document import DOCUMENT, host
from tests.dns import PROOF
from tests.examples import CONFIG, START, example_round, example_trial
from tests.inventories import parsed

from leaselab.archive.store import Store
from leaselab.catalog import catalogue
from leaselab.catalog.checkout import checkout_root
from leaselab.cli import advise, bisect, calibrate, duel, generators, resume, run
from leaselab.lab.bench import benches
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.lab.hosts.transport import Completed
from leaselab.measure.point import Point
from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, Outcome, server_broken
from leaselab.model.journal import RoundDone, RunBegun
from leaselab.model.procedures import duel as duels
from leaselab.model.procedures.burst import Burst
from leaselab.model.procedures.duel import Duel
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.procedures.replay import Replay
from leaselab.model.record import Round
from leaselab.run import hunt, measurement, preparation, workplace
from leaselab.run.duel import DuelRounds

ENVIRONMENT = DOCUMENT["environment"]
BROKEN = "src/dhcp.c:7:1: error: expected ';'"
RATE = 6000.0
"""Max rate of all that nobody gave another one (exchanges/s)."""
LISTING = {
    "_meta": {"hostvars": {"sut": {"leaselab_bench": "docker"}, "gen": {}, "two": {}}},
    "dhcp_server": {"hosts": ["sut"]},
    "dhcp_generator": {"hosts": ["gen"]},
    "dhcp_partner": {"hosts": ["two"]},
    "builder": {"hosts": ["sut"]},
}
_LOAD = catalogue.load_families
_CONFIG_SHA256 = hashlib.sha256(CONFIG.encode()).hexdigest()


class Lab:
    """What the hosts would do; names of points are scenarios, or the hashes of commits."""

    off: Sequence[float] = ()
    """By how much B differs in each duel of a server with itself (ratio)."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Keep a checkout and its results below `folder`; leave hosts out of every command."""
        self.checkout, self.results = folder / "checkout", folder / "results"
        self.environment = ENVIRONMENT
        self.broken: set[str] = set()
        """Commits that do not build."""
        self.complaint, self.version = BROKEN, DOCUMENT["servers"]["server"]["version"]
        """What their compiler says; what servers call their version."""
        self.made_by, self.bench, self.server = "", "docker", dict[str, Any]()
        self.facts = dict[str, Any]()
        """Kind and name of the bench; what its documents say of the server beside the usual."""
        self.faults: dict[tuple[str, int], BaseException] = {}
        """What is raised in a round, by point and number."""
        self.deploy_faults: dict[str, BaseException] = {}
        """What is raised as a point is deployed, by its name or that of its generator."""
        self.interrupted_at: int | None = None
        """After how many rounds the user interrupts; None for never."""
        self.rates: dict[str, float] = {}
        """Max rates of points, of points by a generator or in a layout (exchanges/s)."""
        self.costs: dict[str, float] = {}
        """CPU time of a transaction, over that of the others (ratio); in duels.

        Under ``start of NAME``: the time of a start likewise.
        """
        self.prepared: list[str] = []
        """Releases that the bench was prepared for."""
        self.built: list[str] = []
        self.deployed: list[str] = []
        self.places = 1
        """How many the host has on the test network, for two servers that are up at once."""
        self.asked: list[Sequence[int]] = []
        """The places that each deployment was asked for."""
        self.kept: list[Sequence[str]] = []
        """The variants that each deployment was to leave there."""
        self.rounds: list[tuple[str, int]] = []
        """Points and numbers of the rounds that were made, in that order."""
        self.procedures: list[Any] = []
        """Of what was deployed, in that order."""
        self._sources: dict[str, Any] = {}
        (self.checkout / ".leaselab").mkdir(parents=True)
        for name in ("scenarios", "roles", "ansible", "ansible.cfg", "inventory"):
            (self.checkout / name).symlink_to(checkout_root() / name)
        self._log = folder / "build.log.gz"
        self._log.write_bytes(gzip.compress(b"the whole log"))
        self._families = dict(_families((checkout_root() / "scenarios").resolve()))
        self._settle(folder, monkeypatch)
        monkeypatch.setenv("LEASELAB_ROOT", str(self.checkout))
        monkeypatch.setenv("LEASELAB_RESULTS", str(self.results))
        monkeypatch.setattr(benches, "read_inventory", self._inventory)
        monkeypatch.setattr(workplace, "leased", self._leased)
        monkeypatch.setattr(resume, "leased", lambda *_: nullcontext(_Lease()))
        for name, double in (
            ("prepare", self._prepare),
            ("build_commit", self._build),
            ("build_log", lambda _: self._log),
            ("deploy", self._deploy),
        ):
            monkeypatch.setattr(workplace, name, double)
        for module in (workplace, resume):
            monkeypatch.setattr(module, "give_back", self._give_back)
        for name, double in (
            ("connect", lambda access: nullcontext(_Connection(access))),
            ("check_tuned", lambda *_: None),
            ("placed", lambda bench, *_: bench),
            ("stop_traffic", lambda _: None),
            ("watching", lambda *_: nullcontext()),
            ("Servers", _Servers),
            ("Point", self._point),
            ("DuelRounds", lambda points, _: _DuelRounds(points)),
        ):
            monkeypatch.setattr(measurement, name, double)

    def _settle(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in (run, hunt, duel):
            monkeypatch.setattr(module, "source_folder", lambda: folder / "sources")
        for module in (advise, run, resume, bisect, duel, calibrate, generators):
            monkeypatch.setattr(module, "report_after", lambda _: None)
        # They are read for each scenario and each procedure, and a test changes none.
        monkeypatch.setattr(catalogue, "load_families", self._families_of)
        # By the id, which has random digits, duels would end by chance.
        order = duels._order
        monkeypatch.setattr(duels, "_order", lambda _, block: order(duels.DUEL, block))

    @property
    def store(self) -> Store:
        """What was archived, and what is unfinished."""
        return Store(self.results)

    @property
    def measured(self) -> list[str]:
        """The points that were measured from the beginning, in that order."""
        return [name for name, index in self.rounds if index == 1]

    def family(self, name: str, procedure: Mapping[str, Any]) -> None:
        """Have a family's file say this of its procedure."""
        known = self._families[name]
        procedures = dict.fromkeys(known.scenarios, procedure)
        self._families[name] = replace(known, procedures=procedures)

    def set_option(self, name: str, option: str, value: Any) -> None:
        """Have a scenario ask this of its server."""
        for family in self._families.values():
            if name in family.scenarios:
                known = family.scenarios[name]
                options = {**known.server.options, option: value}
                server = msgspec.structs.replace(known.server, options=options)
                changed = msgspec.structs.replace(known, server=server)
                self._families[family.name] = replace(
                    family, scenarios={**family.scenarios, name: changed}
                )

    def measure_with(self, generator: str, *names: str) -> None:
        """Have scenarios measured with another generator."""
        for family in self._families.values():
            for name in family.scenarios.keys() & set(names):
                scenario = msgspec.structs.replace(family.scenarios[name], generator=generator)
                self._families[family.name] = replace(
                    self._families[family.name],
                    scenarios={**self._families[family.name].scenarios, name: scenario},
                )

    def _families_of(self, folder: Path) -> Any:
        """Those of the catalogue, which a test may have changed, or of users' files."""
        return self._families if folder.name == "scenarios" else _LOAD(folder)

    def forget(self) -> None:
        """Forget the notes."""
        for noted in (self.prepared, self.built, self.deployed, self.rounds, self.procedures):
            noted.clear()

    def _inventory(self, path: Path) -> Any:
        listing: Any = copy.deepcopy(LISTING)
        listing["_meta"]["hostvars"]["sut"]["leaselab_bench"] = self.bench
        if self.made_by:
            listing["_meta"]["hostvars"]["sut"]["leaselab_lab"] = self.made_by
        return parsed(path, listing)

    def _leased(self, inventory: Any, _purpose: str) -> Any:
        return nullcontext(preparation.LeasedBench(inventory, _Lease()))

    def _prepare(self, _bench: Any, distribution: str, *, full: bool) -> str:
        assert full in (True, False)
        self.prepared.append(distribution)
        return self._environment_of(distribution)

    def _environment_of(self, distribution: str) -> str:
        """Facts of hosts name their release, and so does the environment."""
        return f"{self.environment}{distribution}"

    def _give_back(self, _bench: Any) -> None:
        self.deployed.append("hosts given back")

    def _build(
        self, server: str, commit: Any, files: Path, *_: Any, layout: int
    ) -> dict[str, str]:
        assert server in ("kea", "bind9", "dnsmasq", "flame")
        assert files.name == f"{commit.tree}.tar"
        self._sources[commit.hash] = json.loads(json.dumps(asdict(commit)))
        self.built.append(commit.hash)
        if commit.hash in self.broken:
            raise server_broken(self.complaint, where="sut")
        return {"key": f"key of {commit.hash}" + f" laid out {layout}" * bool(layout)}

    def _deploy(
        self,
        scenario: Any,
        bench: Any,
        procedure: Any,
        key: str,
        *,
        generator_build: str,
        distribution: str,
        full: bool,
        keep: Sequence[str],
        places: Sequence[int],
    ) -> list[Bench]:
        assert full in (True, False)
        name = scenario.name
        self.asked.append(places)
        self.kept.append(tuple(keep))
        assert len(keep) <= self.places * len(self.deployed)
        commit, _, layout = key.removeprefix("key of ").partition(" laid out ")
        commit = commit or None
        self.deployed.append(commit or name)
        self.procedures.append(procedure)
        for broken in (commit or name, scenario.generator):
            if broken in self.deploy_faults:
                raise self.deploy_faults[broken]
        document = copy.deepcopy(DOCUMENT)
        document |= {
            "name": bench.inventory.bench,
            "environment": self._environment_of(distribution),
            "scenario": msgspec.to_builtins(scenario),
            "procedure": msgspec.to_builtins(procedure),
            "distribution": distribution,
        }
        document["generator"] |= {"name": scenario.generator}
        if generator_build:
            settings = {"commit": generator_build.removeprefix("key of "), "proof": PROOF}
            source = self._sources[settings["commit"]]
            build = {"key": generator_build, "source": source}
            document["generator"] |= {"settings": settings, "build": build}
        document["hosts"]["server"]["facts"] |= self.facts
        server = document["servers"]["server"]
        server |= {
            "config_sha256": _CONFIG_SHA256,
            "variant": f"{name} {key}",
            "commit": commit,
            "version": self.version,
            **self.server,
        }
        if commit:
            options = {"layout": int(layout)} if layout else {}
            server["build"] = {"key": key, "source": self._sources[commit], "options": options}
        if scenario.partner:
            document["hosts"]["partner"] = host("two", "198.18.0.20")
            document["servers"]["partner"] = dict(server)
        return [parse_bench(self._at(document, at), "tests") for at in places[: self.places]]

    def _at(self, document: dict[str, Any], place: int) -> dict[str, Any]:
        """The bench document of a place."""
        there = copy.deepcopy(document)
        if self.places > 1:
            second = {"interface": "leaselab2", "address": "198.18.0.11"}
            there["hosts"]["server"]["second"] = second
        if place > 1:
            there["servers"]["server"]["variant"] += "-at2"
        return there

    def _point(self, method: Any, trials: Any, *others: Any) -> Point:
        return _Point(method, trials, *others, lab=self)

    def round(self, point: Point, index: int) -> Round:
        """Return a made-up round of a point, or raise what a test wants."""
        bench, procedure = point.trials.bench, point.method.procedure
        name = bench.server.commit or bench.scenario.name
        if len(self.rounds) == self.interrupted_at:
            raise KeyboardInterrupt
        self.rounds.append((name, index))
        if (name, index) in self.faults:
            raise self.faults[name, index]
        measured = f"{name} by {bench.scenario.generator}"
        layout = ((bench.server.build or {}).get("options") or {}).get("layout", 0)
        rates = (self.rates.get(key) for key in (measured, f"{name} laid out {layout}", name))
        rate = next((rate for rate in rates if rate), RATE)
        family = bench.scenario.load.get("family", 4)
        if isinstance(procedure, MaxRate):
            return example_round(index, rate, START, procedure, family)
        if isinstance(procedure, Duel):
            rate *= 1 - point.trials.server.braked
            number, is_second = divmod(self.rounds.count((name, index)) - 1, 2)
            if is_second and self.off:
                rate, measured = rate * (1 + self.off[number]), f"{measured} as B"
            turn = self._turn(measured, index, rate)
            turn.metrics["cpu_us"] *= self.costs.get(name, 1.0)
            turn.metrics["start_s"] *= self.costs.get(f"start of {name}", 1.0)
            return turn
        offered = 1 if isinstance(procedure, Burst | Replay) else procedure.rate
        assert offered
        trial = example_trial(
            offered, 5, 0.0, number=1, index=index, round_started=START, family=family
        )
        kinds = procedure.metrics("exchanges")
        return Round(
            index=index,
            started_at=trial.started_at,
            metrics={kind.name: 0.5 for kind in kinds},
            shown_trial=0,
            traffic_s=5.0,
            wall_s=6.0,
            trials=(trial,),
        )

    @staticmethod
    def _turn(name: str, index: int, rate: float) -> Round:
        """A round of a duel, whose rates scatter by half a per cent."""
        chance = random.Random(f"{name} {index}")  # noqa: S311 - a simulation
        completed = rate * (1 + 0.005 * chance.gauss(0, 1))
        return Round(
            index=index,
            started_at=START,
            metrics={
                "completed_rate": completed,
                "offered_rate": 1.05 * rate,
                "loss_ratio": 1 - completed / (1.05 * rate),
                "cpu_us": 1e6 / completed,
                "start_s": 0.2 * (1 + 0.02 * chance.gauss(0, 1)),
            },
            traffic_s=6.0,
            wall_s=15.0,
        )


@cache
def _families(folder: Path) -> Any:
    return _LOAD(folder)


class _Point(Point):
    """A point whose rounds are made up; it is not confirmed."""

    def __init__(self, *parts: Any, lab: Lab) -> None:
        self._lab = lab
        super().__init__(*parts)

    def _round(self, index: int) -> None:
        self.listener(RunBegun(index=index))
        made = self._lab.round(self, index)
        for trial in made.trials:
            if trial.raw_file:
                self.recorder.write_bytes(trial.raw_file, b"")
        done = RoundDone(index=index, round=made)
        self.recorder.record(done)
        self.rounds.append(made)
        self.listener(done)

    def _confirm(self) -> None:
        pass


class _DuelRounds(DuelRounds):
    """A duel whose rounds are made up: a round of A, then one of B."""

    def _round(self) -> None:
        first, other = self.points
        point = first if len(first.rounds) <= len(other.rounds) else other
        try:
            point._round(len(point.rounds) + 1)
        except LeaselabError as error:
            if error.outcome is Outcome.LAB:
                raise
            for side in self.points:
                side.end(error if side is point else None)


class _Connection:
    """A host that has one file: the configuration of whatever is deployed."""

    def __init__(self, access: Any) -> None:
        self.access = access

    def run(self, argv: list[str], *, timeout_s: float) -> Completed:
        assert argv[0] == "cat"
        assert timeout_s > 0
        return Completed(0, CONFIG.encode(), "")


class _Lease:
    """A bench that nobody else wants."""

    name = "ana@laptop"

    def during(self, *_: Any) -> Any:
        return nullcontext(self)

    def renew(self, busy_s: float = 0.0) -> None:
        pass


class _Servers:
    def __init__(self, by_role: Any, *, pair: bool = False) -> None:
        assert "server" in by_role
        assert not pair or "partner" in by_role

        self.braked = 0.0

    def clear(self) -> None:
        pass

    def brake(self, share: float) -> None:
        self.braked = share
