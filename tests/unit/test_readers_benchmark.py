"""`leaselab dev bench readers`: it reads what it makes, and a budget that is not kept fails."""

from benchmarks import readers


def test_every_file_of_it_is_read_and_a_budget_can_be_missed(tmp_path, capsys, monkeypatch):
    for name, row in readers.ROWS.items():
        (folder := tmp_path / name).mkdir()
        (folder / row.file).write_bytes(b"".join(row.make(20)))
        row.read(folder / row.file)
    words = ["--only", "queries", "--share", "0.001"]
    assert readers.main(words) == readers.OK
    assert "all kept" in capsys.readouterr().out
    row = readers.ROWS["queries"]._replace(megabytes=1)
    monkeypatch.setitem(readers.ROWS, "queries", row)
    assert readers.main(words) == readers.OVER
    assert "over: queries" in capsys.readouterr().out
