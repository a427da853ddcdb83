"""Runs the real Codex CLI against a scripted model, so that a real home results and prompts can be read.

`ScriptedModel` is a Responses API on the loopback: it answers turns by a script, extracts and consolidates
memories in a plain way, and keeps every request. `CodexProgram` starts sessions in a home, ages its threads,
waits for both memory phases and reads the jobs through copies of the databases. Nothing leaves the machine,
and every name and text is invented.

Threading: the model answers in threads of its own; everything else is for one thread. Failure: a program that
does not answer raises `TimeoutError`.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import queue
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Json = dict[str, Any]

_CONFIG = """model = "mock-model"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.mock]
name = "mock"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[features]
memories = true

[analytics]
enabled = false

[memories]
min_rollout_idle_hours = 1
max_rollouts_per_startup = 20
extract_model = "mock-extract"
consolidation_model = "mock-consolidate"
"""

_CONSOLIDATE = """
set -e
cd "{root}"
sleep {delay}
{python} - <<'PY'
import glob, os, re
by = dict()
for name in sorted(glob.glob('rollout_summaries/*.md')):
    head = dict(re.findall(r'(?m)^([a-z_]+): (.*)$', open(name, encoding='utf-8').read()))
    by.setdefault(head.get('cwd', 'unknown'), []).append((name, head))
old = ''
for name in ('MEMORY.md', 'memory_summary.md'):
    if os.path.exists(name):
        old += open(name, encoding='utf-8').read() + chr(10)
kept = list(dict.fromkeys(line for line in old.splitlines() if 'KEEP' in line))
for name in sorted(glob.glob('extensions/ad_hoc/notes/*.md')):
    kept += ['- [note] ' + ' '.join(open(name, encoding='utf-8').read().split())]
kept = list(dict.fromkeys(kept))
tips = ''.join(line + chr(10) for line in kept)
if {handbook}:
    out = []
    for cwd, items in by.items():
        project = os.path.basename(cwd)
        out.append('# Task Group: %s / upkeep\\nscope: what was learnt in %s\\n'
                   'applies_to: cwd=%s; reuse_rule=safe for similar runs here\\n' % (project, project, cwd))
        for n, (name, head) in enumerate(items, 1):
            out.append('\\n## Task %d: %s, success\\n\\n### rollout_summary_files\\n\\n- %s (cwd=%s, '
                       'rollout_path=%s, updated_at=%s, thread_id=%s)\\n\\n### keywords\\n\\n'
                   '- %s, make check\\n'
                       % (n, os.path.basename(name)[:-3], name, cwd, head.get('rollout_path'),
                          head.get('updated_at'), head.get('thread_id'), project))
        out.append('\\n## User preferences\\n\\n- in %s the user likes short answers [Task 1]\\n'
                   '\\n## Reusable knowledge\\n\\n- `make check` in %s runs everything [Task 1]\\n'
                   '\\n## Failures and how to do differently\\n\\n- no venv -> create it first [Task 1]\\n\\n'
                   % (project, cwd))
    if tips:
        out.append('# Task Group: kept\\nscope: lines of the user\\n'
                   'applies_to: cwd=*; reuse_rule=general\\n\\n## User preferences\\n\\n' + tips)
    open('MEMORY.md', 'w', encoding='utf-8').write(''.join(out) or '# Task Group: none\\n')
