"""Finding a node in an immutable tree of rows."""

from __future__ import annotations

from collections.abc import Sequence

from reverie.ui.tree.rows import RowNode


def find(root: RowNode, keys: Sequence[str]) -> RowNode | None:
    """The node reached by a path of keys, or None."""
    node = root
    for key in keys:
        child = next((child for child in node.children if child.key == key), None)
        if child is None:
            return None
        node = child
    return node
