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
        return tr("Loose notes in memory/")
    return store.name or store.label


def orphan_kind(store: LostStore) -> str:
    """Return the reason why the store is orphaned, in a few words."""
    return {
        "project": tr("no such project"),
        "workspace": tr("no such workspace"),
        "missing-project": tr("project not found"),
        "older-layout": tr("older layout"),
        "older-name": tr("not loaded any more"),
    }[store.kind]


def orphan_reason(store: LostStore) -> str:
    """Return the reason why the store is orphaned, as a sentence."""
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
    if store.kind == "older-name":
        text = tr("The agent of today loads the memory of {path} from another directory, not from this one.")
        return text.format(path=visible(store.owner))
    return {
        "project": tr("No project that this home lists has this name."),
        "workspace": tr("This home lists no workspace of this id."),
        "older-layout": tr(
            "Versions before 13 June 2026 kept memory here; agents of today do not look here."
        ),
    }[store.kind]


def line(view: StoreView) -> str:
    """Return the second line of a store's row: number of notes, size, reason."""
    return f"{notes(len(view.files))} · {human_size(view.size)} · {orphan_kind(view.store)}"


def evidence(found: MatchEvidence) -> str:
    """Return a sentence that states one piece of evidence for a project."""
    value = visible(found.value)
    if found.kind == "owner":
        return (
            tr("The home itself names it ({file}).").format(file=value)
            if value
            else tr("The home itself names it.")
        )
    return {
        "root": tr("Its repository begins with the same commit, {value}."),
        "remote": tr("Its repository has the same remote, {value}."),
        "name": tr("It has the same name, {value}."),
    }[found.kind].format(value=value)


def match_sentence(view: StoreView) -> str:
    """Return a sentence that names the project of the store, or explains why it is unknown."""
    if view.best is not None:
        reasons = " ".join(map(evidence, view.best.evidence))
        return tr("It belongs to {name}. {reasons}").format(name=visible(view.best.name), reasons=reasons)
    if view.matches:
        tied = [match for match in view.matches if match.rank == view.matches[0].rank]
        return tr("The same speaks for {names}. Choose one. {reasons}").format(
            names=_listed([visible(match.name) for match in tied]),
            reasons=" ".join(map(evidence, tied[0].evidence)),
        )
    if view.store.kind == "missing-project":
        return tr("Nothing tells where it is now. If you know, choose the project that takes its place.")
    return tr("Nothing tells which project it belongs to. Choose one.")


def option(name: str, path: str, match: ProjectMatch | None, *, there: bool) -> str:
    """Return the entry of a project in the list of merge targets; `there`: whether its directory exists."""
    text = f"{visible(name)} – {visible(path)}"
    if match is not None:
        return text + " · " + ", ".join(_short_evidence()[each.kind] for each in match.evidence)
    return text if there else text + " · " + tr("not there now")


def state(row: MergeRow, choice: MergeChoice | None) -> str:
    """Return the result of the merge for one file, in a few words.

    Without a choice, a file that differs on both sides is not changed.
    """
    if row.state == "differs":
        return {
            "both": tr("differs: both in one note"),
            "beside": tr("differs: a note beside it"),
            "leave": tr("differs: stays where it is"),
        }[choice or "leave"]
    return {
        "create": tr("new"),
        "same": tr("the same is there"),
        "contained": tr("every line is there"),
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
            "both": tr("{path} gets every line of both; the lines that are there stay first."),
            "beside": tr("{path} stays as it is; the orphaned note becomes {beside}."),
            "leave": tr("{path} stays as it is; what differs stays in the orphaned store only."),
        }[choice or "leave"]
        return text.format(path=visible(row.path), beside=visible(row.beside))
    text = {
        "create": tr("It becomes {path}, byte for byte."),
        "same": tr("{path} is the same already."),
        "contained": tr("{path} has every line of it already."),
    }[row.state]
    return text.format(path=visible(row.path)) + (" " + tr("It stays pinned.") if row.pinned else "")


def choice_names() -> Mapping[MergeChoice, str]:
    """Return the label of each choice for a file that differs on both sides."""
    return {
        "both": tr("&Both in one note"),
        "beside": tr("A note be&side it"),
        "leave": tr("&Leave it in the orphaned store"),
    }


def counts(preview: MergePreview, chosen: Mapping[str, MergeChoice]) -> str:
    """Return a summary of a merge, such as `9 notes: 5 new, 1 there already, 3 left where they are`."""
    sorts = Counter(_sort(row, chosen) for row in preview.rows)
    said = [
        (sorts["new"], tr("{n} new")),
        (sorts["merged"], tr("{n} merged with what is there")),
        (sorts["there"], tr("{n} there already")),
        (sorts["stays"], tr("{n} left where they are")),
    ]
    parts = ", ".join(text.format(n=f"{number:,}") for number, text in said if number)
    return f"{notes(len(preview.rows))}: {parts}."


def merged(count: int, target: str) -> str:
    """Return the message after a merge of `count` notes into `target`."""
    text = counted(tr("1 note was merged into {name}."), "%n notes were merged into {name}.", count)
    return text.format(name=target) + " " + tr("The orphaned store stays as it was.")


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
        "name": tr("No memory can have this name: {why}. It stays in the orphaned store."),
        "too-large": tr("It is larger than the agent's limit for a file. It stays in the orphaned store."),
        "folder": tr("There is a folder where the note would be, or a note where its folder would be."),
        "unreadable": tr("It cannot be read: {why}"),
        "": "",
    }[row.blocked]
    return text.format(why=visible(row.why))


def _short_evidence() -> Mapping[str, str]:
    """Return a short description of each kind of evidence."""
    return {
        "owner": tr("named by the home"),
        "root": tr("same first commit"),
        "remote": tr("same remote"),
        "name": tr("same name"),
    }


def _listed(names: Sequence[str]) -> str:
    """Return the names joined by commas, with "and" before the last one."""
    return tr("{first} and {last}").format(first=", ".join(names[:-1]), last=names[-1]) if names else ""
