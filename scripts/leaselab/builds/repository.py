"""A git repository of a server: what a name means, what lies in a range, the files of a commit.

Git itself does the work, with the access that its user has set up.  A
repository on this machine is only read; one behind an address is mirrored and
brought up to date first.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shlex
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import MAXYEAR, UTC, datetime
from pathlib import Path

from leaselab.archive.disk import drafted
from leaselab.builds.git import Done, git, git_environment
from leaselab.model.errors import LeaselabError, lab_broken, near, server_broken, usage_error
from leaselab.model.source import SHORT, Commit, public_address
from leaselab.model.text import bounded, printable

MOST_FILES, MOST_BYTES = 100_000, 1 << 30
"""What a commit may have: files and folders, and bytes.  Kea has 4 000, and 58 MB."""
_REMOTE_S = 1800.0
_SCP_LIKE = re.compile(r"(?:[\w.-]+@)?[\w.-]+:(?!//)")
_MAIN = tuple(
    f"refs/{place}/{name}"
    for place, names in (
        ("heads", ("main", "master")),
        ("remotes/origin", ("HEAD", "main", "master")),
    )
    for name in names
)
"""What the main branch is called; a mirror says it by its own HEAD as well."""
_HASH = re.compile("[0-9a-f]+")
_FIELDS = "%H%x00%T%x00%at%x00%aI%x00%ct%x00%cI%x00%s"
_EPOCH = datetime.fromtimestamp(0, UTC)
_LETTERS = 200
"""The most that is kept of a subject or a name."""
_WORKTREE_AUTHOR = {
    # `git stash create` makes a commit that is never shown.
    f"GIT_{who}_{what}": "leaselab"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository on this machine, read only."""

    path: Path
    name: str
    """As it was given; results and messages show it."""

    def resolve(self, ref: str) -> Commit:
        """Return the commit that a branch, tag or hash means now.

        A branch that is there as one of the remote ``origin`` alone is meant as well.
        Raises a usage error for an unknown or ambiguous name.
        """
        done = git(self.path, "rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}")
        if "is ambiguous" in done.stderr:
            raise usage_error(
                f"{ref!r} means more than one commit",
                where=self.name,
                found=done.stderr.strip().splitlines()[0],
                wanted="one",
                todo=f"say refs/heads/{ref}, refs/tags/{ref} or more of the hash",
            )
        if done.status != 0:
            # What a CI server checked out has its branches as those of the remote alone.
            remote = f"refs/remotes/origin/{ref}^{{commit}}"
            done = git(self.path, "rev-parse", "--verify", "--end-of-options", remote)
        # git also takes an exclusion such as ^main, and answers with one
        if done.status != 0 or not _HASH.fullmatch(done.stdout.strip()):
            raise self._unknown(ref)
        return self._commit(done.stdout.strip(), ref)

    def last_release(self, commit: Commit) -> Commit:
        """Return the nearest commit with a tag among the ancestors of a commit.

        That is, with an annotated tag or any other.  Raises a usage error where there is none.
        """
        tag = git(self.path, "describe", "--tags", "--abbrev=0", f"{commit.hash}^")
        if tag.status != 0:
            raise usage_error(
                "no release before it",
                where=f"{self.name}, commit {commit.hash}",
                found=tag.reason,
                wanted="a tag among its ancestors",
                todo="fetch the tags, or name the commit to compare with",
            )
        return self.resolve(tag.stdout.strip())

    def branch_point(self, commit: Commit) -> Commit:
        """Return where the branch of a commit left the main branch.

        Of a commit of the main branch itself that is its first parent: what it was pushed onto.
        Raises a usage error where there is no main branch, or no such commit.
        """
        for main in _MAIN:
            base = git(self.path, "merge-base", commit.hash, main)
            name = base.stdout.strip()
            if base.status == 0 and name:
                break
        else:
            raise usage_error(
                "it has no commit in common with the main branch",
                where=f"{self.name}, commit {commit.hash}",
                wanted=f"one of {', '.join(one.removeprefix('refs/') for one in _MAIN)}",
                todo="name the commit to compare with",
            )
        return self.resolve(name if name != commit.hash else f"{commit.hash}^")

    def between(self, text: str, *, every: int = 1, first_parent: bool = False) -> list[Commit]:
        """Return the commits of a range ``A..B``, oldest first, parents before children.

        As git has it: what B has and A has not, so A itself is not one of them.
        With `every` N, only each Nth commit, counted back from B; B is always included.
        Raises a usage error for what is no range or has nothing in it.
        """
        old, dots, new = text.partition("..")
        if not (old and dots and new) or new.startswith("."):
            raise usage_error(
                "not a range of commits", found=text, wanted="A..B, such as v1.0..main"
            )
        first, last = self.resolve(old), self.resolve(new)
        if self._shallow() and not self.is_ancestor(first, last):
            raise self._cut_off(text)
        listed = git(
            self.path,
            "rev-list",
            "--topo-order",
            *(["--first-parent"] if first_parent else []),
            last.hash,
            f"^{first.hash}",
        )
        hashes = listed.stdout.split()[::every][::-1]
        if not hashes:
            raise usage_error(
                "no commit lies in this range",
                where=self.name,
                found=f"{old} has all that {new} has",
                wanted="the older one first",
            )
        return [self._commit(name, name) for name in hashes]

    def line(self, good: str, bad: str) -> list[Commit]:
        """Return two commits and those between them along first parents, oldest first.

        So each is what its parent is and one change more: a commit, or a merge with all that
        it brought in.  Raises a usage error where the first is not on that line.
        """
        first = self.resolve(good)
        later = self.between(f"{good}..{bad}", first_parent=True)
        parents = self._parents(later[0])
        if parents[:1] != [first.hash]:
            raise usage_error(
                "the good end is not among the first parents of the bad one",
                where=self.name,
                found=f"{good} is {first.hash[:SHORT]}; the line of {bad} comes to "
                f"{parents[0][:SHORT] if parents else 'its root'} instead",
                wanted="two commits of one branch, the good one before the bad one",
                todo=f"name {parents[0][:SHORT]} as the good end" if parents else "",
            )
        return [first, *later]

    def merged(self, commit: Commit) -> tuple[str, str] | None:
        """Return where the branch that a merge brought in began, and its last commit.

        Full hashes; None for a commit that is no merge.
        """
        parents = self._parents(commit)
        if len(parents) < 2:
            return None
        base = git(self.path, "merge-base", *parents[:2]).stdout.strip()
        return (base, parents[1]) if base else None

    def _parents(self, commit: Commit) -> list[str]:
        done = git(self.path, "rev-parse", f"{commit.hash}^@")
        return done.stdout.split() if done.status == 0 else []

    def worktree(self) -> Commit:
        """Return the files of the checkout as they are: what no commit has yet, too.

        Only files that git knows; a new one counts once it is added.  Raises a
        usage error where there is no checkout.
        """
        if git(self.path, "rev-parse", "--is-inside-work-tree").stdout.strip() != "true":
            raise usage_error("there is no checkout", where=self.name, wanted="files to build")
        head = self.resolve("HEAD")
        stash = git(self.path, "stash", "create", environment=_WORKTREE_AUTHOR)
        # A file that was written again as it was: git ends with 1, and has nothing to say.
        nothing = (stash.status, stash.stderr.strip()) == (1, "")
        if stash.status != 0 and not nothing:
            raise self._failed("git stash create", stash)
        if not stash.stdout.strip():
            return head
        tree = git(self.path, "rev-parse", f"{stash.stdout.strip()}^{{tree}}").stdout.strip()
        described = f"{head.described}-dirty"
        return replace(
            head, ref="the checkout", tree=tree, described=described, dirty=True, accepted=False
        )

    def file(self, commit: Commit, name: str, most: int = MOST_BYTES) -> str | None:
        """The text of a file of a commit; None where it has none of this name.

        Raises a usage error for one of more than `most` bytes.
        """
        place = f"{commit.tree}:{name}"
        size = git(self.path, "cat-file", "-s", place)
        if size.status == 0 and int(size.stdout) > most:
            raise usage_error(
                "the file is too large",
                where=f"{self.name}, {name} of {commit.hash[:SHORT]}",
                found=f"{int(size.stdout)} bytes",
                wanted=f"up to {most}",
            )
        done = git(self.path, "cat-file", "blob", place)
        return done.stdout if done.status == 0 else None

    def trailers(self, commit: Commit, word: str) -> tuple[str, list[str]]:
        """Return the committer's address, and the values of a trailer of the message.

        Both are what somebody wrote: git authenticates neither.
        """
        form = f"%ce%x00%(trailers:key={word},valueonly,unfold)"
        done = git(self.path, "log", "--no-walk", f"--format={form}", commit.hash)
        if done.status != 0:
            raise self._failed(f"git log {commit.hash}", done)
        address, _, values = done.stdout.partition("\0")
        lines = [line for line in values.splitlines() if line.strip()]
        return bounded(address, _LETTERS), [bounded(line, _LETTERS) for line in lines]

    def lines_with(self, commit: Commit, word: str, *names: str) -> list[tuple[str, int]]:
        """Return the lines of a commit that have a word: file and number, from 1 on.

        `names` are patterns of files.  Of a file, it is at most 50 lines.
        """
        words = ("-Iz", "--line-number", "--word-regexp", "--fixed-strings", "--max-count=50")
        where = ("-e", word, commit.tree, "--", *names)
        done = git(self.path, "grep", "--full-name", *words, *where)
        rows = (row.split("\0") for row in done.stdout.split("\n"))
        return [(row[0].partition(":")[2], int(row[1])) for row in rows if len(row) > 2]

    def changed(self, before: Commit, after: Commit) -> frozenset[str]:
        """Return the files that differ between two commits, by those of the second."""
        done = git(self.path, "diff", "--name-only", "-z", before.tree, after.tree)
        return frozenset(filter(None, done.stdout.split("\0")))

    def archive(self, commit: Commit, folder: Path) -> Path:
        """Write the commit's files as ``<tree>.tar`` into a folder; return its path.

        An archive and no clone: a builder then needs neither git nor access,
        and finds nothing that is not of this commit.  More files than `MOST_FILES`, or larger
        ones than `MOST_BYTES` together, are the commit's fault.
        """
        target = folder / f"{commit.tree}.tar"
        if target.exists():
            os.utime(target)  # what was used lately is not pruned
            return target
        folder.mkdir(parents=True, exist_ok=True)
        wanted = commit.tree if commit.dirty else commit.hash
        self._check_size(wanted)
        with drafted(target) as draft:
            done = git(self.path, "archive", "--format=tar", f"--output={draft}", wanted)
            if done.status != 0:
                raise lab_broken(
                    f"git archive: {done.reason}",
                    where=self.name,
                    todo="see what it says there",
                )
            draft.rename(target)
        return target

    def _check_size(self, tree: str) -> None:
        """Refuse what cannot be unpacked: few objects can make any number of files.

        The listing is read until it is too long; git's archive would first read all of it.
        """
        argv = ("git", "-C", str(self.path), "ls-tree", "-r", "-t", "--long", tree)
        files = size = 0
        environment = git_environment(self.path)
        with subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        ) as listing:
            for row in listing.stdout or ():
                files += 1
                size += int(row.split(maxsplit=4)[3].replace(b"-", b"0"))
                if files > MOST_FILES or size > MOST_BYTES:
                    listing.kill()
                    raise server_broken(
                        "the commit has too many or too large files",
                        where=f"{self.name} at {tree[:SHORT]}",
                        found=f"{files} files and folders of {size >> 20} MiB, or more",
                        wanted=f"up to {MOST_FILES}, and up to {MOST_BYTES >> 20} MiB",
                    )
        if listing.returncode != 0:
            raise server_broken(
                "the commit's files cannot be listed",
                where=f"{self.name} at {tree[:SHORT]}",
                todo=f"see git ls-tree -r {tree[:SHORT]}",
            )

    def _commit(self, name: str, ref: str) -> Commit:
        shown = git(self.path, "log", "--no-walk", f"--format={_FIELDS}", name)
        if shown.status != 0:
            raise self._failed(f"git log {name}", shown)
        # what is shown of a merge ends in an empty line
        commit_hash, tree, *dates, subject = shown.stdout.rstrip("\n").split("\0", 6)
        described = git(self.path, "describe", "--tags", "--always", commit_hash).stdout.strip()
        named = printable(described) if len(described) <= _LETTERS // 2 else commit_hash[:SHORT]
        accepted = self._accepted(commit_hash)
        return Commit(
            repository=self.name,
            ref=bounded(ref, _LETTERS),
            hash=commit_hash,
            tree=tree,
            described=named,
            author_date=_date(*dates[:2]),
            committer_date=_date(*dates[2:]),
            subject=bounded(subject, _LETTERS),
            accepted=accepted,
        )

    def _accepted(self, name: str) -> bool:
        """Whether a tag or the main branch has a commit; others may be anybody's."""
        bare = git(self.path, "rev-parse", "--is-bare-repository").stdout.strip() == "true"
        # in a mirror it is the server's default branch, in a checkout any branch
        head = git(self.path, "symbolic-ref", "--quiet", "HEAD").stdout.strip() if bare else ""
        done = git(
            self.path,
            "for-each-ref",
            "--count=1",
            "--format=%(refname)",
            f"--contains={name}",
            "refs/tags/",
            *_MAIN,
            *filter(None, [head]),
        )
        return bool(done.stdout.strip())

    def _shallow(self) -> bool:
        done = git(self.path, "rev-parse", "--is-shallow-repository")
        return done.stdout.strip() == "true"

    def is_ancestor(self, first: Commit, last: Commit) -> bool:
        """Whether a commit is in the history of another one, or that one."""
        done = git(self.path, "merge-base", "--is-ancestor", first.hash, last.hash)
        return done.status == 0

    def _unknown(self, ref: str) -> LeaselabError:
        if self._shallow():
            return self._cut_off(ref)
        names = git(self.path, "for-each-ref", "--format=%(refname:short)").stdout.split()
        nearest = near(ref, names)[:1]
        todo = f"did you mean {nearest[0]!r}?" if nearest else "name a branch, a tag or a hash"
        return usage_error(f"no commit {ref!r}", where=self.name, todo=todo)

    def _failed(self, command: str, done: Done) -> LeaselabError:
        return usage_error(
            f"git: {done.reason}", where=self.name, todo=f"see what {command} says there"
        )

    def _cut_off(self, text: str) -> LeaselabError:
        return usage_error(
            f"{text!r} cannot be followed: the history of this clone is cut off",
            where=self.name,
            found="a shallow clone",
            wanted="all of it",
            todo="git fetch --unshallow",
        )


