"""Operations of the server contract: what is timed, and what an effect is."""

import io
import json
from contextlib import suppress
from pathlib import Path

import pytest
from tests.contracts import contract_module
from tests.server_kinds import KINDS, deployed


@pytest.fixture(scope="module")
def operations():
    with contract_module("contract", "leaselab_contract.operations") as module:
        yield module


@pytest.fixture(scope="module")
def changed():
    with contract_module("contract", "leaselab_contract.changed") as module:
        yield module


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


def test_a_name_that_is_none_ends_the_verb(operations, monkeypatch, capsys):
    with pytest.raises(Exception, match=r"no operation .never."):
        follow(operations, server_of(operations), "never\n", monkeypatch, capsys)


def test_files_are_changed_for_a_while_only(changed, tmp_path):
    file = tmp_path / "a.zone"
    file.write_text("one\n")
    file.chmod(0o640)
    with suppress(KeyError), changed.appended(file, "two\n"):
        assert file.read_text() == "one\ntwo\n"
        raise KeyError
    with suppress(KeyError), changed.replaced(file, "three\n"):
        assert (file.read_text(), file.stat().st_mode & 0o777) == ("three\n", 0o640)
        raise KeyError
    with suppress(KeyError), changed.beside(tmp_path / "b", "four\n"):
        assert (tmp_path / "b").read_text() == "four\n"
        raise KeyError
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [
        ("a.zone", "one\n")
    ]


def test_a_pause_stops_the_server_and_lets_it_go_on(tmp_path, monkeypatch, capsys):
    with deployed(KINDS["nsd"], tmp_path, monkeypatch) as variant:
        pid = variant.server().start()["pid"]
        monkeypatch.setattr("sys.stdin", io.StringIO("pause-100ms\n"))
        variant.server().operate()
        known, answer = map(json.loads, capsys.readouterr().out.splitlines())
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    assert {"pause-100ms", "pause-1s", "pause-5s"} <= known["operations"].keys()
    assert answer["begun"] <= answer["effect"] < answer["ended"]
    assert answer["ended"] - answer["begun"] >= 0.1
    assert state != "T"
