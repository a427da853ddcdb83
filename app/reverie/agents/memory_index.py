"""The memory index `MEMORY.md`: its loaded part, its problems, and edits that repair it.

The format is Claude Code's (formats/claude-code.md section 4); files with the `file_role` "index" have it.
The index is prose with links: any Markdown is accepted, and a line is an entry if it links to a file. Front
matter and block comments are removed and the rest is trimmed; only its first 200 lines are loaded, and of
those what fits into 25,000 characters (JavaScript's, UTF-16), cut at the last line break before.

An edit adds, drops or shortens a line, or updates links after a rename. It changes only the characters of
this line or link. This module writes nothing; the caller writes by compare-and-swap.

Pure, any thread: the caller reads the files and passes the fields of their front matter. Texts are passed
unchanged, with their line breaks and byte order mark. Checking accepts every text; an edit raises
`IndexEditError`.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal
from urllib.parse import quote, unquote

from reverie.agents.capabilities import ConsolidatedFile, RootChange
from reverie.text.summaries import cut_utf16, utf16_length
from reverie.values import Struct

INDEX = "MEMORY.md"
MOST_LINES = 200
MOST_CHARS = 25_000
RECOMMENDED_CHARS = 200
"""Recommended maximum length of a line of the index, from the agent's own warning."""

Problem = Literal[
    "over-lines", "over-chars", "falls-off", "no-file", "listed-twice", "long-line", "unlisted", "dangling",
    "duplicate-name", "no-description", "conflict-copy", "other-spelling",
]  # fmt: skip

