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

import posixpath
import re
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Literal

from reverie.agents.capabilities import ImportProblem
from reverie.text.patterns import pattern_of
from reverie.text.summaries import JS_SPACE
from reverie.values import Struct

_FRONT_MATTER = pattern_of(rf"---[{JS_SPACE}]*\n(.*?)---[{JS_SPACE}]*", re.DOTALL)
_COMMENT = pattern_of(r"<!--.*?-->", re.DOTALL)
_MENTION = pattern_of(rf"(?:^|(?<=[{JS_SPACE}])|([(\[\"'“„‘]))@((?:[^{JS_SPACE}\\]|\\ )+)")
_LONGEST_REST = 200
_MOST_PLACED = 500
"""Maximum number of mentions whose line is determined; each costs a search in the text."""
_IMPORTABLE = pattern_of(r"\./|~/|/.|[A-Za-z0-9._-]")
_DEEPEST = 20
"""Maximum depth of containers inside containers."""

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
    """Return the part of a file's text that the agent loads; empty for nothing.

    Line breaks stay as they are unless a comment was removed, which turns all of them into `\\n`.
    """
    body = without_front_matter(text)
    if "<!--" in body:
        body = "".join(raw for raw, _line in _without_comments(body))
    return body.strip(JS_SPACE)


def loaded_lines(text: str) -> tuple[str, tuple[int, ...]]:
    """Return the loaded text, as `loaded_text` does, and the number in the file (from 1) of each line."""
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
    """A path after an `@` in prose: an import, or an attempted one."""

    target: str
    """The path as the agent reads it."""
    rest: str = ""
    """The rest of the line after the path."""
    joined: str = ""
    """The character right before the `@`, which prevents the import; empty if there is none."""
    line: int = 0
    """The first line (from 1) of the file with this path; 0 if unknown."""


def mentions_in(text: str) -> tuple[Mention, ...]:
    """Return every path after an `@` in this text, in order, each once."""
    body = without_front_matter(text)
    if "@" not in body:
        return ()
    lines = _lines(body)
    blocks = list(_blocks(lines, top=True))
    names = frozenset(_definitions(blocks, 0))
    found: dict[tuple[str, str], Mention] = {}
    at, line = 0, 1
    for run in _runs_of(blocks, names, 0):
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


def imports_in(text: str) -> tuple[str, ...]:
    """Return the paths that a file with this text imports, as written, in order, each once."""
    return tuple(each.target for each in mentions_in(text) if not each.joined)


_MOST_BLANKS = 3
"""Maximum number of spaces at which alternative ends of a path are tried."""
_SIGNS_BEHIND = ".,:;!?)]}'\"”’"
_NOTES = (".md", ".mdc", ".markdown", ".txt", ".rst")


