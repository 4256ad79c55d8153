"""Commits of dnsmasq, whose source a package mirror has, built on the real lab's builder."""

import time

import docker
from tests.dnsmasq_changes import break_build, mend_build
from tests.repositories import commit
from tests.sources import SourceLists, repository_of

BUILD_S = 3600
SERVED = "v4-dnsmasq"
"""The scenario that a commit is built for."""


class Source:
    """dnsmasq's repository; hashes of a commit that does not build and of one that does."""

    def __init__(self, folder):
        self.path = folder / "dnsmasq"
        lists = SourceLists(folder / "lists", ["trixie"])
        (self.base,) = repository_of("dnsmasq", ["trixie"], self.path, lists).values()
        self.broken = break_build(self.path, minute=10)
        self.mended = mend_build(self.path, "  /* a packet, a reply */\n", minute=11)
        self.range = f"{self.base}..{self.mended}"


def begin_endless_build(engine, source, results):
    """Start a command whose build never ends by itself; return it once that has begun."""
    makefile = {"Makefile": f"all:\n\tsleep 600 # {results.name}\n"}
    name = commit(source.path, "Never end", makefile, minute=22)
    words = ("step", "build", SERVED, "--repo", source.path, "--commit", name)
    begun = engine(*words, "--results", results)
    deadline = time.monotonic() + BUILD_S
    while "sleep 600" not in running_on_the_builder():
        assert begun.process.poll() is None, begun.lines
        assert time.monotonic() < deadline
        time.sleep(0.5)
    return begun


def running_on_the_builder():
    """Programs of the user that builds, and the contract's own that builds."""
    builder = docker.from_env().containers.get("leaselab-builder")
    shown = builder.exec_run(["ps", "-eo", "user:20,args"]).output.decode().splitlines()
    return " ".join(row for row in shown if "leaselab-build " in row or row.endswith(" build"))
