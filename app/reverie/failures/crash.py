"""Crash records: what may stand in one, how it is named, and reading what is there (formats/loki.md
section 10).

A record leaves `scrubbed` with fifteen keys and nothing else, each checked for its form after the redaction:
whatever fails on the way, the answer is the minimal record, never what came in. Records on disk are read
without trusting them, and grouped by fingerprint.

Pure but for reading. Failure: `scrubbed` never raises; files that cannot be read become problems in words.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reverie.failures.redact import Places, redact_text, redact_value
from reverie.homes.loki_names import CRASH_NAME
from reverie.homes.loki_records import moment, read_object, text_of

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
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,39}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_CAPTURED_AT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_SYMBOL = re.compile(r"(?=.{1,120}\Z)(?:(?:async|new|get|set) ){0,2}[\w$.<>\[\]#:~*-]+")
_PYTHON_FRAME = re.compile(r'\s*File ".*", line \d+, in (\S.*)\Z')
_NATIVE_FRAME = re.compile(r"\s*#\d+\s+(?:0x[0-9a-fA-F]+\s+)?in (\S.*)\Z")
_JS_FRAME = re.compile(r"\s*at (\S.*?)(?: \(.*)?\Z")
_LOCATION = re.compile(r"(?:\s*\([^()]*\))?(?:\s*(?:\+\s*)?0x[0-9a-fA-F]+)?(?:(?::\d+){1,2})?\Z")


def scrubbed(raw: object, places: Places) -> dict[str, Any]:
    """A crash as it may be stored. `raw`: a record, or what a capture found: then `stack` is the
    stack, as text or as a list of lines. Never raises."""
    try:
        return _scrubbed(raw, places)
    except Exception:  # noqa: BLE001 - whatever went wrong, nothing of what came in may come out
        return minimal()


def minimal() -> dict[str, Any]:
    """The record of a crash that could not be scrubbed."""
    return {"error_class": "ScrubError", "redactions_count": 0, "rules_version": RULES_VERSION}


def _scrubbed(raw: object, places: Places) -> dict[str, Any]:
    if not isinstance(raw, Mapping):
        raise TypeError("no record")
    if raw.get("error_class") == "ScrubError" and not raw.get("fingerprint"):
        return minimal()  # it was one before
    clean, count = redact_value(raw, places)
    before = raw.get("redactions_count")
    # What is left out of a class joins what it stood between: so that is looked at, too.
    error_class = error_class_of(redact_text(error_class_of(clean.get("error_class")), places)[0])
    listed = clean.get("stack_signature")
    stack = clean.get("stack")
    lines = "\n".join(map(text_of, stack)) if isinstance(stack, list) else text_of(stack)
    signature = _symbols(listed) if isinstance(listed, list) else signature_of(lines)
    return {
        **{key: _plain(clean.get(key)) for key in KEYS[:5]},
        "error_class": error_class,
        "stack_signature": signature,
        "rarv_phase": phase_of(clean.get("rarv_phase")),
        "exit_code": exit_code_of(clean.get("exit_code")),
        "friction_kind": clean.get("friction_kind") if clean.get("friction_kind") in FRICTIONS else None,
        "project_id_hash": _matching(_DIGEST, clean.get("project_id_hash")),
        "fingerprint": fingerprint(error_class, signature),
        "rules_version": RULES_VERSION,
        "redactions_count": count + (exit_code_of(before) or 0),
        "captured_at": _matching(_CAPTURED_AT, clean.get("captured_at")),
    }


def error_class_of(value: object) -> str:
    """The first word, of letters that names of errors have."""
    words = text_of(value).split(maxsplit=1)
    return _NOT_IN_ERROR_CLASS.sub("", words[0])[:_ERROR_CLASS_CHARS] if words else "UnknownError"


def phase_of(value: object) -> str | None:
    """A phase as a record may name it; None for anything else."""
    if not isinstance(value, str):
        return None
    word = value.strip()
    return word.upper() if word.upper() in PHASES else ("iteration" if word.lower() == "iteration" else None)


def exit_code_of(value: object) -> int | None:
    """A whole number, also as text, as shells give it; None for anything else, booleans included."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str) or not _WHOLE_NUMBER.fullmatch(value.strip()):
        return None
    return int(value)


