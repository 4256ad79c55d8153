"""Variants: servers that are deployed side by side on a host, each in a folder of its own.

A variant's settings are in ``variants/<variant>/server.json``, those of its database in
``database.json`` beside it.  What all kinds of servers have there: `kind`, `address` (on the
test network), `capabilities`, `files` (patterns of the files that it has elsewhere).
"""

import contextlib
import fcntl
import importlib
import json
import os
import re
import shutil
from pathlib import Path

from leaselab_contract import address, sampling
from leaselab_contract.errors import ContractError, LabError

SETTINGS = "server.json"
TWO_ADDRESSES = "two-addresses"
"""The capability to run beside another variant of its kind, at another test address."""
TAKE_TURNS = frozenset({"start", "reset", "reload", "crash", "stop", "count", "operate"})
"""The verbs that change what runs."""
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,62}")


def names(root):
    """Return the variants that are deployed, the one that was started last at the end."""
    folders = [path.parent for path in (root / "variants").glob(f"*/{SETTINGS}")]
    return [path.name for path in sorted(folders, key=lambda path: path.stat().st_mtime)]


def settings(root, variant, file=SETTINGS):
    """Return the settings of a variant; raises LabError for one that is not deployed."""
    path = root / "variants" / variant / file
    if not _NAME.fullmatch(variant) or not path.is_file():
        known = ", ".join(sorted(names(root))) or "none"
        raise LabError(f"no such variant is deployed (found {known}; wanted {variant})")
    return json.loads(path.read_text(encoding="utf-8"))


def act(root, arguments):
    """Carry out a verb of the server contract; return what is to be printed.

    `root` is the contract's folder, `arguments` are a verb and a variant; `stop` alone stops
    all variants, `prune` takes how many to keep and variants that stay in any case.
    """
    if arguments == ["stop"]:
        return stop_all(root)
    if arguments[:1] == ["prune"] and len(arguments) > 1:
        return prune(root, int(arguments[1]), arguments[2:])
    if len(arguments) != 2:
        raise ContractError("usage: server VERB VARIANT, server stop or server prune COUNT")
    verb, variant = arguments
    with turn(root, variant) if verb in TAKE_TURNS else contextlib.nullcontext():
        config = settings(root, variant)
        acting = server(config)
        if verb not in acting.VERBS:
            verbs = ", ".join(acting.VERBS)
            raise ContractError(f"{config['kind']} has no verb {verb}, it has {verbs}")
        starts = verb in ("start", "count")
        if (starts or verb == "reset") and config.get("interface"):
            address.check_placed(config["interface"], config["address"])
        if starts:
            refuse_others(root, variant, config)
            sampling.refuse_full_disk(config["files"])
            os.utime(root / "variants" / variant)
        return getattr(acting, verb)()


@contextlib.contextmanager
def turn(root, variant):
    """Wait for the end of what changes a variant, such as the start of a killed engine.

    That would go on meanwhile, and end the next start when it fails for it.
    """
    try:
        folder = os.open(root / "variants" / variant, os.O_RDONLY | os.O_DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        yield  # the settings are missed next
        return
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def server(config):
    """Return the server of a variant, by the package of its kind."""
    return importlib.import_module(f"{config['kind']}_contract.server").Server(config)


def refuse_others(root, variant, config):
    """Raise LabError where another variant runs that this one cannot run beside."""
    for other in names(root):
        there = settings(root, other)
        if other == variant or not server(there).is_running():
            continue
        if why := conflict({variant: config, other: there}):
            raise LabError(f"{other} runs already, {why}; stop it: server stop {other}")


def conflict(two):
    """Return why two variants cannot run side by side; empty where they can.

    `two` has their settings by name, those of the one that runs last.
    """
    one, other = two.values()
    for name, config in two.items():
        if TWO_ADDRESSES not in config["capabilities"]:
            return (
                f"and {name} cannot run beside another ({config['kind']}, as it is configured)"
            )
    if one["kind"] != other["kind"]:
        # A socket shares its port only with sockets that have the same options.
        return f"and {one['kind']} cannot run beside {other['kind']}"
    return f"at {other['address']}" if one["address"] == other["address"] else ""


def stop_all(root):
    """Stop every variant; one that cannot be stopped does not keep the others running."""
    found, errors = [], []
    for variant in names(root):
        try:
            with turn(root, variant):
                config = settings(root, variant)
                found.append(server(config).stop()["was_running"])
        except (ContractError, OSError, LookupError, ValueError, ImportError) as error:
            errors.append(f"{variant} cannot be stopped: {error}")
    if errors:
        raise LabError("; ".join(errors))
    return {"was_running": any(found)}


def prune(root, count, named):
    """Remove all variants but the `count` that were deployed or started last, and `named`."""
    others = [name for name in names(root) if name not in named]
    gone = others[: max(0, len(others) - count)]
    for variant in gone:
        with turn(root, variant):
            config = settings(root, variant)
            server(config).stop()
            for pattern in config["files"]:
                for path in Path("/").glob(pattern.lstrip("/")):
                    remove(path)
            remove(root / "variants" / variant)
    return {"removed": gone}


def remove(path):
    """Remove a file, or a folder with all that is in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
