"""Whether Reverie itself is in order: its folders, settings, libraries, limits. Looks only; creates nothing.

Threading: blocks on disk; any thread but the GUI's. Failure: what cannot be looked at is a finding.
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
from reverie.doctor.machine_checks import FULL_BYTES, SCARCE_BYTES
from reverie.doctor.words import size
from reverie.errors import MendableError, mendable_from_os
from reverie.files.lease import Leases
from reverie.profile import Profile
from reverie.resources import resource
from reverie.settings import load_settings
from reverie.text.counts import some
from reverie.text.redact_check import PLANTED, failed_checks
from reverie.text.secret_shapes import services

LIBRARIES = (
    "PySide6-Essentials", "PyYAML", "httpx", "keyring", "platformdirs", "pydantic", "pygit2", "rapidfuzz",
    "tomlkit", "watchdog", "zstandard",
)  # fmt: skip
_LIMITS = Path("/proc/sys/fs/inotify")
_FEW_WATCHES = 65_536
_PRIVATE = 0o700


def examine_self(
    profile: Profile, *, now: int, homes: int, env: Mapping[str, str] | None = None, limits: Path = _LIMITS
) -> tuple[Finding, ...]:
    """Every check of Reverie itself. `homes`: how many agents' homes were found."""
    ours = installation()
    found = [
        _python(),
        _installation(ours),
        _libraries(ours),
        _full_text(),
        _redaction(),
        *_folders(profile),
        _settings(profile),
        _leases(profile),
        _watch_limit(limits),
        _space(profile),
        _display(os.environ if env is None else env),
        _homes(homes),
    ]
    if now < _built():
        found.append(
            Finding("clock", "The clock is right", "fail", "It shows a time before this version was made.")
        )
    return tuple(found)


def _python() -> Finding:
    version = platform.python_version()
    state: State = "pass" if sys.version_info >= (3, 11) else "fail"
    return Finding("python", "Python is new enough", state, f"CPython {version}, at {sys.executable}.")


def _installation(ours: Installation) -> Finding:
    return Finding("installation", "The installation is known", "pass", f"{ours.sentence} {ours.mend}")


def _libraries(ours: Installation) -> Finding:
    title, missing, told = "The libraries are there", [], []
    for name in LIBRARIES:
        try:
            told.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return Finding("libraries", title, "fail", f"Missing: {', '.join(missing)}. {ours.mend}")
    return Finding("libraries", title, "pass", ", ".join(told) + ".")


def _full_text() -> Finding:
    title = "SQLite can search full text"
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
    except sqlite3.OperationalError as error:
        return Finding("sqlite", title, "fail", f"SQLite {sqlite3.sqlite_version}: {error}.")
    finally:
        connection.close()
    return Finding("sqlite", title, "pass", f"SQLite {sqlite3.sqlite_version}.")


def _redaction() -> Finding:
    title = "Secrets are found before anything is sent"
    failed = failed_checks()
    if failed:
        evidence = f"The test missed {', '.join(failed)}. No model is asked until this is repaired. "
        return Finding("redaction", title, "fail", evidence + installation().mend)
    evidence = f"{some(len(PLANTED), 'planted secret')} of {len(PLANTED)} found. "
    evidence += f"Keys of {some(len(services()), 'service')} are known by their own marks."
    return Finding("redaction", title, "pass", evidence)


def _folders(profile: Profile) -> Iterator[Finding]:
    for name, path in (
        ("config", profile.config),
        ("data", profile.data),
        ("cache", profile.cache),
        ("state", profile.state),
    ):
        yield _folder(f"folder-{name}", f"Reverie's {name} folder is usable", path)


