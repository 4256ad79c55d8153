"""Groovy 2.4, the line that Jenkins runs: fetched once and checked, our sources compiled once.

`java` and `mvn` must be there (Debian's default-jre-headless and maven).  What is fetched and
compiled lies in `.leaselab/tools/groovy`.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.tools import TOOLS

HERE = Path(__file__).parent
PLACE = TOOLS / "groovy"
JAR = PLACE / "groovy-all-2.4.21.jar"
JAR_SHA256 = "de65260cf2070442e99882f2f3d72e7531725c1e6a257446cc0cea525c607bd0"
# Groovy 2.4 is older than Java's modules, and reaches into these by reflection.
OPENED = ("java.lang", "java.lang.reflect", "java.util", "java.io", "java.net", "java.nio.file")


def command(*words: str) -> list[str]:
    """A command line that runs the tool of this folder, such as `run` or `lint`, with words."""
    _have_jar()
    classes = _classes()
    # Without it, as of another Java, a start takes longer, and nothing is said of that.
    loaded = f"-XX:SharedArchiveFile={classes.with_suffix('.jsa')}"
    return [*_java(), loaded, "-Xlog:disable", *_main(classes, *words)]


def _main(classes: Path, *words: str) -> list[str]:
    return ["-cp", f"{JAR}:{classes}", "leaselab.Main", *words]


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
    """The compiled sources, in a file named by their hash."""
    sources = sorted(HERE.glob("*.groovy"))
    version = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()
    classes = PLACE / f"classes-{version[:16]}.jar"
    if not classes.exists():
        with _alone():
            if not classes.exists():
                _compile(sources, classes)
    return classes


def _compile(sources: list[Path], classes: Path) -> None:
    for old in PLACE.glob("classes-*.*"):
        old.unlink()
    compiler = "org.codehaus.groovy.tools.FileSystemCompiler"
    with tempfile.TemporaryDirectory(dir=PLACE) as place:
        folder = f"{place}/classes"
        argv = [*_java(), "-cp", str(JAR), compiler, "-d", folder, *map(str, sources)]
        Path(folder).mkdir()
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        _load(Path(shutil.make_archive(folder, "zip", folder)).rename(classes))


def _load(classes: Path) -> None:
    """Keep what Java makes of the classes that a start loads: a third of the next starts."""
    loaded = f"-XX:ArchiveClassesAtExit={classes.with_suffix('.jsa')}"
    with tempfile.TemporaryDirectory() as place:
        nothing = Path(place) / "nothing.json"
        nothing.write_text("{}", encoding="utf-8")
        words = ["lint", "--repository", place, "--provides", str(nothing)]
        words += ["--parameters", str(nothing), str(HERE / "sample.Jenkinsfile")]
        subprocess.run(
            [*_java(), loaded, *_main(classes, *words)],
            capture_output=True,
            check=False,
        )


@contextmanager
def _alone() -> Iterator[None]:
    """Nobody else fetches or compiles meanwhile."""
    PLACE.mkdir(parents=True, exist_ok=True)
    with (PLACE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
