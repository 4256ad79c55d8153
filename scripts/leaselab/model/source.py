"""The source of a server under test: one commit of its repository."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from leaselab.model.bounds import END, Text
from leaselab.model.moment import Zoned

SHORT = 10
"""Digits of a hash that is shown."""
Hash = Annotated[str, Meta(pattern=f"^[0-9a-f]{{7,64}}{END}")]
"""Digits of a full hash of a commit."""
RELEASE, BRANCH_POINT = "release", "branch-point"
"""Words for the last tag before a commit, and for where its branch left the main one."""
_BETWEEN = re.compile(r"-\d+-g[0-9a-f]+$|-dirty$")
"""How the description of a commit ends that has no tag of its own."""
_ADDRESS = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,30})://(?:(?P<user>[^\s/?#'\"]*)@)?"
    r"(?P<place>[^\s?#'\"]*)(?P<rest>[?#][^\s'\"]*)?"
)
_SHELLS = frozenset({"ssh", "git+ssh", "ssh+git"})
"""Schemes whose user name is not a secret, as login is by key."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit, identified by its full hash, which never changes."""

    repository: Text
    """Path or address as given, without secrets."""
    ref: Text
    """The requested name: a branch, a tag, a hash; its target may change."""
    hash: Hash
    """Full hash of the commit."""
    tree: Hash
    """Full hash of its files: commits with the same tree are the same source."""
    described: Text
    """Name for users: the nearest tag, the commits since, the short hash."""
    author_date: Zoned | None
    """Author date, ISO 8601 with the author's zone."""
    subject: Text
    """First line of its message; untrusted text, so never markup."""
    dirty: bool = False
    """Whether the files are a checkout's with uncommitted changes: `tree` names those files,
    `hash` the commit that they are based on."""
    accepted: bool = False
    """Whether the repository's main branch or a tag contains it: its maintainers merged it.
    Object files of such a build may be reused by builds of other commits of the repository."""
    committer_date: Zoned | None = None
    """Commit date, ISO 8601 with the committer's zone: when it was added to its branch.  A
    rebase changes it, but not the author's date."""

    @property
    def tag(self) -> str:
        """The tag that it has itself; empty for none, and for a checkout with changes."""
        named = self.described and not _BETWEEN.search(self.described)
        return self.described if named and not self.hash.startswith(self.described) else ""

    @property
    def name(self) -> str:
        """Short hash, with its tag: ``8a5b2c41d0 v2.91``."""
        return f"{self.hash[:SHORT]} {self.tag}".rstrip()

    @property
    def date(self) -> str | None:
        """When it was added to its branch; its author date where only that is known."""
        return self.committer_date or self.author_date

    @property
    def day(self) -> str:
        """The day of `date`, in its own zone; words where it is not known."""
        return self.date[:10] if self.date else "no date"


def public_address(text: str) -> str:
    """Return a text with possible secrets removed from its addresses (``scheme://…``).

    A password is a secret; a user name alone and a query may be tokens of a service.
    """
    return _ADDRESS.sub(_public, text)


def _public(parts: re.Match[str]) -> str:
    scheme, user = parts["scheme"].lower(), parts["user"]
    if scheme == "file":
        return parts[0]
    name = f"{user.partition(':')[0]}@" if user and scheme in _SHELLS else ""
    return f"{parts['scheme']}://{name}{parts['place']}"