_CONFLICT_COPY = re.compile(
    r"MEMORY(?:\.sync-conflict-[\w-]+| \([^()]*conflict[^()]*\)|_conf\([^()]*\)|[ -]conflict[ \w.-]*)\.md",
    re.IGNORECASE,
)
"""Names of conflict copies by Syncthing, Dropbox, Nextcloud and the like."""
_BREAK = re.compile(r"\r\n?")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_LINK = re.compile(
    r"\[(?P<title>(?:\\.|[^\[\]\\]|\[[^\[\]]*\])*)\]\("
    r"[ \t]*(?:<(?P<angled>[^<>\n]*)>|(?P<bare>(?:\\.|[^\s()<>\\]|\([^\s()]*\))+))"
    r"(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'))?[ \t]*\)"
)
_WIKI = re.compile(r"\[\[(?P<slug>[^\[\]|#\n]+)(?:#[^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class Cut(Struct, frozen=True):
    """The part of an index that the agent loads: its beginning, without front matter and block comments."""

    loaded: str
    """The text of the loaded part."""
    line: int | None
    """The first line of the file (from 1) that is not fully loaded; None if all lines are."""
    column: int
    """The loaded length of that line, in UTF-16 units."""
    lines: int
    """The number of lines without front matter and block comments, which counts against the limit."""
    chars: int
    """The number of UTF-16 units in these lines, which counts against the limit."""

    @property
    def over_lines(self) -> bool:
        return self.lines > MOST_LINES

    @property
    def over_chars(self) -> bool:
        return self.chars > MOST_CHARS


class IndexLink(Struct, frozen=True):
    """A link to a memory, in an index or in another memory."""

    line: int
    """The line of the link in the text, from 1."""
    start: int
    """The position of the first character of the link's target in the text."""
    end: int
    """The position after the last character of the link's target."""
    target: str
    """The decoded path or slug."""
    rel: str | None
    """The path of the file to which a Markdown link leads; None for `[[slug]]`."""
    title: str = ""
    """The text of a Markdown link."""
    angled: bool = False
    """Whether the target is written between `<` and `>`."""


class Topic(Struct, frozen=True):
    """One memory file other than an index, with fields of its front matter (None: missing)."""

    rel: str
    text: str
    name: str | None = None
    description: str | None = None


class IndexFinding(Struct, frozen=True):
    """One problem of an index or a memory that a person can repair."""

    problem: Problem
    rel: str
    """The file that has the problem, or that the problem is about."""
    line: int = 0
    """The line in this file, from 1; 0 for the whole file."""
    about: str = ""
    """The link's target, or the memory's name or path; empty if the problem needs none.

    For an index that is too large, its number of lines or of UTF-16 units.
    """
    is_prose: bool = False
    """Whether the line is no item of a list.

    Then it may contain more than a link, so a person has to reword it.
    """


@dataclass(frozen=True)
class IndexReport:
    """The result of checking a memory index."""

    cut: Cut
    """The part of the index that the agent loads."""
    entries: tuple[IndexLink, ...]
    """The links to files, in the order of the text."""
    findings: tuple[IndexFinding, ...]
    """The problems of the index and of the memories that it lists."""

    @cached_property
    def fallen(self) -> tuple[IndexLink, ...]:
        """Return the links after the loaded part, which the agent does not see."""
        return tuple(entry for entry in self.entries if falls_off(self.cut, entry.line))


def cut_of(text: str) -> Cut:
    """Return the part of the index `text` that the agent loads."""
    # Late: no index is open in a window that starts.
    from reverie.agents.claude.instruction_text import loaded_lines

    whole, numbers = loaded_lines(_BREAK.sub("\n", text))
    lines, chars = whole.split("\n"), utf16_length(whole)
    loaded = whole if len(lines) <= MOST_LINES else "\n".join(lines[:MOST_LINES])
    if utf16_length(loaded) > MOST_CHARS:
        # A break right after the last character that fits is found, too, as the agent finds it.
        head = cut_utf16(loaded, MOST_CHARS)
        at = len(head) if loaded[len(head)] == "\n" else head.rfind("\n")
        loaded = loaded[:at] if at > 0 else head
    rest = whole[len(loaded) :]
    count = len(lines) if whole else 0
    if not rest.strip():
        return Cut(loaded, None, 0, count, chars)
    line = loaded.count("\n")
    column = utf16_length(loaded.rpartition("\n")[2])
    if rest.startswith(("\n", "\r\n")):
        line, column = line + 1, 0
    return Cut(loaded, numbers[line], column, count, chars)


def falls_off(cut: Cut, line: int) -> bool:
    """Return whether line number `line` (from 1) of an index is not fully in its loaded part `cut`."""
    return cut.line is not None and line >= cut.line


def links(text: str, rel: str = INDEX) -> tuple[IndexLink, ...]:
    """Return the links to memories in `text`, the content of the file `rel`, in order.

    These are relative Markdown links to files inside the memory directory, and `[[slugs]]`. Links in code, to
    the web, to a heading, or out of the directory are not included.
    """
    folder, found = posixpath.dirname(rel), list[IndexLink]()
    for number, start, line in prose_lines(text):
        found += _markdown_links(line, number, start, folder)
        found += _slugs(line, number, start)
    return tuple(sorted(found, key=lambda link: link.start))


def prose_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield number (from 1), start position and text of each line outside of code blocks.

    Inline code in the text is replaced by spaces.
    """
    at, fence = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        start, at = at, at + len(line) + 1
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
        elif mark:
            fence = mark[1]
        else:
            yield number, start, _CODE.sub(lambda code: " " * len(code[0]), line)


def _markdown_links(line: str, number: int, start: int, folder: str) -> Iterator[IndexLink]:
    for match in _LINK.finditer(line):
        group = "bare" if match["angled"] is None else "angled"
        written = match[group]
        path = unquote(re.sub(r"\\(?=[!-/:-@\[-`{-~])", "", written.partition("#")[0]))
        if not path or path.startswith(("/", "~")) or _SCHEME.match(path):
            continue
        rel = posixpath.normpath(posixpath.join(folder, path))
        if rel in ("", ".") or rel.startswith("../") or rel == "..":
            continue
        end = start + match.start(group) + len(written.partition("#")[0])
        yield IndexLink(
            number, start + match.start(group), end, path, rel, match["title"], angled=group == "angled"
        )


def _slugs(line: str, number: int, start: int) -> Iterator[IndexLink]:
    for match in _WIKI.finditer(line):
        slug = match["slug"]
        at = start + match.start("slug") + len(slug) - len(slug.lstrip())
        yield IndexLink(number, at, at + len(slug.strip()), slug.strip(), None)


def report(index: str | None, topics: Sequence[Topic], others: Iterable[str] = ()) -> IndexReport:
    """Check an index and the memories (`topics`) that it should list; return the findings.

    `index`: the text of the index; None: there is none. `others`: files that may be linked to and need no
    line (pictures, logs, indexes of folders). Findings are in reading order, those of the index first.
    """
    text = index or ""
    cut, entries = cut_of(text), links(text)
    slugs, others = slug_table(topics), set(others)
    there = {topic.rel for topic in topics} | others
    findings = [IndexFinding("conflict-copy", rel) for rel in sorted(others) if is_conflict_copy(rel)]
    findings += _of_index(text, cut, entries, there, slugs)
    listed = {entry.rel for entry in entries} | {slugs.get(entry.target) for entry in entries}
    listed |= {same_spelling(entry.rel, there) for entry in entries if entry.rel is not None}
    names = Counter(topic.name for topic in topics if topic.name)
    for topic in topics:
        if topic.rel not in listed:
            findings.append(IndexFinding("unlisted", topic.rel, about=topic.name or topic.rel))
        if topic.name and names[topic.name] > 1:
            findings.append(IndexFinding("duplicate-name", topic.rel, about=topic.name))
        if not (topic.description or "").strip():
            findings.append(IndexFinding("no-description", topic.rel))
        findings += [
            IndexFinding("dangling", topic.rel, link.line, link.target)
            for link in links(topic.text, topic.rel)
            if (link.target not in slugs if link.rel is None else _is_missing_note(link.rel, there))
        ]
    return IndexReport(cut, entries, tuple(findings))


def _of_index(
    text: str, cut: Cut, entries: Sequence[IndexLink], there: set[str], slugs: Mapping[str, str]
) -> Iterator[IndexFinding]:
    if cut.line and cut.over_lines:
        yield IndexFinding("over-lines", INDEX, cut.line or 0, str(cut.lines))
    if cut.line and cut.over_chars:
        yield IndexFinding("over-chars", INDEX, cut.line or 0, str(cut.chars))
    lines, seen, long_ones = text.split("\n"), set[str](), set[int]()
    for entry in entries:
        leads_to = slugs.get(entry.target) if entry.rel is None else entry.rel
        line = lines[entry.line - 1].rstrip("\r")
        is_prose = _ITEM.match(line) is None
        if entry.rel is None and leads_to is None:
            yield IndexFinding("dangling", INDEX, entry.line, entry.target, is_prose)
        elif leads_to is not None and leads_to not in there and same_spelling(leads_to, there):
            yield IndexFinding("other-spelling", INDEX, entry.line, entry.target)
        elif leads_to is not None and leads_to not in there and leads_to != INDEX:
            yield IndexFinding("no-file", INDEX, entry.line, entry.target, is_prose)
        elif leads_to is not None and leads_to in seen:
            yield IndexFinding("listed-twice", INDEX, entry.line, entry.target, is_prose)
        seen.add(leads_to or "")
        if entry.line not in long_ones and utf16_length(line) > RECOMMENDED_CHARS:
            long_ones.add(entry.line)
            yield IndexFinding("long-line", INDEX, entry.line, entry.target)
        if falls_off(cut, entry.line):
            yield IndexFinding("falls-off", INDEX, entry.line, entry.target)


def is_conflict_copy(rel: str) -> bool:
    """Return whether a file is a copy of an index that a sync program made in a conflict."""
    return _CONFLICT_COPY.fullmatch(posixpath.basename(rel)) is not None


def same_spelling(rel: str, there: Collection[str]) -> str | None:
    """Return the file in `there` whose path is `rel` in another Unicode form, or None.

    For example, `ü` may be one or two characters. None if there is no such file, or if `rel` itself is in
    `there`.
    """
    if rel in there or rel.isascii():
        return None
    wanted = unicodedata.normalize("NFC", rel)
    return next((each for each in there if unicodedata.normalize("NFC", each) == wanted), None)


def respelled(text: str, line: int, there: Collection[str]) -> str:
    """Return the index with the links in line `line` (from 1) changed to the Unicode form of existing paths.

    `there`: the paths of the existing files.
    """
    for link in reversed(links(text)):
        called = None if link.rel is None or link.line != line else same_spelling(link.rel, there)
        if called is not None:
            written = called if link.angled else _target(called)
            text = text[: link.start] + written + text[link.end :]
    return text


def slug_table(topics: Iterable[Topic]) -> dict[str, str]:
    """Return slug -> path of the file among `topics` to which `[[slug]]` leads.

    A slug is the name in the front matter of a file, its path with or without `.md`, or its file name. If a
    slug fits several files, a name has precedence over a path, a path over a file name, and an earlier topic
    over a later one.
    """
    topics = list(topics)
    paths = [(slug, topic.rel) for topic in topics for slug in (topic.rel, stem_of(topic.rel))]
    names = [(topic.name, topic.rel) for topic in topics if topic.name]
    found: dict[str, str] = {}
    for slug, rel in (*names, *paths, *((posixpath.basename(slug), rel) for slug, rel in paths)):
        found.setdefault(slug, rel)
    return found


def _is_missing_note(rel: str, there: set[str]) -> bool:
    return rel.endswith(".md") and rel not in there and posixpath.basename(rel) != INDEX


def stem_of(rel: str) -> str:
    """Return a path without the extension `.md`; any other path unchanged."""
    return rel.removesuffix(".md")


_PLAIN_TARGET = "/-._~!$&'*+,;=:@"
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


class IndexEditError(ValueError):
    """Raised if an edit is impossible or would change more than intended; a person has to edit the text."""


def with_line(text: str, rel: str, title: str, hook: str = "") -> str:
    """Return the index with a new line for a file, below the last entry or else at the end.

    If the line would not be loaded at this place, it is inserted above the last loaded entry. `title`: the
    text of the link; `hook`: a short text after the link, which is cut or left out if the line would be
    longer than recommended. Raises `IndexEditError` if no place in the index is loaded.
    """
    entries = links(text)
    newline = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    line = f"- [{_title(title or stem_of(posixpath.basename(rel)))}]({_target(rel)})"
    hook = " ".join(hook.split())
    room = RECOMMENDED_CHARS - utf16_length(line) - 3
    if hook and room >= 10:
        line += f" — {_shortened(hook, room)}"
    if cut_of(text).line is None:
        number = entries[-1].line if entries else len(_LINES.findall(text))
        with_it = _inserted(text, number + 1, line, newline)
        if cut_of(with_it).line is None:
            return with_it
    return _among_loaded(text, line, newline)


def moved_up(text: str, line: int) -> str:
    """Return the index with the unloaded line number `line` moved above the last loaded entry.

    `line` counts from 1. Raises `IndexEditError` if no place in the index is loaded.
    """
    lines = _lines(text, line)
    moved = lines.pop(line - 1)
    newline = "\r\n" if moved.endswith("\r\n") else "\n"
    return _among_loaded("".join(lines), moved.rstrip("\r\n"), newline)


_DROPPED = ("no-file", "listed-twice", "dangling")
_TURNS = {"other-spelling": 0, "long-line": 0, **dict.fromkeys(_DROPPED, 1), "falls-off": 2, "unlisted": 3}
"""Problem of an index that `fixes` can fix -> its turn: lines change before others go or come."""


def can_fix(finding: IndexFinding) -> bool:
    """Return whether `fixes` can fix a problem; if not, a person has to edit a text."""
    return finding.problem in _TURNS and (finding.rel == INDEX or finding.problem == "unlisted")


def fixes(
    text: str, findings: Sequence[IndexFinding], topics: Mapping[str, Topic], there: Collection[str]
) -> Iterator[str]:
    """Fix problems of an index one by one; yield the whole text after each fix, which changes one line.

    `text`: the text of the index. `topics`: path -> memory, for the line of an unlisted one; `there`: the
    paths of the existing files. A problem that only a person can fix is left, for example if its line also
    names other files. Raises `IndexEditError` if nothing can be fixed.
    """
    lines, now = text.split("\n"), text
    reason: IndexEditError | None = IndexEditError("The index no longer has these problems.")
    dropped = {each.line for each in findings if each.problem in _DROPPED}
    # Upwards, so that the lines above keep their numbers.
    for finding in sorted(findings, key=lambda each: (_TURNS[each.problem], -each.line)):
        before, topic = now, topics.get(finding.rel)
        try:
            if finding.problem == "unlisted" and topic is not None:
                now = with_line(now, topic.rel, topic.name or "", topic.description or "")
            elif finding.line and (finding.problem in _DROPPED or finding.line not in dropped):
                line = _line_now(now, lines[finding.line - 1], finding.line)
                now = _with_fix(now, finding.problem, line, there) if line else now
        except IndexEditError as error:
            reason = reason and error
        if now != before:
            reason = None
            yield now
    if reason is not None:
        raise reason


def _line_now(text: str, line: str, number: int) -> int:
    """Return the present number of `line`, which had the number `number` before other fixes.

    0 if another fix changed or removed the line.
    """
    found = [now for now, each in enumerate(text.split("\n"), 1) if each == line]
    return min(found, key=lambda now: abs(now - number), default=0)


def _with_fix(text: str, problem: Problem, line: int, there: Collection[str]) -> str:
    if problem == "long-line":
        return with_shorter_line(text, line)
    if problem == "other-spelling":
        return respelled(text, line, there)
    if problem == "falls-off":
        return moved_up(text, line) if falls_off(cut_of(text), line) else text
    return without_line(text, line)


def _lines(text: str, line: int) -> list[str]:
    """Return the lines of the index with their breaks; raise `IndexEditError` if it has no line `line`."""
    lines = _LINES.findall(text)
    if line > len(lines):
        raise IndexEditError("The index has no such line.")
    return lines


def _inserted(text: str, number: int, line: str, newline: str) -> str:
    """Return the index with a new line, whose number is `number` (from 1)."""
    lines = _LINES.findall(text)
    if number > 1 and not lines[number - 2].endswith("\n"):
        # The last line had no break, so the new last line has none either.
        lines.insert(number - 1, newline + line)
    else:
        lines.insert(number - 1, line + newline)
    return "".join(lines)


def _among_loaded(text: str, line: str, newline: str) -> str:
    """Return the index `text` with `line` inserted above the last entry at which the agent still loads it.

    `newline`: the line break of the index. Raises `IndexEditError` if the agent would not load the line above
    any entry.
    """
    cut = cut_of(text)
    numbers = dict.fromkeys(entry.line for entry in links(text) if not falls_off(cut, entry.line))
    for number in reversed(numbers):
        with_it = _inserted(text, number, line, newline)
        if not falls_off(cut_of(with_it), number):
            return with_it
    raise IndexEditError("The agent loads so little of this index that a line would not fit.")


def without_line(text: str, line: int) -> str:
    """Return the index without its line number `line` (from 1).

    Raises `IndexEditError` if the line has more than one entry.
    """
    if len([entry for entry in links(text) if entry.line == line]) > 1:
        raise IndexEditError("This line names several files.")
    lines = _lines(text, line)
    if line > 1 and not lines[line - 1].endswith("\n"):
        # The last line had no break, so the new last line has none either.
        lines[line - 2] = lines[line - 2].removesuffix("\n").removesuffix("\r")
    del lines[line - 1]
    return "".join(lines)


def with_shorter_line(text: str, line: int, most: int = RECOMMENDED_CHARS) -> str:
    """Return the index with line number `line` cut at a word to `most` characters (UTF-16), with an ellipsis.

    `line` counts from 1. The links of the line are kept. Raises `IndexEditError` if the links alone are
    longer.
    """
    lines = _lines(text, line)
    whole = lines[line - 1]
    bare, start = whole.rstrip("\r\n"), sum(map(len, lines[: line - 1]))
    own = [link for link in links(text) if link.line == line]
    ends = (text.index(")", link.end) + 1 if link.rel else text.index("]]", link.end) + 2 for link in own)
    kept = max(ends, default=start) - start
    room = most - utf16_length(bare[:kept])
    if room < 0:
        raise IndexEditError("The links on this line are already longer than that.")
    lines[line - 1] = bare[:kept] + _shortened(bare[kept:], room) + whole[len(bare) :]
    return "".join(lines)


def relinked(
    files: Mapping[str, str],
    renames: Mapping[str, str],
    kept: Collection[str],
    heirs: Mapping[str, str] = {},
    names: Mapping[str, str] = {},
) -> dict[str, str]:
    """Return `files` with every link to a renamed or merged memory updated.

    A `[[slug]]` is changed if it is a file name or path, but not if it is a name in `kept`; titles of links
    stay.

    `files`: path -> text, after the rename or merge; the result also has the texts that did not change.
    `renames`: old -> new path; `kept`: the names in front matter of existing memories; `heirs`: path of a
    merged memory -> path of the memory that it was merged into; `names`: name in the front matter of a merged
    memory -> name of the memory that it was merged into.
    """
    origins = {new: old for old, new in renames.items()}
    stood = {origins.get(rel, rel) for rel in files} | heirs.keys()
    stems = Counter(posixpath.basename(stem_of(rel)) for rel in stood)
    # A new file at an old path is what the links there lead to.
    leads = {old: new for old, new in {**renames, **heirs}.items() if old not in files or old in origins}
    after = {}
    for rel, text in files.items():
        old_rel, folder = origins.get(rel, rel), posixpath.dirname(rel)
        has_moved = folder != posixpath.dirname(old_rel)
        for link in reversed(links(text, old_rel)):
            if link.rel is None:
                new = None if link.target in kept else _new_slug(link.target, leads, stems)
                new = new or names.get(link.target)
            elif has_moved or link.rel in leads:
                path = posixpath.relpath(leads.get(link.rel, link.rel), folder or ".")
                new = _target(path, angled=link.angled)
            else:
                new = None
            if new is not None:
                text = text[: link.start] + new + text[link.end :]
        after[rel] = text
    return after


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


_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")


def follow(change: RootChange) -> Mapping[str, str]:
    """Return path -> new text for each text that must change so that indexes and links match `change`.

    The line and the links of a renamed memory are updated. Links to a merged memory, and its line in the
    index, are changed to the memory into which it was merged; if that memory has a line already, the line is
    removed. The line of a deleted memory is removed; a line for a new memory is added. Only list items are
    removed, because prose that names a memory must be reworded by a person. Nothing is added if there is no
    index; each folder with an index of its own is handled separately.
    """
    folders = {posixpath.dirname(rel) for rel in change.files if _is_index(rel)}
    return {
        posixpath.join(folder, rel): text
        for folder in sorted(folders)
        for rel, text in _followed(_inside(change, folder, folders)).items()
    }


def folder_of(rel: str, folders: Collection[str]) -> str | None:
    """Return the folder whose index covers the file `rel`: the nearest of `folders` above it, or None."""
    above = posixpath.dirname(rel)
    while above and above not in folders:
        above = posixpath.dirname(above)
    return above if above in folders else None


def _inside(change: RootChange, folder: str, folders: Collection[str]) -> RootChange:
    """Return the part of a change that concerns the index of `folder`, with paths relative to it.

    Files that the index of a deeper folder covers are left out.
    """
    cut = len(folder) + 1 if folder else 0

    def belongs(rel: str) -> bool:
        return folder_of(rel, folders) == folder

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
    kept = {file.name for file in change.files.values() if file.name}
    after = relinked({**before, INDEX: index}, change.moved, kept, heirs, names)
    index = _without(after[INDEX], change.gone.keys() - heirs.keys(), change)
    for rel in change.created:
        file = change.files[rel]
        if rel in before and not _is_index(rel) and not _leads_there(index, rel, file):
            index = with_line(index, rel, file.name or stem_of(rel), file.description)
    after[INDEX] = index
    return {rel: text for rel, text in after.items() if text != before[rel]}


def _without(index: str, gone: Collection[str], change: RootChange) -> str:
    """Return the index without the list items that link to removed memories; prose is kept.

    `gone`: the paths of these memories. `change` has their names and the files that still exist.
    """
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
        with contextlib.suppress(IndexEditError):  # other memories are named there, too
            index = without_line(index, line)
    return index


def _leads_there(index: str, rel: str, file: ConsolidatedFile) -> bool:
    slugs = {file.name, rel, stem_of(rel), posixpath.basename(stem_of(rel))} - {""}
    return any(link.rel == rel if link.rel is not None else link.target in slugs for link in links(index))


def _names(files: Mapping[str, ConsolidatedFile]) -> set[str]:
    """Return every name by which a `[[slug]]` may refer to one of `files`."""
    return {file.name for file in files.values()} | {posixpath.basename(stem_of(rel)) for rel in files} | {""}


def _is_index(rel: str) -> bool:
    return posixpath.basename(rel) == INDEX
