"""Checkpoints: silent by default, heard in order by the one observer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reverie.files.atomic import checkpoint, set_observer


@pytest.fixture(autouse=True)
def _no_observer_left() -> Iterator[None]:
    yield
    set_observer(None)


def test_nothing_happens_without_an_observer() -> None:
    checkpoint("temp")


def test_the_observer_hears_every_step_in_order_until_it_is_taken_away() -> None:
    heard: list[str] = []
    set_observer(heard.append)
    checkpoint("temp")
    checkpoint("fsync")
    set_observer(None)
    checkpoint("replace")
    assert heard == ["temp", "fsync"]


def test_what_the_observer_raises_reaches_the_interrupted_operation() -> None:
    def stop(_name: str) -> None:
        raise RuntimeError("stop here")

    set_observer(stop)
    with pytest.raises(RuntimeError, match="stop here"):
        checkpoint("temp")
