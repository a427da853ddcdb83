"""What most homes have in common: a directory with a name, and nothing of what only some agents keep.

A home of this kind overrides what its agent does keep. Threading and failure: as `homes.base` says.
What only some jobs are about (`homes.agents`) is imported by those: listing names is on the way to the first
paint.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.errors import Unavailable
from reverie.files.there import is_directory
from reverie.homes.listing import TitlesRead
from reverie.homes.scopes import (
    EDITABLE,
    FileRole,
    FileRule,
    Refusal,
    Scope,
    ScopeContext,
    ScopeRoot,
    ScopeUnavailable,
)

if TYPE_CHECKING:
    from reverie.homes.agents import (
        AgentCheck,
        AgentJob,
        AgentLock,
        DreamWishes,
        DumpPlaces,
        Essence,
        MemoryKinds,
        ModelService,
        NotesPlace,
        RootChange,
        StatusLine,
        WriteLock,
        WriterPlace,
        WriterWishes,
    )
    from reverie.homes.listing import Companion, LostStore, SessionPlace, Source, WatchedPlace, Workspace
    from reverie.homes.records import Records
    from reverie.transcripts.reading import ReadableTranscript
    from reverie.transcripts.turns import Transcript


class PlainHome:
    """The members of `homes.base.Home` for an agent without sidecars, workspaces, dumps and a writer."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._root)!r})"

    @property
    def root(self) -> Path:
        return self._root

    @property
    def label(self) -> str:
        user = os.path.expanduser("~")  # noqa: PTH111 - Path.expanduser raises where there is no user
        text = str(self._root)
        return f"~{text[len(user) :]}" if text.startswith(user + os.sep) else text

    @property
    def usage_sidecar(self) -> Path | None:
        return None

    @property
    def coverage_sidecar(self) -> Path | None:
        return None

    def available(self) -> bool:
        return is_directory(self._root)

    def lost_stores(self) -> tuple[LostStore, ...]:
        return ()

    def companions(self, context: ScopeContext) -> tuple[Companion, ...]:
        return ()

    def write_refusals(self, root: ScopeRoot | None = None) -> tuple[Refusal, ...]:
        if root is None or not root.read_only:
            return ()
        title = "Reverie does not write into memories that the agent does not use."
        return (Refusal("not-in-use", root.key, title, root.read_only, "", permissible=False),)

    def file_rule(self, root: ScopeRoot, rel: str) -> FileRule:
        return EDITABLE

    def file_role(self, root: ScopeRoot, rel: str) -> FileRole:
        return "memory"

    def essence(self, text: str) -> Essence:
        from reverie.homes.agents import Essence

        return Essence(text)

    def followed(self, root: ScopeRoot, change: RootChange) -> Mapping[str, str]:
        return {}

    def records(self) -> Records | None:
        return None

    def agent_lock(self, context: ScopeContext) -> AgentLock | None:
        return None

    def check_content(self, root: ScopeRoot, rel: str, before: bytes | None, after: bytes | None) -> None:
        """Anything goes that the store accepts."""

    def write_lock(self, root: ScopeRoot) -> WriteLock | None:
        return None

    def note_path(self, title: str, at_ms: int, source: str = "") -> str:
        return ""

    def rendered(self, root: ScopeRoot, rel: str, data: bytes) -> str | None:
        return None

    def usage_key(self, root: ScopeRoot, rel: str) -> str | None:
        if root.usage_prefix is None:
            return None
        return root.usage_prefix + rel.replace("%", "%25").replace(":", "%3A")

    def recencies(self) -> tuple[tuple[str, int], ...]:
        return ()

    def transcript(self, workspace_id: str) -> Transcript | None:
        return None

    def session(self, workspace_id: str) -> SessionPlace | None:
        return None

    def sessions_in_use(self) -> tuple[SessionPlace, ...]:
        return ()

    def use_watched(self) -> tuple[WatchedPlace, ...]:
        return ()

    def memory_kinds(self) -> MemoryKinds:
        from reverie.homes.agents import MemoryKinds

        return MemoryKinds()

    def dream_wishes(self, workspace_id: str | None) -> DreamWishes:
        from reverie.homes.agents import DreamWishes

        return DreamWishes()

    def model_services(self) -> tuple[ModelService, ...]:
        return ()

    def workspace(self, workspace_id: str) -> Workspace | None:
        return None

    def writer_place(self, workspace_id: str) -> WriterPlace | None:
        return None

    def writer_wishes(self, workspace_id: str) -> WriterWishes:
        from reverie.homes.agents import WriterWishes

        return WriterWishes(enabled=False)

    def notes_place(self, session_id: str) -> NotesPlace | None:
        return None

    def dump_places(self) -> DumpPlaces | None:
        return None

    def agent_status(self, context: ScopeContext) -> tuple[StatusLine, ...]:
        return ()

    def agent_jobs(self) -> tuple[AgentJob, ...]:
        return ()

    def checks(self) -> tuple[AgentCheck, ...]:
        return ()

    def sources(self, project_path: str | None = None) -> tuple[Source, ...]:
        return ()

    def open_source(self, source: Source) -> ReadableTranscript:
        raise Unavailable("This agent keeps no transcripts.")

    def source_title(self, source: Source) -> str:
        return source.title

    def learn_titles(self, most: int, project_path: str | None = None) -> TitlesRead:
        return TitlesRead()

    def learn(self, project_path: str) -> str:
        return project_path

    def source_told(self, source: Source) -> Source:
        return source._replace(title=self.source_title(source))

    def _require_available(self) -> None:
        if not self.available():
            raise Unavailable(
                f"The home {self._root} is not there now.",
                cause="It was moved or removed, or its disk is not mounted.",
                next_step="Bring it back, or choose another home.",
            )


def no_workspace(agent: str) -> ScopeUnavailable:
    """For an agent whose memories belong to no workspace."""
    return ScopeUnavailable(
        Scope.WORKSPACE,
        None,
        "There is no workspace memory here.",
        cause=f"{agent} keeps memories per project and for all projects, none per session.",
        permanent=True,
    )
