"""The style of controls: flat, with one accent colour and a visible focus, over Qt's Fusion style.

Colours come from `theme_of` the palette of the control, sizes from its font, so dark palettes, high contrast
and large fonts need no further code. There is no style sheet: it would wrap this style and ignore changes of
the palette.

Threading: GUI thread. Failure: none of its own. Everything that is not drawn here is drawn by Fusion.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRect, QRectF, QSize
from PySide6.QtGui import QBrush, QColor, QFont, QIcon, QPainter, QPainterPath, QPalette, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractScrollArea,
    QApplication,
    QProxyStyle,
    QStyle,
    QStyleHintReturn,
    QStyleOption,
    QStyleOptionButton,
    QStyleOptionComboBox,
    QStyleOptionComplex,
    QStyleOptionHeader,
    QStyleOptionProgressBar,
    QStyleOptionSlider,
    QStyleOptionSpinBox,
    QStyleOptionTab,
    QStyleOptionToolButton,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from reverie.ui.appearance import Theme, theme_of
from reverie.ui.arrows import draw_branch, draw_chevron
from reverie.ui.metrics import icon_size, row_height, scaled
from reverie.ui.mnemonics import MNEMONICS

RADIUS = 6.0
RING = 2
_BAR = 10  # of a scroll bar
_THUMB = 28  # the shortest
_MARK = 16  # a box to tick, at the reference font
_LEAST_TARGET = 26  # of what is pressed, each way
_BESIDE = 14  # room for the arrow of a combo box or a spin box

_State = QStyle.StateFlag
_Primitive = QStyle.PrimitiveElement
_Control = QStyle.ControlElement
_Complex = QStyle.ComplexControl
_Sub = QStyle.SubControl
_Metric = QStyle.PixelMetric
_Hint = QStyle.StyleHint
_Content = QStyle.ContentsType
_Area = QRect | QRectF
_Fill = QColor | QBrush

_METRICS = {
    _Metric.PM_ScrollBarExtent: _BAR,
    _Metric.PM_ScrollBarSliderMin: _THUMB,
    _Metric.PM_SplitterWidth: 8,
    _Metric.PM_TabBarTabShiftVertical: 0,
    _Metric.PM_TabBarTabShiftHorizontal: 0,
    _Metric.PM_TabBarTabHSpace: 20,
    _Metric.PM_TabBarTabVSpace: 12,
    _Metric.PM_TabBarBaseOverlap: 0,
    _Metric.PM_ButtonShiftHorizontal: 0,
    _Metric.PM_ButtonShiftVertical: 0,
    _Metric.PM_DefaultFrameWidth: 1,
    _Metric.PM_FocusFrameHMargin: 5,  # beside the text of an item
    _Metric.PM_HeaderMargin: 6,
}
_BY_FONT: dict[QStyle.PixelMetric, Callable[[QFont], int]] = {
    _Metric.PM_SmallIconSize: icon_size,
    _Metric.PM_ButtonIconSize: icon_size,
    _Metric.PM_ListViewIconSize: icon_size,
    _Metric.PM_TreeViewIndentation: icon_size,
    _Metric.PM_MenuButtonIndicator: lambda font: icon_size(font) * 3 // 4,
    _Metric.PM_IndicatorWidth: lambda font: scaled(font, _MARK),
    _Metric.PM_IndicatorHeight: lambda font: scaled(font, _MARK),
    _Metric.PM_ExclusiveIndicatorWidth: lambda font: scaled(font, _MARK),
    _Metric.PM_ExclusiveIndicatorHeight: lambda font: scaled(font, _MARK),
}
_FIELDS = (_Content.CT_PushButton, _Content.CT_ComboBox, _Content.CT_LineEdit, _Content.CT_ItemViewItem)
_HINTS = {
    _Hint.SH_DialogButtonBox_ButtonsHaveIcons: 0,
    _Hint.SH_ItemView_ShowDecorationSelected: 1,
    _Hint.SH_ScrollBar_Transient: 0,
    _Hint.SH_EtchDisabledText: 0,
}


def _has(state: QStyle.StateFlag, *flags: QStyle.StateFlag) -> bool:
    # Of two flags Python makes a third one with `&`, which takes ten times as long as numbers do.
    held = state.value
    return all(held & flag.value for flag in flags)


def use_calm_style() -> None:
    """Set Reverie's style for the whole application, if that was not done yet."""
    application = QApplication.instance()
    if isinstance(application, QApplication) and not isinstance(application.style(), CalmStyle):
        application.setStyle(CalmStyle())


