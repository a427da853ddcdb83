"""Tests of single values, and the search for secrets by the name in front of them.

The tests decide whether a value is a placeholder, looks like a password or looks like a random key. Every
rule of redaction uses them, so a value is judged the same in a sentence, a table or an assignment. Pure; no
possessive quantifier or atomic group anywhere (Python before 3.11.5 matches those wrongly).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Literal

from reverie.text.patterns import pattern_of
from reverie.text.secret_table import secret_words

SecretSpan = tuple[int, int, str]
"""Start, end and kind of a secret in a text."""

_VARIABLE = pattern_of(
    r"\$(?:[^\W\da-z][^\Wa-z]*\Z|[A-Z][A-Z0-9_]{2,}[:/@.]|[a-z_]+\Z|[{(])|%(?:[A-Za-z_][A-Za-z0-9_]*%?\Z|\()|\{|<[^>]*>\Z|\[?redacted:|\[REDACTED"
    # Text in brackets in another script, a class in PowerShell, an answer, a pinned version.
    r"|\[[^\[\]]*[^\x00-\x7f][^\[\]]*\]\Z|\[[A-Za-z.]{3,40}\]::|(?:true|false)[\])}]"
    r"|[A-Za-z][\w.-]{1,60}(?:==|>=|~=|<=)\d[\w.]*\Z"
)
_MASK = pattern_of(r"(?:[A-Za-z0-9]{1,12}[-_.]){0,6}[xX*•#.]{3,}(?:[-_.][xX*•#0.]{2,}){0,8}\Z")
_LETTERS = pattern_of(r"[A-Za-z_\- ]+\Z")
_ENDS_NAMING = pattern_of(
    r"(?:[-_ ]|(?<=[a-z])(?=[A-Z]))"
    r"(?i:password|passwd|pass|pwd|secret|token|key|hash|here|goes[-_]here|id|name)\Z"
)

# Digests of passwords: bcrypt, crypt, argon2.
_CRYPT = pattern_of(r"\$[0-9a-z-]{1,10}\$[^\s]{8,}")
_UUID = pattern_of(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_HEX = pattern_of(r"(?i)(?:0x)?[0-9a-f]+\Z")
# The names of things in a cloud, and `app/config`, the name of a secret, are places as well.
_PLACE = pattern_of(
    r"(?i:arn|urn):|@[a-z0-9-]+/[a-z0-9._-]+\Z|(?:sg|subnet|vpc|vpce|ami|i|eni|vol|snap|rtb|igw|nat|acl|eipalloc|lt|fs)-[0-9a-f]{8,17}\Z"
    r"|[a-z]{2,20}(?:-[a-z0-9]{1,20}){0,3}(?:/[a-z]{2,20}(?:-[a-z0-9]{1,12}){0,3}){1,4}\Z|(?:\.{0,2}|~)/|[A-Za-z]:\\|[A-Za-z][A-Za-z0-9+.-]{1,20}://|www\."
)
_FILE_NAME = pattern_of(r"[^\s]*\.[A-Za-z]{2,5}\Z")
_PLAIN_NUMBER = pattern_of(r"[\d.,:_/+-]+(?:[A-Za-z]{1,3}|%)?\Z")
_VERSION = pattern_of(
    r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)?\Z|[vV]?\d+(?:\.\d+)+(?:[-+.]?[A-Za-z0-9]+){0,3}\Z"
)
# Names of methods and formats that begin or end with a number.
_TECHNICAL = pattern_of(
    r"(?i)[a-z]{2,8}-\d{2,4}(?:-\d{1,3}[a-z]?)?\Z|[a-z]\d{2,4}-[a-z]\d{2,4}\Z|[a-z-]{3,30}[#@]v?\d+(?:\.\d+)+\Z|(?:sha|md|base|utf|rs|hs|es|ps|eddsa|ed|x|aes|des|rsa|argon|pbkdf|bcrypt|scrypt|oauth|openid|http|ipv|ip|tls|"
    r"ssl|web|python|flake|pep|py|java|node|es|ecma|vue|s|ec|k|h|p|v|r|i|oidc|saml|totp|fido|u|tier|phase|step|level|part|"
    r"chapter|section|figure|table|option|type|rfc|iso|win|x|postgres|mysql|sqlite|pg|php|go|rust|cs|log|neo|"
    r"auth|user|test|foo|bar|key|token|pass|password|secret|value|item|arg|param|mp|m|n|a|b|c|d|e)"
    r"[-_]?\d{1,4}(?:[a-z]{1,2})?(?:[-_.]\d{1,4})?\Z"
)
# A link, an address, several statements, a part of a regular expression: `\s*`.
_PART_OF_TEXT = pattern_of(r"://|\]\(|;|\\[sSwWdDb][*+{?]")
# Options, sums of money, names of constants and attributes, styles, redirections; several words or numbers
# with signs between them: "timeout/DNS/5xx/429".
_NO_PASSWORD = pattern_of(
    r"--|-[a-z]+\d?\Z|[+~≈-]?[$€£¥]\d[\d.,]*(?:/\w{1,8}|[kKmM])?\Z|[A-Z][A-Z0-9]*(?:_[A-Z]+[A-Z0-9]*)+\Z"
    r"|[a-z-]{2,20}=\w{0,4}\Z|[a-z-]{2,30}:#[0-9A-Fa-f]{3,8}\Z|[0-9&]?>{1,2}(?:/dev/|&\d|\Z)"
    r"|(?:[A-Za-z]{2,14}|\d{1,4}|\d[a-z]{2})(?:/(?:[A-Za-z]{2,14}|\d{1,4}|\d[a-z]{2})){2,12}\Z"
    r"|[A-Za-z]{2,}\d{0,2}(?:[/+](?:[A-Za-z]{2,}\d{0,2}|[A-Za-z]\d{1,2}[a-z]))+\Z"
    r"|(?:%[0-9A-Fa-f]{2}|[A-Za-z+.]){0,200}%2[0-9A-F]"
)
_CALL = pattern_of(r"[A-Za-z_$][A-Za-z0-9_$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][A-Za-z0-9_$]*)*[(\[{]")
_IDENTIFIER = pattern_of(r"[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::|->|\?\.)[A-Za-z_][A-Za-z0-9_]*)*\Z")
_LETTER = pattern_of(r"[^\W\d_]")
_DIGIT = pattern_of(r"\d")
_SPECIAL = pattern_of(r"[!@#$%^&*?~+=§€£]")
_STRONG = pattern_of(
    r"(?=.{8,64}\Z)(?=(?:\D*\d){2})(?=(?:[^A-Za-z]*[A-Za-z]){3})"
    r"[A-Za-z][A-Za-z0-9_.-]*[!$^*~+?%#@][A-Za-z0-9_.!$^*~+?%#@=-]*\Z"
)
# An address of mail, a version, a number of an issue, an escape: signs that names contain.
_PLAIN_SIGNS = pattern_of(r"@[\w.-]+\.[a-z]{2,}|[@#+]v?[\d.]+\Z|%[0-9A-F]{2}|\$[A-Z_]{3}|[-_]\*|\*[._-]")
_DECIMAL = pattern_of(r"[-+]?\d{1,4}\.\d{1,4}%?\Z")
_SAME = pattern_of(r"([xX])\1{7}")
_RUN = pattern_of(r"[A-Za-z0-9]{10,}")
_OF_CODE = pattern_of(r"""[][(){}<>|\\"'`;,]""")
_PIECE = pattern_of(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9]+")
_CAMEL_CASE = pattern_of(r"[A-Z]?[a-z]+(?:[A-Z][a-z]{2,}){2,}\Z")
_KEBAB = pattern_of(r"[a-z]{3,}(?:-[a-z]{3,}){3,}\Z")


