"""What an agent loads, as values: parts, what is in each of them and why, the text itself; and glances, which
say what changed since a person last looked.

The same for every agent, so that the window and the command know none. Sizes are bytes, tokens estimated as
design.md section 5 says unless the agent counts otherwise, times UTC ms.

Threading: frozen, safe to hand between threads; `Glances` blocks on disk. Failure: `UserError`; a glance that
cannot be understood counts as none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from reverie.agents.base import LoadState
from reverie.agents.scopes import Scope, ScopeContext
from reverie.clock import Clock
from reverie.files.sidecar import Sidecar
from reverie.memory.listing import LintFinding
from reverie.values import Struct

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
    "not-imported", "moved-outside",
]  # fmt: skip
"""Why something is in or out. In: `listed` in the index, `loaded` because the agent always loads it,
`pinned`, `used`, `override` (instead of another), `cut` (a part of it). Out: see `memory.usage.SkipReason`;
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
    "agent-differs", "loads-nothing", "moved-by-project", "memory-outside",
]  # fmt: skip
"""What one should know of a part as a whole; `detail` of the part says more where there is more to say."""


@dataclasses.dataclass(frozen=True, slots=True)
class ContextEntry:
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
    text: str = dataclasses.field(default="", repr=False)
    """What is loaded of a file that is loaded as text of its own; empty for anything else."""

    @property
    def is_memory(self) -> bool:
        return self.scope is not None


class Gauge(Struct, frozen=True):
    """How much of a budget is used; `cap` 0 for none."""

    unit: Literal["bytes", "tokens", "items", "lines", "chars", "files", "lessons"]
    used: int
    cap: int = 0


class ContextPart(Struct, frozen=True):
    """One piece of the context. `text` is what is loaded, empty for nothing. `cut_line` (from 1): the line of
    the part's file at which the agent stops reading. `marked` (from 1): the lines of `text` that one may want
    to look at."""

    key: PartKey
    entries: tuple[ContextEntry, ...]
    gauges: tuple[Gauge, ...]
    text: str
    notes: tuple[Note, ...] = ()
    detail: str = ""
    cut_line: int | None = None
    marked: tuple[int, ...] = ()

    @property
    def loaded(self) -> tuple[ContextEntry, ...]:
        return tuple(entry for entry in self.entries if entry.state != "out")


class ContextView(Struct, frozen=True):
    """Everything an agent of this kind would be told at the time `at`."""

    agent: str
    at: int
    parts: tuple[ContextPart, ...]
    bytes: int
    tokens: int

    @classmethod
    def of(cls, agent: str, at: int, parts: tuple[ContextPart, ...]) -> ContextView:
        """The view of these parts; the first two gauges of each are bytes and tokens."""
        counted = [part for part in parts if part.key != "recorded"]
        used = [sum(part.gauges[number].used for part in counted) for number in (0, 1)]
        return cls(agent, at, parts, *used)

    def part(self, key: PartKey) -> ContextPart | None:
        """The part with this key, where the agent has it."""
        return next((part for part in self.parts if part.key == key), None)


# Why something is in the context or not, in English, for commands; the window shows it translated.

_CONTEXT = "reverie"
"""Where `packaging/translations.py` files these texts: with those of the window."""


def _(text: str) -> str:
    """Mark a text for translation, without Qt."""
    return text


