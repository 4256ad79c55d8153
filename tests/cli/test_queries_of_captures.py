"""``leaselab queries``: what a file of queries has of a capture, and what it has not."""

import struct

import pytest
from tests import captures
from tests.captures import DAY, Capture

from leaselab.cli.main import main
from leaselab.inputs.clients.frames import Datagram, Segment
from leaselab.inputs.queries import capture as reading
from leaselab.inputs.queries import resolvers
from leaselab.inputs.queries.file import read_queries
from leaselab.inputs.queries.resolvers import Resolvers
from leaselab.inputs.queries.streams import Streams
from leaselab.model.errors import LeaselabError

A, MX, HTTPS, AXFR, CAA = 1, 15, 65, 252, 257


def query(name, kind=A, edns=None, **head):
    """A query as a client sends it; `edns` is the flags of its OPT record."""
    labels = [label.encode("latin-1") for label in name.split(".") if label]
    question = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    question += struct.pack("!HH", kind, head.get("of", 1))
    opt = b"" if edns is None else b"\0" + struct.pack("!HHBBHH", 41, 1232, 0, 0, edns, 0)
    counts = (head.get("questions", 1), 0, 0, len(opt) > 0)
    return struct.pack("!HH4H", 7, head.get("flags", 0x100), *counts) + question + opt


def morning(link=captures.ETHERNET):
    """Queries of two families, answers, and what is wrong."""
    capture = Capture(link)
    capture.ask(DAY, query("www.anna.example"))
    capture.ask(DAY, query("WWW.Anna.Example", MX, edns=0x8000))
    capture.ask(DAY, query("mail.anna.example", CAA, edns=0))
    capture.ask(DAY, query("b.example", HTTPS), "2001:db8::7", "2001:db8::53")
    capture.ask(DAY, query(""))
    capture.ask(DAY, query("a", flags=0x8180), "192.0.2.53", "192.0.2.7", (53, 40_000))
    capture.ask(DAY, query("a", AXFR))
    capture.ask(DAY, query("a", of=3))
    capture.ask(DAY, query("a", flags=0x2800))
    capture.ask(DAY, query("a", questions=0))
    capture.ask(DAY, query("a")[:-3])
    capture.ask(DAY, query("a"), ports=(40_000, 5353))
    return capture


def read(tmp_path, capture, *words):
    """The lines that the command writes of a capture."""
    (tmp_path / "a.pcap").write_bytes(capture)
    assert main(["queries", f"{tmp_path}/a.pcap", "-o", f"{tmp_path}/q.txt", *words]) == 0
    return (tmp_path / "q.txt").read_text(encoding="ascii").splitlines()


KEPT = ["www.anna.example. A", "WWW.Anna.Example. MX", "mail.anna.example. TYPE257"]
KEPT += ["b.example. HTTPS", ". A"]


@pytest.mark.parametrize("form", ["pcap", "pcapng"])
@pytest.mark.parametrize(
    "link",
    [captures.ETHERNET, captures.SLL, captures.SLL2, captures.RAW, *captures.LINKS.values()],
)
def test_queries_of_every_link_and_family_are_read(link, form, tmp_path):
    capture = morning(captures.RAW if callable(link) else link)
    if callable(link):
        capture.frames = [(at, link(packet)) for at, packet in capture.frames]
        capture.link = captures.ETHERNET
    assert read(tmp_path, getattr(capture, form)(), "--keep", ".") == KEPT


def test_what_was_there_and_what_was_skipped_is_said(tmp_path, capsys):
    read(tmp_path, morning().pcap())
    printed = capsys.readouterr().err
    assert "5 queries: 2 A, 1 MX, 1 TYPE257, 1 HTTPS" in printed
    assert "with EDNS 40.0% (--edns), with DO 20.0% (--dnssec-ok)" in printed
    skipped = "4 other messages of these ports, 1 answers, 1 malformed, 1 other protocols"
    assert skipped in printed


def streamed(*parts, **more):
    """A capture of segments of one connection: where each is, and what it carries."""
    capture, start = Capture(), 2**32 - 5
    capture.add(DAY, captures.segment(b"", start - 1, 2, **more))
    for place, part in parts:
        capture.add(DAY, captures.segment(part, start + place, **more))
    return capture


A_TCP, B_TCP = (
    struct.pack("!H", len(each)) + each for each in map(query, ("a.test", "b.test"))
)
BOTH = A_TCP + B_TCP


