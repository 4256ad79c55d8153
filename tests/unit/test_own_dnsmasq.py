"""A dnsmasq.conf of the user's own: the lab's form of it, and the clients that fit it."""

import pytest
from tests.own import DATA, catalogue_in, measurable, refusals_of

from leaselab.lab.own import read_own
from leaselab.model.errors import LeaselabError

RANGE = "dhcp-range=10.0.0.10,10.0.0.209,255.255.255.0,1h"


def of(tmp_path, *lines, without=()):
    """What is made of a small configuration: one range, and lines before it."""
    file = tmp_path / "small.conf"
    file.write_text("\n".join([*lines, RANGE]), encoding="utf-8")
    return read_own(file, without)


refusal = refusals_of(of)


def counted(own):
    """How many clients there are of each kind."""
    return {kind["name"]: kind["clients"] for kind in own.kinds}


def test_a_folder_is_read_with_the_files_that_its_configuration_names():
    own = read_own(DATA / "school")
    text, files = own.server["text"], own.server["files"]
    assert "dhcp-vendorclass=set:phone,Grandstream\n" in text
    assert sorted(files.values()) == sorted(
        (DATA / f"school/etc/{name}").read_text("utf-8")
        for name in ("hosts.school", "reservations")
    )
    assert all(f"@files@/{name}\n" in text for name in files)
    assert "this is not read" not in text
    for gone in ("interface", "server", "dhcp-leasefile", "bind-interfaces", "local"):
        assert f"\n{gone}=" not in f"\n{text}"
        assert any(change.startswith(f"{gone}: ") for change in own.changes)
    assert "dhcp-range: tag:eth1 is set:eth1: the test network" in own.changes
    assert own.options == {"backend": "file", "lease_lifetime_s": 43200}


def test_clients_are_in_the_classes_that_are_answered():
    own = read_own(DATA / "school")
    held = {tuple(kind["name"].split(", ")): kind for kind in own.kinds if "macs" not in kind}
    assert held["10.40.0.0/22", "phone"]["options"][1] == [60, f"hex:{b'Grandstream'.hex()}"]
    assert ("10.40.0.0/22",) not in held  # which wants the tag
    assert held["192.168.10.0/24", "room"]["agent"] == [
        [5, "hex:c0a80afe"],
        [1, f"hex:{b'room-7'.hex()}"],
    ]
    assert held["192.168.20.0/24", "far"]["agent"][1] == [2, "hex:01020a"]
    assert held["192.168.20.0/24", "efi"]["options"][1] == [93, "hex:0007"]
    assert not any("banned" in kind["name"] for kind in own.kinds)
    [reported] = [line for line in own.unserved if "classes.conf" in line]
    assert reported.endswith("classes.conf:7: dhcp-name-match guest: no client was worked out "
                             "for its test")  # fmt: skip


def test_clients_of_a_makers_class_have_its_prefix_and_differ():
    macs = [
        mac
        for kind in read_own(DATA / "school").kinds
        if "tablet" in kind["name"]
        for mac in kind["macs"]
    ]
    assert all(mac.startswith("a0:b1:c2:") for mac in macs)
    assert len(set(macs)) == len(macs) == 10


def test_reservations_of_a_file_beside_it_have_their_clients():
    own = read_own(DATA / "school")
    first, second = (kind for kind in own.kinds if kind["name"].endswith("reserved"))
    assert first["macs"] == ["00:0c:29:aa:00:01", "00:0c:29:aa:00:03"]
    assert second["options"][1] == [61, "hex:01020304"]
    assert any("reservations:4: " in line and "in no range" in line for line in own.unserved)


def test_v6_clients_come_through_their_subnets_relays():
    own = read_own(DATA / "dnsmasq6.conf")
    kinds = {kind["name"]: kind for kind in own.kinds}
    assert own.options["backend"] == "memory"
    assert kinds["2001:db8:2::/64, box"]["options"][1] == [16, "hex:0000118b00056361626c65"]
    assert kinds["2001:db8:1::/64, line"]["agent"] == [[18, f"hex:{b'line-4'.hex()}"]]
    assert kinds["2001:db8:1::/64, reserved"]["duids"] == ["00030001000c29aa0001"]
    assert {kind["relay"] for kind in own.kinds} == {"2001:db8:1::1", "2001:db8:2::1"}
    assert "slaac" not in own.server["text"]
    assert "dhcp-range: no router is advertised" in own.changes


def test_clients_known_by_their_maker_are_answered_where_others_are_not(tmp_path):
    """A dhcp-host with a pattern knows clients, and sets a tag of theirs."""
    own = of(tmp_path, "dhcp-ignore=tag:!known", "dhcp-host=b8:27:eb:*:*:*,set:pi")
    [kind] = own.kinds
    assert (kind["name"], kind["clients"]) == ("10.0.0.0/24, pi", 100)
    assert all(mac.startswith("b8:27:eb:") for mac in kind["macs"])
    with_address = "dhcp-host=b8:27:eb:*:*:*,10.0.0.9"
    [reported] = of(tmp_path, with_address).unserved
    assert "no client is known to have it" in reported


@pytest.mark.parametrize("word", ["set", "net"])
def test_a_host_whose_tag_is_ignored_does_not_come(tmp_path, word):
    own = of(
        tmp_path,
        "dhcp-ignore=tag:off",
        f"dhcp-host={word}:off,00:0c:29:aa:00:01,10.0.0.9",
        f"dhcp-host=00:0c:29:*:*:*,{word}:off",
    )
    assert counted(own) == {"10.0.0.0/24": 100}
    assert [line.rpartition(": ")[2] for line in own.unserved] == ["in no range"]


