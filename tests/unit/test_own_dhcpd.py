"""A dhcpd.conf of the user's own: the lab's form of it, and what is refused."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.own import DATA, catalogue_in, measurable
from tests.own_dhcpd import made_of, of, refusal, reported_of

from leaselab.inputs.own import read_own
from leaselab.model.errors import LeaselabError


def test_a_campus_keeps_what_is_its_own():
    own = read_own(DATA / "dhcpd.conf")
    text = own.server["text"]
    for kept in (
        "log-facility local7;",
        "deny unknown-clients;",
        "{ unsigned integer 8 , text }",
    ):
        assert kept in text
    cached = "dhcp-cache-threshold: 0, as clients come back sooner than they would renew"
    assert own.changes.count(cached) == 1
    for gone in ("ping-check", "server-identifier", "omapi", "lease-file-name", "interface"):
        assert gone not in text
        assert any(change.startswith(gone) for change in own.changes)
    assert own.options == {"sync": True, "lease_lifetime_s": 7200}


def test_a_server_without_leases_is_asked_for_options_alone(tmp_path):
    made = read_own(DATA / "dhcpd6-stateless.conf")
    assert made.informs
    assert [(kind["name"], kind["clients"]) for kind in made.kinds] == [
        (f"2001:db8:{number}::/64", 1000) for number in (1, 2, 3)
    ]
    subnet = "subnet6 2001:db8:1::/64 {{ {} }}"
    with_range = subnet.format("range6 2001:db8:1::1 2001:db8:1::ff;")
    assert not made_of(tmp_path, with_range).informs


def test_an_address_that_dhcpd_writes_in_another_form_is_said(tmp_path):
    text = 'binary-to-ascii(16, 8, ":", substring(hardware, 1, 3)) = "{}"'
    own = of(tmp_path, top=f'class "a" {{ match if {text.format("00:15:65")}; }}')
    assert reported_of(own) == ['class "a": dhcpd writes no leading zeros']
    own = of(tmp_path, top=f'class "a" {{ match if {text.format("0:15:65")}; }}')
    assert own.kinds[0]["macs"][0] == "00:15:65:00:00:00"
    own = of(tmp_path, top=f'class "a" {{ match if not ({text.format("0:c:2")}); }}')
    assert own.unserved == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"\000foo", "00666f6f"),
        (r"\x0afoo\x0A", "0a666f6f0a"),
        (r"\001\x1b\0789", "011b00373839"),
        (r"a\"b\\c\t", "6122625c6309"),
    ],
)
def test_escapes_of_a_text_are_bytes(tmp_path, text, value):
    top = f"""class "it" {{ match if option user-class = "{text}"; }}