@pytest.mark.parametrize(
    ("parts", "names"),
    [
        ([(0, BOTH)], "ab"),
        ([(0, A_TCP), (len(A_TCP), B_TCP)], "ab"),
        ([(place, BOTH[place : place + 1]) for place in range(len(BOTH))], "ab"),
        ([(0, BOTH[:1]), (1, BOTH[1:30]), (30, BOTH[30:])], "ab"),
        ([(0, BOTH[:9]), (0, BOTH[:9]), (3, BOTH[3:])], "ab"),  # sent again
        ([(0, A_TCP[:9]), (len(A_TCP), B_TCP)], "b"),  # one is missing
        ([(0, b"\xff\xff" + bytes(50)), (52, B_TCP)], "b"),  # no query
        ([(0, A_TCP), (-(1 << 30), B_TCP)], "ab"),  # another connection
    ],
)
@pytest.mark.parametrize("ends", [("192.0.2.7", "192.0.2.53"), ("2001:db8::7", "2001:db8::53")])
def test_queries_over_tcp_are_put_together(parts, names, ends, tmp_path, capsys):
    capture = streamed(*parts, ends=ends)
    capture.add(DAY, captures.segment(A_TCP, 7, ports=(53, 40_000), ends=ends[::-1]))
    lines = read(tmp_path, capture.pcap(), "--keep", ".")
    assert lines == [f"{name}.test. A" for name in names]
    assert "over TCP 100.0%" in capsys.readouterr().err
    assert read(tmp_path, morning().pcap())
    assert "over TCP 0.0%" in capsys.readouterr().err


def test_segments_that_end_no_query_are_counted(tmp_path, capsys):
    capture = streamed((0, A_TCP[:5]), (5, A_TCP[5:]))
    capture.add(DAY, captures.segment(b"", 9, ports=(40_001, 853)))
    read(tmp_path, capture.pcap())
    printed = capsys.readouterr().err
    assert "2 segments of TCP that end no query, 1 segments of TLS" in printed


def test_connections_that_stay_open_take_no_more_memory():
    streams = Streams()
    for port in range(5000):
        for number, part in ((0, A_TCP[:9]), (9, A_TCP[9:20])):
            held = Datagram(4, b"a", b"b", part, Segment((port, 53), number, begins=False))
            assert streams.add(held) == []
    last = [
        streams.add(Datagram(4, b"a", b"b", A_TCP[20:], Segment((port, 53), 20, begins=False)))
        for port in (0, 4999)
    ]
    assert last == [[], [query("a.test")]]


def test_a_query_of_several_interfaces_of_a_capture_was_asked_once(tmp_path, capsys):
    capture = Capture(captures.SLL2)
    for at in (0, 2e-5, 4e-5, 1):
        capture.ask(DAY + at, query("a.test"))
    capture.ask(DAY + 1, query("a.test"), "192.0.2.8")
    assert read(tmp_path, capture.pcap(), "--keep", ".") == ["a.test. A"] * 3
    assert "2 copies, of another interface" in capsys.readouterr().err


RESOLVER, AUTHORITY, CLIENT = "192.0.2.53", "203.0.113.53", "192.0.2.7"


def resolved(client=CLIENT, resolver=RESOLVER):
    """A client's query, that of its resolver, and both answers; then another query."""
    capture = Capture()
    capture.ask(DAY - 0.5, query("own.test", edns=0), resolver, AUTHORITY)
    capture.ask(DAY, query("a.test"), client, resolver)
    capture.ask(DAY + 0.1, query("a.test", edns=0), resolver, AUTHORITY)
    capture.ask(DAY + 0.2, query("a", flags=0x8180), AUTHORITY, resolver, (53, 40_000))
    capture.ask(DAY + 0.3, query("a", flags=0x8180), resolver, client, (53, 40_000))
    capture.ask(DAY + 2, query("b.test"), client, resolver)
    return capture


OUTSIDE = "198.51.100.9"
"""From where a resolver asks that answers elsewhere."""


@pytest.mark.parametrize(
    ("recursion", "asking", "left_out"),
    [
        (0, OUTSIDE, 3),  # of authorities
        (0x100, OUTSIDE, 3),  # of another resolver, as a forwarder does
        (0x100, "2001:db8::7", 0),  # a client that asks two servers at once
    ],
)
def test_a_resolver_that_asks_from_another_address_is_one(
    recursion, asking, left_out, tmp_path, capsys
):
    capture, asked = Capture(), []
    resolver6, port = "2001:db8::53", (53, 40_000)
    target = AUTHORITY if asking == OUTSIDE else resolver6
    for number, name in enumerate(("a.test", "b.test", "c.test")):
        at, flags = DAY + number, 0x8180
        capture.ask(at, query(name), CLIENT, RESOLVER)
        capture.ask(at + 0.1, query(name.upper(), flags=recursion), asking, target)
        own = [(query(name, flags=0x8480 | recursion), target, asking, port)]
        client = [(query(name, flags=flags), RESOLVER, CLIENT, port)]
        answers = own + client if asking == OUTSIDE or number else client + own
        for place, answer in enumerate(answers):
            capture.ask(at + 0.2 + place / 10, *answer)
        asked += [f"{name}. A"] + ([] if left_out else [f"{name.upper()}. A"])
    assert read(tmp_path, capture.pcap(), "--keep", ".") == asked
    said = f"  {left_out} are left out: resolvers asked them for clients"
    assert (said in capsys.readouterr().err) == bool(left_out)


