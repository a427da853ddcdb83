"""The functions that build the tabs beside Memory and the pages in place of the editor, as a table.

A job imports this module, and with it the tabs, once the first tree is on screen. The modules of the two
pages are imported only when the pages are first shown, because that takes as long again and many windows
never show them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reverie.ui.changes.control import ChangesControl
from reverie.ui.changes.tab import ChangesTab
from reverie.ui.traces.tab import TracesTab
from reverie.ui.transcripts.tab import JobsDialog, TranscriptsTab
from reverie.ui.window.services import ServicesView
from reverie.ui.window.tab_context import Factory, TabContext

if TYPE_CHECKING:
    from reverie.ui.context_tab import ContextTab
    from reverie.ui.failures_tab import FailuresTab


def _changes(context: TabContext) -> ChangesControl:
    lane, icons, memory = context.history, context.icons, context.memory
    tab = ChangesTab(lane, icons, context.clock)
    return ChangesControl(tab, lane, memory.dreams, memory.edits, lambda: memory.update_, icons)


def _context(context: TabContext) -> ContextTab:
    # Late, with the modules that work out how an agent builds its context; see above.
    from reverie.ui.context_tab import ContextTab

    memory = context.memory
    tab = ContextTab(context.icons, context.clock, memory.buffers, memory.edits, memory.stale.findings_at)
    memory.stale.changed.connect(tab.refresh)
    return tab


def _failures(context: TabContext) -> FailuresTab:
    from reverie.ui.failures_tab import FailuresTab  # late; see above

    return FailuresTab(context.icons, context.clock, context.memory.edits)


FACTORIES: Mapping[str, Factory] = {
    "changes": _changes,
    "traces": lambda context: TracesTab(context.icons, context.clock),
    "services": lambda context: ServicesView(context.lane, context.dreams),
    "transcripts": lambda context: TranscriptsTab(context.icons, context.clock),
    "context": _context,
    "failures": _failures,
    "jobs": lambda context: JobsDialog(context.icons, context.clock, context.lane, context.memory.window()),
}
