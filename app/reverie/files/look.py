"""Whether the disks of some places answer, asked without waiting for them.

A share that is gone keeps whoever looks at it waiting in the kernel, for hours; so a look has a thread of its
own, which may hang. A place that is gone is an answer.

`ask_each` asks any questions that way, each on its own: one that hangs holds up no other.

Threading: any thread makes and asks one. Failure: none; what cannot be looked at has answered. What a
question raises is raised again by `ask_each`, once all are settled.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

K = TypeVar("K")
T = TypeVar("T")

MOST_AT_ONCE = 16
"""Threads that ask at the same time; one that hangs is replaced."""
MOST_LIMITS = 3
"""`ask_each` gives up after this many times its limit, however many questions are left."""


class Look:
    """One look at some places, in order. `at` is the one whose disk has not answered yet, None once all have;
    `answered` is set then."""

    def __init__(self, places: Iterable[Path]) -> None:
        self._places = tuple(places)
        self.at: Path | None = self._places[0] if self._places else None
        self.answered = threading.Event()
        self._began = time.monotonic()
        threading.Thread(target=self._run, name="reverie-look", daemon=True).start()

    @property
    def took_s(self) -> float:
        """How long it has taken so far, in seconds."""
        return time.monotonic() - self._began

    def _run(self) -> None:
        for place in self._places:
            self.at = place
            with contextlib.suppress(OSError, ValueError):
                os.stat(place)  # noqa: PTH116 - said as it is
        self.at = None
        self.answered.set()


def ask_each(questions: Mapping[K, Callable[[], T]], limit_s: float) -> dict[K, T]:
    """The answer to each question that came within `limit_s` of being asked, in the order of the questions.
    One without an answer is left out; its thread waits on and is left behind."""
    asking = _Asking(questions)
    asking.wait(limit_s)
    return asking.settled()


class _Asking(Generic[K, T]):
    """Questions under way. Everything but the questions happens under the lock."""

    def __init__(self, questions: Mapping[K, Callable[[], T]]) -> None:
        self._questions = questions
        self._left: list[K] = list(questions)[::-1]
        self._since: dict[K, float] = {}
        self._answers: dict[K, T] = {}
        self._errors: list[BaseException] = []
        self._changed = threading.Condition()
        self._over = False
        self._threads: list[threading.Thread] = []

    def wait(self, limit_s: float) -> None:
        """Until each question is answered or took too long."""
        end = time.monotonic() + MOST_LIMITS * limit_s
        for _ in range(min(MOST_AT_ONCE, len(self._left))):
            self._hire()
        silent: set[K] = set()
        with self._changed:
            while True:
                now = time.monotonic()
                late = {key for key, since in self._since.items() if now - since >= limit_s} - silent
                silent |= late
                for _ in late if self._left else ():
                    self._hire()
                waiting = [since for key, since in self._since.items() if key not in silent]
                if now >= end or not (self._left or waiting):
                    silent |= set(self._since)
                    break
                self._changed.wait(
                    min(end, *(since + limit_s for since in waiting)) - now if waiting else 0.01
                )
            self._over = True
        for thread in () if silent else self._threads:
            thread.join()  # they only end

    def settled(self) -> dict[K, T]:
        """What was answered until now."""
        with self._changed:
            if self._errors:
                raise self._errors[0]
            return {key: self._answers[key] for key in self._questions if key in self._answers}

    def _hire(self) -> None:
        thread = threading.Thread(target=self._run, name="reverie-ask", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._over or not self._left:
                    return
                key = self._left.pop()
                self._since[key] = time.monotonic()
            try:
                answer = self._questions[key]()
            except BaseException as error:  # noqa: BLE001 - raised again where it was asked
                with self._changed:
                    self._errors.append(error)
                    self._done(key)
                continue
            with self._changed:
                self._answers[key] = answer
                self._done(key)

    def _done(self, key: K) -> None:
        del self._since[key]
        self._changed.notify()