text = ('v1\\n\\n## User Profile\\n\\nThe user keeps several small projects.\\n\\n## User preferences\\n\\n'
        '- short answers\\n\\n## General Tips\\n\\n- run `make check` before saying done\\n' + tips +
        '\\n## What\\'s in Memory\\n')
for cwd, items in by.items():
    text += '\\n### %s\\n\\n#### %s\\n\\n' % (cwd, items[0][1].get('updated_at', '')[:10])
    for name, head in items[-20:]:  # Codex refuses a summary of 10,000 bytes and more
        text += '- %s \\u2014 make check, tests; thread_id=%s\\n' % (name, head.get('thread_id'))
open('memory_summary.md', 'w', encoding='utf-8').write(text)
PY
{more}
"""


@dataclass(frozen=True, slots=True)
class Request:
    """One request that the program sent to the model."""

    number: int
    kind: str
    """phase1, phase2, compact or turn."""
    body: Json

    @property
    def developer_text(self) -> str:
        """All pieces of all developer messages, in order, without anything between them."""
        return "".join(
            piece.get("text", "")
            for item in self.body.get("input") or []
            if isinstance(item, dict) and item.get("role") in ("developer", "system")
            for piece in item.get("content") or []
            if isinstance(piece, dict)
        )

    @property
    def typed(self) -> list[str]:
        return [text for _, text in _typed(self.body)]


@dataclass(slots=True)
class Consolidation:
    """What the scripted consolidation agent does."""

    delay: float = 0.0
    """Seconds it waits in its shell before it reads and writes; Codex holds its lock for all of it."""
    lazy: bool = False
    """Whether it changes nothing at all."""
    more: str = ""
    """Shell commands after its own rewriting, in the memory directory."""
    only: str = ""
    """Shell commands instead of its own rewriting, in the memory directory."""

    def command(self, root: str) -> str:
        if self.lazy:
            return "true"
        if self.only:
            return f'set -e\ncd "{root}"\n{self.only}'
        handbook = "False" if root.endswith("_v2") else "True"
        fields = {"root": root, "delay": f"{self.delay}", "handbook": handbook, "more": self.more}
        fields["python"] = sys.executable
        return re.sub(r"\{(root|delay|handbook|more|python)\}", lambda found: fields[found[1]], _CONSOLIDATE)


@dataclass(frozen=True, slots=True)
class Job:
    """A row of the agent's own table of memory jobs."""

    database: str
    kind: str
    key: str
    status: str
    last_error: str
    retry_at: int | None
    touched_at: int
    """When it began or ended last, seconds since the epoch; 0 for never."""


class ScriptedModel:
    """The model behind Codex. Use it as a context manager."""

    def __init__(self, port: int = 0) -> None:
        self.requests: list[Request] = []
        self.script: list[tuple[str, list[Json]]] = []
        """`(text in the newest typed message, steps)`. A step is {"shell": command}, {"call": tool, "args":
        {...}, "namespace"?}, {"custom": tool, "input": text}, {"say": text} or {"usage": total tokens}; any
        may have "think" and "comment"."""
        self.consolidation = Consolidation()
        self.extract_delay = 0.0
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        model = self

        class Handler(_Handler):
            scripted = model

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])

    def __enter__(self) -> ScriptedModel:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def keep(self, kind: str, body: Json) -> int:
        with self._lock:
            number = next(self._numbers)
            self.requests.append(Request(number, kind, body))
        return number

    def of_kind(self, kind: str) -> list[Request]:
        with self._lock:
            return [each for each in self.requests if each.kind == kind]

    def items(self, kind: str, body: Json, number: int) -> tuple[list[Json], int]:
        """The output items of one answer, and the tokens it claims to have used."""
        if kind == "phase1":
            time.sleep(self.extract_delay)
            return [_message(number, json.dumps(_extracted(body), ensure_ascii=False))], 1000
        if kind == "compact":
            return [_message(number, "SUMMARY: the work so far; the checks pass.")], 1000
        steps, done = self._steps(kind, body)
        usage = next((step["usage"] for step in steps if "usage" in step), 1000)
        plain = [step for step in steps if "usage" not in step]
        step = plain[done] if done < len(plain) else {"say": "All done."}
        items: list[Json] = []
        if step.get("think"):
            summary = [{"type": "summary_text", "text": step["think"]}]
            items.append({"type": "reasoning", "id": f"rs_{number}", "summary": summary, "content": []})
        if "comment" in step:
            items.append(_message(number, step["comment"], "commentary"))
        if "shell" in step:
            step = {**step, **_shell(body, step["shell"])}
        if "call" in step:
            call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
            call |= {"name": step["call"], "arguments": json.dumps(step.get("args", {}))}
            if step.get("namespace"):
                call["namespace"] = step["namespace"]
            items.append(call)
        elif "custom" in step:
            call = {"type": "custom_tool_call", "id": f"ct_{number}", "call_id": f"call_{number}"}
            items.append(call | {"name": step["custom"], "input": step["input"], "status": "completed"})
        else:
            items.append(_message(number, step["say"]))
        return items, usage

    def _steps(self, kind: str, body: Json) -> tuple[list[Json], int]:
        typed = _typed(body)
        at, text = typed[-1] if typed else (-1, "")
        calls = ("function_call", "custom_tool_call", "local_shell_call")
        later = (body.get("input") or [])[at + 1 :]
        done = sum(1 for item in later if isinstance(item, dict) and item.get("type") in calls)
        if kind == "phase2":
            every = "\n".join(text for _, text in typed)
            root = re.search(
                r"(?:Memory workspace|Folder structure \(under|in) ?`?((?:/[^\s`)]+)*/memories(?:_v2)?)",
                every,
            )
            command = self.consolidation.command(root[1] if root else "$PWD")
            return [{"shell": command}, {"say": "Consolidation done."}], done
        for match, steps in self.script:
            if match in text:
                return steps, done
        return [{"say": f"Understood: {text.strip()[:80]}"}], done


