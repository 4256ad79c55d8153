"""Operations of the server contract: what is timed, and what an effect is."""

import io
import json
from contextlib import suppress

import pytest
from tests.contracts import contract_fixture

operations = contract_fixture("contract", "leaselab_contract.operations")


changed = contract_fixture("contract", "leaselab_contract.changed")
sampling = contract_fixture("contract", "leaselab_contract.sampling")


def test_counts_rise_over_the_restarts_of_what_counts(sampling):
    rising = sampling.Rising()
    counts = [rising.of("ack", count) for count in (3, 5, 1, 4, None, 2)]
    assert counts == [3, 5, 6, 9, None, 11]


def server_of(operations, *steps):
    """A server with one operation of these steps: what it yields, or an error."""

    class Server:
        did = ()

        @operations.operation("turn", "it has turned")
        def turn(self):
            """Turn
            it."""
            self.did += ("prepared",)
            yield
            for step in steps:
                if isinstance(step, Exception):
                    raise step
                yield step
            self.did += ("ended",)

        @operations.operation("never", "", lambda _server: False)
        def never(self):
            """Not of this one."""

    return Server()


def follow(operations, server, lines, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    operations.follow(server)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_each_line_is_an_operation_that_says_when_it_took_effect(
    operations, monkeypatch, capsys
):
    server = server_of(operations, False, False, True, False)
    first, *answers = follow(operations, server, "turn\nturn\n", monkeypatch, capsys)
    assert first == {"operations": {"turn": {"does": "Turn it.", "seen": "it has turned"}}}
    assert server.did == ("prepared", "ended") * 2
    for answer in answers:
        assert (answer["name"], answer["why"]) == ("turn", "")
        assert answer["asked"] <= answer["begun"]
        assert answer["begun"] + 2 * operations.POLL_S <= answer["effect"] <= answer["ended"]


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([False], "it ended without an effect"),
        ([OSError("no  socket")], "no socket"),
        ([False, ValueError("error: no such zone")], "error: no such zone"),
    ],
)
def test_an_operation_without_an_effect_says_why(operations, steps, why):
    server = server_of(operations, *steps)
    answer = operations.carried_out(server.turn())
    assert (answer["effect"], answer["why"]) == (None, why)


def test_an_effect_that_does_not_come_is_not_waited_for_for_ever(operations):
    server = server_of(operations, *[False] * 100_000)
    answer = operations.carried_out(server.turn(), 0.05)
    assert (answer["effect"], answer["why"]) == (None, "no effect was seen within 0.05 s")
    assert server.did == ("prepared",)


def test_a_preparation_that_fails_says_why_as_well(operations):
    def steps():
        raise OSError("no list")
        yield

    assert operations.carried_out(steps())["why"] == "no list"
    with pytest.raises(operations.ContractError, match="no list"):
        operations.prepared(steps())


def test_a_name_that_is_none_ends_the_verb(operations, monkeypatch, capsys):
    with pytest.raises(Exception, match=r"no operation .never."):
        follow(operations, server_of(operations), "never\n", monkeypatch, capsys)


def test_files_are_changed_for_a_while_only(changed, tmp_path):
    file, new = tmp_path / "a.zone", tmp_path / "b"
    file.write_text("one\n")
    file.chmod(0o640)
    for change, path, there in (
        (changed.appended(file, "two\n"), file, "one\ntwo\n"),
        (changed.replaced(file, "three\n"), file, "three\n"),
        (changed.beside(new, "four\n"), new, "four\n"),
    ):
        with suppress(KeyError), change:
            assert path.read_text() == there
            assert file.stat().st_mode & 0o777 == 0o640
            raise KeyError
    assert [(path, path.read_text()) for path in tmp_path.iterdir()] == [(file, "one\n")]
