"""The self-test of redaction, run before anything is sent.

Pure; any thread.
"""

from __future__ import annotations

from functools import cache

from reverie.text.patterns import pattern_of
from reverie.text.redact import redact

_RUN = "q7Zx2Lk9" + "Vb4Tn8Wc" + "3Rm6Yp1H"
_PLAIN = "quartz" + "marble"

PLANTED: tuple[tuple[str, str], ...] = (
    ("a key of a service", f"before sk-ant-{_RUN} after"),
    ("a key in the middle of a word", f'before "x_ghp_{_RUN}" after'),
    ("a key with characters that cannot be seen", f"before gsk_{_RUN[:9]}\u200b{_RUN[9:]} after"),
    (
        "a private key",
        f"before -----BEGIN {'RSA '}PRIVATE KEY-----\n{_RUN}\n-----END {'RSA '}PRIVATE KEY----- after",
    ),
    ("a signed token", f"before eyJhbGciOi{_RUN[:8]}.eyJ{_RUN[8:16]}.{_RUN[16:]} after"),
    ("a header", f"before Authorization: Bearer {_RUN} after"),
    ("a password in an address", f"before postgres://app:{_RUN}@db:5432/x after"),
    ("an assignment", f"before\nDB_PASSWORD={_PLAIN}\nafter"),
    ("a name of two words", f"before, API key: {_RUN}, after"),
    ("a sentence", f"before. The staging password is {_RUN[:10]} now, after"),
    ("a sentence in another language", f"before. Das Passwort lautet {_RUN[:10]}, after"),
    ("a table", f"before\n| db password | {_RUN[:10]} |\nafter"),
    ("a command line", f"before sshpass -p {_RUN[:10]} ssh after"),
    ("a key at the start of a line in JSON", f'{{"text": "before\\ngsk_{_RUN}\\nafter"}}'),
)
"""Test secrets by name, each in a text between the words `before` and `after`.

All secrets are invented, and each is split in the source so that secret scanners do not report it.
"""

_PIECE = pattern_of(r"[A-Za-z0-9]{7,}")


@cache
def failed_checks() -> tuple[str, ...]:
    """Return the names of the test secrets that redaction fails to hide; empty if it hides all.

    This self-test runs before anything is sent, because with a broken regular expression engine, a damaged
    installation or a wrong edit of a pattern, redaction would silently find nothing. One secret of each kind
    is redacted: the secret must be gone, and the words around it must still be there. The test takes less
    than a millisecond once the patterns are compiled; its result is cached for the life of the process.
    """
    if _is_hidden("\n".join(text for _name, text in PLANTED)):
        return ()
    return tuple(name for name, text in PLANTED if not _is_hidden(text)) or ("all of it at once",)


def _is_hidden(text: str) -> bool:
    clean = redact(text)
    if clean.count("before") != text.count("before") or clean.count("after") != text.count("after"):
        return False
    return not any(piece[0] in clean for piece in _PIECE.finditer(text) if piece[0] in _RUN + _PLAIN)
