"""YAML front matter of memories: finding the block, reading the description, changing keys.

Reading and writing use the rules of the home's agent (`memory.front_matter_rules`; argument `rules`). A
description is flattened to one line for display, because it is untrusted text that is shown in lists and
prompts.

An edit changes the value's own characters, or whole lines of its key, and nothing else: key order, quoting
style, comments, indentation, line ends and byte order mark stay. Every edit is parsed by the agent's own
rules before it is accepted: the new value must read back the same, and no other key may have changed.
Otherwise the edit is refused with `FrontError`. A block is never added above another block.

Pure; any thread. Reading never raises; the result says if the block is unreadable. Edits raise `FrontError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from reverie.agents.scopes import Caps, DescriptionState, FrontMatterRules
from reverie.memory import yaml12
from reverie.memory.front_matter_rules import (
    BOM,
    Frontmatter,
    as_read,
    find_block,
    loose_block,
    parse,
    without_tabs,
)
from reverie.text.patterns import pattern_of
from reverie.text.summaries import JS_SPACE, cut_utf16, readable_text, utf16_length
from reverie.values import Struct

_UNSAFE = "\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"

_OPENING = pattern_of(r"---\r?\n(?!---(?:\r?\n|\Z))")
EMPTY = pattern_of(r"---(\r?\n)(?=---(?:\r?\n|\Z))")
# Blocks as agents mostly write them need no parser, which costs a hundred times as much: `_simple` reads a
# block of one line, `_simple_lines` one of several. Their answers are the same as the parser's.
_ONE_LINE = "---\ndescription: "
_SIMPLE_LINE = pattern_of(
    r"(?P<key>[A-Za-z_][A-Za-z0-9_-]*): (?:"
    rf"(?P<plain>\w(?:[^{_UNSAFE}:#]*[^{_UNSAFE}:#\s])?)"
    rf'|"(?P<quoted>[^{_UNSAFE}"\\]*)"'
    r"|\[(?:\w[\w ./+-]*(?:, \w[\w ./+-]*)*)?\]"
    r") *(?:\r?\n|\Z)"
)
_NO_STRINGS = frozenset({"null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE"})
_SPACES = pattern_of(f"[{JS_SPACE}]+")
_CONTROLS = pattern_of(r"[\x00-\x1f\x7f]")

# Front matter beyond this is not repaired: no agent would see it, and each trial parses the block again.
_REPAIRABLE_CHARS = 16_384
_BEGINS_BLOCK = pattern_of(rf"{BOM}*\s*---[ \t]*\r?\n")
_KEY_LINE = pattern_of(r"[ \t]*(?:[\w\"'%@&?][^\n:]{0,80}:(?:\s|\Z)|{)")
_NO_PROSE = pattern_of(r"[^\w\"'(*`]|\S+:(?:\s|\Z)")
_ITEM_OR_KEY = pattern_of(r"\s*(?:-(?:\s|\Z)|[\w\"'][^\n:#]{0,80}:(?:\s|\Z))")
_COMMENT_BEHIND = pattern_of(r"[ \t]+#")
_LOOKED_AT = 60
_REST_OF_LINE = pattern_of(r"[^\r\n]*")
_LINE = pattern_of(r"[^\n]*\n|[^\n]+")
_KEY = pattern_of(r"[\w$][^:#\[\]{}\"',&*!|>%@`\n]*:(?=[ \t\r\n]|\Z)")
_HEADER_COMMENT = pattern_of(r"[^\n]*?([ \t]#[^\r\n]*)")
# Words that need no quotes, unless some version of YAML gives them a meaning.
_PLAIN = pattern_of(rf"[^\W\d_](?:[^{_UNSAFE}:#]*[^{_UNSAFE}:#\s])?")
RESERVED = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_ESCAPED = pattern_of(rf'[{_UNSAFE}"\\]')
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


class Description(NamedTuple):
    """The description of a file. A tuple, because a listing unpacks tens of thousands of them."""

    text: str
    """The description as the agent shows it; empty unless `state` is `ok` or `not-text`."""
    state: DescriptionState
    """`none`: there is no front matter, or no description in it that is a non-empty string. `malformed`: the
    front matter is not YAML, or not a mapping. `unclosed`: the front matter has no closing line. `not-text`:
    the part of the file that was read is not UTF-8 or has a NUL, whatever the front matter contains."""


NO_DESCRIPTION = Description("", "none")
_NOT_TEXT = Description("", "not-text")
_MALFORMED = Description("", "malformed")
_UNCLOSED = Description("", "unclosed")


def split(
    text: str, prefix_bytes: int | None = None, *, rules: FrontMatterRules = "strict"
) -> Frontmatter | None:
    """Return the position of the front-matter block in a file's whole text; None if there is none.

    `prefix_bytes`: the number of bytes in which the agent searches for the end of the front matter; None: no
    limit. `rules`: how the agent reads front matter, "strict" (as mux does) or "lenient" (as Claude Code
    does).
    """
    return find_block(text, prefix_bytes, rules)


def description(prefix: bytes, caps: Caps) -> Description:
    """Return the description of a file, read from its beginning.

    `prefix`: its first `caps.description_prefix_bytes` bytes, or the whole file if it is shorter. `caps`: the
    agent's limits.
    """
    prefix = prefix[: caps.description_prefix_bytes]
    is_utf8 = True
    try:
        text = prefix.decode()
    except UnicodeDecodeError as error:
        # As the agent does: a character cut by the prefix, like any damage, becomes U+FFFD. Only the state of
        # the file treats such a cut as undamaged.
        text = prefix.decode("utf-8", "replace")
        is_utf8 = error.reason == "unexpected end of data" and len(prefix) == caps.description_prefix_bytes
    if caps.front_matter == "lenient":
        if prefix.startswith(b"\xff\xfe"):
            text = readable_text(prefix)
        found = _described_by_claude(text, caps)
    else:
        found = _described(text, caps.description_chars)
    if is_utf8 and "\0" not in text:
        return found
    return Description(found.text, "not-text") if found.text else _NOT_TEXT


def declared(
    text: str,
    prefix_bytes: int | None = None,
    *,
    key: str = "description",
    rules: FrontMatterRules = "strict",
) -> str | None:
    """Return the string value of `key` in a text's front matter; None if there is none.

    `prefix_bytes`: the number of bytes in which the agent searches for the end of the front matter; None: no
    limit. `rules`: how the agent reads front matter, "strict" (as mux does) or "lenient" (as Claude Code
    does).
    """
    block = split(text, prefix_bytes, rules=rules)
    if block is None:
        return None
    try:
        root = parse(text[block.block_start : block.block_end], rules)
    except yaml12.MalformedError:
        return None
    entry = root.entry(key) if root is not None else None
    return entry[1].value.text if entry is not None else None


def flattened(text: str, limit: int) -> str:
    """Return `text` as one line without control characters, as the agent flattens it.

    A line of more than `limit` UTF-16 code units is cut there and gets an ellipsis.
    """
    # Printable text holds no control character and, of all white space, only U+0020.
    if not text.isprintable() or "  " in text:
        text = _CONTROLS.sub("", _SPACES.sub(" ", text))
    line = text.strip(" ")
    if len(line) * 2 <= limit or utf16_length(line) <= limit:
        return line
    # The agent may cut a character outside the BMP in half and then show U+FFFD; half characters are no text.
    return cut_utf16(line, limit) + "…"


def _described(text: str, limit: int) -> Description:
    if not text.startswith("---"):
        return NO_DESCRIPTION
    simple = _simple(text)
    if simple is not None:
        return _shown(simple, limit)
    block = find_block(text, None, "strict")
    if block is None:
        return _UNCLOSED if _OPENING.match(text) else NO_DESCRIPTION
    return _in_block(text[block.block_start : block.block_end], limit, "strict")


def _described_by_claude(text: str, caps: Caps) -> Description:
    if not text.startswith(("---", BOM)):
        return NO_DESCRIPTION
    block = find_block(text, caps.description_prefix_bytes, "lenient")
    if block is None:
        opens = _OPENING.match(text.lstrip(BOM)) is not None
        return _UNCLOSED if opens else NO_DESCRIPTION
    return _in_block(text[block.block_start : block.block_end], caps.description_chars, "lenient")


def _in_block(raw: str, limit: int, rules: FrontMatterRules) -> Description:
    simple = _simple_lines(raw)
    return _parsed(raw, limit, rules) if simple is None else _shown(simple, limit)


def _simple(text: str) -> str | None:
    """Return the description from front matter that needs no YAML parser; None if it needs one.

    This is the fast way for the most common case: `text` begins with front matter of one line, which has
    `description:` and a text without `:` and `#`.
    """
    if not text.startswith(_ONE_LINE):
        return None
    start = len(_ONE_LINE)
    end = text.find("\n", start)
    value = text[start:end]
    if not text.startswith("\n---\n", end) or not value.isprintable() or ":" in value or "#" in value:
        return None
    return value if value[:1].isalpha() and value.rstrip(" ") not in _NO_STRINGS else None


def _simple_lines(raw: str) -> str | None:
    """Return the description from front matter that needs no YAML parser; None if it needs one.

    `raw`: the front matter. It needs no parser if each line has a key with a short plain or quoted text or a
    list of words (`_SIMPLE_LINE`). The result is empty if there is no description.
    """
    found, keys, end = "", set[str](), 0
    while end < len(raw):
        line = _SIMPLE_LINE.match(raw, end)
        if line is None or line["key"] in keys or line["key"] in _NO_STRINGS:
            return None
        keys.add(line["key"])
        end = line.end()
        if line["key"] == "description":
            found = line["plain"] or line["quoted"] or ""
            # A value that begins with a digit may be a number.
            if line["plain"] and (not found[0].isalpha() or found in _NO_STRINGS):
                return None
    return found


def _parsed(raw: str, limit: int, rules: FrontMatterRules) -> Description:
    try:
        root = parse(raw, rules)
    except yaml12.MalformedError:
        return _MALFORMED
    if root is None:
        return NO_DESCRIPTION
    if root.kind != "mapping":
        return _MALFORMED
    entry = root.entry("description")
    return _shown(entry[1].value.text, limit) if entry is not None else NO_DESCRIPTION


def _shown(value: str | None, limit: int) -> Description:
    line = flattened(value, limit) if value else ""
    return Description(line, "ok") if line else NO_DESCRIPTION


def set_description(
    text: str, value: str, *, prefix_bytes: int | None = None, rules: FrontMatterRules = "strict"
) -> str:
    """Return `text` with `value` as its description, and everything else unchanged.

    If the text has front matter, only the lines of the description change, or one line is added; otherwise
    front matter is added before the text. Front matter that the agent cannot read is repaired first.
    `prefix_bytes`: the number of bytes in which the agent searches for the end of the front matter; None: no
    limit. `rules`: how the agent reads front matter, "strict" (as mux does) or "lenient" (as Claude Code
    does). Raises `FrontError` if there is front matter that cannot be repaired.
    """
    if declared(text, prefix_bytes, rules=rules) == value:
        return text
    base = repair(text, prefix_bytes=prefix_bytes, rules=rules) or text
    others = _others(base, rules)
    for candidate in _edited(base, value, rules):
        if declared(candidate, prefix_bytes, rules=rules) != value:
            continue
        now = _others(candidate, rules)
        # Keys behind three dashes that ended the block too early may appear.
        if now == others or (rules == "lenient" and now > others):
            return candidate
    if begins_block(base):
        raise FrontError("cannot")
    start = len(BOM) if text.startswith(BOM) else 0
    newline = "\r\n" if text[: text.find("\n") + 1].endswith("\r\n") else "\n"
    block = f"---{newline}description: {literal(value)}{newline}---{newline}"
    return text[:start] + block + text[start:]


def begins_block(text: str) -> bool:
    """Return whether a text begins like front matter, even if no agent would read it.

    It must begin with a line of three dashes, with a key before the next such line or, if there is none,
    before the first empty line.
    """
    opening = _BEGINS_BLOCK.match(text)
    if opening is None:
        return False
    lines = [line.rstrip() for line in text[opening.end() :].split("\n", _LOOKED_AT)[:_LOOKED_AT]]
    ends = [number for number, line in enumerate(lines) if line == "---"]
    if not ends:
        first = next((number for number, line in enumerate(lines) if line), 0)
        ends = [number for number, line in enumerate(lines) if number > first and not line]
    return any(_KEY_LINE.match(line) for line in lines[: ends[0] if ends else None])


def repair(text: str, *, prefix_bytes: int | None = None, rules: FrontMatterRules = "strict") -> str | None:
    """Return `text` with its front matter made readable for the agent; None if that is not needed or fails.

    These are repaired: spaces after an opening or closing line of three dashes, empty lines above the opening
    one, `...` in place of the closing one, and tabs as indentation. Values that do not parse are quoted.
    Keys, their order and all other bytes stay. A mapping or a list never becomes a string. None means that
    the agent reads the front matter already, that there is none, or that no repair helps. `prefix_bytes`: the
    number of bytes in which the agent searches for the end of the front matter; None: no limit. `rules`: how
    the agent reads front matter, "strict" (as mux does) or "lenient" (as Claude Code does).
    """
    base = text if split(text, rules=rules) is not None else _with_plain_fences(text)
    block = split(base, prefix_bytes, rules=rules)
    if block is None or block.block_end - block.block_start > _REPAIRABLE_CHARS:
        return None
    raw = base[block.block_start : block.block_end]
    if _parses(raw, rules):
        return base if base != text and _is_mapping(raw, rules) else None
    untabbed = without_tabs(raw)
    for mended in (untabbed, _quoted(raw), _quoted(untabbed)):
        result = base[: block.block_start] + mended + base[block.block_end :]
        if _is_mapping(mended, rules) and split(result, prefix_bytes, rules=rules) is not None:
            return result
    return None


def _quoted(raw: str) -> str:
    """Return the front matter `raw` with quotes around the values that do not parse."""
    quoted = ""
    for group in _groups(raw):
        whole = "".join(group)
        # Alone first: only an alias needs the lines above it.
        is_fine = _is_mapping(whole, "strict") or ("*" in whole and _is_mapping(quoted + whole, "strict"))
        quoted += whole if is_fine else _with_quoted_value(group)
    return quoted


def _with_plain_fences(text: str) -> str:
    """Return `text` with a plain `---` line at the beginning and at the end of its front matter.

    All agents accept such lines. A text without front matter is returned unchanged.
    """
    block = loose_block(text)
    if block is None or len(block["raw"]) > _REPAIRABLE_CHARS:
        return text
    fence = f"---{block['newline']}"
    above = text[: block.start()]
    return f"{above}{fence}{block['raw']}{block['last']}---{block['end']}{text[block.end() :]}"


def _edited(text: str, value: str, rules: FrontMatterRules) -> Iterator[str]:
    """Yield versions of `text`, which has front matter, with `value` as its description, best first.

    Some may be invalid; the caller uses the first from which the agent would read `value`. `rules`: how the
    agent reads front matter, "strict" (as mux does) or "lenient" (as Claude Code does).
    """
    empty = EMPTY.match(text, len(BOM) if text.startswith(BOM) else 0)
    if empty is not None:
        yield f"{text[: empty.end()]}description: {literal(value)}{empty[1]}{text[empty.end() :]}"
    block = split(text, rules=rules)
    if block is None:
        return
    raw = text[block.block_start : block.block_end]
    yield from _with_line(text, block, raw, ("description",), value, rules)
    try:
        read_as, root = as_read(raw, rules)
    except yaml12.MalformedError:
        return
    for made in _literals(value, rules):
        for changed in _edited_block(read_as, root, made, block.newline):
            yield text[: block.block_start] + changed + text[block.block_end :]


def _with_line(
    text: str, block: Frontmatter, raw: str, path: tuple[str, ...], value: str, rules: FrontMatterRules
) -> Iterator[str]:
    """Yield versions of `text` with `value` at the key `path`, found without the YAML parser.

    The line of the key is replaced, or a line is added above the others. This is only for front matter that
    the parser cannot edit: it is not valid YAML, or it ends at a `---` inside a line, as Claude Code reads
    it. For any other, for "strict" `rules`, and for a key inside a mapping, nothing is yielded. `block`: the
    position of the front matter; `raw`: its text. The caller uses the first version that reads back
    correctly.
    """
    if rules == "strict" or len(path) > 1:
        return
    is_cut = not raw.endswith("\n") and text[block.block_end : block.block_end + 3] == "---"
    if not is_cut and _parses(raw, "strict"):
        return
    found = list(re.finditer(rf"^{re.escape(path[0])}:[^\r\n]*", raw, re.MULTILINE))
    for made in _literals(value, rules):
        line = f"{key_text(path[0])}: {made}"
        if len(found) == 1:
            start, end = (block.block_start + place for place in found[0].span())
            if end == block.block_end:
                end = block.block_end + len(_REST_OF_LINE.match(text[block.block_end :])[0])  # type: ignore[index]
            yield text[:start] + line + text[end:]
        elif not found:
            yield f"{text[: block.block_start]}{line}{block.newline}{text[block.block_start :]}"


def _literals(value: str, rules: FrontMatterRules) -> Iterator[str]:
    yield literal(value)
    if rules == "lenient":
        yield literal(value, quoted=True)
        if "---" in value:
            # To the agent, three dashes end the block, also inside quotes.
            yield literal(value, quoted=True).replace("---", "\\x2d--")


def _edited_block(raw: str, root: yaml12.YamlNode | None, made: str, newline: str) -> Iterator[str]:
    """Yield versions of the front matter `raw` with the YAML text `made` as the description.

    Some may be invalid. `root`: the root node of `raw`; None if it has only blank lines and comments.
    `newline`: its line ending.
    """
    line = f"description: {made}"
    quoted = made if made[0] in "\"'" else f'"{made}"'
    if root is None:
        yield f"{line}{newline}{raw}"
        return
    entry = root.entry("description")
    if entry is not None:
        yield _with_value(raw, entry[0], entry[1], quoted if root.flow else made)
    elif root.flow:
        comma = ", " if root.children else ""
        inside = raw.find("{", root.start) + 1
        yield f"{raw[:inside]}description: {quoted}{comma}{raw[inside:]}"
    else:
        indent = " " * root.column
        yield f"{indent}{line}{newline}{raw}"
        # Below lines that must stay first, such as a directive.
        yield f"{raw[: root.start]}{line}{newline}{indent}{raw[root.start :]}"


def _with_value(raw: str, key: yaml12.YamlNode, node: yaml12.YamlNode, literal: str) -> str:
    """Return the front matter `raw` with the value `node` replaced by `literal`; comments beside it are kept.

    `key`: the node of the key of that value.
    """
    if node.kind == "scalar" and node.style in ("|", ">"):
        old = raw[node.start : node.end].rstrip(" \t\r\n")
        comment = _HEADER_COMMENT.match(old)
        literal += comment[1] if comment is not None else ""
        return raw[: node.start] + literal + raw[node.start + len(old) :]
    if node.kind in ("mapping", "sequence") and not node.flow:
        colon = raw.find(":", key.end) + 1
        rest = raw[colon : node.start].split("\n")[0].rstrip(" \t\r")
        return f"{raw[:colon]} {literal}{rest}{raw[node.end :]}"
    space = " " if node.start == node.end else ""
    return raw[: node.start] + space + literal + raw[node.end :]


def _others(text: str, rules: FrontMatterRules) -> frozenset[object]:
    """Return the keys and values of the front matter of `text` except its description, for comparison.

    Empty if there is no valid front matter. `rules`: how the agent reads front matter, "strict" (as mux does)
    or "lenient" (as Claude Code does).
    """
    block = split(text, rules=rules)
    raw = text[block.block_start : block.block_end] if block is not None else ""
    root = parse(raw, rules) if _is_mapping(raw, rules) else None
    if root is None:
        return frozenset()
    # Of a repeated key the last one counts.
    last = {outline(key): outline(value) for key, value in root.pairs()}
    return frozenset(
        (outline(key), last[outline(key)]) for key, _value in root.pairs() if key.value.text != "description"
    )


def outline(node: yaml12.YamlNode) -> object:
    """Return the content of a YAML node in a form that can be compared, independent of quotes and layout."""
    return node.kind, node.value, tuple(outline(child) for child in node.children)


def _groups(raw: str) -> list[list[str]]:
    """Return the lines of the front matter `raw` in groups: each unindented key with the lines below it.

    Lines before the first key form the first group.
    """
    groups: list[list[str]] = [[]]
    for line in _LINE.findall(raw):
        if _KEY.match(line):
            groups.append([])
        groups[-1].append(line)
    return [group for group in groups if group]


def _with_quoted_value(group: list[str]) -> str:
    key = _KEY.match(group[0])
    if key is None or _is_collection(group[0][key.end() :], group[1:]):
        return "".join(group)
    more = [line.strip() for line in group[1:] if line.strip() and not line.lstrip().startswith("#")]
    # Only prose continues without an indent.
    if more and (key[0] != "description:" or any(map(_NO_PROSE.match, more))):
        return "".join(group)
    lines = [group[0][key.end() :], *group[1:]]
    words = [line.strip(" \t\r\n") for line in lines]
    while len(words) > 1 and (not words[-1] or words[-1].startswith("#")):
        words.pop()
    value = "\n".join(word for word in words if word)
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    last = lines[len(words) - 1]
    end = last[len(last.rstrip("\r\n")) :]
    return f"{group[0][: key.end()]} {literal(value, quoted=True)}{end}{''.join(lines[len(words) :])}"


def _is_collection(first: str, more: list[str]) -> bool:
    """Return whether a value that does not parse was meant as a list or a mapping.

    `first`: the rest of its key's line; `more`: the lines below.
    """
    value = first.strip()
    if any(_ITEM_OR_KEY.match(line) for line in more) and not value.startswith(("|", ">")):
        return True
    closing = {"[": "]", "{": "}"}.get(value[:1])
    return closing is not None and value.endswith(closing)


def _parses(raw: str, rules: FrontMatterRules) -> bool:
    try:
        parse(raw, rules)
    except yaml12.MalformedError:
        return False
    return True


def _is_mapping(raw: str, rules: FrontMatterRules) -> bool:
    try:
        root = parse(raw, rules)
    except yaml12.MalformedError:
        return False
    return root is not None and root.kind == "mapping"


def literal(value: str, *, quoted: bool = False) -> str:
    """Return `value` as YAML on one line, in the plainest style that all YAML versions read back the same.

    `quoted`: use quotes even if the value needs none.
    """
    if not quoted and _PLAIN.fullmatch(value) and value.lower() not in RESERVED:
        return value
    special = set(_ESCAPED.findall(value))
    if special and special <= {'"', "\\"}:
        return "'" + value.replace("'", "''") + "'"
    return '"' + _ESCAPED.sub(lambda match: _escape(match[0]), value) + '"'


def _escape(char: str) -> str:
    return _ESCAPES.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")


class CutDescription(Struct, frozen=True):
    """A description of which the agent reads only the beginning."""

    line: int
    """The number of the description's line in the file, from 1."""
    read: str
    """The beginning of the description, which the agent reads."""
    whole: str
    """The text that a person sees as the description: everything after the colon on its line."""
    sign: Literal["#", "---"]
    """The characters at which the agent stops reading."""
    start: int
    """The position in the text at which the value begins."""
    end: int
    """The position in the text at which the value's line ends."""


