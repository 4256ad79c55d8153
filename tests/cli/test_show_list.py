"""The commands ``show``, ``list`` and ``archive`` on whole output."""

import json
import sys
from datetime import timedelta

import msgspec
import pytest
from tests.examples import START, archive_result, example_result, invalid_result

from leaselab.archive.store import Store
from leaselab.cli.main import main
from leaselab.model.record import Record

LISTING = """\
id                                procedure  durability  server     commit      max rate/s
20261121T123005Z-v4-memfile-0bad  max-rate   written     kea 2.6.3                 invalid
20261121T113005Z-v6-memfile-3f9a  max-rate   written     kea 2.6.3  1a2b3c4d5e        6006
20261121T113005Z-v4-memfile-3f9a  max-rate   written     kea 2.6.3                    6006
"""
NONE_YET = "none yet: `./leaselab run` makes one\n"


@pytest.fixture
def records(root):
    return [
        archive_result(root),
        archive_result(root, example_result(scenario="v6-memfile", commit="1a2b3c4d5e6f7a8b")),
        archive_result(root, invalid_result(token="0bad", started=START + timedelta(hours=1))),
    ]


def call(capsys, *arguments):
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


class TestShow:
    def test_json_is_the_record_and_nothing_else(self, capsys, records):
        for ref, record in (("last", records[2]), (records[0].id, records[0])):
            code, out, err = call(capsys, "show", ref, "--json")
            assert (code, err) == (0, "")
            assert msgspec.json.decode(out, type=Record) == record
            assert json.loads(out)["schema_version"] == 2

    def test_text_starts_with_the_figure_and_ends_with_the_path(self, capsys, root, records):
        place = Store(root).place(records[0].id)
        code, out, err = call(capsys, "show", str(place / "result.json"))
        assert (code, err) == (0, "")
        head, *_, last = out.splitlines()
        assert head == "v4-memfile · kea 2.6.3 · durability written: 6006 ± 25 exchanges/s"
        assert last.split() == ["result", str(place)]
        assert call(capsys, "show") == call(capsys, "show", records[2].id), "the newest"

    def test_a_changed_result_is_invalid_and_not_printed(self, capsys, root, records):
        path = Store(root).place(records[2].id) / "result.json"
        path.chmod(0o644)
        path.write_text(path.read_text().replace("invalid", "ok"))
        for more in ([], ["--json"]):
            code, out, err = call(capsys, "show", "last", *more)
            assert (code, out) == (3, "")
            assert err.startswith(f"leaselab: {path}: does not match its checksum (found ")
            assert err.count("\n") == 1

    def test_no_results_at_all(self, capsys, root):
        code, out, err = call(capsys, "show")
        assert (code, out) == (2, "")
        none = "there is no finished result; `leaselab run` makes one"
        assert err == f"leaselab: {root}: {none}\n"


class TestList:
    def test_text(self, capsys, records):
        assert call(capsys, "list") == (0, LISTING, "")
        assert len(records) == 3

    def test_a_narrow_terminal_lacks_columns_and_no_ids(self, capsys, monkeypatch, records):
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        heading, *lines = call(capsys, "list")[1].splitlines()
        assert max(map(len, (heading, *lines))) <= 80
        assert "durability" not in heading
        assert lines.pop() == "not shown at this width: durability"
        ids = [record.id for record in records[::-1]]
        assert all(each in line for each, line in zip(ids, lines, strict=True))

    def test_json_has_the_fields_of_the_index(self, capsys, records):
        code, out, err = call(capsys, "list", "--json")
        assert (code, err) == (0, "")
        rows = json.loads(out)
        assert [row["id"] for row in rows] == [records[n].id for n in (2, 1, 0)]
        core = {
            "started_at": "2026-11-21T11:30:05.000Z",
            "scenario": "v6-memfile",
            "server": "kea",
            "commit": "1a2b3c4d5e6f7a8b",
            "outcome": "ok",
            "value": 6006.0,
            "unit": "exchanges/s",
        }
        assert core.items() <= rows[1].items()

    @pytest.mark.parametrize(
        ("options", "wanted"),
        [
            (["v6-*"], [1]),
            (["v6-*", "v4-mysql*"], [1]),
            (["v4-memfile", "--outcome", "ok"], [0]),
            (["--limit", "2"], [2, 1]),
            (["--limit", "0"], [2, 1, 0]),
            (["v4-mysql"], []),
        ],
    )
    def test_rows_can_be_chosen(self, capsys, records, options, wanted):
        code, out, _ = call(capsys, "list", "--json", *options)
        assert code == 0
        assert [row["id"] for row in json.loads(out)] == [records[n].id for n in wanted]

    @pytest.mark.usefixtures("records")
    def test_what_a_limit_hides_is_said(self, capsys):
        code, out, err = call(capsys, "list", "--limit", "1")
        assert (code, len(out.splitlines())) == (0, 2)
        assert err == "leaselab: the newest 1 are shown; --limit 0 shows all\n"

    @pytest.mark.usefixtures("root")
    def test_no_results_is_an_empty_list(self, capsys):
        assert call(capsys, "list") == (0, NONE_YET, "")
        assert call(capsys, "list", "--json") == (0, "[]\n", "")

    def test_unfinished_sweeps_are_mentioned_on_stderr(self, capsys, root):
        running = Store(root).create("20261121T113005Z-v4-memfile-3f9a")
        assert call(capsys, "list") == (0, NONE_YET, f"leaselab: {running.id} is running\n")
        running.close()
        resume = f"`leaselab resume {running.id}`"
        assert call(capsys, "list")[2] == f"leaselab: {running.id} is unfinished: {resume}\n"


class TestArchive:
    def test_verify_all(self, capsys, records):
        files = sum(3 + 1 + 3 * len(record.rounds) for record in records)
        whole = f"3 of 3 results match their checksums ({files} files)\n"
        assert call(capsys, "dev", "archive", "verify") == (0, whole, "")

    def test_verify_goes_on_past_a_damaged_one(self, capsys, root, records):
        raw = Store(root).place(records[2].id) / "raw" / "run-1-trial-02.txt.gz"
        raw.chmod(0o644)
        raw.write_bytes(b"")
        code, out, err = call(capsys, "dev", "archive", "verify")
        assert code == 3
        assert out.startswith("2 of 3 results match")
        assert err.startswith(f"leaselab: {raw}: does not match its checksum (found ")
        code, out, _ = call(capsys, "dev", "archive", "verify", "--json")
        assert code == 3
        assert [damage["id"] for damage in json.loads(out)["damaged"]] == [records[2].id]
        assert call(capsys, "dev", "archive", "verify", records[0].id)[0] == 0
        assert call(capsys, "dev", "archive", "verify", "last", "nosuch")[:2] == (2, "")


@pytest.mark.parametrize("command", ["list", "show", "resume", "rerun"])
def test_a_misspelt_folder_of_results_is_no_empty_archive(capsys, tmp_path, command):
    code, out, err = call(capsys, command, "--results", str(tmp_path / "nope"))
    assert (code, out) == (2, "")
    assert err.startswith(f"leaselab: {tmp_path / 'nope'}: no such folder of results; name")
