"""The fault matrix of a dream by model: whatever the service, the model or a person does, the run ends within
its limits in one outcome, with a sentence on what to do, its lease free, no coverage of a run that did not
come to pass, and the home as it was or revertible."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import Time, contents, sample_parts, workspace
from helpers.model_runs import MODEL, coverage_of, memory, turn, write_settings
from helpers.model_server import Call, ModelServer, Reply
from reverie.files.lease import Leases
from reverie.jobs.consolidate.engine import RulesEngine
from reverie.jobs.consolidate.run import DreamRequest, dream_lease_name
from reverie.runs.record import Progress, RunResult
from reverie.services.container import HomeContainer
from reverie.services.models import Models

ACME = "a1f3c9e2b7"
KEY = "tk-0123456789-abcdefghij-KEY"
# It says nothing that the memories do not: an invention would be held.
EDIT = memory("insert", path="/memories/global/testing.md", insert_line=0, insert_text="No emoji.")
PINNED = "/memories/global/preferences.md"
LONGEST_S = 20.0


@dataclass(frozen=True)
class Case:
    """`replies` are said in turn, the last one again and again. `outcome` and `reason` of the run; `url`
    takes the place of the server's."""

    name: str
    replies: tuple[Reply, ...]
    reason: str = ""
    outcome: str = "failed"
    url: str = ""
    limit_s: int = 60
    silence_s: float = 30.0


def failing(name: str, reason: str, *replies: Reply, **more: Any) -> Case:
    return Case(name, replies, reason, **more)


def late(fault: Any) -> tuple[Reply, ...]:
    """The fault comes after a change was made on the copy."""
    return turn(EDIT), Reply(text="Then", fault=fault)


CASES = [
    failing("refused", "provider-unreachable", url="http://127.0.0.1:{closed}/v1"),
    failing("no such host", "provider-unreachable", url="http://nobody.invalid/v1"),
    failing(
        "tls where there is none", "provider-unreachable", url="https://127.0.0.1:{port}/v1", silence_s=0.5
    ),
    failing("401", "provider-key", Reply(status=401)),
    failing("403", "provider-key", Reply(status=403)),
    failing("404 model", "provider-model", Reply(status=404, error="The model does not exist")),
    failing("408", "provider-timeout", Reply(status=408)),
    failing("413", "provider-too-large", Reply(status=413)),
    failing("429", "provider-rate-limit", Reply(status=429)),
    failing(
        "429, come back later", "provider-rate-limit", Reply(status=429, headers={"retry-after": "3600"})
    ),
    failing("500", "provider-server", Reply(status=500)),
    failing("503", "provider-overloaded", Reply(status=503)),
    failing("529", "provider-overloaded", Reply(status=529)),
    failing("500 after a change", "provider-server", turn(EDIT), Reply(status=500)),
    failing("a page instead of a stream", "provider-malformed", Reply(body=b"<html>Sign in</html>")),
    failing("an empty body", "provider-malformed", Reply(body=b"")),
    failing("hang before headers", "provider-timeout", Reply(fault="hang"), silence_s=0.3),
    failing("hang midway", "provider-timeout", *late("hang-midway"), silence_s=0.3),
    failing("hang until the limit", "timeout", Reply(fault="hang"), limit_s=1),
    failing("keep-alives for ever", "timeout", Reply(fault="keep-alives"), limit_s=1),
    failing("cut", "provider-cut-off", *late("cut")),
    failing("cut before headers", "provider-cut-off", Reply(fault="cut-early")),
    failing("broken json", "provider-malformed", *late("broken-json")),
    failing("no choices", "provider-malformed", Reply(fault="no-choices")),
    failing("an error inside the stream", "provider-server", *late("error-event")),
    failing("10 MB of text", "provider-too-large", Reply(text="x" * 10_000_000)),
    failing("content filter", "provider-refused", Reply(text="I", finish="content_filter")),
    failing("cut at its length", "model", Reply(text="I", finish="length")),
    failing("a tool loop without end", "model", turn(memory("view", path="/memories"))),
    failing("an edit loop without end", "model", turn(EDIT)),
    Case(
        "unknown tool", (turn(Call("shell", {"command": "rm -rf /"})), Reply(text="Ok.")), outcome="unchanged"
    ),
    Case("broken arguments", (turn(Call("memory", "{")), Reply(text="Ok.")), outcome="unchanged"),
    Case("100 calls at once", (turn(*[EDIT] * 100), Reply(text="Ok.")), outcome="completed"),
    Case(
        "path traversal",
        (
            turn(
                memory("create", path="/memories/global/../../../../evil.md", file_text="x"),
                memory("create", path="/memories/global/%2e%2e/evil.md", file_text="x"),
                memory("rename", old_path="/memories/global/testing.md", new_path="/evil.md"),
                memory("view", path="/etc/passwd"),
            ),
            Reply(text="Ok."),
        ),
        outcome="unchanged",
    ),
    Case(
        "delete of a directory with something pinned in it",
        (
            turn(memory("delete", path=PINNED), memory("delete", path="/memories/global")),
            Reply(text="Ok."),
        ),
        outcome="unchanged",
    ),
    Case(
        "a memory over the cap",
        (turn(memory("create", path="/memories/global/big.md", file_text="x" * 200_000)), Reply(text="Ok.")),
        outcome="unchanged",
    ),
    failing(
        "deletes everything",
        "held",
        *(turn(memory("delete", path="/memories/project/deploy.md")), Reply(text="Ok.")) * 2,
        outcome="held",
    ),
]


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def parts(tmp_path: Path, clock: Time, monkeypatch: pytest.MonkeyPatch) -> HomeContainer:
    monkeypatch.setenv("TEST_KEY", KEY)
    return sample_parts("mux-home", tmp_path, clock)


