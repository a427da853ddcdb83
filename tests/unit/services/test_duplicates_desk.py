"""Duplicates are found for a person to judge, and merged by hand without losing what nobody saw."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.benches import Time, contents, sample_parts, workspace
from helpers.samples import snapshot
from reverie.agents.scopes import Scope
from reverie.errors import Conflict, StoreError, Unavailable
from reverie.jobs.consolidate.relations import folded_body
from reverie.memory.union import lost_lines
from reverie.services.container import HomeContainer
from reverie.services.duplicates import DuplicateFile, DuplicateGroup, DuplicateProgress, DuplicateService

ACME = "a1f3c9e2b7"
LABELLED = Path(__file__).parents[2] / "labelled/near_duplicates.jsonl"
BODY = "# Deploy\n\n- Run the smoke tests before the deploy\n- Tag the release after the deploy\n"


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    parts = sample_parts("mux-home", tmp_path)
    root = parts.home.root / "memory/global/dups"
    root.mkdir()
    for name, text in {
        "deploy.md": BODY,
        "deploy-copy.md": BODY.replace("\n", "\r\n"),
        "deploy-more.md": BODY + "- Post the tag in the team channel\n",
        "pool.md": "# Pool\n\nThe pool of the ingest service holds 20 connections on staging hosts.\n",
        "pool-prod.md": "# Pool\n\nThe pool of the ingest service holds 50 connections on staging hosts.\n",
        "empty-one.md": "",
        "empty-two.md": "\n\n",
    }.items():
        (root / name).write_bytes(text.encode())
    (root / "binary.md").write_bytes(b"\xff\xfe\x00")
    parts.snapshots.observe(source="a scan on opening")
    return parts


@pytest.fixture
def desk(parts: HomeContainer) -> DuplicateService:
    return DuplicateService(parts)


def named(group: DuplicateGroup) -> set[str]:
    return {file.rel.removeprefix("dups/") for file in group.files}


def of(desk: DuplicateService, name: str) -> DuplicateGroup:
    return next(group for group in desk.find(None).groups if f"dups/{name}" in {f.rel for f in group.files})


def test_equal_near_and_alike_notes_are_told_apart_and_looking_writes_nothing(
    parts: HomeContainer, desk: DuplicateService
) -> None:
    before = snapshot(parts.home.root)
    steps: list[DuplicateProgress] = []
    report = desk.find(None, progress=steps.append)
    ours = {frozenset(named(group)): group for group in report.groups if "dups/" in group.files[0].rel}
    deploy = ours[frozenset({"deploy.md", "deploy-copy.md", "deploy-more.md"})]
    assert deploy.kind == "near"
    assert 0.8 <= deploy.similarity <= 1
    pool = ours[frozenset({"pool.md", "pool-prod.md"})]
    assert pool.kind == "alike"
    assert pool.reason
    assert not any("empty" in name for group in ours for name in group)
    assert report.left_out >= 1
    assert {step.step for step in steps} == {"read", "pair", "judge"}
    assert [group.kind for group in report.groups] == sorted(
        (group.kind for group in report.groups), key=("exact", "near", "alike").index
    )
    assert snapshot(parts.home.root) == before


def test_only_the_scopes_that_are_shown_are_looked_at(parts: HomeContainer, desk: DuplicateService) -> None:
    shown = desk.find(workspace(parts, ACME))
    everything = desk.find(None)
    assert 0 < shown.looked_at < everything.looked_at


def test_a_merge_is_one_change_that_keeps_a_pin_and_can_be_taken_back(
    parts: HomeContainer, desk: DuplicateService
) -> None:
    from reverie.services.edits import UserEdits

    context = workspace(parts, ACME)
    UserEdits(parts).pin(context, ["/memories/global/dups/deploy-copy.md"], True)
    files = of(desk, "deploy.md").files
    target = next(file for file in files if file.rel == "dups/deploy-more.md")
    files = (target, *(file for file in files if file is not target))
    before, usage = contents(parts.home.root / "memory"), parts.usage.load()
    seed = desk.seed(files)
    assert lost_lines(seed.result.encode(), *(text.encode() for text in seed.texts)) == ()
    undo = desk.merge(files, seed.result + "- One more line\n")
    after = contents(parts.home.root / "memory")
    assert after["global/dups/deploy-more.md"] == (seed.result + "- One more line\n").encode()
    assert set(before) - set(after) == {"global/dups/deploy.md", "global/dups/deploy-copy.md"}
    assert {key for key, use in parts.usage.load().items() if use.pinned and "deploy-more" in key}
    UserEdits(parts).undo(undo)
    assert contents(parts.home.root / "memory") == before
    assert parts.usage.load() == usage


def test_what_changed_since_it_was_compared_is_not_merged(
    parts: HomeContainer, desk: DuplicateService
) -> None:
    files = of(desk, "deploy.md").files
    (parts.home.root / "memory/global" / files[1].rel).write_text("something else\n")
    before = contents(parts.home.root / "memory")
    with pytest.raises(StoreError) as told:
        desk.seed(files)
    assert told.value.reason == "changed"
    with pytest.raises(Conflict):
        desk.merge(files, "merged\n")
    assert contents(parts.home.root / "memory") == before


def test_memories_of_different_projects_are_never_mixed(parts: HomeContainer, desk: DuplicateService) -> None:
    roots = [root for root in parts.home.roots() if root.key.startswith("project/")][:2]
    for root in roots:
        (root.directory / "same.md").write_text(BODY)
    group = next(group for group in desk.find(None).groups if "same.md" in {f.rel for f in group.files})
    pair = [file for file in group.files if file.rel == "same.md"]
    assert len({file.owner for file in pair}) == 2
    with pytest.raises(Unavailable):
        desk.merge(pair, BODY)
    with pytest.raises(StoreError):
        desk.merge(pair[:1], BODY)
    assert all((root.directory / "same.md").exists() for root in roots)


def test_a_memory_of_a_project_merges_with_a_global_one(parts: HomeContainer, desk: DuplicateService) -> None:
    root = parts.home.scope_root(workspace(parts, ACME), Scope.PROJECT)
    (root.directory / "same.md").write_text(BODY)
    files: list[DuplicateFile] = sorted(of(desk, "deploy.md").files, key=lambda file: file.root_key)
    assert {file.scope for file in files} == {"global", "project"}
    desk.merge(files, BODY)
    assert not (root.directory / "same.md").exists()


def test_it_can_be_stopped(desk: DuplicateService) -> None:
    class Stopped(Exception):
        pass

    def stop() -> None:
        raise Stopped

    (desk._parts.home.root / "memory/global/dups/long.md").write_text("- one more line of words\n" * 4000)
    with pytest.raises(Stopped):
        desk.find(None, check=stop)


def test_labelled_pairs_that_must_stay_apart_are_rarely_listed_as_the_same(tmp_path: Path) -> None:
    """Few pairs that must stay apart are listed as the same, among all others in one home."""
    from reverie.compose import open_parts
    from reverie.profile import Profile

    root = tmp_path / "home"
    (root / "memory/global").mkdir(parents=True)
    (root / "config.json").write_text(json.dumps({"projects": []}))
    kept_apart: set[tuple[str, str]] = set()
    for line in LABELLED.read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        names = []
        for side in ("a", "b"):
            rel = f"set/{pair[side]['path'].removeprefix('/memories/')}"
            while (root / "memory/global" / rel).exists():
                rel = rel.replace("/", "/more/", 1)
            path = root / "memory/global" / rel
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(pair[side]["text"], encoding="utf-8")
            names.append(rel)
        # That two texts are equal is a fact, whatever may follow from it.
        if not pair["duplicate"] and folded_body(pair["a"]["text"]) != folded_body(pair["b"]["text"]):
            kept_apart.add((names[0], names[1]))
    desk = DuplicateService(open_parts(root, Profile.under(tmp_path / "profile"), Time()))
    groups = desk.find(None).groups
    same = [{file.rel for file in group.files} for group in groups if group.kind != "alike"]
    wrong = [pair for pair in kept_apart if any(set(pair) <= group for group in same)]
    assert len(wrong) <= 0.07 * len(kept_apart), wrong
    assert len(same) >= 10
