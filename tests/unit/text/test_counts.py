from reverie.text.counts import some


def test_a_count_is_said_as_a_sentence_says_it() -> None:
    said = [some(count, word) for count, word in ((0, "file"), (1, "file"), (2, "directory"), (1_000, "day"))]
    assert said == ["0 files", "1 file", "2 directories", "1,000 days"]
