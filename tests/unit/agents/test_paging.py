"""Pages of a transcript follow each other without a gap; a search says where, from there on and around."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.agents.transcript_pages import PAGE_CHARS, PagedTranscript, is_prompt, says
from reverie.agents.transcripts import Message, ReadStatistics, ToolUse


class Made:
    """A transcript of so many messages; `begun` counts how often it was read from the start."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.begun = 0

    def messages(self, reading: ReadStatistics) -> Iterator[Message]:
        self.begun += 1
        for number, text in enumerate(self.texts):
            reading.lines += 1
            yield Message(number, "user", "message", text)


def paged(*texts: str) -> tuple[Made, PagedTranscript]:
    made = Made(*texts)
    return made, PagedTranscript(made, Path("/nowhere"))


def nothing() -> None:
    pass


@given(st.integers(0, 40), st.integers(1, 9), st.lists(st.integers(0, 50), max_size=5))
@settings(max_examples=examples(100), deadline=None)
def test_any_page_is_the_same_however_one_came_there(total: int, size: int, places: list[int]) -> None:
    _made, pages = paged(*(f"text {number}" for number in range(total)))
    for start in places:
        page = pages.page(start, nothing, messages=size)
        wanted = list(range(total))[start : start + size]
        assert [message.number for message in page.messages] == wanted
        assert page.at_end == (start + size >= total)


def test_following_pages_read_the_file_once() -> None:
    made, pages = paged(*"abcdefghij")
    shown: list[str] = []
    for start in range(0, 10, 3):
        shown += [message.text for message in pages.page(start, nothing, messages=3).messages]
    assert "".join(shown) == "abcdefghij"
    assert made.begun == 1
    pages.page(0, nothing)
    assert made.begun == 2


def test_a_page_ends_with_many_characters_and_is_never_empty() -> None:
    _made, pages = paged(*("x" * (PAGE_CHARS + 1) for _ in range(3)))
    assert [len(pages.page(start, nothing).messages) for start in range(3)] == [1, 1, 1]
    assert [message.number for message in pages.last(nothing).messages] == [2]


def test_the_last_page_has_the_last_messages() -> None:
    _made, pages = paged(*"abcdefghij")
    page = pages.last(nothing, messages=4)
    assert ([message.text for message in page.messages], page.at_end) == (list("ghij"), True)
    assert page.facts.lines == 10


def test_what_was_appended_is_on_the_next_page() -> None:
    made, pages = paged("a")
    assert pages.page(0, nothing).at_end
    made.texts.append("b")
    assert [message.text for message in pages.page(1, nothing).messages] == ["b"]


def test_a_search_goes_on_from_where_one_is_and_around() -> None:
    _made, pages = paged("one", "two", "ONE", "three", "one")
    found = [pages.find(says("one"), number, nothing) for number in (-1, 0, 2, 4)]
    assert found == [0, 2, 4, 0]
    back = [pages.find(says("one"), number, nothing, back=True) for number in (4, 2, 0)]
    assert back == [2, 0, 4]
    assert pages.find(says("four"), 0, nothing) is None
    assert pages.find(is_prompt, 1, nothing) == 2


def test_what_a_tool_was_told_and_answered_is_found_too() -> None:
    call = Message(0, "tool", "tool", "", tool=ToolUse("Shell", "make TEST", "2 failed"))
    assert all(says(needle)(call) for needle in ("shell", "make test", "2 FAILED"))
    assert not says("make tests")(call)


def test_a_stamp_changes_with_the_file_and_with_any_file_of_a_directory(tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    for path in (file, tmp_path):
        pages = PagedTranscript(Made(), path)
        file.unlink(missing_ok=True)
        before = pages.stamp()
        file.write_text("{}\n")
        assert before == () != pages.stamp()
        assert pages.stamp() == pages.stamp()
