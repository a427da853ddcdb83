"""Texts about orphaned stores: titles, reasons, evidence for a project, and the results of a merge.

Pure functions; every sentence passes through `tr`. The list of homes needs some of them at start-up, so they
are kept apart from the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from reverie.services.views import MatchEvidence, MergeChoice, MergePreview, MergeRow, ProjectMatch, StoreView
from reverie.ui.display_text import counted, human_size, notes, tr, translated, visible
from reverie.ui.display_text import translatable as _

if TYPE_CHECKING:
    from reverie.agents.base import LostStore

_KINDS = {
    "project": _("no such project"),
    "workspace": _("no such workspace"),
    "missing-project": _("project not found"),
    "older-layout": _("older layout"),
    "older-name": _("no longer loaded"),
    "other-checkout": _("another checkout"),
}
"""The kind of an orphaned store -> the reason why it is orphaned, in a few words."""
_REASONS = {
    "project": _("This home no longer lists the project {path}."),
    "workspace": _("This home no longer lists this workspace, which belonged to the project {path}."),
    "missing-project": _("The directory of its project, {path}, does not exist."),
    "older-layout": _(
        "Agent versions before June 13, 2026 stored memory here; current versions do not read this directory."
    ),
    "older-name": _("Current versions of the agent load the memory of {path} from another directory."),
    "other-checkout": _(
        "{path} is one of several checkouts of a repository; another checkout has the most notes."
    ),
}
"""The kind of an orphaned store -> the reason as a sentence."""
_REASONS_WITHOUT_PATH = {
    "project": _("This home does not list a project with this name."),
    "workspace": _("This home does not list a workspace with this ID."),
}
"""The same for stores whose former project is unknown."""
_EVIDENCE = {
    "owner": (_("mentioned in this home's files"), _("The file {file} in this home mentions this project.")),
    "root": (_("same first commit"), _("Its repository has the same first commit, {value}.")),
    "remote": (_("same remote"), _("Its repository has the same remote, {value}.")),
    "name": (_("same name"), _("The project has the same name, {value}.")),
}
"""The kind of evidence for a project -> the evidence in a few words, and as a sentence."""
CHOICES: Mapping[MergeChoice, str] = {
    "both": _("Combine &both in one note"),
    "beside": _("Add as a &second note"),
    "leave": _("&Leave it where it is"),
}
"""The choices for a file that differs on both sides, with their labels before translation."""
_OUTCOMES = {
    "create": ("new", _("new"), _("The note is copied to {path} without changes.")),
    "same": ("there", _("identical note exists"), _("{path} already has the same content.")),
    "contained": (
        "there",
        _("existing note contains every line"),
        _("{path} already contains every line of this note."),
    ),
    "both": (
        "merged",
        _("different: combine both in one note"),
        _("{path} will contain every line of both notes, with its existing lines first."),
    ),
    "beside": (
        "new",
        _("different: add as a second note"),
        _("{path} does not change; the orphaned note is added as {beside}."),
    ),
    "leave": (
        "stays",
        _("different: not merged"),
        _("{path} does not change; the lines that differ remain only in the orphaned note."),
    ),
    "blocked": ("stays", _("cannot be merged"), ""),
}
"""The outcome of a merge for one file: how it is counted, a few words, and a sentence.