def cut_description(
    text: str, prefix_bytes: int | None = None, *, rules: FrontMatterRules = "strict"
) -> CutDescription | None:
    """Return the description if the agent reads only a part of the text on its line; otherwise None.

    The agent stops reading at ` #`, which begins a comment. Claude Code also stops at `---`, which ends its
    front matter even inside a line. `prefix_bytes`: the number of bytes in which the agent searches for the
    end of the front matter; None: no limit. `rules`: how the agent reads front matter, "strict" (as mux does)
    or "lenient" (as Claude Code does).
    """
    block = split(text, prefix_bytes, rules=rules)
    if block is None:
        return None
    raw = text[block.block_start : block.block_end]
    try:
        read_as, root = as_read(raw, rules)
    except yaml12.MalformedError:
        return None
    entry = root.entry("description") if root is not None and not root.flow else None
    if entry is None or entry[1].kind != "scalar" or entry[1].style:
        return None
    key, node = entry
    # Lines above may be longer in the text that the parser reads; this one is not.
    shift = _line_start(raw, key.line) - _line_start(read_as, key.line)
    start = read_as.find(":", key.end) + 1 + shift
    end = _line_end(raw, start)
    value_end = node.end + shift
    if value_end > end and node.value.text is not None:
        return None
    line = text.count("\n", 0, block.block_start) + key.line + 1
    said = node.value.text or ""
    if _COMMENT_BEHIND.match(raw, max(start, value_end) if said else start, end):
        start, end = (block.block_start + place for place in (start, end))
        return CutDescription(line, said, text[start:end].strip(), "#", start, end)
    rest = _REST_OF_LINE.match(text, block.block_end)
    if rules == "lenient" and end == len(raw) and rest is not None and rest[0].startswith("---"):
        start = block.block_start + start
        return CutDescription(line, said, text[start : rest.end()].strip(), "---", start, rest.end())
    return None


