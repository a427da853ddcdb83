"""The settings: what is edited counts at once and can be undone, what was not touched stays, and no key stays
in the form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QComboBox,
    QDialogButtonBox,
    QDoubleSpinBox,
    QLabel,
    QLineEdit,
    QMessageBox,
    QSpinBox,
    QWidget,
)
from ui_desk import Desk

from reverie.errors import UserError
from reverie.settings import (
    BackgroundSettings,
    BackgroundTable,
    ProviderSettings,
    ProvidersSettings,
    Settings,
)
from reverie.ui.dialogs import ask_unsaved
from reverie.ui.icons import Icons
from reverie.ui.settings import dialog as settings_dialog
from reverie.ui.settings import pages as tables
from reverie.ui.settings.control import SettingsControl
from reverie.ui.settings.dialog import SettingsDialog
from reverie.ui.settings.draft import SettingsDraft, as_toml, draft_of, is_base_url, schema, with_draft
from reverie.ui.settings.fields import ModelBox
from reverie.ui.widgets.controls import WrapLabel

HOME = "h1"


@pytest.fixture
def desk() -> Desk:
    return Desk()


class Opened:
    """A settings dialog on a desk."""

    def __init__(self, qtbot: Any, desk: Desk) -> None:
        self.qtbot = qtbot
        self.window = QWidget()
        qtbot.addWidget(self.window)
        self.control = SettingsControl(Icons(), self.window)
        self.control.open(desk, HOME, "xum")
        self.wait()

    @property
    def dialog(self) -> SettingsDialog:
        assert self.control.dialog is not None
        return self.control.dialog

    def wait(self) -> None:
        self.qtbot.waitUntil(lambda: not self.control.busy)

    def settle(self) -> None:
        """What was edited is saved."""
        self.dialog.commit()
        self.wait()

    def widget(self, key: str) -> Any:
        """The control of a setting."""
        return self.dialog.fields[key].widget

    def model(self, key: str, name: str) -> None:
        """Type a model."""
        self.widget(key).setEditText(name)

    def service(self, name: str) -> None:
        """Choose a service of the form, or type another name."""
        self.dialog.models.service.setEditText(name)

    def escape(self) -> None:
        self.qtbot.keyClick(self.control.dialog, Qt.Key.Key_Escape)
        self.wait()


@pytest.fixture
def opened(qtbot: Any, desk: Desk) -> Iterator[Opened]:
    made = Opened(qtbot, desk)
    yield made
    made.control.stop()


def test_a_draft_and_back_changes_nothing() -> None:
    settings = Settings(
        providers=ProvidersSettings({"work": ProviderSettings(base_url="http://x", headers={"a": "b"})}),
        background=BackgroundTable({"other": BackgroundSettings(enabled=True)}),
    )
    draft = draft_of(settings, HOME)
    assert with_draft(settings, draft, HOME) == settings
    changes = SettingsDraft({"dream.time_limit_s": 7}, {"work": None, "new": {"base_url": "http://y"}})
    after = with_draft(settings, changes, HOME)
    assert (after.dream.time_limit_s, set(after.providers.root)) == (7, {"new"})
    assert with_draft(after, draft.before(changes), HOME) == settings


def test_only_what_was_edited_is_another_in_the_settings() -> None:
    settings = Settings(providers=ProvidersSettings({"openai": ProviderSettings(headers={"a": "b"})}))
    draft = SettingsDraft(
        {
            "dream.engine": "openai:gpt-5",
            "dream.time_limit_s": 60,
            "dream.max_loss_percent": 5,
            "background.*.enabled": True,
            "background.*.runs_per_day": 3,
        },
        {"openai": {"base_url": "https://proxy.test/v1"}},
    )
    after = with_draft(settings, draft, HOME)
    assert (after.dream.engine, after.dream.time_limit_s, after.dream.max_loss_percent) == (
        "openai:gpt-5",
        60,
        5,
    )
    assert after.providers.root["openai"].headers == {"a": "b"}
    assert after.providers.root["openai"].base_url == "https://proxy.test/v1"
    assert after.background.of(HOME).runs_per_day == 3
    assert not after.background.of("another").enabled


def test_what_cannot_be_a_setting_is_refused_with_its_name() -> None:
    with pytest.raises(UserError, match=r"dream\.engine"):
        with_draft(Settings(), SettingsDraft({"dream.engine": "no model"}), HOME)


@pytest.mark.parametrize(
    ("text", "fine"),
    [("", True), ("http://127.0.0.1:1/v1", True), ("https://a.test", True), ("ftp://a.test", False),
     ("a.test", False), ("https://", False), ("https://a b", False), ("http://[", False)],
)  # fmt: skip
def test_an_address_is_an_http_url_or_empty(text: str, fine: bool) -> None:
    assert is_base_url(text) == fine


def test_the_dialog_shows_what_is_kept(qtbot: Any) -> None:
    settings = Settings.model_validate({"dream": {"engine": "ollama:qwen3:8b", "max_loss_percent": 7}})
    found = Opened(qtbot, Desk(kept=settings))
    assert found.widget("dream.engine").value == "ollama:qwen3:8b"
    assert found.widget("dream.max_loss_percent").value() == 7
    assert found.dialog.models.service.count() == 3
    assert not found.dialog.undo.isEnabled()
    assert found.dialog.changes == SettingsDraft({})
    found.control.stop()


def test_what_is_edited_counts_a_moment_later_and_is_told(qtbot: Any, opened: Opened, desk: Desk) -> None:
    opened.model("dream.engine", "ollama:qwen3:8b")
    with qtbot.waitSignal(opened.control.changed):
        opened.widget("background.*.enabled").click()
    opened.wait()
    assert desk.kept.dream.engine == "ollama:qwen3:8b"
    assert desk.kept.background.of(HOME).enabled
    assert "ollama:qwen3:8b" in opened.dialog.used.text()
    assert not opened.dialog.findChildren(QDialogButtonBox), "nothing to confirm"


def test_the_last_change_can_be_undone_and_done_again(opened: Opened, desk: Desk) -> None:
    opened.widget("dream.time_limit_s").setValue(60)
    opened.settle()
    opened.widget("dream.max_loss_percent").setValue(3)
    opened.settle()
    opened.widget("dream.max_loss_percent").setValue(33)
    opened.settle()
    assert "Ask me before" in opened.dialog.status.text()
    opened.dialog.undo.click()
    opened.wait()
    # Two steps of one field are one change; the one before stays.
    assert (desk.kept.dream.max_loss_percent, desk.kept.dream.time_limit_s) == (20, 60)
    assert opened.widget("dream.max_loss_percent").value() == 20
    opened.dialog.undo.click()
    opened.wait()
    assert desk.kept.dream.max_loss_percent == 33


def test_a_theme_is_shown_at_once(qtbot: Any, opened: Opened, desk: Desk) -> None:
    theme = opened.widget("window.theme")
    with qtbot.waitSignal(opened.control.window_style_changed) as told:
        theme.setCurrentIndex(theme.findData("dark"))
    assert told.args[0].theme == "dark"
    assert desk.kept.window.theme == "dark"


def test_the_memory_writer_is_kept_as_it_was_edited(opened: Opened, desk: Desk) -> None:
    assert not opened.widget("system1.interval").isEnabled()
    assert opened.widget("system1.model").isEnabled(), "a run by hand uses it"
    opened.widget("system1.enabled").setChecked(True)
    opened.widget("system1.interval").setValue(7)
    for key, value in (("system1.target", "project-memory"), ("system1.traces", "always")):
        opened.widget(key).setCurrentIndex(opened.widget(key).findData(value))
    opened.model("system1.model", "ollama:qwen3:8b")
    opened.widget("system1.keep_bytes").setValue(5)
    opened.settle()
    kept = desk.kept.system1
    assert (kept.enabled, kept.interval, kept.target, kept.model, kept.traces, kept.keep_bytes) == (
        True,
        7,
        "project-memory",
        "ollama:qwen3:8b",
        "always",
        5_000_000,
    )


def test_figures_that_a_field_cannot_show_exactly_stay_as_they_are(qtbot: Any) -> None:
    writer = {"enabled": True, "interval": 50, "keep_bytes": 1_234_567, "time_limit_s": 2.5}
    kept = {"system1": writer, "watch": {"reconcile_minutes": 0.125}}
    desk = Desk(kept=Settings.model_validate(kept))
    found = Opened(qtbot, desk)
    assert found.widget("system1.interval").value() == 50
    assert found.widget("system1.time_limit_s").text() == "2.5 s"
    found.widget("dream.max_loss_percent").setValue(7)
    found.settle()
    assert (desk.kept.system1.keep_bytes, desk.kept.system1.time_limit_s) == (1_234_567, 2.5)
    assert (desk.kept.watch.reconcile_minutes, desk.kept.dream.max_loss_percent) == (0.125, 7)
    found.control.stop()


def test_session_notes_are_kept_as_they_were_edited(opened: Opened, desk: Desk) -> None:
    assert not opened.widget("notes.growth_tokens").isEnabled()
    assert opened.widget("notes.model").isEnabled(), "an update by hand uses it"
    opened.widget("notes.enabled").setChecked(True)
    opened.widget("notes.growth_tokens").setValue(7_000)
    opened.model("notes.model", "gpt")
    opened.settle()
    assert "service:model" in opened.dialog.status.text()
    assert (desk.kept.notes.growth_tokens, desk.kept.notes.model) == (7_000, "")
    opened.model("notes.model", "No model")
    opened.settle()
    assert (desk.kept.notes.enabled, desk.kept.notes.model) == (True, "rules")


@pytest.mark.parametrize("key", ["dream.engine", "system1.model", "notes.model", "extract.model"])
@pytest.mark.parametrize(("name", "fine"), [("openai:gpt-5", True), ("gpt", False), ("openai: gpt", False)])
def test_a_model_is_words_or_a_service_and_a_model(opened: Opened, key: str, name: str, fine: bool) -> None:
    opened.model(key, name)
    assert (opened.dialog.problem == "") == fine
    assert (key in opened.dialog.changes.values) == fine
    for value, words in tables.choices(key):
        opened.model(key, words)
        assert opened.widget(key).value == value
        assert not opened.dialog.problem


def test_a_failed_save_says_why_keeps_the_form_and_is_tried_again(opened: Opened, desk: Desk) -> None:
    desk.error = UserError("The disk is full.", next_step="Make room.")
    opened.model("dream.engine", "openai:gpt-5")
    opened.settle()
    assert "Make room." in opened.dialog.message.text
    assert opened.widget("dream.engine").value == "openai:gpt-5"
    desk.error = None
    opened.settle()
    assert desk.kept.dream.engine == "openai:gpt-5"
    assert not opened.dialog.message.text


def test_a_test_asks_what_is_typed_and_shows_each_step_in_words(opened: Opened, desk: Desk) -> None:
    """B8."""
    form = opened.dialog.models
    opened.service("fake")
    opened.qtbot.keyClicks(opened.widget("providers.*.base_url"), "http://127.0.0.1:9/v1")
    form.model.setEditText("qwen3:8b")
    form.key.setText("sk-typed")
    form.test_button.click()
    assert not form.test_button.isEnabled()
    opened.wait()
    assert desk.tested == ["fake:qwen3:8b"]
    assert desk.tested_with is not None
    assert desk.tested_with["fake"]["base_url"] == "http://127.0.0.1:9/v1"
    assert desk.tested_key == "sk-typed"
    assert desk.kept == Settings(), "a test saves nothing"
    assert form.results.texts[-1] == "The model answered without calling the tool."
    desk.error = UserError("Nobody answers.", next_step="Start the server.")
    form.test_button.click()
    opened.wait()
    assert "Start the server." in form.results.texts[0]


def test_a_failed_test_shows_its_whole_reason_and_no_step_that_was_not_tried(opened: Opened) -> None:
    results = opened.dialog.models.results
    reason = "Nobody answers at this address. " + "Start the server, or correct the address." * 6
    results.resize(300, results.height())
    results.say(
        (
            ("pass", "The service responds."),
            ("fail", reason),
            ("skip", "Not tested."),
            ("skip", "Not tested."),
        )
    )
    assert results.texts == ("The service responds.", reason)
    label = results.findChildren(WrapLabel)[-1]
    opened.qtbot.waitUntil(lambda: label.height() >= label.heightForWidth(label.width()))


@pytest.mark.parametrize("name", ["", "two words", "a:b"])
def test_a_service_without_a_proper_name_can_neither_be_saved_nor_tested(opened: Opened, name: str) -> None:
    opened.service(name)
    opened.dialog.models.model.setEditText("m")
    assert not opened.dialog.models.test_button.isEnabled()
    assert not opened.widget("providers.*.base_url").isEnabled()
    assert bool(opened.dialog.problem) == bool(name)


def test_the_focus_is_where_it_was_when_a_test_ends(opened: Opened) -> None:
    opened.dialog.show_setting("models")
    opened.dialog.models.model.setEditText("qwen3:8b")
    opened.dialog.activateWindow()
    button = opened.dialog.models.test_button
    button.setFocus()
    button.click()
    opened.wait()
    assert opened.dialog.focusWidget() is button


def test_the_list_of_models_comes_from_the_service_that_is_typed(opened: Opened, desk: Desk) -> None:
    form = opened.dialog.models
    opened.service("ollama")
    form.model.showPopup()
    opened.wait()
    assert "no model" in form.results.texts[0]
    desk.offered = ("qwen3:8b", "llama")
    form.model.setEditText("lla")
    form.model.showPopup()
    opened.wait()
    assert [form.model.itemText(row) for row in range(form.model.count())] == ["qwen3:8b", "llama"]
    assert form.model.currentText() == "lla", "what is typed stays"
    form.model.hidePopup()
    form.model.setEditText("llama")
    form.use_button.click()
    opened.settle()
    assert desk.kept.dream.engine == "ollama:llama"
    other = opened.widget("system1.model")
    assert isinstance(other, ModelBox)
    assert other.findText("ollama:llama") >= 0, "every job can use it now"


def test_a_key_goes_to_the_keyring_and_not_into_the_form(opened: Opened, desk: Desk) -> None:
    """B26: at once, for a service that was typed a moment ago, too."""
    form = opened.dialog.models
    opened.service("fresh")
    opened.dialog.show_setting("models")
    before = form.key.mapTo(opened.dialog, QPoint()), form.model.mapTo(opened.dialog, QPoint())
    opened.qtbot.keyClicks(form.key, " sk-secret ")
    opened.qtbot.keyClick(form.key, Qt.Key.Key_Return)
    opened.wait()
    assert desk.keys == {"fresh": "sk-secret"}
    assert form.key.text() == ""
    assert all("sk-secret" not in line.text() for line in opened.dialog.findChildren(QLineEdit))
    assert before == (form.key.mapTo(opened.dialog, QPoint()), form.model.mapTo(opened.dialog, QPoint()))
    opened.service("openai")
    opened.qtbot.keyClicks(form.key, "sk-other")
    opened.service("anthropic")
    opened.wait()
    assert desk.keys["openai"] == "sk-other", "what was typed is not lost"
    assert form.key.text() == "", "nor is it another service's"
    opened.service("openai")
    form.forget.click()
    opened.wait()
    assert set(desk.keys) == {"fresh"}
    assert not form.forget.isEnabled()


def test_return_in_a_field_presses_no_button(opened: Opened, desk: Desk) -> None:
    desk.kept = Settings.model_validate({"providers": {"openai": {"max_retries": 5}}})
    opened.dialog.show_draft(draft_of(desk.kept, HOME))
    opened.service("openai")
    opened.dialog.show_setting("models")
    assert opened.dialog.models.remove.isEnabled()
    for field in (opened.dialog.models.key, opened.dialog.search, opened.widget("providers.*.base_url")):
        field.setFocus()
        opened.qtbot.keyClick(field, Qt.Key.Key_Return)
    opened.settle()
    assert "openai" in desk.kept.providers.root
    assert opened.dialog.isVisible()


def test_a_key_that_the_keyring_refuses_stays_typed(opened: Opened, desk: Desk) -> None:
    opened.service("openai")
    desk.error = UserError("The key could not be saved.")
    opened.qtbot.keyClicks(opened.dialog.models.key, "sk-other")
    opened.qtbot.keyClick(opened.dialog.models.key, Qt.Key.Key_Return)
    opened.wait()
    assert opened.dialog.models.key.text() == "sk-other"
    assert "could not be saved" in opened.dialog.message.text


def test_an_address_is_saved_for_its_service_only(opened: Opened, desk: Desk) -> None:
    address = opened.widget("providers.*.base_url")
    assert address.text() == ""
    assert "api.anthropic.com" in address.placeholderText()
    opened.qtbot.keyClicks(address, "nonsense")
    opened.settle()
    assert desk.kept == Settings()
    assert "http://" in opened.dialog.status.text()
    address.clear()
    opened.qtbot.keyClicks(address, "http://127.0.0.1:9/a")
    opened.settle()
    assert {name: each.base_url for name, each in desk.kept.providers.root.items()} == {
        "anthropic": "http://127.0.0.1:9/a"
    }
    opened.service("ollama")
    assert address.text() == ""


def test_a_service_of_ones_own_is_saved_edited_removed_and_brought_back(opened: Opened, desk: Desk) -> None:
    """B9."""
    form, address = opened.dialog.models, opened.widget("providers.*.base_url")
    opened.service("work")
    opened.widget("providers.*.wire").setCurrentIndex(3)
    opened.settle()
    assert desk.kept == Settings(), "it has no address yet"
    assert "work" in opened.dialog.status.text()
    opened.qtbot.keyClicks(address, "https://models.test/v1")
    opened.settle()
    kept = desk.kept.providers.root["work"]
    assert (kept.base_url, kept.wire) == ("https://models.test/v1", "anthropic")
    assert opened.dialog.problem == ""
    opened.qtbot.keyClicks(address, "/more")
    opened.settle()
    assert desk.kept.providers.root["work"].base_url == "https://models.test/v1/more"
    form.remove.click()
    opened.wait()
    assert not desk.kept.providers.root
    assert not form.remove.isEnabled()
    opened.dialog.undo.click()
    opened.wait()
    assert desk.kept.providers.root["work"].wire == "anthropic"
    assert address.text() == "https://models.test/v1/more"


def test_a_service_is_removed_also_while_it_is_being_saved(opened: Opened, desk: Desk) -> None:
    address = opened.widget("providers.*.base_url")
    opened.service("work")
    opened.qtbot.keyClicks(address, "https://models.test/v1")
    opened.settle()
    assert "work" in desk.kept.providers.root
    opened.qtbot.keyClicks(address, "/more")
    opened.dialog.commit()
    opened.dialog.models.remove.click()
    opened.wait()
    assert not desk.kept.providers.root
    opened.dialog.undo.click()
    opened.wait()
    assert desk.kept.providers.root["work"].base_url == "https://models.test/v1/more"


def test_an_unfinished_service_outlives_every_other_save(
    opened: Opened, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    retries = opened.widget("providers.*.max_retries")
    opened.service("unfinished")
    retries.setValue(retries.value() + 1)
    typed = retries.value()
    opened.widget("dream.time_limit_s").setValue(61)
    opened.settle()
    assert desk.kept.dream.time_limit_s == 61
    assert "unfinished" in opened.dialog.status.text()
    opened.service("openai")
    retries.setValue(typed + 1)
    opened.settle()
    opened.dialog.undo.click()
    opened.wait()
    assert not desk.kept.providers.root
    opened.service("unfinished")
    assert retries.value() == typed
    asked: list[object] = []
    monkeypatch.setattr(
        settings_dialog, "ask_unsaved", lambda _parent, names: asked.append(names) or "cancel"
    )
    opened.escape()
    assert asked
    retries.setValue(typed - 1)
    opened.escape()
    assert opened.control.dialog is None, "back at the default there is nothing to save"


def test_the_values_of_headers_are_never_shown(qtbot: Any) -> None:
    kept = {"openai": {"headers": {"X-Org": "hidden-value"}, "timeout_s": 7.25}}
    desk = Desk(kept=Settings.model_validate({"providers": kept}))
    found = Opened(qtbot, desk)
    found.service("openai")
    headers = found.widget("providers.*.headers")
    assert "X-Org" in headers.placeholderText()
    found.widget("providers.*.max_retries").setValue(5)
    found.widget("providers.*.key_env").setText("MY-KEY")
    assert found.dialog.problem
    found.widget("providers.*.key_env").setText("MY_KEY")
    found.qtbot.keyClicks(headers, "X-Team: blue")
    found.qtbot.keyClick(headers, Qt.Key.Key_Return)
    found.settle()
    openai = desk.kept.providers.root["openai"]
    assert (openai.max_retries, openai.key_env, openai.timeout_s) == (5, "MY_KEY", 7.25)
    assert openai.headers == {"X-Org": "hidden-value", "X-Team": "blue"}
    assert headers.text() == ""
    assert all("hidden-value" not in line.text() for line in found.dialog.findChildren(QLineEdit))
    assert "hidden-value" not in repr(draft_of(desk.kept, HOME))
    found.qtbot.keyClicks(headers, "X-Org:")
    found.qtbot.keyClick(headers, Qt.Key.Key_Return)
    found.settle()
    assert desk.kept.providers.root["openai"].headers == {"X-Team": "blue"}
    headers.setText("no header")
    assert found.dialog.problem
    found.control.stop()


def test_closing_drops_what_is_still_being_asked(opened: Opened, desk: Desk) -> None:
    opened.dialog.models.model.setEditText("a")
    opened.dialog.models.test_button.click()
    opened.dialog.close_button.click()
    opened.wait()
    assert opened.control.dialog is None


def test_what_was_just_typed_is_saved_by_escape(opened: Opened, desk: Desk) -> None:
    """B20."""
    opened.widget("dream.time_limit_s").setValue(61)
    opened.service("openai")
    opened.dialog.models.key.setText("sk-late")
    opened.escape()
    assert opened.control.dialog is None
    assert desk.kept.dream.time_limit_s == 61
    assert desk.keys == {"openai": "sk-late"}


@pytest.mark.parametrize("answer", ["cancel", "discard", "save"])
def test_what_cannot_be_saved_is_never_thrown_away_unasked(
    opened: Opened, desk: Desk, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    """B20."""
    asked: list[object] = []

    def ask(parent: QWidget, names: object) -> str:
        asked.append(names)
        return answer

    monkeypatch.setattr(settings_dialog, "ask_unsaved", ask)
    opened.widget("dream.time_limit_s").setValue(61)
    opened.model("dream.engine", "half:")
    opened.escape()
    assert len(asked) == 1
    assert desk.kept.dream.time_limit_s == 61, "what can be saved is"
    assert (opened.control.dialog is None) == (answer == "discard")
    if opened.control.dialog is not None:
        assert opened.widget("dream.engine").value == "half:"


@pytest.mark.parametrize("what", ["setting", "key"])
def test_what_could_not_be_saved_is_asked_about_and_may_be_given_up(
    opened: Opened, desk: Desk, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """B20."""
    answers = ["cancel", "save", "discard"]
    monkeypatch.setattr(settings_dialog, "ask_unsaved", lambda *_: answers.pop(0))
    desk.error = UserError("The disk is full.", next_step="Make room.")
    if what == "setting":
        opened.widget("dream.time_limit_s").setValue(61)
    else:
        opened.service("openai")
        opened.dialog.models.key.setText("sk-late")
    opened.escape()
    assert opened.control.dialog is not None
    assert "Make room." in opened.dialog.message.text
    opened.escape()
    opened.qtbot.waitUntil(lambda: opened.control.dialog is None)
    assert answers == []


def test_the_question_about_unsaved_text_is_answered_by_keys(qtbot: Any, monkeypatch: Any) -> None:
    """B39."""
    asked: list[QMessageBox] = []

    def answer(box: QMessageBox) -> int:
        asked.append(box)
        texts = [button.text() for button in box.buttons()]
        assert len({text[text.index("&") + 1] for text in texts}) == len(texts) == 3
        next(button for button in box.buttons() if "Discard" in button.text()).click()
        return 0

    monkeypatch.setattr(QMessageBox, "exec", answer)
    window = QWidget()
    qtbot.addWidget(window)
    assert ask_unsaved(window, ["plan"]) == "discard"
    assert len(asked) == 1


def test_escape_closes_at_once_where_nothing_was_changed(opened: Opened) -> None:
    dialog = opened.dialog
    opened.qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_every_control_of_the_settings_has_an_accessible_name(opened: Opened) -> None:
    kinds = (QAbstractButton, QAbstractItemView, QLineEdit, QComboBox, QAbstractSpinBox)
    for kind in kinds:
        for control in opened.dialog.findChildren(kind):
            if control.objectName().startswith(("qt_", "Scroll")):
                continue
            if (
                isinstance(control.parent(), QComboBox | QAbstractSpinBox)
                or control.window() != opened.dialog
            ):
                continue
            text = control.text() if isinstance(control, QAbstractButton) else ""
            assert control.accessibleName() or text, control


@pytest.mark.parametrize("width", [360, 560])
@pytest.mark.parametrize("page", [page.id for page in tables.PAGES])
def test_nothing_of_a_page_leaves_its_right_edge(opened: Opened, qapp: Any, page: str, width: int) -> None:
    dialog = opened.dialog
    dialog.resize(width, 560)
    dialog.show_setting(page)
    qapp.processEvents()
    assert dialog.width() == width
    shown = dialog.pages[page]
    for widget in shown.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly):
        if widget.isVisible():
            right = widget.mapTo(dialog, QPoint(widget.width(), 0)).x()
            assert right <= dialog.width(), widget


# --- complete, and found ---


def test_every_setting_has_one_field_an_explanation_and_its_place_in_the_file(opened: Opened) -> None:
    settings = {setting.key: setting for setting in schema()}
    assert settings.keys() == opened.dialog.fields.keys() | tables.FILE_ONLY
    assert not opened.dialog.fields.keys() & tables.FILE_ONLY
    assert tables.SPECS.keys() == opened.dialog.fields.keys()
    assert all(spec.label and spec.help for spec in tables.SPECS.values())
    for key, field in opened.dialog.fields.items():
        told = field.widget.accessibleDescription()
        assert settings[key].where in told
        assert as_toml(settings[key].default) in told


def test_every_choice_has_words_and_no_text_is_left_over() -> None:
    settings = {setting.key: setting for setting in schema() if setting.key not in tables.FILE_ONLY}
    assert tables.SPECS.keys() == settings.keys()
    for setting in settings.values():
        assert set(setting.choices) <= {value for value, _words in tables.choices(setting.key)}


def test_fields_have_the_limits_of_the_schema(opened: Opened) -> None:
    for key, field in opened.dialog.fields.items():
        setting, widget = field.setting, field.widget
        scale = 1_000_000 if key == "system1.keep_bytes" else 1
        if isinstance(widget, QSpinBox | QDoubleSpinBox):
            assert (widget.minimum() * scale, widget.maximum() * scale) == (setting.least, setting.most), key
        elif isinstance(widget, QComboBox) and not isinstance(widget, ModelBox):
            values = {widget.itemData(row) for row in range(widget.count())}
            assert values >= {setting.default}
            assert values == set(setting.choices) or max(values) == setting.most, key


def visible_keys(opened: Opened) -> set[str]:
    dialog, found = opened.dialog, set()
    for row, page in enumerate(dialog.pages.values()):
        item = dialog.side.item(row)
        if not item.isHidden():
            found |= {key for key, field in page.fields.items() if not field.widget.isHidden()}
    return found


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("[watch] reconcile", {"watch.reconcile_minutes"}),
        ("concurrency", {"extract.concurrency"}),
        ("system1.model", {"system1.model"}),
        ("before removing", {"dream.max_loss_percent"}),
        ("line numbers", {"window.editor_line_numbers"}),
        ("dark", {"window.theme"}),
    ],
)
def test_a_search_leaves_what_label_explanation_or_key_name(
    opened: Opened, query: str, keys: set[str]
) -> None:
    everything = visible_keys(opened)
    opened.qtbot.keyClicks(opened.dialog.search, query)
    assert visible_keys(opened) == keys
    opened.qtbot.keyClick(opened.dialog.search, Qt.Key.Key_Escape)
    assert opened.control.dialog is not None
    assert opened.dialog.search.text() == ""
    assert visible_keys(opened) == everything == opened.dialog.fields.keys()


def test_the_title_of_a_page_shows_all_of_it_and_the_page_comes_to_the_front(opened: Opened) -> None:
    opened.dialog.search.setText("session notes")
    assert "notes.tool_calls" in visible_keys(opened)
    assert opened.dialog.stack.currentWidget().isAncestorOf(opened.widget("notes.model"))


def test_a_setting_is_shown_by_its_key(opened: Opened) -> None:
    opened.dialog.search.setText("codex")
    opened.dialog.show_setting("window.theme")
    assert opened.dialog.search.text() == ""
    assert opened.dialog.focusWidget() is opened.widget("window.theme")
    assert opened.widget("window.theme").isVisible()


def test_a_search_that_finds_nothing_says_so(opened: Opened) -> None:
    opened.qtbot.keyClicks(opened.dialog.search, "no such thing")
    opened.qtbot.keyClick(opened.dialog.search, Qt.Key.Key_Return)
    assert opened.dialog.isVisible()
    assert opened.dialog.stack.currentWidget() is opened.dialog.nothing
    assert "no such thing" in opened.dialog.nothing.text()
    opened.dialog.search.clear()
    assert opened.dialog.stack.currentWidget() is not opened.dialog.nothing


def test_what_a_search_hides_is_saved_as_it_stands(opened: Opened, desk: Desk) -> None:
    opened.widget("dream.max_loss_percent").setValue(3)
    opened.dialog.search.setText("codex")
    opened.settle()
    assert desk.kept.dream.max_loss_percent == 3


def test_the_search_begins_in_front_and_is_reached_by_its_key(opened: Opened) -> None:
    assert opened.dialog.focusWidget() is opened.dialog.search
    opened.dialog.close_button.setFocus()
    opened.qtbot.keyClick(opened.dialog, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    opened.qtbot.waitUntil(lambda: opened.dialog.focusWidget() is opened.dialog.search)


def test_every_label_of_a_page_has_a_key_of_its_own(opened: Opened) -> None:
    """B39."""
    for page in opened.dialog.pages.values():
        texts = [label.text() for label in page.findChildren(QLabel) if label.buddy() is not None]
        texts += [button.text() for button in page.findChildren(QAbstractButton) if button.text()]
        keys = [text[text.index("&") + 1].casefold() for text in texts if "&" in text]
        assert len(keys) == len(set(keys)) == len(texts), (page.title, texts)
