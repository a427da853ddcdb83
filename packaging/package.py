"""Builds the packages that users install, into `dist/`, and tests each one outside of the checkout.

    python packaging/dev.py package [PART...]

- `wheel`: wheel and sdist. The wheel is installed into an empty environment; the sdist, and the checkout as
  `pipx install .` takes it, must give the same wheel.
- `program`: the program with its own Python in one folder (PyInstaller, `reverie.spec`), as an archive too.
- `deb`: that folder as a Debian package, with menu entry, icons and systemd unit; checked unpacked.

PyInstaller works in an environment of its own (`build/venv`), from `requirements-package.txt`. Failure:
`Stop` says what is wrong. A package that fails its check is removed, so `dist/` contains no broken one.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import dev
import package_check
from dev import ROOT, Stop, say
from icons import PROGRAM_ID
from pips import pip_for

Words = list[str | Path]

DIST = ROOT / "dist"
BUILD = ROOT / "build"
PACKAGING = ROOT / "packaging"
BUILD_VENV = BUILD / "venv"
MENU_ENTRY = PACKAGING / f"{PROGRAM_ID}.desktop"
INFORMATION = PACKAGING / f"{PROGRAM_ID}.metainfo.xml"
DEB_SECTION = "devel"
# No libraries, so `ldd` does not name them: fonts and where they are, and the layouts of keyboards.
DEB_DATA = ("fontconfig-config", "xkb-data")
COMMON_LICENCES = Path("/usr/share/common-licenses")
QT_NOTE = """\
Qt and PySide6 come with this program under the GNU Lesser General Public License, version 3 (LGPL-3 and
GPL-3 beside this file, or https://www.gnu.org/licenses/). They lie unchanged in _internal/PySide6 and may be
replaced there. Their source, under the version that `reverie doctor --self` names:
https://download.qt.io/official_releases/QtForPython/ and https://download.qt.io/official_releases/qt/
"""
_LICENCE = re.compile(r"(licen[cs]e|copying|notice|authors)", re.IGNORECASE)


# --- wheel and sdist ---


def wheel() -> None:
    for old in DIST.glob("reverie-*"):
        if old.name.endswith((".whl", ".tar.gz")) and "linux" not in old.name:
            old.unlink()
    dev.must("build wheel and sdist", [sys.executable, "-m", "hatchling", "build", "-d", DIST], "See above.")
    built, sdist = _only("reverie-*.whl"), _only(f"reverie-{_version()}.tar.gz")
    with _kept_if_it_works(built, sdist), _place() as place:
        _same_wheel_from(sdist, built, place)
        python = _empty_environment(place / "venv")
        pip: Words = [python, "-m", "pip", "install", "--no-input", "--quiet", "--only-binary", ":all:"]
        dev.must("install the wheel into an empty environment", [*pip, built], "See above.")
        _check([str(python.parent / "reverie")], place / "checked")
    _told(built, sdist)


def _same_wheel_from(sdist: Path, built: Path, place: Path) -> None:
    """Check that the unpacked `sdist` gives the same wheel as `built`; `place` is a directory for the work.

    It is built as `pip install .` and `pipx install .` build it.
    """
    with tarfile.open(sdist) as archive:
        archive.extractall(place / "source", filter="data")
    (source,) = (place / "source").iterdir()
    pip: Words = [*pip_for(Path(sys.executable)), "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    dev.must(
        "build the wheel from the sdist",
        [*pip, "-w", place / "again", source],
        "The sdist lacks something that the checkout has; see above.",
    )
    (again,) = (place / "again").iterdir()
    if _listing(again) != _listing(built):
        differ = sorted({name for name, _ in _listing(again) ^ _listing(built)})
        raise Stop(f"The sdist gives another wheel than the checkout: {', '.join(differ[:10])}")


def _listing(archive: Path) -> set[tuple[str, int]]:
    with zipfile.ZipFile(archive) as opened:
        return {(entry.filename, entry.CRC) for entry in opened.infolist()}


def _empty_environment(directory: Path) -> Path:
    dev.must("make an empty environment", [sys.executable, "-m", "venv", directory], "See above.")
    return dev.python_in(directory)


# --- the program with its own Python ---


def program() -> None:
    _build_folder()
    archive = DIST / f"reverie-{_version()}-{_system()}.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=6) as opened:
        opened.add(DIST / "reverie", f"reverie-{_version()}")
    _told(DIST / "reverie", archive)


def _build_folder() -> None:
    import icons

    icons.write_icons(BUILD / "icons")
    python = _build_environment()
    words: Words = ["-m", "PyInstaller", "--noconfirm", "--log-level", "WARN", "--distpath", DIST]
    dev.must(
        "PyInstaller",
        [python, *words, "--workpath", BUILD / "work", PACKAGING / "reverie.spec"],
        "PyInstaller could not build the program; see above.",
    )
    folder = DIST / "reverie"
    _gather_licences(BUILD_VENV, folder / "licences")
    with _kept_if_it_works(folder), _place() as place:
        _check([str(folder / ("reverie.exe" if os.name == "nt" else "reverie"))], place / "checked")


def _build_environment() -> Path:
    """Return an environment with the program's packages and PyInstaller.

    It is created again if a lock file has changed.
    """
    locks = (dev.LOCKS[0], dev.PACKAGE_LOCK)
    stamp, wanted = BUILD_VENV / "reverie-setup-stamp", dev.stamp_of(locks, sys.version)
    python = dev.python_in(BUILD_VENV)
    if stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        return python
    dev.must("make build/venv", [sys.executable, "-m", "venv", "--clear", BUILD_VENV], "See above.")
    pip: Words = [python, "-m", "pip", "install", "--no-input", "--require-hashes", "--only-binary", ":all:"]
    words: Words = [part for lock in locks for part in ("-r", lock)]
    dev.must("install the locked packages", [*pip, *words], "Is the network (or your mirror) reachable?")
    stamp.write_text(wanted, encoding="ascii")
    return python


def _gather_licences(venv: Path, target: Path) -> None:
    """Copy the licences that must accompany the bundled libraries, and ours, to `target`."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    shutil.copyfile(ROOT / "LICENSE", target / "reverie.txt")
    not_ours = {name.lower() for name in _names(dev.PACKAGE_LOCK)}
    (target / "qt.txt").write_text(QT_NOTE, encoding="utf-8")
    for name in ("LGPL-3", "GPL-3"):
        if (COMMON_LICENCES / name).exists():
            shutil.copyfile(COMMON_LICENCES / name, target / name)
    for information in sorted(venv.rglob("site-packages/*.dist-info")):
        name = information.name.partition("-")[0]
        if name.lower().replace("_", "-") in not_ours | {"pip"}:
            continue
        files = (path for path in information.rglob("*") if path.is_file() and _LICENCE.search(path.name))
        for number, file in enumerate(sorted(files)):
            shutil.copyfile(file, target / f"{name}-{number}-{file.name}")


def _names(lock: Path) -> list[str]:
    return re.findall(r"^([\w.-]+)==", lock.read_text(encoding="utf-8"), re.MULTILINE)


# --- Debian ---


def deb() -> None:
    if shutil.which("dpkg-deb") is None:
        raise Stop("dpkg-deb is missing: a Debian package is built on Debian or Ubuntu.")
    _validate()
    if not (DIST / "reverie").is_dir():
        _build_folder()
    architecture = _output("dpkg", "--print-architecture").strip()
    target = DIST / f"reverie_{_version()}_{architecture}.deb"
    with _place() as place:
        tree = place / "tree"
        _lay_out(tree)
        _control(tree, architecture)
        command: Words = ["dpkg-deb", "--root-owner-group", "-Zxz", "-z2", "--build", tree, target]
        dev.must("dpkg-deb", command, "See above.")
        with _kept_if_it_works(target):
            dev.must("unpack the package", ["dpkg-deb", "-x", target, place / "root"], "See above.")
            _check([str(place / "root" / "usr" / "bin" / "reverie")], place / "checked")
    _told(target)


def _validate() -> None:
    """Validate the package with the desktop's own tools, which Debian has."""
    missing = {"desktop-file-validate": "desktop-file-utils", "appstreamcli": "appstream"}
    packages = [package for tool, package in missing.items() if shutil.which(tool) is None]
    if packages and not dev.can_apt():
        raise Stop(f"To validate the menu entry: sudo apt-get install -y {' '.join(packages)}")
    if packages:
        dev.apt_install(packages)
    dev.must("desktop-file-validate", ["desktop-file-validate", MENU_ENTRY], "The menu entry is not valid.")
    words: Words = ["appstreamcli", "validate", "--no-net", INFORMATION]
    dev.must("appstreamcli validate", words, "The AppStream information is not valid.")


def _lay_out(tree: Path) -> None:
    """Put the files of the Debian package below `tree`, where Debian expects them."""
    shutil.copytree(DIST / "reverie", tree / "usr/lib/reverie", symlinks=True)
    (tree / "usr/bin").mkdir(parents=True)
    (tree / "usr/bin/reverie").symlink_to("../lib/reverie/reverie")
    shutil.copytree(BUILD / "icons" / "hicolor", tree / "usr/share/icons/hicolor")
    places = {
        MENU_ENTRY: f"usr/share/applications/{MENU_ENTRY.name}",
        INFORMATION: f"usr/share/metainfo/{INFORMATION.name}",
        ROOT / "LICENSE": "usr/share/doc/reverie/copyright",
        ROOT / "README.md": "usr/share/doc/reverie/README.md",
        ROOT / "CHANGELOG.md": "usr/share/doc/reverie/CHANGELOG.md",
    }
    for source, place in places.items():
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, tree / place)
    unit = (PACKAGING / "reverie-watch.service").read_text(encoding="utf-8")
    target = tree / "usr/lib/systemd/user/reverie-watch.service"
    target.parent.mkdir(parents=True)
    target.write_text(unit_for("/usr/bin/reverie", unit), encoding="utf-8")
    for path in [tree, *tree.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def unit_for(command: str, unit: str) -> str:
    """Return the text of the systemd unit `unit` for a program at the path `command`.

    The instructions for installing the unit are left out.
    """
    started = re.sub(r"^ExecStart=\S+", f"ExecStart={command}", unit, flags=re.MULTILINE)
    return re.sub(r"^#   mkdir .*\n", "", started, flags=re.MULTILINE).replace(
        "#   systemctl --user daemon-reload && systemctl", "#   systemctl"
    )


def _control(tree: Path, architecture: str) -> None:
    size = sum(path.stat().st_size for path in tree.rglob("*") if not path.is_symlink()) // 1024
    text = (
        f"Package: reverie\nVersion: {_version()}\nArchitecture: {architecture}\nSection: {DEB_SECTION}\n"
        f"Priority: optional\nInstalled-Size: {size}\nDepends: {', '.join(_needed(tree))}\n"
        "Maintainer: the Reverie authors <reverie@localhost>\n"
        "Description: desktop memory browser for coding agents\n"
        " Opens the memories that mux, Codex, Claude Code and loki-mode keep, beside the\n"
        " running agents: see, edit, search and tidy them, and take every change back.\n"
    )
    (tree / "DEBIAN").mkdir()
    (tree / "DEBIAN" / "control").write_text(text, encoding="utf-8")


def _needed(tree: Path) -> list[str]:
    """Return the names of the Debian packages with the system libraries that the program in `tree` uses."""
    files = [path for path in tree.rglob("*") if path.is_file() and not path.is_symlink()]
    binaries = [path for path in files if path.name == "reverie" or ".so" in path.name]
    # As at run time: what lies in the folder comes first, and is nothing the system must have.
    inside = tree / "usr/lib/reverie/_internal"
    places = os.pathsep.join(str(path) for path in (inside, inside / "PySide6" / "Qt" / "lib"))
    environment = {**os.environ, "LC_ALL": "C", "LD_LIBRARY_PATH": places}
    told = subprocess.run(
        ["ldd", *binaries], capture_output=True, text=True, env=environment, check=False
    ).stdout
    outside = {path for path in re.findall(r"=> (/\S+)", told) if not path.startswith(str(tree))}
    return debian_dependencies({_owner(path) for path in outside}, glibc_of(binaries))


def _owner(library: str) -> str:
    """Return the name of the Debian package that contains a library; `library` is its path.

    dpkg may list the path of the library from before or after the merge of /usr.
    """
    real = str(Path(library).resolve())
    for path in (library, real, real.removeprefix("/usr"), f"/usr{library}"):
        found = subprocess.run(["dpkg", "-S", path], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.partition(":")[0]
    raise Stop(f"{library} is needed and no Debian package holds it.")


def glibc_of(binaries: Iterable[Path]) -> str:
    """Return the newest version of the C library that any of the binaries needs.

    It depends on the system on which they were built.
    """
    versions = {(2, 0)}
    for path in binaries:
        versions |= {(2, int(minor)) for minor in re.findall(rb"\0GLIBC_2\.(\d+)", path.read_bytes())}
    return ".".join(map(str, max(versions)))


def debian_dependencies(packages: set[str], glibc: str) -> list[str]:
    """Return the entries of the package's `Depends` field.

    `packages`: the names of the packages that are needed. `glibc`: the lowest version of the C library.
    """
    needed = packages | set(DEB_DATA)
    return [f"{name} (>= {glibc})" if name == "libc6" else name for name in sorted(needed)]


# --- what the parts share ---


def _check(command: Sequence[str], directory: Path) -> None:
    directory.mkdir()
    try:
        package_check.check(command, directory, say=lambda line: say(f"          {line}"))
    except (package_check.Broken, subprocess.TimeoutExpired) as error:
        raise Stop(f"What was built does not work: {error}") from error


@contextlib.contextmanager
def _kept_if_it_works(*built: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        for path in built:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _place() -> Iterator[Path]:
    # What failed may still have a process that writes there.
    with tempfile.TemporaryDirectory(prefix="reverie-package-", ignore_cleanup_errors=True) as directory:
        yield Path(directory)


def _only(pattern: str) -> Path:
    (found,) = DIST.glob(pattern)
    return found


def _version() -> str:
    from reverie import __version__

    return __version__


def _system() -> str:
    return f"{platform.system().lower()}-{platform.machine().lower()}"


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _told(*built: Path) -> None:
    for path in built:
        files = [path] if path.is_file() else [file for file in path.rglob("*") if not file.is_symlink()]
        size = sum(file.stat().st_size for file in files if file.is_file())
        say(f"  built   {path.relative_to(ROOT)} ({size / 1_000_000:.1f} MB)")


PARTS: dict[str, Callable[[], None]] = {"wheel": wheel, "program": program, "deb": deb}


def main(arguments: Sequence[str]) -> int:
    unknown = [name for name in arguments if name not in PARTS]
    if unknown:
        say(f"There is no part {unknown[0]!r}; there are {', '.join(PARTS)}.")
        return 2
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    DIST.mkdir(exist_ok=True)
    for name in arguments or [name for name in PARTS if name != "deb" or shutil.which("dpkg-deb")]:
        try:
            PARTS[name]()
        except Stop as stop:
            say(str(stop))
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
