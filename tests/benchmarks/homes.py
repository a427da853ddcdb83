"""Homes of a given size, for measuring."""

from __future__ import annotations

import json
import random
from pathlib import Path

WORKSPACE = "0123456789"
PROJECT = "/home/dev/projects/big"
STORE = "memory/project/big-{hash}"

_WORDS = [
    "queue",
    "retry",
    "cache",
    "index",
    "schema",
    "cursor",
    "ledger",
    "tenant",
    "grant",
    "hold",
    "settlement",
    "route",
    "depot",
    "dock",
    "tyre",
    "charger",
    "invoice",
    "webhook",
    "token",
    "session",
    "replica",
    "shard",
    "migration",
    "rollback",
    "canary",
    "latency",
    "budget",
    "quota",
    "mirror",
    "parser",
]


def make_home(root: Path, notes: int, *, seed: int = 1) -> Path:
    """A mux home with one project of `notes` memories in directories of about a hundred; returns the
    store."""
    import hashlib

    digest = hashlib.sha256(PROJECT.encode()).hexdigest()[:12]
    store = root / STORE.format(hash=digest)
    store.mkdir(parents=True)
    (root / "sessions" / WORKSPACE / "memory").mkdir(parents=True)
    workspace = {
        "path": f"{PROJECT}/.work",
        "id": WORKSPACE,
        "name": "main",
        "createdAt": "2026-07-06T08:00:00.000Z",
    }
    (root / "config.json").write_text(json.dumps({"projects": [[PROJECT, {"workspaces": [workspace]}]]}))
    dice = random.Random(seed)
    for number in range(notes):
        directory = store / f"part-{number // 100:04d}"
        directory.mkdir(exist_ok=True)
        (directory / f"note-{number:06d}.md").write_text(a_note(number, dice))
    return store


def a_note(number: int, dice: random.Random) -> str:
    """A note with a description and a handful of lines of its own."""
    lines = [
        f"- the {dice.choice(_WORDS)} of {dice.choice(_WORDS)} {number}-{line} is {dice.randint(0, 10**6)}"
        for line in range(6)
    ]
    return f"---\ndescription: About {dice.choice(_WORDS)} {number}\n---\n\n" + "\n".join(lines) + "\n"
