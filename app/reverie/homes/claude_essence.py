"""What a memory of Claude Code says, without what its front matter says of the file itself
(formats/claude-code.md section 4): what must be kept where two become one.

Every memory has a name of its own, and a session it comes from; so these neither tell two memories apart nor
are lost with one of them. The kind is compared, and stays that of the memory that stays, in the shape it has
there. Pure, line by line, as nothing is written back: front matter of any other form is left as it is.
"""

from __future__ import annotations

import re

from reverie.homes.agents import Essence

_BLOCK = re.compile(r"(\ufeff?---\r?\n)(.*?\r?\n)(---(?:\r?\n|\Z))", re.DOTALL)
_KEY = re.compile(r"(?P<indent>[ \t]*)(?P<key>[A-Za-z_][\w-]*):(?P<value>[^\n]*)")
_COMMENT = re.compile(r"\s#.*")
_OF_THE_FILE = frozenset({"name", "metadata", "node_type", "type", "originSessionId", "modified"})
_KINDS = frozenset({"user", "feedback", "project", "reference"})


def essence(text: str) -> Essence:
    """The text without the lines about the file; `kind` is one of the agent's four, or empty."""
    block = _BLOCK.match(text)
    if block is None:
        return Essence(text)
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
    return Essence(head + text[block.end() :], kind)
