"""Front matter as Claude Code reads it, against Reverie's reading and what Reverie writes.

In recall mode the program lists its memories to a small model: type, path, time and description. Notes of
many shapes lie in one project's memory; what is listed must be what Reverie reads. Then Reverie writes: a
consolidation by rules, descriptions by hand, renames and their undo; the program must list the same as before
but for what was meant. Names are not listed: the program writes them back at its own next edit.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from reverie.agents.claude.home import CAPS
from reverie.agents.scopes import ScopeContext
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.errors import UserError
from reverie.memory.front_matter import FrontError, declared, description, flattened, read, set_value
from reverie.profile import Profile
from reverie.services.container import HomeContainer
from reverie.services.workbench import Workbench

from .base import Outcome, Programs
from .claude_program import ClaudeProgram, Rule, calls, says
from .front_matter_shapes import shapes

READS = "type and description are those that the program lists for recall"
HAND = "after descriptions by hand the program lists those, and else what it listed before"
RULES = "after a consolidation by rules the program lists what it listed before, and what was written"
RENAMED = "after renames and their undo the program lists what it listed before"
NAMED = "name and type are those that the program keeps at its own edit"

Listed = dict[str, tuple[str | None, str | None]]
"""Type and description by a memory's file name."""
_FLAGS = {"tengu_slate_thimble": True, "tengu_passport_quail": True, "tengu_moth_copse": True}
_AT_ONCE = 190
"""The program lists at most 200 memories."""
_EDITED = 40
_LINE = re.compile(r"(?:\[(\w+)\] )?(\S+)\.md \(\d{4}-\d\d-\d\dT[^)]*\)(?:: (.*))?\Z", re.DOTALL)
_NEXT = re.compile(r"\n- (?=(?:\[\w+\] )?note-\d+\.md \()")
_KINDS = frozenset({"user", "feedback", "project", "reference"})
_BASE = "/memories/project"


def checks(programs: Programs, directory: Path, *, combined: int = 400, seed: int = 43) -> Iterator[Outcome]:
    """Every rule, on some hundred shapes."""
    if programs.claude is None:
        for rule in (READS, HAND, RULES, RENAMED, NAMED):
            yield Outcome.skip(rule, "Claude Code is not there")
        return
    # Each says something of its own, or the rules would merge them.
    notes = [
        text + f"\nDrawer {number} holds chart {number}.\n".encode()
        for number, text in enumerate(dict.fromkeys(shapes(seed, combined)))
    ]
    outcomes: dict[str, list[Outcome]] = {}
    for first in range(0, len(notes), _AT_ONCE):
        some = {f"note-{first + at}": text for at, text in enumerate(notes[first : first + _AT_ONCE])}
        with ClaudeProgram(programs.claude, directory / f"part-{first}") as program:
            for outcome in _part(program, some):
                outcomes.setdefault(outcome.rule, []).append(outcome)
    for rule, several in outcomes.items():
        problems = tuple(problem for each in several for problem in each.problems)
        yield Outcome(rule, sum(each.cases for each in several), problems)


def _part(program: ClaudeProgram, notes: Mapping[str, bytes]) -> Iterator[Outcome]:
    cwd = program.project("p")
    memory = program.memory(cwd)
    memory.mkdir(parents=True)

    def put() -> None:
        for each in memory.iterdir():
            each.unlink()
        for name, text in notes.items():
            (memory / f"{name}.md").write_bytes(text)

    put()
    before = listed(program, cwd)
    yield Outcome(READS, len(notes), tuple(_misread(memory, notes, before)))
    parts = open_parts(program.home, Profile.under(program.user / "profile"), system_clock)
    parts.home.contents()
    for source in parts.home.sources():
        parts.home.described_source(source)
    context = parts.home.context(project_path=str(cwd))
    desk = Workbench(parts)
    yield _written(RULES, program, cwd, before, lambda: _consolidated(program, parts, cwd, memory))
    put()
    yield _written(HAND, program, cwd, before, lambda: _described(desk, context, notes))
    put()
    yield _written(RENAMED, program, cwd, before, lambda: _renamed(desk, context, notes))
    put()
    yield _named(program, cwd, memory, before, notes)


def listed(program: ClaudeProgram, cwd: Path) -> Listed:
    """The list of memories that the program shows its small model."""
    program.features(_FLAGS, cwd)
    program.service.rules = [Rule([[says('{"selected_memories": []}')]], shape="selected_memories")]
    program.service.scripts["wait"] = [[calls("Bash", command="true", description="x")], [says("Done.")]]
    answer = program.ask(cwd, "What is in the drawer? SCRIPT:wait", "--allowedTools", "Bash", flags=True)
    program.service.rules = []
    found: Listed = {}
    for request in answer.requests:
        if "selected_memories" not in json.dumps(request.get("output_config", "")):
            continue
        content = request["messages"][0]["content"]
        text = content if isinstance(content, str) else content[0]["text"]
        for line in _NEXT.split(text)[1:]:
            match = _LINE.match(line)
            if match is not None:
                found[match[2]] = (match[1], _flat(match[3]))
    return found


