"""Old or new, never a mix, and nobody's words lost: the file effects of one run (design.md principle 4)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from helpers.benches import contents, sample_parts
from reverie.agents.scopes import Scope, ScopeRoot
from reverie.errors import Busy, Conflict, StoreError, Unavailable
from reverie.files.atomic import set_observer
from reverie.memory.scope_files import FileChange
from reverie.memory.usage_rules import MemoryUsage
from reverie.runs import fence
from reverie.runs.journal import FileIntent, Images, Journal, ops_of
from reverie.runs.transaction import LeaseLost, Recovered, Transaction
from reverie.services.container import HomeContainer
from reverie.values import replace

RUN = "1787300000000-0000abcd"
STYLE, TESTING, NEW = "commit-style.md", "testing.md", "fresh/new.md"


class Bench:
    """Three changes planned on the global memory of the sample: an edit, a new file, a delete."""

    def __init__(self, parts: HomeContainer) -> None:
        self.parts = parts
        self.directory = parts.home.root / "memory/global"
        self.root = ScopeRoot(Scope.GLOBAL, "global", self.directory, "global:")
        self.transaction = parts.transaction_for(RUN, "dream")
        self.before = self.now()

    def plan(self, *, coverage: dict[str, object] | None = None) -> Journal:
        testing, style = (self.directory / name for name in (TESTING, STYLE))
        return self.transaction.prepare(
            [
                FileChange(self.root, STYLE, style.read_bytes(), b"merged\n"),
                FileChange(self.root, NEW, None, b"new\n"),
                FileChange(self.root, TESTING, testing.read_bytes(), None),
            ],
            usage_before={"global:testing.md": self.parts.usage.load().get("global:testing.md")},
            usage_after={"global:testing.md": None},
            coverage=coverage,
        )

    def now(self) -> dict[str, bytes]:
        return contents(self.directory)

    def again(self) -> Transaction:
        """The transaction as a process sees it that comes after a kill."""
        return self.parts.transaction_for(RUN, "recovery")

    def recover(self, *, committed: bool = False) -> Recovered:
        transaction = self.again()
        return transaction.recover(transaction.load(), committed=lambda _journal: committed)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(sample_parts("mux-home", tmp_path))


class Killed(BaseException):
    """Stands for the end of the process: nothing after it may run, so no put-back either."""


def die_after(bench: Bench, journal: Journal, writes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apply until the file effect number `writes` has happened, and stop as a kill would."""
    passed = 0

    def observe(name: str) -> None:
        nonlocal passed
        passed += name == "replace"
        if passed == writes:
            raise Killed

    monkeypatch.setattr(Transaction, "roll_back", lambda *_: Recovered(False))
    set_observer(observe)
    try:
        with pytest.raises(Killed):
            bench.transaction.apply(journal, commit=lambda: None)
    finally:
        set_observer(None)
        monkeypatch.undo()


def stop_at_commit() -> None:
    raise Unavailable("The sidecar cannot be written.")


def test_applied_is_the_state_after_with_nothing_hidden_left(bench: Bench) -> None:
    bench.transaction.apply(bench.plan(), commit=lambda: None)
    expected = {**bench.before, STYLE: b"merged\n", NEW: b"new\n"}
    del expected[TESTING]
    assert bench.now() == expected
    assert "global:testing.md" not in bench.parts.usage.load()


def test_a_failed_commit_puts_everything_back(bench: Bench) -> None:
    usage = bench.parts.usage.load()
    modes = {path: path.stat().st_mode for path in bench.directory.rglob("*")}
    with pytest.raises(Unavailable):
        bench.transaction.apply(bench.plan(coverage={"ops": []}), commit=stop_at_commit)
    assert bench.now() == bench.before
    assert bench.parts.usage.load() == usage
    assert all(path.stat().st_mode == mode for path, mode in modes.items())
    assert bench.transaction.undone is not None
    assert not bench.transaction.undone.left
    assert not bench.transaction.undone.pending


