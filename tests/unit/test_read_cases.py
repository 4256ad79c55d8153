"""Files of queries, zones and clients, clause by clause."""

import pytest
from tests.cases import cases_of, checked
from tests.read_cases import facts_of


@pytest.mark.parametrize(
    "case", [*cases_of("queries"), *cases_of("clients")], ids=lambda case: case.clause
)
def test_a_file_is_read_as_its_case_says(tmp_path, case):
    made, wanted = checked(case, facts_of, tmp_path)
    assert made == wanted
