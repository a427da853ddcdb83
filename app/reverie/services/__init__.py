"""Services of a home for the window and the commands, and its background services.

`HomeServices` names the services of a home. Each service is imported and built on first use, both in the
engine and in its client: a window needs only the trees when it opens, and importing pydantic, asyncio or the
rules of duplicates takes 40 to 400 ms. Two threads may build the same service twice, which is harmless.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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

    The service is built when the attribute is first read. `load` imports the class of the service and returns
    it. `make(home, class)` builds the service; if `make` is None, `class(home.parts)` builds it.
    """

    def __init__(self, load: Callable[[], type[T]], make: Callable[[Any, type[T]], T] | None = None) -> None:
        self.load = load
        self._make = make
        self.__doc__ = load.__doc__
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
        made = kind(home.parts) if self._make is None else self._make(home, kind)  # type: ignore[call-arg]
        # Later look-ups find the attribute without this method.
        home.__dict__[self._name] = made
        return made


def service(load: Callable[[], type[T]]) -> LazyService[T]:
    """Turn `load`, a function that imports and returns a class, into a lazy attribute of a home.

    Reading the attribute returns an instance of that class, built by `class(home.parts)` on first use.
    """
    return LazyService(load)


def service_made_by(make: Callable[[Any, Any], Any]) -> Callable[[Callable[[], type[T]]], LazyService[T]]:
    """Return a decorator that turns a function into a lazy attribute of a home, as `service` does.

    The instance is built by `make(home, class)` instead of `class(home.parts)`.
    """
    return lambda load: LazyService(load, make)


