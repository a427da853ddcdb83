"""mux's own memory services beside Reverie: hot sets, index, status, commands, pins, harvests, both at once.

The services run under bun from a checkout that somebody laid out (`Programs.mux`), through `mux_agent.ts` as
JSON lines; nothing of their code is here. Homes are made by the services themselves, with invented content.
Every random choice has a seed, so that a failure can be repeated.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reverie.agents.mux.home import CAPS
from reverie.agents.transcripts import Boundary
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.context.facts import ContextFacts
from reverie.context.gather import gather
from reverie.context.mux import hot_set, mux_context
from reverie.context.recipes import next_session
from reverie.errors import UserError
from reverie.jobs.consolidate.coverage import HarvestLog, completed, failed, pending, status_of
from reverie.memory.commands import MemoryCommands
from reverie.memory.front_matter import FrontError, description, set_description
from reverie.profile import Profile
from reverie.services.container import HomeContainer
from reverie.services.host import UsageKeeper
from reverie.services.views import LostSave
from reverie.services.workbench import Workbench

from .base import Outcome, Programs, differences, snapshot
from .front_matter_shapes import shapes

WORKSPACE, CHAT, SINGLE = "aaaa111122", "bbbb222233", "cccc333344"
PROJECT, OTHER = "/srv/projects/night-bus", "/srv/projects/timetable"
_LIMIT_S = 60
_WORDS = ("timetable", "depot", "driver", "route", "night", "stop", "delay", "ticket", "bus", "map")
_ODD = ("übersicht.md", "日本.md", "a b.md", "x&y.md", "deep/er/note.md", "deep/other.md", "plain.txt")


class Services:
    """The running services of one home: a request in, its answer out."""

    def __init__(self, programs: Programs, home: Path) -> None:
        assert programs.bun is not None
        assert programs.mux is not None
        # What the services keep of their own goes beside the home, never into the person's.
        private = home.with_name(f"{home.name}-private")
        private.mkdir(exist_ok=True)
        keep = {key: value for key, value in os.environ.items() if not key.startswith(("MUX_", "XUM_"))}
        self._process = subprocess.Popen(
            [os.fspath(programs.bun), "run", "agent.ts", os.fspath(home)],
            cwd=programs.mux,
            env={**keep, "HOME": os.fspath(private), "XUM_ROOT": os.fspath(home)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._lock = threading.Lock()

    def __enter__(self) -> Services:
        return self

    def __exit__(self, *_error: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def ask(self, command: str, **fields: Any) -> dict[str, Any]:
        """The answer; one that crashed says so in `crash`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = json.dumps({"command": command, **fields}).encode() + b"\n"
        with self._lock:
            self._process.stdin.write(line)
            self._process.stdin.flush()
            said = self._process.stdout.readline()
        if not said:
            raise RuntimeError(f"the services ended at {command}")
        answer: dict[str, Any] = json.loads(said)
        return answer


def checks(programs: Programs, directory: Path) -> Iterator[Outcome]:
    """Every rule, on homes below `directory`."""
    if programs.bun is None or programs.mux is None:
        yield Outcome.skip("mux's services agree with Reverie", "bun or a checkout of mux is not there.")
        return
    for number, rule in enumerate(
        (
            _front_matter,
            _hot_sets,
            _looking,
            _status,
            _commands,
            _pins,
            _counts,
            _identities,
            _harvests,
            _both_at_once,
        )
    ):
        place = directory / f"mux-{number}"
        place.mkdir(parents=True)
        yield rule(programs, place)


def make_home(place: Path, name: str = "home") -> Path:
    """A home with three workspaces: of a project, a scratch chat, and one of the bucket for several."""
    home = place / name
    scratch = str(home / "scratch" / CHAT)

    def entry(identity: str, path: str, **more: Any) -> dict[str, Any]:
        return {"id": identity, "name": identity, "path": path, "createdAt": "2026-08-01T08:00:00Z", **more}

    config = {
        "projects": [
            [PROJECT, {"workspaces": [entry(WORKSPACE, f"{PROJECT}-w1")]}],
            ["_scratch", {"workspaces": [entry(CHAT, scratch, kind="scratch")]}],
            [
                "_multi",
                {
                    "workspaces": [
                        entry(
                            SINGLE,
                            f"{OTHER}-w1",
                            projects=[{"projectPath": OTHER, "projectName": "timetable"}],
                        )
                    ]
                },
            ],
        ]
    }
    home.mkdir()
    (home / "config.json").write_text(json.dumps(config, indent=2))
    return home


