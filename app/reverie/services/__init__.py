"""Services of a home for the window and the commands, and its background services.

`HomeServices` names the services of a home. Each service is imported and built on first use, both in the
engine and in its client: a window needs only the trees when it opens, and importing pydantic, asyncio or the
rules of duplicates takes 40 to 400 ms. Two threads may build the same service twice, which is harmless.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

if TYPE_CHECKING:
    from reverie.services.activity import ActivityService
    from reverie.services.agent_commands import AgentCommands
    from reverie.services.background import ExtractionService, SessionNotesService
    from reverie.services.change_log import ChangeLogService
    from reverie.services.claims import ClaimService
    from reverie.services.command_views import CommandViews
    from reverie.services.commands import RunsByHand
    from reverie.services.container import HomeContainer
    from reverie.services.drafts import DraftService
    from reverie.services.edits import CompanionFiles, UserEdits
    from reverie.services.failures import FailureService, RecordEdits
    from reverie.services.findings import FindingService
    from reverie.services.memory_index import IndexService
    from reverie.services.merges import MergeService
    from reverie.services.models import Models
    from reverie.services.moves import Moves
    from reverie.services.orphans import OrphanService
    from reverie.services.reviews import ReviewService
    from reverie.services.timeline import TimelineService
    from reverie.services.traces import Replays, TraceService, TranscriptService
    from reverie.services.transfer import TransferService
    from reverie.services.trash import TrashService
    from reverie.services.unseen import UnseenService
    from reverie.services.workbench import Workbench

T = TypeVar("T")


class LazyService(Generic[T]):
    """A descriptor that stands for a service of a home: reading the attribute returns the service.

    The class of the service is imported, and the service built, when the attribute is first read.
    """

    def __init__(self, place: str, make: Callable[[Any, Any], T] | None = None) -> None:
        """Set the class of the service by its module and name, such as `reverie.services.trash.TrashService`.

        `make(home, class)` builds the service; if `make` is None, `class(home.parts)` does.
        """
        self._place = place
        self._make = make
        self._name = ""

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, home: None, owner: type) -> Self: ...
    @overload
    def __get__(self, home: object, owner: type) -> T: ...
    def __get__(self, home: Any, owner: type) -> Self | T:
        if home is None:
            return self
        kind = self.load()
        made: T = kind(home.parts) if self._make is None else self._make(home, kind)
        # Later look-ups find the attribute without this method.
        home.__dict__[self._name] = made
        return made

    def load(self) -> Any:
        """Import and return the class of the service."""
        module, _dot, name = self._place.rpartition(".")
        return getattr(import_module(module), name)


def _finding_service(home: Workbench, kind: type[FindingService]) -> FindingService:
    return kind(home.parts, partial(home.view, names_only=True), lambda: home.claims)


def _claim_service(home: Workbench, kind: type[ClaimService]) -> ClaimService:
    change = partial(home.apply_changes, kind="restore", subject="Stale statements fixed by hand")
    written = partial(home.parts.own_sidecar, "line-times.json")
    return kind(partial(home.view, names_only=True), lambda: home.timeline, change, written)


class HomeServices:
    """The services of one home, each about one subject, as attributes of the home."""

    if TYPE_CHECKING:
        parts: HomeContainer

    timeline: LazyService[TimelineService] = LazyService("reverie.services.timeline.TimelineService")
    """Reads the history of each memory."""
    change_log: LazyService[ChangeLogService] = LazyService(
        "reverie.services.change_log.ChangeLogService", lambda home, kind: kind(home.parts, home.timeline)
    )
    """Lists every change set (commit) of the history."""
    activity: LazyService[ActivityService] = LazyService("reverie.services.activity.ActivityService")
    """Lists what background services did.

    It lists the runs in progress, too.
    """
    traces: LazyService[TraceService] = LazyService("reverie.services.traces.TraceService")
    """Lists and reads traces.

    A trace is the recorded conversation of a run with its model.
    """
    transcripts: LazyService[TranscriptService] = LazyService("reverie.services.traces.TranscriptService")
    """Lists and reads transcripts.

    A transcript is the agent's file of one conversation.
    """
    extracting: LazyService[ExtractionService] = LazyService("reverie.services.background.ExtractionService")
    """Extracts memories from Codex rollouts.

    A rollout is a file with one conversation. For the home of any other agent, `available` of the service
    is False.
    """
    noting: LazyService[SessionNotesService] = LazyService("reverie.services.background.SessionNotesService")
    """Shows and updates session notes."""
    merges: LazyService[MergeService] = LazyService("reverie.services.merges.MergeService")
    """Merges memories by hand."""
    trash: LazyService[TrashService] = LazyService("reverie.services.trash.TrashService")
    """Lists and restores deleted memories."""
    transfer: LazyService[TransferService] = LazyService("reverie.services.transfer.TransferService")
    """Exports memories, and imports files as a proposal."""
    replays: LazyService[Replays] = LazyService(
        "reverie.services.traces.Replays", lambda home, kind: kind(home.traces, home.models, home.parts.clock)
    )
    """Sends a memory writer's prompt to a model again.

    The model changes only a copy of the memory.
    """
    worth_a_look: LazyService[FindingService] = LazyService(
        "reverie.services.findings.FindingService", _finding_service
    )
    """Finds problems that a person should review."""
    claims: LazyService[ClaimService] = LazyService("reverie.services.claims.ClaimService", _claim_service)
    """Checks statements of memories about their project."""
    orphans: LazyService[OrphanService] = LazyService("reverie.services.orphans.OrphanService")
    """Shows directories of notes whose project no longer exists, and keeps or removes them."""
    models: LazyService[Models] = LazyService("reverie.services.models.Models")
    """Chooses engines, and stores consent and keys."""
    edits: LazyService[UserEdits] = LazyService("reverie.services.edits.UserEdits")
    """Deletes, renames, pins and converts memories by hand."""
    companions: LazyService[CompanionFiles] = LazyService("reverie.services.edits.CompanionFiles")
    """Reads and edits files that the agent loads beside its memories."""
    moves: LazyService[Moves] = LazyService("reverie.services.moves.Moves")
    """Moves memories between folders and scopes."""
    records: LazyService[RecordEdits] = LazyService("reverie.services.failures.RecordEdits")
    """Edits single fields of loki-mode's failure records.

    Reading the attribute raises `Unavailable` if the agent keeps no such records.
    """
    unseen: LazyService[UnseenService] = LazyService(
        "reverie.services.unseen.UnseenService", lambda home, kind: kind(home.parts, home._seen)
    )
    """Reports changes that a person has not seen yet."""
    failures: LazyService[FailureService] = LazyService(
        "reverie.services.failures.FailureService", lambda home, kind: kind(home.parts, home.records)
    )
    """Shows the lessons that the agent learned from failures.

    Reading the attribute raises `Unavailable` if the agent keeps no records of failures.
    """
    index_care: LazyService[IndexService] = LazyService("reverie.services.memory_index.IndexService")
    """Checks and repairs the agent's index files."""
    drafts: LazyService[DraftService] = LazyService(
        "reverie.services.drafts.DraftService", lambda home, kind: kind(home.parts, home._current_text)
    )
    """Stores text that a person typed but did not save."""
    reviews: LazyService[ReviewService] = LazyService("reverie.services.reviews.ReviewService")
    """Shows the changes of a run and applies accepted ones."""
    shown: LazyService[CommandViews] = LazyService(
        "reverie.services.command_views.CommandViews",
        lambda home, kind: kind(home.parts, home.view, lambda: home.reviews),
    )
    """Reads the data that commands print."""
    agent_commands: LazyService[AgentCommands] = LazyService(
        "reverie.services.agent_commands.AgentCommands", lambda home, kind: kind(home.parts, home.view)
    )
    """Carries out memory commands of other programs."""
    by_hand: LazyService[RunsByHand] = LazyService("reverie.services.commands.RunsByHand")
    """Starts the runs that a person asks for by a command."""
