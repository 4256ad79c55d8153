"""Users' configurations, clause by clause: the cases of each language."""

import pytest
from tests.own_cases import LANGUAGES, cases_of, facts_of


@pytest.mark.parametrize(
    "case",
    [case for language in LANGUAGES for case in cases_of(language)],
    ids=lambda case: f"{case.language}: {case.clause}",
)
def test_a_file_is_read_as_its_case_says(tmp_path, case):
    made, wanted = {}, {}
    for number, (row, places, facts) in case.rows.items():
        folder = tmp_path / str(number)
        folder.mkdir()
        made[number, row] = facts_of(case, row, places, folder).split()
        wanted[number, row] = facts.split()
    assert made == wanted
