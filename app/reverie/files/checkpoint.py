"""Named steps of the code that must survive a kill.

`checkpoint("fsync")` says "this step is done now". By default nobody listens and the call costs a comparison.
The kill campaign sets an observer that ends the process at a chosen step; there is one observer per process
and it runs on whichever thread reaches the step. An exception from it travels up through the interrupted
operation, which must then leave the disk as after any other failure.
"""

from __future__ import annotations

from collections.abc import Callable

_observer: Callable[[str], None] | None = None


def checkpoint(name: str) -> None:
    """Tell the observer, if there is one, that the step `name` has just been done."""
    if _observer is not None:
        _observer(name)


def set_observer(observer: Callable[[str], None] | None) -> None:
    """Listen to every checkpoint of this process; None stops listening."""
    global _observer
    _observer = observer