def _line_start(raw: str, line: int) -> int:
    """Return the position in `raw` at which line number `line` (from 0) begins."""
    return sum(len(each) + 1 for each in raw.split("\n", line)[:line])


def quote_description(
    text: str, prefix_bytes: int | None = None, *, rules: FrontMatterRules = "strict"
) -> str:
    """Return `text` with quotes around a description of which the agent reads only the beginning.

    The agent then reads the whole line. If it does so already, return `text` itself. `prefix_bytes`: the
    number of bytes in which the agent searches for the end of the front matter; None: no limit. `rules`: how
    the agent reads front matter, "strict" (as mux does) or "lenient" (as Claude Code does). Raises
    `FrontError` if quotes do not help.
    """
    cut = cut_description(text, prefix_bytes, rules=rules)
    if cut is None:
        return text
    for made in (literal(cut.whole, quoted=True), *_literals(cut.whole, rules)):
        result = f"{text[: cut.start]} {made}{text[cut.end :]}"
        if declared(result, prefix_bytes, rules=rules) == cut.whole:
            return result
    raise FrontError("cannot")


def repeated_key(text: str, *, rules: FrontMatterRules = "strict") -> tuple[str, int] | None:
    """Return a key that occurs twice in a mapping of the front matter, and the line of its second use.

    The line is counted from 1. None if there is no such key, or if the front matter does not parse. `rules`:
    how the agent reads front matter, "strict" (as mux does) or "lenient" (as Claude Code does).
    """
    block = split(text, rules=rules)
    try:
        raw = text[block.block_start : block.block_end] if block is not None else ""
        root = yaml12.parse(raw, keys_twice=True) if rules == "strict" else parse(raw, rules)
    except yaml12.MalformedError:
        return None
    pending = [root] if root is not None else []
    while block is not None and pending:
        node = pending.pop()
        names = set[str]()
        for key, _value in node.pairs() if node.kind == "mapping" else ():
            name = key.value.text
            if name is not None and name in names:
                return name, text.count("\n", 0, block.block_start) + key.line + 1
            names.add(name or "")
        pending += node.children
    return None


