"""``leaselab clients``: what it makes of captures."""

import cProfile
import gzip
import struct
import subprocess
import sys

import pytest
from tests import captures
from tests.captures import DAY, NOWHERE, PHONE, Capture, counted, mac, message4

from leaselab.cli.main import main
from leaselab.inputs.clients import census
from leaselab.inputs.clients.messages import Message
from leaselab.inputs.clients.sources import Packets, Reader, read_source

RELAY = "10.0.0.1"


@pytest.fixture
def traffic_of(tmp_path):
    """What the command writes of the clients of a family."""
    return lambda capture, family=4: counted(tmp_path, capture.pcap())[f"dhcpv{family}"]


def relayed(*messages):
    """A capture of what a relay sends, a message each second."""
    capture = Capture()
    for number, message in enumerate(messages):
        capture.from_relay4(DAY + number, message, RELAY)
    return capture


def discover(number=1, relay=NOWHERE, kind=1, options=PHONE, **head):
    """A message of a client with a number, from its relay where it has one."""
    return message4(kind, mac(number), number, options, relay, **head)


def refused(folder, content, capsys, command="clients"):
    """Why the command refuses a file."""
    (folder / "a.pcap").write_bytes(content)
    assert main([command, f"{folder}/a.pcap"]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("link", [*captures.HEADS, captures.RAW, *captures.LINKS.values()])
def test_every_link_is_read_and_what_is_behind_tags_and_labels(link, tmp_path, capsys):
    capture = captures.isp(captures.RAW if callable(link) else link)
    if callable(link):
        capture.frames = [(at, link(packet)) for at, packet in capture.frames]
        capture.link = captures.ETHERNET
    assert counted(tmp_path, capture.pcap()) == counted(tmp_path, captures.isp().pcap())
    assert "cut short" in refused(tmp_path, capture.pcap(50), capsys)


TUNNELLED = "in a tunnel that is not read"


@pytest.mark.parametrize("command", ["clients", "queries"])
@pytest.mark.parametrize("tunnel", captures.TUNNELS)
def test_packets_in_a_tunnel_are_counted_and_not_read(command, tunnel, tmp_path, capsys):
    packet = captures.house().frames[0][1][14:]
    frames = [(DAY, captures.TUNNELS[tunnel](packet))] * 3
    said = refused(tmp_path, Capture(frames=frames).pcap(), capsys, command)
    assert f"(found 3 {TUNNELLED} {tunnel}" in said
    assert "editcap -L -C BYTES" in said


def test_packets_in_a_tunnel_beside_others_are_counted_too(traffic_of, capsys):
    capture = captures.house()
    first = traffic_of(capture)
    inside = captures.TUNNELS["(VXLAN, port 4789)"]
    capture.frames += [(DAY, inside(frame[14:])) for _, frame in capture.frames[:2]]
    assert traffic_of(capture) == first
    assert f"2 {TUNNELLED} (VXLAN, port 4789)" in capsys.readouterr().err


def test_a_capture_comes_from_standard_input(tmp_path):
    (tmp_path / "a.pcap").write_bytes(captures.house().pcap())
    words = [sys.executable, "-m", "leaselab", "clients"]
    of_file = subprocess.run([*words, f"{tmp_path}/a.pcap"], capture_output=True, check=True)
    with (tmp_path / "a.pcap").open("rb") as file:
        of_stdin = subprocess.run([*words, "-"], stdin=file, capture_output=True, check=True)
    assert of_stdin.stdout == of_file.stdout
    done = subprocess.run([*words, "-"], input=b"no", capture_output=True, check=False)
    assert (done.returncode, b"leaselab: -: not a capture" in done.stderr) == (2, True)


def test_why_a_capture_was_not_read_to_its_end_is_said(tmp_path, capsys):
    whole = captures.house().pcapng()
    block = struct.pack("<II", 6, 1 << 30) + bytes(40)
    for end, said in ((b"\6\0", "within a packet"), (block, "early (pcapng block size")):
        assert counted(tmp_path, whole + end)["dhcpv4"]["clients"] == 3
        assert f"1 files end {said}" in capsys.readouterr().err


def test_a_capture_that_grows_has_an_end(tmp_path):
    """What is written after it was opened is left out: else reading might not end."""
    path, whole = tmp_path / "a.pcap", captures.house().pcap()
    path.write_bytes(whole)
    packets = Packets(path)
    with path.open("ab") as file:
        file.write(whole[24:] * 20)
    assert len(list(packets)) < 20
    assert packets.notes == ("grow while they are read: read up to their size",)


def test_subscribers_have_option_82_of_their_own_and_prefixes(tmp_path):
    file = counted(tmp_path, captures.isp().pcap())
    four, six = file["dhcpv4"], file["dhcpv6"]
    assert (four["clients"], four["relays"], six["clients"], six["relays"]) == (40, 2, 40, 2)
    assert four["shares"] == {"renew": 0.5, "new": 0.5}
    assert {kind["relay"] for kind in four["kinds"]} == {"240.0.0.1", "240.0.0.2"}
    names = [[1, "text:circuit-1-{client}"], [2, "text:remote-1-{client}"]]
    assert four["kinds"][0]["agent"] == names
    sent = [[code, f"hex:{value.hex()}"] for code, value in captures.CPE]
    assert four["kinds"][0]["options"][:2] == sent
    assert {kind["want"] for kind in six["kinds"]} == {"both"}
    assert six["kinds"][0]["agent"][0] == [18, "text:circuit-1-{client}"]


def test_a_campus_has_its_kinds_its_peak_and_what_was_sent_again(traffic_of):
    traffic = traffic_of(captures.campus())
    names = [(kind["name"], kind["clients"]) for kind in traffic["kinds"]]
    assert names == [("MSFT 5.0", 60), ("android-dhcp-13", 30), ("MSFT 5.0", 5)]
    assert traffic["kinds"][0]["agent"] == [[1, "text:circuit-1"]]
    assert traffic["peak"] == {"minute": 0, "per_s": round(70 / 60, 4), "shares": {"new": 1}}
    assert sum(map(sum, traffic["minutes"].values())) == traffic["exchanges"] == 190
    assert traffic["resent"] == round(10 / 290, 4)
    assert traffic["shares"]["release"] == round(5 / 190, 4)


def _solicit(capture, at, series):
    duid = b"\0\1\0\1\1\2\3\4" + mac(1)
    capture.on_link6(at, captures.message6(1, duid, series, [(6, b"\0\x17")]))


def _discover(capture, at, series):
    capture.broadcast4(at, discover(series, options=[*PHONE, (61, b"\1" + mac(1))]))


@pytest.mark.parametrize("adapters", [2, 12])
@pytest.mark.parametrize(("send", "family"), [(_solicit, 6), (_discover, 4)])
def test_each_series_of_a_client_with_several_adapters_is_one_exchange(
    send, family, adapters, traffic_of
):
    capture = Capture()
    for elapsed in (0, 1, 3, 7, 15, 31, 3600):
        for series in range(adapters):
            send(capture, DAY + elapsed + series / 100, series)
    traffic = traffic_of(capture, family)
    assert (traffic["clients"], traffic["exchanges"]) == (1, adapters)
    assert traffic["resent"] == round(6 / 7, 4)


def test_a_client_with_one_transaction_id_for_all_begins_each_time(traffic_of):
    capture = Capture()
    for day in range(3):
        for kind in (1, 3):
            more = [(54, b"\xc0\xa8\1\1")] if kind == 3 else []
            capture.broadcast4(DAY + 900 * day, discover(kind=kind, options=[*PHONE, *more]))
    traffic = traffic_of(capture)
    assert (traffic["exchanges"], traffic["resent"]) == (3, 0)


def test_a_client_with_one_transaction_id_renews_each_time(traffic_of):
    capture = Capture()
    for begun in (0, 900, 1800):
        for elapsed in (0, 4):
            asked = discover(kind=3, ciaddr="192.0.2.9", secs=elapsed)
            capture.broadcast4(DAY + begun + elapsed, asked)
            asked = captures.message6(11, b"\0\3\0\1" + mac(1), 1, [(8, bytes([0, elapsed]))])
            capture.on_link6(DAY + begun + elapsed, asked)
    for family in (4, 6):
        traffic = traffic_of(capture, family)
        assert (traffic["exchanges"], traffic["resent"]) == (3, 0.5)


@pytest.mark.parametrize("send", [_solicit, _discover])
def test_the_work_for_equal_messages_grows_as_their_number(send, tmp_path):
    capture, calls = Capture(), []
    send(capture, DAY, 1)
    for count in (200, 400, 600):
        (tmp_path / "a.pcap").write_bytes(Capture(frames=capture.frames * count).pcap())
        profile = cProfile.Profile()
        profile.runcall(read_source, Reader(), tmp_path / "a.pcap")
        calls.append(sum(entry.callcount for entry in profile.getstats()))
    assert calls[2] - calls[1] <= 1.01 * (calls[1] - calls[0])


def test_messages_beside_the_newest_are_bounded(monkeypatch):
    monkeypatch.setattr(census, "MOST_EARLIER", 8)
    known = census.Census(6)
    for xid in range(100):
        known.add(Message(6, "new", xid, b"one", ()), 1.0)
    assert len(known._earlier) == 8


def test_a_value_of_a_few_is_replaced_unless_it_is_asked_for(tmp_path):
    house, known = captures.house().pcap(), {b"MSFT 5.0", b"android-dhcp-13"}
    for words, vendors in (((), {b"x" * 8, b"x" * 15}), (("--shared", "1"), known)):
        kinds = counted(tmp_path, house, *words)["dhcpv4"]["kinds"]
        values = {dict(map(tuple, kind["options"]))[60] for kind in kinds}
        assert values == {f"hex:{vendor.hex()}" for vendor in vendors}


def test_makers_are_kept_where_they_are_asked_for_and_shared(tmp_path):
    campus = captures.campus().pcap()
    kinds = counted(tmp_path, campus, "--oui")["dhcpv4"]["kinds"]
    firsts = [f"ac:de:48:00:00:{last}" for last in ("00", "3c", "5a")]
    assert [kind["first_mac"] for kind in kinds] == firsts
    assert "ac:de:48" not in str(counted(tmp_path, campus))


def test_what_is_wrong_is_counted_and_skipped(tmp_path, capsys):
    file = counted(tmp_path, captures.wrong().pcap())
    counts = {"malformed": 3, "cut short": 2, "fragments": 2, "other protocols": 2}
    counts |= {"replies": 1}
    assert (file["skipped"], file["dhcpv4"]["clients"]) == (counts, 1)
    assert "2 fragments" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(captures.house().pcap()), "unknown file format (wanted pcap or pcapng); "
         "unpack it: gunzip a.pcap"),
        (b"\x28\xb5\x2f\xfd1234", "; unpack it: unzstd a.pcap"),
        (b"hello, I am a text", "a.pcap: text that is neither a lease file nor a log (wanted "),
        (b"2026-09-21 08:00:01 UTC lease 10.0.0.5", "; capture packets if Kea writes a "),
        (b"hello\0", "(wanted pcap or pcapng)\n"),
        (captures.house().pcapng(captures.SLL), "an interface has a type 113 different from "
         "the type of the first interface; save the "),
        (captures.house().pcap(96), "; capture whole packets: tcpdump -s 0"),
    ],
)  # fmt: skip
def test_what_is_no_capture_of_dhcp_is_refused_with_what_to_do(content, said, tmp_path, capsys):
    assert said in refused(tmp_path, content, capsys)


