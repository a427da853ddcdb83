"""How the index and the links of a memory directory follow a dream (formats/claude-code.md section 4).

A memory that was renamed keeps its line and its links, under its new name. One that was merged hands its
links to the memory that took it over, and its line too, unless that one has a line already. The line of one
that is gone goes; a new memory gets one. Only list items go: a line of prose that names a memory is for a
person to reword, and shows as dangling until then. Nothing is added where there is no index.

Pure: texts in, texts out, through the minimal edits of `homes.claude_index`.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Mapping

from reverie.homes.base import DreamtFile, RootChange
from reverie.homes.claude_index import INDEX, Link, links, stem_of
from reverie.homes.claude_mends import CannotMendError, relinked, with_line, without_line

_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")


def follow(change: RootChange) -> Mapping[str, str]:
    """The texts that become others, by `rel`."""
    before = {rel: file.text for rel, file in change.files.items() if rel.endswith(".md")}
    taken_over = {old: new for old, new in change.merged.items() if new in before}
    names = {
        file.name: change.files[taken_over[rel]].name or stem_of(taken_over[rel])
        for rel, file in change.gone.items()
        if rel in taken_over and file.name
    }
    index = before.get(INDEX)
    after = dict(before)
    if index is not None:
        after[INDEX] = _without_merged(index, taken_over, change)
    after = relinked(after, change.moved, taken_over, names)
    if index is not None:
        text = after[INDEX]
        gone = set(change.gone) - set(taken_over) - set(change.moved)
        text = _without(text, gone, {change.gone[rel].name for rel in gone} - _names(change.files))
        for rel in change.created:
            if rel in before and not _is_index(rel) and not _leads_there(text, rel, change.files[rel]):
                file = change.files[rel]
                text = with_line(text, rel, file.name or stem_of(rel), file.description)
        after[INDEX] = text
    return {rel: text for rel, text in after.items() if text != before[rel]}


def _without_merged(index: str, taken_over: Mapping[str, str], change: RootChange) -> str:
    """Without the lines of memories whose successor has one."""
    for old, new in taken_over.items():
        if _leads_there(index, new, change.files[new]):
            index = _without(index, {old}, {change.gone[old].name} - {""})
    return index


def _without(index: str, gone: set[str], names: set[str]) -> str:
    """Without the list items that name what is gone, and nothing else."""
    stems = {stem_of(rel) for rel in gone} | {posixpath.basename(stem_of(rel)) for rel in gone}
    lines = index.split("\n")
    doomed = {
        link.line
        for link in links(index)
        if (link.rel in gone if link.rel is not None else link.target in names | stems)
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
    return {file.name for file in files.values()} | {posixpath.basename(stem_of(rel)) for rel in files} | {""}


def _is_index(rel: str) -> bool:
    return posixpath.basename(rel) == INDEX
