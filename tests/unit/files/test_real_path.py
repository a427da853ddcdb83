"""Where a path really is, on every Python: chains and circles of links end in an answer."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.links import circle, endless_link
from reverie.files.directory import has_too_many_links, real_path


def test_links_are_followed_as_the_system_does(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "one").symlink_to("file")
    (tmp_path / "two").symlink_to("one")
    (tmp_path / "gone").symlink_to("nowhere")
    real = Path(os.path.realpath(tmp_path))
    assert real_path(tmp_path / "two") == str(real / "file")
    assert real_path(tmp_path / "gone") == str(real / "nowhere")
    assert real_path(str(tmp_path / "two"), strict=True) == str(real / "file")
    assert not has_too_many_links(tmp_path / "two")
    assert not has_too_many_links(tmp_path / "gone")


@pytest.mark.parametrize("make", [circle, endless_link])
def test_links_that_cannot_be_followed_are_named_and_end_no_caller(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    make(tmp_path / "link")
    assert real_path(tmp_path / "link") == str(tmp_path / "link")
    assert has_too_many_links(tmp_path / "link")
    assert has_too_many_links(tmp_path / "link" / "below")


def test_a_circle_is_an_error_where_the_path_must_be_there(tmp_path: Path) -> None:
    circle(tmp_path / "link")
    with pytest.raises(OSError, match="link") as caught:
        real_path(tmp_path / "link", strict=True)
    assert caught.value.errno == errno.ELOOP
