"""A dnsmasq.conf of the user's own: the lab's form of it, and the clients that fit it."""

import pytest
from tests.own import DATA, catalogue_in, measurable, refusals_of

from leaselab.inputs.own import read_own
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
    assert "dhcp-range: a tag instead of an interface's: the test network" in own.changes
    assert own.options == {"backend": "file", "lease_lifetime_s": 43200, "since": "2.80"}
    assert own.refuses


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
    sent = {"cable": [124, "hex:0000118b09086c656173656c6162"], "guest": [12, "hex:6775657374"]}
    for number, tag in ((30, "cable"), (32, "guest")):
        assert held[f"192.168.{number}.0/24", tag]["options"][1] == sent[tag]
    assert not [line for line in own.unserved if "classes.conf" in line]


@pytest.mark.parametrize(
    ("test", "sent"),
    [
        ("60,docsis", "hex:646f63736973"),
        ("option:vendor-class,PXEClient:Arch", "hex:505845436c69656e743a41726368"),
        ("43,01:*:02", "hex:010002"),
        ("93,00:07", "hex:0007"),
        ("93,7", "hex:0007"),
        ("93", ""),
        ("61,01:02", ""),
        ("50,10.0.0.1", ""),
        ("60,a,b", ""),
        ("vi-encap:x", ""),
        ("vi-encap:9,ab", "hex:0000000903026162"),
    ],
)
def test_a_client_sends_what_a_match_asks_for(tmp_path, test, sent):
    own = of(tmp_path, f"dhcp-match=set:it,{test}")
    [values] = [kind["options"][1:] for kind in own.kinds if "it" in kind["name"]] or [[]]
    assert [value for _, value in values] == ([sent] if sent else [])
    assert bool(own.unserved) == (not sent)


def test_clients_of_a_makers_class_have_its_prefix_and_differ():
    macs = [
        mac
        for kind in read_own(DATA / "school").kinds
        if "tablet" in kind["name"]
        for mac in kind["macs"]
    ]
    assert all(mac.startswith("a0:b1:c2:") for mac in macs)
    assert len(set(macs)) == len(macs) == 7


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


def test_a_range_whose_addresses_another_server_gives_is_said_to_be_one(tmp_path):
    file = tmp_path / "small.conf"
    file.write_text("dhcp-range=10.0.0.0,proxy\npxe-service=x86PC,boot,a\n")
    with pytest.raises(LeaselabError, match=r"another server gives its addresses \(proxy\)"):
        read_own(file)


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


@pytest.mark.parametrize(
    ("lines", "kinds"),
    [
        (["*:*:*:*:*:*,ignore", "0:c:29:aa:0:1,10.0.0.5"], {", reserved": 1}),
        (["*:*:*:*:*:*,ignore", "b8:27:eb:*:*:*,set:pi"], {", pi": 100}),
        (["00:15:*:*:*:*,ignore"], {"": 100}),
        (["00:15:*:*:*:*,ignore", "00:15:65:*:*:*,2h,set:off"], {"": 50, ", voip": 50}),
        (["tag:voip,*:*:*:*:*:*,ignore", "00:15:65:*:*:*,2h"], {"": 100}),
    ],
)
def test_a_client_is_ignored_where_the_closest_host_says_so(tmp_path, lines, kinds):
    """That with the fewest octets of any value, but one for a tag comes first."""
    own = of(
        tmp_path,
        "dhcp-mac=set:voip,00:15:65:*:*:*",
        *(f"dhcp-host={line}" for line in lines),
    )
    assert counted(own) == {f"10.0.0.0/24{of}": count for of, count in kinds.items()}


def test_clients_of_a_maker_have_no_address_that_another_host_names(tmp_path):
    named = ("00:15:65:00:00:00,ignore", "00:15:65:01:*:*,ignore", "00:15:65:02:00:00,10.0.0.5")
    own = of(
        tmp_path,
        "dhcp-mac=set:voip,00:15:65:*:*:*",
        *(f"dhcp-host={line}" for line in named),
    )
    macs = [mac for kind in own.kinds for mac in kind.get("macs", ())]
    assert len(set(macs)) == len(macs) == 51
    assert not [mac for mac in macs if mac.startswith(("00:15:65:01", "00:15:65:00:00:00"))]


