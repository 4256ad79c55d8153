"""What of a result others may read: hosts by their roles, and no secret."""

import copy
import json
import stat
import time

import pytest
from msgspec.structs import replace
from tests.bench_document import DOCUMENT
from tests.examples import archive_result, edited, example_result
from tests.made_up import CONFIG_SHA256, Failing

from leaselab.archive.published import by_role, public_word, published, published_bench
from leaselab.archive.running import access_path
from leaselab.archive.schema import document_of, encode
from leaselab.archive.store import Store
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.model.bench import HostAccess, public_names
from leaselab.model.errors import invalid_measurement, lab_broken, server_broken
from leaselab.model.source import public_address
from leaselab.run import experiment
from leaselab.run.record import _reasons

PUBLIC = (
    *("https://git.example/a@b/x.git", "ssh://git@git.example/x", "git@git.example:kea.git"),
    *("file:///srv/a?b/x", "/srv/kea"),
)
"""Addresses in which nothing is secret."""
PLAIN = ("--results=/", "v4-memfile", "--set=rounds=3", "v1.0..main", "inventory/docker")
"""Words of a command without a way to a place."""
SECRETS = ("192.0.2.", "labuser", "/users/ana", "sut1", "gen1", "t0ken")
"""What a result must not hold: addresses, a user, paths of a home, names of machines."""


def rack():
    """The bench document of a rack, as role bench_file writes it."""
    document = copy.deepcopy(DOCUMENT)
    document["servers"]["server"]["config_sha256"] = CONFIG_SHA256
    document["inventory"] = "/users/ana/leaselab/inventory/rack1"
    home = "/users/ana"
    keys = {"user": "labuser", "known_hosts_file": f"{home}/known_hosts"}
    keys["key_file"] = f"{home}/.ssh/leaselab_rack1"
    for number, (role, name) in enumerate({"server": "sut1", "generator": "gen1"}.items(), 10):
        host = document["hosts"][role]
        host["facts"] = {**document_of(example_result().bench.hosts[role]), "hostname": name}
        reached = {"name": f"{name}.lab.example", "address": f"192.0.2.{number}"}
        host["access"] = reached | keys
    return document


@pytest.fixture
def store(tmp_path, monkeypatch):
    command = "leaselab run --repo=https://t0ken@git.example/x.git"
    monkeypatch.setenv("LEASELAB_COMMAND", command)
    return Store(tmp_path)


def begin(store):
    points = {"20261121T113005Z-v4-memfile-3f9a": parse_bench(rack(), "tests")}
    (running,) = experiment.begin(store, points, store.root)
    return running


def assert_public(folder):
    """The names of its files, of which none holds a secret."""
    texts = {path.name: path.read_text() for path in folder.rglob("*") if path.is_file()}
    for name, text in texts.items():
        assert [secret for secret in SECRETS if secret in text] == [], name
    return texts.keys()


def test_a_sweep_keeps_how_hosts_are_reached_beside_itself_and_for_its_owner(store):
    running = begin(store)
    running.close()
    assert assert_public(running.path) == {"bench.json", "journal.jsonl"}
    place = access_path(running.path)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert json.loads(place.read_text())["server"]["address"] == "192.0.2.10"


def test_a_result_names_its_hosts_by_role_and_knows_no_way_to_them(store):
    """Its first attempt breaks, the second is resumed and ends; both say where."""
    running = begin(store)
    faults = [
        lab_broken(
            "cannot be reached at labuser@192.0.2.10:22",
            where="sut1.lab.example",
            wanted="a line in /users/ana/known_hosts",
            todo="install the public key of /users/ana/.ssh/leaselab_rack1",
        ),
        invalid_measurement("too slow", where="gen1.lab.example", found="gen1: late"),
    ]
    lab = Failing(*faults)
    with pytest.raises(type(lab_broken("")), match=r"labuser@192\.0\.2\.10"):
        lab.finish(store, running)  # the user who measures sees all of it
    (ended,) = lab.finish(store, store.open_running())
    place = ended.place
    addresses = [bench.hosts["server"].access.address for bench in lab.seen]
    assert addresses == ["192.0.2.10"] * 2
    assert_public(place)
    assert not access_path(running.path).exists()
    record = store.load(place.name)
    assert record.reasons[0].text == "generator: too slow (found generator: late)"
    assert record.bench.inventory == "inventory/rack1"
    assert record.provenance.command[-1] == "--repo=https://git.example/x.git"
    journal = (place / "journal.jsonl").read_text()
    assert "server: cannot be reached at server (" in journal
    store.verify(place.name)


def test_a_sweep_whose_way_to_the_hosts_is_gone_says_so(store):
    running = begin(store)
    access_path(running.path).unlink()
    with pytest.raises(type(lab_broken("")), match="the access file of this sweep is missing"):
        Failing().finish(store, running)


