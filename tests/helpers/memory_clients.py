"""Programs that use `reverie mcp`: a client over standard streams, and hostile messages for it."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reverie.files.child import own_command

INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}}


class StdioClient:
    """A program that started `reverie mcp` and talks to it, one message after another."""

    def __init__(self, home: Path, profile: Path, *options: str, name: str = "claude-code") -> None:
        words = ["mcp", "--home", str(home), "--profile", str(profile), *options]
        self.process = subprocess.Popen(
            own_command(*words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._last = 0
        client = {"clientInfo": {"name": name, "version": "1"}}
        self.welcome = self.ask("initialize", {**INITIALIZE, **client})["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: Any) -> None:
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, parameters: Any = None) -> dict[str, Any]:
        """Send a request and return its answer; other messages in between are skipped."""
        self._last += 1
        mine = f"mine-{self._last}"
        self.send({"jsonrpc": "2.0", "id": mine, "method": method, "params": parameters or {}})
        while True:
            answer = self.receive()
            if answer.get("id") == mine:
                return answer

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.errors()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def call(self, tool: str, **arguments: Any) -> tuple[bool, str]:
        """Call a tool; return whether it succeeded, and its text."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        result = answer["result"]
        return not result["isError"], result["content"][0]["text"]

    def errors(self) -> str:
        assert self.process.stderr is not None
        self.process.kill()
        return self.process.stderr.read().decode()

    def peak_mib(self) -> float:
        """The largest memory of the server until now (Linux)."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024

    def leave(self) -> int:
        """Close the input of the server and return its exit code."""
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return self.process.wait(60)


_PATHS = (
    *("/memories", "/memories/global", "/memories/global/testing.md", "/memories/global/new.md"),
    *("/memories/../x", "/memories/global/../../../etc/passwd", "/etc/passwd", "/memories/global/%2e%2e/x"),
    *("/memories/global//x", "/memories/global/a/b/c/d.md", "/memories/project/a.md", "", "memories/global"),
    *("/memories/workspace/a.md", "/memories/global/\0", "/memories/global/\ud800.md", "~/.ssh/id_rsa"),
    *("/memories/global/" + "n" * 300, "/memories/global/.git/config", "/memories/global/people", "C:\\x"),
    *("/memories/nowhere/x", "/memories\n/global"),
)
_TEXTS = (
    *("", "x", "line\n" * 50, "\0", "\ud800", "{{REVERIE_SECRET_1}}", "é" * 70_000),
    "---\ndescription: [\n---\n",
)
_TOOLS = (
    *("view", "search", "context", "create", "str_replace", "insert", "delete", "rename"),
    *("save", "", "../view"),
)
_NAMES = (
    *("path", "file_text", "old_str", "new_str", "insert_line", "insert_text", "old_path", "new_path"),
    *("view_range", "query", "command", "offset", "limit", "file_path", "actor", "workspace_id", "program"),
)
_ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 3, 10**30, 1.5, 1e300, float("inf"), [], [1, 2], [0, -5], ["a"], {}, {"a": []}),
    *(["x"] * 50, "../..", "2", [1, -1], [2**40, 2**41], [[[[[]]]]]),
)


def hostile_call(chance: random.Random) -> tuple[str, dict[str, Any]]:
    """A tool and arguments of a program that tries everything; half of them almost right."""

    def value(name: str) -> Any:
        likely = _PATHS if "path" in name else _TEXTS
        return chance.choice(likely if chance.random() < 0.7 else _ODD)

    chosen = chance.choice(_TOOLS[:8] if chance.random() < 0.9 else _TOOLS)
    usual = {
        "view": ("path", "view_range"),
        "search": ("query",),
        "create": ("path", "file_text"),
        "str_replace": ("path", "old_str", "new_str"),
        "insert": ("path", "insert_line", "insert_text"),
        "delete": ("path",),
        "rename": ("old_path", "new_path"),
    }.get(chosen, ())
    names = [*usual, *chance.sample(_NAMES, chance.choice((0, 0, 1, 3)))]
    return chosen, {name: value(name) for name in names}


def hostile_lines(count: int, seed: int) -> Iterator[bytes]:
    """Lines for the server's standard input: calls of tools, broken protocol, and noise; ids are numbers."""
    chance = random.Random(seed)
    for number in range(count):
        tool, arguments = hostile_call(chance)
        message: Any = {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        match chance.randrange(12):
            case 0:
                yield chance.randbytes(chance.randrange(200)).replace(b"\n", b"")
            case 1:
                yield b"[" * chance.choice((1, 200_000))
            case 2:
                message[chance.choice(tuple(message))] = chance.choice((None, [], {}, "x", 10**400, True))
                yield json.dumps(message).encode()
            case 3:
                yield json.dumps(message).encode()[: chance.randrange(80)]
            case 4:
                method = chance.choice(
                    ("initialize", "tools/list", "resources/read", "notifications/cancelled")
                )
                yield json.dumps({**message, "method": method}).encode()
            case 5 if number % 50 == 0:
                yield b'{"jsonrpc": "2.0", "x": "' + b"y" * (9 << 20) + b'"}'
            case _:
                yield json.dumps(message).encode()


def leftovers(home: Path) -> list[str]:
    """What lies beside a home after hostile calls, where nothing should be."""
    return sorted(each.name for each in home.parent.iterdir() if each.name not in (home.name, "profile"))
