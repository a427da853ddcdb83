"""Index care in a real window: the cut drawn where the agent stops, mends by one press that Undo takes back,
and a rename that shows first what changes with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QDialog
from ui_windows import Windows

from helpers.audit import problems
from helpers.claude_home import ClaudeHomeMaker, newer_topic, session_id, topic
from reverie.agents.memory_index import Cut, IndexFinding, IndexReport
from reverie.agents.scopes import Scope
from reverie.jobs.single_file.notes_sections import current_template
from reverie.services.memory_index import IndexCheck
from reverie.ui.icons import Icons
from reverie.ui.memory.edit_dialogs import MoveDialog
from reverie.ui.memory.findings import IndexPanel
from reverie.values import replace

BASE = "/memories/project"
INDEX = (
    "- [Deploy](deploy.md) — how deploys go\n- [Gone](gone.md) — nothing there\n"
    f"- [Tests](tests.md) — {'very long words ' * 12}\n"
)


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The home and the memory of its project."""
    maker = ClaudeHomeMaker(tmp_path)
    monkeypatch.setenv("HOME", str(maker.user))
    cwd = maker.repository("work")
    maker.session(cwd, 1)
    maker.typed(cwd)
    maker.notes(cwd, 1, "\n# Session Title\n_A title_\n")
    files = {
        "MEMORY.md": INDEX,
        "deploy.md": topic("deploy", body="See [[tests]].\n"),
        "tests.md": newer_topic("how-tests-run"),
        "unlisted.md": topic("unlisted", "what nobody lists"),
    }
    return maker.root, maker.memory(cwd, files)


def contents(memory: Path) -> dict[str, bytes]:
    """The notes by name. A write on its way has a hidden name and may be gone before it is read."""
    return {path.name: path.read_bytes() for path in memory.glob("[!.]*")}


def findings(driver: Any) -> list[str]:
    look = driver.tab.index_care.panel.look
    return [] if look is None else [each.problem for each in look.report.findings]


def fix(driver: Any) -> None:
    """Fix the checked problems of the open index, as a person does who agrees to the lines."""
    control = driver.tab.index_care
    control.panel.fix.click()
    driver.until(lambda: control.dialog is not None)
    control.dialog.accept_button.click()


def test_the_notes_of_a_session_are_told_of_and_updated_by_a_press(
    windows: Windows, claude: tuple[Path, Path]
) -> None:
    root, _memory = claude
    driver = windows.open(root, session_id(1))
    notes = driver.tab.notes
    driver.until(notes.row.isVisible)
    assert driver.window.actions_["dream.notes"].isEnabled()
    assert "Session notes" in notes.row.text.text()
    assert "rules" in notes.row.button.toolTip()
    notes.row.button.click()
    driver.until(lambda: not notes.running)
    (summary,) = root.glob("projects/*/*/session-memory/summary.md")
    said = notes.row.text.text()
    assert notes.available, said
    assert summary.read_text().startswith("\n# Session Title\n_A title_\n")


def test_who_opens_a_file_of_the_repository_is_told_that_others_get_the_change(
    windows: Windows, claude: tuple[Path, Path]
) -> None:
    root, _memory = claude
    (root.parent / "work" / "CLAUDE.md").write_text("Be brief.\n")
    driver = windows.open(root, session_id(1))
    model = driver.tab.model
    rows = [
        model.index(row, 0, model.index(scope, 0))
        for scope in range(model.rowCount())
        for row in range(model.rowCount(model.index(scope, 0)))
    ]
    (index,) = [
        each for each in rows if str(each.data()).startswith("CLAUDE.md") and model.parent(each).row() == 1
    ]
    driver.tree.setCurrentIndex(index)
    driver.until(lambda: driver.pane.file is not None)
    assert "other people may receive your change" in driver.pane.reason.text
    assert not driver.pane.text.isReadOnly()
    driver.open(f"{BASE}/deploy.md")
    assert not driver.pane.reason.isVisible()


