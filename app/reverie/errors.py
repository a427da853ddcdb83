"""The errors that several packages of Reverie raise.

`UserError` is for what a person can fix. It always has a title, a cause and a next step, and every surface
(window, command line, Activity) shows these three. Any other exception is a bug and is shown as a crash
report. Each I/O layer converts system errors once, where they occur; nothing above that layer catches
`OSError`.

`reason` is one word (`conflict`, `unavailable`, ...) for scripts and tests, which never changes.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator


class UserError(Exception):
    """An error that a person can fix.

    `title` names the operation that failed, `cause` is the reason, `next_step` the advice. `reason` is one
    word for scripts, which never changes; None: the word of the class.

    A subclass with fields of its own annotates them in the class body, so that the engine can send them to
    its clients (`engine.codec`).
    """

    reason = "error"

    def __init__(
        self, title: str, *, cause: str = "", next_step: str = "", reason: str | None = None
    ) -> None:
        super().__init__(title)
        self.title = title
        self.cause = cause
        self.next_step = next_step
        if reason is not None:
            self.reason = reason

    def __str__(self) -> str:
        return " ".join(part for part in (self.title, self.cause, self.next_step) if part)


class PathRuleError(UserError):
    """Raised for a memory path that no agent would accept, such as one that contains `..`."""

    reason = "path"


class StoreError(UserError):
    """Raised for an operation on memories that cannot be carried out as given; nothing was changed."""

    reason = "store"


class Conflict(UserError):
    """Raised if a file has changed since the caller last read it; nothing was changed."""

    reason = "conflict"


class Unavailable(UserError):
    """Raised if a home, a scope of memories, or a file cannot be reached now.

    The caller must never treat it as empty, because its content may still exist.
    """

    reason = "unavailable"


class Ambiguous(UserError):
    """Raised if a name or the options of a command do not say which one of several things is meant.

    The command line exits with code 2.
    """

    reason = "ambiguous"
    choices: tuple[str, ...]
    """The names of the things that may be meant; empty if unknown."""

    def __init__(self, title: str, *, choices: tuple[str, ...], next_step: str = "") -> None:
        cause = f"Choices: {', '.join(choices)}." if choices else ""
        super().__init__(title, cause=cause, next_step=next_step)
        self.choices = choices


class Busy(UserError):
    """Raised if another run or process is using a resource, such as a lock."""

    reason = "busy"


class NotRegularFileError(OSError):
    """Raised for a pipe, socket or device in place of the expected file; it was not opened."""


CHANGED_SINCE = "changed-since"
"""The `reason` of a `Conflict` if the content to be undone has been changed again since."""
AGENT_BUSY = "agent-busy"
"""The `reason` of a `Busy` while the agent rewrites its own memory; callers may wait for the end."""


_AWAY = (
    "The disk or network share of this file is not available.",
    "Reconnect the disk or share, then try again.",
)
_NEXT_STEPS = {
    # Not every system knows all of them.
    **{
        getattr(errno, name): _AWAY
        for name in ("ESTALE", "ENOTCONN", "ETIMEDOUT", "EHOSTDOWN", "EHOSTUNREACH", "ENODEV")
        if hasattr(errno, name)
    },
    errno.ENOSPC: ("The disk is full.", "Free up disk space, then try again."),
    errno.EDQUOT: ("The disk quota is used up.", "Free up disk space, then try again."),
    errno.EFBIG: ("The file size limit of this process is reached.", "Raise the limit and try again."),
    errno.EACCES: ("Permission is denied.", "Check who owns the file and its folder, and their modes."),
    errno.EPERM: (
        "The operation is not permitted.",
        "Check who owns the file and its folder, and their modes.",
    ),
    errno.EROFS: ("The file system is mounted read-only.", "Mount it writable, or work on a copy."),
    errno.ENOENT: ("The file or folder no longer exists.", "Refresh and try again."),
    errno.ENAMETOOLONG: ("The name is too long for this file system.", "Choose a shorter name."),
    errno.EMFILE: ("Too many files are open.", "Close other programs, or raise the open-files limit."),
    errno.EISDIR: ("There is a folder at this path.", "Move it elsewhere, then try again."),
    errno.EIO: ("The device reports an input/output error.", "Check the disk, then try again."),
}


class RefusedFileError(OSError):
    """Raised for a file or folder that Reverie's own rules forbid to read.

    `strerror` is the reason, without a full stop.
    """


def user_error_from_os(error: OSError, title: str) -> UserError:
    """Return the `UserError` for an error of the operating system.

    Call it once, where the system error is caught. `title` names the operation that failed.
    """
    if isinstance(error, NotRegularFileError):
        cause = "It is not a regular file, but a pipe, a device or the like."
        return Unavailable(title, cause=cause, next_step="Move it elsewhere, then try again.")
    if isinstance(error, RefusedFileError):
        next_step = "Check what is at this path, or move it elsewhere, then try again."
        return Unavailable(title, cause=f"{error.strerror}.", next_step=next_step)
    cause, next_step = _NEXT_STEPS.get(
        error.errno or 0,
        (
            f"The operating system reports: {error.strerror or error}.",
            "Try again. If the error persists, check the disk.",
        ),
    )
    return Unavailable(title, cause=cause, next_step=next_step)


@contextlib.contextmanager
def warned(warnings: list[str], kind: type[UserError] = UserError) -> Iterator[None]:
    """Context manager: if the block raises an error of the class `kind`, append its text to `warnings`.

    The error is not raised; the code after the block continues.
    """
    try:
        yield
    except kind as error:
        warnings.append(str(error))
