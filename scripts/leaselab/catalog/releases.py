"""Which releases of a server take a user's own configuration: what its role declares.

``vars/releases.yml`` of a role names words of configurations that not all releases take.  A
release is refused as early as it is known: by a commit's tag, by its files, by the package of
a requested suite, and by the package that a host has or gets.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from leaselab.catalog.decoding import build
from leaselab.catalog.roles import ROLES, read_yaml
from leaselab.model.errors import usage_error

Number = tuple[int, ...]
_VERSION = re.compile(r"(?:\d{1,4}:)?v?(\d{1,9}(?:\.\d{1,9}){0,9})(?:[-+~_,].*)?")
"""A release, or the version of its package: epoch, release, what the distribution adds."""
_TAG = re.compile(
    r"[A-Za-z_-]*(?P<release>\d{1,9}(?:\.\d{1,9}){1,4})(?P<between>-\d+-g[0-9a-f]+)?(?:-dirty)?"
)
"""How a commit is described that is a release's, or comes after one."""
_MOST_BYTES = 1 << 20
"""How much is read of a file that says which release a tree is."""
_APT = re.compile(r"^  (Installed|Candidate): (?!\(none\))(\S+)$", re.MULTILINE)
_ANY = 10**9


class Releases(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``vars/releases.yml`` of a server's role."""

    server: str
    """Name for people."""
    packages: tuple[str, ...] = ()
    """Packages of a distribution of which one has the server."""
    suites: Mapping[str, str] = {}
    """The release that its package has in a suite, without what updates may raise."""
    source: Mapping[str, str] = {}
    """By file of its tree, the first that matches: an expression whose groups of digits are the
    release; a last group that is no number means that it is on its way."""
    since: Mapping[str, tuple[str, ...]] = {}
    """Words by the first release that has them; by one of each branch, such as ``9.18.33
    9.20.5``, where older branches got them, too."""
    until: Mapping[str, tuple[str, ...]] = {}
    """Words by the first release that has them no more."""

    def by_word(self) -> dict[str, tuple[str, str]]:
        """The first release that has a word, and the first without it; empty for none."""
        first = {word: release for release, held in self.since.items() for word in held}
        gone = {word: release for release, held in self.until.items() for word in held}
        return {word: (first.get(word, ""), gone.get(word, "")) for word in (*first, *gone)}


class Release(NamedTuple):
    """A release as far as it is known."""

    text: str
    oldest: Number
    newest: Number
    """Numbers of the oldest and the newest release that it may be."""


@cache
def releases_of(kind: str) -> Releases:
    """What the role of a server declares, which may be nothing."""
    path = ROLES / kind / "vars" / "releases.yml"
    if not path.exists():
        return Releases(server=kind)
    return build(Releases, read_yaml(path)[f"{kind}_releases"], f"role {kind}: releases")


def needs_of(kind: str, words: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """What a server's releases say of words: with the place of each, as `bounds` takes them."""
    said = releases_of(kind).by_word()
    return [(*said[word], f"{word} ({at})") for word, at in words.items() if word in said]


def numbers(release: str) -> Number:
    """Return a release as numbers, of which there are two at least."""
    numbers = [int(part) for part in release.split(".")]
    return (*numbers, 0) if len(numbers) == 1 else tuple(numbers)


def version_of(text: str) -> str:
    """The release in the version of a package, or in a release; empty where there is none."""
    match = _VERSION.fullmatch(text)
    return match[1] if match else ""


def bounds(
    kind: str, needs: Iterable[tuple[str, str, str]]
) -> tuple[list[str], dict[str, str]]:
    """Return which releases take words, in sentences, and as options of the scenario.

    Of each word: the first release, the first without it (empty for none), and a reason.
    """
    server, since, until, said, options = releases_of(kind).server, "", "", "", {}
    for first, gone, reason in needs:
        if first and _newest(first) > _newest(since):
            said = f"{server} {', '.join(first.split())} or newer: {reason}"
        since = _both(since, first)
        if gone and (not until or numbers(gone) < numbers(until)):
            until, last = gone, f"{server} before {gone}: {reason}"
    if since:
        options["since"] = since
    if until:
        options["until"] = until
    return [*([said] if since else []), *([last] if until else [])], options


def _newest(since: str) -> Number:
    return max(map(numbers, since.split()), default=())


def _both(one: str, other: str) -> str:
    """The first releases, one of each branch, that have what two such lists have."""
    if not (one and other):
        return one or other
    every = {*one.split(), *other.split()}
    kept = [
        release for release in every if all(reaches(numbers(release), s) for s in (one, other))
    ]
    return " ".join(sorted(kept, key=numbers))


def reaches(release: Number, since: str) -> bool:
    """Whether a release has what others have since one of each branch."""
    firsts = [numbers(first) for first in since.split()]
    branch = [first for first in firsts if first[:2] == release[:2]]
    return release >= (min(branch) if branch else max(firsts))


def tagged(described: str) -> Release | None:
    """The release of a commit by its nearest tag; those after it may have what is next."""
    tag = _TAG.fullmatch(described)
    if tag is None:
        return None
    number = numbers(tag["release"])
    return Release(described, number, (_ANY,) if tag["between"] else number)


def of_source(kind: str, files: Path) -> Release | None:
    """The release that the files of a commit, a tar, say they are."""
    patterns = releases_of(kind).source
    with tarfile.open(files) as archive:
        for entry in archive:
            if entry.name not in patterns or not entry.isfile():
                continue
            held = archive.extractfile(entry)
            text = held.read(_MOST_BYTES).decode("utf-8", "replace") if held else ""
            if (match := re.search(patterns[entry.name], text, re.MULTILINE)) is not None:
                parts = [part for part in match.groups() if part]
                release = ".".join(part for part in parts if part[0].isdigit())
                return _on_the_way(release, is_out=parts[-1][0].isdigit())
    return None


def _on_the_way(release: str, *, is_out: bool) -> Release:
    number = (*numbers(release), 0)[:3]
    if is_out:
        return Release(release, number, number)
    return Release(f"on the way to {release}", (*number[:2], number[2] - 1, _ANY), number)


def of_suite(kind: str, suite: str) -> Release | None:
    """The release of the package in a suite, which an update may raise."""
    release = releases_of(kind).suites.get(suite)
    if release is None:
        return None
    return Release(f"{release} of {suite}", numbers(release), (*numbers(release), _ANY))


def of_apt(answer: str) -> Release | None:
    """The release that is installed, or else would be, by an answer of apt-cache policy."""
    versions = dict(reversed(_APT.findall(answer)))
    text = versions.get("Installed") or versions.get("Candidate") or ""
    release = version_of(text)
    return Release(text, numbers(release), numbers(release)) if release else None


def check_release(scenario: str, options: Mapping[str, Any], release: Release | None) -> None:
    """Raise a usage error for a release that cannot take a scenario's configuration.

    `options` are those of the scenario's server, of which `since` and `until` are read.
    """
    since, until = (str(options.get(key, "")) for key in ("since", "until"))
    if release is None:
        return
    too_old = bool(since) and not reaches(release.newest, since)
    too_new = bool(until) and (*release.oldest, 0)[:3] >= (*numbers(until), 0)[:3]
    if too_old or too_new:
        raise usage_error(
            "this release does not take the configuration",
            where=f"scenario {scenario}",
            found=release.text,
            wanted=f"{', '.join(since.split())} or newer" if too_old else f"one before {until}",
            todo="see what needs it: `run --config` lists releases that take it",
        )
