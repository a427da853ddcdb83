"""The redactions that Codex applies to its memories.

Pure; any thread.
"""

from __future__ import annotations

from reverie.text.patterns import pattern_of

REDACTED = "[REDACTED_SECRET]"
_STEPS = (
    (pattern_of(r"sk-[A-Za-z0-9]{20,}"), REDACTED),
    (pattern_of(r"\bAKIA[0-9A-Z]{16}\b"), REDACTED),
    (pattern_of(r"(?i)\bBearer\s+[A-Za-z0-9._\-]{16,}\b"), f"Bearer {REDACTED}"),
    (
        pattern_of(r"(?i)\b(api[_-]?key|token|secret|password)\b(\s*[:=]\s*)([\"']?)[^\s\"']{8,}"),
        rf"\1\2\3{REDACTED}",
    ),
)


def codex_redact(text: str) -> str:
    """Return `text` with keys, tokens and passwords replaced as Codex does, even across a line break.

    The function applies the four redactions of Codex in the order in which Codex applies them
    (formats/codex.md section 2), so that files that Reverie writes on behalf of Codex are equal to those that
    Codex writes. Callers apply `redact` as well.
    """
    for pattern, replacement in _STEPS:
        text = pattern.sub(replacement, text)
    return text
