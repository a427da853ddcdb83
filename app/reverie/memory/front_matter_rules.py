"""The rules by which agents find and parse front matter; a home's `Caps` name its agent's rules.

`mux`: a block begins with `---` at the first byte and ends at a line `---` within a bounded prefix; it is
strict YAML 1.2 (formats/mux.md section 7). `claude-code`: up to two byte order marks are skipped, and all
white space after the opening fence; the block ends at the first `---` anywhere, and only the first 30 lines
count. A key may occur twice. A block that does not parse is read once more with two spaces for each tab at
the beginning of a line, and with quotes around values that need them (measured with Claude Code 2.1.331,
tests/campaign/agents/claude_front_matter.py).

Pure; any thread. A block that does not parse raises `yaml12.MalformedError`.
"""

from __future__ import annotations

import re
from typing import Literal

from reverie.agents.scopes import FrontMatterRules
from reverie.memory import yaml12
from reverie.text.summaries import JS_SPACE
from reverie.values import Struct

BOM = "\ufeff"
CLAUDE_LINES = 30

_BLOCK = re.compile(r"---(?P<newline>\r?\n)(?P<raw>.*?)\r?\n---(?:\r?\n|\Z)", re.DOTALL)
_CLAUDE_BLOCK = re.compile(rf"---[{JS_SPACE}]*\n(?P<raw>.*?)---(?:[ \t]*\r?\n)?", re.DOTALL)
_LOOSE_BLOCK = re.compile(
    r"(?P<above>(?:[ \t]*\r?\n)*)---[ \t]*(?P<newline>\r?\n)(?P<raw>.*?)(?P<last>(?<=\n)|\r?\n)"
    r"(?P<close>---|\.\.\.)[ \t]*(?P<end>\r?\n|\Z)",
    re.DOTALL,
)
_USUAL_KEY = re.compile(r"^(?:name|description|type|metadata|title|tags|permalink):", re.MULTILINE)
_CLAUDE_VALUE = re.compile(rf"(?P<key>[A-Za-z_-]+):[{JS_SPACE}]+(?P<value>[^\r\n\u2028\u2029]+)")
_CLAUDE_SPECIAL = re.compile(r"[{}\[\]*&#!|>%@`]|: ")
_TAB_BEFORE_WORDS = re.compile(r"^\t+[^\s]", re.MULTILINE)
_TABS = re.compile(r"^\t+", re.MULTILINE)


class Frontmatter(Struct, frozen=True):
    """The position of the front matter in a text: its YAML is `text[block_start:block_end]`."""

    block_start: int
    block_end: int
    body_start: int
    """The position at which the text after the front matter begins."""
    newline: Literal["\n", "\r\n"]
    """The line ending of the opening `---` line."""
    bom: bool
    """Whether the text begins with a byte order mark; mux, which checks the first byte, then sees no front
    matter."""


def find_block(text: str, prefix_bytes: int | None, rules: FrontMatterRules) -> Frontmatter | None:
    """Return the position of the front matter that an agent finds by its rules; None if there is none.

    `text`: the whole text of the file. `prefix_bytes`: the number of bytes in which the agent searches for
    the end of the front matter; None: no limit. `rules`: how the agent reads front matter, "strict" (as mux
    does) or "lenient" (as Claude Code does).
    """
    bom = text.startswith(BOM)
    seen = text
    if prefix_bytes is not None:
        seen = text[:prefix_bytes].encode("utf-8", "surrogatepass")[:prefix_bytes].decode("utf-8", "replace")
    if rules == "lenient":
        return _claude_block(seen, prefix_bytes is not None)
    match = _BLOCK.match(seen, len(BOM) if bom else 0)
    if match is None:
        return None
    newline: Literal["\n", "\r\n"] = "\n" if match["newline"] == "\n" else "\r\n"
    return Frontmatter(*match.span("raw"), match.end(), newline, bom)


