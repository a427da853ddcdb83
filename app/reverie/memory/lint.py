"""Checks of one memory before an agent reads it: pure rules over its bytes.

A finding asks a person to read a line; no rule edits, hides or removes a memory. The sentences quote no
memory text, because it may be a secret; the line number locates it.

Limits: only the first `CHECKED_BYTES` of a text are checked, and at most `MAX_SHOWN_PER_KIND` findings of a
kind are returned; the last one says how many more there are. Any thread; `check` may raise to stop.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import groupby

from reverie.agents.scopes import Caps, FrontMatterRules
from reverie.memory import front_matter, yaml12
from reverie.memory.front_matter_rules import BOM, block_of, parse
from reverie.memory.hidden_characters import HiddenKind, hidden_characters, spelled_by_tags, without_invisible
from reverie.memory.instruction_lines import instruction_lines
from reverie.memory.listing import LintFinding, LintKind, no_check, over_cap_finding
from reverie.text.redact import Secret, marked_secrets
from reverie.text.summaries import is_utf16, readable_text, some

_LONGEST_READ = 60
_LONGEST_PLACEHOLDER = 160
_PLACEHOLDER_WORD = re.compile(r"\b(?:unchanged|existing|previous|same|remain\w*|rest|others?)\b", re.I)
_PLACEHOLDER = re.compile(
    r"(?:<!--|//|\#+|/\*|--|[-*>])?\s*(?P<before>\.{3}|…)?\s*(?P<open>[\[(<{])?\s*(?:\.{3}|…)?\s*"
    r"(?:keep\s+)?(?:all\s+)?(?:the\s+)?"
    r"(?:(?:rest|remainder|remaining|other|others)\b[^.!?;:…]{0,60}?"
    r"\b(?:unchanged|as[ -](?:before|is)|(?:the\s+)?same(?:\s+as\s+before)?|omitted|remains?|stays?|here)"
    r"|(?P<short>(?:rest|remainder)\s+of\s+(?:the\s+)?(?:\w+\s+){0,2}\w+)"
    r"|(?:existing|previous|unchanged|same)\b[^.!?;:…]{0,50}?"
    r"\b(?:content|contents|code|text|file|section|sections|entries|lines|as\s+before|unchanged|here)"
    r"(?:\s+(?:unchanged|as[ -](?:before|is)|remains?|stays?|here|continues|omitted))*)"
    r"\s*(?P<after>\.{3}|…)?\s*(?P<close>[\])>}])?\.?\s*(?:-->|\*/)?",
    re.IGNORECASE,
)
CHECKED_BYTES = 1024 * 1024
_SHORT = 16 * 1024
"""The size in bytes up to which the findings of a text are cached: of nearly every memory."""
MAX_SHOWN_PER_KIND = 8
_PROSE = frozenset({"", "md", "markdown", "mdx", "txt"})
_SECRET_LABELS = {
    "private-key": "a private key",
    "provider-key": "a provider's key",
    "jwt": "a signed token",
    "auth-header": "an authorization header",
    "url-password": "a password in an address",
    "password": "a password",
    "token": "a token",
}
_HIDDEN: dict[HiddenKind, tuple[LintKind, str]] = {
    "zero-width": ("hidden", "{count} here are invisible, but a model reads them."),
    "tags": ("hidden", "{count} here spell text that a model reads but people cannot see."),
    "bidi": (
        "bidi",
        "{count} here change the reading direction, so the line may mean something other than it shows.",
    ),
    "control": ("hidden", "{count} here are control characters."),
}


def lint(
    data: bytes,
    caps: Caps,
    *,
    rel: str = "",
    size: int | None = None,
    unseen_reason: str = "",
    check: Callable[[], None] = no_check,
) -> tuple[LintFinding, ...]:
    """Check one file for problems, and return them in the order of its lines; empty if there are none.

    `data`: the bytes of the file, or their beginning; `size`: the total number of bytes, None if `data` is
    the whole file. `caps`: the limits of the agent. `rel`: the path of the file in the scope.
    `unseen_reason`: why the agent does not read the file (`MemoryFile.unseen_reason`); empty if it does, or
    if that is unknown. `check` may raise to stop: it is called several times during the work, or only once,
    before it, if `data` is short.
    """
    total = len(data) if size is None else size
    if len(data) > _SHORT:
        return _findings(data, caps, rel, total, unseen_reason, check)
    check()
    return _findings_of_short(data, caps, rel, total, unseen_reason)


def _findings(
    data: bytes, caps: Caps, rel: str, size: int, unseen_reason: str, check: Callable[[], None] = no_check
) -> tuple[LintFinding, ...]:
    found = list(_about_the_file(data, size, caps, unseen_reason))
    is_whole = size <= len(data) <= CHECKED_BYTES
    text, bad_line = _decoded(data[:CHECKED_BYTES], is_whole=is_whole)
    if is_utf16(data):
        text = readable_text(data[:CHECKED_BYTES])
        sentence = "This file is UTF-16, not UTF-8. It is shown read-only."
        found.append(LintFinding("not-utf8", "error", 0, sentence))
    elif bad_line:
        found.append(_bad_bytes(bad_line))
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        found.append(
            LintFinding(
                "nul", "error", line, "There is a NUL byte here, so agents do not treat the file as text."
            )
        )
    elif text.strip() and not bad_line:
        found += _front_matter(data, text, caps, rel)
    found += _left_by_a_model(text)
    check()
    found += _secrets(text)
    check()
    found += _hidden(text)
    check()
    found += _instructions(text)
    return tuple(sorted(_bounded(found), key=lambda each: each.line))


# The list of findings, the index and the agent's context check the same texts, again after every change.
_findings_of_short = lru_cache(maxsize=512)(_findings)


def _about_the_file(data: bytes, size: int, caps: Caps, unseen_reason: str) -> Iterator[LintFinding]:
    if unseen_reason:
        yield over_cap_finding(unseen_reason)
    elif size > caps.file_bytes:
        yield over_cap_finding(f"the file is larger than {caps.file_bytes:,} bytes")
    if not data.removeprefix(b"\xef\xbb\xbf").strip():
        yield LintFinding("empty", "note", 0, "The file is empty.")


def _decoded(data: bytes, *, is_whole: bool) -> tuple[str, int]:
    """Return the decoded text, and the number of the first line that is not valid UTF-8 (0: none).

    If `is_whole` is False, `data` may end in the middle of a character.
    """
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
        "Some bytes here are not valid UTF-8. The file is shown read-only, so that no byte is lost.",
    )


def _front_matter(data: bytes, text: str, caps: Caps, rel: str) -> Iterator[LintFinding]:
    if not caps.descriptions:
        return
    rules = caps.front_matter
    state = front_matter.description(data, caps).state
    limit = f"{caps.description_prefix_bytes:,}"
    yield from _repeated_key(text, rules)
    cut = front_matter.cut_description(text, caps.description_prefix_bytes, rules=rules)
    if cut is not None:
        yield LintFinding("cut", "warning", cut.line, _cut_sentence(cut))
    if caps.front_matter == "strict" and text.startswith(BOM) and front_matter.split(text) is not None:
        yield LintFinding(
            "front-matter",
            "warning",
            1,
            "The file begins with a byte order mark, so the agent does not see its front matter.",
        )
    elif state == "malformed" and front_matter.repeated_key(text, rules=rules) is None:
        yield LintFinding(
            "front-matter",
            "warning",
            _broken_line(text, caps.front_matter),
            "The front matter cannot be read, so the agent shows no description.",
        )
    elif state == "unclosed":
        is_long = front_matter.split(text, rules=rules) is not None
        has_blanks = not is_long and block_of(text) is not None
        yield LintFinding(
            "front-matter",
            "warning",
            1,
            (f"The front matter is longer than {limit} bytes. The agent reads only the first {limit} bytes.")
            if is_long
            else "There are spaces after a line of three dashes, so the agent does not see the front matter."
            if has_blanks
            else "The front matter has no closing line, so the agent shows no description.",
        )
    elif (
        state == "none" and front_matter.begins_block(text) and front_matter.split(text, rules=rules) is None
    ):
        yield LintFinding(
            "front-matter",
            "warning",
            1,
            "There is text before the first line of three dashes, or on it, so the agent does not see "
            "the front matter.",
        )
    elif state == "none" and cut is None and _suffix(rel) in _PROSE and not is_undescribed(rel, caps):
        yield LintFinding(
            "description", "note", 1, "There is no description, so an agent sees only the name in its list."
        )


def is_undescribed(rel: str, caps: Caps) -> bool:
    """Return whether a file, such as an index, needs no description by the agent's limits `caps`.

    `rel`: the path of the file in the scope.
    """
    return bool(caps.undescribed) and re.fullmatch(caps.undescribed, rel) is not None


def _repeated_key(text: str, rules: FrontMatterRules) -> Iterator[LintFinding]:
    twice = front_matter.repeated_key(text, rules=rules)
    if twice is None:
        return
    key = f"“{twice[0]}”" if re.fullmatch(r"[A-Za-z_-]{1,30}", twice[0]) else "A key"
    sentence = (
        f"{key} occurs twice in the front matter, so the agent reads none of it."
        if rules == "strict"
        else f"{key} occurs twice in the front matter; the agent uses the last one."
    )
    yield LintFinding("front-matter", "warning", twice[1], sentence)


def _cut_sentence(cut: front_matter.CutDescription) -> str:
    why = "# starts a comment" if cut.sign == "#" else "--- ends the front matter"
    read = " ".join(cut.read.split())
    if not read:
        return f"The agent reads no description here: {why}."
    if len(read) > _LONGEST_READ or marked_secrets(read):
        return f"The agent reads only the beginning of the description: {why}."
    return f"The agent reads only “{read}”: {why}."


def _left_by_a_model(text: str) -> Iterator[LintFinding]:
    for line in conflict_lines(text):
        sentence = "A merge was not finished: the text contains two versions."
        yield LintFinding("conflict", "warning", line, sentence)
    for line in placeholder_lines(text):
        sentence = "A placeholder replaces text that was lost. Open the history to find the text."
        yield LintFinding("placeholder", "warning", line, sentence)


def conflict_lines(text: str) -> list[int]:
    """Return the numbers, from 1, of the lines that begin an unresolved merge conflict (`<<<<<<< `).

    Only complete conflicts count, with `=======` and `>>>>>>> ` below.
    """
    if "<<<<<<< " not in text or ">>>>>>> " not in text:
        return []
    found, begun, divided = [], 0, False
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if line.startswith("<<<<<<< "):
            begun, divided = number, False
        elif line == "=======":
            divided = True
        elif line.startswith(">>>>>>> ") and begun and divided:
            found.append(begun)
            begun = 0
    return found


def placeholder_lines(text: str) -> list[int]:
    """Return the numbers, from 1, of lines that a model left in place of text: "… rest unchanged …".

    Code is ignored, because it may be shortened that way.
    """
    if not _PLACEHOLDER_WORD.search(text):
        return []
    found, fence = [], ""
    for number, line in enumerate(text.split("\n"), 1):
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~") and fence in ("", mark):
            fence = "" if fence else mark
        elif not fence and is_placeholder(line):
            found.append(number)
    return found


def is_placeholder(line: str) -> bool:
    """Return whether a line consists only of a model's placeholder for text that it left out."""
    line = line.strip()
    match = _PLACEHOLDER.fullmatch(line) if len(line) <= _LONGEST_PLACEHOLDER else None
    if match is None:
        return False
    is_bracketed = (bool(match["open"]) and bool(match["close"])) or line.startswith("<!--")
    dots = bool(match["before"]) + bool(match["after"])
    return dots == 2 if match["short"] else is_bracketed or dots > 0


