"""Transcripts and traces asked of an engine: the same as read here, each client at its own place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.benches import Time
from helpers.rollouts import Line, meta, said, write_rollout
from helpers.samples import copy_sample
from reverie.agents.base import TranscriptSource
from reverie.agents.codex.messages import CodexReadable
from reverie.agents.transcript_pages import Page, PagedTranscript, is_prompt, says
from reverie.engine.client import EngineClient
from reverie.engine.engine import HomeEngine, ProfileEngine
from reverie.engine.process import inline_channel
from reverie.profile import Profile
from reverie.services.traces import TraceSummary

THREAD = "0198a1b2-c3d4-7e5f-8a9b-000000000001"
FAILED = "1786527072345"


class Asked:
    """An engine with one open home, and clients of it."""

    def __init__(self, root: Path, profile: Profile) -> None:
        self.engine = ProfileEngine(profile, Time())
        self.root = root
        self.clients: list[EngineClient] = []

    def client(self) -> HomeEngine:
        made = EngineClient(lambda: inline_channel(self.engine))
        self.clients.append(made)
        opened = made.services.open(self.root)
        return made.home(opened.info.root, opened.info.id)

    @property
    def served(self) -> HomeEngine:
        return self.engine.open(self.root)


@pytest.fixture
def codex(tmp_path: Path) -> Iterator[Asked]:
    root = tmp_path / ".codex"
    (root / "sessions" / "2026").mkdir(parents=True)
    asked = Asked(root, Profile.under(tmp_path / "profile"))
    yield asked
    close(asked)


@pytest.fixture
def mux(tmp_path: Path) -> Iterator[Asked]:
    asked = Asked(copy_sample("mux-home", tmp_path), Profile.under(tmp_path / "profile"))
    yield asked
    close(asked)


def close(asked: Asked) -> None:
    for client in asked.clients:
        client.stop()
    asked.engine.close()


def story(count: int) -> list[Line | str]:
    lines: list[Line | str] = [meta(THREAD, "/projects/demo")]
    for number in range(count):
        lines += [said("user", f"Question {number}", number), said("assistant", f"Answer {number}", number)]
    return lines


def rollout(tmp_path: Path, count: int) -> TranscriptSource:
    path = tmp_path / f"rollout-2026-08-06T10-00-00-{THREAD}.jsonl"
    write_rollout(path, story(count))
    return TranscriptSource(THREAD, "rollout", path)


def here(source: TranscriptSource) -> PagedTranscript:
    return PagedTranscript(CodexReadable(source.path), source.path)


def nothing() -> None:
    """Nobody wants to stop."""


def test_an_engine_answers_what_is_in_the_file(codex: Asked, tmp_path: Path) -> None:
    source = rollout(tmp_path, 200)
    transcripts, local = codex.client().transcripts, here(source)
    assert transcripts.open(source) == (local.page(0, nothing), local.stamp(), -1)
    assert transcripts.page(source, 120) == local.page(120, nothing)
    assert transcripts.page(source, 7, messages=3, chars=9) == local.page(7, nothing, messages=3, chars=9)
    assert transcripts.last(source) == local.last(nothing)
    assert transcripts.open(source, at_end=True)[0].messages[-1].text == "Answer 199"
    assert transcripts.page_with(source, 300).messages[0].number == 270
    for back in (False, True):
        found = transcripts.find(source, "question 9", 50, back=back)
        assert found == local.find(says("question 9"), 50, nothing, back=back)
        assert transcripts.find(source, "", 51, back=back) == local.find(is_prompt, 51, nothing, back=back)
    assert transcripts.find(source, "nobody said this", 0) is None


def test_only_what_grew_is_sent(codex: Asked, tmp_path: Path) -> None:
    source = rollout(tmp_path, 3)
    transcripts = codex.client().transcripts
    stamp = transcripts.open(source, at_end=True)[1]
    assert transcripts.growth(source, stamp, 4, messages=99, chars=9_999) == (stamp, None)
    write_rollout(source.path, story(4))
    grown_stamp, grown = transcripts.growth(source, stamp, 4, messages=99, chars=9_999)
    assert grown_stamp != stamp
    assert grown is not None
    assert texts(grown) == ["Question 2", "Answer 2", "Question 3", "Answer 3"]


def texts(page: Page) -> list[str]:
    return [message.text for message in page.messages]


def test_each_client_reads_on_from_its_own_place_and_leaves_nothing_open(
    codex: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    begin = PagedTranscript._begin
    monkeypatch.setattr(PagedTranscript, "_begin", lambda self: (begun.append("read"), begin(self))[1])
    source = rollout(tmp_path, 300)
    one, other = codex.client(), codex.client()
    one.transcripts.open(source)
    other.transcripts.open(source)
    for start in (120, 240):
        assert one.transcripts.page(source, start) == other.transcripts.page(source, start)
    assert len(begun) == 2, "each read the file once"
    one.transcripts.find(source, "answer 5", 0)
    one.transcripts.page(source, 360)
    assert len(begun) == 2, "a search leaves the place as it is"
    readers = codex.served.transcripts._readers
    assert len(readers) == 2
    for number in range(12):
        copied = source.path.with_name(f"{number}.jsonl")
        copied.write_bytes(source.path.read_bytes())
        one.transcripts.open(TranscriptSource(str(number), "rollout", copied))
    assert len(readers) == 8, "the last few only"
    assert other.transcripts.page(source, 360).messages[0].text == "Question 180", "also where it was let go"
    for client in codex.clients:
        client.stop()
    codex.engine.close()
    assert not readers


def test_a_trace_comes_as_a_value_and_its_document_in_parts(mux: Asked) -> None:
    traces, served = mux.client().traces, mux.served.traces
    told: list[TraceSummary] = []
    rows = traces.rows(progress=told.extend)
    assert rows == served.rows()
    assert tuple(told) == rows[: len(told)]
    assert told
    detail = traces.open(FAILED)
    assert detail == served.open(FAILED)
    assert detail.root is not None
    page = traces.document_page(FAILED, detail.root, 0)
    assert page.members[0].node.key == "schemaVersion"
    assert traces.document_page(FAILED, detail.root, 3).members == page.members[3:]
    values = {each.node.key: traces.document_value(FAILED, each.node).text for each in page.members}
    assert values["existingMemory"] == detail.texts["existingMemory"]
    hits = traces.search_document(FAILED, "rate_LIMITED")
    assert [node.key for node in hits[0].path[1:3]] == ["events", 1]
    assert traces.difference(FAILED, traces.text(FAILED)) == ""


def test_a_document_is_copied_byte_for_byte(mux: Asked, tmp_path: Path) -> None:
    traces = mux.client().traces
    traces.export(FAILED, tmp_path / "out.json")
    assert (tmp_path / "out.json").read_bytes() == traces.open(FAILED).row.path.read_bytes()