_WORD_KEY = pattern_of(r"[A-Za-z_][A-Za-z0-9_-]*")
# Values that may stay without quotes: begin with a letter, hold no `: ` and no ` #`.
_LENIENT = pattern_of(r"[^\W\d_](?:(?!:(?:\s|\Z)|\s#).)*(?<=\S)")
BLOCK_HEADER = pattern_of(r"([|>])[^\s#]*([ \t]+#[^\r\n]*)?[ \t]*(\r?\n)(?:[ \t]*\r?\n)*([ ]*)")


def scalars(style: str, value: str, *, flow: bool) -> Iterator[str]:
    """Yield ways to write `value` as YAML on one line, in place of another value.

    The first is in the style of that value, the others are in the plainest style and in double quotes.
    `style`: the quotation mark of that value, or `|` or `>`; empty for a plain one. `flow`: the value is part
    of a `{...}` or `[...]`, so it needs quotes. The caller parses each result, and uses the first that reads
    back correctly.
    """
    if style == "'" and value.isprintable():
        yield "'" + value.replace("'", "''") + "'"
    if style == '"':
        yield literal(value, quoted=True) if not value.isprintable() else '"' + _escaped(value) + '"'
    may_be_plain = not style and not flow and value.isprintable() and value.lower() not in RESERVED
    if may_be_plain and _LENIENT.fullmatch(value):
        yield value
    yield literal(value, quoted=flow)
    yield literal(value, quoted=True)
    if "---" in value:
        yield literal(value, quoted=True).replace("---", "\\x2d--")


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def blocks(old: str, style: str, value: str) -> Iterator[str]:
    """Yield `value` as a YAML block scalar that replaces `old`, or nothing if it cannot be written so.

    `old`: the previous value, a block scalar as it is written, whose style and indentation are kept.
    `style`: the sign of this style, `|` or `>`.
    """
    header = BLOCK_HEADER.match(old)
    body = value.rstrip("\n")
    if header is None or not body or body[0] in " \t\n" or "\r" in value:
        return
    if style == ">" and "\n" in body:
        return
    ends = len(value) - len(body)
    chomping = "-" if ends == 0 else "" if ends == 1 else "+"
    newline, indent = header[3], header[4]
    lines = newline.join(indent + line if line else "" for line in body.split("\n"))
    yield f"{style}{chomping}{header[2] or ''}{newline}{lines}{newline * max(0, ends - 1)}"


