"""Asking a server which words of a configuration it knows."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "roles/kea/files/known_words"
SERVER = """#!/usr/bin/python3
import json, sys
words = json.dumps(json.load(open(sys.argv[2])))
for word in {unknown!r}:
    if f'"{{word}}"' in words:
        if word == "shared-flq":
            print("Error encountered: supported allocators are: iterative, random and flq")
        else:
            print(f'Error encountered: got unexpected keyword "{{word}}" in Dhcp4 map.')
        sys.exit(1)
print("INFO something else is wrong with it")
sys.exit(1)
"""


@pytest.mark.parametrize(
    ("unknown", "known"),
    [
        ([], ["allocator", "control-sockets", "output-options", "shared-flq"]),
        (["control-sockets"], ["allocator", "output-options", "shared-flq"]),
        (["shared-flq"], ["allocator", "control-sockets", "output-options"]),
        (["allocator", "control-sockets", "output-options"], []),
    ],
)
def test_what_it_calls_an_unexpected_keyword_it_does_not_know(tmp_path, unknown, known):
    server = tmp_path / "kea-dhcp4"
    server.write_text(SERVER.format(unknown=unknown))
    server.chmod(0o755)
    script = SCRIPT.read_text().replace('FOLDER = "/etc/kea"', f"FOLDER = {str(tmp_path)!r}")
    argv = [sys.executable, "-", server, "4"]
    done = subprocess.run(argv, input=script, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == known
    assert list(tmp_path.iterdir()) == [server]  # nothing is left of what it was asked with
