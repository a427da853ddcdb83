"""The parts of a window that its tabs use, as one value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from reverie.clock import Clock
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane
from reverie.ui.memory.footer_control import FooterControl
from reverie.ui.window.homes import OpenHomes
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.ui.memory.tab import MemoryTab


class TabContext(Struct, frozen=True):
    """The parts of a window from which the factories build its tabs."""

    icons: Icons
    clock: Clock
    lane: Lane
    """The queue of jobs that read and write files."""
    history: Lane
    """The queue of jobs that read the history."""
    dreams: FooterControl
    """The controller of consolidations."""
    homes: OpenHomes
    memory: MemoryTab


Factory = Callable[[TabContext], Any]
"""A function that builds a tab, or its controller."""
