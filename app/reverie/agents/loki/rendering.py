"""Rendering of loki-mode's records as Markdown for people (formats/loki.md sections 3 to 7 and 11).

Every record is rendered: known types with their own sentences and tables, other objects as a list of fields,
and an unreadable record as the reason followed by its content. Pure. The texts in a record are untrusted, so
they are put on lines of their own and cannot begin a heading.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from reverie.agents.loki.records import (
    ANTI_PATTERN,
    count_of,
    episode_of,
    moment,
    number_of,
    parse_record,
    patterns_of,
    text_of,
    utc,
)
from reverie.agents.reading import objects_of, texts_of
from reverie.resources import resource_table

_EMPTY: tuple[Any, ...] = (None, "", [], {})
Fields = Mapping[str, tuple[str, ...]]
_EPISODE, _PATTERN, _SKILL = (
    {use: tuple(names.split()) for use, names in resource_table("loki_fields.toml")[kind].items()}
    for kind in ("episode", "pattern", "skill")
)


def of_episode(record: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the episode `record` that its rendered text does not contain, by key.

    Includes fields of another type than the agent writes (formats/loki.md section 8), so that nothing is
    hidden.
    """
    odd = _no_texts(record, _EPISODE["texts"]) | _no_lists(record, _EPISODE["lists"])
    for key in ("timestamp", "last_accessed"):
        if text_of(record.get(key)) and moment(record.get(key)) is None:
            odd[key] = record[key]
    context = record.get("context")
    more = _more(context, _EPISODE["context"]) if isinstance(context, dict) else context
    return (
        odd
        | _unknown_values({"context": more})
        | _objects(record, _EPISODE, "errors_encountered", "action_log")
    )


