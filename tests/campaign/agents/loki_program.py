"""loki-mode's own retrieval beside Reverie: the block of lessons on prepared stores, crash records.

The program is a checkout or an installation (`Programs.loki`) with `autonomy/run.sh` in it. What it injects
comes from a Python program that this script holds; that is taken out of it as it is and run, on stores with
invented content. Nothing of it is kept here.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from reverie.failures import crash
from reverie.failures.git_remote import project_id_hash
from reverie.failures.lessons import retrieve

from .base import Outcome, Programs

_BEGINS, _ENDS = "python3 << 'PYEOF' 2>/dev/null\n", "\nPYEOF\n"
_FUNCTION = "retrieve_memory_context() {"
_LIMIT_S = 60
_GOALS = (("", ""), ("mend the login", "ACT"), ("mend the login", ""), ("water plants", "VERIFY"))
_ODD: tuple[tuple[str, Any], ...] = (
    ("context", None),
    ("context", "x"),
    ("context", []),
    ("context", {"goal": 5}),
    ("errors_encountered", "x"),
    ("errors_encountered", None),
    ("errors_encountered", ["e"]),
    ("errors_encountered", [{"type": None, "message": 0}]),
    ("errors_encountered", [{"message": ["a", 1]}]),
    ("timestamp", "garbage"),
    ("timestamp", 5),
    ("action_log", None),
    ("action_log", ["x"]),
    ("importance", "high"),
    ("importance", None),
    ("last_accessed", "bad"),
    ("outcome", None),
)
_REMOTES = (
    "git@github.com:nightowl/night-bus.git",
    "https://GitHub.com/nightowl/night-bus",
    "https://ada:pw@github.com/nightowl/night-bus.git/",
    "ssh://git@github.com:22/nightowl/night-bus.git",
    "ssh://git@host/a/b.git",
    "github.com:a/b",
    "/srv/git/x.git",
    "file:///srv/x.git",
    "",
)
_EXITS: tuple[Any, ...] = ("2", " 3 ", 2, True, None, "x", "-1")
_PHASES: tuple[Any, ...] = (" Verify ", "ITERATION", "iteration", "x", 3, "act")


def checks(programs: Programs, directory: Path) -> Iterator[Outcome]:
    """Every rule, on stores below `directory`."""
    rule = "the block that loki-mode would inject is known to the byte, with the cause where it differs"
    script = programs.loki / "autonomy" / "run.sh" if programs.loki is not None else None
    if programs.loki is None or script is None or not script.is_file():
        yield Outcome.skip(rule, "loki-mode is not there.")
        return
    body = _retrieval(script.read_text(encoding="utf-8"))
    if not body:
        yield Outcome(rule, 1, ("the retrieval is no longer where it was in autonomy/run.sh",))
        return
    yield _blocks(programs.loki, body, directory, rule)
    yield _crash_fields(programs.loki)


def _retrieval(script: str) -> str:
    """The Python program that the script gives to its interpreter; empty where it is no longer there."""
    _before, _found, rest = script.partition(_FUNCTION)
    _before, _found, rest = rest.partition(_BEGINS)
    body, found, _after = rest.partition(_ENDS)
    return body if found else ""


def _blocks(program: Path, body: str, directory: Path, rule: str) -> Outcome:
    problems: list[str] = []
    cases, others = 120, 0
    for seed in range(cases):
        choose = random.Random(f"store {seed}")
        project = directory / f"loki-{seed}"
        memory = project / ".loki" / "memory"
        _fill(memory, choose)
        goal, phase = choose.choice(_GOALS)
        found = retrieve(memory, now_ms=int(time.time() * 1000), goal=goal, phase=phase)
        injected = _injected(program, body, project, goal, phase)
        if not goal and not phase and found.agent_block != injected:
            # loki-mode always has a goal. Without one, Reverie shows the block of a run that finds every
            # episode.
            injected = _injected(program, body, project, "login tests", "ACT VERIFY")
        others += found.block != found.agent_block
        if found.agent_block != injected:
            problems.append(f"seed {seed}: {found.agent_block!r} instead of {injected!r}")
        elif (found.block != found.agent_block) is not bool(found.difference):
            problems.append(f"seed {seed}: the sentence is {found.difference!r}")
    if not others:
        problems.append("no store tells loki-mode's block and Reverie's apart")
    return Outcome(rule, cases, tuple(problems))


def _injected(program: Path, body: str, project: Path, goal: str, phase: str) -> str:
    """What the program prints of failures, after the memories that it prints first."""
    if not (project / ".loki" / "memory" / "index.json").is_file():
        return ""  # the script looks for it before it starts the interpreter
    environment = {
        **os.environ,
        "_LOKI_PROJECT_DIR": os.fspath(program),
        "_LOKI_TARGET_DIR": os.fspath(project),
        "_LOKI_GOAL": goal,
        "_LOKI_PHASE": phase,
        "_LOKI_FAILURE_MEMORY": "1",
    }
    done = subprocess.run(
        [sys.executable, "-B", "-c", body],
        env=environment,
        capture_output=True,
        timeout=_LIMIT_S,
        check=False,
    )
    lines = done.stdout.decode("utf-8").split("\n")
    first = 0
    if lines[0] == "RELEVANT MEMORIES:":
        first = next((n for n, line in enumerate(lines[1:], 1) if not line.startswith("- [")), len(lines))
    return "\n".join(lines[first:])


def _fill(memory: Path, choose: random.Random) -> None:
    (memory / "semantic").mkdir(parents=True)
    if choose.random() < 0.9:
        (memory / "index.json").write_text('{"version": "1.1.0", "topics": []}')
    if choose.random() < 0.4:
        pattern = {
            "id": "sem-1",
            "pattern": "Avoid: login",
            "category": "anti-pattern",
            "incorrect_approach": "try the login again",
            "correct_approach": "read the answer",
            "conditions": [],
        }
        (memory / "semantic" / "patterns.json").write_text(json.dumps({"patterns": [pattern]}))
    now = datetime.now(UTC)
    for _ in range(choose.randint(1, 6)):
        day = memory / "episodic" / f"{now - timedelta(days=choose.choice((0, 0, 0, 1, 3))):%Y-%m-%d}"
        day.mkdir(parents=True, exist_ok=True)
        name = f"ep-{choose.getrandbits(32):08x}"
        if choose.random() < 0.05:
            name = choose.choice(("task-a", "my-task-a", "a.b"))
        (day / f"task-{name}.json").write_bytes(_content(choose, now, name))


def _content(choose: random.Random, now: datetime, name: str) -> bytes:
    at = now - timedelta(minutes=choose.randint(0, 1800))
    elsewhere = at.astimezone(timezone(timedelta(hours=choose.choice((-7, 2, 5)))))
    spelt = (f"{at:%Y-%m-%dT%H:%M:%S.%f}Z", f"{at:%Y-%m-%dT%H:%M:%SZ}", elsewhere.isoformat())
    errors = [
        {"type": choose.choice(("IterationError", "TypeError")), "message": f"m {n}", "resolution": ""}
        for n in range(choose.choice((1, 1, 2)))
    ]
    episode: dict[str, Any] = {
        "id": name,
        "task_id": "iteration-1",
        "timestamp": choose.choice(spelt),
        "context": {
            "phase": choose.choice(("ACT", "VERIFY")),
            "goal": choose.choice(("mend login", "tests")),
        },
        "outcome": choose.choice(("failure", "failure", "success")),
        "action_log": [],
        "errors_encountered": errors,
        "importance": 0.5,
    }
    if choose.random() < 0.15:
        key, value = choose.choice(_ODD)
        episode[key] = value
    text = json.dumps(episode).encode()
    odd = choose.random()
    if odd < 0.02:
        return b"\xef\xbb\xbf" + text
    return choose.choice((b"5", b"[1]", b"{", b"{}")) if odd < 0.05 else text


def _crash_fields(program: Path) -> Outcome:
    """Project ids, exit codes and phases as the program's own redaction has them."""
    script = (
        "import json, sys\nimport crash_redact as own\nasked = json.load(sys.stdin)\n"
        "json.dump([[own.project_id_hash(each) for each in asked[0]],"
        " [own.sanitize_exit_code(each) for each in asked[1]],"
        " [own.sanitize_rarv_phase(each) for each in asked[2]]], sys.stdout)"
    )
    paths = os.pathsep.join((os.fspath(program / "autonomy" / "lib"), os.fspath(program)))
    done = subprocess.run(
        [sys.executable, "-B", "-c", script],
        input=json.dumps([_REMOTES, _EXITS, _PHASES]).encode(),
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        timeout=_LIMIT_S,
        check=False,
    )
    rule = "project ids, exit codes and phases of crash records are loki-mode's own"
    if done.returncode:
        return Outcome(rule, 1, (done.stderr.decode("utf-8", "replace")[-300:],))
    theirs = json.loads(done.stdout)
    ours = [
        [project_id_hash(each) for each in _REMOTES],
        [crash.exit_code_of(each) for each in _EXITS],
        [crash.phase_of(each) for each in _PHASES],
    ]
    asked = (*_REMOTES, *_EXITS, *_PHASES)
    pairs = zip(asked, (x for each in ours for x in each), (x for each in theirs for x in each), strict=True)
    problems = [f"{what!r}: {mine!r} instead of {own!r}" for what, mine, own in pairs if mine != own]
    return Outcome(rule, len(asked), tuple(problems))
