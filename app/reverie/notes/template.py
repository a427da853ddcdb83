"""What new session notes begin with: ten sections, each with a line that says what belongs there. The names
of the sections are the agent's; the words of the lines are ours. A person's own template takes its place.

Failure: a template that cannot be read or holds nothing counts as none.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from reverie.agent.prompting import prompt_words
from reverie.errors import MendableError
from reverie.files.rooted import RootedDirectory

_OWN_BYTES = 256 << 10


def default_template() -> str:
    """It begins with a line break, as the agent's does."""
    return "\n" + prompt_words("notes-template").strip() + "\n"


def own_text(path: Path) -> str | None:
    """A person's own template or prompt; None where there is none that can be used."""
    with contextlib.suppress(MendableError, UnicodeDecodeError):
        files = RootedDirectory(path.parent)
        if files.entry(path.name) is not None:
            text = files.read(path.name, limit=_OWN_BYTES).decode("utf-8")
            return text if text.strip() else None
    return None


def current_template(own: Path) -> str:
    """What new notes begin with: the text in `own`, else the default."""
    return own_text(own) or default_template()
