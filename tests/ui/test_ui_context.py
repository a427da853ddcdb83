"""The Context tab: what the agent is told, why, and what an edit, a pin or another time makes of it."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtGui import QGuiApplication
from ui_windows import Driver, Windows

from helpers.audit import problems
from helpers.context_homes import PINNED, WORKSPACE, mux_home, used
from reverie.agents.scopes import Scope
from reverie.clock import system_clock
from reverie.context.glances import Change, Glances, Since, glance_of, since
from reverie.context.view import ContextEntry, ContextPart, ContextView, Gauge
from reverie.errors import Unavailable
from reverie.memory.listing import LintFinding
from reverie.ui.appearance import dark_palette, theme_of
from reverie.ui.context_tab import BudgetGauge, ContextTab, since_words, spoken
from reverie.ui.editor.buffers import Buffers
from reverie.ui.icons import Icons
from reverie.ui.memory.edits import Edits
from reverie.values import replace

PATH = "/memories/global/a.md"
IN = ContextEntry(
    PATH, "in", "used", size=9, bytes=9, tokens=3, score=1.5, scope=Scope.GLOBAL, description="About a"
)
CUT = ContextEntry(
    "/memories/global/b.md", "cut", "cut", size=99, bytes=50, tokens=13, pinned=True, scope=Scope.GLOBAL
)
SECRET = LintFinding("secret", "warning", 3, "This looks like a token.")
OUT = ContextEntry(
    "/memories/global/c.md", "out", "items", size=4, score=0.2, scope=Scope.GLOBAL, marks=(SECRET,)
)
FILE = ContextEntry("AGENTS.md", "in", "loaded", size=8, bytes=8, tokens=2, file=Path("/h/AGENTS.md"))


def view_with(*entries: ContextEntry, tokens: int = 16, text: str = "<hot_memories>") -> ContextView:
    gauges = Gauge("bytes", 59, 49_152), Gauge("tokens", tokens, 12_000), Gauge("items", 2, 8)
    instructions = ContextPart("instructions", (FILE,), (Gauge("bytes", 8), Gauge("tokens", 2)), "be brief")
    return ContextView(
        "mux", 0, (ContextPart("hot-set", entries, gauges, text), instructions), 67, tokens + 2
    )


@pytest.fixture
def tab(qtbot: Any) -> ContextTab:
    made = ContextTab(Icons(), lambda: 0, Buffers(theme_of(dark_palette())), Edits(), lambda _path: ())
    qtbot.addWidget(made)
    made.resize(700, 500)
    made.show()
    return made


def gauge_texts(tab: ContextTab) -> tuple[str, ...]:
    return tuple(gauge.text for gauge in tab.findChildren(BudgetGauge) if not gauge.isHidden())


def test_each_part_has_its_list_its_gauges_and_its_text(
    tab: ContextTab, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tab.nothing.isVisible()
    tab.show_view(view_with(IN, CUT, OUT), "here")
    assert tab.title.text() == "here, as the agent sees it: about 18 tokens"
    assert [tab.bar.tabText(index) for index in range(2)] == ["Loaded in full · 2", "Instructions · 1"]
    assert gauge_texts(tab) == ("59 of 49,152 bytes", "16 of 12,000 tokens", "2 of 8 memories")
    assert tab.text.toPlainText() == "<hot_memories>"
    assert tab.list.rows.rowCount() == 3
    tab.list.setCurrentIndex(tab.list.rows.index(0, 0))
    assert (tab.pin.accessibleName(), tab.pin.isEnabled(), tab.open.isEnabled()) == ("Pin", True, True)
    pins: list[tuple[list[str], bool]] = []
    with monkeypatch.context() as shown:
        shown.setattr(tab, "session", object())
        shown.setattr(tab, "_update", SimpleNamespace(context=None))
        shown.setattr(tab._edits, "pin", lambda _session, _context, *asked: pins.append(asked))
        tab.pin.click()
    assert pins == [([PATH], True)]
    with qtbot.waitSignal(tab.open_wanted) as asked:
        tab.open.click()
    assert asked.args == [PATH]
    tab.list.setCurrentIndex(tab.list.rows.index(1, 0))
    assert tab.pin.accessibleName() == "Unpin"
    assert not tab.marks.isVisible()
    tab.list.setCurrentIndex(tab.list.rows.index(2, 0))
    assert tab.marks.text() == "global/c.md: Secret-like text, line 3: This looks like a token."
    tab.only.setChecked(True)
    assert tab.list.rows.rowCount() == 2
    tab.bar.setCurrentIndex(1)
    assert gauge_texts(tab) == ("8 bytes", "2 tokens")
    assert tab.text.toPlainText() == "be brief"
    tab.list.setCurrentIndex(tab.list.rows.index(0, 0))
    assert not tab.pin.isEnabled()
    assert not tab.open.isEnabled()
    tab.copy.click()
    assert QGuiApplication.clipboard().text() == "be brief"


@pytest.mark.parametrize("width", [360, 700])
def test_nothing_is_cut_pale_or_nameless(tab: ContextTab, width: int) -> None:
    tab.show_view(view_with(IN, CUT, OUT), "here")
    tab.list.setCurrentIndex(tab.list.rows.index(2, 0))
    tab.resize(width, 700)
    QGuiApplication.processEvents()
    assert problems(tab) == []


def test_a_row_says_in_words_what_its_signs_say() -> None:
    assert spoken(IN) == "global/a.md, loaded in full, used often, score 1.5, 9 bytes · 3 tokens"
    assert (
        spoken(OUT) == "global/c.md, not loaded, enough others are loaded in full, score 0.2, needs attention"
    )
    unseen = ContextEntry(PATH, "out", "unseen", scope=Scope.GLOBAL, detail="it is\u202e too large")
    assert "not visible to the agent: it is\\u202e too large" in spoken(unseen)


def test_the_lines_to_look_at_stand_on_another_ground(tab: ContextTab) -> None:
    view = view_with(IN, OUT, text="one\n\u202etwo\rthree\nfour\nfive\n")
    part = replace(view.parts[0], marked=(2, 4))
    tab.show_view(replace(view, parts=(part,)), "here")
    assert tab.text.marked == ["\\u202etwo", "three", "five"]
    assert [each.cursor.selectedText() for each in tab.text.extraSelections()] == tab.text.marked
    tab.setPalette(dark_palette())
    grounds = {each.format.background().color().name() for each in tab.text.extraSelections()}
    assert grounds == {theme_of(tab.palette()).warn_back.name()}
    tab.show_view(view_with(IN), "here")
    assert tab.text.marked == []


def test_what_cannot_be_read_is_said_at_the_first_look(tab: ContextTab) -> None:
    tab.show_unread(Unavailable("The home is gone.", next_step="Look for it."))
    assert tab.message.isVisible()
    assert "The home is gone." in tab.message.text
    tab.forget()
    assert not tab.message.isVisible(), "another home has nothing to do with it"


def test_the_selection_and_the_scroll_stay_while_figures_change(tab: ContextTab) -> None:
    long = "\n".join(map(str, range(500)))
    tab.show_view(view_with(IN, CUT, OUT, text=long), "here")
    tab.list.setCurrentIndex(tab.list.rows.index(2, 0))
    tab.text.verticalScrollBar().setValue(200)
    tab.show_view(view_with(CUT, IN, OUT, tokens=99, text=long + "x"), "here")
    assert tab.entry == OUT
    assert tab.text.verticalScrollBar().value() == 200
    assert gauge_texts(tab)[1] == "99 of 12,000 tokens"


def test_what_changed_since_one_looked_is_said() -> None:
    before = glance_of(view_with(IN, CUT))
    assert since(None, view_with(IN)) is None
    assert since({"at": "?"}, view_with(IN)) is None
    same = since(before, view_with(IN, CUT))
    assert same == Since(0, (), 0)
    assert since_words(same, 7_200_000) == "No changes since your last visit (2 h ago)."
    other = ContextEntry("/memories/global/d.md", "in", "used", bytes=1, scope=Scope.GLOBAL)
    whole = ContextEntry(CUT.path, "in", "pinned", bytes=50, scope=Scope.GLOBAL)
    found = since(before, view_with(other, whole, tokens=20))
    assert found is not None
    assert set(found.changes) == {
        Change("hot-set", other.path, "came"),
        Change("hot-set", whole.path, "whole"),
        Change("hot-set", IN.path, "went"),
    }
    assert "global/d.md was added" in since_words(found, 0)
    assert since_words(found, 0).endswith("+4 tokens.")


def settled(driver: Driver) -> ContextTab:
    driver.until(lambda: driver.window.lazy_tabs.context.is_settled)
    found: ContextTab = driver.window.lazy_tabs.context
    return found


def test_edits_pins_and_time_show_in_the_context_of_a_window(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.window.lazy_tabs.show_context()
    assert not driver.window.lazy_tabs.context.nothing.isVisible(), "a workspace is selected"
    tab = settled(driver)
    assert tab.view is not None
    assert tab.part is not None
    assert tab.part.key == "hot-set"
    hot = [entry.path for entry in tab.part.loaded]
    assert len(hot) == 8
    assert tab.part.text.startswith("<hot_memories>")
    # What is typed shows on the spot, before anything is saved.
    first = hot[0]
    driver.open(first)
    sizes = {driver.pane.gauge.text}
    for _ in range(3):
        driver.type("A line more.\n")
        sizes.add(driver.pane.gauge.text)
    assert len(sizes) == 4, "the gauge beside the text, too, at each keystroke"
    document = driver.window.tab.buffers.unsaved()[0].document
    while document.isUndoAvailable():
        document.undo()
    driver.window.lazy_tabs.show_context()
    before = tab.part.gauges[0].used
    driver.type("A line more.\n")
    assert tab.part.gauges[0].used == before + 13
    assert gauge_texts(tab)[0] == f"{before + 13:,} of 49,152 bytes"
    for more in range(14, 17):
        driver.type("x")
        assert gauge_texts(tab)[0] == f"{before + more:,} of 49,152 bytes", "each keystroke"
    assert tab.title.text().endswith("includes unsaved text")
    while document.isUndoAvailable():
        document.undo()
    # Another time: the scores fall.
    score = tab.part.loaded[0].score
    tab.clock.setValue(7)
    driver.until(lambda: driver.window.lazy_tabs.context.is_settled)
    assert tab.part.loaded[0].score == pytest.approx((score or 0) / 2, rel=1e-3)  # time goes on meanwhile
    assert tab.clock_says.text() == "in 7 days"
    tab.clock.setValue(0)
    # A pin from here comes back through the file.
    tab.list.setCurrentIndex(tab.list.rows.index(9, 0))
    entry = tab.entry
    assert entry is not None
    assert entry.state == "out"
    tab.pin.click()
    driver.until(lambda: entry.path in [one.path for one in tab.part.loaded] if tab.part else False)
    # What is opened from here is shown in the editor.
    tab.open.click()
    assert driver.tab.beside is None, "the editor again"
    driver.until(lambda: driver.window.tab.tree.current_data() is not None)


def test_what_changed_is_said_however_often_it_is_gathered(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(home)
    driver.window.lazy_tabs.show_context()
    assert settled(driver).since.text() == ""
    driver.window.lazy_tabs.toggle_context()
    assert driver.tab.beside is None
    (home / "memory" / "global" / "preferences.md").write_text("Much shorter.\n")
    again = windows.open(home)
    stored, store = Event(), Glances.store

    def stored_now(glances: Glances, *what: Any) -> None:
        store(glances, *what)
        stored.set()

    monkeypatch.setattr(Glances, "store", stored_now)
    again.window.lazy_tabs.show_context()
    # The memories change again before the GUI thread hears of the first one.
    assert stored.wait(15)
    again.window.lazy_tabs.context.read()
    assert "global/preferences.md changed size" in settled(again).since.text()


def test_a_memory_that_is_selected_in_the_trees_is_shown_where_the_agent_reads_it(
    windows: Windows, home: Path
) -> None:
    """B23: selecting a row did not scroll the exact text to it."""
    driver = windows.open(home)
    driver.do("view.context")
    tab = settled(driver)
    assert driver.tab.beside is tab
    assert tab.part is not None
    last = tab.part.loaded[-1]
    assert driver.tree.select_path(last.path)
    assert tab.entry is not None
    assert tab.entry.path == last.path
    line = tab.text.textCursor().block().text()
    assert last.path in line
    assert tab.text.verticalScrollBar().value() > 0
    # Enter opens it in the editor; the same key shows the agent's view again.
    driver.tree.opened.emit(driver.tree.current_data())
    assert driver.tab.beside is None
    driver.do("view.context")
    assert driver.tab.beside is tab
    driver.do("view.context")
    assert driver.tab.beside is None


def test_a_save_that_displaces_a_memory_says_what_is_loaded_next(windows: Windows, tmp_path: Path) -> None:
    line = "A line of nineteen.\n"
    files = {"g/a.md": "short\n", "g/b.md": line * 780, "g/c.md": line * 780, "g/d.md": line * 500}
    usage = {"g/a.md": PINNED, "g/b.md": used(9, 1), "g/c.md": used(9, 1), "g/d.md": used(1, 1)}
    usage = {short: {**entry, "lastAccessedAt": system_clock()} for short, entry in usage.items()}
    driver = windows.open(mux_home(tmp_path / "mux", files, usage), WORKSPACE)
    model = driver.tab.model
    driver.until(lambda: model.loaded_at("/memories/global/d.md") == "full")
    driver.open("/memories/global/a.md")
    driver.type(line * 500)
    driver.do("file.save")
    driver.until(lambda: "Loaded next: − d" in driver.window.statusBar().currentMessage())
