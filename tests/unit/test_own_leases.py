"""The leases of a running server as the start of a user's own configuration."""

import calendar
import json
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml
from tests.contracts import ROLES, contract_module
from tests.own import read_served
from tests.refusals import refusals_of

from leaselab.inputs.leases import read_leases

DATA = Path(__file__).parents[1] / "data/own"
FILES = {
    "kea-leases4.csv": (
        "house.conf",
        "10 fill it; left out: 2 expired, 1 lines that are no lease, 1 in no subnet",
    ),
    "kea-leases6.csv": ("isp6.conf", "9 fill it; left out: 1 of reserved addresses"),
    "dhcpd.leases": ("dhcpd.conf", "3 fill it; left out: 1 expired, 1 of reserved addresses"),
    "dhcpd6.leases": ("dhcpd6.conf", "2 fill it"),
}
"""Dumps, the configurations that they fit, and what is said of them."""
HEAD = (
    "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state"
)
NOW = 1_795_000_000


def filling(config, *files):
    return read_served(DATA / config, leases=read_leases(files)).filling


def line(host, *, expire=NOW + 3600, lifetime=3600, state=0, client="de:ad:be:ef:00:01"):
    return f"192.168.1.{host},{client},,{lifetime},{expire},1,0,0,annas-phone,{state}"


@pytest.fixture
def house(tmp_path):
    """What is made of lines of a dump, of a house with 150 addresses."""

    def of(*lines, head=HEAD):
        file = tmp_path / "dump"
        file.write_text("\n".join([*([head] if head else []), *lines, ""]), encoding="utf-8")
        return read_served(DATA / "house.conf", leases=read_leases([file]))

    return of


@pytest.mark.parametrize("file", FILES)
def test_each_dump_fills_the_configuration_that_it_fits_with_nothing_of_a_client(file):
    config, said = FILES[file]
    made = filling(config, DATA / file)
    assert str(made) == said
    assert made.elsewhere == ({"10.99.0.0/24": 1} if file == "kea-leases4.csv" else {})
    for marked in ("de:ad", "anna", "\\001", "336", str(NOW)[:4]):
        assert marked not in "\n".join(made.lines)


@pytest.mark.parametrize(
    ("lines", "made"),
    [
        # The newest line of an address counts.
        ([line(100), line(101), line(100, lifetime=0)], ["192.168.1.101,32,0,1"]),
        ([line(100), line(100, state=1)], ["192.168.1.100,32,1,1"]),
        # Leases are those of the time of the dump, however old it is.
        ([line(100), line(101, expire=NOW)], "2 fill it"),
        (
            [line(100), line(101, expire=NOW - 1), line(102, state=2), line(103, state=3)],
            "1 fill it; left out: 2 expired, 1 released",
        ),
        ([line(100), line(101, lifetime=0xFFFFFFFF, expire=NOW - 9999)], "2 fill it"),
        # kea-admin has words for states.
        (
            [line(100, state="default"), line(101, state="declined")],
            ["192.168.1.100,32,0,1", "192.168.1.101,32,1,1"],
        ),
        # A client cannot hide the leases behind its own.
        (
            [line(100).replace(",0,0,", ',0,0,"', 1), *map(line, range(101, 105))],
            "5 fill it",
        ),
    ],
)
def test_lines_of_kea_are_leases(house, lines, made):
    filled = house(*lines).filling
    assert made in (str(filled), filled.lines)


def test_clients_take_half_of_what_is_free(house):
    empty, used = read_served(DATA / "house.conf"), house(*map(line, range(100, 200)))
    assert [(own.addresses, own.clients) for own in (empty, used)] == [(150, 75), (50, 25)]
    assert "its pool has no free address" in refusal(lambda: house(*map(line, range(100, 250))))


def test_leases_in_the_pool_of_a_class_leave_it_fewer_clients(tmp_path):
    dump = tmp_path / "dump"
    for last, clients in ((59, 20), (99, None)):
        row = "1795003600 de:ad:be:ef:00:01 10.20.8.{} * *\n"
        dump.write_text("".join(map(row.format, range(10, last + 1))), encoding="ascii")
        own = read_served(DATA / "dhcpd.conf", leases=read_leases([dump]))
        by_name = {kind["name"]: kind["clients"] for kind in own.kinds}
        assert by_name.get("10.20.8.0/24, phones") == clients
        assert by_name["10.20.8.0/24"] == 50
    assert any("10.20.8.0/24: its pool has no free address" in part for part in own.unserved)


def test_dnsmasqs_file_is_one(house):
    lines = ["1795003600 de:ad:be:ef:00:01 192.168.1.100 annas-phone *"]
    six = ["duid 00:01:00:01", "1795003600 7 2001:db8::7 * 00:01"]
    assert str(house(*lines, *six, head="").filling) == "1 fill it; left out: 1 of DHCPv6"


