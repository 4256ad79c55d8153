"""Instructions of a server's own code, counted by valgrind's callgrind.

It can predict branches and simulate caches as well, of a processor that is always the same.
Counting begins when it is asked for, so a server starts and is filled at a sixth of the usual
cost.  Every process that the server starts is counted as well.
"""

import re
from collections import Counter, defaultdict
from pathlib import Path

from leaselab_contract import program
from leaselab_contract.errors import LabError
from leaselab_contract.process import VALGRIND

VGDB = "/usr/bin/vgdb"
ANSWER_S = 60.0
"""How long valgrind may take to obey: a dump of Kea's functions takes some 0.3 s."""
SHARED = re.compile(
    r"\?\?\?|ld-linux|lib(c|m|gcc_s|stdc\+\+|pthread|crypto|ssl|dbus-1|jemalloc|lmdb|log4cplus|mariadb|pq)"
    r"[-.\d]*\.so"
)
"""Libraries that are not the server's own, and call no code of it: what they do is part of what
has called them.  An event loop such as libuv calls the server.  ``???`` is of the linker."""
ALLOCATOR = re.compile(
    r"(?:m|c|re)alloc(?:array)?|c?free|aligned_alloc|(?:posix_)?memalign|p?valloc|"
    r"[mrx]allocx|s?dallocx|operator (?:new|delete)(?:\[\])?\(.*"
)
"""Functions of an allocator that others call, also those of C++ and of jemalloc.  What they do
depends on what other threads have freed before, and where: it is counted apart."""
CACHES = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64")
"""Size, associativity and line size (bytes) of the caches that are simulated: those of this
machine would be others on the next."""
SIMULATED = {
    "branches": ("Bc", "Bi"),
    "mispredicted_branches": ("Bcm", "Bim"),
    "cache_misses": ("I1mr", "D1mr", "D1mw"),
    "last_level_misses": ("ILmr", "DLmr", "DLmw"),
}
"""What is simulated: valgrind's events that add up to it."""
UNNAMED = re.compile(r"(?:0x)?[0-9a-f]{8,}|\?\?\?")
_NAMED = re.compile(r"\((?P<number>\d+)\)(?: (?P<name>.*))?")
_COST = re.compile(r"(?:[+-]?\d+|\*) (?P<counts>\d+(?: \d+)*)")
_EVENTS = "events: "


class Callgrind:
    """callgrind, with its files in a folder of its own."""

    def __init__(self, folder, *, simulated=False):
        self._folder, self._simulated = Path(folder), simulated

    def launcher(self):
        """Return the words before a program that is to run under it."""
        return [
            *(VALGRIND, "--tool=callgrind", "--instr-atstart=no", "--dump-line=no"),
            *("--trace-children=yes", "--child-silent-after-fork=yes"),
            *(("--branch-sim=yes", "--cache-sim=yes", *CACHES) if self._simulated else ()),
            f"--vgdb-prefix={self._folder}/vgdb",
            f"--callgrind-out-file={self._folder}/counts.%p",
            f"--log-file={self._folder}/log.%p",
        ]

    def tell(self, pids, *command):
        """Have it carry out a command in processes."""
        for one in pids:
            argv = [VGDB, f"--pid={one}", f"--vgdb-prefix={self._folder}/vgdb"]
            said = program.run(
                [*argv, f"--wait={ANSWER_S:.0f}", *command],
                f"valgrind does not {' '.join(command)}",
                ANSWER_S,
                error=LabError,
            )
            if "unknown" in said:
                raise LabError(f"valgrind does not {' '.join(command)}: {said.strip()}")

    def take(self, pids):
        """Return what was counted since the last time, as `answer`."""
        dumps = self._dumped(pids)
        found = merged(read(path.read_text(errors="replace")) for path in dumps)
        self._remove(dumps)
        return answer(found)

    def forget(self, pids):
        """Count from zero on.

        Its own command for that leaves a part of what was counted: in every second start of
        dnsmasq 2 % of each transaction before.
        """
        self._remove(self._dumped(pids))

    def _dumped(self, pids):
        self.tell(pids, "dump")
        return sorted(self._folder.glob("counts.*.*"))

    def _remove(self, dumps):
        for path in dumps:
            path.unlink()


def read(text):
    """Return what a dump has counted, by object and function: counts by their names.

    `inclusive` has the costs of all that a function has called, but of itself: within a
    recursion these count more than once.  `allocator` has those of an allocator that it has
    called itself, `library` those of other functions of common libraries, for a function of
    the server.  What is simulated has valgrind's names.
    """
    events = ()
    names, found, costs = defaultdict(dict), defaultdict(Counter), Counter()
    place = called = None
    objects = {"ob": "", "cob": ""}
    times = 0
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if line.startswith(_EVENTS):
            _, *events = line.removeprefix(_EVENTS).split()
        elif equals and key in ("ob", "cob", "fn", "cfn"):
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
            instructions, *others = map(int, cost["counts"].split())
            if times:
                found[called]["calls"] += times
                costs[place, called] += instructions * (called != place)
                times = 0
            else:
                found[place]["own"] += instructions
                found[place]["inclusive"] += instructions
                # The last ones of a line are left out where they are 0.
                found[place].update(dict(zip(events, others, strict=False)))
    for (place, called), instructions in costs.items():
        found[place]["inclusive"] += instructions
        if _allocates(called) and not _allocates(place):
            found[place]["allocator"] += instructions
    _share_libraries(found, costs)
    return found


def _share_libraries(found, costs):
    """Add to functions of the server what common libraries did for them, but to allocate.

    Of a library's function that allocates itself, each caller has the same share.
    """
    calls = defaultdict(dict)
    for (place, called), instructions in costs.items():
        calls[place][called] = instructions
    shares = {}

    def share(function):
        if _allocates(function):
            return 1.0
        if not SHARED.match(function[0]):
            return 0.0  # it calls the server back
        if function not in shares:
            shares[function] = 0.0  # within a recursion
            allocated = sum(cost * share(each) for each, cost in calls[function].items())
            shares[function] = allocated / (found[function]["inclusive"] or 1)
        return shares[function]

    for place, called in [*calls.items()]:
        if not SHARED.match(place[0]):
            shared = {each: cost for each, cost in called.items() if SHARED.match(each[0])}
            library = sum(cost * (1 - share(each)) for each, cost in shared.items())
            found[place]["library"] = round(library)


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


def _allocates(function):
    """Whether others call this function to allocate or to free."""
    return bool(ALLOCATOR.fullmatch(function[1]))


def merged(dumps):
    """Return the functions of several dumps, as `read`."""
    total = defaultdict(Counter)
    for functions in dumps:
        for function, counts in functions.items():
            total[function].update(counts)
    return total


def answer(found):
    """Return functions as rows, with the highest own cost first, and what is simulated."""
    kinds = ("own", "library", "allocator", "inclusive", "calls")
    rows = (
        {
            "object": file,
            "name": name,
            "shared": bool(SHARED.match(file)),
            **{kind: counts[kind] for kind in kinds},
        }
        for (file, name), counts in found.items()
    )
    total = Counter()
    for counts in found.values():
        total.update(counts)
    simulated = {name: sum(total[each] for each in of) for name, of in SIMULATED.items()}
    return {
        "functions": sorted(rows, key=lambda row: (-row["own"], row["object"], row["name"])),
        "simulated": simulated if simulated["branches"] else {},
    }
