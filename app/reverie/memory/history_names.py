"""Names inside the history: any file name in, a name that git stores and every tool accepts out, and back.

Git refuses `.git` and everything a file system may take for it (other case, `git~1`, ignorable characters in
between), checks the contents of `.gitmodules` and friends, and Windows cannot check out `CON`, a trailing dot
or a colon. So each path segment is escaped, and the escape is reversible for every name an operating system
can hand us, names that are not valid UTF-8 (surrogate escapes) included. Ordinary names stay as they are, so
that `git log` remains readable.

The code: `%XX` is an ASCII character or (from 80 on) an undecodable byte, `%uXXXX` any other character. Pure
functions; both sides belong to the format of the history and must never change for names already stored.
"""

from __future__ import annotations

import re

# Never allowed plain: the escape sign, separators and NTFS signs, `~` (short names such as GIT~1), control,
# ignorable and direction characters (HFS+ drops some of them when it compares), surrogates.
_UNSAFE = re.compile(
    '[\x00-\x1f\x7f-\x9f%/:\\\\<>"|?*~\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]'
)
_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3])(?=[. ]|$)", re.IGNORECASE
)
_ESCAPE = re.compile(r"%(?:u([0-9A-F]{4})|([0-9A-F]{2}))")
_UNDECODABLE = range(0xDC80, 0xDD00)


def escape_segment(name: str) -> str:
    """One path segment as one tree entry name. Raises `ValueError` for an empty name, which no file has."""
    if not name:
        raise ValueError("a path segment cannot be empty")
    escaped = _UNSAFE.sub(lambda match: _escape_character(match[0]), name)
    if escaped[0] == "." or _DEVICE.match(escaped):
        escaped = _escape_character(escaped[0]) + escaped[1:]
    if escaped[-1] in ". ":
        escaped = escaped[:-1] + _escape_character(escaped[-1])
    return escaped


def unescape_segment(escaped: str) -> str:
    """The name that `escape_segment` was given. A `%` that begins no escape stands for itself."""
    return _ESCAPE.sub(lambda match: _unescape_match(match), escaped) if "%" in escaped else escaped


def escape_rel(rel: str) -> tuple[bytes, ...]:
    """The tree entry names of a `/`-separated path, outermost first; `ValueError` for an empty segment."""
    return tuple(escape_segment(segment).encode() for segment in rel.split("/"))


def unescape_rel(names: tuple[bytes, ...]) -> str:
    """The `/`-separated path that `escape_rel` was given."""
    return "/".join(unescape_segment(name.decode("utf-8", "surrogateescape")) for name in names)


def _escape_character(character: str) -> str:
    code = ord(character)
    if code < 0x80:
        return f"%{code:02X}"
    if code in _UNDECODABLE:
        return f"%{code - 0xDC00:02X}"
    return f"%u{code:04X}"


def _unescape_match(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    code = int(match[2], 16)
    return chr(code if code < 0x80 else 0xDC00 + code)
