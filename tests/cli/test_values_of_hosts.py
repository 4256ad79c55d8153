"""What hosts say of themselves, of any length and shape, on its way into a result."""

import io
from contextlib import redirect_stderr

import pytest
from tests.bench_document import DOCUMENT

from leaselab.archive.schema import decode
from leaselab.cli.main import main
from leaselab.model.bounds import LONGEST

LONG = "9" * (2 * LONGEST)
DEEP = [[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]


def archived(lab):
    (row,) = lab.store.index.rows()
    path = lab.results / row["path"] / "result.json"
    return decode(path.read_bytes(), str(path))


def cut(text):
    return len(text) == LONGEST and text.endswith("9 …")


def test_a_text_of_any_length_is_cut_and_marked(lab, monkeypatch):
    lab.version = LONG
    facts = {"kernel": LONG, "cpu_model": LONG, "mitigations": {"spectre": LONG}}
    monkeypatch.setitem(DOCUMENT["hosts"]["server"], "facts", facts)
    monkeypatch.setitem(DOCUMENT["generator"], "version", LONG)
    monkeypatch.setitem(DOCUMENT["servers"]["server"], "tuning", {"threads": [LONG]})
    assert main(["run", "v4-memfile", "--set", "rounds=3"]) == 0
    made = archived(lab)
    host = made.bench.hosts["server"]
    texts = (made.server.version, made.generator.version, made.server.tuning["threads"][0])
    assert all(map(cut, (*texts, host.kernel, host.cpu_model, host.mitigations["spectre"])))


@pytest.mark.parametrize(
    ("where", "key", "value"),
    [
        ("hosts", "cpus_allowed", "all of them"),
        ("hosts", "memory_bytes", -1),
        ("hosts", "sysctls", {LONG: "1"}),
        ("servers: server", "libraries_sha256", {"/lib/a.so": "none"}),
        ("servers: server", "tuning", {"a": DEEP}),
        ("generator", "environment", {str(n): "" for n in range(LONGEST + 1)}),
    ],
)
def test_what_cannot_be_cut_is_refused_before_it_is_measured(
    lab, where, key, value, monkeypatch
):
    holder = {
        "hosts": DOCUMENT["hosts"]["server"]["facts"],
        "servers: server": DOCUMENT["servers"]["server"],
        "generator": DOCUMENT["generator"],
    }[where]
    monkeypatch.setitem(holder, key, value)
    with redirect_stderr(io.StringIO()) as said:
        assert main(["run", "v4-memfile", "--set", "rounds=3"]) == 4
    printed = said.getvalue()
    assert f"{where}: what a host says of itself does not fit a result (found " in printed
    assert "wanted results/schema.json); see what prints it" in printed
    assert lab.rounds == []
    assert lab.store.running() == []
