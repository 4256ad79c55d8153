"""Scenario files: families by matrix, and what they refuse."""

import pytest
import yaml
from tests import refusals
from tests.refusals import refusals_of

from leaselab.catalog.catalogue import Catalogue, scenarios_of
from leaselab.catalog.family import load_families

SERVER = {"kind": "kea", "options": {"backend": "memfile"}}
NETWORK = {"family": 4, "subnet": "10.0.0.0/8", "pool": "10.0.0.1 - 10.255.255.254"}
EXCHANGE = {"name": "DHCPv4 exchange", "plural": "exchanges", "stages": ["A-B", "C-D"]}
LOAD = {"generator": "perfdhcp", "transaction": EXCHANGE, **NETWORK}
BURST = {"clients": 10}
ONE = {"name": "one"}


def family(**fields):
    least = {"description": "An example", "server": SERVER, "load": "four", "axes": [[ONE]]}
    return least | fields


def options(**fields):
    """Fields of a family whose server has these options beside its backend."""
    return {"server": {"kind": "kea", "options": {"backend": "memfile", **fields}}}


@pytest.fixture
def folder(tmp_path):
    """A function that writes a family, and a load ``four``; returns the folder."""
    folder = tmp_path / "scenarios"
    (folder / "loads").mkdir(parents=True)

    def write(content, name="example.yml", **load):
        held = {key: value for key, value in {**LOAD, **load}.items() if value is not ...}
        (folder / "loads/four.yml").write_text(yaml.safe_dump(held), "utf-8")
        text = content if isinstance(content, str) else yaml.safe_dump(content)
        (folder / name).write_text(text, encoding="utf-8")
        return folder

    return write


def scenarios_in(place):
    """Those of the families in a folder."""
    return scenarios_of(load_families(place))


def refused(place, match):
    with refusals.refused(match) as caught:
        scenarios_in(place)
    return caught.value


def test_every_entry_of_one_axis_meets_every_entry_of_the_others(folder):
    slow = {"name": "slow", "options": {"lease_lifetime_s": 7}}
    example = scenarios_in(folder(family(axes=[[{"name": "a"}, {"name": "b"}], [{}, slow]])))
    lifetimes = [
        (name, each.server.options["lease_lifetime_s"]) for name, each in example.items()
    ]
    assert lifetimes == [("a", 86400), ("a-slow", 7), ("b", 86400), ("b-slow", 7)]
    assert all(item.description == "An example" for item in example.values())


def test_what_entries_set_is_merged_key_by_key_in_their_order(folder):
    first = {"name": "x", "options": {"backend": "mysql", "threads": 2}}
    first |= {"beside": {"mysql": {"innodb_log_mib": 64, "innodb_doublewrite": False}}}
    first |= {"factors": {"backend": "mysql", "size": 1}}
    second = {"name": "y", "beside": {"mysql": {"innodb_log_mib": 128}}, "factors": {"size": 2}}
    second |= {"options": {"multi_threading": True, "threads": 4, "queue_size": 8}}
    fields = {"axes": [[first], [second]], "factors": {"place": "here"}, "across": ["size"]}
    entry = scenarios_in(folder(family(**fields)))["x-y"]
    wanted = {"backend": "mysql", "threads": 4, "queue_size": 8}
    assert wanted.items() <= entry.server.options.items()
    assert entry.beside == {"mysql": {"innodb_log_mib": 128, "innodb_doublewrite": False}}
    assert entry.factors == {"place": "here", "backend": "mysql", "size": 2}
    assert entry.across == ("size",)


def test_a_name_is_of_its_file_or_of_its_entries(folder):
    for axes, names in (
        ([], ["example"]),
        (
            [{"memfile_persist": [True, False]}],
            ["memfile-persist-false", "memfile-persist-true"],
        ),
        ([{"procedure.fill": [0.5, 0.999]}], ["fill-0.5", "fill-0.999"]),
    ):
        fields = {"axes": axes, "procedure": {"name": "fill"}}
        assert list(scenarios_in(folder(family(**fields)))) == names


