"""The chores of `packaging/dev.py`: what it decides, without making an environment."""

from __future__ import annotations

import importlib.util
import platform
import re
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

import dev
import pictures
import pips
import system_libraries

PROJECT = Path(__file__).resolve().parents[2]
LDD = """\
/x/PySide6/QtWidgets.abi3.so:
\tlinux-vdso.so.1 (0x00007ffd)
\tlibQt6Gui.so.6 => /x/PySide6/Qt/lib/libQt6Gui.so.6 (0x00007f)
\tlibEGL.so.1 => not found
/x/PySide6/Qt/plugins/platforms/libqxcb.so:
\tlibEGL.so.1 => not found
\tlibxcb-cursor.so.0 => not found
\tlibodd.so.3 => not found
"""


def locked(lock: Path) -> dict[str, str]:
    """Package name -> its whole entry, hashes included."""
    entries = re.split(r"^(?=\S)", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {entry.partition("==")[0]: entry for entry in entries if "==" in entry}


def wanted(requirements: list[str]) -> set[str]:
    return {re.split(r"[ <>=;]", text)[0].lower().replace("_", "-") for text in requirements}


# --- the lock files ---


@pytest.mark.parametrize("lock", dev.LOCKS, ids=lambda path: path.name)
def test_every_locked_package_has_an_exact_version_and_hashes_and_no_address(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    assert text.startswith(dev.LOCK_HEADER)
    assert "://" not in text
    assert "--index" not in text
    for name, entry in locked(lock).items():
        assert "--hash=sha256:" in entry, name


def test_the_lock_files_hold_every_requirement_of_the_project() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    program, tools = (set(locked(lock)) for lock in dev.LOCKS)
    assert wanted(project["project"]["dependencies"]) <= program
    assert wanted(project["dependency-groups"]["dev"]) <= tools
    assert wanted(project["build-system"]["requires"]) <= tools, "the build backend is locked too"


def test_both_lock_files_agree_on_what_they_share() -> None:
    program, tools = (locked(lock) for lock in dev.LOCKS)
    for name in program.keys() & tools.keys():
        # What depends on a package twice gives it its marker twice.
        assert program[name].split()[0] == tools[name].split()[0]


# --- system libraries ---


def test_each_missing_library_is_named_once_in_order() -> None:
    assert system_libraries.missing_libraries(LDD) == ("libEGL.so.1", "libxcb-cursor.so.0", "libodd.so.3")


def test_missing_libraries_become_debian_packages_and_unknown_ones_stay_libraries() -> None:
    libraries = ["libgthread-2.0.so.0", "libglib-2.0.so.0", "libodd.so.3"]
    assert system_libraries.debian_packages(libraries) == (("libglib2.0-0",), ("libodd.so.3",))


def test_on_debian_the_message_is_one_command_and_names_what_no_package_holds() -> None:
    text = system_libraries.libraries_message(["libEGL.so.1", "libodd.so.3"], apt=True, dnf=False)
    assert "sudo apt-get install -y libegl1\n" in text
    assert "libodd.so.3" in text


def test_on_fedora_the_command_asks_for_the_libraries_by_name() -> None:
    text = system_libraries.libraries_message(["libEGL.so.1"], apt=False, dnf=True)
    assert "sudo dnf install -y 'libEGL.so.1()(64bit)'" in text


def test_elsewhere_the_message_names_the_libraries_and_no_command() -> None:
    text = system_libraries.libraries_message(["libEGL.so.1"], apt=False, dnf=False)
    assert "libEGL.so.1" in text
    assert "sudo" not in text


def test_a_missing_offscreen_library_stops_and_a_missing_window_library_only_warns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dev, "can_apt", lambda: False)
    monkeypatch.setattr(dev, "qt_misses", lambda _: ("libxcb-cursor.so.0",))
    dev.ensure_libraries()
    assert "libxcb-cursor.so.0" in capsys.readouterr().err
    monkeypatch.setattr(dev, "qt_misses", lambda _: ("libEGL.so.1",))
    with pytest.raises(dev.Stop, match=r"libEGL\.so\.1"):
        dev.ensure_libraries()


# --- the environment ---


def make_venv(directory: Path, config: str) -> Path:
    python = dev.python_in(directory)
    python.parent.mkdir(parents=True)
    python.touch()
    (directory / "pyvenv.cfg").write_text(config, encoding="utf-8")
    return directory


@pytest.mark.parametrize("key", ["version", "version_info"])
def test_the_version_of_an_environment_is_read_from_its_configuration(tmp_path: Path, key: str) -> None:
    venv = make_venv(tmp_path / "venv", f"home = /usr/bin\n{key} = 3.11.7\nodd line\n")
    assert dev.venv_version(venv) == (3, 11, 7)


def test_an_environment_without_python_or_configuration_has_no_version(tmp_path: Path) -> None:
    assert dev.venv_version(tmp_path) == ()
    (tmp_path / "pyvenv.cfg").write_text("version = 3.11.7\n", encoding="utf-8")
    assert dev.venv_version(tmp_path) == ()
    assert dev.OLDEST_PYTHON > (), "so it is made anew"


def test_python_lies_where_each_platform_puts_it() -> None:
    assert dev.python_in(Path("v"), windows=False) == Path("v/bin/python")
    assert dev.python_in(Path("v"), windows=True) == Path("v/Scripts/python.exe")


def test_the_stamp_changes_with_any_file_and_any_fact(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("ab", encoding="utf-8")
    two.write_text("c", encoding="utf-8")
    stamp = dev.stamp_of([one, two], "3.11.7", "/here")
    assert dev.stamp_of([one, two], "3.11.7", "/here") == stamp
    assert dev.stamp_of([one, two], "3.12.0", "/here") != stamp
    assert dev.stamp_of([one, two], "3.11.7", "/there") != stamp
    one.write_text("a", encoding="utf-8")
    two.write_text("bc", encoding="utf-8")
    assert dev.stamp_of([one, two], "3.11.7", "/here") != stamp, "not the same bytes cut elsewhere"


@pytest.mark.parametrize("environ", [{}, {"LANG": "C"}, {"LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"}])
def test_where_the_locale_is_c_children_get_utf8(environ: dict[str, str]) -> None:
    assert dev.child_environment(environ, linux=True)["LC_ALL"] == "C.UTF-8"
    assert dev.child_environment(environ, linux=False).get("LC_ALL") == environ.get("LC_ALL")


def test_a_locale_of_ones_own_is_kept() -> None:
    child = dev.child_environment({"LANG": "de_DE.UTF-8"}, linux=True)
    assert "LC_ALL" not in child


def test_settings_that_would_lead_pip_out_of_the_environment_are_not_passed_on() -> None:
    child = dev.child_environment({"PIP_TARGET": "/x", "PYTHONPATH": "/y", "PIP_CERT": "/z"})
    assert "PIP_TARGET" not in child
    assert "PYTHONPATH" not in child
    assert child["PIP_CERT"] == "/z", "proxies, mirrors and certificates are the user's business"


def test_a_python_without_ensurepip_is_told_which_package_to_install() -> None:
    text = dev.missing_venv_message(["ensurepip"], "python3.11-venv", debian=True)
    assert "lacks ensurepip" in text
    assert "sudo apt-get install -y python3.11-venv" in text
    assert "apt-get" not in dev.missing_venv_message(["venv"], "python3.11-venv", debian=False)


# --- commands and their arguments ---


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would have been run, with set-up left out."""
    commands: list[list[str]] = []

    def replace_by(command: list[object], **_: str) -> int:
        commands.append([str(part) for part in command])
        return 7

    monkeypatch.setattr(dev, "set_up", lambda: Path("python"))
    monkeypatch.setattr(dev, "replace_by", replace_by)
    return commands


def test_run_passes_its_arguments_on_as_they_are(started: list[list[str]]) -> None:
    arguments = ["status", "--home", "a b", "--", "--json"]
    assert dev.main(["run", *arguments]) == 7
    assert started == [["python", "-P", "-m", "reverie", *arguments]]


def test_run_opens_the_window_where_there_is_a_display(
    started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dev, "has_display", lambda *_: True)
    dev.main(["run"])
    assert started == [["python", "-P", "-m", "reverie"]]


def test_run_without_a_display_says_so_and_takes_the_tour(
    started: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(dev, "has_display", lambda *_: False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert dev.main(["run"]) == 7
    assert started[0][:2] == ["python", str(dev.PICTURES)]
    assert Path(started[0][2]).parent == tmp_path
    assert "DISPLAY" in capsys.readouterr().err


def test_only_linux_can_lack_a_display() -> None:
    assert not dev.has_display({}, "linux")
    assert dev.has_display({"WAYLAND_DISPLAY": "wayland-0"}, "linux")
    assert dev.has_display({}, "darwin")
    assert dev.has_display({}, "win32")


def test_pytest_arguments_may_follow_two_dashes() -> None:
    assert dev.pytest_arguments(["--", "-k", "lease"]) == ["-k", "lease"]
    assert dev.pytest_arguments(["-k", "--"]) == ["-k", "--"]


def test_a_campaign_writes_its_report_where_it_is_told_or_says_where(
    started: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    dev.main(["campaign", "--report", "here.md", "kills"])
    dev.main(["campaign"])
    told, chosen = started
    assert told[2:] == ["--report", "here.md", "kills"]
    assert chosen[-2] == "--report"
    assert chosen[-1] in capsys.readouterr().err


def test_shots_go_to_one_directory_or_to_where_the_readme_has_them(
    started: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert dev.main(["shots", "here", "there"]) == 1
    assert "directory" in capsys.readouterr().err
    assert not started
    dev.main(["shots", "here"])
    dev.main(["shots"])
    told, ours = started
    assert told[-1] == "here"
    assert Path(ours[-1]).name == "pictures.py"


def test_every_picture_of_the_readme_is_taken_anew() -> None:
    shown = re.findall(
        r"resources/screenshots/([\w-]+\.png)", (PROJECT / "README.md").read_text(encoding="utf-8")
    )
    there = {path.name for path in pictures.PLACE.iterdir()}
    assert set(shown) <= set(pictures.TAKEN_FROM)
    assert there == set(pictures.TAKEN_FROM)


def test_an_unknown_command_is_wrong_usage_and_shows_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert dev.main(["frobnicate"]) == 2
    shown = capsys.readouterr()
    assert "frobnicate" in shown.err
    assert all(f"\n  {name}" in shown.err for name in dev.COMMANDS)
    assert not shown.out


def test_a_failed_step_shows_its_whole_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert not dev.step("a step", [sys.executable, "-c", "print('out'); raise SystemExit('why')"])
    shown = capsys.readouterr().err
    assert "FAILED  a step" in shown
    assert "out" in shown
    assert "why" in shown


def test_a_step_that_went_well_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert dev.step("a step", [sys.executable, "-c", "print('noise')"])
    assert re.fullmatch(r"  ok      a step \(\d+\.\d s\)\n", capsys.readouterr().err)


@pytest.mark.parametrize(("types", "tests", "code"), [(0, 0, 0), (1, 0, 1), (0, 5, 5), (1, 5, 1)])
def test_the_check_fails_when_the_types_or_the_tests_do_which_run_side_by_side(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], types: int, tests: int, code: int
) -> None:
    both = threading.Barrier(2)

    def quietly(title: str, _command: object) -> tuple[bool, str]:
        both.wait(60)
        return types == 0, f"said of {title}"

    def run_tests(_python: Path, _arguments: object) -> int:
        both.wait(60)
        return tests

    monkeypatch.setattr(dev, "set_up", lambda: Path("python"))
    monkeypatch.setattr(dev, "step", lambda *_: True)
    monkeypatch.setattr(dev, "quietly", quietly)
    monkeypatch.setattr(dev, "is_root", lambda: False)
    monkeypatch.setattr(dev, "compile_tests", lambda _python: None)
    monkeypatch.setattr(dev, "run_tests", run_tests)
    assert dev.main(["test"]) == code
    shown = capsys.readouterr().err
    assert "said of mypy" in shown
    assert ("FAILED: mypy" in shown) == bool(types)


@pytest.mark.parametrize(
    ("root", "arguments", "passes", "code"),
    [
        (True, [], True, 0),
        (True, [], False, 1),
        (True, ["--", "-k", "lease"], False, 0),
        (False, [], False, 0),
    ],
    ids=["good", "bad", "only what was asked for", "an ordinary user"],
)
def test_root_runs_a_part_as_an_ordinary_user_and_what_fails_there_fails_the_check(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    root: bool,
    arguments: list[str],
    passes: bool,
    code: int,
) -> None:
    started: list[list[str]] = []

    def quietly(title: str, command: Iterable[object]) -> tuple[bool, str]:
        started.append([str(word) for word in command])
        return passes or "mypy" in title, f"said of {title}"

    monkeypatch.setattr(dev, "set_up", lambda: Path("python"))
    monkeypatch.setattr(dev, "step", lambda *_: True)
    monkeypatch.setattr(dev, "quietly", quietly)
    monkeypatch.setattr(dev, "is_root", lambda: root)
    monkeypatch.setattr(dev, "compile_tests", lambda _python: None)
    monkeypatch.setattr(dev, "run_tests", lambda *_: 0)
    assert dev.main(["test", *arguments]) == code
    parts = [command for command in started if "--sample" in command]
    assert len(parts) == (root and not arguments)
    assert ("as an ordinary user" in capsys.readouterr().err) == bool(parts)
    for command in parts:
        assert command[command.index("--sample-seed") + 1] == dev.current_commit()
        assert all((PROJECT / path).exists() for path in dev.USER_TESTS)


def test_a_step_that_ran_tests_says_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    for last in ("9 passed, 2 skipped, 30 deselected in 1.25s", "9 passed, 2 skipped in 99.10s (0:01:39)"):
        assert dev.step("a step", [sys.executable, "-c", f"print('...'); print({last!r})"])
        assert re.fullmatch(r"  ok      a step: 9 passed, 2 skipped \(\d+\.\d s\)\n", capsys.readouterr().err)


def test_it_starts_from_a_bare_python_without_the_environment() -> None:
    command = [sys.executable, "-S", "-E", str(PROJECT / "packaging" / "dev.py"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == dev.USAGE


def test_a_python_without_venv_stops_before_anything_is_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(dev, "can_apt", lambda: False)
    monkeypatch.setattr(dev, "VENV", tmp_path / "venv")
    for pip_is_new, lacks in ((False, "lacks venv and ensurepip"), (True, "lacks venv\\.")):
        monkeypatch.setattr(dev, "reaches", lambda _python, new=pip_is_new: new)
        with pytest.raises(dev.Stop, match=lacks):
            dev.make_venv()
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize("pip_is_new", [True, False])
def test_an_environment_gets_a_pip_only_where_the_one_outside_cannot_reach_it(
    monkeypatch: pytest.MonkeyPatch, pip_is_new: bool
) -> None:
    made: list[list[object]] = []
    monkeypatch.setattr(dev, "reaches", lambda _python: pip_is_new)
    monkeypatch.setattr(dev, "must", lambda _title, command, _advice: made.append(command))
    dev.make_venv()
    assert ("--without-pip" in made[0]) is pip_is_new


@pytest.mark.parametrize(
    ("works", "ends"),
    [({"import pip"}, ["-m", "pip"]), ({"--version"}, ["--python", "there"]), (set(), ["-m", "pip"])],
    ids=["its own", "the one outside", "a new one"],
)
def test_the_pip_that_installs_is_one_that_works(
    monkeypatch: pytest.MonkeyPatch, works: set[str], ends: list[str]
) -> None:
    started: list[list[object]] = []
    monkeypatch.setattr(pips, "_works", lambda command: command[-1] in works)
    monkeypatch.setattr(pips.subprocess, "run", lambda command, **_: started.append(command))
    assert pips.pip_for(Path("there"))[-2:] == ends
    assert bool(started) is not bool(works)


@pytest.mark.parametrize("count", [1, 2, 3, 64])
def test_the_portions_are_the_lock_files_and_share_no_package(count: int) -> None:
    texts = pips.portions([lock.read_text(encoding="utf-8") for lock in dev.LOCKS], count)
    assert 1 <= len(texts) <= min(count, pips.MOST_PORTIONS)
    found = [re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:] for text in texts]
    program, tools = (locked(lock) for lock in dev.LOCKS)
    assert sorted(entry for entries in found for entry in entries) == sorted({**tools, **program}.values())


def test_the_entries_of_a_package_stay_together() -> None:
    lock = "# head\na==1 ; x < '1' \\\n    --hash=1\na==2 ; x > '1' \\\n    --hash=2\nb==1 \\\n    --hash=3\n"
    first, second = pips.portions([lock, "b==2 \\\n    --hash=4\n"], 2)
    assert first == lock.partition("\n")[2].partition("b==")[0]
    assert second == "b==1 \\\n    --hash=3\n"


def test_test_under_another_python_uses_an_environment_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    became: list[tuple[list[str], dict[str, str]]] = []

    def replace_by(command: list[object], **extra: str) -> int:
        became.append(([str(part) for part in command], extra))
        return 5

    monkeypatch.setattr(dev, "replace_by", replace_by)
    assert dev.main(["test", "--python", sys.executable, "--", "-x"]) == 5
    (command, extra), version = became[0], platform.python_version()
    assert command == [sys.executable, dev.__file__, "test", "--", "-x"]
    assert extra == {"REVERIE_VENV": str(PROJECT / "build" / f"venv-{version}")}
    assert version in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--python"], ["--python", "/no/such/python"], ["--python", "/bin/cat"]])
def test_test_under_what_is_no_python_says_so(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert dev.main(["test", *words]) == 1
    said = capsys.readouterr().err
    assert "interpreter" in said or "no program" in said
    assert "Traceback" not in said
