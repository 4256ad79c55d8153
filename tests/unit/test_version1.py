"""Results of schema version 1, read as records: real ones, and ones of before late fields.

`tests/data/results-1` holds what sweeps of the last release with version 1 left, on a local
lab.  Of their files only result.json is kept, without blanks, and with another lock owner and
kernel command line.
"""

import copy
import json
import shutil
import statistics
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from leaselab.analysis.summary import at_least, metrics_of
from leaselab.archive.schema import SCHEMA_PATH, decode, encode
from leaselab.archive.store import Store
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.trial import WHOLE

DATA = Path(__file__).parents[1] / "data" / "results-1"
RAW = {path.parent.name: json.loads(path.read_bytes()) for path in sorted(DATA.rglob("*.json"))}
KINDS = {
    "v6": "20261123T151735Z-v6-memfile-mt-b452",
    "pair": "20261123T152059Z-v4-memfile-hs-d2a3",
    "database": "20261123T152334Z-v4-mysql-c56a",
    "dnsmasq": "20261123T152547Z-v4-dnsmasq-9d52",
    "no max rate": "20261123T152848Z-v4-memfile-df2c",
}
ESTIMATE = {"trimmed_mean": "value", "min": "lowest", "max": "highest"}
"""Fields of an estimate that have another name now."""
SIDES = ("lower", "upper")


@pytest.fixture(params=KINDS)
def name(request):
    return KINDS[request.param]


def load(name):
    return Store(DATA).load(name)


def trials(raw):
    """Every trial of a raw document, where `every` has it of its record."""
    parts = [part for run in raw["runs"] for part in (run["warm_ups"], run["trials"])]
    parts.append((raw.get("confirmation") or {}).get("trials", []))
    return [trial for part in parts for trial in part]


def every(found):
    parts = [part for one in found.rounds for part in (one.warm_ups, one.trials)]
    parts.append(found.confirmation.trials if found.confirmation else ())
    return [trial for part in parts for trial in part]


def leaves(value, skipped=frozenset()):
    """All that is said anywhere in a document, without the names of fields."""
    if isinstance(value, dict):
        return {
            leaf
            for name, part in value.items()
            if name not in skipped
            for leaf in leaves(part, skipped)
        }
    if isinstance(value, list):
        return {leaf for part in value for leaf in leaves(part, skipped)}
    return {value}


def test_all_of_them_are_tried():
    assert set(RAW) == set(KINDS.values())
    assert {raw["outcome"] for raw in RAW.values()} == {"ok", "invalid"}
    assert any(raw["confirmation"] for raw in RAW.values())


def test_nothing_that_was_said_is_lost(name):
    gone = {"schema_version", "loss_ratio", "traffic_share", "trimmed"}  # told by other fields
    if name == KINDS["dnsmasq"]:
        # how a pair of Kea would have been, and its threads: dnsmasq has no such options
        assert RAW[name]["scenario"]["high_availability"]["mode"] == "none"
        gone |= {"high_availability", "multi_threading"}
    assert leaves(RAW[name], gone) - leaves(json.loads(encode(load(name)))) == set()


def test_it_is_written_as_a_record_of_today(name):
    found = load(name)
    content = encode(found)
    schema = json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(json.loads(content))
    assert decode(content, name) == found


def test_the_figures_are_those_of_the_document(name):
    raw, found = RAW[name]["summary"], load(name)
    for metric in ("max_rate", "completed_rate"):
        known = raw[metric] or {"trimmed_mean": None, "n": 0, "trim": 0}
        for field, value in known.items():
            told = getattr(found.metric(metric), ESTIMATE.get(field, field))
            assert (list(told) if isinstance(told, tuple) else told) == value, (metric, field)
    assert found.metric("cpu_us").value == raw["cpu_us_per_exchange"]
    assert found.at_least == raw["at_least"]
    assert (found.traffic_s, found.wall_s) == (raw["traffic_s"], raw["wall_s"])
    assert found.traffic_share == pytest.approx(raw["traffic_share"])
    assert found.figure.dropped == tuple(
        place for place, run in enumerate(RAW[name]["runs"]) if run["trimmed"]
    )


