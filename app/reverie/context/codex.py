"""The context of Codex CLI: the summary of its memories, up to a cap, and its instructions.

Both texts are exactly as Codex sends them: the summary without the marks of the memory block around it, and
the whole message with the instructions (formats/codex.md sections 3 and 10). As in Codex, four bytes count as
one token.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reverie.agents.base import Companion
from reverie.agents.codex.prompt import (
    INSTRUCTIONS,
    SUMMARY_TOKENS,
    PromptSettings,
    instructions_text,
    loaded_summary,
    memory_pieces,
    project_text,
    tokens_of,
    trimmed,
)
from reverie.agents.codex.store import SUMMARY
from reverie.agents.scopes import Scope
from reverie.context.facts import SCOPES, ContextFacts
from reverie.context.marks import marked_lines, marks_in
from reverie.context.view import ContextEntry, ContextPart, ContextView, Gauge, Note, Reason, State
from reverie.memory.listing import ScopeListing
from reverie.memory.paths import memory_path


def codex_context(facts: ContextFacts, at: int, drafts: Mapping[str, str]) -> ContextView:
    """Return the files and texts that a new session of Codex CLI would load, by the parts of its prompt.

    `facts`: the files and settings that were read before. `at` (UTC ms) is only stored in the result, which
    does not depend on it otherwise. `drafts`: memory path -> unsaved text, which counts as if it were saved.
    """
    parts = (_summary_part(facts, drafts), *_instructions(facts))
    return ContextView(
        facts.agent,
        at,
        parts,
        sum(entry.bytes for part in parts for entry in part.entries),
        sum(entry.tokens for part in parts for entry in part.entries),
    )


def _summary_part(facts: ContextFacts, drafts: Mapping[str, str]) -> ContextPart:
    """Return the part of the prompt with the memory summary.

    Present versions of Codex load the summary of the whole home; the first versions loaded one per directory.
    Those are listed as not loaded. `drafts`: memory path -> unsaved text, which counts as if it were saved.
    """
    entries: list[ContextEntry] = []
    text = ""
    cut_line: int | None = None
    for scope in SCOPES:
        for file in facts.files(scope):
            if file.rel != SUMMARY:
                continue
            path = str(memory_path(scope, file.rel))
            summary, why = (drafts[path], "empty") if path in drafts else _text(facts, path)
            if summary is None:
                entries.append(ContextEntry(path, "out", why, size=file.size, scope=scope))
                continue
            loaded = loaded_summary(summary)
            state, reason = _state(scope, loaded.text, is_cut=loaded.is_cut)
            if state != "out":
                text = loaded.text
                if loaded.is_cut:
                    before = summary[: summary.find(trimmed(summary)) + loaded.head]
                    cut_line = before.count("\n") + 1
            entries.append(
                ContextEntry(
                    path,
                    state,
                    reason,
                    size=len(summary.encode("utf-8", "surrogatepass")),
                    bytes=len(loaded.text.encode()) if state != "out" else 0,
                    tokens=tokens_of(loaded.text) if state != "out" else 0,
                    scope=scope,
                    detail=str(loaded.removed_tokens) if loaded.is_cut else "",
                    marks=marks_in(summary, facts.caps),
                )
            )
    if not entries:
        entries.append(ContextEntry(SUMMARY, "out", "missing"))
    # The marker in the middle is not counted against the cap.
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
    """Return the text of the memory at `path`, a summary, and the reason why it is loaded or not.

    The text is None if the file cannot be read or is not valid UTF-8.
    """
    text = facts.texts.get(path)
    if text is None or text.data is None:
        return None, "unreadable"
    try:
        return text.data.decode(), "loaded"
    except UnicodeDecodeError:
        return None, "not-utf8"


def _instructions(facts: ContextFacts) -> tuple[ContextPart, ...]:
    """Return a tuple with the instructions part of the prompt, or an empty tuple if there are no companions.

    Companions are files that Codex loads beside its memories. The part has the first non-empty instruction
    file of the home, trimmed, and the instruction files of the project, unchanged, up to a limit in bytes.
    """
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
            has_text = bool(_data(facts, companion).decode("utf-8", "replace").strip())
            entries.append(_codex_entry(facts, companion, "out", "bytes" if has_text else "empty", 0))
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
    """Return three lists of existing companions: instructions of the home, those of the project, and others.

    Companions are files that Codex loads beside its memories. A file that is shown under a project but
    belongs to the memory itself is in none of the lists.
    """
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
