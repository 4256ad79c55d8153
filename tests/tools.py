"""Programs of Debian that a test runs and that nobody should have to install for it.

Tests of several processes want the same folders: the first makes one, the others
wait.
"""

import fcntl
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

TOOLS = Path(__file__).parents[1] / ".leaselab" / "tools"
AS_ROOT = [] if os.geteuid() == 0 else ["sudo", "-n"]
KEA_PACKAGES = ("kea-dhcp4-server", "kea-dhcp6-server", "kea-ctrl-agent", "kea-admin")
KEA_FOLDERS = ("etc/kea", "run/kea", "var/log/kea", "var/lib/kea", "dev")


def unpacked(package):
    """A package's files in a folder of their own: installing some would start a service."""
    place = TOOLS / package
    with _made_once(place) as fresh:
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
    with _made_once(place) as fresh:
        if fresh:
            _extract(suite, fresh, KEA_PACKAGES)
            run(*AS_ROOT, "mkdir", "-p", *(fresh / folder for folder in KEA_FOLDERS))
            run(*AS_ROOT, "chmod", "750", fresh / "run/kea")
    return place


def unpacked_root(suite, package, *more):
    """The root of a release with packages and with Python, for a contract to run in."""
    place = TOOLS / f"{package}-{suite}"
    with _made_once(place) as fresh:
        if fresh:
            _extract(suite, fresh, (package, *more, "python3"))
            run(*AS_ROOT, "mkdir", "-p", *(fresh / item for item in ("dev", "proc", "sys")))
            # accounts are made as packages are set up, and these are not
            user = "root:x:0:0::/root:/bin/sh\n"
            run(*AS_ROOT, "tee", fresh / "etc/passwd", input=user)
    return place


def kea_examples(suite):
    """The example configurations in the source of a release's Kea, by their names."""
    place = TOOLS / f"kea-doc-{suite}"
    with _made_once(place) as fresh:
        if fresh:
            _extract(suite, fresh, ["kea-doc"])
    folder = place / "usr/share/doc/kea/examples"
    files = [*folder.rglob("*.json"), *folder.rglob("*.conf")]
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(files)}


def run(*argv, **options):
    """Run a program; its status and all that it said."""
    done = subprocess.run(
        [*map(str, argv)], capture_output=True, text=True, check=False, **options
    )
    return done.returncode, done.stdout + done.stderr


@contextmanager
def _made_once(place):
    """Give the path to make the folder at, which is then moved to its place; None if made."""
    TOOLS.mkdir(parents=True, exist_ok=True)
    with (TOOLS / f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if place.exists():
            yield None
            return
        fresh = place.with_name(f"{place.name}.new")
        run(*AS_ROOT, "rm", "-rf", "--one-file-system", fresh)
        yield fresh
        fresh.rename(place)


def _download(package, place):
    done = subprocess.run(["apt-get", "download", "-qq", package], cwd=place, check=False)
    return done.returncode == 0


def _extract(suite, place, packages):
    mirror = run("apt-get", "indextargets", "--format", "$(REPO_URI)")[1].split()[0]
    status, output = run(
        *AS_ROOT,
        "mmdebstrap",
        "--quiet",
        "--variant=extract",
        "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
        # a mirror that is a snapshot is older than its lists say they may be
        '--aptopt=Acquire::Check-Valid-Until "false"',
        f"--include={','.join(packages)}",
        suite,
        place,
        mirror,
    )
    assert status == 0, output
