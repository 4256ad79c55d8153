"""Files of strangers, mutated and odd ones, for each reader: read or refused, never a fault.

The profile `night` tries ten times as many, from the same seeds.
"""

import gzip
import json
import os
import random
import shutil
import signal
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from tests import captures
from tests.bench_document import DOCUMENT
from tests.captures import LEASES, LOG, Capture
from tests.cli.test_queries_of_captures import morning, resolved, streamed
from tests.examples import example_result
from tests.mutations import mutated, tries
from tests.own import read_served
from tests.waiting import HANGS_S

from leaselab.archive import schema
from leaselab.catalog import plain_file
from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.family import load_families
from leaselab.cli.options import read_json
from leaselab.inputs.advice import Given, advise
from leaselab.inputs.clients.arrivals import Arrivals
from leaselab.inputs.clients.file import read_clients
from leaselab.inputs.clients.load import _scaled
from leaselab.inputs.clients.sources import Reader, read_source
from leaselab.inputs.leases import read_leases
from leaselab.inputs.queries.capture import Names, Read
from leaselab.inputs.queries.file import read_queries
from leaselab.inputs.queries.of_zones import queries_of
from leaselab.inputs.queries.zones import keep_zones, read_zone, zone_of
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.measure.generators.dnsperf import output as dnsperf_output
from leaselab.measure.generators.flame import output as flame_output
from leaselab.measure.generators.leaseload.trial import report_of
from leaselab.measure.generators.perfdhcp import output as perfdhcp_output
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.observation import Generated

DATA = Path(__file__).parents[1] / "data"
OWN = DATA / "own"
MUTANTS = tries(50)
DNSMASQ_LEASES = b"1790000000 02:00:00:00:00:01 192.0.2.7 host *\nduid 00:01\n"


class Foreign(NamedTuple):
    """What reads a kind of file, and sound ones."""

    read: Callable[[Path], object]
    name: str
    seeds: Callable[[], list[bytes | Path]]
    """Contents, or folders with the file `name` in them."""


def clients_file():
    """What `leaselab clients` writes of a capture."""
    with TemporaryDirectory() as folder:
        path, reader = Path(folder) / "a.pcap", Reader()
        for shape in (captures.isp, captures.campus):
            path.write_bytes(shape().pcap())
            read_source(reader, path)
    return [reader.clients().text().encode()]


def read_clients_whole(path):
    clients, _ = read_clients(path)
    for traffic in filter(None, (clients.dhcpv4, clients.dhcpv6)):
        Arrivals(60).of(traffic, 2, {})
        _scaled(traffic.kinds, 3)


def read_captured_clients(path):
    reader, written = Reader(), path.with_name("written")
    read_source(reader, path)
    written.write_text(reader.clients().text(), "utf-8")
    read_clients(written)


def read_captured_queries(path):
    read, written = Read(Names(), with_times=True), path.with_name("written")
    read.add(path)
    counted = read.counted()
    if counted.queries:
        written.write_bytes(counted.text)
        assert len(read_queries(written).lines) == counted.queries


def read_configuration(path):
    held = [each for each in path.parents if each.name in ("names", "school", "split")]
    own = read_served(*held or [path])
    zones = [zone_of(zone, Path(file), file) for zone, file in own.zones.items()]
    return queries_of(zones) if zones else own.kinds


def read_advice(path):
    return advise(path, Catalogue(DATA.parents[1]), Given(clients=65_000))


def read_zone_whole(path):
    zones = [read_zone(f"example.com={path}")]
    keep_zones(path.parent, zones)
    return queries_of(zones)


def read_family(path):
    load_families(path.parent)


def contents(*patterns):
    return lambda: [path.read_bytes() for each in patterns for path in sorted(DATA.glob(each))]


def shapes(*captured):
    return lambda: [made for each in captured for made in (each().pcap(), each().pcapng())]


def printed(parse):
    return lambda path: parse(path.read_bytes())


def read_report(path):
    bench = parse_bench(DOCUMENT, "bench.json")
    report = report_of(Generated(0, gzip.compress(path.read_bytes()), ""), bench)
    assert report.answer_bytes >= 0


