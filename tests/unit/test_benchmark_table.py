"""What all benchmarks share: tables as Markdown, and what they refuse."""

import sys

import pytest
from benchmarks import archive, bisect, detectors, faults, search, sweeps, verdicts
from benchmarks._shown import Table, show


@pytest.mark.parametrize(
    ("benchmark", "words", "said"),
    [
        (archive, ["--results", "5"], "wanted at least 30"),
        (bisect, ["--histories", "3"], "wanted 4 or more"),
        (detectors, ["--series", "0"], "wanted 1 or more"),
        (faults, ["--only", "nothing"], "no case has 'nothing' in its name"),
        (search, ["--cells", "nosuch"], "keeps-6000-0-0.2"),
        (sweeps, ["--only", "nothing"], "no world has 'nothing' in its name"),
        (verdicts, ["--cells", "nothing"], "no such cells"),
    ],
)
def test_what_a_benchmark_cannot_do_is_refused(benchmark, words, said, capsys):
    assert benchmark.main(words) == 2
    out, err = capsys.readouterr()
    assert (out, said in err) == ("", True)


def test_tables_are_written_as_they_were_printed_with_their_command(
    tmp_path, monkeypatch, capsys
):
    path = tmp_path / "search.md"
    arguments = ["--runs", "2", "--markdown", str(path), "--cells", "a*"]
    monkeypatch.setattr(sys, "argv", ["/x/benchmarks/search.py", *arguments])
    table = Table(title="runs", caption="times in hours")
    table.add_column("lab")
    table.add_column("queue median", justify="right")
    table.add_row("a|b", "1.5")
    show([table], path, ["kept", "missed: 2"])
    printed = capsys.readouterr().out
    assert "1.5" in printed
    assert printed.endswith("kept\nmissed: 2\n")
    assert path.read_text(encoding="utf-8") == (
        "# Benchmark search\n\nMade by `leaselab dev bench search --runs 2 --cells 'a*'`.\n\n"
        "runs\n\ntimes in hours\n\n"
        "| lab | queue median |\n| --- | ---: |\n| a\\|b | 1.5 |\n\n"
        "- kept\n- missed: 2\n"
    )