A file that differs on both sides has the outcome of its choice, any other that of its state.
"""
_COUNTS = {
    "new": _("{n} new"),
    "merged": _("{n} merged with existing notes"),
    "there": _("{n} already exist"),
    "stays": _("{n} not merged"),
}
_OBSTACLES = {
    "name": _("A memory cannot have this name: {why}. The note stays where it is."),
    "too-large": _("The note is larger than the agent's file size limit. It stays where it is."),
    "folder": _("The note cannot be added, because a file and a folder would have the same path."),
    "unreadable": _("The note cannot be read: {why}"),
}
"""The obstacle to the merge of a file (`MergeRow.blocked`) -> a sentence."""


def orphan_title(store: LostStore) -> str:
    """Return the title of a store: the former name of its project, else the name of its directory."""
    if store.kind == "workspace" and store.name:
        return f"{store.name} · {store.label}"
    if store.kind == "workspace" or (store.kind == "project" and not store.former_path):
        return store.label
    if store.flat:
        return tr("Notes at the top level of memory/")
    return store.name or store.label


def orphan_reason(store: LostStore) -> str:
    """Return the reason why the store is orphaned, as a sentence."""
    path = store.owner if store.kind == "older-name" else store.former_path
    text = (not path and _REASONS_WITHOUT_PATH.get(store.kind)) or _REASONS[store.kind]
    return translated(text).format(path=visible(path))


def line(view: StoreView) -> str:
    """Return the second line of the row of a store: number of notes, size, and why it is orphaned."""
    kind = translated(_KINDS[view.store.kind])
    return f"{notes(len(view.files))} · {human_size(view.size)} · {kind}"


def evidence(found: MatchEvidence) -> str:
    """Return a sentence that states one piece of evidence for a project."""
    if found.kind == "owner" and not found.value:
        return tr("A file in this home mentions this project.")
    value = visible(found.value)
    return translated(_EVIDENCE[found.kind][1]).format(value=value, file=value)


def match_sentence(view: StoreView) -> str:
    """Return a sentence with the project that an orphaned store belongs to, or why that is unknown."""
    if view.best is not None:
        reasons = " ".join(map(evidence, view.best.evidence))
        return tr("These notes belong to {name}. {reasons}").format(
            name=visible(view.best.name), reasons=reasons
        )
    if view.matches:
        tied = [match for match in view.matches if match.rank == view.matches[0].rank]
        return tr("{names} match equally well. Choose one project. {reasons}").format(
            names=tr("{first} and {last}").format(
                first=", ".join(visible(match.name) for match in tied[:-1]), last=visible(tied[-1].name)
            ),
            reasons=" ".join(map(evidence, tied[0].evidence)),
        )
    if view.store.kind == "missing-project":
        return tr(
            "Reverie could not find the project's new location. Choose the project that these notes "
            "should be merged into."
        )
    return tr("Reverie could not find out which project these notes belong to. Choose a project.")


def option(name: str, path: str, match: ProjectMatch | None, *, there: bool) -> str:
    """Return the text of a project in the list of merge targets.

    `match`: the evidence that the orphaned store belongs to this project; None if there is none. `there`:
    True if the directory of the project exists.
    """
    text = f"{visible(name)} – {visible(path)}"
    if match is not None:
        return text + " · " + ", ".join(translated(_EVIDENCE[each.kind][0]) for each in match.evidence)
    return text if there else text + " · " + tr("its directory does not exist")


def _outcome(row: MergeRow, choice: MergeChoice | None) -> str:
    """Return the key of the outcome for a file; without a choice, a file that differs stays."""
    return choice or "leave" if row.state == "differs" else row.state


def state(row: MergeRow, choice: MergeChoice | None) -> str:
    """Return the result of the merge for one file, in a few words."""
    return translated(_OUTCOMES[_outcome(row, choice)][1])


def explained(row: MergeRow, choice: MergeChoice | None) -> str:
    """Return the result of the merge for one file, as a sentence."""
    text = _OBSTACLES[row.blocked] if row.blocked else _OUTCOMES[_outcome(row, choice)][2]
    text = translated(text).format(path=visible(row.path), beside=visible(row.beside), why=visible(row.why))
    remains = row.pinned and row.state in ("create", "same", "contained")
    return f"{text} {tr('The note remains pinned.')}" if remains else text


def counts(preview: MergePreview, chosen: Mapping[str, MergeChoice]) -> str:
    """Return a summary of a merge, such as `9 notes: 5 new, 1 there already, 3 left where they are`."""
    numbers = _counted(preview, chosen)
    parts = [translated(text).format(n=f"{numbers[key]:,}") for key, text in _COUNTS.items() if numbers[key]]
    return f"{notes(len(preview.rows))}: {', '.join(parts)}."


def merged(count: int, target: str) -> str:
    """Return the message after a merge of `count` notes into `target`."""
    text = counted(tr("1 note was merged into {name}."), "%n notes were merged into {name}.", count)
    return text.format(name=target) + " " + tr("The orphaned notes were not changed.")


def writes(preview: MergePreview, chosen: Mapping[str, MergeChoice]) -> int:
    """Return the number of files that a merge would write."""
    numbers = _counted(preview, chosen)
    return numbers["new"] + numbers["merged"]


def _counted(preview: MergePreview, chosen: Mapping[str, MergeChoice]) -> Counter[str]:
    """Return the number of files for each key of `_COUNTS`."""
    return Counter(_OUTCOMES[_outcome(row, chosen.get(row.rel))][0] for row in preview.rows)
