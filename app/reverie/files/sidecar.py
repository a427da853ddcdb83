"""Reading and changing a JSON sidecar, an agent's or Reverie's own.

Reading is tolerant and never guesses: "missing" and "unreadable" are distinguished, and a file that cannot be
reached raises `Unavailable`, so it never counts as empty. Every change is a read-modify-write of the raw
object, so unknown fields and the order of keys survive.

Between Reverie's processes and threads a lock (`files.locks`) prevents lost updates; against agents, which
use no lock, the compare-and-swap of `files.atomic` prevents them: if the bytes on disk are no longer those
that were read, the change is repeated on the new bytes. Before the first write an unreadable file is copied
to `<name>.unreadable-<UTC ms>` beside it.

JSON is read and written as by the agents' JavaScript. `parse_object` refuses text that `JSON.parse` refuses
(NaN, Infinity), and accepts a byte order mark and duplicate keys (the last one wins), which lose no data.
`stringify` gives the bytes of `JSON.stringify(value, null, 2)`: non-ASCII as is, lone surrogates escaped,
numbers in JavaScript's notation, no newline at the end. The standard encoder with `indent` is several times
slower and formats numbers differently.

Threading: blocks on disk and lock; any thread but the GUI's. Failure: `UserError`, nothing changed.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import re
import stat
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring as _quote
from pathlib import Path
from typing import Any, Literal, NoReturn

from reverie.clock import Clock
from reverie.errors import Conflict, RefusedFileError, user_error_from_os
from reverie.files.atomic import ATTEMPTS, create_file, replace_file
from reverie.files.directory import Directory, SwappedError, real_path
from reverie.files.locks import file_lock
from reverie.values import Struct

_BOM = b"\xef\xbb\xbf"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))

MAX_DEPTH = 100
"""The deepest nesting that is read: deeper than any real sidecar, far below Python's own recursion limit."""


