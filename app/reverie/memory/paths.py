"""Memory paths: the virtual names `/memories/<scope>/<relative>` that people and models see.

Pure text rules, applied before anything touches the disk (formats/mux.md section 5); any thread. Containment
on disk is enforced by `files.rooted`; both together are the security envelope of `memory.store`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from reverie.agents.scopes import COMPANIONS, Scope
from reverie.errors import PathRuleError
from reverie.text.summaries import JS_SPACE
from reverie.values import Struct

ROOT = "/memories"

_ENCODED = re.compile(r"%(?:2e|2f|5c)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MARKUP = re.compile(r'[<>"]')
_NEXT_STEP = "Use a path such as /memories/global/notes.md."


class MemoryPath(Struct, frozen=True):
    """A path that passed every rule. `scope` None and no segments is the root `/memories` itself."""

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
    """Parse a memory path.

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
    """Return the path of a file that was found on disk.

    `rel` is `/`-separated and is not checked against the rules.
    """
    return MemoryPath(scope, tuple(rel.split("/")) if rel else ())


def segment_problem(segment: str) -> str | None:
    """Return the first reason why an agent would refuse this path segment, or None."""
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
    """Return `segment_problem` of the first bad segment of a path found on disk."""
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


class MovePlan(Struct, frozen=True):
    """The new path of each memory that would move, by its old path.

    `clashes` are the old paths whose new place is taken; `refused` is the reason why nothing can move, empty
    if something can.
    """

    targets: Mapping[str, str]
    clashes: tuple[str, ...] = ()
    refused: str = ""


def plan_moves(paths: Sequence[str], folder: str, taken: Callable[[str], bool]) -> MovePlan:
    """Plan moving `paths` into `folder` (memory paths); nothing raises.

    A path inside a folder that moves too goes with it; a path that is there already stays.
    """
    chosen = [path for path in dict.fromkeys(paths) if not _inside_another(path, paths)]
    if any(folder == path or folder.startswith(path + "/") for path in chosen):
        return MovePlan({}, refused="A folder cannot be moved into itself.")
    moving = [path for path in chosen if path.rpartition("/")[0] != folder]
    if not moving:
        return MovePlan({}, refused="It is there already.")
    targets: dict[str, str] = {}
    clashes = []
    for path in moving:
        target = f"{folder}/{path.rpartition('/')[2]}"
        if taken(target) or target in targets.values():
            clashes.append(path)
        targets[path] = target
    return MovePlan(targets, tuple(clashes))


def numbered(plan: MovePlan, taken: Callable[[str], bool]) -> MovePlan:
    """Return the plan with a number in the name of each path that would clash."""
    targets = {path: target for path, target in plan.targets.items() if path not in plan.clashes}
    for path in plan.clashes:
        targets[path] = free_path(
            plan.targets[path], lambda candidate: taken(candidate) or candidate in targets.values()
        )
    return MovePlan({path: targets[path] for path in plan.targets})


def free_path(path: str, taken: Callable[[str], bool]) -> str:
    """Return `notes 2.md` for `notes.md`, or the next number that is free."""
    folder, slash, name = path.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    if not stem:
        stem, dot, suffix = name, "", ""
    number = 2
    while taken(candidate := f"{folder}{slash}{stem} {number}{dot}{suffix}"):
        number += 1
    return candidate


def _inside_another(path: str, paths: Sequence[str]) -> bool:
    return any(path.startswith(other + "/") for other in paths)


_OUTSIDE = f"{COMPANIONS}@"


class CompanionPlace(Struct, frozen=True):
    """The place of a companion in the history: `rel` below `directory`, kept under `key`."""

    key: str
    directory: Path
    rel: str


def companion_place(home_root: Path, path: Path) -> CompanionPlace:
    """Return the place of one companion of a home in the history.

    Companions in the home share one key. Those outside belong to a project and have a key for each directory,
    because the history outlives a project that is moved, and no file's place may depend on the project it was
    reached through. A companion outside is the entry in its own directory; a symlink that leads out of it is
    not followed.
    """
    if path.is_relative_to(home_root):
        return CompanionPlace(COMPANIONS, home_root, path.relative_to(home_root).as_posix())
    import hashlib  # late: it loads a library that the names are painted without

    directory = str(path.parent).encode("utf-8", "surrogateescape")
    return CompanionPlace(f"{_OUTSIDE}{hashlib.sha256(directory).hexdigest()[:16]}", path.parent, path.name)


def is_of_companions(key: str) -> bool:
    """Return whether a key of the history belongs to companions, in the home or outside."""
    return key == COMPANIONS or key.startswith(_OUTSIDE)
