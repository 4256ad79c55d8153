"""Results of another archive: copied whole, verified, once."""

import fcntl
import os
import shutil
import stat
import subprocess

import pytest
from tests.examples import archive_result, example_result

from leaselab.archive.store import Store
from leaselab.cli.main import main
from leaselab.model.errors import Outcome

RECORDS = [example_result(token=f"000{n}") for n in range(3)]
IDS = [record.id for record in RECORDS]


@pytest.fixture
def there(tmp_path):
    store = Store(tmp_path / "there")
    for record in RECORDS:
        archive_result(store.root, record)
    return store


@pytest.fixture
def here(tmp_path):
    return Store(tmp_path / "here")


def sync(here, there, *words):
    return main(["sync", str(there.root), "--results", str(here.root), *words])


def ids(store):
    return sorted(row["id"] for row in store.index.rows())


def files(store, sweep):
    place = store.place(sweep)
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*.*")}


def test_what_is_missing_comes_whole_and_read_only(here, there, capsys):
    archive_result(here.root, RECORDS[1])
    before = here.place(IDS[1]).stat()
    assert sync(here, there) == 0
    assert "2 results copied, 1 were here already" in capsys.readouterr().out
    assert ids(here) == IDS
    assert here.place(IDS[1]).stat() == before
    for sweep in (IDS[0], IDS[2]):
        assert files(here, sweep) == files(there, sweep)
        assert here.verify(sweep).files > 0
        modes = {stat.S_IMODE(p.stat().st_mode) for p in here.place(sweep).rglob("*")}
        assert modes <= {0o444, 0o555}
    assert not (here.root / ".incoming").exists()
    assert sync(here, there) == 0
    assert "0 results copied, 3 were here already" in capsys.readouterr().out


def test_a_damaged_result_is_left_out_and_said_until_it_is_whole(here, there, capsys):
    file = there.place(IDS[0]) / "journal.jsonl"
    whole = file.read_bytes()
    file.chmod(0o644)
    file.write_bytes(whole.replace(b"1", b"2", 1))
    assert sync(here, there) == Outcome.INVALID.value
    said = capsys.readouterr()
    assert "1 are damaged and were left out" in said.out
    assert "journal.jsonl: does not match its checksum" in said.err
    assert ids(here) == IDS[1:]
    file.write_bytes(whole)
    assert sync(here, there) == 0
    assert ids(here) == IDS


def test_a_link_in_a_result_is_not_followed(here, there, tmp_path):
    file = there.place(IDS[0]) / "journal.jsonl"
    (tmp_path / "secret").write_bytes(file.read_bytes())
    file.parent.chmod(0o755)
    file.unlink()
    file.symlink_to(tmp_path / "secret")
    assert sync(here, there) == Outcome.INVALID.value
    assert ids(here) == IDS[1:]


def test_an_interrupted_copy_goes_on_with_what_it_has(
    here, there, monkeypatch, tmp_path, capsys
):
    """What rsync had copied is not sent again."""
    counted = tmp_path / "sent"
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "rsync"
    script = f'#!/bin/sh\n"{shutil.which("rsync")}" --stats "$@" | tee -a "{counted}"\n'
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    # The first copy is killed after all of it is there.
    program.write_text(f'{script}case "$*" in *list-only*) ;; *) exit 20 ;; esac\n', "utf-8")
    program.chmod(0o755)
    assert sync(here, there) == 4
    assert "(found exit 20); repeat it: it goes on" in capsys.readouterr().err
    assert ids(here) == []
    counted.unlink()
    program.write_text(script, "utf-8")
    assert sync(here, there) == 0
    assert ids(here) == IDS
    assert "Number of regular files transferred: 0" in counted.read_text("utf-8")


def test_a_second_copy_at_the_same_time_is_refused(here, there, capsys):
    incoming = here.root / ".incoming"
    incoming.mkdir(parents=True)
    folder = os.open(incoming, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    assert sync(here, there) == 4
    assert "another `leaselab sync` copies" in capsys.readouterr().err
    os.close(folder)
    assert sync(here, there) == 0


def test_a_result_under_another_id_is_left_out(here, there, capsys):
    other = there.place(IDS[0]).with_name("20261121T113000Z-v4-other-0009")
    shutil.copytree(there.place(IDS[0]), other)
    assert sync(here, there) == Outcome.INVALID.value
    assert f"another result's (found {IDS[0]})" in capsys.readouterr().err
    assert ids(here) == IDS


@pytest.mark.parametrize("source", ["nosuch", "-e/bin/false"])
def test_a_source_that_is_none_is_said(here, source, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["sync", "--results", str(here.root), "--", source]) == 4
    said = capsys.readouterr().err
    assert "rsync: " in said
    assert "No such file" in said


def test_a_result_of_another_machine_comes_by_its_shell(here, there, monkeypatch, tmp_path):
    """rsync starts what RSYNC_RSH names, as it does ssh."""
    shell = tmp_path / "shell"
    shell.write_text('#!/bin/sh\necho "$1" >>"$0.host"\nshift\nexec "$@"\n', "utf-8")
    shell.chmod(0o755)
    monkeypatch.setenv("RSYNC_RSH", str(shell))
    assert main(["sync", f"lab.example:{there.root}", "--results", str(here.root)]) == 0
    assert ids(here) == IDS
    assert set((tmp_path / "shell.host").read_text("utf-8").split()) == {"lab.example"}
    subprocess.run(
        ["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=here.place(IDS[0]), check=True
    )