def test_what_is_to_mend_in_notes_is_listed_and_leads_to_its_line(
    windows: Windows, claude: tuple[Path, Path]
) -> None:
    root, _memory = claude
    (summary,) = root.glob("projects/*/*/session-memory/summary.md")
    template = current_template(root / "session-memory" / "config" / "template.md")
    text = template.replace("# Workflow\n", "# Work & flow\n").lstrip("\n")
    text = text.replace("# Learnings\n_", "# Learnings\n_Changed: ", 1) + "x" * 8_100
    summary.write_text(text)
    lines = text.split("\n")
    driver = windows.open(root, session_id(1))
    row = driver.tab.notes.row
    driver.until(lambda: row.isVisible() and row.problems.isVisible())
    entries = row.problems.menu().actions()
    assert row.problems.text() == f"{len(entries)} problems"
    said = [entry.text() for entry in entries]
    assert "The section “Workflow” is missing" in said
    assert "The description under “Learnings” was changed" in said
    assert any(each.startswith("“Worklog” has 2,0") for each in said)
    entries[said.index("The description under “Learnings” was changed")].trigger()
    driver.until(lambda: driver.pane.file is not None and driver.pane.text.textCursor().blockNumber() > 0)
    assert driver.pane.text.textCursor().blockNumber() == lines.index("# Learnings") + 1
    entries[said.index("The section “Workflow” is missing")].trigger()
    assert driver.pane.text.textCursor().blockNumber() == lines.index("# Files and Functions")
    assert problems(driver.window) == []


