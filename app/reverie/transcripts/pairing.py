"""Bringing tool calls together with their results, which come later in a transcript, while streaming.

Messages leave in the order in which they came in; one that waits for its result holds back those behind it,
at most `HELD` of them. A result that comes too late leaves as a message of its own. So memory stays bounded.

Pure; one transcript, one thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from reverie.transcripts.reading import Message, ToolUse

HELD = 200


class Pairing:
    """One stream. Numbers are given here, in the order of leaving."""

    def __init__(self) -> None:
        self._held: deque[Message] = deque()
        self._waiting: dict[str, int] = {}
        self._places: dict[str, int] = {}
        self._left = 0

    def put(self, message: Message, *, call_id: str = "") -> Iterator[Message]:
        """Take a message in; with `call_id` it is a call that waits for a result."""
        self._held.append(message)
        if call_id:
            self._waiting[call_id] = self._places[call_id] = self._left + len(self._held) - 1
        yield from self._ready()

    def result(self, call_id: str, output: str, *, is_error: bool, late: Message) -> Iterator[Message]:
        """Take a result in; `late` is what to show where its call has left already or never came."""
        place = self._waiting.pop(call_id, None)
        if place is None:
            self._held.append(late)
        else:
            index = place - self._left
            message = self._held[index]
            tool = message.tool or ToolUse("?", "")
            self._held[index] = replace(
                message,
                tool=replace(tool, output=output, is_error=is_error or tool.is_error),
                cut=message.cut + late.cut,
            )
        yield from self._ready()

    def mark_failed(self, call_id: str) -> bool:
        """Mark a call as failed. False: it has left already, or never came."""
        place = self._places.get(call_id, -1)
        if place < self._left:
            return False
        message = self._held[place - self._left]
        tool = message.tool or ToolUse("?", "")
        self._held[place - self._left] = replace(message, tool=replace(tool, is_error=True))
        return True

    def rest(self) -> Iterator[Message]:
        """Everything that is still held: the transcript is at its end."""
        self._waiting.clear()
        yield from self._ready()

    def _ready(self) -> Iterator[Message]:
        while self._held:
            first = min(self._waiting.values(), default=None)
            if first is not None and first <= self._left:
                if len(self._held) <= HELD:
                    return
                self._waiting = {name: place for name, place in self._waiting.items() if place > self._left}
            message = self._held.popleft()
            yield replace(message, number=self._left)
            self._left += 1
        if len(self._places) > 2 * HELD:
            self._places = {name: place for name, place in self._places.items() if place >= self._left}
