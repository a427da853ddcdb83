"""Merging one note that two machines changed: the rules, and what they promise."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.memory.note_merge import MergeCard, NoteMerge, merge_note

BASE = (
    b"---\nname: a\ndescription: one\nmetadata:\n  type: project\n  modified: 2026-01-01T00:00:00Z\n---\n"
    b"Text.\n"
)


def merged(base: str | None, ours: str | None, theirs: str | None, **options: object) -> NoteMerge:
    encoded = [None if text is None else text.encode() for text in (base, ours, theirs)]
    return merge_note(*encoded, **options)  # type: ignore[arg-type]


def text(base: str | None, ours: str | None, theirs: str | None, **options: object) -> str:
    """The agreed text."""
    found = merged(base, ours, theirs, **options)
    assert found.cards == ()
    assert found.agreed
    assert found.local is not None
    return found.local.decode()


# Whole notes


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        ("a", "a", "b", "b"),
        ("a", "b", "a", "b"),
        ("a", "b", "b", "b"),
        (None, "b", None, "b"),
        (None, None, "b", "b"),
        ("a", None, "a", None),
        ("a", "a", None, None),
    ],
)
def test_the_only_change_is_taken(
    base: str | None, ours: str | None, theirs: str | None, expected: str | None
) -> None:
    found = merged(base, ours, theirs)
    wanted = None if expected is None else expected.encode()
    assert found == NoteMerge(wanted, wanted)


@pytest.mark.parametrize("side", [0, 1])
def test_a_change_outlives_a_deletion_with_a_card(side: int) -> None:
    sides = [None, "changed\n"]
    ours, theirs = sides[side], sides[1 - side]
    found = merged("a\n", ours, theirs)
    assert (found.local, found.shared) == (b"changed\n", b"changed\n")
    (card,) = found.cards
    assert card.kind == "deleted"
    assert {card.ours, card.theirs} == {None, b"changed\n"}


def test_two_changes_of_one_line_are_a_card_and_each_side_keeps_its_own() -> None:
    found = merged("a\nb\n", "a\nmine\n", "a\nother\n")
    assert (found.local, found.shared) == (b"a\nmine\n", b"a\nother\n")
    assert found.cards == (MergeCard("text", "", b"a\nmine\n", b"a\nother\n"),)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a\0b", b"a\rb\n"])
def test_what_is_no_text_is_never_merged(content: bytes) -> None:
    found = merge_note(b"a\n", content, b"b\n")
    assert (found.local, found.shared, len(found.cards)) == (content, b"b\n", 1)


def test_what_the_agent_refuses_is_a_card() -> None:
    found = merged("a\n", "a\nb\n", "c\na\n", accepts=lambda content: len(content) < 6)
    assert (found.local, found.shared, len(found.cards)) == (b"a\nb\n", b"c\na\n", 1)


@pytest.mark.parametrize("base", ["a\n", None, "b\n"])
@pytest.mark.parametrize("side", [0, 1])
def test_the_markers_of_an_unfinished_merge_do_not_spread(base: str | None, side: int) -> None:
    marked = "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\n"
    sides = [base or "a\n", marked]
    ours, theirs = sides[side], sides[1 - side]
    found = merged(base, ours, theirs)
    assert (found.local, found.shared) == (ours.encode(), theirs.encode())
    assert len(found.cards) == 1
    assert text(marked, marked, "a\n") == text(marked, "a\n", marked) == "a\n"


# Text


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        ("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"),
        ("- a\n", "- a\n- o\n", "- a\n- t\n", "- a\n- o\n- t\n"),
        ("- a\n", "- a\n- x\n- o\n", "- a\n- t\n- x\n", "- a\n- o\n- t\n- x\n"),
        ("A\n", "A\n\nO\n", "A\n\nT\n", "A\n\nO\n\nT\n"),
        ("A\n", "A\n\n## N\n\n- o\n", "A\n\n## N\n\n- t\n", "A\n\n## N\n\n- o\n- t\n"),
        ("A\n", "A\n```\no\n```\n", "A\n```\nt\n```\n", "A\n```\no\n```\n\n```\nt\n```\n"),
        ("|a|b|\n", "|a|b|\n|o|1|\n|x|1|\n", "|a|b|\n|t|1|\n|x|1|\n", "|a|b|\n|o|1|\n|t|1|\n|x|1|\n"),
        ("a", "a\n", "- t\na", "- t\na\n"),
        ("A", "A\n- o", "A\n- t", "A\n- o\n- t"),
        ("\na\n", "\na\n- of both\n", "- of both\n\na\n", "- of both\n\na\n"),
        ("a\r\nb\r\n", "a\r\nb\r\n- o\r\n", "- t\r\na\r\nb\r\n", "- t\r\na\r\nb\r\n- o\r\n"),
        ("\ufeffa\nb\n", "\ufeffa\nb\n- o\n", "\ufeff- t\na\nb\n", "\ufeff- t\na\nb\n- o\n"),
        (None, "# N\n\n- o\n", "# N\n\n- t\n", "# N\n\n- o\n- t\n"),
    ],
)
def test_two_changes_become_one_text(base: str | None, ours: str, theirs: str, expected: str) -> None:
    assert text(base, ours, theirs) == expected


def test_two_rows_of_a_table_with_one_first_cell_are_a_card() -> None:
    found = merged("|a|b|\n", "|a|b|\n|x|1|\n", "|a|b|\n|x|2|\n")
    assert (found.local, found.shared, len(found.cards)) == (b"|a|b|\n|x|1|\n", b"|a|b|\n|x|2|\n", 1)


def test_a_line_that_one_side_deleted_does_not_come_back() -> None:
    assert text("a\nb\nc\n", "a\nc\n", "a\nb\nc\n- t\n") == "a\nc\n- t\n"


# Front matter


def test_front_matter_is_merged_by_key() -> None:
    base = BASE.decode()
    ours = base.replace("type: project", "type: user").replace("2026-01-01", "2026-02-02")
    theirs = base.replace("one", "two").replace("2026-01-01", "2026-03-03").replace("Text", "Words")
    found = text(base, ours, theirs)
    assert found == theirs.replace("type: project", "type: user")
    assert "2026-03-03" in found


def test_a_key_that_both_changed_is_a_card_and_the_rest_is_merged() -> None:
    base = BASE.decode()
    ours, theirs = base.replace("one", "mine"), base.replace("one", "other") + "More.\n"
    found = merged(base, ours, theirs)
    assert found.cards == (MergeCard("key", "description", b"description: mine", b"description: other"),)
    assert found.local == theirs.replace("other", "mine").encode()
    assert found.shared == theirs.encode()


def test_new_keys_of_both_sides_stand_in_their_mapping() -> None:
    base = "---\nname: a\nmetadata:\n  type: user\n---\nx\n"
    ours = base.replace("  type: user\n", "  type: user\n  mine: 1\n")
    theirs = base.replace("name: a\n", "name: a\ndescription: d\n").replace("  type", "  other: 2\n  type")
    expected = "---\nname: a\ndescription: d\nmetadata:\n  other: 2\n  type: user\n  mine: 1\n---\nx\n"
    assert text(base, ours, theirs, rules="lenient") == expected


@pytest.mark.parametrize(
    "theirs",
    [
        "---\nname: a\nmetadata: none\n---\nx\n",
        "---\nname: a\n---\nx\n",
        "---\nname: a\nname: b\nmetadata:\n  type: user\n---\nx\n",
        "x\n",
    ],
)
def test_front_matter_that_does_not_fit_together_is_a_card(theirs: str) -> None:
    base = "---\nname: a\nmetadata:\n  type: user\n---\nx\n"
    ours = base.replace("user", "project").replace("name: a", "name: mine")
    found = merged(base, ours, theirs)
    assert found.cards
    for content in (found.local, found.shared):
        assert content is not None
        assert content in (ours.encode(), theirs.encode()) or b"metadata:\n  type: project" in content


# Indexes

INDEX = "# Index\n\n- [A](a.md) - one\n- [B](b.md) - two\n- [C](c.md) - three\n"


def index(base: str, ours: str, theirs: str, *missing: str) -> NoteMerge:
    return merged(base, ours, theirs, is_index=True, exists=lambda target: target not in missing)


def test_an_index_is_merged_entry_by_entry_in_the_local_order() -> None:
    ours = INDEX.replace("one", "ONE").replace("- [C](c.md) - three\n", "")
    theirs = (
        "# Index\n\n- [N](n.md) - new\n- [B](b.md) - TWO\n- [M](m.md) - new\n- [A](a.md) - one\n"
        "- [C](c.md) - three\n"
    )
    found = index(INDEX, ours, theirs)
    assert found.cards == ()
    assert found.local == (
        b"# Index\n\n- [N](n.md) - new\n- [A](a.md) - ONE\n- [B](b.md) - TWO\n- [M](m.md) - new\n"
    )
    assert found.agreed


def test_an_entry_that_both_changed_is_a_card_and_the_others_are_merged() -> None:
    found = index(INDEX, INDEX.replace("two", "mine"), INDEX.replace("two", "other").replace("one", "ONE"))
    assert found.cards == (MergeCard("entry", "b.md", b"- [B](b.md) - mine", b"- [B](b.md) - other"),)
    assert found.local == INDEX.replace("two", "mine").replace("one", "ONE").encode()
    assert found.shared == INDEX.replace("two", "other").replace("one", "ONE").encode()


def test_a_new_entry_of_a_missing_note_is_left_out_but_a_local_one_stays() -> None:
    ours, theirs = f"{INDEX}- [L](lost.md) - x\n", f"{INDEX}- [D](dead.md) - x\n- [N](n.md) - x\n"
    found = index(INDEX, ours, theirs, "lost.md", "dead.md")
    assert found.dropped == ("dead.md",)
    assert found.local == f"{INDEX}- [N](n.md) - x\n- [L](lost.md) - x\n".encode()


def test_a_changed_entry_outlives_its_deletion_with_a_card() -> None:
    found = index(INDEX, INDEX.replace("two", "TWO"), INDEX.replace("- [B](b.md) - two\n", ""))
    assert found.local == found.shared == INDEX.replace("two", "TWO").encode()
    assert [card.kind for card in found.cards] == ["entry"]


def test_other_lines_of_an_index_are_those_of_the_side_that_changed_them() -> None:
    theirs = INDEX.replace("# Index\n", "# Index\n\nRead first.\n").replace("one", "ONE")
    found = index(INDEX, INDEX + "- [N](n.md) - new\n", theirs)
    assert found.local == f"{theirs}- [N](n.md) - new\n".encode()


@pytest.mark.parametrize("line", ["- [A](a.md) - again\n", "  more about C\n"])
def test_what_is_no_list_of_one_line_entries_is_merged_as_text(line: str) -> None:
    found = index(INDEX + line, f"# Mine\n{INDEX}{line}", f"{INDEX}{line}- [N](n.md)\n")
    assert found.local == f"# Mine\n{INDEX}{line}- [N](n.md)\n".encode()


# Promises

LINES = st.sampled_from(
    [
        *(f"- item {n} of the list that all share\n" for n in range(6)),
        *(f"word {n}\n" for n in range(4)),
        *("\n", "## Head\n", "```\n", "  more\n", "| a | b |\n", "| b | c |\n", "<<<\n", "---\n"),
    ]
)
ENTRY = st.builds(
    lambda name, hook: f"- [{name.upper()}]({name}.md) - {hook}\n",
    st.sampled_from("abcdef"),
    st.sampled_from(["one", "two"]),
)
FRONT = st.builds(
    lambda name, kind, at: f"---\nname: {name}\n{kind}metadata:\n  modified: 2026-01-0{at}\n---\n",
    st.sampled_from("ab"),
    st.sampled_from(["", "type: user\n", "type: project\n"]),
    st.integers(1, 3),
)


@st.composite
def histories(draw: st.DrawFn, line: st.SearchStrategy[str] = LINES) -> tuple[str, str, str]:
    """A text and two edits of it."""
    base = draw(st.lists(line, max_size=8))

    def edited() -> str:
        lines = list(base)
        for _edit in range(draw(st.integers(0, 3))):
            at = draw(st.integers(0, len(lines)))
            kind = draw(st.sampled_from(["add", "add", "delete", "change"]))
            lines[at : at + (kind != "add")] = [] if kind == "delete" else [draw(line)]
        return "".join(lines)

    head = draw(st.one_of(st.just(""), FRONT))
    heads = [draw(st.one_of(st.just(head), FRONT)) if head else "" for _side in range(2)]
    return head + "".join(base), heads[0] + edited(), heads[1] + edited()


def counted(content: bytes | None) -> Counter[str]:
    lines = (content or b"").decode().split("\n")
    return Counter(line.strip() for line in lines if line.strip() and "modified:" not in line)


def check_promises(base: str, ours: str, theirs: str, found: NoteMerge) -> None:
    before, mine, other = (counted(each.encode()) for each in (base, ours, theirs))
    on_cards = Counter[str]()
    for card in found.cards:
        on_cards += counted(card.ours) | counted(card.theirs)
    for content in (found.local, found.shared):
        after = counted(content)
        for line in before | mine | other:
            deleted = max(0, before[line] - mine[line]) + max(0, before[line] - other[line])
            wanted = max(mine[line], other[line]) - deleted
            assert after[line] + on_cards[line] >= wanted, f"lost {line!r}"
            if not found.cards:
                gone = before[line] > 0 and min(mine[line], other[line]) == 0
                added = max(0, mine[line] - before[line], other[line] - before[line])
                assert not (gone and after[line] > added), f"back: {line!r}"
                assert after[line] <= mine[line] + other[line]
        assert not any(line.startswith(("<<<<<<<", "=======", ">>>>>>>")) for line in after)


@given(histories())
def test_no_line_is_lost_and_none_comes_back_without_a_card(texts: tuple[str, str, str]) -> None:
    for rules in ("strict", "lenient"):
        check_promises(*texts, merged(*texts, rules=rules))
    check_promises("", *texts[1:], merged(None, *texts[1:]))


@given(histories(ENTRY | LINES))
def test_an_index_promises_the_same(texts: tuple[str, str, str]) -> None:
    check_promises(*texts, index(*texts))


@given(histories(ENTRY | LINES), st.booleans())
def test_merging_the_result_again_changes_nothing(texts: tuple[str, str, str], is_index: bool) -> None:
    found = merged(*texts, is_index=is_index)
    base = texts[0].encode()
    if found.agreed:
        assert merge_note(found.local, found.local, found.shared) == NoteMerge(found.local, found.shared)
    else:
        again = merge_note(base, found.local, found.shared, is_index=is_index)
        assert (again.local, again.shared) == (found.local, found.shared)
        # A deletion has one card, because the change is then on both sides.
        assert set(again.cards) <= set(found.cards)
        assert {card for card in found.cards if card.ours and card.theirs} <= set(again.cards)


class Machine:
    """One machine with one note, and what it last agreed on with the remote."""

    def __init__(self, base: bytes) -> None:
        self.base = self.note = base
        self.card: tuple[bytes, bytes] | None = None

    def sync(self, remote: bytes) -> bytes:
        found = merge_note(self.base, self.note, remote)
        assert found.local is not None
        assert found.shared is not None
        self.note, self.card = found.local, None
        if found.agreed:
            self.base = found.local
        else:
            self.card = found.local, found.shared
        return found.shared

    def answer(self, choice: str) -> None:
        """Answer the card: the base is then the side of the remote that the person saw."""
        if self.card is None:
            return
        ours, theirs = self.card
        seen = theirs.splitlines(keepends=True)
        both = [line for line in ours.splitlines(keepends=True) if line not in seen]
        texts = {"mine": ours, "theirs": theirs, "both": b"".join((*seen, *both))}
        self.note, self.base, self.card = texts[choice], theirs, None


@given(st.data())
def test_machines_converge_within_two_cycles_whatever_happened(data: st.DataObject) -> None:
    remote = b"".join(b"- line %d of the note\n" % number for number in range(4))
    machines = [Machine(remote) for _each in range(3)]
    written = 0
    for _step in range(data.draw(st.integers(0, 14))):
        machine = machines[data.draw(st.integers(0, 2))]
        action = data.draw(
            st.sampled_from(["change", "add", "delete", "sync", "sync", "mine", "both", "theirs"])
        )
        lines = machine.note.splitlines(keepends=True)
        at = data.draw(st.integers(0, len(lines)))
        if action == "sync":
            remote = machine.sync(remote)
        elif action in ("mine", "both", "theirs"):
            machine.answer(action)
        else:
            written += 1
            new = [b"- new line %d\n" % written]
            lines[at : at + (action != "add")] = [] if action == "delete" else new
            machine.note = b"".join(lines)
    for _cycle in range(2):
        for machine in machines:
            remote = machine.sync(remote)
            machine.answer("theirs")
            remote = machine.sync(remote)
    assert {machine.note for machine in machines} == {remote}


@pytest.mark.parametrize("first", ["mine", "theirs", "both"])
@pytest.mark.parametrize("second", ["mine", "theirs", "both"])
def test_one_card_answered_on_two_machines_doubles_no_line(first: str, second: str) -> None:
    base = b"- a\n- b\n- c\n"
    one, other = Machine(base), Machine(base)
    one.note, other.note = b"- a\n- one of the first\n- c\n", b"- a\n- one of the second\n- c\n"
    remote = one.sync(base)
    remote = other.sync(remote)
    assert other.card is not None
    one.card = other.card[::-1]  # the first machine sees the same card by the shared copy of the other side
    one.answer(first)
    one.base = remote
    other.answer(second)
    for machine in (one, other, one, other):
        remote = machine.sync(remote)
        machine.answer("both")
    assert one.note == other.note == remote
    assert max(Counter(remote.splitlines()).values()) == 1
