"""Interrupts that wait for the end of a block."""

import signal
import threading

import pytest

from leaselab.lab.hosts import interrupts
from leaselab.lab.hosts.interrupts import held_back, interrupter


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def number(request):
    """A signal that raises KeyboardInterrupt."""
    before = signal.signal(request.param, signal.default_int_handler)
    yield request.param
    signal.signal(request.param, before)


def test_an_interrupt_waits_for_the_end_of_the_block(number):
    done = []

    def block():
        with held_back():
            signal.raise_signal(number)
            done.append("the rest of the block")

    with pytest.raises(KeyboardInterrupt):
        block()
    assert done
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


def test_the_blocks_own_error_comes_first(number):
    def block():
        with held_back():
            signal.raise_signal(number)
            raise LookupError

    with pytest.raises(LookupError):
        block()
    assert signal.getsignal(number) is signal.default_int_handler


def test_an_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with held_back():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_goes_on_as_it_is():
    seen = []

    def work():
        with held_back():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]


@pytest.fixture
def wait(monkeypatch):
    """The same handler for two signals; return a function that lets time pass (s)."""
    clock = [0.0]
    monkeypatch.setattr(interrupts.time, "monotonic", lambda: clock[0])
    numbers = (signal.SIGTERM, signal.SIGHUP)
    handler = interrupter()
    before = [signal.signal(item, handler) for item in numbers]

    def pass_time(seconds):
        clock[0] += seconds

    yield pass_time
    for number, old in zip(numbers, before, strict=True):
        signal.signal(number, old)


def test_signals_that_come_together_are_one_interrupt_and_a_later_one_is_another(wait):
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGHUP)
    wait(interrupts.SAME_S)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
