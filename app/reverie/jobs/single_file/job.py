"""A job that lets rules or a model edit one file: its input, its engines and its run.

An engine changes nothing but the draft. In everything that is sent to a model, secrets are replaced by tokens
(`llm.vault`), so none leaves the machine.

Threading: one run, one event loop. Failure: reported in the `EngineResult`.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from reverie.agents.scopes import ScopeContext, ScopeRoot
from reverie.clock import Clock
from reverie.errors import StoreError
from reverie.files.rooted import RootedDirectory
from reverie.jobs.model_work import costs_of
from reverie.jobs.single_file.draft import Edit, FileDraft
from reverie.llm.client import Account, EngineResult, ModelClient, end_of
from reverie.llm.loop import AgentLimits
from reverie.llm.prompts import random_mark
from reverie.llm.provider import ProviderError, ToolCall, ToolOutcome
from reverie.llm.trace import Trace, TraceHead
from reverie.llm.vault import Vault
from reverie.runs.record import RunKind, RunRecord
from reverie.runs.run import (
    SWITCHED_OFF,
    Costs,
    Job,
    Plan,
    RunContext,
    RunDependencies,
    RunEnd,
)
from reverie.runs.stops import TimedOut
from reverie.text.redact import in_texts, redact
from reverie.values import Struct, field, replace


class FileTarget(Protocol):
    """The file that a run edits; `rel` is its path below `root`."""

    @property
    def root(self) -> ScopeRoot: ...
    @property
    def rel(self) -> str: ...
    @property
    def file(self) -> Path: ...


class FileTask(Struct, frozen=True, kw_only=True):
    """The input of one run that edits a file."""

    target: FileTarget
    context: ScopeContext
    workspace_id: str
    """The workspace or session whose messages are read."""
    workspace_name: str
    trigger: str
    """The reason for the run, as an identifier."""
    message_id: str = ""
    """The message that triggered the run; empty if no message did."""
    time_limit_s: float
    """The time limit of the engine in seconds."""
    run_id: str = ""
    """The id of the run; set, like `deadline`, when the run begins."""
    deadline: float = 0.0
    """The end of the time limit, on the clock of `time.monotonic`."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Details to store in the run's record."""


Task = TypeVar("Task", bound=FileTask)
TaskIn = TypeVar("TaskIn", bound=FileTask, contravariant=True)
Draft = TypeVar("Draft", bound=FileDraft)
DraftIn = TypeVar("DraftIn", bound=FileDraft, contravariant=True)
Hide = Callable[[Any], Any]
"""A function that returns a JSON value without the secrets in its texts."""


class FileEngine(Protocol[TaskIn, DraftIn]):
    """The part of a run that edits the draft: rules or a model.

    `name` is `rules` or `PROVIDER:MODEL`. Failures of a model are reported in the `EngineResult`; only bugs
    are raised.
    """

    @property
    def name(self) -> str: ...

    async def edit(self, task: TaskIn, draft: DraftIn, cancelled: Callable[[], bool]) -> EngineResult:
        """Edit the draft until the work is done or `cancelled()` returns True."""


def json_of(value: Any) -> str:
    """Return `value` as JSON in the form that JavaScript's `JSON.stringify` writes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class _Engine(Generic[Task, Draft]):
    """The parts that both engines of a job share."""

    kind: ClassVar[RunKind]
    """The kind of run that the traces record."""

    def input_of(self, task: Task, hide: Hide) -> Mapping[str, Any]:
        """Return further parts of the input for the trace, with secrets removed by `hide`."""
        return {}

    def _document(self, task: Task, trace: Trace, head: TraceHead, hide: Hide) -> Mapping[str, Any]:
        return {**trace.to_document(head), **self.input_of(task, hide)}

    def _head(self, task: Task, existing: str) -> TraceHead:
        """Return the head of the run's trace; `existing` is the file before the run, without secrets."""
        return TraceHead(
            run_id=task.run_id,
            kind=self.kind,
            workspace_id=task.workspace_id,
            workspace_name=task.workspace_name,
            trigger_message_id=task.message_id,
            timeout_ms=round(task.time_limit_s * 1000),
            existing_memory=existing,
        )


