# ruff: noqa: E501 - the values of a grammar stay together
"""Shapes of front matter as people, editors and sync tools write them: a small grammar with a seed.

Every value, fence and way to write the other keys stands once alone in an otherwise plain note; the rest are
combinations by chance. A shape is the bytes of one note.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

PLAIN = "Where the harbour keeps its charts"

VALUES = (
    "Avatar: the last release", "[WIP] x", "*.ts", "@team", "`code` first", "%percent", "{brace} x", "**bold** words",
    "**bold**: words", "[[link]]", "[[link]] words", "[text](file.md)", "[text](file.md): words", "> quoted words", "| piped",
    "- dash", "-dash", "? question", ": colon", "#tag", "# heading", "PR #12 (not merged)", "PR#12", "a: b # c", "a # b",
    "Use #1: y", "'single'", '"double"', "'a' and b", '"a" and b', '"open', "'open", "it's", 'say "x"', "'it''s'", "'it's'",
    '"a \\" b"', '"a\\nb"', '"caf\\u00e9"', '"a\\q"', '"C:\\dir"', "C:\\dir", "http://x.example/y", "true", "null", "~", "12", "1.5",
    "0x10", "010", "1e3", "2026-01-02", "12:30 lunch", "1.2.3", "yes", "on", "", "''", '""', "ends:", "a:b", "a : b", "a :b", "a, b",
    "one -- two", "one --- two", "…", "…and so on", "日本語: 説明", "🚢 ship", "a\u00a0b", "a  b", "Stop!", "50%", "a|b", "a > b", "x & y",
    "[a, b]", "{a: b}", "[a", "{", "&x words", "*x", "!important words", "!!str 12", "<b>", "$HOME", "(x)", "~/bin", "/etc/x", "=", "a = b",
    "words   ", "words\t", "\twords", "\u201cquoted\u201d words", "Rules — for imports", "Issue: \"x\" and 'y'", "back\\slash: yes", "50% of: x",
    "|\n  one\n  two", "|-\n  one: a\n  two", ">\n  one\n  two", ">-\n  one # a\n  two", "|+\n  one\n", "|2\n   one", "| # why\n  one",
    "one\n  two", "one\ntwo", "\n  one two", '"one\n  two"', "'one\n\n  two'", "\n  - a\n  - b", "\n  a: b", "one\n  two: three",
    "|\n\tone", "one\n\n  two", "one\n  # two\n  three", ">\n  one\n    two\n  three", "|\nname: cut", "one\n\ttwo", '"one\n\ttwo"',
)  # fmt: skip
"""Of `description`."""

TYPES = (
    "type: project", "metadata:\n  type: project", "metadata:\n    node_type: memory\n    type: project", "metadata:\n\ttype: project",
    "metadata: {type: project}", "type: 'project'", 'type: "project" # kind', "type: Project", "type: x", "type:", "type: [project]",
    "type: user\nmetadata:\n  type: project", "type: user\ntype: project", "metadata:\n  type: user\nmetadata:\n  type: project",
    "type: user\nmetadata: x", "type: user\nmetadata:\n  type:", "metadata:\n  type: user\n  type: project", "metadata:\n- type: project",
    "metadata:\n  node_type: memory\n  type: project\n  originSessionId: 3f0c1d1e-0000-4000-8000-000000000000\n  modified: 2026-08-01T08:00:00.000Z",
    "type: project # kind", "type:\tproject", "type : project",
)  # fmt: skip
NAMES = (
    "name: harbour-charts", "name: Harbour charts", "name: charts: all", "name: 'harbour'", "name:", "name: 12", "name: a\nname: b",
    "title: Harbour", "", "name: [harbour]", "name: harbour # old", "name: @harbour",
)  # fmt: skip
OTHERS = (
    "", "tags: [a, b]", "tags:\n  - a\n  - b", "tags:\n- a\n- b", "tags:\n\t- a\n\t- b", "tags: [\n\ta,\n\tb ]", "tags: a, b", "tags: [a, b",
    "# a comment", "# a: comment: b", "globs: *.ts", "globs: **/*.ts, *.js # all", 'paths: "**/*.ts"', "paths: **/*.ts", "date: 2026-01-02",
    "permalink: notes/deploy", "created: 2026-01-02 10:00:00", "aliases: []", "note: |\n  one\n  two", "note: |\n  a: b: c\n  - d", "note: a: b",
    "my_key: a: b", "my-key: a: b", "my.key: a: b", "a key: a: b", "k2: a: b", "metadata2:\n  note: a: b", "list:\n  - a: b: c", "list:\n  - @x",
    "no colon", "@a: b", "key: 'open", "&anchor key: x", "base: &b x\nother: *b", "other: *nope", "x: y\n\t\nz: w", "\n", "---x: y", "x: {a: {b: c}}",
    "x:\n  a:\n    b: c", "x:\n\ta:\n\t\tb: c", "x:\n  a: 1\n\tb: 2", "x:\n    a: 1\n\tb: 2", "pinned: true", "description: last", "summary: >-\n  a\n  b",
    "%tag: x", "? x\n: y", '"quoted key": x', "'description': other", "links:\n  - \"[[a]]\"\n  - [[b]]", "url: http://x.example/y#z", "empty:",
    "...", "extra: x\\", "emoji: 🚢", "cjk: 海図",
)  # fmt: skip

OPENING = (
    "---\n", "--- \n", "---\t\n", "---  \n", "---\n\n", "---\n \n\n", "---\u00a0\n", "----\n", "--- # x\n", "---yaml\n", " ---\n", "\n---\n", "\n\n---\n",
    " \n---\n", "\ufeff---\n", "\ufeff--- \n", "\ufeff\n---\n", "\ufeff\ufeff---\n", "<!-- x -->\n---\n", "```yaml\n---\n", "+++\n", "",
)  # fmt: skip
CLOSING = (
    "\n---\n", "\n--- \n", "\n---\t\n", "\n---   \n\n", "\n\n---\n", "\n \n---\n", "\n...\n", "\n... \n", "\n----\n", "\n--- x\n", "\n  ---\n", "\n\t---\n",
    "\n---", "\n", "\n\n", "\n***\n", "\n---\n\n---\npermalink: x\n---\n", "\n---\n---\nname: second\ndescription: of the second block\n---\n", "---\n",
    "\n---\u00a0\n", "\n\u2014\n", "\n---\r\n",
)  # fmt: skip
BODIES = ("\n# Charts\n\nThe charts lie in the drawer.\n", "Body at once.\n", "", "\n---\n\nBelow a rule.\n")
BREAKS = ("\n", "\r\n", "\r")


def shapes(seed: int, combined: int) -> Iterator[bytes]:
    """Yield every part of the grammar alone, then `combined` combinations."""
    for value in VALUES:
        yield note(value=value)
    for kind in TYPES:
        yield note(kind=kind)
    for name in NAMES:
        yield note(name=name)
    for other in OTHERS:
        yield note(other=other)
    for opening in OPENING:
        yield note(opening=opening)
    for closing in CLOSING:
        yield note(closing=closing)
    for newline in BREAKS[1:]:
        yield note(newline=newline)
        yield note(value=VALUES[0], kind=TYPES[3], newline=newline)
    yield note(value="x" * 700)
    yield note(other="\n".join(f"key-{number}: x" for number in range(40)))
    yield note(other=f"long: {'y' * 5000}")
    choose = random.Random(f"front matter {seed}")
    for _ in range(combined):
        yield note(
            value=choose.choice(VALUES),
            kind=choose.choice(TYPES),
            name=choose.choice(NAMES),
            other=choose.choice(OTHERS),
            opening=choose.choice(OPENING) if choose.random() < 0.2 else "---\n",
            closing=choose.choice(CLOSING) if choose.random() < 0.2 else "\n---\n",
            body=choose.choice(BODIES),
            newline=choose.choice(BREAKS) if choose.random() < 0.2 else "\n",
            order=choose.randrange(4),
        )


def note(
    *,
    value: str = PLAIN,
    kind: str = "type: project",
    name: str = "name: harbour-charts",
    other: str = "",
    opening: str = "---\n",
    closing: str = "\n---\n",
    body: str = BODIES[0],
    newline: str = "\n",
    order: int = 0,
) -> bytes:
    """Write one note."""
    lines = [name, f"description: {value}", kind, other]
    block = "\n".join(line for line in lines[order:] + lines[:order] if line)
    return f"{opening}{block}{closing}{body}".replace("\n", newline).encode()
