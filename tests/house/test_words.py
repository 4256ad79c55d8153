"""Words of the field in what users read: documents, help texts, errors."""

import ast
import re

import pytest
from tests.documents import DOCUMENTS, ROOT, text

AVOIDED = re.compile(
    r"\b(told|anew|whoever|somebody|hindrances?|papers?|dearest|nouns?|what serves"
    r"|stands? on|gave back|giv(?:es?|en|ing) (?:it |them )?back|like with like)\b",
    re.IGNORECASE,
)
"""Riddles, personified machines, and what a dictionary translates literally.

Write *reported* or *configured*, *again*, *anyone who*, *incompatibility*, *document*,
*slowest*, *the server*, *depends on*, *restores*, *comparable*.
"""
HELPS = ("help", "description", "epilog")
ERRORS = (
    *("usage_error", "lab_broken", "invalid_measurement", "server_broken", "regression"),
    *("internal_fault", "LeaselabError"),
)


def test_documents_have_words_of_the_field():
    hits = [
        (document, number, match[0])
        for document in DOCUMENTS
        for number, line in enumerate(text(document).splitlines(), 1)
        for match in AVOIDED.finditer(re.sub(r"`[^`]*`", "", line))
    ]
    assert hits == []


def strings(node):
    """The texts of an expression; inserted values do not count."""
    return [
        item.value
        for item in ast.walk(node)
        if isinstance(item, ast.Constant) and isinstance(item.value, str)
    ]


def shown(path):
    """Help texts and errors of a module, as (line, text)."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        given = [key.value for key in node.keywords if key.arg in HELPS]
        if name in ERRORS:
            given = [*node.args, *(key.value for key in node.keywords)]
        for value in given:
            yield from ((node.lineno, string) for string in strings(value))


def test_help_and_errors_have_words_of_the_field():
    for path in sorted((ROOT / "scripts/leaselab").rglob("*.py")):
        hits = [(line, string) for line, string in shown(path) if AVOIDED.search(string)]
        assert hits == [], path


REFUSING = {"usage_error", "lab_broken", "server_broken"}
REASONS = {"scripts/leaselab/run/own_costs.py"}
"""Modules whose errors are shown as the reason why a cost is not measured."""


def test_an_error_says_what_is_wanted_or_what_to_do():
    """Where the code has its words; those of a library or of a role are as they are."""
    mute = []
    for path in sorted((ROOT / "scripts/leaselab").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_error = isinstance(node, ast.Call) and getattr(node.func, "id", "") in REFUSING
            worded = is_error and isinstance(node.args[0], ast.Constant | ast.JoinedStr)
            if worded and name not in REASONS:
                given = {key.arg for key in node.keywords}
                mute += [] if given & {"wanted", "todo", None} else [f"{name}:{node.lineno}"]
    assert mute == []


@pytest.mark.parametrize(
    "line", ["A user is told.", "made anew", "what serves beside it", "It gives it back."]
)
def test_the_list_finds_what_it_is_for(line):
    assert AVOIDED.search(line)


VAGUE = {"acquit", "bereaved", "hindrance", "hindrances", "BeneathError", "tell", "told"}
"""Names that say nothing of what they are: a check, a cause, an incompatibility, a write."""
ROOMS = ("model", "archive", "catalog", "builds", "lab", "measure", "run")
"""Whose values are named by what they hold, never `found`, but for what an error reports."""
REPORTED = {
    *("model/advice.py", "model/errors.py", "model/procedure.py", "model/host.py"),
    *("archive/checksums.py", "builds/artifacts.py", "lab/contract/server.py"),
    *("lab/checks/host.py", "lab/checks/findings.py", "lab/checks/inspection.py"),
    *("measure/generators/printed.py", "measure/search_error.py"),
    "measure/trials.py",
}
"""Modules with a field, parameter or text that is the `found` of an error or a finding."""


def names(path):
    """The names of functions, classes, parameters and values that a module gives."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name.lstrip("_")
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


@pytest.mark.parametrize("room", ROOMS)
def test_names_say_what_they_name(room):
    folder = ROOT / "scripts/leaselab"
    for path in sorted((folder / room).rglob("*.py")):
        module = path.relative_to(folder).as_posix()
        avoided = VAGUE | (set() if module in REPORTED else {"found"})
        assert avoided.isdisjoint(names(path)), module


def test_names_in_the_packages_of_contracts_say_what_they_name():
    for path in sorted(ROOT.glob("roles/*/files/*_contract/*.py")):
        assert (VAGUE - {"tell"}).isdisjoint(names(path)), path


def test_names_in_tests_say_what_they_name():
    avoided = VAGUE | {"found", "one"}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        named = set(names(path))
        assert avoided.isdisjoint(named), path
        tests = " ".join(name for name in named if name.startswith("test_"))
        assert AVOIDED.search(tests.replace("_", " ")) is None, path
