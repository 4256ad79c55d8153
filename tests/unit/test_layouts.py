"""Builds of several layouts: what their duels say together, and how they are linked."""

import os
import subprocess
from pathlib import Path

import pytest

from leaselab.analysis.duels.duel import Answer
from leaselab.analysis.duels.layouts import Cause, LayoutVerdict, OverLayouts

ROLES = Path(__file__).parents[2] / "roles"
S, N, F, U = Answer.SLOWER, Answer.SAME, Answer.FASTER, Answer.UNKNOWN


def over(*answers, ratios=None, error=0.0):
    ratios = ratios or [0.97] * len(answers)
    return OverLayouts(
        tuple(
            LayoutVerdict(seed, answer, ratio, error)
            for seed, (answer, ratio) in enumerate(zip(answers, ratios, strict=True), start=1)
        )
    )


@pytest.mark.parametrize(
    ("answers", "cause"),
    [
        ([S, S, S], Cause.CODE),
        ([S, N, S], Cause.PLACE),
        ([S, F], Cause.PLACE),
        ([S, N, U], Cause.PLACE),
        ([S, S, U], Cause.UNKNOWN),
        ([N, U], Cause.UNKNOWN),
        ([N, F], Cause.NONE),
    ],
)
def test_only_what_is_slower_in_every_layout_is_the_codes(answers, cause):
    assert over(*answers).cause is cause


def test_builds_scatter_by_what_the_duels_themselves_do_not():
    ratios = [0.95, 0.97, 0.99]
    exact, noisy = over(S, S, N, ratios=ratios), over(S, S, N, ratios=ratios, error=0.015)
    assert exact.scatter == pytest.approx(0.0206, abs=0.0005)
    assert noisy.scatter == pytest.approx(0.0141, abs=0.0005)
    assert over(S, S, N, ratios=ratios, error=0.05).scatter == 0.0
    assert exact.ci95[0] < 0.93 < exact.ratio < 1 < exact.ci95[1]
    assert (over(S).ci95, over(S).scatter) == (None, None)


@pytest.mark.parametrize("name", ["bind9", "dnsmasq", "kea", "powerdns"])
def test_every_recipe_of_a_server_compiles_and_links_by_the_layout(name):
    text = (ROLES / "build/files/recipes" / name).read_text(encoding="utf-8")
    assert "${LEASELAB_LAYOUT_CFLAGS-}" in text
    assert "${LEASELAB_LAYOUT_LDFLAGS-}" in text


def test_dnsmasq_is_made_with_the_flags_of_its_layout(tmp_path):
    (tmp_path / "Makefile").write_text("all:\n\t@echo '$(CFLAGS) | $(LDFLAGS)'\n")
    known = {"CFLAGS": "-O2", "COPTS": "", "PREFIX": "/p", "JOBS": "1", "SYSTEM": "make"}
    layout = {"LAYOUT_CFLAGS": "-ffunction-sections", "LAYOUT_LDFLAGS": "-fuse-ld=lld"}
    flags = "-O2 -ffunction-sections | -fuse-ld=lld"
    for options, shown in ((known, "-O2  |"), (known | layout, flags)):
        environment = {f"LEASELAB_{key}": value for key, value in options.items()}
        made = subprocess.check_output(
            [ROLES / "build/files/recipes/dnsmasq", "make", tmp_path, tmp_path],
            text=True,
            env={"PATH": os.environ["PATH"], **environment},
        )
        assert made.strip() == shown
