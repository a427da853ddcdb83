"""The signatures of the calls that a window makes.

`EngineCalls` and `HomeCalls` are signatures without bodies: the engine implements them (`engine.engine`), and
a window does not import that implementation. mypy and a test compare both. The other methods of an engine are
public methods of its classes; a client imports these classes at the first call that is not declared here.

Threading and failure: as in `engine.engine`.
"""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.agents.base import DiscoveredHomes, LoadState
from reverie.agents.scopes import Refusal, ScopeContext
from reverie.files.watch import Changes, WatchState
from reverie.memory.listing import no_check
from reverie.runs.parts import Parts
from reverie.runs.record import Progress, RunRecord, RunResult
from reverie.services import HomeServices, LazyService
from reverie.services.views import (
    FileText,
    HomeInfo,
    HostStatus,
    LintResult,
    MemoryView,
    Opened,
    Relevance,
    SearchAnswer,
    SearchPlace,
    StatusView,
    Template,
    TreesUpdate,
    Undo,
)
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.engine.doctor import HomeDoctor
    from reverie.services.activity import ActivityService
    from reverie.services.models import ModelsWithoutHome


class HomeUpdate(Struct, frozen=True):
    """The parts of one context's views that have changed, sent to a client that shows this context."""

    info: HomeInfo | None
    """The home with its projects and workspaces; None if they have not changed."""
    trees: TreesUpdate | None
    """The trees of memories of the three scopes, or the differences; None if they have not changed."""
    status: StatusView | None
    """The data of the footer: the last consolidations, and whether one is in progress; None if unchanged."""
    touched: Relevance | None
    """Which views the changes affect; None if the client requested all parts."""
    watch: WatchState | None
    """The state of the watcher; None if the home is not watched."""


class HomeCalls(HomeServices):
    """The calls of a window to an open home."""

    doctor: LazyService[HomeDoctor] = LazyService(
        "reverie.engine.doctor.HomeDoctor", lambda home, kind: kind(home.parts, home.watch_state)
    )
    """Explains why the writer or a consolidation did not run."""
    activity: LazyService[ActivityService] = LazyService(
        "reverie.services.activity.ActivityService",
        lambda home, kind: kind(home.parts, home._is_for_another),
    )
    """Lists what background runs decided and did; marks a run as `ours` only if the client started it."""

    def context(self, workspace_id: str | None, project_path: str | None) -> ScopeContext:
        """Return the context of a workspace, or of a project, or of the global memory only.

        If `workspace_id` is None, the context is that of the project at `project_path`; if both are None, it
        has the global memory only.
        """

    def names(self, context: ScopeContext) -> MemoryView:
        """Return the three trees of memories (one for each scope), made without opening a file.

        They have no descriptions or usage, so they can be shown before `refresh` returns the full trees.
        """

    def refresh(
        self,
        context: ScopeContext,
        changes: Changes | None,
        *,
        known: int = 0,
        everything: bool = False,
        marks: bool = False,
    ) -> HomeUpdate:
        """Return the parts of a context's views that `changes` affect; all of them if `changes` is None.

        `known`: the serial of the trees of memories that the client already has; if they are the latest, only
        the differences are sent. `everything`: read all parts again from disk. `marks`: include the trees
        even if no change affects them, because the marks of unseen memories in them may have changed.
        """

    def status(self, context: ScopeContext) -> StatusView:
        """Return the data that the footer shows: consolidations, harvests and problems (`Workbench.status`).

        A harvest collects facts from a conversation that the agent compacted. In the running consolidation,
        `ours` is True only if the calling client started it.
        """

    def watch_for(self, context: ScopeContext | None) -> WatchState:
        """Send changes of the home to this client from now on; return the state of the watcher.

        `context`: the context that the client shows, whose own files are watched as well, such as those of
        its project; None: the client shows none.
        """

    def learn_titles(self, most: int, project_path: str | None) -> tuple[bool, HomeInfo | None]:
        """Read the titles of up to `most` workspaces that are not known yet; see `Workbench.learn_titles`.

        The workspaces of the project at `project_path` come first; None: no project comes first. Returns two
        items: whether any title was read, and the new contents of the home if the titles changed them, else
        None.
        """

    def host(self, paused: bool) -> HostStatus:
        """Run the background services for this client if the settings enable them; return their state.

        `paused`: pause the services instead. The settings are read again. `HostChanged` reports each change
        of state. There is one host for all clients: a pause by one client applies to all, until that client
        ends the pause or leaves.
        """

    def stop_hosting(self) -> None:
        """Withdraw this client's request for the background services; they stop with the last request."""

    def rescan(self, reason: str) -> None:
        """Compare all watched files with the disk, because events may have been missed.

        `reason` is for the log.
        """

    def forget_client(self) -> None:
        """Release the resources held for the calling client, which has left or closed this home."""

    def findings(
        self, context: ScopeContext, dirty: frozenset[Path], *, check: Callable[[], None] = no_check
    ) -> LintResult:
        """Return the problems that `lint` finds in the memories of a context.

        It checks the trees that were last sent to the client. `dirty`: the paths that have changed since the
        last check; only these files are read again. `check` may raise to stop.
        """

    def loaded(self, context: ScopeContext) -> tuple[Mapping[str, LoadState], int] | None:
        """Return how much of each file the agent would load if it started now, and the tokens of all of it.

        The files are given by memory path, or by path on disk. None if that is unknown for this agent. This
        does not mark anything as seen.
        """

    def mark_opened(self, context: ScopeContext) -> None:
        """Mark all present memories of a context as seen; see `Workbench.mark_opened`."""

    def permit_writing(self, refusal: Refusal) -> None:
        """Permit writing to a directory of notes that was read-only, because a person decided so.

        `refusal` names the directory and the reason why it was read-only. See `Workbench.permit_writing`.
        """

    def read(self, context: ScopeContext, path: str) -> FileText:
        """Read the memory at the memory path `path` for the editor; see `Workbench.read`."""

    def author_of(self, context: ScopeContext, path: str, sha256: str, companion: Path | None = None) -> str:
        """Return the name of the program or person who wrote this content of a file; "" if unknown.

        `path`: the memory. `sha256`: the hash of the content. `companion`: a file beside the memories, such
        as an index, used instead of `path`; None: the memory at `path`.
        """

    def save(self, context: ScopeContext, path: str, content: str, expected_sha256: str | None) -> FileText:
        """Write a memory, provided that its file still has the hash `expected_sha256`; return its new text.

        None as the hash means that the file must not exist. Raises `Conflict` if the file has another
        content.
        """

    def templates(self) -> tuple[Template, ...]:
        """Return the templates for new memories; see `Workbench.templates`."""

    def create(self, context: ScopeContext, path: str, template: str, description: str) -> FileText:
        """Create the memory at the memory path `path` from the text of a template; return its text.

        `template`: that text; `{{title}}` and `{{date}}` in it are replaced. `description`: the description
        to add to the front matter; empty for none. Raises `Conflict` if the file exists already.
        """

    def add_note(self, context: ScopeContext, text: str) -> str:
        """Write a note that the agent will read, and return its memory path; see `Workbench.add_note`."""

    def undo(self, undo: Undo) -> str:
        """Undo an edit that a person made; return a message about the result (see `Workbench.undo`)."""

    def start_dream(
        self,
        context: ScopeContext,
        *,
        dry_run: bool,
        engine: str,
        progress: Callable[[Progress], None],
        cancel: threading.Event,
    ) -> RunResult:
        """Run a consolidation that a person requested, and return its result; see `Workbench.start_dream`.

        `dry_run`: only compute the changes, without writing them. `engine`: `auto`, `rules` or
        `PROVIDER:MODEL`. `progress` gets each step; setting `cancel` ends the run.
        """

    def runs(self, *, limit: int | None = None) -> tuple[RunRecord, ...]:
        """Return the newest runs of this home, at most `limit`, or all if it is None."""

    def revert(self, run_id: str, part: Parts | None = None) -> RunResult:
        """Undo a run, or only the files and hunks in `part` (None: all); see `Workbench.revert`.

        Returns the record of this undo, which is itself a run.
        """

    def undo_run(self, context: ScopeContext, run_id: str, part: Parts | None = None) -> Undo:
        """Undo a run as `revert` does; return an `Undo` with which `undo` makes its changes again.

        `part`: the files and hunks to undo; None: the whole run. `context`: the context that a window shows
        after the `Undo` was used.
        """