class CalmStyle(QProxyStyle):
    """Reverie's style of controls; `use_calm_style` sets it."""

    def __init__(self) -> None:
        super().__init__("Fusion")

    def pixelMetric(
        self, metric: QStyle.PixelMetric, option: QStyleOption | None = None, widget: QWidget | None = None
    ) -> int:
        found = _METRICS.get(metric)
        if found is not None:
            return found
        of_font = _BY_FONT.get(metric)
        if of_font is not None and widget is not None:
            return of_font(widget.font())
        return super().pixelMetric(metric, option, widget)

    def styleHint(
        self,
        hint: QStyle.StyleHint,
        option: QStyleOption | None = None,
        widget: QWidget | None = None,
        returned: QStyleHintReturn | None = None,
    ) -> int:
        found = _HINTS.get(hint)
        if found is not None:
            return found
        if hint == _Hint.SH_UnderlineShortcut and widget is not None:
            return int(widget.window().property(MNEMONICS) is not False)
        return super().styleHint(hint, option, widget, returned)

    def sizeFromContents(
        self, kind: QStyle.ContentsType, option: QStyleOption, size: QSize, widget: QWidget | None = None
    ) -> QSize:
        found = super().sizeFromContents(kind, option, size, widget)  # type: ignore[arg-type]
        if widget is None:
            return found
        if kind in _FIELDS:
            found.setHeight(max(found.height(), row_height(widget.font())))
        elif kind in (_Content.CT_CheckBox, _Content.CT_RadioButton):
            found.setHeight(max(found.height(), scaled(widget.font(), _LEAST_TARGET)))
        elif kind == _Content.CT_ToolButton:
            least = scaled(widget.font(), _LEAST_TARGET)
            found = found.expandedTo(QSize(least, least))
        elif kind == _Content.CT_TabBarTab:
            found.setHeight(max(found.height(), scaled(widget.font(), 34)))
        elif kind == _Content.CT_MenuItem and size.height() > RING * 4:
            found.setHeight(max(found.height(), row_height(widget.font()) - 2))
        return found

    def subElementRect(
        self, element: QStyle.SubElement, option: QStyleOption, widget: QWidget | None = None
    ) -> QRect:
        found = super().subElementRect(element, option, widget)  # type: ignore[arg-type]
        return found.adjusted(4, 0, -4, 0) if element == QStyle.SubElement.SE_LineEditContents else found

    def drawPrimitive(
        self,
        element: QStyle.PrimitiveElement,
        option: QStyleOption,
        painter: QPainter,
        widget: QWidget | None = None,
    ) -> None:
        draw = _PRIMITIVES.get(element)
        if draw is None or not draw(option, painter, widget):
            super().drawPrimitive(element, option, painter, widget)

    def drawControl(
        self,
        element: QStyle.ControlElement,
        option: QStyleOption,
        painter: QPainter,
        widget: QWidget | None = None,
    ) -> None:
        if element == _Control.CE_PushButtonLabel and isinstance(option, QStyleOptionButton):
            if _is_default(option):
                theme = theme_of(option.palette)
                option.palette.setColor(QPalette.ColorRole.ButtonText, theme.on_accent)
                option.icon = QIcon()
        elif element == _Control.CE_TabBarTabLabel and isinstance(option, QStyleOptionTab):
            # The focus ring is drawn by `_tab`.
            option.state &= ~_State.State_HasFocus
            if not _has(option.state, _State.State_Selected):
                option.palette.setColor(QPalette.ColorRole.WindowText, theme_of(option.palette).dim_window)
        draw = _CONTROLS.get(element)
        if draw is None or not draw(option, painter, widget):
            super().drawControl(element, option, painter, widget)

    def drawComplexControl(
        self,
        control: QStyle.ComplexControl,
        option: QStyleOptionComplex,
        painter: QPainter,
        widget: QWidget | None = None,
    ) -> None:
        if control == _Complex.CC_ScrollBar and isinstance(option, QStyleOptionSlider):
            self._draw_scroll_bar(option, painter, widget)
        elif control == _Complex.CC_ComboBox and isinstance(option, QStyleOptionComboBox):
            self._draw_combo(option, painter)
        elif control == _Complex.CC_SpinBox and isinstance(option, QStyleOptionSpinBox):
            self._draw_spin_box(option, painter, widget)
        elif control == _Complex.CC_ToolButton and isinstance(option, QStyleOptionToolButton):
            self._draw_tool_button(option, painter, widget)
        else:
            super().drawComplexControl(control, option, painter, widget)

    def subControlRect(
        self,
        control: QStyle.ComplexControl,
        option: QStyleOptionComplex,
        part: QStyle.SubControl,
        widget: QWidget | None = None,
    ) -> QRect:
        if control == _Complex.CC_ScrollBar and isinstance(option, QStyleOptionSlider):
            return _scroll_bar_part(option, part)
        return super().subControlRect(control, option, part, widget)  # type: ignore[arg-type]

    def _draw_scroll_bar(self, option: QStyleOptionSlider, painter: QPainter, widget: QWidget | None) -> None:
        theme = theme_of(option.palette)
        thumb = _scroll_bar_part(option, _Sub.SC_ScrollBarSlider)
        if option.maximum <= option.minimum or thumb.isEmpty():
            return
        used = _has(option.state, _State.State_MouseOver) or _has(option.state, _State.State_Sunken)
        _filled(painter, QRectF(thumb).adjusted(2, 2, -2, -2), theme.dim if used else theme.edge, 3)

    def _draw_combo(self, option: QStyleOptionComboBox, painter: QPainter) -> None:
        theme = theme_of(option.palette)
        if option.frame:
            _field(option, painter, theme)
        inside = option.rect.adjusted(0, 0, -6, 0)
        inside.setLeft(inside.right() - _BESIDE)
        draw_chevron(painter, inside, _ink(option, theme), down=True)

    def _draw_spin_box(self, option: QStyleOptionSpinBox, painter: QPainter, widget: QWidget | None) -> None:
        theme = theme_of(option.palette)
        if option.frame:
            _field(option, painter, theme)
        for part, down in ((_Sub.SC_SpinBoxUp, False), (_Sub.SC_SpinBoxDown, True)):
            if option.subControls & part:
                draw_chevron(
                    painter,
                    self.subControlRect(_Complex.CC_SpinBox, option, part, widget),
                    theme.dim,
                    down=down,
                )

    def _draw_tool_button(
        self, option: QStyleOptionToolButton, painter: QPainter, widget: QWidget | None
    ) -> None:
        # Fusion draws the arrow of a menu with a bevel of its own; it draws the rest with the parts above.
        has_menu = bool(option.features & QStyleOptionToolButton.ToolButtonFeature.MenuButtonPopup)
        if not has_menu:
            super().drawComplexControl(_Complex.CC_ToolButton, option, painter, widget)
            return
        menu = self.subControlRect(_Complex.CC_ToolButton, option, _Sub.SC_ToolButtonMenu, widget)
        button = self.subControlRect(_Complex.CC_ToolButton, option, _Sub.SC_ToolButton, widget)
        whole = QStyleOptionToolButton(option)
        whole.rect = button.united(menu)
        _tool_button(whole, painter, widget)
        theme = theme_of(option.palette)
        painter.setPen(QPen(theme.line, 1))
        painter.drawLine(menu.left(), menu.top() + 6, menu.left(), menu.bottom() - 6)
        label = QStyleOptionToolButton(option)
        label.rect = button
        super().drawControl(_Control.CE_ToolButtonLabel, label, painter, widget)
        draw_chevron(painter, menu, _ink(option, theme), down=True)
        if _has(option.state, _State.State_HasFocus):
            _ring(painter, QRectF(whole.rect), theme.accent)


