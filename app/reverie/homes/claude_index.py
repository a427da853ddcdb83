"""`MEMORY.md` as Claude Code loads it, and what is wrong with it (formats/claude-code.md section 4).

The index is prose with links in it: any Markdown is accepted, and a line counts as an entry where it links to
a file. Of what is left without front matter and block comments, trimmed, only the first 200 lines are loaded,
and of those what fits into 25,000 characters (JavaScript's, UTF-16), cut at the last line break before.

Pure, any thread: the caller reads the files and says what their front matter holds. Texts are as found, with
their line breaks and byte order mark. Nothing here fails on any text. How to mend it: `claude_mends`.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal
from urllib.parse import unquote

from reverie.homes.claude_text import loaded_lines
from reverie.text.tokens import cut_utf16, utf16_length

INDEX = "MEMORY.md"
MOST_LINES = 200
MOST_CHARS = 25_000
WISHED_CHARS = 200
"""How long a line of the index should be at most: the agent's own warning names it."""

Problem = Literal[
    "over-lines", "over-chars", "falls-off", "no-file", "listed-twice", "long-line", "unlisted", "dangling",
    "duplicate-name", "no-description",
]  # fmt: skip

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


@dataclass(frozen=True, slots=True)
class Cut:
    """What the agent loads of an index: what is left without front matter and block comments, trimmed, and
    of that the beginning."""

    loaded: str
    line: int | None
    """The first line of the file (from 1) of which the limits leave something out; None where nothing is."""
    column: int
    """How much of that line is loaded, in UTF-16 units."""
    lines: int
    """Those that count against the limit."""
    chars: int
    """UTF-16 units that count against the limit."""

    @property
    def over_lines(self) -> bool:
        return self.lines > MOST_LINES

    @property
    def over_chars(self) -> bool:
        return self.chars > MOST_CHARS


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a memory. `start` and `end` are where its target stands in the text (characters); `target` is
    as a path or slug, decoded; `rel` the file a Markdown link leads to, None for `[[slug]]`. `title` is the
    text of a Markdown link."""

    line: int
    start: int
    end: int
    target: str
    rel: str | None
    title: str = ""
    angled: bool = False


@dataclass(frozen=True, slots=True)
class Topic:
    """One memory file but an index: its whole text, and what its front matter says (None: nothing)."""

    rel: str
    text: str
    name: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to mend. `rel`: the file it is in, or is about; `line` (from 1) in that file, 0 for the whole
    of it; `about`: the target, the name, or the line's text."""

    problem: Problem
    rel: str
    line: int = 0
    about: str = ""


@dataclass(frozen=True)
class IndexReport:
    """An index and what was found. `entries` are its links to files in order; `fallen` those of them that the
    agent does not load."""

    cut: Cut
    entries: tuple[Link, ...]
    findings: tuple[Finding, ...]

    @cached_property
    def fallen(self) -> tuple[Link, ...]:
        """The links that the agent does not load: they stand below the cut."""
        return tuple(entry for entry in self.entries if falls_off(self.cut, entry.line))


# What is loaded


def cut_of(text: str) -> Cut:
    """What the agent loads of an index."""
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
    """Whether the agent does not load (all of) a line."""
    return cut.line is not None and line >= cut.line


# Links


def links(text: str, rel: str = INDEX) -> tuple[Link, ...]:
    """The links to memories in a file `rel`, in order: relative Markdown links to files inside the memory
    directory, and `[[slugs]]`. Not those in code, to the web, to a heading, or out of the directory."""
    return tuple(_links(text, posixpath.dirname(rel)))


def _links(text: str, folder: str) -> Iterator[Link]:
    for number, start, line in prose_lines(text):
        found = [*_markdown_links(line, number, start, folder), *_slugs(line, number, start)]
        yield from sorted(found, key=lambda link: link.start)


def prose_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """The lines that are no code: number from 1, where they begin, and their text with spaces for code."""
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


def _markdown_links(line: str, number: int, start: int, folder: str) -> Iterator[Link]:
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
        yield Link(
            number, start + match.start(group), end, path, rel, match["title"], angled=group == "angled"
        )


