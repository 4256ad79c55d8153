"""All benches at a glance: states, holders, last results and checks, bounded in time."""

import json
import threading
from functools import partial

import pytest
from tests.examples import archive_result, edited, example_result
from tests.here import Here, request
from tests.inventories import parsed
from tests.waiting import HANGS_S

from leaselab.archive.bench_notes import CHECK, STATUS, read_note, write_note
from leaselab.archive.ident import is_id
from leaselab.cli import bench_options, status
from leaselab.cli.main import main
from leaselab.lab.bench.lock import ask
from leaselab.lab.checks.status import BenchStatus, HostStatus, bench_statuses, state_of
from leaselab.report.benches import bench_table

NOW = "2026-11-23T12:00:00.000Z"
SWEEP = "20261123T113005Z-v4-memfile-3f9a"


def host(role, problem="", *, reachable=True):
    return HostStatus("h", (f"dhcp_{role}",), "root@192.0.2.1:22", reachable, problem)


def holder(purpose):
    return {"name": "ana@laptop", "purpose": purpose, "age_s": 1.0, "expires_in_s": 9.0}


WELL = (host("server"), host("generator"))
AWAY = host("generator", "at 1", reachable=False)
TWO_FAULTS = BenchStatus("r", (host("server", "no address"), AWAY))
SILENT = BenchStatus("r", (host("server", "x", reachable=False),))
FOUND = {"at": NOW, "ok": False, "errors": 2, "first": "server: test interface"}


@pytest.mark.parametrize(
    ("state", "message", "seen", "check"),
    [
        ("free", "", BenchStatus("r", WELL), None),
        ("measuring", f"ana@laptop for {SWEEP}", BenchStatus("r", WELL, holder(SWEEP)), FOUND),
        ("held", "ana@laptop for a card", BenchStatus("r", WELL, holder("a card")), None),
        ("broken", "by its last check: server: test interface", BenchStatus("r", WELL), FOUND),
        ("broken", "server: no address; generator: does not answer", TWO_FAULTS, None),
        ("unreachable", "no host answers", SILENT, FOUND),
    ],
)
def test_a_bench_has_one_state_and_what_there_is_to_say(state, message, seen, check):
    assert is_id(SWEEP)
    assert state_of(seen, check) == (state, message)


def test_the_table_has_a_line_for_each_bench():
    result = {"id": SWEEP, "scenario": "v4-memfile", "outcome": "ok", "metric": "max_rate"}
    result |= {"value": 7301.2, "unit": "exchanges/s"}
    result |= {"finished_at": "2026-11-20T12:00:00.000Z"}
    held = {"state": "held", "detail": "ana", "check": FOUND, "last_result": None}
    free = {"state": "free", "detail": "", "check": None, "last_result": result}
    rows = [{"bench": "rack1", **held}, {"bench": "rack22", **free}]
    assert bench_table(rows, NOW) == [
        "bench   state  last result                 last check         holder or fault",
        "rack1   held   -                           2 errors, 0 s ago  ana",
        "rack22  free   v4-memfile 7301/s, 3 d ago  never              -",
    ]


@pytest.fixture
def lab(tmp_path, monkeypatch, root):
    """Three benches of this machine, of which each has hosts of its own name."""
    monkeypatch.setenv("LEASELAB_ROOT", str(tmp_path))
    here = Here(tmp_path / "host", monkeypatch)
    here.benches, here.results = [], root
    for name in ("rack1", "rack2", "rack3"):
        sut, gen = f"{name}-sut", f"{name}-gen"
        listing = {"_meta": {"hostvars": {sut: {"leaselab_bench": name}, gen: {}}}}
        listing |= {"dhcp_server": {"hosts": [sut]}, "dhcp_generator": {"hosts": [gen]}}
        here.benches.append(parsed(tmp_path / f"{name}.yml", listing))
    monkeypatch.setattr(bench_options, "read_benches", lambda *_: here.benches)
    asking = partial(bench_statuses, connector=here, limit_s=HANGS_S)
    monkeypatch.setattr(status, "bench_statuses", asking)
    return here


