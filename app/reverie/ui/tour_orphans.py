"""The part of the tour that shows orphaned stores: the page, both schemes, narrow, and a merge to look
through. A session that the home does not list is made in the copy first; nothing is merged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QApplication, QWidget

from reverie.homes.scopes import Scope
from reverie.ui.jobs import JobControl
from reverie.ui.main_window import MainWindow
from reverie.ui.session import HomeSession
from reverie.ui.theme import dark_palette

Picture = Callable[[str, QWidget | None], None]
Wait = Callable[[str, Callable[[], bool]], None]

_SESSION = "0d15ea5e42"
_LAST = "next-steps.md"


def show_orphans(window: MainWindow, picture: Picture, wait: Wait, narrow: tuple[int, int]) -> None:
    """Walk through the page and back; a home without a project store shows what it has."""
    session, control = window.session, window.tab.orphans
    if session is None:
        return
    made: list[None] = []
    window.lanes.scan.submit("leave a session", _leaving(session), done=made.append)
    wait("a session out of the list", lambda: bool(made))
    wait("its row among the homes", lambda: window.picker.pick_orphans(session.info.id))
    wait("the page", lambda: control.page is not None and control.page.current is not None)
    page = control.page
    assert page is not None
    wait("the session's store", lambda: _picked(window))
    wait("a note of it", lambda: bool(page.text.toPlainText()))
    picture("33-orphans", None)
    light = QApplication.palette()
    QApplication.setPalette(dark_palette())
    picture("34-orphans-dark", None)
    QApplication.setPalette(light)
    if page.target_path is not None:
        page.merge.click()
        wait("the preview", lambda: control.dialog is not None)
        wait("a difference", lambda: control.dialog is None or bool(control.dialog.diff.toPlainText()))
        picture("35-orphans-merge", control.dialog)
        if control.dialog is not None:
            control.dialog.close()
    size = window.size()
    window.picker.hide()
    wait("the window to ask for less room", lambda: window.minimumSizeHint().width() <= narrow[0])
    window.resize(*narrow)
    picture("36-orphans-narrow", None)
    window.picker.show()
    window.resize(size)
    window.picker.pick(session.info.id)


def _picked(window: MainWindow) -> bool:
    """Select the store of the session; whether all of it is there."""
    page = window.tab.orphans.page
    if page is None:
        return False
    own = next((view for view in page.view.stores if _SESSION in view.id), None)
    if own is not None:
        page.select(own.id)
    return own is not None and any(file.rel == _LAST for file in own.files)


def _leaving(session: HomeSession) -> Callable[[JobControl], None]:
    """A job that puts what a workspace would have left into the copy: some of it as the project has it."""
    home = session.workbench.parts.home

    def work(_control: JobControl) -> None:
        project = next(each for each in home.contents().projects if not each.path.startswith("_"))
        root = home.scope_root(home.context(project_path=project.path, project_given=True), Scope.PROJECT)
        directory: Path = home.root / "sessions" / _SESSION / "memory"
        directory.mkdir(parents=True)
        facts = {"id": _SESSION, "projectPath": project.path}
        (directory.parent / "metadata.json").write_text(json.dumps(facts), encoding="utf-8")
        notes = sorted(path for path in root.directory.glob("*.md") if path.stat().st_size < 20_000)
        for number, note in enumerate(notes[:3]):
            data = note.read_text(encoding="utf-8", errors="replace")
            more = "" if number else "\nSeen in this workspace: the rollout waits for the health check.\n"
            (directory / note.name).write_text(data + more, encoding="utf-8")
        (directory / _LAST).write_text("# Next steps\n\n- Ask for a review\n", encoding="utf-8")

    return work
