"""Mending `MEMORY.md` of Claude Code: a line added, dropped or shortened, and links that follow a rename.

An edit changes the characters that it names and nothing else in the file: line breaks, byte order mark and
everything around stay byte for byte. Nothing is written here; the caller does so by compare-and-swap.

Pure, any thread. Failure: `CannotMendError` where a mend would change more than it says; its text is a
sentence for people.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from reverie.homes.claude_index import INDEX, WISHED_CHARS, Link, links, stem_of
from reverie.text.tokens import cut_utf16, utf16_length

_PLAIN_TARGET = "/-._~!$&'*+,;=:@"


class CannotMendError(ValueError):
    """This mend would change more than it says; what to do is to edit the text."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """One file of a plan; None: it is not there before, or not after."""

    rel: str
    before: str | None
    after: str | None


def with_line(text: str, rel: str, title: str, hook: str = "") -> str:
    """The index with a line for a file, below its last entry, else at the end. The line is as long as is
    wished at most, where title and path are not longer already."""
    entries = links(text)
    newline = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    line = f"- [{_title(title or stem_of(posixpath.basename(rel)))}]({_target(rel)})"
    hook = " ".join(hook.split())
    room = WISHED_CHARS - utf16_length(line) - 3
    if hook and room >= 10:
        line += f" — {_shortened(hook, room)}"
    at = _line_span(text, entries[-1].line)[1] if entries else len(text)
    before = text[:at]
    if before and not before.endswith("\n"):
        return f"{before}{newline}{line}{text[at:]}"
    return f"{before}{line}{newline}{text[at:]}"


def without_line(text: str, line: int) -> str:
    """The index without a line (from 1). Raises `CannotMendError` where more than one entry stands on it."""
    if len([entry for entry in links(text) if entry.line == line]) > 1:
        raise CannotMendError("Several files are named on this line.")
    start, end = _line_span(text, line)
    kept = text[:start] + text[end:]
    if end == len(text) and not text.endswith("\n"):
        kept = kept.removesuffix("\n").removesuffix(
            "\r"
        )  # the last line had no break, and the new one has none
    return kept


def with_shorter_line(text: str, line: int, most: int = WISHED_CHARS) -> str:
    """The index with a line cut to `most` characters (UTF-16), at a word, with an ellipsis; its links stay.
    Raises `CannotMendError` where those alone are longer."""
    start, end = _line_span(text, line)
    whole = text[start:end]
    bare = whole.rstrip("\r\n")
    if utf16_length(bare) <= most:
        return text
    last = max((_link_end(text, entry) for entry in links(text) if entry.line == line), default=start)
    head = text[start:last]
    room = most - utf16_length(head)
    if room < 0:
        raise CannotMendError("The links on this line are longer than that already.")
    tail = _shortened(bare[len(head) :], room)
    return text[: start + len(head)] + tail + whole[len(bare) :] + text[end:]


def renamed(
    files: Mapping[str, str], moved: Mapping[str, str], names: Collection[str] = ()
) -> tuple[FileEdit, ...]:
    """What changes where memories get new paths: the files themselves, and each link to them, in the index
    and in other memories. `files`: the text of every memory, the index too; `moved`: old path -> new path;
    `names`: what front matter calls the memories.

    `[[slugs]]` change where they name the file; where they name what its front matter calls it, nothing
    does, and neither does the title of a link. Raises `CannotMendError` for a path that is taken, or a file
    that is not among `files`."""
    for old, new in moved.items():
        if old not in files:
            raise CannotMendError(f"{old} is not there.")
        if new in files and new not in moved:
            raise CannotMendError(f"{new} is there already.")
    if len(set(moved.values())) != len(moved):
        raise CannotMendError("Two files cannot get one name.")
    stems = Counter(posixpath.basename(stem_of(rel)) for rel in files)
    edits = []
    for rel, text in sorted(files.items(), key=lambda item: (item[0] != INDEX, item[0])):
        new_rel = moved.get(rel, rel)
        after = _relinked(text, rel, new_rel, moved, stems, names)
        if new_rel != rel:
            edits += [FileEdit(new_rel, files.get(new_rel), after)]
            if rel not in moved.values():
                edits += [FileEdit(rel, text, None)]
        elif after != text:
            edits.append(FileEdit(rel, text, after))
    return tuple(edits)


def relinked(
    files: Mapping[str, str],
    renames: Mapping[str, str],
    heirs: Mapping[str, str],
    names: Mapping[str, str],
    kept: Collection[str] = (),
) -> dict[str, str]:
    """The texts with every link to a memory that was renamed, or merged into another, leading to where that
    stands now. `files`: as they stand after it; `renames`: old -> new path; `heirs`: path of a merged memory
    -> path of the one that took it over; `names`: what front matter called a merged one -> what its heir is
    called; `kept`: what it calls those that are there, which links by that name follow."""
    origins = {new: old for old, new in renames.items()}
    stood = {origins.get(rel, rel) for rel in files} | heirs.keys()
    stems = Counter(posixpath.basename(stem_of(rel)) for rel in stood)
    leads = {old: new for old, new in {**renames, **heirs}.items() if old not in files}
    after = {}
    for rel, text in files.items():
        changed = _relinked(text, origins.get(rel, rel), rel, leads, stems, kept)
        for link in reversed(links(changed, rel)):
            if link.rel is None and link.target in names:
                changed = changed[: link.start] + names[link.target] + changed[link.end :]
        after[rel] = changed
    return after


def _relinked(
    text: str,
    rel: str,
    new_rel: str,
    moved: Mapping[str, str],
    stems: Counter[str],
    names: Collection[str] = (),
) -> str:
    folder = posixpath.dirname(new_rel)
    changed = text
    for link in reversed(links(text, rel)):
        if link.rel is None:
            new = None if link.target in names else _new_slug(link.target, moved, stems)
        else:
            leads_to = moved.get(link.rel, link.rel)
            unmoved = leads_to == link.rel and folder == posixpath.dirname(rel)
            new = None if unmoved else _target(posixpath.relpath(leads_to, folder or "."), angled=link.angled)
        if new is not None:
            changed = changed[: link.start] + new + changed[link.end :]
    return changed


def _new_slug(slug: str, moved: Mapping[str, str], stems: Counter[str]) -> str | None:
    for old, new in moved.items():
        stem = posixpath.basename(stem_of(old))
        new_stem = posixpath.basename(stem_of(new))
        if slug == old:
            return new
        if slug == stem_of(old) and "/" in slug:
            return stem_of(new)
        if slug in (stem, posixpath.basename(old)) and stems[stem] == 1:
            return new_stem + slug[len(stem) :] if new_stem != stem else None
    return None


def _line_span(text: str, line: int) -> tuple[int, int]:
    """Where a line begins, and where the next one does."""
    start = 0
    for _each in range(line - 1):
        start = text.find("\n", start) + 1
        if not start:
            raise CannotMendError("There is no such line.")
    end = text.find("\n", start) + 1
    return start, end or len(text)


def _link_end(text: str, link: Link) -> int:
    """Behind the whole link, whose target ends at `link.end`."""
    close = text.find("]]" if link.rel is None else ")", link.end)
    return close + (2 if link.rel is None else 1)


def _shortened(text: str, room: int) -> str:
    if utf16_length(text) <= room:
        return text
    if room < 1:
        return ""
    head = cut_utf16(text, room - 1)
    whole = head if text[len(head) : len(head) + 1].isspace() else head.rpartition(" ")[0]
    kept = (whole or head).rstrip(" \t,;:.—–-")
    return f"{kept}…" if kept.strip() else ""


def _title(text: str) -> str:
    return re.sub(r"([\\\[\]])", r"\\\1", " ".join(text.split()))


def _target(rel: str, *, angled: bool = False) -> str:
    if angled:
        return rel.replace("%", "%25").replace("<", "%3C").replace(">", "%3E").replace("#", "%23")
    # Letters of every script stay readable; what would end the link, or mean something in it, is escaped.
    return "".join(char if not char.isascii() else quote(char, safe=_PLAIN_TARGET) for char in rel)
