"""The description that the rules write into a note which has none.

A description must say what the note is about, because an agent decides by it whether to read the note. So
it is the text of a line such as "Purpose: ...", the first sentence of prose below the title or in a section
such as "Overview", or the line that introduces a note's only list. It is never an order, a date, a state or a
point of a list, and never cut in the middle of a thought. A note without such a text gets no description;
neither does an index or a README.

The words by which these texts are recognised are in `resources/descriptions.toml`. Pure; any thread.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from reverie.agents.scopes import Caps
from reverie.jobs.consolidate.relations import UNSPACED
from reverie.jobs.consolidate.rules.reading import (
    Passage,
    heading_text,
    passages_of,
    read_keys,
    split_sentences,
)
from reverie.jobs.consolidate.rules.wording import FUNCTION_WORDS
from reverie.memory import front_matter
from reverie.memory.front_matter_rules import BOM, block_of
from reverie.memory.lint import conflict_lines, is_placeholder
from reverie.resources import resource_table
from reverie.runs.retention import folded_words
from reverie.text.patterns import pattern_of
from reverie.text.redact import find_secrets
from reverie.text.summaries import utf16_length
from reverie.values import Struct

_TABLE = resource_table("descriptions.toml")


def _words(name: str) -> frozenset[str]:
    return frozenset(_TABLE[name].split())


_ABOUT = _words("about")
_METADATA = _words("metadata")
_IMPERATIVES = _words("imperatives")
_REFERRING = _words("referring")
_NOTE_NOUNS = _words("note_nouns")
_ABOUT_NOTE = pattern_of("|".join(_TABLE["about_note"].strip().splitlines()), re.IGNORECASE)
_STATE_WORD = pattern_of(_TABLE["state_words"], re.IGNORECASE)
_STATE_SIGN = pattern_of(f"[{_TABLE['state_signs']}]")
_LOOSE_CLAUSE = pattern_of(
    rf"(?:,| —| -| \()\s*(?:{'|'.join(map(re.escape, _TABLE['loose_clauses'].split(chr(10))[:-1]))})\b"
)
_DATE = pattern_of(r"\b20\d\d-\d\d-\d\d\b")
_LINK = pattern_of(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = pattern_of(r"(?<![\w/])(?:\*{1,3}|_{1,3}|~~)(?=\S)|(?<=[^\s/])(?:\*{1,3}|_{1,3}|~~)(?![\w/])")
_CODE_SPAN = pattern_of(r"`([^`]*)`")
_FIRST_MARK, _LAST_MARK = 0xE000, 0xF8FF
"""The first and last of the characters of no language that stand for the texts of code spans."""
_MARKS = pattern_of(f"[{chr(_FIRST_MARK)}-{chr(_LAST_MARK)}]")
_MARKER = pattern_of(r"^\s*(?:>\s*)*(?:[-*+•]\s+|\d{1,3}[.)]\s+)?")
_COMMENT = pattern_of(r"<!--.*?(?:-->|$)")
_UNDERLINE = pattern_of(r"\s*(?:-{2,}|={2,})\s*")
_DECLARED = pattern_of(r"^description:[ \t]*(\S.*)$", re.MULTILINE)
# Text that the agent itself refuses to write into a memory (formats/mux.md section 11), even if a person
# would see that it is not a real key.
_KEY_SHAPE = pattern_of(r"\bsk-[A-Za-z0-9_-]{12,}")
_LONGEST_WRITTEN = 200
# The number of words beyond the name that a description has, by the kind of text.
_LEAST_WORDS = {"label": 3, "sentence": 4, "list": 3}
# A text with fewer words must end like a sentence.
_CLEAR_WITHOUT_STOP = 6
_STEM = 5
_LABEL = pattern_of(r"(?P<label>[^\W\d_][^:：.!?。]{1,24})[:：]\s*(?P<value>\S.*)")
_QUESTIONS = ("?", "？", ":", "：")
_STOPS = (".", "!", "。", "！", "．")
# A section further down, such as "Goal", may be about a part of the note only.
_FIRST_SECTIONS = 2
_LOOKED_FOR_SECRETS = 4_000
_BEGINNING = 6_000
_BARE_KEY = pattern_of(r"\s*description:\s*")
# Names of files that list other files, or introduce a folder to people.
_LISTS = frozenset({"index", "readme", "memory", "contents", "toc"})


def lacks_description(text: str, caps: Caps) -> bool:
    """Return True if the agent's index would show no description for the note with this text.

    `caps`: the limits of the agent.
    """
    return caps.descriptions and not _shown(text, caps)


def with_description(
    text: str,
    caps: Caps,
    name: Sequence[str] = (),
    stale: Collection[str] = (),
) -> str | None:
    """Return the note with a description that the agent can read.

    None if the note has one already, or no suitable text is found.

    `name` are the words of the file's name; a description must have other words as well. A description never
    repeats one of the `stale` values.
    """
    if not lacks_description(text, caps) or conflict_lines(text):
        return None
    prefix, rules = caps.description_prefix_bytes, caps.front_matter
    result = front_matter.repair(text, prefix_bytes=prefix, rules=rules) or text
    if not _shown(result, caps):
        value = _value(result, caps, name, stale)
        if value is None:
            return None
        try:
            result = front_matter.set_description(result, value, prefix_bytes=prefix, rules=rules)
        except front_matter.FrontError:
            return None  # The findings report the problem of the block.
    is_better = bool(_shown(result, caps)) and _keeps_words(text, result)
    return result if is_better and len(result.encode("utf-8", "surrogatepass")) <= caps.file_bytes else None


def _shown(text: str, caps: Caps) -> str:
    """Return the description of a note with this text that the agent shows."""
    beginning = text[: caps.description_prefix_bytes].encode("utf-8", "surrogatepass")
    return front_matter.description(beginning, caps).text


def _value(text: str, caps: Caps, name: Sequence[str], stale: Collection[str]) -> str | None:
    """Return the description to write; None if no text is suitable.

    If the note has a description that is not a text, such as a list, its items are the result. Otherwise this
    is the best text of the note (see the module docstring). Texts with a secret are not suitable.
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
    if name and _LISTS.issuperset(name):
        return None
    known = {each.casefold()[:_STEM] for each in name}
    for found in _candidates(_beginning(text)):
        words = found.words if found.kind == "declared" else _without_loose_clause(found.words, caps)
        here = found.around[-found.own :]
        is_stale = any(re.search(rf"(?<![\w/.-]){re.escape(token)}(?![\w/-]|\.\w)", here) for token in stale)
        fits = not is_stale and utf16_length(words) <= longest_description(caps)
        if fits and (found.kind == "declared" or _tells(words, found.kind, known)) and not found.is_secret():
            return words
    return None