def without_answers(client, onward, target=AUTHORITY):
    """Clients ask a resolver, which asks others from its own address; nobody answers."""
    capture = Capture()
    for number in range(3):
        at, name = DAY + number, f"{'abc'[number]}.test"
        capture.ask(at, query(name), client, RESOLVER)
        capture.ask(at + 0.1, query(name, flags=onward), RESOLVER, target)
    return capture


def over_tls(servers):
    """A resolver's own queries; those of its clients are not seen, but for one answer."""
    capture = Capture()
    for number in range(servers):
        host = f"203.0.113.{number + 1}"
        capture.ask(DAY + number, query("a.test", flags=0), RESOLVER, host)
    return capture


def at_authority(servers, askers=20):
    """What resolvers ask the hosts of an authority."""
    capture = Capture()
    for number in range(askers * servers):
        sender, target = f"192.0.2.{number % askers + 1}", f"203.0.113.{number % servers + 1}"
        capture.ask(DAY + number / 10, query(f"n{number}.test", flags=0), sender, target)
    return capture


@pytest.mark.parametrize(
    ("capture", "counts", "said"),
    [
        (without_answers(CLIENT, 0), (3, 3), ""),
        (without_answers(CLIENT, 0x100), (3, 3), ""),
        (without_answers(CLIENT, 0x100, CLIENT), (6, 0), ""),  # it asks who asked it
        (over_tls(12), (0, 12), ""),
        (over_tls(2), (2, 0), "  2 ask for no recursion"),
        (at_authority(13), (260, 0), "  260 ask for no recursion"),
        (at_authority(1), (20, 0), "  20 ask for no recursion"),
    ],
)
def test_a_resolver_is_known_without_its_answers_or_its_clients(
    capture, counts, said, tmp_path, capsys
):
    kept, left_out = counts
    capture.ask(DAY + 5000, query("last.test"), CLIENT, "198.51.100.1")
    lines = read(tmp_path, capture.pcap(), "--keep", ".")
    assert len(lines) == kept + 1
    printed = capsys.readouterr().err
    assert (f"  {left_out} are left out: resolvers asked them" in printed) == bool(left_out)
    assert said in printed


def test_names_that_await_an_answer_take_bounded_memory(monkeypatch):
    monkeypatch.setattr(resolvers, "_MOST_PENDING", 8)
    known = Resolvers()
    for name in range(100):
        known.asked((1, 2), name, 0.0, recursion=True)
    assert len(known._pending) == 8


def of_tls():
    """A server asks, and answers a client over TLS."""
    capture = over_tls(1)
    capture.ask(DAY, query("own.test"))
    ends = {"ports": (853, 999), "ends": (RESOLVER, CLIENT)}
    capture.add(DAY, captures.segment(b"\x17\x03", 9, **ends))
    return capture


def over_tcp():
    """A resolver asks, and answers over TCP alone."""
    capture = streamed((0, A_TCP))
    capture.ask(DAY, query("a.test", MX), RESOLVER, AUTHORITY)
    capture.add(DAY, captures.segment(A_TCP, 7, ports=(53, 40_000), ends=(RESOLVER, CLIENT)))
    return capture


@pytest.mark.parametrize(
    ("capture", "names", "left_out"),
    [
        (of_tls(), ["own"], 1),
        (over_tcp(), ["a"], 1),
        (resolved(), ["a", "b"], 2),
        (resolved("127.0.0.1", "127.0.0.1"), ["own", "a", "a", "b"], 0),  # it asks itself
    ],
)
def test_queries_of_who_answers_others_are_left_out(capture, names, left_out, tmp_path, capsys):
    lines = read(tmp_path, capture.pcap(), "--keep", ".", "--times")
    assert [line.rpartition(" ")[0] for line in lines] == [f"{name}.test. A" for name in names]
    assert lines[0].endswith("@0.000000"), "times are those since the first that is kept"
    said = f"  {left_out} are left out: their senders answered others\n"
    assert (said in capsys.readouterr().err) == bool(left_out)


def test_a_capture_without_queries_or_of_a_servers_own_is_refused(tmp_path, capsys):
    capture = resolved()
    capture.frames = [capture.frames[at] for at in (0, 4)]
    servers = "(found 1 queries of servers, 1 answers"
    for content, said in ((captures.house(), "other protocols"), (capture, servers)):
        (tmp_path / "a").write_bytes(content.pcap())
        assert main(["queries", f"{tmp_path}/a"]) == 2
        printed = capsys.readouterr().err
        assert "no query in it" in printed
        assert said in printed
    assert main(["queries", f"{tmp_path}/a", "--keep", "a..b"]) == 2