class AppServer:
    """One `codex app-server` over standard input and output. Use it as a context manager."""

    def __init__(self, codex: Path, environment: dict[str, str], arguments: Sequence[str] = ()) -> None:
        self._process = subprocess.Popen(
            [str(codex), "app-server", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
        )
        self._numbers = itertools.count(1)
        self._answers: dict[int, Json] = {}
        self._notices: queue.Queue[Json] = queue.Queue()
        self._arrived = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()
        client = {"name": "codex_vscode", "title": "campaign", "version": "1"}
        self.ask("initialize", {"clientInfo": client, "capabilities": {"experimentalApi": True}})
        self._send({"method": "initialized"})

    def __enter__(self) -> AppServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, method: str, parameters: Json | None = None, *, timeout: float = 60) -> Json:
        """The result of one request. Raises `RuntimeError` with the program's own error."""
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": parameters or {}})
        with self._arrived:
            if not self._arrived.wait_for(lambda: number in self._answers, timeout):
                raise TimeoutError(method)
            answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: Json = answer["result"]
        return result

    def wait(self, method: str, thread: str | None = None, *, timeout: float = 120) -> Json:
        """The parameters of the next notice of this kind. Other notices are dropped."""
        end = time.monotonic() + timeout
        while True:
            try:
                notice = self._notices.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(method) from None
            parameters: Json = notice.get("params") or {}
            if notice["method"] == method and thread in (None, parameters.get("threadId")):
                return parameters

    def start(self, cwd: Path, **more: object) -> str:
        """Start a thread; the id."""
        return str(self.ask("thread/start", {"cwd": str(cwd), **more})["thread"]["id"])

    def turn(self, thread: str, text: str, *, timeout: float = 120) -> Json:
        """Say something in a thread and wait for the answer; the finished turn."""
        self.ask("turn/start", {"threadId": thread, "input": [{"type": "text", "text": text}]})
        turn: Json = self.wait("turn/completed", thread, timeout=timeout)["turn"]
        return turn

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _send(self, message: Json) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if "id" in message and "method" not in message:
                with self._arrived:
                    self._answers[message["id"]] = message
                    self._arrived.notify_all()
            elif "id" in message:
                self._send({"id": message["id"], "result": {"decision": "accept"}})
            else:
                self._notices.put(message)


