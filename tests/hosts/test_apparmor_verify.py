"""What role apparmor says of a program that ran, on a host whose files lie in a folder."""

import json
import shutil
from pathlib import Path

import pytest
from tests.plays import play_here

ROOT = Path(__file__).parents[2]
PROGRAM = "/usr/sbin/kea-dhcp4"
PROFILE = f"profile kea-dhcp4 {PROGRAM} {{\n  include if exists <local/kea-dhcp4>\n}}\n"
ADDED = "# BEGIN leaselab: kea-dhcp4\n/etc/kea/** r,\n# END leaselab: kea-dhcp4\n"
ENFORCED = "kea-dhcp4 (enforce)"
CASES = {
    "well": (ADDED, ENFORCED, ENFORCED),
    "in a container": (ADDED, "", "docker-default (enforce)"),
    "without additions": ("/srv/site/** r,\n", ENFORCED, ENFORCED),
    "not confined": (ADDED, ENFORCED, "unconfined"),
    "another mode": (ADDED, "kea-dhcp4 (complain)", ENFORCED),
}
"""What the host has: local additions, what the kernel has loaded, what confined the program."""


def role_in(folder):
    """The role, with the host's files and what its kernel shows in a folder."""
    role = folder / "roles" / "apparmor"
    shutil.copytree(ROOT / "roles" / "apparmor", role)
    (folder / "apparmor.d" / "local").mkdir(parents=True)
    (folder / "apparmor.d" / "kea-dhcp4").write_text(PROFILE)
    (folder / "enabled").write_text("Y\n")
    module = role / "library" / "apparmor_additions.py"
    text = module.read_text("utf-8")
    for there, here in (
        ("/etc/apparmor.d", "apparmor.d"),
        ("/sys/module/apparmor/parameters/enabled", "enabled"),
        ("/sys/kernel/security/apparmor/profiles", "loaded"),
    ):
        assert text.count(f'Path("{there}")') == 1
        text = text.replace(f'Path("{there}")', f'Path("{folder / here}")')
    module.write_text(text, encoding="utf-8")
    return role


def written(path, content):
    return {"keep": {"dest": str(path), "content": content}}


def tasks_of(case, folder, role):
    """Make the host so, have the role judge it, and keep what it says."""
    additions, loaded, confinement = CASES[case]
    judge = {
        "ansible.builtin.include_role": {"name": str(role), "tasks_from": "verify"},
        "vars": {
            "apparmor_programs": {PROGRAM: ["/etc/kea/** r"]},
            "apparmor_program": PROGRAM,
            "apparmor_confinement": confinement,
        },
    }
    failure = "{{ ansible_failed_result.msg | default('') | to_json }}"
    return [
        written(folder / "apparmor.d" / "local" / "kea-dhcp4", additions),
        written(folder / "loaded", f"{loaded}\n"),
        {"block": [judge], "rescue": [written(folder / f"{case}.json", failure)]},
    ]


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What the role says in each case, empty where it is content; all in one playbook."""
    folder = tmp_path_factory.mktemp("verify")
    role = role_in(folder)
    play_here(
        folder,
        tasks=[task for case in CASES for task in tasks_of(case, folder, role)],
    )

    def of(case):
        kept = folder / f"{case}.json"
        return json.loads(kept.read_text("utf-8")) if kept.exists() else ""

    return of


@pytest.mark.parametrize("case", ["well", "in a container"])
def test_a_program_under_its_profile_is_fine(said, case):
    assert said(case) == ""


@pytest.mark.parametrize(
    ("case", "actual", "wanted"),
    [
        ("not confined", "unconfined", ENFORCED),
        ("another mode", ENFORCED, "kea-dhcp4 (complain)"),
        ("without additions", f"{ENFORCED}, without additions in ", ENFORCED),
    ],
)
def test_a_program_that_ran_otherwise_is_refused(said, case, actual, wanted):
    assert said(case).startswith(f"{PROGRAM} on localhost does not run under its AppArmor")
    assert f"Found: {actual}" in said(case)
    assert f" Wanted: {wanted}. Deploy again" in said(case)
