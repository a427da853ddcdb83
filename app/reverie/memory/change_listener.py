"""The interface through which the store causes the effects of a change other than on the file itself."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from reverie.agents.scopes import ScopeRoot


class ChangeListener(Protocol):
    """The interface that the store calls around each change: for locks, the author, usage and the history.

    The store itself changes only the file. `memory.recording` has the implementation for the disk. `rel` is
    the path below `root`; the methods are called on the store's thread. `will_change` and `will_delete` may
    raise to refuse the change; a failure after the change is only a warning.
    """

    def exclusive(self, root: ScopeRoot, rel: str = "") -> AbstractContextManager[None]:
        """Return a context manager that keeps other Reverie processes of the profile from changing `root`.

        It also keeps the agent from changing the file `rel` (empty: no file), if the agent uses a lock for
        that file.
        """

    def will_change(self, root: ScopeRoot, rel: str) -> None:
        """Ensure that the history has the present state of the file or folder `rel`.

        Called before it is created, overwritten, moved or deleted; may raise to refuse this change.
        """

    def will_delete(self, root: ScopeRoot, rel: str) -> None:
        """Check that the file or folder `rel` could be restored after its deletion.

        Called after `will_change`; may raise to refuse the deletion.
        """

    def replacing(self, root: ScopeRoot, rel: str, after: bytes | None) -> None:
        """Log who changes the file `rel`; called right before its content is replaced by `after`.

        `after`: None if the file is deleted.
        """

    def wrote(self, root: ScopeRoot, rel: str) -> None:
        """Update the usage of the file `rel` and report its change, after it was created or written."""

    def deleted(self, root: ScopeRoot, rel: str) -> None:
        """Update the usage and report the change, after the file or folder `rel` was deleted."""

    def renamed(self, root: ScopeRoot, rel: str, new_rel: str) -> None:
        """Update the usage and report the change, after the file or folder `rel` was moved to `new_rel`."""

    def read(self, root: ScopeRoot, rel: str) -> None:
        """Count a read of the file `rel` by an agent as a use."""

    def warn(self, sentence: str) -> None:
        """Report, as `sentence`, a failure that occurred after a change was made."""

    def pinned(self, root: ScopeRoot, rel: str, pinned: bool) -> None:
        """Store that a person pinned or unpinned the file `rel`."""


class NoChangeListener:
    """A listener that does nothing, for changes that a run makes only to its copy of the files in memory."""

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
