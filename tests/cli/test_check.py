"""The command ``check`` on whole output; the answers of hosts are recorded."""

import io
import json
from pathlib import Path

import pytest
from tests.role_modules import load

from leaselab.archive.bench_notes import CHECK, read_note
from leaselab.cli import check
from leaselab.cli.main import main
from leaselab.lab.checks.contact import Contact
from leaselab.lab.deploy.playbook import PlaybookStats
from leaselab.model.errors import lab_broken
from leaselab.report.benches import print_findings

ROOT = Path(__file__).parents[2]
filters = load("lab_check", "lab_check")
RECORDED = (ROOT / "tests/data/lab_check/reading.json").read_text(encoding="utf-8")
HOSTS = ("leaselab-server", "leaselab-partner", "leaselab-generator", "leaselab-builder")


pytestmark = pytest.mark.usefixtures("root")  # a check leaves a note in the results


def row_of(*parts):
    names = ("host", "check", "level", "found", "wanted", "todo")
    return {**dict(zip(names, parts, strict=True)), "text": ": ".join(parts[:4])}


OK = row_of("sut", "clock", "ok", "+0.001 s", "", "")
BAD = row_of(
    *("gen", "test interface", "error", "eth1 carries the default route"),
    "an interface for test traffic alone",
    "give the test network an interface of its own: a server under test must answer"
    " nobody else",
)
ROWS = [OK, BAD]
FAULTY = {"bench": "rack1", "ok": False, "errors": 1, "warnings": 0, "findings": ROWS}
FINE = {"bench": "rack1", "ok": True, "errors": 0, "warnings": 2, "findings": ROWS[:1]}
TABLE = """\
sut
 ok       clock           +0.001 s
gen
 error    test interface  eth1 carries the default route
                          wanted: an interface for test traffic alone
                          to do: give the test network an interface of its own:
                          a server under test must answer nobody else
bench rack1: NOT ready (1 error, 0 warnings)
"""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def call(capsys, *arguments):
    code = main(["lab", "check", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture(autouse=True)
def _checkout(monkeypatch):
    monkeypatch.setenv("LEASELAB_ROOT", str(ROOT))


@pytest.fixture
def playbook(monkeypatch):
    """Stand in for the playbook: set `result`, read what it was `called` with."""

    class Stand:
        result = FINE
        called = None

        def __call__(self, name, inventory, variables):
            self.called = (name, inventory, variables)
            return PlaybookStats(0, Path("log"), {"check": self.result})

    stand = Stand()
    monkeypatch.setattr(check, "run_playbook", stand)
    return stand


def test_a_pipe_gets_a_line_a_finding_and_the_verdict(capsys, playbook):
    ready = "sut: clock: ok: +0.001 s\nbench rack1: ready (0 errors, 2 warnings)\n"
    assert call(capsys) == (0, ready, "asking the hosts\n")
    given = {"lab_check_fail": False, "lab_check_scenario": ""}
    assert playbook.called == ("check", ROOT / "inventory" / "docker", given)
    playbook.result = FAULTY
    code, out, _ = call(capsys)
    assert code == 4
    assert out.splitlines()[-2:] == [BAD["text"], TABLE.splitlines()[-1]]


@pytest.mark.parametrize(("result", "first"), [(FINE, ""), (FAULTY, "gen: test interface")])
def test_a_whole_check_is_noted_for_the_table_of_benches_and_json_is_one_document(
    capsys, playbook, root, result, first
):
    playbook.result = result
    main(["lab", "check", "--scenario", "v4-memfile"])
    assert read_note(root, "docker", CHECK) is None, "not all of it was judged"
    capsys.readouterr()
    got, out, _ = call(capsys, "--json")
    assert (got, json.loads(out)) == (4 if first else 0, result)
    note = read_note(root, "docker", CHECK)
    assert (note["ok"], note["first"]) == (first == "", first)


def test_a_terminal_gets_a_table_that_fits_80_columns(monkeypatch):
    for name, value in (("COLUMNS", "80"), ("NO_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
    stream = Terminal()
    print_findings(FAULTY, stream)
    assert [line.rstrip() for line in stream.getvalue().splitlines()] == TABLE.splitlines()


def test_one_scenario_is_handed_on_and_an_unknown_one_refused_before_any_host(capsys, playbook):
    assert call(capsys, "--scenario", "v4-memfile")[0] == 0
    assert playbook.called[2]["lab_check_scenario"] == "v4-memfile"
    playbook.called = None
    code, out, err = call(capsys, "--scenario", "v4-memfil")
    assert (code, out, playbook.called) == (2, "", None)
    assert "unknown scenario 'v4-memfil'; did you mean 'v4-memfile'" in err


TWO = "dhcp_server: {hosts: {a: {}, b: {}}}\ndhcp_generator: {hosts: {gen: {}}}\n"


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ("dhcp_server: {hosts: {sut: {}}}\n", "no host in group dhcp_generator"),
        (TWO, "group dhcp_server needs exactly one host"),
    ],
)
def test_an_inventory_that_is_no_bench_is_refused_before_any_host(
    capsys, playbook, tmp_path, groups, said
):
    rack = tmp_path / "rack.yml"
    rack.write_text(groups, encoding="utf-8")
    code, out, err = call(capsys, "-i", str(rack))
    assert (code, out, playbook.called) == (2, "", None)
    assert said in err


@pytest.fixture
def judge(capsys, monkeypatch):
    """Judge a reading on stdin by an option; exit code, document and stderr."""

    def judge(option, reading):
        text = reading if isinstance(reading, str) else json.dumps(reading)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        code, out, err = call(capsys, option, "-", "--json")
        return code, json.loads(out) if out else None, err

    return judge


@pytest.fixture
def contacts(monkeypatch):
    reported = {name: Contact() for name in HOSTS}
    monkeypatch.setattr(check, "contact_all", lambda _: reported)
    return reported


def test_what_ansible_recorded_is_judged_and_a_host_that_does_not_answer_is_not_ready(
    judge, contacts
):
    code, result, err = judge("--judge", RECORDED)
    assert (code, err) == (0, "")
    assert (result["bench"], result["ok"], result["warnings"]) == ("docker", True, 6)
    error = lab_broken("cannot be reached", where=HOSTS[1], todo="look")
    contacts[HOSTS[1]] = Contact(error=error)
    code, result, _ = judge("--judge", RECORDED)
    assert code == 4
    (row,) = [row for row in result["findings"] if row["level"] == "error"]
    assert (row["host"], row["check"]) == (HOSTS[1], "ssh")
    assert "cannot be reached (root@127.0.0.1:22042)" in row["text"]


@pytest.mark.usefixtures("contacts")
@pytest.mark.parametrize(
    ("option", "text"),
    [
        *(("--judge", text) for text in ("", "{}", "[]", "7", '{"hosts": {}}')),
        *(("--networks", text) for text in ("", "{}", '{"bench": "a", "hosts": {"b": {}}}')),
    ],
)
def test_anything_else_is_a_usage_error(judge, option, text):
    code, result, err = judge(option, text)
    assert (code, result) == (2, None)
    assert "leaselab: -: not" in err


class TestNetworks:
    """What ansible/provision.yml and ansible/deploy.yml call."""

    @pytest.fixture
    def reading(self):
        hostvars = {
            name: {
                "leaselab_test_address": f"198.18.0.{last}",
                "leaselab_test_address6": f"2001:2:0:1::{last}",
                "leaselab_test_subnet": "198.18.0.0/24",
                "leaselab_test_subnet6": "2001:2:0:1::/64",
                "ansible_host": "127.0.0.1",
                "lab_check_networks": read,
            }
            for last, (name, read) in zip(
                (10, 20, 30), json.loads(RECORDED)["hosts"].items(), strict=False
            )
        }
        second = {"leaselab_test_address_2": "198.18.0.11"}
        hostvars[HOSTS[0]] |= {**second, "leaselab_test_address6_2": "2001:2:0:1::11"}
        hosts = filters.lab_check_networks([*hostvars], hostvars, False, HOSTS[2:3], 1000)
        return {"bench": "rack1", "hosts": hosts, "subnets": ["10.0.0.0/8"]}

    def error_of(self, judge, reading):
        """The only error of a reading, which is no bench to measure on."""
        code, result, _ = judge("--networks", reading)
        assert code == 4
        (row,) = [row for row in result["findings"] if row["level"] == "error"]
        return row["text"]

    def test_what_was_recorded_leads_to_nobody_else(self, judge, reading):
        code, result, err = judge("--networks", reading)
        assert (code, err, result["bench"], result["ok"]) == (0, "", "rack1", True)
        rows = result["findings"]
        assert {row["host"] for row in rows} == {*HOSTS[:3]}
        assert {row["check"] for row in rows} == {"test interface", "link", "relay address"}

    def test_half_of_the_internet_over_it_is_a_broken_lab(self, judge, reading):
        route = {"destination": "128.0.0.0/1", "interface": "eth1"}
        reading["hosts"][HOSTS[1]]["probe"]["routes"].append(route)
        what = "test interface: error: eth1 carries the route 128.0.0.0/1; wanted"
        assert self.error_of(judge, reading).startswith(f"{HOSTS[1]}: {what}")

    @pytest.mark.parametrize(
        ("route", "what"),
        [
            ("198.18.0.0/25", "overlaps route 198.18.0.0/25 over eth0; wanted no other way"),
            ("10.1.0.0/16", "10.0.0.0/8 of the scenario overlaps route 10.1.0.0/16 over eth0"),
            ("", "link: error: eth1 down"),
        ],
    )
    def test_what_a_check_calls_not_ready_is_not_measured_on(self, judge, reading, route, what):
        probe = reading["hosts"][HOSTS[2]]["probe"]
        if route:
            probe["routes"].append({"destination": route, "interface": "eth0"})
        else:
            probe["links"]["eth1"].update(state="down")
        error = self.error_of(judge, reading)
        assert error.startswith(f"{HOSTS[2]}: ")
        assert what in error

    def test_only_a_check_leaves_a_host_out_that_cannot_be_read_yet(self):
        probe = {"tools": {"ip": False}, "addresses": [], "routes": [], "links": {}}
        probe["management"] = ""
        hostvars = {"new": {"lab_check_networks": {"probe": probe}}, "unread": {}}
        assert filters.lab_check_networks([*hostvars], hostvars, True, [], 0) == {}
        assert [*filters.lab_check_networks([*hostvars], hostvars, False, [], 0)] == ["new"]
