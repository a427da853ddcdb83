"""The agent's own lock around a dream: taken before it, given back after it, put back after a kill.

A home whose agent consolidates, too, has a file by which it tells (`Home.agent_lock`). Before a dream takes
it, how it stood is kept in Reverie's own directory, so that `runs.recovery`, of whatever kind the next run
is, knows what to put back (`settle`, under the dream lease, once the killed run is settled). A run by a model
that changed something leaves the present as the last consolidation. Any other run restores the lock, so that
the agent's own consolidation comes when it would have come: a run that changed nothing, one that failed, and
one by rules, which do much less than the agent. A preview takes no lock: it changes nothing.

Threading: any thread but the GUI's. Failure: `Busy` where the agent is at work; what goes wrong with giving
back is noted in Activity, as the run is over by then.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reverie.agents.base import Home
from reverie.agents.capabilities import AgentLock, LockBefore
from reverie.agents.scopes import ScopeContext
from reverie.clock import Clock
from reverie.errors import Busy, Conflict, StoreError, UserError
from reverie.files.directory import ensure_private
from reverie.files.sidecar import Sidecar
from reverie.memory.write_guard import WriteGuard
from reverie.runs.activity import Activity
from reverie.runs.record import RunStore
from reverie.runs.run import Holding

RULES = "rules"
"""The engine that thinks by fixed rules."""
_ENTRY = "held"


class AgentLocks:
    """The agent's locks of one home. `kept`: the file that says how the one we hold stood before."""

    def __init__(
        self,
        home: Home,
        runs: RunStore,
        activity: Activity,
        kept: Path,
        *,
        guard: WriteGuard,
        lock_dir: Path,
        clock: Clock,
    ) -> None:
        self._guard = guard
        self._home = home
        self._runs = runs
        self._activity = activity
        self._kept = kept
        self._sidecar = Sidecar(kept, lock_dir=lock_dir, clock=clock)

    @contextlib.contextmanager
    def hold(
        self, context: ScopeContext, run_id: str, check: Callable[[], None] = lambda: None
    ) -> Iterator[Holding]:
        """Hold it for a run, which begins only then. `check` raises where the dream lease is lost. Raises
        `Busy` while the agent or another dream holds it."""
        lock, holding = self._agent_lock(context), Holding()
        if lock is None:
            yield holding
            return
        self._guard.require_context(context)
        left = self._sidecar.read().data.get(_ENTRY)
        check()  # what is kept until now is what was left over; what comes from here on is another dream's
        before = lock.look()
        self._keep(_entry(run_id, lock.holder, before), left)
        try:
            lock.take(before)
        except BaseException:
            self._forget(run_id)
            raise
        try:
            yield holding
        finally:
            self._give_back(lock, before, lock.holder, run_id, changed=holding.changed)

    def settle(self) -> None:
        """Give back what a killed run held. The caller has the dream lease and has recovered the run."""
        read = self._sidecar.read()
        entry = read.data.get(_ENTRY)
        if entry is None:
            return
        found = _read(entry)
        lock = None if found is None else self._lock_of(found[0])
        if found is None or lock is None:
            self._forget(None if found is None else found[0])
            return
        run_id, holder, before = found
        # No guard here: only a lock that is still ours is put back, also where the store has become unknown
        # since. A refusal would stop the runs of every other project.
        self._give_back(lock, before, holder, run_id, changed=self._outcome(run_id) == "completed")

    def _give_back(
        self, lock: AgentLock, before: LockBefore, holder: int, run_id: str, *, changed: bool
    ) -> None:
        try:
            try:
                consolidated = changed and not self._is_by_rules(run_id)
                lock.done(holder) if consolidated else lock.put_back(before, holder)
            except Conflict as conflict:
                self._tell(run_id, conflict)
            self._forget(run_id)
        except UserError as error:
            self._tell(run_id, error)

    def _lock_of(self, run_id: str) -> AgentLock | None:
        """The lock a run took; None where its record or its store is gone."""
        try:
            context = self._context_of(run_id)
        except UserError:
            return None
        return self._agent_lock(context)

    def _agent_lock(self, context: ScopeContext) -> AgentLock | None:
        rules = self._home.consolidation
        return None if rules is None else rules.agent_lock(context)

    def _context_of(self, run_id: str) -> ScopeContext:
        run = self._runs.load(run_id)
        return self._home.context(
            workspace_id=run.workspace_id, project_path=run.project_path, project_given=True
        )

    def _outcome(self, run_id: str) -> str:
        try:
            return self._runs.load(run_id).outcome
        except StoreError:
            return ""

    def _is_by_rules(self, run_id: str) -> bool:
        try:
            return self._runs.load(run_id).engine == RULES
        except StoreError:
            return False

    def _keep(self, entry: Mapping[str, Any], left: object) -> None:
        """Keep how the lock stood. Raises `Busy` where something else than `left` is kept: this process was
        suspended, and another dream has begun."""
        ensure_private(self._kept.parent)

        def change(raw: dict[str, Any]) -> dict[str, Any]:
            if raw.get(_ENTRY) != left:
                raise Busy("Another dream has begun.", next_step="Wait until it is done, then try again.")
            return {_ENTRY: dict(entry)}

        self._sidecar.update(change)

    def _forget(self, run_id: str | None) -> None:
        """Keep nothing more of this run (None: of what is no entry); what is another's stays."""

        def change(raw: dict[str, Any]) -> dict[str, Any]:
            found = _read(raw.get(_ENTRY))
            return {} if (None if found is None else found[0]) == run_id else raw

        self._sidecar.update(change)

    def _tell(self, run_id: str, error: UserError) -> None:
        self._activity.add(
            "dream.agent-lock",
            level="warning",
            text=f"The agent's own lock was not given back. {error}",
            home=str(self._home.root),
            workspace_id=None,
            run_id=run_id,
        )


def _entry(run_id: str, holder: int, before: LockBefore) -> dict[str, Any]:
    body = None if before.body is None else before.body.hex()
    # As text: JSON's numbers do not hold nanoseconds everywhere.
    return {"runId": run_id, "holder": holder, "body": body, "mtimeNs": str(before.mtime_ns)}


def _read(entry: object) -> tuple[str, int, LockBefore] | None:
    """Run, holder and state before; None for what is no entry of ours."""
    if not isinstance(entry, dict):
        return None
    try:
        body = entry["body"]
        before = LockBefore(None if body is None else bytes.fromhex(body), int(entry["mtimeNs"]))
        return str(entry["runId"]), int(entry["holder"]), before
    except (KeyError, TypeError, ValueError):
        return None
