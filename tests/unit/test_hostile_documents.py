"""Documents that people write by hand: whatever is wrong in them is bad input, and no fault.

Sound documents are changed at random places, from fixed seeds.
"""

import math
import random
from pathlib import Path

import pytest
import yaml
from tests.bench_document import DOCUMENT
from tests.inventories import parsed
from tests.mutations import tries, with_other_values

from leaselab.catalog.documents import parse_json
from leaselab.catalog.family import load_families
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.measure.generators import check_fits
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.procedures import PROCEDURES, procedure_of

ROOT = Path(__file__).parents[2]
CHANGES = tries(100)
VALUES = (
    *(None, True, False, 0, -1, 1, 2, 10**30, -(10**30), 0.5, -0.5, 1e308, math.nan, math.inf),
    *("", " ", "x" * 300, "x" * 70_000, "a\nb", "\0", "é", "{{ 7 * 7 }}", "../../x"),
    *("v4-memfile", "10.0.0.1 - 10.0.0.0", "10.0.0.0/33", "::", "0", "1e400", "memfile", "[a"),
    *([], [[]], [None], [0] * 1000, {}, {"": ""}, {"name": "x"}, {"a": {"b": {}}}, ["x"]),
)


def faults(read, documents):
    """What is wrong with reading them: anything but a usage error."""
    wrong = []
    for document in documents:
        try:
            read(document)
        except LeaselabError as error:
            str(error).encode(errors="replace")
            if error.outcome is not Outcome.USAGE:
                wrong.append((str(error)[:200], document))
        except Exception as error:  # noqa: BLE001  # every one is what is looked for
            wrong.append((repr(error)[:200], repr(document)[-300:]))
    return wrong


def chances(name):
    return random.Random(name)  # noqa: S311 - the same changes each time


def test_a_bench_document_is_read_or_refused():
    chance = chances("bench")
    documents = [with_other_values(DOCUMENT, chance, VALUES) for _ in range(CHANGES)]
    assert faults(lambda document: parse_bench(document, "bench.json"), documents) == []


@pytest.mark.parametrize("name", PROCEDURES)
def test_parameters_of_a_procedure_are_taken_or_refused(name):
    chance = chances(name)
    names = [*PROCEDURES[name].__struct_fields__, "name", "x", ""]
    given = [
        {"name": name, **{chance.choice(names): chance.choice(VALUES) for _ in range(3)}}
        for _ in range(CHANGES)
    ]
    assert faults(procedure_of, given) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 100_000, id="lists too deep"),
        pytest.param('{"a":' * 100_000, id="objects too deep"),
        pytest.param("9" * 5000, id="a long number"),
        *("NaN", "-Infinity", "1e400", '"\\ud8', '{"name": "\\ud800"}', '{"a": 1, "a": 1}'),
    ],
)
def test_text_that_is_no_json_is_refused(text):
    with pytest.raises(LeaselabError, match=r"^--procedure: not JSON: "):
        parse_json(text, "--procedure")


@pytest.mark.parametrize("family", ["memfile", "hooks", "hardware", "loads/dhcpv4"])
def test_a_family_of_scenarios_is_read_or_refused(family, tmp_path):
    """With its loads, and what comes of it as it would be run."""
    chance = chances(family)
    (tmp_path / "loads").mkdir()
    for path in (ROOT / "scenarios/loads").glob("*.yml"):
        (tmp_path / "loads" / path.name).write_bytes(path.read_bytes())
    source = ROOT / "scenarios" / f"{family}.yml"
    if family.startswith("loads/"):
        memfile = (ROOT / "scenarios/memfile.yml").read_bytes()
        (tmp_path / "memfile.yml").write_bytes(memfile)
    sound = yaml.safe_load(source.read_text("utf-8"))
    path = tmp_path / f"{family}.yml"

    def read(text):
        path.write_bytes(text)
        families = load_families(tmp_path)
        for loaded in families.values():
            for name, scenario in list(loaded.scenarios.items())[:3]:
                check_fits(scenario, loaded.procedure_of(name, {}))

    documents = [with_other_values(sound, chance, VALUES) for _ in range(CHANGES // 5)]
    dumped = [yaml.safe_dump(document, allow_unicode=True) for document in documents]
    texts = [text.encode(errors="surrogatepass") for text in dumped]
    texts += [b"", b"- x", b"x", b"[" * 1000, b"a: &a [*a]", b"9" * 5000]
    assert faults(read, texts) == []


def test_an_inventory_is_read_or_refused():
    chance = chances("inventory")
    power = {"ipmi": {"address": "192.0.2.7", "user": "a", "password_file": "/p"}}
    sut = {"ansible_host": "192.0.2.1", "leaselab_bench": "rack1", "leaselab_lab": "docker"}
    sut |= {"leaselab_test_address": "198.18.0.10", "leaselab_power_boot_s": 600}
    sut |= {"leaselab_power": power}
    listing = {"sut": sut, "gen": {"ansible_host": "192.0.2.2"}, "bld": {}}

    def read(hostvars):
        groups = {"dhcp_server": ["sut"], "dhcp_generator": ["gen"], "builder": ["bld"]}
        hosts = {group: {"hosts": names} for group, names in groups.items()}
        parsed(Path("/site/rack.yml"), {"_meta": {"hostvars": hostvars}, **hosts})

    changed = [with_other_values(sut, chance, VALUES) for _ in range(CHANGES)]
    # Ansible's own part is its own: tests/hosts/test_login.py
    kept = {"ansible_host": sut["ansible_host"]}
    assert faults(read, [{**listing, "sut": {**own, **kept}} for own in changed]) == []
