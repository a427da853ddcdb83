"""Pairing of tool calls with their results while a transcript is streamed.

Threading: a `Pairing` belongs to one reader.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from reverie.agents.transcripts import Message, ToolUse
from reverie.values import replace

HELD = 200
_NO_TOOL = ToolUse("?", "")


class Pairing:
    """A queue that adds the result of each tool call to the message of the call, while a transcript is read.

    Results come later than their calls. Messages are yielded in the order in which they were put. A call that
    waits for its result holds back at most `HELD` other messages, so that memory is bounded; a result that
    comes later becomes a message of its own. Messages are numbered when they are yielded.
    """

    def __init__(self) -> None:
        self._held: deque[Message] = deque()
        self._waiting: dict[str, int] = {}
        self._places: dict[str, int] = {}
        self._left = 0

    def put(self, message: Message, *, call_id: str = "") -> Iterator[Message]:
        """Add a message; yield the messages that wait for no result.

        `call_id`: the id of the tool call in the message, which then waits for its result; empty: there is no
        call in it, or no result will come.
        """
        self._held.append(message)
        if call_id:
            self._waiting[call_id] = self._places[call_id] = self._left + len(self._held) - 1
        yield from self._ready()

    def result(self, call_id: str, late: Message) -> Iterator[Message]:
        """Add the result of the call `call_id`; yield the messages that wait for no result.

        `late`: a message with the result alone, to yield if the message of the call was yielded already, or
        never came.
        """
        place = self._waiting.pop(call_id, None)
        if place is None:
            self._held.append(late)
        else:
            index = place - self._left
            message, result = self._held[index], late.tool or _NO_TOOL
            tool = message.tool or _NO_TOOL
            tool = replace(tool, output=result.output, is_error=result.is_error or tool.is_error)
            self._held[index] = replace(message, tool=tool, cut=message.cut + late.cut)
        yield from self._ready()

    def mark_failed(self, call_id: str) -> bool:
        """Mark the call `call_id` as failed; return whether this was possible.

        False if the message of the call was yielded already or never came.
        """
        place = self._places.get(call_id, -1)
        if place < self._left:
            return False
        message = self._held[place - self._left]
        self._held[place - self._left] = replace(
            message, tool=replace(message.tool or _NO_TOOL, is_error=True)
        )
        return True

    def rest(self) -> Iterator[Message]:
        """Yield all messages that are still held back, at the end of the transcript."""
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
