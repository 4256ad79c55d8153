"""Cases: many small files in one, each with the facts that are made of it.

A case begins with `# ` and what it proves.  Its lines `key: value` say what its files hold, and
how they are read.  They hold until another line of the case says otherwise.  Each other line is
a row: what stands for `@` in them (parted by `||`: for `@1`, `@2`), `=>`, and the facts.  An
indented line goes on with the one before it, `\\n` is an end of line, `<<1..3 a%d>>` are a1, a2
and a3; `%a` is an address of each number, `%p` the one before.
"""

import re
import tempfile
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

DATA = Path(__file__).parent / "data"
ROW = " => "


@dataclass
class Case:
    """A clause, and the files and wanted facts that prove it; `file` names the cases."""

    file: str
    clause: str
    rows: dict[int, tuple[str, dict, str]] = field(default_factory=dict)
    """By its line: what stands for `@` in a row, the lines that hold, and the facts."""


def cases_of(name):
    """The cases of a file below the folder of data."""
    cases, names, places = [], {}, {}
    lines = _joined((DATA / f"{name}.cases").read_text("utf-8"))
    for number, line in enumerate(lines):
        if line.startswith("# "):
            cases.append(Case(name, line[2:]))
            places = {}
        elif match := re.match(r"let (\w+) = ", line):
            names[match[1]] = _with_names(line[match.end() :], names)
        elif ROW in f"{line} " or line.startswith("=>"):
            row, _, facts = f" {line} ".partition(ROW)
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


def filled(text, row, joint=", "):
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


def checked(case, facts_of, folder):
    """The facts of a case as they are and as they are wanted, by its rows."""
    made, wanted = {}, {}
    for number, (row, places, facts) in case.rows.items():
        own = folder / str(number)
        own.mkdir()
        made[number, row] = facts_of(case, row, places, own).split()
        wanted[number, row] = facts.split()
    return made, wanted


def renew(name, facts_of):
    """Write the facts of all cases of a file as they are now."""
    rows = {at: (case, *row) for case in cases_of(name) for at, row in case.rows.items()}
    file, lines = DATA / f"{name}.cases", []
    for number, before in enumerate(_joined(file.read_text("utf-8"))):
        line = before.strip()
        if number in rows:
            with tempfile.TemporaryDirectory() as folder:
                facts = facts_of(*rows[number][:3], Path(folder))
            line = f" {before} ".partition(ROW)[0].strip() + ROW + facts
        width = {"break_long_words": False, "break_on_hyphens": False}
        lines += textwrap.wrap(line.strip(), 120, subsequent_indent="  ", **width) or [""]
    file.write_text("\n".join([*lines, ""]), "utf-8")