def test_the_shape_of_names_stays_and_what_they_share(tmp_path):
    lines = read(tmp_path, morning().pcap())
    names = [line.split()[0].rstrip(".").split(".") for line in lines]
    assert [line.split()[1] for line in lines] == [line.split()[1] for line in KEPT]
    shapes = [[3, 4, 7], [3, 4, 7], [4, 4, 7], [1, 7], [0]]
    assert [[len(label) for label in name] for name in names] == shapes
    assert names[0] == names[1]
    assert names[2][1:] == names[0][1:]
    assert names[3][1:] == names[0][2:]
    assert not {"anna", "example", "mail"} & {label for name in names for label in name}
    assert read(tmp_path, morning().pcap()) != lines, "another key: no pseudonym is computed"


def test_a_zone_is_kept_on_demand_and_others_are_not(tmp_path):
    lines = read(tmp_path, morning().pcap(), "--keep", "Anna.example.")
    assert lines[:3] == KEPT[:3]
    assert "example" not in lines[3]


def test_no_address_or_label_leaves_the_capture(tmp_path, capsys):
    capture = Capture()
    for number in range(50):
        name = f"mark{number}.marked.marking.example"
        capture.ask(DAY, query(name), f"77.65.82.{number}", "77.65.82.200")
        capture.ask(DAY, query(name), f"4d41:524b::{number:x}", "4d41:524b::53")
    text = "\n".join(read(tmp_path, capture.pcap())) + capsys.readouterr().err
    assert text.count(" A\n") > 90
    for mark in ("mark", "77.65", "4d41", "example"):
        assert mark not in text.lower()
    # The marks are seen where nothing is hidden, so this test can fail.
    assert "mark7.marked" in "\n".join(read(tmp_path, capture.pcap(), "--keep", "."))


def test_the_file_is_one_that_the_load_takes(tmp_path):
    odd = Capture()
    for name in ("a b.example", "x\\y", "\xe4", "_sip._tcp.example", "*"):
        odd.ask(DAY, query(name))
    lines = read(tmp_path, odd.pcap(), "--keep", ".")
    assert lines[:3] == ["a\\032b.example. A", "x\\092y. A", "\\228. A"]
    assert read_queries(tmp_path / "q.txt").lines == lines
    assert read_queries(tmp_path / "q.txt").distinct == 5


def test_times_are_those_since_the_first_query_in_their_order(tmp_path, capsys):
    capture = Capture()
    for at in (0.0, 0.25, 0.125, 61.5):
        capture.ask(DAY + at, query("a.example"))
    lines = read(tmp_path, capture.pcap(), "--keep", ".", "--times")
    times = ["@0.000000", "@0.250000", "@0.250000", "@61.500000"]
    assert [line.split()[2] for line in lines] == times
    queries = read_queries(tmp_path / "q.txt")
    assert queries.lines == ["a.example. A"] * 4
    assert (queries.times, queries.length_s) == ([0, 0.25, 0.25, 61.5], 82)
    assert queries.timed_text.decode().splitlines() == lines
    (tmp_path / "b.pcap").write_bytes(capture.pcap())
    assert main(["queries", f"{tmp_path}/a.pcap", f"{tmp_path}/b.pcap", "--times"]) == 2
    said = capsys.readouterr().err
    assert "b.pcap: its queries are earlier than those before (found 62 s" in said


def test_a_capture_itself_is_no_file_of_queries(tmp_path):
    for content in (morning().pcap(), morning().pcapng()):
        (tmp_path / "dns").write_bytes(content)
        wanted = r"a capture, .*leaselab queries .*/dns --times"
        with pytest.raises(LeaselabError, match=wanted):
            read_queries(tmp_path / "dns")


def test_a_file_that_is_full_has_the_first_queries(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reading, "MOST_BYTES", 60)
    assert read(tmp_path, morning().pcap(), "--keep", ".") == KEPT[:2]
    assert "3 later ones are left out" in capsys.readouterr().err


def test_a_large_capture_is_read_in_bounded_memory(tmp_path):
    path = tmp_path / "large.pcap"
    head = Capture().pcap()
    with path.open("wb") as file:
        file.write(head)
        for part in range(2):
            capture = Capture()
            for number in range(5000):
                capture.ask(DAY, query(f"{'x' * 40}{5000 * part + number}.{'y' * 60}.example"))
            file.write(capture.pcap()[len(head) :] * 6)
    words = ["queries", path, "-o", tmp_path / "q.txt"]
    limit = "from leaselab.inputs.queries import capture; capture.MOST_BYTES = 1 << 20"
    grown, said = captures.memory_of(words, limit)
    assert path.stat().st_size > 10e6
    assert grown < 30_000  # KiB
    assert "later ones are left out" in said
