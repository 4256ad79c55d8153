"""The generator and the responder of `load/`: formatted, linted, and true to each other.

What is compiled is kept in `.leaselab/rust`, so that a second run takes seconds.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.tools import AS_ROOT

ROOT = Path(__file__).parents[2]
COMMANDS = {
    "format": ["fmt", "--all", "--check"],
    "linter": ["clippy", "--locked", "--all-targets", "--", "--deny", "warnings"],
    "tests": ["test", "--locked", "--no-fail-fast"],
}


def environment():
    """Where compiled files go, and how tests get the ports below 1024 and namespaces."""
    done = subprocess.run(["rustc", "-vV"], capture_output=True, check=True, text=True)
    (host,) = re.findall(r"^host: (\S+)$", done.stdout, re.M)
    runner = f"CARGO_TARGET_{host.upper().replace('-', '_')}_RUNNER"
    return {
        **os.environ,
        "CARGO_TARGET_DIR": str(ROOT / ".leaselab" / "rust"),
        "CARGO_TERM_COLOR": "never",
        **({runner: " ".join(AS_ROOT)} if AS_ROOT else {}),
    }


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_cargo_is_content(words):
    done = subprocess.run(
        ["cargo", *words],
        cwd=ROOT / "load",
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    # The names of tests that fail, and their words, come behind all others'.
    _, _, failures = done.stdout.partition("\nfailures:\n")
    assert done.returncode == 0, failures or done.stdout
