"""What Codex CLI loads: the summary of its memories, up to a cap, and its instructions (formats/codex.md 3).

Pure. Tokens are counted as Codex counts them: four bytes each.
"""

from __future__ import annotations

from collections.abc import Mapping

from reverie.context.facts import SCOPES, Facts
from reverie.context.instructions import Judge, instructions_part
from reverie.context.marks import marked_lines, marks_in
from reverie.context.view import ContextView, Entry, Gauge, Note, Part, Reason, State
from reverie.homes.codex_prompt import INSTRUCTIONS, SUMMARY, SUMMARY_TOKENS, loaded_summary, tokens_of
from reverie.homes.listing import Companion
from reverie.homes.scopes import Scope
from reverie.memory.paths import memory_path


def assemble(facts: Facts, at: int, drafts: Mapping[str, str]) -> ContextView:
    """The view; `drafts` are unsaved texts by memory path. The time does not matter to Codex."""
    parts = (_summary_part(facts, drafts), *instructions_part(facts, _judge(facts), tokens_of))
    return ContextView(
        facts.agent,
        at,
        parts,
        sum(entry.bytes for part in parts for entry in part.entries),
        sum(entry.tokens for part in parts for entry in part.entries),
    )


def _summary_part(facts: Facts, drafts: Mapping[str, str]) -> Part:
    """The newest agents load the summary of the whole home; that of one directory only the first ones did."""
    entries: list[Entry] = []
    text = ""
    cut_line: int | None = None
    for scope in SCOPES:
        for file in facts.files(scope):
            if file.rel != SUMMARY:
                continue
            path = str(memory_path(scope, file.rel))
            said = drafts[path] if path in drafts else _text(facts, path)
            if said is None:
                entries.append(Entry(path, "out", "unreadable", size=file.size, scope=scope))
                continue
            loaded = loaded_summary(said)
            state, reason = _state(scope, loaded.text, is_cut=loaded.is_cut)
            if state != "out":
                text = loaded.text
                if loaded.is_cut:
                    before = said[: len(said) - len(said.lstrip()) + loaded.head]
                    cut_line = before.count("\n") + 1
            entries.append(
                Entry(
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
        entries.append(Entry(SUMMARY, "out", "missing"))
    notes: tuple[Note, ...] = ("codex-off",) if facts.off else ()
    # The marker in the middle comes on top of the cap.
    tokens = min(SUMMARY_TOKENS, sum(entry.tokens for entry in entries))
    gauges = Gauge("tokens", tokens, SUMMARY_TOKENS), Gauge("bytes", len(text.encode()))
    marked = marked_lines([(1, marks_in(text, facts.caps))])
    return Part("summary", tuple(entries), gauges, text, notes, facts.off, cut_line, marked)


def _state(scope: Scope, loaded: str, *, is_cut: bool) -> tuple[State, Reason]:
    if scope is not Scope.GLOBAL:
        return "out", "older"
    if not loaded:
        return "out", "empty"
    return ("cut", "cut") if is_cut else ("in", "loaded")


def _text(facts: Facts, path: str) -> str | None:
    text = facts.texts.get(path)
    return None if text is None or text.data is None else text.data.decode("utf-8", "replace")


def _judge(facts: Facts) -> Judge:
    """Of the instructions in the home the first one that says anything is loaded."""
    said = {
        companion.path.name
        for companion in facts.companions
        if (text := facts.texts.get(str(companion.path))) is not None and (text.data or b"").strip()
    }
    chosen = next((name for name in INSTRUCTIONS if name in said), "")

    def judge(companion: Companion, text: str) -> tuple[State, Reason]:
        if not text.strip():
            return "out", "empty"
        if companion.read_only:  # memories of a kind that nobody knows to be loaded
            return "out", "unseen"
        if companion.path.name == chosen or companion.path.name not in INSTRUCTIONS:
            return "in", "override" if companion.path.name == INSTRUCTIONS[0] else "loaded"
        return "out", "overridden"

    return judge
