"""Typed settings with their defaults, in one TOML file that people also edit by hand.

Loading never fails: each invalid key is ignored and reported in a sentence, and its default applies. Saving
changes only the keys whose value differs, so comments, order, keys of other versions and invalid values are
kept. If the file is not TOML at all, its content is saved under another name beside the new file.

Importing this module takes a tenth of a second (pydantic), so nothing that runs before the first paint of the
window imports it. Any thread. Failure: only saving raises, `UserError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import tomlkit
from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError
from tomlkit.exceptions import TOMLKitError

from reverie.clock import Clock, system_clock
from reverie.errors import user_error_from_os
from reverie.files.atomic import atomic_write
from reverie.files.directory import ensure_private, read_regular, real_path
from reverie.files.locks import file_lock


class _Section(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class _TomlTable(RootModel[dict[str, Any]]):
    """A table of the settings file whose sections have names that people choose, as in `[providers.work]`.

    All its sections have one type, which the subclass sets.
    """

    model_config = ConfigDict(frozen=True, strict=True)


class WatchSettings(_Section):
    """Settings of the file watcher, which reports changes on disk."""

    quiet_ms: Annotated[int, Field(ge=10, le=10_000)] = 150
    """The time without a further change after which changes are reported, in milliseconds."""
    cap_ms: Annotated[int, Field(ge=50, le=60_000)] = 1000
    """The time after which changes are reported even if more follow, in milliseconds."""
    reconcile_minutes: Annotated[float, Field(ge=0, le=1440)] = 5
    """Minutes between scans of all watched folders for changes that the system did not report; 0: none."""
    polling: Literal["auto", "always", "never"] = "auto"
    """When folders are scanned instead of waiting for events of the system.

    `auto`: only where there are no events. `always`: everywhere. `never`: nowhere.
    """


class DreamSettings(_Section):
    """Settings of consolidations, the runs that tidy up memories."""

    engine: Annotated[str, Field(pattern=r"^(?:auto|rules|[^\s:]+:\S+)$")] = "auto"
    """The engine: `rules` (no model), `PROVIDER:MODEL` or `auto`.

    `auto`: the agent's own model if it can be reached, else rules.
    """
    time_limit_s: Annotated[int, Field(ge=1, le=3600)] = 300
    """The time limit of a run, in seconds."""
    max_loss_percent: Annotated[int, Field(ge=0, le=100)] = 20
    """The largest part of a scope's lines that a run may remove without being held for review."""


class HistorySettings(_Section):
    """Settings of a home's history, which is a git repository."""

    pack_after: Annotated[int, Field(ge=100, le=1_000_000)] = 2000
    """The number of loose git objects above which the repository is packed."""


class ProviderSettings(_Section):
    """The settings of one model service.

    They override those of the built-in service of the same name, or add a service; an empty text changes
    nothing. API keys must not be put here.
    """

    wire: Literal["", "openai", "anthropic", "openai-responses"] = ""
    """The format of requests; empty: the format of the built-in service, else `openai`."""
    base_url: Annotated[str, Field(pattern=r"^(?:https?://\S+)?$")] = ""
    """The URL before the format's own path; empty: the URL of the built-in service."""
    headers: Annotated[dict[str, str], Field(repr=False)] = {}
    """Headers to send with every request; their values are secrets and are never printed."""
    key_env: Annotated[str, Field(pattern=r"^[A-Za-z0-9_]*$")] = ""
    """The environment variable that holds the API key; empty: the service's usual variable."""
    timeout_s: Annotated[float, Field(ge=0, le=3600)] = 0
    """The longest wait between two bytes, in seconds; 0: 120, or 600 for a server on this machine."""
    max_retries: Annotated[int, Field(ge=0, le=10)] = 3
    """The largest number of times that a failed request is repeated."""


class ProvidersSettings(_TomlTable):
    """The settings of each model service, by the name of the service."""

    root: dict[str, ProviderSettings] = {}


class BackgroundSettings(_Section):
    """Settings of the automatic runs of one home: whether there are any, and their limits."""

    enabled: bool = False
    """Whether automatic runs may start; False until a person allows them."""
    runs_per_day: Annotated[int, Field(ge=0, le=1000)] = 12
    """The number of background runs in any 24 hours; 0 allows none."""
    tokens_per_day: Annotated[int, Field(ge=0, le=1_000_000_000)] = 1_000_000
    """The number of tokens in any 24 hours after which no more background runs start; 0 allows none."""


