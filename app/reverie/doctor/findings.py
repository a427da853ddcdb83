"""What a check comes to: a state, the evidence for it in words, and a fix where one press can mend it.

Plain values. A fix changes only what belongs to Reverie, and the modes and names of files that Reverie writes
in a home; never the agent's configuration or transcripts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from reverie.clock import DAY_MS, HOUR_MS

State = Literal["pass", "off", "warn", "fail"]
"""`off`: something that a person may switch on, and that nobody has switched on; nothing is wrong."""


@dataclass(frozen=True, slots=True)
class ProbeFacts:
    """One step of a real test of the model."""

    name: str
    state: str
    sentence: str


@dataclass(frozen=True, slots=True)
class FixOffer:
    """What a person is told of a fix before it is applied; `evidence` as in `Fix`."""

    label: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class FindingView:
    """A `Finding` for who cannot apply its fix: all of it but that."""

    check: str
    title: str
    state: State
    evidence: str
    fix: FixOffer | None = None


AnyFinding = TypeVar("AnyFinding", "Finding", FindingView)


@dataclass(frozen=True, slots=True)
class Fix:
    """What one press does: `label` says it as a command; `apply` blocks on disk and raises `UserError`.
    Look again after it."""

    label: str
    apply: Callable[[], None]
    evidence: str = ""
    """What a person has to read and agree to first; empty where the press itself is enough."""


Verdict = tuple[State, str] | tuple[State, str, Fix | None]
"""How a check ended, what was seen, and what mends it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One check. `check` is its name for scripts, `title` for people; `evidence` is what was seen, in
    sentences, with what to do where no fix can do it."""

    check: str
    title: str
    state: State
    evidence: str
    fix: Fix | None = None

    @property
    def view(self) -> FindingView:
        """What is shown of it."""
        fix = None if self.fix is None else FixOffer(self.fix.label, self.fix.evidence)
        return FindingView(self.check, self.title, self.state, self.evidence, fix)

    def as_json(self) -> dict[str, Any]:
        """The stable shape of `reverie doctor` (design.md section 5)."""
        return {
            "check": self.check,
            # Scripts know three states (design.md section 5); what nobody turned on is no failure.
            "state": "warn" if self.state == "off" else self.state,
            "evidence": self.evidence,
            "fix": self.fix.label if self.fix is not None else None,
        }


def first_cause(findings: Iterable[AnyFinding]) -> AnyFinding | None:
    """Why nothing happened: the first failure in the order of the gates, else the first warning; None: no
    reason is known. What is only switched off is no cause."""
    found = tuple(findings)
    failed = next((finding for finding in found if finding.state == "fail"), None)
    return failed or next((finding for finding in found if finding.state == "warn"), None)


# Times and sizes as the findings say them. Pure.


MINUTE_MS = 60_000
_MIB = 1 << 20


def ago(now: int, then: int) -> str:
    """An age in the largest unit that fits."""
    age = now - then
    if age < -MINUTE_MS:
        return f"{_length(-age)} in the future"
    return "just now" if age < MINUTE_MS else f"{_length(age)} ago"


def _length(span: int) -> str:
    for unit, length in (("days", DAY_MS), ("hours", HOUR_MS), ("minutes", MINUTE_MS)):
        if span >= length:
            count = span // length
            return f"{count} {unit if count != 1 else unit[:-1]}"
    return "less than a minute"


def size(count: int) -> str:
    """Bytes, rounded down."""
    if count >= 1 << 30:
        return f"{count / (1 << 30):.1f} GiB"
    return f"{count / _MIB:.1f} MiB" if count >= _MIB else f"{count:,} bytes"
