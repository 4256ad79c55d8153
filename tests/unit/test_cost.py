"""Counts of what a server does for each transaction: read, compared, and said."""

import gzip
import io
import re
import subprocess
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.contracts import contract_module
from tests.counts import archived_count, counted
from tests.waiting import until

from leaselab.analysis.comparison.cost import REST, by_function, judge_cost
from leaselab.analysis.comparison.verdict import compare
from leaselab.archive.store import Store
from leaselab.measure.procedures.cost import figures
from leaselab.model.errors import Outcome
from leaselab.model.observation import Counted
from leaselab.model.procedures.cost import USUAL, Cost
from leaselab.report.export.markdown import markdown_of_profiles
from leaselab.report.profile import call_rows, profile_document, rows, spent_tables
from leaselab.report.text import print_result
from leaselab.report.verdict.document import comparison_document
from leaselab.report.verdict.sentence import closing
from leaselab.report.verdict.table import print_comparison
from leaselab.run.contest import profiles_of

DATA = Path(__file__).parents[1] / "data" / "cost"


@pytest.fixture
def contract():
    """The modules by which a host counts."""
    with ExitStack() as stack:
        modules = SimpleNamespace()
        for name in ("callgrind", "system_calls", "process"):
            module = contract_module("contract", f"leaselab_contract.{name}")
            setattr(modules, name, stack.enter_context(module))
        yield modules


@pytest.fixture
def archived(tmp_path):
    """Archive counts, each of three equal starts or of those that are given; store and all."""
    store = Store(tmp_path)

    def archive(number, starts):
        starts = starts if isinstance(starts, list) else [starts] * 3
        name = f"2026010{number}T000000Z-v4-memfile-000{number}"
        return archived_count(store, name, *starts)

    return lambda *counts: (store, *map(archive, range(1, 9), counts))


def read(contract, dump):
    return contract.callgrind.answer(contract.callgrind.merged([contract.callgrind.read(dump)]))


def test_a_dump_of_callgrind_is_read_to_the_last_instruction(contract):
    dump = gzip.decompress((DATA / "callgrind.out.gz").read_bytes()).decode()
    answer = read(contract, dump)
    functions = answer["functions"]
    assert answer["simulated"] == {}
    assert sum(row["own"] for row in functions) == 14_901  # as its last line says
    known = {row["name"]: row for row in functions}
    of_f = {"own": 7934, "inclusive": 7934, "calls": 552}
    # A recursion is one function; each of its calls counts.
    assert known["f"].items() >= of_f.items()
    # What malloc and free did is in what the function has called, and is the allocator's.
    beside = known["g"]["library"] + known["g"]["allocator"]
    assert known["g"]["inclusive"] - known["g"]["own"] - 7934 == beside
    of_allocator = known["malloc"]["inclusive"] + known["free"]["inclusive"]
    assert known["g"]["allocator"] == of_allocator > 0
    assert sum(row["allocator"] for row in functions) == of_allocator
    assert known["malloc"]["shared"]
    assert not known["g"]["shared"]


def test_branches_and_misses_add_up_to_what_valgrind_says(contract, tmp_path):
    launcher = contract.callgrind.Callgrind(tmp_path, simulated=True).launcher()
    launcher[launcher.index("--instr-atstart=no")] = "--instr-atstart=yes"
    subprocess.run([*launcher, "/bin/true"], check=True, env=contract.process.ENVIRONMENT)
    (place,) = tmp_path.glob("counts.*")
    dump = place.read_text()
    answer = read(contract, dump)
    (events,) = re.findall("^events: (.*)", dump, re.MULTILINE)
    (totals,) = re.findall("^totals: (.*)", dump, re.MULTILINE)
    whole = dict(zip(events.split(), map(int, totals.split()), strict=True))
    assert sum(row["own"] for row in answer["functions"]) == whole["Ir"]
    assert answer["simulated"] == {
        "branches": whole["Bc"] + whole["Bi"],
        "mispredicted_branches": whole["Bcm"] + whole["Bim"],
        "cache_misses": whole["I1mr"] + whole["D1mr"] + whole["D1mw"],
        "last_level_misses": whole["ILmr"] + whole["DLmr"] + whole["DLmw"],
    }


def test_a_summary_of_strace_is_read_without_its_total(contract):
    rows = (
        "calls syscall",
        "--------- -----",
        "300 recvmsg",
        "1 restart_syscall",
        "301 total",
    )
    assert contract.system_calls.read("\n".join(rows)) == {"recvmsg": 300}


def test_a_server_under_valgrind_is_ended_by_its_own_command_line(contract, tmp_path):
    process = contract.process
    plain = {"argv": ["sleep", "600"], "pid_file": str(tmp_path / "pid")}
    launcher = {"launcher": [process.VALGRIND, "--tool=none"]}
    launched = process.launch({**plain, **launcher, "output_file": str(tmp_path / "out")})
    # While valgrind replaces itself by its tool, there are no arguments.
    assert until(lambda: process.running_pid(plain), bool) == launched.pid
    assert process.running_pid({**plain, "argv": ["sleep", "601"]}) is None
    assert process.end(plain)
    launched.wait()


def test_figures_are_of_one_transaction_and_the_growth_of_one_lease():
    values = figures(counted())
    assert values["instructions"] == pytest.approx((30_000 + 240_000 + 63_000) / 300)
    # The same for a third of the transactions.
    assert values["growth"] == pytest.approx(values["instructions"] * 2 / 700)
    assert values["allocator"] == pytest.approx(200)
    assert values["allocations"] == 2
    assert values["system_calls"] == pytest.approx(3 + 299 / 300)
    assert values["counted_share"] == pytest.approx(0.3)
    assert figures(Counted({USUAL: counted().steps[USUAL]}))["growth"] is None


