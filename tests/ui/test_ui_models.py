"""Models in the window: the button says which one it uses, nothing leaves before somebody agreed, and what
it cost is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ui_windows import Driver, Windows

from helpers.model_server import Call, ModelServer, Reply
from helpers.samples import snapshot
from reverie.agents.scopes import Scope
from reverie.ui.dialogs import ConsentDialog, ModelDialog
from reverie.ui.settings.fields import ModelBox

MODEL = "test:test-model"
KEY = "tk-0123456789-abcdefghij-KEY"
NOTE = "/memories/global/testing.md"


def insert(text: str) -> Reply:
    call = Call("memory", {"command": "insert", "path": NOTE, "insert_line": 0, "insert_text": text})
    return Reply(calls=(call,))


@pytest.fixture
def server(windows: Windows, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TEST_KEY", KEY)
    with ModelServer([insert("A line by the model.\n"), Reply(text="One line was added.")]) as made:
        windows.settings(f'{made.settings_toml("test", "openai")}\n[dream]\nengine = "{MODEL}"\n')
        yield made


class Asked:
    """Stands in for the dialogs: notes what was asked, answers as told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, agrees: bool = True, model: str = "") -> None:
        self.consents: list[tuple[Any, str]] = []
        self.models: list[list[str]] = []

        def consent(_parent: Any, view: Any, engine: str) -> bool:
            self.consents.append((view, engine))
            return agrees

        def name(_parent: Any, known: Any) -> str | None:
            self.models.append(list(known))
            return model or None

        monkeypatch.setattr(ConsentDialog, "ask", consent)
        monkeypatch.setattr(ModelDialog, "ask", name)


def far_away(driver: Driver) -> None:
    """As if the server were on another machine."""
    driver.served.models._destination = lambda engine: "" if engine == "rules" else "https://model.example"


def test_the_button_says_which_model_it_uses_and_uses_it(
    windows: Windows, home: Path, server: ModelServer
) -> None:
    driver = windows.open(home)
    assert MODEL in driver.footer.engine.text()
    assert MODEL in driver.footer.button.accessibleName()
    assert driver.consolidate() == "completed"
    assert (home / "memory/global/testing.md").read_text().startswith("A line by the model.")
    driver.until(lambda: "tokens" in driver.row(Scope.WORKSPACE).tooltip)
    assert "tokens" in driver.footer.panel.result.text
    assert "cost unknown" in driver.row(Scope.GLOBAL).tooltip


def test_run_with_rules_asks_no_model(windows: Windows, home: Path, server: ModelServer) -> None:
    driver = windows.open(home)
    driver.do("dream.rules")
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    assert driver.tab.dreams.last_outcome == "completed"
    assert server.requests == []