def _slugs(line: str, number: int, start: int) -> Iterator[Link]:
    for match in _WIKI.finditer(line):
        slug = match["slug"]
        at = start + match.start("slug") + len(slug) - len(slug.lstrip())
        yield Link(number, at, at + len(slug.strip()), slug.strip(), None)


# Looking


def report(index: str | None, topics: Sequence[Topic], others: Iterable[str] = ()) -> IndexReport:
    """What is to be said of an index (None: there is none) and its topics. `others`: files that may be linked
    to and need no line (pictures, logs, indexes of folders). Findings stand in reading order, those of the
    index first."""
    text = index or ""
    cut, entries = cut_of(text), links(text)
    slugs = slug_table(topics)
    there = {topic.rel for topic in topics} | set(others)
    findings = list(_of_index(text, cut, entries, there, slugs))
    listed = {entry.rel for entry in entries} | {slugs.get(entry.target) for entry in entries}
    names = Counter(topic.name for topic in topics if topic.name)
    for topic in topics:
        if topic.rel not in listed:
            findings.append(Finding("unlisted", topic.rel, about=topic.name or topic.rel))
        if topic.name and names[topic.name] > 1:
            findings.append(Finding("duplicate-name", topic.rel, about=topic.name))
        if not (topic.description or "").strip():
            findings.append(Finding("no-description", topic.rel))
        findings += [
            Finding("dangling", topic.rel, link.line, link.target)
            for link in links(topic.text, topic.rel)
            if (link.target not in slugs if link.rel is None else _is_missing_note(link.rel, there))
        ]
    return IndexReport(cut, entries, tuple(findings))


def _of_index(
    text: str, cut: Cut, entries: Sequence[Link], there: set[str], slugs: Mapping[str, str]
) -> Iterator[Finding]:
    if cut.line and cut.over_lines:
        yield Finding("over-lines", INDEX, cut.line or 0, str(cut.lines))
    if cut.line and cut.over_chars:
        yield Finding("over-chars", INDEX, cut.line or 0, str(cut.chars))
    lines, seen, long_ones = text.split("\n"), set[str](), set[int]()
    for entry in entries:
        leads_to = slugs.get(entry.target) if entry.rel is None else entry.rel
        if entry.rel is None and leads_to is None:
            yield Finding("dangling", INDEX, entry.line, entry.target)
        elif leads_to is not None and leads_to not in there and leads_to != INDEX:
            yield Finding("no-file", INDEX, entry.line, entry.target)
        elif leads_to is not None and leads_to in seen:
            yield Finding("listed-twice", INDEX, entry.line, entry.target)
        seen.add(leads_to or "")
        line = lines[entry.line - 1].rstrip("\r")
        if entry.line not in long_ones and utf16_length(line) > WISHED_CHARS:
            long_ones.add(entry.line)
            yield Finding("long-line", INDEX, entry.line, entry.target)
        if falls_off(cut, entry.line):
            yield Finding("falls-off", INDEX, entry.line, entry.target)


def slug_table(topics: Iterable[Topic]) -> dict[str, str]:
    """What `[[slugs]]` lead to: a name, a path without its ending, the name of a file; the first counts."""
    found: dict[str, str] = {}
    topics = list(topics)
    for topic in topics:
        if topic.name:
            found.setdefault(topic.name, topic.rel)
    for topic in topics:
        found.setdefault(topic.rel, topic.rel)
        found.setdefault(stem_of(topic.rel), topic.rel)
    for topic in topics:
        found.setdefault(posixpath.basename(stem_of(topic.rel)), topic.rel)
        found.setdefault(posixpath.basename(topic.rel), topic.rel)
    return found


def _is_missing_note(rel: str, there: set[str]) -> bool:
    return rel.endswith(".md") and rel not in there and posixpath.basename(rel) != INDEX


def stem_of(rel: str) -> str:
    """A path without the ending of a note."""
    return rel.removesuffix(".md")
