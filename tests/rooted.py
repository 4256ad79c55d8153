"""A server of a release in a root of its own, as its role writes it, behind the contract."""

import json
import os
from contextlib import contextmanager
from pathlib import Path

import yaml
from tests.load_programs import load_programs
from tests.plays import ansible
from tests.tools import AS_ROOT, run, unpacked_root

ROLES = Path(__file__).parents[1] / "roles"
APART = """
for part in dev proc sys; do mount --rbind "/$part" "$1/$part" || exit 1; done
cd / && exec chroot "$@"
"""
"""The root has these for one command, and for what that starts."""


@contextmanager
def network_of(name, *addresses):
    """Give the words that run a program in a network namespace whose loopback has addresses."""
    name = f"leaselab-{name}-{os.getpid()}"
    assert run(*AS_ROOT, "ip", "netns", "add", name)[0] == 0
    run(*AS_ROOT, "ip", "-n", name, "link", "set", "lo", "up")
    for address in addresses:
        run(*AS_ROOT, "ip", "-n", name, "address", "add", address, "dev", "lo")
    yield [*AS_ROOT, "ip", "netns", "exec", name]
    run(*AS_ROOT, "ip", "netns", "delete", name)


def tasks_of(role):
    """The tasks by which a role configures its server, by their names."""
    tasks = yaml.safe_load((ROLES / role / "tasks/configure.yml").read_text("utf-8"))
    return {task["name"]: task for task in tasks}


class Rooted:
    """A variant of a role in the root of a release, run in a network."""

    def __init__(self, network, suite, package, role, **values):
        self.network, self.role, self.variant = network, role, values["variant"]
        self.values = {f"{role}_{name}": value for name, value in values.items()}
        self.place = unpacked_root(suite, package)
        self.settings, self.texts = {}, {}

    def write(self, folder, templates, **values):
        """Make what the role writes: templates, each for the file of a variable; settings."""
        template = f"{ROLES}/{self.role}/templates/"
        contents = {
            name: f"{{{{ lookup('ansible.builtin.template', '{template}{name}') }}}}"
            for name in templates
        }
        files = ", ".join(f"{self.role}_{name}" for name in templates.values())
        contents["files"] = f"{{{{ [{files}] | to_json }}}}"
        contents["settings"] = f"{{{{ {self.role}_contract_settings | to_json }}}}"
        play = {
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "vars_files": [
                str(ROLES / self.role / f"{part}/main.yml") for part in ("defaults", "vars")
            ],
            "tasks": [
                {"keep": {"content": content, "dest": str(folder / name)}}
                for name, content in contents.items()
            ],
        }
        # variables of a play come after those of its files, a command's before all
        book = folder / "play.yml"
        book.write_text(yaml.safe_dump([play]), encoding="utf-8")
        given = json.dumps({**self.values, **values})
        ansible("ansible-playbook", "-i", "localhost,", book, "-e", given)
        self.settings = json.loads((folder / "settings").read_text("utf-8"))
        paths = json.loads((folder / "files").read_text("utf-8"))
        self.texts = {
            path: (folder / name).read_text("utf-8")
            for name, path in zip(templates, paths, strict=True)
        }

    def install(self, **changes):
        """Put the contract and what was written into the root; settings have changes."""
        folder = self.place / "opt/leaselab"
        run(*AS_ROOT, "rm", "-rf", folder)
        run(*AS_ROOT, "mkdir", "-p", folder)
        for files in ("contract/files", f"{self.role}/files"):
            assert run(*AS_ROOT, "cp", "-rT", ROLES / files, folder)[0] == 0
        settings = json.dumps({**self.settings, **changes})
        path = f"/opt/leaselab/variants/{self.variant}/server.json"
        for file, text in {**self.texts, path: settings}.items():
            self.put(file, text)

    def put(self, path, text):
        """Write a file of the root."""
        file = self.place / path.lstrip("/")
        run(*AS_ROOT, "mkdir", "-p", file.parent)
        assert run(*AS_ROOT, "tee", file, input=text)[0] == 0

    def list_zones(self, zones, listed):
        """Have the role's own command list the zones of a folder for its server."""
        task = tasks_of(self.role)["Write the list of zones"]
        script = task["ansible.builtin.command"]["argv"][2]
        files = [self.place / path.lstrip("/") for path in (zones, listed)]
        run(*AS_ROOT, "mkdir", "-p", files[1].parent)
        status, said = run(*AS_ROOT, "sh", "-c", script, "sh", *files)
        assert (status, said.strip()) == (0, "changed")

    def inside(self, *words):
        """Run words in the root and the network, without input; return status and output."""
        apart = ["unshare", "--mount", "sh", "-c", APART, "sh", self.place]
        return run(*self.network, *apart, *words, input="")

    def verb(self, name):
        """Do a verb of the contract for the variant; return status and output."""
        return self.inside("python3", "/opt/leaselab/server", name, self.variant)

    def asked(self, folder, *lines, words=()):
        """The report of leaseload's second of queries of these lines."""
        queries = folder / "queries"
        queries.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        status, said = run(
            *(*self.network, load_programs() / "leaseload", "dns", "--queries", queries),
            *("--server", self.settings["address"], "--rate", "50", "--seconds", "1", *words),
        )
        assert status == 0, said
        return json.loads(said)
