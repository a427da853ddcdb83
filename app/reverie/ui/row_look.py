"""What a painter needs to know of a row of a tree. A value, without Qt, so that a model can say it without
what draws it."""

from __future__ import annotations

from typing import NamedTuple


class RowLook(NamedTuple):
    """Everything a painter needs of a row, in one call across the language border. Texts are safe to draw.

    `lock` is the sign of what is not for editing. `use` is right-aligned; with `has_use` its room is kept on
    every row, so that the marks stand in one column. `pin_unknown`: the running agent has not read that it
    is pinned, or that it is not any more. `cut_end`: the name is a sentence, which loses its end where there
    is no room; others lose their middle.
    """

    name: str
    detail: str = ""
    icon: str = ""
    use: str = ""
    has_use: bool = False
    bold: bool = False
    italic: bool = False
    quiet: bool = False
    pinned: bool = False
    pin_unknown: bool = False
    badge: bool = False
    warning: bool = False
    modified: bool = False
    flag: bool = False
    lock: str = ""
    cut_end: bool = False
