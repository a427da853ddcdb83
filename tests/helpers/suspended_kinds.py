"""The kinds of change that `helpers.suspended` suspends: what stands there before, and how each is begun.

Every kind has a home and a profile in a directory of its own; its clock stands still, so that all of them
write the same each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from helpers.benches import NOW, Time
from helpers.chats import Chat
from helpers.claude_home import ClaudeHomeMaker, topic
from helpers.claude_transcripts import SESSION
from helpers.claude_transcripts import Chat as Session
from helpers.engines import ScriptedEngine
from helpers.extraction import CWD, ExtractionService, age, small_home, talk
from helpers.kills import not_harvested_yet
from helpers.notes_home import NotesHome, session_path, settle
from helpers.samples import copy_sample
from reverie.agents.codex.locations import bucket_of
from reverie.agents.scopes import ScopeContext
from reverie.compose import open_parts
from reverie.jobs.consolidate.apply import ApplyService
from reverie.jobs.consolidate.harvest import HarvestRequest, RulesExtractor
from reverie.jobs.consolidate.review import ReviewSelection
from reverie.jobs.consolidate.run import DreamRequest
from reverie.jobs.single_file.notes import NotesDraft, NotesTask
from reverie.jobs.single_file.notes_service import NotesService
from reverie.jobs.single_file.writer import MemoryDraft, WriterTask
from reverie.jobs.single_file.writer_service import WriterService
from reverie.llm.client import Account, EngineResult
from reverie.memory.scope_files import sha256_of_bytes
from reverie.memory.store import MemoryStore
from reverie.profile import Profile
from reverie.services.background import open_notes, writer_dependencies
from reverie.services.container import HomeContainer, HomeKey
from reverie.services.edits import UserEdits
from reverie.services.merges import FileToMerge, MergeService
from reverie.services.moves import Moves
from reverie.services.trash import TrashService
from reverie.settings import Settings, load_settings
from reverie.values import replace

WORKSPACE = "a1f3c9e2b7"
STYLE, TESTING = "/memories/global/commit-style.md", "/memories/global/testing.md"
MINE = "z y x w v u"
"""Written by the one that was suspended; letters say nothing that a report card would miss."""
_REQUESTS = (
    {"command": "create", "path": "/memories/global/fresh/new.md", "file_text": f"{MINE}\n"},
    {"command": "insert", "path": STYLE, "insert_line": 0, "insert_text": "x"},
    {"command": "rename", "old_path": TESTING, "new_path": "/memories/global/a/t.md"},
)


_TAKEN = ReviewSelection().with_agreed_loss(TESTING, agreed=True)


@dataclass(frozen=True, slots=True)
class Kind:
    """`prepare`: makes the home before (the directory is empty but for an empty `home`). `start`: carries the
    change out; how it ended, "completed" where all of it came to pass. `file`: a file below the home that
    others write meanwhile, `path` the memory path of it for hands. `is_run`: under the dream lease, with a
    record; else by hand."""

    prepare: Callable[[Path], None]
    start: Callable[[HomeContainer], str]
    file: str = "memory/global/commit-style.md"
    path: str = STYLE
    is_run: bool = True
    open: Callable[[Path, Time], HomeContainer] = lambda directory, clock: open_parts(
        directory / "home", Profile.under(directory / "profile"), clock
    )


def _sample(directory: Path) -> None:
    (directory / "home").rmdir()
    copy_sample("mux-home", directory / "copy").rename(directory / "home")


def _context(parts: HomeContainer) -> ScopeContext:
    return parts.home.context(workspace_id=WORKSPACE)


# Runs


def _dream(parts: HomeContainer, *requests: dict[str, str], dry_run: bool = False) -> str:
    request = DreamRequest(_context(parts), dry_run=dry_run)
    return parts.dreams.run(request, ScriptedEngine(*(requests or _REQUESTS))).outcome


def _prepared(directory: Path, *, requests: tuple[dict[str, str], ...] = (), dry_run: bool = False) -> None:
    _sample(directory)
    _dream(MUX.open(directory, Time(NOW - 60_000)), *requests, dry_run=dry_run)


def _apply(parts: HomeContainer) -> str:
    return ApplyService(parts.dream_dependencies).apply(_oldest(parts), _TAKEN).outcome


def _oldest(parts: HomeContainer) -> str:
    return parts.runs.ids()[-1]


def _revert(parts: HomeContainer) -> str:
    parts.reverter.revert(_oldest(parts))
    return "completed"


def _unharvested(directory: Path) -> None:
    _sample(directory)
    not_harvested_yet(directory / "home")


def _harvest(parts: HomeContainer) -> str:
    return parts.harvests.run(HarvestRequest(_context(parts)), RulesExtractor()).outcome


class _Writer:
    name = "scripted:model"

    async def edit(
        self, _task: WriterTask, draft: MemoryDraft, _cancelled: Callable[[], bool]
    ) -> EngineResult:
        last = draft.text.splitlines()[-1]
        draft.replace(last, f"{last}\n- {MINE}")
        return EngineResult("completed")


def _turns(directory: Path) -> None:
    _sample(directory)
    Chat(directory / "home" / "sessions" / WORKSPACE).turn("We use pnpm.")


def _write(parts: HomeContainer) -> str:
    engine_for = lambda _context, _wishes, _model: _Writer()  # noqa: E731
    service = WriterService(replace(writer_dependencies(parts), engine_for=engine_for))
    told = service.run_now(WORKSPACE, force=True)
    return str(told.gate or told.outcome)


class _Notes:
    name = "scripted:model"

    async def edit(self, _task: NotesTask, draft: NotesDraft, _cancelled: Callable[[], bool]) -> EngineResult:
        head = "# Worklog\n_What was tried and done, step by step, one short line each_\n"
        draft.replace(head, f"{head}- {MINE}\n")
        return EngineResult("completed", account=Account())


def _notes_parts(directory: Path, clock: Time) -> HomeContainer:
    profile = Profile.under(directory / "profile")
    home = NotesHome(directory / "home")
    return HomeContainer(
        HomeKey(home, "home-1"), profile, clock, lambda: load_settings(profile.settings_file)[0]
    )


def _session(directory: Path) -> None:
    chat = Session()
    chat.turn("Go on", "Done.", tokens=30_000, tools=0)
    chat.write(session_path(directory / "home"))
    parts = _notes_parts(directory, Time(NOW - 60_000))
    settle(parts, "enabled = true")
    _note(parts)
    chat.turn("Go on", "Done.", tokens=60_000, tools=0)
    chat.write(session_path(directory / "home"))


def _note(parts: HomeContainer) -> str:
    made = open_notes(parts)
    service = NotesService(replace(made._parts, engine_for=lambda _context: _Notes()))
    told = service.update_now(SESSION)
    return str(told.gate or told.outcome)


def _rollouts(directory: Path) -> None:
    (directory / "home").rmdir()
    maker = small_home(directory / "home", [1])
    _extract(MUX.open(directory, Time(NOW - 60_000)))
    age(maker.rollout(2, talk(2, CWD, "Fix the tests")), 2)


def _extract(parts: HomeContainer) -> str:
    result = ExtractionService(parts).run()
    return "completed" if result.succeeded else result.summary


def _claude_parts(directory: Path, clock: Time) -> HomeContainer:
    home = ClaudeHomeMaker(directory / "home").home()
    profile = Profile.under(directory / "profile")
    return HomeContainer(HomeKey(home, "home-1"), profile, clock, Settings)


def _project(directory: Path) -> None:
    maker = ClaudeHomeMaker(directory / "home")
    cwd = maker.repository("shop")
    maker.typed(cwd)
    maker.session(cwd, 1)
    maker.memory(cwd, {"a.md": topic("a"), "MEMORY.md": "- [a](a.md) — about a\n"})


def _dream_of_claude(parts: HomeContainer) -> str:
    cwd = parts.home.root.parent / "shop"
    context = parts.home.context(project_path=str(cwd), project_given=True)
    new = {"command": "create", "path": "/memories/project/new.md", "file_text": f"{topic('new')}{MINE}\n"}
    old = {"command": "insert", "path": "/memories/project/a.md", "insert_line": 5, "insert_text": "x"}
    return parts.dreams.run(DreamRequest(context), ScriptedEngine(new, old)).outcome


# By hand


def _save(parts: HomeContainer) -> str:
    edits, context = UserEdits(parts), _context(parts)
    text = edits.read(context, STYLE)
    edits.save(context, STYLE, f"{text.content}{MINE}\n", text.sha256)
    return "completed"


def _delete(parts: HomeContainer) -> str:
    UserEdits(parts).delete(_context(parts), STYLE)
    return "completed"


def _delete_folder(parts: HomeContainer) -> str:
    UserEdits(parts).delete(_context(parts), "/memories/global/fresh")
    return "completed"


def _rename(parts: HomeContainer) -> str:
    UserEdits(parts).rename(_context(parts), STYLE, "/memories/global/other/style.md")
    return "completed"


def _move(parts: HomeContainer) -> str:
    Moves(parts).move(_context(parts), {STYLE: "/memories/workspace/style.md"})
    return "completed"


def _deleted(directory: Path) -> None:
    _sample(directory)
    parts = MUX.open(directory, Time(NOW - 60_000))
    UserEdits(parts).delete(_context(parts), STYLE)


def _restore(parts: HomeContainer) -> str:
    desk = TrashService(parts)
    desk.restore([entry for entry in desk.page()[0] if entry.path == STYLE])
    return "completed"


def _merge(parts: HomeContainer) -> str:
    desk, store = MergeService(parts), parts.store(_context(parts), actor="user")
    files = [_as_found(store, path) for path in (STYLE, TESTING)]
    desk.merge(files, desk.seed(files).result)
    return "completed"


def _as_found(store: MemoryStore, path: str) -> FileToMerge:
    """One file as it is on disk."""
    parsed, root, files = store.resolve(path)
    data = files.read(parsed.rel)
    sha256 = sha256_of_bytes(data) or ""
    return FileToMerge(root.key, parsed.rel, parsed.scope, sha256, len(data), False)


MUX = Kind(_sample, _dream)
KINDS = {
    "dream": MUX,
    "apply": Kind(partial(_prepared, dry_run=True), _apply),
    "held": Kind(partial(_prepared, requests=({"command": "delete", "path": TESTING},)), _apply),
    "revert": Kind(_prepared, _revert),
    "harvest": Kind(_unharvested, _harvest),
    "writer": Kind(_turns, _write, file="memories/acme-api-1d659342.md"),
    "notes": Kind(
        _session,
        _note,
        file=f"projects/-home-dev-shop/{SESSION}/session-memory/summary.md",
        open=_notes_parts,
    ),
    "extract": Kind(_rollouts, _extract, file=f"memories/{bucket_of(CWD)}/memory/by_hand.md"),
    "claude": Kind(
        _project,
        _dream_of_claude,
        file="user/.claude/projects/*-shop/memory/a.md",
        open=_claude_parts,
    ),
    "save": Kind(_sample, _save, is_run=False),
    "delete": Kind(_sample, _delete, is_run=False),
    "delete-folder": Kind(_prepared, _delete_folder, path="/memories/global/fresh/new.md", is_run=False),
    "rename": Kind(_sample, _rename, is_run=False),
    "move": Kind(_sample, _move, is_run=False),
    "restore": Kind(_deleted, _restore, is_run=False),
    "merge": Kind(_sample, _merge, is_run=False),
}
