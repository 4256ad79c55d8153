"""The traffic generator's host: bounded commands, output compressed on the spot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leaselab.lab.transport import Connection
from leaselab.model.observation import Generated

GRACE_S = 15.0
"""Time beyond its own bound after which a command counts as hanging (s)."""
TURN = "/run/leaselab-generator"
"""Folder on the generator's host that the running generator locks.  Other users may write
neither to it nor to its parent folder: none can take its name, or put a link in its place."""


# perfdhcp flushes after each line: into a pipe that is a switch to the reader and back for
# every packet, into a file in memory it costs next to nothing. The file is removed in any
# case. A generator of an engine that was killed ends by itself, and this one waits for that:
# two generators at once would spoil each other's trials.
_SCRIPT = """
mkdir --mode=0700 "$1" 2>/dev/null
if ! [[ -d $1 && ! -L $1 && -O $1 && $(stat --format=%a "$1") == 700 ]]; then
  found=$(stat --format='%F of %U, mode %a' "$1" 2>&1)
  wanted="a folder of $(id -un), mode 700"
  echo "$1 is not the generator's (found $found, wanted $wanted); remove it" >&2
  exit 125
fi
exec 9< "$1" || exit 125
if ! flock --wait "$2" 9; then echo "another generator does not end" >&2; exit 125; fi
shift 2
output=$(mktemp --tmpdir=/dev/shm leaselab.XXXXXXXX) || exit 125
trap 'rm -f "$output"' EXIT
"$@" > "$output"
status=$?
gzip -1 < "$output"
exit "$status"
"""


class RemoteGenerator:
    """Runs a generator's command line on its host."""

    def __init__(self, connection: Connection, turn: str = TURN) -> None:
        """`turn` is the folder that is locked meanwhile; it is made where it is not there."""
        self._connection = connection
        self._turn = turn

    def generate(
        self, argv: Sequence[str], environment: Mapping[str, str], timeout_s: float
    ) -> Generated:
        """Run `argv`, killed after `timeout_s` (s), and return what it printed.

        The output of a 5 s trial is several megabytes of times.  It is
        compressed on the host, after the traffic, so that it crosses the wire
        once and is archived as it is.
        """
        settings = [f"{name}={value}" for name, value in environment.items()]
        bounded = ["timeout", "--kill-after=2", f"{timeout_s:.0f}", "env", *settings, *argv]
        done = self._connection.run(
            ["bash", "-c", _SCRIPT, "generate", self._turn, f"{timeout_s:.0f}", *bounded],
            timeout_s=2 * timeout_s + GRACE_S,
        )
        return Generated(done.status, done.stdout, done.stderr.strip())