def test_the_figures_are_those_that_are_made_of_its_rounds_today(name):
    found = load(name)
    holds = found.confirmation is None or found.confirmation.holds
    kinds = found.procedure.metrics("exchanges")
    assert found.metrics == metrics_of(kinds, found.rounds, found.procedure, holds=holds)
    if found.figure.value is None:
        assert found.at_least == at_least(found.rounds, found.procedure)


def test_each_run_is_a_round(name):
    raw, found = RAW[name]["runs"], load(name)
    assert len(found.rounds) == len(raw) > 0
    for run, one in zip(raw, found.rounds, strict=True):
        assert (one.index, one.started_at) == (run["index"], run["started_at"])
        assert (one.traffic_s, one.wall_s) == (run["traffic_s"], run["wall_s"])
        assert one.metrics["max_rate"] == run["max_rate"]
        assert one.metrics["completed_rate"] == run["completed_rate"]
        assert (len(one.warm_ups), len(one.trials)) == (
            len(run["warm_ups"]),
            len(run["trials"]),
        )
        assert one.shown_trial == run["lower_trial"]
        if run["max_rate"] is None:
            assert one.bracket is None
        else:
            bounds = [run[f"{side}_{part}"] for part in ("bound", "trial") for side in SIDES]
            bracket = one.bracket
            assert bounds == [
                bracket.lower,
                bracket.upper,
                bracket.lower_trial,
                bracket.upper_trial,
            ]
            assert one.shown.completed_rate == pytest.approx(run["completed_rate"])
    cpu = [value for value in found.values("cpu_us") if value is not None]
    assert statistics.median(cpu) == RAW[name]["summary"]["cpu_us_per_exchange"]


def test_each_trial_has_its_counts_and_they_add_up(name):
    raw, found = trials(RAW[name]), every(load(name))
    assert len(raw) == len(found) > 0
    for old, new in zip(raw, found, strict=True):
        assert new.attempted == old["started"]
        assert (new.completed, new.late, new.lost) == (
            old["completed"],
            old["late"],
            old["lost"],
        )
        assert new.completed + new.late + new.lost + sum(new.failures.values()) == new.attempted
        assert new.loss_ratio == pytest.approx(old["loss_ratio"], abs=1e-12)
        same = (
            "rate duration_s valid reason detail aborted started_at traffic_s wall_s raw_file"
        )
        assert {name: getattr(new, name) for name in same.split()} == {
            name: old[name] for name in same.split()
        }
        assert new.argv == tuple(old["argv"])
        assert new.cpu_us == old["cpu_us_per_exchange"]
        assert new.trouble == old["pair_trouble"]


def test_each_trial_has_its_latency_by_stage(name):
    stages = {4: ["DISCOVER-OFFER", "REQUEST-ACK"], 6: ["SOLICIT-ADVERTISE", "REQUEST-REPLY"]}
    named = stages[RAW[name]["scenario"]["family"]]
    found = load(name)
    assert list(found.scenario.transaction.stages) == named
    for old, new in zip(trials(RAW[name]), every(found), strict=True):
        assert list(new.latency_s) == [*named, WHOLE]
        for stage, told in zip(
            new.latency_s.values(), ("offer", "ack", "exchange"), strict=True
        ):
            known = old["latency_s"][told]
            if stage is None:
                assert known is None
            else:
                values = [stage.p50, stage.p90, stage.p99, stage.p999, stage.max]
                assert values == [known[p] for p in ("p50", "p90", "p99", "p99.9", "max")]


def test_each_trial_has_its_seconds_samples_and_hosts(name):
    for old, new in zip(trials(RAW[name]), every(load(name)), strict=True):
        assert [
            [one.t, one.attempted, one.completed, one.p50_s, one.p99_s]
            for one in new.per_second
        ] == [list(second.values()) for second in old["per_second"]]
        for role, field in (("server", "samples"), ("partner", "partner_samples")):
            assert [
                (one.t, one.cpu_s, one.rss_bytes, one.udp_drops, one.held, one.refused)
                for one in new.samples.get(role, ())
            ] == [
                (s["t"], s["cpu_s"], s["rss_bytes"], s["udp_drops"], s["leases"], s["refused"])
                for s in old[field]
            ]
            counters = [one.counters for one in new.samples.get(role, ())]
            assert counters == [sample["counters"] for sample in old[field]]
        assert list(new.held.values()) == old["leases_held"]
        assert set(new.hosts) == set(old["hosts"])
        assert all(
            list(new.hosts[role].work_s) == old["hosts"][role]["work_s"] for role in new.hosts
        )


