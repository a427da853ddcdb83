"""What the settings dialog edits: plain values out of `Settings`, and back into it. Pure, without Qt.

`Settings` is heavy to import, so both directions are called by jobs; the dialog itself knows `Draft` only.
What a person did not touch stays as it was in the settings they are put into, which may be newer than those
the draft was made from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from reverie.ui.settings_schema import values_of
from reverie.ui.window_wishes import Window

if TYPE_CHECKING:
    from reverie.settings import Settings

RULES, AUTO = "rules", "auto"
_MODEL = re.compile(r"[^\s:]+:\S+")


@dataclass(frozen=True, slots=True)
class Background:
    """What may run by itself in one home. A budget of 0 allows nothing."""

    enabled: bool = False
    runs_per_day: int = 0
    tokens_per_day: int = 0


@dataclass(frozen=True, slots=True)
class System1:
    """The memory writer, field by field as `settings.System1Settings` has it."""

    enabled: bool = False
    interval: int = 2
    target: str = "project-file"
    model: str = ""
    time_limit_s: float = 10
    traces: str = "failures"
    keep_count: int = 200
    keep_bytes: int = 100_000_000


@dataclass(frozen=True, slots=True)
class Notes:
    """Session notes, field by field as `settings.NotesSettings` has it."""

    enabled: bool = False
    model: str = ""
    start_tokens: int = 10_000
    growth_tokens: int = 5_000
    tool_calls: int = 3
    time_limit_s: float = 120


@dataclass(frozen=True, slots=True)
class Extract:
    """The extraction of rollouts, as `settings.ExtractSettings` has it."""

    at_launch: bool = False
    model: str = ""
    max_rollouts: int = 8
    idle_seconds: int = 120
    time_limit_s: int = 300


@dataclass(frozen=True, slots=True)
class Draft:
    """`engine` is `auto`, `rules` or `provider:model`; `base_urls` are those that were changed, by provider,
    empty for the usual one. `others`: whatever no page lays out by hand, by key; `providers`: the same of
    model services, by provider and own name; headers are secrets. Of both the dialog gives back only what was
    edited."""

    engine: str = AUTO
    time_limit_s: int = 300
    max_loss_percent: int = 20
    base_urls: Mapping[str, str] = field(default_factory=dict)
    background: Background | None = None
    system1: System1 | None = None
    window: Window | None = None
    notes: Notes | None = None
    extract: Extract | None = None
    others: Mapping[str, Any] = field(default_factory=dict)
    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)


BY_HAND = frozenset(
    {"dream.engine", "dream.time_limit_s", "dream.max_loss_percent"}
    | {
        f"{section}.{each.name}"
        for section, kind in (
            ("system1", System1),
            ("notes", Notes),
            ("extract", Extract),
            ("window", Window),
        )
        for each in fields(kind)
    }
)
"""The settings, outside of tables of names, that have a field of their own in a draft."""


def is_model_name(name: str) -> bool:
    """Whether `name` can be `provider:model`."""
    return _MODEL.fullmatch(name) is not None


def is_base_url(text: str) -> bool:
    """Whether `text` can be the address of a service; empty stands for the usual one."""
    if not text:
        return True
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not re.search(r"\s", text)


def draft_of(settings: Settings, home_id: str) -> Draft:
    """What the dialog shows for one home, or where none is open (empty)."""
    found = settings.background.of(home_id) if home_id else None
    return Draft(
        settings.dream.engine,
        settings.dream.time_limit_s,
        settings.dream.max_loss_percent,
        {},
        None if found is None else Background(found.enabled, found.runs_per_day, found.tokens_per_day),
        System1(**settings.system1.model_dump()),
        Window(settings.window.font_size, settings.window.language, settings.window.theme),
        Notes(**settings.notes.model_dump()),
        Extract(**{each.name: getattr(settings.extract, each.name) for each in fields(Extract)}),
        {key: value for key, value in values_of(settings).items() if key not in BY_HAND},
        {
            provider: {name: value for name, value in entry.model_dump().items() if name != "base_url"}
            for provider, entry in settings.providers.root.items()
        },
    )


def with_draft(settings: Settings, draft: Draft, home_id: str) -> Settings:
    """`settings` with what the draft says of one home. Raises `MendableError` if it cannot be."""
    from pydantic import ValidationError

    from reverie.errors import MendableError
    from reverie.settings import Settings

    plain = settings.model_dump()
    plain["dream"] |= {
        "engine": draft.engine,
        "time_limit_s": draft.time_limit_s,
        "max_loss_percent": draft.max_loss_percent,
    }
    for provider, address in draft.base_urls.items():
        entry = plain["providers"].setdefault(provider, {})
        entry["base_url"] = address
    if draft.background is not None and draft.background != draft_of(settings, home_id).background:
        plain["background"][home_id] = asdict(draft.background)
    if draft.system1 is not None:
        plain["system1"] |= asdict(draft.system1)
    if draft.notes is not None:
        plain["notes"] |= asdict(draft.notes)
    if draft.extract is not None:
        plain["extract"] |= asdict(draft.extract)
    if draft.window is not None:
        plain["window"] |= asdict(draft.window)
    for key, value in draft.others.items():
        section, _, name = key.partition(".")
        plain[section][name] = value
    for provider, values in draft.providers.items():
        plain["providers"].setdefault(provider, {}).update(values)
    try:
        return Settings.model_validate(plain)
    except ValidationError as error:
        names = ", ".join(".".join(map(str, each["loc"])) for each in error.errors(include_url=False))
        raise MendableError(
            "These settings cannot be saved.",
            cause=f"Not valid: {names}.",
            next_step="Correct them and save again.",
            reason="settings",
        ) from error
