"""The panes of a window, through which F6 moves the focus from left to right.

A pane is a visible list, tree or text that takes the focus, or a scroll area with controls in it. Panes are
not registered anywhere: each time, the widgets of the shown tab are searched. If there is no pane, the focus
does not move.

Threading: GUI thread; nothing here reads a file. Failure: none.
"""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QScrollArea, QWidget

from reverie.ui.mnemonics import descendants


def panes(window: QWidget) -> list[QWidget]:
    """Return, for each visible pane, the widget that gets the focus; from left to right and top to bottom.

    A pane is a list, tree or text that takes the focus, or a scroll area with controls in it.
    """
    areas = [each for each in descendants(window) if isinstance(each, QAbstractScrollArea)]
    found = {stop for area in areas for stop in _stops(window, area)}
    return sorted(found, key=lambda stop: _place(window, stop))


def go_to_pane(window: QWidget, step: int) -> None:
    """Move the focus to the next pane if `step` is 1, to the previous one if it is -1, wrapping around."""
    stops = panes(window)
    if not stops:
        return
    focus = QApplication.focusWidget()
    at = next((stop for stop in stops if focus is not None and stop.isAncestorOf(focus)), focus)
    if at in stops:
        wanted = stops[(stops.index(at) + step) % len(stops)]
    else:
        # From a bar or a field, go to the pane that it belongs to.
        wanted = _beside(at, stops)[0 if step > 0 else -1]
    wanted.setFocus(Qt.FocusReason.ShortcutFocusReason)


def _beside(widget: QWidget | None, stops: list[QWidget]) -> list[QWidget]:
    """Return the widgets in `stops` that are nearest to `widget` in the tree of widgets.

    They are those in the smallest part of the window that contains `widget` and at least one of `stops`. If
    there is no such part, return all of `stops`.
    """
    while widget is not None:
        near = [stop for stop in stops if widget.isAncestorOf(stop)]
        if near:
            return near
        widget = widget.parentWidget()
    return stops


def _stops(window: QWidget, area: QAbstractScrollArea) -> Iterator[QWidget]:
    if area.window() is not window or not _is_stop(area, shown=True):
        return
    inside = [each for each in descendants(area) if _is_stop(each, shown=False)]
    controls = [each for each in inside if each.focusPolicy() & Qt.FocusPolicy.TabFocus]
    is_list = not isinstance(area, QScrollArea)
    if area.focusPolicy() & Qt.FocusPolicy.TabFocus and (is_list or not controls):
        yield area
    elif controls and not any(isinstance(each, QAbstractScrollArea) for each in controls):
        yield min(controls, key=lambda each: _place(window, each))


def _is_stop(widget: QWidget, *, shown: bool) -> bool:
    """Return True if a widget is visible and enabled; with `shown`, part of it must also be on screen."""
    return widget.isVisible() and widget.isEnabled() and (not shown or _is_seen(widget))


def _is_seen(widget: QWidget) -> bool:
    """Return True if part of a widget is on screen, not scrolled out of view.

    `QWidget.visibleRegion` cannot be used, because it is also empty for a widget that is covered by an opaque
    child.
    """
    seen, inner = widget.rect(), widget
    while not inner.isWindow() and (outer := inner.parentWidget()) is not None:
        seen = seen.translated(inner.pos()).intersected(outer.rect())
        inner = outer
    return not seen.isEmpty()


def _place(window: QWidget, widget: QWidget) -> tuple[int, int]:
    corner = widget.mapTo(window, QPoint(0, 0))
    return corner.x(), corner.y()
