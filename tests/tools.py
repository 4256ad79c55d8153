"""Programs of Debian that a test runs and that nobody should have to install for it.

Tests of several processes want the same folders: the first makes one, the others
wait.
"""

import fcntl
import os
import subprocess
import tempfile
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from tests.sources import Lists

TOOLS = Path(__file__).parents[1] / ".leaselab" / "tools"
AS_ROOT = [] if os.geteuid() == 0 else ["sudo", "-n"]
KEA_PACKAGES = ("kea-dhcp4-server", "kea-dhcp6-server", "kea-ctrl-agent", "kea-admin")
UNPACK = r"""
umask 022
mkdir "$1"
cd "$1"
mkdir -p dev etc proc sys usr/bin usr/lib usr/lib64 usr/sbin var/log
mkdir -m 1777 tmp
ln -s usr/bin usr/lib usr/lib64 usr/sbin .
cp -a /dev/full /dev/null /dev/random /dev/urandom /dev/zero dev
for archive in "$2"/*.deb; do
  dpkg-deb --fsys-tarfile "$archive" | tar -xp --keep-directory-symlink
done
"""
"""Makes a root of the archives of a folder, with devices and merged /usr."""
KEA_FOLDERS = ("etc/kea", "run/kea", "var/log/kea", "var/lib/kea")


def unpacked(package):
    """A package's files in a folder of their own: installing some would start a service."""
    place = TOOLS / package
    with made_once(place) as fresh:
        if fresh:
            fresh.mkdir()
            if not _download(package, fresh):
                subprocess.run(["apt-get", "update", "-qq"], check=False)
                assert _download(package, fresh), (
                    f"{package} cannot be fetched; see apt-get download"
                )
            (file,) = fresh.glob("*.deb")
            subprocess.run(["dpkg", "-x", file, fresh], check=True)
            file.unlink()
    return place


def unpacked_kea(suite):
    """The root of a release with its Kea, its folders as the packages make them."""
    place = TOOLS / f"kea-{suite}"
    with made_once(place) as fresh:
        if fresh:
            extract(suite, fresh, KEA_PACKAGES)
            run(*AS_ROOT, "mkdir", "-p", *(fresh / folder for folder in KEA_FOLDERS))
            run(*AS_ROOT, "chmod", "750", fresh / "run/kea")
    return place


def unpacked_root(suite, package, *more, owner=""):
    """The root of a release with packages and with Python, for a contract to run in.

    Each `owner` has a root of its own.
    """
    packages = (package, *more, "python3")
    digest = sha256(" ".join((*packages, owner)).encode()).hexdigest()[:8]
    place = TOOLS / f"{package}-{suite}-{digest}"
    with made_once(place) as fresh:
        if fresh:
            extract(suite, fresh, packages)
            # accounts are made as packages are set up, and these are not
            user = "root:x:0:0::/root:/bin/sh\n"
            run(*AS_ROOT, "tee", fresh / "etc/passwd", input=user)
    return place


def kea_examples(suite):
    """The example configurations in the source of a release's Kea, by their names."""
    place = TOOLS / f"kea-doc-{suite}"
    with made_once(place) as fresh:
        if fresh:
            extract(suite, fresh, ["kea-doc"])
    folder = place / "usr/share/doc/kea/examples"
    files = [*folder.rglob("*.json"), *folder.rglob("*.conf")]
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(files)}


def extract(suite, place, packages):
    """Unpack packages, and what they depend on, as a root; no script of theirs runs.

    mmdebstrap would read the suite's lists for each root, four times as long as all the rest.
    """
    lists = TOOLS / f"lists-{suite}"
    with tempfile.TemporaryDirectory(dir=TOOLS) as archives:
        with _alone(lists.name):
            Lists(lists, [suite]).download([*packages], Path(archives))
        status, output = run(*AS_ROOT, "sh", "-ec", UNPACK, "sh", place, archives)
    assert status == 0, output


def run(*argv, **options):
    """Run a program; its status and all that it said."""
    done = subprocess.run(
        [*map(str, argv)], capture_output=True, text=True, check=False, **options
    )
    return done.returncode, done.stdout + done.stderr


@contextmanager
def made_once(place):
    """Give the path to make the folder at, which is then moved to its place; None if made."""
    with _alone(place.name):
        if place.exists():
            yield None
            return
        fresh = place.with_name(f"{place.name}.new")
        run(*AS_ROOT, "rm", "-rf", "--one-file-system", fresh)
        yield fresh
        fresh.rename(place)


@contextmanager
def _alone(name):
    """No other process has the lock of this name meanwhile."""
    TOOLS.mkdir(parents=True, exist_ok=True)
    with (TOOLS / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _download(package, place):
    done = subprocess.run(["apt-get", "download", "-qq", package], cwd=place, check=False)
    return done.returncode == 0
