"""Searching real homes: what is found, how soon, and what a broken index costs (nothing)."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import Time, sample_parts, workspace
from helpers.claude_home import ClaudeHomeMaker
from helpers.ordinary_user import without_power
from helpers.profiles import a_share
from helpers.samples import copy_sample, snapshot
from reverie.agents.scopes import Scope
from reverie.compose import open_parts
from reverie.files.watch import Changes
from reverie.memory.catalogue import FileCatalogue
from reverie.memory.search.index import Loose, find_loose
from reverie.profile import Profile
from reverie.services import search as search_module
from reverie.services.container import HomeContainer
from reverie.services.search import FEW, SearchService, SearchStopped
from reverie.services.views import SearchAnswer, SearchHit, SearchPlace
from reverie.services.workbench import Workbench

ACME = "a1f3c9e2b7"
PROJECT = "memory/project/acme-api-db553efff149"


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


@pytest.fixture
def desk(parts: HomeContainer) -> SearchService:
    made = SearchService()
    made.add(parts)
    made.update()
    return made


def seen(*paths: Path, rescan: bool = False) -> Changes:
    return Changes(frozenset(paths), rescan, len(paths), ())


def found(desk: SearchService, text: str) -> list[str]:
    return [hit.path for hit in desk.search(text).hits]


def with_all(desk: SearchService, text: str) -> list[str]:
    """Only what has all the words."""
    return [hit.path for hit in desk.search(text).hits if hit.matched == "all"]


def first(desk: SearchService, text: str) -> SearchHit:
    return desk.search(text).hits[0]


def every_path(desk: SearchService) -> set[tuple[str, str | None, str]]:
    """Everything that can be found, whoever's it is."""
    everything = desk.search("changed:>0m", count=10_000)
    return {(hit.home, hit.workspace_id, hit.path) for hit in everything.hits}


def test_a_hit_says_where_it_stands_and_why(desk: SearchService, parts: HomeContainer) -> None:
    hit = first(desk, "retry-loop")
    assert hit.path == "/memories/workspace/findings/retry-loop.md"
    assert (hit.home, hit.scope, hit.workspace_id) == (str(parts.home.root), Scope.WORKSPACE, ACME)
    assert "retry-loop" in [hit.path[start:end] for start, end in hit.name_hits]
    told = first(desk, '"Retry-After"').as_json()
    assert set(told) >= {"home", "path", "scope", "score", "snippet"}
    assert told["score"] > 0
    shown, (start, end) = told["snippet"], told["hits"][0]
    assert shown[start:end].casefold() == "retry-after"


def test_companions_are_found_too(desk: SearchService, parts: HomeContainer) -> None:
    paths = {hit.path for hit in desk.search("changed:>0m", count=500).hits if hit.companion}
    assert str(parts.home.root / "AGENTS.md") in paths
    project = next(hit for hit in desk.search("envelope", count=500).hits if hit.companion)
    assert project.project_path is not None
    assert project.scope is Scope.PROJECT


def test_an_instruction_file_that_is_a_link_is_found_by_what_it_leads_to(
    parts: HomeContainer, tmp_path: Path
) -> None:
    file, shared = parts.home.root / "AGENTS.md", tmp_path / "dotfiles" / "AGENTS.md"
    shared.parent.mkdir()
    file.rename(shared)
    shared.write_text("the zyzzyva_count is 3\n")
    file.symlink_to(shared)
    desk = SearchService()
    desk.add(parts)
    desk.update()
    assert found(desk, "zyzzyva_count") == [str(file)]
    assert "zyzzyva_count is 3" in first(desk, "zyzzyva_count").snippet.text
    # Where the link leads to credentials now, nothing of the file is known any more.
    secret = tmp_path / ".aws" / "credentials"
    secret.parent.mkdir()
    secret.write_text("zyzzyva_secret = 1\n")
    file.unlink()
    file.symlink_to(secret)
    desk.note(parts.home_id, seen(file))
    desk.update()
    assert found(desk, "zyzzyva_count OR zyzzyva_secret") == []
    assert str(file) not in {hit.path for hit in desk.search("changed:>0m", count=500).hits}


