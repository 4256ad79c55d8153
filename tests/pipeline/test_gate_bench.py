"""The bench behind a gate, as code hosts' own programs play its job.

What measures is a stand-in that ends as it is asked to.  The lock of its bench is real.
"""

import json
import os
import shutil
import signal
import stat
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests import gates
from tests.codehosts import code_host
from tests.here import PROGRAM, LockProgram
from tests.repositories import commit, git, make_repository
from tests.waiting import HANGS_S, until

pytestmark = pytest.mark.night
ROOT = Path(__file__).parents[2]
IN_USE = 3
"""How the lock's program ends where another user has the bench."""
FINDING = {
    "description": "slower",
    "check_name": "leaselab-slower",
    "fingerprint": "1",
    "severity": "major",
    "location": {"path": "src/dhcp.c", "lines": {"begin": 12}},
}
STAND_IN = """\
#!/usr/bin/env bash
cd "{place}"
echo "$*" >>words
export LEASELAB_LOCK_DIR="{place}/lock" LEASELAB_LASTING_DIR="{place}/lock/lasting"
ask() {{
  printf '{{"name": "gate", "purpose": "a duel", "token": "gate", "lease_s": 7200}}' |
    python3 "{program}" "$1" >/dev/null
}}
case "$1 $2" in
  "lab take")
    [[ $(<ends) != 4 ]] || {{ echo "leaselab: rack1 does not answer" >&2; exit 4; }}
    ask acquire || {{ echo "leaselab: rack1 is in use" >&2; exit 75; }}
    ;;
  "lab release") ask release || true ;;
  compare*)
    for word; do
      case $last in
        --code-quality) echo '[{finding}]' >"$word" ;;
        --markdown) echo "## Leaselab: slower" >"$word" ;;
      esac
      last=$word
    done
    [[ $(<ends) != never ]] || sleep 900
    exit "$(<ends)"
    ;;
esac
"""


@pytest.fixture(scope="module", autouse=True)
def programs():
    gates.install()


@pytest.fixture
def bench(tmp_path):
    """A stand-in for Leaselab in a checkout of its own, and its bench."""
    place, own = tmp_path / "bench", tmp_path / "leaselab"
    lock = LockProgram(place / "lock")
    place.mkdir()
    shutil.copytree(ROOT / "scripts" / "ci", own / "scripts" / "ci")
    words = {"place": place, "program": PROGRAM, "finding": json.dumps(FINDING)}
    (own / "leaselab").write_text(STAND_IN.format(**words))
    (own / "leaselab").chmod(stat.S_IRWXU)

    def asked():
        file = place / "words"
        return file.read_text("utf-8").splitlines() if file.exists() else []

    return SimpleNamespace(
        leaselab=own,
        lock=lock,
        asked=asked,
        ends=lambda how: (place / "ends").write_text(how, encoding="utf-8"),
        taken=lambda: lock.call("acquire", "somebody", lease_s=60).returncode == IN_USE,
    )


@pytest.fixture
def played(bench, tmp_path):
    """Play a merge request: how its duel ended, the output, and the gate's comments."""
    work = make_repository(tmp_path / "work")
    gates.write_pipelines(work, leaselab=str(bench.leaselab), bench="rack1", scenario="v4-x")
    git(work, "add", "--all")
    base = commit(work, "Begin", {"src/dhcp.c": "1"}, minute=1)
    git(work, "checkout", "--quiet", "-b", "change")
    head = commit(work, "Change", {"src/dhcp.c": "2"}, minute=2)
    git(work, "remote", "add", "origin", "https://github.com/lab/dnsmasq")

    def play(kind, **more):
        more |= {"results": tmp_path / "results", "timeout_s": HANGS_S}
        with code_host(head) as host:
            how, output = getattr(gates, f"play_{kind}")(work, host, base, **more)
        ended = how["leaselab-rate"] if kind == "gitlab" else how[0]
        return ended, output, host.mine()

    return play


KINDS = pytest.mark.parametrize("kind", ["gitlab", "github"])


@KINDS
def test_a_slower_commit_fails_at_the_line_of_the_culprit(bench, played, kind, tmp_path):
    bench.ends("1")
    ended, output, comments = played(kind)
    assert ended == ("FAIL" if kind == "gitlab" else 1), output
    assert any("Leaselab: slower" in comment for comment in comments)
    if kind == "github":
        assert "file=src/dhcp.c,line=12" in output
    else:
        report = tmp_path / "work" / "leaselab-out" / "code-quality.json"
        assert json.loads(report.read_text()) == [FINDING]
    assert not bench.taken()


@KINDS
def test_a_broken_bench_is_no_fault_of_the_commit_and_is_inspected(bench, played, kind):
    bench.ends("4")
    ended, output, comments = played(kind)
    assert ended == ("WARN" if kind == "gitlab" else 0), output
    assert any("rack1 does not answer" in comment for comment in comments)
    assert "lab check -i inventory/racks" in bench.asked()


@KINDS
def test_a_bench_that_another_user_has_is_no_fault_of_the_commit_and_stays_his(
    bench, played, kind
):
    bench.ends("0")
    assert bench.lock.call("acquire", "another", lease_s=3600).returncode == 0
    ended, output, _ = played(kind)
    assert ended == ("WARN" if kind == "gitlab" else 0), output
    assert bench.taken()
    assert not [words for words in bench.asked() if words.startswith("compare")]


@pytest.fixture
def measures(bench):
    """Wait until a duel is under way."""

    def wait():
        until(bench.asked, lambda words: any(word.startswith("compare") for word in words))
        assert bench.taken()

    bench.ends("never")
    return wait


def test_a_cancelled_job_of_github_releases_its_bench(bench, played, measures):
    ended, output, _ = played("github", cancelled_once=measures)
    assert ended != 0
    assert "lab release -i inventory/racks" in bench.asked(), output
    assert not bench.taken()


def test_a_cancelled_job_of_gitlab_releases_its_bench(bench, measures, tmp_path):
    """gitlab-ci-local cancels nothing: this kills a job's script, and runs the one after it."""
    server = make_repository(tmp_path / "work")
    head = commit(server, "Begin", {"a": "1"})
    given = {"bench": "rack1", "leaselab": str(bench.leaselab)}
    job = gates.component(**given, duel_options="--budget=5")["leaselab-rate"]
    given = {"LEASELAB": bench.leaselab, "CI_PROJECT_DIR": server, "CI_COMMIT_SHA": head}
    environment = {**os.environ, **job["variables"], **{k: str(v) for k, v in given.items()}}
    (script,), (after,) = job["script"], job["after_script"]
    how = {"env": environment, "cwd": server}
    with subprocess.Popen(["bash", "-c", script], start_new_session=True, **how) as running:
        measures()
        os.killpg(running.pid, signal.SIGKILL)
    assert bench.taken()
    subprocess.run(["bash", "-c", after], check=True, **how)
    assert not bench.taken()
