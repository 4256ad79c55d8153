"""The linter is content with the sample, and finds in each broken copy exactly what is wrong.

A broken copy is the sample with one text replaced by another; all are linted by one process.
"""

import pytest
from tests.pipeline.linter import findings, report
from tests.pipeline.sample import JENKINSFILE, PROVIDES, make_pipelines

SAMPLE = JENKINSFILE.read_text(encoding="utf-8")
TUNE = "sh 'scripts/ci/tune.sh'"
TUNE_STAGE = "stage('Tune') {"
TUNE_OPTIONS = """stage('Tune') {
          options { timeout(time: 30, unit: 'MINUTES') }
          steps {"""
DEPLOY_STAGE = "        stage('Deploy') {\n"
SCENARIO = "    string(name: 'SCENARIO', "
COMMIT = "    string(name: 'COMMIT', "
RELEASE = "cleanup { sh 'scripts/ci/release.sh' }"

# What is broken: (text of the sample, text instead, rule, what is found).
BROKEN = {
    "no agent": ("  agent none\n", "", "missing", "no agent"),
    "no stages": ("__STAGES__", "", "missing", "no stages"),
    "an agent that is none": ("agent none", "agent nobody", "agent", "the name nobody"),
    "an agent without a known form": (
        "label 'leaselab';",
        "lable 'leaselab';",
        "agent",
        "lable",
    ),
    "a misspelt section": (
        "  options {\n    skip",
        "  optoins {\n    skip",
        "unknown-section",
        "optoins",
    ),
    "a misspelt section of a stage": (
        "when { expression",
        "wen { expression",
        "unknown-section",
        "wen",
    ),
    "a section twice": (
        "  agent none\n",
        "  agent none\n  agent any\n",
        "twice",
        "agent twice",
    ),
    "an option twice": (
        "    timestamps()\n",
        "    timestamps()\n    timestamps()\n",
        "twice",
        "timestamps twice",
    ),
    "a misspelt post condition": ("cleanup {", "cleanUp {", "unknown-condition", "cleanUp"),
    "a misspelt condition of a stage": (
        "when { expression",
        "when { expresion",
        "unknown-condition",
        "expresion",
    ),
    "an unknown step": (
        TUNE,
        "shell 'scripts/ci/tune.sh'",
        "unknown-step",
        "no plugin provides shell",
    ),
    "a step of a plugin that is not installed": (
        RELEASE,
        "cleanup { slackSend channel: 'x' }",
        "unknown-step",
        "slackSend comes with slack, which plugins.txt does not have",
    ),
    "an unknown option": (
        "    timestamps()\n",
        "    ansiColor('xterm')\n",
        "unknown-option",
        "no plugin provides ansiColor",
    ),
    "an option of pipelines on a stage": (
        "stage('Tune') {\n          options { timeout",
        "stage('Tune') {\n          options { skipStagesAfterUnstable(); timeout",
        "unknown-option",
        "an option of pipelines",
    ),
    "a script block": (TUNE, f"script {{ {TUNE} }}", "logic", "a script block"),
    "an if": (TUNE, f"if (params.REPO) {{ {TUNE} }}", "logic", "if"),
    "a for": (TUNE, f"for (x in [1, 2]) {{ {TUNE} }}", "logic", "for"),
    "a while": (TUNE, f"while (true) {{ {TUNE} }}", "logic", "while"),
    "a try": (TUNE, f"try {{ {TUNE} }} finally {{ }}", "logic", "try"),
    "a def": (TUNE, f"def x = 1\n {TUNE}", "logic", "def"),
    "an assignment": (TUNE, f"env.X = 'y'\n {TUNE}", "logic", "an assignment"),
    "a ternary": (
        "message: 'Tune'",
        "message: params.REPO ? 'a' : 'b'",
        "logic",
        "the operator ? :",
    ),
    "an operator": ("message: 'Tune'", "message: 'T' + params.REPO", "logic", "the operator +"),
    "a negation": (
        "expression { params.REPO }",
        "expression { !params.REPO }",
        "logic",
        "the operator !",
    ),
    "a method of an object": (
        "message: 'Tune'",
        "message: params.REPO.trim()",
        "logic",
        "a method call on params.REPO",
    ),
    "a method call as a step": (
        TUNE,
        f"params.each {{ {TUNE} }}",
        "logic",
        "a method call on params",
    ),
    "a value of nothing known": (
        "message: 'Tune'",
        "message: BENCH",
        "logic",
        "the name BENCH",
    ),
    "two statements in a condition": (
        "expression { params.REPO }",
        "expression { params.REPO; params.COMMIT }",
        "logic",
        "2 statements",
    ),
    "inline logic of the shell": (
        TUNE,
        "sh 'scripts/ci/tune.sh || true'",
        "sh-logic",
        "'scripts/ci/tune.sh || true'",
    ),
    "a command that is no script": (TUNE, "sh 'make tune'", "sh-logic", "'make tune'"),
    "a script of several lines": (
        TUNE,
        "sh '''\n  scripts/ci/tune.sh\n  true\n'''",
        "sh-logic",
        "'scripts/ci/tune.sh'",
    ),
    "a command with values": (
        TUNE,
        'sh "scripts/ci/tune.sh ${params.REPO}"',
        "sh-logic",
        "a string with values",
    ),
    "an exit status that is kept from the step": (
        TUNE,
        "sh script: 'scripts/ci/tune.sh', returnStatus: true",
        "sh-logic",
        "returnStatus",
    ),
    "a script that is not there": (
        TUNE,
        "sh 'scripts/ci/tuen.sh'",
        "sh-missing",
        "no file scripts/ci/tuen.sh",
    ),
    "a script that nobody may execute": (
        TUNE,
        "sh 'scripts/ci/plain.sh'",
        "sh-missing",
        "scripts/ci/plain.sh is not executable",
    ),
    "no timeout": (
        TUNE_OPTIONS,
        "stage('Tune') {\n          steps {",
        "no-timeout",
        "no timeout",
    ),
    "two stages of one name": (
        TUNE_STAGE,
        "stage('Deploy') {",
        "duplicate-stage",
        "another stage of this name",
    ),
    "a stage without content": (
        DEPLOY_STAGE,
        "        stage('Empty') { options { timestamps() } }\n" + DEPLOY_STAGE,
        "content",
        "none of them",
    ),
    "a stage with two contents": (
        TUNE_OPTIONS,
        TUNE_OPTIONS.replace(
            "steps {",
            "stages { stage('In') { options { timeout(1) }\n"
            " steps { sh 'scripts/ci/tune.sh' } } }\n steps {",
        ),
        "content",
        "steps and stages",
    ),
    "stages side by side": (
        TUNE_OPTIONS,
        TUNE_OPTIONS.replace("steps {", "parallel {"),
        "not-executed",
        "parallel",
    ),
    "steps that are none": (RELEASE, "cleanup { }", "empty", "nothing"),
    "an undeclared parameter": (
        "message: 'Tune'",
        "message: params.TUNE",
        "undeclared-parameter",
        "no such parameter",
    ),
    "an undeclared variable": (
        "message: 'Tune'",
        'message: "on ${env.BENHC}"',
        "undeclared-variable",
        "nobody sets it",
    ),
    "an option that needs what is not there yet": (
        "stage('Tune') {\n          options { ",
        "stage('Tune') {\n          options { lock(resource: env.BENCH); ",
        "too-early",
        "a variable that is set later",
    ),
    "an unused parameter": (
        SCENARIO,
        "    string(name: 'FORGOTTEN', defaultValue: '', description: 'x')\n" + SCENARIO,
        "unused-parameter",
        "nobody uses it",
    ),
    "a parameter that is only handed on": (
        SCENARIO,
        "    string(name: 'HANDED', defaultValue: '', description: 'x')\n" + SCENARIO,
        "unused-parameter",
        "nobody uses it",
    ),
    "a parameter twice": (
        COMMIT,
        "    string(name: 'REPO', defaultValue: '', description: 'x')\n" + COMMIT,
        "twice",
        "REPO twice",
    ),
    "a parameter without a description": (
        ", description: 'branch, tag or hash in it'",
        "",
        "argument",
        "no argument description",
    ),
    "a parameter of an unknown type": (
        "string(name: 'SCENARIO'",
        "str(name: 'SCENARIO'",
        "unknown-section",
        "str",
    ),
    "a default of the wrong type": (
        "defaultValue: '5'",
        "defaultValue: 5",
        "argument",
        "defaultValue is a int",
    ),
    "a lock of nothing": (
        "lock(label: params.BENCHES, quantity: 1, variable: 'BENCH')",
        "lock(quantity: 1, variable: 'BENCH')",
        "argument",
        "0 of resource, label",
    ),
    "a lock of both": (
        "lock(label: params.BENCHES,",
        "lock(label: params.BENCHES, resource: 'x',",
        "argument",
        "2 of resource, label",
    ),
    "a wrong name of an argument": (
        "allowEmptyArchive: true",
        "allowEmpty: true",
        "argument",
        "argument allowEmpty",
    ),
    "a wrong name in a nested call": (
        "numToKeepStr: '200'",
        "numToKeep: '200'",
        "argument",
        "argument numToKeep",
    ),
    "a wrong name in a map": ("reportDir: ", "reportDirectory: ", "argument", None),
    "a required argument that is missing": (
        "junit testResults: 'ci/junit.xml', ",
        "junit ",
        "argument",
        "no argument testResults",
    ),
    "an argument of the wrong type": (
        "quantity: 1",
        "quantity: '1'",
        "argument",
        "quantity is a string",
    ),
    "a result that is none": (
        "buildResult: 'NOT_BUILT'",
        "buildResult: 'NOTBUILT'",
        "argument",
        "buildResult NOTBUILT",
    ),
    "a unit that is none": (
        "timeout(time: 12, unit: 'HOURS')",
        "timeout(time: 12, unit: 'HOUR')",
        "argument",
        "unit HOUR",
    ),
    "a build that waits for another": (
        "wait: false, parameters",
        "wait: true, parameters",
        "waits",
        "wait true",
    ),
    "a syntax error": ("  agent none\n", "  agent none }\n  stages {{\n", "syntax", None),
    "two pipelines": (
        "__END__",
        "pipeline { agent none\n stages { stage('x') { steps { sh 'x' } } } }\n",
        "two-pipelines",
        "another pipeline",
    ),
    "code after the pipeline": ("__END__", "println 'x'\n", "outside", "a call of println"),
    "a method beside the pipeline": ("__END__", "def f() { 1 }\n", "outside", "a method f"),
    "an import": (
        "pipeline {\n",
        "import java.util.Date\npipeline {\n",
        "outside",
        "an import",
    ),
    "no pipeline": ("pipeline {\n  agent", "pipelines {\n  agent", None, None),
    "too many lines": ("__END__", "// x\n" * 12, "too-long", None),
}
# These break more than one rule, by their nature.
SEVERAL = {
    "no pipeline": ["outside", "no-pipeline"],
    "a wrong name in a map": ["argument", "argument"],
    "no stages": ["missing", *["unused-parameter"] * 4],
    "a parameter of an unknown type": ["unknown-section", "undeclared-parameter"],
}


