"""Commits of a server's repository, on real ones made by the test."""

import os
import re
import tarfile
from datetime import UTC, datetime
from functools import partial

import pytest
from tests.hostile import NAME, hostile_repository
from tests.refusals import refusals_of
from tests.repositories import commit, git, make_repository

from leaselab.builds.repository import open_repository
from leaselab.model.errors import LeaselabError, Outcome


@pytest.fixture
def place(tmp_path):
    return make_repository(tmp_path / "server")


@pytest.fixture
def mirrors(tmp_path):
    return tmp_path / "mirrors"


@pytest.fixture
def five(place):
    """Five commits on main, the first tagged v1.0; their hashes."""
    hashes = [commit(place, f"Change {n}", {"n": str(n)}, minute=n) for n in range(5)]
    git(place, "tag", "v1.0", hashes[0])
    return hashes


@pytest.fixture
def repository(place, five, mirrors):
    """That of the five commits."""
    assert five
    return open_repository(str(place), mirrors)


@pytest.mark.parametrize("rows", ["", "100644 blob {blob}\tlarge\n"])
def test_a_tree_of_few_objects_and_many_files_is_the_commits_fault(
    place, mirrors, tmp_path, rows
):
    """Ten folders in each of ten, ten deep, that are all the same; or a large file often."""
    (place / "large").write_bytes(bytes(2 << 20))
    blob = git(place, "hash-object", "-w", "large")
    tree = git(place, "mktree", input=rows.format(blob=blob))
    for _ in range(10):
        same = "".join(f"040000 tree {tree}\t{name}\n" for name in range(10))
        tree = git(place, "mktree", input=same)
    bomb = git(place, "commit-tree", "-m", "Add files", tree)
    repository = open_repository(str(place), mirrors)
    with pytest.raises(LeaselabError, match="too many or too large files") as error:
        repository.archive(repository.resolve(bomb), tmp_path / "sources")
    assert error.value.outcome is Outcome.BUILD
    assert list((tmp_path / "sources").iterdir()) == []


def refused(call):
    return refusals_of(call)()


def test_a_name_becomes_a_full_hash_with_what_is_to_be_known_of_it(repository, five):
    commit = repository.resolve("main")
    assert commit.hash == five[4]
    assert re.fullmatch("[0-9a-f]{40}", commit.tree)
    assert commit.subject == "Change 4"
    assert commit.author_date == commit.committer_date == "2026-11-01T12:04:00+01:00"
    assert commit.described == f"v1.0-4-g{five[4][:7]}"
    assert (commit.ref, commit.dirty) == ("main", False)


NO_DATES = (
    *("253402300800 +0000", "253402300799 -1200", "18446744073709551615 +0000"),
    *("99999999999999999999999 +0000", "-1 +0000", "yesterday", ""),
)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("1700000000 +0130", "2023-11-14T23:43:20+01:30"),
        ("1700000000 +9959", "2023-11-14T22:13:20+00:00"),
        ("1700000000 -2400", "2023-11-14T22:13:20+00:00"),
        *((written, "1970-01-01T00:00:00+00:00") for written in NO_DATES),
    ],
)
def test_the_dates_of_a_commit_can_be_counted_with_whatever_they_say(
    place, mirrors, written, kept
):
    path = hostile_repository(place.parent, {}, dates=(written, written))
    commit = open_repository(str(path), mirrors).resolve(f"-{NAME}")
    assert (commit.author_date, commit.committer_date) == (kept, kept)
    assert datetime.fromisoformat(commit.date).astimezone(UTC).timestamp() >= 0


def test_long_texts_of_a_commit_are_cut(place, mirrors):
    name = commit(place, "x" * 100_000, {"n": ""})
    git(place, "tag", "/".join(["t" * 90] * 4))
    result = open_repository(str(place), mirrors).resolve(name)
    assert result.subject == "x" * 199 + "…"
    assert result.described == name[:10]


def test_every_way_of_naming_a_commit_means_the_same(repository, five):
    names = ("v1.0", "refs/tags/v1.0", "main~4", five[0][:9])
    assert {repository.resolve(name).hash for name in names} == {five[0]}


def test_branches_of_a_ci_servers_checkout_are_the_remotes(place, five, mirrors, tmp_path):
    """Jenkins' git plugin fetches into refs/remotes and checks out a hash."""
    checkout = make_repository(tmp_path / "checkout")
    git(checkout, "fetch", "--quiet", str(place), "+refs/heads/*:refs/remotes/origin/*")
    git(checkout, "checkout", "--quiet", five[2])
    repository = open_repository(str(checkout), mirrors)
    assert repository.resolve("main").hash == five[4]
    assert [item.hash for item in repository.between(f"{five[2]}..main")] == five[3:]


