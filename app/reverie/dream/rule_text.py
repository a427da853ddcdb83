"""What the rules do to a single note: is it empty, does it lack a description, does it carry noise.

Each function answers with the note's new text, or None when there is nothing to do or it cannot be done
without loss. A description is made of the note's own words, never of a secret; noise is white space that no
reader sees, outside front matter and code.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reverie.dream.front_keys import read_keys
from reverie.dream.passages import Passage, heading_text, split_passages, table_cells
from reverie.dream.reading import split_sentences
from reverie.dream.retention import folded_words
from reverie.homes.scopes import Caps
from reverie.memory import frontmatter
from reverie.text.redact import find_secrets
from reverie.text.tokens import cut_utf16, utf16_length

_EMPTY_BLOCK = re.compile(r"---\r?\n(?:[ \t]*\r?\n)*---[ \t]*(?:\r?\n|\Z)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"(?<![\w/])(?:\*{1,3}|_{1,3}|~~)(?=\S)|(?<=[^\s/])(?:\*{1,3}|_{1,3}|~~)(?![\w/])")
_MARKER = re.compile(r"^\s*(?:>\s*)*(?:[-*+•]\s+|\d{1,3}[.)]\s+)?(?:\[[ xX]\]\s+)?")
_COMMENT = re.compile(r"<!--.*?(?:-->|$)")
_DECLARED = re.compile(r"^description:[ \t]*(\S.*)$", re.MULTILINE)
_TRAILING = re.compile(r"[ \t]+(\r?)$")
# What the agent itself refuses to write into a memory (formats/mux.md section 11), even where a human would
# see that it is no real key.
_KEY_SHAPE = re.compile(r"\bsk-[A-Za-z0-9_-]{12,}")
_BARE_KEY = re.compile(r"\s*description:\s*")
_HARD_BREAK = re.compile(r"[^ \t] {2,}\r?$")


def is_empty(text: str) -> bool:
    """Nothing but white space, or an empty front matter block and nothing else."""
    bare = text.removeprefix(frontmatter.BOM)
    return (
        not _EMPTY_BLOCK.sub("", bare.lstrip(), count=1).strip()
        if bare.startswith("---")
        else not bare.strip()
    )


# --- description --------------------------------------------------------------------------------------------


def lacks_description(text: str, caps: Caps) -> bool:
    """Whether an agent's index would show nothing for the note."""
    return caps.descriptions and not _shown(text, caps)


def with_description(text: str, caps: Caps) -> str | None:
    """The note with a description that the agent sees."""
    if not lacks_description(text, caps):
        return None
    block = frontmatter.split(text)
    if block is not None and frontmatter.split(text, caps.description_prefix_bytes) is None:
        return None
    mended = frontmatter.mend(text)
    result = mended or text
    if not _shown(result, caps):
        value = _value(result, caps)
        if value is None:
            return None
        result = frontmatter.set_description(result, value)
    is_better = bool(_shown(result, caps)) and _keeps_words(text, result)
    return result if is_better and len(result.encode("utf-8", "surrogatepass")) <= caps.file_bytes else None


def _shown(text: str, caps: Caps) -> str:
    beginning = text[: caps.description_prefix_bytes].encode("utf-8", "surrogatepass")
    return frontmatter.description(beginning, caps).text


def _value(text: str, caps: Caps) -> str | None:
    """What to write: the value that stands there but is no text, else the note's first words that hold no
    secret."""
    keys = read_keys(text)
    key = next((each for each in keys.keys if each.name == "description"), None) if keys is not None else None
    if key is not None:
        below = (line for line in key.lines[1:] if not line.lstrip().startswith("#"))
        stated = _flat(" ".join([key.lines[0].split(":", 1)[1], *below]))
        if re.search(r"\w", stated) and stated.casefold() not in ("null", '""', "''"):
            items = stated.strip("[]{}").removeprefix("- ").replace(" - ", ", ")
            fits = utf16_length(items) <= caps.description_chars and not _may_be_secret(items)
            return items if fits else None
    return next(_first_words(text, caps), None)


