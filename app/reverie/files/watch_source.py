"""Where events come from: the interface of a source.

A source watches directories and tells its sink which paths changed; it decides nothing. The source of the
program is watchdog's observer (`files.watch_observer`); tests put others in its place.

Threading: `arm` and `close` are called by one thread, the sink is called on the source's own threads.
Failure: `arm` and the constructors raise OSError when the system refuses more watches. A directory that
vanishes meanwhile is no failure: whoever plans looks again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from reverie.files.watch_plan import Watched


class Sink(Protocol):
    """What a source talks to. Every call returns at once and may come from any thread."""

    def changed(self, paths: Sequence[str]) -> None:
        """One real path per raw event."""

    def roots_changed(self) -> None:
        """A directory that was armed is gone or has moved."""

    def trouble(self, reason: str) -> None:
        """Events were lost, or the source can no longer be trusted: make a new one and rescan."""


class EventSource(Protocol):
    """A set of watched directories."""

    @property
    def watches(self) -> int:
        """How many directories are under watch, those below recursive ones included where that is known."""

    def arm(self, directories: Mapping[str, Watched]) -> frozenset[str]:
        """Watch exactly these directories; returns those that were not under (living) watch before."""

    def healthy(self) -> bool:
        """Whether it can still be trusted to send events."""

    def close(self) -> None:
        """Stop and join. Safe to call twice."""


SourceFactory = Callable[[Sink], EventSource]
