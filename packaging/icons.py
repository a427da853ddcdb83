"""Creates the program's icon in every size that desktops need, from our one drawing.

    python packaging/icons.py DIRECTORY

writes `hicolor/<size>x<size>/apps/ID.png` and `hicolor/scalable/apps/ID.svg` (freedesktop's icon theme; ID is
that of the program), `reverie.ico` (Windows) and `reverie.icns` (macOS). These files are not in the
repository: they are created at each build.
"""

from __future__ import annotations

import os
import shutil
import struct
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What desktops know the program by: menu entry, icon, AppStream, the window's own name.
PROGRAM_ID = "org.reverie_memory.reverie"
DRAWING = ROOT / "resources" / "icons" / "reverie.svg"
SIZES = (16, 22, 24, 32, 48, 64, 96, 128, 256, 512)
ICO_SIZES = (16, 24, 32, 48, 64, 128, 256)
# Apple's names of the pieces; 11 to 14 are the doubled sizes of 16, 32, 128 and 256.
ICNS_PIECES = {
    "icp4": 16,
    "icp5": 32,
    "ic07": 128,
    "ic08": 256,
    "ic09": 512,
    "ic11": 32,
    "ic12": 64,
    "ic13": 256,
    "ic14": 512,
}


def write_icons(directory: Path, drawing: Path = DRAWING) -> None:
    """Write all icons below `directory`, overwriting existing files."""
    pngs = {size: drawn(drawing, size) for size in SIZES}
    theme = directory / "hicolor"
    for size, png in pngs.items():
        folder = theme / f"{size}x{size}" / "apps"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{PROGRAM_ID}.png").write_bytes(png)
    scalable = theme / "scalable" / "apps"
    scalable.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(drawing, scalable / f"{PROGRAM_ID}.svg")
    (directory / "reverie.ico").write_bytes(ico({size: pngs[size] for size in ICO_SIZES}))
    (directory / "reverie.icns").write_bytes(icns(pngs))


def drawn(drawing: Path, size: int) -> bytes:
    """Return the drawing as a square PNG of `size` pixels with a transparent background."""
    from PySide6.QtCore import QBuffer, QIODevice, Qt
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    # Drawn four times as large and scaled down: thin lines stay lines at 16 pixels.
    image = QImage(size * 4, size * 4, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    try:
        QSvgRenderer(str(drawing)).render(painter)
    finally:
        painter.end()
    small = image.scaled(
        size, size, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
    )
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not small.save(buffer, "PNG"):  # type: ignore[call-overload]
        raise OSError(f"{drawing} could not be drawn with {size} pixels")
    return bytes(buffer.data().data())


def ico(pngs: Mapping[int, bytes]) -> bytes:
    """Return the pictures (PNG by size) in the Windows icon format.

    It has a directory entry of 16 bytes for each picture, followed by the unchanged pictures.
    """
    head = struct.pack("<HHH", 0, 1, len(pngs))
    offset = len(head) + 16 * len(pngs)
    entries = b""
    for size, png in pngs.items():
        side = size % 256  # 0 stands for 256
        entries += struct.pack("<BBBBHHII", side, side, 0, 0, 1, 32, len(png), offset)
        offset += len(png)
    return head + entries + b"".join(pngs.values())


def icns(pngs: Mapping[int, bytes]) -> bytes:
    """Return the pictures (PNG by size) in the Apple icon format.

    Each entry has a name, a length that includes its own 8 bytes, and a picture.
    """
    pieces = b"".join(
        name.encode("ascii") + struct.pack(">I", len(pngs[size]) + 8) + pngs[size]
        for name, size in ICNS_PIECES.items()
    )
    return b"icns" + struct.pack(">I", len(pieces) + 8) + pieces


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: icons.py DIRECTORY", file=sys.stderr)
        return 2
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    write_icons(Path(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
