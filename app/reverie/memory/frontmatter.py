"""YAML front matter of memories: finding the block, reading the description from it, changing it.

The rules are those of formats/mux.md section 7. A block begins with `---` at the first byte, and the agent
looks at a bounded prefix of the file only, so a block that does not close inside it is none. A description is
flattened to one line for show: it is untrusted text on its way into lists and prompts. `set_description` and
`mend` edit: what they do not have to change stays byte for byte, and every edit is parsed again before it is
believed.

Pure functions, any thread. Nothing here fails on any input: what cannot be read is a state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from reverie.homes.scopes import Caps
from reverie.memory import yaml12
from reverie.text.tokens import cut_utf16, utf16_length

DescriptionState = Literal["ok", "none", "malformed", "unclosed", "not-text"]

BOM = "\ufeff"
_UNSAFE = "\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"

_BLOCK = re.compile(r"---(?P<newline>\r?\n)(?P<raw>.*?)\r?\n---(?:\r?\n|\Z)", re.DOTALL)
_OPENING = re.compile(r"---\r?\n(?!---(?:\r?\n|\Z))")
EMPTY = re.compile(r"---(\r?\n)(?=---(?:\r?\n|\Z))")
# Blocks as agents mostly write them need no parser, which costs a hundred times as much: `_simple` reads a
# block of one line, `_simple_lines` one of several. Where these answer, they answer what the parser would.
_ONE_LINE = "---\ndescription: "
_SIMPLE_LINE = re.compile(
    r"(?P<key>[A-Za-z_][A-Za-z0-9_-]*): (?:"
    rf"(?P<plain>\w(?:[^{_UNSAFE}:#]*[^{_UNSAFE}:#\s])?)"
    rf'|"(?P<quoted>[^{_UNSAFE}"\\]*)"'
    r"|\[(?:\w[\w ./+-]*(?:, \w[\w ./+-]*)*)?\]"
    r") *(?:\r?\n|\Z)"
)
_NO_STRINGS = frozenset({"null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE"})
# What is white space to JavaScript. Python has U+001C to U+001F and U+0085 besides, and lacks U+FEFF.
JS_SPACE = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_SPACES = re.compile(f"[{JS_SPACE}]+")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")

# Front matter beyond this is not mended: no agent would see it, and each trial parses the block again.
_MENDABLE_CHARS = 16_384
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_KEY = re.compile(r"[\w$][^:#\[\]{}\"',&*!|>%@`\n]*:(?=[ \t\r\n]|\Z)")
_HEADER_COMMENT = re.compile(r"[^\n]*?([ \t]#[^\r\n]*)")
# Words that need no quotes, unless some version of YAML gives them a meaning.
_PLAIN = re.compile(rf"[^\W\d_](?:[^{_UNSAFE}:#]*[^{_UNSAFE}:#\s])?")
RESERVED = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_ESCAPED = re.compile(rf'[{_UNSAFE}"\\]')
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """Where a block is: its YAML is `text[block_start:block_end]`, the body begins at `body_start`.

    `newline` is the one after the opening fence. `bom`: the text begins with a byte order mark, so that the
    agent, for which the first byte counts, does not see the block.
    """

    block_start: int
    block_end: int
    body_start: int
    newline: Literal["\n", "\r\n"]
    bom: bool


class Description(NamedTuple):
    """What the agent shows for a file, and how it came about.

    `none`: no block, or one without a description that is a non-empty string. `malformed`: not YAML, or not
    a mapping. `unclosed`: the opening fence only. `not-text`: the prefix is not UTF-8 or has a NUL, whatever
    the block says. `text` is always what the agent would show: empty unless `ok` or `not-text`.
    """

    text: str
    state: DescriptionState


NO_DESCRIPTION = Description("", "none")
_NOT_TEXT = Description("", "not-text")
_MALFORMED = Description("", "malformed")
_UNCLOSED = Description("", "unclosed")


def split(text: str, prefix_bytes: int | None = None) -> Frontmatter | None:
    """The block of a file's whole text, or None. `prefix_bytes`: how far to look for its end; None: all."""
    bom = text.startswith(BOM)
    seen = text
    if prefix_bytes is not None:
        seen = text[:prefix_bytes].encode("utf-8", "surrogatepass")[:prefix_bytes].decode("utf-8", "replace")
    match = _BLOCK.match(seen, len(BOM) if bom else 0)
    if match is None:
        return None
    newline: Literal["\n", "\r\n"] = "\n" if match["newline"] == "\n" else "\r\n"
    return Frontmatter(*match.span("raw"), match.end(), newline, bom)


