"""What the settings dialog shows and edits: the schema of the settings, their values as a draft, and the
texts that explain them.

Everything is derived from `settings.Settings`: a setting that is added there appears here, with its type,
default
and limits; a test asks for its explanation. A draft is put into the settings as they are on disk by then,
which may be newer than those it was made from.

Threading: slow to import (pydantic), so a job does. Pure. Failure: `with_draft` raises `UserError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import BaseModel, RootModel, ValidationError
from pydantic.fields import FieldInfo

from reverie.errors import UserError
from reverie.settings import Settings
from reverie.ui.appearance import WindowStyle
from reverie.ui.translation import tr
from reverie.ui.translation import translatable as _

Kind = Literal["switch", "whole", "decimal", "choice", "text", "pairs"]
ANY = "*"
"""Stands in a key for a name that people choose."""


@dataclass(frozen=True, slots=True)
class Setting:
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


@dataclass(frozen=True, slots=True)
class SettingsDraft:
    """Settings as the dialog edits them. One that it gives back may hold some settings only: all others
    stay as they are on disk."""

    values: Mapping[str, Any]
    """By the keys of the schema, except those of providers. `background.*` stands for the home that is
    shown."""
    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    """Of each model service, by name, and by the last part of the key. Headers are secrets."""

    @property
    def window_style(self) -> WindowStyle:
        return WindowStyle(**{each.name: self.values[f"window.{each.name}"] for each in fields(WindowStyle)})


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
        {
            provider: {name: value for name, value in entry.model_dump().items() if name != "base_url"}
            for provider, entry in settings.providers.root.items()
        },
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
    # A home whose values are the defaults needs no entry.
    if of_home and of_home != _of_home(settings, home_id):
        plain["background"][home_id] = {
            key.removeprefix(_BACKGROUND): value for key, value in of_home.items()
        }
    for provider, values in draft.providers.items():
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


# Texts by the keys of the schema: an explanation of each setting, and the labels of generated fields.

HELP: dict[str, str] = {
    "watch.quiet_ms": _(
        "Changes on disk are shown once nothing has changed for so long. From the next start."
    ),
    "watch.cap_ms": _("But after so long in any case, while files go on changing. From the next start."),
    "watch.reconcile_minutes": _("Everything is compared with the disk this often; 0: never."),
    "watch.polling": _(
        "Folders are looked through again and again, instead of the system telling what changed."
    ),
    "dream.engine": _(
        "Who consolidates: fixed rules, one model, or the agent's own model where it can be reached. "
        "A model is sent memories: they go to its provider."
    ),
    "dream.time_limit_s": _("A consolidation that takes longer is stopped, and changes nothing."),
    "dream.max_loss_percent": _("A run that would lose more of a scope's lines waits for your review."),
    "history.pack_after": _("The history is packed once it has so many loose objects."),
    "providers.*.wire": _(
        "What the service speaks: chat completions or responses of OpenAI, or messages of Anthropic."
    ),
    "providers.*.base_url": _("Where the service is, up to where the path of its interface begins."),
    "providers.*.headers": _("Sent with every request. Values are secret: they are kept, and never shown."),
    "providers.*.key_env": _("The environment variable that holds the key; empty: the usual one."),
    "providers.*.timeout_s": _(
        "The longest silence of the service; 0: two minutes, and ten of one on this machine."
    ),
    "providers.*.max_retries": _("So often a request is made again that failed on its way."),
    "background.*.enabled": _("Consolidation by itself, in this home only; off until you switch it on."),
    "background.*.runs_per_day": _("Background runs in any 24 hours; 0 allows none."),
    "background.*.tokens_per_day": _(
        "Once background runs have used up so many in 24 hours, no more are started; 0 allows none."
    ),
    "system1.enabled": _(
        "The memory writer: after every so many turns it updates the memory of the project."
    ),
    "system1.interval": _(
        "Finished turns of the assistant between two runs; what the agent says counts first."
    ),
    "system1.target": _(
        "The one file that the agent keeps for each project, or a memory in its project scope."
    ),
    "system1.model": _("Empty: the model of the conversation, else the agent's default, else rules."),
    "system1.time_limit_s": _("A run that takes longer is stopped, and comes again at the next turn."),
    "system1.traces": _("A trace shows each step of a run, in the Traces tab."),
    "system1.keep_count": _("Older traces are removed, but only those that Reverie wrote."),
    "system1.keep_bytes": _("Once all traces are larger, the oldest that Reverie wrote are removed."),
    "notes.enabled": _("One file of notes for each session of Claude Code, kept up to date by thresholds."),
    "notes.model": _("Empty: the agent's own model where it can be reached, else rules."),
    "notes.start_tokens": _("Notes begin once the context of a session is so large."),
    "notes.growth_tokens": _("By so much the context has to grow between two updates."),
    "notes.tool_calls": _("So many tool calls make an update due; the end of an answer does as well."),
    "notes.time_limit_s": _("An update that takes longer is stopped, and leaves the notes as they were."),
    "extract.at_launch": _("Codex: new rollouts are extracted when the background services start."),
    "extract.model": _("Empty: what a consolidation would use."),
    "extract.max_rollouts": _("The others come the next time."),
    "extract.concurrency": _("So many rollouts are read at the same time."),
    "extract.idle_seconds": _("A rollout that changed within this time is still in use, and left alone."),
    "extract.time_limit_s": _("For each rollout, and for each directory."),
    "window.font_size": _("Of everything in the window."),
    "window.language": _("From the next start on."),
    "window.theme": _("Light, dark, or whatever the system shows."),
    "window.editor_wrap": _(
        "Long lines are broken where the editor ends. From the next start; the View menu at once."
    ),
    "window.editor_line_numbers": _(
        "Beside the text of the editor. From the next start; the View menu at once."
    ),
    "window.editor_zoom": _(
        "Points by which the text of the editor is larger. From the next start; the View menu at once."
    ),
}
LABELS: dict[str, str] = {
    "watch.quiet_ms": _("Show changes after quiet of"),
    "watch.cap_ms": _("Show changes at the latest after"),
    "watch.reconcile_minutes": _("Compare with the disk every"),
    "watch.polling": _("Look through folders"),
    "history.pack_after": _("Pack the history at"),
    "extract.concurrency": _("Codex: rollouts read at once"),
    "providers.*.wire": _("Interface"),
    "providers.*.headers": _("Headers"),
    "providers.*.key_env": _("Variable of the key"),
    "providers.*.timeout_s": _("Longest silence"),
    "providers.*.max_retries": _("Try again"),
    "window.editor_wrap": _("Break long lines in the editor"),
    "window.editor_line_numbers": _("Line numbers in the editor"),
    "window.editor_zoom": _("Text of the editor larger by"),
}
_UNITS: dict[str, str] = {
    "watch.quiet_ms": _(" ms"),
    "watch.cap_ms": _(" ms"),
    "watch.reconcile_minutes": _(" min"),
    "history.pack_after": _(" objects"),
    "providers.*.timeout_s": _(" s"),
    "providers.*.max_retries": _(" times"),
    "window.editor_zoom": _(" pt"),
}
_ZEROS: dict[str, str] = {
    "watch.reconcile_minutes": _("never"),
    "providers.*.timeout_s": _("as usual"),
}
_CHOICES: dict[tuple[str, str], str] = {
    ("watch.polling", "auto"): _("Only where it has to be"),
    ("watch.polling", "always"): _("Always"),
    ("watch.polling", "never"): _("Never"),
    ("providers.*.wire", ""): _("As known for this service"),
    ("providers.*.wire", "openai"): _("OpenAI's chat completions"),
    ("providers.*.wire", "openai-responses"): _("OpenAI's responses"),
    ("providers.*.wire", "anthropic"): _("Anthropic's messages"),
}


def field_label(key: str) -> str:
    """The label of a generated field; the key if there is none."""
    return tr(LABELS[key]) if key in LABELS else key


def field_unit(key: str) -> str:
    return tr(_UNITS[key]) if key in _UNITS else ""


def zero_text(key: str) -> str:
    """The text for 0; empty if 0 is an ordinary number."""
    return tr(_ZEROS[key]) if key in _ZEROS else ""


def choice_text(key: str, value: str) -> str:
    """The text of one choice; the value itself if there is none."""
    return tr(_CHOICES[key, value]) if (key, value) in _CHOICES else value


def explanation(setting: Setting) -> str:
    """The tool tip of a field: what it does, its default, and its place in `config.toml`."""
    lines = [tr(HELP[setting.key])] if setting.key in HELP else []
    return "\n".join([*lines, tr("Default: {value}").format(value=default(setting)), setting.where])


def default(setting: Setting) -> str:
    """The default as it would be written in the file."""
    return as_toml(setting.default)


def as_toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{}"
    return f'"{value}"' if isinstance(value, str) else str(value)
