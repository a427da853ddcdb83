"""Drafts in the window: what was typed and not saved is offered again, beside what stands on disk now."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QGuiApplication, QTextCursor
from ui_windows import ACME, SEVERAL, Driver, Windows

from reverie.agents.scopes import Scope
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.engine.channel import Channel
from reverie.engine.client import EngineGone
from reverie.services.drafts import DraftService
from reverie.services.edits import UserEdits, current_text
from reverie.services.views import Draft, Offers
from reverie.ui import dialogs
from reverie.ui.editor.buffer import Address, Buffer, FileRef, from_draft
from reverie.ui.memory.edit_dialogs import MoveDialog
from reverie.values import replace

PATH = "/memories/project/deploy.md"
REL = "memory/project/acme-api-db553efff149/deploy.md"


@pytest.fixture
def driver(windows: Windows, home: Path) -> Driver:
    return windows.open(home)


def on_disk(driver: Driver) -> dict[str, str]:
    """Typed text by the file it belongs to. A draft may be taken back meanwhile."""
    found = {}
    for file in (driver.tab_profile / "drafts").rglob("*.json"):
        try:
            draft = json.loads(file.read_bytes())["draft"]
        except FileNotFoundError:
            continue
        found[draft["path"] or draft["rel"]] = draft["content"]
    return found


@pytest.fixture(autouse=True)
def _state(windows: Windows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Driver, "tab_profile", windows.profile.state, raising=False)


def contents(windows: Windows) -> list[str]:
    """Every typed text that is kept."""
    found = (windows.profile.state / "drafts").rglob("*.json")
    return [json.loads(file.read_bytes())["draft"]["content"] for file in found]


def kept(driver: Driver) -> None:
    driver.tab.keeper.flush()
    driver.until(lambda: driver.tab.keeper._is_kept() and not driver.tab.keeper._busy)


def typed_and_killed(windows: Windows, home: Path, text: str = "mine\n") -> str:
    """A window that typed at the top of a memory and went without being asked; all of its text."""
    driver = windows.open(home)
    file = driver.open(PATH)
    driver.type(text)
    content = file.content
    kept(driver)
    driver.window.shut_down()
    return content


def left_behind(windows: Windows, home: Path, typed: str = "mine\n") -> str:
    """What `typed_and_killed` leaves on disk, without its window."""
    parts = open_parts(home, windows.profile, system_clock)
    context = parts.home.context(workspace_id=ACME)
    store = parts.home.scope_root(context, Scope.PROJECT).key
    base = UserEdits(parts).read(context, PATH)
    assert base.content is not None
    mark = "\ufeff" if base.content.startswith("\ufeff") else ""
    content = mark + typed + base.content.removeprefix(mark)
    draft = Draft(store, "deploy.md", PATH, context, content, base.content, base.sha256, 5, system_clock())
    DraftService(parts, current_text(parts)).keep(draft, "00000001")
    return content


def again(windows: Windows, home: Path) -> Driver:
    driver = windows.open(home)
    driver.until(lambda: bool(driver.tab.drafts.offers))
    return driver


def test_typing_is_kept_by_itself_and_removed_once_saved(driver: Driver) -> None:
    file = driver.open(PATH)
    driver.type("mine\n")
    driver.until(lambda: on_disk(driver) == {PATH: file.content})
    driver.type("more\n")
    driver.until(lambda: on_disk(driver) == {PATH: file.content})
    driver.do("file.save")
    driver.until(lambda: on_disk(driver) == {})


def test_text_taken_back_leaves_no_draft_and_looking_makes_none(driver: Driver) -> None:
    file = driver.open(PATH)
    kept(driver)
    assert on_disk(driver) == {}
    driver.type("mine\n")
    kept(driver)
    file.document.undo()
    driver.until(lambda: on_disk(driver) == {})


def test_a_renamed_file_takes_its_draft_along(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    new = "/memories/project/runbooks/deploying.md"
    file = driver.open(PATH)
    driver.type("mine\n")
    kept(driver)
    monkeypatch.setattr(MoveDialog, "ask", lambda *_, **__: {PATH: new})
    driver.do("memory.move")
    driver.until(lambda: on_disk(driver) == {new: file.content})


def test_a_draft_of_another_workspace_and_of_a_companion_is_kept_too(driver: Driver) -> None:
    driver.open(PATH)
    driver.type("mine\n")
    driver.choose(SEVERAL)
    driver.tree.setCurrentIndex(driver.tab.model.index_of(("global", "c:AGENTS.md")))
    driver.until(
        lambda: driver.pane.file is not None and driver.pane.file.buffer.address.companion is not None
    )
    driver.type("Said first.\n")
    kept(driver)
    assert on_disk(driver).keys() == {PATH, str(driver.home / "AGENTS.md")}


def test_the_next_start_offers_it_and_restores_it_byte_for_byte(windows: Windows, home: Path) -> None:
    (home / REL).write_bytes(b"\xef\xbb\xbfone\r\ntwo\nthree\rfour")
    content = typed_and_killed(windows, home, "caf\u00e9 \U0001f600\n")
    assert contents(windows) == [content]
    driver = again(windows, home)
    assert not driver.tab.drafts.bar.isHidden()
    driver.tab.drafts.bar.button("show").click()
    dialog = driver.tab.drafts.dialog
    assert dialog is not None
    driver.until(lambda: "+" in dialog.diff.toPlainText())
    dialog.restore_button.click()
    driver.until(lambda: driver.pane.file is not None and driver.pane.file.content == content)
    file = driver.pane.file
    assert file is not None
    assert file.buffer.modified
    assert driver.pane.banner.isHidden()
    assert driver.tab.drafts.bar.isHidden()
    kept(driver)
    assert on_disk(driver) == {PATH: content}, "one draft, now of this window"
    driver.do("file.save")
    driver.until(lambda: on_disk(driver) == {})
    assert (home / REL).read_bytes() == content.encode()


def test_opening_the_file_offers_its_draft(windows: Windows, home: Path) -> None:
    content = left_behind(windows, home)
    driver = again(windows, home)
    driver.open("/memories/project/glossary.md")
    assert driver.pane.draft.isHidden()
    file = driver.open(PATH)
    assert driver.pane.draft.keys == ("restore", "compare", "later")
    driver.pane.draft.button("restore").click()
    driver.until(lambda: file.content == content)
    assert driver.pane.draft.isHidden()
    file.document.undo()
    assert file.text == (home / REL).read_text(), "the text on disk is one step away"


def test_keep_for_later_keeps_it_for_the_next_start(windows: Windows, home: Path) -> None:
    content = left_behind(windows, home)
    driver = again(windows, home)
    driver.open(PATH)
    driver.pane.draft.button("later").click()
    assert driver.pane.draft.isHidden()
    driver.type("other\n")
    kept(driver)
    driver.window.shut_down()
    driver = again(windows, home)
    contents = {offer.draft.content for offer in driver.tab.drafts.offers}
    assert len(contents) == 2
    assert content in contents, "newer typing replaced nothing"


def test_a_discarded_draft_is_gone(windows: Windows, home: Path) -> None:
    left_behind(windows, home)
    driver = again(windows, home)
    driver.tab.drafts.show_dialog()
    assert driver.tab.drafts.dialog is not None
    driver.tab.drafts.dialog.discard_button.click()
    driver.until(lambda: on_disk(driver) == {} and driver.tab.drafts.offers == ())
    assert not driver.tab.drafts.dialog.isVisible()


def test_a_file_that_changed_since_is_a_conflict_with_both_sides(windows: Windows, home: Path) -> None:
    content = left_behind(windows, home)
    (home / REL).write_text("theirs\n")
    driver = again(windows, home)
    driver.tab.drafts.restore(driver.tab.drafts.offers[0])
    driver.until(lambda: driver.pane.file is not None and driver.pane.file.content == content)
    file = driver.pane.file
    assert file is not None
    assert file.buffer.banner == "conflict"
    assert set(driver.pane.banner.keys) == {"next", "reload", "keep", "compare"}
    assert (home / REL).read_text() == "theirs\n"
    driver.pane.banner.button("reload").click()
    assert file.text == "theirs\n"


def test_the_draft_of_a_deleted_file_can_be_saved_again_as_it_was(windows: Windows, home: Path) -> None:
    (home / REL).write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    content = left_behind(windows, home, "mine\r\n")
    (home / REL).unlink()
    driver = again(windows, home)
    driver.tab.drafts.restore(driver.tab.drafts.offers[0])
    driver.until(lambda: driver.pane.file is not None and driver.pane.file.buffer.banner == "deleted")
    driver.pane.banner.button("save").click()
    driver.until(lambda: (home / REL).exists() and on_disk(driver) == {})
    assert (home / REL).read_bytes() == content.encode()


def test_a_draft_never_replaces_other_unsaved_text(windows: Windows, home: Path) -> None:
    left_behind(windows, home)
    driver = again(windows, home)
    file = driver.open(PATH)
    driver.type("other\n")
    text = file.text
    driver.tab.drafts.restore(driver.tab.drafts.offers[0])
    driver.until(lambda: "other unsaved text" in driver.tab.drafts.bar.text)
    assert file.text == text
    assert len(driver.tab.drafts.offers) == 1


def test_a_refused_restore_is_said_until_the_next_try_whatever_is_searched(
    windows: Windows, home: Path
) -> None:
    left_behind(windows, home)
    driver = again(windows, home)
    driver.open(PATH)
    driver.type("other\n")
    drafts = driver.tab.drafts
    drafts.restore(drafts.offers[0])
    driver.until(lambda: "other unsaved text" in drafts.bar.text)
    drafts.look_again()
    assert drafts._keeper.lane.busy
    driver.until(lambda: not drafts._keeper.lane.busy)
    assert "other unsaved text" in drafts.bar.text
    assert drafts.bar.keys == ("show",)
    drafts.bar._close.click()
    drafts.look_again()
    driver.until(lambda: "1 file has unsaved text" in drafts.bar.text)


def test_a_search_that_began_before_a_restore_offers_the_draft_no_more(windows: Windows, home: Path) -> None:
    content = left_behind(windows, home)
    driver = again(windows, home)
    drafts = driver.tab.drafts
    before = Offers(drafts.offers, ())
    drafts.restore(drafts.offers[0])
    driver.until(lambda: driver.pane.file is not None and driver.pane.file.content == content)
    drafts._on_found(before)
    assert (drafts.offers, drafts.bar.isHidden()) == ((), True)
    drafts._on_found(Offers((), ()))
    drafts._on_found(before)
    assert drafts.offers == before.offers, "another draft of that name"


def test_a_draft_without_a_place_to_go_can_still_be_read_and_copied(windows: Windows, home: Path) -> None:
    content = left_behind(windows, home)
    (home / REL).write_bytes(b"caf\xe9")
    driver = again(windows, home)
    driver.tab.drafts.show_dialog()
    dialog = driver.tab.drafts.dialog
    assert dialog is not None
    assert not dialog.restore_button.isEnabled()
    assert "UTF-8" in dialog.message.text
    dialog.copy_button.click()
    assert QGuiApplication.clipboard().text() == content
    dialog.later_button.click()
    assert on_disk(driver) == {PATH: content}


def test_closing_a_deleted_file_throws_its_draft_away_and_nothing_else_does(driver: Driver) -> None:
    file = driver.open(PATH)
    driver.type("mine\n")
    kept(driver)
    (driver.home / REL).unlink()
    driver.until(lambda: file.buffer.banner == "deleted")
    kept(driver)
    assert on_disk(driver).keys() == {PATH}
    driver.pane.banner.button("close").click()
    driver.until(lambda: on_disk(driver) == {})


@pytest.mark.parametrize("answer", ["discard", "save"])
def test_an_answered_close_leaves_no_draft(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    driver.open(PATH)
    driver.type("mine\n")
    kept(driver)
    driver.type("more, not kept yet\n")
    monkeypatch.setattr(dialogs, "ask_unsaved", lambda *_: answer)
    driver.window.close()
    driver.until(lambda: not driver.window.isVisible())
    assert on_disk(driver) == {}


def test_a_window_that_goes_without_asking_keeps_the_last_letter(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    file = driver.open(PATH)
    driver.pane.text.moveCursor(QTextCursor.MoveOperation.End)
    driver.type("the last letter")
    content = file.content
    driver.window.shut_down()
    assert on_disk(driver) == {PATH: content}


def test_nothing_typed_is_lost_when_the_engine_dies_again_and_again(windows: Windows, home: Path) -> None:
    driver = windows.open(home, engine=True)
    engine, keeper = driver.window.engine, driver.tab.keeper
    assert engine is not None
    file = driver.open(PATH)
    for number in range(5):
        driver.type(f"before {number}\n")
        if number % 2:
            # The draft may be on its way.
            keeper.flush()
        killed = engine.pid
        os.kill(killed, signal.SIGKILL)
        driver.type(f"after {number}\n")
        text = file.text
        driver.until(lambda: on_disk(driver) == {PATH: file.content})
        assert file.text == text
        assert file.text.count("after") == number + 1
        driver.until(lambda dead=killed: engine.pid not in (0, dead))
        kept(driver)
    assert driver.pane.error.isHidden(), driver.pane.error.text
    assert file is driver.pane.file
    content = file.content
    driver.window.shut_down()
    assert contents(windows) == [content]
    following = windows.open(home, engine=True)
    following.until(lambda: bool(following.tab.drafts.offers))
    following.tab.drafts.restore(following.tab.drafts.offers[0])
    following.until(lambda: following.pane.file is not None and following.pane.file.content == content)


def test_drafts_are_looked_for_once_the_trees_are_there_and_again_after_trouble(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    offers, session = driver.tab.drafts, driver.session
    looked: list[Any] = []
    monkeypatch.setattr(offers, "_look", looked.append)
    offers.set_session(session)
    whole = session._update
    session.tree_changed.emit(replace(whole, names_only=True))
    assert looked == []
    session.trouble.emit(EngineGone())
    session.trouble.emit(None)
    assert looked == [session]
    session.tree_changed.emit(whole)
    session.tree_changed.emit(whole)
    session.trouble.emit(EngineGone())
    assert looked == [session, session]


def test_an_engine_that_stays_away_is_told_and_asked_again(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = driver.open(PATH)
    link = driver.window.engine
    assert link is not None
    reach = link.client._connect

    def gone() -> Channel:
        raise EngineGone

    monkeypatch.setattr(link.client, "_connect", gone)
    driver.tab.keeper._retry.setInterval(50)
    assert link.client._channel is not None
    link.client._channel.shut()
    driver.type("mine\n")
    driver.until(lambda: not driver.pane.error.isHidden())
    assert file.buffer.modified
    monkeypatch.setattr(link.client, "_connect", reach)
    driver.until(lambda: on_disk(driver) == {PATH: file.content})
    driver.until(lambda: driver.pane.error.isHidden())


def test_a_draft_that_cannot_be_written_is_told_and_tried_again(driver: Driver) -> None:
    obstacle = driver.tab_profile / "drafts"
    obstacle.write_text("in the way")
    file = driver.open(PATH)
    driver.type("mine\n")
    driver.until(lambda: not driver.pane.error.isHidden())
    obstacle.unlink()
    driver.type("more\n")
    driver.until(lambda: on_disk(driver) == {PATH: file.content})
    driver.until(lambda: driver.pane.error.isHidden())


def test_a_damaged_draft_is_told_and_kept(windows: Windows, home: Path) -> None:
    left_behind(windows, home)
    (draft,) = (windows.profile.state / "drafts").rglob("*.json")
    draft.write_bytes(draft.read_bytes()[:50])
    driver = windows.open(home)
    driver.until(lambda: not driver.tab.drafts.bar.isHidden())
    assert "damaged" in driver.tab.drafts.bar.text
    assert driver.tab.drafts.bar.keys == ()
    (aside,) = draft.parent.iterdir()
    assert len(aside.read_bytes()) == 50


def test_nothing_of_a_draft_is_logged(windows: Windows, home: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    typed_and_killed(windows, home, "a-word-nobody-else-uses\n")
    driver = again(windows, home)
    driver.tab.drafts.restore(driver.tab.drafts.offers[0])
    driver.until(lambda: driver.pane.file is not None and driver.pane.file.buffer.modified)
    assert "a-word-nobody-else-uses" not in caplog.text


def a_text(content: str, sha256: str) -> Any:
    from reverie.services.views import FileText

    return FileText("x", content, sha256, "", len(content), 0, "\n", False)


@pytest.mark.parametrize(
    ("base", "disk", "banner", "expected"),
    [
        ("a", "a", "", "a"),
        ("a", "b", "conflict", "a"),
        ("a", None, "deleted", "a"),
        (None, "b", "conflict", None),
        (None, None, "deleted", None),
    ],
)
def test_what_a_restored_text_asks_of_a_person(
    base: str | None, disk: str | None, banner: str, expected: str | None
) -> None:
    texts = {name: a_text(name, name) for name in "ab"}
    blank = Buffer(FileRef("h", "s", "r"), Address(None, "p"), None, None)  # type: ignore[arg-type]
    after = from_draft(blank, texts.get(base or ""), texts["a"], texts.get(disk or ""))
    assert (after.banner, after.expected_sha256, after.modified) == (banner, expected, True)
