"""Options: what help says of them, and what they refuse."""

import argparse
import re

import pytest

from leaselab.cli.commands import COMMANDS, find
from leaselab.cli.main import main
from leaselab.cli.parser import help_of
from leaselab.model.errors import LeaselabError
from leaselab.model.procedures import PROCEDURES
from leaselab.report.site.site import SWEEPS

MOST_OPTIONS = 40
USUAL = {
    "--sweeps": SWEEPS,
    "--find": 100 * PROCEDURES["duel"]().find,
}
"""Defaults that another module puts in, where the option was not given."""
LIMIT = re.compile(r"\(default: (-?[0-9.]+(?:,[0-9]+)*)[),;]")
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
    *((f"compare a b {word}", word.split()[0], "--live") for word in ("--find 3", "--profile")),
    ("compare a b --live --layouts 3 --profile", "--profile", "a single layout"),
    ("compare a b --live --layouts 2 --cost", "--cost", "a single layout"),
    ("bisect s --good a --bad b --repo . --every 2", "--every", "--cost"),
    *(
        (f"bisect s --good a --bad b --repo . --cost {word} 5", word, "what is timed")
        for word in ("--budget", "--layouts")
    ),
    ("bisect s --good a --bad b --repo . --dry-run --full", "--full", "a search that measures"),
    ("compare a b --live --threshold 3", "--threshold", "results that are archived"),
    ("compare --list HEAD --junit -", "--junit", "a comparison"),
    ("calibrate --pairs 3", "--pairs", "--error-budget"),
    ("review --no-profile", "--no-profile", "--confirm"),
    ("list --scenarios --limit 3", "--limit", "a list of results"),
    ("show --parameters {}", "--parameters", "--scenario"),
    ("watch --port 3", "--port", "--html"),
    ("report --against last", "--against", "ids of results, or --release"),
)


def test_no_command_has_many_options_and_none_is_hidden():
    for command in COMMANDS:
        options = command.parser().options
        assert len(options) <= MOST_OPTIONS, command.name
        assert argparse.SUPPRESS not in {option.help for option in options}


@pytest.mark.parametrize("procedure", PROCEDURES)
def test_help_of_a_named_procedure_lists_its_parameters_with_their_defaults(procedure, capsys):
    assert main(["run", "--procedure", procedure, "--help"]) == 0
    listed = capsys.readouterr().out.partition(f"parameters of {procedure}:\n")[2]
    shown = re.findall(r"^  (\w+)(=.*)?$", listed, re.MULTILINE)
    usual = PROCEDURES[procedure]()
    assert len(shown) >= 7
    for name, value in shown:
        default = getattr(usual, name)
        if not value:
            assert default in (None, ()), name
            continue
        text = f"{name}{value}"
        read = dict(find(["run"])[0].parser().parse_args(["--set", text]).set)[name]
        assert (tuple(read) if isinstance(read, list) else read) == default, text
    assert set(PROCEDURES[procedure].__struct_fields__) - {name for name, _ in shown} <= {
        "seed",
        "wider",
    }


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("rouns=3", "unknown parameter of max-rate 'rouns'; did you mean 'rounds'?"),
        ("rounds=3.5", "rounds is not valid (found 3.5, wanted a whole number from 1"),
        ("rounds=1_0", 'rounds is not valid (found "1_0", wanted a whole number'),
        ("reset=x", 'reset is not valid (found "x", wanted after-trial or at-start)'),
        ("rounds=true", "rounds is not valid (found true, wanted a whole number"),
        ("rounds", "--set: not NAME=VALUE, such as rounds=3 (found 'rounds')"),
        ("rounds=2 --set trim=1", "measurement: nothing would be left after trimming (found r"),
        ("rates=5", "rates is no parameter of max-rate (wanted procedure ramp)"),
        ("name=burst", "--set: name is not set by it; name the procedure with --procedure"),
        ("seed=x", "--set: seed is not set by it; leave it out"),
        ("rates=5,x --procedure ramp", 'rates is not valid (found [5, "x"], wanted 1 to 100'),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_what_is_wanted(setting, said, capsys):
    assert main(["run", "--set", *setting.split()]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_help_says_what_each_argument_is_and_its_default(command):
    parser = command.parser()
    assert [item.dest for item in (*parser.places, *parser.options) if not item.help] == []
    for option in parser.options:
        name = option.option_strings[-1]
        if number := LIMIT.search(help_of(option)):
            assert float(number[1]) == USUAL.get(name, option.default), name


def test_a_bad_value_is_refused_by_the_options_name_with_what_is_wanted():
    for command, action in OPTIONS:
        name = action.option_strings[-1]
        count = action.nargs if isinstance(action.nargs, int) else 1
        with pytest.raises(LeaselabError) as caught:
            command.parser().parse_args([name, *[BAD.get(name, "no-such-value")] * count])
        error = caught.value
        assert (error.where, error.outcome.value) == (name, 2)
        assert error.wanted or error.what.startswith("not ")
        assert error.todo


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
        ("compare a b --code-quality - --json", "--code-quality - and --json"),
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
