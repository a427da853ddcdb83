"""The embedded rules engine: plans by fixed rules (`dream.rules`) and issues the plan to the guard, like a
model.

Each group of operations (a merge and its delete) is all or nothing: when one is refused or fails, the overlay
goes back to where the group began and its entries are marked as not applied. No account, no network, no
model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from reverie.agent.account import Account
from reverie.dream import rules
from reverie.dream.overlay import DreamOverlay
from reverie.dream.progress import DreamProgress
from reverie.runs.guard import Guard
from reverie.runs.limits import Limits


class RulesEngine:
    """Implements `dream.engine.Engine`."""

    name = "rules"

    def account(self) -> Account:
        """Rules ask no model: nothing was spent, and there is no trace."""
        return Account()

    async def dream(
        self,
        overlay: DreamOverlay,
        guard: Guard,
        *,
        limits: Limits,
        progress: Callable[[DreamProgress], None],
    ) -> str:
        """Survey, plan, issue. Returns the summary line."""
        progress(DreamProgress("reading"))
        notes = overlay.notes(limits.check)
        progress(DreamProgress("planning", 0, len(notes)))
        await asyncio.sleep(0)
        plan = rules.plan(notes, budget=guard.remaining, caps=overlay.caps, check=limits.check)
        for number, group in enumerate(plan.groups, start=1):
            limits.check()
            self._issue(overlay, guard, group)
            progress(DreamProgress(group.reason, number, len(plan.groups), guard.ops[-1]))
            await asyncio.sleep(0)
        if plan.groups and not guard.applied:
            return "Nothing could be applied."
        return plan.summary

    @staticmethod
    def _issue(overlay: DreamOverlay, guard: Guard, group: rules.Group) -> None:
        savepoint, position = overlay.savepoint(), len(guard.ops)
        for operation in group.operations:
            request = {"command": operation.command, "path": operation.path, **operation.arguments}
            answer = guard.execute(request, reason=group.reason)
            if not answer["success"]:
                overlay.rollback(savepoint)
                guard.withdraw(position, f"undone with its group: {answer['error']}")
                return
