"""Packages of Debian's suites, and repositories of real servers, made from source packages.

No git hosting can be reached from everywhere, but a package mirror can: each suite has a
version of the source, and each becomes a commit.  The lists are fetched into a folder of
their own, so that the machine's packages stay as they are.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from pathlib import Path

from tests.repositories import git, make_repository

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Lists:
    """The packages of some suites of the machine's own mirror."""

    kind = "deb"

    def __init__(self, folder: Path, suites: list[str]) -> None:
        """Keep the lists of the suites in a folder."""
        self._folder = folder
        for name in ("lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        mirror = _run("apt-get", "indextargets", "--format", "$(REPO_URI)").split()[0]
        # a mirror that is a snapshot is older than its lists say they may be
        settings = f"[signed-by={KEYRING} check-valid-until=no]"
        (folder / "sources.list").write_text(
            "".join(f"{self.kind} {settings} {mirror} {suite} main\n" for suite in suites),
            encoding="utf-8",
        )

    def download(self, packages: list[str], place: Path) -> None:
        """Fetch packages, and what they depend on, into an empty folder."""
        (place / "partial").mkdir()
        wanted = ("apt-get", "install", "--yes", "--download-only", *packages)
        try:
            self._apt(*wanted, archives=place)
        except AssertionError:  # there are no lists yet, or newer packages
            self._apt("apt-get", "update")
            self._apt(*wanted, archives=place)

    def _apt(
        self, *command: str, folder: Path | None = None, archives: Path | None = None
    ) -> str:
        program, *arguments = command
        cache = self._folder / "cache"
        options = {
            "Dir::Etc::SourceList": self._folder / "sources.list",
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::State::Lists": self._folder / "lists",
            "Dir::State::Status": self._folder / "status",
            "Dir::Cache": cache,
            # images of containers have none, and reading a list takes a second
            "Dir::Cache::SrcPkgCache": "sources.bin",
            "Dir::Cache::PkgCache": "packages.bin",
            "Dir::Cache::Archives": archives or cache / "archives",
            "Acquire::Languages": "none",
            "APT::Get::List-Cleanup": "0",
            "APT::Install-Recommends": "0",
            "APT::Sandbox::User": "root",
        }
        flags = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
        return _run(program, *flags, *arguments, folder=folder or self._folder)


class SourceLists(Lists):
    """The source packages of some suites of the machine's own mirror."""

    kind = "deb-src"

    def __init__(self, folder: Path, suites: list[str]) -> None:
        """Fetch the lists of the suites into a folder."""
        super().__init__(folder, suites)
        self._apt("apt-get", "update")

    def fetch(self, package: str, suite: str) -> tuple[str, Path]:
        """Return the version and the unpacked source of a package in a suite."""
        wanted = ("apt-get", "source", "--download-only", f"{package}/{suite}")
        self._apt(*wanted)
        # Packages that are there already are not listed; so it is asked in an empty folder.
        output = self._apt(*wanted, "--print-uris", folder=self._folder / "cache")
        (name,) = re.findall(r" (\S+\.orig\.tar\.[a-z0-9]+) ", output)
        version = name.split("_")[1].partition(".orig")[0]
        place = self._folder / f"{package}-{version}"
        if not place.exists():
            draft = place.with_suffix(".new")
            shutil.rmtree(draft, ignore_errors=True)
            with tarfile.open(self._folder / name) as files:
                files.extractall(draft, filter="data")
            (top,) = draft.iterdir()
            top.rename(place)
        return version, place


def repository_of(
    package: str, suites: list[str], path: Path, lists: SourceLists
) -> dict[str, str]:
    """Make a repository with a commit and a tag for each suite's version of a package.

    Suites are oldest first.  Returns the hash of each commit by its version.
    """
    make_repository(path)
    hashes = {}
    for minute, suite in enumerate(suites):
        version, source = lists.fetch(package, suite)
        for entry in path.iterdir():
            if entry.name != ".git":
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        shutil.copytree(source, path, dirs_exist_ok=True, symlinks=True)
        git(path, "add", "--all", "--force")
        git(path, "commit", "--quiet", "-m", f"{package} {version}", minute=minute)
        hashes[version] = git(path, "rev-parse", "HEAD")
        git(path, "tag", f"v{version}")
    return hashes


def change(path: Path, name: str, old: str, new: str, subject: str, *, minute: int) -> str:
    """Commit a change of one file, which must have the old text once; return the hash."""
    file = path / name
    text = file.read_text(encoding="utf-8", errors="surrogateescape")
    assert text.count(old) == 1, f"{name}: {old!r} is there {text.count(old)} times"
    file.write_text(text.replace(old, new), encoding="utf-8", errors="surrogateescape")
    git(path, "commit", "--quiet", "--all", "-m", subject, minute=minute)
    return git(path, "rev-parse", "HEAD")


def _run(*command: str, folder: Path | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.stderr}"
    return done.stdout
