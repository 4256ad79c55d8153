"""The reader of JSON with comments and included files."""

import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaselab.inputs.commented_json import read_commented_json
from leaselab.inputs.json_tokens import below
from leaselab.model.errors import LeaselabError, Outcome

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
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
        result = read(folder, text).top
    except LeaselabError as error:
        assert "kea.conf:" in error.where  # noqa: PT017  # both endings are right
        assert not isinstance(expected, dict)
    else:
        assert expected is None or result == expected


def test_commas_may_be_too_many_after_a_value(folder):
    text = '{"a": [1,,, 2,], "b": {"c": 3,, # x\n,},, "d": 4}'
    assert read(folder, text).top == {"a": [1, 2], "b": {"c": 3}, "d": 4}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (".25", 0.25),
        ("-.5e1", -5.0),
        ("1.", 1.0),
        ("1.e2", 100.0),
        ("+7", 7),
        ("+.5", 0.5),
        ("007", 7),
        ("-00.5", -0.5),
        ("-9223372036854775808", -(2**63)),
    ],
)
def test_numbers_are_those_of_kea(folder, text, value):
    number = read(folder, f'{{"a": {text}}}').top["a"]
    assert (type(number), number) == (type(value), value)


def test_bytes_that_are_no_utf_8_are_taken_in_comments_and_strings(folder):
    top = read(folder, b'{"caf\xe9": "\x7f\xff", /* \x00\xfc */ "b": 1} # \x07\xe4').top
    assert list(top.values()) == ["\x7f\udcff", 1]


@pytest.mark.parametrize("text", ['[1, {"a": 2}]', "3", '"a"', "null", "# x\n[]"])
def test_any_value_may_be_at_the_top(folder, text):
    assert read(folder, text).top == json.loads(text.replace("# x\n", ""))


def test_the_last_of_two_members_of_one_name_counts(folder):
    top = read(folder, '{"a": 1,\n "a": 2}').top
    assert top == {"a": 2}
    assert top.spots["a"].line == 2


def test_the_values_of_members_and_elements_know_their_places(folder):
    top = read(folder, '{ "a": 1, /* \n */\n  "b": [\n 5,\n  {"c": 6}]}').top
    spots = [top.spots["a"], top.spots["b"], *top["b"].spots, top["b"][1].spots["c"]]
    places = [(spot.line, spot.column) for spot in spots]
    assert places == [(1, 8), (3, 8), (4, 2), (5, 3), (5, 9)]


def test_comment_marks_in_strings_are_text(folder):
    text = '{"url": "http://a/#x", "b": "/* no */ <?include \\"x\\"?>"}'
    assert read(folder, text).top == json.loads(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", [":1:1", "found the end of the file", "wanted an object"]),
        ("[1", [":1:3", "found the end of the file", "wanted a comma or ]"]),
        ("Dhcp4:\n  loggers: []\n", [":1:1", "found a word", "wanted an object"]),
        ('{"a": 1', [":1:8", "found the end of the file", "wanted a comma or }"]),
        ('{"a": 1 "b": 2}', [":1:9", "found a string", "wanted a comma or }"]),
        ('{"a"\n 1}', [":2:2", "found a number", "wanted a colon"]),
        ('{"a":\n  unquoted}', [":2:3", "found a word", "wanted a value"]),
        ('{"a": True}', [":1:7", "found a word", "wanted a value"]),
        ('{,"a": 1}', [":1:2", "found ','", "wanted a value or }"]),
        ('{"a": [,]}', [":1:8", "found ','", "wanted a value or ]"]),
        ("{5: 1}", [":1:2", "found a number", "the name of a member"]),
        ('{"a": 1} {', [":1:10", "found '{'", "wanted the end of the file"]),
        ('{"a": "x\ny"}', [":1:7", "a string that does not end"]),
        ('{"a": "b\\x"}', [":1:9", "an escape that JSON does not allow"]),
        ('{"a": "b\tc"}', [":1:9", "a control character (U+0009) in a string"]),
        ('{"a": "b\0c"}', [":1:9", "a NUL character (U+0000) in a string"]),
        ('{"a": "b”: 1}\n', [":1:9", "a right double quotation mark (U+201D) in a string"]),
        ("{ /* no end", [":1:3", "a comment that does not end"]),
        ("{\n<?inklude 'x'?>}", [":2:1", "found a directive"]),
        ("{'a': 1}", [":1:2", "an apostrophe (U+0027)"]),
        ('{"a": ' + "9" * 5000 + "}", [":1:7", "a number that is too large"]),
        ('{"a": 9223372036854775808}', [":1:7", "a number that is too large"]),
        ('{"a": 1e999}', [":1:7", "a number that is too large"]),
        ('{"a": .}', [":1:7", "a character that JSON does not allow"]),
        ('{"a": TRUE}', [":1:7", "found a word"]),
        ('{"a": ' * 200, ["nested too deeply", "100 levels"]),
        ("\ufeff{}", [":1:1", "a byte-order mark (U+FEFF)"]),
        ("{}".encode("utf-16"), [":1:1", "found UTF-16, wanted UTF-8"]),
        ('{\n"a":\u00a01}', [":2:5", "a no-break space (U+00A0)"]),
        (b'{\n"a":\xa01}', [":2:5", "a no-break space (U+00A0)"]),
        ("{“a”: 1}", [":1:2", "a left double quotation mark (U+201C)"]),
        (b"{\x93a\x94: 1}", [":1:2", "a left double quotation mark (U+201C)"]),
        ('{"a": \N{EN DASH}1}', [":1:7", "an en dash (U+2013)"]),
        ('{"a"\N{FULLWIDTH COLON} 1}', [":1:5", "a fullwidth colon (U+FF1A)"]),
        ("{\0}", [":1:2", "a NUL character (U+0000)"]),
        ("{é: 1}", [":1:2", "a character that JSON does not allow"]),
    ],
)
def test_what_is_no_json_is_refused_with_line_and_column(folder, text, parts):
    message = refusal(folder, text)
    assert [part for part in parts if part not in message] == []


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