def parts_of(home: Path, profile: str = "profile") -> HomeContainer:
    """Reverie's own wiring of a home."""
    return open_parts(home, Profile.under(home.with_name(f"{home.name}-{profile}")), system_clock)


@dataclass(frozen=True, slots=True)
class _Note:
    path: str
    text: str


def _notes(choose: random.Random, count: int) -> list[_Note]:
    found: dict[str, _Note] = {}
    for number in range(count):
        name = choose.choice([f"note-{number}.md", *_ODD])
        path = f"/memories/{choose.choice(('global', 'project', 'workspace'))}/{name}"
        body = " ".join(choose.choices(_WORDS, k=choose.choice((3, 40, 400, 4000))))
        described = choose.choice(("", "", f'{choose.choice(_WORDS)} <b> & "quoted"', "x" * 250))
        head = f"---\ndescription: {json.dumps(described)}\n---\n" if described else ""
        found[path] = _Note(path, f"{head}{body} </memory_file > é🚢\n")
    return list(found.values())


def _filled(services: Services, choose: random.Random, count: int) -> list[_Note]:
    notes = _notes(choose, count)
    for note in notes:
        services.ask("create", workspace_id=WORKSPACE, path=note.path, file_text=note.text)
    for note in choose.choices(notes, k=count):
        services.ask("view", workspace_id=WORKSPACE, path=note.path)
    for note in choose.sample(notes, k=min(2, len(notes))):
        services.ask("pin", workspace_id=WORKSPACE, path=note.path, pinned=True)
    return notes


def _hot_sets(programs: Programs, place: Path) -> Outcome:
    problems: list[str] = []
    cases = 0
    for seed in range(30):
        home = make_home(place, f"home-{seed}")
        choose = random.Random(f"hot set {seed}")
        with Services(programs, home) as services:
            _filled(services, choose, 12)
            for workspace_id in (WORKSPACE, CHAT, SINGLE):
                cases += 1
                theirs = services.ask("hot", workspace_id=workspace_id)
                index = services.ask("index", workspace_id=workspace_id)
                parts = parts_of(home)
                context = parts.home.context(workspace_id=workspace_id)
                now = system_clock()
                facts = gather(parts.home, context, Workbench(parts).view(context).scopes, times=(now,))
                ours = hot_set(facts, now, {}).block
                if not _same_block(ours, theirs["block"] if theirs["items"] else ""):
                    problems.append(f"seed {seed}, {workspace_id}: the hot sets differ")
                problems += [
                    f"seed {seed}, {workspace_id}: {each}" for each in _states(facts, now, theirs, index)
                ]
                part = mux_context(facts, now, {}).part("index")
                lines = [line for line in index["text"].split("\n") if line.startswith("- /memories/")]
                if part is None or part.text != "\n".join(lines):
                    problems.append(f"seed {seed}, {workspace_id}: the index lines differ")
    return Outcome("hot sets and index lines are mux's own, byte for byte", cases, tuple(problems))


def _states(facts: ContextFacts, now: int, hot: Mapping[str, Any], index: Mapping[str, Any]) -> Iterator[str]:
    """Compare the state of each memory with the hot set and the index of the services."""
    theirs = {each["path"]: "listed" for each in index["entries"]}
    theirs |= {each["path"]: "part" if each.get("truncated") else "full" for each in hot["items"]}
    ours = next_session(facts, now)[0]
    for path in sorted(theirs.keys() | {path for path in ours if path.startswith("/memories/")}):
        if ours.get(path) != theirs.get(path):
            yield f"{path} is “{ours.get(path)}”, the services load “{theirs.get(path)}”"


