"""Options: what help says of them, and what they refuse."""

import re

import pytest

from leaselab.cli.commands import COMMANDS, find
from leaselab.cli.main import main
from leaselab.cli.parser import help_of
from leaselab.model.errors import LeaselabError
from leaselab.model.procedures import PROCEDURES
from leaselab.report.site.site import SWEEPS

MOST_OPTIONS = 20
USUAL = {
    "--sweeps": SWEEPS,
    "--find": 100 * PROCEDURES["duel"]().find,
}
"""Defaults that another module puts in, where the option was not given."""
DUELS = ("compare", "bisect", "calibrate", "advise")
LIMIT = re.compile(r"\(default(?: of a duel)?: (-?[0-9.]+(?:,[0-9]+)*)[),;]")
OPTIONS = [
    (command, action)
    for command in COMMANDS
    for action in command.parser().options
    if action.choices or hasattr(action.type, "wanted")
]
BAD = {"--keep": ""}
"""What is no value of an option that takes any word."""
IDLE = (
    ("run --every 2", "--every", "--commits A..B"),
    ("run v4-memfile --sequential", "--sequential", "several measurements"),
    ("compare last last --find 3", "--find", "--live"),
    ("compare last last --layouts 3", "--layouts", "--live"),
    ("compare last last --profile", "--profile", "--live"),
    ("compare last last --no-profile", "--no-profile", "--live"),
    ("compare a b --live --layouts 3 --profile", "--profile", "a single layout"),
    (
        "bisect v4-memfile --good a --bad b --repo . --dry-run --layouts 3",
        "--layouts",
        "a search that measures",
    ),
    (
        "compare package package --live --threshold 3",
        "--threshold",
        "results that are archived",
    ),
    ("compare --list HEAD --junit -", "--junit", "a comparison"),
    ("calibrate --pairs 3", "--pairs", "--error-budget"),
    ("review --no-profile", "--no-profile", "--confirm"),
    ("list --scenarios --limit 3", "--limit", "a list of results"),
    ("show --parameters {}", "--parameters", "--scenario"),
    ("watch --port 3", "--port", "--html"),
    ("report --against last", "--against", "ids of results, or --release"),
)


def defaults(parser):
    """Number that help names as the default of each option that it shows."""
    by_name = {
        option.option_strings[-1]: LIMIT.search(help_of(option))
        for option in parser.shown
        if option.option_strings
    }
    return {name: match[1] for name, match in by_name.items() if match}


def test_the_help_of_run_has_at_most_twenty_options():
    shown = [option for option in find(["run"])[0].parser().shown if option.option_strings]
    assert len(shown) <= MOST_OPTIONS


@pytest.mark.parametrize("procedure", PROCEDURES)
def test_a_named_procedure_has_its_own_parameters_with_the_defaults_of_the_model(procedure):
    parser = find(["run"])[0].parser()
    parser.parse_args(["--procedure", procedure])
    of_model = PROCEDURES[procedure]()
    own = [option for option in parser.shown if option.dest.startswith("p_")]
    assert len(own) >= 7
    for action in own:
        default = getattr(of_model, action.dest.removeprefix("p_"))
        reported = help_of(action).rpartition("(default: ")[2]
        if isinstance(default, tuple):
            assert reported == f"{','.join(map(str, default))})"
        elif default is not None:
            assert re.split(r"[),]", reported)[0] == str(default).removesuffix(".0")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_number_that_help_calls_a_default_is_one(command):
    parser = command.parser()
    actions = {option.option_strings[-1]: option for option in parser.options}
    for name, message in defaults(parser).items():
        default = actions[name].default
        parameter = actions[name].dest.removeprefix("p_")
        if command.name in DUELS and parameter != actions[name].dest:
            default = getattr(PROCEDURES["duel"](), parameter)
            assert "of a duel" in help_of(actions[name]), name
        assert float(message) == USUAL.get(name, default), name


@pytest.mark.parametrize(
    ("command", "action"), OPTIONS, ids=[f"{c.name} {a.option_strings[-1]}" for c, a in OPTIONS]
)
def test_a_bad_value_is_refused_by_the_options_name_with_what_is_wanted(command, action):
    name = action.option_strings[-1]
    count = action.nargs if isinstance(action.nargs, int) else 1
    with pytest.raises(LeaselabError) as caught:
        command.parser().parse_args([name, *[BAD.get(name, "no-such-value")] * count])
    error = caught.value
    assert (error.where, error.outcome.value) == (name, 2)
    assert error.wanted or error.what.startswith("not ")
    assert error.todo


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_help_says_what_each_argument_is(command):
    assert [action.dest for action in command.parser().shown if not action.help] == []


@pytest.mark.parametrize(("words", "option", "wanted"), IDLE)
def test_an_option_without_effect_is_refused(words, option, wanted, capsys):
    assert main(words.split()) == 2
    assert capsys.readouterr().err == (f"leaselab: {option} works only with {wanted}\n")


@pytest.mark.parametrize(
    ("words", "documents"),
    [
        ("compare a b --markdown - --json", "--markdown - and --json"),
        ("compare a b --junit - --json", "--junit - and --json"),
        ("compare a b --markdown - --junit -", "--markdown - and --junit -"),
        ("review --markdown - --json", "--markdown - and --json"),
    ],
)
def test_stdout_gets_one_document(words, documents, capsys):
    assert main(words.split()) == 2
    said = f"only one document can be written to stdout (found {documents}, wanted one of"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", ["compare a b", "bisect --good a --bad b --repo ."])
def test_a_scenario_and_a_configuration_are_not_both_taken(command, tmp_path, capsys):
    place = "--scenario s" if command.startswith("compare") else "s"
    assert main([*command.split(), *place.split(), "--config", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err == (
        "leaselab: exactly one scenario must be named "
        "(found s and --config, wanted SCENARIO, or --config FILE)\n"
    )