def test_the_procedure_is_the_goal(name):
    goal = dict(RAW[name]["goal"])
    goal["rounds"] = goal.pop("runs")
    assert load(name).procedure == MaxRate(**goal)


def test_a_pair_has_roles():
    found = load(KINDS["pair"])
    assert list(found.servers) == ["server", "partner"]
    assert found.servers["partner"].config_file.startswith("config/partner/")
    assert found.scenario.partner
    assert found.scenario.factors["servers"] == "hot-standby"
    for trial in found.trials:
        assert list(trial.held) == list(trial.samples) == ["server", "partner"]
        assert set(trial.hosts) == {"server", "partner", "generator"}
    assert not any(load(one).scenario.partner for one in RAW if one != found.id)


@pytest.mark.parametrize("kind", ["pair", "database", "dnsmasq"])
def test_a_confirmation_is_kept(kind):
    raw, found = RAW[KINDS[kind]]["confirmation"], load(KINDS[kind]).confirmation
    for field in ("rate", "loss_ratio", "holds", "traffic_s", "wall_s"):
        assert getattr(found, field) == raw[field]
    assert len(found.trials) == len(raw["trials"]) > 1


def test_a_database_serves_beside_the_server():
    found = load(KINDS["database"])
    beside = found.server.beside["database"]
    assert (beside.name, beside.version[:5]) == ("mysql", "11.8.")
    assert beside.variables["innodb_flush_log_at_trx_commit"] == "2"
    assert "database" not in found.server.tuning
    assert found.scenario.beside == {"mysql": {}}
    spent = [
        sample.beside_cpu_s for trial in found.trials for sample in trial.samples["server"]
    ]
    raw = RAW[found.id]["runs"][0]["trials"][0]["samples"][0]["database_cpu_s"]
    assert spent[0] == {"database": raw}
    assert all(set(one) == {"database"} for one in spent)
    assert load(KINDS["dnsmasq"]).scenario.beside == {}


def test_scenario_and_server_are_described_as_today():
    found = load(KINDS["v6"])
    assert found.scenario.transaction.name == "DHCPv6 exchange"
    assert found.scenario.factors == {
        "protocol": "DHCPv6",
        "backend": "memfile",
        "threading": "multi",
        "servers": "none",
    }
    pool = RAW[found.id]["scenario"]["pool"]
    assert found.scenario.load == {
        "family": 6,
        "subnet": pool["subnet"],
        "pool": pool["range"],
    }
    assert found.scenario.server.kind == found.server.name == "kea"
    options, threading = found.scenario.server.options, found.scenario.factors["threading"]
    assert (options["multi_threading"], options["threads"], threading) == (True, 4, "multi")
    assert found.server.holds == "leases"
    assert found.generator.options["path"] == "/usr/sbin/perfdhcp"
    other = load(KINDS["dnsmasq"])
    assert (other.scenario.server.kind, other.server.durability) == ("dnsmasq", "memory")


def test_the_index_has_its_row(tmp_path):
    root = tmp_path / "results"
    shutil.copytree(DATA, root)
    rows = {row["id"]: row for row in Store(root).index.every()}
    assert set(rows) == set(RAW)
    for name, row in rows.items():
        raw = RAW[name]
        figure = raw["summary"]["max_rate"] or {"trimmed_mean": None, "ci95": [None, None]}
        assert (row["metric"], row["unit"], row["better"]) == (
            "max_rate",
            "exchanges/s",
            "higher",
        )
        assert row["value"] == figure["trimmed_mean"]
        assert [row["ci_low"], row["ci_high"]] == figure["ci95"]
        assert json.loads(row["rounds"]) == [
            [run["max_rate"], run["trimmed"]] for run in raw["runs"]
        ]
        assert row["outcome"] == raw["outcome"]
        assert row["reasons"] == " ".join(reason["word"] for reason in raw["reasons"])
        assert row["durability"] == raw["server"]["durability"]
        assert row["release"] == raw["bench"]["hosts"]["server"]["os"]
        assert row["experiment"] is None
    scenarios = {raw["scenario"]["name"] for raw in RAW.values()}
    assert set(Store(root).index.scenarios()) == scenarios


