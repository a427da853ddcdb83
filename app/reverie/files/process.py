"""Which process, and whether it still runs.

A process id alone is given to somebody else sooner or later, so it is kept with the moment the process
started and the boot it belongs to. On Linux all three come from /proc; elsewhere psutil gives the start,
which no second process with that id shares. A zombie is dead: it does nothing any more, its parent has only
not looked.

Threading: any thread.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ProcessId:
    """`started`: ticks since boot on Linux, ms since the epoch elsewhere. `boot`: boot and process-id
    namespace on
    Linux, else empty. Both are only ever compared."""

    pid: int
    started: int
    boot: str


def this_process() -> ProcessId:
    """The identity of the calling process."""
    pid = os.getpid()
    return ProcessId(pid, _started(pid) or 0, _boot())


_ours = {os.getpid()}


def count_as_ours(pid: int) -> None:
    """A process that this one started and that works for it alone."""
    _ours.add(pid)


def is_ours(pid: int) -> bool:
    """Whether what this process does is our own doing."""
    return pid in _ours or pid == os.getpid()


def is_alive(process: ProcessId) -> bool:
    """Whether exactly this process still runs. One in another container, which cannot be seen from here,
    counts as
    alive: then only its lease's expiry speaks."""
    boot, _, namespace = process.boot.partition("/")
    own_boot, _, own_namespace = _boot().partition("/")
    if boot != own_boot:
        return False
    if namespace != own_namespace:
        return True
    return _started(process.pid) == process.started


def is_running(pid: int) -> bool:
    """Whether some process of this id runs here: for files of other programs, which keep no more."""
    return pid > 0 and _started(pid) is not None


if sys.platform == "linux":

    def _boot() -> str:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"

    def _started(pid: int) -> int | None:
        """Start time of a living process, None for a dead one."""
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return None
        # The program's name stands in brackets and may hold brackets and spaces itself; state is the field
        # after it.
        fields = text.rpartition(")")[2].split()
        return None if fields[0] in "ZXx" else int(fields[19])

else:

    def _boot() -> str:
        return ""

    def _started(pid: int) -> int | None:
        """Start time of a living process, None for a dead one."""
        import psutil  # late: only a lease or a run record needs it

        try:
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            return int(process.create_time() * 1000)
        except psutil.NoSuchProcess:
            return None
