"""Schedules by the grammar of Jenkins."""

import pytest

from ci.jobcheck.cron import CronError, check

SPREAD = (
    *("H/15 * * * *", "H H(0-5) * * *", "H H(22-23)/1 1,15 1-11/2 1-5", "H(0-29)/10 * * * *"),
    *("@daily", "@midnight", "@hourly  ", "TZ=Europe/Berlin\nH H * * *", "TZ=Europe/Berlin"),
    *(
        "TZ=Etc/GMT+3\n\n# the night\nH H * * 7",
        " TZ=PST \r\n\tH\tH  * * * ",
        "# never",
        "\n \n",
    ),
    "",  # only a hook starts it
)


@pytest.mark.parametrize("spec", SPREAD)
def test_a_schedule_with_h_or_an_alias_spreads(spec):
    assert check(spec)


@pytest.mark.parametrize(
    "spec", ["0 3 * * *", "*/15 * * * *", "*/90 1-5/9 * * 07", "H H * * *\n0 12 * * *"]
)
def test_a_schedule_without_h_is_sound_and_does_not_spread(spec):
    assert not check(spec)


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("H H * *", "4 fields where five are wanted"),
        ("H H * * * *", "6 fields"),
        ("60 * * * *", "minute: 60 is not in 0 to 59"),
        ("* 24 * * *", "hour: 24"),
        ("* * 0 * *", "day of the month: 0"),
        ("* * * 13 *", "month: 13"),
        ("* * * * 8", "day of the week: 8"),
        ("* * * * MON", "day of the week: MON"),
        ("H(0-60) * * * *", "minute: 60"),
        ("H(30-10) * * * *", "ends before it begins"),
        ("50-10 * * * *", "ends before it begins"),
        ("*/0 * * * *", "a step of 0"),
        ("H/90 * * * *", "a step of 90"),
        ("H/0 * * * *", "a step of 0"),
        ("H(1-5)/6 * * * *", "a step of 6"),
        ("* * H/29 * *", "a step of 29"),
        ("* * * * H/8", "a step of 8"),
        ("*/2147483648 * * * *", "a step of 2147483648"),
        ("\u0661 * * * *", "minute"),
        ("H H * *\u00a0*", "4 fields"),
        ("H H * * *\x0bH H * * *", "9 fields"),
        ("@ daily", "is none of"),
        ("5/10 * * * *", "minute: 5/10"),
        ("h * * * *", "minute: h"),
        ("1,,2 * * * *", "minute: nothing"),
        ("@nightly", "@nightly is none of"),
        ("TZ=\nH * * * *", "no such time zone"),
        ("TZ=Atlantis/City", "no such time zone: Atlantis/City"),
        ("H * * * *\nTZ=Europe/Berlin", "1 fields"),
    ],
)
def test_what_jenkins_would_refuse_is_refused(spec, complaint):
    with pytest.raises(CronError, match=complaint.replace("(", r"\(").replace("*", r"\*")):
        check(spec)
