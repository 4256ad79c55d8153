"""A user's configuration without a known cost: what is taken out of it, and what never is."""

import json

import pytest
from msgspec.structs import replace
from tests.advising import POOL, having, named, reserved, subnets
from tests.own import read_served

from leaselab.inputs import advice
from leaselab.inputs.advice import Given
from leaselab.inputs.known_costs import Rewriting, known_costs
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.run.own_costs import own_without

COSTS = {cost.name: cost for cost in known_costs()["kea"].costs}
FREE = {"pools": [{"pool": "192.0.2.101 - 192.0.2.200"}]}
"""Addresses of which none is reserved."""
LEFT_OUT = {
    "pair-without-threads": ["hook:ha"],
    **{
        word.replace("_", "-"): [f"hook:{word}"]
        for word in ("run_script", "ping_check", "legal_log", "radius")
    },
    "reservations-in-database": ["hosts-databases"],
    "unused-identifiers": ["hosts-database"],
}
NOT_THERE = {*LEFT_OUT, "distant-database"}
"""Costs that the lab's form of a file never has."""


def served(content, word="subnet4"):
    """The same, for clients that get an address in each subnet."""
    for held in (content, *content.get("shared-networks", [])):
        for subnet in held.get(word, []):
            subnet.setdefault("pools", FREE["pools"])
    if word not in content and "shared-networks" not in content:
        content[word] = [{"id": 1, "subnet": "192.0.2.0/24", **FREE}]
    return content


def own_of(folder, content, without=(), name="Dhcp4"):
    file = folder / "kea.conf"
    file.write_text(json.dumps({name: content}), encoding="utf-8")
    return read_served(file, without)


def case(folder, name):
    """What the lab makes of a configuration that has a cost, and what is known beside it."""
    text, known = having()[name]
    content = served({"valid-lifetime": 86400, **json.loads(text)["Dhcp4"]})
    return own_of(folder, content, LEFT_OUT.get(name, ())), known


def places(value, path=""):
    """The places of a configuration: their paths without numbers, with values and how often."""
    if isinstance(value, dict):
        yield from (
            place for key, inner in value.items() for place in places(inner, f"{path}.{key}")
        )
    elif isinstance(value, list):
        yield from (place for inner in value for place in places(inner, f"{path}[*]"))
    else:
        yield path.lstrip("."), value


def differing(own, other):
    a, b = ([*places(side.server)] for side in (own, other))
    return {
        path for path, value in [*a, *b] if a.count((path, value)) != b.count((path, value))
    }


@pytest.mark.parametrize("name", [name for name, cost in COSTS.items() if cost.without])
def test_what_is_taken_out_is_all_that_differs(tmp_path, name):
    own, known = case(tmp_path, name)
    other, changes = own_without(own, name, known)
    changed = {change.rpartition(": ")[0] for change in changes}
    differ = differing(own, other)
    assert all(any(path.startswith(start) for start in changed) for path in differ), differ
    assert all(any(path.startswith(start) for path in differ) for start in changed), changed
    assert (other.kinds, other.addresses) == (own.kinds, own.addresses)
    assert other.left_out == [*own.left_out, name]
    assert other.changes == [*own.changes, *(f"{change}, without {name}" for change in changes)]
    with pytest.raises(LeaselabError, match="does not have it"):
        own_without(other, name, known)


@pytest.mark.parametrize("name", [name for name, cost in COSTS.items() if not cost.without])
def test_what_cannot_be_taken_out_has_its_reason(tmp_path, name):
    own, known = case(tmp_path, name)
    reason = "the lab's form of the file does not have it"
    if name not in NOT_THERE:
        reason = COSTS[name].unmeasured
    with pytest.raises(LeaselabError) as refusal:
        own_without(own, name, known)
    assert (refusal.value.outcome, refusal.value.what) == (Outcome.USAGE, reason)


def without(folder, name, content, top="Dhcp4"):
    own = own_of(folder, served(content, f"subnet{top[-1]}"), name=top)
    other, changes = own_without(own, name, Given())
    return own, other.server, changes


def refused(folder, name, content, top="Dhcp4"):
    with pytest.raises(LeaselabError) as refusal:
        without(folder, name, content, top)
    return refusal.value.what


SIX = {"id": 1, "subnet": "2001:db8::/64", "pools": [{"pool": "2001:db8::/112"}]}


def test_the_servers_own_logger_warns_and_others_stay_as_they_are(tmp_path):
    _, server, _ = without(tmp_path, "info-logging", {"subnet6": [dict(SIX)]}, top="Dhcp6")
    assert server["loggers"] == [{"name": "kea-dhcp6", "severity": "WARN"}]
    other = {"name": "kea-dhcp-ddns", "severity": "INFO"}
    leases = {"name": "kea-dhcp4.leases", "severity": "INFO"}
    _, server, changes = without(tmp_path, "info-logging", {"loggers": [other, leases]})
    own = {"name": "kea-dhcp4", "severity": "WARN"}
    assert server["loggers"] == [other, {**leases, "severity": "WARN"}, own]
    assert changes == ["loggers[*].severity: changed", "loggers: changed"]


