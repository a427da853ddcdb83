"""Crash records: their form, names, and reading existing ones (formats/loki.md section 10).

`scrubbed` returns a record with fifteen keys and nothing else; the format of each value is checked after the
redaction. If anything fails, it returns the minimal record, never the input. Records on disk are read without
trusting them, and grouped by fingerprint.

Pure except for reading. Failure: `scrubbed` never raises; a file that cannot be read adds a sentence to the
problems.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any

from reverie.agents.loki.locations import CRASH_NAME
from reverie.agents.loki.records import LATEST_MS, moment, read_object, text_of
from reverie.failures.redaction import PrivatePlaces, redact_text, redact_value
from reverie.values import Struct

RULES_VERSION = "1.0"
KEYS = (
    "os",
    "arch",
    "loki_version",
    "node_version",
    "bun_version",
    "error_class",
    "stack_signature",
    "rarv_phase",
    "exit_code",
    "friction_kind",
    "project_id_hash",
    "fingerprint",
    "rules_version",
    "redactions_count",
    "captured_at",
)
"""The only keys that a record may have."""
PHASES = ("REASON", "ACT", "REFLECT", "VERIFY", "UNKNOWN", "CONVERGE", "CLOSE")
FRICTIONS = ("retry_loop", "rate_limit_loop", "gate_failure")
FRAMES = 5

_ERROR_CLASS_CHARS = 64
_NOT_IN_ERROR_CLASS = re.compile(r"[^A-Za-z0-9_.:-]")
_MOST_EXIT_CODE = 10**9
_FRICTION = re.compile(r"[a-z]{1,20}(?:_[a-z]{1,20}){0,5}")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,39}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_CAPTURED_AT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_SYMBOL = re.compile(r"(?=.{1,120}\Z)(?:(?:async|new|get|set) ){0,2}[\w$.<>\[\]#:~*-]+")
_PYTHON_FRAME = re.compile(r'\s*File ".*", line \d+, in (\S.*)\Z')
_NATIVE_FRAME = re.compile(r"\s*#\d+\s+(?:0x[0-9a-fA-F]+\s+)?in (\S.*)\Z")
_JS_FRAME = re.compile(r"\s*at (\S.*?)(?: \(.*)?\Z")
_PLACE = re.compile(r":\d+\Z|[/\\]")
_LOCATION = re.compile(r"(?:\s*\([^()]*\))?(?:\s*(?:\+\s*)?0x[0-9a-fA-F]+)?(?:(?::\d+){1,2})?\Z")


def scrubbed(raw: object, places: PrivatePlaces) -> dict[str, Any]:
    """Return the record of a crash without private parts; never raises.

    `raw`: a record, or the data collected at the crash, with `stack` as text or as a list of lines. `places`:
    the paths and names to be removed. If anything fails, returns the record `minimal()`, which has no facts.
    """
    try:
        return _scrubbed(raw, places)
    except Exception:  # noqa: BLE001 - after any failure, nothing of the input may be returned
        return minimal()


def minimal() -> dict[str, Any]:
    """Return the record without facts, for a crash from which private parts could not be removed."""
    return {"error_class": "ScrubError", "redactions_count": 0, "rules_version": RULES_VERSION}


def _scrubbed(raw: object, places: PrivatePlaces) -> dict[str, Any]:
    if not isinstance(raw, Mapping):
        raise TypeError("no record")
    if raw.get("error_class") == "ScrubError" and not raw.get("fingerprint"):
        return minimal()  # it was one before
    clean, count = redact_value(raw, places)
    before = raw.get("redactions_count")
    # Removing characters from a class joins its neighbours, so the result is redacted as well.
    error_class = error_class_of(redact_text(error_class_of(clean.get("error_class")), places)[0])
    stored = raw.keys() <= set(KEYS) and _matching(_DIGEST, raw.get("fingerprint")) is not None
    listed = clean.get("stack_signature")
    stack = clean.get("stack")
    lines = "\n".join(map(text_of, stack)) if isinstance(stack, list) else text_of(stack)
    signature = _symbols(listed) if isinstance(listed, list) else signature_of(lines)
    return {
        **{key: _matching(_PLAIN, clean.get(key)) for key in KEYS[:5]},
        "error_class": error_class,
        "stack_signature": signature,
        "rarv_phase": phase_of(clean.get("rarv_phase")),
        "exit_code": exit_code_of(clean.get("exit_code")),
        "friction_kind": friction_of(clean.get("friction_kind"), stored=stored),
        "project_id_hash": _matching(_DIGEST, clean.get("project_id_hash")),
        "fingerprint": fingerprint(error_class, signature),
        "rules_version": RULES_VERSION,
        "redactions_count": count + (exit_code_of(before) or 0),
        "captured_at": _matching(_CAPTURED_AT, clean.get("captured_at")),
    }


def error_class_of(value: object) -> str:
    """Return the first word of the text `value`, without characters that do not occur in names of errors.

    The result is "UnknownError" if `value` is no text or has no word.
    """
    words = value.split(maxsplit=1) if isinstance(value, str) else []
    return _NOT_IN_ERROR_CLASS.sub("", words[0])[:_ERROR_CLASS_CHARS] if words else "UnknownError"


def phase_of(value: object) -> str | None:
    """Return `value` in its stored form if it names a phase of loki-mode, such as `act`; otherwise None.

    The stored form is in upper case (`ACT`), except for `iteration`.
    """
    if not isinstance(value, str):
        return None
    word = value.strip()
    return word.upper() if word.upper() in PHASES else ("iteration" if word.lower() == "iteration" else None)


def exit_code_of(value: object) -> int | None:
    """Return an exit code as an integer; None if `value` is neither a number nor a text with an integer.

    As in loki-mode, a fraction is truncated, and a boolean is not accepted.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str | float):
        return None
    try:
        code = int(value)
    except (ValueError, OverflowError):
        return None
    return code if abs(code) < _MOST_EXIT_CODE else None


