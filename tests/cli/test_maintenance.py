"""A bench in maintenance: who begins and ends it, and whom it keeps out."""

import json

import pytest
from tests.here import LISTING, Here
from tests.inventories import parsed

from leaselab.catalog.checkout import checkout_root
from leaselab.cli import hold
from leaselab.cli.main import main
from leaselab.lab.bench import benches, lease
from leaselab.lab.bench.lease import read_hold
from leaselab.run import preparation

REASON = "new network card"


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """A bench of this machine, whose checks find nothing."""
    monkeypatch.setenv("LEASELAB_ROOT", str(tmp_path))
    monkeypatch.setenv("LEASELAB_OWNER", "jenkins-lab-check-17")
    monkeypatch.setattr(benches, "read_inventory", lambda path: parsed(path, LISTING))
    here = Here(tmp_path / "host", monkeypatch, lease, hold, benches)
    here.played = []
    for module in (hold, preparation):
        monkeypatch.setattr(module, "install_lock", here.played.append)
    monkeypatch.setattr(hold, "inspect", lambda _: {"findings": []})
    monkeypatch.setattr(hold, "stop_leftovers", lambda _: None)
    return here


def close(owner="ana@laptop", reason=REASON, *words):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEASELAB_OWNER", owner)
        return main(["lab", "maintenance", "on", "rack1", "--reason", reason, *words])


@pytest.mark.usefixtures("bench")
def test_it_is_said_who_has_it_and_why_and_ended_by_hand(tmp_path, capsys):
    assert close() == 0
    out = capsys.readouterr().out
    assert out.startswith("bench rack1 is in maintenance by ana@laptop since 20")
    occupied = benches.occupancy(parsed(tmp_path / "rack1.yml", LISTING))
    assert "in maintenance by ana@laptop since 20" in str(occupied), "another one is taken"
    assert out.endswith(f" UTC: {REASON}\n")
    assert main(["lab", "maintenance", "off", "rack1"]) == 0
    reported = "not in maintenance; it was in that of ana@laptop since 20"
    assert reported in capsys.readouterr().out


@pytest.mark.usefixtures("bench")
@pytest.mark.parametrize(
    "command", [["lab", "take"], ["step", "provision"], ["run", "v4-memfile"]]
)
def test_nothing_begins_on_it_and_no_hourly_check_lifts_it(command, capsys, monkeypatch):
    """What puts a bench back into use takes it first, as every pipeline does."""
    root = checkout_root()
    for name in ("scenarios", "roles", "ansible", "ansible.cfg"):
        (root / name).symlink_to(hold.__file__.partition("scripts/")[0] + name)

    def never(*_):
        raise AssertionError("played on a bench in maintenance")

    monkeypatch.setattr(preparation, "play", never)
    close()
    capsys.readouterr()
    assert main(command) == 4
    said = capsys.readouterr().err
    assert "in maintenance (found ana@laptop since 20" in said
    assert REASON in said
    assert read_hold(root, "rack1") is None


@pytest.mark.usefixtures("bench")
def test_a_bench_that_is_held_goes_on_until_it_is_released(capsys):
    assert main(["lab", "take", "--purpose", "a build"]) == 0
    capsys.readouterr()
    assert close() == 0
    assert "; jenkins-lab-check-17 has it until a build is done" in capsys.readouterr().out
    assert main(["lab", "take"]) == 4  # releases first what it held
    assert main(["lab", "release"]) == 0


@pytest.mark.usefixtures("bench")
def test_another_users_is_left_as_it_is(capsys):
    """Its owner may give another reason."""
    close()
    assert close("ben@desk") == 4
    assert "found ana@laptop since 20" in capsys.readouterr().err
    assert close("ana@laptop", "a second\ncard", "--json") == 0
    assert json.loads(capsys.readouterr().out)["maintenance"]["reason"] == "a second card"


def test_it_outlasts_a_reboot(bench, capsys):
    """A reboot empties /run and restarts the boot clock."""
    close()
    for path in (bench.folder / "run").iterdir():
        path.unlink()
    assert main(["lab", "take"]) == 4
    assert "in maintenance" in capsys.readouterr().err


def test_a_bench_that_was_never_prepared_gets_the_program_first(bench, monkeypatch):
    program = bench.folder / "bench-lock"
    content = program.read_bytes()
    program.unlink()

    def install(inventory):
        bench.played.append(inventory.bench)
        program.write_bytes(content)
        program.chmod(0o755)

    monkeypatch.setattr(hold, "install_lock", install)
    assert close() == 0
    assert bench.played == ["rack1"]


@pytest.mark.parametrize(
    "words",
    [
        ["on", "rack1"],
        ["on", "rack1", "--reason", "  "],
        ["off", "rack1", "--reason", "done"],
        ["on", "rack9", "--reason", "x"],
    ],
)
@pytest.mark.usefixtures("bench")
def test_bad_input_is_reported(words):
    assert main(["lab", "maintenance", *words]) == 2
