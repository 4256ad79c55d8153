"""Users' files, clause by clause: configurations, advice on them, queries, zones, clients."""

import pytest
from tests import advising, own_cases, read_cases
from tests.cases import cases_of, checked

FACTS = {
    **dict.fromkeys(own_cases.LANGUAGES, own_cases.facts_of),
    **dict.fromkeys(("queries", "clients"), read_cases.facts_of),
    advising.CASES: advising.facts_of,
}
"""What makes the facts of a case, by its file."""


@pytest.mark.parametrize(
    "case",
    [case for file in FACTS for case in cases_of(file)],
    ids=lambda case: f"{case.file}: {case.clause}",
)
def test_a_file_is_read_as_its_case_says(tmp_path, case):
    made, wanted = checked(case, FACTS[case.file], tmp_path)
    assert made == wanted