def description(prefix: bytes, caps: Caps) -> Description:
    """The description of a file whose first `caps.description_prefix_bytes` bytes (or fewer, if that is all
    it has) are `prefix`."""
    prefix = prefix[: caps.description_prefix_bytes]
    is_utf8 = True
    try:
        text = prefix.decode()
    except UnicodeDecodeError as error:
        # As the agent does: a character cut by the prefix, like any damage, becomes U+FFFD. That the cut is
        # no damage matters only for what we call the file.
        text = prefix.decode("utf-8", "replace")
        is_utf8 = error.reason == "unexpected end of data" and len(prefix) == caps.description_prefix_bytes
    found = _described(text, caps.description_chars)
    if is_utf8 and "\0" not in text:
        return found
    return Description(found.text, "not-text") if found.text else _NOT_TEXT


def declared(text: str, prefix_bytes: int | None = None, *, key: str = "description") -> str | None:
    """The description (or another key) that a text gives, exactly as it stands there; None without a block
    that gives one."""
    block = split(text, prefix_bytes)
    if block is None:
        return None
    try:
        root = yaml12.parse(text[block.block_start : block.block_end])
    except yaml12.MalformedError:
        return None
    entry = root.entry(key) if root is not None else None
    return entry[1].value.text if entry is not None else None


def flattened(text: str, limit: int) -> str:
    """One line of at most `limit` UTF-16 units, as the agent makes it, plus an ellipsis where it was cut."""
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
    block = _BLOCK.match(text)
    if block is None:
        return _UNCLOSED if _OPENING.match(text) else NO_DESCRIPTION
    simple = _simple_lines(block["raw"])
    return _parsed(block["raw"], limit) if simple is None else _shown(simple, limit)


def _simple(text: str) -> str | None:
    """The description of a file whose block is one line of plain words; None: ask further."""
    if not text.startswith(_ONE_LINE):
        return None
    start = len(_ONE_LINE)
    end = text.find("\n", start)
    value = text[start:end]
    if not text.startswith("\n---\n", end) or not value.isprintable() or ":" in value or "#" in value:
        return None
    return value if value[:1].isalpha() and value.rstrip(" ") not in _NO_STRINGS else None


def _simple_lines(raw: str) -> str | None:
    """The description of a block whose lines are all simple, empty if it has none; None: ask the parser."""
    found, keys, end = "", set[str](), 0
    while end < len(raw):
        line = _SIMPLE_LINE.match(raw, end)
        if line is None or line["key"] in keys or line["key"] in _NO_STRINGS:
            return None
        keys.add(line["key"])
        end = line.end()
        if line["key"] == "description":
            found = line["plain"] or line["quoted"] or ""
            # What begins with a digit may be a number.
            if line["plain"] and (not found[0].isalpha() or found in _NO_STRINGS):
                return None
    return found


def _parsed(raw: str, limit: int) -> Description:
    try:
        root = yaml12.parse(raw)
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


def set_description(text: str, value: str, *, prefix_bytes: int | None = None) -> str:
    """`text` with `value` as its description; all else stays byte for byte.

    In a block only the lines of that key change, or one line is added; without one, a block is put before the
    text. A malformed block is mended first; one that cannot be, or is no mapping, counts as text and gets a
    block above it, and so does one that does not close within `prefix_bytes`.
    """
    if declared(text, prefix_bytes) == value:
        return text
    base = mend(text, prefix_bytes=prefix_bytes) or text
    for candidate in _edited(base, value):
        if declared(candidate, prefix_bytes) == value and _others(candidate) == _others(base):
            return candidate
    start = len(BOM) if text.startswith(BOM) else 0
    newline = "\r\n" if text[: text.find("\n") + 1].endswith("\r\n") else "\n"
    block = f"---{newline}description: {literal(value)}{newline}---{newline}"
    return text[:start] + block + text[start:]


