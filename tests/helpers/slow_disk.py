"""A real file system that is slow, hangs or goes away: a folder of this machine behind FUSE, as a network
mount shows it. Spoken with the kernel directly, since no library for it may be here.

`SlowDisk` mounts it, in mounts of its own that only this process sees, and speaks with the server, a process
that this module is when run (`python -m helpers.slow_disk FOLDER DESCRIPTOR [caseless]`; words on stdin:
`pace SECONDS`, `hang`, `hold`, `go`, each answered by the number of requests so far). Nothing is cached by
the kernel: each look at a file is a request. Threads of the server answer, so that several programs wait for
themselves only.
"""

# ruff: noqa: PTH101, PTH102, PTH115, PTH208, PTH211 - names are bytes here, as the kernel gives them

from __future__ import annotations

import ctypes
import errno
import os
import select
import stat
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

KIND = "fuse.sshfs"
"""How it is called in the table of mounts: as a network's."""
_THREADS = 8
_POLL_S = 0.1
_MOST = 1 << 17
_HEADER = struct.Struct("<IIQQIIIHH")
_ANSWER = struct.Struct("<IiQ")
_ATTR = struct.Struct("<6Q10I")
_SIZE, _FORGET, _BATCH_FORGET, _INTERRUPT, _INIT, _DESTROY = 8, 2, 42, 36, 26, 38
_AT_FDCWD = -100
_UNANSWERED = (_FORGET, _BATCH_FORGET, _INTERRUPT, _DESTROY)


class CannotMountError(Exception):
    """This machine mounts nothing for us; why."""


def own_mounts() -> None:
    """From now on what this process mounts is seen by it and its children alone, and gone with them."""
    libc = ctypes.CDLL(None, use_errno=True)
    clone_newns, ms_rec, ms_private = 0x00020000, 16384, 1 << 18
    if sys.platform != "linux" or os.geteuid() != 0:
        raise CannotMountError("only root may mount a disk of its own")
    if libc.unshare(clone_newns) or libc.mount(b"none", b"/", None, ms_rec | ms_private, None):
        raise CannotMountError(f"no mounts here: {os.strerror(ctypes.get_errno())}")