def key_line(path: tuple[str, ...], value: str, indent: str, newline: str) -> str:
    """Return the line of a key and its value, or the lines of a nested key. `value` is quoted if needed.

    `path`: the key, or the names of a nested key, outermost first. `indent`: the spaces before the first key;
    `newline`: the line ending.
    """
    if len(path) == 1:
        return f"{indent}{key_text(path[0])}: {literal(value)}"
    return f"{indent}{key_text(path[0])}:{newline}" + key_line(path[1:], value, indent + "  ", newline)


def key_text(name: str) -> str:
    """Return a key as YAML text: in quotes if YAML would otherwise read something else."""
    plain = _WORD_KEY.fullmatch(name) and name.lower() not in RESERVED
    return name if plain else literal(name, quoted=True)


Reason = Literal["malformed", "not-a-mapping", "unclosed", "not-a-text", "too-long", "cannot"]
Key = str | Sequence[str]

_OPEN = pattern_of(r"---(\r?\n)")
_PROPERTIES = pattern_of(r"(?:[&!]\S*[ \t]+)*")


class FrontError(ValueError):
    """Raised if a change of the front matter is impossible, so that a person must edit the text.

    `reason`: why it is impossible, such as "malformed"; "cannot" if no way to write the change works.
    """

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


class FrontEntry(Struct, frozen=True):
    """One key of the front matter, with its value."""

    path: tuple[str, ...]
    """The name of the key; two names for a key inside a mapping."""
    text: str | None
    """The value if it is a string; None for a number, a list or a nested mapping."""
    raw: str
    """The value as it is written."""


