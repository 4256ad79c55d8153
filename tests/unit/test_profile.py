"""Profiles: what perf says is read, what functions cost is compared, what grew is named."""

import gzip
import io
import json
import random
import re
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.contracts import contract_fixture
from tests.doubles import Killed
from tests.formula import (
    PROFILE,
    Flood,
    Zones,
    archived_profiles,
    formula_bench,
    formula_point,
)
from tests.hostile import ATTACK

from leaselab.analysis.comparison.profile import (
    NOT_SAMPLED,
    Change,
    FunctionChange,
    ProfileDifference,
    compared,
    difference,
    spent,
    spent_of,
)
from leaselab.archive.store import Store
from leaselab.cli.main import main
from leaselab.measure.procedures.profile import parts
from leaselab.model.errors import Outcome, invalid_measurement
from leaselab.model.observation import Sampled
from leaselab.report.export.markdown import markdown_of_profiles
from leaselab.report.profile import growth, print_profile, rows, summary
from leaselab.report.site.profile import flames, profile_parts
from leaselab.report.site.site import write_site

ROLES = Path(__file__).parents[2] / "roles"
DATA = Path(__file__).parents[1] / "data" / "profile"
UNIT = "µs per query"
both = partial(compared, paired=True, unit=UNIT)
SLOWER = {"main;answer": 9.0, "main;answer;weigh_options": 0.8, "main;receive": 2.0}


contract = contract_fixture("contract", "leaselab_contract.profile")


def printed(name):
    """What perf 6.12 of Debian 13 printed."""
    return gzip.decompress((DATA / f"{name}.txt.gz").read_bytes()).decode().splitlines()


@pytest.fixture
def two(tmp_path):
    """An archive with two points of an experiment, the second of a slower build."""
    root = tmp_path / "results"
    return Store(root), archived_profiles(root, SLOWER)


def read(store, record):
    return spent_of(record, lambda name: store.read(record.id, name))


# --- what perf prints -----------------------------------------------------------------


def test_each_sample_is_in_one_stack_with_its_outermost_function_first(contract):
    """Threads of a pool share a name; names of C++ are whole, files stand for the others."""
    lines = printed("perf-script")
    folded = contract.fold(lines)
    heads = [line for line in lines if line and not line.startswith("\t")]
    assert {line.rsplit(maxsplit=1)[0] for line in heads} == {"wire pool-0", "wire pool-1"}
    assert folded["samples"] == len(heads) == sum(folded["stacks"].values())
    assert folded["lost"] == 0
    assert folded["sampled_s"] == pytest.approx(len(heads) * 10309278e-9)
    assert all(stack.startswith("wire pool;[libc.so.6];") for stack in folded["stacks"])
    callers = {name for stack in folded["stacks"] for name in stack.split(";")}
    names = {"wire::weigh(unsigned int)", "wire::pack(wire::Packet<int>&, int)"}
    assert callers >= {*names, "[libstdc++.so.6.0.33]"}
    assert not any("unknown" in name for name in callers)


def test_time_in_the_kernel_is_of_the_function_that_called_it(contract):
    """In a container with CAP_SYS_ADMIN, which lacks the kernel's symbols."""
    stacks = contract.fold(printed("perf-script-kernel"))["stacks"]
    outside = "net;_start;__libc_start_main;[libc.so.6];main;sendto;[libc.so.6]"
    assert stacks[f"{outside};[kernel]"] > 0.8 * sum(stacks.values())


def test_functions_of_the_kernel_are_marked_and_lost_samples_are_counted(contract):
    lines = [
        "dnsmasq 1003009 ",
        "\tffffffff81a04e10 udp_sendmsg ([kernel.kallsyms])",
        "\t    55d0aa01 dhcp_packet (/usr/sbin/dnsmasq)",
        "",
        "dnsmasq     0     0     0 PERF_RECORD_LOST lost 17",
        "dnsmasq 1003009 ",
        "\t    55d0aa05 dhcp_packet (/usr/sbin/dnsmasq)",
    ]
    folded = contract.fold(lines)
    stacks = {"dnsmasq;dhcp_packet;udp_sendmsg_[k]": 1, "dnsmasq;dhcp_packet": 1}
    assert (folded["stacks"], folded["lost"]) == (stacks, 17)


