"""A process that raises victims: it imports everything once, then forks one child per job, so that kills are
cheap.

Run as `python -m helpers.nursery`; one JSON job a line on stdin, one JSON report a line on stdout. A job
names a home, a profile, what to do there (`save`, `delete`, `move`, `move-undone`, `dream`, `harvest`,
`apply`, `revert`, `part`, `pin`, `reshape`, `reshape-applied`, `reshape-undone`), and when to die: at the
`nth` passing of the checkpoint `step`, or `after_ms` milliseconds (a second child sends the SIGKILL), or
never.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from helpers.engines import ScriptedEngine
from helpers.reshapes import SHAPES
from reverie.compose import open_parts
from reverie.files import atomic as checkpoint
from reverie.jobs.consolidate.apply import ApplyService
from reverie.jobs.consolidate.engine import RulesEngine
from reverie.jobs.consolidate.harvest import HarvestRequest, RulesExtractor
from reverie.jobs.consolidate.review import ReviewSelection
from reverie.jobs.consolidate.run import DreamRequest
from reverie.profile import Profile
from reverie.runs.parts import parts_from_json
from reverie.services.container import HomeContainer
from reverie.services.edits import UserEdits
from reverie.services.moves import Moves


def work(parts: HomeContainer, job: dict[str, Any]) -> None:
    """Do what the job says, on the real home."""
    context = parts.home.context(workspace_id=job["workspace"])
    if job["kind"] == "dream":
        parts.dreams.run(DreamRequest(context), RulesEngine())
    elif job["kind"] == "reshape":
        parts.dreams.run(DreamRequest(context), ScriptedEngine(*SHAPES[job["shape"]]))
    elif job["kind"] == "harvest":
        parts.harvests.run(HarvestRequest(context), RulesExtractor())
    elif job["kind"] == "apply":
        ApplyService(parts.dream_dependencies).apply(
            job["run"], ReviewSelection().with_group(0, accepted=False)
        )
    elif job["kind"] == "reshape-applied":
        ApplyService(parts.dream_dependencies).apply(job["run"], ReviewSelection())
    elif job["kind"] in ("revert", "reshape-undone"):
        parts.reverter.revert(job["run"])
    elif job["kind"] == "part":
        parts.reverter.revert(job["run"], parts_from_json(job["part"]))
    elif job["kind"] == "save":
        edits = UserEdits(parts)
        text = edits.read(context, job["path"])
        edits.save(context, job["path"], job["content"], text.sha256)
    elif job["kind"] == "delete":
        UserEdits(parts).delete(context, job["path"])
    elif job["kind"] in ("move", "move-undone"):
        undo = Moves(parts).move(context, job["targets"])
        if job["kind"] == "move-undone":
            UserEdits(parts).undo(undo)
    elif job["kind"] == "pin":
        for number in range(50):
            parts.usage.set_pinned(f"global:pinned-{number}.md", True)


def live(job: dict[str, Any]) -> None:
    """One victim's life. The clock is real, so that run ids differ."""
    passed = 0

    def die_here(name: str) -> None:
        nonlocal passed
        if name == job.get("step"):
            passed += 1
            if passed == job.get("nth", 1):
                os.kill(os.getpid(), signal.SIGKILL)

    checkpoint.set_observer(die_here)
    clock = lambda: time.time_ns() // 1_000_000  # noqa: E731
    work(open_parts(Path(job["home"]), Profile.under(Path(job["profile"])), clock), job)


def raise_victim(job: dict[str, Any]) -> dict[str, Any]:
    """Fork, let live, and tell how it ended."""
    started = time.monotonic()
    victim = os.fork()
    if victim == 0:
        try:
            live(job)
        except BaseException as error:  # noqa: BLE001 - a fork must never return to its parent's loop
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            os._exit(3)
        os._exit(0)
    killer = 0
    if job.get("after_ms") is not None:
        killer = os.fork()
        if killer == 0:
            time.sleep(job["after_ms"] / 1000)
            os.kill(victim, signal.SIGKILL)
            os._exit(0)
    _pid, status = os.waitpid(victim, 0)
    if killer:
        os.kill(killer, signal.SIGKILL)
        os.waitpid(killer, 0)
    return {"killed": os.WIFSIGNALED(status), "status": status, "ms": 1000 * (time.monotonic() - started)}


def main() -> None:
    # What a job imports late is imported once, here.
    for name in ("pygit2", "rapidfuzz.fuzz", "reverie.memory.recording", "reverie.settings", "yaml.cyaml"):
        import_module(name)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(raise_victim(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