class _Candidate(Struct, frozen=True):
    """A text of a note that may describe it."""

    kind: str
    """The kind of place where the text was found: `declared`, or a key of `_LEAST_WORDS`."""
    words: str
    """The text without markup."""
    around: str
    """The paragraph or list entry with the text, together with the one before it."""
    own: int
    """The number of characters, at the end of `around`, that belong to the passage itself."""

    def is_secret(self) -> bool:
        """Return True if the text may be a secret, by itself or together with the text before it."""
        hides = any(secret.end > len(self.around) - self.own for secret in find_secrets(self.around))
        return hides or _may_be_secret(self.words)


def _beginning(text: str) -> tuple[Passage, ...]:
    """Return the passages near the start of a note; later text does not describe it."""
    block = block_of(text)
    body = text[block.body_start if block is not None else 0 :].removeprefix(BOM)
    # The cut is between lines, because in half of a line a secret may not be recognised.
    end = body.find("\n", _BEGINNING)
    return tuple(passages_of(body if end < 0 else body[:end]))


def _candidates(passages: Sequence[Passage]) -> Iterator[_Candidate]:
    """Yield the texts that may describe a note, in order."""
    content = [each for each in passages if each.kind not in ("heading", "rule")]
    before = ""
    # Whether only headings and labels were before, and whether the section says what the note is about.
    is_opening = is_about = True
    sections = 0
    for passage in passages:
        here = "\n".join(passage.lines)
        around, own = f"{before}\n{here}"[-_LOOKED_FOR_SECRETS:], min(len(here), _LOOKED_FOR_SECRETS)
        before = here
        # An invalid end of a front matter block, such as `--`, turns the line before it into a heading.
        declared = _DECLARED.match(" ".join(line for line in passage.lines if not _UNDERLINE.fullmatch(line)))
        if declared is not None:  # a front matter block without a valid end
            yield _Candidate("declared", _plain(declared[1].strip("\"'")), around, own)
        elif passage.kind == "heading":
            words = _label_words(_plain(heading_text(passage.lines[0])))
            sections += passage.level > 1
            is_near = sections <= _FIRST_SECTIONS
            is_about = (is_opening and passage.level == 1) or (is_near and not _ABOUT.isdisjoint(words))
        elif any(map(is_placeholder, passage.lines)) or passage.kind == "rule":
            continue
        elif not is_about or passage.kind not in ("prose", "item"):
            is_opening = is_about = False
        elif passage.lines[-1].rstrip().endswith((":", "：")):
            # The line before a list describes the note if the list is all of it.
            if all(each is passage or each.kind == "item" for each in content):
                yield _Candidate("list", _passage_words(passage).rstrip(" :："), around, own)
        else:
            is_alone = passage.kind == "prose" or len(content) == 1
            found = list(_in_passage(passage, is_opening=is_opening, is_alone=is_alone))
            yield from (_Candidate(kind, words, around, own) for kind, words in found)
            if not found or any(kind != "label" for kind, _words in found):
                is_opening = is_opening and _LABEL.match(_passage_words(passage)) is not None
                is_about = passage.kind == "prose"


