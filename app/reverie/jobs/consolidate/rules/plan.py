"""The plan of a consolidation by rules: takes notes and returns groups of memory commands.

The rules use up the budget in this order: exact duplicates, notes that another note contains, paths of files
that were moved, harvest inboxes that other notes contain, empty files, descriptions, noise. A group of
commands is carried out completely or not at all. A group that does not fit the budget is left for the next
run, while a later, cheaper group may still fit. Every command is valid on the text that results from the
commands before it.

Only notes that repeat another one are merged (`relations`); pairs that overlap in another way are for a
person to decide. Notes of different scopes are never merged, and protected notes are never deleted; a merge
preserves every line, and bodies never grow in total (`merge`). Planning repeatedly on the result ends with
"no changes needed".

Pure: no clock, no disk. The result depends on the notes only, not on their order. `check` is called every few
milliseconds of work and may raise to cancel.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from reverie.agents.capabilities import ComparableText
from reverie.agents.scopes import Caps
from reverie.claims.checking import CheckedClaim, ClaimState, fixed
from reverie.claims.finding import ClaimKind
from reverie.errors import PathRuleError
from reverie.jobs.consolidate.relations import (
    UNSPACED,
    ComparedText,
    Relation,
    TextIndex,
    compare,
    folded_body,
)
from reverie.jobs.consolidate.rules.merge import merge
from reverie.jobs.consolidate.rules.reading import (
    CONTRADICTION,
    Passage,
    code_among,
    heading_text,
    name_words,
    passages_of,
    read_keys,
    split_passages,
    split_sentences,
    table_cells,
)
from reverie.jobs.consolidate.rules.wording import (
    FUNCTION_WORDS,
    HOLDING,
    LOADED_HEADINGS,
    NEGATIONS_CLAUSE,
    NEGATIONS_FORWARD,
    NOTE_NAME_WORDS,
    POOR_NAME_WORDS,
    read_wording,
)
from reverie.memory import front_matter
from reverie.memory.front_matter_rules import BOM, block_of
from reverie.memory.lint import conflict_lines, is_placeholder
from reverie.memory.listing import no_check
from reverie.memory.paths import parse_memory_path, utf16_key
from reverie.runs.retention import INBOX, folded_words
from reverie.text.patterns import pattern_of
from reverie.text.redact import find_secrets
from reverie.text.summaries import cut_utf16, utf16_length, with_pairs
from reverie.values import Struct, replace

_CATEGORY = r"## (?:preference|project|environment|workflow|other)\n\n"
_CANDIDATE = pattern_of(
    rf"{_CATEGORY}(?P<text>.+?)\n\n"
    rf"Evidence: [^\n]+\nConfidence: [\d.]+\nRationale: [^\n]+(?=\n\n{_CATEGORY}|\Z)",
    re.DOTALL,
)
_HEAD = pattern_of(r"\s*# Harvest inbox: [^\n]+\n\nSource boundary: [^\n]+\nSummary message: [^\n]+\n\n")
_LOADED = LOADED_HEADINGS | NEGATIONS_FORWARD | NEGATIONS_CLAUSE
_LEAST_WORDS = 3
_LOOKED_AT = 200


def candidates_of(text: str) -> tuple[str, ...]:
    """Return the texts of an inbox's candidates; empty unless the inbox has exactly the agent's format.

    An inbox with any other line may have been edited by a person (formats/mux.md section 11).
    """
    text = text.replace("\r\n", "\n")
    block = block_of(text)
    body = (text[block.body_start :] if block is not None else text).rstrip()
    head = _HEAD.match(body)
    if head is None:
        return ()
    found = []
    at = head.end()
    while match := _CANDIDATE.match(body, at):
        if "Evidence: " in match["text"]:
            return ()
        found.append(match["text"])
        at = match.end()
        at += len(body[at:]) - len(body[at:].lstrip("\n"))
    return tuple(found) if at >= len(body) else ()


class KnownTexts:
    """The lines of the notes outside the inboxes, by which candidates of an inbox are found.

    Lines are folded as in `runs.retention`, so that both checks agree.
    """

    def __init__(self, notes: Mapping[str, str], check: Callable[[], None]) -> None:
        self._lines: list[tuple[str, str]] = []
        self._where: dict[str, list[int]] = defaultdict(list)
        for path, text in notes.items():
            check()
            if not set(name_words(path)[0]) & LOADED_HEADINGS:
                self._read(path, text)

    def _read(self, path: str, text: str) -> None:
        block = block_of(text)
        for passage in split_passages(text[block.body_start :] if block is not None else text):
            around = read_wording(f"{passage.section}, {passage.parent}").seen
            if passage.kind in ("code", "rule") or around & _LOADED:
                continue
            for line in passage.lines:
                folded = folded_words(line)
                if folded and not CONTRADICTION.search(line):
                    for each in set(folded.split()):
                        self._where[each].append(len(self._lines))
                    self._lines.append((path, folded))

    def holds(self, candidate: str) -> bool:
        """Return whether one note has every line of the candidate."""
        places: set[str] | None = None
        for line in candidate.split("\n"):
            folded = folded_words(line)
            if folded:
                found = set(self._paths(folded))
                places = found if places is None else places & found
        return bool(places)

    def _paths(self, folded: str) -> Iterable[str]:
        """Return the notes that have this folded line with the same meaning."""
        own = folded.split()
        rarest = min((self._where.get(each, []) for each in own), key=len)
        for number in rarest[:_LOOKED_AT]:
            path, line = self._lines[number]
            around = frozenset(line.replace(folded, " ", 1).split()) if folded in line else None
            if around is None or around & (_LOADED | HOLDING):
                continue
            if len(own) >= _LEAST_WORDS or not around:
                yield path


_EMPTY_BLOCK = pattern_of(r"---\r?\n(?:[ \t]*\r?\n)*---[ \t]*(?:\r?\n|\Z)")
_LINK = pattern_of(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = pattern_of(r"(?<![\w/])(?:\*{1,3}|_{1,3}|~~)(?=\S)|(?<=[^\s/])(?:\*{1,3}|_{1,3}|~~)(?![\w/])")
_MARKER = pattern_of(r"^\s*(?:>\s*)*(?:[-*+•]\s+|\d{1,3}[.)]\s+)?(?:\[[ xX]\]\s+)?")
_COMMENT = pattern_of(r"<!--.*?(?:-->|$)")
_UNDERLINE = pattern_of(r"\s*(?:-{2,}|={2,})\s*")
_DECLARED = pattern_of(r"^description:[ \t]*(\S.*)$", re.MULTILINE)
_BLANK_END = pattern_of(r"[ \t]\r?(?:\n|\Z)")
# Text that the agent itself refuses to write into a memory (formats/mux.md section 11), even if a person
# would see that it is not a real key.
_KEY_SHAPE = pattern_of(r"\bsk-[A-Za-z0-9_-]{12,}")
_LONGEST_WRITTEN = 200
# The number of words beyond the name that a good description has.
_TELLING = 3
_LETTER = pattern_of(r"[^\W\d_]")
_STEM = 5
_FIELD = pattern_of(r"\W{0,4}[^\W\d_][^:：]{1,24}[:：]\s*(?P<value>.*)")
_FIELD_WORDS = 5
_BOILERPLATE = "this file provides guidance to"
_LOOKED_FOR_SECRETS = 4_000
_BEGINNING = 6_000
_BARE_KEY = pattern_of(r"\s*description:\s*")
_HARD_BREAK = pattern_of(r"[^ \t] {2,}\r?$")


def is_empty(text: str) -> bool:
    """Return whether a text has only white space, or only an empty front matter block."""
    bare = text.removeprefix(BOM)
    return (
        not _EMPTY_BLOCK.sub("", bare.lstrip(), count=1).strip()
        if bare.startswith("---")
        else not bare.strip()
    )


def lacks_description(text: str, caps: Caps) -> bool:
    """Return whether the agent's index would show no description for the note."""
    return caps.descriptions and not _shown(text, caps)