def test_messages_that_only_end_what_was_begun_before_are_said(tmp_path, capsys):
    capture, why = Capture(), "messages of DHCPv4 that begin no lease"
    asked = [(54, b"\xc0\xa8\1\1"), (50, b"\xc0\xa8\1\7")]
    capture.broadcast4(DAY, discover(kind=3, options=asked))
    assert f"(found 1 {why}, " in refused(tmp_path, capture.pcap(), capsys)
    capture.on_link6(DAY, captures.message6(1, b"\0\3\0\1" + mac(1), 1))
    file = counted(tmp_path, capture.pcap())
    assert (file["skipped"], file["dhcpv6"]["clients"]) == ({why: 1}, 1)
    assert "dhcpv4" not in file


def test_messages_that_relays_pass_on_are_not_sent_again(traffic_of):
    capture = Capture()
    capture.broadcast4(DAY, discover())
    for at in (0.1, 4):
        capture.from_relay4(DAY + at, discover(relay=RELAY), RELAY)
    traffic = traffic_of(capture)
    assert (traffic["exchanges"], traffic["resent"], traffic["relays"]) == (1, 0.5, 1)


def test_a_message_of_several_interfaces_of_a_capture_was_sent_once(traffic_of):
    capture = Capture()
    for kind, at in ((1, 0), (3, 0.01)):
        message = discover(kind=kind, options=[*PHONE, (54, bytes(4))], relay=RELAY)
        for more in (0, 2e-5, 4e-5):
            capture.from_relay4(DAY + at + more, message, RELAY)
    capture.from_relay4(DAY + 4, message, RELAY)
    traffic = traffic_of(capture)
    assert (traffic["exchanges"], traffic["resent"]) == (1, round(1 / 3, 4))
    assert "4 messages were seen again: relays passed them on, or copies" in traffic["notes"]