def _folder(check: str, title: str, path: Path) -> Finding:
    found = look_at(path)
    if found.kind == "missing":
        return Finding(check, title, "pass", f"{path} is not there yet; it is made when it is needed.")
    if found.kind != "directory":
        return Finding(check, title, "fail", f"{path} is no folder. {found.problem} Move it away.")
    mode = stat.S_IMODE(path.stat().st_mode)
    if not found.writable or mode & _PRIVATE != _PRIVATE:
        return Finding(check, title, "fail", f"{path} is write-protected.", _private(path))
    if os.name != "nt" and mode & 0o022:
        evidence = f"{path} may be changed by others (mode {mode:o}); Reverie trusts what is in it."
        return Finding(check, title, "warn", evidence, _private(path))
    if os.name != "nt" and mode & ~_PRIVATE and check != "folder-config":
        evidence = f"{path} may be read by others (mode {mode:o}); it holds memory text."
        return Finding(check, title, "warn", evidence, _private(path))
    return Finding(check, title, "pass", f"{path}.")


def _private(path: Path) -> Fix:
    def apply() -> None:
        try:
            path.chmod(_PRIVATE)
        except OSError as error:
            raise mendable_from_os(error, f"The mode of {path} was not changed.") from error

    return Fix(f"Make {path.name} yours alone", apply)


def _settings(profile: Profile) -> Finding:
    title = "The settings count"
    _settings_read, problems = load_settings(profile.settings_file)
    if problems:
        return Finding("settings", title, "warn", " ".join(problems))
    if look_at(profile.settings_file).kind == "missing":
        evidence = f"{profile.settings_file} is not there yet: every setting has its default."
        return Finding("settings", title, "pass", evidence)
    return Finding("settings", title, "pass", f"{profile.settings_file}.")


def _leases(profile: Profile) -> Finding:
    title = "The list of running jobs is readable"
    try:
        Leases(profile.leases_database).holder("doctor")
    except MendableError as error:
        return Finding("leases", title, "fail", str(error))
    if look_at(profile.leases_database).kind == "missing":
        return Finding("leases", title, "pass", f"There is none yet; {profile.leases_database} will hold it.")
    return Finding("leases", title, "pass", f"{profile.leases_database}.")


def _watch_limit(limits: Path) -> Finding:
    title = "Enough folders can be watched"
    try:
        watches = int((limits / "max_user_watches").read_text("ascii"))
    except (OSError, ValueError):
        return Finding("watch-limit", title, "pass", "This system names no limit.")
    if watches < _FEW_WATCHES:
        evidence = f"fs.inotify.max_user_watches is {watches:,}; large homes are looked through instead. "
        evidence += "To raise it: sudo sysctl fs.inotify.max_user_watches=524288."
        return Finding("watch-limit", title, "warn", evidence)
    return Finding("watch-limit", title, "pass", f"fs.inotify.max_user_watches is {watches:,}.")


def _space(profile: Profile) -> Finding:
    title = "There is space on the disk"
    free = free_bytes(profile.data)
    if free is None:
        return Finding("disk", title, "warn", "How much is free could not be found out.")
    state: State = "fail" if free < FULL_BYTES else "warn" if free < SCARCE_BYTES else "pass"
    return Finding("disk", title, state, f"{size(free)} are free for Reverie's own files.")


def _display(env: Mapping[str, str]) -> Finding:
    title = "A window can open"
    if sys.platform != "linux" or env.get("WAYLAND_DISPLAY") or env.get("DISPLAY"):
        return Finding("display", title, "pass", "There is a display.")
    evidence = "There is no display. Commands work without one; `--offscreen --screenshot FILE` does too."
    return Finding("display", title, "warn", evidence)


def _homes(count: int) -> Finding:
    title = "There are agents' homes"
    if count == 0:
        evidence = "None was found. Name one with --home DIR, or try `reverie --demo`."
        return Finding("homes", title, "warn", evidence)
    return Finding("homes", title, "pass", f"{some(count, 'home')} found.")


def _built() -> int:
    """When the program was put on this disk, a day of slack taken off; UTC ms."""
    # A file of the program that is one in a packaged build, too: the modules lie in an archive there.
    return resource("prices.json").stat().st_mtime_ns // 1_000_000 - 86_400_000
