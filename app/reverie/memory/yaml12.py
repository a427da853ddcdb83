"""YAML blocks read as the agent's own parser reads them: YAML 1.2, core schema.

PyYAML is a YAML 1.1 library: for it `yes` is a boolean, `2026-07-14` a date, U+0085 and U+2028 break lines,
control characters are fatal, and the last of two equal keys wins. Only its scanner and parser are used here
(the C ones where the wheel has them); this module interprets their events by YAML 1.2 and, if the standard
leaves a choice, like JavaScript's `yaml` package, which mux and xum use.

Invariants: aliases are never expanded, and nesting and aliases are bounded (enforced in `_Builder`), so a
hostile block costs no more than its length. Offsets count characters of the given block.

Pure; any thread. A block that does not parse raises `MalformedError`, whose text is for logs, not for people.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from reverie.values import Struct, field

MAX_DEPTH = 100
# Default limit of JavaScript's `yaml`: aliases, each weighted by the aliases inside its target.
MAX_ALIASES = 100

Kind = Literal["scalar", "alias", "mapping", "sequence"]

_NULL = re.compile(r"(?:~|[Nn]ull|NULL)?")
_BOOLEAN = re.compile(r"[Tt]rue|TRUE|[Ff]alse|FALSE")
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_OCTAL_OR_HEXADECIMAL = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+)")
_SPECIAL_FLOAT = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?"
    r"(?:[ \t]*(?:Z|[-+][012]?[0-9](?::[0-9]{2})?))?)?"
)
_TAG = "tag:yaml.org,2002:"
# Ordinary characters in YAML 1.2 that PyYAML treats as line breaks, or refuses.
_SURROGATE_PAIR = re.compile(r"(\\u[dD][89abAB][0-9a-fA-F]{2})(\\u[dD][c-fC-F][0-9a-fA-F]{2})")
_CONTROLS = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
_MISREAD = re.compile(rf"{_CONTROLS}|\r(?!\n)")
_MISREAD_BUT_RETURNS = re.compile(_CONTROLS)
# Lines of white space with a tab in it: blank for YAML 1.2, an error for PyYAML.
_BLANK = re.compile(r"^[ \t]*\t[ \t]*(?=\r?$)", re.MULTILINE)

_KINDS: dict[str, Kind] = {
    "ScalarEvent": "scalar",
    "AliasEvent": "alias",
    "MappingStartEvent": "mapping",
    "SequenceStartEvent": "sequence",
}
_ENDS = ("MappingEndEvent", "SequenceEndEvent")


class MalformedError(ValueError):
    """Raised if a block of text is not one well-formed YAML document."""


class Value(Struct, frozen=True):
    """The value of a node, as far as this program needs it."""

    text: str | None
    """The string; None for a value of another type."""
    identity: tuple[str, object] | None
    """The type and value of a scalar, to find equal keys in a mapping; None for a collection, which equals
    no other."""


_COLLECTION = Value(None, None)


class YamlNode(Struct, eq=False):
    """One node of a parsed block of YAML."""

    kind: Kind
    start: int
    """The position of the first character in the block."""
    end: int
    """The position after the last character; an indented collection ends where its last scalar or alias ends.
    """
    line: int
    """The number of the line at `start`, from 0."""
    column: int
    """The number of the column at `start`, from 0."""
    value: Value
    """The value of the node; an alias has the value of its `target`."""
    style: str = ""
    """The sign of a scalar's style: `'`, `"`, `|` or `>`; empty for plain."""
    flow: bool = False
    """True for a `{}` or `[]`, False for an indented collection."""
    anchor: str | None = None
    """The name of the node's anchor, or for an alias of the anchor that it names; None if there is none."""
    children: list[YamlNode] = field(default_factory=list)
    target: YamlNode | None = None
    """The node that an alias names; None if the node is not an alias."""
    uses: int = 0
    """The number of aliases of this node that were read so far."""
    weight: int = 0
    """The cost of each of these aliases (`_weight`); 0 before the first one."""

    def pairs(self) -> Iterator[tuple[YamlNode, YamlNode]]:
        """Yield (key node, value node) for each entry of a mapping, in order."""
        return zip(self.children[0::2], self.children[1::2], strict=True)

    def entry(self, name: str) -> tuple[YamlNode, YamlNode] | None:
        """Return the key and value nodes of the last entry `name`; None if there is no such entry."""
        pairs = list(self.pairs()) if self.kind == "mapping" else []
        return next(((key, value) for key, value in reversed(pairs) if key.value.text == name), None)


