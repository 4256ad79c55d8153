"""Users' own configurations as role kea writes them, judged by real releases of Kea."""

import importlib
import json
import os
import subprocess
import tempfile
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from tests.contracts import contract_module
from tests.nightly import but_at_night
from tests.own import clients_of
from tests.rooted import LOADS, cabled, offered, render, template
from tests.tools import AS_ROOT, run, unpacked_kea, unpacked_root
from tests.versions.test_kea_configurations import VERSIONS, known_words
from tests.waiting import HANGS_S

from leaselab.inputs.advice import Given
from leaselab.inputs.keama import read_with_keama
from leaselab.inputs.leases import read_leases
from leaselab.inputs.user_configuration import read_served
from leaselab.run.own_costs import own_without

FILES = Path(__file__).parents[1] / "data/own"
OWN = {
    "isp": (4, ["hook:radius"]),
    "isp6": (6, []),
    "pair": (4, ["hook:ha"]),
    "house": (4, []),
    "rooms": (4, []),
    "isp+info-logging": (4, ["hook:radius"]),
    "isp+no-lease-cache": (4, ["hook:radius"]),
    "isp+reservations-in-pool": (4, ["hook:radius"]),
    "isp6+info-logging": (6, []),
    "keama": (4, []),
    "stateless": (6, []),
    "no-subnet": (6, []),
    "nodes4": (4, []),
    "nodes6": (6, []),
}
"""Files, some of them without a known cost: their families, and what is left out of them; what
keama makes of a dhcpd.conf."""
FILLED = {"house": 10, "isp6": 9}
"""Those with a dump of leases, and how many of it fill the server."""
WITH_DATABASE = {"campus": (4, [])}
"""Written, and judged by no Kea: its schema would have to be there."""


@cache
def read(name):
    stem, _, cost = name.partition("+")
    if name == "keama":
        return read_keama()
    own = read_served(FILES / f"{stem}.conf", (OWN | WITH_DATABASE)[name][1])
    return own_without(own, cost, Given(version="2.6"))[0] if cost else own


def read_keama():
    place = unpacked_root("trixie", "isc-dhcp-keama") / "usr/sbin"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{place}:{os.environ['PATH']}")
        return read_with_keama(FILES / "dhcpd.conf", Path(tempfile.mkdtemp()))


@cache
def written(suite):
    """A folder with the configurations as the role writes them for a release."""
    folder = Path(tempfile.mkdtemp(prefix=f"leaselab-own-{suite}-"))
    variants = []
    for name, (family, _) in (OWN | WITH_DATABASE).items():
        kept = folder / f"{name}.json"
        kept.write_text(json.dumps(read(name).server), encoding="utf-8")
        given = {
            "server_family": family,
            "kea_configuration": name,
            "kea_configuration_kept": str(kept),
            "server_variant": name,
            "kea_backend": read(name).options["backend"],
            "kea_database_hook": {"stat": {"exists": suite == "sid"}},
            "server_test_interface": "s0",
            "server_test_address": "198.18.0.10",
            "server_test_address6": "2001:2:0:1::10",
            "kea_known_words": known_words(suite, family),
            "ansible_facts": {"architecture": os.uname().machine},
        }
        variants.append((given, {f"own-{name}.json": template("kea", "kea-own.json.j2")}))
    render("kea", folder, variants)
    return folder


@pytest.fixture(scope="module")
def network():
    """Prefixes of commands where the server is, and where the generator is."""
    with cabled("own") as prefixes:
        yield prefixes


def kea(suite, name, network, *words, keeps=False):
    """The command that runs a release's server with a file in the server's network.

    `keeps` says that the leases of the last one stay.
    """
    place, program = unpacked_kea(suite), f"/usr/sbin/kea-dhcp{OWN[name][0]}"
    file = f"own-{name}.json"
    run(*AS_ROOT, "cp", written(suite) / file, place / "etc/kea" / file)
    if not keeps:
        run(*AS_ROOT, "rm", "-f", place / f"var/lib/kea/leaselab-{name}_leases.csv")
    run(*AS_ROOT, "rm", "-f", place / f"run/kea/leaselab-{name}_dhcp.socket")
    reported = {
        "KEA_LOCKFILE_DIR": "/run/kea",
        "KEA_TEST_SEND_RESPONSES_TO_SOURCE": "ENABLE",
        "KEA_CONTROL_SOCKET_DIR": "/run/kea",
    }
    environment = [f"{key}={value}" for key, value in reported.items()]
    inside = ["env", *environment, "chroot", place, program, *words, f"/etc/kea/{file}"]
    return [*network[0], *inside]


def settings(name, suite="trixie"):
    """Of the contract, which empties the leases of all subnets."""
    place, own = unpacked_kea(suite), f"leaselab-{name}_"
    hooks = [row["library"] for row in read(name).server["hooks-libraries"]]
    return {
        "family": OWN[name][0],
        "database": None,
        "control_socket": str(place / f"run/kea/{own}dhcp.socket"),
        "lease_file": str(place / f"var/lib/kea/{own}leases.csv"),
        "leases_statistic": "",
        "subnet_id": None,
        "can_wipe": "libdhcp_lease_cmds.so" in hooks,
    }


