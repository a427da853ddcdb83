"""What a memory of Claude Code says without what it says of itself, and of which kind it is
(formats/claude-code.md section 4)."""

from __future__ import annotations

import pytest

from helpers.claude_home import newer_topic, topic
from reverie.agents.claude.comparable import comparable_text

BODY = "A fact.\n"
SAYS = f"---\ndescription: what it says\n---\n{BODY}"


@pytest.mark.parametrize(
    ("text", "said", "kind"),
    [
        (topic("a"), SAYS, "project"),
        (newer_topic("a"), SAYS, "feedback"),
        (topic("a", kind="whatever"), SAYS, ""),
        (topic("a", kind='"user" # for now'), SAYS, "user"),
        (BODY, BODY, ""),
        (f"---\nname: a\ntype: user\n---\n{BODY}", BODY, "user"),
        (f"---\nname: a\ntype: user\n{BODY}", f"---\nname: a\ntype: user\n{BODY}", ""),
        (f"---\r\nname: [\r\nmine: x\r\n---\r\n{BODY}", f"---\r\nmine: x\r\n---\r\n{BODY}", ""),
        (
            f"---\ndescription: |\n  type: user\n  of thing\n---\n{BODY}",
            f"---\ndescription: |\n  type: user\n  of thing\n---\n{BODY}",
            "",
        ),
        (f"\ufeff---\ntype: reference\n---\n{BODY}", BODY, "reference"),
    ],
    ids=[
        "older shape",
        "newer shape",
        "unknown type",
        "a comment behind the type",
        "no front matter",
        "nothing but of the file",
        "unclosed",
        "broken",
        "a type in a text",
        "byte order mark",
    ],
)
def test_what_a_memory_says_is_without_what_tells_of_its_file(text: str, said: str, kind: str) -> None:
    found = comparable_text(text)
    assert (found.text, found.kind) == (said, kind)