class Front(Struct, frozen=True):
    """The content of a text's front matter."""

    there: bool
    """Whether the text has front matter."""
    problem: Reason | Literal[""] = ""
    """The reason why the front matter could not be read, else empty."""
    line: int = 0
    """The line (from 1, in the file) at which the parser stopped; 0 if unknown."""
    entries: tuple[FrontEntry, ...] = ()
    """The keys, in order."""

    def text(self, *path: str) -> str | None:
        """Return the string value of a key; None if the key is missing or its value is not a string.

        `path`: the name of the key, or two names for a key inside a mapping.
        """
        return next((entry.text for entry in self.entries if entry.path == path), None)


def read(text: str, prefix_bytes: int | None = None, *, rules: FrontMatterRules = "strict") -> Front:
    """Return the front matter of a file's whole text; never raises (see `Front.problem`).

    `prefix_bytes`: the number of bytes in which the agent searches for the end of the front matter; None: no
    limit. `rules`: how the agent reads front matter, "strict" (as mux does) or "lenient" (as Claude Code
    does).
    """
    block = split(text, rules=rules)
    if block is None:
        return Front(there=False, problem="unclosed" if _is_unclosed(text) else "")
    raw = text[block.block_start : block.block_end]
    try:
        raw, root = as_read(raw, rules)
    except yaml12.MalformedError as error:
        mark = getattr(error.__cause__, "problem_mark", None)
        return Front(there=True, problem="malformed", line=mark.line + 2 if mark is not None else 0)
    if root is not None and root.kind != "mapping":
        return Front(there=True, problem="not-a-mapping", line=root.line + 2)
    late = prefix_bytes is not None and split(text, prefix_bytes, rules=rules) is None
    return Front(there=True, problem="too-long" if late else "", entries=tuple(_entries(raw, root)))


def set_value(
    text: str,
    key: Key,
    value: str,
    prefix_bytes: int | None = None,
    *,
    rules: FrontMatterRules = "strict",
) -> str:
    """Return `text` with the string `value` under `key`, which is a name or a path of two names.

    A missing key is added below the last one, missing front matter above the text. `prefix_bytes`: the number
    of bytes in which the agent searches for the end of the front matter; None: no limit. `rules`: how the
    agent reads front matter, "strict" (as mux does) or "lenient" (as Claude Code does). Raises `FrontError`,
    also if the agent would no longer find the end of the front matter.
    """
    path = _path(key)
    before = read(text, rules=rules)
    if not before.there and begins_block(text):
        # No second block may be put above one that the agent does not see.
        mended = repair(text, rules=rules)
        if mended is None:
            raise FrontError(before.problem or "cannot")
        return set_value(mended, key, value, prefix_bytes, rules=rules)
    _refuse(before)
    if before.text(*path) == value:
        return text
    rest = _rest(text, path, rules)
    for candidate in _with(text, path, value, rules):
        if _says(candidate, path, rules) == value and _rest(candidate, path, rules) == rest:
            if prefix_bytes is not None and split(candidate, prefix_bytes, rules=rules) is None:
                was_seen = not before.there or split(text, prefix_bytes, rules=rules) is not None
                if was_seen:
                    raise FrontError("too-long")
            return candidate
    raise FrontError("cannot")


