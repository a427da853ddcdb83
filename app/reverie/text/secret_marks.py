"""Which of the secrets in a memory are worth a person's look.

Redaction hides whatever may be a secret, because a hole in a log costs less than a leaked key. A mark asks
for a person's time, so it leaves out what only stands for a secret: values that describe themselves
(`your-32-character-key`, `SecurePass123!`), what everybody's database begins with (`postgres`), members of
code, and values that were cut short by whoever wrote them down.

Invariant: what is marked is found by `redact.find_secrets`, too, so nothing marked is ever sent. Pure; any
thread.
"""

from __future__ import annotations

import re

from reverie.text.redact import Secret, find_secrets
from reverie.text.secret_values import is_identifier, is_random, secret_words

# Kinds with a form of their own: nobody makes up a private key as an example.
_CERTAIN = frozenset({"private-key"})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")
_SIGNS = "[](){}<>*`'\".,;:!?"
# What is put behind a word to please a rule for passwords, and sizes of keys.
_COUNTED = re.compile(
    r"0?[0-9]|1?2?3?4?5?6?7?8?9?0?|00+|16|24|32|48|64|128|256|384|512|1024|2048|4096|20[12]\d"
)
_READ_AS = str.maketrans("@$40351", "asaoesi")
_NEAR_HOST = re.compile(
    r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|host\.docker\.internal|db|database|postgres|postgresql|mysql|mariadb"
    r"|mongo|mongodb|redis|rabbitmq|host|hostname|example\.(?:com|org|net))(?![\w.-])"
)
_PLAIN_WORDS = re.compile(r"[A-Za-z]+(?:[_-][A-Za-z]+)*\Z")
_USER_NAMED = re.compile(
    r"(?i)(?:user|usr|db|database|name|login)[A-Z_]{0,12}[\"']?[ ]?[:=][ ]?[\"']?([A-Za-z0-9_.-]{2,40})"
)
_AROUND = 200
# An address up to what is asked of it: names of pages look drawn at times.
_IN_ADDRESS = re.compile(r"https?://[^\s?#=]*\Z")


def marked_secrets(text: str) -> tuple[Secret, ...]:
    """Those of `find_secrets` that a person should look at."""
    return tuple(secret for secret in find_secrets(text) if not _stands_for_one(text, secret))


def _stands_for_one(text: str, secret: Secret) -> bool:
    if secret.kind in _CERTAIN:
        return False
    value = text[secret.start : secret.end].strip(_SIGNS)
    if text[secret.end : secret.end + 4].lstrip("\"'`").startswith(("..", "…", "xxx", "***")):
        return True
    if describes_itself(value) or _is_default(text, secret, value):
        return True
    if secret.kind == "token" and _IN_ADDRESS.search(text, max(0, secret.start - 300), secret.start):
        return True
    return (
        secret.kind in ("password", "token")
        and "." in value
        and is_identifier(value)
        and not is_random(value)
    )


def describes_itself(value: str) -> bool:
    """Whether a value is made of words that say what it should be, and of numbers that anybody would add."""
    words = secret_words()
    parts = [part.lower() for part in _WORD.findall(value)]
    if not parts or is_random(value):
        return False
    letters = [part for part in parts if not part.isdigit()]
    numbers = [part for part in parts if part.isdigit()]
    if not letters:
        return any(value in run for run in ("1234567890", "0123456789")) or len(set(value)) <= 2
    if not all(_COUNTED.fullmatch(number) for number in numbers):
        # `P@ssw0rd123`: signs and numbers inside the word are letters.
        plain = re.sub(r"[\W_\d]+\Z", "", value).translate(_READ_AS).lower()
        return any(plain.endswith(word) and len(plain) - len(word) < 12 for word in words.self_naming_ends)
    if any(part in words.self_naming or part.endswith(words.self_naming_ends) for part in letters):
        return True
    plain = "".join(letters)
    if plain.endswith(words.self_naming_ends):
        return True
    leet = re.sub(r"[\W_\d]+\Z", "", value).translate(_READ_AS).lower()
    return leet.endswith(words.self_naming_ends) or plain in words.defaults


def _is_default(text: str, secret: Secret, value: str) -> bool:
    """Whether it is what a database of somebody's own machine begins with."""
    if value.lower() in secret_words().defaults:
        return True
    if _PLAIN_WORDS.match(value) is None:
        return False
    if secret.kind == "url-password":
        user = text[max(0, secret.start - 64) : secret.start].rpartition("://")[2].rstrip(":")
        return user == value or _NEAR_HOST.match(text, secret.end + 1) is not None
    around = text[max(0, secret.start - _AROUND) : secret.end + _AROUND]
    return any(name == value for name in _USER_NAMED.findall(around))
