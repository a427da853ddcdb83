"""One update of session notes: sections, draft, input, and the two engines, a model and the built-in rules.

An engine changes nothing but the draft. Everything that is sent to a model goes through a vault, so no secret
leaves the machine. The functions on sections are pure (formats/claude-code.md section 3).

Threading: one run, one event loop. Failure: reported in the `EngineResult`.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Protocol

from reverie.agents.reading import as_object, objects_of
from reverie.agents.transcripts import Message
from reverie.clock import Clock
from reverie.errors import StoreError, UserError
from reverie.files.rooted import RootedDirectory
from reverie.jobs.model_work import FileDraft, in_newline_style
from reverie.llm.client import Account, EngineResult, ModelClient, end_of
from reverie.llm.loop import AgentLimits
from reverie.llm.prompts import between, prompt_words, random_mark
from reverie.llm.provider import ProviderError, ToolCall, ToolOutcome
from reverie.llm.tools import FunctionTool, tool_spec
from reverie.llm.trace import Trace, TraceHead
from reverie.llm.vault import Vault
from reverie.text.redact import find_secrets, redact
from reverie.text.summaries import between_words, some, utf16_length
from reverie.values import Struct, replace

SECTION_TOKENS = 2_000
TOTAL_TOKENS = 12_000

ProblemKind = Literal["empty", "missing", "order", "description", "long-section", "long-file"]


class Section(Struct, frozen=True):
    """One section of the notes."""

    name: str
    description: str
    """The italic line below the header; empty if there is none."""
    body: str
    """The text after the header and the description."""
    start: int
    """The offset of the body in the text."""
    end: int
    """The offset of the end of the body in the text."""
    line: int
    """The number of the header's line, from 0."""

    @property
    def tokens(self) -> int:
        """The estimated number of tokens of description and body."""
        return rough_tokens(f"{self.description}\n{self.body}".strip())


class NotesProblem(Struct, frozen=True):
    """A problem in the notes that a person may want to fix."""

    kind: ProblemKind
    section: str = ""
    """The header of the section; empty if the problem concerns the whole file."""
    tokens: int = 0
    """The estimated number of tokens, if the text is too long."""
    line: int = 1
    """The line (from 1) of the problem, or the line after which a missing section belongs."""

    @property
    def most(self) -> int:
        """The number of tokens that the agent reads of this section or file."""
        return TOTAL_TOKENS if self.kind == "long-file" else SECTION_TOKENS


def rough_tokens(text: str) -> int:
    """Return the agent's estimate of tokens: a quarter of the UTF-16 length, rounded half up."""
    return (utf16_length(text) + 2) // 4


def parse_sections(text: str) -> tuple[Section, ...]:
    """Return every section in order, without the text before the first one.

    A section begins at any line that begins with `# `, also inside a code fence, because the agent reads it
    that way.
    """
    found: list[Section] = []
    name = description = ""
    begin = line_begin = 0
    offset, after_header, inside = 0, False, False

    def close(end: int) -> None:
        if inside:
            found.append(Section(name, description, text[begin:end], begin, end, line_begin))

    for number, line in enumerate(re.findall(r"[^\n]*\n|[^\n]+", text)):
        bare = line.rstrip("\r\n")
        if bare.lstrip("\ufeff").startswith("# ") if not offset else bare.startswith("# "):
            close(offset)
            name, description, inside, after_header = bare.lstrip("\ufeff").rstrip(), "", True, True
            begin, line_begin = offset + len(line), number
        elif after_header:
            after_header = False
            stripped = bare.strip()
            if len(stripped) > 1 and stripped.startswith("_") and stripped.endswith("_"):
                description, begin = stripped, offset + len(line)
        offset += len(line)
    close(len(text))
    return tuple(found)


def structure_of(text: str) -> tuple[tuple[str, str], ...]:
    """Return the headers with their descriptions, which an update must not change."""
    return tuple((section.name, section.description) for section in parse_sections(text))


