"""The page of scenarios, from scenarios/*.yml."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from ci.docpages.table import table
from leaselab.catalog.family import Family, load_families


def scenarios(root: Path) -> str:
    """Each family: its question, its factors, its procedure, its scenarios, its comment."""
    folder = root / "scenarios"
    families = load_families(folder)
    rows = (_row(family) for family in families.values())
    return "\n".join(
        [
            "# Scenarios\n",
            "A family is a file of `scenarios/`. `./leaselab run FAMILY` measures all of its "
            "scenarios in turn; compare them with each other, not with those of another day. "
            "The first one is usually without what the family asks about.\n",
            table(("family", "question", "factors", "procedure", "scenarios"), rows),
            *(
                _section(family, _comment(folder / f"{name}.yml"))
                for name, family in families.items()
            ),
        ]
    )


def _row(family: Family) -> tuple[str, ...]:
    named = {item.get("name", "max-rate") for item in family.procedures.values()}
    questions = dict.fromkeys(scenario.description for scenario in family.scenarios.values())
    return (
        f"[{family.name}](#{family.name})",
        " ".join(questions),
        ", ".join(_varied(family)),
        ", ".join(sorted(named)),
        str(len(family.scenarios)),
    )


def _varied(family: Family) -> Iterator[str]:
    """Factors with more than one value."""
    members = family.scenarios.values()
    for name in dict.fromkeys(factor for member in members for factor in member.factors):
        if len({str(member.factors.get(name)) for member in members}) > 1:
            yield name


def _comment(path: Path) -> str:
    """The comment at the head of the file, as Markdown paragraphs and lists."""
    lines = path.read_text("utf-8").splitlines()[1:]
    head = itertools.takewhile(lambda line: line.startswith("#"), lines)
    return "\n".join(line[1:].strip() for line in head)


def _section(family: Family, comment: str) -> str:
    names = ", ".join(f"`{name}`" for name in family.scenarios)
    parts = [f"## {family.name}", comment, f"{names}\n"]
    return "\n\n".join(filter(None, parts))
