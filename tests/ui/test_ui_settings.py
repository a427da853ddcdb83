"""The settings: what is shown is what is kept, what was not touched stays, and no key stays in the form."""

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
    QHeaderView,
    QLineEdit,
    QSpinBox,
    QWidget,
)
from ui_desk import Desk, Provider

from reverie.errors import UserError
from reverie.settings import (
    BackgroundSettings,
    BackgroundTable,
    ProviderSettings,
    ProvidersSettings,
    Settings,
)
from reverie.ui.appearance import Icons
from reverie.ui.settings import dialog as settings_dialog
from reverie.ui.settings import draft as settings_texts
from reverie.ui.settings.control import SettingsControl
from reverie.ui.settings.dialog import SettingsDialog
from reverie.ui.settings.draft import SettingsDraft, draft_of, is_base_url, schema, with_draft
from reverie.ui.settings.model_pages import EnginePage

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
    assert with_draft(settings, draft_of(settings, HOME), HOME) == settings


def test_only_what_was_edited_is_another_in_the_settings() -> None:
    settings = Settings(providers=ProvidersSettings({"openai": ProviderSettings(headers={"a": "b"})}))
    draft = SettingsDraft(
        {
            "dream.engine": "openai:gpt-5",
            "dream.time_limit_s": 60,
            "dream.max_loss_percent": 5,
            "background.*.enabled": True,
            "background.*.runs_per_day": 3,
            "background.*.tokens_per_day": 1000,
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
    dialog = found.dialog
    assert dialog.engine.engine == "ollama:qwen3:8b"
    assert dialog.engine.loss.value() == 7
    assert dialog.providers.table.topLevelItemCount() == 3
    assert not dialog.apply.isEnabled()
    found.control.stop()


def test_saving_keeps_it_and_tells_that_the_button_may_use_another(
    qtbot: Any, opened: Opened, desk: Desk
) -> None:
    opened.dialog.engine.choose("ollama:qwen3:8b")
    opened.dialog.background.switch.setChecked(True)
    with qtbot.waitSignal(opened.control.changed):
        opened.dialog.apply.click()
    assert desk.kept.dream.engine == "ollama:qwen3:8b"
    assert desk.kept.background.of(HOME).enabled
    assert not opened.dialog.apply.isEnabled()
    assert "ollama:qwen3:8b" in opened.dialog.engine.used.text()


def test_ok_saves_and_closes_and_cancel_keeps_nothing(opened: Opened, desk: Desk) -> None:
    opened.dialog.engine.choose("openai:gpt-5")
    opened.dialog.buttons.button(QDialogButtonBox.StandardButton.Cancel).click()
    assert desk.kept == Settings()
    opened.control.open(desk, HOME, "xum")
    opened.wait()
    opened.dialog.engine.choose("openai:gpt-5")
    opened.dialog.ok.click()
    opened.qtbot.waitUntil(lambda: opened.control.dialog is None)
    assert desk.kept.dream.engine == "openai:gpt-5"


def test_the_memory_writer_is_kept_as_it_was_edited(opened: Opened, desk: Desk) -> None:
    page = opened.dialog.system1
    assert not page.interval.isEnabled()
    page.switch.setChecked(True)
    page.interval.setValue(7)
    page.target.setCurrentIndex(page.target.findData("project-memory"))
    page.model.setText("ollama:qwen3:8b")
    page.traces.setCurrentIndex(page.traces.findData("always"))
    page.room.setValue(5)
    opened.dialog.apply.click()
    opened.wait()
    kept = desk.kept.system1
    assert (kept.enabled, kept.interval, kept.target, kept.model, kept.traces, kept.keep_bytes) == (
        True,
        7,
        "project-memory",
        "ollama:qwen3:8b",
        "always",
        5_000_000,
    )


def test_a_writer_that_was_set_up_is_shown_as_it_is_and_saving_something_else_keeps_it(qtbot: Any) -> None:
    writer = {"enabled": True, "interval": 50, "keep_bytes": 1_234_567, "time_limit_s": 2.5}
    found = Opened(qtbot, Desk(kept=Settings.model_validate({"system1": writer})))
    assert found.dialog.system1.interval.value() == 50
    assert found.dialog.system1.switch.isChecked()
    found.dialog.engine.choose("openai:gpt-5")
    found.dialog.apply.click()
    found.wait()
    assert found.control.dialog is not None
    assert found.control._service is not None
    kept = found.control._service.settings().system1
    assert (kept.keep_bytes, kept.time_limit_s) == (1_234_567, 2.5)
    found.control.stop()


def test_session_notes_are_kept_as_they_were_edited(opened: Opened, desk: Desk) -> None:
    page = opened.dialog.notes
    assert not page.switch.isChecked()
    assert not page.growth.isEnabled()
    page.switch.setChecked(True)
    page.growth.setValue(7_000)
    page.calls.setValue(5)
    page.model.setText("gpt")
    assert not opened.dialog.ok.isEnabled()
    page.model.setText("rules")
    opened.dialog.apply.click()
    opened.wait()
    kept = desk.kept.notes
    assert (kept.enabled, kept.model, kept.start_tokens, kept.growth_tokens, kept.tool_calls) == (
        True,
        "rules",
        10_000,
        7_000,
        5,
    )


@pytest.mark.parametrize(
    ("name", "fine"), [("", True), ("rules", True), ("openai:gpt-5", True), ("gpt", False)]
)
def test_the_model_of_the_writer_is_rules_a_model_string_or_empty(
    opened: Opened, name: str, fine: bool
) -> None:
    opened.dialog.system1.switch.setChecked(True)
    opened.dialog.system1.model.setText(name)
    assert opened.dialog.ok.isEnabled() == fine
    assert bool(opened.dialog.system1.hint.text()) != fine


@pytest.mark.parametrize("engine", ["auto", "rules", "ollama:qwen3:8b"])
def test_each_engine_is_shown_as_it_is_kept(qtbot: Any, engine: str) -> None:
    page = EnginePage(Icons())
    qtbot.addWidget(page)
    page.show_values({"dream.engine": engine})
    assert page.engine == engine
    assert page.problem == ""


def test_a_failed_save_says_why_and_keeps_the_form(opened: Opened, desk: Desk) -> None:
    desk.error = UserError("The disk is full.", next_step="Make room.")
    opened.dialog.engine.choose("openai:gpt-5")
    opened.dialog.ok.click()
    opened.wait()
    assert "Make room." in opened.dialog.message.text
    assert opened.dialog.engine.engine == "openai:gpt-5"
    assert opened.dialog.apply.isEnabled()


@pytest.mark.parametrize("name", ["", "gpt-5", "openai:", "openai: gpt"])
def test_what_is_no_model_string_can_neither_be_saved_nor_tested(opened: Opened, name: str) -> None:
    opened.dialog.engine.choose(name)
    opened.dialog.engine.model.setChecked(True)
    assert not opened.dialog.ok.isEnabled()
    assert not opened.dialog.engine.test_button.isEnabled()
    for other in (opened.dialog.engine.rules, opened.dialog.engine.auto):
        other.setChecked(True)
        assert opened.dialog.ok.isEnabled()


def test_a_test_shows_each_step_in_words(opened: Opened, desk: Desk) -> None:
    opened.dialog.engine.choose("ollama:qwen3:8b")
    opened.dialog.engine.test_button.click()
    assert not opened.dialog.engine.test_button.isEnabled()
    opened.wait()
    assert desk.tested == ["ollama:qwen3:8b"]
    assert opened.dialog.engine.results.texts[-1] == "The model answered without calling the tool."
    assert opened.dialog.engine.test_button.isEnabled()
    desk.error = UserError("Nobody answers.", next_step="Start the server.")
    opened.dialog.engine.test_button.click()
    opened.wait()
    assert "Start the server." in opened.dialog.engine.results.texts[0]


def test_a_key_goes_to_the_keyring_and_not_into_the_form(opened: Opened, desk: Desk) -> None:
    page = opened.dialog.providers
    page.table.setCurrentItem(page.table.topLevelItem(1))  # type: ignore[arg-type]
    assert not page.save_key.isEnabled()
    page.key.setText(" sk-secret ")
    page.save_key.click()
    opened.wait()
    assert desk.keys == {"openai": "sk-secret"}
    assert page.key.text() == ""
    assert all("sk-secret" not in line.text() for line in opened.dialog.findChildren(QLineEdit))
    assert page.current == "openai"
    page.forget_key.click()
    opened.wait()
    assert desk.keys == {}
    assert not page.forget_key.isEnabled()


def test_a_key_typed_for_one_provider_is_never_given_to_another(opened: Opened) -> None:
    page = opened.dialog.providers
    page.key.setText("sk-secret")
    page.table.setCurrentItem(page.table.topLevelItem(1))  # type: ignore[arg-type]
    assert page.key.text() == ""


def test_an_address_is_saved_for_its_provider_only(opened: Opened, desk: Desk) -> None:
    page = opened.dialog.providers
    page.address.setText("")
    opened.qtbot.keyClicks(page.address, "nonsense")
    assert not opened.dialog.ok.isEnabled()
    assert "anthropic" in page.hint.text()
    page.address.clear()
    opened.qtbot.keyClicks(page.address, "http://127.0.0.1:9/a")
    opened.dialog.apply.click()
    opened.wait()
    assert {name: each.base_url for name, each in desk.kept.providers.root.items()} == {
        "anthropic": "http://127.0.0.1:9/a"
    }
    assert page.base_urls == {}


def test_a_model_of_a_local_server_is_found_and_taken(opened: Opened, desk: Desk) -> None:
    page = opened.dialog.providers
    page.look.click()
    opened.wait()
    assert "No server" in page.found_hint.text()
    desk.servers = (("ollama", "http://127.0.0.1:11434/v1", ("qwen3:8b", "llama")),)
    page.look.click()
    opened.wait()
    assert page.found.topLevelItemCount() == 2
    page.use.click()
    assert opened.dialog.engine.engine == "ollama:qwen3:8b"
    assert opened.dialog.pages.currentIndex() == 0


def test_closing_drops_what_is_still_being_asked(opened: Opened, desk: Desk) -> None:
    opened.dialog.engine.choose("ollama:a")
    opened.dialog.engine.test_button.click()
    opened.dialog.buttons.button(QDialogButtonBox.StandardButton.Cancel).click()
    opened.wait()
    assert opened.control.dialog is None


def test_every_control_of_the_settings_has_an_accessible_name(opened: Opened) -> None:
    kinds = (QAbstractButton, QAbstractItemView, QLineEdit, QComboBox, QAbstractSpinBox)
    for kind in kinds:
        for control in opened.dialog.findChildren(kind):
            if isinstance(control, QHeaderView) or control.objectName().startswith(("qt_", "Scroll")):
                continue
            if (
                isinstance(control.parent(), QComboBox | QAbstractSpinBox)
                or control.window() != opened.dialog
            ):
                continue
            text = control.text() if isinstance(control, QAbstractButton) else ""
            assert control.accessibleName() or text, control


def test_extraction_is_kept_as_it_was_edited(opened: Opened, desk: Desk) -> None:
    page = opened.dialog.extract
    assert not page.switch.isChecked()
    page.switch.setChecked(True)
    page.rollouts.setValue(12)
    page.idle.setValue(0)
    page.model.setText("gpt")
    assert not opened.dialog.ok.isEnabled()
    assert page.hint.text()
    page.model.setText("rules")
    opened.dialog.apply.click()
    opened.wait()
    kept = desk.kept.extract
    assert (kept.at_launch, kept.model, kept.max_rollouts, kept.idle_seconds) == (True, "rules", 12, 0)


@pytest.mark.parametrize("page", range(8))
def test_nothing_of_a_page_leaves_its_right_edge(opened: Opened, qapp: Any, page: int) -> None:
    dialog = opened.dialog
    dialog.resize(480, 560)
    dialog.pages.setCurrentIndex(page)
    dialog.engine.tested([])
    qapp.processEvents()
    shown = (
        dialog.engine,
        dialog.providers,
        dialog.background,
        dialog.system1,
        dialog.notes,
        dialog.extract,
        dialog.window_page,
        dialog.advanced,
    )[page]
    for widget in shown.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly):
        if widget.isVisible():
            right = widget.mapTo(dialog, QPoint(widget.width(), 0)).x()
            assert right <= dialog.width(), widget


# --- complete, and found ---


def test_every_setting_of_the_schema_has_one_field_an_explanation_and_its_place_in_the_file(
    opened: Opened,
) -> None:
    settings = schema()
    assert opened.dialog.finder.keys.keys() == {setting.key for setting in settings}
    assert settings_texts.HELP.keys() == {setting.key for setting in settings}
    for setting in settings:
        told = opened.dialog.finder.keys[setting.key].accessibleDescription()
        assert setting.where in told
        assert settings_texts.as_toml(setting.default) in told


def test_every_generated_field_has_a_label_and_every_choice_words(opened: Opened) -> None:
    generated = [setting for setting in schema() if setting.key not in opened.dialog.by_hand]
    assert settings_texts.LABELS.keys() == {setting.key for setting in generated}
    for setting in generated:
        for value in setting.choices:
            assert settings_texts.choice_text(setting.key, value) != value


def test_what_the_pages_lay_out_by_hand_has_the_limits_of_the_schema(opened: Opened) -> None:
    scaled = {"system1.keep_bytes": 1_000_000}
    for setting in schema():
        field = opened.dialog.finder.keys[setting.key]
        if isinstance(field, QSpinBox | QDoubleSpinBox):
            by = scaled.get(setting.key, 1)
            assert field.maximum() * by == setting.most, setting.key
            if setting.key != "window.font_size":  # where 0 stands for the system's
                assert field.minimum() * by == setting.least, setting.key
        if isinstance(field, QComboBox):
            assert {field.itemData(row) for row in range(field.count())} == set(setting.choices), setting.key


def test_what_is_edited_in_generated_fields_is_kept_and_nothing_else(opened: Opened, desk: Desk) -> None:
    fields = opened.dialog.finder.keys
    fields["watch.polling"].setCurrentIndex(1)  # type: ignore[attr-defined]
    fields["watch.reconcile_minutes"].setValue(2.5)  # type: ignore[attr-defined]
    fields["window.editor_wrap"].setChecked(False)  # type: ignore[attr-defined]
    fields["extract.concurrency"].setValue(2)  # type: ignore[attr-defined]
    opened.dialog.apply.click()
    opened.wait()
    kept = desk.kept
    assert (kept.watch.polling, kept.watch.reconcile_minutes, kept.extract.concurrency) == ("always", 2.5, 2)
    assert not kept.window.editor_wrap
    untouched = Settings()
    assert (kept.dream, kept.history, kept.system1) == (untouched.dream, untouched.history, untouched.system1)


def test_a_figure_that_a_field_cannot_show_exactly_stays_as_it_is(qtbot: Any) -> None:
    desk = Desk(kept=Settings.model_validate({"watch": {"reconcile_minutes": 0.125}}))
    found = Opened(qtbot, desk)
    found.dialog.engine.loss.setValue(7)
    found.dialog.apply.click()
    found.wait()
    assert (desk.kept.watch.reconcile_minutes, desk.kept.dream.max_loss_percent) == (0.125, 7)
    found.control.stop()


def test_a_service_has_all_of_its_settings_and_the_values_of_headers_are_never_shown(qtbot: Any) -> None:
    kept = {"openai": {"headers": {"X-Org": "hidden-value"}, "timeout_s": 7.25}}
    desk = Desk(kept=Settings.model_validate({"providers": kept}))
    found = Opened(qtbot, desk)
    page, fields = found.dialog.providers, found.dialog.finder.keys
    page.table.setCurrentItem(page.table.topLevelItem(1))  # type: ignore[arg-type]
    headers = fields["providers.*.headers"]
    assert isinstance(headers, QLineEdit)
    assert "X-Org" in headers.placeholderText()
    fields["providers.*.max_retries"].setValue(5)  # type: ignore[attr-defined]
    fields["providers.*.key_env"].setText("MY-KEY")  # type: ignore[attr-defined]
    assert not found.dialog.ok.isEnabled()
    fields["providers.*.key_env"].setText("MY_KEY")  # type: ignore[attr-defined]
    headers.setText("X-Team: blue")
    found.dialog.apply.click()
    found.wait()
    openai = desk.kept.providers.root["openai"]
    assert (openai.max_retries, openai.key_env, openai.timeout_s) == (5, "MY_KEY", 7.25)
    assert openai.headers == {"X-Org": "hidden-value", "X-Team": "blue"}
    assert headers.text() == ""
    assert all("hidden-value" not in line.text() for line in found.dialog.findChildren(QLineEdit))
    assert "hidden-value" not in repr(draft_of(desk.kept, HOME))
    headers.setText("X-Org:")
    found.dialog.apply.click()
    found.wait()
    assert desk.kept.providers.root["openai"].headers == {"X-Team": "blue"}
    headers.setText("no header")
    assert not found.dialog.ok.isEnabled()
    found.control.stop()


def visible_keys(opened: Opened) -> set[str]:
    pages, found = opened.dialog.pages, set()
    for key, field in opened.dialog.finder.keys.items():
        tab = next(n for n in range(pages.count()) if pages.widget(n).isAncestorOf(field))  # type: ignore[union-attr]
        if pages.isTabVisible(tab) and not field.isHidden():
            found.add(key)
    return found


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("[history] pack_after", {"history.pack_after"}),
        ("PACK", {"history.pack_after"}),
        ("concurrency", {"extract.concurrency"}),
        ("system1.model", {"system1.model"}),
        ("scope lose", {"dream.max_loss_percent"}),
        ("line numbers", {"window.editor_line_numbers"}),
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
    assert visible_keys(opened) == everything == {setting.key for setting in schema()}


def test_the_title_of_a_page_shows_all_of_it_and_the_page_comes_to_the_front(opened: Opened) -> None:
    opened.dialog.search.setText("advanced")
    assert "watch.polling" in visible_keys(opened)
    assert opened.dialog.pages.currentIndex() == opened.dialog.pages.count() - 1


def test_a_search_that_finds_nothing_says_so_and_return_saves_nothing(opened: Opened, desk: Desk) -> None:
    opened.dialog.engine.loss.setValue(3)
    opened.qtbot.keyClicks(opened.dialog.search, "no such thing")
    opened.qtbot.keyClick(opened.dialog.search, Qt.Key.Key_Return)
    assert opened.dialog.pages.isHidden()
    assert "no such thing" in opened.dialog.nothing.text()
    assert desk.kept == Settings()
    opened.dialog.search.clear()
    assert not opened.dialog.pages.isHidden()
    assert opened.dialog.nothing.isHidden()


def test_what_a_search_hides_is_saved_as_it_stands(opened: Opened, desk: Desk) -> None:
    opened.dialog.engine.loss.setValue(3)
    opened.dialog.search.setText("history")
    opened.dialog.apply.click()
    opened.wait()
    assert desk.kept.dream.max_loss_percent == 3


def test_the_search_begins_in_front_and_is_reached_by_its_key(opened: Opened) -> None:
    assert opened.dialog.focusWidget() is opened.dialog.search
    opened.dialog.ok.setFocus()
    opened.qtbot.keyClick(opened.dialog, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    opened.qtbot.waitUntil(lambda: opened.dialog.focusWidget() is opened.dialog.search)


def test_a_provider_of_ones_own_is_added_by_name_and_saved_with_its_address(
    opened: Opened, desk: Desk
) -> None:
    page = opened.dialog.providers
    for taken in ("openai", "two words", "a:b", ""):
        page.new.setText(taken)
        assert not page.add.isEnabled()
    opened.qtbot.keyClicks(page.new, "work")
    page.add.click()
    assert (page.current, page.new.text(), page.key.isEnabled()) == ("work", "", False)
    assert not opened.dialog.ok.isEnabled(), "it has no address yet"
    assert "work" in page.hint.text()
    opened.qtbot.keyClicks(page.address, "https://models.test/v1")
    opened.dialog.finder.keys["providers.*.wire"].setCurrentIndex(2)  # type: ignore[attr-defined]
    opened.dialog.apply.click()
    opened.wait()
    kept = desk.kept.providers.root["work"]
    assert (kept.base_url, kept.wire) == ("https://models.test/v1", "anthropic")


def _add_provider(opened: Opened, name: str, address: str) -> None:
    page = opened.dialog.providers
    opened.qtbot.keyClicks(page.new, name)
    page.add.click()
    opened.qtbot.keyClicks(page.address, address)


def test_a_test_asks_the_provider_that_was_just_added(opened: Opened, desk: Desk) -> None:
    """B8."""
    _add_provider(opened, "fake", "http://127.0.0.1:9/v1")
    opened.dialog.engine.choose("fake:qwen3:8b")
    opened.dialog.engine.test_button.click()
    opened.wait()
    assert desk.tested == ["fake:qwen3:8b"]
    assert desk.tested_with is not None
    assert desk.tested_with["fake"]["base_url"] == "http://127.0.0.1:9/v1"
    assert desk.kept == Settings()  # nothing is saved by a test


def test_the_focus_is_where_it_was_when_a_test_ends(opened: Opened) -> None:
    opened.dialog.engine.choose("ollama:qwen3:8b")
    opened.dialog.show()
    opened.dialog.activateWindow()
    button = opened.dialog.engine.test_button
    button.setFocus()
    button.click()
    opened.wait()
    assert opened.dialog.focusWidget() is button


def test_after_a_save_an_added_provider_can_be_edited_and_saved_again(opened: Opened, desk: Desk) -> None:
    """B9."""
    _add_provider(opened, "fake", "http://127.0.0.1:9/v1")
    desk.providers = (*desk.providers, Provider("fake", "http://127.0.0.1:9/v1", "missing"))
    opened.dialog.apply.click()
    opened.wait()
    assert opened.dialog.problem == ""
    assert opened.dialog.ok.isEnabled()
    assert not opened.dialog.apply.isEnabled()
    opened.dialog.engine.choose("fake:qwen3:8b")
    assert opened.dialog.apply.isEnabled()


@pytest.mark.parametrize(("answer", "kept"), [("cancel", False), ("discard", False), ("save", True)])
def test_escape_asks_before_it_throws_typed_values_away(
    opened: Opened, desk: Desk, monkeypatch: pytest.MonkeyPatch, answer: str, kept: bool
) -> None:
    """B20."""
    asked: list[object] = []

    def ask(parent: QWidget, names: object) -> str:
        asked.append(names)
        return answer

    monkeypatch.setattr(settings_dialog, "ask_unsaved", ask)
    _add_provider(opened, "fake", "http://127.0.0.1:9/v1")
    dialog = opened.dialog
    opened.qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    opened.wait()
    assert len(asked) == 1
    assert ("fake" in desk.kept.providers.root) == kept
    assert (opened.control.dialog is not None) == (answer == "cancel")
    if answer == "cancel":
        assert dialog.providers.base_urls == {"fake": "http://127.0.0.1:9/v1"}


def test_escape_closes_at_once_where_nothing_was_changed(opened: Opened) -> None:
    dialog = opened.dialog
    opened.qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
