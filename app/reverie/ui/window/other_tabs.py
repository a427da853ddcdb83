"""The tabs beside Memory, made when each is first shown.

Imported by a job once the first tree is on screen, so that everything they need is imported here, and nowhere
late; the same job looks up what an engine can be asked for, which imports the values that come back.

Threading: GUI thread. Failure: none of its own.
"""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from reverie.clock import Clock
from reverie.engine.engine import HomeEngine
from reverie.engine.wire import names_of
from reverie.ui.appearance import Icons
from reverie.ui.background import ServicesView
from reverie.ui.changes.control import ChangesControl
from reverie.ui.changes.tab import ChangesTab
from reverie.ui.context_tab import ContextControl, ContextTab
from reverie.ui.failures_tab import FailuresControl, FailuresTab
from reverie.ui.jobs import Lane
from reverie.ui.memory.tab import MemoryTab
from reverie.ui.settings import dialog as _settings  # noqa: F401 - asked for by a key at any time
from reverie.ui.traces.tab import TracesTab
from reverie.ui.transcripts.tab import JobsDialog, TranscriptsTab


def load() -> None:
    """What the job does beside the imports."""
    names_of(HomeEngine)


class OtherTabs:
    """Makes them for one window."""

    def __init__(self, icons: Icons, clock: Clock, lane: Lane, memory: MemoryTab) -> None:
        self._icons = icons
        self._clock = clock
        self._lane = lane
        self._memory = memory

    def changes(self, lane: Lane) -> ChangesControl:
        """Changes, and what reads them."""
        memory = self._memory
        tab = ChangesTab(lane, self._icons, self._clock)
        return ChangesControl(tab, lane, memory.dreams, memory.edits, lambda: memory.update_, self._icons)

    def traces(self) -> TracesTab:
        """Traces."""
        return TracesTab(self._icons, self._clock)

    def services(self, traces: TracesTab) -> ServicesView:
        """The background services, and the checks and the log of the traces."""
        return ServicesView(traces, self._lane, self._memory.dreams)

    def transcripts(self) -> TranscriptsTab:
        """Transcripts."""
        return TranscriptsTab(self._icons, self._clock)

    def context(self) -> ContextControl:
        """Context, and what works out what it shows."""
        memory = self._memory
        tab = ContextTab(self._icons)
        made = ContextControl(tab, self._clock, memory.buffers, memory.edits, memory.stale.findings_at)
        memory.stale.changed.connect(made.mark_again)
        return made

    def failures(self) -> FailuresControl:
        """Failures, and what reads them."""
        return FailuresControl(FailuresTab(self._icons), self._icons, self._clock, self._memory.edits)

    def jobs(self, parent: QWidget) -> JobsDialog:
        """The background jobs of an agent."""
        return JobsDialog(self._icons, self._clock, self._lane, parent)
