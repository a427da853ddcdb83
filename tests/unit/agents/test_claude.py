"""Claude Code homes: projects by their working directory, one memory for all worktrees, notes of sessions,
nothing read before it is asked for (formats/claude-code.md, checklist of section 10)."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from helpers.claude_home import NOW_S, ClaudeHomeMaker, look_at_many, newer_topic, session_id, topic, write
from helpers.opened_files import opened_files
from reverie.agents.base import Home, TitlesRead
from reverie.agents.claude.home import ClaudeHome
from reverie.agents.claude.locations import detect, directory_of, existing_directory, existing_home_roots
from reverie.agents.claude.settings import Checkouts
from reverie.agents.discovery import open_home
from reverie.agents.scopes import Scope, ScopeContext, ScopeUnavailable
from reverie.agents.transcripts import ReadStatistics
from reverie.errors import Unavailable
from reverie.memory.listing import ScopeListing, names_only, scan_scope

GONE = "/projects/demo"


@pytest.fixture
def maker(tmp_path: Path) -> ClaudeHomeMaker:
    return ClaudeHomeMaker(tmp_path)


def root_of(home: ClaudeHome, path: str | Path, scope: Scope = Scope.PROJECT) -> Path:
    return home.scope_root(home.context(project_path=str(path)), scope).directory


def names(home: ClaudeHome, path: str | Path) -> list[str]:
    return [
        file.rel
        for file in names_only(home.scope_root(home.context(project_path=str(path)), Scope.PROJECT)).files
    ]


def fingerprint(root: Path) -> dict[str, tuple[int, int, str]]:
    found = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(root))] = (status.st_mode, status.st_mtime_ns, content)
    return found


# Names


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/Users/foo/my-project", "-Users-foo-my-project"),
        ("/home/u/a.b_c", "-home-u-a-b-c"),
        ("C:\\Users\\dev\\x", "C--Users-dev-x"),
        ("/home/ü/😀", "-home-----"),
        ("/home/u/" + "a" * 250, ("-home-u-" + "a" * 250)[:200] + "-bkw3mj"),
        ("/" + "a" * 199, "-" + "a" * 199),
    ],
)
def test_a_directory_is_named_as_the_agent_names_it(path: str, name: str) -> None:
    assert directory_of(path) == name


def test_a_long_name_is_found_by_its_first_200_characters_whatever_its_hash() -> None:
    long = "/home/u/" + "a" * 250
    begun = directory_of(long)[:200]
    assert existing_directory([f"{begun}-other1"], long) == f"{begun}-other1"
    assert existing_directory([f"{begun}-other1", directory_of(long)], long) == directory_of(long)
    assert existing_directory([f"{begun}-one", f"{begun}-two"], long) == directory_of(long), "never guessed"
    assert existing_directory([begun, "-home-u"], long) == directory_of(long)


@pytest.mark.parametrize(
    ("name", "is_home"),
    [
        (f"projects/-home-u-x/{session_id(1)}.jsonl", True),
        ("projects/-home-u-x/memory/MEMORY.md", True),
        ("projects/C--x/memory/MEMORY.md", True),
        (".credentials.json", True),
        ("shell-snapshots/x.sh", True),
        ("session-memory/config/template.md", True),
        ("projects/notes/memory/x.md", False),
        ("settings.json", False),
        ("agents/reviewer.md", False),
        ("CLAUDE.md", False),
    ],
)
def test_a_home_is_told_by_what_is_in_it_and_a_projects_own_directory_is_none(
    tmp_path: Path, name: str, is_home: bool
) -> None:
    root = tmp_path / "x"
    write(root / name, "{}")
    assert detect(root) == is_home
    if is_home:
        assert open_home(root).kind == "claude"


def test_settings_with_a_history_are_a_home_without_projects_yet(maker: ClaudeHomeMaker) -> None:
    maker.file("settings.json", "{}")
    maker.file("history.jsonl", "")
    assert open_home(maker.root).kind == "claude"
    home = maker.home()
    assert home.contents().projects == ()
    assert home.sources() == ()


def test_where_homes_are_looked_for(tmp_path: Path) -> None:
    own = tmp_path / "own"
    assert existing_home_roots({"CLAUDE_CONFIG_DIR": str(own)}, tmp_path) == ()
    for each in (own, tmp_path / ".claude", tmp_path / ".config" / "claude"):
        each.mkdir(parents=True)
    usual = (tmp_path / ".claude", tmp_path / ".config" / "claude")
    assert existing_home_roots({"CLAUDE_CONFIG_DIR": str(own)}, tmp_path) == (own, *usual)
    assert existing_home_roots({}, tmp_path) == usual


# Projects


def test_projects_are_called_by_what_was_typed_in_them_or_by_their_directory(maker: ClaudeHomeMaker) -> None:
    maker.typed("/work/api", "/work/other")
    maker.session("/work/api", 1)
    maker.memory("/work/only-memory", {"MEMORY.md": ""})
    maker.file("projects/-work-empty/x.txt")
    maker.file("projects/no name/memory/MEMORY.md")
    maker.file("projects/.hidden/memory/MEMORY.md")
    contents = maker.home().contents()
    unknown, odd = str(maker.directory("/work/only-memory")), str(maker.projects / "no name")
    assert {each.path: each.name for each in contents.projects} == {
        "/work/api": "api",
        unknown: "unknown directory -work-only-memory",
        odd: "unknown directory no name",
    }
    assert contents.problems == ()
    (workspace,) = contents.workspaces()
    assert (workspace.id, workspace.bucket, workspace.path) == (session_id(1), "/work/api", "/work/api")


def test_a_directory_is_learned_from_its_newest_transcript_and_kept(maker: ClaudeHomeMaker) -> None:
    maker.session("/work/api", 1)
    maker.session("/elsewhere", 2, at="/work/liar")
    home = maker.home()
    own, liar = str(maker.directory("/work/api")), str(maker.directory("/work/liar"))
    assert {each.path for each in home.contents().projects} == {"/work/api", liar}
    assert home.resolve_project(liar) == liar, "a directory that does not fit the name is not believed"
    later = maker.home()
    with opened_files() as files:
        assert {each.path for each in later.contents().projects} == {"/work/api", liar}
    assert not [name for name in files if session_id(1) in name], "it is kept"
    assert later.context(project_path=own).project_path == "/work/api"
    assert [each.id for each in later.sources("/work/api")] == [session_id(1)]
    assert root_of(later, own) == root_of(later, "/work/api") == maker.directory("/work/api") / "memory"


def test_a_working_directory_behind_a_long_prompt_is_found(maker: ClaudeHomeMaker) -> None:
    long, longer = maker.session("/work/long", 1), maker.session("/work/longer", 2)
    for path, size in ((long, 20_000), (longer, 300_000)):
        path.write_text(
            json.dumps({"type": "queue-operation", "content": "x" * size}) + "\n" + path.read_text()
        )
    assert {each.path for each in maker.home().contents().projects} == {
        "/work/long",
        str(maker.directory("/work/longer")),
    }


def test_a_running_session_names_its_directory_and_its_key_is_never_opened(maker: ClaudeHomeMaker) -> None:
    maker.memory("/work/api", {"MEMORY.md": ""})
    maker.memory("/work/other", {"MEMORY.md": ""})
    running = {"pid": 41, "sessionId": session_id(1), "cwd": "/work/api", "status": "busy"}
    maker.file("sessions/41.json", json.dumps(running))
    maker.file("sessions/42.json", json.dumps(running | {"cwd": 7}))
    maker.file("sessions/43.json", "{")
    maker.file("sessions/x44.json", json.dumps(running | {"cwd": "/work/other"}))
    os.mkfifo(maker.root / "sessions" / "41.0a1b.key")  # opening it would wait for ever
    os.mkfifo(maker.root / ".claude.json")
    home = maker.home()
    assert {each.path for each in home.contents().projects} == {
        "/work/api",
        str(maker.directory("/work/other")),
    }
    (maker.root / "sessions" / "41.json").unlink()
    assert str(maker.directory("/work/api")) in {each.path for each in home.contents().projects}


def test_directories_whose_names_collide_are_all_shown_and_share_one_memory(maker: ClaudeHomeMaker) -> None:
    maker.typed("/a/b", "/a-b", "/a.b")
    maker.session("/a/b", 1)
    maker.memory("/a/b", {"MEMORY.md": ""})
    home = maker.home()
    contents = home.contents()
    assert [each.path for each in contents.projects] == ["/a-b", "/a.b", "/a/b"]
    assert "share one memory" in contents.problems[0]
    assert len({root_of(home, each.path) for each in contents.projects}) == 1
    assert len(contents.workspaces()) == 1


def test_of_two_directories_of_one_name_each_has_its_own_sessions(maker: ClaudeHomeMaker) -> None:
    maker.session("/a/b", 1)
    maker.session("/a-b", 2)
    maker.session("/a-b", 3)
    expected = {"/a-b": [session_id(3), session_id(2)], "/a/b": [session_id(1)]}
    for home in (maker.home(), maker.home()):
        contents = home.contents()
        assert {each.path: [one.id for one in each.workspaces] for each in contents.projects} == expected
        assert "share one memory" in contents.problems[0]
        for path, ids in expected.items():
            assert [source.id for source in home.sources(path)] == ids
            assert {home.context(workspace_id=one).project_path for one in ids} == {path}


def test_sessions_of_a_shared_name_are_told_apart_where_prompts_were_typed_in_both(
    maker: ClaudeHomeMaker,
) -> None:
    maker.typed("/a/b", "/a-b")
    for number in range(12):
        maker.session(("/a/b", "/a-b")[number % 2], number)
    found = {each.path: len(each.workspaces) for each in maker.home().contents().projects}
    assert found == {"/a-b": 6, "/a/b": 6}


def test_what_settings_moved_is_found_without_naming_a_session(maker: ClaudeHomeMaker) -> None:
    project = maker.user / "moved"
    write(project / ".claude" / "settings.local.json", json.dumps({"autoMemoryDirectory": "~/moved/notes"}))
    write(project / "notes" / "elsewhere.md", topic("elsewhere"))
    maker.session(project, 1)
    assert project / "notes" in {root.directory for root in maker.home().roots()}


def test_all_worktrees_are_one_project_with_the_memory_of_the_repository(maker: ClaudeHomeMaker) -> None:
    repository = maker.repository("shop")
    tree = maker.worktree(repository, "shop-fix")
    (repository / "sub").mkdir()
    maker.typed(repository, tree, repository / "sub")
    for number, cwd in enumerate((repository, tree, repository / "sub"), 1):
        maker.session(cwd, number)
    memory = maker.memory(repository, {"MEMORY.md": "", "a.md": topic("a")})
    home = maker.home()
    (project,) = home.contents().projects
    assert project.path == str(repository)
    assert {each.id for each in project.workspaces} == {session_id(number) for number in (1, 2, 3)}
    for cwd in (repository, tree, repository / "sub"):
        assert root_of(home, cwd) == memory
    context = home.context(workspace_id=session_id(2))
    assert context.project_path == str(repository)
    assert home.scope_root(context, Scope.PROJECT).key == f"project/{memory.parent.name}"
    assert len(home.sources(str(repository))) == len(home.sources(str(tree))) == 3
    maker.memory(tree, {"old.md": "from before"})
    assert [each.path for each in home.contents().projects] == [str(repository)]
    (lost,) = (each for each in home.lost_stores() if each.kind == "older-name")
    assert (lost.owner, lost.directory) == (str(repository), maker.directory(tree) / "memory")
    assert names(home, maker.directory(tree)) == ["old.md"], "a memory that is not loaded any more is there"


@pytest.mark.parametrize("lie", ["no-back", "elsewhere", "submodule"])
def test_a_git_file_that_the_repository_does_not_confirm_leads_nowhere(
    maker: ClaudeHomeMaker, lie: str
) -> None:
    repository = maker.repository("victim")
    tree = maker.worktree(repository, "tree")
    own = repository / ".git" / "worktrees" / "tree"
    if lie == "no-back":
        (own / "gitdir").unlink()
    elif lie == "elsewhere":
        (own / "gitdir").write_text(f"{maker.user}/other/.git\n")
    else:
        module = repository / ".git" / "modules" / "m"
        write(module / "HEAD", "x")
        (tree / ".git").write_text(f"gitdir: {module}\n")
    assert root_of(maker.home(), tree) == maker.directory(tree) / "memory"


def test_outside_of_git_and_where_a_directory_is_gone_its_path_counts(maker: ClaudeHomeMaker) -> None:
    plain = maker.user / "plain"
    plain.mkdir()
    home = maker.home()
    assert root_of(home, plain) == maker.directory(plain) / "memory"
    assert root_of(home, GONE) == maker.directory(GONE) / "memory"
    assert root_of(home, f"{GONE}/") == maker.directory(GONE) / "memory"
    assert root_of(home, "C:\\Users\\dev\\x") == maker.projects / "C--Users-dev-x" / "memory"


# Settings


def test_settings_move_the_memory_and_those_of_a_project_only_where_the_home_has_worked(
    maker: ClaudeHomeMaker,
) -> None:
    project = maker.user / "p"
    project.mkdir()
    maker.typed(project)
    maker.session(project, 1)
    home = maker.home()
    maker.file("settings.json", json.dumps({"autoMemoryDirectory": "~/mine/all"}))
    assert root_of(home, project) == maker.user / "mine" / "all"
    for place in (project, maker.user / "stranger"):
        write(place / ".claude" / "settings.json", json.dumps({"autoMemoryDirectory": "~/x/../p/theirs"}))
    assert root_of(home, project) == project / "theirs", "`..` is folded"
    assert root_of(home, maker.user / "stranger") == maker.user / "mine" / "all"
    write(project / "theirs" / "MEMORY.md", "")
    context = home.context(project_path=str(project))
    assert any("own settings place this memory" in line.text for line in home.agent_status(context))
    maker.file("settings.local.json", json.dumps({"autoMemoryDirectory": "/tmp/nobody/reads"}))
    write(project / ".claude" / "settings.local.json", json.dumps({"autoMemoryDirectory": "~/p/mine"}))
    write(project / "mine" / "MEMORY.md", "")
    root = home.scope_root(home.context(project_path=str(project)), Scope.PROJECT)
    assert root.directory == project / "mine"
    assert home.scope_root(ScopeContext(None, str(project), None, store=root.key), Scope.PROJECT) == root
    assert root in home.roots()
    write(maker.managed / "managed-settings.json", json.dumps({"autoMemoryDirectory": "/srv/team/memory"}))
    assert root_of(home, project) == Path("/srv/team/memory")
    env = {"CLAUDE_COWORK_MEMORY_PATH_OVERRIDE": "/srv/env/memory"}
    assert root_of(maker.home(env), project) == Path("/srv/env/memory")
    for bad in ("", "relative/x", "/", "~", "~/", " /a/b", 3):
        maker.file("settings.json", json.dumps({"autoMemoryDirectory": bad}))
        assert root_of(home, "/else/where") == Path("/srv/team/memory"), "managed settings go first"


def test_a_setting_that_would_make_transcripts_memories_is_refused_and_the_usual_place_counts(
    maker: ClaudeHomeMaker,
) -> None:
    project = maker.user / "p"
    project.mkdir()
    maker.typed(project)
    maker.session(project, 1)
    memory = maker.memory(project, {"MEMORY.md": ""})
    link = maker.user / "link" / "to"
    link.parent.mkdir()
    link.symlink_to(maker.root)
    home, inside = maker.home(), maker.directory(project)
    for bad in (maker.root, maker.user, maker.projects, inside, inside / session_id(1), link):
        maker.file("settings.json", json.dumps({"autoMemoryDirectory": str(bad)}))
        assert root_of(home, project) == memory
        (problem,) = home.contents().problems
        assert f"settings.json names {bad} for the memories" in problem
        assert {root.directory for root in home.roots()} == {memory}
    maker.file("settings.json", "{}")
    write(project / ".claude" / "settings.local.json", json.dumps({"autoMemoryDirectory": str(maker.root)}))
    assert "settings.local.json names" in home.contents().problems[0]
    (project / ".claude" / "settings.local.json").unlink()
    env = {"CLAUDE_COWORK_MEMORY_PATH_OVERRIDE": str(maker.root)}
    assert root_of(maker.home(env), project) == memory
    assert "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE names" in maker.home(env).contents().problems[0]
    for good in (inside / "memory", maker.root / "notes" / "all", maker.user / "mine"):
        maker.file("settings.json", json.dumps({"autoMemoryDirectory": str(good)}))
        assert root_of(home, project) == good
        assert home.contents().problems == ()


def test_a_project_cannot_make_its_owner_s_other_files_memories_and_what_is_refused_is_named(
    maker: ClaudeHomeMaker,
) -> None:
    project = maker.repository("p")
    maker.typed(project)
    maker.session(project, 1)
    memory = maker.memory(project, {"MEMORY.md": ""})
    write(maker.user / ".config" / "gh" / "hosts.yml", "oauth_token: x\n")
    write(maker.user / ".ssh" / "id_rsa", "PRIVATE KEY\n")
    (project / "notes").symlink_to(Path("..") / ".ssh")
    write(project / "inside" / "MEMORY.md", "")
    home, setting = maker.home(), project / ".claude" / "settings.json"
    context = home.context(project_path=str(project))
    for bad in (maker.user / ".config" / "gh", maker.user / ".kube", project / "notes", maker.user / "notes"):
        write(setting, json.dumps({"autoMemoryDirectory": str(bad)}))
        assert root_of(home, project) == memory
        assert {root.directory for root in home.roots()} == {memory}
        (problem,) = home.contents().problems
        assert f"{setting} names {bad} for the memories, and Claude Code uses this directory" in problem
        assert any(
            f"names {bad}" in line.text and line.state == "warn" for line in home.agent_status(context)
        )
        assert not home.moved_by_project(context)
    write(setting, json.dumps({"autoMemoryDirectory": str(project / "inside")}))
    assert root_of(home, project) == project / "inside"
    assert home.contents().problems == ()
    assert home.moved_by_project(context)


def test_a_remote_base_holds_the_memories_and_not_the_transcripts(maker: ClaudeHomeMaker) -> None:
    maker.memory(GONE, {"MEMORY.md": ""})
    base = maker.user / "remote"
    memory = base / "projects" / directory_of(GONE) / "memory"
    write(memory / "MEMORY.md", "")
    home = maker.home({"CLAUDE_CODE_REMOTE_MEMORY_DIR": str(base)})
    assert root_of(home, GONE) == memory
    assert [root.directory for root in home.roots()] == [memory]


@pytest.mark.parametrize(
    ("settings", "env", "why"),
    [
        ({"autoMemoryEnabled": False}, {}, "settings.json"),
        ({"autoMemoryEnabled": True}, {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}, "DISABLE_AUTO_MEMORY"),
        ({}, {"CLAUDE_CODE_SIMPLE": "true"}, "SIMPLE"),
        ({}, {"CLAUDE_CODE_REMOTE": "1"}, "remotely"),
        ({"autoMemoryEnabled": True}, {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0"}, ""),
        ({}, {}, ""),
    ],
)
def test_a_memory_that_is_switched_off_stays_and_says_why(
    maker: ClaudeHomeMaker, settings: dict[str, object], env: dict[str, str], why: str
) -> None:
    maker.memory(GONE, {"MEMORY.md": ""})
    maker.file("settings.json", json.dumps(settings))
    home = maker.home(env)
    lines = {line.label: line.text for line in home.agent_status(home.context(project_path=GONE))}
    assert why in lines.get("Claude Code memory", "")
    assert ("Claude Code memory" in lines) == bool(why)
    assert names(home, GONE) == ["MEMORY.md"]


def test_broken_settings_are_told_and_hide_nothing(maker: ClaudeHomeMaker) -> None:
    maker.memory(GONE, {"MEMORY.md": ""})
    maker.file("settings.json", "{nope")
    contents = maker.home().contents()
    assert len(contents.projects) == 1
    assert "settings.json" in contents.problems[0]


# Memories


def test_a_memory_of_every_shape_is_listed(maker: ClaudeHomeMaker, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "MEMORY.md": "\ufeff- [A](a.md)\r\n",
        "a.md": topic("a", "older shape"),
        "b.md": newer_topic("b", "newer shape"),
        "none.md": "no front matter\n",
        "broken.md": "---\nname: [\n---\n",
        "odd.md": topic("odd", kind="whatever"),
        "sub/deep/c.md": topic("c"),
        "team/MEMORY.md": "",
        "team/t.md": topic("t"),
        "logs/2026/08/2026-08-06.md": "log\n",
        **{f"many/{number:03}.md": "" for number in range(210)},
    }
    memory = maker.memory(GONE, files)
    maker.lock(GONE, "1", 5)
    (memory / "link.md").symlink_to(tmp_path / "secret.md")
    home = maker.home()
    root = home.scope_root(home.context(project_path=GONE), Scope.PROJECT)
    listing = scan_scope(root, home.caps, {}, lambda rel: None)
    found = {file.rel: file.description for file in listing.files}
    assert set(found) == set(files)
    assert (found["a.md"], found["b.md"]) == ("older shape", "newer shape")
    kinds = {rel: home.file_rule(root, rel).kind for rel in found if not rel.startswith("many/")}
    assert {rel for rel, kind in kinds.items() if kind != "editable"} == {"team/MEMORY.md", "team/t.md"}
    assert home.file_rule(root, "team").sentence
    roles = {rel: home.file_role(root, rel) for rel in ("MEMORY.md", "sub/deep/c.md", "team/MEMORY.md")}
    assert roles == {"MEMORY.md": "index", "sub/deep/c.md": "memory", "team/MEMORY.md": "index"}


def test_memories_of_sub_agents_are_global(maker: ClaudeHomeMaker) -> None:
    maker.file("agent-memory/reviewer/MEMORY.md", "")
    home = maker.home()
    root = home.scope_root(home.context(), Scope.GLOBAL)
    assert [file.rel for file in names_only(root).files] == ["reviewer/MEMORY.md"]
    assert [each.key for each in home.roots()] == ["global"]


def test_notes_are_the_memory_of_their_session(maker: ClaudeHomeMaker) -> None:
    maker.typed(GONE)
    maker.session(GONE, 1)
    maker.notes(GONE, 1, "# Session Title\n")
    maker.session(GONE, 2)
    maker.notes("/only/notes", 3, "")
    home = maker.home()
    context = home.context(workspace_id=session_id(1))
    root = home.scope_root(context, Scope.WORKSPACE)
    assert context.project_path == GONE
    assert [file.rel for file in names_only(root).files] == ["summary.md"]
    assert home.file_role(root, "summary.md") == "notes"
    none = home.scope_root(home.context(workspace_id=session_id(2)), Scope.WORKSPACE)
    assert names_only(none).files == ()
    assert "do not read them" in none.empty
    assert {each.id for each in home.contents().workspaces()} == {session_id(n) for n in (1, 2, 3)}
    assert {root.key for root in home.roots()} == {f"workspace/{session_id(n)}" for n in (1, 3)}
    place = home.notes_place(session_id(2))
    assert place is not None
    assert place.file == maker.directory(GONE) / session_id(2) / "session-memory" / "summary.md"
    assert place.transcript == maker.directory(GONE) / f"{session_id(2)}.jsonl"
    assert home.notes_place(session_id(99)) is None
    with pytest.raises(Unavailable):
        home.notes_place("../../x")


def test_of_a_session_in_two_directories_the_one_with_notes_counts(maker: ClaudeHomeMaker) -> None:
    maker.session("/a", 1)
    maker.session("/b", 1)
    maker.notes("/b", 1, "x")
    for home in (maker.home(), maker.home()):
        home.contents()
        place = home.notes_place(session_id(1))
        assert place is not None
        assert place.file.is_file()
        assert len([root for root in home.roots() if root.scope is Scope.WORKSPACE]) == 1
        assert len(home.sources()) == 1


def test_a_scope_needs_a_choice_and_ids_cannot_lead_away(maker: ClaudeHomeMaker) -> None:
    home = maker.home()
    for scope in (Scope.WORKSPACE, Scope.PROJECT):
        with pytest.raises(ScopeUnavailable):
            home.scope_root(home.context(), scope)
    with pytest.raises(ScopeUnavailable):
        home.scope_root(home.context(workspace_id=session_id(9)), Scope.WORKSPACE)
    for bad in ("..", "x", f"{session_id(1)}/.."):
        with pytest.raises(Unavailable):
            home.context(workspace_id=bad)
    for bad in ("project/../../etc", "project/@0000000000000000"):
        with pytest.raises(Unavailable):
            home.scope_root(ScopeContext(None, "x", None, store=bad), Scope.PROJECT)
    for bad in ("..", ".hidden", "a\\b", "@0000000000000000"):
        with pytest.raises(Unavailable):
            home.scope_root(home.context(project_path=f"{maker.projects}/{bad}"), Scope.PROJECT)


# Status


@pytest.mark.parametrize(
    ("body", "age", "state", "text"),
    [
        (None, 0, "ok", "Never."),
        ("{own}", 60, "running", "Consolidation is running now."),
        ("{own}", 3601, "warn", "although the program is still open."),
        ("999999999", 60, "ok", "a program that has closed. Its end is not recorded."),
        ("", 60, "ok", "Done."),
        ("nonsense", 60, "ok", "Done."),
        ("", -7200, "warn", "in the future"),
    ],
)
def test_the_lock_tells_of_the_last_consolidation(
    maker: ClaudeHomeMaker, body: str | None, age: float, state: str, text: str
) -> None:
    maker.memory(GONE, {"MEMORY.md": ""})
    own = str(os.getpid())
    if body is not None:
        maker.lock(GONE, body.format(own=own), age)
    home = maker.home()
    (line,) = home.agent_status(home.context(project_path=GONE))
    assert (line.scope, line.state) == (Scope.PROJECT, state)
    assert text.format(own=own) in line.text
    assert line.at == (None if body is None else int((NOW_S - age) * 1000))
    assert home.agent_status(home.context()) == ()
    assert home.agent_status(home.context(project_path="/no/memory")) == ()


def test_memories_beyond_the_200_that_the_agent_looks_through_are_told(maker: ClaudeHomeMaker) -> None:
    maker.memory(GONE, {"MEMORY.md": "", **{f"sub/{n}.md": "x" for n in range(200)}, "picture.png": b""})
    home = maker.home()
    context = home.context(project_path=GONE)
    assert len(home.agent_status(context)) == 1
    maker.memory(GONE, {"one-more.md": "x"})
    told = home.agent_status(context)[-1]
    assert (told.scope, told.state) == (Scope.PROJECT, "warn")
    assert told.text.startswith("201 memories. The agent scans the 200 changed most recently")


def test_each_memory_that_is_not_among_the_200_changed_last_is_marked_with_the_reason(
    maker: ClaudeHomeMaker,
) -> None:
    files = {f"t{n:03}.md": "x" for n in range(202)}
    memory = maker.memory(GONE, {"MEMORY.md": "", "picture.png": b"", **files})
    for n, rel in enumerate(("MEMORY.md", "picture.png", *files)):
        os.utime(memory / rel, (NOW_S + n, NOW_S + n))
    home = maker.home()
    root = home.scope_root(home.context(project_path=GONE), Scope.PROJECT)

    def unseen(listing: ScopeListing) -> dict[str, str]:
        assert all(file.seen_by_agent == (not file.unseen_reason) for file in listing.files)
        return {file.rel: file.unseen_reason for file in listing.files if not file.seen_by_agent}

    before = scan_scope(root, home.caps, {}, lambda rel: None)
    found = unseen(before)
    assert list(found) == ["t000.md", "t001.md"]
    assert found["t000.md"].startswith("the file is not among the 200 files changed last")
    # Touched, the first is looked through again, and the next in turn is not.
    os.utime(memory / "t000.md", (NOW_S + 999, NOW_S + 999))
    dirty = [memory / "t000.md"]
    after = scan_scope(root, home.caps, {}, lambda rel: None, previous=before, dirty=dirty)
    assert list(unseen(after)) == ["t001.md", "t002.md"]
    assert unseen(scan_scope(root, home.caps, {}, lambda rel: None)) == unseen(after)


def test_daily_logs_indexes_and_hidden_notes_are_none_of_the_200(maker: ClaudeHomeMaker) -> None:
    topics = {f"t{n:03}.md": "x" for n in range(200)}
    newer = {f"logs/2026/01/2026-01-{n:02}.md": "x" for n in range(1, 32)}
    newer |= {".hidden.md": "x", "sub/.h/x.md": "x", "MEMORY.md": "", "team/MEMORY.md": ""}
    memory = maker.memory(GONE, {**topics, **newer})
    for n, rel in enumerate((*topics, *newer)):
        os.utime(memory / rel, (NOW_S + n, NOW_S + n))
    home = maker.home()
    context = home.context(project_path=GONE)
    assert len(home.agent_status(context)) == 1
    listing = scan_scope(home.scope_root(context, Scope.PROJECT), home.caps, {}, lambda rel: None)
    assert [file.rel for file in listing.files if not file.seen_by_agent] == []
    maker.memory(GONE, {"team/shared.md": "x"})
    assert home.agent_status(context)[-1].text.startswith("201 memories.")


# Transcripts


def test_sessions_are_told_by_the_disk_and_side_files_are_none(maker: ClaudeHomeMaker) -> None:
    maker.typed(GONE)
    maker.session(GONE, 1, prompt="  First\nline ")
    maker.session(GONE, 2)
    maker.notes(GONE, 2, "x")
    maker.file(f"projects/{directory_of(GONE)}/agent-1234.jsonl", "{}\n")
    maker.file(f"projects/{directory_of(GONE)}/sessions-index.json", "{}")
    home = maker.home()
    newest, older, side = home.sources()
    assert (side.kind, side.under) == ("sub-agent", "")
    assert (newest.id, newest.state, newest.project_path) == (session_id(2), "session notes", GONE)
    assert (older.id, older.state, older.updated_at) == (session_id(1), "", (NOW_S - 999) * 1000)
    assert home.described_source(older).title == "First"
    assert [message.text for message in home.open_source(older).messages(ReadStatistics())][
        -1
    ].strip() == "First\nline"
    assert home.recencies()[0] == (session_id(2), (NOW_S - 998) * 1000)
    assert [place.workspace_id for place in home.sessions_in_use()] == [session_id(2), session_id(1)]
    place = home.session_place(session_id(1))
    assert place is not None
    assert (place.directory, place.files) == (maker.directory(GONE), (f"{session_id(1)}.jsonl",))
    found = home.workspace(session_id(1))
    assert found is not None
    assert found.project_paths == (GONE,)
    assert home.workspace(session_id(7)) is None
    later = maker.home()
    titles = {each.id: each.title for each in later.contents().workspaces()}
    assert titles == {session_id(1): "First", session_id(2): ""}, "a title that was read is remembered"
    assert [each.title for each in later.sources()] == ["", "First", side.title]
    os.utime(older.path, (NOW_S, NOW_S))
    assert [each.title for each in later.sources()] == ["", "", side.title], "it may be another one by now"
    older.path.unlink()
    assert home.described_source(older).title == ""
    assert home.session_place(session_id(1)) is None


def test_sub_agents_stand_after_their_session_and_are_read_only_when_opened(maker: ClaudeHomeMaker) -> None:
    maker.typed(GONE)
    for number in (1, 2):
        maker.session(GONE, number)
    inside = maker.directory(GONE) / session_id(2) / "subagents"
    row = {"type": "user", "uuid": "u", "isSidechain": True, "agentId": "a7", "message": {"content": "Look"}}
    agent = write(inside / "agent-a7.jsonl", json.dumps(row) + "\n")
    write(inside / "agent-a7.meta.json", "{}")
    (inside / "agent-link.jsonl").symlink_to(agent)
    home = maker.home()
    with opened_files() as files:
        found = home.sources()
        (side,) = (each for each in found if each.kind == "sub-agent")
        assert home.described_source(side).title == "agent-a7"
    assert [name for name in files if "agent-a7" in name] == []
    assert [each.id for each in found] == [session_id(2), f"{session_id(2)}/agent-a7", session_id(1)]
    assert (side.state, side.under, side.project_path) == ("sub-agent", session_id(2), GONE)
    assert (side.path, side.size) == (agent, agent.stat().st_size)
    assert [message.text for message in home.open_source(side).messages(ReadStatistics())] == ["Look"]
    assert [each.id for each in home.contents().workspaces()] == [session_id(2), session_id(1)]


def test_sub_agents_of_older_versions_are_listed_beside_the_sessions_and_are_none(
    maker: ClaudeHomeMaker,
) -> None:
    maker.typed(GONE)
    maker.session(GONE, 1)
    row = {"type": "user", "uuid": "u", "isSidechain": True, "sessionId": session_id(1)}
    row["message"] = {"content": "Look"}
    agent = write(maker.directory(GONE) / "agent-1a2b3c4d.jsonl", json.dumps(row) + "\n")
    write(maker.directory("/gone/alone") / "agent-ff.jsonl", "")
    home = maker.home()
    with opened_files() as files:
        found = home.sources(GONE)
        assert [each.id for each in found] == [session_id(1), f"{agent.parent.name}/agent-1a2b3c4d"]
        assert home.described_source(found[1]).title == "agent-1a2b3c4d"
    assert [name for name in files if "agent-" in name] == []
    assert (found[1].kind, found[1].under, found[1].size) == ("sub-agent", "", agent.stat().st_size)
    assert [message.text for message in home.open_source(found[1]).messages(ReadStatistics())] == ["Look"]
    assert [each.id for each in home.contents().workspaces()] == [session_id(1)]
    assert {each.path.name for each in home.sources()} == {
        *(f"{session_id(1)}.jsonl", "agent-1a2b3c4d.jsonl", "agent-ff.jsonl"),
    }


def test_a_list_reads_a_bounded_number_of_transcripts_once_and_none_again(maker: ClaudeHomeMaker) -> None:
    seen = look_at_many(maker, projects=20, sessions=10, size=600_000)
    assert seen.workspaces == 200
    assert len(seen.transcripts_opened) == len(set(seen.transcripts_opened)) == 20 * 5
    with opened_files() as files:
        maker.home().contents()
    assert [name for name in files if name.endswith(".jsonl")] == [], "what they said is kept"


def test_more_directories_than_one_list_may_read_are_learned_by_the_next(
    maker: ClaudeHomeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reverie.agents.claude.projects.HEADS_AT_ONCE", 3)
    for number in range(5):
        maker.session(f"/work/p{number}", number)
    home = maker.home()
    known = [sum(each.path.startswith("/work/") for each in home.contents().projects) for _ in range(3)]
    assert known == [3, 5, 5]


def test_a_list_asks_for_a_repository_once_however_many_sessions_it_has(
    maker: ClaudeHomeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    root = Checkouts.root
    monkeypatch.setattr(Checkouts, "root", lambda self, cwd: (asked.append(cwd), root(self, cwd))[1])
    repository = maker.repository("work")
    maker.typed(repository)
    counts = []
    for number in range(30):
        maker.session(repository, number)
        if number in (1, 29):
            home = maker.home()
            home.contents()
            assert home.learn_titles(99).read == (2 if number == 1 else 28)
            asked.clear()
            assert len(home.contents().workspaces()) == number + 1
            counts.append(len(asked))
    assert counts[0] == counts[1] > 0


def test_a_session_that_was_read_again_and_says_the_same_changes_no_list(maker: ClaudeHomeMaker) -> None:
    maker.typed("/work/api")
    transcript = maker.session("/work/api", 1, prompt="Fix the build")
    home = maker.home()
    assert home.learn_titles(9) == TitlesRead(1, True)
    for later, title, changed in ((10, "", False), (20, "Named by hand", True), (30, "", False)):
        os.utime(transcript, (NOW_S + later, NOW_S + later))
        if title:
            by_hand = transcript.parent / session_id(1) / "custom-title.json"
            write(by_hand, json.dumps({"customTitle": title}))
        before = home.contents().workspaces()[0].title
        assert home.learn_titles(9) == TitlesRead(1, changed)
        assert (home.contents().workspaces()[0].title != before) is changed
    assert home.learn_titles(9) == TitlesRead(0, False)


def test_titles_are_read_newest_first_and_kept(maker: ClaudeHomeMaker) -> None:
    for number in range(4):
        maker.session("/work/api", number, prompt=f"Prompt {number}")
    by_hand = maker.directory("/work/api") / session_id(1) / "custom-title.json"
    write(by_hand, json.dumps({"customTitle": "Named by hand"}))
    home = maker.home()
    assert home.learn_titles(2).read == 2
    assert [each.title for each in home.contents().workspaces()] == ["Prompt 3", "Prompt 2", "", ""]
    assert home.learn_titles(9, "/work/other").read == 0
    assert home.learn_titles(9, "/work/api").read == 2
    titles = ["Prompt 3", "Prompt 2", "Named by hand", "Prompt 0"]
    assert [each.title for each in home.contents().workspaces()] == titles
    assert home.learn_titles(9).read == 0
    later = maker.home()
    assert [each.title for each in later.contents().workspaces()] == titles
    with opened_files() as files:
        assert later.learn_titles(9).read == 0
    assert [name for name in files if name.endswith(".jsonl")] == []
    assert later.contents().workspaces()[0].updated_at == (NOW_S - 997) * 1000


def test_the_status_knows_the_session_that_holds_the_lock(maker: ClaudeHomeMaker) -> None:
    shop = maker.repository("shop")
    transcript = maker.session(shop, 1)
    memory = maker.memory(shop, {"MEMORY.md": ""})
    lock = maker.lock(shop, str(os.getppid()), 60)
    os.utime(memory / "MEMORY.md", (NOW_S - 60, NOW_S - 60))
    home = maker.home()
    context = home.context(project_path=str(shop))
    assert home.agent_status(context)[0].text == "Consolidation is running now."
    row = {"pid": os.getppid(), "sessionId": session_id(1), "cwd": str(shop)}
    maker.file(f"sessions/{os.getppid()}.json", json.dumps(row))
    improved = {"type": "system", "subtype": "memory_saved", "verb": "Improved", "uuid": "u"}
    improved["timestamp"] = datetime.fromtimestamp(NOW_S - 30, UTC).isoformat()
    with transcript.open("a") as out:
        out.write(json.dumps(improved) + "\n")
    (line,) = home.agent_status(context)
    assert (line.text, line.state) == (
        "Claude Code consolidated these memories; its session is still open.",
        "ok",
    )
    assert lock.read_text() == str(os.getppid())


def test_what_a_killed_write_left_is_no_memory(maker: ClaudeHomeMaker) -> None:
    shop = maker.repository("shop")
    names_there = ("a.md", "a.md.tmp.815.0a1b2c", "sub/b.md.tmp.7.ff", "tmp.md", "a.tmp.md", "sub/b.md")
    maker.memory(shop, dict.fromkeys(names_there, topic("a")))
    home = maker.home()
    assert sorted(names(home, shop)) == ["a.md", "a.tmp.md", "sub/b.md", "tmp.md"]
    (root,) = home.roots()
    assert sorted(file.rel for file in scan_scope(root, home.caps, {}, lambda rel: None).files) == sorted(
        names(home, shop)
    )


def test_looking_changes_nothing_and_credentials_are_never_opened(maker: ClaudeHomeMaker) -> None:
    project = maker.repository("shop")
    write(project / "CLAUDE.md", "@README.md\n")
    maker.typed(project)
    maker.session(project, 1)
    maker.notes(project, 1, "# Session Title\n")
    maker.memory(project, {"MEMORY.md": "", "a.md": topic("a")})
    os.mkfifo(maker.root / ".credentials.json")  # opening it would wait for ever
    before = fingerprint(maker.user)
    home: Home = maker.home()
    contents = home.contents()
    with opened_files() as files:
        for root in home.roots(contents):
            scan_scope(root, home.caps, {}, lambda rel: None)
        for context in (home.context(project_path=str(project)), home.context(workspace_id=session_id(1))):
            home.companions(context)
            home.agent_status(context)
            home.agent_lock(context)
        for source in home.sources():
            list(home.open_source(source).messages(ReadStatistics()))
            home.described_source(source)
    assert fingerprint(maker.user) == before
    assert not [name for name in files if "credentials" in name]
    assert detect(maker.root)


def test_a_vanished_home_is_unavailable(maker: ClaudeHomeMaker) -> None:
    home = maker.home()
    shutil.rmtree(maker.root)
    for ask in (home.contents, home.roots, home.sources, home.context):
        with pytest.raises(Unavailable):
            ask()