def parse_object(raw: bytes) -> dict[str, Any]:
    """Return the JSON object in `raw`.

    Raises ValueError, with the reason as its text, if `raw` is not a JSON object or is nested too deeply.
    """
    try:
        data = _DECODER.decode(raw.removeprefix(_BOM).decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON (line {error.lineno}: {error.msg})") from None
    except ValueError as error:  # a constant refused below, or more digits than Python converts
        raise ValueError(f"it is not JSON ({error})") from None
    if not isinstance(data, dict):
        raise ValueError("the file contains no JSON object")
    if not _surely_shallow(raw) and _depth_exceeds(data):
        raise ValueError("it is nested too deeply")
    return data


def stringify(data: dict[str, Any]) -> bytes:
    """Return `data` as JSON in UTF-8, formatted like JavaScript's `JSON.stringify(data, null, 2)`.

    `data` may contain dicts with string keys, lists, strings, numbers, booleans and None; anything else
    raises TypeError.
    """
    text = _text(data, "\n")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode("utf-8")


def _text(value: Any, newline: str) -> str:
    """Return `value` as indented JSON text.

    `newline`: a line break and the indentation of the line with `value`; inner lines have two more spaces.
    """
    kind = type(value)
    if kind is float:
        return _number(value)
    if isinstance(value, dict):
        return _object_text(value, newline)
    if isinstance(value, (list, tuple)):
        if not value:
            return "[]"
        inner = newline + "  "
        return "[" + inner + ("," + inner).join([_text(item, inner) for item in value]) + newline + "]"
    if isinstance(value, str):
        return _quote(value)
    if kind is bool:
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if value is None:
        return "null"
    raise TypeError(f"{kind.__name__} has no place in JSON")


def _object_text(value: dict[str, Any], newline: str) -> str:
    if not value:
        return "{}"
    inner = newline + "  "
    members = []
    for key, member in value.items():
        if not isinstance(key, str):
            raise TypeError(f"a key must be a string, not {type(key).__name__}")
        # The common types are handled here and not in `_text`: a call for each takes half of the whole time.
        kind = type(member)
        if kind is str:
            text = _quote(member)
        elif kind is int:
            text = int.__repr__(member)
        elif kind is bool:
            text = "true" if member else "false"
        elif member is None:
            text = "null"
        else:
            text = _text(member, inner)
        members.append(f"{_quote(key)}: {text}")
    return "{" + inner + ("," + inner).join(members) + newline + "}"


def _number(value: float) -> str:
    """Return `value` as text, like JavaScript's Number::toString, or "null" if it is not finite.

    Python and JavaScript both write the shortest digits that parse back to the same number; only the layout
    differs.
    """
    if not math.isfinite(value):
        return "null"
    digits, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = digits.partition(".")
    point = len(whole) + int(exponent or 0)
    stripped = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(stripped)
    stripped = stripped.rstrip("0")
    if not stripped:
        return "0"
    return ("-" if value < 0 else "") + _layout(stripped, point)


def _layout(digits: str, point: int) -> str:
    """Return the number `0.digits` × 10^`point` as text, as JavaScript writes it.

    `digits`: the significant digits, without zeros at either end.
    """
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{mantissa}e{point - 1:+d}"


def _surely_shallow(raw: bytes) -> bool:
    """Return whether the JSON text `raw` is certainly nested only a few levels deep; False if in doubt.

    This quick test removes pairs of brackets from the inside. For nearly every real file this avoids the
    slower walk over the parsed object.
    """
    brackets = raw.translate(None, _NO_BRACKETS)
    for _ in range(8):
        brackets = brackets.replace(b"{}", b"").replace(b"[]", b"")
    return not brackets


def _depth_exceeds(data: dict[str, Any]) -> bool:
    level: list[Any] = [data]
    for _ in range(MAX_DEPTH):
        level = [
            member
            for container in level
            for member in (container.values() if isinstance(container, dict) else container)
            if isinstance(member, (dict, list))
        ]
        if not level:
            return False
    return True


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number there")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


LARGEST = 1 << 26
"""The largest sidecar that is read, in bytes: four times the size of one for a hundred thousand memories."""

Change = Callable[[dict[str, Any]], dict[str, Any] | None]
"""A function that gets a copy of a sidecar's object and returns the new object; None: no change."""


class SidecarRead(Struct, frozen=True):
    """The result of reading a sidecar: its JSON object, its SHA-256, and whether it was readable."""

    data: dict[str, Any]
    """The object, as a copy for the caller; empty unless `state` is "ok"."""
    sha256: str | None
    """SHA-256 of the file's bytes, in hexadecimal; None for a missing file."""
    state: Literal["missing", "ok", "unreadable"]
    problem: str = ""
    """The reason why the file is unreadable, as a sentence; empty if it is readable or missing."""


class Sidecar:
    """One JSON file, which holds data about memories, such as usage, pins or the last consolidation.

    If `path` is a symlink, its target is written. `lock_dir`: the directory for the lock between Reverie's
    processes. An unreadable file is copied before it is replaced, and the name of the copy contains the time
    of `clock`. `require` is called before each change and may raise to refuse the change. `ending`: bytes
    that this class adds at the end of the file and no other program does, by which `is_ours` recognises the
    file; empty: none are added.
    """

    def __init__(
        self,
        path: Path,
        *,
        lock_dir: Path,
        clock: Clock,
        require: Callable[[], None] = lambda: None,
        ending: bytes = b"",
    ) -> None:
        self.path = path
        self._require = require
        self._ending = ending
        self._lock_dir = lock_dir
        self._clock = clock
        # The bytes written last: new bytes in our own formatting that differ from them differ in content.
        self._own: bytes | None = None

    def read(self) -> SidecarRead:
        """Return the current content of the file. Raises Unavailable if it cannot be reached.

        No lock is needed, because every writer replaces the file as a whole.
        """
        return _parse(self._bytes(), self.path)

    def is_ours(self) -> bool:
        """Return whether Reverie, in this or another process, wrote the present content of the file.

        This is so if the file ends with `ending` (see the class); always False if that is empty.
        """
        return bool(self._ending) and (self._bytes() or b"").endswith(self._ending)

    def update(self, change: Change) -> dict[str, Any]:
        """Replace the object with the result of `change`; return the object as it is on disk afterwards.

        `change` gets a copy to edit and returns the new object; if it returns None or an equal object,
        nothing is written. It may be called more than once, so it must have no side effects; its exceptions
        are raised unchanged. Raises Busy if the lock is held, Conflict if another program keeps replacing the
        file, and Unavailable. The directory must exist, because a home that was deleted must not be created
        again.
        """
        self._require()
        with file_lock(self._lock_dir, self.path):
            for _ in range(ATTEMPTS):
                try:
                    return self._change_once(change)
                except (_OvertakenError, SwappedError):
                    continue
        raise Conflict(
            f"“{self.path.name}” could not be written.",
            cause="Another program keeps changing the file.",
            next_step="Wait until that program is done, then try again.",
        )

    def collect(self, items: Mapping[str, Any]) -> None:
        """Add each value of `items` to the list that the file has under its key, unless it is in the list.

        Raises as `update` does.
        """

        def change(data: dict[str, Any]) -> dict[str, Any]:
            for key, item in items.items():
                known = data.setdefault(key, [])
                if not isinstance(known, list):
                    known = data[key] = [known]
                if item not in known:
                    known.append(item)
            return data

        self.update(change)

    def _change_once(self, change: Change) -> dict[str, Any]:
        raw = self._bytes()
        seen = _parse(raw, self.path)
        changed = change(seen.data)
        if changed is None:
            return _parse(raw, self.path).data  # parsed again, because `change` may have edited `seen.data`
        text = stringify(changed)
        written = text + self._ending
        own = raw is not None and raw == self._own
        if written == raw or (not own and _says_same(text, changed, _parse(raw, self.path).data)):
            return changed
        self._write(raw, written, keep_aside=seen.state == "unreadable")
        return changed

    def _write(self, raw: bytes | None, written: bytes, *, keep_aside: bool) -> None:
        def check(current: bytes | None) -> None:
            if current != raw:
                raise _OvertakenError

        try:
            real = self._real_path()
            with Directory.open(real.parent) as directory:
                if keep_aside and raw is not None:
                    self._keep_aside(directory, real.name, raw)
                replace_file(directory, real.name, written, check=check)
                self._own = written
        except OSError as error:
            raise user_error_from_os(error, f"“{self.path.name}” could not be written.") from error

    def _keep_aside(self, directory: Directory, name: str, raw: bytes) -> None:
        """Copy `raw`, the bytes of the unreadable file `name`, to a new file beside it."""
        try:
            mode = stat.S_IMODE(directory.lstat(name).st_mode)
        except FileNotFoundError:
            raise _OvertakenError from None
        stamp = f"{name}.unreadable-{self._clock()}"
        for number in range(1000):
            aside = f"{stamp}-{number}" if number else stamp
            try:
                create_file(directory, aside, raw, mode=mode)
            except FileExistsError:
                continue
            return
        raise FileExistsError(f"{stamp} and its successors exist")

    def _bytes(self) -> bytes | None:
        for _ in range(ATTEMPTS):
            real = self._real_path()
            try:
                with Directory.open(real.parent) as directory:
                    size = directory.lstat(real.name).st_size
                    if size <= LARGEST and len(data := directory.read(real.name, LARGEST + 1)) <= LARGEST:
                        return data
                    raise RefusedFileError(
                        errno.E2BIG, f"The file is larger than {LARGEST:,} bytes", str(real)
                    )
            except FileNotFoundError:
                return None
            except SwappedError:
                continue
            except OSError as error:
                raise user_error_from_os(error, f"“{self.path.name}” could not be read.") from error
        raise user_error_from_os(
            OSError(f"{real} is a loop of symbolic links"), f"“{self.path.name}” could not be read."
        )

    def _real_path(self) -> Path:
        return Path(real_path(self.path))


class _OvertakenError(Exception):
    """Raised if another program has changed the file since it was read."""


def _says_same(written: bytes, changed: dict[str, Any], before: dict[str, Any]) -> bool:
    """Return whether `changed` and `before` are the same JSON, including types and key order.

    `written` is `changed` as JSON. The texts are compared, because Python's == treats 1 as True and ignores
    order.
    """
    return changed == before and written == stringify(before)


def _parse(raw: bytes | None, path: Path) -> SidecarRead:
    if raw is None:
        return SidecarRead({}, None, "missing")
    digest = hashlib.sha256(raw).hexdigest()
    try:
        return SidecarRead(parse_object(raw), digest, "ok")
    except ValueError as error:
        return SidecarRead({}, digest, "unreadable", f"{path.name} cannot be read: {error}.")
