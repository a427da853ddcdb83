"""Log lines on stderr, where the environment asks for them: `REVERIE_DEBUG=1`, or `REVERIE_LOG_LEVEL=debug`
(or `info`). A command says nothing else of what it does in between."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def debug_log(env: Mapping[str, str] | None = None) -> Iterator[None]:
    """Reverie's own log on stderr within the block, if wanted. Other libraries stay silent: they may log
    what they send."""
    env = os.environ if env is None else env
    if not any(name in env for name in ("REVERIE_DEBUG", "REVERIE_LOG_LEVEL")):
        yield  # without the time that it takes to import logging
        return
    import logging

    from reverie.log_level import wanted_level

    level = wanted_level(env)
    if level is None:
        yield
        return
    logger, handler = logging.getLogger("reverie"), logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
