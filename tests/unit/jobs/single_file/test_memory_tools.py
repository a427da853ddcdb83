"""`memory_write` as the sheet has it, over a draft that survives what others write meanwhile."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.errors import StoreError
from reverie.jobs.single_file.writer import MemoryDraft
from reverie.llm.provider import ToolOutcome
from reverie.llm.tools import Tool


class Disk:
    """A file that others write as well."""

    def __init__(self, text: str | None) -> None:
        self.data = None if text is None else text.encode()

    def __call__(self) -> bytes | None:
        return self.data


def draft_of(text: str | None, max_bytes: int = 10_000) -> tuple[MemoryDraft, Disk]:
    disk = Disk(text)
    return MemoryDraft(disk, max_bytes=max_bytes), disk


def write(draft: MemoryDraft, old: str, new: str, count: int = 1) -> None:
    draft.replace(old, new, count)


@pytest.mark.parametrize(
    ("text", "change", "after"),
    [
        ("a b c", ("b", "x"), "a x c"),
        ("", ("", "first"), "first"),
        ("a a a", ("a", "x", 2), "x x a"),
        ("a a a", ("a", "x", -1), "x x x"),
        ("one\r\ntwo\r\n", ("one\ntwo", "three\nfour"), "three\r\nfour\r\n"),
        ("one\ntwo\n", ("one\r\ntwo", "x\r\ny"), "x\ny\n"),
        ("cost", ("cost", "$& $1 $$"), "$& $1 $$"),
        ("- x\n", ("- x\n", ""), ""),
    ],
)
def test_replacements(text: str, change: tuple[Any, ...], after: str) -> None:
    assert MemoryDraft.replaced(text, *change) == after


@pytest.mark.parametrize(
    ("text", "change", "said"),
    [
        ("abc", ("x", "y"), "not in the memory file"),
        ("a a", ("a", "x"), "stands 2 times"),
        ("a a", ("a", "x", 3), "2 times only"),
        ("a", ("a", "x", 0), "positive"),
        ("a", ("a", "x", -2), "positive"),
        ("a", ("", "x"), "empty file only"),
        ("", ("", "x", -1), "replace_count 1 only"),
        ("", ("a", "x", -1), "not in the memory file"),
    ],
)
def test_refusals_say_what_to_do(text: str, change: tuple[Any, ...], said: str) -> None:
    with pytest.raises(StoreError, match=re.escape(said)):
        MemoryDraft.replaced(text, *change)


@given(st.text("ab\n", max_size=20), st.text("ab\n", min_size=1, max_size=4), st.text("xy", max_size=4))
def test_a_replacement_of_all_leaves_nothing_to_replace_unless_it_puts_it_back(
    text: str, old: str, new: str
) -> None:
    try:
        after = MemoryDraft.replaced(text, old, new, -1)
    except StoreError:
        assert old not in text
    else:
        assert after == text.replace(old, new)


def test_a_draft_changes_nothing_on_disk() -> None:
    draft, disk = draft_of("a\n")
    write(draft, "a", "b")
    assert (draft.text, disk.data, draft.before, draft.after) == ("b\n", b"a\n", b"a\n", b"b\n")
    assert draft.changed
    assert draft.original == "a\n"


def test_a_write_is_made_again_on_what_somebody_else_wrote() -> None:
    draft, disk = draft_of("one\ntwo\n")
    write(draft, "one", "ONE")
    disk.data = b"one\ntwo\nthree\n"
    write(draft, "three", "THREE")
    assert draft.text == "ONE\ntwo\nTHREE\n"
    assert draft.before == b"one\ntwo\nthree\n"


def test_a_write_that_no_longer_fits_is_told_and_the_disk_is_believed() -> None:
    draft, disk = draft_of("one\n")
    write(draft, "one", "ONE")
    disk.data = b"uno\n"
    with pytest.raises(StoreError, match="changed meanwhile"):
        draft.refresh()
    assert draft.text == "uno\n"
    assert not draft.changed
    write(draft, "uno", "UNO")
    assert draft.text == "UNO\n"


def test_the_first_write_makes_the_file() -> None:
    draft, _disk = draft_of(None)
    assert not draft.exists
    write(draft, "", "# Memory\n")
    assert draft.exists
    assert draft.before is None


def test_no_secret_gets_into_the_file() -> None:
    key = "sk-proj-" + "9f8E7d6C5b4A3" * 3
    draft, _disk = draft_of("notes\n")
    with pytest.raises(StoreError, match="no secrets"):
        write(draft, "notes", f"key {key}")
    assert draft.text == "notes\n"


def test_a_secret_that_is_there_already_stays_and_does_not_block_other_lines() -> None:
    key = "sk-proj-" + "9f8E7d6C5b4A3" * 3
    draft, _disk = draft_of(f"key {key}\nnotes\n")
    write(draft, "notes", "more")
    assert draft.text == f"key {key}\nmore\n"


def test_a_file_never_grows_beyond_the_cap_but_may_shrink() -> None:
    draft, _disk = draft_of("x" * 50, max_bytes=40)
    with pytest.raises(StoreError, match="at most 40"):
        write(draft, "x" * 50, "y" * 60)
    write(draft, "x" * 50, "y" * 45)


def test_bytes_that_are_no_text_are_never_rewritten() -> None:
    disk = Disk(None)
    disk.data = b"\xff\xfe\x00"
    with pytest.raises(StoreError, match="not text"):
        MemoryDraft(disk, max_bytes=100)


def tools_of(text: str | None) -> tuple[MemoryDraft, dict[str, Tool], Disk]:
    draft, disk = draft_of(text)
    return draft, {tool.spec.name: tool for tool in draft.tools()}, disk


def call(tool: Tool, **arguments: Any) -> ToolOutcome:
    try:
        return tool.call(arguments)
    except StoreError as error:
        return ToolOutcome(str(error), is_error=True)


def test_the_three_tools() -> None:
    tools, by_name, _disk = tools_of("a\n")
    assert set(by_name) == {"memory_read", "memory_write", "no_new_memories"}
    assert call(by_name["memory_read"]).content == "a\n"
    assert not tools.satisfied
    assert call(by_name["memory_write"], old_string="a", new_string="b").wrote
    assert (tools.wrote, tools.declined, tools.satisfied) == (True, False, True)


def test_a_no_op_is_enough() -> None:
    tools, by_name, _disk = tools_of(None)
    assert "no memory file yet" in call(by_name["memory_read"]).content
    assert not call(by_name["no_new_memories"]).is_error
    assert (tools.satisfied, tools.wrote) == (True, False)


def test_a_no_op_after_a_failed_write_does_not_count_in_that_attempt() -> None:
    tools, by_name, _disk = tools_of("a\n")
    assert call(by_name["memory_write"], old_string="x", new_string="y").is_error
    assert call(by_name["no_new_memories"]).is_error
    assert not tools.satisfied
    assert tools.follow_up("")
    assert not call(by_name["no_new_memories"]).is_error
    assert tools.satisfied


def test_a_write_after_a_failed_one_makes_it_good() -> None:
    _tools, by_name, _disk = tools_of("a\n")
    call(by_name["memory_write"], old_string="x", new_string="y")
    assert not call(by_name["memory_write"], old_string="a", new_string="y", replace_count=-1).is_error
    assert not call(by_name["no_new_memories"]).is_error
