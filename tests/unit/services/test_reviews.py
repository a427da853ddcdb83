"""What a window is shown of a run to review, and that a selection goes through to the files."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import get_args

import pytest

from helpers.benches import sample_parts, workspace
from helpers.samples import snapshot
from reverie.errors import StoreError
from reverie.jobs.consolidate.review import GroupKind, ReviewSelection, resolve
from reverie.services.views import ReviewFile, ReviewView
from reverie.services.workbench import Workbench
from reverie.values import replace

ACME = "a1f3c9e2b7"
ALL = ReviewSelection()


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(sample_parts("mux-home", tmp_path))


def dream(bench: Workbench, *, dry_run: bool = True) -> str:
    return bench.start_dream(
        workspace(bench.parts, ACME),
        dry_run=dry_run,
        engine="rules",
        progress=lambda _progress: None,
        cancel=threading.Event(),
    ).run_id


def apply(bench: Workbench, run_id: str, selection: ReviewSelection = ALL) -> str:
    view = bench.reviews.apply(run_id, selection, progress=lambda _progress: None, cancel=threading.Event())
    return view.outcome


def merge_in(review: ReviewView) -> tuple[ReviewFile, ReviewFile]:
    """(receiver, goer) of a merge in the review."""
    for group in review.groups:
        goers = [file for file in group.files if file.verb == "delete"]
        receivers = [file for file in group.files if file.verb == "edit"]
        if goers and receivers:
            return receivers[0], goers[0]
    raise AssertionError("the sample has a merge")


def test_looking_at_a_preview_changes_nothing_in_the_home(bench: Workbench) -> None:
    run_id = dream(bench)
    before = snapshot(bench.parts.home.root)
    bench.reviews.review(run_id)
    assert snapshot(bench.parts.home.root) == before


def test_a_preview_shows_each_changed_file_once_with_its_hunks(bench: Workbench) -> None:
    run_id = dream(bench)
    review = bench.reviews.review(run_id)
    assert (review.can_apply, review.why_not, review.run.id) == (True, "", run_id)
    paths = [path for group in review.groups for file in group.files for path in (file.old_path, file.path)]
    assert sorted(path for path in paths if path) == sorted(
        change.path for change in bench.reviews.changes(run_id)
    )
    for group in review.groups:
        assert group.kind in get_args(GroupKind)
        assert group.reason
        for file in group.files:
            assert [hunk.index for hunk in file.hunks] == list(range(len(file.hunks)))
            assert [hunk.start for hunk in file.hunks] == sorted(hunk.start for hunk in file.hunks)
            assert all("\n" not in text for hunk in file.hunks for _kind, text in hunk.lines)


def test_lines_of_context_stand_around_a_hunk_and_never_twice(bench: Workbench) -> None:
    review = bench.reviews.review(dream(bench))
    for group in review.groups:
        for file in group.files:
            before = (file.before or "").splitlines()
            shown = [text for hunk in file.hunks for kind, text in hunk.lines if kind == "-"]
            assert all(text in before for text in shown)
            context = [text for hunk in file.hunks for kind, text in hunk.lines if kind == " "]
            assert len(context) + len(shown) <= 2 * len(before)


def test_a_merge_is_one_group_and_rejecting_its_receiver_is_told_at_once(bench: Workbench) -> None:
    review = bench.reviews.review(dream(bench))
    receiver, goer = merge_in(review)
    selection = ALL
    for hunk in receiver.hunks:
        selection = selection.with_hunk(receiver.path, hunk.index, accepted=False)
    assert resolve(review.plan, ALL).blocked == {}
    assert resolve(review.plan, selection).blocked.keys() == {goer.path}
    assert resolve(review.plan, selection.with_agreed_loss(goer.path, agreed=True)).blocked == {}


def test_a_selection_goes_through_to_the_files(bench: Workbench) -> None:
    run_id = dream(bench)
    review = bench.reviews.review(run_id)
    rejected = review.groups[0]
    assert apply(bench, run_id, ALL.with_group(rejected.index, accepted=False)) == "completed"
    newest = bench.runs()[0]
    changed = {change.path for change in bench.reviews.changes(newest.id)}
    assert changed == {file.path for group in review.groups[1:] for file in group.files}


def test_an_applied_preview_and_a_run_of_its_own_are_for_reading_only(bench: Workbench) -> None:
    previewed = dream(bench)
    assert apply(bench, previewed) == "completed"
    applied = bench.runs()[0].id
    for run_id, word in ((previewed, applied), (applied, "You can undo it")):
        review = bench.reviews.review(run_id)
        assert not review.can_apply
        assert word in review.why_not
        assert review.groups
        assert apply(bench, run_id) == "skipped"


def test_refused_requests_are_told_beside_the_groups(bench: Workbench) -> None:
    run_id = dream(bench)
    record = bench.parts.runs.load(run_id)
    path = "/memories/global/x.md"
    refused = {"command": "delete", "path": path, "applied": False, "note": "It is pinned."}
    bench.parts.runs.save(replace(record, ops=(*record.ops, refused)))
    assert bench.reviews.review(run_id).refused == (f"delete {path}: It is pinned.",)


def test_a_run_that_does_not_exist_is_told(bench: Workbench) -> None:
    with pytest.raises(StoreError):
        bench.reviews.review("1-x")


def test_a_workspace_that_is_gone_by_now_still_shows_its_old_runs(bench: Workbench) -> None:
    run_id = dream(bench, dry_run=False)
    (bench.parts.home.root / "config.json").write_text("{}")
    assert bench.reviews.review(run_id).groups
