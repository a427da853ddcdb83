"""The memory store: every change of a memory, by hand, by model or by rules, goes through it.

It enforces the security rules in one place: path rules (`memory.paths`), containment (`files.rooted`), caps
of the home, contents that the agent would not accept (`Home.check_content`), compare-and-swap, atomic writes.
It holds no constant of any agent. Other effects of a change (usage, attribution, history) are left to a
`ChangeListener`, so that the same store works on the disk and on a run's overlay, in which nothing but the
overlay changes until the run's transaction applies it. `memory.write_guard` decides whether Reverie may write
at all.

Rules: formats/mux.md sections 5 and 6. Deliberate differences: replacement text is literal (`$&` is not
expanded); a file that is not valid UTF-8 can be read but is never rewritten.

Threading: blocking; any thread but the GUI's. Mutations of one root are serialised between all Reverie
processes of a profile by `ChangeListener.exclusive`; against concurrent writes by agents every write is a
compare-and-swap. Failure: `UserError` and nothing changed. A failure after the change is made (its use cannot
be counted, its directory not synced) is a warning to `ChangeListener.warn`, never an error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from reverie.agents.base import Home, check_content
from reverie.agents.scopes import Scope, ScopeContext, ScopeRoot
from reverie.errors import Conflict, StoreError, warned
from reverie.files.atomic import Undurable, is_write_protected
from reverie.files.directory import differ_in_case_only
from reverie.files.rooted import DirectoryEntry
from reverie.memory.change_listener import ChangeListener
from reverie.memory.paths import MemoryPath, memory_path, parse_memory_path
from reverie.memory.scope_files import ScopeFiles, sha256_of_bytes, sha256_of_text
from reverie.memory.store_refusals import (
    changed,
    encoded,
    missing,
    refuse_directory,
    refuse_full_scope,
    refuse_no_text,
    refuse_scope_root,
    refuse_untouchable,
)
from reverie.text.summaries import some
from reverie.values import Struct

_ATTEMPTS = 20
# One byte more than the history keeps of a file: no comparison needs more of a larger one.
_MOST_READ = 64 * 1024 * 1024 + 1


class StoredText(Struct, frozen=True):
    """The text of one memory."""

    content: str
    """The text of the file; invalid bytes are replaced by U+FFFD."""
    sha256: str
    """The hex SHA-256 of `content` in UTF-8."""
    valid: bool
    """Whether the file is valid UTF-8, so that `content` is exact."""
    size: int
    """The size of the file in bytes."""


class MemoryStore:
    """The memories of one context (workspace and project), read and changed by their memory paths."""

    def __init__(
        self,
        home: Home,
        context: ScopeContext,
        files_of: Callable[[ScopeRoot], ScopeFiles],
        effects: ChangeListener,
    ) -> None:
        self.home = home
        self.context = context
        self._files_of = files_of
        self._effects = effects

    def resolve(self, path: str | MemoryPath) -> tuple[MemoryPath, ScopeRoot, ScopeFiles]:
        """Return the parsed path, with names spelled as on disk, its root, and the files of the root.

        Raises `PathRuleError` or `StoreError` for an invalid path, also for `/memories` itself, and
        `ScopeUnavailable`.
        """
        parsed, root, files = self._located(path)
        return memory_path(root.scope, files.listed(parsed.rel)), root, files

    def resolve_new(self, path: str | MemoryPath) -> tuple[MemoryPath, ScopeRoot, ScopeFiles]:
        """Return the parsed path of a memory that is to be created, its root, and the files of the root.

        Names are spelled as on disk, except the last one, which is kept as it is written. Raises as `resolve`
        does.
        """
        parsed, root, files = self._located(path)
        *above, name = parsed.segments or ("",)
        listed = files.listed("/".join(above)).split("/") if above else []
        return MemoryPath(root.scope, (*listed, name) if name else ()), root, files

    def _located(self, path: str | MemoryPath) -> tuple[MemoryPath, ScopeRoot, ScopeFiles]:
        parsed = parse_memory_path(path) if isinstance(path, str) else path
        if parsed.scope is None:
            raise StoreError(f"{parsed} is not inside a scope.", next_step=f"Use one of: {', '.join(Scope)}.")
        root = self.home.scope_root(self.context, parsed.scope)
        if root.leaves_out(parsed.rel):
            raise StoreError(
                f"{parsed} is a working file of the agent, not a memory.", next_step="Choose another path."
            )
        return parsed, root, self._files_of(root)

    def entry(self, path: str | MemoryPath) -> DirectoryEntry | None:
        """Return the file or folder at the path; None if there is none.

        Raises `PathRuleError` or `StoreError` for an invalid path, `ScopeUnavailable`.
        """
        parsed, _root, files = self.resolve(path)
        return files.entry(parsed.rel)

    def read_text(self, path: str | MemoryPath, *, as_use: bool) -> StoredText:
        """Return the whole text of one memory; `as_use` counts this as a read by an agent.

        Raises `StoreError` if there is no such file, or if it is larger than the limit of the home.
        """
        parsed, root, files = self.resolve(path)
        text = self._text(parsed, files)
        if as_use:
            self._effects.read(root, parsed.rel)
        return text

    def note_use(self, path: MemoryPath) -> None:
        """Count a read of the memory at `path` by an agent."""
        parsed, root, _files = self.resolve(path)
        self._effects.read(root, parsed.rel)

    def save(self, path: str | MemoryPath, content: str, expected_sha256: str | None) -> str:
        """Write a whole file if its current hash is `expected_sha256` (None: no file); return the new hash.

        Raises `Conflict` if the hash differs, and `StoreError` if the path is that of a directory or leads
        through something that is not a directory.
        """
        parsed, root, files = self.resolve(path)
        refuse_untouchable(self.home, root, parsed, "saved")
        data = encoded(parsed, content, self.home.caps)
        with self._effects.exclusive(root):
            entry = files.entry(parsed.rel)
            refuse_directory(parsed, entry)
            if expected_sha256 is None:
                if entry is not None:
                    raise changed(parsed, "it exists already")
                refuse_full_scope(parsed, files, self.home.caps)
            elif entry is None:
                raise changed(parsed, "it was deleted meanwhile")
            else:
                present = self._text(parsed, files, any_size=True)
                if present.sha256 != expected_sha256:
                    raise changed(parsed, "it changed meanwhile")
                refuse_no_text(parsed, valid=present.valid)
            before = None if entry is None else present.content.encode("utf-8")
            check_content(self.home, root, parsed.rel, before, data)

            def compare(current: bytes | None) -> None:
                # Only for valid text is the hash of the decoded text that of the bytes.
                if sha256_of_bytes(current) != expected_sha256:
                    raise changed(parsed, "it changed meanwhile")

            self._effects.will_change(root, parsed.rel)
            self._write(root, files, parsed, data, compare, create_only=expected_sha256 is None)
        self._effects.wrote(root, parsed.rel)
        return sha256_of_text(content)

    def create(self, path: str | MemoryPath, content: str) -> None:
        """Create a memory with the text `content`.

        Raises `StoreError` if a file or directory exists at the path; it is never replaced.
        """
        parsed, root, files = self.resolve(path)
        refuse_untouchable(self.home, root, parsed, "created as a file")
        data = encoded(parsed, content, self.home.caps)
        with self._effects.exclusive(root):
            entry = files.entry(parsed.rel)
            if entry is not None:
                kind = "a directory" if entry.kind == "directory" else "a file"
                raise StoreError(
                    f"{parsed} already exists as {kind}.",
                    next_step="Choose another name."
                    if entry.kind == "directory"
                    else "To overwrite it, delete it first, or edit it with str_replace or insert.",
                    reason="exists",
                )
            refuse_full_scope(parsed, files, self.home.caps)
            check_content(self.home, root, parsed.rel, None, data)
            self._effects.will_change(root, parsed.rel)
            self._write(root, files, parsed, data, None, create_only=True)
        self._effects.wrote(root, parsed.rel)

    def edit(self, path: str | MemoryPath, change: Callable[[str], str]) -> str:
        """Read a memory, call `change` with its text, write the result, and return it.

        If another program has written the file meanwhile, this is repeated; after 20 attempts `Conflict` is
        raised.
        """
        parsed, root, files = self.resolve(path)
        refuse_untouchable(self.home, root, parsed, "edited")
        with self._effects.exclusive(root):
            for _attempt in range(_ATTEMPTS):
                before = self._editable_text(parsed, files)
                after = change(before)
                data = encoded(parsed, after, self.home.caps)
                expected = before.encode("utf-8")
                check_content(self.home, root, parsed.rel, expected, data)

                def compare(current: bytes | None, expected: bytes = expected) -> None:
                    if current != expected:
                        raise changed(parsed, "it changed meanwhile")

                self._effects.will_change(root, parsed.rel)
                try:
                    self._write(root, files, parsed, data, compare)
                except Conflict:
                    continue
                break
            else:
                raise changed(parsed, "another program keeps writing it")
        self._effects.wrote(root, parsed.rel)
        return after

    def delete(self, path: str | MemoryPath) -> None:
        """Delete a file, or a directory with everything in it.

        If another program keeps writing it, `Conflict` is raised after 20 attempts.
        """
        parsed, root, files = self.resolve(path)
        refuse_untouchable(self.home, root, parsed, "deleted", as_a_whole=True)
        with self._effects.exclusive(root, parsed.rel):
            for _attempt in range(_ATTEMPTS):
                with contextlib.suppress(_OvertakenStore):
                    self._delete(root, files, parsed)
                    break
            else:
                raise changed(parsed, "another program keeps writing it")
        self._effects.deleted(root, parsed.rel)

    def _delete(self, root: ScopeRoot, files: ScopeFiles, parsed: MemoryPath) -> None:
        """Delete the file or folder at the path `parsed`, in one attempt.

        First the contents are stored in the history. If another process writes to a file after that, the
        removed entries are restored, and `_OvertakenStore` is raised.
        """
        entry = files.entry(parsed.rel)
        if entry is None:
            raise missing(parsed)
        below = self._files_below(files, parsed.rel, entry)
        for rel in below:
            each = MemoryPath(parsed.scope, tuple(rel.split("/")))
            refuse_untouchable(self.home, root, each, "deleted", as_a_whole=True)
        # Read before the snapshot: if it is the same afterwards, the history has it.
        content = files.read(parsed.rel, limit=_MOST_READ) if entry.kind == "file" else None
        self._effects.will_change(root, parsed.rel)
        self._effects.will_delete(root, parsed.rel)
        for rel in below:
            check_content(self.home, root, rel, files.read(rel, limit=_MOST_READ), None)
            self._effects.replacing(root, rel, None)

        def unchanged(taken: list[DirectoryEntry], taken_content: bytes | None) -> None:
            same = {each.rel: _stamp(each) for each in taken} == below if content is None else True
            if not same or taken_content != content:
                raise _OvertakenStore

        protected = [rel for rel, stamp in below.items() if is_write_protected(stamp.mode)]
        with self._made():
            files.remove(parsed.rel, check=unchanged)
        self._say_protected(root, protected, "deleted")

    def rename(self, old: str | MemoryPath, new: str | MemoryPath) -> None:
        """Move the file or directory `old` to the path `new`, which must be in the same scope.

        Raises `StoreError` if `new` exists. Neither size nor file count is checked (formats/mux.md section
        6).
        """
        source, root, files = self.resolve(old)
        target, target_root, _files = self.resolve_new(new)
        refuse_untouchable(self.home, root, source, "renamed")
        refuse_untouchable(self.home, target_root, target, "renamed")
        if source.scope is not target.scope or root.key != target_root.key:
            raise StoreError(
                f"{source} cannot be moved to another scope by renaming it.",
                cause="A memory can only be renamed within its scope.",
                next_step="Create the memory in the other scope and delete this one.",
            )
        if target.segments[: len(source.segments)] == source.segments and source != target:
            raise StoreError(f"{source} cannot be moved into itself.", next_step="Choose another folder.")
        with self._effects.exclusive(root):
            entry = files.entry(source.rel)
            if entry is None:
                raise missing(source)
            there = files.entry(target.rel)
            is_itself = there is not None and there.inode == entry.inode != 0
            if there is not None and not (is_itself and differ_in_case_only(source.rel, target.rel)):
                raise StoreError(
                    f"{target} exists already.", next_step="Choose another name.", reason="exists"
                )
            below = self._files_below(files, source.rel, entry)
            for rel in below:
                refuse_untouchable(
                    self.home, root, MemoryPath(source.scope, tuple(rel.split("/"))), "renamed"
                )
            contents = {rel: files.read(rel, limit=_MOST_READ) for rel in below}
            for rel, data in contents.items():
                check_content(self.home, root, target.rel + rel[len(source.rel) :], None, data)
                check_content(self.home, root, rel, data, None)
            self._effects.will_change(root, source.rel)
            for rel, data in contents.items():
                self._effects.replacing(root, target.rel + rel[len(source.rel) :], data)
                self._effects.replacing(root, rel, None)
            protected = [rel for rel, stamp in below.items() if is_write_protected(stamp.mode)]
            with self._made():
                files.rename(source.rel, target.rel)
            self._say_protected(root, protected, "renamed")
        self._effects.renamed(root, source.rel, target.rel)

    def pin(self, path: str | MemoryPath, pinned: bool) -> None:
        """Pin a path, or unpin it if `pinned` is False, without checking that a file exists.

        The agent does not check it either (formats/mux.md section 6).
        """
        parsed, root, _files = self.resolve(path)
        refuse_scope_root(parsed, "pinned")
        self._effects.pinned(root, parsed.rel, pinned)

    def _write(
        self,
        root: ScopeRoot,
        files: ScopeFiles,
        parsed: MemoryPath,
        data: bytes,
        compare: Callable[[bytes | None], None] | None,
        *,
        create_only: bool = False,
    ) -> None:
        def before_replace(current: bytes | None) -> None:
            if compare is not None:
                compare(current)
            check_content(self.home, root, parsed.rel, current, data)
            self._effects.replacing(root, parsed.rel, data)

        protected = [] if create_only else self._protected(files, parsed.rel)
        with self._made():
            files.write(parsed.rel, data, create_only=create_only, before_replace=before_replace)
        self._say_protected(root, protected, "changed")

    @staticmethod
    def _protected(files: ScopeFiles, rel: str) -> list[str]:
        """Return `[rel]` if the file has no write permission bit (`files.atomic`), else an empty list."""
        entry = files.entry(rel)
        return [rel] if entry is not None and is_write_protected(entry.mode) else []

    def _say_protected(self, root: ScopeRoot, rels: list[str], done: str) -> None:
        if rels:
            path = memory_path(root.scope, rels[0])
            more = f" and {some(len(rels) - 1, 'more file')}" if len(rels) > 1 else ""
            verb = "were" if more else "was"
            self._effects.warn(f"{path}{more} {verb} {done} although write-protected.")

    @contextlib.contextmanager
    def _made(self) -> Iterator[None]:
        """Context manager: turn a failure to sync into a warning, because the change itself was made."""
        warnings: list[str] = []
        with warned(warnings, Undurable):
            yield
        for warning in warnings:
            self._effects.warn(warning)

    def _text(self, parsed: MemoryPath, files: ScopeFiles, *, any_size: bool = False) -> StoredText:
        entry = files.entry(parsed.rel)
        if entry is None:
            raise missing(parsed)
        if entry.kind != "file":
            raise StoreError(f"{parsed} is a directory, not a memory.", next_step="Choose a file inside it.")
        cap = self.home.caps.file_bytes
        if entry.size > cap and not any_size:
            raise StoreError(
                f"{parsed} is too large: {entry.size:,} bytes.",
                cause=f"The limit of this home is {cap:,} bytes per file.",
                next_step="Shorten it with another program, or split it.",
                reason="too-large",
            )
        data = files.read(parsed.rel)
        try:
            content, valid = data.decode("utf-8"), True
        except UnicodeDecodeError:
            content, valid = data.decode("utf-8", "replace"), False
        return StoredText(content, sha256_of_text(content), valid, len(data))

    def _editable_text(self, parsed: MemoryPath, files: ScopeFiles) -> str:
        text = self._text(parsed, files)
        refuse_no_text(parsed, valid=text.valid and "\0" not in text.content)
        return text.content

    @staticmethod
    def _files_below(files: ScopeFiles, rel: str, entry: DirectoryEntry) -> dict[str, _Stamp]:
        """Return the stamp of each file at or below `rel`, by path; a later write changes the stamp.

        `entry`: the file or folder at `rel`.
        """
        if entry.kind == "file":
            return {rel: _stamp(entry)}
        return {
            found.rel: _stamp(found)
            for found in files.walk().entries
            if found.kind == "file" and found.rel.startswith(rel + "/")
        }


class _Stamp(Struct, frozen=True):
    """The inode, size, time and mode of a file; at least one of them differs after a later write."""

    inode: int
    size: int
    mtime_ns: int
    mode: int


class _OvertakenStore(Exception):
    """Raised if another process wrote to a file that was about to be deleted.

    It wrote after the content was stored in the history, so the new content would be lost.
    """


def _stamp(entry: DirectoryEntry) -> _Stamp:
    return _Stamp(entry.inode, entry.size, entry.mtime_ns, entry.mode)