def test_the_relay_is_the_subnet_that_link_selection_names(traffic_of):
    links = [bytes([10, number % 4, 0, 1]) for number in range(10)] + [b"\x0a"] * 2
    agents = [[(1, b"port"), (5, link)] for link in links]
    messages = (discover(n, "192.0.2.1", agent=agent) for n, agent in enumerate(agents))
    traffic = traffic_of(relayed(*messages))
    assert traffic["relays"] == 5
    assert sorted(kind["clients"] for kind in traffic["kinds"]) == [2, 2, 2, 3, 3]
    assert not [note for note in traffic["notes"] if "option 5" in note]


STANDS = (11, b"\x0a\0\0\1")


@pytest.mark.parametrize(
    ("agent", "word"),
    [
        *(((), "rebind"), ([(1, b"port")], "rebind"), ([STANDS], "renew")),
        *(([STANDS, (10, b"\x80")], "renew"), ([STANDS, (10, b"\0")], "rebind")),
    ],
)
def test_renewals_through_a_relay_that_stands_for_the_server(agent, word, traffic_of):
    message = discover(kind=3, relay=RELAY, ciaddr="10.0.0.7", agent=agent)
    assert traffic_of(relayed(message))["shares"] == {word: 1}


def test_options_in_the_fields_of_names_are_read(traffic_of):
    """Option 52 says that they go on in `file` and in `sname` (RFC 2132)."""
    message = discover(options=[PHONE[2], (52, b"\3")])
    sname = (captures.option4(12, b"anna") + b"\xff").ljust(64, b"\0")
    file = (captures.option4(57, b"\5\xdc") + b"\xff").ljust(128, b"\0")
    capture = Capture()
    capture.broadcast4(DAY, message[:44] + sname + file + message[236:])
    (kind,) = traffic_of(capture)["kinds"]
    assert [code for code, _ in kind["options"]] == [55, 57, 12]


