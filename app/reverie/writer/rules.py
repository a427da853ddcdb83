"""The writer without a model: what the person said outright since the last run, as bullets of the file.

Two kinds of sentence count: explicit statements (the rules of the harvest, handed in as `statements`) and
corrections ("No, the port is 8081, not 8080."). What the file says already, in whatever case or punctuation,
is not said again; a sentence with a secret is left out. Nothing is ever removed. Pure but for the draft.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from reverie.agent.account import Account
from reverie.agent.asking import EngineEnd
from reverie.clock import Clock
from reverie.errors import StoreError
from reverie.text.redact import find_secrets
from reverie.writer.engine import WriterTask
from reverie.writer.memory_tools import Draft, WriterTools

MOST_BULLETS = 12
_LONGEST = 400
_CORRECTION = re.compile(
    r"^(?:no|nope|actually|wrong|correction|careful)\b[\s,.:;!–—-]+(?P<said>\S.*)$", re.IGNORECASE
)
_CONTRAST = re.compile(r",? \bnot\b |\binstead of\b|\brather than\b|\bn[o']t\b.*\bbut\b", re.IGNORECASE)
_PASSING = re.compile(
    r"\b(?:this time|for now|right now|today|tomorrow|yesterday|yet|maybe|perhaps|i think|not sure|no idea"
    r"|(?:this|that|these|those) (?:one|file|test|line|branch|commit|function|change|time))\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"\w+")


class RulesWriter:
    """Implements `writer.engine.WriterEngine`. `statements` gives the explicit statements in a message."""

    name = "rules"

    def __init__(self, statements: Callable[[str], Iterable[str]], clock: Clock) -> None:
        self._statements = statements
        self._clock = clock

    async def write(
        self, task: WriterTask, draft: Draft, tools: WriterTools, cancelled: Callable[[], bool]
    ) -> EngineEnd:
        found: list[str] = []
        for text in task.said:
            if cancelled():
                return EngineEnd("cancelled")
            found += [*self._statements(text), *corrections(text)]
        bullets = new_bullets(found, draft.text)
        if not bullets:
            tools.declined = True
            trace = _document(task, draft.original, (), None, self._clock())
            return EngineEnd("completed", account=Account(trace=trace))
        refused: StoreError | None = None
        try:
            draft.edit(lambda text: with_bullets(text, new_bullets(bullets, text), task.memory_id))
            tools.wrote = True
        except StoreError as error:
            refused = error
        trace = _document(task, draft.original, bullets, refused, self._clock())
        return EngineEnd("failed" if refused else "completed", error=refused, account=Account(trace=trace))


def corrections(text: str) -> Iterator[str]:
    """The sentences that put something right for good."""
    for line in text.splitlines():
        for sentence in _SENTENCE_END.split(" ".join(line.split())):
            match = _CORRECTION.match(sentence)
            if match is None or len(sentence) > _LONGEST or sentence.endswith(("?", ":")):
                continue
            said = match["said"]
            if len(said.split()) >= 4 and _CONTRAST.search(said) and not _PASSING.search(said):
                yield said[:1].upper() + said[1:]


def new_bullets(statements: Iterable[str], memory: str) -> list[str]:
    """What of `statements` the file does not say yet, each once."""
    known = {_folded(line) for line in memory.splitlines()}
    whole = f" {_folded(memory)} "
    found: list[str] = []
    for statement in statements:
        said = " ".join(statement.split())
        folded = _folded(said)
        if not folded or folded in known or f" {folded} " in whole or find_secrets(said):
            continue
        # What a correction says and a statement finds again is one and the same.
        if any(folded in other or other in folded for other in map(_folded, found)):
            continue
        known.add(folded)
        found.append(said)
    return found[-MOST_BULLETS:]


def with_bullets(memory: str, bullets: Iterable[str], memory_id: str) -> str:
    """The file with one bullet more for each, at its end and in its own line ends."""
    newline = "\r\n" if "\r\n" in memory else "\n"
    head = memory
    if not memory.strip():
        head = f"# {memory_id.rpartition('-')[0] or memory_id} memory{newline}{newline}"
    elif not memory.endswith("\n"):
        head = memory + newline
    return head + "".join(f"- {bullet}{newline}" for bullet in bullets)


def _document(
    task: WriterTask, memory: str, bullets: Sequence[str], refused: StoreError | None, now: int
) -> dict[str, Any]:
    """What the rules did, in the shape of a model's trace: one attempt with one call."""
    failed = None if refused is None else str(refused)
    execution = {
        "attemptIndex": 1,
        "toolName": "memory_write" if bullets else "no_new_memories",
        "input": {"old_string": "", "new_string": "\n".join(bullets)} if bullets else {},
        "output": {"success": True} if failed is None else {"success": False, "error": failed},
        "startedAt": now,
        "durationMs": 0,
    }
    attempt = {
        "attemptIndex": 1,
        "messages": [],
        "stepResults": [],
        "toolExecutions": [execution],
        "wrote": bool(bullets) and failed is None,
        "noNewMemories": not bullets,
        "aborted": False,
    }
    return {
        "schemaVersion": 1,
        "runStartedAt": now,
        "timeoutMs": task.timeout_ms,
        "workspaceId": task.workspace_id,
        "workspaceName": task.workspace_name,
        "triggerMessageId": task.message_id,
        "modelString": "rules",
        "timedOut": False,
        "didWriteMemory": attempt["wrote"],
        "satisfiedMemoryToolPolicy": failed is None,
        "systemPrompt": "",
        "existingMemory": memory,
        "userMessage": "",
        "eventsSummary": task.events.summary(),
        "events": list(task.events.items),
        "attempts": [attempt],
        "reverie": {"version": 1, "runId": task.run_id, "kind": "writer", "outcome": "completed"},
    }


def _folded(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))
