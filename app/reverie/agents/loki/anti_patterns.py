"""The consolidated anti-patterns of loki-mode as memories that a consolidation may change.

Each one is shown as lines, a changed one goes back into the store's file without another byte changing, and
duplicates can be merged (formats/loki.md sections 4, 11 and 13). Everything else stays the agent's: plain
patterns, entries without an id of their own, and all other files. A record's id, its category and the type of
each value cannot change. Pure, but for `lock`. Failure: `StoreError`, and everything stays as it is.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from reverie.agents.capabilities import ComparableText, RecordText, RootChange
from reverie.agents.loki.locations import safe_name
from reverie.agents.loki.records import ANTI_PATTERN, number_of, parse_to_write, text_of
from reverie.agents.reading import objects_of, texts_of
from reverie.errors import StoreError
from reverie.files.locks import lock_beside
from reverie.values import Struct, replace

# One record as lines that a person or a model can change without breaking JSON: `key: value`, lists as `-
# item` below their key. A text that could be read as JSON is written as JSON, so every key and type
# survives.


_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_BEGINS_JSON = frozenset('"[{-0123456789')
_WORDS_OF_JSON = frozenset(["true", "false", "null", "NaN", "Infinity"])
_DECODER = json.JSONDecoder()


def record_text(record: dict[str, Any]) -> str:
    """Write a record as lines."""
    return "".join(f"{line}\n" for line in _lines(record))


def record_of(text: str) -> dict[str, Any]:
    """Parse the lines of a record.

    Raises `StoreError`.
    """
    record: dict[str, Any] = {}
    listed: list[Any] | None = None
    opened = ""
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if not line.strip():
            continue
        if line.startswith("- ") or line == "-":
            if listed is None:
                raise _no_record(number, "a list item stands below no key")
            listed.append(_value(line[2:].strip()))
            record[opened] = listed
            continue
        opened, value = _key_and_value(line, number)
        if opened in record:
            raise _no_record(number, f"{opened} occurs twice")
        record[opened] = _value(value)
        listed = None if value else []
    return record


def _lines(record: dict[str, Any]) -> Iterator[str]:
    for key, value in record.items():
        name = key if _PLAIN_KEY.fullmatch(key) else _json(key)
        if isinstance(value, list) and value:
            yield f"{name}:"
            yield from (f"- {_value_text(item)}" for item in value)
        else:
            yield f"{name}: {_value_text(value)}"


def _value_text(value: Any) -> str:
    if isinstance(value, str) and value and value == value.strip() and value.isprintable():
        if not _may_be_json(value):
            return value
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            return value
    return _json(value)


def _value(told: str) -> Any:
    if not _may_be_json(told):
        return told
    try:
        return json.loads(told)
    except (ValueError, RecursionError):
        return told


def _may_be_json(text: str) -> bool:
    return text[:1] in _BEGINS_JSON or text in _WORDS_OF_JSON


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    lines = text.splitlines()
    # Line separators and lone surrogates are escaped.
    return text if len(lines) == 1 and text.isprintable() else json.dumps(value)


def _key_and_value(line: str, number: int) -> tuple[str, str]:
    key, colon, value = line.partition(":")
    if line.startswith('"'):
        try:
            key, end = _DECODER.raw_decode(line)
        except (ValueError, RecursionError):
            raise _no_record(number, "its key is no JSON text") from None
        colon, value = line[end : end + 1], line[end + 1 :]
    elif not _PLAIN_KEY.fullmatch(key):
        colon = ""
    if colon != ":":
        raise _no_record(number, "it is neither “key: value” nor “- item”")
    return key, value.strip()


def _no_record(number: int, why: str) -> StoreError:
    return StoreError(
        f"Line {number} is not a valid record line:",
        cause=f"{why}.",
        next_step="Keep to “key: value”, and to “- item” for each item of a list.",
        reason="record",
    )


# Changing one member of a list in a JSON file and no other byte: a member is written as its neighbours are
# (indented or on one line, escaped where the whole file is ASCII).


_SPAN_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


class ListSpans(Struct, frozen=True):
    """The position of a list in a text, from `[` to behind `]`, and the positions of its `members`."""

    start: int
    end: int
    members: tuple[tuple[int, int], ...]


def patterns_in(text: str) -> ListSpans | None:
    """Find the list of patterns; None where there is none."""
    at = _after_space(text, 1 if text.startswith("\ufeff") else 0)
    if text[at] == "[":
        return _list_at(text, at)
    if text[at] != "{":
        return None
    at = _after_space(text, at + 1)
    while text[at] == '"':
        key, at = _SPAN_DECODER.raw_decode(text, at)
        at = _after_space(text, _after_space(text, at) + 1)
        if key == "patterns":
            return _list_at(text, at) if text[at] == "[" else None
        _value, at = _SPAN_DECODER.raw_decode(text, at)
        at = _after_space(text, at)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return None


def replaced(text: str, spans: ListSpans, place: int, record: dict[str, Any]) -> str:
    """Return the text with the record at this place replaced."""
    start, end = spans.members[place]
    return text[:start] + _spelled(text, start, text[start:end], record) + text[end:]


def removed(text: str, spans: ListSpans, place: int) -> str:
    """Return the text without the record at this place."""
    members = spans.members
    if len(members) == 1:
        return text[: spans.start] + "[]" + text[spans.end :]
    if place + 1 < len(members):
        return text[: members[place][0]] + text[members[place + 1][0] :]
    return text[: members[place - 1][1]] + text[members[place][1] :]


def inserted(text: str, spans: ListSpans, place: int, record: dict[str, Any]) -> str:
    """Return the text with one more record at this place, or last."""
    members = spans.members
    if not members:
        return text[: spans.start] + _first(text, spans, record) + text[spans.end :]
    lead = text[spans.start + 1 : members[0][0]]
    gap = text[members[0][1] : members[1][0]] if len(members) > 1 else "," + (lead or " ")
    at = members[min(place, len(members) - 1)][0]
    spelled = _spelled(text, at, _usual(text, spans, lead), record)
    if place < len(members):
        return text[:at] + spelled + gap + text[at:]
    end = members[-1][1]
    return text[:end] + gap + spelled + text[end:]


def _usual(text: str, spans: ListSpans, lead: str) -> str:
    """Return a member of this list as a model of their spelling: the first one with content."""
    told = (text[start:end] for start, end in spans.members)
    found = next((each for each in told if each[0] == "{" and each.strip("{} \t\r\n")), "")
    if found or "\n" not in lead:
        return found
    indent = lead.rpartition("\n")[2]
    depth = 1 if not text[: spans.start].strip(" \t\r\n\ufeff") else 2
    return f"{lead}{indent[: len(indent) // depth]}"


def _first(text: str, spans: ListSpans, record: dict[str, Any]) -> str:
    """Return a list of one record, as the agent itself would write it in place of an empty list."""
    outer = _indent_of(text, spans.start)
    if "\n" not in text:
        return f"[{json.dumps(record, ensure_ascii=text.isascii())}]"
    body = json.dumps([record], indent=2, ensure_ascii=text.isascii())
    return body.replace("\n", f"\n{outer}")


def _spelled(text: str, start: int, like: str, record: dict[str, Any]) -> str:
    ascii_only = text.isascii()
    if "\n" not in like:
        return json.dumps(record, ensure_ascii=ascii_only)
    outer = _indent_of(text, start)
    inner = re.search(r"\n([ \t]*)", like)
    step = inner[1][len(outer) :] if inner is not None and inner[1].startswith(outer) else ""
    body = json.dumps(record, indent=step or 2, ensure_ascii=ascii_only)
    return body.replace("\n", f"\n{outer}")


def _indent_of(text: str, at: int) -> str:
    """Return the indentation of the line at this position."""
    line = text.rfind("\n", 0, at) + 1
    found = re.match(r"[ \t]*", text[line:at])
    return found[0] if found is not None else ""


def _list_at(text: str, start: int) -> ListSpans:
    members = []
    at = _after_space(text, start + 1)
    while text[at] != "]":
        _value, end = _SPAN_DECODER.raw_decode(text, at)
        members.append((at, end))
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return ListSpans(start, at + 1, tuple(members))


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


# Duplicates: the agent adds an anti-pattern after each run that failed alike, since its own merge test
# never matches (section 11). `repeated` groups only those whose merging loses no word; `united` keeps the
# words of both even where they differ.


UNITED = ("conditions", "source_episodes", "links")
"""Lists that a merge joins."""
COUNTED = ("confidence", "importance", "access_count", "usage_count")
"""Figures of which a merge keeps the greatest."""
OF_THE_RECORD = frozenset(["id", "created_at", "updated_at", "last_used", "last_accessed", *COUNTED])
"""Keys about the record itself, not about the lesson."""
_OWN = frozenset([*OF_THE_RECORD, *UNITED])
_TEXTS_UNITED = ("conditions", "source_episodes")
_MOST_USED = ("usage_count", "access_count")
_JOINED = ("correct_approach", "incorrect_approach", "description")
_NOTHING: tuple[Any, ...] = (None, "", [], {})
_MOST_CONFIDENT = 0.99
_GROWTH = 0.05


def repeated(records: Iterable[dict[str, Any]]) -> tuple[tuple[dict[str, Any], ...], ...]:
    """Return groups of two or more equivalent anti-patterns, in the order of the store.

    Groups only those whose merging loses no word.
    """
    groups: list[list[dict[str, Any]]] = []
    known_by: dict[str, list[tuple[dict[str, str], list[dict[str, Any]]]]] = {}
    for record in records:
        if record.get("category") != ANTI_PATTERN or not text_of(record.get("pattern")).strip():
            continue
        said = dict(_said(record))
        found = known_by.setdefault(said["pattern"], [])
        for known, group in found:
            if all(known.get(key, text) == text for key, text in said.items()):
                known.update(said)
                group.append(record)
                break
        else:
            groups.append([record])
            found.append((said, groups[-1]))
    return tuple(tuple(group) for group in groups if len(group) > 1)


def united(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merge the others into the first record by the agent's own rules (formats/loki.md section 11).

    Their `incorrect_approach` may differ: the agent's own merge never matches because it is empty. The
    wordings of all are kept. Merging one of them again changes nothing.
    """
    first = copy.deepcopy(records[0])
    for other in records[1:]:
        _take_over(first, other)
    if isinstance(first.get("links"), list):
        ids = [each["id"] for each in records if each.get("id")]
        # No pattern is related to itself.
        own = [isinstance(link, dict) and link.get("to") in ids for link in first["links"]]
        first["links"] = [link for link, is_own in zip(first["links"], own, strict=True) if not is_own]
    return first