FILES = {
    "kea": Foreign(
        read_configuration,
        "kea-dhcp4.conf",
        contents("own/campus.conf", "own/house.conf", "own/isp*.conf", "own/rooms.conf"),
    ),
    "advice": Foreign(read_advice, "kea.conf", contents("advice/*.conf")),
    "dhcpd": Foreign(read_configuration, "dhcpd.conf", contents("own/dhcpd*.conf")),
    "dnsmasq": Foreign(read_configuration, "dnsmasq.conf", contents("own/dnsmasq6.conf")),
    **{
        name: Foreign(read_configuration, file, lambda folder=folder: [OWN / folder])
        for name, folder, file in (
            ("dnsmasq's folder", "school", "etc/dnsmasq.d/classes.conf"),
            ("named", "names", "etc/bind/named.conf.options"),
            ("named's zones", "names", "etc/bind/named.conf.local"),
            ("a zone of named", "names", "etc/bind/zones/db.example.org"),
            ("named's views", "split", "etc/bind/named.conf"),
        )
    },
    "clients": Foreign(read_clients_whole, "clients.yml", clients_file),
    "queries": Foreign(
        read_queries,
        "queries",
        lambda: [b"www.example.com A\n\\046a.example IN TYPE257 ; c\n", b"a A @0\nb A @1.5\n"],
    ),
    "zone": Foreign(
        read_zone_whole,
        "zone",
        lambda: [
            b"$TTL 60\n@ SOA a. b. (1 2 3\n 4 5)\n@ NS a.\n*.a A 192.0.2.1\n$ORIGIN b\n"
            b'c TXT "x;y"\n$GENERATE 1-3 h$ A 192.0.2.$\n'
        ],
    ),
    "captured clients": Foreign(
        read_captured_clients,
        "a.pcap",
        shapes(
            lambda: Capture(frames=captures.isp().frames[:9]), captures.house, captures.wrong
        ),
    ),
    "captured queries": Foreign(
        read_captured_queries,
        "a.pcap",
        shapes(
            *(morning, resolved, lambda: morning(captures.SLL2)),
            lambda: streamed((0, captures.option4(1, b"x")), (9, bytes(40))),
        ),
    ),
    "leases": Foreign(
        lambda path: read_leases([path]),
        "leases",
        lambda: [*contents("own/*.leases", "own/*.csv")(), DNSMASQ_LEASES],
    ),
    "clients of leases": Foreign(
        read_captured_clients, "leases.csv", lambda: [LEASES.encode(), LOG.encode()]
    ),
    "record": Foreign(
        lambda path: schema.decode(path.read_bytes(), str(path)),
        "result.json",
        lambda: [schema.encode(example_result([5000.0, 5100.0, 5200.0]))],
    ),
    "bench": Foreign(
        lambda path: parse_bench(read_json(str(path)), str(path)),
        "bench.json",
        lambda: [json.dumps(DOCUMENT).encode()],
    ),
    "scenarios": Foreign(
        read_family,
        "family.yml",
        lambda: [
            b"description: x\nserver: {kind: dnsmasq}\nload: {name: dhcpv4}\n"
            b"factors: {protocol: DHCPv4}\naxes: [[{name: v4}]]\n"
        ],
    ),
    "leaseload": Foreign(read_report, "report.json", contents("leaseload/*.json")),
    "dnsperf": Foreign(printed(dnsperf_output.parse), "out", contents("dnsperf/*good.txt")),
    "flame": Foreign(
        printed(lambda text: flame_output.parse(text, 10)), "out", contents("flame/good.jsonl")
    ),
    "perfdhcp": Foreign(
        printed(lambda text: perfdhcp_output.join(perfdhcp_output.parse(text, 4))),
        "out",
        contents("perfdhcp/v4_late.txt"),
    ),
}
BY_PATH = {name: each for name, each in FILES.items() if each.read.__name__ != "<lambda>"}
BY_PATH |= {name: FILES[name] for name in ("leases", "bench")}
del BY_PATH["leaseload"], BY_PATH["scenarios"]
"""Those of files that people name: others are printed by tools that Leaselab runs."""


