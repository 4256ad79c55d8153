"""The module that installs an artifact: what it lets root unpack on a host."""

import gzip
import hashlib
import io
import subprocess
import tarfile

import pytest
import yaml
from tests.role_modules import ROLES, load
from tests.waiting import HANGS_S

MODULE = load("artifact", "artifact_install")
LIMITS = (1000, 20)
"""Bytes and files."""


class Host:
    """A host in a folder, and an artifact for it."""

    def __init__(self, folder):
        self.prefix = folder / "opt" / "some"
        self.src = folder / "artifact.tar.gz"
        self.members = []
        for name in ("", "sbin"):
            self.add(name)
        self.add("sbin/some", "a program", mode=0o755)

    def add(self, name, content=None, **changes):
        """Add a member below the prefix; a folder where it has no content."""
        self.put(f"{self.prefix}/{name}".strip("/"), content, **changes)

    def put(self, name, content=None, **changes):
        member = tarfile.TarInfo(name)
        member.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
        member.mode = 0o755 if content is None else 0o644
        member.size = len(content or "")
        for field, value in changes.items():
            setattr(member, field, value)
        self.members.append((member, (content or "").encode()))

    def link(self, name, target):
        self.add(name, type=tarfile.SYMTYPE, linkname=target, mode=0o777)

    def install(self, sha256=None):
        # A fixed time, so that the same members are the same artifact.
        with (
            gzip.GzipFile(self.src, "wb", mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w") as files,
        ):
            for member, content in self.members:
                files.addfile(member, io.BytesIO(content))
        digest = hashlib.sha256(self.src.read_bytes()).hexdigest()
        return MODULE.install(self.src, sha256 or digest, self.prefix, *LIMITS), digest


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


def test_an_artifact_replaces_what_was_there(host):
    host.prefix.mkdir(parents=True)
    (host.prefix / "old").touch()
    host.link("sbin/other", "some")
    assert host.install()[0] == ""
    assert (host.prefix / "sbin/other").read_text() == "a program"
    assert (host.prefix / "sbin/some").stat().st_mode & 0o7777 == 0o755
    assert not (host.prefix / "old").exists()
    assert MODULE.installed(host.prefix) == host.install()[1]
    assert list(host.prefix.parent.iterdir()) == [host.prefix]


def test_what_was_changed_since_is_not_what_was_installed(host):
    """As a playbook that is played again sees it, which then installs the artifact again."""
    _, digest = host.install()
    check = ("sha256sum", "--check", "--quiet", "--strict", "artifact.files")
    assert subprocess.run(check, cwd=host.prefix, check=False).returncode == 0
    (host.prefix / "sbin/some").write_text("another program")
    assert MODULE.installed(host.prefix) == ""
    host.install()
    assert MODULE.installed(host.prefix) == digest


def test_builds_lie_side_by_side_until_no_variant_has_them(host, tmp_path):
    """Nor is a copy left that nobody has unpacked."""
    host.install()
    left = host.prefix.with_name("left.tar.gz")
    left.touch()
    variants = tmp_path / "variants"
    for name in ("used", "unused"):
        host.prefix.with_name(name).mkdir()
    for name, build in (("v4", '"used"'), ("v6", "null")):
        (variants / name).mkdir(parents=True)
        (variants / name / "server.json").write_text(f'{{"build": {build}}}', encoding="utf-8")
    gone = [left, host.prefix.with_name("unused")]
    assert MODULE.unused(host.prefix, variants) == gone
    (variants / "v6/server.json").write_text("{", encoding="utf-8")
    assert MODULE.unused(host.prefix, variants) == []


def test_another_file_than_was_built_or_no_archive_is_not_unpacked(host):
    """Another is not even read: its contents belong to another user."""
    reason, digest = host.install(sha256="a" * 64)
    assert f"is not the artifact that was built (found sha256 {digest}, wanted aaaa" in reason
    host.src.write_bytes(b"not a tar")
    sha256 = hashlib.sha256(b"not a tar").hexdigest()
    assert "is no archive" in MODULE.install(host.src, sha256, host.prefix, *LIMITS)
    assert not host.prefix.exists()


HOSTILE = {
    "elsewhere": lambda host: host.put("etc/cron.d/x", "job"),
    "above": lambda host: host.add("../x", "x"),
    "absolute": lambda host: host.put("/etc/x", "x"),
    "beside": lambda host: host.put(f"{str(host.prefix).strip('/')}-x", "x"),
    "without-its-folder": lambda host: host.add("lib/x", "x"),
    "setuid": lambda host: host.add("x", "x", mode=0o4755),
    "writable": lambda host: host.add("x", "x", mode=0o666),
    "setgid-folder": lambda host: host.add("x", mode=0o2755),
    "owner": lambda host: host.add("x", "x", uid=1000),
    "group": lambda host: host.add("x", "x", gid=1000),
    "device": lambda host: host.add("x", type=tarfile.BLKTYPE, mode=0o644),
    "fifo": lambda host: host.add("x", type=tarfile.FIFOTYPE, mode=0o644),
    "hard-link": lambda host: host.add("x", type=tarfile.LNKTYPE, linkname="etc/shadow"),
    "link-out": lambda host: host.link("x", "../../etc"),
    "absolute-link-out": lambda host: host.link("x", "/etc/shadow"),
    "link-by-a-link": lambda host: [
        host.link(*link) for link in (("sbin/up", ".."), ("b", "sbin/up/../../etc"))
    ],
    "below-a-link": lambda host: (host.link("a", "sbin"), host.add("a/x", "x")),
    "large": lambda host: host.add("x", "x" * 1001),
    "large-together": lambda host: [host.add(name, "x" * 600) for name in "ab"],
    "many": lambda host: [host.add(str(number), "") for number in range(20)],
    "control-character": lambda host: host.add("a\nb", "x"),
    "latin-1": lambda host: host.add("na\udcefve", "x"),
    "backslash": lambda host: host.add("a\\b", "x"),
    "link-to-latin-1": lambda host: host.link("x", "na\udcefve"),
    "the-lab's-own": lambda host: host.add("artifact.sha256"),
    "twice": lambda host: host.add("sbin/some", "another"),
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_an_artifact_with_more_than_its_folder_is_not_unpacked(host, hostile):
    hostile(host)
    reason, _ = host.install()
    assert reason.startswith("the artifact is not to be installed: ")
    assert not host.prefix.exists()


@pytest.mark.parametrize(
    ("program", "status", "output", "errors"),
    [
        ("echo 1.2.3; echo more >&2", 0, "1.2.3\n", "more\n"),
        ("echo 1.2.3; sleep 20 &", 0, "1.2.3\n", ""),
        ("exec sleep 600", 124, "", "does not end within 1 s\n"),
        ("yes", None, None, ""),
        ("exec /no/such/library", 127, "", "not found\n"),
    ],
    ids=["good", "leaves-a-process", "hangs", "endless-output", "does-not-start"],
)
def test_a_program_that_is_asked_for_its_version_cannot_hold_up_its_host(
    tmp_path, program, status, output, errors
):
    roles_own = yaml.safe_load((ROLES / "artifact/vars/main.yml").read_text(encoding="utf-8"))
    script = roles_own["artifact_version_script"].replace(" 30 ", " 1 ")
    path = tmp_path / "program"
    path.write_text(f"#!/bin/sh\n{program}\n", encoding="utf-8")
    path.chmod(0o755)
    argv = ["sh", "-c", script, "sh", path, "-v"]
    done = subprocess.run(argv, capture_output=True, timeout=HANGS_S, check=False)
    if status is None:
        assert done.returncode not in (0, 124)
        assert len(done.stdout) <= 128 * 1024
    else:
        assert (done.returncode, done.stdout.decode()) == (status, output)
        assert done.stderr.decode().endswith(errors)
