"""Questions to disks, each on its own: one that hangs holds up no other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from reverie.files.directory import MOST_AT_ONCE, ask_each


@pytest.fixture
def hang() -> Iterator[Callable[[], int]]:
    """A question without an answer until the test is over."""
    over = threading.Event()

    def wait() -> int:
        over.wait(30)
        return 0

    yield wait
    over.set()
    for thread in threading.enumerate():
        if thread.name == "reverie-ask":
            thread.join(30)


def test_answers_come_in_the_order_of_the_questions() -> None:
    questions = {name: (lambda n=number: n) for number, name in enumerate("abcdefghijklmnopqrstuvwxyz")}
    assert list(ask_each(questions, 5.0).items()) == [(name, ask()) for name, ask in questions.items()]
    assert ask_each({}, 5.0) == {}


def test_one_that_hangs_is_left_out_and_the_others_answer(hang: Callable[[], int]) -> None:
    began = time.monotonic()
    assert ask_each({"hung": hang, "good": lambda: 1, "fine": lambda: 2}, 0.2) == {"good": 1, "fine": 2}
    assert time.monotonic() - began < 5.0


def test_more_that_hang_than_threads_keep_no_answer_away(hang: Callable[[], int]) -> None:
    questions: dict[str, Callable[[], int]] = {f"hung {n}": hang for n in range(MOST_AT_ONCE)}
    assert ask_each({**questions, "good": lambda: 1}, 0.2) == {"good": 1}


def test_what_a_question_raises_is_raised_once_the_others_are_settled() -> None:
    asked = threading.Event()

    def bad() -> int:
        raise ZeroDivisionError("a bug")

    def good() -> int:
        asked.set()
        return 1

    with pytest.raises(ZeroDivisionError):
        ask_each({"bad": bad, "good": good}, 5.0)
    assert asked.is_set()
