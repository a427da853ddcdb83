"""Session notes of Claude Code as a job that edits one file: draft, input, engines and run.

The functions on sections are in `notes_sections`, the rules in `notes_rules`.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from reverie.agents.base import Home
from reverie.agents.capabilities import NotesPlace
from reverie.agents.transcripts import Message
from reverie.errors import StoreError, user_error_from_os
from reverie.files.directory import Directory, SwappedError, real_path
from reverie.files.rooted import EscapesRoot
from reverie.jobs.single_file.draft import ALL, Edit, FileDraft
from reverie.jobs.single_file.job import (
    FileEngine,
    FileModelEngine,
    FileRulesEngine,
    FileTask,
    SingleFileJob,
    json_of,
)
from reverie.jobs.single_file.notes_rules import filled, found_in, own_lines, safe, shortened
from reverie.jobs.single_file.notes_sections import (
    SECTION_TOKENS,
    TOTAL_TOKENS,
    current_template,
    over_limits,
    reminder_of,
    rough_tokens,
    structure_break,
)
from reverie.llm.prompts import between, prompt_words
from reverie.llm.provider import ToolOutcome
from reverie.llm.tools import FunctionTool, tool_spec
from reverie.memory.scope_files import FileChange, sha256_of_bytes
from reverie.runs.record import SUCCEEDED, RunRecord, RunResult
from reverie.runs.run import Plan, RunEnd
from reverie.text.summaries import between_words
from reverie.values import replace

MOST_TOKENS = 2 * TOTAL_TOKENS
"""The largest number of tokens that the notes may have after an edit.

A length between `TOTAL_TOKENS` and this number is only reported.
"""
EDIT = "Edit"
_SHOWN_CHARS = 200


class NotesDraft(FileDraft):
    """The draft of the notes; a new file begins with `template`.

    Its only tool makes exact replacements in the file `path`. Any other path is refused, and the trace
    records the refusal.
    """

    name = "the notes"
    reason = "notes-edit"

    def __init__(self, read: Callable[[], bytes | None], template: str, path: str) -> None:
        self.template = template
        self._path = path
        super().__init__(read)

    @property
    def broken(self) -> str:
        """A sentence that describes how the edits changed the structure; empty if they did not."""
        return structure_break(self._base, self._text)

    def tools(self) -> tuple[FunctionTool, ...]:
        return (FunctionTool(tool_spec(EDIT), self._call, frozenset({"old_string", "new_string"})),)

    def reminder(self) -> str:
        return reminder(self.broken, reminder_of(self.text) if self.changed else "")

    def _call(self, arguments: Mapping[str, Any]) -> ToolOutcome:
        named = str(arguments["file_path"])
        if named != self._path:
            raise StoreError(
                f"{named[:_SHOWN_CHARS]!r} was not edited.",
                cause="Only the session notes may be edited.",
                next_step=f"Set file_path to exactly {self._path!r}.",
                reason="other-file",
            )
        count = ALL if arguments.get("replace_all") is True else 1
        self.replace(str(arguments["old_string"]), str(arguments["new_string"]), count)
        return ToolOutcome("Edited.", wrote=True)

    def _decoded(self, data: bytes | None) -> str:
        text = super()._decoded(data)
        if data is not None and not text.strip():
            raise StoreError(
                "The session notes are empty.",
                cause="Reverie writes the template with the sections only into a new file.",
                next_step="Delete the file, then update the notes again.",
                reason="empty-notes",
            )
        return text

    def _require_room(self, text: str) -> None:
        tokens = rough_tokens(text)
        if tokens > MOST_TOKENS:
            raise self.refused(
                f"The notes would hold about {tokens} tokens; at most {TOTAL_TOKENS} are read.",
                "Write less, and shorten what is there.",
            )


class NotesTask(FileTask, frozen=True, kw_only=True):
    """The input for one update of session notes, the notes that the agent keeps about a conversation."""

    target: NotesPlace
    messages: tuple[Message, ...]
    """The newest messages of the conversation."""
    prompt: str | None
    """A person's own instructions; None for the built-in ones."""
    ours: frozenset[str] = frozenset()
    """Keys of the lines that earlier runs by rules wrote (`own_lines`)."""

    @property
    def path(self) -> str:
        """The path of the notes as the model must give it to the tool."""
        return str(self.target.file)


MAX_CHARS = 160_000
TEXT_CHARS = 8_000
TOOL_CHARS = 2_000


