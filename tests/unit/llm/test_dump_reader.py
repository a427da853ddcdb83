"""Dumps of any size and in any state are opened as far as they can be read, within bounds."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.big_dumps import big_dump
from reverie.errors import UserError
from reverie.llm import trace_reader as dump_reader
from reverie.llm.json_document import JsonNode, JsonSource, MemorySource, children, layout, member, text_of
from reverie.llm.json_salvage import salvage
from reverie.llm.trace_facts import facts_of
from reverie.llm.trace_reader import read_dump
from reverie.llm.trace_verdict import judge

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


def value_of(source: JsonSource, node: JsonNode) -> Any:
    """A node read member by member."""
    if not node.is_container:
        return json.loads(source.read(node.start, node.end))
    found, more = children(source, node, limit=10_000)
    assert not more
    if node.kind == "object":
        return {str(child.key): value_of(source, child) for child in found}
    return [value_of(source, child) for child in found]


@given(st.dictionaries(st.text(max_size=6), JSON, min_size=1, max_size=5))
def test_a_document_read_member_by_member_is_the_document(document: dict[str, Any]) -> None:
    source = MemorySource(json.dumps(document, indent=2, ensure_ascii=False).encode("utf-8", "replace"))
    root = layout(source)
    assert root is not None
    assert value_of(source, root) == json.loads(source.data)


@given(st.lists(JSON, max_size=4) | st.dictionaries(st.text(max_size=6), JSON), st.integers(0, 400))
def test_salvaging_gives_what_stands_before_the_damage(value: Any, cut: int) -> None:
    text = json.dumps(value)
    assert salvage(text) == (value, "")
    found, wrong = salvage(text[:cut])
    assert wrong or found == json.loads(text[:cut])


def test_salvaging_keeps_the_members_read_so_far() -> None:
    assert salvage('{"a": 1, "b": [2, {"c": "text that is c')[0] == {
        "a": 1,
        "b": [2, {"c": "text that is c"}],
    }
    assert salvage('{"a": 1, "b": ?2}')[0] == {"a": 1}
    assert salvage("") == (None, "it is empty")
    assert salvage("[" * 100_000)[1].startswith("it is nested too deeply")


def test_a_page_of_members_says_whether_there_are_more() -> None:
    source = MemorySource(json.dumps({"items": list(range(10))}, indent=2).encode())
    root = layout(source)
    assert root is not None
    items = member(source, root, "items")
    assert items is not None
    first, more = children(source, items, limit=4)
    assert [child.key for child in first] == [0, 1, 2, 3]
    assert more
    last, more = children(source, items, limit=4, skip=8)
    assert [child.key for child in last] == [8, 9]
    assert not more


def test_a_text_is_cut_between_characters_and_escapes() -> None:
    source = MemorySource(json.dumps({"t": 'é"\u2028\U0001f600' * 50}, indent=2).encode())
    root = layout(source)
    assert root is not None
    node = member(source, root, "t")
    assert node is not None
    for limit in range(60):
        text, whole = text_of(source, node, limit)
        assert not whole
        assert ('é"\u2028\U0001f600' * 50).startswith(text.removesuffix("\ud83d"))


@pytest.mark.parametrize(("events", "message"), [(6_000, 0), (10, 12 << 20)])
def test_a_large_dump_gives_its_verdict_within_bounds(tmp_path: Path, events: int, message: int) -> None:
    path = tmp_path / "large.json"
    assert big_dump(path, events=events, message=message) > dump_reader.WHOLE_BYTES
    tracemalloc.start()
    try:
        sketch = read_dump(path, sketch=True)
        _now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    facts = facts_of(sketch.document)
    assert (facts.model, facts.workspace_id, judge(facts, sketch.damage).name) == (
        "a:b",
        "w",
        "provider-error",
    )
    assert sketch.shortened
    assert not sketch.damage
    assert most < 6 << 20
    whole = read_dump(path)
    assert judge(facts_of(whole.document)).name == "provider-error"
    assert whole.shortened
    assert len(whole.document["events"]) > 9


def test_a_large_dump_that_ends_in_the_middle_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    size = big_dump(path, events=6_000)
    os.truncate(path, size - 60)
    dump = read_dump(path)
    assert "in “attempts”" in dump.damage or "in “0”" in dump.damage or "in “error”" in dump.damage
    assert facts_of(dump.document).model == "a:b"


def test_a_large_document_in_another_layout_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    document = {"modelString": "a:b", "events": ["x" * 1000] * 10_000, "attempts": []}
    path.write_text(json.dumps(document), encoding="utf-8")
    dump = read_dump(path)
    assert facts_of(dump.document).model == "a:b"
    assert "only the first" in dump.damage
    assert dump.root is not None


def test_a_small_dump_is_whole_and_has_a_tree(tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    path.write_text('{"a":[1,{"b":"c"}]}', encoding="utf-8")
    dump = read_dump(path)
    assert (dump.document, dump.damage, dump.shortened, dump.lost) == (
        {"a": [1, {"b": "c"}]},
        "",
        False,
        False,
    )
    assert dump.root is not None
    assert value_of(dump.source, dump.root) == dump.document


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "link.json").symlink_to(tmp_path / "elsewhere.json")
    (tmp_path / "elsewhere.json").write_text("{}", encoding="utf-8")
    for name in ("missing.json", "pipe.json", "link.json"):
        with pytest.raises(UserError, match=name):
            read_dump(tmp_path / name)