def _same_block(ours: str, theirs: str) -> bool:
    """The same but for mux's own sentences, which Reverie words with as many characters."""
    mine, others = ours.split("\n"), theirs.split("\n")
    if len(ours) != len(theirs) or len(mine) != len(others):
        return False
    different = [number for number, pair in enumerate(zip(mine, others, strict=True)) if pair[0] != pair[1]]
    notes = [number for number in different if number not in (1, 2)]
    return all(number > 2 and others[number + 1] == "</memory_file>" for number in notes)


def _front_matter(programs: Programs, place: Path) -> Outcome:
    """The services' index of notes of many shapes: before, and after Reverie wrote descriptions."""
    home = make_home(place)
    folder = home / "memory" / "global"
    folder.mkdir(parents=True)
    texts = {f"note-{number}.md": text for number, text in enumerate(dict.fromkeys(shapes(43, 500)))}
    problems: list[str] = []
    with Services(programs, home) as services:

        def listed() -> dict[str, str]:
            entries = services.ask("index", workspace_id=WORKSPACE)["entries"]
            return {each["path"].rpartition("/")[2]: each["description"] or "" for each in entries}

        for name, text in texts.items():
            (folder / name).write_bytes(text)
        theirs = listed()
        for name, text in texts.items():
            ours = description(text[: CAPS.description_prefix_bytes], CAPS).text
            if ours != theirs.get(name):
                problems.append(f"{text[:200]!r}: mux {theirs.get(name)!r}, Reverie {ours!r}")
        meant: dict[str, str] = {}
        for number, (name, text) in enumerate(texts.items()):
            value = f"Seen from: tower {number} # x"
            with contextlib.suppress(FrontError):
                after = set_description(text.decode(), value, prefix_bytes=CAPS.description_prefix_bytes)
                (folder / name).write_bytes(after.encode())
                meant[name] = value
        now = listed()
        for name, before in theirs.items():
            # A byte order mark hides all front matter from mux, and stays.
            hidden = texts[name].startswith("\ufeff".encode())
            wanted = before if hidden else meant.get(name, before)
            if now.get(name) != wanted:
                problems.append(f"{texts[name][:200]!r}: written {wanted!r}, mux {now.get(name)!r}")
    return Outcome("front matter is read and written as mux reads it", 2 * len(texts), tuple(problems))


def _looking(programs: Programs, place: Path) -> Outcome:
    home = make_home(place)
    problems: list[str] = []
    with Services(programs, home) as services:
        _filled(services, random.Random("looking"), 20)
        before = snapshot(home)
        for workspace_id in (WORKSPACE, CHAT, SINGLE):
            parts = parts_of(home)
            context = parts.home.context(workspace_id=workspace_id)
            workbench = Workbench(parts)
            workbench.contents()
            view = workbench.view(context)
            workbench.status(context)
            gather(parts.home, context, view.scopes, times=(system_clock(),))
            parts.home.lost_stores()
        problems += differences(before, snapshot(home))
    return Outcome("looking at a home whose services run changes nothing", 3, tuple(problems))


def _record(at: int, **more: Any) -> dict[str, Any]:
    return {"lastRunAt": at, "trigger": "manual", "summary": "s", "ops": [], **more}


def _status(programs: Programs, place: Path) -> Outcome:
    problems: list[str] = []
    home = make_home(place)
    cases = 0
    with Services(programs, home) as services:
        for seed in range(60):
            choose = random.Random(f"status {seed}")
            (home / "memory-consolidation.json").write_text(json.dumps(_sidecar(choose)))
            for workspace_id in (WORKSPACE, CHAT, SINGLE):
                cases += 1
                theirs = services.ask("status", workspace_id=workspace_id)["status"]
                parts = parts_of(home)
                context = parts.home.context(workspace_id=workspace_id)
                ours = status_of(parts.coverage.load(), context, now=system_clock()).as_json()
                if _comparable(ours) != _comparable(theirs):
                    problems.append(f"seed {seed}, {workspace_id}: {ours} instead of {theirs}")
    return Outcome("the status is mux's own", cases, tuple(problems))


