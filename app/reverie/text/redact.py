"""The redactor: finds secrets in text that leaves the memory files, and in memories that are displayed.

Text leaves the memory files in requests, traces, logs and Activity; there secrets are replaced. In a
displayed memory they are only marked. A secret is recognised by its own format (`text.secret_shapes`,
`text.secret_table`), by the name in front of it (`text.secret_values`), or by the sentence, table or command
around it. Prose about secrets ("token budget: 12000", "password policy"), checksums, commits, UUIDs and
identifiers in code are left alone; in doubt the text is redacted, because a gap in a log costs less than a
leaked key. A secret is also found if it contains invisible characters or letters of another width, because a
text is examined in the form in which a reader or a program reads it.

Invariants: time is linear in the length of the text (no pattern can start over inside its own match; tests
use the worst inputs we know), found spans do not overlap, and redacting twice gives the same result as
redacting once. No possessive quantifiers (see `text.secret_shapes`). Pure; any thread.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from reverie.text import secret_values as its
from reverie.text.chance import is_mixed_value, mixed_values, values_of_access
from reverie.text.patterns import pattern_of
from reverie.text.secret_shapes import login_secrets, places_of, shaped_secrets
from reverie.text.secret_table import secret_table, secret_words
from reverie.text.secret_values import (
    SecretSpan,
    holds_any,
    is_drawn,
    is_placeholder,
    secret_lines,
    small_letters,
)
from reverie.values import Struct

_REACH = 160
_TOKEN_WORD = (
    "tokens?|(?:t?otp|2fa) seed|keys?|apikeys?|jwt|schlüssel|clés?|clef|chave|chiave|jeton|ключ[а-я]{0,2}"
    "|токен[а-я]{0,2}|密钥|密鑰|秘钥|令牌|金鑰|トークン|キー|秘密鍵|토큰|키"
)
_WORD = pattern_of(r"\S+")
_IS = frozenset(("is", "ist", "lautet", "est", "es", "é", "è", "это"))
_ACCOUNT = pattern_of(
    r"\b(?:users?|username|login|log in|account|smtp|ftp|admin|root|db|database|vpn|wifi|ssh|sudo)\b"
)
_WIFI_KEYS = frozenset(("key", "schlüssel", "clé", "clef", "chave", "chiave", "ключ", "密钥", "キー", "키"))
_WIFI = pattern_of(r"(?<![a-z])(?:wi-?fi|wlan|wpa\d?|ssid)(?![a-z])")
_SET = frozenset(["set", "changed", "reset", "rotated", "updated", "equal", "geändert", "gesetzt"])
_OPENING = "\"'`“”«»„‘’(*[<"
_CLOSING = "\"'`“”«»‘’)*]>,;:.!?|"
_SENTENCE_END = pattern_of(r"[.!?][\"'”)]?\Z")
_ASSIGNED = pattern_of(r"""[&;,"'`<>|\\]""")
_QUOTE = pattern_of(r"""["`<|\\]""")
_CJK_VALUE = pattern_of(r"[^\n!-~]{0,14}(?:[:=]|is)?[ ]{0,2}[^\n!-~]{0,3}[\"'`]{0,2}([!-~]{5,200})")
_IS_THE = pattern_of(
    r"(?:\A|[\s\"'`(])([^\s\"'`(]{5,80})[\"'`]?[ ](?:is|as|ist|est|es|é|è)[ ]"
    r"(?:(?:the|our|my|a|das|unser|le|la|el|o|a|il)[ ])?(?:[\w-]{1,20}[ ]){0,3}\Z"
)
_OPTION_NEXT = pattern_of(r"[ \t]{1,4}--[a-z]")
_LOGINS = (
    "credentials",
    "creds",
    "login",
    "zugangsdaten",
    "identifiants",
    "credenciais",
    "credenziali",
    "credenciales",
)
_ADMIN_PAIR = pattern_of(r"([A-Za-z0-9_.@+-]{2,64})[ ]?[/:|,][ ]?([^\s\"'`,;|]{4,100})")
_PHRASE = pattern_of(r"[ \t]{0,3}(?:is|:|=)[ \t]{0,3}[\"'`]?((?:[a-z]{3,8}[ ]){11,23}[a-z]{3,8})")
_QUOTED_PHRASE = pattern_of(
    r"""(?i:passphrase|pass phrase|password)[^"'`\n]{1,80}(?P<quote>["'`])"""
    r"(?P<phrase>[a-z]{3,12}(?: [a-z]{3,12}){2,11})(?P=quote)"
)
_INNER_SIGN = pattern_of(r"[!$%^&*+=_-]")
_ONE_NUMBER = pattern_of(r"[A-Za-z]*\d+[A-Za-z]*")
_LONG = pattern_of(r"[A-Za-z0-9!#$%&*+./:=?@^_~-]{8,1024}")
# A name and a sign in front of a value, without spaces: `pwd=...`, `ada:...`.
_NAME_BEFORE = pattern_of(r"[A-Za-z_-][A-Za-z0-9_.-]{0,60}[=:]{1,2}")
# A command at a prompt; its output is on the lines below.
_PROMPT = pattern_of(r"[ \t]{0,8}(?:[\w.@:~/-]{1,60})?[$%❯][ ]\S")
# The lines below a line that ends with the word for a password, or that heads a table.
_LINES_BELOW = pattern_of(r"(?:\r?\n[^\n]{0,160}(?=\n|\Z)){1,3}")
# Words that announce public values.
_OPEN = pattern_of(
    r"ssh-(?:rsa|ed25519|dss)|ecdsa-sha2|sha(?:1|256|384|512)|\bmd5\b|integrity|checksum|fingerprint|digest"
    r"|publishable|public key|(?:next|page|continuation|sync)[ _]?token|\bcommit\b|\betag\b"
)
_HASH_WORDS = pattern_of(
    r"sha-?(?:1|256|512)|md5|checksum|digest|commit|hash|revision|\bid\b|uuid|fingerprint"
)
_SPACE = pattern_of(r"\s")
# Prefixes of services' identifiers, and of the public halves of key pairs.
_NO_SECRET = pattern_of(
    r"(?:pk|msg|req|run|toolu|call|chatcmpl|resp|thread|asst|file|evt|cus|sub|price|prod|pi|ch|acct|user|org|proj|team"
    r"|batch|item|rs|ws|step|job|task|conv|gen|cmpl|ft|vs|dataset|session|sess|trace|span|usr|id)[_-]|gAAAAA|\d{4}-\d\d-\d\dT\d"
)
_ALL_KINDS = pattern_of(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=(?:\D*\d){2})[A-Za-z0-9]{6,64}\Z")
_NUMBERED_NAME = pattern_of(r"(?:[A-Z]{1,5}|[A-Z]?[a-z]+)*\d+[a-z]{0,2}|\d+[A-Za-z]+(?:\d[A-Za-z])?")
_NAMED_THERE = pattern_of(r"(?<!\w)(?!default|val|value|string|content)[a-z][\w-]{1,40}[\"']?[ ]?[:=][ ]")
# The value of an option belongs to that option.
_OPTION_BEFORE = pattern_of(r"(?<!\S)\[?--?[A-Za-z][A-Za-z-]{1,20}[ =][\"']?\Z")
_SEVERAL_NAMES = pattern_of(r"[A-Z]{2,6}(?:[+/][A-Z]{2,6})+\Z")
_ID_BEFORE = pattern_of(
    r"(?:\b|_)(?:ids?|identifiers?(?: like)?|user(?:name)?)[\"'*]{0,3}[ ]?[:=]?[ ]?[\"'`]?\Z"
)
_BLANK_REST = pattern_of(r"[ \t:*_\"'`=]{0,12}(?:\r?\n[ \t]*(?:```[a-z]{0,12})?[ \t]*){1,4}")
# The next variable of a file, after one that was left empty.
_NEXT_NAME = pattern_of(r"(?:export )?[A-Za-z_][A-Za-z0-9_]{1,60}=.")
_LINE_VALUE = pattern_of(r"(?:[-*>][ \t]+)?[\"'`]?([^\s\"'`|]{5,400})[\"'`]?[ \t\r]*(?=\n|\Z)")