@pytest.mark.skipif(os.name != "posix", reason="needs permissions")
def test_an_instruction_file_in_a_folder_that_cannot_be_listed_is_found(tmp_path: Path) -> None:
    maker = ClaudeHomeMaker(tmp_path)
    shop = maker.repository("shop")
    maker.session(shop, 1)
    maker.memory(shop, {"a.md": "the zyzzyva_count is 3\n"})
    (shop / "CLAUDE.md").write_text("a zyzzyva_rule\n")
    (shop / "CLAUDE.local.md").write_text("another zyzzyva_rule\n")
    (shop / "CLAUDE.local.md").chmod(0)
    desk = SearchService()
    desk.add(open_parts(maker.root, Profile.under(tmp_path / "profile"), Time()))
    shop.chmod(0o711)
    try:
        without_power(desk.update)
        assert found(desk, "zyzzyva_count") == ["/memories/project/a.md"]
        assert without_power(lambda: found(desk, "zyzzyva_rule")) == [str(shop / "CLAUDE.md")]
    finally:
        shop.chmod(0o755)


def test_planted_words_are_found_in_every_place(parts: HomeContainer, tmp_path: Path) -> None:
    desk, planted = SearchService(), []
    for place in (parts.home.root / "memory/global", parts.home.root / PROJECT,
                  parts.home.root / f"sessions/{ACME}/memory"):  # fmt: skip
        (place / "planted.md").write_text("the zyzzyva_count of 設定値 is 3\n")
        planted.append(place)
    desk.add(parts)
    desk.update()
    for asked in ("zyzzyva_count", "zyzzyva", "設定値", "定値", "/zyz+yva_.ount/", "planted zyzzyva"):
        assert len(with_all(desk, asked)) == 3, asked


def test_a_word_of_which_one_letter_is_typed_takes_no_hit_away_unless_it_is_a_word(
    desk: SearchService, parts: HomeContainer
) -> None:
    for name, word in (("plain", "plan"), ("lettered", "plan q")):
        (parts.home.root / f"memory/global/{name}.md").write_text(f"the xylograph-{word} stands\n")
    desk.note(parts.home_id, seen(rescan=True))
    desk.update()
    both = {"/memories/global/plain.md", "/memories/global/lettered.md"}
    for asked in ("xylograph s", "xylograph-s", "xylograph plan s", "xylograph-plan 7", "xylograph"):
        assert set(with_all(desk, asked)) == both, asked
    assert (
        with_all(desk, "xylograph q")
        == with_all(desk, "xylograph-plan q")
        == ["/memories/global/lettered.md"]
    )
    for asked in ("xylograph s ", '"xylograph s"', "s xylograph", "xylograph sz", "s", "s scope:global"):
        assert with_all(desk, asked) == [], asked


