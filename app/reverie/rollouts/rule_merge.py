"""Stage two by fixed rules: what the traces of a directory say, brought together under a few headings.

Newest first, each statement once. Statements of the handbook as it was stay after the newer ones, so that
what older traces taught survives their pruning; sections of a person's own stay as they are, and so do
skills. Pure, but for going through the guard. Merging what was merged changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from reverie.agent.account import Account
from reverie.errors import StoreError
from reverie.homes.scopes import Scope
from reverie.memory.paths import memory_path
from reverie.rollouts.artifacts import HANDBOOK, INDEX, body_of, parse_header
from reverie.rollouts.sizes import cut_summary
from reverie.rollouts.stage_two import StageTwoGuard, Staging, Trace
from reverie.runs.limits import Limits
from reverie.text.counts import some

_TITLE = "# Memory"
_PREFERENCES = "## User preferences"
_TASKS = "## Tasks so far"
_KNOWLEDGE = "## Reusable knowledge"
_FAILURES = "## What did not work"
_POINTERS = "## Pointers"
_OURS = (_PREFERENCES, _TASKS, _KNOWLEDGE, _FAILURES, _POINTERS)
_MOST = 60
_NOTHING = re.compile(
    r"^(?:none(?: observed)?\.?|see the raw trace notes\.?|none told apart\.?)$", re.IGNORECASE
)
_SOURCES = (
    ("User preferences:", _PREFERENCES),
    ("Reusable knowledge:", _KNOWLEDGE),
    ("Things that did not work", _FAILURES),
    ("Pointers and references", _POINTERS),
)
_OTHER_LABELS = ("Trace context:", "Key steps:", "Outcome:")


class RulesMerge:
    """Implements `rollouts.stage_two.StageTwoEngine` without a model."""

    name = "rules"

    def account(self) -> Account:
        return Account()

    async def consolidate(
        self, staging: Staging, guard: StageTwoGuard, limits: Limits, tell: Callable[[str], None]
    ) -> str:
        limits.check()
        staging.keep_skills()
        text = merged(staging.traces, staging.previous or "")
        path = str(memory_path(Scope.PROJECT, HANDBOOK))
        answer = guard.execute({"command": "create", "path": path, "file_text": text})
        if not answer["success"]:
            raise StoreError(f"{HANDBOOK} was not written.", cause=str(answer["error"]))
        count = sum(trace.rel != INDEX for trace in staging.traces)
        return f"{HANDBOOK} was put together from {some(count, 'trace')}."


def merged(traces: Sequence[Trace], previous: str) -> str:
    """The handbook."""
    sections: dict[str, list[str]] = {heading: [] for heading in _OURS}
    files = [trace for trace in traces if trace.rel != INDEX]
    for trace in sorted(files, key=lambda each: (-_when(each), each.rel)):
        for heading, lines in _statements(trace).items():
            sections[heading] += lines
    current = {f"`{trace.rel}`" for trace in files}
    own: list[str] = []
    for heading, lines in _sections(previous):
        if heading in sections:
            # What a trace that is still there says counts as it says it now.
            sections[heading] += [
                line
                for line in lines
                if line.startswith("- ") and not (heading == _TASKS and any(rel in line for rel in current))
            ]
        elif heading:
            own += ["", heading, *_stripped(lines)]
    parts = [_TITLE]
    for heading in _OURS:
        kept = _once(sections[heading])[:_MOST]
        if kept:
            parts += ["", heading, "", *kept]
    if len(parts) == 1:
        parts += ["", "Nothing is known yet."]
    return "\n".join([*parts, *own]) + "\n"


def _statements(trace: Trace) -> dict[str, list[str]]:
    """The bullet lines of a trace, by the heading they belong under."""
    found: dict[str, list[str]] = {heading: [] for heading in _OURS}
    heading = ""
    for line in body_of(trace.text.encode()).splitlines():
        label = line.strip()
        if label.startswith("#"):
            heading = ""
            if label.startswith("## Task:"):
                found[_TASKS].append(f"- {label.removeprefix('## Task:').strip()} (`{trace.rel}`)")
            continue
        for begin, belongs in _SOURCES:
            if label.startswith(begin):
                heading, rest = belongs, label.partition(":")[2].strip()
                if rest and not _NOTHING.match(rest):
                    found[belongs].append(f"- {rest}")
                break
        else:
            if label.startswith(_OTHER_LABELS):
                heading = ""
                if label.startswith("Outcome:") and found[_TASKS]:
                    found[_TASKS][-1] += f": {label.removeprefix('Outcome:').strip()}"
            elif heading and label.startswith(("- ", "* ")) and not _NOTHING.match(label[2:].strip()):
                found[heading].append(cut_summary(f"- {label[2:].strip()}"))
    return found


def _sections(text: str) -> Iterable[tuple[str, list[str]]]:
    """Headings of the second level with their lines; what stands before the first has none."""
    heading, lines = "", list[str]()
    for line in text.splitlines():
        if line.startswith("## "):
            yield heading, lines
            heading, lines = line.strip(), []
        else:
            lines.append(line)
    yield heading, lines


def _stripped(lines: Sequence[str]) -> list[str]:
    """Without the blank lines at the end."""
    kept = list(lines)
    while kept and not kept[-1].strip():
        kept.pop()
    return kept


def _once(lines: Iterable[str]) -> list[str]:
    found: dict[str, str] = {}
    for line in lines:
        found.setdefault(" ".join(line.casefold().split()), line)
    return list(found.values())


def _when(trace: Trace) -> int:
    return parse_header(trace.text.encode()).updated_at or 0
