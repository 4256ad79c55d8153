"""A configuration of Kea of the user's own: the lab's form of it, and what is refused."""

import json
import shutil
from pathlib import Path

import pytest
from tests.mutations import with_other_bytes, with_other_values
from tests.own import DATA, refusals_of
from tests.own_kea import WITHOUT, kinds, of, own

from leaselab.catalog.catalogue import find_procedure, find_scenario, match_scenarios
from leaselab.inputs.own import read_own, write_own
from leaselab.measure.generators import check_fits
from leaselab.model.errors import LeaselabError, Outcome


def test_only_where_it_runs_is_changed_and_each_change_is_listed():
    made = own("isp")
    before = read_form(DATA / "isp.conf")
    assert made.server["subnet4"][0]["pools"] == before["subnet4"][0]["pools"]
    assert made.server["client-classes"] == before["client-classes"]
    assert made.server["valid-lifetime"] == 3600
    changed = {change.split(": ")[0] for change in made.changes}
    assert changed == {
        "hooks-libraries[*].library",
        "lease-database.name",
        "control-socket",
        "interfaces-config.interfaces",
        "subnet4[*].interface",
        "loggers[*].output-options",
    }
    assert made.left_out == ["hook:radius"]


def read_form(path):
    """A configuration without its comments, as Python's own reader has it."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return json.loads("\n".join(line for line in lines if not line.startswith("//")))["Dhcp4"]


@pytest.mark.parametrize(
    ("top", "word"),
    [
        ('"hooks-libraries": [{"library": "/x/libdhcp_legal.so"}],', "hook:legal"),
        ('"hosts-database": {"type": "mysql"},', "hosts-database"),
        ('"config-control": {"config-databases": []},', "config-control"),
        ('"dhcp-ddns": {"enable-updates": true},', "dhcp-ddns"),
    ],
)
def test_what_the_lab_cannot_have_is_refused_with_its_line_or_left_out(tmp_path, top, word):
    with pytest.raises(LeaselabError, match=f"--without {word}") as refusal:
        of(tmp_path, top=top)
    assert "small.conf:1:" in str(refusal.value)
    made = read_own(tmp_path / "small.conf", [word])
    assert made.left_out == [word]
    assert 'updates": true' not in json.dumps(made.server)


def test_all_that_the_lab_cannot_have_is_said_at_once(tmp_path):
    hooks = [{"library": f"libdhcp_{stem}.so"} for stem in ("ha", "radius")]
    with pytest.raises(LeaselabError) as refusal:
        of(tmp_path, top=f'"hooks-libraries": {json.dumps(hooks)}, "hosts-database": {{}},')
    words = ["hook:ha", "hook:radius", "hosts-database"]
    assert str(refusal.value).endswith(": --without " + " --without ".join(words))
    assert str(refusal.value).count("small.conf:1:") == 3
    assert read_own(tmp_path / "small.conf", words).left_out == words


def test_hooks_that_contact_no_other_host_are_kept(tmp_path):
    made = of(tmp_path, top='"hooks-libraries": [{"library": "/a/libdhcp_lease_query.so"}],')
    assert made.server["hooks-libraries"] == [{"library": "libdhcp_lease_query.so"}]


def test_loggers_beside_the_server_are_its_own_and_other_programs_are_said(tmp_path):
    file = tmp_path / "kea.conf"
    file.write_text(
        '{"Dhcp4": {"subnet4": [{"id": 1, "subnet": "10.0.0.0/24", "pools": [{"pool": '
        '"10.0.0.8/29"}]}]}, "DhcpDdns": {}, "Logging": {"loggers": [{"name": "kea-dhcp4", '
        '"severity": "DEBUG", "output_options": [{"output": "/a.log"}]}]}}'
    )
    own = read_own(file)
    assert own.server["loggers"] == [{"name": "kea-dhcp4", "severity": "DEBUG"}]
    assert own.changes[:2] == [
        "DhcpDdns: none, as it is of another program",
        "Logging.loggers: those of the server, as in Kea since 1.8",
    ]
    assert own.releases == []


def test_a_class_that_is_worked_out_too_late_for_a_pool_is_said_to_be_one(tmp_path):
    late = '{"name": "late", "test": "option[60].exists", "only-in-additional-list": true}'
    with pytest.raises(LeaselabError, match="worked out only after the subnet and the pool"):
        of(tmp_path, '"client-class": "late",', f'"client-classes": [{late}],')


def test_a_subnet_that_lacks_something_is_said_to_lack_it(tmp_path):
    pools = '"pd-pools": [{"prefix": "2001:db8:8::", "delegated-len": 56}],'
    with pytest.raises(LeaselabError, match=r"Dhcp6.subnet6\[0\]: .*found no prefix-len"):
        of(tmp_path, pools, family=6)


def test_a_word_that_leaves_out_nothing_is_refused(tmp_path):
    of(tmp_path)
    with pytest.raises(LeaselabError, match="no such part"):
        read_own(tmp_path / "small.conf", ["hook:radius"])


def test_the_pools_of_a_pair_are_for_all_when_it_is_left_out():
    made = own("pair")
    assert "HA_" not in json.dumps(made.server)
    assert "subnet4[*].pools[*].client-class: none of the pair's" in made.changes
    assert [(kind["name"], kind["clients"]) for kind in kinds(made, "phones")] == [
        ("10.0.0.0/24, phones_a", 5),
        ("10.0.0.0/24, phones_b", 5),
    ]
    assert made.unserved == []


def test_lists_of_classes_of_a_pair_are_left_out_with_it_at_every_level(tmp_path):
    text = (DATA / "pair.conf").read_text("utf-8").replace('"client-class": "HA_a"', "{}")
    text = text.replace("{}", '"client-classes": ["HA_a"]').replace(
        '"id": 2,', '"id": 2, "client-classes": ["HA_b"],'
    )
    file = tmp_path / "pair.conf"
    file.write_text(text, encoding="utf-8")
    made = read_own(file, ["hook:ha"])
    assert "HA_" not in json.dumps(made.server)
    assert "subnet4[*].client-classes: none of the pair's" in made.changes
    assert made.kinds == own("pair").kinds


def test_a_scenario_is_made_of_a_file_and_another_of_a_changed_one(tmp_path):
    scenarios, catalogue = tmp_path / "scenarios", Path(__file__).parents[2] / "scenarios"
    shutil.copytree(catalogue / "loads", scenarios / "loads")
    shutil.copy(catalogue / "hardware.yml", scenarios)
    made = own("house")
    name = write_own(made, Path("My House.conf"), scenarios)
    scenario = find_scenario(scenarios, name)
    assert name.startswith("own-my-house-")
    assert scenario.server.options["changed"] == made.changes
    assert scenario.factors == {
        "protocol": "DHCPv4",
        "configuration": name.removeprefix("own-"),
    }
    kept = tmp_path / ".leaselab/own" / f"{scenario.server.options['configuration']}.json"
    assert json.loads(kept.read_text(encoding="utf-8")) == made.server
    procedure = find_procedure(scenarios, name, {})
    check_fits(scenario, procedure)
    # Each client is served once, and keeps its lease.
    assert (procedure.keeps, procedure.warm_up_s) == (True, 1)
    assert procedure.warm_up_rate == made.clients == 75
    assert not find_procedure(scenarios, name, {"name": "duel"}).keeps
    assert match_scenarios(scenarios, [name])[0] == scenario
    other = read_own(DATA / "isp6.conf")
    assert write_own(other, Path("My House.conf"), scenarios) != name
    with pytest.raises(LeaselabError, match="perfdhcp"):
        check_fits(
            find_scenario(scenarios, name, "perfdhcp"), find_procedure(scenarios, name, {})
        )


def test_json_is_of_kea_whatever_its_comments_say(tmp_path):
    """Words of other languages are in comments of Kea's own examples."""
    file = tmp_path / "small.conf"
    kea = (DATA / "house.conf").read_text("utf-8")
    file.write_text(f"/*\n subnet number {{\ndhcp-range=1\n*/\n{kea}", encoding="utf-8")
    assert read_own(file).kind == "kea"