PARTS: Mapping[PartKey, str] = {
    "index": _("Index"),
    "hot-set": _("Loaded in full"),
    "summary": _("Memory summary"),
    "index-file": "MEMORY.md",
    "instructions": _("Instructions"),
    "lessons": _("Lessons"),
    "recorded": _("This session loaded"),
}
REASONS: Mapping[Reason, str] = {
    "listed": _("listed"),
    "loaded": _("always loaded"),
    "pinned": _("pinned"),
    "used": _("used often"),
    "cut": _("cut to what fits"),
    "override": _("loaded instead of AGENTS.md"),
    "falls-off": _("below the cut line"),
    "unseen": _("the agent does not see it"),
    "unused": _("neither pinned nor used"),
    "unreadable": _("it cannot be read"),
    "not-text": _("it is not text"),
    "not-utf8": _("it is not valid UTF-8, so the agent loads nothing of it"),
    "bytes": _("it does not fit the bytes that are left"),
    "tokens": _("it does not fit the tokens that are left"),
    "items": _("the set is full"),
    "tries": _("too far down in the ranking"),
    "empty": _("there is nothing in it"),
    "missing": _("there is none"),
    "overridden": _("AGENTS.override.md is loaded instead"),
    "older": _("only older versions load it"),
    "on-demand": _("loaded only when it is needed"),
    "elsewhere": _("read by another part of the agent"),
    "unlisted": _("no line of the index names it"),
    "line": _("its line is loaded"),
    "lesson": _("one of the newest lessons"),
    "prior": _("an anti-pattern"),
    "newest-only": _("only the newest lessons are sent"),
    "recorded-same": _("a new session would load the same"),
    "recorded-changed": _("changed since; a new session would load what it is now"),
    "recorded-gone": _("a new session would not load it: the file is not there"),
    "recorded-new": _("new since; a new session would load it"),
    "recorded-other": _("by Reverie's rules its text would be another, though it did not change"),
    "recorded-only": _("by Reverie's rules a new session would not load it, though it did not change"),
    "recorded-missed": _("Reverie's rules load it, this session did not"),
    "recalled": _("recalled for some prompts"),
    "recall-index": _("not loaded: the agent recalls single memories instead"),
    "recall-long": _("recalled in part: only its first 4,096 bytes reach the model"),
    "approval": _("loaded only if its import was approved"),
    "replaced": _("a CLAUDE.md is loaded instead"),
    "excluded": _("excluded in the settings"),
    "too-large": _("larger than 4 MB"),
    "credential": _("loaded, but it may hold credentials: Reverie never opens it"),
    "made-new": _("Claude Code writes it when a session starts"),
    "not-imported": _("this import loads nothing"),
    "moved-outside": _("the agent loads the one in the place that the project's own settings name"),
}
IMPORT_PROBLEMS: Mapping[str, str] = {
    "missing": _("there is no such file; a path counts from the directory of the file that names it"),
    "sign-behind": _("the sign behind it counts as part of the path"),
    "sign-before": _("the sign before the @ keeps it from being an import"),
    "blank": _("a blank ends the path; write “\\ ” in its place"),
    "kind": _("the agent imports no files of this kind"),
    "too-deep": _("imports are followed four deep, and this one is deeper"),
}
"""Why an import loads nothing, by `agents.claude.instruction_text.ImportProblem`."""
NOTES: Mapping[Note, str] = {
    "hot-set-experiment": (
        "mux loads this only where its experiment “memory-hot-set” is on; Reverie cannot see whether it is."
    ),
    "codex-off": _("Codex loads no memories here ({detail} is not on); this is what would be loaded."),
    "own-words": "The agent's fixed sentences are worded by Reverie, as long as they are.",
    "one-after-another": _("The agent puts lines of its own around each file."),
    "memory-off": _("Auto memory is off here ({detail}); this is what would be loaded."),
    "cut-warning": _("The agent stops reading at line {line} and adds a warning, in its own words."),
    "no-goal": _("Anti-patterns go by the goal of the next iteration, which nobody knows here."),
    "codex-v1": _(
        "Codex uses version 1 of its memory here and puts its own instructions around the summary."
    ),
    "codex-v2": _(
        "Codex uses version 2 of its memory here and puts its own instructions around the summary."
    ),
    "codex-pieces": _("It is so long that Codex sends it in two pieces."),
    "index-lines": _("The agent's own sentences around these lines are not shown."),
    "agent-differs": _("The agent itself gets another text: {detail}"),
    "lessons-off": _("LOKI_FAILURE_MEMORY switches the lessons off."),
    "recorded": _(
        "As the session's transcript records it. The other parts are what a new session would load."
    ),
    "session-runs": _("The session is running and keeps what it loaded. A change reaches the next session."),
    "rules-agree": _("Reverie's rules explain all of it."),
    "rules-differ": _(
        "Reverie's rules do not explain {detail} of these: a setting changed, or they are wrong."
    ),
    "recall-mode": _(
        "No index is loaded in the newest sessions; the agent chooses memories for each prompt."
    ),
    "recall-long": _("Some memories are longer than the 4,096 bytes of each that reach the model."),
    "loads-nothing": _("{detail} is set: Claude Code loads nothing here; this is what it would load."),
    "moved-by-project": _("The project's own settings put the memory here."),
    "memory-outside": "{detail}",
}


def reason(entry: ContextEntry) -> str:
    """A few words; never empty."""
    said = REASONS[entry.reason]
    if entry.reason == "unseen" and entry.detail:
        return entry.detail
    if entry.reason == "not-imported":
        return f"{said} (line {entry.line} of {entry.description}): {IMPORT_PROBLEMS[entry.detail]}"
    if entry.reason == "on-demand":
        # The home's own words say what it waits for.
        told = (sentence for sentence in entry.detail.split(". ") if "loaded only" in sentence.lower())
        said = next(told, said).removesuffix(".")
        return said[:1].lower() + said[1:]
    if entry.reason == "cut" and entry.detail:
        return f"{entry.detail} tokens of its middle are left out"
    if entry.reason in ("lesson", "newest-only") and entry.detail:
        return f"{said}, seen {entry.detail} times"
    if entry.reason == "recalled" and entry.detail:
        return f"{said} ({entry.detail} in the newest sessions)"
    if entry.reason in ("cut", "falls-off") and entry.line:
        return f"{said}: line {entry.line}"
    return said


def notes(part: ContextPart) -> list[str]:
    """What one should know of a part."""
    return [NOTES[note].format(detail=part.detail, line=part.cut_line) for note in part.notes]


