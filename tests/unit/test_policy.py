"""leaselab.yml: what is wrong with a file, and what a policy says of a comparison."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from tests.counts import archived_count, counted

from leaselab.analysis.comparison.ruling import judge
from leaselab.analysis.comparison.verdict import Comparison, Limit, Verdict, compare
from leaselab.analysis.duels.duel import SHARES, Answer, DuelVerdict, Judged
from leaselab.archive.schema import POLICY_PATH, policy_schema
from leaselab.archive.store import Store
from leaselab.catalog.catalogue import Catalogue
from leaselab.inputs.policy import read_policy
from leaselab.model.errors import Outcome
from leaselab.model.policy import COST_FIGURES, FIGURES, By, InForce, State
from leaselab.model.procedures.cost import COST
from leaselab.model.procedures.duel import DUEL, METRICS, Duel
from leaselab.report.verdict.rules import rule_words

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads(POLICY_PATH.read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
SCENARIOS = ("v4-memfile", "v4-dnsmasq", "v6-memfile")
GOOD = """\
against: branch-point
allow:
  instructions: 0.5 %
  system_calls: 1
  written_bytes: any
scenarios:
  - scenario: v4-memfile
  - scenario: v4-memfile
    procedure: duel
    allow: {completed_rate: 3 %, p99_s: 12.5%}
  - {scenario: v4-memfile, procedure: duel, metric: p99_s, against: v2.91, allow: {p99_s: 5 %}}