def signature_of(stack: str) -> list[str]:
    """The names of the first functions of a stack, whatever language it is of; other lines say nothing."""
    found: list[str] = []
    for line in stack.splitlines():
        symbol = _symbol_of(line)
        if symbol:
            found.append(symbol)
            if len(found) == FRAMES:
                break
    return found


def fingerprint(error_class: str, signature: list[str]) -> str:
    """What crashes of one kind have in common."""
    return hashlib.sha256("\n".join((error_class, "\n".join(signature))).encode()).hexdigest()


def _symbol_of(line: str) -> str:
    if match := _PYTHON_FRAME.fullmatch(line) or _NATIVE_FRAME.fullmatch(line):
        name = match[1]
    elif match := _JS_FRAME.fullmatch(line):
        # A frame without a name is only a place.
        name = match[1] if " (" in line else "<anonymous>"
    else:
        return ""
    return _checked(name)


def _checked(name: str) -> str:
    """A name without the place behind it; empty where it is none."""
    name = _LOCATION.sub("", name.strip(), count=1).strip()
    if name in ("anonymous", "(anonymous)"):
        return "<anonymous>"
    return name if _SYMBOL.fullmatch(name) else ""


def _symbols(listed: list[Any]) -> list[str]:
    names = (_checked(item) for item in listed if isinstance(item, str))
    return [name for name in names if name][:FRAMES]


def _plain(value: object) -> str | None:
    return _matching(_PLAIN, value)


def _matching(pattern: re.Pattern[str], value: object) -> str | None:
    return value if isinstance(value, str) and pattern.fullmatch(value) else None


@dataclass(frozen=True, slots=True)
class Crash:
    """A crash record on disk. `at`: when it was captured (µs UTC), by its own word or its name's; None where
    nobody can tell. `mtime_ns` decides which is the newest."""

    path: Path
    error_class: str
    friction: str
    phase: str
    exit_code: int | None
    signature: tuple[str, ...]
    fingerprint: str
    at: int | None
    mtime_ns: int
    record: dict[str, Any] = field(repr=False, compare=False, default_factory=dict)


@dataclass(frozen=True, slots=True)
class CrashGroup:
    """Crashes of one kind, newest first. Records without a fingerprint are one kind per error class."""

    fingerprint: str
    crashes: tuple[Crash, ...]

    @property
    def newest(self) -> Crash:
        return self.crashes[0]


def crashes(directory: Path, problems: list[str]) -> tuple[Crash, ...]:
    """Every record in `.loki/crash`, the one written last first."""
    found = []
    for name, mtime_ns in _listed(directory):
        record = read_object(directory / name, problems)
        if record is not None:
            found.append(_crash(directory / name, record, mtime_ns))
    return tuple(found)


def newest_file(directory: Path) -> Path | None:
    """The record that the agent would attach to a failure: the file written last, whatever it is of."""
    return next((directory / name for name, _mtime in _listed(directory)), None)


def groups(found: tuple[Crash, ...]) -> tuple[CrashGroup, ...]:
    """By fingerprint; the kind that was seen last comes first."""
    kinds: dict[str, list[Crash]] = {}
    for crash in found:
        kinds.setdefault(crash.fingerprint or f"{crash.error_class}\n{crash.friction}", []).append(crash)
    ordered = [sorted(kind, key=_when, reverse=True) for kind in kinds.values()]
    ordered.sort(key=lambda kind: _when(kind[0]), reverse=True)
    return tuple(CrashGroup(kind[0].fingerprint, tuple(kind)) for kind in ordered)


def _when(crash: Crash) -> int:
    return crash.mtime_ns // 1000 if crash.at is None else crash.at


def _listed(directory: Path) -> list[tuple[str, int]]:
    """Names with mtime in ns, the last written first; equal ones by name, last first."""
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
        at = _seconds(path.stem.rpartition("-")[2])
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


def _seconds(digits: str) -> int | None:
    try:
        datetime.fromtimestamp(int(digits), UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return int(digits) * 1_000_000
