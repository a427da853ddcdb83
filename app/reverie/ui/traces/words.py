"""How traces are told in the window. Pure, but for translation."""

from __future__ import annotations

from reverie.ui.memory.bars import Tone
from reverie.ui.shown import visible
from reverie.ui.translation import tr

_GOOD = frozenset({"wrote", "nothing-to-write"})
_BAD = frozenset({"timed-out", "provider-error", "damaged"})
VERDICTS = (
    "wrote", "nothing-to-write", "timed-out", "provider-error", "no-tool-support", "bad-json", "rejected",
    "tool-failed", "prose", "never-called", "limit", "cancelled", "damaged",
)  # fmt: skip


def verdict(name: str) -> str:
    return {
        "wrote": tr("Wrote"),
        "nothing-to-write": tr("Nothing to write"),
        "timed-out": tr("Timed out"),
        "provider-error": tr("Provider error"),
        "no-tool-support": tr("Cannot call tools"),
        "bad-json": tr("Bad JSON"),
        "rejected": tr("Rejected by a rail"),
        "tool-failed": tr("Tool failed"),
        "prose": tr("Answered in prose"),
        "never-called": tr("Never called the tool"),
        "limit": tr("Ran into a limit"),
        "cancelled": tr("Cancelled"),
        "damaged": tr("Damaged trace"),
    }.get(name, visible(name))


def tone(name: str) -> Tone:
    if name in _GOOD:
        return "info"
    return "bad" if name in _BAD else "warn"


def kind(name: str) -> str:
    return {
        "writer": tr("Memory writer"),
        "dream": tr("Consolidation"),
        "harvest": tr("Harvest"),
        "extract": tr("Extraction"),
        "notes": tr("Session notes"),
        "consolidate": tr("Handbook of a directory"),
        "replay": tr("Replay"),
    }.get(name, visible(name))


def duration(ms: int | None) -> str:
    """`850 ms`, `4.1 s`, `2 min 5 s`; empty where it is not known."""
    if ms is None:
        return ""
    if ms < 1000:
        return tr("{n} ms").format(n=ms)
    if ms < 60_000:
        return tr("{n} s").format(n=f"{ms / 1000:.1f}")
    minutes, seconds = divmod(round(ms / 1000), 60)
    return tr("{m} min {s} s").format(m=minutes, s=seconds)
