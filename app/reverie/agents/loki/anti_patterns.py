"""The consolidated anti-patterns of loki-mode as memories that a consolidation may change.

Each anti-pattern is shown as lines. A changed one is written into the store's file without changing any other
byte, and duplicates can be merged (formats/loki.md sections 4, 11 and 13). Reverie does not change anything
else: plain patterns, entries without an id of their own, and all other files. A record's id, its category and
the type of each value cannot change. Pure, but for `lock`. Failure: `StoreError`, and nothing is changed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from reverie.agents.capabilities import ComparableText, RecordText, RootChange
from reverie.agents.loki.duplicates import OF_THE_RECORD, evidence, loses_nothing, repeated, united
from reverie.agents.loki.json_list import inserted, patterns_in, removed, replaced
from reverie.agents.loki.locations import safe_name
from reverie.agents.loki.record_text import record_of, record_text
from reverie.agents.loki.records import ANTI_PATTERN, parse_to_write, text_of
from reverie.agents.reading import objects_of
from reverie.errors import StoreError
from reverie.files.locks import lock_beside
from reverie.values import Struct, replace

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
            raise _unreadable("the store contains no list of patterns")
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
            raise _not_so("an earlier record has the same ID, and the agent would confuse the two")
        for key in _FIXED:
            if was.get(key) != becomes.get(key):
                raise _not_so(f"{key} cannot be changed")
        if not text_of(becomes.get("pattern")).strip():
            raise _not_so("its pattern would be empty")
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
    """Return the texts of anti-patterns that change so that the content of merged ones is not lost, by path.

    A remaining anti-pattern gets the figures and other content of its deleted equivalents, and links to these
    are changed to the remaining one.
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
    """Return the path of a record in the same file that has all content of `text`; empty if none does."""
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
    """Return the parsed content of a file that is to be rewritten.

    Raises `StoreError` for a file that must not be rewritten.
    """
    try:
        return parse_to_write(data)
    except ValueError as error:
        raise _unreadable(str(error)) from None


def _found(document: Any, name: str) -> _Named | None:
    return next((each for each in _named_records(document) if each.name == name), None)


def _named_records(document: Any) -> list[_Named]:
    """Return the records of `_named`, each marked with whether it must not be deleted.

    The first record with an id must not be deleted while there are others with this id; of records with equal
    content only the last one may be deleted. So a deletion never makes a name refer to another record.
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

    If this name is taken, a part made from the content is added, so that the name stays the same when other
    records are added or removed.
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
        cause=f"The store cannot be read: {why}.",
        next_step="Repair the store with another program.",
        reason="not-text",
    )


def _not_so(why: str) -> StoreError:
    return StoreError(
        "This change is not allowed:", cause=f"{why}.", next_step="Change texts and items only."
    )
