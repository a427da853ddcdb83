"""Ctrl+C while a command runs."""

from __future__ import annotations

import signal

from reverie.cli.runs import interruptible


def test_ctrl_c_sets_the_event_however_often_and_what_was_before_comes_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruptible() as cancel:
        assert not cancel.is_set()
        signal.raise_signal(signal.SIGINT)
        assert cancel.wait(10)
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_in_the_midst_of_asking_the_event_does_not_hang() -> None:
    with interruptible() as cancel:
        with cancel._cond:  # type: ignore[attr-defined]
            signal.raise_signal(signal.SIGINT)
        assert cancel.wait(10)


def test_without_ctrl_c_nothing_is_cancelled() -> None:
    with interruptible() as cancel:
        pass
    assert not cancel.is_set()
