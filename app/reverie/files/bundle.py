"""Bundles: files as a folder, a zip archive or a single file, to be given to another person or program.

A bundle comes from anywhere, so nothing in it is trusted. It is read into memory and never unpacked on the
disk; a name in it is a text, not a place. An archive with a name that leads out of it, with a link, or that
is larger than the limits is refused as a whole. A file that is not at fault for the rest, such as one of two
names that differ in case only, is left out with a reason.

Writing never replaces anything: the target must be new, or an empty folder.

Threading: blocks on disk; any thread but the GUI's. Failure: `UserError`; a target that could not be
completed is removed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import struct
import time
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from reverie.errors import StoreError, UserError, user_error_from_os
from reverie.files.atomic import shown
from reverie.files.directory import is_directory, is_file, is_link, own_is_there, read_regular, real_path
from reverie.files.rooted import RootedDirectory
from reverie.values import Struct

MOST_FILES = 20_000
"""The largest number of files in a bundle."""
MOST_BYTES = 128 << 20
"""The largest size of all files of a bundle together, in bytes."""
LARGEST_FILE = 16 << 20
"""The largest size of one file of a bundle, in bytes."""
ZIP = ".zip"
_CHUNK = 1 << 20
_PRIVATE_FILE, _PRIVATE_FOLDER = 0o600, 0o700
_DRIVE = re.compile(r"[A-Za-z]:")
# A zip archive cannot hold an earlier time, or a later one.
_EARLIEST = (1980, 1, 1, 0, 0, 0)
_TOO_LATE = (2108, 1, 1, 0, 0, 0)
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    struct.error,
    NotImplementedError,
    RuntimeError,
    ValueError,
)


class BundledFile(Struct, frozen=True):
    """One file of a bundle."""

    rel: str
    """The path in the bundle, `/`-separated."""
    data: bytes
    mtime_ns: int = 0
    """The time of its last change, in ns since the epoch; 0 if unknown."""


class LeftOut(Struct, frozen=True):
    """A file that is not part of a bundle, and the reason."""

    rel: str
    reason: str
    """A sentence."""


class Bundle(Struct, frozen=True):
    """The files of a bundle, and those that were left out."""

    files: tuple[BundledFile, ...]
    left_out: tuple[LeftOut, ...] = ()


def read_bundle(source: Path, check: Callable[[], None] = lambda: None) -> Bundle:
    """Return the files in a folder or a zip archive, by name; or `source` itself if it is another file.

    `check` is called for each file and may raise to stop. Raises `UserError` if there is no such folder or
    file, if it is damaged or too large, or if an archive has a name that leads out of it.
    """
    if is_directory(source):
        return _read_folder(source, check)
    if not own_is_there(source):
        raise StoreError(f"There is no {shown(str(source))}.", next_step="Name a folder, or a file.")
    if not is_file(source):
        raise _refused(source, "It is neither a folder nor a file.")
    try:
        if source.suffix.lower() != ZIP:
            status = source.stat()
            if status.st_size > LARGEST_FILE:
                raise _refused(source, _too_large(status.st_size))
            return Bundle((BundledFile(source.name, read_regular(source, LARGEST_FILE), status.st_mtime_ns),))
        with zipfile.ZipFile(source) as archive:
            return _read_archive(source, archive, check)
    except OSError as error:
        raise user_error_from_os(error, f"{shown(str(source))} could not be read.") from error
    except _DAMAGED as error:
        raise _refused(source, f"It is no zip archive, or a damaged one ({error}).") from error


def write_bundle(target: Path, files: Sequence[BundledFile], outside: Path) -> tuple[LeftOut, ...]:
    """Write files to a new zip archive if the name of `target` ends in `.zip`, else to a new folder.

    One file alone becomes a file if `target` ends as its name does, for example in `.md`. Files and folders
    can be read by their owner only. Returns the files that an archive cannot hold. Raises `UserError` if the
    target exists, unless it is an empty folder, or if it is in the directory `outside`.
    """
    if Path(real_path(target)).is_relative_to(real_path(outside)):
        raise StoreError(
            f"Nothing was exported to {shown(str(target))}.",
            cause="It is inside the home of the agent.",
            next_step="Choose a place outside of it.",
        )
    end = target.suffix.lower()
    is_single = len(files) == 1 and end and end == Path(files[0].rel).suffix.lower()
    write = _write_archive if end == ZIP else _write_single if is_single else _write_folder
    try:
        return write(target, files)
    except FileExistsError as error:
        raise StoreError(
            f"Nothing was exported to {shown(str(target))}.",
            cause="It exists already.",
            next_step="Choose another name.",
            reason="exists",
        ) from error
    except OSError as error:
        raise user_error_from_os(error, f"Nothing was exported to {shown(str(target))}.") from error


def _read_folder(source: Path, check: Callable[[], None]) -> Bundle:
    files = RootedDirectory(source)
    walk = files.walk(files_limit=MOST_FILES + 1)
    entries = [entry for entry in walk.entries if entry.kind == "file"]
    _require_size(source, len(entries), sum(entry.size for entry in entries if entry.size <= LARGEST_FILE))
    found, left_out, size = list[BundledFile](), [LeftOut("", problem) for problem in walk.problems], 0
    for entry in entries:
        check()
        if entry.size > LARGEST_FILE:
            left_out.append(LeftOut(entry.rel, _too_large(entry.size)))
            continue
        try:
            data = files.read(entry.rel, limit=LARGEST_FILE)
        except UserError as error:
            left_out.append(LeftOut(entry.rel, str(error)))
            continue
        size += len(data)
        _require_size(source, len(found), size)  # It may have grown since it was listed.
        found.append(BundledFile(entry.rel, data, entry.mtime_ns))
    return Bundle(tuple(found), tuple(left_out))


def _read_archive(source: Path, archive: zipfile.ZipFile, check: Callable[[], None]) -> Bundle:
    members = [member for member in archive.infolist() if not member.filename.endswith("/")]
    _require_size(source, len(archive.infolist()), sum(member.file_size for member in members))
    for member in members:
        if problem := _hostile(member):
            raise _refused(source, f"{shown(member.filename)!r} {problem}.")
    folded = Counter(_folded(member.filename) for member in members)
    folders = {above for name in folded for above in _above(name)}
    found, left_out, size = list[BundledFile](), list[LeftOut](), 0
    for member in members:
        check()
        name = _folded(member.filename)
        reason = ""
        if folded[name] > 1:
            reason = "The archive has another file with this name, or one that differs in case only."
        elif name in folders:
            reason = "The archive has a folder of the same name."
        elif any(part.startswith(".") for part in name.split("/")):
            reason = "Its name begins with a dot."
        elif member.file_size > LARGEST_FILE:
            reason = _too_large(member.file_size)
        if reason:
            left_out.append(LeftOut(member.filename, reason))
            continue
        data = _content(source, archive, member, MOST_BYTES - size)
        size += len(data)
        found.append(BundledFile(member.filename, data, _mtime_ns(member)))
    found.sort(key=lambda file: file.rel)
    return Bundle(tuple(found), tuple(left_out))


def _content(source: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, room: int) -> bytes:
    """Return the content of a file of an archive, which may be larger than the archive states."""
    chunks, size = [], 0
    with archive.open(member) as stream:
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            if size > min(member.file_size, room):
                raise _refused(source, f"{shown(member.filename)!r} is larger than the archive states.")
            chunks.append(chunk)
    return b"".join(chunks)


def _hostile(member: zipfile.ZipInfo) -> str:
    """Return the reason to refuse an archive because of one of its files, as a predicate; empty if none."""
    name, mode = member.orig_filename, member.external_attr >> 16
    if member.flag_bits & 1:
        return "is encrypted"
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "is a link or a special file"
    if "\\" in name or "\0" in name:
        return "has a name with a backslash or a NUL"
    if name.startswith("/") or _DRIVE.match(name):
        return "has an absolute path"
    if any(part in ("", ".", "..") for part in name.split("/")):
        return "has a path that leads out of the archive"
    return ""


def _require_size(source: Path, count: int, size: int) -> None:
    if count > MOST_FILES:
        raise _refused(source, f"It has more than {MOST_FILES:,} files.")
    if size > MOST_BYTES:
        raise _refused(source, f"Its files are larger than {MOST_BYTES >> 20} MiB together.")


def _refused(source: Path, cause: str) -> StoreError:
    return StoreError(
        f"Nothing was read from {shown(str(source))}.",
        cause=cause,
        next_step="Choose another folder or archive.",
    )


def _too_large(size: int) -> str:
    return f"It has {size:,} bytes; the limit is {LARGEST_FILE:,}."


def _folded(name: str) -> str:
    """Return a name as file systems compare it that ignore case and the composition of characters."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _above(name: str) -> Iterable[str]:
    """Return the paths of the folders above a path."""
    parts = name.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def _mtime_ns(member: zipfile.ZipInfo) -> int:
    try:
        return int(time.mktime((*member.date_time, 0, 0, -1))) * 1_000_000_000
    except (OverflowError, ValueError):
        return 0


