"""What `leaselab_power` may say, what answers mean, and how a boot is waited for."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.here import LISTING
from tests.inventories import parsed
from tests.refusals import refusals_of

from leaselab.lab.hosts import boot, power
from leaselab.lab.hosts.inventory import InventoryHost, read_inventory
from leaselab.lab.hosts.power import CommandPower, IpmiPower, RedfishPower, parse_power, steps
from leaselab.lab.hosts.transport import Completed, NoAnswerError
from leaselab.model.bench import HostAccess
from leaselab.model.errors import LeaselabError, Outcome, lab_broken

ROOT = Path(__file__).parents[2]
REDFISH = {"address": "https://bmc.example.org", "user": "lab", "password_file": "/etc/pw"}
UNCHECKED = {**REDFISH, "check_certificate": False}
IPMI = {"address": "192.0.2.9", "user": "lab", "password_file": "~/pw"}
COMMAND = CommandPower(("pdu", "{action}", "outlet-{host}"))


def refusal(value):
    said = refusals_of(parse_power)(value, "host sut")
    assert said.startswith("host sut")
    return said


class TestVariable:
    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (None, "found None, wanted exactly one of command, redfish and ipmi"),
            ({}, "found nothing"),
            ({"redfish": REDFISH, "ipmi": IPMI}, "found redfish and ipmi"),
            ({"idrac": REDFISH}, "found idrac"),
            ({"command": "pdu {action}"}, "not a list of words (found 'pdu {action}'"),
            ({"command": ["pdu", 7, "{action}"]}, "write numbers, on and off in quotes"),
            ({"command": ["pdu", "cycle"]}, "the command lacks {action}"),
            ({"redfish": {**REDFISH, "adress": "x"}}, "did you mean 'address'?"),
            ({"redfish": {"address": "https://x", "user": "a"}}, "wanted password_file"),
            ({"redfish": {**REDFISH, "address": "http://x"}}, "wanted https://HOST"),
            ({"redfish": {**REDFISH, "address": "https://x/redfish/v1"}}, "base address"),
            ({"redfish": {**REDFISH, "address": "https://x:port"}}, "base address"),
            ({"redfish": {**REDFISH, "check_certificate": "no"}}, "wanted bool"),
            ({"redfish": {**UNCHECKED, "ca_file": "/ca"}}, "ca_file is of no use"),
            ({"redfish": {**REDFISH, "user": ""}}, "user is empty"),
            ({"ipmi": {**IPMI, "password_file": "secrets/bmc"}}, "wanted a path from / or ~"),
            ({"ipmi": {**IPMI, "password": "x"}}, "did you mean 'password_file'?"),
            ({"ipmi": {**IPMI, "address": "https://x"}}, "not that of a BMC"),
            ({"ipmi": {**IPMI, "port": 0}}, "wanted a number from 1 to 65535"),
        ],
    )
    def test_anything_else_is_reported(self, value, message):
        assert message in refusal(value)

    def test_a_password_in_an_address_is_not_repeated(self):
        message = refusal({"redfish": {**REDFISH, "address": "https://lab:geheim@bmc"}})
        assert "geheim" not in message

    @given(verb=st.sampled_from(power.VERBS), host=st.text(min_size=1))
    def test_a_hosts_name_fills_words_and_makes_none(self, verb, host):
        """Nor is it filled in itself."""
        assert COMMAND.argv(verb, host) == ["pdu", verb, f"outlet-{host}"]

    @pytest.mark.parametrize("value", [0, -1, "600", True])
    def test_a_boot_that_takes_no_time_is_refused(self, tmp_path, value):
        variables = {"hostvars": {"sut": {"leaselab_power_boot_s": value}}}
        listing = {**LISTING, "_meta": variables}
        with pytest.raises(LeaselabError, match="leaselab_power_boot_s is not a time"):
            parsed(tmp_path / "hosts.yml", listing)

    def test_the_examples_are_what_they_say(self):
        readme = (ROOT / "docs/reference/power.md").read_text("utf-8")
        blocks = re.findall(r"```yaml\n(leaselab_power.*?)```", readme, re.DOTALL)
        shown = [yaml.safe_load(block) for block in blocks]
        kinds = [*power.KINDS[1:], power.KINDS[0]]
        assert [[*item["leaselab_power"]] for item in shown] == [[kind] for kind in kinds]
        rack = (ROOT / "inventory/racks/rack1.yml").read_text("utf-8")
        rack = re.sub(r"(?m)^( +)# (?=leaselab_power| +(redfish|ipmi):)", r"\1", rack)
        parts = yaml.safe_load(rack)["bench"]["children"].values()
        hosts = [host for part in parts for host in part["hosts"].values()]
        shown += [host for host in hosts if "leaselab_power" in host]
        assert len(shown) == 5
        for row in shown:
            text = yaml.safe_dump(row["leaselab_power"]).replace("{{ inventory_dir }}", "/i")
            parse_power(yaml.safe_load(text), "")

    def test_hosts_that_boot_are_switched_by_their_own_program(self):
        for host in read_inventory(ROOT / "inventory/vm").hosts:
            program, *words = host.power.argv("cycle", host.access.name)
            assert words == ["vm", "power", "cycle", host.access.name]
            assert os.access(program, os.X_OK)


class TestPassword:
    @pytest.fixture
    def file(self, tmp_path):
        path = tmp_path / "pw"
        path.write_text("geheim-9\n", "utf-8")
        path.chmod(0o600)
        return path

    def refusal(self, file):
        said = refusals_of(power.read_password)(str(file), "host sut")
        assert "geheim" not in said
        return said

    @pytest.mark.parametrize("mode", [0o604, 0o640, 0o620, 0o602])
    def test_a_file_that_others_can_read_or_change_is_refused(self, file, mode):
        file.chmod(mode)
        assert f"found mode {mode:04o}" in self.refusal(file)

    @pytest.mark.parametrize("text", ["", "\n", "geheim\nzweite\n"])
    def test_anything_but_one_line_is_refused(self, file, text):
        file.write_text(text, "utf-8")
        assert "not a password in one line" in self.refusal(file)

    def test_a_file_that_is_not_there_is_named(self, tmp_path):
        assert f"{tmp_path}/none: the password file cannot" in self.refusal(tmp_path / "none")
        os.mkfifo(tmp_path / "pipe")
        assert "(found not a plain file, wanted" in self.refusal(tmp_path / "pipe")
        assert "cannot be read" in self.refusal(tmp_path)

    def test_what_is_wrong_on_this_machine_is_reported_before_it_is_used(self, file):
        file.write_text(21 * "g", "utf-8")
        redfish = {**REDFISH, "password_file": str(file)}
        for value, said in (
            ({"ipmi": {**IPMI, "password_file": str(file)}}, "found 21 bytes, wanted up to 20"),
            ({"redfish": {**redfish, "ca_file": "/none.pem"}}, "no such ca_file (found /none."),
            ({"command": ["/no/sh", "{action}"]}, "no such program on this machine (found /no"),
        ):
            assert said in power.problem(value, "sut")
        for value in ({"redfish": redfish}, {"command": ["sh", "{action}"]}):
            assert power.problem(value, "sut") == ""


BMC = IpmiPower("192.0.2.9", "lab", "/pw")


@pytest.mark.parametrize(
    ("way", "verb", "before", "wanted"),
    [
        (BMC, "status", "on", []),
        (BMC, "on", "on", []),
        (BMC, "on", "off", [("on", "on")]),
        (BMC, "off", "off", []),
        (BMC, "off", "on", [("off", "off")]),
        (BMC, "cycle", "on", [("off", "off"), ("on", "on")]),
        (BMC, "cycle", "off", [("on", "on")]),
        (COMMAND, "cycle", "on", [("cycle", "on")]),
        (COMMAND, "cycle", "off", [("on", "on")]),
    ],
)
def test_each_step_has_the_state_that_proves_it(way, verb, before, wanted):
    assert steps(way, verb, before) == wanted


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ('{"power": "on"}', "on"),
        ("Chassis Power is off\n", "off"),
        ("Outlet 7 ON", "on"),
        ("Connection to pdu: monitoring", ""),
        ("", ""),
    ],
)
def test_a_command_says_the_state_as_a_word(said, state):
    assert power.state_of(COMMAND, {"rc": 0, "stdout": said}) == state
    assert power.state_of(COMMAND, {"rc": 1, "stdout": said, "failed": True}) == ""


def test_redfish_has_one_system_or_the_one_that_is_named():
    def systems(*states):
        known = [{"Id": str(n), "PowerState": state} for n, state in enumerate(states)]
        entries = [[{"system_uri": f"/{system['Id']}"}, system] for system in known]
        return {"redfish_facts": {"system": {"ret": True, "entries": entries}}}

    alone, two = RedfishPower(*REDFISH.values()), systems("On", "Off")
    assert power.state_of(alone, systems("On")) == "on"
    assert power.state_of(alone, two) == ""
    assert power.state_of(replace(alone, system="1"), two) == "off"
    assert power.state_of(alone, systems("PoweringOn")) == "", "not yet"
    assert "0 On, 1 Off, of which" in power.state_by(alone, two)


class Answers:
    """A host that answers as configured: an error to raise, or the boot that it names."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = 0

    def __call__(self, _access):
        self.asked += 1
        self.now = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(self.now, LeaselabError):
            raise self.now
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def run(self, _argv, *, timeout_s):
        assert timeout_s > 0
        return Completed(0 if self.now else 1, self.now.encode(), "")


