"""The first heading of a text."""

from __future__ import annotations

import pytest

from reverie.text.summaries import first_heading


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        (b"cwd: /x\r\n\r\n# Oil the lamp #\r\n", "Oil the lamp"),
        (b"## Task 1: Oil\n\n# Later\n", "Later"),
        (b"x\n\n## Task 1: Oil the lamp\n", "Oil the lamp"),
        (b"## Another section\n", ""),
        (b"#no space\n", ""),
        (b"# \x1b[31mred\n", "[31mred"),
        (b"# \xff\n", "\ufffd"),
        (b"", ""),
    ],
)
def test_the_first_heading_of_the_top_level_else_the_first_task(text: bytes, heading: str) -> None:
    assert first_heading(text) == heading
