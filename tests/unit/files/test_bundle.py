"""Bundles: written never over anything, read without trusting a name, a link or a size in them."""

from __future__ import annotations

import contextlib
import os
import stat
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.errors import StoreError, UserError
from reverie.files import bundle
from reverie.files.bundle import BundledFile, read_bundle, write_bundle

NOTE = BundledFile("deploy.md", b"---\nname: x\n---\nbody\r\n\xef\xbb\xbf", 1_700_000_000_000_000_000)
DEEP = BundledFile("a folder/équipe/日本語.md", b"", 1)


def written(target: Path, *files: BundledFile) -> Path:
    assert write_bundle(target, files, target.parent / "home") == ()
    return target


def archive(path: Path, **contents: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as out:
        for name, data in contents.items():
            out.writestr(zipfile.ZipInfo(name), data)
    return path


@pytest.mark.parametrize("name", ["out", "out.zip"])
def test_what_is_written_is_read_again_byte_for_byte(tmp_path: Path, name: str) -> None:
    found = read_bundle(written(tmp_path / name, NOTE, DEEP))
    assert {file.rel: file.data for file in found.files} == {NOTE.rel: NOTE.data, DEEP.rel: DEEP.data}
    assert found.left_out == ()
    assert {file.rel: file.mtime_ns for file in found.files}[NOTE.rel] == NOTE.mtime_ns


def test_one_file_alone_becomes_a_file(tmp_path: Path) -> None:
    target = written(tmp_path / "renamed.MD", NOTE)
    assert target.read_bytes() == NOTE.data
    assert read_bundle(target).files[0].rel == "renamed.MD"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert (written(tmp_path / "folder", NOTE) / "deploy.md").read_bytes() == NOTE.data


@pytest.mark.parametrize("name", ["there", "there.zip", "there.md"])
def test_nothing_is_written_over_what_exists(tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    target.write_bytes(b"mine")
    with pytest.raises(StoreError, match="exists already"):
        write_bundle(target, [NOTE], tmp_path / "home")
    assert target.read_bytes() == b"mine"


def test_a_folder_with_something_in_it_is_refused_and_an_empty_one_is_filled(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").write_bytes(b"mine")
    with pytest.raises(StoreError, match="exists already"):
        write_bundle(tmp_path / "full", [NOTE], tmp_path / "home")
    assert [each.name for each in (tmp_path / "full").iterdir()] == ["mine"]
    (tmp_path / "empty").mkdir()
    assert (written(tmp_path / "empty", NOTE) / NOTE.rel).read_bytes() == NOTE.data


def test_nothing_is_written_into_the_home_also_not_through_a_link(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "link").symlink_to(home)
    for target in (home / "out", tmp_path / "link/out.zip"):
        with pytest.raises(StoreError, match="inside the home"):
            write_bundle(target, [NOTE], home)
    assert not list(home.iterdir())


@pytest.mark.parametrize("name", ["out", "out.zip"])
def test_a_target_that_cannot_be_completed_is_removed(tmp_path: Path, name: str) -> None:
    bad = BundledFile("x" * 300, b"") if name == "out" else BundledFile("ok.md", 3)  # type: ignore[arg-type]
    with pytest.raises((UserError, AttributeError, TypeError)):
        write_bundle(tmp_path / name, [NOTE, bad], tmp_path / "home")
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("/etc/passwd", "absolute"),
        ("C:/x.md", "absolute"),
        ("../x.md", "leads out"),
        ("a/../../x.md", "leads out"),
        ("a//x.md", "leads out"),
        ("./x.md", "leads out"),
        ("..\\x.md", "backslash"),
    ],
)
def test_an_archive_with_a_name_that_leads_out_is_refused_as_a_whole(
    tmp_path: Path, name: str, why: str
) -> None:
    with pytest.raises(StoreError, match=why):
        read_bundle(archive(tmp_path / "x.zip", **{"good.md": b"x", name: b"x"}))
    assert [each.name for each in tmp_path.iterdir()] == ["x.zip"]


def test_a_link_in_an_archive_is_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link.md")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as out:
        out.writestr(link, "/etc/passwd")
    with pytest.raises(StoreError, match="a link"):
        read_bundle(tmp_path / "x.zip")


def test_an_encrypted_archive_is_refused(tmp_path: Path) -> None:
    data = bytearray(archive(tmp_path / "x.zip", **{"a.md": b"x"}).read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    (tmp_path / "x.zip").write_bytes(data)
    with pytest.raises(StoreError, match="encrypted"):
        read_bundle(tmp_path / "x.zip")


def test_names_that_differ_in_case_only_are_left_out_and_the_rest_is_read(tmp_path: Path) -> None:
    found = read_bundle(
        archive(tmp_path / "x.zip", **{"A.md": b"1", "a.md": b"2", "b": b"3", "b/c.md": b"4", "d.md": b"5"})
    )
    assert [file.rel for file in found.files] == ["b/c.md", "d.md"]
    assert sorted(each.rel for each in found.left_out) == ["A.md", "a.md", "b"]


def test_hidden_files_are_no_memories(tmp_path: Path) -> None:
    found = read_bundle(archive(tmp_path / "x.zip", **{".git/config": b"", "a/.x": b"", "a/x.md": b""}))
    assert [file.rel for file in found.files] == ["a/x.md"]


def test_a_bomb_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "MOST_BYTES", 1000)
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("a.md", b"\0" * 2000)
    with pytest.raises(StoreError, match="larger than"):
        read_bundle(tmp_path / "x.zip")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/a.md").write_bytes(b"\0" * 2000)
    with pytest.raises(StoreError, match="larger than"):
        read_bundle(tmp_path / "folder")


def test_an_archive_that_understates_a_size_is_refused(tmp_path: Path) -> None:
    """The size in both headers says 10, the data has 10,000."""
    path = archive(tmp_path / "x.zip", **{"a.md": b"y" * 10_000})
    data = path.read_bytes().replace((10_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    path.write_bytes(data)
    with pytest.raises(StoreError):
        read_bundle(path)


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MOST_FILES", 2)
    path = archive(tmp_path / "x.zip", **{f"{n}.md": b"" for n in range(3)})
    with pytest.raises(StoreError, match="more than 2 files"):
        read_bundle(path)


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/link.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "in/note.md").write_text("note")
    assert [file.rel for file in read_bundle(tmp_path / "in").files] == ["note.md"]


def test_what_is_not_there_or_a_pipe_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no"):
        read_bundle(tmp_path / "no.zip")
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(StoreError, match="neither a folder nor a file"):
        read_bundle(tmp_path / "pipe.md")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 300), st.binary(max_size=4))
