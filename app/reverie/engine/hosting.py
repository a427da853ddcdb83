"""The background services of one home in the engine: one host, for all clients that want them.

They run while a client asks for them, none of those that ask has paused them, and the settings want them;
with the last of these clients they end. The home's one watcher serves the host, too: what only the host
follows, such as transcripts, goes to no client, and nothing goes to the host that it does not follow.

Threading: any thread; starting and stopping block for up to about two seconds, and exclude each other. A
client hears of each state in its order. Failure: what the host cannot do is in its status and in Activity; a
home that cannot be watched is a `UserError`, and the next question tries again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from reverie.engine.server import ClientConnection
from reverie.engine.wire import HostChanged
from reverie.errors import UserError
from reverie.files.watch import Changes
from reverie.files.watch_sources import WatchTarget
from reverie.services.host import Host, HostStatus, services_wanted
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from reverie.services.container import HomeContainer

log = logging.getLogger("reverie.engine")

PAUSED_ELSEWHERE = "The background services are paused in another window."


class HomeHost:
    """The host of one home. `watch_for`: see that the home is watched for this client; `on_targets`: as in
    `Host`."""

    def __init__(
        self,
        parts: HomeContainer,
        *,
        watch_for: Callable[[ClientConnection], None],
        on_targets: Callable[[Sequence[WatchTarget]], None],
    ) -> None:
        self._parts = parts
        self._watch_for = watch_for
        self._paused: dict[ClientConnection, bool] = {}
        self._held_up = False
        self._lock = threading.Lock()
        # For a person it is the window's, as all that is done for it here.
        self._host = Host(
            parts, purpose="the window", own_watcher=False, on_targets=on_targets, on_status=self._tell
        )

    def ask(self, client: ClientConnection, *, paused: bool) -> HostStatus:
        """This client wants the services from now on, or wants them `paused`."""
        with self._lock:
            # One that left while its question was under way is not forgotten again.
            if not client.is_gone:
                self._paused[client] = paused
            self._settle()
            return self._seen_by(client, self._host.status)

    def forget(self, client: ClientConnection) -> None:
        """This client does not ask for them any more, nor for a pause."""
        with self._lock:
            if self._paused.pop(client, None) is not None:
                self._settle_unasked()

    def settle(self) -> None:
        """The settings may have changed. Returns at once."""
        threading.Thread(target=self._follow_settings, name="reverie-settle", daemon=True).start()

    def deliver(self, changes: Changes) -> None:
        """What was seen of `on_targets`."""
        self._host.deliver(changes)

    def _follow_settings(self) -> None:
        with self._lock:
            if self._paused:
                self._settle_unasked()

    def _settle_unasked(self) -> None:
        try:
            self._settle()
        except UserError as error:
            # Nobody waits for an answer; the next question fails with it or mends it.
            log.info("the background services wait: %s", error)

    def _settle(self) -> None:
        is_paused, was_held_up = any(self._paused.values()), self._held_up
        wanted = bool(self._paused) and services_wanted(self._parts)
        self._held_up = wanted and is_paused
        if is_paused or not wanted:
            self._host.stop()
            if self._held_up != was_held_up:
                self._tell(self._host.status)
            return
        for client in self._paused:
            self._watch_for(client)
        if self._host.status.state == "stopped":
            self._parts.forget_settings()  # while nobody hosted, nobody watched them
        self._host.start()

    def _tell(self, status: HostStatus) -> None:
        for client in list(self._paused):
            client.tell(HostChanged(self._parts.home.root, self._seen_by(client, status)))

    def _seen_by(self, client: ClientConnection, status: HostStatus) -> HostStatus:
        """Who paused them knows; another one is told why they wait."""
        if self._held_up and not self._paused.get(client, True):
            return HostStatus("waiting", message=PAUSED_ELSEWHERE)
        return status


class WatchedPaths(Struct, frozen=True):
    """The paths of which some targets are told."""

    files: frozenset[Path] = frozenset()
    directories: frozenset[Path] = frozenset()
    """With what is directly in them."""
    trees: tuple[Path, ...] = ()
    above: frozenset[Path] = frozenset()
    """Directories that hold one of them: a change of such a one may be one of theirs."""

    @classmethod
    def of(cls, targets: Sequence[WatchTarget]) -> Self:
        """Those of these targets."""
        return cls(
            frozenset(target.path / name for target in targets for name in target.only),
            frozenset(target.path for target in targets if not target.only and not target.recursive),
            tuple(target.path for target in targets if not target.only and target.recursive),
            frozenset(parent for target in targets for parent in (target.path / "any").parents),
        )

    def has(self, path: Path) -> bool:
        """Whether a change of `path` is for them."""
        if path in self.files or path in self.above or path.parent in self.directories:
            return True
        return any(path.is_relative_to(tree) for tree in self.trees)


def parted(
    changes: Changes, views: WatchedPaths, host: WatchedPaths
) -> tuple[Changes | None, Changes | None]:
    """What of these changes is for the views, and what for the host; None: nothing."""
    hosted = frozenset(path for path in changes.paths if host.has(path))
    shown = changes.paths - frozenset(path for path in hosted if not views.has(path))
    return _with_paths(changes, shown), _with_paths(changes, hosted)


def _with_paths(changes: Changes, paths: frozenset[Path]) -> Changes | None:
    return replace(changes, paths=paths) if paths or changes.rescan else None