def _scroll_bar_part(option: QStyleOptionSlider, part: QStyle.SubControl) -> QRect:
    whole = QRect(option.rect)
    if part == _Sub.SC_ScrollBarGroove:
        return whole
    across = _has(option.state, _State.State_Horizontal)
    length = whole.width() if across else whole.height()
    steps = option.maximum - option.minimum
    thumb = length
    if steps > 0:
        thumb = max(min(_THUMB, length), int(length * option.pageStep / (steps + option.pageStep)))
    start = QStyle.sliderPositionFromValue(
        option.minimum, option.maximum, option.sliderPosition, length - thumb, option.upsideDown
    )
    spans = {
        _Sub.SC_ScrollBarSlider: (start, thumb),
        _Sub.SC_ScrollBarSubPage: (0, start),
        _Sub.SC_ScrollBarAddPage: (start + thumb, length - start - thumb),
    }
    if part not in spans:
        return QRect()
    begin, size = spans[part]
    if across:
        return QStyle.visualRect(
            option.direction, whole, QRect(whole.left() + begin, whole.top(), size, whole.height())
        )
    return QRect(whole.left(), whole.top() + begin, whole.width(), size)


def _filled(painter: QPainter, area: QRectF, colour: QColor, radius: float = RADIUS) -> None:
    path = QPainterPath()
    path.addRoundedRect(area, radius, radius)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillPath(path, colour)
    painter.restore()


