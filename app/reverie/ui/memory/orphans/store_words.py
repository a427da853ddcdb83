"""How lost stores are called, and why they are orphaned. Pure; every sentence passes through tr(). Apart from
the other words of orphans, because the list of homes needs them at the start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.ui.shown import visible
from reverie.ui.translation import tr

if TYPE_CHECKING:
    from reverie.homes.listing import LostStore


def orphan_title(store: LostStore) -> str:
    """What a store goes by: the name its project had, else that of its directory."""
    if store.kind == "workspace" and store.name:
        return f"{store.name} · {store.label}"
    if store.kind == "workspace" or (store.kind == "project" and not store.former_path):
        return store.label
    if store.flat:
        return tr("Loose notes in memory/")
    return store.name or store.label


def orphan_kind(store: LostStore) -> str:
    """Why it is orphaned, in a few words."""
    return {
        "project": tr("no such project"),
        "workspace": tr("no such workspace"),
        "missing-project": tr("project not found"),
        "older-layout": tr("older layout"),
    }[store.kind]


def orphan_reason(store: LostStore) -> str:
    """Why it is orphaned, as a sentence."""
    if store.kind == "project" and store.former_path:
        text = tr("This home does not list the project {path} any more.")
        return text.format(path=visible(store.former_path))
    if store.kind == "workspace" and store.former_path:
        text = tr("This home does not list the workspace any more; it worked on {path}.")
        return text.format(path=visible(store.former_path))
    if store.kind == "missing-project":
        return tr("The directory of its project, {path}, is not there now.").format(
            path=visible(store.former_path)
        )
    return {
        "project": tr("No project that this home lists has this name."),
        "workspace": tr("This home lists no workspace of this id."),
        "older-layout": tr(
            "Versions before 13 June 2026 kept memory here; agents of today do not look here."
        ),
    }[store.kind]