def broken(old, new):
    if old == "__END__":
        return SAMPLE + new
    if old == "__STAGES__":
        start = SAMPLE.index("  stages {\n    stage('Bench')")
        return SAMPLE[:start] + "}\n"
    assert old in SAMPLE, f"the sample has no {old!r}"
    return SAMPLE.replace(old, new, 1)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    path = make_pipelines(
        tmp_path_factory.mktemp("linter") / "repository", {"plain": "#!/bin/sh\n"}
    )
    (path / "scripts/ci/plain.sh").chmod(0o644)
    return path


def write(place, texts):
    """Write texts to files: {name: file}."""
    files = {name: place / f"{number}.Jenkinsfile" for number, name in enumerate(texts)}
    for name, path in files.items():
        path.write_text(texts[name], encoding="utf-8")
    return files


@pytest.fixture(scope="module")
def findings_of(tmp_path_factory, repository):
    """{name: findings} of the sample and of all broken copies."""
    texts = {name: broken(old, new) for name, (old, new, _, _) in BROKEN.items()}
    handed = "a parameter that is only handed on"
    texts[handed] = texts[handed].replace(
        "parameters: [\n", "parameters: [string(name: 'HANDED', value: params.HANDED),\n"
    )
    files = write(tmp_path_factory.mktemp("files"), {"the sample": SAMPLE, **texts})
    everything = findings(files.values(), repository, PROVIDES)
    return {
        name: [finding for finding in everything if finding["file"] == str(path)]
        for name, path in files.items()
    }


