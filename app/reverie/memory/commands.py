"""The six memory commands of agents and models: mappings in, text out (formats/mux.md section 6).

`execute` never raises for a bad request but returns `{"success": False, "error": ...}`, so that a model can
recover. Argument aliases, required fields and their order follow the format sheet; the wording is ours.
`MUTATING` lists the commands that change something; the guard and the journal of a run use it too.

Threading and failure: as `memory.store`. Bugs (anything but `UserError`) propagate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reverie.agents.scopes import Scope, ScopeUnavailable
from reverie.errors import StoreError, UserError
from reverie.files.rooted import DirectoryEntry
from reverie.memory.paths import MemoryPath, parse_memory_path
from reverie.memory.store import MemoryStore

MUTATING = frozenset({"create", "str_replace", "insert", "delete", "rename"})
COMMANDS = frozenset({"view", *MUTATING})

_ALIASES = {
    "file_path": "path",
    "filePath": "path",
    "content": "file_text",
    "old_string": "old_str",
    "new_string": "new_str",
}
_TEXT_FIELDS = ("path", "file_text", "old_str", "new_str", "insert_text", "old_path", "new_path")
_NUMBER_FIELDS = {"insert_line": 0, "offset": 1, "limit": 1}
_MOST_LINES = 1 << 53
"""No file has as many lines; larger numbers cannot be sent to the engine."""


def normalise(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a memory command under their proper names (`path` for `filePath`).

    `request`: the arguments as the agent or model gave them, with the name of the command as `command`.
    Arguments that are None are left out. Raises `StoreError` for a value of the wrong type, or a number out
    of range.
    """
    fields = {name: value for name, value in request.items() if value is not None and name not in _ALIASES}
    for name, value in request.items():
        if name in _ALIASES and value is not None:
            fields.setdefault(_ALIASES[name], value)
    for name in _TEXT_FIELDS:
        if name in fields and not isinstance(fields[name], str):
            raise StoreError(f"{name} must be text.", next_step="Set this field to a string.")
    for name, least in _NUMBER_FIELDS.items():
        if name in fields:
            fields[name] = _whole_number(name, fields[name], least)
    if fields.get("command") == "rename" and "old_path" not in fields and "path" in fields:
        fields["old_path"] = fields["path"]
    return fields