def parse(block: str, *, keys_twice: bool = False) -> YamlNode | None:
    """Parse a block of YAML and return its root node; None if it has only blank lines and comments.

    `keys_twice`: a key may occur twice in a mapping, and a lone carriage return ends a line. Raises
    `MalformedError`.
    """
    import yaml  # late: it costs tens of milliseconds, and most files are read without it

    offset = 1 if block.startswith("\ufeff") else 0
    paired, escapes = _without_surrogate_escapes(block[offset:])
    readable, originals = _made_readable(paired, _MISREAD_BUT_RETURNS if keys_twice else _MISREAD)
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder(readable.split("\n"), originals, escapes, offset, keys_twice=keys_twice)
    try:
        for event in yaml.parse(readable, Loader=loader):
            builder.take(event)
    except (yaml.YAMLError, RecursionError) as error:
        raise MalformedError(str(error)) from error
    return builder.root


def _without_surrogate_escapes(text: str) -> tuple[str, dict[str, str]]:
    """Return the text with its surrogate-pair escapes replaced, and a mapping replacement -> original escape.

    PyYAML refuses these escapes; escapes of private-use characters take their place. The length stays the
    same.
    """
    found = sorted({escape for pair in _SURROGATE_PAIR.finditer(text) for escape in pair.groups()})
    if not found:
        return text, {}
    lowered = text.lower()
    codes = (code for code in range(0xE000, 0xF900) if chr(code) not in text)
    free = (escape for code in codes if (escape := f"\\u{code:04x}") not in lowered)
    stand_ins = dict(zip(found, free, strict=False))
    if len(stand_ins) < len(found):
        return text, {}
    made = _SURROGATE_PAIR.sub(lambda pair: stand_ins[pair[1]] + stand_ins[pair[2]], text)
    return made, {new: old for old, new in stand_ins.items()}


def _made_readable(text: str, misreads: re.Pattern[str]) -> tuple[str, dict[int, str]]:
    """Return the text without the characters that PyYAML misreads, and the replacements made.

    The second value maps the code point of each replacement to the original character. The replacements are
    private-use characters that do not occur in the text, neither literally nor as escapes, so they can be
    undone exactly. The length stays the same.
    """
    if "\t" in text:
        text = _BLANK.sub(lambda match: " " * len(match[0]), text)
    misread = sorted(set(misreads.findall(text)))
    if not misread:
        return text, {}
    lowered = text.lower()
    candidates = ((chr(code), f"{code:08x}") for code in range(0x10FFFD, 0xEFFFF, -1))
    free = (char for char, escape in candidates if char not in text and escape not in lowered)
    stand_ins = dict(zip(misread, free, strict=False))
    readable = misreads.sub(lambda match: stand_ins[match[0]], text)
    return readable, {ord(new): old for old, new in stand_ins.items()}