def is_placeholder(value: str) -> bool:
    """Return whether a value is only a placeholder for a secret.

    Such values are variables, templates, masks, examples from manuals, and our own redaction marks.
    """
    if _VARIABLE.match(value) is not None or len(set(value)) == 1:
        return True
    if "..." in value or "…" in value or "****" in value or "${" in value or _MASK.match(value) is not None:
        return True
    value = value.strip("[](){}<>*")
    if not _LETTERS.match(value):
        return False
    plain = value.lower()
    if plain.replace("-", "").replace("_", "").replace(" ", "") in secret_words().examples:
        return True
    return (
        any(part in plain for part in secret_words().example_parts) or _ENDS_NAMING.search(value) is not None
    )


def is_bracketed(value: str) -> bool:
    """Return whether a value in angle brackets names a secret (`<password>`) and is not the secret itself."""
    return _IN_BRACKETS.match(value) is not None


def is_mask(body: str) -> bool:
    """Return whether `body`, the text after a service's prefix, is a placeholder: `xxxx`, `your-key`."""
    letters = set(body.lower()) - set("-_.")
    if len(letters) <= 2 or (_SAME.search(body) is not None and len(letters) <= 5):
        return True
    plain = body.lower()
    parts = (*secret_words().example_parts, "-here", "_here")
    return not _DIGIT.search(body) and any(part in plain for part in parts)


