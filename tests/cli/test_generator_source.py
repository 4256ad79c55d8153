"""``leaselab run --flame-repo``, on a real repository; builder and bench left out."""

import shutil

import pytest
from tests.repositories import commit, git, make_repository

from leaselab.cli.main import main
from leaselab.measure import generators


@pytest.fixture(scope="module")
def hashes(hashes):
    """Those of the generator's repository: the last three."""
    return hashes[-3:]


@pytest.fixture
def lab(lab, monkeypatch):
    lab.measure_with("flame", "v4-memfile", "v6-memfile")
    # Nobody sends its queries, so that the protocol does not matter.
    monkeypatch.setitem(generators.OF_DHCP, "flame", generators.OF_DHCP["leaseload"])
    return lab


@pytest.fixture
def server(tmp_path):
    """A repository of one commit."""
    place = make_repository(tmp_path / "one")
    commit(place, "Begin", {"n": "1"})
    return place


def measure(*arguments):
    return main(["run", *map(str, arguments), "--set", "rounds=3"])


def test_the_generator_is_built_once_and_its_commit_is_in_each_result(lab, place, hashes):
    scenarios = ("v4-memfile", "v6-memfile")
    assert measure(*scenarios, "--flame-repo", place, "--flame-commit", hashes[1]) == 0
    assert lab.built == [hashes[1]]
    results = [lab.store.load(row["id"]) for row in lab.store.index.rows()]
    assert len(results) == 2
    assert {item.generator.options["commit"] for item in results} == {hashes[1]}
    assert {item.server.commit for item in results} == {None}
    assert measure("v4-memfile", "--flame-repo", place) == 0
    assert lab.built == [hashes[1], hashes[2]], "without a commit it is that of HEAD"


def test_another_commit_of_the_generator_is_another_measurement(
    lab, place, hashes, server, capsys
):
    first = git(server, "rev-parse", "HEAD")
    what = ("v4-memfile", "--repo", server, "--commits", first, "--flame-repo", place)
    for item in (hashes[0], hashes[1], hashes[0]):
        assert measure(*what, "--flame-commit", item) == 0
    assert lab.measured == [first, first]
    assert capsys.readouterr().err.count("measured before: ") == 1


def test_a_generator_that_does_not_build_is_no_result_of_a_server(
    lab, place, hashes, server, capsys
):
    lab.broken.add(hashes[2])
    what = ("--repo", server, "--commit", "HEAD", "--flame-repo", place)
    assert measure("v4-memfile", *what) == 4
    assert lab.store.index.rows() == []
    printed = capsys.readouterr().err.splitlines()[-1]
    assert f"flame {hashes[2]}: the generator does not build: src/dhcp.c:7:1" in printed
    assert ".log.gz" in printed


@pytest.mark.usefixtures("hashes")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--flame-commit", "HEAD"], "no repository is named (wanted --flame-repo"),
        (["--flame-repo", "nowhere"], "nowhere"),
        (["--flame-repo", "{place}", "--flame-commit", "gone"], "gone"),
        (["v4-dnsmasq", "--flame-repo", "{place}"], "(found leaseload, wanted flame)"),
        (["--flame-repo", "{place}", "--distribution", "bookworm"], "exclude each other"),
    ],
)
def test_what_cannot_be_built_or_measured_with_is_refused(lab, place, arguments, words, capsys):
    lab.made_by = "docker"
    assert measure("v4-memfile", *(argument.format(place=place) for argument in arguments)) == 2
    assert words in capsys.readouterr().err
    assert (lab.prepared, lab.built) == ([], [])


def test_a_build_that_is_gone_is_made_again_before_it_is_measured_with(lab, place, hashes):
    assert measure("v4-memfile", "--flame-repo", place, "--flame-commit", hashes[0]) == 0
    shutil.rmtree(lab.checkout / ".leaselab" / "builds")
    assert main(["rerun", "last"]) == 0
    assert lab.built == [hashes[0]] * 2
    assert lab.store.load("last").generator.options["commit"] == hashes[0]
