"""The six commands, rule by rule (formats/mux.md sections 5, 6 and the service part of 15), on a real
home."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import again, sample_parts, workspace
from helpers.ordinary_user import without_power
from reverie.agents.scopes import ScopeContext
from reverie.memory.commands import MemoryCommands
from reverie.memory.paths import parse_memory_path
from reverie.services.container import HomeContainer

ACME = "a1f3c9e2b7"


class Bench:
    """Commands on a copy of the sample home."""

    def __init__(self, parts: HomeContainer, context: ScopeContext) -> None:
        self.parts = parts
        self.context = context
        self.home = parts.home.root

    def run(self, command: str, /, *, actor: str = "agent", **fields: Any) -> dict[str, Any]:
        store = self.parts.store(self.context, actor=actor)
        commands = MemoryCommands(store, count_reads=actor == "agent")
        return commands.execute({"command": command, **fields})

    def ok(self, command: str, /, **fields: Any) -> str:
        answer = self.run(command, **fields)
        assert answer["success"], answer
        return str(answer["output"])

    def refused(self, command: str, /, **fields: Any) -> str:
        answer = self.run(command, **fields)
        assert not answer["success"], answer
        return str(answer["error"])


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    parts = sample_parts("mux-home", tmp_path)
    return Bench(parts, workspace(parts, ACME))


@pytest.mark.parametrize("scope", ["global", "project", "workspace"])
def test_a_created_memory_can_be_viewed_in_each_scope(bench: Bench, scope: str) -> None:
    bench.ok("create", path=f"/memories/{scope}/deep/er/new.md", file_text="one\ntwo")
    assert bench.ok("view", path=f"/memories/{scope}/deep/er/new.md") == "1\tone\n2\ttwo"


def test_the_roots_are_the_directories_of_the_sheet(bench: Bench) -> None:
    for scope in ("global", "project", "workspace"):
        bench.ok("create", path=f"/memories/{scope}/new.md", file_text="x")
    for place in ("memory/global", "memory/project/acme-api-db553efff149", f"sessions/{ACME}/memory"):
        assert (bench.home / place / "new.md").read_text() == "x"


@pytest.mark.parametrize(
    "alias",
    [
        {"file_path": "/memories/global/a.md", "content": "x"},
        {"filePath": "/memories/global/a.md", "file_text": "x"},
        {"path": "/memories/global/a.md", "file_text": "x", "old_str": None, "insert_line": None},
    ],
)
def test_aliases_and_nulls_are_accepted(bench: Bench, alias: dict[str, Any]) -> None:
    bench.ok("create", **alias)
    bench.ok("str_replace", path="/memories/global/a.md", old_string="x", new_string="y")
    assert bench.ok("view", path="/memories/global/a.md") == "1\ty"
    bench.ok("rename", path="/memories/global/a.md", new_path="/memories/global/b.md")


def test_a_proper_name_counts_before_an_alias_whichever_comes_first(bench: Bench) -> None:
    bench.ok("create", path="/memories/global/a.md", content="alias", file_text="proper")
    assert bench.ok("view", path="/memories/global/a.md") == "1\tproper"


def test_directories_without_a_file_are_not_listed_as_by_the_agent(bench: Bench) -> None:
    bench.ok("create", path="/memories/global/kept/deep/a.md", file_text="x")
    ((bench.home / "memory/global") / "empty" / "below").mkdir(parents=True)
    ((bench.home / "memory/global") / "kept" / "empty").mkdir()
    listed = bench.ok("view", path="/memories/global")
    assert "deep/" in listed
    assert "empty" not in listed
    assert "empty" not in bench.ok("view", path="/memories")


def test_a_scope_root_that_is_a_file_is_named(bench: Bench) -> None:
    place = bench.home / "sessions" / ACME / "memory"
    shutil.rmtree(place)
    place.write_text("x")
    assert "“memory” could not be" in bench.refused("view", path="/memories/workspace")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "notes.md",
        "/memoriesx/global/a.md",
        "/memories/other/a.md",
        "/memories/global//a.md",
        "/memories/global/./a.md",
        "/memories/global/../a.md",
        "/memories/global/a..b.md",
        "/memories/global/~a.md",
        "/memories/global/a\\b.md",
        "/memories/global/%2e%2E/a.md",
        "/memories/global/a%2Fb.md",
        "/memories/global/a%5cb.md",
        "/memories/global/a\x00b.md",
        "/memories/global/a\nb.md",
        "/memories/global/a\x7fb.md",
        "/memories/global/<a>.md",
        '/memories/global/"a".md',
        "/memories/global/\ud800.md",
    ],
)
def test_bad_paths_are_refused_by_every_command_and_nothing_is_written(bench: Bench, path: str) -> None:
    before = sorted(bench.home.rglob("*"))
    bench.refused("view", path=path)
    bench.refused("create", path=path, file_text="x")
    bench.refused("str_replace", path=path, old_str="a", new_str="b")
    bench.refused("insert", path=path, insert_line=0, insert_text="x")
    bench.refused("delete", path=path)
    bench.refused("rename", old_path=path, new_path="/memories/global/ok.md")
    bench.refused("rename", old_path="/memories/global/testing.md", new_path=path)
    assert sorted(bench.home.rglob("*")) == before


def test_spaces_and_leading_dots_are_allowed_but_a_dot_file_is_never_listed(bench: Bench) -> None:
    bench.ok("create", path="  /memories/global/.hidden note.md/  ", file_text="x")
    assert (bench.home / "memory/global/.hidden note.md").is_file()
    assert ".hidden" not in bench.ok("view", path="/memories/global")
    assert bench.ok("view", path="/memories/global/.hidden note.md") == "1\tx"


def test_a_root_view_lists_every_scope_one_level_deep(bench: Bench) -> None:
    lines = bench.ok("view", path="/memories").splitlines()
    for name in ("global/", "project/", "workspace/", "preferences.md", "deploy.md", "lessons.md"):
        assert any(line.strip() == name for line in lines), name
    assert not any(line.strip() == "laptop.md" for line in lines)


def test_a_directory_view_is_two_levels_deep_and_hides_symlinks(bench: Bench) -> None:
    (bench.home / "memory/global/escape.md").symlink_to("../../config.json")
    lines = [line.strip() for line in bench.ok("view", path="/memories/global").splitlines()]
    assert "machines/" in lines
    assert "laptop.md" in lines
    assert "2026/" in lines
    assert "07/" not in lines
    assert "escape.md" not in lines


def test_a_missing_scope_root_is_an_empty_directory_and_a_missing_path_an_error(tmp_path: Path) -> None:
    parts = sample_parts("mux-home", tmp_path)
    bench = Bench(parts, workspace(parts, "77b0d2c4e5"))
    assert bench.ok("view", path="/memories/workspace") == "Directory /memories/workspace"
    bench.refused("view", path="/memories/workspace/none.md")
    assert not (bench.home / "sessions/77b0d2c4e5/memory").exists()


def test_offset_and_limit_choose_lines_and_an_offset_beyond_the_end_is_refused(bench: Bench) -> None:
    bench.ok("create", path="/memories/global/lines.md", file_text="a\nb\nc")
    assert bench.ok("view", path="/memories/global/lines.md", offset=2, limit=1) == "2\tb"
    assert bench.ok("view", path="/memories/global/lines.md", offset=3.0) == "3\tc"
    bench.refused("view", path="/memories/global/lines.md", offset=4)
    for bad in ({"offset": 0}, {"limit": 0}, {"offset": 1.5}, {"offset": True}, {"limit": "2"}):
        bench.refused("view", path="/memories/global/lines.md", **bad)


def test_offset_one_is_fine_on_an_empty_file(bench: Bench) -> None:
    bench.ok("create", path="/memories/global/empty.md", file_text="")
    assert bench.ok("view", path="/memories/global/empty.md", offset=1) == ""
    bench.refused("view", path="/memories/global/empty.md", offset=2)


def test_a_file_over_the_cap_is_refused_without_being_read_or_written(bench: Bench) -> None:
    path = "/memories/project/reference/trace-dump.md"
    file = bench.home / "memory/project/acme-api-db553efff149/reference/trace-dump.md"
    before = b"# trace dump\n" + b"x" * bench.parts.home.caps.file_bytes
    file.write_bytes(before)
    bench.refused("view", path=path)
    bench.refused("str_replace", path=path, old_str="# trace dump", new_str="")
    bench.refused("insert", path=path, insert_line=0, insert_text="x")
    assert file.read_bytes() == before


def test_the_byte_cap_holds_on_create_and_on_edit(bench: Bench) -> None:
    cap = bench.parts.home.caps.file_bytes
    bench.refused("create", path="/memories/global/big.md", file_text="é" * (cap // 2) + "x")
    bench.ok("create", path="/memories/global/big.md", file_text="é" * (cap // 2))
    bench.refused("insert", path="/memories/global/big.md", insert_line=0, insert_text="x")
    assert (bench.home / "memory/global/big.md").stat().st_size == cap


def test_create_refuses_scope_roots_files_and_directories_that_exist(bench: Bench) -> None:
    bench.refused("create", path="/memories/global", file_text="x")
    as_file = bench.refused("create", path="/memories/global/testing.md", file_text="x")
    as_directory = bench.refused("create", path="/memories/global/machines", file_text="x")
    assert as_file != as_directory
    bench.refused("create", path="/memories/global/testing.md/below.md", file_text="x")
    bench.refused("create", path="/memories/global/lacks-text.md")


def test_a_scope_with_a_thousand_files_takes_no_more_but_dot_files_do_not_count(bench: Bench) -> None:
    root = bench.home / "sessions" / ACME / "memory"
    present = sum(path.is_file() for path in root.rglob("*"))
    for number in range(1000 - present):
        (root / f"n{number}.md").write_text("x")
    (root / ".not-counted").write_text("x")
    bench.refused("create", path="/memories/workspace/one-more.md", file_text="x")
    (root / "n0.md").unlink()
    bench.ok("create", path="/memories/workspace/one-more.md", file_text="x")


def test_replace_needs_exactly_one_match_and_names_the_lines_of_several(bench: Bench) -> None:
    bench.ok("create", path="/memories/global/r.md", file_text="aaa\nb\naa\n")
    assert "lines 1, 3" in bench.refused(
        "str_replace", path="/memories/global/r.md", old_str="aa", new_str=""
    )
    bench.refused("str_replace", path="/memories/global/r.md", old_str="zz", new_str="")
    bench.refused("str_replace", path="/memories/global/r.md", old_str="", new_str="x")
    bench.refused("str_replace", path="/memories/global/machines", old_str="x", new_str="")
    bench.refused("str_replace", path="/memories/global/none.md", old_str="x", new_str="")
    bench.ok("str_replace", path="/memories/global/r.md", old_str="b\n")
    assert (bench.home / "memory/global/r.md").read_text() == "aaa\naa\n"


def test_replacement_text_is_literal_unlike_the_agents_own(bench: Bench) -> None:
    bench.ok("create", path="/memories/global/r.md", file_text="price: X")
    bench.ok("str_replace", path="/memories/global/r.md", old_str="X", new_str="$& $$ $` $' \\1")
    assert (bench.home / "memory/global/r.md").read_text() == "price: $& $$ $` $' \\1"


@pytest.mark.parametrize(
    ("text", "line", "added", "expected"),
    [
        ("a\nb", 0, "x", "x\na\nb"),
        ("a\nb", 2, "x\n", "a\nb\nx"),
        ("a\n", 1, "x", "a\nx\n"),
        ("a\n", 2, "x", "a\n\nx"),
        ("", 0, "x\n\n", "x\n"),
        ("a\r\nb", 1, "x", "a\r\nx\nb"),
    ],
)
def test_insert_puts_text_after_a_line(bench: Bench, text: str, line: int, added: str, expected: str) -> None:
    bench.ok("create", path="/memories/global/i.md", file_text=text)
    bench.ok("insert", path="/memories/global/i.md", insert_line=line, insert_text=added)
    assert (bench.home / "memory/global/i.md").read_bytes().decode() == expected


@pytest.mark.parametrize(("text", "line"), [("", 1), ("a", 2), ("a\n", 3), ("a", -1)])
def test_insert_outside_the_file_is_refused(bench: Bench, text: str, line: int) -> None:
    bench.ok("create", path="/memories/global/i.md", file_text=text)
    bench.refused("insert", path="/memories/global/i.md", insert_line=line, insert_text="x")
    assert (bench.home / "memory/global/i.md").read_text() == text


@pytest.mark.parametrize("data", [b"a\x00b", b"\xff\xfe broken", b"caf\xe9"])
def test_a_file_that_is_not_utf8_text_is_viewed_but_never_rewritten(bench: Bench, data: bytes) -> None:
    (bench.home / "memory/global/odd.md").write_bytes(data)
    bench.ok("view", path="/memories/global/odd.md")
    bench.refused("str_replace", path="/memories/global/odd.md", old_str="a", new_str="b")
    bench.refused("insert", path="/memories/global/odd.md", insert_line=0, insert_text="x")
    assert (bench.home / "memory/global/odd.md").read_bytes() == data


def test_delete_takes_files_and_whole_directories_but_no_scope(bench: Bench) -> None:
    bench.refused("delete", path="/memories/global")
    bench.refused("delete", path="/memories/global/none.md")
    bench.ok("delete", path="/memories/global/testing.md")
    bench.ok("delete", path="/memories/global/meetings")
    assert not (bench.home / "memory/global/meetings").exists()
    assert not (bench.home / "memory/global/testing.md").exists()


def test_rename_stays_in_its_scope_and_never_replaces(bench: Bench) -> None:
    bench.refused("rename", old_path="/memories/global/testing.md", new_path="/memories/project/testing.md")
    bench.refused(
        "rename", old_path="/memories/global/testing.md", new_path="/memories/global/preferences.md"
    )
    bench.refused("rename", old_path="/memories/global", new_path="/memories/global/x")
    bench.refused("rename", old_path="/memories/global/none.md", new_path="/memories/global/x.md")
    bench.refused("rename", old_path="/memories/global/meetings", new_path="/memories/global/meetings/sub")
    bench.refused("rename", old_path="/memories/global/testing.md")
    bench.ok("rename", old_path="/memories/global/meetings", new_path="/memories/global/old/meetings")
    assert (bench.home / "memory/global/old/meetings/2026/07/14-planning.md").is_file()


def test_symlinks_out_of_the_root_are_refused_by_every_command(bench: Bench) -> None:
    root = bench.home / "memory/global"
    (root / "escape.md").symlink_to("../../config.json")
    (root / "outside").symlink_to("../..")
    config = (bench.home / "config.json").read_bytes()
    for path in ("/memories/global/escape.md", "/memories/global/outside/config.json"):
        bench.refused("view", path=path)
        bench.refused("create", path=path, file_text="x")
        bench.refused("str_replace", path=path, old_str="projects", new_str="x")
        bench.refused("delete", path=path)
        bench.refused("rename", old_path=path, new_path="/memories/global/x.md")
    bench.refused("create", path="/memories/global/outside/new.md", file_text="x")
    assert (bench.home / "config.json").read_bytes() == config
    assert not (bench.home / "new.md").exists()


def test_a_symlink_that_stays_inside_can_be_read_by_path(bench: Bench) -> None:
    (bench.home / "memory/global/link.md").symlink_to("testing.md")
    assert bench.ok("view", path="/memories/global/link.md") == bench.ok(
        "view", path="/memories/global/testing.md"
    )


def test_project_commands_without_a_single_project_are_recoverable_errors_of_two_kinds(
    tmp_path: Path,
) -> None:
    parts = sample_parts("mux-home", tmp_path)
    multi = Bench(parts, workspace(parts, "e8f1a2b3c4"))
    none = Bench(parts, parts.home.context(workspace_id=ACME, project_path="", project_given=True))
    texts = set()
    for bench in (multi, none):
        texts.add(bench.refused("view", path="/memories/project"))
        bench.refused("create", path="/memories/project/x.md", file_text="x")
        assert "project/" in bench.ok("view", path="/memories")
    assert len(texts) == 2
    assert not list((tmp_path / "mux-home/memory/project").rglob("x.md"))


def test_uses_are_counted_as_the_sheet_says(bench: Bench) -> None:
    def usage() -> tuple[int, int | None, int | None]:
        found = bench.parts.usage.load()["global:testing.md"]
        return found.access_count, found.last_accessed_at, found.last_write_at

    count, _accessed, written = usage()
    bench.ok("view", path="/memories/global")
    bench.refused("str_replace", path="/memories/global/testing.md", old_str="zz", new_str="")
    assert bench.run("view", actor="user", path="/memories/global/testing.md")["success"]
    assert usage()[0] == count
    bench.ok("view", path="/memories/global/testing.md")
    assert usage() == (count + 1, bench.parts.clock(), written)
    bench.ok("insert", path="/memories/global/testing.md", insert_line=0, insert_text="x")
    assert usage() == (count + 2, bench.parts.clock(), bench.parts.clock())


def test_rename_moves_statistics_and_delete_drops_them(bench: Bench) -> None:
    bench.ok("rename", old_path="/memories/global/meetings", new_path="/memories/global/talks")
    bench.ok("delete", path="/memories/global/testing.md")
    usage = bench.parts.usage.load()
    assert usage["global:talks/2026/07/14-planning.md"].access_count == 3
    assert not any(key.startswith(("global:meetings", "global:testing.md")) for key in usage)


def test_a_global_memory_is_seen_from_another_workspace(tmp_path: Path) -> None:
    parts = sample_parts("mux-home", tmp_path)
    Bench(parts, workspace(parts, ACME)).ok("create", path="/memories/global/shared.md", file_text="x")
    other = Bench(again(parts), workspace(parts, "c04d8e91aa"))
    assert other.ok("view", path="/memories/global/shared.md") == "1\tx"
    other.refused("view", path="/memories/workspace/lessons.md")


def test_concurrent_inserts_all_arrive(bench: Bench) -> None:
    bench.ok("create", path="/memories/global/c.md", file_text="")
    threads = [
        threading.Thread(
            target=bench.ok,
            args=("insert",),
            kwargs={"path": "/memories/global/c.md", "insert_line": 0, "insert_text": f"line {number}"},
        )
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = (bench.home / "memory/global/c.md").read_text().split("\n")
    assert sorted(line for line in lines if line) == [f"line {number}" for number in range(8)]


def test_an_edit_is_repeated_on_what_an_agent_wrote_in_between(bench: Bench) -> None:
    target = bench.home / "memory/global/testing.md"
    store = bench.parts.store(bench.context, actor="user")
    calls = 0

    def change(text: str) -> str:
        nonlocal calls
        calls += 1
        if calls == 1:
            target.write_text(text + "agent\n")
        return text + "ours\n"

    store.edit(parse_memory_path("/memories/global/testing.md"), change)
    assert target.read_text().endswith("agent\nours\n")
    assert calls == 2


def test_unknown_commands_and_fields_of_the_wrong_type_are_recoverable_errors(bench: Bench) -> None:
    bench.refused("undo_edit", path="/memories/global/testing.md")
    bench.refused("create", path=["/memories/global/x.md"], file_text="x")
    bench.refused("create", path="/memories/global/x.md", file_text="\ud800")
    bench.refused("view")
    bench.refused("delete", path=None)


def test_a_root_that_cannot_be_written_is_an_error_with_a_next_step(bench: Bench) -> None:
    (bench.home / "memory/global").chmod(0o500)
    refused = without_power(lambda: bench.refused("create", path="/memories/global/x.md", file_text="x"))
    assert "Permission" in refused
