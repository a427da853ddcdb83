"""Values cross the wire as they are, and bytes that are no value of a type are refused, whatever they are."""

from __future__ import annotations

import enum
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.engine.codec import WireError, decode, encode, require_wirable


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(NamedTuple):
    x: int
    y: float


@dataclass(frozen=True, slots=True)
class Leaf:
    name: str
    colour: Colour
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Branch:
    """Names itself, and holds one of everything that may cross."""

    leaves: tuple[Leaf, ...]
    below: tuple[Branch, ...] = ()
    by_name: Mapping[str, Leaf | None] = field(default_factory=dict)
    either: Leaf | Point | None = None
    path: Path | None = None
    kind: Literal["a", "b", 3] = "a"
    scalar: str | int | None = None
    pair: tuple[int, str] = (0, "")
    names: frozenset[str] = frozenset()
    json: Any = None


# Text as it comes from a file system: also what is no valid Unicode.
texts = st.text(st.characters(codec=None))
paths = st.builds(Path, st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1))
leaves = st.builds(Leaf, texts, st.sampled_from(Colour), st.binary())
points = st.builds(Point, st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
branches = st.recursive(
    st.builds(
        Branch,
        st.lists(leaves, max_size=3).map(tuple),
        by_name=st.dictionaries(texts, leaves | st.none(), max_size=3),
        either=st.none() | leaves | points,
        path=st.none() | paths,
        kind=st.sampled_from(("a", "b", 3)),
        scalar=st.none() | texts | st.integers(-(2**63), 2**63 - 1),
        pair=st.tuples(st.integers(0, 9), texts),
        names=st.frozensets(texts, max_size=3),
        json=json_values,
    ),
    lambda inner: st.builds(Branch, st.just(()), st.lists(inner, max_size=2).map(tuple)),
    max_leaves=3,
)


@given(branches)
def test_a_value_comes_back_as_it_was(value: Branch) -> None:
    assert decode(encode(value), Branch) == value


@given(st.binary(max_size=200))
def test_bytes_of_a_stranger_are_refused_or_a_value_and_nothing_else(data: bytes) -> None:
    try:
        found = decode(data, Branch)
    except WireError:
        return
    assert isinstance(found, Branch)


@given(branches, st.data())
def test_a_spoilt_message_is_refused_or_a_value_of_the_same_type(value: Branch, data: st.DataObject) -> None:
    message = bytearray(encode(value))
    for _change in range(data.draw(st.integers(1, 3))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = decode(bytes(message), Branch)
    except WireError:
        return
    assert isinstance(found, Branch)
    assert all(isinstance(leaf, Leaf) for leaf in found.leaves)


@pytest.mark.parametrize(
    ("hint", "plain"),
    [
        (int, "1"),
        (int, True),
        (str, b"x"),
        (bytes, "x"),
        (Path, "x"),
        (Colour, "green"),
        (Literal["a"], "b"),
        (Literal["a"], ["a"]),
        (Leaf, {"name": "x"}),
        (Leaf, ["x", "red"]),
        (tuple[int, str], [1]),
        (tuple[int, ...], 1),
        (Mapping[str, int], [["a", 1]]),
        (Mapping[str, int], {"a": "1"}),
        (Leaf | Point, ["Branch", [1, 2.0]]),
        (Leaf | Point, ["Point", [1]]),
        (type(None), 0),
        (frozenset[str], [["a"]]),
    ],
)
def test_what_a_type_does_not_allow_is_refused(hint: Any, plain: Any) -> None:
    with pytest.raises(WireError):
        decode(msgspec.msgpack.encode(plain), hint)


def test_a_deep_message_does_not_break_the_stack() -> None:
    with pytest.raises(WireError):
        decode(b"\x91" * 100_000 + b"\x00", Branch)


def test_an_unknown_extension_is_refused() -> None:
    with pytest.raises(WireError):
        decode(msgspec.msgpack.encode(msgspec.msgpack.Ext(7, b"x")), str)


def test_a_frozen_mapping_and_a_tuple_of_json_become_plain() -> None:
    value = MappingProxyType({"a": (1, MappingProxyType({"b": None}))})
    assert decode(encode(value), Any) == {"a": [1, {"b": None}]}


def test_a_value_that_is_no_plain_data_is_not_sent() -> None:
    for value in (object(), threading.Lock(), {"a": [1, object()]}, Leaf("\udc80", object())):  # type: ignore[arg-type]
        with pytest.raises(WireError):
            encode(value)


def test_a_type_that_cannot_cross_is_a_mistake_of_ours() -> None:
    with pytest.raises(TypeError):
        require_wirable(Exception)
    with pytest.raises(TypeError):
        require_wirable(tuple[object, type])


@pytest.mark.parametrize("key", ["plain.md", "bro\udc80ken.md"])
def test_a_mapping_by_a_name_that_is_not_unicode_crosses(key: str) -> None:
    value = {key: ("a", "b\udcff"), "other.md": ()}
    assert decode(encode(value), dict[str, tuple[str, ...]]) == value
    assert decode(encode([value, "c"]), list[Any]) == [{key: ["a", "b\udcff"], "other.md": []}, "c"]


@pytest.mark.parametrize("pairs", [[[["a"], 1]], [1], {"a": 1}, [["a", 1, 2]]])
def test_a_mapping_that_is_not_made_of_pairs_is_refused(pairs: Any) -> None:
    sent = msgspec.msgpack.encode(msgspec.msgpack.Ext(3, msgspec.msgpack.encode(pairs)))
    with pytest.raises(WireError):
        decode(sent, dict[str, int])


FIRST_USES = """
import sys, threading
import msgspec
from reverie.engine.codec import decode, encode

sys.setswitchinterval(1e-6)
for number in range(int(sys.argv[1])):
    inner = msgspec.defstruct("Inner", [(f"field{at}", "int | None") for at in range(5)])
    fields = [("one", inner), ("more", list[inner]), *((f"other{at}", int) for at in range(20))]
    parts = [msgspec.defstruct(f"Part{at}", fields) for at in range(6)]
    whole = msgspec.defstruct("Whole", [(f"part{at}", part) for at, part in enumerate(parts)])
    value = inner(*range(5))
    data = encode(whole(*(part(value, [value], *range(20)) for part in parts)))
    together = threading.Barrier(4)
    threads = [threading.Thread(target=lambda: (together.wait(), decode(data, whole))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("done")
"""


def test_a_class_is_used_for_the_first_time_by_several_threads() -> None:
    """A second process, because what it guards against is a segmentation fault of msgspec."""
    command = [sys.executable, "-c", FIRST_USES, "300"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")
