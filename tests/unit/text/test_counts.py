from reverie.text.summaries import left_as_before, some, was_left, with_write_protected


def test_a_count_is_said_as_a_sentence_says_it() -> None:
    said = [some(count, word) for count, word in ((0, "file"), (1, "file"), (2, "directory"), (1_000, "day"))]
    assert said == ["0 files", "1 file", "2 directories", "1,000 days"]


def test_what_was_left_is_said_of_one_and_of_several() -> None:
    assert [left_as_before(count) for count in (1, 2)] == ["left as it is", "left as they are"]
    assert [was_left(count) for count in (1, 2)] == ["was left as it is", "were left as they are"]


def test_a_summary_is_a_sentence_before_another_one_follows() -> None:
    left = "Left as it is, because write-protected: /memories/global/a.md."
    assert (
        with_write_protected("no changes needed", ["/memories/global/a.md"]) == f"No changes needed. {left}"
    )
    assert with_write_protected("Tidied 1 file.", ["/memories/global/a.md"]) == f"Tidied 1 file. {left}"
    assert with_write_protected("no changes needed", []) == "no changes needed"
