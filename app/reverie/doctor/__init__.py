"""Checks of background runs and of Reverie itself: findings with evidence and fixes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar


class HasState(Protocol):
    """Any result of a check that has a `state`, such as a `Finding` or a `FindingView`."""

    @property
    def state(self) -> str:
        """The state of the result: `pass`, `off` (a feature that is switched off), `warn` or `fail`."""


AnyFinding = TypeVar("AnyFinding", bound=HasState)


def first_cause(findings: Iterable[AnyFinding]) -> AnyFinding | None:
    """Return the finding that best explains why a run did nothing; None if none does.

    It is the first failure in `findings` or, if there is none, the first warning. `findings` must be in the
    order in which a run tests its conditions. A finding with the state `off` is not a cause.
    """
    found = tuple(findings)
    failed = next((finding for finding in found if finding.state == "fail"), None)
    return failed or next((finding for finding in found if finding.state == "warn"), None)