def with_description(
    text: str,
    caps: Caps,
    name: Sequence[str] = (),
    folders: Sequence[str] = (),
    stale: Collection[str] = (),
) -> str | None:
    """Return the note with a description that the agent can read.

    None if the note has one already, or no suitable text is found.

    `name` and `folders` are the words of the note's path; a description must have other words as well. A
    description never repeats one of the `stale` values.
    """
    if not lacks_description(text, caps) or conflict_lines(text):
        return None
    prefix, rules = caps.description_prefix_bytes, caps.front_matter
    result = front_matter.repair(text, prefix_bytes=prefix, rules=rules) or text
    if not _shown(result, caps):
        value = _value(result, caps, name, folders, stale)
        if value is None:
            return None
        try:
            result = front_matter.set_description(result, value, prefix_bytes=prefix, rules=rules)
        except front_matter.FrontError:
            return None  # The findings report the problem of the block.
    is_better = bool(_shown(result, caps)) and _keeps_words(text, result)
    return result if is_better and len(result.encode("utf-8", "surrogatepass")) <= caps.file_bytes else None


def _shown(text: str, caps: Caps) -> str:
    """Return the description that the agent shows."""
    beginning = text[: caps.description_prefix_bytes].encode("utf-8", "surrogatepass")
    return front_matter.description(beginning, caps).text