@pytest.mark.parametrize(
    ("holds", "factor"),
    [("beside", "beside.mysql.innodb_log_mib"), ("support", "support.innodb_log_mib")],
)
def test_an_axis_of_a_factor_sets_what_it_names_and_the_factor(folder, holds, factor):
    places = {"procedure.clients": [10], "load.family": [4], factor: [64]}
    fields = options(multi_threading=True, queue_size=64, backend="mysql") | {
        "axes": [
            [{"name": "v4"}],
            {"threads": [2, 12]},
            *({key: places[key]} for key in places),
        ],
        "beside": {"beside": {"mysql": {"innodb_doublewrite": False}}}.get(holds, {}),
        "support": {"support": {"kind": "mysql", "options": {"nodes": 3}}}.get(holds, {}),
        "procedure": {"name": "burst"},
    }
    example = load_families(folder(family(**fields)))["example"]
    last = "clients-10-family-4-innodb-log-mib-64"
    assert list(example.scenarios) == [f"v4-threads-{count}-{last}" for count in (2, 12)]
    for count, (name, item) in zip((2, 12), example.scenarios.items(), strict=True):
        factors = {"threads": count, "clients": 10, "family": 4, "innodb_log_mib": 64}
        assert (item.factors, item.server.options["threads"]) == (factors, count)
        assert "clients" not in item.server.options
        assert (example.procedures[name]["clients"], example.varied[name]) == (10, {"clients"})
        if holds == "beside":
            wanted = {"innodb_doublewrite": False, "innodb_log_mib": 64}
            assert (item.beside, item.support) == ({"mysql": wanted}, None)
        else:
            wanted = {"nodes": 3, "innodb_log_mib": 64}
            assert item.support.kind == "mysql"
            assert wanted.items() <= item.support.options.items()


def test_a_load_brings_its_generator_its_transaction_and_what_it_is_like(folder):
    item = scenarios_in(folder(family()))["one"]
    assert (item.generator, item.transaction.stages) == ("perfdhcp", ("A-B", "C-D"))
    assert item.load == NETWORK


def test_an_entry_may_name_another_load_and_a_partner(folder):
    place = folder(family(axes=[[{"name": "one", "load": "six"}]]))
    six = {"family": 6, "subnet": "2001:2::/64", "pool": "2001:2::/64"}
    (place / "loads" / "six.yml").write_text(yaml.safe_dump({**LOAD, **six}), "utf-8")
    item = scenarios_in(place)["one"]
    assert (item.load, item.partner) == (six, False)
    pair = {"name": "one", "partner": True, "options": {"pair_mode": "hot-standby"}}
    assert scenarios_in(folder(family(axes=[[pair]])))["one"].partner is True


def test_an_entry_may_say_parameters_of_the_procedure_or_another_one(folder):
    axes = [
        [{"name": "a"}, {"name": "b", "procedure": {"trial_s": 3, "rounds": 4}}],
        [{"procedure": {"rounds": 5}}, {"name": "c", "procedure": BURST}],
    ]
    example = load_families(folder(family(procedure={"trial_s": 2}, axes=axes)))["example"]
    assert example.procedures == {
        "a": {"trial_s": 2, "rounds": 5},
        "a-c": {"trial_s": 2, **BURST},
        "b": {"trial_s": 3, "rounds": 5},
        "b-c": {"trial_s": 3, "rounds": 4, **BURST},
    }
    other = {"name": "fixed-load", "rate": 5}
    fields = {"procedure": {**BURST, "name": "burst"}, "axes": [[{**ONE, "procedure": other}]]}
    assert load_families(folder(family(**fields)))["example"].procedures == {"one": other}


def test_a_load_may_differ_from_its_file(folder):
    pool = {"pool": "10.0.0.1 - 10.0.0.9"}
    axes = [[{"name": "a"}, {"name": "b", "load": {"pool": "10.0.0.1 - 10.0.0.2"}}]]
    example = scenarios_in(folder(family(load={"name": "four", **pool}, axes=axes)))
    pools = ["10.0.0.1 - 10.0.0.9", "10.0.0.1 - 10.0.0.2"]
    assert [item.load["pool"] for item in example.values()] == pools
    assert example["a"].load["subnet"] == LOAD["subnet"]
    named = family(load=pool, axes=[[{"name": "a", "load": "four"}]])
    assert scenarios_in(folder(named))["a"].load["pool"] == pool["pool"]