@pytest.mark.parametrize("more", [b"\xff", b"\x97\x09x"])
def test_an_option_82_of_several_parts_or_with_a_wrong_end_is_read(more, traffic_of):
    agent = captures.option4(1, b"port") + captures.option4(2, b"switch") + more
    message = discover(relay=RELAY, options=[*PHONE, (82, agent[:9]), (82, agent[9:])])
    (kind,) = traffic_of(relayed(message))["kinds"]
    assert [code for code, _ in kind["agent"]] == [1, 2]


def test_clients_without_a_duid_are_known_by_their_addresses_behind_relays(traffic_of):
    capture = Capture()
    for number in range(7):
        inside = struct.pack("!I", 11 << 24 | number) + captures.option6(6, b"\0\x17")
        relayed = captures.relayed6(inside, "2001:db8::1", f"fe80::{number}")
        outer = captures.relayed6(relayed, "::", "2001:db8::1", hops=1)
        capture.from_relay6(DAY + number, outer, "2001:db8::2")
    traffic = traffic_of(capture, 6)
    assert (traffic["clients"], traffic["shares"]) == (7, {"inform": 1})


@pytest.mark.parametrize(
    ("times", "per_s"),
    [
        ([n / 30 for n in range(30)], 30),  # a second
        ([20 + n for n in range(31)], 1),  # the end of a minute and the start of the next
        ([n / 10 for n in range(1300)], 10),
        ([*(20 + n / 2 for n in range(80)), *range(60, 90)], 2),  # more at its begin
        ([39, *(n for n in range(41, 72))], 1),  # few before a minute's end are no peak
    ],
)
def test_the_peak_of_a_short_capture_is_of_what_was_seen(times, per_s, traffic_of):
    capture = Capture()
    for number, at in enumerate(times):
        capture.broadcast4(DAY + at, discover(number))
    traffic = traffic_of(capture)
    assert traffic["peak"]["per_s"] == pytest.approx(per_s, rel=0.15)
    capture.ask(DAY + 600, b"query")
    of_more = traffic_of(capture)
    assert of_more["peak"]["per_s"] * 60 == pytest.approx(max(of_more["minutes"]["new"]), 0.01)


