"""Text for display: translation, untrusted text made safe, ages and times, and the labels that several views
share.

Functions and tables translate by `tr` and its like; widgets use `QObject.tr`, whose context is their class.
`packaging/translations.py` finds texts by the names of these functions. Counts use Qt's plural forms under
their plural wording, so English needs no translation file: a counted text has both of its forms. No widget
and no clock.

Threading: any.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence
from datetime import datetime, tzinfo
from functools import cache
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from reverie.agents.base import LoadedNext, signed_names
from reverie.agents.scopes import Scope
from reverie.text.summaries import Phrase, filled, phrase, plural
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.runs.record import RunKind

# Translation.


_CONTEXT = "reverie"


def tr(text: str) -> str:
    """`text` in the language of the window."""
    return QCoreApplication.translate(_CONTEXT, text)


def translatable(text: str) -> str:
    """Mark a text in a table for translation; `translated` translates it when it is shown."""
    return str(QT_TRANSLATE_NOOP(_CONTEXT, text))


def translated(text: str) -> str:
    """A text that `translatable` marked, in the language of the window."""
    return QCoreApplication.translate(_CONTEXT, text)


def counted(one: str, many: str, count: int) -> str:
    """`many` (with `%n`) for `count`; `one` where English needs it and no translation is loaded."""
    text = QCoreApplication.translate(_CONTEXT, many, None, count)
    if count >= 1000:
        text = text.replace(str(count), f"{count:,}", 1)
    return one if count == 1 and text == many.replace("%n", "1") else text


def said(text: str) -> str:
    """A text of a room below the window, in the language of the window where it is a phrase."""
    if not isinstance(text, Phrase):
        return text
    values = {name: said(value) for name, value in text.values.items()}
    if text.number is None:
        return filled(translated(text.template), values)
    return filled(counted(text.one, text.template, text.number), values)


# Text made safe, and labels.


# A file name may hold control characters, line breaks or marks that reverse the reading direction, and
# shown as it is it could pass for another file. Every name that a widget shows goes through `visible`, and
# everything that Qt could read as markup (tool tips) through `as_tooltip`.


# Joiners change how letters of real scripts connect; they neither hide nor reorder text.
_HARMLESS = frozenset("\u200c\u200d")
_HIDING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_KIB = 1024
LONGEST_LINE = 10_000
"""Characters of a line that a widget may be given: breaking a line without a space takes time that grows with
the square of its length, on the GUI thread."""
LONGEST_SENTENCE = 5_000
_LONGEST_TIP = 2_000
_TIP_CHARS = 80
_LINE_END = re.compile("\r\n|\r|\n")
_MARKUP = re.compile(r"(<|&)(?=\S)")
"""Where Qt could see a tag or an entity; a joiner without width prevents it."""


def visible(text: str) -> str:
    """Give `text` on one line with every control, direction and lone-surrogate character as an escape."""
    if text.isprintable():
        return text
    return text.translate({ord(char): _escaped(char) for char in set(text) if _hides(char)})


def rows_of(text: str) -> list[str]:
    """Split a text where a text box of the window breaks it: at LF, CR LF and CR, and nowhere else."""
    rows = _LINE_END.split(text)
    return rows if rows[-1] else rows[:-1]


def visible_lines(text: str) -> str:
    """Escape what hides in a text as `visible` does; its line ends become `\\n`, tabs stay."""
    if text.replace("\n", " ").replace("\t", " ").isprintable():
        return text.removesuffix("\n")
    return "\n".join("\t".join(visible(cell) for cell in row.split("\t")) for row in rows_of(text))


def shortened(text: str, most: int = LONGEST_SENTENCE) -> str:
    """`text` cut to `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def lines_shortened(text: str, most: int = LONGEST_LINE) -> str:
    """`text` with each line (breaks `\\n`) cut after `most` characters."""
    if len(text) <= most:
        return text
    return "\n".join(shortened(line, most) for line in text.split("\n"))


def as_tooltip(*lines: str) -> str:
    """Plain lines as a tool tip that Qt cannot take for markup, and that a screen reader is told as it is.
    Broken into lines of a readable length here, because Qt does that with markup only."""
    shown = [
        textwrap.fill(each, _TIP_CHARS, break_on_hyphens=False)
        for line in lines
        if line
        for each in visible_lines(shortened(line, _LONGEST_TIP)).split("\n")
    ]
    return _MARKUP.sub("\\1\u2060", "\n".join(shown))


def human_size(size: int) -> str:
    """`0 B`, `912 B`, `3.1 KiB`, `100 KiB`, `2.4 MiB`."""
    if size < _KIB:
        return f"{size} B"
    amount, units = float(size), iter(("KiB", "MiB", "GiB", "TiB"))
    unit = "B"
    while amount >= _KIB and (larger := next(units, None)):
        amount, unit = amount / _KIB, larger
    return f"{amount:.0f} {unit}" if amount >= 99.95 or amount == int(amount) else f"{amount:.1f} {unit}"


def _hides(char: str) -> bool:
    return unicodedata.category(char) in _HIDING and char not in _HARMLESS


def _escaped(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# Ages and exact times, from UTC milliseconds. `age` turns an `Ago` into text, so that each unit has its own
# plural.


MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
WEEK_MS = 7 * DAY_MS
YEAR_MS = 365 * DAY_MS

Unit = Literal["now", "minutes", "hours", "days", "weeks", "months", "years", "future"]

# The largest unit that still tells something: each row is (below this age, unit, its length).
_STEPS: tuple[tuple[int, Unit, int], ...] = (
    (MINUTE_MS, "now", MINUTE_MS),
    (HOUR_MS, "minutes", MINUTE_MS),
    (2 * DAY_MS, "hours", HOUR_MS),
    (2 * WEEK_MS, "days", DAY_MS),
    (9 * WEEK_MS, "weeks", WEEK_MS),
    (2 * YEAR_MS, "months", YEAR_MS // 12),
)


class Ago(Struct, frozen=True):
    """A rounded-down age. `count` is 0 for `now` and `future`."""

    unit: Unit
    count: int = 0


def relative_time(now_ms: int, then_ms: int) -> Ago:
    """The age of `then_ms` seen from `now_ms`. A clock that is up to a minute ahead counts as now."""
    age = now_ms - then_ms
    if age < -MINUTE_MS:
        return Ago("future")
    for limit, unit, length in _STEPS:
        if age < limit:
            return Ago(unit, 0 if unit == "now" else age // length)
    return Ago("years", age // YEAR_MS)


def exact_time(then_ms: int, zone: tzinfo | None = None) -> str:
    """`2026-08-17 09:13:35` in `zone` (None: the zone of this machine). Empty for a time no calendar
    holds."""
    try:
        return datetime.fromtimestamp(then_ms / 1000, tz=zone).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return ""


def changes(count: int) -> str:
    return tr("no changes") if count == 0 else counted("1 change", "%n changes", count)


def things(count: int) -> str:
    """Rows of the tree, whatever they are."""
    return counted("1 item", "%n items", count)


def notes(count: int) -> str:
    return counted("1 note", "%n notes", count)


def uses(by_agent: int, own: int = 0) -> str:
    """How often the agent used a memory; `own`: uses by the user and Reverie, shown separately."""
    if not own:
        return counted("used once", "used %n times", by_agent)
    return tr("used: agent {agent}×, you and Reverie {own}×").format(agent=by_agent, own=own)


def age(now_ms: int, then_ms: int) -> str:
    """`3 h ago`."""
    ago = relative_time(now_ms, then_ms)
    words = {
        "now": tr("just now"),
        "minutes": tr("{n} min ago"),
        "hours": tr("{n} h ago"),
        "days": tr("{n} d ago"),
        "weeks": tr("{n} wk ago"),
        "months": tr("{n} mo ago"),
        "years": tr("{n} y ago"),
        "future": tr("in the future"),
    }
    return words[ago.unit].format(n=ago.count)


def short_age(now_ms: int, then_ms: int) -> str:
    """`3 h`, for a narrow column."""
    ago = relative_time(now_ms, then_ms)
    words = {
        "now": tr("now"),
        "minutes": tr("{n} min"),
        "hours": tr("{n} h"),
        "days": tr("{n} d"),
        "weeks": tr("{n} wk"),
        "months": tr("{n} mo"),
        "years": tr("{n} y"),
        "future": tr("future"),
    }
    return words[ago.unit].format(n=ago.count)


def when(then_ms: int) -> str:
    """The exact time, for tool tips and lists."""
    return exact_time(then_ms) or tr("an unknown time")


def scope_name(scope: Scope) -> str:
    return {
        Scope.WORKSPACE: tr("Workspace"),
        Scope.PROJECT: tr("Project"),
        Scope.GLOBAL: tr("Global"),
    }[scope]


def trigger(name: str) -> str:
    return {
        "manual": tr("manual"),
        "compaction": tr("compaction"),
        "launch": tr("launch"),
        "archive": tr("archive"),
        "turn": tr("after a turn"),
    }.get(name, visible(name))


def outcome(name: str) -> str:
    return {
        "running": tr("running"),
        "completed": tr("completed"),
        "unchanged": tr("no changes needed"),
        "failed": tr("failed"),
        "cancelled": tr("cancelled"),
        "interrupted": tr("interrupted"),
        "held": tr("held for review"),
        "skipped": tr("not started"),
    }.get(name, visible(name))


def operation(command: str) -> str:
    return {
        "create": tr("create"),
        "str_replace": tr("edit"),
        "edit": tr("edit"),
        "insert": tr("insert"),
        "delete": tr("delete"),
        "rename": tr("rename"),
    }.get(command, visible(command))


def engine(name: str) -> str:
    return {"rules": tr("rules"), "auto": tr("automatic")}.get(name, visible(name))


def key_source(source: str) -> str:
    """Where a provider's key comes from."""
    return {
        "environment": tr("from the environment"),
        "keyring": tr("in the keyring"),
        "none needed": tr("none needed"),
        "missing": tr("missing"),
        "locked": tr("the keyring is locked"),
        "not answering": tr("the keyring does not answer"),
    }.get(source, visible(source))


def probe_state(state: str) -> str:
    """How a step of a test ended; empty for what is no step."""
    return {"pass": tr("works"), "fail": tr("fails"), "skip": tr("not tried")}.get(state, "")


def amount(count: int) -> str:
    """`850`, `12.3k`, `1.2M`."""
    if count < 1000:
        return str(count)
    number, unit = (count / 1e6, "M") if count >= 999_950 else (count / 1e3, "k")
    return f"{number:.0f}{unit}" if number >= 99.95 else f"{number:.1f}".removesuffix(".0") + unit


def tokens(count: int) -> str:
    """`850 tokens`, `12.3k tokens`."""
    if count < 1000:
        return counted(tr("1 token"), "%n tokens", count)
    return tr("{amount} tokens").format(amount=amount(count))


def money(usd: float | None) -> str:
    """`$0.04`; None is "cost unknown", and a cost below a cent never looks like zero."""
    if usd is None:
        return tr("cost unknown")
    if usd == 0:
        return tr("no cost")
    return tr("under $0.01") if usd < 0.01 else f"${usd:,.2f}"


# What each kind of run is called, and what a run says that it did, once for every view.
#
# A new kind of run needs a row here, its name in `runs.record.RunKind` and its job. A kind without a row, of
# a newer version, is shown by its own name. Texts are marked here and translated where they are shown.
#
# The records of runs are English, also those of years ago and of other programs: what a summary says is found
# by the sentences that the rules are known to write. What is not known, such as the words of a model, stays
# as it is.


class RunKindLabels(Struct, frozen=True):
    """The texts of one kind, not translated yet."""

    kind: RunKind
    title: str
    """One run in a list."""
    plural: str
    """The choice that shows only these."""
    by: str
    """Who wrote a text."""


RUN_KINDS = (
    RunKindLabels(
        "dream",
        title=translatable("Consolidation"),
        plural=translatable("Consolidations"),
        by=translatable("by a consolidation"),
    ),
    RunKindLabels(
        "writer",
        title=translatable("Memory writer"),
        plural=translatable("Memory writer"),
        by=translatable("by the memory writer"),
    ),
    RunKindLabels(
        "harvest",
        title=translatable("Picked up"),
        plural=translatable("Picked up"),
        by=translatable("from the conversation"),
    ),
    RunKindLabels(
        "extract",
        title=translatable("Extraction"),
        plural=translatable("Extractions"),
        by=translatable("by an extraction"),
    ),
    RunKindLabels(
        "notes",
        title=translatable("Session notes"),
        plural=translatable("Session notes"),
        by=translatable("by an update of the session notes"),
    ),
    RunKindLabels(
        "revert",
        title=translatable("Undo"),
        plural=translatable("Undos"),
        by=translatable("by your undo"),
    ),
)
"""In the order in which views offer them."""
LABELS: dict[str, RunKindLabels] = {labels.kind: labels for labels in RUN_KINDS}
BY: dict[str, str] = {labels.kind: labels.by for labels in RUN_KINDS}


def kind_title(kind: str) -> str:
    """One run of this kind in a list; a kind that is not known by its own name."""
    labels = LABELS.get(kind)
    return visible(kind) if labels is None else translated(labels.title)


_CLAUSES = (
    plural("merged 1 group of like records", "merged %n groups of like records", 0),
    plural("merged 1 exact duplicate", "merged %n exact duplicates", 0),
    plural("merged 1 near-duplicate", "merged %n near-duplicates", 0),
    plural("followed moved files in 1 memory", "followed moved files in %n memories", 0),
    plural(
        "dropped 1 picked-up note that other memories contain",
        "dropped %n picked-up notes that other memories contain",
        0,
    ),
    plural("deleted 1 empty file", "deleted %n empty files", 0),
    plural("wrote or mended 1 description", "wrote or mended %n descriptions", 0),
    plural("tidied 1 file", "tidied %n files", 0),
    plural("1 more change waits for the next run", "%n more changes wait for the next run", 0),
    plural("1 pair of memories is worth a look", "%n pairs of memories are worth a look", 0),
    plural("1 file put back", "%n files put back", 0),
    plural("restored 1 file", "restored %n files", 0),
    plural("reapplied 1 file", "reapplied %n files", 0),
    plural("1 change", "%n changes", 0),
    phrase("no change fits the budget"),
    phrase("no changes needed"),
    phrase("nothing needed changing"),
    phrase("nothing was put back"),
    phrase("nothing was restored"),
    phrase("nothing was changed"),
    phrase("cancelled"),
    phrase("what was to be taken back had gone already"),
    phrase("all of it was rejected in review"),
    phrase("applied {done} of {count} reviewed changes"),
    phrase("the session notes were updated"),
    phrase("held for review: it would lose {share} % of the lines in {scope} memory"),
    phrase("held for review: not every fact would stay as it is"),
    phrase("held for review: it would delete lines of {paths} that are nowhere else"),
)
"""What the rules say, without the capital and the full stop."""
_LEFT_PAIRS = re.compile(r"\b\d+ pairs? of memories (?:is|are) worth a look")
_SENTENCE = re.compile(r"(?<=[.!?]) +")
_CLAUSE = re.compile(r"; ")
_HOLE = re.compile(r"%n|\\\{(\w+)\\\}")


def pinned_for_reverie() -> str:
    """Say what a pin does where the agent knows none."""
    return tr("pinned: no consolidation deletes or renames it; the agent itself knows no pins")


def loaded_next_words(change: LoadedNext) -> tuple[str, ...]:
    """Word what a change makes the agent load next; nothing where that stays the same."""
    if not change:
        return ()
    return (tr("Loaded next: {names}").format(names=visible(signed_names(change))),)


def summary_words(summary: str) -> str:
    """What a run did, in the language of the window as far as its sentences are known; safe to show."""
    return " ".join(_sentence(each) for each in _SENTENCE.split(summary)) if summary else ""


def left_pairs(summary: str) -> bool:
    """Whether the run left pairs of memories to a person."""
    return bool(_LEFT_PAIRS.search(summary))


def _sentence(text: str) -> str:
    body = text.removesuffix(".")
    clauses = [_clause(each) for each in _CLAUSE.split(body)]
    if any(each is None for each in clauses):
        return visible(text)
    found = "; ".join(each for each in clauses if each is not None)
    return visible(found[:1].upper() + found[1:] + text[len(body) :])


def _clause(text: str) -> str | None:
    """A clause in the language of the window; None for one that is not known."""
    lower = text[:1].lower() + text[1:]
    for pattern, known in _patterns():
        match = pattern.fullmatch(lower)
        if match is None:
            continue
        if known.number is None:
            return said(Phrase(known.template, match.groupdict()))
        number = int(match["n"].replace(",", "")) if "n" in match.groupdict() else 1
        return said(Phrase(known.template, known.values, number, known.one))
    return None


@cache
def _patterns() -> Sequence[tuple[re.Pattern[str], Phrase]]:
    found = []
    for known in _CLAUSES:
        texts = [known.template] if known.number is None else [known.one, known.template]
        for text in texts:
            found.append((re.compile(_HOLE.sub(_place, re.escape(text))), known))
    return found


def _place(hole: re.Match[str]) -> str:
    return rf"(?P<{hole[1]}>.+?)" if hole[1] else r"(?P<n>[\d,]+)"
