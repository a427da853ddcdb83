"""The panes of a window: F6 leads from one to the next as they stand, from the left to the right.

A pane is a list, a tree or a text that one sees and that takes the focus, or an area to scroll with controls
in it. Nobody lists them: what a tab shows now is asked of its widgets each time.

Threading: GUI thread. Failure: none; without a pane the focus stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QScrollArea, QWidget


def panes(window: QWidget) -> list[QWidget]:
    """What takes the focus in each visible pane, from the left to the right and from the top down."""
    found = {stop for area in window.findChildren(QAbstractScrollArea) for stop in _stops(window, area)}
    return sorted(found, key=lambda stop: _place(window, stop))


def go_to_pane(window: QWidget, step: int) -> None:
    """Give the focus to the pane after (1) or before (-1) that of the focus; after the last the first."""
    stops = panes(window)
    if not stops:
        return
    focus = QApplication.focusWidget()
    at = next((stop for stop in stops if focus is not None and stop.isAncestorOf(focus)), focus)
    if at in stops:
        wanted = stops[(stops.index(at) + step) % len(stops)]
    else:
        # In a bar or a field: to the pane that it belongs to.
        wanted = _beside(at, stops)[0 if step > 0 else -1]
    wanted.setFocus(Qt.FocusReason.ShortcutFocusReason)


def _beside(widget: QWidget | None, stops: list[QWidget]) -> list[QWidget]:
    """Those of the smallest part of the window that holds the widget and any of them."""
    while widget is not None:
        near = [stop for stop in stops if widget.isAncestorOf(stop)]
        if near:
            return near
        widget = widget.parentWidget()
    return stops


def _stops(window: QWidget, area: QAbstractScrollArea) -> Iterator[QWidget]:
    if area.window() is not window or not _is_stop(area, shown=True):
        return
    inside = [each for each in area.findChildren(QWidget) if _is_stop(each, shown=False)]
    controls = [each for each in inside if each.focusPolicy() & Qt.FocusPolicy.TabFocus]
    is_list = not isinstance(area, QScrollArea)
    if area.focusPolicy() & Qt.FocusPolicy.TabFocus and (is_list or not controls):
        yield area
    elif controls and not any(isinstance(each, QAbstractScrollArea) for each in controls):
        yield min(controls, key=lambda each: _place(window, each))


def _is_stop(widget: QWidget, *, shown: bool) -> bool:
    """`shown`: a part of it is on screen, not only scrolled out of sight."""
    there = widget.isVisible() and widget.isEnabled() and widget.focusProxy() is None
    return there and (not shown or _is_seen(widget))


def _is_seen(widget: QWidget) -> bool:
    """Qt's `visibleRegion` is empty below an opaque child, too."""
    seen, inner = widget.rect(), widget
    while not inner.isWindow() and (outer := inner.parentWidget()) is not None:
        seen = seen.translated(inner.pos()).intersected(outer.rect())
        inner = outer
    return not seen.isEmpty()


def _place(window: QWidget, widget: QWidget) -> tuple[int, int]:
    corner = widget.mapTo(window, QPoint(0, 0))
    return corner.x(), corner.y()
