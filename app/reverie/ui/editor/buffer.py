"""The state of an open file: pure functions that decide about saving, changes on disk and conflicts.

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
"""What the editor leaves out of a version, which is then read-only.

`cut`: the end of a file that is too large; `lines`: lines beyond those that are shown at once; `long`: the
rest of lines that are too long to be shown. Empty: nothing.
"""


class FileRef(Struct, frozen=True):
    """The identity of a file of a home; it is the same from whichever workspace the file is opened."""

    home: str
    store: str
    rel: str

    @classmethod
    def memory(cls, home: str, root_key: str, rel: str) -> FileRef:
        """Return the identity of the memory with the relative path `rel` in the scope root `root_key`."""
        return cls(home, root_key, rel)

    @classmethod
    def companion(cls, home: str, path: Path) -> FileRef:
        """Return the identity of a file that the agent loads beside its memories."""
        return cls(home, "companion", str(path))


class Address(Struct, frozen=True):
    """The address of a file for the engine: a memory path in a context, or a companion."""

    context: ScopeContext
    path: str
    companion: Companion | None = None

    @property
    def name(self) -> str:
        return self.companion.label if self.companion else self.path.rpartition("/")[2]

    @property
    def label(self) -> str:
        return str(self.companion.path) if self.companion else self.path


class Buffer(Struct, frozen=True):
    """The state of an open file: two versions, and whether the user has to decide.

    `base` is the version on which the text is based, `disk` the version last seen on disk. They differ only
    while the user has to decide. Then `base` is not a version that ever existed: it is the version on disk,
    but with the old lines at the undecided places, so that a save (compare-and-swap against `base`) cannot
    succeed. No decision ever discards typed text: a file that changed on disk replaces the text if nothing
    was typed and is merged otherwise, and replaced text stays in the undo stack.
    """

    ref: FileRef
    address: Address
    base: FileText | None
    disk: FileText | None
    modified: bool = False
    """Whether the text differs from the text of `base`."""
    banner: Banner = ""
    """The question to ask the user; empty if there is none."""
    style: FileText | None = None
    """The version from which byte order mark and line breaks are taken while there is no `base`."""

    @property
    def expected_sha256(self) -> str | None:
        """The hash that the file on disk must have for a save to succeed; None if no file must exist."""
        return self.base.sha256 if self.base is not None else None

    @property
    def read_only(self) -> str:
        return self.base.read_only if self.base is not None else ""

    @property
    def refusal(self) -> Refusal | None:
        """The reason why the whole store is read-only, if the user can permit writing to it; else None."""
        refusal = self.base.refusal if self.base is not None else None
        return refusal if refusal is not None and refusal.permissible else None

    @property
    def convertible(self) -> bool:
        """Whether the file is UTF-16 that can be rewritten as UTF-8 without loss."""
        return self.base is not None and self.base.convertible

    @property
    def note(self) -> str:
        return self.base.note if self.base is not None else ""


def opened(ref: FileRef, address: Address, found: FileText) -> Buffer:
    """Return the buffer of a file that was just read."""
    return Buffer(ref, address, found, found)


def typed(buffer: Buffer, modified: bool) -> Buffer:
    """Return the buffer after the text changed; `modified` is False if undo restored the text of `base`.

    An open conflict keeps the buffer modified.
    """
    if buffer.banner == "conflict":
        return replace(buffer, modified=True)
    after = replace(buffer, modified=modified)
    if not modified and buffer.disk is None:
        return replace(after, banner="gone")
    return after


def seen_on_disk(buffer: Buffer, found: FileText | None, text: str | None) -> tuple[Buffer, Effect]:
    """Return the buffer and the effect on the text after `found` was read from disk (None: no file).

    `text` is the content that the editor would write, None if it is surely another one. For the effect
    `merge` the caller merges the text with `disk` and then calls `merged`.
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
    """Return the buffer after a merge.

    If `base` is not the version on disk, the user has to decide. `modified`: whether the text differs
    from the text on disk.
    """
    undecided = base is not buffer.disk
    return replace(buffer, base=base, modified=modified or undecided, banner="conflict" if undecided else "")


def reopened(buffer: Buffer, base: FileText | None) -> Buffer:
    """Return the buffer after a merge was undone, so that the text is based on `base` again.

    The user then decides about the newer version on disk.
    """
    same = base is not None and buffer.disk is not None and base.sha256 == buffer.disk.sha256
    if same or buffer.disk is None:
        return replace(buffer, base=base)
    return replace(buffer, base=base, modified=True, banner="conflict", style=buffer.base or buffer.style)


def saved(buffer: Buffer, found: FileText, still_modified: bool) -> Buffer:
    """Return the buffer after a save that left `found` on disk.

    `still_modified`: whether the user typed meanwhile.
    """
    return replace(buffer, base=found, disk=found, modified=still_modified, banner="")


def kept_mine(buffer: Buffer) -> Buffer:
    """Return the buffer after the user kept their text.

    The next save replaces exactly the version that was shown, or creates the file. If the version on disk
    cannot be overwritten (not text, or too large), the conflict stays.
    """
    if buffer.disk is not None and buffer.disk.read_only:
        return buffer
    return replace(buffer, base=buffer.disk, modified=True, banner="", style=buffer.base or buffer.style)


def from_draft(
    buffer: Buffer, base: FileText | None, style: FileText | None, disk: FileText | None
) -> Buffer:
    """Return the buffer of a restored draft whose text is based on `base` (None: there was no file).

    `style` is the version from which byte order mark and line breaks are taken.

    If `disk`, the current version, differs from `base`, there is a conflict.
    """
    same = (base.sha256 if base else None) == (disk.sha256 if disk else None)
    banner: Banner = "" if same else "conflict"
    if disk is None:
        banner = "deleted"
    return replace(
        buffer, base=disk if same else base, disk=disk, modified=True, banner=banner, style=base or style
    )


def taken_theirs(buffer: Buffer) -> tuple[Buffer, Effect]:
    """Return the buffer, and the effect on the text, after the user chose the version on disk.

    Without a version on disk nothing changes.
    """
    if buffer.disk is None:
        return buffer, "none"
    return replace(buffer, base=buffer.disk, modified=False, banner=""), "follow"


def moved(buffer: Buffer, ref: FileRef, address: Address) -> Buffer:
    """Return the buffer of a file that this window renamed, with its new identity and address."""
    return replace(buffer, ref=ref, address=address)
