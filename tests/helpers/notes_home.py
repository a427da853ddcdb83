"""A small home of sessions with notes, for tests of the notes themselves: `projects/<dir>/<session>.jsonl`
and `projects/<dir>/<session>/session-memory/summary.md` (formats/claude-code.md sections 1 and 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from helpers.claude_transcripts import SESSION, Chat
from reverie.agents.base import Home, HomeContents, Project, WatchedPlace, Workspace, no_workspace
from reverie.agents.capabilities import NotesPlace, SessionMeter
from reverie.agents.claude import messages, session_counts, transcript
from reverie.agents.claude.settings import Machine, keeps_no_notes
from reverie.agents.scopes import Caps, Scope, ScopeContext, ScopeRoot
from reverie.agents.transcripts import ReadableTranscript
from reverie.clock import Clock
from reverie.profile import Profile
from reverie.services.container import HomeContainer, HomeKey
from reverie.settings import load_settings

SECTIONS = (
    *("Session Title", "Current State", "Task specification", "Files and Functions", "Workflow"),
    *("Errors & Corrections", "Codebase and System Documentation", "Learnings", "Key results", "Worklog"),
)
"""The headings of the agent's own template, in its order."""

FOLDER = "-home-dev-shop"


class NotesHome(Home):
    """Sessions are its workspaces."""

    kind = "claude"
    caps = Caps(1_000_000, 1000, 200, 4096, 5)

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.notes = self

    def _sessions(self) -> dict[str, Path]:
        return {path.stem: path for path in sorted(self.root.glob("projects/*/*.jsonl"))}

    def contents(self) -> HomeContents:
        listed = tuple(
            Workspace(name, name, "", "/home/dev/shop", FOLDER, ("/home/dev/shop",), False)
            for name in self._sessions()
        )
        return HomeContents((Project("/home/dev/shop", "shop", listed),))

    def context(
        self, *, workspace_id: str | None = None, project_path: str | None = None, project_given: bool = False
    ) -> ScopeContext:
        return ScopeContext(workspace_id, "/home/dev/shop")

    def scope_root(self, context: ScopeContext, scope: Scope) -> ScopeRoot:
        path = self._sessions().get(context.workspace_id or "")
        if scope is not Scope.WORKSPACE or path is None:
            raise no_workspace("This agent", "memories per project")
        return _root(path)

    def roots(self, contents: HomeContents | None = None) -> tuple[ScopeRoot, ...]:
        return tuple(root for root in map(_root, self._sessions().values()) if root.directory.is_dir())

    def watched(self) -> tuple[WatchedPlace, ...]:
        return ()

    def keeps_no_notes(self, session_id: str) -> Literal["", "remote", "no-compaction"]:
        return keeps_no_notes(self.root, "/home/dev/shop", Machine({}, self.root, self.root / "managed"))

    def session_scan(self, place: NotesPlace) -> SessionMeter:
        return session_counts.SessionScan(place.transcript)

    def session_title(self, place: NotesPlace) -> str:
        return transcript.session_title(place.transcript)

    def session_messages(self, place: NotesPlace) -> ReadableTranscript:
        return messages.ClaudeReadable(place.transcript)

    def notes_place(self, session_id: str) -> NotesPlace | None:
        path = self._sessions().get(session_id)
        own = self.root / "session-memory" / "config"
        if path is None:
            return None
        return NotesPlace(_root(path), "summary.md", path, own / "template.md", own / "prompt.md")


def _root(transcript: Path) -> ScopeRoot:
    session = transcript.stem
    directory = transcript.parent / session / "session-memory"
    return ScopeRoot(Scope.WORKSPACE, f"workspace/{session}", directory, f"workspace:{session}:")


def session_path(root: Path, session: str = SESSION) -> Path:
    return root / "projects" / FOLDER / f"{session}.jsonl"


def notes_file(root: Path, session: str = SESSION) -> Path:
    return root / "projects" / FOLDER / session / "session-memory" / "summary.md"


def notes_parts(tmp_path: Path, clock: Clock, chat: Chat | None = None) -> HomeContainer:
    """The parts of a fresh home with one session in it."""
    root = tmp_path / "home"
    (chat or Chat()).write(session_path(root))
    return parts_of(root, tmp_path, clock)


def parts_of(root: Path, tmp_path: Path, clock: Clock) -> HomeContainer:
    """As another process would have them."""
    profile = Profile.under(tmp_path / "profile")
    return HomeContainer(
        HomeKey(NotesHome(root), "home-1"), profile, clock, lambda: load_settings(profile.settings_file)[0]
    )


def settle(parts: HomeContainer, text: str) -> None:
    path = parts.profile.settings_file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"[notes]\n{text}\n", encoding="utf-8")
