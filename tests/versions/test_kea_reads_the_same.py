"""The reader of configurations beside the Kea of several releases.

Each file is given to both.  Kea's check says "Syntax check failed" of what is none in its
language; what else it complains about, such as hooks that are not there, is not compared.
"""

import json
import re
from functools import cache
from pathlib import Path

import pytest
from tests.mutations import tries, with_other_bytes
from tests.role_modules import load
from tests.tools import AS_ROOT, kea_examples, run, unpacked_kea

from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.releases import numbers
from leaselab.catalog.roles import read_yaml
from leaselab.inputs.advice import Given, advise
from leaselab.inputs.commented_json import read_commented_json
from leaselab.inputs.kea import grammar
from leaselab.inputs.known_costs import known_costs
from leaselab.inputs.user_configuration import read_served
from leaselab.model.errors import LeaselabError

ROOT = Path(__file__).parents[2]
CATALOGUE = Catalogue(ROOT)
RELEASES_OF = load("kea", "kea")
DECLARED = read_yaml(ROOT / "roles/kea/vars/releases.yml")["kea_releases"]
VERSIONS = {"bookworm": (2, 2), "trixie": (2, 6, 3), "sid": (3, 0, 4)}
RELEASES = tuple(VERSIONS)
SEEDS = range(tries(30))
TOKENS = ("Invalid character", "Invalid control", "Bad escape", "lower case only", "not closed")
"""What Kea says of a text that is no token of its language."""
WHOLE = b"""{ "Dhcp4": { # all
  "interfaces-config": { "interfaces": [ ] },
  "valid-lifetime": 4000, "cache-threshold": .25, /* short */
  "client-classes": [ { "name": "a", "test": "member(\'ALL\')" }, ],
  "subnet4": [ { "id": 1, "subnet": "192.0.2.0/24", "pools": [ { "pool": "192.0.2.8/29" } ] } ]
} }"""
EXPRESSIONS = (
    b"substring(option[61].hex,0,3) == 'foo' or substring(pkt4.mac, -6, all) == 0x0102",
    b"member('ALL') and not (pkt4.mac == 0x010203040506 or relay4[1].hex == 'x')",
    b"option[host-name].text == lcase('A') + 'b' sand option[82].option[1].exists",
    b"ifelse(option[60].exists, 'a', concat('b', hexstring(pkt4.mac, ':'))) == 'a'",
    b"vendor[4491].option[1].exists or vendor-class[*].data[0] == 'x'",
    b"pkt4.giaddr == 192.0.2.1 sor addrtotext(pkt.src) == '::1' or option[93].hex == 0",
    b"not not option[60].exists and uint16totext(0x0001) == ucase(option[12].hex)",
)
FREE = b"""{ "a": [ 1, -2, 3.5, .5, 1e3 ], "b": { "c": true, "d": null }, # all
 "e": "t\\u00e4xt \\n", /* x */ "f": [ [ ], { } ], }"""
"""Below user-context, where every value may be: so its tokens are all that Kea judges."""


def kea_says(suite, family, texts, folder):
    """What the check of a release says of each text."""
    for number, text in enumerate(texts):
        (folder / f"{number:04}").write_bytes(text)
    place, inside = unpacked_kea(suite), f"etc/kea/{folder.name}"
    run(*AS_ROOT, "rm", "-rf", place / inside)
    run(*AS_ROOT, "cp", "-r", folder, place / inside)
    each = (
        f"cd {place / inside} && for file in *; do printf '\\n==\\n'; chroot {place} "
        f"/usr/sbin/kea-dhcp{family} -t /{inside}/$file 2>&1 || echo refused; done"
    )
    return run(*AS_ROOT, "sh", "-c", each, errors="replace")[1].split("\n==\n")[1:]


@cache
def mutants():
    """Texts of both kinds, and whether it is a free value in one that is right elsewhere."""
    free = [with_other_bytes(FREE, seed) for seed in SEEDS]
    around = b'{"Dhcp4": {"valid-lifetime": 1, "user-context": '
    return [around + text + b"}}" for text in free] + [
        with_other_bytes(WHOLE, seed) for seed in SEEDS
    ]


def printable(text):
    """An expression of letters that JSON has, for which Kea needs no escape."""
    return "".join(letter for letter in text.decode("latin1") if letter.isprintable())


def of_releases(words):
    """Each declared keyword with its release."""
    for release, its_words in words.items():
        yield from ((tuple(map(int, release.split("."))), word) for word in its_words)


def reads(folder, text):
    path = folder / "kea.conf"
    path.write_bytes(text)
    try:
        return not read_commented_json(path).unread
    except LeaselabError:
        return False


