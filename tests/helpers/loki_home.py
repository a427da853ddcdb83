"""A loki-mode project made by code: episodes of every shape, both stores of patterns, skills, notes, crash
records, ledgers, handoffs, namespaces and what lies around (formats/loki.md sections 1 to 12 and 15)."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

NOON = 1_787_140_800_000
"""2026-08-19T12:00:00Z in ms."""
FINGERPRINT = "d9e1058f4fe38c84f10d37c9c5b28c6cdf9bd664ce3b98a2c54106b8349f0af4"


def iso(text: str) -> int:
    """ms of a date."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def error(kind: str = "IterationError", message: str = "phase=ACT; exit=1", resolution: str = "") -> Any:
    return {"type": kind, "message": message, "resolution": resolution}


class LokiMaker:
    """Builds the store of one project step by step."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.store = project / ".loki"
        self.memory = self.store / "memory"
        project.mkdir(parents=True, exist_ok=True)

    def file(self, rel: str, content: str | bytes) -> Path:
        path = self.store / rel
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def json(self, rel: str, value: Any) -> Path:
        return self.file(rel, json.dumps(value, indent=2))

    def episode(
        self,
        number: int | str,
        timestamp: Any = "2026-08-19T10:00:00.000000Z",
        *,
        day: str = "",
        outcome: Any = "failure",
        errors: Any = None,
        name: str = "",
        **fields: Any,
    ) -> Path:
        """An episode; `errors` None: one that names its number."""
        day = day or str(timestamp)[:10]
        record = {
            "id": f"ep-{day}-{number}",
            "task_id": f"iteration-{number}",
            "timestamp": timestamp,
            "context": {"phase": "ACT", "goal": "Publish the timetable", "files_involved": []},
            "outcome": outcome,
            "errors_encountered": [error(message=f"no {number}")] if errors is None else errors,
            **fields,
        }
        return self.json(f"memory/episodic/{day}/{name or f'task-ep-{day}-{number}'}.json", record)

    def crash(self, at_s: int, **fields: Any) -> Path:
        record = {
            "error_class": "IterationError",
            "stack_signature": [],
            "fingerprint": FINGERPRINT,
            "rules_version": "1.0",
            "redactions_count": 0,
            "captured_at": datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            **fields,
        }
        path = self.json(f"crash/{record['fingerprint']}-{at_s}.json", record)
        os.utime(path, (at_s, at_s))
        return path

    def patterns(self, *records: Any, name: str = "patterns") -> Path:
        key = "patterns" if name == "patterns" else "anti_patterns"
        return self.json(f"memory/semantic/{name}.json", {key: list(records)})

    def anti_pattern(self, number: int, *, what: str = "", correct: str = "", **fields: Any) -> Any:
        return {
            "id": f"sem-{number:08x}",
            "pattern": "Avoid: IterationError",
            "category": "anti-pattern",
            "conditions": ["When encountering: IterationError"],
            "correct_approach": correct,
            "incorrect_approach": what,
            "confidence": 0.5,
            "source_episodes": [],
            "usage_count": 0,
            "links": [],
            **fields,
        }

    def everything(self) -> None:
        """Every case of the sheet's checklist."""
        self.episode(1)
        self.episode(2, "2026-08-18T09:00:00+00:00", outcome="success", errors=[])
        self.episode(3, "2026-08-17T09:00:00", outcome="partial", errors=[error("Odd", "", "done")])
        self.episode(4, "", day="2026-08-16", importance=0.0, access_count=-3)
        self.episode(5, "yesterday", day="2026-08-15", importance=None, access_count="many")
        self.episode(6, "../../etc", day="2026-08-14", id="../../../evil", last_accessed="never")
        self.json("memory/episodic/2026-08-13/task-null.json", {"id": None, "context": None, "outcome": None})
        self.json("memory/episodic/2026-08-13/task-list.json", [1, 2])
        self.json("memory/episodic/2026-08-13/task-true.json", True)
        self.json("memory/episodic/2026-08-13/index.json", {"episodes": []})
        self.file("memory/episodic/2026-08-12/task-empty.json", "")
        self.file("memory/episodic/2026-08-12/task-torn.json", '{"id": "ep-')
        self.file("memory/episodic/2026-08-12/task-latin.json", '{"id": "ép"}'.encode("latin-1"))
        self.episode(7, "2026-08-12T08:00:00Z")
        self.episode(8, "2026-08-11T08:00:00Z", day="older", name="task-a:b.c")
        self.patterns(
            {"id": "sem-1", "pattern": "Stream tables", "confidence": None, "source_episodes": None},
            "scalar",
            None,
            self.anti_pattern(2, what="collect all rows", mine={"kept": [1, 2.50]}),
            self.anti_pattern(3),
            self.anti_pattern(4),
            {
                "id": "sem-1",
                "pattern": "The same id again",
                "links": [{"to": "sem-2", "relation": "supports"}],
            },
        )
        self.patterns(
            {"id": "anti-1", "what_fails": "guessing", "why": "it is wrong", "prevention": "read"},
            {"id": "sem-00000002", "what_fails": "the same id"},
            {"what_fails": "Collect  ALL rows", "why": "", "prevention": ""},
            7,
            name="anti-patterns",
        )
        skill = {
            "id": "skill-fix",
            "name": "Fix_it now",
            "steps": ["one", None],
            "common_errors": [{"error": "e"}],
        }
        self.json("memory/skills/fix-it-now.json", skill)
        self.json("memory/skills/Fix_it_now.json", skill)
        self.json("memory/skills/deeper/other.json", {"name": "Deeper"})
        self.file("memory/skills/fix-it-now.md", "# Skill: Fix_it now\n")
        self.json("memory/index.json", {"version": "1.0", "topics": [{"id": "act", "type": "pattern"}, 3]})
        self.json("memory/timeline.json", {"version": "1.1.0", "recent_actions": [{"action": "x"}, None]})
        self.json(
            "memory/token_economics.json", {"discoveryTokens": 1, "readTokens": 2, "savingsPercent": 3.5}
        )
        self.json("memory/namespaces.json", {"shop": {"created_at": "2026-08-01T00:00:00+00:00Z"}})
        self.json("memory/handoffs/20260819-100000.json", {"reason": "limit", "open_questions": ["why?"]})
        self.file("memory/handoffs/20260819-100000.md", "# Handoff\n")
        self.file("memory/ledgers/LEDGER-1.md", "# Ledger\n")
        self.file("memory/decisions.md", "# Decisions\n")
        self.file("memory/failures.jsonl", '{"gate": "coverage", "verdict": "FAIL"}\nnot json\n')
        self.json("memory/shop/episodic/2026-08-19/task-ep-shop.json", {"id": "ep-shop", "goal": "Sell"})
        self.file("memory/semantic/patterns.json.lock", "")
        self.file("memory/semantic/.tmp_abc.json", "{")
        self.file("memory/.errors.log", "now\tf\tOSError\tx\ty\n")
        self.file("memory/.consolidation.lock", "")
        self.file("memory/vectors/semantic_index.json", "{}")
        self.crash(1_787_052_600)
        self.crash(1_787_052_700)
        self.json("crash/scruberror-1787052800.json", {"error_class": "ScrubError", "rules_version": "1.0"})
        self.file("crash/broken.json", "{")
        self.json(
            "state/claude-session.json", {"claude_session_uuid": "0198a1b2-c3d4-7e5f-8a9b-000000000001"}
        )
        self.json("state/LAST_ERROR.json", {"iteration": 3, "error_class": "rate_limited"})
