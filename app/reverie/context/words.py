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
    "recorded": "This session loaded",
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
    "not-utf8": "it is not valid UTF-8, so the agent loads nothing of it",
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
    "recorded-same": "a new session would load the same",
    "recorded-changed": "changed since; a new session would load what it is now",
    "recorded-gone": "a new session would not load it: the file is not there",
    "recorded-new": "new since; a new session would load it",
    "recorded-other": "by Reverie's rules its text would be another, though it did not change",
    "recorded-only": "by Reverie's rules a new session would not load it, though it did not change",
    "recorded-missed": "Reverie's rules load it, this session did not",
    "recalled": "recalled for some prompts",
    "recall-index": "not loaded: the agent recalls single memories instead",
    "recall-long": "recalled in part: only its first 4,096 bytes reach the model",
    "approval": "loaded only if its import was approved",
    "replaced": "a CLAUDE.md is loaded instead",
    "excluded": "excluded in the settings",
    "too-large": "larger than 4 MB",
    "credential": "loaded, but it may hold credentials: Reverie never opens it",
    "made-new": "Claude Code writes it when a session starts",
}
_NOTES: Mapping[Note, str] = {
    "hot-set-experiment": "mux loads this only where its experiment “memory-hot-set” is on.",
    "codex-off": "Codex loads no memories here ({detail} is not on); this is what would be loaded.",
    "own-words": "The agent's fixed sentences are worded by Reverie, as long as they are.",
    "one-after-another": "The agent puts lines of its own around each file.",
    "memory-off": "Auto memory is off here ({detail}); this is what would be loaded.",
    "cut-warning": "The agent stops reading at line {line} and adds a warning, in its own words.",
    "no-goal": "Anti-patterns go by the goal of the next iteration, which nobody knows here.",
    "codex-v1": "Codex uses version 1 of its memory here and puts its own instructions around the summary.",
    "codex-v2": "Codex uses version 2 of its memory here and puts its own instructions around the summary.",
    "codex-pieces": "It is so long that Codex sends it in two pieces.",
    "index-lines": "The agent's own sentences around these lines are not shown.",
    "agent-differs": "The agent itself gets another text: {detail}",
    "lessons-off": "LOKI_FAILURE_MEMORY switches the lessons off.",
    "recorded": "As the session's transcript records it. The other parts are what a new session would load.",
    "session-runs": "The session is running and keeps what it loaded. A change reaches the next session.",
    "rules-agree": "Reverie's rules explain all of it.",
    "rules-differ": "Reverie's rules do not explain {detail} of these: a setting changed, or they are wrong.",
    "recall-mode": "No index is loaded in the newest sessions; the agent chooses memories for each prompt.",
    "recall-long": "Some memories are longer than the 4,096 bytes of each that reach the model.",
    "loads-nothing": "{detail} is set: Claude Code loads nothing here; this is what it would load.",
    "moved-by-project": "The project's own settings put the memory here.",
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
    if entry.reason == "recalled" and entry.detail:
        return f"{said} ({entry.detail} in the newest sessions)"
    if entry.reason in ("cut", "falls-off") and entry.line:
        return f"{said}: line {entry.line}"
    return said


def notes(part: Part) -> list[str]:
    """What one should know of a part."""
    return [_NOTES[note].format(detail=part.detail, line=part.cut_line) for note in part.notes]
