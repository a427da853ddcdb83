"""What a record's own telling passes over: fields of another kind than the agent writes (formats/loki.md
section 8 keeps such records, and so does what is shown: nothing is hidden).

Pure.
"""

from __future__ import annotations

from typing import Any

from reverie.homes.loki_records import moment, text_of

_EMPTY: tuple[Any, ...] = (None, "", [], {})
_EPISODE_TEXTS = (
    "id",
    "task_id",
    "timestamp",
    "agent",
    "outcome",
    "phase",
    "goal",
    "git_commit",
    "last_accessed",
)
_EPISODE_LISTS = ("files_read", "files_modified", "artifacts_produced")
_CONTEXT = frozenset(("phase", "goal", "files_involved"))
_ERROR = frozenset(("type", "error_type", "message", "resolution"))
_ACTION = frozenset(("t", "timestamp", "tool", "action", "input", "target", "output", "result"))
_SKILL_TEXTS = ("id", "name", "description", "example_usage", "created_at", "last_accessed")
_SKILL_LISTS = ("prerequisites", "steps", "exit_criteria")


def of_episode(record: dict[str, Any]) -> dict[str, Any]:
    """The fields, or what of them is not told, by key."""
    odd = {**_no_texts(record, _EPISODE_TEXTS), **_no_lists(record, _EPISODE_LISTS)}
    for key in ("timestamp", "last_accessed"):
        if text_of(record.get(key)) and moment(record.get(key)) is None:
            odd[key] = record[key]
    context = record.get("context")
    more = _more(context, _CONTEXT) if isinstance(context, dict) else context
    return odd | _said({"context": more}) | _objects(record, errors_encountered=_ERROR, action_log=_ACTION)


def of_skill(record: dict[str, Any]) -> dict[str, Any]:
    """As `of_episode`."""
    told = {**_no_texts(record, _SKILL_TEXTS), **_no_lists(record, _SKILL_LISTS)}
    return told | _objects(record, common_errors=frozenset(("error", "fix")))


def of_patterns(listed: object) -> dict[str, Any]:
    """What stands among the patterns and is none."""
    if not isinstance(listed, list):
        return _said({"patterns": listed})
    return _said({"other_entries": [item for item in listed if not isinstance(item, dict)]})


def _said(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value not in _EMPTY}


def _no_texts(record: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return _said({key: record.get(key) for key in keys if isinstance(record.get(key), dict | list | bool)})


def _no_lists(record: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    found = {}
    for key in keys:
        value = record.get(key)
        found[key] = (
            [each for each in value if not isinstance(each, str)] if isinstance(value, list) else value
        )
    return _said(found)


def _objects(record: dict[str, Any], **known: frozenset[str]) -> dict[str, Any]:
    """What of these lists of objects is of no object, or under a key that is not known."""
    found: dict[str, Any] = {}
    for key, keys in known.items():
        value = record.get(key)
        if isinstance(value, list):
            value = [_more(each, keys) if isinstance(each, dict) else each for each in value]
            value = [each for each in value if each not in _EMPTY]
        found[key] = value
    return _said(found)


def _more(item: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Under other keys, or no text under these."""
    return _said(
        {
            key: value
            for key, value in item.items()
            if key not in known or (key != "files_involved" and isinstance(value, dict | list | bool))
        }
    )
