"""jenkins-jobs against a double of a controller: what an update does, and what it leaves."""

import http.client
import shutil
from base64 import b64encode

import pytest
from tests.jobs import controller_double
from tests.jobs.definitions import BUILDER, SETTINGS, change, few, run

from ci.jobcheck.generate import generate

BY_HAND = "<flow-definition><description>made by hand</description></flow-definition>"
MARKED = (
    "<flow-definition><description>of another team"
    "&lt;!-- Managed by Jenkins Job Builder --&gt;</description></flow-definition>"
)
VIEW = "<hudson.model.ListView><name>mine</name></hudson.model.ListView>"


@pytest.fixture(scope="module")
def double():
    with controller_double.running() as double:
        yield double


def empty(double):
    """The double, which knows nothing yet."""
    for known in (double.jobs, double.views, double.posts):
        known.clear()
    return double


@pytest.fixture
def controller(double):
    return empty(double)


def updating(controller, place):
    """A function that runs `jenkins-jobs update` on a folder, as a user would."""
    settings = place / "jenkins_jobs.ini"
    text = SETTINGS.read_text("utf-8")
    assert "url=https://jenkins.example.org" in text
    settings.write_text(
        text.replace("url=https://jenkins.example.org", f"url={controller.url}"), "utf-8"
    )

    def call(folder, *arguments, before=()):
        controller.posts.clear()
        done = run(
            *(BUILDER, "--conf", settings, *before, "update", *arguments, folder),
            env={
                "XDG_CACHE_HOME": str(place / "cache"),
                "JJB_USER": controller_double.USER,
                "JJB_PASSWORD": controller_double.TOKEN,
            },
        )
        assert done.returncode == 0, done.stderr
        return done

    return call


@pytest.fixture
def update(controller, tmp_path):
    return updating(controller, tmp_path)


@pytest.fixture(scope="module")
def first(double, tmp_path_factory):
    """The first update of a few jobs: folder and cache, what it sent and the double knows."""
    place = tmp_path_factory.mktemp("first")
    updating(empty(double), place)(few(place))
    return place, [*double.posts], double.state()


@pytest.fixture
def folder(first, controller, tmp_path):
    """Definitions by which the controller was updated once."""
    place, _, (jobs, views) = first
    controller.jobs |= jobs
    controller.views |= views
    controller.posts.clear()
    for name in ("jobs", "cache"):
        shutil.copytree(place / name, tmp_path / name)
    return tmp_path / "jobs"


def test_the_first_update_makes_the_folder_before_the_jobs_in_it(first):
    place, posts, (jobs, views) = first
    defined = generate([place / "jobs"], SETTINGS)
    assert jobs.keys() == defined.jobs.keys()
    assert views.keys() == defined.views.keys()
    created = [name for what, name in posts if what == "createItem"]
    assert created[0] == "leaselab"
    assert len(created) == len(jobs)


def test_a_second_update_sends_nothing_and_without_the_cache_changes_nothing(
    controller, update, folder
):
    before = controller.state()
    update(folder)
    assert controller.posts == []
    update(folder, before=["--ignore-cache"])
    assert {what for what, _ in controller.posts} == {"config.xml"}
    jobs, views = controller.state()
    folderless = {name: config for name, config in jobs.items() if "flow-definition" in config}
    assert folderless == {name: before[0][name] for name in folderless}
    assert (jobs.keys(), views) == (before[0].keys(), before[1])


def test_a_changed_job_is_sent_and_no_other_and_stays_disabled(controller, update, folder):
    name = "leaselab/leaselab-range"
    controller.jobs[name] = controller.jobs[name].replace(
        "<disabled>false</disabled>", "<disabled>true</disabled>"
    )
    change(folder, "range.yaml", "    artifacts: 20", "    artifacts: 21")
    update(folder)
    assert controller.posts == [("config.xml", name)]
    assert "<artifactNumToKeep>21<" in controller.jobs[name]
    assert "<disabled>true</disabled>" in controller.jobs[name]


def test_a_renamed_job_is_deleted_under_its_old_name_where_that_is_asked_for(
    controller, update, folder
):
    """And so is a view that is gone."""
    change(folder, "project.yaml", "      - rack2\n", "      - rack9\n")
    change(folder, "views.yaml", "name: leaselab-ranges", "name: leaselab-releases")
    update(folder)
    checks = {f"leaselab/leaselab-lab-check-rack{number}" for number in (2, 9)}
    assert checks <= controller.jobs.keys()
    update(folder, "--delete-old")
    assert sorted(name for what, name in controller.posts if what == "doDelete") == [
        "leaselab-ranges",
        "leaselab/leaselab-lab-check-rack2",
        "leaselab/leaselab-review-rack2",
    ]
    assert "leaselab-releases" in controller.views


def test_what_was_made_by_hand_is_never_deleted_and_what_bears_the_mark_is(
    controller, update, folder
):
    """The mark in a description is all it goes by; docs/how-to/ci.md warns of it."""
    mine = ["theirs", "leaselab/mine", "leaselab/leaselab-branches/master"]
    controller.jobs |= dict.fromkeys(mine, BY_HAND)
    controller.views["mine"] = VIEW
    controller.jobs["of-another-team"] = MARKED
    update(folder, "--delete-old")
    assert set(mine) <= controller.jobs.keys()
    assert "mine" in controller.views
    assert controller.posts == [("doDelete", "of-another-team")]


def status(controller, method, path, body=None, **headers):
    """The status that a request of one's own gets."""
    connection = http.client.HTTPConnection(controller.url.removeprefix("http://"), timeout=10)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def known():
    user = f"{controller_double.USER}:{controller_double.TOKEN}".encode()
    return {"Authorization": f"Basic {b64encode(user).decode()}"}


def test_the_double_refuses_who_has_no_token_or_crumb_and_a_folder_that_is_not_there(
    controller,
):
    assert status(controller, "GET", "/api/json") == 401
    crumb = {"Jenkins-Crumb": controller_double.CRUMB}
    ask = ("POST", "/createItem?name=x", BY_HAND)
    assert status(controller, *ask, **known()) == 403
    assert not controller.jobs
    assert status(controller, *ask, **known(), **crumb) == 200
    assert list(controller.jobs) == ["x"]
    ask = ("POST", "/job/leaselab/createItem?name=x", BY_HAND)
    assert status(controller, *ask, **known(), **crumb) == 404
