"""The gate of code hosts, played by their own programs in the lab that needs no Docker.

A repository has merge requests: one that costs 1 % more, one that costs the same, one that does
not build, one whose subject and files try to give orders; and one that is much slower, which a
bench measures too.
"""

import io
import json
import subprocess
import tarfile
from pathlib import Path
from xml.etree import ElementTree as ET

import docker
import pytest
from tests import gates
from tests.codehosts import code_host
from tests.dnsmasq_changes import PACKET, SPIN, break_build
from tests.lab.commands import LOCAL, ROOT, SHORT_DUEL, leaselab
from tests.repositories import git
from tests.sources import SourceLists, change, repository_of

pytestmark = pytest.mark.lab

INVENTORY = ROOT / "inventory" / "namespaces"
SMALL = "--set rounds=2 --set transactions=40 --set clients=40 --set more_clients=90"
LICENCE = "/* dnsmasq is Copyright"
NOPS = 490
"""So many instructions for each packet, of which an exchange has two, are about 1 %."""
IDLE = f"""static void idle(void)
{{
  __asm__ volatile (".rept {NOPS}\\n nop\\n .endr");
}}

{PACKET}
  idle();
"""
ORDERS = "@all ::error::x <img src=//x> [x](//x) %{{ 7*7 }} $(touch ran)"
GIVEN = {"scenario": "v4-dnsmasq", "options": SMALL}
PLAY_S = 3600
OWN_CAS = Path("/usr/local/share/ca-certificates")
"""Certificates by which this machine reaches the package indexes; an image of it needs them."""
TRUSTING = "FROM {}\nCOPY ca /usr/local/share/ca-certificates\nRUN update-ca-certificates\n"


def idle(path):
    return change(path, "src/dhcp.c", PACKET, IDLE, "Idle", minute=2)


def same(path):
    return change(path, "src/dhcp.c", LICENCE, f"\n{LICENCE}", "Say nothing", minute=2)


def broken(path):
    return break_build(path, minute=2)


def hostile(path):
    (path / "leaselab-out").symlink_to("/etc")
    git(path, "add", "--all")
    return change(path, "src/dhcp.c", PACKET, IDLE, ORDERS, minute=2)


def slow(path):
    """The one that a bench measures too."""
    bench = {"bench": "local", "inventory": "inventory/docker"}
    gates.write_pipelines(path, **GIVEN, **bench, duel_options=" ".join(SHORT_DUEL))
    git(path, "add", "--all", "--force")
    return change(path, "src/dhcp.c", PACKET, PACKET + SPIN, "Spin", minute=2)


