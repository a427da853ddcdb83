"""Parser of instruction files as Claude Code loads them (formats/claude-code.md sections 12.1.6 and 12.1.12).

Front matter and block comments are removed, the rest is trimmed; `@path` in prose imports another file;
`paths` in a rule's front matter limits it to some files.

The agent reads Markdown without tables or other extensions: blocks first, then the inline parts of each. An
HTML comment is removed only if it is a block of its own at the top level. Imports are found in plain text
only, not in code, HTML, the target of a link or a link definition.

Pure, any thread. Accepts every text; the time is linear in its length except for unusual nesting, which is
bounded.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from reverie.agents.capabilities import ImportProblem
from reverie.text.patterns import pattern_of
from reverie.text.summaries import JS_SPACE
from reverie.values import Struct

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_FRONT_MATTER = pattern_of(rf"---[{JS_SPACE}]*\n(.*?)---[{JS_SPACE}]*", re.DOTALL)
_COMMENT = pattern_of(r"<!--.*?-->", re.DOTALL)
_MENTION = pattern_of(rf"(?:^|(?<=[{JS_SPACE}])|([(\[\"'“„‘]))@((?:[^{JS_SPACE}\\]|\\ )+)")
_LONGEST_REST = 200
_MOST_PLACED = 500
"""Maximum number of mentions whose line is determined; each costs a search in the text."""
_IMPORTABLE = pattern_of(r"\./|~/|/.|[A-Za-z0-9._-]")

_ENDINGS = """
    md txt text rst adoc asciidoc org tex latex py pyi js jsx ts tsx mjs cjs mts cts json yaml yml toml
    ini cfg conf config properties env xml html htm css scss sass less csv sh bash zsh fish ps1 bat cmd
    rb erb rake go rs java kt kts scala c cpp cc cxx h hpp hxx cs swift php pl pm lua r dart ex exs erl
    hrl clj cljs cljc edn hs lhs elm ml mli f f90 f95 for sql graphql gql proto vue svelte astro ejs hbs
    pug jade cmake make makefile gradle sbt lock log diff patch