TWICE = [[{"name": "v4", "factors": {"clients": "many"}}], {"procedure.clients": [1]}]


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"discription": "x"}, r"example.yml: unknown key 'discription'.*'description'"),
        ({"axes": [[{"nmae": "x"}]]}, r"axes: unknown key 'nmae'; did you mean 'name'"),
        ({"server": {"kind": "kea", "opt": {}}}, r"server: unknown key 'opt'.*'options'"),
        ({"server": {}}, "example.yml: server: a key is missing .wanted kind"),
        ({"server": "kea"}, "server: value of another type .found str '.*', wanted object"),
        ({"axes": [[{"name": 1}]]}, r"axes\[0\]\[0\]: name: .*found int 1, wanted str"),
        ({"axes": [{"threads": [1], "queue_size": [1]}]}, "must set exactly one factor"),
        (
            {"axes": [{"options.threads": [1]}]},
            "not a place for a factor .found options.threads",
        ),
        ({"axes": [{"beside.mysql": [1]}]}, "not a place for a factor"),
        ({"axes": [{"load.a.b": [1]}]}, "not a place for a factor"),
        ({"axes": TWICE}, "factor clients is set twice"),
        ({"axes": [[{"name": "V4"}]]}, "not a name"),
        ({"load": "fuor"}, r"unknown load 'fuor'; did you mean 'four'"),
        ({"load": None}, r"unknown load ''.*wanted one of four"),
        ({"load": {"pool": "10.0.0.0/8"}}, r"unknown load ''"),
        ({"load": {"name": "four", "pol": "10.0.0.0/8"}}, "setting of load four 'pol'"),
        ({"load": {"name": "four", "generator": "other"}}, "unknown generator 'other'"),
        ({"load": {"name": "four", "pool": "2001:2::/64"}}, "pool is not in its subnet"),
        (
            {"load": {"name": "four", "pool": "10.0.0.1 - 11.0.0.1"}},
            "pool is not in its subnet",
        ),
        ({"support": {"options": {"nodes": 3}}}, "unknown kind of support ''"),
        (options(bakend="x"), r"unknown option of kea 'bakend'; did you mean 'backend'"),
        (options(lease_lifetime_s=1.5), "lease_lifetime_s: value of another type.*wanted int"),
        (options(lease_lifetime_s=True), "value of another type"),
        (options(memfile_persist="yes"), "found 'yes', wanted bool"),
    ],
)
def test_what_does_not_belong_is_refused_with_its_place(folder, fields, match):
    assert refused(folder(family(**fields)), match).where.startswith("example.yml")


@pytest.mark.parametrize(
    ("load", "match"),
    [
        ({"family": 5}, "family: value not allowed .found 5, wanted 4 or 6"),
        ({"family": "4"}, "family: value of another type"),
        ({"family": 6}, "pool does not fit the address family"),
        ({"generator": "perfdchp"}, "unknown generator 'perfdchp'; did you mean 'perfdhcp'"),
        ({"transaction": {"name": "x"}}, "loads/four.yml: transaction: .*missing"),
        ({"generator": ...}, "loads/four.yml: key missing .wanted generator"),
        ({"transaction": ...}, "loads/four.yml: key missing .wanted transaction"),
    ],
)
def test_a_load_that_cannot_be_is_refused(folder, load, match):
    refused(folder(family(), **load), match)


@pytest.mark.parametrize("text", ["a: [", "- a\n- b\n", "just words\n"])
def test_a_file_that_is_no_family_is_refused(folder, text):
    refused(folder(text), "not YAML|not a mapping")


def test_a_name_exists_once_and_a_folder_has_some(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "no scenarios")
    place = folder(family(), "a.yml")
    folder(family(), "b.yml")
    assert refused(place, "scenario one exists twice").where == "b.yml"


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (["b*", "a", "?"], ["b", "b-x", "a"]),
        (["other"], ["b", "b-x", "a", "a-x"]),
        (["one"], ["one"]),
    ],
)
def test_patterns_mean_names_or_a_family_each_once_in_the_order_given(folder, patterns, names):
    folder(family(axes=[[{"name": "b"}, {"name": "a"}], [{}, {"name": "x"}]]), "other.yml")
    catalogue = Catalogue(folder(family(), "one.yml").parent)
    assert [scenario.name for scenario in catalogue.match(patterns)] == names
    assert "did you mean 'other'" in refusals_of(catalogue.match)(["othr"])