class SlowDisk:
    """`folder` as `place` shows it, from now to `close`. Call `own_mounts` first."""

    def __init__(self, folder: Path, place: Path, *, caseless: bool = False) -> None:
        """`caseless`: names are found in any case, and kept as they were given."""
        self.folder, self.place = folder, place
        self._options = ["caseless"] if caseless else []
        place.mkdir(parents=True, exist_ok=True)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._server = self._mount()

    def _mount(self) -> subprocess.Popen[str]:
        try:
            device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise CannotMountError(f"no /dev/fuse here: {error.strerror}") from error
        options = (
            f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},default_permissions"
        )
        try:
            place = os.fsencode(self.place)
            if self._libc.mount(b"far", place, KIND.encode(), 6, options.encode()):
                raise CannotMountError(f"no FUSE here: {os.strerror(ctypes.get_errno())}")
            return subprocess.Popen(
                [sys.executable, "-m", "helpers.slow_disk", str(self.folder), str(device), *self._options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                pass_fds=[device],
                cwd=Path(__file__).parent.parent,
            )
        finally:
            os.close(device)

    def pace(self, seconds: float) -> int:
        """Each request takes so long from now on. How many there were."""
        return self._tell(f"pace {seconds}")

    def hang(self) -> int:
        """No request is taken until `go`, so who waits can be killed: as NFS is."""
        return self._tell("hang")

    def hold(self) -> int:
        """Requests are taken and not answered until `go`, so who waits cannot even be killed: as sshfs is."""
        return self._tell("hold")

    def go(self) -> int:
        """Answer again, at the last pace."""
        return self._tell("go")

    def vanish(self) -> None:
        """The other side is gone: what waits fails, and everything that follows."""
        self._server.kill()
        self._end()

    def come_back(self) -> None:
        """Mounted anew at the same place."""
        self._unmount()
        self._server = self._mount()

    def close(self) -> None:
        self._server.kill()
        self._end()
        self._unmount()

    def _unmount(self) -> None:
        self._libc.umount2(os.fsencode(self.place), 2)  # even if it is in use

    def _end(self) -> None:
        self._server.wait(10)
        for stream in (self._server.stdin, self._server.stdout):
            if stream is not None:
                stream.close()

    def _tell(self, words: str) -> int:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(words + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())


class _Server:
    """One mount's answers. A method for each request of the kernel: (node, body) to the answer's bytes."""

    def __init__(self, folder: bytes, device: int, *, caseless: bool) -> None:
        self._device = device
        self._caseless = caseless
        self._lock = threading.Lock()
        self._paths = {1: folder}
        self._nodes = {folder: 1}
        self._handles: dict[int, list[int]] = {}
        self._next = 2
        self._pace = 0.0
        self._going, self._taking = threading.Event(), threading.Event()
        self._going.set()
        self._taking.set()
        self.requests = 0
        self._acts: dict[int, Callable[[int, bytes], bytes]] = {
            1: self._lookup,
            3: self._getattr,
            4: self._setattr,
            5: lambda node, _body: os.readlink(self._paths[node]),
            6: self._symlink,
            8: self._mknod,
            9: self._mkdir,
            10: lambda node, body: self._removed(os.unlink, node, body),
            11: lambda node, body: self._removed(os.rmdir, node, body),
            12: lambda node, body: self._rename(node, struct.unpack_from("<Q", body)[0], 0, body[8:]),
            13: self._link,
            14: self._open,
            15: self._read,
            16: self._write,
            17: self._statfs,
            18: self._release,
            20: self._fsync,
            25: lambda _node, _body: b"",
            27: lambda _node, _body: struct.pack("<QIi", 0, 0, 0),
            28: self._readdir,
            29: lambda _node, _body: b"",
            30: lambda _node, _body: b"",
            35: self._create,
            45: self._rename2,
        }

    def serve(self) -> None:
        """Until the mount is gone."""
        while True:
            self._taking.wait()
            try:
                if not select.select([self._device], [], [], _POLL_S)[0]:
                    continue
                request = os.read(self._device, _MOST + 4096)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.EINTR, errno.EAGAIN):
                    continue
                return
            if not request:
                return
            _length, opcode, unique, node, *_rest = _HEADER.unpack_from(request)
            if opcode in _UNANSWERED:
                continue
            if opcode != _INIT:
                self.requests += 1
                time.sleep(self._pace)
                self._going.wait()
            self._answer(unique, *self._done(opcode, node, request[_HEADER.size :]))

    def obey(self, words: str) -> None:
        match words.split():
            case ["pace", seconds]:
                self._pace = float(seconds)
            case ["hang"]:
                self._taking.clear()
                time.sleep(2 * _POLL_S)
            case ["hold"]:
                self._going.clear()
            case ["go"]:
                self._going.set()
                self._taking.set()

    def _done(self, opcode: int, node: int, body: bytes) -> tuple[int, bytes]:
        if opcode == _INIT:
            _major, minor, ahead, _flags = struct.unpack_from("<4I", body)
            told = struct.pack(
                "<4I2H2I2HI7I", 7, min(31, minor), ahead, 0, 16, 12, _MOST, 1, 0, 0, 0, *[0] * 7
            )
            return 0, told
        act = self._acts.get(opcode)
        if act is None:
            return -errno.ENOSYS, b""
        try:
            return 0, act(node, body)
        except KeyError:
            return -errno.ESTALE, b""
        except OSError as error:
            return -(error.errno or errno.EIO), b""

    def _answer(self, unique: int, error: int, body: bytes) -> None:
        try:
            os.write(self._device, _ANSWER.pack(_ANSWER.size + len(body), error, unique) + body)
        except OSError as refused:
            if refused.errno != errno.ENOENT:  # nobody waits for it any more
                raise

    # Names

    def _below(self, node: int, name: bytes) -> bytes:
        name = name.partition(b"\0")[0]
        if self._caseless and not os.path.lexists(self._paths[node] + b"/" + name):
            folded = os.fsdecode(name).casefold()
            there = (each for each in os.listdir(self._paths[node]) if os.fsdecode(each).casefold() == folded)
            name = next(there, name)
        return self._paths[node] + b"/" + name

    def _entry(self, path: bytes) -> bytes:
        found = os.lstat(path)
        with self._lock:
            node = self._nodes.get(path)
            if node is None:
                node, self._next = self._next, self._next + 1
                self._nodes[path], self._paths[node] = node, path
        return struct.pack("<4Q2I", node, 1, 0, 0, 0, 0) + _attributes(found)

    def _lookup(self, node: int, body: bytes) -> bytes:
        return self._entry(self._below(node, body))

    def _removed(self, remove: Callable[[bytes], None], node: int, body: bytes) -> bytes:
        path = self._below(node, body)
        remove(path)
        with self._lock:
            # The number stays good for who has it open.
            self._nodes.pop(path, None)
        return b""

    def _rename2(self, node: int, body: bytes) -> bytes:
        target, flags, _padding = struct.unpack_from("<QII", body)
        return self._rename(node, target, flags, body[16:])

    def _rename(self, node: int, target: int, flags: int, names: bytes) -> bytes:
        old_name, new_name = names.split(b"\0")[:2]
        old, new = self._below(node, old_name), self._below(target, new_name)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.renameat2(_AT_FDCWD, old, _AT_FDCWD, new, flags):
            raise OSError(ctypes.get_errno(), "renameat2")
        with self._lock:
            self._nodes.pop(new, None)
            for path in [path for path in self._nodes if path == old or path.startswith(old + b"/")]:
                moved = self._nodes.pop(path)
                self._nodes[new + path[len(old) :]] = moved
                self._paths[moved] = new + path[len(old) :]
        return b""

    def _link(self, node: int, body: bytes) -> bytes:
        (old,) = struct.unpack_from("<Q", body)
        new = self._below(node, body[8:])
        os.link(self._paths[old], new)
        return self._entry(new)

    def _symlink(self, node: int, body: bytes) -> bytes:
        name, target = body.split(b"\0")[:2]
        os.symlink(target, self._below(node, name))
        return self._entry(self._below(node, name))

    def _mknod(self, node: int, body: bytes) -> bytes:
        (mode,) = struct.unpack_from("<I", body)
        path = self._below(node, body[16:])
        os.mknod(path, mode)
        return self._entry(path)

    def _mkdir(self, node: int, body: bytes) -> bytes:
        (mode,) = struct.unpack_from("<I", body)
        path = self._below(node, body[8:])
        os.mkdir(path, mode)
        return self._entry(path)

    # Facts

    def _getattr(self, node: int, _body: bytes) -> bytes:
        try:
            found = os.lstat(self._paths[node])
        except FileNotFoundError:  # removed, and still open
            found = os.fstat((self._handles.get(node) or [-1])[-1])
        return struct.pack("<QII", 0, 0, 0) + _attributes(found)

    def _setattr(self, node: int, body: bytes) -> bytes:
        valid, _, handle, size, _, atime, mtime, _, *rest = struct.unpack_from("<IIQQQQQQ4I", body)
        atime_ns, mtime_ns, _, mode = rest
        path = self._paths[node]
        if valid & 1:
            os.chmod(path, stat.S_IMODE(mode))
        if valid & _SIZE:
            os.truncate(handle if valid & 64 else path, size)
        if valid & (16 | 32 | 128 | 256):
            now, before = time.time_ns(), os.lstat(path)
            accessed = now if valid & 128 else atime * 10**9 + atime_ns if valid & 16 else before.st_atime_ns
            modified = now if valid & 256 else mtime * 10**9 + mtime_ns if valid & 32 else before.st_mtime_ns
            os.utime(path, ns=(accessed, modified), follow_symlinks=False)
        return struct.pack("<QII", 0, 0, 0) + _attributes(os.lstat(path))

    def _statfs(self, node: int, _body: bytes) -> bytes:
        found = os.statvfs(self._paths[node])
        counts = (found.f_blocks, found.f_bfree, found.f_bavail, found.f_files, found.f_ffree)
        return struct.pack("<5Q10I", *counts, found.f_bsize, found.f_namemax, found.f_frsize, *[0] * 7)

    # Contents

    def _open(self, node: int, body: bytes) -> bytes:
        (flags,) = struct.unpack_from("<I", body)
        kept = flags & (os.O_ACCMODE | os.O_TRUNC)
        return self._opened(node, os.open(self._paths[node], kept | os.O_NOFOLLOW))

    def _opened(self, node: int, handle: int) -> bytes:
        self._handles.setdefault(node, []).append(handle)
        return struct.pack("<QIi", handle, 0, 0)

    def _create(self, node: int, body: bytes) -> bytes:
        flags, mode = struct.unpack_from("<II", body)
        path = self._below(node, body[16:])
        kept = flags & (os.O_ACCMODE | os.O_TRUNC | os.O_EXCL)
        handle = os.open(path, kept | os.O_CREAT | os.O_NOFOLLOW, stat.S_IMODE(mode))
        entry = self._entry(path)
        return entry + self._opened(self._nodes[path], handle)

    def _read(self, _node: int, body: bytes) -> bytes:
        handle, offset, size = struct.unpack_from("<QQI", body)
        return os.pread(handle, size, offset)

    def _write(self, _node: int, body: bytes) -> bytes:
        handle, offset, size = struct.unpack_from("<QQI", body)
        return struct.pack("<II", os.pwrite(handle, body[40 : 40 + size], offset), 0)

    def _release(self, node: int, body: bytes) -> bytes:
        (handle,) = struct.unpack_from("<Q", body)
        self._handles[node].remove(handle)
        os.close(handle)
        return b""

    def _fsync(self, _node: int, body: bytes) -> bytes:
        os.fsync(*struct.unpack_from("<Q", body))
        return b""

    def _readdir(self, node: int, body: bytes) -> bytes:
        _handle, offset, size = struct.unpack_from("<QQI", body)
        told = b""
        for number, name in enumerate(sorted(os.listdir(self._paths[node])), start=1):
            entry = struct.pack("<QQII", number, number, len(name), 0) + name
            entry += b"\0" * (-len(entry) % 8)
            if number > offset:
                if len(told) + len(entry) > size:
                    break
                told += entry
        return told


def _attributes(found: os.stat_result) -> bytes:
    times = (found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns)
    return _ATTR.pack(
        found.st_ino,
        found.st_size,
        found.st_blocks,
        *(moment // 10**9 for moment in times),
        *(moment % 10**9 for moment in times),
        found.st_mode,
        found.st_nlink,
        found.st_uid,
        found.st_gid,
        0,
        4096,
        0,
    )


def main() -> None:
    os.umask(0)
    os.set_blocking(int(sys.argv[2]), False)
    server = _Server(os.fsencode(sys.argv[1]), int(sys.argv[2]), caseless="caseless" in sys.argv[3:])
    for _ in range(_THREADS):
        threading.Thread(target=server.serve, daemon=True).start()
    for line in sys.stdin:
        server.obey(line)
        sys.stdout.write(f"{server.requests}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