def _write_folder(target: Path, files: Sequence[BundledFile]) -> tuple[LeftOut, ...]:
    is_new = not is_directory(target)
    if is_new:
        target.mkdir(mode=_PRIVATE_FOLDER)
    elif any(target.iterdir()):
        raise FileExistsError(target)
    out = RootedDirectory(target, private=True)
    try:
        for file in files:
            out.write(file.rel, file.data, create_only=True, mode=_PRIVATE_FILE)
            if file.mtime_ns:
                with contextlib.suppress(OSError):  # Only the displayed age would be wrong.
                    os.utime(target / file.rel, ns=(file.mtime_ns, file.mtime_ns), follow_symlinks=False)
    except BaseException:
        for entry in target.iterdir():
            shutil.rmtree(entry) if is_directory(entry) and not is_link(entry) else entry.unlink()
        if is_new:
            target.rmdir()
        raise
    return ()


def _write_single(target: Path, files: Sequence[BundledFile]) -> tuple[LeftOut, ...]:
    with _new_file(target) as out:
        out.write(files[0].data)
    return ()


@contextlib.contextmanager
def _new_file(target: Path) -> Iterator[BinaryIO]:
    """Context manager: a new file, which is removed if the block raises."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE)
    try:
        with open(descriptor, "wb") as out:  # noqa: PTH123 - it must be new
            yield out
    except BaseException:
        target.unlink()
        raise


def _write_archive(target: Path, files: Sequence[BundledFile]) -> tuple[LeftOut, ...]:
    left_out = []
    with _new_file(target) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            try:
                file.rel.encode()
            except UnicodeEncodeError:
                reason = "A zip archive cannot hold a name that is no text."
                left_out.append(LeftOut(shown(file.rel), reason))
                continue
            archive.writestr(_member(file), file.data)
    return tuple(left_out)


def _member(file: BundledFile) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(file.rel, _moment(file.mtime_ns))
    member.external_attr = (stat.S_IFREG | _PRIVATE_FILE) << 16
    member.compress_type = zipfile.ZIP_DEFLATED
    return member


def _moment(mtime_ns: int) -> tuple[int, int, int, int, int, int]:
    """Return a time as a zip archive holds it, in local time and at least 1980."""
    try:
        found = time.localtime(mtime_ns / 1_000_000_000)[:6]
    except (OverflowError, ValueError, OSError):
        return _EARLIEST
    return found if _EARLIEST <= found < _TOO_LATE else _EARLIEST
