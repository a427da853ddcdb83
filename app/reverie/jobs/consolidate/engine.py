"""The engines of a consolidation: a model, or the embedded rules.

An `Engine` reads the overlay, a copy of the memories, and makes every change through the guard, which refuses
changes beyond the rails (the limits of a run). It calls `StopCheck.check` every few milliseconds, so that
cancelling and the time limit take effect. The rules engine carries out a plan (`rules.plan`) through the
guard, just as a model would. The model engine is the agent loop with the memory tool behind the guard, so
scopes, pins and budget are enforced whatever the model does; secrets are replaced by tokens before text is
sent (`llm.vault`). The limits in the prompt are rendered from the guard's own `Rails`, so the two cannot
disagree. The text of memories is enclosed in delimiters with a random part, so that no memory can contain the
closing delimiter.

Threading: one run, one event loop. Failure: the `UserError` family; the run then ends as failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from reverie.agents.scopes import Caps, Scope
from reverie.claims.checking import in_one_line
from reverie.jobs.consolidate.coverage import Trigger
from reverie.jobs.consolidate.overlay import DreamOverlay, PairsNoticed
from reverie.jobs.consolidate.rules.plan import Note, PlannedGroup, plan
from reverie.jobs.model_work import ModelWork, last_line, step_of
from reverie.llm.client import Account, ModelClient
from reverie.llm.loop import AgentEvent, AgentLimits
from reverie.llm.memory_tool import memory_spec, memory_tool
from reverie.llm.prompts import TextMarks, prompt_words
from reverie.llm.provider import ToolSpec
from reverie.llm.vault import Vault
from reverie.memory.front_matter import description
from reverie.runs.guard import Guard, Rails
from reverie.runs.record import Progress
from reverie.runs.stops import StopCheck
from reverie.text.summaries import some


class Engine(Protocol):
    """The part of a consolidation that decides on changes: the embedded rules, or a model."""

    name: str

    def account(self) -> Account:
        """Return the costs and the trace of all attempts so far, also after a failure.

        Both are empty for rules.
        """

    async def dream(
        self,
        overlay: DreamOverlay,
        guard: Guard,
        *,
        limits: StopCheck,
        progress: Callable[[Progress], None],
        faults: Sequence[str] = (),
    ) -> str:
        """Read the memories in `overlay`, request changes from `guard`, and return a summary of one line.

        `limits.check` raises if the run must stop. `progress` gets each step. May be called again on a fresh
        overlay; `faults` are then the faults of the earlier attempt, whose changes were discarded. Raises the
        `UserError` family, and any exception of `limits.check`.
        """


class RulesEngine:
    """The engine that consolidates by fixed rules, without a model; implements `Engine`.

    Each group of operations, for example a merge with its delete, is carried out completely or not at all.
    """

    name = "rules"

    def account(self) -> Account:
        """Return an empty account, since rules cost nothing and have no trace."""
        return Account()

    async def dream(
        self,
        overlay: DreamOverlay,
        guard: Guard,
        *,
        limits: StopCheck,
        progress: Callable[[Progress], None],
        faults: Sequence[str] = (),
    ) -> str:
        """Plan changes of the notes by rules, request them from `guard`, and return the summary line.

        The guard checks each change and carries it out in `overlay`, a copy of the memories. For the other
        arguments see `Engine.dream`.
        """
        progress(Progress("reading"))
        notes = overlay.notes(limits.check)
        progress(Progress("planning", 0, len(notes)))
        await asyncio.sleep(0)
        planned = plan(
            notes, budget=guard.remaining, caps=overlay.caps, stale=overlay.stale, check=limits.check
        )
        for number, group in enumerate(planned.groups, start=1):
            limits.check()
            self._issue(overlay, guard, group)
            progress(Progress(group.reason, number, len(planned.groups), guard.ops[-1]))
            await asyncio.sleep(0)
        if planned.groups and not guard.applied:
            return "No change could be applied."
        return planned.summary

    @staticmethod
    def _issue(overlay: DreamOverlay, guard: Guard, group: PlannedGroup) -> None:
        """Request the operations of one group from `guard`; undo all of them in `overlay` if one fails."""
        savepoint, position = overlay.savepoint(), len(guard.ops)
        for operation in group.operations:
            request = {"command": operation.command, "path": operation.path, **operation.arguments}
            answer = guard.execute(request, reason=group.reason, free=group.kind == "description")
            if not answer["success"]:
                overlay.rollback(savepoint)
                guard.withdraw(position, f"undone with its group: {answer['error']}")
                return


_NOTES_LISTED = 2000
_STALE_NAMED = 100
_OF_INDEXES = (
    "Notes marked as index list the others. Their lines follow by themselves what you create, merge, rename "
    "or delete; an index is never deleted or renamed."
)
_OF_DOCUMENTS = (
    "Notes marked as document have a form that the agent checks. Edit lines in them, keep their first line "
    "and their headings, and never delete or rename them."
)


class Fence(TextMarks, frozen=True):
    """The delimiters that mark the text of memories in a prompt, so that a model does not obey it."""

    kind = "notes"


def built_in_instructions() -> str:
    """Return the built-in instructions, for a home without instructions of its own."""
    return prompt_words("dream")


def system_prompt(instructions: str, rails: Rails, trigger: Trigger, caps: Caps, fence: Fence) -> str:
    """Return the part of the prompt that does not depend on the notes.

    `instructions` are the home's own, or the built-in ones. `rails`: the limits of the run. `fence`: the
    delimiters around memory text.
    """
    parts = [instructions.strip()]
    if trigger == "archive":
        with_project = Scope.PROJECT in rails.scopes
        parts.append(prompt_words("dream-archive" if with_project else "dream-archive-no-project").strip())
    parts.append(rails_text(rails, caps))
    parts.append(fence.explained("Text of notes"))
    return "\n\n".join(parts) + "\n"


def rails_text(rails: Rails, caps: Caps) -> str:
    """Return the limits of a run (its rails) as text for the prompt, so that the model knows them."""
    lines = [
        "Limits of this run, which the tool enforces:",
        f"- Scopes you may read and change: {', '.join(scope_names(rails))}.",
        f"- At most {rails.budget} changes; every create, str_replace, insert, delete or rename counts as "
        "one, also one that fails. Viewing is free.",
        "- Notes marked as pinned may be edited, never deleted or renamed, nor may a directory above them.",
        f"- A note holds at most {caps.file_bytes:,} bytes.",
    ]
    kept = [scope.value for scope in Scope if scope in rails.undeletable]
    if kept:
        lines.append(f"- Nothing may be deleted from {' or '.join(kept)} memory.")
    if not caps.descriptions:
        lines.append("- This agent reads no front matter: write no description, and add no front matter.")
    if rails.dry_run:
        lines.append("- This is a rehearsal: your changes are shown to a person and not carried out.")
    return "\n".join(lines)


def scope_names(rails: Rails) -> list[str]:
    """Return the memory paths of the scopes that the limits of a run allow, narrowest scope first.

    Scopes are the workspace, the project and the global memory. The paths are for a model to use.
    """
    order = (Scope.WORKSPACE, Scope.PROJECT, Scope.GLOBAL)
    return [f"/memories/{scope.value}/" for scope in order if scope in rails.scopes]


def task_prompt(
    notes: Sequence[Note],
    caps: Caps,
    fence: Fence,
    faults: Sequence[str] = (),
    stale: Sequence[str] = (),
) -> str:
    """Return the part of the prompt that lists the notes: one line each, with size, pin and description.

    `faults` are those of an earlier attempt, `stale` the statements in the notes that are no longer true; one
    line each.
    """
    lines = [_line(note, caps) for note in notes[:_NOTES_LISTED]]
    omitted = len(notes) - len(lines)
    if omitted:
        lines.append(f"({omitted} more: view the directories)")
    listed = fence.around("\n".join(lines)) if lines else "There are no such sessions."
    of_indexes = f"{_OF_INDEXES}\n\n" if any(note.index for note in notes) else ""
    of_indexes += f"{_OF_DOCUMENTS}\n\n" if any(note.document for note in notes) else ""
    more = _quoted("dream-stale", stale, fence) + _quoted("dream-again", faults, fence)
    return f"Look after these {len(notes)} notes.\n\n{of_indexes}{listed}\n{more}"


def _quoted(words: str, lines: Sequence[str], fence: Fence) -> str:
    """Return `lines` between delimiters, below the text of the prompt file `words`; empty without lines."""
    if not lines:
        return ""
    return f"\n{prompt_words(words).strip()}\n\n{fence.around(chr(10).join(lines))}\n"


def _line(note: Note, caps: Caps) -> str:
    """Return the line of one note in the list."""
    described = description(note.text.encode("utf-8")[: caps.description_prefix_bytes], caps).text
    facts = f"{len(note.text.encode('utf-8')):,} bytes" + (", pinned" if note.protected else "")
    facts += ", index" if note.index else ", document" if note.document else ""
    return f"{note.path} ({facts})" + (f": {described}" if described else "")


MAX_STEPS = 32


class ModelEngine(ModelWork):
    """The engine that lets a model consolidate; implements `Engine`.

    The run fails if a limit is reached before the model has ended its work. Usage and trace are recorded in
    any case; the trace is that of the last attempt.
    """

    kind = "dream"

    def __init__(
        self, asking: ModelClient, *, instructions: str, trigger: Trigger, workspace_name: str = ""
    ) -> None:
        super().__init__(asking, workspace_name=workspace_name)
        self._instructions = instructions
        self._trigger = trigger

    async def dream(
        self,
        overlay: DreamOverlay,
        guard: Guard,
        *,
        limits: StopCheck,
        progress: Callable[[Progress], None],
        faults: Sequence[str] = (),
    ) -> str:
        """Let the model change the notes with the memory tool, and return the last line of its answer.

        Raises `ModelRunFailed`.
        """
        progress(Progress("reading"))
        notes = overlay.notes(limits.check)
        vault = Vault()
        for note in notes:
            limits.check()
            vault.learn(note.text)
        stale = [
            f"{claim.path} line {claim.line}: {in_one_line(claim)}" for claim in overlay.stale[:_STALE_NAMED]
        ]
        vault.learn("\n".join(stale))
        fence, noticed = Fence.random(), PairsNoticed({note.path: note.text for note in notes})
        result = await self._ask(
            limits,
            AgentLimits(MAX_STEPS, limits.deadline),
            vault,
            system=system_prompt(self._instructions, guard.rails, self._trigger, overlay.caps, fence),
            task=task_prompt(notes, overlay.caps, fence, faults, stale),
            tools=[
                memory_tool(guard, memory_tool_spec(guard), fence, budget=guard.rails.budget),
                noticed.tool,
            ],
            observer=_Watch(guard, progress).on_event,
        )
        overlay.noticed = noticed.pairs
        count = guard.applied
        return last_line(result.text) or (f"{some(count, 'change')}." if count else "No changes needed.")


def memory_tool_spec(guard: Guard) -> ToolSpec:
    """Return the description of the memory tool for a model, which names the scopes that it may change."""
    words = " ".join(prompt_words("dream-tool").split())
    return memory_spec(
        words.replace("{{scopes}}", ", ".join(scope_names(guard.rails))),
        {"type": "string", "description": "One short sentence: why this change."},
    )


class _Watch:
    """An observer of the agent loop that reports the loop's events as progress of the run."""

    def __init__(self, guard: Guard, progress: Callable[[Progress], None]) -> None:
        self._guard = guard
        self._progress = progress
        self._ops = 0

    def on_event(self, event: AgentEvent) -> None:
        if event.kind == "retry":
            self._progress(Progress(event.text, event.step, MAX_STEPS))
        elif event.kind == "tool":
            ops = self._guard.ops
            newest = ops[-1] if len(ops) > self._ops else None
            self._ops = len(ops)
            self._progress(Progress(step_of(event), event.step, MAX_STEPS, newest))
        elif event.kind == "tool-begins" or (event.kind == "text" and event.text.strip()):
            self._progress(Progress("thinking", event.step, MAX_STEPS))
