"""One commit as bytes and back: the message says what, its trailers say who, in which run and from where.

Our own writing and reading of git's commit format, so that a commit can go into the same pack as its files.
Git keeps seconds: the time of a commit read back is a whole second. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_NOT_A_NAME = re.compile(r"[^\w.-]+")
_TRAILER = re.compile(r"([A-Z][A-Za-z-]*): (.*)")


@dataclass(frozen=True, slots=True)
class Commit:
    """One snapshot. `at_ms`: UTC, whole seconds. `notes`: which files were not kept as they are, and why."""

    id: str
    at_ms: int
    actor: str
    source: str
    run_id: str | None
    subject: str
    parent: str | None = None
    notes: str = ""


@dataclass(frozen=True, slots=True)
class StoredCommit:
    """A commit with the tree it points to, both ids raw."""

    commit: Commit
    tree: bytes
    parent: bytes | None


def encode_commit(
    *,
    tree: bytes,
    parent: bytes | None,
    at_ms: int,
    actor: str,
    source: str,
    run_id: str | None,
    subject: str,
    notes: Iterable[str],
) -> bytes:
    """A commit object. Texts become single lines; a time before 1970, which git cannot keep, becomes 1970."""
    name = _NOT_A_NAME.sub("-", actor).strip("-") or "reverie"
    person = f"{name} <{name}@reverie.invalid> {max(0, at_ms // 1000)} +0000"
    head = [f"tree {tree.hex()}"]
    if parent is not None:
        head.append(f"parent {parent.hex()}")
    head += [f"author {person}", f"committer {person}"]
    trailers = [f"Actor: {_line(actor)}"]
    if run_id is not None:
        trailers.append(f"Run: {_line(run_id)}")
    trailers.append(f"Source: {_line(source)}")
    parts = [_line(subject) or "Snapshot", "\n".join(filter(None, map(_line, notes))), "\n".join(trailers)]
    text = "\n".join(head) + "\n\n" + "\n\n".join(filter(None, parts)) + "\n"
    return text.encode("utf-8", "backslashreplace")


def decode_commit(commit_id: bytes, data: bytes) -> StoredCommit:
    """A commit object, ours or another's. Raises `ValueError` on bytes that are no commit."""
    head, _, message = data.decode("utf-8", "replace").partition("\n\n")
    fields: dict[str, str] = {}
    for line in head.split("\n"):
        field, _, value = line.partition(" ")
        fields.setdefault(field, value)
    time = re.search(r"> (-?\d+) [+-]\d{4}$", fields.get("committer", ""))
    if "tree" not in fields or time is None:
        raise ValueError("a commit lacks its tree or its time")
    paragraphs = message.strip("\n").split("\n\n")
    found = map(_TRAILER.fullmatch, paragraphs[-1].split("\n"))
    trailers = {match[1]: match[2] for match in found if match}
    has_trailers = len(paragraphs) > 1 and "Actor" in trailers
    parent = bytes.fromhex(fields["parent"]) if "parent" in fields else None
    commit = Commit(
        id=commit_id.hex(),
        at_ms=int(time[1]) * 1000,
        actor=trailers["Actor"] if has_trailers else "outside",
        source=trailers.get("Source", "") if has_trailers else "",
        run_id=trailers.get("Run") if has_trailers else None,
        subject=paragraphs[0].replace("\n", " "),
        parent=parent.hex() if parent else None,
        notes="\n\n".join(paragraphs[1 : -1 if has_trailers else None]),
    )
    return StoredCommit(commit, bytes.fromhex(fields["tree"]), parent)


def _line(text: str) -> str:
    return _CONTROL.sub(" ", text).strip()