def _value(
    text: str, caps: Caps, name: Sequence[str], folders: Sequence[str], stale: Collection[str]
) -> str | None:
    """Return the description to write; None if no text is suitable.

    This is an existing value that is not text, or else the first suitable passage that has more than the
    words of the name and contains no secret.
    """
    keys = read_keys(text)
    key = next((each for each in keys.keys if each.name == "description"), None) if keys is not None else None
    if key is not None:
        below = (line for line in key.lines[1:] if not line.lstrip().startswith("#"))
        stated = _flat(" ".join([key.lines[0].split(":", 1)[1], *below]))
        if re.search(r"\w", stated) and stated.casefold() not in ("null", '""', "''"):
            items = stated.strip("[]{}").removeprefix("- ").replace(" - ", ", ")
            fits = utf16_length(items) <= longest_description(caps) and not _may_be_secret(items)
            return items if fits else None
    said = (each for each in _said_words(text, caps) if not _repeats(each.around[-each.own :], stale))
    return _telling_words(said, name, folders)


def _repeats(passage: str, stale: Collection[str]) -> bool:
    """Return whether a passage contains one of the `stale` values as a whole word."""
    return any(re.search(rf"(?<![\w/.-]){re.escape(token)}(?![\w/-]|\.\w)", passage) for token in stale)


class _Said(Struct, frozen=True):
    """The beginning of a passage as plain text."""

    kind: str
    words: str
    around: str
    """The passage itself with the passage before it."""
    own: int
    """The number of characters, at the end of `around`, that belong to the passage itself."""

    def is_secret(self) -> bool:
        """Return whether the passage may be a secret, by itself or together with the text before it."""
        hides = any(secret.end > len(self.around) - self.own for secret in find_secrets(self.around))
        return hides or _may_be_secret(self.words)


def _said_words(text: str, caps: Caps) -> Iterator[_Said]:
    """Yield the beginning of each passage near the start of the note, without placeholders."""
    block = block_of(text)
    start = block.body_start if block is not None else 0
    # Later text does not describe the note. The cut is between lines, because in half of a line a secret may
    # not be recognised.
    body = text[start:].removeprefix(BOM)
    end = body.find("\n", _BEGINNING)
    before = ""
    passages = passages_of(body if end < 0 else body[:end])
    for passage in (each for found in passages for each in _fields(found)):
        if any(map(is_placeholder, passage.lines)):
            continue
        here = "\n".join(passage.lines)
        around, own = f"{before}\n{here}"[-_LOOKED_FOR_SECRETS:], min(len(here), _LOOKED_FOR_SECRETS)
        before = here
        # An invalid end of a front matter block, such as `--`, turns the line before it into a heading.
        declared = _DECLARED.match(" ".join(line for line in passage.lines if not _UNDERLINE.fullmatch(line)))
        words = _passage_words(passage, caps)
        if declared is not None:  # a front matter block without a valid end
            words = _cut(_plain(declared[1].strip("\"'")), caps)
        if _LETTER.search(words):
            yield _Said("description" if declared is not None else passage.kind, words, around, own)


def _telling_words(said: Iterable[_Said], name: Sequence[str], folders: Sequence[str]) -> str | None:
    """Return the first sentence that has more than the words of the name; None if there is no suitable text.

    If there is no such sentence, return a heading or other text that has more.
    """
    named = {each.casefold()[:_STEM] for each in name}
    above = named.union(each.casefold()[:_STEM] for each in folders)
    headings, rest = list[_Said](), list[_Said]()
    for each in said:
        if each.kind == "description" and not each.is_secret():
            return each.words
        known = above if each.kind == "heading" else named
        more = {word for word in _content_words(each.words) if word[:_STEM] not in known}
        if not more or _is_about_note(each.words):
            continue
        is_sentence = each.kind in ("prose", "item") and not each.words.endswith((":", "："))
        if is_sentence and len(more) >= _TELLING and not each.is_secret():
            return each.words
        (headings if each.kind == "heading" else rest).append(each)
    return next((each.words for each in [*headings, *rest] if not each.is_secret()), None)