override: ["*@isc.example", "a.b+c@example.org"]
"""
DEEP = "a: " + "[" * 200
MANY = f"a: &a [{'1,' * 99}]\nallow: [{'*a,' * 99} {'x' * 30_000}]\n"
ONE = "scenarios:\n- scenario: v4-memfile\n"
TWO_UNKNOWN = "scenarios:\n  - scenario: v4-dnsmas\n  -\n   scenario: v7\n"
SMALL = "procedure: duel\nallow:\n  completed_rate: 3 %\n  cpu_us: 2.9 %\n  memory_mib: 4 %\n"
THREE = "allow: {grow: 1}\nscenario:\n  - scenario: v4-memfile\nprocedure: [cost]\n"
STRUCTURE, MEANING = True, False
"""Whether the schema refuses it, too."""
WRONG = [
    ("alow: {}\n", STRUCTURE, {1: "unknown key 'alow'; did you mean 'allow'?"}),
    ("Allow: {}\n", STRUCTURE, {1: "did you mean 'allow'?"}),
    ("- a\n", STRUCTURE, {1: "value of another type (found array, wanted object)"}),
    ("a: [\n", STRUCTURE, {2: "not YAML: "}),
    (DEEP, STRUCTURE, {1: "nested too deeply (wanted 100 levels at most)"}),
    ("allow: {}\nallow: {}\n", MEANING, {2: "key 'allow' is there twice (wanted once)"}),
    ("&a b: [&x [1], *x]\n", STRUCTURE, {1: "unknown key 'b'"}),
    (MANY, STRUCTURE, {2: "too large (wanted 10000 values at most)"}),
    ('\n"[": 1\n', STRUCTURE, {2: "unknown key '['"}),
    ("\non: 1\n12: 2\n", STRUCTURE, {2: "unknown key 'True'", 3: "unknown key '12'"}),
    ("\nallow: &x {allw: 1}\n<<: *x\nbad: 1\n", STRUCTURE, {1: "'allw'", 4: "'bad'"}),
    ("allow:\n", STRUCTURE, {1: "value of another type (found null, wanted object)"}),
    ("allow:\n  instructions: 0,5 %\n", STRUCTURE, {2: "(found '0,5 %', wanted 0.5 %, a nu"}),
    ("allow:\n  p99_s: to fast\n", STRUCTURE, {2: "it does not take this value (found 'to f"}),
    ("allow:\n\n  growth: -1\n", STRUCTURE, {3: "it does not take this value (found -1, w"}),
    ("allow: {growth: .inf}\n", STRUCTURE, {1: "it does not take this value (found inf, w"}),
    ("allow: {growth: yes}\n", STRUCTURE, {1: "it does not take this value (found True, w"}),
    ("allow:\n  instruction: 1 %\n", STRUCTURE, {2: "did you mean 'instructions'?"}),
    ("allow:\n  12: 1 %\n", STRUCTURE, {1: "a key that is no text; put it in quotes"}),
    ("procedure: sweep\n", STRUCTURE, {1: "(found 'sweep', wanted cost or duel); correct it"}),
    ("against: --upload-pack=x\n", STRUCTURE, {1: "found '--upload-pack=x', wanted branch-p"}),
    ("against: package@x\n", STRUCTURE, {1: "it does not take this value"}),
    ("metric: p99\n", STRUCTURE, {1: "unknown metric 'p99'; did you mean 'p99_s'?"}),
    ("scenarios: [v4-memfile]\n", STRUCTURE, {1: "(found str 'v4-memfile', wanted object)"}),
    ("scenarios:\n  - against: x\n", STRUCTURE, {2: "a key is missing (wanted scenario); add"}),
    (f"scenarios: [{'{scenario: v4-memfile},' * 51}]\n", STRUCTURE, {1: "length <= 50"}),
    (TWO_UNKNOWN, MEANING, {2: "did you mean 'v4-dnsmasq'", 4: "unknown scenario 'v7'"}),
    (f"{ONE}{ONE[11:]}", MEANING, {3: "procedure cost (found it is also at f.yml:2, wanted"}),
    (f"{ONE}  metric: cpu_us\n", MEANING, {3: "effect on duels only (found procedure cost"}),
    (
        f"{ONE}  allow:\n    cpu_us: 4 %\n",
        MEANING,
        {4: "cpu_us is not judged by procedure cos"},
    ),
    (
        SMALL,
        MEANING,
        {4: "cpu_us (found 2.9 %, wanted 3 % or more)", 5: "have memory_mib judged"},
    ),
    ("allow: {completed_rate: 0 %}\n", MEANING, {1: "found 0 %, wanted 0.05 % or more); rai"}),
    (
        'override: ["*", "*@*", "a b@c.d", "x@y"]\n',
        STRUCTURE,
        {1: "wanted name@example.org, o"},
    ),
    (
        THREE,
        STRUCTURE,
        {2: "did you mean 'scenarios'", 4: "(found ['cost'], wanted cost or du"},
    ),
]


@pytest.mark.parametrize(("text", "structure", "wanted"), WRONG)
def test_each_error_of_a_file_has_its_line_and_what_to_do(text, structure, wanted):
    policy, errors = read_policy(text, "f.yml", SCENARIOS)
    assert policy is None
    assert {error.outcome for error in errors} == {Outcome.USAGE}
    said = {}
    for error in errors:
        said[int(error.where.partition(":")[2])] = str(error)
        assert error.found or error.wanted or error.todo
    assert [*said] == [*wanted], "in their order"
    for line, words in wanted.items():
        assert words in said[line]
    if structure and "not YAML" not in said[line] and text != DEEP:
        assert not VALIDATOR.is_valid(yaml.safe_load(text))


@pytest.mark.parametrize("text", ["{}", "scenarios: []\n"])
def test_an_empty_file_is_a_policy_without_rules(text):
    policy, errors = read_policy(text, "f.yml", SCENARIOS)
    assert (policy.clauses, policy.override, errors) == ((), (), [])


def test_the_schema_is_what_the_types_say_and_takes_a_good_file():
    """Else `PYTHONPATH=scripts .venv/bin/python -m leaselab.archive.schema` renews it."""
    Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(policy_schema())) == SCHEMA
    VALIDATOR.validate(yaml.safe_load(GOOD))
    policy, errors = read_policy(GOOD, "f.yml", SCENARIOS)
    assert errors == []
    assert [clause.what for clause in policy.clauses] == [
        ("v4-memfile", COST, ""),
        ("v4-memfile", DUEL, "completed_rate"),
        ("v4-memfile", DUEL, "p99_s"),
    ]
    assert [clause.against for clause in policy.clauses] == [*["branch-point"] * 2, "v2.91"]
    assert policy.clauses[2].duel.find == pytest.approx(0.1)
    assert {*By.__args__[0].__args__} == {COST, DUEL}
    assert {*SHARES, *METRICS} <= {*FIGURES}


def test_the_policy_on_the_page_is_one_and_its_rule_has_that_line():
    page = (ROOT / "docs/how-to/policy.md").read_text(encoding="utf-8")
    sample = re.search(r"```yaml\n(.*?)```", page, re.S)[1]
    policy, errors = read_policy(sample, "leaselab.yml", Catalogue.here().scenarios)
    assert errors == []
    rule = policy.clauses[0].rules["instructions"]
    assert f"rule: {rule_words(rule, rule.figure, policy.clauses[0].scenario)}: +0.3 %" in page


@pytest.mark.parametrize(
    ("address", "may"),
    [
        ("a.b+c@example.org", True),
        ("A.B+c@Example.org", True),
        ("b+c@example.org", False),
        ("x@isc.example", True),
        ("x@y@isc.example", True),
        ("x@sub.isc.example", False),
        ("isc.example", False),
        ("*@evil.example", False),
        ("", False),
    ],
)
def test_only_listed_committers_override(address, may):
    policy, _ = read_policy(GOOD, "f.yml", SCENARIOS)
    assert policy.may_override(address) is may


def ruling_of(comparison, text):
    policy, errors = read_policy(text, "f.yml", SCENARIOS)
    assert errors == []
    return judge(InForce(policy, "here"), comparison)


@pytest.mark.parametrize(
    ("grown", "allowed", "state", "share"),
    [
        ({"reply": 5}, "instructions: 0.5 %", State.ALLOWED, True),
        ({"reply": 5}, "instructions: 0.4 %", State.BROKEN, True),
        ({"reply": 5}, "instructions: 5", State.ALLOWED, True),
        ({"reply": 5}, "instructions: 4", State.BROKEN, True),
        ({"reply": 900}, "instructions: any", State.ALLOWED, True),
        ({"reply": 0}, "instructions: 0", State.KEPT, True),
        ({"reply": 5}, "instructions: 0 %", State.BROKEN, True),
        ({"reply": -50}, "instructions: 0", State.KEPT, True),
        # what was nothing before may grow by an amount, and by no share
        ({"writes": 9000}, "written_bytes: 900 %", State.BROKEN, False),
        ({"writes": 9000}, "written_bytes: 30", State.ALLOWED, False),
        ({"writes": 9000}, "written_bytes: 29", State.BROKEN, False),
    ],
)
def test_a_count_may_grow_by_a_share_or_an_amount(tmp_path, grown, allowed, state, share):
    before, after = (
        archived_count(Store(tmp_path), f"20261121T{hour}0000Z-v4-memfile-0001", *[count] * 3)
        for hour, count in ((10, counted()), (11, counted(**grown)))
    )
    (figure,) = ruling_of(compare(before, after), f"allow: {{{allowed}}}").figures
    assert (figure.figure, figure.state) == (allowed.partition(":")[0], state)
    assert (figure.share is not None) is share


@pytest.fixture
def duelled(tmp_path):
    """Make the comparison of a duel: a drop of the rate, and a rise of CPU time (0..1)."""
    record = archived_count(Store(tmp_path), "20261121T100000Z-v4-memfile-0001", counted())

    def made(answer, drop, *, bound=0.0, cpu=0.0, limit=Limit.NONE):
        main = Judged("completed_rate", 1 - drop, (0.9, 1.1), 0.0, 0.03, drop > 0, bound, 20)
        worse = Judged("cpu_us", 1 + cpu, (0.9, 1.1), 0.0, 0.03, True, 0, 20)
        duel = DuelVerdict(
            main=main, answer=answer, error=0.01, p=0.0, rounds=20, dropped=0, look=3,
            looks=9, bound=bound, power=0.9, further=1.0, capped=False, correlated=False,
            order=1.0, others=(worse,) if cpu else (), waits=(), final=True,
        )  # fmt: skip
        verdict = Verdict(answer, main.ratio, main.ci95, 0.0, 3.0, limit, duel=duel)
        return Comparison(record, record, verdict)

    return made


RATE, CPU = "allow: {completed_rate: 3 %}", "allow: {completed_rate: 3 %, cpu_us: 6 %}"
ANY, UNSURE = "allow: {completed_rate: any}", {"bound": 1, "cpu": 0.05}


@pytest.mark.parametrize(
    ("answer", "drop", "beside", "policy", "states", "outcome"),
    [
        (Answer.SLOWER, 0.04, {}, RATE, ["BROKEN"], Outcome.REGRESSION),
        (Answer.SLOWER, 0.03, {}, RATE, ["ALLOWED"], Outcome.OK),
        (Answer.SLOWER, 0.02, {}, "{}", ["BROKEN"], Outcome.REGRESSION),
        (Answer.SLOWER, 0.02, {"limit": Limit.AT_MOST}, RATE, ["UNKNOWN"], Outcome.INVALID),
        (Answer.SLOWER, 0.5, {"limit": Limit.AT_MOST}, ANY, ["ALLOWED"], Outcome.OK),
        (Answer.UNKNOWN, 0.01, {"bound": 0.02}, RATE, ["ALLOWED"], Outcome.OK),
        (Answer.UNKNOWN, 0.01, {"bound": 0.04}, RATE, ["UNKNOWN"], Outcome.INVALID),
        (Answer.UNKNOWN, 0.01, {"bound": 0.02}, "{}", ["UNKNOWN"], Outcome.INVALID),
        (Answer.SAME, 0.0, {}, RATE, ["KEPT"], Outcome.OK),
        (Answer.FASTER, -0.1, {}, RATE, ["KEPT"], Outcome.OK),
        (Answer.SAME, 0.0, {"cpu": 0.05}, CPU, ["ALLOWED"], Outcome.OK),
        (Answer.SAME, 0.0, {"cpu": 0.07}, CPU, ["BROKEN"], Outcome.REGRESSION),
        (Answer.SAME, 0.0, {"cpu": 0.05}, RATE, ["BROKEN"], Outcome.REGRESSION),
        (Answer.UNKNOWN, 0, UNSURE, CPU, ["UNKNOWN", "ALLOWED"], Outcome.INVALID),
        (Answer.SLOWER, 0.04, {"cpu": 0.05}, CPU, ["BROKEN", "ALLOWED"], Outcome.REGRESSION),
    ],
)
def test_a_duel_is_judged_by_what_decides_and_by_each_figure_that_got_worse(
    duelled, *, answer, drop, beside, policy, states, outcome
):
    comparison = duelled(answer, drop, **beside)
    ruling = ruling_of(comparison, policy)
    assert [figure.state for figure in ruling.figures] == [State[state] for state in states]
    assert replace(comparison, ruling=ruling).outcome is outcome


def test_a_duel_finds_a_change_from_what_is_allowed_on():
    """Half of what it looks for counts."""
    policy, _ = read_policy("allow: {completed_rate: 2 %}", "f.yml", ())
    plan = policy.clause("v4-memfile", DUEL, "completed_rate").duel
    assert plan.find / 2 == pytest.approx(0.02)
    assert Duel(metric="cpu_us", find=0.01).least("completed_rate") == pytest.approx(0.03)
    judged = {name for metric in METRICS for name in Duel(metric=metric).judged}
    assert judged == {*FIGURES} - set(COST_FIGURES)
