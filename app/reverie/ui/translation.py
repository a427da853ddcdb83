"""Translation for functions and tables; widgets use `QObject.tr`, whose context is their class.

`packaging/translations.py` finds texts by the names of these functions. English needs no translation file:
a counted text has both of its forms.
"""

from __future__ import annotations

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

_CONTEXT = "reverie"


def tr(text: str) -> str:
    """`text` in the language of the window."""
    return QCoreApplication.translate(_CONTEXT, text)


def translatable(text: str) -> str:
    """Mark a text in a table for translation; `translated` translates it when it is shown."""
    return str(QT_TRANSLATE_NOOP(_CONTEXT, text))


def translated(text: str) -> str:
    """A text that `translatable` marked, in the language of the window."""
    return QCoreApplication.translate(_CONTEXT, text)


def counted(one: str, many: str, count: int) -> str:
    """`many` (with `%n`) for `count`; `one` where English needs it and no translation is loaded."""
    text = QCoreApplication.translate(_CONTEXT, many, None, count)
    return one if count == 1 and text == many.replace("%n", "1") else text
