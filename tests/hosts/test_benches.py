"""Inventories with several benches: each in a file, none shares a machine, one is free."""

from argparse import Namespace
from pathlib import Path

import pytest
import yaml
from tests.inventories import parsed_file

from leaselab.cli.bench_options import inventory_of
from leaselab.lab.bench import benches as benches_module
from leaselab.lab.bench.benches import Occupancy, bench_named, free_bench, read_benches
from leaselab.lab.bench.lease import write_hold
from leaselab.lab.bench.lock import new_hold
from leaselab.lab.hosts.inventory import (
    BUILDER_GROUP,
    GENERATOR_GROUP,
    PARTNER_GROUP,
    SERVER_GROUP,
)
from leaselab.model.errors import LeaselabError, Outcome

ROOT = Path(__file__).parents[2]
HOLDER = {"name": "ana@laptop", "purpose": "20261122T1", "age_s": 1.0, "expires_in_s": 9.0}


def write_bench(folder, name, *, server="192.0.2.1", bench=None, builder=None):
    """Write the file of a bench; its generator has the server's address and another port."""
    hosts = {
        "dhcp_server": {"hosts": {f"{name}-server": {"ansible_host": server}}},
        "dhcp_generator": {
            "hosts": {f"{name}-generator": {"ansible_host": server, "ansible_port": 2022}}
        },
    }
    if builder:
        hosts["builder"] = {"hosts": {f"{name}-builder": {"ansible_host": builder}}}
    content = {"bench": {"children": hosts, "vars": {"leaselab_bench": bench or name}}}
    (folder / f"{name}.yml").write_text(yaml.safe_dump(content), encoding="utf-8")


def write_racks(folder):
    write_bench(folder, "rack1", builder="192.0.2.9")
    write_bench(folder, "rack2", server="192.0.2.2", builder="192.0.2.9")
    return folder


@pytest.fixture
def racks(tmp_path, monkeypatch):
    """An inventory of two benches, for a test to change."""
    monkeypatch.setattr(benches_module, "read_inventory", parsed_file)
    return write_racks(tmp_path)


@pytest.fixture
def benches(racks):
    """The two benches as they are read."""
    return read_benches(racks, racks / "kept")


def refusal(call, *arguments):
    with pytest.raises(LeaselabError) as caught:
        call(*arguments)
    return caught.value


@pytest.mark.parametrize("path", ["inventory/docker", "inventory/docker/hosts.yml"])
def test_a_folder_with_a_hosts_file_and_a_file_are_one_bench_each(path, tmp_path):
    (bench,) = read_benches(ROOT / path, tmp_path)
    assert bench.bench == "docker"


def test_any_other_folder_has_a_bench_in_each_file_and_variables_for_all(tmp_path):
    racks = write_racks(tmp_path)
    variables = racks / "group_vars"
    variables.mkdir()
    (variables / "bench.yml").write_text("ansible_user: lab\n", encoding="utf-8")
    benches = read_benches(racks, racks / "kept")
    assert [(bench.bench, bench.path.name) for bench in benches] == [
        ("rack1", "rack1.yml"),
        ("rack2", "rack2.yml"),
    ]
    assert {host.access.user for bench in benches for host in bench.hosts} == {"lab"}


REFUSED = {
    "a machine in two": (
        {"rack3": {"server": "192.0.2.2"}},
        "192.0.2.2 port 22 is in two benches (found rack2 and rack3",
    ),
    "a builder that another measures on": (
        {"rack2": {"server": "192.0.2.2", "builder": "192.0.2.1"}},
        "the builder of rack2 is a machine of rack1 (found 192.0.2.1 port 22 in both",
    ),
    "two of one name": (
        {"rack3": {"server": "192.0.2.3", "bench": "rack1"}},
        "found rack1.yml and rack3.yml",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_benches_that_could_disturb_each_other_are_refused(racks, case):
    files, said = REFUSED[case]
    for name, fields in files.items():
        write_bench(racks, name, **fields)
    fault = refusal(read_benches, racks, racks / "kept")
    assert fault.outcome is Outcome.USAGE
    assert said in str(fault)


def test_a_folder_without_a_bench_is_refused(tmp_path):
    assert "wanted hosts.yml, or a file for each bench" in str(
        refusal(read_benches, tmp_path, tmp_path / "kept")
    )


def test_a_bench_is_found_by_its_name(benches):
    assert bench_named(benches, "rack2") is benches[1]
    fault = refusal(bench_named, benches, "rack3")
    assert fault.outcome is Outcome.USAGE
    assert "wanted one of rack1, rack2" in str(fault)


@pytest.mark.parametrize("first", [(HOLDER, ""), (None, "no answer")])
def test_the_first_bench_that_is_free_and_answers_is_taken(benches, first):
    states = {"rack1": first, "rack2": (None, "")}
    chosen = free_bench(benches, lambda bench: Occupancy(bench, *states[bench.bench]))
    assert chosen.bench == "rack2"


def test_where_none_is_free_it_is_said_who_has_which(benches):
    problems = {"rack1": (HOLDER, ""), "rack2": (None, "gen2: no answer")}
    fault = refusal(free_bench, benches, lambda bench: Occupancy(bench, *problems[bench.bench]))
    assert fault.outcome is Outcome.LAB
    assert "rack1: held by ana@laptop for 20261122T1; rack2: gen2: no answer" in str(fault)


def test_a_bench_that_this_checkout_holds_is_taken_again(racks, tmp_path, monkeypatch):
    monkeypatch.setenv("LEASELAB_ROOT", str(tmp_path))
    write_hold(tmp_path, "rack2", new_hold("a test", 60))
    args = Namespace(inventory=racks, bench=None)
    assert inventory_of(args).bench == "rack2"


def test_the_only_bench_is_not_asked(benches):
    def never(bench):
        raise AssertionError(bench)

    assert free_bench(benches[:1], never).bench == "rack1"


def test_the_racks_of_the_checkout_are_two_benches_with_one_builder(tmp_path):
    """What is described is enough for `check` and the roles, and shares a builder alone."""
    first, second = read_benches(ROOT / "inventory" / "racks", tmp_path)
    assert (first.bench, second.bench) == ("rack1", "rack2")
    shared = {host.access.address for host in first.hosts} & {
        host.access.address for host in second.hosts
    }
    assert shared == {first.only(BUILDER_GROUP).access.address}
    for bench in (first, second):
        for part in (SERVER_GROUP, PARTNER_GROUP, GENERATOR_GROUP):
            host = bench.only(part)
            assert host.access.key_file.endswith(f"/leaselab_{bench.bench}")
            assert host.access.known_hosts_file == str(bench.path.parent / "known_hosts.txt")
            assert host.test_address
            assert host.test_address6
