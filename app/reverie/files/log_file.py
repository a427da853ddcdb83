"""The log level, and the log files of the window and of the engine.

The level comes from the environment (`REVERIE_DEBUG=1`, `REVERIE_LOG_LEVEL=debug|info`), or from a switch in
the window, because a desktop launch inherits no shell variables.

Threading: any thread. Failure: `OSError` and `UserError` if the file cannot be opened.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path

from reverie.files.directory import ensure_private, open_regular

_ROOT = "reverie"
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO}


def wanted_level(env: Mapping[str, str]) -> int | None:
    """Return the `logging` level that the environment variables `env` set; None if they set none."""
    if asked_by(env) == "REVERIE_DEBUG":
        return logging.DEBUG
    return _LEVELS.get(env.get("REVERIE_LOG_LEVEL", "").lower())


def asked_by(env: Mapping[str, str]) -> str:
    """Return the name of the environment variable in `env` that turns debug logging on; empty if none."""
    if env.get("REVERIE_DEBUG", "").lower() in ("1", "true", "yes"):
        return "REVERIE_DEBUG"
    return "REVERIE_LOG_LEVEL" if env.get("REVERIE_LOG_LEVEL", "").lower() == "debug" else ""


def set_debug(on: bool) -> None:
    """Turn debug logging on or off until the process ends; when it is off, the level is "info"."""
    logging.getLogger(_ROOT).setLevel(logging.DEBUG if on else logging.INFO)


def is_debug() -> bool:
    """Return whether debug logging is on."""
    return logging.getLogger(_ROOT).isEnabledFor(logging.DEBUG)


def level_in_words(env: Mapping[str, str]) -> str:
    """Return the current log level for display, such as "info" or "debug (REVERIE_DEBUG)".

    The name in brackets is the environment variable in `env` that turned debug logging on.
    """
    asked = asked_by(env)
    if asked:
        return f"debug ({asked})"
    return "debug" if is_debug() else env.get("REVERIE_LOG_LEVEL", "").lower() or "info"


LOG_BYTES = 1_000_000
"""The size at which a log file is rotated."""
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def log_handler(path: Path) -> logging.Handler:
    """Return a handler that writes to the file at `path` and starts a new file after `LOG_BYTES` bytes.

    The directory is created if missing, and two older files are kept. Raises `OSError` or `UserError`.
    """
    # Late, because it is slow to import and the window logs to memory at first.
    import logging.handlers

    ensure_private(path.parent)
    # Fails for a pipe, on which the handler would block until there is a reader.
    os.close(open_regular(path, os.O_WRONLY | os.O_CREAT))
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=2, encoding="utf-8")
    handler.setFormatter(logging.Formatter(LOG_FORMAT))
    return handler