def _claude_block(seen: str, limited: bool) -> Frontmatter | None:
    if limited:
        seen = "\n".join(seen.split("\n", CLAUDE_LINES)[:CLAUDE_LINES])
    start = _marks(seen)
    match = _CLAUDE_BLOCK.match(seen, start)
    if match is None:
        return None
    first, end = match.span("raw")
    raw = match["raw"]
    end -= 2 if raw.endswith("\r\n") else 1 if raw.endswith("\n") else 0
    newline: Literal["\n", "\r\n"] = "\r\n" if seen[: seen.index("\n")].endswith("\r") else "\n"
    return Frontmatter(first, end, match.end(), newline, start > 0)


def block_of(text: str) -> Frontmatter | None:
    """Return the position of what a person would see as front matter, even if no agent reads it.

    None if there is none.
    """
    match = loose_block(text)
    if match is None:
        return None
    newline: Literal["\n", "\r\n"] = "\n" if match["newline"] == "\n" else "\r\n"
    return Frontmatter(*match.span("raw"), match.end(), newline, text.startswith(BOM))


def loose_block(text: str) -> re.Match[str] | None:
    """Return the match of what a person would see as front matter; None if there is none.

    Spaces may follow the opening and the closing line, empty lines may precede the opening one, and `...` may
    be the closing one. The groups of the match are `above`, `newline`, `raw`, `last` (line end), `close` and
    `end`.
    """
    match = _LOOSE_BLOCK.match(text, _marks(text))
    # Below an empty line, or with another last line, it might be ordinary text between two rules.
    if match is None or ((match["above"] or match["close"] != "---") and not _USUAL_KEY.search(match["raw"])):
        return None
    return match


def _marks(text: str) -> int:
    """Return the number of byte order marks to skip at the beginning, at most two."""
    return 2 if text.startswith(BOM * 2) else 1 if text.startswith(BOM) else 0


def as_read(raw: str, rules: FrontMatterRules) -> tuple[str, yaml12.YamlNode | None]:
    """Parse the front matter `raw` by an agent's rules; return the YAML that was parsed, and its root node.

    The YAML is `raw` itself, or `claude_quoted(raw)` if "lenient" rules need that; it has as many lines as
    `raw`. The root is None if there are only blank lines and comments. Raises `yaml12.MalformedError`.
    """
    if rules == "strict":
        return raw, yaml12.parse(raw)
    try:
        return raw, _parsed_by_claude(raw)
    except yaml12.MalformedError:
        quoted = claude_quoted(raw)
        return quoted, _parsed_by_claude(quoted)


def _parsed_by_claude(raw: str) -> yaml12.YamlNode | None:
    # libyaml accepts these, the agent's parser does not.
    if "\0" in raw or _TAB_BEFORE_WORDS.search(raw):
        raise yaml12.MalformedError("a NUL, or a tab that indents")
    return yaml12.parse(raw, keys_twice=True)


def parse(raw: str, rules: FrontMatterRules) -> yaml12.YamlNode | None:
    """Parse the front matter `raw` by an agent's rules; return the root node.

    Returns None if there are only blank lines and comments. Raises `yaml12.MalformedError`.
    """
    return as_read(raw, rules)[1]


def without_tabs(raw: str) -> str:
    """Return the front matter `raw` with two spaces, which YAML accepts, for each tab that indents a line."""
    return _TABS.sub(lambda tabs: "  " * len(tabs[0]), raw)


def claude_quoted(raw: str) -> str:
    """Return `raw`, front matter that does not parse, with the quotes that Claude Code adds around values.

    Tabs at the beginning of lines are replaced as well, by spaces.
    """
    return "\n".join(map(_claude_quoted_line, without_tabs(raw).split("\n")))


def _claude_quoted_line(line: str) -> str:
    end = "\r" if line.endswith("\r") else ""
    match = _CLAUDE_VALUE.fullmatch(line.removesuffix("\r"))
    if match is None or not _CLAUDE_SPECIAL.search(match["value"]):
        return line
    value = match["value"]
    if value[0] == value[-1] and value[0] in "\"'":
        return line
    if value[0] == "[" and value[-1] == "]" and _is_list(value):
        return line
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{match["key"]}: "{escaped}"{end}'


def _is_list(value: str) -> bool:
    try:
        _parsed_by_claude(value)
    except yaml12.MalformedError:
        return False
    return True
