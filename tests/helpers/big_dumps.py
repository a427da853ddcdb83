"""Creates trace dumps of any size in mux's format."""

from __future__ import annotations

import json
from pathlib import Path


def big_dump(path: Path, *, events: int, text: int = 2000, message: int = 0) -> int:
    """A dump as mux writes it, with many events or one huge message before what tells the verdict."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{\n  "schemaVersion": 1,\n  "runStartedAt": 1786600000000,\n  "workspaceId": "w",')
        file.write('\n  "modelString": "a:b",\n  "timedOut": false,\n  "events": [\n')
        for number in range(events):
            event = {"historySequence": number, "role": "user", "text": 'say "x"\n' * (text // 8)}
            lines = json.dumps(event, indent=2).replace("\n", "\n    ")
            file.write(("" if number == 0 else ",\n") + "    " + lines)
        file.write('\n  ],\n  "userMessage": ' + json.dumps("é\\u" * (message // 4)) + ',\n  "attempts": [\n')
        attempt = {"attemptIndex": 1, "messages": [], "stepResults": [], "error": "overloaded_error"}
        file.write("    " + json.dumps(attempt, indent=2).replace("\n", "\n    ") + "\n  ]\n}")
    return path.stat().st_size