def open_repository(where: str, mirrors: Path) -> Repository:
    """Open a repository by its path, or by its address: that one is mirrored below `mirrors`.

    Raises a usage error for what is not there, is no repository or cannot be
    fetched, and for an address with what may be a secret in it.
    """
    path = Path(where).expanduser()
    if not path.exists() and _is_address(where):
        return _mirror(where, mirrors)
    if not path.exists():
        shown = public_address(where)
        raise usage_error("no git repository", where=shown, wanted="a path or an address")
    folder = git(path if path.is_dir() else path.parent, "rev-parse", "--git-dir")
    if not path.is_dir() or folder.status != 0:
        raise usage_error(
            "not a git repository",
            where=where,
            found=folder.reason if folder.status else "a file",
            wanted="the folder of a clone, or an address",
            todo="if it is of a user whom you trust: git config --global --add safe.directory "
            f"{shlex.quote(str(path.absolute()))}"
            if "dubious ownership" in folder.reason
            else "",
        )
    place = path.absolute()
    name = os.fsencode(place).decode(errors="replace")
    if name != str(place):
        raise usage_error(
            "the path of this repository is not UTF-8 text, as results are",
            where=name,
            found=str(os.fsencode(place)),
            todo="rename its folder, or name it by a link",
        )
    return Repository(place, name)


