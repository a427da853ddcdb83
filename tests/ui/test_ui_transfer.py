"""Export… copies the selection to plain files; Import… becomes a proposal in the Changes tab."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QFileDialog, QInputDialog
from ui_windows import Windows

from reverie.agents.scopes import Scope


def said(driver: Any) -> str:
    return str(driver.tab.undo_bar.text)


def test_the_selected_memories_are_exported(
    windows: Windows, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(home)
    path = "/memories/global/testing.md"
    driver.until(lambda: driver.tab.tree.select_path(path))
    target = tmp_path / "testing.md"
    suggested: list[str] = []

    def asked(_parent: Any, _title: str, directory: str, filters: str, **_more: Any) -> tuple[str, str]:
        suggested.append(directory)
        return str(target), filters.split(";;")[2]

    monkeypatch.setattr(QFileDialog, "getSaveFileName", asked)
    driver.do("memory.export")
    driver.until(lambda: "Exported 1 memory to" in said(driver))
    assert suggested == [str(Path.home() / "testing.md")]
    assert target.read_bytes() == (home / "memory/global/testing.md").read_bytes()
    driver.do("memory.export")
    driver.until(lambda: "exists already" in said(driver))


def test_a_scope_becomes_an_archive_and_comes_back_unchanged(
    windows: Windows, home: Path, tmp_path: Path
) -> None:
    driver = windows.open(home)
    driver.until(lambda: driver.tab.has_full_tree)
    target = tmp_path / "global.zip"
    driver.tab.transfer.export_to(target, {Scope.GLOBAL: []})
    driver.until(lambda: "Exported" in said(driver))
    assert "people/reviewers.md" in zipfile.ZipFile(target).namelist()
    driver.tab.transfer.import_from(target, Scope.GLOBAL)
    driver.until(lambda: said(driver).startswith("Nothing to import"))


def test_an_import_is_reviewed_in_the_changes_tab(
    windows: Windows, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/ports.md").write_text("The relay listens on 7443.\n")
    (tmp_path / "notes/bad.md").write_bytes(b"\xff\xfe")
    driver = windows.open(home)
    driver.until(lambda: driver.tab.has_full_tree)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_a: str(tmp_path / "notes"))
    offered: list[list[str]] = []

    def chosen(
        _parent: Any, _title: str, _label: str, names: list[str], *_a: Any, **_k: Any
    ) -> tuple[str, bool]:
        offered.append(names)
        return "Global", True

    monkeypatch.setattr(QInputDialog, "getItem", chosen)
    driver.do("memory.import-folder")
    driver.until(lambda: "The import proposes 1 change." in said(driver))
    assert "bad.md: It is not UTF-8 text." in said(driver)
    assert "Global" in offered[0]
    assert not (home / "memory/global/ports.md").exists()
    driver.tab.undo_bar.button("review-import").click()
    files = driver.reviewed()
    assert files.choices.count_of_all == 1
    files.apply_button.click()
    driver.until(lambda: (home / "memory/global/ports.md").exists())


def test_an_import_that_is_refused_says_why(windows: Windows, home: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as out:
        out.writestr("../evil.md", "evil")
    driver = windows.open(home)
    driver.until(lambda: driver.tab.has_full_tree)
    driver.tab.transfer.import_from(tmp_path / "x.zip", Scope.GLOBAL)
    driver.until(lambda: "leads out of the archive" in said(driver))
