from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from reverie.files.watch_limits import FileSystems, network_message, parse_mounts, refusal_message

MOUNTINFO = """\
22 27 0:21 / /sys rw,nosuid shared:7 - sysfs sysfs rw
29 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
61 29 0:45 / /home/ada/share\\040one rw,relatime shared:33 master:2 - nfs4 server:/export rw,vers=4.2
62 29 0:46 / /mnt/host rw,relatime - fuse.sshfs ada@host:/ rw
a line of another shape
"""


def limits(tmp_path: Path, **numbers: int) -> Path:
    for name, number in numbers.items():
        (tmp_path / name).write_text(f"{number}\n")
    return tmp_path


def test_the_watch_limit_is_named_with_its_number_and_how_to_raise_it(tmp_path: Path) -> None:
    message = refusal_message(
        OSError(errno.ENOSPC, ""), poll_s=2.0, limits=limits(tmp_path, max_user_watches=8192)
    )
    assert "fs.inotify.max_user_watches = 8192" in message
    assert "sysctl fs.inotify.max_user_watches=524288" in message
    assert "every 2 s" in message


def test_a_limit_that_is_high_already_is_doubled(tmp_path: Path) -> None:
    message = refusal_message(
        OSError(errno.ENOSPC, ""), poll_s=2.0, limits=limits(tmp_path, max_user_watches=600_000)
    )
    assert "max_user_watches=1200000" in message


def test_the_instance_limit_is_another_one(tmp_path: Path) -> None:
    message = refusal_message(
        OSError(errno.EMFILE, ""), poll_s=2.0, limits=limits(tmp_path, max_user_instances=128)
    )
    assert "fs.inotify.max_user_instances = 128" in message
    assert "max_user_watches" not in message


def test_without_polling_the_message_does_not_promise_it(tmp_path: Path) -> None:
    message = refusal_message(OSError(errno.ENOSPC, ""), poll_s=None, limits=tmp_path)
    assert "scans the memory folders" not in message


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE, errno.EIO])
def test_a_message_is_possible_where_the_system_tells_no_numbers(tmp_path: Path, number: int) -> None:
    assert refusal_message(OSError(number, ""), poll_s=1.0, limits=tmp_path)


def test_network_file_systems_are_known_by_device(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTINFO)
    systems = FileSystems(table)
    assert systems.network_kind(os.makedev(0, 45)) == "nfs4"
    assert systems.network_kind(os.makedev(0, 46)) == "fuse.sshfs"
    assert systems.network_kind(os.makedev(254, 0)) == ""
    assert systems.network_kind(os.makedev(9, 9)) == ""


def test_a_system_without_a_mount_table_has_no_network_file_systems(tmp_path: Path) -> None:
    assert FileSystems(tmp_path / "none").network_kind(5) == ""


def test_odd_lines_of_the_mount_table_are_passed_over() -> None:
    assert set(parse_mounts(MOUNTINFO).values()) == {"sysfs", "ext4", "nfs4", "fuse.sshfs"}
    assert parse_mounts("1 2 x:y / / rw - ext4\n - nfs\n\n") == {}


def test_the_network_message_names_folder_kind_and_setting() -> None:
    message = network_message(Path("/mnt/notes"), "nfs", 2.0)
    assert "/mnt/notes" in message
    assert "nfs" in message
    assert "watch.polling" in message
