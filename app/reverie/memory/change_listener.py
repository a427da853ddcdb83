"""The interface through which the store causes the effects of a change other than on the file itself."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from reverie.agents.scopes import ScopeRoot


class ChangeListener(Protocol):
    """The effects of a change other than on the file itself: locks, author, usage, history.

    `memory.recording` has the implementation for the disk. `rel` is below `root`; the methods are called on
    the store's thread. `will_change` and `will_delete` may refuse; a failure after the change is a warning.
    """

    def exclusive(self, root: ScopeRoot, rel: str = "") -> AbstractContextManager[None]:
        """Return a context manager that keeps other Reverie processes of the profile from changing `root`.

        It also keeps the agent from changing the file `rel` (empty: no file), if the agent uses a lock for
        that file.
        """

    def will_change(self, root: ScopeRoot, rel: str) -> None:
        """Preserve the present state before a creation, overwrite, move or deletion. May raise to refuse."""

    def will_delete(self, root: ScopeRoot, rel: str) -> None:
        """Check, after `will_change`, that a file or folder could be restored. May raise to refuse."""

    def replacing(self, root: ScopeRoot, rel: str, after: bytes | None) -> None:
        """Record the author of a change right before a file's content becomes `after` (None: deleted)."""

    def wrote(self, root: ScopeRoot, rel: str) -> None:
        """Carry out the effects of creating or writing the file `rel`."""

    def deleted(self, root: ScopeRoot, rel: str) -> None:
        """Carry out the effects of deleting the file or folder `rel`."""

    def renamed(self, root: ScopeRoot, rel: str, new_rel: str) -> None:
        """Carry out the effects of moving the file or folder `rel` to `new_rel`."""

    def read(self, root: ScopeRoot, rel: str) -> None:
        """Count a read of the file `rel` by an agent as a use."""

    def warn(self, sentence: str) -> None:
        """Report, as `sentence`, a failure that occurred after a change was made."""

    def pinned(self, root: ScopeRoot, rel: str, pinned: bool) -> None:
        """Store that a person pinned or unpinned the file `rel`."""


class NoChangeListener:
    """A listener without effects, for the overlay of a run (its copy of the files in memory)."""

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
