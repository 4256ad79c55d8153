"""Scenario files: families by matrix, and what they refuse."""

import pytest
import yaml

from leaselab.catalog.catalogue import Catalogue, scenarios_of
from leaselab.catalog.family import load_families
from leaselab.model.errors import LeaselabError, Outcome

SERVER = {"kind": "kea", "options": {"backend": "memfile"}}
LOAD = {
    "generator": "perfdhcp",
    "transaction": {"name": "DHCPv4 exchange", "plural": "exchanges", "stages": ["A-B", "C-D"]},
    "family": 4,
    "subnet": "10.0.0.0/8",
    "pool": "10.0.0.1 - 10.255.255.254",
}

BURST = {"clients": 10}


def family(**fields):
    return {
        "description": "An example",
        "server": SERVER,
        "load": "four",
        "axes": [[{"name": "one"}]],
        **fields,
    }


def options(**fields):
    """Fields of a family whose server has these options beside its backend."""
    return {"server": {"kind": "kea", "options": {"backend": "memfile", **fields}}}


@pytest.fixture
def folder(tmp_path):
    """A function that writes a family and returns the folder it is in, with a load ``four``."""
    folder = tmp_path / "scenarios"
    (folder / "loads").mkdir(parents=True)
    (folder / "loads" / "four.yml").write_text(yaml.safe_dump(LOAD), encoding="utf-8")

    def write(content, name="example.yml"):
        text = content if isinstance(content, str) else yaml.safe_dump(content)
        (folder / name).write_text(text, encoding="utf-8")
        return folder

    return write


def scenarios_in(place):
    """Those of the families in a folder."""
    return scenarios_of(load_families(place))


def catalogue(place):
    """The catalogue of a checkout that has the folder."""
    return Catalogue(place.parent)


def refused(place, match):
    with pytest.raises(LeaselabError, match=match) as caught:
        scenarios_in(place)
    assert caught.value.outcome is Outcome.USAGE
    return caught.value


def test_every_entry_of_one_axis_meets_every_entry_of_the_others(folder):
    axes = [
        [{"name": "a"}, {"name": "b"}],
        [{"name": ""}, {"name": "slow", "options": {"lease_lifetime_s": 7}}],
    ]
    example = scenarios_in(folder(family(axes=axes)))
    assert list(example) == ["a", "a-slow", "b", "b-slow"]
    lifetimes = {
        name: item.server.options["lease_lifetime_s"] for name, item in example.items()
    }
    assert lifetimes == {"a": 86400, "a-slow": 7, "b": 86400, "b-slow": 7}
    assert all(item.description == "An example" for item in example.values())


def test_what_entries_set_is_merged_key_by_key_in_their_order(folder):
    first = {
        "name": "x",
        "options": {"backend": "mysql", "threads": 2},
        "beside": {"mysql": {"innodb_log_mib": 64, "innodb_doublewrite": False}},
        "factors": {"backend": "mysql", "size": 1},
    }
    second = {
        "name": "y",
        "options": {"multi_threading": True, "threads": 4, "queue_size": 8},
        "beside": {"mysql": {"innodb_log_mib": 128}},
        "factors": {"size": 2},
    }
    fields = {"axes": [[first], [second]], "factors": {"place": "here"}, "across": ["size"]}
    entry = scenarios_in(folder(family(**fields)))["x-y"]
    assert entry.server.options["backend"] == "mysql"
    assert (entry.server.options["threads"], entry.server.options["queue_size"]) == (4, 8)
    assert entry.beside == {"mysql": {"innodb_log_mib": 128, "innodb_doublewrite": False}}
    assert entry.factors == {"place": "here", "backend": "mysql", "size": 2}
    assert entry.across == ("size",)


