"""Checks the look of a window: cut text, overlaps, contrast, accessible names, and the tab order.

`problems(window)` returns a sentence for each thing that is wrong with what is visible of it; an empty list
is a clean window. The rules:

- Text is shown whole, or shortened with an ellipsis while the tool tip or accessible name has all of it.
- No two widgets of one parent cover each other.
- Text on its background has at least the contrast of WCAG AA (4.5), measured in the pixels that were drawn;
  disabled controls are exempt, as in WCAG.
- What one presses or types in has an outline that differs from what it lies on by 3.0, or is a button without
  one whose sign does; it is at least 24 pixels wide and high.
- The rows of a list are of one height.
- Everything that takes the focus has a name that a screen reader gets through QAccessible, is reached by Tab,
  and Tab never leads back up to the left within one group of controls.
- The window has a name, and nothing a screen reader is told holds markup or the sign of a mnemonic.

Qt's own inner widgets (scroll bars, headers, spin buttons) are left to Qt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from PySide6.QtCore import QObject, QPoint, QRect, Qt
from PySide6.QtGui import QAccessible, QAction, QColor, QFontMetrics, QImage
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QCheckBox,
    QComboBox,
    QDialog,
    QLabel,
    QLineEdit,
    QMainWindow,
    QMenuBar,
    QPushButton,
    QRadioButton,
    QScrollBar,
    QSplitterHandle,
    QStackedWidget,
    QStyle,
    QStyleOptionButton,
    QTabBar,
    QToolButton,
    QWidget,
)

from reverie.ui.appearance import SIGN_CONTRAST, TEXT_CONTRAST, contrast
from reverie.ui.screenshot import finish_layouts
from reverie.ui.widgets.messages import Overlay

LEAST_TARGET = 24
"""The minimum width and height, in pixels, of a control for the pointer."""

# Antialiasing leaves thin strokes a little paler than their colour.
_BLUR = 0.85
_ROWS = 12
_MOST_ROWS = 60
_ARROW = 16
_MOST_STOPS = 400
_MOST_SPOKEN = 5_000
_MARKUP = re.compile(r"<(?:qt|br|b|p)\b|&[A-Za-z]")


def problems(window: QWidget) -> list[str]:
    """Return what is wrong with the visible part of `window`, one sentence each."""
    finish_layouts()
    image = window.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    found = [
        *_cut(window),
        *_overlaps(window),
        *_pale(window, image),
        *_faint(window, image),
        *_small(window),
        *_uneven(window),
        *_nameless(window),
        *_keyboard(window),
        *_spoken(window),
    ]
    return list(dict.fromkeys(found))


def _shown(window: QWidget) -> Iterator[QWidget]:
    """The window's own visible widgets with a size; dialogs over it are windows of their own."""
    for widget in window.findChildren(QWidget):
        if widget.window() is window.window() and widget.isVisible() and not widget.visibleRegion().isEmpty():
            yield widget


def _called(widget: QWidget) -> str:
    text = widget.text() if isinstance(widget, QLabel | QAbstractButton) else ""
    name = widget.objectName() or widget.accessibleName() or text
    return f"{type(widget).__name__} {name[:60]!r}".strip()


def _inner(widget: QWidget) -> bool:
    """Return whether Qt made the widget inside one of its own controls."""
    if isinstance(widget, QScrollBar | QSplitterHandle) or widget.objectName().startswith("qt_"):
        return True
    parent = widget.parentWidget()
    return isinstance(parent, QAbstractSpinBox | QComboBox | QLineEdit | QTabBar | QMenuBar)


# Text


def _cut(window: QWidget) -> Iterator[str]:
    for widget in _shown(window):
        if isinstance(widget, QMenuBar):
            over = [each.text() for each in widget.actions() if _beyond(widget, each)]
            if over:
                yield f"the menu bar has no room for {over}"
        elif isinstance(widget, QLabel):
            yield from _cut_label(widget)
        elif isinstance(widget, QAbstractButton) and not _inner(widget):
            yield from _cut_button(widget)
        elif isinstance(widget, QComboBox) and not widget.isEditable():
            text = widget.currentText()
            if not widget.toolTip() and _advance(widget, text) > widget.width() - _ARROW:
                yield f"{_called(widget)}: {text!r} is cut"