def _is_about_note(words: str) -> bool:
    """Return whether a text only gives the date, author or state of the note, such as `Type: plan`."""
    field = _FIELD.match(words)
    is_field = field is not None and len(set(_content_words(field["value"]))) < _FIELD_WORDS
    return is_field or words.casefold().startswith(_BOILERPLATE)


def _content_words(text: str) -> Iterator[str]:
    """Yield the words that carry meaning; in scripts without spaces, pairs of characters."""
    for found in re.findall(r"[^\W\d_]+|\d[\w.]*", text.casefold()):
        if found.isascii() or not UNSPACED.search(found):
            if found not in FUNCTION_WORDS:
                yield found
        else:
            yield from (found[at : at + 2] for at in range(0, max(1, len(found) - 1), 2))


def longest_description(caps: Caps) -> int:
    """Return the largest length of a description that the rules write, in UTF-16 units.

    Such a description fits one line of an index, even if the agent would show more.
    """
    return min(caps.description_chars, _LONGEST_WRITTEN)


def _base_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _may_be_secret(text: str) -> bool:
    return bool(find_secrets(text) or _KEY_SHAPE.search(text))


def _fields(passage: Passage) -> Sequence[Passage]:
    """Return the lines of a passage as passages if all are fields, such as `Status: done`.

    Otherwise return the passage itself.
    """
    fields = sum(_FIELD.match(line) is not None for line in passage.lines)
    if passage.kind not in ("prose", "item") or fields < 2 or fields < len(passage.lines):
        return (passage,)
    return [replace(passage, lines=(line,)) for line in passage.lines]


def _passage_words(passage: Passage, caps: Caps) -> str:
    if passage.kind in ("code", "rule"):
        return ""
    if passage.kind in ("head", "row"):
        return _cut(_plain(", ".join(cell for cell in table_cells(passage.lines[0]) if cell)), caps)
    joined = " ".join(_MARKER.sub("", line.strip()) for line in passage.lines)
    if passage.kind == "heading":
        return _cut(_plain(heading_text(passage.lines[0])), caps)
    sentences = split_sentences(_plain(joined))
    return _cut(sentences[0].rstrip(" ;,"), caps) if sentences else ""


def _plain(text: str) -> str:
    """Return text without Markdown markup."""
    text = _LINK.sub(r"\1", _COMMENT.sub(" ", text)).replace("`", "")
    return _flat(_EMPHASIS.sub("", text))


def _flat(text: str) -> str:
    return front_matter.flattened(text, 1_000_000)


