"""What a search for a culprit says of the functions that cost more."""

import io
import math

import pytest

from leaselab.analysis.comparison.profile import compared, spent
from leaselab.analysis.duels.bisect import Culprit, End, Ending, Known, Limits
from leaselab.analysis.duels.culprits import Duelled, Gap, Level
from leaselab.analysis.duels.duel import Answer
from leaselab.model.source import Commit
from leaselab.report.bisect import Hunted, closing, report_of_hunt
from leaselab.report.searched import markdown_of_search, print_search

RATIO, CI95 = 0.95, (0.944, 0.956)
SAMPLES = 600


def commit(number):
    name = f"{number}" * 40
    return Commit("/src", name, name, name, "v1", "2026-11-01T12:00:00Z", f"Change {number}")


def profile(grown, name="weigh"):
    """Eight rounds of each; B spends `grown` more in a function, and rounds differ a little."""

    def rounds(more):
        return [
            spent(f"main;{name} {SAMPLES + more + turn}\nmain;pack {SAMPLES}\n", 100.0, None)
            for turn in range(8)
        ]

    return compared(rounds(0), rounds(grown), paired=True, unit="µs per exchange")


def duel(place, answer=Answer.SLOWER, mean=-0.05, error=0.003):
    return Duelled(0, place, "2026-11-02T12:00:00Z", 4.0, answer, mean, error, 12)


def hunted(**fields):
    culprit = Culprit(Gap(0, 1), Level(RATIO, CI95, 1))
    known = {
        "commits": [commit(1), commit(2)],
        "known": Known(1, (duel(1),)),
        "end": End(Ending.FOUND, (culprit,)),
    }
    return Hunted(scenario="v4-dnsmasq", bench="docker", limits=Limits(), **known | fields)


def printed(hunt):
    stream = io.StringIO()
    print_search(report_of_hunt(hunt), stream)
    return stream.getvalue()


def test_the_function_that_costs_more_is_said_with_the_culprit():
    hunt = hunted(profiles={1: profile(grown=100)})
    said = "against 1111111111, its parent. CPU time by function: Grew most: weigh +"
    assert said in closing(hunt)
    for text in (printed(hunt), markdown_of_search(report_of_hunt(hunt))):
        assert text.count("CPU time 100.00 µs per exchange in A") == 1
    assert "A is 1111111111, B is 2222222222:" in printed(hunt)
    (culprit,) = report_of_hunt(hunt).document["culprits"]
    assert culprit["profile"]["functions"][0]["name"] == "weigh"


@pytest.mark.parametrize("profiles", [{}, {1: profile(grown=0)}])
def test_without_a_function_that_grew_the_culprit_alone_is_named(profiles):
    hunt = hunted(profiles=profiles)
    assert closing(hunt).endswith("its parent.")
    (culprit,) = report_of_hunt(hunt).document["culprits"]
    assert (culprit["profile"] is None) == (not profiles)
    shown = printed(hunt) + markdown_of_search(report_of_hunt(hunt))
    assert ("function (" in shown) == bool(profiles)


def test_a_terminal_has_all_on_a_page_and_the_culprit_last(monkeypatch):
    """Whatever the length of the range, of its subjects and of the functions' names."""
    monkeypatch.setenv("COLUMNS", "80")
    commits = [
        Commit("/src", f"{n:040x}", f"{n:040x}", f"{n:040x}", "v1", None, f"Change {n} " * 9)
        for n in range(1, 101)
    ]
    profiles = {1: profile(grown=100, name=f"isc::{'dhcp::' * 20}")}
    hunt = hunted(profiles=profiles, commits=commits, known=Known(99, (duel(99),)))
    stream = io.StringIO()
    stream.isatty = lambda: True
    print_search(report_of_hunt(hunt), stream)
    lines = stream.getvalue().splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    place = next(n for n, line in enumerate(lines) if line.startswith("Slower since "))
    assert " ".join(line.strip() for line in lines[place:]) == closing(hunt).strip()
    table = lines[next(n for n, line in enumerate(lines) if line.startswith("function")) :]
    assert table[0].split()[-1] == "±"
    assert table[1].startswith("isc::dhcp::")


@pytest.mark.parametrize(
    ("ratio", "levels", "doubtful"),
    [
        (0.95, (0.002, -0.003, 0.001, -0.001), False),
        (0.975, (0.012, -0.009, 0.007, -0.011), True),
        (0.985, (0.0,), True),
        (0.9, (0.0,), False),
    ],
)
def test_a_culprit_that_scattered_builds_may_explain_is_named_with_a_doubt(
    ratio, levels, doubtful
):
    """Nothing but the order of their functions makes those before it differ."""
    count = len(levels) + 1
    duels = [
        duel(place, Answer.SAME, level, 0.001) for place, level in enumerate(levels, start=1)
    ]
    duels.append(duel(count, mean=math.log(ratio), error=0.001))
    culprit = Culprit(Gap(count - 1, count), Level(ratio, (ratio - 0.01, ratio + 0.01), 1))
    hunt = hunted(
        commits=[commit(number) for number in range(count + 1)],
        known=Known(count, tuple(duels)),
        end=End(Ending.FOUND, (culprit,)),
    )
    assert ("--layouts 5" in closing(hunt)) is doubtful
    (document,) = report_of_hunt(hunt).document["culprits"]
    assert (document["as_slow_by_chance"] >= 0.25) is doubtful
