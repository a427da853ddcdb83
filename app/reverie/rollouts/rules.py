"""Stage one by fixed rules: what a person asked for, which commands ran with which exit codes, what went
wrong and what followed, which files were touched, what was preferred outright, and the outcome by evidence.

Evidence only: an outcome is `success` where the person approved, or a check ran well after the last change;
`fail` where the person rejected it, or everything after ended in errors; `partial` where something was done
and nobody checked; else `uncertain`, also where only the assistant says that it worked. Everything is
bounded, however long the rollout. Secrets go before a text is cut or split into lines: half of one, or one
without the name before it, nobody would know again. Pure over the items; `RulesStageOne` reads them on a
thread.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from reverie.agent.account import Account
from reverie.rollouts.items import Item, items_of
from reverie.rollouts.stage_one import Extracted, RolloutSource, StageOneOutput, redacted
from reverie.runs.limits import Limits
from reverie.text.counts import some
from reverie.transcripts.codex import content_text, message_text
from reverie.transcripts.reading import Reading

Outcome = Literal["success", "partial", "fail", "uncertain"]
Statements = Callable[[str], Iterator[str]]

_TASKS, _STEPS, _LINE_CHARS, _PREFERENCES = 20, 12, 160, 20
_TITLE_CHARS = 100
_LOOKED_AT_CHARS = 8_000
"""How much of a text is looked at for its one line."""
_SHELLS = ("shell", "exec", "bash", "local_shell", "container.exec", "exec_command", "unified_exec")
_PATCH = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_EXIT = re.compile(
    r"(?:exit(?:ed)?(?: with)?(?: code)?|exit_code)[\"']?\s*[:=]?\s*(-?\d{1,3})\b", re.IGNORECASE
)
_CHECK = re.compile(
    r"\b(?:tests?|pytest|jest|vitest|check|lint|ruff|mypy|tsc|build|compile|clippy|verify|cargo|make|tox)\b",
    re.IGNORECASE,
)
_APPROVED = re.compile(
    r"^\W*(?:thanks|thank you|perfect|great|works?(?: now)?\b|that works|it works|looks good|lgtm|nice"
    r"|awesome|excellent|well done|yes,? (?:that|it) works|danke|super|passt)\b",
    re.IGNORECASE,
)
_REJECTED = re.compile(
    r"^\W*(?:no[,.! ]|wrong|that(?:'s| is) (?:wrong|not)|this is (?:wrong|not)|it (?:still )?fails"
    r"|it (?:still )?does ?n.t|(?:still )?(?:broken|not working)|revert|undo that|nein[,.! ]|falsch)",
    re.IGNORECASE,
)
_GO_ON = re.compile(
    r"^\W*(?:go on|continue|ok(?:ay)?|yes|y|sure|please do|do it|weiter|ja)\W*$", re.IGNORECASE
)


@dataclass(slots=True)
class _Step:
    """One command. `code` None: nothing says how it ended. `tail`: the end of what it printed."""

    command: str
    code: int | None = None
    tail: str = ""
    last_line: str = ""
    after_change: bool = False

    def finish(self) -> None:
        """Bring both to one line; once, and only for what is told: looking for secrets takes its time."""
        self.command, self.last_line = _line(self.command), _last_line(self.tail)


@dataclass(slots=True)
class _Task:
    """One request, and what was done about it."""

    request: str
    steps: list[_Step] = field(default_factory=list)
    files: dict[str, None] = field(default_factory=dict)
    more: list[str] = field(default_factory=list)
    verdict: Literal["", "approved", "rejected"] = ""
    aborted: bool = False
    answered: bool = False

    def add(self, text: str) -> None:
        """Something more that was said about it."""
        self.more = [*self.more, text[:_LOOKED_AT_CHARS]][-_STEPS:]

    def finish(self) -> None:
        self.more = [_line(text) for text in self.more]
        for step in self.steps:
            step.finish()

    def outcome(self) -> Outcome:
        if self.verdict == "approved":
            return "success"
        if self.verdict == "rejected":
            return "fail"
        told = [step for step in self.steps if step.code is not None]
        checks = [step for step in told if _CHECK.search(step.command)]
        if checks and checks[-1].code == 0 and not self.aborted:
            # Done after the last change, or there was none: the check stands.
            return "success" if checks[-1].after_change or not self.files else "partial"
        if told and all(step.code != 0 for step in told) and not self.files:
            return "fail"
        if checks and checks[-1].code != 0:
            return "fail" if self.aborted or told[-1] is checks[-1] else "partial"
        if self.files or (told and self.aborted):
            return "partial"
        return "uncertain"


class _Reader:
    """Takes the items of a rollout in; what it holds is bounded."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self.tasks: list[_Task] = []
        self.preferences: dict[str, None] = {}
        self.requests = self.commands = 0
        self._open: dict[str, _Step] = {}

    def take(self, item: Item) -> None:
        kind = item.get("type")
        if kind == "message":
            self._said(str(item.get("role")), message_text(item))
        elif kind in ("function_call", "local_shell_call", "custom_tool_call"):
            self._called(item)
        elif isinstance(kind, str) and kind.endswith("_output"):
            self._answered(str(item.get("call_id")), item.get("output"))
        elif kind == "turn_aborted" and self.tasks:
            self.tasks[-1].aborted = True

    def _said(self, role: str, text: str) -> None:
        if role == "assistant":
            if self.tasks:
                self.tasks[-1].answered = True
            return
        self.requests += 1
        if len(self.preferences) < _PREFERENCES and next(self._statements(text), None) is not None:
            # Looking for secrets takes longer than looking for statements.
            for statement in self._statements(redacted(text)):
                if len(self.preferences) < _PREFERENCES:
                    self.preferences[_line(statement)] = None
        task = self.tasks[-1] if self.tasks else None
        if task is not None and _APPROVED.search(text):
            task.verdict = "approved"
        elif task is not None and _REJECTED.search(text):
            task.verdict = "rejected"
            task.add(text)
        elif task is not None and _GO_ON.match(text):
            return
        elif len(self.tasks) < _TASKS:
            self.tasks.append(_Task(_line(text)))
        elif task is not None:
            task.add(text)

    def _called(self, item: Item) -> None:
        task = self._task()
        name = str(item.get("name") or item.get("type"))
        told = item.get("arguments", item.get("input", item.get("action")))
        text = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
        for path in _PATCH.findall(text.replace("\\n", "\n")):
            if len(task.files) < 4 * _STEPS:
                task.files[path.strip()[:_LINE_CHARS]] = None
            for step in task.steps:
                step.after_change = False
        command = _command(told) if any(shell in name for shell in _SHELLS) else ""
        if not command or command.lstrip().startswith("apply_patch"):
            return
        self.commands += 1
        step = _Step(command[:_LOOKED_AT_CHARS], after_change=bool(task.files))
        task.steps.append(step)
        if len(task.steps) > 2 * _STEPS:
            # The first ones tell how it was begun, the last ones how it ended.
            del task.steps[_STEPS]
        self._open[str(item.get("call_id"))] = step
        if len(self._open) > 200:
            del self._open[next(iter(self._open))]

    def _answered(self, call_id: str, output: Any) -> None:
        step = self._open.pop(call_id, None)
        if step is not None:
            step.code, step.tail = _result(output)

    def _task(self) -> _Task:
        if not self.tasks:
            self.tasks.append(_Task("What was asked for is not in the rollout"))
        return self.tasks[-1]


