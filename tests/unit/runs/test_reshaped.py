"""A run may make a folder of a file, a file of a folder, or exchange names: old or new, whatever stops it,
and each can be reviewed, applied and undone."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from helpers.benches import sample_parts, workspace
from helpers.engines import ScriptedEngine
from helpers.profiles import a_share
from helpers.reshapes import SHAPES, tree
from reverie.errors import Conflict, UserError
from reverie.files.atomic import set_observer
from reverie.jobs.consolidate.apply import ApplyService, load_review
from reverie.jobs.consolidate.review import ReviewSelection
from reverie.jobs.consolidate.run import DreamRequest
from reverie.memory.scope_files import FileChange
from reverie.runs.journal import Journal
from reverie.runs.transaction import Recovered, Transaction
from reverie.services.container import HomeContainer
from reverie.values import replace

ACME = "a1f3c9e2b7"


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


def reshaped(parts: HomeContainer, shape: str) -> str:
    engine = ScriptedEngine(*SHAPES[shape])
    run = parts.dreams.run(DreamRequest(workspace(parts, ACME)), engine)
    assert all(answer["success"] for answer in engine.answers), engine.answers
    assert run.outcome == "completed", run.summary
    return run.run_id


@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_that_reshapes_names_can_be_undone_and_that_undone_again(
    parts: HomeContainer, shape: str
) -> None:
    before = tree(parts.home.root)
    run_id = reshaped(parts, shape)
    after = tree(parts.home.root)
    assert after != before
    undo = parts.reverter.revert(run_id)
    assert (undo.outcome, undo.conflicts) == ("completed", ())
    assert tree(parts.home.root) == before
    again = parts.reverter.revert(undo.run_id)
    assert (again.outcome, again.conflicts) == ("completed", ())
    assert tree(parts.home.root) == after


@pytest.mark.parametrize("shape", a_share(SHAPES))
def test_a_preview_that_reshapes_names_can_be_applied(parts: HomeContainer, shape: str) -> None:
    before = tree(parts.home.root)
    preview = parts.dreams.run(
        DreamRequest(workspace(parts, ACME), dry_run=True), ScriptedEngine(*SHAPES[shape])
    )
    assert tree(parts.home.root) == before
    applied = ApplyService(parts.dream_dependencies).apply(preview.run_id, ReviewSelection())
    assert applied.outcome == "completed", applied.summary
    after = tree(parts.home.root)
    parts.reverter.revert(applied.run_id)
    assert tree(parts.home.root) == before
    reshaped(parts, shape)
    assert tree(parts.home.root) == after


def test_what_somebody_put_into_the_folder_stays_and_nothing_is_lost_to_it(parts: HomeContainer) -> None:
    run_id = reshaped(parts, "file to folder")
    theirs = parts.home.root / "memory/global/testing.md/theirs.md"
    theirs.write_text("theirs\n")
    after = tree(parts.home.root)
    undo = parts.reverter.revert(run_id)
    assert undo.outcome == "failed"
    assert set(undo.conflicts) == {"/memories/global/testing.md", "/memories/global/testing.md/deep/how.md"}
    assert "testing.md cannot be restored, because another file exists at this path." in undo.summary
    assert "same lines" not in undo.summary
    assert tree(parts.home.root) == after
    theirs.unlink()
    assert parts.reverter.revert(run_id).outcome == "completed"


def test_what_somebody_changed_in_the_new_folder_keeps_the_file_from_coming_back(
    parts: HomeContainer,
) -> None:
    run_id = reshaped(parts, "file to folder")
    (parts.home.root / "memory/global/testing.md/deep/how.md").write_text("other words\n")
    after = tree(parts.home.root)
    undo = parts.reverter.revert(run_id)
    assert undo.outcome == "failed"
    assert tree(parts.home.root) == after


def test_half_of_a_reshaped_name_is_not_taken_back(parts: HomeContainer) -> None:
    run_id = reshaped(parts, "file to folder")
    after = tree(parts.home.root)
    with pytest.raises(Conflict, match="now has the path"):
        parts.reverter.revert(run_id, {"/memories/global/testing.md": None})
    assert tree(parts.home.root) == after


def test_a_preview_of_which_half_is_rejected_says_why_the_other_half_stays(parts: HomeContainer) -> None:
    """A new file in the folder of that name, in words that have nothing to do with the old one's."""
    engine = ScriptedEngine(
        {"command": "delete", "path": "/memories/global/testing-old.md"},
        {
            "command": "create",
            "path": "/memories/global/testing-old.md/new.md",
            "file_text": "Wholly other words.\n",
        },
    )
    before = tree(parts.home.root)
    preview = parts.dreams.run(DreamRequest(workspace(parts, ACME), dry_run=True), engine)
    review = load_review(parts.dream_dependencies, preview.run_id).review
    assert len(review.groups) == 1, "what stands in each other's place is taken or left together"
    selection = ReviewSelection()
    for file in review.files:
        selection = selection.with_agreed_loss(file.path, agreed=True)
    selection = selection.with_hunk("/memories/global/testing-old.md", 0, accepted=False)
    applied = ApplyService(parts.dream_dependencies).apply(preview.run_id, selection)
    assert applied.outcome == "failed", applied.summary
    assert "another file exists at this path" in applied.summary
    assert tree(parts.home.root) == before


