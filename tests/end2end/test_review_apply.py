"""A dream as a pull request, from preview to undo: through the workbench of a window and the commands, each
step opened anew as another process would."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from helpers.battery import run_here
from helpers.benches import NOW, Time, contents, workspace
from helpers.samples import copy_sample, snapshot
from reverie.clock import DAY_MS, HOUR_MS
from reverie.compose import open_parts
from reverie.jobs.consolidate.review import ReviewSelection
from reverie.profile import Profile
from reverie.runs.record import RunResult
from reverie.services.views import ReviewFile, ReviewGroup, ReviewView
from reverie.services.workbench import Workbench

BACKFILL = "5d6e7f8091"
STORE = "memory/global"
WORDS = ("alpha", "bravo", "carrot", "delta", "ember", "fjord", "gravel", "harbour")


class Stage:
    """One home, opened anew for each step."""

    def __init__(self, tmp_path: Path) -> None:
        self.home = copy_sample("mux-home", tmp_path)
        self._profile = tmp_path / "profile"
        self.now = NOW

    def bench(self) -> Workbench:
        return Workbench(open_parts(self.home, Profile.under(self._profile), Time(self.now)))

    def command(self, *words: str, code: int = 0) -> Any:
        ended, out, err = run_here(self.home, self._profile, *words, "--json", now=self.now)
        assert ended == code, (words, out, err)
        return json.loads(out)

    def settle(self) -> None:
        """Dream until the sample itself leaves nothing to do."""
        for _time in range(20):
            if not self.command("consolidate", "--workspace", BACKFILL)["ops"]:
                return
        raise AssertionError("dreams never come to rest")

    def write_eight(self) -> None:
        """Eight memories that the rules would each describe."""
        for word in WORDS:
            text = f"# About {word}\n\nThe {word} service listens on one port of the gateway.\n"
            (self.home / STORE / f"{word}-facts.md").write_text(text)

    def preview(self) -> ReviewView:
        shown = self.command("consolidate", "--workspace", BACKFILL, "--dry-run")
        return self.bench().reviews.review(str(shown["runId"]))

    def apply(self, review: ReviewView, selection: ReviewSelection) -> RunResult:
        return self.bench().reviews.apply(
            review.run.id, selection, progress=lambda _progress: None, cancel=threading.Event()
        )

    def memories(self) -> dict[str, bytes]:
        return {name: data for name, data in contents(self.home).items() if not name.startswith("memory-")}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path)
    stage.settle()
    stage.write_eight()
    return stage


def named(review: ReviewView, word: str) -> tuple[ReviewGroup, ReviewFile]:
    return next(
        (group, file) for group in review.groups for file in group.files if f"/{word}-facts" in file.path
    )


def test_reject_one_of_eight_apply_edit_by_hand_undo_and_only_that_edit_remains(stage: Stage) -> None:
    untouched = snapshot(stage.home)
    review = stage.preview()
    assert snapshot(stage.home) == untouched
    assert (len(review.groups), review.can_apply) == (8, True)
    before = stage.memories()
    rejected, file = named(review, "carrot")
    done = stage.apply(review, ReviewSelection().with_group(rejected.index, accepted=False))
    assert done.outcome == "completed"
    assert [op["applied"] for op in done.ops].count(True) == 7
    now = stage.memories()
    changed = {name for name in now if now[name] != before[name]}
    assert changed == {f"{STORE}/{word}-facts.md" for word in WORDS if word != "carrot"}
    mine = now[f"{STORE}/ember-facts.md"] + b"- Mine.\n"
    (stage.home / STORE / "ember-facts.md").write_bytes(mine)
    stage.command("revert", done.run_id)
    after = stage.memories()
    assert after.keys() == before.keys()
    assert {name for name in after if after[name] != before[name]} == {f"{STORE}/ember-facts.md"}
    assert after[f"{STORE}/ember-facts.md"] == before[f"{STORE}/ember-facts.md"] + b"- Mine.\n"
    assert file.verb == "edit"


def test_an_undone_apply_makes_no_workspace_due_for_a_sweep(stage: Stage) -> None:
    stage.now += 40 * DAY_MS
    done = stage.apply(stage.preview(), ReviewSelection())
    assert done.outcome == "completed"
    stage.now += 7 * HOUR_MS
    after_apply = stage.command("sweep", "--dry-run")
    stage.command("revert", done.run_id)
    stage.now += 7 * HOUR_MS
    assert stage.command("sweep", "--dry-run")["order"] == after_apply["order"]
    assert BACKFILL not in after_apply["order"]
    # The sweep does look: a write by hand makes somebody due.
    stage.bench().parts.usage.record_write("global:alpha-facts.md")
    assert len(stage.command("sweep", "--dry-run")["order"]) > len(after_apply["order"])


def test_scripts_see_what_was_applied_and_that_it_was(stage: Stage) -> None:
    review = stage.preview()
    done = stage.apply(review, ReviewSelection())
    newest = stage.command("runs")[0]
    assert (newest["id"], newest["outcome"], newest["dryRun"]) == (done.run_id, "completed", False)
    record = stage.command("status", "--workspace", BACKFILL)
    assert record["workspaceRecord"] == record["projectRecord"] == done.record
    assert {entry["path"] for entry in stage.command("diff", done.run_id)} == {
        file.path for group in review.groups for file in group.files
    }
    context = workspace(stage.bench().parts, BACKFILL)
    assert all(row.last_run_at == NOW for row in stage.bench().status(context).rows)