def remove(text: str, key: Key, *, rules: FrontMatterRules = "strict") -> str:
    """Return `text` without `key` in its front matter; return `text` itself if the key is missing.

    A mapping or front matter that becomes empty is removed, too. `rules`: how the agent reads front matter,
    "strict" (as mux does) or "lenient" (as Claude Code does). Raises `FrontError`.
    """
    path = _path(key)
    _refuse(read(text, rules=rules))
    before, text = text, _as_read_text(text, rules)
    while True:
        block, root = _block_and_root(text, rules)
        chain = _chain(root, path)
        if block is None or chain is None:
            return before
        parent = chain[-1][0]
        if len(path) == 1 or len(parent.children) > 2:
            break
        path = path[:-1]
    rest = _rest(text, path, rules)
    key_node, value_node = chain[-1][1]
    for candidate in _without(text, block, parent, key_node, value_node):
        if not _has(candidate, path, rules) and _rest(candidate, path, rules) == rest:
            return candidate
    raise FrontError("cannot")


def _as_read_text(text: str, rules: FrontMatterRules) -> str:
    """Return `text` with its front matter replaced by the YAML that the agent's parser reads.

    Edits need this text, because the positions of the parsed nodes refer to that YAML. A text without front
    matter is returned unchanged.
    """
    block = split(text, rules=rules)
    if block is None:
        return text
    raw = as_read(text[block.block_start : block.block_end], rules)[0]
    return text[: block.block_start] + raw + text[block.block_end :]


def _path(key: Key) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else tuple(key)


def _refuse(front: Front) -> None:
    if front.problem and front.problem != "too-long":
        raise FrontError(front.problem)


def _is_unclosed(text: str) -> bool:
    start = len(BOM) if text.startswith(BOM) else 0
    return _OPEN.match(text, start) is not None and EMPTY.match(text, start) is None


def _block_and_root(text: str, rules: FrontMatterRules) -> tuple[Frontmatter | None, yaml12.YamlNode | None]:
    block = split(text, rules=rules)
    return block, parse(text[block.block_start : block.block_end], rules) if block is not None else None


def _entries(raw: str, root: yaml12.YamlNode | None) -> Iterator[FrontEntry]:
    pairs = list(root.pairs()) if root is not None else []
    last = {key.value.text: key for key, _value in pairs}
    for key, value in pairs:
        name = key.value.text
        if name is None or last[name] is not key:
            continue
        inner = list(value.pairs()) if value.kind == "mapping" else []
        if inner and all(each.value.text is not None for each, _ in inner):
            for below, node in {key.value.text: (key, node) for key, node in inner}.values():
                yield FrontEntry((name, below.value.text or ""), node.value.text, raw[node.start : node.end])
        else:
            yield FrontEntry((name,), value.value.text, raw[value.start : value.end].rstrip())


def _chain(
    root: yaml12.YamlNode | None, path: tuple[str, ...]
) -> list[tuple[yaml12.YamlNode, tuple[yaml12.YamlNode, yaml12.YamlNode]]] | None:
    """Return (mapping, (key, value)), all nodes, for each name in `path`; None if a name is missing.

    The mapping is the one that has the key. `root`: the root node of the front matter; None if it is empty.
    """
    found, node = [], root
    for part in path:
        entry = node.entry(part) if node is not None else None
        if node is None or entry is None:
            return None
        found.append((node, entry))
        node = entry[1]
    return found


def _says(text: str, path: tuple[str, ...], rules: FrontMatterRules) -> str | None:
    """Return the string value at the keys `path` in the front matter of `text`.

    None if the value is missing or is not a string, or if the front matter does not parse.
    """
    try:
        chain = _chain(_block_and_root(text, rules)[1], path)
    except yaml12.MalformedError:
        return None
    return chain[-1][1][1].value.text if chain is not None else None


def _has(text: str, path: tuple[str, ...], rules: FrontMatterRules) -> bool:
    """Return whether the front matter of `text` has a value at the keys `path`; True if it does not parse."""
    try:
        return _chain(_block_and_root(text, rules)[1], path) is not None
    except yaml12.MalformedError:
        return True


def _rest(text: str, path: tuple[str, ...], rules: FrontMatterRules) -> object:
    """Return the body of `text` and its front matter without the value at the keys `path`, for comparison.

    None if the front matter does not parse.
    """
    try:
        block, root = _block_and_root(text, rules)
    except yaml12.MalformedError:
        return None
    body = text[block.body_start :] if block is not None else _body(text)
    return body, _other_keys(root, path)


def _body(text: str) -> str:
    start = len(BOM) if text.startswith(BOM) else 0
    empty = EMPTY.match(text, start)
    if empty is None:
        return text[start:]
    fence = re.compile(r"---(?:\r?\n|\Z)").match(text, empty.end())
    return text[fence.end() :] if fence is not None else text[start:]


def _other_keys(node: yaml12.YamlNode | None, path: tuple[str, ...]) -> object:
    if node is None:
        return ()
    if node.kind != "mapping":
        return () if node.value.identity == ("null", None) else outline(node)
    found: dict[object, object] = {}
    for key, value in node.pairs():
        if key.value.text != path[0]:
            found[outline(key)] = outline(value)
        elif len(path) > 1 and (inner := _other_keys(value, path[1:])):
            found[outline(key)] = inner
    return tuple(found.items())


