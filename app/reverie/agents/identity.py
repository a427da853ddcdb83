"""Identities of homes: random ids by which history, runs and activity refer to them.

A home is recognised by its real path together with device and inode. The rules, in order:

- recorded path and inode both match: it is that home (the device number may change with a reboot);
- the recorded path still leads to this directory, which now has a second path (a bind mount, or other case on
  a case-insensitive disk): it is that home;
- otherwise it is a new one. A known home whose directory is no longer at its recorded path is offered for
  adoption if inode or path match, because the home was moved, or its directory was replaced by a restored
  backup. Adoption is a person's decision. A copy, whose original is still in place, gets its own id, and no
  adoption is offered.

The registry is one JSON file of Reverie's own, changed only through `Sidecar.update`: two processes that meet
a new home at the same time agree on its id. A damaged entry does not hide others and is kept. The home itself
is only read.

A process that keeps a home open calls `OpenedHome.require` before each request, so that nothing from another
home that was put in its place is recorded in its history.

Threading: blocks on disk; any thread and process. Failure: `UserError`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, overload

from reverie.clock import Clock
from reverie.errors import StoreError, Unavailable, user_error_from_os
from reverie.files.directory import ensure_private, real_path
from reverie.files.sidecar import Change, Sidecar
from reverie.values import Struct

_ID_BYTES = 8


class KnownHome(Struct, frozen=True):
    """A home as last recorded in the registry (`HomeRegistry`)."""

    id: str
    root: Path
    """The path of the home with links resolved; it may not exist any more."""
    kind: str
    """The name of the agent."""
    device: int
    """The device number of the home's directory."""
    inode: int
    """The inode number of the home's directory."""


class HomeIdentity(Struct, frozen=True):
    """The id of the home at `root`."""

    id: str
    root: Path
    adoptable: tuple[KnownHome, ...] = ()
    """Recorded homes, one of which this home may be if it was moved here; see `HomeRegistry.adopt`."""


class _Place(Struct, frozen=True):
    root: Path
    device: int
    inode: int

    def is_inode(self, known: KnownHome) -> bool:
        # Some file systems have no inodes and report 0 for everything.
        return self.inode != 0 and (self.device, self.inode) == (known.device, known.inode)

    def is_home(self, known: KnownHome) -> bool:
        if self.root == known.root:
            return self.inode == known.inode
        return self.is_inode(known) and _still_there(known)

    def may_be(self, known: KnownHome) -> bool:
        return (self.root == known.root or self.is_inode(known)) and not _still_there(known)


class HomeRegistry:
    """The homes that Reverie has opened before, stored in the JSON file `file`."""

    def __init__(self, file: Path, *, lock_dir: Path, clock: Clock) -> None:
        self._file = file
        self._sidecar = Sidecar(file, lock_dir=lock_dir, clock=clock)
        self._clock = clock

    def known(self) -> tuple[KnownHome, ...]:
        """Return every recorded home, in the order in which they were recorded."""
        return tuple(_known(self._sidecar.read().data))

    def stamp(self) -> tuple[int, int, int]:
        """Return the mtime (ns), size and inode of the registry file, to detect changes; zeros if missing."""
        try:
            status = self._file.stat()
        except OSError:
            return 0, 0, 0
        return status.st_mtime_ns, status.st_size, status.st_ino

    @overload
    def identify(self, root: Path, *, kind: str) -> HomeIdentity: ...
    @overload
    def identify(self, root: Path, *, kind: str, create: Literal[True]) -> HomeIdentity: ...
    @overload
    def identify(self, root: Path, *, kind: str, create: Literal[False]) -> HomeIdentity | None: ...
    def identify(self, root: Path, *, kind: str, create: bool = True) -> HomeIdentity | None:
        """Return the identity of the home at `root`; a new home gets an id.

        `kind`: the name of the agent. With `create=False` nothing is written, and the result for a new home
        is None. Raises `Unavailable` if the directory is missing.
        """
        place = _place(root)
        known = self.known()
        identity = _identity(place, known)
        if identity is None and create:
            fresh = secrets.token_hex(_ID_BYTES)
            data = self._update(lambda data: _with(data, place, fresh, kind, self._clock()))
            identity = _identity(place, tuple(_known(data)))
        return identity

    def adopt(self, root: Path, known_id: str) -> HomeIdentity:
        """Record that the home at `root` is the known home `known_id`, after a move; return its new identity.

        From now on the home has that id, with its history and runs. The id that it had until now is kept in
        the registry, marked as replaced. Raises `StoreError` if `known_id` is not among the `adoptable` homes
        of this one.
        """
        place = _place(root)

        def change(data: dict[str, Any]) -> dict[str, Any]:
            known = {home.id: home for home in _known(data)}
            if known_id not in known or not place.may_be(known[known_id]):
                raise StoreError(
                    f"The history of {known_id} cannot be assigned to the home {root}.",
                    cause="No home with this ID is known, or that home still exists at its old path.",
                    next_step="`reverie homes` shows the IDs that can be used.",
                )
            homes = data["homes"]
            for other in known.values():
                if place.is_home(other):
                    homes[other.id]["replacedBy"] = known_id
            homes[known_id] |= _entry(place)
            return data

        self._update(change)
        return HomeIdentity(known_id, place.root)

    def _update(self, change: Change) -> dict[str, Any]:
        ensure_private(self._file.parent)
        return self._sidecar.update(change)


