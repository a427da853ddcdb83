"""`reverie engine`: the engine of the profile in the foreground, until nobody needs it or Ctrl+C.

Where another process is the engine already it says which one and exits 1. With `--stdio` it serves one
client over standard input and output, whoever else is there.
"""

from __future__ import annotations

from reverie.cli.answers import DONE
from reverie.cli.main import Invocation
from reverie.engine.process import serve, serve_streams


def engine(session: Invocation) -> int:
    """Serve until nobody needs it."""
    if session.arguments.stdio:
        serve_streams(session.profile)
    else:
        serve(session.profile)
    return DONE
