"""Writing one directory's memory: one run with its record, one transaction, the history before and after.

The thinking is over by then and had no effect. The home's dream lease is held for the moment of writing only;
what is to be written is planned under it, from the files as they are then, and once more where somebody
changed one meanwhile. `confirm` is what must hold besides (a row in Reverie's own state): where it fails, the
files are put back.

Threading: one event loop; blocking on disk. Failure: `UserError`, `Cancelled`, `TimedOut`, `LeaseLost`;
the record tells.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reverie.agents.base import Extraction
from reverie.agents.scopes import ScopeContext, ScopeRoot
from reverie.errors import Unavailable, UserError
from reverie.files.atomic import LEFT_OVER_AFTER_S
from reverie.files.rooted import RootedDirectory
from reverie.jobs.extraction.state import ExtractState
from reverie.memory.write_guard import write_locks
from reverie.runs.activity import Activity
from reverie.runs.recovery import RunDependencies

_SWAPS = 4
ACTOR = "extract"


@dataclass(frozen=True, slots=True)
class ExtractDependencies:
    """What extraction works on, of one home."""

    run: RunDependencies
    activity: Activity
    save_trace: Callable[[str, Mapping[str, Any]], object]
    state: ExtractState

    @property
    def extraction(self) -> Extraction:
        """What the home has to extract from. Raises `Unavailable` for an agent without threads."""
        extraction = self.run.home.extraction
        if extraction is None:
            raise Unavailable(
                "There is nothing to extract here.",
                cause="Only Codex keeps rollouts that become memories this way.",
                next_step="Choose a Codex home.",
                reason="not-codex",
            )
        return extraction


def context_of(cwd: str, bucket: str) -> ScopeContext:
    """The context of a directory's memory as the first generation keeps it, whatever else is there."""
    return ScopeContext(None, cwd, None, store=f"project/{bucket}")


def sweep(parts: ExtractDependencies, root: ScopeRoot) -> None:
    """Hidden files that a killed process left harm nobody."""
    home, lock_dir = parts.run.home, parts.run.guard.lock_dir
    with contextlib.suppress(UserError), write_locks(home, (root,), lock_dir=lock_dir):
        RootedDirectory(root.directory).sweep(older_than_s=LEFT_OVER_AFTER_S)
