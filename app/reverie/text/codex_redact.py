"""The four redactions Codex applies to what it remembers, in its order (formats/codex.md section 2).

Files that Reverie writes in Codex's place are redacted the same way, so that they are what the agent itself
would have written. It knows less than `text.redact`, which callers apply besides. Pure functions, linear: no
pattern can start over inside what it has consumed.
"""

from __future__ import annotations

import re

REDACTED = "[REDACTED_SECRET]"
_STEPS = (
    (re.compile(r"sk-[A-Za-z0-9]{20,}"), REDACTED),
    (re.compile(r"\bAKIA[0-9A-Z]{16}\b"), REDACTED),
    (re.compile(r"(?i)\bBearer\s+[A-Za-z0-9._\-]{16,}\b"), f"Bearer {REDACTED}"),
    (
        re.compile(r"(?i)\b(api[_-]?key|token|secret|password)\b(\s*[:=]\s*)([\"']?)[^\s\"']{8,}"),
        rf"\1\2\3{REDACTED}",
    ),
)


def codex_redact(text: str) -> str:
    """`text` with what looks like a key, a token or a password replaced, also across a line break."""
    for pattern, replacement in _STEPS:
        text = pattern.sub(replacement, text)
    return text