def loses_nothing(records: Sequence[dict[str, Any]]) -> bool:
    """Return whether `united` would keep all content.

    Only texts can be put side by side, and lists of texts.
    """
    first = united(records)
    listed = (record.get(key) for record in records for key in _TEXTS_UNITED)
    if not all(value is None or list(texts_of(value)) == value for value in listed):
        return False
    return all(
        key in _JOINED or key == "pattern" or _folded(value) == _folded(first.get(key))
        for record in records
        for key, value in record.items()
        if key not in _OWN and value not in _NOTHING
    )


def evidence(record: dict[str, Any]) -> tuple[float, ...]:
    """Return sortable figures of how well a pattern is founded."""
    sources = len(texts_of(record.get("source_episodes")))
    figures = (number_of(record.get(key), 0) for key in ("confidence", "usage_count", "importance"))
    return (sources, *figures)


def _take_over(first: dict[str, Any], other: dict[str, Any]) -> None:
    more_sources = set(texts_of(other.get("source_episodes"))) - set(texts_of(first.get("source_episodes")))
    for key in _TEXTS_UNITED:
        if key in first or key in other:
            first[key] = list(dict.fromkeys((*texts_of(first.get(key)), *texts_of(other.get(key)))))
    _keep_wordings(first, other)
    if "links" in first or "links" in other:
        first["links"] = _all_of(first.get("links"), other.get("links"))
    for key in _MOST_USED:
        if number_of(other.get(key), 0) > number_of(first.get(key), 0):
            first[key] = other[key]
    if more_sources:
        confidence = number_of(first.get("confidence"), 0.5) + _GROWTH
        first["confidence"] = round(min(_MOST_CONFIDENT, confidence), 4)
    importance = max(number_of(first.get("importance"), 0.5), number_of(other.get("importance"), 0.5))
    if importance != number_of(first.get("importance"), 0.5):
        first["importance"] = importance
    for key, value in other.items():
        if first.get(key) in _NOTHING:
            first[key] = copy.deepcopy(value)


