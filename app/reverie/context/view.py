"""The context of an agent as values: its parts, their entries with reasons, and the loaded text.

The values are the same for every agent, so that the window and the command need no knowledge of agents. Sizes
are in bytes, times in UTC ms; tokens are estimated as in design.md section 5 unless the agent counts
otherwise.

Threading: frozen, safe to pass between threads.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from reverie.agents.base import LoadState
from reverie.agents.scopes import Scope
from reverie.memory.listing import LintFinding
from reverie.values import Struct

State = Literal["in", "cut", "out"]
"""Whether an entry is loaded completely, partly or not at all."""

PartKey = Literal["index", "hot-set", "summary", "index-file", "instructions", "lessons", "recorded"]
"""The kind of a part.

`recorded` is the context of an earlier session as its agent recorded it. It would not be loaded now, so its
size does not count.
"""

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
"""The reason why something is in the context or not.

In the context:

- `listed`: in the index
- `loaded`: the agent always loads it
- `pinned`, `used`: chosen for the hot set
- `override`: loaded instead of another file
- `cut`: only a part is loaded
- `line`: its line of the index is loaded
- `recalled`: chosen for some prompts

Not in the context, besides `memory.hot_set.SkipReason`:

- `not-utf8`: the agent loads nothing of a file that is not valid UTF-8
- `unseen`: the agent does not see the file; `detail` says why
- `older`: only older versions of the agent load it
- `falls-off`: below the cut line
- `unlisted`: no line of the index names it
- `elsewhere`: another part of the agent reads it
- `approval`: loaded only if a person agreed to the import
- `replaced`: another file is used in its place
- `excluded`: by a setting
- `too-large`: larger than the agent allows
- `made-new`: the agent writes the missing file when a session starts
- `credential`: the agent loads it, but Reverie does not open it
- `recall-index`: not loaded in recall mode
- `recall-long`: longer than the text that reaches the model

In a recorded session:

- `recorded-same`: a new session would load the same
- `recorded-changed`, `recorded-gone`, `recorded-new`: changed, deleted or created since the record
- `recorded-other`: the text differs although nothing changed
- `recorded-only`: recorded but not predicted, although nothing changed
- `recorded-missed`: predicted but not recorded, although nothing changed
"""

Note = Literal[
    "hot-set-experiment", "codex-off", "own-words", "one-after-another", "memory-off", "cut-warning",
    "no-goal", "lessons-off", "index-lines", "codex-v1", "codex-v2", "codex-pieces",
    "recorded", "session-runs", "rules-agree", "rules-differ", "recall-mode", "recall-long",
    "agent-differs", "loads-nothing", "moved-by-project", "memory-outside",
]  # fmt: skip
"""The identifier of a remark about a whole part (see `NOTES`); the part's `detail` may add to it."""


@dataclasses.dataclass(frozen=True, slots=True)
class ContextEntry:
    """One file or memory that an agent may load when a session starts, and whether it loads it."""

    path: str
    """A memory path, or the name of a file."""
    state: State
    """`in`, `cut` (only a part is loaded) or `out`."""
    reason: Reason
    """The cause of this state."""
    size: int = 0
    """The size of the file in bytes."""
    bytes: int = 0
    """The number of bytes that are loaded, out of `size`."""
    tokens: int = 0
    """The number of tokens that are loaded."""
    score: float | None = None
    """The score by which mux chooses the memories to load in full; None if nothing is scored."""
    pinned: bool = False
    pin_unknown: bool = False
    """Whether the running agent has not yet read that the memory was pinned or unpinned."""
    scope: Scope | None = None
    """None for a file that is no memory."""
    file: Path | None = None
    description: str = ""
    detail: str = ""
    """A text that `reason` needs for its sentence, such as a number; empty for most reasons."""
    line: int = 0
    """The line of the index or an instruction file that `reason` is about, counted from 1; 0 for none."""
    marks: tuple[LintFinding, ...] = ()
    text: str = dataclasses.field(default="", repr=False)
    """The loaded text of a file that is loaded separately; empty for any other entry."""

    @property
    def is_memory(self) -> bool:
        """Whether the entry is a memory and not a file beside the memories."""
        return self.scope is not None


class Gauge(Struct, frozen=True):
    """The used amount of a budget and its cap; `cap` is 0 for no limit."""

    unit: Literal["bytes", "tokens", "items", "lines", "chars", "files", "lessons"]
    used: int
    cap: int = 0