def test_a_changed_one_is_not_believed(tmp_path):
    root = tmp_path / "results"
    shutil.copytree(DATA, root)
    path = root / "2026" / "11" / KINDS["v6"] / "result.json"
    path.write_bytes(path.read_bytes().replace(b"generator-stalled", b"generator-starved"))
    with pytest.raises(LeaselabError, match="does not match its checksum"):
        Store(root).load(KINDS["v6"])


LATE = {
    "goal": "min_rate max_rate start_rate max_trials warm_up_s confirm_s",
    "server": "program program_sha256 libraries_sha256 confinement durability "
    "running_config_sha256",
    "scenario": "server description multi_threading high_availability tuning pool",
    "summary": "at_least",
    "run": "lower_trial upper_trial warm_ups",
    "trial": "detail seed leases_held pair_trouble partner_samples hosts early_attempt",
    "sample": "database_cpu_s refused",
    "host": "governors cpu_count processors smt turbo microcode clocksource command_line "
    "mitigations sysctls nic tuning architecture virtualization test_address6",
}
"""What version 1 began without."""


def early(name):
    """The document as the first release wrote it."""
    document = copy.deepcopy(RAW[name])
    samples = [sample for trial in trials(document) for sample in trial["samples"]]
    parts = {
        "run": document["runs"],
        "trial": trials(document),
        "sample": samples,
        "host": document["bench"]["hosts"].values(),
    }
    for trial in trials(document):
        trial["latency_s"].pop("exchange")
    for kind, names in LATE.items():
        for part in parts.get(kind, [document.get(kind)]):
            for field in names.split():
                part.pop(field, None)
    for late in ("partner", "confirmation"):
        document.pop(late, None)
    document["provenance"]["tuning"].pop("database", None)
    return document


def read(document):
    return decode(json.dumps(document).encode(), "an old one")


@pytest.mark.parametrize("kind", ["v6", "database", "dnsmasq", "no max rate"])
def test_one_of_before_the_late_fields_is_read(kind):
    name = KINDS[kind]
    found, today = read(early(name)), load(name)
    assert decode(encode(found), name) == found
    assert found.figure == today.figure
    assert found.values("max_rate") == today.values("max_rate")
    assert found.values("cpu_us") == today.values("cpu_us")
    assert [(one.attempted, one.completed, one.late, one.lost) for one in found.trials] == [
        (one.attempted, one.completed, one.late, one.lost) for one in today.trials
    ]
    assert found.confirmation is found.at_least is found.experiment is None
    assert list(found.servers) == ["server"]
    assert (found.scenario.partner, found.scenario.beside != {}) == (False, kind == "database")
    assert found.scenario.factors["threading"] == "single"
    assert found.scenario.server.kind == today.server.name
    assert found.server.durability == "written"  # there was nothing but memfile's file
    ruler = found.procedure
    assert (ruler.warm_up_s, ruler.confirm_s) == (0, None)  # it did neither
    assert (ruler.min_rate, ruler.max_rate, ruler.start_rate) == (10, 200_000, 2_000)
    assert ruler.max_trials == 40
    for one in found.rounds:
        assert one.warm_ups == ()
        for trial in one.trials:
            assert WHOLE not in trial.latency_s
            assert len(trial.latency_s) == 2
            assert (trial.held, trial.hosts, trial.early_attempt) == ({}, {}, None)
            assert set(trial.samples) <= {"server"}
            assert all(
                (one.refused, one.beside_cpu_s) == (None, {})
                for one in trial.samples.get("server", ())
            )


@pytest.mark.parametrize("kind", ["database", "dnsmasq", "pair"])
def test_the_trials_that_prove_a_bracket_are_found_by_their_rate(kind):
    """Of several at that rate: the best that passed, and the worst that failed."""
    document = copy.deepcopy(RAW[KINDS[kind]])
    for run in document["runs"]:
        del run["lower_trial"], run["upper_trial"]
    found, today = read(document), load(KINDS[kind])
    assert [one.bracket for one in found.rounds] == [one.bracket for one in today.rounds]
    assert [one.shown_trial for one in found.rounds] == [
        one.shown_trial for one in today.rounds
    ]


