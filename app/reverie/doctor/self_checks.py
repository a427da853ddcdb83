"""Checks of Reverie itself: its folders, settings, libraries and limits. Reads only; creates nothing.

Threading: blocks on disk; any thread but the GUI's. Failure: if something cannot be examined, that is a
finding.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sqlite3
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from reverie.doctor.facts import free_bytes, look_at
from reverie.doctor.findings import Finding, Fix, State
from reverie.doctor.installation import Installation, installation
from reverie.doctor.machine_checks import space_state
from reverie.doctor.quantities import size
from reverie.errors import UserError, user_error_from_os
from reverie.files.lease import Leases
from reverie.profile import Profile
from reverie.resources import resource
from reverie.settings import load_settings
from reverie.text.redaction_check import PLANTED, failed_checks
from reverie.text.secret_shapes import services
from reverie.text.summaries import plain, some

LIBRARIES = (
    "PySide6-Essentials", "PyYAML", "httpx", "keyring", "msgspec", "platformdirs", "pydantic", "pygit2",
    "rapidfuzz", "tomlkit", "watchdog", "zstandard",
)  # fmt: skip
_LIMITS = Path("/proc/sys/fs/inotify")
_FEW_WATCHES = 65_536
_PRIVATE = 0o700

_Seen = tuple[State, str] | tuple[State, str, Fix]
"""The result of a check: state, evidence and fix."""


def examine_self(
    profile: Profile, *, now: int, homes: int, env: Mapping[str, str] | None = None, limits: Path = _LIMITS
) -> tuple[Finding, ...]:
    """Run every check of Reverie itself; `homes` is the number of agents' homes that were found."""
    ours = installation()
    found = [
        _found("python", "Python is new enough", "Python is too old", _python()),
        _found("installation", "The installation is known", "It is not known", _installation(ours)),
        _found("libraries", "The libraries are there", "Libraries are missing", _libraries(ours)),
        _found("sqlite", "SQLite can search full text", "SQLite cannot search full text", _full_text()),
        _found("redaction", "Secrets are found before anything is sent", "Secrets are missed", _redaction()),
        *_folders(profile),
        _found("settings", "The settings count", "Some settings do not count", _settings(profile)),
        _found("leases", "The list of jobs is readable", "The list of jobs is unreadable", _leases(profile)),
        _found("watch-limit", "Enough folders can be watched", "Few can be watched", _watch_limit(limits)),
        _found("disk", "There is enough disk space", "Disk space is low", _space(profile)),
        _found(
            "display", "A window can open", "No window can open", _display(os.environ if env is None else env)
        ),
        _found("homes", "There are agents' homes", "No agent's home was found", _homes(homes)),
    ]
    if now < _built():
        behind = "It shows a time before this version was made."
        found.append(_found("clock", "The clock is right", "The clock is behind", ("fail", behind)))
    return tuple(found)


def _found(check: str, holds: str, fails: str, seen: _Seen) -> Finding:
    """Return a finding.

    It is only printed by a command, so its texts are not translated.
    """
    state, evidence, fix = seen if len(seen) == 3 else (*seen, None)
    return Finding(check, plain(holds if state == "pass" else fails), state, plain(evidence), fix)


def _python() -> _Seen:
    version = platform.python_version()
    state: State = "pass" if sys.version_info >= (3, 11) else "fail"
    return state, f"CPython {version}, at {sys.executable}."


def _installation(ours: Installation) -> _Seen:
    return "pass", f"{ours.sentence} {ours.next_step}"


def _libraries(ours: Installation) -> _Seen:
    missing, present = [], []
    for name in LIBRARIES:
        try:
            present.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return "fail", f"Missing: {', '.join(missing)}. {ours.next_step}"
    return "pass", ", ".join(present) + "."


def _full_text() -> _Seen:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
    except sqlite3.OperationalError as error:
        return "fail", f"SQLite {sqlite3.sqlite_version}: {error}."
    finally:
        connection.close()
    return "pass", f"SQLite {sqlite3.sqlite_version}."