class FileRulesEngine(_Engine[Task, Draft]):
    """The rules engine of a job; implements `FileEngine`.

    `find` yields the statements or corrections in a message of a person.
    """

    name = "rules"

    def __init__(self, find: Callable[[str], Iterable[str]], clock: Clock) -> None:
        self._find = find
        self._clock = clock

    @abstractmethod
    def call(self, task: Task, draft: Draft) -> tuple[str, Mapping[str, Any], Edit | None]:
        """Return the tool call that makes the edit: its name, its arguments and the edit.

        The edit is None if there is nothing to edit.
        """

    async def edit(self, task: Task, draft: Draft, cancelled: Callable[[], bool]) -> EngineResult:
        if cancelled():
            return EngineResult("cancelled")
        name, arguments, edit = self.call(task, draft)
        trace = Trace(redact, clock=self._clock)
        trace.begin(self.name, "", ())
        trace.call_begins()
        before, refused = draft.text, None
        try:
            if edit is not None:
                draft.edit(edit)
        except StoreError as error:
            refused = error
        if edit is None or refused is not None or draft.text != before:
            words = "There was nothing to edit." if edit is None else "Edited."
            outcome = ToolOutcome(words, wrote=edit is not None)
            if refused is not None:
                outcome = ToolOutcome(str(refused), is_error=True)
            trace.call_ends(ToolCall("call-1-1", name, ""), arguments, outcome)
        end = EngineResult("failed" if refused else "completed", refused)
        trace.end(end.outcome, None, refused)
        head = self._head(task, redact(draft.original))
        hide = lambda value: in_texts(value, redact)  # noqa: E731
        return replace(end, account=Account(trace=self._document(task, trace, head, hide)))


class FileModelEngine(_Engine[Task, Draft]):
    """The engine that lets a model edit the draft of one file; implements `FileEngine`.

    The model edits by calling the tools of the draft. `instructions`: the home's own instructions for the
    model; if empty, Reverie's built-in ones are used.
    """

    max_steps: ClassVar[int]
    """The largest number of steps (requests to the model) in all attempts together."""
    attempt_steps: ClassVar[int]
    """The largest number of steps in one attempt."""
    max_output_tokens: ClassVar[int]

    def __init__(self, asking: ModelClient, instructions: str = "") -> None:
        self.name = asking.name
        self._asking = asking
        self._instructions = instructions

    @abstractmethod
    def conversation(self, task: Task) -> Any:
        """Return the conversation, as JSON data, that the model gets."""

    @abstractmethod
    def prompts(self, task: Task, text: str, mark: str) -> tuple[str, str]:
        """Return the system prompt and the user message.

        `text` is that of the file. `mark` is the random part of the delimiters around quoted input, so that
        no quoted text can contain the closing delimiter.
        """

    @classmethod
    def limits(cls, deadline: float) -> AgentLimits:
        """Return the limits for all attempts together. `deadline` is on the clock of `time.monotonic`."""
        return AgentLimits(cls.max_steps, deadline, cls.max_output_tokens, attempt_steps=cls.attempt_steps)

    async def edit(self, task: Task, draft: Draft, cancelled: Callable[[], bool]) -> EngineResult:
        vault = Vault()
        vault.learn(draft.text)
        vault.learn(self.conversation(task))
        trace = Trace(vault.scrub, clock=self._asking.clock)
        system, message = self.prompts(task, draft.text, random_mark())
        try:
            result = await self._asking.ask(
                system,
                message,
                draft.tools(),
                self.limits(task.deadline),
                vault,
                trace,
                cancelled=cancelled,
                follow_up=draft.follow_up,
            )
        except ProviderError as refused:
            return EngineResult("failed", refused)
        account = self._asking.account(
            self._head(task, vault.hide(draft.original)),
            result.usage,
            lambda head: self._document(task, trace, head, vault.hide_in),
        )
        return end_of(result, account, max_steps=self.max_steps, attempts=draft.attempts)


