"""One invocation of a command: its options, clock and profile, and the homes that it opened.

Light, since an agent's runner waits for `reverie failures`: which home and context are meant is
`cli.homes`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from reverie.clock import Clock, fixed_clock, system_clock

if TYPE_CHECKING:
    from pathlib import Path

    from reverie.agents.discovery import TroubledPlace
    from reverie.profile import Profile
    from reverie.services.container import HomeContainer


class Invocation:
    """The options of one invocation, and what follows from them."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.as_json: bool = arguments.json
        self.clock: Clock = system_clock if arguments.now is None else fixed_clock(arguments.now)
        self.left_out: frozenset[Path] = frozenset()
        """Usual places that could not be read, so that this command does without them."""
        self._opened: list[HomeContainer] = []

    @cached_property
    def profile(self) -> Profile:
        """The profile of `--profile`, else the person's own."""
        # Late: `failures` needs no profile, and an agent's runner waits for it.
        from reverie.profile import Profile

        given = self.arguments.profile
        return Profile.under(given) if given else Profile.default()

    def leave_out(self, places: Iterable[TroubledPlace]) -> None:
        """Wait for none of these places."""
        self.left_out |= {place.root for place in places}

    def opened(self, container: HomeContainer) -> None:
        """The command works on this home: `overwritten` checks what it saved there."""
        self._opened.append(container)

    def overwritten(self) -> list[str]:
        """A sentence for each write of this command that another program has overwritten since."""
        return [lost.sentence() for parts in self._opened for lost in parts.saves.settle()]