def _boxed(
    painter: QPainter, area: _Area, fill: _Fill, edge: QColor, *, width: float = 1.0, radius: float = RADIUS
) -> None:
    """Draw a rounded rectangle, filled with `fill`, just inside `area`.

    `edge`: the colour of its outline, which is `width` pixels wide.
    """
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(edge, width))
    painter.setBrush(fill)
    half = width / 2
    painter.drawRoundedRect(QRectF(area).adjusted(half, half, -half, -half), radius, radius)
    painter.restore()


def _ring(painter: QPainter, area: QRectF, colour: QColor) -> None:
    """Draw the ring around the control with the focus: two pixels wide, just inside `area`."""
    _boxed(painter, area, QBrush(), colour, width=RING)


def _ink(option: QStyleOption, theme: Theme) -> QColor:
    return theme.dim if _has(option.state, _State.State_Enabled) else theme.line


def _edge(option: QStyleOption, theme: Theme) -> QColor:
    return theme.edge if _has(option.state, _State.State_Enabled) else theme.line


def _is_default(option: QStyleOptionButton) -> bool:
    wanted = QStyleOptionButton.ButtonFeature.DefaultButton
    return bool(option.features & wanted) and _has(option.state, _State.State_Enabled)


def _field(option: QStyleOption, painter: QPainter, theme: Theme) -> None:
    """Draw the box of an input field, with an outline that has the accent colour while it has the focus."""
    focused = _has(option.state, _State.State_HasFocus, _State.State_Enabled)
    fill = theme.base if _has(option.state, _State.State_Enabled) else theme.window
    edge = theme.accent if focused else _edge(option, theme)
    _boxed(painter, option.rect, fill, edge, width=RING if focused else 1)


def _item_row(option: QStyleOption, painter: QPainter, widget: QWidget | None) -> bool:
    """Draw the background behind a row of a list or tree, and behind the arrow at its left.

    Returns False if nothing was drawn, so that Fusion must draw it.
    """
    if not isinstance(option, QStyleOptionViewItem):
        return False
    if option.features & QStyleOptionViewItem.ViewItemFeature.Alternate:
        painter.fillRect(option.rect, option.palette.color(QPalette.ColorRole.AlternateBase))
    if isinstance(widget, QTreeView) and option.rect.left() <= 0:
        _draw_row(option, painter, widget, begins=True, ends=False)
    return True