def structure_break(before: str, after: str) -> str:
    """Return a sentence, for people and models, that describes how an update changed the structure.

    Empty if these are unchanged: the headers, including trailing spaces, their order, the descriptions, and
    the text above the first header.
    """
    old, new = structure_of(before), structure_of(after)
    if old == new:
        if old and _preamble(before) != _preamble(after):
            return "The text above the first header was changed."
        return "" if _headers(before) == _headers(after) else "The spaces behind a header were changed."
    names, now = [name for name, _ in old], [name for name, _ in new]
    for name in names:
        if now.count(name) < names.count(name):
            return f"The header {name[:80]!r} is gone."
    for name in now:
        if now.count(name) > names.count(name):
            return f"There is a header {name[:80]!r} that was not there."
    if names != now:
        return "The sections stand in another order."
    changed = next(name for (name, before), (_, said) in zip(old, new, strict=True) if before != said)
    return f"The description under {changed[:80]!r} was changed."


def _headers(text: str) -> list[str]:
    """Return the headers with their trailing spaces."""
    return re.findall(r"^\ufeff?(# [^\r\n]*)", text, re.MULTILINE)


def _preamble(text: str) -> str:
    """Return the text above the first header, without surrounding white space."""
    match = re.search(r"^\ufeff?# ", text, re.MULTILINE)
    return text[: match.start() if match else 0].strip()


def problems_of(text: str, template: str) -> tuple[NotesProblem, ...]:
    """Return the problems in notes made from `template`, for a person to fix.

    A problem never prevents an update.
    """
    if not text.strip():
        return (NotesProblem("empty"),)
    wanted, there = parse_sections(template), parse_sections(text)
    names = [section.name for section in there]
    lines = {section.name: section.line + 1 for section in reversed(there)}
    found, above = [], 1
    for section in wanted:
        above = lines.get(section.name, above)
        if section.name not in names:
            found.append(NotesProblem("missing", section.name, line=above))
    known = [section.name for section in wanted if section.name in names]
    order = [name for name in dict.fromkeys(names) if name in known]
    if order != known:
        moved = next(name for name, place in zip(order, known, strict=True) if name != place)
        found.append(NotesProblem("order", line=lines[moved]))
    described = {section.name: section.description for section in there}
    last = {section.name: section.line + 1 for section in there}
    found += [
        NotesProblem("description", section.name, line=last[section.name] + 1)
        for section in wanted
        if section.name in described and described[section.name] != section.description
    ]
    return (*found, *over_limits(text))


def over_limits(text: str) -> tuple[NotesProblem, ...]:
    """Return the length problems: the whole file first, then sections, longest first."""
    total = rough_tokens(text)
    long = sorted(
        (section for section in parse_sections(text) if section.tokens > SECTION_TOKENS),
        key=lambda section: -section.tokens,
    )
    whole = (NotesProblem("long-file", "", total),) if total > TOTAL_TOKENS else ()
    return (
        *whole,
        *(NotesProblem("long-section", section.name, section.tokens, section.line + 1) for section in long),
    )


def reminder_of(text: str) -> str:
    """Return a message to a model about texts that are too long; empty if there are none."""
    lines = []
    for problem in over_limits(text):
        if problem.kind == "long-file":
            lines.append(
                f"The notes hold about {problem.tokens} tokens; at most {TOTAL_TOKENS} are read. "
                "Shorten them, the current state and the errors last."
            )
        else:
            lines.append(
                f"{problem.section} holds about {problem.tokens} tokens; at most {SECTION_TOKENS} are read. "
                "Shorten it."
            )
    return "\n".join(lines)


def is_template(text: str, template: str) -> bool:
    """Return whether the notes are still equal to the template."""
    return text.strip() == template.strip()


_OWN_BYTES = 256 << 10


def default_template() -> str:
    """Return the built-in template.

    The section names are the agent's; the other text is Reverie's. The template begins with a line break, as
    the agent's template does.
    """
    return "\n" + prompt_words("notes-template").strip() + "\n"


def own_text(path: Path) -> str | None:
    """Return a person's own template or prompt; None if the file is missing, empty or unreadable."""
    with contextlib.suppress(UserError, UnicodeDecodeError):
        files = RootedDirectory(path.parent)
        if files.entry(path.name) is not None:
            text = files.read(path.name, limit=_OWN_BYTES).decode("utf-8")
            return text if text.strip() else None
    return None