def test_a_damaged_archive_is_a_sentence_never_a_crash(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int, put: bytes
) -> None:
    path = tmp_path_factory.mktemp("zip") / "x.zip"
    data = archive(path, **{"a.md": noise, "b/c.md": b"text"}).read_bytes()
    path.write_bytes(data[:at] + put + data[at + len(put) :])
    with contextlib.suppress(UserError):
        read_bundle(path)


@pytest.mark.parametrize("mtime_ns", [-(10**18), 0, 10**19, 10**30])
def test_a_time_that_an_archive_cannot_hold_is_no_reason_to_fail(tmp_path: Path, mtime_ns: int) -> None:
    written(tmp_path / "x.zip", BundledFile("a.md", b"a", mtime_ns))
    assert read_bundle(tmp_path / "x.zip").files[0].data == b"a"


def test_a_name_that_is_no_text_is_left_out_of_an_archive(tmp_path: Path) -> None:
    odd = BundledFile("b\udcffad.md", b"x")
    left = write_bundle(tmp_path / "x.zip", [NOTE, odd], tmp_path / "home")
    assert [each.reason for each in left] == ["A zip archive cannot hold a name that is no text."]
    assert write_bundle(tmp_path / "x", [NOTE, odd], tmp_path / "home") == ()
    assert sorted(file.data for file in read_bundle(tmp_path / "x").files) == sorted((NOTE.data, odd.data))
