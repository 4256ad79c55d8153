"""What is advised of configurations of Kea, as cases say it (`tests.cases`).

`text` is a file, `file` the name of one in tests/data/advice, `given` what is known beside it.
The facts are the names of its costs, then what is not judged (!).  `shows` adds to a cost its
places (@), their lines, the numbers in what was seen, and the points to compare (>); to the
whole the release.  `python -m tests.advising --renew` writes the facts as they are now.
"""

import re
import sys
from functools import cache
from pathlib import Path

from tests.cases import DATA, cases_of, filled, renew
from tests.own_cases import refusal

from leaselab.catalog.catalogue import Catalogue
from leaselab.inputs.advice import Given, advise
from leaselab.model.errors import LeaselabError, Outcome

ROOT = Path(__file__).parents[1]
CATALOGUE = Catalogue(ROOT)
CASES = "advice/kea"
QUIET = {"loggers": [{"name": "kea-dhcp4", "severity": "WARN"}]}
POOL = {"pools": [{"pool": "192.0.2.1 - 192.0.2.100"}]}


def reserved(count):
    return [{"hw-address": "02:00:00:00:00:01", "ip-address": "192.0.2.1"}] * count


def named(count, **rest):
    return [{"name": f"c{number}", **rest} for number in range(count)]


def subnets(count, **rest):
    return [{"id": number + 1, "subnet": "192.0.2.0/24", **rest} for number in range(count)]


@cache
def having():
    """By the name of each cost: a configuration as text, and what is known beside it."""
    held = {}
    for row, places, _ in cases_of(CASES)[0].rows.values():
        if name := row.partition("||")[0].strip():
            held[name] = filled(places["text"], row), _given(places, row)
    return held


def _given(places, row):
    """What is known beside a configuration."""
    words = re.findall(r"(\w+)=(\S*)", filled(places.get("given", ""), row, joint=""))
    return Given(**{key: value if key == "version" else int(value) for key, value in words})


def facts_of(_case, row, places, folder):
    """The facts of a row, whose file is written in an empty folder."""
    file = folder / "kea.conf"
    if "file" in places:
        file = DATA / "advice" / places["file"]
    else:
        file.write_text(filled(places["text"], row), encoding="utf-8")
    try:
        advised = advise(file, CATALOGUE, _given(places, row))
    except LeaselabError as error:
        refused = error
    else:
        shows = places.get("shows", "").split()
        parts = ["; ".join(_finding(each, shows) for each in advised.findings)]
        parts += [f"! {each.what}: {_words(each.why)}" for each in advised.not_judged]
        return " ".join(filter(None, [*parts, *([advised.version] * ("version" in shows))]))
    assert refused.outcome is Outcome.USAGE
    return refusal(str(refused).replace(f"{file.parent}/", ""))


def _finding(each, shows):
    places = [
        f"@{place.path}" + f":{place.line}" * ("lines" in shows) for place in each.places[:4]
    ]
    parts = [each.name, *(places * ("places" in shows))]
    parts += re.findall(r"\d+", each.found) * ("numbers" in shows)
    return " ".join(
        [*parts, *([f">{cost.point}" for cost in each.costs] * ("points" in shows))]
    )


def _words(text):
    return " ".join(text.split()[:4])


if __name__ == "__main__" and sys.argv[1:] == ["--renew"]:
    renew(CASES, facts_of)
