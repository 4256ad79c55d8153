"""The reader of JSON with comments and included files."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaselab.lab.commented_json import read_commented_json
from leaselab.model.errors import LeaselabError, Outcome

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
OBJECTS = st.dictionaries(st.text(), VALUES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("commented")


def read(folder, text):
    path = folder / "kea.conf"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_commented_json(path)


def refusal(folder, text):
    with pytest.raises(LeaselabError) as caught:
        read(folder, text)
    assert caught.value.outcome is Outcome.USAGE
    return str(caught.value)


@given(value=OBJECTS, indent=st.sampled_from([None, 0, 2]), ascii_only=st.booleans())
def test_plain_json_is_read_as_python_reads_it(folder, value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert read(folder, text).top == json.loads(text)


@given(value=OBJECTS, data=st.data())
def test_comments_and_blanks_between_tokens_change_nothing(folder, value, data):
    noise = ["", " ", "\n", "# x\n", "// { \n", "/* [ \n , */", "/***/"]
    pieces = []
    for piece in json.JSONEncoder(separators=(",", ":")).iterencode(value):
        pieces += [data.draw(st.sampled_from(noise)), piece]
    # An empty container comes as one piece, and a string is one: noise is beside it.
    assert read(folder, "".join(pieces)).top == value


@given(text=st.text(alphabet='{}[],:"<?include>x/*#\\ \n19.-etrue', max_size=40))
def test_any_text_is_read_or_refused_with_its_place(folder, text):
    try:
        expected = json.loads(text)
    except (ValueError, RecursionError):
        expected = None
    try:
        found = read(folder, text).top
    except LeaselabError as error:
        assert "kea.conf:" in error.where  # noqa: PT017  # both endings are right
        assert not isinstance(expected, dict)
    else:
        assert expected is None or found == expected


def test_a_comma_may_be_one_too_many(folder):
    assert read(folder, '{"a": [1, 2,], "b": {"c": 3,},}').top == {"a": [1, 2], "b": {"c": 3}}


def test_the_last_of_two_members_of_one_name_counts(folder):
    top = read(folder, '{"a": 1,\n "a": 2}').top
    assert top == {"a": 2}
    assert top.spots["a"].line == 2


def test_members_and_elements_know_their_places(folder):
    top = read(folder, '{ "a": 1, /* \n */\n  "b": [\n 5,\n  {"c": 6}]}').top
    spots = [top.spots["a"], top.spots["b"], *top["b"].spots, top["b"][1].spots["c"]]
    assert [(spot.line, spot.column) for spot in spots] == [
        (1, 3),
        (3, 3),
        (4, 2),
        (5, 3),
        (5, 4),
    ]


def test_comment_marks_in_strings_are_text(folder):
    text = '{"url": "http://a/#x", "b": "/* no */ <?include \\"x\\"?>"}'
    assert read(folder, text).top == json.loads(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", [":1:1", "found the end of the file", "wanted an object"]),
        ("[1]", [":1:1", "found '['", "wanted an object"]),
        ("Dhcp4:\n  loggers: []\n", [":1:1", "found a word", "wanted an object"]),
        ('{"a": 1', [":1:8", "found the end of the file", "wanted a comma or }"]),
        ('{"a": 1 "b": 2}', [":1:9", "found a string", "wanted a comma or }"]),
        ('{"a"\n 1}', [":2:2", "found a number", "wanted a colon"]),
        ('{"a":\n  unquoted}', [":2:3", "found a word", "wanted a value"]),
        ('{"a": True}', [":1:7", "found a word", "wanted a value"]),
        ('{"a": 1,, "b": 2}', [":1:9", "found ','", "wanted a value or }"]),
        ('{"a": [,]}', [":1:8", "found ','", "wanted a value or ]"]),
        ("{5: 1}", [":1:2", "found a number", "the name of a member"]),
        ('{"a": 1} {', [":1:10", "found '{'", "wanted the end of the file"]),
        ('{"a": "x\ny"}', [":1:7", "a string that does not end"]),
        ('{"a": "\\x"}', [":1:7", "a string that does not end"]),
        ("{ /* no end", [":1:3", "a comment that does not end"]),
        ("{\n<?inklude 'x'?>}", [":2:1", "found a directive"]),
        ("{'a': 1}", [":1:2", "a letter that JSON has not"]),
        ('{"a": ' + "9" * 5000 + "}", [":1:7", "too many digits"]),
        ('{"a": ' * 200, ["nested too deeply", "100 levels"]),
        ("{}\ufeff", [":1:3", "a letter that JSON has not"]),
        (b'{"a":\n "\xff"}', [":2", "bytes that are no UTF-8"]),
    ],
)
def test_what_is_no_json_is_refused_with_line_and_column(folder, text, parts):
    told = refusal(folder, text)
    assert [part for part in parts if part not in told] == []


@pytest.mark.parametrize(
    "text",
    [
        '{"password": hunter-two}',
        '{"password": "hunter-two" "x"}',
        '{"password" "hunter-two"}',
        '{"password": "hunter-two\n"}',
        "{hunter-two: 1}",
    ],
)
def test_an_error_holds_nothing_of_the_file(folder, text):
    assert "hunter" not in refusal(folder, text)


def test_a_file_that_is_not_there_is_bad_input(tmp_path):
    with pytest.raises(LeaselabError) as caught:
        read_commented_json(tmp_path / "nowhere.conf")
    assert caught.value.outcome is Outcome.USAGE
    assert "nowhere.conf: cannot be read: No such file" in str(caught.value)


def test_an_included_file_stands_for_a_value_some_members_or_some_elements(tmp_path):
    (tmp_path / "value").write_text("[1, 2]  # a list")
    (tmp_path / "members").write_text('"b": 2,\n"c": 3')
    (tmp_path / "elements").write_text("5, 6,")
    document = read(
        tmp_path,
        '{"a": <?include "value"?>, <?include "members"?>, "d": [4, <? include "elements"?>7]}',
    )
    assert document.top == {"a": [1, 2], "b": 2, "c": 3, "d": [4, 5, 6, 7]}
    assert document.unread == ()
    assert (document.top.spots["c"].source.name, document.top.spots["c"].line) == ("members", 2)


def test_relative_names_are_looked_for_beside_the_file_that_includes(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "one").write_text('{"x": <?include "two"?>}')
    (tmp_path / "sub" / "two").write_text("true")
    assert read(tmp_path, '{"a": <?include "sub/one"?>}').top == {"a": {"x": True}}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": <?include "gone"?>, "c": [3]}',
        '{"a": 1, "b": <?include "gone"?>\n, "c": [3], }',
        '{"a": 1, <?include "gone"?>, "c": [3]}',
        '{"a": 1, <?include "gone"?> "c": [3]}',
        '{"a": 1 <?include "gone"?>, "c": [3]}',
        '{"a": 1, "c": [<?include "gone"?>, 3]}',
        '{"a": 1, "c": [3, <?include "gone"?>]}',
        '{"a": 1, "c": [3], <?include "gone"?>}',
    ],
)
def test_what_an_unreadable_file_says_is_left_out(folder, text):
    document = read(folder, text)
    assert document.top == {"a": 1, "c": [3]}
    assert document.unread == ("gone",)


def test_files_that_include_themselves_are_refused(tmp_path):
    (tmp_path / "again").write_text('<?include "again"?>')
    assert "too deeply" in refusal(tmp_path, '{"a": <?include "again"?>}')


def test_a_fault_in_an_included_file_is_told_with_its_name(tmp_path):
    (tmp_path / "bad").write_text('{"x":\n  nothing}')
    assert refusal(tmp_path, '{"a": <?include "bad"?>}').startswith("bad:2:3: not JSON")
