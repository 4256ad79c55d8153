"""Files that an operation changes for a while; a later start finds them as deployed."""

import contextlib
import os
from pathlib import Path


@contextlib.contextmanager
def appended(path, text):
    """Have a file end with a text for the context."""
    size = Path(path).stat().st_size
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(text)
    try:
        yield
    finally:
        os.truncate(path, size)


@contextlib.contextmanager
def replaced(path, text):
    """Have a file of another text in a file's place for the context."""
    path = Path(path)
    kept, draft = (path.with_name(f"{path.name}.{word}") for word in ("kept", "draft"))
    draft.write_text(text, encoding="utf-8")
    old = path.stat()
    draft.chmod(old.st_mode)
    os.chown(draft, old.st_uid, old.st_gid)
    path.rename(kept)
    try:
        draft.rename(path)
        yield
    finally:
        kept.replace(path)


@contextlib.contextmanager
def moved(path):
    """Have a new, empty file of a file's owner and mode in its place; remove the old one."""
    path = Path(path)
    aside = path.with_name(f"{path.name}.1")
    old = path.stat()
    path.rename(aside)
    try:
        path.touch(old.st_mode & 0o777)
        os.chown(path, old.st_uid, old.st_gid)
        yield
    finally:
        aside.unlink()


@contextlib.contextmanager
def beside(path, text):
    """Have a further file for the context."""
    Path(path).write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        Path(path).unlink()
