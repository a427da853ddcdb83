"""Made-up secrets of many forms in every channel: how many reach a scripted model, or a file of ours?

Memories, descriptions and names of files go through a consolidation (mux), messages through a harvest (mux),
messages, output of tools and the memory file through the memory writer and a replay of its trace (mux),
messages and output of tools through an extraction (Codex) and session notes (Claude Code). Every request and
every file that we write, in the profile and in the home, is searched for them, but those of the history:
plain, escaped for JSON, encoded for an address, in Base64. Two sets of forms are counted apart: those that
were held back when the rules were made and have been known since (`helpers.secret_forms`), and fresh ones,
drawn by a seed that nothing was tuned on (`helpers.fresh_forms`); of these also names of files by themselves.
"""

from __future__ import annotations

import base64
import json
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from helpers import chats
from helpers.benches import NOW
from helpers.claude_transcripts import SESSION, Chat, use
from helpers.codex_home import thread_id
from helpers.extraction import age, extract, small_home
from helpers.fresh_forms import FRESH_FILE_NAMES, FRESH_TEXTS, drawn
from helpers.model_runs import MODEL, memory, settle_on, turn, write_settings
from helpers.model_server import Call, ModelServer, Reply
from helpers.notes_home import session_path
from helpers.rollouts import meta, said, shell
from helpers.samples import copy_sample, snapshot
from helpers.secret_forms import HELD, HELD_NAMES, Written, write
from reverie.cli import main
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.profile import Profile
from reverie.services.views import ReplayRequest
from reverie.services.workbench import Workbench
from reverie.values import Struct

ACME = "a1f3c9e2b7"
MOST = 0.01
_A_FILE = 10
_KEY = "tk-0123456789-abcdefghij-KEY"