def _sidecar(choose: random.Random) -> dict[str, Any]:
    now = system_clock()
    projects = [PROJECT, OTHER, "_scratch", "/srv/projects/gone"]
    ids = [WORKSPACE, CHAT, SINGLE, "gone000000"]
    metadata = {
        "workspaceId": WORKSPACE,
        "summaryMessageId": "summary-1",
        "summaryHistorySequence": 9,
        "compactionEpoch": 1,
    }
    harvests: dict[str, Any] = {}
    for number in range(choose.randint(0, 3)):
        record: dict[str, Any] = {
            "status": choose.choice(("pending", "completed", "failed")),
            "startedAt": now - choose.randint(0, 20 * 60_000) - number,
            "attemptCount": choose.randint(1, 3),
            "boundaryKey": f"summary-{number}",
            "compactionEpoch": 1,
            "acceptedCandidates": 0,
            "skippedCandidates": 0,
        }
        if record["status"] != "pending":
            record["completedAt"] = record["startedAt"] + 1000
        if choose.random() < 0.3:
            record["error"] = "the model is gone"
        if choose.random() < 0.5:
            whole = choose.random() < 0.6
            record["completionMetadata"] = (
                {**metadata, "compactionRequestMessageId": "user-1"} if whole else metadata
            )
        harvests[f"summary-{number}"] = record
    return {
        "workspaces": {key: _record(now - choose.randint(1, 10**9)) for key in ids if choose.random() < 0.6},
        "projects": {
            key: _record(now - choose.randint(1, 10**9)) for key in projects if choose.random() < 0.6
        },
        "harvestsByWorkspace": {WORKSPACE: harvests},
    }


def _comparable(status: Mapping[str, Any]) -> dict[str, Any]:
    """A status without what may differ: the wording of an abandoned harvest, and the moment of looking."""
    harvest = status["latestHarvestRecord"]
    if harvest is None:
        return dict(status)
    kept = {key: value for key, value in harvest.items() if key != "completedAt"}
    if kept.get("error") != "the model is gone":
        kept.pop("error", None)
    return {**status, "latestHarvestRecord": kept}


def _commands(programs: Programs, place: Path) -> Outcome:
    """Random commands to two homes; the same ones are refused, and the files are the same bytes after."""
    problems: list[str] = []
    cases = 0
    theirs, ours = make_home(place, "theirs"), make_home(place, "ours")
    # The chat of both homes is the same directory to either.
    shutil.copy(theirs / "config.json", ours / "config.json")
    parts = parts_of(ours)
    with Services(programs, theirs) as services:
        for seed in range(3000):
            choose = random.Random(f"command {seed}")
            workspace_id = choose.choice((WORKSPACE, WORKSPACE, CHAT, SINGLE))
            request = _request(choose)
            cases += 1
            answer = services.ask(**request, workspace_id=workspace_id)
            store = parts.store(parts.home.context(workspace_id=workspace_id), actor="agent")
            got = MemoryCommands(store, count_reads=True).execute(request)
            if answer["success"] is not got["success"]:
                problems.append(f"seed {seed}: {request}: {got} instead of {answer}")
            elif seed % 50 == 0 and _memories(theirs) != _memories(ours):
                problems.append(f"seed {seed}: {request}: the files differ")
    if _memories(theirs) != _memories(ours):
        problems.append("the files differ at the end")
    return Outcome("commands succeed and fail as mux's own, with the same files", cases, tuple(problems[:20]))