def _first_words(text: str, caps: Caps) -> Iterator[str]:
    block = frontmatter.split(text)
    start = block.body_start if block is not None else 0
    body = text[start:].removeprefix(frontmatter.BOM)
    secret_lines = {
        line
        for secret in find_secrets(body)
        for line in range(body.count("\n", 0, secret.start), body.count("\n", 0, secret.end) + 1)
    }
    for passage in split_passages(body):
        if secret_lines.intersection(range(passage.first, passage.end)):
            continue
        words = _passage_words(passage, caps)
        if re.search(r"[^\W\d_]", words) and not _may_be_secret(words):
            yield words


def _may_be_secret(text: str) -> bool:
    return bool(find_secrets(text) or _KEY_SHAPE.search(text))


def _passage_words(passage: Passage, caps: Caps) -> str:
    if passage.kind in ("code", "rule"):
        return ""
    if passage.kind in ("head", "row"):
        return _cut(_plain(", ".join(cell for cell in table_cells(passage.lines[0]) if cell)), caps)
    joined = " ".join(_MARKER.sub("", line.strip()) for line in passage.lines)
    declared = _DECLARED.match(joined)
    if declared is not None:
        return _cut(_plain(declared[1].strip("\"'")), caps)
    if passage.kind == "heading":
        return _cut(_plain(heading_text(passage.lines[0])), caps)
    sentences = split_sentences(_plain(joined))
    return _cut(sentences[0], caps) if sentences else ""


def _plain(text: str) -> str:
    """Text without Markdown's marks."""
    text = _LINK.sub(r"\1", _COMMENT.sub(" ", text)).replace("`", "")
    return _flat(_EMPHASIS.sub("", text))


def _flat(text: str) -> str:
    return frontmatter.flattened(text, 1_000_000)


def _cut(text: str, caps: Caps) -> str:
    """At most as long as the agent shows, cut between words."""
    if utf16_length(text) <= caps.description_chars:
        return text
    cut = cut_utf16(text, caps.description_chars - 1)
    at_space = cut.rsplit(" ", 1)[0] if " " in cut[len(cut) // 2 :] else cut
    return at_space.rstrip(" ,;:-") + "…"


def _keeps_words(before: str, after: str) -> bool:
    lines = {folded_words(line) for line in after.splitlines()}
    joined = "\n".join(lines)
    said = (folded_words(line) for line in before.splitlines() if not _BARE_KEY.fullmatch(line))
    return all(words in lines or words in joined for words in said)


# --- noise --------------------------------------------------------------------------------------------------


def without_noise(text: str) -> str | None:
    """The note without trailing blanks and blank lines at its end, if it has any."""
    block = frontmatter.split(text)
    start = block.body_start if block is not None else 0
    body = text[start:]
    if block is None and text.removeprefix(frontmatter.BOM).startswith(("---\n", "---\r\n")):
        # An unclosed block, perhaps: what is front matter and what is not, nobody knows.
        return None
    lines = body.split("\n")
    code = (
        _code_lines(body) if "```" in body or "~~~" in body or "    " in body or "\t" in body else frozenset()
    )
    for number, line in enumerate(lines):
        if not (number or start) and line.strip() == "---":
            # Without its trailing blank this rule would open a front matter block.
            continue
        if number in code or not line.removesuffix("\r").endswith((" ", "\t")):
            continue
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if not (_HARD_BREAK.search(line) and following.strip()):
            lines[number] = _TRAILING.sub(r"\1", line)
    tidied = "\n".join(lines)
    if len(lines) - 1 not in code and len(lines) - 2 not in code:
        tidied = _with_one_end(tidied, has_block=block is not None)
    return text[:start] + tidied if tidied != body else None


def _with_one_end(body: str, *, has_block: bool) -> str:
    """The body without blank lines at its end; nothing but those below front matter is nothing."""
    words = body.rstrip(" \t\r\n")
    if not words:
        return "" if has_block else body
    end = body.find("\n", len(words)) + 1
    is_lone_return = "\r" in body[end:].replace("\r\n", "")
    return body if not end or is_lone_return else body[:end]


def _code_lines(body: str) -> frozenset[int]:
    return frozenset(
        number
        for each in split_passages(body)
        if each.kind == "code"
        for number in range(each.first, each.end)
    )
