"""Patterns over text of others take time in proportion to it, whatever it is."""

import ast
import re
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
LENGTH = 4000
"""Letters; for these a quadratic pattern takes some tenths of a second, a linear one 1 ms."""
LIMIT_S = 0.05
PIECES = (
    *"a1 \n-./:\\\"'([<*Af@\t",
    *("a:", "a.", "1.", "a=", "a ", "a\n", "\n ", "a://", "://", "a@", "1:1", "{{", "{{ a"),
    *("/*", "[a", " (", "a (", "*** ", "0-", "[clone ", ".isra", ".1", "a-", "www."),
    *(":a ", "]:"),
)
METHODS = {"search", "match", "fullmatch", "sub", "findall", "finditer", "split"}


def patterns():
    """Every pattern of a module, each with how it is used."""
    listed = subprocess.run(
        ["git", "ls-files", "scripts/leaselab", "roles", "ansible"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    for name in (entry for entry in listed if entry.endswith(".py")):
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
        parents = {
            child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)
        }
        used = _used(tree)
        for node in ast.walk(tree):
            method = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if not method.startswith("re.") or method == "re.escape":
                continue
            how = {method.removeprefix("re.")}
            if method == "re.compile":
                target = parents[node]
                named = target.targets[0] if isinstance(target, ast.Assign) else None
                how = used.get(ast.unparse(named)) if named else None
                how = how or set().union(*used.values()) or {"search"}
            for item in sorted(how):
                yield f"{name}:{node.lineno}", _text(node.args[0]), _flags(node), item


def _used(tree):
    """How a module uses what it compiles, by the name of the pattern."""
    used = {}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)):
                if attr in METHODS and name != "re":
                    used.setdefault(name, set()).add(attr)
    return {name: how for name, how in used.items() if name.isupper()} or used


def _text(node):
    """The pattern of a call; an inserted value counts as a word."""
    match node:
        case ast.Constant(value):
            return value
        case ast.JoinedStr(values):
            return "".join(map(_text, values))
        case ast.BinOp(left, ast.Add(), right):
            left, right = _text(left), _text(right)
            kind = bytes if bytes in (type(left), type(right)) else str
            return _as(left, kind) + _as(right, kind)
    return "word"


def _as(text, kind):
    return text.encode() if kind is bytes and isinstance(text, str) else text


def _flags(node):
    reported = " ".join(ast.unparse(item) for item in (*node.args[1:], *node.keywords))
    known = (re.MULTILINE, re.IGNORECASE, re.VERBOSE, re.DOTALL)
    return sum(flag for flag in known if flag.name in reported)


def test_a_pattern_takes_time_in_proportion_to_the_text():
    for place, pattern, flags, method in patterns():
        use = getattr(re.compile(pattern, flags), method)
        for piece in PIECES:
            long = (piece * LENGTH)[:LENGTH]
            for text in (f"a{long}\n!", f"!{long}"):
                given = _as(text, type(pattern))
                words = (_as("", type(pattern)), given) if method == "sub" else (given,)
                # of a machine that is busy, one of three
                quick = any(_seconds(use, words) < LIMIT_S for _ in range(3))
                assert quick, (place, method, piece)


def _seconds(use, words):
    began = time.process_time()
    for _ in _all(use(*words)):
        pass
    return time.process_time() - began


def _all(iterator):
    """What an iterator finds, else nothing."""
    return iterator if hasattr(iterator, "__next__") else ()