def test_several_that_move_take_the_index_and_links_along_once_a_person_saw_it(
    windows: Windows, claude: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, memory = claude
    driver = windows.open(root, session_id(1))
    hand, care, paths = driver.tab.hand, driver.tab.index_care, [f"{BASE}/deploy.md", f"{BASE}/tests.md"]
    driver.until(lambda: care.keeps_index(paths[0]))
    folder = ["project", "old"]

    def answer(dialog: MoveDialog) -> int:
        dialog.scope.setCurrentIndex(dialog.scope.findData(Scope(folder[0])))
        dialog.folder.setEditText(folder[1])
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(MoveDialog, "exec", answer)
    monkeypatch.setattr(hand, "_selected_paths", lambda: paths)
    hand.move_selected()
    driver.until(lambda: care.dialog is not None)
    assert care.dialog.head.text().startswith("2 items will be moved to project/old. This also changes")
    assert (memory / "MEMORY.md").read_text() == INDEX
    care.dialog.accept()
    driver.until(lambda: (memory / "old" / "deploy.md").exists() and driver.tab.undo_bar.isVisible())
    assert (memory / "MEMORY.md").read_text() == INDEX.replace("(deploy.md)", "(old/deploy.md)").replace(
        "(tests.md)", "(old/tests.md)"
    )
    hand.edits.undo()
    driver.until(lambda: (memory / "deploy.md").exists() and (memory / "MEMORY.md").read_text() == INDEX)
    driver.settle()
    folder[:] = ["global", ""]
    hand.move_selected()
    driver.until(lambda: "edit them by hand" in driver.tab.undo_bar.text)
    assert (memory / "MEMORY.md").read_text() == INDEX


def test_index_care_from_the_look_to_the_rename(windows: Windows, claude: tuple[Path, Path]) -> None:
    root, memory = claude
    index = memory / "MEMORY.md"
    driver = windows.open(root, session_id(1))
    panel, text = driver.tab.index_care.panel, driver.pane.text
    driver.open(f"{BASE}/deploy.md")
    assert not panel.isVisible()
    driver.open(f"{BASE}/MEMORY.md")
    driver.until(panel.isVisible)
    assert findings(driver) == ["no-file", "long-line", "unlisted"]
    assert text.unseen_block is None
    assert panel.list.count() == 3
    assert panel.fix.text() == "&Fix 3 problems…"

    wide = driver.window.size()
    driver.until(lambda: driver.tab.lint.complete and driver.tab.notes.row.isVisible())
    driver.until(lambda: problems(driver.window) == [])
    for height in (780, 560):  # where the height does not do, what is below each other scrolls
        driver.window.resize(375, height)
        driver.until(lambda: problems(driver.window) == [])
    driver.window.resize(wide)

    # All fixes are shown first; Cancel changes nothing.
    control, before = driver.tab.index_care, contents(memory)
    panel.fix.click()
    driver.until(lambda: control.dialog is not None)
    shown = [control.dialog.list.item(row).text().split("\n") for row in range(control.dialog.list.count())]
    assert shown[0] == ["MEMORY.md, line 2", "− - [Gone](gone.md) — nothing there", "+ "]
    assert [lines[0] for lines in shown[1:]] == ["MEMORY.md, line 3"] * 2
    assert shown[2][1:] == ["− ", "+ - [unlisted](unlisted.md) — what nobody lists"]
    assert problems(control.dialog) == []
    control.dialog.reject()
    driver.until(lambda: control.dialog is None)
    assert contents(memory) == before

    # Only what is checked is fixed, and the other boxes stay as they are.
    for row in (1, 2):
        panel.list.item(row).setCheckState(Qt.CheckState.Unchecked)
    assert panel.fix.text() == "&Fix 1 problem…"
    fix(driver)
    driver.until(lambda: findings(driver) == ["long-line", "unlisted"])
    assert index.read_text() == INDEX.replace("- [Gone](gone.md) — nothing there\n", "")
    driver.until(lambda: "Gone" not in text.toPlainText())
    assert not panel.fix.isEnabled()
    panel.list.item(0).setCheckState(Qt.CheckState.Checked)
    fix(driver)
    driver.until(lambda: findings(driver) == ["unlisted"])
    panel.list.item(0).setCheckState(Qt.CheckState.Checked)
    fix(driver)
    driver.until(lambda: not panel.isVisible())
    assert index.read_text().endswith("\n- [unlisted](unlisted.md) — what nobody lists\n")
    driver.until(lambda: "Fixed 1 line" in driver.tab.undo_bar.text)
    driver.window.actions_["memory.undo"].trigger()
    driver.until(lambda: findings(driver) == ["unlisted"] and "nobody lists" not in text.toPlainText())

    # Unsaved text: mends wait, and the cut is drawn as one types.
    text.moveCursor(QTextCursor.MoveOperation.End)
    text.insertPlainText("".join(f"line {number}\n" for number in range(220)))
    driver.until(lambda: not panel.fix.isEnabled())
    driver.until(lambda: text.unseen_block == 200)
    driver.window.actions_["file.save"].trigger()
    driver.until(lambda: "over-lines" in findings(driver))
    assert "200 of 222" in panel.summary.text()
    index.write_text(INDEX)
    driver.until(lambda: text.unseen_block is None and "over-lines" not in findings(driver))

    # A rename shows what changes with it; Cancel changes nothing.
    before = contents(memory)
    driver.tab.hand._rename(f"{BASE}/tests.md", "testing.md")
    driver.until(lambda: control.dialog is not None)
    assert [control.dialog.list.item(row).text().split("\n")[0] for row in range(2)] == [
        "MEMORY.md, line 3",
        "deploy.md, line 6",
    ]
    assert problems(control.dialog) == []
    control.dialog.reject()
    assert contents(memory) == before
    driver.tab.hand._rename(f"{BASE}/tests.md", "testing.md")
    driver.until(lambda: control.dialog is not None)
    control.dialog.accept_button.click()
    driver.until(lambda: (memory / "testing.md").exists() and not (memory / "tests.md").exists())
    driver.until(lambda: "(testing.md)" in index.read_text())
    assert "[[testing]]" in (memory / "deploy.md").read_text()
    driver.until(lambda: driver.tab.undo_bar.text.startswith("Renamed"))
    driver.window.actions_["memory.undo"].trigger()
    driver.until(lambda: not (memory / "testing.md").exists() and (memory / "tests.md").exists())
    driver.until(lambda: contents(memory) == before)

    # What nothing leads to is renamed as ever.
    driver.tab.hand._rename(f"{BASE}/unlisted.md", "other.md")
    driver.until((memory / "other.md").exists)


def test_the_button_asks_for_the_checked_problems_and_a_box_keeps_its_state(qtbot: Any) -> None:
    panel = IndexPanel(Icons())
    qtbot.addWidget(panel)
    gone, fallen = (
        IndexFinding("no-file", "MEMORY.md", 2, "gone.md"),
        IndexFinding("falls-off", "MEMORY.md", 9),
    )
    other, no_box = replace(gone, line=3, about="lost.md"), IndexFinding("no-description", "a.md")
    prose = IndexFinding("listed-twice", "MEMORY.md", 7, "a.md", is_prose=True)

    def show(*shown: IndexFinding) -> None:
        report = IndexReport(Cut("", None, 0, 3, 100), (), shown)
        panel.show_look(IndexCheck(f"{BASE}/MEMORY.md", BASE, None, report))

    show(gone, other, prose, no_box, fallen)
    asked: list[tuple[IndexFinding, ...]] = []
    panel.fix_wanted.connect(asked.append)
    panel.fix.click()
    # A line that is moved up displaces another one, and prose may say more: a person has to want these.
    assert asked.pop() == (gone, other)
    assert panel.list.item(3).data(Qt.ItemDataRole.CheckStateRole) is None
    panel.list.item(0).setCheckState(Qt.CheckState.Unchecked)
    panel.list.item(4).setCheckState(Qt.CheckState.Checked)
    panel.fix.click()
    assert asked.pop() == (other, fallen)
    moved = [replace(each, line=each.line + 1) for each in (gone, other, fallen)]
    show(*moved)
    assert panel.checked == tuple(moved[1:])
    panel.set_may_fix(False)
    panel.fix.click()
    assert asked == []