# Glances: what changed in a context since a person last looked at it. A glance says which parts told of
# which files, in what state and how much; one is kept for each scope context in Reverie's own data, with
# paths and sizes only.


NAME = "context-seen.json"
_KEPT = 200

ChangeKind = Literal["came", "went", "cut", "whole", "resized"]


class Change(Struct, frozen=True):
    """One file that is told of otherwise than before."""

    part: PartKey
    path: str
    kind: ChangeKind


class Since(Struct, frozen=True):
    """What is different since `at` (UTC ms): files, and tokens in all."""

    at: int
    changes: tuple[Change, ...]
    tokens: int


def key_of(context: ScopeContext) -> str:
    """What a glance of this context is kept under."""
    return f"{context.workspace_id or ''} {context.project_path or ''}".strip()


def glance_of(view: ContextView) -> dict[str, Any]:
    """A view as it is kept."""
    return {
        "at": view.at,
        "tokens": view.tokens,
        "parts": {
            part.key: {entry.path: [entry.state, entry.bytes] for entry in part.loaded}
            for part in view.parts
            if part.key != "recorded"
        },
    }


def since(glance: Mapping[str, Any] | None, view: ContextView) -> Since | None:
    """What changed from a glance to a view; None where there was no glance."""
    if glance is None or not isinstance(glance.get("at"), int) or not isinstance(glance.get("tokens"), int):
        return None
    parts = glance.get("parts")
    before = parts if isinstance(parts, dict) else {}
    found: list[Change] = []
    for part in view.parts:
        if part.key == "recorded":
            continue  # it is the past; what changed in it shows in the other parts
        known = before.get(part.key)
        old = known if isinstance(known, dict) else {}
        now = {entry.path: (entry.state, entry.bytes) for entry in part.loaded}
        for path, (state, size) in now.items():
            kind = _kind(old.get(path), state, size)
            if kind is not None:
                found.append(Change(part.key, path, kind))
        found += [Change(part.key, path, "went") for path in old if path not in now]
    return Since(glance["at"], tuple(found), view.tokens - glance["tokens"])


def _kind(old: object, state: str, size: int) -> ChangeKind | None:
    if not isinstance(old, list) or len(old) != 2:
        return "came"
    if old[0] != state:
        return "cut" if state == "cut" else "whole"
    return "resized" if old[1] != size else None


_OFF: frozenset[Note] = frozenset({"memory-off", "codex-off", "lessons-off", "loads-nothing"})
"""Notes of a part of which the agent loads nothing; it is shown as what would be loaded."""
_WHEN_NEEDED: frozenset[Reason] = frozenset({
    "unused", "bytes", "tokens", "items", "tries", "falls-off", "unlisted", "on-demand", "newest-only",
    "recalled", "recall-index", "recall-long",
})  # fmt: skip
_MOST_FIRST: tuple[LoadState, ...] = ("full", "part", "line", "listed", "needed")


def load_state(entry: ContextEntry) -> LoadState | None:
    """Return how much of an entry's file a new session loads; None where it loads nothing of it, ever."""
    if entry.reason == "credential":
        return "full"  # it is loaded, although Reverie does not open it
    if entry.state == "out":
        return "needed" if entry.reason in _WHEN_NEEDED else None
    if entry.reason in ("line", "listed"):
        return "line" if entry.reason == "line" else "listed"
    return "part" if entry.state == "cut" or entry.reason == "lesson" else "full"


def load_states(view: ContextView) -> dict[str, LoadState]:
    """Return how much of each file a new session loads, by memory path, or by the path on disk of a file
    beside the memories. A file that no session loads anything of is left out."""
    found: dict[str, LoadState] = {}
    for part in view.parts:
        if part.key == "recorded" or not _OFF.isdisjoint(part.notes):
            continue
        for entry in part.entries:
            key = entry.path if entry.is_memory else str(entry.file or "")
            state = load_state(entry)
            if key and state is not None:
                found[key] = min(state, found.get(key, state), key=_MOST_FIRST.index)
    return found


class Glances:
    """The glances of one home, the latest `_KEPT` contexts."""

    def __init__(self, directory: Path, *, lock_dir: Path, clock: Clock) -> None:
        self._sidecar = Sidecar(directory / NAME, lock_dir=lock_dir, clock=clock)

    def read(self, context: ScopeContext) -> Mapping[str, Any] | None:
        """What a person saw of this context last; None for never."""
        found = self._sidecar.read().data.get(key_of(context))
        return found if isinstance(found, dict) else None

    def keep(self, context: ScopeContext, view: ContextView) -> None:
        """This is what was seen last."""
        key, glance = key_of(context), glance_of(view)

        def change(data: dict[str, Any]) -> dict[str, Any] | None:
            if data.get(key) == glance:
                return None
            data.pop(key, None)
            data[key] = glance
            for oldest in list(data)[: max(0, len(data) - _KEPT)]:
                del data[oldest]
            return data

        self._sidecar.update(change)
