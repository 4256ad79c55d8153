"""How recursors of the lab are configured: whom they may ask."""

from pathlib import Path

import jinja2
import pytest
import yaml

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
def test_the_only_root_is_that_of_the_labs_own_authority(role):
    rendered = jinja2.Template(template(role, "hints.zone.j2")).render(
        {f"{role}_support_address": "198.18.0.20"}
    )
    records = [line.split() for line in rendered.splitlines() if not line.startswith(";")]
    assert records == [
        [".", "3600000", "NS", "a.root."],
        ["a.root.", "3600000", "A", "198.18.0.20"],
    ]


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
        ("pdns_recursor", "local-address={{ pdns_recursor_address }}"),
        ("pdns_recursor", "dnssec=off"),
        ("unbound", "outgoing-interface: {{ server_test_address }}"),
        ("unbound", "interface: {{ unbound_address }}"),
    ],
)
def test_a_recursor_asks_and_answers_from_the_test_address(role, line):
    """No route leads out of that network."""
    text = configuration(role)
    assert line in [item.strip() for item in text.splitlines()]


@pytest.mark.parametrize("role", CONFIGURATIONS)
@pytest.mark.parametrize(("family", "address"), [(4, "198.18.0.10"), (6, "2001:2:0:1::10")])
def test_the_address_of_a_recursor_is_its_test_address(role, family, address):
    settings = yaml.safe_load((ROLES / role / "vars/main.yml").read_text(encoding="utf-8"))
    given = {"role": "recursive", "data": "hierarchy", "family": family}
    rendered = jinja2.Template(settings[f"{role}_address"]).render(
        {f"{role}_{name}": value for name, value in given.items()},
        server_test_address="198.18.0.10",
        server_test_address6="2001:2:0:1::10",
    )
    assert rendered == address