class RulesStageOne:
    """Implements `rollouts.stage_one.StageOneEngine` without a model. `statements`: the sentences of a
    message in which a person says outright how things are to be."""

    name = "rules"

    def __init__(self, statements: Statements) -> None:
        self._statements = statements

    def account(self) -> Account:
        return Account()

    async def extract(self, source: RolloutSource, limits: Limits, tell: Callable[[str], None]) -> Extracted:
        reading = Reading()
        output = await asyncio.to_thread(
            lambda: extracted(source, items_of(source.path, reading, limits.check), self._statements)
        )
        return Extracted(output, reading, nothing=not output.trace)


def extracted(source: RolloutSource, items: Iterable[Item], statements: Statements) -> StageOneOutput:
    """The trace and its summary; both empty where nothing was said or done."""
    reader = _Reader(statements)
    for item in items:
        reader.take(item)
    for task in reader.tasks:
        task.finish()
    tasks = [task for task in reader.tasks if task.steps or task.files or task.answered or task.request]
    if not tasks:
        return StageOneOutput("", "")
    title = _line(source.title) or tasks[0].request
    branch = f", branch {source.git_branch}" if source.git_branch else ""
    lines = [
        f"# {title[:_TITLE_CHARS]}",
        "",
        f"Trace context: {source.cwd}{branch}; {some(reader.requests, 'request')}, "
        f"{some(reader.commands, 'command')}. Put together by fixed rules, without a model.",
        "",
        *_preferences(reader.preferences),
    ]
    for task in tasks:
        lines += ["", *_task_lines(task)]
    return StageOneOutput("\n".join(lines) + "\n", _summary(title, tasks))


