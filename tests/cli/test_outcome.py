"""How the end of a sweep is reported."""

import msgspec
import pytest
from tests.examples import archive_result, example_result, invalid_result

from leaselab.archive.store import Store
from leaselab.cli.commands import find
from leaselab.cli.outcome import show_sealed
from leaselab.model.errors import Outcome, invalid_measurement
from leaselab.model.record import TOO_FEW_CLIENTS
from leaselab.report.steps import after_sweep, step_lines
from leaselab.run.experiment import Ended


@pytest.fixture
def archived(tmp_path):
    """Archives a record; returns the store and the result's place."""

    def archive(record):
        archive_result(tmp_path, record)
        store = Store(tmp_path)
        return store, store.place(record.id)

    return archive


def test_what_went_wrong_is_reported_once_and_last(archived, capsys):
    record = invalid_result()
    store, place = archived(record)
    error = invalid_measurement(record.reasons[0].text)
    assert show_sealed(store, Ended(error, place), as_json=False) is Outcome.INVALID
    captured = capsys.readouterr()
    assert (captured.out + captured.err).count(error.what) == 1
    assert captured.err.endswith(f"\nleaselab: {error.what}\n")
    assert "generator-limited" in captured.out


def test_a_doubt_of_a_good_result_stands_with_it(archived, capsys):
    """There is no message after it that could say so."""
    doubt = {"word": "unsteady", "text": "the machine moved"}
    store, place = archived(example_result(reasons=[doubt]))
    assert show_sealed(store, Ended(None, place), as_json=False) is Outcome.OK
    captured = capsys.readouterr()
    assert "unsteady: the machine moved" in captured.out
    assert "leaselab: " not in captured.err


@pytest.mark.parametrize(
    ("record", "second"),
    [(example_result(), "compare previous ID"), (invalid_result(), "lab check")],
)
def test_three_commands_say_how_to_go_on(archived, capsys, record, second):
    store, place = archived(record)
    show_sealed(store, Ended(None, place), as_json=False)
    lines = capsys.readouterr().err.splitlines()
    commands = [line.strip().split("  ")[0].replace(record.id, "ID") for line in lines]
    assert commands == [
        "next:",
        "./leaselab show --all ID",
        f"./leaselab {second}",
        "./leaselab rerun ID",
    ]
    for command in commands[1:]:
        result, arguments = find(command.split()[1:])
        result.parser().parse_args(arguments)  # raises for what the command does not take


def test_next_commands_fit_a_narrow_terminal_and_a_load_of_too_few_clients_is_not_repeated():
    record = example_result()
    assert max(map(len, step_lines(after_sweep(record)).splitlines())) > 80
    lines = step_lines(after_sweep(record), 80).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1] == f"  ./leaselab show --all {record.id}"
    record = invalid_result()
    few = msgspec.structs.replace(record.reasons[0], word=TOO_FEW_CLIENTS)
    words = step_lines(after_sweep(msgspec.structs.replace(record, reasons=(few,))))
    assert [line.split()[1] for line in words.splitlines()[1:]] == ["show"]