def current_template(own: Path) -> str:
    """Return the template for new notes: the text in `own`, else the default."""
    return own_text(own) or default_template()


MOST_TOKENS = 2 * TOTAL_TOKENS
"""The largest number of tokens that an edit may produce.

A length between `TOTAL_TOKENS` and this number is only reported.
"""
EDIT = "Edit"
_SHOWN_CHARS = 200


class NotesDraft(FileDraft):
    """The draft of the notes; a new file begins with `template`."""

    def __init__(self, read: Callable[[], bytes | None], template: str) -> None:
        self._template = template
        super().__init__(read)

    @property
    def broken(self) -> str:
        """A sentence that describes how the edits changed the structure; empty if they did not."""
        return structure_break(self._base, self._text)

    def _decoded(self, data: bytes | None) -> str:
        if data is None:
            return self._template
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise StoreError(
                "The session notes are not text.",
                cause="The notes contain bytes that are not valid UTF-8, so Reverie does not rewrite them.",
                next_step="Repair the file yourself.",
                reason="not-text",
            ) from None
        if not text.strip():
            raise StoreError(
                "The session notes are empty.",
                cause="Reverie never fills an existing file from the template.",
                next_step="Delete the file, then update the notes again.",
                reason="empty-notes",
            )
        return text

    def _require_room(self, text: str) -> None:
        tokens = rough_tokens(text)
        if tokens > MOST_TOKENS:
            raise _refused(
                f"The notes would hold about {tokens} tokens; at most {TOTAL_TOKENS} are read.",
                "Write less, and shorten what is there.",
            )

    def _no_longer_fits(self) -> StoreError:
        return _refused(
            "The notes changed meanwhile, and the earlier edit can no longer be applied.",
            "Run the update again.",
        )

    def _holds_a_secret(self) -> StoreError:
        return _refused("new_string holds a key, password or token.", "Write it down without.")


def edit_tool(draft: NotesDraft, path: str) -> FunctionTool:
    """Return the model's only tool, which makes exact replacements in the file `path`.

    Any other path is refused, and the trace records the refusal.
    """

    def call(arguments: Mapping[str, Any]) -> ToolOutcome:
        named = str(arguments["file_path"])
        if named != path:
            raise StoreError(
                f"{named[:_SHOWN_CHARS]!r} was not edited.",
                cause="Only the session notes may be.",
                next_step=f"Give file_path exactly as {path!r}.",
                reason="other-file",
            )
        change = partial(
            replaced,
            old=str(arguments["old_string"]),
            new=str(arguments["new_string"]),
            everywhere=arguments.get("replace_all") is True,
        )
        draft.edit(change)
        return ToolOutcome("Edited.", wrote=True)

    return FunctionTool(tool_spec(EDIT), call, frozenset({"old_string", "new_string"}))


def replaced(text: str, *, old: str, new: str, everywhere: bool = False) -> str:
    """Return `text` after one replacement of `old` by `new`; `new` is inserted literally.

    `everywhere`: replace all occurrences. Raises `StoreError`.
    """
    if not old:
        raise _refused("An empty old_string replaces nothing.", "Name the text to be replaced exactly.")
    old, new = in_newline_style(text, old, new)
    found = text.count(old)
    if not found:
        raise _refused("old_string is not in the notes.", "Copy the text exactly as it stands there.")
    if found > 1 and not everywhere:
        raise _refused(
            f"old_string stands {found} times in the notes.",
            "Make it longer until it is unique, or give replace_all.",
        )
    return text.replace(old, new)


def _refused(cause: str, next_step: str) -> StoreError:
    return StoreError("Nothing was edited.", cause=cause, next_step=next_step, reason="notes-edit")