def test_an_axis_of_a_factor_sets_the_option_and_the_factor(folder):
    fields = options(multi_threading=True, queue_size=64)
    axes = [[{"name": "v4"}], {"threads": [2, 12]}]
    result = load_families(folder(family(**fields, axes=axes)))["example"].scenarios
    assert list(result) == ["v4-threads-2", "v4-threads-12"]
    assert [item.server.options["threads"] for item in result.values()] == [2, 12]
    assert [item.factors for item in result.values()] == [{"threads": 2}, {"threads": 12}]


def test_a_switch_is_reported_in_small_letters(folder):
    example = scenarios_in(folder(family(axes=[{"memfile_persist": [True, False]}])))
    assert list(example) == ["memfile-persist-false", "memfile-persist-true"]


def test_a_family_without_axes_is_one_scenario_of_its_name(folder):
    assert list(scenarios_in(folder(family(axes=[])))) == ["example"]


def test_a_load_brings_its_generator_its_transaction_and_what_it_is_like(folder):
    item = scenarios_in(folder(family()))["one"]
    assert (item.generator, item.transaction.stages) == ("perfdhcp", ("A-B", "C-D"))
    assert item.load == {key: LOAD[key] for key in ("family", "subnet", "pool")}


def test_an_entry_may_name_another_load_and_a_partner(folder):
    place = folder(family(axes=[[{"name": "one", "load": "six"}]]))
    six = {"family": 6, "subnet": "2001:2::/64", "pool": "2001:2::/64"}
    (place / "loads" / "six.yml").write_text(yaml.safe_dump({**LOAD, **six}), "utf-8")
    item = scenarios_in(place)["one"]
    assert (item.load, item.partner) == (six, False)
    pair = {"name": "one", "partner": True, "options": {"pair_mode": "hot-standby"}}
    assert scenarios_in(folder(family(axes=[[pair]])))["one"].partner is True


def test_parameters_of_the_procedure_are_kept_as_they_are(folder):
    families = load_families(folder(family(procedure={"trial_s": 2})))
    assert families["example"].procedures == {"one": {"trial_s": 2}}


def test_an_entry_may_say_parameters_of_the_procedure(folder):
    axes = [
        [{"name": "a"}, {"name": "b", "procedure": {"trial_s": 3, "rounds": 4}}],
        [{"name": "", "procedure": {"rounds": 5}}, {"name": "c", "procedure": BURST}],
    ]
    example = load_families(folder(family(procedure={"trial_s": 2}, axes=axes)))["example"]
    assert example.procedures == {
        "a": {"trial_s": 2, "rounds": 5},
        "a-c": {"trial_s": 2, **BURST},
        "b": {"trial_s": 3, "rounds": 5},
        "b-c": {"trial_s": 3, "rounds": 4, **BURST},
    }


def test_parameters_of_another_procedure_than_the_entrys_are_left_out(folder):
    axes = [[{"name": "a"}, {"name": "b", "procedure": {"name": "fixed-load", "rate": 5}}]]
    fields = {"procedure": {**BURST, "name": "burst"}, "axes": axes}
    example = load_families(folder(family(**fields)))["example"]
    assert example.procedures["b"] == {"name": "fixed-load", "rate": 5}


def test_a_factor_may_be_of_the_procedure_the_load_or_a_companion_service(folder):
    server = {"kind": "kea", "options": {"backend": "mysql"}}
    axes = [
        [{"name": "v4"}],
        {"procedure.clients": [10, 20]},
        {"load.family": [4]},
        {"beside.mysql.innodb_log_mib": [64]},
    ]
    fields = {"server": server, "axes": axes, "beside": {"mysql": {}}}
    example = load_families(folder(family(**fields, procedure={"name": "burst"})))["example"]
    names = [f"v4-clients-{number}-family-4-innodb-log-mib-64" for number in (10, 20)]
    assert list(example.scenarios) == names
    assert [example.procedures[name]["clients"] for name in names] == [10, 20]
    assert all(example.varied[name] == {"clients"} for name in names)
    item = example.scenarios[names[0]]
    assert item.factors == {"clients": 10, "family": 4, "innodb_log_mib": 64}
    assert item.beside == {"mysql": {"innodb_log_mib": 64}}
    assert "clients" not in item.server.options