def test_what_a_library_did_is_part_of_the_function_that_called_it():
    spent = by_function(counted())
    assert spent.own["dhcp_reply"] == pytest.approx(1000)
    assert "memcpy" not in spent.own
    assert sum(spent.own.values()) == pytest.approx(spent.all)


@pytest.mark.parametrize(
    ("changes", "word", "said"),
    [
        ({}, "equal", "a change of 0.1 % would count"),
        ({"reply": 1}, "equal", "a change of 0.1 % would count"),
        ({"reply": 13}, "more", "(+13.00, of which +13.00 in dhcp_reply)"),
        ({"reply": -13}, "less", "1.2 % fewer"),
        ({"calls": 4}, "more", "costs 1.00 more system calls (+1.00 recvmsg) than"),
        ({"allocated": 1}, "equal", "a change of 0.1 % would count"),
        ({"allocated": 2}, "more", "2.00 more instructions of the allocator"),
        ({"writes": 600}, "more", "costs 2.00 more bytes written than"),
    ],
)
def test_more_of_anything_is_worse_and_the_function_is_named(changes, word, said, archived):
    store, base, other = archived(counted(), counted(**changes))
    comparison = compare(base, other)
    outcome = Outcome.REGRESSION if word == "more" else Outcome.OK
    assert (comparison.error, comparison.word, comparison.outcome) == (None, word, outcome)
    stream = io.StringIO()
    print_comparison(comparison, stream, profiles_of(store, base, other))
    words = " ".join(stream.getvalue().split())
    assert said in words
    assert "instructions stand for about 30 % of the server's CPU time" in words
    document = comparison_document(comparison)
    assert document["cost"]["parts"][0]["name"] == "instructions"
    assert (document["ci95"], document["range"]) == (None, [*comparison.verdict.ci95])


def test_more_calls_are_shown_apart_from_dearer_ones(archived):
    functions = profiles_of(*archived(counted(), counted(reply=800, times=2, calls=13)))
    row = ["1 000", "1 800", "+800.00*", "0.00", "1.00", "2.00*", "+800.00*", "0.00"]
    assert ["dhcp_reply", *row] in [*rows(functions)]
    (call,) = call_rows(functions, changed=True)
    assert call == ["recvmsg", "3.00", "13.00", "+10.00*"]
    assert markdown_of_profiles(functions).count("recvmsg") == 1
    document = profile_document(functions)
    (reply,) = [each for each in document["functions"] if each["name"] == "dhcp_reply"]
    assert (reply["own"]["b"], reply["calls"]["b"]) == (pytest.approx(1800), 2)
    assert document["system_calls"]["recvmsg"]["difference"] == 10


def test_a_fall_names_the_function_that_fell(archived):
    store, base, other = archived(counted(main=100), counted(reply=-300))
    words = closing(compare(other, base), profiles_of(store, other, base))
    assert "(+200.00, of which +300.00 in dhcp_reply)" in words
    words = closing(compare(base, other), profiles_of(store, base, other))
    assert "(-200.00, of which -300.00 in dhcp_reply)" in words


def test_the_rows_of_a_count_add_up_to_all_that_was_counted():
    functions, calls = spent_tables([by_function(counted())] * 2, "instructions per exchange")
    assert functions.title == "Where instructions go: 1 110 instructions per exchange"
    own = [float(row[1].replace(" ", "")) for row in functions.rows]
    assert sum(own) == pytest.approx(1110)
    assert functions.rows[-1][0] == REST
    assert calls.rows[0] == ["recvmsg", "3.00"]


def test_an_allocator_that_scatters_hides_no_change_of_its_callers(archived):
    starts = (0, 500, 900)
    _, base, other = archived(
        *([counted(allocated=spent, reply=reply) for spent in starts] for reply in (0, 3))
    )
    verdict = judge_cost(base, other)
    assert [part.name for part in verdict.grown] == ["instructions"]
    assert verdict.instructions.difference == pytest.approx(3)


def test_starts_that_scatter_hide_smaller_changes(archived):
    scattered = [counted(reply=reply) for reply in (0, 5, 10)]
    _, base, *others = archived(scattered, counted(reply=20), counted(reply=40))
    for other, grown in zip(others, (False, True), strict=True):
        verdict = judge_cost(base, other)
        assert bool(verdict.grown) == grown
        assert verdict.instructions.least == pytest.approx(30)


def test_a_count_is_shown_part_by_part_and_without_what_it_has_not(archived, tmp_path):
    starts = [counted(reply=reply, calls=calls) for reply, calls in ((0, 3), (5, 3), (9, 4))]
    _, record = archived(starts)
    stream = io.StringIO()
    print_result(record, tmp_path, stream)
    lines = [" ".join(line.split()) for line in stream.getvalue().splitlines()]
    assert "Counted for each DHCPv4 exchange" in lines
    assert "instructions 1 115 1 110 1 119" in lines
    assert "system calls 4.00 4.00 5.00" in lines
    words = " ".join(lines)
    for absent in ("trials", "traffic", "queries to the database", "cache misses", "None"):
        assert absent not in words


def test_a_count_of_queries_is_of_each_query():
    assert Cost().metrics("queries")[0].unit == "instructions per query"
