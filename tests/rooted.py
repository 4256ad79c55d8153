"""A server of a release in a root of its own, as its role writes it, behind the contract."""

import json
import os
from contextlib import contextmanager

import yaml
from tests.contracts import ROLES
from tests.load_programs import load_programs
from tests.plays import play_here
from tests.tools import AS_ROOT, run, unpacked_root

APART = """
for part in dev proc sys; do mount --rbind "/$part" "$1/$part" || exit 1; done
cd / && exec chroot "$@"
"""
"""A root has these for one command, and for what that starts."""
LOADS = {
    4: ["dhcp4", "--interface", "g0", "--server", "198.18.0.10", "--relay", "198.18.0.30"],
    6: [
        "dhcp6",
        "--interface",
        "g0",
        *("--server", "2001:2:0:1::10", "--relay", "2001:2:0:1::30"),
    ],
}
"""What leaseload does as a relay that is `cabled` to a server, by the family."""


@contextmanager
def network_of(name, *addresses):
    """The prefix of commands in a network namespace whose loopback has addresses."""
    with _namespaces(name) as ((space, prefix),):
        _give(space, "lo", *addresses)
        yield prefix


@contextmanager
def cabled(name):
    """Prefixes of commands in a server's network namespace and in a generator's.

    There is a cable between them: s0 with 198.18.0.10 and 2001:2:0:1::10, and g0 with 30.
    """
    with _namespaces(f"{name}-server", f"{name}-generator") as made:
        server, generator = (space for space, _ in made)
        _cable(server, "s0", generator, "g0")
        for space, device, number in ((server, "s0", 10), (generator, "g0", 30)):
            _give(space, device, *_numbered(number))
        yield [prefix for _, prefix in made]


@contextmanager
def switched(name):
    """The same of two servers, 10 and 20, and of a generator, whose g0 is a switch."""
    names = (f"{name}-{part}" for part in ("server", "partner", "generator"))
    with _namespaces(*names) as made:
        *servers, generator = (space for space, _ in made)
        _ip("-n", generator, "link", "add", "g0", "type", "bridge", "mcast_snooping", "0")
        _give(generator, "g0", *_numbered(30))
        for server, number in zip(servers, (10, 20), strict=True):
            _cable(server, "s0", generator, f"p{number}")
            _ip("-n", generator, "link", "set", f"p{number}", "master", "g0", "up")
            _give(server, "s0", *_numbered(number))
        yield [prefix for _, prefix in made]


def _cable(space, device, other, its):
    end = ("peer", "name", its, "netns", other)
    _ip("link", "add", device, "netns", space, "type", "veth", *end)


def _numbered(number):
    return f"198.18.0.{number}/24", f"2001:2:0:1::{number}/64"


@contextmanager
def _namespaces(*names):
    """Network namespaces, each with the prefix of commands in it; removed in the end."""
    spaces = [f"leaselab-{name}-{os.getpid()}" for name in names]
    try:
        for space in spaces:
            _ip("netns", "add", space)
            _give(space, "lo")
        yield [(space, [*AS_ROOT, "ip", "netns", "exec", space]) for space in spaces]
    finally:
        for space in spaces:
            run(*AS_ROOT, "ip", "netns", "delete", space)


def _give(space, device, *addresses):
    for address in addresses:
        _ip("-n", space, "address", "add", address, "dev", device, "nodad")
    _ip("-n", space, "link", "set", device, "up")


def _ip(*words):
    status, said = run(*AS_ROOT, "ip", *words)
    assert status == 0, said


def offered(network, *words):
    """leaseload's report of the load of these words."""
    status, said = run(*network, load_programs() / "leaseload", *words)
    assert status == 0, said
    return json.loads(said)


def tasks_of(role):
    """The tasks by which a role configures its server, by their names."""
    tasks = yaml.safe_load((ROLES / role / "tasks/configure.yml").read_text("utf-8"))
    return {task["name"]: task for task in tasks}


def render(role, folder, variants):
    """Write files of a role into a folder.

    `variants` are pairs of variables and contents: templates of Ansible by the file's name.
    """
    play_here(
        folder,
        [
            {"keep": {"content": content, "dest": str(folder / file)}, "vars": given}
            for given, contents in variants
            for file, content in contents.items()
        ],
        environment={"ANSIBLE_FILTER_PLUGINS": str(ROLES / role / "filter_plugins")},
        vars={"server_kind": role, "server_settings": f"{{{{ {role}_contract_settings }}}}"},
        vars_files=[
            str(ROLES / each / part / "main.yml")
            for each in ("server", role)
            for part in ("defaults", "vars")
        ],
    )


def template(role, name):
    """What a role's template makes, as content for `render`."""
    return f"{{{{ lookup('ansible.builtin.template', '{ROLES}/{role}/templates/{name}') }}}}"


SPECS = yaml.safe_load((ROLES / "server/meta/argument_specs.yml").read_text("utf-8"))
OF_ALL = {name.removeprefix("server_") for name in SPECS["argument_specs"]["check"]["options"]}
"""Variables that all roles of servers have from role `server`."""