CHANGES = {
    "costlier": idle,
    "equal": same,
    "broken": broken,
    "hostile": hostile,
    "slow": slow,
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A bare repository; its main branch, and the commit of each merge request."""
    folder = tmp_path_factory.mktemp("gates")
    gates.install()
    work = folder / "work"
    repository_of("dnsmasq", ["trixie"], work, SourceLists(folder / "lists", ["trixie"]))
    gates.write_pipelines(work, **GIVEN)
    git(work, "add", "--all", "--force")
    git(work, "commit", "--quiet", "-m", "Measure each merge request", minute=1)
    heads = {"main": git(work, "rev-parse", "HEAD")}
    for name, make in CHANGES.items():
        git(work, "checkout", "--quiet", "-b", name, "main")
        heads[name] = make(work)
    git(work, "checkout", "--quiet", "main")
    bare = folder / "dnsmasq.git"
    git(folder, "clone", "--quiet", "--bare", str(work), str(bare))
    return bare, heads


@pytest.fixture(scope="module")
def played(repository, tmp_path_factory):
    """Play a merge request at a code host, once: how it ended, its files, its comments."""
    bare, heads = repository
    results = tmp_path_factory.mktemp("gated") / "results"
    made = {}

    def play(kind, name, **more):
        if (kind, name) in made:
            return made[kind, name]
        checkout = tmp_path_factory.mktemp(f"{kind}-{name}") / "dnsmasq"
        git(checkout.parent, "clone", "--quiet", str(bare), str(checkout))
        git(checkout, "checkout", "--quiet", "-b", "change", heads[name])
        git(checkout, "remote", "set-url", "origin", "https://github.com/lab/dnsmasq")
        with code_host(heads[name]) as host:
            play_it = getattr(gates, f"play_{kind}")
            more |= {"results": results, "timeout_s": PLAY_S}
            ended = play_it(checkout, host, heads["main"], **more)
        made[kind, name] = *ended, checkout, host.mine()
        return made[kind, name]

    yield play
    done = leaselab("lab", "down", "-i", INVENTORY, "--force")
    assert done.returncode == 0, done.stderr


def outcome(checkout, kind):
    """The folder with the files of a run: act measures a copy, and its artifact is kept."""
    return (
        checkout / "leaselab-out"
        if kind == "gitlab"
        else checkout.parent / "kept" / "leaselab-cost" / "leaselab-out"
    )


def ended(kind, how):
    """The exit state of the job that measured; that of the comment is success."""
    if kind == "gitlab":
        assert how["leaselab-cost-comment"] == 0
        return "failed" if how["leaselab-cost"] else "passed"
    assert how[1] == 0
    return "failed" if how[0] else "passed"


def line_of_idle(checkout):
    lines = (checkout / "src" / "dhcp.c").read_text(encoding="utf-8").split("\n")
    return {
        name: lines.index(head) + 1
        for name, head in (
            ("idle", "static void idle(void)"),
            ("dhcp_packet", PACKET.split("\n")[0]),
        )
    }


KINDS = pytest.mark.parametrize("kind", ["gitlab", "github"])


@KINDS
def test_a_costlier_merge_request_fails_and_names_the_line(played, kind):
    how, output, checkout, comments = played(kind, "costlier")
    assert ended(kind, how) == "failed", output
    (comment,) = comments
    assert "## Leaselab: more" in comment
    assert "more instructions per exchange" in comment
    assert "<details><summary>By function</summary>" in comment
    place = outcome(checkout, kind)
    finding, *_ = json.loads((place / "code-quality.json").read_text())
    where = (finding["location"]["path"], finding["location"]["lines"]["begin"])
    assert where in {("src/dhcp.c", line) for line in line_of_idle(checkout).values()}
    report = ET.parse(place / "junit.xml")  # noqa: S314  # of this run
    assert len([*report.iter("failure")]) == 1
    assert (place / "report" / "index.html").is_file()
    if kind == "github":
        assert f"file={where[0]},line={where[1]}" in output


@KINDS
def test_an_equal_merge_request_passes(played, kind):
    how, output, checkout, comments = played(kind, "equal")
    assert ended(kind, how) == "passed", output
    assert "## Leaselab: equal" in comments[0]
    assert json.loads((outcome(checkout, kind) / "code-quality.json").read_text()) == []


@KINDS
def test_a_commit_that_does_not_build_fails_and_says_so(played, kind):
    how, output, _, comments = played(kind, "broken")
    assert ended(kind, how) == "failed", output
    assert "rfc2131.c" in comments[0]


@KINDS
def test_a_hostile_commit_is_measured_and_has_no_effect(played, kind):
    how, output, checkout, comments = played(kind, "hostile")
    assert ended(kind, how) == "failed", output
    place = outcome(checkout, kind)
    assert place.is_dir()
    assert not place.is_symlink()
    (comment,) = comments
    assert "@all" not in comment
    assert "<img" not in comment.replace("\\<img", "")
    assert not (checkout / "ran").exists()


@pytest.mark.usefixtures("prepared")
@KINDS
def test_a_slower_merge_request_fails_in_a_duel_on_a_bench_which_is_free_again(played, kind):
    if kind == "gitlab":  # without its count: gitlab-ci-local has one checkout for all jobs
        jobs = ("leaselab-rate", "leaselab-rate-comment")
        how, output, checkout, comments = played(kind, "slow", jobs=jobs)
        assert how == {"leaselab-rate": "FAIL", "leaselab-rate-comment": 0}, output
        place = outcome(checkout, kind)
    else:
        how, output, checkout, comments = played(kind, "slow")
        assert how == [1, 0], output
        place = checkout.parent / "kept" / "leaselab-rate" / "leaselab-out"
    assert any("## Leaselab: slower" in comment for comment in comments), comments
    findings = json.loads((place / "code-quality.json").read_text())
    assert "src/dhcp.c" in {finding["location"]["path"] for finding in findings}
    done = leaselab("lab", "status", "-i", LOCAL, "--json")
    assert json.loads(done.stdout)["lock"] is None


@pytest.mark.usefixtures("repository")
def test_githubs_workflows_please_actionlint():
    words = [gates.TOOLS / "bin" / "actionlint", gates.GATE, gates.COMMENT]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.fixture
def image(request):
    """The image of the control machine, made of the one that the lab's hosts have."""
    engine = docker.from_env()
    if not engine.images.list("leaselab-host"):
        request.getfixturevalue("prepared")
    host, *_ = engine.images.list("leaselab-host")
    trusting = _made(engine, _context(TRUSTING.format(host.id)))
    archive = subprocess.run(
        ["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True
    )
    arguments = {"dockerfile": "Containerfile", "buildargs": {"BASE": trusting.id}}
    made = _made(engine, archive.stdout, **arguments)
    yield engine, made.id
    engine.images.remove(made.id)  # and what it was made of, as that has no name


def _made(engine, context, **arguments):
    made, _ = engine.images.build(
        fileobj=io.BytesIO(context),
        custom_context=True,
        network_mode="host",
        rm=True,
        forcerm=True,
        **arguments,
    )
    return made


def _context(text):
    """A context of that file, and this machine's own certificates."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as files:
        for name, content in (("Dockerfile", text.encode()), ("ca/README", b"")):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            files.addfile(entry, io.BytesIO(content))
        for path in OWN_CAS.glob("*.crt"):
            files.add(path, f"ca/{path.name}")
    return stream.getvalue()


def test_the_image_of_the_control_machine_has_all_that_a_gate_needs(image):
    engine, name = image
    words = "./leaselab cost --help && python3 scripts/ci/codehost.py comment; git --version"

    def said(command):
        """What a container without a network says: it installs nothing."""
        output = engine.containers.run(
            name, ["sh", "-c", command], network_mode="none", remove=True, stderr=True
        )
        return output.decode()

    output = said(words)
    assert "--code-quality" in output
    assert "setting up" not in output
    assert "git version" in output
    for program in ("mmdebstrap", "slirp4netns", "ip", "ssh-keygen"):
        assert said(f"command -v {program}").strip().startswith("/")
    refused = said(
        "REPO=/tmp SCENARIO=--x COMMIT=HEAD scripts/ci/gate.sh cost || echo ended $?"
    )
    assert "SCENARIO has an invalid form" in refused
    assert refused.endswith("ended 2\n")