def test_no_more_clients_come_than_it_holds_leases(tmp_path):
    small, large = (of(tmp_path, f"dhcp-lease-max={most}") for most in (50, 5000))
    assert (small.clients, small.addresses) == (25, 50)
    assert (large.clients, large.addresses) == (100, 200)


def test_a_clients_tags_are_those_of_all_its_classes(tmp_path):
    own = of(
        tmp_path,
        "dhcp-vendorclass=set:a,ab",
        "dhcp-vendorclass=set:b,abc",
        "tag-if=set:both,tag:a,tag:b",
        "dhcp-ignore=tag:!both",
    )
    assert counted(own) == {"10.0.0.0/24, b": 100}


def test_the_tag_of_a_range_ignores_nobody(tmp_path):
    """As of dnsmasq 2.90: a range has set its tag after a client was ignored, or not."""
    guests = "dhcp-range=set:guest,10.1.0.10,10.1.0.209,255.255.255.0"
    own = of(tmp_path, guests, "dhcp-ignore=tag:guest")
    assert counted(own) == {"10.1.0.0/24": 100, "10.0.0.0/24": 100}
    assert "answer no client" in refusal(tmp_path, guests, "dhcp-ignore=tag:!guest")


def test_a_line_is_what_dnsmasq_makes_of_it(tmp_path):
    own = of(tmp_path, ' dhcp-vendorclass = "set:x","a#b, c" # not this', "#dhcp-script=/x")
    assert [60, f"hex:{b'a#b, c'.hex()}"] in own.kinds[1]["options"]
    assert 'dhcp-vendorclass="set:x","a#b, c"\n' in own.server["text"]


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("dhcp-script", "dhcp-script=/usr/bin/logger"),
        ("dhcp-relay", "dhcp-relay=192.0.2.1,192.0.2.2"),
        ("conf-script", "conf-script=/usr/bin/make"),
        ("tftp", "tftp-root=/srv/tftp"),
        ("read-ethers", "read-ethers"),
        ("constructor", "dhcp-range=::100,::1ff,constructor:eth0"),
    ],
)
def test_what_the_lab_cannot_have_is_refused_with_its_line_or_left_out(tmp_path, word, line):
    without = ["dhcpv6"] if word == "constructor" else []
    if without:
        reported = refusal(tmp_path, line)
        assert "--without dhcpv4 or --without dhcpv6" in reported
        (tmp_path / "small.conf").write_text(f"{line}\ndhcp-range=2001:db8::1,2001:db8::ff\n")
        own = read_own(tmp_path / "small.conf", [word])
    else:
        reported = refusal(tmp_path, "", line)
        assert "small.conf:2: " in reported
        assert f"--without {word}" in reported
        own = of(tmp_path, line, without=[word])
    assert own.left_out == [word]
    assert line.partition("=")[2] not in own.server["text"] or not line.partition("=")[2]


def test_one_of_two_families_is_measured(tmp_path):
    more = "dhcp-range=2001:db8::100,2001:db8::1ff,64,1h"
    for without, load in (("dhcpv6", "dhcpv4"), ("dhcpv4", "dhcpv6")):
        own = of(tmp_path, more, without=[without])
        assert (own.load, own.left_out) == (load, [without])
        assert own.server["text"].count("dhcp-range=") == 1


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        ("dhcp-range=10.0.0.1", "the server would answer"),
        ("dhcp-range=10.0.0.1,192.0.2.9", "small.conf:1: not a range as dnsmasq has them"),
        ("dhcp-range=", "small.conf:1: not a range as dnsmasq has them"),
        ("dhcp-range=10.0.0.1,10.0.0.300", "small.conf:1: not a range as dnsmasq has them"),
        ("conf-file=/nowhere/x.conf", "small.conf:1: a file that it names is not here"),
        ("dhcp-hostsfile=", "small.conf:1: a file that it names is not here (found no name)"),
        ("dhcp-hostsdir=", "small.conf:1: a file that it names is not here (found no name)"),
        ("conf-dir=.", "more than 1000 files"),
        ("conf-file=small.conf", "small.conf:1: files are included too deeply"),
        ("dhcp-ignore=tag:!known", "a client of it needs a tag that is not ignored"),
        ("dhcp-hostsfile=/dev/zero", "small.conf:1: included file not read: not a plain file"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, line, reported):
    if reported == "the server would answer":
        assert of(tmp_path, line).addresses == 200
        return
    if "more than" in reported:
        reported = "files are included too deeply"
    assert reported in refusal(tmp_path, line)


def test_files_that_are_not_here_are_left_out_when_asked(tmp_path):
    lines = ("conf-file=/nowhere/a", "conf-dir=/nowhere/d", "dhcp-hostsfile=/nowhere/h")
    file = tmp_path / "dnsmasq.conf"
    file.write_text("\n".join([*lines, "dhcp-range=10.0.0.1,10.0.0.9,"]), encoding="utf-8")
    with pytest.raises(LeaselabError, match=r"found /nowhere/a, and 2 more such"):
        read_own(file)
    own = read_own(file, ["unread-files"])
    assert own.left_out == ["unread-files"]
    assert "/nowhere" not in own.server["text"]


def test_the_file_is_a_scenario_that_the_lab_can_measure(tmp_path):
    catalogue = catalogue_in(tmp_path)
    for file in ("school", "dnsmasq6.conf"):
        assert measurable(DATA / file, catalogue).server.kind == "dnsmasq"


def test_an_option_without_a_value_is_left_to_dnsmasq(tmp_path):
    assert "shared-network\n" in of(tmp_path, "shared-network=").server["text"]