@cache
def _secret_word() -> re.Pattern[str]:
    """Return the pattern that finds words such as "password" or "token" in lower-case text.

    It also finds a word at the end of a name, such as `db_password`.
    """
    return re.compile(
        r"(?:(?:(?<![a-zß-ÿа-яё0-9/%#.@$_:-])|(?<=[\"'`]--)|(?<=[a-z0-9_./-])(?=[^\x00-\x7fß-ÿ])"
        r"|(?<=/)(?=[^\W\d_]+ ))(?<!\$\()"
        r"(?:[a-z0-9]{1,20}[_-]){0,3}"
        rf"(?:(?P<password>pass|pwd?|{secret_words().passwords})|(?P<token>{_TOKEN_WORD}))\d{{0,2}}"
        r"(?=[\s:=.,;?!)\"'`*|]|\Z|[^\x00-\x7fß-ÿа-яё]|>[ ]|(?<=[^\x00-\x7fß-ÿа-яё])[!-~])(?!\.\w|\]\()"
        r"|(?<=[a-z0-9_.-])(?P<ending>password|passwd|passwort|passphrase|kennwort)s?(?![a-z_.(-]))"
    )


def prose_secrets(text: str, small: str, lines: list[tuple[int, int]]) -> Iterator[SecretSpan]:
    """Yield the spans of the secrets in sentences, lists and the like on `lines` (start and end of each).

    On lines with a word for a secret ("password") three rules apply. First: the word is followed by a verb
    or sign that announces a value ("the staging password is ...", "Passwort (Test): ...", "密码是 ...") and
    then by text that looks like a value. Second: the line has another word, near the word for a secret, that
    looks random. Third: the line names a service and contains a value in the format of that service's
    secrets (`SecretTable.nearby`).

    A sentence about secrets is left alone ("The password is required"); checksums, commits, UUIDs and
    identifiers in code are not values. The text after a word is examined up to the next such word and for at
    most `_REACH` characters, so time is linear in the text. `small`: the text in lower case, of equal
    length.
    """
    for start, end in lines:
        yield from _phrases(text, small, start, end)
        done = start
        words = list(_secret_word().finditer(small, start, end))
        is_password = any(
            _is_key_of_wifi(small, word, start) if word["token"] else not _passes(small, word, start)
            for word in words
        )
        for number, word in enumerate(words):
            limit = words[number + 1].start() if number + 1 < len(words) else end
            if word["ending"] is None:
                yield from plain(text, small, word, start, min(limit, word.end() + _REACH), end)
                yield from _before(text, word, start)
            window = max(done, word.start() - _REACH), min(end, word.end() + _REACH)
            if window[0] < window[1]:
                # Extend the window to the end of a word, so that no value is cut.
                space = _SPACE.search(text, window[1], min(end, window[1] + 1024))
                done = min(end, window[1] + 1024) if space is None else space.start()
                begin = _word_start(text, max(start, window[0] - 256), window[0])
                yield from _net(text, small, begin, done, is_password=is_password)
        yield from _joined(text, small, start, end)
        if _PROMPT.match(text, start, end) or (is_password and end - words[-1].end() < _REACH):
            below = _LINES_BELOW.match(text, end)
            if below is not None:
                yield from _net(text, small, end, below.end(), is_password=True, is_below=True)


def plain(
    text: str, small: str, word: re.Match[str], line: int, limit: int, line_end: int
) -> Iterator[SecretSpan]:
    """Yield the span of the value that follows a plain word such as `password`.

    The value is on the same line, or alone on the next one. `word`: the match of that word; `small`: the text
    in lower case, of equal length; `line`, `line_end`: the start and the end of its line; `limit`: the end of
    the text in which its value may be.
    """
    is_password = word["password"] is not None or _is_key_of_wifi(small, word, line)
    start = word.end()
    if _OPTION_NEXT.match(text, start):
        return  # an option follows, which has a value of its own
    if _passes(small, word, line):
        return
    if not is_password and its.is_open_key(text, word.start(), start, line):
        return
    joined = _CJK_VALUE.match(text, start, limit) if not word[0].isascii() else None
    if joined is not None:
        # A quote ends the value, because it ends a text within JSON.
        value = _QUOTE.split(joined[1], maxsplit=1)[0]
        if _is_value(value.rstrip(_CLOSING), is_password=is_password):
            begin = joined.start(1)
            yield _trimmed(text, begin, begin + len(value), is_password=is_password)
            return
    rest = _BLANK_REST.match(text, start) if limit >= line_end else None
    if rest is not None and rest.end() > line_end:
        below = _LINE_VALUE.match(text, rest.end())
        under = below[1].strip("*_:") if below is not None and not _NEXT_NAME.match(below[1]) else ""
        if below is not None and under and (_is_value(under, is_password=is_password) or its.is_uuid(under)):
            yield _trimmed(text, below.start(1), below.end(1), is_password=is_password)
        return
    if word[0].endswith(_LOGINS):
        pair = _ADMIN_PAIR.search(text, start, limit)
        while pair is not None:
            is_path = its.is_place(pair[0]) or text[pair.start() - 1 : pair.start()] == "/"
            if its.is_password_like(pair[2].rstrip(_CLOSING)) and not is_path:
                yield _trimmed(text, pair.start(2), pair.end(2), is_password=True)
                return
            # `Router: admin / ...`: the second of this pair may be the first of the next.
            named = pair[0].rpartition(pair[2])[1] and ":" in pair[0][: pair.start(2) - pair.start()]
            pair = _ADMIN_PAIR.search(text, pair.start(2), limit) if named else None
        return
    words, gives, previous = secret_words(), False, ""
    for number, match in enumerate(_WORD.finditer(text, start, limit)):
        if number > 13:
            return
        raw = match[0]
        if its.is_bracketed(raw.lstrip("\"'`*:=").rstrip("\"'`*.,;:")):
            return
        plain = small[match.start() : match.end()]
        bare = raw.lstrip(_OPENING)
        value = bare.rstrip(_CLOSING)
        begin = match.start() + len(raw) - len(bare)
        # The sign may be attached to the word: `password:`, `password="...`.
        if number == 0 and match.start() == start and raw[0] in ":=>":
            gives = True
            inner = raw.lstrip(":=>").lstrip(_OPENING)
            begin = match.end() - len(inner)
            value = _ASSIGNED.split(inner, maxsplit=1)[0].rstrip(_CLOSING)
        else:
            uncut, value = value, _QUOTE.split(value, maxsplit=1)[0]
            value = "" if value.endswith(("-", "_")) and uncut[len(value) :].startswith("<") else value
        quoted = raw[0] in "\"'`"
        in_brackets = number <= 1 and raw[0] == "(" and raw.rstrip(".,;:")[-1] == ")"
        if gives or in_brackets or number == 0 or (number == 1 and is_password):
            adjacent = not gives
            drawn = number == 0 and is_password and its.is_hex(value) and len(value) in (32, 64, 128)
            if value and (drawn or _is_value(value, is_password=is_password, adjacent=adjacent)):
                yield _trimmed(text, begin, begin + len(value), is_password=is_password)
                return
            if quoted and is_password and previous in _IS and is_lone_word(value):
                yield _trimmed(text, begin, begin + len(value), is_password=True)
                return
        if plain in words.gives or plain.endswith((":", "=")) or (plain == "to" and previous in _SET):
            gives = True
        elif gives and plain not in words.fillers:
            if plain not in ("the", "a"):
                return
        elif _SENTENCE_END.search(raw) and not gives and len(raw) > 2:
            return
        previous = plain


