"""What a person may want to know of one memory before an agent reads it: pure rules over its bytes.

Findings are reasons to look, in calm words, never a reason to change anything: no rule here edits, hides or
sorts out a memory. Sentences quote no memory text (what they are about may be a secret); the line says where.

Bounds: of a text only the first `LOOKED_AT_BYTES` are looked at, and of one kind at most `SHOWN_OF_A_KIND`
findings are given, the last saying how many more there are. Pure; any thread; `check` may raise to stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Literal, NamedTuple

from reverie.homes.scopes import Caps
from reverie.memory import frontmatter, yaml12
from reverie.memory.lint_phrases import instruction_lines
from reverie.memory.lint_unicode import Hiding, hidden_characters, spelled_by_tags, without_invisible
from reverie.text.counts import some
from reverie.text.redact import Secret, find_secrets

LintKind = Literal[
    "front-matter", "over-cap", "not-utf8", "nul", "secret", "hidden", "bidi", "instruction", "description",
    "empty",
]  # fmt: skip
Severity = Literal["error", "warning", "note"]

LOOKED_AT_BYTES = 1024 * 1024
SHOWN_OF_A_KIND = 8
_PROSE = frozenset({"", "md", "markdown", "mdx", "txt"})
_SECRETS = {
    "private-key": "a private key",
    "provider-key": "a provider's key",
    "jwt": "a signed token",
    "auth-header": "an authorization header",
    "url-password": "a password in an address",
    "password": "a password",
    "token": "a token",
}
_HIDDEN: dict[Hiding, tuple[LintKind, str]] = {
    "zero-width": ("hidden", "{count} here cannot be seen, but a model reads them."),
    "tags": ("hidden", "{count} here spell text that a model reads and nobody sees."),
    "bidi": ("bidi", "{count} here change the reading direction: the line may read otherwise than it shows."),
    "control": ("hidden", "{count} here are control characters."),
}


class LintFinding(NamedTuple):
    """One thing to look at. `line` counts from 1; 0: the whole file. `sentence` quotes no memory text."""

    kind: LintKind
    severity: Severity
    line: int
    sentence: str


def no_check() -> None:
    """For callers that never stop."""


def lint(
    data: bytes,
    caps: Caps,
    *,
    rel: str = "",
    size: int | None = None,
    unseen_reason: str = "",
    check: Callable[[], None] = no_check,
) -> tuple[LintFinding, ...]:
    """The findings of one file, in the order of its lines; `()` for nothing to say.

    `data`: its bytes, or their beginning; `size`: how many there are in all. `rel`: its path in the scope.
    `unseen_reason`: why the agent does not read it, as the listing says.
    """
    total = len(data) if size is None else size
    found = list(_about_the_file(data, total, caps, unseen_reason))
    is_whole = total <= len(data) <= LOOKED_AT_BYTES
    text, bad_line = _decoded(data[:LOOKED_AT_BYTES], is_whole=is_whole)
    if bad_line:
        found.append(_bad_bytes(bad_line))
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        found.append(
            LintFinding("nul", "error", line, "A NUL byte stands here: agents take the file for no text.")
        )
    elif text.strip() and not bad_line:
        found += _front_matter(data, text, caps, rel)
    check()
    found += _secrets(text)
    check()
    found += _hidden(text)
    check()
    found += _instructions(text)
    return tuple(sorted(_bounded(found), key=lambda each: each.line))


def _about_the_file(data: bytes, size: int, caps: Caps, unseen_reason: str) -> Iterator[LintFinding]:
    if unseen_reason:
        yield LintFinding("over-cap", "warning", 0, f"The agent does not see this file: {unseen_reason}.")
    elif size > caps.file_bytes:
        yield LintFinding(
            "over-cap",
            "warning",
            0,
            f"The agent does not see this file: it is larger than {caps.file_bytes:,} bytes.",
        )
    if not data.removeprefix(b"\xef\xbb\xbf").strip():
        yield LintFinding("empty", "note", 0, "The file is empty.")


def _decoded(data: bytes, *, is_whole: bool) -> tuple[str, int]:
    """The text, and the first line that is no UTF-8 (0: none)."""
    try:
        return data.decode("utf-8"), 0
    except UnicodeDecodeError as error:
        cut = not is_whole and error.reason == "unexpected end of data"
        bad_line = 0 if cut else data.count(b"\n", 0, error.start) + 1
        return data.decode("utf-8", "replace"), bad_line


def _bad_bytes(line: int) -> LintFinding:
    return LintFinding(
        "not-utf8",
        "error",
        line,
        "Bytes here are not valid UTF-8. The file is shown read-only, so that none of them is lost.",
    )


def _front_matter(data: bytes, text: str, caps: Caps, rel: str) -> Iterator[LintFinding]:
    if not caps.descriptions:
        return
    state = frontmatter.description(data, caps).state
    limit = f"{caps.description_prefix_bytes:,}"
    if text.startswith(frontmatter.BOM) and frontmatter.split(text) is not None:
        yield LintFinding(
            "front-matter",
            "warning",
            1,
            "The file begins with a byte order mark, so the agent does not see its front matter.",
        )
    elif state == "malformed":
        yield LintFinding(
            "front-matter",
            "warning",
            _broken_line(text),
            "The front matter cannot be read, so the agent shows no description.",
        )
    elif state == "unclosed":
        is_long = frontmatter.split(text) is not None
        yield LintFinding(
            "front-matter",
            "warning",
            1,
            f"The front matter is longer than the first {limit} bytes, which is all the agent reads of it."
            if is_long
            else "The front matter is opened and never closed, so the agent shows no description.",
        )
    elif state == "none" and _suffix(rel) in _PROSE:
        yield LintFinding(
            "description", "note", 1, "There is no description: an agent sees only the name in its list."
        )


def _broken_line(text: str) -> int:
    """The line the parser stumbled over, else that of the opening fence."""
    block = frontmatter.split(text)
    if block is None:
        return 1
    try:
        yaml12.parse(text[block.block_start : block.block_end])
    except yaml12.MalformedError as error:
        mark = getattr(error.__cause__, "problem_mark", None)
        last = text.count("\n", 0, block.block_end) + 1
        return min(2 + int(mark.line), last) if mark is not None else 1
    return 1


def _secrets(text: str) -> Iterator[LintFinding]:
    secrets = find_secrets(text)
    for line, secret in _with_lines(text, secrets):
        said = _SECRETS.get(secret.kind, "a secret")
        yield LintFinding(
            "secret",
            "warning",
            line,
            f"This looks like {said}. It stays in the file; what leaves this machine has it blacked out.",
        )


def _with_lines(text: str, secrets: Iterable[Secret]) -> Iterator[tuple[int, Secret]]:
    line, counted = 1, 0
    for secret in secrets:
        line += text.count("\n", counted, secret.start)
        counted = secret.start
        yield line, secret


def _hidden(text: str) -> Iterator[LintFinding]:
    for (line, hiding), group in groupby(hidden_characters(text), key=lambda each: (each.line, each.kind)):
        kind, sentence = _HIDDEN[hiding]
        chars = [each.char for each in group]
        code = "" if len(set(chars)) > 1 else f" (U+{ord(chars[0]):04X})"
        count = f"{some(len(chars), 'character')}{code}"
        yield LintFinding(kind, "warning", line, sentence.format(count=count))


def _instructions(text: str) -> Iterator[LintFinding]:
    lines = instruction_lines(without_invisible(text))
    if not lines and instruction_lines(spelled_by_tags(text)):
        lines = [next(each.line for each in hidden_characters(text) if each.kind == "tags")]
    for line in lines:
        yield LintFinding(
            "instruction",
            "warning",
            line,
            "This reads like an instruction to a model. If it is not yours, find out where it came from.",
        )


def _bounded(found: Iterable[LintFinding]) -> Iterator[LintFinding]:
    by_kind: dict[LintKind, list[LintFinding]] = {}
    for each in found:
        by_kind.setdefault(each.kind, []).append(each)
    for several in by_kind.values():
        yield from several[:SHOWN_OF_A_KIND]
        more = len(several) - SHOWN_OF_A_KIND
        if more > 0:
            next_one = several[SHOWN_OF_A_KIND]
            sentence = f"{more} more like this from here on."
            yield LintFinding(next_one.kind, next_one.severity, next_one.line, sentence)


def _suffix(rel: str) -> str:
    name = rel.rpartition("/")[2]
    return name.rpartition(".")[2].casefold() if "." in name[1:] else ""
