"""Wording that several views share: ages, counts, scopes, triggers, outcomes. Every sentence passes through
tr().

Counts are translated with Qt's plural forms under their plural wording; English needs no translation file for
that.
"""

from __future__ import annotations

from reverie.homes.scopes import Scope
from reverie.ui.shown import visible
from reverie.ui.times import Ago, exact_time, relative_time
from reverie.ui.translation import counted, tr


def changes(count: int) -> str:
    return tr("no changes") if count == 0 else counted("1 change", "%n changes", count)


def things(count: int) -> str:
    """Rows of the tree, whatever they are."""
    return counted("1 memory or folder", "%n memories and folders", count)


def notes(count: int) -> str:
    return counted("1 note", "%n notes", count)


def uses(by_agent: int, own: int = 0) -> str:
    """How often the agent used a memory, apart from what a person and Reverie did with it."""
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
    """`$0.04`; unknown says so, and what is not quite nothing never looks like nothing."""
    if usd is None:
        return tr("cost unknown")
    if usd == 0:
        return tr("no cost")
    return tr("under $0.01") if usd < 0.01 else f"${usd:,.2f}"
