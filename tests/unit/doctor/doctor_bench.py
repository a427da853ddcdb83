"""A workspace in which everything works, for a test to break in one place."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.benches import NOW, sample_parts
from reverie.doctor.examination import examine
from reverie.doctor.facts import DoctorHooks, ModelFacts
from reverie.doctor.findings import Finding
from reverie.llm.probe import ProbeStep
from reverie.services.container import HomeContainer
from reverie.settings import load_settings, save_settings
from reverie.values import replace

ACME = "a1f3c9e2b7"
MINUTE = 60_000
RULES = ModelFacts("rules", "No model is configured.")


@dataclass
class Patient:
    """A sample home with the writer on, a host, turns, a run that wrote, and a desk to ask."""

    parts: HomeContainer
    desk: DoctorHooks = field(
        default_factory=lambda: DoctorHooks(model=lambda: RULES, dream_model=lambda: RULES)
    )
    workspace_id: str | None = ACME
    now: int = NOW
    with_probe: bool = False

    @property
    def home(self) -> Path:
        return self.parts.home.root

    @property
    def session(self) -> Path:
        return self.home / "sessions" / ACME

    @property
    def state_file(self) -> Path:
        return self.session / "system1-memory-writer-state.json"

    @property
    def memory_file(self) -> Path:
        return self.home / "memories" / "acme-api-1d659342.md"

    @property
    def chat(self) -> Path:
        return self.session / "chat.jsonl"

    @property
    def settings_file(self) -> Path:
        return self.parts.profile.settings_file

    def findings(self) -> dict[str, Finding]:
        context = self.parts.home.context(workspace_id=self.workspace_id)
        found = examine(self.parts, context, self.desk, now=self.now, with_probe=self.with_probe, env={})
        return {finding.check: finding for finding in found}

    def set(self, section: str = "system1", **wishes: Any) -> None:
        settings, _problems = load_settings(self.settings_file)
        changed = getattr(settings, section).model_copy(update=wishes)
        save_settings(self.settings_file, settings.model_copy(update={section: changed}))

    def configure(self, **wishes: Any) -> None:
        """Change the agent's config.json, as the agent or a person would."""
        path = self.home / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **wishes}))

    def of_workspace(self, **wishes: Any) -> None:
        config = json.loads((self.home / "config.json").read_text())
        for _path, project in config["projects"]:
            for workspace in project["workspaces"]:
                if workspace.get("id") == ACME:
                    workspace.update(wishes)
        (self.home / "config.json").write_text(json.dumps(config))

    def state(self, at: int = NOW - 2 * MINUTE, **fields: Any) -> None:
        """Write the state file, last changed `at`."""
        if "schemaVersion" not in fields:
            fields = {"schemaVersion": 1, **fields}
        self.state_file.write_text(json.dumps(fields, indent=2))
        touch(self.state_file, at)

    def say(self, *rows: dict[str, Any]) -> None:
        with self.chat.open("a", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row) + "\n")
        touch(self.chat, NOW - 3 * MINUTE)

    def hosted_since(self, at: int) -> None:
        """Leases are dated by real time; here the host began by the clock of the test."""
        database = sqlite3.connect(self.parts.profile.leases_database)
        with database:
            database.execute("UPDATE leases SET acquired_at_ms = ? WHERE name LIKE 'host:%'", (at,))
        database.close()

    def ask(self, **answers: Any) -> None:
        self.desk = replace(self.desk, **answers)


def answer(sequence: int, at: int, **metadata: Any) -> dict[str, Any]:
    """One row of the assistant."""
    return {
        "id": f"assistant-{at}-{sequence}",
        "role": "assistant",
        "parts": [{"type": "text", "text": "Done."}],
        "metadata": {"historySequence": sequence, "timestamp": at, **metadata},
        "workspaceId": ACME,
    }


def touch(path: Path, at: int) -> None:
    os.utime(path, ns=(at * 1_000_000, at * 1_000_000))


def close(path: Path) -> None:
    """Take the owner's right to write away."""
    path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o222)


@contextmanager
def healthy(tmp_path: Path) -> Iterator[Patient]:
    """Nothing is wrong with it; the host's lease is held meanwhile."""
    patient = Patient(sample_parts("mux-home", tmp_path))
    patient.set(enabled=True)
    own = patient.parts.home_id
    from reverie.settings import BackgroundSettings, BackgroundTable

    settings, _problems = load_settings(patient.settings_file)
    table = BackgroundTable({own: BackgroundSettings(enabled=True)})
    save_settings(patient.settings_file, settings.model_copy(update={"background": table}))
    patient.say(answer(27, NOW - 4 * MINUTE))
    patient.state(
        turnsSinceLastRun=1,
        lastRunStartedAt=NOW - 3 * MINUTE,
        lastRunCompletedAt=NOW - 3 * MINUTE + 900,
        lastRunMessageId="assistant-1",
    )
    touch(patient.memory_file, NOW - 3 * MINUTE + 800)
    with patient.parts.leases.acquire(f"host:{own}", purpose="the background services of this home"):
        patient.hosted_since(NOW - 1 * MINUTE)
        yield patient


def probing(*steps: tuple[str, str, str]) -> Callable[[str], tuple[ProbeStep, ...]]:
    return lambda _model: tuple(ProbeStep(*step) for step in steps)
