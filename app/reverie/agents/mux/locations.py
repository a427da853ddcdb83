"""Locations of mux homes, and their detection (formats/mux.md sections 1 and 2).

The environment and the user's home directory are arguments; the disk is only read. Needed before the first
paint, so it imports little.

Threading: any thread. Failure: files that cannot be read count as missing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from reverie.agents.mux.names import js_trim
from reverie.agents.reading import read_json
from reverie.files.directory import is_directory, is_file, read_regular

CONFIG = "config.json"
ACTIVITY = "extensionMetadata.json"
USAGE = "memory-meta.json"
COVERAGE = "memory-consolidation.json"
CONFIG_BYTES = 64 << 20

_MARKER_BYTES = 64
_USUAL = (".xum", ".xum-dev", ".mux", ".mux-dev", ".cmux")


def resolve_home_root(env: Mapping[str, str], home_dir: Path) -> Path:
    """Return the directory that the agent uses as its home under this environment; it need not exist.

    `env`: the environment variables; `home_dir`: the user's home directory.
    """
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
    """Return the paths at which a home may be: the one in `env`, then the usual ones in `home_dir`.

    The disk is not read.
    """
    explicit = _explicit(env)
    named = (Path(explicit),) if explicit else ()
    return tuple(dict.fromkeys((*named, *(home_dir / name for name in _USUAL))))


def existing_home_roots(env: Mapping[str, str], home_dir: Path) -> tuple[Path, ...]:
    """Return the paths of existing homes: the one that the agent would use, then the other usual ones.

    `env`: the agent's environment; `home_dir`: the user's home directory.
    """
    usual = (home_dir / name for name in _USUAL)
    found = dict.fromkeys(path for path in (resolve_home_root(env, home_dir), *usual) if is_directory(path))
    return tuple(found)


def detect(root: Path) -> bool:
    """Return whether a directory is a home of this agent, judged by its contents."""
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
    # A damaged config, or one without projects, is still accepted if the rest fits no other agent.
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
    """Return the older home that the marker file in `home_dir` names; None if there is no marker file.

    `suffix`: the end of the names of the homes, such as "-dev". None also if the marker names a directory
    that is no known older home.
    """
    try:
        content = read_regular(home_dir / f".xum{suffix}.legacy-fallback", _MARKER_BYTES, follow=False)
    except OSError:
        return None
    name = js_trim(content.decode("utf-8", "replace"))
    known = (f".mux{suffix}",) if suffix else (".mux", ".cmux")
    return home_dir / name if name in known else None
