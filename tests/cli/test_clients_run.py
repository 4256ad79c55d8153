"""``--clients FILE`` of the commands that measure."""

import json
from pathlib import Path

import pytest
import yaml
from tests import captures
from tests.captures import DAY, Capture, counted

from leaselab.cli.main import main

ISP = str(Path(__file__).parents[1] / "data/own/isp.conf")


@pytest.fixture
def file(tmp_path):
    counted(tmp_path, captures.isp().pcap())
    return str(tmp_path / "c.yml")


def configuration(folder, *subnets, **more):
    """A file of subnets: the prefix of each, its pool, and other keys."""
    rows = [
        {"id": at, "subnet": prefix, "pools": [{"pool": pool}] * bool(pool), **keys}
        for at, (prefix, pool, keys) in enumerate(subnets, 1)
    ]
    file = folder / "kea-dhcp4.conf"
    file.write_text(json.dumps({"Dhcp4": {"subnet4": rows, **more}}))
    return str(file)


def load_of(lab):
    """The load of the only result."""
    (row,) = lab.store.index.every("*")
    return lab.store.load(row["id"]).scenario.load


def test_a_wrong_file_of_clients_is_refused_before_anything_is_kept(lab, file, capsys):
    text = Path(file).read_text(encoding="utf-8")
    Path(file).write_text(text.replace("clients: 40", "clients: -1", 1), encoding="utf-8")
    for family in ("v4", "v6"):
        assert main(["run", f"{family}-memfile", "--clients", file]) == 2
        assert "dhcpv4: clients: " in capsys.readouterr().err
    assert not list((lab.checkout / ".leaselab/own").glob("*.yml"))


def test_a_result_names_the_file_and_is_of_another_scenario(lab, file, capsys):
    for words in ((), ("--scale", "2")):
        command = ["run", "v4-memfile", "--clients", file, *words, "--set", "rounds=3"]
        assert main(command) == 0
    rows = lab.store.index.every("*")
    assert len({row["scenario"] for row in rows}) == 2
    loads = [lab.store.load(row["id"]).scenario.load for row in rows]
    assert sorted(load["clients"] for load in loads) == [40, 80]
    assert {load["clients_file"]["clients"] for load in loads} == {40}
    assert loads[0]["renewals"] == 0.5
    assert len(loads[0]["clients_file"]["sha256"]) == 64
    assert "all are behind the scenario's own relays" in capsys.readouterr().err


def test_clients_come_to_a_users_own_configuration(lab, file, capsys):
    own = ["--config", ISP, "--without", "hook:radius"]
    assert main(["run", *own, "--clients", file, "--scale", "100", "--set", "rounds=3"]) == 0
    (row,) = lab.store.index.every("*")
    assert row["scenario"].startswith("own-isp-")
    assert "-clients-" in row["scenario"]
    assert "2 relays are behind 2 of the file's" in capsys.readouterr().err
    load = lab.store.load(row["id"]).scenario.load
    assert 0 < load["clients"] <= 4000


def test_more_clients_come_to_large_pools_than_a_configuration_has_of_its_own(
    lab, tmp_path, capsys
):
    file = configuration(
        tmp_path, *((f"10.{4 * n}.0.0/14", f"10.{4 * n}.0.0/14", {}) for n in range(1, 9))
    )
    counted(tmp_path, captures.campus().pcap())
    clients = ["--clients", f"{tmp_path}/c.yml", "--scale", "1000"]
    assert main(["run", "--config", file, *clients, "--set", "rounds=3"]) == 0
    assert load_of(lab)["clients"] == 95_000
    assert "are cut to" not in capsys.readouterr().err


@pytest.mark.parametrize("server", [["v4-memfile"], ["--config", "FILE"]])
def test_many_small_kinds_are_scaled_and_cut_as_all_are(server, lab, tmp_path):
    file = configuration(tmp_path, ("10.0.0.0/22", "10.0.0.1 - 10.0.0.40", {}))
    capture = Capture()
    for number in range(200):
        options = [(60, b"x" * (1 + number)), (55, b"\1\3\6")]
        message = captures.message4(1, captures.mac(number), number, options)
        capture.broadcast4(DAY + number, message)
    assert len(counted(tmp_path, capture.pcap())["dhcpv4"]["kinds"]) == 200
    words = [file if word == "FILE" else word for word in server]
    scale = ["--clients", f"{tmp_path}/c.yml", "--scale", "0.4"]
    assert main(["run", *words, *scale, "--set", "rounds=3"]) == 0
    assert load_of(lab)["clients"] == (80 if server[0] == "v4-memfile" else 20)