@dataclass(slots=True)
class CodexProgram:
    """The real Codex in one home, with a scripted model."""

    codex: Path
    home: Path
    model: ScriptedModel
    settings: list[str] = field(default_factory=list)
    """More `-c key=value` settings for every start."""

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        config = self.home / "config.toml"
        if not config.exists():
            config.write_text(_CONFIG.format(port=self.model.port))

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.lower().endswith("_proxy") and not key.startswith("CODEX_")
        }
        # Codex makes no helper programs for a home that lies below the temporary directory.
        temporary = self.home.resolve().parent / "codex-tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        # Its shell reads the start-up files of this directory: none, so that nothing of a person's slows it.
        return kept | {
            "HOME": str(temporary),
            "CODEX_HOME": str(self.home),
            "TMPDIR": str(temporary),
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }

    @contextmanager
    def generating_nothing(self) -> Iterator[None]:
        """Switch off in `config.toml`, for the block, that Codex extracts threads itself."""
        config = self.home / "config.toml"
        before = config.read_text()
        config.write_text(before.replace("[memories]\n", "[memories]\ngenerate_memories = false\n", 1))
        try:
            yield
        finally:
            config.write_text(before)

    def server(self, *settings: str) -> AppServer:
        return AppServer(self.codex, self.environment, self._arguments(settings))

    def version(self) -> str:
        done = subprocess.run([self.codex, "--version"], env=self.environment, capture_output=True, text=True)
        return done.stdout.strip()

    def exec(self, cwd: Path, *arguments: str, timeout: float = 120) -> str:
        """`codex exec`; what it printed."""
        done = subprocess.run(
            [str(self.codex), "exec", "--skip-git-repo-check", *self._arguments(()), *arguments],
            cwd=cwd,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        return done.stdout + done.stderr

    def age(self, hours: float = 30) -> None:
        """Make every thread, and every memory job, that much older. No program may be running."""
        seconds = int(hours * 3600)
        with _database(self.home / "state_5.sqlite") as state:
            rows = state.execute("SELECT id, rollout_path FROM threads").fetchall()
            for key, path in rows:
                state.execute(
                    "UPDATE threads SET updated_at=updated_at-:s, created_at=created_at-:s,"
                    " recency_at=recency_at-:s, updated_at_ms=updated_at_ms-:s*1000,"
                    " created_at_ms=created_at_ms-:s*1000, recency_at_ms=recency_at_ms-:s*1000 WHERE id=:id",
                    {"s": seconds, "id": key},
                )
                if Path(path).exists():
                    status = Path(path).stat()
                    os.utime(path, (status.st_atime - seconds, status.st_mtime - seconds))
        for name in _MEMORY_DATABASES:
            if (self.home / name).exists():
                with _database(self.home / name) as books:
                    for column in ("started_at", "finished_at", "retry_at", "lease_until"):
                        # Also of a job that was running when its program ended, whose lease is over then.
                        books.execute(
                            f"UPDATE jobs SET {column}={column}-? WHERE {column} IS NOT NULL", (seconds,)
                        )

    def rows(self, database: str, table: str) -> list[Json]:
        """Every row of a table, through a copy of the database; empty where there is none."""
        path = self.home / database
        if not path.exists():
            return []
        with tempfile.TemporaryDirectory() as copy:
            for end in ("", "-wal"):
                if Path(f"{path}{end}").exists():
                    shutil.copy(f"{path}{end}", Path(copy) / f"{database}{end}")
            connection = sqlite3.connect(Path(copy) / database)
            connection.row_factory = sqlite3.Row
            try:
                return [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]
            except sqlite3.OperationalError:
                return []
            finally:
                connection.close()

    def jobs(self) -> list[Job]:
        return [
            Job(
                name,
                row["kind"],
                row["job_key"],
                row["status"],
                row["last_error"] or "",
                row["retry_at"],
                max(row["started_at"] or 0, row["finished_at"] or 0),
            )
            for name in _MEMORY_DATABASES
            for row in self.rows(name, "jobs")
        ]

    def consolidations(self) -> dict[str, Job]:
        """The job of phase two of each database that has one."""
        return {job.database: job for job in self.jobs() if job.key == "global"}

    def start_up(
        self, cwd: Path, say: str = "good morning", *settings: str, seconds: float = 90
    ) -> tuple[Request, list[Job]]:
        """Open a root session, which starts the memory pipeline, and wait until no memory job runs.

        The request that the session sent, and the jobs afterwards.
        """
        with self.server(*settings) as server:
            first, began = len(self.model.requests), int(time.time())
            server.turn(server.start(cwd), say)
            self.settle(seconds, since=began)
        sent = [each for each in self.model.requests[first:] if each.kind == "turn" and say in each.typed]
        return sent[0], self.jobs()

    def settle(self, seconds: float = 90, *, since: int = 0) -> None:
        """Wait until no memory job has run for two seconds; for ten where no consolidation was tried after
        `since`, as a busy machine begins it late. A job that an earlier program left running is not waited
        for: Codex takes it over at some later start."""
        end, quiet = time.monotonic() + seconds, 0
        while True:
            jobs = self.jobs()
            running = any(job.status == "running" and job.touched_at >= since for job in jobs)
            quiet = 0 if running else quiet + 1
            begun = any(job.key == "global" and job.touched_at >= since for job in jobs)
            if quiet >= (4 if begun else 20):
                return
            if time.monotonic() > end:
                raise TimeoutError(f"memory jobs of Codex: {[job for job in jobs if job.status != 'done']}")
            time.sleep(0.5)

    def locked(self) -> list[str]:
        """Which of the locks of phase two somebody holds now."""
        return [name for name in ("memories.lock", "memories_v2.lock") if _held(self.home / name)]

    def prompt(self, cwd: Path, say: str = "what do you know") -> Request:
        """What a new session sends to the model, with no memory pipeline behind it."""
        first = len(self.model.requests)
        self.exec(cwd, "--ephemeral", say)
        sent = [each for each in self.model.requests[first:] if each.kind == "turn" and say in each.typed]
        return sent[0]

    def _arguments(self, settings: Sequence[str]) -> list[str]:
        # The port of the model may be another one than when the home was made.
        always = [f'model_providers.mock.base_url="http://127.0.0.1:{self.model.port}/v1"', *self.settings]
        return [piece for each in (*always, *settings) for piece in ("-c", each)]


@contextmanager
def holding(lock: Path) -> Iterator[None]:
    """Hold `flock` on a file that need not exist, as Codex does during phase two."""
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def make_project(directory: Path) -> Path:
    """A small repository with a Makefile and an AGENTS.md."""
    directory.mkdir(parents=True)
    (directory / "Makefile").write_text("check:\n\t@echo ok\n")
    (directory / "AGENTS.md").write_text(f"Rules of {directory.name}: run make check.\n")
    name = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    for arguments in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "init")):
        subprocess.run(["git", *name, *arguments], cwd=directory, check=True, capture_output=True)
    return directory


