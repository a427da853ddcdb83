"""What a person may change in a record of loki-mode, as values that can be turned round (formats/loki.md
section 13).

A change names what it expects: a field's value, or whole patterns. It is made in what the file holds at that
moment, so that what others wrote meanwhile stays; where the expected is not there any more, it is refused.
Unknown keys and their order are kept. Pure.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

from reverie.agents.loki.anti_patterns import united
from reverie.agents.loki.records import parse_to_write, text_of
from reverie.agents.reading import texts_of
from reverie.errors import Conflict, StoreError
from reverie.values import Struct

ABSENT = object()
"""The value of a field that is not there."""


class FieldChange(Struct, frozen=True):
    """One field of the record in `rel` (below the memory root). `place`: keys and list positions."""

    rel: str
    place: tuple[str | int, ...]
    before: Any
    after: Any

    def inverse(self) -> FieldChange:
        """What takes it back."""
        return FieldChange(self.rel, self.place, self.after, self.before)

    def back(self, _document: Any) -> FieldChange:
        """What takes it back where it was made in this document."""
        return self.inverse()

    def made_in(self, document: Any) -> Any:
        """The document after it. Raises `Conflict`."""
        changed = copy.deepcopy(document)
        *above, last = self.place
        inside = changed
        for step in above:
            inside = _inside(inside, step)
        if _same(_inside(inside, last), self.after):
            return changed
        if not _same(_inside(inside, last), self.before):
            raise _overtaken(self.rel)
        if self.after is ABSENT:
            del inside[last]
        elif isinstance(inside, dict | list):
            inside[last] = self.after  # type: ignore[index]
        else:
            raise _overtaken(self.rel)
        return changed


class PatternsChange(Struct, frozen=True):
    """Patterns of the store in `rel`: `after` takes the place of `before`, each of which must be there as it
    is told here. `places`: where each of `after` comes to stand; without, all where the first was."""

    rel: str
    before: tuple[dict[str, Any], ...]
    after: tuple[dict[str, Any], ...]
    places: tuple[int, ...] = ()

    def inverse(self) -> PatternsChange:
        """What takes it back."""
        return PatternsChange(self.rel, self.after, self.before)

    def back(self, document: Any) -> PatternsChange:
        """What takes it back where it was made in this document: each to where it stood."""
        places = self._places(_list_of(copy.deepcopy(document)))
        return PatternsChange(self.rel, self.after, self.before, tuple(places))

    def made_in(self, document: Any) -> Any:
        """The document after it. Raises `Conflict`."""
        changed = copy.deepcopy(document)
        listed = _list_of(changed)
        places = self._places(listed)
        first = min(places, default=len(listed))
        kept = [each for at, each in enumerate(listed) if at not in places]
        new = copy.deepcopy(self.after)
        if len(self.places) == len(new):
            for place, record in sorted(zip(self.places, new, strict=True), key=lambda pair: pair[0]):
                kept.insert(place, record)
            listed[:] = kept
        else:
            listed[:] = [*kept[:first], *new, *kept[first:]]
        return changed

    def _places(self, listed: list[Any]) -> list[int]:
        """Where each of `before` stands. Raises `Conflict`."""
        places: list[int] = []
        for record in self.before:
            place = next(
                (at for at, each in enumerate(listed) if at not in places and _same(each, record)), None
            )
            if place is None:
                raise _overtaken(self.rel)
            places.append(place)
        return places


RecordChange = FieldChange | PatternsChange


def resolution(rel: str, index: int, before: Any, after: str) -> FieldChange:
    """What came of the error at this place of an episode: the field that the agent never fills. `before`: as
    it stands in the record, `ABSENT` for not at all."""
    return FieldChange(rel, ("errors_encountered", index, "resolution"), before, after)


def merged(rel: str, records: Sequence[dict[str, Any]]) -> PatternsChange:
    """Patterns that say the same as one: the first of them, with what the others know
    (`agents.loki.anti_patterns.united`)."""
    if len(records) < 2:
        raise StoreError("There is nothing to merge.", next_step="Choose two patterns or more.")
    return PatternsChange(rel, tuple(records), (united(records),))


def spelled(document: Any, like: bytes) -> bytes:
    """The bytes of a document as the agent writes it, and as `like` ends."""
    text = json.dumps(document, indent=2, ensure_ascii=like.isascii())
    tail = b"\n" if like.endswith(b"\n") else b""
    return text.encode("utf-8", "surrogatepass") + tail


def parsed(data: bytes, rel: str) -> Any:
    """The document in a file. Raises `StoreError` for what must not be written again."""
    try:
        return parse_to_write(data)
    except ValueError as error:
        raise StoreError(
            f"{rel} was not changed.",
            cause=f"It cannot be read: {error}.",
            next_step="Repair it outside.",
            reason="not-text",
        ) from None


def skill_text(record: dict[str, Any]) -> str:
    """The agent's own rendering of a skill."""
    lines = [f"# Skill: {text_of(record.get('name'))}", "", text_of(record.get("description")), ""]
    if prerequisites := texts_of(record.get("prerequisites")):
        lines += ["## Prerequisites", *(f"- {item}" for item in prerequisites), ""]
    if steps := texts_of(record.get("steps")):
        lines += ["## Steps", *(f"{number}. {step}" for number, step in enumerate(steps, 1)), ""]
    listed = record.get("common_errors")
    errors = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    if errors:
        lines += ["## Common Errors and Fixes"]
        lines += [f"- {text_of(each.get('error'))}: {text_of(each.get('fix'))}" for each in errors] + [""]
    if criteria := texts_of(record.get("exit_criteria")):
        lines += ["## Exit Criteria", *(f"- {item}" for item in criteria), ""]
    return "\n".join(lines)


def _list_of(document: Any) -> list[Any]:
    listed = document.setdefault("patterns", []) if isinstance(document, dict) else document
    if not isinstance(listed, list):
        raise StoreError("The store was not changed.", cause="It holds no list of patterns.")
    return listed


def _inside(value: Any, step: str | int) -> Any:
    if isinstance(value, dict) and isinstance(step, str):
        return value.get(step, ABSENT)
    if isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
        return value[step]
    return ABSENT


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON; Python's == takes 1 for true."""
    if one is ABSENT or other is ABSENT:
        return one is other
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _overtaken(rel: str) -> Conflict:
    return Conflict(
        f"{rel} was not changed:",
        cause="what was to be changed is not there any more as it was.",
        next_step="Look at it again, and repeat the change.",
    )
