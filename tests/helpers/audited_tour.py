"""The tour with an eye on every picture: `python -m helpers.audited_tour DIR [--home HOME]`.

The exit code is the tour's, or 1 where a window has something that `helpers.audit` complains of; that is told
on stderr, a line each. A picture of a part of a window is not looked at: its window is, in other pictures.
"""

from __future__ import annotations

import sys

from PySide6.QtWidgets import QWidget

from helpers.audit import problems
from reverie.ui import tour

_found: list[str] = []


class _AuditedGuide(tour.Guide):
    def _picture(self, name: str, widget: object = None) -> None:
        super()._picture(name, widget)
        shown = widget if isinstance(widget, QWidget) else self._window
        if shown.isWindow():
            _found.extend(f"{name}: {problem}" for problem in problems(shown))


if __name__ == "__main__":
    tour.Guide = _AuditedGuide  # type: ignore[misc]
    code = tour.main()
    sys.stderr.write("".join(f"{each}\n" for each in _found))
    sys.exit(code or bool(_found))