def why_not_imported(
    mention: Mention, is_there: Callable[[str], bool], *, too_deep: bool
) -> ImportProblem | None:
    """Return why a mention loads nothing.

    None for a mention that loads a file, and for one that was not meant as an import, such as a person's
    name. `is_there` returns whether a path, as written, leads to a file.
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
    """Return whether the front matter of a rule limits it to some files.

    Such a rule is not loaded at the start.
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
    """Return the value of `paths` in a block of front matter.

    Values that are invalid YAML (`**/*.py` without quotes) are quoted first, as the agent does.
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
    """Split a text into patterns at commas outside of braces, and expand the braces."""
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
    """Yield the body without top-level block comments, in pieces, with the number of lines before each.

    A body without comments is one piece.
    """
    lines = _lines(body)
    kept, changed = [], False
    for block in _blocks(lines, top=True):
        raw = "".join(f"{line}\n" for line in lines[block.first : block.end])
        first = block.first
        if block.kind == "html" and raw.lstrip().startswith("<!--") and "-->" in raw:
            changed = True
            left = _beside_comments(raw)
            if not left.strip(JS_SPACE):
                continue
            first += raw.count("\n") - left.count("\n")
            raw = left
        kept.append((raw, first))
    yield from kept if changed else [(body, 0)]


def _beside_comments(raw: str) -> str:
    """Return the text of an HTML block without its comments, if it begins with one; empty for other HTML."""
    end = raw.rfind("-->") + 3
    if end < 3 or not raw.lstrip().startswith("<!--"):
        return ""
    # Only as far as a comment can end: each one that does not would be looked for to the end of the text.
    return _COMMENT.sub("", raw[:end]) + raw[end:]


def _lines(body: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", body)


_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div"
    "|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li"
    "|link|main|menu|menuitem|meta|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody"
    "|td|tfoot|th|thead|title|tr|track|ul"
)
_ATTRIBUTE = r"(?:\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'=<>`]+))?)"
_FENCE = pattern_of(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)$")
_HEADING = pattern_of(r" {0,3}#{1,6}(?=\s|$)(.*)$")
_RULE = pattern_of(r" {0,3}(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})$")
_QUOTE = pattern_of(r" {0,3}>")
_BULLET = pattern_of(r"( {0,3}(?:[*+-]|\d{1,9}[.)]))((?:[ \t].*)?)$")
_CODE = pattern_of(r"(?: {4}| {0,3}\t)")
_DEFINITION = pattern_of(
    r" {0,3}\[((?:\\.|[^\[\]\\])+)\]: *(?:<[^>]*>|[^<\s]\S*)(?: +(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))? *$"
)
_RAW = pattern_of(r" {0,3}<(script|pre|style|textarea)(?=[\s>]|$)", re.IGNORECASE)
_KNOWN_TAG = pattern_of(rf" {{0,3}}</?(?:{_TAGS})(?: +|$|/?>)", re.IGNORECASE)
_OTHER_TAG = pattern_of(
    rf" {{0,3}}(?:<(?!script|pre|style|textarea)[a-z][\w-]*{_ATTRIBUTE}*\s*/?>"
    r"|</(?!script|pre|style|textarea)[a-z][\w-]*\s*>)[ \t]*$",
    re.IGNORECASE,
)
_UNTIL = (("<!--", "-->"), ("<?", "?>"), ("<![CDATA[", "]]>"))
_ENDS_PARAGRAPH = pattern_of(
    rf" {{0,3}}(?:#{{1,6}}(?:\s|$)|>|(?:[*+-]|1[.)]) )|</?(?:{_TAGS})(?: +|$|/?>)"
    r"|<(?:script|pre|style|textarea|!--)",
    re.IGNORECASE,
)


class _Block(Struct, frozen=True):
    """Lines `first` to `end` (exclusive) of a text."""

    kind: Literal["space", "code", "html", "definition", "text", "container"]
    first: int
    end: int
    text: str = ""
    """The inline text of a `text`, the name of a `definition`, the text beside the comment of an `html`."""
    parts: tuple[tuple[list[str], bool], ...] = ()
    """The texts in a `container`: the lines of a quotation or of each list item, and whether these are parsed
    like the top level."""


def _blocks(lines: Sequence[str], *, top: bool) -> Iterator[_Block]:
    at = 0
    while at < len(lines):
        block = _block_at(lines, at, top=top)
        yield block
        at = block.end


def _block_at(lines: Sequence[str], at: int, *, top: bool) -> _Block:
    line = lines[at]
    if not line.strip(" \t"):
        return _Block("space", at, at + 1)
    if _CODE.match(line):
        return _Block("code", at, _end_of_code(lines, at))
    return _marked_block(lines, at) or _paragraph(lines, at, top=top)


def _marked_block(lines: Sequence[str], at: int) -> _Block | None:
    """Return the block that begins at line `at` with a mark such as `#` or `>`; None for a line of text."""
    line = lines[at]
    if fence := _FENCE.match(line):
        return _Block("code", at, _end_of_fence(lines, at, fence[1]))
    if heading := _HEADING.match(line):
        return _Block("text", at, at + 1, heading[1].strip())
    if _RULE.match(line):
        return _Block("space", at, at + 1)
    if _QUOTE.match(line):
        return _quotation(lines, at)
    if _BULLET.match(line):
        return _list(lines, at)
    end = _end_of_html(lines, at)
    if end:
        return _Block("html", at, end, _beside_comments("\n".join(lines[at:end])))
    definition = _DEFINITION.match(line)
    if definition and definition[1].strip():
        return _Block("definition", at, at + 1, _name(definition[1]))
    return None


def _paragraph(lines: Sequence[str], at: int, *, top: bool) -> _Block:
    end = at + 1
    while end < len(lines) and lines[end].strip(" \t") and not _interrupts(lines, end, top=top):
        end += 1
    return _Block("text", at, end, "\n".join(lines[at:end]))


def _interrupts(lines: Sequence[str], at: int, *, top: bool) -> bool:
    line = lines[at]
    if not top:
        return not _CODE.match(line) and not _DEFINITION.match(line) and _marked_block(lines, at) is not None
    if _RULE.match(line) or _ENDS_PARAGRAPH.match(line):
        return True
    return at + 1 < len(lines) and _FENCE.match(line) is not None


def _end_of_code(lines: Sequence[str], at: int) -> int:
    end = at
    while end < len(lines) and (_CODE.match(lines[end]) or not lines[end].strip(" \t")):
        end += 1
    return end


def _end_of_fence(lines: Sequence[str], at: int, fence: str) -> int:
    closing = re.compile(rf" {{0,3}}{fence}[~`]* *$")
    for end in range(at + 1, len(lines)):
        if closing.match(lines[end]):
            return end + 1
    return len(lines)


def _end_of_html(lines: Sequence[str], at: int) -> int:
    """Return the end of the HTML block that begins at line `at`; 0 if none begins there."""
    line = lines[at]
    bare = line.lstrip(" ")
    if len(line) - len(bare) > 3 or not bare.startswith("<"):
        return 0
    if raw := _RAW.match(line):
        return _after_mark(lines, at, f"</{raw[1].lower()}>", raw.end())
    for begin, end in _UNTIL:
        if bare.startswith(begin):
            # `<!-->` and `<!--->` are whole comments.
            inside = 2 if begin == "<!--" and re.match(r"<!--(?:-?>)", bare) else len(begin)
            return _after_mark(lines, at, end, len(line) - len(bare) + inside)
    if re.match(r"<![A-Za-z]", bare):
        return _after_mark(lines, at, ">", 0)
    if _KNOWN_TAG.match(line) or _OTHER_TAG.match(line) or _is_long_tag(lines, at):
        end_at = at + 1
        while end_at < len(lines) and lines[end_at].strip(" \t"):
            end_at += 1
        while end_at < len(lines) and not lines[end_at].strip(" \t"):
            end_at += 1
        return end_at
    return 0


def _is_long_tag(lines: Sequence[str], at: int) -> bool:
    """Return whether a tag begins at line `at` with attributes that continue on the next lines."""
    if not re.match(r" {0,3}<[A-Za-z][\w-]*(?:\s|$)", lines[at]) or ">" in lines[at]:
        return False
    tag = lines[at]
    for line in lines[at + 1 : at + 20]:
        tag += f"\n{line}"
        if ">" in line:
            return _OTHER_TAG.match(tag) is not None
    return False


def _after_mark(lines: Sequence[str], at: int, mark: str, start: int) -> int:
    """Return the index of the line after the one that contains `mark` and the empty lines that follow it."""
    for end in range(at, len(lines)):
        if mark in lines[end][start:].lower():
            after = end + 1
            while after < len(lines) and not lines[after]:
                after += 1
            return after
        start = 0
    return len(lines)


def _quotation(lines: Sequence[str], at: int) -> _Block:
    inner: list[str] = []
    end = at
    lazy = False
    fence = ""
    while end < len(lines):
        line = lines[end]
        if marked := _QUOTE.match(line):
            content = line[marked.end() :].removeprefix(" ")
            mark = _FENCE.match(content)
            if fence:
                fence = "" if mark and mark[1].startswith(fence) and not mark[2].strip() else fence
                lazy = False
            else:
                fence = mark[1] if mark else ""
                lazy = not mark and bool(content.strip()) and not _CODE.match(content)
        elif lazy and line.strip(" \t") and not _interrupts(lines, end, top=True):
            content = line
        else:
            break
        inner.append(content)
        end += 1
    return _Block("container", at, end, parts=((inner, True),))


def _list(lines: Sequence[str], at: int) -> _Block:
    first = _BULLET.match(lines[at])
    assert first is not None  # the caller checked it
    mark = first[1].strip()
    same = re.compile(
        r"( {0,3}" + (r"\d{1,9}" if len(mark) > 1 else "") + re.escape(mark[-1]) + r")((?:[ \t].*)?)$"
    )
    items: list[tuple[list[str], bool]] = []
    end = last = at
    while end < len(lines) and (item := same.match(lines[end])) and not _RULE.match(lines[end]):
        inner, end = _item(lines, end, item)
        items.append((inner, False))
        last = end
    while last > at + 1 and not lines[last - 1].strip():
        last -= 1  # the blank lines after the last item are none of its
    return _Block("container", at, last, parts=tuple(items))


def _item(lines: Sequence[str], at: int, bullet: re.Match[str]) -> tuple[list[str], int]:
    """Return the lines inside one list item, and the index of the line after it."""
    line = re.sub(r"^\t+", lambda tabs: "   " * len(tabs[0]), bullet[2])
    blank = not line.strip()
    if blank:
        indent, inner = len(bullet[1]) + 1, [""]
        if at + 1 < len(lines) and not lines[at + 1].strip(" \t"):
            return inner, at + 2
    else:
        indent = len(line) - len(line.lstrip(" "))
        indent = 1 if indent > 4 else indent
        line = line[indent:]
        inner = [line]
        indent += len(bullet[1])
    width = min(3, indent - 1)
    begins = re.compile(
        rf" {{0,{width}}}(?:```|~~~|#|<(?:[A-Za-z].*>|!--)|(?:[*+-]|\d{{1,9}}[.)])(?:[ \t]|$))"
    )
    end = at + 1
    while end < len(lines):
        raw = lines[end]
        wide = raw.replace("\t", "    ")
        if begins.match(raw) or _RULE.match(raw):
            break
        depth = len(wide) - len(wide.lstrip(" "))
        if depth >= indent or not raw.strip():
            inner.append(wide[indent:])
        elif blank or _CODE.match(line) or begins.match(line) or _RULE.match(line):
            break
        else:
            inner.append(raw)
        blank = blank or not raw.strip()
        line = wide[indent:]
        end += 1
    return inner, end


_SPECIAL = pattern_of(r"[\\<!\[`*_]")
_LONGEST_COMMENT = 20_000
"""Maximum number of characters of a comment inside a line, so that many unclosed ones cost little."""
_ESCAPE = pattern_of(r"\\[!-/:-@\[-`{-~]")
_TICKS = pattern_of(r"`+")
_INLINE_TAG = pattern_of(
    r"</[A-Za-z][\w:-]*\s*>|<[A-Za-z][\w-]*" + _ATTRIBUTE + r"*\s*/?>"
    r"|<![A-Za-z]+\s[^>]{0,2000}>"
    r"|<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*>|<[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(?:\.[\w-]+)*>"
)
_LABEL = r"\[((?:\[(?:\\.|[^\[\]\\])*\]|\\.|`[^`]*`|[^\[\]\\`])*)\]"
_LINK = pattern_of(
    _LABEL + r"\(\s*(?:<[^\n<>]*>|(?:\\.|[^\s()\\]|\([^\s()]*\))*)"
    r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)"
)
_REFERENCE = pattern_of(_LABEL + r"(?:\[((?:\\.|[^\[\]\\])*)\])?")
_PUNCTUATION = frozenset(string.punctuation)


class _Marks(Struct):
    """A delimiter run: consecutive `*` or `_`, which may begin or end emphasis."""

    char: str
    count: int
    opens: bool
    closes: bool
    before: int = 0
    """Number of marks that end emphasis."""
    after: int = 0
    """Number of marks that begin emphasis."""

    @property
    def left(self) -> int:
        return self.count - self.before - self.after


def _definitions(blocks: Iterable[_Block], depth: int) -> Iterator[str]:
    for block in blocks:
        if block.kind == "definition":
            yield block.text
        for lines, top in block.parts if depth < _DEEPEST else ():
            yield from _definitions(_blocks(lines, top=top), depth + 1)


def _runs_of(blocks: Iterable[_Block], names: frozenset[str], depth: int) -> Iterator[str]:
    """Yield every piece of plain text in the blocks, in which imports are searched."""
    for block in blocks:
        if block.kind == "text" and "@" in block.text:
            yield from _runs(block.text, names, 0)
        elif block.kind == "html" and block.text:
            yield block.text
        for lines, top in block.parts if depth < _DEEPEST else ():
            yield from _runs_of(_blocks(lines, top=top), names, depth + 1)


def _runs(text: str, names: frozenset[str], depth: int) -> Iterator[str]:
    pieces = _pieces(text, names, depth)
    _emphasise([piece for piece in pieces if isinstance(piece, _Marks)])
    run = ""
    for piece in pieces:
        if isinstance(piece, str):
            run += piece
        elif piece is None:
            yield run
            run = ""
        else:
            # Unpaired marks lie between the emphasis that the run ends and the one that it begins.
            if piece.before:
                yield run
                run = ""
            run += piece.char * piece.left
            if piece.after:
                yield run
                run = ""
    yield run


def _pieces(text: str, names: frozenset[str], depth: int) -> list[str | _Marks | None]:
    found: list[str | _Marks | None] = []
    at = 0
    while at < len(text):
        special = _SPECIAL.search(text, at)
        if special is None:
            found.append(text[at:])
            break
        found.append(text[at : special.start()])
        at = special.start()
        char = text[at]
        if char in "*_":
            marks = _marks_at(text, at)
            found.append(marks)
            at += marks.count
            continue
        end = _end_of_special(text, at, names, depth, found)
        if end is None:
            length = len(_TICKS.match(text, at)[0]) if char == "`" else 1  # type: ignore[index]
            found.append(text[at : at + length])
            at += length
        else:
            at = end
    return found


def _end_of_special(
    text: str, at: int, names: frozenset[str], depth: int, found: list[str | _Marks | None]
) -> int | None:
    """Return the end of the code, tag, link or escaped character at `at`; None if there is none.

    If this element separates two pieces of plain text, a divider is appended to `found`.
    """
    char = text[at]
    if char == "\\":
        match = _ESCAPE.match(text, at)
    elif char == "<":
        end = _end_of_inline_mark(text, at)
        if end is not None:
            found.append(None)
            return end
        match = _INLINE_TAG.match(text, at)
    elif char == "`":
        ticks = _TICKS.match(text, at)
        assert ticks is not None
        end = _end_of_code_span(text, ticks.end(), len(ticks[0]))
        if end is not None:
            found.append(None)
        return end
    else:
        return _end_of_link(text, at, names, depth, found)
    if match is None:
        return None
    found.append(None)
    return match.end()


def _end_of_inline_mark(text: str, at: int) -> int | None:
    """Return the end of the comment or similar markup inside a line at `at`; None if there is none."""
    if text.startswith(("<!-->", "<!--->"), at):
        return text.index(">", at) + 1
    for begin, mark in _UNTIL:
        if text.startswith(begin, at):
            end = text.find(mark, at + len(begin), at + _LONGEST_COMMENT)
            return None if end < 0 else end + len(mark)
    return None


def _end_of_code_span(text: str, at: int, count: int) -> int | None:
    for ticks in _TICKS.finditer(text, at):
        if len(ticks[0]) == count:
            return ticks.end()
    return None


def _end_of_link(
    text: str, at: int, names: frozenset[str], depth: int, found: list[str | _Marks | None]
) -> int | None:
    image = text[at] == "!"
    start = at + image
    if image and text[start : start + 1] != "[":
        return None
    match = _LINK.match(text, start)
    if match is None:
        match = _REFERENCE.match(text, start)
        if match is None or _name(match[2] or match[1]) not in names:
            return None
    found.append(None)
    if not image and depth < _DEEPEST:
        for run in _runs(match[1], names, depth + 1):
            found += [run, None]
    return match.end()


def _marks_at(text: str, at: int) -> _Marks:
    char = text[at]
    end = at
    while end < len(text) and text[end] == char:
        end += 1
    before, after = text[at - 1 : at] or " ", text[end : end + 1] or " "
    left = not after.isspace() and (after not in _PUNCTUATION or before.isspace() or before in _PUNCTUATION)
    right = not before.isspace() and (before not in _PUNCTUATION or after.isspace() or after in _PUNCTUATION)
    if char == "_":
        opens = left and (not right or before in _PUNCTUATION)
        closes = right and (not left or after in _PUNCTUATION)
        return _Marks(char, end - at, opens, closes)
    return _Marks(char, end - at, left, right)


def _emphasise(marks: Sequence[_Marks]) -> None:
    """Match the delimiter runs that begin emphasis with those that end it."""
    open_ones: list[_Marks] = []
    for mark in marks:
        while mark.closes and mark.left:
            place = next(
                (
                    number
                    for number in range(len(open_ones) - 1, -1, -1)
                    if open_ones[number].char == mark.char and _fit(open_ones[number], mark)
                ),
                None,
            )
            if place is None:
                break
            opener = open_ones[place]
            used = 2 if opener.left >= 2 and mark.left >= 2 else 1
            opener.after += used
            mark.before += used
            del open_ones[place + 1 :]
            if not opener.left:
                open_ones.pop()
        if mark.opens and mark.left:
            open_ones.append(mark)


def _fit(opener: _Marks, closer: _Marks) -> bool:
    """Return whether two delimiter runs may match, by CommonMark's rule of three."""
    if not (opener.closes or closer.opens):
        return True
    total = opener.count + closer.count
    return total % 3 != 0 or (opener.count % 3 == 0 and closer.count % 3 == 0)


def _name(text: str) -> str:
    return " ".join(text.split()).casefold()
