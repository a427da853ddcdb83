"""The tree in other orders, only with what changed, and through five hundred rescans."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QItemSelectionModel, QPersistentModelIndex
from ui_nodes import find
from ui_values import NOW, file, project_view
from ui_windows import ACME, Windows

from helpers.samples import copy_sample
from reverie.agents.base import Companion
from reverie.agents.scopes import Scope
from reverie.memory.listing import MemoryFile
from reverie.memory.usage_rules import MemoryUsage
from reverie.ui.icons import Icons
from reverie.ui.tree.build import build_tree
from reverie.ui.tree.memory_tree import SORT_KEYS, Arrangement, FileData, NoticeData, Show, path_of
from reverie.ui.tree.model import MemoryTreeModel
from reverie.ui.tree.rows import RowNode
from reverie.ui.tree.view import MemoryTreeView
from reverie.values import replace

P = "/memories/project"


def sized(rel: str, size: int, at: int, uses: int) -> MemoryFile:
    usage = MemoryUsage(access_count=uses, last_accessed_at=at)
    return replace(file(rel, usage=usage), size=size, mtime_ns=at)


THREE = [sized("a.md", 1, 30, 2), sized("b.md", 3, 10, 2), sized("c.md", 2, 20, 9)]


def rows(tree: RowNode, *keys: str) -> list[str]:
    found = find(tree, ("project", *keys))
    assert found is not None
    return [child.key for child in found.children]


@pytest.mark.parametrize(
    ("sort", "order"), [("name", "abc"), ("recent", "acb"), ("use", "cab"), ("size", "bca")]
)
def test_files_come_in_the_order_that_was_chosen_and_folders_by_name(sort: Any, order: str) -> None:
    view = project_view([*THREE, "y/1.md", "x/1.md"])
    tree = build_tree(view, arrangement=Arrangement(sort)).root
    assert rows(tree) == ["d:x", "d:y", *(f"f:{name}.md" for name in order)]


def test_a_tree_in_any_order_shares_what_did_not_change() -> None:
    for sort in SORT_KEYS:
        before = build_tree(project_view(THREE), arrangement=Arrangement(sort))
        again = build_tree(project_view(THREE), before, arrangement=Arrangement(sort))
        assert again.root is before.root


def test_only_what_changed_keeps_what_was_read_meanwhile_and_says_so_when_nothing_did() -> None:
    view = project_view(["a.md", "d/b.md", "d/c.md", "e/f.md"])
    tree = build_tree(view, unseen={f"{P}/d/b.md": "changed"}, arrangement=Arrangement(show="changed"))
    assert rows(tree.root) == ["d:d"]
    assert rows(tree.root, "d:d") == ["f:b.md"]
    assert len(tree.files) == 4, "what is hidden still counts as taken"
    folder = find(tree.root, ("project", "d:d"))
    assert folder is not None
    assert folder.data.notes == 2
    assert find(tree.root, ("project",)).data.notes == 1, "of a scope those that are shown"
    kept = Arrangement(show="changed", also=frozenset([f"{P}/a.md"]))
    assert rows(build_tree(view, tree, arrangement=kept).root) == ["f:a.md"]
    nothing = build_tree(view, tree, arrangement=Arrangement(show="changed")).root
    notice = find(nothing, ("project", "n:filtered"))
    assert notice is not None
    assert isinstance(notice.data, NoticeData)
    assert find(nothing, ("global", "n:filtered")) is not None, "nothing is asked to be made there"


@pytest.mark.parametrize(
    ("show", "shown"), [("all", {"here.md", "not-yet.md"}), ("loaded", {"here.md"}), ("stale", set())]
)
def test_files_beside_the_memories_are_shown_where_they_belong_to_the_question(
    show: Show, shown: set[str]
) -> None:
    beside = tuple(
        Companion(Scope.PROJECT, Path("/p") / name, name, name == "here.md")
        for name in ("here.md", "not-yet.md")
    )
    view = replace(project_view(["a.md"]), companions=beside)
    only = frozenset({"/p/here.md"} if show == "loaded" else ())
    tree = build_tree(view, arrangement=Arrangement(show=show, only=only))
    assert {key.removeprefix("c:") for key in rows(tree.root) if key.startswith("c:")} == shown


KEEP = ("m/n/one.md", "m/two.md", "three.md")
WANTED = {f"{P}/{rel}" for rel in KEEP}


class Rescans:
    """A view of a tree whose files come, go, move and change at random, all but three."""

    def __init__(self, qtbot: Any, seed: int, most: int) -> None:
        self.rng = random.Random(seed)
        self.most = most
        self.files: dict[str, MemoryFile] = {name: file(name) for name in KEEP}
        self.model = MemoryTreeModel(lambda: NOW)
        self.view = MemoryTreeView(self.model, Icons())
        qtbot.addWidget(self.view)
        self.view.resize(320, 200)
        self.view.show()
        self.tree = build_tree(project_view(self.files.values()))
        self.view.show_tree(self.tree, other=True)
        self.view.select_path(f"{P}/three.md")
        flags = QItemSelectionModel.SelectionFlag
        for rel in KEEP:
            index = self.model.index_at(f"{P}/{rel}", reveal=True)
            self.view.expand(index.parent())
            self.view.selectionModel().setCurrentIndex(index, flags.Select | flags.Rows)
        self.held = {path: QPersistentModelIndex(self.model.index_at(path)) for path in WANTED}
        self.picked: list[object] = []
        self.view.picked.connect(self.picked.append)

    def step(self, sort: Any) -> None:
        """Some go, some come, some change; those to keep change at most."""
        loose = [name for name in self.files if name not in KEEP]
        going = self.rng.randrange(4) + max(0, len(loose) - self.most)
        for name in self.rng.sample(loose, min(len(loose), going)):
            del self.files[name]
        for _new in range(self.rng.randrange(5)):
            folder = self.rng.choice(["", "k/", "m/", "m/n/", "z/"])
            self.change(f"{folder}{self.rng.randrange(400):03}.md")
        self.change(self.rng.choice(list(self.files)))
        listed = project_view(self.files.values())
        self.tree = build_tree(listed, self.tree, arrangement=Arrangement(sort))
        self.view.show_tree(self.tree, other=False)

    def change(self, name: str) -> None:
        roll = self.rng.randrange
        self.files[name] = sized(name, roll(9), roll(9), roll(3))

    def check(self) -> None:
        assert self.model.tree is self.tree.root
        assert {path_of(row) for row in self.view.selected_rows()} == WANTED
        assert path_of(self.view.current_data()) == f"{P}/three.md"
        assert {path_of(self.view.data_at(index)) for index in self.held.values()} == WANTED
        assert self.view.isExpanded(self.model.index_at(f"{P}/m"))
        assert self.view.isExpanded(self.model.index_at(f"{P}/m/n"))
        assert self.picked == [], "nothing was selected by a person"


def test_selection_and_expansion_survive_five_hundred_rescans(qtbot: Any) -> None:
    shown = Rescans(qtbot, seed=5, most=40)
    for step in range(500):
        shown.step(SORT_KEYS[step // 25 % 4])
        shown.check()


def test_the_model_keeps_qts_rules_through_random_changes_in_every_order(
    qtbot: Any, qtmodeltester: Any
) -> None:
    shown = Rescans(qtbot, seed=6, most=8)
    qtmodeltester.check(shown.model)
    for step in range(24):
        shown.step(SORT_KEYS[step // 3 % 4])
        shown.check()


def test_a_person_chooses_the_order_and_what_changed(windows: Windows, tmp_path: Path) -> None:
    home = copy_sample("mux-home", tmp_path)
    driver = windows.open(home, ACME)
    model, actions = driver.tab.model, driver.window.actions_

    def shown() -> list[FileData]:
        scope = model.index_of(("project",))
        found = [driver.tree.data_at(model.index(row, 0, scope)) for row in range(model.rowCount(scope))]
        return [data for data in found if isinstance(data, FileData)]

    by_name = [data.name for data in shown()]
    assert actions["view.sort-name"].isChecked()
    driver.do("view.sort-size")
    sizes = sorted((data.file.size for data in shown()), reverse=True)
    driver.until(lambda: [data.file.size for data in shown()] == sizes)
    assert driver.tab.order.sort_key == "size"
    assert actions["view.sort-size"].isChecked()
    assert not actions["view.sort-name"].isChecked()
    assert "size" in driver.tab.order.button.toolTip()
    driver.tab.order.sort_key = "of an older window"
    assert driver.tab.order.sort_key == "size"
    driver.tab.order.sort_key = "name"
    driver.until(lambda: [data.name for data in shown()] == by_name)

    driver.do("view.only-changed")
    driver.until(lambda: shown() == [])
    (driver.home / "memory/global/testing-old.md").write_text("the agent was here\n")
    path = "/memories/global/testing-old.md"
    driver.until(lambda: model.index_at(path).isValid())
    driver.open(path)
    driver.until(lambda: driver.pane.unseen.isVisible())
    driver.pane.unseen._close.click()
    driver.until(lambda: not driver.file(path).changed)
    driver.settle()
    assert model.index_at(path).isValid(), "what one reads does not go from under one's eyes"
    driver.do("view.only-changed")
    driver.until(lambda: [data.name for data in shown()] == by_name)
