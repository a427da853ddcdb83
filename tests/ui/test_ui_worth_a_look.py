"""Worth a look: what a careful reader would notice, in a page beside the trees."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractSlider
from ui_windows import INGEST, Driver, Held, Windows

from helpers.samples import copy_sample
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.errors import Unavailable
from reverie.jobs.consolidate.overlay import NoticedPair
from reverie.services.findings import FindingService, MemoryFinding
from reverie.ui.memory.side_by_side import aligned
from reverie.ui.memory.worth_a_look import FindingModel, only_here

BODY = """# Releases

- Cut the release branch on Monday; nobody merges into it but the release manager.
- Run `make smoke` on staging twice, with the cache on and with the cache off.
- Write the notes for people who use the program, not for those who wrote it.
"""
OLD, NEW = "/memories/global/releases.md", "/memories/global/releases-updated.md"
TOKEN = "ghp_" + "k7Qz2mXv9RtB4nLw8YcD3fHs6JpA1eUg5ToS"


def opened(windows: Windows, home: Path) -> Driver:
    (home / "memory/global/releases.md").write_text(BODY)
    (home / "memory/global/releases-updated.md").write_text(BODY.replace("twice", "three times"))
    (home / "memory/global/login.md").write_text(f"# Login\n\nThe token is {TOKEN}\n")
    driver = windows.open(home)
    driver.do("view.worth")
    driver.until(lambda: driver.tab.worth.is_settled and bool(driver.tab.worth.page.list.values))
    return driver


def kinds(driver: Driver) -> dict[str, tuple[str, ...]]:
    return {each.kind: each.paths for matter in driver.tab.worth.page.list.values for each in matter}


def choose(driver: Driver, kind: str) -> None:
    listed = driver.tab.worth.page.list
    row = [matter[0].kind for matter in listed.values].index(kind)
    listed.setCurrentIndex(listed.rows.index(row, 0))


def test_the_page_lists_findings_and_shows_both_sides_of_a_pair(windows: Windows, home: Path) -> None:
    driver = opened(windows, home)
    page = driver.tab.worth.page
    assert kinds(driver)["successor"] == (OLD, NEW)
    assert kinds(driver)["secret"] == ("/memories/global/login.md",)
    assert page.list.hasFocus()
    assert f"{len(page.list.values)} things worth a look" == page.title.text()
    choose(driver, "successor")
    driver.until(lambda: bool(page.pair.sides.rows))
    assert any("twice" in row.left.text and "three times" in row.right.text for row in page.pair.sides.rows)
    choose(driver, "secret")
    assert page.pair.isHidden()
    assert page.merge.isHidden()
    assert page.open_other.isHidden()
    assert TOKEN not in page.list.rows.data(page.list.currentIndex(), Qt.ItemDataRole.ToolTipRole)
    page.open.click()
    driver.until(lambda: driver.pane.file is not None)
    assert not driver.tab.worth.is_page_shown
    assert driver.pane.text.textCursor().blockNumber() == 2


def test_a_look_that_fails_says_so_and_does_not_go_on_looking(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(_service: FindingService, **_named: object) -> None:
        raise Unavailable("The disk is not responding.")

    driver = windows.open(home)
    with monkeypatch.context() as patched:
        patched.setattr(FindingService, "find", find)
        driver.do("view.worth")
        driver.until(lambda: "is not responding" in driver.tab.worth.page.message.text)
        assert driver.tab.worth.page.title.text() == "Not checked yet"
    driver.do("view.worth")
    driver.do("view.worth")
    driver.until(lambda: driver.tab.worth.page.title.text() != "Not checked yet")
    assert "worth a look" in driver.tab.worth.page.title.text()


def test_what_is_dismissed_goes_and_comes_back_with_undo(windows: Windows, home: Path) -> None:
    driver = opened(windows, home)
    page = driver.tab.worth.page
    choose(driver, "successor")
    driver.qtbot.keyClick(page.list, Qt.Key.Key_Delete)
    driver.until(lambda: "successor" not in kinds(driver))
    assert page.note.text() == "1 dismissed finding is hidden"
    page.message.button("restore").click()
    driver.until(lambda: "successor" in kinds(driver))


def test_all_that_was_dismissed_comes_back_on_demand(windows: Windows, home: Path) -> None:
    driver = opened(windows, home)
    page = driver.tab.worth.page
    assert page.again.isHidden()
    for kind in ("successor", "secret"):
        choose(driver, kind)
        driver.qtbot.keyClick(page.list, Qt.Key.Key_Delete)
        driver.until(lambda kind=kind: kind not in kinds(driver))
        driver.until(page.dismiss.isEnabled)
    page.message.clear()
    page.again.click()
    driver.until(lambda: {"successor", "secret"} <= kinds(driver).keys())
    assert page.again.isHidden()


def test_a_second_click_does_not_decide_the_pair_that_comes_up_next(windows: Windows, home: Path) -> None:
    driver = opened(windows, home)
    page = driver.tab.worth.page
    choose(driver, "secret")
    left = len(page.list.values)
    page._pause.setInterval(60_000)  # a double click on a machine on which every check is fast
    page.dismiss.click()
    driver.until(lambda: len(page.list.values) == left - 1)
    assert page.current is not None
    assert not page.dismiss.isEnabled()
    assert not page.both.isEnabled()
    page.dismiss.click()
    page.both.click()
    page._pause.start(0)
    driver.until(page.dismiss.isEnabled)
    assert len(page.list.values) == left - 1


@pytest.mark.parametrize(("side", "stays", "goes"), [("left", OLD, NEW), ("right", NEW, OLD)])
def test_one_press_keeps_one_of_a_pair_and_undo_brings_the_other_back(
    windows: Windows, home: Path, side: str, stays: str, goes: str
) -> None:
    driver = opened(windows, home)
    page = driver.tab.worth.page
    choose(driver, "successor")
    driver.until(lambda: bool(page.pair.sides.rows))
    head = getattr(page.pair, side)
    assert head.name.text() == f"{stays.removeprefix('/memories/')} · 1 line is only in this memory"
    before = {path: (home / path.replace("/memories", "memory").lstrip("/")) for path in (stays, goes)}
    data = {path: file.read_bytes() for path, file in before.items()}
    head.keep.click()
    driver.until(lambda: not before[goes].exists())
    assert before[stays].read_bytes() == data[stays]
    driver.until(lambda: "successor" not in kinds(driver))
    assert f"Kept {stays.removeprefix('/memories/')}" in page.message.text
    page.message.button("undo").click()
    driver.until(lambda: before[goes].exists() and before[goes].read_bytes() == data[goes])
    driver.until(lambda: "successor" in kinds(driver))


@pytest.mark.parametrize("by_key", [False, True])
def test_one_press_applies_the_suggestion_and_undo_takes_it_back(
    windows: Windows, home: Path, by_key: bool
) -> None:
    copy = home / "memory/global/checks-copy.md"
    for file in (copy, home / "memory/global/checks.md"):
        file.write_text(
            "# Checks\n\n- Compare the totals of the ledger with those of the bank each Friday.\n"
        )
    driver = opened(windows, home)
    page = driver.tab.worth.page

    def select(path: str) -> None:
        row = next(n for n, matter in enumerate(page.list.values) if path in matter[0].paths)
        page.list.setCurrentIndex(page.list.rows.index(row, 0))

    select(OLD)
    assert page.apply.isHidden(), "the two state different things"
    assert page.diff.isHidden()
    select("/memories/global/checks.md")
    assert page.why.text().startswith("Suggestion: checks.md has everything that checks-copy.md states.")
    assert page.diff.content.startswith("--- a/memories/global/checks-copy.md\n+++ /dev/null\n")
    assert "ledger" in page.diff.content
    if by_key:
        driver.qtbot.keyClick(page.list, Qt.Key.Key_A)
    else:
        page.apply.click()
    driver.until(lambda: not copy.exists())
    driver.until(lambda: "checks" not in repr([matter[0].paths for matter in page.list.values]))
    assert page.message.text.startswith("Applied the suggested change. checks.md has everything")
    page.message.button("undo").click()
    driver.until(copy.exists)


def test_a_pair_that_changed_meanwhile_is_left_alone_and_the_page_says_so(
    windows: Windows, home: Path
) -> None:
    driver = opened(windows, home)
    page = driver.tab.worth.page
    choose(driver, "successor")
    driver.until(lambda: bool(page.pair.sides.rows))
    (home / "memory/global/releases.md").unlink()
    page.pair.right.keep.click()
    driver.until(lambda: not page.message.isHidden() and "have changed since" in page.message.text)
    assert (home / "memory/global/releases-updated.md").exists()


def test_a_memory_that_differs_from_what_is_shown_is_not_deleted(windows: Windows, home: Path) -> None:
    driver = opened(windows, home)
    page = driver.tab.worth.page
    choose(driver, "successor")
    driver.until(lambda: bool(page.pair.sides.rows))
    assert page.current is not None
    goes = home / page.current.paths[0].replace("/memories", "memory").lstrip("/")
    text = goes.read_text() + "- A line that nobody has seen here.\n"
    goes.write_text(text)
    page.pair.right.keep.click()
    driver.until(lambda: not page.message.isHidden() and "changed since" in page.message.text)
    assert goes.read_text() == text


def test_what_is_pressed_is_done_in_its_home_and_undone_only_there(
    windows: Windows, home: Path, tmp_path: Path
) -> None:
    driver = opened(windows, home)
    here, page = driver.session, driver.tab.worth.page
    choose(driver, "successor")
    driver.until(lambda: bool(page.pair.sides.rows))
    other_home = copy_sample("mux-home-legacy", tmp_path / "other")
    driver.window.homes.open(other_home)
    driver.until(lambda: len(driver.window.homes.sessions) == 2)
    (other,) = (each for each in driver.window.homes.sessions if each is not here)
    before = {file: file.read_bytes() for file in other_home.rglob("*.md")}
    held = Held(here.lanes.scan)
    page.pair.right.keep.click()
    assert driver.window.picker.pick_home(other.info.id)
    held.let_go()
    driver.until(lambda: driver.session is other and driver.tab.worth.is_settled)
    driver.until(lambda: not (home / "memory/global/releases.md").exists())
    driver.settle()
    assert {file: file.read_bytes() for file in other_home.rglob("*.md")} == before
    assert driver.tab.edits.last is None, "Undo is about the home that is shown"


def test_what_is_compared_late_is_not_shown_for_another_row(windows: Windows, home: Path) -> None:
    driver = opened(windows, home)
    page = driver.tab.worth.page
    choose(driver, "successor")
    driver.until(lambda: bool(page.pair.sides.rows) and not page.pair.isHidden())
    pair, rows = page.current, page.pair.sides.rows
    choose(driver, "secret")
    assert page.pair.isHidden()
    page.show_sides(pair, rows)
    assert page.pair.isHidden()


def test_both_of_a_pair_stay_and_the_pair_is_not_shown_again(windows: Windows, home: Path) -> None:
    driver = opened(windows, home)
    page = driver.tab.worth.page
    choose(driver, "successor")
    assert not page.both.isHidden()
    assert page.dismiss.isHidden()
    page.both.click()
    driver.until(lambda: "successor" not in kinds(driver))
    assert {OLD, NEW} <= {f"/memories/global/{file.name}" for file in (home / "memory/global").iterdir()}
    choose(driver, "secret")
    assert page.both.isHidden()
    assert not page.dismiss.isHidden()


def test_lines_that_both_say_elsewhere_do_not_count_as_only_on_one_side() -> None:
    rows = aligned("# A\n\none\ntwo\nthree\n", "# A\n\ntwo\n- four\none\n")
    assert (only_here(rows, "left"), only_here(rows, "right")) == (1, 1)
    assert only_here(aligned("one\n", "one\n"), "left") == 0


def test_a_pair_is_merged_by_hand_into_the_newer_one_with_undo(windows: Windows, home: Path) -> None:
    driver = opened(windows, home)
    page, control = driver.tab.worth.page, driver.tab.worth
    choose(driver, "successor")
    page.merge.click()
    driver.until(lambda: control.dialog is not None and control.dialog.is_checked)
    dialog = control.dialog
    assert dialog is not None
    assert dialog.chosen[0].path == NEW
    dialog.merge.emit(dialog.chosen, BODY)
    driver.until(lambda: not (home / "memory/global/releases.md").exists())
    assert (home / "memory/global/releases-updated.md").read_text() == BODY
    driver.until(lambda: "successor" not in kinds(driver))
    driver.do("memory.undo")
    driver.until(lambda: (home / "memory/global/releases.md").exists())
    driver.until(lambda: "successor" in kinds(driver))


def test_the_page_follows_other_writers_and_closes_with_escape(windows: Windows, home: Path) -> None:
    driver = opened(windows, home)
    page = driver.tab.worth.page
    (home / "memory/global/login.md").write_text("# Login\n\nAsk the on-call person.\n")
    driver.until(lambda: "secret" not in kinds(driver))
    driver.qtbot.keyClick(page.list, Qt.Key.Key_Escape)
    driver.until(lambda: not driver.tab.worth.is_page_shown)


def test_what_a_model_noticed_is_shown_with_what_it_says(windows: Windows, home: Path) -> None:
    (home / "memory/global/queue.md").write_text("# Queue\n\nA job is handled inside the request.\n")
    (home / "memory/global/worker.md").write_text("# Worker\n\nThe worker takes every job.\n")
    driver = opened(windows, home)
    page = driver.tab.worth.page
    context = driver.tab._shown.update.context
    pair = NoticedPair(
        "contradiction",
        ("/memories/global/queue.md", "/memories/global/worker.md"),
        ("A job is handled inside the request.", "The worker takes every job."),
        "Only one of them can be <b>true</b>.",
    )
    open_parts(home, windows.profile, system_clock).noticed.add(context, [pair])
    (home / "memory/global/worker.md").write_text("# Worker\n\nThe worker takes every job.\n\nSince May.\n")
    driver.until(lambda: any(matter[0].why for matter in page.list.values))
    row = [bool(matter[0].why) for matter in page.list.values].index(True)
    page.list.setCurrentIndex(page.list.rows.index(row, 0))
    assert page.why.text() == "Reason given by the model: Only one of them can be <b>true</b>."
    assert page.why.textFormat() == Qt.TextFormat.PlainText
    driver.until(lambda: bool(page.pair.sides.rows))
    choose(driver, "secret")
    assert page.why.isHidden()


def test_a_pair_with_a_file_beside_the_memories_shows_both_sides(windows: Windows, home: Path) -> None:
    beside = str(home / "AGENTS.md")
    (home / "AGENTS.md").write_text("# Everywhere\n\nShort answers first.\n")
    (home / "memory/global/queue.md").write_text("# Queue\n\nLong answers first.\n")
    driver = opened(windows, home)
    page = driver.tab.worth.page
    lines = ("Long answers first.", "Short answers first.")
    pair = NoticedPair("contradiction", ("/memories/global/queue.md", beside), lines, "They disagree.")
    context = driver.tab._shown.update.context
    open_parts(home, windows.profile, system_clock).noticed.add(context, [pair])
    (home / "memory/global/queue.md").write_text("# Queue\n\nLong answers first.\n\nSince May.\n")

    def row() -> int | None:
        rows = enumerate(page.list.values)
        return next((number for number, matter in rows if beside in matter[0].paths), None)

    driver.until(lambda: row() is not None)
    page.list.setCurrentIndex(page.list.rows.index(row(), 0))
    driver.until(lambda: bool(page.pair.sides.rows) and not page.pair.isHidden())
    texts = {side.text.strip() for each in page.pair.sides.rows for side in (each.left, each.right)}
    assert texts >= set(lines)
    assert page.merge.isHidden()
    assert not page.dismiss.isHidden()


QUEUE, WORKER, PLAN = (f"/memories/global/{name}.md" for name in ("queue", "worker", "plan"))
INSIDE = "A job is handled inside the request."


def one_matter_of_two_pairs(windows: Windows, home: Path) -> Driver:
    """What `queue.md` says in its line 203 is contradicted by two others."""
    notes = home / "memory/global"
    filler = "".join(f"- Step {number} of the queue.\n" for number in range(200))
    (notes / "queue.md").write_text(f"# Queue\n\n{filler}{INSIDE}\n{filler}")
    (notes / "worker.md").write_text("# Worker\n\nThe worker takes every job.\n")
    (notes / "plan.md").write_text("# Plan\n\nJobs go to a worker.\n")
    driver = opened(windows, home)
    pairs = [
        NoticedPair("superseded", (QUEUE, WORKER), (INSIDE, "The worker takes every job."), "One."),
        NoticedPair("superseded", (QUEUE, PLAN), (INSIDE, "Jobs go to a worker."), "Two."),
    ]
    open_parts(home, windows.profile, system_clock).noticed.add(driver.tab._shown.update.context, pairs)
    (notes / "worker.md").write_text("# Worker\n\nThe worker takes every job.\n\nSince May.\n")
    driver.until(lambda: "superseded" in kinds(driver))
    choose(driver, "superseded")
    return driver


def test_pairs_about_one_line_are_one_row_and_looked_at_one_after_the_other(
    windows: Windows, home: Path
) -> None:
    driver = one_matter_of_two_pairs(windows, home)
    page = driver.tab.worth.page
    assert len(page.matter) == 2
    title = page.list.rows.data(page.list.currentIndex(), Qt.ItemDataRole.DisplayRole)
    assert title.startswith("Superseded (2 pairs): global/queue.md · ")
    seen = []
    for number in (1, 2):
        assert page.next.text() == f"&Next pair ({number} of 2)"
        seen.append(page.current.paths)
        driver.until(lambda: page.pair.finding == page.current and not page.pair.isHidden())
        page.next.click()
    assert set(seen) == {(QUEUE, WORKER), (QUEUE, PLAN)}
    assert page.current.paths == seen[0]
    choose(driver, "secret")
    assert page.next.isHidden()


def test_a_pair_is_shown_at_the_lines_that_it_is_about(windows: Windows, home: Path) -> None:
    driver = one_matter_of_two_pairs(windows, home)
    page = driver.tab.worth.page
    driver.until(lambda: not page.pair.isHidden() and page.pair.finding == page.current)
    for half, said in ((page.pair.sides.left, INSIDE), (page.pair.sides.right, page.current.evidence[1])):
        driver.until(lambda half=half: half.firstVisibleBlock().blockNumber() > 100)
        top = half.firstVisibleBlock().blockNumber()
        at = [block.strip() for block in half.toPlainText().split("\n")].index(said)
        assert top <= at <= top + half.viewport().height() // half.fontMetrics().lineSpacing()
    page.pair.sides.left.verticalScrollBar().triggerAction(QAbstractSlider.SliderAction.SliderToMinimum)
    driver.window.resize(driver.window.width(), driver.window.height() - 20)
    driver.qtbot.wait(50)
    assert page.pair.sides.left.firstVisibleBlock().blockNumber() == 0


def test_a_matter_is_dismissed_as_a_whole_and_comes_back_with_undo(windows: Windows, home: Path) -> None:
    driver = one_matter_of_two_pairs(windows, home)
    page = driver.tab.worth.page
    page.dismiss.click()
    driver.until(lambda: "superseded" not in kinds(driver))
    assert page.note.text() == "1 dismissed finding is hidden"
    page.message.button("restore").click()
    driver.until(lambda: "superseded" in kinds(driver))
    choose(driver, "superseded")
    assert len(page.matter) == 2


def test_a_line_in_bold_is_listed_without_its_stars(qtbot: object) -> None:
    evidence = ("- **Python Version**: 3.10", "- **Python Version**: 3.12")
    finding = MemoryFinding("contradiction", (OLD, NEW), (3, 3), evidence, 0.9)
    assert FindingModel().look((finding,)).below == "Python Version: 3.10 ↔ Python Version: 3.12"


PROJECT_OLD, PROJECT_NEW = "/memories/project/releases.md", "/memories/project/releases-updated.md"


def test_nothing_found_in_one_workspace_is_left_standing_for_another(windows: Windows, home: Path) -> None:
    here, there = (
        next((home / "memory/project").glob(f"{name}-*")) for name in ("acme-api", "data-pipeline")
    )
    (here / "releases.md").write_text(BODY)
    (here / "releases-updated.md").write_text(BODY.replace("twice", "three times"))
    for name in ("releases.md", "releases-updated.md"):
        (there / name).write_text(f"# {name}\n\nOf another project.\n")
    driver = opened(windows, home)
    page = driver.tab.worth.page
    found = next(each for matter in page.list.values for each in matter if PROJECT_OLD in each.paths)
    driver.do("view.changes")
    driver.choose(INGEST)
    assert page.title.text() == "Searching…"
    page.keep_wanted.emit(found, 0)
    driver.do("view.memory")
    driver.until(lambda: driver.tab.worth.is_settled and page.title.text() != "Searching…")
    assert all(found.id != each.id for matter in page.list.values for each in matter)
    assert {file.name for file in there.iterdir()} >= {"releases.md", "releases-updated.md"}


def test_what_is_pressed_while_another_workspace_is_read_is_done_where_it_was_found(
    windows: Windows, home: Path
) -> None:
    here, there = (
        next((home / "memory/project").glob(f"{name}-*")) for name in ("acme-api", "data-pipeline")
    )
    for store, rest in ((here, ""), (there, "- Of another project.\n")):
        (store / "releases.md").write_text(BODY + rest)
        (store / "releases-updated.md").write_text(BODY.replace("twice", "three times") + rest)
    driver = windows.open(home)
    driver.do("view.worth")
    page = driver.tab.worth.page
    driver.until(lambda: driver.tab.worth.is_settled and bool(page.list.values))
    row = next(row for row, matter in enumerate(page.list.values) if PROJECT_OLD in matter[0].paths)
    page.list.setCurrentIndex(page.list.rows.index(row, 0))
    driver.until(lambda: page.current is not None and PROJECT_OLD in page.current.paths)
    driver.until(lambda: driver.tab.worth.is_settled and not page.pair.isHidden())
    found = page.current
    assert driver.window.picker.pick(driver.session.info.id, workspace_id=INGEST)
    page.keep_wanted.emit(found, found.paths.index(PROJECT_NEW))
    driver.until(lambda: not (here / "releases.md").exists())
    driver.settle()
    assert (there / "releases.md").exists()


def test_the_page_looks_when_its_tab_comes_to_the_front_again(windows: Windows, home: Path) -> None:
    driver = opened(windows, home)
    page = driver.tab.worth.page
    driver.do("view.changes")
    size = driver.file("/memories/global/login.md").file.size
    (home / "memory/global/login.md").write_text("# Login\n\nAsk the on-call person.\n")
    driver.until(lambda: driver.file("/memories/global/login.md").file.size != size)
    driver.settle()
    driver.do("view.memory")
    driver.until(lambda: "secret" not in kinds(driver))
    assert page.isVisible()


@pytest.mark.parametrize(
    ("action", "page"),
    [("view.worth", "worth"), ("view.stale", "worth"), ("memory.duplicates", "worth")],
)
def test_a_page_beside_the_trees_is_seen_from_every_tab(
    windows: Windows, home: Path, action: str, page: str
) -> None:
    driver = windows.open(home)
    driver.do("view.changes")
    driver.do(action)
    assert driver.window.tabs.currentWidget() is driver.tab
    assert getattr(driver.tab, page).is_page_shown
    assert not driver.window.actions_["view.failures"].isChecked()


def test_a_long_suggested_change_is_cut_and_says_how_much_is_missing(windows: Windows, home: Path) -> None:
    page = opened(windows, home).tab.worth.page
    header = "diff --git a/x b/x\n--- a/x\n+++ b/x\n"
    page._show_diff(header + "".join(f"+line {number}\n" for number in range(400)))
    shown = page.diff.content.split("\n")
    assert shown[:3] == ["--- a/x", "+++ b/x", "+line 0"]
    assert shown[-2:] == ["+line 296", "… 103 more lines"]
    page._show_diff(header + "+one\n")
    assert page.diff.content == "--- a/x\n+++ b/x\n+one"
    page._show_diff("")
    assert page.diff.isHidden()