def newest(messages: Iterable[Message], *, max_chars: int = MAX_CHARS) -> tuple[Message, ...]:
    """Return the newest messages of the main conversation within `max_chars`, oldest first; at least one.

    Older messages are dropped while iterating, so that memory is bounded.
    """
    kept: deque[Message] = deque()
    size = 0
    for message in messages:
        if message.side or message.undone or message.kind not in ("message", "tool", "summary"):
            continue
        kept.append(message)
        size += _size(message)
        while size > max_chars and len(kept) > 1:
            size -= _size(kept.popleft())
    return tuple(kept)


def as_json(messages: Iterable[Message]) -> str:
    """Return the messages as JSON for a model, each text truncated to its limit."""
    return json_of([_shown(message) for message in messages])


def _shown(message: Message) -> dict[str, Any]:
    if message.tool is not None:
        tool = message.tool
        shown: dict[str, Any] = {"tool": tool.name, "input": _cut(tool.input, TOOL_CHARS)}
        if tool.output is not None:
            shown["error" if tool.is_error else "output"] = _cut(tool.output, TOOL_CHARS)
        return shown
    role = "summary" if message.kind == "summary" else message.speaker
    return {"role": role, "text": _cut(message.text, TEXT_CHARS)}


def _size(message: Message) -> int:
    tool = message.tool
    if tool is not None:
        return min(len(tool.input), TOOL_CHARS) + min(len(tool.output or ""), TOOL_CHARS) + 40
    return min(len(message.text), TEXT_CHARS) + 40


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{between_words(text[:most], text)}… [cut]"


NotesEngine = FileEngine[NotesTask, NotesDraft]


class RulesNotes(FileRulesEngine[NotesTask, NotesDraft]):
    """The rules engine of session notes (`notes_rules`).

    It gets a function that yields a person's corrections in a message.
    """

    kind = "notes"

    def call(self, task: NotesTask, draft: NotesDraft) -> tuple[str, Mapping[str, Any], Edit]:
        title = "".join(safe([shortened(task.workspace_name)]))
        found = replace(found_in(task.messages, self._find), title=title)
        return EDIT, {"file_path": task.path}, partial(filled, found=found, ours=task.ours)


_PLACE = re.compile(r"\{\{(\w+)\}\}")


def system_prompt(mark: str) -> str:
    """Return the rules of the update, which no instructions or prompt of a person can replace.

    `mark`: the random part of the delimiters around quoted text.
    """
    rules = with_values(
        prompt_words("notes-rules"), {"sectionTokens": str(SECTION_TOKENS), "totalTokens": str(TOTAL_TOKENS)}
    )
    return (
        f"{rules.strip()}\n\n"
        f"What you are to read stands between lines that begin with `<<<` and lines `>>>`, with {mark}.\n"
    )


def user_message(task: NotesTask, notes: str, mark: str) -> str:
    """Return the user message: instructions, notes, conversation, and a list of sections that are too long.

    Notes and conversation are between delimiters made with `mark`. It is random, so that they cannot contain
    the closing delimiter. A person's own prompt replaces the instructions.
    """
    instructions = task.prompt or prompt_words("notes")
    values = {"currentNotes": between("session-notes", notes, mark), "notesPath": task.path}
    parts = [with_values(instructions, values).strip()]
    if "{{currentNotes}}" not in instructions:
        parts.append(values["currentNotes"])
    parts.append(between("conversation (JSON, oldest first)", as_json(task.messages), mark))
    if too_long := reminder_of(notes):
        parts.append(f"These limits are exceeded:\n{too_long}")
    return "\n\n".join(parts) + "\n"


def reminder(broken: str, too_long: str) -> str:
    """Return the message after a model's first attempt; empty if there is nothing to correct.

    `broken` and `too_long` describe the problems.
    """
    parts = []
    if broken:
        parts.append(f"{broken} {prompt_words('notes-reminder').strip()}")
    if too_long:
        parts.append(f"The notes are too long now:\n{too_long}")
    return "\n\n".join(parts)


def with_values(text: str, values: Mapping[str, str]) -> str:
    """Return `text` with each `{{name}}` in `values` replaced by its value, in one pass."""
    return _PLACE.sub(lambda match: values.get(match[1], match[0]), text)


class ModelNotes(FileModelEngine[NotesTask, NotesDraft]):
    """The model engine of session notes.

    If the model broke the structure of the notes or made them too long, it gets one reminder.
    """

    kind = "notes"
    max_steps = 12
    attempt_steps = 8
    max_output_tokens = 16_000

    def conversation(self, task: NotesTask) -> Any:
        return [_shown(message) for message in task.messages]

    def prompts(self, task: NotesTask, text: str, mark: str) -> tuple[str, str]:
        return system_prompt(mark), user_message(task, text, mark)


FILE_MODE, DIRECTORY_MODE = 0o600, 0o700