def friction_of(value: object, *, stored: bool) -> str | None:
    """Return `value` if it is a kind of friction (loki-mode's word for an obstacle); otherwise None.

    Known kinds are accepted, such as `retry_loop`. `stored`: whether `value` comes from a stored record,
    which was redacted before; if so, an unknown kind (of a later version) is accepted if it consists of plain
    words.
    """
    if not isinstance(value, str):
        return None
    return value if value in FRICTIONS or (stored and _FRICTION.fullmatch(value)) else None


def signature_of(stack: str) -> list[str]:
    """Return the names of the first `FRAMES` functions in the text of a stack.

    Lines in the formats of Python, JavaScript and native code are recognised; other lines are ignored.
    """
    return _first_names(map(_symbol_of, stack.splitlines()))


def fingerprint(error_class: str, signature: list[str]) -> str:
    """Return the fingerprint of a crash: a hash of its error class and of the functions in its stack.

    It is the same for all crashes of one kind.
    """
    return hashlib.sha256("\n".join((error_class, "\n".join(signature))).encode()).hexdigest()


def _symbol_of(line: str) -> str:
    if match := _PYTHON_FRAME.fullmatch(line) or _NATIVE_FRAME.fullmatch(line):
        name = match[1]
    elif match := _JS_FRAME.fullmatch(line):
        # A frame without a name is only a place.
        name = match[1] if " (" in line or not _PLACE.search(match[1]) else "<anonymous>"
    else:
        return ""
    # An address is no name, either.
    return _checked(name) or ("<anonymous>" if not _LOCATION.sub("", name.strip(), count=1).strip() else "")


def _checked(name: str) -> str:
    """Return a function name without its location; empty if the text is not a function name."""
    name = _LOCATION.sub("", name.strip(), count=1).strip()
    if name in ("anonymous", "(anonymous)"):
        return "<anonymous>"
    return name if _SYMBOL.fullmatch(name) else ""


def _symbols(listed: list[Any]) -> list[str]:
    return _first_names(_checked(item) for item in listed if isinstance(item, str))


def _first_names(names: Iterable[str]) -> list[str]:
    return list(islice(filter(None, names), FRAMES))


