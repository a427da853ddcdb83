"""The state of an open file, and functions that return the next state after an event.

They decide about saving, changes on disk and conflicts, and change nothing themselves.

Threading: any thread. Failure: none.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from reverie.agents.base import Companion
from reverie.agents.scopes import Refusal, ScopeContext
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from reverie.services.views import FileText


Banner = Literal["", "conflict", "deleted", "gone"]


Effect = Literal["none", "follow", "merge"]


Display = Literal["", "cut", "lines", "long"]
"""What the editor leaves out of a version of a file, which then cannot be edited.

`cut`: the end of a file that is too large; `lines`: lines beyond those that are shown at once; `long`: the
rest of lines that are too long to be shown. Empty: nothing.
"""


class FileRef(Struct, frozen=True):
    """The identity of a file in a home; it is the same whatever workspace the file is opened from."""

    home: str
    """The id of the home."""
    store: str
    """The key of the scope root that contains the memory.

    For a companion (a file that the agent loads beside its memories) it is the word `companion`.
    """
    rel: str
    """The path below the scope root; for a companion, the whole path."""

    @classmethod
    def memory(cls, home: str, root_key: str, rel: str) -> FileRef:
        """Return the identity of the memory at the path `rel` below the root directory of a scope.

        `home`: the id of the home. `root_key`: the key of the root directory, which is the same in every
        context (such as a workspace) that has this scope.
        """
        return cls(home, root_key, rel)

    @classmethod
    def companion(cls, home: str, path: Path) -> FileRef:
        """Return the identity of the companion at `path`, a file that the agent loads beside its memories.

        `home`: the id of the home.
        """
        return cls(home, "companion", str(path))


class Address(Struct, frozen=True):
    """Where the engine finds a file: a memory in a context, or a companion."""

    context: ScopeContext
    path: str
    """The memory path; not used if `companion` is set."""
    companion: Companion | None = None
    """A file that the agent loads beside its memories; None for a memory."""

    @property
    def name(self) -> str:
        return self.companion.label if self.companion else self.path.rpartition("/")[2]

    @property
    def label(self) -> str:
        return str(self.companion.path) if self.companion else self.path


class Buffer(Struct, frozen=True):
    """The state of an open file: two versions of it, and the question that the user must answer about them.

    `base` and `disk` differ only while the user has to answer a question. In a conflict, `base` can be a
    version that was never on disk: it is the version on disk, except that each place in conflict has the
    lines from before the other program's change. A save succeeds only if the file has the hash of `base`, so
    it cannot succeed before the user has decided.

    Typed text is never discarded. If a file has changed on disk, the new version replaces the text if nothing
    was typed, and otherwise is merged into it; a replaced text stays in the undo stack.
    """

    ref: FileRef
    address: Address
    base: FileText | None
    """The version on which the text in the editor is based; None if there is no such file."""
    disk: FileText | None
    """The version last seen on disk; None if there is no such file."""
    modified: bool = False
    """True if the text in the editor differs from the text of `base`."""
    banner: Banner = ""
    """The question to ask the user; empty if there is none.

    `conflict`: the file and the text have both changed. `deleted`: the file was deleted, and there is unsaved
    text. `gone`: the file was deleted, and there is no unsaved text.
    """
    style: FileText | None = None
    """The version whose byte order mark and line breaks a save uses if `base` is None.

    None: no byte order mark, and LF as line break.
    """

    @property
    def expected_sha256(self) -> str | None:
        """The hash that the file on disk must have for a save to succeed; None: there must be no file."""
        return self.base.sha256 if self.base is not None else None

    @property
    def read_only(self) -> str:
        return self.base.read_only if self.base is not None else ""

    @property
    def refusal(self) -> Refusal | None:
        """The reason why the store is read-only, if the user may permit writing nevertheless; else None."""
        refusal = self.base.refusal if self.base is not None else None
        return refusal if refusal is not None and refusal.permissible else None

    @property
    def convertible(self) -> bool:
        """True if the file is UTF-16 text that can be converted to UTF-8 without loss."""
        return self.base is not None and self.base.convertible

    @property
    def note(self) -> str:
        return self.base.note if self.base is not None else ""


def opened(ref: FileRef, address: Address, found: FileText) -> Buffer:
    """Return the state of a file that was just opened; `found` is the version that was read."""
    return Buffer(ref, address, found, found)


def typed(buffer: Buffer, modified: bool) -> Buffer:
    """Return the state after the user has changed the text.

    `modified` is False if the text is that of `base` again, because the user undid the changes. During a
    conflict it has no effect: the state stays modified.
    """
    if buffer.banner == "conflict":
        return replace(buffer, modified=True)
    after = replace(buffer, modified=modified)
    if not modified and buffer.disk is None:
        return replace(after, banner="gone")
    return after


def seen_on_disk(buffer: Buffer, found: FileText | None, text: str | None) -> tuple[Buffer, Effect]:
    """Return the state after the file was read again, and what the editor must do with its text.

    `found` is the version on disk; None if the file does not exist. `text` is the content in the editor, to
    be compared with that of `found`; None if the two are known to differ. The second result is `none` (the
    text stays), `follow` (replace the text by the `base` of the new state) or `merge` (merge the `disk` of
    the new state into the text, then call `merged`).
    """
    if found is None:
        return replace(buffer, disk=None, banner="deleted" if buffer.modified else "gone"), "none"
    if found.sha256 == buffer.expected_sha256 and buffer.base is not None:
        # Size and time may be newer than those of the same content in `base`.
        return replace(buffer, base=found, disk=found, banner=""), "none"
    if found.content == text and not found.read_only:
        return replace(buffer, base=found, disk=found, modified=False, banner=""), "none"
    if not buffer.modified:
        return replace(buffer, base=found, disk=found, banner=""), "follow"
    if buffer.disk is not None and buffer.disk.sha256 == found.sha256:
        return replace(buffer, disk=found), "none"  # the user is already deciding about this version
    if found.read_only:
        return replace(buffer, disk=found, banner="conflict"), "none"
    return replace(buffer, disk=found), "merge"


def merged(buffer: Buffer, base: FileText | None, modified: bool) -> Buffer:
    """Return the state after the version on disk was merged into the text.

    `base` is the version on which the merged text is based. If it is not the version on disk, the user must
    decide about conflicts. `modified`: whether the text differs from the version on disk.
    """
    undecided = base is not buffer.disk
    return replace(buffer, base=base, modified=modified or undecided, banner="conflict" if undecided else "")


def reopened(buffer: Buffer, base: FileText | None) -> Buffer:
    """Return the state after a merge was undone, so that the text is based on the earlier version `base`.

    If the version on disk differs from `base`, the user must then decide between them.
    """
    same = base is not None and buffer.disk is not None and base.sha256 == buffer.disk.sha256
    if same or buffer.disk is None:
        return replace(buffer, base=base)
    return replace(buffer, base=base, modified=True, banner="conflict", style=buffer.base or buffer.style)


def saved(buffer: Buffer, found: FileText, still_modified: bool) -> Buffer:
    """Return the state after a save; `found` is the version that it wrote.

    `still_modified`: whether the user has typed during the save.
    """
    return replace(buffer, base=found, disk=found, modified=still_modified, banner="")


def kept_mine(buffer: Buffer) -> Buffer:
    """Return the state after the user chose their own text in a conflict.

    The next save replaces only the version on disk that the user saw, or creates the file. If the version on
    disk cannot be overwritten (because it is not text, or too large), the conflict stays.
    """
    if buffer.disk is not None and buffer.disk.read_only:
        return buffer
    return replace(buffer, base=buffer.disk, modified=True, banner="", style=buffer.base or buffer.style)


def from_draft(
    buffer: Buffer, base: FileText | None, style: FileText | None, disk: FileText | None
) -> Buffer:
    """Return the state of a file into which the text of a draft (a stored unsaved text) was put.

    `base`: the version on which the draft is based; None if there was no file. `style`: the version whose
    byte order mark and line breaks a save uses if there is no `base`. `disk`: the current version; None if
    there is no file. If `disk` differs from `base`, the user must decide.
    """
    same = (base.sha256 if base else None) == (disk.sha256 if disk else None)
    banner: Banner = "" if same else "conflict"
    if disk is None:
        banner = "deleted"
    return replace(
        buffer, base=disk if same else base, disk=disk, modified=True, banner=banner, style=base or style
    )


def taken_theirs(buffer: Buffer) -> tuple[Buffer, Effect]:
    """Return the state after the user chose the version on disk, and what the editor must do with its text.

    The second result is `follow` (replace the text by the version on disk), or `none` if there is no version
    on disk; the state then stays the same.
    """
    if buffer.disk is None:
        return buffer, "none"
    return replace(buffer, base=buffer.disk, modified=False, banner=""), "follow"


def moved(buffer: Buffer, ref: FileRef, address: Address) -> Buffer:
    """Return the state with another identity and address, because the file was renamed in this window."""
    return replace(buffer, ref=ref, address=address)