class NotesJob(SingleFileJob[NotesDraft, NotesTask]):
    """One update of session notes.

    An update that breaks the structure of the notes, or does not finish, is discarded. A new file is created
    exclusively with mode 0600 in a directory with mode 0700.
    """

    kind = "notes"
    title = "session notes"
    before = "before the session notes"
    keeps_part = False
    next_step = "Run the update again."

    def written(self, result: RunResult) -> str | None:
        """Return the hash of the notes that the run wrote; None if it wrote nothing."""
        return sha256_of_bytes(self.draft.after) if result.applied and self.draft else None

    def own_lines(self, result: RunResult) -> frozenset[str]:
        """Return the keys of the lines in the notes that runs by rules wrote, including this run."""
        draft, ours = self.draft, self.task.ours
        if draft is None or not result.applied:
            return ours
        # Only the rules recognise and remove their own lines; those of a model stay like a person's.
        before = draft.base if self.engine == RulesNotes.name else draft.text
        return own_lines(before, draft.text, ours)

    def ready(self) -> None:
        """Check that the notes are inside the home.

        Raises `EscapesRoot`.
        """
        refuse_outside(self._parts.home, self.task.target)

    def new_draft(self) -> NotesDraft:
        return NotesDraft(self.read, current_template(self.task.target.template), self.task.path)

    def plan(self, draft: NotesDraft) -> Plan:
        home, place = self._parts.home, self.task.target
        if broken := draft.broken:
            raise StoreError(
                "The update was undone because it damaged the section structure of the notes.",
                cause=broken,
                next_step="Open the trace of the run, or try another model.",
                reason="structure",
            )
        refuse_outside(home, place)
        mode = None
        if draft.before is None:
            make_private(home, place)
            mode = FILE_MODE
        summary = "The session notes were updated."
        if over_limits(draft.text):
            summary += " They are too long: the agent does not read all of them."
        return Plan(summary, (FileChange(place.root, place.rel, draft.before, draft.after, mode),))

    def document(self, trace: Mapping[str, Any], record: RunRecord, end: RunEnd) -> Mapping[str, Any]:
        """Return the trace with paths and outcome added."""
        attempts = trace.get("attempts", [])
        if not end.changed:
            attempts = [{**attempt, "wrote": False} for attempt in attempts]
        if end.reason == "structure" and attempts:
            attempts[-1] = _with_check(attempts[-1], end.summary)
        satisfied = end.outcome in SUCCEEDED
        trace = {**trace, "attempts": attempts, "satisfiedMemoryToolPolicy": satisfied}
        return super().document(trace, record, end)


def _with_check(attempt: Mapping[str, Any], problem: str) -> dict[str, Any]:
    """Return the attempt of a trace with the failed check of the structure added as a tool call.

    `problem`: the problem that the check found.
    """
    check = {
        "attemptIndex": attempt.get("attemptIndex", 1),
        "toolName": "check of the sections",
        "toolCallId": "check",
        "input": {},
        "output": {"success": False, "error": f"Refused: {problem}"},
        "durationMs": 0,
    }
    return {**attempt, "toolExecutions": [*attempt.get("toolExecutions", ()), check]}


def refuse_outside(home: Home, place: NotesPlace) -> None:
    """Raise `EscapesRoot` if the path of a session's notes leads out of the home through a link."""
    root, directory = real_path(home.root), real_path(place.root.directory)
    if not directory.startswith(root.rstrip(os.sep) + os.sep):
        raise EscapesRoot(
            "The session notes were not updated.",
            cause="A symbolic link leads from their directory to a place outside the home.",
            next_step="Replace the link with a directory.",
        )


def make_private(home: Home, place: NotesPlace) -> None:
    """Create the missing directories above the notes, with mode 0700.

    Raises `UserError`.
    """
    root = real_path(home.root)
    if not place.root.directory.is_relative_to(home.root):
        return  # the store creates it, and refuses paths that lead elsewhere
    names = place.root.directory.relative_to(home.root).parts + tuple(place.rel.split("/")[:-1])
    try:
        with contextlib.ExitStack() as opened:
            directory = opened.enter_context(Directory.open(root))
            for name in names:
                with contextlib.suppress(FileExistsError):
                    try:
                        directory.lstat(name)
                    except FileNotFoundError:
                        directory.make(name, DIRECTORY_MODE)
                directory = opened.enter_context(directory.child(name))
    except SwappedError:
        return  # a symlink: the store follows it if it stays inside the home, and refuses it otherwise
    except OSError as error:
        raise user_error_from_os(error, "The directory of the session notes could not be created.") from error
