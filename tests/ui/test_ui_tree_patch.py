"""A patched tree is the tree that building would give."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.agents.base import Companion
from reverie.agents.scopes import Scope, ScopeRoot
from reverie.memory.listing import MemoryFile, ScopeListing, in_order
from reverie.memory.usage_rules import UNUSED
from reverie.services.views import UnseenKind
from reverie.ui.tree.build import build_tree, patched
from reverie.ui.tree.memory_tree import Arrangement, MemoryTree
from reverie.ui.tree.rows import RowNode
from reverie.values import replace

RELS = ("a.md", "b.md", "docs/a.md", "docs/deep/a.md", "docs/deep/b.md", "other/a.md")
ROOT = ScopeRoot(Scope.PROJECT, "project/notes", Path("/home/notes"), "project")


@dataclass(frozen=True)
class View:
    scopes: dict[Scope, ScopeListing]
    companions: tuple[Companion, ...] = ()


def a_file(rel: str, size: int) -> MemoryFile:
    usage = replace(UNUSED, pinned=size == 1)
    return MemoryFile(rel, size, size, size, f"about {size}", "ok", usage, True, "")


def a_view(sizes: dict[str, int]) -> View:
    files = tuple(in_order([a_file(rel, size) for rel, size in sizes.items()]))
    folders = sorted({rel[:at] for rel in sizes for at, sign in enumerate(rel) if sign == "/"})
    listing = ScopeListing(ROOT, "", None, files, tuple(folders), ())
    return View({Scope.PROJECT: listing})


def touched(view: View, sizes: dict[str, int]) -> View:
    """Other content in some files; the entries of the others are shared, as a scan does it."""
    listing = view.scopes[Scope.PROJECT]
    files = tuple(a_file(file.rel, sizes[file.rel]) if file.rel in sizes else file for file in listing.files)
    return View({Scope.PROJECT: replace(listing, files=files)}, view.companions)


def values(node: RowNode) -> tuple[Any, ...]:
    return (node.key, node.data, tuple(values(child) for child in node.children))


def same(one: MemoryTree, other: MemoryTree) -> bool:
    lookups = [
        {path: values(node) for path, node in mapping.items()}
        for tree in (one, other)
        for mapping in (tree.files, tree.folders)
    ]
    alike = values(one.root) == values(other.root) and lookups[:2] == lookups[2:]
    return alike and one.pinned == other.pinned


BADGES = st.dictionaries(
    st.sampled_from([f"/memories/project/{rel}" for rel in (*RELS, "gone.md")]),
    st.sampled_from(["new", "changed"]),
)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.sampled_from(RELS), st.integers(0, 3), min_size=1),
    st.lists(st.tuples(st.dictionaries(st.sampled_from(RELS), st.integers(0, 3)), BADGES), max_size=4),
)
def test_patching_gives_what_building_gives_and_keeps_what_did_not_change(
    sizes: dict[str, int], rounds: list[tuple[dict[str, int], dict[str, UnseenKind]]]
) -> None:
    view = a_view(sizes)
    tree = build_tree(view)
    for others, badges in rounds:
        view = touched(view, others)
        after = patched(view, tree, badges, Arrangement())
        assert after is not None
        assert same(after, build_tree(view, unseen=badges))
        kept = [path for path, node in after.files.items() if node.data == tree.files[path].data]
        assert all(after.files[path] is tree.files[path] for path in kept)
        for path, folder in after.folders.items():
            if values(folder) == values(tree.folders[path]):
                assert folder is tree.folders[path]
        tree = after


def test_what_moves_a_row_is_built_anew() -> None:
    view = a_view({"a.md": 1, "docs/a.md": 1})
    tree = build_tree(view)
    nothing: dict[str, UnseenKind] = {}
    assert patched(a_view({"a.md": 1}), tree, nothing, Arrangement()) is None
    assert patched(a_view({"b.md": 1, "docs/a.md": 1}), tree, nothing, Arrangement()) is None
    assert patched(view, tree, nothing, Arrangement("size")) is None
    assert patched(View({}), tree, nothing, Arrangement()) is None
    assert patched(view, build_tree(view, names_only=True), nothing, Arrangement()) is None
    unreadable = replace(view.scopes[Scope.PROJECT], problems=("A folder could not be read.",))
    assert patched(View({Scope.PROJECT: unreadable}), tree, nothing, Arrangement()) is None
