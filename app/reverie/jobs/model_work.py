"""What the jobs that ask a model have in common: one run of the agent loop under the limits of a run, and the
account of all of them.

A job that asks several times (an attempt anew, a part of a transcript) has one account. Every ending that is
not a plain one is raised, so that it keeps its name. What was spent and the traces are kept in each case.

Threading: one run, one event loop. Failure: `ProviderError` and the other `UserError`s, `TimedOut`, and what
`StopCheck.check` raises, which the loop asks every 50 ms.
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

# The text of one file as a run sees and leaves it.
#
# Every edit is remembered, so that it is made again on what somebody else wrote meanwhile; the transaction of
# the run then compares and swaps against exactly that (`runs.run`). What no longer fits is an error, never
# forced. A secret that the file does not hold already never gets into it, whatever a model does: each later
# session reads that file.
#
# Not thread-safe: one run, one draft. Failure: `StoreError`, from which a model can recover.


Edit = Callable[[str], str]
"""Makes a new text of the one that is there; raises `StoreError` where that is not possible."""


class FileDraft(ABC):
    """`read` gives the bytes of the file now, None for no file. What a text may be, and the words of a
    refusal, are those of the kind of file."""

    def __init__(self, read: Callable[[], bytes | None]) -> None:
        self._read = read
        self._before = read()
        self._base = self._text = self._decoded(self._before)
        self._edits: list[Edit] = []
        self.original = self._text
        """What the file said when the run first read it."""

    @property
    def text(self) -> str:
        return self._text

    @property
    def base(self) -> str:
        """The text on disk that the draft builds on."""
        return self._base

    @property
    def exists(self) -> bool:
        return self._before is not None or bool(self._edits)

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

    def refresh(self) -> None:
        """Look at the disk again; what was edited on top of an older version is edited again. Raises
        `StoreError` where that is not possible: then the draft is what stands on disk."""
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
        """One edit, on what stands on disk now. Raises `StoreError`."""
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
        """What the bytes on disk say, and what a missing file begins with. Raises `StoreError`."""

    @abstractmethod
    def _require_room(self, text: str) -> None:
        """Raises `StoreError` for a text that is longer than it may grow."""

    @abstractmethod
    def _no_longer_fits(self) -> StoreError: ...

    @abstractmethod
    def _holds_a_secret(self) -> StoreError: ...


def in_newline_style(text: str, old: str, new: str) -> tuple[str, str]:
    """A replacement as it was given, or, where `old` is not found so, with the line ends of `text`."""
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
    """An engine that asks a model. The provider is opened once for each `_ask`."""

    kind: ClassVar[str]
    """What its traces are of."""

    def __init__(self, asking: ModelClient, *, workspace_name: str = "") -> None:
        self.name = asking.name
        self._asking = asking
        self._workspace_name = workspace_name
        self._usage: TokenUsage | None = None
        self._traces: list[Trace] = []
        self._timeout_ms = 0

    def account(self) -> Account:
        """What was spent so far, all in all, and the trace."""
        head = TraceHead(
            run_id="", kind=self.kind, workspace_name=self._workspace_name, timeout_ms=self._timeout_ms
        )
        return self._asking.account(head, self._usage, self._document if self._traces else None)

    def _document(self, head: TraceHead) -> Mapping[str, Any]:
        """The trace that is kept: that of the last time."""
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
        """One run of the loop. Raises the error that ended it, and `TimedOut`."""
        trace, before = Trace(vault.scrub, clock=self._asking.clock), self._usage
        self._traces.append(trace)
        self._timeout_ms = limits.allowed_ms

        def on_event(event: AgentEvent) -> None:
            if event.kind == "turn" and event.usage is not None:
                self._usage = event.usage if before is None else before + event.usage
            observer(event)

        def stopped() -> bool:
            """Never true: what stops the run is raised, so that it keeps its name."""
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
    """The account as a run keeps it."""
    return Costs(*spent(account), account.trace)


def last_line(text: str) -> str:
    """The last line of an answer that says something, as a summary; empty for none."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return lines[-1][:_SUMMARY_CHARS] if lines else ""


def step_of(event: AgentEvent) -> str:
    """What a call of a memory command is about, for progress."""
    return f"{event.arguments.get('command', event.tool)} {event.arguments.get('path') or ''}".strip()
