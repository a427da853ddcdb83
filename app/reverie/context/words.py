"""Why something is in the context or not, in English, for commands. The window has its own, translated."""

from __future__ import annotations

from collections.abc import Mapping

from reverie.context.view import Entry, Note, Part, PartKey, Reason

PARTS: Mapping[PartKey, str] = {
    "index": "Index",
    "hot-set": "Hot set",
    "summary": "Memory summary",
    "index-file": "MEMORY.md",
    "instructions": "Instructions",
    "lessons": "Lessons",
}
_REASONS: Mapping[Reason, str] = {
    "listed": "listed",
    "loaded": "always loaded",
    "pinned": "pinned",
    "used": "used often",
    "cut": "cut to what fits",
    "override": "loaded instead of AGENTS.md",
    "falls-off": "below the cut line",
    "unseen": "the agent does not see it",
    "unused": "neither pinned nor used",
    "unreadable": "it cannot be read",
    "not-text": "it is not text",
    "bytes": "it does not fit the bytes that are left",
    "tokens": "it does not fit the tokens that are left",
    "items": "the set is full",
    "tries": "too far down in the ranking",
    "empty": "there is nothing in it",
    "missing": "there is none",
    "overridden": "AGENTS.override.md is loaded instead",
    "older": "only older versions load it",
    "on-demand": "loaded only when it is needed",
    "elsewhere": "read by another part of the agent",
    "unlisted": "no line of the index names it",
    "line": "its line is loaded",
    "lesson": "one of the newest lessons",
    "prior": "an anti-pattern",
    "newest-only": "only the newest lessons are told",
}
_NOTES: Mapping[Note, str] = {
    "hot-set-experiment": "mux loads this only where its experiment “memory-hot-set” is on.",
    "codex-off": "Codex loads no memories here ({detail} is not on); this is what would be loaded.",
    "own-words": "The agent's fixed sentences are worded by Reverie, as long as they are.",
    "one-after-another": "The agent puts lines of its own around each file.",
    "memory-off": "Auto memory is off here ({detail}); this is what would be loaded.",
    "cut-warning": "The agent stops reading at line {line} and adds a warning, in its own words.",
    "no-goal": "Anti-patterns go by the goal of the next iteration, which nobody knows here.",
    "index-lines": "The agent's own sentences around these lines are not shown.",
    "lessons-off": "LOKI_FAILURE_MEMORY switches the lessons off.",
}


def reason(entry: Entry) -> str:
    """A few words; never empty."""
    said = _REASONS[entry.reason]
    if entry.reason == "unseen" and entry.detail:
        return entry.detail
    if entry.reason == "on-demand":
        # The home's own words say what it waits for.
        told = (sentence for sentence in entry.detail.split(". ") if "loaded only" in sentence.lower())
        said = next(told, said).removesuffix(".")
        return said[:1].lower() + said[1:]
    if entry.reason == "cut" and entry.detail:
        return f"{entry.detail} tokens of its middle are left out"
    if entry.reason in ("lesson", "newest-only") and entry.detail:
        return f"{said}, seen {entry.detail} times"
    if entry.reason in ("cut", "falls-off") and entry.line:
        return f"{said}: line {entry.line}"
    return said


def notes(part: Part) -> list[str]:
    """What one should know of a part."""
    return [_NOTES[note].format(detail=part.detail, line=part.cut_line) for note in part.notes]