def _preferences(found: Iterable[str]) -> list[str]:
    told = [f"- {line}" for line in found]
    return ["User preferences:", *told] if told else ["User preferences: none observed"]


def _task_lines(task: _Task) -> list[str]:
    lines = [f"## Task: {task.request[:_TITLE_CHARS]}", "", f"Outcome: {task.outcome()}", "", "Key steps:"]
    lines += _or_none(f"- `{step.command}`{_ended(step)}" for step in task.steps)
    lines += ["", "Things that did not work / things that can be improved:"]
    lines += _or_none([*(f"- Rejected: {text}" for text in task.more), *_failures(task.steps)])
    lines += ["", "Reusable knowledge:"]
    worked = dict.fromkeys(
        step.command for step in task.steps if step.code == 0 and _CHECK.search(step.command)
    )
    lines += _or_none(f"- Worked here: `{command}`" for command in worked)
    lines += ["", "Pointers and references (annotate why each item matters):"]
    return [*lines, *_or_none(f"- `{path}`: changed for this task" for path in task.files)]


def _failures(steps: list[_Step]) -> Iterator[str]:
    """Each command that failed, with what followed: the same one working later, or the next one."""
    for place, step in enumerate(steps):
        if not step.code:
            continue
        said = f": {step.last_line}" if step.last_line else ""
        later = steps[place + 1 :]
        again = next((other for other in later if other.command == step.command and other.code == 0), None)
        if again is not None:
            between = [other.command for other in later[: later.index(again)]]
            after = f" after `{between[-1]}`" if between else ""
            followed = f"; it worked later{after}"
        else:
            followed = f"; then `{later[0].command}`{_ended(later[0])}" if later else ""
        yield f"- `{step.command}` ended with {step.code}{said}{followed}"


def _summary(title: str, tasks: list[_Task]) -> str:
    outcomes = [task.outcome() for task in tasks]
    told = ", ".join(f"{outcomes.count(kind)} {kind}" for kind in dict.fromkeys(outcomes))
    files = list(dict.fromkeys(path for task in tasks for path in task.files))
    changed = f" Changed: {', '.join(files[:5])}{' and more' if len(files) > 5 else ''}." if files else ""
    return f"{title} ({some(len(tasks), 'task')}: {told}).{changed}"


def _command(told: Any) -> str:
    """The command line of a shell call, as a person would type it."""
    if isinstance(told, str):
        return told
    if not isinstance(told, dict):
        return ""
    command = told.get("command", told.get("cmd"))
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        shell = len(words) == 3 and words[0].rpartition("/")[2] in ("bash", "sh", "zsh")
        return words[2] if shell and words[1].startswith("-") else " ".join(words)
    return command if isinstance(command, str) else ""


def _result(output: Any) -> tuple[int | None, str]:
    """The exit code, where something says it, and the end of what was printed."""
    failed: int | None = None
    if isinstance(output, dict):
        if isinstance(output.get("output"), str):
            about = output.get("metadata")
            code = about.get("exit_code") if isinstance(about, dict) else None
            return (code if isinstance(code, int) else None), output["output"][-_LOOKED_AT_CHARS:]
        failed, output = (1 if output.get("success") is False else None), output.get("content")
    text: str = content_text(output)
    found = _EXIT.search(text[:500]) or _EXIT.search(text[-500:])
    return (int(found[1]) if found else failed), text[-_LOOKED_AT_CHARS:]


def _last_line(text: str) -> str:
    return next((_line(line) for line in reversed(redacted(text).splitlines()) if line.strip()), "")


def _ended(step: _Step) -> str:
    return "" if step.code is None else f" (exit {step.code})"


def _or_none(lines: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(lines))[: 2 * _STEPS] or ["- none"]


def _line(text: str) -> str:
    folded = " ".join(redacted(text[:_LOOKED_AT_CHARS]).split()).replace("`", "'")
    return folded if len(folded) <= _LINE_CHARS else folded[: _LINE_CHARS - 1] + "…"
