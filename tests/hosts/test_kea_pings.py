"""A hook that pings the addresses of clients is played only where no network gets the pings."""

import pytest
from tests.plays import play_here
from tests.rooted import tasks_of

NAMES = ("Find the way of the hook's pings", "Refuse pings that would leave the lab")


@pytest.mark.parametrize(
    ("hooks", "interface", "said"),
    [
        (["ping_check"], "leaselab-nobody", "ip route add 127.0.0.0/8 dev leaselab-nobody."),
        (["ping_check"], "lo", ""),
        (["lease_cmds"], "leaselab-nobody", ""),
    ],
)
def test_pings_that_would_leave_the_lab_are_refused(tmp_path, hooks, interface, said):
    kept = tmp_path / "said"
    play_here(
        tmp_path,
        vars={
            "kea_hooks": hooks,
            "kea_pool": "127.0.0.1 - 127.0.0.9",
            "kea_subnet": "127.0.0.0/8",
            "kea_pinged_interface": interface,
        },
        tasks=[
            {
                "block": [
                    *(tasks_of("kea")[name] for name in NAMES),
                    {"keep": {"content": "", "dest": str(kept)}},
                ],
                "rescue": [
                    {"keep": {"content": "{{ ansible_failed_result.msg }}", "dest": str(kept)}}
                ],
            }
        ],
    )
    assert kept.read_text(encoding="utf-8").endswith(said)
    assert bool(kept.read_text(encoding="utf-8")) == bool(said)
