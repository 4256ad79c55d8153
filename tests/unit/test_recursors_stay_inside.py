"""How recursors of the lab are configured: whom they may ask."""

from pathlib import Path

import pytest

ROLES = Path(__file__).parents[2] / "roles"
CONFIGURATIONS = {
    "bind9": ("named.conf.j2", "options.conf.j2"),
    "pdns_recursor": ("recursor.conf.j2",),
    "unbound": ("unbound.conf.j2",),
}
LEADS_OUT = (
    "forward",
    "stub-zone",
    "static-stub",
    "trust-anchor",
    "/usr/share/dns",
    "named.root",
)
"""What would have a recursor ask a server beyond its hints."""


def configuration(role):
    """All that a role's configuration is made of."""
    return "".join(template(role, name) for name in CONFIGURATIONS[role])


def template(role, name):
    return (ROLES / role / "templates" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("role", CONFIGURATIONS)
def test_nothing_leads_a_recursor_past_its_hints(role):
    text = configuration(role)
    assert [word for word in LEADS_OUT if word in text] == []


@pytest.mark.parametrize(
    ("role", "line"),
    [
        ("bind9", "query-source address {{ server_test_address }};"),
        ("bind9", "{{ bind9_listens }} port 53 { {{ bind9_address }}; };"),
        ("pdns_recursor", "query-local-address={{ server_test_address }}"),
        ("pdns_recursor", "local-address={{ server_address }}"),
        ("pdns_recursor", "dnssec=off"),
        ("unbound", "outgoing-interface: {{ server_test_address }}"),
        ("unbound", "interface: {{ server_address }}"),
    ],
)
def test_a_recursor_asks_and_answers_from_the_test_address(role, line):
    """No route leads out of that network."""
    text = configuration(role)
    assert line in [item.strip() for item in text.splitlines()]
