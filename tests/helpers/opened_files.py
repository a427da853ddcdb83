"""Records which files this process opens, using the interpreter's audit events."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_found: list[str] | None = None
_hooked = False


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """The names under which files are opened meanwhile, by any thread."""
    global _found, _hooked
    if not _hooked:
        sys.addaudithook(_hook)  # for ever: a hook cannot be taken away
        _hooked = True
    _found = found = []
    try:
        yield found
    finally:
        _found = None


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _found is not None and event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        _found.append(os.fsdecode(arguments[0]))