def test_an_unknown_name_is_refused_with_the_nearest(repository):
    text = refused(lambda: repository.resolve("mian"))
    assert "no commit 'mian'" in text
    assert "did you mean 'main'?" in text


def test_a_name_of_a_tag_and_a_branch_is_refused(place, five, repository):
    git(place, "branch", "v1.0", five[3])
    text = refused(lambda: repository.resolve("v1.0"))
    assert "means more than one commit" in text
    assert "refs/heads/v1.0" in text


def test_every_nth_is_counted_from_the_newest(repository, five):
    for every, expected in ((1, [1, 2, 3, 4]), (3, [1, 4]), (9, [4])):
        commits = repository.between("v1.0..main", every=every)
        assert [item.hash for item in commits] == [five[n] for n in expected], every


def test_what_was_merged_counts_once_by_first_parent(place, five, repository):
    git(place, "switch", "--quiet", "-c", "side", five[3])
    on_side = [commit(place, f"Side {n}", {f"side{n}": ""}, minute=10 + n) for n in range(2)]
    git(place, "switch", "--quiet", "main")
    git(place, "merge", "--quiet", "--no-ff", "-m", "Merge side", "side", minute=20)
    merge = git(place, "rev-parse", "HEAD")
    every = [item.hash for item in repository.between(f"{five[3]}..main")]
    assert sorted(every) == sorted([five[4], *on_side, merge])
    assert every[-1] == merge
    merged = repository.between(f"{five[3]}..main", first_parent=True)
    assert [item.hash for item in merged] == [five[4], merge]
    assert merged[-1].subject == "Merge side"


def test_what_is_no_range_is_refused(repository):
    for text in ("main", "..main", "v1.0..", "v1.0...main"):
        assert "not a range" in refused(partial(repository.between, text))
    nothing = partial(repository.between, "main..v1.0")
    assert "no commit lies in this range" in refused(nothing)


@pytest.mark.usefixtures("five")
def test_what_is_no_repository_is_refused(place, mirrors):
    """Not even a folder inside of one is."""
    (place / "src").mkdir()
    for name, said in (("none", "no git repository"), ("src", "not a git repository")):
        assert said in refused(partial(open_repository, str(place / name), mirrors))


def test_a_repository_of_the_caller_is_not_taken_for_the_one_named(
    place, five, mirrors, tmp_path, monkeypatch
):
    other = make_repository(tmp_path / "other")
    commit(other, "Of another", {"x": ""})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert open_repository(str(place), mirrors).resolve("main").hash == five[4]


def test_a_shallow_clone_says_that_it_is_one(place, five, mirrors, tmp_path):
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth", "2", place.as_uri(), str(shallow))
    repository = open_repository(str(shallow), mirrors)
    assert repository.resolve("HEAD").hash == five[4]
    for act, name in ((repository.resolve, five[0]), (repository.between, f"{five[0]}..HEAD")):
        text = refused(partial(act, name))
        assert "cut off" in text
        assert "git fetch --unshallow" in text


def test_an_address_is_mirrored_and_brought_up_to_date(place, five, mirrors):
    address = place.as_uri()
    assert open_repository(address, mirrors).resolve("main").hash == five[4]
    newer = commit(place, "Newer", {"n": "newer"})
    repository = open_repository(address, mirrors)
    assert repository.resolve("main").hash == newer
    assert repository.name == address
    assert len(list(mirrors.glob("*.git"))) == 1


def test_an_address_that_cannot_be_had_is_refused(tmp_path, mirrors):
    text = refused(lambda: open_repository((tmp_path / "none").as_uri(), mirrors))
    assert "cannot be fetched" in text
    assert list(mirrors.glob("*.git")) == []


@pytest.mark.parametrize(
    "address",
    [
        "https://somebody:hunter2@git.example.org/kea.git",
        "https://hunter2@git.example.org/kea.git",
        "https://git.example.org/kea.git?private_token=hunter2",
        "ssh://git:hunter2@git.example.org/kea.git",
    ],
)
def test_an_address_with_a_secret_is_refused_and_not_repeated(mirrors, address):
    text = refused(lambda: open_repository(address, mirrors))
    assert "may be a secret" in text
    assert "git.example.org/kea.git" in text
    assert "hunter2" not in text
    assert not mirrors.exists()


