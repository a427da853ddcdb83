"""Makes `tests/samples/profile-0.1/`: `python -m helpers.make_old_profile OUT_DIR`, in the folder `tests`.

The real commands work on a copy of the demo home at fixed times: edits of a person, of an agent and from
outside, a run of the memory writer, consolidations, an undo of a part and of a whole run, a preview, deleted
memories, and a consolidation that is killed while its files change; then one more, which recovers that one
and is killed between its commit point and its end. Each archive holds the home and the profile as the killed
process left them; `expected.json` holds what the program that made them said about them, which later versions
must say, too. Run it in a checkout of the version that the sample is to be of; not on Windows (it kills).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import zstandard

from helpers.chats import Chat
from helpers.old_profile import (
    COMMITTED,
    EXPECTED,
    INTERRUPTED,
    activity,
    deleted,
    histories,
    memory_hashes,
    usage,
)
from reverie.resources import resource

MADE_AT = Path(tempfile.gettempdir()) / "reverie-sample-0.1"
"""Records name it: nothing else may be called so."""
START_MS = 1_795_200_000_000
MINUTE_MS = 60_000
WORKSPACE, SIBLING, OTHER = "4b7d02e9c1", "9f3a6c58d0", "d26b90f3ae"
KILL = """
import os, signal, sys
from reverie.cli import main
from reverie.files.atomic import set_observer
step, left = sys.argv[1], int(sys.argv[2])
def die(name):
    global left
    left -= name == step
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
set_observer(die)
main(sys.argv[3:])
"""
"""A command that kills itself where it passes a checkpoint for the nth time."""


class Maker:
    """One home and one profile, and a clock that goes on by ten minutes with each command."""

    def __init__(self) -> None:
        shutil.rmtree(MADE_AT, ignore_errors=True)
        MADE_AT.mkdir(parents=True)
        self.home, self.profile = MADE_AT / "home", MADE_AT / "profile"
        shutil.copytree(resource("demo-home"), self.home)
        self._now = START_MS

    def words(self, *words: str) -> list[str]:
        """The arguments of a command, ten minutes after the one before."""
        self._now += 10 * MINUTE_MS
        return ["--home", str(self.home), "--profile", str(self.profile), "--now", str(self._now), *words]

    def run(self, *words: str, lines: Sequence[Mapping[str, Any]] = ()) -> Any:
        """What a command says as JSON; for `memory`, a list with the answer to each line."""
        done = subprocess.run(
            [sys.executable, "-P", "-m", "reverie", *self.words(*words, "--json")],
            input="".join(json.dumps(line) + "\n" for line in lines),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{words}: {done.stdout}{done.stderr}")
        if not lines:
            return json.loads(done.stdout)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert all(answer["success"] for answer in answers), answers
        return answers

    def memory(self, *lines: Mapping[str, Any]) -> list[Any]:
        """The answers to memory commands in the first workspace."""
        return list(self.run("memory", "--workspace", WORKSPACE, lines=lines))

    def append(self, path: str, line: str) -> None:
        """What the editor does: read, change, save."""
        (text,) = self.memory({"command": "read", "path": path})
        self.memory(
            {
                "command": "save",
                "path": path,
                "content": f"{text['content']}{line}\n",
                "expected_sha256": text["sha256"],
            }
        )

    def texts(self) -> dict[str, str]:
        """Path in the home -> hash, for every memory there is now."""
        return memory_hashes(self.home)

    def killed(self, step: str, nth: int) -> str:
        """A consolidation that is killed at a checkpoint; the id of its run."""
        before = {run["id"] for run in self.run("runs")}
        words = self.words("consolidate", "--workspace", OTHER, "--engine", "rules")
        command = [sys.executable, "-P", "-c", KILL, step, str(nth), *words]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode == -signal.SIGKILL, done
        return str(next(run["id"] for run in self.run("runs") if run["id"] not in before))


def make(directory: Path) -> dict[str, Any]:
    """Do everything, put the archives into `directory`; returns what is expected of later versions."""
    maker = Maker()
    expected: dict[str, Any] = {"texts": {}, "runs": {}}
    texts, runs = expected["texts"], expected["runs"]
    demo = maker.home / "memory" / "global"

    maker.append("/memories/global/preferences.md", "- Show numbers with their units.")
    (demo / "people.md").write_text((demo / "people.md").read_text() + "- Iva reviews releases.\n")
    maker.memory({"command": "pin", "path": "/memories/global/testing.md", "pinned": True})

    texts["before dream"] = maker.texts()
    runs["dream"] = maker.run("consolidate", "--workspace", WORKSPACE, "--engine", "rules")["runId"]
    texts["after dream"] = maker.texts()
    part = ("--path", "/memories/global/shell.md")
    runs["undo of a part"] = maker.run("revert", runs["dream"], *part)["runId"]

    texts["before writer"] = maker.texts()
    chat = Chat(maker.home / "sessions" / SIBLING)
    chat.turn("Always round group prices up to the next cent.")
    chat.turn("We use decimals for money, never floats.")
    runs["writer"] = maker.run("write", "--workspace", SIBLING, "--force")["runId"]
    texts["after writer"] = maker.texts()

    maker.memory(
        {"command": "create", "path": "/memories/workspace/todo.md", "file_text": "# To do\n\n- Ship it\n"},
        {"command": "view", "path": "/memories/workspace/plan.md"},
        {"command": "view", "path": "/memories/workspace/plan.md"},
        {
            "command": "rename",
            "old_path": "/memories/workspace/todo.md",
            "new_path": "/memories/workspace/tasks.md",
        },
    )
    maker.memory({"command": "delete", "path": "/memories/project/pricing-2025.md", "actor": "user"})
    maker.memory({"command": "delete", "path": "/memories/global/machines/workstation.md"})

    for name, text in NEW_NOTES.items():
        (demo / name).write_text(text)
    texts["before second dream"] = maker.texts()
    runs["second dream"] = maker.run("consolidate", "--workspace", OTHER, "--engine", "rules")["runId"]
    texts["after second dream"] = maker.texts()
    runs["undo"] = maker.run("revert", runs["second dream"])["runId"]
    texts["after undo"] = maker.texts()
    preview = maker.run("consolidate", "--workspace", OTHER, "--engine", "rules", "--dry-run")
    runs["preview"] = preview["runId"]

    texts["before killed"] = maker.texts()
    # The journal, the record and two or three of its files are in place then.
    runs["killed"] = maker.killed("replace", 6)
    texts["left by killed"] = maker.texts()
    changed = set(texts["left by killed"].items()) ^ set(texts["before killed"].items())
    assert len(changed) > 2, "a mix of old and new"
    pack(directory / INTERRUPTED)
    # Asked after it was packed: the sample is what the killed run left, not what a look leaves.
    expected["made at"] = str(MADE_AT)
    expected["said"] = {
        "runs": maker.run("runs"),
        "homes": maker.run("homes"),
        "usage": {name: usage(maker.run("tree", "--workspace", name)) for name in (WORKSPACE, OTHER)},
        "status": {name: maker.run("status", "--workspace", name) for name in (WORKSPACE, OTHER)},
        "diff": {name: maker.run("diff", run) for name, run in runs.items() if name != "killed"},
    }
    expected["history"] = histories(maker.home, maker.profile)
    expected["deleted"] = deleted(maker.home, maker.profile)
    expected["activity"] = activity(maker.home, maker.profile)

    runs["killed at its end"] = maker.killed("applied", 1)
    texts["left by killed at its end"] = maker.texts()
    pack(directory / COMMITTED)
    return expected


NEW_NOTES = {
    "deploy-rules.md": "---\ndescription: Deploying\n---\n\n- Run the smoke tests before each deploy\n"
    "- Tag the release after the deploy\n",
    "deploying.md": "---\ndescription: Deploying\n---\n\n- Run the smoke tests before each deploy\n"
    "- Tag the release after the deploy\n- Post the tag in the channel\n",
    "nothing.md": "",
    "timeouts.md": "Requests to the bank time out after ten seconds.   \n\nThe gateway retries twice.\n",
}


def pack(target: Path) -> None:
    """Home and profile as they are, without who owns them."""

    def without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return entry

    with (
        target.open("wb") as file,
        zstandard.ZstdCompressor(level=19).stream_writer(file) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in ("home", "profile"):
            archive.add(MADE_AT / name, name, filter=without_owner)


def main() -> None:
    directory = Path(sys.argv[1])
    os.environ.pop("REVERIE_LOG_LEVEL", None)
    directory.mkdir(parents=True, exist_ok=True)
    text = json.dumps(make(directory), indent=1, ensure_ascii=False, sort_keys=True)
    (directory / EXPECTED).write_text(f"{text}\n", encoding="utf-8")
    shutil.rmtree(MADE_AT)


if __name__ == "__main__":
    main()
