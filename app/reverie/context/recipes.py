"""What each agent would be told, put together from what `context.gather` read: one recipe an agent.

A recipe says word for word what its agent loads; an agent without one gets a view without parts. Memories
that an agent loads only when they fit what is asked are told at the start by their lines in the index alone.
A text that is typed must not cost a look at thousands of memories, so what depends on the disk is remembered
with the facts.

Threading: pure; any thread. Failure: as `context.facts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from reverie.agents.base import Companion, Loading, LoadState
from reverie.agents.claude.instruction_text import loaded_text
from reverie.agents.codex.store import (
    INSTRUCTIONS,
    SUMMARY,
    SUMMARY_TOKENS,
    PromptSettings,
    instructions_text,
    loaded_summary,
    memory_pieces,
    project_text,
    tokens_of,
    trimmed,
)
from reverie.agents.memory_index import (
    INDEX,
    MOST_CHARS,
    MOST_LINES,
    Cut,
    cut_of,
    falls_off,
    links,
    same_spelling,
)
from reverie.agents.scopes import Scope
from reverie.context.facts import (
    SCOPES,
    ContextFacts,
    Marks,
    candidates,
    instructions_part,
    marked_lines,
    marks_in,
    marks_in_line,
    with_record,
)
from reverie.context.view import (
    ContextEntry,
    ContextPart,
    ContextView,
    Gauge,
    Note,
    Reason,
    State,
    load_states,
)
from reverie.failures.lessons import MOST_LESSONS, Lesson, Retrieved
from reverie.memory.front_matter import description
from reverie.memory.listing import IndexEntry, MemoryFile, ScopeListing
from reverie.memory.paths import memory_path
from reverie.memory.usage import (
    BUDGETS,
    HotItem,
    HotSet,
    Ranked,
    SkippedMemory,
    escaped,
    fill,
    first_lines,
    ranked,
    unused,
)
from reverie.text.summaries import estimate_tokens, utf16_length
from reverie.values import replace

# Claude Code: its instruction files in their order, then the index of its auto memory up to the cut line
# (formats/claude-code.md sections 4 and 7).


_NOT_LOADED: Mapping[Loading, Reason] = {
    "on-demand": "on-demand",
    "approval": "approval",
    "elsewhere": "elsewhere",
    "replaced": "replaced",
    "excluded": "excluded",
    "too-large": "too-large",
    "unopened": "credential",
}


def claude_context(facts: ContextFacts, at: int, drafts: Mapping[str, str]) -> ContextView:
    """The view; `drafts` are unsaved texts by memory path. The time does not matter to Claude Code."""
    instructions = tuple(
        replace(part, entries=(*part.entries, *_failed_imports(facts)))
        for part in instructions_part(facts, _judge, told=loaded_text, between="\n\n")
    )
    parts = (*instructions, *_claude_index(facts, drafts))
    if facts.loads_nothing:
        parts = tuple(
            replace(part, notes=(*part.notes, "loads-nothing"), detail=facts.loads_nothing) for part in parts
        )
    return ContextView.of(facts.agent, at, with_record(parts, facts, drafts))


def _failed_imports(facts: ContextFacts) -> Iterator[ContextEntry]:
    """Entries of imports that load nothing."""
    for each in facts.failed_imports:
        yield ContextEntry(
            each.written, "out", "not-imported", description=each.label, detail=each.problem, line=each.line
        )


def _judge(companion: Companion, text: str) -> tuple[State, Reason]:
    if companion.loading in _NOT_LOADED:
        return "out", _NOT_LOADED[companion.loading]
    return ("in", "loaded") if text else ("out", "empty")


def _claude_index(facts: ContextFacts, drafts: Mapping[str, str]) -> tuple[ContextPart, ...]:
    listing = facts.listings.get(Scope.PROJECT)
    if listing is None or listing.root is None:
        return ()
    path = str(memory_path(Scope.PROJECT, INDEX))
    text = facts.texts.get(path)
    said = drafts.get(path, "" if text is None or text.data is None else text.data.decode("utf-8", "replace"))
    if facts.memory_outside and not facts.off:
        said = ""  # the agent loads the memory from another place
    cut = cut_of(said)
    notes: list[Note] = ["memory-off"] if facts.off and not facts.loads_nothing else []
    if facts.moved_by_project:
        notes.append("moved-by-project")
    if facts.memory_outside and not facts.off:
        notes.append("memory-outside")
    if cut.line is not None:
        notes.append("cut-warning")
    there = (
        path in drafts or text is not None or any(file.rel == INDEX for file in facts.files(Scope.PROJECT))
    )
    entries = (*_of_index(path, said, cut, facts, there=there), *_of_topics(facts, said, cut))
    gauges = (
        Gauge("bytes", len(cut.loaded.encode("utf-8", "surrogatepass"))),
        Gauge("tokens", estimate_tokens(cut.loaded)),
        Gauge("lines", min(cut.lines, MOST_LINES), MOST_LINES),
        Gauge("chars", utf16_length(cut.loaded), MOST_CHARS),
    )
    marked = marked_lines([(1, marks_in(cut.loaded, facts.caps))])
    detail = facts.off or facts.memory_outside
    return (ContextPart("index-file", entries, gauges, cut.loaded, tuple(notes), detail, cut.line, marked),)


def _of_index(path: str, said: str, cut: Cut, facts: ContextFacts, *, there: bool) -> Iterator[ContextEntry]:
    """The index itself."""
    text = facts.texts.get(path)
    state: State
    reason: Reason
    if facts.memory_outside and not facts.off:
        state, reason = "out", "moved-outside"
    elif not there:
        # The agent makes one at the start of a session, with a line for each memory.
        made = any(file.rel != INDEX for file in facts.files(Scope.PROJECT)) and not facts.off
        state, reason = "out", "made-new" if made else "missing"
    elif text is not None and text.data is None:
        state, reason = "out", "unreadable"
    elif not cut.loaded.strip():
        state, reason = "out", "empty"
    else:
        state, reason = ("in", "loaded") if cut.line is None else ("cut", "cut")
    loaded = cut.loaded if state != "out" else ""
    yield ContextEntry(
        path if there else INDEX,
        state,
        reason,
        size=len(said.encode("utf-8", "surrogatepass")),
        bytes=len(loaded.encode("utf-8", "surrogatepass")),
        tokens=estimate_tokens(loaded),
        scope=Scope.PROJECT if there else None,
        line=cut.line or 0,
        marks=marks_in(loaded, facts.caps),
        text=loaded,
    )


def _of_topics(facts: ContextFacts, said: str, cut: Cut) -> Iterator[ContextEntry]:
    """Each memory by its line: the first one that names it."""
    lines: dict[str, tuple[int, str]] = {}
    there = {file.rel for file in facts.files(Scope.PROJECT)}
    for link in links(said):
        if link.rel is not None:
            lines.setdefault(same_spelling(link.rel, there) or link.rel, (link.line, link.title))
    for file in facts.files(Scope.PROJECT):
        if file.rel == INDEX:
            continue
        line, title = lines.get(file.rel, (0, ""))
        state: State = "out"
        reason: Reason = "unlisted"
        if line:
            state, reason = ("out", "falls-off") if falls_off(cut, line) else ("in", "line")
        yield ContextEntry(
            str(memory_path(Scope.PROJECT, file.rel)),
            state,
            reason,
            size=file.size,
            scope=Scope.PROJECT,
            description=file.description or title,
            line=line,
        )


# Codex CLI: the summary of its memories, up to a cap, and its instructions (formats/codex.md sections 3 and
# 10), both exactly as Codex sends them: the summary as it stands between the marks of the memory block, and
# the whole message with the instructions. Tokens are counted as Codex counts them: four bytes each.


def codex_context(facts: ContextFacts, at: int, drafts: Mapping[str, str]) -> ContextView:
    """The view; `drafts` are unsaved texts by memory path. The time does not matter to Codex."""
    parts = (_summary_part(facts, drafts), *_instructions(facts))
    return ContextView(
        facts.agent,
        at,
        parts,
        sum(entry.bytes for part in parts for entry in part.entries),
        sum(entry.tokens for part in parts for entry in part.entries),
    )


def _summary_part(facts: ContextFacts, drafts: Mapping[str, str]) -> ContextPart:
    """The newest agents load the summary of the whole home; that of one directory only the first ones did."""
    entries: list[ContextEntry] = []
    text = ""
    cut_line: int | None = None
    for scope in SCOPES:
        for file in facts.files(scope):
            if file.rel != SUMMARY:
                continue
            path = str(memory_path(scope, file.rel))
            said, why = (drafts[path], "empty") if path in drafts else _text(facts, path)
            if said is None:
                entries.append(ContextEntry(path, "out", why, size=file.size, scope=scope))
                continue
            loaded = loaded_summary(said)
            state, reason = _state(scope, loaded.text, is_cut=loaded.is_cut)
            if state != "out":
                text = loaded.text
                if loaded.is_cut:
                    before = said[: said.find(trimmed(said)) + loaded.head]
                    cut_line = before.count("\n") + 1
            entries.append(
                ContextEntry(
                    path,
                    state,
                    reason,
                    size=len(said.encode("utf-8", "surrogatepass")),
                    bytes=len(loaded.text.encode()) if state != "out" else 0,
                    tokens=tokens_of(loaded.text) if state != "out" else 0,
                    scope=scope,
                    detail=str(loaded.removed_tokens) if loaded.is_cut else "",
                    marks=marks_in(said, facts.caps),
                )
            )
    if not entries:
        entries.append(ContextEntry(SUMMARY, "out", "missing"))
    # The marker in the middle comes on top of the cap.
    tokens = min(SUMMARY_TOKENS, sum(entry.tokens for entry in entries))
    gauges = Gauge("tokens", tokens, SUMMARY_TOKENS), Gauge("bytes", len(text.encode()))
    marked = marked_lines([(1, marks_in(text, facts.caps))])
    notes = tuple(_notes(facts, text))
    return ContextPart("summary", tuple(entries), gauges, text, notes, facts.off, cut_line, marked)


def _notes(facts: ContextFacts, text: str) -> Iterator[Note]:
    if facts.off:
        yield "codex-off"
    listing: ScopeListing | None = facts.listings.get(Scope.GLOBAL)
    if facts.prompt is not None and text and listing is not None and listing.root is not None:
        yield "codex-v1" if facts.prompt.version == "v1" else "codex-v2"
        if memory_pieces(facts.prompt.version, listing.root.directory, text) > 1:
            yield "codex-pieces"


def _state(scope: Scope, loaded: str, *, is_cut: bool) -> tuple[State, Reason]:
    if scope is not Scope.GLOBAL:
        return "out", "older"
    if not loaded:
        return "out", "empty"
    return ("cut", "cut") if is_cut else ("in", "loaded")


def _text(facts: ContextFacts, path: str) -> tuple[str | None, Reason]:
    """A summary; None with the reason for one that cannot be loaded."""
    text = facts.texts.get(path)
    if text is None or text.data is None:
        return None, "unreadable"
    try:
        return text.data.decode(), "loaded"
    except UnicodeDecodeError:
        return None, "not-utf8"


def _instructions(facts: ContextFacts) -> tuple[ContextPart, ...]:
    """The message with the instructions: of the home the first file that says anything, trimmed; of the
    project every file that counts, as it is."""
    settings = facts.prompt or PromptSettings()
    home, project, others = _sorted(facts)
    if not home and not project and not others:
        return ()
    texts = [trimmed(_data(facts, companion).decode("utf-8", "replace")) for companion in home]
    by_rank = sorted(zip(home, texts, strict=True), key=lambda each: INSTRUCTIONS.index(each[0].path.name))
    loaded = next((companion for companion, text in by_rank if text), None)
    entries: list[ContextEntry] = []
    own = ""
    for companion, text in zip(home, texts, strict=True):
        if companion is loaded:
            own = text
            reason: Reason = "override" if companion.path.name == INSTRUCTIONS[0] else "loaded"
            entries.append(_codex_entry(facts, companion, "in", reason, len(own.encode())))
        else:
            entries.append(_codex_entry(facts, companion, "out", "overridden" if text else "empty", 0))
    of_project, used = project_text([_data(facts, each) for each in project], settings.project_bytes)
    for companion, count in zip(project, used, strict=True):
        size = len(_data(facts, companion))
        if not count:
            said = bool(_data(facts, companion).decode("utf-8", "replace").strip())
            entries.append(_codex_entry(facts, companion, "out", "bytes" if said else "empty", 0))
        elif count < size:
            entries.append(_codex_entry(facts, companion, "cut", "cut", count))
        else:
            overrides = companion.path.name == INSTRUCTIONS[0]
            entries.append(_codex_entry(facts, companion, "in", "override" if overrides else "loaded", count))
    entries += [_codex_entry(facts, companion, "out", "unseen", 0) for companion in others]
    text = instructions_text(own, of_project, facts.context.project_path or "")
    gauges = (
        Gauge("bytes", sum(entry.bytes for entry in entries)),
        Gauge("tokens", sum(entry.tokens for entry in entries)),
        Gauge("files", sum(entry.state != "out" for entry in entries)),
    )
    marked = marked_lines([(1, marks_in(text, facts.caps))])
    return (ContextPart("instructions", tuple(entries), gauges, text, marked=marked),)


def _sorted(facts: ContextFacts) -> tuple[list[Companion], list[Companion], list[Companion]]:
    """The companions that exist: instructions of the home, those of the project, and the others. What is
    shown under a project but is a part of the memory itself is none of them."""
    home, project, others = [], [], []
    for companion in facts.companions:
        if not companion.exists:
            continue
        if companion.scope is Scope.PROJECT:
            if not companion.read_only:
                project.append(companion)
        elif companion.read_only or companion.path.name not in INSTRUCTIONS:
            others.append(companion)
        else:
            home.append(companion)
    return home, project, others


def _data(facts: ContextFacts, companion: Companion) -> bytes:
    text = facts.texts.get(str(companion.path))
    return b"" if text is None or text.data is None else text.data


def _codex_entry(
    facts: ContextFacts, companion: Companion, state: State, reason: Reason, used: int
) -> ContextEntry:
    text = facts.texts.get(str(companion.path))
    if text is None or text.data is None:
        return ContextEntry(companion.label, "out", "unreadable", file=companion.path)
    return ContextEntry(
        companion.label,
        state,
        reason,
        size=text.size,
        bytes=used,
        tokens=-(-used // 4),
        file=companion.path,
        description=str(companion.path),
        detail=companion.read_only or companion.note,
        marks=text.findings,
    )


# loki-mode: what its next iteration is told of the failed ones, the block of lessons (formats/loki.md section
# 11). They were retrieved for the times that are asked for; another time gets those of the nearest.


def loki_context(facts: ContextFacts, at: int, _drafts: Mapping[str, str]) -> ContextView:
    """The view at the time `at` (UTC ms). Unsaved texts do not matter: lessons are records."""
    nearest = min(facts.lessons, key=lambda known: abs(known - at), default=None)
    found = Retrieved() if nearest is None else facts.lessons[nearest]
    size, tokens = len(found.block.encode("utf-8", "surrogatepass")), estimate_tokens(found.block)
    told = sum(lesson.injected for lesson in found.lessons)
    notes: tuple[Note, ...] = ("lessons-off",) if facts.off else ("no-goal",)
    if found.difference:
        notes = ("agent-differs", *notes)
    entries = tuple(_entries(facts, found))
    part = ContextPart(
        "lessons",
        entries,
        (Gauge("bytes", size), Gauge("tokens", tokens), Gauge("lessons", told, MOST_LESSONS)),
        found.block,
        notes,
        detail=found.difference,
        marked=marked_lines(_pieces(found, entries)),
    )
    return ContextView(facts.agent, at, (part,), size, tokens)


def _entries(facts: ContextFacts, found: Retrieved) -> Iterator[ContextEntry]:
    for lesson in found.lessons:
        line = lesson.line
        yield ContextEntry(
            _path(facts, lesson),
            "in" if lesson.injected else "out",
            "lesson" if lesson.injected else "newest-only",
            bytes=len(line.encode("utf-8", "surrogatepass")) if lesson.injected else 0,
            tokens=estimate_tokens(line) if lesson.injected else 0,
            scope=Scope.PROJECT,
            description=line.removeprefix("- "),
            detail=str(lesson.seen) if lesson.seen > 1 else "",
            marks=marks_in_line(line, facts.caps),
        )
    for prior in found.priors:
        yield ContextEntry(
            prior,
            "in",
            "prior",
            bytes=len(prior.encode("utf-8", "surrogatepass")),
            tokens=estimate_tokens(prior),
            marks=marks_in_line(prior, facts.caps),
        )


def _pieces(found: Retrieved, entries: tuple[ContextEntry, ...]) -> Iterator[tuple[int, Marks]]:
    """Where in the block each lesson stands, and its marks; a lesson may have several lines."""
    line = 3  # after a blank line and the heading
    for lesson, entry in zip(found.lessons, entries, strict=False):
        if lesson.injected:
            yield line, entry.marks
            line += lesson.line.count("\n") + 1
    for prior, entry in zip(found.priors, entries[len(found.lessons) :], strict=True):
        yield line, entry.marks
        line += prior.count("\n") + 1


def _path(facts: ContextFacts, lesson: Lesson) -> str:
    """Where its episode is read."""
    listing = facts.listings.get(Scope.PROJECT)
    root = None if listing is None else listing.root
    if root is None or not lesson.path.is_relative_to(root.directory):
        return str(lesson.path)
    return str(memory_path(Scope.PROJECT, lesson.path.relative_to(root.directory).as_posix()))


# mux: the index of its memories, the hot set, the files beside them (formats/mux.md sections 7 and 12). The
# index has one line a memory, the description escaped as the agent escapes it; the lines around it are the
# agent's own and are not shown.


def mux_context(facts: ContextFacts, at: int, drafts: Mapping[str, str]) -> ContextView:
    """The view at the time `at` (UTC ms); `drafts` are unsaved texts by memory path."""
    parts = (
        _hot_part(facts, hot_set(facts, at, drafts)),
        _mux_index(facts, drafts),
        *instructions_part(facts),
    )
    return ContextView.of(facts.agent, at, parts)


def hot_set(facts: ContextFacts, at: int, drafts: Mapping[str, str]) -> HotSet:
    """The hot set of what was gathered."""

    def ranking() -> tuple[list[Ranked], list[str]]:
        known = candidates(_index(facts))
        found = ranked(known, at)
        return found, unused(known, found)

    def read(path: str) -> bytes | None:
        if path in drafts:
            return drafts[path].encode("utf-8", "surrogatepass")[: BUDGETS.item_bytes + 1]
        text = facts.texts.get(path)
        return None if text is None else text.data

    return fill(*facts.once(("ranking", at), ranking), read)


def index_line(entry: IndexEntry) -> str:
    """One line of the index, as the agent writes it."""
    said = f' — "{escaped(entry["description"])}"' if entry["description"] else ""
    return f"- {entry['path']}{said}"


def _index(facts: ContextFacts) -> list[IndexEntry]:
    return facts.once("index", facts.index)


def _files(facts: ContextFacts) -> dict[str, MemoryFile]:
    def make() -> dict[str, MemoryFile]:
        return {str(memory_path(scope, file.rel)): file for scope in SCOPES for file in facts.files(scope)}

    return facts.once("files", make)


def _hot_part(facts: ContextFacts, hot: HotSet) -> ContextPart:
    entries = [_hot_entry(facts, item) for item in hot.items]
    entries += _cold_entries(facts, hot.skipped)
    pieces = zip(first_lines(hot.items), (entry.marks for entry in entries), strict=False)
    return ContextPart(
        "hot-set",
        tuple(entries),
        (
            Gauge("bytes", hot.total_bytes, BUDGETS.total_bytes),
            Gauge("tokens", hot.total_tokens, BUDGETS.total_tokens),
            Gauge("items", len(hot.items), BUDGETS.items),
        ),
        hot.block,
        ("hot-set-experiment", "own-words"),
        marked=marked_lines(pieces),
    )


def _hot_entry(facts: ContextFacts, item: HotItem) -> ContextEntry:
    reason: Reason = "cut" if item.truncated else "pinned" if item.pinned else "used"
    state: State = "cut" if item.truncated else "in"
    entry = _mux_entry(facts, item.path, state, reason, item.score, pinned=item.pinned)
    return replace(entry, bytes=item.bytes, tokens=item.tokens, marks=marks_in(item.text, facts.caps))


def _cold_entries(facts: ContextFacts, skipped: Iterable[SkippedMemory]) -> Iterator[ContextEntry]:
    """Most are the same after each keystroke, and there may be thousands. Whether one is pinned is a fact."""
    known: dict[tuple[str, str, float], ContextEntry] = facts.once("cold", dict)
    for each in skipped:
        key = each.path, each.reason, each.score
        entry = known.get(key)
        if entry is None:
            entry = _mux_entry(facts, each.path, "out", each.reason, each.score, pinned=each.pinned)
            known[key] = entry
        yield entry


def _mux_entry(
    facts: ContextFacts, path: str, state: State, reason: Reason, score: float, *, pinned: bool
) -> ContextEntry:
    file, text = _files(facts)[path], facts.texts.get(path)
    return ContextEntry(
        path,
        state,
        reason,
        size=file.size,
        score=score,
        pinned=pinned,
        pin_unknown=file.usage.unknown_to_agent,
        scope=_scope_of(path),
        description=file.description,
        marks=() if text is None else text.findings,
    )


def _mux_index(facts: ContextFacts, drafts: Mapping[str, str]) -> ContextPart:
    entries, lines, places = facts.once("index rows", lambda: _index_rows(facts))
    for path in drafts:
        place = places.get(path)
        if place is not None:
            entries, lines = list(entries), list(lines)
            at, line_at = place
            entry = _with_draft(_index(facts)[line_at], drafts[path], facts)
            lines[line_at] = index_line(entry)
            entries[at] = _listed(entries[at], entry, facts)
    text = "\n".join(lines)
    return ContextPart(
        "index",
        tuple(entries),
        (
            Gauge("bytes", len(text.encode("utf-8", "surrogatepass"))),
            Gauge("tokens", estimate_tokens(text)),
            Gauge("files", len(lines)),
        ),
        text,
        ("index-lines",),
        marked=marked_lines((places[path][1] + 1, marks) for path, marks in _marked(entries)),
    )


def _marked(entries: Sequence[ContextEntry]) -> Iterator[tuple[str, Marks]]:
    """The entries on whose lines there is something to look at; most have nothing."""
    return ((entry.path, entry.marks) for entry in entries if entry.marks)


_Rows = tuple[list[ContextEntry], list[str], dict[str, tuple[int, int]]]


def _index_rows(facts: ContextFacts) -> _Rows:
    """An entry for each memory, the lines of the index, and for what is listed its place in both."""
    index = _index(facts)
    line_of = {entry["path"]: place for place, entry in enumerate(index)}
    entries: list[ContextEntry] = []
    places: dict[str, tuple[int, int]] = {}
    for path, file in _files(facts).items():
        line_at = line_of.get(path)
        entry = ContextEntry(
            path,
            "out",
            "unseen",
            size=file.size,
            pinned=file.usage.pinned,
            pin_unknown=file.usage.unknown_to_agent,
            scope=_scope_of(path),
            description=file.description,
            detail=file.unseen_reason,
        )
        if line_at is not None:
            places[path] = len(entries), line_at
            entry = _listed(entry, index[line_at], facts)
        entries.append(entry)
    return entries, [index_line(entry) for entry in index], places


def _listed(entry: ContextEntry, found: IndexEntry, facts: ContextFacts) -> ContextEntry:
    line = index_line(found)
    return replace(
        entry,
        state="in",
        reason="listed",
        bytes=len(line.encode("utf-8", "surrogatepass")),
        tokens=estimate_tokens(line),
        description=found["description"],
        detail="",
        marks=marks_in_line(found["description"], facts.caps),
    )


def _with_draft(entry: IndexEntry, draft: str, facts: ContextFacts) -> IndexEntry:
    prefix = draft.encode("utf-8", "surrogatepass")[: facts.caps.description_prefix_bytes]
    changed = entry.copy()
    changed["description"] = description(prefix, facts.caps).text
    return changed


def _scope_of(path: str) -> Scope:
    return Scope(path.split("/", 3)[2])


RECIPES: Mapping[str, Callable[[ContextFacts, int, Mapping[str, str]], ContextView]] = {
    "claude": claude_context,
    "codex": codex_context,
    "loki": loki_context,
    "mux": mux_context,
}
"""By the kind of home; the one place that a new recipe is added to."""
_READS_LATER = frozenset({"codex", "loki"})
"""Agents whose view does not name the memories that they read only when they need them."""
AGENTS = frozenset(RECIPES)
"""Whose contexts are known."""


def assemble(facts: ContextFacts, at: int, drafts: Mapping[str, str] | None = None) -> ContextView:
    """What the agent would be told at the time `at` (UTC ms). `drafts`: unsaved texts by memory path, which
    count as if they were saved. An agent without a recipe gets a view without parts."""
    recipe = RECIPES.get(facts.agent)
    return ContextView(facts.agent, at, (), 0, 0) if recipe is None else recipe(facts, at, drafts or {})


def loaded(facts: ContextFacts, at: int) -> dict[str, LoadState]:
    """Return how much of each file a session that starts at `at` (UTC ms) loads; see `load_states`."""
    if facts.agent == "mux":
        # It never looks beyond its cap, and there may be a hundred times as much.
        cap = facts.caps.files_per_scope
        listings = {scope: replace(each, files=each.files[:cap]) for scope, each in facts.listings.items()}
        facts = replace(facts, listings=listings)
    states = load_states(assemble(facts, at))
    if facts.agent in _READS_LATER and not facts.off:
        for scope in SCOPES:
            for file in facts.files(scope):
                if file.seen_by_agent:
                    states.setdefault(str(memory_path(scope, file.rel)), "needed")
    return states
