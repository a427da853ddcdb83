"""A replay asks again on a copy: the writer's own tools, another model or prompt, and nothing written."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.benches import sample_parts
from helpers.model_runs import MODEL, settle_on
from helpers.model_server import Call, ModelServer, Reply
from helpers.samples import snapshot
from reverie.errors import StoreError
from reverie.llm.provider import ProviderError
from reverie.llm.trace_reader import dump_of
from reverie.services import traces
from reverie.services.traces import TraceDetail, why_no_replay
from reverie.services.views import ReplayRequest
from reverie.services.workbench import Workbench
from reverie.values import replace

FAILED = "1786527072345"
OLD = "- Postgres 13 in production."
KEY = "sk-ant-" + "api03-" + "a1B2c3D4e5F6g7H8i9J0" * 2


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setenv("TEST_KEY", "test-key-of-nobody")
    with ModelServer() as running:
        yield running


@pytest.fixture
def bench(tmp_path: Path, server: ModelServer) -> Workbench:
    made = Workbench(sample_parts("mux-home", tmp_path))
    settle_on(server, made.parts.profile.config.parent)
    made.parts.forget_settings()
    return made


def wish_for(detail: TraceDetail, **more: object) -> ReplayRequest:
    wish = ReplayRequest(MODEL, detail.facts.system_prompt, detail.facts.user_message)
    return replace(wish, **more)  # type: ignore[arg-type]


def replay(bench: Workbench, detail: TraceDetail, **more: object) -> TraceDetail:
    request, cancel = wish_for(detail, **more), threading.Event()
    return bench.replays.run(str(detail.row.path), request, cancel=cancel)[0]


def write(old: str, new: str) -> Reply:
    return Reply(calls=(Call("memory_write", {"old_string": old, "new_string": new}),))


def test_another_model_is_asked_the_same_and_nothing_is_written(
    bench: Workbench, server: ModelServer
) -> None:
    detail = bench.traces.open(FAILED)
    root = bench.parts.home.root
    before = snapshot(root)
    server.script([write(OLD, f"{OLD}\n- Never retry 409."), Reply(text="Saved.")])
    found = replay(bench, detail)
    assert (found.row.verdict, found.row.kind, found.row.model) == ("wrote", "replay", MODEL)
    assert found.facts.existing_memory == detail.facts.existing_memory
    assert "Clients get stuck in a loop" in server.sent
    assert snapshot(root) == before
    assert len(bench.traces.rows()) == 3


def test_a_model_that_fails_again_gets_the_same_verdict(bench: Workbench, server: ModelServer) -> None:
    detail = bench.traces.open(FAILED)
    server.script([write("- Postgres 16", "x"), Reply(text="It is there."), Reply(text="I would add it.")])
    found = replay(bench, detail)
    assert (found.row.verdict, found.row.attempts) == ("tool-failed", 2)
    assert found.row.place.step == 1


def test_an_edited_prompt_is_what_is_sent(bench: Workbench, server: ModelServer) -> None:
    detail = bench.traces.open(FAILED)
    server.script([Reply(calls=(Call("no_new_memories"),)), Reply(text="Done.")])
    found = replay(bench, detail, system="Only ever decline.", user="Anything new?")
    assert found.row.verdict == "nothing-to-write"
    assert "Only ever decline." in server.sent
    assert "Clients get stuck in a loop" not in server.sent
    assert found.facts.user_message == "Anything new?"


def test_a_secret_in_the_texts_does_not_leave(
    bench: Workbench, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents: list[bytes] = []
    monkeypatch.setattr(traces, "dump_of", lambda data: documents.append(data) or dump_of(data))
    detail = bench.traces.open(FAILED)
    server.script([Reply(text="I see."), Reply(text="I see.")])
    found = replay(bench, detail, user=f"The key is {KEY}.")
    assert KEY not in server.sent
    (document,) = documents
    assert KEY not in document.decode()
    assert KEY not in str(found)
    assert found.row.verdict == "prose"


def test_a_secret_at_the_start_of_a_line_of_a_quoted_conversation_does_not_leave(
    bench: Workbench, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents: list[bytes] = []
    monkeypatch.setattr(traces, "dump_of", lambda data: documents.append(data) or dump_of(data))
    detail = bench.traces.open(FAILED)
    server.script([Reply(text="I see."), Reply(text="I see.")])
    events = json.dumps([{"role": "user", "text": f"Use this one:\n{KEY}\nthanks"}])
    found = replay(bench, detail, user=events)
    assert "Use this one" in server.sent
    assert KEY not in server.sent
    (document,) = documents
    assert KEY not in document.decode()
    assert KEY not in str(found)


def test_time_runs_out_and_a_cancel_ends_it(bench: Workbench, server: ModelServer) -> None:
    detail = bench.traces.open(FAILED)
    server.answer = lambda _request: Reply(fault="hang")
    assert replay(bench, detail, time_limit_s=0.3).row.verdict == "timed-out"
    cancel = threading.Event()
    cancel.set()
    begun = time.monotonic()
    found, _difference = bench.replays.run(FAILED, wish_for(detail), cancel=cancel)
    assert found.row.verdict == "cancelled"
    assert time.monotonic() - begun < 30


def test_what_a_service_says_is_in_the_verdict(bench: Workbench, server: ModelServer) -> None:
    detail = bench.traces.open(FAILED)
    server.script([Reply(status=401)])
    assert replay(bench, detail).row.verdict == "provider-error"


def test_nothing_is_sent_elsewhere_before_a_person_agreed(
    bench: Workbench, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reverie.llm.remote_provider import RemoteProvider

    detail = bench.traces.open(FAILED)
    monkeypatch.setattr(RemoteProvider, "destination", property(lambda _self: "https://models.example"))
    with pytest.raises(StoreError, match=r"Nothing was sent to https://models\.example"):
        replay(bench, detail)
    needed = bench.replays.consent_needed(FAILED, wish_for(detail, user=f"key {KEY}"))
    assert needed is not None
    assert needed.destination == "https://models.example"
    assert needed.files == (str(detail.row.path),)
    assert needed.secrets_hidden == 1
    assert not server.requests
    bench.models.give_consent(MODEL)
    assert bench.replays.consent_needed(FAILED, wish_for(detail)) is None


def test_a_model_that_cannot_be_asked_says_so_at_once(bench: Workbench) -> None:
    detail = bench.traces.open(FAILED)
    with pytest.raises(ProviderError):
        bench.replays.consent_needed(FAILED, wish_for(detail, engine="nobody:model"))


def test_only_runs_of_the_writer_that_hold_what_was_asked_are_replayed(bench: Workbench) -> None:
    facts = bench.traces.open(FAILED).facts
    assert why_no_replay(facts) == ""
    assert "preview" in why_no_replay(replace(facts, kind="dream"))
    assert "does not contain" in why_no_replay(replace(facts, user_message=""))
    cut = replace(facts, user_message="x… [9,000 bytes in all]")
    assert "too long" in why_no_replay(cut, shortened=True)