def _matching(pattern: re.Pattern[str], value: object) -> str | None:
    return value if isinstance(value, str) and pattern.fullmatch(value) else None


@dataclasses.dataclass(frozen=True, slots=True)
class Crash:
    """A crash record on disk.

    `at`: when it was captured (µs UTC), from its content or its name; None if unknown. `mtime_ns` decides
    which record is the newest. `friction`: loki-mode's word for the kind of obstacle, such as `retry_loop`;
    empty if none. `signature`: the names of the first functions in the stack. `fingerprint` is the same for
    all crashes of one kind.
    """

    path: Path
    error_class: str
    friction: str
    phase: str
    exit_code: int | None
    signature: tuple[str, ...]
    fingerprint: str
    at: int | None
    mtime_ns: int
    record: dict[str, Any] = dataclasses.field(repr=False, compare=False, default_factory=dict)

    @property
    def seen_at(self) -> int:
        """When it was captured, else when its file was written (µs UTC)."""
        return self.mtime_ns // 1000 if self.at is None else self.at


class CrashGroup(Struct, frozen=True):
    """Crashes of one kind, newest first.

    Records without a fingerprint are of one kind if they have the same error class and friction.
    """

    fingerprint: str
    crashes: tuple[Crash, ...]

    @property
    def newest(self) -> Crash:
        return self.crashes[0]


def crashes(directory: Path, problems: list[str]) -> tuple[Crash, ...]:
    """Return every crash record in `directory` (`.loki/crash`), most recently written first.

    A sentence is added to `problems` for each file that cannot be read.
    """
    found = []
    for name, mtime_ns in _listed(directory):
        record = read_object(directory / name, problems)
        if record is not None:
            found.append(_crash(directory / name, record, mtime_ns))
    return tuple(found)


def newest_file(directory: Path) -> Path | None:
    """Return the crash record in `directory` that the agent would attach to a failure; None if there is none.

    It is the one that was written last.
    """
    return next((directory / name for name, _mtime in _listed(directory)), None)


def groups(found: tuple[Crash, ...]) -> tuple[CrashGroup, ...]:
    """Return the crashes `found`, grouped by fingerprint; the kind that was seen last comes first."""
    kinds: dict[str, list[Crash]] = {}
    for crash in found:
        kinds.setdefault(crash.fingerprint or f"{crash.error_class}\n{crash.friction}", []).append(crash)
    newest_first = attrgetter("seen_at")
    ordered = [sorted(kind, key=newest_first, reverse=True) for kind in kinds.values()]
    ordered.sort(key=lambda kind: kind[0].seen_at, reverse=True)
    return tuple(CrashGroup(kind[0].fingerprint, tuple(kind)) for kind in ordered)


def _listed(directory: Path) -> list[tuple[str, int]]:
    """Return (name, mtime in ns) of each crash record in `directory`, most recently written first.

    Records with the same time are in descending order of their names.
    """
    found = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.endswith(".json") and not entry.name.startswith("."):
                    try:
                        found.append((entry.stat().st_mtime_ns, entry.name))
                    except OSError:
                        continue  # a link to nowhere, or gone by now
    except OSError:
        return []
    return [(name, mtime_ns) for mtime_ns, name in sorted(found, reverse=True)]


def _crash(path: Path, record: dict[str, Any], mtime_ns: int) -> Crash:
    signature = record.get("stack_signature")
    at = moment(record.get("captured_at"))
    if at is None and CRASH_NAME.fullmatch(path.name):
        micros = int(path.stem.rpartition("-")[2]) * 1_000_000
        at = micros if micros <= LATEST_MS * 1000 else None
    return Crash(
        path=path,
        error_class=text_of(record.get("error_class")),
        friction=text_of(record.get("friction_kind")),
        phase=text_of(record.get("rarv_phase")),
        exit_code=exit_code_of(record.get("exit_code")),
        signature=tuple(map(text_of, signature)) if isinstance(signature, list) else (),
        fingerprint=text_of(record.get("fingerprint")),
        at=at,
        mtime_ns=mtime_ns,
        record=record,
    )
