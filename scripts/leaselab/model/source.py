"""Where a server under test comes from: one commit of its repository."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from leaselab.model.bounds import END, Text
from leaselab.model.moment import Zoned

SHORT = 10
"""Digits of a hash that people read."""
Hash = Annotated[str, Meta(pattern=f"^[0-9a-f]{{7,64}}{END}")]
"""Of a commit."""
_ADDRESS = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,30})://(?:(?P<user>[^\s/?#'\"]*)@)?"
    r"(?P<place>[^\s?#'\"]*)(?P<rest>[?#][^\s'\"]*)?"
)
_SHELLS = frozenset({"ssh", "git+ssh", "ssh+git"})
"""Schemes whose user name is no secret: a key is what logs in."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit, named by what never moves: its full hash."""

    repository: Text
    """Path or address as it was given; it holds no secret."""
    ref: Text
    """What was asked for: a branch, a tag, a hash; where that points may change."""
    hash: Hash
    """Full hash of the commit."""
    tree: Hash
    """Full hash of its files: two commits with the same one are the same source."""
    described: Text
    """Name for people: the nearest tag, the commits since, the short hash."""
    author_date: Zoned | None
    """ISO 8601, with the author's zone."""
    subject: Text
    """First line of its message; any text, so never markup."""
    dirty: bool = False
    """Whether the files are a checkout's with changes that no commit has: `tree` names
    those files, `hash` the commit they started from."""
    accepted: bool = False
    """Whether the repository's main branch or a tag has it: what its keepers took in.  What
    such a build compiled may serve builds of other commits of the repository."""
    committer_date: Zoned | None = None
    """ISO 8601, with the committer's zone: when it came into its branch.  A rebase changes it,
    and not the author's date."""

    @property
    def date(self) -> str | None:
        """When it came into its branch; when it was written, where only that is known."""
        return self.committer_date or self.author_date

    @property
    def day(self) -> str:
        """The day of that, in its own zone; in words where it is not known."""
        return self.date[:10] if self.date else "no date"


def public_address(text: str) -> str:
    """Return a text whose addresses (``scheme://…``) hold nothing that may be a secret.

    A password is one; so may be a user name alone and a query, of which services make tokens.
    """
    return _ADDRESS.sub(_public, text)


def _public(parts: re.Match[str]) -> str:
    scheme, user = parts["scheme"].lower(), parts["user"]
    if scheme == "file":
        return parts[0]
    name = f"{user.partition(':')[0]}@" if user and scheme in _SHELLS else ""
    return f"{parts['scheme']}://{name}{parts['place']}"
