"""Atomic, durable writes: a file has its old or its new content, never a mix.

A write creates a temporary file in the same directory, syncs it, renames it and syncs the directory.
`replace_file` is the one implementation; `atomic_write` (a plain path), `files.rooted` and `files.sidecar`
use it. Checkpoints, in order: "temp" (the new bytes are in a temporary file), "fsync" (they are durable),
"replace" (the file is renamed). A kill before "replace" leaves the old file and a hidden temporary file that
`sweep_temporaries` removes; a kill after "replace" leaves the new file.

With a `check` the replace is a compare-and-swap. The check gets the bytes that are about to be replaced and
may raise to prevent the replacement. On Linux the two files are then exchanged in one step, and the replaced
file is compared with the bytes that the check saw. If another program wrote a newer version in the
microseconds between, that version is restored and checked in turn, so an atomic write by another program is
never overwritten unseen. On other systems this gap remains.

The new file keeps the permission bits of the old file, and its owner and group as far as this process may set
them. If the process may not set them and the owner or the group would have fewer rights on the new file, the
write is refused. Known limits: a hard link elsewhere keeps the old bytes; access lists and extended
attributes are not copied. On Linux, if the file belongs to this user, a write waits until no other program
has the file open for writing; a program that opens it during the write waits for the write (leases). On other
systems, the changes of such a program to the old file are lost.

Threading: any thread. Failure: system errors become `UserError` in the functions that take a path;
exceptions of `check` pass through.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from reverie.errors import (
    Conflict,
    NotRegularFileError,
    StoreError,
    Unavailable,
    UserError,
    user_error_from_os,
)
from reverie.files.directory import Directory, SwappedError, WriterLease, remove_tree

_observer: Callable[[str], None] | None = None


def checkpoint(name: str) -> None:
    """Report to the observer of this process, if there is one, that the step `name` is complete.

    A checkpoint is a step after which the process may be killed without harm. Only tests set an observer
    (`set_observer`); without one, a call costs one comparison.
    """
    if _observer is not None:
        _observer(name)


def set_observer(observer: Callable[[str], None] | None) -> None:
    """Set the function that is called at every checkpoint of this process; None removes it.

    `observer` gets the name of the checkpoint, on the thread that reaches it; tests use it to kill the
    process at a chosen step. An exception that it raises passes through the interrupted operation, which must
    leave the disk as after any other failure.
    """
    global _observer
    _observer = observer


Check = Callable[[bytes | None], None]
"""A function that gets the present bytes of a file (None: no such file) and may raise to prevent a write."""

ATTEMPTS = 20
"""Maximum number of attempts while other programs keep replacing the file. If a program replaces it this
often, further attempts would not help."""

_WRITER_WAIT_S = 1.0
_WRITER_STEP_S = 0.002
_OPENING_S = 0.001
"""Seconds to wait for programs that are opening a file; longer than `open` takes once it has found it."""


class Undurable(Unavailable):
    """Raised for a change that was made but may be lost in a power failure: its directory was not synced."""

    reason = "undurable"


class UndurableError(OSError):
    """Raised for a change that was made but not synced to the disk; callers convert it to `Undurable`."""


class LeftBehindError(UndurableError):
    """Raised if a removed folder is no longer visible, but some of its content could not be deleted.

    That content stays on the disk under a hidden name until `sweep_temporaries` deletes it.
    """


class _StrandedError(OSError):
    """Raised if another program's newer version of a file exists only under the temporary name.

    The temporary file must then not be removed.
    """


_TEMPORARY = re.compile(r"\.[0-9a-f]{12}\.[0-9a-f]{8}\.reverie-tmp")
_HELD = re.compile(r"\.[0-9a-f]{8}\.(?P<name>.*)\.reverie-held", re.DOTALL)
_NAME_BYTES = 255


def atomic_write(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace the content of the file `path` with `data`, in one step and synced to the disk.

    The directory must exist; a missing file is created. If `path` is a symlink, the link itself is replaced.
    `mode`: permission bits; None keeps those of an existing file, and gives a new file 0666 less the umask.
    Raises `UserError`.
    """
    try:
        with Directory.open(path.parent) as directory:
            replace_file(directory, path.name, data, mode=mode)
    except OSError as error:
        raise file_error(error, path.name, "written") from error


