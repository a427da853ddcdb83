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
from collections.abc import Mapping
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
    "PySide6-Essentials", "PyYAML", "httpx", "keyring", "markdown-it-py", "msgspec", "platformdirs",
    "pydantic", "pygit2", "rapidfuzz", "tomlkit", "watchdog", "zstandard",
)  # fmt: skip
_LIMITS = Path("/proc/sys/fs/inotify")
_FEW_WATCHES = 65_536
_PRIVATE = 0o700

_Seen = tuple[State, str] | tuple[State, str, Fix]
"""What a check observed: its state, the evidence as a sentence, and a fix if there is one."""


def examine_self(
    profile: Profile, *, now: int, homes: int, env: Mapping[str, str] | None = None, limits: Path = _LIMITS
) -> tuple[Finding, ...]:
    """Run every check of Reverie itself; return the findings.

    `now`: the current time (UTC ms). `homes`: the number of agents' homes that were found. `env`: the
    environment variables; None: those of the process. `limits`: the directory from which the system's limits
    for watching files are read.
    """
    ours = installation()
    # The name for scripts, the titles if the check passes and if not, and what it observed.
    checks: list[tuple[str, str, str, _Seen]] = [
        ("python", "Python is new enough", "Python is too old", _python()),
        ("installation", "The installation is known", "It is not known",
         ("pass", f"{ours.sentence} {ours.next_step}")),
        ("libraries", "All libraries are installed", "Libraries are missing", _libraries(ours)),
        ("sqlite", "SQLite can search full text", "SQLite cannot search full text", _full_text()),
        ("redaction", "Secrets are found before anything is sent", "Secrets are missed", _redaction(ours)),
        *((f"folder-{name}", f"Reverie's {name} folder is usable", f"Reverie's {name} folder is not usable",
           _folder(name, getattr(profile, name))) for name in ("config", "data", "cache", "state")),
        ("settings", "All settings are valid", "Some settings are ignored", _settings(profile)),
        ("leases", "The list of jobs can be read", "The list of jobs cannot be read", _leases(profile)),
        ("watch-limit", "Enough folders can be watched", "Few folders can be watched", _watch_limit(limits)),
        ("disk", "There is enough disk space", "Disk space is low", _space(profile)),
        ("display", "A window can open", "No window can open", _display(os.environ if env is None else env)),
        ("homes", "Homes of agents were found", "No home of an agent was found", _homes(homes)),
    ]  # fmt: skip
    if now < _built():
        behind = "The clock shows a time before this version was released."
        checks.append(("clock", "The clock is right", "The clock is slow", ("fail", behind)))
    return tuple(_found(*check) for check in checks)


def _found(check: str, holds: str, fails: str, seen: _Seen) -> Finding:
    """Return the finding of a check; the texts are not translated, because only a command prints them."""
    state, evidence, fix = seen if len(seen) == 3 else (*seen, None)
    return Finding(check, plain(holds if state == "pass" else fails), state, plain(evidence), fix)


def _python() -> _Seen:
    state: State = "pass" if sys.version_info >= (3, 11) else "fail"
    return state, f"CPython {platform.python_version()}, at {sys.executable}."


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


def _redaction(ours: Installation) -> _Seen:
    failed = failed_checks()
    if failed:
        evidence = f"The test missed {', '.join(failed)}. No model is asked until this is repaired. "
        return "fail", evidence + ours.next_step
    evidence = f"{some(len(PLANTED), 'planted secret')} of {len(PLANTED)} found. "
    evidence += f"Reverie recognizes the keys of {some(len(services()), 'service')} by their format."
    return "pass", evidence


def _folder(name: str, path: Path) -> _Seen:
    found = look_at(path)
    if found.kind == "missing":
        return "pass", f"{path} does not exist yet; Reverie creates it when needed."
    if found.kind != "directory":
        return "fail", f"{path} is not a folder. {found.problem or ''} Move it elsewhere."
    mode = stat.S_IMODE(path.stat().st_mode)
    if not found.writable or mode & _PRIVATE != _PRIVATE:
        return "fail", f"{path} is write-protected.", _private(path)
    if os.name != "nt" and mode & 0o022:
        evidence = f"Other users can change {path} (mode {mode:o}), and Reverie trusts its contents."
        return "warn", evidence, _private(path)
    if os.name != "nt" and mode & ~_PRIVATE and name != "config":
        return "warn", f"Other users can read {path} (mode {mode:o}); it has memory text.", _private(path)
    return "pass", f"{path}."


def _private(path: Path) -> Fix:
    def apply() -> None:
        try:
            path.chmod(_PRIVATE)
        except OSError as error:
            raise user_error_from_os(error, f"Could not change the mode of {path}.") from error

    return Fix(plain(f"Make {path.name} accessible only to you"), apply)


def _settings(profile: Profile) -> _Seen:
    _settings_read, problems = load_settings(profile.settings_file)
    if problems:
        return "warn", " ".join(problems)
    if look_at(profile.settings_file).kind == "missing":
        return "pass", f"{profile.settings_file} does not exist yet; all settings have their default values."
    return "pass", f"{profile.settings_file}."


def _leases(profile: Profile) -> _Seen:
    try:
        Leases(profile.leases_database).holder("doctor")
    except UserError as error:
        return "fail", str(error)
    if look_at(profile.leases_database).kind == "missing":
        return "pass", f"The list does not exist yet; Reverie will store it in {profile.leases_database}."
    return "pass", f"{profile.leases_database}."


def _watch_limit(limits: Path) -> _Seen:
    try:
        watches = int((limits / "max_user_watches").read_text("ascii"))
    except (OSError, ValueError):
        return "pass", "This system reports no limit."
    if watches < _FEW_WATCHES:
        evidence = f"fs.inotify.max_user_watches is {watches:,}; Reverie scans large homes instead. "
        evidence += "To raise it: sudo sysctl fs.inotify.max_user_watches=524288."
        return "warn", evidence
    return "pass", f"fs.inotify.max_user_watches is {watches:,}."


def _space(profile: Profile) -> _Seen:
    free = free_bytes(profile.data)
    if free is None:
        return "warn", "The amount of free disk space could not be determined."
    return space_state(free), f"{size(free)} are free for Reverie's own files."


def _display(env: Mapping[str, str]) -> _Seen:
    if sys.platform != "linux" or env.get("WAYLAND_DISPLAY") or env.get("DISPLAY"):
        return "pass", "There is a display."
    return "warn", "There is no display. Commands work without one; `--offscreen --screenshot FILE` does too."


def _homes(count: int) -> _Seen:
    if count == 0:
        return "warn", "No home was found. Name one with --home DIR, or try `reverie --demo`."
    return "pass", f"{some(count, 'home')} found."


def _built() -> int:
    """Return the time at which the program was built or installed, minus a day of tolerance, in UTC ms."""
    # A file that also exists as such in a packaged build, where the modules are in an archive.
    return resource("prices.json").stat().st_mtime_ns // 1_000_000 - 86_400_000