def test_the_sample_is_right(findings_of):
    assert findings_of["the sample"] == []


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_found_and_nothing_else(findings_of, name):
    _, _, rule, what = BROKEN[name]
    rules = [finding["rule"] for finding in findings_of[name]]
    assert sorted(rules) == sorted(SEVERAL.get(name, [rule])), findings_of[name]
    if what:
        assert what in [finding["found"] for finding in findings_of[name]]


@pytest.mark.parametrize(
    "name", [name for name in BROKEN if not BROKEN[name][0].startswith("__")]
)
def test_a_finding_has_the_line_of_what_is_broken(findings_of, name):
    old, new, _, _ = BROKEN[name]
    first = SAMPLE[: SAMPLE.index(old)].count("\n") + 1
    last = first + old.count("\n") + new.count("\n")
    if name not in ("no agent", "no timeout"):  # what is missing is missed where it belongs
        assert any(first <= finding["line"] <= last for finding in findings_of[name]), (
            findings_of[name]
        )


def test_a_finding_says_file_line_what_is_found_and_what_is_wanted(tmp_path, repository):
    files = write(tmp_path, {"x": broken("  agent none\n", "  agent nobody\n")})
    line = SAMPLE[: SAMPLE.index("agent none")].count("\n") + 1
    assert report(files.values(), repository, PROVIDES) == (
        f"{files['x']}:{line}: agent: found the name nobody,"
        " wanted none, any, { label ... } or { node { ... } }"
    )


