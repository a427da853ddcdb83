"""What the Activity tab says of a decision, and which decisions a filter takes. Pure, without Qt widgets.

Texts come from disk and are made safe to draw here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reverie.runs.activity import ActivityEntry
from reverie.ui import words
from reverie.ui.rows import Node, shared
from reverie.ui.shown import visible
from reverie.ui.times import exact_time
from reverie.ui.translation import counted, tr

_ROUTINE = ("debug", "info")
_LONGEST_DETAIL = 2000


@dataclass(frozen=True, slots=True)
class Decision:
    """One entry as the list holds it; `place` names its workspace."""

    entry: ActivityEntry
    place: str


@dataclass(frozen=True, slots=True)
class DecisionFilter:
    """Which decisions are wanted. `show` is a key of `filter_names`; `workspace_id` leaves what is about that
    workspace or about none; `text` may stand anywhere in what is said."""

    show: str = "all"
    workspace_id: str | None = None
    text: str = ""

    def takes(self, decision: Decision) -> bool:
        """Whether the filter shows this decision; one that is of no workspace belongs to each."""
        entry = decision.entry
        if self.workspace_id is not None and entry.workspace_id not in (None, self.workspace_id):
            return False
        return _is_shown(entry, self.show) and self.text.casefold().strip() in _searched(decision)


def filter_names() -> tuple[tuple[str, str], ...]:
    """(key, name) of each choice, in the order they are offered."""
    return (
        ("all", tr("All decisions")),
        ("problems", tr("Warnings and errors")),
        ("writer", tr("Memory writer")),
        ("dream", tr("Consolidations")),
        ("harvest", tr("Harvests")),
        ("extract", tr("Extractions")),
        ("notes", tr("Session notes")),
        ("undo", tr("Undos and recoveries")),
        ("host", tr("Background services")),
    )


_KINDS: Mapping[str, tuple[str, ...]] = {
    "writer": ("writer",),
    "dream": ("dream", "trigger", "sweep"),
    "harvest": ("harvest",),
    "extract": ("extract",),
    "notes": ("notes",),
    "undo": ("revert", "run"),
    "host": ("host", "services", "watch"),
}


def _is_shown(entry: ActivityEntry, show: str) -> bool:
    if show == "all":
        return True
    if show == "problems":
        return entry.level not in _ROUTINE
    return entry.event.partition(".")[0] in _KINDS.get(show, ())


def _searched(decision: Decision) -> str:
    entry = decision.entry
    said = (entry.text, entry.event, kind_words(entry), decision.place, entry.workspace_id, entry.run_id)
    return "\n".join(part for part in said if part).casefold()


def decisions(
    entries: Iterable[ActivityEntry], places: Mapping[str, str], before: Iterable[Decision] = ()
) -> tuple[Decision, ...]:
    """`entries` with the names of their workspaces, by id. One that says what one of `before` said is that
    one: the log is read again and again, and rows hold on to what they showed first."""
    known: dict[tuple[int, str], list[Decision]] = {}
    for decision in before:
        known.setdefault((decision.entry.at, decision.entry.event), []).append(decision)

    def made(entry: ActivityEntry) -> Decision:
        new = Decision(entry, places.get(entry.workspace_id or "", entry.workspace_id or ""))
        return next((old for old in known.get((entry.at, entry.event), ()) if old == new), new)

    return tuple(made(entry) for entry in entries)


def as_tree(found: Sequence[Decision], before: Node) -> Node:
    """The rows of a list, sharing what did not change. A repeated decision keeps its row and moves up."""
    known = {child.key: child for child in before.children}
    seen: Counter[str] = Counter()
    rows = []
    for decision in reversed(found):  # counted from the oldest, so that new ones rename none
        entry = decision.entry
        name = f"{entry.at} {entry.event} {entry.workspace_id} {entry.run_id}"
        key = f"{name} {seen[name]}"
        seen[name] += 1
        rows.append(shared(known.get(key), key, decision))
    return Node("", None, tuple(reversed(rows)))


def kind_words(entry: ActivityEntry) -> str:
    """Who decided."""
    kind, _, gate = entry.event.partition(".")
    if kind == "trigger":
        return {
            "launch": tr("Launch sweep"),
            "compaction": tr("After a compaction"),
            "archive": tr("After archiving"),
            "background": tr("Background runs"),
        }.get(gate, visible(gate))
    return {
        "writer": tr("Memory writer"),
        "dream": tr("Consolidation"),
        "sweep": tr("Launch sweep"),
        "harvest": tr("Harvest"),
        "extract": tr("Extraction"),
        "notes": tr("Session notes"),
        "revert": tr("Undo"),
        "run": tr("Recovery"),
        "history": tr("History"),
        "host": tr("Background services"),
        "services": tr("Background services"),
        "watch": tr("Background services"),
    }.get(kind, visible(kind))


def below_words(decision: Decision) -> str:
    """The second line of a row: who, where, which gate."""
    kind, _, gate = decision.entry.event.partition(".")
    gate = "" if kind == "trigger" else gate  # it is the name of the trigger, told already
    parts = (kind_words(decision.entry), visible(decision.place), visible(gate.replace("-", " ")))
    return " · ".join(part for part in parts if part)


def right_words(entry: ActivityEntry, now: int) -> str:
    """`12 times, 3 min ago`."""
    age = words.age(now, entry.last_at)
    if entry.times == 1:
        return age
    return tr("{times}, {age}").format(times=counted("once", "%n times", entry.times), age=age)


def sign(entry: ActivityEntry) -> str:
    """The icon of a level."""
    return {"warning": "warning", "error": "error", "critical": "error"}.get(entry.level, "info")


def spoken(decision: Decision) -> str:
    """A whole row as one sentence, for readers and tool tips."""
    entry = decision.entry
    times = f", {counted('once', '%n times', entry.times)}" if entry.times > 1 else ""
    return f"{exact_time(entry.last_at)}{times}, {below_words(decision)}: {visible(entry.text)}"


def facts(decision: Decision) -> tuple[tuple[str, str], ...]:
    """(name, value) of everything that is known of a decision."""
    entry = decision.entry
    told = [(tr("Said"), exact_time(entry.at))]
    if entry.times > 1:
        told += [
            (tr("Last said"), exact_time(entry.last_at)),
            (tr("How often"), counted("once", "%n times", entry.times)),
        ]
    told += [(tr("Event"), entry.event), (tr("Level"), entry.level)]
    if entry.workspace_id:
        named = decision.place != entry.workspace_id
        told.append(
            (tr("Workspace"), f"{decision.place} ({entry.workspace_id})" if named else entry.workspace_id)
        )
    if entry.run_id:
        told.append((tr("Run"), entry.run_id))
    told += [(str(name), _plain(value)) for name, value in entry.details.items()]
    return tuple((visible(name), visible(value)) for name, value in told)


def _plain(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_DETAIL else text[:_LONGEST_DETAIL] + "…"
