"""Makes the sample home of Claude Code (`tests/samples/claude-home`): the real program writes it, with
invented content, and everything that is the program's own text is left out.

Of each record only listed fields are kept, so nothing new can slip in: no prompt, no description of a tool,
no key, no state file. Texts of the program in messages are replaced. Paths are rewritten to those of an
invented user, and directories in `projects/` with them.

`python -m campaign.agents.claude_sample CLAUDE_COMMAND SCRATCH TARGET` (in `tests/`) makes it anew.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from campaign.agents.claude_program import (
    ClaudeProgram,
    Rule,
    calls,
    git,
    says,
    uses,
    writes_index,
    writes_memory,
)
from reverie.agents.claude.locations import directory_of

USER = "/home/mia"
"""Where the invented user lives."""
_RECORD = frozenset(
    {
        *("type", "uuid", "parentUuid", "logicalParentUuid", "isSidechain", "isMeta", "isCompactSummary"),
        *(
            "timestamp",
            "sessionId",
            "cwd",
            "version",
            "gitBranch",
            "userType",
            "entrypoint",
            "subtype",
            "level",
        ),
        *(
            "writtenPaths",
            "verb",
            "forkedFrom",
            "customTitle",
            "agentName",
            "agentId",
            "lastPrompt",
            "leafUuid",
        ),
        *("operation", "mode", "permissionMode", "message", "attachment", "compactMetadata"),
    }
)
_MESSAGE = frozenset({"id", "type", "role", "model", "content", "stop_reason", "usage"})
_ATTACHMENTS = {
    "instructions": frozenset({"files", "changed", "removed", "reason"}),
    "relevant_memories": frozenset({"memories"}),
    "nested_memory": frozenset({"path", "displayPath"}),
    "date": frozenset({"date"}),
}
_FILE = frozenset({"path", "type", "content", "mtimeMs", "limit"})
_KEPT = re.compile(
    r"CLAUDE\.md|settings\.json|history\.jsonl|(rules|style|agents|agent-memory)/.*|sessions/\d+\.json"
    r"|projects/[^/]+/(memory/.*|[^/]+\.jsonl|[^/]+/custom-title\.json|[^/]+/subagents/.*\.jsonl)"
)
_SUMMARY = "The conversation so far, in short: the lamp turns every 12 seconds, 11 in fog."


def make(program: ClaudeProgram) -> None:
    """Have the program use the home."""
    program.file(program.home / "CLAUDE.md", "# Mia\nAnswer briefly.\n@style/tone.md\n<!-- for people -->\n")
    program.file(program.home / "style/tone.md", "Friendly, no exclamation marks.\n")
    program.file(program.home / "rules/commits.md", "Commits in the present tense.\n")
    root = program.project(
        "lighthouse",
        {
            "CLAUDE.md": "# Lighthouse\nBuild with `make lamp`.\n",
            "src/keeper/CLAUDE.md": "The keeper sleeps by day.\n",
            "src/keeper/bed.txt": "A narrow bed.\n",
        },
    )
    git(root, "add", "-A")
    git(root, "commit", "-qm", "light")
    memory = program.memory(root)
    reviewer = program.home / "agent-memory/reviewer"
    program.file(
        program.home / "agents/reviewer.md",
        "---\nname: reviewer\ndescription: Reviews changes\nmemory: user\n---\nYou review.\n",
    )
    program.service.scripts = {
        "remember": [
            [
                says("I will remember that."),
                writes_memory(memory, "lamp-period", "project", "The lamp turns slowly.", "12 seconds."),
                writes_memory(memory, "keeper-hours", "user", "Mia works from 7 to 15.", "Seven to fifteen."),
            ],
            [writes_index(memory, "[Lamp](lamp-period.md) — 12 seconds", "[Keeper hours](keeper-hours.md)")],
            [says("Remembered.")],
        ],
        "work": [
            [calls("Bash", command="echo lit", description="says whether it is lit")],
            [calls("Read", file_path=f"{root}/src/keeper/bed.txt")],
            [says("The bed is narrow."), uses(60_000)],
        ],
        "ask": [
            [calls("Agent", subagent_type="reviewer", description="review", prompt="Look around SCRIPT:sub")],
            [says("The reviewer is done.")],
        ],
        "sub": [
            [writes_memory(reviewer, "lens", "project", "The lens is clean.", "Clean."),
             writes_index(reviewer, "[Lens](lens.md) — clean")],
            [says("The lens is clean.")],
        ],
        "hi": [[says("Hello Mia.")]],
    }  # fmt: skip
    every = ("--permission-mode", "bypassPermissions")
    program.ask(root, "Please remember the period of the lamp SCRIPT:remember", *every)
    worked = program.ask(root, "How wide is the bed? SCRIPT:work", *every).session
    program.service.rules = [Rule([[says(f"<summary>{_SUMMARY}</summary>")]], match=r"\A(?!.*SCRIPT:)")]
    program.ask(root, "/compact", "--resume", worked)
    program.service.rules = []
    program.file(root / "CLAUDE.md", "# Lighthouse\nBuild with `make lamp all`.\n")
    program.ask(root, "And now? SCRIPT:hi", "--resume", worked)
    program.ask(root, "Something else SCRIPT:hi", "--name", "The lamp, by hand")
    program.ask(root, "Ask the reviewer SCRIPT:ask", *every)
    for name in ("a.b", "a-b"):
        place = program.project(name, repository=False)
        program.ask(place, f"Hello from {name} SCRIPT:hi")
    lamp = program.project("lamp")
    wicks = program.memory(lamp)
    program.service.scripts["wicks"] = [
        [
            writes_memory(wicks, f"wick-{n}", "project", f"Wick {n} burns {n} hours.", f"{n} hours.")
            for n in (1, 2)
        ],
        [writes_index(wicks, "[Wick 1](wick-1.md) — 1 hour", "[Wick 2](wick-2.md) — 2 hours")],
        [says("Noted.")],
    ]
    program.ask(lamp, "Remember the wicks SCRIPT:wicks", *every)
    program.features(
        {"tengu_slate_thimble": True, "tengu_passport_quail": True, "tengu_moth_copse": True}, lamp
    )
    chosen = json.dumps({"selected_memories": ["wick-2.md"]})
    program.service.rules = [Rule([[says(chosen)]], shape="selected_memories")]
    program.service.scripts["burn"] = [[calls("Bash", command="true", description="x")], [says("Two hours.")]]
    program.ask(lamp, "How long burns wick 2? SCRIPT:burn", "--allowedTools", "Bash", flags=True)


def redact(home: Path, user: Path, target: Path) -> None:
    """Copy what is kept of `home` to `target`. `user`: the directory of the user who made it."""
    old, new = str(user), USER
    names = (directory_of(old), directory_of(new))
    for path in sorted(home.rglob("*")):
        rel = path.relative_to(home).as_posix()
        if not path.is_file() or not _KEPT.fullmatch(rel) or path.name.startswith("."):
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".jsonl" and path.name != "history.jsonl":
            rows = (_record(json.loads(line)) for line in text.splitlines())
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        text = text.replace(old, new).replace(*names)
        copy = target / rel.replace(*names)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(re.sub(r" ?SCRIPT:\w+", "", text), encoding="utf-8")


def _record(row: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in row.items() if name in _RECORD}
    if row.get("type") == "queue-operation":
        return {name: kept[name] for name in ("type", "operation", "timestamp", "sessionId") if name in kept}
    if str(row.get("lastPrompt", "")).startswith("<"):
        del kept["lastPrompt"]
    if isinstance(row.get("attachment"), dict):
        kept["attachment"] = _attachment(row["attachment"])
    if isinstance(row.get("compactMetadata"), dict):
        sizes = ("trigger", "preTokens", "postTokens")
        kept["compactMetadata"] = {n: row["compactMetadata"][n] for n in sizes if n in row["compactMetadata"]}
    if row.get("type") not in ("user", "assistant"):
        kept.pop("message", None)
    elif isinstance(row.get("message"), dict):
        message = {name: value for name, value in row["message"].items() if name in _MESSAGE}
        message["content"] = _content(row, message.get("content"))
        kept["message"] = message
    return kept


def _attachment(about: dict[str, Any]) -> dict[str, Any]:
    kind = str(about.get("type"))
    kept = {name: value for name, value in about.items() if name in _ATTACHMENTS.get(kind, ())}
    for name in ("files", "memories"):
        if name in kept:
            kept[name] = [{key: value for key, value in each.items() if key in _FILE} for each in kept[name]]
    return {"type": kind, **kept}


def _content(row: dict[str, Any], content: Any) -> Any:
    """The content of a message without words of the program."""
    if row.get("isCompactSummary"):
        return _SUMMARY
    if isinstance(content, str):
        if row.get("isMeta"):
            return "<system-reminder>\nWords of the program.\n</system-reminder>"
        if content.startswith("<local-command-stdout>"):
            return "<local-command-stdout>\x1b[2mDone\x1b[22m</local-command-stdout>"
        tag = re.match(r"<([\w-]+)>", content)
        if tag is None or tag[1] == "command-name":
            return content
        return f"<{tag[1]}>\nWords of the program.\n</{tag[1]}>"
    found = []
    for block in content or ():
        if block.get("type") == "tool_result":
            said = "Done." if not block.get("is_error") else "It failed."
            kept = {name: block[name] for name in ("tool_use_id", "type", "is_error") if name in block}
            found.append({**kept, "content": said})
        elif block.get("type") == "text" and row.get("type") == "user" and block["text"].startswith("<"):
            found.append(
                {"type": "text", "text": "<system-reminder>\nWords of the program.\n</system-reminder>"}
            )
        elif block.get("type") in ("text", "tool_use"):
            found.append(
                {name: block[name] for name in ("type", "text", "id", "name", "input") if name in block}
            )
    return found


def main(arguments: Sequence[str]) -> int:
    """Make the sample anew."""
    command, scratch, target = map(Path, arguments)
    with ClaudeProgram(command, scratch) as program:
        make(program)
    about = target / "README.md"
    text = about.read_text(encoding="utf-8") if about.exists() else ""
    shutil.rmtree(target, ignore_errors=True)
    redact(program.home, program.user, target)
    about.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
