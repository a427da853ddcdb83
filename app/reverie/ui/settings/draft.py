"""The schema of the settings, which is derived from `settings.Settings`, and drafts of their values.

Threading: pure. The import is slow (pydantic), so a job imports this module. Failure: `with_draft` raises
`UserError`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, RootModel, ValidationError

from reverie.errors import UserError
from reverie.settings import Settings
from reverie.ui.display_text import tr, translated
from reverie.ui.settings.pages import SPECS
from reverie.ui.window_style import WindowStyle
from reverie.values import Struct, fields_of

Kind = Literal["switch", "whole", "decimal", "choice", "text", "pairs"]
_KINDS: Mapping[str, Kind] = {
    "boolean": "switch", "integer": "whole", "number": "decimal", "string": "text", "object": "pairs",
}  # fmt: skip
"""The kinds of settings by their types in a JSON schema; a text with an `enum` is a choice."""
ANY = "*"
"""The placeholder in a key for a name that the user chose."""
_BACKGROUND = f"background.{ANY}"


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
        """The place of the setting in `config.toml`: its table and its name, such as `[dream] engine`.

        A part of the key that the user chooses is shown as `NAME`.
        """
        table, _, last = self.key.replace(ANY, "NAME").rpartition(".")
        return f"[{table}] {last}"


def schema() -> tuple[Setting, ...]:
    """Return all settings of this version, in the order of the file."""
    return tuple(_settings())


def _settings() -> Iterator[Setting]:
    for name, field in Settings.model_fields.items():
        section: Any = field.annotation
        if issubclass(section, RootModel):  # a table whose entries the user names
            name, section = f"{name}.{ANY}", get_args(section.model_fields["root"].annotation)[1]
        assert issubclass(section, BaseModel)
        for own, found in section.model_json_schema()["properties"].items():
            yield Setting(
                f"{name}.{own}",
                "choice" if "enum" in found else _KINDS[found["type"]],
                found["default"],
                found.get("minimum", 0),
                found.get("maximum", 0),
                tuple(found.get("enum", ())),
                found.get("pattern", ""),
            )


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
    def keys(self) -> frozenset[str]:
        """The keys of the settings, and the names of the model services, in this draft."""
        return frozenset((*self.values, *self.providers))

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
    plain = settings.model_dump()
    providers, _of_homes = plain.pop("providers"), plain.pop("background")
    if home_id:
        plain[_BACKGROUND] = settings.background.of(home_id).model_dump()
    values = {f"{section}.{name}": value for section, own in plain.items() for name, value in own.items()}
    return SettingsDraft(values, providers)


def with_draft(settings: Settings, draft: SettingsDraft, home_id: str) -> Settings:
    """Return a copy of `settings` with the values in `draft`; a model service whose value is None is removed.

    The background settings in the draft are stored for the home `home_id`. `settings` may be newer than those
    from which the draft was made. Raises `UserError` if a value is not valid.
    """
    plain, before = settings.model_dump(), settings.background.of(home_id).model_dump()
    plain["providers"] = SettingsDraft({}, plain["providers"]).updated(draft).providers
    plain[_BACKGROUND] = dict(before)
    for key, value in draft.values.items():
        section, _, name = key.rpartition(".")
        plain[section][name] = value
    of_home = plain.pop(_BACKGROUND)
    if of_home != before:  # A home whose values are the defaults needs no entry.
        plain["background"][home_id] = of_home
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