class BackgroundTable(_TomlTable):
    """The background settings of each home, by the id of the home."""

    root: dict[str, BackgroundSettings] = {}

    def of(self, home_id: str) -> BackgroundSettings:
        """Return the background settings of one home, or the defaults if it has none."""
        return self.root.get(home_id) or BackgroundSettings()


class System1Settings(_Section):
    """Settings of the memory writer, which updates the project's memory every few assistant turns."""

    enabled: bool = False
    interval: Annotated[int, Field(ge=1, le=50)] = 2
    """The number of completed assistant turns between two runs, unless the agent's own settings have one."""
    target: Literal["project-file", "project-memory"] = "project-file"
    """The file that is updated.

    `project-file`: the agent's single file per project (`memories/<projectId>.md`). `project-memory`:
    `/memories/project/system-1.md`, for agents that load those memories instead.
    """
    model: Annotated[str, Field(pattern=r"^(?:|rules|[^\s:]+:\S+)$")] = ""
    """The model of the writer: `rules` (no model) or `PROVIDER:MODEL`.

    Empty: the model of the turn that triggered the run, else the default.
    """
    time_limit_s: Annotated[float, Field(ge=1, le=600)] = 10
    """The time limit of a run, in seconds."""
    traces: Literal["never", "failures", "always"] = "failures"
    """The runs whose trace is stored in the agent's folder `debug_obj`: none, failed ones, or all."""
    keep_count: Annotated[int, Field(ge=1, le=100_000)] = 200
    """The largest number of stored traces; only traces that Reverie wrote are ever removed."""
    keep_bytes: Annotated[int, Field(ge=1_000_000, le=100_000_000_000)] = 100_000_000
    """The largest size of all stored traces together, in bytes."""


class NotesSettings(_Section):
    """Settings of the session notes, one file per session of Claude Code."""

    enabled: bool = False
    model: Annotated[str, Field(pattern=r"^(?:|rules|[^\s:]+:\S+)$")] = ""
    """The model that writes the notes: `rules` (no model) or `PROVIDER:MODEL`.

    Empty: the agent's own model if it can be reached, else rules.
    """
    start_tokens: Annotated[int, Field(ge=1, le=10_000_000)] = 10_000
    """The size of a session's context, in tokens, at which its notes begin."""
    growth_tokens: Annotated[int, Field(ge=1, le=10_000_000)] = 5_000
    """The number of tokens by which the context must grow between two updates."""
    tool_calls: Annotated[int, Field(ge=1, le=1000)] = 3
    """The number of tool calls since the last update after which notes are updated while the model works.

    When the model has ended its answer, no tool calls are needed. In both cases, the context must have grown
    by `growth_tokens` first.
    """
    time_limit_s: Annotated[float, Field(ge=1, le=3600)] = 120
    """The time limit of an update, in seconds."""


class ExtractSettings(_Section):
    """Settings of the Codex extraction, which makes summaries and handbooks from transcripts (rollouts)."""

    at_launch: bool = False
    """Whether extraction starts together with the background services of a Codex home."""
    model: Annotated[str, Field(pattern=r"^(?:|rules|[^\s:]+:\S+)$")] = ""
    """The model that extracts: `rules` (no model) or `PROVIDER:MODEL`.

    Empty: the engine of consolidations.
    """
    max_rollouts: Annotated[int, Field(ge=1, le=128)] = 8
    """The largest number of rollouts per run; the next run handles the others."""
    concurrency: Annotated[int, Field(ge=1, le=16)] = 8
    """The number of rollouts or directories that are worked on at the same time."""
    idle_seconds: Annotated[int, Field(ge=0, le=86_400)] = 120
    """The time without a change after which a rollout no longer counts as in use, in seconds."""
    time_limit_s: Annotated[int, Field(ge=1, le=3600)] = 300
    """The time limit for each rollout, and for each directory, in seconds."""


