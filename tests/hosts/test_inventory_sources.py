"""Inventories that are not hosts in YAML: a plugin's and a program's, read through Ansible."""

import json
import sys
from pathlib import Path

import pytest
import yaml
from tests.inventories import parsed
from tests.plays import ansible

from leaselab.lab.bench.benches import read_benches, split
from leaselab.lab.hosts.inventory import (
    BUILDER_GROUP,
    GENERATOR_GROUP,
    SERVER_GROUP,
)
from leaselab.model.errors import LeaselabError, Outcome

ROOT = Path(__file__).parents[2]
PARTS = ("server", "generator")


def address(rack, part):
    return f"192.0.2.{10 * int(rack[-1]) + PARTS.index(part)}"


@pytest.fixture
def plugin(tmp_path):
    """The configuration of a plugin that makes two racks up, and variables beside it."""
    config = {
        "plugin": "ansible.builtin.generator",
        "hosts": {
            "name": "{{ rack }}-{{ part }}",
            "parents": [
                {"name": "dhcp_{{ part }}"},
                {"name": "bench"},
                {"name": "{{ rack }}", "vars": {"leaselab_bench": "{{ rack }}"}},
            ],
        },
        "layers": {"rack": ["rack1", "rack2"], "part": list(PARTS)},
    }
    folder = tmp_path / "netbox"
    (folder / "host_vars").mkdir(parents=True)
    for rack in ("rack1", "rack2"):
        for part in PARTS:
            values = {"ansible_host": address(rack, part)}
            text = yaml.safe_dump(values)
            (folder / "host_vars" / f"{rack}-{part}.yml").write_text(text, encoding="utf-8")
    (folder / "group_vars").mkdir()
    shared = {
        "leaselab_known_hosts": "{{ inventory_dir }}/known_hosts.txt",
        "ansible_ssh_common_args": "-o UserKnownHostsFile={{ leaselab_known_hosts }}",
    }
    (folder / "group_vars" / "bench.yml").write_text(yaml.safe_dump(shared), encoding="utf-8")
    (folder / "lab.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return folder


def listed(path):
    return json.loads(ansible("ansible-inventory", "-i", path, "--list"))


def shown(bench, value, *words):
    """What Ansible has of a value on the server of a bench."""
    asked = ("-m", "debug", "-a", json.dumps({"var": value}))
    said = ansible("ansible", "-i", bench, "rack1-server", "-c", "local", *asked, *words)
    (document,) = yaml.safe_load(said.partition("=>")[2]).values()
    return document


def test_a_plugin_has_several_benches_and_each_is_one_to_the_playbooks(plugin, tmp_path):
    first, second = read_benches(plugin / "lab.yml", tmp_path / "kept")
    assert (first.bench, second.bench) == ("rack1", "rack2")
    for bench in (first, second):
        server, generator = bench.only(SERVER_GROUP), bench.only(GENERATOR_GROUP)
        assert server.access.address == address(bench.bench, "server")
        assert generator.access.known_hosts_file == str(plugin / "known_hosts.txt")
        playbooks = listed(bench.path)
        assert playbooks[SERVER_GROUP]["hosts"] == [f"{bench.bench}-server"]
        assert playbooks[GENERATOR_GROUP]["hosts"] == [f"{bench.bench}-generator"]
        variables = playbooks["_meta"]["hostvars"][f"{bench.bench}-server"]
        assert variables["leaselab_bench"] == bench.bench
        assert variables["leaselab_known_hosts"] == str(plugin / "known_hosts.txt")
        assert bench.path.stat().st_mode & 0o077 == 0


def test_a_folder_may_have_plugins_beside_hosts_in_yaml(plugin, tmp_path):
    rack3 = {
        "dhcp_server": {"hosts": {"sut": {"ansible_host": "192.0.2.91"}}},
        "dhcp_generator": {"hosts": {"gen": {"ansible_host": "192.0.2.92"}}},
    }
    (plugin / "rack3.yml").write_text(yaml.safe_dump(rack3), encoding="utf-8")
    result = read_benches(plugin, tmp_path / "kept")
    assert [bench.bench for bench in result] == ["rack1", "rack2", "rack3"]
    assert result[2].path == plugin / "rack3.yml"


FOREIGN = """
import json
from ansible.plugins.inventory import BaseInventoryPlugin

DOCUMENTATION = "{name: foreign, short_description: x, description: x, options: {}}"

class InventoryModule(BaseInventoryPlugin):
    NAME = "foreign"

    def parse(self, inventory, loader, path, cache=True):
        for name, (groups, variables) in json.loads(HOSTS).items():
            for group in groups:
                inventory.add_group(group)
            inventory.add_host(name, groups[0])
            inventory.add_host(name, groups[1])
            for key, value in variables.items():
                inventory.set_variable(name, key, value)
"""


def test_what_a_plugin_says_is_no_template(tmp_path, monkeypatch):
    """Not on its way through the file of a bench, and not inside a template beside it."""
    attack = f"{{{{ lookup('pipe', 'touch {tmp_path}/ran') }}}} it"
    hosts = {
        f"{rack}-{part}": (
            [f"dhcp_{part}", "bench"],
            {
                "ansible_host": address(rack, part),
                "leaselab_bench": rack,
                "site": attack,
                "sites": [{"of": attack}, "{{ inventory_dir }}"],
            },
        )
        for rack in ("rack1", "rack2")
        for part in PARTS
    }
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    text = f"HOSTS = {json.dumps(hosts)!r}\n{FOREIGN}"
    (plugins / "foreign.py").write_text(text, encoding="utf-8")
    source = tmp_path / "racks.yml"
    source.write_text("plugin: foreign\n", encoding="utf-8")
    (tmp_path / "group_vars").mkdir()
    beside = yaml.safe_dump({"place": "at {{ site }}, {{ inventory_dir }}"})
    (tmp_path / "group_vars" / "bench.yml").write_text(beside, encoding="utf-8")
    monkeypatch.setenv("ANSIBLE_INVENTORY_PLUGINS", str(plugins))
    first, _ = read_benches(source, tmp_path / "kept")
    assert first.only(SERVER_GROUP).access.address == address("rack1", "server")
    assert first.only(SERVER_GROUP).variables["site"] == attack
    assert shown(first.path, "dict(site=site, sites=sites, place=place)") == {
        "site": attack,
        "sites": [{"of": attack}, "{{ inventory_dir }}"],
        "place": f"at {attack}, {tmp_path}",
    }
    assert not (tmp_path / "ran").exists()


def program(folder, listing):
    path = folder / "racks.py"
    path.write_text(f"#!{sys.executable}\nprint({json.dumps(json.dumps(listing))})\n", "utf-8")
    path.chmod(0o755)
    return path


def racks(*names, **extra):
    """A listing as a program prints it."""
    variables = {
        f"{name}-{part}": {"ansible_host": address(name, part), "leaselab_bench": name}
        for name in names
        for part in PARTS
    }
    groups = {f"dhcp_{part}": {"hosts": [f"{name}-{part}" for name in names]} for part in PARTS}
    return {"_meta": {"hostvars": variables}, **groups, **extra}


def test_a_program_is_asked_and_a_bench_that_is_gone_is_forgotten(tmp_path):
    folder = tmp_path / "lab"
    folder.mkdir()
    (folder / "README.txt").write_text("no program", encoding="utf-8")
    (folder / "README.txt").chmod(0o755)  # as on file systems that have no such thing
    program(folder, racks("rack1", "rack2", "rack3"))
    three = read_benches(folder, tmp_path / "kept")
    assert len(three) == 3
    fewer = split(parsed(folder / "racks.py", racks("rack1", "rack2")), three[0].path.parent)
    assert sorted((tmp_path / "kept").glob("*/*")) == [bench.path for bench in fewer]


def test_a_file_that_another_command_removes_meanwhile_is_no_error(tmp_path, monkeypatch):
    listing = parsed(tmp_path / "racks.py", racks("rack1", "rack2"))
    gone = tmp_path / "kept" / "rack3.json"
    monkeypatch.setattr(Path, "glob", lambda *_: [gone])
    assert [bench.bench for bench in split(listing, gone.parent)] == ["rack1", "rack2"]


def test_a_path_beside_the_source_is_the_same_one_from_a_benchs_own_file(tmp_path):
    """Also within a list, and however the template is spaced."""
    listing = racks("rack1", "rack2")
    variables = listing["_meta"]["hostvars"]["rack1-server"]
    variables["keys"] = ["{{inventory_dir}}/key", {"of": "{{ inventory_dir }}/other"}]
    first, _ = read_benches(program(tmp_path, listing), tmp_path / "kept")
    keys = listed(first.path)["_meta"]["hostvars"]["rack1-server"]["keys"]
    assert keys == [f"{tmp_path}/key", {"of": f"{tmp_path}/other"}]


def test_a_builder_without_a_bench_is_that_of_all(tmp_path):
    path = program(tmp_path, racks("rack1", "rack2", builder={"hosts": ["bld"]}))
    first, second = read_benches(path, tmp_path / "kept")
    for bench in (first, second):
        assert bench.only(BUILDER_GROUP).access.name == "bld"
    assert listed(second.path)[BUILDER_GROUP]["hosts"] == ["bld"]


def refused(listing, tmp_path):
    with pytest.raises(LeaselabError) as caught:
        split(parsed(tmp_path / "racks.py", listing), tmp_path / "kept")
    assert caught.value.outcome is Outcome.USAGE
    return str(caught.value)


def test_a_host_without_a_bench_among_several_is_refused(tmp_path):
    listing = racks("rack1", "rack2")
    del listing["_meta"]["hostvars"]["rack2-generator"]["leaselab_bench"]
    wanted = "found none for rack2-generator, wanted one of rack1, rack2"
    assert wanted in refused(listing, tmp_path)


def test_a_bench_whose_name_is_a_path_is_refused(tmp_path):
    listing = racks("rack1", "../../rack2")
    assert "found '../../rack2', wanted at most 64 letters" in refused(listing, tmp_path)
    assert list(tmp_path.rglob("rack2*")) == []


def test_a_bench_that_lacks_a_part_is_refused(tmp_path):
    listing = racks("rack1", "rack2")
    listing["dhcp_generator"]["hosts"].remove("rack2-generator")
    assert "no host of bench rack2 in group dhcp_generator" in refused(listing, tmp_path)


def test_a_secret_stays_encrypted_until_a_playbook_uses_it(tmp_path):
    password = tmp_path / "password"
    password.write_text("of the vault", encoding="utf-8")
    words = ("encrypt_string", "--vault-password-file", password, "hunter2")
    encrypted = ansible("ansible-vault", *words)
    hosts = {
        f"dhcp_{part}": {
            "hosts": {
                f"{name}-{part}": {"ansible_host": address(name, part), "leaselab_bench": name}
                for name in ("rack1", "rack2")
            }
        }
        for part in PARTS
    }
    secret = " ".join(line + "\n" for line in encrypted.splitlines())
    source = tmp_path / "racks.yml"
    text = yaml.safe_dump({"bench": {"children": hosts}})
    source.write_text(f"{text}  vars:\n    pin: {secret}", encoding="utf-8")
    first, _ = read_benches(source, tmp_path / "kept")
    assert "hunter2" not in first.path.read_text(encoding="utf-8")
    assert shown(first.path, "pin", "--vault-password-file", password) == "hunter2"