NEEDED = {
    "c0": {"client-class": "c0"},
    "c1": {"require-client-classes": ["c1"]},
    "c2": {"reservations": [{"hw-address": "02:00:00:00:00:01", "client-classes": ["c2"]}]},
    "c3": {"pools": [{"pool": "198.51.3.101 - 198.51.3.110", "client-classes": ["c3"]}]},
}


def test_classes_that_something_else_names_are_not_taken_out(tmp_path):
    classes = named(25, test="option[60].hex == 'a'")
    classes[5]["test"] = "member( 'c4' ) and option[60].hex == 'b'"
    classes.append({"name": "DROP", "test": "option[60].hex == 'c'"})
    prefixes = [f"198.51.{at}.0/24" for at in range(len(NEEDED))]
    subnets = [
        {"id": at, "subnet": prefix, "pools": [{"pool": prefix}], **more}
        for at, (prefix, more) in enumerate(zip(prefixes, NEEDED.values(), strict=True), 1)
    ]
    content = {"client-classes": classes, "subnet4": subnets}
    _, server, changes = without(tmp_path, "many-expressions", content)
    assert [item["name"] for item in server["client-classes"]] == [*NEEDED, "c4", "DROP"]
    assert changes == ["client-classes[*]: 20 removed"]


def test_a_chain_of_classes_is_refused_with_the_reason(tmp_path):
    classes = named(20, test="'a' == 'a'")
    for number, item in enumerate(classes):
        item["test"] = f"member('c{(number + 1) % 20}')"
    what = refused(tmp_path, "many-expressions", {"client-classes": classes})
    assert what == COSTS["many-expressions"].unmeasured


def test_reservations_leave_the_pools_only_where_none_is_in_them(tmp_path):
    inside = reserved(1)
    content = {"subnet4": [*subnets(1, reservations=inside, **POOL)]}
    assert refused(tmp_path, "reservations-in-pool", content) == (
        COSTS["reservations-in-pool"].unmeasured
    )
    content["subnet4"].append(
        {"id": 2, "subnet": "192.0.3.0/24", "pools": [{"pool": "192.0.3.0/28"}]}
        | {"reservations": [{"hw-address": "02:00:00:00:00:02", "ip-address": "192.0.3.99"}]}
    )
    _, server, _ = without(tmp_path, "reservations-in-pool", content)
    flags = [item.get("reservations-out-of-pool") for item in server["subnet4"]]
    assert flags == [None, True]


def test_reservations_of_dhcpv6_have_lists_of_addresses(tmp_path):
    def reserving(address):
        host = {"duid": "00:01:02:03", "ip-addresses": [address]}
        return {"subnet6": [{**SIX, "reservations": [host]}]}

    assert refused(tmp_path, "reservations-in-pool", reserving("2001:db8::5"), top="Dhcp6")
    content = reserving("2001:db8::2:5")
    _, server, _ = without(tmp_path, "reservations-in-pool", content, top="Dhcp6")
    assert server["subnet6"][0]["reservations-out-of-pool"] is True


def test_global_reservations_are_turned_off_where_there_are_none(tmp_path):
    of_subnet = {"subnet4": subnets(1, reservations=reserved(1))}
    both = {"reservations-global": True, "reservations-in-subnet": True, **of_subnet}
    _, server, _ = without(tmp_path, "global-reservations", both)
    assert server["subnet4"][0]["reservations-global"] is False
    of_both = {**both, "reservations": reserved(1)}
    assert "both kinds" in refused(tmp_path, "global-reservations", of_both)


def test_a_database_is_left_out_with_what_is_beside_the_server(tmp_path):
    own = own_of(tmp_path, served({"lease-database": {"type": "mysql"}}))
    other, _ = own_without(own, "leases-in-database", Given())
    assert (own.beside, other.beside) == ({"mysql": {}}, {})
    assert (own.options["backend"], other.options["backend"]) == ("mysql", "memfile")


def test_a_change_that_leaves_clients_unanswered_is_refused(tmp_path, monkeypatch):
    cost = replace(
        COSTS["one-thread"], without=(Rewriting(at=("subnet4[*]",), drop=("pools",)),)
    )
    costs = replace(known_costs()["kea"], costs=(cost,))
    monkeypatch.setattr(advice, "known_costs", lambda: {"kea": costs})
    content = {"multi-threading": {"enable-multi-threading": False}}
    with pytest.raises(LeaselabError, match=r"clients would get no answer.*it has no pool"):
        without(tmp_path, "one-thread", content)
