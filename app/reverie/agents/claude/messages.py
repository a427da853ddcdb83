"""Transcripts of Claude Code as messages for a person.

Threading, failure: as in `agents.transcripts`; a file that vanished is an empty transcript.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reverie.agents.claude.attachments import QUIET, SET_UP, sentence_of
from reverie.agents.claude.transcript import (
    TranscriptEntry,
    abandoned,
    block_text,
    blocks_of,
    entries,
    is_typed,
    message_text,
    result_text,
)
from reverie.agents.reading import as_object, as_shown, as_text, texts_of
from reverie.agents.tool_pairing import Pairing
from reverie.agents.transcripts import (
    Message,
    MessageKind,
    ReadStatistics,
    Speaker,
    ToolUse,
    shortened,
    shortened_message,
)
from reverie.values import replace

_QUIET = frozenset({"turn_duration", "stop_hook_summary", "microcompact_boundary", "away_summary"})
"""Kinds of system records that are of no interest to a reader of the conversation."""


_SET_UP_WITH = "Setup of the agent: "


class ClaudeReadable:
    """A `ReadableTranscript` of one transcript file of Claude Code, also of a sub-agent's.

    The lines of one answer of the model become one message. Text that nobody typed has the kind `context`,
    and a compaction is an event. A sub-agent's text is marked as `side`, text abandoned by a rewind as
    `undone` (formats/claude-code.md section 8). The file is read twice: first to find the messages that no
    rewind abandoned, then to make the messages.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def messages(self, reading: ReadStatistics) -> Iterator[Message]:
        with contextlib.suppress(FileNotFoundError):
            is_abandoned = abandoned(self._path)
            makes = _Messages(_config_of(self._path))
            for entry in entries(self._path, reading):
                yield from makes.of(entry, undone=is_abandoned(entry))
            yield from makes.rest()


def _config_of(path: Path) -> str:
    """Return the agent's home that contains a transcript; empty if there is none."""
    above = next((each.parent for each in path.parents if each.name == "projects"), None)
    return "" if above is None else str(above)


