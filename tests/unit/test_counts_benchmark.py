"""The benchmark of counts: pairs of starts that are drawn from an archived result."""

import json

import pytest
from benchmarks import counts
from tests.counts import archived_count, counted

from leaselab.archive.store import Store

NAME = "20260101T000000Z-v4-memfile-0001"


@pytest.fixture
def drawn(tmp_path, capsys):
    def call(*starts, words=()):
        archived_count(Store(tmp_path), NAME, *starts)
        status = counts.main([NAME, "--results", str(tmp_path), *words])
        return status, *capsys.readouterr()

    return call


def test_equal_starts_are_called_equal_and_a_change_would_be_seen(drawn):
    status, out, _ = drawn(*[counted()] * 8, words=("--json", "--pairs", "5"))
    (row,) = json.loads(out)["results"]
    assert (status, row["different"], row["found"], row["pairs"]) == (0, 0, 5, 5)
    assert row["least"] == pytest.approx(0.001)


def test_starts_that_scatter_would_hide_the_change(drawn):
    scattered = [counted(reply=reply) for reply in range(0, 32, 4)]
    status, out, _ = drawn(*scattered)
    assert status == 1
    assert "v4-memfile  0" in out


def test_too_few_starts_are_refused(drawn):
    status, _, err = drawn(*[counted()] * 7)
    assert status == 2
    assert "(found 7, wanted 8 or more)" in err