def _redaction() -> _Seen:
    failed = failed_checks()
    if failed:
        evidence = f"The test missed {', '.join(failed)}. No model is asked until this is repaired. "
        return "fail", evidence + installation().next_step
    evidence = f"{some(len(PLANTED), 'planted secret')} of {len(PLANTED)} found. "
    evidence += f"Keys of {some(len(services()), 'service')} are known by their own marks."
    return "pass", evidence


def _folders(profile: Profile) -> Iterator[Finding]:
    for name, path in (
        ("config", profile.config),
        ("data", profile.data),
        ("cache", profile.cache),
        ("state", profile.state),
    ):
        folder = f"Reverie's {name} folder"
        yield _found(f"folder-{name}", f"{folder} is usable", f"{folder} is not usable", _folder(name, path))


def _folder(name: str, path: Path) -> _Seen:
    found = look_at(path)
    if found.kind == "missing":
        return "pass", f"{path} is not there yet; it is made when it is needed."
    if found.kind != "directory":
        return "fail", f"{path} is no folder. {found.problem or ''} Move it away."
    mode = stat.S_IMODE(path.stat().st_mode)
    if not found.writable or mode & _PRIVATE != _PRIVATE:
        return "fail", f"{path} is write-protected.", _private(path)
    if os.name != "nt" and mode & 0o022:
        evidence = f"{path} may be changed by others (mode {mode:o}); Reverie trusts what is in it."
        return "warn", evidence, _private(path)
    if os.name != "nt" and mode & ~_PRIVATE and name != "config":
        return "warn", f"{path} may be read by others (mode {mode:o}); it holds memory text.", _private(path)
    return "pass", f"{path}."


def _private(path: Path) -> Fix:
    def apply() -> None:
        try:
            path.chmod(_PRIVATE)
        except OSError as error:
            raise user_error_from_os(error, f"The mode of {path} was not changed.") from error

    return Fix(plain(f"Make {path.name} yours alone"), apply)


def _settings(profile: Profile) -> _Seen:
    _settings_read, problems = load_settings(profile.settings_file)
    if problems:
        return "warn", " ".join(problems)
    if look_at(profile.settings_file).kind == "missing":
        return "pass", f"{profile.settings_file} is not there yet: every setting has its default."
    return "pass", f"{profile.settings_file}."


def _leases(profile: Profile) -> _Seen:
    try:
        Leases(profile.leases_database).holder("doctor")
    except UserError as error:
        return "fail", str(error)
    if look_at(profile.leases_database).kind == "missing":
        return "pass", f"There is none yet; {profile.leases_database} will hold it."
    return "pass", f"{profile.leases_database}."


def _watch_limit(limits: Path) -> _Seen:
    try:
        watches = int((limits / "max_user_watches").read_text("ascii"))
    except (OSError, ValueError):
        return "pass", "This system names no limit."
    if watches < _FEW_WATCHES:
        evidence = f"fs.inotify.max_user_watches is {watches:,}; large homes are looked through instead. "
        evidence += "To raise it: sudo sysctl fs.inotify.max_user_watches=524288."
        return "warn", evidence
    return "pass", f"fs.inotify.max_user_watches is {watches:,}."


def _space(profile: Profile) -> _Seen:
    free = free_bytes(profile.data)
    if free is None:
        return "warn", "How much is free could not be found out."
    return space_state(free), f"{size(free)} are free for Reverie's own files."


def _display(env: Mapping[str, str]) -> _Seen:
    if sys.platform != "linux" or env.get("WAYLAND_DISPLAY") or env.get("DISPLAY"):
        return "pass", "There is a display."
    return "warn", "There is no display. Commands work without one; `--offscreen --screenshot FILE` does too."


def _homes(count: int) -> _Seen:
    if count == 0:
        return "warn", "None was found. Name one with --home DIR, or try `reverie --demo`."
    return "pass", f"{some(count, 'home')} found."


def _built() -> int:
    """Return when the program was installed on this disk, less one day of tolerance, in UTC ms."""
    # A file that also exists as such in a packaged build, where the modules are in an archive.
    return resource("prices.json").stat().st_mtime_ns // 1_000_000 - 86_400_000
