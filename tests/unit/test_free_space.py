"""Filter of role lab_host: which disk a folder is on."""

import pytest
from ansible.errors import AnsibleFilterError
from tests.role_modules import load

free_mib = load("lab_host", "free_space").FilterModule().filters()["lab_host_free_mib"]

MOUNTS = {
    "/": {"size_available": 100 << 20, "fstype": "overlay"},
    "/var": {"size_available": (9 << 20) + 5},
    "/var/lib": {"size_available": 7 << 20},
    "/srv": {"size_available": None},
}


@pytest.mark.parametrize(
    ("folder", "mib"),
    [
        *(("/opt", 100), ("/var", 9), ("/var/libexec", 9)),
        *(("/var/lib/kea/not/there/yet", 7), ("/", 100)),
    ],
)
def test_a_folder_is_on_the_nearest_disk_above_it(folder, mib):
    """One that does not report is not a full one."""
    assert free_mib(MOUNTS, folder) == mib
    for mounts, unknown in ((MOUNTS, "/srv/data"), ({"/proc": {}}, "/opt")):
        with pytest.raises(AnsibleFilterError, match=f"below {unknown} is not known"):
            free_mib(mounts, unknown)
