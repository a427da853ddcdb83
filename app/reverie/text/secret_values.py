"""Judges a single value: does it only stand for a secret, does it look like a password, like a random key?

Every rule of redaction asks here, so that a value is judged the same in a sentence, a table or an assignment.
Pure functions over one word of bounded length; no possessive quantifier or atomic group anywhere (Python
before 3.11.5 matches those wrongly).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

Span = tuple[int, int, str]
"""Start, end and kind of a secret in a text."""

_VARIABLE = re.compile(
    r"\$(?:[^\W\da-z][^\Wa-z]*\Z|[a-z_]+\Z|[{(])|%(?:[A-Za-z_][A-Za-z0-9_]*%?\Z|\()|\{|<[^>]*>\Z|\[redacted:|\[REDACTED"
)
_MASK = re.compile(r"(?:[A-Za-z0-9]{1,12}[-_.]){0,6}[xX*•#.]{3,}(?:[-_.][xX*•#0.]{2,}){0,8}\Z")
_LETTERS = re.compile(r"[A-Za-z_\- ]+\Z")
# Values of documentation: they name the thing instead of being one.
_EXAMPLES = frozenset(
    [
        "password",
        "passwd",
        "passwort",
        "pass",
        "pwd",
        "pw",
        "mypassword",
        "yourpassword",
        "secret",
        "mysecret",
        "yoursecret",
        "token",
        "apikey",
        "key",
        "changeme",
        "changeit",
        "changethis",
        "example",
        "sample",
        "dummy",
        "placeholder",
        "redacted",
        "hidden",
        "masked",
        "removed",
        "omitted",
        "user",
        "username",
        "foo",
        "bar",
        "baz",
        "value",
        "options",
        "option",
        "fixme",
        "none",
        "null",
        "undefined",
        "required",
        "optional",
        "string",
    ]
)
_EXAMPLE_PARTS = (
    "your",
    "example",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "insert",
    "redacted",
    "dummy",
)
_ENDS_NAMING = re.compile(
    r"(?:[-_ ]|(?<=[a-z])(?=[A-Z]))"
    r"(?i:password|passwd|pass|pwd|secret|token|key|hash|here|goes[-_]here|id|name)\Z"
)

# Digests of passwords: bcrypt, crypt, argon2.
_CRYPT = re.compile(r"\$[0-9a-z-]{1,10}\$[^\s]{8,}")
_UUID = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_HEX = re.compile(r"(?i)(?:0x)?[0-9a-f]+\Z")
_PLACE = re.compile(r"(?:\.{0,2}|~)/|[A-Za-z]:\\|[A-Za-z][A-Za-z0-9+.-]{1,20}://|www\.")
_FILE_NAME = re.compile(r"[^\s]*\.[A-Za-z]{2,5}\Z")
_PLAIN_NUMBER = re.compile(r"[\d.,:_/+-]+(?:[A-Za-z]{1,3}|%)?\Z")
_VERSION = re.compile(r"[vV]?\d+(?:\.\d+)+(?:[-+.]?[A-Za-z0-9]+){0,3}\Z")
# Names of methods and formats that end or begin with a number.
_TECHNICAL = re.compile(
    r"(?i)(?:sha|md|base|utf|rs|hs|es|ps|eddsa|ed|x|aes|des|rsa|argon|pbkdf|bcrypt|scrypt|oauth|openid|http|ipv|ip|tls|"
    r"ssl|web|python|py|java|node|es|ecma|vue|s|ec|k|h|p|v|r|i|oidc|saml|totp|fido|u|tier|phase|step|level|part|"
    r"chapter|section|figure|table|option|type|rfc|iso|win|x|postgres|mysql|sqlite|pg|php|go|rust|cs|log|neo|"
    r"auth|user|test|foo|bar|key|token|pass|password|secret|value|item|arg|param|mp|m|n|a|b|c|d|e)"
    r"[-_]?\d{1,4}(?:[a-z]{1,2})?(?:[-_.]\d{1,4})?\Z"
)
_SEVERAL_NAMES = re.compile(
    r"[A-Za-z]{2,}\d{0,2}(?:[/+](?:[A-Za-z]{2,}\d{0,2}|[A-Za-z]\d{1,2}[a-z]))+\Z|(?:%[0-9A-Fa-f]{2}|[A-Za-z+.]){0,200}%2[0-9A-F]"
)
# Of a regular expression: `\s*`, `\w+`.
_OF_PATTERN = re.compile(r"\\[sSwWdDb][*+{?]")
_CALL = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][A-Za-z0-9_$]*)*[(\[{]")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::|->|\?\.)[A-Za-z_][A-Za-z0-9_]*)*\Z")
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"\d")
_SPECIAL = re.compile(r"[!@#$%^&*?~+=§€£]")
_SAME = re.compile(r"([xX])\1{7}")
_RUN = re.compile(r"[A-Za-z0-9]{10,}")
_CAMEL_CASE = re.compile(r"[A-Z]?[a-z]+(?:[A-Z][a-z]{2,}){2,}\Z")
_KEBAB = re.compile(r"[a-z]{3,}(?:-[a-z]{2,}){3,}\Z")


def is_placeholder(value: str) -> bool:
    """Whether a value only stands for a secret: a variable, a template, a mask, an example of a manual, or
    our own mark."""
    if _VARIABLE.match(value) is not None or len(set(value)) == 1:
        return True
    if "..." in value or "…" in value or _MASK.match(value) is not None:
        return True
    value = value.strip("[](){}<>*")
    if not _LETTERS.match(value):
        return False
    plain = value.lower()
    if plain.replace("-", "").replace("_", "").replace(" ", "") in _EXAMPLES:
        return True
    return any(part in plain for part in _EXAMPLE_PARTS) or _ENDS_NAMING.search(value) is not None


def is_mask(body: str) -> bool:
    """Whether what follows a service's prefix was written instead of a key: `xxxx`, `your-key-here`."""
    letters = set(body.lower()) - set("-_.")
    if len(letters) <= 2 or (_SAME.search(body) is not None and len(letters) <= 5):
        return True
    plain = body.lower()
    return not _DIGIT.search(body) and any(part in plain for part in (*_EXAMPLE_PARTS, "-here", "_here"))


