"""A point of an experiment, while it is measured and once it is sealed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from leaselab.archive.running import RunningSweep, with_access
from leaselab.lab.servers import apart
from leaselab.lab.transport import Connection
from leaselab.measure.point import Point
from leaselab.model.bench import Bench, ServerUnderTest, public_names
from leaselab.model.errors import LeaselabError, lab_broken
from leaselab.model.journal import Begun
from leaselab.model.procedures.duel import Duel
from leaselab.model.record import SERVER, Experiment
from leaselab.model.server import settings_of
from leaselab.model.source import SHORT
from leaselab.run.record import KeptConfig


@dataclass(frozen=True, slots=True)
class Ended:
    """A point that is sealed."""

    error: LeaselabError | None
    """Error that ended it before its last round; None without one."""
    place: Path


@dataclass(slots=True)
class Part:
    """A point that is being measured."""

    running: RunningSweep
    begun: Begun
    """The first event of its journal."""
    bench: Bench
    elsewhere: Bench | None = None
    """Its bench at the host's second address; None where it is up alone."""
    point: Point | None = None
    ended: Ended | None = None
    configs: Mapping[str, KeptConfig] = field(default_factory=dict)
    """Deployed configurations as files of the result, by role."""
    setup_s: float = 0.0

    @classmethod
    def of(cls, running: RunningSweep) -> Part:
        """Return the point of a journal; raises as `RunningSweep.begun`."""
        begun = running.begun()
        bench = with_access(begun.bench, running.path)
        if begun.elsewhere is None:
            return cls(running, begun, bench)
        elsewhere = with_access(begun.elsewhere, running.path)
        return cls(running, begun, apart(bench), apart(elsewhere))

    @property
    def experiment(self) -> Experiment | None:
        """Its experiment; None where it is measured alone."""
        return self.begun.experiment

    @property
    def title(self) -> str:
        """Its name among the other points: the scenario, the commit, the release.

        The points of a duel are always A and B.
        """
        commit = self.bench.server.commit
        letter = ""
        if isinstance(self.bench.procedure, Duel) and self.experiment:
            letter = "AB"[self.experiment.points.index(self.running.id)] + ","
        parts = [letter, self.bench.scenario.name, f"at {commit[:SHORT]}" if commit else ""]
        parts.append(f"on {self.bench.distribution}" if self.bench.distribution else "")
        return " ".join(filter(None, parts))

    @property
    def names(self) -> dict[str, str]:
        """The public words for its hosts."""
        return public_names({role: host.access for role, host in self.bench.hosts.items()})


def fetch_config(
    running: RunningSweep, deployed: ServerUnderTest, host: Connection, role: str
) -> KeptConfig:
    """Store a server's configuration with the result; it must be the deployed one."""
    path = deployed.config_file
    done = host.run(["cat", path], timeout_s=10.0)
    digest = hashlib.sha256(done.stdout).hexdigest()
    if done.status != 0 or digest != deployed.config_sha256:
        raise lab_broken(
            f"{path} is not the configuration that was deployed for this sweep",
            where=host.access.name,
            found=digest if done.status == 0 else done.stderr.strip(),
            wanted=deployed.config_sha256,
            todo="deploy again; where a role's template has changed since, that cannot be had "
            f"again: remove {running.path} and measure again",
        )
    folder = "" if role == SERVER else f"{role}/"
    text = done.stdout.decode()
    settings = settings_of(text, deployed.variant, (deployed.build or {}).get("prefix"))
    return KeptConfig(
        file=running.write_text(f"config/{folder}{PurePosixPath(path).name}", text),
        settings_sha256=hashlib.sha256(settings.encode()).hexdigest(),
    )