def test_all_benches_are_reported_in_one_table(lab, capsys):
    lab.dead = {"rack2-sut", "rack3-sut", "rack3-gen"}
    write_note(lab.results, "rack1", CHECK, {"at": NOW, "ok": True, "errors": 0, "first": ""})
    record = edited(example_result(), lambda value: value["bench"].update(name="rack1"))
    archive_result(lab.results, record)
    assert main(["lab", "status", "-i", "racks"]) == 4
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.startswith("bench  state")
    assert [line.split()[:2] for line in lines] == [
        ["rack1", "free"],
        ["rack2", "broken"],
        ["rack3", "unreachable"],
    ]
    assert f"{record.scenario.name} " in lines[0]
    assert "  well, " in lines[0]
    assert lines[1].endswith("server: does not answer")


def test_as_json_each_has_its_hosts_too(lab, capsys):
    with lab(lab.benches[0].hosts[1].access) as generator:
        ask(generator, "acquire", request("ana@laptop"))
    assert main(["lab", "status", "--json"]) == 0
    each = json.loads(capsys.readouterr().out)
    assert [row["bench"] for row in each] == ["rack1", "rack2", "rack3"]
    assert {row["state"] for row in each} == {"held"}  # they share this machine's lock
    assert each[0]["detail"] == "ana@laptop for a test"
    assert each[0]["lock"]["name"] == "ana@laptop"
    assert [host["name"] for host in each[1]["hosts"]] == ["rack2-sut", "rack2-gen"]
    assert each[2]["last_result"] is None


def test_maintenance_is_reported_also_when_its_generator_is_switched_off(lab, capsys):
    """A machine is switched off before it is opened."""
    rack1 = ["lab", "status", "--bench", "rack1"]
    with lab(lab.benches[0].hosts[1].access) as generator:
        ask(generator, "close", {"name": "ana@laptop", "reason": "new card"})
    assert main(rack1) == 0
    assert "maintenance: ana@laptop since 20" in capsys.readouterr().out
    lab.dead = {"rack1-sut", "rack1-gen"}
    assert main(rack1) == 0
    assert "maintenance: as last seen, ana@laptop since 20" in capsys.readouterr().out
    lab.dead = set()
    with lab(lab.benches[0].hosts[1].access) as generator:
        ask(generator, "open", {})
    assert main(rack1) == 0
    assert "maintenance" not in capsys.readouterr().out


def test_a_host_that_hangs_is_not_waited_for(lab):
    def hangs(access):
        if access.name == "rack1-gen":
            assert over.wait(HANGS_S)
        return lab(access)

    over = threading.Event()
    (seen,) = bench_statuses(lab.benches[:1], hangs, limit_s=1)
    assert seen.hosts[1].problem == "no answer within 1 s"  # while it hangs
    assert seen.lock_problem == "rack1-gen, which keeps it, is not reachable"
    over.set()


def test_hosts_of_all_benches_are_asked_at_the_same_time(lab):
    all_are_asked = threading.Barrier(6, timeout=HANGS_S)

    def waits(access):
        all_are_asked.wait()
        return lab(access)

    assert all(seen.up for seen in bench_statuses(lab.benches, waits))


def test_what_was_seen_goes_to_a_page_without_addresses(lab, capsys):
    lab.dead = {"rack2-sut"}
    assert main(["lab", "status", "--page"]) == 4
    page = capsys.readouterr().out.splitlines()[-1]
    assert page == str(lab.results / "report" / "benches.html")
    text = (lab.results / "report" / "benches.html").read_text(encoding="utf-8")
    assert "server: does not answer" in text
    assert "rack2-sut" not in text
    assert "cannot be reached" not in text


def test_results_that_cannot_be_written_to_keep_nobody_from_the_status(lab, capsys):
    lab.results.write_text("a file", encoding="utf-8")
    assert main(["lab", "status"]) == 0
    assert "rack1" in capsys.readouterr().out
    assert read_note(lab.results, "rack1", STATUS) is None