class OpenedHome:
    """A check that an opened home is still the home at its path.

    While a process runs, its home may be replaced by another one. May be used from any thread; each check
    reads the disk twice.
    """

    def __init__(self, registry: HomeRegistry, identity: HomeIdentity, path: Path, *, kind: str) -> None:
        """Store the identity of the directory at `path`, which may be a link.

        `registry`: the homes that Reverie knows. `identity`: the id of this home. `kind`: the name of its
        agent. Raises `Unavailable` if the directory is missing.
        """
        self._registry = registry
        self._path = path
        self._identity = identity
        self._kind = kind
        self._place = _place(self._path)
        self._known_at: tuple[int, int, int] | None = None

    def require(self) -> None:
        """Raise `Unavailable` if the home is missing, was replaced, or has another id now.

        For a replaced home or id, the error's reason is "replaced".
        """
        root = self._path
        place = _place(root)
        if place != self._place and (place.root, place.inode) != (self._place.root, self._place.inode):
            raise Unavailable(
                f"{root} now contains a different home.",
                cause="Reverie stopped using it, to avoid mixing the data of the two homes.",
                next_step="Open the home again, or stop this command and start it again.",
                reason="replaced",
            )
        known_at = self._registry.stamp()
        if known_at == self._known_at:
            return
        found = self._registry.identify(root, kind=self._kind, create=False)
        if found is not None and found.id != self._identity.id:
            raise Unavailable(
                f"The home {root} is now linked to the history of another home.",
                next_step="Open the home again, or stop this command and start it again.",
                reason="replaced",
            )
        self._known_at = known_at


def _identity(place: _Place, known: tuple[KnownHome, ...]) -> HomeIdentity | None:
    found = [home for home in known if place.is_home(home)]
    if not found:
        return None
    # A match of the exact path outranks another name of the directory.
    own = next((home for home in found if home.root == place.root), found[0])
    return HomeIdentity(own.id, place.root, tuple(home for home in known if place.may_be(home)))


def _with(data: dict[str, Any], place: _Place, fresh: str, kind: str, now_ms: int) -> dict[str, Any] | None:
    if any(place.is_home(home) for home in _known(data)):
        return None  # another process was first
    homes = data.get("homes")
    entry = _entry(place) | {"kind": kind, "firstSeenAt": now_ms}
    return data | {"homes": (homes if isinstance(homes, dict) else {}) | {fresh: entry}}


def _entry(place: _Place) -> dict[str, Any]:
    return {"root": str(place.root), "device": place.device, "inode": place.inode}


def _known(data: Mapping[str, Any]) -> Iterator[KnownHome]:
    homes = data.get("homes")
    for identity, entry in homes.items() if isinstance(homes, dict) else ():
        if not isinstance(entry, dict) or "replacedBy" in entry:
            continue
        root, kind = entry.get("root"), entry.get("kind")
        device, inode = entry.get("device"), entry.get("inode")
        if _is_id(identity) and isinstance(root, str) and isinstance(device, int) and isinstance(inode, int):
            yield KnownHome(identity, Path(root), kind if isinstance(kind, str) else "", device, inode)


def _is_id(text: str) -> bool:
    """Return whether a text is a valid id and so may be used as a file name."""
    return len(text) == 2 * _ID_BYTES and all(char in "0123456789abcdef" for char in text)


def _place(root: Path) -> _Place:
    try:
        real = Path(real_path(root, strict=True))
        status = real.stat()
    except OSError as error:
        raise user_error_from_os(error, f"The home {root} is not available.") from error
    return _Place(real, status.st_dev, status.st_ino)


def _still_there(known: KnownHome) -> bool:
    """Return whether the recorded path of `known` still leads to the same directory."""
    try:
        status = known.root.stat()
    except (OSError, ValueError):
        return False
    return status.st_ino == known.inode and Path(real_path(known.root)) == known.root