AWAY = NoAnswerError(Outcome.LAB, "cannot be reached", where="sut")
REFUSED = lab_broken("login refused", where="sut")
ACCESS = HostAccess("sut", "192.0.2.1", "root", "/key", "/known")
HOST = InventoryHost(ACCESS, ("dhcp_server",))


class TestBoot:
    @pytest.fixture(autouse=True)
    def at_once(self, monkeypatch):
        monkeypatch.setattr(boot.time, "sleep", lambda _: None)

    def test_who_is_silent_twice_is_dead_and_who_refuses_is_not(self):
        for answers, dead in (
            ([AWAY], [HOST]),
            ([AWAY, "a"], []),
            (["a"], []),
            ([REFUSED], []),
        ):
            pauses = []
            assert boot.silent([HOST], Answers(*answers), pauses.append) == dead
            assert pauses[0] == 0.0

    def test_another_boot_than_before_is_waited_for(self):
        host = Answers("old", AWAY, REFUSED, "new")
        assert boot.wait_for_boot(ACCESS, 60, "old", connector=host) < 60
        assert host.asked == 4

    @pytest.mark.parametrize(
        ("answer", "message"),
        [(AWAY, "found cannot be reached"), ("old", "and was not booted since")],
    )
    def test_the_wait_ends_and_says_what_was_seen_last(self, answer, message):
        with pytest.raises(LeaselabError, match=message) as caught:
            boot.wait_for_boot(ACCESS, 0.01, "old", connector=Answers(answer))
        assert caught.value.outcome is Outcome.LAB
        assert "within 0.01 s" in str(caught.value)

    def test_a_host_that_is_away_reports_no_boot(self):
        assert boot.boot_of(ACCESS, Answers(AWAY)) == ""
        assert boot.boot_of(ACCESS, Answers("one")) == "one"