def make_mark(path: Path) -> None:
    """Create the empty file `path`, synced to the disk and accessible to its owner only, unless it exists.

    Its directory must exist. Raises `UserError`.
    """
    try:
        with Directory.open(path.parent) as directory:
            with contextlib.suppress(FileExistsError):
                os.close(directory.create(path.name, 0o600))
            directory.sync()
    except OSError as error:
        raise file_error(error, path.name, "written") from error


def remove_mark(path: Path) -> None:
    """Remove the file `path` if it exists, and sync its directory.

    The directory must exist. Raises `UserError`.
    """
    try:
        with Directory.open(path.parent) as directory:
            with contextlib.suppress(FileNotFoundError):
                directory.unlink(path.name)
            directory.sync()
    except OSError as error:
        raise file_error(error, path.name, "removed") from error


def replace_file(
    directory: Directory, name: str, data: bytes, *, mode: int | None = None, check: Check | None = None
) -> None:
    """Replace the content of the file `name` in `directory` with `data`, in one step and synced to the disk.

    A missing file is created. `check` gets the current bytes (None: no such file) at the last moment and may
    raise to prevent the replacement. It is called again if the file changed after the check. `mode`: as for
    `atomic_write`. Raises OSError, SwappedError, and Conflict if other programs keep replacing the file.
    """
    if check is None:
        _write_and_place(directory, name, data, mode, lambda temp: _replace(directory, temp, name))
        return

    def place(temp: str) -> bool:
        return _compare_and_swap(directory, temp, name, check)

    for _ in range(ATTEMPTS):
        if _write_and_place(directory, name, data, mode, place):
            return
    raise Conflict(
        f"“{shown(name)}” could not be written.",
        cause="Another program keeps replacing the file.",
        next_step="Wait until that program is done, then try again.",
    )


def create_file(
    directory: Directory, name: str, data: bytes, *, mode: int | None = None, check: Check | None = None
) -> None:
    """Create the file `name` in `directory` with the content `data`, in one step and synced to the disk.

    Raises FileExistsError if the name is taken, and replaces nothing. `mode`: permission bits; None: 0666
    less the umask. `check` is called at the last moment and may raise to prevent the creation; it gets None,
    or the bytes of the file if there is one after all.
    """

    def place(temp: str) -> bool:
        if check is not None:
            check(_current(directory, name))
        directory.rename_new(temp, directory, name)
        return True

    _write_and_place(directory, name, data, mode, place)


def temporary_name(name: str) -> str:
    """Return a new hidden name for a file or folder while `name` is being created or removed.

    It is short, so that it is valid even if `name` has 255 bytes.
    """
    import hashlib  # late: it loads a library that the first paint of the window does without

    digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:12]
    return f".{digest}.{os.urandom(4).hex()}.reverie-tmp"


def is_temporary(name: str) -> bool:
    """Return whether the file name `name` was made by `temporary_name` or `held_name`."""
    return _TEMPORARY.fullmatch(name) is not None or _HELD.fullmatch(name) is not None


def held_name(name: str) -> str:
    """Return a new hidden name to which the entry `name` is renamed, to check it before it is removed.

    `sweep_temporaries` renames an entry with such a name back to `name`, which the hidden name contains, and
    never deletes it. If `name` is too long for that, the entry keeps its hidden name.
    """
    held = f".{os.urandom(4).hex()}.{name}.reverie-held"
    return held if len(os.fsencode(held)) <= _NAME_BYTES else f".{os.urandom(4).hex()}..reverie-held"


LEFT_OVER_AFTER_S = 3600.0
"""Seconds after which a temporary file counts as left over; a write takes milliseconds, unless it is
suspended."""


def sweep_temporaries(directory: Path, *, older_than_s: float) -> int:
    """Delete the temporary files that killed processes left directly in `directory`; return their number.

    Only entries older than `older_than_s` seconds are touched: a younger one may belong to a running process,
    so the limit must be longer than a write may take. An entry with a `held_name` is renamed back instead and
    not counted. A missing directory counts as empty. Raises `UserError`.
    """
    try:
        with Directory.open(directory) as opened:
            return sweep_opened(opened, opened.names(), older_than_s=older_than_s)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise user_error_from_os(
            error, f"Left-over temporary files in {directory} could not be removed."
        ) from error


