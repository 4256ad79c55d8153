"""Tables of benchmarks as Markdown."""

import sys

from benchmarks._shown import show
from rich.table import Table


def test_a_table_is_written_as_it_was_printed_with_its_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["/x/benchmarks/week.py", "--weeks", "2"])
    table = Table(title="weeks", caption="times in hours")
    table.add_column("lab")
    table.add_column("queue\nmedian", justify="right")
    table.add_row("a|b", "1.5")
    show(table, 80, tmp_path / "week.md")
    assert "1.5" in capsys.readouterr().out
    assert (tmp_path / "week.md").read_text(encoding="utf-8") == (
        "`leaselab dev bench week --weeks 2`\n\nweeks\n\ntimes in hours\n\n"
        "| lab | queue median |\n| --- | ---: |\n| a\\|b | 1.5 |\n"
    )
