"""Where ``leaselab run`` begins, with the hosts left out."""

from datetime import timedelta

import pytest
from tests.examples import START, archive_result, example_result, invalid_result

from leaselab.cli import run
from leaselab.cli.main import main
from leaselab.model.errors import lab_broken

MEASURED = example_result()["summary"]["max_rate"]["trimmed_mean"]


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Results of two scenarios, the later one invalid; what hosts would be set up for."""
    archive_result(tmp_path / "results")
    archive_result(tmp_path / "results", example_result(scenario="v6-memfile", token="0002"))
    archive_result(
        tmp_path / "results", invalid_result(token="0bad", started=START + timedelta(hours=1))
    )
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path / "results"))
    calls = []

    def set_up(_scenario, _inventory, overrides):
        calls.append(overrides)
        raise lab_broken("no hosts here")

    monkeypatch.setattr(run, "set_up", set_up)
    return calls


@pytest.mark.parametrize(
    ("arguments", "overrides"),
    [
        (["v4-memfile"], {"limits": {"start_rate": round(1.15 * MEASURED)}}),
        (["v4-memfile", "--start-rate", "900"], {"limits": {"start_rate": 900}}),
        (["v4-memfile-mt"], {}),
    ],
    ids=["a little above the last good result", "as told", "never measured"],
)
def test_the_first_offered_load(asked, arguments, overrides):
    assert main(["run", *arguments]) == 4
    assert asked == [overrides]