@pytest.mark.parametrize("named", ["", "etc", "etc/kea", "etc/kea/kea-dhcp4.conf"])
def test_files_that_kea_includes_are_looked_for_below_the_folder(tmp_path, named):
    folder = tmp_path / "etc/kea"
    (folder / "conf.d").mkdir(parents=True)
    subnet = '"subnet": "10.0.0.0/24", "pools": [{"pool": "10.0.0.100 - 10.0.0.199"}]'
    (folder / "conf.d/net.json").write_text(f'[{{"id": 1, {subnet}}}]', encoding="utf-8")
    text = '{"Dhcp4": {"subnet4": <?include "/etc/kea/conf.d/net.json"?>}}'
    (folder / "kea-dhcp4.conf").write_text(text, encoding="utf-8")
    assert read_own(tmp_path / named).clients == 50
    (folder / "conf.d/net.json").rename(folder / "conf.d/gone")
    with pytest.raises(LeaselabError, match=r"conf:1:23: .*found /etc/kea/conf.d/net.json"):
        read_own(tmp_path / named)


def test_a_folder_of_several_configurations_says_what_to_name(tmp_path):
    for family in (4, 6):
        (tmp_path / f"kea-dhcp{family}.conf").touch()
    files = rf"--config {tmp_path}/kea-dhcp4.conf or {tmp_path}/kea-dhcp6.conf"
    with pytest.raises(LeaselabError, match=f"; name the file itself: {files}$"):
        read_own(tmp_path)


