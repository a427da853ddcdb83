"""Pictures of the window, taken without a display: `python packaging/pictures.py [DIR [--home HOME]]`.

With DIR, all pictures of the tour are written there, and their paths to stdout, one a line. Without DIR, the
pictures of the README and the guide are taken again; they are replaced only if the whole tour succeeded.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tour import guide

PLACE = Path(__file__).parent.parent / "resources" / "screenshots"
TAKEN_FROM = {
    "memory-light.png": "3-changed.png",
    "traces.png": "13-traces.png",
}
"""Maps the name of a picture in the README or the guide to its name in the tour."""


def main() -> int:
    """Take the pictures of the README and the guide and put them in place.

    Return the exit code of the tour.
    """
    with tempfile.TemporaryDirectory(prefix="reverie-pictures-") as directory:
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
        # A process of its own: the tour changes the home directory, and a stuck thread ends its process.
        tour = [sys.executable, __file__, directory]
        code = subprocess.call(tour, env=environment, stdout=subprocess.DEVNULL)
        if code == 0:
            for name, taken in TAKEN_FROM.items():
                shutil.copyfile(Path(directory, taken), PLACE / name)
                print(PLACE / name)
        return code


if __name__ == "__main__":
    sys.exit(guide.main() if sys.argv[1:] else main())