def _beyond(bar: QMenuBar, menu: QAction) -> bool:
    return menu.isVisible() and bar.actionGeometry(menu).right() > bar.width()


def _cut_label(label: QLabel) -> Iterator[str]:
    text = label.text()
    if not text or label.textFormat() == Qt.TextFormat.RichText:
        return
    area = label.contentsRect()
    if label.wordWrap():
        needed = label.heightForWidth(label.width())
        if needed > label.height() + 1:
            yield f"{_called(label)}: {label.height()} px high, its text needs {needed}"
        return
    longest = max((_advance(label, line) for line in text.split("\n")), default=0)
    if (
        longest > area.width() + 1
        and not (_shortened(text) and _tells(label, text))
        and not _draws_itself(label)
    ):
        yield f"{_called(label)}: its text is {longest} px wide, {area.width()} are there"


def _draws_itself(label: QLabel) -> bool:
    """Return whether a label shortens its text itself and has the whole text in the tool tip."""
    return type(label) is not QLabel and "paintEvent" in type(label).__dict__ and bool(label.toolTip())


def _cut_button(button: QAbstractButton) -> Iterator[str]:
    text = button.text().replace("&", "")
    if not text or (
        isinstance(button, QToolButton) and button.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly
    ):
        return
    room = button.width()
    if isinstance(button, QCheckBox | QRadioButton):
        room -= button.iconSize().width() + 4
    elif not button.icon().isNull():
        room -= button.iconSize().width()
    if _advance(button, text) > room and not (_shortened(text) and _tells(button, text)):
        yield f"{_called(button)}: its text is {_advance(button, text)} px wide, {room} are there"
    if _shortened(text) and button.accessibleName() != button.text() and not _tells(button, text):
        yield f"{_called(button)}: shortened, and nothing tells the whole"


def _advance(widget: QWidget, text: str) -> int:
    return QFontMetrics(widget.font()).horizontalAdvance(text.replace("&", ""))


def _shortened(text: str) -> bool:
    return "…" in text


def _tells(widget: QWidget, text: str) -> bool:
    whole = widget.toolTip() or widget.accessibleName()
    return bool(whole)


# Places


def _overlaps(window: QWidget) -> Iterator[str]:
    groups: dict[QWidget, list[QWidget]] = {}
    for widget in _shown(window):
        parent = widget.parentWidget()
        if parent is None or widget.isWindow() or _inner(widget):
            continue
        if isinstance(parent, QAbstractScrollArea | QStackedWidget | QMainWindow):
            continue
        if isinstance(widget, Overlay):
            continue  # it lies over another widget on purpose
        groups.setdefault(parent, []).append(widget)
    for parent, widgets in groups.items():
        for place, one in enumerate(widgets):
            for other in widgets[place + 1 :]:
                shared = one.geometry().intersected(other.geometry())
                if shared.width() > 1 and shared.height() > 1:
                    yield f"{_called(one)} and {_called(other)} of {_called(parent)} overlap"
    for widget in _shown(window):
        parent = widget.parentWidget()
        if parent is None or _inner(widget) or isinstance(parent, QAbstractScrollArea) or widget.isWindow():
            continue
        grand = parent.parentWidget()
        if isinstance(grand, QAbstractScrollArea) and grand.viewport() is parent:
            continue
        right = widget.geometry().right()
        if right > parent.rect().right() + 1:
            yield f"{_called(widget)} goes {right - parent.rect().right()} px beyond {_called(parent)}"


# Contrast


def _pale(window: QWidget, image: QImage) -> Iterator[str]:
    ratio = image.devicePixelRatio()
    for widget in _shown(window):
        if not widget.isEnabled() or _inner(widget):
            continue
        texts = isinstance(widget, QLabel | QPushButton | QCheckBox | QRadioButton | QToolButton)
        whole = widget.visibleRegion().boundingRect().contains(widget.rect())
        if texts and widget.text() and whole:
            yield from _pale_area(window, widget, widget.rect(), _called(widget), image, ratio)
        elif isinstance(widget, QAbstractItemView):
            view = widget.viewport()
            index = widget.indexAt(QPoint(2, 2))
            for _row in range(_ROWS):
                if not index.isValid():
                    break
                area = widget.visualRect(index).intersected(view.rect())
                if not view.visibleRegion().boundingRect().contains(area):
                    break
                if index.flags() & Qt.ItemFlag.ItemIsEnabled and area.height() > 8 and index.data():
                    name = f"{_called(widget)}, row {str(index.data())[:40]!r}"
                    yield from _pale_area(window, view, area, name, image, ratio)
                index = widget.indexAt(QPoint(2, area.bottom() + 2))


