"""The reader of JSON with comments and included files."""

import io
import itertools
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.refusals import refusals_of

from leaselab.inputs.commented_json import read_commented_json
from leaselab.inputs.json_tokens import below, octets
from leaselab.model.errors import LeaselabError

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
    return refusals_of(read)(folder, text)


@given(value=OBJECTS, indent=st.sampled_from([None, 0, 2]), ascii_only=st.booleans())
def test_plain_json_is_read_as_python_reads_it(folder, value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    # Kea writes an escape for each byte.
    escaped = json.dumps(json.loads(text.encode().decode("latin-1")))
    read_text = octets(
        json.dumps(read(folder, escaped if ascii_only else text).top, ensure_ascii=False)
    )
    assert json.loads(read_text) == json.loads(text)


@given(value=OBJECTS, data=st.data())
def test_comments_and_blanks_between_tokens_change_nothing(folder, value, data):
    noise = ["", " ", "\n", "# x\n", "// { \n", "/* [ \n , */", "/***/"]
    pieces = []
    encoder = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)
    for piece in encoder.iterencode(value):
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


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('[[1,,, 2,], {"c": 3,, # x\n,},, 4]', [[1, 2], {"c": 3}, 4]),
        *((".25", 0.25), ("-.5e1", -5.0), ("1.", 1.0), ("1.e2", 100.0), ("+7", 7)),
        *(("+.5", 0.5), ("007", 7), ("-00.5", -0.5), ("-9223372036854775808", -(2**63))),
        (b'"\x7f\xff" /* \x00\xfc */ # \x07\xe4\n', "\x7f\udcff"),
        (
            '["http://a/#x", "/* no */ <?include \\"x\\"?>"]',
            ["http://a/#x", '/* no */ <?include "x"?>'],
        ),
        ("# x\nnull", None),
    ],
)
def test_values_are_those_of_kea_at_the_top_too(folder, text, value):
    text = text if isinstance(text, bytes) else text.encode()
    for held in (read(folder, text).top, read(folder, b'{"a": ' + text + b"}").top["a"]):
        assert repr(held) == repr(value)


def test_the_values_of_members_and_elements_know_their_places(folder):
    top = read(folder, '{ /* \n */\n  "b": [\n 5,\n  {"c": 6}], "a":\n 7}').top
    spots = [top.spots["a"], top.spots["b"], *top["b"].spots, top["b"][1].spots["c"]]
    places = [(spot.line, spot.column) for spot in spots]
    assert places == [(6, 2), (3, 8), (4, 2), (5, 3), (5, 9)]