@pytest.mark.parametrize(("suite", "version"), VERSIONS.items())
def test_every_example_is_judged_and_of_its_own_release(tmp_path, suite, version):
    path, judged = tmp_path / "kea.conf", {}
    for name, text in kea_examples(suite).items():
        if b'"Dhcp4"' in text or b'"Dhcp6"' in text:
            path.write_bytes(text)
            advice = advise(path, CATALOGUE, Given(version=".".join(map(str, version))))
            judged[name] = [
                finding.what for finding in advice.not_judged if "hook" not in finding.what
            ]
    assert len(judged) > 50
    assert set().union(*judged.values()) == {"configuration in a database"}


@pytest.mark.parametrize("suite", RELEASES)
def test_what_a_release_takes_is_read_and_its_tokens_are_the_same(tmp_path, suite):
    texts = mutants()
    answers = kea_says(suite, 4, texts, tmp_path)
    read = [reads(tmp_path, text) for text in texts]
    taken = ["refused" not in words for words in answers]
    assert sum(taken) > len(texts) // 6
    assert [
        text for text, ours, kea in zip(texts, read, taken, strict=True) if kea > ours
    ] == []
    wrong = [
        (text, words)
        for text, ours, words in zip(texts, read, answers, strict=True)
        if ours and any(word in words.partition("Syntax check failed")[2] for word in TOKENS)
    ]
    assert wrong == []


@pytest.mark.parametrize("suite", RELEASES)
def test_an_expression_that_a_release_takes_is_one(tmp_path, suite):
    mutants = [with_other_bytes(text, seed) for text in EXPRESSIONS for seed in range(20)]
    expressions = [text for item in (*EXPRESSIONS, *mutants) if (text := printable(item))]
    texts = [
        json.dumps(
            {
                "Dhcp4": {
                    "valid-lifetime": 1,
                    "client-classes": [{"name": "a", "test": expression}],
                }
            }
        ).encode()
        for expression in expressions
    ]
    answers = kea_says(suite, 4, texts, tmp_path)
    taken = [
        item for item, words in zip(expressions, answers, strict=True) if "refused" not in words
    ]
    assert len(taken) > 20
    assert [item for item in taken if not grammar.kea_readable(item)] == []
    refused = set(expressions) - set(taken)
    assert sum(not grammar.kea_readable(item) for item in refused) > 0.8 * len(refused)


@pytest.mark.parametrize(("suite", "version"), VERSIONS.items())
def test_a_release_has_the_keywords_that_are_declared_of_it(suite, version):
    root, declared = unpacked_kea(suite), known_costs()["kea"].releases
    programs = b"".join((root / f"usr/sbin/kea-dhcp{item}").read_bytes() for item in (4, 6))
    since = {word: version >= first for first, word in of_releases(declared.since)}
    until = {word: version < first for first, word in of_releases(declared.until)}
    has = {
        word: f'"{word}"'.encode() in programs or f"\0{word}\0".encode() in programs
        for word in since | until
        if not word.startswith("].") and " " not in word
    }
    assert has == {word: (since | until)[word] for word in has}
    assert {True, False} == set(has.values())


SUBNET = '{%s "subnet": "10.0.0.0/24", %s "pools": [ { "pool": "10.0.0.8 - 10.0.0.99" } ] }'
RELEASED = {
    "": ('"id": 1,', ""),
    "Kea before 2.6: a subnet without id (": ("", ""),
    "Kea 2.7.5 or newer: client-classes (": ('"id": 1,', '"client-classes": [ "ALL" ],'),
    "Kea 2.7.4 or newer: evaluate-additional-classes (": (
        '"id": 1,',
        '"evaluate-additional-classes": [ "ALL" ],',
    ),
}
"""What is said of a subnet, by the release that takes it."""
WORDS = re.compile(r"Kea (?:before ([\d.]+)|([\d.]+) or newer)")


@pytest.mark.parametrize(("suite", "version"), VERSIONS.items())
def test_a_release_takes_what_is_said_to_be_for_it(tmp_path, suite, version):
    texts = [
        f'{{ "Dhcp4": {{ "subnet4": [ {SUBNET % parts} ] }} }}'.encode()
        for parts in RELEASED.values()
    ]
    (folder := tmp_path / "asked").mkdir()
    file = tmp_path / "kea.conf"
    answers = kea_says(suite, 4, texts, folder)
    for said, text, answer in zip(RELEASED, texts, answers, strict=True):
        taken = "refused" not in answer
        file.write_bytes(text)
        assert "".join(read_served(file).releases).startswith(said)
        gone, first = WORDS.match(said).groups() if said else ("", "")
        below = gone and version >= numbers(gone)
        assert taken == (not below and (not first or version >= numbers(first))), answer
        sentence = RELEASES_OF.kea_release_for(answer, DECLARED)
        assert bool(sentence) == (not taken)
        assert taken or (gone or first) in sentence
        named = RELEASES_OF.kea_named_place(answer, text.decode())
        assert taken or "Dhcp4.subnet4[0]" in named
        assert taken or "/etc/kea" not in named
