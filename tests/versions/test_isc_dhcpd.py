"""ISC dhcpd behind the server contract: the real one, with what its role writes for it."""

import json
import shutil
import subprocess
import time
from functools import cache

import pytest
from tests.contracts import ROLES
from tests.own import clients_of
from tests.role_modules import load
from tests.rooted import LOADS, cabled, offered, prefixed, render, template
from tests.tools import run, unpacked

from leaselab.inputs.leases import read_leases
from leaselab.inputs.user_configuration import read_served

ROLE = ROLES / "isc_dhcpd"
SHAPES = {
    "v4": {},
    "v4-unsynced": {"sync": False, "delayed_ack": 28, "cache_threshold_percent": 0},
    "v6": {
        "family": 6,
        "subnet": "2001:2:0:100::/64",
        "pool": "2001:2:0:100::/64",
        "relay_address6": "2001:2:0:1::30",
    },
}
OWN = {"own4": "dhcpd", "own6": "dhcpd6", "parts4": "parts", "stateless6": "dhcpd6-stateless"}
"""Users' own configurations, by the variant that runs them."""
FILLED = {"filled4": ("dhcpd", 3), "filled6": ("dhcpd6", 2)}
"""The same with the leases of a dump, and how many those are."""
CASES = {"v4": LOADS[4], "v6": ["dhcp6", "--interface", "g0"], "v6-relayed": LOADS[6]}


@pytest.fixture(scope="module")
def hosts():
    """The server's network namespace and the generator's, with a cable between them."""
    with cabled("dhcpd") as prefixes:
        yield prefixes


@cache
def own(variant):
    folder = ROLES.parent / "tests/data/own"
    if variant in OWN:
        return read_served(folder / f"{OWN[variant]}.conf")
    name, _ = FILLED[variant]
    return read_served(folder / f"{name}.conf", leases=read_leases([folder / f"{name}.leases"]))


def shapes(folder):
    """The options of each variant."""
    made = dict(SHAPES)
    for variant in [*OWN, *FILLED]:
        kept = folder / f"{variant}.kept"
        kept.write_text(json.dumps(own(variant).server), encoding="utf-8")
        made[variant] = {
            "family": int(variant[-1]),
            "configuration": variant,
            "configuration_kept": str(kept),
            "leases": variant if variant in FILLED else "",
        }
    for variant in FILLED:
        lines = [f"{line}\n" for line in own(variant).filling.lines]
        (folder / f"{variant}_filled.csv").write_text("".join(lines), encoding="ascii")
    return made


@pytest.fixture(scope="module")
def deployed(tmp_path_factory):
    """A host's folder with the contract, and a variant of each shape as the role writes it."""
    folder = tmp_path_factory.mktemp("host")
    every = shapes(folder)
    program = unpacked("isc-dhcp-server") / "usr/sbin/dhcpd"
    variants = [
        (
            {
                "server_variant": shape,
                "isc_dhcpd_program": str(program),
                "isc_dhcpd_state_folder": str(folder),
                "isc_dhcpd_run_folder": str(folder / "run"),
                "isc_dhcpd_config_file": str(folder / f"{shape}_dhcpd.conf"),
                "server_test_interface": "s0",
                "server_test_address": "198.18.0.10",
                "server_test_address6": "2001:2:0:1::10",
                "server_relay_addresses": ["198.18.0.30"],
                **prefixed("isc_dhcpd", options),
            },
            {
                f"{shape}.json": "{{ server_contract_settings | to_json }}",
                f"{shape}_dhcpd.conf": template(
                    "isc_dhcpd",
                    f"dhcpd{'-own' if 'configuration' in options else ''}.conf.j2",
                ),
            },
        )
        for shape, options in every.items()
    ]
    render("isc_dhcpd", folder, variants)
    shutil.copytree(ROLES / "contract/files", folder, dirs_exist_ok=True)
    shutil.copytree(ROLE / "files", folder, dirs_exist_ok=True)
    for shape in every:
        place = folder / "variants" / shape
        place.mkdir(parents=True)
        text = (folder / f"{shape}.json").read_text("utf-8").replace("/var/log/", f"{folder}/")
        (place / "server.json").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def verb(deployed, hosts):
    """Do a verb of the contract where the server is; every server is stopped in the end."""

    def act(*words):
        status, output = run(*hosts[0], "python3", deployed / "server", *words)
        assert status == 0, output
        return json.loads(output)

    yield act
    act("stop")


