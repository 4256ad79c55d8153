"""Users' configurations, clause by clause: the cases of each language."""

import pytest
from tests.cases import cases_of, checked
from tests.own_cases import LANGUAGES, facts_of


@pytest.mark.parametrize(
    "case",
    [case for language in LANGUAGES for case in cases_of(language)],
    ids=lambda case: f"{case.file}: {case.clause}",
)
def test_a_file_is_read_as_its_case_says(tmp_path, case):
    made, wanted = checked(case, facts_of, tmp_path)
    assert made == wanted
