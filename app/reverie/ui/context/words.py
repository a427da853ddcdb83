"""What the Context tab says: parts, reasons, budgets, changes. Pure; texts from disk are made safe to draw
by whoever draws them."""

from __future__ import annotations

from reverie.context.seen import Change, ChangeKind, Since
from reverie.context.view import Entry, Gauge, Note, Part, PartKey, Reason
from reverie.ui import words
from reverie.ui.memory.finding_words import headline
from reverie.ui.shown import visible
from reverie.ui.translation import counted, tr
from reverie.ui.translation import translatable as _

_PARTS: dict[PartKey, str] = {
    "index": _("Index"),
    "hot-set": _("Hot set"),
    "summary": _("Memory summary"),
    "index-file": "MEMORY.md",
    "instructions": _("Instructions"),
    "lessons": _("Lessons"),
    "recorded": _("This session loaded"),
}
_REASONS: dict[Reason, str] = {
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
    "newest-only": _("only the newest lessons are told"),
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
}
_NOTES: dict[Note, str] = {
    "hot-set-experiment": _("mux loads this only where its experiment “memory-hot-set” is switched on."),
    "codex-off": _("Codex loads no memories here ({detail} is not on); this is what would be loaded."),
    "own-words": _("The agent's fixed sentences around it are worded by Reverie."),
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
}
_UNITS: dict[str, tuple[str, str]] = {
    "bytes": (_("{used} of {cap} bytes"), _("{used} bytes")),
    "tokens": (_("{used} of {cap} tokens"), _("{used} tokens")),
    "items": (_("{used} of {cap} memories"), _("{used} memories")),
    "lines": (_("{used} of {cap} lines"), _("{used} lines")),
    "chars": (_("{used} of {cap} characters"), _("{used} characters")),
    "lessons": (_("{used} of {cap} lessons"), _("{used} lessons")),
    "files": (_("{used} of {cap} files"), _("{used} files")),
}
_CHANGES: dict[ChangeKind, str] = {
    "came": _("{name} is new in it"),
    "went": _("{name} is not in it any more"),
    "cut": _("{name} is cut now"),
    "whole": _("{name} is whole again"),
    "resized": _("{name} has another size"),
}
_NAMED = 3
_LEAST_SCORE = 0.001


def part_title(part: Part) -> str:
    return tr(_PARTS[part.key])


def reason(entry: Entry) -> str:
    """Why it is in or out; in the words of the listing where that has its own."""
    if entry.reason == "unseen" and entry.detail:
        return tr("the agent does not see it: {why}").format(why=visible(entry.detail))
    if entry.reason == "cut" and entry.detail:
        return tr("{tokens} tokens of its middle are left out").format(tokens=entry.detail)
    said = tr(_REASONS[entry.reason])
    if entry.pin_unknown:
        return tr("{why} · not yet known to the running agent").format(why=said)
    if entry.reason in ("lesson", "newest-only") and entry.detail:
        return f"{said} · {counted('seen once', 'seen %n times', int(entry.detail))}"
    if entry.reason in ("cut", "falls-off") and entry.line:
        return tr("{why}: line {line}").format(why=said, line=entry.line)
    return said


def state(entry: Entry) -> str:
    return {"in": tr("loaded"), "cut": tr("loaded in part"), "out": tr("not loaded")}[entry.state]


def note_lines(part: Part) -> str:
    return " ".join(
        tr(_NOTES[note]).format(detail=visible(part.detail), line=part.cut_line) for note in part.notes
    )


def gauge_text(gauge: Gauge) -> str:
    return tr(_UNITS[gauge.unit][0 if gauge.cap else 1]).format(used=f"{gauge.used:,}", cap=f"{gauge.cap:,}")


def score(entry: Entry) -> str:
    if not entry.score:
        return ""
    return tr("score {score}").format(
        score=f"{entry.score:.3g}" if entry.score >= _LEAST_SCORE else f"< {_LEAST_SCORE}"
    )


def amount(entry: Entry) -> str:
    """How much of it is loaded."""
    if not entry.bytes:
        return ""
    return tr("{bytes} bytes · {tokens} tokens").format(bytes=f"{entry.bytes:,}", tokens=f"{entry.tokens:,}")


def in_days(days: int) -> str:
    return tr("now") if days == 0 else counted("in 1 day", "in %n days", days)


def since_words(found: Since | None, now: int) -> str:
    """What changed since last time, in one sentence or two; empty for a first look."""
    if found is None:
        return ""
    when = words.age(now, found.at)
    if not found.changes:
        return tr("Nothing changed since you looked ({when}).").format(when=when)
    listed = [change for change in found.changes if change.part != "index"] or list(found.changes)
    said = "; ".join(_change(change) for change in listed[:_NAMED])
    more = len(listed) - _NAMED
    if more > 0:
        said += "; " + counted("1 more", "%n more", more)
    sign = "+" if found.tokens > 0 else "-" if found.tokens < 0 else "±"
    return tr("Since you looked ({when}): {changes}. {tokens} tokens.").format(
        when=when, changes=said, tokens=f"{sign}{abs(found.tokens):,}"
    )


def _change(change: Change) -> str:
    return tr(_CHANGES[change.kind]).format(name=visible(short(change.path)))


def marks(entry: Entry | None) -> str:
    """What one may want to look at in it; empty for nothing."""
    if entry is None or not entry.marks:
        return ""
    said = " ".join(headline(mark) for mark in entry.marks[:_NAMED])
    return tr("{name}: {marks}").format(name=visible(short(entry.path)), marks=said)


def short(path: str) -> str:
    """A memory path without what all have in common."""
    return path.removeprefix("/memories/")
