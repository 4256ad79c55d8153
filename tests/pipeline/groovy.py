"""Groovy 2.4, the line that Jenkins runs: fetched once and checked, our sources compiled once.

`java` and `mvn` must be there (Debian's default-jre-headless and maven).  What is fetched and
compiled lies in `.leaselab/tools/groovy`.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
PLACE = TOOLS / "groovy"
JAR = PLACE / "groovy-all-2.4.21.jar"
JAR_SHA256 = "de65260cf2070442e99882f2f3d72e7531725c1e6a257446cc0cea525c607bd0"
# Groovy 2.4 is older than Java's modules, and reaches into these by reflection.
OPENED = ("java.lang", "java.lang.reflect", "java.util", "java.io", "java.net", "java.nio.file")


def command(*words: str) -> list[str]:
    """A command line that runs the tool of this folder, such as `run` or `lint`, with words."""
    _have_jar()
    return [*_java(), "-cp", f"{JAR}:{_classes()}", "leaselab.Main", *words]


def _java() -> list[str]:
    assert shutil.which("java"), "install default-jre-headless; `./leaselab test` does"
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    # Small programs: the second compiler would only be in their way.  Our own classes, and
    # Groovy's, need no proof of their bytecode either, which is a tenth of a start.
    quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
    unproven = ["-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"]
    return ["java", *quick, *unproven, *opened]


def _have_jar() -> None:
    if not JAR.exists():
        with _alone():
            if not JAR.exists():
                _fetch()


def _fetch() -> None:
    assert shutil.which("mvn"), "install maven; `./leaselab test` does"
    fresh = PLACE / "fetched"
    subprocess.run(
        [
            *("mvn", "--batch-mode", "--quiet", "--file", HERE / "pom.xml"),
            *("dependency:copy-dependencies", f"-DoutputDirectory={fresh}"),
        ],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    digest = hashlib.sha256((fresh / JAR.name).read_bytes()).hexdigest()
    assert digest == JAR_SHA256, f"{JAR.name}: found sha256 {digest}, wanted {JAR_SHA256}"
    (fresh / JAR.name).rename(JAR)
    shutil.rmtree(fresh)


def _classes() -> Path:
    """The compiled sources, in a folder named by their hash."""
    sources = sorted(HERE.glob("*.groovy"))
    version = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()
    folder = PLACE / f"classes-{version[:16]}"
    if not folder.exists():
        with _alone():
            if not folder.exists():
                _compile(sources, folder)
    return folder


def _compile(sources: list[Path], folder: Path) -> None:
    for old in PLACE.glob("classes-*"):
        shutil.rmtree(old)
    fresh = PLACE / "compiling"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    compiler = "org.codehaus.groovy.tools.FileSystemCompiler"
    argv = [*_java(), "-cp", str(JAR), compiler, "-d", str(fresh), *map(str, sources)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    fresh.rename(folder)


@contextmanager
def _alone() -> Iterator[None]:
    """Nobody else fetches or compiles meanwhile."""
    PLACE.mkdir(parents=True, exist_ok=True)
    with (PLACE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
