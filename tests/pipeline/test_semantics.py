"""Small pipelines: what steps, stages and conditions do, as Jenkins' sources have it."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.pipeline.sample import make_controller, make_pipelines, make_server, write_pipeline
from tests.processes import is_running
from tests.repositories import git

SCRIPTS = {
    "third": "#!/bin/sh\necho x >>tries\n[ $(wc -l <tries) -ge 3 ]\n",
    "show": '#!/bin/sh\necho "shade=$SHADE hue=$HUE token=$TOKEN in=$(basename "$PWD")"\n',
    "leave": "#!/bin/sh\nsleep 300 &\necho left $!\n",
    "results": "#!/bin/sh\nmkdir -p out\n"
    "echo '<testsuite><testcase name=\"a\"><error/></testcase></testsuite>' >out/bad.xml\n"
    "echo '<testsuite' >out/broken.xml\necho 'a,b' >out/plot.csv\necho '1,x' >>out/plot.csv\n",
}
PARAMETERS = """
  parameters {
    string(name: 'YES', defaultValue: 'yes', description: 'x')
    string(name: 'EMPTY', defaultValue: '', description: 'x')
    string(name: 'HASH', defaultValue: '', description: 'x')
    string(name: 'SERVER', defaultValue: '', description: 'x')
    booleanParam(name: 'FLAG', defaultValue: false, description: 'x')
  }
"""
POST = """
  post {
    cleanup { echo 'p' }
    notBuilt { echo 'p' }
    failure { echo 'p' }
    unstable { echo 'p' }
    unsuccessful { echo 'p' }
    success { echo 'p' }
    aborted { echo 'p' }
    regression { echo 'p' }
    fixed { echo 'p' }
    changed { echo 'p' }
    always { echo 'p' }
  }
"""


def fetched(name, place):
    return (
        f"checkout scmGit(branches: [[name: {name}]],"
        " userRemoteConfigs: [[url: params.SERVER]],"
        f" extensions: [[$class: 'RelativeTargetDirectory', relativeTargetDir: '{place}']])\n"
    )


MIXED = f"""
  stage('Retry') {{ steps {{ retry(3) {{ sh 'scripts/ci/third.sh' }} }} }}
  stage('Shaky') {{ steps {{ unstable 'shaky' }} }}
  stage('Caught') {{
    steps {{
      catchError(buildResult: 'SUCCESS', stageResult: 'UNSTABLE') {{ error 'on purpose' }}
      echo 'went on'
    }}
  }}
  stage('No') {{ when {{ not {{ expression {{ params.YES }} }} }} steps {{ error 'never' }} }}
  stage('Flag') {{ when {{ expression {{ params.FLAG }} }} steps {{ error 'never' }} }}
  stage('All') {{
    when {{ allOf {{ expression {{ params.YES }}; expression {{ params.EMPTY }} }} }}
    steps {{ error 'never' }}
  }}
  stage('Any') {{
    when {{ anyOf {{ expression {{ params.YES }}; expression {{ params.EMPTY }} }} }}
    steps {{ echo 'any' }}
  }}
  stage('Variable') {{
    when {{ environment name: 'YES', value: 'yes' }}
    environment {{ HUE = 'red'; SHADE = "dark ${{HUE}}" }}
    steps {{ withEnv(['HUE=blue']) {{ dir('below') {{ sh '../scripts/ci/show.sh' }} }} }}
  }}
  stage('Elsewhere') {{
    when {{ beforeAgent true; expression {{ params.EMPTY }} }}
    agent {{ label 'nowhere' }}
    steps {{ error 'never' }}
  }}
  stage('Secret') {{
    steps {{
      withCredentials([string(credentialsId: 'token', variable: 'TOKEN')]) {{
        sh 'scripts/ci/show.sh'
        echo "the token is ${{env.TOKEN}}"
      }}
    }}
  }}
  stage('Checkouts') {{
    steps {{
      {fetched("'master'", "branch")}
      {fetched("'*/master'", "any")}
      {fetched("'v1'", "tag")}
      {fetched("'refs/tags/v1'", "reference")}
      {fetched("params.HASH", "hash")}
    }}
  }}
  stage('Tests') {{ steps {{ sh 'scripts/ci/results.sh'; junit 'out/bad.xml' }} }}
  stage('Left') {{ steps {{ sh 'scripts/ci/leave.sh' }} }}
"""

FAILING = """
  stage('Maybe') {
    when { expression { params.YES } }
    steps {
      checkout(scm: scm, poll: false, changelog: false)
      sh 'scripts/ci/show.sh'
      error 'on purpose'
    }
    post { success { echo 's' }; failure { echo 'f' }; always { echo 'a' } }
  }
  stage('After') {
    stages { stage('Inner') { steps { echo 'after' } } }
    post { always { echo 'after, too' } }
  }
