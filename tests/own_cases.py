"""Cases of users' configurations: many small files in one, with what is made of each.

A case begins with `# ` and what it proves.  Its lines `key: value` say what its files hold:
`top`, `in` and `pool` are places of the language's base, `text` is a whole file, `file` the
name of one in tests/data/own, `+name` another file beside it.  They hold until another line of
the case says otherwise.  Each other line is a row: what stands for `@` (parted by `||`: for
`@1`, `@2`), `=>`, and the facts.  An indented line goes on with the one before it, `\\n` is an
end of line, `<<1..3 a%d>>` are a1, a2 and a3; `%a` is an address of each number, `%p` the one
before.  `shows: text` compares words of the server's file, too: those that are gone (<) and new
(>); `shows: options` those of the role (=), `shows: kinds` more than eight kinds.

The facts are the kinds of clients, each with how many there are, its subnet and name, and what
it sends (`a1` is sub-option 1 of its relay), or the zones; then parts without an answer (!) and
what was changed (~).  What is refused is read again with the words that the refusal names.
`python -m tests.own_cases --renew` writes the facts as they are now: read the difference.
"""

import json
import re
import sys
import tempfile
import textwrap
from collections import Counter
from dataclasses import dataclass, field
from ipaddress import ip_network
from itertools import pairwise
from pathlib import Path

from tests.own import DATA, read_own

from leaselab.model.errors import LeaselabError, Outcome

LANGUAGES = ("kea", "dhcpd", "dnsmasq", "named")
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
_ROW = " => "


@dataclass
class Case:
    """A clause, and the files and wanted facts that prove it."""

    language: str
    clause: str
    rows: dict[int, tuple[str, dict, str]] = field(default_factory=dict)
    """By its line: what stands for `@` in a row, the lines that hold, and the facts."""


def cases_of(language):
    """The cases of a language."""
    cases, names, places = [], {}, {}
    lines = _joined((DATA / f"{language}.cases").read_text("utf-8"))
    for number, line in enumerate(lines):
        if line.startswith("# "):
            cases.append(Case(language, line[2:]))
            places = {}
        elif match := re.match(r"let (\w+) = ", line):
            names[match[1]] = _with_names(line[match.end() :], names)
        elif _ROW in f"{line} " or line.startswith("=>"):
            row, _, facts = f" {line} ".partition(_ROW)
            held = {key: _with_names(value, names) for key, value in places.items()}
            cases[-1].rows[number] = (_with_names(row.strip(), names), held, facts.strip())
        elif line:
            key, _, value = line.partition(":")
            places[key] = value[1:]
    return cases


def _joined(text):
    """The lines of a text, each with those that go on with it."""
    return re.sub(r"\n +(?=\S)", " ", text).splitlines()


def _with_names(text, names):
    return re.sub(r"\b[A-Z][A-Z0-9]+\b", lambda match: names.get(match[0], match[0]), text)


def _filled(text, row, joint):
    """A text with a row in the place of `@`, its ends of lines and repetitions."""
    parts = [part.strip() for part in row.split("||")]
    for number, part in enumerate(parts, 1):
        text = text.replace(f"@{number}", part)
    text = text.replace("@", row) if len(parts) == 1 else text
    return re.sub(
        r"<<(\d+)\.\.(\d+) (.*?)>>",
        lambda match: joint.join(
            match[3]
            .replace("%a", f"10.8.{number // 256}.{number % 256}")
            .replace("%p", str(number - 1))
            % ((number,) * len(re.findall(r"%\d*[dx]", match[3])))
            for number in range(int(match[1]), int(match[2]) + 1)
        ),
        re.sub(r"\\n ?", "\n", text),
        flags=re.DOTALL,
    )


def written(case, places, folder):
    """Write the files of a row in a folder; return the one to read."""
    if "file" in places:
        return DATA / places["file"]
    if case.language == "named":
        (folder / "db.net").write_text(_RECORDS, "utf-8")
    for key, value in places.items():
        if key.startswith("+"):
            (folder / key[1:]).parent.mkdir(parents=True, exist_ok=True)
            (folder / key[1:]).write_text(value, "utf-8")
    if places.get("name") == ".":
        return folder
    text = places.get("text")
    if text is None:
        text = BASES[case.language + places.get("family", "").removeprefix("4")]
        text = re.sub(
            r"\b(?:TOP|IN|POOL)\b", lambda match: places.get(match[0].lower(), ""), text
        )
    file = folder / places.get("name", "small.conf")
    file.write_text(text.lstrip("\n") if "top" not in places else text, "utf-8")
    return file


def facts_of(case, row, places, folder):
    """The facts of a row, whose files are written in an empty folder."""
    joint = ", " if case.language == "kea" else "\n"
    places = {key: _filled(value, row, joint) for key, value in places.items()}
    file = written(case, places, folder)
    shows, view = places.get("shows", ""), places.get("view", "")
    without = places.get("without", "").split()
    made = _read(file, without, view)
    if not isinstance(made, str):
        return _facts(made, file, shows)
    words = re.findall(r"--without ([\w:-]+)", made)
    refused = _refusal(_without_folder(made, file))
    if not words or without:
        return refused
    # What has been asked for is named, too.
    assert len(words) == 1 or _ends(_read(file, words[:1], view)) == _ends(made)
    left = _read(file, words, view)
    if isinstance(left, str):
        return f"{refused}{_ROW}{_refusal(_without_folder(left, file))}"
    assert sorted(left.left_out) == sorted(words)
    return f"{refused}{_ROW}{_facts(left, file, shows)}"


def _read(file, without, view):
    """What is made of a file, or why it is refused."""
    try:
        return read_own(file, without, view=view)
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


def _facts(made, file, shows):
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
    parts += _words(made, file) if "text" in shows else []
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


def _words(made, file):
    """Words of the file that are gone in the server's, and new ones."""
    files = [file] if file.is_file() else sorted(file.rglob("*.conf*"))
    own = "\n".join(each.read_text("utf-8") for each in files)
    own = re.sub(r"(?m)^\s*(#|//).*$", "", own)
    server = made.server.get("text") or json.dumps(made.server)
    before, after = (Counter(re.findall(r'[^\s;{}",:\[\]()]+', text)) for text in (own, server))
    differing = {"<": (before - after).keys(), ">": (after - before).keys()}
    held = {
        mark: [word for word in words if word not in _WRITTEN]
        for mark, words in differing.items()
    }
    return [f"{mark} {' '.join(words)}" for mark, words in held.items() if words]


def _refusal(text):
    """Why a configuration is refused: the lines, the first words, and what to name."""
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


def main():
    """Write the facts of all cases as they are now."""
    for language in LANGUAGES:
        file = DATA / f"{language}.cases"
        rows = {
            at: (case, *row) for case in cases_of(language) for at, row in case.rows.items()
        }
        lines = []
        for number, written_line in enumerate(_joined(file.read_text("utf-8"))):
            line = written_line
            if number in rows:
                with tempfile.TemporaryDirectory() as folder:
                    facts = facts_of(*rows[number][:3], Path(folder))
                line = f" {line} ".partition(_ROW)[0].strip() + _ROW + facts
            lines += textwrap.wrap(
                line.strip(),
                100,
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            ) or [""]
        file.write_text("\n".join([*lines, ""]), "utf-8")


if __name__ == "__main__" and sys.argv[1:] == ["--renew"]:
    main()
