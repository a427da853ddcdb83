"""What a change of a memory means beyond the file: the interface that the store tells, and the one of who has
nothing to do with it. For the disk itself: `memory.disk_effects`.

Threading: on the store's thread. Failure: `will_change` and `will_delete` may refuse; what goes wrong once
the change is made is a warning.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from reverie.homes.scopes import ScopeRoot


class Effects(Protocol):
    """What a change means beyond the file itself. `rel` is below `root`; called on the store's thread."""

    def exclusive(self, root: ScopeRoot, rel: str = "") -> AbstractContextManager[None]:
        """Mutual exclusion over one root between the Reverie processes of a profile; and over `rel` with its
        agent, where that takes a lock for it."""

    def will_change(self, root: ScopeRoot, rel: str) -> None:
        """Before something is created, overwritten, moved or deleted: keep what is there. May raise to
        refuse."""

    def will_delete(self, root: ScopeRoot, rel: str) -> None:
        """After `will_change`, before a file or folder is deleted. May raise to refuse what could not be
        brought back."""

    def replacing(self, root: ScopeRoot, rel: str, after: bytes | None) -> None:
        """At the last moment before one file becomes `after`: attribute the change."""

    def wrote(self, root: ScopeRoot, rel: str) -> None:
        """A file was created or written."""

    def deleted(self, root: ScopeRoot, rel: str) -> None:
        """A file or folder is gone."""

    def renamed(self, root: ScopeRoot, rel: str, new_rel: str) -> None:
        """A file or folder stands at `new_rel` now."""

    def read(self, root: ScopeRoot, rel: str) -> None:
        """The agent viewed a file: that is a use."""

    def warn(self, sentence: str) -> None:
        """The change was made, and this went wrong with what belongs to it."""

    def pinned(self, root: ScopeRoot, rel: str, pinned: bool) -> None:
        """A person pinned a file, or unpinned it."""


class NoEffects:
    """For overlays: nothing but the overlay changes."""

    def exclusive(self, root: ScopeRoot, rel: str = "") -> AbstractContextManager[None]:
        return nullcontext()

    def will_change(self, root: ScopeRoot, rel: str) -> None: ...
    def will_delete(self, root: ScopeRoot, rel: str) -> None: ...
    def replacing(self, root: ScopeRoot, rel: str, after: bytes | None) -> None: ...
    def wrote(self, root: ScopeRoot, rel: str) -> None: ...
    def deleted(self, root: ScopeRoot, rel: str) -> None: ...
    def renamed(self, root: ScopeRoot, rel: str, new_rel: str) -> None: ...
    def read(self, root: ScopeRoot, rel: str) -> None: ...
    def pinned(self, root: ScopeRoot, rel: str, pinned: bool) -> None: ...
    def warn(self, sentence: str) -> None: ...
