"""What is made of users' configurations, as cases say it (`tests.cases`).

In a case `top`, `in` and `pool` are places of the language's base, `text` is a whole file,
`file` the name of one in tests/data/own, `+name` another beside it.  `shows: text` compares
words of the server's file, too: those that are gone (<, `it` where they are those of the row)
and new (>); `shows: options` those of the role (=), `shows: kinds` more than eight kinds.

The facts are the kinds of clients, each with how many there are, its subnet and name, and what
it sends (`a1` is sub-option 1 of its relay), or the zones; then parts without an answer (!) and
what was changed (~).  What is refused is read again with the words that the refusal names.
`python -m tests.own_cases --renew` writes the facts as they are now: read the difference.
"""

import json
import re
import sys
from collections import Counter
from ipaddress import ip_network
from itertools import pairwise
from pathlib import Path

from tests.cases import ROW, filled, renew
from tests.own import DATA, read_served

from leaselab.model.errors import LeaselabError, Outcome

LANGUAGES = ("own/kea", "own/dhcpd", "own/dnsmasq", "own/named")
_KEA = (
    '{"DhcpF": {TOP "subnetF": [{"id": 1, "subnet": "%s", IN "pools": [{POOL "pool": "%s"}]}]}}'
)
BASES = {
    "kea": _KEA.replace("F", "4") % ("10.0.0.0/24", "10.0.0.100 - 10.0.0.199"),
    "kea6": _KEA.replace("F", "6") % ("2001:db8::/48", "2001:db8::/120"),
    "dhcpd": "TOP\nsubnet 10.0.0.0 netmask 255.255.255.0 { range 10.0.0.10 10.0.0.209; IN }\n",
    "dnsmasq": "TOP\ndhcp-range=10.0.0.10,10.0.0.209,255.255.255.0,1h",
    "named": 'TOP\nzone "example.net" { type primary; file "db.net"; IN };\n',
}
"""A file of each language around its places."""
_HERE = ("10.0.0.0/24", "2001:db8::/48")
_USUAL = {"ping-check", "dhcp-cache-threshold", "zone.file", "no-ping", "no-resolv, no-hosts"}
"""What is changed of each file."""
_ASKED = ([55, "hex:01030f060c2a"], [55, "hex:0103060f1c2a"], [6, "hex:00170018"])
_WRITTEN = {
    *("service-sockets-require-all", "true", "interfaces-config", "hooks-libraries", "Dhcp4"),
    *("Dhcp6", "options", "@options@", "@zones@/0.zone", "db.net"),
}
"""Words that differ in each file."""
_RECORDS = "@ 60 SOA a. b. 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\n"


def written(case, places, folder):
    """Write the files of a row in a folder; return the one to read."""
    if "file" in places:
        return DATA / places["file"]
    if case.file.removeprefix("own/") == "named":
        (folder / "db.net").write_text(_RECORDS, "utf-8")
    for key, value in places.items():
        if key.startswith("+"):
            (folder / key[1:]).parent.mkdir(parents=True, exist_ok=True)
            (folder / key[1:]).write_text(value, "utf-8")
    if places.get("name") == ".":
        return folder
    text = places.get("text")
    if text is None:
        text = BASES[
            case.file.removeprefix("own/") + places.get("family", "").removeprefix("4")
        ]
        text = re.sub(
            r"\b(?:TOP|IN|POOL)\b", lambda match: places.get(match[0].lower(), ""), text
        )
    file = folder / places.get("name", "small.conf")
    file.write_text(text.lstrip("\n") if "top" not in places else text, "utf-8")
    return file


def facts_of(case, row, places, folder):
    """The facts of a row, whose files are written in an empty folder."""
    joint = ", " if case.file.removeprefix("own/") == "kea" else "\n"
    places = {key: filled(value, row, joint) for key, value in places.items()}
    file = written(case, places, folder)
    shows, view = places.get("shows", ""), places.get("view", "")
    without = places.get("without", "").split()
    made = _read(file, without, view)
    if not isinstance(made, str):
        return _facts(made, file, shows, row)
    words = re.findall(r"--without ([\w:-]+)", made)
    refused = refusal(_without_folder(made, file))
    if not words or without:
        return refused
    # What has been asked for is named, too.
    assert len(words) == 1 or _ends(_read(file, words[:1], view)) == _ends(made)
    left = _read(file, words, view)
    if isinstance(left, str):
        return f"{refused}{ROW}{refusal(_without_folder(left, file))}"
    assert sorted(left.left_out) == sorted(words)
    return f"{refused}{ROW}{_facts(left, file, shows, row)}"


def _read(file, without, view):
    """What is made of a file, or why it is refused."""
    try:
        return read_served(file, without, view=view)
    except LeaselabError as error:
        refused = error
    assert refused.outcome is Outcome.USAGE
    return str(refused)


def _ends(message):
    return message.rpartition(": ")[2]


def _without_folder(text, file):
    folder = file if file.is_dir() else file.parent
    text = text.replace(f"{file}: the server would", "the server would")
    return text.replace(f"{folder}/", "").replace(f"{folder}: ", "")