class NotesTask(Struct, frozen=True):
    """The input of one run of an engine."""

    run_id: str
    session_id: str
    title: str
    path: str
    """The path of the notes as the model must give it to the tool."""
    messages: tuple[Message, ...]
    """The newest messages of the conversation."""
    prompt: str | None
    """A person's own instructions; None for the built-in ones."""
    timeout_ms: int
    deadline: float
    """The end of the time limit, on the clock of `time.monotonic`."""
    ours: frozenset[str] = frozenset()
    """Keys of the lines that earlier runs by rules wrote (`own_lines`)."""


def _head(task: NotesTask, existing: str) -> TraceHead:
    """Return the head of the run's trace; `existing` is the notes before the run, without secrets."""
    return TraceHead(
        run_id=task.run_id,
        kind="notes",
        workspace_id=task.session_id,
        workspace_name=task.title,
        timeout_ms=task.timeout_ms,
        existing_memory=existing,
    )


class NotesEngine(Protocol):
    """The engine of one run.

    `name` is `rules` or `PROVIDER:MODEL`. Failures of a model are reported in the `EngineResult`; only bugs
    are raised.
    """

    @property
    def name(self) -> str: ...

    async def update(self, task: NotesTask, draft: NotesDraft, cancelled: Callable[[], bool]) -> EngineResult:
        """Edit the draft until done or until `cancelled()` is true."""


MAX_CHARS = 160_000
TEXT_CHARS = 8_000
TOOL_CHARS = 2_000


def newest(messages: Iterable[Message], *, max_chars: int = MAX_CHARS) -> tuple[Message, ...]:
    """Return the newest messages of the main thread within `max_chars`, oldest first; at least the last one.

    Older messages are dropped while iterating, so that memory is bounded.
    """
    kept: deque[Message] = deque()
    size = 0
    for message in messages:
        if message.side or message.undone or message.kind not in ("message", "tool", "summary"):
            continue
        kept.append(message)
        size += _size(message)
        while size > max_chars and len(kept) > 1:
            size -= _size(kept.popleft())
    return tuple(kept)


def as_json(messages: Iterable[Message]) -> str:
    """Return the messages as JSON for a model, each text truncated to its limit."""
    return json.dumps([_shown(message) for message in messages], ensure_ascii=False, separators=(",", ":"))


def _shown(message: Message) -> dict[str, Any]:
    if message.tool is not None:
        tool = message.tool
        shown: dict[str, Any] = {"tool": tool.name, "input": _cut(tool.input, TOOL_CHARS)}
        if tool.output is not None:
            shown["error" if tool.is_error else "output"] = _cut(tool.output, TOOL_CHARS)
        return shown
    role = "summary" if message.kind == "summary" else message.speaker
    return {"role": role, "text": _cut(message.text, TEXT_CHARS)}


def _size(message: Message) -> int:
    tool = message.tool
    if tool is not None:
        return min(len(tool.input), TOOL_CHARS) + min(len(tool.output or ""), TOOL_CHARS) + 40
    return min(len(message.text), TEXT_CHARS) + 40


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{between_words(text[:most], text)}… [cut]"


_LINE_CHARS = 240
_ROOM_TOKENS = SECTION_TOKENS - 200
_EDITS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
_LISTS = frozenset({"TodoWrite"})
_FILE = re.compile(r"- `(?P<path>[^`]+)` \(changed (?P<times>\d+) times?\)$")

Lines = Sequence[str]
_IsOurs = Callable[[str], bool]


class Findings(Struct, frozen=True):
    """The findings of the rules: the session's title, and lines for each section."""

    title: str = ""
    state: tuple[str, ...] = ()
    files: Mapping[str, int] | None = None
    """Path -> the number of changes to the file."""
    errors: tuple[str, ...] = ()
    work: tuple[str, ...] = ()