def _is_key_of_wifi(small: str, word: re.Match[str], line: int) -> bool:
    """Return whether `word` means the key of a wireless network, which people choose like a password.

    `small`: the text in lower case; `line`: the start of the word's line in `small`.
    """
    return word[0] in _WIFI_KEYS and _WIFI.search(small, max(line, word.start() - 80), word.end()) is not None


def _passes(small: str, word: re.Match[str], line: int) -> bool:
    """Return whether the match `word` is "pass" as a verb ("the tests pass"), not short for "password".

    `small`: the text in lower case; `line`: the start of the word's line in `small`.
    """
    before = max(line, word.start() - 80), word.start()
    return word[0] == "pass" and _ACCOUNT.search(small, *before) is None


def _phrases(text: str, small: str, start: int, end: int) -> Iterator[SecretSpan]:
    """Yield the spans of recovery phrases of wallets and of quoted passphrases between `start` and `end`.

    `small`: the text in lower case, of equal length.
    """
    for word in ("mnemonic", "seed phrase", "recovery phrase"):
        at = small.find(word, start, end)
        while at >= 0:
            phrase = _PHRASE.match(text, at + len(word))
            if phrase is not None:
                yield phrase.start(1), phrase.end(1), "password"
            at = small.find(word, at + len(word), end)
    for match in _QUOTED_PHRASE.finditer(text, start, end):
        if its.is_word_phrase(match["phrase"]):
            yield *match.span("phrase"), "password"


def is_lone_word(value: str) -> bool:
    """Return whether a quoted value is a single word that may be a password: letters only, at least six.

    False for placeholders, and for words such as "required" or "string", which only describe a value.
    """
    return (
        value.isalpha()
        and len(value) >= 6
        and its.NO_VALUE.fullmatch(value) is None
        and not is_placeholder(value)
    )


def _is_value(value: str, *, is_password: bool, adjacent: bool = False) -> bool:
    if (
        not value
        or is_placeholder(value)
        or its.is_place(value)
        or value[0] in "&?"
        or its.PUBLIC_KEY.match(value)
    ):
        return False
    if is_password:
        if len(value) >= 32 and its.is_hex(value):
            return not adjacent
        return its.is_password_like(value) and (not adjacent or its.is_mixed(value))
    value = value.partition("](")[0]  # the text of a Markdown link
    if its.is_file_name(value) and not its.is_random(value, 20):
        return False
    if its.is_hash_like(value):
        return len(value) >= 32 and its.is_mixed(value) and its.is_hex(value)
    return its.is_random(value)


def _trimmed(text: str, start: int, end: int, *, is_password: bool) -> SecretSpan:
    end = start + len(text[start:end].rstrip(_CLOSING))
    return start, end, "password" if is_password else "token"


def _before(text: str, word: re.Match[str], line: int) -> Iterator[SecretSpan]:
    """Yield the span of the value in front of `word`, as in `hunter2 is the staging password`.

    `word`: the match of a word for a secret; `line`: the start of its line.
    """
    is_password = word["password"] is not None
    begin = max(line, word.start() - 120)
    match = _IS_THE.search(text[begin : word.start()])
    if match is not None and _is_value(match[1], is_password=is_password) and its.is_mixed(match[1]):
        yield _trimmed(text, begin + match.start(1), begin + match.end(1), is_password=is_password)


def _joined(text: str, small: str, start: int, end: int) -> Iterator[SecretSpan]:
    """Yield the spans of secrets in file names and the like, such as `wifi-password-<secret>.md`.

    The value may also come first: `<secret>-is-the-pw.md`. Searches `text[start:end]`; `small`: the text in
    lower case, of equal length. Such a name is one word, and one of its pieces (between hyphens or the like)
    is a word for a secret. Neighbouring pieces that are neither words nor short numbers are the value, if at
    least one of them looks random, or all of them joined do.
    """
    for name in _SEGMENT.finditer(text, start, end):
        word = _joined_word().search(small, *name.span())
        if word is None or "://" in name[0] or "@" in name[0][name[0].rfind("/") + 1 :]:
            continue
        is_hashed = _HASH_WORDS.search(small, *name.span()) is not None
        run: list[tuple[int, int]] = []
        for piece in (*_PIECE_OF_NAME.finditer(text, *name.span()), None):
            if piece is not None and not (
                (piece.start() < word.end() and word.start() < piece.end())
                or _WORD_OF_NAME.fullmatch(piece[0])
            ):
                run.append(piece.span())
                continue
            values = [text[begin:finish] for begin, finish in run]
            if run and len(run) > 1:
                values.append(text[run[0][0] : run[-1][1]])
            by_chance = its.is_random if word["token"] else partial(is_drawn, least=_SHORTEST_PART)
            found = any(map(by_chance, values))
            found = found or any(
                len(value) >= 32 and its.is_hex(value) and its.is_mixed(value) and not is_hashed
                for value in values
            )
            if found:
                yield run[0][0], run[-1][1], "password" if word["token"] is None else "token"
            run = []