class _Messages:
    """A converter of transcript entries into messages, in order.

    The text of one answer of the model is yielded only after all its lines have been read.
    """

    def __init__(self, config: str) -> None:
        self._config = config
        self._pairing = Pairing()
        self._words: Message | None = None
        self._forked = False
        self._set_up: Message | None = None
        self._loaded: list[Message] = []

    def of(self, entry: TranscriptEntry, *, undone: bool) -> Iterator[Message]:
        words = self._words
        if words is not None and (entry.kind != "assistant" or words.id != entry.response):
            yield from self._flush()
        about = entry.row.get("attachment") if entry.kind == "attachment" else None
        if isinstance(about, dict) and self._is_attached(entry, about, undone):
            return
        yield from self._flush_attached()
        yield from self._fork(entry)
        if entry.kind == "assistant":
            yield from self._answer(entry, undone)
        elif entry.kind == "user":
            yield from self._user(entry, undone)
        else:
            kind, text = _said_by_system(entry)
            yield from self._put(_message(entry, "system", kind, text, undone))

    def rest(self) -> Iterator[Message]:
        yield from self._flush()
        yield from self._flush_attached()
        yield from self._pairing.rest()

    def _is_attached(self, entry: TranscriptEntry, about: dict[str, Any], undone: bool) -> bool:
        """Handle an attachment about Claude Code's setup or loaded files; return False for any other.

        `about`: the attachment in `entry`. Its message is stored, to be yielded later; neighbouring
        attachments about the setup become one message. An attachment of no interest to a person (`QUIET`) is
        dropped. `undone`: whether a rewind abandoned the entry.
        """
        kind = as_text(about.get("type"))
        if kind in QUIET:
            return True
        if kind in SET_UP:
            before = self._set_up
            if before is None:
                self._set_up = _message(entry, "system", "context", f"{_SET_UP_WITH}{SET_UP[kind]}", undone)
            else:
                self._set_up = replace(before, text=f"{before.text}, {SET_UP[kind]}")
            return True
        sentence = sentence_of(about, as_text(entry.row.get("cwd")), self._config)
        if sentence:
            self._loaded.append(_message(entry, "system", "context", sentence, undone))
        return bool(sentence)

    def _flush_attached(self) -> Iterator[Message]:
        set_up, loaded = self._set_up, self._loaded
        self._set_up, self._loaded = None, []
        for message in (set_up, *loaded):
            if message is not None:
                yield from self._put(message)

    def _fork(self, entry: TranscriptEntry) -> Iterator[Message]:
        origin = entry.row.get("forkedFrom")
        if isinstance(origin, dict) and not self._forked:
            self._forked = True
            told = f"The session continues a copy of {as_text(origin.get('sessionId')) or 'another one'}."
            yield from self._put(_message(entry, "system", "event", told, False))

    def _answer(self, entry: TranscriptEntry, undone: bool) -> Iterator[Message]:
        model = "" if entry.synthetic else as_text(entry.message.get("model"))
        for block in blocks_of(entry):
            kind = block.get("type")
            if kind in ("text", "image", "document") and entry.synthetic:
                yield from self._put(_message(entry, "system", "event", block_text(block), undone))
                continue
            if kind in ("text", "image", "document"):
                text = block_text(block)
                yield from self._say(_message(entry, "assistant", "message", text, undone, model=model))
                continue
            yield from self._flush()
            if kind in ("thinking", "redacted_thinking"):
                thought = as_text(block.get("thinking"))
                yield from self._put(_message(entry, "assistant", "reasoning", thought, undone, model=model))
            elif kind in ("tool_use", "server_tool_use"):
                tool = ToolUse(as_text(block.get("name")) or "?", _shown(block.get("input")))
                made = _message(entry, "tool", "tool", "", undone, tool=tool, model=model)
                yield from self._pairing.put(made, call_id=as_text(block.get("id")))
            elif isinstance(kind, str) and kind.endswith("_tool_result"):
                yield from self._result(entry, block, undone)

    def _user(self, entry: TranscriptEntry, undone: bool) -> Iterator[Message]:
        for block in blocks_of(entry):
            if block.get("type") == "tool_result":
                yield from self._result(entry, block, undone)
        text = message_text(entry)
        kind: MessageKind = "context"
        if entry.row.get("isCompactSummary") is True:
            kind = "summary"
        elif is_typed(entry) or (entry.side and text and entry.row.get("isMeta") is not True):
            kind = "message"
        speaker: Speaker = "system" if kind == "summary" else "user"
        yield from self._put(_message(entry, speaker, kind, text, undone))

    def _result(self, entry: TranscriptEntry, block: dict[str, Any], undone: bool) -> Iterator[Message]:
        output = result_text(block.get("content")) or as_text(entry.row.get("toolUseResult"))
        tool = ToolUse("?", "", output, block.get("is_error") is True)
        late = _message(entry, "tool", "tool", "", undone, tool=tool)
        yield from self._pairing.result(as_text(block.get("tool_use_id")), late)

    def _say(self, message: Message) -> Iterator[Message]:
        """Hold back `message`, a text of the model's answer, until all texts of the answer are read.

        The texts of one answer are joined to one message. If the answer has no id, they are not joined: the
        earlier text is yielded, and `message` is held back in its place.
        """
        before = self._words
        if before is None or not before.id:
            yield from self._flush()
            self._words = message
            return
        text, cut = shortened(f"{before.text}\n\n{message.text}" if message.text else before.text)
        self._words = replace(before, text=text, cut=before.cut + message.cut + cut)

    def _flush(self) -> Iterator[Message]:
        words, self._words = self._words, None
        if words is not None:
            yield from self._put(words)

    def _put(self, message: Message) -> Iterator[Message]:
        if message.text:
            yield from self._pairing.put(message)


def _message(
    entry: TranscriptEntry, speaker: Speaker, kind: MessageKind, text: str, undone: bool, **more: Any
) -> Message:
    facts: dict[str, Any] = {
        "id": entry.response or entry.uuid,
        "timestamp": entry.timestamp,
        "side": entry.side,
    }
    return shortened_message(speaker, kind, text, undone=undone, **facts, **more)


def _said_by_system(entry: TranscriptEntry) -> tuple[MessageKind, str]:
    row = entry.row
    if entry.kind == "attachment":
        about = row.get("attachment")
        if not isinstance(about, dict):
            return "context", ""
        words = result_text(about.get("content")) or _shown(
            {name: value for name, value in about.items() if name != "type"}
        )
        return "context", f"[{as_text(about.get('type')) or 'attachment'}]\n{words}".strip()
    subtype = as_text(row.get("subtype"))
    if entry.is_compaction:
        tokens = as_object(row.get("compactMetadata")).get("preTokens")
        size = f" It contained {tokens:,} tokens." if isinstance(tokens, int) else ""
        return "event", f"The conversation was compacted.{size}"
    if subtype in _QUIET:
        return "event", ""
    if subtype == "memory_saved":
        listed = texts_of(row.get("writtenPaths"))
        verb = as_text(row.get("verb")).lower() or "saved"
        return "event", f"Memory was {verb}: {', '.join(listed)}" if listed else f"Memory was {verb}."
    words = result_text(row.get("content")) or as_text(row.get("error"))
    if subtype == "api_error":
        return "event", f"The service failed: {words}" if words else "The service failed."
    return "event", words


def _shown(value: Any) -> str:
    return "" if value is None or value == {} else as_shown(value)