def reveal(document):
    """Let a result say what those of older releases did."""
    text = "sut1: late; gen1.lab: https://t0ken@git/x fails"
    document["reasons"] = [{"word": "x", "text": text}]
    document["bench"]["inventory"] = "/users/ana/leaselab/inventory/rack1"
    document["bench"]["hosts"]["server"]["hostname"] = "sut1"
    document["generator"]["host"] = "gen1.lab"
    document["servers"]["server"]["build"]["source"] = {
        **dict.fromkeys(("ref", "hash", "tree"), "c" * 40),
        "repository": "https://git.example/kea.git?private_token=t0ken",
        "described": "Kea-3.0.0",
        "author_date": "2026-11-01T00:00:00+01:00",
        "subject": "A change",
    }
    document["provenance"]["command"] += ["--repo", "https://ana:t0ken@git.example/kea.git"]


def test_an_older_result_is_shown_as_a_new_one_is(tmp_path):
    """As they lie in archives: nothing of them can be changed."""
    old = edited(example_result(commit="b" * 40, outcome="invalid"), reveal)
    store = Store(tmp_path)
    place = store.place(archive_result(tmp_path, old).id)
    record = store.load(old.id)
    assert [secret for secret in SECRETS if secret in encode(record).decode()] == []
    assert record.reasons[0].text == "server: late; generator: https://git/x fails"
    assert record.source.repository == "https://git.example/kea.git"
    assert record.generator.host == "generator"
    assert record.rounds == old.rounds
    assert "sut1" in (place / "result.json").read_text()
    assert published(record) == record
    pair = replace(old, servers={**old.servers, "partner": old.server})
    assert "t0ken" not in encode(published(pair)).decode()


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://t0ken@git.example/x.git", "https://git.example/x.git"),
        ("https://ana:t0ken@git.example:8443/x", "https://git.example:8443/x"),
        ("HTTPS://t0k@en@git.example/x", "HTTPS://git.example/x"),
        ("https://git.example/x.git?private_token=t0ken", "https://git.example/x.git"),
        ("https://git.example/x#t0ken", "https://git.example/x"),
        ("ssh://git:t0ken@git.example/x", "ssh://git@git.example/x"),
        ("--repo=http://t0ken@git.example/x", "--repo=http://git.example/x"),
        ("a https://t0ken@a/x and https://t0ken@b/y?z", "a https://a/x and https://b/y"),
        *zip(PUBLIC, PUBLIC, strict=True),
    ],
)
def test_an_address_is_shown_without_what_may_be_a_secret(address, shown):
    assert public_address(address) == shown


@pytest.mark.parametrize("piece", ["a", "a://", "a@", "a.", "://", "https://a@", "a ", "/"])
def test_a_line_of_a_compiler_may_be_as_long_as_it_likes(piece):
    """And a reason holds its beginning."""
    line = (piece * 300_000)[:300_000]
    began = time.process_time()
    error = server_broken(by_role(public_address(line), {"sut1": "server"}))
    (reason,) = _reasons(error, example_result().scenario)
    assert time.process_time() - began < 1
    assert len(reason.text) <= 10_000


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/users/ana/leaselab/inventory/rack1", "inventory/rack1"),
        ("/users/ana/inventory/inventory/racks/rack2.yml", "inventory/racks/rack2.yml"),
        ("inventory/docker", "inventory/docker"),
        ("/users/ana/rack1", "rack1"),
        ("/users/ana/inventory", "inventory"),
        (None, None),
    ],
)
def test_an_inventory_is_named_without_the_way_to_it(path, name):
    known = example_result()
    record = replace(known, bench=replace(known.bench, inventory=path))
    assert published(record).bench.inventory == name
    bench = parse_bench({**DOCUMENT, "inventory": path or ""}, "tests")
    assert published_bench(bench).inventory == (name or "")


def test_hosts_are_replaced_where_they_stand_as_words():
    """An address of several hosts, such as containers of the local lab, names none of them."""
    names = {"gen": "generator", "gen.lab": "generator", "192.0.2.1": "server"}
    text = "gen, gen.lab. gent a-gen generator 192.0.2.1 192.0.2.11 (192.0.2.1)"
    shown = "generator, generator. gent a-gen generator server 192.0.2.11 (server)"
    assert by_role(text, names) == shown
    hosts = {
        role: HostAccess(role[:3], "127.0.0.1", "root", "/key", "/known", port)
        for port, role in enumerate(("server", "generator"), 22041)
    }
    reported = by_role("ser at root@127.0.0.1:22041, 127.0.0.1", public_names(hosts))
    assert reported == "server at server, a host"


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        ("/srv/ana/leaselab/leaselab", "leaselab"),
        ("/srv/ana/site/inventory/rack1", "inventory/rack1"),
        ("--repo=/srv/ana/kea.git", "--repo=kea.git"),
        ("-i=~/racks/one.yml", "-i=one.yml"),
        ("../ana/bench.json", "bench.json"),
        ("file:///srv/ana/kea", "kea"),
        ("https://ana:t0ken@git.example/kea", "https://git.example/kea"),
        *zip(PLAIN, PLAIN, strict=True),
    ],
)
def test_a_word_of_a_command_keeps_no_way_to_a_place_of_its_own(word, kept):
    assert public_word(word) == kept
