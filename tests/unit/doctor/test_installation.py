"""What mends Reverie depends on how it was installed, and only a checkout has `dev.py`."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from reverie.doctor import self_checks
from reverie.doctor.findings import Finding
from reverie.doctor.installation import Installation, installation


def installed(tmp_path: Path, source: str = "") -> Installation:
    package = tmp_path / "env" / "lib" / "python3.11" / "site-packages" / "reverie"
    package.mkdir(parents=True)
    return installation(
        frozen=False,
        executable=tmp_path / "env" / "bin" / "python",
        package=package,
        prefix=tmp_path / "env",
        source=source,
    )


def test_a_checkout_is_set_up_by_its_own_chores(tmp_path: Path) -> None:
    (tmp_path / "packaging").mkdir()
    (tmp_path / "packaging" / "dev.py").touch()
    found = installation(frozen=False, package=tmp_path / "app" / "reverie")
    assert (found.kind, found.place) == ("checkout", tmp_path)
    assert "packaging/dev.py setup" in found.next_step


def test_an_environment_of_pipx_is_told_by_what_pipx_leaves_in_it(tmp_path: Path) -> None:
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "pipx_metadata.json").touch()
    found = installed(tmp_path)
    assert (found.kind, found.next_step) == ("pipx", "Install again: `pipx reinstall env`.")


def test_pip_is_given_what_it_took_the_program_from(tmp_path: Path) -> None:
    found = installed(tmp_path, "/home/a b/reverie-0.1.0-py3-none-any.whl")
    assert found.kind == "pip"
    assert "bin/python -m pip install --force-reinstall '/home/a b/reverie-0.1.0" in found.next_step


def test_pip_is_never_given_the_bare_name_which_may_be_another_program(tmp_path: Path) -> None:
    found = installed(tmp_path)
    assert (found.kind, "pip install" in found.next_step) == ("pip", False)


@pytest.mark.parametrize(
    ("folder", "kind", "said"),
    [("/usr/lib/reverie", "deb", "apt-get install --reinstall ./reverie_"), ("/opt/r", "folder", "archive")],
)
def test_a_program_with_its_own_python_is_the_package_or_a_folder(folder: str, kind: str, said: str) -> None:
    found = installation(frozen=True, executable=Path(folder, "reverie"))
    assert (found.kind, said in found.next_step) == (kind, True)


def test_missing_libraries_come_with_the_command_of_this_installation_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_name: str) -> str:
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(self_checks.importlib.metadata, "version", none)
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "pipx_metadata.json").touch()
    found = Finding("libraries", "", *self_checks._libraries(installed(tmp_path)))
    assert (found.state, "pipx reinstall env" in found.evidence) == ("fail", True)
    assert "dev.py" not in found.evidence
