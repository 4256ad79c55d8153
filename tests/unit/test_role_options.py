"""A scenario asks of its server only what the server's role declares, and says all of it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.roles import (
    ROLES,
    apart,
    lab_roles,
    options_of,
    read_yaml,
    resolved,
    roles_of,
)
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.scenario import ServerOptions

ROOT = Path(__file__).parents[2]
CATALOGUE = Catalogue(ROOT)
KEA = CATALOGUE.find("v4-memfile")
MYSQL = CATALOGUE.find("v4-mysql")
APART = CATALOGUE.find("v4-mysql-apart")


def asking(scenario, kind=None, **options):
    """The scenario, with these options and no others."""
    kind = kind or scenario.server.kind
    return replace(scenario, server=ServerOptions(kind=kind, options=options))


def test_every_scenario_that_ships_is_one_that_its_server_has():
    kinds = {scenario.server.kind for scenario in CATALOGUE.scenarios.values()}
    assert kinds == {*roles_of("server")}


def test_an_option_that_is_not_asked_for_has_the_roles_default():
    options = resolved(asking(KEA, pair_max_ack_delay_s=3), "here").server.options
    declared = options_of("kea", "scenario")
    assert list(options) == list(declared)
    assert {name for name in options if options[name] != declared[name]["default"]} == {
        "pair_max_ack_delay_s"
    }
    assert type(options["pair_max_ack_delay_s"]) is float


@pytest.mark.parametrize("kind", roles_of("server"))
def test_no_default_of_an_option_has_to_be_worked_out(kind):
    """The resolved scenario says it, and no playbook has run."""
    for name, option in options_of(kind, "scenario").items():
        assert "{{" not in str(option["default"]), name


def test_settings_beside_the_server_are_those_asked_for():
    """An inventory may set the others; all are read back into the result."""
    asked = {"mysql": {"innodb_log_mib": 64}}
    assert resolved(replace(MYSQL, beside=asked), "here").beside == asked


def test_scenarios_lie_side_by_side_as_far_as_they_ask_the_same_of_the_hosts():
    asked = [{"host_tuning": {"governor": value}} for value in ("performance", "powersave")]
    fast, slow = (resolved(replace(KEA, hosts=hosts), "here") for hosts in asked)
    assert slow.hosts == asked[1]
    why = lab_roles()["host_tuning"].apart
    assert why
    for alike in ([KEA, MYSQL], [slow, replace(slow, name="another")]):
        assert apart(alike) == ""
    for differing in ([fast, slow], [KEA, slow], [slow, KEA]):
        assert apart(differing) == why


def altered(name, changes):
    """The scenario that asks for this as well, and for these options of its server alone."""
    scenario = CATALOGUE.find(name)
    kind = changes.pop("kind", None)
    if "options" in changes:
        scenario = asking(scenario, kind, **changes.pop("options"))
    if "support" in changes:
        changes["support"] = ServerOptions(**changes["support"])
    load = {**scenario.load, **changes.pop("load", {})}
    return replace(scenario, load=load, **changes)


@pytest.mark.parametrize(
    ("name", "changes", "said"), read_yaml(ROOT / "tests/data/role_options.yml")["refused"]
)
def test_what_a_server_does_not_have_is_refused_by_name(name, changes, said):
    with pytest.raises(LeaselabError) as caught:
        resolved(altered(name, dict(changes)), "here")
    assert caught.value.outcome is Outcome.USAGE
    assert said in str(caught.value)
    assert caught.value.where.startswith("here")


def test_a_support_has_every_option_of_its_role():
    assert APART.support.options == {
        name: option["default"] for name, option in options_of("mysql", "scenario").items()
    }
    assert APART.support.defaulted == tuple(APART.support.options)


def test_results_with_and_without_a_support_differ_and_an_option_that_one_lacks_does_not():
    beside, apart = MYSQL.beside_another(APART), APART.beside_another(MYSQL)
    assert (beside["support"], apart["support"]) == (None, {"kind": "mysql", "options": {}})
    less = {"kind": "mysql", "options": {"innodb_log_mib": 256}}
    older = replace(APART, support=ServerOptions(**less))
    assert APART.beside_another(older)["support"] == less


def test_every_role_of_a_server_declares_its_options_and_what_the_lab_must_know():
    servers = {
        path.parent.parent.name
        for path in ROLES.glob("*/meta/argument_specs.yml")
        if options_of(path.parent.parent.name, "scenario")
    }
    supports = {name for name, role in lab_roles().items() if role.supports}
    assert supports == {"mysql", "postgresql", "bind9", "nsd"}
    assert servers == {*roles_of("server"), *roles_of("host"), *supports}
    assert all(role.programs for role in lab_roles().values() if role.part != "host")
    assert set(roles_of("beside")) == {"mysql", "postgresql", "delayed_link"}
    assert all(options_of(role, "tune") for role in roles_of("beside"))
