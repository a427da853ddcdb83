"""What the system refuses is told in words: why, and what to do."""

from __future__ import annotations

import errno
import os
import sqlite3

import pytest

from reverie.errors import user_error_from_os
from reverie.files.sqlite import why


@pytest.mark.parametrize("name", ["ESTALE", "ENOTCONN", "ETIMEDOUT", "EHOSTDOWN"])
def test_a_share_that_is_gone_is_to_be_connected_again(name: str) -> None:
    code = getattr(errno, name, None)
    if code is None:
        pytest.skip("this system does not know it")
    error = user_error_from_os(OSError(code, os.strerror(code)), "It was not saved.")
    assert "is not available" in error.cause
    assert "Reconnect" in error.next_step


def test_what_is_not_known_is_told_as_the_system_says_it() -> None:
    error = user_error_from_os(OSError(errno.ELOOP, "Too many levels"), "It was not read.")
    assert error.cause == "The operating system reports: Too many levels."
    assert error.next_step


@pytest.mark.parametrize("name", ["SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"])
def test_a_database_on_a_full_disk_says_that_the_disk_is_full(name: str) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = getattr(sqlite3, name)
    assert why(error, "SQLite says so.", "Check the disk.")[0] == "The disk is full."


def test_another_error_of_a_database_is_told_as_it_is() -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ
    assert why(error, "SQLite says so.", "Check the disk.") == ("SQLite says so.", "Check the disk.")