def _pale_area(
    window: QWidget, widget: QWidget, area: QRect, name: str, image: QImage, ratio: float
) -> Iterator[str]:
    back, best = _back_and_best(window, widget, area, image, ratio)
    if 1.05 < best < TEXT_CONTRAST * _BLUR:
        yield f"{name}: contrast {best:.1f} on {back.name()}"


def _back_and_best(
    window: QWidget, widget: QWidget, area: QRect, image: QImage, ratio: float
) -> tuple[QColor, float]:
    """The colour that there is most of, and the contrast of what differs from it most; 0 without an area."""
    top = widget.mapTo(window, area.topLeft())
    place = QRect(top, area.size()).intersected(window.rect())
    inner = place.adjusted(1, 1, -1, -1)
    corner = QPoint(round(inner.left() * ratio), round(inner.top() * ratio))
    cut = image.copy(QRect(corner, inner.size() * ratio))
    seen = Counter(memoryview(cut.constBits()).cast("I")) if not cut.isNull() else Counter[int]()
    if not seen:
        return QColor(), 0.0
    back = QColor(seen.most_common(1)[0][0])
    return back, max(contrast(QColor(pixel), back) for pixel in seen)


# Controls and rows


def _outlined(widget: QWidget) -> bool:
    """Return whether a control has an outline; other controls are recognised by their content."""
    if isinstance(widget, QPushButton):
        return not widget.isFlat()
    if isinstance(widget, QToolButton):
        return not widget.autoRaise()
    return isinstance(widget, QComboBox | QAbstractSpinBox) or (
        isinstance(widget, QLineEdit) and widget.hasFrame()
    )


def _faint(window: QWidget, image: QImage) -> Iterator[str]:
    """Edges of controls and signs of buttons, against what surrounds them."""
    for widget in _shown(window):
        whole = widget.visibleRegion().boundingRect().contains(widget.rect())
        if _inner(widget) or not widget.isEnabled() or not whole:
            continue
        if isinstance(widget, QCheckBox | QRadioButton):
            option = QStyleOptionButton()
            option.initFrom(widget)
            box = QStyle.SubElement.SE_CheckBoxIndicator
            if isinstance(widget, QRadioButton):
                box = QStyle.SubElement.SE_RadioButtonIndicator
            area = widget.style().subElementRect(box, option, widget)
            yield from _faint_area(widget, area, window, image)
        elif _outlined(widget):
            yield from _faint_area(widget, widget.rect(), window, image)
        elif isinstance(widget, QToolButton) and not widget.text() and not widget.icon().isNull():
            _back, best = _back_and_best(window, widget, widget.rect(), image, image.devicePixelRatio())
            if best < SIGN_CONTRAST * _BLUR:
                yield f"{_called(widget)}: its sign has a contrast of {best:.1f}"


def _faint_area(widget: QWidget, area: QRect, window: QWidget, image: QImage) -> Iterator[str]:
    """From the left inwards: what it lies on, the edge, and what is inside. An edge that differs from one of
    them shows where the control is."""
    ratio, middle = image.devicePixelRatio(), area.center().y()
    seen = []
    for x in range(area.left() - 2, area.left() + 5):
        place = widget.mapTo(window, QPoint(x, middle))
        if window.rect().contains(place):
            seen.append(image.pixelColor(round(place.x() * ratio), round(place.y() * ratio)))
    best = max(contrast(one, other) for one in seen for other in seen)
    if best < SIGN_CONTRAST:
        yield f"{_called(widget)}: its edge has a contrast of {best:.1f}"


def _small(window: QWidget) -> Iterator[str]:
    for widget in _shown(window):
        pressed = isinstance(widget, QAbstractButton | QComboBox | QLineEdit | QAbstractSpinBox)
        if not pressed or _inner(widget) or not widget.isEnabled():
            continue
        if min(widget.width(), widget.height()) < LEAST_TARGET:
            size = f"{widget.width()} x {widget.height()}"
            yield f"{_called(widget)}: {size} px is too small to be pressed"


