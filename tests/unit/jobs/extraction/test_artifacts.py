"""Names, headers, the index and pruning, exactly as the agent's own code has them."""

from __future__ import annotations

import pytest

from reverie.agents.codex.locations import bucket_of, slug_of, thread_of_trace, trace_name
from reverie.jobs.extraction.layout import (
    INDEX,
    NewTrace,
    TraceHeader,
    index_text,
    laid_out,
    parse_header,
    trace_bytes,
)

AT = 1_770_631_200_000


def new(thread: str, *, at: int = AT, title: str = "Fix it", summary: str = "s") -> NewTrace:
    return NewTrace(
        TraceHeader(thread, "/p", f"/r/{thread}.jsonl", at), title, "  # Trace\n\nbody \n", summary
    )


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Fix: CI (again)!", "fix_ci_again"),
        ("Größe ändern", "gr_e_ndern"),
        ("🚀", "trace"),
        ("", "trace"),
        ("a" * 64 + " b", "a" * 64),
        ("a" * 63 + " b", "a" * 63 + "_"),
    ],
)
def test_slugs_are_those_of_the_sheet(title: str, slug: str) -> None:
    assert slug_of(title) == slug
    assert trace_name("t1", title) == f"t1_{slug}.md"


def test_buckets_are_those_of_the_sheet() -> None:
    assert bucket_of("/projects/demo") == "8950e3e3787a400b4a327147df019c60e95955ab76fa9da4eeba96644f3a4399"


@pytest.mark.parametrize(
    ("name", "thread"),
    [("a-b_c.md", "a-b"), ("ab.md", ""), ("a_b.txt", ""), ("_x.md", ""), ("a_b_c.md", "a")],
)
def test_the_thread_of_a_trace_is_what_stands_before_the_first_underscore(name: str, thread: str) -> None:
    assert thread_of_trace(name) == thread


def test_a_trace_file_is_exact() -> None:
    assert trace_bytes(new("t1")) == (
        b"thread_id: t1\ncwd: /p\nrollout_path: /r/t1.jsonl\nupdated_at: 2026-02-09T10:00:00+00:00\n\n"
        b"# Trace\n\nbody\n"
    )
    assert parse_header(trace_bytes(new("t1"))) == TraceHeader("t1", "/p", "/r/t1.jsonl", AT)


def test_a_path_with_a_line_break_cannot_forge_a_header() -> None:
    header = TraceHeader("t1", "/p\nupdated_at: 2030-01-01T00:00:00Z", "/r", AT)
    data = trace_bytes(NewTrace(header, "", "# x", "s"))
    assert parse_header(data).updated_at == AT


def test_the_index_is_exact() -> None:
    assert index_text(()) == "# Memory Summary\n\nNo memory traces yet.\n"
    layout = laid_out({}, [new("t1", summary="one"), new("t2", at=AT + 1000, summary="two")], {})
    assert layout.files[INDEX] == (
        b"# Memory Summary\n\nMap of concise summaries to trace IDs (latest first):\n\n"
        b"- two (trace: `t2`)\n- one (trace: `t1`)\n"
    )


def test_an_outdated_file_of_a_thread_goes_and_what_has_no_thread_stays() -> None:
    old = trace_bytes(new("t1", title="Old"))
    before = {
        "trace_summaries/t1_old.md": old,
        "trace_summaries/t1_older.md": old,
        "trace_summaries/nothread.md": b"x",
        "trace_summaries/t9_x.txt": b"x",
    }
    layout = laid_out(before, [new("t1", title="New")], {})
    assert layout.files["trace_summaries/t1_old.md"] is None
    assert layout.files["trace_summaries/t1_older.md"] is None
    assert layout.files["trace_summaries/t1_new.md"] == trace_bytes(new("t1", title="New")), (
        "though it is no newer"
    )
    assert not {"trace_summaries/nothread.md", "trace_summaries/t9_x.txt"} & layout.files.keys()


def test_ten_threads_stay_the_newest_by_their_headers() -> None:
    before = {new(f"t{n:02}").rel: trace_bytes(new(f"t{n:02}", at=AT + n * 1000)) for n in range(12)}
    layout = laid_out(before, [], {"t11": "eleven"})
    assert [kept.thread_id for kept in layout.kept] == [f"t{n:02}" for n in range(11, 1, -1)]
    assert layout.pruned == ("trace_summaries/t00_fix_it.md", "trace_summaries/t01_fix_it.md")
    assert layout.kept[0].summary == "eleven"
    assert layout.kept[1].summary == "Trace", "what nobody summarised is told by its heading"


def test_what_the_index_says_of_the_agents_own_traces_stays_and_nothing_changes_twice() -> None:
    before = {new("t1").rel: trace_bytes(new("t1")), INDEX: b"- said by the agent (trace: `t1`)\n"}
    layout = laid_out(before, [], {})
    assert layout.kept[0].summary == "said by the agent"
    after = {**before, **{rel: data for rel, data in layout.files.items() if data is not None}}
    assert not laid_out(after, [], {}).files
