"""Counts of a Claude Code session for the thresholds of session notes.

Threading: a `SessionScan` belongs to one thread at a time. Failure: `FileNotFoundError`, `UserError`.
"""

from __future__ import annotations

import os
from pathlib import Path

from reverie.agents.capabilities import SessionFacts
from reverie.agents.claude.transcript import TranscriptEntry, entry_of, message_text, tool_uses, usage_of
from reverie.agents.transcript_lines import LINE_BYTES, decoded_row, reading_transcript
from reverie.text.summaries import estimate_tokens


class _Counts(SessionFacts):
    """The counts of one session, to which records are added."""

    _answer: str = ""
    _estimated: int = 0
    _counted: bool = False

    def take(self, entry: TranscriptEntry) -> None:
        """Add the record `entry` to the counts.

        Ignores a record of a sub-agent, one that is not of the user or the model, and one counted before.
        """
        if entry.side or entry.kind not in ("user", "assistant") or entry.uuid in self.after:
            return
        calls = len(tool_uses(entry))
        self.messages += 1
        self.tool_calls += calls
        self.last_uuid = entry.uuid or self.last_uuid
        if entry.uuid:
            self.after[entry.uuid] = self.tool_calls
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
        self._facts = _Counts()

    def update(self) -> SessionFacts:
        """Read the lines added since the last call and return the current counts.

        Raises `FileNotFoundError`, `UserError`.
        """
        with reading_transcript(self._path) as file:
            status = os.fstat(file.fileno())
            place = (status.st_dev, status.st_ino)
            if place != self._place or status.st_size < self._offset:
                self._place, self._offset, self._facts = place, 0, _Counts()
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
