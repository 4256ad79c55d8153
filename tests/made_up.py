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
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace as replaced
from tests.bench_document import DOCUMENT, host
from tests.build_record import ANSWER
from tests.counts import counted
from tests.dns import PROOF
from tests.examples import CONFIG, START, example_round, example_trial
from tests.inventories import parsed

from leaselab.archive.store import Store
from leaselab.catalog import catalogue
from leaselab.catalog.checkout import checkout_root
from leaselab.lab.bench import benches
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.lab.hosts.transport import Completed
from leaselab.measure.point import Point
from leaselab.measure.procedures.confirmation import Confirming
from leaselab.measure.procedures.cost import FILE
from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, Outcome, server_broken
from leaselab.model.journal import RoundDone, RunBegun
from leaselab.model.procedures.burst import Burst
from leaselab.model.procedures.cost import COST, Cost
from leaselab.model.procedures.duel import DUEL, Duel
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.procedures.replay import Replay
from leaselab.model.record import Round
from leaselab.report.site import site
from leaselab.run import workshop
from leaselab.run.building import build_log
from leaselab.run.duel import DuelRounds
from leaselab.run.experiment import Ended
from leaselab.run.instruments import Instruments
from leaselab.run.measurement import Measurement
from leaselab.run.preparation import LeasedBench
from leaselab.run.workshop import Workshop

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
_LOAD, _WRITE = catalogue.load_families, site.write_site
CONFIG_SHA256 = hashlib.sha256(CONFIG.encode()).hexdigest()