class Forms(Struct, frozen=True):
    """What is written into the channels. `slot` tells the texts of one channel from those of another."""

    name: str
    seed: int
    is_fresh: bool
    each: int = 1
    """Of the texts and names only each such one is written; 1 for all."""

    def texts(self, slot: int) -> list[Written]:
        """Sixty texts."""
        if self.is_fresh:
            return drawn(FRESH_TEXTS, self.seed * 100 + slot, 60 // self.each)
        forms = list(HELD)[slot // 10 % self.each :: self.each][: len(HELD) // self.each]
        return [write(HELD, form, self.seed + slot) for form in forms]

    def names(self) -> list[Written]:
        """Names of files."""
        if self.is_fresh:
            return drawn(FRESH_FILE_NAMES, self.seed * 100, 2 * len(FRESH_FILE_NAMES))
        return [write(HELD_NAMES, form, self.seed) for form in HELD_NAMES]


_FRESH_SEED = 7_301
"""The first of the seeds; the rules were tuned with seeds under 100."""


def run(directory: Path, rounds: int = 2, each: int = 1) -> tuple[list[str], bool]:
    """The campaign part: `rounds` times some 700 secrets of held forms, and as many of fresh ones; every
    `each`-th of them."""
    os.environ["TEST_KEY"] = _KEY
    told, kept = list[str](), True
    for is_fresh, name in ((False, "held"), (True, "fresh")):
        seeds = range(_FRESH_SEED, _FRESH_SEED + rounds) if is_fresh else range(rounds)
        sets = [Forms(name, seed, is_fresh, each) for seed in seeds]
        lines, is_kept = _counted(directory / name, sets)
        told += lines
        kept = kept and is_kept
    return told, kept


def _counted(directory: Path, sets: Sequence[Forms]) -> tuple[list[str], bool]:
    """Lines with how many secrets of these forms left, and whether they are few enough."""
    sent, stored, of_form, of_channel = Counter[str](), Counter[str](), Counter[str](), list[str]()
    for forms in sets:
        for channel in CHANNELS:
            place = directory / f"{channel.__name__}-{forms.seed}"
            place.mkdir(parents=True)
            texts, requests, files = channel(place, forms)
            found = [(each.form, secret) for each in texts for secret in each.secrets]
            leaving = Counter(form for form, secret in found if is_in(secret, [requests]))
            staying = Counter(form for form, secret in found if is_in(secret, files))
            of_channel.append(
                f"{channel.__name__}, {forms.name}, seed {forms.seed}: {leaving.total()} and "
                f"{staying.total()} of {len(found)}"
            )
            of_form.update(form for form, _secret in found)
            sent.update(leaving)
            stored.update(staying)
    told, kept = list[str](), True
    for what, of_what in (("texts", False), ("names of files", True)):
        some = [form for form in of_form if form.startswith("name") is of_what]
        total, out, left = (sum(count[form] for form in some) for count in (of_form, sent, stored))
        told.append(
            f"{sets[0].name} forms, {what}: {total} secrets of {len(some)} forms, "
            f"{out} in requests ({out / total:.1%}), {left} in files ({left / total:.1%})"
        )
        kept = kept and max(out, left) <= MOST * total
    told += of_channel
    told += [
        f"{form}: {sent[form]} and {stored[form]} of {of_form[form]}"
        for form in of_form
        if sent[form] or stored[form]
    ]
    return told, kept


def is_in(secret: str, texts: Iterable[str]) -> bool:
    """Whether a secret stands in one of `texts`, plain or encoded."""
    forms = {
        secret,
        json.dumps(secret)[1:-1],
        quote(secret, safe=""),
        base64.b64encode(secret.encode()).decode(),
    }
    return any(form in text for text in texts for form in forms)


Channel = tuple[list[Written], str, list[str]]
"""What was written, all that was sent, and the text of each file of ours."""


def consolidated(directory: Path, forms: Forms) -> Channel:
    """Memories, descriptions and names of files of a mux home, read whole by a consolidation."""
    home, profile = copy_sample("mux-home", directory, whole=False), directory / "profile"
    notes = home / "memory" / "global"
    bodies, names = forms.texts(0), forms.names()
    lines = [line for line in forms.texts(10) if "\n" not in line.text]
    paths = []
    for number, body in enumerate(bodies):
        line = lines[number].text if number < len(lines) else "Notes"
        paths.append(f"notes-{number:02}.md")
        front = f"---\ndescription: {json.dumps(line, ensure_ascii=False)}\n---\n"
        (notes / paths[-1]).write_text(f"{front}# Notes\n\nWeek 3.\n\n{body.text}\n", "utf-8")
    for name in names:
        (notes / name.text).parent.mkdir(parents=True, exist_ok=True)
        (notes / name.text).write_text("# Box\n\nIt stands in the cellar.\n", "utf-8")
    calls = [memory("view", path="/memories/global")]
    calls += [memory("view", path=f"/memories/global/{path}") for path in paths]
    with ModelServer([turn(*calls), Reply(text="Nothing to do.")]) as server:
        settle_on(server, profile)
        command(profile, home, "consolidate", "--workspace", ACME, "--engine", MODEL)
        assert "Week 3." in server.sent
        return [*bodies, *lines, *names], server.sent, list(files_of(profile))


def extracted(directory: Path, forms: Forms) -> Channel:
    """Messages and output of tools in rollouts of Codex."""
    maker, profile = small_home(directory / "codex", []), directory / "profile"
    messages = forms.texts(20)
    outputs = forms.texts(30)
    lines = [meta(thread_id(1), "/projects/demo")]
    for number, (message, output) in enumerate(zip(messages, outputs, strict=True)):
        lines += [
            said("user", f"Keep this {number}. {message.text}", number + 1),
            *shell(f"c{number}", "cat notes", f"Read that {number}.\n{output.text}", 0, number + 1),
        ]
    age(maker.rollout(1, lines), 1)
    with ModelServer() as server:
        server.answer = lambda _request: Reply(text='{"traceMemory": "", "summary": ""}')
        settle_on(server, profile, more=f'\n[extract]\nmodel = "{MODEL}"\n')
        extract(maker.root, profile)
        require_all("Keep this", messages, server.sent)
        require_all("Read that", outputs, server.sent)
        return [*messages, *outputs], server.sent, list(files_of(profile))


def noted(directory: Path, forms: Forms) -> Channel:
    """Messages and output of tools in a transcript of Claude Code, for its session notes."""
    home, profile = directory / "claude", directory / "profile"
    messages = forms.texts(40)
    outputs = forms.texts(50)
    chat = Chat()
    for number, (message, output) in enumerate(zip(messages, outputs, strict=True)):
        chat.user(f"Keep this {number}. {message.text}")
        chat.answer(use(f"toolu_{number}", "Bash", command="cat notes"), tokens=30_000)
        chat.results((f"toolu_{number}", f"Read that {number}.\n{output.text}"))
        chat.answer("Done.", tokens=30_000)
    chat.write(session_path(home))
    (home / "settings.json").write_text("{}", encoding="utf-8")
    before = snapshot(home)
    with ModelServer() as server:
        server.answer = lambda _request: Reply(text="Nothing to add.")
        write_settings(profile, server.settings_toml("test") + f'\n[notes]\nmodel = "{MODEL}"\n')
        command(profile, home, "notes", "--session", SESSION, "--force")
        require_all("Keep this", messages, server.sent)
        require_all("Read that", outputs, server.sent)
        return [*messages, *outputs], server.sent, [*files_of(profile), *written_in(home, before)]


def harvested(directory: Path, forms: Forms) -> Channel:
    """Messages of a compacted transcript of mux, for the harvest and the consolidation after it."""
    home, profile = copy_sample("mux-home", directory, whole=False), directory / "profile"
    messages = forms.texts(60)
    sidecar, session = home / "memory-consolidation.json", home / "sessions" / ACME
    sidecar.write_text(json.dumps({**json.loads(sidecar.read_bytes()), "harvestsByWorkspace": {}}))
    for inbox in (session / "memory" / "harvest").iterdir():
        inbox.unlink()
    added = [
        chats.chat_row(number, "user", f"Keep this {number}. {message.text}")
        for number, message in enumerate(messages)
    ]
    archive = [json.loads(line) for line in (session / "chat-archive.jsonl").read_text("utf-8").splitlines()]
    rows = [json.loads(line) for line in (session / "chat.jsonl").read_text("utf-8").splitlines()]
    for number, row in enumerate([*archive[:-1], *added, archive[-1], *rows]):
        row["metadata"]["historySequence"] = number
    write_rows(session / "chat-archive.jsonl", [*archive[:-1], *added, archive[-1]])
    write_rows(session / "chat.jsonl", rows)
    before = snapshot(home)
    proposed = {
        **{"category": "preference", "text": "Reviews come first.", "rationale": "The user said so."},
        **{"evidence": [added[0]["id"]], "confidence": 0.9},
    }
    replies = [
        turn(Call("propose", {"candidates": [proposed]})),
        Reply(text="done"),
        Reply(text="No changes."),
    ]
    with ModelServer(replies) as server:
        settle_on(server, profile)
        command(profile, home, "harvest", "--workspace", ACME, "--engine", MODEL)
        require_all("Keep this", messages, server.sent)
        return messages, server.sent, [*files_of(profile), *written_in(home, before)]


def recorded(directory: Path, forms: Forms) -> Channel:
    """The memory file, messages and output of tools of mux, for the memory writer; its model never writes, so
    that a trace stays, which is then replayed.
    """
    home, profile = copy_sample("mux-home", directory, whole=False), directory / "profile"
    lines = forms.texts(70)
    messages = forms.texts(80)
    outputs = forms.texts(90)
    (memory_file,) = (home / "memories").iterdir()
    memory_file.write_text("# acme-api memory\n\n" + "\n\n".join(line.text for line in lines) + "\n", "utf-8")
    chat = chats.Chat(home / "sessions" / ACME)
    for number, (message, output) in enumerate(zip(messages, outputs, strict=True)):
        chat.user(f"Keep this {number}. {message.text}")
        answer = {"success": True, "output": f"Read that {number}.\n{output.text}", "exitCode": 0}
        part = {
            **{"type": "dynamic-tool", "toolCallId": f"toolu_{number}", "toolName": "bash"},
            **{"state": "output-available", "input": {"script": "cat notes"}, "output": answer},
        }
        chat.assistant(parts=[part])
    before = snapshot(home)
    with ModelServer() as server:
        server.answer = lambda _request: Reply(text="I see.")
        settle_on(server, profile, more=f'\n[system1]\nenabled = true\nmodel = "{MODEL}"\n')
        command(profile, home, "write", "--workspace", ACME, "--force")
        require_all("Keep this", messages, server.sent)
        require_all("Read that", outputs, server.sent)
        asked = len(server.requests)
        bench = Workbench(open_parts(home, Profile.under(profile), system_clock))
        (ours,) = (row for row in bench.traces.rows() if row.run_id)
        facts = bench.traces.open(str(ours.path)).facts
        plain = json.dumps([message.text for message in messages], ensure_ascii=False)
        request = ReplayRequest(MODEL, facts.system_prompt, f"{facts.user_message}\n{plain}")
        shown = bench.replays.run(str(ours.path), request, cancel=threading.Event())
        assert len(server.requests) > asked
        files = [*files_of(profile), *written_in(home, before), str(shown)]
        return [*lines, *messages, *outputs], server.sent, files


CHANNELS = (consolidated, extracted, noted, harvested, recorded)


def require_all(mark: str, texts: Sequence[Written], sent: str) -> None:
    """Raise `AssertionError` unless each of the numbered `texts` was sent, so that the part cannot pass
    because nothing was.
    """
    missing = [number for number in range(len(texts)) if f"{mark} {number}." not in sent]
    assert not missing, (mark, missing)


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def written_in(home: Path, before: Mapping[str, Any]) -> Iterator[str]:
    """The text of each file of the home that is new or other than in `before`, an earlier `snapshot`."""
    for path, (_mode, time, data) in snapshot(home).items():
        if data is not None and (path not in before or before[path][1:] != (time, data)):
            yield data.decode("utf-8", "replace")


def command(profile: Path, home: Path, *words: str) -> None:
    main(["--profile", str(profile), "--now", str(NOW), "--home", str(home), "--json", *words])


def files_of(profile: Path) -> Iterator[str]:
    """The text of each file of the profile but those of the history."""
    for path in sorted(profile.rglob("*")):
        if path.is_file() and not any(part.endswith(".git") for part in path.parts):
            yield path.read_bytes().decode("utf-8", "replace")