def _flat(text: str | None) -> str | None:
    return (flattened(text, 10**9) or None) if text else None


def _read_by_us(data: bytes) -> tuple[str | None, str | None]:
    shown = description(data[: CAPS.description_prefix_bytes], CAPS).text or None
    front = read(data.decode(), CAPS.description_prefix_bytes, rules=CAPS.front_matter)
    if front.problem == "too-long":
        return None, None
    nested = any(entry.path == ("metadata", "type") for entry in front.entries)
    kind = front.text("metadata", "type") if nested else front.text("type")
    return (kind if kind in _KINDS else None), shown


def _misread(memory: Path, notes: Mapping[str, bytes], before: Listed) -> Iterator[str]:
    for name, text in notes.items():
        theirs, ours = before.get(name, ("not listed", None)), _read_by_us(text)
        if theirs != ours:
            yield f"{text[:200]!r}: the program {theirs}, Reverie {ours}"


def _written(
    rule: str, program: ClaudeProgram, cwd: Path, before: Listed, write: Callable[[], Mapping[str, str]]
) -> Outcome:
    """`write` gives the descriptions that it meant to write, by file name."""
    meant = write()
    after = listed(program, cwd)
    problems = []
    for name in sorted(before.keys() | after.keys()):
        kind, said = before.get(name, (None, None))
        if name in meant:
            said = meant[name]
        now = after.get(name)
        # A block that was mended shows a type that was there and not read.
        if now is None or now[1] != said or (kind is not None and now[0] != kind):
            problems.append(f"{name}: {before.get(name)}, then {now}, meant {meant.get(name)!r}")
    return Outcome(rule, len(before), tuple(problems))


def _consolidated(program: ClaudeProgram, parts: HomeContainer, cwd: Path, memory: Path) -> dict[str, str]:
    texts = {each.stem: each.read_bytes() for each in memory.glob("*.md")}
    profile = parts.profile.state.parent
    where = ["--home", program.home, "--profile", profile, "--project", cwd, "--engine", "rules", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "reverie", "consolidate", *where],
        env={**os.environ, "HOME": str(program.user)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the consolidation: {done.stderr[-300:]}")
    meant = {}
    for name, text in texts.items():
        path = memory / f"{name}.md"
        now = path.read_bytes() if path.exists() else text
        said = _read_by_us(now)[1]
        if now != text and said and not _read_by_us(text)[1]:
            meant[name] = said
    if not meant:
        raise RuntimeError("the consolidation wrote no description")
    return meant


def _described(desk: Workbench, context: ScopeContext, notes: Mapping[str, bytes]) -> dict[str, str]:
    meant = {}
    values = ("Seen from: the tower", "The key # is below", "a --- b", "[WIP] drawn", "Plain words")
    for number, name in enumerate(notes):
        value = values[number % len(values)]
        try:
            text = desk.read(context, f"{_BASE}/{name}.md")
            limit, rules = CAPS.description_prefix_bytes, CAPS.front_matter
            if read(text.content, limit, rules=rules).problem == "too-long":
                continue
            after = set_value(text.content, "description", value, limit, rules=rules)
            desk.save(context, text.path, after, text.sha256)
        except (FrontError, UserError):
            continue
        meant[name] = value
    return meant


def _renamed(desk: Workbench, context: ScopeContext, notes: Mapping[str, bytes]) -> dict[str, str]:
    done = [
        desk.edits.rename(context, f"{_BASE}/{name}.md", f"{_BASE}/other-{name}.md")
        for name in list(notes)[:_EDITED]
    ]
    for undo in reversed(done):
        desk.undo(undo)
    return {}


def _named(
    program: ClaudeProgram, cwd: Path, memory: Path, before: Listed, notes: Mapping[str, bytes]
) -> Outcome:
    """Let the program edit notes; the name and type it writes are those that it read."""
    some = [name for name, text in notes.items() if b"drawer" in text and before[name][1]][:_EDITED]
    paths = [str(memory / f"{name}.md") for name in some]
    program.service.scripts["edit"] = [
        [calls("Read", file_path=path) for path in paths],
        [calls("Edit", file_path=path, old_string="drawer", new_string="chest") for path in paths],
        [says("Done.")],
    ]
    names = {name: declared(notes[name].decode(), key="name", rules=CAPS.front_matter) for name in some}
    program.ask(cwd, "Mend the notes SCRIPT:edit", "--allowedTools", "Read,Edit")
    problems, cases = [], 0
    for name in some:
        after = (memory / f"{name}.md").read_text()
        if "chest" not in after or "originSessionId" not in after:
            continue  # the program left its front matter alone
        cases += 1
        wrote = declared(after, key="name", rules=CAPS.front_matter) or ""
        if _slug(names[name] or "") != _slug(wrote):
            problems.append(f"{notes[name][:200]!r}: the program {wrote!r}, Reverie {names[name]!r}")
    return Outcome(NAMED, cases, tuple(problems))


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")
