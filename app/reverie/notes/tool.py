"""What an update of the notes may do: edit one file, and nothing else.

`NotesDraft` is the copy a run works on. Every edit is an exact text replacement; the draft remembers them, so
that they are made again on what somebody else wrote meanwhile. `edit_tool` is the only tool there is; a path
other than that of the notes, letter for letter, is refused, and the refusal stands in the trace. A secret
that the notes do not hold already never gets into them.

Not thread-safe: one run, one draft. Failure: `StoreError`, from which a model can recover.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from reverie.agent.messages import ToolSpec
from reverie.agent.tools import FunctionTool, ToolOutcome
from reverie.errors import StoreError
from reverie.notes.sections import TOTAL_TOKENS, rough_tokens, structure_break
from reverie.text.redact import find_secrets

MOST_TOKENS = 2 * TOTAL_TOKENS
"""No edit may make the notes longer than this; what is above the limits is only told."""
EDIT = "Edit"
_SHOWN_CHARS = 200

Change = Callable[[str], str]
"""Makes a new text of the one that is there; raises `StoreError` where that is not possible."""


class NotesDraft:
    """The notes as a run sees and leaves them. `read` gives the bytes of the file now, None for no file;
    `template` is what a new file begins with."""

    def __init__(self, read: Callable[[], bytes | None], template: str) -> None:
        self._read = read
        self._template = template
        self._before = read()
        self._base = self._text = self._decoded(self._before)
        self._changes: list[Change] = []
        self.original = self._text
        """What the notes said when the run first read them."""

    @property
    def text(self) -> str:
        return self._text

    @property
    def before(self) -> bytes | None:
        """The bytes on disk that the draft builds on."""
        return self._before

    @property
    def after(self) -> bytes:
        return self._text.encode("utf-8")

    @property
    def changed(self) -> bool:
        return self._text != self._base

    @property
    def broken(self) -> str:
        """What the edits broke of the structure, as a sentence; empty for nothing."""
        return structure_break(self._base, self._text)

    def refresh(self) -> None:
        """Look at the disk again; what was edited on top of an older version is edited again. Raises
        `StoreError` where that is not possible."""
        now = self._read()
        if now == self._before:
            return
        changes, self._changes = self._changes, []
        self._before, self._base = now, self._decoded(now)
        text = self._text = self._base
        for change in changes:
            try:
                text = change(text)
            except StoreError:
                raise _refused(
                    "The notes changed meanwhile, and the earlier edit no longer fits.",
                    "Run it again.",
                ) from None
        self._text, self._changes = text, changes

    def edit(self, change: Change) -> None:
        """One change, on what stands on disk now. Raises `StoreError`."""
        self.refresh()
        text = change(self._text)
        tokens = rough_tokens(text)
        if tokens > MOST_TOKENS and len(text) > len(self._text):
            raise _refused(
                f"The notes would hold about {tokens} tokens; at most {TOTAL_TOKENS} are read.",
                "Write less, and shorten what is there.",
            )
        if not _secrets(text) <= _secrets(self._base):
            raise _refused("new_string holds a key, password or token.", "Write it down without.")
        self._text = text
        self._changes.append(change)

    def _decoded(self, data: bytes | None) -> str:
        if data is None:
            return self._template
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise StoreError(
                "The session notes are not text.",
                cause="They hold bytes that are no UTF-8, and are never rewritten then.",
                next_step="Repair the file by hand.",
                reason="not-text",
            ) from None
        if not text.strip():
            raise StoreError(
                "The session notes are empty.",
                cause="A file that is there is never filled from the template again.",
                next_step="Delete the file, then update the notes again.",
                reason="empty-notes",
            )
        return text


def edit_tool(draft: NotesDraft, path: str) -> FunctionTool:
    """The one tool. `path`: the only file it edits."""

    def call(arguments: Mapping[str, Any]) -> ToolOutcome:
        named = str(arguments["file_path"])
        if named != path:
            raise StoreError(
                f"{named[:_SHOWN_CHARS]!r} was not edited.",
                cause="Only the session notes may be.",
                next_step=f"Give file_path exactly as {path!r}.",
                reason="other-file",
            )
        change = partial(
            replaced,
            old=str(arguments["old_string"]),
            new=str(arguments["new_string"]),
            everywhere=arguments.get("replace_all") is True,
        )
        draft.edit(change)
        return ToolOutcome("Edited.", wrote=True)

    text = {"type": "string"}
    spec = ToolSpec(
        EDIT,
        "Edit the session notes: replace old_string, exactly as it stands there once, by new_string.",
        {
            "type": "object",
            "properties": {
                "file_path": text,
                "old_string": text,
                "new_string": text,
                "replace_all": {"type": "boolean"},
            },
            "required": ["file_path", "old_string", "new_string"],
        },
    )
    return FunctionTool(spec, call, frozenset({"old_string", "new_string"}))


def replaced(text: str, *, old: str, new: str, everywhere: bool = False) -> str:
    """`text` after one edit; what is put in is literal. Raises `StoreError`."""
    if not old:
        raise _refused("An empty old_string replaces nothing.", "Name the text to be replaced exactly.")
    if old not in text:  # with the line ends of the file
        newline = "\r\n" if "\r\n" in text else "\n"
        old, new = (part.replace("\r\n", "\n").replace("\n", newline) for part in (old, new))
    found = text.count(old)
    if not found:
        raise _refused("old_string is not in the notes.", "Copy the text exactly as it stands there.")
    if found > 1 and not everywhere:
        raise _refused(
            f"old_string stands {found} times in the notes.",
            "Make it longer until it is unique, or give replace_all.",
        )
    return text.replace(old, new)


def _secrets(text: str) -> set[str]:
    return {text[secret.start : secret.end] for secret in find_secrets(text)}


def _refused(cause: str, next_step: str) -> StoreError:
    return StoreError("Nothing was edited.", cause=cause, next_step=next_step, reason="notes-edit")
