"""The parts of a Claude Code memory that a merge must preserve.

Pure; any thread.
"""

from __future__ import annotations

import re

from reverie.agents.capabilities import ComparableText

_BLOCK = re.compile(r"(\ufeff?---\r?\n)(.*?\r?\n)(---(?:\r?\n|\Z))", re.DOTALL)
_KEY = re.compile(r"(?P<indent>[ \t]*)(?P<key>[A-Za-z_][\w-]*):(?P<value>[^\n]*)")
_COMMENT = re.compile(r"\s#.*")
_OF_THE_FILE = frozenset({"name", "metadata", "node_type", "type", "originSessionId", "modified"})
_KINDS = frozenset({"user", "feedback", "project", "reference"})


def comparable_text(text: str) -> ComparableText:
    """Return the parts of a memory that a merge must preserve: the text without file metadata.

    The metadata is described in formats/claude-code.md section 4.

    Every memory has its own name and original session, so these do not make two memories different, and a
    merge may drop them. `kind` is one of the agent's four kinds, or empty; memories of different kinds are
    never merged.
    """
    block = _BLOCK.match(text)
    if block is None:
        return ComparableText(text)
    kept, kind, top = [], "", ""
    for line in block[2].splitlines(keepends=True):
        key = _KEY.match(line)
        if key is not None and not key["indent"]:
            top = key["key"]
        if key is not None and key["key"] == "type" and top in ("type", "metadata"):
            said = _COMMENT.sub("", key["value"]).strip().strip("\"'")
            kind = said if said in _KINDS else kind
        dropping = top in _OF_THE_FILE
        if not dropping:
            kept.append(line)
    head = block[1] + "".join(kept) + block[3] if "".join(kept).strip() else ""
    return ComparableText(head + text[block.end() :], kind)
