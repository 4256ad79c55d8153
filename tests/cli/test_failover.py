"""``run --procedure event``: an event under a load, with a pair's own time after it."""

import json

from tests.made_up import RATE

from leaselab.cli.main import main
from leaselab.model.procedures.event import AFTER_SLACK_S

PAIR = "v4-memfile-hs"


def test_it_is_a_result_with_the_time_that_the_pair_needs(lab, capsys):
    assert main(["run", "--procedure", "event", PAIR, "--set", "rate=500", "--json"]) == 0
    (procedure,) = lab.procedures
    assert (procedure.event, procedure.rate, procedure.rounds) == ("crash", 500, 3)
    assert (procedure.before_s, procedure.after_s) == (10, 10 + AFTER_SLACK_S)
    document = json.loads(capsys.readouterr().out)
    assert document["scenario"]["name"] == PAIR
    assert document["metrics"][0]["name"] == "outage_s"
    assert lab.store.load("last").id == document["id"]


def test_without_a_rate_it_is_half_of_the_max_rate_which_is_measured_first(lab):
    assert main(["run", "--procedure", "event", PAIR, "--set", "rounds=1"]) == 0
    assert [procedure.name for procedure in lab.procedures] == ["max-rate", "event"]
    assert lab.procedures[-1].rate == RATE / 2
