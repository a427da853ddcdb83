"""What `packaging/` holds for installed programs agrees with the program; the icons are what they say."""

from __future__ import annotations

import configparser
import re
import shutil
import struct
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import pytest

import dev
import icons
import package
import package_check
from reverie import __version__
from reverie.ui import app

PACKAGING = Path(dev.__file__).parent
PROJECT = tomllib.loads((dev.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DESKTOP, METAINFO = package.MENU_ENTRY, package.INFORMATION


def desktop() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DESKTOP, encoding="utf-8")
    return parser


def test_version_and_release_are_one() -> None:
    release = ElementTree.parse(METAINFO).find("releases/release")
    assert release is not None
    assert release.get("version") == PROJECT["project"]["version"] == __version__


def test_the_desktop_file_is_the_one_the_window_names_and_starts_the_script() -> None:
    entry = desktop()["Desktop Entry"]
    assert f'setDesktopFileName("{DESKTOP.stem}")' in Path(app.__file__).read_text(encoding="utf-8")
    assert entry["Exec"] in PROJECT["project"]["scripts"]
    metainfo = ElementTree.parse(METAINFO)
    assert metainfo.findtext("launchable") == DESKTOP.name
    assert metainfo.findtext("provides/binary") == entry["Exec"]
    assert metainfo.findtext("summary") == entry["Comment"]


@pytest.mark.parametrize(
    "words",
    [["desktop-file-validate", str(DESKTOP)], ["appstreamcli", "validate", "--no-net", str(METAINFO)]],
    ids=lambda words: words[0],
)
def test_the_validators_of_the_desktop_find_nothing_where_they_are_installed(words: list[str]) -> None:
    if shutil.which(words[0]) is not None:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_desktops_know_the_program_by_one_id_everywhere() -> None:
    """A reverse domain: menu entry, icon, AppStream, the window, macOS and what the wheel installs."""
    found = ElementTree.parse(METAINFO)
    assert re.fullmatch(r"[a-z]+(\.[a-z][a-z0-9_]*){2,}", icons.PROGRAM_ID)
    assert (
        found.findtext("id")
        == icons.PROGRAM_ID
        == DESKTOP.stem
        == METAINFO.name.removesuffix(".metainfo.xml")
    )
    assert desktop()["Desktop Entry"]["Icon"] == found.findtext("icon") == icons.PROGRAM_ID
    assert f'bundle_identifier="{icons.PROGRAM_ID}"' in (PACKAGING / "reverie.spec").read_text("utf-8")
    shared = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert {Path(place).name for place in shared.values()} == {
        f"{icons.PROGRAM_ID}{ending}" for ending in (".desktop", ".metainfo.xml", ".svg")
    }


def test_no_text_for_a_software_centre_promises_that_everything_stays_here() -> None:
    text = " ".join(" ".join(ElementTree.parse(METAINFO).getroot().itertext()).split())
    assert "With a remote model, memory texts go to its provider" in text


def test_what_the_wheel_takes_in_exists() -> None:
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    for source in [*wheel["only-include"], *wheel["sources"], *wheel["shared-data"]]:
        assert (dev.ROOT / source).exists(), source


def test_the_wheel_holds_the_program_and_no_tool_of_the_developers(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    done = subprocess.run(build, cwd=dev.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"reverie/__main__.py", "reverie/ui/app.py"} <= set(names)
    tables = {path.name for path in (dev.ROOT / "resources").iterdir() if path.suffix in (".json", ".toml")}
    assert tables >= {
        "prices.json",
        "refusals.toml",
        "secrets.toml",
        "statements.toml",
        "vocabulary.toml",
    }
    assert {f"reverie/_resources/{name}" for name in tables} <= set(names)
    about = f"reverie-{PROJECT['project']['version']}."  # .dist-info for pip, .data for the desktop
    assert [name for name in names if not name.startswith(("reverie/", about))] == []
    assert [name for name in names if any("tour" in part for part in Path(name).parts)] == []


def test_the_build_lock_has_hashes_and_no_address() -> None:
    text = dev.PACKAGE_LOCK.read_text(encoding="utf-8")
    assert text.startswith(dev.LOCK_HEADER)
    assert "://" not in text
    for name in PROJECT["dependency-groups"]["package"]:
        assert re.search(rf"^{re.split('[<>=]', name)[0]}==", text, re.MULTILINE)


def test_the_build_locks_agree_on_what_they_share() -> None:
    def pins(lock: Path) -> dict[str, str]:
        found = re.findall(r"^([\w.-]+)==(\S+)", lock.read_text(encoding="utf-8"), re.MULTILINE)
        return dict(found)

    program, builder = pins(dev.LOCKS[0]), pins(dev.PACKAGE_LOCK)
    assert {name: program[name] for name in program.keys() & builder.keys()} == {
        name: builder[name] for name in program.keys() & builder.keys()
    }


# --- icons ---


def test_icons_come_in_every_usual_size_from_one_drawing(tmp_path: Path, qapp: object) -> None:
    from PySide6.QtGui import QImage, QImageReader

    icons.write_icons(tmp_path)
    for size in icons.SIZES:
        image = QImage(str(tmp_path / f"hicolor/{size}x{size}/apps/{icons.PROGRAM_ID}.png"))
        assert (image.width(), image.height()) == (size, size)
        assert image.pixelColor(0, 0).alpha() == 0, "the ground is clear"
        assert image.pixelColor(size // 2, size // 2).alpha() == 255
    drawing = tmp_path / f"hicolor/scalable/apps/{icons.PROGRAM_ID}.svg"
    assert drawing.read_bytes() == icons.DRAWING.read_bytes()
    assert QImageReader(str(tmp_path / "reverie.ico")).imageCount() == len(icons.ICO_SIZES)
    assert not QImage(str(tmp_path / "reverie.icns")).isNull()


def test_the_containers_say_where_each_picture_lies() -> None:
    pngs = {size: bytes([size % 251]) * size for size in icons.SIZES}
    data = icons.ico(pngs)
    for place, (size, png) in enumerate(pngs.items()):
        width, *_rest, length, offset = struct.unpack_from("<BBBBHHII", data, 6 + 16 * place)
        assert width == (0 if size == 256 else size % 256)
        assert data[offset : offset + length] == png
    data = icons.icns(pngs)
    assert struct.unpack(">4sI", data[:8]) == (b"icns", len(data))
    at, seen = 8, {}
    while at < len(data):
        name, length = struct.unpack_from(">4sI", data, at)
        seen[name.decode()] = data[at + 8 : at + length]
        at += length
    assert seen == {name: pngs[size] for name, size in icons.ICNS_PIECES.items()}


# --- the Debian package ---


def test_the_unit_of_a_package_starts_the_installed_program_and_needs_no_copying() -> None:
    unit = (PACKAGING / "reverie-watch.service").read_text(encoding="utf-8")
    packaged = package.unit_for("/usr/bin/reverie", unit)
    assert "\nExecStart=/usr/bin/reverie watch\n" in packaged
    assert "mkdir" not in packaged
    assert "systemctl --user enable --now reverie-watch" in packaged
    assert packaged.partition("[Service]\n")[2].count("\n") == unit.partition("[Service]\n")[2].count("\n")


def test_a_package_asks_for_the_newest_c_library_that_any_part_needs(tmp_path: Path) -> None:
    for name, data in {"a.so": b"\0GLIBC_2.9\0GLIBC_2.34\0", "b.so": b"\0GLIBC_2.4\0XGLIBC_2.99"}.items():
        (tmp_path / name).write_bytes(data)
    glibc = package.glibc_of(sorted(tmp_path.iterdir()))
    needed = package.debian_dependencies({"libgl1", "libc6", "libegl1"}, glibc)
    assert needed == ["fontconfig-config", "libc6 (>= 2.34)", "libegl1", "libgl1", "xkb-data"]


def test_what_failed_its_check_does_not_stay(tmp_path: Path) -> None:
    built, folder = tmp_path / "a.whl", tmp_path / "folder"
    built.touch()
    folder.mkdir()
    with pytest.raises(dev.Stop), package._kept_if_it_works(built, folder):
        raise dev.Stop("broken")
    assert not list(tmp_path.iterdir())


def test_an_unknown_part_is_refused_before_anything_is_built(capsys: pytest.CaptureFixture[str]) -> None:
    assert package.main(["wheel", "flatpak"]) == 2
    assert "wheel, program, deb" in capsys.readouterr().err


# --- the check of what was built ---


def a_program(directory: Path, body: str) -> list[str]:
    """Something that is called like a program, and does what `body` says."""
    import sys

    script = directory / "program.py"
    script.write_text(f"import sys\n{body}\n", encoding="utf-8")
    return [sys.executable, str(script)]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("sys.exit(3)", "exit 3"),
        ("print('0.1.0'); print('a warning', file=sys.stderr)", "a warning"),
        ("print('[1]')", "fresh HOME"),
    ],
    ids=["fails", "complains", "sees a strange home"],
)
def test_a_program_that_does_not_work_is_told(tmp_path: Path, body: str, said: str) -> None:
    place = tmp_path / "place"
    place.mkdir()
    with pytest.raises(package_check.Broken, match=said):
        package_check.check(a_program(tmp_path, body), place, say=lambda _line: None)
