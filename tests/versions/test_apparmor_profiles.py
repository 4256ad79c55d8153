"""What the roles add to the stock profiles, judged by AppArmor's own parser."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
import yaml
from tests.role_modules import load
from tests.tools import unpacked, unpacked_kea
from tests.versions.test_kea_configurations import VERSIONS

MODULE = load("apparmor", "apparmor_additions")
ROLE = Path(__file__).parents[2] / "roles/kea"
PROGRAMS = ("kea-dhcp4", "kea-dhcp6", "kea-ctrl-agent", "kea-lfc")


@cache
def rules():
    """What role kea adds."""
    text = (ROLE / "vars/main.yml").read_text(encoding="utf-8")
    kea_rules = yaml.safe_load(text)["kea_rules"]
    return [item.replace("{{ kea_folder }}", "/opt/leaselab") for item in kea_rules]


@pytest.fixture(params=sorted(VERSIONS))
def profiles(request, tmp_path, monkeypatch):
    """The folder of profiles of a host with a release's Kea, additions still empty."""
    folder = tmp_path / "apparmor.d"
    shutil.copytree(unpacked("apparmor") / "etc/apparmor.d", folder)
    (folder / "local").mkdir(exist_ok=True)
    for program in PROGRAMS:
        name = f"usr.sbin.{program}"
        shutil.copy(unpacked_kea(request.param) / "etc/apparmor.d" / name, folder / name)
        (folder / "local" / name).touch()  # as the packages do
    monkeypatch.setattr(MODULE, "PROFILES", folder)
    return folder


def parsed(profiles, program, *options):
    """What the parser makes of a profile, without a kernel."""
    parser = next((unpacked("apparmor")).glob("**/sbin/apparmor_parser"))
    done = subprocess.run(
        [
            parser,
            *("--base", profiles, "--skip-cache", "--skip-kernel-load"),
            *options,
            profiles / f"usr.sbin.{program}",
        ],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_stock_profile_takes_the_labs_files(profiles):
    stock = {program: parsed(profiles, program, "--stdout") for program in PROGRAMS}
    _, texts = MODULE.wanted({f"/usr/sbin/{program}": rules() for program in PROGRAMS})
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    for program in PROGRAMS:
        assert parsed(profiles, program, "--stdout") != stock[program]
        read = parsed(profiles, program, "--preprocess").decode()
        assert all(f"{rule}," in read for rule in rules()), program
