"""Instructions of a server's own code, counted by valgrind's callgrind.

Counting begins when it is asked for, so a server starts and is filled at a sixth of the usual
cost.  Every process that the server starts is counted as well.
"""

import re
from collections import Counter, defaultdict
from pathlib import Path

from leaselab_contract import program
from leaselab_contract.errors import LabError
from leaselab_contract.process import VALGRIND, tree

VGDB = "/usr/bin/vgdb"
ANSWER_S = 60.0
"""How long valgrind may take to obey: a dump of Kea's functions takes some 0.3 s."""
SHARED = re.compile(
    r"\?\?\?|ld-linux|lib(c|m|gcc_s|stdc\+\+|pthread|crypto|ssl|dbus-1|jemalloc|lmdb|log4cplus|mariadb|pq)"
    r"[-.\d]*\.so"
)
"""Libraries that are not the server's own, and call no code of it: what they do is part of what
has called them.  An event loop such as libuv calls the server.  ``???`` is of the linker."""
UNNAMED = re.compile(r"(?:0x)?[0-9a-f]{8,}|\?\?\?")
_NAMED = re.compile(r"\((?P<number>\d+)\)(?: (?P<name>.*))?")
_COST = re.compile(r"(?:[+-]?\d+|\*) (?P<instructions>\d+).*")


class Callgrind:
    """callgrind, with its files in a folder of its own."""

    def __init__(self, folder):
        self._folder = Path(folder)

    def launcher(self):
        """Return the words before a program that is to run under it."""
        return [
            *(VALGRIND, "--tool=callgrind", "--instr-atstart=no", "--dump-line=no"),
            *("--trace-children=yes", "--child-silent-after-fork=yes"),
            f"--vgdb-prefix={self._folder}/vgdb",
            f"--callgrind-out-file={self._folder}/counts.%p",
            f"--log-file={self._folder}/log.%p",
        ]

    def tell(self, pid, *command):
        """Have it carry out a command in a process and those below it."""
        for one in sorted(tree(pid)):
            argv = [VGDB, f"--pid={one}", f"--vgdb-prefix={self._folder}/vgdb"]
            said = program.run(
                [*argv, f"--wait={ANSWER_S:.0f}", *command],
                f"valgrind does not {' '.join(command)}",
                ANSWER_S,
                error=LabError,
            )
            if "unknown" in said:
                raise LabError(f"valgrind does not {' '.join(command)}: {said.strip()}")

    def take(self, pid):
        """Return the functions that were counted since `zero`, as `read`; it is zero then."""
        self.tell(pid, "dump")
        dumps = sorted(self._folder.glob("counts.*.*"))
        found = merged(read(path.read_text(errors="replace")) for path in dumps)
        for path in dumps:
            path.unlink()
        return found


def read(text):
    """Return what a dump has counted, by object and function: own, library, inclusive, calls.

    `inclusive` has the costs of all that a function has called, but of itself: within a
    recursion these count more than once.  `library` has those of common libraries.
    """
    names, found = defaultdict(dict), defaultdict(Counter)
    place = called = None
    objects = {"ob": "", "cob": ""}
    times = 0
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and key in ("ob", "cob", "fn", "cfn"):
            name = _name(names[key[-2:]], value)
            if key in objects:
                objects[key] = name.rpartition("/")[2]
            elif key == "fn":
                place = (objects["ob"], _function(name, objects["ob"]))
            else:
                file = objects["cob"] or objects["ob"]
                called = (file, _function(name, file))
                objects["cob"] = ""
        elif equals and key == "calls":
            times = int(value.split()[0])
        elif place and (cost := _COST.fullmatch(line)):
            instructions = int(cost["instructions"])
            if times:
                found[called]["calls"] += times
                if called != place:
                    found[place]["inclusive"] += instructions
                    found[place]["library"] += instructions * _is_shared(called[0], place[0])
                times = 0
            else:
                found[place]["own"] += instructions
                found[place]["inclusive"] += instructions
    return found


def _name(known, value):
    """Return a name, which is given by its number alone once it is known."""
    match = _NAMED.fullmatch(value)
    if match is None:
        return value
    if match["name"]:
        known[match["number"]] = match["name"]
    return known[match["number"]]


def _function(name, file):
    """Return a function's name, without the depth of a recursion; else that of its file."""
    name = name.partition("'")[0]
    return f"[{file}]" if UNNAMED.fullmatch(name) else name


def _is_shared(called, place):
    """Whether a call leads from a server into a library that servers have in common."""
    return called != place and bool(SHARED.match(called)) and not SHARED.match(place)


def merged(dumps):
    """Return the functions of several dumps as rows, those with the highest own cost first."""
    total = defaultdict(Counter)
    for functions in dumps:
        for function, counts in functions.items():
            total[function].update(counts)
    kinds = ("own", "library", "inclusive", "calls")
    rows = (
        {
            "object": file,
            "name": name,
            "shared": bool(SHARED.match(file)),
            **{kind: counts[kind] for kind in kinds},
        }
        for (file, name), counts in total.items()
    )
    return sorted(rows, key=lambda row: (-row["own"], row["object"], row["name"]))
