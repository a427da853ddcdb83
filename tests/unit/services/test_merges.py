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
from reverie.services.findings import MemoryFinding
from reverie.services.merges import FileToMerge, MergeService
from reverie.services.workbench import Workbench

ACME, INGEST = "a1f3c9e2b7", "c04d8e91aa"
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
def desk(parts: HomeContainer) -> MergeService:
    return MergeService(parts)


DUPLICATES = ("near-duplicate", "successor", "differing")


def found(parts: HomeContainer) -> list[MemoryFinding]:
    report = Workbench(parts).worth_a_look.find(workspace(parts, ACME))
    return [each for matter in report.matters(DUPLICATES) for each in matter]


def deploys(parts: HomeContainer, desk: MergeService) -> tuple[FileToMerge, ...]:
    """The memories about the deploy that were found together."""
    matter = next(each.matter for each in found(parts) if any("dups/deploy" in path for path in each.paths))
    paths = dict.fromkeys(path for each in found(parts) if each.matter == matter for path in each.paths)
    assert len(paths) == 3
    return desk.files(workspace(parts, ACME), sorted(paths))


def test_equal_near_and_alike_notes_are_told_apart_and_looking_writes_nothing(parts: HomeContainer) -> None:
    before = snapshot(parts.home.root)
    ours = {
        frozenset(path.rpartition("/")[2] for path in each.paths): each
        for each in found(parts)
        if all("/dups/" in path for path in each.paths)
    }
    assert {kind for names, each in ours.items() if "pool.md" in names for kind in [each.kind]} == {
        "differing"
    }
    pool = ours[frozenset({"pool.md", "pool-prod.md"})]
    assert {"20" in said or "50" in said for said in pool.evidence} == {True}, "the difference is quoted"
    deploy = {names: each for names, each in ours.items() if "pool.md" not in names}
    assert frozenset().union(*deploy) == {"deploy.md", "deploy-copy.md", "deploy-more.md"}
    assert {each.kind for each in deploy.values()} <= {"near-duplicate", "successor"}
    assert len({each.matter for each in deploy.values()}) == 1
    assert not any("empty" in name or "binary" in name for names in ours for name in names)
    assert snapshot(parts.home.root) == before


def test_short_notes_are_found_only_if_they_are_equal(parts: HomeContainer) -> None:
    folder = parts.home.root / "memory/global/short"
    folder.mkdir()
    for name, text in {"a": "Use tabs.\n", "b": "Use  tabs.\n\n", "c": "Use blanks.\n"}.items():
        (folder / f"{name}.md").write_text(text)
    pairs = [each.paths for each in found(parts) if "/short/" in each.paths[0]]
    assert [sorted(pair) for pair in pairs] == [[f"/memories/global/short/{name}.md" for name in "ab"]]


def test_only_the_scopes_that_are_shown_are_looked_at(parts: HomeContainer) -> None:
    looked_at = [
        Workbench(parts).worth_a_look.find(context).notes
        for context in (
            workspace(parts, ACME),
            parts.home.context(project_path=None, project_given=True),
        )
    ]
    assert looked_at[0] > looked_at[1] > 0


def test_a_merge_is_one_change_that_keeps_a_pin_and_can_be_taken_back(
    parts: HomeContainer, desk: MergeService
) -> None:
    from reverie.services.edits import UserEdits

    context = workspace(parts, ACME)
    UserEdits(parts).pin(context, ["/memories/global/dups/deploy-copy.md"], True)
    files = deploys(parts, desk)
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


def test_what_changed_since_it_was_compared_is_not_merged(parts: HomeContainer, desk: MergeService) -> None:
    files = deploys(parts, desk)
    (parts.home.root / "memory/global" / files[1].rel).write_text("something else\n")
    before = contents(parts.home.root / "memory")
    with pytest.raises(StoreError) as told:
        desk.seed(files)
    assert told.value.reason == "changed"
    with pytest.raises(Conflict):
        desk.merge(files, "merged\n")
    assert contents(parts.home.root / "memory") == before


def test_memories_of_different_projects_are_never_mixed(parts: HomeContainer, desk: MergeService) -> None:
    contexts = [workspace(parts, name) for name in (ACME, INGEST)]
    roots = [parts.home.scope_root(context, Scope.PROJECT) for context in contexts]
    for root in roots:
        (root.directory / "same.md").write_text(BODY)
    pair = [file for context in contexts for file in desk.files(context, ["/memories/project/same.md"])]
    assert len({file.root_key for file in pair}) == 2
    with pytest.raises(Unavailable):
        desk.merge(pair, BODY)
    with pytest.raises(StoreError):
        desk.merge(pair[:1], BODY)
    assert all((root.directory / "same.md").exists() for root in roots)


def test_a_memory_of_a_project_merges_with_a_global_one(parts: HomeContainer, desk: MergeService) -> None:
    root = parts.home.scope_root(workspace(parts, ACME), Scope.PROJECT)
    (root.directory / "same.md").write_text(BODY)
    (pair,) = [each.paths for each in found(parts) if "/memories/project/same.md" in each.paths]
    files = sorted(desk.files(workspace(parts, ACME), pair), key=lambda file: file.root_key)
    assert {file.scope for file in files} == {"global", "project"}
    desk.merge(files, BODY)
    assert not (root.directory / "same.md").exists()


def test_it_can_be_stopped(parts: HomeContainer) -> None:
    class Stopped(Exception):
        pass

    def stop() -> None:
        raise Stopped

    with pytest.raises(Stopped):
        Workbench(parts).worth_a_look.find(workspace(parts, ACME), check=stop)


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
    parts = open_parts(root, Profile.under(tmp_path / "profile"), Time())
    context = parts.home.context(project_path=None, project_given=True)
    findings = Workbench(parts).worth_a_look.find(context).findings
    same = [
        {path.removeprefix("/memories/global/") for path in each.paths}
        for each in findings
        if each.kind == "near-duplicate"
    ]
    wrong = [pair for pair in kept_apart if any(set(pair) <= found for found in same)]
    assert len(wrong) <= 0.07 * len(kept_apart), wrong
    assert len(same) >= 10
