"""How long the window is blocked while a hundred texts of a megabyte are shown.

`PYTHONPATH=tests:tests/ui python tests/benchmarks/long_texts.py [characters] [kind]...`
prints the worst of each view.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from PySide6.QtCore import QEventLoop
from PySide6.QtWidgets import QApplication, QWidget
from ui_reviews import A, B, C, view

from helpers.long_texts import long_texts
from reverie.memory.diff import nearest_lines, unified, word_spans
from reverie.services.traces import MissedEdit
from reverie.ui.changes.diff import HunkView, MergeView
from reverie.ui.changes.review import Choices, ReviewPart
from reverie.ui.memory.duplicates import SideBySide, aligned
from reverie.ui.traces.detail import MissedView
from reverie.ui.widgets.text_views import DiffView, LoadedText, TextView

MEGABYTE = 1_000_000


def turned(text: str) -> str:
    """The text with its parts in another order."""
    step = len(text) // 7 or 1
    return "\nturned ".join([text[at : at + step] for at in range(0, len(text), step)][::-1])


def worst_block(widget: QWidget, show: Callable[[], None]) -> float:
    """Show something and give the longest time that the event loop did not turn, in ms."""
    begin = time.perf_counter()
    show()
    worst = time.perf_counter() - begin
    for _ in range(12):
        begin = time.perf_counter()
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents)
        worst = max(worst, time.perf_counter() - begin)
    return worst * 1000


def views(text: str) -> dict[str, tuple[QWidget, Callable[[], None]]]:
    """The views by name, each with what shows the text there; all that is not shown is done before."""
    other = turned(text)
    edited = Choices(view({C: text}, {C: other}))
    merged = Choices(view({A: text, B: other}, {A: text + "\n" + other}, max_loss_percent=100))
    group, merge = edited.view.groups[0], merged.view.groups[0]
    nearest_lines(text, other[:5_000])
    missed = MissedEdit(1, "t", "p", other, text, other, *word_spans(other, text))
    rows = aligned(text, other)
    difference = unified(text.encode(), other.encode(), "a.md")
    hunks, sides, missed_view, merging = HunkView(), SideBySide(), MissedView(), MergeView()
    diff, version, loaded = DiffView(), TextView(), LoadedText()
    return {
        "hunks": (hunks, lambda: hunks.show_part(edited, ReviewPart(group, group.files[0]))),
        "merge": (merging, lambda: merging.show_merge(ReviewPart(merge)) and None),
        "missed edit": (missed_view, lambda: missed_view.show_edits((missed,))),
        "side by side": (sides, lambda: sides.show_rows(rows)),
        "difference": (diff, lambda: diff.show_diff(difference)),
        "version": (version, lambda: version.show_bytes(text.encode())),
        "loaded": (loaded, lambda: loaded.show_text(text, ())),
    }


def main(size: int, wanted: list[str]) -> None:
    application = QApplication(["long texts"])
    application.setStyle("Fusion")
    worst: dict[str, list[tuple[float, str]]] = {}
    slowest: list[tuple[float, str]] = []
    for kind, text in long_texts(size):
        if wanted and kind not in wanted:
            continue
        begin = time.perf_counter()
        made = views(text)
        slowest.append((time.perf_counter() - begin, kind))
        for name, (widget, show) in made.items():
            widget.resize(700, 500)
            widget.show()
            QApplication.processEvents()
            worst.setdefault(name, []).append((worst_block(widget, show), kind))
            widget.close()
            widget.deleteLater()
        QApplication.processEvents()
    for name, found in worst.items():
        above = sum(ms > 50 for ms, _kind in found)
        top = ", ".join(f"{ms:.0f} ms {kind}" for ms, kind in sorted(found)[-4:][::-1])
        print(f"{name:14} {above:3} of {len(found)} above 50 ms; worst: {top}", flush=True)
    top = ", ".join(f"{seconds:.1f} s {kind}" for seconds, kind in sorted(slowest)[-4:][::-1])
    print(f"beside it, off the GUI thread: {top}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else MEGABYTE, sys.argv[2:])