class SingleFileJob(Job[Draft], Generic[Draft, Task]):
    """One run of a job that edits one file (`runs.run`): runs the engine on a draft and checks the result.

    The caller must ensure that no other run of the workspace is active. `still_wanted` returns whether the
    job is still switched on. Threading and failure: see `runs.run`.
    """

    attempts = 5
    title: ClassVar[str]
    """What to call the job in a sentence."""
    keeps_part: ClassVar[bool]
    """True if the edits that were made before a failure of the engine are applied."""
    next_step: ClassVar[str]
    """What a person can do if the edits no longer fit the file."""

    def __init__(
        self,
        parts: RunDependencies,
        task: Task,
        engine: FileEngine[Task, Draft],
        *,
        still_wanted: Callable[[], bool],
    ) -> None:
        self._parts = parts
        self._engine = engine
        self._still_wanted = still_wanted
        self._files = RootedDirectory(task.target.root.directory)
        self._end = EngineResult("failed", attempts=0)
        self.task = task
        self.draft: Draft | None = None
        """The draft; None before the engine has run."""
        self.trace: Mapping[str, Any] | None = None
        """The trace as stored; None before the run has ended."""
        self.workspace_id = task.workspace_id
        self.project_path = task.context.project_path
        self.trigger = task.trigger
        self.engine = engine.name
        self.purpose = f"{self.title} ({task.workspace_id})"
        self.time_limit_s = task.time_limit_s
        self.details = task.details

    @property
    def timed_out(self) -> bool:
        """True if the engine ran out of time."""
        return self._end.outcome == "time-limit"

    @property
    def nothing_new(self) -> str:
        """The summary of a run with edits that the file already contains."""
        return "There is nothing new to note."

    @abstractmethod
    def new_draft(self) -> Draft:
        """Return a draft of the file as it is now."""

    @abstractmethod
    def plan(self, draft: Draft) -> Plan:
        """Return the plan that writes the draft. Raises `StoreError` if the draft is not acceptable."""

    def without_edits(self, draft: Draft) -> Plan:
        """Return the plan of a run in which the engine ended well and edited nothing."""
        return Plan(self.nothing_new, outcome="unchanged")

    async def think(self, run: RunContext) -> Draft | Plan:
        """Run the engine on a new draft; return the draft, or a plan without changes.

        Raises the reason why the engine stopped.
        """
        draft = self.draft = self.new_draft()
        task = replace(self.task, run_id=run.id, deadline=run.limits.deadline)
        end = self._end = await self._engine.edit(task, draft, run.limits.cancelled)
        run.limits.check()
        if not (draft.changed and self.keeps_part):
            if self.timed_out:
                raise TimedOut
            if end.error is not None:
                raise end.error
        if not draft.changed:
            return self.without_edits(draft)
        return draft if self._still_wanted() else SWITCHED_OFF

    def accept(self, thought: Draft, run: RunContext) -> Plan:
        """Return a plan that writes the draft on top of the file's present content."""
        if not self._still_wanted():  # the run may have waited long for another one
            return SWITCHED_OFF
        try:
            thought.refresh()
        except StoreError as error:
            if error.reason != thought.reason:
                raise
            # The next step in a refusal addresses a model, not a person.
            raise StoreError(
                error.title, cause=error.cause, next_step=self.next_step, reason=error.reason
            ) from error
        return self.plan(thought) if thought.changed else Plan(self.nothing_new)

    def costs(self) -> Costs:
        """Return the costs of the engine so far."""
        return costs_of(self._end.account)

    def found(self) -> Mapping[str, Any]:
        """Return the number of attempts for the run record; empty if the engine made none."""
        return {"attempts": self._end.attempts} if self._end.attempts else {}

    def document(self, trace: Mapping[str, Any], record: RunRecord, end: RunEnd) -> Mapping[str, Any]:
        """Return the trace with paths and outcome added; also store it in the attribute `trace`."""
        self.trace = {
            **super().document(trace, record, end),
            "runStartedAt": record.started_at,
            "didWriteMemory": bool(end.changed),
            "projectPath": self.task.context.project_path or "",
            "memoryPath": str(self.task.target.file),
        }
        return self.trace

    def read(self) -> bytes | None:
        """Return the content of the file on disk; None if there is no file."""
        rel = self.task.target.rel
        return None if self._files.entry(rel) is None else self._files.read(rel)