def test_the_files_of_a_commit_are_those_and_no_others(place, five, repository, tmp_path):
    (place / "n").write_text("changed")
    (place / "left over").write_text("")
    path = repository.archive(repository.resolve(five[1]), tmp_path / "sources")
    with tarfile.open(path) as files:
        assert files.getnames() == ["n"]
        assert files.extractfile("n").read() == b"1"
    os.utime(path, (0, 0))
    repository.archive(repository.resolve(five[1]), tmp_path / "sources")
    assert path.stat().st_mtime > 0  # it counts as used, or `prune` would remove it


def test_a_checkout_is_taken_with_its_changes(place, five, repository, tmp_path):
    (place / "n").write_text("changed")
    (place / "unknown to git").write_text("")
    worktree = repository.worktree()
    assert (worktree.hash, worktree.dirty) == (five[4], True)
    assert worktree.tree != repository.resolve("HEAD").tree
    assert worktree.described.endswith("-dirty")
    with tarfile.open(repository.archive(worktree, tmp_path)) as files:
        assert files.getnames() == ["n"]
        assert files.extractfile("n").read() == b"changed"
    assert (place / "n").read_text() == "changed"
    assert git(place, "stash", "list") == ""


def test_a_file_that_was_written_again_as_it_was_is_no_change(place, repository):
    os.utime(place / "n", (1, 1))
    assert repository.worktree() == repository.resolve("HEAD")


def test_a_bare_repository_has_no_checkout(place, five, mirrors, tmp_path):
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(place), str(bare))
    repository = open_repository(str(bare), mirrors)
    assert repository.resolve("main").hash == five[4]
    assert "there is no checkout" in refused(repository.worktree)


def test_a_message_in_another_encoding_is_still_text(place, mirrors):
    commit(place, "plain", {"a": ""})
    latin1 = ("-c", "i18n.commitEncoding=iso-8859-1")
    git(place, *latin1, "commit", "--allow-empty", "-m", "Stra\xdfe")
    assert open_repository(str(place), mirrors).resolve("main").subject


def test_what_the_main_branch_or_a_tag_has_is_accepted(place, five, mirrors):
    """Branches of other users, or the changes in a checkout, are not."""
    git(place, "switch", "--quiet", "-c", "side")
    mine = commit(place, "Not taken in", {"n": "mine"})
    released = commit(place, "A release branch", {"n": "released"})
    git(place, "tag", "v1.1", released)
    later = commit(place, "After the release", {"n": "later"})
    git(place, "switch", "--quiet", "main")
    (place / "n").write_text("changed")
    for address in (str(place), place.as_uri()):
        resolve = open_repository(address, mirrors).resolve
        assert [resolve(name).accepted for name in (five[2], mine, later)] == [
            True,
            True,
            False,
        ]
    assert not open_repository(str(place), mirrors).worktree().accepted


@pytest.mark.usefixtures("five")
def test_the_main_branch_of_a_mirror_is_its_servers_choice(place, mirrors):
    git(place, "branch", "--move", "main", "trunk")
    assert open_repository(place.as_uri(), mirrors).resolve("trunk").accepted
    assert not open_repository(str(place), mirrors).resolve("trunk").accepted


def test_the_last_release_is_the_nearest_tag_before_a_commit(place, five, repository):
    git(place, "tag", "v1.1")
    # A release itself is compared with the one before it.
    assert repository.last_release(repository.resolve("v1.1")).hash == five[0]
    with pytest.raises(LeaselabError, match="no release before it"):
        repository.last_release(repository.resolve("v1.0"))


def test_a_branch_point_is_where_the_main_branch_was_left(place, five, repository):
    git(place, "checkout", "-q", "-b", "topic")
    commit(place, "Half of it", {"b": "1"}, minute=6)
    topic = commit(place, "The other half", {"b": "2"}, minute=7)
    git(place, "checkout", "-q", "main")
    pushed = commit(place, "Something else", {"a": "2"}, minute=8)
    assert repository.branch_point(repository.resolve(topic)).hash == five[4]
    # What is on the main branch itself is compared with what it was pushed onto.
    assert repository.branch_point(repository.resolve(pushed)).hash == five[4]
    git(place, "branch", "-m", "main", "trunk")
    with pytest.raises(LeaselabError, match="no commit in common with the main branch"):
        repository.branch_point(repository.resolve(topic))
