"""The sections of session notes: parsing, structure, problems and the template.

The format is that of formats/claude-code.md section 3.

Threading: pure, except that `own_text` reads a file. Failure: none.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Literal

from reverie.errors import UserError
from reverie.files.rooted import RootedDirectory
from reverie.llm.prompts import prompt_words
from reverie.text.summaries import utf16_length
from reverie.values import Struct

SECTION_TOKENS = 2_000
TOTAL_TOKENS = 12_000

ProblemKind = Literal["empty", "missing", "order", "description", "long-section", "long-file"]


class Section(Struct, frozen=True):
    """One section of the session notes: a header with the text below it."""

    name: str
    description: str
    """The italic line below the header; empty if there is none."""
    body: str
    """The text after the header and the description."""
    start: int
    """The offset of the body in the text."""
    end: int
    """The offset of the end of the body in the text."""
    line: int
    """The number of the header's line, from 0."""

    @property
    def tokens(self) -> int:
        """The estimated number of tokens of description and body."""
        return rough_tokens(f"{self.description}\n{self.body}".strip())


class NotesProblem(Struct, frozen=True):
    """A problem in session notes that a person may want to fix, such as a section that is too long."""

    kind: ProblemKind
    section: str = ""
    """The header of the section; empty if the problem concerns the whole file."""
    tokens: int = 0
    """The estimated number of tokens, if the text is too long."""
    line: int = 1
    """The line (from 1) of the problem, or the line after which a missing section belongs."""

    @property
    def most(self) -> int:
        """The largest number of tokens that the agent reads of this section or file."""
        return TOTAL_TOKENS if self.kind == "long-file" else SECTION_TOKENS


def rough_tokens(text: str) -> int:
    """Return the agent's estimate of tokens: a quarter of the UTF-16 length, rounded half up."""
    return (utf16_length(text) + 2) // 4


def parse_sections(text: str) -> tuple[Section, ...]:
    """Return every section in order, without the text before the first one.

    A section begins at any line that begins with `# `, also inside a code fence, because the agent reads it
    that way.
    """
    found: list[Section] = []
    name = description = ""
    begin = line_begin = 0
    offset, after_header, inside = 0, False, False

    def close(end: int) -> None:
        if inside:
            found.append(Section(name, description, text[begin:end], begin, end, line_begin))

    for number, line in enumerate(re.findall(r"[^\n]*\n|[^\n]+", text)):
        bare = line.rstrip("\r\n")
        if bare.lstrip("\ufeff").startswith("# ") if not offset else bare.startswith("# "):
            close(offset)
            name, description, inside, after_header = bare.lstrip("\ufeff").rstrip(), "", True, True
            begin, line_begin = offset + len(line), number
        elif after_header:
            after_header = False
            stripped = bare.strip()
            if len(stripped) > 1 and stripped.startswith("_") and stripped.endswith("_"):
                description, begin = stripped, offset + len(line)
        offset += len(line)
    close(len(text))
    return tuple(found)


def structure_of(text: str) -> tuple[tuple[str, str], ...]:
    """Return the headers with their descriptions, which an update must not change."""
    return tuple((section.name, section.description) for section in parse_sections(text))


def structure_break(before: str, after: str) -> str:
    """Return a sentence, for people and models, that describes how an update changed the structure.

    Empty if these are unchanged: the headers, including trailing spaces, their order, the descriptions, and
    the text above the first header.
    """
    old, new = structure_of(before), structure_of(after)
    if old == new:
        if old and _preamble(before) != _preamble(after):
            return "The text above the first header was changed."
        return "" if _headers(before) == _headers(after) else "The spaces after a header were changed."
    names, now = [name for name, _ in old], [name for name, _ in new]
    for name in names:
        if now.count(name) < names.count(name):
            return f"The header {name[:80]!r} is missing."
    for name in now:
        if now.count(name) > names.count(name):
            return f"The header {name[:80]!r} was added."
    if names != now:
        return "The order of the sections was changed."
    changed = next(name for (name, before), (_, said) in zip(old, new, strict=True) if before != said)
    return f"The description under {changed[:80]!r} was changed."


def _headers(text: str) -> list[str]:
    """Return the headers with their trailing spaces."""
    return re.findall(r"^\ufeff?(# [^\r\n]*)", text, re.MULTILINE)


def _preamble(text: str) -> str:
    """Return the text above the first header, without surrounding white space."""
    match = re.search(r"^\ufeff?# ", text, re.MULTILINE)
    return text[: match.start() if match else 0].strip()


def problems_of(text: str, template: str) -> tuple[NotesProblem, ...]:
    """Return the problems in notes made from `template`, for a person to fix.

    A problem never prevents an update.
    """
    if not text.strip():
        return (NotesProblem("empty"),)
    wanted, there = parse_sections(template), parse_sections(text)
    names = [section.name for section in there]
    lines = {section.name: section.line + 1 for section in reversed(there)}
    found, above = [], 1
    for section in wanted:
        above = lines.get(section.name, above)
        if section.name not in names:
            found.append(NotesProblem("missing", section.name, line=above))
    known = [section.name for section in wanted if section.name in names]
    order = [name for name in dict.fromkeys(names) if name in known]
    if order != known:
        moved = next(name for name, place in zip(order, known, strict=True) if name != place)
        found.append(NotesProblem("order", line=lines[moved]))
    described = {section.name: section.description for section in there}
    last = {section.name: section.line + 1 for section in there}
    found += [
        NotesProblem("description", section.name, line=last[section.name] + 1)
        for section in wanted
        if section.name in described and described[section.name] != section.description
    ]
    return (*found, *over_limits(text))


def over_limits(text: str) -> tuple[NotesProblem, ...]:
    """Return the sections that are too long, longest first; before them the whole file, if it is too long."""
    total = rough_tokens(text)
    long = sorted(
        (section for section in parse_sections(text) if section.tokens > SECTION_TOKENS),
        key=lambda section: -section.tokens,
    )
    whole = (NotesProblem("long-file", "", total),) if total > TOTAL_TOKENS else ()
    return (
        *whole,
        *(NotesProblem("long-section", section.name, section.tokens, section.line + 1) for section in long),
    )


def reminder_of(text: str) -> str:
    """Return a message to a model about texts that are too long; empty if there are none."""
    lines = []
    for problem in over_limits(text):
        if problem.kind == "long-file":
            lines.append(
                f"The notes hold about {problem.tokens} tokens; at most {TOTAL_TOKENS} are read. "
                "Shorten them, the current state and the errors last."
            )
        else:
            lines.append(
                f"{problem.section} holds about {problem.tokens} tokens; at most {SECTION_TOKENS} are read. "
                "Shorten it."
            )
    return "\n".join(lines)


def is_template(text: str, template: str) -> bool:
    """Return True if the notes are still equal to the template."""
    return text.strip() == template.strip()


_OWN_BYTES = 256 << 10


def default_template() -> str:
    """Return the built-in template.

    The section names are the agent's; the other text is Reverie's. The template begins with a line break, as
    the agent's template does.
    """
    return "\n" + prompt_words("notes-template").strip() + "\n"


def own_text(path: Path) -> str | None:
    """Return a person's own template or prompt; None if the file is missing, empty or unreadable."""
    with contextlib.suppress(UserError, UnicodeDecodeError):
        files = RootedDirectory(path.parent)
        if files.entry(path.name) is not None:
            text = files.read(path.name, limit=_OWN_BYTES).decode("utf-8")
            return text if text.strip() else None
    return None


def current_template(own: Path) -> str:
    """Return the template for new notes: the text in `own`, else the default."""
    return own_text(own) or default_template()