_SHORTEST_REST = 4
"""Shorter text after a sign (such as `-`) is the end of the value that contains the sign, not a value."""
_SHORTEST_PART = 10
"""Shorter parts of a name look random too often."""
_SEGMENT = pattern_of(r"""[^\s\\"'`|<>()\[\]{},;:&?]{12,400}""")
_PIECE_OF_NAME = pattern_of(r"[!-,0-<>-^`-~]+|[^\x00-\x7f]+")
_WORD_OF_NAME = pattern_of(r"[^\W\d_]{1,3}|[A-Z]{2,9}|[A-Z]?[a-zß-ÿ]{4,9}\d{0,2}|[^\x00-\x7f]+|\d{1,6}|v\d+")


@cache
def _joined_word() -> re.Pattern[str]:
    # A name has `_` or `-` in place of the spaces of a sentence.
    words = secret_words().passwords.replace(" ", "[ _-]")
    return re.compile(
        rf"(?:(?<=[a-z])(?:password|passwort|passwd|passphrase)|(?<![a-zß-ÿ])(?:pass|pwd?|{words}|(?P<token>{_TOKEN_WORD})))"
        r"(?![a-zß-ÿ])"
    )


def _net(
    text: str, small: str, start: int, end: int, *, is_password: bool, is_below: bool = False
) -> Iterator[SecretSpan]:
    """Yield the spans of values that look random or like a named service's keys, near a word for a secret.

    Searches the text from `start` to `end`; `small`: the text in lower case, of equal length. `is_password`:
    the word means a password, so the value may be short. `is_below`: the word is on a line above, so a value
    that has a name of its own (`uses: ...`) does not belong to the word.
    """
    near = small[max(small.rfind("\n", 0, start) + 1, start - _REACH) : end]
    if _OPEN.search(near) is None:
        for match in _LONG.finditer(text, start, end):
            at, value = match.start(), match[0].rstrip(".:!?&*")
            if value[:1] == "/" or its.is_place(value):
                if ":" in value or "." in value:
                    continue
                at, value = at + value.rfind("/") + 1, value.rpartition("/")[2]  # a name of a file
            named = _NAME_BEFORE.match(value)
            if named is not None and (
                _is_one_case(named[0])
                or (its.drawn_bits(named[0]) < 5 and len(value) - named.end() >= _SHORTEST_REST)
            ):
                at, value = at + named.end(), value[named.end() :]
            if (
                not value
                or _NO_SECRET.match(value)
                or "/" in value.strip("/")[:3]
                or its.is_place(value.removeprefix("/"))
                or _SEVERAL_NAMES.match(value)
                or _OPTION_BEFORE.search(text, max(start, at - 24), at)
                or its.is_hash_like(value.rpartition("@")[2])
                or is_placeholder(value)
            ):
                continue
            if text[at - 1 : at] in ("$", "@", "#") or text[match.end() : match.end() + 1] in ("(", "[", "{"):
                continue
            if _ID_BEFORE.search(small, max(start, at - 20), at):
                continue
            if is_below and _NAMED_THERE.search(small, max(start, text.rfind("\n", 0, at) + 1), at):
                continue
            if its.is_file_name(value):
                value = "" if "@" in value else value.rpartition(".")[0]
            if _is_drawn_there(value, is_password=is_password) or (
                is_password and its.is_strong(match[0][at - match.start() :].rstrip(".:?&"))
            ):
                yield at, at + len(value), "password" if is_password else "token"
    services = set(_services().findall(near))
    for row in secret_table().nearby if services else ():
        if not services.isdisjoint(row.names):
            if "A-Z" not in row.pattern and _HASH_WORDS.search(near):
                continue
            for match in _alone(row.pattern).finditer(text, start, end):
                looks_drawn = its.is_hash_like(match[0]) or its.is_random(match[0])
                if looks_drawn and not match[0].isalpha() and not its.is_place(match[0]):
                    yield match.start(), match.end(), "token"


def _is_one_case(name: str) -> bool:
    return name.isupper() or name.islower()


def _is_drawn_there(value: str, *, is_password: bool) -> bool:
    if "/" in value or not is_password:
        return its.is_random(value, 20) and its.drawn_bits(value) >= 4.5 and not _is_path(value)
    if not value or value[0] in "#&?%@+$" or ("." in value and its.is_identifier(value)):
        return False
    parts = re.split(r"[._*-]", value)
    if len(parts) > 1 and any(its.is_mixed(part) and is_drawn(part, bits=5.1) for part in parts):
        return True
    if len(value) >= 12 and any(map(_is_all_kinds, parts)):
        return True
    if len(value) >= 12 and len(parts) > 1 and its.drawn_bits(value) >= 5.4:
        return True
    without_signs = _INNER_SIGN.sub("", value)
    if len(set(_INNER_SIGN.findall(value))) > 1 and len(without_signs) >= _SHORTEST_PART:
        # No name has several kinds of signs.
        value = without_signs
    elif len(parts) > 1 and not any(map(its.is_mixed, parts)):
        # Of several names with signs between them, one has to look random on its own.
        value = max(parts, key=len)
    if its.is_mixed(value):
        # Many names contain one number.
        least = 4.8 if _ONE_NUMBER.fullmatch(value) else 4.5
        return is_drawn(value, bits=least if len(value) >= 12 else least + 0.6)
    return is_drawn(value, bits=5.0 if len(value) >= 12 else 5.6)


def _is_all_kinds(part: str) -> bool:
    """Return whether a part of a name has digits and letters of both cases in an order unusual for names."""
    return _ALL_KINDS.match(part) is not None and _NUMBERED_NAME.fullmatch(part) is None


@cache
def _services() -> re.Pattern[str]:
    names = sorted({name for row in secret_table().nearby for name in row.names}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, names)))


def _word_start(text: str, least: int, place: int) -> int:
    """Return the start of the word that contains position `place`.

    The search goes back to position `least` at most. If there is no space, tab or line break between the two,
    `place` is returned.
    """
    spaces = [text.rfind(space, least, place) for space in " \t\n"]
    return max(spaces) + 1 if max(spaces) >= 0 else place


def _is_path(value: str) -> bool:
    """Return whether a value is several names with slashes or dots between them: a path, host or package."""
    parts = re.split(r"[/.]", value)
    return len(parts) >= 3 and max(map(len, parts)) < 20


@cache
def _alone(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9_/+.=-])(?:{pattern})(?![A-Za-z0-9_/+=-])")


_RULE = pattern_of(r"[ \t|:-]{3,}\Z")
# If line ends are written as escapes, the frame of a table contains a letter or two.
_LEAST_OF_CELL = 4
_LONE_KEYS = pattern_of("keys?|schlüssel|clés?|claves?|chave|chiave|ключ|密钥|キー|키")