def _keep_wordings(first: dict[str, Any], other: dict[str, Any]) -> None:
    """Append the other record's differing texts, and its differing pattern as a condition."""
    for key in _JOINED:
        one, more = text_of(first.get(key)).strip(), text_of(other.get(key)).strip()
        if one and more and _folded(more) not in _folded(one):
            first[key] = f"{one}; {more}"
    one, more = text_of(first.get("pattern")).strip(), text_of(other.get("pattern")).strip()
    conditions = texts_of(first.get("conditions"))
    known = (_folded(one), *map(_folded, conditions))
    if one and more and not any(_folded(more) in each for each in known):
        first["conditions"] = [*conditions, f"Also: {more}"]


def _said(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the normalised text of each key; nothing for empty ones."""
    for key, value in record.items():
        if key in _OWN or value in _NOTHING:
            continue
        if isinstance(value, str):
            if value.strip():
                yield key, _folded(value)
        else:
            yield key, json.dumps(value, sort_keys=True)


def _folded(value: Any) -> str:
    return " ".join(value.lower().split()) if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _all_of(one: Any, other: Any) -> list[Any]:
    """Return the members of two lists, each once."""
    found: list[Any] = []
    for each in (*(one if isinstance(one, list) else ()), *(other if isinstance(other, list) else ())):
        if not any(_same(each, known) for known in found):
            found.append(copy.deepcopy(each))
    return found


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


_HOLDER = re.compile(r"(?:[A-Za-z0-9_-]+/)?semantic/patterns\.json")
_WORD = re.compile(r"\w+")
_MOST_BYTES = 200
_TWIN = "+"  # in the name of a record that is not the first with its id; no id leads to it
_FIXED = ("id", "category", "created_at", "_namespace")
_UNCOUNTED = frozenset([*OF_THE_RECORD, "category", "links", "_namespace"])
_SENTENCE = (
    "Notes below `patterns.json/` are records of what failed: one `key: value` a line, lists as `- item` "
    "below their key. Change texts and items only; id, category and the form of each value stay, no record "
    "is created or renamed. To merge two, put what the other says more into the better founded one, its "
    "conditions and source_episodes too, then delete the other; counts follow by themselves."
)


class _Named(Struct, frozen=True):
    """An anti-pattern of a file."""

    name: str
    place: int
    """Its position in the list."""
    record: dict[str, Any]
    stays: bool = False
    """Whether it must not be deleted before others with its name."""

    @property
    def text(self) -> RecordText:
        said = " ".join(text_of(self.record["pattern"]).split())
        return RecordText(self.name, record_text(self.record), self.place, said, self.stays)


class AntiPatternRecords:
    """Implements `agents.capabilities.Records`."""

    sentence = _SENTENCE

    def is_holder(self, rel: str) -> bool:
        return _HOLDER.fullmatch(rel) is not None

    def holder(self, rel: str) -> str:
        above, _slash, name = rel.rpartition("/")
        return above if name and self.is_holder(above) else ""

    def split(self, data: bytes) -> tuple[RecordText, ...]:
        return tuple(each.text for each in _named_records(whole_document(data)))

    def one(self, data: bytes, name: str) -> RecordText | None:
        found = _found(whole_document(data), name)
        return None if found is None else found.text

    def folded(self, data: bytes, name: str, text: str | None, place: int | None) -> bytes:
        document = whole_document(data)
        decoded = data.decode("utf-8")
        spans = patterns_in(decoded)
        if spans is None:
            raise _unreadable("it holds no list of patterns")
        known = _found(document, name)
        if text is None:
            if known is not None and known.stays:
                raise _not_so("a later record has the same id, and that one goes first")
            after = decoded if known is None else removed(decoded, spans, known.place)
        elif known is None:
            last = len(spans.members)
            after = inserted(decoded, spans, last if place is None else place, record_of(text))
        elif known.record == (record := record_of(text)) and record_text(known.record) == text:
            after = decoded
        else:
            after = replaced(decoded, spans, known.place, record)
        return after.encode("utf-8", "surrogatepass")

    def check(self, name: str, before: str, after: str) -> None:
        was, becomes = record_of(before), record_of(after)
        if _TWIN in name:
            raise _not_so("an earlier record has the same id, and the agent would mix them up")
        for key in _FIXED:
            if was.get(key) != becomes.get(key):
                raise _not_so(f"{key} stays as it is")
        if not text_of(becomes.get("pattern")).strip():
            raise _not_so("its pattern would say nothing")
        for key, value in was.items():
            if key in becomes and value is not None and _form(value) != _form(becomes[key]):
                raise _not_so(f"{key} would change its type")

    def alike(self, texts: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        records = [record_of(text) for text in texts]
        place = {id(record): at for at, record in enumerate(records)}
        return tuple(tuple(place[id(record)] for record in group) for group in repeated(records))

    def order(self, texts: Sequence[str]) -> tuple[int, ...]:
        records = [record_of(text) for text in texts]
        ids = [text_of(record.get("id")) for record in records]

        def turn(at: int) -> tuple[float, ...]:
            return (ids[at] in ids[:at], *(-each for each in evidence(records[at])))

        return tuple(sorted(range(len(records)), key=turn))

    def merged(self, texts: Sequence[str]) -> str | None:
        records = [record_of(text) for text in texts]
        if not loses_nothing(records):
            return None
        return record_text(united(records))

    def lock(self, path: Path) -> AbstractContextManager[None]:
        return lock_beside(path)


def comparable_text(text: str) -> ComparableText:
    """Return the content of an anti-pattern without its keys and figures; any other text as it is."""
    record = _anti_pattern(text)
    if record is None:
        return ComparableText(text)
    lines: list[str] = []
    for key, value in record.items():
        if key in _UNCOUNTED:
            continue
        items = value if isinstance(value, list) else [value]
        lines += (
            " ".join(item.split()) if isinstance(item, str) else f"{key} {json.dumps(item)}"
            for item in items
            if item not in (None, "", [], {})
        )
    return ComparableText("".join(f"{line}\n" for line in lines))


def index_updates(change: RootChange) -> dict[str, str]:
    """Return the anti-patterns that change so that the deleted ones merged into them lose nothing.

    A remaining one takes over the figures and other content of its deleted equivalents, and their links lead
    to the remaining one.
    """
    shelf = AntiPatternRecords()
    texts = {rel: each.text for rel, each in change.files.items() if shelf.holder(rel) and _TWIN not in rel}
    heirs: dict[str, str] = {}
    for rel, each in change.gone.items():
        heir = _heir(shelf, rel, each.text, texts)
        if heir:
            heirs[rel] = heir
            texts[heir] = shelf.merged((texts[heir], each.text)) or texts[heir]
    for holder in {shelf.holder(rel) for rel in heirs}:
        ids = {
            text_of(record_of(change.gone[rel].text).get("id")): text_of(record_of(texts[heir]).get("id"))
            for rel, heir in heirs.items()
            if shelf.holder(rel) == holder
        }
        for rel, text in texts.items():
            if shelf.holder(rel) == holder and any(gone in text for gone in ids):
                texts[rel] = _relinked(text, ids)
    return {rel: text for rel, text in texts.items() if text != change.files[rel].text}


def _heir(shelf: AntiPatternRecords, rel: str, text: str, texts: dict[str, str]) -> str:
    """Return the record of the same file that contains everything this one said; empty for none."""
    record = _anti_pattern(text)
    if record is None:
        return ""
    words = {_words(line) for line in comparable_text(text).text.splitlines()}
    for other, said in texts.items():
        if shelf.holder(other) != shelf.holder(rel) or _anti_pattern(said) is None:
            continue
        joined = "\n".join(_words(line) for line in comparable_text(said).text.splitlines())
        if all(line in joined for line in words):
            return other
    return ""


def _words(line: str) -> str:
    return f" {' '.join(_WORD.findall(line.casefold()))} "


def _relinked(text: str, ids: dict[str, str]) -> str:
    record = record_of(text)
    links = record.get("links")
    if not isinstance(links, list):
        return text
    led: list[Any] = []
    for link in links:
        if isinstance(link, dict) and text_of(link.get("to")) in ids:
            link = {**link, "to": ids[text_of(link["to"])]}
        own = isinstance(link, dict) and link.get("to") == record.get("id")
        known = [(each.get("to"), each.get("relation")) for each in led if isinstance(each, dict)]
        if not own and not (isinstance(link, dict) and (link.get("to"), link.get("relation")) in known):
            led.append(link)
    return text if led == links else record_text({**record, "links": led})


def whole_document(data: bytes) -> Any:
    """Parse a file that is to be written again.

    Raises `StoreError` for one that must not be written.
    """
    try:
        return parse_to_write(data)
    except ValueError as error:
        raise _unreadable(str(error)) from None


def _found(document: Any, name: str) -> _Named | None:
    return next((each for each in _named_records(document) if each.name == name), None)


def _named_records(document: Any) -> list[_Named]:
    """Return the records of `_named`, each marked with whether it must stay.

    The first record with an id stays while there are others with it; of those with equal content all but the
    last stay. So deleting one never makes a name refer to another record.
    """
    found = _named(document)
    names = {each.name for each in found}
    shared = {name.partition(_TWIN)[0] for name in names if _TWIN in name}

    def stays(name: str) -> bool:
        first, _twin, held = name.partition(_TWIN)
        digest, _again, turn = held.partition(_TWIN)
        if not held:
            return first in shared
        return f"{first}{_TWIN}{digest}{_TWIN}{int(turn or 1) + 1}" in names

    return [replace(each, stays=stays(each.name)) for each in found]


def _named(document: Any) -> list[_Named]:
    """Return each anti-pattern, named by its id.

    Where that name is taken, the content is added to the name, so that it is stable while others come and go.
    """
    listed = document.get("patterns") if isinstance(document, dict) else document
    found: list[_Named] = []
    turns: dict[str, int] = {}
    for place, record in enumerate(listed if isinstance(listed, list) else ()):
        name = _name(record)
        if not name:
            continue
        if name in turns:
            held = hashlib.sha256(record_text(record).encode("utf-8", "surrogatepass")).hexdigest()
            name = f"{name}{_TWIN}{held[:8]}"
        turns[name] = turns.get(name, 0) + 1
        found.append(_Named(name if turns[name] == 1 else f"{name}{_TWIN}{turns[name]}", place, record))
    return found


def _name(record: Any) -> str:
    """Return the name of a record; empty for one that no consolidation may change."""
    if not objects_of([record]) or record.get("category") != ANTI_PATTERN:
        return ""
    identity, said = record.get("id"), record.get("pattern")
    if not isinstance(identity, str) or not isinstance(said, str) or not said.strip():
        return ""
    name = safe_name(identity)
    return name if len(name.encode("utf-8", "surrogatepass")) <= _MOST_BYTES else ""


def _anti_pattern(text: str) -> dict[str, Any] | None:
    if not text.startswith(("id: ", "pattern: ", "category: ")) and f"category: {ANTI_PATTERN}" not in text:
        return None
    try:
        record = record_of(text)
    except StoreError:
        return None
    return record if record.get("category") == ANTI_PATTERN and _name(record) else None


def _form(value: Any) -> str:
    if isinstance(value, bool):
        return "truth"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _unreadable(why: str) -> StoreError:
    return StoreError(
        "The store was not changed.",
        cause=f"It cannot be read: {why}.",
        next_step="Repair it outside.",
        reason="not-text",
    )


def _not_so(why: str) -> StoreError:
    return StoreError(
        "This change is not allowed:", cause=f"{why}.", next_step="Change texts and items only."
    )