def sweep_opened(directory: Directory, names: Iterable[os.DirEntry[str]], *, older_than_s: float) -> int:
    """Delete the temporary files older than `older_than_s` seconds among `names`; return their number.

    `names`: entries of the open `directory`. An entry with a `held_name` is renamed back instead and not
    counted. Raises OSError.
    """
    oldest = time.time() - older_than_s
    swept = 0
    for entry in names:
        if not is_temporary(entry.name):
            continue
        with contextlib.suppress(FileNotFoundError):  # another sweep, or its maker, was faster
            status = directory.lstat(entry.name)
            # An exchange leaves the replaced file under the temporary name with its old mtime; its ctime is
            # the time of the exchange.
            if max(status.st_mtime, status.st_ctime) > oldest:
                continue
            if held := _HELD.fullmatch(entry.name):
                # The history may not have it. If the name is taken by now, it stays under the hidden one.
                if held["name"]:
                    with contextlib.suppress(FileExistsError):
                        directory.rename_new(entry.name, directory, held["name"])
                continue
            if stat.S_ISDIR(status.st_mode):
                remove_tree(directory, entry.name)
            else:
                directory.unlink(entry.name)
            swept += 1
    return swept


def file_error(error: OSError, name: str, done: str) -> UserError:
    """Return the `UserError` for a failed operation on the file `name`.

    `error`: the exception; `done`: the past participle of the operation for the message, such as "written".
    """
    title = f"“{shown(name)}” could not be {done}."
    if isinstance(error, LeftBehindError):
        return Undurable(
            f"“{shown(name)}” was {done}, but the rest of it under a hidden name could not be removed.",
            cause=f"The disk reported: {(error.strerror or str(error)).lower()}.",
            next_step="Check the disk. A later run removes the rest.",
        )
    if isinstance(error, UndurableError):
        return Undurable(
            f"“{shown(name)}” was {done}, but the disk has not confirmed the change.",
            cause=f"The disk reported: {(error.strerror or str(error)).lower()}.",
            next_step="Check the disk. Until it is synced, a power failure could undo this change.",
        )
    if isinstance(error, FileNotFoundError):
        return StoreError(
            title, cause="The file does not exist.", next_step="Refresh and try again.", reason="missing"
        )
    if isinstance(error, IsADirectoryError):
        return StoreError(
            title,
            cause="There is a folder at this path.",
            next_step="Choose a file, not a folder.",
            reason="directory",
        )
    if isinstance(error, NotRegularFileError):
        return StoreError(
            title, cause="It is not a regular file.", next_step="Choose another file.", reason="special"
        )
    return user_error_from_os(error, title)


def shown(name: str) -> str:
    """Return `name` for display: characters that UTF-8 cannot encode become backslash escapes."""
    return name.encode("utf-8", "backslashreplace").decode()


def _write_and_place(
    directory: Directory, name: str, data: bytes, mode: int | None, place: Callable[[str], bool]
) -> bool:
    """Write `data` to a temporary file, then let `place` rename it to `name`; return the result of `place`.

    `place` gets the temporary name when the file is synced to the disk, and returns False if it left `name`
    as it was. Afterwards any file with the temporary name is removed, except after a `_StrandedError`.
    `mode`: permission bits; None keeps those of an existing file, and gives a new file 0666 less the umask.
    """
    temp = temporary_name(name)
    existing = _existing_file(directory, name)
    # Private until the final bits are set; only a new file without a given mode leaves them to the umask.
    fd = directory.create(temp, 0o666 if mode is None and existing is None else 0o600)
    stranded = False
    try:
        _fill(fd, data, existing, mode)
        placed = place(temp)
        if placed:
            checkpoint("replace")
    except _StrandedError:
        stranded = True
        raise
    finally:
        if not stranded:
            # The sweep removes it later; the error that led here matters more.
            with contextlib.suppress(OSError):
                directory.unlink(temp)
    if placed:
        sync_changed(directory)
    return placed


def sync_changed(directory: Directory) -> None:
    """Sync `directory` to the disk, so that changes of its entries survive a power failure.

    Raises `UndurableError` if that fails; the changes stay.
    """
    try:
        directory.sync()
    except OSError as error:
        raise UndurableError(error.errno, error.strerror, error.filename) from error


def _existing_file(directory: Directory, name: str) -> os.stat_result | None:
    try:
        status = directory.lstat(name)
    except FileNotFoundError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _fill(fd: int, data: bytes, existing: os.stat_result | None, mode: int | None) -> None:
    """Write `data` to the open file `fd`, set its owner and permission bits, sync it and close it.

    `existing`: the status of the file that will be replaced, whose owner and permission bits are copied; None
    for a new file. `mode`: permission bits to set; None: the copied bits, or, for a new file, those with
    which `fd` was created. On Windows neither owner nor bits are set.
    """
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
        _set_owner_and_mode(fd, existing, mode)
        checkpoint("temp")
        os.fsync(fd)
    finally:
        os.close(fd)
    checkpoint("fsync")


