"""What a dream made of one root, for the home to say what follows (`Home.followed`).

A file that is gone, and was not renamed, was merged into the one that holds most of its lines, and at least
half of them; else it is simply gone. Only what the home may need is read from front matter, and only of homes
that keep an index. Pure: texts and renames in, a `RootChange` out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from reverie.dream.retention import folded_words
from reverie.homes.agents import DreamtFile, RootChange
from reverie.memory import frontmatter

_PLAIN = re.compile(r"[^\W\d_][\w .,/()-]*")


def root_change(
    before: Mapping[str, str],
    after: Mapping[str, str],
    moved: Mapping[str, str],
    *,
    heirs_among: Collection[str],
) -> RootChange:
    """`before` and `after`: every text of the root by `rel`; `moved`: old -> new path; `heirs_among`: which
    files of `after` may have taken over another."""
    gone = [rel for rel in before if rel not in after and rel not in moved]
    came = set(moved.values())
    return RootChange(
        {rel: _read(text) for rel, text in after.items()},
        {rel: _read(before[rel]) for rel in gone},
        moved,
        _heirs({rel: before[rel] for rel in gone}, {rel: after[rel] for rel in heirs_among if rel in after}),
        tuple(rel for rel in after if rel not in before and rel not in came),
    )


def _heirs(gone: Mapping[str, str], candidates: Mapping[str, str]) -> dict[str, str]:
    if not gone:
        return {}
    lines = {rel: _lines(text) for rel, text in candidates.items()}
    heirs = {}
    for rel, text in gone.items():
        own = _lines(text)
        best = max(lines, key=lambda other: len(own & lines[other]), default="")
        if best and own and 2 * len(own & lines[best]) >= len(own):
            heirs[rel] = best
    return heirs


def _lines(text: str) -> set[str]:
    block = frontmatter.split(text)
    body = text[block.body_start :] if block is not None else text
    return {folded_words(line) for line in body.splitlines()} - {""}


def _read(text: str) -> DreamtFile:
    return DreamtFile(text, _said(text, "name"), _said(text, "description"))


def _said(text: str, key: str) -> str:
    """What front matter says of a key; the parser, a hundred times dearer, only for what is not plain."""
    block = frontmatter.split(text)
    if block is None:
        return ""
    found = re.search(rf"^{key}:[ \t]*(.*?)[ \t]*\r?$", text[block.block_start : block.block_end], re.M)
    if found is None:
        return ""
    if _PLAIN.fullmatch(found[1]) and found[1].lower() not in ("null", "true", "false"):
        return found[1]
    return (frontmatter.declared(text, key=key) or "").strip()