def test_why_perf_may_not_sample_is_one_line(contract):
    """The words are those of perf 6.12 under Docker's own filter of system calls."""
    why = "No permission to enable cpu-clock event."
    words = "perf_event_open(...) failed with unexpected error 1 (Operation not permitted)"
    message = contract.refused(f"{words}\nError:\n{why}\n\n")
    assert message.startswith(f"perf may not sample here: {why} (found kernel.")
    assert "\n" not in message


@pytest.mark.parametrize(
    "recipe", sorted((ROLES / "build/files/recipes").iterdir()), ids=lambda value: value.name
)
def test_no_recipe_strips_what_it_builds(recipe):
    """Else its own functions would have no names: neither when it is linked, nor installed."""
    text = recipe.read_text(encoding="utf-8")
    assert not re.search(r"\bstrip\b|-Wl,-s\b|install (?:-\S+ )*-s\b|install-strip", text)
    assert not re.search(r"(?:CFLAGS|LDFLAGS|link_args)\S* -s\b", text)


# --- rounds ---------------------------------------------------------------------------


def test_a_round_that_was_interrupted_is_repeated_and_comes_to_the_same():
    """At each event of the journal: round, trials and stacks are never of two starts."""
    given = {**PROFILE, "rounds": 2}
    whole = Zones()
    wanted = formula_point(formula_bench(**given), whole)
    for at in range(1, len(whole.events) + 1):
        zones = Zones(kill_at=at)
        with pytest.raises(Killed):
            formula_point(formula_bench(**given), zones)
        point = formula_point(formula_bench(**given), zones)
        for round_, other in zip(point.rounds, wanted.rounds, strict=True):
            assert round_.metrics["sampled_us"] == pytest.approx(other.metrics["sampled_us"])
            assert round_.files == other.files


def test_clients_that_come_back_are_served_once_before_the_profile_is_taken():
    """A server that searches a list of its clients: new ones are more than it can serve."""
    new, back = (
        formula_point(formula_bench(**PROFILE, **more), Zones(capacity=2000.0, grows=0.001))
        for more in ({}, {"returning": 600})
    )
    for lossy, round_ in zip(new.rounds, back.rounds, strict=True):
        filling, sampled = round_.trials
        assert (filling.rate, filling.duration_s) == (500, 2)
        assert sampled.attempted == 10_000
        assert round_.metrics["loss_ratio"] == 0.0 < lossy.metrics["loss_ratio"]
        assert round_.shown_trial == 1
        assert round_.metrics["samples"] == pytest.approx(10_000 * 11 / 100, rel=0.01)


def test_the_parts_of_a_transaction_add_up_to_the_latency_that_the_generator_saw():
    """What has no metric of its own is named, and below 0 is no error."""
    point = formula_point(
        formula_bench(**PROFILE), Zones(waits={"lock": 4.0, "page fault": 3.0})
    )
    metrics = point.rounds[0].metrics
    assert (metrics["lock_us"], metrics["other_us"]) == pytest.approx((4.0, 3.0), rel=1e-3)
    assert metrics["database_us"] is None
    trial = replace(point.rounds[0].shown, figures={"latency_us": 15.0}, cpu_us=12.0)
    waits = {"lock": 4e-6 * trial.completed, "page fault": 3e-6 * trial.completed}
    divided = parts(trial, Sampled("cpu-clock", 1, 1.0, 0, {}, waits))
    wanted = {"lock": 4.0, "page fault": 3.0, "cpu_us": 12.0, "queue_us": -4.0}  # of 15 in all
    assert divided == pytest.approx(wanted)


def test_show_has_a_table_of_the_parts_with_the_longest_first(two, capsys):
    store, (base, _) = two
    assert main(["show", base.id, "--all", "--results", str(store.root)]) == 0
    table = capsys.readouterr().out.partition("Where the time goes: ")[2].splitlines()
    assert table[0].endswith(UNIT)
    rows = [line.split("  ") for line in table[2:5]]
    assert [row[0].strip() for row in rows] == ["database", "on the CPU", "page fault"]
    shares = [float(row[-1]) for row in rows]
    assert sum(shares) == pytest.approx(100.0, abs=0.2)