def hosts(first, count, more=""):
    """Hosts with addresses from 10.0.0.FIRST, or without where that is 0."""
    return [
        f"dhcp-host=00:0c:29:aa:{number // 256}:{number % 256:x}{more}"
        + (f",10.0.{(first + number) // 256}.{(first + number) % 256}" if first else "")
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("lines", "kinds", "said"),
    [
        (hosts(10, 180), {", reserved": 180, "": 10}, ""),
        (hosts(10, 180, ",ignore"), {"": 10}, ""),
        (hosts(10, 200), {", reserved": 200}, "clients with reservations have all its addr"),
        (hosts(0, 30), {", reserved": 30, "": 70}, ""),
        (hosts(0, 130), {", reserved": 100}, "small.conf:101 and 29 more: no room in half"),
        (hosts(1, 5), {", reserved": 5, "": 100}, ""),
        (["dhcp-lease-max=50", *hosts(10, 48)], {", reserved": 48, "": 1}, ""),
        (
            ["dhcp-lease-max=50", *hosts(10, 60)],
            {", reserved": 50},
            "dhcp-lease-max 50: no lease for 10 more reservations",
        ),
    ],
)
def test_other_clients_have_half_of_what_reservations_leave(tmp_path, lines, kinds, said):
    own = of(tmp_path, *lines)
    assert counted(own) == {f"10.0.0.0/24{of}": count for of, count in kinds.items()}
    assert own.addresses >= 2 * own.clients
    assert said in "".join(own.unserved)
    assert bool(said) == bool(own.unserved)


def test_hosts_without_an_address_are_where_there_is_room(tmp_path):
    small = "dhcp-range=10.1.0.10,10.1.0.29,255.255.255.0"
    own = of(tmp_path, small, *hosts(0, 50), "dhcp-range=tag:it,10.2.0.1,10.2.0.250")
    assert counted(own) == {
        "10.1.0.0/24": 10,
        "10.0.0.0/24": 50,
        "10.0.0.0/24, reserved": 50,
    }


def test_a_client_with_an_address_on_each_network_comes_on_one(tmp_path):
    """dnsmasq ends its lease on the other one, and refuses to renew that."""
    names = [f"dhcp-host=00:0c:29:aa:0:{number},10.{number % 2}.0.5" for number in (1, 2)]
    again = ["dhcp-host=00:0c:29:aa:0:1,10.1.0.6", "dhcp-host=id:01:02,10.0.0.6"]
    own = of(tmp_path, "dhcp-range=10.1.0.10,10.1.0.29,255.255.255.0", *names, *again, *again)
    held = [kind for kind in own.kinds if "reserved" in kind["name"]]
    macs = [mac for kind in held for mac in kind.get("macs", ["by its identifier"])]
    assert sorted(macs) == ["00:0c:29:aa:00:01", "00:0c:29:aa:00:02", "by its identifier"]
    [said] = own.unserved
    assert "small.conf:4: dhcp-host 00:0c:29:aa:0:1,10.1.0.6: the first of 3 whose " in said


def test_a_host_part_is_an_address_of_a_range_of_64_bits(tmp_path):
    file = tmp_path / "small.conf"
    host = "dhcp-host=id:00:01:02,[::105]\n"
    for length, kinds in ((64, {"": 1, ", reserved": 1}), (96, {"": 2})):
        file.write_text(f"{host}dhcp-range=2001:db8::102,2001:db8::105,{length}\n", "utf-8")
        held = counted(read_own(file))
        assert held == {f"2001:db8::/{length}{of}": count for of, count in kinds.items()}


