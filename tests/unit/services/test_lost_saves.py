"""A save that another program overwrites is noticed, kept as a draft and reported once."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from helpers.claude_home import ClaudeHomeMaker, topic
from reverie.agents.claude.home import ClaudeHome
from reverie.agents.scopes import Scope, ScopeContext
from reverie.errors import UserError
from reverie.memory.scope_files import FileChange
from reverie.profile import Profile
from reverie.services.container import HomeContainer, HomeKey
from reverie.services.drafts import WATCHED_S, DraftService, SaveWatch, contains_change
from reverie.services.edits import current_text
from reverie.services.views import LostSave
from reverie.settings import Settings

PATH = "/memories/project/a.md"


class Bench:
    def __init__(self, tmp_path: Path) -> None:
        maker = ClaudeHomeMaker(tmp_path)
        cwd = maker.repository("work")
        maker.typed(cwd)
        maker.session(cwd, 1)
        self.memory = maker.memory(cwd, {"a.md": topic("a", body="one\ntwo\n")})
        self.file = self.memory / "a.md"
        self.seconds = 100.0
        ticks = itertools.count(1_700_000_000_000)
        key = HomeKey(maker.home(), "home-1")
        self.parts = HomeContainer(key, Profile.under(tmp_path / "profile"), lambda: next(ticks), Settings)
        self.parts.saves = SaveWatch(self.parts, now=lambda: self.seconds)
        self.context: ScopeContext = self.parts.home.context(project_path=str(cwd))

    def save(self, old: str, new: str) -> str:
        """Change the memory as a person would; what it was before."""
        before = self.file.read_text()
        store = self.parts.store(self.context, actor="user")
        store.edit(PATH, lambda text: text.replace(old, new))
        return before

    def check(self) -> tuple[LostSave, ...]:
        return self.parts.saves.check()

    def drafts(self) -> list[tuple[str, str | None, bool]]:
        offers = DraftService(self.parts, current_text(self.parts)).offered("00000000").offers
        return [(each.draft.content, each.draft.base, each.draft.overwritten) for each in offers]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_version_without_our_change_is_reported_once_and_our_text_is_offered(bench: Bench) -> None:
    before = bench.save("one", "ONE")
    saved = bench.file.read_text()
    assert bench.check() == ()
    bench.file.write_text(before.replace("two", "TWO"))
    (lost,) = bench.check()
    assert (lost.path, lost.text, lost.kept) == (PATH, saved, True)
    assert "another program overwrote it" in lost.sentence()
    assert bench.check() == ()
    assert bench.drafts() == [(saved, before, True)]
    assert bench.file.read_text() == before.replace("two", "TWO"), "what the other wrote stays"


def test_a_version_that_has_our_change_is_no_loss_but_a_later_one_may_be(bench: Bench) -> None:
    before = bench.save("one", "ONE")
    bench.file.write_text(bench.file.read_text().replace("two", "TWO"))
    assert bench.check() == ()
    bench.file.write_text(before)
    assert len(bench.check()) == 1


def test_two_saves_in_a_row_are_one_change(bench: Bench) -> None:
    before = bench.save("one", "ONE")
    bench.save("two", "TWO")
    bench.file.write_text(before.replace("two", "TWO"))
    (lost,) = bench.check()
    assert lost.text is not None
    assert "ONE\nTWO" in lost.text


def test_what_comes_later_than_a_few_seconds_is_an_edit_of_its_own(bench: Bench) -> None:
    before = bench.save("one", "ONE")
    bench.seconds += WATCHED_S + 1
    assert bench.check() == ()
    bench.file.write_text(before)
    assert bench.check() == ()


def test_a_deleted_file_that_is_back_and_a_saved_one_that_is_gone_are_reported(bench: Bench) -> None:
    before = bench.file.read_bytes()
    bench.parts.store(bench.context, actor="user").delete(PATH)
    assert bench.check() == ()
    bench.file.write_bytes(before)
    (lost,) = bench.check()
    assert (lost.text, lost.kept) == (None, False)
    bench.save("one", "ONE")
    bench.file.unlink()
    (lost,) = bench.check()
    assert lost.kept


def test_only_the_named_paths_are_looked_at(bench: Bench) -> None:
    before = bench.save("one", "ONE")
    bench.file.write_text(before)
    assert bench.parts.saves.check({bench.memory / "b.md"}) == ()
    assert len(bench.parts.saves.check({bench.file})) == 1


@pytest.mark.parametrize(
    ("before", "after", "now", "contains"),
    [
        ("a\nb\n", "a\nB\n", "A\nB\n", True),
        ("a\nb\n", "a\nB\n", "A\nb\n", False),
        ("a\nb\n", "a\n", "a\nb\nc\n", False),
        ("a\nb\n", "a\n", "a\nc\n", True),
        ("a\n", "a\na\n", "a\nx\n", False),
        ("a\nb\n", "b\na\n", "a\nb\n", True),
        (
            "---\nname: x\ndescription: d\ntype: user\n---\na\n",
            "---\nname: x\ndescription: d\ntype: user\n---\nb\n",
            "---\nname: x\ndescription: d\nmetadata:\n  node_type: memory\n  type: user\n---\n\nb\nc\n",
            True,
        ),
    ],
)
def test_a_change_is_its_lines_and_not_the_shape_of_front_matter(
    tmp_path: Path, before: str, after: str, now: str, contains: bool
) -> None:
    home: ClaudeHome = ClaudeHomeMaker(tmp_path).home()
    assert contains_change(home, before.encode(), after.encode(), now.encode()) is contains


def test_a_write_that_failed_is_no_loss(bench: Bench) -> None:
    """Its caller knows; the file is as it was, not written again by somebody."""
    (bench.memory / "sub").write_text("in the way")
    store = bench.parts.store(bench.context, actor="user")
    with pytest.raises(UserError):
        store.rename(PATH, "/memories/project/sub/c.md")
    assert bench.check() == ()
    bench.seconds += WATCHED_S + 1
    assert bench.check() == ()


def test_a_version_that_is_exactly_the_one_before_a_save_is_a_loss(bench: Bench) -> None:
    before = bench.save("one", "ONE")
    bench.file.write_text(before)
    (lost,) = bench.check()
    assert lost.kept


def test_a_save_that_was_overwritten_before_the_next_one_is_reported_too(bench: Bench) -> None:
    before = bench.save("one", "ONE")
    bench.file.write_text(before.replace("two", "TWO"))
    bench.save("TWO", "THREE")
    (lost,) = bench.check()
    assert "ONE" in (lost.text or "")
    assert bench.check() == ()


def test_a_change_hours_later_is_no_overwritten_save(bench: Bench) -> None:
    before = bench.save("one", "ONE")
    bench.seconds += 3600  # nobody looked in between
    bench.file.write_text(before.replace("two", "TWO"))
    assert bench.check() == ()
    assert bench.drafts() == []


def test_a_later_change_by_another_process_of_reverie_is_no_overwritten_save(bench: Bench) -> None:
    """Another engine may work there, with a watch of their own."""
    bench.save("one", "ONE")
    mine, bench.parts.saves = bench.parts.saves, SaveWatch(bench.parts, now=lambda: bench.seconds)
    bench.save("ONE", "other")
    assert mine.check() == ()


def test_a_file_of_a_run_that_becomes_exactly_what_it_was_is_reported(bench: Bench) -> None:
    before = bench.file.read_bytes()
    root = bench.parts.home.scope_root(bench.context, Scope.PROJECT)
    transaction = bench.parts.transaction_for("1-0", "dream")
    journal = transaction.prepare([FileChange(root, "a.md", before, before + b"more\n")])
    transaction.apply(journal, commit=lambda: None, check=lambda: None)
    bench.file.write_bytes(before)
    (lost,) = bench.check()
    assert lost.path == PATH


def test_a_save_whose_lines_are_in_the_file_was_not_overwritten(bench: Bench) -> None:
    """W5: the alarm, though the file held both texts."""
    before = bench.save("one", "ONE")
    bench.file.write_text(before + "ONE\nand another program's\n")
    assert bench.check() == ()


def test_what_was_overwritten_is_offered_until_the_file_has_it(bench: Bench) -> None:
    """W12."""
    before = bench.save("one", "ONE")
    bench.file.write_text(before)
    assert len(bench.check()) == 1
    assert len(bench.drafts()) == 1
    bench.file.write_text(before + "ONE\nand another program's\n")
    assert bench.drafts() == []
