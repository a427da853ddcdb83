"""What an agent would be told, as values: parts, what is in each of them and why, the text itself.

The same for every agent, so that the window and the command know none. Frozen; safe to hand between threads.
Sizes are bytes, tokens estimated as design.md section 5 says unless the agent counts otherwise, times UTC ms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from reverie.homes.scopes import Scope
from reverie.memory.lint import LintFinding

State = Literal["in", "cut", "out"]

PartKey = Literal["index", "hot-set", "summary", "index-file", "instructions", "lessons", "recorded"]
"""`recorded`: what a session that began before has in its context, as its agent recorded it. It is no part of
what would be loaded now, and its size does not count."""

Reason = Literal[
    "listed", "loaded", "pinned", "used", "cut", "override", "falls-off",
    "unseen", "unused", "unreadable", "not-text", "not-utf8", "bytes", "tokens", "items", "tries", "empty",
    "missing", "overridden", "older", "on-demand", "elsewhere", "unlisted", "line", "lesson", "prior",
    "newest-only",
    "recorded-same", "recorded-changed", "recorded-gone", "recorded-new",
    "recorded-other", "recorded-only", "recorded-missed",
    "recalled", "recall-index", "recall-long",
    "approval", "replaced", "excluded", "too-large", "made-new", "credential",
]  # fmt: skip
"""Why something is in or out. In: `listed` in the index, `loaded` because the agent always loads it,
`pinned`, `used`, `override` (instead of another), `cut` (a part of it). Out: see `memory.hotset.SkipReason`;
`not-utf8`: the agent loads nothing of a file that is not valid UTF-8;
`unseen`: the agent does not see the file, `detail` says why; `older`: only older versions of the agent load
it; `falls-off`: beyond the cut line; `line`: its line in the index is loaded; `unlisted`: no line names it;
`elsewhere`: another part of the agent reads it; `approval`: only if a person agreed to the import;
`replaced`: another file counts in its place; `excluded` by a setting; `too-large`; `made-new`: the agent
writes the missing file when a session starts; `credential`: the agent loads it, Reverie does not open it.
Of a recorded session: `recorded-same`, a new one would load
the same; `-changed`, `-gone`, `-new` since the record; `-other` (other text), `-only` (recorded, not
predicted) and `-missed` (predicted, not recorded) though no change explains it. `recalled`: chosen for some
prompts; `recall-index`: not loaded in that mode; `recall-long`: longer than what reaches the model."""

Note = Literal[
    "hot-set-experiment", "codex-off", "own-words", "one-after-another", "memory-off", "cut-warning",
    "no-goal", "lessons-off", "index-lines", "codex-v1", "codex-v2", "codex-pieces",
    "recorded", "session-runs", "rules-agree", "rules-differ", "recall-mode", "recall-long",
    "agent-differs", "loads-nothing", "moved-by-project",
]  # fmt: skip
"""What one should know of a part as a whole; `detail` of the part says more where there is more to say."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that is loaded, or is not. `path`: a memory path, or the name of a file. `bytes` and `tokens`
    are what is loaded of its `size`; `score` None where nothing is scored; `line` (from 1) in the part's
    file, 0 for none."""

    path: str
    state: State
    reason: Reason
    size: int = 0
    bytes: int = 0
    tokens: int = 0
    score: float | None = None
    pinned: bool = False
    pin_unknown: bool = False
    """The running agent has not read yet that it was pinned or unpinned."""
    scope: Scope | None = None
    file: Path | None = None
    description: str = ""
    detail: str = ""
    line: int = 0
    marks: tuple[LintFinding, ...] = ()
    text: str = field(default="", repr=False)
    """What is loaded of a file that is loaded as text of its own; empty for anything else."""

    @property
    def is_memory(self) -> bool:
        return self.scope is not None


@dataclass(frozen=True, slots=True)
class Gauge:
    """How much of a budget is used; `cap` 0 for none."""

    unit: Literal["bytes", "tokens", "items", "lines", "chars", "files", "lessons"]
    used: int
    cap: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of the context. `text` is what is loaded, empty for nothing. `cut_line` (from 1): the line of
    the part's file at which the agent stops reading. `marked` (from 1): the lines of `text` that one may want
    to look at."""

    key: PartKey
    entries: tuple[Entry, ...]
    gauges: tuple[Gauge, ...]
    text: str
    notes: tuple[Note, ...] = ()
    detail: str = ""
    cut_line: int | None = None
    marked: tuple[int, ...] = ()

    @property
    def loaded(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.state != "out")


@dataclass(frozen=True, slots=True)
class ContextView:
    """Everything an agent of this kind would be told at the time `at`."""

    agent: str
    at: int
    parts: tuple[Part, ...]
    bytes: int
    tokens: int

    @classmethod
    def of(cls, agent: str, at: int, parts: tuple[Part, ...]) -> ContextView:
        """The view of these parts; the first two gauges of each are bytes and tokens."""
        counted = [part for part in parts if part.key != "recorded"]
        used = [sum(part.gauges[number].used for part in counted) for number in (0, 1)]
        return cls(agent, at, parts, *used)

    def part(self, key: PartKey) -> Part | None:
        """The part with this key, where the agent has it."""
        return next((part for part in self.parts if part.key == key), None)