def test_while_a_word_is_begun_nothing_is_asked_by_any_word_where_the_others_are_found(
    desk: SearchService, parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That takes ten times as long, and its answer was thrown away."""
    (parts.home.root / "memory/global/plain.md").write_text("the xylograph-plan stands\n")
    desk.note(parts.home_id, seen(rescan=True))
    desk.update()
    asked: list[object] = []

    def loosely(*question: Any) -> Loose:
        asked.append(question)
        return find_loose(*question)

    monkeypatch.setattr(search_module, "find_loose", loosely)
    for number in range(FEW):
        (parts.home.root / f"memory/global/plain-{number}.md").write_text("the xylograph-plan stands\n")
    desk.note(parts.home_id, seen(rescan=True))
    desk.update()
    assert len(with_all(desk, "xylograph s")) > FEW
    assert asked == []
    found(desk, "xylograph nowhere")
    assert asked


def near(desk: SearchService, text: str) -> list[str]:
    """What has only words that are written like those of the question."""
    return [hit.path for hit in desk.search(text).hits if hit.matched == "near"]


def test_a_slip_of_the_keys_finds_what_was_meant(desk: SearchService, parts: HomeContainer) -> None:
    path = "/memories/global/upkeep.md"
    (parts.home.root / "memory/global/upkeep.md").write_text("the maintenance of the qwertz-box\n")
    desk.note(parts.home_id, seen(rescan=True))
    desk.update()
    for asked in ("mantenance", "maintainance", "maintenacne", "MAINTENANSE", "mantenance scope:global"):
        assert near(desk, asked) == [path], asked
    some = [hit.path for hit in desk.search("qwetrz maintenance").hits if hit.matched == "any"]
    assert some == [path]
    for exact in ("maintenance", "mainten", "the maintenance"):
        assert near(desk, exact) == [], exact
        assert with_all(desk, exact) == [path], exact
    for nothing in ("zzzzzzzz", "xqz", '"mantenance box"', "/mantenance/", "mantenance scope:workspace"):
        assert found(desk, nothing) == [], nothing


def test_filters_narrow_down(desk: SearchService, parts: HomeContainer) -> None:
    scopes = {hit.scope for hit in desk.search("the scope:global", count=500).hits}
    assert scopes == {Scope.GLOBAL}
    assert found(desk, "retry home:nowhere") == []
    assert found(desk, f"retry home:{parts.home.kind}")
    pinned = {hit.path for hit in desk.search("pinned:yes", count=500).hits}
    assert "/memories/project/architecture.md" in pinned
    others = {hit.path for hit in desk.search("pinned:no scope:project", count=500).hits}
    assert others
    assert "/memories/project/todo.txt" in others
    recent = parts.home.root / "memory/global/preferences.md"
    old = parts.home.root / "memory/global/testing.md"
    os.utime(recent)
    os.utime(old, ns=(1, 1))
    desk.note(parts.home_id, seen(recent, old))
    desk.update()
    assert "/memories/global/preferences.md" in found(desk, "changed:<1h scope:global")
    assert "/memories/global/testing.md" not in found(desk, "changed:<1h scope:global")
    assert "/memories/global/testing.md" in found(desk, "changed:>7d scope:global")


def test_by_tells_whose_words_stand_there(desk: SearchService, parts: HomeContainer) -> None:
    context = workspace(parts, ACME)
    for actor in ("agent", "user"):
        parts.store(context, actor=actor).create(f"/memories/global/{actor}-wrote.md", f"xylograph {actor}\n")
    desk.note(parts.home_id, seen(rescan=True))
    desk.update()
    assert found(desk, "xylograph by:agent") == ["/memories/global/agent-wrote.md"]
    assert found(desk, "xylograph by:you") == ["/memories/global/user-wrote.md"]
    assert found(desk, "xylograph by:outside") == []
    (parts.home.root / "memory/global/agent-wrote.md").write_text("xylograph by vim\n")
    desk.note(parts.home_id, seen(rescan=True))
    desk.update()
    assert found(desk, "xylograph by:agent") == []
    assert found(desk, "xylograph by:outside") == ["/memories/global/agent-wrote.md"]


def test_what_another_process_writes_is_found_after_its_path_was_noted(
    desk: SearchService, parts: HomeContainer
) -> None:
    target = parts.home.root / "memory/global/deep/er/new.md"
    outside = (
        f"from pathlib import Path; p = Path({str(target)!r}); p.parent.mkdir(parents=True); "
        "p.write_text('a quokka_sighting', encoding='utf-8')"
    )
    subprocess.run([sys.executable, "-c", outside], check=True)
    desk.note(parts.home_id, seen(target.parent.parent))
    desk.update()
    assert found(desk, "quokka") == ["/memories/global/deep/er/new.md"]
    target.write_text("a wombat")
    desk.note(parts.home_id, seen(target))
    desk.update()
    assert (found(desk, "quokka"), found(desk, "wombat")) == ([], ["/memories/global/deep/er/new.md"])
    target.rename(target.with_name("moved.md"))
    desk.note(parts.home_id, seen(target, target.with_name("moved.md")))
    desk.update()
    assert found(desk, "wombat") == ["/memories/global/deep/er/moved.md"]
    shutil.rmtree(target.parent.parent)
    desk.note(parts.home_id, seen(target.parent.parent))
    desk.update()
    assert found(desk, "wombat") == []


def test_random_changes_by_path_end_where_a_full_look_ends(
    desk: SearchService, parts: HomeContainer, tmp_path: Path
) -> None:
    import random

    dice, root = random.Random(5), parts.home.root / PROJECT
    for step in range(40):
        files = [path for path in root.rglob("*.md") if path.is_file()]
        target = dice.choice(files)
        match dice.randrange(4):
            case 0:
                target.write_text(f"step {step} {target.read_text(errors='replace')[:200]}")
                dirty = [target]
            case 1:
                target.unlink()
                dirty = [target]
            case 2:
                new = root / f"d{dice.randrange(3)}" / f"n{step}.md"
                new.parent.mkdir(exist_ok=True)
                new.write_text(f"step{step} new")
                dirty = [new.parent]
            case _:
                new = target.with_name(f"m{step}.md")
                target.rename(new)
                dirty = [target, new]
        desk.note(parts.home_id, seen(*dirty))
        if dice.random() < 0.5:
            desk.update()
    desk.update()
    fresh = SearchService()
    other = sample_like(parts, tmp_path / "other")
    fresh.add(other)
    fresh.update()
    assert every_path(desk) == every_path(fresh)
    for asked in ("step", "new", "deploy", "the"):
        assert sorted(found(desk, asked)) == sorted(found(fresh, asked)), asked


def sample_like(parts: HomeContainer, directory: Path) -> HomeContainer:
    """The same home seen by a profile that knows nothing."""
    from reverie.compose import open_parts
    from reverie.profile import Profile

    return open_parts(parts.home.root, Profile.under(directory), Time())


def damage_nothing(path: Path) -> None:
    path.unlink()


def damage_truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def damage_empty(path: Path) -> None:
    path.write_bytes(b"")


def damage_noise(path: Path) -> None:
    path.write_bytes(b"no database at all" * 500)


def damage_version(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()


def damage_table(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE files")
    connection.close()


def damage_pages(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(bytes(data))


DAMAGES = (
    damage_nothing,
    damage_truncate,
    damage_empty,
    damage_noise,
    damage_version,
    damage_table,
    damage_pages,
)


@pytest.mark.parametrize(("noticed_by", "damage"), a_share(product(("a search", "an update"), DAMAGES)))
def test_a_broken_index_is_built_anew_without_a_word_lost(
    desk: SearchService, parts: HomeContainer, damage: Callable[[Path], None], noticed_by: str
) -> None:
    asked = ("retry", "deploy", "preferences", "scope:workspace")
    before = {each: found(desk, each) for each in asked}
    paths = every_path(desk)
    index = parts.profile.catalogue
    for aside in ("-wal", "-shm"):
        index.with_name(index.name + aside).unlink(missing_ok=True)
    damage(index)
    if noticed_by == "a search":
        answer = desk.search("retry")
        assert not answer.complete
    else:
        desk.note(parts.home_id, seen(parts.home.root / "memory/global/preferences.md"))
    desk.update()
    assert {each: found(desk, each) for each in asked} == before
    assert every_path(desk) == paths


def test_searching_writes_nothing_into_a_home_and_counts_as_no_use(parts: HomeContainer) -> None:
    before = snapshot(parts.home.root)
    desk = SearchService()
    desk.add(parts)
    desk.update()
    for asked in ("retry", "pinned:yes", "by:agent retry", "/re.ry/"):
        desk.search(asked)
    assert snapshot(parts.home.root) == before


def test_the_index_is_private(desk: SearchService, parts: HomeContainer) -> None:
    assert parts.profile.catalogue.parent.stat().st_mode & 0o777 == 0o700
    assert parts.profile.catalogue.stat().st_mode & 0o777 == 0o600


def test_files_beyond_caps_and_without_valid_text_are_found(
    desk: SearchService, parts: HomeContainer
) -> None:
    root = parts.home.root / "memory/global"
    (root / "huge.md").write_text("filler " * 100_000 + "needle_at_the_end\n")
    (root / "bytes.md").write_bytes(b"ok \xff\xfe pangolin \x80\n")
    (root / "nul.md").write_bytes(b"before\0armadillo\n")
    (root / os.fsdecode(b"n\xffme-okapi.md")).write_text("odd name, echidna\n")
    (root / "link.md").symlink_to(parts.home.root / "config.json")
    (root / ".hidden.md").write_text("echidna\n")
    desk.note(parts.home_id, seen(root))
    desk.update()
    assert found(desk, "needle_at_the_end") == ["/memories/global/huge.md"]
    assert first(desk, "needle_at_the_end").snippet.hits
    assert found(desk, "pangolin") == ["/memories/global/bytes.md"]
    assert found(desk, "armadillo") == ["/memories/global/nul.md"]
    assert len(found(desk, "echidna")) == len(found(desk, "okapi")) == 1
    assert not any(path.endswith("link.md") for path in found(desk, "link scope:global"))


def test_two_homes_answer_together_and_a_vanished_one_keeps_its_rows(
    desk: SearchService, parts: HomeContainer, tmp_path: Path
) -> None:
    from reverie.compose import open_parts

    other_root = copy_sample("mux-home-legacy", tmp_path / "second")
    (other_root / "memory/global").mkdir(parents=True, exist_ok=True)
    (other_root / "memory/global/two.md").write_text("retry in the second home\n")
    other = open_parts(other_root, parts.profile, Time())
    desk.add(other)
    desk.update()
    assert {hit.home for hit in desk.search("retry", count=200).hits} == {
        str(parts.home.root), str(other_root)}  # fmt: skip
    hidden = other_root.with_name("away")
    other_root.rename(hidden)
    desk.note(other.home_id, seen(rescan=True))
    desk.update()
    answer = desk.search("retry", count=200)
    assert {hit.home for hit in answer.hits} == {str(parts.home.root)}
    assert len(answer.problems) == 1
    hidden.rename(other_root)
    desk.update()
    answer = desk.search('"second home"')
    assert len(answer.hits) == 1
    assert answer.problems == ()


def test_an_update_that_is_stopped_goes_on_from_there(parts: HomeContainer) -> None:
    desk, count = SearchService(), iter(range(1000))
    desk.add(parts)
    with pytest.raises(SearchStopped):
        desk.update(stop=lambda: next(count) > 20)
    assert desk.waiting
    assert not desk.search("retry").complete
    desk.update()
    assert desk.search("retry").complete


def test_a_pattern_tells_what_it_has_so_far_and_can_be_stopped(
    desk: SearchService, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reverie.services import search

    monkeypatch.setattr(search, "_REPORT_S", 0.0)
    told: list[SearchAnswer] = []
    last = desk.search("/re.ry/", report=told.append)
    assert told
    assert not told[0].complete
    assert {hit.path for hit in told[-1].hits} <= {hit.path for hit in last.hits}
    with pytest.raises(SearchStopped):
        desk.search("/nothing at all/", stop=lambda: True)


def test_where_only_common_words_are_asked_names_come_first(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reverie.memory.search import index as search_index

    monkeypatch.setattr(search_index, "_COMMON", 3)
    monkeypatch.setattr(search_index, "_CANDIDATES", 5)
    root = parts.home.root / "memory/global"
    for number in range(20):
        (root / f"n{number:02}.md").write_text("a gizmo and a widget\n")
    (root / "gizmo.md").write_text("nothing else\n")
    os.utime(root / "gizmo.md", ns=(1, 1))
    desk = SearchService()
    desk.add(parts)
    desk.update()
    assert found(desk, "gizmo ")[0] == "/memories/global/gizmo.md"
    assert len(found(desk, "gizmo ")) == 6
    (root / "n07.md").write_text("a gizmo, a widget and one axolotl\n")
    desk.note(parts.home_id, seen(root / "n07.md"))
    desk.update()
    assert found(desk, "gizmo axolotl") == ["/memories/global/n07.md"]


def test_an_index_that_is_mostly_past_is_begun_anew(
    desk: SearchService, parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reverie.memory import catalogue

    monkeypatch.setattr(catalogue, "_DEAD_AT_LEAST", 10)
    target = parts.home.root / "memory/global/preferences.md"
    for number in range(160):
        target.write_text(f"rewritten {number}\n")
        desk.note(parts.home_id, seen(target))
        desk.update()
    assert found(desk, '"rewritten 159"') == ["/memories/global/preferences.md"]
    with sqlite3.connect(parts.profile.catalogue) as connection:
        newest, live = connection.execute("SELECT max(id), count(*) FROM files").fetchone()
    connection.close()
    assert newest - live < 160
    assert found(desk, "deploy")


def test_an_orphan_is_found_but_no_context_shows_it(parts: HomeContainer) -> None:
    lost = parts.home.root / "memory/project/lost-000000000000"
    lost.mkdir()
    (lost / "x.md").write_text("a thylacine\n")
    desk = SearchService()
    desk.add(parts)
    desk.update()
    hit = first(desk, "thylacine")
    assert not hit.reachable
    known = desk.search("scope:project the", count=500).hits
    assert {hit.reachable for hit in known if hit is not None and not hit.companion} == {True}
    assert all(hit.project_path for hit in known)


def test_nothing_is_created_before_the_first_update(parts: HomeContainer) -> None:
    desk = SearchService()
    desk.add(parts)
    assert desk.search("retry") == SearchAnswer("retry", (), (), complete=False)
    assert not parts.profile.catalogue.exists()
    index = FileCatalogue(parts.profile.catalogue, lock_dir=parts.profile.locks)
    assert index.complete((parts.home_id,)) == set()


def write(parts: HomeContainer, desk: SearchService, **notes: str) -> None:
    for name, text in notes.items():
        (parts.home.root / f"memory/global/{name}.md").write_text(text)
    desk.note(parts.home_id, seen(rescan=True))
    desk.update()


def test_where_no_note_has_all_words_those_with_some_follow(
    desk: SearchService, parts: HomeContainer
) -> None:
    write(
        parts,
        desk,
        okapi="The okapis were counted before the gazebo was migrated.\n",
        gazebo="A gazebo.\n" + "\n".join(f"line {number}" for number in range(60)) + "\nAnd an okapi.\n",
    )
    answer = desk.search("when are okapi counts and gazebos migrating?")
    assert [hit.path for hit in answer.hits[:2]] == [
        "/memories/global/okapi.md",
        "/memories/global/gazebo.md",
    ]
    assert {hit.matched for hit in answer.hits} == {"any"}
    assert answer.hits[0].as_json()["matched"] == "any"
    best = answer.hits[0].snippet
    assert [best.text[start:end] for start, end in best.hits] == ["okapis", "counted", "gazebo", "migrated"]


def test_a_word_that_is_just_begun_asks_nothing_by_itself(
    desk: SearchService, parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every note has a word that begins with it, and to look for all of them took thirty times as long."""
    write(parts, desk, one="the okapi was counted\n", other="the gazebo stands\n")
    asked: list[tuple[str, ...]] = []

    def loosely(*question: Any) -> Loose:
        loose = find_loose(*question)
        asked.append(tuple(group.word for group in loose.groups))
        return loose

    monkeypatch.setattr(search_module, "find_loose", loosely)
    assert found(desk, "okapi gazebo c") == found(desk, "okapi gazebo")
    assert set(asked) == {("gazebo", "okapi")} or set(asked) == {("okapi", "gazebo")}
    asked.clear()
    assert "/memories/global/one.md" in found(desk, "okapi gazebo co")
    assert [word for words in asked for word in words if word == "co"]


def test_words_that_another_process_writes_are_counted_with_the_next_question(
    desk: SearchService, parts: HomeContainer
) -> None:
    write(parts, desk, one="the okapi was counted\n")
    counted = parts.catalogue.counted_words()
    assert found(desk, "when do quokkas see an okapi") == ["/memories/global/one.md"]
    assert counted
    assert parts.catalogue.counted_words() is counted, "nothing was written since"
    (parts.home.root / "memory/global/two.md").write_text("a quokka and another quokka\n")
    script = (
        "import sys; from pathlib import Path; from reverie.clock import system_clock;"
        "from reverie.compose import open_parts; from reverie.profile import Profile;"
        "from reverie.services.search import SearchService;"
        "desk = SearchService(); desk.add(open_parts(Path(sys.argv[1]), Profile(*map(Path, sys.argv[2:])),"
        " system_clock)); desk.update()"
    )
    profile = parts.profile
    places = (parts.home.root, profile.config, profile.data, profile.cache, profile.state)
    subprocess.run([sys.executable, "-c", script, *map(str, places)], check=True)
    assert set(found(desk, "when do quokkas see an okapi")) == {
        "/memories/global/one.md",
        "/memories/global/two.md",
    }


def test_enough_notes_with_all_words_are_not_diluted(desk: SearchService, parts: HomeContainer) -> None:
    write(
        parts, desk, **{f"emu{number}": "an emu by the pagoda\n" for number in range(5)}, other="the pagoda\n"
    )
    assert {hit.matched for hit in desk.search("emu pagoda").hits} == {"all"}
    assert len(desk.search("emu pagoda").hits) == 5


def test_a_misspelt_word_is_found_as_it_was_meant(desk: SearchService, parts: HomeContainer) -> None:
    write(parts, desk, tapir="The tapiroscope is calibrated.\n")
    for asked in ("tapirosocpe", "tapiroscpe", "tapiroscopee"):
        hits = desk.search(asked).hits
        assert [(hit.path, hit.matched) for hit in hits] == [("/memories/global/tapir.md", "near")], asked
    assert desk.search("xqzvwk").hits == ()


def test_quoted_words_stay_required(desk: SearchService, parts: HomeContainer) -> None:
    write(parts, desk, one="the bittern sings at dawn\n", two="the bittern sleeps\n")
    assert [hit.path for hit in desk.search('"bittern sings" gazelle').hits] == ["/memories/global/one.md"]
    assert desk.search('"bittern flies"').hits == ()


def test_projects_and_agents_narrow_down(desk: SearchService, parts: HomeContainer) -> None:
    (parts.home.root / PROJECT / "quetzal.md").write_text("a quetzal\n")
    write(parts, desk, quetzal="a quetzal\n")
    assert len(with_all(desk, "quetzal")) == 2
    assert with_all(desk, "quetzal project:acme") == ["/memories/project/quetzal.md"]
    assert with_all(desk, "quetzal project:nowhere") == []
    assert len(with_all(desk, f"quetzal agent:{parts.home.kind[:3]}")) == 2
    assert with_all(desk, "quetzal agent:nobody") == []


def test_the_place_one_is_in_comes_first(tmp_path: Path) -> None:
    parts, desk = sample_parts("mux-home", tmp_path, whole=True), SearchService()
    desk.add(parts)
    (parts.home.root / PROJECT / "far.md").write_text("a quetzal " + "and much else " * 40)
    write(parts, desk, quetzal="a quetzal\n")
    project = next(hit.project_path for hit in desk.search("quetzal").hits if hit.project_path)
    assert desk.search("quetzal").hits[0].path == "/memories/global/quetzal.md"
    for place in (SearchPlace(project), SearchPlace(f"{project}/src")):
        assert desk.search("quetzal", place=place).hits[0].path == "/memories/project/far.md"


def test_inside_a_project_others_with_all_words_do_not_crowd_out_its_own_note(
    desk: SearchService, parts: HomeContainer
) -> None:
    own = parts.home.root / PROJECT / "zebra-crossing.md"
    own.write_text("# Zebra crossing\n\nThe quetzal waits at the zebra crossing until noon.\n")
    others = {
        f"other{number}": f"A quetzal, a zebra, a crossing, the okapi {number}.\n" for number in range(8)
    }
    write(parts, desk, **others)
    project = next(hit.project_path for hit in desk.search("quetzal waits").hits if hit.project_path)
    question = "quetzal zebra crossing okapi"
    assert desk.search(question).hits[0].path.startswith("/memories/global/other")
    answer = desk.search(question, place=SearchPlace(project))
    assert answer.hits[0].path == "/memories/project/zebra-crossing.md"
    assert answer.hits[0].matched == "any"
    assert sum(hit.path.startswith("/memories/global/other") for hit in answer.hits) == 8


def test_the_name_of_a_note_counts_three_times(desk: SearchService, parts: HomeContainer) -> None:
    write(parts, desk, quetzal="Nothing else.\n", birds="The okapi and the gazebo.\n")
    answer = desk.search("quetzal okapi gazebo")
    paths = [hit.path for hit in answer.hits[:2]]
    assert paths == ["/memories/global/quetzal.md", "/memories/global/birds.md"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_memory_in_utf_16_is_found_by_its_words_and_shown_in_them(
    parts: HomeContainer, encoding: str
) -> None:
    text = "\ufeff# Zanzibar\n\nThe lighthouse keeper is called Kränze.\n"
    (parts.home.root / "memory/global/wide.md").write_bytes(text.encode(encoding))
    desk = SearchService()
    desk.add(parts)
    desk.update()
    assert with_all(desk, "lighthouse kränze") == ["/memories/global/wide.md"]
    shown = Workbench(parts).read(parts.home.context(), "/memories/global/wide.md")
    assert shown.content == text.removeprefix("\ufeff")
    assert shown.read_only == "This file is UTF-16, not UTF-8, and is shown read-only."
