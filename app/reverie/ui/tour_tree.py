"""The part of the tour that shows what one does in the tree: several memories on their way to another folder,
a new one from a template, the order, and only what changed. Nothing is moved or made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QItemSelectionModel
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QWidget

from reverie.ui.main_window import MainWindow
from reverie.ui.memory.tree_nodes import FileData, FolderData
from reverie.ui.theme import dark_palette
from reverie.ui.translation import tr

Picture = Callable[[str, QWidget | None], None]
Wait = Callable[[str, Callable[[], bool]], None]

_NEW = "/memories/global/just-told.md"


def make_news(memories: Path) -> None:
    """Something that changed since one looked, in the global memory directory of a throw-away home."""
    (memories / "just-told.md").write_text(
        "---\ndescription: What was said today\n---\n\n- The staging host moved\n", encoding="utf-8"
    )


def show_tree(window: MainWindow, picture: Picture, wait: Wait, narrow: tuple[int, int]) -> None:
    """Walk through them."""
    tab = window.tab
    light, size = QApplication.palette(), window.size()
    wait("the news", lambda: tab.model.file_at(_NEW) is not None)
    _select_several(window)
    _dialogs(window, picture, wait, light)
    QApplication.setPalette(dark_palette())
    picture("43-selected-dark", None)
    QApplication.setPalette(light)
    menu = tab.order.button.menu()
    menu.popup(tab.order.button.mapToGlobal(tab.order.button.rect().bottomLeft()))
    picture("44-order", menu)
    menu.close()
    tab.order.only_changed = True
    wait("what changed", lambda: tab.model.file_at(_NEW) is not None)
    window.picker.hide()
    wait("the window to ask for less room", lambda: window.minimumSizeHint().width() <= narrow[0])
    window.resize(*narrow)
    picture("45-changed-narrow", None)
    tab.order.only_changed = False
    window.picker.show()
    window.resize(size)


def _select_several(window: MainWindow) -> None:
    tree, model = window.tab.tree, window.tab.model
    paths = [path for path in sorted(model.memory_tree.files) if path.startswith("/memories/project/")]
    tree.select_path(paths[0] if paths else _NEW)
    for path in paths[1:3]:
        index = model.index_at(path, reveal=True)
        tree.selectionModel().select(
            index, QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
        )


def _dialogs(window: MainWindow, picture: Picture, wait: Wait, light: QPalette) -> None:
    from reverie.homes.scopes import Scope
    from reverie.ui.memory.dialogs import PathDialog
    from reverie.ui.memory.move_dialog import MoveDialog

    tab, session = window.tab, window.session
    paths = [data.path for data in tab.selected_rows() if isinstance(data, FileData | FolderData)]
    folders = {scope: ["api", "archive"] for scope in Scope}
    move = MoveDialog(paths, folders, tab.model.is_taken, window)
    move.folder.setEditText("archive")
    move.show()
    picture("40-move", move)
    QApplication.setPalette(dark_palette())
    picture("41-move-dark", move)
    QApplication.setPalette(light)
    move.close()
    new = PathDialog(
        tr("New memory"), tr("Create"), list(Scope), "why-sqlite.md", tab.model.is_taken, window,
        describe=True,
    )  # fmt: skip
    new.scope.setCurrentIndex(1)
    new.show()
    if session is not None:
        tab.edits.read_templates(session, new.set_templates)
        wait("the templates", lambda: new.template.count() > 1)
        new.template.setCurrentIndex(1)
        picture("42-new", new)
    new.close()
