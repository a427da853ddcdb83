"""What a writer may do: `memory_read`, `memory_write`, `no_new_memories`, over one file
(formats/mux.md section 14).

`Draft` is the copy a run works on (`runs.draft`); every write is an exact text replacement.

Not thread-safe: one run, one draft. Failure: `StoreError`, from which a model can recover.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from reverie.agent.messages import ToolSpec
from reverie.agent.tools import FunctionTool, Tool, ToolOutcome
from reverie.errors import MendableError, StoreError
from reverie.runs.draft import FileDraft, in_newline_style

ALL = -1


@dataclass(frozen=True, slots=True)
class Replacement:
    """One write: `count` occurrences, -1 for all of them."""

    old: str
    new: str
    count: int = 1


def replaced(text: str, change: Replacement) -> str:
    """`text` after one write. The text put in is literal. Raises `StoreError`."""
    if change.count != ALL and change.count < 1:
        raise _refused("replace_count must be a positive number, or -1 for every occurrence.")
    if not change.old:
        if change.count != 1:
            raise _refused("An empty old_string goes with replace_count 1 only.")
        if text:
            raise _refused(
                "An empty old_string is for an empty file only.", "Name the text to be replaced exactly."
            )
        return change.new
    old, new = in_newline_style(text, change.old, change.new)
    found = text.count(old)
    if not found:
        raise _refused(
            "old_string is not in the memory file.",
            "Call memory_read and copy the text exactly as it stands.",
        )
    if change.count == 1 and found > 1:
        raise _refused(
            f"old_string stands {found} times in the memory file.",
            "Make it longer until it is unique, or give replace_count.",
        )
    if change.count > found:
        raise _refused(
            f"replace_count is {change.count}, but old_string stands there {found} times only.",
            "Give a smaller replace_count, or -1 for every occurrence.",
        )
    return text.replace(old, new, change.count)


class Draft(FileDraft):
    """The memory file as a run sees and leaves it."""

    def __init__(self, read: Callable[[], bytes | None], *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        super().__init__(read)

    def _decoded(self, data: bytes | None) -> str:
        try:
            return (data or b"").decode("utf-8")
        except UnicodeDecodeError:
            raise StoreError(
                "The memory file is not text.",
                cause="It holds bytes that are no UTF-8, and is never rewritten then.",
                next_step="Repair it by hand.",
                reason="not-text",
            ) from None

    def _require_room(self, text: str) -> None:
        size = len(text.encode("utf-8"))
        if size > self._max_bytes:
            raise _refused(
                f"The memory file would hold {size:,} bytes; at most {self._max_bytes:,} are kept.",
                "Shorten what is in it first.",
            )

    def _no_longer_fits(self) -> StoreError:
        return _refused(
            "The memory file changed meanwhile, and the earlier change no longer fits.",
            "Call memory_read, then make the change again if it is still needed.",
        )

    def _holds_a_secret(self) -> StoreError:
        return _refused(
            "new_string holds a key, password or token.", "Write it down without; memories hold no secrets."
        )


class WriterTools:
    """The three tools over one draft. `wrote` and `declined` say what came of the attempt at work;
    `new_attempt` forgets a failed write, so that a no-op counts again."""

    def __init__(self, draft: Draft, memory_id: str) -> None:
        self._draft = draft
        self._memory_id = memory_id
        self._write_failed = False
        self.wrote = False
        self.declined = False

    @property
    def satisfied(self) -> bool:
        """Memory was written, or the model said that there is nothing to write."""
        return self.wrote or self.declined

    def new_attempt(self) -> None:
        """What failed before does not count any more."""
        self._write_failed = False

    def tools(self) -> tuple[Tool, ...]:
        """The three tools as a model sees them."""
        text = {"type": "string"}
        return (
            FunctionTool(
                ToolSpec(
                    "memory_read",
                    "The memory file as it stands now.",
                    {"type": "object", "properties": {}},
                ),
                self._read_call,
            ),
            FunctionTool(
                ToolSpec(
                    "memory_write",
                    "Change the memory file: replace old_string, exactly as it stands there, by new_string. "
                    "replace_count: how many occurrences, 1 unless given, -1 for all. An empty old_string "
                    "is for a file that is empty or not there yet.",
                    {
                        "type": "object",
                        "properties": {
                            "old_string": text,
                            "new_string": text,
                            "replace_count": {"type": "integer"},
                        },
                        "required": ["old_string", "new_string"],
                    },
                ),
                self._write_call,
                frozenset({"old_string", "new_string"}),
            ),
            FunctionTool(
                ToolSpec(
                    "no_new_memories",
                    "Say that there is nothing to write down.",
                    {"type": "object", "properties": {}},
                ),
                self._decline_call,
            ),
        )

    def _read_call(self, _arguments: Mapping[str, Any]) -> ToolOutcome:
        self._draft.refresh()
        if not self._draft.exists:
            return ToolOutcome(f"{self._memory_id}: there is no memory file yet.")
        return ToolOutcome(self._draft.text)

    def _write_call(self, arguments: Mapping[str, Any]) -> ToolOutcome:
        count = arguments.get("replace_count")
        change = Replacement(
            str(arguments["old_string"]), str(arguments["new_string"]), 1 if count is None else int(count)
        )
        try:
            self._draft.edit(partial(replaced, change=change))
        except MendableError:
            self._write_failed = True
            raise
        self._write_failed = False
        self.wrote = True
        return ToolOutcome("Written.", wrote=True)

    def _decline_call(self, _arguments: Mapping[str, Any]) -> ToolOutcome:
        if self._write_failed:
            return ToolOutcome(
                "This does not count, because the last memory_write failed. Make it again as the error says.",
                is_error=True,
            )
        self.declined = True
        return ToolOutcome("Noted: nothing to write down.")


def _refused(cause: str, next_step: str = "") -> StoreError:
    return StoreError("Nothing was written.", cause=cause, next_step=next_step, reason="memory-write")
