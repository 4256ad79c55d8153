"""Tables of benchmarks as Markdown."""

import sys

from benchmarks._shown import Table, show


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
