"""A copy of a sample profile that an older version left (`tests/samples/profile-*`), and what the present
code reads in it.

The records of a profile name the home by its path. A copy lies elsewhere, so that path is replaced in what
was copied, and `reverie homes --adopt` then does what a person does after restoring a backup. The readers
return plain JSON values; only they know what the code calls these things today. The values must stay.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sqlite3
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from helpers.samples import SAMPLES
from reverie.cli import main
from reverie.compose import open_parts
from reverie.memory.history.reader import HistoryPlace, LogEntry
from reverie.profile import Profile
from reverie.services.timeline import State
from reverie.services.workbench import Workbench

INTERRUPTED = "interrupted.tar.zst"
"""Left by a consolidation that was killed while its files changed."""
COMMITTED = "committed.tar.zst"
"""The same, later: a consolidation was killed after its last file, before its end."""
EXPECTED = "expected.json"
NOW_MS = 1_795_300_000_000
_KEPT = ("pinned", "accessCount", "lastAccessedAt", "lastWriteAt", "size", "description")
_SQLITE = b"SQLite format 3\x00"


@dataclass(frozen=True, slots=True)
class OldProfile:
    """The copy. `expected`: what the version that made it said about it."""

    home: Path
    profile: Path
    expected: dict[str, Any]

    def command(self, *words: str) -> Any:
        """What a command says as JSON. Raises `AssertionError` where it fails."""
        with io.TextIOWrapper(io.BytesIO(), encoding="utf-8") as out:
            with contextlib.redirect_stdout(out):
                code = main(
                    [
                        *("--home", str(self.home), "--profile", str(self.profile)),
                        *("--now", str(NOW_MS), "--json", *words),
                    ]
                )
            out.seek(0)
            said = out.read()
        assert code == 0, f"{words}: {said}"
        return json.loads(said)

    def texts(self) -> dict[str, str]:
        """Path in the home -> hash, for every memory there is now."""
        return memory_hashes(self.home)


def copy_old_profile(name: str, archive: str, directory: Path) -> OldProfile:
    """Unpack an archive of the sample `name` below `directory`, where its home has another path and inode."""
    sample = SAMPLES / name
    expected = json.loads((sample / EXPECTED).read_text(encoding="utf-8"))
    made_at = expected.pop("made at")
    _unpack(sample / archive, directory)
    _replace(directory / "profile", made_at, str(directory))
    copy = OldProfile(
        directory / "home",
        directory / "profile",
        json.loads(json.dumps(expected).replace(made_at, str(directory))),
    )
    (known,) = json.loads((copy.profile / "data" / "homes.json").read_text())["homes"]
    copy.command("homes", "--adopt", known)
    return copy


def _unpack(archive: Path, directory: Path) -> None:
    with (
        archive.open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as stream,
        tarfile.open(fileobj=stream, mode="r|") as packed,
    ):
        # It is our own archive, and the private directories of the profile must stay private.
        packed.extraction_filter = lambda member, _directory: member
        packed.extractall(directory)


def _replace(profile: Path, old: str, new: str) -> None:
    """Replace a path in every text and database of a profile; the history and the texts of runs have none."""
    for path in profile.rglob("*"):
        if not path.is_file() or path.name.endswith("-journal"):
            continue
        data = path.read_bytes()
        if data.startswith(_SQLITE):
            _replace_in_database(path, old, new)
        elif old.encode() in data:
            path.write_bytes(data.replace(old.encode(), new.encode()))


def _replace_in_database(path: Path, old: str, new: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            for _number, column, kind, *_rest in connection.execute(
                f'PRAGMA table_info("{table}")'
            ).fetchall():
                if kind == "TEXT":
                    connection.execute(
                        f'UPDATE "{table}" SET "{column}" = replace("{column}", ?, ?)', (old, new)
                    )


def memory_hashes(home: Path) -> dict[str, str]:
    """Path in the home -> SHA-256 of each memory."""
    return {
        path.relative_to(home).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for folder in ("memory", "memories", "sessions")
        for path in sorted((home / folder).rglob("*.*"))
        if path.is_file() and path.suffix in (".md", ".txt") and not path.name.startswith(".")
    }


def usage(tree: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Path -> what `reverie tree` says of a memory's text, pin and use, out of the whole tree."""
    found: dict[str, dict[str, Any]] = {}
    for node in tree:
        found |= usage(node.get("children", []))
        if "pinned" in node:
            found[node["path"]] = {name: node[name] for name in _KEPT}
    return found


def _opened(home: Path, profile: Path) -> Workbench:
    return Workbench(open_parts(home, Profile.under(profile), lambda: NOW_MS))


def _hash(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()


def histories(home: Path, profile: Path) -> dict[str, list[dict[str, Any]]]:
    """Key of a scope and path -> every change of that memory, newest first, with the hash of the text that
    the history opens for before and after."""
    workbench = _opened(home, profile)
    found: dict[str, list[dict[str, Any]]] = {}
    for workspace in workbench.contents().contents.workspaces():
        context = workbench.parts.home.context(workspace_id=workspace.id)
        for scope in ("global", "project", "workspace"):
            timeline = workbench.timeline
            if scope == "project" and workspace.multi_project:
                continue
            folder = timeline.target(context, f"/memories/{scope}")
            log = workbench.parts.snapshots.history.log
            entries = log(folder.place).entries
            inner = {name for each in entries for name in timeline.files(State(each.commit.id, each.place))}
            for name in sorted(inner):
                target = timeline.target(context, f"/memories/{scope}/{name}")
                found[f"{folder.place.key}/{name}"] = [
                    {
                        "at": each.commit.at_ms,
                        "who": timeline.who(each.commit),
                        "what": each.what,
                        "run": each.commit.run_id,
                        "before": _hash(timeline.read(State(each.commit.parent, _before(each)))),
                        "after": _hash(timeline.read(State(each.commit.id, each.place))),
                    }
                    for each in log(target.place).entries
                ]
    return found


def _before(entry: LogEntry) -> HistoryPlace:
    return entry.other if entry.what == "renamed" and entry.other is not None else entry.place


def deleted(home: Path, profile: Path) -> dict[str, dict[str, Any]]:
    """Path -> who deleted that memory when, and the hash of the text that the trash opens."""
    trash = _opened(home, profile).trash
    return {
        entry.path: {
            "at": entry.at_ms,
            "actor": entry.actor,
            "run": entry.run_id,
            "owner": entry.owner,
            "text": _hash(trash.read(entry)),
        }
        for entry in trash.page()[0]
    }


def restore(home: Path, profile: Path, path: str) -> None:
    """Bring a deleted memory back from the trash."""
    trash = _opened(home, profile).trash
    trash.restore([entry for entry in trash.page()[0] if entry.path == path])


def recover(home: Path, profile: Path) -> None:
    """What opening the window does first: settle what a killed run left, catch up with the home."""
    _opened(home, profile).start_history()


def activity(home: Path, profile: Path) -> list[dict[str, Any]]:
    """Every decision in the Activity log, oldest first."""
    log = _opened(home, profile).parts.activity
    entries = log.read()
    assert log.damaged_lines == 0
    return [
        {"at": each.at, "event": each.event, "level": each.level, "text": each.text, "run": each.run_id}
        for each in entries
    ]
