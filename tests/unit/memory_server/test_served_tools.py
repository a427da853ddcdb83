"""The tools of the memory server: rights, authors, undo, bounds, secrets."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.benches import contents
from helpers.isolation import TEST_PROFILE
from helpers.memory_clients import hostile_call, leftovers
from helpers.samples import copy_sample
from reverie.agents.scopes import Scope
from reverie.clock import system_clock
from reverie.engine.client import EngineClient
from reverie.engine.engine import HomeEngine, ProfileEngine
from reverie.engine.process import inline_channel
from reverie.errors import StoreError, UserError
from reverie.memory_server.tools import MOST_CHARS, READING, TOOLS, WRITING, MemoryTools
from reverie.profile import Profile
from reverie.services.agent_commands import actor_of_program
from unit.engine.test_client import until

ACME = "a1f3c9e2b7"
CLIENT = "claude-code"
TESTING = "/memories/global/testing.md"
SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


class Served:
    """A home that an engine in this process serves to programs."""

    def __init__(self, place: Path, *writable: Scope) -> None:
        self.home = copy_sample("mux-home", place)
        self.engine = ProfileEngine(Profile.under(place / "profile"), system_clock)
        self.client = EngineClient(lambda: inline_channel(self.engine))
        info = self.client.services.open(self.home).info
        self.opened: HomeEngine = self.client.home(info.root, info.id)
        self.context = self.opened.context(ACME, None)
        self.permitted = {CLIENT: frozenset(writable)}
        self.tools = MemoryTools(
            self.client, info, self.context, lambda program: self.permitted.get(program, frozenset())
        )

    def __call__(self, tool: str, **arguments: object) -> str:
        return self.tools.call(CLIENT, tool, arguments)

    def file(self, path: str) -> Path:
        return self.home / "memory" / path.removeprefix("/memories/")

    def close(self) -> None:
        self.client.stop()
        self.engine.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path, Scope.GLOBAL)
    yield made
    made.close()


def test_there_are_eight_tools_whose_description_takes_about_a_thousand_tokens() -> None:
    assert sorted((*READING, *WRITING)) == sorted(
        ("view", "search", "context", "create", "str_replace", "insert", "delete", "rename")
    )
    assert len(json.dumps(TOOLS)) / 4 < 1_000


def test_only_a_delete_is_destructive_and_only_reading_tools_say_that_they_read() -> None:
    hints = {tool["name"]: tool["annotations"] for tool in TOOLS}
    assert {name for name, each in hints.items() if each.get("destructiveHint")} == {"delete"}
    assert {name for name, each in hints.items() if each["readOnlyHint"]} == set(READING)
    assert not any(each["openWorldHint"] for each in hints.values())


def test_a_memory_is_shown_with_line_numbers_whole_or_in_part(served: Served) -> None:
    lines = served.file(TESTING).read_text().rstrip("\n").split("\n")
    assert served("view", path=TESTING).split("\n")[: len(lines)] == [
        f"{number}\t{line}" for number, line in enumerate(lines, 1)
    ]
    assert served("view", path=TESTING, view_range=[2, 3]) == f"2\t{lines[1]}\n3\t{lines[2]}"
    assert served("view", path=TESTING, view_range=[3, -1]).startswith(f"3\t{lines[2]}\n4\t")
    assert "testing.md" in served("view") == served("view", path="/memories")
    for wrong in ([3, 2], [0, 1], [1], ["1", "2"], "1-2", [1, 2, 3], [True, 2], [10**30, -1]):
        with pytest.raises(StoreError, match="view_range"):
            served("view", path=TESTING, view_range=wrong)


@pytest.mark.parametrize("tool", WRITING)
def test_a_program_that_was_not_permitted_can_only_read(served: Served, tool: str) -> None:
    served.permitted.clear()
    before = contents(served.home)
    given = {
        "path": TESTING,
        "file_text": "x",
        "old_str": "Testing",
        "new_str": "x",
        "insert_line": 0,
        "insert_text": "x",
        "old_path": TESTING,
        "new_path": "/memories/global/other.md",
    }
    with pytest.raises(StoreError, match=r"may read global memory but not change it.*--allow-writes global"):
        served(tool, **given)
    assert contents(served.home) == before
    assert served("view", path=TESTING)


def test_a_permission_is_for_one_scope_and_for_one_program(served: Served) -> None:
    project = {"path": "/memories/project/new.md", "file_text": "x\n"}
    with pytest.raises(StoreError, match="may read project memory but not change it"):
        served("create", **project)
    with pytest.raises(StoreError, match="may read global memory but not change it"):
        served.tools.call("another", "create", {**project, "path": "/memories/global/new.md"})
    # The spelling of a path or of an argument does not change what is written.
    for path in (" /memories/project/new.md", "/memories/project/new.md/"):
        with pytest.raises(StoreError, match="may read project memory but not change it"):
            served("create", path=path, file_text="x\n")
    with pytest.raises(StoreError):
        served("rename", old_path=TESTING, new_path="/memories/project/testing.md")
    assert served.file(TESTING).is_file()
    served.permitted[CLIENT] = frozenset({Scope.PROJECT})
    assert served("create", **project) == "Created /memories/project/new.md."


def test_each_change_is_the_programs_own_in_the_history_and_can_be_undone(served: Served) -> None:
    before = served.file(TESTING).read_bytes()
    served("str_replace", path=TESTING, old_str="Testing habits", new_str="Tests")
    served("insert", path=TESTING, insert_line=0, insert_text="<!-- first -->")
    served("create", path="/memories/global/new.md", file_text="new\n")
    served("rename", old_path="/memories/global/new.md", new_path="/memories/global/newer.md")
    served("delete", path="/memories/global/snippets")
    log = served.opened.change_log
    changes = [each for each in log.page().changes if each.actor == CLIENT]
    assert [{file.verb for file in each.files} for each in changes] == [
        *({"delete"}, {"create", "delete"}, {"create"}, {"edit"}, {"edit"})
    ]
    assert {each.who for each in changes} == {"other"}
    assert not served.file("/memories/global/snippets/jq.md").exists()
    for change in changes:
        log.take_back(change)
    assert served.file(TESTING).read_bytes() == before
    assert served.file("/memories/global/snippets/jq.md").is_file()
    assert not served.file("/memories/global/new.md").exists()
    assert not served.file("/memories/global/newer.md").exists()


def test_a_change_is_found_by_the_beginning_of_its_id(served: Served) -> None:
    served("create", path="/memories/global/new.md", file_text="new\n")
    log = served.opened.change_log
    newest = log.page().changes[0]
    assert log.find(newest.id[:8]) == log.find(newest.id) == newest
    for other in ("", "0" * 12):
        with pytest.raises(StoreError, match="No change ID begins with"):
            log.find(other)


def test_nothing_but_the_memory_changes_not_even_a_use_count(served: Served) -> None:
    before = contents(served.home)
    served("view", path=TESTING)
    served("view")
    served("search", query="testing")
    served("context")
    served.tools.instructions(CLIENT)
    assert contents(served.home) == before
    served("str_replace", path=TESTING, old_str="Testing habits", new_str="Tests")
    after = contents(served.home)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {"memory/global/testing.md", "memory-meta.json"}
    lines = set(after["memory-meta.json"].splitlines()) ^ set(before["memory-meta.json"].splitlines())
    assert all(b"lastWriteAt" in line for line in lines), "the time of a write is no use"


def test_a_program_cannot_take_the_name_of_a_person_an_agent_or_a_run() -> None:
    assert actor_of_program("claude-code") == "claude-code"
    assert actor_of_program("user") == "user (program)"
    assert actor_of_program(" Agent") == "Agent (program)"
    assert actor_of_program("dream") == "dream (program)"
    assert actor_of_program("") == actor_of_program("\n\0") == "unnamed program"
    assert actor_of_program("x\nActor: user\n") == "x Actor: user"
    assert len(actor_of_program("n" * 1_000)) == 40


def test_secrets_are_placeholders_for_a_program_and_stay_in_the_file(served: Served) -> None:
    served.file(TESTING).write_text(f"The token is {SECRET} for now.\n")
    shown = served("view", path=TESTING)
    assert SECRET not in shown
    line = shown.partition("\t")[2].partition("\n")[0]
    served("str_replace", path=TESTING, old_str=line, new_str=f"{line} Until May.")
    assert served.file(TESTING).read_text() == f"The token is {SECRET} for now. Until May.\n"
    assert SECRET not in served("search", query="token")
    with pytest.raises(StoreError, match=r"The placeholder in .* is unknown"):
        served("create", path="/memories/global/new.md", file_text="{{REVERIE_SECRET_99}}")


def test_the_search_finds_memories_of_the_context_only(served: Served) -> None:
    assert served("search", query="testing").count("/memories/global/testing") == 2
    other = served.opened.context(None, "/home/dev/projects/pixel-garden")
    served.opened.save(other, "/memories/project/unique.md", "Kumquat marmalade.\n", None)
    served.opened.save(served.context, "/memories/project/mine.md", "Kumquat jam.\n", None)
    until(lambda: served("search", query="kumquat") == "/memories/project/mine.md:1: Kumquat jam.")
    assert served("search", query="/kumq.at/") == "/memories/project/mine.md:1: Kumquat jam."
    assert served("search", query="project:pixel kumquat") == "Nothing was found."
    for wrong in ("", None, 3):
        with pytest.raises(StoreError, match="query must be text"):
            served("search", query=wrong)


def test_the_instructions_have_a_bounded_index_and_the_rights_of_the_program(served: Served) -> None:
    told = served.tools.instructions(CLIENT)
    assert "You may change global memory." in told
    assert "You may only read them." in served.tools.instructions("another")
    assert "\n- /memories/global/preferences.md: How I like answers and changes to look\n" in told
    for number in range(300):
        served.file(f"/memories/global/{number}.md").write_text(f"---\ndescription: {'d' * 150}\n---\n")
    told = served.tools.instructions(CLIENT)
    assert len(told) < 5_000
    assert "more: view /memories or search." in told.splitlines()[-1]


def test_without_an_engine_the_instructions_say_so(served: Served) -> None:
    served.client.stop()
    assert "They cannot be listed now. Reverie's engine is not running." in served.tools.instructions(CLIENT)


def test_the_context_is_the_text_that_the_agent_loads(served: Served) -> None:
    assert '<memory_file path="/memories/global/preferences.md">' in served("context")


def test_a_result_is_bounded(served: Served) -> None:
    served.file(TESTING).write_text("word " * 20_000)
    assert len(served("view", path=TESTING)) < MOST_CHARS + 100


def test_an_unknown_tool_and_a_missing_argument_are_named(served: Served) -> None:
    with pytest.raises(StoreError, match="There is no tool 'save'"):
        served("save", path=TESTING)
    with pytest.raises(StoreError, match="The command needs file_text"):
        served("create", path="/memories/global/new.md")


def test_hostile_calls_are_refused_with_a_sentence_and_reach_nothing_else(tmp_path: Path) -> None:
    served = Served(tmp_path, *Scope)
    before = contents(served.home)
    chance, answered = random.Random(20_261_126), 0
    for _ in range(10_000 if TEST_PROFILE == "campaign" else 100):
        tool, arguments = hostile_call(chance)
        try:
            assert served(tool, **arguments) is not None
            answered += 1
        except UserError:
            continue  # a sentence
    assert answered
    after = contents(served.home)
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    assert all("memory" in name and "/." not in name for name in changed), changed
    assert leftovers(served.home) == []
    served.close()
