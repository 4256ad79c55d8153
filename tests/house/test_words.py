"""Words of the field in what users read, and names that say what they name.

`scripts/ci/words` has the lists, and is one of the linters.
"""

import ast

import pytest
from tests.documents import ROOT

from ci.wordcheck.findings import NAME, WORD, Finding, files, findings
from ci.wordcheck.lists import FOUND, ONE, avoided


def test_nothing_here_has_a_word_or_a_name_to_avoid():
    assert [str(hit) for hit in findings(ROOT, files(ROOT))] == []


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ("A user is told.", "reported, configured"),
        ("made anew", "again"),
        ("What serves beside it", "the server"),
        ("It gives it back.", "restores, returns"),
    ],
)
def test_the_list_finds_what_it_is_for(text, better):
    assert [words for _, words in avoided(text)] == [better]


def test_a_finding_names_place_rule_and_better_words(tmp_path):
    content = {
        "docs/page.md": "A user is `told`.\nA user is told.\n",
        "scripts/leaselab/cli/x.py": "add(help=f'the {papers} are\\nmade anew')\n",
        "scripts/leaselab/run/x.py": "found = 1\ndef tell(acquit): pass\n",
        "scripts/leaselab/model/errors.py": "def error(found): pass\n",
        "scripts/leaselab/report/x.py": "found = 'told'\n",
        "tests/test_x.py": "one = 1\ndef test_a_user_is_told(): pass\n",
        "roles/x/files/x_contract/x.py": "def tell(told): pass\n",
    }
    for name, text in content.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    assert list(findings(tmp_path, content)) == [
        Finding("docs/page.md", 2, "told", "reported, configured", WORD),
        Finding("scripts/leaselab/cli/x.py", 1, "anew", "again", WORD),
        Finding("scripts/leaselab/run/x.py", 2, "tell", "write, report", NAME),
        Finding("scripts/leaselab/run/x.py", 1, "found", FOUND["found"], NAME),
        Finding("scripts/leaselab/run/x.py", 2, "acquit", "what was checked", NAME),
        Finding("tests/test_x.py", 2, "told", "reported, configured", WORD),
        Finding("tests/test_x.py", 1, "one", ONE["one"], NAME),
        Finding("roles/x/files/x_contract/x.py", 1, "told", "reported", NAME),
    ]
    shown = str(Finding("docs/page.md", 2, "anew", "again", WORD))
    assert shown == 'docs/page.md:2: "anew": write again (words are those of the field)'


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