class RulesNotes:
    """The rules engine of session notes; implements `NotesEngine`.

    It fills five sections from the transcript. It recognises the lines of earlier runs by their keys, not by
    their format, because a person may write a line in the same format. It updates these lines, and deletes
    the oldest of them when a section is full; all other lines stay. Lines with a secret are left out.
    `corrections` yields a person's corrections in a message.
    """

    name = "rules"

    def __init__(self, corrections: Callable[[str], Iterable[str]], clock: Clock) -> None:
        self._corrections = corrections
        self._clock = clock

    async def update(self, task: NotesTask, draft: NotesDraft, cancelled: Callable[[], bool]) -> EngineResult:
        if cancelled():
            return EngineResult("cancelled")
        found = replace(
            found_in(task.messages, self._corrections), title="".join(_safe([_short(task.title)]))
        )
        refused: StoreError | None = None
        before = draft.text
        try:
            draft.edit(lambda text: filled(text, found, task.ours))
        except StoreError as error:
            refused = error
        trace = self._trace(task, draft, refused, changed=draft.text != before)
        return EngineResult("failed" if refused else "completed", refused, Account(trace=trace))

    def _trace(
        self, task: NotesTask, draft: NotesDraft, refused: StoreError | None, *, changed: bool
    ) -> Mapping[str, Any]:
        """Return a trace of the rules in the format of a model's trace, with one edit.

        `refused` is the error if the edit was refused.
        """
        trace = Trace(redact, clock=self._clock)
        trace.begin(self.name, "", ())
        if changed or refused is not None:
            trace.call_begins()
            words = "Edited." if refused is None else str(refused)
            trace.call_ends(
                ToolCall("call-1-1", EDIT, ""),
                {"file_path": task.path},
                ToolOutcome(words, is_error=refused is not None, wrote=refused is None),
            )
        trace.end("failed" if refused else "completed", None, refused)
        return trace.to_document(_head(task, redact(draft.original)))


def found_in(messages: Iterable[Message], corrections: Callable[[str], Iterable[str]]) -> Findings:
    """Return the findings in a conversation whose messages are ordered oldest first."""
    files: dict[str, int] = {}
    errors: list[str] = []
    asked: list[Message] = []
    answers: dict[int, str] = {}
    todo: list[str] = []
    for message in messages:
        tool = message.tool
        if tool is not None:
            arguments = _arguments(tool.input)
            path = arguments.get("file_path") or arguments.get("notebook_path")
            if tool.is_error:
                errors.append(
                    f"- `{_short(_call(tool.name, arguments), 80)}` failed: {_short(tool.output or '')}"
                )
            elif tool.name in _EDITS and isinstance(path, str) and "`" not in path and "\n" not in path:
                files[path] = files.pop(path, 0) + 1
            elif tool.name in _LISTS:
                todo = list(_open_items(arguments.get("todos")))
        elif message.kind == "message" and message.speaker == "user":
            asked.append(message)
            errors += [f"- Corrected: {_short(said)}" for said in corrections(message.text)]
        elif message.kind == "message" and message.speaker == "assistant" and message.text.strip():
            answers[len(asked)] = message.text
    work = [
        f"- {_time(message.timestamp)} {_short(message.text, 110)} → {_short(answers[number], 110)}"
        for number, message in enumerate(asked, start=1)
        if message.timestamp is not None and number in answers
    ]
    state = [f"- Asked last: {_short(asked[-1].text)}"] if asked else []
    if answers:
        state.append(f"- Answered last: {_short(answers[max(answers)])}")
    state += [f"- Open: {_short(item)}" for item in todo]
    return Findings(state=_safe(state), files=files, errors=_safe(errors), work=_safe(work))


