"""A consolidation by the button, and by somebody else: views follow the disk, never the button."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from ui_windows import ACME, BACKFILL, INGEST, SEVERAL, Driver, Windows

from reverie.agents.scopes import Scope
from reverie.ui import dialogs

STORE = "memory/project/data-pipeline-21ca8fe13a59"


def coverage(home: Path) -> Any:
    return json.loads((home / "memory-consolidation.json").read_text())


def looks(driver: Driver) -> Any:
    """Everything a person sees of the views that a dream changes."""
    return (
        {scope: driver.row(scope).text for scope in Scope},
        {scope: driver.paths(scope) for scope in Scope},
    )


def test_the_button_consolidates_and_every_view_follows(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    assert driver.row(Scope.WORKSPACE).text.endswith(" · 1\u00a0change")
    assert driver.consolidate() == "completed"
    driver.until(lambda: driver.row(Scope.WORKSPACE).text.startswith("just\u00a0now"))
    driver.until(lambda: "api/v2/pagination/cursor-notes.md" not in driver.paths())
    driver.until(lambda: "commit-messages.md" not in driver.paths(Scope.GLOBAL))
    assert driver.row(Scope.PROJECT).text.startswith("just\u00a0now")
    assert {"deploy.md", "deploy-staging.md"} <= driver.paths()
    assert driver.footer.panel.result.keys == ("review", "revert")


def test_with_the_watcher_stopped_a_dream_changes_no_view(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.session.workbench.forget_client()
    before, tree, status = looks(driver), driver.tab.model.tree, driver.session.status
    last_run = coverage(home)["workspaces"][ACME]["lastRunAt"]
    assert driver.consolidate() == "completed"
    driver.settle()
    assert coverage(home)["workspaces"][ACME]["lastRunAt"] > last_run, "it did happen"
    assert not driver.footer.panel.result.isHidden(), "its result is told"
    assert looks(driver) == before
    assert driver.tab.model.tree is tree
    assert driver.session.status is status


def test_a_consolidation_in_a_terminal_looks_the_same(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    result = windows.command("consolidate", "--home", str(home), "--workspace", ACME, "--json")
    assert result.returncode == 0, result.stderr
    driver.until(lambda: driver.row(Scope.WORKSPACE).text.startswith("just\u00a0now"))
    driver.until(lambda: "api/v2/pagination/cursor-notes.md" not in driver.paths())
    record = json.loads(result.stdout)
    for scope in Scope:
        applied = sum(
            op["applied"] and f"/memories/{scope.value}/" in f"{op['path']} {op.get('newPath', '')}"
            for op in record["ops"]
        )
        assert (
            driver.row(scope).text == f"just\u00a0now · {applied or 'no'}\u00a0change{'s' * (applied != 1)}"
        )
    assert driver.footer.panel.result.isHidden(), "nobody pressed the button here"


def test_siblings_share_the_project_row_and_keep_their_own(windows: Windows, home: Path) -> None:
    for name in ("duplicate-one.md", "duplicate-two.md"):
        (home / STORE / name).write_text(
            "---\ndescription: Twice the same\n---\n\nThe very same text, twice.\n"
        )
    one, other = windows.open(home, INGEST), windows.open(home, BACKFILL)
    workspace_row = other.row(Scope.WORKSPACE)
    assert workspace_row.state == "never"
    assert one.consolidate() == "completed"
    for driver in (one, other):
        driver.until(lambda driver=driver: driver.row(Scope.PROJECT).text.startswith("just\u00a0now"))
        driver.until(lambda driver=driver: "duplicate-two.md" not in driver.paths())
    assert one.row(Scope.PROJECT) == other.row(Scope.PROJECT)
    assert one.row(Scope.GLOBAL) == other.row(Scope.GLOBAL)
    other.settle()
    assert other.row(Scope.WORKSPACE) == workspace_row, "the sibling's own row is unchanged"
    assert one.row(Scope.WORKSPACE).state == "record"


def test_over_several_projects_no_project_record_is_written(windows: Windows, home: Path) -> None:
    driver = windows.open(home, SEVERAL)
    projects = coverage(home)["projects"]
    assert driver.consolidate() in ("completed", "unchanged")
    driver.until(lambda: driver.row(Scope.WORKSPACE).text.startswith("just\u00a0now"))
    assert driver.row(Scope.PROJECT).state == "unavailable"
    assert coverage(home)["projects"] == projects


def test_a_coverage_that_somebody_writes_updates_the_footer(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    data = coverage(home)
    data["workspaces"][ACME] |= {"trigger": "archive", "ops": [], "lastRunAt": 1_786_528_649_810}
    (home / "memory-consolidation.json").write_text(json.dumps(data))
    driver.until(lambda: "archive" in driver.row(Scope.WORKSPACE).tooltip)


def test_a_home_from_before_projects_were_covered_says_never_and_then_when(
    windows: Windows, tmp_path: Path
) -> None:
    from helpers.samples import copy_sample

    home = copy_sample("mux-home-legacy", tmp_path)
    driver = windows.open(home, "2b3c4d5e6f")
    assert driver.row(Scope.PROJECT).state == "never"
    assert driver.consolidate() in ("completed", "unchanged")
    driver.until(lambda: driver.row(Scope.PROJECT).state == "record")


def previewed(driver: Driver) -> Any:
    """The review of a preview, as it is shown."""
    driver.do("dream.preview")
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    driver.settle()
    return driver.review()


def test_what_is_chosen_of_a_preview_is_applied_and_nothing_else(windows: Windows, home: Path) -> None:
    before = {path: path.read_bytes() for path in (home / "memory").rglob("*.md")}
    driver = windows.open(home)
    pane = previewed(driver)
    group = next(group for group in pane.choices.view.groups if len(group.files) == 1)
    left_out = group.files[0]
    item = next(
        item for _part, item in pane.tree.parts() if item.text(0).startswith(left_out.path.rpartition("/")[2])
    )
    item.setCheckState(0, Qt.CheckState.Unchecked)
    planned = pane.choices.count_of_all
    assert f"{planned - 1} of {planned}" in pane.apply_button.accessibleName()
    pane.apply_button.click()
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    assert driver.tab.dreams.last_outcome == "completed"
    driver.until(lambda: driver.row(Scope.WORKSPACE).text.startswith("just\u00a0now"))
    driver.until(lambda: pane.choices is not None and not pane.choices.view.can_apply)
    driver.settle()
    assert not pane.apply_button.isVisible(), "it is applied once"
    changed = {path for path, content in before.items() if not path.exists() or path.read_bytes() != content}
    assert changed
    assert not any(str(path).endswith(left_out.path.removeprefix("/memories/")) for path in changed)
    assert driver.footer.panel.result.keys == ("review", "revert")


def test_after_apply_the_review_is_that_of_the_finished_run(windows: Windows, home: Path) -> None:
    """B7: the title stayed "Preview", the undo disabled, and the bar told the plan."""
    driver = windows.open(home)
    pane = previewed(driver)
    assert pane.title.text().startswith("Preview")
    hunk = next(item for part, item in pane.tree.parts() if part.hunk is not None)
    hunk.setCheckState(0, Qt.CheckState.Unchecked)
    pane.apply_button.click()
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    driver.until(lambda: pane.choices is not None and pane.choices.view.can_take_back)
    driver.settle()
    applied = driver.session.workbench.runs()[0]
    changes = sum(bool(op["applied"]) for op in applied.ops)
    assert pane.title.text().startswith("Consolidation")
    assert pane.undo.isEnabled()
    assert not pane.apply_button.isVisible()
    assert pane.message.text.startswith(f"Applied {changes} changes in ")
    assert "1 file in part" in pane.facts.text()
    assert "Merged" not in pane.facts.text(), "that was the plan"


def test_news_of_runs_do_not_hide_the_run_that_is_asked_for(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    pane = previewed(driver)
    assert driver.consolidate() == "completed"
    driver.settle()
    asked = next(run for run in driver.session.workbench.runs() if not run.dry_run)
    assert pane.row.key != asked.id
    driver.changes.show_change(asked.id)
    driver.session.runs_changed.emit()
    driver.until(lambda: driver.changes.is_settled and pane.row.key == asked.id)


def test_a_hunk_of_a_finished_run_is_taken_back_by_its_box_and_the_rest_by_the_undo(
    windows: Windows, home: Path
) -> None:
    """B5: a finished run had no boxes."""
    style = home / "memory/global/commit-style.md"
    kept = {path: path.read_bytes() for path in (home / "memory").rglob("*") if path.is_file()}
    driver = windows.open(home)
    assert driver.consolidate() == "completed"
    driver.settle()
    pane = driver.review()
    assert pane.undo.accessibleName() == "Undo all"

    def row(text: str, hunk: int | None) -> Any:
        return next(
            item
            for part, item in pane.tree.parts()
            if part.file is not None and part.file.path.endswith(text) and part.hunk == hunk
        )

    dreamt = style.read_bytes()
    row("global/commit-style.md", 1).setCheckState(0, Qt.CheckState.Unchecked)
    assert row("global/commit-style.md", 1).text(1) == "to be undone"
    assert pane.undo.accessibleName().startswith("Take back 2 of "), "what it merged comes back too"
    pane.undo.click()
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    driver.until(lambda: pane.choices is not None and bool(pane.choices.view.taken_back))
    driver.settle()
    assert style.read_bytes() not in (dreamt, kept[style])
    taken = row("global/commit-style.md", 1)
    assert taken.text(1) == "undone"
    assert not taken.flags() & Qt.ItemFlag.ItemIsUserCheckable
    assert "partly undone" in pane.title.text()
    driver.until(lambda: driver.row(Scope.GLOBAL).text.endswith("partly\u00a0undone"))
    assert not driver.row(Scope.WORKSPACE).text.endswith("partly\u00a0undone")
    pane.undo.click()
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    assert {path: path.read_bytes() for path in kept} == kept


def finished(driver: Driver) -> Any:
    """The review of a consolidation that just ended, as it is shown."""
    assert driver.consolidate() == "completed"
    driver.settle()
    return driver.review()


def test_a_review_that_asks_while_another_run_goes_on_is_told_so_and_can_ask_again(
    windows: Windows, home: Path
) -> None:
    """The buttons were switched off, nothing was said, and they stayed off."""
    driver = windows.open(home)
    pane = finished(driver)
    hunk = next(item for part, item in pane.tree.parts() if part.hunk is not None)
    hunk.setCheckState(0, Qt.CheckState.Unchecked)
    go_on = threading.Event()
    driver.window.lanes.consolidator.submit(
        "hold", lambda _control: go_on.wait(60), done=lambda _nothing: None
    )
    driver.do("dream.preview")
    pane.undo.click()
    assert pane.message.text == "Another run is in progress. Try again when that run has finished."
    assert pane.undo.isEnabled()
    go_on.set()
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    pane.undo.click()
    driver.until(lambda: pane.choices is not None and bool(pane.choices.view.taken_back))


def test_the_review_goes_on_saying_what_an_undo_did_and_what_it_left(windows: Windows, home: Path) -> None:
    """ "This run was undone." took the place of the names of what was not."""
    driver = windows.open(home)
    pane = finished(driver)
    hunk = next(item for part, item in pane.tree.parts() if part.hunk is not None)
    hunk.setCheckState(0, Qt.CheckState.Unchecked)
    pane.undo.click()
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    driver.until(lambda: pane.choices is not None and bool(pane.choices.view.taken_back))
    driver.settle()
    assert pane.message.text.startswith("Took back ")

    cursors = home / "memory/project/acme-api-db553efff149/api/v2/pagination/cursors.md"
    cursors.write_text("By hand.\n" * 5)
    driver.settle()
    pane.undo.click()
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    driver.until(lambda: pane.title.text().endswith("undone"))
    driver.settle()
    assert pane.message.text.endswith("/memories/project/api/v2/pagination/cursors.md")


def test_a_plan_is_applied_as_it_is_without_planning_again(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.do("dream.preview")
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    driver.settle()
    driver.footer.panel.result.button("apply").click()
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    assert driver.tab.dreams.last_outcome == "completed"
    driver.until(lambda: "commit-messages.md" not in driver.paths(Scope.GLOBAL))
    plan, applied = sorted(driver.session.workbench.runs(), key=lambda run: run.started_at)
    assert plan.dry_run
    assert [op["path"] for op in applied.ops if op["applied"]]


def test_a_preview_changes_nothing_words_of_ones_own_are_applied_with_it_and_undone_with_the_rest(
    windows: Windows, home: Path
) -> None:
    kept = {path: path.read_bytes() for path in (home / "memory").rglob("*") if path.is_file()}
    driver = windows.open(home)
    before, data = looks(driver), coverage(home)
    pane = previewed(driver)
    assert driver.footer.panel.result.keys == ("review", "apply")
    assert looks(driver) == before
    assert coverage(home) == data
    assert pane.tree.topLevelItemCount() > 0
    assert pane.undo.isHidden(), "there is nothing to undo"
    edited = next(
        item
        for _part, item in pane.tree.parts()
        if item.text(0) == "commit-style.md · global" and item.parent()
    )
    pane.tree.setCurrentItem(edited)
    pane.detail.edit.click()
    pane.detail.editor.appendPlainText("Mine.")
    pane.apply_button.click()
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    assert (home / "memory/global/commit-style.md").read_text().rstrip().endswith("Mine.")
    driver.settle()
    driver.footer.panel.result.button("revert").click()
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    assert {path: path.read_bytes() for path in kept} == kept


def test_a_run_is_reviewed_and_undone_from_the_list(windows: Windows, home: Path) -> None:
    kept = {path: path.read_bytes() for path in (home / "memory").rglob("*") if path.is_file()}
    driver = windows.open(home)
    assert driver.consolidate() == "completed"
    driver.settle()
    pane = driver.review()
    assert not pane.apply_button.isVisible()
    assert pane.undo.isEnabled()
    assert pane.detail.note.text(), "the reason is told"
    driver.do("dream.runs")
    driver.reviewed()
    rows = driver.changes.tab.changes
    assert len(rows.shown_rows) == 1
    assert pane.choices.count_of_all >= 4
    assert "+" in pane.detail.diff.toPlainText()
    pane.undo.click()
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    driver.until(lambda: "commit-messages.md" in driver.paths(Scope.GLOBAL))
    assert {path: path.read_bytes() for path in kept} == kept
    driver.until(lambda: [row.run.reverted for row in rows.shown_rows] == [True])
    driver.until(lambda: pane.title.text().endswith("undone"))
    rows.who.setCurrentIndex(rows.who.findData("revert"))
    assert len(rows.shown_rows) == 1, "the undo is a change of its own"
    # The footer hears of the undo from the watcher, when that comes round.
    driver.until(lambda: all(driver.row(scope).text.endswith("undone") for scope in Scope))
    assert driver.row(Scope.WORKSPACE).text.startswith("just\u00a0now"), "an undo keeps the coverage"


def test_no_key_meant_for_a_run_is_typed_into_the_text_beside_and_enter_in_a_review_undoes_nothing(
    windows: Windows, home: Path
) -> None:
    driver = windows.open(home)
    driver.open("/memories/global/testing.md")
    window, footer, dreams = driver.window, driver.footer, driver.tab.dreams
    footer.button.setFocus()
    assert driver.consolidate() == "completed"
    assert window.focusWidget() is footer.panel.result.button("review")
    pane = driver.review()
    assert window.focusWidget() is pane.tree
    driver.qtbot.keyClick(pane.tree, Qt.Key.Key_Return)
    assert not dreams.jobs.running
    window.show_memory()
    footer.panel.result.button("revert").setFocus()
    footer.panel.result.button("revert").click()
    assert footer.isAncestorOf(window.focusWidget()) or window.focusWidget() is footer
    driver.until(lambda: not dreams.jobs.running)
    assert window.focusWidget() is footer.panel.result.button("revert"), "the undo can be undone"


def test_an_undo_keeps_what_a_person_wrote_since_and_says_so(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    assert driver.consolidate() == "completed"
    changed = home / "memory/global/commit-style.md"
    changed.write_text("Rewritten from the first to the last line.\n")
    driver.until(lambda: driver.is_settled())
    driver.footer.panel.result.button("revert").click()
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    assert "/memories/global/commit-style.md" in driver.footer.panel.result.text
    assert "Rewritten" in changed.read_text()


def test_while_another_process_dreams_the_button_is_off_and_a_run_refused_and_both_say_why(
    windows: Windows, home: Path
) -> None:
    import subprocess
    import sys

    from reverie.files.lease import Leases
    from reverie.jobs.consolidate.run import dream_lease_name

    driver = windows.open(home)
    code = (
        "import sys; from pathlib import Path; from reverie.files.lease import Leases\n"
        "lease = Leases(Path(sys.argv[1])).acquire(sys.argv[2], purpose='dream (launch)')\n"
        "print('held', flush=True); sys.stdin.readline(); lease.release()"
    )
    name = dream_lease_name(driver.session.info.id)
    windows.profile.ensure(windows.profile.state)
    with subprocess.Popen(
        [sys.executable, "-c", code, str(windows.profile.leases_database), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "held\n"
        driver.do("view.refresh")
        driver.until(lambda: not driver.footer.button.isEnabled())
        assert str(holder.pid) in driver.tab.dreams.obstacle
        holder.stdin.write("\n")
        holder.stdin.flush()
    driver.until(driver.footer.button.isEnabled)
    # The lease is taken after the button was pressed: the run itself is refused.
    with Leases(windows.profile.leases_database).acquire(
        dream_lease_name(driver.session.info.id), purpose="dream (launch)"
    ):
        assert driver.consolidate() == "skipped"
    assert driver.footer.panel.result.text
    assert driver.footer.panel.result.keys == ()


def test_a_run_that_ends_while_another_workspace_is_shown_says_whose_it_was(
    windows: Windows, home: Path
) -> None:
    driver = windows.open(home)
    driver.footer.button.click()
    driver.choose(INGEST)
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    assert driver.footer.panel.result.text.startswith("409 retry loop: ")
    assert driver.review().choices.count_of_all > 0


def test_a_home_without_any_workspace_is_consolidated_as_it_is(windows: Windows, tmp_path: Path) -> None:
    home = tmp_path / ".mux"
    notes = home / "memory" / "global"
    notes.mkdir(parents=True)
    (home / "config.json").write_text('{"projects": []}')
    for name in ("build.md", "build-copy.md"):
        (notes / name).write_text("---\ndescription: Build commands\n---\n\nUse make test for the tests.\n")
    driver = windows.open(home)
    assert driver.consolidate() == "completed"
    driver.until(lambda: len(driver.paths(Scope.GLOBAL)) == 1)


def test_a_project_is_consolidated_without_a_workspace(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    project = driver.session.info.contents.projects[0].path
    assert driver.window.picker.pick_project(driver.session.info.id, project)
    driver.settle()
    assert driver.session.context is not None
    assert driver.session.context.workspace_id is None
    driver.until(driver.footer.button.isEnabled)
    assert driver.consolidate() == "completed"


def test_the_title_of_a_home_says_its_name_once(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    assert driver.window.picker.pick_home(driver.session.info.id)
    driver.settle()
    assert driver.window.windowTitle() == f"{driver.session.info.label}[*]"


def test_closing_the_window_during_a_run_asks_before_it_ends_the_run(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(home)
    answers = iter((False, True))
    monkeypatch.setattr(dialogs, "ask_stop_run", lambda _parent: next(answers))
    go_on = threading.Event()
    driver.window.lanes.consolidator.submit(
        "hold", lambda _control: go_on.wait(60), done=lambda _nothing: None
    )
    driver.do("dream.preview")
    assert driver.tab.dreams.jobs.running
    assert not driver.window.close()
    assert driver.window.isVisible()
    go_on.set()
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    assert driver.window.close(), "nothing runs: nothing is asked"
    assert next(answers) is True
