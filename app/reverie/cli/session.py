"""What the options of one invocation amount to."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from reverie.clock import Clock, fixed_clock, system_clock

if TYPE_CHECKING:
    from pathlib import Path

    from reverie.agents.discovery import TroubledPlace
    from reverie.agents.scopes import ScopeContext
    from reverie.profile import Profile
    from reverie.services.container import HomeContainer


class Invocation:
    """What the options of one invocation amount to."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.as_json: bool = arguments.json
        self.clock: Clock = system_clock if arguments.now is None else fixed_clock(arguments.now)
        self.left_out: frozenset[Path] = frozenset()
        """The usual places that this command does without, since they could not be looked at."""
        self._opened: list[HomeContainer] = []

    @cached_property
    def profile(self) -> Profile:
        """The profile of `--profile`, else the person's own."""
        # Late: a command that an agent's runner waits for needs none, and looking for it costs time.
        from reverie.profile import Profile

        given = self.arguments.profile
        return Profile.under(given) if given else Profile.default()

    def leave_out(self, places: Iterable[TroubledPlace]) -> None:
        """Wait for none of these places."""
        self.left_out |= {place.root for place in places}

    def home(self, clock: Clock | None = None) -> HomeContainer:
        """The one home that is meant. Raises `Ambiguous` where that is not clear, `Unavailable`."""
        from reverie.cli.homes import the_home

        parts = the_home(self, clock or self.clock)
        self._opened.append(parts)
        return parts

    def overwritten(self) -> list[str]:
        """A sentence for each write of this command that another program has overwritten since."""
        return [lost.sentence() for parts in self._opened for lost in parts.saves.settle()]

    def context(self, parts: HomeContainer) -> ScopeContext:
        """The context that `--workspace` and `--project` name. Raises `Ambiguous`, `Unavailable`."""
        from reverie.cli.homes import the_context

        return the_context(parts, self.arguments.workspace, self.arguments.project)
