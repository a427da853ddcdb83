"""What Reverie shows of a Codex home against what Codex sends and says: the memory summary and the
instructions byte for byte as they reach the model, every thread item by item as the app-server has it.

Each comparison reads through Reverie's own home, as the window does, and looks on disk whether looking
changed anything. Nothing here knows Codex's texts, only the marks around the summary.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaign.agents.base import Entry, Outcome, Programs, differences, snapshot
from campaign.agents.codex_program import (
    AppServer,
    CodexProgram,
    Consolidation,
    Request,
    ScriptedModel,
    make_project,
)
from reverie.agents.codex.home import CodexHome
from reverie.agents.codex.prompt import memory_pieces, trimmed
from reverie.agents.codex.store import version_in_use
from reverie.agents.transcripts import Message, ReadStatistics
from reverie.compose import open_parts
from reverie.context.gather import gather
from reverie.context.recipes import assemble
from reverie.context.view import ContextView, load_states
from reverie.llm.provider import Message as AgentMessage
from reverie.llm.provider import ModelRequest, ModelTurn, Provider, ToolResult, ToolSpec, UserMessage
from reverie.profile import Profile
from reverie.services.models import Models
from reverie.services.workbench import Workbench

_BEGINS = "========= MEMORY_SUMMARY BEGINS =========\n"
_ENDS = "\n========= MEMORY_SUMMARY ENDS ========="
_PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)
_HEADINGS = "v1\n\n## User Profile\n\nBrief.\n\n## User preferences\n\n- tabs\n\n## General Tips\n"
_WRONG_PATCH = "*** Begin Patch\n*** Update File: no.txt\n@@\n-a\n+b\n*** End Patch"

SUMMARIES: Mapping[str, bytes] = {
    "empty": b"",
    "white space only": b"  \n\t\n",
    "short": b"v1\n\nshort\n",
    "all headings": _HEADINGS.encode(),
    "headings in another order": _HEADINGS.replace("Profile", "Tips 2").encode(),
    "space around": b"\n\n  v1 lead and trail  \n\n\n",
    "carriage returns": "v1\r\n\r\nüñï \U0001f680\r\nlines\r\n".encode(),
    "other white space": "\u00a0\u2003v1 x\u3000\u0085".encode(),
    "separators are no space": b"\x1c\x1dv1\x1e\x1f",
    "zero width": "\u200bv1\u200b\ufeff".encode(),
    "byte order mark": b"\xef\xbb\xbfv1\nbom\n",
    "not UTF-8": b"v1\n\xff\xfe bad\n",
    "cut in a character": "v1 ü".encode()[:-1],
    "a surrogate": b"v1 \xed\xa0\x80",
    "null byte": b"v1\x00nul\n",
    "front matter": b"---\nname: x\n---\nv1\n",
    "the end mark within": b"v1\n\n========= MEMORY_SUMMARY ENDS =========\nafter\n",
    "placeholders": b"v1\n{{ memory_summary }} {base_path} {{base_path}} $1 %s\n",
    "9,000 bytes": b"v1\n" + b"a" * 8_997,
    "9,999 bytes": b"v1\n" + b"b" * 9_996,
    "10,000 bytes": b"v1\n" + b"b" * 9_997,
    "10,001 bytes": b"v1\n" + b"b" * 9_998,
    "10,001 bytes and space": b"v1\n" + b"c" * 9_998 + b"\n\n\n",
    "10,004 bytes": b"v1\n" + b"c" * 10_001,
    "40,003 bytes": b"v1\n" + b"d" * 40_000,
    "lines": b"v1\n" + b"line of text 012345\n" * 900,
    "two-byte characters": ("v1\n" + "ü" * 8_000).encode(),
    "three-byte characters": ("v1\nx" + "語" * 4_000).encode(),
    "four-byte characters": ("v1\n" + "\U0001f680" * 3_001).encode(),
    "four-byte characters and lines": ("v1\nx" + "\U0001f680\n" * 2_500).encode(),
}


@dataclass(frozen=True, slots=True)
class _Way:
    """A way in which a home comes to one version of the memory."""

    name: str
    version: str
    config: str = ""
    other_too: bool = False
    """Whether the store of the other version is there too."""


_WAYS = (
    _Way("version 1 by the settings", "v1", 'version = "v1"\n', other_too=True),
    _Way("version 1 by the directory", "v1"),
    _Way("version 2 by the settings", "v2", 'version = "v2"\n', other_too=True),
    _Way("version 2 by default", "v2"),
)
_DIRECTORIES = {"v1": "memories", "v2": "memories_v2"}


@dataclass(frozen=True, slots=True)
class _Instructions:
    """Instruction files below a directory with `home/` and `repo/`; None makes a directory of the name."""

    files: Mapping[str, bytes | str | None]
    config: str = ""
    git: bool = True


_HOME, _HOME_OVER = "home/AGENTS.md", "home/AGENTS.override.md"
_TOP, _SUB, _DEEP = "repo/AGENTS.md", "repo/sub/AGENTS.md", "repo/sub/deep/AGENTS.md"
INSTRUCTIONS: Mapping[str, _Instructions] = {
    "none": _Instructions({}),
    "home only": _Instructions({_HOME: "\n\n  home rules \n\n"}),
    "project only": _Instructions({_TOP: "\n\n  project rules \n\n"}),
    "both": _Instructions({_HOME: "  home rules \n", _TOP: " project rules \n"}),
    "override in the home": _Instructions({_HOME: "home", _HOME_OVER: "over\n", _TOP: "proj"}),
    "empty override in the home": _Instructions({_HOME: "home", _HOME_OVER: " \n", _TOP: "proj"}),
    "override in the project": _Instructions({_TOP: "proj", "repo/AGENTS.override.md": "over\n"}),
    "empty override in the project": _Instructions({_TOP: "proj", "repo/AGENTS.override.md": " \n"}),
    "one in each directory": _Instructions({_HOME: "h", _TOP: "root\n", _SUB: "sub\n\n", _DEEP: "deep\n"}),
    "override in the middle": _Instructions(
        {_TOP: "root\n", _SUB: "sub", "repo/sub/AGENTS.override.md": "over", _DEEP: "deep"}
    ),
    "empty in the middle": _Instructions({_TOP: "root\n", _SUB: "\n \n", _DEEP: "deep"}),
    "no repository": _Instructions({_TOP: "root\n", _SUB: "sub\n", _DEEP: "deep\n"}, git=False),
    "carriage returns": _Instructions({_HOME: b"home\r\nx\r\n", _TOP: b"root\r\ny\r\n"}),
    "byte order marks": _Instructions({_HOME: b"\xef\xbb\xbfhome", _TOP: b"\xef\xbb\xbfroot"}),
    "not UTF-8": _Instructions({_HOME: b"home \xff\xfe end", _TOP: b"root \xff\xfe end"}),
    "other white space": _Instructions({_HOME: "\u00a0\x1chome\u3000", _TOP: "\u2003"}),
    "long": _Instructions({_HOME: "h" * 40_000, _TOP: "p" * 40_000}),
    "long in two": _Instructions({_TOP: "p" * 30_000, _SUB: "q" * 5_000, _DEEP: "r" * 10}),
    "a small budget": _Instructions({_TOP: "p" * 100, _SUB: "q" * 100}, "project_doc_max_bytes = 150\n"),
    "a budget within a character": _Instructions({_TOP: "ü" * 100}, "project_doc_max_bytes = 151\n"),
    "a budget used up by space": _Instructions(
        {_TOP: " " * 90, _SUB: "q" * 90}, "project_doc_max_bytes = 99\n"
    ),
    "no budget": _Instructions({_HOME: "home", _TOP: "p" * 100}, "project_doc_max_bytes = 0\n"),
    "other names": _Instructions(
        {"repo/CLAUDE.md": "claude", _SUB: "agents", "repo/sub/CLAUDE.md": "second"},
        'project_doc_fallback_filenames = ["CLAUDE.md"]\n',
    ),
    "another marker": _Instructions(
        {_TOP: "root\n", "repo/sub/.hg": "", _SUB: "sub\n"}, 'project_root_markers = [".hg"]\n', git=False
    ),
    "no marker": _Instructions({_TOP: "root\n", _DEEP: "deep\n"}, "project_root_markers = []\n"),
    "a directory of the name": _Instructions({_TOP: None, _SUB: "sub"}),
    "lower case": _Instructions({"repo/agents.md": "lower", _SUB: "sub"}),
    "all empty": _Instructions({_HOME: "\n", _TOP: "\n"}),
}

_SCRIPT: list[tuple[str, list[dict[str, Any]]]] = [
    (
        "topic-tools",
        [
            {"shell": "make check && ls", "think": "First the checks.", "comment": "I run the checks first."},
            {"custom": "apply_patch", "input": "*** Begin Patch\n*** Add File: n.txt\n+x\n*** End Patch\n"},
            {"shell": "echo 'ünï \U0001f680'; exit 3"},
            {"say": "The checks pass."},
        ],
    ),
    (
        "topic-agents",
        [
            {
                "call": "spawn_agent",
                "namespace": "multi_agent_v1",
                "args": {"message": "look at the Makefile topic-child", "agent_type": "explorer"},
            },
            {"shell": "sleep 2; echo the parent goes on"},
            {"say": "The helper looked."},
        ],
    ),
    ("topic-child", [{"shell": "cat Makefile"}, {"say": "One target, check."}]),
    ("topic-big", [{"usage": 250_000}, {"shell": "seq 1 300"}, {"say": "Counted."}]),
    ("topic-sleepy", [{"shell": "sleep 25"}, {"say": "slept"}]),
    (
        "topic-patch",
        [
            {"shell": "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch\nEOF"},
            {"shell": f"apply_patch <<'EOF'\n{_WRONG_PATCH}\nEOF"},
            {"say": "Patched."},
        ],
    ),
    ("topic-view", [{"call": "view_image", "args": {"path": "p.png"}}, {"say": "Viewed."}]),
    (
        "topic-fail",
        [
            {"shell": "exit 7"},
            {"shell": "printf '\\377\\376bad'; kill -9 $$"},
            {"shell": "echo 'Process exited with code 9'"},
            {"call": "no_such_tool", "args": {"x": 1}},
            {"say": "It failed."},
        ],
    ),
    (
        "topic-cite",
        [
            {
                "say": "Short answers.\n\n<oai-mem-citation>\n<citation_entries>\n"
                "rollout_summaries/x.md:1-5|note=[short answers]\nMEMORY.md:3-3|note=[more]\n"
                "</citation_entries>\n<rollout_ids>\n019c6e27-e55b-73d1-87d8-4e01f1f75043\n</rollout_ids>\n"
                "</oai-mem-citation>"
            }
        ],
    ),
    (
        "topic-note",
        [
            {
                "call": "add_ad_hoc_note",
                "namespace": "memories",
                "args": {"filename": "2026-11-22T08-10-00-likes-tabs.md", "note": "The user likes tabs.\n"},
            },
            {"say": "Noted."},
        ],
    ),
]


def checks(programs: Programs, directory: Path) -> Iterator[Outcome]:
    """Every rule of this module against the real Codex."""
    rules: tuple[tuple[str, Callable[[Path, Path], Iterator[Outcome]]], ...] = (
        ("the memory summary is shown as Codex sends it", _summaries),
        ("the instructions are shown as Codex sends them", _instructions),
        ("threads are shown as Codex has them", _threads),
        ("the model services of Codex answer Reverie", _services),
    )
    for rule, run in rules:
        if programs.codex is None:
            yield Outcome.skip(rule, "Codex could not be installed.")
        else:
            yield from run(programs.codex, directory / rule.replace(" ", "-"))


# What is loaded


def _summaries(codex: Path, directory: Path) -> Iterator[Outcome]:
    with ScriptedModel() as model:
        model.consolidation = Consolidation(lazy=True)
        for way in _WAYS:
            yield _summaries_of(codex, directory / way.name.replace(" ", "-"), model, way)


def _summaries_of(codex: Path, directory: Path, model: ScriptedModel, way: _Way) -> Outcome:
    program = CodexProgram(codex, directory / "home", model, ["memories.generate_memories=false"])
    config = program.home / "config.toml"
    config.write_text(config.read_text() + way.config)
    store = program.home / _DIRECTORIES[way.version]
    store.mkdir()
    if way.other_too:
        other = program.home / _DIRECTORIES["v2" if way.version == "v1" else "v1"]
        other.mkdir()
        (other / "memory_summary.md").write_text("v1\nof the other version\n")
    cwd = directory / "work"
    cwd.mkdir()
    problems: list[str] = []
    if version_in_use(program.home).name != way.version:
        problems.append(f"Reverie does not take {way.version} for the version in use")
    with program.server() as server:
        _sent(model, server, cwd)
        program.settle()  # the first session starts a consolidation, whatever the settings say
        for name, summary in SUMMARIES.items():
            (store / "memory_summary.md").write_bytes(summary)
            sent = _sent(model, server, cwd)
            view, changed = _view(program.home, cwd, directory)
            problems += [f"{name}: {each}" for each in (*_compared(sent, view, way, store), *changed)]
    return Outcome(f"{way.name}: the summary is shown as Codex sends it", len(SUMMARIES), tuple(problems))


def _compared(sent: Request, view: ContextView, way: _Way, store: Path) -> Iterator[str]:
    pieces = _developer_pieces(sent)
    first = next((at for at, piece in enumerate(pieces) if piece.startswith("## Memory")), len(pieces))
    others = [at for at, piece in enumerate(pieces) if piece.startswith(("<skills", "<permissions"))]
    end = min(others, default=len(pieces))
    block = "".join(pieces[first:end])
    loaded = block[block.index(_BEGINS) + len(_BEGINS) : block.rindex(_ENDS)] if block else ""
    part = view.part("summary")
    shown = part.text if part is not None else ""
    if shown != loaded:
        yield f"Codex sent {_short(loaded)}, Reverie shows {_short(shown)}"
    yield from _states_of_store(view, store, loaded, is_sent=bool(block))
    if max(0, end - first) != memory_pieces("v1" if way.version == "v1" else "v2", store, loaded):
        yield f"Codex sent {end - first} pieces"
    if block and not others:
        yield "nothing followed the memory block"


def _states_of_store(view: ContextView, store: Path, loaded: str, *, is_sent: bool) -> Iterator[str]:
    """Compare the state of the summary with what was sent of it."""
    state = load_states(view).get("/memories/global/memory_summary.md")
    said = (store / "memory_summary.md").read_bytes().decode("utf-8", "replace")
    right = None if not is_sent else "full" if loaded == trimmed(said) else "part"
    if state != right:
        yield f"the summary is “{state}”, but “{right}” of it was sent"


def _states_of_files(view: ContextView, sent: str) -> Iterator[str]:
    """Compare the state of each file of instructions with the message that was sent."""
    for key, state in load_states(view).items():
        path = Path(key)
        if key.startswith("/memories/") or not path.is_file():
            continue
        text = trimmed(path.read_bytes().decode("utf-8", "replace"))
        if state == "full" and text not in sent:
            yield f"{path} is “full”, but not all of it was sent"
        if state == "part" and (text in sent or text[:20] not in sent):
            yield f"{path} is “part”, but all or nothing of it was sent"
        if state not in ("full", "part") and text and text in sent:
            yield f"{path} is “{state}”, but it was sent"


def _short(text: str) -> str:
    return f"{len(text)} characters ({text[:40]!r} … {text[-40:]!r})"


def _instructions(codex: Path, directory: Path) -> Iterator[Outcome]:
    problems: list[str] = []
    with ScriptedModel() as model:
        for name, case in INSTRUCTIONS.items():
            base = directory / name.replace(" ", "-")
            program = CodexProgram(codex, base / "home", model)
            cwd = base / "repo" / "sub" / "deep"
            cwd.mkdir(parents=True)
            if case.git:
                (base / "repo" / ".git").mkdir()
            config = program.home / "config.toml"
            config.write_text(case.config + config.read_text())
            for rel, content in case.files.items():
                path = base / rel
                if content is None:
                    path.mkdir()
                else:
                    path.write_bytes(content.encode() if isinstance(content, str) else content)
            with program.server() as server:
                sent = _sent(model, server, cwd)
            loaded = next((text for text in _user_pieces(sent) if text.startswith("# AGENTS.md")), "")
            view, changed = _view(program.home, cwd, base)
            part = view.part("instructions")
            shown = part.text if part is not None else ""
            problems += [f"{name}: {each}" for each in (*changed, *_states_of_files(view, loaded))]
            if shown != loaded:
                problems.append(f"{name}: Codex sent {loaded[:200]!r}, Reverie shows {shown[:200]!r}")
    yield Outcome("the instructions are shown as Codex sends them", len(INSTRUCTIONS), tuple(problems))


def _sent(model: ScriptedModel, server: AppServer, cwd: Path) -> Request:
    """What a new session sends."""
    first = len(model.requests)
    server.turn(server.start(cwd), "what do you know")
    return next(each for each in model.requests[first:] if each.kind == "turn")


def _view(home: Path, cwd: Path, directory: Path) -> tuple[ContextView, list[str]]:
    """What Reverie shows, and what looking changed in the memory: the program itself is at work elsewhere."""
    profile = directory / "profile"
    before = _memory(home)
    parts = open_parts(home, Profile.under(profile), lambda: 0)
    context = parts.home.context(project_path=str(cwd), project_given=True)
    facts = gather(parts.home, context, Workbench(parts).view(context).scopes, times=(0,))
    view = assemble(facts, 0)
    return view, [f"looking changed the home: {line}" for line in differences(before, _memory(home))]


def _memory(home: Path) -> dict[str, Entry]:
    """Every memory directory that is there, with all that is in it."""
    return {
        f"{name}/{rel}": entry
        for name in _DIRECTORIES.values()
        if (home / name).is_dir()
        for rel, entry in snapshot(home / name).items()
    }


def _developer_pieces(sent: Request) -> list[str]:
    """The pieces of the developer message with what is known, without the base instructions."""
    messages = [
        [piece.get("text", "") for piece in item.get("content") or []]
        for item in sent.body.get("input") or []
        if item.get("role") == "developer"
    ]
    return [piece for message in messages[1:] for piece in message]


def _user_pieces(sent: Request) -> list[str]:
    return [
        piece.get("text", "")
        for item in sent.body.get("input") or []
        if item.get("role") == "user"
        for piece in item.get("content") or []
    ]


# Model services


def _services(codex: Path, directory: Path) -> Iterator[Outcome]:
    """Codex itself has asked the service in its own format before Reverie does."""
    problems: list[str] = []
    with ScriptedModel() as model:
        model.script = [("call the tool", [{"call": "look", "args": {"path": "ü"}}, {"say": "Seen."}])]
        program = CodexProgram(codex, directory / "home", model)
        cwd = directory / "work"
        cwd.mkdir()
        with program.server() as server:
            _sent(model, server, cwd)
        parts = open_parts(program.home, Profile.under(directory / "profile"), lambda: 0)
        models = Models(parts, env={})
        if "mock" not in [service.name for service in models.services()]:
            problems.append("the service of config.toml is not offered")
        chosen = (models.choose(None, "auto").engine, models.choose_extraction("auto").engine)
        if chosen != ("mock:mock-consolidate", "mock:mock-extract"):
            problems.append(f"the models of config.toml are not chosen, but {chosen}")
        turn = asyncio.run(_asked(models.provider("mock:mock-model"), UserMessage("Größe?")))
        if turn.message.text != "Understood: Größe?" or turn.usage is None or turn.finish != "stop":
            problems.append(f"the answer is {turn}")
        first = UserMessage("call the tool")
        turn = asyncio.run(_asked(models.provider("mock:mock-model"), first))
        calls = [(call.name, json.loads(call.arguments)) for call in turn.message.tool_calls]
        if calls != [("look", {"path": "ü"})]:
            problems.append(f"the calls are {calls}")
        results = [ToolResult(call.id, call.name, "nothing") for call in turn.message.tool_calls]
        turn = asyncio.run(_asked(models.provider("mock:mock-model"), first, turn.message, *results))
        if turn.message.text != "Seen.":
            problems.append(f"after the result the answer is {turn.message.text!r}")
    yield Outcome("the model services of Codex answer Reverie", 6, tuple(problems))


async def _asked(provider: Provider, *messages: AgentMessage) -> ModelTurn:
    tool = ToolSpec("look", "Look at a path.", {"type": "object", "properties": {"path": {"type": "string"}}})
    request = ModelRequest("Be brief.", messages, (tool,), 1000, time.monotonic() + 30)
    try:
        return await provider.complete(request, progress=lambda _progress: None)
    finally:
        await provider.close()


# Threads


def _threads(codex: Path, directory: Path) -> Iterator[Outcome]:
    with ScriptedModel() as model:
        model.script = _SCRIPT
        program = CodexProgram(codex, directory / "home", model)
        made = _sessions(program, directory)
        with program.server() as server:
            said = {
                row["id"]: server.ask("thread/read", {"threadId": row["id"], "includeTurns": True})["thread"]
                for row in program.rows("state_5.sqlite", "threads")
            }
            listed = {
                each["id"]: each
                for archived in (False, True)
                for each in server.ask("thread/list", {"limit": 200, "archived": archived})["data"]
            }
        before = snapshot(program.home)
        home = CodexHome(program.home, directory / "cache")
        yield _items_compared(home, said)
        titled = {row["id"]: row["title"] for row in program.rows("state_5.sqlite", "threads")}
        yield _names_compared(home, made, listed, titled)
        changed = tuple(differences(before, snapshot(program.home)))
        yield Outcome("reading every thread changes nothing", len(said), changed)
        yield _hostile(program, directory, made, said)


@dataclass(slots=True)
class _Made:
    """The threads that were made, by what is special about them."""

    ids: dict[str, str] = field(default_factory=dict)
    project: str = ""


def _sessions(program: CodexProgram, directory: Path) -> _Made:
    alpha, beta = (make_project(directory / name) for name in ("alpha", "beta ünï"))
    (alpha / "p.png").write_bytes(_png())
    made = _Made()
    with program.server() as server:
        project = {"idempotencyKey": "k", "name": "The alpha project", "roots": [{"path": str(alpha)}]}
        made.project = server.ask("project/create", project)["project"]["id"]

        def thread(name: str, cwd: Path, *texts: str, **more: object) -> list[str]:
            made.ids[name] = server.start(cwd, **more)
            return [server.turn(made.ids[name], text)["id"] for text in texts]

        def revert(name: str, turn: str) -> None:
            server.ask("thread/revert", {"threadId": made.ids[name], "beforeTurnId": turn})

        def fork(name: str, of: str, *texts: str) -> list[str]:
            made.ids[name] = server.ask("thread/fork", {"threadId": made.ids[of]})["thread"]["id"]
            return [server.turn(made.ids[name], text)["id"] for text in texts]

        thread("tools", alpha, "topic-tools: run the checks", "topic-two: once more")
        server.ask("thread/compact/start", {"threadId": made.ids["tools"]})
        server.wait("turn/completed", made.ids["tools"])
        server.turn(made.ids["tools"], "topic-three after a compaction by hand")
        thread("agents", alpha, "Use a sub-agent for topic-agents")
        thread("big", beta, "topic-big: count", "topic-after the compaction")
        for topic in ("patch", "view", "fail", "cite"):
            thread(topic, alpha, f"topic-{topic} please")
        thread("note", alpha, "topic-note: I like tabs", config={"memories.dedicated_tools": True})
        thread(
            "odd",
            beta,
            "<environment_context> is how I begin, and # AGENTS.md instructions",
            "\u2028 \U0001f680",
        )
        thread("image", alpha)
        image = [{"type": "text", "text": "topic-image: look"}, {"type": "image", "url": _PIXEL}]
        server.ask("turn/start", {"threadId": made.ids["image"], "input": image})
        server.wait("turn/completed", made.ids["image"])
        thread("interrupted", beta)
        words = [{"type": "text", "text": "topic-sleepy: wait"}]
        server.ask("turn/start", {"threadId": made.ids["interrupted"], "input": words})
        turn = server.wait("turn/started", made.ids["interrupted"])["turn"]["id"]
        server.wait("item/started", made.ids["interrupted"])
        server.ask("turn/interrupt", {"threadId": made.ids["interrupted"], "turnId": turn})
        server.wait("turn/completed", made.ids["interrupted"])

        turns = thread("reverted to the start", alpha, "one a", "two a")
        revert("reverted to the start", turns[0])
        server.turn(made.ids["reverted to the start"], "again a")
        turns = thread("reverted twice", alpha, "one b", "two b", "three b")
        revert("reverted twice", turns[2])
        later = [server.turn(made.ids["reverted twice"], f"{word} b")["id"] for word in ("four", "five")]
        revert("reverted twice", later[0])
        server.turn(made.ids["reverted twice"], "six b")
        fork("fork", "reverted twice", "seven b in a fork")
        fork("fork of a fork", "fork", "eight b in a fork of a fork")
        fork("fork reverted into its parent", "fork", "nine")
        revert("fork reverted into its parent", turns[1])
        server.turn(made.ids["fork reverted into its parent"], "ten")
        fork("fork without a word", "reverted twice")
        turns = thread("reverted and left", alpha, "one c", "two c")
        revert("reverted and left", turns[1])
        thread("legacy", beta, "topic-legacy one", "topic-tools in a legacy thread", historyMode="legacy")
        fork("fork of legacy", "legacy", "topic-another way")

        thread("named", beta, "topic-named: …")
        server.ask("thread/name/set", {"threadId": made.ids["named"], "name": "A name given by hand"})
        thread("archived", beta, "topic-archived")
        server.ask("thread/archive", {"threadId": made.ids["archived"]})
        thread("of a project", alpha, "topic-project")
        place = {"threadId": made.ids["of a project"], "projectId": made.project}
        server.ask("thread/metadata/update", place)
        thread("pinned", alpha, "topic-pinned")
        section = program.rows("state_5.sqlite", "thread_sections")[0]["id"]
        server.ask("thread/section/move", {"threadId": made.ids["pinned"], "sectionId": section})
        thread("disabled", alpha, "topic-disabled")
        server.ask("thread/memoryMode/set", {"threadId": made.ids["disabled"], "mode": "disabled"})
        thread("resumed", beta, "topic-resumed one")
    with program.server() as server:
        server.ask("thread/resume", {"threadId": made.ids["resumed"]})
        server.turn(made.ids["resumed"], "topic-resumed two")
    program.exec(alpha, "topic-exec: hello")
    return made


def _items_compared(home: CodexHome, said: Mapping[str, dict[str, Any]]) -> Outcome:
    problems: list[str] = []
    items = 0
    for thread, told in said.items():
        theirs = [each for turn in told["turns"] for each in turn["items"]]
        items += len(theirs)
        mine, reading = _read(home, thread)
        title = f"{told['preview'][:30]!r} ({thread[-12:]})"
        problems += [f"{title}: {each}" for each in _item_differences(mine, theirs)]
        if reading.problems or reading.broken or reading.unknown or reading.half_written:
            problems.append(f"{title}: {reading}")
    problems += [
        f"no thread {thread}" for thread in said if thread not in {each.id for each in home.threads()}
    ]
    return Outcome(f"{len(said)} threads are shown as Codex has them", items, tuple(problems))


def _read(home: CodexHome, thread: str) -> tuple[list[Message], ReadStatistics]:
    from reverie.agents.codex.threads import source_of

    reading = ReadStatistics()
    source = source_of(next(each for each in home.threads() if each.id == thread))
    return (list(home.open_source(source).messages(reading)) if source is not None else []), reading


def _item_differences(mine: list[Message], theirs: list[dict[str, Any]]) -> Iterator[str]:
    """Where our messages are not those of Codex. Tool calls that Codex shows nothing of may be more."""
    left = [
        each
        for each in mine
        if not each.undone and each.kind not in ("context", "event") and not _goes_on(each)
    ]
    went_on = [each for each in mine if _goes_on(each)]
    for item in theirs:
        wanted = _form_of(item)
        if any(_is_call_of(each, item) for each in went_on if item["type"] == "commandExecution"):
            # On a slow machine it ended later than what follows; Codex puts it where it began or ended.
            ended = next((each for each in left if each.tool is not None and _is_call_of(each, item)), None)
            if ended is None or _form(ended) != wanted:
                yield f"Codex has {wanted} later, Reverie {_form(ended) if ended is not None else 'nothing'}"
            else:
                left.remove(ended)
            continue
        while left and left[0].tool is not None and wanted[0] != "tool":
            left.pop(0)
        if wanted[0] == "tool":
            while left and left[0].tool is not None and not _is_call_of(left[0], item):
                left.pop(0)
        if not left or _form(left[0]) != wanted:
            yield f"Codex has {wanted}, Reverie {_form(left[0]) if left else 'nothing'}"
            return
        shown = left.pop(0)
        cited = (item.get("memoryCitation") or {}).get("entries") or []
        if [(each["path"], each["lineStart"], each["lineEnd"], each["note"]) for each in cited] != [
            (each.path, each.first, each.last, each.note) for each in shown.citations
        ]:
            yield f"Codex cites {cited}, Reverie {shown.citations}"
    yield from (f"Reverie has more: {_form(each)}" for each in left if each.tool is None)


def _goes_on(message: Message) -> bool:
    """Whether it is a call whose command outlived its answer: Codex shows it where it ended only."""
    return message.tool is not None and "Process running with session ID" in (message.tool.output or "")


def _form(message: Message) -> tuple[str, str]:
    if message.tool is not None:
        return "tool", "failed" if message.tool.is_error else "done"
    return (
        ("summary", "") if message.kind == "summary" else (f"{message.speaker} {message.kind}", message.text)
    )


def _form_of(item: dict[str, Any]) -> tuple[str, str]:
    kind = item["type"]
    if kind == "userMessage":
        parts = [each["text"] if each["type"] == "text" else "[image]" for each in item["content"]]
        return "user message", "\n".join(parts)
    if kind == "agentMessage":
        return "assistant message", item["text"]
    if kind == "reasoning":
        return "assistant reasoning", "\n\n".join(item["summary"])
    if kind == "contextCompaction":
        return "summary", ""
    return "tool", "failed" if item.get("status") in ("failed", "declined") else "done"


def _is_call_of(message: Message, item: dict[str, Any]) -> bool:
    asked = message.tool.input if message.tool is not None else ""
    words = [action.get("command", "") for action in item.get("commandActions") or []]
    if words:
        # The input of a call is JSON, that of a command shown from its event is the command itself.
        return all(word in asked or json.dumps(word, ensure_ascii=False)[1:-1] in asked for word in words)
    if item["type"] == "fileChange":
        return all(Path(change["path"]).name in asked for change in item["changes"])
    return "prompt" not in item or str(item["prompt"]) in asked


def _names_compared(
    home: CodexHome, made: _Made, listed: Mapping[str, dict[str, Any]], titled: Mapping[str, str]
) -> Outcome:
    problems: list[str] = []
    threads = {each.id: each for each in home.threads()}
    for thread, told in listed.items():
        mine = threads.get(thread)
        own = mine.title if mine is not None else ""
        # The title of a fork is what was said in it first; its preview is that of its parent.
        titles = [told["name"]] if told["name"] else [told["preview"], titled.get(thread)]
        if own not in titles:
            problems.append(f"{thread}: Codex calls it {titles}, Reverie {own!r}")
        if mine is not None and mine.cwd != told["cwd"]:
            problems.append(f"{thread}: Codex says {told['cwd']!r}, Reverie {mine.cwd!r}")
    if threads[made.ids["of a project"]].project != "The alpha project":
        problems.append("the project of a thread is not shown by name")
    names = [project.name for project in home.contents().projects]
    if not any(name.startswith("The alpha project (") for name in names):  # with its directory behind it
        problems.append("a named project is not listed by name")
    if not threads[made.ids["archived"]].archived:
        problems.append("the archived thread is not shown as archived")
    if [each for each, thread in threads.items() if thread.pinned] != [made.ids["pinned"]]:
        problems.append("the pinned thread is not shown as pinned")
    if threads[made.ids["disabled"]].memory_mode != "disabled":
        problems.append("a thread that is not to be remembered is not shown so")
    return Outcome("threads and projects have their names", len(listed) + 5, tuple(problems))


def _hostile(
    program: CodexProgram, directory: Path, made: _Made, said: Mapping[str, dict[str, Any]]
) -> Outcome:
    """Damaged references between files: Codex refuses such a thread, Reverie says why and reads the rest."""
    names = ("reverted twice", "fork", "fork of a fork", "fork without a word", "reverted and left")
    damages: tuple[tuple[str, Callable[[dict[str, Any]], object]], ...] = (
        ("a missing base", lambda base: base.update(thread_id="0" * 8 + base["thread_id"][8:])),
        ("an odd base", lambda base: base.update(thread_id="../../secret")),
        ("no base id", lambda base: base.pop("thread_id")),
        ("an end of another type", lambda base: base.update(end_byte_offset="x", end_ordinal_exclusive=[])),
        ("a huge end", lambda base: base.update(end_byte_offset=10**18, end_ordinal_exclusive=10**18)),
        ("an end in a line", lambda base: base.update(end_byte_offset=base["end_byte_offset"] - 7)),
        ("an end at the start", lambda base: base.update(end_byte_offset=0)),
    )
    problems: list[str] = []
    cases = 0
    for name in names:
        for what, damage in damages:
            copy = directory / "damaged"
            shutil.copytree(program.home / "sessions", copy / "sessions")
            home = CodexHome(copy)
            thread = next(each for each in home.threads() if each.id == made.ids[name])
            assert thread.path is not None
            first, _, rest = thread.path.read_text(encoding="utf-8").partition("\n")
            row = json.loads(first)
            damage(row["payload"]["history_base"])
            thread.path.write_text(json.dumps(row) + "\n" + rest, encoding="utf-8")
            messages, reading = _read(home, thread.id)
            cases += 1
            own = [each["items"] for each in said[thread.id]["turns"]][-1:]
            last = [_form_of(item) for items in own for item in items] if "base" in what else []
            if last and name not in ("fork without a word", "reverted and left"):
                shown = [_form(each) for each in messages if each.kind == "message"]
                if shown[-len(last) :] != last:
                    problems.append(f"{name}, {what}: its own turn is not shown")
            if "base" in what and not reading.problems:
                problems.append(f"{name}, {what}: nothing says what is missing")
            shutil.rmtree(copy)
    return Outcome("a thread with a damaged history is read as far as it goes", cases, tuple(problems))


def _png() -> bytes:
    import base64

    return base64.b64decode(_PIXEL.partition(",")[2])
