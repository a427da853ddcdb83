"""How the index and the links of a memory directory follow a dream (formats/claude-code.md section 4).

A memory that was renamed keeps its line and its links, under its new name. One that was merged hands its
links to the memory that took it over, and its line too, unless that one has a line already. The line of one
that is gone goes; a new memory gets one. Only list items go: a line of prose that names a memory is for a
person to reword, and shows as dangling until then. Nothing is added where there is no index. Each folder with
an index of its own (the memory of one sub-agent) is looked at for itself.

Pure: texts in, texts out, through the minimal edits of `homes.claude_index`.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Collection, Mapping

from reverie.homes.agents import DreamtFile, RootChange
from reverie.homes.claude_index import INDEX, Link, links, stem_of
from reverie.homes.claude_mends import CannotMendError, relinked, with_line, without_line

_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")


def follow(change: RootChange) -> Mapping[str, str]:
    """The texts that become others, by `rel`."""
    folders = {posixpath.dirname(rel) for rel in change.files if _is_index(rel)}
    return {
        posixpath.join(folder, rel): text
        for folder in sorted(folders)
        for rel, text in _followed(_inside(change, folder, folders)).items()
    }


def _inside(change: RootChange, folder: str, folders: Collection[str]) -> RootChange:
    """What became of the files that the index of one folder is about, by path inside it."""
    cut = len(folder) + 1 if folder else 0

    def belongs(rel: str) -> bool:
        above = posixpath.dirname(rel)
        while above and above not in folders:
            above = posixpath.dirname(above)
        return above == folder

    moved = {old: new for old, new in change.moved.items() if belongs(old) and belongs(new)}
    came = [new for old, new in change.moved.items() if belongs(new) and not belongs(old)]
    went = {old: change.files[new] for old, new in change.moved.items() if belongs(old) and not belongs(new)}
    return RootChange(
        {rel[cut:]: file for rel, file in change.files.items() if belongs(rel)},
        {rel[cut:]: file for rel, file in {**change.gone, **went}.items() if belongs(rel)},
        {old[cut:]: new[cut:] for old, new in moved.items()},
        {old[cut:]: new[cut:] for old, new in change.merged.items() if belongs(old) and belongs(new)},
        tuple(rel[cut:] for rel in (*change.created, *came) if belongs(rel)),
    )


def _followed(change: RootChange) -> dict[str, str]:
    before = {rel: file.text for rel, file in change.files.items() if rel.endswith(".md")}
    heirs = {old: new for old, new in change.merged.items() if new in before}
    called = _names(change.files)
    names = {
        change.gone[old].name: change.files[new].name or stem_of(new)
        for old, new in heirs.items()
        if change.gone[old].name not in called
    }
    # The line of a merged memory goes where its heir has one; else it becomes the heir's.
    listed = {old for old, new in heirs.items() if _leads_there(before[INDEX], new, change.files[new])}
    index = _without(before[INDEX], listed, change)
    after = relinked(
        {**before, INDEX: index},
        change.moved,
        heirs,
        names,
        {file.name for file in change.files.values() if file.name},
    )
    index = _without(after[INDEX], change.gone.keys() - heirs.keys(), change)
    for rel in change.created:
        file = change.files[rel]
        if rel in before and not _is_index(rel) and not _leads_there(index, rel, file):
            index = with_line(index, rel, file.name or stem_of(rel), file.description)
    after[INDEX] = index
    return {rel: text for rel, text in after.items() if text != before[rel]}


def _without(index: str, gone: Collection[str], change: RootChange) -> str:
    """Without the list items that name what is gone, and nothing else."""
    slugs = {change.gone[rel].name for rel in gone} | {stem_of(rel) for rel in gone}
    slugs |= {posixpath.basename(stem_of(rel)) for rel in gone}
    slugs -= _names(change.files)
    lines = index.split("\n")
    doomed = {
        link.line
        for link in links(index)
        if (link.rel in gone if link.rel is not None else link.target in slugs)
        and _ITEM.match(lines[link.line - 1])
    }
    for line in sorted(doomed, reverse=True):
        with contextlib.suppress(CannotMendError):  # other memories are named there, too
            index = without_line(index, line)
    return index


def _leads_there(index: str, rel: str, file: DreamtFile) -> bool:
    return any(_is_to(link, rel, file) for link in links(index))


def _is_to(link: Link, rel: str, file: DreamtFile) -> bool:
    if link.rel is not None:
        return link.rel == rel
    return link.target in {file.name, rel, stem_of(rel), posixpath.basename(stem_of(rel))} - {""}


def _names(files: Mapping[str, DreamtFile]) -> set[str]:
    """What a slug may call one of the files."""
    return {file.name for file in files.values()} | {posixpath.basename(stem_of(rel)) for rel in files} | {""}


def _is_index(rel: str) -> bool:
    return posixpath.basename(rel) == INDEX