def test_nothing_is_sent_before_somebody_agreed_and_who_agreed_once_is_not_asked_again(
    windows: Windows, home: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(monkeypatch, agrees=False)
    driver = windows.open(home)
    far_away(driver)
    before = snapshot(home)
    driver.footer.button.click()
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    assert [(view.destination, engine) for view, engine in asked.consents] == [
        ("https://model.example", MODEL)
    ]
    assert NOTE in asked.consents[0][0].files
    assert server.requests == []
    assert snapshot(home) == before
    assert "Nothing was sent" in driver.footer.panel.result.text
    assert driver.footer.button.isEnabled()
    asked = Asked(monkeypatch)
    assert driver.consolidate() == "completed"
    assert len(asked.consents) == 1
    driver.do("dream.preview")
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    assert len(asked.consents) == 1


def test_a_model_named_in_the_menu_is_used_and_offered_again(
    windows: Windows, home: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(monkeypatch, model="test:another")
    driver = windows.open(home)
    driver.do("dream.model")
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    assert asked.models == [[MODEL]]
    assert server.requests[0].body["model"] == "another"
    driver.settle()
    asked_again = Asked(monkeypatch)
    driver.do("dream.model")
    assert asked_again.models == [["test:another", MODEL]]
    assert not driver.tab.dreams.jobs.running, "no answer, no run"


def test_the_dialog_for_a_model_takes_model_strings_only_and_enter_runs(qtbot: Any) -> None:
    dialog = ModelDialog(["ollama:qwen3:8b"])
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.run.isDefault()
    dialog.name.setEditText("qwen3")
    assert not dialog.run.isEnabled()
    dialog.name.setEditText(" openai:gpt-5 ")
    with qtbot.waitSignal(dialog.accepted):
        dialog.run.click()
    assert dialog.model == "openai:gpt-5"


def test_cancelling_a_silent_model_gives_the_button_back_and_one_that_fails_says_what_to_do(
    windows: Windows, home: Path, server: ModelServer
) -> None:
    server.answer = lambda _request: Reply(fault="hang")
    driver = windows.open(home)
    driver.footer.button.click()
    driver.until(lambda: len(server.requests) == 1)
    driver.do("dream.cancel")
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    assert driver.tab.dreams.last_outcome == "cancelled"
    assert driver.footer.button.isEnabled()
    server.wait_for_hang_up()
    server.answer = lambda _request: Reply(status=401)
    driver.settle()
    assert driver.consolidate() == "failed"
    assert "key" in driver.footer.panel.result.text.casefold()
    assert KEY not in driver.footer.panel.result.text


def test_a_run_that_would_lose_much_is_held_and_goes_on_only_where_a_person_agrees(
    windows: Windows, home: Path, server: ModelServer
) -> None:
    doomed = [
        f"/memories/global/{name}.md" for name in ("testing", "testing-old", "preferences", "commit-style")
    ]
    calls = tuple(Call("memory", {"command": "delete", "path": path}) for path in doomed)
    replies = [Reply(calls=calls), Reply(text="Tidied up.")] * 2  # it tries once more
    server.answer = lambda _request: replies.pop(0)
    before = snapshot(home / "memory")
    driver = windows.open(home)
    assert driver.consolidate() == "held"
    assert snapshot(home / "memory") == before
    driver.settle()
    pane = driver.review()
    part, item = next(
        (part, item) for part, item in pane.tree.parts() if part.file and part.file.path in pane.tree.blocked
    )
    pane.tree.setCurrentItem(item)
    pane.detail.agree.click()
    kept = set(pane.tree.blocked)  # as it is when a person applies; the view is read again afterwards
    assert part.file.path not in kept
    pane.apply_button.click()
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    assert driver.tab.dreams.last_outcome == "completed"
    gone = home / "memory" / part.file.path.removeprefix("/memories/")
    assert not gone.exists()
    assert kept
    assert all((home / "memory" / path.removeprefix("/memories/")).exists() for path in kept)


def test_the_settings_test_a_model_and_name_the_engine(
    windows: Windows, home: Path, server: ModelServer
) -> None:
    driver = windows.open(home)
    driver.do("settings.open")
    control = driver.window.dialogs.settings
    driver.until(lambda: not control.busy)
    dialog = control.dialog
    assert dialog is not None
    form, engine = dialog.models, dialog.fields["dream.engine"].widget
    assert isinstance(engine, ModelBox)
    assert engine.value == MODEL
    assert {"test", "openai", "ollama"} <= {form.service.itemText(row) for row in range(form.service.count())}
    service, _, model = MODEL.partition(":")
    form.service.setEditText(service)
    form.model.showPopup()
    driver.until(lambda: not control.busy)
    assert form.model.count() == len(server.models)
    form.model.hidePopup()
    form.model.setEditText(model)
    form.test_button.click()
    driver.until(lambda: not control.busy)
    assert len(form.results.texts) == 5
    engine.setEditText("No model")
    dialog.close_button.click()
    driver.until(lambda: control.dialog is None and not control.busy)
    driver.until(lambda: "without a model" in driver.footer.engine.text())
    assert 'engine = "rules"' in windows.profile.settings_file.read_text()