class Lab(Workshop):
    """What the hosts would do; names of points are scenarios, or the hashes of commits."""

    build_fault: BaseException | None = None
    """What is raised as any commit is built."""
    uncountable: LeaselabError | None = None
    """What is raised as a server is counted."""
    lays_out = True
    """Whether a layout that is asked for is that of the build."""
    draws = False
    """Whether the report is written after a command; it takes a second."""
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

        Under ``start of NAME`` and ``stall of NAME``: the time of a start, and the longest
        stall by an operation, likewise.
        """
        self.counts: dict[str, dict[str, int]] = {}
        """What points do more of, as `counted` takes it."""
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
        self._builds: dict[str, tuple[str, int]] = {}
        (self.checkout / ".leaselab").mkdir(parents=True)
        for name in ("scenarios", "roles", "ansible", "ansible.cfg", "inventory"):
            (self.checkout / name).symlink_to(checkout_root() / name)
        self._families = dict(_families((checkout_root() / "scenarios").resolve()))
        monkeypatch.setattr(workshop, "LAB", self)
        monkeypatch.setenv("LEASELAB_ROOT", str(self.checkout))
        monkeypatch.setenv("LEASELAB_RESULTS", str(self.results))
        monkeypatch.setattr(benches, "read_inventory", self._inventory)
        monkeypatch.setattr(site, "write_site", self._report)
        # They are read for each scenario and each procedure, and a test changes none.
        monkeypatch.setattr(catalogue, "load_families", self._families_of)
        # By the id, which has random digits, duels would end by chance.
        order = Duel.order_of
        monkeypatch.setattr(Duel, "order_of", lambda _, index: order(Duel(seed=DUEL), index))

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

        def changed(known: Any) -> Any:
            options = {**known.server.options, option: value}
            return replaced(known, server=replaced(known.server, options=options))

        self._change({name}, changed)

    def measure_with(self, generator: str, *names: str) -> None:
        """Have scenarios measured with another generator."""
        self._change(set(names), lambda known: replaced(known, generator=generator))

    def _change(self, names: Set[str], changed: Callable[[Any], Any]) -> None:
        for key, family in self._families.items():
            scenarios = {
                name: changed(known) if name in names else known
                for name, known in family.scenarios.items()
            }
            self._families[key] = replace(family, scenarios=scenarios)

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

    def _report(self, store: Store, folder: Path, *asked: Any, **given: Any) -> Path:
        draws = self.draws or asked
        return _WRITE(store, folder, *asked, **given) if draws else folder

    def hold(self, *_: Any) -> Any:
        """Hold a bench that nobody else wants."""
        return nullcontext(_Lease())

    def lease(self, inventory: Any, _purpose: str) -> Any:
        """Lease it likewise."""
        return nullcontext(LeasedBench(inventory, _Lease()))

    def connect(self, parts: Any, _listener: Any) -> Any:
        """Connect hosts that have a file each: the configuration of what is deployed."""
        return nullcontext(_Instruments(_connections(parts[0].bench), self))

    def prepare(self, _bench: Any, distribution: str, *, full: bool) -> str:
        """Note the release; keep the environment, and return it."""
        assert full in (True, False)
        self.prepared.append(distribution)
        environment = self._environment_of(distribution)
        place = self.checkout / ".leaselab" / "provisioned" / self.bench
        place.parent.mkdir(exist_ok=True)
        place.write_text(environment)
        return environment

    def _environment_of(self, distribution: str) -> str:
        """Facts of hosts name their release, and so does the environment."""
        return f"{self.environment}{distribution}"

    def tune(self, scenario: Any, bench: Any, procedure: Any, key: str) -> Bench:
        """Tune what was deployed; the same bench."""
        chosen: Any = {"generator_build": "", "distribution": "", "full": True, "keep": ()}
        return self.deploy(scenario, bench, procedure, key, **chosen, places=(1,))[0]

    def give_back(self, _bench: Any) -> None:
        """Note that it was asked for."""
        self.deployed.append("hosts given back")

    def build(
        self, server: str, commit: Any, files: Path, *_: Any, layout: int = 0, full: bool
    ) -> str:
        """Note the build, and keep its log where it fails."""
        assert full in (True, False)
        assert server in ("kea", "bind9", "dnsmasq", "flame")
        assert files.name == f"{commit.tree}.tar"
        self._sources[commit.hash] = json.loads(json.dumps(asdict(commit)))
        self.built.append(commit.hash)
        if self.build_fault is not None:
            raise self.build_fault
        if commit.hash in self.broken:
            build_log(commit).parent.mkdir(parents=True, exist_ok=True)
            build_log(commit).write_bytes(gzip.compress(b"the whole log"))
            raise server_broken(self.complaint, where="sut")
        laid_out = layout if self.lays_out else 0
        key = hashlib.sha256(f"{commit.hash} {laid_out}".encode()).hexdigest()[:24]
        self._builds[key] = commit.hash, laid_out
        source = self._sources[commit.hash]
        record = {**ANSWER, "key": key, "prefix": f"/opt/leaselab/builds/{key}"}
        record |= {"source": source, "commit": commit.hash, "tree": commit.tree}
        place = self.checkout / ".leaselab" / "builds" / key
        place.mkdir(parents=True, exist_ok=True)
        (place / "build.json").write_text(json.dumps(record))
        return key

    def deploy(
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
        ahead: Sequence[str] = (),
    ) -> list[Bench]:
        """Return benches as the role would describe them, and note what was asked for."""
        assert full in (True, False)
        name = scenario.name
        self.asked.append(places)
        self.kept.append(tuple(keep))
        assert len(keep) <= self.places * len(self.deployed)
        assert {key, *ahead} <= {"", *self._builds}
        commit, layout = self._builds.get(key, (None, 0))
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
            settings = {"commit": self._builds[generator_build][0], "proof": PROOF}
            source = self._sources[settings["commit"]]
            build = {"key": generator_build, "source": source}
            document["generator"] |= {"settings": settings, "build": build}
        document["hosts"]["server"]["facts"] |= self.facts
        server = document["servers"]["server"]
        server |= {
            "config_sha256": CONFIG_SHA256,
            "variant": f"{name} {key}",
            "commit": commit,
            "version": self.version,
            **self.server,
        }
        if commit:
            options = {"layout": layout} if layout else {}
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
            for of in ("start", "stall"):
                turn.metrics[f"{of}_s"] *= self.costs.get(f"{of} of {name}", 1.0)
            return turn
        if isinstance(procedure, Cost):
            return self._counted(point, name, index)
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

    def _counted(self, point: Point, name: str, index: int) -> Round:
        """A count, which is the same in each round."""
        if self.uncountable is not None:
            raise self.uncountable
        result = point.method.result_of(counted(**self.counts.get(name, {})))
        files = {key: f"rounds/run-{index}-{key}" for key in result.files}
        for key, file in files.items():
            point.recorder.write_bytes(file, result.files[key])
        return Round(
            index=index,
            started_at=START,
            metrics=result.metrics,
            files={COST: files[FILE]},
            traffic_s=5.0,
            wall_s=6.0,
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
                "stall_s": 0.05 * (1 + 0.02 * chance.gauss(0, 1)),
            },
            traffic_s=6.0,
            wall_s=15.0,
        )


@cache
def _families(folder: Path) -> Any:
    return _LOAD(folder)


class Failing(Workshop):
    """Hosts on which no round is made: each raises the next of some errors."""

    def __init__(self, *errors: LeaselabError, text: str = CONFIG) -> None:
        """`text` is the configuration that is deployed."""
        self.errors, self.text = [*errors], text
        self.seen: list[Bench] = []

    def connect(self, parts: Any, _listener: Any) -> Any:
        """Connect hosts that have the configuration."""
        return nullcontext(_Instruments(_connections(parts[0].bench, self.text), self))

    def round(self, point: Point, _: int) -> Round:
        """Note the bench, and fail."""
        self.seen.append(point.trials.bench)
        raise self.errors.pop(0)

    def finish(self, store: Store, running: Any) -> list[Ended]:
        """Measure what is begun on them."""
        shown: Any = lambda *_: nullcontext(lambda *_, **__: None)  # noqa: E731
        lease: Any = _Lease()
        return Measurement(store, store.root, shown, lease, self).finish([running])


def _connections(bench: Bench, text: str = CONFIG) -> Any:
    return {role: _Connection(host.access, text) for role, host in bench.hosts.items()}


class _Instruments(Instruments):
    """Hosts that are not there: nothing is watched, and rounds are made up."""

    def __init__(self, hosts: Any, lab: Lab | Failing) -> None:
        super().__init__(hosts)
        self.lab = lab

    def watching(self, _: Any) -> Any:
        return nullcontext()

    def clear(self, _: Any) -> None:
        pass

    def point(self, *given: Any) -> Point:
        made = super().point(*given)
        return _Point(*(getattr(made, name) for name in _PARTS), lab=self.lab)

    def trials(self, *given: Any) -> Any:
        made = super().trials(*given)
        return replace(made, server=_Servers())

    def duel(self, points: Any, _: Any) -> DuelRounds:
        return _DuelRounds(points)


_PARTS = ("method", "trials", "hold", "recorder", "listener", "pending")


class _Point(Point):
    """A point whose rounds are made up; it is not confirmed."""

    def __init__(self, *parts: Any, lab: Lab | Failing) -> None:
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

    def _confirm(self, _: Confirming) -> None:
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

    def __init__(self, access: Any, text: str) -> None:
        self.access, self._text = access, text

    def run(self, argv: list[str], *, timeout_s: float) -> Completed:
        assert argv[0] == "cat"
        assert timeout_s > 0
        return Completed(0, self._text.encode(), "")


class _Lease:
    """A bench that nobody else wants."""

    name = "ana@laptop"

    def during(self, *_: Any) -> Any:
        return nullcontext(self)

    def renew(self, busy_s: float = 0.0) -> None:
        pass


class _Servers:
    braked = 0.0

    def brake(self, share: float) -> None:
        self.braked = share
