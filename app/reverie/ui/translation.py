"""Translation for functions and tables; widgets use `QObject.tr`, whose context is their class.

`packaging/translations.py` finds texts by the names of these functions. English needs no translation file:
a counted text has both of its forms.
"""

from __future__ import annotations

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from reverie.text.summaries import Phrase, filled

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


def said(text: str) -> str:
    """A text of a room below the window, in the language of the window where it is a phrase."""
    if not isinstance(text, Phrase):
        return text
    values = {name: said(value) for name, value in text.values.items()}
    if text.number is None:
        return filled(translated(text.template), values)
    return filled(counted(text.one, text.template, text.number), values)