def mend(text: str, *, prefix_bytes: int | None = None) -> str | None:
    """`text` with its malformed block made well-formed by quoting the values that do not parse, or None.

    Keys, their order and all other bytes stay. None: there is no such block, or quoting does not help.
    """
    block = split(text, prefix_bytes)
    if block is None or block.block_end - block.block_start > _MENDABLE_CHARS:
        return None
    raw = text[block.block_start : block.block_end]
    if _parses(raw):
        return None
    mended = ""
    for group in _groups(raw):
        whole = "".join(group)
        # Alone first: only an alias needs what stands above it.
        is_fine = _is_mapping(whole) or ("*" in whole and _is_mapping(mended + whole))
        mended += whole if is_fine else _with_quoted_value(group)
    result = text[: block.block_start] + mended + text[block.block_end :]
    return result if _is_mapping(mended) and split(result, prefix_bytes) is not None else None


def _edited(text: str, value: str) -> Iterator[str]:
    """Ways to put the description into the block that is there, the best first; they may turn out wrong."""
    empty = EMPTY.match(text, len(BOM) if text.startswith(BOM) else 0)
    if empty is not None:
        yield f"{text[: empty.end()]}description: {literal(value)}{empty[1]}{text[empty.end() :]}"
    block = split(text)
    if block is None:
        return
    before, raw = text[: block.block_start], text[block.block_start : block.block_end]
    try:
        root = yaml12.parse(raw)
    except yaml12.MalformedError:
        return
    for changed in _edited_block(raw, root, value, block.newline):
        yield before + changed + text[block.block_end :]


def _edited_block(raw: str, root: yaml12.Node | None, value: str, newline: str) -> Iterator[str]:
    line = f"description: {literal(value)}"
    if root is None:
        yield f"{line}{newline}{raw}"
        return
    entry = root.entry("description")
    if entry is not None:
        yield _with_value(raw, entry[0], entry[1], literal(value, quoted=root.flow))
    elif root.flow:
        comma = ", " if root.children else ""
        inside = raw.find("{", root.start) + 1
        yield f"{raw[:inside]}description: {literal(value, quoted=True)}{comma}{raw[inside:]}"
    else:
        indent = " " * root.column
        yield f"{indent}{line}{newline}{raw}"
        # Below what must stay first, such as a directive.
        yield f"{raw[: root.start]}{line}{newline}{indent}{raw[root.start :]}"


def _with_value(raw: str, key: yaml12.Node, node: yaml12.Node, literal: str) -> str:
    """The block with `literal` for the value `node`, comments beside it kept."""
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


def _others(text: str) -> object:
    """Everything that a block says but its description, for comparison."""
    block = split(text)
    raw = text[block.block_start : block.block_end] if block is not None else ""
    root = yaml12.parse(raw) if _is_mapping(raw) else None
    if root is None:
        return ()
    return tuple(
        (outline(key), outline(value)) for key, value in root.pairs() if key.value.text != "description"
    )


def outline(node: yaml12.Node) -> object:
    """What a node says, for comparison; how it is written does not count."""
    return node.kind, node.value, tuple(outline(child) for child in node.children)


def _groups(raw: str) -> list[list[str]]:
    """The lines of a block, each key at the margin with what follows it; first those before any key."""
    groups: list[list[str]] = [[]]
    for line in _LINE.findall(raw):
        if _KEY.match(line):
            groups.append([])
        groups[-1].append(line)
    return [group for group in groups if group]


def _with_quoted_value(group: list[str]) -> str:
    key = _KEY.match(group[0])
    if key is None:
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


def _parses(raw: str) -> bool:
    try:
        yaml12.parse(raw)
    except yaml12.MalformedError:
        return False
    return True


def _is_mapping(raw: str) -> bool:
    try:
        root = yaml12.parse(raw)
    except yaml12.MalformedError:
        return False
    return root is not None and root.kind == "mapping"


def literal(value: str, *, quoted: bool = False) -> str:
    """`value` as YAML on one line, in the plainest way that every version of YAML reads back the same."""
    if not quoted and _PLAIN.fullmatch(value) and value.lower() not in RESERVED:
        return value
    special = set(_ESCAPED.findall(value))
    if special and special <= {'"', "\\"}:
        return "'" + value.replace("'", "''") + "'"
    return '"' + _ESCAPED.sub(lambda match: _escape(match[0]), value) + '"'


def _escape(char: str) -> str:
    return _ESCAPES.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")
