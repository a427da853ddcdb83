"""Stage two: the traces (texts about rollouts) of a directory become its handbook, `MEMORY.md`, and skills.

Rules: formats/codex.md section 2. The work is done on a staging copy without `MEMORY.md`, `consolidated.md`
and `skills/`; success replaces all three at once, failure leaves them unchanged. `StageTwoGuard` enforces the
rules: only those files may be written; files of phase one change only by added cross-references and are never
deleted or renamed; pinned and write-protected files stay. Nothing here writes to the home. Not thread-safe:
each run has its own staging copy.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from reverie.agents.base import Home
from reverie.agents.scopes import EDITABLE, FileRule, Scope, ScopeContext, ScopeRoot
from reverie.errors import Conflict, StoreError, UserError
from reverie.files.atomic import is_write_protected
from reverie.files.rooted import RootedDirectory
from reverie.jobs.extraction.layout import (
    HANDBOOK,
    INDEX,
    OLD_HANDBOOK,
    SKILLS,
    TRACES,
    body_of,
    cut_summary,
    is_phase_one,
    parse_header,
)
from reverie.jobs.extraction.stage_one import PromptEvidence
from reverie.jobs.model_work import ModelWork, last_line, steps_to
from reverie.llm.client import Account
from reverie.llm.loop import AgentLimits
from reverie.llm.memory_tool import memory_spec, memory_tool
from reverie.llm.prompts import prompt_words
from reverie.llm.vault import Vault
from reverie.memory.change_listener import NoChangeListener
from reverie.memory.commands import MemoryCommands
from reverie.memory.paths import MemoryPath, memory_path
from reverie.memory.scope_files import FileChange, OverlayFiles, in_order
from reverie.memory.store import MemoryStore
from reverie.memory.usage_rules import MemoryUsage
from reverie.runs.guard import Guard, Rails
from reverie.runs.stops import StopCheck
from reverie.text.summaries import some
from reverie.values import Struct, replace

BUDGET = 40
_REFERENCE = re.compile(r"^\s*(?:[-*]\s+)?see(?: also)?\b.{1,300}$", re.IGNORECASE)
_NAMED = re.compile(r"`([^`\n]+)`|\]\(([^)\s]+)\)")


class DirectoryTrace(Struct, frozen=True):
    """A file of the directory: a trace (a text about a rollout), or the index of the traces."""

    rel: str
    text: str


class _AllEditable:
    """A home in which every file is editable, for the copy in which stage two works.

    The copy also changes files that the agent generates. `StageTwoGuard` restricts the changes instead.
    """

    def __init__(self, home: Home) -> None:
        self._home = home

    def __getattr__(self, name: str) -> Any:
        return getattr(self._home, name)

    def file_rule(self, _root: ScopeRoot, _rel: str) -> FileRule:
        return EDITABLE


class Staging:
    """The copy of one directory's memory that stage two works on, and that becomes its new content."""

    def __init__(
        self, home: Home, context: ScopeContext, root: ScopeRoot, usage: Mapping[str, MemoryUsage], cwd: str
    ) -> None:
        self.cwd = cwd
        self.root = root
        self.caps = home.caps
        self._files = OverlayFiles(RootedDirectory(root.directory))
        self._pinned = {
            entry.rel
            for entry in self._files.walk().entries
            if usage.get(home.usage_key(root, entry.rel) or "", MemoryUsage()).pinned
        }
        self.write_protected: list[str] = []
        """Names of write-protected files; they stay in the copy, which refuses to change them."""
        self.previous = self._taken(HANDBOOK)
        """The text of the handbook before the run; None if there was none."""
        self._taken(OLD_HANDBOOK)
        self._with_skills = self._files.savepoint()
        for entry in self._files.walk().entries:
            if entry.rel.startswith(f"{SKILLS}/") and entry.kind == "file":
                self._taken(entry.rel)
        self.traces = tuple(
            DirectoryTrace(entry.rel, self.text(entry.rel) or "")
            for entry in self._files.walk().entries
            if entry.kind == "file" and is_phase_one(entry.rel) and entry.size <= self.caps.file_bytes
        )
        store = MemoryStore(
            cast(Home, _AllEditable(home)), context, lambda _root: self._files, NoChangeListener()
        )
        self.guard = StageTwoGuard(self, MemoryCommands(store, count_reads=False))

    def is_protected(self, path: MemoryPath) -> bool:
        """Return True if `path` or anything below it is pinned."""
        return any(rel == path.rel or rel.startswith(f"{path.rel}/") for rel in self._pinned)

    def keep_skills(self) -> None:
        """Restore the old skills in the copy. Call this before anything is written."""
        self._files.rollback(self._with_skills)

    def exists(self, rel: str) -> bool:
        """Return True if `rel` is a file or directory of the copy; `rel` may be any text."""
        try:
            return self._files.entry(rel) is not None
        except UserError:
            return False

    def text(self, rel: str) -> str | None:
        """Return the text of the file at the relative path `rel` in the copy; None if it does not exist."""
        if self._files.entry(rel) is None:
            return None
        return self._files.read(rel).decode("utf-8", "replace")

    def fingerprint(self) -> str:
        """Return a hash of the traces and the handbook.

        If there is no new handbook, the previous one is used.
        """
        digest = hashlib.sha256()
        for rel in sorted(trace.rel for trace in self.traces):
            digest.update(f"{rel}\0{self.text(rel)}\0".encode("utf-8", "surrogateescape"))
        digest.update((self.text(HANDBOOK) or self.previous or "").encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def require_current(self) -> None:
        """Raise `Conflict` if a trace was changed or deleted on disk since the copy was made.

        For example, reverting a run deletes its trace; a handbook made from that trace would restore its
        content.
        """
        files = RootedDirectory(self.root.directory)
        for trace in self.traces:
            if trace.rel == INDEX:
                continue  # a line that another extraction added is harmless
            now = None if files.entry(trace.rel) is None else files.read(trace.rel)
            if now is None or now.decode("utf-8", "replace") != trace.text:
                raise Conflict(
                    f"{trace.rel} changed during the consolidation.", next_step="The next run will try again."
                )

    def undoing(self) -> Callable[[], None]:
        """Return a function that undoes every change made to the copy after this call."""
        savepoint = self._files.savepoint()
        return lambda: self._files.rollback(savepoint)

    def wrong_reference(self) -> str:
        """Return why the changes of the traces and the index are not allowed; empty if they are.

        Only cross-references may be added (`references_problem`).
        """
        changed = [each for each in self._files.changes(self.root) if is_phase_one(each.rel)]
        texts = (
            ((each.before or b"").decode("utf-8", "replace"), (each.after or b"").decode("utf-8", "replace"))
            for each in changed
        )
        return next(filter(None, (references_problem(before, after, self) for before, after in texts)), "")

    def changes(self) -> Sequence[FileChange]:
        """Return the changes of the copy, in the order in which they can be carried out.

        Raises `StoreError` if there is no handbook.
        """
        if not (self.text(HANDBOOK) or "").strip():
            raise StoreError(
                f"{HANDBOOK} could not be written.",
                cause="The consolidation ended without writing the file.",
                next_step="The earlier file is unchanged. Run the consolidation again, or use another model.",
                reason="no-handbook",
            )
        # New files get the agent's own mode.
        return in_order(replace(each, mode=None) for each in self._files.changes(self.root))

    def emptied(self) -> tuple[tuple[ScopeRoot, str], ...]:
        """Return the directories of skills to remove once they are empty, deepest first."""
        found = [
            entry.rel
            for entry in RootedDirectory(self.root.directory).walk().entries
            if entry.kind == "directory" and f"{entry.rel}/".startswith(f"{SKILLS}/")
        ]
        return tuple((self.root, rel) for rel in sorted(found, key=lambda rel: (-rel.count("/"), rel)))

    def _taken(self, rel: str) -> str | None:
        """Return the text of a file, None if there is none; remove the file from the copy.

        A file that is pinned or write-protected is not removed. The handbook is removed even if it is pinned;
        if it is write-protected, this raises `StoreError`.
        """
        entry = self._files.entry(rel)
        if entry is None or entry.kind != "file":
            return None
        text = self.text(rel)
        if rel != HANDBOOK and is_write_protected(entry.mode):
            self.write_protected.append(rel)
        elif rel not in self._pinned or rel == HANDBOOK:
            self._files.remove(rel)
        return text


class StageTwoGuard(Guard):
    """The guard through which an engine changes the staging copy.

    It also refuses every change of a file of phase one but added cross-references.
    """

    def __init__(self, staging: Staging, commands: MemoryCommands) -> None:
        rails = Rails(frozenset({Scope.PROJECT}), BUDGET, staging.is_protected, kept=_kept)
        super().__init__(commands, rails)
        self._staging = staging

    def execute(self, request: Mapping[str, Any], *, reason: str = "", free: bool = False) -> dict[str, Any]:
        """Execute one request as `Guard` does; undo and refuse it if it leaves a wrong cross-reference."""
        undo, position = self._staging.undoing(), len(self.ops)
        answer = super().execute(request, reason=reason, free=free)
        problem = self._staging.wrong_reference() if answer["success"] else ""
        if problem:
            undo()
            self.withdraw(position, problem)
            return {"success": False, "error": problem}
        return answer


def _kept(command: str, path: MemoryPath) -> str:
    """Return why a command must not change `path`, as a sentence; empty if it may."""
    if path.is_scope_root:
        return "The whole memory of the directory is out of bounds."
    if is_phase_one(path.rel) or path.rel == TRACES:
        if command in ("insert", "str_replace"):
            return ""
        return f"{path} was made by phase one: it stays, and only cross-references may be added."
    if path.rel in (HANDBOOK, SKILLS) or path.rel.startswith(f"{SKILLS}/"):
        return ""
    return f"Only {memory_path(Scope.PROJECT, HANDBOOK)} and files in {SKILLS}/ may be written."


def references_problem(before: str, after: str, staging: Staging) -> str:
    """Return the reason why a text must not change from `before` to `after`; empty if it may.

    Only cross-references and blank lines may be added. A cross-reference is a line `See also: ...` below the
    header of the text that names a file in `staging`.
    """
    added = _added_lines(before, after)
    if added is None:
        return "Lines that phase one wrote may not be changed or removed; only cross-references may be added."
    body = after.split("\n").index("") if "" in after.split("\n") else 0
    for number, line in added:
        if not line.strip():
            continue
        names = [code or link for code, link in _NAMED.findall(line)]
        if not _REFERENCE.match(line) or not any(map(staging.exists, names)):
            return "Only lines such as `See also: `MEMORY.md`` that name a file which is there may be added."
        if number < body:
            return "Cross-references belong below the header."
    return ""


def _added_lines(before: str, after: str) -> list[tuple[int, str]] | None:
    """Return the lines that `after` adds to `before`, with their numbers.

    None if a line of `before` is missing or was moved.
    """
    wanted = before.split("\n")
    position = 0
    added = []
    for number, line in enumerate(after.split("\n")):
        if position < len(wanted) and line == wanted[position]:
            position += 1
        else:
            added.append((number, line))
    return added if position == len(wanted) else None


_TITLE = "# Memory"
_EMPTY = "Nothing is known yet."
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
    """The rules engine of stage two, which makes the handbook without a model."""

    name = "rules"

    def account(self) -> Account:
        """Return an empty account, since rules cost nothing and have no trace."""
        return Account()

    async def consolidate(
        self, staging: Staging, guard: StageTwoGuard, limits: StopCheck, tell: Callable[[str], None]
    ) -> str:
        """Assemble the handbook from the traces; see `StageTwoEngine`."""
        limits.check()
        staging.keep_skills()
        text = merged(staging.traces, staging.previous or "")
        path = str(memory_path(Scope.PROJECT, HANDBOOK))
        answer = guard.execute({"command": "create", "path": path, "file_text": text})
        if not answer["success"]:
            raise StoreError(f"{HANDBOOK} could not be written.", cause=str(answer["error"]))
        count = sum(trace.rel != INDEX for trace in staging.traces)
        return f"{HANDBOOK} was assembled from {some(count, 'trace')}."


def merged(traces: Sequence[DirectoryTrace], previous: str) -> str:
    """Return the handbook: the statements of the traces, newest first, merged into `previous`.

    A trace is the text about one conversation. Each statement occurs once.

    Everything in `previous` is preserved: text before its sections, a person's own sections, text in
    generated sections that is not a statement, and older statements, so that knowledge from old traces
    survives their pruning. Merging twice changes nothing.
    """
    sections: dict[str, list[str]] = {heading: [] for heading in _OURS}
    files = [trace for trace in traces if trace.rel != INDEX]
    for trace in sorted(files, key=lambda each: (-_when(each), each.rel)):
        for heading, lines in _statements(trace).items():
            sections[heading] += lines
    current = {f"`{trace.rel}`" for trace in files}
    own, first = list[str](), list[str]()
    texts: dict[str, list[str]] = {heading: [] for heading in _OURS}
    for heading, lines in _sections(previous):
        if heading in sections:
            text, statements = _text_and_statements(lines)
            texts[heading] += text
            # Tasks of existing traces are taken from the traces, in their present wording.
            sections[heading] += [
                each for each in statements if heading != _TASKS or not any(rel in each for rel in current)
            ]
        elif heading:
            own += ["", heading, *_stripped(lines)]
        else:
            first = _stripped([line for line in lines if line != _EMPTY])
    titled = next((line.startswith("# ") for line in first if line.strip()), False)
    parts = first if titled else _stripped([_TITLE, "", *first])
    known = False
    for heading in _OURS:
        kept = [*texts[heading], *_once(sections[heading])[:_MOST]]
        if kept:
            known, parts = True, [*parts, "", heading, "", *kept]
    if not known:
        parts = [*parts, "", _EMPTY]
    return "\n".join([*parts, *own]) + "\n"


def _text_and_statements(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the lines of a section into the lines before its first statement, and its statements.

    A statement includes its continuation lines.
    """
    text, statements = list[str](), list[str]()
    for line in lines:
        if line.startswith("- "):
            statements.append(line)
        elif statements:
            statements[-1] += f"\n{line}"
        elif line.strip() or text:
            text.append(line)
    return [*_stripped(text), *([""] if text and statements else [])], [each.rstrip() for each in statements]


def _statements(trace: DirectoryTrace) -> dict[str, list[str]]:
    """Return the bullet lines of a trace by the heading of the handbook under which they belong."""
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
    """Yield each second-level heading with its lines; text before the first one has an empty heading."""
    heading, lines = "", list[str]()
    for line in text.splitlines():
        if line.startswith("## "):
            yield heading, lines
            heading, lines = line.strip(), []
        else:
            lines.append(line)
    yield heading, lines


def _stripped(lines: Sequence[str]) -> list[str]:
    """Return the lines without blank lines at the end."""
    end = max((number for number, line in enumerate(lines, 1) if line.strip()), default=0)
    return list(lines[:end])


def _once(lines: Iterable[str]) -> list[str]:
    """Return the lines without repetitions that differ only in case or white space."""
    found: dict[str, str] = {}
    for line in lines:
        found.setdefault(" ".join(line.casefold().split()), line)
    return list(found.values())


def _when(trace: DirectoryTrace) -> int:
    return parse_header(trace.text.encode()).updated_at or 0


HANDBOOK_STEPS = 48


def consolidation_system(guard: StageTwoGuard, staging: Staging, marks: PromptEvidence) -> str:
    """Return the system prompt of stage two, with the limits rendered from the guard's own values."""
    rails = (
        "Limits of this run, which the tool enforces:\n"
        f"- Written may be /memories/project/{HANDBOOK} and files in /memories/project/{SKILLS}/; "
        "nothing else.\n"
        f"- At most {guard.rails.budget} changes; one that fails counts too. Viewing is free.\n"
        f"- A file holds at most {staging.caps.file_bytes:,} bytes."
    )
    return (
        f"{prompt_words('rollout-consolidate').strip()}\n\n{rails}\n\n{marks.explained('Text of memories')}\n"
    )


def consolidation_task(staging: Staging, marks: PromptEvidence) -> str:
    """Return the user message of stage two: the full index, and names and sizes of the traces.

    A trace is the text about one conversation.
    """
    index = next((trace.text for trace in staging.traces if trace.rel == INDEX), "")
    files = [
        f"/memories/project/{trace.rel} ({len(trace.text.encode()):,} bytes)"
        for trace in staging.traces
        if trace.rel != INDEX
    ]
    directory = marks.around("\n".join([f"cwd: {staging.cwd}", "", index, *files]))
    return f"Write the handbook of this directory.\n\n{directory}\n"


class ModelStageTwo(ModelWork):
    """The model engine of stage two.

    Its memory commands go through the guard, which checks them against the rules. The model gets tokens in
    place of secrets (`llm.vault`). Failure: as in `jobs.model_work`.
    """

    kind = "consolidate"

    async def consolidate(
        self, staging: Staging, guard: StageTwoGuard, limits: StopCheck, tell: Callable[[str], None]
    ) -> str:
        """Let the model write the handbook and skills; see `StageTwoEngine`."""
        marks, vault = PromptEvidence.random(), Vault()
        for trace in staging.traces:
            limits.check()
            vault.learn(trace.text)
        tell("")
        tool = memory_spec(" ".join(prompt_words("rollout-tool").split()))
        result = await self._ask(
            limits,
            AgentLimits(HANDBOOK_STEPS, limits.deadline),
            vault,
            system=consolidation_system(guard, staging, marks),
            task=consolidation_task(staging, marks),
            tools=[memory_tool(guard, tool, marks, budget=guard.rails.budget)],
            observer=steps_to(tell),
        )
        return last_line(result.text) or "The handbook was written."


StageTwoEngine = RulesMerge | ModelStageTwo
"""The engine of stage two for one directory.

`consolidate` writes the handbook and skills into the copy through `guard`, which checks each change, and
returns a summary; its argument `tell` receives progress texts. It raises the `UserError` family, `Cancelled`,
`TimedOut`. `account` returns the usage so far and the trace, both empty for rules; it may be called at any
time, also after a failure.
"""