_MEMORY_DATABASES = ("memories_1.sqlite", "memories_v2_1.sqlite")
_SET_UP = ("<environment_context>", "# AGENTS.md", "<user_instructions>", "<skill>")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    scripted: ScriptedModel

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        if self.path.split("?")[0].endswith("/models"):
            models = [{"id": "mock-model", "object": "model"}]
            self._reply(200, {"object": "list", "models": [], "data": models})
        else:
            self._reply(404, {})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "zstd":
            raw = subprocess.run(["zstd", "-dc"], input=raw, capture_output=True, check=True).stdout
        body = json.loads(raw)
        kind = _kind(body, self.path)
        number = self.scripted.keep(kind, body)
        items, tokens = self.scripted.items(kind, body, number)
        usage = {
            "input_tokens": tokens - 10,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens,
        }
        response = {"id": f"resp_{number}", "status": "completed", "output": items, "usage": usage}
        if body.get("stream") is False:
            self._reply(200, {"object": "response", **response})
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self._event("response.created", {"response": {"id": f"resp_{number}"}})
        for at, item in enumerate(items):
            begun = item | {"content": []} if item["type"] == "message" else item
            self._event("response.output_item.added", {"output_index": at, "item": begun})
            if item["type"] == "message":
                delta = {"output_index": at, "content_index": 0, "item_id": item["id"]}
                delta["delta"] = item["content"][0]["text"]
                self._event("response.output_text.delta", delta)
            self._event("response.output_item.done", {"output_index": at, "item": item})
        self._event("response.completed", {"response": response})
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, name: str, data: Json) -> None:
        piece = f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()
        self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        self.wfile.flush()

    def _reply(self, code: int, answer: Json) -> None:
        body = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _text(item: Json) -> str:
    content = item.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(piece.get("text", "") for piece in content or [] if isinstance(piece, dict))