@pytest.mark.parametrize(
    ("rules", "kinds"),
    [
        (["set:x,set:bad,tag:a"], {"": 100}),
        (["tag:a,set:bad"], {"": 100}),
        (["set:x,tag:a", "tag:x,set:bad"], {"": 100}),
        (["tag:x,set:bad", "set:x,tag:a"], {"": 50, ", a": 50}),
        (["set:x,tag:a,tag:!b", "set:bad,tag:b"], {"": 50, ", a": 50}),
    ],
)
def test_rules_set_all_their_tags_one_after_the_other(tmp_path, rules, kinds):
    lines = [f"tag-if={rule}" for rule in rules]
    own = of(tmp_path, "dhcp-vendorclass=set:a,ab", *lines, "dhcp-ignore=tag:bad")
    assert counted(own) == {f"10.0.0.0/24{of}": count for of, count in kinds.items()}


def test_the_ranges_of_all_interfaces_of_a_line_are_on_the_test_network(tmp_path):
    guests = "dhcp-range=tag:br-guest,10.1.0.10,10.1.0.209,255.255.255.0"
    own = of(tmp_path, "interface=br-lan,br-guest", guests)
    assert counted(own) == {"10.1.0.0/24": 100, "10.0.0.0/24": 100}


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
    reported = refusal(tmp_path, "", line)
    assert "small.conf:2: " in reported
    assert reported.endswith(f": --without {word}")
    own = of(tmp_path, line, without=[word])
    assert own.left_out == [word]
    assert line.partition("=")[2] not in own.server["text"] or not line.partition("=")[2]


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        (
            "dhcp-range=10.0.0.0,proxy\nenable-tftp",
            r"\S*conf:1: 10.0.0.0/8: another server gives its addresses \(proxy\), wanted",
        ),
        (
            "dhcp-range=::1,::ff,constructor:eth0\ndhcp-script=a",
            r"\S*conf:1: its prefix is that of an interface of your host, wanted",
        ),
    ],
)
def test_nothing_is_to_be_left_out_of_a_file_that_serves_nobody(tmp_path, text, reported):
    file = tmp_path / "small.conf"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(LeaselabError, match=rf"answer no client \(found {reported}"):
        read_own(file)


def test_addresses_of_overlapping_ranges_are_shared(tmp_path):
    """Of 200 and 100 addresses, 50 of which are of both; the last is alone."""
    other = "dhcp-range=10.0.0.160,10.0.1.3,255.255.252.0"
    alone = "dhcp-range=10.9.0.1,10.9.0.100,255.255.255.0"
    own = of(tmp_path, other, alone, "dhcp-host=0:1:2:3:4:5,10.9.0.7")
    assert counted(own) == {
        "10.0.0.0/24": 83,
        "10.0.0.0/22": 41,
        "10.9.0.0/24": 49,
        "10.9.0.0/24, reserved": 1,
    }
    assert own.addresses == 250 + 99
    assert of(tmp_path, RANGE).addresses == 200


def test_a_text_in_quotes_is_what_dnsmasq_makes_of_it(tmp_path):
    for text in (r'"a\\" # "b', r'"a\" # b"', '"a" # "'):
        assert of(tmp_path, f"dhcp-option=15,{text}").clients == 100
    for text in ('"a # b', r'"a\"', r'"\"a\\\"'):
        said = "small.conf:2: a text in quotes without an end"
        assert said in refusal(tmp_path, "", f"dhcp-option=15,{text}")


def test_a_range_of_the_other_family_without_addresses_is_said(tmp_path):
    own = of(tmp_path, "dhcp-range=::,constructor:eth0,ra-names,ra-stateless,64")
    assert own.left_out == []
    assert "dhcp-range: no router is advertised" in own.changes


def test_a_server_without_leases_is_asked_for_options_alone():
    made = read_own(DATA / "dnsmasq-stateless.conf")
    assert made.informs
    assert counted(made) == {
        "2001:db8:1::/64": 500,
        "2001:db8:1::/64, box": 500,
        "2001:db8:ffff:1::/64": 500,
        "2001:db8:ffff:1::/64, box": 500,
        "2001:db8:2::/64": 500,
        "2001:db8:2::/64, box": 500,
    }
    assert made.unserved == []
    assert made.server["text"].count("static") == 3
    assert "dhcp-range: a prefix of the lab instead of an interface's" in made.changes


