"""Types of advice: known costs that a server's configuration has, and how much they are."""

from __future__ import annotations

from msgspec import Struct


class Place(Struct, frozen=True, kw_only=True):
    """Position of a setting in a configuration."""

    path: str
    """Path of keys and numbers, such as ``Dhcp4.loggers[0]``; empty for an included file."""
    file: str
    """Name of the file as given: an included file by the name in its directive."""
    line: int
    """Line in that file, from 1."""


class MeasuredCost(Struct, frozen=True, kw_only=True):
    """Measured ratio of a cost: the point that has it over the point that has not."""

    ratio: float
    """Figure of the point with the cost over that of the point without it."""
    ci95: tuple[float, float] | None
    """95 % interval of the ratio; None where the runs were too few for one."""
    word: str
    """The word for it, as of `leaselab compare`."""
    metric: str
    """Title of the figure."""
    better: str
    """Which direction of the figure is better: higher, lower, neither."""
    measured_on: str
    """Day of the later of the two results."""
    bench: str
    """Bench of both."""
    server: str
    """Server of both, with its version."""
    alternated: bool
    """Whether the rounds of the two alternated; if not, the machine's drift is in the ratio."""
    result: str
    """Id of the result with the cost."""
    base: str
    """Id of the result without."""


class Cost(Struct, frozen=True, kw_only=True):
    """One way in which a known cost is measured."""

    point: str
    """Scenario that has the cost."""
    base: str
    """Scenario that differs from it by not having it."""
    command: str
    """Command that measures both."""
    measured: MeasuredCost | None = None
    """None where the archive has no two comparable results."""


class OwnCost(Struct, frozen=True, kw_only=True):
    """A cost in the configuration itself: a duel of the file with the file without it."""

    scenario: str = ""
    """The file as it is; empty where nothing was measured."""
    base: str = ""
    """The file without the cost."""
    changes: tuple[str, ...] = ()
    """What differs between the two, by path."""
    results: tuple[str, ...] = ()
    """Ids of the results: without it, and with it."""
    word: str = ""
    """How the file compares with the file without it: slower, faster, equal or cannot tell;
    empty where there is no verdict."""
    cost: float | None = None
    """Share of the max rate that it costs (0..1); below 0 where the file has more with it."""
    ci95: tuple[float, float] | None = None
    """95 % interval of that."""
    bound: float | None = None
    """It costs not more than this (0..1)."""
    at_least: bool = False
    """Whether the faster of the two was not at its limit, so that the cost may be larger."""
    more: tuple[str, ...] = ()
    """Further figures that got worse by it, in words."""
    why: str = ""
    """Why it could not be measured; empty where it was."""


class Finding(Struct, frozen=True, kw_only=True):
    """One known cost that a configuration has."""

    name: str
    """Name of the cost, such as ``debug-logging``."""
    what: str
    """What causes the cost."""
    found: str
    """What the configuration says."""
    todo: str
    """What to do about it."""
    places: tuple[Place, ...]
    """Positions of the settings that cause the cost, in the order of the file."""
    costs: tuple[Cost, ...] = ()
    """Measurements of the cost; empty where no experiment measures it."""
    own: OwnCost | None = None
    """Measurement in the configuration itself; None where it was not asked for."""


class NotJudged(Struct, frozen=True, kw_only=True):
    """A setting that a configuration has, or may have, and whose costs are not known."""

    what: str
    """What it is."""
    why: str
    """Why it is not judged."""
    places: tuple[Place, ...]
    """Its positions, in the order of the file."""


class Advice(Struct, frozen=True, kw_only=True):
    """What is known of one configuration."""

    file: str
    """The file, as it was named."""
    server: str
    """Kind of server that it configures."""
    version: str
    """Release of the server whose defaults apply to settings that the file omits."""
    not_judged: tuple[NotJudged, ...]
    """Settings that were not judged: they may have costs that are not among the findings."""
    findings: tuple[Finding, ...]
    """The known costs that it has."""