class ContextPart(Struct, frozen=True):
    """One part of the text that an agent gets at the start of a session, such as its memory index."""

    key: PartKey
    entries: tuple[ContextEntry, ...]
    """The files of the part, loaded or not."""
    gauges: tuple[Gauge, ...]
    """The sizes of the part, with their limits."""
    text: str
    """The loaded text; empty if nothing is loaded."""
    notes: tuple[Note, ...] = ()
    """Identifiers of remarks about the part."""
    detail: str = ""
    """The text that a sentence of `notes` contains, such as a name; empty if none contains any."""
    cut_line: int | None = None
    """The line of the part's file, counted from 1, at which the agent stops reading; None if it reads all."""
    marked: tuple[int, ...] = ()
    """The lines of `text`, counted from 1, that need a person's attention."""

    @property
    def loaded(self) -> tuple[ContextEntry, ...]:
        """The entries that are loaded, at least in part."""
        return tuple(entry for entry in self.entries if entry.state != "out")


class ContextView(Struct, frozen=True):
    """Everything that an agent loads if a session starts at `at` (UTC ms).

    `bytes` and `tokens` are the total sizes of the loaded text.
    """

    agent: str
    at: int
    parts: tuple[ContextPart, ...]
    bytes: int
    tokens: int

    @classmethod
    def of(cls, agent: str, at: int, parts: tuple[ContextPart, ...]) -> ContextView:
        """Return the view of these parts at `at` (UTC ms) for the agent named `agent`, with total sizes.

        The first two gauges of each part must be bytes and tokens. The part with what an earlier session
        loaded (`recorded`) is not counted.
        """
        counted = [part for part in parts if part.key != "recorded"]
        used = [sum(part.gauges[number].used for part in counted) for number in (0, 1)]
        return cls(agent, at, parts, *used)

    def part(self, key: PartKey) -> ContextPart | None:
        """Return the part with this key; None if there is none."""
        return next((part for part in self.parts if part.key == key), None)


_CONTEXT = "reverie"
"""The translation context of these texts in `packaging/translations.py`: that of the window."""


def _(text: str) -> str:
    """Return `text` unchanged; the call marks it for the translation tools without importing Qt."""
    return text


PARTS: Mapping[PartKey, str] = {
    "index": _("Index"),
    "hot-set": _("Loaded in full"),
    "summary": _("Memory summary"),
    "index-file": "MEMORY.md",
    "instructions": _("Instructions"),
    "lessons": _("Lessons"),
    "recorded": _("Loaded in this session"),
}
REASONS: Mapping[Reason, str] = {
    "listed": _("listed"),
    "loaded": _("always loaded"),
    "pinned": _("pinned"),
    "used": _("used often"),
    "cut": _("shortened to fit"),
    "override": _("loaded instead of AGENTS.md"),
    "falls-off": _("after the last loaded line"),
    "unseen": _("not seen by the agent"),
    "unused": _("neither pinned nor used"),
    "unreadable": _("it cannot be read"),
    "not-text": _("it is not text"),
    "not-utf8": _("it is not valid UTF-8, so the agent loads nothing of it"),
    "bytes": _("it does not fit into the remaining bytes"),
    "tokens": _("it does not fit into the remaining tokens"),
    "items": _("enough others are loaded in full"),
    "tries": _("its rank is too low"),
    "empty": _("it is empty"),
    "missing": _("the file does not exist"),
    "overridden": _("AGENTS.override.md is loaded instead"),
    "older": _("only older versions load it"),
    "on-demand": _("loaded only when needed"),
    "elsewhere": _("not loaded as instructions"),
    "unlisted": _("not listed in the index"),
    "line": _("its index line is loaded"),
    "lesson": _("one of the newest lessons"),
    "prior": _("an anti-pattern"),
    "newest-only": _("only the newest lessons are sent"),
    "recorded-same": _("a new session would load the same text"),
    "recorded-changed": _("changed since; a new session would load the current text"),
    "recorded-gone": _("the file no longer exists; a new session would not load it"),
    "recorded-new": _("new since; a new session would load it"),
    "recorded-other": _("by Reverie's rules its text would differ, although the file did not change"),
    "recorded-only": _("by Reverie's rules a new session would not load it, though it did not change"),
    "recorded-missed": _("by Reverie's rules it would be loaded, but this session did not load it"),
    "recalled": _("recalled for some prompts"),
    "recall-index": _("not loaded: the agent recalls single memories instead"),
    "recall-long": _("recalled in part: the model gets only the first 4,096 bytes"),
    "approval": _("loaded only if its import was approved"),
    "replaced": _("a CLAUDE.md is loaded instead"),
    "excluded": _("excluded in the settings"),
    "too-large": _("larger than 4 MB"),
    "credential": _("loaded, but it may contain credentials: Reverie never opens it"),
    "made-new": _("Claude Code creates it when a session starts"),
    "not-imported": _("this import loads nothing"),
    "moved-outside": _("the agent loads the file from the place that the project's own settings name"),
}
IMPORT_PROBLEMS: Mapping[str, str] = {
    "missing": _("the file does not exist; paths are relative to the directory of the importing file"),
    "sign-behind": _("the character after the path is treated as part of the path"),
    "sign-before": _("because of the character before the @, this is not an import"),
    "blank": _("a space ends the path; write “\\ ” instead"),
    "kind": _("the agent does not import files of this type"),
    "too-deep": _("imports are followed four levels deep, and this one is deeper"),
}
"""Sentences on why an import loads nothing, by `agents.capabilities.ImportProblem`."""
NOTES: Mapping[Note, str] = {
    "hot-set-experiment": (
        "mux loads this only if its experiment “memory-hot-set” is on. Reverie cannot detect whether it is."
    ),
    "codex-off": _("Codex loads no memories here ({detail} is off). If it were on, Codex would load this."),
    "own-words": "The agent's fixed sentences are replaced by sentences of Reverie with the same length.",
    "one-after-another": _("The agent adds lines of its own around each file."),
    "memory-off": _("Auto memory is off here ({detail}). If it were on, the agent would load this."),
    "cut-warning": _("The agent stops reading at line {line} and adds a warning in its own words."),
    "no-goal": _("Anti-patterns depend on the goal of the next iteration, which is not known yet."),
    "codex-v1": _("Codex uses memory version 1 here and adds its own instructions around the summary."),
    "codex-v2": _("Codex uses memory version 2 here and adds its own instructions around the summary."),
    "codex-pieces": _("It is so long that Codex sends it in two pieces."),
    "index-lines": _("The agent's own sentences around these lines are not shown."),
    "agent-differs": _("The agent itself receives a different text: {detail}"),
    "lessons-off": _("LOKI_FAILURE_MEMORY turns the lessons off."),
    "recorded": _("Taken from the session's transcript. The other parts are what a new session would load."),
    "session-runs": _("The session is running and keeps what it loaded. A change reaches the next session."),
    "rules-agree": _("Reverie's rules explain everything that was loaded."),
    "rules-differ": _(
        "Reverie's rules do not explain {detail} of these files: a setting changed, or the rules are wrong."
    ),
    "recall-mode": _("The newest sessions load no index; the agent chooses memories for each prompt."),
    "recall-long": _("Some memories are longer than 4,096 bytes; the model gets only that much of each."),
    "loads-nothing": _("{detail} is set, so Claude Code loads nothing here. This is what it would load."),
    "moved-by-project": _("This location comes from the project's own settings."),
    "memory-outside": "{detail}",
}