def _in_passage(passage: Passage, *, is_opening: bool, is_alone: bool) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each part of a paragraph or list entry that may describe the note.

    `is_opening`: nothing but titles and labels is before it. `is_alone`: it is not one entry among others.
    """
    lines = [_plain(_MARKER.sub("", line.strip())) for line in passage.lines]
    labels = [_LABEL.match(line) for line in lines]
    if labels[0] is not None and (all(labels) or not is_alone):
        for label in labels:
            names = _label_words(label["label"]) if label is not None else set()
            if label is not None and is_opening and names & _ABOUT and not names & _METADATA:
                # More than the plain word, such as "Decision (superseded)", is part of the meaning.
                is_plain = label["label"].casefold().replace(" ", "-") in _ABOUT
                yield "label", _first_sentence(label["value"] if is_plain else label[0])
        is_sentence = len(labels) == 1 and _METADATA.isdisjoint(_label_words(labels[0]["label"]))
        if not (is_sentence and is_alone and _is_clear(labels[0]["value"])):
            return
    words = " ".join(lines)
    if is_alone and not words.endswith((":", "：")):
        yield "sentence", _first_sentence(words)


def _passage_words(passage: Passage) -> str:
    return _plain(" ".join(_MARKER.sub("", line.strip()) for line in passage.lines))


def _is_clear(words: str) -> bool:
    """Return True if a text is a whole sentence of some length."""
    return _size(set(_content_words(words))) >= _CLEAR_WITHOUT_STOP and _ends_as_sentence(words)


def _ends_as_sentence(words: str) -> bool:
    return words.rstrip("\"')”»").endswith(_STOPS)


def _label_words(label: str) -> set[str]:
    """Return a label or heading, and its first and last word, in the form of the word lists."""
    words = re.findall(r"[\w;'-]+", label.casefold())
    return {"-".join(words), *words[:1], *words[-1:]}


def _first_sentence(words: str) -> str:
    sentences = split_sentences(words)
    return sentences[0].rstrip(" ;,") if sentences else ""


def _without_loose_clause(words: str, caps: Caps) -> str:
    """Return a sentence; if it is too long for a description, without the explaining clause at its end.

    A sentence without such a clause, or with one at an unsuitable place, is returned unchanged.
    """
    limit = longest_description(caps)
    if utf16_length(words) <= limit:
        return words
    cuts = [match.start() for match in _LOOSE_CLAUSE.finditer(words) if limit // 3 <= match.start() < limit]
    return f"{words[: cuts[-1]].rstrip()}." if cuts else words


def _tells(words: str, kind: str, known: Collection[str]) -> bool:
    """Return True if a text says something about the subject of its note.

    `kind`: the kind of place, as in `_Candidate`. `known`: the beginnings of words in the name of the note;
    they say nothing new.
    """
    first = re.match(r"[\w']+", words.casefold())
    if first is None or _STATE_SIGN.search(words) or _ABOUT_NOTE.search(words) or words.endswith(_QUESTIONS):
        return False
    if kind == "label" and (_STATE_WORD.search(words) or _DATE.search(words)):
        return False
    if kind == "list" and len(split_sentences(words)) > 1:
        return False
    if first[0] in _REFERRING or (kind != "label" and first[0] in _IMPERATIVES):
        return False
    content = {word for word in _content_words(words) if word not in _NOTE_NOUNS}
    if kind == "sentence" and _size(content) < _CLEAR_WITHOUT_STOP and not _ends_as_sentence(words):
        return False
    return _size({word for word in content if word[:_STEM] not in known}) >= _LEAST_WORDS[kind]


def _size(words: Collection[str]) -> float:
    """Return the number of words; in a script without spaces, two pairs of characters count as one word."""
    return sum(0.5 if not word.isascii() and UNSPACED.search(word) else 1.0 for word in words)


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


def _may_be_secret(text: str) -> bool:
    return bool(find_secrets(text) or _KEY_SHAPE.search(text))


def _plain(text: str) -> str:
    """Return text without Markdown markup; the text in code spans stays as it is."""
    codes = _CODE_SPAN.findall(text := _MARKS.sub("", text))[: _LAST_MARK - _FIRST_MARK]
    for number, code in enumerate(codes):
        text = text.replace(f"`{code}`", chr(_FIRST_MARK + number), 1)
    text = _EMPHASIS.sub("", _LINK.sub(r"\1", _COMMENT.sub(" ", text)).replace("`", ""))
    return _flat(_MARKS.sub(lambda mark: codes[ord(mark[0]) - _FIRST_MARK], text))


def _flat(text: str) -> str:
    return front_matter.flattened(text, 1_000_000)


def _keeps_words(before: str, after: str) -> bool:
    """Return True if every line of `before` is also in `after`, except for an empty description."""
    as_before = set(after.splitlines())
    rest = [line for line in before.splitlines() if line not in as_before and not _BARE_KEY.fullmatch(line)]
    if not rest:
        return True
    lines = {folded_words(line) for line in as_before}
    joined = "\n".join(lines)
    return all(words in lines or words in joined for words in map(folded_words, rest))