def _facts(made, file, shows, row):
    kinds = [_kind(kind) for kind in made.kinds]
    parts = ["; ".join(kinds if "kinds" in shows else _few(kinds))]
    parts += [f"of {made.clients}"] * (" more" in parts[0])
    if made.zones:
        parts = [_zones(made.zones.items(), file)]
        if made.zones_beside:
            parts.append(f"beside {_zones(made.zones_beside, file)}")
        views = re.findall(r'view "(\w+)" {(?!\s+match-clients)', made.server["text"])
        parts += [f"of {name}" for name in views]
    if made.addresses - 2 * made.clients not in (0, 1):
        parts.append(f"/ {made.addresses}")
    parts += ["informs"] * made.informs
    parts += [f"! {_brief(_without_folder(line, file))}" for line in _few(made.unserved)]
    changed = dict.fromkeys(change.partition(":")[0] for change in made.changes)
    parts += [f"~ {name}" for name in changed if name not in _USUAL]
    parts += _words(made, file, row) if "text" in shows else []
    parts += [f"= {key}={value}" for key, value in made.options.items() if "options" in shows]
    return " ".join(parts)


def _few(lines):
    """At most eight lines, and how many more there are."""
    more = len(lines) - 8
    return [*lines[:8], f"{more} more"] if more > 2 else lines


def _kind(kind):
    """A kind of clients: how many, whose, and what they send beside what all do."""
    prefix, _, of = kind["name"].partition(", ")
    network = ip_network(prefix)
    name = "+".join(
        [*([] if prefix in _HERE else [prefix]), *([of.replace(", ", "+")] if of else [])]
    )
    links = [value for code, value in kind.get("agent", ()) if code == 5]
    parts = [str(kind["clients"]), name, kind.get("want", "")]
    if kind.get("relay", str(network[1])) != str(network[1]):
        parts.append(f"via={kind['relay']}")
    parts += [f"link={link[4:]}" for link in links if link[4:] != network[1].packed.hex()]
    for word in ("macs", "duids"):
        if listed := kind.get(word):
            assert len(set(listed)) == len(listed) == kind["clients"]
            parts.append(f"{word}={'..'.join(dict.fromkeys((listed[0], listed[-1])))}")
    parts += [_sent("", pair) for pair in kind["options"] if pair not in _ASKED]
    parts += [_sent("a", pair) for pair in kind.get("agent", ()) if pair[0] != 5]
    return " ".join(filter(None, parts))


def _sent(mark, pair):
    """An option with its value: as text where it is some, `~` where each client has another."""
    form, _, value = pair[1].partition(":")
    if form == "text":
        return f"{mark}{pair[0]}~{value.encode('unicode_escape').decode()}"
    data = bytes.fromhex(value)
    is_text = re.fullmatch(rb"[\w ./:-]*[g-zG-Z_ :.-][\w ./:-]*", data)
    return f"{mark}{pair[0]}={data.decode().replace(' ', '_') if is_text else f'0x{value}'}"


def _zones(zones, file):
    folder = file if file.is_dir() else file.parent
    return " ".join(
        name.rstrip(".")
        + ("" if path.endswith("db.net") else f"={Path(path).relative_to(folder)}")
        for name, path in zones
    )


def _words(made, file, row):
    """Words of the file that are gone in the server's, and new ones."""
    files = [file] if file.is_file() else sorted(file.rglob("*.conf*"))
    own = "\n".join(each.read_text("utf-8") for each in files)
    own = re.sub(r"(?m)^\s*(#|//).*$", "", own)
    server = made.server.get("text") or json.dumps(made.server, ensure_ascii=False)
    texts = (own, server, row.replace("\\n", "\n"))
    before, after, it = (Counter(re.findall(r'[^\s;{}",:\[\]()]+', text)) for text in texts)
    differing = {"<": (before - after).keys(), ">": (after - before).keys()}
    held = {
        mark: [word for word in words if word not in _WRITTEN]
        for mark, words in differing.items()
    }
    if row and set(held["<"]) == it.keys() - _WRITTEN:
        held["<"] = ["it"]
    return [f"{mark} {' '.join(words)}" for mark, words in held.items() if words]


def refusal(text):
    """Why a configuration is refused: the lines, the first words, and what to name.

    What was seen is left out where it is the word to name.
    """
    named = re.findall(r"--(?:without|view) [\w:-]+", text.partition(";")[2])
    text = re.sub(
        r"; (?:measure|have|name|bring|save|leave|write|to allow|for a) .*",
        "",
        text,
        flags=re.DOTALL,
    )
    head, _, seen = text.partition(" (found ")
    seen = re.sub(r"\)?(, wanted.*)?$", "", seen)
    if re.search(r":\d+", seen):
        parts = [f"! {_brief(part)}" for part in seen.split("; ")]
    else:
        parts = [f"({' '.join(seen.split()[:3])[:60]})"] if seen else []
    if named == [f"--without {seen}"]:
        parts = []
    of = "none" if head.startswith("the server would") else f"refused {_brief(head)}"
    return " ".join([of, *parts, *named])


def _brief(line):
    """A line that is said: the line, its subject, the first words, and all with digits."""
    place = re.match(r"[^\s:]*:(\d+)(?::\d+)?(?: |: )", line)
    rest = line[place.end() :] if place else line
    subject, _, reason = rest.rpartition(": ")
    subject = re.sub(r'^class "(\w+)"$', r"\1", subject.partition(": ")[0])
    subject = "" if subject.startswith("the lab cannot") else subject
    words = re.sub(r"'[^']*'", "", reason).split()
    more = [
        word.strip(",()")
        for before, word in pairwise(words[2:])
        if re.search(r"\d", word) or before == "before"
    ]
    parts = [f":{place[1]}" if place else "", "" if subject in _HERE else subject]
    return " ".join(filter(None, [*parts, *words[:3], *more])).rstrip(",")


if __name__ == "__main__" and sys.argv[1:] == ["--renew"]:
    for each in LANGUAGES:
        renew(each, facts_of)
