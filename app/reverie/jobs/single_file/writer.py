"""The memory writer as a job that edits one file: draft, tools, input, engines and run.

Threading: one run, one event loop. Failure: reported in the `EngineResult`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reverie.agents.base import Home, Workspace
from reverie.agents.capabilities import WriterPlace
from reverie.agents.scopes import COMPANIONS, Scope, ScopeContext, ScopeRoot, ScopeUnavailable
from reverie.agents.transcripts import Turn
from reverie.errors import UserError
from reverie.files.atomic import LEFT_OVER_AFTER_S, sweep_temporaries
from reverie.files.rooted import RootedDirectory
from reverie.jobs.single_file.draft import MAX_ATTEMPTS, Edit, FileDraft
from reverie.jobs.single_file.job import (
    FileEngine,
    FileModelEngine,
    FileRulesEngine,
    FileTask,
    Hide,
    SingleFileJob,
)
from reverie.jobs.single_file.writer_events import Events
from reverie.llm.prompts import between, prompt_words
from reverie.llm.provider import ToolOutcome
from reverie.llm.tools import FunctionTool, tool_spec
from reverie.memory.paths import memory_path
from reverie.memory.scope_files import FileChange
from reverie.memory.usage_rules import MemoryUsage, written
from reverie.resources import resource_table
from reverie.runs.record import RunRecord
from reverie.runs.run import Plan, RunEnd
from reverie.text.redact import find_secrets
from reverie.values import Struct

REMARKS = resource_table("remarks.toml")


class MemoryDraft(FileDraft):
    """The draft of the memory file, with its size limit.

    Its tools are `memory_read`, `memory_write`, which makes exact replacements, and `no_new_memories`
    (formats/mux.md section 14).
    """

    name = "the memory file"
    reason = "memory-write"

    def __init__(self, read: Callable[[], bytes | None], *, max_bytes: int, memory_id: str = "") -> None:
        self._max_bytes = max_bytes
        self._memory_id = memory_id
        self._write_failed = False
        self.declined = False
        """True if the model called `no_new_memories` and the call was accepted."""
        super().__init__(read)

    @property
    def satisfied(self) -> bool:
        """True if memory was written or the model reported that there is nothing to write."""
        return self.wrote or self.declined

    def tools(self) -> tuple[FunctionTool, ...]:
        restored = frozenset({"old_string", "new_string"})
        return (
            FunctionTool(tool_spec("memory_read"), self._read_call),
            FunctionTool(tool_spec("memory_write"), self._write_call, restored),
            FunctionTool(tool_spec("no_new_memories"), self._decline_call),
        )

    def reminder(self) -> str:
        if self.satisfied:
            return ""
        # A failed write affects only its own attempt: now `no_new_memories` counts again.
        self._write_failed = False
        return prompt_words("writer-reminder").strip()

    def _read_call(self, _arguments: Mapping[str, Any]) -> ToolOutcome:
        self.refresh()
        return ToolOutcome(self.text if self.exists else f"{self._memory_id}: there is no memory file yet.")

    def _write_call(self, arguments: Mapping[str, Any]) -> ToolOutcome:
        count = arguments.get("replace_count")
        self._write_failed = True
        self.replace(
            str(arguments["old_string"]), str(arguments["new_string"]), 1 if count is None else int(count)
        )
        self._write_failed = False
        return ToolOutcome("Written.", wrote=True)

    def _decline_call(self, _arguments: Mapping[str, Any]) -> ToolOutcome:
        if self._write_failed:
            return ToolOutcome(
                "This does not count, because the last memory_write failed. Make it again as the error says.",
                is_error=True,
            )
        self.declined = True
        return ToolOutcome("Noted: nothing to write down.")

    def _require_room(self, text: str) -> None:
        size = len(text.encode("utf-8"))
        if size > self._max_bytes:
            raise self.refused(
                f"The memory file would hold {size:,} bytes; at most {self._max_bytes:,} are kept.",
                "Shorten what is in it first.",
            )


PROJECT_MEMORY = "system-1.md"


class WriterTarget(Struct, frozen=True):
    """The file that the memory writer changes.

    `rel` is its path below `root`, `path` its path as people see it. `memory_id`: the id by which the agent
    names the file.
    """

    root: ScopeRoot
    rel: str
    path: str
    memory_id: str

    @property
    def file(self) -> Path:
        """The absolute path of the file."""
        return self.root.directory / self.rel

    @property
    def is_companion(self) -> bool:
        """True if the file is the agent's own file per project, not a memory."""
        return self.root.key == COMPANIONS


def target_of(home: Home, context: ScopeContext, place: WriterPlace, setting: str) -> WriterTarget:
    """Return the file that `setting` selects: "project-file" (the agent's own) or "project-memory".

    Raises `ScopeUnavailable`.
    """
    root = home.scope_root(context, Scope.PROJECT)
    if setting == "project-memory":
        return WriterTarget(
            root, PROJECT_MEMORY, str(memory_path(Scope.PROJECT, PROJECT_MEMORY)), place.memory_id
        )
    if place.memory_file is None:
        raise ScopeUnavailable(
            Scope.PROJECT,
            None,
            "There is no memory file here.",
            cause="This workspace belongs to no project.",
        )
    rel = place.memory_file.relative_to(home.root).as_posix()
    return WriterTarget(ScopeRoot(Scope.PROJECT, COMPANIONS, home.root, None), rel, rel, place.memory_id)


