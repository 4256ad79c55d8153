"""A contract's program: one verb, its settings, one JSON object or one line of failure."""

import json
import subprocess
import sys
from pathlib import Path

from leaselab_contract.errors import ContractError


def serve(program, verbs):
    """Carry out the verb of the command line, and exit with its status.

    `program` is the contract's path, its settings are in ``<program>.json`` beside it;
    `verbs` are functions of the settings, and what they return is printed as JSON.
    """
    answer(lambda: _do(Path(program), verbs, sys.argv[1:]))


def answer(act):
    """Print what `act` returns as JSON, nothing for None; exit with its status if it fails."""
    try:
        found = act()
    except (
        ContractError,
        OSError,
        LookupError,
        ValueError,
        subprocess.SubprocessError,
    ) as error:
        sys.stderr.write((" ".join(str(error).split()) or type(error).__name__) + "\n")
        sys.exit(getattr(error, "status", 1))
    if found is not None:
        sys.stdout.write(json.dumps(found) + "\n")


def emit(document):
    """Print one JSON object at once."""
    sys.stdout.write(json.dumps(document, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def _do(program, verbs, arguments):
    if len(arguments) != 1 or arguments[0] not in verbs:
        raise ContractError(f"usage: {program.name} {'|'.join(verbs)}")
    settings = json.loads(program.with_name(f"{program.name}.json").read_text(encoding="utf-8"))
    return verbs[arguments[0]](settings)