@pytest.mark.parametrize("case", CASES)
def test_it_serves_counts_and_forgets(case, verb, hosts):
    shape = case.partition("-")[0]
    started = verb("start", shape)
    assert started["version"].startswith("4.4.")
    assert started["program"].endswith("/usr/sbin/dhcpd")
    report = offered(hosts[1], *CASES[case], "--rate", "50", "--seconds", "2", "--late", "5")
    assert report["counts"]["completed"] == 100
    assert verb("reset", shape) == {"held": 0, "was": 100}
    report = offered(hosts[1], *CASES[case], "--rate", "10", "--seconds", "1", "--late", "5")
    assert report["counts"]["completed"] == 10
    assert verb("stop", shape) == {"was_running": True}


@pytest.mark.parametrize("variant", OWN)
def test_every_client_that_was_made_for_a_file_is_answered(variant, verb, hosts, tmp_path):
    clients = min(own(variant).clients, 600)  # of all kinds, as they come evenly mixed
    informs = own(variant).informs
    load = ["--clients", clients, "--rate", "20", "--seconds", "1", "--late", "5"]
    load += ["--mix", "inform=1"] if informs else ["--mix", "new=1,inform=1", "--fill"]
    words = [*LOADS[int(variant[-1])], *clients_of(own(variant), tmp_path)]
    verb("start", variant)
    report = offered(hosts[1], *words, *load)
    assert (report["filled"] or {"leases": 0})["leases"] == (0 if informs else clients)
    assert report["counts"]["completed"] == report["counts"]["attempted"], report
    assert report["duplicates"] == 0
    # what is reserved is in no file of leases
    assert verb("reset", variant)["was"] >= (0 if informs else 500)


@pytest.mark.parametrize("variant", FILLED)
def test_it_begins_with_the_leases_of_a_dump_and_goes_back_to_them(
    variant, verb, hosts, tmp_path, deployed
):
    words = [*LOADS[int(variant[-1])], *clients_of(own(variant), tmp_path)]
    verb("start", variant)
    for _ in range(2):
        report = offered(hosts[1], *words, "--rate", "50", "--seconds", "2", "--late", "5")
        assert report["counts"]["completed"] == 100
        assert 50 < verb("reset", variant)["was"] <= 200
    written = (deployed / f"{variant}_leases").read_text(encoding="utf-8")
    assert written.count("binding state active;") == FILLED[variant][1] - (variant == "filled4")
    assert written.count("binding state abandoned;") == (variant == "filled4")


def test_samples_follow_its_leases_over_a_reset(verb, hosts, deployed):
    """A release ends a lease; a reset begins another file, and the counts with it."""
    verb("start", "v4-unsynced")
    sampler = subprocess.Popen(
        [*hosts[0], "python3", deployed / "server", "sample", "v4-unsynced"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def held():
        asked = time.time()
        while (reading := json.loads(sampler.stdout.readline()))["t"] < asked:
            pass
        assert reading["rss_bytes"] > 0
        assert reading["udp_drops"] is None
        return reading["held"]

    load = ["--rate", "50", "--seconds", "1", "--late", "5"]
    assert held() == 0
    offered(hosts[1], *LOADS[4], *load, "--clients", "20")
    assert held() == 20
    offered(hosts[1], *LOADS[4], *load, "--clients", "10", "--fill", "--mix", "release=1")
    assert held() == 10
    verb("reset", "v4-unsynced")
    assert held() == 0
    sampler.communicate("")
    assert sampler.returncode == 0


def test_a_file_that_it_refuses_is_the_reason_given(deployed, hosts):
    file = deployed / "v4_dhcpd.conf"
    text = file.read_text("utf-8")
    file.write_text(text.replace("authoritative;", "authoritative"), encoding="utf-8")
    try:
        status, output = run(*hosts[0], "python3", deployed / "server", "start", "v4")
    finally:
        file.write_text(text, encoding="utf-8")
    assert status == 1
    assert "semicolon expected" in output
    assert len(output.splitlines()) == 1


@pytest.mark.parametrize(
    ("inner", "wrong"),
    [
        ("range 10.0.0.8 10.0.1.9;", "bad range, address 10.0.1.9 not in subnet 10.0.0.0"),
        ('\n option nope "x";\n', 'unknown option dhcp.nope: option nope "x"'),
    ],
)
def test_a_refusal_has_the_line_that_dhcpd_does_not_take(tmp_path, inner, wrong):
    file = tmp_path / "dhcpd.conf"
    file.write_text(f"subnet 10.0.0.0 netmask 255.255.255.0 {{ {inner} }}\n")
    program = unpacked("isc-dhcp-server") / "usr/sbin/dhcpd"
    status, said = run(program, "-4", "-t", "-cf", file)
    assert status != 0
    filters = load("isc_dhcpd", "isc_dhcpd")
    assert filters.isc_dhcpd_refusal(said).startswith(wrong)
    assert "Internet Systems" not in filters.isc_dhcpd_refusal(said)
