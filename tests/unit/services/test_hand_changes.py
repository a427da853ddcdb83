"""Several files change as one: all of it or nothing, and Undo takes it back without treading on anybody."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.at_steps import at_step, device_fails
from helpers.benches import contents, sample_parts, workspace
from reverie.agents.scopes import FileRule, ScopeContext
from reverie.errors import Conflict, PathRuleError, StoreError, Unavailable
from reverie.files.atomic import is_temporary
from reverie.memory.scope_files import sha256_of_bytes
from reverie.memory.usage import UsageLog
from reverie.runs.transaction import Transaction
from reverie.services.changes import ChangeSet, settle
from reverie.services.container import HomeContainer
from reverie.services.edits import UserEdits
from reverie.services.views import HandChange, Undo

ACME = "a1f3c9e2b7"
TESTING = "/memories/global/testing.md"
FRESH = "/memories/global/new/deep/fresh.md"


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


@pytest.fixture
def context(parts: HomeContainer) -> ScopeContext:
    return workspace(parts, ACME)


def memories(parts: HomeContainer) -> dict[str, bytes]:
    return contents(parts.home.root / "memory")


def notes_file(parts: HomeContainer) -> Path:
    return parts.home.root / "memory/global/testing.md"


def merge(parts: HomeContainer, *, expected: str | None = "") -> list[HandChange]:
    """`testing.md` goes, and a new file in new folders and one that exists take over."""
    store = parts.store(workspace(parts, ACME), actor="user")
    other = next(
        entry.rel
        for entry in store.resolve("/memories/global/x")[2].walk().entries
        if entry.kind == "file" and entry.rel != "testing.md"
    )
    before = store.resolve(f"/memories/global/{other}")[2].read(other)
    return [
        HandChange(
            TESTING, None, sha256_of_bytes(notes_file(parts).read_bytes()) if expected == "" else expected
        ),
        HandChange(FRESH, b"fresh\r\n\xff", None, 0o600),
        HandChange(f"/memories/global/{other}", before + b"more\n", sha256_of_bytes(before)),
    ]


def test_a_merge_is_done_whole_and_taken_back_whole(parts: HomeContainer, context: ScopeContext) -> None:
    before, usage = memories(parts), parts.usage.load()
    changes = merge(parts)
    undo = ChangeSet(parts).apply(
        context, changes, kind="merge", subject="Merged by hand", pins={FRESH: True}
    )
    after = memories(parts)
    assert "global/testing.md" not in after
    assert after["global/new/deep/fresh.md"] == b"fresh\r\n\xff"
    assert (parts.home.root / "memory/global/new/deep/fresh.md").stat().st_mode & 0o777 == 0o600
    newest = parts.snapshots.history.commits(limit=1)[0]
    assert (newest.actor, newest.subject) == ("user", "Merged by hand")
    used = parts.usage.load()
    assert used["global:new/deep/fresh.md"].pinned
    assert "global:testing.md" not in used
    UserEdits(parts).undo(undo)
    assert memories(parts) == before
    assert parts.usage.load() == usage
    assert not (parts.home.root / "memory/global/new").exists()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (HandChange(FRESH, b"x", "0" * 64), Conflict),
        (HandChange("/memories/global/security", b"x", None), Conflict),
        (HandChange("/memories/global/a~b.md", b"x", None), PathRuleError),
        (HandChange("/memories/global", b"x", None), StoreError),
        (HandChange("/memories/global/.hidden.md", None, sha256_of_bytes(b"only copy\n")), StoreError),
        (HandChange("/memories/global/huge.md", b"x" * 2_000_000, None), StoreError),
    ],
)
def test_what_cannot_be_done_is_found_before_anything_changes(
    parts: HomeContainer, context: ScopeContext, change: HandChange, error: type[Exception]
) -> None:
    (parts.home.root / "memory/global/.hidden.md").write_text("only copy\n")
    before, usage = memories(parts), parts.usage.load()
    with pytest.raises(error):
        ChangeSet(parts).apply(
            context, [merge(parts)[0], change, merge(parts)[2]], kind="merge", subject="Merged"
        )
    assert memories(parts) == before
    assert parts.usage.load() == usage


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Does something right before the second file is changed."""

    def install(act: Callable[[], None]) -> None:
        swap, calls = Transaction._swap, [0]

        def swapped(self: Transaction, *args: object, **more: object) -> None:
            calls[0] += 1
            if calls[0] == 2:
                act()
            swap(self, *args, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(Transaction, "_swap", swapped)

    return install


def test_a_file_that_changes_in_between_puts_everything_else_back(
    parts: HomeContainer, context: ScopeContext, between: Callable[[Callable[[], None]], None]
) -> None:
    before, usage = memories(parts), parts.usage.load()
    between(lambda: notes_file(parts).write_bytes(b"the agent was here\n") and None)
    with pytest.raises(Conflict):
        ChangeSet(parts).apply(context, merge(parts), kind="merge", subject="Merged")
    assert memories(parts) == {**before, "global/testing.md": b"the agent was here\n"}
    assert parts.usage.load() == usage


def test_what_was_written_and_then_changed_by_somebody_is_left_and_named(
    parts: HomeContainer, context: ScopeContext, between: Callable[[Callable[[], None]], None]
) -> None:
    fresh = parts.home.root / "memory/global/new/deep/fresh.md"

    def both() -> None:
        fresh.write_bytes(b"theirs\n")
        notes_file(parts).write_bytes(b"the agent was here\n")

    between(both)
    with pytest.raises(Conflict, match="new/deep/fresh"):
        ChangeSet(parts).apply(context, merge(parts), kind="merge", subject="Merged")
    assert fresh.read_bytes() == b"theirs\n"
    assert notes_file(parts).read_bytes() == b"the agent was here\n"


def test_pins_that_cannot_follow_put_the_files_back(
    parts: HomeContainer, context: ScopeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = memories(parts)

    def full(*_args: object) -> None:
        raise Unavailable("The sidecar was not written.", cause="The disk is full.")

    monkeypatch.setattr(UsageLog, "apply_delta", full)
    with pytest.raises(Unavailable):
        ChangeSet(parts).apply(context, merge(parts), kind="merge", subject="Merged")
    assert memories(parts) == before


def test_undo_leaves_and_names_what_changed_since_and_can_be_repeated(
    parts: HomeContainer, context: ScopeContext
) -> None:
    before = memories(parts)
    undo = ChangeSet(parts).apply(context, merge(parts), kind="merge", subject="Merged")
    fresh = parts.home.root / "memory/global/new/deep/fresh.md"
    fresh.write_bytes(b"theirs\n")
    for _again in range(2):
        with pytest.raises(Conflict, match=r"fresh\.md changed again later, and was left as it is\."):
            UserEdits(parts).undo(undo)
        assert memories(parts) == {**before, "global/new/deep/fresh.md": b"theirs\n"}
    notes_file(parts).write_bytes(b"theirs\n")
    with pytest.raises(Conflict, match=r"\.md changed again later, and were left as they are\."):
        UserEdits(parts).undo(undo)


def test_a_restore_counts_as_no_use_and_takes_names_that_an_agent_would_not(
    parts: HomeContainer, context: ScopeContext
) -> None:
    usage = parts.usage.load()
    odd = HandChange("/memories/global/old~name.md", b"back\n", None)
    undo = ChangeSet(parts).apply(context, [odd], kind="restore", subject="Restored")
    assert memories(parts)["global/old~name.md"] == b"back\n"
    assert parts.usage.load() == usage
    UserEdits(parts).undo(undo)
    assert "global/old~name.md" not in memories(parts)


def test_several_deletes_are_one_undo_and_one_that_fails_brings_the_others_back(
    parts: HomeContainer, context: ScopeContext
) -> None:
    edits, before, usage = UserEdits(parts), memories(parts), parts.usage.load()
    undo = edits.delete_all(context, [TESTING, "/memories/project/api", "/memories/global/machines"])
    assert undo.count == 3
    assert len(memories(parts)) < len(before) - 2
    assert edits.undo(undo) == "Restored 3 items."
    assert memories(parts) == before
    assert parts.usage.load() == usage
    with pytest.raises(StoreError):
        edits.delete_all(context, [TESTING, "/memories/global/nothing.md"])
    assert memories(parts) == before


def test_an_undo_of_several_goes_on_past_a_place_that_is_taken_and_finishes_later(
    parts: HomeContainer, context: ScopeContext
) -> None:
    edits, before = UserEdits(parts), memories(parts)
    undo = edits.delete_all(context, [TESTING, "/memories/project/api"])
    notes_file(parts).write_bytes(b"new\n")
    with pytest.raises(Conflict):
        edits.undo(undo)
    assert memories(parts) == {**before, "global/testing.md": b"new\n"}
    notes_file(parts).unlink()
    edits.undo(undo)
    assert memories(parts) == before


def test_pins_of_several_are_taken_back_with_their_use(parts: HomeContainer, context: ScopeContext) -> None:
    edits, usage = UserEdits(parts), parts.usage.load()
    undo: Undo = edits.pin(context, [TESTING, "/memories/global/machines/build.md"], True)
    assert parts.usage.load()["global:testing.md"].pinned
    edits.undo(undo)
    assert parts.usage.load() == usage


def test_a_delete_gives_back_what_the_agent_wrote_at_the_last_moment(
    parts: HomeContainer, context: ScopeContext
) -> None:
    before, theirs = memories(parts), b"the agent was here\n"
    with at_step("replace", lambda: agent_writes(parts, theirs), nth=4), pytest.raises(Conflict):
        ChangeSet(parts).apply(context, merge(parts), kind="merge", subject="Merged")
    assert memories(parts) == {**before, "global/testing.md": theirs}


def agent_writes(parts: HomeContainer, content: bytes) -> None:
    """Into the file that was set aside, through a descriptor that it has open."""
    (aside,) = notes_file(parts).parent.glob(".*.reverie-aside")
    aside.write_bytes(content)


def test_what_the_agent_makes_anew_is_neither_changed_nor_taken_back(
    parts: HomeContainer, context: ScopeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    undo = ChangeSet(parts).apply(context, merge(parts), kind="merge", subject="Merged")
    after, made = memories(parts), FileRule("generated", "The agent makes it anew.")
    monkeypatch.setattr(type(parts.home), "file_rule", lambda *_args: made)
    odd = HandChange("/memories/global/odd.md", b"odd\n", None)
    for act in (
        lambda: ChangeSet(parts).apply(context, [odd], kind="restore", subject="Restored"),
        lambda: UserEdits(parts).undo(undo),
    ):
        with pytest.raises(StoreError) as refused:
            act()
        assert refused.value.reason == "not-editable"
        assert made.sentence in str(refused.value)
    assert memories(parts) == after


def test_an_undo_that_fails_half_way_leaves_everything_as_it_became_and_can_be_repeated(
    parts: HomeContainer, context: ScopeContext
) -> None:
    before = memories(parts)
    undo = ChangeSet(parts).apply(context, merge(parts), kind="merge", subject="Merged")
    became = memories(parts)
    with at_step("temp", device_fails, nth=2), pytest.raises(Unavailable):
        UserEdits(parts).undo(undo)
    assert memories(parts) == became
    UserEdits(parts).undo(undo)
    assert memories(parts) == before


def test_an_undo_whose_pins_cannot_follow_is_done_with_a_warning(
    parts: HomeContainer, context: ScopeContext
) -> None:
    before = memories(parts)
    undo = ChangeSet(parts).apply(context, merge(parts), kind="merge", subject="Merged")
    (parts.home.root / "memory-meta.json").unlink()
    (parts.home.root / "memory-meta.json").mkdir()
    told = UserEdits(parts).undo(undo)
    assert memories(parts) == before
    assert told.startswith("Undid changes to 3 changed files.")
    assert "memory-meta.json" in told


def killed(parts: HomeContainer, context: ScopeContext, step: str, nth: int = 1) -> None:
    """A process that merges, and is gone at this step."""
    child = os.fork()
    if child == 0:
        try:
            with at_step(step, lambda: os._exit(9), nth=nth):
                ChangeSet(parts).apply(context, merge(parts), kind="merge", subject="Merged")
        finally:
            os._exit(1)
    _pid, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 9


def journals(parts: HomeContainer) -> list[str]:
    return sorted(
        path.name for path in parts.profile.edits(parts.home_id).glob("*") if path.suffix != ".lock"
    )


def without_temporaries(found: dict[str, bytes]) -> dict[str, bytes]:
    """Without what a killed write left, which is swept before the next run."""
    return {path: data for path, data in found.items() if not is_temporary(path.rpartition("/")[2])}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(("step", "nth"), [("journal", 1), ("replace", 3), ("usage", 1), ("coverage", 1)])
def test_what_a_killed_change_left_is_put_back_and_told(
    parts: HomeContainer, context: ScopeContext, step: str, nth: int
) -> None:
    before, usage = memories(parts), parts.usage.load()
    killed(parts, context, step, nth)
    assert journals(parts) == ["journal.json"]
    settle(parts)
    assert without_temporaries(memories(parts)) == before
    assert parts.usage.load() == usage
    assert journals(parts) == []
    newest = parts.activity.read()[0]
    assert newest.event == "edit.interrupted"
    assert "put back" in newest.text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_change_that_was_killed_after_its_end_stays(parts: HomeContainer, context: ScopeContext) -> None:
    before = memories(parts)
    killed(parts, context, "applied")
    after = memories(parts)
    assert after != before
    assert journals(parts) == ["applied", "journal.json"]
    settle(parts)
    assert memories(parts) == after
    assert journals(parts) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_next_change_first_puts_back_what_a_killed_one_left_but_what_somebody_changed_since(
    parts: HomeContainer, context: ScopeContext
) -> None:
    before = memories(parts)
    killed(parts, context, "usage")
    fresh = parts.home.root / "memory/global/new/deep/fresh.md"
    fresh.write_bytes(b"theirs\n")
    odd = HandChange("/memories/global/odd.md", b"odd\n", None)
    ChangeSet(parts).apply(context, [odd], kind="restore", subject="Restored")
    assert memories(parts) == {**before, "global/odd.md": b"odd\n", "global/new/deep/fresh.md": b"theirs\n"}
    assert "Left, since they changed meanwhile: /memories/global/new/deep/fresh.md." in (
        parts.activity.read()[0].text
    )


def test_a_change_and_its_undo_leave_no_journal(parts: HomeContainer, context: ScopeContext) -> None:
    undo = ChangeSet(parts).apply(context, merge(parts), kind="merge", subject="Merged")
    assert journals(parts) == []
    UserEdits(parts).undo(undo)
    assert journals(parts) == []
    assert parts.runs.all() == ()
