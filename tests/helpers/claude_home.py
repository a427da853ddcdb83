"""A Claude Code home made by code: projects, sessions, memories of every shape, repositories with worktrees
(formats/claude-code.md, checklist of section 10)."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from helpers.opened_files import opened_files
from reverie.agents.claude.home import ClaudeHome
from reverie.agents.claude.instruction_text import mentions_in
from reverie.agents.claude.locations import directory_of
from reverie.agents.claude.settings import Machine
from reverie.agents.scopes import Scope
from reverie.memory.listing import names_only

NOW_S = 1_786_000_000


def session_id(number: int) -> str:
    """A made-up session that sorts by its number."""
    return str(uuid.UUID(int=number + (4 << 76) + (8 << 60)))


def imports_in(text: str) -> tuple[str, ...]:
    """The paths that a file with this text imports, as written, in order."""
    return tuple(each.target for each in mentions_in(text) if not each.joined)


def topic(
    name: str, description: str = "what it says", kind: str = "project", body: str = "A fact.\n"
) -> str:
    """A memory in the older shape of front matter."""
    return f"---\nname: {name}\ndescription: {description}\ntype: {kind}\n---\n{body}"


def newer_topic(
    name: str, description: str = "what it says", session: str = "", body: str = "A fact.\n"
) -> str:
    """A memory in the newer shape."""
    return (
        f"---\nname: {name}\ndescription: {description}\nmetadata:\n  node_type: memory\n  type: feedback\n"
        f"  originSessionId: {session or session_id(1)}\n---\n{body}"
    )


class ClaudeHomeMaker:
    """Builds a home, and a user's directory around it, step by step."""

    def __init__(self, tmp_path: Path) -> None:
        self.user = tmp_path / "user"
        self.root = self.user / ".claude"
        self.managed = tmp_path / "managed"
        self.cache = tmp_path / "cache"
        self.root.mkdir(parents=True, exist_ok=True)

    @property
    def projects(self) -> Path:
        return self.root / "projects"

    def machine(self, env: Mapping[str, str] | None = None) -> Machine:
        return Machine(env or {}, self.user, self.managed)

    def home(self, env: Mapping[str, str] | None = None) -> ClaudeHome:
        return ClaudeHome(self.root, self.cache, machine=self.machine(env), now=lambda: NOW_S)

    def file(self, rel: str, text: str | bytes = "text\n", *, mode: int | None = None) -> Path:
        return write(self.root / rel, text, mode=mode)

    def directory(self, cwd: str | Path) -> Path:
        """The directory in `projects/` for a working directory."""
        return self.projects / directory_of(str(cwd))

    def session(
        self, cwd: str | Path, number: int, *, prompt: str = "Fix the build", at: str | Path | None = None
    ) -> Path:
        """A transcript of a session in `cwd`, listed at `at` (else where it belongs)."""
        rows = [
            {"type": "file-history-snapshot", "messageId": "x"},
            {
                "type": "user",
                "uuid": session_id(number + 1000),
                "parentUuid": None,
                "timestamp": "2026-08-06T10:00:00.000Z",
                "sessionId": session_id(number),
                "cwd": str(cwd),
                "isSidechain": False,
                "message": {"role": "user", "content": prompt},
            },
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        path = write(self.directory(at or cwd) / f"{session_id(number)}.jsonl", text)
        os.utime(path, (NOW_S - 1000 + number, NOW_S - 1000 + number))
        return path

    def memory(self, cwd: str | Path, files: Mapping[str, str | bytes]) -> Path:
        """The memory of a working directory."""
        memory = self.directory(cwd) / "memory"
        for rel, text in files.items():
            write(memory / rel, text)
        return memory

    def notes(self, cwd: str | Path, number: int, text: str) -> Path:
        directory = self.directory(cwd) / session_id(number) / "session-memory"
        directory.mkdir(parents=True, mode=0o700)
        return write(directory / "summary.md", text, mode=0o600)

    def typed(self, *cwds: str | Path) -> None:
        """Prompts typed in these directories."""
        rows = [
            {"display": f'say "project":"/a/lie" {n}', "timestamp": n, "project": str(cwd)}
            for n, cwd in enumerate(cwds)
        ]
        self.file("history.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def lock(self, cwd: str | Path, body: str, age_s: float) -> Path:
        path = write(self.directory(cwd) / "memory" / ".consolidate-lock", body)
        os.utime(path, (NOW_S - age_s, NOW_S - age_s))
        return path

    def repository(self, name: str) -> Path:
        """A repository's directory in the user's, without git."""
        root = self.user / name
        write(root / ".git" / "HEAD", "ref: refs/heads/main\n")
        return root

    def worktree(self, repository: Path, name: str) -> Path:
        root = self.user / name
        own = repository / ".git" / "worktrees" / root.name
        write(own / "commondir", "../..\n")
        write(own / "gitdir", f"{root / '.git'}\n")
        write(root / ".git", f"gitdir: {own}\n")
        return root


@dataclass(frozen=True, slots=True)
class Seen:
    """The result of listing a whole home."""

    workspaces: int
    transcripts_opened: list[str]
    tree_s: float
    all_s: float


def look_at_many(maker: ClaudeHomeMaker, *, projects: int, sessions: int, size: int) -> Seen:
    """A home with so many projects of so many sessions each, transcripts of `size` bytes (sparse), looked at
    as a window does it: the names of one place first, then everything that is listed."""
    for project in range(projects):
        cwd = f"/work/p{project:03}"
        for number in range(sessions):
            os.truncate(maker.session(cwd, project * sessions + number), size)
        maker.memory(cwd, {"MEMORY.md": "", "a.md": topic("a")})
    home = maker.home()
    with opened_files() as files:
        began = time.monotonic()
        contents = home.contents()
        first = home.context(workspace_id=home.recencies()[0][0])
        home.companions(first)
        for scope in (Scope.PROJECT, Scope.WORKSPACE):
            names_only(home.scope_root(first, scope))
        tree_s = time.monotonic() - began
        for each in contents.projects:
            context = home.context(project_path=each.path)
            names_only(home.scope_root(context, Scope.PROJECT))
            home.companions(context)
            home.agent_status(context)
        for workspace in contents.workspaces():
            home.scope_root(home.context(workspace_id=workspace.id), Scope.WORKSPACE)
        home.roots(contents)
        home.sources()
        home.watched()
        home.session_watches()
        all_s = time.monotonic() - began
    transcripts = [name for name in files if name.endswith(".jsonl") and "history" not in name]
    return Seen(len(contents.workspaces()), transcripts, tree_s, all_s)


def write(path: Path, text: str | bytes, *, mode: int | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    if mode is not None:
        path.chmod(mode)
    return path