def test_a_right_file_is_passed_over_in_silence(repository):
    assert report([JENKINSFILE], repository, PROVIDES) == ""


def test_parameters_that_the_job_declares_are_held_to_their_use(tmp_path, repository):
    """A name that the file reads and the job has not, and one that the job has for nobody."""
    start, end = SAMPLE.index("  parameters {"), SAMPLE.index("  options {\n    skip")
    files = write(tmp_path, {"x": SAMPLE[:start] + SAMPLE[end:]})
    read = ["SCENARIO", "REPO", "COMMIT", "CREDENTIALS", "BASELINE", "THRESHOLD", "OPTIONS"]
    declared = dict.fromkeys([*read, "INVENTORY", "BENCHES"], "")
    assert not findings(files.values(), repository, PROVIDES, {files["x"]: declared})
    del declared["COMMIT"]
    declared["FORGOTTEN"] = ""
    results = findings(files.values(), repository, PROVIDES, {files["x"]: declared})
    assert {(finding["rule"], finding["what"]) for finding in results} == {
        ("undeclared-parameter", "params.COMMIT"),
        ("unused-parameter", "parameter FORGOTTEN"),
    }


def test_there_are_many_ways_to_break_a_jenkinsfile():
    assert len(BROKEN) >= 60
    assert len({rule for _, _, rule, _ in BROKEN.values()}) >= 20
