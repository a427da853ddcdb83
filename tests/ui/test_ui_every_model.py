"""Every model behind every list of the window keeps Qt's rules while the home changes under it."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QAbstractProxyModel
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QAbstractItemView, QWidget
from ui_windows import Driver, Windows

from reverie.ui.window.palette import Palette

STEPS = 16


class Watchers:
    """Qt's own testers on all models there are; a broken rule is a Qt warning, which fails the suite."""

    def __init__(self) -> None:
        self._testers: list[QAbstractItemModelTester] = []
        self.kinds: set[str] = set()
        self._known: set[int] = set()

    def watch(self, *tops: QWidget | None) -> None:
        for top in tops:
            views = top.findChildren(QAbstractItemView) if top is not None else []
            for model in (found for view in views for found in _models(view.model())):
                if id(model) not in self._known:
                    self._known.add(id(model))
                    self.kinds.add(type(model).__name__)
                    mode = QAbstractItemModelTester.FailureReportingMode.Warning
                    self._testers.append(QAbstractItemModelTester(model, mode))


def _models(model: Any) -> list[QAbstractItemModel]:
    """A view's own and what lies behind it; Qt's own models are Qt's affair."""
    behind = _models(model.sourceModel()) if isinstance(model, QAbstractProxyModel) else []
    return [*behind, model] if type(model).__module__.startswith("reverie") else behind


def mutate(home: Path, chance: random.Random) -> None:
    """What agents do: write, rename, delete, leave a trace, make a store, take one away."""
    memories = home / "memory/global"
    files = sorted(path for path in memories.rglob("*.md") if path.is_file())
    match chance.randrange(6):
        case 0:
            (memories / f"new-{chance.randrange(9)}.md").write_text(f"retry {chance.random()}\n")
        case 1 if files:
            chance.choice(files).write_text(f"retry {chance.random()}\n")
        case 2 if files:
            chance.choice(files).unlink()
        case 3 if files:
            chance.choice(files).rename(memories / f"moved-{chance.randrange(9)}.md")
        case 4:
            dumps = sorted((home / "debug_obj").rglob("system1_memory_writer/*.json"))
            if dumps and chance.random() < 0.5:
                dumps[0].unlink()
            elif dumps:
                shutil.copy(
                    dumps[-1], dumps[-1].with_name(f"17865{chance.randrange(10**8):08}_assistant-x.json")
                )
        case _:
            lost = home / f"memory/project/lost-{chance.randrange(3)}-0123456789ab"
            if lost.exists():
                shutil.rmtree(lost)
            else:
                lost.mkdir(parents=True)
                (lost / "note.md").write_text("left behind\n")


def opened(driver: Driver) -> tuple[QWidget | None, ...]:
    """All the windows of the tools, open."""
    window, tab = driver.window, driver.tab
    window.lazy_tabs.show_traces()
    driver.until(lambda: driver.traces.is_settled)
    window.lazy_tabs.show_log()
    window.lazy_tabs.show_checks()
    window.show_memory()
    driver.tree.select_path("/memories/global")
    for name in ("memory.history", "memory.duplicates", "memory.trash", "dream.runs"):
        window.actions_[name].trigger()
    return tab.worth.page, window


def test_every_model_keeps_qts_rules_while_the_home_changes(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    testers, chance = Watchers(), random.Random(5)
    tools = opened(driver)
    testers.watch(*tools)
    driver.window.dialogs.show_palette()
    palette = next(each for each in driver.window.findChildren(Palette) if each.isVisible())
    testers.watch(palette)
    for typed in ("co", "x y z", "", "note"):
        palette.field.setText(typed)
    palette.close()
    search = driver.tab.search
    for step in range(STEPS):
        mutate(home, chance)
        search.field.setText(chance.choice(("retry", "re", "the", "zzz", "")))
        driver.qtbot.wait(30)
        if step % 8 == 7:
            driver.until(lambda: not any(lane.busy for lane in driver.window.lanes.all()))
            testers.watch(*tools)
    search.leave()
    driver.settle()
    wanted = {"MemoryTreeModel", "PickerModel", "ResultModel", "TraceModel", "PaletteModel"}
    assert wanted <= testers.kinds, wanted - testers.kinds
    for tool in tools[:3]:
        if tool is not None:
            tool.close()
