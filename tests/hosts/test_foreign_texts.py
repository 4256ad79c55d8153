"""A commit and a server with foreign texts, through all that reads or shows them.

They are built and installed as on hosts, by Ansible as it is: each host is this machine, with
folders of its own in the place of /opt, /etc and the builder's cache.
"""

import csv
import io
import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from tests.bench_document import DOCUMENT
from tests.hostile import CODES, COMMAND, FOREIGN, MARKUP, NAME, hostile_repository
from tests.made_up import Lab
from tests.plays import ended
from tests.repositories import git
from tests.tools import AS_ROOT

from leaselab.cli.main import main
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.model.text import printable

ROOT = Path(__file__).parents[2]
PRIVATE = """
set -e
mount -t tmpfs none /opt
mount -t tmpfs none /var/cache
for place in /etc /var/lib/apt; do
  copy=$(mktemp -d /var/cache/XXXXXX)
  chmod 0755 "$copy"
  cp -a "$place/." "$copy"
  mount --bind "$copy" "$place"
done
touch /var/lib/apt/lists
"$@"
"""
HERE = {"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3"}
HOSTS = {"dhcp_server": "sut", "dhcp_generator": "gen", "builder": "bld"}
FAMILY = {
    "server": {"kind": "kea", "options": {"backend": "memfile"}},
    "axes": [[{"name": "v4", "load": "dhcpv4"}], [{"name": "foreign"}]],
}
SERVER = r"""
#include <stdio.h>
int main(void) { fputs(VERSION, stdout); return 0; }
"""
SUBJECT = printable(FOREIGN)
SHOWN = ("\n", "\t")
PLAY = """
- hosts: dhcp_server
  connection: local
  gather_facts: true
  vars:
    variant: "{{ folder }}/variants/v4-foreign"
    version: {version: "{{ artifact_version.stdout }}"}
  tasks:
    - ansible.builtin.include_tasks: tasks/load_scenario.yml
    - ansible.builtin.include_role: {name: server, tasks_from: install}
      vars: {server_version_argv: ["{{ server_build.prefix }}/sbin/dnsmasq", -v]}
    - ansible.builtin.file: {path: "{{ item }}", state: directory, mode: "0755"}
      loop: ["{{ variant }}", "{{ folder }}/generators"]
    - ansible.builtin.copy:
        content: "{{ deployed | combine(version) | to_json }}"
        dest: "{{ variant }}/deployed.json"
        mode: "0644"
    - ansible.builtin.copy:
        content: "{{ generator | combine(version) | to_json }}"
        dest: "{{ folder }}/generators/leaseload.json"
        mode: "0644"
    - ansible.builtin.set_fact:
        lab_host_document: {cpu_model: "{{ artifact_version.stdout }}"}
        lab_host_of_environment: {kernel: "{{ artifact_version.stdout }}"}
    - block:
        - ansible.builtin.assert:
            that: artifact_version.stdout == ''
            fail_msg: "It is {{ artifact_version.stdout }}"
      rescue:
        - ansible.builtin.set_stats: {data: {message: "{{ ansible_failed_result.msg }}"}}
    - ansible.builtin.set_fact: {leaselab_serving: "{{ groups['dhcp_server'] }}"}
    - ansible.builtin.include_role: {name: bench_file}
      vars:
        bench_file_variants: [v4-foreign]
        bench_file_bench: here
        bench_file_scenario: "{{ leaselab_scenario }}"
        bench_file_procedure: "{{ leaselab_measurement }}"
"""


# The engine refuses hosts that are not reached by SSH; these are this machine.
HERE_BY_SSH = """
import sys
import tempfile
from pathlib import Path
import pytest
import yaml
from leaselab.cli import bench_options
from leaselab.cli.main import main
from leaselab.lab.bench import lease
from tests.here import Here
from tests.inventories import parsed

def benches_of(args):
    bench = yaml.safe_load(args.inventory.read_text())["bench"]
    names = {group: list(entry["hosts"]) for group, entry in bench["children"].items()}
    variables = {
        name: {"leaselab_bench": "here", **values}
        for entry in bench["children"].values()
        for name, values in entry["hosts"].items()
    }
    listing = {group: {"hosts": hosts} for group, hosts in names.items()}
    return (parsed(args.inventory, {"_meta": {"hostvars": variables}, **listing}),)

bench_options.benches_of = benches_of
Here(Path(tempfile.mkdtemp()), pytest.MonkeyPatch(), lease)
sys.exit(main(sys.argv[1:]))
"""


def words(checkout, *arguments, hosts="hosts.yml"):
    """The words of a command of that checkout on hosts that are this machine."""
    return [
        *(*AS_ROOT, "--preserve-env")[: 2 * len(AS_ROOT)],
        *("unshare", "--mount", "sh", "-c", PRIVATE, "sh"),
        *(sys.executable, *arguments, "-i", checkout / hosts),
    ]


