"""Pages of a long transcript, and searches in it.

Threading: a `PagedTranscript` belongs to one thread at a time, never the GUI's. Failure: as
`agents.transcripts` says.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from reverie.agents.transcripts import Message, ReadableTranscript, ReadStatistics
from reverie.values import Struct, replace

PAGE_MESSAGES = 120
PAGE_CHARS = 150_000
_LINE_CHARS = 60

Check = Callable[[], object]
"""A function that is called repeatedly during long work and may raise to stop it."""
Wanted = Callable[[Message], bool]
"""A function that returns whether a search should find a message."""
Stamp = tuple[tuple[str, int, int], ...]
"""The name, size and modification time (ns) of each file of a transcript; for comparison only."""


class Page(Struct, frozen=True):
    """Consecutive messages of a transcript."""

    messages: tuple[Message, ...]
    """The messages, in order."""
    at_end: bool
    """Whether the last message of the transcript, at present, is among them."""
    facts: ReadStatistics
    """Counts of the lines of the transcript read so far; a copy, which does not change."""


class PagedTranscript:
    """One transcript, read page by page. `path` is its file, or the directory of its files.

    Going forward continues the reading; going back before the last page reads again from the start. A search
    reads the transcript separately, so that it does not change what `page` reads next. The argument `check`
    of each method is called for every message and may raise to stop.
    """

    def __init__(self, readable: ReadableTranscript, path: Path) -> None:
        self._readable = readable
        self._path = path
        self._reading = ReadStatistics()
        self._rest: Iterator[Message] | None = None
        self._next = 0
        self._pushed: Message | None = None

    def page(
        self, start: int, check: Check, *, messages: int = PAGE_MESSAGES, chars: int = PAGE_CHARS
    ) -> Page:
        """Return the messages from number `start` on: at most `messages`, and about `chars` characters.

        A page is not empty unless there are no messages. `check` is called while reading and may raise to
        stop.
        """
        position = self._pushed.number if self._pushed is not None else self._next
        if self._rest is None or start < position:
            self._begin()
        found: list[Message] = []
        held, at_end = 0, False
        while len(found) < messages and held < chars:
            check()
            message = self._take()
            if message is None:
                at_end = True
                break
            if message.number >= start:
                found.append(message)
                held += weight(message)
        if not at_end:
            self._pushed = self._take()
            at_end = self._pushed is None
        facts = self._facts()
        if at_end:
            self._rest = None  # what is appended later is read from the start: lines may have changed since
        return Page(tuple(found), at_end, facts)

    def last(self, check: Check, *, messages: int = PAGE_MESSAGES) -> Page:
        """Return the last page: at most `messages` messages, and about `PAGE_CHARS` characters.

        `check` is called for each message and may raise to stop.
        """
        self._begin()
        kept: deque[Message] = deque(maxlen=messages)
        while (message := self._take()) is not None:
            check()
            kept.append(message)
        self._rest = None
        chars = 0
        for place in range(len(kept) - 1, -1, -1):
            chars += weight(kept[place])
            if chars > PAGE_CHARS and place < len(kept) - 1:
                kept = deque(list(kept)[place + 1 :])
                break
        return Page(tuple(kept), True, self._facts())

    def find(self, wanted: Wanted, number: int, check: Check, *, back: bool = False) -> int | None:
        """Return the number of the next message after `number` that `wanted` accepts, wrapping around.

        `back`: search backwards from `number`. None: there is no such message. `check` is called for each
        message and may raise to stop.
        """
        nearest: int | None = None
        other: int | None = None
        for message in self._readable.messages(ReadStatistics()):
            check()
            if back and nearest is not None and message.number >= number:
                return nearest
            if not wanted(message):
                continue
            if back:
                if message.number < number:
                    nearest = message.number
                else:
                    other = message.number
            elif message.number > number:
                return message.number
            elif other is None:
                other = message.number
        return nearest if nearest is not None else other

    def stamp(self) -> Stamp:
        """Return a value that changes whenever the transcript does; empty if it does not exist."""
        with contextlib.suppress(NotADirectoryError, FileNotFoundError), os.scandir(self._path) as entries:
            names = sorted(entry.path for entry in entries if entry.name.endswith(".jsonl"))
            return tuple(each for name in names for each in _stamped(name))
        return tuple(_stamped(str(self._path)))

    def _begin(self) -> None:
        self._reading = ReadStatistics()
        self._rest = self._readable.messages(self._reading)
        self._next, self._pushed = 0, None

    def _take(self) -> Message | None:
        if self._pushed is not None:
            message, self._pushed = self._pushed, None
            return message
        found = next(self._rest, None) if self._rest is not None else None
        if found is not None:
            self._next = found.number + 1
        return found

    def _facts(self) -> ReadStatistics:
        return replace(self._reading, problems=[*self._reading.problems])


def weight(message: Message) -> int:
    """Return the cost of showing a message, in characters; each line break costs some more."""
    tool = message.tool
    texts = [message.text] if tool is None else [message.text, tool.input, tool.output or ""]
    texts += [f"{each.path}{each.note}\n" for each in message.citations]
    return sum(len(text) + _LINE_CHARS * text.count("\n") for text in texts)


def says(needle: str) -> Wanted:
    """Return a filter for messages that contain the text `needle`, ignoring case."""
    folded = needle.casefold()

    def wanted(message: Message) -> bool:
        tool = message.tool
        said = [message.text] if tool is None else [message.text, tool.name, tool.input, tool.output or ""]
        said += [f"{each.path} {each.note}" for each in message.citations]
        said += message.cited_threads
        return any(folded in text.casefold() for text in said)

    return wanted


def is_prompt(message: Message) -> bool:
    """Return whether a person typed the message."""
    return message.speaker == "user" and message.kind == "message"


def _stamped(path: str) -> Iterator[tuple[str, int, int]]:
    with contextlib.suppress(OSError):
        status = os.stat(path)  # noqa: PTH116 - called every second
        yield path, status.st_size, status.st_mtime_ns