def table_secrets(text: str, lines: list[tuple[int, int]]) -> Iterator[SecretSpan]:
    """Yield the spans of secrets in Markdown tables: beside or below a cell with a name such as "password".

    `lines`: the (start, end) positions of the lines to search.
    """
    for start, end in lines:
        row = text[start:end]
        if row.count("|") < 2 or len(row) > 4000:
            continue
        cells = list(_cells(text, start, end))
        kinds = [_cell_kind(text[begin:finish]) for begin, finish in cells]
        for (begin, finish), kind in zip(cells[1:], kinds, strict=False):
            if kind is not None:
                yield from _cell_value(text, begin, finish, kind)
        rule_end = text.find("\n", end + 1)
        if any(kinds) and _RULE.match(text[end + 1 : rule_end if rule_end > 0 else end + 1]):
            yield from _column_values(text, rule_end + 1, kinds)


def _column_values(text: str, start: int, kinds: list[str | None]) -> Iterator[SecretSpan]:
    for _row in range(200):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if "|" not in text[start:end] or end - start > 4000:
            return
        for (begin, finish), kind in zip(_cells(text, start, end), kinds, strict=False):
            if kind is not None:
                yield from _cell_value(text, begin, finish, kind)
        start = end + 1


def _cells(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    position = start
    if text[start:end].lstrip().startswith("|"):
        position = text.index("|", start, end) + 1
    while position < end:
        border = text.find("|", position, end)
        border = end if border < 0 else border
        yield position, border
        position = border + 1


def _cell_kind(cell: str) -> str | None:
    name = cell.strip(" \t`*_:\"'")
    if not name or name.isspace() or len(name) > 60 or name.startswith("[redacted:"):
        return None
    kind = its.kind_of_name(name.split()[-1]) if not name.isascii() else None
    kind = kind or its.kind_of_words(
        [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
    )
    if kind is None and _LONE_KEYS.fullmatch(name.lower()):
        return "key"
    return None if kind in ("mention", "gpg-key") else kind


def _cell_value(text: str, start: int, end: int, kind: str) -> Iterator[SecretSpan]:
    cell = text[start:end]
    value = cell.strip(" \t`*\"'")
    if sum(map(str.isalnum, value)) < _LEAST_OF_CELL or any(map(str.isspace, value)):
        return
    if kind in ("password", "pass"):
        secret = its.is_password_like(value)
    else:
        secret = (
            _is_value(value, is_password=False)
            or (kind == "token" and its.is_uuid(value))
            or (kind == "token" and len(value) >= 12 and its.is_password_like(value))
        )
    if secret:
        at = start + cell.index(value)
        yield at, at + len(value), "password" if kind in ("password", "pass") else "token"


_TAG = pattern_of(r"<([A-Za-z][A-Za-z0-9_.:-]{1,60})(?:[ \t][^<>\n]{0,200})?>([^<>\s]{4,400})</")
_CELLS = pattern_of(
    r"<t[hd][^<>\n]{0,200}>([^<>\n]{2,60})</t[hd]>\s{0,40}<t[hd][^<>\n]{0,200}>([^<>\s]{4,400})</t[hd]>"
)
_PLIST = pattern_of(r"<key>([A-Za-z0-9_. -]{2,60})</key>\s{0,40}<string>([^<>\s]{4,400})</string>")
_ATTRIBUTE = pattern_of(
    r"""(?:name|key|id)=["']([A-Za-z0-9_.-]{2,60})["'][ \t]{1,4}"""
    r"""(?:value|content)=["']([^"'\s<>]{4,400})["']"""
)
_NAMED_ELEMENT = pattern_of(
    r"""(?:name|key|id)=["']([A-Za-z0-9_.-]{2,60})["'][^<>\n]{0,100}>([^<>\s]{4,400})</"""
)


def tag_secrets(text: str) -> Iterator[SecretSpan]:
    """Yield the spans of secrets in XML and HTML: `<password>...</password>`, `<th>Password</th><td>...`."""
    for pattern in (_TAG, _CELLS, _PLIST, _ATTRIBUTE, _NAMED_ELEMENT):
        for match in pattern.finditer(text):
            kind = (
                _cell_kind(match[1]) if pattern is _CELLS else its.kind_of_name(match[1].rpartition(":")[2])
            )
            value = match[2]
            if kind in (None, "gpg-key") or is_placeholder(value) or its.is_place(value):
                continue
            if value.lower() == match[1].lower():
                continue
            if kind in ("password", "pass"):
                secret = its.is_password_like(value) or (
                    kind == "password" and value.isalpha() and pattern is _TAG and _is_lone(value)
                )
            else:
                secret = (
                    its.is_mixed(value) and len(value) >= 8 and not its.is_identifier(value)
                ) or its.is_random(value)
            if secret:
                yield match.start(2), match.end(2), "password" if kind in ("password", "pass") else "token"


def _is_lone(value: str) -> bool:
    return len(value) >= 6 and value.islower() and value not in ("string", "required", "optional")


_USER = pattern_of(
    r"""(?<![\w-])(?:-u|--user|--proxy-user|-U|-a|--auth)(?:[ =]|(?=["']))["']?"""
    r"""([^\s:"'%]{1,64})[:%](?!//)([^\s"'`]{3,256})"""
)
_PIPED = pattern_of(
    r"""(?:echo|printf)[ ](?:-n[ ])?["']?([^\s"'|]{4,256})["']?[ ]?\|[^\n]{0,100}?"""
    r"(?:--password-stdin|sudo -S|--stdin|--with-token|passwd)"
)
_HERE = pattern_of(
    r"(?:sudo -S|--password-stdin|--stdin|passwd|--with-token|secret put)[^\n<]{0,100}"
    r"""<<<[ ]?["']?([^\s"']{4,256})"""
)
# In any program, `-p` after the name of a user gives that user's password.
_USER_AND_P = pattern_of(
    r"(?<!\S)(?:-u|-U|--user(?:name)?|--admin-user)[ =][^\s|;&]{1,64}[ ]"
    r"(?:-[\w-]{1,30}[ =][^\s|;&-]\S{0,60}[ ]){0,3}"
    r"""(?:-p|--admin-password)[ =]["']?([^\s"'`|;&-][^\s"'`]{3,200})"""
)
# The values of other options of one letter do not look random.
_LETTER_OPTION = pattern_of(r"""(?<!\S)-[A-Za-z][ ]["']?([A-Za-z0-9!^*+=_-]{12,100})(?=["']?(?:\s|\Z))""")
_AT_HOST = pattern_of(r"(?<![^\s\"'`(])[\w.-]{2,32}:([^\s:@/\"'`]{10,100})@[\w.-]{2,100}(?![\w@/])")
_CLIENTS = ("curl", "wget", "http", "smbclient", "rpcclient", "xh ")


@cache
def _option(tool: str, option: str) -> re.Pattern[str]:
    return re.compile(rf"""(?<![\w-]){tool}[a-z]{{0,8}}(?![\w-])[^\n|;&]{{0,200}}?[ \t]{option}""")


def command_secrets(text: str) -> Iterator[SecretSpan]:
    """Yield the spans of passwords passed to programs on their command line."""
    for tool, option in secret_words().options.items():
        if tool not in text:
            continue
        for place in places_of(text, tool):
            match = _option(tool, option).match(text, place)
            if match is None:
                continue
            value = match[1].rstrip("\"'`)]>,;:.|")
            if len(value) < 3 or is_placeholder(value) or its.is_place(value) or value.startswith("--"):
                continue
            if its.is_bracketed(value):
                continue
            if tool == "sshpass" or not value.isalpha() or is_drawn(value):
                yield match.start(1), match.start(1) + len(value), "password"
    for match in _USER_AND_P.finditer(text) if " -p" in text else ():
        value = match[1].rstrip("\"'`)]>,;:.|")
        if its.is_password_like(value) and not value.isdigit():
            yield match.start(1), match.start(1) + len(value), "password"
    for match in _LETTER_OPTION.finditer(text) if " -" in text else ():
        value = match[1]
        if is_drawn(value, 12, 4.9) and not its.is_file_name(value) and not its.is_place(value):
            yield match.start(1), match.end(1), "password"
    for match in _AT_HOST.finditer(text) if "@" in text else ():
        if its.is_password_like(match[1]) and is_drawn(match[1], 10):
            yield match.start(1), match.end(1), "url-password"
    if holds_any(text, _CLIENTS):
        for match in _USER.finditer(text):
            line = text[max(text.rfind("\n", 0, match.start()) + 1, match.start() - 400) : match.start()]
            if any(client in line for client in _CLIENTS) and not is_placeholder(match[2]):
                yield match.start(2), match.end(2), "password"
    for match in _HERE.finditer(text) if "<<<" in text else ():
        if not is_placeholder(match[1]):
            yield match.start(1), match.end(1), "password"
    for start in ("echo", "printf") if "|" in text else ():
        for place in places_of(text, start):
            match = _PIPED.match(text, place)
            if match is not None and not is_placeholder(match[1]) and not its.is_place(match[1]):
                yield match.start(1), match.end(1), "password"


class Secret(Struct, frozen=True):
    """The span `text[start:end]` of a secret.

    `kind` is one of `private-key`, `provider-key`, `jwt`, `auth-header`, `url-password`, `password`, `token`.
    """

    start: int
    end: int
    kind: str


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Return the secrets in `text`, in order and without overlaps."""
    return _found(text, _spans)


def possible_secrets(text: str) -> tuple[Secret, ...]:
    """Return the secrets in `text` and the possible ones, such as words and numbers beside "login".

    Use this for text that is sent to a model: a harmless value that is replaced there costs little, because
    it is restored in the answer. The result is in order and without overlaps.
    """
    return _found(text, _possible_spans)


def _found(text: str, spans_of: Callable[[str], Iterable[SecretSpan]]) -> tuple[Secret, ...]:
    if len(text) < _LEAST_ALONE and text.isalnum() and text.isascii():
        return ()
    shown, places = _as_read(text)
    spans = [*spans_of(shown), *_in_encodings(shown)]
    if _ESCAPED.search(shown) is not None:
        # Both with and without decoding: an apparent tab may be two characters of a password.
        plain, at = _unescaped(shown)
        escapes = _inside_escapes(shown)
        spans = [(escapes.get(start, start), end, kind) for start, end, kind in spans]
        spans += [(at[start], at[end - 1] + 1, kind) for start, end, kind in spans_of(plain) if start < end]
    found = tuple(_united(spans))
    if places is None:
        return found
    return tuple(Secret(places[secret.start], places[secret.end - 1] + 1, secret.kind) for secret in found)


_ENCODED = pattern_of(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{24,}={0,2}")


def _in_encodings(text: str) -> Iterator[SecretSpan]:
    """Yield the spans of Base64 or hexadecimal digits that encode a text with a secret."""
    for run in _ENCODED.finditer(text):
        plain = decoded_text(run[0])
        if plain and (kinds := [kind for start, end, kind in _spans(plain) if start < end]):
            yield run.start(), run.end(), min(kinds, key=_RANK.index)


def decoded_text(value: str) -> str:
    """Return the text that a value encodes in Base64 or hexadecimal digits; empty if it encodes none."""
    try:
        if its.is_hex(value):
            data = bytes.fromhex(value)
        else:
            body = value.rstrip("=")
            data = base64.b64decode(
                body + "=" * (-len(body) % 4), b"-_" if "-" in body or "_" in body else None
            )
        plain = data.decode()
    except ValueError:
        return ""
    return plain if plain.translate(_LINE_ENDS).isprintable() else ""


_LINE_ENDS = dict.fromkeys(map(ord, "\n\r\t"), " ")
_LEAST_ALONE = 20
"""Minimum length of a text of only letters and digits to be examined: shorter keys have other characters as
well."""
_MOST_PASSES = 4
"""Maximum passes of `redact`: once a secret is replaced, the text beside it may look like a secret too."""


def redact(text: str) -> str:
    """Return `text` with every secret replaced by `[redacted:<kind>]`."""
    for _ in range(_MOST_PASSES):
        secrets = find_secrets(text)
        if not secrets:
            break
        pieces = []
        position = 0
        for secret in secrets:
            pieces += [text[position : secret.start], f"[redacted:{secret.kind}]"]
            position = secret.end
        text = "".join([*pieces, text[position:]])
    return text


def redacted(value: Any) -> Any:
    """Return a JSON value with every text in it redacted, including keys."""
    return in_texts(value, redact)


def in_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with `change` applied to every text in it, including keys."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(str(name)): in_texts(item, change) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [in_texts(item, change) for item in value]
    return value


def _spans(text: str) -> Iterable[SecretSpan]:
    small = small_letters(text)
    yield from shaped_secrets(text, small)
    lines = secret_lines(text, small)
    if lines:
        yield from its.named_secrets(text, lines)
        yield from its.paired_secrets(text, small)
        yield from prose_secrets(text, small, lines)
        if "|" in text:
            yield from table_secrets(text, lines)
        if "</" in text or "/>" in text:
            yield from tag_secrets(text)
    yield from command_secrets(text)
    yield from login_secrets(text, small)


def _possible_spans(text: str) -> Iterator[SecretSpan]:
    yield from _spans(text)
    yield from mixed_values(text)
    yield from values_of_access(text, small_letters(text))


def _signs(*ranges: tuple[int, int]) -> frozenset[str]:
    return frozenset(chr(code) for first, last in ranges for code in range(first, last + 1))


# Characters without a width: soft hyphens, joiners, marks of direction, selectors of variants, tags.
_INVISIBLE = _signs(
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xE0000, 0xE0FFF),
)  # fmt: skip
# Full-width letters and signs, and others that are read as plain ones.
_READ_AS = {
    **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    **dict.fromkeys("\u00a0\u2002\u2003\u2009\u202f\u3000", " "),
    **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d\u300e\u300f", '"'),
    **dict.fromkeys("\u2018\u2019\u201a", "'"),
    **dict.fromkeys("\u2010\u2011\ufe63", "-"),
    # The frames that programs draw around tables.
    **{**dict.fromkeys("│┃║├┼┤┝┿┥┠╂┨╟╫╢╠╬╣", "|"), **dict.fromkeys("─━═", "-")},
    **{"\u0130": "I", "\u0131": "i", "\u017f": "s", "\u212a": "K"},
}


def _as_read(text: str) -> tuple[str, list[int] | None]:
    """Return the text as a reader sees it, and the original index of each of its characters.

    Letters in unusual forms become plain ones; invisible characters and Markdown's backslashes are removed.
    If nothing is removed, the indexes are the same, and None is returned instead of them.
    """
    gaps: list[str] = []
    if not text.isascii():
        present = set(text)
        for char in present & _READ_AS.keys():
            text = text.replace(char, _READ_AS[char])
        gaps = [re.escape(char) for char in present & _INVISIBLE]
    # Markdown escapes its own signs with a backslash.
    gaps += [r"\\(?=[_~])"] if "\\_" in text or "\\~" in text else []
    if not gaps:
        return text, None
    pieces: list[str] = []
    places: list[int] = []
    position = 0
    for gap in re.finditer("|".join(gaps), text):
        pieces.append(text[position : gap.start()])
        places += range(position, gap.start())
        position = gap.end()
    pieces.append(text[position:])
    places += range(position, len(text))
    return "".join(pieces), places


# Escaped characters of JSON, source code and addresses, and colour codes of terminals. Undecoded, a key right
# after such an escape would not begin a word.
_ESCAPED = pattern_of(
    r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033|\\e)\[[0-9;]{0,20}[A-Za-z]"
    r"|\\(?:[nrtfbv/]|[0-7]{1,3}|x[0-9A-Fa-f]{2}|u00[0-9A-Fa-f]{2}|U000000[0-9A-Fa-f]{2})"
    r"|%[0-7][0-9A-Fa-f]|=3D"
)
_NAMED_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "f": " ", "b": " ", "v": " ", "/": "/"}


def _unescaped(text: str) -> tuple[str, list[int]]:
    """Return the text with its escapes decoded, and the original index of each character."""
    pieces: list[str] = []
    places: list[int] = []
    position = 0
    for escape in _ESCAPED.finditer(text):
        pieces += [text[position : escape.start()], _character(escape[0])]
        places += [*range(position, escape.start()), escape.start()]
        position = escape.end()
    pieces.append(text[position:])
    places += range(position, len(text))
    return "".join(pieces), places


def _inside_escapes(text: str) -> dict[int, int]:
    """Return position -> end of the escape sequence, for each position inside an escape sequence.

    A span that begins at such a position is moved to that end, so that replacing it does not leave half an
    escape sequence behind.
    """
    return {
        place: escape.end()
        for escape in _ESCAPED.finditer(text)
        for place in range(escape.start() + 1, escape.end())
    }


def _character(escape: str) -> str:
    if escape[0] in "%=":
        return chr(int(escape[1:], 16))
    if escape[1] in "xuU" and "[" not in escape:
        return chr(int(escape[2:], 16))
    if escape[1].isdigit() and "[" not in escape:
        return chr(int(escape[1:], 8) & 0x7F)
    return " " if "[" in escape else _NAMED_ESCAPES[escape[1]]


def _united(spans: Iterable[SecretSpan]) -> list[Secret]:
    """Return the spans in order, overlapping ones merged into one with the most specific kind (`_RANK`)."""
    found: list[Secret] = []
    for start, end, kind in sorted(spans, key=lambda span: span[0]):
        if end <= start:
            continue
        if found and start < found[-1].end:
            last = found[-1]
            found[-1] = Secret(last.start, max(end, last.end), min(last.kind, kind, key=_RANK.index))
        else:
            found.append(Secret(start, end, kind))
    return found


_RANK = ["private-key", "provider-key", "jwt", "auth-header", "url-password", "password", "token"]


_NAME_PART = pattern_of(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")
_SIGNS = "[](){}<>*`'\".,;:!?"
# Numbers appended to a word to satisfy a rule for passwords, and sizes of keys.
_COUNTED = pattern_of(
    r"0?[0-9]|0?1?2?3?4?5?6?7?8?9?0?|00+|16|24|32|48|64|128|256|384|512|1024|2048|4096|20[12]\d"
)
_KEY_FRAME = pattern_of(r"-----[^-\n]{0,60}-----")
# An address up to its query, because names of pages sometimes look random.
_IN_ADDRESS = pattern_of(r"https?://[^\s?#=]*\Z")


# The end of the text in front of a value: a name, an option, or a sentence that announces it.
_GIVEN = pattern_of(
    r"(?i:[:=>|,\[]|\b(?:is|ist|est|es|è|é|er|on|lautet|to|with|type|password|secret|pass|pw)|[^\x00-\x7f])"
    r"[\s\"'`*(\[\\«“„:]*\Z|[-/]\w[\"' =]*\Z|\w ?[/,] ?[\"'`]*\Z|<<<.*\Z|\becho .*\Z"
    r"|(?i:key[-_]|pass\w* |_pw )\Z|--[\w-]+[ =][\"']?\Z"
)
# Calls, members, conditions, patterns and escapes; names of constants, standards, issues, versions and ports.
_OF_CODE = pattern_of(
    r"[A-Za-z_][\w.]*(?:[(\[{]|->|::|\?=|=[\[\"'])|\$[a-z_]\w*-?|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\Z|[A-Z]+\d{1,3}\Z"
    r"|[A-Z]{1,6}\d{0,4}(?:-[A-Z]{1,8})+\Z|([\w.-]+)/\1\Z|b64enc"
    r"|.*(?:=>|->|::|\(\)|\)\.|\.\w+\(|0-9|a-[fz]|\|\w+:\d|(?:%[0-9A-Fa-f]{2}){2}|%25|\\u\d|:!|,.*\d\.\d)"
    r"|[\w./-]+:\d{1,5}(?:-\d+)?\Z|[a-z]+\d?[a-z]*(?:[_-][a-z]+)+\Z|:[a-z]\w*\Z"
)
# Counted and repeated characters, and the word by which makers of examples mark them.
_MADE_UP = pattern_of(r"(?i)0123456|1234567|abcdef(?![0-9])|9876543|example|([^A])\1{4}|[fz]0-9")
# In a signature or a generated identifier, letters do not stay in one case for long.
_WORD_INSIDE = pattern_of(r"[a-z]{5}|[A-Z]{5}")
# A value that is already encrypted, as sops writes it.
_ENCRYPTED = pattern_of(r"ENC\[[A-Z0-9_]+,[^\]\n]*\Z")
# Signs and digits that people write for letters: `P@ssw0rd` is no better than `password`.
_FOR_LETTERS = str.maketrans("013457@$", "oleastas")
_COUNTED_END = pattern_of(r"[A-Za-z]{2}[_@.-]?123(?:4(?:5(?:67?8?9?0?)?)?)?\W*\Z")
_HASHED = pattern_of(r"\$(?:\d|2[abxy]|y|argon2\w*|pbkdf2[\w-]*|scrypt)\$|\{(?:SSHA|CRYPT|SHA|BLF)")
# Keys and recovery codes that are printed in groups.
_IN_GROUPS = pattern_of(
    r"(?=[^-]*\d)[0-9a-f]{4,8}(?:-[0-9a-f]{4,8}){1,12}\Z|(?=.*\d)[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){2,12}\Z"
    r"|\d{4,6}(?:[ -]\d{4,6}){2,8}\Z|[a-z0-9]{4}(?: [a-z0-9]{4}){3,11}\Z"
)
_CHOSEN = pattern_of(r"(?=.*[A-Za-z]{3})(?=(?:\D*\d){2})[A-Za-z0-9][\w.-]*[!@#$%&*+?^~][\w!@#$%&*+?^~.-]*\Z")
_PUBLIC_NAME = pattern_of(r"(?i)(?:public|site|vapid)[_ -]?key[\"'`]*\s*[:=]\W*\Z|fingerprint.*\Z")
_PUBLIC_KEY = pattern_of(
    r"-----BEGIN (?![^-]*PRIVATE)|MIGfMA0GCSqGSIb3DQEBAQUAA4|MII[A-Za-z]{2,3}jANBgkqhkiG9w0BAQEFAAOC"
)
_NEXT_PARAMETER = pattern_of(r"&\w+=")


def marked_secrets(text: str) -> tuple[Secret, ...]:
    """Return the secrets in a memory that a person should check.

    They are fewer than those that `redact` replaces, because each one costs a person's time: the value must
    have a known format, look random, or be a word with digits in the place of a password. A value made only
    of words or names is not marked, nor are placeholders, default passwords, code, examples, and values
    shortened by their author.
    """
    return tuple(
        secret
        for secret in find_secrets(text)
        if not _stands_for_one(text, secret) and _is_certain(text, secret)
    )


def _stands_for_one(text: str, secret: Secret) -> bool:
    whole = text[secret.start : secret.end]
    if secret.kind == "private-key":
        # The text of a key has digits and letters of both cases.
        return re.search(r"\d", body := _KEY_FRAME.sub("", whole)) is None and body.lower() == body
    value = whole.strip(_SIGNS)
    if text[secret.end : secret.end + 4].lstrip("\"'`").startswith(("..", "…", "xxx", "***")):
        return True
    if describes_itself(value) or describes_itself(decoded_text(value)):
        return True
    if not its.is_random(value) and describes_itself(value.lower().translate(_FOR_LETTERS)):
        return True
    if _ENCRYPTED.search(text, max(0, secret.start - 2_000), min(secret.end, secret.start + 20)):
        return True
    return secret.kind == "token" and bool(_IN_ADDRESS.search(text, max(0, secret.start - 300), secret.start))


def _is_certain(text: str, secret: Secret) -> bool:
    """Return whether the value of `secret` is almost certainly a secret.

    This is so if it has a known format, looks random, or looks like a password that a person made of a word
    and digits. `text`: the text that contains the secret.
    """
    whole, kind = text[secret.start : secret.end].lstrip("="), secret.kind
    plain = decoded_text(whole) or decoded_text(whole.rpartition("_")[2]) if len(whole) >= 12 else ""
    if _PUBLIC_KEY.match(plain or whole):
        return False
    if kind == "private-key":
        return True
    if kind == "jwt":
        return _MADE_UP.search(decoded_text(whole.split(".")[1])) is None
    value = plain.rpartition(":")[2] if plain and not its.is_hex(plain) else whole
    value = value.strip(_SIGNS).rstrip("=").removeprefix("base64:")
    value = _NEXT_PARAMETER.split(re.sub(r"[^!-~ ]+", "", value))[0]
    is_public = _PUBLIC_NAME.search(text, max(0, secret.start - 30), secret.start) is not None
    # The name and the number of an account in front of a provider's key are no secret.
    if is_public or _MADE_UP.search(value[-16:] if kind == "provider-key" else f"{plain} {value}"):
        return False
    if kind == "provider-key" or _HASHED.match(value) or _IN_GROUPS.match(value):
        return True
    is_given = kind in ("url-password", "auth-header") or (
        _GIVEN.search(text, max(0, secret.start - 20), secret.start) is not None
    )
    if value.isdigit():
        return len(value) >= 6 or (len(value) >= 4 and kind == "password" and is_given)
    if its.is_hex(value):
        # Forty digits in capitals are a fingerprint.
        is_long = len(value) >= (20 if kind == "password" else 32)
        return is_given and is_long and its.is_mixed(value) and not (value.isupper() and len(value) == 40)
    if its.is_uuid(value) or " " in value:
        return is_given and value.count(" ") in (0, *range(11, 24))  # or the phrase of a wallet
    return _is_by_chance(value, kind, is_given=is_given)


def _is_by_chance(value: str, kind: str, *, is_given: bool) -> bool:
    """Return whether a value looks random, or like a password that a person made of a word and digits.

    `kind`: the kind of secret, such as "password". `is_given`: whether the text before the value announces a
    secret.
    """
    digits = sum(map(str.isdigit, value))
    # Signs are as frequent in code, so only letters and digits are measured.
    bits = its.drawn_bits(re.sub(r"[^A-Za-z0-9]", "", value))
    if _OF_CODE.match(value):
        return False
    if not digits:
        return len(value) >= 12 and bits >= 5.2 and _WORD_INSIDE.search(value) is None
    if bits >= 5 and len(value) >= 8 and len(set(value)) >= 7:
        return True
    if _COUNTED_END.search(value):
        return False
    is_likely = bits >= (4.4 if digits >= 2 else 4.6) or (is_given and digits >= 2)
    if is_likely and is_mixed_value(value, is_near=True):
        return True
    is_chosen = digits >= 2 and (is_given or _CHOSEN.match(value) is not None)
    return is_chosen and kind in ("password", "url-password") and its.is_password_like(value)


def describes_itself(value: str) -> bool:
    """Return whether a value is an obvious placeholder, not a secret, such as `your-password-123`.

    A placeholder consists of words for a missing secret (`SecretWords.self_naming`) and of obvious numbers,
    or it repeats or counts (`xxxx`, `1234567890`).
    """
    words = secret_words()
    parts = [part.lower() for part in _NAME_PART.findall(value)]
    if not parts or its.is_random(value):
        return False
    letters = [part for part in parts if not part.isdigit()]
    numbers = [part for part in parts if part.isdigit()]
    if any(len(part) >= 3 and len(set(part)) == 1 for part in letters):
        return True
    if not letters:
        return value in "1234567890" * 3 or value in "0987654321" * 3 or len(set(value)) <= 2
    if not all(map(_COUNTED.fullmatch, numbers)):
        return False
    plain = "".join(letters)
    return (
        not words.self_naming.isdisjoint(letters)
        or any(part.endswith(words.self_naming_ends) for part in (*letters, plain))
        or plain in words.defaults
    )
