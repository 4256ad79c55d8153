"""What roles write for a server, and networks in which it serves: for tests of real servers."""

import json
import os
from contextlib import contextmanager
from pathlib import Path

import yaml
from tests.plays import ansible
from tests.tools import AS_ROOT, run

ROLES = Path(__file__).parents[1] / "roles"
APART = """
for part in dev proc sys; do mount --rbind "/$part" "$1/$part" || exit 1; done
cd / && exec chroot "$@"
"""
"""A root has these for one command, and for what that starts."""


@contextmanager
def cabled(name):
    """Prefixes of commands in a server's network namespace and in a generator's.

    There is a cable between them: s0 with 198.18.0.10 and 2001:2:0:1::10, and g0 with 30.
    """
    names = [f"leaselab-{name}-{os.getpid()}-{end}" for end in "sg"]
    server, generator = names
    for space in names:
        assert run(*AS_ROOT, "ip", "netns", "add", space)[0] == 0
    cable = ["type", "veth", "peer", "name", "g0", "netns", generator]
    run(*AS_ROOT, "ip", "link", "add", "s0", "netns", server, *cable)
    for space, device, number in ((server, "s0", 10), (generator, "g0", 30)):
        for address in (f"198.18.0.{number}/24", f"2001:2:0:1::{number}/64"):
            ip = [*AS_ROOT, "ip", "-n", space]
            assert run(*ip, "address", "add", address, "dev", device, "nodad")[0] == 0
        run(*AS_ROOT, "ip", "-n", space, "link", "set", device, "up")
        run(*AS_ROOT, "ip", "-n", space, "link", "set", "lo", "up")
    try:
        yield [[*AS_ROOT, "ip", "netns", "exec", space] for space in names]
    finally:
        for space in names:
            run(*AS_ROOT, "ip", "netns", "delete", space)


def render(role, folder, variants):
    """Write files of a role into a folder.

    `variants` are pairs of variables and contents: templates of Ansible by the file's name.
    """
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars_files": [str(ROLES / role / f"{part}/main.yml") for part in ("defaults", "vars")],
        "tasks": [
            {"keep": {"content": content, "dest": str(folder / file)}, "vars": given}
            for given, contents in variants
            for file, content in contents.items()
        ],
    }
    book = folder / "play.yml"
    book.write_text(yaml.safe_dump([play]), encoding="utf-8")
    filters = str(ROLES / role / "filter_plugins")
    ansible("ansible-playbook", "-i", "localhost,", book, ANSIBLE_FILTER_PLUGINS=filters)


def template(role, name):
    """What a role's template makes, as content for `render`."""
    return f"{{{{ lookup('ansible.builtin.template', '{ROLES}/{role}/templates/{name}') }}}}"


class Root:
    """The root of a release with a server, the contract, and one variant of it."""

    def __init__(self, place, role, variant, network):
        self.place, self.network = place, network
        folder = place / "opt/leaselab"
        self._variant = folder / "variants" / variant
        run(*AS_ROOT, "rm", "-rf", folder, place / "run/leaselab")
        run(*AS_ROOT, "mkdir", "-p", self._variant)
        for part in ("contract", role):
            assert run(*AS_ROOT, "cp", "-r", f"{ROLES}/{part}/files/.", folder)[0] == 0

    def write(self, path, content):
        """Write a file of the root; an absolute path is below it."""
        file = self.place / path.removeprefix("/")
        run(*AS_ROOT, "mkdir", "-p", file.parent)
        run(*AS_ROOT, "tee", file, input=content)

    def settings(self, text):
        """Install the variant's settings for the contract."""
        self.write(str(self._variant.relative_to(self.place) / "server.json"), text)
        return json.loads(text)

    def inside(self, *words):
        """Run words in the root and the network; return status and output."""
        return run(
            *self.network, "unshare", "--mount", "sh", "-c", APART, "sh", self.place, *words
        )

    def verb(self, *words):
        """Do a verb of the contract; return status and output."""
        return self.inside("python3", "/opt/leaselab/server", *words)
