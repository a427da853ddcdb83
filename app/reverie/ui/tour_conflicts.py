"""The part of the tour in which somebody else writes into the file that is being edited: what was merged, and
the choice at a conflict; light, dark and narrow. In the end their lines are taken, so that nothing is left
unsaved."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication, QWidget

from reverie.ui.jobs import JobControl
from reverie.ui.main_window import MainWindow
from reverie.ui.memory.documents import OpenFile
from reverie.ui.theme import dark_palette

Picture = Callable[[str, QWidget | None], None]
Wait = Callable[[str, Callable[[], bool]], None]


def show_conflicts(window: MainWindow, picture: Picture, wait: Wait, narrow: tuple[int, int]) -> None:
    """One change of theirs that is merged and one that meets the typing."""
    file = window.tab.pane.file
    session = window.session
    if file is None or session is None or file.read_only:
        return
    lines = [number for number, line in enumerate(file.text.split("\n")) if line.strip()]
    if len(lines) < 4:
        return
    place, other = lines[-3], lines[0] if len(lines) < 6 else lines[1]
    _type(window, file, place)
    _write(window, file, place, other)
    wait("the conflict", lambda: bool(file.conflicts))
    picture("37-conflict", None)
    light, size = QApplication.palette(), window.size()
    QApplication.setPalette(dark_palette())
    picture("38-conflict-dark", None)
    QApplication.setPalette(light)
    window.picker.hide()
    wait("the window to ask for less room", lambda: window.minimumSizeHint().width() <= narrow[0])
    window.resize(*narrow)
    window.tab.co_editing.next_conflict()
    picture("39-conflict-narrow", None)
    window.picker.show()
    window.resize(size)
    window.tab.buffers.take_theirs(file)


def _type(window: MainWindow, file: OpenFile, line: int) -> None:
    cursor = QTextCursor(file.document.findBlockByNumber(line))
    cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock)
    window.tab.pane.text.setTextCursor(cursor)
    window.tab.pane.text.insertPlainText(" Typed here.")


def _write(window: MainWindow, file: OpenFile, place: int, other: int) -> None:
    """Their version, through the store as another process of ours would write it."""
    session, base = window.session, file.buffer.base
    if session is None or base is None:
        return
    workbench, address = session.workbench, file.buffer.address
    lines = base.content.split("\n")
    lines[place] += " Written by somebody else."
    lines[other] += " This too."

    def work(_control: JobControl) -> None:
        workbench.save(address.context, address.path, "\n".join(lines), base.sha256)

    session.lanes.scan.submit("write as another process would", work, done=_nothing)


def _nothing(_value: object) -> None:
    """What was written comes by the watcher."""