class _Builder:
    """A builder of nodes from PyYAML's events, without recursion.

    It refuses the same blocks as the agent's parser.
    """

    def __init__(
        self,
        lines: list[str],
        originals: dict[int, str],
        escapes: dict[str, str],
        offset: int,
        *,
        keys_twice: bool,
    ) -> None:
        self.root: YamlNode | None = None
        self._keys_twice = keys_twice
        self._lines = lines
        self._originals = originals
        self._escapes = escapes
        self._offset = offset
        self._open: list[YamlNode] = []
        self._anchors: dict[str, YamlNode] = {}
        self._documents = 0

    def take(self, event: Any) -> None:
        name = type(event).__name__
        if name in _KINDS:
            self._add(self._node(event, _KINDS[name]))
        elif name in _ENDS:
            self._close(event)
        elif name == "DocumentStartEvent":
            self._documents += 1
            if self._documents > 1:
                raise MalformedError("more than one document")

    def _node(self, event: Any, kind: Kind) -> YamlNode:
        start, end = event.start_mark, event.end_mark
        first, last = start.index + self._offset, end.index + self._offset
        node = YamlNode(kind, first, last, start.line, start.column, _COLLECTION, anchor=event.anchor)
        if kind == "scalar":
            node.style = event.style or ""
            if node.style in ("'", '"'):
                self._check_continued(self._lines[start.line + 1 : end.line + 1])
            text = event.value.translate(self._originals) if self._originals else event.value
            text = self._with_surrogates(text, node.style) if self._escapes else text
            node.value = _resolved(text, event.tag, plain=event.implicit[0] and not node.style)
        elif kind == "alias":
            self._resolve_alias(node)
        else:
            node.flow = bool(event.flow_style)
        return node

    def _with_surrogates(self, text: str, style: str) -> str:
        """Return the text of a scalar with the original escapes that `_without_surrogate_escapes` replaced.

        `style`: the quotation mark of the scalar, `|` or `>`; empty for a plain scalar. In double quotes an
        escape becomes its character; otherwise it stays as it was written.
        """
        for new, old in self._escapes.items():
            written, meant = (chr(int(new[2:], 16)), chr(int(old[2:], 16))) if style == '"' else (new, old)
            text = text.replace(written, meant)
        if style != '"':
            return text
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")

    def _block_column(self) -> int:
        """Return the column that children of the innermost indented collection must exceed; -1 if none.

        PyYAML does not check this.
        """
        return next((node.column for node in reversed(self._open) if not node.flow), -1)

    def _check_continued(self, lines: list[str]) -> None:
        margin = self._block_column()
        for line in lines:
            words = line.lstrip(" ")
            if words.strip() and len(line) - len(words) <= margin:
                raise MalformedError("a continued line is not indented")

    def _add(self, node: YamlNode) -> None:
        if self._open:
            self._place(node)
        elif node.kind != "scalar" or node.start != node.end or node.value.text is not None:
            self.root = node
        if node.anchor is not None and node.kind != "alias":
            self._anchors[node.anchor] = node
        if node.kind in ("mapping", "sequence"):
            self._open.append(node)
            if len(self._open) > MAX_DEPTH:
                raise MalformedError("nested too deeply")

    def _place(self, node: YamlNode) -> None:
        parent = self._open[-1]
        begins_at = node.line
        if parent.flow:
            begins_at = parent.line
            before = self._lines[node.line][: node.column]
            if node.line > parent.line and "\t" in before and not before.strip():
                raise MalformedError("a tab indents")
        elif parent.kind == "mapping" and len(parent.children) % 2:
            begins_at = parent.children[-1].line
        # A list may be unindented under its key; an absent value is placed where the next token begins.
        is_list = node.kind == "sequence" and not node.flow
        is_absent = node.kind == "scalar" and node.start == node.end
        if node.line > begins_at and not is_list and not is_absent and node.column <= self._block_column():
            raise MalformedError("a value is not indented")
        parent.children.append(node)

    def _close(self, event: Any) -> None:
        node = self._open.pop()
        if node.flow:
            node.end = event.end_mark.index + self._offset
        elif node.children:
            node.end = max(child.end for child in node.children)
        if node.kind == "mapping" and not self._keys_twice:
            identities = [key.value.identity for key, _ in node.pairs() if key.kind == "scalar"]
            if len(set(identities)) < len(identities):
                raise MalformedError("a key occurs twice")

    def _resolve_alias(self, node: YamlNode) -> None:
        target = self._anchors.get(node.anchor or "")
        if target is None:
            raise MalformedError("an alias of nothing")
        node.target, node.value = target, target.value
        target.uses += 1
        target.weight = target.weight or _weight(target)
        if target.uses * target.weight > MAX_ALIASES:
            raise MalformedError("too many aliases")


def _weight(node: YamlNode) -> int:
    """Return the cost of one alias of `node`, as the agent's parser counts it for its limit on aliases.

    For an alias inside the node, the known cost of its target is used. So the recursion is at most
    `MAX_DEPTH` deep.
    """
    if node.kind == "scalar":
        return 1
    if node.target is not None:
        return node.target.uses * node.target.weight
    return max((_weight(child) for child in node.children), default=0)


def _resolved(text: str, tag: str | None, *, plain: bool) -> Value:
    """Return the value of a scalar; `plain`: it is written without quotes.

    `tag`: its explicit tag; None if it has none. With a tag the agent's parser checks the text, quoted or
    not.
    """
    name = (tag or "").removeprefix(_TAG)
    if tag is None or tag == "!":
        kinds: tuple[str, ...] = ("null", "bool", "int", "float") if plain and tag is None else ()
    elif name == "timestamp" and not _TIMESTAMP.fullmatch(text):
        raise MalformedError("a timestamp that is none")
    elif name in ("timestamp", "binary"):
        return _COLLECTION
    else:
        kinds = (name,)
    for kind in kinds:
        identity = _identity(text, kind)
        if identity is not None:
            return Value(None, identity)
    return Value(text, ("string", text))


def _identity(text: str, kind: str) -> tuple[str, object] | None:
    """Return (kind, converted value) for the text of a scalar; None if the text is not of this kind.

    `kind`: the type to try, such as `int`. All numbers are converted to doubles, and their kind is `number`.
    """
    if kind == "null" and _NULL.fullmatch(text):
        return "null", None
    if kind == "bool" and _BOOLEAN.fullmatch(text):
        return "bool", text[0] in "tT"
    if kind == "int" and _DECIMAL.fullmatch(text):
        return "number", float(text)
    if kind == "int" and _OCTAL_OR_HEXADECIMAL.fullmatch(text):
        number = int(text, 0)
        return "number", float(number) if number.bit_length() <= 1023 else float("inf")
    if kind == "float" and _FLOAT.fullmatch(text):
        return "number", float(text)
    if kind == "float" and _SPECIAL_FLOAT.fullmatch(text):
        return "number", float(text.replace(".", ""))
    return None