def is_place(value: str) -> bool:
    """Return whether a value is a path, an address (URL) or the name of a resource in a cloud."""
    return _PLACE.match(value) is not None


def is_file_name(value: str) -> bool:
    """Return whether a value ends like the name of a file or host: a dot and two to five letters."""
    return _FILE_NAME.match(value) is not None


def is_identifier(value: str) -> bool:
    """Return whether a value is a name in code, perhaps with a member access (`config.password`)."""
    return _IDENTIFIER.match(value) is not None


def is_call(value: str) -> bool:
    """Return whether a value begins like a call, an index or a block in code: `get(`, `config.keys[`."""
    return _CALL.match(value) is not None


def is_mixed(value: str) -> bool:
    """Return whether a value contains both letters and digits."""
    return _LETTER.search(value) is not None and _DIGIT.search(value) is not None


def is_hash_like(value: str) -> bool:
    """Return whether a value may be a checksum, a commit or an identifier, or the hash of a password.

    Such values are hexadecimal digits, UUIDs and hashes such as those of bcrypt.
    """
    return any(pattern.match(value) is not None for pattern in (_HEX, _UUID, _CRYPT))


def is_hex(value: str) -> bool:
    """Return whether a value consists of hexadecimal digits only, perhaps after `0x`."""
    return _HEX.match(value) is not None


def is_passphrase(value: str) -> bool:
    """Return whether a value is at least four plain words joined by hyphens."""
    return _KEBAB.match(value) is not None


def is_word_phrase(value: str) -> bool:
    """Return whether a value is a phrase of 4 to 12 words, such as a passphrase, but not a sentence.

    Words are of lower-case letters, separated by single spaces. A value that contains a word typical of
    sentences counts as a sentence.
    """
    words = value.split(" ")
    return (
        4 <= len(words) <= 12
        and _PASSPHRASE.fullmatch(value) is not None
        and secret_words().sentence.isdisjoint(words)
    )


def is_uuid(value: str) -> bool:
    """Return whether a value has the form of a UUID."""
    return _UUID.match(value) is not None


def is_password_like(value: str) -> bool:
    """Return whether one word of a text may be a password.

    It must not be a plain word, name, number, version, path or method; a number of six digits or more may be
    one.
    """
    if len(value) < 5 or len(value) > 200 or is_placeholder(value) or is_place(value) or is_call(value):
        return False
    if value[0] in ")]}.,#[(" or _PART_OF_TEXT.search(value) or _NO_PASSWORD.match(value):
        return False
    if _PLAIN_NUMBER.match(value) or _VERSION.match(value) or _TECHNICAL.match(value) or is_hash_like(value):
        return value.isdigit() and len(value) >= 6
    if is_passphrase(value):
        return True
    if not value.isascii() or (is_file_name(value) and not is_drawn(value.rpartition(".")[0])):
        return False
    if is_drawn(value, bits=4.4 if len(value) >= 12 else 5.2):
        return True
    if _SPECIAL.search(value[1:-1]) and _LETTER.search(value) and not value.isidentifier():
        return is_mixed(value) or len(_SPECIAL.findall(value[1:])) >= 2
    if not is_mixed(value):
        return False
    # `access_token_v2` and `OAuth2PasswordBearer` are names, not passwords.
    words = re.split(r"[_.-]", value)
    if len(words) > 1 and sum(map(is_mixed, words)) == 0:
        return not value.replace("-", "").replace("_", "").replace(".", "").isdigit() and "_" not in value
    return not (
        value[0].isupper() and value.isalnum() and re.search(r"\d[A-Z][a-z]", value) and len(value) > 12
    )


def is_strong(value: str) -> bool:
    """Return whether a value mixes signs, letters and digits as people do in a password (`Winter2026+x`).

    Ordinary words and names do not mix all three.
    """
    return _STRONG.match(value) is not None and not is_placeholder(value) and not _PLAIN_SIGNS.search(value)


def drawn_bits(value: str) -> float:
    """Return how random a value looks, as bits of information per character.

    The result is about 4 for words and names made of words, and about 5.7 for random values. The value is
    split into pieces: words (delimited by case) and numbers. Each piece adds 6 bits; a word also adds the
    bits of its pairs of letters (`SecretWords.letter_pairs`), a number 3 bits per further digit. The first
    number adds only 4 bits instead of 6, and a piece after `.`, `_`, `-` or `/` only 3, because names contain
    these too. Those signs add nothing themselves; other signs add 5 bits each.
    """
    pairs = secret_words().letter_pairs
    bits = count = numbers = 0
    start = 6
    for piece in _PIECE.findall(value):
        if not piece.isalnum():
            special = len(piece.lstrip("._-/")) if piece.strip("._-/") else 0
            bits, count, start = bits + 5 * special, count + special, 6 if special else 3
            continue
        if piece.isdigit():
            bits += min(start, 6 if numbers else 4) + 3 * (len(piece) - 1)
            numbers += 1
        else:
            small = piece.lower()
            bits += start + sum(pairs[one + other] for one, other in pairwise(small))
        count += len(piece)
        start = 6
    return bits / count if count else 0.0


