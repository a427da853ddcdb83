"""One window for each profile: if the program is started again, it sends its request to the first window.

The first process is the one that holds the lock file. If it dies, the kernel or Qt's check for stale locks
frees the lock, and the next process that gets it also takes over the socket. The first process listens on the
socket once its window is painted; until then, a second one tries again, and reports an error if it gets no
answer. A request can only name homes to open and the parts of them to show; the socket is in a private
directory.

Threading: GUI thread; `hand_over` blocks and is called before any window exists. Failure: if no lock can be
created, this process behaves as the first one.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import time
from base64 import b64decode, b64encode
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QLockFile, QObject, Signal, Slot

from reverie.engine.codec import WireError, decode, encode
from reverie.errors import UserError
from reverie.files.directory import ensure_private
from reverie.profile import Profile
from reverie.services.machines import MachineAddress, parse_address
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from PySide6.QtNetwork import QLocalServer, QLocalSocket

log = logging.getLogger("reverie.instance")
ANSWER_MS = 8_000
_LONGEST_PATH = 100
_LARGEST = 65_536
_ACTIVATION = ("XDG_ACTIVATION_TOKEN", "DESKTOP_STARTUP_ID")


class OpenRequest(Struct, frozen=True):
    """A request that a second start of the program sends to the first window: what to open and show."""

    homes: tuple[Path, ...] = ()
    workspace: str = ""
    demo: bool = False
    token: str = ""
    """The desktop's activation token, without which the first window may not come to the front."""
    hosts: tuple[MachineAddress, ...] = ()
    project: str = ""

    def encoded(self) -> bytes:
        """Return the request as one line, to be sent over the socket."""
        return b64encode(encode(replace(self, homes=tuple(map(Path.absolute, self.homes))))) + b"\n"


def decoded(line: bytes) -> OpenRequest | None:
    """Decode a request that `encoded` has made; return None if `line` is not valid."""
    try:
        request: OpenRequest = decode(b64decode(line), OpenRequest)
        is_valid = all(parse_address(each.url) == each for each in request.hosts)
    except (ValueError, WireError, UserError):
        return None
    return request if is_valid and all(home.is_absolute() for home in request.homes) else None


def activation_token() -> str:
    """Return the token from the desktop that lets a window come to the front; "" if there is none."""
    return next((os.environ[name] for name in _ACTIVATION if os.environ.get(name)), "")


class Instance(QObject):
    """One running instance of the program; creating this object tries to take the lock of the profile.

    `is_first` is False if another instance holds the lock. Call `listen` once the window is painted, and
    `close` at the end.

    Signals: asked(OpenRequest): Another instance of the program sent this request.
    """

    asked = Signal(object)

    def __init__(self, profile: Profile, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._server: QLocalServer | None = None
        self._partial: dict[QLocalSocket, bytes] = {}
        self._lock: QLockFile | None = None
        self._name = ""
        self.is_first = True
        try:
            profile.ensure(profile.locks)
            self._name = _socket_name(profile)
        except (OSError, UserError) as error:
            log.warning("no lock for the window: %s", error)
            return
        self._lock = QLockFile(str(profile.locks / "window.lock"))
        # A lock is stale only if its process is dead, however old it is.
        self._lock.setStaleLockTime(0)
        if not self._lock.tryLock(0):
            self.is_first = self._lock.error() != QLockFile.LockError.LockFailedError

    def listen(self) -> None:
        """Start to receive requests of other instances; does nothing if this is not the first one."""
        if not self.is_first or not self._name or self._server is not None:
            return
        from PySide6.QtNetwork import QLocalServer

        # We hold the lock, so a socket of this name belongs to a dead process.
        QLocalServer.removeServer(self._name)
        server = QLocalServer(self)
        server.newConnection.connect(self._on_connection)
        if server.listen(self._name):
            self._server = server
        else:
            log.warning("other starts cannot reach this window: %s", server.errorString())

    def close(self) -> None:
        """Free the lock and the socket for the next instance."""
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._lock is not None and self.is_first:
            self._lock.unlock()

    @Slot()
    def _on_connection(self) -> None:
        while self._server is not None and (socket := self._server.nextPendingConnection()) is not None:
            self._partial[socket] = b""
            socket.readyRead.connect(self._on_ready)
            socket.disconnected.connect(self._on_gone)
            self._read(socket)

    @Slot()
    def _on_ready(self) -> None:
        for socket in list(self._partial):
            self._read(socket)

    @Slot()
    def _on_gone(self) -> None:
        from PySide6.QtNetwork import QLocalSocket

        for socket in [
            each for each in self._partial if each.state() != QLocalSocket.LocalSocketState.ConnectedState
        ]:
            self._partial.pop(socket)
            socket.deleteLater()

    def _read(self, socket: QLocalSocket) -> None:
        text = self._partial[socket] + bytes(socket.readAll().data())
        self._partial[socket] = text
        line, newline, _rest = text.partition(b"\n")
        if not newline:
            if len(text) > _LARGEST:
                socket.abort()
            return
        self._partial[socket] = b""
        request = decoded(line)
        socket.write(b"taken\n" if request is not None else b"refused\n")
        socket.flush()
        if request is not None:
            self.asked.emit(request)

    def hand_over(self, request: OpenRequest, limit_ms: int = ANSWER_MS) -> str:
        """Send `request` to the first window and wait for its answer, at most `limit_ms`.

        Returns "" on success, otherwise the reason of the failure as a sentence.
        """
        from PySide6.QtNetwork import QLocalSocket

        deadline = time.monotonic() + limit_ms / 1000
        socket = QLocalSocket()
        while True:
            socket.connectToServer(self._name)
            left = max(1, round((deadline - time.monotonic()) * 1000))
            if socket.waitForConnected(left):
                break
            if time.monotonic() > deadline:
                return self._silence()
            # The first window is still starting.
            time.sleep(0.05)
        socket.write(request.encoded())
        answer = b""
        while b"\n" not in answer:
            left = round((deadline - time.monotonic()) * 1000)
            if left <= 0 or not socket.waitForReadyRead(left):
                return self._silence()
            answer += bytes(socket.readAll().data())
        socket.disconnectFromServer()
        return "" if answer == b"taken\n" else "The open window did not understand the request."

    def _silence(self) -> str:
        pid = self._lock.getLockInfo()[0] if self._lock is not None else 0
        return (
            f"Reverie is already open for this profile (process {pid}) but is not responding. "
            "Close its window or end that process, then start Reverie again, "
            "or use another profile with --profile."
        )


def _socket_name(profile: Profile) -> str:
    """Return the path of the socket: beside the lock or, if that path is too long, in a private directory."""
    beside = profile.locks.absolute() / "window.socket"
    windows = sys.platform == "win32"
    if not windows and len(os.fsencode(beside)) <= _LONGEST_PATH:
        return str(beside)
    import hashlib  # late: it loads a library that the first paint does not need

    digest = hashlib.sha256(str(profile.state.absolute()).encode()).hexdigest()[:16]
    if windows:
        return f"reverie-{digest}"
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    root = Path(runtime) if os.path.isabs(runtime) else Path(tempfile.gettempdir())  # noqa: PTH117 - as profile.py
    private = ensure_private(root / f"reverie-{os.getuid()}")
    return str(private / f"{digest}.socket")