"""

# Steps that fail: the step, and what it says.
FAILURES = [
    ("lock(label: 'nobodys') { echo 'x' }", "nothing has the label nobodys"),
    ("lock('nobody') { echo 'x' }", "nothing has the name nobody"),
    ("lock(label: 'leaselab-bench', quantity: 2) { echo 'x' }", "there are 1"),
    ("updateLock resource: 'nobody', setNote: 'x'", "there is no resource nobody"),
    (fetched("'nosuch'", "server"), "Couldn't find any revision to build"),
    (fetched("'HEAD'", "head"), "Couldn't find any revision to build"),
    ("junit 'out/broken.xml'", "Failed to read test report file"),
    ("junit 'out/none.xml'", "No test report files were found"),
    ("archiveArtifacts 'out/none'", "No artifacts found"),
    (
        "publishHTML([reportName: 'x', reportDir: 'none', reportFiles: 'index.html'])",
        "Cannot publish HTML files",
    ),
    (
        "plot csvFileName: 'x.csv', group: 'x', style: 'line',"
        " csvSeries: [[file: 'out/plot.csv']]",
        "b is x, wanted a number",
    ),
    ("build job: 'nosuch', wait: false", "No item named nosuch found"),
    (
        "withCredentials([string(credentialsId: 'no', variable: 'X')]) { echo 'x' }",
        "Could not find credentials entry with ID 'no'",
    ),
    ("sh 'exit 3'", "script returned exit code 3"),
    ("sh 'kill -9 $$'", "script returned exit code 137"),
    ("sh 'false; echo on'", "script returned exit code 1"),
]
CAUGHT = "\n".join(f"catchError(buildResult: 'UNSTABLE') {{ {step} }}" for step, _ in FAILURES)
NO_AGENT = """
  stage('Nowhere') { steps { catchError(buildResult: 'UNSTABLE') { sh 'true' } } }
  stage('Somewhere') { agent { label 'leaselab' } steps { sh 'scripts/ci/results.sh'
    %s
  } }
  stage('Unknown') { agent { label 'nowhere' } steps { echo 'never' } }
