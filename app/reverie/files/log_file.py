"""The log files of a profile: of the window and of the engine.

Threading: `logging` takes care of it. Failure: `OSError` and `UserError` where the file cannot be opened.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from reverie.files.directory import ensure_private
from reverie.files.paths import open_regular

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