def is_drawn(value: str, least: int = 8, bits: float = 4.7) -> bool:
    """Return whether a value looks random by its letters and digits, even if it is short or has only letters.

    `least`: the minimum length; `bits`: the minimum of `drawn_bits`. False for hexadecimal values, which are
    more often checksums. 4.7 bits are reached by 990 of 1,000 random values of 14 letters or digits, and by
    10 of 1,000 words and names of that length.
    """
    if not least <= len(value) <= 200 or not value.isascii() or is_hash_like(value) or is_placeholder(value):
        return False
    if _OF_CODE.search(value) is not None:
        return False
    if value.isalpha() and len(_PIECE.findall(value)) <= 3 and not value.islower() and not value.istitle():
        # `SimpleJWT`: an abbreviation in a name is no sign of chance.
        return any(drawn_bits(piece) >= bits + 0.6 for piece in _PIECE.findall(value) if len(piece) >= 5)
    # A single word may be unusual, or from a language that the figures do not cover.
    return drawn_bits(value) >= bits + 0.6 * (value.isalpha() and (value.islower() or value.istitle()))


def is_random(value: str, least: int = 16) -> bool:
    """Return whether a value looks random: one long run of letters and digits that often alternate.

    `least`: the minimum length. False for hexadecimal values, which are more often checksums.
    """
    if len(value) < least or is_hash_like(value) or is_placeholder(value):
        return False
    return any(_is_random_run(run[0]) for run in _RUN.finditer(value))


def _is_random_run(run: str) -> bool:
    if _CAMEL_CASE.match(run):
        return False
    kinds = ["0" if char.isdigit() else "A" if char.isupper() else "a" for char in run]
    changes = sum(one != other for one, other in pairwise(kinds))
    to_digits = sum((one == "0") != (other == "0") for one, other in pairwise(kinds))
    if len(run) < 16:
        return to_digits >= 4 and changes / len(run) >= 0.35
    return (to_digits >= 3 and changes / len(run) >= 0.2) or changes / len(run) >= 0.42


def holds_any(text: str, parts: Iterable[str]) -> bool:
    """Return whether `text` contains one of `parts`.

    Callers use this before a pattern that cannot match without one of the parts, because this test takes a
    hundredth of the time.
    """
    for part in parts:  # noqa: SIM110 - asked ten times of each text; a generator takes twice as long
        if part in text:
            return True
    return False


Kind = Literal["password", "token", "pass", "key", "gpg-key", "mention"]
"""The kind of value that a name announces.

`pass` and `key`: the name alone does not prove that the value is a secret. `gpg-key`: a fingerprint more
often than a key. `mention`: the name contains a word such as "token" (`TOKEN_GITHUB`, `password_hash`), but
not at its end.
"""

# A name, perhaps quoted, emphasised or typed (`token: str = `), and what separates it from its value.
_NAMED = pattern_of(
    r"""(?<![\w.-])(?P<flag>--?)?(?P<name>[^\W\d][\w.-]{1,79})(?:\\{0,4}["'`]\]?|\*{1,2}|\])?
        (?:[ \t]{0,4}:[ \t]{0,4}[A-Za-z_][A-Za-z0-9_.]{0,30}[ \t]{0,4}(?==))?
        (?P<separator>[ \t]{0,4}(?:=>|:=|={1,3}|:)\*{0,2}[ \t]{0,8}|(?<=["']),[ \t]{0,4}(?=["'])
        |(?(flag)[ \t]{1,8}|(?!)))""",
    re.VERBOSE,
)
_OPENING_QUOTE = pattern_of(r"""(?P<escape>\\{0,4})(?P<quote>["'`])""")
# YAML's way to put a value on the next line.
_BLOCK = pattern_of(r"[|>][+-]?[1-9]?[+-]?[ \t]{0,8}\r?\n[ \t]{1,40}")
_QUOTED = {
    '"': pattern_of(r'[^"\\\n]*(?:\\.[^"\\\n]*)*'),
    "'": pattern_of(r"[^'\\\n]*(?:\\.[^'\\\n]*)*"),
    "`": pattern_of(r"[^`\n]*"),
}
_QUOTED_IN_QUOTES = pattern_of(r"""[^"'`\\\n]*""")
_BARE = pattern_of(r"""[^\s"'`,;<>&\\]+""")
# `arn:aws:secretsmanager:...:secret:prod/db` names a secret.
_IN_URN = pattern_of(r"(?i:arn|urn):[^\s\"'`]{0,200}\Z")
_SHORT_VALUE = 100
_BEFORE = pattern_of(r"(?:[^\W\d_][\w'’-]{0,30}[ \t]{1,3}){1,4}\Z")

