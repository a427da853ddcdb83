"""The parts of the tour around a run: what of a preview one may leave out, the review, what would be asked
before memories went to another machine, and what a run has cost. No model is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from reverie.homes.scopes import Scope
from reverie.services.views import ConsentView
from reverie.ui.consent import ConsentDialog
from reverie.ui.jobs import JobControl
from reverie.ui.main_window import MainWindow
from reverie.ui.memory.runs_dialog import RunsDialog

Picture = Callable[[str, QWidget | None], None]
Wait = Callable[[str, Callable[[], bool]], None]

MODEL = "ollama:qwen3:8b"
"""Of a server that nobody runs."""


def show_choices(window: MainWindow, picture: Picture, wait: Wait) -> None:
    """A preview, with something left out of it that something else needs."""
    dreams = window.tab.dreams
    dreams.preview()
    wait("the preview", lambda: not dreams.jobs.running)
    dialog = _opened(window, wait)
    if dialog is None or dialog.pane.choices is None:
        return
    tree = dialog.pane.tree
    merges = [group for group in dialog.pane.choices.view.groups if len(group.files) > 1]
    for part, item in tree.parts():
        receives = part.file is not None and part.file.verb != "delete" and part.hunk is None
        if receives and part.group in merges[:1]:
            item.setCheckState(0, Qt.CheckState.Unchecked)
            break
    stays = [item for part, item in tree.parts() if part.file and part.file.path in tree.blocked]
    if stays:
        tree.setCurrentItem(stays[0])
    picture("2-choices", dialog)
    dialog.close()


def show_review(window: MainWindow, picture: Picture, wait: Wait) -> None:
    """What the run changed."""
    dialog = _opened(window, wait)
    if dialog is not None:
        picture("4-review", dialog)
        dialog.close()


def _opened(window: MainWindow, wait: Wait) -> RunsDialog | None:
    """The review of the last run, if there is one."""
    result, dreams = window.tab.footer.panel.result, window.tab.dreams
    if "review" not in result.keys:
        return None
    result.button("review").click()
    wait("the review", lambda: dreams.review_dialog is not None and dreams.review_dialog.is_read)
    return dreams.review_dialog


def show_consent(window: MainWindow, picture: Picture, wait: Wait) -> None:
    """What would be asked before memories went to another machine."""
    session = window.session
    if session is None or session.context is None:
        return
    workbench, context = session.workbench, session.context
    asked: list[ConsentView | None] = []
    models = workbench.models
    window.lanes.scan.submit(
        "ask for consent", lambda _control: models.consent_needed(context, MODEL), done=asked.append
    )
    wait("what would be sent", lambda: bool(asked))
    if asked[0] is not None:
        dialog = ConsentDialog(asked[0], MODEL, window)
        dialog.show()
        picture("11-consent", dialog)
        dialog.close()


def show_cost(window: MainWindow, picture: Picture, wait: Wait) -> None:
    """The footer after a model's run, as its record would have it."""
    session, footer = window.session, window.tab.footer
    if session is None:
        return
    store = session.workbench.parts.runs

    def note(_control: JobControl) -> None:
        newest = next(record for record in store.all() if record.kind == "dream" and not record.dry_run)
        usage = {"inputTokens": 41_200, "outputTokens": 2_900}
        details = {**newest.details, "costUsd": 0.17}
        store.save(replace(newest, engine=MODEL, usage=usage, details=details))

    noted: list[None] = []
    window.lanes.scan.submit("note a cost", note, done=noted.append)
    wait("the cost", lambda: "0.17" in footer.rows[Scope.GLOBAL].words.note)
    picture("12-cost", footer)