@pytest.fixture(autouse=True)
def no_hang():
    """End a reader that waits or does not end."""

    def hangs(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(HANGS_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def place(foreign, seed, folder):
    """Where the file of a seed is, below a folder; beside it what it needs."""
    if isinstance(seed, Path):
        shutil.copytree(seed, folder / seed.name)
        return folder / seed.name / foreign.name
    if foreign.name == "family.yml":
        (folder / "loads").mkdir()
        loads = Path(__file__).parents[2] / "scenarios/loads/dhcpv4.yml"
        shutil.copy(loads, folder / "loads")
    return folder / foreign.name


def placed(foreign, folder):
    """The first seed of a kind, where it is, and its content."""
    seed = foreign.seeds()[0]
    path = place(foreign, seed, folder)
    return seed, path, path.read_bytes() if isinstance(seed, Path) else seed


def outcome(foreign, path):
    """What came of reading: a result, or the outcome of the error, whose text can be shown."""
    signal.alarm(HANGS_S)
    try:
        foreign.read(path)
    except LeaselabError as error:
        str(error).encode("utf-8", "surrogateescape")
        return error.outcome
    finally:
        signal.alarm(0)  # a mutant may take as long to make
    return Outcome.OK


@pytest.mark.parametrize("name", FILES)
def test_a_mutated_file_is_read_or_refused(name, tmp_path):
    foreign, seen, wrong = FILES[name], set(), []
    for number, seed in enumerate(foreign.seeds()):
        (folder := tmp_path / str(number)).mkdir()
        path = place(foreign, seed, folder)
        sound = path.read_bytes() if isinstance(seed, Path) else seed
        for chance in range(max(5, MUTANTS // len(foreign.seeds()))):
            path.write_bytes(mutated(sound, random.Random(f"{name} {number} {chance}")))  # noqa: S311
            try:
                seen.add(outcome(foreign, path))
            except Exception as error:  # noqa: BLE001  # every one is what is looked for
                wrong.append((number, chance, repr(error)[:200]))
        path.write_bytes(sound)
        outcome(foreign, path)
    assert wrong == []
    assert Outcome.USAGE in seen or Outcome.LAB in seen


def _sparse(path, _sound):
    with path.open("wb") as file:
        file.truncate(2 << 30)


def _linked(target):
    return lambda path, _: path.symlink_to(target)


def _holding(made):
    """What writes a content, or what a function makes of a sound one."""
    return lambda path, sound: path.write_bytes(made(sound) if callable(made) else made)


REFUSED = {
    "a device": _linked("/dev/zero"),
    "a file of the kernel that waits": _linked("/proc/kmsg"),
    "a file of the kernel": _linked("/proc/self/maps"),
    "a link to nothing": _linked("gone"),
    "a circle of links": lambda path, _: path.symlink_to(path.name),
    "a pipe": lambda path, _: os.mkfifo(path),
    "a folder": lambda path, _: path.mkdir(),
    "a sparse file": _sparse,
    "empty": _holding(b""),
    **{f"deep {deep!r}": _holding(deep * 50_000) for deep in (b"[", b'{"a":', b"- ", b"(")},
    "UTF-16": _holding(lambda sound: b"\xff\xfe" + sound.decode("latin-1").encode("utf-16-le")),
    "a long line": _holding(b"x" * (2 << 20)),
}
"""By what is in the place of a sound file; a reader refuses it."""
BOUNDED = {
    "a byte-order mark": lambda sound: b"\xef\xbb\xbf" + sound,
    "CRLF": lambda sound: sound.replace(b"\n", b"\r\n"),
    "NUL": lambda sound: sound[:-9] + b"\0" + sound[-9:],
    "a lone surrogate": lambda sound: sound.replace(b"a", b"\xed\xa0\x80", 3),
    "another one": lambda sound: sound.replace(b'"1', b'"\\ud8001', 1),
    "equal lines": lambda sound: sound + sound.splitlines(keepends=True)[-1] * 3000,
}
"""The same; a reader may take it."""
ODD = {**REFUSED, **{odd: _holding(made) for odd, made in BOUNDED.items()}}
_TAKEN = {(name, "UTF-16") for name in ("clients", "bench", "leases")}
"""YAML and JSON may be in UTF-16; of leases only the ASCII counts."""
LARGE, MOST_BYTES = {"a sparse file", "a long line"}, 200e6


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", BY_PATH)
def test_an_odd_file_is_refused_at_once(name, odd, tmp_path):
    foreign = BY_PATH[name]
    seed, path, sound = placed(foreign, tmp_path)
    path.unlink(missing_ok=True)
    ODD[odd](path, sound)
    if odd in LARGE:
        tracemalloc.start()
    try:
        came = outcome(foreign, path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    refused = odd in REFUSED and not isinstance(seed, Path) and (name, odd) not in _TAKEN
    assert came is Outcome.USAGE or not refused
    assert peak < MOST_BYTES


@pytest.mark.parametrize("name", BY_PATH)
def test_a_file_that_may_not_be_read_is_refused(name, tmp_path):
    foreign = BY_PATH[name]
    _, path, sound = placed(foreign, tmp_path)
    path.write_bytes(sound)
    assert outcome(foreign, path) in (Outcome.OK, Outcome.USAGE)  # with all its modules
    path.chmod(0)
    user = os.geteuid()
    os.seteuid(user or 65534)
    try:
        came = outcome(foreign, path)
    finally:
        os.seteuid(user)
    assert came is Outcome.USAGE


def test_a_file_that_grows_has_an_end(tmp_path, monkeypatch):
    """Each read of it adds more than it returns."""
    path = tmp_path / "q"
    path.write_bytes(b"a.example A\n" * 10)

    class Growing(plain_file._Plain):
        def readinto(self, buffer):
            with path.open("ab") as file:
                file.write(b"b.example A\n" * 100_000)
            return super().readinto(buffer)

    monkeypatch.setattr(plain_file, "_Plain", Growing)
    assert set(read_queries(path).lines) == {"a.example. A"}
