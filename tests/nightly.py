"""Cases of a test that are played each night alone."""

import pytest


def but_at_night(each_time, cases):
    """All cases as parameters, those that are not of `each_time` for the night."""
    assert set(each_time) <= set(cases), "each case that is named is there"
    return [
        pytest.param(case, marks=() if case in each_time else (pytest.mark.night,))
        for case in cases
    ]