class Killed(BaseException):
    """Stands for the end of the process: nothing after it may run, so no put-back either."""


@pytest.fixture(params=["EIO", "kill"])
def fault(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A device that fails for the run, or the end of its process."""
    if request.param == "kill":
        monkeypatch.setattr(Transaction, "roll_back", lambda *_: Recovered(False))
    return str(request.param)


@pytest.mark.parametrize("shape", a_share(reversed(SHAPES)))
def test_whatever_stops_a_run_that_reshapes_names_all_is_as_it_was(
    parts: HomeContainer, shape: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each step of the run up to its commit point, forwards and in its undo."""
    before = tree(parts.home.root)
    source = parts.transaction_for(reshaped(parts, shape), "test").load()
    assert source is not None
    after = tree(parts.home.root)
    changes = _changes(parts, source)
    for start, end, planned in ((after, before, _turned(changes)), (before, after, changes)):
        for step in range(1, 100):
            transaction = parts.transaction_for(f"1787300000000-{step:08x}", "dream")
            folders = [(each.root, each.rel.partition("/")[0]) for each in planned if "/" in each.rel]
            emptied = folders if end is after else ()
            journal = transaction.prepare(planned, emptied=emptied, removed=source.made)
            if not _stopped_at(step, fault, transaction, journal):
                break
            if fault == "kill":
                with monkeypatch.context() as patched:
                    patched.setattr(Transaction, "roll_back", ROLL_BACK)
                    again = parts.transaction_for(f"1787300000000-{step:08x}", "recovery")
                    recovered = again.recover(again.load(), committed=lambda _journal: False)
                assert (recovered.left, recovered.pending) == ((), ())
            elif transaction.undone is not None:
                assert (transaction.undone.left, transaction.undone.pending) == ((), ())
            assert tree(parts.home.root) == start, f"step {step}"
        assert 5 < step < 99
        assert tree(parts.home.root) == end


ROLL_BACK = Transaction.roll_back


def _changes(parts: HomeContainer, journal: Journal) -> list[FileChange]:
    transaction = parts.transaction_for("1787300000000-00000000", "test")
    images = transaction.images
    return [
        FileChange(
            transaction.root_of(intent), intent.rel, images.get(intent.before), images.get(intent.after)
        )
        for intent in journal.intents
    ]


def _turned(changes: list[FileChange]) -> list[FileChange]:
    return [replace(change, before=change.after, after=change.before) for change in changes]


def _stopped_at(step: int, fault: str, transaction: Transaction, journal: Journal) -> bool:
    """Apply, with the fault at the checkpoint of this number; whether it came."""
    passed = 0

    def observe(name: str) -> None:
        nonlocal passed
        passed += 1
        if passed == step and name != "applied":
            raise Killed if fault == "kill" else OSError(errno.EIO, os.strerror(errno.EIO))

    set_observer(observe)
    try:
        transaction.apply(journal, commit=lambda: None)
    except (Killed, UserError, OSError):
        return True
    finally:
        set_observer(None)
    return False
