"""Crash records: redaction, names, and reading existing ones (formats/loki.md section 10).

A record leaves `scrubbed` with fifteen keys and nothing else, each checked for its form after the redaction:
whatever fails on the way, the answer is the minimal record, never the input. Records on disk are read without
trusting them, and grouped by fingerprint.

Redaction removes secrets, then paths, then mail addresses, network addresses and repository names; at last
everything that Reverie's own redactor recognises by its shape, so that a leak takes two mistakes. Every rule
leaves a mark in square brackets that no other rule reads, so redacting twice changes nothing. Linear time:
patterns begin behind a boundary. No possessive quantifiers or atomic groups: Python before 3.11.5 matches
them wrongly.

Pure but for reading. Failure: `scrubbed` never raises; files that cannot be read become problems in words.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reverie.agents.loki.locations import CRASH_NAME
from reverie.agents.loki.records import moment, read_object, text_of
from reverie.text.redact import find_secrets
from reverie.values import Struct

MARK = "[REDACTED]"

_PEM = re.compile(
    r"-----\s{0,4}BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?\s{0,4}-----"
    r"(?:.*?-----\s{0,4}END[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?\s{0,4}-----|.*)",
    re.DOTALL,
)
_AWS_SECRET = re.compile(
    r"""(?ix)(aws_?secret(?:_?access_?key)?)["']?\s{0,4}[:=]\s{0,4}["']?[A-Za-z0-9/+=]{40}(?![A-Za-z0-9/+=])["']?"""
)
# A lookahead's capture is atomic: "Bearer [REDACTED]" must not match without its scheme.
_HEADER = re.compile(
    r"""(?ix)(?<![A-Za-z0-9-])((?:proxy-)?authorization|set-cookie|cookie)(\\{0,4}["']?\s{0,4}[:=]\s{0,4})
        (?:(\\{0,4}["'])(?=((?:bearer|basic|digest|negotiate|token|apikey)\s{1,4}|))\4(?!\[REDACTED)[^"'\r\n\\]+
         | (?=((?:bearer|basic|digest|negotiate|token|apikey)(?:\r?\n)?[ \t]{1,16}|))\5
           (?!\[REDACTED)[^\s"'][^\r\n]*)"""
)
_TOKENS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"sk-ant-[A-Za-z0-9_-]{20,}"), "ANTHROPIC_KEY"),
    (re.compile(r"github_pat_[A-Za-z0-9_]{20,}|gh[pousr]_[A-Za-z0-9]{20,}"), "GITHUB_TOKEN"),
    (re.compile(r"xox[baprs]-[A-Za-z0-9-]{10,}"), "SLACK_TOKEN"),
    (re.compile(r"(?<![A-Z0-9])AKIA[A-Z0-9]{16}"), "AWS_KEY"),
    (re.compile(r"eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}"), "JWT"),
    (re.compile(r"(?<![A-Za-z0-9_-])AI[A-Za-z0-9_-]{30,}"), "GOOGLE_KEY"),
    (re.compile(r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{20,}"), "OPENAI_KEY"),
)
_BEARER = re.compile(r"(?i)(?<![A-Za-z0-9_-])(bearer)\s{1,4}[A-Za-z0-9._~+/=-]{20,}")
_ADDRESS = re.compile(
    r"""(?<![A-Za-z0-9+.-])([A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@"'<>]{0,256})
        :(?!\[REDACTED|\d{1,5}[/?#])[^\s"'<>]{1,512}@""",
    re.VERBOSE,
)
_NAMELESS = re.compile(r"""(?i)(?<![a-z0-9+.-])(https?://)(?!\[REDACTED)[^\s/:@"'<>]{12,512}@""")
_USER_OPTION = re.compile(r"""(?<![\w-])((?:-u|--user)[ =]["']?[^\s:"']{1,64}):(?!\[REDACTED)[^\s"']+""")
_SECRET_WORDS = (
    "(?:PASSPHRASE|PASSWORD|PASSWD|PWD|SECRET|TOKEN|API[_ -]?KEY|PRIVATE[_-]?KEY|DB_?PASS"
    "|CREDENTIAL|AUTH(?!OR))"
)
_SECRET_NAME = re.compile(rf"(?i)[\w.-]{{0,100}}{_SECRET_WORDS}[\w.-]{{0,100}}")
_ASSIGNMENT = re.compile(
    rf"""(?ix)(?<![\w.-])([\w.-]{{0,100}}?{_SECRET_WORDS}[\w.-]{{0,100}})
        (\\{{0,4}}["'`]?\s{{0,4}}(?:[:=]{{1,2}}>?|>)\s{{0,16}})
        (?!\[REDACTED|bearer\s|basic\s)
        (?: \\{{1,4}}"(?:[^"\\\r\n]|\\(?!")[^\r\n])*\\{{0,4}}" | "(?:[^"\\\r\n]|\\.)*"
          | \{{[^{{}}]{{0,500}}\}} | \[[^\[\]]{{0,500}}\] | '(?:[^'\\\r\n]|\\.)*' | `[^`\r\n]*`
          | [^\s,;&"'`)}}\]]+ | ["'][^\r\n]+ )"""
)
_USER_PLACES = re.compile(
    r"""(?:(?<![\w.~-])(?i:(?:[A-Z]:)?(?:\\{1,4}|/)(?:Users|home)(?:\\{1,4}|/))
          | (?:\\{1,4}|/)(?:Users|home)(?:\\{1,4}|/) | (?<![\w-])-(?:Users|home)-)
        (?!\.{1,2}[\\/])(?:[^\\/:*?"<>|\r\n]{1,64}(?=[\\/])|[^\\/\s"'`:;,()<>|\[\]{}]+)""",
    re.VERBOSE,
)
_MAIL = re.compile(r"""(?:(?<![\w.%+'-])[\w.%+'-]+|"[^"\r\n]{1,64}")@[\w-]+(?:\.[\w-]+)+""")
_IPV4 = re.compile(r"(?<!\d)(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}(?!\d)")
_IP_NAME = re.compile(r"(?i)(?<![a-z0-9])ip(?:-\d{1,3}){4}(?!\d)")
_MAC = re.compile(
    r"(?<![0-9A-Za-z:-])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4}(?![0-9A-Za-z:-])"
)
_IPV6 = re.compile(
    r"(?<![0-9A-Za-z:.])(?=[0-9A-Fa-f]{0,4}:)[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,8}(?:\.\d{1,3}){0,3}"
)
_HOSTED = re.compile(
    r"""(?i)(?:\[REDACTED:EMAIL\]|(?<![\w.-])(?:[\w-]{1,40}\.){0,3}(?:github|gitlab|bitbucket|codeberg)\.(?:com|org))
        (?::\d{1,5}/|[:/]{1,2})[\w.~-]{1,100}(?:/[\w.~-]{1,100}){1,4}""",
    re.VERBOSE,
)
_MARK = re.compile(r"\[REDACTED(?::[A-Z_]+)?\]?")
_ESCAPE = re.compile(r"%([2-7][0-9A-Fa-f])|\\{1,4}u00([2-7][0-9A-Fa-f])")
_SLASHES = re.compile(r"\\{1,4}/|(?<![:/])/(?:\.?/)+")
_SPELLINGS = 3
"""Maximum number of nested disguises that are resolved."""


class PrivatePlaces(Struct, frozen=True):
    """The private facts about the present machine and project.

    The project's directory, the home directory, and names of the repository (its owner, its name).
    """

    project: str = ""
    home: str = ""
    repository: tuple[str, ...] = ()


def redact_text(text: str, places: PrivatePlaces) -> tuple[str, int]:
    """Return the text without private parts, and the number of parts removed.

    A text that hides something in another spelling (escapes, invisible characters, wide letters) is returned
    in plain spelling.
    """
    rules = _rules(places)
    # Plain letters first: an odd letter inside a secret would hide the half behind it.
    clean, count = _ruled(_letters(text), rules)
    if not count:
        clean, count = _ruled(text, rules)
    plain = clean
    for _ in range(_SPELLINGS):
        before, plain = plain, _plainly(plain)
        if plain == before:
            break
        found, more = _ruled(plain, rules)
        if more:
            clean = plain = found
            count += more
    return clean, count


def redact_value(value: Any, places: PrivatePlaces) -> tuple[Any, int]:
    """Redact every string and key in a JSON value, as `redact_text` does.

    Values under a secret's name are removed as well, at any depth.
    """
    return _redacted(value, places, under_secret=False)


def _redacted(value: Any, places: PrivatePlaces, *, under_secret: bool) -> tuple[Any, int]:
    if isinstance(value, str):
        if under_secret and value and not _MARK.fullmatch(value):
            return MARK, 1
        return redact_text(value, places)
    if isinstance(value, list):
        items = [_redacted(item, places, under_secret=under_secret) for item in value]
        return [item for item, _ in items], sum(done for _, done in items)
    if not isinstance(value, Mapping):
        return value, 0
    count, found = 0, {}
    for key, item in value.items():
        name, in_key = redact_text(str(key), places)
        is_secret = under_secret or _SECRET_NAME.fullmatch(str(key)) is not None
        found[name], done = _redacted(item, places, under_secret=is_secret)
        count += in_key + done
    return found, count


_Rule = Callable[[str], tuple[str, int]]


def _ruled(text: str, rules: list[_Rule]) -> tuple[str, int]:
    count = 0
    for rule in rules:
        text, done = rule(text)
        count += done
    return text, count


def _letters(text: str) -> str:
    """Return the text without invisible characters, and with plain letters for their look-alikes."""
    if text.isascii():
        return text
    shown = "".join(char for char in text if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", shown)


def _plainly(text: str) -> str:
    """Return the text without one layer of disguise, as a reader or a program would understand it."""
    shown = _letters(text)
    shown = _ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), shown)
    return _SLASHES.sub("/", shown)


def _rules(places: PrivatePlaces) -> list[_Rule]:
    """Return every rule in the sheet's order."""
    rules = [
        _plain(_PEM, "[REDACTED:PRIVATE_KEY]"),
        _plain(_AWS_SECRET, r"\1=[REDACTED:AWS_SECRET]"),
        _headers,
        *(_plain(pattern, f"[REDACTED:{label}]") for pattern, label in _TOKENS),
        _plain(_BEARER, rf"\1 {MARK}"),
        _plain(_ADDRESS, rf"\1:{MARK}@"),
        _plain(_NAMELESS, rf"\1{MARK}@"),
        _plain(_USER_OPTION, rf"\1:{MARK}"),
        _plain(_ASSIGNMENT, rf"\1\2{MARK}"),
    ]
    for place, short in ((places.project, "."), (places.home, "~")):
        rules += [_place(spelling, short) for spelling in _spellings(place)]
        rules += _named_after(place, short)
    rules += [
        _plain(_USER_PLACES, "~"),
        _plain(_MAIL, "[REDACTED:EMAIL]"),
        # A MAC address counts as a network address, as for loki-mode.
        _plain(_MAC, "[REDACTED:IP]"),
        _ipv6,
        _plain(_IPV4, "[REDACTED:IP]"),
        _plain(_IP_NAME, "[REDACTED:IP]"),
        _plain(_HOSTED, "[REDACTED:REPO]"),
    ]
    names = sorted(places.repository, key=len, reverse=True)
    rules += [_repository(name) for name in names if name.strip("-_. ")]
    return [*rules, _anything_else]


def _plain(pattern: re.Pattern[str], replacement: str) -> _Rule:
    return lambda text: pattern.subn(replacement, text)


def _headers(text: str) -> tuple[str, int]:
    def without_value(match: re.Match[str]) -> str:
        name, separator, quote, quoted_scheme, scheme = match.groups()
        return f"{name}{separator}{quote or ''}{quoted_scheme or scheme or ''}{MARK}"

    return _HEADER.subn(without_value, text)


def _spellings(place: str) -> list[str]:
    """Return the spellings of a directory in a text; the root of the disk has none."""
    trimmed = place.rstrip("/\\")
    found = [trimmed]
    if len(trimmed) > 1 and "\\" in trimmed:
        found.append(trimmed.replace("\\", "\\\\"))
    return found


def _place(directory: str, short: str) -> _Rule:
    if len(directory) < 2:
        return lambda text: (text, 0)
    return _plain(re.compile(re.escape(directory) + r"(?![\w-])"), short)


def _named_after(place: str, short: str) -> list[_Rule]:
    """Return rules for directories that Claude Code and others name after a directory."""
    name = re.sub(r"[^A-Za-z0-9]", "-", place.rstrip("/\\"))
    if name.count("-") < 2:
        return []  # `-root` is an option, too
    return [_plain(re.compile(rf"(?<![\w-]){name}(?![A-Za-z0-9])"), short)]


def _repository(name: str) -> _Rule:
    """Return the rule for a name of the repository as a word of its own, except in a mark.

    A module of that name has other separators, or none.
    """
    joined = "[-_. ]?".join(re.escape(part) for part in re.split(r"[-_. ]+", name) if part)
    pattern = re.compile(rf"(?i)(\[REDACTED(?::[A-Z_]+)?\])|(?<![A-Za-z0-9]){joined}(?![A-Za-z0-9])")

    def rule(text: str) -> tuple[str, int]:
        count = 0

        def mark(match: re.Match[str]) -> str:
            nonlocal count
            if match[1]:
                return match[1]
            count += 1
            return "[REDACTED:REPO]"

        return pattern.sub(mark, text), count

    return rule


def _ipv6(text: str) -> tuple[str, int]:
    count = 0

    def mark(match: re.Match[str]) -> str:
        nonlocal count
        found = match[0].rstrip(".")
        for candidate in dict.fromkeys((found, found.rstrip(":"), found.partition(".")[0])):
            if _is_ipv6(candidate):
                count += 1
                return "[REDACTED:IP]" + match[0][len(candidate) :]
        return match[0]

    return _IPV6.sub(mark, text), count


def _is_ipv6(text: str) -> bool:
    import ipaddress

    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return int(address) != 0


def _anything_else(text: str) -> tuple[str, int]:
    """Remove everything that Reverie's own redactor recognises beyond these rules.

    For example, keys of other providers.
    """
    marks = [(match.start(), match.end()) for match in _MARK.finditer(text)]
    pieces, position, count = [], 0, 0
    for secret in find_secrets(text):
        if any(start < secret.end and secret.start < end for start, end in marks):
            continue
        pieces += [text[position : secret.start], MARK]
        position, count = secret.end, count + 1
    return "".join([*pieces, text[position:]]), count


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
    """Return a crash as it may be stored; never raises.

    `raw`: a record, or the findings of a capture, with `stack` as text or as a list of lines.
    """
    try:
        return _scrubbed(raw, places)
    except Exception:  # noqa: BLE001 - after any failure, nothing of the input may be returned
        return minimal()


def minimal() -> dict[str, Any]:
    """Return the record of a crash that could not be scrubbed."""
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
        **{key: _plain_or_none(clean.get(key)) for key in KEYS[:5]},
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
    """Return the first word of a text, reduced to letters that occur in error names."""
    words = value.split(maxsplit=1) if isinstance(value, str) else []
    return _NOT_IN_ERROR_CLASS.sub("", words[0])[:_ERROR_CLASS_CHARS] if words else "UnknownError"


def phase_of(value: object) -> str | None:
    """Return a phase in its stored form; None for any other value."""
    if not isinstance(value, str):
        return None
    word = value.strip()
    return word.upper() if word.upper() in PHASES else ("iteration" if word.lower() == "iteration" else None)


def exit_code_of(value: object) -> int | None:
    """Return a whole number as loki-mode reads it; None for anything else, including booleans.

    A text counts too, as shells pass it, and so does a fraction, which is cut.
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
    """Return a known kind of friction, or None.

    `stored`: the record was scrubbed before; then a kind of a later version is kept if it is plain words.
    """
    if not isinstance(value, str):
        return None
    return value if value in FRICTIONS or (stored and _FRICTION.fullmatch(value)) else None


def signature_of(stack: str) -> list[str]:
    """Return the names of the first functions of a stack in any language; other lines are ignored."""
    found: list[str] = []
    for line in stack.splitlines():
        symbol = _symbol_of(line)
        if symbol:
            found.append(symbol)
            if len(found) == FRAMES:
                break
    return found


def fingerprint(error_class: str, signature: list[str]) -> str:
    """Return the common id of crashes of one kind."""
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
    """Return a function name without its location; empty where it is no name."""
    name = _LOCATION.sub("", name.strip(), count=1).strip()
    if name in ("anonymous", "(anonymous)"):
        return "<anonymous>"
    return name if _SYMBOL.fullmatch(name) else ""


def _symbols(listed: list[Any]) -> list[str]:
    names = (_checked(item) for item in listed if isinstance(item, str))
    return [name for name in names if name][:FRAMES]


def _plain_or_none(value: object) -> str | None:
    return _matching(_PLAIN, value)


def _matching(pattern: re.Pattern[str], value: object) -> str | None:
    return value if isinstance(value, str) and pattern.fullmatch(value) else None


@dataclasses.dataclass(frozen=True, slots=True)
class Crash:
    """A crash record on disk.

    `at`: when it was captured (µs UTC), from its content or its name; None where unknown. `mtime_ns` decides
    which record is the newest.
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


class CrashGroup(Struct, frozen=True):
    """Crashes of one kind, newest first. Records without a fingerprint are one kind per error class."""

    fingerprint: str
    crashes: tuple[Crash, ...]

    @property
    def newest(self) -> Crash:
        return self.crashes[0]


def crashes(directory: Path, problems: list[str]) -> tuple[Crash, ...]:
    """Return every record in `.loki/crash`, the last written first."""
    found = []
    for name, mtime_ns in _listed(directory):
        record = read_object(directory / name, problems)
        if record is not None:
            found.append(_crash(directory / name, record, mtime_ns))
    return tuple(found)


def newest_file(directory: Path) -> Path | None:
    """Return the record that the agent would attach to a failure: the last written file of any kind."""
    return next((directory / name for name, _mtime in _listed(directory)), None)


def groups(found: tuple[Crash, ...]) -> tuple[CrashGroup, ...]:
    """Group crashes by fingerprint; the last seen kind comes first."""
    kinds: dict[str, list[Crash]] = {}
    for crash in found:
        kinds.setdefault(crash.fingerprint or f"{crash.error_class}\n{crash.friction}", []).append(crash)
    ordered = [sorted(kind, key=_when, reverse=True) for kind in kinds.values()]
    ordered.sort(key=lambda kind: _when(kind[0]), reverse=True)
    return tuple(CrashGroup(kind[0].fingerprint, tuple(kind)) for kind in ordered)


def _when(crash: Crash) -> int:
    return crash.mtime_ns // 1000 if crash.at is None else crash.at


def _listed(directory: Path) -> list[tuple[str, int]]:
    """Return names with mtime in ns, the last written first; equal ones by name, last first."""
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