"""
_KNOWN_ENDINGS = frozenset(_ENDINGS.split())
"""The endings of files that may be imported, in any case; a file without an ending may be imported, too."""


def without_front_matter(text: str) -> str:
    """Return a text without its byte order mark and leading front matter."""
    bare = text.removeprefix("\ufeff")
    block = _FRONT_MATTER.match(bare)
    return bare if block is None else bare[block.end() :]


def loaded_text(text: str) -> str:
    """Return the part of an instruction file's text that the agent loads; empty if it loads nothing.

    Front matter, HTML comments and surrounding white space are removed. Line breaks stay as they are unless a
    comment was removed, which turns all of them into `\\n`.
    """
    body = without_front_matter(text)
    if "<!--" in body:
        body = "".join(raw for raw, _line in _without_comments(body))
    return body.strip(JS_SPACE)


def loaded_lines(text: str) -> tuple[str, tuple[int, ...]]:
    """Return the loaded text, as `loaded_text` does, and for each of its lines the line number in the file.

    Line numbers are counted from 1.
    """
    body = without_front_matter(text)
    first = text[: len(text) - len(body)].count("\n") + 1
    pieces = list(_without_comments(body)) if "<!--" in body else [(body, 0)]
    whole = "".join(raw for raw, _line in pieces)
    numbers = [
        first + line + number
        for raw, line in pieces
        for number in range(raw.count("\n") + (raw is pieces[-1][0]))
    ]
    loaded = whole.strip(JS_SPACE)
    if not loaded:
        return "", ()
    skipped = whole[: len(whole) - len(whole.lstrip(JS_SPACE))].count("\n")
    return loaded, tuple(numbers[skipped : skipped + loaded.count("\n") + 1])


class Mention(Struct, frozen=True):
    """A path after an `@` in the prose of an instruction file: an import, or an attempted one."""

    target: str
    """The path, without a `#fragment` and without the backslashes before its spaces."""
    rest: str = ""
    """The rest of the line after the path."""
    joined: str = ""
    """The character right before the `@`, which prevents the import; empty if there is none."""
    line: int = 0
    """The first line of the file with this path, from 1; 0 if unknown."""


def mentions_in(text: str) -> tuple[Mention, ...]:
    """Return every path after an `@` in the prose of `text`, in order, each once."""
    body = without_front_matter(text)
    if "@" not in body:
        return ()
    found: dict[tuple[str, str], Mention] = {}
    at, line = 0, 1
    for run in _runs("\n".join(_lines(body))):
        for match in _MENTION.finditer(run):
            target, joined = match[2].partition("#")[0].replace("\\ ", " "), match[1] or ""
            if (target, joined) in found or not _IMPORTABLE.match(target):
                continue
            rest = run[match.end() : match.end() + _LONGEST_REST].partition("\n")[0]
            # Runs are in the order of the text, so the search starts behind the previous one.
            place = text.find(f"{joined}@{match[2]}", at) if len(found) < _MOST_PLACED else -1
            if place >= 0:
                at, line = place, line + text.count("\n", at, place)
            found[target, joined] = Mention(target, rest, joined, line if place >= 0 else 0)
    return tuple(found.values())


_MOST_BLANKS = 3
"""Maximum number of spaces at which alternative ends of a path are tried."""
_SIGNS_BEHIND = ".,:;!?)]}'\"”’"
_NOTES = (".md", ".mdc", ".markdown", ".txt", ".rst")


def why_not_imported(
    mention: Mention, is_there: Callable[[str], bool], *, too_deep: bool
) -> ImportProblem | None:
    """Return the reason why a mention of a path in an instruction file loads nothing.

    None for a mention that loads a file, and for one that was not meant as an import, such as a person's
    name. `is_there` returns whether a path, as written, leads to a file. `too_deep`: whether the mention is
    at a level of imports that the agent does not load.
    """
    target = mention.target
    bare = target.rstrip(_SIGNS_BEHIND)
    if mention.joined:
        return "sign-before" if is_there(target) or is_there(bare) else None
    if is_there(target):
        if not may_be_imported(posixpath.basename(target)):
            return "kind"
        return "too-deep" if too_deep else None
    if bare != target and is_there(bare):
        return "sign-behind"
    for end in islice(re.finditer(r"\.\w+", mention.rest), _MOST_BLANKS):
        if mention.rest.startswith(" ") and is_there(target + mention.rest[: end.end()]):
            return "blank"
    return "missing" if bare.lower().endswith(_NOTES) else None


def may_be_imported(name: str) -> bool:
    """Return whether a file with this name is of a kind that the agent imports."""
    ending = posixpath.splitext(name)[1]
    return not ending or ending[1:].lower() in _KNOWN_ENDINGS


def is_limited(text: str) -> bool:
    """Return whether the front matter of `text`, a rule file, limits the rule to some files.

    Such a rule is not loaded at the start of a session.
    """
    block = _FRONT_MATTER.match(text.removeprefix("\ufeff"))
    if block is None or "paths" not in block[1]:
        return False
    patterns = [
        pattern.removesuffix("/**") for value in _paths_of(block[1]) for pattern in _patterns_in(value)
    ]
    return any(pattern and pattern != "**" for pattern in patterns)


def _paths_of(block: str) -> Iterator[str]:
    value = _front_value(block)
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, str):
            yield each


def _front_value(block: str) -> Any:
    """Return the value of `paths` in a block of front matter; None if there is none.

    Values that are invalid YAML (`**/*.py` without quotes) are quoted first, as the agent does. None also if
    the block is invalid even then.
    """
    import yaml  # late: it costs tens of milliseconds, and few rules have front matter

    # Tabs indent as blanks do for the agent; YAML refuses them.
    block = re.sub(r"(?m)^[ \t]*\t[ \t]*", lambda indent: indent[0].replace("\t", "  "), block)
    for source in (block, re.sub(r"(?m)^([A-Za-z_-]+):[ \t]+([^\"'\[\n].*|\[.*[*:].*)$", _quoted, block)):
        try:
            data = yaml.safe_load(source)
        except (yaml.YAMLError, ValueError, RecursionError):
            continue
        return data.get("paths") if isinstance(data, dict) else None
    return None


def _quoted(match: re.Match[str]) -> str:
    escaped = match[2].replace("\\", "\\\\").replace('"', '\\"')
    return f'{match[1]}: "{escaped}"'


def _patterns_in(value: str) -> list[str]:
    """Return the path patterns in `value`, which are separated by commas; braces in them are expanded."""
    parts, depth, part = [], 0, ""
    for char in value:
        depth += (char == "{") - (char == "}")
        if char == "," and depth <= 0:
            parts.append(part)
            part = ""
        else:
            part += char
    parts.append(part)
    return [filled for each in parts if each.strip() for filled in _filled(each.strip(), 0)]


def _filled(pattern: str, depth: int) -> list[str]:
    match = re.search(r"\{([^{}]*)\}", pattern)
    if match is None or depth > 5:
        return [pattern]
    choices = match[1].split(",")
    return [
        each
        for choice in choices[:100]
        for each in _filled(pattern[: match.start()] + choice.strip() + pattern[match.end() :], depth + 1)
    ]


def _without_comments(body: str) -> Iterator[tuple[str, int]]:
    """Yield the Markdown text `body` in pieces, without HTML comments that are blocks at its top level.

    Each piece comes with the number of lines before it in `body`. A body without comments is one piece.
    """
    lines = _lines(body)
    kept, last = [], 0
    for token in _parsed("\n".join(lines)):
        if token.type != "html_block" or token.level or token.map is None:
            continue
        first, end = token.map
        while end < len(lines) and not lines[end].strip(" \t"):
            end += 1
        raw = "".join(f"{line}\n" for line in lines[first:end])
        if not raw.lstrip().startswith("<!--") or "-->" not in raw:
            continue
        kept.append(("".join(f"{line}\n" for line in lines[last:first]), last))
        left = _beside_comments(raw)
        if left.strip(JS_SPACE):
            kept.append((left, first + raw.count("\n") - left.count("\n")))
        last = end
    if not last:
        yield body, 0
        return
    yield from kept
    yield "".join(f"{line}\n" for line in lines[last:]), last


def _beside_comments(raw: str) -> str:
    """Return the HTML block `raw` without its comments; empty if it does not begin with a comment."""
    end = raw.rfind("-->") + 3
    if end < 3 or not raw.lstrip().startswith("<!--"):
        return ""
    # Only as far as a comment can end: each one that does not would be looked for to the end of the text.
    return _COMMENT.sub("", raw[:end]) + raw[end:]


def _lines(body: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", body)


@functools.cache
def _parser() -> MarkdownIt:
    # Late: it costs tens of milliseconds, and only texts with an `@` or a comment are parsed.
    from markdown_it import MarkdownIt, rules_block

    def fence_within(state: rules_block.StateBlock, first: int, end: int, silent: bool) -> bool:
        return not (silent and first + 1 >= end) and rules_block.fence(state, first, end, silent)

    # For the agent, an escaped character separates text, entities are not decoded, and a fence on the last
    # line ends no paragraph.
    parser = MarkdownIt("commonmark").disable(["entity", "text_join"])
    parser.block.ruler.at("fence", fence_within, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    return parser


def _parsed(text: str) -> list[Token]:
    return _parser().parse(text)


def _runs(text: str) -> Iterator[str]:
    """Yield every piece of the Markdown `text` in which an `@path` counts as an import.

    These are pieces of plain text: not code, HTML, or the target of a link.
    """
    for token in _parsed(text):
        if token.type == "html_block":
            yield _beside_comments(token.content)
        if token.type == "inline" and "@" in token.content:
            yield from _inline_runs(token.children or ())


def _inline_runs(tokens: Sequence[Token]) -> Iterator[str]:
    run, autolink = "", False
    for token in tokens:
        if not autolink and (token.type == "text" or token.content == token.markup == "\\ "):
            run += token.content
        elif token.type in ("softbreak", "hardbreak"):
            run += "\n"
        else:
            autolink = token.type == "link_open" and token.info == "auto"
            yield run
            run = ""
    yield run