def _set_owner_and_mode(fd: int, existing: os.stat_result | None, mode: int | None) -> None:
    if os.name == "nt":
        return  # Windows keeps access rights by inheritance from the directory
    if existing is not None:
        own = os.fstat(fd)
        if (own.st_uid, own.st_gid) != (existing.st_uid, existing.st_gid):
            try:
                os.fchown(fd, existing.st_uid, existing.st_gid)
            except PermissionError:
                # Only root may give files away; but anyone may give them to a group of their own.
                with contextlib.suppress(PermissionError):
                    os.fchown(fd, -1, existing.st_gid)
                bits = stat.S_IMODE(existing.st_mode if mode is None else mode)
                _refuse_to_take_away(os.fstat(fd), existing, bits)
    if mode is not None:
        os.fchmod(fd, mode)
    elif existing is not None:
        os.fchmod(fd, stat.S_IMODE(existing.st_mode))


def _refuse_to_take_away(own: os.stat_result, existing: os.stat_result, bits: int) -> None:
    """Raise `StoreError` if the owner or the group of a file would lose rights when the file is replaced.

    Only the rights to read and to write count. `existing`: the status of the file that will be replaced;
    `own`: the status of the new file; `bits`: the permission bits that the new file will get.
    """
    owner, group, others = (existing.st_mode >> 6) & 6, (existing.st_mode >> 3) & 6, bits & 6
    left = (bits >> 3) & 6 if own.st_gid == existing.st_gid else others
    if group & ~left:
        raise _taken_away("a group that this user is not in")
    left = left if _is_member(existing.st_uid, existing.st_gid) else others
    if own.st_uid != existing.st_uid and owner & ~left:
        raise _taken_away("another user")


def _is_member(uid: int, gid: int) -> bool:
    """Return whether user `uid` is in group `gid`; True if the system does not know the user or the group."""
    import grp  # late: only files of others need it
    import pwd

    try:
        user = pwd.getpwuid(uid)
        return user.pw_gid == gid or user.pw_name in grp.getgrgid(gid).gr_mem
    except KeyError:
        return True


def _taken_away(whose: str) -> StoreError:
    return StoreError(
        "The file was not written:",
        cause=f"The file belongs to {whose}, who would lose access to it.",
        next_step="Ask the owner to change the file, or to give its group write permission.",
        reason="owner",
    )


def _replace(directory: Directory, temp: str, name: str) -> bool:
    directory.replace(temp, name)
    return True


def _compare_and_swap(directory: Directory, temp: str, name: str, check: Check) -> bool:
    """Replace the file `name` with the file `temp`, after calling `check` with the current content of `name`.

    `check` may raise to prevent this. Returns False if another program changed the file after the check; that
    program's version is then in place.
    """
    current = _current(directory, name)
    check(current)
    if current is None:
        try:
            directory.rename_new(temp, directory, name)
        except FileExistsError:
            return False
        return True
    with contextlib.ExitStack() as held:
        lease = held.enter_context(_without_writers(directory, temp, name) or contextlib.nullcontext())
        if lease is not None:
            # Keep writers out of the new file, too, until it is certain that it stays.
            held.enter_context(directory.block_writers(temp) or contextlib.nullcontext())
        ours = held.enter_context(directory.held(temp))
        accepted = False
        try:
            if directory.exchange(temp, name):
                accepted = directory.read(temp) == current
                if lease is not None:
                    # If a program is about to write into the old file, that file is put back first.
                    accepted = accepted and not lease.is_awaited() and _stays(directory, temp, current, lease)
            else:
                directory.replace(temp, name)
                accepted = True
        except (FileNotFoundError, IsADirectoryError, NotRegularFileError, SwappedError):
            pass  # deleted before the exchange, or no file any more: other than the check saw
        finally:
            # Also when reading fails or a signal arrives: a version taken out unseen must not be lost.
            if not accepted and _is_other(directory, temp, ours):
                _put_back(directory, temp, name, ours, held)
    return accepted


