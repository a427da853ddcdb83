"""Time for which the window is blocked while a hundred texts of a megabyte are shown.

`PYTHONPATH=tests:tests/ui python tests/benchmarks/long_texts.py [characters] [kind]...`
prints the worst blocks of each view: the processor time that the GUI thread used in one, which other
programs on the machine do not change, and beside it the time that passed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from PySide6.QtCore import QEventLoop
from PySide6.QtWidgets import QApplication, QWidget
from ui_reviews import A, B, C, view

from helpers.long_texts import long_texts
from reverie.memory.diff import unified, word_spans
from reverie.memory.nearest_lines import nearest_lines
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


Block = tuple[float, float, str]
"""A time without a turn of the event loop: processor time and passed time in ms, and the kind of text."""


def worst_block(kind: str, show: Callable[[], None]) -> Block:
    """Show something and give the block in which the thread worked longest."""

    def events() -> None:
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents)

    found = []
    for step in (show, *[events] * 12):
        worked, passed = time.thread_time(), time.perf_counter()
        step()
        found.append(((time.thread_time() - worked) * 1000, (time.perf_counter() - passed) * 1000, kind))
    return max(found)


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
    worst: dict[str, list[Block]] = {}
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
            worst.setdefault(name, []).append(worst_block(kind, show))
            widget.close()
            widget.deleteLater()
        QApplication.processEvents()
    for name, found in worst.items():
        above = sum(worked > 50 for worked, _passed, _kind in found)
        top = ", ".join(
            f"{worked:.0f} ({passed:.0f}) ms {kind}" for worked, passed, kind in sorted(found)[-4:][::-1]
        )
        print(f"{name:14} {above:3} of {len(found)} above 50 ms; worst: {top}", flush=True)
    top = ", ".join(f"{seconds:.1f} s {kind}" for seconds, kind in sorted(slowest)[-4:][::-1])
    print(f"beside it, off the GUI thread: {top}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else MEGABYTE, sys.argv[2:])