class McpSettings(_Section):
    """Settings of the memory server (`reverie mcp`), which other programs use."""

    allow_writes: dict[str, list[Literal["workspace", "project", "global"]]] = {}
    """The scopes that a program may change, by the name that it reports; `*` stands for every program."""


class WindowSettings(_Section):
    """Appearance of the window.

    `ui.appearance` reads the first three fields directly from the file, before this module is imported.
    """

    font_size: Annotated[int, Field(ge=0, le=48)] = 0
    """The font size in points; 0: the system's size."""
    language: Literal["system", "en", "de"] = "system"
    """The language of the window; a change takes effect at the next start."""
    theme: Literal["system", "light", "dark"] = "system"
    editor_wrap: bool = True
    editor_line_numbers: bool = True
    editor_zoom: Annotated[int, Field(ge=-6, le=24)] = 0
    """The points by which the editor's text is larger than that of the window; negative: smaller."""


class Settings(_Section):
    """All settings of this version, one field for each section of the file.

    Immutable: change them with `model_copy`.
    """

    watch: WatchSettings = WatchSettings()
    dream: DreamSettings = DreamSettings()
    history: HistorySettings = HistorySettings()
    providers: ProvidersSettings = ProvidersSettings()
    background: BackgroundTable = BackgroundTable()
    system1: System1Settings = System1Settings()
    notes: NotesSettings = NotesSettings()
    extract: ExtractSettings = ExtractSettings()
    window: WindowSettings = WindowSettings()
    mcp: McpSettings = McpSettings()


_LARGEST = 4 << 20


def load_settings(path: Path) -> tuple[Settings, tuple[str, ...]]:
    """Return the settings in the file `path`, and a message about each part of the file that is ignored.

    If there is no file, all settings have their defaults.
    """
    try:
        document, damage = _parse(_read(path))
    except OSError as error:
        damage = f"cannot be read ({error.strerror or error})"
    if damage:
        return Settings(), (f"{path.name} {damage}; the defaults are used.",)
    raw = document.unwrap()
    problems = [
        f"{name} in {path.name} is not a setting of this version. Reverie keeps the line but ignores it."
        for name in _unknown(raw)
    ]
    settings, bad = _validate(raw)
    problems += [
        f"{name} in {path.name} is ignored: {why}. Reverie uses the default." for name, why in bad.items()
    ]
    return settings, tuple(problems)


def change_settings(
    path: Path,
    change: Callable[[Settings], Settings],
    lock_dir: Path,
    *,
    clock: Clock = system_clock,
    timeout_s: float = 10.0,
) -> None:
    """Load the settings from `path`, apply `change` and save the result, under a lock.

    The lock file is in `lock_dir`. Waits up to `timeout_s` seconds for another thread or process that is
    changing the settings, so that neither change is lost. Raises `Busy` after that time, and `UserError` if
    the file cannot be read or written. `clock`: as in `save_settings`.
    """
    with file_lock(lock_dir, path, timeout_s=timeout_s):
        save_settings(path, change(load_settings(path)[0]), clock=clock)


def save_settings(path: Path, settings: Settings, *, clock: Clock = system_clock) -> None:
    """Write the settings whose values differ from those in the file; the file is replaced atomically.

    A key that is missing in the file has its default value. If the file is not TOML, its content is first
    saved under another name, with the time of `clock`. Raises `UserError` if the file cannot be read or
    written.
    """
    # Through a symlink, so that the file of a dotfiles manager is the one that changes.
    real = Path(real_path(path))
    try:
        content = _read(real)
    except OSError as error:
        raise user_error_from_os(error, "The settings could not be saved.") from error
    document, damage = _parse(content)
    before, _ = _validate(document.unwrap())
    wanted, there = dict(_values(settings)), dict(_values(before))
    changed = [name for name, value in wanted.items() if name not in there or value != there[name]]
    removed = there.keys() - wanted.keys()
    if not changed and not removed:
        return
    for *tables, key in sorted(removed, key=len, reverse=True):
        table = document
        for part in tables:
            table = table.get(part, {})
        table.pop(key, None)
    for name in changed:
        _put(document, name, wanted[name])
    ensure_private(path.parent)
    if damage:
        atomic_write(real.with_name(f"{real.name}.unreadable-{clock()}"), content)
    atomic_write(real, tomlkit.dumps(document).encode())