def test_subnets_without_a_number_get_one_and_it_is_listed(tmp_path):
    file, dump = tmp_path / "two.conf", tmp_path / "dump"
    first = {"id": 1, "subnet": "10.0.0.0/24", "pools": [{"pool": "10.0.0.0/25"}]}
    second = {"subnet": "192.168.1.0/24", "pools": [{"pool": "192.168.1.0/25"}]}
    file.write_text(json.dumps({"Dhcp4": {"subnet4": [first, second]}}), encoding="utf-8")
    dump.write_text(f"{HEAD}\n{line(100)}\n", encoding="utf-8")
    own = read_served(file, leases=read_leases([dump]))
    assert own.filling.lines == ["192.168.1.100,32,0,2"]
    assert own.server["subnet4"][1]["id"] == 2
    assert "subnet4[*].id: numbers where there is none, for the leases" in own.changes


refusal = refusals_of(lambda call: call())


def test_what_fills_nothing_is_refused(tmp_path, house):
    assert "no file of leases" in refusal(lambda: house("nothing", head=""))
    message = refusal(lambda: house("10.9.0.1,,,3600,1795003600,1,0,0,,0"))
    assert "no lease belongs to this configuration" in message
    assert "1 in no subnet" in message
    assert "cannot be read" in refusal(lambda: read_leases([tmp_path / "none"]))
    text = (DATA / "house.conf").read_text(encoding="utf-8")
    where = '"lease-database": {"type": "memfile", "persist": false}, "subnet4"'
    kept = tmp_path / "kept.conf"
    kept.write_text(text.replace('"subnet4"', where), encoding="utf-8")
    message = refusal(lambda: filling(kept, DATA / "kea-leases4.csv"))
    assert "lease-database.persist: this server reads no leases" in message


@pytest.mark.parametrize(("config", "kind"), [("school", "dnsmasq"), ("names", "bind9")])
def test_a_server_that_the_lab_does_not_fill_is_refused(config, kind):
    message = refusal(lambda: filling(config, DATA / "kea-leases4.csv"))
    assert f"--leases: the lab fills no {kind} with leases" in message
    assert "leave out --leases" in message


@pytest.fixture(scope="module")
def contracts():
    """Modules of Kea's and dhcpd's contracts that write leases, and what these share."""
    names = {"kea": "kea_contract.filled", "isc_dhcpd": "isc_dhcpd_contract.leases"}
    names["contract"] = "leaselab_contract.filled"
    with ExitStack() as stack:
        yield [stack.enter_context(contract_module(*each)) for each in names.items()]


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "filled.csv"
    file.write_text("10.0.0.1,32,0,7\n10.0.0.2,32,1,7\n", encoding="ascii")
    return {"family": 4, "filled_file": str(file)}


def test_kea_gets_them_in_its_own_columns_and_of_nobody(contracts, config):
    kea, _, filled = contracts
    text = kea.memfile(config, f"{HEAD},user_context,pool_id")
    head, active, declined = text.splitlines()
    assert head == f"{HEAD},user_context,pool_id"
    address, mac, client, lifetime, expire, *rest = active.split(",")
    assert (address, client, lifetime) == ("10.0.0.1", f"01:{mac}", str(filled.LIFETIME_S))
    assert rest == ["7", "0", "0", "", "0", "", "0"]
    assert int(expire) == pytest.approx(time.time() + filled.LIFETIME_S, abs=60)
    assert declined.startswith("10.0.0.2,,,")
    assert declined.split(",")[9] == "1"


@pytest.mark.parametrize(
    ("kind", "mac"),
    [("mysql", "0x0e1ea5000000"), ("postgresql", "decode('0e1ea5000000', 'hex')")],
)
def test_a_database_gets_them_some_at_a_time(contracts, config, kind, mac, monkeypatch):
    """Rows of other columns apart: a declined lease has no client."""
    databases = yaml.safe_load((ROLES / "kea/vars/main.yml").read_text("utf-8"))
    settings = databases["kea_databases"][kind]
    monkeypatch.setattr(contracts[0], "AT_A_TIME", 1)
    sql = contracts[0].sql({**config, "database": settings})
    assert sql.startswith(settings["use_sql"])
    active, declined = sql.split("INSERT INTO lease4 ")[1:]
    assert active.split("VALUES\n")[1].startswith("(167772161, ")
    assert mac in active
    assert "hwaddr" not in declined


def test_a_server_that_did_not_take_them_is_not_measured(contracts, config):
    """One without leases is not asked."""
    filled = contracts[2]
    assert filled.read({}) == ()
    filled.check({}, lambda: 1 / 0)
    filled.check(config, lambda: 0)
    with pytest.raises(Exception, match=r"found 1, wanted 2"):
        filled.check(config, lambda: -1)


def test_dhcpds_own_file_reads_as_what_was_written(contracts, config, tmp_path):
    """By the reader of dumps: none has expired a day later."""
    _, dhcpd, filled = contracts
    file = tmp_path / "leases"
    file.write_text(dhcpd.text_of(filled.read(config)), encoding="ascii")
    taken = [(str(address), declined) for address, _, declined in read_leases([file]).taken]
    assert taken == [("10.0.0.1", False), ("10.0.0.2", True)]
    ends = next(row for row in file.read_text("ascii").splitlines() if "ends" in row)
    written = time.strptime(ends.split(" ", 4)[-1], "%Y/%m/%d %H:%M:%S;")
    assert calendar.timegm(written) > time.time() + 86400
