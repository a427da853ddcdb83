"""Messages about file systems that report no changes, and about exhausted limits of watched folders.

Each message has one sentence on the problem and one on the remedy. The table of file systems
(`resources/file_systems.toml`) is our judgement of which ones deliver no event for a change made on another
machine: network and host-shared file systems. `watch.polling` in the settings overrides it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from reverie.resources import resource_table


@cache
def network_file_systems() -> frozenset[str]:
    """Return the types of file system that do not report changes made on other machines."""
    return frozenset(resource_table("file_systems.toml")["network"])


_MOUNTS = Path("/proc/self/mountinfo")
_LIMITS = Path("/proc/sys/fs/inotify")


def refusal_message(error: OSError, *, poll_s: float | None, limits: Path = _LIMITS) -> str:
    """Return the message for the user after the system refused to watch more folders, with `error`.

    It names the limit, its value and how to raise it. `poll_s`: the seconds between scans by the polling that
    replaces the watches; None without polling. `limits`: the directory with the system's limits.
    """
    instead = (
        f"Reverie scans the memory folders every {poll_s:g} s instead, so changes appear a little later."
        if poll_s is not None
        else "Polling is turned off in the settings, so some changes appear only at the next full scan."
    )
    if error.errno == errno.ENOSPC:
        return f"{_limit('max_user_watches', 'watched folders', 524_288, limits)} {instead}"
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return (
            f"{_limit('max_user_instances', 'programs that watch', 1024, limits)} If that is not the "
            f"cause, raise the limit of open files (ulimit -n). {instead}"
        )
    return f"The system refuses to watch the memory folders ({os.strerror(error.errno or 0)}). {instead}"


def _limit(name: str, counts: str, least: int, limits: Path) -> str:
    try:
        current = int((limits / name).read_text("ascii"))
    except (OSError, ValueError):
        return f"The system's limit of {counts} is reached. Raise it, then start Reverie again."
    wanted = max(least, 2 * current)
    return (
        f"The limit of {counts}, fs.inotify.{name} = {current}, is reached. "
        f"To raise it: sudo sysctl fs.inotify.{name}={wanted}, then start Reverie again."
    )


def network_message(path: Path, kind: str, poll_s: float) -> str:
    """Return the message for the user about a folder on a network file system.

    `kind`: the type of the file system; `poll_s`: the seconds between scans of the folder.
    """
    return (
        f"{path} is on a network or shared file system ({kind}), which does not report changes. Reverie "
        f'scans it every {poll_s:g} s. The setting watch.polling = "never" turns this off.'
    )


class FileSystems:
    """The file-system types of devices, from the system's mount table; read again for an unknown device."""

    def __init__(self, mounts: Path = _MOUNTS) -> None:
        self._mounts = mounts
        self._kinds: dict[int, str] = {}

    def network_kind(self, device: int) -> str:
        """Return the type of the file system of `device` if that type does not report all changes, else "".

        `device`: the device number (`st_dev`).
        """
        if device not in self._kinds:
            self._kinds |= self._read()
        kind = self._kinds.setdefault(device, "")
        return kind if kind in network_file_systems() else ""

    def _read(self) -> Mapping[int, str]:
        try:
            table = self._mounts.read_text("utf-8", "surrogateescape")
        except OSError:  # not Linux, or no /proc: events are tried, and the reconcile timer remains
            return {}
        return parse_mounts(table)


def parse_mounts(table: str) -> dict[int, str]:
    """Return the file-system type of each device number in `table`, the text of `/proc/self/mountinfo`.

    Lines in another format are skipped.
    """
    kinds: dict[int, str] = {}
    for line in table.splitlines():
        left, separator, right = line.partition(" - ")
        fields, kind = left.split(), right.split()
        major, _, minor = fields[2].partition(":") if separator and len(fields) > 2 else ("", "", "")
        if kind and major.isdigit() and minor.isdigit():
            kinds[os.makedev(int(major), int(minor))] = kind[0]
    return kinds
