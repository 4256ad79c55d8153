"""``leaselab failover``: what could only end without a figure is refused first."""

import pytest

from leaselab.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--rate", "0"), "--rate: out of range (found 0, wanted 1 or more)"),
        (("--runs", "-1"), "--runs: out of range (found -1, wanted 1 or more)"),
        (("--before-s", "0"), "--before-s: out of range"),
        (
            ("--after-s", "10"),
            "found 10, wanted more than the scenario's max_response_delay_s, 10",
        ),
        ((), "no max rate of this scenario is known on this bench; give the load with --rate"),
    ],
)
def test_numbers_that_give_no_figure(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path))
    assert main(["failover", "v4-memfile-hs", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_one_server_has_nothing_to_fail_over_to(capsys):
    assert main(["failover", "v4-memfile"]) == 2
    assert "a failover needs a pair" in capsys.readouterr().err