def line_key(section: str, line: str) -> str:
    """Return the key by which a line of the rules is recognised; the text cannot be recovered from it."""
    return sha256(f"{section}\n{line}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def own_lines(before: str, after: str, ours: Collection[str]) -> frozenset[str]:
    """Return the keys of the lines in `after` that runs by rules wrote.

    These are the keys in `ours` that are still present, and the lines that this run added to `before`.
    """
    old = _line_keys(before)
    return frozenset(key for key in _line_keys(after) if key not in old or key in ours)


def _line_keys(text: str) -> set[str]:
    return {
        line_key(section.name, line.rstrip("\r"))
        for section in parse_sections(text)
        for line in section.body.split("\n")
        if line.startswith("- ")
    }


def filled(text: str, found: Findings, ours: Collection[str] = ()) -> str:
    """Return the notes with the findings in their sections, in the notes' own line ends.

    `ours` are the keys of the lines that earlier runs wrote.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    left = set(ours)
    name = ""

    def own(line: str) -> bool:
        # A second line with the same text is a person's copy.
        key = line_key(f"# {name}", line)
        known = key in left
        left.discard(key)
        return known

    changes: dict[str, Callable[[Lines], Lines]] = {
        "Session Title": lambda lines: [found.title] if found.title and not lines else lines,
        "Current State": lambda lines: _replaced(lines, found.state, own) if found.state else lines,
        "Files and Functions": lambda lines: _files(lines, found.files or {}, own),
        "Errors & Corrections": lambda lines: _added(lines, found.errors, own),
        "Worklog": lambda lines: _added(lines, found.work, own),
    }
    done: set[str] = set()
    for section in parse_sections(text):
        name = section.name.removeprefix("# ").strip()
        if name in done or name not in changes:
            continue
        done.add(name)
        # Find the section again, because earlier insertions moved the offsets.
        here = next(one for one in parse_sections(text) if one.name == section.name)
        before = [line.rstrip("\r") for line in here.body.split("\n")]
        while before and not before[-1].strip():
            before.pop()
        after = changes[name](before)
        if list(after) == before:
            continue
        tail = newline if here.end >= len(text) else newline * 2
        start = text[: here.start]
        gap = "" if not start or start.endswith("\n") else newline
        text = start + gap + newline.join(after) + tail + text[here.end :]
    return text


def _files(lines: Lines, files: Mapping[str, int], is_ours: _IsOurs) -> Lines:
    """Return the lines, updated with the number of changes of each file.

    A count is that of the transcript or of the previous notes, whichever is larger. If a person wrote a line
    in this format for a path, that line is not changed.
    """
    if not files:
        return lines
    counts: dict[str, int] = {}
    rest: list[str] = []
    theirs: set[str] = set()
    for line in lines:
        match = _FILE.match(line)
        if match is not None and is_ours(line):
            counts[match["path"]] = int(match["times"])
        else:
            rest.append(line)
            theirs.update([match["path"]] if match is not None else [])
    for path, times in files.items():
        if path not in theirs:
            counts[path] = max(times, counts.pop(path, 0))
    noted = [f"- `{path}` (changed {some(n, 'time')})" for path, n in counts.items()]
    return _within(rest, _safe(noted), lambda _line: False)


def _replaced(lines: Lines, new: Lines, is_ours: _IsOurs) -> Lines:
    """Return the person's lines, then the lines of `new`, without duplicates; drop the rules' old lines."""
    kept = [line for line in lines if not is_ours(line)]
    return [*kept, *(line for line in new if line not in kept)]


def _added(lines: Lines, new: Lines, is_ours: _IsOurs) -> Lines:
    """Return the lines, followed by the lines of `new` that are not among them."""
    known = set(lines)
    fresh = [line for line in dict.fromkeys(new) if line not in known]
    return _within(lines, fresh, is_ours) if fresh else lines


def _within(lines: Lines, new: Lines, is_ours: _IsOurs) -> Lines:
    """Return `lines` followed by `new`, without the oldest lines of the rules if a section has no room."""
    every = [(line, is_ours(line)) for line in lines] + [(line, True) for line in new]
    excess = rough_tokens("\n".join(line for line, _ in every)) - _ROOM_TOKENS
    kept: list[str] = []
    for line, own in every:
        if own and excess > 0:
            excess -= rough_tokens(f"{line}\n")
        else:
            kept.append(line)
    return kept


def _open_items(todos: Any) -> Iterator[str]:
    for item in objects_of(todos):
        if item.get("status") != "completed" and isinstance(item.get("content"), str):
            yield item["content"]


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        return as_object(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _call(name: str, arguments: Mapping[str, Any]) -> str:
    about = next(
        (arguments[key] for key in ("command", "file_path", "pattern", "url") if arguments.get(key)), ""
    )
    return f"{name}: {about}".replace("`", "'") if about else name


def _short(text: str, most: int = _LINE_CHARS) -> str:
    """Return the first non-blank line, with white space collapsed, truncated to `most` characters."""
    line = next((" ".join(part.split()) for part in text.splitlines() if part.strip()), "")
    return line if len(line) <= most else f"{line[:most].rstrip()}…"


def _safe(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(line for line in lines if not find_secrets(line))


def _time(timestamp: int | None) -> str:
    return datetime.fromtimestamp((timestamp or 0) / 1000, UTC).strftime("%Y-%m-%d %H:%M")


_PLACE = re.compile(r"\{\{(\w+)\}\}")


def system_prompt(mark: str) -> str:
    """Return the rules of the update, which no instructions and no prompt of a person replace."""
    rules = with_values(
        prompt_words("notes-rules"), {"sectionTokens": str(SECTION_TOKENS), "totalTokens": str(TOTAL_TOKENS)}
    )
    return (
        f"{rules.strip()}\n\n"
        f"What you are to read stands between lines that begin with `<<<` and lines `>>>`, with {mark}.\n"
    )


def user_message(task: NotesTask, notes: str, mark: str) -> str:
    """Return the message with instructions, notes, conversation, and the texts that are too long.

    Notes and conversation are between delimiters made with `mark`. It is random, so that they cannot contain
    the closing delimiter. A person's own prompt replaces the instructions.
    """
    instructions = task.prompt or prompt_words("notes")
    values = {"currentNotes": between("session-notes", notes, mark), "notesPath": task.path}
    parts = [with_values(instructions, values).strip()]
    if "{{currentNotes}}" not in instructions:
        parts.append(values["currentNotes"])
    parts.append(between("conversation (JSON, oldest first)", as_json(task.messages), mark))
    if too_long := reminder_of(notes):
        parts.append(f"These limits are exceeded:\n{too_long}")
    return "\n\n".join(parts) + "\n"


def reminder(broken: str, too_long: str) -> str:
    """Return the message after a model's first attempt; empty if there is nothing to correct.

    `broken` and `too_long` describe the problems.
    """
    parts = []
    if broken:
        parts.append(f"{broken} {prompt_words('notes-reminder').strip()}")
    if too_long:
        parts.append(f"The notes are too long now:\n{too_long}")
    return "\n\n".join(parts)


def with_values(text: str, values: Mapping[str, str]) -> str:
    """Return `text` with each `{{name}}` in `values` replaced by its value, in one pass."""
    return _PLACE.sub(lambda match: values.get(match[1], match[0]), text)


MAX_STEPS = 12
ATTEMPT_STEPS = 8
MAX_OUTPUT_TOKENS = 16_000


class ModelNotes:
    """The model engine of session notes; implements `NotesEngine`.

    It runs the agent loop with a single tool. If the model broke the structure of the notes or made them too
    long, it gets one reminder.
    """

    def __init__(self, asking: ModelClient) -> None:
        self._asking = asking

    @property
    def name(self) -> str:
        return self._asking.name

    async def update(self, task: NotesTask, draft: NotesDraft, cancelled: Callable[[], bool]) -> EngineResult:
        vault, mark = Vault(), random_mark()
        vault.learn(draft.text)
        vault.learn([_shown(message) for message in task.messages])
        trace = Trace(vault.scrub, clock=self._asking.clock)
        reminded: list[str] = []

        def follow_up(_text: str) -> str | None:
            if reminded:
                return None
            reminder_text = reminder(draft.broken, reminder_of(draft.text) if draft.changed else "")
            reminded.append(reminder_text)
            return reminder_text or None

        try:
            result = await self._asking.ask(
                system_prompt(mark),
                user_message(task, draft.text, mark),
                (edit_tool(draft, task.path),),
                AgentLimits(MAX_STEPS, task.deadline, MAX_OUTPUT_TOKENS, attempt_steps=ATTEMPT_STEPS),
                vault,
                trace,
                cancelled=cancelled,
                follow_up=follow_up,
            )
        except ProviderError as refused:
            return EngineResult("failed", refused)
        head = _head(task, vault.hide(draft.original))
        account = self._asking.account(head, result.usage, trace.to_document)
        return end_of(result, account, max_steps=MAX_STEPS)
