"""What holds around every test, in one fixture: seven thousand tests would pay for each further one.

From the outside in: a home of its own (`isolation`), no write or call outside (`guards`), no thread left
behind (`leaks`), no unexpected warning (`expect_log`). Every rule is checked, whatever the others found.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from helpers.expect_log import ExpectLog, warnings_collected
from helpers.guards import guarded
from helpers.isolation import a_home
from helpers.leaks import threads_watched


class Around(NamedTuple):
    home: Path
    log: ExpectLog


@pytest.fixture(autouse=True)
def around() -> Iterator[Around]:
    """Fail the test if it broke a rule."""
    complaints: list[str] = []
    with (
        a_home() as home,
        guarded(complaints),
        threads_watched(complaints),
        warnings_collected(complaints) as log,
    ):
        yield Around(home, log)
    if complaints:
        pytest.fail("\n".join(complaints), pytrace=False)


@pytest.fixture
def expect_log(around: Around) -> ExpectLog:
    """Return a function that declares the warnings that a test provokes; see `helpers.expect_log`."""
    return around.log


@pytest.fixture
def isolated_home(around: Around) -> Path:
    """The test's own home, empty at first, which is also its working directory."""
    return around.home