@pytest.mark.parametrize("writes", [1, 2, 3])
def test_a_kill_before_the_commit_point_is_old_after_recovery(
    bench: Bench, writes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    die_after(bench, bench.plan(), writes, monkeypatch)
    assert bench.now() != bench.before
    recovered = bench.recover()
    assert (recovered.committed, recovered.left, recovered.pending) == (False, (), ())
    assert bench.now() == bench.before
    assert bench.recover().restored == (), "a second recovery has nothing to do"


def test_recovery_gives_back_the_very_file_that_was_set_aside(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    inode = (bench.directory / TESTING).stat().st_ino
    journal = bench.plan()
    die_after(bench, journal, 3, monkeypatch)
    shutil.rmtree(bench.parts.profile.images(bench.parts.home_id))
    recovered = bench.recover()
    assert (bench.directory / TESTING).stat().st_ino == inode
    assert "/memories/global/testing.md" in recovered.restored


def test_a_set_aside_file_whose_name_is_taken_is_kept_in_the_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = bench.plan()
    die_after(bench, journal, 3, monkeypatch)
    (bench.directory / TESTING).write_bytes(b"written anew\n")
    assert bench.recover().left == ("/memories/global/testing.md",)
    after = bench.now()
    assert after.pop(TESTING) == b"written anew\n"
    assert after == {name: data for name, data in bench.before.items() if name != TESTING}
    intent = next(intent for intent in journal.intents if intent.rel == TESTING)
    assert bench.transaction.images.get(intent.before) == bench.before[TESTING]


def test_after_the_commit_point_recovery_leaves_everything_in_place(bench: Bench) -> None:
    journal = bench.plan(coverage={"ops": []})
    bench.transaction.apply(journal, commit=lambda: None)
    (bench.parts.runs.directory_of(RUN) / "applied").unlink()
    after = bench.now()
    assert bench.recover(committed=True).committed
    assert bench.now() == after
    assert not bench.recover(committed=False).committed
    assert bench.now() == bench.before


def test_without_coverage_the_mark_is_the_commit_point(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: object, **_more: object) -> None:
        raise Unavailable("The disk is full.")

    journal = bench.plan()
    monkeypatch.setattr("reverie.runs.transaction.make_mark", full)
    with pytest.raises(Unavailable):
        bench.transaction.apply(journal, commit=lambda: None)
    assert bench.now() == bench.before


def test_a_mark_that_cannot_be_set_does_not_undo_a_covered_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, expect_log: Callable[..., None]
) -> None:
    def full(*_args: object, **_more: object) -> None:
        raise Unavailable("The disk is full.")

    journal = bench.plan(coverage={"ops": []})
    monkeypatch.setattr("reverie.runs.transaction.make_mark", full)
    bench.transaction.apply(journal, commit=lambda: None)
    assert bench.now()[STYLE] == b"merged\n"
    expect_log("not marked so", logger="reverie.runs")


def _edited(path: Path) -> None:
    path.write_bytes(b"somebody's words\n")


def _removed(path: Path) -> None:
    path.unlink()


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _link_outside(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hostname")


def _dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


@pytest.mark.parametrize("interfere", [_edited, _removed, _directory, _link_outside, _dangling])
@pytest.mark.parametrize("name", [STYLE, TESTING])
def test_interference_before_apply_is_a_conflict_and_stays(
    bench: Bench, name: str, interfere: Callable[[Path], None]
) -> None:
    journal = bench.plan()
    interfere(bench.directory / name)
    state = bench.now()
    with pytest.raises((Conflict, StoreError)):
        bench.transaction.apply(journal, commit=lambda: None)
    assert bench.now() == state
    assert not list(bench.directory.rglob(".*"))


@pytest.mark.parametrize("interfere", [_edited, _removed, _directory, _link_outside])
def test_interference_with_one_file_does_not_keep_the_others_from_going_back(
    bench: Bench, interfere: Callable[[Path], None]
) -> None:
    def commit() -> None:
        interfere(bench.directory / STYLE)
        stop_at_commit()

    with pytest.raises(Unavailable):
        bench.transaction.apply(bench.plan(coverage={"ops": []}), commit=commit)
    after = bench.now()
    after.pop(STYLE, None)
    assert after == {name: data for name, data in bench.before.items() if name != STYLE}
    assert bench.transaction.undone is not None
    assert bench.transaction.undone.left == ("/memories/global/commit-style.md",)


def test_what_cannot_be_put_back_now_is_pending_and_goes_back_later(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = bench.plan(coverage={"ops": []})
    get = Images.get

    def unreadable(images: Images, name: str | None) -> bytes | None:
        if name == journal.intents[0].before:
            raise Unavailable("The disk is gone.")
        return get(images, name)

    def commit() -> None:
        monkeypatch.setattr(Images, "get", unreadable)
        stop_at_commit()

    with pytest.raises(Unavailable, match="sidecar"):
        bench.transaction.apply(journal, commit=commit)
    undone = bench.transaction.undone
    assert undone is not None
    assert undone.pending == ("/memories/global/commit-style.md",)
    assert bench.now() == {**bench.before, STYLE: b"merged\n"}
    monkeypatch.undo()
    assert bench.recover().restored == ("/memories/global/commit-style.md",)
    assert bench.now() == bench.before


def test_a_run_that_lost_its_lease_puts_its_files_back_and_leaves_its_record_to_recovery(
    bench: Bench,
) -> None:
    checks = iter([None, None, LeaseLost("taken over")])

    def check() -> None:
        if (error := next(checks)) is not None:
            raise error

    with pytest.raises(LeaseLost):
        bench.transaction.apply(bench.plan(), commit=lambda: None, check=check)
    assert bench.transaction.undone is None
    assert bench.now() == bench.before
    assert bench.recover() == Recovered(False)
    assert bench.now() == bench.before


def test_nobody_recovers_a_run_that_is_in_the_middle_of_its_changes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fence, "_WAIT_S", 0.05)
    journal, refused = bench.plan(), []

    def check() -> None:
        state = bench.now()
        with pytest.raises(Busy) as busy, ThreadPoolExecutor(1) as elsewhere:
            elsewhere.submit(bench.recover).result()
        refused.append(busy.value.reason)
        assert bench.now() == state

    bench.transaction.apply(journal, commit=check, check=check)
    assert refused == ["suspended"] * 6
    assert bench.recover().committed
    assert not bench.recover().pending


def test_what_is_not_confirmed_is_put_back_before_anybody_could_recover_it(bench: Bench) -> None:
    met: list[str] = []

    def refuse() -> None:
        with pytest.raises(Busy) as busy, ThreadPoolExecutor(1) as elsewhere:
            elsewhere.submit(bench.recover).result()
        met.append(busy.value.reason)
        raise RuntimeError("not confirmed")

    with pytest.raises(RuntimeError, match="not confirmed"):
        bench.transaction.apply(bench.plan(), commit=lambda: None, confirm=refuse)
    assert met == ["suspended"]
    assert bench.now() == bench.before
    assert not bench.recover().committed, "a roll-back that is killed must be gone on with"


@pytest.mark.parametrize("error", [LeaseLost("taken over"), RuntimeError("stopped")])
def test_a_run_that_is_stopped_before_the_coverage_record_leaves_none(bench: Bench, error: Exception) -> None:
    committed: list[str] = []
    # One look before each of the three changes, one after them, one after pins and use.
    checks = iter([None, None, None, None, error])

    def check() -> None:
        if (stopped := next(checks)) is not None:
            raise stopped

    with pytest.raises(type(error)):
        bench.transaction.apply(bench.plan(), commit=lambda: committed.append("record"), check=check)
    assert committed == []


def test_a_home_that_moves_away_meanwhile_is_not_made_anew(bench: Bench, tmp_path: Path) -> None:
    home = bench.parts.home.root

    def commit() -> None:
        home.rename(tmp_path / "elsewhere")
        stop_at_commit()

    with pytest.raises(Unavailable):
        bench.transaction.apply(bench.plan(coverage={"ops": []}), commit=commit)
    assert not home.exists()
    assert bench.transaction.undone is not None
    assert len(bench.transaction.undone.pending) == 4
    (tmp_path / "elsewhere").rename(home)
    assert not bench.recover().pending
    assert bench.now() == bench.before


def test_another_home_in_the_place_of_the_first_is_left_alone(bench: Bench, tmp_path: Path) -> None:
    home = bench.parts.home.root
    journal = bench.plan()
    home.rename(tmp_path / "elsewhere")
    home.mkdir()
    with pytest.raises(Unavailable):
        bench.transaction.apply(journal, commit=lambda: None)
    assert not list(home.iterdir())


def test_emptied_directories_go_only_where_they_lead_and_only_when_empty(
    bench: Bench, tmp_path: Path
) -> None:
    outside = tmp_path / "outside/empty"
    outside.mkdir(parents=True)
    (bench.directory / "link").symlink_to(outside.parent)
    (bench.directory / "full").mkdir()
    (bench.directory / "full/.hidden").touch()
    (bench.directory / "gone").mkdir()
    journal = bench.transaction.prepare(
        [], emptied=[(bench.root, "link/empty"), (bench.root, "full"), (bench.root, "gone")]
    )
    bench.transaction.apply(journal, commit=lambda: None)
    assert outside.is_dir()
    assert (bench.directory / "full/.hidden").exists()
    assert not (bench.directory / "gone").exists()


def test_what_is_only_kept_for_review_is_never_undone(bench: Bench) -> None:
    path = bench.directory / STYLE
    change = FileChange(bench.root, STYLE, path.read_bytes(), b"by hand, as proposed\n")
    bench.transaction.prepare([change], for_review=True)
    path.write_bytes(b"by hand, as proposed\n")
    assert bench.recover() == Recovered(False)
    assert path.read_bytes() == b"by hand, as proposed\n"


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"intents": [1]}', b"\xff", b"[" * 100_000])
def test_a_damaged_journal_is_said_to_be_damaged(bench: Bench, data: bytes) -> None:
    bench.plan()
    (bench.parts.runs.directory_of(RUN) / "journal.json").write_bytes(data)
    with pytest.raises(StoreError) as told:
        bench.again().load()
    assert told.value.reason == "damaged"


def test_a_journal_says_the_same_when_read_again(bench: Bench) -> None:
    journal = bench.plan(coverage={"ops": [{"command": "delete", "path": "x", "applied": True}]})
    assert bench.again().load() == journal
    assert isinstance(journal.usage_before["global:testing.md"], MemoryUsage)


@pytest.mark.parametrize("damage", [b"other", None])
def test_a_damaged_or_missing_image_is_never_given_out(bench: Bench, damage: bytes | None) -> None:
    name = bench.transaction.images.put(b"content")
    assert name is not None
    path = bench.parts.profile.images(bench.parts.home_id) / name
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    with pytest.raises(StoreError):
        bench.transaction.images.get(name)
    assert bench.transaction.images.put(b"content") == name
    assert bench.transaction.images.get(name) == b"content"


def test_the_ops_of_a_journal_without_coverage_name_what_happens_to_each_file() -> None:
    def intent(before: str | None, after: str | None) -> FileIntent:
        return FileIntent("global", Scope.GLOBAL, "memory/global", "global:", "a.md", before, after)

    journal = Journal((intent(None, "x"), intent("x", None), intent("x", "y")))
    assert [op["command"] for op in ops_of(journal)] == ["create", "delete", "str_replace"]
    assert ops_of(None) == ()


def test_a_run_that_is_put_back_leaves_no_directory_that_it_made(bench: Bench) -> None:
    with pytest.raises(Unavailable):
        bench.transaction.apply(bench.plan(coverage={"ops": []}), commit=stop_at_commit)
    assert not (bench.directory / NEW).parent.exists()


def test_a_killed_run_that_is_recovered_leaves_no_directory_that_it_made(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    die_after(bench, bench.plan(), 2, monkeypatch)
    assert (bench.directory / NEW).parent.exists()
    bench.recover()
    assert not (bench.directory / NEW).parent.exists()


@pytest.mark.parametrize("name", ["mine.md", ".hidden"])
def test_a_directory_that_a_run_made_stays_when_somebody_put_something_into_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    die_after(bench, bench.plan(), 2, monkeypatch)
    other = bench.directory / "fresh" / name
    other.write_text("mine\n")
    bench.recover()
    assert other.read_text() == "mine\n"
    assert not (bench.directory / NEW).exists()


@pytest.mark.parametrize("rel", [".git/HEAD", "a/.envrc", ".vscode/tasks.json"])
def test_no_run_makes_a_hidden_file_but_an_undo_may_bring_one_back(bench: Bench, rel: str) -> None:
    change = FileChange(bench.root, rel, None, b"x\n")
    with pytest.raises(StoreError) as refused:
        bench.transaction.prepare([change])
    assert refused.value.reason == "hidden"
    assert bench.transaction.load() is None
    bench.transaction.prepare([replace(change, before=b"old\n")])
    journal = bench.transaction.prepare([change], restores=True)
    assert [intent.rel for intent in journal.intents] == [rel]


def test_the_journal_knows_which_directories_the_run_makes(bench: Bench) -> None:
    journal = bench.plan()
    assert journal.made == (("memory/global", "fresh"),)
    assert bench.transaction.load() == journal
    shutil.rmtree(bench.directory)
    again = bench.transaction.prepare([FileChange(bench.root, "a/b/c.md", None, b"x\n")])
    assert again.made == (("memory", "global/a/b"), ("memory", "global/a"), ("memory", "global"))
    (bench.directory / "a" / "b").mkdir(parents=True)
    assert bench.transaction.prepare([FileChange(bench.root, "a/b/c.md", None, b"x\n")]).made == ()
