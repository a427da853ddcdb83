"""Codex's store: looking changes nothing, what Reverie writes is accepted and survives, locks hold both ways.

Every check runs in both memory versions, against the real program with a scripted model. Reverie works in
this process, through the same services and commands that a person uses.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaign.agents.base import Outcome, Programs, differences, snapshot
from campaign.agents.codex_program import CodexProgram, Consolidation, Request, ScriptedModel, make_project
from reverie.agents.codex.home import CodexHome
from reverie.agents.codex.store import refuse_content
from reverie.agents.scopes import Scope
from reverie.cli.main import main
from reverie.compose import open_parts
from reverie.errors import Busy, Conflict, UserError
from reverie.profile import Profile
from reverie.services.container import HomeContainer
from reverie.services.edits import UserEdits

VERSIONS = ("v1", "v2")
SUMMARY = "/memories/global/memory_summary.md"
_HEADINGS = ("## User Profile", "## User preferences", "## General Tips", "## What's in Memory")


@dataclass(slots=True)
class World:
    """One real home with memory in it, and Reverie beside it."""

    version: str
    directory: Path
    program: CodexProgram
    model: ScriptedModel
    project: Path
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def home(self) -> Path:
        return self.program.home

    @property
    def store(self) -> Path:
        return self.home / ("memories" if self.version == "v1" else "memories_v2")

    @property
    def database(self) -> str:
        return "memories_1.sqlite" if self.version == "v1" else "memories_v2_1.sqlite"

    @property
    def profile(self) -> Path:
        return self.directory / "profile"

    @property
    def summary(self) -> Path:
        return self.store / "memory_summary.md"

    def parts(self) -> HomeContainer:
        return open_parts(self.home, Profile.under(self.profile), lambda: time.time_ns() // 1_000_000)

    def edits(self) -> UserEdits:
        return UserEdits(self.parts())

    def context(self) -> Any:
        return self.parts().home.context()

    def cli(self, *arguments: str, given: str = "") -> tuple[int, str, str]:
        """One command of Reverie: exit code, output and errors."""
        out, err = io.StringIO(), io.StringIO()
        before = sys.stdin
        sys.stdin = io.TextIOWrapper(io.BytesIO(given.encode()))
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main(["--home", str(self.home), "--profile", str(self.profile), *arguments])
        finally:
            sys.stdin = before
        return code, out.getvalue(), err.getvalue()

    def command(self, **request: object) -> dict[str, Any]:
        """One memory command; its answer."""
        _code, out, err = self.cli("--json", "memory", given=json.dumps(request) + "\n")
        lines = [line for line in out.splitlines() if line.strip()]
        return dict(json.loads(lines[-1])) if lines else {"success": False, "error": err}

    def consolidated(self) -> str:
        """Let Codex run both phases once more; the state of its consolidation."""
        with self.program.server() as server:
            server.turn(server.start(self.project), f"topic-{next(self.numbers)}x of the project")
        self.program.age()
        began = int(time.time())
        self.program.start_up(self.project, f"good day {next(self.numbers)}")
        job = self.program.consolidations()[self.database]
        if job.touched_at < began:
            return "pending" if job.status == "pending" else f"not tried, {job.status}"
        return job.status if not job.last_error else f"{job.status}: {job.last_error}"

    def prompt(self) -> Request:
        return self.program.prompt(self.project, f"what do you know {next(self.numbers)}")

    def loaded(self) -> bool:
        """Whether the next prompt holds the whole summary that is on disk, byte for byte."""
        return self.summary.read_text("utf-8").strip() in self.prompt().developer_text

    def loads_anything(self) -> bool:
        """Whether the next prompt holds any of the summary."""
        return "keeps several small projects" in self.prompt().developer_text


@contextlib.contextmanager
def world(codex: Path, directory: Path, version: str) -> Iterator[World]:
    """A home with two projects whose sessions Codex has consolidated once."""
    directory.mkdir(parents=True)
    with ScriptedModel() as model:
        home = directory / "home"
        if version == "v1":
            (home / "memories").mkdir(parents=True)
        made = World(
            version,
            directory,
            CodexProgram(codex, home, model),
            model,
            make_project(directory / "work" / "alpha"),
        )
        other = make_project(directory / "work" / "beta")
        with made.program.server() as server:
            for project, text in (
                (made.project, "topic-tools: short answers"),
                (other, "topic-other: tests"),
            ):
                server.turn(server.start(project), text)
        made.program.age()
        made.program.start_up(made.project)
        yield made


def looking(at: World) -> Outcome:
    """Every command that only looks, with Codex away and with Codex at work in a session."""
    problems: list[str] = []
    looks = (
        ("tree",), ("status",), ("homes",), ("context",), ("doctor",), ("runs",), ("extract", "--dry-run"),
        ("consolidate", "--dry-run"), ("search", "check"),
        ("tree", "--project", str(at.project)), ("--json", "tree"), ("--json", "status"),
    )  # fmt: skip

    def look(when: str) -> None:
        before = snapshot(at.home)
        for arguments in looks:
            code, _out, err = at.cli(*arguments)
            if code not in (0, 1):
                problems.append(f"{when}: {' '.join(arguments)} ended with {code}: {err.strip()[:200]}")
        problems.extend(f"{when}: {line}" for line in differences(before, snapshot(at.home)))

    look("Codex away")
    with at.program.server() as server:
        server.turn(server.start(at.project), "hello")
        at.program.settle()
        time.sleep(2)
        look("Codex open")
    return Outcome(f"looking changes nothing ({at.version})", 2 * len(looks), tuple(problems))


def never_makes_memories(codex: Path, directory: Path) -> Outcome:
    """In a fresh home, before Codex made any memory, nothing of ours creates a memory directory."""
    problems: list[str] = []
    directory.mkdir(parents=True)
    with ScriptedModel() as model:
        program = CodexProgram(codex, directory / "home", model, ["features.memories=false"])
        at = World("v2", directory, program, model, make_project(directory / "work" / "alpha"))
        with program.server() as server:
            server.turn(server.start(at.project), "topic-first: hello")
        program.age()
        before = sorted(path.name for path in at.home.iterdir())
        for name, code in (
            ("extract", at.cli("extract", "--engine", "rules")[0]),
            ("memory", 0 if at.command(command="create", path=SUMMARY, file_text="v1\n")["success"] else 1),
            ("consolidate", at.cli("consolidate", "--engine", "rules")[0]),
            ("tell", _note(at, "hello")),
        ):
            if name != "consolidate" and code == 0:
                problems.append(f"{name} reported success without a memory to write to")
            made = sorted({path.name for path in at.home.iterdir()} - set(before))
            problems += [f"{name} made {each}" for each in made]
    return Outcome("a home without memory gets none from Reverie", 4, tuple(problems))


def _note(at: World, text: str) -> int:
    """Tell Codex something, as the window does; 0 for done."""
    from reverie.services.edits import add_note

    try:
        add_note(at.parts(), at.context(), text)
    except UserError:
        return 1
    return 0


def _save(at: World, line: str) -> str:
    text = at.edits().read(at.context(), SUMMARY)
    changed = text.content.replace("## General Tips\n", f"## General Tips\n\n- {line}\n", 1)
    at.edits().save(at.context(), SUMMARY, changed, text.sha256)
    return line


def _command(at: World, line: str) -> str:
    answer = at.command(
        command="str_replace",
        path=SUMMARY,
        old_str="- short answers\n",
        new_str=f"- short answers\n- {line}\n",
    )
    assert answer["success"], answer
    return line


def _tell(at: World, line: str) -> str:
    assert _note(at, line) == 0
    return line


def _create(at: World, rel: str, text: str) -> None:
    answer = at.command(command="create", path=f"/memories/global/{rel}", file_text=text)
    assert answer["success"], answer


def _skill(at: World, line: str) -> str:
    text = f"---\nname: kept\ndescription: a skill by hand\n---\n\n1. {line}\n"
    _create(at, f"skills/kept-{next(at.numbers)}/SKILL.md", text)
    _save(at, line)
    return line


def _consolidate(at: World, line: str) -> str:
    """Two notes of one content, merged by the rules; the line goes into the summary as well."""
    body = "# Release steps\n\nTag the commit, push the tag, wait for the build, then publish the notes.\n"
    number = next(at.numbers)
    for name in (f"release-{number}.md", f"release-copy-{number}.md"):
        _create(at, name, f"{body}Step {number}.\n")
    code, out, err = at.cli("--json", "consolidate", "--engine", "rules")
    assert code == 0, err
    assert json.loads(out)["outcome"] == "completed", out
    return _save(at, line)


def _revert(at: World, line: str) -> str:
    """A consolidation, taken back."""
    _save(at, line)
    body = "# Deploy steps\n\nAsk for a review, merge, watch the deployment, then close the ticket.\n"
    number = next(at.numbers)
    names = (f"deploy-{number}.md", f"deploy-again-{number}.md")
    for name in names:
        _create(at, name, f"{body}Step {number}.\n")
    code, out, err = at.cli("--json", "consolidate", "--engine", "rules")
    assert code == 0, err
    code, _out, err = at.cli("revert", json.loads(out)["runId"])
    assert code == 0, err
    assert all((at.store / name).exists() for name in names)
    return line


def _undo(at: World, line: str) -> str:
    """A note deleted by hand and brought back."""
    _save(at, line)
    name = f"scratch-{next(at.numbers)}.md"
    _create(at, name, "One line to keep.\n")
    edits = at.edits()
    edits.undo(edits.delete(at.context(), f"/memories/global/{name}"))
    assert (at.store / name).read_text() == "One line to keep.\n"
    return line


def _extract(at: World, line: str) -> str:
    """An extraction, whose results are notes."""
    _save(at, line)
    with at.program.server() as server:
        server.turn(
            server.start(at.project), "topic-note: I always want small commits. Please remember that."
        )
    at.program.age(1)
    code, out, err = at.cli("--json", "extract", "--engine", "rules")
    assert code == 0, err + out
    assert list((at.store / "extensions/ad_hoc/notes").glob("*.md"))
    return line


WRITES: dict[str, Callable[[World, str], str]] = {
    "editor save": _save,
    "memory command": _command,
    "note": _tell,
    "skill": _skill,
    "consolidation by rules": _consolidate,
    "revert": _revert,
    "undo": _undo,
    "extraction": _extract,
}


def writes_survive(at: World) -> Outcome:
    """After each kind of write of ours Codex ends `done`, loads the summary, and keeps what we wrote.

    Twice: with an agent that changes nothing, so that Codex judges our own bytes, and with one that rewrites.
    """
    problems: list[str] = []
    for name, write in WRITES.items():
        for lazy in (True, False):
            at.model.consolidation = Consolidation(lazy=lazy)
            line = f"KEEP {name} {'as it is' if lazy else 'rewritten'} {at.version}"
            try:
                write(at, line)
            except (AssertionError, UserError) as error:
                problems.append(f"{name}: {error}")
                continue
            if not at.loaded():
                problems.append(f"{name}: the next prompt does not hold the summary")
            status = at.consolidated()
            if status != "done":
                problems.append(f"{name}: Codex ended {status}")
            elif not at.loaded():
                problems.append(f"{name}: the prompt after Codex's run does not hold the summary")
            if not lazy and line not in at.prompt().developer_text:
                problems.append(f"{name}: the line is gone from the prompt after Codex's run")
    return Outcome(
        f"what Reverie writes is accepted and loaded ({at.version})", 2 * len(WRITES), tuple(problems)
    )


def _edits() -> dict[str, Callable[[bytes], bytes | None]]:
    """Edits of the summary, as the sheet lists them."""

    def without(heading: str) -> Callable[[bytes], bytes]:
        return lambda data: data.replace(f"{heading}\n".encode(), b"", 1)

    def shuffled(data: bytes) -> bytes:
        first = data.replace(b"## User Profile", b"## @", 1).replace(
            b"## General Tips", b"## User Profile", 1
        )
        return first.replace(b"## @", b"## General Tips", 1)

    return {
        "as it is": lambda data: data + b"\n",
        "first line with CR": lambda data: data.replace(b"v1\n", b"v1\r\n", 1),
        "CRLF everywhere": lambda data: data.replace(b"\n", b"\r\n"),
        "no v1": lambda data: data.removeprefix(b"v1\n"),
        "V1": lambda data: data.replace(b"v1\n", b"V1\n", 1),
        "v2": lambda data: data.replace(b"v1\n", b"v2\n", 1),
        "v1 with a space": lambda data: data.replace(b"v1\n", b"v1 \n", 1),
        "blank line before": lambda data: b"\n" + data,
        "byte order mark": lambda data: b"\xef\xbb\xbf" + data,
        "front matter": lambda data: b"---\ndescription: x\n---\n" + data,
        "missing": lambda _data: None,
        **{f"no {heading}": without(heading) for heading in _HEADINGS},
        "other order": shuffled,
        "9,999 bytes": lambda data: data + b"x" * (9_998 - len(data)) + b"\n",
        "10,000 bytes": lambda data: data + b"x" * (9_999 - len(data)) + b"\n",
        "10,000 bytes of two each": lambda data: data + "é".encode() * ((10_002 - len(data)) // 2) + b"\n",
        "invalid UTF-8": lambda data: data + b"\xff\xfe\n",
        "heading with a space": lambda data: data.replace(b"## General Tips\n", b"## General Tips \n", 1),
    }


def refusals_agree(at: World) -> Outcome:
    """What Reverie refuses is what Codex refuses: each edit made on disk, then judged by a real run."""
    problems: list[str] = []
    good = at.summary.read_bytes()
    edits = _edits()
    at.model.consolidation = Consolidation(lazy=True)
    for name, edit in edits.items():
        after = edit(good)
        ours = "done"
        try:
            refuse_content("v1" if at.version == "v1" else "v2", "memory_summary.md", good, after)
        except UserError:
            ours = "refused"
        if after is None:
            at.summary.unlink()
        else:
            at.summary.write_bytes(after)
        status = at.consolidated()
        theirs = "done" if status == "done" else "refused"
        if name == "invalid UTF-8" and not at.loads_anything():
            theirs = "refused"  # accepted, and nothing of it loaded
        if ours != theirs:
            problems.append(f"{name}: Reverie {ours}, Codex {status}")
        at.summary.write_bytes(good)
    at.consolidated()
    return Outcome(f"Reverie refuses what Codex refuses ({at.version})", len(edits), tuple(problems))


def refused_everywhere(at: World) -> Outcome:
    """A summary that Codex would refuse is refused by editor, command and revert, with a reason."""
    problems: list[str] = []
    before = at.summary.read_bytes()
    text = at.edits().read(at.context(), SUMMARY)
    for name, content in (
        ("no v1", text.content.removeprefix("v1\n")),
        ("front matter", f"---\na: b\n---\n{text.content}"),
    ):
        try:
            at.edits().save(at.context(), SUMMARY, content, text.sha256)
            problems.append(f"editor: {name} was saved")
        except Conflict:
            raise
        except UserError as error:
            if not (error.title and error.cause and error.next_step):
                problems.append(f"editor: {name} has no full reason")
    for request in (
        {"command": "str_replace", "path": SUMMARY, "old_str": "v1\n", "new_str": ""},
        {"command": "insert", "path": SUMMARY, "insert_line": 0, "insert_text": "x"},
        {"command": "delete", "path": SUMMARY},
        {"command": "rename", "old_path": SUMMARY, "new_path": "/memories/global/other.md"},
        {"command": "create", "path": "/memories/global/.hidden.md", "file_text": "x"},
        {"command": "create", "path": "/memories/global/.codex-baseline/x.md", "file_text": "x"},
        {"command": "delete", "path": "/memories/global/extensions/ad_hoc/instructions.md"},
        {
            "command": "create",
            "path": "/memories/global/described.md",
            "file_text": "---\ndescription: x\n---\nx\n",
        },
    ):
        answer = at.command(**request)
        if answer["success"]:
            problems.append(f"command: {request} was done")
    if at.summary.read_bytes() != before:
        problems.append("the summary changed")
    return Outcome(
        f"what Codex refuses is refused by every way of writing ({at.version})", 10, tuple(problems)
    )


def undo_removes_directories(at: World) -> Outcome:
    """A run whose notes needed new directories leaves none behind when it is taken back.

    It runs once Codex extracts nothing itself; until then Reverie leaves the thread to it.
    """
    problems: list[str] = []
    shutil.rmtree(at.store / "extensions" / "ad_hoc" / "notes", ignore_errors=True)
    with at.program.server() as server:
        server.turn(
            server.start(at.project), "topic-undo: I never want long answers. Please keep that in mind."
        )
    at.program.age(1)
    before = {path for path in at.store.rglob("*") if ".git" not in path.parts}
    code, out, err = at.cli("--json", "extract", "--engine", "rules")
    if code or json.loads(out)["rollouts"] or '"by-agent"' not in out:
        problems.append(f"a thread that Codex extracts itself is not left to it: {err}{out}")
    with at.program.generating_nothing():
        code, out, err = at.cli("--json", "extract", "--engine", "rules")
    if code:
        return Outcome(f"undo removes the directories of a run ({at.version})", 1, (f"extract: {err}{out}",))
    # Newest first, by the time in the id: a directory goes with the run that made it, once it is empty.
    runs = [end["runId"] for end in json.loads(out)["rollouts"] if end["outcome"] == "completed"]
    for run in sorted(runs, reverse=True):
        code, _out, err = at.cli("revert", run)
        if code:
            problems.append(f"revert: {err}")
    after = {path for path in at.store.rglob("*") if ".git" not in path.parts}
    problems += [f"left: {path.relative_to(at.store)}" for path in sorted(after - before)]
    problems += [f"lost: {path.relative_to(at.store)}" for path in sorted(before - after)]
    if not runs:
        problems.append("the extraction wrote nothing")
    return Outcome(
        f"undo removes the directories of a run ({at.version})", max(1, len(runs)), tuple(problems)
    )


def codex_holds(at: World) -> Outcome:
    """While Codex consolidates, every write of ours stands down with a sentence and nothing changes."""
    problems: list[str] = []
    at.model.consolidation = Consolidation(delay=12)
    text = at.edits().read(at.context(), SUMMARY)
    with at.program.server() as server:
        server.turn(server.start(at.project), f"topic-{next(at.numbers)}x before the lock")
    at.program.age()
    with at.program.server() as server:
        server.turn(server.start(at.project), "good evening")
        until = time.monotonic() + 60
        while not at.program.locked() or at.model.requests[-1].kind != "phase2":
            if time.monotonic() > until:
                return Outcome(
                    f"we stand down while Codex holds its lock ({at.version})", 1, ("never locked",)
                )
            time.sleep(0.1)
        time.sleep(1)
        before = at.summary.read_bytes()
        for name, done in (
            (
                "save",
                lambda: at.edits().save(at.context(), SUMMARY, text.content + "\n- late\n", text.sha256),
            ),
            ("delete", lambda: at.edits().delete(at.context(), SUMMARY)),
        ):
            try:
                done()
                problems.append(f"{name} went through")
            except Busy as busy:
                if "Codex is consolidating" not in busy.title:
                    problems.append(f"{name}: {busy}")
            except UserError as error:
                problems.append(f"{name}: {error}")
        if at.command(command="create", path="/memories/global/late.md", file_text="x\n")["success"]:
            problems.append("a command went through")
        for arguments in (("consolidate", "--engine", "rules"), ("extract", "--engine", "rules")):
            code, _out, err = at.cli(*arguments)
            if code != 1 or "Codex is consolidating" not in err:
                problems.append(f"{arguments[0]}: exit {code}: {err.strip()[:200]}")
        if at.program.locked() and at.summary.read_bytes() != before:
            problems.append("the summary changed under Codex's lock")
        if not any("Codex is consolidating" in entry.text for entry in at.parts().activity.read()):
            problems.append("Activity does not say why")
        at.program.settle()
    at.model.consolidation = Consolidation()
    jobs = [job.status for job in at.program.consolidations().values()]
    if "done" not in jobs:
        problems.append(f"Codex ended {jobs}")
    answer = at.command(
        command="create", path=f"/memories/global/late-{next(at.numbers)}.md", file_text="x\n"
    )
    if not answer["success"]:
        problems.append(f"after the lock was released: {answer['error']}")
    return Outcome(f"we stand down while Codex holds its lock ({at.version})", 6, tuple(problems))


def we_hold(at: World) -> Outcome:
    """While a write of ours holds the lock, Codex leaves its job waiting, and does it at the next start."""
    from reverie.memory.write_guard import write_locks

    problems: list[str] = []
    at.model.consolidation = Consolidation()
    with at.program.server() as server:
        server.turn(server.start(at.project), f"topic-{next(at.numbers)}x while we hold")
    at.program.age()
    parts = at.parts()
    home, lock_dir = parts.home, parts.profile.locks
    before = at.program.consolidations()[at.database].last_error
    with write_locks(home, [home.scope_root(home.context(), Scope.GLOBAL)], lock_dir=lock_dir):
        with at.program.server() as server:
            server.turn(server.start(at.project), "good night")
            until = time.monotonic() + 60
            time.sleep(4)
            while (held := at.program.consolidations()[at.database]).status == "running":
                if time.monotonic() > until:
                    break
                time.sleep(0.5)
        if held.status not in ("pending", "done") or held.last_error != before:
            problems.append(f"under our lock: {held.status} {held.last_error}")
        waiting = held.status == "pending"
    if not waiting:
        problems.append(f"Codex did not wait: {held.status}")
    status = at.consolidated()
    if status != "done":
        problems.append(f"after our lock: {status}")
    return Outcome(f"Codex waits while we hold its lock ({at.version})", 2, tuple(problems))


def both_at_once(at: World, count: int = 1_000) -> Outcome:
    """Codex's agent edits its store `count` times while Reverie saves `count` times: nothing is lost unsaid.

    Codex's edits are lines that its agent appends under Codex's lock, ours are saves of a line each, to the
    same file. What Reverie reported as saved must be on disk; what it refused, it said so.
    """
    problems: list[str] = []
    rounds, each = 5, count // 5
    saved: set[str] = set()
    refused = put_off = 0
    stop = threading.Event()

    def ours() -> None:
        nonlocal refused
        number = 0
        while number < count and not stop.is_set():
            line = f"- ours {number}"
            context, edits = at.context(), at.edits()
            try:
                text = edits.read(context, "/memories/global/shared.md")
                edits.save(context, "/memories/global/shared.md", f"{text.content}{line}\n", text.sha256)
            except UserError:
                refused += 1
                time.sleep(0.05)
                continue
            saved.add(line)
            number += 1
            time.sleep(0.05)  # Codex tries its lock at a start only, and must find it free once

    answer = at.command(command="create", path="/memories/global/shared.md", file_text="# Shared\n\n")
    if not answer["success"] and "exists" not in answer["error"]:
        problems.append(answer["error"])
    worker = threading.Thread(target=ours)
    worker.start()
    for turn in range(rounds):
        commands = (
            f"for i in $(seq {turn * each} {turn * each + each - 1}); do "
            'printf -- "- theirs %s\\n" "$i" >> shared.md; done'
        )
        at.model.consolidation = Consolidation(more=f'cd "{at.store}"\n{commands}')
        for _attempt in range(10):
            status = at.consolidated()
            if status == "done":
                break
            put_off += 1
        if status != "done":
            problems.append(f"round {turn}: Codex ended {status}")
    worker.join(timeout=300)
    stop.set()
    worker.join()
    lines = set((at.store / "shared.md").read_text("utf-8").splitlines())
    theirs = {f"- theirs {number}" for number in range(rounds * each)}
    problems += [f"ours lost: {line}" for line in sorted(saved - lines)[:5]]
    problems += [f"theirs lost: {line}" for line in sorted(theirs - lines)[:5]]
    if len(saved) != count:
        problems.append(f"only {len(saved)} of {count} saves went through")
    at.model.consolidation = Consolidation()
    put = f"{refused} saves and {put_off} runs of Codex put off"
    rule = f"both at once lose nothing silently, {put} ({at.version})"
    return Outcome(rule, len(saved) + len(theirs), tuple(problems))


def switching_versions(at: World) -> Outcome:
    """The version in use is the one that Codex uses, for each way of choosing it."""
    problems: list[str] = []
    cases = 0
    for setting in ("", "v1", "v2"):
        for memories in ("", "directory", "file"):
            home = at.directory / f"switch-{setting}-{memories}"
            shutil.copytree(at.home, home, ignore=shutil.ignore_patterns("thread-writer-locks"))
            for version in VERSIONS:
                directory = home / ("memories" if version == "v1" else "memories_v2")
                if directory.exists():
                    shutil.rmtree(directory)
                if version == "v2" or memories == "directory":
                    directory.mkdir()
                    text = at.summary.read_text("utf-8").replace(
                        "## General", f"- THIS IS {version}\n\n## General", 1
                    )
                    (directory / "memory_summary.md").write_text(text)
            if memories == "file":
                (home / "memories").write_text("a file\n")
            if setting:
                config = (home / "config.toml").read_text()
                (home / "config.toml").write_text(f'{config}version = "{setting}"\n')
            program = CodexProgram(at.program.codex, home, at.model)
            sent = program.prompt(at.project, f"which version {setting} {memories}").developer_text
            theirs = next((version for version in VERSIONS if f"THIS IS {version}" in sent), "none")
            root = CodexHome(home).scope_root(CodexHome(home).context(), Scope.GLOBAL)
            ours = "v2" if root.directory.name == "memories_v2" else "v1"
            if not (root.directory / "memory_summary.md").is_file():
                ours = "none"
            if ours != theirs:
                problems.append(
                    f"version={setting or 'unset'}, memories={memories or 'absent'}: {ours}, not {theirs}"
                )
            cases += 1
            shutil.rmtree(home)
    return Outcome("the version in use is the one that Codex loads", cases, tuple(problems))


def checks(programs: Programs, directory: Path) -> Iterator[Outcome]:
    """All checks of Codex's store."""
    if programs.codex is None:
        yield Outcome.skip("Codex's store", "Codex could not be installed.")
        return
    yield never_makes_memories(programs.codex, directory / "fresh")
    for version in VERSIONS:
        with world(programs.codex, directory / version, version) as at:
            yield looking(at)
            if version == "v2":
                yield switching_versions(at)
            yield refused_everywhere(at)
            yield undo_removes_directories(at)
            yield writes_survive(at)
            yield codex_holds(at)
            yield we_hold(at)
            yield both_at_once(at)
        with world(programs.codex, directory / f"{version}-refusals", version) as at:
            yield refusals_agree(at)


if __name__ == "__main__":
    started = time.monotonic()
    for outcome in checks(Programs(codex=Path(sys.argv[1])), Path(sys.argv[2])):
        words = "kept" if outcome.kept else "BROKEN"
        passed = f"{time.monotonic() - started:6.0f} s"
        print(f"{passed}  {words}  {outcome.rule}: {outcome.cases} cases {outcome.skipped}", flush=True)
        for problem in outcome.problems:
            print(f"          {problem}", flush=True)