def _read(path: Path) -> bytes:
    """Return the content of the file, b"" if there is none. Raises `OSError` for a pipe or device at once."""
    try:
        return read_regular(path, _LARGEST)
    except FileNotFoundError:
        return b""


def _parse(content: bytes) -> tuple[tomlkit.TOMLDocument, str]:
    """Parse the content of a settings file; return the document and "".

    If it is not TOML, returns an empty document and a description of the error.
    """
    try:
        return tomlkit.parse(content.decode("utf-8-sig")), ""
    except (ValueError, TOMLKitError, RecursionError) as error:
        return tomlkit.document(), f"is not valid TOML ({error})"


_Name = tuple[str, ...]
_TABLE: Any = object()


def _values(section: BaseModel, name: _Name = ()) -> Iterator[tuple[_Name, Any]]:
    """Yield the dotted name, as a tuple, and the value of every setting in `section`.

    `name` is the name of `section`. In a table whose entries the user names (`_TomlTable`), each entry is
    yielded with the marker `_TABLE` as its value, followed by those settings of the entry that differ from
    their defaults.
    """
    for key, value in section:
        if isinstance(value, _TomlTable):
            for entry, item in value.root.items():
                yield (*name, key, entry), _TABLE
                default = type(item)()
                yield from (
                    ((*name, key, entry, part), wish) for part, wish in item if wish != getattr(default, part)
                )
        elif isinstance(value, BaseModel):
            yield from _values(value, (*name, key))
        else:
            yield (*name, key), value


def _put(document: tomlkit.TOMLDocument, name: _Name, value: Any) -> None:
    """Set the value of one setting in `document`, creating missing tables.

    `name`: the names of the tables and the key. If `value` is `_TABLE`, only the tables are created. A value
    where a table is expected is replaced by a table; that value had no effect anyway.
    """
    table: Any = document
    for depth, part in enumerate(name if value is _TABLE else name[:-1]):
        if not isinstance(table.get(part), Mapping):
            table[part] = tomlkit.table(is_super_table=(depth == 0 and len(name) > 2) or None)
        table = table[part]
    if value is not _TABLE:
        table[name[-1]] = value


def _validate(raw: dict[str, Any]) -> tuple[Settings, dict[str, str]]:
    """Return the settings in the decoded file `raw`, and the reason for each invalid value, by dotted name.

    The invalid values are removed from `raw`.
    """
    bad: dict[str, str] = {}
    while True:
        try:
            return Settings.model_validate(raw), bad
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                name = _drop(raw, [str(part) for part in detail["loc"]])
                bad[name] = detail["msg"][:1].lower() + detail["msg"][1:]


def _drop(raw: dict[str, Any], place: list[str]) -> str:
    """Remove an invalid value from `raw` and return its dotted name.

    `place`: the keys and indexes that lead to the value. If it is a part of a setting's value, such as an
    item of a list, the whole setting is removed.
    """
    limit = 3 if _is_table(place[0]) else 2
    table, name = raw, [place[0]]
    for part in place[1:limit]:
        inner = table.get(name[-1])
        if not isinstance(inner, dict) or part not in inner:
            break
        table = inner
        name.append(part)
    table.pop(name[-1], None)
    return ".".join(name)


def _is_table(section: str) -> bool:
    field = Settings.model_fields.get(section)
    return field is not None and isinstance(field.default, _TomlTable)


def _unknown(raw: Mapping[str, Any]) -> Iterator[str]:
    for section, values in raw.items():
        field = Settings.model_fields.get(section)
        if field is None:
            yield section
        elif isinstance(field.default, _TomlTable) and isinstance(values, Mapping):
            known = _kind(type(field.default)).model_fields
            yield from (
                f"{section}.{entry}.{key}"
                for entry, item in values.items()
                if isinstance(item, Mapping)
                for key in item
                if key not in known
            )
        elif isinstance(values, Mapping):
            known = type(field.default).model_fields
            yield from (f"{section}.{key}" for key in values if key not in known)


def _kind(table: type[_TomlTable]) -> type[_Section]:
    """Return the type of the sections in a subclass of `_TomlTable`."""
    kind: type[_Section] = get_args(table.model_fields["root"].annotation)[1]
    return kind
