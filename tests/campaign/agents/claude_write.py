"""What Reverie writes into a Claude Code home, against the program: loaded by its next session, alive after
its own next edit, and with both at once nothing lost without a word.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaign.agents.base import Outcome, Programs
from campaign.agents.claude_program import ClaudeProgram, Step, calls, memory_text, says, sent_files
from reverie.agents.scopes import ScopeContext
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.errors import UserError
from reverie.profile import Profile
from reverie.services.container import HomeContainer
from reverie.services.workbench import Workbench

LOADED = "what Reverie wrote is loaded by the program's next session and survives its next edit"
BOTH = "of edits by both at once none is lost without a word"
_BASE = "/memories/project"
_MEMORIES = {
    "lamp": "The lamp turns every 12 seconds.",
    "oil": "Oil comes on Tuesdays. See [[lamp]].",
}
_INDEX = "- [Lamp](lamp.md) — the lamp turns every 12 seconds\n- [Oil](oil.md) — on Tuesdays\n"


def checks(programs: Programs, directory: Path, *, edits: int = 1_000) -> Iterator[Outcome]:
    """Every kind of write, then both at once."""
    if programs.claude is None:
        yield Outcome.skip(LOADED, "Claude Code is not there")
        yield Outcome.skip(BOTH, "Claude Code is not there")
        return
    for number, (name, write) in enumerate(_WRITES):
        with ClaudeProgram(programs.claude, directory / f"{number:02}") as program:
            yield Outcome(f"{LOADED}: {name}", 1, tuple(_written(program, write)))
    with ClaudeProgram(programs.claude, directory / "both") as program:
        yield _both_at_once(program, edits)


@dataclass(frozen=True, slots=True)
class _Bench:
    """One project of a program's home, with two memories that the program wrote, and Reverie over it."""

    program: ClaudeProgram
    cwd: Path
    memory: Path
    parts: HomeContainer
    context: ScopeContext

    def desk(self) -> Workbench:
        return Workbench(self.parts)

    def command(self, *lines: dict[str, Any]) -> list[dict[str, Any]]:
        """`reverie memory`, as a person or a script would run it."""
        done = self.reverie("memory", text="".join(json.dumps(line) + "\n" for line in lines))
        return [json.loads(line) for line in done.stdout.splitlines()]

    def reverie(self, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        profile = str(self.parts.profile.state.parent)
        where = ["--home", str(self.program.home), "--profile", profile]
        if arguments[0] != "revert":  # a run knows its project
            where += ["--project", str(self.cwd)]
        env = {**os.environ, "HOME": str(self.program.user)}
        return subprocess.run(
            [sys.executable, "-m", "reverie", *arguments[:1], *where, *arguments[1:]],
            input=text,
            capture_output=True,
            text=True,
            env=env,
            check=False,
        )


def _bench(program: ClaudeProgram) -> _Bench:
    cwd = program.project("p")
    memory = program.memory(cwd)
    program.service.scripts["remember"] = [
        [
            calls("Write", file_path=f"{memory}/{name}.md", content=memory_text(name, "project", name, body))
            for name, body in _MEMORIES.items()
        ],
        [calls("Write", file_path=f"{memory}/MEMORY.md", content=_INDEX)],
        [says("Remembered.")],
    ]  # fmt: skip
    program.ask(cwd, "Remember SCRIPT:remember")
    parts = open_parts(program.home, Profile.under(program.user / "profile"), system_clock)
    parts.home.contents()
    for source in parts.home.sources():
        parts.home.described_source(source)
    return _Bench(program, cwd, memory, parts, parts.home.context(project_path=str(cwd)))


# Each kind of write


def _save_index(bench: _Bench) -> str:
    text = bench.desk().read(bench.context, f"{_BASE}/MEMORY.md")
    bench.desk().save(bench.context, text.path, text.content + "- SAVED BY HAND\n", text.sha256)
    return "SAVED BY HAND"


def _save_memory(bench: _Bench) -> str:
    text = bench.desk().read(bench.context, f"{_BASE}/lamp.md")
    bench.desk().save(bench.context, text.path, text.content.replace("12", "13"), text.sha256)
    return ""


def _by_command(bench: _Bench) -> str:
    made = bench.command(
        {"command": "create", "path": f"{_BASE}/made.md", "file_text": "Made by a command.\n"},
        {
            "command": "insert",
            "path": f"{_BASE}/MEMORY.md",
            "insert_line": 2,
            "insert_text": "- [Made](made.md) — MADE",
        },
        {
            "command": "str_replace",
            "path": f"{_BASE}/lamp.md",
            "old_str": "12 seconds",
            "new_str": "14 seconds",
        },
    )
    assert all(each["success"] for each in made), made
    return "MADE"


def _rename_by_command(bench: _Bench) -> str:
    (said,) = bench.command(
        {"command": "rename", "old_path": f"{_BASE}/lamp.md", "new_path": f"{_BASE}/light.md"}
    )
    assert said["success"], said
    assert "[[lamp]]" in (bench.memory / "oil.md").read_text(), "the link by name leads there still"
    return "[Lamp](light.md)"


def _rename_by_hand(bench: _Bench) -> str:
    desk = bench.desk()
    plan = desk.index_care.plan_renames(bench.context, {f"{_BASE}/lamp.md": f"{_BASE}/beam.md"})
    assert plan is not None
    desk.index_care.apply(bench.context, plan)
    return "[Lamp](beam.md)"


def _rename_undone(bench: _Bench) -> str:
    desk = bench.desk()
    plan = desk.index_care.plan_renames(bench.context, {f"{_BASE}/lamp.md": f"{_BASE}/beam.md"})
    assert plan is not None
    desk.undo(desk.index_care.apply(bench.context, plan))
    return "[Lamp](lamp.md)"


def _delete_undone(bench: _Bench) -> str:
    desk = bench.desk()
    desk.start_history()
    desk.undo(desk.edits.delete_all(bench.context, [f"{_BASE}/MEMORY.md"]))
    return "[Oil](oil.md)"


def _index_fixed(bench: _Bench) -> str:
    (bench.memory / "new.md").write_text(memory_text("new", "project", "NEWLY LISTED", "New."))
    desk = bench.desk()
    look = desk.index_care.look(bench.context, f"{_BASE}/MEMORY.md")
    assert look is not None
    finding = next(each for each in look.report.findings if each.problem == "unlisted")
    desk.index_care.apply(bench.context, desk.index_care.plan_fixes(bench.context, look, (finding,)))
    return "NEWLY LISTED"


def _consolidated(bench: _Bench) -> str:
    _duplicate(bench)
    done = bench.reverie("consolidate", "--engine", "rules", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return "[Lamp](lamp.md)"


def _reverted(bench: _Bench) -> str:
    _duplicate(bench)
    done = json.loads(bench.reverie("consolidate", "--engine", "rules", "--json").stdout)
    back = bench.reverie("revert", done["runId"])
    assert back.returncode == 0, back.stdout + back.stderr
    return "[Copy](copy.md)"


def _duplicate(bench: _Bench) -> None:
    text = (bench.memory / "lamp.md").read_text()
    (bench.memory / "copy.md").write_text(text.replace("name: lamp", "name: copy"))
    index = bench.memory / "MEMORY.md"
    index.write_text(index.read_text() + "- [Copy](copy.md) — the same\n")


_WRITES: Sequence[tuple[str, Callable[[_Bench], str]]] = (
    ("a save of the index", _save_index),
    ("a save of a memory", _save_memory),
    ("commands", _by_command),
    ("a rename by command", _rename_by_command),
    ("a rename by hand", _rename_by_hand),
    ("a rename taken back", _rename_undone),
    ("a delete taken back", _delete_undone),
    ("a fix of the index", _index_fixed),
    ("a consolidation", _consolidated),
    ("a consolidation taken back", _reverted),
)


def _written(program: ClaudeProgram, write: Callable[[_Bench], str]) -> Iterator[str]:
    bench = _bench(program)
    try:
        mark = write(bench)
    except (AssertionError, UserError) as error:
        yield f"the write itself failed: {error}"
        return
    before = {path.name: path.read_bytes() for path in bench.memory.rglob("*.md")}
    sent = {each.path.name: each.text for each in sent_files(program.ask(bench.cwd, "hi").requests[0])}
    index = sent.get("MEMORY.md")
    if index is None or index != before["MEMORY.md"].decode().strip():
        yield f"the next session does not load the index: {index!r}"
    elif mark not in index:
        yield f"{mark!r} is not in what the next session loads: {index!r}"
    edited, listed = bench.memory / "oil.md", bench.memory / "MEMORY.md"
    program.service.scripts["edit"] = [
        [calls("Read", file_path=str(edited)), calls("Read", file_path=str(listed))],
        [
            calls("Edit", file_path=str(edited), old_string="Tuesdays", new_string="Wednesdays"),
            calls("Edit", file_path=str(listed), old_string="on Tuesdays", new_string="on Wednesdays"),
        ],
        [says("Edited.")],
    ]  # fmt: skip
    program.ask(bench.cwd, "Edit SCRIPT:edit")
    if "Wednesdays" not in edited.read_text():
        yield "the program could not edit its memory afterwards"
    for name, content in before.items():
        path = next(iter(bench.memory.rglob(name)), None)
        after = b"" if path is None else path.read_bytes()
        wanted = (
            content.replace(b"on Tuesdays", b"on Wednesdays") if name in ("MEMORY.md", "oil.md") else content
        )
        if name != "oil.md" and after != wanted:
            yield f"{name} did not survive the program's edit: {after[:200]!r}"


# Both at once


def _both_at_once(program: ClaudeProgram, edits: int) -> Outcome:
    """The program replaces lines of its own in shared files by its tools, while Reverie does the same."""
    bench = _bench(program)
    files = [bench.memory / f"shared-{number}.md" for number in range(10)]
    per_file = edits // len(files)
    for path in files:
        theirs = "".join(f"theirs {number:04} open\n" for number in range(per_file))
        ours = "".join(f"ours {number:04} open\n" for number in range(per_file))
        path.write_text(memory_text(path.stem, "project", path.stem, f"{theirs}\n{ours}"))
    program.service.scripts["hammer"] = list(_hammer(files, per_file))
    ended = threading.Event()
    problems: list[str] = []

    def work() -> None:
        try:
            program.ask(bench.cwd, "Hammer SCRIPT:hammer", timeout=1_500)
        finally:
            ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    saved, reported = _hammered_by_us(bench, files, per_file, ended)
    thread.join()
    reported |= _reported(bench)
    program_did = _done_by_program(program, files)
    texts = {path: path.read_text() for path in files}
    lost = [mark for mark in saved if f"{mark[1]} done" not in texts[mark[0]]]
    silent = [mark for mark in lost if not _is_reported(mark, reported)]
    problems += [f"lost without a word: {path.name} {line}" for path, line in silent[:10]]
    gone = [(path, line) for path, line in program_did if f"{line} done" not in texts[path]]
    problems += [f"an edit of the program is lost: {path.name} {line}" for path, line in gone[:10]]
    if len(saved) < edits * 0.9:
        problems.append(f"only {len(saved)} edits of Reverie were made")
    if len(program_did) < edits * 0.9:
        problems.append(f"only {len(program_did)} edits of the program were made")
    rule = (
        f"{BOTH}: {len(saved)} of Reverie ({len(lost)} overwritten, {len(silent)} of them without a word),"
        f" {len(program_did)} of the program ({len(gone)} lost)"
    )
    return Outcome(rule, len(saved) + len(program_did), tuple(problems))


def _hammer(files: Sequence[Path], per_file: int) -> Iterator[Step]:
    """Twenty edits a turn; each file is read once before."""
    yield [calls("Read", file_path=str(path)) for path in files]
    wanted = [(path, f"theirs {number:04}") for number in range(per_file) for path in files]
    for at in range(0, len(wanted), 20):
        turn = wanted[at : at + 20]
        # An edit of a file that changed since it was read is refused, so each turn reads again.
        yield [calls("Read", file_path=str(path)) for path in dict.fromkeys(path for path, _line in turn)]
        yield [
            calls("Edit", file_path=str(path), old_string=f"{line} open", new_string=f"{line} done")
            for path, line in turn
        ]
    yield [says("Hammered.")]


_Mark = tuple[Path, str]


def _hammered_by_us(
    bench: _Bench, files: Sequence[Path], per_file: int, ended: threading.Event
) -> tuple[list[_Mark], set[tuple[str, str]]]:
    """One save after another while the program works; what was saved, and what was reported as
    overwritten."""
    saved: list[_Mark] = []
    reported: set[tuple[str, str]] = set()
    for number in range(per_file):
        for path in files:
            line = f"ours {number:04}"
            store = bench.parts.store(bench.context, actor="user")
            name = f"{_BASE}/{path.name}"
            try:
                store.edit(name, lambda text, line=line: text.replace(f"{line} open", f"{line} done"))  # type: ignore[misc]
            except UserError:
                continue  # refused, so nobody was told that it was saved
            saved.append((path, line))
            reported |= _reported(bench)
            if not ended.is_set():
                time.sleep(0.02)
    return saved, reported


def _reported(bench: _Bench) -> set[tuple[str, str]]:
    """The texts that were reported as overwritten and kept, by path."""
    lost = bench.parts.saves.check()
    return {(each.path, each.text or "") for each in lost if each.kept}


def _is_reported(mark: _Mark, reported: set[tuple[str, str]]) -> bool:
    path, line = mark
    return any(name == f"{_BASE}/{path.name}" and f"{line} done" in text for name, text in reported)


def _done_by_program(program: ClaudeProgram, files: Sequence[Path]) -> list[_Mark]:
    """The edits that the program says it made: their tool results are no errors."""
    asked: dict[str, _Mark] = {}
    failed: set[str] = set()
    for request in program.service.requests()[-1:]:
        for message in request["messages"]:
            content = message["content"]
            for block in content if isinstance(content, list) else ():
                given = block.get("input") or {}
                if block.get("type") == "tool_use" and block.get("name") == "Edit":
                    asked[block["id"]] = (Path(given["file_path"]), given["new_string"].removesuffix(" done"))
                elif block.get("type") == "tool_result" and block.get("is_error"):
                    failed.add(block["tool_use_id"])
    return [mark for key, mark in asked.items() if key not in failed and mark[0] in files]
