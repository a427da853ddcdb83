"""The sections of session notes: how they are found, what breaks them, how long they may be
(formats/claude-code.md section 3).

A section begins at any line that begins with `# `, inside a code fence too: that is how the agent reads it.
Pure functions.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reverie.errors import UserError
from reverie.files.rooted import RootedDirectory
from reverie.llm.client import prompt_words
from reverie.text.summaries import utf16_length

SECTION_TOKENS = 2_000
TOTAL_TOKENS = 12_000

ProblemKind = Literal["empty", "missing", "order", "description", "long-section", "long-file"]


@dataclass(frozen=True, slots=True)
class Section:
    """One section. `description` is its italic line, empty where it has none; `body` what follows; `start`
    and `end` are offsets of the body in the text, `line` counts from 0."""

    name: str
    description: str
    body: str
    start: int
    end: int
    line: int

    @property
    def tokens(self) -> int:
        return rough_tokens(f"{self.description}\n{self.body}".strip())


@dataclass(frozen=True, slots=True)
class NotesProblem:
    """What a person may want to mend. `section` empty: the whole file; `tokens`: how many there are;
    `line` (from 1): where to look, for a missing section where it should stand."""

    kind: ProblemKind
    section: str = ""
    tokens: int = 0
    line: int = 1

    @property
    def most(self) -> int:
        """How many tokens the agent reads of it."""
        return TOTAL_TOKENS if self.kind == "long-file" else SECTION_TOKENS


def rough_tokens(text: str) -> int:
    """As the agent estimates: a quarter of the UTF-16 length, rounded half up."""
    return (utf16_length(text) + 2) // 4


def parse_sections(text: str) -> tuple[Section, ...]:
    """Every section in order; what stands before the first belongs to none."""
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
    """Headers with their descriptions: what an update must not touch."""
    return tuple((section.name, section.description) for section in parse_sections(text))


def structure_break(before: str, after: str) -> str:
    """What an update broke, as a sentence for people and models; empty where headers and descriptions are
    what and where they were."""
    old, new = structure_of(before), structure_of(after)
    if old == new:
        if old and _preamble(before) != _preamble(after):
            return "The text above the first header was changed."
        return "" if _headers(before) == _headers(after) else "The spaces behind a header were changed."
    names, now = [name for name, _ in old], [name for name, _ in new]
    for name in names:
        if now.count(name) < names.count(name):
            return f"The header {name[:80]!r} is gone."
    for name in now:
        if now.count(name) > names.count(name):
            return f"There is a header {name[:80]!r} that was not there."
    if names != now:
        return "The sections stand in another order."
    changed = next(name for (name, before), (_, said) in zip(old, new, strict=True) if before != said)
    return f"The description under {changed[:80]!r} was changed."


def _headers(text: str) -> list[str]:
    """The headers to the last space."""
    return re.findall(r"^\ufeff?(# [^\r\n]*)", text, re.MULTILINE)


def _preamble(text: str) -> str:
    """What stands above the first header, which belongs to no section; blank space aside."""
    match = re.search(r"^\ufeff?# ", text, re.MULTILINE)
    return text[: match.start() if match else 0].strip()


def problems_of(text: str, template: str) -> tuple[NotesProblem, ...]:
    """What is wrong with notes made of `template`, for people to mend; nothing is refused for it."""
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
    """What is too long: the whole file first, then sections, the largest first."""
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
    """For a model: what is too long; empty where nothing is."""
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
    """Whether nothing was noted yet: the notes are the template still."""
    return text.strip() == template.strip()


# The template: the names of its sections are the agent's, the text of the lines is ours. A person's own
# template replaces it, unless it is empty or cannot be read.


_OWN_BYTES = 256 << 10


def default_template() -> str:
    """It begins with a line break, as the agent's does."""
    return "\n" + prompt_words("notes-template").strip() + "\n"


def own_text(path: Path) -> str | None:
    """A person's own template or prompt; None where there is none that can be used."""
    with contextlib.suppress(UserError, UnicodeDecodeError):
        files = RootedDirectory(path.parent)
        if files.entry(path.name) is not None:
            text = files.read(path.name, limit=_OWN_BYTES).decode("utf-8")
            return text if text.strip() else None
    return None


def current_template(own: Path) -> str:
    """What new notes begin with: the text in `own`, else the default."""
    return own_text(own) or default_template()
