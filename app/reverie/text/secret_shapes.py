"""Secrets that are known by their own shape, whatever stands around them.

Every pattern begins behind a boundary and consumes possessively, so no input makes it start over inside what
it has consumed. Pure functions; spans are `(start, end, kind)`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator

Span = tuple[int, int, str]

_PLACEHOLDER = re.compile(
    r"\$(?:[A-Z_][A-Z0-9_]*+\Z|[a-z_]++\Z|[{(])|%(?:[A-Za-z_][A-Za-z0-9_]*+%?\Z|\()|\{|<[^>]*+>\Z|\[redacted:"
)

_PROVIDER_KEY = re.compile(
    r"""(?<![A-Za-z0-9])(?:
        sk-(?:ant|proj|svcacct|admin|or|test|live)-[A-Za-z0-9_-]{12,}+
      | [sr]k_(?:live|test)_[A-Za-z0-9]{10,}+
      | gh[oprsu]_[A-Za-z0-9]{20,}+
      | github_pat_[A-Za-z0-9_]{20,}+
      | xox[abeoprs]-[A-Za-z0-9-]{10,}+
      | xapp-[A-Za-z0-9-]{10,}+
      | (?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])
      | AIza[A-Za-z0-9_-]{30,}+
      | ya29\.[A-Za-z0-9_-]{20,}+
      | gl(?:pat|ptt|rt|dt|cbt)-[A-Za-z0-9_-]{16,}+
      | npm_[A-Za-z0-9]{30,}+
      | pypi-[A-Za-z0-9_-]{32,}+
      | hf_[A-Za-z0-9]{20,}+
    )""",
    re.VERBOSE,
)
# One of them stands in whatever the pattern above matches.
_PROVIDERS_OWN = (
    "sk-", "k_live_", "k_test_", "gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_", "xox", "xapp-",
    "AKIA", "ASIA", "AIza", "ya29.", "glpat-", "glptt-", "glrt-", "gldt-", "glcbt-", "npm_", "pypi-", "hf_",
)  # fmt: skip
# Without a provider's own prefix after it, `sk-` also begins ordinary names in kebab case.
_PLAIN_SK = re.compile(r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{16,}+")
_NO_ORDINARY_NAME = re.compile(r"[A-Za-z]\d|\d[A-Za-z]|[A-Za-z0-9]{20}")
_SLACK_HOOK = re.compile(r"hooks\.slack\.com/services/([A-Za-z0-9]{6,}+/[A-Za-z0-9]{6,}+/[A-Za-z0-9]{10,}+)")

_JWT = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?")

# The small letters of İ, ı and ſ; re.IGNORECASE has all three for i and s.
_TAKEN_FOR = {0x0307: None, 0x0131: "i", 0x017F: "s"}
_HEADER = re.compile(
    r"""(?i)(?<![A-Za-z0-9])(?:proxy-)?authorization\\{0,4}["']?[ \t]{0,4}[:=][ \t]{0,4}\\{0,4}["']?
        (?:([A-Za-z][A-Za-z0-9-]{1,20})[ \t]{1,4})?([^\s"'`,;\\]{6,}+)""",
    re.VERBOSE,
)
_SCHEME = re.compile(r"(?i)(?<![A-Za-z0-9_-])(bearer|basic)[ \t]{1,4}([A-Za-z0-9._~+/=-]{12,}+)")

_ADDRESS = re.compile(
    r"""(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}+://
        [^\s/:@?\#"'`<>]{0,256}+:([^\s/?\#"'`<>]{1,512})@""",
    re.VERBOSE,
)

# A client of MySQL takes a password right behind `-p`; what goes on elsewhere is another command's.
_MYSQL = re.compile(
    r"(?<![A-Za-z0-9_-])(?:mysql(?:dump|admin|import|show|check|slap|pump|binlog)?|mariadb(?:-[a-z]{1,12}+)?)"
    r"""(?:\.exe)?["']?(?=[ \t])"""
)
_COMMAND_END = re.compile(r"[\r\n|;&]")
_BEHIND_P = re.compile(r"""(?<=[\s"'])-p(?:"([^"\r\n]{1,256}+)"|'([^'\r\n]{1,256}+)'|([^\s"'`,;]{1,256}+))""")
_PORTS = re.compile(r"[\d.:]*+(?:/(?:tcp|udp))?\Z")
_LONGEST_COMMAND = 4096
_LONGEST_WORD = 260

_GAP = r"(?:\s|\\[nrt]){1,20}+"
_WORD = r"(?:(?!\\[nrt])[^\s,]){1,256}+"
_NETRC = re.compile(
    rf"""(?<![A-Za-z0-9_-])(?:machine{_GAP}({_WORD})|default)(?:{_GAP}(?:login|account){_GAP}{_WORD}){{0,3}}+
        {_GAP}password{_GAP}(?:"([^"\r\n]{{1,256}}+)"|((?:(?!\\[nrt])[^\s"']){{1,256}}+))""",
    re.VERBOSE,
)
# In square brackets: an address, or the mark that stands for one by now.
_HOST = re.compile(r"[\w-]++(?:[.:][\w-]++)++\Z|localhost\Z|\[")

_KEY_BEGIN = re.compile(
    r"-----\s{0,4}BEGIN\s{1,4}(?:[A-Z0-9]{1,20}+\s{1,4}){0,4}?PRIVATE\s{1,4}KEY(?:\s{1,4}BLOCK)?\s{0,4}-----"
)
_KEY_END = re.compile(
    r"-----\s{0,4}END\s{1,4}(?:[A-Z0-9]{1,20}+\s{1,4}){0,4}?PRIVATE\s{1,4}KEY(?:\s{1,4}BLOCK)?\s{0,4}-----"
)
# A line of a key whose end is missing: what quoting, indenting or escaping puts before it, then its text.
_KEY_LINE = re.compile(
    r"""[\s>|*\#"',+\\-]{0,40}+
        (?:[A-Za-z0-9+/=]{16,}+|n?(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{0,200})""",
    re.VERBOSE,
)
# The longest real keys take about 13,000 characters; an end marker farther off belongs to something else.
_LONGEST_KEY = 32_768


def shaped_secrets(text: str) -> Iterator[Span]:
    """Spans of all secrets with a shape of their own; they may overlap."""
    yield from _private_keys(text)
    if holds_any(text, _PROVIDERS_OWN):
        yield from ((match.start(), match.end(), "provider-key") for match in _PROVIDER_KEY.finditer(text))
    for match in _PLAIN_SK.finditer(text) if holds_any(text, ("sk-",)) else ():
        if _NO_ORDINARY_NAME.search(match[0]):
            yield match.start(), match.end(), "provider-key"
    for match in _SLACK_HOOK.finditer(text):
        yield match.start(1), match.end(1), "provider-key"
    for match in _JWT.finditer(text) if holds_any(text, ("eyJ",)) else ():
        yield match.start(), match.end(), "jwt"
    yield from _headers(text)
    for match in _ADDRESS.finditer(text) if holds_any(text, ("://",)) else ():
        if not is_placeholder(match[1]):
            yield match.start(1), match.end(1), "url-password"
    if holds_any(text, ("mysql", "mariadb")):
        yield from _behind_p(text)
    for match in _NETRC.finditer(text) if holds_any(text, ("machine", "default")) else ():
        group = 2 if match[2] is not None else 3
        if not is_placeholder(match[group]) and _is_netrc(match[1] or "", match[group]):
            yield match.start(group), match.end(group), "password"


def holds_any(text: str, parts: Iterable[str]) -> bool:
    """Whether one of `parts`, without which a pattern cannot match, stands in `text`: to ask this takes a
    hundredth of the time of the pattern."""
    for part in parts:  # noqa: SIM110 - asked ten times of each text; a generator takes twice as long
        if part in text:
            return True
    return False


def lowered(text: str) -> str:
    """`text` in small letters, with the few others that a pattern takes for `i` and `s` if it does not care
    for case."""
    small = text.lower()
    return small if small.isascii() else small.translate(_TAKEN_FOR)


def _headers(text: str) -> Iterator[Span]:
    small = lowered(text)
    for match in _HEADER.finditer(text) if holds_any(small, ("authorization",)) else ():
        if not is_placeholder(match[2]) and _is_header_value(match[1] or "", match[2]):
            yield match.start(2), match.end(2), "auth-header"
    for match in _SCHEME.finditer(text) if holds_any(small, ("bearer", "basic")) else ():
        if _is_credential(match[1], match[2]):
            yield match.start(2), match.end(2), "auth-header"


def _behind_p(text: str) -> Iterator[Span]:
    """Passwords on the command lines of MySQL's clients."""
    done = 0
    for match in _MYSQL.finditer(text):
        if match.start() < done:
            continue
        limit = match.end() + _LONGEST_COMMAND
        end = _COMMAND_END.search(text, match.end(), limit)
        done = min(len(text), limit) if end is None else end.start()
        for option in _BEHIND_P.finditer(text, match.end(), min(len(text), done + _LONGEST_WORD)):
            if option.start() >= done:
                break
            group = next(number for number in (1, 2, 3) if option[number] is not None)
            # A container of that name has ports behind the same letter.
            is_ports = ":" in option[group] and _PORTS.match(option[group])
            if not is_placeholder(option[group]) and not is_ports:
                yield option.start(group), option.end(group), "password"


def is_placeholder(value: str) -> bool:
    """Whether a value only stands for a secret: a variable, a template, a mask, or our own mark."""
    return _PLACEHOLDER.match(value) is not None or len(set(value)) == 1


def _is_header_value(scheme: str, value: str) -> bool:
    """Tells a header from a sentence that begins with "Authorization:"."""
    return scheme.lower() in ("bearer", "basic") or len(value) >= 20 or any(map(str.isdigit, value))


def _is_netrc(host: str, value: str) -> bool:
    """Tells a line of a netrc file from a sentence about machines, logins and passwords."""
    return _HOST.match(host) is not None or not value.strip(".?!:)").isalpha()


def _is_credential(scheme: str, value: str) -> bool:
    """Tells a credential from the next word of a sentence about bearers or basics."""
    if scheme.lower() == "bearer":
        return any(map(str.isdigit, value))
    try:
        return b":" in base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False


def _private_keys(text: str) -> Iterator[Span]:
    ends = [match.end() for match in _KEY_END.finditer(text)]
    next_end = 0
    position = 0
    while (begin := _KEY_BEGIN.search(text, position)) is not None:
        while next_end < len(ends) and ends[next_end] <= begin.end():
            next_end += 1
        position = begin.end()
        if next_end < len(ends) and ends[next_end] - begin.start() <= _LONGEST_KEY:
            position = ends[next_end]
        else:
            while (line := _KEY_LINE.match(text, position)) is not None:
                position = line.end()
            if position == begin.end():
                continue  # the words alone, as in a sentence
        yield begin.start(), position, "private-key"
