"""What the collection of the tests made lives to the end, so the garbage collector does not look at it, until
the first window ends (`reverie.ui.window.main_window` lets go of all that is frozen).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

# Until the end of the collection nothing can be garbage worth the search.
gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    gc.enable()


@contextmanager
def no_search_for_garbage() -> Iterator[None]:
    """Keep the collector off while a million nodes of syntax trees are made: it doubles the time, and finds
    none."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