"""

# Steps that there are not, each in the block of a condition: all of them are tried.
REFUSED_STEPS = {
    "always": ("nosuch 'y'", "No such step 'nosuch': no plugin provides nosuch"),
    "changed": ("slackSend 'y'", "slackSend comes with slack, which plugins.txt does not have"),
    "unsuccessful": ("println 'y'", "No such step 'println'"),
    "failure": ("warnError('y') { nosuch2 'y' }", "no plugin provides nosuch2"),
    "notBuilt": ("echo 'never'", ""),
    "cleanup": ("echo text: 'y'", "echo: found argument text, wanted one of message"),
}
STEPS = "stage('x') { steps { echo BUILD_URL } }"
STEPS_HEAD = "\n".join(
    [
        "agent any",
        "post {",
        *(f"{condition} {{ {step} }}" for condition, (step, _) in REFUSED_STEPS.items()),
        "}",
    ]
)

# Pipelines that no build runs: (stages, before them, what the log says).
REFUSED = {
    "an unknown option": (
        "stage('x') { steps { echo 'ran' } }",
        "agent any\noptions { ansiColor('xterm') }",
        "No such option 'ansiColor'",
    ),
    "an unknown section": (
        "stage('x') { step { echo 'ran' } }",
        "agent any",
        "stage has no step",
    ),
    "an unknown condition": (
        "stage('x') { steps { echo 'ran' } }",
        "agent any\npost { allways { echo 'y' } }",
        'Invalid condition "allways"',
    ),
    "no agent": ("stage('x') { steps { echo 'ran' } }", "", "the pipeline has no agent"),
    "a syntax error": ("stage('x') { steps { echo 'ran' }", "agent any", "expecting '}'"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("semantics")


@pytest.fixture(scope="module")
def server(place):
    return make_server(place / "server")


@pytest.fixture(scope="module")
def builds(place, server):
    """{name: record} of all the small pipelines; two run at a time."""
    repository = make_pipelines(place / "pipelines", SCRIPTS)
    jobs = {
        "mixed": (MIXED, f"agent any\n{PARAMETERS}{POST}"),
        "failing": (FAILING, f"agent any\noptions {{ skipDefaultCheckout() }}\n{POST}"),
        "refused": (STEPS, STEPS_HEAD),
        "caught": (NO_AGENT % CAUGHT, f"agent none\n{PARAMETERS}"),
        **{name: (stages, head) for name, (stages, head, _) in REFUSED.items()},
    }

    def run(name):
        stages, head = jobs[name]
        file = write_pipeline(place / f"{name}.Jenkinsfile", stages, head=head)
        controller = make_controller(
            place / name,
            {name: file},
            parameters={"failing": {"YES": "by the job"}},
            credentials={"token": {"secret": "hunter-of-tokens"}},
        )
        parameters = {}
        if name in ("mixed", "caught"):
            parameters = {"SERVER": str(server), "HASH": git(server, "rev-parse", "master~1")}
        records = [controller.run(name, repository, parameters=parameters)]
        if name == "failing":
            records.append(controller.run(name, repository, parameters={"YES": ""}))
        return records

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(jobs, pool.map(run, jobs), strict=True))


@pytest.fixture(scope="module")
def mixed(builds):
    return builds["mixed"][0]


def test_results_only_get_worse(mixed):
    assert mixed.result == "UNSTABLE", mixed.log
    assert mixed.stages["Shaky"] == mixed.stages["Caught"] == "UNSTABLE"
    assert mixed.stages["Any"] == "SUCCESS"


def test_retry_tries_again_until_it_is_done(mixed):
    assert mixed.commands.count("scripts/ci/third.sh") == 3
    assert mixed.stages["Retry"] == "SUCCESS"


def test_without_the_option_stages_after_an_unstable_one_run(mixed):
    assert "went on" in mixed.log
    assert "any" in mixed.log.splitlines()


def test_stages_whose_condition_does_not_hold_are_skipped(mixed):
    skipped = {stage["name"] for stage in mixed.document["stages"] if stage["skipped"]}
    assert skipped == {"No", "Flag", "All", "Elsewhere"}


def test_variables_of_a_stage_reach_its_commands(mixed):
    assert "shade=dark red hue=blue token= in=below" in mixed.log


def test_a_secret_is_masked_in_the_log_and_in_the_record(mixed):
    assert "token=****" in mixed.log
    for name in ("log", "build.json"):
        assert "hunter" not in (mixed.folder / name).read_text()


@pytest.mark.parametrize(
    ("place_of_it", "version"),
    [("branch", "2"), ("any", "2"), ("tag", "1"), ("reference", "1"), ("hash", "1")],
)
def test_a_revision_is_found_as_the_git_plugin_finds_it(mixed, place_of_it, version):
    workspace = mixed.folder.parents[2] / "agent" / "workspace" / "mixed"
    assert (workspace / place_of_it / "version").read_text() == f"{version}\n"


def test_failed_tests_make_the_build_unstable(mixed):
    assert mixed.stages["Tests"] == "UNSTABLE"
    assert mixed.document["tests"] == {"total": 1, "failed": 1, "skipped": 0}


def test_what_a_build_leaves_running_on_its_agent_is_ended(mixed):
    (pid,) = [line.split()[1] for line in mixed.log.splitlines() if line.startswith("left ")]
    assert not is_running(pid)


def test_post_conditions_come_in_the_order_of_their_plugin(mixed):
    assert mixed.posts == ["always", "changed", "unsuccessful", "unstable", "cleanup"]


def test_after_a_failed_stage_the_others_are_skipped(builds):
    failed = builds["failing"][0]
    assert failed.result == "FAILURE"
    assert failed.stages == {"Maybe": "FAILURE", "After": "SKIPPED", "Inner": "SKIPPED"}
    skipped = {stage["name"]: stage["skipped"] for stage in failed.document["stages"]}
    assert skipped["After"] == "earlier failure(s)"
    of_stage = [post["condition"] for post in failed.document["posts"] if post["stage"]]
    assert of_stage == ["always", "failure"]
    assert failed.posts[2:] == ["always", "changed", "unsuccessful", "failure", "cleanup"]


def test_a_build_that_is_better_than_the_last_one_is_fixed(builds):
    again = builds["failing"][1]
    assert again.result == "SUCCESS"
    of_pipeline = [post["condition"] for post in again.document["posts"] if not post["stage"]]
    assert of_pipeline == ["always", "changed", "fixed", "success", "cleanup"]


def test_a_job_may_declare_the_parameters_itself(builds):
    given = [build.document["parameters"] for build in builds["failing"]]
    assert given == [{"YES": "by the job"}, {"YES": ""}]


def test_the_pipelines_own_repository_is_checked_out_when_a_step_says_so(builds):
    """With skipDefaultCheckout the agent's folder is empty until then."""
    failed, again = builds["failing"]
    assert "Checking out Revision" in failed.log
    assert "shade= hue=" in failed.log
    assert "Checking out Revision" not in again.log


@pytest.mark.parametrize("step", range(len(FAILURES)))
def test_a_step_fails_and_says_why(builds, step):
    """All fail inside catchError, whose message in the log is theirs."""
    caught = builds["caught"][0]
    assert FAILURES[step][1] in caught.log
    errors = [row["error"] for row in caught.document["steps"] if row["error"]]
    assert any(FAILURES[step][1] in error for error in errors)


def test_a_command_without_an_agent_fails(builds):
    assert "attempted to execute a step that requires a node context" in builds["caught"][0].log


def test_an_agent_that_nobody_has_fails_the_build(builds):
    assert builds["caught"][0].result == "FAILURE"
    assert "no agent has the label nowhere" in builds["caught"][0].log


@pytest.mark.parametrize("condition", REFUSED_STEPS)
def test_a_step_that_is_not_there_fails_the_build(builds, condition):
    refused = builds["refused"][0]
    assert refused.result == "FAILURE"
    assert REFUSED_STEPS[condition][1] in refused.log


def test_a_plain_name_of_a_variable_is_no_value(builds):
    assert "knows no name BUILD_URL" in builds["refused"][0].log
    assert "never" not in builds["refused"][0].log.splitlines()


@pytest.mark.parametrize("name", REFUSED)
def test_a_pipeline_that_is_wrong_runs_nothing(builds, name):
    refused = builds[name][0]
    assert refused.result == "FAILURE"
    assert REFUSED[name][2] in refused.log
    assert "ran" not in refused.log.splitlines()