def _item(option: QStyleOption, painter: QPainter, widget: QWidget | None) -> bool:
    if not isinstance(option, QStyleOptionViewItem):
        return False
    places = QStyleOptionViewItem.ViewItemPosition
    begins = option.rect.left() <= 0 or not isinstance(widget, QTreeView)
    ends = option.viewItemPosition in (places.End, places.OnlyOne, places.Invalid)
    brush = option.backgroundBrush
    if brush != QBrush():
        painter.fillRect(option.rect, brush)
    _draw_row(option, painter, widget, begins=begins, ends=ends)
    return True


def _draw_row(
    option: QStyleOptionViewItem, painter: QPainter, widget: QWidget | None, *, begins: bool, ends: bool
) -> None:
    """Draw the background of a row that is selected, hovered or has the focus, or of one part of the row.

    `begins`, `ends`: the part is at the left or right end of the row, which is rounded.
    """
    selected = _has(option.state, _State.State_Selected)
    hovered = _has(option.state, _State.State_MouseOver, _State.State_Enabled)
    focused = _has(option.state, _State.State_HasFocus)
    if not (selected or hovered or focused):
        return
    # Not the item's palette, whose text may have a colour of its own.
    theme = theme_of(option.palette if widget is None else widget.palette())
    owner = widget is not None and widget.hasFocus()
    area = QRectF(option.rect).adjusted(2 if begins else -20, 1, -2 if ends else 20, -1)
    painter.save()
    painter.setClipRect(option.rect)
    if selected or hovered:
        colour = theme.hover
        if selected:
            colour = (
                theme.selected
                if owner and widget is not None and widget.isActiveWindow()
                else theme.selected_idle
            )
        _filled(painter, area, colour)
    if selected and owner and begins:
        _filled(painter, QRectF(area.left(), area.top() + 4, 2, area.height() - 8), theme.accent, 1)
    if focused and owner and not selected:
        _ring(painter, area, theme.accent)
    elif focused and owner and theme.selected == theme.selected_idle:
        # In high contrast a selected row looks the same with and without the focus.
        _ring(painter, area.adjusted(2, 2, -2, -2), option.palette.color(QPalette.ColorRole.HighlightedText))
    painter.restore()


def _focus(option: QStyleOption, painter: QPainter, widget: QWidget | None) -> bool:
    # Rows draw their own, and a tree that asks for one around a row passes no widget.
    if widget is not None and not isinstance(widget, QAbstractItemView):
        _ring(painter, QRectF(option.rect).adjusted(-1, -1, 1, 1), theme_of(option.palette).accent)
    return True


def _push_button(option: QStyleOption, painter: QPainter, widget: QWidget | None) -> bool:
    theme = theme_of(option.palette)
    down = _has(option.state, _State.State_Sunken) or _has(option.state, _State.State_On)
    if isinstance(option, QStyleOptionButton) and _is_default(option):
        fill = theme.accent.darker(112) if down else theme.accent
        edge = fill
    else:
        over = _has(option.state, _State.State_MouseOver, _State.State_Enabled)
        fill = theme.selected_idle if down else theme.hover if over else theme.base
        edge = _edge(option, theme)
    _boxed(painter, option.rect, fill, edge)
    return True


def _tool_button(option: QStyleOption, painter: QPainter, widget: QWidget | None) -> bool:
    theme = theme_of(option.palette)
    flat = _has(option.state, _State.State_AutoRaise)
    down = _has(option.state, _State.State_Sunken) or _has(option.state, _State.State_On)
    over = _has(option.state, _State.State_MouseOver, _State.State_Enabled)
    if not flat:
        fill = theme.selected_idle if down else theme.hover if over else theme.base
        _boxed(painter, option.rect, fill, _edge(option, theme))
    elif down or over:
        _filled(painter, QRectF(option.rect), theme.selected_idle if down else theme.hover)
    if flat and _has(option.state, _State.State_HasFocus):
        _ring(painter, QRectF(option.rect), theme.accent)
    return True