def reason(entry: ContextEntry) -> str:
    """Return the reason why an entry is in the context or not, in a few English words; never empty."""
    words = REASONS[entry.reason]
    if entry.reason == "unseen" and entry.detail:
        return entry.detail
    if entry.reason == "not-imported":
        return f"{words} (line {entry.line} of {entry.description}): {IMPORT_PROBLEMS[entry.detail]}"
    if entry.reason == "on-demand":
        # The home's own sentence says when the file is loaded.
        sentences = (sentence for sentence in entry.detail.split(". ") if "loaded only" in sentence.lower())
        words = next(sentences, words).removesuffix(".")
        return words[:1].lower() + words[1:]
    if entry.reason == "cut" and entry.detail:
        return f"{entry.detail} tokens are left out of the middle"
    if entry.reason in ("lesson", "newest-only") and entry.detail:
        return f"{words}, seen {entry.detail} times"
    if entry.reason == "recalled" and entry.detail:
        return f"{words} ({entry.detail} in the newest sessions)"
    if entry.reason in ("cut", "falls-off") and entry.line:
        return f"{words}: line {entry.line}"
    return words


def notes(part: ContextPart) -> list[str]:
    """Return the remarks about a part, as English sentences."""
    return [NOTES[note].format(detail=part.detail, line=part.cut_line) for note in part.notes]


_OFF: frozenset[Note] = frozenset({"memory-off", "codex-off", "lessons-off", "loads-nothing"})
"""The notes of parts that the agent does not load; the part shows the text that would be loaded."""
_WHEN_NEEDED: frozenset[Reason] = frozenset({
    "unused", "bytes", "tokens", "items", "tries", "falls-off", "unlisted", "on-demand", "newest-only",
    "recalled", "recall-index", "recall-long",
})  # fmt: skip
_MOST_FIRST: tuple[LoadState, ...] = ("full", "part", "line", "listed", "needed")


def load_state(entry: ContextEntry) -> LoadState | None:
    """Return how much of an entry's file a new session loads; None if it never loads the file.

    The result is `full`, `part`, `line` (its line in an index), `listed` (name and description) or `needed`
    (only when needed).
    """
    if entry.reason == "credential":
        return "full"  # the agent loads it, although Reverie does not open it
    if entry.state == "out":
        return "needed" if entry.reason in _WHEN_NEEDED else None
    if entry.reason in ("line", "listed"):
        return "line" if entry.reason == "line" else "listed"
    return "part" if entry.state == "cut" or entry.reason == "lesson" else "full"


def load_states(view: ContextView) -> dict[str, LoadState]:
    """Return how much of each file a new session loads: path -> load state, as in `load_state`.

    The keys are memory paths, or paths on disk of files beside the memories. Files that are never loaded are
    left out.
    """
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
