"""Wishes: typed settings with their defaults, in one TOML file that people also edit by hand.

Loading never fails: a key that is wrong is dropped by itself, its default counts, and a sentence says so.
Saving touches only the keys whose value differs, so comments, order, keys of other versions and what we could
not understand stay as written; a file that is not TOML at all is kept beside its successor.

Importing this module costs a tenth of a second (pydantic): nothing on the way to the first painted window
does.
Callable from any thread. Failure: only saving raises, `MendableError`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import tomlkit
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from tomlkit.exceptions import TOMLKitError

from reverie.clock import Clock, system_clock
from reverie.errors import mendable_from_os
from reverie.files.atomic import atomic_write
from reverie.profile import ensure_private


class _Section(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class WatchSettings(_Section):
    """How changes on disk are noticed."""

    quiet_ms: Annotated[int, Field(ge=10, le=10_000)] = 150
    """Wait until nothing has changed for so long."""
    cap_ms: Annotated[int, Field(ge=50, le=60_000)] = 1000
    """But show changes after so long in any case."""
    reconcile_minutes: Annotated[float, Field(ge=0, le=1440)] = 5
    """Compare everything with the disk this often; 0 never."""
    polling: Literal["auto", "always", "never"] = "auto"
    """Look again and again instead of being told: where events are not available, always, never."""


class DreamSettings(_Section):
    """How a consolidation runs."""

    engine: Annotated[str, Field(pattern=r"^(?:rules|[^\s:]+:\S+)$")] = "rules"
    """`rules`, or `PROVIDER:MODEL`."""
    time_limit_s: Annotated[int, Field(ge=1, le=3600)] = 300
    max_loss_percent: Annotated[int, Field(ge=0, le=100)] = 20
    """A run that would lose a larger part of a scope's lines is held for review."""


class HistorySettings(_Section):
    """How the history is kept."""

    pack_after: Annotated[int, Field(ge=100, le=1_000_000)] = 2000
    """Pack once there are so many loose objects."""


class Settings(_Section):
    """All settings of this version; immutable, change with `model_copy`."""

    watch: WatchSettings = WatchSettings()
    dream: DreamSettings = DreamSettings()
    history: HistorySettings = HistorySettings()


def load_settings(path: Path) -> tuple[Settings, tuple[str, ...]]:
    """The settings in `path`, and a sentence for each thing in it that does not count. No file: defaults."""
    try:
        document, damage = _parse(_read(path))
    except OSError as error:
        damage = f"cannot be read ({error.strerror or error})"
    if damage:
        return Settings(), (f"{path.name} {damage}; the defaults are used.",)
    raw = document.unwrap()
    problems = [
        f"{name} in {path.name} is not a setting of this version; it is kept, but changes nothing."
        for name in _unknown(raw)
    ]
    settings, bad = _validate(raw)
    problems += [
        f"{name} in {path.name} does not count: {why}. Its default is used." for name, why in bad.items()
    ]
    return settings, tuple(problems)


def save_settings(path: Path, settings: Settings, *, clock: Clock = system_clock) -> None:
    """Write what differs from the file (a missing key stands for its default), atomically. Raises
    `MendableError`."""
    # Through a symlink, so that the file of a dotfiles manager is the one that changes.
    real = path.resolve()
    try:
        content = _read(real)
    except OSError as error:
        raise mendable_from_os(error, "The settings could not be saved.") from error
    document, damage = _parse(content)
    before, _ = _validate(document.unwrap())
    changed = [
        (section, key, value)
        for section, values in settings.model_dump().items()
        for key, value in values.items()
        if value != getattr(getattr(before, section), key)
    ]
    if not changed:
        return
    for section, key, value in changed:
        if not isinstance(document.get(section), Mapping):
            document[section] = tomlkit.table()
        document[section][key] = value
    ensure_private(path.parent)
    if damage:
        atomic_write(real.with_name(f"{real.name}.unreadable-{clock()}"), content)
    atomic_write(real, tomlkit.dumps(document).encode())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _parse(content: bytes) -> tuple[tomlkit.TOMLDocument, str]:
    """The document, or an empty one and what is wrong with the content."""
    try:
        return tomlkit.parse(content.decode("utf-8-sig")), ""
    except (ValueError, TOMLKitError, RecursionError) as error:
        return tomlkit.document(), f"is not valid TOML ({error})"


def _validate(raw: dict[str, Any]) -> tuple[Settings, dict[str, str]]:
    """The settings in `raw`, and dotted name -> reason for each value dropped from it."""
    bad: dict[str, str] = {}
    while True:
        try:
            return Settings.model_validate(raw), bad
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                section, *rest = (str(part) for part in detail["loc"])
                bad[".".join((section, *rest))] = detail["msg"][:1].lower() + detail["msg"][1:]
                if rest:
                    raw[section].pop(rest[0], None)
                else:
                    raw.pop(section, None)


def _unknown(raw: Mapping[str, Any]) -> Iterator[str]:
    for section, values in raw.items():
        field = Settings.model_fields.get(section)
        if field is None:
            yield section
        elif isinstance(values, Mapping):
            known = type(field.default).model_fields
            yield from (f"{section}.{key}" for key in values if key not in known)
