"""A real home with everything that works on it, for tests: sample homes, a profile below tmp_path, a fixed
clock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from helpers.isolation import TEST_PROFILE
from helpers.samples import copy_sample
from reverie.agents.scopes import ScopeContext
from reverie.profile import Profile

if TYPE_CHECKING:
    from reverie.services.container import HomeContainer

NOW = 1_787_300_000_000


class Time:
    """A clock that a test can set."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def sample_parts(
    name: str, tmp_path: Path, clock: Time | None = None, *, whole: bool = TEST_PROFILE == "campaign"
) -> HomeContainer:
    """The parts of a fresh copy of a sample home; `whole` as in `copy_sample`."""
    from reverie.compose import open_parts

    home = copy_sample(name, tmp_path, whole=whole)
    return open_parts(home, Profile.under(tmp_path / "profile"), clock or Time())


def again(parts: HomeContainer, clock: Time | None = None) -> HomeContainer:
    """Return the same home and profile, opened again as another process would."""
    from reverie.compose import open_parts

    return open_parts(parts.home.root, parts.profile, clock or parts.clock)


def workspace(parts: HomeContainer, workspace_id: str) -> ScopeContext:
    return parts.home.context(workspace_id=workspace_id)


def contents(root: Path) -> dict[str, bytes]:
    """Return the bytes of every file below `root`, by path."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def with_op(command: str, path: str, *, applied: bool = True, **more: Any) -> dict[str, Any]:
    """Return one op of a coverage record."""
    return {"command": command, "path": path, "applied": applied, **more}