def _with(text: str, path: tuple[str, ...], value: str, rules: FrontMatterRules) -> Iterator[str]:
    """Yield versions of `text` with `value` at the keys `path` in its front matter, best first.

    Some may be invalid; the caller uses the first in which `path` has the value and all else is as before.
    """
    block = split(text, rules=rules)
    if block is not None:
        raw = text[block.block_start : block.block_end]
        yield from _with_line(text, block, raw, path, value, rules)
    text = _as_read_text(text, rules)
    block, root = _block_and_root(text, rules)
    if block is None:
        yield from _with_new_block(text, path, value)
        return
    raw = text[block.block_start : block.block_end]
    start, end, newline = text[: block.block_start], text[block.block_end :], block.newline
    if root is None:
        line = key_line(path, value, "", newline)
        yield f"{start}{line}{newline}{raw}{end}"
        yield f"{start}{raw}{newline}{line}{end}"
        return
    chain = _chain(root, path)
    if chain is not None:
        parent, (key, node) = chain[-1]
        changed = _replaced(raw, parent, key, node, value)
    else:
        above = _chain(root, path[:-1])
        nested = above[-1][1][1] if above else None
        if nested is None:
            changed = _added(raw, root, path, value, newline)
        elif nested.kind == "mapping":
            changed = _added(raw, nested, path[-1:], value, newline)
        elif nested.value.identity == ("null", None):
            space = "" if raw[: nested.start].endswith((" ", "\t")) else " "
            flow = f"{space}{{{key_text(path[-1])}: {literal(value, quoted=True)}}}"
            changed = iter((raw[: nested.start] + flow + raw[nested.end :],))
        else:
            raise FrontError("not-a-text")
    for candidate in changed:
        yield start + candidate + end


def _with_new_block(text: str, path: tuple[str, ...], value: str) -> Iterator[str]:
    start = len(BOM) if text.startswith(BOM) else 0
    empty = EMPTY.match(text, start)
    if empty is not None:
        yield text[: empty.end()] + key_line(path, value, "", empty[1]) + empty[1] + text[empty.end() :]
    newline = "\r\n" if text[: text.find("\n") + 1].endswith("\r\n") else "\n"
    fence = f"---{newline}"
    yield text[:start] + fence + key_line(path, value, "", newline) + newline + fence + text[start:]


def _replaced(
    raw: str, parent: yaml12.YamlNode, key: yaml12.YamlNode, node: yaml12.YamlNode, value: str
) -> Iterator[str]:
    if node.kind == "mapping" or (node.kind == "sequence" and not node.flow):
        raise FrontError("not-a-text")
    if node.kind == "scalar" and node.style in ("|", ">"):
        old = raw[node.start : node.end].rstrip(" \t\r\n")
        tail = raw[node.start + len(old) :]
        for made in blocks(old, node.style, value):
            yield raw[: node.start] + made + tail
            yield raw[: node.start] + made + raw[node.end :]
        header = BLOCK_HEADER.match(old)
        comment = (header[2] or "") if header is not None else ""
        yield raw[: node.start] + literal(value, quoted=parent.flow) + comment + tail
        return
    absent = node.start == node.end
    if absent:
        # The parser places an absent value where the next token begins.
        colon = raw.find(":", key.end) + 1
        node = yaml12.YamlNode("scalar", colon, colon, key.line, 0, node.value)
    kept = _PROPERTIES.match(raw, node.start, node.end)
    properties = kept[0] if kept is not None else ""
    space = " " if absent else ""
    for made in scalars(node.style, value, flow=parent.flow):
        for before in dict.fromkeys((properties, "")):
            yield raw[: node.start] + space + before + made + raw[node.end :]


def _added(
    raw: str, mapping: yaml12.YamlNode, path: tuple[str, ...], value: str, newline: str
) -> Iterator[str]:
    if mapping.flow:
        inner = literal(value, quoted=True)
        for name in reversed(path[1:]):
            inner = f"{{{key_text(name)}: {inner}}}"
        close = mapping.end - 1
        while close > mapping.start and raw[close - 1] in " \t\r\n":
            close -= 1
        comma = ", " if mapping.children and raw[close - 1] != "," else " " if mapping.children else ""
        yield f"{raw[:close]}{comma}{key_text(path[0])}: {inner}{raw[close:]}"
        return
    line = key_line(path, value, " " * mapping.column, newline)
    last = _line_end(raw, mapping.end)
    yield f"{raw[:last]}{newline}{line}{raw[last:]}"
    end = len(raw)
    yield f"{raw[:end]}{newline}{line}"
    first = raw.rfind("\n", 0, mapping.start) + 1
    yield f"{raw[:first]}{line}{newline}{raw[first:]}"


def _line_end(raw: str, at: int) -> int:
    """Return the end of the line in `raw` that has the last non-blank character before position `at`.

    The line ending is not included.
    """
    last = len(raw[:at].rstrip(" \t\r\n"))
    end = raw.find("\n", last)
    end = len(raw) if end < 0 else end
    return end - 1 if end > last and raw[end - 1] == "\r" else end


def _without(
    text: str, block: Frontmatter, parent: yaml12.YamlNode, key: yaml12.YamlNode, node: yaml12.YamlNode
) -> Iterator[str]:
    raw = text[block.block_start : block.block_end]
    start, end = text[: block.block_start], text[block.block_end :]
    if parent.flow:
        for cut in _flow_cuts(raw, parent, key, node):
            yield start + cut + end
        return
    first = raw.rfind("\n", 0, key.start) + 1
    # The parser places an absent value where the next token begins.
    last = _line_end(raw, key.end + 1 if node.start == node.end else node.end)
    after = raw.find("\n", last) + 1
    rest = raw[:first] + raw[after:] if after else raw[:first].removesuffix("\n").removesuffix("\r")
    if rest.strip():
        yield start + rest + end
        # Blank lines that end a text belonged to the value.
        yield start + raw[: key.start] + raw[after:].lstrip(" ") + end
        return
    opening = len(BOM) if block.bom else 0
    yield text[:opening] + text[block.body_start :]
    yield start + "{}" + end


def _flow_cuts(
    raw: str, parent: yaml12.YamlNode, key: yaml12.YamlNode, node: yaml12.YamlNode
) -> Iterator[str]:
    place = parent.children.index(key)
    end = max(node.end, key.end)
    if place:
        yield raw[: max(parent.children[place - 1].end, parent.children[place - 2].end)] + raw[end:]
    elif len(parent.children) > 2:
        yield raw[: key.start] + raw[parent.children[2].start :]
    else:
        yield raw[: key.start] + raw[end:]
