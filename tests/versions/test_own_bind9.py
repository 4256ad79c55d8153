"""A user's own named.conf with its zones behind the contract: the real named."""

import json
import tarfile

import pytest
from tests.own import DATA, catalogue_in
from tests.rooted import Rooted, cabled, offered

from leaselab.inputs.user_configuration import add_scenario, read_served

KEY = 'key "leaselab" { algorithm hmac-sha256; secret "bGVhc2VsYWI="; };\n'
ZONES = "/var/lib/leaselab-dns/own"


@pytest.fixture(scope="module")
def hosts():
    with cabled("bind9") as prefixes:
        yield prefixes


@pytest.fixture(scope="module", params=["names", "split"])
def scenario(request, tmp_path_factory):
    """The scenario of a file with its zones, and the folder in which it is kept."""
    folder = tmp_path_factory.mktemp("kept")
    catalogue, names = catalogue_in(folder), DATA / request.param
    return add_scenario(read_served(names), names, catalogue), folder / ".leaselab/own"


@pytest.fixture(scope="module")
def root(scenario, hosts, tmp_path_factory):
    """A root with named, its own configuration as the role writes it, and the zones."""
    asked, kept = scenario
    given = {
        "variant": "own",
        "configuration_kept": str(kept / f"{asked.server.options['configuration']}.json"),
        **asked.server.options,
        **{key: asked.load[key] for key in ("data", "size", "zone_files")},
        "test_interface": "s0",
        "test_address": "198.18.0.10",
        "found": "9.20.0",
    }
    root = Rooted(hosts[0], "trixie", ["bind9", "bind9-utils"], "bind9", **given)
    root.write(
        tmp_path_factory.mktemp("bind9"),
        {"named-own.conf.j2": "config_file"},
        "key_file",
        dns_data_zones={
            "folder": ZONES,
            "zones": 2,
            "sha256": "abc",
            "last_zone": "example.org.",
        },
    )
    root.install()
    root.put(root.settings["config_files"][1], "")
    root.put(root.paths["key_file"], KEY)
    root.put(root.settings["process"]["pid_file"], "")
    with tarfile.open(kept / f"{asked.load['zone_files']}.tar") as archive:
        for entry in archive:
            root.put(f"{ZONES}/{entry.name}", archive.extractfile(entry).read().decode())
    return root


def test_named_takes_the_file_and_answers_every_name_of_its_zones(root, scenario, hosts):
    asked, kept = scenario
    check = ("/usr/bin/named-checkconf", "-z", root.settings["config_files"][0])
    status, reported = root.inside(*check)
    assert status == 0, reported
    held = (kept / f"{asked.server.options['configuration']}.json").read_text("utf-8")
    assert reported.count("loaded serial 1") == held.count("@zones@")
    status, reported = root.verb("start")
    try:
        assert status == 0, reported
        queries = kept / f"{asked.load['query_file']}.lines"
        words = ["--server", "198.18.0.10", "--queries", queries, "--interface", "g0"]
        report = offered(hosts[1], "dns", *words, "--rate", "70", "--seconds", "1")
        assert report["counts"]["completed"] == 70
        log = root.inner(root.settings["log_file"]).read_text("utf-8")
        assert ": error:" not in log
    finally:
        ended = root.verb("stop")
    assert json.loads(ended[1]) == {"was_running": True}
