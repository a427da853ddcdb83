"""Attempts to leave a root: made-up memory paths and symlink arrangements, and a check that none succeeds.

`SECRET` lies outside the root in every arrangement; a command that shows it, or that changes anything
outside, has escaped. Used with small counts by the tests and with the full ones by the campaign.
"""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import strategies as st

from reverie.agents.mux.home import MuxHome
from reverie.agents.scopes import Scope
from reverie.files.rooted import RootedDirectory
from reverie.memory.change_listener import NoChangeListener
from reverie.memory.commands import MemoryCommands
from reverie.memory.store import MemoryStore

SECRET = "the words outside the root"
_NAMES = ("a", "b", "c", "d.md", "e.md", "...", "\u202e", "é", "🙂", " ", "a b", ".x")
_BAD_NAMES = ("..", ".", "a..b", "~", "%2e%2e", "x\\y", "", "a/../../b")
_HEADS = ("/memories//", "/memories/../", "memories/", "/memories", "")
_SCOPES = ("Global", "..", "global/..", "other", "")

_segment = st.one_of(
    st.sampled_from(_NAMES),
    st.sampled_from(_NAMES),
    st.text(min_size=1, max_size=6),
    st.sampled_from(_BAD_NAMES),
    st.from_regex(r"(\.\.|%2[eEfF]|%5[cC]|/|\\|~|[a-z<>\"]){1,5}", fullmatch=True),
)
_plausible = st.builds(
    lambda scope, parts, tail: f"/memories/{scope}/" + "/".join(parts) + tail,
    st.sampled_from([scope.value for scope in Scope]),
    st.lists(_segment, min_size=1, max_size=4),
    st.sampled_from(["", "", "/", " "]),
)
_odd = st.builds(
    lambda head, scope, parts: head + scope + "".join("/" + part for part in parts),
    st.sampled_from(_HEADS),
    st.sampled_from([*_SCOPES, "global"]),
    st.lists(_segment, max_size=4),
)
memory_paths = st.one_of(_plausible, _plausible, _plausible, _odd, st.text(max_size=40))


@dataclass(slots=True)
class Escapes:
    """What the attempts came to."""

    tried: int = 0
    accepted: int = 0
    problems: list[str] = field(default_factory=list)


def a_store(home_root: Path) -> MemoryStore:
    """The memories of an otherwise empty mux home, without side effects."""
    home = MuxHome(home_root)
    context = home.context(workspace_id="w", project_path="/p", project_given=True)
    return MemoryStore(home, context, lambda root: RootedDirectory(root.directory), NoChangeListener())


def accepted_path_stays_inside(store: MemoryStore, text: str) -> bool | None:
    """None for a refused path; else whether what it names lies inside its root (by name and by real path)."""
    from reverie.errors import UserError

    try:
        path, root, _files = store.resolve(text)
        if not path.segments:
            return True
        store.entry(path)
    except UserError:
        return None
    target = root.directory.joinpath(*path.segments)
    base = os.path.realpath(root.directory)
    inside = os.path.normpath(target).startswith(os.path.normpath(root.directory) + os.sep)
    return inside and (os.path.realpath(target) + os.sep).startswith(base + os.sep)


def arrange(root: Path, outside: Path, dice: random.Random) -> None:
    """Random directories, files and symlinks below `root`: contained, escaping, dangling, looping,
    absolute."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    places = [root]
    for _count in range(dice.randint(1, 8)):
        parent, name = dice.choice(places), dice.choice(("a", "b", "c", "d.md", "e.md"))
        path = parent / name
        if os.path.lexists(path):
            continue
        kind = dice.choice(("directory", "file", "link", "link", "link"))
        if kind == "directory":
            path.mkdir()
            places.append(path)
        elif kind == "file":
            path.write_text("inside")
        else:
            targets = (
                outside,
                outside / "secret.md",
                outside / "none",
                root,
                path,
                dice.choice(places),
                Path(os.path.relpath(outside, parent)),
                Path(os.path.relpath(outside / "secret.md", parent)),
                Path("..") / ".." / ".." / "..",
                Path("a"),
                Path("/"),
                Path("/etc/hostname"),
            )
            path.symlink_to(dice.choice(targets))


def attempt_everything(store: MemoryStore, dice: random.Random) -> list[str]:
    """Every command on paths through the arrangement; what any of them showed."""
    commands, shown = MemoryCommands(store, count_reads=False), []
    for _count in range(6):
        rel = "/".join(dice.choice(("a", "b", "c", "d.md", "e.md")) for _part in range(dice.randint(1, 3)))
        path, other = f"/memories/{Scope.GLOBAL}/{rel}", f"/memories/{Scope.GLOBAL}/{rel[::-1].strip('/')}"
        for request in (
            {"command": "view", "path": path},
            {"command": "create", "path": path, "file_text": "ours"},
            {"command": "str_replace", "path": path, "old_str": "words", "new_str": "ours"},
            {"command": "insert", "path": path, "insert_line": 0, "insert_text": "ours"},
            {"command": "rename", "old_path": path, "new_path": other},
            {"command": "delete", "path": path},
        ):
            answer = commands.execute(request)
            shown.append(str(answer.get("output", "")))
    return shown


def try_arrangements(directory: Path, count: int, seed: int) -> Escapes:
    """`count` arrangements, each attacked by every command."""
    dice, result = random.Random(seed), Escapes()
    home, outside = directory / "home", directory / "outside"
    (home / "sessions").mkdir(parents=True)
    (home / "config.json").write_text('{"projects": []}')
    store = a_store(home)
    for number in range(count):
        shutil.rmtree(outside, ignore_errors=True)
        outside.mkdir()
        (outside / "secret.md").write_text(SECRET)
        arrange(home / "memory/global", outside, dice)
        shown = attempt_everything(store, dice)
        result.tried += 1
        if any(SECRET in text for text in shown):
            result.problems.append(f"arrangement {number} showed what lies outside")
        if sorted(path.name for path in outside.rglob("*")) != ["secret.md"]:
            result.problems.append(f"arrangement {number} changed the outside")
        elif (outside / "secret.md").read_text() != SECRET:
            result.problems.append(f"arrangement {number} wrote outside")
    return result
