"""What is in a user's own configuration stays out of results, their pages and exports."""

import copy
import gzip
import hashlib
import json

import pytest
from tests.bench_document import DOCUMENT
from tests.made_up import Failing
from tests.own import add_scenario, catalogue_in, read_served

from leaselab.archive.schema import document_of
from leaselab.archive.store import Store
from leaselab.cli.main import main
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.model.errors import Outcome, server_broken
from leaselab.report.export.markdown import markdown
from leaselab.report.site.site import write_site
from leaselab.run import experiment

WORD = "kanarie"
KEA = """
// kanarie-comment
{ "DhcpF": { "subnetF": [ { "id": 1, "subnet": "PREFIX", "interface": "kanarie0",
    "user-context": { "kanarie": "kanarie" }, "comment": "kanarie",
    "client-class": "kanarie-class", "pools": [ { "pool": "PREFIX" } ],
    "reservations": [ { "hw-address": "00:CA:4A:21:E0:01", "hostname": "kanarie-pc" } ] } ],
  "interfaces-config": { "interfaces": [ "kanarie0" ] },
  "hooks-libraries": [ { "library": "/opt/kanarie/libdhcp_lease_cmds.so" } ],
  "control-socket": { "socket-type": "unix", "socket-name": "/run/kanarie" },
  "client-classes": [ { "name": "kanarie-class", "test": "option[T].hex == 'kanarie'" },
    { "name": "HA_kanarie" } ],
  "option-data": [ { "name": "domain-search", "data": "kanarie.example" } ],
  "lease-database": { "type": "mysql", "password": "kanarie", "host": "kanarie" },
  "loggers": [ { "name": "kea-dhcpF.kanarie",
    "output_options": [ { "output": "/var/kanarie" } ] } ] },
  "kanarie": { "kanarie": "kanarie" } }
"""
FILES = {
    "kea-dhcp4.conf": KEA.replace("F", "4")
    .replace("[T]", "[60]")
    .replace("PRE4IX", "192.0.2.0/24"),
    "kea-dhcp6.conf": KEA.replace("F", "6")
    .replace("option[T].hex", "substring(option[16].hex, 6, 7)")
    .replace("PRE6IX", "2001:db8::/64"),
    "dhcpd.conf": """
        # kanarie
        include "kanarie.conf"; ddns-update-style none; server-name "kanarie";
        option domain-name "kanarie.example"; option routers kanarie.example;
        key kanarie { algorithm hmac-md5; secret "kanarie="; }
        class "kanarie" { match if option vendor-class-identifier = "kanarie"; }
        subnet 192.0.2.0 netmask 255.255.255.0 { range 192.0.2.10 192.0.2.99; }
        host kanarie { hardware ethernet 00:ca:4a:21:e0:01; fixed-address 192.0.2.9; }
        """,
    "dnsmasq.conf": """
        # kanarie
        interface=kanarie0
        dhcp-range=tag:kanarie0,192.0.2.10,192.0.2.99
        dhcp-range=set:kanarie,192.0.2.110,192.0.2.199
        dhcp-host=00:ca:4a:21:e0:01,kanarie-pc,192.0.2.9
        addn-hosts=kanarie-hosts
        conf-file=kanarie.conf
        domain=kanarie.example
        server=/kanarie.example/192.0.2.1
        """,
    "named.conf": """
        // kanarie
        include "kanarie.conf";
        options { directory "/srv/kanarie"; version "kanarie";
          response-policy { zone "kanarie.rpz"; }; };
        key "kanarie" { algorithm hmac-sha256; secret "kanarie="; };
        server 192.0.2.1 { keys "kanarie-gone"; };
        view "kanarie-view" {
          zone "kanarie.example" { type primary; file "kanarie-db"; };
          zone "kanarie.rpz" { type secondary; primaries { 192.0.2.1; }; };
        };
        view "kanarie-other" { match-clients { none; };
          zone "kanarie.example" { type primary; file "kanarie-db"; };
        };
        """,
}
WITHOUT = {
    "dhcpd.conf": ["unread-files"],
    "dnsmasq.conf": ["unread-files"],
    "named.conf": ["unread-files", "secondary"],
}


def made_of(folder, name):
    """What is made of a file with canaries, and beside it those that it names."""
    (folder / "kanarie-hosts").write_text("192.0.2.9 kanarie\n")
    (folder / "kanarie-db").write_text("@ SOA a. kanarie. 1 1 1 1 1\nkanarie TXT kanarie\n")
    file = folder / name
    file.write_text(FILES[name])
    return read_served(file, WITHOUT.get(name, ())), file


def all_texts(folder):
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            yield path, gzip.decompress(content) if path.suffix == ".gz" else content


@pytest.mark.parametrize("name", FILES)
def test_no_secret_of_a_users_configuration_is_in_a_result(tmp_path, monkeypatch, name):
    own, file = made_of(tmp_path, name)
    catalogue = catalogue_in(tmp_path)
    scenario = add_scenario(own, file, catalogue)
    text = own.server.get("text") or json.dumps(own.server)
    assert WORD in text
    document = copy.deepcopy(DOCUMENT) | {"scenario": document_of(scenario)}
    digest = hashlib.sha256(text.encode()).hexdigest()
    document["servers"]["server"]["config_sha256"] = digest
    store = Store(tmp_path / "results")
    bench = parse_bench(document, "tests")
    monkeypatch.setenv("LEASELAB_COMMAND", f"leaselab run --config {file}")
    monkeypatch.setattr(experiment, "check_fits", lambda *_: None)  # of another procedure
    (running,) = experiment.begin(store, {"20261128T113005Z-own-3f9a": bench}, tmp_path)
    wrong = server_broken(f"the server does not start: {text}", where="server")
    (ended,) = Failing(wrong, text=text).finish(store, running)
    record = store.load(ended.place.name)
    assert (record.server.config_sha256, record.server.config_file) == (digest, None)
    assert record.reasons[0].text.startswith("the server does not start; what its host said")
    assert record.outcome == Outcome.BUILD.label
    write_site(store, tmp_path / "results/report")
    (tmp_path / "results/a.md").write_text(markdown([record]))
    for form in ("csv", "junit", "openmetrics"):
        exported = ["export", f"--{form}", str(tmp_path / f"results/{form}")]
        assert main([*exported, "--results", str(store.root)]) == 0
    leaks = {
        f"{path.name}: {content[max(0, at - 40) : at + 40]!r}"
        for path, content in all_texts(tmp_path / "results")
        for word in (WORD.encode(), b"ca:4a:21", b"ca4a21")
        if (at := content.lower().find(word)) >= 0
    }
    assert leaks == set()
