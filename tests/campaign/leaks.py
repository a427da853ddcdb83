"""Made-up secrets of 60 forms in every channel: how many reach a scripted model, or a file of ours?

Memories, descriptions and names of files go through a consolidation, messages and output of tools through an
extraction (Codex), messages through session notes (Claude Code). Every request and every file of the profile
but those of the history is searched for them: plain, escaped for JSON, encoded for an address, in Base64. The
forms are those that no rule was worked on with (`helpers.secret_forms`).
"""

from __future__ import annotations

import base64
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

from helpers.benches import NOW
from helpers.claude_transcripts import SESSION, Chat
from helpers.codex_home import thread_id
from helpers.extraction import age, extract, small_home
from helpers.model_runs import MODEL, memory, settle_on, turn, write_settings
from helpers.model_server import ModelServer, Reply
from helpers.notes_home import session_path
from helpers.rollouts import meta, said, shell
from helpers.samples import copy_sample
from helpers.secret_forms import HELD, HELD_NAMES, Written, write
from reverie.cli import main

ACME = "a1f3c9e2b7"
MOST = 0.01
_A_FILE = 10
_KEY = "tk-0123456789-abcdefghij-KEY"


def run(directory: Path, rounds: int = 2) -> tuple[list[str], bool]:
    """The campaign part: `rounds` times some 250 secrets."""
    sent, stored, of_form, total = Counter[str](), Counter[str](), Counter[str](), 0
    os.environ["TEST_KEY"] = _KEY
    for seed in range(rounds):
        for channel in (consolidated, extracted, noted):
            place = directory / f"{channel.__name__}-{seed}"
            texts, requests, files = channel(place, seed)
            for text in texts:
                for secret in text.secrets:
                    total += 1
                    of_form[text.form] += 1
                    sent[text.form] += is_in(secret, [requests])
                    stored[text.form] += is_in(secret, files)
    told = [
        f"{total} secrets of {len(of_form)} forms: {sent.total()} in requests, {stored.total()} in files",
        *(
            f"{form}: {sent[form]} and {stored[form]} of {of_form[form]}"
            for form in of_form
            if sent[form] or stored[form]
        ),
    ]
    return told, max(sent.total(), stored.total()) <= MOST * total


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
"""What was written, all that was sent, and the files of ours."""


def consolidated(directory: Path, seed: int) -> Channel:
    """Memories, descriptions and names of files of a mux home, read whole by a consolidation."""
    directory.mkdir(parents=True)
    home, profile = copy_sample("mux-home", directory, whole=False), directory / "profile"
    notes = home / "memory" / "global"
    bodies = [write(HELD, form, seed) for form in HELD]
    lines = [write(HELD, form, seed + 10) for form in HELD if "\n" not in HELD[form]]
    names = [write(HELD_NAMES, form, seed) for form in HELD_NAMES]
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


def extracted(directory: Path, seed: int) -> Channel:
    """Messages and output of tools in rollouts of Codex."""
    maker, profile = small_home(directory / "codex", []), directory / "profile"
    messages = [write(HELD, form, seed + 20) for form in HELD]
    outputs = [write(HELD, form, seed + 30) for form in HELD]
    lines = [meta(thread_id(1), "/projects/demo")]
    for number, (message, output) in enumerate(zip(messages, outputs, strict=True)):
        lines += [
            said("user", f"Keep this. {message.text}", number + 1),
            *shell(f"c{number}", "cat notes", output.text, 0, number + 1),
        ]
    age(maker.rollout(1, lines), 1)
    with ModelServer() as server:
        server.answer = lambda _request: Reply(text='{"traceMemory": "", "summary": ""}')
        settle_on(server, profile, more=f'\n[extract]\nmodel = "{MODEL}"\n')
        extract(maker.root, profile)
        assert "Keep this." in server.sent
        return [*messages, *outputs], server.sent, list(files_of(profile))


def noted(directory: Path, seed: int) -> Channel:
    """Messages of a transcript of Claude Code, for its session notes."""
    home, profile = directory / "claude", directory / "profile"
    messages = [write(HELD, form, seed + 40) for form in HELD]
    chat = Chat()
    for message in messages:
        chat.turn(f"Keep this. {message.text}", "Done.", tokens=30_000)
    chat.write(session_path(home))
    (home / "settings.json").write_text("{}", encoding="utf-8")
    with ModelServer() as server:
        server.answer = lambda _request: Reply(text="Nothing to add.")
        write_settings(profile, server.settings_toml("test") + f'\n[notes]\nmodel = "{MODEL}"\n')
        command(profile, home, "notes", "--session", SESSION, "--force")
        assert "Keep this." in server.sent
        return messages, server.sent, list(files_of(profile))


def command(profile: Path, home: Path, *words: str) -> None:
    main(["--profile", str(profile), "--now", str(NOW), "--home", str(home), "--json", *words])


def files_of(profile: Path) -> Iterator[str]:
    """The text of each file of the profile but those of the history."""
    for path in sorted(profile.rglob("*")):
        if path.is_file() and not any(part.endswith(".git") for part in path.parts):
            yield path.read_bytes().decode("utf-8", "replace")
