"""Untrusted text made safe to look at: names, paths and sentences that come from disk. Pure, without Qt.

A file name may hold control characters, line breaks or marks that reverse the reading direction; shown raw it
can pretend to be another file. Everything that a widget shows of a name goes through `visible`; everything
that Qt could take for markup (tool tips) goes through `as_tooltip`.
"""

from __future__ import annotations

import unicodedata

# Joiners change how letters of real scripts connect; they neither hide nor reorder text.
_HARMLESS = frozenset("\u200c\u200d")
_HIDING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_KIB = 1024
LONGEST_LINE = 10_000
"""Characters of a line that a widget may be given: breaking a line without a space takes time that grows with
the square of its length, on the GUI thread."""
LONGEST_SENTENCE = 5_000
_LONGEST_TIP = 2_000


def visible(text: str) -> str:
    """`text` on one line with every control, direction and lone-surrogate character as an escape."""
    if text.isprintable():
        return text
    return "".join(_escaped(char) if _hides(char) else char for char in text)


def visible_lines(text: str) -> str:
    """As `visible`, line by line: line breaks and tabs stay."""
    if text.replace("\n", " ").replace("\t", " ").isprintable():
        return text.removesuffix("\n")
    return "\n".join("\t".join(visible(cell) for cell in line.split("\t")) for line in text.splitlines())


def shortened(text: str, most: int = LONGEST_SENTENCE) -> str:
    """`text`, of which nobody reads more than the first `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def lines_shortened(text: str, most: int = LONGEST_LINE) -> str:
    """`text` with each line (breaks `\\n`) cut after `most` characters."""
    if len(text) <= most:
        return text
    return "\n".join(shortened(line, most) for line in text.split("\n"))


def as_tooltip(*lines: str) -> str:
    """Plain lines as a tool tip that wraps and that Qt cannot read as markup of their own."""
    import html  # late: no name is painted with it

    shown = "<br>".join(
        html.escape(visible_lines(shortened(line, _LONGEST_TIP))).replace("\n", "<br>")
        for line in lines
        if line
    )
    return f"<qt>{shown}</qt>" if shown else ""


def human_size(size: int) -> str:
    """`0 B`, `912 B`, `3.1 KiB`, `100 KiB`, `2.4 MiB`."""
    if size < _KIB:
        return f"{size} B"
    amount, units = float(size), iter(("KiB", "MiB", "GiB", "TiB"))
    unit = "B"
    while amount >= _KIB and (larger := next(units, None)):
        amount, unit = amount / _KIB, larger
    return f"{amount:.0f} {unit}" if amount >= 99.95 or amount == int(amount) else f"{amount:.1f} {unit}"


def _hides(char: str) -> bool:
    return unicodedata.category(char) in _HIDING and char not in _HARMLESS


def _escaped(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
