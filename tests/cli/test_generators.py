"""``leaselab calibrate`` and ``bench generators``, with the hosts left out."""

import json

import pytest

from leaselab.cli.main import main
from leaselab.model.errors import invalid_measurement

UNCAPPED = "responder-v4-uncapped"


@pytest.fixture
def lab(lab):
    lab.rates = {
        f"{UNCAPPED} by leaseload": 60_000.0,
        f"{UNCAPPED} by perfdhcp": 12_000.0,
        "v4-memfile by leaseload": 5050.0,
        "v4-memfile by perfdhcp": 5000.0,
    }
    return lab


def test_a_ceiling_is_a_result_and_later_ones_are_judged_by_it(lab, capsys):
    assert main(["calibrate", "v4-memfile", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["ceilings"]
    assert (row["scenario"], row["generator"], row["runs"]) == (UNCAPPED, "leaseload", 3)
    assert row["value"] == pytest.approx(60_000, rel=0.01)
    lab.rates["v4-mysql"] = 0.9 * row["value"]
    for name in ("v4-memfile", "v4-mysql", "v6-memfile"):
        assert main(["run", name]) == 0
    records = [lab.store.load(row["id"]) for row in lab.store.index.rows()]
    by_name = {record.scenario.name: record for record in records}
    assert by_name["v4-memfile"].ceiling.id == by_name["v4-mysql"].ceiling.id == row["id"]
    assert [reason.word for reason in by_name["v4-mysql"].reasons] == ["generator-limited"]
    assert not by_name["v4-memfile"].reasons
    assert by_name["v6-memfile"].ceiling is None, "of another protocol"
    assert "generator-limited" in capsys.readouterr().out


def test_every_protocol_has_one_and_what_has_no_figure_is_reported_after_them(lab, capsys):
    lab.faults[UNCAPPED, 1] = invalid_measurement("too noisy")
    assert main(["calibrate"]) == 3
    out, err = capsys.readouterr()
    assert all(f"responder-{name}-uncapped" in out for name in ("v6", "dns", "tcp", "dot"))
    assert UNCAPPED not in out
    assert err.splitlines()[-1] == "leaselab: too noisy"


def test_two_generators_are_measured_in_turn_and_compared(lab, capsys):
    assert main(["dev", "bench", "generators", "--json", "--runs", "5"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["ceiling_ratio"] == pytest.approx(5, rel=0.01)
    assert result["agreement"] == {"max_rate": pytest.approx(1.01, rel=0.01), "p50_s": 1.0}
    assert result["wall_ratio"] is not None
    loads = [procedure for procedure in lab.procedures if procedure.name == "fixed-load"]
    assert [load.rate for load in loads] == [pytest.approx(2500, rel=0.02)] * 2
    rounds = [index for name, index in lab.rounds if name == UNCAPPED]
    assert rounds == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    lab.faults[UNCAPPED, 1] = invalid_measurement("too noisy")
    assert main(["dev", "bench", "generators"]) == 0
    out, err = capsys.readouterr()
    assert "ceiling: leaseload over perfdhcp -" in out
    assert "max rate of the server: leaseload over perfdhcp 1.0" in out
    assert "too noisy" in err
