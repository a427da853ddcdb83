"""Suggestions: the change that would settle a finding about several notes, so that a person can apply it.

A `Proposal` holds the new text of each note that it changes. It is made only where the notes themselves show
what is right: all of one note is in another one, or a later note says that something is done, replaced, or
has another value. The reasons (`Phrase`) are sentences for people.

Pure: no clock, no disk.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from reverie.errors import Conflict
from reverie.jobs.consolidate.facts import Fact
from reverie.text.patterns import pattern_of
from reverie.text.summaries import Phrase, phrase
from reverie.values import Struct

Action = Literal["delete", "replace", "describe"]
"""The kind of a suggested change: delete a note, replace words in one, or write a description."""


class Proposal(Struct, frozen=True):
    """The change that settles a finding, such as deleting one of two notes."""

    action: Action
    why: Phrase
    """The reason, as a sentence for people."""
    texts: Mapping[str, str | None]
    """The new text of each note that changes, by path; None deletes the note."""
    heir: str = ""
    """The note that is pinned instead, if a person chose to delete a pinned note.

    Empty: a pinned note is not deleted.
    """


def deletion(path: str, why: Phrase) -> Proposal:
    """Return the proposal to delete the note at `path`; `why`: the reason, as a sentence for people."""
    return Proposal("delete", why, {path: None})


def line_edit(path: str, text: str, line: int, after: str, why: Phrase) -> Proposal | None:
    """Return the proposal to replace one line of a note by `after`; None if that changes nothing.

    `text`: the text of the note at `path`; `line`: the number of the line, from 1. If `after` is empty, the
    line is removed. The line keeps its line ending. `why`: the reason, as a sentence for people.
    """
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        return None
    before = lines[line - 1]
    end = "\r" if before.endswith("\r") else ""
    lines[line - 1 : line] = [after + end] if after else []
    return Proposal("replace", why, {path: "\n".join(lines)}) if after + end != before else None


def stated_instead(path: str, text: str, fact: Fact, said: str, why: Phrase) -> Proposal | None:
    """Return the proposal to replace the statement `fact` of a note by the text `said`.

    `text`: the text of the note at `path`; `why`: the reason, as a sentence for people. None if the statement
    is not exactly once in its line, or `said` has several lines.
    """
    lines = text.split("\n")
    before = lines[fact.line - 1] if fact.line <= len(lines) else ""
    if before.count(fact.text) != 1 or "\n" in said:
        return None
    return line_edit(path, text, fact.line, before.rstrip("\r").replace(fact.text, said), why)


_BOX = pattern_of(r"\[ \]")
_OPEN_SIGN = pattern_of(r"[⏳🔄🚧⬜🔜📋]\ufe0f?")
_OPEN_WORD = pattern_of(
    r"\b(?:in[ -]progress|pending|planned|upcoming|not started|todo|to do|ongoing|wip|next|ready to start)\b",
    re.IGNORECASE,
)


def closed_line(line: str) -> str:
    """Return the line of a plan or task list with its mark for an open state replaced by one for done.

    Empty if the line has no such mark, or more than one, so that it is unclear which of them to replace.
    """
    boxes, signs = _BOX.findall(line), _OPEN_SIGN.findall(line)
    words = [match for match in _OPEN_WORD.finditer(line) if _is_state(line, match)]
    if len(boxes) + len(signs) > 1 or len(words) > 1 or not (boxes or signs or words):
        return ""
    if words:
        word = words[0]
        done = "COMPLETED" if word[0].isupper() and len(word[0]) > 2 else "completed"
        done = (
            done.capitalize()
            if word[0].istitle() or (word[0][0].isupper() and not word[0].isupper())
            else done
        )
        line = line[: word.start()] + done + line[word.end() :]
    return _OPEN_SIGN.sub("✅", _BOX.sub("[x]", line))


_BEFORE_STATE = pattern_of(r"[(\[|:：*_–—-]\s*[*_`]*$")
_AFTER_STATE = pattern_of(r"^[*_`]*\s*(?:[)\]|*_.,–—-]|$)")


def _is_state(line: str, match: re.Match[str]) -> bool:
    """Return whether a word stands alone as a state, as in `(in progress)`, `| pending |` or `- planned`."""
    before, after = _OPEN_SIGN.sub("", line[: match.start()]), line[match.end() :]
    return bool(_BEFORE_STATE.search(before.rstrip() or "|") and _AFTER_STATE.search(after))


def renamed(line: str, gone: str, instead: str) -> str:
    """Return a line with the name `gone` replaced by the name `instead`.

    Empty if `gone` is not in the line, or more than once.
    """
    pattern = re.compile(rf"(?<![\w./-]){re.escape(gone)}(?![\w/-])")
    found = pattern.findall(line)
    return pattern.sub(lambda _match: instead, line) if len(found) == 1 else ""


def repeats(small: str, large: str) -> Phrase:
    """Return the reason to delete a note that another one contains; the arguments are paths."""
    return phrase("{large} has everything that {small} states.", small=_name(small), large=_name(large))


def overtaken(older: str, newer: str) -> Phrase:
    """Return the reason to delete a note of which a later version exists; the arguments are paths."""
    return phrase("{newer} is the later version of {older}.", older=_name(older), newer=_name(newer))


def whole_description(path: str, text: str) -> Proposal:
    """Return the proposal to write the description of a note so that the agent reads all of it.

    `text`: the new text of the note at `path`.
    """
    return Proposal("describe", phrase("The agent reads only a part of this description."), {path: text})


def corrected(path: str, text: str, token: str, to: str) -> Proposal:
    """Return the proposal to correct a statement that the repository disproves.

    `text`: the new text of the note at `path`; `token`: the wrong value; `to`: the value in the repository.
    """
    why = phrase("According to the repository, {token} is {to} now.", token=token, to=to)
    return Proposal("replace", why, {path: text})


def changed_since(path: str) -> Conflict:
    """Return the error for a memory that has changed since its finding was made."""
    return Conflict(
        "Nothing was changed.",
        cause=f"{path} has changed since this finding was shown.",
        next_step="List the findings again.",
        reason="changed",
    )


def kept(stays: str, goes: str) -> Proposal:
    """Return the proposal by which a person keeps the note `stays` and deletes the note `goes` (paths)."""
    return Proposal("delete", chosen(stays, goes), {goes: None}, heir=stays)


def chosen(stays: str, goes: str) -> Phrase:
    """Return the sentence that a person chose the note `stays` over the note `goes` (paths)."""
    return phrase("You chose {stays} over {goes}.", stays=_name(stays), goes=_name(goes))


def later_value(older: str, newer: str) -> Phrase:
    """Return the reason to take over a value from a later note; the arguments are paths."""
    return phrase("{newer} was written later than {older}.", older=_name(older), newer=_name(newer))


def done_since(newer: str) -> Phrase:
    """Return the reason to mark as done what the later note at the path `newer` calls done."""
    return phrase("{newer} says that this is done.", newer=_name(newer))


def replaced_since(newer: str, gone: str, instead: str) -> Phrase:
    """Return the reason to replace the name `gone` by the name `instead`, which a later note gives.

    `newer`: the path of the later note.
    """
    return phrase(
        "{newer} says that {instead} has replaced {gone}.", newer=_name(newer), gone=gone, instead=instead
    )


def _name(path: str) -> str:
    return path.rpartition("/")[2]
