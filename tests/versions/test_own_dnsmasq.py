"""Users' own files for dnsmasq behind the contract: the real one, as its role runs them."""

import json
import re
from functools import cache

import pytest
from tests.deployments import ROLES, Root, cabled, render, template
from tests.load_programs import load_programs
from tests.tools import run, unpacked_root

from leaselab.lab.own import read_own

FILES = {"own4": "school", "own6": "dnsmasq6.conf"}
"""Configurations by the variants that run them."""
LOADS = {
    "own4": ["dhcp4", "--server", "198.18.0.10", "--relay", "198.18.0.30"],
    "own6": ["dhcp6", "--server", "2001:2:0:1::10", "--relay", "2001:2:0:1::30"],
}
CONFIG = "/etc/leaselab-dnsmasq-{}_dhcp.conf"


@cache
def own(variant):
    return read_own(ROLES.parent / f"tests/data/own/{FILES[variant]}")


@pytest.fixture(scope="module")
def hosts():
    with cabled("dnsmasq") as prefixes:
        yield prefixes


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What the role writes for each variant: its configuration and the contract's settings."""
    folder = tmp_path_factory.mktemp("dnsmasq")
    variants = []
    for variant in FILES:
        kept = folder / f"{variant}.kept"
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
        contents = {
            f"{variant}.json": "{{ dnsmasq_contract_settings | to_json }}",
            f"{variant}.conf": template("dnsmasq", "dnsmasq-own.conf.j2"),
            f"{variant}.bus": template("dnsmasq", "bus.conf.j2"),
            f"{variant}.place": "{{ dnsmasq_files_folder }}",
        }
        variants.append(({f"dnsmasq_{name}": value for name, value in given.items()}, contents))
    render("dnsmasq", folder, variants)
    return folder


@pytest.fixture(params=FILES)
def root(request, written, hosts):
    """A root with dnsmasq and a variant; the server is stopped in the end."""
    variant = request.param
    place = unpacked_root("trixie", "dnsmasq-base", "dbus-daemon", "dbus-bin")
    root = Root(place, "dnsmasq", variant, hosts[0])
    settings = root.settings((written / f"{variant}.json").read_text("utf-8"))
    root.write(settings["config_file"], (written / f"{variant}.conf").read_text("utf-8"))
    bus = (written / f"{variant}.bus").read_text("utf-8")
    root.write(settings["bus"]["process"]["argv"][-1].partition("=")[2], bus)
    for path in (settings["lease_file"], settings["process"]["pid_file"]):
        root.write(path, "")
    for name, text in own(variant).server["files"].items():
        root.write(f"{(written / f'{variant}.place').read_text('utf-8')}/{name}", text)
    yield variant, root, settings
    root.verb("stop", variant)


def test_dnsmasq_takes_the_file_and_answers_every_client_made_for_it(root, hosts, tmp_path):
    variant, served, settings = root
    config = CONFIG.format(variant)
    status, reported = served.inside("/usr/sbin/dnsmasq", "--test", f"--conf-file={config}")
    assert status == 0, reported
    status, reported = served.verb("start", variant)
    assert status == 0, reported
    population = tmp_path / "population.json"
    population.write_text(json.dumps({"kinds": own(variant).kinds}), encoding="utf-8")
    clients = min(own(variant).clients, 600)  # of all kinds, as they come evenly mixed
    load = [
        "--clients",
        clients,
        "--rate",
        "60",
        "--seconds",
        str(clients // 60),
        "--late",
        "5",
    ]
    words = ["--population", population, "--interface", "g0", *load]
    status, reported = run(*hosts[1], load_programs() / "leaseload", *LOADS[variant], *words)
    assert status == 0, reported
    report = json.loads(reported)
    log = (served.place / settings["process"]["log_files"][0].removeprefix("/")).read_text()
    offers = re.findall(r"(?:DHCPOFFER|DHCPADVERTISE)\(s0\) \S+ (\S+)", log)
    assert len(set(offers)) == clients
    # It may offer one address to two clients that ask at the same time.
    late = re.findall("address in use|no addresses available", log)
    assert report["counts"]["completed"] == clients - len(late)
    assert len(late) < clients / 4
    status, reported = served.verb("reset", variant)
    assert status == 0, reported
    assert json.loads(reported) == {"held": 0, "was": clients - len(late)}