def _broken_line(text: str, rules: FrontMatterRules) -> int:
    """Return the line (from 1) at which the parser failed in the front matter of `text`.

    If that is unknown, return 1, the line of the opening `---`.
    """
    block = front_matter.split(text, rules=rules)
    if block is None:
        return 1
    try:
        parse(text[block.block_start : block.block_end], rules)
    except yaml12.MalformedError as error:
        mark = getattr(error.__cause__, "problem_mark", None)
        last = text.count("\n", 0, block.block_end) + 1
        return min(2 + int(mark.line), last) if mark is not None else 1
    return 1


def _secrets(text: str) -> Iterator[LintFinding]:
    secrets = marked_secrets(text)
    for line, secret in _with_lines(text, secrets):
        said = _SECRET_LABELS.get(secret.kind, "a secret")
        yield LintFinding(
            "secret",
            "warning",
            line,
            f"This looks like {said}. It stays in the file, but Reverie redacts it before sending text "
            "to a model.",
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
    if not lines and not text.isascii() and instruction_lines(spelled_by_tags(text)):
        lines = [next(each.line for each in hidden_characters(text) if each.kind == "tags")]
    for line in lines:
        yield LintFinding(
            "instruction",
            "warning",
            line,
            "This looks like an instruction to a model. If you did not write it, find out where it came"
            " from.",
        )


def _bounded(found: Iterable[LintFinding]) -> Iterator[LintFinding]:
    by_kind: dict[LintKind, list[LintFinding]] = {}
    for each in found:
        by_kind.setdefault(each.kind, []).append(each)
    for several in by_kind.values():
        yield from several[:MAX_SHOWN_PER_KIND]
        more = len(several) - MAX_SHOWN_PER_KIND
        if more > 0:
            next_one = several[MAX_SHOWN_PER_KIND]
            sentence = f"{more} more warnings like this below."
            yield LintFinding(next_one.kind, next_one.severity, next_one.line, sentence)


def _suffix(rel: str) -> str:
    name = rel.rpartition("/")[2]
    return name.rpartition(".")[2].casefold() if "." in name[1:] else ""