@pytest.mark.parametrize(
    "lease", ["dhcp-host=id:1:2,[2001:db8:2::5]", "dhcp-range=2001:db8:3::1,2001:db8:3::ff"]
)
def test_a_range_without_leases_beside_others_has_no_clients(tmp_path, lease):
    file = tmp_path / "small.conf"
    file.write_text(f"dhcp-range=2001:db8:2::,static\n{lease}\n", encoding="utf-8")
    assert not read_own(file).informs


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
        ("dhcp-range=net.5,net.9,255.255.255.0", "small.conf:1: not a range as dnsmasq has"),
        ("dhcp-range=", "small.conf:1: not a range as dnsmasq has them"),
        ("dhcp-range=10.0.0.1,10.0.0.300", "small.conf:1: not a range as dnsmasq has them"),
        ("conf-file=/nowhere/x.conf", "small.conf:1: a file that it names is not here"),
        ("dhcp-hostsfile=", "small.conf:1: a file that it names is not here (found no name)"),
        ("dhcp-hostsdir=", "small.conf:1: a file that it names is not here (found no name)"),
        ("dhcp-ignore=tag:!known", "a client of it needs a tag that is not ignored"),
        ("dhcp-hostsfile=/dev/zero", "small.conf:1: a file that it names is outside"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, line, reported):
    if reported == "the server would answer":
        assert of(tmp_path, line).addresses == 200
        return
    assert reported in refusal(tmp_path, line)


def test_a_file_is_read_once_however_often_it_is_named(tmp_path):
    """As dnsmasq does; it refuses a second dhcp-lease-max."""
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "pools").write_text(
        "dhcp-lease-max=500\ndhcp-range=10.1.0.10,10.1.0.209,255.255.255.0\n", "utf-8"
    )
    (tmp_path / "again").symlink_to(folder / "pools")
    lines = [
        "conf-file=/dev/null",
        "conf-dir=more",
        "conf-dir=more,.bak",
        "conf-file=again",
        "conf-file=small.conf",
    ]
    own = of(tmp_path, *lines)
    assert own.server["text"].splitlines()[0] == "dhcp-lease-max=500"
    assert counted(own) == {"10.1.0.0/24": 100, "10.0.0.0/24": 100}
    (folder / "self").write_text("conf-dir=.\n", "utf-8")
    assert counted(of(tmp_path, *lines)) == counted(own)


def test_files_that_are_not_here_are_left_out_when_asked(tmp_path):
    lines = ("conf-file=/nowhere/a", "conf-dir=/nowhere/d", "dhcp-hostsfile=/nowhere/h")
    file = tmp_path / "dnsmasq.conf"
    file.write_text("\n".join([*lines, "dhcp-range=10.0.0.1,10.0.0.9,"]), encoding="utf-8")
    with pytest.raises(LeaselabError, match=r"found /nowhere/a; .*:2: /nowhere/d; .*:3: .*h\)"):
        read_own(file)
    own = read_own(file, ["unread-files"])
    assert own.left_out == ["unread-files"]
    assert "/nowhere" not in own.server["text"]


def test_the_file_is_a_scenario_that_the_lab_can_measure(tmp_path):
    catalogue = catalogue_in(tmp_path)
    for file in ("school", "dnsmasq6.conf"):
        assert measurable(DATA / file, catalogue).server.kind == "dnsmasq"


def test_no_offer_waits_for_those_of_other_servers(tmp_path):
    """dnsmasq answers nobody else meanwhile."""
    own = of(tmp_path, "dhcp-mac=set:pi,b8:27:eb:*:*:*", "dhcp-reply-delay=tag:pi,2")
    assert "delay" not in own.server["text"]
    said = "dhcp-reply-delay: none, as clients take the first answer that they get"
    assert said in own.changes


def test_an_option_without_a_value_is_left_to_dnsmasq(tmp_path):
    assert "shared-network\n" in of(tmp_path, "shared-network=").server["text"]
