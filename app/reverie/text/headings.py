"""The first heading of a Markdown text, as one line. Pure."""

from __future__ import annotations

import re

_HEADING = re.compile(r"^# +(.+?)[ #]*$", re.MULTILINE)
_TASK = re.compile(r"^## +Task \d+: *(.+?)[ #]*$", re.MULTILINE)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")


def first_heading(beginning: bytes) -> str:
    """The first heading of the top level in the beginning of a file, else its first task; empty for none."""
    text = beginning.decode("utf-8", "replace").replace("\r\n", "\n")
    found = _HEADING.search(text) or _TASK.search(text)
    return _CONTROLS.sub(" ", found[1]).strip() if found else ""