def prefixed(role, values):
    """Variables of a role of a server, or of role `server`, by their names there."""
    owners = {name: "server" if name in OF_ALL else role for name in values}
    return {f"{owners[name]}_{name}": value for name, value in values.items()}


LONG = {"pause-5s", "full-disk", "slow-disk"}
"""Operations that take long; those of a disk have no effect without a load, either."""


class Rooted:
    """A variant of a role in the root of a release, run in a network."""

    def __init__(self, network, suite, packages, role, /, **values):
        self.network, self.role, self.variant = network, role, values["variant"]
        self.values = prefixed(role, values)
        # Other processes of the tests write into theirs.
        owner = os.environ.get("PYTEST_XDIST_WORKER", "")
        self.place = unpacked_root(suite, *packages, owner=owner)
        self.settings, self.paths, self.texts, self.given = {}, {}, {}, {}

    def write(self, folder, templates, *named, **values):
        """Make what the role writes: templates, each for the file of a variable; settings.

        `paths` has the values of these variables, and of others that are `named`.
        """
        contents = {name: template(self.role, name) for name in templates}
        paths = [f"{name!r}: {self.role}_{name}" for name in (*templates.values(), *named)]
        contents["paths"] = f"{{{{ {{{', '.join(paths)}}} | to_json }}}}"
        contents["settings"] = "{{ server_contract_settings | to_json }}"
        self.given = {**self.values, **values}
        render(self.role, folder, [(self.given, contents)])
        made = {name: (folder / name).read_text("utf-8") for name in contents}
        self.settings = json.loads(made["settings"])
        self.paths = json.loads(made["paths"])
        self.texts = {self.paths[path]: made[name] for name, path in templates.items()}

    def install(self, **changes):
        """Put the contract and what was written into the root; settings have changes."""
        folder = self.place / "opt/leaselab"
        run(*AS_ROOT, "rm", "-rf", folder, self.place / "run/leaselab")
        run(*AS_ROOT, "mkdir", "-p", folder)
        for files in ("contract/files", f"{self.role}/files"):
            assert run(*AS_ROOT, "cp", "-rT", ROLES / files, folder)[0] == 0
        settings = json.dumps({**self.settings, **changes})
        path = f"/opt/leaselab/variants/{self.variant}/server.json"
        for file, text in {**self.texts, path: settings}.items():
            self.put(file, text)

    def put(self, path, text):
        """Write a file of the root."""
        file = self.inner(path)
        run(*AS_ROOT, "mkdir", "-p", file.parent)
        assert run(*AS_ROOT, "tee", file, input=text)[0] == 0

    def inner(self, path):
        """Where a path of the root is on this machine."""
        return self.place / path.lstrip("/")

    def list_zones(self, folder, zones, listed):
        """List a folder's zones for its server, as its role does; `folder` is the test's."""
        given = tasks_of(self.role)["Write the list of zones"]["vars"]
        names = ("dns_data_list_head", "dns_data_list_line")
        render(self.role, folder, [(self.given, {name: given[name] for name in names})])
        words = [(folder / name).read_text("utf-8") for name in names]
        files = [self.inner(path) for path in (f"{zones}/zones.tsv", listed)]
        run(*AS_ROOT, "mkdir", "-p", files[1].parent)
        program = ROLES / "dns_data/files/zone_list"
        status, said = run(*AS_ROOT, "python3", program, *files, "0644", *words)
        assert (status, said.strip()) == (0, "changed")

    def inside(self, *words, says=""):
        """Run words in the root and the network; return status and output."""
        return run(*self.words(*words), input=says)

    def words(self, *words):
        """The command line that runs words in the root and the network."""
        apart = ["unshare", "--mount", "sh", "-c", APART, "sh", self.place]
        return [*self.network, *apart, *words]

    def words_of_verb(self, name):
        """The command line of a verb of the contract for the variant."""
        return self.words("python3", "/opt/leaselab/server", name, self.variant)

    def verb(self, name, says=""):
        """Do a verb of the contract for the variant; return status and output."""
        return run(*self.words_of_verb(name), input=says)

    def operated(self):
        """Do each of its operations that needs no load; return what came of each, by name."""
        known = json.loads(self.verb("operations")[1])["operations"]
        names = [name for name in known if name not in LONG]
        status, said = self.verb("operate", "".join(f"{name}\n" for name in names))
        assert status == 0, said
        first, *answers = map(json.loads, said.splitlines())
        assert first["operations"] == known
        assert [answer["name"] for answer in answers] == names
        for answer in answers:
            assert answer["why"] == "", answer
            assert answer["begun"] <= answer["effect"] <= answer["ended"]
        return {answer.pop("name"): answer for answer in answers}

    def asked(self, folder, *lines, words=()):
        """The report of leaseload's second of queries of these lines."""
        queries = folder / "queries"
        queries.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        asked = ["dns", "--queries", queries, "--server", self.settings["address"]]
        return offered(self.network, *asked, "--rate", "50", "--seconds", "1", *words)