def _request(choose: random.Random) -> dict[str, Any]:
    scope = choose.choice(("global", "project", "workspace"))
    name = choose.choice(("a.md", "b.md", "c/d.md", "c", "", ".hidden", "x/../y", "é.md", "a.md/below"))
    path = f"/memories/{scope}/{name}".rstrip("/") if choose.random() < 0.95 else "/memories/elsewhere/a.md"
    text = "\n".join(choose.choices(_WORDS, k=choose.randint(0, 4)))
    command = choose.choice(("create", "create", "view", "str_replace", "insert", "delete", "rename"))
    if command == "delete" and name == ".hidden":
        command = "view"  # Reverie deletes nothing that its history lacks, and says so
    if command == "create":
        return {"command": command, "path": path, "file_text": text}
    if command == "str_replace":
        return {"command": command, "path": path, "old_str": choose.choice(_WORDS), "new_str": text}
    if command == "insert":
        return {"command": command, "path": path, "insert_line": choose.randint(0, 4), "insert_text": text}
    if command == "rename":
        return {
            "command": command,
            "old_path": path,
            "new_path": f"/memories/{scope}/{choose.choice('abz')}.md",
        }
    return {"command": command, "path": path}


def _memories(home: Path) -> dict[str, bytes]:
    files = [*(home / "memory").rglob("*"), *(home / "sessions").rglob("memory/**/*")]
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in files if path.is_file()}


def _pins(programs: Programs, place: Path) -> Outcome:
    """Pins that a running agent overwrites, with one and with two profiles of Reverie."""
    problems: list[str] = []
    cases = 0
    for profiles in (("one",), ("one", "two")):
        home = make_home(place, f"home-{len(profiles)}")
        with Services(programs, home) as services:
            for number in range(12):
                services.ask(
                    "create", path=f"/memories/global/{number}.md", file_text="x", workspace_id=WORKSPACE
                )
            keepers = [_Keeping(parts_of(home, profile)) for profile in profiles]
            context = keepers[0].parts.home.context(workspace_id=WORKSPACE)
            pinned = [f"/memories/global/{number}.md" for number in range(2 * len(profiles))]
            for number, path in enumerate(pinned):
                Workbench(keepers[number % len(keepers)].parts).edits.pin(context, [path], True)
            for number in range(100):
                services.ask("view", path=f"/memories/global/{11 - number % 2}.md", workspace_id=WORKSPACE)
            cases += 100
            problems += _unpinned(keepers, pinned, f"{len(profiles)} profiles, after 100 uses")
            keys = keepers[0].parts.usage.unknown_pins()
            if not keys:
                problems.append(f"{len(profiles)} profiles: no pin is marked as unknown to the agent")
            services.ask("restart")
            services.ask("view", path="/memories/global/11.md", workspace_id=WORKSPACE)
            known = services.ask("meta")["entries"]
            cases += len(pinned)
            problems += [
                f"{path}: the restarted agent does not know its pin"
                for path in pinned
                if not known.get(f"global:{path.rpartition('/')[2]}", {}).get("pinned")
            ]
            problems += _unpinned(keepers, pinned, "after the restart")
            for keeper in keepers:
                keeper.wake()
            time.sleep(1.5)
            if any(keeper.parts.usage.unknown_pins() for keeper in keepers):
                problems.append("a pin is still marked after the restart")
            # What the agent takes away itself stays away.
            services.ask("pin", path=pinned[0], pinned=False, workspace_id=WORKSPACE)
            time.sleep(4.5)
            if keepers[0].parts.usage.load()["global:0.md"].pinned:
                problems.append("a pin that the agent took away came back")
            for keeper in keepers:
                keeper.stop()
    return Outcome("a pin survives 100 uses by the running agent and its restart", cases, tuple(problems))