def test_a_share_is_readable_in_a_name(folder):
    axes = [{"procedure.fill": [0.5, 0.999]}]
    example = scenarios_in(folder(family(axes=axes, procedure={"name": "fill"})))
    assert list(example) == ["fill-0.5", "fill-0.999"]


@pytest.mark.parametrize("factor", ["options.threads", "beside.mysql", "load.a.b", "x.y"])
def test_a_factor_of_no_place_is_refused(folder, factor):
    error = refused(folder(family(axes=[{factor: [1]}])), "not a place for a factor")
    assert error.found == factor


def test_a_factor_that_is_set_twice_is_refused(folder):
    entry = {"name": "v4", "factors": {"clients": "many"}}
    place = folder(family(axes=[[entry], {"procedure.clients": [1]}]))
    refused(place, "factor clients is set twice")


def test_a_load_may_differ_from_its_file(folder):
    pool = {"pool": "10.0.0.1 - 10.0.0.9"}
    axes = [[{"name": "a"}, {"name": "b", "load": {"pool": "10.0.0.1 - 10.0.0.2"}}]]
    example = scenarios_in(folder(family(load={"name": "four", **pool}, axes=axes)))
    assert [item.load["pool"] for item in example.values()] == [
        "10.0.0.1 - 10.0.0.9",
        "10.0.0.1 - 10.0.0.2",
    ]
    assert example["a"].load["subnet"] == LOAD["subnet"]
    named = family(load=pool, axes=[[{"name": "a", "load": "four"}]])
    assert scenarios_in(folder(named))["a"].load["pool"] == pool["pool"]


@pytest.mark.parametrize(
    ("load", "match"),
    [
        ({"name": "four", "pol": "10.0.0.0/8"}, "setting of load four 'pol'.*did you mean"),
        ({"name": "four", "generator": "other"}, "unknown generator 'other'"),
        ({"name": "four", "pool": "2001:2::/64"}, "pool is not in its subnet"),
        ({"name": "four", "pool": "10.0.0.1 - 11.0.0.1"}, "pool is not in its subnet"),
        ({"pool": "10.0.0.0/8"}, "load"),
    ],
)
def test_what_a_load_does_not_have_is_refused(folder, load, match):
    refused(folder(family(load=load)), match)


def test_an_unknown_scenario_names_the_nearest(folder):
    with pytest.raises(LeaselabError, match="did you mean 'one'") as caught:
        catalogue(folder(family())).find("onn")
    assert caught.value.outcome is Outcome.USAGE


def test_a_name_like_no_other_lists_them_all(folder):
    axes = [[{"name": "one"}, {"name": "two"}]]
    with pytest.raises(LeaselabError, match="wanted one of one, two"):
        catalogue(folder(family(axes=axes))).find("xyzzy")


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"discription": "x"}, r"example.yml: unknown key 'discription'.*'description'"),
        ({"axes": [[{"nmae": "x"}]]}, r"axes: unknown key 'nmae'; did you mean 'name'"),
        ({"server": {"kind": "kea", "opt": {}}}, r"server: unknown key 'opt'.*'options'"),
        ({"server": {}}, "example.yml: server: a key is missing .wanted kind"),
        ({"server": "kea"}, "server: value of another type .found str '.*', wanted object"),
        (
            {"axes": [[{"name": 1}]]},
            r"axes\[0\]\[0\]: name: value of another type .found int 1, wanted str",
        ),
        (
            {"axes": [{"threads": [1], "queue_size": [1]}]},
            "an axis must set exactly one factor",
        ),
        ({"axes": [[{"name": "V4"}]]}, "not a name"),
        ({"load": "fuor"}, r"unknown load 'fuor'; did you mean 'four'"),
        ({"load": None}, r"unknown load ''.*wanted one of four"),
        (options(bakend="x"), r"unknown option of kea 'bakend'; did you mean 'backend'"),
        (options(lease_lifetime_s=1.5), "lease_lifetime_s: value of another type.*wanted int"),
        (options(lease_lifetime_s=True), "value of another type"),
        (options(memfile_persist="yes"), "found 'yes', wanted bool"),
    ],
)
def test_what_does_not_belong_is_refused_with_its_place(folder, fields, match):
    error = refused(folder(family(**fields)), match)
    assert error.where.startswith("example.yml")