def is_place(value: str) -> bool:
    """Whether it is a path or an address."""
    return _PLACE.match(value) is not None


def is_file_name(value: str) -> bool:
    """Whether it ends as names of files and hosts do."""
    return _FILE_NAME.match(value) is not None


def is_identifier(value: str) -> bool:
    """Whether it is a name of code, perhaps of a member of something."""
    return _IDENTIFIER.match(value) is not None


def is_call(value: str) -> bool:
    """Whether it begins like a call or an index of code."""
    return _CALL.match(value) is not None


def is_mixed(value: str) -> bool:
    """Whether it has letters and digits."""
    return _LETTER.search(value) is not None and _DIGIT.search(value) is not None


def is_hash_like(value: str) -> bool:
    """Whether it could as well be a checksum, a commit or an identifier: hexadecimal digits, a UUID, the
    digest of a password."""
    return any(pattern.match(value) is not None for pattern in (_HEX, _UUID, _CRYPT))


def is_hex(value: str) -> bool:
    """Whether it has hexadecimal digits only."""
    return _HEX.match(value) is not None


def is_passphrase(value: str) -> bool:
    """Whether it is at least four plain words with hyphens between them."""
    return _KEBAB.match(value) is not None


def is_uuid(value: str) -> bool:
    """Whether it has the form of a UUID."""
    return _UUID.match(value) is not None


def is_password_like(value: str) -> bool:
    """Whether a word of a sentence could be a password: no word, name, number, version, path or method."""
    if len(value) < 5 or len(value) > 200 or is_placeholder(value) or is_place(value) or is_call(value):
        return False
    if (
        "://" in value
        or "](" in value
        or _OF_PATTERN.search(value)
        or value[0] in ")]}.,#[("
        or _SEVERAL_NAMES.match(value)
    ):
        return False
    if _PLAIN_NUMBER.match(value) or _VERSION.match(value) or _TECHNICAL.match(value) or is_hash_like(value):
        return value.isdigit() and len(value) >= 6
    if is_passphrase(value):
        return True
    if is_file_name(value) or not value.isascii():
        return False
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


def is_random(value: str, least: int = 16) -> bool:
    """Whether a value looks drawn by a machine: one long run of letters and digits that change kind often.
    Hexadecimal values do not count; they are checksums more often."""
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
    """Whether one of `parts`, without which a pattern cannot match, is in `text`. Takes a hundredth of the
    time of the pattern."""
    for part in parts:  # noqa: SIM110 - asked ten times of each text; a generator takes twice as long
        if part in text:
            return True
    return False