def test_where_no_profile_may_be_taken_or_has_samples_the_result_says_so():
    class Forbidden(Zones):
        def begin_profile(self):
            raise invalid_measurement("there is no profile: perf may not sample here")

    nothing = Zones(functions={"main;answer": 0.0})
    for zones, why in ((Forbidden(), "may not sample here"), (nothing, "found 0 samples")):
        point = formula_point(formula_bench(**PROFILE), zones)
        assert point.error.outcome is Outcome.INVALID
        assert why in str(point.error)


# --- what functions cost --------------------------------------------------------------


def test_samples_become_time_of_each_transaction_and_the_rest_is_reported():
    """A function that calls itself counts once, and its versions are one."""
    cost = spent("main;answer 30\nmain;receive 10\n", sampled_us=8.0, cpu_us=10.0)
    assert cost.own == {"answer": 6.0, "receive": 2.0, NOT_SAMPLED: 2.0}
    assert (cost.whole["main"], cost.all) == (8.0, 10.0)
    cost = spent("walk;walk.part.0;walk.isra.3.cold 4\nwalk 4\n", sampled_us=8.0, cpu_us=None)
    assert cost.whole == cost.own == {"walk": 8.0}


def rounds(rng, costs, number=8):
    """Rounds of a machine whose speed moves by 2 % (1 sigma), with the noise of counting."""
    made = []
    for _ in range(number):
        speed = rng.gauss(1.0, 0.02)
        text = "".join(
            f"main;{name} {max(0, round(rng.gauss(60 * cost, (60 * cost) ** 0.5)))}\n"
            for name, cost in costs.items()
        )
        made.append(spent(text, speed * sum(costs.values()), None))
    return made


def test_equal_builds_differ_in_one_comparison_of_ten_and_three_per_cent_more_is_named():
    """Profiles with 20 functions each; 5 % is what the intervals promise."""
    rng = random.Random(7)  # noqa: S311  # no secret
    costs = {f"function{number}": 0.5 + number for number in range(20)}
    pairs = [both(rounds(rng, costs), rounds(rng, costs)) for _ in range(60)]
    assert sum(any(function.seen for function in pair.functions) for pair in pairs) <= 6
    slower = {**costs, "busy": 0.03 * sum(costs.values())}
    pairs = [both(rounds(rng, costs), rounds(rng, slower)) for _ in range(20)]
    assert sum(pair.functions[0].name == "busy" for pair in pairs) >= 19
    assert sum(pair.grown[:1] == pair.functions[:1] for pair in pairs) >= 19


def test_one_round_has_no_intervals():
    results = [spent("main;answer 30\n", 8.0, 10.0)]
    functions = both(results, results)
    assert all(each.own.reach is None and not each.seen for each in functions.functions)
    assert growth(functions) == "One round cannot separate growth from noise."


# --- what is shown --------------------------------------------------------------------


def test_what_is_shown_as_nothing_neither_grew_nor_fell():
    """In whatever direction the last bits of a sum lie."""
    cases = (1e-15, False, "0.00"), (-4e-3, False, "0.00"), (0.8, True, "+0.80")
    for size, seen, words in cases:
        change = Change(before=2.0, after=2.0 + size, reach=0.0)
        function = FunctionChange("receive", change, change, None)
        result = ProfileDifference([function], change, 4, True, {}, UNIT, {})
        assert change.seen is seen
        assert ("receive" in growth(result)) is seen
        assert next(iter(rows(result)))[3].strip("* ") == words


def test_a_sentence_a_table_and_a_comment_name_the_function(two):
    store, (base, other) = two
    result = difference(base, other, read(store, base), read(store, other))
    assert f"0 {UNIT} in A, " in summary(result)
    assert "Grew most: weigh_options +0.80" in summary(result)
    print_profile(result, stream := io.StringIO())
    table = stream.getvalue().split("\n\n")[1].splitlines()
    assert table[1].split()[:4] == ["weigh_options", "0.00", "0.80", "+0.80*"]
    comment = markdown_of_profiles(result)
    assert "### Where CPU time goes" in comment
    assert comment.index("weigh\\_options") < comment.index("answer")


