"""The machine lacks what the local lab needs: no engine, no privileges, no room."""

import json
import os

import docker
import pytest
from tests.lab.commands import complaint, leaselab, playbook

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("generator_under_way")]

NO_ENGINE = {"DOCKER_HOST": "unix:///nowhere/docker.sock"}
NO_SUDO = {"ANSIBLE_BECOME_EXE": "/bin/false", "ANSIBLE_BECOME_ALLOW_SAME_USER": "true"}
# In a mount namespace of its own: a machine without Docker and without package lists.
BARE = r"""
set -eu
mkdir "$1/upper" "$1/work"
mount -t overlay overlay -o "lowerdir=/usr/sbin,upperdir=$1/upper,workdir=$1/work" /usr/sbin
rm -f /usr/sbin/dockerd
awk -v RS= -v ORS='\n\n' '!/^Package: docker\.io\n/' /var/lib/dpkg/status > "$1/status"
mount --bind "$1/status" /var/lib/dpkg/status
mount -t tmpfs tmpfs /etc/apt
mount -t tmpfs tmpfs /var/lib/apt/lists
mkdir /var/lib/apt/lists/partial
shift
exec "$@"
"""


def printed(done):
    """What a playbook printed, in one line."""
    assert done.returncode != 0
    return " ".join(done.stdout.split())


def test_no_engine_and_none_to_be_installed_is_one_message(tmp_path):
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n", "--preserve-env"]
    apart = ["unshare", "--mount", "--propagation", "private", "sh", "-c", BARE, "bare"]
    done = leaselab("lab", "up", under=[*as_root, *apart, tmp_path], **NO_ENGINE)
    assert done.returncode == 4
    assert (
        "no Docker engine answers and none can be installed (found No package matching"
        " 'docker.io' is available, wanted package docker.io); install a Docker engine"
    ) in complaint(done)


def test_a_user_who_may_not_become_root_gets_a_message():
    """An engine, there or not, answers root only, and sudo refuses."""
    nobody = json.dumps({"docker_lab_root": True})
    done = playbook("lab_up", "-e", nobody, **NO_ENGINE, **NO_SUDO)
    assert "let this user run sudo without a password" in printed(done)


def test_a_lab_of_another_checkout_is_sought_in_an_engine_that_was_not_running():
    """As after a restart of the machine: the lab is on its disk, and nothing answers."""
    wanted = json.dumps({"docker_lab_take_over": True, "docker_lab_engine_timeout_s": 1})
    done = playbook("lab_down", "-e", wanted, **NO_ENGINE)
    assert "the Docker engine was started and does not answer" in printed(done)


def made():
    """What the engine holds: images, networks, containers."""
    engine = docker.from_env()
    kinds = engine.images.list(), engine.networks.list(), engine.containers.list(all=True)
    return {check.id for kind in kinds for check in kind}


def answers():
    """Whether a Docker engine answers."""
    try:
        return docker.from_env().ping()
    except docker.errors.DockerException:
        return False


def test_too_little_disk_is_reported_before_anything_is_made():
    """The engine itself is installed and started: it alone says which disk it fills.

    An engine that starts finds what it held when it stopped, so it is started before it is
    asked what it holds.
    """
    wanted = "-e", json.dumps({"docker_lab_disk_min_mib": 1_000_000_000})
    if not answers():
        assert "1000000000 MiB" in printed(playbook("lab_up", *wanted))
    before = made()
    assert "1000000000 MiB" in printed(playbook("lab_up", *wanted))
    assert made() == before