class WriterTask(FileTask, frozen=True, kw_only=True):
    """The input for one run of the memory writer: instructions, conversation and the memory file."""

    target: WriterTarget
    workspace: Workspace
    place: WriterPlace
    instructions: str | None
    """The home's instructions for agents; None if there are none."""
    context_instructions: str | None
    """The workspace's instructions for agents; None if there are none."""
    events: Events
    """The conversation for a model."""
    said: tuple[str, ...]
    """The person's messages since the last run, oldest first."""


_INSTRUCTION_BYTES = 64 << 10
MOST_BULLETS = 12
_LONGEST = 400
_CORRECTION, _CONTRAST, _PASSING = (
    re.compile(REMARKS["corrections"][name], re.IGNORECASE) for name in ("begins", "contrast", "passing")
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"\w+")
WriterEngine = FileEngine[WriterTask, MemoryDraft]


class RulesWriter(FileRulesEngine[WriterTask, MemoryDraft]):
    """The rules engine of the memory writer.

    It adds the person's explicit statements and corrections to the file as bullets. Statements that the file
    already contains and sentences with a secret are not added; nothing is ever removed. It gets a function
    that yields the explicit statements in a message.
    """

    kind = "writer"

    def call(self, task: WriterTask, draft: MemoryDraft) -> tuple[str, Mapping[str, Any], Edit | None]:
        found = [each for text in task.said for each in (*self._find(text), *corrections(text))]
        bullets = new_bullets(found, draft.text)
        if not bullets:
            draft.declined = True
            return "no_new_memories", {}, None

        def edit(text: str) -> str:
            return with_bullets(text, new_bullets(bullets, text), task.target.memory_id)

        return "memory_write", {"old_string": "", "new_string": "\n".join(bullets)}, edit

    def input_of(self, task: WriterTask, hide: Hide) -> Mapping[str, Any]:
        return {"eventsSummary": task.events.summary(), "events": hide(task.events.items)}


def corrections(text: str) -> Iterator[str]:
    """Yield the sentences in `text` by which a person corrects the agent for all future work."""
    for line in text.splitlines():
        for sentence in _SENTENCE_END.split(" ".join(line.split())):
            match = _CORRECTION.match(sentence)
            if match is None or len(sentence) > _LONGEST or sentence.endswith(("?", ":")):
                continue
            said = match["said"]
            if len(said.split()) >= 4 and _CONTRAST.search(said) and not _PASSING.search(said):
                yield said[:1].upper() + said[1:]


def new_bullets(statements: Iterable[str], memory: str) -> list[str]:
    """Return the distinct statements that `memory` does not contain yet: the last 12, without secrets."""
    known = {_folded(line) for line in memory.splitlines()}
    whole = f" {_folded(memory)} "
    found: list[str] = []
    for statement in statements:
        said = " ".join(statement.split())
        folded = _folded(said)
        if not folded or folded in known or f" {folded} " in whole or find_secrets(said):
            continue
        # A correction may also have been found as a statement.
        if any(folded in other or other in folded for other in map(_folded, found)):
            continue
        known.add(folded)
        found.append(said)
    return found[-MOST_BULLETS:]


def with_bullets(memory: str, bullets: Iterable[str], memory_id: str) -> str:
    """Return `memory` with one bullet per statement added at the end, in the file's own line ends."""
    newline = "\r\n" if "\r\n" in memory else "\n"
    head = memory
    if not memory.strip():
        head = f"# {memory_id.rpartition('-')[0] or memory_id} memory{newline}{newline}"
    elif not memory.endswith("\n"):
        head = memory + newline
    return head + "".join(f"- {bullet}{newline}" for bullet in bullets)


def _folded(text: str) -> str:
    """Return the words of `text` in lower case, for comparison."""
    return " ".join(_WORD.findall(text.casefold()))


def system_prompt(mark: str, instructions: str = "") -> str:
    """Return the system prompt: instructions, then the rule about the quoted input.

    `mark` is the random part of the delimiters around quoted input. `instructions`, if not empty, are the
    home's own and replace the built-in ones; the rules that they cannot override follow. The texts are in
    `resources/prompts/writer*.md`.
    """
    rule = f"What you are to read stands between lines that begin with `<<<` and lines `>>>`, with {mark}."
    own = f"{instructions.strip()}\n\n{prompt_words('writer-rules').strip()}" if instructions.strip() else ""
    return f"{own or prompt_words('writer').strip()}\n\n{rule}\n"


def user_message(task: WriterTask, memory: str, mark: str) -> str:
    """Return the user message: instructions, memory file and events, each quoted between delimiters.

    The delimiters contain `mark`. It is random, so that no quoted text can contain the closing delimiter.
    """
    parts = [f"projectId: {task.target.memory_id}"]
    for name, text in (
        ("global-instructions", task.instructions),
        ("context-instructions", task.context_instructions),
        ("memory-file", memory),
    ):
        if text is not None:
            parts.append(between(name, text, mark))
    parts.append(between("conversation-events (JSON, oldest first)", task.events.as_json(), mark))
    return "\n\n".join(parts) + "\n"


