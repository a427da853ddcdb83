"""Whose the changes of one snapshot are: ours by the actor log, the agent's by its transcripts, else outside.

`share` is asked by the history, under its lock; `log` afterwards remembers what it said: from then on an old
content of ours is no longer taken for our own write, and what the agent wrote is known as the agent's.

Threading: any thread but the GUI's. Failure: `Unavailable` from the log.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.memory.attribution import OUTSIDE, path_text
from reverie.memory.history_shares import SeenChange, Share
from reverie.memory.store import sha256_of_bytes

if TYPE_CHECKING:
    from reverie.memory.agent_writes import AgentWrites
    from reverie.memory.attribution import ActorLog

AGENT = "agent"


class Sharing:
    """Of one snapshot. `directories`: root key -> where its files lie."""

    def __init__(self, actors: ActorLog, agent: AgentWrites, directories: Mapping[str, Path]) -> None:
        self._actors = actors
        self._agent = agent
        self._directories = directories
        self._outside: dict[Path, str | None] = {}
        self._by_agent: dict[Path, str | None] = {}

    def share(self, changes: Sequence[SeenChange], since_ms: int | None) -> list[Share]:
        """Ours first: what is left once they are committed is somebody else's."""
        known = self._actors.known()
        contents: dict[Path, str | None] = {}
        places: dict[tuple[str, str], Path] = {}
        for change in changes:
            directory = self._directories.get(change.key)
            # Nearly all of a first look is unknown to the log; a path object for each would take its time.
            if directory is None or path_text(os.path.join(directory, change.rel)) not in known:  # noqa: PTH118
                continue
            path = places[change.key, change.rel] = directory / change.rel
            contents[path] = sha256_of_bytes(change.after())
        ours = self._actors.actors_of(contents)
        rest = [change for change in changes if places.get((change.key, change.rel), _NOWHERE) not in ours]
        agents = self._agent.of(rest, since_ms)
        groups: dict[tuple[str, str | None], list[SeenChange]] = {}
        for change in changes:
            place = change.key, change.rel
            found = ours.get(places.get(place, _NOWHERE))
            who = (found.actor, found.run_id) if found is not None else (OUTSIDE, None)
            if found is None and place in agents:
                who = (AGENT, None)
                self._by_agent[self._directories[change.key] / change.rel] = sha256_of_bytes(change.after())
            elif found is None and place in places:
                self._outside[places[place]] = contents[places[place]]
            groups.setdefault(who, []).append(change)
        order = sorted(groups, key=lambda who: (who[0] == OUTSIDE, who[0] == AGENT))
        return [Share(actor, run_id, groups[actor, run_id]) for actor, run_id in order]

    def log(self, at_ms: int) -> None:
        """Once it is committed."""
        self._actors.record_all(self._outside, actor=OUTSIDE, run_id=None, at_ms=at_ms)
        self._actors.record_all(self._by_agent, actor=AGENT, run_id=None, at_ms=at_ms)


_NOWHERE = Path()
