"""What the settings dialog shows and edits: the schema of the settings, and their values as a draft.

Everything is derived from `settings.Settings`: type, default and limits of each setting. A draft is put into
the settings as they are on disk by then, which may be newer than those it was made from.

Threading: slow to import (pydantic), so a job does. Pure. Failure: `with_draft` raises `UserError`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import BaseModel, RootModel, ValidationError
from pydantic.fields import FieldInfo

from reverie.errors import UserError
from reverie.settings import Settings
from reverie.ui.appearance import WindowStyle
from reverie.ui.settings.pages import HELP
from reverie.ui.translation import tr, translated
from reverie.values import Struct, fields_of

Kind = Literal["switch", "whole", "decimal", "choice", "text", "pairs"]
ANY = "*"
"""Stands in a key for a name that people choose."""


class Setting(Struct, frozen=True):
    """One setting of the schema."""

    key: str
    """As in `config.toml`, with dots: `dream.engine`, `providers.*.wire`."""
    kind: Kind
    default: Any
    least: float = 0
    """`least` and `most`: the limits of a number."""
    most: float = 0
    choices: tuple[str, ...] = ()
    pattern: str = ""
    """What a text has to match; empty for any."""

    @property
    def last(self) -> str:
        """Its own name within its table."""
        return self.key.rpartition(".")[2]

    @property
    def where(self) -> str:
        """Its place in `config.toml`: `[dream] engine`."""
        return where(self.key)


def where(key: str) -> str:
    """`dream.engine` as `[dream] engine`; a name that people choose as `NAME`."""
    table, _, last = key.replace(ANY, "NAME").rpartition(".")
    return f"[{table}] {last}"


def schema() -> tuple[Setting, ...]:
    """Every setting of this version, in the order of the file."""
    return tuple(_of_section(Settings))


def values_of(settings: Settings) -> dict[str, Any]:
    """The value of every setting that is in no table of names, by its key."""
    return {
        f"{section}.{name}": value
        for section, values in settings.model_dump().items()
        for name, value in values.items()
        if section not in _tables(type(settings))
    }


def _tables(kind: type[BaseModel]) -> frozenset[str]:
    return frozenset(name for name, field in kind.model_fields.items() if _entry(field) is not None)


def _of_section(kind: type[BaseModel], name: str = "") -> Iterator[Setting]:
    for own, info in kind.model_fields.items():
        key, inner = f"{name}{own}", info.annotation
        entry = _entry(info)
        if entry is not None:
            yield from _of_section(entry, f"{key}.{ANY}.")
        elif isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _of_section(inner, f"{key}.")
        else:
            yield _setting(key, info)


def _entry(field: FieldInfo) -> type[BaseModel] | None:
    """What each entry of a table of names is; None for another field."""
    inner = field.annotation
    if not (isinstance(inner, type) and issubclass(inner, RootModel)):
        return None
    found: type[BaseModel] = get_args(inner.model_fields["root"].annotation)[1]
    return found


def _setting(key: str, field: FieldInfo) -> Setting:
    inner, default = field.annotation, field.default
    if inner is bool:
        return Setting(key, "switch", default)
    if get_origin(inner) is Literal:
        return Setting(key, "choice", default, choices=get_args(inner))
    if inner in (int, float):
        least, most = (_limit(field, name) for name in ("ge", "le"))
        return Setting(key, "whole" if inner is int else "decimal", default, least, most)
    if get_origin(inner) is dict:
        return Setting(key, "pairs", default)
    if inner is str:
        return Setting(key, "text", default, pattern=_limit(field, "pattern"))
    raise TypeError(f"{key} is of a kind that the window cannot show: {inner}")


def _limit(field: FieldInfo, name: str) -> Any:
    """A limit that the type names."""
    return next(getattr(each, name) for each in field.metadata if getattr(each, name, None) is not None)


RULES, AUTO = "rules", "auto"
_BACKGROUND = f"background.{ANY}."


@dataclasses.dataclass(frozen=True, slots=True)
class SettingsDraft:
    """Settings as the dialog edits them. One that it gives back may hold some settings only: all others
    stay as they are on disk."""

    values: Mapping[str, Any]
    """By the keys of the schema, except those of providers. `background.*` stands for the home that is
    shown."""
    providers: Mapping[str, Mapping[str, Any] | None] = dataclasses.field(default_factory=dict, repr=False)
    """Of each model service, by name, and by the last part of the key; None: it has no settings. Headers are
    secrets."""

    @property
    def window_style(self) -> WindowStyle:
        """Of a draft with every value."""
        return WindowStyle(**{each: self.values[f"window.{each}"] for each in fields_of(WindowStyle)})

    def updated(self, changes: SettingsDraft) -> SettingsDraft:
        """This draft after `changes`."""
        providers = {name: dict(values) for name, values in self.providers.items() if values is not None}
        for name, values in changes.providers.items():
            if values is None:
                providers.pop(name, None)
            else:
                providers.setdefault(name, {}).update(values)
        return SettingsDraft({**self.values, **changes.values}, providers)

    def before(self, changes: SettingsDraft) -> SettingsDraft:
        """What has to be changed back to undo `changes` of this draft."""
        return SettingsDraft(
            {key: self.values[key] for key in changes.values},
            {name: self.providers.get(name) for name in changes.providers},
        )


def is_base_url(text: str) -> bool:
    """Whether `text` can be the address of a service; empty stands for the usual one."""
    if not text:
        return True
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not re.search(r"\s", text)


def draft_of(settings: Settings, home_id: str) -> SettingsDraft:
    """What the dialog shows for one home, or where none is open (empty)."""
    values = values_of(settings)
    if home_id:
        values |= _of_home(settings, home_id)
    return SettingsDraft(
        values,
        settings.providers.model_dump(),
    )


def _of_home(settings: Settings, home_id: str) -> dict[str, Any]:
    """What may run in the background in one home."""
    values = settings.background.of(home_id).model_dump()
    return {f"{_BACKGROUND}{name}": value for name, value in values.items()}


def with_draft(settings: Settings, draft: SettingsDraft, home_id: str) -> Settings:
    """`settings` with the values of `draft`, for one home. Raises `UserError` if a value is not valid."""
    plain = settings.model_dump()
    of_home = {key: value for key, value in draft.values.items() if key.startswith(_BACKGROUND)}
    for key, value in draft.values.items():
        if key not in of_home:
            section, _, name = key.partition(".")
            plain[section][name] = value
    before = _of_home(settings, home_id)
    # A home whose values are the defaults needs no entry.
    if before | of_home != before:
        plain["background"][home_id] = {
            key.removeprefix(_BACKGROUND): value for key, value in (before | of_home).items()
        }
    for provider, values in draft.providers.items():
        if values is None:
            plain["providers"].pop(provider, None)
        else:
            plain["providers"].setdefault(provider, {}).update(values)
    try:
        return Settings.model_validate(plain)
    except ValidationError as error:
        names = ", ".join(".".join(map(str, each["loc"])) for each in error.errors(include_url=False))
        raise UserError(
            "These settings cannot be saved.",
            cause=f"Not valid: {names}.",
            next_step="Correct them and save again.",
            reason="settings",
        ) from error


def explanation(setting: Setting) -> str:
    """The tool tip of a field: what it does, its default, and its place in `config.toml`."""
    default = tr("Default: {value}").format(value=as_toml(setting.default))
    return "\n".join((translated(HELP[setting.key]), default, setting.where))


def as_toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{}"
    return f'"{value}"' if isinstance(value, str) else str(value)