def _typed(body: Json) -> list[tuple[int, str]]:
    """`(index, text)` of the user messages that a person typed."""
    return [
        (at, _text(item))
        for at, item in enumerate(body.get("input") or [])
        if isinstance(item, dict)
        and item.get("role") == "user"
        and not _text(item).lstrip().startswith(_SET_UP)
    ]


def _kind(body: Json, path: str) -> str:
    items = [item for item in body.get("input") or [] if isinstance(item, dict)]
    rules = (body.get("instructions") or "") + "".join(
        _text(item) for item in items if item.get("role") in ("developer", "system")
    )
    typed = [text for _, text in _typed(body)]
    every = rules + "\n".join(typed)
    if path.endswith("/compact") or "CONTEXT CHECKPOINT COMPACTION" in rules + (typed[-1] if typed else ""):
        return "compact"
    if "Memory Writing Agent: Phase 1" in rules or "You are part of an agent memory system" in rules:
        return "phase1"
    if "Memory Writing Agent: Phase 2" in every or "Consolidate the supplied rollout summaries into" in every:
        return "phase2"
    return "turn"


def _extracted(body: Json) -> Json:
    """What phase one answers: "NOTHING WORTH KEEPING" and "BREAK THE EXTRACTION" in a rollout choose."""
    typed = _typed(body)[-1][1]
    found = re.search(r"rollout_(?:primary_)?cwd(?:_hint)?: (\S+)", typed)
    cwd = found[1] if found else "unknown"
    project = Path(cwd).name
    wanted = json.dumps((body.get("text") or {}).get("format") or {})
    raw_too = "raw_memory" in wanted or "rollout_summary" not in wanted
    if "BREAK THE EXTRACTION" in typed:
        return {"oops": 1}
    if "NOTHING WORTH KEEPING" in typed:
        return {"rollout_summary": "", "rollout_slug": "", **({"raw_memory": ""} if raw_too else {})}
    topic = re.search(r"topic[- ]([a-z0-9]+)", typed)
    slug = f"{project}-{topic[1]}" if topic else f"{project} work"
    summary = (
        f"# Rollout of {project}\n\nRollout context: cwd={cwd}\n\n## Task 1: make {slug} pass\n\n"
        f"Outcome: success\n\nPreference signals:\n- the user prefers short answers in {project}\n\n"
        f"Key steps:\n- ran the tests, then fixed the failing one\n\nReusable knowledge:\n"
        f"- `make check` in {cwd} runs everything\n"
    )
    raw = (
        f"---\ndescription: {slug} finished\ntask: {slug}\ntask_group: {project}\ntask_outcome: success\n"
        f"cwd: {cwd}\nkeywords: {project}, make check\n---\n\n### Task 1: make {slug} pass\n\n"
        f"Reusable knowledge:\n- `make check` in {cwd} runs everything\n"
    )
    return {"rollout_summary": summary, "rollout_slug": slug, **({"raw_memory": raw} if raw_too else {})}


def _message(number: int, text: str, phase: str = "final_answer") -> Json:
    content = [{"type": "output_text", "text": text}]
    fields = {"type": "message", "id": f"msg_{number}_{phase}", "role": "assistant"}
    return {**fields, "phase": phase, "content": content}


def _shell(body: Json, command: str) -> Json:
    """A call of the tool that runs shell commands, as this version of Codex names it."""
    tools = {tool.get("name") for tool in body.get("tools") or [] if isinstance(tool, dict)}
    if "exec_command" in tools:
        return {"call": "exec_command", "args": {"cmd": command, "yield_time_ms": 60_000}}
    if "shell_command" in tools:
        return {"call": "shell_command", "args": {"command": command, "timeout_ms": 120_000}}
    return {"call": "shell", "args": {"command": ["bash", "-c", command], "timeout_ms": 120_000}}


@contextmanager
def _database(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, timeout=10)
    try:
        with connection:
            yield connection
    finally:
        connection.close()


def _held(lock: Path) -> bool:
    try:
        descriptor = os.open(lock, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)
