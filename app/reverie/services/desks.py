"""The desks of one home: each looks after one thing, and is made on first use.

What a first look at the trees does not need is imported by the desk that needs it, so that the window paints
first. Threading and failure: as each desk says.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from reverie.services.parts import HomeParts

if TYPE_CHECKING:
    from reverie.services.companions import CompanionFiles
    from reverie.services.duplicates import DuplicateDesk
    from reverie.services.extracting import ExtractDesk
    from reverie.services.failures import FailureDesk
    from reverie.services.hand_changes import HandChanges
    from reverie.services.hand_edits import HandEdits
    from reverie.services.index_care import IndexDesk
    from reverie.services.lint import LintDesk
    from reverie.services.models import Models
    from reverie.services.moves import Moves
    from reverie.services.noting import NotingDesk
    from reverie.services.orphans import OrphanDesk
    from reverie.services.records import RecordEdits
    from reverie.services.replay import Replays
    from reverie.services.reviews import ReviewDesk
    from reverie.services.seen import SeenLog
    from reverie.services.timeline import TimelineDesk
    from reverie.services.traces import TraceDesk
    from reverie.services.transcripts import TranscriptDesk
    from reverie.services.trash import TrashDesk


class Desks:
    """What can be done with one home, by what it is about."""

    def __init__(self, parts: HomeParts) -> None:
        self.parts = parts

    @cached_property
    def timeline(self) -> TimelineDesk:
        """What happened to each memory of this home."""
        from reverie.services.timeline import TimelineDesk

        return TimelineDesk(self.parts)

    @cached_property
    def traces(self) -> TraceDesk:
        """The traces of this home."""
        from reverie.services.traces import TraceDesk

        return TraceDesk(self.parts)

    @cached_property
    def transcripts(self) -> TranscriptDesk:
        """The transcripts of this home."""
        from reverie.services.transcripts import TranscriptDesk

        return TranscriptDesk(self.parts)

    @cached_property
    def extracting(self) -> ExtractDesk:
        """Rollouts of this home that become memories; only Codex has them (`available`)."""
        from reverie.services.extracting import ExtractDesk

        return ExtractDesk(self.parts)

    @cached_property
    def noting(self) -> NotingDesk:
        """Session notes of this home."""
        from reverie.services.noting import NotingDesk

        return NotingDesk(self.parts)

    @cached_property
    def duplicates(self) -> DuplicateDesk:
        """Memories of this home that say the same."""
        from reverie.services.duplicates import DuplicateDesk

        return DuplicateDesk(self.parts)

    @cached_property
    def trash(self) -> TrashDesk:
        """What was deleted in this home."""
        from reverie.services.trash import TrashDesk

        return TrashDesk(self.parts)

    @cached_property
    def lint(self) -> LintDesk:
        """What a person may want to look at in the memories of this home."""
        from reverie.services.lint import LintDesk

        return LintDesk(self.parts.home.caps)

    @property
    def replays(self) -> Replays:
        """Runs of the memory writer asked again, on a copy."""
        from reverie.services.replay import Replays

        return Replays(self.models, self.parts.clock)

    @cached_property
    def orphans(self) -> OrphanDesk:
        """Stores of this home that nobody works on any more."""
        from reverie.services.orphans import OrphanDesk

        return OrphanDesk(self.parts)

    @cached_property
    def models(self) -> Models:
        """Engines, consent and keys of this home."""
        from reverie.services.models import Models

        return Models(self.parts)

    @cached_property
    def _edits(self) -> HandEdits:
        from reverie.services.hand_edits import HandEdits

        return HandEdits(self.parts)

    @cached_property
    def moves(self) -> Moves:
        """Moving memories of this home."""
        from reverie.services.moves import Moves

        return Moves(self.parts)

    @cached_property
    def records(self) -> RecordEdits:
        """Changing the records of this home, where it keeps some. Raises `Unavailable`."""
        from reverie.services.records import RecordEdits

        return RecordEdits(self.parts)

    @cached_property
    def failures(self) -> FailureDesk:
        """What the agent learnt of failing, where it keeps that. Raises `Unavailable`."""
        from reverie.services.failures import FailureDesk

        return FailureDesk(self.parts, self.records)

    @cached_property
    def index_care(self) -> IndexDesk:
        """The indexes that the agent of this home keeps of its memories."""
        from reverie.services.index_care import IndexDesk

        return IndexDesk(self.parts)

    @cached_property
    def _changes(self) -> HandChanges:
        from reverie.services.hand_changes import HandChanges

        return HandChanges(self.parts)

    @cached_property
    def reviews(self) -> ReviewDesk:
        """The runs of this home, looked through."""
        from reverie.services.reviews import ReviewDesk

        return ReviewDesk(self.parts)

    @cached_property
    def _companions(self) -> CompanionFiles:
        from reverie.services.companions import CompanionFiles

        return CompanionFiles(self.parts)

    @cached_property
    def _seen(self) -> SeenLog:
        from reverie.services.seen import SeenLog

        return SeenLog(
            self.parts.own_sidecars / "seen.json",
            lambda: self.parts.snapshots.history,
            self.parts.actors,
            lock_dir=self.parts.profile.locks,
            clock=self.parts.clock,
        )