def test_of_two_members_of_a_users_own_object_the_last_counts(folder):
    top = read(folder, '{"user-context": {"a": 1, "b": {"c": 2, "c": 3}, "a": 4}}').top
    assert top == {"user-context": {"a": 4, "b": {"c": 3}}}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", [":1:1", "found the end of the file", "wanted an object"]),
        ("[1", [":1:3", "found the end of the file", "wanted a comma or ]"]),
        ("Dhcp4:\n  loggers: []\n", [":1:1", "found a word", "wanted an object"]),
        ('{"a": "hunter" "hunter"}', [":1:16", "found a string", "wanted a comma or }"]),
        ('{"hunter"\n 1}', [":2:2", "found a number", "wanted a colon"]),
        ('{"a": 1,\n "a": 2}', [":2:2", "found a,", "the first is at", ":1:7"]),
        ('{"a":\n  hunter}', [":2:3", "found a word", "wanted a value"]),
        ('{"a": TRUE}', [":1:7", "found a word"]),
        ('{,"a": 1}', [":1:2", "found ','", "wanted a value or }"]),
        ('{"a": [,]}', [":1:8", "found ','", "wanted a value or ]"]),
        ("{hunter: 1}", [":1:2", "found a word", "the name of a member"]),
        ('{"a": 1} {', [":1:10", "found '{'", "wanted the end of the file"]),
        ('{"a": "hunter\ny"}', [":1:7", "a string that does not end"]),
        ('{"a": "b\\x"}', [":1:9", "an escape that JSON does not allow"]),
        ('{"a": "b\0c"}', [":1:9", "a NUL character (U+0000) in a string"]),
        ('{"a": "b”: 1}\n', [":1:9", "a right double quotation mark (U+201D) in a string"]),
        ("{ /* no end", [":1:3", "a comment that does not end"]),
        ("{\n<?inklude 'x'?>}", [":2:1", "found a directive"]),
        ("{'a': 1}", [":1:2", "an apostrophe (U+0027)"]),
        ('{"a": ' + "9" * 5000 + "}", [":1:7", "a number that is too large"]),
        ('{"a": 9223372036854775808}', [":1:7", "a number that is too large"]),
        ('{"a": 1e999}', [":1:7", "a number that is too large"]),
        ('{"a": ' * 200, ["nested too deeply", "100 levels"]),
        ("\ufeff{}", [":1:1", "a byte-order mark (U+FEFF)"]),
        ("{}".encode("utf-16"), [":1:1", "found UTF-16, wanted UTF-8"]),
        (b'{\n"a":\xa01}', [":2:5", "a no-break space (U+00A0)"]),
        (b"{\x93a\x94: 1}", [":1:2", "a left double quotation mark (U+201C)"]),
        ('{"a": \N{EN DASH}1}', [":1:7", "an en dash (U+2013)"]),
        ('{"a"\N{FULLWIDTH COLON} 1}', [":1:5", "a fullwidth colon (U+FF1A)"]),
        ("{é: 1}", [":1:2", "a character that JSON does not allow"]),
        *((deep * 100_000, ["nested too deeply"]) for deep in (b"[", b'{"a":')),
        (b"[" + b"1," * 1000 + b"1]", ["wanted 1000 values at most"]),
        (b"/*" + b"*" * 10**7, ["a comment that does not end"]),
        (b'"' + b"x" * 10**7, ["a string that does not end"]),
        (b" " * (64 * 2**20 + 1), ["more than 64 MiB"]),
    ],
    ids=itertools.count(),
)
def test_what_is_no_json_is_refused_with_its_place_and_without_its_words(
    folder, monkeypatch, text, parts
):
    monkeypatch.setattr("leaselab.inputs.commented_json._MOST", 1000)
    message = refusal(folder, text)
    assert [part for part in parts if part not in message] == []
    assert "hunter" not in message


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
    (tmp_path / "sub").mkdir()
    files = {"value": "[1, 2]  # a list", "members": '"b": 2,\n"c": 3', "elements": "5, 6,"}
    files |= {"sub/one": '{"x": <?include "two"?>}', "sub/two": "true"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    text = (
        '{"a": <?include "value"?>, <?include "members"?>, "d": [4, <? include "elements"?>7]'
    )
    document = read(tmp_path, text + ', "e": <?include "sub/one"?>}')
    top = {"a": [1, 2], "b": 2, "c": 3, "d": [4, 5, 6, 7], "e": {"x": True}}
    assert (document.top, document.unread) == (top, ())
    spot = document.top.spots["c"]
    assert (spot.source.name, spot.line) == ("members", 2)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": GONE, "c": [3]}',
        '{"a": 1, "b": GONE\n, "c": [3], }',
        '{"a": 1, GONE, "c": [3]}',
        '{"a": 1, GONE "c": [3]}',
        '{"a": 1 GONE, "c": [3]}',
        '{"a": 1, "c": [GONE, 3]}',
        '{"a": 1, "c": [3, GONE]}',
        '{"a": 1, "c": [3], GONE}',
    ],
)
def test_what_an_unreadable_file_says_is_left_out(folder, text):
    document = read(folder, text.replace("GONE", '<?include "gone"?>'))
    assert document.top == {"a": 1, "c": [3]}
    assert [unread.name for unread in document.unread] == ["gone"]
    assert document.top.unread == ({"b"} if '"b"' in text else {""} if "[3]" in text else set())


HOSTILE = {
    "/dev/zero": "not a plain file",
    "/dev/watchdog\0": "null byte",
    "fifo": "not a plain file",
    "folder": "not a plain file",
    "sparse": "more than 64 MiB",
    "loop": "symbolic links",
    "gone": "No such file",
    "x" * 5000: "too long",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_only_plain_files_of_some_size_are_read(tmp_path, name):
    """Nobody waits for others, holds them in memory, or even opens them."""
    os.mkfifo(tmp_path / "fifo")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2**40)
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    document = read(tmp_path, f'{{"a": <?include "{name}"?>, "b": 1}}')
    assert document.top == {"b": 1}
    assert [HOSTILE[name] in unread.why for unread in document.unread] == [True]


def test_files_that_include_others_many_times_are_bounded(tmp_path):
    """Ten files that each include the next ten times are 10^10 files."""
    for number in range(11):
        inner = ", ".join(f'<?include "{number + 1}"?>' for _ in range(10))
        (tmp_path / str(number)).write_text(f"[{inner}]" if number < 10 else "[1]")
    document = read(tmp_path, '<?include "0"?>')
    assert "more than 10000 files are included" in {unread.why for unread in document.unread}
    (tmp_path / "again").write_text('<?include "again"?>')
    assert "too deeply" in refusal(tmp_path, '{"a": <?include "again"?>}')
    (tmp_path / "bad").write_text('{"x":\n  nothing}')
    assert refusal(tmp_path, '{"a": <?include "bad"?>}').startswith("bad:2:3: not JSON")


def test_absolute_names_are_looked_for_below_a_root(tmp_path):
    (tmp_path / "root/etc").mkdir(parents=True)
    (tmp_path / "root/etc/one").write_text("1")
    (tmp_path / "two").write_text("2")
    path = tmp_path / "kea.conf"
    path.write_text('[<?include "/etc/one"?>, <?include "two"?>, <?include "/../etc/one"?>]')
    assert read_commented_json(path, below(tmp_path / "root")).top == [1, 2, 1]
    assert len(read_commented_json(path).unread) == 2