class _Keeping:
    """A Reverie that keeps pins, with its watcher played by a look at the file every tenth of a second."""

    def __init__(self, parts: HomeContainer) -> None:
        self.parts = parts
        self.failures: list[str] = []
        self._keeper = UsageKeeper(parts, failed=self.failures.append)
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._keeper.run, daemon=True),
            threading.Thread(target=self._watch, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        self._keeper.wake()

    def stop(self) -> None:
        self._over.set()
        self._keeper.stop()
        for thread in self._threads:
            thread.join(_LIMIT_S)

    def _watch(self) -> None:
        sidecar, seen = self.parts.home.root / "memory-meta.json", None
        while not self._over.wait(0.1):
            try:
                status = sidecar.stat()
            except FileNotFoundError:
                continue
            if (status.st_mtime_ns, status.st_ino) != seen:
                seen = status.st_mtime_ns, status.st_ino
                self._keeper.wake()


def _unpinned(keepers: Sequence[_Keeping], pinned: Sequence[str], when: str) -> list[str]:
    """The pins that do not come back within the seconds that putting back may take."""
    missing: list[str] = []
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        usage = keepers[0].parts.usage.load()
        missing = [path for path in pinned if not usage[f"global:{path.rpartition('/')[2]}"].pinned]
        if not missing:
            return []
        time.sleep(0.1)
    return [f"{path}: not pinned {when}" for path in missing]


def _counts(programs: Programs, place: Path) -> Outcome:
    """Uses by both on the same memories, some by other keys, while the agent runs and after its restart."""
    home = make_home(place)
    problems: list[str] = []
    ours = theirs = 0
    with Services(programs, home) as services:
        for number in range(4):
            services.ask(
                "create", path=f"/memories/global/{number}.md", file_text="x", workspace_id=WORKSPACE
            )
        keeper = _Keeping(parts_of(home))
        choose = random.Random("counts")
        written = 0
        for _ in range(60):
            for _ in range(choose.randint(0, 3)):
                services.ask("view", path="/memories/global/0.md", workspace_id=WORKSPACE)
                theirs += 1
            keeper.parts.usage.record_write("global:0.md")
            written = keeper.parts.usage.load()["global:0.md"].last_write_at or 0
            ours += 1
            time.sleep(0.05)
        services.ask("view", path="/memories/global/3.md", workspace_id=WORKSPACE)
        time.sleep(4.5)
        services.ask("restart")
        for _ in range(5):
            services.ask("view", path="/memories/global/0.md", workspace_id=WORKSPACE)
            theirs += 1
        time.sleep(4.5)
        found = services.ask("meta")["entries"]["global:0.md"]
        if found["accessCount"] != 1 + ours + theirs:
            problems.append(f"{found['accessCount']} uses are counted instead of {1 + ours + theirs}")
        if (found["lastWriteAt"] or 0) < written:
            problems.append("the time of the last write was lost")
        on_disk = keeper.parts.usage.load()["global:0.md"]
        if on_disk.access_count != found["accessCount"]:
            problems.append(f"Reverie counts {on_disk.access_count}, the agent {found['accessCount']}")
        problems += keeper.failures
        keeper.stop()
    return Outcome("use counts of both sides add up, write times stay", ours + theirs, tuple(problems))


def _identities(programs: Programs, place: Path) -> Outcome:
    """Scratch chats and the bucket for several projects have one project memory for both programs."""
    home = make_home(place)
    problems: list[str] = []
    with Services(programs, home) as services:
        for workspace_id in (WORKSPACE, CHAT, SINGLE):
            text = f"by the agent in {workspace_id}"
            services.ask("create", workspace_id=workspace_id, path="/memories/project/a.md", file_text=text)
            parts = parts_of(home)
            store = parts.store(parts.home.context(workspace_id=workspace_id), actor="user")
            try:
                if store.read_text("/memories/project/a.md", as_use=False).content != text:
                    problems.append(f"{workspace_id}: another text")
                store.create("/memories/project/b.md", "by Reverie")
            except UserError as error:
                problems.append(f"{workspace_id}: {error}")
                continue
            answer = services.ask("view", workspace_id=workspace_id, path="/memories/project/b.md")
            if not answer["success"]:
                problems.append(f"{workspace_id}: the agent does not see what Reverie wrote")
        contents = parts_of(home).home.contents()
        problems += [f"offered as an orphan: {orphan.label}" for orphan in contents.orphans]
    return Outcome("project memory is the same for both in every kind of workspace", 3, tuple(problems))


def _harvests(programs: Programs, place: Path) -> Outcome:
    """Harvest records of Reverie are shown by the agent and survive its own saves."""
    problems: list[str] = []
    cases = 0
    for request in ("user-1", None):
        for end in ("pending", "completed", "failed"):
            cases += 1
            home = make_home(place, f"home-{cases}")
            with Services(programs, home) as services:
                parts = parts_of(home)
                log = HarvestLog(parts.coverage, parts.clock)
                boundary = Boundary("summary-1", 9, 1, request_message_id=request)
                now = system_clock()
                record = pending(WORKSPACE, boundary, None, now=now)
                if end == "completed":
                    record = completed(record, now=now, accepted=1, skipped=0, usage=None)
                elif end == "failed":
                    record = failed(record, now=now, error="no answer")
                log.save(WORKSPACE, record)
                shown = services.ask("status", workspace_id=WORKSPACE)["status"]["latestHarvestRecord"]
                if shown is None or shown["status"] != end:
                    problems.append(f"{end}, request {request}: the agent shows {shown}")
                services.ask("dream", workspace_id=WORKSPACE, steps=[{"text": "nothing to do"}])
                if log.record(WORKSPACE, "summary-1") is None:
                    problems.append(f"{end}, request {request}: gone after a run of the agent")
    return Outcome("harvest records are accepted by the agent and kept", cases, tuple(problems))


def _both_at_once(programs: Programs, place: Path) -> Outcome:
    """1,000 lines by the agent's tools and 1,000 by Reverie, in shared files and in files of their own."""
    home = make_home(place)
    problems: list[str] = []
    count = 1000
    files = [f"/memories/{scope}/shared-{n}.md" for scope in ("global", "project") for n in range(5)]
    with Services(programs, home) as services:
        for path in files:
            services.ask("create", workspace_id=WORKSPACE, path=path, file_text="# shared\n")
        keeper = _Keeping(parts_of(home))
        parts = keeper.parts
        parts.snapshots.observe(source="campaign")
        ours: list[tuple[str, str]] = []
        said: list[str] = []
        reported: list[LostSave] = []

        def write() -> None:
            choose = random.Random("ours")
            commands = MemoryCommands(
                parts.store(parts.home.context(workspace_id=WORKSPACE), actor="agent"), count_reads=True
            )
            for number in range(count):
                path, line = choose.choice(files), f"reverie-{number}"
                request = {"command": "insert", "path": path, "insert_line": 1, "insert_text": line}
                answer = commands.execute(request)
                (ours.append((path, line)) if answer["success"] else said.append(answer["error"]))
                reported.extend(parts.saves.check())

        writer = threading.Thread(target=write)
        writer.start()
        choose, theirs = random.Random("theirs"), list[tuple[str, str]]()
        for number in range(count):
            path, line = choose.choice(files), f"agent-{number}"
            answer = services.ask(
                "insert", workspace_id=WORKSPACE, path=path, insert_line=1, insert_text=line
            )
            if answer["success"]:
                theirs.append((path, line))
        writer.join()
        reported += parts.saves.settle()
        keeper.stop()
    store = parts.store(parts.home.context(workspace_id=WORKSPACE), actor="user")
    texts = {path: store.read_text(path, as_use=False).content.split("\n") for path in files}
    # Reported as overwritten, with the text kept for the person.
    offered = {line for each in reported if each.kept and each.text for line in each.text.split("\n")}
    for who, lines, known in (("Reverie", ours, offered), ("the agent", theirs, set[str]())):
        lost = [line for path, line in lines if line not in texts[path] and line not in known]
        problems += (
            [f"{len(lost)} acknowledged lines of {who} are gone: {', '.join(lost[:5])}"] if lost else []
        )
    problems += [f"refused to Reverie: {why}" for why in said[:3]]
    if len(theirs) != count:
        problems.append(f"{count - len(theirs)} edits were refused to the agent")
    return Outcome(
        f"both write at once and no acknowledged line is lost ({len(reported)} reported as overwritten)",
        len(ours) + len(theirs),
        tuple(problems),
    )


if __name__ == "__main__":
    import sys
    import tempfile

    _bun, _mux = (Path(word).resolve() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory(dir=sys.argv[3] if len(sys.argv) > 3 else None) as _name:
        for _outcome in checks(Programs(bun=_bun, mux=_mux), Path(_name)):
            print("ok " if _outcome.kept else "NOT", _outcome.cases, _outcome.rule)
            for _problem in _outcome.problems[:8]:
                print("      ", _problem[:600])