def paths_of(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the memory paths in the result of `normalise`: the file, and for a rename also its new path."""
    names = ("old_path", "new_path") if fields.get("command") == "rename" else ("path",)
    return tuple(fields[name] for name in names if isinstance(fields.get(name), str))


class MemoryCommands:
    """The six memory commands (view, create, str_replace, insert, delete, rename), which work on one store.

    `count_reads`: whether to count the view of a memory as a use of it; True for an agent only.
    """

    def __init__(self, store: MemoryStore, *, count_reads: bool) -> None:
        self._store = store
        self._count_reads = count_reads
        self._dispatch: dict[str, Callable[[Mapping[str, Any]], str]] = {
            "view": self._view,
            "create": self._create,
            "str_replace": self._str_replace,
            "insert": self._insert,
            "delete": self._delete,
            "rename": self._rename,
        }

    def execute(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Run one memory command, and return its result.

        `request`: the arguments, with the name of the command as `command`. The result is
        `{"success": True, "output": text}` or `{"success": False, "error": text}`.
        """
        try:
            fields = normalise(request)
            run = self._dispatch.get(str(fields.get("command")))
            if run is None:
                raise StoreError(
                    f"Unknown command {fields.get('command')!r}.",
                    next_step=f"Use one of: {', '.join(sorted(COMMANDS))}.",
                )
            return {"success": True, "output": run(fields)}
        except UserError as error:
            return {"success": False, "error": str(error)}

    def _view(self, fields: Mapping[str, Any]) -> str:
        path = parse_memory_path(_required(fields, "path"))
        if path.scope is None:
            return self._view_all_scopes()
        _path, _root, files = self._store.resolve(path)
        entry = files.entry(path.rel)
        if entry is None and not path.is_scope_root:
            raise StoreError(
                f"There is no memory {path}.",
                next_step="View its directory to see what is there.",
                reason="missing",
            )
        if entry is None or entry.kind == "directory":
            depth = self._store.home.caps.view_depth
            return "\n".join([f"Directory {path}", *self._tree_lines(path, depth)])
        text = self._store.read_text(path, as_use=False)
        output = _numbered(path, text.content, fields.get("offset"), fields.get("limit"))
        if self._count_reads:
            self._store.note_use(path)
        return output

    def _view_all_scopes(self) -> str:
        lines = ["Directory /memories"]
        for scope in Scope:
            path = MemoryPath(scope)
            try:
                below = self._tree_lines(path, 1)
            except ScopeUnavailable as gap:
                lines.append(f"  {scope.value}/ (unavailable: {gap.cause or gap.title})")
                continue
            lines.append(f"  {scope.value}/")
            lines.extend("  " + line for line in below)
        return "\n".join(lines)

    def _tree_lines(self, path: MemoryPath, depth: int) -> list[str]:
        path, _root, files = self._store.resolve(path)
        entries = [
            entry for entry in files.walk().entries if not path.rel or entry.rel.startswith(path.rel + "/")
        ]
        return _indented(_without_empty(entries), len(path.segments), depth)

    def _create(self, fields: Mapping[str, Any]) -> str:
        path, text = _required(fields, "path"), _required(fields, "file_text", empty=True)
        self._store.create(path, text)
        return f"Created {parse_memory_path(path)}."

    def _str_replace(self, fields: Mapping[str, Any]) -> str:
        path, old = _required(fields, "path"), _required(fields, "old_str", empty=True)
        parsed = parse_memory_path(path)
        if not old:
            raise StoreError(
                "old_str is empty.",
                next_step="Set old_str to the text to replace, or use the insert command.",
            )
        self._store.edit(parsed, lambda text: replace_once(parsed, text, old, str(fields.get("new_str", ""))))
        return f"Edited {parsed}."

    def _insert(self, fields: Mapping[str, Any]) -> str:
        path = _required(fields, "path")
        if "insert_line" not in fields:
            raise _lacks("insert_line")
        line, added = int(fields["insert_line"]), _required(fields, "insert_text", empty=True)
        parsed = parse_memory_path(path)
        self._store.edit(parsed, lambda text: insert_after(parsed, text, line, added))
        return f"Inserted text into {parsed} after line {line}."

    def _delete(self, fields: Mapping[str, Any]) -> str:
        path = _required(fields, "path")
        self._store.delete(path)
        return f"Deleted {parse_memory_path(path)}."

    def _rename(self, fields: Mapping[str, Any]) -> str:
        old, new = _required(fields, "old_path"), _required(fields, "new_path")
        self._store.rename(old, new)
        return f"Renamed {parse_memory_path(old)} to {parse_memory_path(new)}."


def replace_once(path: MemoryPath, text: str, old: str, new: str) -> str:
    """Return `text` with its only occurrence of `old` (not empty) replaced by `new`, literally.

    Overlapping matches count as several. Raises `StoreError`, which names `path`, unless there is exactly one
    match.
    """
    lines: list[int] = []
    start = text.find(old)
    while start >= 0:
        lines.append(text.count("\n", 0, start) + 1)
        start = text.find(old, start + 1)
    if not lines:
        raise StoreError(
            f"old_str does not occur in {path}.", next_step="View the memory and copy the text exactly."
        )
    if len(lines) > 1:
        numbers = list(dict.fromkeys(lines))
        shown = ", ".join(map(str, numbers[:20])) + (", …" if len(numbers) > 20 else "")
        raise StoreError(
            f"old_str occurs {len(lines)} times in {path}, on lines {shown}.",
            next_step="Include more of the surrounding text, so that old_str is unique.",
        )
    return text.replace(old, new, 1)


def insert_after(path: MemoryPath, text: str, line: int, added: str) -> str:
    """Return `text` with `added` inserted after line `line` (0: before the first).

    One trailing newline of `added` is dropped; if it is empty, `text` is returned unchanged. Raises
    `StoreError`, which names `path`, if there is no such line.
    """
    pieces = text.split("\n") if text else []
    if not 0 <= line <= len(pieces):
        raise StoreError(
            f"insert_line {line} is outside {path}.", next_step=f"Use a line from 0 to {len(pieces)}."
        )
    if not added:
        return text
    return "\n".join([*pieces[:line], added.removesuffix("\n"), *pieces[line:]])


def _without_empty(entries: list[DirectoryEntry]) -> list[DirectoryEntry]:
    """Return `entries` without the directories that have no file at any depth.

    The agent does not show such directories either, because it lists files only.
    """
    holding = {
        entry.rel[:cut]
        for entry in entries
        if entry.kind != "directory"
        for cut, char in enumerate(entry.rel)
        if char == "/"
    }
    return [entry for entry in entries if entry.kind != "directory" or entry.rel in holding]


def _numbered(path: MemoryPath, text: str, offset: int | None, limit: int | None) -> str:
    if not text and (offset or 1) == 1:
        return ""
    lines = text.split("\n")
    first = (offset or 1) - 1
    if first >= len(lines):
        raise StoreError(
            f"offset {offset} is beyond the end of {path}.",
            next_step=f"It has {len(lines)} lines; use a smaller offset.",
        )
    chosen = lines[first : None if limit is None else first + limit]
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(chosen, start=first + 1))


def _indented(entries: list[DirectoryEntry], base_depth: int, depth: int) -> list[str]:
    """Return the lines of an indented tree of `entries`, in path order, at most `depth` levels deep.

    `base_depth`: the number of parts in the path of the listed directory.
    """
    lines = []
    for entry in sorted(entries, key=lambda entry: entry.rel.split("/")):
        parts = entry.rel.split("/")
        level = len(parts) - base_depth
        if 0 < level <= depth:
            lines.append("  " * level + parts[-1] + ("/" if entry.kind == "directory" else ""))
    return lines


def _required(fields: Mapping[str, Any], name: str, *, empty: bool = False) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or (not value and not empty):
        raise _lacks(name)
    return value


def _lacks(name: str) -> StoreError:
    return StoreError(f"The command needs {name}.", next_step=f"Add {name} and try again.", reason="usage")


def _whole_number(name: str, value: Any, least: int) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if isinstance(value, float) and value.is_integer():
        value, whole = int(value), True
    if not whole or not least <= value < _MOST_LINES:
        raise StoreError(
            f"{name} must be a whole number, at least {least} and below {_MOST_LINES}.",
            next_step="Repeat the command.",
        )
    return int(value)