def played(checkout, *arguments, hosts="hosts.yml", **variables):
    """Run a command of that checkout to its end; whether a text of it was a command."""
    places = {"LEASELAB_ROOT": str(checkout), "LEASELAB_RAN": str(checkout / "ran")}
    done = ended(words(checkout, *arguments, hosts=hosts), **places, **variables)
    assert not (checkout / "ran").exists(), "a text was a command"
    return done


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout with the project's playbooks and roles, and the hosts of a bench."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "ansible", folder / "ansible")
    for name in ("roles", "ansible.cfg"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "scenarios", folder / "scenarios")
    family = yaml.safe_dump({**FAMILY, "description": FOREIGN})
    (folder / "scenarios" / "foreign.yml").write_text(family, encoding="utf-8")
    groups = {
        group: {"hosts": {name: {"ansible_host": f"127.0.0.{place}"}}}
        for place, (group, name) in enumerate(HOSTS.items(), start=2)
    }
    settings = {
        **HERE,
        "leaselab_bench": "here",
        "leaselab_test_address": "198.18.0.10",
        "lab_host_packages": [],
        "lab_host_test_interface": "eth1",
        "lab_host_of_environment": {},
        "lab_host_document": {},
        "build_packages": {"dnsmasq": []},
    }
    text = yaml.safe_dump({"bench": {"children": groups, "vars": settings}})
    (folder / "hosts.yml").write_text(text, encoding="utf-8")
    # bench.json says how the engine reaches hosts, which is by SSH.
    by_ssh = text.replace("ansible_connection: local", "ansible_connection_: local")
    assert by_ssh != text
    (folder / "by_ssh.yml").write_text(by_ssh, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def repository(checkout):
    """dnsmasq as its build role knows it, with foreign texts only."""
    version = "".join(f"\\{byte:03o}" for byte in FOREIGN.encode())
    files = {
        "Makefile": "src/dnsmasq: src/dnsmasq.c\n\t$(CC) $(CFLAGS) -o $@ $<\n",
        "src/dnsmasq.c": f'#define VERSION "{version}"{SERVER}',
    }
    return hostile_repository(checkout, files)


@pytest.fixture(scope="module")
def built(checkout, repository):
    """What ``leaselab step build`` ended with, and what it keeps of the build."""
    done = played(
        checkout,
        *("-c", HERE_BY_SSH, "step", "build", "v4-dnsmasq", "--repo", repository),
        *(f"--commit=-{NAME}", "--results", checkout / "results", "--json"),
        PYTHONPATH=f"{ROOT}:{ROOT / 'scripts'}",
    )
    (place,) = checkout.glob(".leaselab/builds/*/build.json")
    return done, json.loads(place.read_text(encoding="utf-8"))


def test_a_commit_is_built_and_no_text_of_it_runs(built, repository):
    done, kept = built
    source = kept["source"]
    assert source["subject"] == SUBJECT
    assert COMMAND in source["subject"]
    assert "{{ placeholder }} {# note #}" in source["subject"]
    assert source["repository"] == str(repository)
    assert (source["ref"], source["described"]) == (
        f"-{printable(NAME)}",
        f"={printable(NAME)}",
    )
    assert source["author_date"] == "1970-01-01T00:00:00+00:00"
    assert source["committer_date"] == "2023-11-14T22:13:20+00:00"
    assert json.loads(done.stdout)["described"] == source["described"]
    assert is_shown(done.stdout + done.stderr)


def test_what_its_server_prints_is_a_text_to_every_task(checkout, built):
    """To a role that installs it, a fact, a failure, and the role that writes bench.json.

    So is what a scenario says of itself.
    """
    _, kept = built
    (checkout / "ansible" / "book.yml").write_text(PLAY, encoding="utf-8")
    server, generator = DOCUMENT["servers"]["server"], DOCUMENT["generator"]
    values = {
        "server_build": kept,
        "server_artifact": str(checkout / f".leaselab/builds/{kept['key']}/artifact.tar.gz"),
        "folder": "/opt/leaselab",
        "deployed": {
            **server,
            "scenario": "v4-foreign",
            "capabilities": [FOREIGN],
            "durability": "written",
        },
        "generator": generator,
        "scenario": "v4-foreign",
        "bench_file_path": str(checkout / "bench.json"),
    }
    program = (
        "import json, sys; from pathlib import Path;"
        "from leaselab.lab.deploy.playbook import *;"
        "stats = run_playbook('book', Path(sys.argv[-1]), json.loads(sys.argv[1]));"
        "print(json.dumps(dict(stats.custom)))"
    )
    scripts = str(ROOT / "scripts")
    words = ("-c", program, json.dumps(values))
    done = played(checkout, *words, hosts="by_ssh.yml", PYTHONPATH=scripts)
    assert json.loads(done.stdout) == {"message": f"It is {FOREIGN}"}
    written = json.loads((checkout / "bench.json").read_text(encoding="utf-8"))
    bench = parse_bench(written, "bench.json")
    assert bench.server.version == bench.generator.version == FOREIGN
    assert bench.server.capabilities == (FOREIGN,)
    assert bench.scenario.description == FOREIGN
    assert bench.hosts["server"].facts == {"cpu_model": FOREIGN}


@pytest.fixture(scope="module")
def measured(tmp_path_factory, repository):
    """The results of that commit, of a server that prints its text, and of one not built.

    And what was printed meanwhile.
    """
    folder, said = tmp_path_factory.mktemp("measured"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEASELAB_RAN", str(folder / "ran"))
        lab = Lab(folder, patch)
        lab.version = f"{FOREIGN} {MARKUP}"
        lab.complaint = f"a.c:1:1: error: {FOREIGN} {MARKUP}"
        run = ["run", "v4-dnsmasq", "--repo", str(repository), "--set", "rounds=3"]
        foreign = git(repository, "rev-parse", f"refs/tags/={NAME}")
        with redirect_stdout(said), redirect_stderr(said):
            for ref, code in (("main", 0), (foreign, 0), (foreign, 5)):
                assert main([*run, "--commit", ref]) == code
                lab.broken |= {foreign} & set(lab.built)
        yield lab, said.getvalue()
        assert not (folder / "ran").exists()


def is_shown(text):
    """Whether a terminal gets nothing but letters, lines and columns."""
    return all(letter.isprintable() or letter in SHOWN for letter in text)


def test_a_run_says_what_it_measures_in_letters(measured):
    _, said = measured
    assert COMMAND in said
    assert "error: =1+1 {{ lookup" in said
    assert is_shown(said)


COMMANDS = (
    *(["list"], ["show", "last"], ["list", "--table"], ["compare", "last", "last"], ["review"]),
    *(["list", "--json"], ["show", "last", "--json"], ["list", "--table", "--json"]),
    *(["export", f"--{form}", "-"] for form in ("csv", "junit", "markdown", "openmetrics")),
)


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_shows_it_as_letters(words, capfdbinary):
    assert main(words) != 70
    out, err = capfdbinary.readouterr()
    assert is_shown((out + err).decode())
    if "--json" in words:
        json.loads(out)


def test_the_commit_itself_is_listed_as_letters(repository, capsys):
    foreign = git(repository, "rev-parse", f"refs/tags/={NAME}")
    assert main(["compare", "--list", "--repo", str(repository), foreign]) == 0
    out, err = capsys.readouterr()
    assert COMMAND in out
    assert is_shown(out + err)


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize(
    "words", [["show", "last"], ["list", "--table"], ["show", f"1+1{CODES}"]]
)
def test_a_terminal_gets_the_codes_that_are_ours_and_no_other(words):
    """On a real one, in colours: ours are those of rich."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "leaselab", *words],
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"},
    ):
        os.close(theirs)
        seen = b""
        with suppress(OSError):  # of a terminal that nobody writes to any more
            while part := os.read(ours, 1 << 16):
                seen += part
    os.close(ours)
    assert b"1+1" in seen
    assert b"\x1b[8m" not in seen
    assert is_shown(re.sub(r"\x1b\[[0-9;]*m|\r\n", "", seen.decode()))


def test_a_command_that_is_suggested_is_one_command_to_a_shell(measured, capsys):
    assert main(["rerun", "last"]) == 2
    _, output = capsys.readouterr().err.split("measure it with: ")
    (row,) = measured[0].store.index.rows(outcome="build-failed")
    *words, commit = shlex.split(output)
    assert words[:4] + words[5:] == ["leaselab", "run", "v4-dnsmasq", "--repo", "--commit"]
    assert commit == row["commit"]


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("level", ["results", "runs", "trials"])
def test_a_spreadsheet_computes_nothing_of_it(level, capfdbinary):
    assert main(["export", "--csv", "-", "--level", level]) == 0
    rows = list(csv.DictReader(io.StringIO(capfdbinary.readouterr().out.decode())))
    assert rows
    assert {row["subject"] for row in rows} >= {f"'{SUBJECT}"}
    cells = [text for row in rows for text in row.values()]
    assert [text for text in cells if text[:1] in ("=", "+", "-", "@", "\t", "\r")] == []


def test_pages_and_comments_take_none_of_it_for_markup(measured, tmp_path):
    assert main(["report", "-o", str(tmp_path / "site")]) == 0
    pages = [page.read_text(encoding="utf-8") for page in tmp_path.glob("site/**/*.html")]
    assert any("{{ placeholder }}" in page for page in pages)
    ids = [row["id"] for row in measured[0].store.index.rows() if row["outcome"] == "ok"]
    files = ["--markdown", str(tmp_path / "comment"), "--junit", str(tmp_path / "tests")]
    assert main(["compare", *ids[:2], *files]) in (0, 2, 3)
    comment, tests = ((tmp_path / name).read_text() for name in ("comment", "tests"))
    assert all(map(is_shown, (*pages, comment, tests)))
    assert any("&lt;img src=x onerror" in page for page in pages)
    assert not any("<img" in page for page in pages)
    assert re.search(r"\\<img src.* \\\*\\\*bold", comment)
    assert not re.search(r"(?<!\\)(<img|\*\*bold)", comment)
    report = ElementTree.fromstring(tests)  # noqa: S314  # our own
    assert not [*report.iter("img")]
    assert any("<img src=x" in (part.text or "") + str(part.attrib) for part in report.iter())