def test_standard_input_is_read(tmp_path, monkeypatch):
    (tmp_path / "more").write_text("2")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'[1, <?include "more"?>]')))
    document = read_commented_json(Path("-"))
    assert (document.top, str(document.spot)) == ([1, 2], "standard input:1:1")
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(LeaselabError, match="standard input: cannot be read: it is closed"):
        read_commented_json(Path("-"))


def test_an_included_file_is_a_value_some_members_or_some_elements(tmp_path):
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
    assert [unread.name for unread in document.unread] == ["gone"]
    assert not document.unread[0].spot.line > 2


def test_it_is_known_what_may_be_in_a_file_that_was_not_read(folder):
    inner = '{"a": <?include "gone"?>, "b": {<?include "gone"?>}, "c": [<?include "gone"?>]}'
    top = read(folder, inner).top
    assert (top.unread, top["b"].unread, top["c"]) == ({"a"}, {""}, [])


@pytest.fixture
def hostile(tmp_path):
    """Files that nobody should wait for, hold in memory, or even open."""
    os.mkfifo(tmp_path / "fifo")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2**40)
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("/dev/zero", "not a plain file"),
        ("/dev/watchdog\0", "null byte"),
        ("fifo", "not a plain file"),
        ("folder", "not a plain file"),
        ("sparse", "more than 64 MiB"),
        ("loop", "symbolic links"),
        ("x" * 5000, "too long"),
    ],
)
def test_only_plain_files_of_some_size_are_read(hostile, name, why):
    document = read(hostile, f'{{"a": <?include "{name}"?>, "b": 1}}')
    assert document.top == {"b": 1}
    assert [why in unread.why for unread in document.unread] == [True]
    if "\0" not in name:
        with pytest.raises(LeaselabError, match=f"cannot be read: .*{why}"):
            read_commented_json(hostile / name)


def test_files_that_include_others_many_times_are_bounded(tmp_path):
    """Ten files that each include the next ten times are 10^10 files."""
    for number in range(11):
        inner = ", ".join(f'<?include "{number + 1}"?>' for _ in range(10))
        (tmp_path / str(number)).write_text(f"[{inner}]" if number < 10 else "[1]")
    document = read(tmp_path, '<?include "0"?>')
    assert "more than 10000 files are included" in {unread.why for unread in document.unread}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"[" + b"1," * 1000 + b"1]", "wanted 1000 values at most"),
        (b"/*" + b"*" * 10**7, "a comment that does not end"),
        (b'"' + b"x" * 10**7, "a string that does not end"),
        (b" " * (64 * 2**20 + 1), "more than 64 MiB"),
    ],
    ids=["lists", "objects", "values", "comment", "string", "size"],
)
def test_files_are_bounded(folder, monkeypatch, text, message):
    monkeypatch.setattr("leaselab.inputs.commented_json._MOST", 1000)
    assert message in refusal(folder, text)


def test_absolute_names_are_looked_for_below_a_root(tmp_path):
    (tmp_path / "root/etc").mkdir(parents=True)
    (tmp_path / "root/etc/one").write_text("1")
    (tmp_path / "two").write_text("2")
    path = tmp_path / "kea.conf"
    path.write_text('[<?include "/etc/one"?>, <?include "two"?>, <?include "/../etc/one"?>]')
    assert read_commented_json(path, below(tmp_path / "root")).top == [1, 2, 1]
    assert len(read_commented_json(path).unread) == 2


def test_files_that_include_themselves_are_refused(tmp_path):
    (tmp_path / "again").write_text('<?include "again"?>')
    assert "too deeply" in refusal(tmp_path, '{"a": <?include "again"?>}')


def test_a_fault_in_an_included_file_is_reported_with_its_name(tmp_path):
    (tmp_path / "bad").write_text('{"x":\n  nothing}')
    assert refusal(tmp_path, '{"a": <?include "bad"?>}').startswith("bad:2:3: not JSON")
