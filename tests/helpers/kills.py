"""Kills a real process during a job, recovers like the next start would, and reports what is wrong.

A verdict is a list of sentences, empty if every promise was kept: memories are all old or all new, sidecars
are complete and have lost no entry, no lock or lease blocks, and an interrupted run is shown as such and can
be reverted.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.benches import contents
from helpers.engines import ScriptedEngine
from helpers.reshapes import SHAPES, tree
from helpers.samples import copy_sample
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.errors import UserError
from reverie.files.locks import file_lock
from reverie.jobs.consolidate.apply import load_review
from reverie.jobs.consolidate.engine import RulesEngine
from reverie.jobs.consolidate.run import DreamRequest, dream_lease_name
from reverie.profile import Profile
from reverie.runs.parts import hunk_count, parts_as_json
from reverie.runs.record import SUCCEEDED
from reverie.services.changes import settle
from reverie.services.container import HomeContainer

WORKSPACE = "a1f3c9e2b7"
SAVED = "/memories/global/testing.md"
MOVED = {
    "/memories/global/machines": "/memories/project/moved/machines",
    SAVED: "/memories/project/moved/testing.md",
}
STEPS = {
    "dream": (
        "journal",
        "temp",
        "fsync",
        "replace",
        "usage",
        "coverage",
        "applied",
        "history-objects",
        "history-ref",
    ),
    "apply": (
        "journal",
        "temp",
        "fsync",
        "replace",
        "usage",
        "coverage",
        "applied",
        "history-objects",
        "history-ref",
    ),
    "harvest": ("journal", "temp", "fsync", "replace", "usage", "applied", "history-objects", "history-ref"),
    "revert": ("journal", "temp", "fsync", "replace", "usage", "coverage", "applied"),
    "part": ("journal", "temp", "fsync", "replace", "usage", "coverage", "applied"),
    "save": ("temp", "fsync", "replace", "history-objects"),
    "delete": ("history-objects", "history-ref", "hide", "temp", "fsync", "replace"),
    "move": ("journal", "temp", "fsync", "replace", "usage", "coverage", "applied", "history-ref"),
    "move-undone": ("journal", "temp", "fsync", "replace", "usage", "coverage", "applied", "history-ref"),
    "pin": ("temp", "fsync", "replace"),
    "reshape": ("journal", "temp", "fsync", "replace", "usage", "coverage", "applied"),
    "reshape-applied": ("journal", "temp", "fsync", "replace", "usage", "coverage", "applied"),
    "reshape-undone": ("journal", "temp", "fsync", "replace", "usage", "applied"),
}
RANDOM_WITHIN_MS = {
    "dream": 450,
    "harvest": 300,
    "apply": 250,
    "revert": 250,
    "part": 200,
    "save": 60,
    "delete": 60,
    "move": 120,
    "move-undone": 240,
    "pin": 150,
    "reshape": 300,
    "reshape-applied": 250,
    "reshape-undone": 250,
}
# Which jobs are killed more often than the others at random moments.
RANDOM_SHARE = {"apply": 4}
# How often a job passes a writing checkpoint, about: the kill picks one of them.
WRITES = {
    "dream": 8,
    "harvest": 6,
    "apply": 8,
    "revert": 8,
    "part": 2,
    "save": 1,
    "delete": 1,
    "move": 4,
    "move-undone": 8,
    "pin": 40,
    "reshape": 8,
    "reshape-applied": 8,
    "reshape-undone": 8,
}


@dataclass(slots=True)
class Tally:
    """What a series of kills came to."""

    kills: dict[str, int] = field(default_factory=dict)
    landed: dict[str, int] = field(default_factory=dict)
    survived: int = 0
    problems: list[str] = field(default_factory=list)

    def count(self, name: str, landing: str) -> None:
        self.kills[name] = self.kills.get(name, 0) + 1
        self.landed[landing] = self.landed.get(landing, 0) + 1

    def lines(self) -> list[str]:
        killed = ", ".join(f"{name} {count}" for name, count in sorted(self.kills.items()))
        landed = ", ".join(f"{name} {count}" for name, count in sorted(self.landed.items()))
        return [
            f"kills: {sum(self.kills.values())} ({killed}); finished before the kill: {self.survived}",
            f"landed: {landed}",
            f"problems: {len(self.problems)}",
            *self.problems[:20],
        ]


class Nursery:
    """The other side of `helpers.nursery`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def raise_victim(self, job: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return dict(json.loads(self._process.stdout.readline()))


@contextmanager
def nursery() -> Iterator[Nursery]:
    """A running nursery, ended at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "helpers.nursery"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent,
    )
    try:
        yield Nursery(process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait(timeout=30)
        process.stdout.close()


def run_kills(directory: Path, plan: list[tuple[str, str | None]], seed: int) -> Tally:
    """One kill per entry of `plan`: (job kind, checkpoint or None for a random moment)."""
    tally, dice = Tally(), random.Random(seed)
    with nursery() as raising:
        for number, (kind, step) in enumerate(plan):
            _one(directory / f"kill-{number}", kind, step, dice, raising, tally)
    return tally


def a_plan(*, each_step: int, at_random: int) -> list[tuple[str, str | None]]:
    """Every named step of every job, `each_step` times, and `at_random` kills at random times a job (some
    jobs more, `RANDOM_SHARE`)."""
    plan: list[tuple[str, str | None]] = []
    for kind, steps in STEPS.items():
        plan += [(kind, step) for step in steps for _time in range(each_step)]
        plan += [(kind, None)] * (at_random * RANDOM_SHARE.get(kind, 1))
    return plan


def _one(
    place: Path, kind: str, step: str | None, dice: random.Random, raising: Nursery, tally: Tally
) -> None:
    place.mkdir()
    parts = open_parts(copy_sample("mux-home", place), Profile.under(place / "profile"), system_clock)
    job: dict[str, Any] = {
        "kind": kind,
        "home": str(parts.home.root),
        "profile": str(place / "profile"),
        "workspace": WORKSPACE,
    }
    if kind in ("revert", "part"):
        context = parts.home.context(workspace_id=WORKSPACE)
        job["run"] = parts.dreams.run(DreamRequest(context), RulesEngine()).run_id
    if kind == "apply":
        job["run"] = a_preview(parts)
    if kind == "part":
        job["part"] = a_part(parts, job["run"])
    if kind.startswith("reshape"):
        job["shape"] = dice.choice(list(SHAPES))
    if kind == "reshape-applied":
        request = DreamRequest(parts.home.context(workspace_id=WORKSPACE), dry_run=True)
        job["run"] = parts.dreams.run(request, ScriptedEngine(*SHAPES[job["shape"]])).run_id
    if kind == "reshape-undone":
        request = DreamRequest(parts.home.context(workspace_id=WORKSPACE))
        job["run"] = parts.dreams.run(request, ScriptedEngine(*SHAPES[job["shape"]])).run_id
    if kind == "harvest":
        not_harvested_yet(parts.home.root)
    if kind in ("save", "delete"):
        job |= {"path": SAVED, "content": "new words\n" * 500}
    if kind.startswith("move"):
        job["targets"] = MOVED
    if step is None:
        job["after_ms"] = dice.uniform(0, RANDOM_WITHIN_MS[kind])
    else:
        job |= {
            "step": step,
            "nth": dice.randint(1, WRITES[kind] if step in ("temp", "fsync", "replace") else 1),
        }
    before, folders = contents(parts.home.root), _folders(parts.home.root)
    report = raising.raise_victim(job)
    name = f"{kind}@{step or 'random'} {job.get('shape', '')}".strip()
    if not report["killed"]:
        tally.survived += 1
        if report["status"] != 0:
            tally.problems.append(f"{name}: the victim failed by itself")
    verdict = Verdict(name, parts, before, job)
    landing = verdict.judge()
    if landing == "old" and (left := _folders(parts.home.root) ^ folders):
        verdict.problems.append(f"{name}: folders came or went: {sorted(left)}")
    if report["killed"]:
        tally.count(name, landing)
    tally.problems += verdict.problems


class Verdict:
    """Recover as the next start would, then look."""

    def __init__(
        self, name: str, parts: HomeContainer, before: dict[str, bytes], job: dict[str, Any]
    ) -> None:
        self.problems: list[str] = []
        self._name = name
        self._parts = parts
        self._before = before
        self._job = job

    def judge(self) -> str:
        """Where the kill landed: `old`, `new` or `mix` (a mix is a problem)."""
        started = time.monotonic()
        self._recover()
        self._locks()
        if time.monotonic() - started > 10:
            self._problem("a dead lock or lease kept the next start waiting")
        self._sidecars()
        landing = self._landing()
        if self._job["kind"] == "apply":
            self._applied_once(landing)
        if self._job["kind"] == "part":
            self._taken_back_once(landing)
        self._told_truly(landing)
        self._runs()
        return landing

    def _problem(self, text: str) -> None:
        self.problems.append(f"{self._name}: {text}")

    def _recover(self) -> None:
        try:
            settle(self._parts)
            with self._parts.leases.acquire(dream_lease_name(self._parts.home_id), purpose="recovery"):
                self._parts.recovery.run()
        except UserError as error:
            self._problem(f"recovery failed: {error}")

    def _locks(self) -> None:
        profile = self._parts.profile
        for target in (self._parts.home.root / "memory/global", self._parts.home.root / "memory-meta.json"):
            with file_lock(profile.locks, target, timeout_s=5):
                pass

    def _memories(self, files: dict[str, bytes]) -> dict[str, bytes]:
        return {
            name: data
            for name, data in files.items()
            if not name.startswith("memory-") and not name.rpartition("/")[2].startswith(".")
        }

    def _landing(self) -> str:
        now, old = self._memories(contents(self._parts.home.root)), self._memories(self._before)
        if now == old:
            return "old"
        changed = {name for name in now.keys() | old.keys() if now.get(name) != old.get(name)}
        kind = self._job["kind"]
        if kind in ("save", "delete"):
            only = changed == {"memory/global/testing.md"}
            want = self._job["content"].encode() if kind == "save" else None
            if only and now.get("memory/global/testing.md") == want:
                return "new"
        if kind.startswith("move") and _is_moved(now, old):
            return "new"
        of_run = ("dream", "apply", "harvest", "part", "reshape", "reshape-applied")
        if kind in of_run and changed == self._changed_by_newest_run(now):
            return "new"
        if kind in ("revert", "reshape-undone") and now == self._memories(contents_of_sample()):
            return "new"
        self._problem(f"a mix of old and new: {sorted(changed)[:5]}")
        return "mix"

    def _applied_once(self, landing: str) -> None:
        """A preview whose apply came to its end says so; one whose apply did not can be applied."""
        refused = load_review(self._parts.dream_dependencies, self._job["run"]).why_not
        if bool(refused) is not (landing == "new"):
            self._problem(f"landed as {landing}, yet the preview says {refused or 'that it can be applied'}")

    def _taken_back_once(self, landing: str) -> None:
        """A run says that a part of it was taken back where that came to its end, and only there."""
        taken = parts_as_json(self._parts.runs.load(self._job["run"]).taken_back)
        if taken != (self._job["part"] if landing == "new" else {}):
            self._problem(f"landed as {landing}, yet the run says that {taken} was taken back")

    def _told_truly(self, landing: str) -> None:
        """The record of the job's run says what became of it; one that had not begun has none."""
        known = {self._job.get("run")}
        for record in self._parts.runs.all(limit=1):
            done = record.outcome in SUCCEEDED
            if record.id not in known and done is not (landing == "new"):
                self._problem(f"landed as {landing}, yet the run says {record.outcome}")

    def _changed_by_newest_run(self, now: dict[str, bytes]) -> set[str]:
        """The files of the run's journal, if each of them holds what the run wanted."""
        record = self._parts.runs.all(limit=1)[0]
        transaction = self._parts.transaction_for(record.id, "test")
        journal = transaction.load()
        if journal is None:
            return set()
        names = set()
        for intent in journal.intents:
            name = f"{intent.directory}/{intent.rel}"
            if now.get(name) != transaction.images.get(intent.after):
                return set()
            names.add(name)
        return names

    def _sidecars(self) -> None:
        root = self._parts.home.root
        for name in ("memory-meta.json", "memory-consolidation.json"):
            try:
                data = json.loads((root / name).read_bytes())
            except ValueError:
                self._problem(f"{name} is torn")
                continue
            if name == "memory-meta.json":
                self._entries(data["entries"], json.loads(self._before[name])["entries"])
            else:
                lost = json.loads(self._before[name])["workspaces"].keys() - data["workspaces"].keys()
                if lost:
                    self._problem(f"coverage records lost: {lost}")

    def _entries(self, now: dict[str, Any], before: dict[str, Any]) -> None:
        """Entries may go only with the memory they are about."""
        for key in before.keys() - now.keys():
            scope, _colon, rel = key.partition(":")
            if scope == "global" and (self._parts.home.root / "memory/global" / rel).is_file():
                self._problem(f"the entry {key} is lost")

    def _runs(self) -> None:
        for record in self._parts.runs.all():
            if record.outcome == "running":
                self._problem(f"run {record.id} still says running")
            if record.outcome == "interrupted" and record.kind == "dream":
                self._parts.reverter.revert(record.id)
                if self._memories(contents(self._parts.home.root)) != self._memories(self._before):
                    self._problem("reverting the interrupted run did not give back the bytes before")


def _folders(home: Path) -> set[str]:
    """Every folder of memories."""
    return {name for name, data in tree(home).items() if data is None}


def _is_moved(now: dict[str, bytes], old: dict[str, bytes]) -> bool:
    """Whether all of `MOVED` is at its new place, and nothing else has changed."""
    gone = {
        name: data
        for name, data in old.items()
        if name == "memory/global/testing.md" or name.startswith("memory/global/machines/")
    }
    came = {name: data for name, data in now.items() if name not in old}
    names = {name.removeprefix("memory/global/") for name in gone}
    return (
        {name.partition("/moved/")[2] for name in came} == names
        and sorted(came.values()) == sorted(gone.values())
        and {**now, **gone} == {**old, **came}
        and not gone.keys() & now.keys()
    )


def not_harvested_yet(home: Path) -> None:
    """Take back what the agent harvested of the sample's compaction."""
    sidecar = home / "memory-consolidation.json"
    sidecar.write_text(json.dumps({**json.loads(sidecar.read_bytes()), "harvestsByWorkspace": {}}))
    for inbox in (home / "sessions" / WORKSPACE / "memory" / "harvest").iterdir():
        inbox.unlink()


def a_preview(parts: HomeContainer) -> str:
    """The id of a dry run with several groups."""
    return parts.dreams.run(
        DreamRequest(parts.home.context(workspace_id=WORKSPACE), dry_run=True), RulesEngine()
    ).run_id


def a_part(parts: HomeContainer, run_id: str) -> dict[str, list[int] | None]:
    """One hunk of a file that the run edited, and a file that it deleted."""
    transaction = parts.transaction_for(run_id, "test")
    journal = transaction.load()
    assert journal is not None
    images = transaction.images
    edited = next(
        intent.path
        for intent in journal.intents
        if hunk_count(images.get(intent.before), images.get(intent.after)) > 1
    )
    gone = next(intent.path for intent in journal.intents if intent.after is None)
    return {edited: [0], gone: None}


def contents_of_sample() -> dict[str, bytes]:
    """What a home begins with."""
    with tempfile.TemporaryDirectory() as place:
        return contents(copy_sample("mux-home", Path(place)))
