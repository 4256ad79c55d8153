"""Programs of Debian that a test runs and that nobody should have to install for it."""

import subprocess
from pathlib import Path

TOOLS = Path(__file__).parents[1] / ".leaselab" / "tools"


def unpacked(package):
    """A package's files in a folder of their own: installing some would start a service."""
    place = TOOLS / package
    if not (place / "usr").exists():
        place.mkdir(parents=True, exist_ok=True)
        if not _download(package, place):
            subprocess.run(["apt-get", "update", "-qq"], check=False)
            assert _download(package, place), (
                f"{package} cannot be fetched; see apt-get download"
            )
        (file,) = place.glob("*.deb")
        subprocess.run(["dpkg", "-x", file, place], check=True)
        file.unlink()
    return place


def _download(package, place):
    done = subprocess.run(["apt-get", "download", "-qq", package], cwd=place, check=False)
    return done.returncode == 0
