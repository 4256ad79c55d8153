"""Inventories of tests that ask no Ansible, or once: it reads hosts as plain variables say."""

import shlex
from pathlib import Path

import yaml

from leaselab.lab.hosts.inventory import parse_inventory, read_inventory
from leaselab.lab.hosts.logins import Logins

ROOT = Path(__file__).parents[1]

_ARGUMENTS = ("ssh_args", "ssh_common_args", "ssh_extra_args")


def local_lab():
    """The local lab, of which Ansible is asked once a process (conftest.py)."""
    return read_inventory(ROOT / "inventory/docker")


def login(name, /, **variables):
    """The answer of the action plugin `leaselab_login` for a host with these variables."""
    known = {
        "host": name,
        "port": None,
        **dict.fromkeys(("password", "private_key", "pkcs11_provider", *_ARGUMENTS)),
    }
    options = {
        option: [variables.get(f"ansible_{option}", value), f"var: ansible_{option}"]
        for option, value in known.items()
    }
    named = {
        "Port": options["port"][0],
        "User": variables.get("ansible_user"),
        "IdentityFile": variables.get("ansible_ssh_private_key_file"),
        "UserKnownHostsFile": variables.get("leaselab_known_hosts"),
    }
    words = [f"-o{key}={value}" for key, value in named.items() if value]
    words += [word for key in _ARGUMENTS for word in shlex.split(options[key][0] or "")]
    become = ("method", "become_user", "become_exe", "become_flags", "become_pass")
    return {
        "connection": "ssh",
        "argv": ["ssh", *words, str(options["host"][0])],
        "options": options,
        "become": variables.get("ansible_become") and {key: [None, ""] for key in become},
        "variables": {k: v for k, v in variables.items() if k.startswith("leaselab_")},
        "unresolved": {},
    }


def parsed_file(path):
    """Read a file of a group `bench` without Ansible: groups of hosts, and variables of all."""
    bench = yaml.safe_load(path.read_text(encoding="utf-8"))["bench"]
    hosts = [group["hosts"] for group in bench["children"].values()]
    variables = {name: {**own, **bench["vars"]} for each in hosts for name, own in each.items()}
    groups = {name: {"hosts": [*group["hosts"]]} for name, group in bench["children"].items()}
    return parsed(path, {"_meta": {"hostvars": variables}, **groups})


def parsed(path, listing):
    """Freeze what `ansible-inventory --list` would print."""
    variables = listing.get("_meta", {}).get("hostvars", {})
    groups = [group for group in listing.values() if isinstance(group, dict)]
    names = {name for group in groups for name in group.get("hosts", ())}
    answers = {name: login(name, **variables.get(name, {})) for name in names}
    return parse_inventory(path, listing, Logins(answers))