def test_clients_of_a_capture_come_to_pools_that_are_open_to_all(lab, tmp_path, capsys):
    """Reservations and pools for a class have no room for them."""
    hosts = [
        {
            "hw-address": f"00:0c:29:aa:{n // 250:02x}:{n % 250:02x}",
            "ip-address": f"10.0.{1 + n // 250}.{n % 250}",
        }
        for n in range(500)
    ]
    alone = {"reservations": [{"hw-address": "00:0c:29:bb:00:01", "ip-address": "10.2.0.1"}]}
    subnets = [
        ("10.0.0.0/16", "10.0.0.1 - 10.0.0.100", {"reservations": hosts}),
        ("10.1.0.0/24", "10.1.0.1 - 10.1.0.200", {"client-class": "phone"}),
        ("10.2.0.0/24", "", alone),
    ]
    phone = {"client-classes": [{"name": "phone", "test": "option[60].hex == 'phone'"}]}
    counted(tmp_path, captures.campus().pcap())
    command = ["run", "--clients", f"{tmp_path}/c.yml", "--set", "rounds=3", "--config"]
    file = configuration(tmp_path, *subnets, **phone)
    assert main([*command, file, "--scale", "10"]) == 0
    assert load_of(lab)["clients"] <= 50
    said = capsys.readouterr().err
    assert "are cut to 50: half of its pools" in said
    closed = "10.1.0.0/24, 10.2.0.0/24: only for reservations or classes, no client is there"
    assert closed in said
    assert main([*command, configuration(tmp_path, *subnets[1:], **phone)]) == 2
    assert "no subnet of the file takes clients of a capture" in capsys.readouterr().err


REPLAY = ("--procedure", "replay")
WITH_BOTH = "works only with --clients FILE and --procedure replay"


@pytest.mark.parametrize(
    "server", [["v4-memfile"], ["--config", ISP, "--without", "hook:radius"]]
)
def test_a_run_replays_when_the_clients_of_a_file_came(server, lab, file, capsys):
    command = ["run", *server, "--clients", file, "--scale", "3", *REPLAY]
    assert main([*command, "--set", "speed=30"]) == 0
    (row,) = lab.store.index.every("*")
    record = lab.store.load(row["id"])
    # 40 begin in the first minute, and renew after half an hour; all in turn.
    assert record.procedure.arrivals == (120, *[0] * 29, 120)
    assert record.procedure.load.duration_s == 62
    assert record.scenario.load["renewals"] == 0.5
    said = capsys.readouterr().err
    assert "31 of 31 minutes, from 14:13 (UTC): 240 exchanges, at most 120 in one" in said
    assert "--set rate" not in said


def test_clients_with_the_clocks_of_their_leases_replay_what_is_new(lab, file, capsys):
    words = [*REPLAY, "--lease-clock", "--minutes", "1"]
    assert main(["run", "v4-memfile", "--clients", file, *words]) == 0
    (row,) = lab.store.index.every("*")
    record = lab.store.load(row["id"])
    assert record.procedure.arrivals == (40,)  # all of that minute are new
    assert record.scenario.load["lease_clock"] is True
    assert "renewals" not in record.scenario.load
    assert "at the times that the server gives" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--scale", "2"], "--clients"),
        (["run", "--clients", "FILE", "--minutes", "5"], WITH_BOTH),
        (["run", *REPLAY, "--lease-clock"], WITH_BOTH),
        (["run", "--clients", "FILE", *REPLAY, "--set", "rate=5"], "is no parameter of replay"),
        (["run", "v4-memfile", "--generator", "perfdhcp", *REPLAY], "perfdhcp cannot offer"),
        (["run", "--clients", "/nowhere"], "cannot be read"),
        (["run", "--clients", ISP], "isp.conf"),
        (["run", "bind9-zones", "--clients", "FILE"], "not a DHCP scenario"),
        (["run", "v4-mysql-hs", "--clients", "FILE"], "pair"),
        (["compare", "a", "b", "--clients", "FILE"], "--live"),
        (["capacity", "--clients", "FILE"], "one address family only"),
        (["capacity", "--clients", "10"], "--lease-s is missing"),
    ],
)
@pytest.mark.usefixtures("lab")
def test_what_cannot_be_had_is_refused(words, said, file, refused):
    assert said in refused(*(file if word == "FILE" else word for word in words))


def test_the_busiest_minute_of_a_file_is_the_peak_of_capacity(tmp_path, capsys):
    counted(tmp_path, captures.campus().pcap())
    assert main(["capacity", "--clients", f"{tmp_path}/c.yml", "--scale", "60", "--json"]) == 0
    document = yaml.safe_load(capsys.readouterr().out)
    assert document["clients"] == 60 * 95
    assert round(document["peak"]["new"]) == 70
    assert document["peak"]["renewals"] == 0