@dataclass
class Bench:
    """A run against a scripted service."""

    parts: HomeContainer
    server: ModelServer
    seen: list[Progress] = field(default_factory=list)

    def dream(
        self,
        *,
        cancel: threading.Event | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> RunResult:
        context = workspace(self.parts, ACME)
        engine = Models(self.parts).engine(MODEL, context, "manual")
        request = DreamRequest(context, "manual", engine.name)
        return self.parts.dreams.run(request, engine, cancel=cancel, progress=progress or self.seen.append)


def configured(parts: HomeContainer, url: str, case: Case) -> None:
    write_settings(
        parts.profile.config.parent,
        f'[providers.test]\nwire = "openai"\nbase_url = "{url}"\nkey_env = "TEST_KEY"\nmax_retries = 0\n'
        f"timeout_s = {case.silence_s}\n[dream]\ntime_limit_s = {case.limit_s}\n",
    )
    parts.forget_settings()


def repeating(replies: tuple[Reply, ...]) -> Callable[[object], Reply]:
    left = list(replies)
    return lambda _request: left.pop(0) if len(left) > 1 else left[0]


@pytest.fixture
def closed_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]  # bound, not listening


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_whatever_goes_wrong_the_run_ends_in_one_outcome_and_nothing_is_torn(
    parts: HomeContainer, case: Case, closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "invalid" in case.url:
        monkeypatch.setattr(socket, "getaddrinfo", nobody_knows)
    before, covered = contents(parts.home.root), coverage_of(parts.home.root)
    with ModelServer() as server:
        server.answer = repeating(case.replies or (Reply(text="never asked"),))
        port = server.url.rpartition(":")[2]
        url = case.url.format(closed=closed_port, port=port) if case.url else server.openai_url
        configured(parts, url, case)
        started = time.monotonic()
        result = Bench(parts, server).dream()
        took = time.monotonic() - started
    assert took < LONGEST_S, f"{took:.1f} s"
    assert result.outcome == case.outcome, result
    if case.reason:
        assert result.reason == case.reason, result
    lease_is_free(parts)
    record = parts.runs.load(result.run_id)
    assert (record.outcome, record.settled) == (result.outcome, True)
    assert parts.traces.load(result.run_id)["reverie"]["runOutcome"] == result.outcome
    if case.outcome in ("failed", "held"):
        assert contents(parts.home.root) == before
        assert coverage_of(parts.home.root) == covered
        assert result.next_step.endswith((".", "!"))
        assert not any(op["applied"] for op in result.ops)
    elif case.outcome == "completed":
        parts.reverter.revert(result.run_id)
    memories = contents(parts.home.root / "memory")
    assert memories == {p.removeprefix("memory/"): d for p, d in before.items() if p.startswith("memory/")}
    assert KEY not in json.dumps(record.as_json()) + result.summary + result.next_step
    assert not list(parts.home.root.parent.rglob("evil.md"))


def nobody_knows(*_question: object, **_more: object) -> None:
    """A name server that knows no name: the tests ask no real one."""
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def lease_is_free(parts: HomeContainer) -> None:
    """Another process could dream at once."""
    leases = Leases(parts.profile.leases_database)
    leases.acquire(dream_lease_name(parts.home_id), purpose="a test").release()


@pytest.mark.parametrize("after", range(9))
def test_a_cancel_at_any_step_ends_the_run_and_the_connection(parts: HomeContainer, after: int) -> None:
    before, covered = contents(parts.home.root), coverage_of(parts.home.root)
    cancel = threading.Event()
    told = iter(range(1000))

    def progress(_progress: Progress) -> None:
        if next(told) >= after:
            cancel.set()

    with ModelServer() as server:
        server.answer = repeating(
            (turn(EDIT, EDIT), turn(EDIT), Reply(text="word " * 50, fault="hang-midway"))
        )
        configured(parts, server.openai_url, Case("", ()))
        result = Bench(parts, server).dream(cancel=cancel, progress=progress)
        until(lambda: server.open_questions == 0)
    assert result.outcome == "cancelled", result
    assert contents(parts.home.root) == before
    assert coverage_of(parts.home.root) == covered
    lease_is_free(parts)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("jump", [-86_400_000, 86_400_000])
def test_a_jump_of_the_clock_neither_ends_nor_prolongs_a_run(
    parts: HomeContainer, clock: Time, jump: int
) -> None:
    with ModelServer() as server:
        replies = iter([turn(EDIT), Reply(text="Done.")])

        def answer(_request: object) -> Reply:
            clock.now += jump
            return next(replies)

        server.answer = answer
        configured(parts, server.openai_url, Case("", ()))
        result = Bench(parts, server).dream()
    assert result.outcome == "completed"
    record = parts.runs.load(result.run_id)
    assert coverage_of(parts.home.root)["workspaces"][ACME]["lastRunAt"] == record.started_at


def test_after_a_fault_the_next_dream_runs_at_once(parts: HomeContainer) -> None:
    with ModelServer([Reply(fault="cut-early")]) as server:
        configured(parts, server.openai_url, Case("", ()))
        assert Bench(parts, server).dream().outcome == "failed"
    assert parts.dreams.run(DreamRequest(workspace(parts, ACME)), RulesEngine()).succeeded
