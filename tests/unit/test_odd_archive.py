"""Commands that read an archive in which one result is damaged, or valid and odd."""

import json

import pytest
from tests.mutants import archive_of, good, victims
from tests.mutations import tries

from leaselab.cli.main import main

SEEDS = range(tries(6))
"""Each another archive."""
READERS = (
    *("list", "show ID", "show ID --json", "list --table", "review", "watch"),
    *("compare GOOD ID", "compare ID GOOD", "compare previous ID"),
    *("export --csv - --level trials", "export --openmetrics - --history"),
    *("export --junit -", "export --markdown -"),
    "capacity --clients 1000 --lease-s 3600",
)
GO_ON = {"list", "export", "review", "capacity", "report"}
"""Commands that show what can be read, whatever else there is."""


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    root = tmp_path_factory.mktemp("template")
    ids = good(root)
    victims(root)
    return root, ids


@pytest.mark.parametrize("seed", SEEDS)
def test_no_odd_record_ends_a_command_or_hides_another(
    template, tmp_path, monkeypatch, capsys, seed
):
    pattern, ids = template
    root = tmp_path / "results"
    odd, output = archive_of(root, seed, pattern)
    monkeypatch.setenv("LEASELAB_RESULTS", str(root))
    readers = [reader.split() for reader in READERS]
    if seed % 6 == 0:  # this takes seconds
        readers += [["report", "-o", str(tmp_path / "report")]]
    for reader in readers:
        words = [{"ID": odd, "GOOD": ids[0]}.get(word, word) for word in reader]
        code = main(words)
        assert code != 70, (output, words)
        if reader[0] in GO_ON:
            assert code == 0, (output, words)
    capsys.readouterr()
    assert main(["list", "--json"]) == 0
    rows = {row["id"]: row["outcome"] for row in json.loads(capsys.readouterr().out)}
    assert {rows[ident] for ident in ids} == {"ok"}, output
    shown, verified = main(["show", odd]), main(["dev", "archive", "verify"])
    assert (shown, verified) in ((0, 0), (0, 3), (2, 3), (3, 3)), output
