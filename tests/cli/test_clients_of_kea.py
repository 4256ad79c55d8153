"""``leaselab clients``: what it makes of lease files and forensic logs of Kea."""

import pytest
from tests.captures import DAY, DEVICE, LEASES, LOG, counted

from leaselab.cli.main import main


def test_leases_of_kea_are_a_source(tmp_path):
    traffic = counted(tmp_path, LEASES.encode())["dhcpv4"]
    assert (traffic["clients"], traffic["relays"], traffic["seconds"]) == (2, 2, 1800)
    assert traffic["shares"] == {"new": 0.5, "renew": 0.25, "release": 0.25}
    assert "anna" not in (tmp_path / "c.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("who", ["", "Administrator", "HA partner"])
def test_the_forensic_log_of_kea_is_a_source(tmp_path, who):
    first = f"2026-09-21 00:00:01 CET {who} added a lease of address: 10.0.0.9\n" if who else ""
    file = counted(tmp_path, f"{first}{LOG}".encode())
    assert file.get("skipped") == ({"lines of no client": 1} if who else None)
    assert file["dhcpv4"]["shares"] == {"renew": 0.5, "new": 0.5}
    assert file["dhcpv4"]["minutes"] == {"new": [1, *[0] * 30], "renew": [*[0] * 30, 1]}
    assert file["dhcpv6"]["kinds"][0]["want"] == "prefix"


LEASES4 = LEASES.partition("\n")[0]
LEASES6 = (
    "address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,iaid,prefix_len,"
    "fqdn_fwd,fqdn_rev,hostname,hwaddr,state"
)
OLD4 = LEASES4.removesuffix(",state")


def lease4_row(at, state=",0", lifetime=3600, who="ac:de:48:00:00:05"):
    return f"10.0.0.5,{who},,{lifetime},{DAY + at + lifetime},1,0,0,anna{state}"


def lease6_row(kind, at, state=0, duid="00:03:00:01:ac"):
    return f"2001:db8:{kind}::,{duid},60,{DAY + at + 60},1,30,{kind},1,56,0,0,anna,,{state}"


@pytest.mark.parametrize(
    ("lines", "begun"),
    [
        ([OLD4, lease4_row(0, ""), lease4_row(60, "")], {"new": 1, "renew": 1}),
        ([LEASES4, lease4_row(0), lease4_row(60, "\r")], {"new": 1, "renew": 1}),
        # Kea also writes a lease when it reclaims it or changes its context, without a packet.
        ([LEASES4, lease4_row(0), lease4_row(0), lease4_row(0, ",2")], {"new": 1}),
        ([LEASES4, lease4_row(0), lease4_row(0, ",2"), lease4_row(0, ",2", 0)], {"new": 1}),
        ([LEASES4, lease4_row(0), lease4_row(0, ",3", 0)], {"new": 1, "release": 1}),
        ([LEASES4, lease4_row(0), lease4_row(9, ",1", who="")], {"new": 1}),
        ([LEASES6, lease6_row(0, 0), lease6_row(2, 0)], {"new": 1}),
        ([LEASES6, lease6_row(2, 0), lease6_row(0, 9, 1, "00:00:00")], {"new": 1}),
        ([LEASES6, lease6_row(0, 0), lease6_row(0, 30)], {"new": 1, "renew": 1}),
    ],
)
def test_lines_of_leases_are_exchanges_of_their_clients(lines, begun, tmp_path):
    file = counted(tmp_path, "\n".join(lines).encode())
    (traffic,) = (file[family] for family in ("dhcpv4", "dhcpv6") if family in file)
    shares = {word: count / sum(begun.values()) for word, count in begun.items()}
    assert (traffic["clients"], traffic["shares"]) == (1, shares)
    assert traffic["exchanges"] == sum(begun.values())


def test_a_client_with_an_address_and_a_prefix_asks_for_both(tmp_path):
    rows = [lease6_row(kind, 9 * n, 0, f"00:0{n}") for kind in (0, 2) for n in range(5)]
    (kind,) = counted(tmp_path, "\n".join([LEASES6, *rows]).encode())["dhcpv6"]["kinds"]
    assert (kind["clients"], kind["want"]) == (5, "both")


def test_leases_that_several_files_have_are_of_one_exchange(tmp_path, capsys):
    """Kea's clean-up keeps the last line of each lease in another file."""
    files = [tmp_path / "kea-leases4.csv.2", tmp_path / "kea-leases4.csv"]
    for file, last in zip(files, (1800, 3600), strict=True):
        file.write_text("\n".join([LEASES4, lease4_row(1800), lease4_row(last)]))
    assert main(["clients", *map(str, files)]) == 0
    assert "  2 exchanges: renew 50.0%, new 50.0%" in (said := capsys.readouterr().err)
    assert "2 files do not say which leases are new" in said


def test_a_log_that_calls_renewals_assigned_has_renewals(tmp_path, capsys):
    """Kea 2 and later write `assigned` for each lease that they acknowledge."""
    line = "2026-09-21 08:{:02}:01 UTC Address:{} has been assigned for 60 seconds to a device "
    line += f"with {DEVICE}\n"
    lines = [line.format(n, "10.0.0.5") for n in (1, 10, 20)]
    other = lines[0].replace("client-id: 01", "client-id: 02").replace("0.5", "0.6")
    traffic = counted(tmp_path, "".join([*lines, other]).encode())["dhcpv4"]
    assert (traffic["clients"], traffic["shares"]) == (2, {"renew": 0.5, "new": 0.5})
    assert "1 files do not say which leases are new" in capsys.readouterr().err
    counted(tmp_path, LOG.encode())
    assert "do not say" not in capsys.readouterr().err