def _cut(text: str, caps: Caps) -> str:
    """Return text truncated between words to the length of a description."""
    limit = longest_description(caps)
    if utf16_length(text) <= limit:
        return text
    cut = cut_utf16(text, limit - 1)
    at_space = cut.rsplit(" ", 1)[0] if " " in cut[len(cut) // 2 :] else cut
    return at_space.rstrip(" ,;:-") + "…"


def _keeps_words(before: str, after: str) -> bool:
    """Return whether every line of `before` is also in `after`, except for an empty description."""
    as_before = set(after.splitlines())
    rest = [line for line in before.splitlines() if line not in as_before and not _BARE_KEY.fullmatch(line)]
    if not rest:
        return True
    lines = {folded_words(line) for line in as_before}
    joined = "\n".join(lines)
    return all(words in lines or words in joined for words in map(folded_words, rest))


def without_noise(text: str) -> str | None:
    """Return the note without trailing white space and blank lines at its end; None if it has neither."""
    block = block_of(text)
    start = block.body_start if block is not None else 0
    body = text[start:]
    if block is None and text.removeprefix(BOM).startswith(("---\n", "---\r\n")):
        # This may be a block that is never closed, so the end of the front matter is unknown.
        return None
    words = body.rstrip()
    end = body[len(words) :]
    if words and "\n\n" not in end and "\n\r\n" not in end and not _BLANK_END.search(body):
        return None
    lines = body.split("\n")
    ends = [number for number in range(len(lines)) if _has_blank_end(lines, number, is_first=not start)]
    if not ends and _with_one_end(body, has_block=block is not None) == body:
        return None
    last = range(max(0, len(lines) - 2), len(lines))
    has_code = any(sign in body for sign in ("```", "~~~", "    ", "\t"))
    code = code_among(body, (*ends, *last)) if has_code else frozenset()
    for number in ends:
        if number not in code:
            end = "\r" if lines[number].endswith("\r") else ""
            lines[number] = lines[number].removesuffix("\r").rstrip(" \t") + end
    tidied = "\n".join(lines)
    if code.isdisjoint(last):
        tidied = _with_one_end(tidied, has_block=block is not None)
    return text[:start] + tidied if tidied != body else None


def _has_blank_end(lines: Sequence[str], number: int, *, is_first: bool) -> bool:
    """Return whether the line ends with white space that has no meaning outside of code."""
    line = lines[number]
    if not line.removesuffix("\r").endswith((" ", "\t")):
        return False
    if is_first and not number and line.strip() == "---":
        return False  # Without the trailing blank, this line would open a front matter block.
    following = lines[number + 1] if number + 1 < len(lines) else ""
    return not (_HARD_BREAK.search(line) and following.strip())


def _with_one_end(body: str, *, has_block: bool) -> str:
    """Return the body without blank lines at its end.

    A body that consists of blank lines becomes empty only if there is front matter.
    """
    words = body.rstrip(" \t\r\n")
    if not words:
        return "" if has_block else body
    end = body.find("\n", len(words)) + 1
    is_lone_return = "\r" in body[end:].replace("\r\n", "")
    return body if not end or is_lone_return else body[:end]


NO_CHANGES = "no changes needed"

GroupKind = Literal["exact", "contained", "moved", "harvest", "empty", "description", "noise"]
# The largest share of a note's lines that counts as a few removed lines; more is a different text.
_FEW_LINES = 0.25
_MOVED = (ClaimKind.PATH, ClaimKind.FILE, ClaimKind.DIR)
_MARKDOWN = frozenset({"md", "markdown", "mdown", "mdx"})
# Only these files are compared by meaning and edited, because others may hold data that an edit would break.
_PROSE = _MARKDOWN | {"", "txt", "text"}


class Note(Struct, frozen=True):
    """A memory as it was before the run."""

    path: str
    """`/memories/<scope>/<rel>`."""
    text: str
    protected: bool = False
    """Whether it must not be deleted or renamed, because it is pinned or its scope allows no deletes."""
    access_count: int = 0
    last_write_at: int | None = None
    """The time of the last write, in UTC ms; None if unknown."""
    index: bool = False
    """Whether it is an index: the run updates it from the other notes, so the rules leave it unchanged."""
    essence: Callable[[str], ComparableText] = ComparableText
    """A function that returns the content of a text which a merge must preserve."""
    document: bool = False
    """Whether it is a document: many memories in an order of their own.

    Only a model may edit it, not the rules.
    """
    write_protected: bool = False
    """Whether no run may change it (`files.atomic`)."""


class Operation(Struct, frozen=True):
    """One memory command, with the argument names of formats/mux.md section 6."""

    command: Literal["str_replace", "insert", "create", "delete"]
    path: str
    arguments: Mapping[str, Any]


class PlannedGroup(Struct, frozen=True):
    """Operations that are carried out together, in order."""

    kind: GroupKind
    reason: str
    """One sentence for people."""
    operations: tuple[Operation, ...]


class RulesPlan(Struct, frozen=True):
    """The changes that the rules propose."""

    groups: tuple[PlannedGroup, ...]
    left_over: int
    """The number of groups that did not fit the budget."""
    summary: str
    alike: int = 0
    """The number of pairs with common content that no rule can merge without loss; they stay unchanged."""


def plan(
    notes: Sequence[Note],
    *,
    budget: int,
    caps: Caps,
    stale: Sequence[CheckedClaim] = (),
    check: Callable[[], None] = no_check,
) -> RulesPlan:
    """Return the changes to the notes of one context, within a budget of operations.

    `stale` are the statements in the notes that are no longer true.
    """
    planner = _Planner(notes, budget, caps, check)
    planner.exact()
    planner.contained()
    planner.moved(stale)
    for rule in (planner.harvest, planner.empty, planner.describe, planner.tidy):
        rule()
    summary = _summary(planner.groups, planner.left_over, len(planner.alike))
    return RulesPlan(tuple(planner.groups), planner.left_over, summary, len(planner.alike))


class _Planner:
    """The notes as they would be after the groups planned so far, and the plan itself."""

    def __init__(self, notes: Sequence[Note], budget: int, caps: Caps, check: Callable[[], None]) -> None:
        usable = (note for note in notes if _is_usable(note, caps))
        found = {note.path: note for note in sorted(usable, key=lambda note: utf16_key(note.path))}
        self._notes = found
        self._remaining = budget
        self._stale: dict[str, set[str]] = defaultdict(set)
        self._caps = caps
        self._check = check
        self._compared: dict[str, tuple[str, ComparedText]] = {}
        self.groups: list[PlannedGroup] = []
        self.left_over = 0
        self.alike: set[frozenset[str]] = set()

    def exact(self) -> None:
        """Plan merges of notes with the same body except for white space.

        One of the notes is deleted, and its front matter is merged into the other.
        """
        for paths in self._same_bodies():
            target, *others = sorted(paths, key=self._target_order)
            for path in others:
                self._check()
                if not _is_prose(target):
                    may_be_one = self._notes[target].text == self._notes[path].text
                else:
                    may_be_one = self._relation(target, path).is_repetition
                if may_be_one:
                    self._merge(target, path, "exact")
                # The target itself was deleted if only the opposite merge was possible without loss.
                target = target if target in self._notes else path

    def contained(self) -> None:
        """Plan merges of notes whose statements another note has, into the better-named note.

        Pairs that overlap in another way are only counted.
        """
        for scope_paths in self._by_scope():
            paths = [path for path in scope_paths if _is_prose(path) and not self._is_empty(path)]
            index = TextIndex((self._notes[path].text for path in paths), self._check)
            for one, other in index.related_pairs():
                self._check()
                first, second = sorted((paths[one], paths[other]), key=self._target_order)
                if first not in self._notes or second not in self._notes or self._of_two_kinds(first, second):
                    continue
                relation = self._relation(first, second)
                small, large = (first, second) if relation.small == 0 else (second, first)
                if relation.is_repetition and not self._took_lines_out(small, large):
                    self._merge(first, second, "contained")
                if {first, second} <= self._notes.keys() and relation.says_the_same:
                    self.alike.add(frozenset((first, second)))

    def moved(self, stale: Iterable[CheckedClaim]) -> None:
        """Plan to correct the paths of files and directories that were moved to another directory.

        Only if they have kept their name: a thing with a new name may have become a different one, which a
        person must decide.
        """
        found: dict[str, list[CheckedClaim]] = defaultdict(list)
        for claim in stale:
            self._stale[claim.path].add(claim.token)
            is_moved = claim.state is ClaimState.MOVED and claim.kind in _MOVED
            if is_moved and claim.replacement and _base_name(claim.token) == _base_name(claim.replacement):
                found[claim.path].append(claim)
        for path, claims in found.items():
            self._check()
            if path not in self._notes or not self._is_editable(path):
                continue
            before = self._notes[path].text
            text = fixed(before, claims)
            if text != before:
                to = f"“{claims[0].token}” is now “{claims[0].to}”"
                more = f", and {_count(len(claims) - 1, '{} more path', '{} more paths')}"
                reason = f"In {_short(path)} {to}{more if len(claims) > 1 else ''}."
                self._propose("moved", reason, (_edit(path, before, text),), {path: text})

    def harvest(self) -> None:
        """Plan to delete inboxes if other notes contain all of their candidates."""
        inboxes = [path for path in self._notes if _is_inbox(path)]
        if not inboxes:
            return
        rest = {path: note.text for path, note in self._notes.items() if not _is_inbox(path)}
        known = KnownTexts(rest, self._check)
        for path in inboxes:
            self._check()
            candidates = candidates_of(self._notes[path].text)
            if not self._notes[path].protected and candidates and all(map(known.holds, candidates)):
                reason = f"All candidates of {_short(path)} are contained in other notes."
                self._propose("harvest", reason, (_delete(path),), {path: None})

    def empty(self) -> None:
        """Plan to delete empty files."""
        for path, note in list(self._notes.items()):
            self._check()
            if not note.protected and self._is_empty(path):
                self._propose("empty", f"{_short(path)} is empty.", (_delete(path),), {path: None})

    def describe(self) -> None:
        """Plan descriptions for notes that lack one."""
        for path, note in list(self._notes.items()):
            self._check()
            if not self._is_editable(path) or not lacks_description(note.text, self._caps):
                continue
            had_block = note.text.removeprefix("\ufeff").startswith("---")
            if not had_block and _suffix(path) not in _MARKDOWN:
                continue  # In plain text, a front matter block would be noise.
            text = with_description(note.text, self._caps, *name_words(path), self._stale[path])
            if text is not None:
                reason = f"The description of {_short(path)} is {'repaired' if had_block else 'written'}."
                # Descriptions change no statement of a note, so they do not count against the budget.
                self._propose("description", reason, (_edit(path, note.text, text),), {path: text}, cost=0)

    def tidy(self) -> None:
        """Plan to remove trailing white space."""
        for path, note in list(self._notes.items()):
            self._check()
            text = without_noise(note.text) if self._is_editable(path) else None
            if text is not None:
                reason = f"Trailing whitespace in {_short(path)} is removed."
                self._propose("noise", reason, (_edit(path, note.text, text),), {path: text})

    def _by_scope(self) -> list[list[str]]:
        scopes: dict[str, list[str]] = defaultdict(list)
        for path in self._notes:
            if not _is_inbox(path):
                scopes[path.split("/")[2]].append(path)
        return list(scopes.values())

    def _same_bodies(self) -> list[list[str]]:
        same: dict[tuple[str, str, str], list[str]] = defaultdict(list)
        for scope_paths in self._by_scope():
            for path in scope_paths:
                self._check()
                body = self._compared_text(path).body
                if body:
                    kind = "" if _is_prose(path) else _suffix(path)
                    same[path.split("/")[2], kind, body].append(path)
        return [paths for paths in same.values() if len(paths) > 1]

    def _is_empty(self, path: str) -> bool:
        return is_empty(self._notes[path].text)

    def _is_editable(self, path: str) -> bool:
        text = self._notes[path].text
        return (
            _is_prose(path) and not _is_inbox(path) and not text.startswith("#!") and not self._is_empty(path)
        )

    def _comparable(self, path: str) -> ComparableText:
        note = self._notes[path]
        return note.essence(note.text)

    def _of_two_kinds(self, first: str, second: str) -> bool:
        """Return whether two notes are of different kinds for the agent, so that they must not be merged."""
        kinds = {self._comparable(first).kind, self._comparable(second).kind} - {""}
        return len(kinds) > 1

    def _relation(self, one: str, other: str) -> Relation:
        return compare(self._compared_text(one), self._compared_text(other), self._check)

    def _compared_text(self, path: str) -> ComparedText:
        note = self._notes[path]
        known = self._compared.get(path)
        if known is None or known[0] != note.text:
            compared = ComparedText(path, note.essence(note.text).text)
            known = self._compared[path] = note.text, compared
        return known[1]

    def _target_order(self, path: str) -> tuple[object, ...]:
        """Return a sort key for choosing the target of a merge; the target sorts first.

        Order: protected, better named, more used, shorter path, newer.
        """
        note = self._notes[path]
        name, folders = name_words(path)
        poor = sum(
            (word in POOR_NAME_WORDS and word not in NOTE_NAME_WORDS) or (word.isdigit() and len(word) < 4)
            for word in (*name, *folders)
        )
        says_nothing = all(word in POOR_NAME_WORDS or word.isdigit() for word in name)
        return (
            not note.protected,
            says_nothing,
            poor,
            -note.access_count,
            len(path),
            -(note.last_write_at or 0),
            utf16_key(path),
        )

    def _merge(self, target: str, other: str, kind: Literal["exact", "contained"]) -> None:
        """Plan to merge `other` into `target`, or `target` into `other` if only that loses nothing."""
        if self._of_two_kinds(target, other):
            return
        for stays, goes in ((target, other), (other, target)):
            if self._notes[goes].protected:
                continue
            before, more = self._notes[stays].text, self._comparable(goes).text
            after = merge(before, more, self._caps)
            if after is None or (after != before and not _is_prose(stays)):
                continue
            if folded_body(after) not in (self._compared_text(stays).body, self._compared_text(goes).body):
                continue  # Something would be repeated, such as a block of code with another language.
            edits = () if after == before else (_edit(stays, before, after),)
            why = "both have the same text" if kind == "exact" else "one of them has all of the other"
            reason = f"{_short(goes)} is merged into {_short(stays)}, because {why}."
            self._propose(kind, reason, (*edits, _delete(goes)), {stays: after, goes: None})
            return

    def _took_lines_out(self, small: str, large: str) -> bool:
        """Return whether the later note is the earlier one without a few of its lines.

        A merge would restore lines that were removed on purpose. Which note is the later one is known from
        the recorded writes only: a checkout, a copy of the folder or the recovery of an interrupted run sets
        the times of files anew.
        """
        later, earlier = self._notes[small].last_write_at, self._notes[large].last_write_at
        less, more = (self._compared_text(path).weight for path in (small, large))
        is_later = later is not None and earlier is not None and later > earlier
        return is_later and less >= (1 - _FEW_LINES) * more

    def _propose(
        self,
        kind: GroupKind,
        reason: str,
        operations: tuple[Operation, ...],
        texts: Mapping[str, str | None],
        cost: int | None = None,
    ) -> None:
        """Add a group to the plan if the budget allows it, and apply its result to the notes.

        `texts` are the new texts by path, None for a deleted note. `cost` is the share of the budget; None
        for one per operation.
        """
        cost = len(operations) if cost is None else cost
        if cost > self._remaining:
            self.left_over += 1
            return
        self._remaining -= cost
        self.groups.append(PlannedGroup(kind, reason, operations))
        for path, text in texts.items():
            if text is None:
                del self._notes[path]
            else:
                self._notes[path] = replace(self._notes[path], text=text)


def _is_usable(note: Note, caps: Caps) -> bool:
    """Return whether the rules may change a note.

    The commands must accept its path and text; indexes, documents and write-protected files are left out.
    """
    if note.index or note.document or note.write_protected:
        return False
    try:
        path = parse_memory_path(note.path)
        size = len(note.text.encode("utf-8"))
    except (PathRuleError, UnicodeEncodeError):
        return False
    return (
        bool(path.segments) and str(path) == note.path and size <= caps.file_bytes and "\0" not in note.text
    )


def _is_inbox(path: str) -> bool:
    return path.startswith(INBOX) and path.endswith(".md") and "/" not in path[len(INBOX) :]


def _suffix(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    return name.rsplit(".", 1)[-1].casefold() if "." in name[1:] else ""


def _is_prose(path: str) -> bool:
    return _suffix(path) in _PROSE


def _short(path: str) -> str:
    """Return the path as people see it, without the root that all paths have in common."""
    return f"“{path.removeprefix('/memories/')}”"


def _delete(path: str) -> Operation:
    return Operation("delete", path, {})


def _edit(path: str, before: str, after: str) -> Operation:
    """Return the command that changes `before` to `after`.

    Text that is only added at the beginning is inserted. Otherwise the whole text is replaced; this fails if
    somebody else has changed the text.
    """
    if after.endswith(before) and after[: -len(before)].endswith("\n") and "\r" not in after[: -len(before)]:
        return Operation("insert", path, {"insert_line": 0, "insert_text": after[: -len(before) - 1]})
    return Operation("str_replace", path, {"old_str": before, "new_str": after})


def _summary(groups: Sequence[PlannedGroup], left_over: int, alike: int) -> str:
    counts = Counter(group.kind for group in groups)
    parts = [_count(counts[kind], *words) for kind, words in _DONE.items() if counts[kind]]
    done = (
        f"{'; '.join(parts)}."
        if parts
        else ("No change fits within the limits of a run." if left_over else NO_CHANGES)
    )
    done = done[0].upper() + done[1:] if parts else done
    if left_over:
        done += f" {_count(left_over, '{} more change waits', '{} more changes wait')} for the next run."
    return with_pairs(done, alike) if parts else done


def _count(number: int, one: str, many: str) -> str:
    return (one if number == 1 else many).format(number)


_DONE: dict[GroupKind, tuple[str, str]] = {
    "exact": ("merged {} exact duplicate", "merged {} exact duplicates"),
    "contained": (
        "merged {} memory that another one contains",
        "merged {} memories that others contain",
    ),
    "moved": (
        "updated the paths of moved files in {} memory",
        "updated the paths of moved files in {} memories",
    ),
    "harvest": (
        "removed {} note from a conversation that other memories already contain",
        "removed {} notes from conversations that other memories already contain",
    ),
    "empty": ("deleted {} empty file", "deleted {} empty files"),
    "description": ("wrote or repaired {} description", "wrote or repaired {} descriptions"),
    "noise": ("tidied {} file", "tidied {} files"),
}
