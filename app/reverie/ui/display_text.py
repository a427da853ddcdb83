"""Text for display: translation, safe display of untrusted text, ages and times, and shared labels.

Functions and tables use `tr` and similar functions below for translation; widgets use `QObject.tr`, whose
context is their class. `packaging/translations.py` finds the texts in the source by the names of these
functions. A text with a count is written in singular and plural, so English needs no translation file; other
languages translate the plural text with Qt's plural forms. This module uses no widget and no clock.

A file name may contain control characters, line breaks or marks that reverse the reading direction, and so
could look like the name of another file. Every name that a widget shows goes through `visible`, and
everything that Qt could read as markup (tool tips) through `as_tooltip`.

Threading: any.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from datetime import datetime, tzinfo
from typing import Literal

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from reverie.agents.base import LoadedNext, signed_names
from reverie.agents.scopes import Scope
from reverie.text.summaries import Phrase, filled
from reverie.values import Struct

_CONTEXT = "reverie"
CRUMB = " › "
"""The text between the scope, the folders and the name of a memory."""


def tr(text: str) -> str:
    """Return `text` in the language of the window."""
    return QCoreApplication.translate(_CONTEXT, text)


def translatable(text: str) -> str:
    """Return `text` unchanged, and mark it for translation; `translated` translates it when it is shown."""
    return str(QT_TRANSLATE_NOOP(_CONTEXT, text))


def translated(text: str) -> str:
    """Return the translation of a text that `translatable` has marked."""
    return QCoreApplication.translate(_CONTEXT, text)


def counted(one: str, many: str, count: int) -> str:
    """Return the text for `count`, in the language of the window.

    In English this is `one` for a count of 1, else `many`, in which `%n` is replaced by the count.
    """
    text = QCoreApplication.translate(_CONTEXT, many, None, count)
    if count >= 1000:
        text = text.replace(str(count), f"{count:,}", 1)
    return one if count == 1 and text == many.replace("%n", "1") else text


def said(text: str) -> str:
    """Return a text that comes from outside the window's code, translated if it is a `Phrase`."""
    if not isinstance(text, Phrase):
        return text
    values = {name: said(value) for name, value in text.values.items()}
    if text.number is None:
        return filled(translated(text.template), values)
    return filled(counted(text.one, text.template, text.number), values)


# Joiners change how letters of some scripts connect; they neither hide nor reorder text.
_HARMLESS = frozenset("\u200c\u200d")
_HIDING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_KIB = 1024
LONGEST_LINE = 10_000
"""The longest line, in characters, that can be edited; a text with a longer one is only shown.

Qt lays out a line as a whole, on the GUI thread, in time that may grow with the square of its length.
"""
SHOWN_OF_LINE = 2_000
"""The number of characters that are shown of a line of more than `LONGEST_LINE` characters."""
MOST_LINES = 2_500
"""The maximum number of lines to give to a widget in one event."""
LONGEST_SENTENCE = 5_000
_LONGEST_TIP = 2_000
_TIP_CHARS = 80
_MARKUP = re.compile(r"(<|&)(?=\S)")
"""Matches a character that Qt could read as a tag or entity; a zero-width joiner prevents that."""


def visible(text: str) -> str:
    """Return `text` on one line, with control, direction and lone-surrogate characters escaped."""
    if text.isprintable():
        return text
    return text.translate({ord(char): _escaped(char) for char in set(text) if _hides(char)})


def rows_of(text: str, most: int = 0) -> list[str]:
    """Split a text into lines as a text box of the window does: at LF, CR LF and CR, and nowhere else.

    `most`: the maximum number of rows to return; 0 returns all.
    """
    rows = text.replace("\r\n", "\n").replace("\r", "\n").split("\n", most or -1)
    return rows[:most] if most and len(rows) > most else rows if rows[-1] else rows[:-1]


def visible_lines(text: str) -> str:
    """Return `text` with hidden characters escaped as by `visible`; line ends become `\\n`, tabs stay."""
    if text.replace("\n", " ").replace("\t", " ").isprintable():
        return text.removesuffix("\n")
    return "\n".join("\t".join(visible(cell) for cell in row.split("\t")) for row in rows_of(text))


