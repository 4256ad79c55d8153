"""What the controller needs is listed, pinned and used; nothing in it is a secret."""

import re

import yaml
from tests.jobs.definitions import JOBS, ROOT, made
from tests.pipeline.jenkinsfile import read

CONTROLLER = JOBS / "controller"
README = ROOT / "docs/how-to/controller.md"
TEXT = (CONTROLLER / "jenkins.yaml").read_text("utf-8")
CASC = yaml.safe_load(TEXT)
PROVIDES = yaml.safe_load((CONTROLLER / "provides.yaml").read_text("utf-8"))
PLUGINS = dict(
    line.split(":", 1)
    for line in (CONTROLLER / "plugins.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
)
PIPELINES = [ROOT / "Jenkinsfile", *sorted(JOBS.rglob("*.Jenkinsfile"))]
OWNERS = {"core": PROVIDES["core"], **PROVIDES["plugins"]}


def provided(kind):
    """{name: owners} of all that is provided of a kind."""
    result = {}
    for owner, what in OWNERS.items():
        for name in what.get(kind, []):
            result.setdefault(name, set()).add(owner)
    return result


def leaves(value, path=()):
    """Every path of the configuration that ends in a value; lists leave no trace in it."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from leaves(below, (*path, str(key)))
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, path)
    else:
        yield ".".join((*path, str(value))) if _is_symbol(path) else ".".join(path)


def _is_symbol(path):
    """Whether what stands here names a kind of thing, such as `standard`, not a value."""
    return path[-1] in {"crumbIssuer", "markupFormatter", "securityRealm", "launcher"}


def within(path, ancestor):
    return path == ancestor or path.startswith(f"{ancestor}.")


PATHS = sorted(set(leaves(CASC)))
STEPS = {call.name: path for path in PIPELINES for call in read(path).walk()}


def test_every_plugin_is_pinned_to_one_version():
    assert len(PLUGINS) > 20
    for name, version in PLUGINS.items():
        assert re.fullmatch(r"\d+(\.[\w-]+)*", version), f"{name}:{version}"
    lines = (CONTROLLER / "plugins.txt").read_text("utf-8").splitlines()
    names = [line.partition(":")[0] for line in lines if not line.startswith("#")]
    assert names == sorted(set(names))
    assert PROVIDES["plugins"].keys() == PLUGINS.keys()
    # `updateLock`, which takes a bench out of use, is younger than most of that plugin.
    assert int(PLUGINS["lockable-resources"].partition(".")[0]) >= 1560


def test_every_step_of_a_pipeline_is_on_the_allow_list():
    assert STEPS.keys() - provided("steps").keys() == set()


def test_every_key_of_the_configuration_belongs_to_the_controller():
    for path in PATHS:
        assert path.partition(".")[0] in provided("casc"), f"no plugin has the root of {path}"
        assert [
            plugin for plugin in provided("casc") if "." in plugin and within(path, plugin)
        ], path


def test_every_plugin_is_needed():
    for plugin in PLUGINS:
        what = PROVIDES["plugins"][plugin]
        used = [
            *(STEPS.keys() & set(what.get("steps", []))),
            *(made().components & set(what.get("jjb", []))),
            *(
                item
                for item in what.get("casc", [])
                if any(within(path, item) for path in PATHS)
            ),
        ]
        dependents = set(what.get("needed_by", []))
        assert dependents <= PLUGINS.keys()
        assert used or dependents, f"nothing uses {plugin}"
        assert not (used and dependents), f"{plugin} is used: needed_by says no more"


def test_every_component_and_path_on_the_list_is_used():
    assert provided("jjb").keys() == made().components
    for plugin in provided("casc"):
        assert any(within(path, plugin) for path in PATHS), plugin


SECRET_KEYS = {"password", "privateKey", "passphrase", "secret", "token", "key", "secretBytes"}


def values(value, name=""):
    """(key, value) of every scalar of the configuration."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from values(below, key)
    elif isinstance(value, list):
        for item in value:
            yield from values(item, name)
    else:
        yield name, value


def test_no_secret_is_written_down():
    results = [(key, value) for key, value in values(CASC) if key in SECRET_KEYS]
    assert {"password", "privateKey"} <= {key for key, _ in results}
    for key, value in results:
        if value != "LEASELAB_RESULTS":  # the name of a variable of the environment
            assert re.fullmatch(r"\$\{[A-Z_]+\}", value), f"{key}: a secret has no default"


def test_every_variable_that_has_to_be_given_is_in_the_readme():
    readme = README.read_text("utf-8")
    wanted = set(re.findall(r"\$\{([A-Z][A-Z_]+)\}", TEXT)) - {"NAME"}
    assert "JENKINS_URL" in wanted
    assert {name for name in wanted if f"`{name}`" not in readme} == set()


def test_changes_want_a_crumb_and_everybody_a_name():
    assert CASC["jenkins"]["crumbIssuer"] == {"standard": {"excludeClientIPFromCrumb": False}}
    entries = CASC["jenkins"]["authorizationStrategy"]["globalMatrix"]["entries"]
    rights = {
        entry["group"]["name"]: set(entry["group"]["permissions"])
        for entry in entries
        if "group" in entry
    }
    assert rights["authenticated"] == {"Overall/Read", "Job/Read", "View/Read"}
    assert CASC["jenkins"]["securityRealm"]["local"]["allowsSignup"] is False


def test_who_has_rights_is_a_user_of_the_realm():
    """The local realm has users, and of groups only the two that Jenkins makes itself."""
    realm = CASC["jenkins"]["securityRealm"]
    assert realm.keys() == {"local"}
    users = {user["id"] for user in realm["local"]["users"]}
    rights = {}
    for entry in CASC["jenkins"]["authorizationStrategy"]["globalMatrix"]["entries"]:
        ((kind, who),) = entry.items()
        assert who["name"] in {"user": users, "group": {"authenticated", "anonymous"}}[kind]
        rights[who["name"]] = set(who["permissions"])
    assert users <= rights.keys(), "a user without an entry may only look"
    builders = [name for name, held in rights.items() if "Job/Build" in held]
    assert len(builders) == 1, "nobody may start a build"
    assert rights[builders[0]] == {"Job/Build", "Job/Cancel"}


def test_host_keys_are_checked_everywhere():
    assert len(re.findall(r"manuallyProvidedKeyVerificationStrategy", TEXT)) == 2
    assert not re.search(r"(?i)nonVerifying|noHostKey|acceptFirst", TEXT)


def test_agents_have_the_label_that_pipelines_ask_for_and_room_for_every_bench():
    assert CASC["jenkins"]["numExecutors"] == 0, "nothing runs on the controller itself"
    nodes = [node["permanent"] for node in CASC["jenkins"]["nodes"]]
    labels = {label for node in nodes for label in node["labelString"].split()}
    asked = {
        label
        for path in PIPELINES
        for label in re.findall(r"\blabel\s+'([^']+)'", path.read_text("utf-8"))
    }
    assert asked
    assert asked <= labels
    benches = CASC["unclassified"]["lockableResourcesManager"]["declaredResources"]
    assert sum(node["numExecutors"] for node in nodes) > len(benches)


def test_the_image_is_an_lts_and_takes_what_is_pinned():
    text = (CONTROLLER / "Dockerfile").read_text("utf-8")
    assert re.search(r"^ARG JENKINS=2\.\d+\.[1-9]$", text, re.M), "an LTS has three numbers"
    image = r"jenkins/jenkins:\$\{JENKINS\}-lts-jdk\d+@\$\{JENKINS_DIGEST\}"
    assert re.findall(r"^FROM (.+)$", text, re.M) == re.findall(
        rf"^FROM ({image})$", text, re.M
    )
    assert re.search(r"^ARG JENKINS_DIGEST(=sha256:[0-9a-f]{64})?$", text, re.M), "pinned"
    assert "--build-arg JENKINS_DIGEST=" in README.read_text("utf-8")
    assert "--latest false --plugin-file /usr/share/jenkins/ref/plugins.txt" in text
    for name in re.findall(r"^COPY .* (\S+) \S+$", text, re.M):
        assert (CONTROLLER / name).is_file()
    assert re.search(r"casc/jenkins\.yaml", text)
