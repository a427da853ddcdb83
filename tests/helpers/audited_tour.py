"""The tour with an eye on every picture: `python -m helpers.audited_tour DIR [--home HOME]`.

The exit code is the tour's, or 1 where `helpers.audit` finds a problem in a window; those go to stderr, one
a line. A picture of a part of a window is not audited: the whole window is, in other pictures.
"""

from __future__ import annotations

import sys

from PySide6.QtWidgets import QWidget

from helpers.audit import problems
from tour import guide
from tour.camera import Camera

_found: list[str] = []


class _AuditingCamera(Camera):
    def picture(self, name: str, widget: QWidget | None = None) -> None:
        super().picture(name, widget)
        shown = self.window if widget is None else widget
        if shown.isWindow():
            _found.extend(f"{name}: {problem}" for problem in problems(shown))


if __name__ == "__main__":
    code = guide.main(make_camera=_AuditingCamera)
    sys.stderr.write("".join(f"{each}\n" for each in _found))
    sys.exit(code or bool(_found))