def test_a_clock_that_was_set_in_a_capture_hides_nothing(traffic_of):
    """Routers begin in 1970 and go on with the time of day."""
    capture = Capture()
    for number in range(9):
        capture.broadcast4(60 if number < 2 else DAY + 60 * number, discover(number))
    traffic = traffic_of(capture)
    assert traffic["minutes"] == {"new": [1] * 7}
    assert "minutes of the busiest week are listed" in traffic["notes"][0]


def test_option_82_of_a_switch_stays_without_a_relay(traffic_of):
    capture = Capture()
    for number in range(6):
        agent = [(1, b"port-%d" % number), (2, b"switch")]
        capture.broadcast4(DAY + number, discover(number, agent=agent))
    traffic = traffic_of(capture)
    [kind] = traffic["kinds"]
    assert traffic["relays"] == 0
    assert kind["agent"] == [[1, "text:circuit-0-{client}"], [2, "text:remote-0"]]


HARDWARE = bytes.fromhex("6d61726b6d61")


def marked():
    """Every field of some messages holds a mark of its own."""
    capture, fields = Capture(), [code for code in range(1, 255) if code not in (53, 54, 82)]
    agent = [(code, b"SUBMARK%d" % code) for code in (1, 2, 5, 6, 9, 12, 151)]
    options = [(code, b"MARK%d" % code) for code in fields]
    for kind in (1, 3, 4, 7, 8):
        payload = captures.message4(
            kind, HARDWARE, 77, options, "77.65.82.75", ciaddr="77.65.82.76", agent=agent
        )
        payload = payload[:44] + b"MARKNAME".ljust(64) + b"MARKFILE".ljust(128) + payload[236:]
        capture.from_relay4(DAY, payload, "77.65.82.75")
    options = [(code, b"MARK%d" % code) for code in range(2, 150) if code not in (9,)]
    agent = [(code, b"SUBMARK%d" % code) for code in (18, 37, 38, 79, 17)]
    for kind in (1, 3, 4, 5, 6, 8, 9, 11):
        inside = captures.message6(kind, b"\0\3\0\1" + HARDWARE, 77, options)
        link = "4d41:524b:4d41:524b:4d41:524b:4d41:524b"
        capture.from_relay6(DAY, captures.relayed6(inside, link, link, agent), link)
    return capture.pcap()


@pytest.mark.parametrize("words", [(), ("--oui",)])
def test_no_field_of_anybody_leaves_the_capture(words, tmp_path, capsys):
    counted(tmp_path, marked(), *words)
    text = (tmp_path / "c.yml").read_bytes().lower() + capsys.readouterr().err.lower().encode()
    assert text.count(b"dhcpv") >= 2
    for mark in (b"MARK", HARDWARE):
        for form in (mark, mark.hex().encode(), mark.hex(":").encode(), mark.hex("-").encode()):
            assert form.lower() not in text
    for address in (b"77.65.82", b"4d41:524b", b"1296126539"):
        assert address not in text
    # The same marks are seen where nothing is hidden, so this test can fail.
    file = counted(tmp_path, marked(), "--shared", "1")
    for family, named in ((4, {15, 66, 67, 97, 99, 119}), (6, {11, 23, 24, 36, 59})):
        (kind,) = file[f"dhcpv{family}"]["kinds"]
        assert named.isdisjoint(code for code, _ in kind["options"])
    assert b"MARK60".hex() in (tmp_path / "c.yml").read_text(encoding="utf-8")


def test_a_large_capture_is_read_in_bounded_memory(tmp_path):
    """Clients beyond the tables are counted without a place in them, and that is said."""
    path = tmp_path / "large.pcap"
    head = Capture().pcap()
    with path.open("wb") as file:
        file.write(head)
        for part in range(8):
            capture = Capture()
            for number in range(2000):
                own = captures.mac(2000 * part + number)
                vendor = [(60, b"serial-%d-%d" % (part, number)), (55, b"\1\3\6")]
                payload = captures.message4(1, own, number, vendor, "10.0.0.1")
                capture.from_relay4(DAY + part, payload, "10.0.0.1")
            file.write(capture.pcap()[len(head) :] * 4)
    words = ["clients", path, "-o", tmp_path / "c.yml"]
    limit = "from leaselab.inputs.clients import census; census.MOST_CLIENTS = 10_000"
    grown, _ = captures.memory_of(words, limit)
    assert path.stat().st_size > 20e6
    assert grown < 40_000  # KiB
    text = (tmp_path / "c.yml").read_text(encoding="utf-8")
    assert "table of clients full: 24000 messages" in text
    assert "table of kinds full" in text