def test_of_trials_at_a_bound_the_clearest_proves_it():
    """At the lower one the one that lost least, at the upper one the one that lost most."""
    document = copy.deepcopy(RAW[KINDS["database"]])
    run = document["runs"][0]
    for side, loss in (("lower", 1.0), ("upper", 0.0)):
        other = copy.deepcopy(run["trials"][run[f"{side}_trial"]])
        spoilt = {"loss_ratio": 1.0 - loss, "valid": False}
        run["trials"] += [other | {"loss_ratio": loss}, other | spoilt]
        del run[f"{side}_trial"]
    found = read(document).rounds[0].bracket
    assert found == load(KINDS["database"]).rounds[0].bracket


def test_a_bound_without_its_trial_proves_nothing():
    document = early(KINDS["database"])
    run = document["runs"][0]
    run["trials"] = [trial for trial in run["trials"] if trial["rate"] != run["upper_bound"]]
    found = read(document)
    assert found.rounds[0].bracket is None
    assert found.rounds[0].shown is not None
    assert found.rounds[0].metrics["max_rate"] == run["max_rate"]
    assert found.rounds[1].bracket is not None


def test_one_that_came_to_no_round_is_read():
    """A commit that does not build: its server never ran."""
    document = copy.deepcopy(RAW[KINDS["v6"]])
    document |= {"outcome": "build-failed", "runs": []}
    del document["confirmation"]
    document["server"] |= dict.fromkeys(set(document["server"]) - {"name", "libraries_sha256"})
    source = dict.fromkeys(("repository", "ref", "hash", "tree", "described"), "a" * 40)
    source |= {"author_date": "2026-11-01T00:00:00+01:00", "subject": "Break it"}
    document["server"] |= {"commit": "a" * 40, "build": {"source": source}}
    document["bench"] |= {"hosts": {}, "lock_owner": None}
    document["summary"] = {
        **dict.fromkeys(("max_rate", "completed_rate", "cpu_us_per_exchange", "at_least")),
        "traffic_s": 0,
        "wall_s": 0,
        "traffic_share": None,
    }
    found = read(document)
    assert (found.rounds, found.figure.value, found.figure.n) == ((), None, 0)
    assert found.server.durability is None
    assert found.source.subject == "Break it"
    assert found.traffic_share is None


def test_an_attempt_that_was_ended_early_is_kept():
    document = copy.deepcopy(RAW[KINDS["v6"]])
    trial = document["runs"][0]["trials"][0]
    fields = "started completed late lost started_at traffic_s argv raw_file wall_s"
    trial["early_attempt"] = {name: trial[name] for name in fields.split()}
    found = read(document).rounds[0].trials[0]
    assert found.early_attempt.attempted == trial["started"]
    assert found.early_attempt.argv == found.argv


def test_a_trimmed_run_is_a_dropped_round():
    document = copy.deepcopy(RAW[KINDS["database"]])
    document["runs"][1]["trimmed"] = True
    assert read(document).figure.dropped == (1,)


@pytest.mark.parametrize(
    ("break_it", "told"),
    [
        (lambda d: d.pop("summary"), "no field 'summary'"),
        (lambda d: d["runs"][0].pop("trials"), "no field 'trials'"),
        (lambda d: d["runs"][0]["trials"][0].update(started=-1), "attempted"),
        (lambda d: d["goal"].update(guess=1), "unknown field `guess`"),
        (lambda d: d["scenario"].update(family=5), "no field 5"),
        (lambda d: d.update(runs=None), "NoneType"),
    ],
)
def test_a_damaged_one_says_what_is_wrong(break_it, told):
    document = copy.deepcopy(RAW[KINDS["v6"]])
    break_it(document)
    with pytest.raises(LeaselabError, match="does not fit its schema") as caught:
        read(document)
    assert caught.value.outcome is Outcome.INVALID
    assert caught.value.where == "an old one"
    assert told in caught.value.found
