"""Why a background run did not happen, and Reverie's own state: checks, evidence, fixes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar


class HasState(Protocol):
    """What a check found: `Finding`, or its view."""

    @property
    def state(self) -> str:
        """`pass`, `off`, `warn` or `fail`."""


AnyFinding = TypeVar("AnyFinding", bound=HasState)


def first_cause(findings: Iterable[AnyFinding]) -> AnyFinding | None:
    """Why nothing happened: the first failure in the order of the gates, else the first warning; None: no
    reason is known. What is only switched off is no cause."""
    found = tuple(findings)
    failed = next((finding for finding in found if finding.state == "fail"), None)
    return failed or next((finding for finding in found if finding.state == "warn"), None)
