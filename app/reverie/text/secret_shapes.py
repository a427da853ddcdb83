"""Secrets that are recognised by their own format, whatever the text around them.

The prefixes and patterns of services are in `text.secret_table`. This module has the formats that are not in
a table: private keys, signed tokens, headers, URLs and command lines, and logins, PINs, recovery codes and
licences that have no word such as "password" near them. Every pattern begins at a boundary, and its matches
are bounded or followed by a character they cannot contain, so no input makes it slow. Possessive quantifiers
and atomic groups are not used: Python before 3.11.5 matches them wrongly. Pure functions; spans are `(start,
end, kind)`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from functools import cache

from reverie.text import secret_values as its
from reverie.text.patterns import pattern_of
from reverie.text.secret_table import LONG_WORD, Prefixed, Shaped, secret_table, secret_words
from reverie.text.secret_values import SecretSpan, holds_any, is_mixed, is_placeholder
from reverie.values import Struct

# Without a provider's own prefix after it, `sk-` also begins ordinary names in kebab case.
_PLAIN_SK = pattern_of(r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{16,}")
_NO_ORDINARY_NAME = pattern_of(r"[A-Za-z]\d|\d[A-Za-z]|[A-Za-z0-9]{20}")
_LONGEST_BODY = 4096
_JUDGED = 256

_JWT = pattern_of(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?")

_HEADER = pattern_of(
    r"""(?i)(?<![A-Za-z0-9])authorization\\{0,4}["']?[ \t]{0,4}[:=][ \t]{0,4}\\{0,4}["']?
        (?:([A-Za-z][A-Za-z0-9-]{1,20})[ \t]{1,4})?([^\s"'`,;\\]{6,})""",
    re.VERBOSE,
)
_SCHEME = pattern_of(r"(?i)(?<![A-Za-z0-9_-])(bearer|basic)[ \t]{1,4}([A-Za-z0-9._~+/=-]{12,})")
_COOKIE = pattern_of(
    r"""(?i)(?<![A-Za-z0-9_])cookie["']?[ \t]{0,4}[:=][ \t]{0,4}["']?[^\r\n]{0,200}?
        (?<![A-Za-z0-9])[A-Za-z0-9_.-]{0,40}(?:sess|sid|auth|token|jwt)[A-Za-z0-9_.-]{0,40}=([^\s;"'`]{12,1024})""",
    re.VERBOSE,
)

_SCHEME_NAME = pattern_of(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}\Z")
_USER_INFO = pattern_of(
    r"""://[^\s/:@?\#"'`<>]{0,256}:(?!\d{1,5}[/?\#])([^\s/?\#"'`<>]{1,512}|[^\s@"'`<>]{1,512})@"""
)
_NAMELESS = pattern_of(r"""://([^\s/:@?\#"'`<>]{16,256})@""")
_ORACLE = pattern_of(r"""jdbc:oracle:[a-z]{2,8}:[^\s/:@"'`]{1,64}/([^\s/@"'`]{3,128})@""")

# A client of MySQL takes a password directly after `-p`; elsewhere the option means something else.
_MYSQL = pattern_of(
    r"(?<![A-Za-z0-9_-])(?:mysql(?:dump|admin|import|show|check|slap|pump|binlog)?|mariadb(?:-[a-z]{1,12})?)"
    r"""(?:\.exe)?["']?(?=[ \t])"""
)
_COMMAND_END = pattern_of(r"[\r\n|;&]")
_BEHIND_P = pattern_of(r"""(?<=[\s"'])-p(?:"([^"\r\n]{1,256})"|'([^'\r\n]{1,256})'|([^\s"'`,;]{1,256}))""")
_PORTS = pattern_of(r"[\d.:]*(?:/(?:tcp|udp))?\Z")
_LONGEST_COMMAND = 4096
_LONGEST_WORD = 260

_GAP = r"(?:\s|\\[nrt]){1,20}"
_WORD = r"(?:(?!\\[nrt])[^\s,]){1,256}"
_NETRC = pattern_of(
    rf"""(?<![A-Za-z0-9_-])(?:machine{_GAP}({_WORD})|default)(?:{_GAP}(?:login|account){_GAP}{_WORD}){{0,3}}
        {_GAP}password{_GAP}(?:"([^"\r\n]{{1,256}})"|((?:(?!\\[nrt])[^\s"']){{1,256}}))""",
    re.VERBOSE,
)
# Text in square brackets is an address, or the mark of a redacted one.
_HOST = pattern_of(r"[\w-]+(?:[.:][\w-]+)+\Z|localhost\Z|\[")
# host:port:database:user:password
_PGPASS = pattern_of(
    r"(?m)^[ \t>*`-]{0,8}[A-Za-z0-9_.*-]{1,100}:(?:\d{4,5}|\*):[A-Za-z0-9_*-]{1,64}:"
    r"[A-Za-z0-9_*.@-]{1,64}:([^\s:`|]{4,256})[`\t ]{0,4}$"
)

_PGPASS_MARKS = (":5432:", ":5433:", ":6432:", ":*:", "pgpass")

_KEY_RUN = pattern_of(r"[A-Za-z0-9+/=]{16}")
_KEY_BEGIN = pattern_of(
    r"-----\s{0,4}BEGIN\s{1,4}(?:[A-Z0-9]{1,20}\s{1,4}){0,4}?PRIVATE\s{1,4}KEY(?:\s{1,4}BLOCK)?\s{0,4}-----"
    r"|-----BEGIN OpenVPN Static key V1-----"
)
_KEY_END = pattern_of(
    r"-----\s{0,4}END\s{1,4}(?:[A-Z0-9]{1,20}\s{1,4}){0,4}?PRIVATE\s{1,4}KEY(?:\s{1,4}BLOCK)?\s{0,4}-----"
    r"|-----END OpenVPN Static key V1-----"
)
# The private part of a key of PuTTY (its documentation, appendix "PPK file format").
_PUTTY = pattern_of(r"Private-Lines: \d{1,3}((?:\r?\n[ \t>]{0,20}[A-Za-z0-9+/=]{1,64}(?=\s|\Z)){1,999})")
# A line of a key whose end is missing: the signs of quoting, indenting or escaping, then its text.
_KEY_LINE = pattern_of(
    r"""[\s>|*\#"',+\\-]{0,40}
        (?:[A-Za-z0-9+/=]{16,}|n?(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{0,200})""",
    re.VERBOSE,
)
# The longest real keys take about 13,000 characters; an end marker farther off belongs to something else.
_LONGEST_KEY = 32_768


class _Rows(Struct, frozen=True):
    """The table of secrets (`SecretTable`), prepared for the search."""

    by_prefix: dict[str, Prefixed]
    """The secrets with a known prefix, by prefix."""
    in_words: tuple[Shaped, ...]
    """The secrets whose patterns are applied to long words only."""
    in_texts: tuple[Shaped, ...]
    """The secrets whose patterns are applied to the whole text."""
    least_word: int
    """Length of the shortest word that may contain a secret of the table; secrets never contain a space."""


@cache
def _rows() -> _Rows:
    table = secret_table()
    lengths = (len(row.prefix) + (row.least if not row.prefix.endswith("=") else 0) for row in table.prefixed)
    return _Rows(
        by_prefix={row.prefix: row for row in table.prefixed},
        in_words=tuple(row for row in table.patterns if row.is_one_word),
        in_texts=tuple(row for row in table.patterns if not row.is_one_word),
        least_word=min(LONG_WORD, *lengths),
    )


def shaped_secrets(text: str, small: str) -> Iterator[SecretSpan]:
    """Yield the spans of all secrets that are recognised by their own format; the spans may overlap.

    `small`: the text in lower case, of the same length.
    """
    yield from _private_keys(text)
    words = list(_long_words(text))
    if words:
        yield from _prefixed(text, words)
    yield from _patterned(text, words)
    for match in _PLAIN_SK.finditer(text) if "sk-" in text else ():
        if _NO_ORDINARY_NAME.search(match[0]) and not its.is_mask(match[0][3:]):
            yield match.start(), match.end(), "provider-key"
    for match in _matches_at(_JWT, text, text, "eyJ"):
        yield match.start(), match.end(), "jwt"
    yield from _headers(text, small)
    yield from _in_addresses(text)
    if holds_any(text, ("mysql", "mariadb")):
        yield from _behind_p(text)
    for match in _matches_at(_NETRC, text, text, "machine", "default"):
        group = 2 if match[2] is not None else 3
        if not is_placeholder(match[group]) and _is_netrc(match[1] or "", match[group]):
            yield match.start(group), match.end(group), "password"
    for match in _PGPASS.finditer(text) if holds_any(text, _PGPASS_MARKS) else ():
        if not is_placeholder(match[1]):
            yield match.start(1), match.end(1), "password"


def places_of(text: str, part: str) -> Iterator[int]:
    """Yield each index at which `part` occurs in `text`; the occurrences do not overlap."""
    position = text.find(part)
    while position >= 0:
        yield position
        position = text.find(part, position + len(part))


def _matches_at(pattern: re.Pattern[str], text: str, searched: str, *parts: str) -> Iterator[re.Match[str]]:
    """Yield the matches of `pattern` in `text` that begin with one of `parts`.

    Every match of the pattern must begin with one of them; searching for the parts first saves time.
    `searched`: the text in which to search for them: `text`, or `text` in lower case. Matches that begin
    with the same part do not overlap.
    """
    for part in parts:
        if part not in searched:
            continue
        done = 0
        for place in places_of(searched, part):
            match = pattern.match(text, place) if place >= done else None
            if match is not None:
                done = match.end()
                yield match


def _patterned(text: str, words: list[tuple[int, int, str]]) -> Iterator[SecretSpan]:
    """Yield the spans of the secrets that match one of `SecretTable.patterns`.

    `words`: the result of `_long_words`.
    """
    rows = _rows()
    found: list[re.Match[str]] = []
    for row in rows.in_texts:
        if row.word in text:
            found += _compiled(row).finditer(text)
    for start, end, word in words:
        for row in rows.in_words if end - start >= LONG_WORD else ():
            if row.word in word:
                found += _compiled(row).finditer(text, start, end)
    for match in found:
        group = 1 if match.re.groups else 0
        if not is_placeholder(match[group]) and any(map(str.isdigit, match[group])):
            yield match.start(group), match.end(group), "provider-key"


def _long_words(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, text) of each word that is long enough to contain a secret of the table."""
    least, position = _rows().least_word, 0
    for word in [word for word in text.split() if len(word) >= least]:
        position = text.index(word, position)
        yield position, position + len(word), word
        position += len(word)


def _in_addresses(text: str) -> Iterator[SecretSpan]:
    for place in places_of(text, "://"):
        scheme = _SCHEME_NAME.search(text, max(0, place - 40), place)
        if scheme is None:
            continue
        match = _USER_INFO.match(text, place)
        if match is not None:
            if not is_placeholder(match[1]):
                yield match.start(1), match.end(1), "url-password"
        elif scheme[0].startswith("http"):
            # A token instead of a name and a password.
            match = _NAMELESS.match(text, place)
            if match is not None and its.is_random(match[1]):
                yield match.start(1), match.end(1), "url-password"
    for match in _ORACLE.finditer(text) if "jdbc:oracle" in text else ():
        if not is_placeholder(match[1]):
            yield match.start(1), match.end(1), "url-password"


@cache
def prefixes_pattern() -> re.Pattern[str]:
    """Return the pattern that finds prefixes of secrets (`Prefixed`) after a boundary; the longest wins."""
    return re.compile("(?<![A-Za-z0-9])" + any_of(_rows().by_prefix))


def any_of(words: Iterable[str]) -> str:
    """Return a pattern that finds any of `words`; of words with the same beginning, it finds the longest.

    A search for hundreds of words takes no longer than one for ten.
    """
    tree: dict[str, dict] = {}  # type: ignore[type-arg]
    for word in words:
        node = tree
        for char in word:
            node = node.setdefault(char, {})
        node[""] = {}
    return _alternatives(tree)


def _alternatives(node: dict[str, dict]) -> str:  # type: ignore[type-arg]
    branches = [re.escape(char) + _alternatives(below) for char, below in node.items() if char]
    if not branches:
        return ""
    joined = branches[0] if len(branches) == 1 and "" not in node else f"(?:{'|'.join(branches)})"
    return f"{joined}?" if "" in node else joined


@cache
def _compiled(row: Shaped) -> re.Pattern[str]:
    # One at a time, because compiling all of them takes as long as searching many notes.
    return re.compile(row.pattern)


def _prefixed(text: str, words: list[tuple[int, int, str]]) -> Iterator[SecretSpan]:
    pattern, rows = prefixes_pattern(), _rows().by_prefix
    for position, word_end, _word in words:
        while (mark := pattern.search(text, position, word_end)) is not None:
            position = mark.end()
            row = rows[mark[0]]
            end = _end_of_body(text, position, row)
            if end:
                start = position if row.prefix.endswith("=") else mark.start()
                position = end
                yield start, end, "provider-key"


def _end_of_body(text: str, start: int, row: Prefixed) -> int:
    """Return the end of the secret whose prefix ends at `start`; 0 if no secret follows the prefix.

    `row`: the row of the table that has this prefix.
    """
    # Most are short; only the body of a secret is measured in full.
    piece = text[start : start + _JUDGED]
    body = piece[: len(piece) - len(piece.lstrip(row.alphabet))]
    if "." in row.alphabet or "-" in row.alphabet:
        body = body.rstrip(".-")
    if len(body) < row.least or (row.exact and len(body) != row.least) or its.is_mask(body):
        return 0
    if row.random and not (its.is_random(body) or (any(map(str.isdigit, body)) and _is_long_hex(body))):
        return 0
    end = start + len(body)
    if row.exact:
        following = text[end : end + 1]
        return 0 if following.isalnum() and following.isascii() else end
    if len(body) == len(piece):
        piece = text[end : end + _LONGEST_BODY]
        end += len(piece) - len(piece.lstrip(row.alphabet))
    return end


def _is_long_hex(body: str) -> bool:
    return len(body) >= 32 and not body.lstrip("0123456789abcdefABCDEF")


def _headers(text: str, small: str) -> Iterator[SecretSpan]:
    for match in _matches_at(_HEADER, text, small, "authorization"):
        if not is_placeholder(match[2]) and _is_header_value(match[1] or "", match[2]):
            yield match.start(2), match.end(2), "auth-header"
    for match in _matches_at(_SCHEME, text, small, "bearer", "basic"):
        if _is_credential(match[1], match[2]):
            yield match.start(2), match.end(2), "auth-header"
    for match in _matches_at(_COOKIE, text, small, "cookie"):
        value = match[1]
        if not is_placeholder(value) and len(value) >= 16 and any(map(str.isdigit, value)):
            yield match.start(1), match.end(1), "auth-header"


def _behind_p(text: str) -> Iterator[SecretSpan]:
    """Yield the spans of passwords after `-p` on the command lines of MySQL's clients."""
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
            # For a container of that name the same option lists ports.
            is_ports = ":" in option[group] and _PORTS.match(option[group])
            if not is_placeholder(option[group]) and not is_ports:
                yield option.start(group), option.end(group), "password"


def _is_header_value(scheme: str, value: str) -> bool:
    """Return whether a match is an HTTP header, not a sentence that begins with "Authorization:".

    `scheme`: the word before the value, such as "Bearer"; empty if there is none. `value`: the credential.
    """
    if scheme.lower() == "basic":
        return _is_credential(scheme, value)
    return scheme.lower() == "bearer" or len(value) >= 20 or any(map(str.isdigit, value))


def _is_netrc(host: str, value: str) -> bool:
    """Return whether a match is a line of a netrc file, not a sentence about machines and passwords.

    `host` and `value`: the name of the machine and the password in the match.
    """
    return _HOST.match(host) is not None or not value.strip(".?!:)").isalpha()


def _is_credential(scheme: str, value: str) -> bool:
    """Return whether `value` is a credential, not a word of prose.

    `scheme`: the word before the value, "bearer" or "basic" in any case.
    """
    if scheme.lower() == "bearer":
        return any(map(str.isdigit, value)) and not is_placeholder(value)
    try:
        return b":" in base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False


def _private_keys(text: str) -> Iterator[SecretSpan]:
    for match in _PUTTY.finditer(text) if "Private-Lines: " in text else ():
        yield match.start(1), match.end(1), "private-key"
    if "-----" not in text:
        return
    ends = [match.end() for match in _KEY_END.finditer(text)]
    next_end = 0
    position = 0
    while (begin := _KEY_BEGIN.search(text, position)) is not None:
        while next_end < len(ends) and ends[next_end] <= begin.end():
            next_end += 1
        position = begin.end()
        if next_end < len(ends) and ends[next_end] - begin.start() <= _LONGEST_KEY:
            position = ends[next_end]
            if not _KEY_RUN.search(text, begin.end(), position):
                continue  # dots or a name instead of a key
        else:
            while (line := _KEY_LINE.match(text, position)) is not None:
                position = line.end()
            if position == begin.end():
                continue  # only the words, as in a sentence
        yield begin.start(), position, "private-key"


def services() -> list[str]:
    """Return the names of the services whose secrets are recognised by their format."""
    table = secret_table()
    return sorted({row.service for row in table.prefixed} | {row.service for row in table.patterns})


# A login in two lines or fields, each named by a letter or a word: `u: ada`, `p: ...`.
_CLOSING = "*)]}.,;:"
_SPECIAL = pattern_of(r"[!@#$%^&*?~+=§€£]")

_PIN_HINTS = ("pin", "code", "codice", "código", "пин", "код", "解锁码", "暗証番号", "코드")
_YEAR = pattern_of(r"(?:19|20)\d\d")

_CODE = pattern_of(r"""[\s,;`"'*-]{1,12}([A-Za-z0-9]{4,12}(?:-[A-Za-z0-9]{4,12}){1,5})(?![\w-])""")
_MOST_CODES = 20


@cache
def _announced(name: str) -> re.Pattern[str]:
    return re.compile(secret_words().announced[name].replace("\n", ""))


def login_secrets(text: str, small: str) -> Iterator[SecretSpan]:
    """Yield the spans of secrets that have no word such as "password" or "token" near them.

    These are logins as `name / password`, PINs, recovery codes, licences, and keys used for signing. Each
    rule begins at a word such as "PIN" or "licence", in the languages that notes are written in, and then
    examines the text after it up to a maximum length. `small`: the text in lower case, of the same length.
    """
    if "/" in text or ":" in text or "," in text:
        yield from _logins(text, small)
    if holds_any(small, _PIN_HINTS):
        for match in _announced("pin").finditer(small):
            value = match["value"]
            if not (len(value) == 4 and _YEAR.match(value)):
                yield *match.span("value"), "password"
    for opening in (
        _announced("codes").finditer(small) if "код" in small or "cod" in small or not small.isascii() else ()
    ):
        yield from _codes(text, opening.end())
    for match in _announced("licence").finditer(small):
        start, end = match.span("value")
        value = text[start:end]
        if value.isupper() and any(map(is_mixed, value.split("-"))) and not is_placeholder(value):
            yield start, end, "token"
    for match in _announced("signed").finditer(small):
        start, end = match.span("value")
        value = text[start:end]
        # In capitals it is the fingerprint of a key.
        if its.is_random(value) or (its.is_hex(value) and is_mixed(value) and not value.isupper()):
            yield start, end, "token"


def _logins(text: str, small: str) -> Iterator[SecretSpan]:
    for match in _announced("lettered").finditer(small):
        start = match.start("value")
        value = text[start : match.end("value")].rstrip(_CLOSING)
        if its.is_password_like(value) or its.is_drawn(value):
            yield start, start + len(value), "password"
    if not holds_any(small, secret_words().account_hints):
        return
    for match in _announced("login").finditer(small):
        start = match.start("value")
        value = text[start : match.end("value")].rstrip(_CLOSING)
        if not its.is_password_like(value) or not is_mixed(value) or its.is_file_name(value):
            continue
        is_strong = _SPECIAL.search(value[1:]) is not None
        if is_strong or match["mail"] or sum(map(str.isdigit, value)) >= 3:
            yield start, start + len(value), "password"


def _codes(text: str, position: int) -> Iterator[SecretSpan]:
    """Yield the spans of the recovery codes that follow `position`, on one line or on several lines."""
    for _ in range(_MOST_CODES):
        code = _CODE.match(text, position)
        if code is None:
            return
        position = code.end()
        if is_mixed(code[1]):
            yield *code.span(1), "password"
