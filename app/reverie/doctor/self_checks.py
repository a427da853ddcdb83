"""Whether Reverie itself is in order: its folders, settings, libraries, limits. Looks only; creates nothing.

Threading: blocks on disk; any thread but the GUI's. Failure: what cannot be looked at is a finding.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shlex
import sqlite3
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

import reverie
from reverie.doctor.findings import Finding, Fix, State, free_bytes, look_at, size
from reverie.doctor.run_checks import space_state
from reverie.errors import UserError, user_error_from_os
from reverie.files.lease import Leases
from reverie.profile import Profile
from reverie.resources import resource
from reverie.settings import load_settings
from reverie.text.redact import PLANTED, failed_checks
from reverie.text.secret_shapes import services
from reverie.text.summaries import plain, some
from reverie.values import Struct

# How Reverie was installed, and so which command repairs it. An unknown way counts as pip, whose advice is
# right for every other.


Kind = Literal["checkout", "deb", "folder", "pipx", "pip"]

_PACKAGED = Path("/usr/lib/reverie")
"""Where the Debian package puts the program (`packaging/package.py`)."""


class Installation(Struct, frozen=True):
    """`place`: where it lies. `next_step`: a sentence with the command that makes it whole again."""

    kind: Kind
    place: Path
    next_step: str

    @property
    def sentence(self) -> str:
        """What it is, in words."""
        return {
            "checkout": f"Run from the checkout {self.place}.",
            "deb": f"Installed as a Debian package in {self.place}.",
            "folder": f"The folder with its own Python in {self.place}.",
            "pipx": f"Installed by pipx in {self.place}.",
            "pip": f"Installed by pip in {self.place}.",
        }[self.kind]


def installation(
    *,
    frozen: bool | None = None,
    executable: Path | None = None,
    package: Path | None = None,
    prefix: Path | None = None,
    source: str | None = None,
) -> Installation:
    """The installation that runs; each argument stands for what the interpreter says of itself. `source`:
    what pip noted of where the program came from, empty where it did not."""
    program = executable or Path(sys.executable)
    if getattr(sys, "frozen", False) if frozen is None else frozen:
        return _with_its_own_python(program.resolve().parent)
    inside = package or Path(reverie.__file__).resolve().parent
    checkout = inside.parents[1]
    if (checkout / "packaging" / "dev.py").is_file():
        return Installation("checkout", checkout, "Set up again: `python3 packaging/dev.py setup`.")
    environment = prefix or Path(sys.prefix)
    if (environment / "pipx_metadata.json").is_file():
        return Installation("pipx", environment, f"Install again: `pipx reinstall {environment.name}`.")
    came_from = _source() if source is None else source
    if not came_from:
        # Never by the bare name: what an index has under it need not be this program.
        return Installation("pip", environment, "Install again from the wheel or checkout that it came from.")
    words = shlex.join([str(program), "-m", "pip", "install", "--force-reinstall", came_from])
    return Installation("pip", environment, f"Install again: `{words}`.")


def _with_its_own_python(folder: Path) -> Installation:
    if folder == _PACKAGED:
        file = f"./reverie_{reverie.__version__}_*.deb"
        return Installation("deb", folder, f"Install again: `sudo apt-get install --reinstall {file}`.")
    return Installation("folder", folder, "Unpack the archive again; its folder must stay as it is.")


def _source() -> str:
    """The file or address that pip took the program from; empty where it does not say (PEP 610)."""
    try:
        direct_url = importlib.metadata.distribution("reverie").read_text("direct_url.json")
        url = json.loads(direct_url or "{}").get("url", "")
    except (importlib.metadata.PackageNotFoundError, ValueError, AttributeError):
        return ""
    parts = urlsplit(str(url))
    return unquote(parts.path) if parts.scheme == "file" else str(url)


LIBRARIES = (
    "PySide6-Essentials", "PyYAML", "httpx", "keyring", "msgspec", "platformdirs", "pydantic", "pygit2",
    "rapidfuzz", "tomlkit", "watchdog", "zstandard",
)  # fmt: skip
_LIMITS = Path("/proc/sys/fs/inotify")
_FEW_WATCHES = 65_536
_PRIVATE = 0o700

_Seen = tuple[State, str] | tuple[State, str, Fix]
"""How a check ended, what was seen, and what fixes it."""


def examine_self(
    profile: Profile, *, now: int, homes: int, env: Mapping[str, str] | None = None, limits: Path = _LIMITS
) -> tuple[Finding, ...]:
    """Every check of Reverie itself. `homes`: how many agents' homes were found."""
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
    """One check; it is shown on the command line alone, so nothing of it is translated."""
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
    """When the program was put on this disk, a day of slack taken off; UTC ms."""
    # A file of the program that is one in a packaged build, too: the modules lie in an archive there.
    return resource("prices.json").stat().st_mtime_ns // 1_000_000 - 86_400_000
