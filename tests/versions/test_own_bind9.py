"""A user's own named.conf with its zones behind the contract: the real named."""

import json
import shutil
import tarfile

import pytest
from tests.deployments import ROLES, Root, cabled, render, template
from tests.load_programs import load_programs
from tests.tools import run, unpacked_root

from leaselab.lab.catalog import find_scenario
from leaselab.lab.own import read_own, write_own

KEY = 'key "leaselab" { algorithm hmac-sha256; secret "bGVhc2VsYWI="; };\n'
ZONES = "/var/lib/leaselab-dns/own"


@pytest.fixture(scope="module")
def hosts():
    with cabled("bind9") as prefixes:
        yield prefixes


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    """The scenario of a file with its zones, and the folder in which it is kept."""
    folder = tmp_path_factory.mktemp("kept")
    shutil.copytree(ROLES.parent / "scenarios", folder / "scenarios")
    names = ROLES.parent / "tests/data/own/names"
    name = write_own(read_own(names), names, folder / "scenarios")
    return find_scenario(folder / "scenarios", name), folder / ".leaselab/own"


@pytest.fixture(scope="module")
def root(scenario, hosts, tmp_path_factory):
    """A root with named, its own configuration as the role writes it, and the zones."""
    asked, kept = scenario
    folder = tmp_path_factory.mktemp("bind9")
    given = {
        "variant": "own",
        "configuration_kept": str(kept / f"{asked.server.options['configuration']}.json"),
        **asked.server.options,
        **{key: asked.load[key] for key in ("data", "size", "last_zone", "zone_files")},
        "test_interface": "s0",
        "test_address": "198.18.0.10",
        "found": "9.20.0",
    }
    contents = {
        "settings": "{{ bind9_contract_settings | to_json }}",
        "named.conf": template("bind9", "named-own.conf.j2"),
        "key": "{{ bind9_key_file }}",
    }
    variables = {f"bind9_{name}": value for name, value in given.items()}
    zones = {"folder": ZONES, "zones": 2, "sha256": "abc"}
    render("bind9", folder, [({**variables, "dns_data_zones": zones}, contents)])
    root = Root(unpacked_root("trixie", "bind9", "bind9-utils"), "bind9", "own", hosts[0])
    settings = root.settings((folder / "settings").read_text("utf-8"))
    root.write(settings["config_files"][0], (folder / "named.conf").read_text("utf-8"))
    root.write(settings["config_files"][1], "")
    root.write((folder / "key").read_text("utf-8"), KEY)
    root.write(settings["process"]["pid_file"], "")
    with tarfile.open(kept / f"{asked.load['zone_files']}.tar") as archive:
        for entry in archive:
            root.write(f"{ZONES}/{entry.name}", archive.extractfile(entry).read().decode())
    return root, settings


def test_named_takes_the_file_and_answers_every_name_of_its_zones(root, scenario, hosts):
    served, settings = root
    asked, kept = scenario
    check = ("/usr/bin/named-checkconf", "-z", settings["config_files"][0])
    status, reported = served.inside(*check)
    assert status == 0, reported
    assert reported.count("loaded serial 1") == 2
    status, reported = served.verb("start", "own")
    try:
        assert status == 0, reported
        queries = kept / f"{asked.load['query_file']}.lines"
        words = ["--server", "198.18.0.10", "--queries", queries, "--interface", "g0"]
        load = ["--rate", "70", "--seconds", "1"]
        status, reported = run(*hosts[1], load_programs() / "leaseload", "dns", *words, *load)
        assert status == 0, reported
        assert json.loads(reported)["counts"]["completed"] == 70
        log = (served.place / settings["log_file"].removeprefix("/")).read_text("utf-8")
        assert ": error:" not in log
    finally:
        ended = served.verb("stop", "own")
    assert json.loads(ended[1]) == {"was_running": True}