def _tick_box(option: QStyleOption, painter: QPainter, widget: QWidget | None) -> bool:
    theme = theme_of(option.palette)
    partly = _has(option.state, _State.State_NoChange)
    on = _has(option.state, _State.State_On) or partly
    enabled = _has(option.state, _State.State_Enabled)
    fill = (theme.accent if enabled else theme.line) if on else theme.base
    _boxed(painter, option.rect, fill, fill if on else _edge(option, theme), radius=3)
    if on:
        _draw_tick(painter, QRectF(option.rect), theme.on_accent if enabled else theme.dim, partly=partly)
    return True


def _draw_tick(painter: QPainter, area: QRectF, colour: QColor, *, partly: bool) -> None:
    unit = area.width() / 16
    points = ((4.0, 8.0), (12.0, 8.0)) if partly else ((4.0, 8.2), (7.0, 11.2), (12.2, 5.0))
    path = QPainterPath()
    for index, (x, y) in enumerate(points):
        point = QPointF(area.left() + x * unit, area.top() + y * unit)
        path.lineTo(point) if index else path.moveTo(point)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setBrush(QBrush())
    painter.setPen(QPen(colour, 1.8 * unit))
    painter.drawPath(path)
    painter.restore()


_ROUND_EDGE = 1.6


def _radio(option: QStyleOption, painter: QPainter, widget: QWidget | None) -> bool:
    theme = theme_of(option.palette)
    enabled = _has(option.state, _State.State_Enabled)
    area = QRectF(option.rect)
    on = _has(option.state, _State.State_On)
    fill = (theme.accent if enabled else theme.line) if on else theme.base
    edge = fill if on else _edge(option, theme)
    # A round outline of one pixel is spread over two pixels, and faint.
    _boxed(painter, option.rect, fill, edge, width=_ROUND_EDGE, radius=area.width() / 2)
    if on:
        inner = area.width() * 0.31
        _filled(painter, area.adjusted(inner, inner, -inner, -inner), theme.on_accent, area.width())
    return True


def _line_edit(option: QStyleOption, painter: QPainter, widget: QWidget | None) -> bool:
    if getattr(option, "lineWidth", 0) > 0:  # not inside a spin box or a combo box, which draws the frame
        _field(option, painter, theme_of(option.palette))
    return True


def _frame(option: QStyleOption, painter: QPainter, widget: QWidget | None) -> bool:
    """Draw the outline of a frame; in the accent colour if it is that of a list or text with the focus.

    Returns True, so that Fusion draws nothing.
    """
    theme = theme_of(option.palette)
    focused = isinstance(widget, QAbstractScrollArea) and _has(option.state, _State.State_HasFocus)
    painter.save()
    painter.setPen(QPen(theme.accent if focused else theme.line, 1))
    painter.setBrush(QBrush())
    painter.drawRect(option.rect.adjusted(0, 0, -1, -1))
    painter.restore()
    return True


def _header_arrow(option: QStyleOption, painter: QPainter, widget: QWidget | None) -> bool:
    """Draw the sort arrow of a header: down for a descending order, which is the opposite of Qt's own.

    Returns False if nothing was drawn, so that Fusion must draw it.
    """
    if not isinstance(option, QStyleOptionHeader):
        return False
    falling = option.sortIndicator == QStyleOptionHeader.SortIndicator.SortUp
    draw_chevron(painter, option.rect, theme_of(option.palette).dim_window, down=falling)
    return True


def _branch(option: QStyleOption, painter: QPainter, widget: QWidget | None) -> bool:
    if _has(option.state, _State.State_Children):
        draw_branch(
            painter,
            option.rect,
            theme_of(option.palette).dim,
            is_open=_has(option.state, _State.State_Open),
            leftwards=widget is not None and widget.isRightToLeft(),
        )
    return True


def _tip(option: QStyleOption, painter: QPainter, widget: QWidget | None) -> bool:
    painter.fillRect(option.rect, option.palette.color(QPalette.ColorRole.ToolTipBase))
    return True