class EngineCalls:
    """The calls that concern the engine itself, not one home."""

    models: LazyService[ModelsWithoutHome] = LazyService(
        "reverie.services.models.ModelsWithoutHome", lambda services, kind: kind(services._read_settings)
    )
    """Lists and tests models, even if no home is open."""

    def open(self, path: Path) -> Opened:
        """Open the home at `path` if it is not open yet; return what a client needs to show it.

        These are its projects and workspaces, and the limits and features of its agent.
        """

    def adopt(self, path: Path, known_id: str) -> Opened:
        """Open the home at `path` as the known home `known_id`, because that home was moved there.

        The home keeps its history. Returns the same as `open`.
        """

    def find_homes(self) -> DiscoveredHomes:
        """Return the agents' homes of this user, together with the places that could not be searched."""

    def find_stores(self, found: DiscoveredHomes) -> DiscoveredHomes:
        """Return the agents' homes inside the projects that the homes in `found` list, such as `.loki`.

        The result has only these, and the places that could not be read; it does not repeat the homes in
        `found`.
        """

    def forget_settings(self) -> None:
        """Make every open home read the settings of the profile again."""

    def set_debug(self, on: bool) -> None:
        """Turn the debug log of the engine, and of runs started from now on, on or off for this client.

        The log is on while any connected client has turned it on.
        """

    def search(
        self,
        text: str,
        homes: Sequence[str],
        *,
        place: SearchPlace | None = None,
        progress: Callable[[SearchAnswer], None],
        cancel: threading.Event,
    ) -> SearchAnswer:
        """Search for `text` in the homes with these ids; return the hits, best first.

        `place`: the place that the person views, whose notes come first among equally good ones; None: no
        place comes first. `progress` gets the intermediate results of a search for a pattern. If the answer
        is not `complete`, the index is being updated; search again after the event `IndexChanged`.
        """


_OF_SERVICES = (
    *("reviews.apply", "worth_a_look.decide", "transfer.bring_in"),
    *("extracting.run", "noting.update", "replays.run"),
)
_BY_HAND = ("consolidate", "sweep", "harvest", "write", "notes", "extract", "revert")
RUNS = {"run_host", "start_dream", "revert", *_OF_SERVICES, *(f"by_hand.{each}" for each in _BY_HAND)}
"""The dotted names of the calls that start a run, and so are carried out in a process of their own."""
