"""The leases of a memfile as they lie on the disk, after whatever ended the server."""

import pytest
from tests.contracts import contract_module

HEAD4 = "address,hwaddr,client_id,valid_lifetime,expire,subnet_id"
HEAD6 = "address,duid,valid_lifetime,expire,subnet_id"


@pytest.fixture(scope="module")
def store():
    """The module that reads them, found where the contract finds it."""
    with contract_module("kea", "kea_contract.store") as store:
        yield store


@pytest.fixture
def write(tmp_path):
    """Write the lease file and older ones of it; return the contract's settings."""

    def of(family, **files):
        head = HEAD4 if family == 4 else HEAD6
        for suffix, lines in files.items():
            name = "leases.csv" + {"new": "", "one": ".1", "two": ".2"}[suffix]
            text = "".join(f"{line}\n" for line in [head, *lines[:-1]]) + lines[-1]
            (tmp_path / name).write_text(text, encoding="ascii")
        return {"family": family, "lease_file": str(tmp_path / "leases.csv"), "database": None}

    return of


def test_leases_are_identified_by_address_and_client(store, write):
    four = write(4, new=["10.0.0.2,00:0C:01,,86400,1,1\n", "10.0.0.1,00:0c:02,,86400,1,1\n"])
    assert store.leases(four) == [("10.0.0.1", "000c02"), ("10.0.0.2", "000c01")]
    six = write(6, new=["2001:2::1,00:01:AB,86400,1,1\n"])
    assert store.leases(six) == [("2001:2::1", "0001ab")]


def test_files_are_replayed_oldest_first(store, write):
    settings = write(
        4,
        two=["10.0.0.1,00:0c:01,,86400,1,1\n", "10.0.0.3,00:0c:03,,86400,1,1\n"],
        one=["10.0.0.1,00:0c:02,,86400,1,1\n"],
        new=["10.0.0.3,00:0c:03,,0,1,1\n"],
    )
    assert store.leases(settings) == [("10.0.0.1", "000c02")]


def test_a_line_that_a_crash_cut_short_is_no_lease(store, write):
    settings = write(4, new=["10.0.0.1,00:0c:01,,86400,1,1\n", "10.0.0.2,00:0c"])
    assert store.leases(settings) == [("10.0.0.1", "000c01")]


def test_no_file_holds_no_lease(store, write):
    assert store.leases(write(4)) == []