def _tab(option: QStyleOption, painter: QPainter, widget: QWidget | None) -> bool:
    """Draw a tab without a box; the shown tab has a line below its text.

    Returns True, so that Fusion draws nothing.
    """
    theme = theme_of(option.palette)
    area = QRectF(option.rect)
    if _has(option.state, _State.State_MouseOver) and not _has(option.state, _State.State_Selected):
        _filled(painter, area.adjusted(2, 3, -2, -3), theme.hover)
    if _has(option.state, _State.State_Selected):
        _filled(painter, QRectF(area.left() + 8, area.bottom() - 2, area.width() - 16, 2), theme.accent, 1)
    if _has(option.state, _State.State_HasFocus):
        _ring(painter, area.adjusted(1, 1, -1, -1), theme.accent)
    return True


def _header_section(option: QStyleOption, painter: QPainter, widget: QWidget | None) -> bool:
    theme = theme_of(option.palette)
    painter.fillRect(option.rect, theme.base)
    painter.save()
    painter.setPen(QPen(theme.line, 1))
    painter.drawLine(option.rect.bottomLeft(), option.rect.bottomRight())
    painter.restore()
    return True


def _splitter(option: QStyleOption, painter: QPainter, widget: QWidget | None) -> bool:
    theme = theme_of(option.palette)
    upright = _has(option.state, _State.State_Horizontal)
    colour = theme.accent if _has(option.state, _State.State_MouseOver) else theme.line
    middle = option.rect.center()
    painter.save()
    painter.setPen(QPen(colour, 1))
    if upright:
        painter.drawLine(middle.x(), option.rect.top(), middle.x(), option.rect.bottom())
    else:
        painter.drawLine(option.rect.left(), middle.y(), option.rect.right(), middle.y())
    painter.restore()
    return True


def _progress_groove(option: QStyleOption, painter: QPainter, widget: QWidget | None) -> bool:
    _filled(painter, QRectF(option.rect), theme_of(option.palette).selected_idle, 3)
    return True


def _progress(option: QStyleOption, painter: QPainter, widget: QWidget | None) -> bool:
    if not isinstance(option, QStyleOptionProgressBar) or option.maximum <= option.minimum:
        return False  # the amount of work is unknown: use Fusion's moving stripes
    share = (option.progress - option.minimum) / (option.maximum - option.minimum)
    area = QRectF(option.rect)
    area.setWidth(area.width() * min(1.0, max(0.0, share)))
    if area.width() >= 1:
        _filled(painter, area, theme_of(option.palette).accent, 3)
    return True


def _flat(option: QStyleOption, painter: QPainter, widget: QWidget | None) -> bool:
    """Draw nothing; used for lines that Fusion, Qt's base style, would draw.

    Returns True, so that Fusion draws nothing either.
    """
    return True


_PRIMITIVES = {
    _Primitive.PE_PanelItemViewRow: _item_row,
    _Primitive.PE_PanelItemViewItem: _item,
    _Primitive.PE_FrameFocusRect: _focus,
    _Primitive.PE_PanelButtonCommand: _push_button,
    _Primitive.PE_PanelButtonTool: _tool_button,
    _Primitive.PE_IndicatorCheckBox: _tick_box,
    _Primitive.PE_IndicatorItemViewItemCheck: _tick_box,
    _Primitive.PE_IndicatorRadioButton: _radio,
    _Primitive.PE_PanelLineEdit: _line_edit,
    _Primitive.PE_Frame: _frame,
    _Primitive.PE_FrameTabBarBase: _flat,
    _Primitive.PE_FrameStatusBarItem: _flat,
    _Primitive.PE_IndicatorHeaderArrow: _header_arrow,
    _Primitive.PE_IndicatorBranch: _branch,
    _Primitive.PE_PanelTipLabel: _tip,
}
_CONTROLS = {
    _Control.CE_TabBarTabShape: _tab,
    _Control.CE_HeaderSection: _header_section,
    _Control.CE_Splitter: _splitter,
    _Control.CE_ProgressBarGroove: _progress_groove,
    _Control.CE_ProgressBarContents: _progress,
}
