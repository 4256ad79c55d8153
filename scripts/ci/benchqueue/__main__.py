"""Commands of scripts/ci/queue."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from ci.benchqueue.site import Site, read_site
from ci.benchqueue.used import used
from leaselab.archive.disk import PRIVATE, write_whole
from leaselab.model.errors import LeaselabError, lab_broken, usage_error

CONFIGURATION = Path(__file__).parents[3] / "jobs" / "buildbot" / "master.cfg"
WORKER = """\
from pathlib import Path
from buildbot_worker.bot import Worker
from twisted.application import service

folder = Path({folder!r})
password = (folder.parent / "password").read_text().strip()
application = service.Application('buildbot-worker')
Worker("127.0.0.1", {port}, {name!r}, password, str(folder), keepalive=60,
       maxdelay=10).setServiceParent(application)
"""


def main(arguments: list[str]) -> int:
    """Run one command; return its exit code."""
    queue = Path(os.environ["LEASELAB_QUEUE"]).absolute()
    try:
        match arguments:
            case ["check", file]:
                check(Path(file), queue)
                _run(Path(file), "buildbot", "checkconfig", str(CONFIGURATION))
            case ["start", file]:
                start(Path(file), queue)
            case ["stop"]:
                stop(queue)
            case ["used", *days] if len(days) < 2:
                table = used(
                    (queue / "page").read_text("utf-8"), float(days[0]) if days else 30
                )
                sys.stdout.write(f"{table}\n")
            case _:
                raise usage_error(
                    "not a command",
                    found=" ".join(arguments),
                    wanted="check, start, stop, used",
                )
    except LeaselabError as error:
        sys.stderr.write(f"leaselab: {error}\n")
        return error.code
    return 0


def check(file: Path, queue: Path) -> Site:
    """Read a site's file; have a folder for the queue, with the password of its workers."""
    site = read_site(file)
    queue.mkdir(parents=True, exist_ok=True)
    if not (queue / "password").exists():
        write_whole(queue / "password", secrets.token_hex(16).encode(), PRIVATE)
    return site


def start(file: Path, queue: Path) -> None:
    """Start the master and the workers that do not run; a running master takes what changed."""
    site, master = check(file, queue), queue / "master"
    if not (master / "state.sqlite").exists():
        made = ["create-master", "--quiet", "--relocatable", f"--config={CONFIGURATION}"]
        _run(file, "buildbot", *made, str(master))
    if pid := _running(master):
        os.kill(pid, signal.SIGHUP)  # it reads the file of the site again
    else:
        _run(file, "buildbot", "start", "--start_timeout=120", str(master))
    for folder in (queue / name for name in site.benches if not _running(queue / name)):
        folder.mkdir(exist_ok=True)
        text = WORKER.format(folder=str(folder), port=site.worker_port, name=folder.name)
        write_whole(folder / "buildbot.tac", text.encode())
        # `buildbot-worker start` fails where it takes more than ten seconds.
        _run(file, "twistd", "--no_save", "--python=buildbot.tac", folder=folder)
    page = f"http://127.0.0.1:{site.page_port}/"
    write_whole(queue / "page", page.encode())
    sys.stdout.write(f"{len(site.benches)} benches, {len(site.jobs)} jobs: {page}\n")


def stop(queue: Path) -> None:
    """Stop all; what was measured begins again after the next start."""
    for tac in sorted(queue.glob("*/buildbot.tac")):
        program = "buildbot" if tac.parent.name == "master" else "buildbot-worker"
        if _running(tac.parent):
            _run(tac, program, "stop", str(tac.parent))


def _running(folder: Path) -> int:
    """Process of the service of a folder; 0 if it does not run.

    Then the file with its number goes: that may be another program's by now, for which
    the service would not start.
    """
    file = folder / "twistd.pid"
    with suppress(OSError, ValueError):
        pid = int(file.read_text("utf-8"))
        if b"--python=buildbot.tac" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    file.unlink(missing_ok=True)
    return 0


def _run(site: Path, *argv: str, folder: Path | None = None) -> None:
    asked = {**os.environ, "LEASELAB_SITE": str(site.absolute())}
    done = subprocess.run(
        argv, env=asked, cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise lab_broken(
            f"{argv[0]} failed: {said[-1] if said else ''}", where=str(folder or argv[-1])
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