class ModelWriter(FileModelEngine[WriterTask, MemoryDraft]):
    """The model engine of the memory writer.

    If the model neither writes nor declines, it gets one more attempt, with a reminder (formats/mux.md
    section 14).
    """

    kind = "writer"
    max_steps = 16
    attempt_steps = max_steps // MAX_ATTEMPTS
    max_output_tokens = 3_000

    def conversation(self, task: WriterTask) -> Any:
        return task.events.items

    def prompts(self, task: WriterTask, text: str, mark: str) -> tuple[str, str]:
        return system_prompt(mark, self._instructions), user_message(task, text, mark)

    def input_of(self, task: WriterTask, hide: Hide) -> Mapping[str, Any]:
        """Return the instructions and events, which are parts of the user message."""
        return {
            "globalAgentsMd": hide(task.instructions),
            "contextAgentsMd": hide(task.context_instructions),
            "eventsSummary": task.events.summary(),
            "events": hide(task.events.items),
        }


class WriterJob(SingleFileJob[MemoryDraft, WriterTask]):
    """One run of the memory writer.

    If a model runs out of time or its service fails, the changes made before are still applied, because each
    `memory_write` is complete in itself.
    """

    kind = "writer"
    title = "memory writer"
    before = "before the memory writer"
    keeps_part = True
    next_step = "The next run reads these messages again."

    @property
    def attempts_made(self) -> int:
        """The number of attempts that the model has made."""
        return self._end.attempts

    @property
    def nothing_new(self) -> str:
        return f"{self.task.target.path} already contains this."

    @property
    def satisfied(self) -> bool:
        """True if the model met its duty: it wrote, or reported that there is nothing to write."""
        return self.draft is not None and self.draft.satisfied

    def ready(self) -> None:
        """Remove temporary files that killed writes left."""
        for directory in (self.task.target.file.parent, self.task.place.state_file.parent):
            with contextlib.suppress(UserError):  # leftover hidden files are harmless
                sweep_temporaries(directory, older_than_s=LEFT_OVER_AFTER_S)

    def new_draft(self) -> MemoryDraft:
        max_bytes, memory_id = self._parts.home.caps.file_bytes, self.task.target.memory_id
        return MemoryDraft(self.read, max_bytes=max_bytes, memory_id=memory_id)

    def without_edits(self, draft: MemoryDraft) -> Plan:
        if draft.satisfied:
            return Plan("There is nothing new to remember.", outcome="unchanged")
        neither = "the model neither wrote nor stated that there is nothing to write."
        return Plan(
            f"In {self.attempts_made} attempts, {neither}",
            outcome="failed",
            reason="no-write",
            next_step="Open the trace. The memory writer needs a model that can call tools.",
        )

    def plan(self, draft: MemoryDraft) -> Plan:
        target, error = self.task.target, self._end.error
        summary = f"{target.path} was updated."
        if self.timed_out:
            summary += " The model then ran out of time."
        elif error is not None:
            summary += f" After that: {error.title}"
        change = FileChange(target.root, target.rel, draft.before, draft.after)
        usage_before, usage_after = self._usage_delta()
        return Plan(summary, (change,), usage_before=usage_before, usage_after=usage_after)

    def document(self, trace: Mapping[str, Any], record: RunRecord, end: RunEnd) -> Mapping[str, Any]:
        """Return the trace with paths and outcome added."""
        path = self.task.workspace.path
        ours = {**trace.get("reverie", {}), "target": self.task.target.path}
        trace = {**trace, "agentDiscoveryPath": path, "workspacePath": path, "reverie": ours}
        return super().document(trace, record, end)

    def _usage_delta(self) -> tuple[dict[str, MemoryUsage | None], dict[str, MemoryUsage | None]]:
        """Return the usage of the written memory before and after the run.

        Only the time of the write changes; the run does not count as a use.
        """
        target = self.task.target
        key = self._parts.home.usage_key(target.root, target.rel)
        if key is None or target.is_companion:
            return {}, {}
        before = self._parts.usage.load().get(key)
        return {key: before}, {key: written(before, self._parts.clock())}


def said_since(rows: tuple[Turn, ...], since: str | None) -> list[str]:
    """Return the person's messages after the message with the id `since`.

    Returns all of them if `since` is not among the rows.
    """
    position = next((at for at, row in enumerate(rows) if row.id == since), -1)
    return [row.text for row in rows[position + 1 :] if row.event == "message" and row.role == "user"]


def first_text(paths: tuple[Path, ...]) -> str | None:
    """Return the text of the first file in `paths` that can be read; None if none can.

    It is truncated at 64 KiB.
    """
    for path in paths:
        with contextlib.suppress(UserError):
            files = RootedDirectory(path.parent)
            if files.entry(path.name) is not None:
                return files.read(path.name, limit=_INSTRUCTION_BYTES).decode("utf-8", "replace")
    return None
