"""Texts about orphaned stores: titles, reasons, evidence for a project, and the results of a merge.

Pure functions; every sentence passes through `tr`. The list of homes needs some of them at start-up, so they
are kept apart from the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from reverie.services.views import MatchEvidence, MergeChoice, MergePreview, MergeRow, ProjectMatch, StoreView
from reverie.ui.display_text import counted, human_size, notes, tr, visible

if TYPE_CHECKING:
    from reverie.agents.base import LostStore


def orphan_title(store: LostStore) -> str:
    """Return the title of a store: the former name of its project, else the name of its directory."""
    if store.kind == "workspace" and store.name:
        return f"{store.name} · {store.label}"
    if store.kind == "workspace" or (store.kind == "project" and not store.former_path):
        return store.label
    if store.flat:
        return tr("Notes at the top level of memory/")
    return store.name or store.label


def orphan_kind(store: LostStore) -> str:
    """Return the reason why the store is orphaned, in a few words."""
    return {
        "project": tr("no such project"),
        "workspace": tr("no such workspace"),
        "missing-project": tr("project not found"),
        "older-layout": tr("older layout"),
        "older-name": tr("no longer loaded"),
        "other-checkout": tr("another checkout"),
    }[store.kind]


def orphan_reason(store: LostStore) -> str:
    """Return the reason why the store is orphaned, as a sentence."""
    if store.kind == "project" and store.former_path:
        text = tr("This home no longer lists the project {path}.")
        return text.format(path=visible(store.former_path))
    if store.kind == "workspace" and store.former_path:
        text = tr("This home no longer lists this workspace, which belonged to the project {path}.")
        return text.format(path=visible(store.former_path))
    if store.kind == "missing-project":
        return tr("The directory of its project, {path}, does not exist.").format(
            path=visible(store.former_path)
        )
    if store.kind == "other-checkout":
        text = tr("{path} is one of several checkouts of a repository; another checkout has the most notes.")
        return text.format(path=visible(store.former_path))
    if store.kind == "older-name":
        text = tr("Current versions of the agent load the memory of {path} from another directory.")
        return text.format(path=visible(store.owner))
    return {
        "project": tr("This home does not list a project with this name."),
        "workspace": tr("This home does not list a workspace with this ID."),
        "older-layout": tr(
            "Agent versions before June 13, 2026 stored memory here; current versions do not "
            "read this directory."
        ),
    }[store.kind]


def line(view: StoreView) -> str:
    """Return the second line of the row of a store: number of notes, size, and why it is orphaned."""
    return f"{notes(len(view.files))} · {human_size(view.size)} · {orphan_kind(view.store)}"


def evidence(found: MatchEvidence) -> str:
    """Return a sentence that states one piece of evidence for a project."""
    value = visible(found.value)
    if found.kind == "owner":
        return (
            tr("The file {file} in this home mentions this project.").format(file=value)
            if value
            else tr("A file in this home mentions this project.")
        )
    return {
        "root": tr("Its repository has the same first commit, {value}."),
        "remote": tr("Its repository has the same remote, {value}."),
        "name": tr("The project has the same name, {value}."),
    }[found.kind].format(value=value)


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
            names=_listed([visible(match.name) for match in tied]),
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
        return text + " · " + ", ".join(_short_evidence()[each.kind] for each in match.evidence)
    return text if there else text + " · " + tr("its directory does not exist")


def state(row: MergeRow, choice: MergeChoice | None) -> str:
    """Return the result of the merge for one file, in a few words.

    Without a choice, a file that differs on both sides is not changed.
    """
    if row.state == "differs":
        return {
            "both": tr("different: combine both in one note"),
            "beside": tr("different: add as a second note"),
            "leave": tr("different: not merged"),
        }[choice or "leave"]
    return {
        "create": tr("new"),
        "same": tr("identical note exists"),
        "contained": tr("existing note contains every line"),
        "blocked": tr("cannot be merged"),
    }[row.state]


def explained(row: MergeRow, choice: MergeChoice | None) -> str:
    """Return the result of the merge for one file, as a sentence.

    Without a choice, a file that differs on both sides is not changed.
    """
    if row.state == "blocked":
        return _blocked(row)
    if row.state == "differs":
        text = {
            "both": tr("{path} will contain every line of both notes, with its existing lines first."),
            "beside": tr("{path} does not change; the orphaned note is added as {beside}."),
            "leave": tr("{path} does not change; the lines that differ remain only in the orphaned note."),
        }[choice or "leave"]
        return text.format(path=visible(row.path), beside=visible(row.beside))
    text = {
        "create": tr("The note is copied to {path} without changes."),
        "same": tr("{path} already has the same content."),
        "contained": tr("{path} already contains every line of this note."),
    }[row.state]
    return text.format(path=visible(row.path)) + (" " + tr("The note remains pinned.") if row.pinned else "")


def choice_names() -> Mapping[MergeChoice, str]:
    """Return the label of each choice for a file that differs on both sides."""
    return {
        "both": tr("Combine &both in one note"),
        "beside": tr("Add as a &second note"),
        "leave": tr("&Leave it where it is"),
    }


def counts(preview: MergePreview, chosen: Mapping[str, MergeChoice]) -> str:
    """Return a summary of a merge, such as `9 notes: 5 new, 1 there already, 3 left where they are`."""
    sorts = Counter(_sort(row, chosen) for row in preview.rows)
    said = [
        (sorts["new"], tr("{n} new")),
        (sorts["merged"], tr("{n} merged with existing notes")),
        (sorts["there"], tr("{n} already exist")),
        (sorts["stays"], tr("{n} not merged")),
    ]
    parts = ", ".join(text.format(n=f"{number:,}") for number, text in said if number)
    return f"{notes(len(preview.rows))}: {parts}."


def merged(count: int, target: str) -> str:
    """Return the message after a merge of `count` notes into `target`."""
    text = counted(tr("1 note was merged into {name}."), "%n notes were merged into {name}.", count)
    return text.format(name=target) + " " + tr("The orphaned notes were not changed.")


def writes(preview: MergePreview, chosen: Mapping[str, MergeChoice]) -> int:
    """Return the number of files that a merge would write."""
    return sum(_sort(row, chosen) in ("new", "merged") for row in preview.rows)


def _sort(row: MergeRow, chosen: Mapping[str, MergeChoice]) -> str:
    """Return how a file is counted in a merge: `new`, `merged`, `there` or `stays`."""
    if row.state == "differs":
        return {"both": "merged", "beside": "new", "leave": "stays"}[chosen.get(row.rel, "leave")]
    return {"create": "new", "same": "there", "contained": "there", "blocked": "stays"}[row.state]


def _blocked(row: MergeRow) -> str:
    """Return the reason why a file cannot be merged."""
    text = {
        "name": tr("A memory cannot have this name: {why}. The note stays where it is."),
        "too-large": tr("The note is larger than the agent's file size limit. It stays where it is."),
        "folder": tr("The note cannot be added, because a file and a folder would have the same path."),
        "unreadable": tr("The note cannot be read: {why}"),
        "": "",
    }[row.blocked]
    return text.format(why=visible(row.why))


def _short_evidence() -> Mapping[str, str]:
    """Return a short description of each kind of evidence."""
    return {
        "owner": tr("mentioned in this home's files"),
        "root": tr("same first commit"),
        "remote": tr("same remote"),
        "name": tr("same name"),
    }


def _listed(names: Sequence[str]) -> str:
    """Return the names joined by commas, with "and" before the last one."""
    return tr("{first} and {last}").format(first=", ".join(names[:-1]), last=names[-1]) if names else ""
