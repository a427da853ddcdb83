"""The schema of the settings, which is derived from `settings.Settings`, and drafts of their values.

Threading: pure. The import is slow (pydantic), so a job imports this module. Failure: `with_draft` raises
`UserError`.
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
from reverie.ui.display_text import tr, translated
from reverie.ui.settings.pages import SPECS
from reverie.ui.window_style import WindowStyle
from reverie.values import Struct, fields_of

Kind = Literal["switch", "whole", "decimal", "choice", "text", "pairs"]


ANY = "*"
"""The placeholder in a key for a name that the user chose."""


class Setting(Struct, frozen=True):
    """One setting: its key, its type and default, and the limits of its value."""

    key: str
    """The dotted key in `config.toml`, such as `dream.engine`.

    `*` stands for a part that the user chooses, as in `providers.*.wire`.
    """
    kind: Kind
    default: Any
    least: float = 0
    """The lower limit of a number."""
    most: float = 0
    """The upper limit of a number."""
    choices: tuple[str, ...] = ()
    """The possible values if `kind` is `choice`."""
    pattern: str = ""
    """The regular expression of valid texts; empty for any."""

    @property
    def last(self) -> str:
        """The last part of the key: the name of the setting within its table."""
        return self.key.rpartition(".")[2]

    @property
    def where(self) -> str:
        """The place of the setting in `config.toml`: its table and its name, such as `[dream] engine`."""
        return where(self.key)


def where(key: str) -> str:
    """Return where a setting is in `config.toml`: `[dream] engine` for the key `dream.engine`.

    A part of the key that the user chooses is shown as `NAME`.
    """
    table, _, last = key.replace(ANY, "NAME").rpartition(".")
    return f"[{table}] {last}"


def schema() -> tuple[Setting, ...]:
    """Return all settings of this version, in the order of the file."""
    return tuple(_of_section(Settings))


def values_of(settings: Settings) -> dict[str, Any]:
    """Return the values of all settings by key, except those in tables whose keys the user chooses.

    These tables are `providers`, with the names of model services as keys, and `background`, with the ids of
    homes as keys.
    """
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
    """Return the type of the entries of a table whose keys the user chooses; None for any other field."""
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
    raise TypeError(f"{key} has a type that the settings window cannot show: {inner}")


def _limit(field: FieldInfo, name: str) -> Any:
    """Return one of the limits that `field` sets for its values.

    `name`: the limit: `ge` (the least value), `le` (the greatest value) or `pattern` (a regular expression).
    The field must have this limit. Each number in the settings has `ge` and `le`, each text has `pattern`.
    """
    return next(getattr(each, name) for each in field.metadata if getattr(each, name, None) is not None)


RULES, AUTO = "rules", "auto"


_BACKGROUND = f"background.{ANY}."


@dataclasses.dataclass(frozen=True, slots=True)
class SettingsDraft:
    """Values of settings that the dialog shows or edits: all settings, or only some as changes.

    In a draft of changes, settings that are not listed stay as they are on disk.
    """

    values: Mapping[str, Any]
    """The values by key, except those of model services.

    The keys `background.*` are those of the home that is shown.
    """
    providers: Mapping[str, Mapping[str, Any] | None] = dataclasses.field(default_factory=dict, repr=False)
    """The settings of model services, by the name of the service, then by the last part of a setting's key.

    None in place of the settings: the service has none, or a change removes them. `headers` are secrets.
    """

    @property
    def window_style(self) -> WindowStyle:
        """The style of the window in this draft, which must have all settings."""
        return WindowStyle(**{each: self.values[f"window.{each}"] for each in fields_of(WindowStyle)})

    def updated(self, changes: SettingsDraft) -> SettingsDraft:
        """Return a copy of this draft with the values in `changes`.

        A model service is removed if `changes` has None for it.
        """
        providers = {name: dict(values) for name, values in self.providers.items() if values is not None}
        for name, values in changes.providers.items():
            if values is None:
                providers.pop(name, None)
            else:
                providers.setdefault(name, {}).update(values)
        return SettingsDraft({**self.values, **changes.values}, providers)

    def before(self, changes: SettingsDraft) -> SettingsDraft:
        """Return the changes that undo `changes`: the values that this draft has for the same settings."""
        return SettingsDraft(
            {key: self.values[key] for key in changes.values},
            {name: self.providers.get(name) for name in changes.providers},
        )


def is_base_url(text: str) -> bool:
    """Return True if `text` can be the address of a service: a web address, or "" for the default one."""
    if not text:
        return True
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not re.search(r"\s", text)


def draft_of(settings: Settings, home_id: str) -> SettingsDraft:
    """Return all settings as a draft, the form in which the dialog edits them.

    It includes the background settings of the home `home_id`; none if that is "".
    """
    values = values_of(settings)
    if home_id:
        values |= _of_home(settings, home_id)
    return SettingsDraft(values, settings.providers.model_dump())


def _of_home(settings: Settings, home_id: str) -> dict[str, Any]:
    """Return the background settings of one home, by the keys that a draft uses (`background.*.NAME`)."""
    values = settings.background.of(home_id).model_dump()
    return {f"{_BACKGROUND}{name}": value for name, value in values.items()}


def with_draft(settings: Settings, draft: SettingsDraft, home_id: str) -> Settings:
    """Return a copy of `settings` with the values in `draft`; a model service whose value is None is removed.

    The background settings in the draft are stored for the home `home_id`. `settings` may be newer than those
    from which the draft was made. Raises `UserError` if a value is not valid.
    """
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
            cause=f"Invalid values: {names}.",
            next_step="Correct them and save again.",
            reason="settings",
        ) from error


def explanation(setting: Setting) -> str:
    """Return the tool tip of a setting: its purpose, its default, and its place in `config.toml`."""
    default = tr("Default: {value}").format(value=as_toml(setting.default))
    return "\n".join((translated(SPECS[setting.key].help), default, setting.where))


def as_toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{}"
    return f'"{value}"' if isinstance(value, str) else str(value)
