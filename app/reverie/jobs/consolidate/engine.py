"""Who thinks in a dream: a model, or the embedded rules.

An `Engine` sees the overlay, issues every change through the guard and calls `StopCheck.check` every few
milliseconds; that is how cancel and the wall clock reach it.

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
from reverie.llm.client import Account, ModelClient, no_end
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
    """What does a dream's thinking: the embedded rules, or a model. `dream` returns the one-line summary and
    may be called again on a fresh overlay; `account` may be asked at any time after it, also when it failed,
    and is about all of it."""

    name: str

    def account(self) -> Account:
        """What was spent so far, and the trace; nothing of either for rules."""

    async def dream(
        self,
        overlay: DreamOverlay,
        guard: Guard,
        *,
        limits: StopCheck,
        progress: Callable[[Progress], None],
        faults: Sequence[str] = (),
    ) -> str:
        """Read the overlay, ask the guard for changes, return one line that sums up. `faults`: what was wrong
        with an earlier attempt, of which nothing was kept. Raises the `UserError` family, and what
        `limits.check` raises."""


# The rules as an engine: plans (`rules.plan`) and sends the plan through the guard, as a model would. Each
# group of operations (a merge and its delete) is all or nothing.


class RulesEngine:
    """Implements `jobs.consolidate.engine.Engine`."""

    name = "rules"

    def account(self) -> Account:
        """Rules ask no model: nothing was spent, and there is no trace."""
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
        """Survey, plan, issue. Returns the summary line."""
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
            return "Nothing could be applied."
        return planned.summary

    @staticmethod
    def _issue(overlay: DreamOverlay, guard: Guard, group: PlannedGroup) -> None:
        savepoint, position = overlay.savepoint(), len(guard.ops)
        for operation in group.operations:
            request = {"command": operation.command, "path": operation.path, **operation.arguments}
            answer = guard.execute(request, reason=group.reason, free=group.kind == "description")
            if not answer["success"]:
                overlay.rollback(savepoint)
                guard.withdraw(position, f"undone with its group: {answer['error']}")
                return


# The prompt of a model. The rails in it are rendered from the guard's own `Rails`, so the two cannot
# disagree. Whatever comes from a memory is put between marks with a random part, which no memory can guess
# and close.


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
    """The marks around text of memories."""

    kind = "notes"


def built_in_instructions() -> str:
    """The instructions of a dream where the home has none of its own."""
    return prompt_words("dream")


def system_prompt(instructions: str, rails: Rails, trigger: Trigger, caps: Caps, fence: Fence) -> str:
    """Everything that does not depend on the notes. `instructions`: the home's own, or the built-in ones."""
    parts = [instructions.strip()]
    if trigger == "archive":
        with_project = Scope.PROJECT in rails.scopes
        parts.append(prompt_words("dream-archive" if with_project else "dream-archive-no-project").strip())
    parts.append(rails_text(rails, caps))
    parts.append(fence.explained("Text of notes"))
    return "\n\n".join(parts) + "\n"


def rails_text(rails: Rails, caps: Caps) -> str:
    """The limits that the guard enforces, in words."""
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
    if rails.of_records:
        lines.append(f"- {rails.of_records}")
    if rails.dry_run:
        lines.append("- This is a rehearsal: your changes are shown to a person and not carried out.")
    return "\n".join(lines)


def scope_names(rails: Rails) -> list[str]:
    """The scopes of the rails as the paths a model uses, narrowest first."""
    order = (Scope.WORKSPACE, Scope.PROJECT, Scope.GLOBAL)
    return [f"/memories/{scope.value}/" for scope in order if scope in rails.scopes]


def task_prompt(
    notes: Sequence[Note],
    caps: Caps,
    fence: Fence,
    faults: Sequence[str] = (),
    stale: Sequence[str] = (),
) -> str:
    """What there is: one line per note, with its size, whether it is pinned, and its description; what of it
    is not true any more, a line each; and the faults of an earlier attempt."""
    lines = [_line(note, caps) for note in notes[:_NOTES_LISTED]]
    omitted = len(notes) - len(lines)
    if omitted:
        lines.append(f"({omitted} more: view the directories)")
    listed = fence.around("\n".join(lines)) if lines else "There are none."
    of_indexes = f"{_OF_INDEXES}\n\n" if any(note.index for note in notes) else ""
    of_indexes += f"{_OF_DOCUMENTS}\n\n" if any(note.document for note in notes) else ""
    more = _quoted("dream-stale", stale, fence) + _quoted("dream-again", faults, fence)
    return f"Look after these {len(notes)} notes.\n\n{of_indexes}{listed}\n{more}"


def _quoted(words: str, lines: Sequence[str], fence: Fence) -> str:
    """Lines with what a prompt says of them; nothing where there are none."""
    if not lines:
        return ""
    return f"\n{prompt_words(words).strip()}\n\n{fence.around(chr(10).join(lines))}\n"


def _line(note: Note, caps: Caps) -> str:
    described = (
        note.said or description(note.text.encode("utf-8")[: caps.description_prefix_bytes], caps).text
    )
    facts = f"{len(note.text.encode('utf-8')):,} bytes" + (", pinned" if note.protected else "")
    facts += ", index" if note.index else ", document" if note.document else ""
    return f"{note.path} ({facts})" + (f": {described}" if described else "")


# A model as an engine: the agent loop with the memory tool behind the guard, so scopes, pins and budget hold
# whatever the model says; no secret reaches it (a vault). Any end but a plain one fails the run. Usage and
# trace are kept in each case.


MAX_STEPS = 32


class ModelEngine(ModelWork):
    """Implements `jobs.consolidate.engine.Engine`. Its trace is that of the last attempt."""

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
        """Read, ask, carry out. Returns the model's own last line. Raises `ModelRunFailed`."""
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
        if result.outcome in ("step-limit", "output-limit"):
            raise no_end(result.outcome, MAX_STEPS)
        overlay.noticed = noticed.pairs
        count = guard.applied
        return last_line(result.text) or (f"{some(count, 'change')}." if count else "No changes needed.")


def memory_tool_spec(guard: Guard) -> ToolSpec:
    """The tool as the model gets it; the scopes are those of the guard."""
    words = " ".join(prompt_words("dream-tool").split())
    return memory_spec(
        words.replace("{{scopes}}", ", ".join(scope_names(guard.rails))),
        {"type": "string", "description": "One short sentence: why this change."},
    )


class _Watch:
    """What the loop tells, as progress of the dream."""

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