def test_compare_reports_the_profile_beside_its_verdict(two, capsys):
    store, (base, other) = two
    words = ["compare", base.id, other.id, "--threshold", "50", "--results", str(store.root)]
    assert main([*words, "--json"]) == 0
    profile = json.loads(capsys.readouterr().out)["profile"]
    first = profile["functions"][0]
    assert (profile["paired"], first["name"]) == (True, "weigh_options")
    assert first["own"]["seen"] is True
    assert main(words) == 0
    assert "Grew most: weigh_options" in capsys.readouterr().out


def test_the_page_of_the_experiment_has_the_table_and_the_flame_graph(two, tmp_path):
    store, _ = two
    write_site(store, tmp_path / "report")
    (page,) = (tmp_path / "report" / "experiment").glob("*.html")
    text = page.read_text(encoding="utf-8")
    (title,) = re.findall(r"<h1>(.*?) <small>", text)
    more = r"B spends more in weigh_options: \+0\.[78]\d ± 0\.\d\d µs per query"
    assert re.fullmatch(more, title)
    assert f"<title>{title} · Leaselab</title>" in text
    assert text.index("Grew most: weigh_options") < text.index("Differential flame graph")
    assert 'data-chart="flames"' in text
    assert ">weigh_options<" in text
    # Its figures are of sampled servers: none is the best.
    assert ">best<" not in text
    assert "to the best" not in text


def test_points_are_compared_with_the_first_that_does_the_same_work(two):
    store, queries = two
    asked = queries[0].scenario.transaction
    scenario = replace(queries[0].scenario, transaction=replace(asked, name="update"))
    others = [replace(record, scenario=scenario) for record in queries]
    points = [
        (record, f"{record.scenario.transaction.name} {letter}", read(store, record))
        for letter, *pair in zip("AB", queries, others, strict=True)
        for record in pair
    ]
    titles = [part.title for part in profile_parts(points)]
    assert titles == [f"A: {name} A; B: {name} B" for name in (asked.name, "update")]


def test_the_function_that_grew_is_first_and_its_box_above_its_caller_is_as_wide(two):
    store, (base, other) = two
    functions = both(read(store, base), read(store, other))
    assert [function.name for function in functions.grown] == ["weigh_options"]
    assert functions.functions[0] == functions.grown[0]
    assert functions.grown[0].own.difference == pytest.approx(0.8, rel=0.02)
    answer = next(function for function in functions.functions if function.name == "answer")
    assert answer.whole.difference == pytest.approx(0.8, rel=0.02)
    assert answer.own.difference == pytest.approx(0.0, abs=0.01)
    boxes = {box["name"]: box for box in flames(functions)["layer"][0]["data"]["values"]}
    inner, outer = boxes["weigh_options"], boxes["answer"]
    assert inner["row"] == outer["row"] + 1
    assert outer["from"] <= inner["from"] < inner["to"] <= outer["to"]
    assert inner["to"] - inner["from"] == pytest.approx(0.8, rel=0.02)
    assert inner["more"] == pytest.approx(0.8, rel=0.02)


def test_a_name_that_would_be_more_than_a_name_is_one(tmp_path):
    archived_profiles(tmp_path / "results", {"main;answer": 9.0, f"main;{ATTACK}": 1.0})
    write_site(Store(tmp_path / "results"), tmp_path / "report")
    (page,) = (tmp_path / "report" / "experiment").glob("*.html")
    for path in (page, page.with_suffix(".js")):
        assert "<script>window" not in path.read_text(encoding="utf-8")


def test_a_profile_is_a_median_cost_with_the_share_that_was_sampled(two):
    _, (base, _) = two
    assert base.figure.name == "cpu_us"
    assert base.figure.value == pytest.approx(12.0)
    assert base.metric("sampled_us").value == pytest.approx(11.0)
    assert {round_.files["stacks"] for round_ in base.rounds} == {
        f"rounds/run-{number}-stacks.folded.gz" for number in range(1, 5)
    }
    assert base.metric("completed_rate").value < Flood.per_s
