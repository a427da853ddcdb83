"""Each test gets a home, XDG directories and a working directory of its own, in the temp directory.

The process is isolated once, while this plugin is imported and before any test module is: whatever reads the
environment at import time already sees an empty home. Each test then gets a fresh one (`helpers.around`).
Processes that tests start inherit it.

The code under test syncs every write, so the temp directory of the tests is in memory where there is room for
it: a killed process leaves the same there as on a disk. Set `TMPDIR` to have it somewhere else.
"""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

TEST_PROFILE = os.environ.get("REVERIE_TEST_PROFILE", "suite")
"""Which Hypothesis profile was asked for; read before the environment is cleared."""

_FOREIGN_PREFIXES = ("REVERIE_", "MUX_", "XUM_", "CODEX_", "CLAUDE_", "LOKI_", "QT_", "QML")
_FOREIGN_NAMES = ("NODE_ENV", "XDG_CONFIG_DIRS", "XDG_DATA_DIRS", "DBUS_SESSION_BUS_ADDRESS")
_KEY_ENDINGS = ("_API_KEY", "_API_TOKEN")
SYSTEM_TEMP = Path(tempfile.gettempdir())
"""The temp directory outside the tests."""

_MEMORY = Path("/dev/shm")
_MEMORY_NEEDED = 4 << 30
_numbers = itertools.count(1)


def _use_memory() -> None:
    if "TMPDIR" in os.environ or not os.access(_MEMORY, os.W_OK):
        return
    if shutil.disk_usage(_MEMORY).free >= _MEMORY_NEEDED:
        os.environ["TMPDIR"] = str(_MEMORY)
        tempfile.tempdir = None


def _isolate_process() -> Path:
    """Point this process at a throw-away home and the offscreen platform; return the session's directory."""
    _use_memory()
    session = Path(tempfile.mkdtemp(prefix="reverie-tests-"))
    atexit.register(_remove_session, session, os.getpid())
    for name in list(os.environ):
        if name.startswith(_FOREIGN_PREFIXES) or name in _FOREIGN_NAMES or name.endswith(_KEY_ENDINGS):
            del os.environ[name]
    for name in ("runtime", "home"):
        (session / name).mkdir(mode=0o700)
    os.environ.update(
        {
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
            "QT_QPA_PLATFORM": "offscreen",
            "QT_STYLE_OVERRIDE": "Fusion",
            "XDG_RUNTIME_DIR": str(session / "runtime"),
        }
    )
    # Qt warns about the C locale, and a warning of Qt fails a test.
    locale = next((os.environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if os.environ.get(name)), "C")
    if locale in {"C", "POSIX"}:
        os.environ["LC_ALL"] = "C.UTF-8"
    os.environ.update(home_environment(session / "home"))
    return session


def _remove_session(session: Path, owner: int) -> None:
    # A forked child that ends by sys.exit() runs its parent's exit handlers.
    if os.getpid() == owner:
        shutil.rmtree(session, ignore_errors=True)


def home_environment(home: Path) -> Mapping[str, str]:
    """The variables that make `home` the home directory on every platform."""
    return {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "APPDATA": str(home / "AppData" / "Roaming"),
        "LOCALAPPDATA": str(home / "AppData" / "Local"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
    }


_session = _isolate_process()


@contextmanager
def a_home() -> Iterator[Path]:
    """An empty home, which is also the working directory; the environment comes back as it was."""
    before = dict(os.environ)
    directory = Path.cwd()
    home = _session / f"home-{next(_numbers)}"
    home.mkdir()
    os.environ.update(home_environment(home))
    os.chdir(home)
    yield home
    os.chdir(directory)
    after = dict(os.environ)
    for name in after.keys() - before.keys():
        del os.environ[name]
    for name, value in before.items():
        if after.get(name) != value:
            os.environ[name] = value
    try:
        home.rmdir()  # most tests leave it empty
    except OSError:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def other_file_system(tmp_path: Path) -> Iterator[Path]:
    """An empty directory that lies on another device than `tmp_path`; without one the test is skipped."""
    here = tmp_path.stat().st_dev
    for place in (SYSTEM_TEMP, _MEMORY, Path("/var/tmp")):
        if os.access(place, os.W_OK) and place.stat().st_dev != here:
            directory = Path(tempfile.mkdtemp(prefix="reverie-tests-", dir=place))
            yield directory
            shutil.rmtree(directory)
            return
    pytest.skip("needs a second file system")
