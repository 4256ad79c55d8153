"""How recursors of the lab are configured: whom they may ask."""

from pathlib import Path

import pytest

ROLES = Path(__file__).parents[2] / "roles"
INSIDE = {
    "bind9/templates/named.conf.j2 bind9/templates/options.conf.j2": {
        "query-source address {{ server_test_address }};",
        "{{ bind9_listens }} port 53 { {{ bind9_address }}; };",
    },
    "pdns_recursor/templates/recursor.conf.j2": {
        "query-local-address={{ server_test_address }}",
        "local-address={{ server_address }}",
        "dnssec=off",
    },
    "unbound/templates/unbound.conf.j2": {
        "outgoing-interface: {{ server_test_address }}",
        "interface: {{ server_address }}",
    },
}
"""Lines by which a recursor asks and answers from the test network: no route leads out."""
LEADS_OUT = (
    *("forward", "stub-zone", "static-stub", "trust-anchor", "/usr/share/dns"),
    "named.root",
)
"""What would have a recursor ask a server beyond its hints."""


@pytest.mark.parametrize("files", INSIDE)
def test_nothing_leads_a_recursor_past_its_hints_or_the_test_network(files):
    text = "".join((ROLES / name).read_text("utf-8") for name in files.split())
    assert [word for word in LEADS_OUT if word in text] == []
    assert {line.strip() for line in text.splitlines()} >= INSIDE[files]
