"""Base classes of jobs that use a model: the draft of one file, and runs of the agent loop with one account.

A job that runs the loop several times (for another attempt, or for the parts of a transcript) has one
account. If the loop does not complete, its error is raised. The usage and the traces are recorded in either
case.

Threading: one run, one event loop. Failure: `ProviderError` and the other `UserError`s, `TimedOut`, and
whatever `StopCheck.check` raises; the loop calls it every 50 ms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from reverie.errors import StoreError
from reverie.llm.client import Account, ModelClient, spent
from reverie.llm.loop import AgentEvent, AgentLimits, AgentResult
from reverie.llm.provider import TokenUsage
from reverie.llm.tools import Tool
from reverie.llm.trace import Trace, TraceHead
from reverie.llm.vault import Vault
from reverie.runs.run import Costs
from reverie.runs.stops import StopCheck, TimedOut
from reverie.text.redact import find_secrets

Edit = Callable[[str], str]
"""A function from the present text to the new one; raises `StoreError` if the edit does not apply."""


class FileDraft(ABC):
    """Draft of one file: the content on disk with the edits of one run applied.

    `read` returns the current bytes of the file, None if there is no file. Subclasses decide which texts are
    allowed, and write the messages of refusals.

    The draft records every edit and applies it again if another program writes the file meanwhile. The run's
    transaction then writes by compare-and-swap against exactly that version (`runs.run`). An edit that no
    longer applies is an error and is never forced. No edit can add a secret that is not yet in the file,
    because each later session reads the file.

    Not thread-safe: each run has its own draft. Failure: `StoreError`, from which a model can recover.
    """

    def __init__(self, read: Callable[[], bytes | None]) -> None:
        self._read = read
        self._before = read()
        self._base = self._text = self._decoded(self._before)
        self._edits: list[Edit] = []
        self.original = self._text
        """The text of the file when the run first read it."""

    @property
    def text(self) -> str:
        """The text with all edits applied."""
        return self._text

    @property
    def base(self) -> str:
        """The text on disk to which the edits are applied."""
        return self._base

    @property
    def exists(self) -> bool:
        """Whether the file exists on disk or has been edited in this draft."""
        return self._before is not None or bool(self._edits)

    @property
    def before(self) -> bytes | None:
        """The bytes on disk to which the edits are applied; None if there is no file."""
        return self._before

    @property
    def after(self) -> bytes:
        """The edited text in UTF-8."""
        return self._text.encode("utf-8")

    @property
    def changed(self) -> bool:
        """Whether the edited text differs from the text on disk."""
        return self._text != self._base

    def refresh(self) -> None:
        """Read the file again and, if it has changed, apply the edits to the new version.

        Raises `StoreError` if an edit no longer applies; the draft is then the file on disk, without edits.
        """
        now = self._read()
        if now == self._before:
            return
        edits, self._edits = self._edits, []
        self._before, self._base = now, self._decoded(now)
        text = self._text = self._base
        for edit in edits:
            try:
                text = edit(text)
            except StoreError:
                raise self._no_longer_fits() from None
        self._text, self._edits = text, edits

    def edit(self, edit: Edit) -> None:
        """Refresh the draft, apply one edit and record it.

        Raises `StoreError` if the edit does not apply, makes the text too long or adds a secret.
        """
        self.refresh()
        text = edit(self._text)
        if len(text) > len(self._text):
            self._require_room(text)
        if not _secrets(text) <= _secrets(self._base):
            raise self._holds_a_secret()
        self._text = text
        self._edits.append(edit)

    @abstractmethod
    def _decoded(self, data: bytes | None) -> str:
        """Decode the bytes on disk, or return the initial text for a missing file (None).

        Raises `StoreError`.
        """

    @abstractmethod
    def _require_room(self, text: str) -> None:
        """Raise `StoreError` if `text` is longer than the file may be."""

    @abstractmethod
    def _no_longer_fits(self) -> StoreError: ...

    @abstractmethod
    def _holds_a_secret(self) -> StoreError: ...


def in_newline_style(text: str, old: str, new: str) -> tuple[str, str]:
    """Return `old` and `new` with the line endings of `text`.

    If `old` occurs in `text` as given, both are returned unchanged.
    """
    if old in text:
        return old, new
    newline = "\r\n" if "\r\n" in text else "\n"

    def styled(part: str) -> str:
        return part.replace("\r\n", "\n").replace("\n", newline)

    return styled(old), styled(new)


def _secrets(text: str) -> set[str]:
    return {text[secret.start : secret.end] for secret in find_secrets(text)}


_SUMMARY_CHARS = 300


class ModelWork:
    """Base class of an engine that uses a model, with the account of its requests.

    The provider is opened once for each call of `_ask`.
    """

    kind: ClassVar[str]
    """The kind of run that its traces record."""

    def __init__(self, asking: ModelClient, *, workspace_name: str = "") -> None:
        self.name = asking.name
        self._asking = asking
        self._workspace_name = workspace_name
        self._usage: TokenUsage | None = None
        self._traces: list[Trace] = []
        self._timeout_ms = 0

    def account(self) -> Account:
        """Return the total usage and cost so far, with the trace."""
        head = TraceHead(
            run_id="", kind=self.kind, workspace_name=self._workspace_name, timeout_ms=self._timeout_ms
        )
        return self._asking.account(head, self._usage, self._document if self._traces else None)

    def _document(self, head: TraceHead) -> Mapping[str, Any]:
        """Return the trace document to store; by default that of the last run of the loop."""
        return self._traces[-1].to_document(head)

    async def _ask(
        self,
        limits: StopCheck,
        agent_limits: AgentLimits,
        vault: Vault,
        *,
        system: str,
        task: str,
        tools: Sequence[Tool] = (),
        observer: Callable[[AgentEvent], None] = lambda _event: None,
        follow_up: Callable[[str], str | None] = lambda _text: None,
        answer_schema: Mapping[str, Any] | None = None,
    ) -> AgentResult:
        """Run the agent loop once; add its usage and trace to the account.

        `observer` gets the events of the loop; `follow_up` returns a further message after the model ends, or
        None; `answer_schema` is the JSON schema of the final answer. Raises the error that ended the loop, or
        `TimedOut`.
        """
        trace, before = Trace(vault.scrub, clock=self._asking.clock), self._usage
        self._traces.append(trace)
        self._timeout_ms = limits.allowed_ms

        def on_event(event: AgentEvent) -> None:
            if event.kind == "turn" and event.usage is not None:
                self._usage = event.usage if before is None else before + event.usage
            observer(event)

        def stopped() -> bool:
            """Raise if the run must stop; otherwise return False.

            Raising the reason, instead of returning True, makes it the error of the run.
            """
            limits.check()
            return False

        result = await self._asking.ask(
            system,
            task,
            tools,
            agent_limits,
            vault,
            trace,
            cancelled=stopped,
            follow_up=follow_up,
            observer=on_event,
            answer_schema=answer_schema,
        )
        if result.outcome == "time-limit":
            raise TimedOut
        if result.error is not None:
            raise result.error
        return result


def costs_of(account: Account) -> Costs:
    """Convert an account to the costs of a run."""
    return Costs(*spent(account), account.trace)


def last_line(text: str) -> str:
    """Return the last non-blank line of an answer, at most 300 characters; empty if there is none."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return lines[-1][:_SUMMARY_CHARS] if lines else ""


def step_of(event: AgentEvent) -> str:
    """Return the command (or tool) and path of a tool call, as text for a progress step."""
    return f"{event.arguments.get('command', event.tool)} {event.arguments.get('path') or ''}".strip()
