"""The log: how much is logged, and the log files of a profile, of the window and of the engine.

Threading: `logging` takes care of it. Failure: `OSError` and `UserError` where the file cannot be opened.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path

from reverie.files.directory import ensure_private, open_regular

# How much is logged: what the environment asks for (`REVERIE_DEBUG=1`, `REVERIE_LOG_LEVEL=debug|info`), or
# what a person switched on in the window, because a desktop launch inherits no shell variables.
#
# Any thread.


_ROOT = "reverie"
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO}


def wanted_level(env: Mapping[str, str]) -> int | None:
    """The level of `logging` that the environment asks for, None for none."""
    if asked_by(env) == "REVERIE_DEBUG":
        return logging.DEBUG
    return _LEVELS.get(env.get("REVERIE_LOG_LEVEL", "").lower())


def asked_by(env: Mapping[str, str]) -> str:
    """The variable that asks for every gate and outcome in the log; empty for none."""
    if env.get("REVERIE_DEBUG", "").lower() in ("1", "true", "yes"):
        return "REVERIE_DEBUG"
    return "REVERIE_LOG_LEVEL" if env.get("REVERIE_LOG_LEVEL", "").lower() == "debug" else ""


def set_debug(on: bool) -> None:
    """Return whether gates and outcomes go to the log, until the process ends."""
    logging.getLogger(_ROOT).setLevel(logging.DEBUG if on else logging.INFO)


def is_debug() -> bool:
    """Return whether gates and outcomes go to the log now."""
    return logging.getLogger(_ROOT).isEnabledFor(logging.DEBUG)


def level_in_words(env: Mapping[str, str]) -> str:
    """`debug` where gates and outcomes reach the log, and where that was asked for."""
    asked = asked_by(env)
    if asked:
        return f"debug ({asked})"
    return "debug" if is_debug() else env.get("REVERIE_LOG_LEVEL", "").lower() or "info"


LOG_BYTES = 1_000_000
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def log_handler(path: Path) -> logging.Handler:
    """Writes into the file at `path`, and begins another one where it becomes long."""
    # Slow to import, and a window logs into memory first.
    import logging.handlers

    ensure_private(path.parent)
    # The handler would wait for whoever reads a pipe in its place.
    os.close(open_regular(path, os.O_WRONLY | os.O_CREAT))
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=2, encoding="utf-8")
    handler.setFormatter(logging.Formatter(LOG_FORMAT))
    return handler