@contextmanager
def started(name, network, log, suite="trixie", *, keeps=False):
    """The contract of a server that takes commands, as it does once it serves."""
    with log.open("wb") as output, contract_module("kea", "kea_contract.server") as contract:
        command = [*map(str, kea(suite, name, network, "-c", keeps=keeps))]
        server = subprocess.Popen(command, stdout=output, stderr=output)
        until = time.monotonic() + HANGS_S
        try:
            while True:
                try:
                    contract.control(settings(name, suite), "version-get")
                    break
                except OSError:
                    assert server.poll() is None, log.read_text(encoding="utf-8")
                    assert time.monotonic() < until
                    time.sleep(0.1)
            yield contract
        finally:
            server.terminate()
            server.wait(timeout=HANGS_S)


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("suite", VERSIONS)
def test_a_release_takes_the_labs_form_of_a_file(suite, name, network):
    status, output = run(*kea(suite, name, network, "-t"))
    assert status == 0, output


@pytest.mark.parametrize("name", OWN)
def test_every_client_that_was_made_for_a_file_is_answered(name, network, tmp_path):
    """Relays, classes and reservations fit: no client is left without a lease of its own."""
    own, family = read(name), OWN[name][0]
    clients = min(own.clients, 3500)  # of all kinds, as they come evenly mixed
    asking = ["--mix", "inform=1"] if own.informs else ["--mix", "new=1,inform=1", "--fill"]
    load = ["--clients", clients, *asking, "--rate", "20", "--seconds", "1", "--late", "5"]
    with started(name, network, tmp_path / "log") as contract:
        report = offered(network[1], *LOADS[family], *clients_of(own, tmp_path), *load)
        held = contract.Server(settings(name)).reset()
    assert report["counts"]["completed"] == report["counts"]["attempted"], report
    assert report["duplicates"] == 0
    assert (report["filled"] or {"leases": 0})["leases"] == (0 if own.informs else clients)
    assert held["was"] >= (0 if own.informs else clients)  # some hold an address and a prefix
    assert held["held"] == 0


@pytest.mark.parametrize("name", ["house", "isp6"])
@pytest.mark.parametrize("suite", but_at_night(["trixie"], VERSIONS))
def test_operations_take_effect_in_a_release_that_serves(suite, name, network, tmp_path):
    file = unpacked_kea(suite) / f"etc/kea/own-{name}.json"
    with started(name, network, tmp_path / "log", suite) as contract:
        before = file.read_text(encoding="utf-8")
        argv = ["kea", "-c", str(file)]
        own = {**settings(name, suite), "process": {"argv": argv}, "interface": "lo"}
        operations = importlib.import_module("leaselab_contract.operations")
        known = operations.known(contract.Server(own))
        asked = ["add-subnets", "config-set", "lease-cleanup", "reclaim", "reload"]
        asked += ["remove-subnets"]  # others are done to its process
        why = {word: operations.carried_out(known[word]())["why"] for word in asked}
    assert why == dict.fromkeys(asked, "")
    assert file.read_text(encoding="utf-8") == before


@pytest.mark.parametrize("name", FILLED)
@pytest.mark.parametrize("suite", VERSIONS)
def test_a_release_begins_with_the_leases_of_a_dump_and_goes_back_to_them(
    suite, name, network, tmp_path
):
    """It takes each of them, in its own columns, and none is the client's of a load."""
    family = OWN[name][0]
    dump = read_leases([FILES / f"kea-leases{family}.csv"])
    own = read_served(FILES / f"{name}.conf", leases=dump)
    lines = tmp_path / "filled.csv"
    lines.write_text("".join(f"{line}\n" for line in own.filling.lines), encoding="ascii")
    words = [*LOADS[family], *clients_of(own, tmp_path)]
    filled = {**settings(name, suite), "filled_file": str(lines)}
    with started(name, network, tmp_path / "log", suite):
        pass  # it writes its columns
    with contract_module("kea", "kea_contract.store") as store:
        columns = Path(filled["lease_file"]).read_text(encoding="ascii")
        store.begin_again(filled)
    log = tmp_path / "log"
    with started(name, network, log, suite, keeps=True) as contract:
        bare = settings(name, suite)
        assert contract.leases(bare) == len(own.filling.lines) == FILLED[name]
        for _ in range(2):
            load = ["--rate", "20", "--seconds", "1", "--late", "5"]
            report = offered(network[1], *words, *load)
            assert report["counts"]["completed"] == report["counts"]["attempted"] == 20
            held = contract.Server(filled).reset()
            assert held["held"] == 0
            assert held["was"] >= 20
            assert contract.leases(bare) == FILLED[name]
    assert Path(filled["lease_file"]).read_text(encoding="ascii").startswith(columns)
    assert "UPGRADE" not in log.read_text(encoding="utf-8")


def test_what_keama_makes_of_a_file_has_its_clients_and_says_what_is_lost():
    made, given = read("keama"), read_served(FILES / "dhcpd.conf")
    assert (made.kind, given.kind) == ("kea", "isc_dhcpd")
    assert made.addresses == given.addresses
    assert made.changes[:2] == [
        "keama: 14 statements have no counterpart",
        "reservations[*]: none without an identifier",
    ]
    assert made.clients == given.clients - 1


@pytest.mark.parametrize("suite", ["trixie", "sid"])
def test_a_database_is_the_labs_and_its_password_in_no_file(suite):
    text = (written(suite) / "own-campus.json").read_text(encoding="utf-8")
    assert '"password": <?include "/opt/leaselab/database-password.json"?>' in text
    assert "db.example.org" not in text
    assert "secret" not in text
    assert ("libdhcp_mysql.so" in text) == (suite == "sid")
