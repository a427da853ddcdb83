"""The pages of the settings as data: which setting stands where, and the texts of each by its key.

Every setting of the schema has an explanation here, and is on a page or in `FILE_ONLY`; tests compare. The
palette finds pages and settings by these tables, so nothing here is slow to import.
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
from reverie.ui.translation import tr, translated
from reverie.ui.translation import translatable as _


@dataclass(frozen=True, slots=True)
class PageSpec:
    """A page: groups of settings, each with a heading (empty: none) and the keys of its rows."""

    id: str
    title: str
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    about: str = ""
    switch: str = ""
    """The setting that has to be on for the others to count."""
    free: tuple[str, ...] = ()
    """Settings that count also while the switch is off."""

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(key for _heading, keys in self.groups for key in keys)


MODELS = "models"
PAGES: tuple[PageSpec, ...] = (
    PageSpec(
        "general",
        _("General"),
        (
            ("", ("window.theme", "window.font_size", "window.language")),
            (_("Editor"), ("window.editor_zoom", "window.editor_wrap", "window.editor_line_numbers")),
            (_("Changes on disk"), ("watch.polling", "watch.reconcile_minutes")),
        ),
    ),
    PageSpec(
        "consolidation",
        _("Consolidation"),
        (
            ("", ("dream.engine",)),
            (_("Limits"), ("dream.max_loss_percent", "dream.time_limit_s")),
        ),
        _("Without a model nothing is sent. A model is sent memories: they go to its provider."),
    ),
    PageSpec(
        MODELS,
        _("Models"),
        (
            ("", ("providers.*.base_url",)),
            (
                _("More"),
                (
                    "providers.*.wire",
                    "providers.*.key_env",
                    "providers.*.headers",
                    "providers.*.timeout_s",
                    "providers.*.max_retries",
                ),
            ),
        ),
    ),
    PageSpec(
        "background",
        _("Background"),
        (("", ("background.*.enabled", "background.*.runs_per_day", "background.*.tokens_per_day")),),
        _(
            "Consolidates when a workspace is compacted or archived, and when Reverie starts. You can review "
            "and undo every run."
        ),
        "background.*.enabled",
    ),
    PageSpec(
        "writer",
        _("Memory writer"),
        (
            ("", ("system1.enabled", "system1.interval", "system1.target", "system1.model")),
            (
                _("Limits"),
                ("system1.time_limit_s", "system1.traces", "system1.keep_count", "system1.keep_bytes"),
            ),
        ),
        _(
            "Writes what the assistant learns to the memory of its project while a conversation goes on. You "
            "can review and undo every run."
        ),
        "system1.enabled",
        # A run by hand uses these, whether it writes by itself or not.
        ("system1.model", "system1.target", "system1.time_limit_s"),
    ),
    PageSpec(
        "notes",
        _("Session notes"),
        (
            ("", ("notes.enabled", "notes.model")),
            (
                _("When to update"),
                ("notes.start_tokens", "notes.growth_tokens", "notes.tool_calls", "notes.time_limit_s"),
            ),
        ),
        _(
            "Keeps notes on each session of Claude Code, for you to read: current versions of Claude Code do "
            "not read them, and delete them with the transcript."
        ),
        "notes.enabled",
        # An update by hand uses the model, whether notes are kept or not.
        ("notes.model", "notes.time_limit_s"),
    ),
    PageSpec(
        "codex",
        _("Codex"),
        (
            ("", ("extract.at_launch", "extract.model")),
            (
                _("Limits"),
                (
                    "extract.max_rollouts",
                    "extract.concurrency",
                    "extract.idle_seconds",
                    "extract.time_limit_s",
                ),
            ),
        ),
        _(
            "Extraction turns Codex rollouts into summaries, and those into a handbook for each directory. "
            "You can also start it in the Consolidate menu."
        ),
    ),
)
FILE_ONLY = frozenset({"watch.quiet_ms", "watch.cap_ms", "history.pack_after"})
"""Settings that only a developer can judge: in `config.toml`, not in the window."""

LABELS: dict[str, str] = {
    "window.theme": _("&Appearance"),
    "window.font_size": _("&Font size"),
    "window.language": _("&Language"),
    "window.editor_zoom": _("&Editor font size"),
    "window.editor_wrap": _("&Wrap long lines"),
    "window.editor_line_numbers": _("Show line &numbers"),
    "watch.polling": _("N&otice changes by"),
    "watch.reconcile_minutes": _("&Compare with the disk every"),
    "dream.engine": _("Consolidate &with"),
    "dream.max_loss_percent": _("&Ask me before removing more than"),
    "dream.time_limit_s": _("&Stop a run after"),
    "providers.*.base_url": _("&Address"),
    "providers.*.wire": _("A&PI"),
    "providers.*.key_env": _("Key from en&vironment variable"),
    "providers.*.headers": _("&Headers"),
    "providers.*.timeout_s": _("T&imeout"),
    "providers.*.max_retries": _("&Retries"),
    "background.*.enabled": _("&Consolidate in the background"),
    "background.*.runs_per_day": _("&Runs per day"),
    "background.*.tokens_per_day": _("&Tokens per day"),
    "system1.enabled": _("&Write memories during conversations"),
    "system1.interval": _("&Run every"),
    "system1.target": _("Wr&ite to"),
    "system1.model": _("Mode&l"),
    "system1.time_limit_s": _("&Stop a run after"),
    "system1.traces": _("Keep a &trace of"),
    "system1.keep_count": _("&Keep at most"),
    "system1.keep_bytes": _("and at &most"),
    "notes.enabled": _("&Keep session notes up to date"),
    "notes.model": _("Mode&l"),
    "notes.start_tokens": _("&Begin at"),
    "notes.growth_tokens": _("&Update every"),
    "notes.tool_calls": _("Or after the &answer, or"),
    "notes.time_limit_s": _("&Stop an update after"),
    "extract.at_launch": _("E&xtract new rollouts at startup"),
    "extract.model": _("Mode&l"),
    "extract.max_rollouts": _("&At most"),
    "extract.concurrency": _("&Read at once"),
    "extract.idle_seconds": _("S&kip if changed in the last"),
    "extract.time_limit_s": _("&Stop each after"),
}

HELP: dict[str, str] = {
    "watch.reconcile_minutes": _("How often everything is compared with the disk; 0: never."),
    "watch.polling": _(
        "Polling reads every folder again and again; some network drives report no changes otherwise. From "
        "the next start."
    ),
    "dream.engine": _(
        "What consolidates: fixed rules without a model, one model, or the agent's own model if it can be "
        "reached."
    ),
    "dream.time_limit_s": _("A consolidation that takes longer is stopped and changes nothing."),
    "dream.max_loss_percent": _(
        "A run that would remove more of a scope's lines without keeping them elsewhere waits for your "
        "review."
    ),
    "providers.*.wire": _("The interface of the service. Automatic: the usual one for this service."),
    "providers.*.base_url": _("Where the service is. Empty: its usual address."),
    "providers.*.headers": _(
        "Sent with every request, as “Name: value; another: value”. Values are secret and never shown; a "
        "name without a value removes it."
    ),
    "providers.*.key_env": _("The environment variable that holds the key. Empty: the usual one."),
    "providers.*.timeout_s": _(
        "How long the service may be silent. Default: two minutes, and ten for a service on this machine."
    ),
    "providers.*.max_retries": _("How often a request that failed on its way is repeated."),
    "background.*.enabled": _("In this home only."),
    "background.*.runs_per_day": _("Background runs in any 24 hours; 0 allows none."),
    "background.*.tokens_per_day": _(
        "No background run starts once the last 24 hours have used this many tokens; 0 allows none."
    ),
    "system1.enabled": _("The memory writer updates the memory of the project during conversations."),
    "system1.interval": _(
        "Completed turns of the assistant between two runs, unless the agent says otherwise."
    ),
    "system1.target": _("The agent's own file for the project, or a memory in the project scope."),
    "system1.model": _("By default the model of the conversation, else the agent's default, else no model."),
    "system1.time_limit_s": _("A run that takes longer is stopped, and repeated at the next turn."),
    "system1.traces": _("A trace records each step of a run; the Traces tab shows it."),
    "system1.keep_count": _("Older traces are deleted, but only those that Reverie wrote."),
    "system1.keep_bytes": _("When traces take more room, the oldest that Reverie wrote are deleted."),
    "notes.enabled": _("One file of notes for each session of Claude Code."),
    "notes.model": _("By default the agent's own model if it can be reached, else no model."),
    "notes.start_tokens": _("Notes begin once the context of a session is this large."),
    "notes.growth_tokens": _("An update needs at least this much growth of the context."),
    "notes.tool_calls": _(
        "With enough growth, an update runs at the end of an answer or after this many tool calls."
    ),
    "notes.time_limit_s": _("An update that takes longer is stopped and leaves the notes as they were."),
    "extract.at_launch": _("Runs when the background services of a Codex home start."),
    "extract.model": _("By default what a consolidation uses."),
    "extract.max_rollouts": _("Rollouts in one extraction; the next one takes the others."),
    "extract.concurrency": _("Rollouts that are read at the same time."),
    "extract.idle_seconds": _("A rollout that changed more recently is still in use."),
    "extract.time_limit_s": _("For each rollout and each directory."),
    "window.font_size": _("Of everything in the window."),
    "window.language": _("From the next start."),
    "window.theme": _("The theme of the window: light, dark, or as the system."),
    "window.editor_wrap": _("Break long lines at the edge of the editor."),
    "window.editor_line_numbers": _("Beside the text of the editor."),
    "window.editor_zoom": _("Compared with the rest of the window."),
}
UNITS: dict[str, str] = {
    "window.font_size": _(" pt"),
    "watch.reconcile_minutes": _(" min"),
    "dream.max_loss_percent": _(" % of the lines"),
    "dream.time_limit_s": _(" s"),
    "providers.*.timeout_s": _(" s"),
    "system1.interval": _(" turns"),
    "system1.time_limit_s": _(" s"),
    "system1.keep_count": _(" traces"),
    "system1.keep_bytes": _(" MB"),
    "notes.start_tokens": _(" tokens"),
    "notes.growth_tokens": _(" tokens"),
    "notes.tool_calls": _(" tool calls"),
    "notes.time_limit_s": _(" s"),
    "extract.max_rollouts": _(" rollouts"),
    "extract.concurrency": _(" rollouts"),
    "extract.idle_seconds": _(" s"),
    "extract.time_limit_s": _(" s"),
    "window.editor_zoom": _(" pt"),
}
ZEROS: dict[str, str] = {
    "watch.reconcile_minutes": _("never"),
    "providers.*.timeout_s": _("default"),
    "window.font_size": _("System"),
    "window.editor_zoom": _("As the window"),
}
CHOICES: dict[tuple[str, str], str] = {
    ("window.theme", "system"): _("System"),
    ("window.theme", "light"): _("Light"),
    ("window.theme", "dark"): _("Dark"),
    ("window.language", "system"): _("System"),
    # Languages are named in themselves, so that who does not read the shown one finds the way back.
    ("window.language", "en"): "English",
    ("window.language", "de"): "Deutsch",
    ("watch.polling", "auto"): _("System events, else polling"),
    ("watch.polling", "always"): _("Polling only"),
    ("watch.polling", "never"): _("System events only"),
    ("providers.*.wire", ""): _("Automatic"),
    ("providers.*.wire", "openai"): _("OpenAI chat completions"),
    ("providers.*.wire", "openai-responses"): _("OpenAI responses"),
    ("providers.*.wire", "anthropic"): _("Anthropic messages"),
    ("system1.target", "project-file"): _("The project's memory file"),
    ("system1.target", "project-memory"): _("The project memory system-1.md"),
    ("system1.traces", "failures"): _("Failed runs"),
    ("system1.traces", "always"): _("All runs"),
    ("system1.traces", "never"): _("No runs"),
    ("dream.engine", "auto"): _("Automatic (the agent's model)"),
    ("dream.engine", "rules"): _("No model"),
    ("system1.model", ""): _("The conversation's model"),
    ("system1.model", "rules"): _("No model"),
    ("notes.model", ""): _("The agent's model"),
    ("notes.model", "rules"): _("No model"),
    ("extract.model", ""): _("As for consolidation"),
    ("extract.model", "rules"): _("No model"),
}


def page_of(key: str) -> PageSpec:
    """The page of a setting."""
    return next(page for page in PAGES if key in page.keys)


def label(key: str) -> str:
    """The label of a setting, without its mnemonic."""
    return translated(LABELS[key]).replace("&", "")


def choices(key: str) -> tuple[tuple[str, str], ...]:
    """The (value, text) pairs of a setting that has names for some of its values."""
    return tuple((value, translated(text)) for (each, value), text in CHOICES.items() if each == key)


# What the settings dialog shows and edits: the schema of the settings, and their values as a draft.
#
# Everything is derived from `settings.Settings`: type, default and limits of each setting. A draft is put
# into the settings as they are on disk by then, which may be newer than those it was made from.
#
# Threading: slow to import (pydantic), so a job does. Pure. Failure: `with_draft` raises `UserError`.


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
    providers: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict, repr=False)
    """Of each model service, by name, and by the last part of the key; None: it has no settings. Headers are
    secrets."""

    @property
    def window_style(self) -> WindowStyle:
        """Of a draft with every value."""
        return WindowStyle(**{each.name: self.values[f"window.{each.name}"] for each in fields(WindowStyle)})

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
