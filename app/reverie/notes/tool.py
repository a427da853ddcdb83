"""What an update of the notes may do: edit one file, and nothing else.

`NotesDraft` is the copy a run works on (`runs.draft`); every edit is an exact text replacement. `edit_tool`
is the only tool there is; a path other than that of the notes, letter for letter, is refused, and the refusal
stands in the trace.

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
from reverie.runs.draft import FileDraft, in_newline_style

MOST_TOKENS = 2 * TOTAL_TOKENS
"""No edit may make the notes longer than this; what is above the limits is only told."""
EDIT = "Edit"
_SHOWN_CHARS = 200


class NotesDraft(FileDraft):
    """The notes as a run sees and leaves them. `template` is what a new file begins with."""

    def __init__(self, read: Callable[[], bytes | None], template: str) -> None:
        self._template = template
        super().__init__(read)

    @property
    def broken(self) -> str:
        """What the edits broke of the structure, as a sentence; empty for nothing."""
        return structure_break(self._base, self._text)

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

    def _require_room(self, text: str) -> None:
        tokens = rough_tokens(text)
        if tokens > MOST_TOKENS:
            raise _refused(
                f"The notes would hold about {tokens} tokens; at most {TOTAL_TOKENS} are read.",
                "Write less, and shorten what is there.",
            )

    def _no_longer_fits(self) -> StoreError:
        return _refused("The notes changed meanwhile, and the earlier edit no longer fits.", "Run it again.")

    def _holds_a_secret(self) -> StoreError:
        return _refused("new_string holds a key, password or token.", "Write it down without.")


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
    old, new = in_newline_style(text, old, new)
    found = text.count(old)
    if not found:
        raise _refused("old_string is not in the notes.", "Copy the text exactly as it stands there.")
    if found > 1 and not everywhere:
        raise _refused(
            f"old_string stands {found} times in the notes.",
            "Make it longer until it is unique, or give replace_all.",
        )
    return text.replace(old, new)


def _refused(cause: str, next_step: str) -> StoreError:
    return StoreError("Nothing was edited.", cause=cause, next_step=next_step, reason="notes-edit")