_WORDS = pattern_of(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


_KEYS_OF = pattern_of(
    "api|access|account|auth|encryption|master|private|secret|service|signing|deploy|license|licence|webhook|app"
    "|application|integration|session|subscription|shared|hmac|jwt|recovery|consumer|client|admin|root|server|storage"
    "|backup|ingest|ingestion|instrumentation|write|upload|vault|unlock|security|verschlüsselungs|api-"
)
_CODES_OF = pattern_of("access|recovery|backup|security|reset|pairing|unlock|verification|zugangs")

NO_VALUE = pattern_of(
    r"""(?i)any|bool|boolean|bytes|default|disabled|empty|enabled|false|int|integer|missing|nil|no|none|null|number
        |object|off|on|optional|options?|required|str|string|tbd|text|todo|true|undefined|unknown|unset|varchar|void
        |yes|array|ja|nein|oui|non|si|sí|não|да|нет|await|async|new|function|lambda|return|typeof|const|require
        |import|throw""",
    re.VERBOSE,
)
# Words with a hyphen between them in angle brackets: `<32-char-secret>`.
_IN_BRACKETS = pattern_of(r"<[A-Za-z0-9]{1,24}(?:[-_ ][A-Za-z0-9]{1,24}){0,8}>?\Z")
# The value of an option is as often the name of something.
_PASSPHRASE = pattern_of(r"[a-z]{3,12}(?: [a-z]{3,12}){1,11}")
_OPTION_NAME = pattern_of(r"[a-z]+(?:-[a-z]+){1,2}\d?")
_CODE = pattern_of(r"[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::|->|\?\.)[A-Za-z_][A-Za-z0-9_]*)*(?P<more>[(\[])?")
# The value after such a name is a fingerprint, or the whole key in Base64.
_KEYS_BY_FINGERPRINT = frozenset({"gpg", "pgp"})
# "If the tests pass: ..."


# A header of a request, as `X-ClickHouse-Key`.
_KEY_HEADER = pattern_of(r"[Xx]-[\w-]+-[Kk]ey\Z")
_NOTHING_MORE = pattern_of(r"""[ \t\r,;)\]}*|"'`.]*(?:\n|\Z)""")
_LONG_RUN = pattern_of(r"[A-Za-z0-9+/]{20}")
_MEMBER = pattern_of(r"[A-Za-z_]+(?:\.[A-Za-z_]+)+\Z")
_MADE_RUN = pattern_of(r"[A-Za-z0-9+/]{16,}")
PUBLIC_KEY = pattern_of(r"ssh-|ecdsa-|AAAA[BCE]|SHA256:|MD5:")
_LEAST: dict[Kind, int] = {"password": 6, "token": 8, "pass": 5, "key": 16, "gpg-key": 16, "mention": 16}

# One of them is in every name or word that makes a value a secret.
_HINTS = (
    "pass", "secret", "token", "key", "cred", "pwd", r"pw(?![a-z])",
    r"pat\b", "jwt", "psk", "bearer", r"auth\b",
    r"code\b", r"codes\b", "kennw", "contrasen", "senha", "mdp", "wachtwoord", "haslo", "sifre", "heslo",
    "jeton", "clef", "clave", "chave", "chiave", "parola", "login", "zugang", "identifiants", "geheim",
    "segre", "mnemonic", "seed phrase", "recovery phrase", "authtok", "otp", "2fa seed", "parol", "adgangs",
    "parool", "salasan", "jelsz", "lozink", "gesl", "pasahitz", "sandi", "laluan",
)  # fmt: skip
_HINT = pattern_of("|".join(_HINTS))
_HINT_WORDS = tuple(hint.removesuffix(r"\b").removesuffix("(?![a-z])") for hint in _HINTS)
_FOREIGN_HINT = pattern_of(
    r"contraseñ|hasło|şifre|lösenord|schlüssel|clé|парол|ключ|токен|секрет|密|口令|令牌|金鑰|パスワ|暗証|トークン"
    r"|キー|秘|シークレット|비밀|토큰|키|암호|slaptažod|aðgangsorð|lykilorð|mật|лозинк|κωδικ|συνθηματικ|كلمة|رمز"
    r"|گذرواژه|סיסמ|पासवर्ड|পাসওয়ার্ড|รหัสผ่าน"
)


def small_letters(text: str) -> str:
    """Return `text` in lower case, character by character, so that indexes stay valid."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def secret_lines(text: str, small: str) -> list[tuple[int, int]]:
    """Return (start, end) of every line that contains a word such as "password" or "token", in any language.

    `small`: the text in lower case, of equal length (`small_letters`).
    """
    found = _lines_with(_HINT, small) if holds_any(small, _HINT_WORDS) else []
    if not text.isascii():
        found = sorted({*found, *_lines_with(_FOREIGN_HINT, small)})
    return found


def _lines_with(hints: re.Pattern[str], small: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    position = 0
    while (hint := hints.search(small, position)) is not None:
        start = small.rfind("\n", position, hint.start()) + 1 or position
        end = small.find("\n", hint.end())
        position = end = len(small) if end < 0 else end
        found.append((start, end))
    return found


def named_secrets(text: str, lines: list[tuple[int, int]]) -> Iterator[SecretSpan]:
    """Yield the spans of all values on `lines` that are secrets because of the name in front of them.

    For example `DB_PASSWORD=...`, `API key: ...`, `--token ...`. A name is split into words (`dbPassword` is
    "db", "password") and judged by the last of these words; if that word is not conclusive ("key"), also by
    the words in front of it, even across a space. The value is then compared with the usual values of such a
    name: a password may look like anything, a token or key must look machine-made, because "token" and "key"
    are common in prose and code. Only `lines`, the result of `secret_lines`, are searched, and each character
    is examined a bounded number of times.
    """
    position = 0
    for start, end in lines:
        position = max(position, start)
        while position < end and (named := _NAMED.search(text, position, end)) is not None:
            position, span = _value_of(text, named, start)
            if span is not None:
                yield span


def _value_of(text: str, named: re.Match[str], line: int) -> tuple[int, SecretSpan | None]:
    """Return the position at which to continue the search, and the span of the value after a name.

    The span is None if the value is not a secret. `named`: the match of the name before the value; `line`:
    the start of the name's line.
    """
    position = named.end()
    name = named["name"]
    if text.endswith("[redacted:", 0, named.start("name")):  # the kind in a mark names nothing
        return position, None
    if text[named.start("name") - 1 : named.start("name")] == ":" and _IN_URN.search(
        text, max(line, named.start("name") - 200), named.start("name")
    ):
        return position, None
    if named["flag"] == "-" and kind_of_name(name) not in ("password", "token", "pass"):
        return position, None
    if text.endswith("${", 0, named.start("name")):  # a variable with a default, or a part of it
        return position, None
    kind = kind_of_name(name)
    if kind in (None, "key", "mention", "pass") and not named["flag"]:
        kind = _kind_with_words_before(text, named, line, kind)
    if kind == "token" and is_open_key(text, named.start("name"), named.end("name"), line):
        return position, None
    if kind == "key" and _KEY_HEADER.match(name):
        kind = "token"
    if kind is None:
        # The apparent type may be the name: `$env:DB_PASSWORD = ...`.
        return named.end("name"), _basic_auth(text, name, position)
    position = _end_of(_BLOCK, text, position)
    opening = _OPENING_QUOTE.match(text, position)
    if opening is not None:
        position = start = opening.end()
        pattern = _QUOTED_IN_QUOTES if opening["escape"] else _QUOTED[opening["quote"]]
        end = _end_of(pattern, text, start)
        assigned = named["separator"].strip() == "="
        value = text[start:end]
        # Names also occur in lists and comparisons.
        is_loose = named["separator"].strip() in (",", "==", "===") and kind in ("password", "pass")
        secret = _is_quoted_secret(kind, name, value, assigned=assigned)
        secret = secret and (not is_loose or is_password_like(value))
    else:
        start = position
        position = _end_of(_BARE, text, start)
        end = start + len(text[start:position].rstrip("])}.!?|:*"))
        line_ends = _NOTHING_MORE.match(text, end) is not None
        secret = _is_bare_secret(kind, named, text[start:end], text[end : end + 1], line_ends=line_ends)
    if not secret:
        # A short value may be the next name.
        return (start if end - start <= _SHORT_VALUE else position), None
    return max(position, end), (start, end, "password" if kind in ("password", "pass") else "token")


def _end_of(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match is not None else start


def kind_of_name(name: str) -> Kind | None:
    """Return the kind of value that a name announces, by its last word; None if the value is not a secret."""
    if not name.isascii():
        small = name.lower()
        if small.endswith(secret_words().foreign_passwords):
            return "password"
        return "token" if small.endswith(secret_words().foreign_tokens) else None
    return kind_of_words([word.lower() for word in _WORDS.findall(name)])


def kind_of_words(words: list[str]) -> Kind | None:
    """Return the kind of value that a name announces, given its words in lower case.

    None if the value is not a secret.
    """
    while words and words[-1].isdigit():
        words = words[:-1]
    if not words:
        return None
    known = secret_words()
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in ("token", "tokens") and before in secret_words().open_tokens:
        return None
    if last in known.password_names or (len(last) > 6 and last.endswith(known.password_endings)):
        return "password"
    if last in known.token_names or (len(last) > 6 and last.endswith(known.token_endings)):
        return "token"
    if last == "keys":
        last = "key"
    if last == "key" and before in _KEYS_BY_FINGERPRINT:
        return "gpg-key"
    if last == "key" and before:
        if secret_words().open_keys.intersection(words):
            return None
        return "token" if _KEYS_OF.fullmatch(before) else "key"
    if last in ("code", "codes"):
        return "token" if _CODES_OF.fullmatch(before) else None
    if last == "auth" and before:
        return "key"
    if last in ("pass", "pw"):
        return "password" if before else "pass"
    if last.endswith("pass") and last not in secret_words().no_pass:
        return "pass"  # SSHPASS
    return (
        "mention"
        if not secret_words().password_names.union(secret_words().token_names).isdisjoint(words)
        else None
    )


def _kind_with_words_before(text: str, named: re.Match[str], line: int, kind: Kind | None) -> Kind | None:
    """Return the kind of value that a name of several words announces: `API key: ...`, `db pass: ...`.

    None if the value is not a secret. `named`: the match of the last word; `kind`: the kind that this word
    has alone; `line`: the start of its line.
    """
    start = named.start("name")
    before = _BEFORE.search(text[max(line, start - 60) : start])
    if before is None:
        return kind
    words = [word.lower() for word in re.findall(r"[^\W\d_]+", before[0])][-3:]
    own = [word.lower() for word in _WORDS.findall(named["name"])]
    if own == ["pass"] and words[-1] in secret_words().what_passes:
        return kind
    if own == ["pass"] and words[-1] not in secret_words().whose_pass:
        return None  # "the second pass: ..."
    joined = kind_of_words(words + own)
    if (
        own
        and own[0] == "key"
        and joined == "token"
        and words[-1] in ("app", "application", "client", "server")
    ):
        return "key"
    return joined if joined != "mention" else kind


def is_open_key(text: str, start: int, end: int, line: int) -> bool:
    """Return whether the word `text[start:end]` is a key or token that is not secret, such as `cache_key`.

    `line`: the start of the word's line.
    """
    own = [word.lower() for word in _WORDS.findall(text[start:end])]
    if not own or own[-1] not in ("key", "keys", "token", "tokens"):
        return False
    before = _BEFORE.search(text[max(line, start - 60) : start])
    words = re.findall(r"[^\W\d_]+", before[0].lower())[-1:] if before is not None else []
    named = {*words, *own[:-1]}
    if own[-1].startswith("token"):
        return not secret_words().open_tokens.isdisjoint(named)
    return not (secret_words().open_keys.isdisjoint(named) and _KEYS_BY_FINGERPRINT.isdisjoint(named))


def _is_quoted_secret(kind: Kind, name: str, value: str, *, assigned: bool) -> bool:
    if any(character.isspace() for character in value):
        # A sentence (a label, a message, an example), except for the value of a shell variable.
        if kind == "password" and assigned and name.isupper():
            return _PASSPHRASE.fullmatch(value) is not None
        return kind == "password" and is_word_phrase(value)
    if not _may_be_secret(kind, name, value):
        return False
    return kind == "password" or _looks_made(kind, value)


def _is_bare_secret(kind: Kind, named: re.Match[str], value: str, following: str, *, line_ends: bool) -> bool:
    """Return whether a value without quotes is a secret.

    `kind`: the kind that the name in front of it announces; `named`: the match of that name; `following`: the
    character after the value; `line_ends`: whether nothing else follows on the line.
    """
    if not _may_be_secret(kind, named["name"], value):
        return False
    made = _looks_made(kind, value)
    code = _CODE.match(value + following)
    if code is not None and code["more"]:
        return False
    if code is not None and code.end() >= len(value) and not made:
        # `password = user_password` refers to something; `PASSWORD=correct_horse` alone on its line does not.
        refers = "." in value or not (named["separator"] == "=" and following in "\r\n")
        if refers and not value.isalnum():
            return False
    prose = ":" in named["separator"] and not line_ends
    if not value.isascii():
        return made and any(char.isascii() and char.isalnum() for char in value) and _mostly_ascii(value)
    if named["flag"] and not named["separator"].strip() and _OPTION_NAME.fullmatch(value):
        return False
    return made or (kind == "password" and not prose and bool(named["separator"].strip()))


def _mostly_ascii(value: str) -> bool:
    return sum(map(str.isascii, value)) * 2 > len(value)


def _may_be_secret(kind: Kind, name: str, value: str) -> bool:
    if len(value) < 4 or is_placeholder(value) or NO_VALUE.fullmatch(value) or value.lower() == name.lower():
        return False
    if _DECIMAL.match(value):
        return False
    return not is_place(value) and (kind in ("password", "pass") or not is_file_name(value))


def _looks_made(kind: Kind, value: str) -> bool:
    """Return whether a value looks machine-made: letters and digits mixed, or one long run.

    `kind`: the kind that the name in front of the value announces. After a name that is weak evidence of a
    secret ("key"), the value must be longer or more random than after a strong one ("token").
    """
    if len(value) < _LEAST[kind] or PUBLIC_KEY.match(value):
        return False
    if kind == "pass":
        return is_password_like(value)
    if kind == "mention":
        return any(is_mixed(run[0]) for run in _MADE_RUN.finditer(value))
    if kind == "gpg-key":
        return is_random(value)
    if kind == "key":
        return is_random(value) or (is_hash_like(value) and len(value) in (32, 40, 48, 64, 96, 128))
    return (
        is_mixed(value)
        or is_passphrase(value)
        or is_drawn(value)
        or (_LONG_RUN.search(value) is not None and not _MEMBER.match(value))
    )


# A name and its value as fields of their own, as Kubernetes, CloudFormation and forms have them.
_FIELD = pattern_of(
    r"""(?i)(?<![\w.-])["']?(?:(?P<name>(?:parameter_?)?key|name|label|field|header|id|title|variable)
        |(?:parameter_?)?value|val|content|default|secret_?string)["']?(?:[ \t]{0,4}[:=]|>)[ \t]{0,4}
        (?:(?P<quote>["'])(?P<quoted>[^"'\n]{1,400})(?P=quote)|(?P<bare>[^\s"',;<>{}\[\]]{1,400}))""",
    re.VERBOSE,
)
_NEXT_ENTRY = pattern_of(r"[{}]|\n[ \t]{0,20}-[ \t]|\n[ \t]*\n")
_PAIR_REACH = 200


def paired_secrets(text: str, small: str) -> Iterator[SecretSpan]:
    """Yield the spans of secrets in pairs of fields, one with the name and one with the value.

    Either field may be the first. Kubernetes, CloudFormation and forms have such pairs. `small`: the text in
    lower case, of equal length.
    """
    if not holds_any(small, ("val", "content", "default", "string")):
        return
    for one, other in pairwise(_FIELD.finditer(text)):
        named, given = (one, other) if one["name"] is not None else (other, one)
        if named["name"] is None or given["name"] is not None or other.start() - one.end() > _PAIR_REACH:
            continue
        if _NEXT_ENTRY.search(text, one.end(), other.start()) is not None:
            continue
        group = "quoted" if given["quoted"] is not None else "bare"
        name, value = named["quoted"] or named["bare"], given[group]
        kind = kind_of_name(name)
        if kind is None or not _may_be_secret(kind, name, value):
            continue
        weak = kind == "password" and name.isupper() and " " not in value
        if weak or (_looks_made(kind, value) and (kind != "password" or is_password_like(value))):
            yield *given.span(group), "password" if kind in ("password", "pass") else "token"


def _basic_auth(text: str, name: str, position: int) -> SecretSpan | None:
    """Return the span of a value that is a user name and password in Base64, as Docker and npm store them.

    `name`: the key of the value; only `auth` and `_auth` hold such values. `position`: the position of the
    value or of its opening quote. None if the value is not of this form.
    """
    if name.lower() not in ("auth", "_auth"):
        return None
    opening = _OPENING_QUOTE.match(text, position)
    start = opening.end() if opening is not None else position
    value = re.compile(r"[A-Za-z0-9+/=]{8,2048}").match(text, start)
    if value is None:
        return None
    try:
        decoded = base64.b64decode(value[0], validate=True)
    except (binascii.Error, ValueError):
        return None
    return (start, value.end(), "password") if b":" in decoded and decoded.isascii() else None
