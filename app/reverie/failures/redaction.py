"""Redaction of crash records: secrets, paths, addresses and names (formats/loki.md section 10).

Secrets are removed first, then paths, then mail addresses, network addresses and repository names, and
finally everything that Reverie's own redactor recognises (`text.redact`). Every rule inserts a mark in square
brackets that no other rule matches, so redacting twice changes nothing. Linear time: patterns begin behind a
boundary. No possessive quantifiers or atomic groups: Python before 3.11.5 matches them wrongly.

Pure; any thread.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

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
_NAMELESS = re.compile(r"""(?i)(?<![a-z0-9+.-])(https?://)(?!\[REDACTED)[^\s/:@"'<>]{12,512}@""")
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
"""The maximum number of nested layers of escapes and look-alike characters that are decoded."""


class PrivatePlaces(Struct, frozen=True):
    """The paths and names of this machine and of a project that must not be stored.

    `project`, `home`: the paths of the project and of the user's home directory; `repository`: names of the
    repository (its owner, its name). Empty values are ignored.
    """

    project: str = ""
    home: str = ""
    repository: tuple[str, ...] = ()


def redact_text(text: str, places: PrivatePlaces) -> tuple[str, int]:
    """Return the text without private parts, and the number of parts removed.

    Secrets, user names in paths, mail and network addresses are always removed. `places`: further paths and
    names to be removed. A text that hides a private part in another spelling (escapes, invisible characters,
    wide letters) is returned in plain spelling.
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
    """Return a JSON value with every string and key redacted, and the number of parts removed.

    `places`: the paths and names to be removed. Values whose key names a secret are removed as well, at any
    depth.
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
    """Return the text with one layer of escapes and look-alike characters decoded."""
    shown = _letters(text)
    shown = _ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), shown)
    return _SLASHES.sub("/", shown)


def _rules(places: PrivatePlaces) -> list[_Rule]:
    """Return the rules of redaction, in the order of formats/loki.md section 10.

    A rule is a function that takes a text and returns the redacted text and the number of parts removed. The
    rules include those for the paths and names in `places`.
    """
    rules = [
        _plain(_PEM, "[REDACTED:PRIVATE_KEY]"),
        _plain(_AWS_SECRET, r"\1=[REDACTED:AWS_SECRET]"),
        _headers,
        *(_plain(pattern, f"[REDACTED:{label}]") for pattern, label in _TOKENS),
        _plain(_NAMELESS, rf"\1{MARK}@"),
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
    """Return the ways in which a text may spell the path of a directory, without a slash at the end.

    A path with backslashes is also spelled with doubled ones, as in JSON. For the root of the disk, the
    result is `[""]`.
    """
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
    """Return rules for names that Claude Code and other programs make from the path of a directory.

    Such a name is the path with dashes in place of other characters. `place`: the path; `short`: the text to
    write instead of such a name. Empty for a short path, whose name may occur by chance.
    """
    name = re.sub(r"[^A-Za-z0-9]", "-", place.rstrip("/\\"))
    if name.count("-") < 2:
        return []  # `-root` is an option, too
    return [_plain(re.compile(rf"(?<![\w-]){name}(?![A-Za-z0-9])"), short)]


def _repository(name: str) -> _Rule:
    """Return the rule that replaces a name of the repository, such as its owner, where it is a separate word.

    The parts of the name may be joined by other separators or none, as in the name of a module. Text inside
    the marks of earlier redactions, such as `[REDACTED:PATH]`, is not replaced.
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
    """Redact everything that Reverie's own redactor recognises; return the text and the number of redactions.

    This covers, for example, keys of other providers.
    """
    marks = [(match.start(), match.end()) for match in _MARK.finditer(text)]
    pieces, position, count = [], 0, 0
    for secret in find_secrets(text):
        if any(start < secret.end and secret.start < end for start, end in marks):
            continue
        pieces += [text[position : secret.start], MARK]
        position, count = secret.end, count + 1
    return "".join([*pieces, text[position:]]), count