def test_a_file_of_no_language_is_said_to_be_one(tmp_path):
    file = tmp_path / "small.conf"
    file.write_text("server=192.0.2.1\n", encoding="utf-8")
    with pytest.raises(LeaselabError) as refusal:
        read_own(file)
    assert refusal.value.outcome is Outcome.USAGE
    assert "not a configuration of a server" in str(refusal.value)
    assert "dnsmasq.conf" in str(refusal.value)


@pytest.mark.parametrize("name", ["isp", "isp6", "campus", "pair"])
def test_whatever_a_file_says_it_is_read_or_refused(tmp_path, name):
    """Bytes and values that are others: no traceback, and the place of what is wrong."""
    text = (DATA / f"{name}.conf").read_bytes()
    file = tmp_path / "changed.conf"
    plain = "\n".join(
        line for line in text.decode().splitlines() if not line.startswith(("//", "#"))
    )
    document, refused = json.loads(plain), []
    for seed in range(40):
        changed = with_other_bytes(text, seed)
        if seed % 2:
            changed = json.dumps(with_other_values(document, seed)).encode()
        file.write_bytes(changed)
        try:
            assert read_own(file, WITHOUT.get(name, ())).clients > 0
        except LeaselabError as refusal:
            refused.append(refusal)
    assert {message.outcome for message in refused} == {Outcome.USAGE}
    assert all("changed.conf" in str(item) or "--without" in str(item) for item in refused)


@pytest.mark.parametrize(
    "number", ["1" + "0" * 16, "1" + "0" * 400, "-1", "1.5", "1e99", '"1"']
)
@pytest.mark.parametrize(
    "path",
    ["valid-lifetime", "multi-threading.thread-pool-size", "lease-database.lfc-interval"],
)
def test_a_number_that_no_server_takes_is_refused_with_its_place(tmp_path, path, number):
    top, _, key = path.rpartition(".")
    text = f'"{top}": {{"{key}": {number}}},' if top else f'"{key}": {number},'
    reported = refusals_of(of)(tmp_path, top=text)
    assert f"Dhcp4.{path}: " in reported or "small.conf:1:" in reported


@pytest.mark.parametrize("word", [r"\ud800", r"\uDFFF", r"a\ud83dx"])
def test_half_a_character_is_refused_where_it_is(tmp_path, word):
    reported = refusals_of(of)(
        tmp_path, top=f'"interfaces-config": {{"interfaces": ["{word}"]}},'
    )
    assert "small.conf:1:49: not JSON" in reported
    assert "half a character" in reported
    of(tmp_path, top='"user-context": {"a": "\\ud83d\\ude00"},')


def test_a_server_of_dhcpv4_without_leases_answers_nobody(tmp_path):
    (tmp_path / "four.conf").write_text(
        '{"Dhcp4": {"subnet4": [{"id": 1, "subnet": "192.0.2.0/24"}]}}'
    )
    with pytest.raises(LeaselabError, match="it has no pool"):
        read_own(tmp_path / "four.conf")
