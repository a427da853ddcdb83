"""How a point of a timeline is told: pure functions of a `TimelinePoint`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.ui import words
from reverie.ui.shown import visible
from reverie.ui.translation import counted, tr

if TYPE_CHECKING:
    from reverie.services.timeline_views import Comparison, RestorePlan, TimelinePoint


def who_names() -> tuple[tuple[str, str], ...]:
    """(key, name) of each choice of the filter, in the order they are offered; "" is everybody."""
    return (
        ("", tr("Everybody")),
        ("you", tr("You")),
        ("agent", tr("The agent")),
        ("dream", tr("Dream runs")),
        ("writer", tr("Writer runs")),
        ("harvest", tr("Harvests")),
        ("extract", tr("Extractions")),
        ("notes", tr("Updates of session notes")),
        ("revert", tr("Undone runs")),
        ("outside", tr("Unknown outside process")),
    )


def who(point: TimelinePoint) -> str:
    """`You`, `Dream run 3`, `Unknown outside process`."""
    match point.who:
        case "you":
            return tr("You")
        case "agent":
            return tr("The agent")
        case "outside":
            return tr("Unknown outside process")
        case "other":
            return visible(point.actor)
    numbered, plain = {
        "dream": (tr("Dream run {n}"), tr("A dream run")),
        "harvest": (tr("Harvest run {n}"), tr("A harvest run")),
        "extract": (tr("Extraction {n}"), tr("An extraction")),
        "notes": (tr("Update of the notes {n}"), tr("An update of the notes")),
        "writer": (tr("Writer run {n}"), tr("A writer run")),
        "revert": (tr("Undo run {n}"), tr("An undo run")),
    }[point.who]
    return numbered.format(n=point.run_number) if point.run_number is not None else plain


def what(point: TimelinePoint, *, folder: bool) -> str:
    """`Renamed from notes.md`, `2 changed, 1 created`."""
    said = []
    if point.what == "renamed":
        said.append(tr("Renamed from {path}").format(path=_beside(point)))
    elif point.what == "moved-away":
        said.append(tr("Moved to {path}").format(path=_beside(point)))
    elif not folder:
        return {
            "created": tr("Created"),
            "changed": tr("Changed"),
            "deleted": tr("Deleted"),
        }[point.what]
    if folder and point.what != "moved-away":
        said.append(counts(point.created, point.changed, point.deleted, point.moved))
    elif not folder and point.changed:
        said.append(tr("changed"))
    return ", ".join(part for part in said if part)


def counts(created: int, changed: int, deleted: int, moved: int) -> str:
    """`2 created, 1 changed`; empty for nothing."""
    said = (
        counted("1 created", "%n created", created) if created else "",
        counted("1 changed", "%n changed", changed) if changed else "",
        counted("1 deleted", "%n deleted", deleted) if deleted else "",
        counted("1 renamed", "%n renamed", moved) if moved else "",
    )
    return ", ".join(part for part in said if part)


def point_line(point: TimelinePoint) -> str:
    """`You, 2026-08-17 09:13:35`."""
    return f"{who(point)}, {words.when(point.at_ms)}"


def facts(point: TimelinePoint, *, folder: bool) -> str:
    """All there is to say of a point: who, when, what, what a run said of itself, what was not kept."""
    said = point.subject if point.run_id is not None else ""
    parts = (point_line(point), what(point, folder=folder), visible(said), visible(point.notes))
    return " · ".join(part for part in parts if part)


def compared(comparison: Comparison) -> str:
    said = counts(
        comparison.count("create"),
        comparison.count("change"),
        comparison.count("delete"),
        comparison.count("rename"),
    )
    return said or tr("Nothing differs.")


def verb(name: str) -> str:
    return {
        "create": tr("created"),
        "change": tr("changed"),
        "delete": tr("deleted"),
        "rename": tr("renamed"),
    }[name]


def planned(plan: RestorePlan) -> str:
    """What a restore would do, in a sentence."""
    created = sum(file.verb == "create" for file in plan.files)
    changed = len(plan.files) - created
    if not plan.files:
        return tr("Nothing is to be brought back: what stood there then is there now.")
    said = (
        counted("1 file comes back", "%n files come back", created) if created else "",
        counted("1 file gets its text of then", "%n files get their text of then", changed)
        if changed
        else "",
        counted("1 is the same already", "%n are the same already", plan.same) if plan.same else "",
    )
    return ", ".join(part for part in said if part) + "."


def _beside(point: TimelinePoint) -> str:
    """The other path; only its name if it lay in the same folder."""
    folder, _, name = point.other_path.rpartition("/")
    return visible(name if folder == point.path.rpartition("/")[0] else point.other_path)
