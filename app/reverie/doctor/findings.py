"""The result of a check: a state, the evidence for it in words, and a fix if one click can apply it.

Plain values. A fix changes only Reverie's own files and settings, and the permissions and names of files that
Reverie writes in a home; never the agent's configuration or transcripts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from reverie.text.summaries import Phrase
from reverie.values import Struct

State = Literal["pass", "off", "warn", "fail"]
"""The result of a check: passed, a feature that is switched off (no problem), a warning, or a failure."""


class FixOffer(Struct, frozen=True):
    """The description of a fix without the function that applies it, for a client that shows it.

    `label`: the text of the button; `evidence`: a text to which a person must agree first, empty if a click
    is enough.
    """

    label: Phrase
    evidence: str = ""


class FindingView(Struct, frozen=True):
    """A `Finding` for a client that cannot apply its fix: the fix has no function, only a description."""

    check: str
    title: Phrase
    state: State
    evidence: Phrase
    fix: FixOffer | None = None
    remedy: Remedy = ""


class Fix(Struct, frozen=True):
    """A repair that a person can apply with one click."""

    label: Phrase
    """The text of the button."""
    apply: Callable[[], None]
    """A function that applies the fix; it blocks on disk and raises `UserError`.

    The checks must be run again afterwards.
    """
    evidence: str = ""
    """A text to which a person must agree first; empty if a click is enough."""


Remedy = Literal["", "model", "key"]
"""The setting that a person should change to solve a problem: the model, its key, or neither ("")."""

Verdict = (
    tuple[State, Phrase]
    | tuple[State, Phrase, Fix | None]
    | tuple[State, Phrase, Fix | None, Phrase]
    | tuple[State, Phrase, Fix | None, Phrase | None, Remedy]
)
"""The parts of a verdict: state, evidence, fix, a title that replaces the check's own, remedy."""


class Finding(Struct, frozen=True):
    """The result of one check of the Doctor, which finds out why a run did nothing."""

    check: str
    """The name of the check, for scripts."""
    title: Phrase
    """The observed fact."""
    state: State
    evidence: Phrase
    """Observations as sentences, with advice if no fix can help."""
    fix: Fix | None = None
    """The repair that one click applies; None if there is none."""
    remedy: Remedy = ""
    """The setting that a person should change, `model` or `key`; empty for none."""

    @property
    def view(self) -> FindingView:
        """The same finding without the function that applies its fix, so that it can be sent to a client."""
        fix = None if self.fix is None else FixOffer(self.fix.label, self.fix.evidence)
        return FindingView(self.check, self.title, self.state, self.evidence, fix, self.remedy)

    def as_json(self) -> dict[str, Any]:
        """Return the finding in the stable JSON format of `reverie doctor` (design.md section 5).

        The state `off` becomes `warn`, because scripts know only `pass`, `warn` and `fail`.
        """
        return {
            "check": self.check,
            # Scripts know three states (design.md section 5); an option that nobody turned on is not a
            # failure.
            "state": "warn" if self.state == "off" else self.state,
            "evidence": self.evidence,
            "fix": self.fix.label if self.fix is not None else None,
        }
