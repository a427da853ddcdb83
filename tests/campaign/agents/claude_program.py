"""Runs the real Claude Code against a scripted model on the loopback: nothing leaves the machine, no account
is needed, and what the program sends is kept.

A `ClaudeProgram` owns one directory: the user's home (`user`), the agent's home (`user/.claude`), the
projects (`user/work`). The program is a black box. Of what it sends only the files' own text is compared;
no prompt of it belongs into this project.

How a script is chosen: a prompt that holds `SCRIPT:NAME` gets the steps of `NAME`, one for each answer since
that prompt. A `Rule` comes first; it looks at the newest text of the user. A prompt without a script is
answered with "Done.".

Threading: the service answers in threads of its own; `ClaudeProgram` belongs to one thread. Failure: a
program that says nothing within its time raises `subprocess.TimeoutExpired`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from reverie.agents.claude.locations import directory_of

KEY = "dummy-key-0000000000000000000000"
"""What the program gives for its account. It is no secret of anybody."""
TIMEOUT_S = 120.0
_LONGEST_HOLD_S = 600.0
_SCRIPT = re.compile(r"SCRIPT:([\w.-]+)")
_FILE = re.compile(r"^Contents of (/[^\n]*?) \(([^()\n]*)\):\n\n", re.MULTILINE)
_REMINDER_END = "\n</system-reminder>"

Block = dict[str, Any]
Step = list[Block]
"""One answer of the model: blocks of text and of tool calls (`says`, `calls`), and what happens beside them
(`uses`, `waits`, `holds`, `fails`)."""


def says(text: str) -> Block:
    return {"text": text}


def calls(name: str, **arguments: Any) -> Block:
    """A tool call."""
    return {"tool": name, "input": arguments}


def uses(tokens: int) -> Block:
    """How many tokens the service says that the request had."""
    return {"usage": tokens}


def waits(seconds: float) -> Block:
    """The service takes its time before it answers."""
    return {"sleep": seconds}


def holds(released: threading.Event) -> Block:
    """The service answers only once this is set, or after ten minutes."""
    return {"released": released}


def fails(status: int, kind: str, message: str) -> Block:
    """The service refuses the request."""
    return {"error": [status, kind, message]}


def memory_text(name: str, kind: str, description: str, body: str) -> str:
    """A memory as the program's own instructions shape it."""
    return f"---\nname: {name}\ndescription: {description}\nmetadata:\n  type: {kind}\n---\n\n{body}\n"


def writes_memory(directory: Path, name: str, kind: str, description: str, body: str) -> Block:
    """The call by which the program writes one memory."""
    text = memory_text(name, kind, description, body)
    return calls("Write", file_path=f"{directory}/{name}.md", content=text)


def writes_index(directory: Path, *lines: str) -> Block:
    """The call by which the program writes its index."""
    text = "".join(f"- {line}\n" for line in lines)
    return calls("Write", file_path=f"{directory}/MEMORY.md", content=text)


@dataclass(frozen=True, slots=True)
class Rule:
    """Steps for a request in which all of these match (regular expressions). They count the answers since the
    newest user text."""

    steps: Sequence[Step]
    match: str = ""
    """Of the newest text of the user."""
    system: str = ""
    """Of the system text."""
    shape: str = ""
    """Of the shape that the request demands of the answer, as JSON."""


