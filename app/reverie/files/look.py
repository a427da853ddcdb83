"""Whether the disks of some places answer, asked without waiting for them.

A share that is gone keeps whoever looks at it waiting in the kernel, for hours; so a look has a thread of its
own, which may hang. A place that is gone is an answer.

Threading: any thread makes and asks one. Failure: none; what cannot be looked at has answered.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path


class Look:
    """One look at some places, in order. `at` is the one whose disk has not answered yet, None once all have;
    `answered` is set then."""

    def __init__(self, places: Iterable[Path]) -> None:
        self._places = tuple(places)
        self.at: Path | None = self._places[0] if self._places else None
        self.answered = threading.Event()
        self._began = time.monotonic()
        threading.Thread(target=self._run, name="reverie-look", daemon=True).start()

    @property
    def took_s(self) -> float:
        """How long it has taken so far, in seconds."""
        return time.monotonic() - self._began

    def _run(self) -> None:
        for place in self._places:
            self.at = place
            with contextlib.suppress(OSError, ValueError):
                os.stat(place)  # noqa: PTH116 - said as it is
        self.at = None
        self.answered.set()