def test_a_name_may_exist_once_only(folder):
    place = folder(family(), "a.yml")
    folder(family(), "b.yml")
    assert refused(place, "scenario one exists twice").where == "b.yml"


@pytest.mark.parametrize("text", ["a: [", "- a\n- b\n", "just words\n"])
def test_a_file_that_is_no_family_is_refused(folder, text):
    refused(folder(text), "not YAML|not a mapping")


def test_an_empty_folder_is_refused(tmp_path):
    refused(tmp_path, "no scenarios")


def test_patterns_mean_names_each_once_in_the_order_given(folder):
    place = folder(family(axes=[[{"name": "b"}, {"name": "a"}], [{"name": ""}, {"name": "x"}]]))
    result = catalogue(place).match(["b*", "a", "?"])
    assert [scenario.name for scenario in result] == ["b", "b-x", "a"]


def test_a_pattern_that_means_nothing_is_refused(folder):
    with pytest.raises(LeaselabError, match=r"no scenario matches 'z\*'"):
        catalogue(folder(family())).match(["one", "z*"])


def test_a_familys_name_means_all_of_it_in_the_order_of_its_axes(folder):
    place = folder(family(axes=[[{"name": "b"}, {"name": "a"}]]), "other.yml")
    folder(family(axes=[[{"name": "one"}]]), "one.yml")
    assert [scenario.name for scenario in catalogue(place).match(["other"])] == ["b", "a"]
    assert [scenario.name for scenario in catalogue(place).match(["one"])] == ["one"]
    with pytest.raises(LeaselabError, match="did you mean 'other'"):
        catalogue(place).match(["othr"])


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"family": 5}, "family: value not allowed .found 5, wanted 4 or 6"),
        ({"family": "4"}, "family: value of another type"),
        ({"family": 6}, "pool does not fit the address family"),
        ({"generator": "perfdchp"}, "unknown generator 'perfdchp'; did you mean 'perfdhcp'"),
        ({"transaction": {"name": "x"}}, "loads/four.yml: transaction: .*missing"),
    ],
)
def test_a_load_that_cannot_be_is_refused(folder, fields, match):
    place = folder(family())
    (place / "loads" / "four.yml").write_text(yaml.safe_dump({**LOAD, **fields}), "utf-8")
    refused(place, match)


@pytest.mark.parametrize("key", ["generator", "transaction"])
def test_a_load_without_its_generator_or_transaction_is_refused(folder, key):
    place = folder(family())
    less = {name: value for name, value in LOAD.items() if name != key}
    (place / "loads" / "four.yml").write_text(yaml.safe_dump(less), "utf-8")
    refused(place, f"loads/four.yml: key missing .wanted {key}")


def test_a_support_is_named_by_one_part_and_varied_by_another(folder):
    place = folder(
        family(
            server={"kind": "kea", "options": {"backend": "mysql"}},
            support={"kind": "mysql", "options": {"innodb_log_mib": 64}},
            axes=[[{"name": "one"}], {"support.nodes": [1, 3]}],
        )
    )
    example = scenarios_in(place)
    assert list(example) == ["one-nodes-1", "one-nodes-3"]
    assert [item.support.kind for item in example.values()] == ["mysql", "mysql"]
    assert [item.support.options["nodes"] for item in example.values()] == [1, 3]
    assert [item.support.options["innodb_log_mib"] for item in example.values()] == [64, 64]
    assert [item.factors["nodes"] for item in example.values()] == [1, 3]


def test_options_of_a_support_without_a_kind_are_refused(folder):
    refused(folder(family(support={"options": {"nodes": 3}})), "unknown kind of support ''")