class ModelService:
    """The scripted Messages API. `scripts` and `rules` may be changed between requests."""

    def __init__(self, port: int = 0) -> None:
        self.scripts: dict[str, Sequence[Step]] = {}
        self.rules: list[Rule] = []
        self._requests: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        service = self

        class Handler(_Handler):
            def answer(self, body: dict[str, Any]) -> tuple[int, Step]:
                return service._take(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="model service", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def requests(self, since: int = 0) -> list[dict[str, Any]]:
        """The requests after the first `since`, oldest first."""
        with self._lock:
            return list(self._requests[since:])

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def _take(self, body: dict[str, Any]) -> tuple[int, Step]:
        with self._lock:
            self._requests.append(body)
            return len(self._requests), _chosen(body, self.scripts, self.rules)


def _chosen(body: dict[str, Any], scripts: Mapping[str, Sequence[Step]], rules: Sequence[Rule]) -> Step:
    """The step that answers a request."""
    messages = [each for each in body.get("messages", []) if each.get("role") in ("user", "assistant")]
    users = [(n, "\n".join(texts_of(each))) for n, each in enumerate(messages) if each["role"] == "user"]
    newest = next(((n, text) for n, text in reversed(users) if text.strip()), (0, ""))
    found = (newest[1], json.dumps(body.get("system", "")), json.dumps(body.get("output_config", "")))
    for rule in rules:
        wanted = (rule.match, rule.system, rule.shape)
        if all(re.search(one, text, re.DOTALL) for one, text in zip(wanted, found, strict=True)):
            return _turn(rule.steps, messages[newest[0] :])
    for place, text in reversed(users):
        names = [name for name in _SCRIPT.findall(text) if name in scripts]
        if names:
            return _turn(scripts[names[-1]], messages[place:])
    return [says("Done.")]


def _turn(steps: Sequence[Step], since: Sequence[dict[str, Any]]) -> Step:
    turn = sum(1 for each in since if each["role"] == "assistant")
    if turn < len(steps):
        return steps[turn]
    last = steps[-1] if steps else [says("Done.")]
    return [says("Done.")] if any("tool" in block for block in last) else last


class _Handler(BaseHTTPRequestHandler):
    """Speaks the part of the protocol that the program needs."""

    protocol_version = "HTTP/1.1"

    def answer(self, body: dict[str, Any]) -> tuple[int, Step]:
        """The number of the request and what to answer."""
        raise NotImplementedError

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing on the terminal."""

    def do_GET(self) -> None:
        self._plain(404, {"type": "error", "error": {"type": "not_found_error", "message": "none"}})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if "count_tokens" in self.path:
            self._plain(200, {"input_tokens": len(raw) // 4})
            return
        if "/v1/messages" not in self.path:
            self.do_GET()
            return
        body = json.loads(raw)
        number, step = self.answer(body)
        usage = next((block["usage"] for block in step if "usage" in block), len(raw) // 4)
        for block in step:
            if "sleep" in block:
                time.sleep(block["sleep"])
            if "released" in block:
                block["released"].wait(_LONGEST_HOLD_S)
            if "error" in block:
                status, kind, text = block["error"]
                self._plain(status, {"type": "error", "error": {"type": kind, "message": text}})
                return
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the program was ended meanwhile
            self._message(body, number, [each for each in step if "text" in each or "tool" in each], usage)

    def _message(self, body: dict[str, Any], number: int, blocks: list[Block], tokens: int) -> None:
        content: list[dict[str, Any]] = []
        for at, block in enumerate(blocks):
            if "text" in block:
                content.append({"type": "text", "text": block["text"]})
            else:
                name, given = block["tool"], block["input"]
                content.append(
                    {"type": "tool_use", "id": f"toolu_{number:06}{at:02}", "name": name, "input": given}
                )
        reason = "tool_use" if any("tool" in block for block in blocks) else "end_turn"
        message: dict[str, Any] = {
            "id": f"msg_{number:06}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": tokens, "output_tokens": 1},
        }
        if not body.get("stream"):
            self._plain(200, {**message, "content": content, "stop_reason": reason})
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        self._event("message_start", message=message)
        for at, block in enumerate(content):
            is_text = block["type"] == "text"
            empty = {"type": "text", "text": ""} if is_text else {**block, "input": {}}
            delta = (
                {"type": "text_delta", "text": block["text"]}
                if is_text
                else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            )
            self._event("content_block_start", index=at, content_block=empty)
            self._event("content_block_delta", index=at, delta=delta)
            self._event("content_block_stop", index=at)
        self._event(
            "message_delta",
            delta={"stop_reason": reason, "stop_sequence": None},
            usage={"output_tokens": 20 * len(content)},
        )
        self._event("message_stop")

    def _event(self, kind: str, **data: Any) -> None:
        self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode())
        self.wfile.flush()

    def _plain(self, status: int, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one prompt."""

    session: str
    """The session's id; empty where the program gave none."""
    text: str
    """What the program answered."""
    requests: tuple[dict[str, Any], ...]
    """What it sent to the model, oldest first."""
    output: str = ""
    """Everything the program printed, for a message about a failure."""


class ClaudeProgram:
    """The program in a directory of its own. `command`: the `claude` command. `port`: 0 for any free one."""

    def __init__(self, command: Path, directory: Path, *, port: int = 0) -> None:
        self.command = command
        self.user = directory.absolute()
        self.home = self.user / ".claude"
        self.work = self.user / "work"
        for each in (self.home, self.work):
            each.mkdir(parents=True, exist_ok=True)
        self.service = ModelService(port)

    def __enter__(self) -> ClaudeProgram:
        return self

    def __exit__(self, *_error: object) -> None:
        self.service.stop()

    def version(self) -> str:
        """What the program says of its version."""
        done = subprocess.run(
            [self.command, "--version"], env=self.environment(), capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    def environment(self, *, flags: bool = False, **more: str) -> dict[str, str]:
        """The program's environment. `flags`: cached feature flags count."""
        own = re.compile(r"CLAUDE_?|ANTHROPIC_|DISABLE_")
        env = {name: value for name, value in os.environ.items() if not own.match(name)}
        env |= {
            "ANTHROPIC_BASE_URL": self.service.address,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CONFIG_DIR": str(self.home),
            "HOME": str(self.user),
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }
        if not flags:
            quiet = (
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
                "DISABLE_TELEMETRY",
                "DISABLE_ERROR_REPORTING",
            )
            env |= dict.fromkeys(quiet, "1")
        return env | more

    def features(self, flags: Mapping[str, Any], *trusted: Path) -> None:
        """Feature flags as a server would have set them, and nothing to click away: the first start is done,
        these folders are trusted. This writes the program's state file, before it runs."""
        path = self.home / ".claude.json"
        state = json.loads(path.read_text()) if path.exists() else {}
        state |= {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "cachedGrowthBookFeatures": dict(flags),
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "autoUpdates": False,
        }
        for place in trusted:
            project = state.setdefault("projects", {}).setdefault(str(place), {})
            project["hasTrustDialogAccepted"] = True
        path.write_text(json.dumps(state))

    # What a person makes

    def file(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def project(self, name: str, files: Mapping[str, str] | None = None, *, repository: bool = True) -> Path:
        """A project's directory with these files; a git repository unless told otherwise."""
        root = self.work / name
        root.mkdir(parents=True, exist_ok=True)
        if repository:
            git(root, "init", "-q", "-b", "main")
        for rel, text in (files or {}).items():
            self.file(root / rel, text)
        return root

    def memory(self, cwd: Path) -> Path:
        """Where the program keeps the memory of a directory (a repository's root, or outside of one)."""
        return self.home / "projects" / directory_of(str(cwd)) / "memory"

    def transcript(self, session: str) -> Path:
        """The transcript of a session."""
        return next(self.home.glob(f"projects/*/{session}.jsonl"))

    # The program at work

    def ask(
        self,
        cwd: Path,
        prompt: str,
        *arguments: str,
        flags: bool = False,
        timeout: float = TIMEOUT_S,
        **environment: str,
    ) -> Answer:
        """One prompt without a terminal (`-p`)."""
        before = len(self.service.requests())
        done = subprocess.run(
            [self.command, "-p", prompt, "--output-format", "json", *arguments],
            cwd=cwd,
            env=self.environment(flags=flags, **environment),
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        told: dict[str, Any] = {}
        with contextlib.suppress(ValueError):
            told = json.loads(done.stdout)
        sent = tuple(self.service.requests(before))
        return Answer(told.get("session_id", ""), told.get("result", ""), sent, done.stdout + done.stderr)

    @contextlib.contextmanager
    def running(self, cwd: Path, *arguments: str, flags: bool = False) -> Iterator[RunningSession]:
        """A session without a terminal that takes several prompts."""
        own = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
        process = subprocess.Popen(
            [self.command, "-p", *own, *arguments],
            cwd=cwd,
            env=self.environment(flags=flags),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            yield RunningSession(self.service, process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()

    @contextlib.contextmanager
    def terminal(self, cwd: Path, *arguments: str, flags: bool = True) -> Iterator[Terminal]:
        """An interactive session in a terminal of tmux. The folder must be trusted (`features`)."""
        env = self.environment(flags=flags)
        kept = re.compile(r"CLAUDE_|ANTHROPIC_|DISABLE_|HOME$|IS_SANDBOX$|PATH$|TMPDIR$")
        passed = [f"{name}={value}" for name, value in env.items() if kept.match(name)]
        terminal = Terminal(f"reverie-{os.getpid()}-{time.monotonic_ns()}")
        command = ["env", *passed, str(self.command), *arguments]
        terminal.tmux("new-session", "-d", "-s", "s", "-x", "120", "-y", "40", "-c", str(cwd), *command)
        try:
            yield terminal
        finally:
            terminal.tmux("kill-server")


def has_tmux() -> bool:
    """Whether interactive sessions can run here."""
    return shutil.which("tmux") is not None


class RunningSession:
    """A session without a terminal that stays."""

    def __init__(self, service: ModelService, process: subprocess.Popen[str]) -> None:
        self._service = service
        self.process = process
        self.id = ""

    def ask(self, text: str) -> Answer:
        """Blocks until the program has answered."""
        before = len(self._service.requests())
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        content = [{"type": "text", "text": text}]
        row = {"type": "user", "message": {"role": "user", "content": content}}
        self.process.stdin.write(json.dumps(row) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            said = json.loads(line)
            if said.get("type") == "result":
                self.id = said["session_id"]
                return Answer(self.id, said.get("result", ""), tuple(self._service.requests(before)))
        return Answer(self.id, "", tuple(self._service.requests(before)))


class Terminal:
    """An interactive session; `socket` names the tmux server, which is ours alone."""

    def __init__(self, socket: str) -> None:
        self._socket = socket

    def tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._socket, *arguments], capture_output=True, text=True, check=False
        )
        return done.stdout

    def screen(self) -> str:
        """What stands on the screen."""
        return self.tmux("capture-pane", "-p", "-t", "s")

    def type(self, line: str) -> None:
        """Type a line and press Enter."""
        self.tmux("send-keys", "-t", "s", "-l", line)
        time.sleep(0.7)
        self.tmux("send-keys", "-t", "s", "Enter")

    def wait_for(self, text: str, timeout: float = 30.0) -> bool:
        """Wait until the screen shows this; False where it never does."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if text in self.screen():
                return True
            time.sleep(0.3)
        return False


def wait_until(happened: Any, timeout: float = 30.0) -> bool:
    """Ask `happened()` until it says yes; False where it never does."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if happened():
            return True
        time.sleep(0.2)
    return False


def git(cwd: Path, *arguments: str) -> None:
    own = ("-c", "user.name=mia", "-c", "user.email=mia@example.com")
    subprocess.run(["git", *own, *arguments], cwd=cwd, check=True, capture_output=True)


def rows(transcript: Path) -> list[dict[str, Any]]:
    """The rows of a transcript that are whole."""
    found = []
    for line in transcript.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


def attachments(transcript: Path, kind: str) -> list[dict[str, Any]]:
    """What the program attached to a session, of one kind."""
    found = (row.get("attachment") for row in rows(transcript) if row.get("type") == "attachment")
    return [each for each in found if isinstance(each, dict) and each.get("type") == kind]


def texts_of(message: Mapping[str, Any]) -> list[str]:
    """The texts of one message of a request."""
    content: Any = message.get("content")
    if isinstance(content, str):
        return [content]
    return [block.get("text", "") for block in content or () if block.get("type") == "text"]


@dataclass(frozen=True, slots=True)
class SentFile:
    """One file as it stands in a request."""

    path: Path
    about: str
    """What the program calls it."""
    text: str


def sent_files(request: Mapping[str, Any]) -> tuple[SentFile, ...]:
    """The files of instructions and memory in a request, in the order in which the model gets them."""
    found = []
    for message in request.get("messages", []):
        for text in texts_of(message):
            marks = list(_FILE.finditer(text))
            for at, mark in enumerate(marks):
                last = at + 1 == len(marks)
                end = text.find(_REMINDER_END, mark.end()) if last else marks[at + 1].start() - 2
                found.append(SentFile(Path(mark[1]), mark[2], text[mark.end() : end if end >= 0 else None]))
    return tuple(found)