def _uneven(window: QWidget) -> Iterator[str]:
    for widget in _shown(window):
        if not isinstance(widget, QAbstractItemView) or _inner(widget):
            continue
        index, heights = widget.indexAt(QPoint(2, 2)), set[int]()
        for _row in range(_MOST_ROWS):
            if not index.isValid():
                break
            area = widget.visualRect(index)
            if index.flags() & Qt.ItemFlag.ItemIsSelectable:  # the others are captions
                heights.add(area.height())
            index = widget.indexAt(QPoint(2, area.bottom() + 2))
        if len(heights) > 1:
            yield f"{_called(widget)}: rows of {sorted(heights)} px"
        if heights and min(heights) < LEAST_TARGET:
            yield f"{_called(widget)}: a row of {min(heights)} px is too small to be pressed"


# Names and keys


def _takes_focus(widget: QWidget) -> bool:
    return (
        bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
        and widget.isEnabled()
        and not _inner(widget)
        and widget.focusProxy() is None
    )


def _nameless(window: QWidget) -> Iterator[str]:
    for widget in _shown(window):
        if not _takes_focus(widget):
            continue
        told = QAccessible.queryAccessibleInterface(widget)
        name = told.text(QAccessible.Text.Name) if told is not None else ""
        if not name.strip() and not isinstance(widget, QTabBar):
            yield f"{_called(widget)} has no accessible name"


def spoken(window: QWidget) -> list[tuple[str, str, str]]:
    """Return (role, name, description) of everything in a window, as a screen reader gets it."""
    top = QAccessible.queryAccessibleInterface(window)
    dump, waiting = [], [top]
    while waiting and len(dump) < _MOST_SPOKEN:
        each = waiting.pop()
        if each is None or not each.isValid() or (each is not top and each.state().invisible):
            continue
        kinds = QAccessible.Text
        dump.append((each.role().name, each.text(kinds.Name), each.text(kinds.Description)))
        waiting += [each.child(at) for at in range(each.childCount())]
    return dump


def _spoken(window: QWidget) -> Iterator[str]:
    dump = spoken(window)
    if isinstance(window, QDialog | QMainWindow) and not dump[0][1].strip():
        yield f"{type(window).__name__}: the window has no name"
    for role, *texts in dump:
        for text in texts:
            if _MARKUP.search(text):
                yield f"{role}: a screen reader is told markup: {text[:80]!r}"


def _chosen_among(widget: QWidget) -> QObject | None:
    """Return the parent of a group of buttons of which one is chosen; None for any other widget."""
    if isinstance(widget, QRadioButton):
        return widget.parentWidget()
    group = widget.group() if isinstance(widget, QAbstractButton) else None
    return group if group is not None and group.exclusive() else None


def _keyboard(window: QWidget) -> Iterator[str]:
    wanted = {widget for widget in _shown(window) if _takes_focus(widget)}
    order = _order(window)
    # Of buttons of which one is chosen only that is a stop of Tab; the arrow keys lead to the others.
    groups = {_chosen_among(widget) for widget in order} - {None}
    for widget in wanted - set(order):
        if _chosen_among(widget) in groups:
            continue
        yield f"{_called(widget)} is not reached by Tab"
    for one, other in pairwise(order):
        if one.parentWidget() is not other.parentWidget():
            continue
        before, after = _place(one, window), _place(other, window)
        if after.bottom() < before.top() and after.left() <= before.left():
            yield f"Tab leads from {_called(one)} back up to {_called(other)}"


def _order(window: QWidget) -> list[QWidget]:
    """What has the focus after each press of Tab, from the top on. Walked as Qt does it: PySide makes the
    answer of `nextInFocusChain` a child of the widget that was asked, which breaks both."""
    before = window.focusWidget()
    if before is not None:
        before.clearFocus()
    order: list[QWidget] = []
    for _press in range(_MOST_STOPS):
        window.focusNextPrevChild(True)
        at = window.focusWidget()
        if at is None or at in order:
            break
        order.append(at)
    if before is not None:
        before.setFocus()
    return order


def _place(widget: QWidget, window: QWidget) -> QRect:
    return QRect(widget.mapTo(window, QPoint(0, 0)), widget.size())
