"""The fault campaign in small: what a disk, a clock, another version or a name can do to a home. Each case
ends in a clear message and intact data; `helpers.fault_room` says how that is judged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers import faults_far
from helpers.fault_room import FaultRoom, names
from helpers.isolation import TEST_PROFILE

# These end without a refusal: what went on in spite of the fault is told instead.
_UNHEARD = ("odd names and locales",)


@pytest.fixture(scope="module")
def fault_room() -> Iterator[FaultRoom]:
    with FaultRoom() as room:
        yield room


# The campaign has them all, in full: a window on a disk that is far away takes its minute.
_NEAR = tuple(name for name in names() if name not in faults_far.CASES)
_SUITE = names() if TEST_PROFILE == "campaign" else _NEAR[::3]


@pytest.mark.parametrize("case", _SUITE)
def test_a_fault_ends_in_a_clear_message_and_loses_no_byte(
    fault_room: FaultRoom, case: str, tmp_path: Path
) -> None:
    report = fault_room.happen(case, tmp_path)
    if report["skipped"]:
        pytest.skip(report["skipped"])
    assert not report["problems"], "\n".join(report["problems"])
    assert report["messages"] or case in _UNHEARD
