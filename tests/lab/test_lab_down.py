"""The local lab taken down: last, as what follows brings it up again."""

import json

import docker
import pytest
from tests.lab.commands import KEYS, NAMES, lab, ours

pytestmark = pytest.mark.lab


def test_down_leaves_nothing_but_the_image():
    engine = docker.from_env()
    image = engine.containers.get("leaselab-server").image.id
    done = lab("down", "--json")
    assert done.returncode == 0, done.stderr
    removed = json.loads(done.stdout)["removed"]
    assert set(removed["containers"]) == NAMES
    assert set(removed["networks"]) == {"leaselab-mgmt", "leaselab-test"}
    assert ours(engine) == set()
    assert not KEYS.exists()
    assert engine.images.get(image)
    idle = lab("status")
    assert idle.returncode == 0, idle.stderr
    assert idle.stdout.startswith("bench docker: down; `leaselab lab up` brings it up\n")
