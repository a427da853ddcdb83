"""loki-mode stores: every case of the sheet's checklist readable, nothing hidden, nothing changed by looking
(formats/loki.md section 15)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.loki_home import FINGERPRINT, LokiMaker, error
from helpers.profiles import examples
from helpers.samples import copy_sample, snapshot
from reverie.agents.base import Home
from reverie.agents.discovery import discover, find_homes, find_projects, open_home
from reverie.agents.loki.home import LokiHome
from reverie.agents.loki.locations import is_store, memory_root, namespaces, safe_name, store_of
from reverie.agents.loki.records import episode_of, moment
from reverie.agents.loki.rendering import rendered
from reverie.agents.scopes import Scope, ScopeUnavailable
from reverie.agents.transcripts import ReadStatistics
from reverie.cli import main
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.errors import Unavailable
from reverie.jobs.consolidate.engine import RulesEngine
from reverie.jobs.consolidate.run import DreamRequest
from reverie.memory.listing import names_only, scan_scope
from reverie.memory.scope_files import FileChange
from reverie.profile import Profile
from reverie.services.edits import UserEdits
from reverie.services.workbench import Workbench

SESSION = "0198a1b2-c3d4-7e5f-8a9b-000000000001"


@pytest.fixture
def maker(tmp_path: Path) -> LokiMaker:
    return LokiMaker(tmp_path / "work" / "night-bus")


def opened(maker: LokiMaker, claude: Path | None = None) -> LokiHome:
    home = LokiHome(maker.store, claude=claude)
    _protocol: Home = home
    return home


def shown(home: LokiHome) -> list[str]:
    return [file.rel for file in names_only(home.scope_root(home.context(), Scope.PROJECT)).files]


def test_a_store_is_told_by_structure_whatever_its_name(maker: LokiMaker, tmp_path: Path) -> None:
    assert store_of(maker.project) is None
    maker.episode(1)
    assert (store_of(maker.project), store_of(maker.store)) == (maker.store, maker.store)
    assert is_store(maker.store.rename(tmp_path / "copy"))
    other = LokiMaker(tmp_path / "other")
    other.file("crash/notes.json", "{}")
    other.json("memory/index.json", {})
    assert not is_store(other.store), "an index alone may be anybody's"
    other.json("memory/timeline.json", {})
    assert is_store(other.store)
    third = LokiMaker(tmp_path / "third")
    third.crash(1)
    assert is_store(third.store)
    assert not any(map(is_store, (tmp_path, tmp_path / "gone", Path("/dev/null"))))


def test_opening_a_project_opens_the_store_in_it(maker: LokiMaker) -> None:
    maker.episode(1)
    for path in (maker.project, maker.store):
        home = open_home(path)
        assert (home.kind, home.root) == ("loki", maker.store)
    assert [(each.path, each.name) for each in home.contents().projects] == [
        (str(maker.project), "night-bus")
    ]


def test_only_the_project_has_memories(maker: LokiMaker) -> None:
    maker.episode(1)
    home = opened(maker)
    context = home.context()
    assert home.scope_root(context, Scope.PROJECT).directory == maker.memory
    for scope in (Scope.GLOBAL, Scope.WORKSPACE):
        with pytest.raises(ScopeUnavailable):
            home.scope_root(context, scope)
    assert home.context(project_path="", project_given=True) == context
    maker.store.rename(maker.store.with_name("gone"))
    with pytest.raises(Unavailable):
        home.contents()


def test_everything_is_shown_but_locks_and_halves_of_writes(maker: LokiMaker) -> None:
    maker.everything()
    names = shown(opened(maker))
    on_disk = [
        path.relative_to(maker.memory).as_posix() for path in maker.memory.rglob("*") if path.is_file()
    ]
    hidden = set(on_disk) - set(names)
    assert set(names) <= set(on_disk)
    assert hidden == {
        "semantic/patterns.json.lock",
        "semantic/.tmp_abc.json",
        ".errors.log",
        ".consolidation.lock",
    }


def test_the_same_is_hidden_wherever_files_are_listed(maker: LokiMaker, tmp_path: Path) -> None:
    maker.everything()
    home = opened(maker)
    root = home.scope_root(home.context(), Scope.PROJECT)
    listed = scan_scope(root, home.caps, {}, lambda rel: rel)
    assert [file.rel for file in listed.files] == shown(home)
    assert root.leaves_out("semantic/patterns.json.lock")
    assert root.leaves_out("a.lock/b")
    assert root.leaves_out("semantic/.tmp_abc.json")
    assert not root.leaves_out("semantic/patterns.json")
    parts = open_parts(maker.store, Profile.under(tmp_path / "profile"), system_clock)
    parts.snapshots.record(actor="user", source="test", subject="all")
    head = parts.snapshots.history.head()
    assert head is not None
    assert set(parts.snapshots.history.files(head, root.key)) == set(shown(home))
    lock = maker.file("memory/semantic/other.json.lock", "")
    assert parts.snapshots.record(actor="user", source="test", subject="lock", dirty=[lock]) is None


def test_looking_changes_nothing(maker: LokiMaker, tmp_path: Path) -> None:
    maker.everything()
    before = snapshot(maker.project)
    parts = open_parts(maker.project, Profile.under(tmp_path / "profile"), system_clock)
    bench = Workbench(parts)
    context = parts.home.context()
    bench.view(context)
    edits = UserEdits(parts)
    for rel in shown(LokiHome(maker.store)):
        edits.read(context, f"/memories/project/{rel}")
    parts.home.agent_status(context)
    parts.home.sources()
    assert snapshot(maker.project) == before


def test_every_record_is_read_in_words_and_none_as_json(maker: LokiMaker, tmp_path: Path) -> None:
    maker.everything()
    parts = open_parts(maker.project, Profile.under(tmp_path / "profile"), system_clock)
    edits, context = UserEdits(parts), parts.home.context()
    for rel in shown(LokiHome(maker.store)):
        text = edits.read(context, f"/memories/project/{rel}")
        if rel.endswith((".json", ".jsonl")):
            assert text.read_only, rel
            assert text.content.endswith("\n"), rel
            broken = rel.endswith(("task-torn.json", "task-latin.json"))
            assert ('{"' not in text.content) or broken, rel
    assert not edits.read(context, "/memories/project/decisions.md").read_only


def said(rel: str, value: object) -> str:
    text = rendered(rel, value if isinstance(value, bytes) else json.dumps(value).encode())
    assert text is not None
    return text


EPISODE = "episodic/2026-08-19/task-x.json"


def test_an_episode_is_told_in_words() -> None:
    text = said(
        EPISODE,
        {
            "id": "ep-1",
            "task_id": "iteration-9",
            "timestamp": "2026-08-19T08:45:00.183999Z",
            "duration_seconds": 95,
            "context": {"phase": "REFLECT", "goal": "Publish the\ntimetable"},
            "action_log": [{"t": 3, "tool": "read", "input": "a.py", "output": "ok"}, 7],
            "outcome": "failure",
            "errors_encountered": [error("Boom", "first\nsecond", "asked Ada"), error("Odd", "x")],
            "files_modified": ["a.py", None],
            "tokens_used": 48211,
            "importance": 0.0,
            "mine": {"kept": [1, True]},
        },
    )
    for line in (
        "# Publish the timetable",
        "- Outcome: failed",
        "- When: 2026-08-19 08:45:00 UTC",
        "- Took: 95 s",
        "- Phase: REFLECT",
        "- Tokens: 48,211",
        "- Importance: 0",
        "- **Boom**",
        "  > first",
        "  > second",
        "  > Resolution: asked Ada",
        "  > No resolution yet.",
        "- 3 s: read a.py → ok",
        "- a.py",
        "- Mine:",
        "    - yes",
    ):
        assert line in text.splitlines(), line


@pytest.mark.parametrize(
    ("record", "line"),
    [
        ({"timestamp": "yesterday"}, "- When: unknown time"),
        ({"timestamp": None, "context": None, "errors_encountered": None}, "# Episode"),
        ({"goal": "top", "phase": "ACT"}, "# top"),
        ({"importance": None}, "- Importance: 0.5"),
        ({"context": {"goal": None, "phase": None}}, "# Episode"),
        ({"access_count": -3}, "- Read: never"),
        ({"access_count": "many"}, "- Read: never"),
        ({"access_count": None}, "- Read: never"),
        ({"access_count": 1}, "- Read: once"),
        ({"access_count": 2}, "- Read: 2 times"),
        ({"access_count": True, "last_accessed": "never"}, "- Read: never"),
        ({"files_read": None, "context": {"files_involved": ["b.py"]}}, "- b.py"),
        ({"outcome": None}, "- Outcome: no outcome"),
        ({}, "- Outcome: succeeded"),
    ],
)
def test_odd_fields_of_an_episode_cost_only_themselves(record: dict[str, object], line: str) -> None:
    assert line in said(EPISODE, record).splitlines()


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b'{"a": ', "it is not valid JSON"),
        (b'{"id": "\xe9p"}', "it is not valid UTF-8"),
        (b"[" * 200_000, "it has too many levels of nesting"),
        (b"true", "it contains no record"),
        (b"null", "it contains no record"),
    ],
)
def test_what_cannot_be_read_says_why_and_shows_what_is_there(data: bytes, cause: str) -> None:
    text = said(EPISODE, data)
    assert f"cannot be read: {cause}" in text
    if data.strip():
        assert data[:5].decode("utf-8", "replace") in text


def test_patterns_say_what_to_do_and_which_say_the_same(maker: LokiMaker) -> None:
    maker.everything()
    text = said("semantic/patterns.json", (maker.memory / "semantic" / "patterns.json").read_bytes())
    lines = text.splitlines()
    assert lines.index("# Anti-patterns") > lines.index("## The same id again")
    assert "- Do not: collect all rows" in lines
    assert "## Stream tables" in lines, "whatever is null in it"
    assert "- Used: never" in lines
    assert "- Links: supports sem-2" in lines
    assert text.count("## Avoid: IterationError") == 3
    assert text.count("*Says the same as 1 more below.*") == 1
    assert text.count("*Says the same as the one above.*") == 1
    assert "    - 2.5" in lines, "what nobody foresaw is told, too"


@pytest.mark.parametrize(
    "document", [{}, [], {"version": "1.1.0"}, {"patterns": None}, {"patterns": [1, "x"]}]
)
def test_a_store_without_patterns_has_none(document: object) -> None:
    assert "None so far." in said("semantic/patterns.json", document)


def test_a_bare_list_of_patterns_is_read() -> None:
    assert "## Stream tables" in said("semantic/patterns.json", [{"pattern": "Stream tables"}])
    legacy = said("semantic/anti-patterns.json", {"anti_patterns": [{"what_fails": "guess", "why": "bad"}]})
    assert "## guess" in legacy
    assert "- Why: bad" in legacy


def test_skills_timeline_index_and_the_rest_are_told(maker: LokiMaker) -> None:
    maker.everything()

    def of(rel: str) -> list[str]:
        return said(rel, (maker.memory / rel).read_bytes()).splitlines()

    assert "1. one" in of("skills/Fix_it_now.json")
    assert "- e: no fix known" in of("skills/fix-it-now.json")
    assert "# Skill: Deeper" in of("skills/deeper/other.json")
    assert "- unknown time: x" in of("timeline.json")
    assert "## act" in of("index.json")
    assert "  - why?" in of("handoffs/20260819-100000.json")
    assert "- Gate: coverage; Verdict: FAIL" in of("failures.jsonl")
    assert any("Line 2 cannot be read" in line for line in of("failures.jsonl"))
    assert "- Savings percent: 3.5" in of("token_economics.json")
    assert "  - Created at: 2026-08-01 00:00:00 UTC" in of("namespaces.json")
    assert "# Sell" in of("shop/episodic/2026-08-19/task-ep-shop.json")
    assert rendered("decisions.md", b"# x") is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        "id",
        "timestamp",
        "context",
        "phase",
        "goal",
        "outcome",
        "errors_encountered",
        "type",
        "message",
        "action_log",
        "t",
        "importance",
        "patterns",
        "category",
        "conditions",
        "links",
        "confidence",
        "steps",
        "common_errors",
        "recent_actions",
        "topics",
        "last_used",
        "what_fails",
    ]
)


@settings(max_examples=examples(100), deadline=None)
@given(
    rel=st.sampled_from(
        [
            EPISODE,
            "semantic/patterns.json",
            "skills/a.json",
            "timeline.json",
            "index.json",
            "handoffs/a.json",
            "x.json",
        ]
    ),
    value=st.dictionaries(
        KEYS, st.lists(st.dictionaries(KEYS, JSON, max_size=4), max_size=3) | JSON, max_size=8
    )
    | JSON,
)
def test_whatever_a_record_holds_it_is_told(rel: str, value: object) -> None:
    assert said(rel, value).endswith("\n")


@pytest.mark.parametrize(
    ("rel", "kind"),
    [
        ("decisions.md", "editable"),
        ("shop/mistakes.md", "editable"),
        ("learnings/note.md", "editable"),
        (EPISODE, "read-only"),
        ("episodic/2026-08-19", "read-only"),
        ("semantic/patterns.json", "read-only"),
        ("skills/fix.json", "read-only"),
        ("skills/fix.md", "generated"),
        ("index.json", "generated"),
        ("shop/timeline.json", "generated"),
        ("handoffs/a.md", "read-only"),
        ("ledgers/LEDGER-1.md", "read-only"),
        ("vectors/x.npz", "read-only"),
        ("memory.db", "read-only"),
        ("memory.db-wal", "read-only"),
        ("token_economics.json", "read-only"),
        ("failures.jsonl", "read-only"),
    ],
)
def test_who_may_change_what_follows_the_sheet(rel: str, kind: str, maker: LokiMaker) -> None:
    maker.episode(1)
    home = opened(maker)
    rule = home.file_rule(home.scope_root(home.context(), Scope.PROJECT), rel)
    assert rule.kind == kind
    assert bool(rule.sentence) is (kind != "editable")


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-01T00:00:01.000002Z", 1_000_002),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:01+00:00Z", 1_000_000),
        ("1970-01-01T00:00:01", 1_000_000),
        ("1969-12-31T23:59:59Z", -1_000_000),
        ("0001-01-01T00:00:00+23:59", -62135683140000000),
    ],
)
def test_every_spelling_of_a_date_is_read(text: str, micros: int) -> None:
    assert moment(text) == micros


@pytest.mark.parametrize("value", ["", "yesterday", "2026-13-01T00:00:00Z", "../../x", None, 3, [], True])
def test_what_is_no_date_is_none(value: object) -> None:
    assert moment(value) is None


@pytest.mark.parametrize(
    ("rel", "record", "words"),
    [
        ("episodic/2026-08-19/task-a.json", {"errors_encountered": {"type": "alpha"}}, ["alpha"]),
        (
            "episodic/2026-08-19/task-a.json",
            {"errors_encountered": ["alpha", 5, {"note": "beta"}]},
            ["alpha", "beta"],
        ),
        ("episodic/2026-08-19/task-a.json", {"errors_encountered": [{"message": ["alpha"]}]}, ["alpha"]),
        (
            "episodic/2026-08-19/task-a.json",
            {"timestamp": "alpha day", "last_accessed": {"x": "beta"}},
            ["alpha day", "beta"],
        ),
        ("episodic/2026-08-19/task-a.json", {"context": ["alpha"], "goal": {"x": "beta"}}, ["alpha", "beta"]),
        (
            "episodic/2026-08-19/task-a.json",
            {"context": {"goal": ["alpha"], "branch": "beta"}},
            ["alpha", "beta"],
        ),
        (
            "episodic/2026-08-19/task-a.json",
            {"files_read": [{"path": "alpha"}], "action_log": "beta"},
            ["alpha", "beta"],
        ),
        (
            "skills/a.json",
            {"name": ["alpha"], "steps": [{"do": "beta"}], "common_errors": ["gamma"]},
            ["alpha", "beta", "gamma"],
        ),
        ("semantic/patterns.json", {"patterns": ["alpha", {"pattern": "x"}, 7]}, ["alpha", "7"]),
        ("semantic/patterns.json", {"patterns": "alpha"}, ["alpha"]),
    ],
)
def test_a_field_of_another_kind_is_told_too(rel: str, record: dict[str, object], words: list[str]) -> None:
    text = rendered(rel, json.dumps(record).encode())
    assert text is not None
    assert [word for word in words if word not in text] == []


def test_a_field_of_its_own_kind_is_told_once() -> None:
    record = {"context": {"goal": "alpha", "files_involved": ["b.py"]}, "errors_encountered": [{"type": "E"}]}
    text = rendered("episodic/2026-08-19/task-a.json", json.dumps(record).encode())
    assert text is not None
    assert "Also in the record" not in text


@pytest.mark.parametrize(
    ("topics", "heading", "line"),
    [
        ([{"id": "act", "episode_ids": ["ep-1"], "episode_count": 1}], "## act", "  - ep-1"),
        (
            [{"id": "anti-pattern", "summary": "Two of them", "token_count": 12}],
            "## anti-pattern",
            "- Token count: 12",
        ),
        ([{"id": "skill-fix", "type": "skill", "summary": "Fix it"}], "## skill-fix", "- Type: skill"),
    ],
    ids=["stamped by an episode", "rebuilt by the engine", "rebuilt by the storage"],
)
def test_the_index_of_each_producer_is_told(topics: list[dict[str, object]], heading: str, line: str) -> None:
    lines = said("index.json", {"version": "1.0", "topics": topics}).splitlines()
    assert heading in lines
    assert line in lines


def test_a_poisoned_id_leads_nowhere() -> None:
    assert safe_name("ep:1/x.y") == "ep_1_x_y"
    assert safe_name("../../etc/passwd") == "______etc_passwd"
    assert episode_of({"id": "../x", "timestamp": "../y"}).at is None


def test_namespaces_are_folders_that_repeat_the_tree(maker: LokiMaker) -> None:
    maker.everything()
    maker.file("memory/learnings/note.md", "x")
    assert namespaces(maker.memory) == ("shop",)
    assert memory_root(Path("/p"), {"LOKI_MEMORY_BASE_PATH": "/shared"}) == Path("/shared")
    assert memory_root(Path("/p"), {"LOKI_MEMORY_BASE_PATH": ""}) == Path("/p/.loki/memory")


def test_the_transcript_of_claude_code_is_linked(maker: LokiMaker, tmp_path: Path) -> None:
    maker.everything()
    claude = tmp_path / "claude"
    assert opened(maker, claude).sources() == ()
    path = claude / "projects" / "-work-night-bus" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    row = {
        "type": "user",
        "uuid": "u1",
        "parentUuid": None,
        "sessionId": SESSION,
        "timestamp": "2026-08-19T10:00:00.000Z",
        "message": {"role": "user", "content": "Publish"},
    }
    path.write_text(json.dumps(row) + "\n")
    (source,) = opened(maker, claude).sources()
    assert (source.path, source.id, source.size) == (path, SESSION, path.stat().st_size)
    messages = list(opened(maker, claude).open_source(source).messages(ReadStatistics()))
    assert [message.text for message in messages] == ["Publish"]
    maker.json("state/claude-session.json", {"claude_session_uuid": "../../x"})
    assert opened(maker, claude).sources() == ()


def test_the_last_error_is_in_the_footer(maker: LokiMaker) -> None:
    maker.everything()
    home = opened(maker)
    (line,) = home.agent_status(home.context())
    assert (line.text, line.state, line.at) == ("Rate limited in iteration 3.", "warn", None)
    maker.file("state/LAST_ERROR.json", "{")
    assert home.agent_status(home.context()) == ()


def test_stores_are_found_in_the_projects_of_other_homes_and_in_the_agents_list(
    maker: LokiMaker, tmp_path: Path
) -> None:
    maker.episode(1)
    listed, gone = LokiMaker(tmp_path / "listed"), tmp_path / "gone"
    listed.crash(1)
    mux = tmp_path / ".mux"
    (mux / "sessions").mkdir(parents=True)
    (mux / "config.json").write_text(json.dumps({"projects": [[str(maker.project), {"workspaces": []}]]}))
    index = {
        "projects": [{"path": str(listed.project)}, {"path": str(gone)}, {"path": "rel"}, 3, {"name": "x"}]
    }
    user = LokiMaker(tmp_path)
    user.json("knowledge/project-index.json", index)
    before = snapshot(tmp_path)
    found = discover({}, tmp_path)
    assert [home.kind for home in found] == ["mux"], "the agent's own list is no store"
    stores = find_projects(found, tmp_path).homes
    assert [(home.root, home.kind, home.of_project) for home in stores] == [
        (maker.store, "loki", True),
        (listed.store, "loki", True),
    ]
    assert snapshot(tmp_path) == before
    profile = Profile.under(tmp_path / "profile")
    looked = find_homes({}, tmp_path)
    all_homes = (*looked.homes, *find_projects(looked.homes, tmp_path, profile.homes_cache, {}).homes)
    assert [home.kind for home in all_homes] == ["mux", "loki", "loki"]
    user.file("knowledge/project-index.json", "{torn")
    assert len(find_projects(found, tmp_path).homes) == 1


def test_the_sample_is_read_through_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = copy_sample("loki-project", tmp_path)
    before = snapshot(project)
    options = ["--profile", str(tmp_path / "profile"), "--home", str(project), "--json"]
    assert main(["tree", *options]) == 0
    nodes = {node["name"]: node for node in json.loads(capsys.readouterr().out)}
    assert nodes["project"]["files"] == 21
    assert nodes["global"]["unavailable"]
    assert main(["homes", *options]) == 0
    (home,) = json.loads(capsys.readouterr().out)
    assert (home["kind"], home["root"]) == ("loki", str(project / ".loki"))
    assert snapshot(project) == before
    assert FINGERPRINT not in before


def test_the_samples_records_are_told_in_words(tmp_path: Path) -> None:
    memory = copy_sample("loki-project", tmp_path) / ".loki" / "memory"
    for path in memory.rglob("*.json"):
        text = said(path.relative_to(memory).as_posix(), path.read_bytes())
        assert "{" not in text
        assert ("Also in the record" in text) is (path.name == "index.json"), text
    partial = said(EPISODE, (memory / "episodic/2026-08-19/task-ep-2026-08-19-b8f707b4.json").read_bytes())
    assert "naïve layout first (日本語 stop names)" in partial


def test_only_the_agent_consolidates_its_records(tmp_path: Path) -> None:
    maker = LokiMaker(tmp_path / "project")
    path = maker.patterns(maker.anti_pattern(1), maker.anti_pattern(2))
    before = path.read_bytes()
    parts = open_parts(maker.project, Profile.under(tmp_path / "profile"), system_clock)
    with pytest.raises(Unavailable, match="may change its own records"):
        parts.dreams.run(DreamRequest(parts.home.context()), RulesEngine())
    assert (path.read_bytes(), parts.runs.all()) == (before, ())


def test_an_interrupted_run_of_version_0_2_over_records_leaves_the_store_as_it_is(tmp_path: Path) -> None:
    maker = LokiMaker(tmp_path / "project")
    path = maker.patterns(maker.anti_pattern(1))
    before = path.read_bytes()
    parts = open_parts(maker.project, Profile.under(tmp_path / "profile"), system_clock)
    root = parts.home.scope_root(parts.home.context(), Scope.PROJECT)
    transaction = parts.transaction_for("1700000000000-aaaaaaaa", "dream")
    rel = "semantic/patterns.json/sem-00000001"
    journal = transaction.prepare([FileChange(root, rel, b"was\n", b"became\n")])
    recovered = transaction.roll_back(journal)
    assert (recovered.restored, recovered.left) == ((), (f"/memories/project/{rel}",))
    assert path.read_bytes() == before
