"""Names of mux's files and directories (formats/mux.md sections 3, 8 and 14).

Two are made from a project path and must not be confused: `project_dir_name` is the directory of the
project's memories, `project_id` the file of the older one-file store. Needed before the first paint, so it
imports little.

Pure; any thread.
"""

from __future__ import annotations

import functools
import hashlib
import ntpath
import os
import posixpath
import re

from reverie.text.summaries import JS_SPACE

SCRATCH_BUCKET = "_scratch"
MULTI_PROJECT_BUCKET = "_multi"

_WINDOWS = os.name == "nt"
_BASE_CHARS = 40
_ID_CHARS = 32
_NAME_BYTES = 255
_SEPARATOR = re.compile(r"[/\\\0]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def js_trim(text: str) -> str:
    """Return a text without white space at both ends, as JavaScript's `String.prototype.trim` removes it."""
    return text.strip(JS_SPACE)


def strip_trailing_separators(path: str) -> str:
    """Return a project path in the form that the agent uses as a key: without trailing `/` and `\\`."""
    return path.rstrip("/\\")


def base_name(path: str, *, windows: bool = _WINDOWS) -> str:
    """Return the text after the last `/` (with `windows` also `\\`) of `path`; it may be empty."""
    cut = path.rfind("/")
    if windows:
        cut = max(cut, path.rfind("\\"))
    return path[cut + 1 :]


@functools.lru_cache(4096)
def project_dir_name(project_path: str, *, windows: bool = _WINDOWS) -> str:
    """Return `<base>-<hash12>`, the name of the directory with the memories of a project.

    See formats/mux.md section 3. The path is hashed exactly as config.json has it: no realpath, no case
    folding. `windows`: also split the path at `\\`. Not to be confused with `project_id`.
    """
    base = base_name(project_path, windows=windows) or "unknown"
    mapped = "".join(
        char if char.isascii() and (char.isalnum() or char in "._-") else "_" * _utf16_units(char)
        for char in base[:_BASE_CHARS]
    )
    return f"{mapped[:_BASE_CHARS]}-{hashlib.sha256(_node_utf8(project_path)).hexdigest()[:12]}"


def project_id(project_path: str, *, windows: bool = _WINDOWS) -> str:
    """Return `<base>-<hash8>`, the name (without `.md`) of a project's file in the older one-file store.

    `windows`: whether the path is normalised by the rules of Windows.
    """
    normal = _normalised(project_path, windows=windows)
    base = (js_trim(base_name(normal, windows=windows)) or "project").lower()
    base = re.sub("-+", "-", re.sub("[^a-z0-9_-]+", "-", base)).strip("-_")[:_ID_CHARS] or "project"
    return f"{base}-{hashlib.sha1(_node_utf8(normal), usedforsecurity=False).hexdigest()[:8]}"


def is_plain_component(name: str) -> bool:
    """Return whether `name` is a valid name of one directory or file on this system, without path parts."""
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