def _is_address(where: str) -> bool:
    return "://" in where or _SCP_LIKE.match(where) is not None


def _mirror(address: str, mirrors: Path) -> Repository:
    shown = public_address(address)
    if shown != address:
        raise usage_error(
            "the address holds a password, a user name or a query; any of them may be a "
            "secret, and logs and results would keep it",
            where=shown,
            todo="leave it out and give it to git instead: a credential helper, "
            "credential.username, or an SSH key",
        )
    stem = re.sub(r"\W+", "-", address.rstrip("/").rpartition("/")[2].removesuffix(".git"))
    place = mirrors / f"{stem}-{hashlib.sha256(address.encode()).hexdigest()[:12]}.git"
    draft = place.with_suffix(".new")
    mirrors.mkdir(parents=True, exist_ok=True)
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (place / "HEAD").exists():
            done = git(place, "remote", "update", "--prune", seconds=_REMOTE_S)
        else:
            shutil.rmtree(draft, ignore_errors=True)  # what an interrupted one left
            clone = ("clone", "--quiet", "--mirror", "--", address, str(draft))
            done = git(mirrors, *clone, seconds=_REMOTE_S)
            if done.status == 0:
                draft.rename(place)
    if done.status != 0:
        raise usage_error(
            f"cannot be fetched: {done.reason}",
            where=address,
            todo="check that `git ls-remote` with this address works and asks for no password",
        )
    return Repository(place, address)


def _date(seconds: str, text: str) -> str:
    """Return a commit's date in a form that can be computed with, for any date of its author.

    A date with an invalid zone is given in UTC; one out of the calendar's range as git shows
    it: 1970.
    """
    moment = _EPOCH
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        with suppress(ValueError, OverflowError):
            moment = datetime.fromtimestamp(int(seconds), UTC)
    return (moment if _EPOCH.year <= moment.year < MAXYEAR else _EPOCH).isoformat()
