"""Whether somebody holds `flock` on a file, without touching the file: by the kernel's own list of locks.

To try the lock would get in the way of a program that takes it at that moment. Where there is no such list
(anywhere but Linux) nobody is said to hold anything. Threading: any thread. Failure: none.
"""

from __future__ import annotations

import os
from pathlib import Path

_LIST = Path("/proc/locks")


def is_held(file: Path) -> bool:
    """Whether a process holds `flock` on the file now."""
    try:
        status, lines = file.stat(), _LIST.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return False
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    for line in lines:
        fields = line.split()
        if len(fields) < 6 or fields[1] != "FLOCK":
            continue
        of_device, _, inode = fields[5].rpartition(":")
        # Some file systems report another device here than `stat` does; theirs begin with 00.
        if inode == str(status.st_ino) and (of_device == device or "00" in (of_device[:2], device[:2])):
            return True
    return False
