"""Users' own files for dnsmasq behind the contract: the real one, as its role runs them."""

import json
import re
from functools import cache

import pytest
from tests.own import DATA, clients_of
from tests.rooted import LOADS, Rooted, cabled, offered

from leaselab.inputs.user_configuration import read_served

FILES = {"own4": "school", "own6": "dnsmasq6.conf", "stateless6": "dnsmasq-stateless.conf"}
"""Configurations by the variants that run them."""
PACKAGES = ["dnsmasq-base", "dbus-daemon", "dbus-bin"]
TEMPLATES = {"dnsmasq-own.conf.j2": "config_file", "bus.conf.j2": "bus_config_file"}


@cache
def own(variant):
    return read_served(DATA / FILES[variant])


@pytest.fixture(scope="module")
def hosts():
    with cabled("dnsmasq") as prefixes:
        yield prefixes


@pytest.fixture(params=FILES)
def root(request, hosts, tmp_path):
    """A root with dnsmasq and a variant as the role writes it; it is stopped in the end."""
    variant = request.param
    kept = tmp_path / "kept"
    kept.write_text(json.dumps(own(variant).server), encoding="utf-8")
    given = {
        "variant": variant,
        "family": int(variant[-1]),
        "configuration": variant,
        "configuration_kept": str(kept),
        "test_interface": "s0",
        "test_address": "198.18.0.10",
        "test_address6": "2001:2:0:1::10",
        **own(variant).options,
    }
    root = Rooted(hosts[0], "trixie", PACKAGES, "dnsmasq", **given)
    root.write(tmp_path, TEMPLATES, "files_folder")
    root.install()
    for path in (root.settings["lease_file"], root.settings["process"]["pid_file"]):
        root.put(path, "")
    for name, text in own(variant).server["files"].items():
        root.put(f"{root.paths['files_folder']}/{name}", text)
    yield root
    root.verb("stop")


def test_dnsmasq_takes_the_file_and_answers_every_client_made_for_it(root, hosts, tmp_path):
    config = f"/etc/leaselab-dnsmasq-{root.variant}_dhcp.conf"
    status, reported = root.inside("/usr/sbin/dnsmasq", "--test", f"--conf-file={config}")
    assert status == 0, reported
    status, reported = root.verb("start")
    assert status == 0, reported
    made = own(root.variant)
    clients = min(made.clients, 600)  # of all kinds, as they come evenly mixed
    load = ["--rate", "60", "--seconds", str(clients // 60), "--late", "5"]
    words = [*LOADS[int(root.variant[-1])], *clients_of(made, tmp_path), "--clients", clients]
    informs = ["--mix", "inform=1"]
    report = offered(hosts[1], *words, *informs, *load)
    assert report["counts"]["completed"] == clients
    if made.informs:
        return
    report = offered(hosts[1], *words, *load)
    log = root.inner(root.settings["process"]["log_files"][0]).read_text("utf-8")
    offers = re.findall(r"(?:DHCPOFFER|DHCPADVERTISE)\(s0\) \S+ (\S+)", log)
    assert len(set(offers)) == clients
    # It may offer one address to two clients that ask at the same time.
    late = re.findall("address in use|no addresses available", log)
    assert report["counts"]["completed"] == clients - len(late)
    assert len(late) < clients / 4
    status, reported = root.verb("reset")
    assert status == 0, reported
    assert json.loads(reported) == {"held": 0, "was": clients - len(late)}


def test_it_opens_its_log_again_once_that_was_moved_away(root):
    assert root.verb("start")[0] == 0
    status, said = root.verb("operate", "rotate-log\n")
    assert status == 0, said
    assert json.loads(said.splitlines()[-1])["why"] == ""
