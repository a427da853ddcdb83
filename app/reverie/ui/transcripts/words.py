"""How a transcript is told: who speaks, what kind of entry it is, what became of a tool call.

Pure but for the translation.
"""

from __future__ import annotations

import json
import re

from reverie.homes.listing import Source
from reverie.transcripts.paging import Facts
from reverie.transcripts.reading import Citation, Message, ToolUse
from reverie.ui import words
from reverie.ui.shown import visible
from reverie.ui.translation import counted, tr

_PREVIEW = 160
_SMALL = 20_000
_TELLING = (
    "command", "cmd", "script", "file_path", "path", "pattern", "query", "url", "prompt", "description",
)  # fmt: skip
_SECTION = re.compile(r"in section “(.*)”")
SEPARATOR = " · "


def who(message: Message) -> str:
    """Who speaks, or what the entry is."""
    name = {
        "reasoning": tr("Reasoning"),
        "context": tr("Put in by the agent"),
        "summary": tr("Summary of what came before"),
        "event": tr("Event"),
        "tool": tr("Tool"),
    }.get(message.kind, "")
    return (
        name
        or {
            "user": tr("You"),
            "assistant": tr("Assistant"),
            "system": tr("System"),
            "tool": tr("Tool"),
        }[message.speaker]
    )


def facts_of(message: Message) -> tuple[str, ...]:
    """What else stands in the first line of an entry."""
    found = []
    if message.tool is not None:
        found.append(tool_state(message.tool))
    if message.undone:
        found.append(tr("taken back"))
    if message.side:
        found.append(tr("sub-agent"))
    if message.timestamp is not None:
        found.append(words.when(message.timestamp))
    if message.model and message.speaker == "assistant":
        found.append(visible(message.model))
    return tuple(found)


def tool_state(tool: ToolUse) -> str:
    if tool.output is None:
        return tr("no result")
    return tr("failed") if tool.is_error else tr("done")


def result() -> str:
    """Above what a tool answered."""
    return tr("Result")


def told(tool: ToolUse) -> str:
    """What a tool was told, in short: the one thing that says it, where there is one."""
    if len(tool.input) > _SMALL or not tool.input.startswith("{"):
        return tool.input
    try:
        value = json.loads(tool.input)
    except (ValueError, RecursionError):
        return tool.input
    for key in _TELLING:
        found = value.get(key) if isinstance(value, dict) else None
        if isinstance(found, str) and found:
            return found
        if isinstance(found, list) and found and all(isinstance(each, str) for each in found):
            return found[2] if len(found) == 3 and found[1] in ("-c", "-lc") else " ".join(found)
    return tool.input


def preview(message: Message) -> str:
    """The beginning of what is folded, on one line."""
    text = message.text
    if message.tool is not None:
        text = f"{message.tool.name}  {told(message.tool)}"
    return visible(" ".join(text[: 4 * _PREVIEW].split()))[:_PREVIEW]


def memory_used(message: Message) -> tuple[str, ...]:
    """What an answer says it used of the agent's memory, a line each; empty for nothing."""
    found = [citation(each) for each in message.citations]
    found += [tr("earlier session {id}").format(id=each) for each in message.cited_threads]
    return (tr("Memory used:"), *(f"• {each}" for each in found)) if found else ()


def citation(cited: Citation) -> str:
    """A place in the agent's memory, and what it was used for."""
    if not cited.first:
        place = cited.path
    elif cited.first == cited.last:
        place = tr("{path}, line {first}").format(path=cited.path, first=cited.first)
    else:
        place = tr("{path}, lines {first} to {last}").format(
            path=cited.path, first=cited.first, last=cited.last
        )
    return f"{place}: {cited.note}" if cited.note else place


def left_out(count: int) -> str:
    return counted("1 character is left out here.", "%n characters are left out here.", count)


def read_so_far(entries: int, first: int, facts: Facts, *, at_end: bool) -> str:
    """The line of facts below a transcript. `entries`: those read so far, `first`: the first one shown."""
    said = counted("1 entry", "%n entries", entries)
    found = [said if at_end else tr("{entries} so far").format(entries=said)]
    if first:
        found.append(tr("shown from number {number}").format(number=first + 1))
    if facts.unknown:
        found.append(counted("1 line of an unknown kind", "%n lines of an unknown kind", facts.unknown))
    if facts.broken:
        found.append(counted("1 broken line", "%n broken lines", facts.broken))
    if facts.half_written:
        found.append(tr("the last line is half-written"))
    return SEPARATOR.join(found)


def state_of(source: Source) -> str:
    """What is special about a transcript."""
    told = ", ".join(_state(part) for part in source.state.split(", ")) if source.state else ""
    if source.archived and "archived" not in source.state:
        told = ", ".join(each for each in (tr("archived"), told) if each)
    return told


def _state(part: str) -> str:
    known = {
        "archived": tr("archived"),
        "sub-agent": tr("sub-agent"),
        "pinned": tr("pinned"),
        "memory disabled": tr("not to be remembered"),
        "extraction failed": tr("extraction failed"),
    }
    section = _SECTION.fullmatch(part)
    if section is not None:
        return tr("in section “{name}”").format(name=visible(section[1]))
    return known.get(part) or visible(part)


def job_state(state: str) -> str:
    return {
        "waiting": tr("waiting"),
        "running": tr("running"),
        "done": tr("done"),
        "failed": tr("failed"),
        "stale": tr("stale"),
    }.get(state, visible(state))


def job_kind(kind: str) -> str:
    return {"extraction": tr("Extraction"), "consolidation": tr("Consolidation")}.get(kind, visible(kind))
