"""Counts of a Claude Code session for the thresholds of session notes.

Threading: a `SessionScan` belongs to one thread at a time. Failure: `FileNotFoundError`, `UserError`.
"""

from __future__ import annotations

import os
from pathlib import Path

from reverie.agents.claude.transcript import TranscriptEntry, entry_of, message_text, tool_uses, usage_of
from reverie.agents.transcript_lines import LINE_BYTES, decoded_row, reading_transcript
from reverie.text.summaries import estimate_tokens
from reverie.values import Struct, field


class SessionFacts(Struct):
    """Counts of one session that decide whether its notes are due.

    Only the main thread is counted, not sub-agents.
    """

    messages: int = 0
    """The number of records of the user and of the model, including tool results."""
    context_tokens: int = 0
    """The tokens of the whole context with the last answer, estimated if the service does not count them."""
    last_uuid: str = ""
    """The id of the last counted record; empty if there is none."""
    calls_tools: bool = False
    """Whether the last answer asks for tools, so that the model is in the middle of its work."""
    cwd: str = ""
    """The directory in which the session began."""
    tool_calls: int = 0
    _after: dict[str, int] = field(default_factory=dict)
    _answer: str = ""
    _estimated: int = 0
    _counted: bool = False

    def tool_calls_since(self, uuid: str | None) -> int:
        """Return the number of tool calls after the message `uuid`; None: the number of all calls.

        0 if there is no message with this id.
        """
        if uuid is None:
            return self.tool_calls
        before = self._after.get(uuid)
        return 0 if before is None else self.tool_calls - before

    def take(self, entry: TranscriptEntry) -> None:
        """Add the record `entry` to the counts.

        Ignores a record of a sub-agent, one that is not of the user or the model, and one counted before.
        """
        if entry.side or entry.kind not in ("user", "assistant") or entry.uuid in self._after:
            return
        if not self.cwd and isinstance(cwd := entry.row.get("cwd"), str):
            self.cwd = cwd
        calls = len(tool_uses(entry))
        self.messages += 1
        self.tool_calls += calls
        self.last_uuid = entry.uuid or self.last_uuid
        if entry.uuid:
            self._after[entry.uuid] = self.tool_calls
        self._measure(entry)
        if entry.kind == "assistant":
            waits = entry.message.get("stop_reason") == "tool_use" or calls > 0
            same = bool(entry.response) and entry.response == self._answer
            self.calls_tools = waits or (same and self.calls_tools)
            self._answer = entry.response

    def _measure(self, entry: TranscriptEntry) -> None:
        usage = usage_of(entry)
        if usage is not None and usage.context:
            self.context_tokens, self._counted = usage.context, True
        elif not self._counted:  # a service that does not count tokens: estimate them from the text
            self._estimated += estimate_tokens(message_text(entry))
            self.context_tokens = self._estimated


class SessionScan:
    """An incremental reader of one transcript, which counts messages, tokens and tool calls.

    Later calls read only added lines. A file that was replaced or became shorter is read again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place: tuple[int, int] = (0, 0)
        self._offset = 0
        self._facts = SessionFacts()

    def update(self) -> SessionFacts:
        """Read the lines added since the last call and return the current counts.

        Raises `FileNotFoundError`, `UserError`.
        """
        with reading_transcript(self._path) as file:
            status = os.fstat(file.fileno())
            place = (status.st_dev, status.st_ino)
            if place != self._place or status.st_size < self._offset:
                self._place, self._offset, self._facts = place, 0, SessionFacts()
            file.seek(self._offset)
            while line := file.readline(LINE_BYTES):
                whole = line.endswith(b"\n")
                if not whole and len(line) < LINE_BYTES and decoded_row(line) is None:
                    break  # still being written
                row = decoded_row(line) if line.strip() else None
                entry = None if row is None else entry_of(row)
                if entry is not None:
                    self._facts.take(entry)
                self._offset += len(line)
        return self._facts
