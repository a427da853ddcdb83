"""Whether the homes that the programs of today make are laid out as Reverie knows them.

Each program works for a short time in a new home: a session with tools, a memory, a background job. What its
home holds beyond `layouts.json` is a problem with a name ("Codex 0.170.0: unknown table X in
memories_v2_1.sqlite"), to be looked at by whoever maintains the reader of that agent.
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .base import Outcome, Programs
from .layout import SHAPES, differences, known_layout, read_layout

_Maker = Callable[[Any, Path, Path], list[Path]]
"""`(driver module, program, directory)` to the homes that were made."""


def checks(programs: Programs, directory: Path) -> Iterator[Outcome]:
    """One rule for each agent."""
    yield check("codex", programs.codex, "codex_program", _codex_homes, directory)
    yield check("claude", programs.claude, "claude_program", _claude_homes, directory)
    laid_out = programs.mux is not None and (programs.mux / "agent.ts").is_file()
    mux = programs.bun if laid_out else None
    yield check("mux", mux, "base", _mux_homes(programs), directory)


def check(agent: str, program: Path | None, driver: str, make: _Maker, directory: Path) -> Outcome:
    """Compare the homes that `make` has a program make with what is known of its agent."""
    title = SHAPES[agent].title
    rule = f"the layout of a home of {title} is the one that Reverie knows"
    if program is None:
        return Outcome.skip(rule, f"{title} is not there")
    try:
        module = importlib.import_module(f"{__package__}.{driver}")
    except ModuleNotFoundError:
        return Outcome.skip(rule, f"its driver {driver} is not there yet")
    homes = make(module, program, directory / agent)
    version = version_of(program) if agent != "mux" else "of this checkout"
    known, facts, lines = known_layout(agent), 0, dict[str, None]()
    for home in homes:
        seen = read_layout(home, SHAPES[agent])
        facts += sum(len(names) for places in seen.values() for names in places.values())
        lines |= dict.fromkeys(f"{title} {version}: {line}" for line in differences(known, seen))
    return Outcome(rule, facts, tuple(lines))


def version_of(program: Path) -> str:
    """What a program says of its version: the number in it, where there is one."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=60)
    number = re.search(r"\d+(\.\d+)+\S*", done.stdout)
    return number[0] if number else done.stdout.strip() or "of an unknown version"


def _codex_homes(driver: Any, program: Path, directory: Path) -> list[Path]:
    """A home of each memory version, in which both phases ran."""
    homes = []
    with driver.ScriptedModel() as model:
        for version in ("v1", "v2"):
            place = directory / version
            place.mkdir(parents=True)
            settings = [f'memories.version="{version}"']
            codex = driver.CodexProgram(program, place / ".codex", model, settings)
            project = driver.make_project(place / "harbour")
            codex.start_up(project, "Where is the crane?")
            codex.exec(project, "And the lamp?")
            codex.age()
            codex.start_up(project, "Good morning")
            homes.append(codex.home)
    return homes


def _claude_homes(driver: Any, program: Path, directory: Path) -> list[Path]:
    """A home with memories by the program's own tools and, where tmux is there, a session in a terminal."""
    with driver.ClaudeProgram(program, directory) as claude:
        project = claude.project("harbour", {"CLAUDE.md": "Cranes move at low tide.\n", "note.txt": "One.\n"})
        memory = claude.memory(project)
        claude.service.scripts["remember"] = [
            [driver.writes_memory(memory, "crane", "project", "Crane 3 is out.", "Until May.")],
            [driver.writes_index(memory, "[Crane](crane.md) — out until May")],
            [driver.calls("Read", file_path=str(project / "note.txt"))],
            [driver.says("Remembered.")],
        ]
        session = claude.ask(project, "Remember the crane SCRIPT:remember").session
        claude.ask(project, "And now?", "--resume", session)
        if driver.has_tmux():
            claude.features({}, project)
            with claude.terminal(project) as terminal:
                driver.wait_until(lambda: any(claude.home.glob("sessions/*.json")))
                terminal.type("Good morning")
                driver.wait_until(lambda: len(list(claude.home.glob("projects/*/*.jsonl"))) > 1)
                return [claude.home]
        return [claude.home]


def _mux_homes(programs: Programs) -> _Maker:
    """A home in which mux's services wrote a memory of each scope, pinned one, consolidated and harvested."""

    def make(_driver: Any, _program: Path, directory: Path) -> list[Path]:
        home, project = directory / ".mux", directory / "harbour"
        (home / "sessions" / "a1b2c3d4e5").mkdir(parents=True)
        project.mkdir()
        workspace = {"id": "a1b2c3d4e5", "name": "main", "path": str(project)}
        config = {"projects": [[str(project), {"workspaces": [workspace]}]]}
        (home / "config.json").write_text(json.dumps(config))
        done = subprocess.run(
            [str(programs.bun), "run", "agent.ts", str(home)],
            cwd=programs.mux,
            input="".join(json.dumps({"workspace_id": "a1b2c3d4e5", **each}) + "\n" for each in _MUX_WORK),
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        refused = [line for line in done.stdout.splitlines() if not json.loads(line).get("success")]
        if refused:
            raise RuntimeError(f"mux's services refused: {refused[0]}")
        return [home]

    return make


_MUX_WORK: tuple[dict[str, Any], ...] = (
    {"command": "create", "path": "/memories/global/tools/git.md", "file_text": "Rebase.\n"},
    {"command": "create", "path": "/memories/project/crane.md", "file_text": "Out until May.\n"},
    {"command": "create", "path": "/memories/workspace/now.md", "file_text": "Half way.\n"},
    {"command": "view", "path": "/memories/project/crane.md"},
    {"command": "pin", "path": "/memories/project/crane.md", "pinned": True},
    {"command": "dream", "steps": [{"text": "Nothing to change."}]},
)
