"""Text for display: untrusted text made safe, ages and times, and the labels that several views share.

Labels pass through `tr`; counts use Qt's plural forms under their plural wording, so English needs no
translation file. No widget and no clock.

Threading: any.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Literal

from reverie.agents.scopes import Scope
from reverie.ui.translation import counted, tr

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


def visible(text: str) -> str:
    """`text` on one line with every control, direction and lone-surrogate character as an escape."""
    if text.isprintable():
        return text
    return "".join(_escaped(char) if _hides(char) else char for char in text)


def visible_lines(text: str) -> str:
    """As `visible`, line by line: line breaks and tabs stay."""
    if text.replace("\n", " ").replace("\t", " ").isprintable():
        return text.removesuffix("\n")
    return "\n".join("\t".join(visible(cell) for cell in line.split("\t")) for line in text.splitlines())


def shortened(text: str, most: int = LONGEST_SENTENCE) -> str:
    """`text` cut to `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def lines_shortened(text: str, most: int = LONGEST_LINE) -> str:
    """`text` with each line (breaks `\\n`) cut after `most` characters."""
    if len(text) <= most:
        return text
    return "\n".join(shortened(line, most) for line in text.split("\n"))


def as_tooltip(*lines: str) -> str:
    """Plain lines as a tool tip that wraps and that Qt cannot read as markup of their own."""
    import html  # late: no name is painted with it

    shown = "<br>".join(
        html.escape(visible_lines(shortened(line, _LONGEST_TIP))).replace("\n", "<br>")
        for line in lines
        if line
    )
    return f"<qt>{shown}</qt>" if shown else ""


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


@dataclass(frozen=True, slots=True)
class Ago:
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
    return _short(ago)


def _short(ago: Ago) -> str:
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