def of_skill(record: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the skill `record` that its rendered text does not contain, by key."""
    told = _no_texts(record, _SKILL["texts"]) | _no_lists(record, _SKILL["lists"])
    return told | _objects(record, _SKILL, "common_errors")


def of_patterns(listed: object) -> dict[str, Any]:
    """Return the values in `listed`, the list of patterns, that the rendered text does not contain, by key.

    These are the entries that are not objects, under the key `other_entries`. Empty if all are objects. If
    `listed` is not a list, it is returned under the key `patterns`.
    """
    if not isinstance(listed, list):
        return _unknown_values({"patterns": listed})
    return _unknown_values({"other_entries": [item for item in listed if not isinstance(item, dict)]})


def _unknown_values(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value not in _EMPTY}


def _no_texts(record: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return _unknown_values(
        {key: record.get(key) for key in keys if isinstance(record.get(key), dict | list | bool)}
    )


def _no_lists(record: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    found = {}
    for key in keys:
        value = record.get(key)
        found[key] = (
            [each for each in value if not isinstance(each, str)] if isinstance(value, list) else value
        )
    return _unknown_values(found)


def _objects(record: dict[str, Any], fields: Fields, *lists: str) -> dict[str, Any]:
    """Return the parts of the lists named `lists` in `record` that the rendered text does not show.

    The result is name of a list -> list of these parts: the items that are not objects and, of each item that
    is one, the values that `_more` returns. A value that is no list is returned as a whole. `fields`: name of
    a list -> keys of its items that the text shows.
    """
    found: dict[str, Any] = {}
    for key in lists:
        value = record.get(key)
        if isinstance(value, list):
            value = [_more(each, fields[key]) if isinstance(each, dict) else each for each in value]
            value = [each for each in value if each not in _EMPTY]
        found[key] = value
    return _unknown_values(found)


def _more(item: dict[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return the values of `item` that the rendered text cannot contain, by key.

    These are the values of keys that are not in `known`, and lists, objects and booleans under the keys in
    `known` (except `files_involved`), because the text shows only strings and numbers.
    """
    return _unknown_values(
        {
            key: value
            for key, value in item.items()
            if key not in known or (key != "files_involved" and isinstance(value, dict | list | bool))
        }
    )


_SHOWN_OF_BROKEN = 64 << 10
_DEEPEST = 6
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OUTCOMES = {"success": "succeeded", "failure": "failed", "partial": "partly done"}


def rendered(rel: str, data: bytes) -> str | None:
    """Return a file of the memory root rendered as Markdown; None if the file is to be shown as it is.

    `rel`: the path of the file below the root (or below a namespace); `data`: its content.
    """
    parts = rel.split("/")
    name = parts[-1]
    if name.endswith(".jsonl"):
        return _finished(_json_lines(name, data))
    if not name.endswith(".json"):
        return None
    try:
        document = parse_record(data)
    except ValueError as error:
        return _finished(_broken(name, data, str(error)))
    teller: Callable[[Any], Iterable[str]] = _anything
    if "episodic" in parts[:-1] and name != "index.json":
        teller = _episode
    elif parts[-2:] in (["semantic", "patterns.json"], ["semantic", "anti-patterns.json"]):
        teller = _patterns
    elif "skills" in parts[:-1]:
        teller = _skill
    elif name == "timeline.json":
        teller = _timeline
    elif name == "index.json":
        teller = _index
    elif "handoffs" in parts[:-1]:
        teller = _handoff
    if teller is not _patterns and not isinstance(document, dict):
        teller = _anything
    told = list(teller(document)) if isinstance(document, dict | list) else None
    return _finished(told if told is not None else _broken(name, data, "it contains no record"))


def _episode(record: dict[str, Any]) -> Iterator[str]:
    episode = episode_of(record)
    outcome = _OUTCOMES.get(episode.outcome, episode.outcome or "no outcome")
    yield f"# {_line(episode.goal) or _line(episode.task_id) or 'Episode'}"
    yield ""
    yield from _facts(
        ("Outcome", outcome),
        ("When", _moment(episode.at)),
        ("Took", f"{episode.duration_s:g} s" if episode.duration_s else ""),
        ("Phase", episode.phase),
        ("Task", episode.task_id),
        ("Agent", episode.agent),
        ("Commit", episode.git_commit),
        ("Tokens", f"{episode.tokens:,}" if episode.tokens else ""),
        ("Importance", f"{episode.importance:g}"),
        ("Read", _times(episode.access_count)),
        ("Last read", _moment(episode.last_accessed) if episode.last_accessed is not None else ""),
        ("Record", episode.id),
    )
    if episode.errors:
        yield from ("", "## Errors", "")
        for error in episode.errors:
            yield f"- **{_line(error.type) or 'Error'}**"
            yield from _below(error.message)
            yield from _below(f"Resolution: {error.resolution}" if error.resolution else "No resolution yet.")
    if episode.actions:
        yield from ("", "## Actions", "")
        for action in episode.actions:
            result = f" → {_line(action.result)}" if action.result else ""
            yield f"- {action.at_s:g} s: {_line(action.tool)} {_line(action.target)}{result}".rstrip()
    yield from _list("Files changed", episode.files_modified)
    yield from _list("Files read", episode.files_read)
    yield from _list("Made", episode.artifacts)
    yield from _rest(record, _EPISODE["told"], of_episode(record))


def _patterns(document: Any) -> Iterator[str]:
    listed = document
    if isinstance(document, dict):
        listed = document.get("patterns", document.get("anti_patterns"))
    found = patterns_of(listed) if isinstance(listed, list) else ()
    plain = [each for each in found if not _is_anti(each)]
    anti = [each for each in found if _is_anti(each)]
    counted = {text: sum(_said(each) == text for each in anti) for text in map(_said, anti)}
    yield "# Patterns"
    if not found:
        yield from ("", "None so far.")
    for pattern in plain:
        yield from _pattern(pattern, "")
    if anti:
        yield from ("", "# Anti-patterns")
        seen: set[str] = set()
        for pattern in anti:
            text = _said(pattern)
            again = counted[text] - 1
            others = "the one above" if text in seen else f"{again} more below"
            yield from _pattern(pattern, f"Says the same as {others}." if again else "")
            seen.add(text)
    told = frozenset(("patterns", "anti_patterns", "version", "last_updated"))
    rest = document if isinstance(document, dict) else {}
    yield from _rest(rest, told, of_patterns(listed))


def _is_anti(record: dict[str, Any]) -> bool:
    return record.get("category") == ANTI_PATTERN or "what_fails" in record


def _times(count: int) -> str:
    return "never" if not count else "once" if count == 1 else f"{count:,} times"


def _said(record: dict[str, Any]) -> str:
    keys = ("pattern", "incorrect_approach", "correct_approach", "what_fails", "why", "prevention")
    return "\n".join(" ".join(text_of(record.get(key)).lower().split()) for key in keys)


def _pattern(record: dict[str, Any], note: str) -> Iterator[str]:
    title = text_of(record.get("pattern")) or text_of(record.get("what_fails"))
    confidence = record.get("confidence")
    yield from ("", f"## {_line(title) or 'Unnamed'}", "")
    if note:
        yield from (f"*{note}*", "")
    links = (
        f"{text_of(link.get('relation')) or 'linked to'} {text_of(link.get('to'))}"
        for link in objects_of(record.get("links"))
    )
    yield from _facts(
        ("Do", text_of(record.get("correct_approach")) or text_of(record.get("prevention"))),
        ("Do not", text_of(record.get("incorrect_approach")) or text_of(record.get("what_fails"))),
        ("Why", text_of(record.get("description")) or text_of(record.get("why"))),
        ("When", "; ".join(texts_of(record.get("conditions")))),
        ("Category", text_of(record.get("category"))),
        ("Confidence", f"{number_of(confidence, 0.5):.0%}" if confidence is not None else ""),
        ("Used", _times(count_of(record.get("usage_count")))),
        ("Last used", _when(record.get("last_used"))),
        ("From", ", ".join(texts_of(record.get("source_episodes")))),
        ("Links", "; ".join(links)),
        ("Record", text_of(record.get("id"))),
    )
    yield from _rest(record, _PATTERN["told"])


def _skill(record: dict[str, Any]) -> Iterator[str]:
    yield f"# Skill: {_line(text_of(record.get('name'))) or 'unnamed'}"
    if description := text_of(record.get("description")):
        yield from ("", _line(description))
    yield from _list("Prerequisites", texts_of(record.get("prerequisites")))
    steps = texts_of(record.get("steps"))
    if steps:
        yield from ("", "## Steps", "")
        yield from (f"{number}. {_line(step)}" for number, step in enumerate(steps, 1))
    errors = objects_of(record.get("common_errors"))
    yield from _list(
        "Common errors and fixes",
        (f"{text_of(each.get('error'))}: {text_of(each.get('fix')) or 'no fix known'}" for each in errors),
    )
    yield from _list("Done when", texts_of(record.get("exit_criteria")))
    if example := text_of(record.get("example_usage")):
        yield from ("", "## Example", "")
        yield from _below(example)
    yield ""
    yield from _facts(
        ("Importance", f"{number_of(record.get('importance'), 0.5):g}"), ("Record", text_of(record.get("id")))
    )
    yield from _rest(record, _SKILL["told"], of_skill(record))


def _timeline(document: dict[str, Any]) -> Iterator[str]:
    yield from ("# Timeline", "", "Newest first.", "")
    for action in objects_of(document.get("recent_actions")):
        told = text_of(action.get("action")) or text_of(action.get("description"))
        outcome = text_of(action.get("outcome")) or text_of(action.get("type"))
        tail = f" ({_line(outcome)})" if outcome else ""
        yield f"- {_when(action.get('timestamp')) or 'unknown time'}: {_line(told)}{tail}"
    decisions = objects_of(document.get("key_decisions"))
    texts = texts_of(document.get("key_decisions"))
    yield from _list(
        "Decisions",
        (*texts, *(text_of(d.get("description")) or text_of(d.get("action")) for d in decisions)),
    )
    yield from _rest(document, frozenset(("recent_actions", "key_decisions", "version", "last_updated")))


def _index(document: dict[str, Any]) -> Iterator[str]:
    yield "# Topics"
    for topic in objects_of(document.get("topics")):
        yield from ("", f"## {_line(text_of(topic.get('id'))) or 'Unnamed'}", "")
        if summary := text_of(topic.get("summary")):
            yield from (_line(summary), "")
        yield from _fields({key: value for key, value in topic.items() if key not in ("id", "summary")}, 0)
    yield from _rest(document, frozenset(("topics", "version", "last_updated")))


def _handoff(record: dict[str, Any]) -> Iterator[str]:
    yield "# Handoff"
    yield ""
    yield from _fields(record, 0)


def _anything(value: Any) -> Iterator[str]:
    yield from _fields(value, 0)


def _json_lines(name: str, data: bytes) -> Iterator[str]:
    yield f"# {name.removesuffix('.jsonl').replace('_', ' ').capitalize()}"
    yield ""
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = parse_record(line)
        except ValueError as error:
            yield f"- Line {number} cannot be read: {error}."
            continue
        if isinstance(value, dict):
            yield "- " + "; ".join(f"{_named(key)}: {_inline(item)}" for key, item in value.items())
        else:
            yield f"- {_inline(value)}"


def _broken(name: str, data: bytes, cause: str) -> Iterator[str]:
    yield f"# {name}"
    yield ""
    yield f"This record cannot be read: {cause}. The agent skips it, so Reverie does not change it."
    text = data[:_SHOWN_OF_BROKEN].decode("utf-8", "replace")
    if text.strip():
        yield ""
        yield from (f"    {line}" for line in text.splitlines())


def _facts(*facts: tuple[str, str]) -> Iterator[str]:
    for name, value in facts:
        if value:
            yield f"- {name}: {_line(value)}"


def _list(title: str, items: Iterable[str]) -> Iterator[str]:
    found = [item for item in map(_line, items) if item]
    if found:
        yield from ("", f"## {title}", "")
        yield from (f"- {item}" for item in found)


def _rest(record: dict[str, Any], told: Collection[str], odd: dict[str, Any] | None = None) -> Iterator[str]:
    """Yield the last lines of a rendered record: the values that the lines before them do not show.

    Yields nothing if those lines show all. `told`: the keys whose values they show. `odd`: key -> value that
    they do not show although its key is in `told`, for example because of its type; None: no such values.
    """
    rest = {
        key: value for key, value in record.items() if key not in told and value not in (None, "", [], {})
    }
    rest |= odd or {}
    if rest:
        yield from ("", "## Also in the record", "")
        yield from _fields(rest, 0)


def _fields(value: Any, depth: int) -> Iterator[str]:
    """Yield the lines of any value as a nested list, indented by `depth` levels."""
    indent = "  " * depth
    items: Iterable[tuple[str, Any]]
    if isinstance(value, dict):
        items = ((_named(key), item) for key, item in value.items())
    elif isinstance(value, list):
        items = (("", item) for item in value)
    else:
        items = (("", value),)
    for name, item in items:
        head = f"{indent}- {name}:" if name else f"{indent}-"
        if isinstance(item, dict | list) and item and depth < _DEEPEST:
            yield head
            yield from _fields(item, depth + 1)
        else:
            yield f"{head} {_inline(item)}".rstrip()


def _inline(value: Any) -> str:
    if isinstance(value, str):
        return _when(value) or _line(value) or "empty"
    if value is None or value == [] or value == {}:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _line(json.dumps(value, ensure_ascii=False)) if isinstance(value, dict | list) else f"{value}"


def _named(key: object) -> str:
    return _line(_HUMP.sub(" ", str(key)).replace("_", " ")).capitalize()


def _below(text: str) -> Iterator[str]:
    """Yield the lines of a text as a Markdown quotation below a list item."""
    yield from (f"  > {line}" for line in text.splitlines() if line.strip())


def _line(text: str) -> str:
    return " ".join(text.split())


def _when(value: object) -> str:
    """Return a date as text for people; empty for a value that is no date."""
    at = moment(value)
    return "" if at is None or len(str(value)) < len("2026-08-19T10:00:00") else _moment(at)


def _moment(at: int | None) -> str:
    if at is None:
        return "unknown time"
    try:
        return f"{utc(at):%Y-%m-%d %H:%M:%S} UTC"
    except OverflowError:
        return "unknown time"


def _finished(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"