host a {{ option dhcp-client-identifier "{text}"; fixed-address 10.0.0.5; }}"""
    member, _, reserved = of(tmp_path, top=top).kinds
    assert [77, f"hex:{value}"] in member["options"]
    assert [61, f"hex:{value}"] in reserved["options"]


def test_a_setting_without_a_value_is_left_to_dhcpd(tmp_path):
    own = of(tmp_path, top="default-lease-time;\ndont-use-fsync;")
    assert own.options == {"sync": True}


def test_numbers_and_words_are_those_that_dhcpd_reads(tmp_path):
    text = (
        "SUBNET 010.001.000.000 NETMASK 255.255.255.0 { Pool { Deny Unknown-Clients;\n"
        "  Range 010.001.000.099 010.001.000.080; } RANGE 10.1.0.9 10.1.0.8; }\n"
        "Host a { Hardware Ethernet 0:1:2:3:4:5; Fixed-Address 010.001.000.200; }\n"
    )
    own = made_of(tmp_path, text)
    assert [(kind["name"], kind["clients"]) for kind in own.kinds] == [
        ("10.1.0.0/24", 1),
        ("10.1.0.0/24, reserved", 1),
    ]
    assert own.addresses == 22
    assert "Range 10.1.0.99 10.1.0.80;" in own.server["text"]


@pytest.mark.parametrize(
    ("word", "top"),
    [
        ("failover", 'failover peer "two" { primary; }'),
        ("ddns", "ddns-update-style interim;"),
        ("ddns", "zone example.org. { primary 192.0.2.1; }"),
        ("execute", 'on commit { execute ("/usr/bin/logger", "x"); }'),
        ("ldap", 'ldap-server "ldap.example.org";'),
    ],
)
def test_what_speaks_to_others_is_refused_with_its_line_or_left_out(tmp_path, word, top):
    message = refusal(tmp_path, top=f"\n{top}")
    assert "small.conf:2: " in message
    assert f"--without {word}" in message
    own = of(tmp_path, top=top, without=[word])
    assert own.left_out == [word]
    assert own.server["text"].startswith("subnet ")


@pytest.mark.parametrize(
    ("call", "left"),
    [
        ('execute("/bin/log", "x");', "subnet "),
        ('if(exists user-class) { execute("/bin/log"); } else { max-lease-time 60; }', "if("),
    ],
)
def test_a_program_that_is_run_anywhere_is_left_out_alone(tmp_path, call, left):
    """Where a condition runs it, what else that has stays: an else without its if is none."""
    assert "small.conf:1: execute: " in refusal(tmp_path, top=call)
    text = of(tmp_path, top=call, without=["execute"]).server["text"]
    assert text.startswith(left)
    assert "execute" not in text
    assert text.count("else {") == text.count("if(")


def test_no_dns_is_asked_for_names_in_options(tmp_path):
    """As it replies dhcpd waits for DNS, once a minute for a name that is not there."""
    top = """
    option domain-name-servers ns1.example.org, 10.0.0.2, gate;
    option my-servers code 200 = text;
    option my-servers "one.example.org";
    option log-servers = encode-int(1, 32);
    next-server boot.example.org;
    get-lease-hostnames true;
    """
    own = of(tmp_path, "option routers gate.example.org;", top=top)
    for kept in (
        "option domain-name-servers 192.0.2.1 , 10.0.0.2 , 192.0.2.1;\n",
        "option my-servers code 200 = text;\n",
        'option my-servers "one.example.org";\n',
        "option log-servers = encode-int(1 , 32);\n",
        "next-server 192.0.2.1;\n",
        "option routers 192.0.2.1;\n",
    ):
        assert kept in own.server["text"]
    assert "get-lease-hostnames" not in own.server["text"]
    said = "192.0.2.1 instead of a name, as no DNS is asked"
    for name in ("option domain-name-servers", "next-server", "option routers"):
        assert own.changes.count(f"{name}: {said}") == 1
    assert len([change for change in own.changes if "no DNS" in change]) == 4


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("range 10.0.0.9;;;", ""),
        ("} }", "small.conf:2: not a dhcpd.conf: a } that belongs to no statement"),
        (
            '\noption domain-name "a;',
            "small.conf:3: not a dhcpd.conf: a text in quotes without",
        ),
        ("{", "small.conf:2: not a dhcpd.conf: a { that belongs to no statement"),
        (
            "range 10.0.0.9 }",
            "small.conf:2: not a dhcpd.conf: a } that belongs to no statement",
        ),
        ('include "more.conf";', "small.conf:2: a file that it names is not here"),
        ("\nrange 10.0.0.9 10.0.0.800;", "small.conf:3: not a range as dhcpd has them"),
        ("range;", "small.conf:2: not a range as dhcpd has them"),
        ("\nmax-lease-time 10000000000000000;", "small.conf:3: not a lease time as dhcpd has"),
        ("default-lease-time -1;", "small.conf:2: not a lease time as dhcpd has them"),
        (f"min-lease-time {'9' * 5000};", "small.conf:2: not a lease time as dhcpd has them"),
        ("range 10.0.0.9 10.0.0.10 10.0.0.11;", "small.conf:2: not a range as dhcpd has"),
        ("\nrange 10.0.0.9 10.0.1.1;", "small.conf:3: a range beyond its subnet 10.0.0.0/24"),
        ("pool {\nrange 10.0.1.9; }", "small.conf:3: a range beyond its subnet 10.0.0.0/24"),
        (
            "} subnet 10.0.1.1 netmask 255.255.255.0 {",
            "small.conf:2: not a subnet as dhcpd has them",
        ),
        (
            """} shared-network a { subnet 10.1.0.0 netmask 255.255.255.0 { }
pool { range 10.1.0.5;
range 10.1.1.0; }""",
            "small.conf:4: a range beyond the subnets of its network (found 10.1.1.0 to",
        ),
        ("deny unknown-clients;", "the server would answer no client"),
        ("subnet6 2001:db8::/64 { }", "subnets of both families"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, more, message):
    if message:
        assert message in refusal(tmp_path, more)
    else:
        assert of(tmp_path, more).addresses == 201


def test_included_files_are_read_beside_it(tmp_path):
    (tmp_path / "more.conf").write_text('\n failover peer "x";\n', encoding="utf-8")
    assert "more.conf:2: failover" in refusal(tmp_path, 'include "more.conf";')
    (tmp_path / "more.conf").write_text("range 10.0.0.220 10.0.0.229;", encoding="utf-8")
    assert of(tmp_path, 'include "more.conf";').addresses == 210
    (tmp_path / "more.conf").write_text('include "more.conf";', encoding="utf-8")
    assert "included too deeply" in refusal(tmp_path, 'include "more.conf";')


def test_files_that_are_not_here_are_left_out_when_asked(tmp_path):
    top = 'include "/nowhere/a.key";\ninclude "/nowhere/b.key";'
    reported = refusal(tmp_path, top=top)
    assert ":1: a file that it names is not here (found /nowhere/a.key; " in reported
    assert "small.conf:2: /nowhere/b.key); " in reported
    assert reported.endswith("--config FOLDER, or leave it out: --without unread-files")
    own = of(tmp_path, top=top, without=["unread-files"])
    assert own.left_out == ["unread-files"]
    assert "a file that it names: not read, and left out" in own.changes


def test_a_file_in_latin_1_is_read_and_a_byte_order_mark_said(tmp_path):
    of(tmp_path)
    file = tmp_path / "small.conf"
    text = file.read_bytes()
    file.write_bytes(b"# caf\xe9, \x93new\x94\n" + text)
    own = read_own(file)
    assert own.changes[-1] == "a file: UTF-8 instead of Windows-1252 or Latin-1"
    assert own.kinds
    for marked in (b"\xef\xbb\xbf" + text, text.decode().encode("utf-16")):
        file.write_bytes(marked)
        with pytest.raises(LeaselabError, match=r"small.conf:1: begins with a byte-order mark"):
            read_own(file)


def test_an_absolute_name_is_looked_for_beside_the_file(tmp_path):
    """Where two files of one folder are servers' own, neither can be named by the folder."""
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys/more.conf").write_text("range 10.0.0.220 10.0.0.229;", encoding="utf-8")
    assert of(tmp_path, 'include "/etc/dhcp/keys/more.conf";').addresses == 210


def test_keys_of_other_hosts_are_in_no_file_of_the_lab(tmp_path):
    top = 'key "k" { algorithm hmac-md5; secret c2VjcmV0; }; omapi-key k;'
    own = of(tmp_path, top=top)
    assert own.server["text"].startswith("subnet")
    assert "key: none, as no other host is contacted" in own.changes


def test_nothing_is_left_out_that_is_not_there(tmp_path):
    assert "--without ddns: the configuration has no such part" in refusal(
        tmp_path, without=["ddns"]
    )


def test_a_file_without_a_wait_for_the_disk_is_of_another_durability(tmp_path):
    assert of(tmp_path, top="dont-use-fsync true;").options["sync"] is False


def test_the_file_is_a_scenario_that_the_lab_can_measure(tmp_path):
    catalogue = catalogue_in(tmp_path)
    for file in ("dhcpd.conf", "dhcpd6.conf"):
        assert measurable(DATA / file, catalogue).server.kind == "isc_dhcpd"


@given(data=st.data())
def test_a_changed_file_is_read_or_refused(tmp_path_factory, data):
    text = (DATA / "dhcpd.conf").read_text("utf-8")
    at = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 40))
    put = data.draw(st.text(alphabet='{}; "\\,/#=09az.:\n', max_size=8))
    file = tmp_path_factory.mktemp("changed") / "small.conf"
    file.write_text(text[:at] + put + text[at + length :], encoding="utf-8")
    with contextlib.suppress(LeaselabError):
        assert read_own(file).kinds