def _without_writers(directory: Directory, temp: str, name: str) -> WriterLease | None:
    """Keep other programs from opening the file `name` for writing; return the lease that does so.

    Waits while a program has the file open for writing, and raises Conflict if it stays open for a second.
    Returns None if there can be no lease on the file. `temp`: the name of the file that will replace it, used
    to test whether the file system supports leases at all.
    """
    until = time.monotonic() + _WRITER_WAIT_S
    while True:
        try:
            return directory.block_writers(name)
        except BlockingIOError:
            if time.monotonic() < until:
                time.sleep(_WRITER_STEP_S)
                continue
        except (OSError, SwappedError):
            return None  # missing, or no file any more: the exchange will notice
        try:
            probe = directory.block_writers(temp)
        except OSError:
            return None  # this file system refuses leases even for a file that nobody has open
        if probe is None:
            return None
        with probe:
            raise Conflict(
                f"“{shown(name)}” could not be written.",
                cause="Another program has the file open for writing.",
                next_step="Wait until that program is done, then try again.",
            )


def _stays(directory: Directory, temp: str, data: bytes, lease: WriterLease) -> bool:
    """Close `lease`, and return whether no other program then writes to the file that was just replaced.

    A program that began to open that file for writing before it was replaced was blocked by the lease, and
    can write to it now. `temp`: the name that the replaced file has now; `data`: the content that it has if
    no program writes to it.
    """
    lease.close()
    time.sleep(_OPENING_S)
    try:
        again = directory.block_writers(temp)
    except BlockingIOError:
        return False
    with again or contextlib.nullcontext():
        return directory.read(temp) == data


def _is_other(directory: Directory, temp: str, ours: int) -> bool:
    """Return whether the file `temp` has an inode other than `ours`; False if there is no such file."""
    try:
        return directory.lstat(temp).st_ino != ours
    except FileNotFoundError:
        return False


def _current(directory: Directory, name: str) -> bytes | None:
    try:
        return directory.read(name)
    except FileNotFoundError:
        return None


def _put_back(directory: Directory, temp: str, name: str, ours: int, held: contextlib.ExitStack) -> None:
    """Undo an exchange of `temp` and `name` that replaced a version of the file that was not checked.

    `ours`: the inode of our new file, which the undo moves back to `temp`. If another program wrote `name`
    between the two exchanges, `temp` has that program's file instead; then they are exchanged again, until
    the newest version is at `name`. If `name` is missing, another program has deleted it, and nothing is
    restored. The function adds objects to `held` that keep the compared inodes from being reused until the
    caller closes it. Raises `_StrandedError` if an exchange fails.
    """
    expected = ours
    while True:
        put = held.enter_context(directory.held(temp))
        try:
            back = directory.exchange(temp, name)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _StrandedError(
                error.errno, f"{error.strerror}; a newer version is saved as {temp}", name
            ) from error
        if not back:
            raise _StrandedError(errno.EIO, f"A newer version is saved as {temp}", name)
        if directory.lstat(temp).st_ino == expected:
            return
        expected = put


_ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def is_write_protected(mode: int) -> bool:
    """Return whether `mode`, the `st_mode` of a file, has no bit that allows writing.

    On Windows this is the read-only attribute. Such a file is meant to stay as it is. The system would not
    prevent a replacement, because only the permissions of the folder count, so Reverie applies this rule
    itself. The bits are tested because `os.access` always returns True for root.

    Reverie refuses to edit the file by hand, and to undo or revert an earlier change of it. Runs do not
    change the file and report this in their summary; a model can still read it. A person can delete or rename
    the file and gets a notice; Undo restores the file with its permissions. The command `reverie memory`,
    when it acts as an agent, changes the file and gives a warning, because the agents' own commands change
    such files too. The rule does not apply to sidecars and Reverie's own files.
    """
    return not mode & _ANY_WRITE


def write_protected(name: str, mode: int, done: str) -> StoreError:
    """Return the error for a refusal to change the write-protected file `name`.

    `mode`: the file's mode, for the message; `done`: the past participle of the refused operation, such as
    "written".
    """
    return StoreError(
        f"“{shown(name)}” could not be {done}.",
        cause=f"The file is write-protected (mode {stat.S_IMODE(mode):04o}).",
        next_step="Clear the file's read-only attribute first."
        if os.name == "nt"
        else "Make the file writable first, for example with “chmod u+w”.",
        reason="write-protected",
    )


def refuse_write_protected(name: str, mode: int, done: str) -> None:
    """Raise `StoreError` (reason "write-protected") if `mode` has no bit that allows writing.

    The message has the name `name` of the file and `done`, the past participle of the refused operation, such
    as "written".
    """
    if is_write_protected(mode):
        raise write_protected(name, mode, done)
