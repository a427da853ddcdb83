"""What tests of the window share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ui_windows import Windows

from helpers.samples import copy_sample


@pytest.fixture
def windows(qtbot: Any, tmp_path: Path) -> Iterator[Windows]:
    """Opens windows; all are closed at the end."""
    made = Windows(qtbot, tmp_path)
    yield made
    made.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A copy of the sample home, without its very long notes."""
    return copy_sample("mux-home", tmp_path, whole=False)


@pytest.fixture
def whole_home(tmp_path: Path) -> Path:
    """A copy of the sample home with all that is in it."""
    return copy_sample("mux-home", tmp_path)