class HomeServices:
    """The services of one home, each about one subject, as attributes of the home.

    Each function below imports and returns the class of a service; it is never called as a method. Its
    decorator replaces it by an attribute with the same name, such as `home.timeline`: an instance of that
    class, built when the attribute is first read.
    """

    if TYPE_CHECKING:
        parts: HomeContainer

    @service
    def timeline() -> type[TimelineService]:
        """Return the class of `home.timeline`, which reads the history of each memory."""
        from reverie.services import timeline as module

        return module.TimelineService

    @service_made_by(lambda home, kind: kind(home.parts, home.timeline))
    def change_log() -> type[ChangeLogService]:
        """Return the class of `home.change_log`, which lists every change set (commit) of the history."""
        from reverie.services import change_log as module

        return module.ChangeLogService

    @service
    def activity() -> type[ActivityService]:
        """Return the class of `home.activity`, which lists what background services did.

        It lists the runs in progress, too.
        """
        from reverie.services import activity as module

        return module.ActivityService

    @service
    def traces() -> type[TraceService]:
        """Return the class of `home.traces`, which lists and reads traces.

        A trace is the recorded conversation of a run with its model.
        """
        from reverie.services import traces as module

        return module.TraceService

    @service
    def transcripts() -> type[TranscriptService]:
        """Return the class of `home.transcripts`, which lists and reads transcripts.

        A transcript is the agent's file of one conversation.
        """
        from reverie.services import traces as module

        return module.TranscriptService

    @service
    def extracting() -> type[ExtractionService]:
        """Return the class of `home.extracting`, which extracts memories from Codex rollouts.

        A rollout is a file with one conversation. For the home of any other agent, `available` of the service
        is False.
        """
        from reverie.services import background as module

        return module.ExtractionService

    @service
    def noting() -> type[SessionNotesService]:
        """Return the class of `home.noting`, which shows and updates session notes."""
        from reverie.services import background as module

        return module.SessionNotesService

    @service
    def merges() -> type[MergeService]:
        """Return the class of `home.merges`, which merges memories by hand."""
        from reverie.services import merges as module

        return module.MergeService

    @service
    def trash() -> type[TrashService]:
        """Return the class of `home.trash`, which lists and restores deleted memories."""
        from reverie.services import trash as module

        return module.TrashService

    @service
    def transfer() -> type[TransferService]:
        """Return the class of `home.transfer`, which exports memories, and imports files as a proposal."""
        from reverie.services import transfer as module

        return module.TransferService

    @service_made_by(lambda home, kind: kind(home.traces, home.models, home.parts.clock))
    def replays() -> type[Replays]:
        """Return the class of `home.replays`, which sends a memory writer's prompt to a model again.

        The model changes only a copy of the memory.
        """
        from reverie.services import traces as module

        return module.Replays

    @service_made_by(lambda home, kind: _finding_service(home, kind))
    def worth_a_look() -> type[FindingService]:
        """Return the class of `home.worth_a_look`, which finds problems that a person should review."""
        from reverie.services import findings as module

        return module.FindingService

    @service_made_by(lambda home, kind: _claim_service(home, kind))
    def claims() -> type[ClaimService]:
        """Return the class of `home.claims`, which checks statements of memories about their project."""
        from reverie.services import claims as module

        return module.ClaimService

    @service
    def orphans() -> type[OrphanService]:
        """Return the class of `home.orphans`, for directories of notes whose project no longer exists."""
        from reverie.services import orphans as module

        return module.OrphanService

    @service
    def models() -> type[Models]:
        """Return the class of `home.models`, which chooses engines, and stores consent and keys."""
        from reverie.services import models as module

        return module.Models

    @service
    def edits() -> type[UserEdits]:
        """Return the class of `home.edits`, which deletes, renames, pins and converts memories by hand."""
        from reverie.services import edits as module

        return module.UserEdits

    @service
    def companions() -> type[CompanionFiles]:
        """Return the class of `home.companions`, for files that the agent loads beside its memories."""
        from reverie.services import edits as module

        return module.CompanionFiles

    @service
    def moves() -> type[Moves]:
        """Return the class of `home.moves`, which moves memories between folders and scopes."""
        from reverie.services import moves as module

        return module.Moves

    @service
    def records() -> type[RecordEdits]:
        """Return the class of `home.records`, which edits single fields of loki-mode's failure records.

        Reading the attribute raises `Unavailable` if the agent keeps no such records.
        """
        from reverie.services import failures as module

        return module.RecordEdits

    @service_made_by(lambda home, kind: kind(home.parts, home._seen))
    def unseen() -> type[UnseenService]:
        """Return the class of `home.unseen`, which reports changes that a person has not seen yet."""
        from reverie.services import unseen as module

        return module.UnseenService

    @service_made_by(lambda home, kind: kind(home.parts, home.records))
    def failures() -> type[FailureService]:
        """Return the class of `home.failures`, for lessons that the agent learned from failures.

        Reading the attribute raises `Unavailable` if the agent keeps no records of failures.
        """
        from reverie.services import failures as module

        return module.FailureService

    @service
    def index_care() -> type[IndexService]:
        """Return the class of `home.index_care`, which checks and repairs the agent's index files."""
        from reverie.services import memory_index as module

        return module.IndexService

    @service_made_by(lambda home, kind: kind(home.parts, home._current_text))
    def drafts() -> type[DraftService]:
        """Return the class of `home.drafts`, which stores text that a person typed but did not save."""
        from reverie.services import drafts as module

        return module.DraftService

    @service
    def reviews() -> type[ReviewService]:
        """Return the class of `home.reviews`, which shows the changes of a run and applies accepted ones."""
        from reverie.services import reviews as module

        return module.ReviewService

    @service_made_by(lambda home, kind: kind(home.parts, home.view, lambda: home.reviews))
    def shown() -> type[CommandViews]:
        """Return the class of `home.shown`, which reads the data that commands print."""
        from reverie.services import command_views as module

        return module.CommandViews

    @service_made_by(lambda home, kind: kind(home.parts, home.view))
    def agent_commands() -> type[AgentCommands]:
        """Return the class of `home.agent_commands`, which carries out memory commands of other programs."""
        from reverie.services import agent_commands as module

        return module.AgentCommands

    @service
    def by_hand() -> type[RunsByHand]:
        """Return the class of `home.by_hand`, for runs that a person starts by a command."""
        from reverie.services import commands as module

        return module.RunsByHand


def _finding_service(home: Workbench, kind: type[FindingService]) -> FindingService:
    return kind(home.parts, partial(home.view, names_only=True), lambda: home.claims)


def _claim_service(home: Workbench, kind: type[ClaimService]) -> ClaimService:
    change = partial(home.apply_changes, kind="restore", subject="Stale statements fixed by hand")
    written = partial(home.parts.own_sidecar, "line-times.json")
    return kind(partial(home.view, names_only=True), lambda: home.timeline, change, written)