def shortened(text: str, most: int = LONGEST_SENTENCE) -> str:
    """Return `text` cut to at most `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def has_long_line(text: str) -> bool:
    r"""Return True if a line of `text`, which has only the line break `\n`, exceeds `LONGEST_LINE`."""
    at = 0
    while at + LONGEST_LINE < len(text):
        end = text.rfind("\n", at, at + LONGEST_LINE + 1)
        if end < 0:
            return True
        at = end + 1
    return False


def lines_shortened(text: str) -> str:
    r"""Return the beginning of `text`, short enough for a widget to show it without delay.

    It has at most `MOST_LINES` lines, separated by `\n`. A line of more than `LONGEST_LINE`
    characters is cut after `SHOWN_OF_LINE`, followed by the number of characters that are not shown.
    """
    lines = text.split("\n", MOST_LINES)[:MOST_LINES]
    more = tr("… {n} more characters of this line are not shown")
    return "\n".join(
        line
        if len(line) <= LONGEST_LINE
        else line[:SHOWN_OF_LINE] + more.format(n=f"{len(line) - SHOWN_OF_LINE:,}")
        for line in lines
    )


def as_tooltip(*lines: str) -> str:
    """Return the lines as a tool tip that is shown as plain text, not as markup.

    Screen readers read it unchanged. Long lines are wrapped here, because Qt wraps only markup.
    """
    shown = [
        textwrap.fill(each, _TIP_CHARS, break_on_hyphens=False)
        for line in lines
        if line
        for each in visible_lines(shortened(line, _LONGEST_TIP)).split("\n")
    ]
    return _MARKUP.sub("\\1\u2060", "\n".join(shown))


def human_size(size: int) -> str:
    """Return `size`, in bytes, as `0 B`, `912 B`, `3.1 KiB`, `100 KiB` or `2.4 MiB`."""
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


MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
WEEK_MS = 7 * DAY_MS
YEAR_MS = 365 * DAY_MS

Unit = Literal["now", "minutes", "hours", "days", "weeks", "months", "years", "future"]

# The largest useful unit; each row is (below this age, unit, its length).
_STEPS: tuple[tuple[int, Unit, int], ...] = (
    (MINUTE_MS, "now", MINUTE_MS),
    (HOUR_MS, "minutes", MINUTE_MS),
    (2 * DAY_MS, "hours", HOUR_MS),
    (2 * WEEK_MS, "days", DAY_MS),
    (9 * WEEK_MS, "weeks", WEEK_MS),
    (2 * YEAR_MS, "months", YEAR_MS // 12),
)


class Ago(Struct, frozen=True):
    """An age in one unit, rounded down. `count` is 0 for the units `now` and `future`."""

    unit: Unit
    count: int = 0


def relative_time(now_ms: int, then_ms: int) -> Ago:
    """Return how long before `now_ms` the time `then_ms` was; up to a minute in the future counts as now."""
    age = now_ms - then_ms
    if age < -MINUTE_MS:
        return Ago("future")
    for limit, unit, length in _STEPS:
        if age < limit:
            return Ago(unit, 0 if unit == "now" else age // length)
    return Ago("years", age // YEAR_MS)


def exact_time(then_ms: int, zone: tzinfo | None = None) -> str:
    """Return a time, given in UTC ms, as text such as `2026-08-17 09:13:35` in the time zone `zone`.

    `zone` None: that of this machine. The result is "" for a time outside the calendar.
    """
    try:
        return datetime.fromtimestamp(then_ms / 1000, tz=zone).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return ""


def changes(count: int) -> str:
    return tr("no changes") if count == 0 else counted("1 change", "%n changes", count)


def things(count: int) -> str:
    """Return a text such as "3 items" for `count` rows of the tree, which may be files and folders."""
    return counted("1 item", "%n items", count)


def notes(count: int) -> str:
    return counted("1 note", "%n notes", count)


def uses(by_agent: int, own: int = 0) -> str:
    """Return words for how often a memory was used: `by_agent` times by the agent, `own` by others.

    The others are the user and Reverie.
    """
    if not own:
        return counted("used once", "used %n times", by_agent)
    return tr("used {agent}× by the agent, {own}× by you and Reverie").format(agent=by_agent, own=own)


def age(now_ms: int, then_ms: int) -> str:
    """Return how long before `now_ms` the time `then_ms` was, as text like `3 h ago`; both in UTC ms."""
    return _age_words(now_ms, then_ms)[0]


def short_age(now_ms: int, then_ms: int) -> str:
    """Return how long before `now_ms` the time `then_ms` was, as short text like `3 h`; both in UTC ms."""
    return _age_words(now_ms, then_ms)[1]


def _age_words(now_ms: int, then_ms: int) -> tuple[str, str]:
    """Return the text of an age in a sentence, and that beside a name."""
    ago = relative_time(now_ms, then_ms)
    long, short = {
        "now": (tr("just now"), tr("now")),
        "minutes": (tr("{n} min ago"), tr("{n} min")),
        "hours": (tr("{n} h ago"), tr("{n} h")),
        "days": (tr("{n} d ago"), tr("{n} d")),
        "weeks": (tr("{n} wk ago"), tr("{n} wk")),
        "months": (tr("{n} mo ago"), tr("{n} mo")),
        "years": (tr("{n} y ago"), tr("{n} y")),
        "future": (tr("in the future"), tr("future")),
    }[ago.unit]
    return long.format(n=ago.count), short.format(n=ago.count)


def when(then_ms: int) -> str:
    """Return a time, given in UTC ms, as local time to the minute, for tool tips and lists."""
    return exact_time(then_ms)[:-3] or tr("an unknown time")


def scope_name(scope: Scope) -> str:
    return {Scope.WORKSPACE: tr("Workspace"), Scope.PROJECT: tr("Project"), Scope.GLOBAL: tr("Global")}[scope]


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
    """Return words for where the key of a model service is stored, or for why there is no key."""
    return {
        "environment": tr("from the environment"),
        "keyring": tr("in the keyring"),
        "none needed": tr("none needed"),
        "missing": tr("missing"),
        "locked": tr("the keyring is locked"),
        "not responding": tr("the keyring is not responding"),
    }.get(source, visible(source))


def probe_state(state: str) -> str:
    """Return a word for the result of one step of a connection test; "" for an unknown state."""
    return {"pass": tr("works"), "fail": tr("fails"), "skip": tr("not tried")}.get(state, "")


def amount(count: int) -> str:
    """Return a number as short text, such as `850`, `12.3k` or `1.2M`."""
    if count < 1000:
        return str(count)
    number, unit = (count / 1e6, "M") if count >= 999_950 else (count / 1e3, "k")
    return f"{number:.0f}{unit}" if number >= 99.95 else f"{number:.1f}".removesuffix(".0") + unit


def tokens(count: int) -> str:
    """Return a number of tokens as short text, such as `850 tokens` or `12.3k tokens`."""
    if count < 1000:
        return counted(tr("1 token"), "%n tokens", count)
    return tr("{amount} tokens").format(amount=amount(count))


def money(usd: float | None) -> str:
    """Return a cost in US dollars like `$0.04`; for None, "cost unknown".

    A cost below a cent is never shown as zero.
    """
    if usd is None:
        return tr("cost unknown")
    if usd == 0:
        return tr("no cost")
    return tr("under $0.01") if usd < 0.01 else f"${usd:,.2f}"


def pinned_for_reverie() -> str:
    """Return a sentence about the effect of a pin in the home of an agent that does not support pins."""
    return tr("pinned: no consolidation deletes or renames this memory; the agent itself does not use pins")


def loaded_next_words(change: LoadedNext) -> tuple[str, ...]:
    """Return lines about the files that a new session of the agent loads differently because of a save.

    Empty if there are none.
    """
    if not change:
        return ()
    return (tr("Loaded next: {names}").format(names=visible(signed_names(change))),)
