"""Memory paths: the virtual names `/memories/<scope>/<relative>` that people and models see.

Pure text rules, applied before anything touches the disk (formats/mux.md section 5); any thread. Containment
on disk is enforced by `files.rooted`; both together are the security envelope of `memory.store`.
"""

from __future__ import annotations

import re

from reverie.agents.scopes import Scope
from reverie.errors import PathRuleError
from reverie.text.summaries import JS_SPACE
from reverie.values import Struct

ROOT = "/memories"

_ENCODED = re.compile(r"%(?:2e|2f|5c)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MARKUP = re.compile(r'[<>"]')
_NEXT_STEP = "Use a path such as /memories/global/notes.md."


class MemoryPath(Struct, frozen=True):
    """A valid memory path (see `parse_memory_path`), split at `/` into `segments`.

    The root `/memories` itself has `scope` None and no segments.
    """

    scope: Scope | None
    segments: tuple[str, ...] = ()

    @property
    def rel(self) -> str:
        """Path below the scope root, `/`-separated; empty for a scope root."""
        return "/".join(self.segments)

    @property
    def is_scope_root(self) -> bool:
        return self.scope is not None and not self.segments

    @property
    def name(self) -> str:
        return self.segments[-1] if self.segments else (self.scope.value if self.scope else "memories")

    def __str__(self) -> str:
        return "/".join((ROOT, *((self.scope.value,) if self.scope else ()), *self.segments))


def parse_memory_path(text: str) -> MemoryPath:
    """Return the memory path in `text`, such as `/memories/global/notes.md`.

    Raises `PathRuleError` naming the first rule that fails.
    """
    trimmed = text.strip(JS_SPACE)
    if not trimmed.startswith(ROOT):
        raise _refused(text, f"it does not start with {ROOT}")
    rest = trimmed[len(ROOT) :].rstrip("/")
    if not rest:
        return MemoryPath(None)
    if not rest.startswith("/"):
        raise _refused(text, f"{ROOT} must be followed by a slash")
    first, *segments = rest[1:].split("/")
    try:
        scope = Scope(first)
    except ValueError:
        raise _refused(text, f"its scope must be one of {', '.join(Scope)}") from None
    for segment in segments:
        problem = segment_problem(segment)
        if problem:
            raise _refused(text, problem)
    return MemoryPath(scope, tuple(segments))


def memory_path(scope: Scope, rel: str) -> MemoryPath:
    """Return the memory path of a file that was found on disk in `scope`.

    `rel`: the path below the scope's root, `/`-separated; it is not checked against the rules.
    """
    return MemoryPath(scope, tuple(rel.split("/")) if rel else ())


def segment_problem(segment: str) -> str | None:
    """Return the first reason why an agent would refuse this path segment; None if it would not."""
    if segment in ("", "."):
        return "it has an empty or '.' segment"
    if ".." in segment:
        return "'..' is not allowed anywhere in a segment"
    if "~" in segment:
        return "'~' is not allowed"
    if "\\" in segment:
        return "backslashes are not allowed"
    if _ENCODED.search(segment):
        return "encoded dots and slashes are not allowed"
    if _CONTROL.search(segment):
        return "control characters are not allowed"
    if _MARKUP.search(segment):
        return 'the characters < > and " are not allowed'
    return None


def rel_problem(rel: str) -> str | None:
    """Return the reason why an agent would refuse the path `rel` of a file on disk; None if it would not.

    The reason is about the first bad segment (`segment_problem`).
    """
    return next((problem for segment in rel.split("/") if (problem := segment_problem(segment))), None)


def is_hidden(rel: str) -> bool:
    """Return whether a name in the path begins with a dot, so that no listing shows it."""
    return any(segment.startswith(".") for segment in rel.split("/"))


def utf16_key(text: str) -> bytes:
    """Return a sort key that orders text by UTF-16 code unit, as the agent's own listing does."""
    return text.encode("utf-16-be", "surrogatepass")


def _refused(text: str, problem: str) -> PathRuleError:
    shown = text if len(text) <= 200 else text[:200] + "…"
    return PathRuleError(f"Invalid memory path {shown!r}:", cause=f"{problem}.", next_step=_NEXT_STEP)
