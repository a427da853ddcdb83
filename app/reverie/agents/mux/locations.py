"""Where mux keeps its home, how to recognise one, and how it names files and directories (formats/mux.md
sections 1, 3, 8 and 14).

The environment and the user's home directory are arguments; the disk is only read. On the way to the first
paint, so it imports little. Threading: any thread. Failure: what cannot be read is not there.
"""

from __future__ import annotations

import functools
import hashlib
import ntpath
import os
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

from reverie.agents.reading import read_json
from reverie.files.directory import is_directory, is_file, read_regular

# Names (sections 3, 8 and 14). Two are made from a project path and must not be confused:
# `project_dir_name` is the directory of the project's memories, `project_id` the file of the older one-file
# store.


SCRATCH_BUCKET = "_scratch"
MULTI_PROJECT_BUCKET = "_multi"

_WINDOWS = os.name == "nt"
_BASE_CHARS = 40
_ID_CHARS = 32
_NAME_BYTES = 255
_SEPARATOR = re.compile(r"[/\\\0]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# Python's str.strip() differs from JavaScript's trim(): it keeps U+FEFF and drops U+001C-U+001F and U+0085.
_JS_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


def js_trim(text: str) -> str:
    """What JavaScript's `String.prototype.trim` leaves."""
    return text.strip(_JS_SPACE)


def strip_trailing_separators(path: str) -> str:
    """A project path as the agent keys it: without trailing `/` and `\\`."""
    return path.rstrip("/\\")


def base_name(path: str, *, windows: bool = _WINDOWS) -> str:
    """The text after the last `/` (on Windows also `\\`); may be empty."""
    cut = path.rfind("/")
    if windows:
        cut = max(cut, path.rfind("\\"))
    return path[cut + 1 :]


@functools.lru_cache(4096)
def project_dir_name(project_path: str, *, windows: bool = _WINDOWS) -> str:
    """`<base>-<hash12>`, the directory of a project's memories. The path is hashed exactly as config.json has
    it: no realpath, no case folding."""
    base = base_name(project_path, windows=windows) or "unknown"
    mapped = "".join(
        char if char.isascii() and (char.isalnum() or char in "._-") else "_" * _utf16_units(char)
        for char in base[:_BASE_CHARS]
    )
    return f"{mapped[:_BASE_CHARS]}-{hashlib.sha256(_node_utf8(project_path)).hexdigest()[:12]}"


def project_id(project_path: str, *, windows: bool = _WINDOWS) -> str:
    """`<base>-<hash8>`, the name (without `.md`) of a project's file in the older one-file store."""
    normal = _normalised(project_path, windows=windows)
    base = (js_trim(base_name(normal, windows=windows)) or "project").lower()
    base = re.sub("-+", "-", re.sub("[^a-z0-9_-]+", "-", base)).strip("-_")[:_ID_CHARS] or "project"
    return f"{base}-{hashlib.sha1(_node_utf8(normal), usedforsecurity=False).hexdigest()[:8]}"


def escape_key(component: str) -> str:
    """One component of a logical key, so that keys of different components never collide."""
    return component.replace("%", "%25").replace(":", "%3A")


def is_plain_component(name: str) -> bool:
    """Whether `name` can be exactly one directory or file name below its parent, on this system."""
    if name in ("", ".", "..") or _SEPARATOR.search(name):
        return False
    if _WINDOWS and (":" in name or name != name.rstrip(" .")):
        return False
    try:
        return len(os.fsencode(name)) <= _NAME_BYTES
    except UnicodeEncodeError:
        return False


def _utf16_units(char: str) -> int:
    return 2 if ord(char) > 0xFFFF else 1


def _node_utf8(text: str) -> bytes:
    # Node hashes a lone surrogate as U+FFFD; Python would refuse to encode it.
    return _LONE_SURROGATE.sub("\ufffd", text).encode()


def _normalised(path: str, *, windows: bool) -> str:
    if windows:
        return ntpath.normpath(path)
    # POSIX lets Python keep two leading slashes; Node folds them.
    return re.sub("^//+", "/", posixpath.normpath(path))


CONFIG = "config.json"
ACTIVITY = "extensionMetadata.json"
USAGE = "memory-meta.json"
COVERAGE = "memory-consolidation.json"
CONFIG_BYTES = 64 << 20

_MARKER_BYTES = 64
_USUAL = (".xum", ".xum-dev", ".mux", ".mux-dev", ".cmux")


def resolve_home_root(env: Mapping[str, str], home_dir: Path) -> Path:
    """The directory the agent uses under this environment; it need not exist. `home_dir` is the user's."""
    explicit = _explicit(env)
    if explicit:
        return Path(explicit)
    suffix = "-dev" if env.get("NODE_ENV") == "development" else ""
    canonical = home_dir / f".xum{suffix}"
    if is_directory(canonical) and _has_entries(canonical):
        return canonical
    marked = _marked_fallback(home_dir, suffix)
    candidates = [*([marked] if marked else []), canonical, home_dir / f".mux{suffix}"]
    if not suffix:
        candidates.append(home_dir / ".cmux")
    return next((path for path in candidates if is_directory(path)), canonical)


def usual_places(env: Mapping[str, str], home_dir: Path) -> tuple[Path, ...]:
    """Where a home may be: what the environment says, then the usual ones; the disk is not asked."""
    explicit = _explicit(env)
    named = (Path(explicit),) if explicit else ()
    return tuple(dict.fromkeys((*named, *(home_dir / name for name in _USUAL))))


def existing_home_roots(env: Mapping[str, str], home_dir: Path) -> tuple[Path, ...]:
    """Every home worth offering: the one the agent would use first, then the other usual ones that exist."""
    usual = (home_dir / name for name in _USUAL)
    found = dict.fromkeys(path for path in (resolve_home_root(env, home_dir), *usual) if is_directory(path))
    return tuple(found)


def detect(root: Path) -> bool:
    """Whether a directory is a home of this agent, judged by what is in it."""
    if any(is_file(root / name) for name in (USAGE, COVERAGE, ACTIVITY)):
        return True
    if any(is_directory(root / "memory" / scope) for scope in ("global", "project")):
        return True
    try:
        config = read_json(root / CONFIG, CONFIG_BYTES)
    except OSError:
        return False
    except ValueError:
        config = None
    if isinstance(config, dict) and (
        isinstance(config.get("projects"), list)
        or any(isinstance(config.get(key), dict) for key in ("taskSettings", "migrations"))
    ):
        return True
    # One that is damaged or lists no projects is still opened, where the rest fits no other agent.
    return is_directory(root / "sessions") and not is_directory(root / "projects")


def _explicit(env: Mapping[str, str]) -> str | None:
    # An empty XUM_ROOT hides MUX_ROOT and then counts as unset itself.
    return env.get("XUM_ROOT", env.get("MUX_ROOT"))


def _has_entries(directory: Path) -> bool:
    try:
        with os.scandir(directory) as entries:
            return next(entries, None) is not None
    except OSError:
        return True  # locked, but somebody's home


def _marked_fallback(home_dir: Path, suffix: str) -> Path | None:
    """The older home that a marker beside the canonical one names; only known names count."""
    try:
        content = read_regular(home_dir / f".xum{suffix}.legacy-fallback", _MARKER_BYTES, follow=False)
    except OSError:
        return None
    name = js_trim(content.decode("utf-8", "replace"))
    known = (f".mux{suffix}",) if suffix else (".mux", ".cmux")
    return home_dir / name if name in known else None
