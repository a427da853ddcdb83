"""What an open file's text stands for: pure decisions about saving, following the disk and conflicts.

A `Buffer` knows two versions: `base`, the one its text grew from, and `disk`, the last one seen on disk. They
differ only while a person has to decide; then `base` is no version of the file, but that of the disk with the
old lines where nothing is decided yet, so that a save (compare-and-swap against `base`) cannot go through. No
decision ever throws typed text away: a changed file is followed where nothing was typed and merged where
something was, and what is replaced stays in the editor's undo stack.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from reverie.homes.listing import Companion
from reverie.homes.scopes import Refusal, ScopeContext

if TYPE_CHECKING:
    from reverie.services.views import FileText

Banner = Literal["", "conflict", "deleted", "gone"]
Effect = Literal["none", "follow", "merge"]


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file of a home. Equal when it is the same file, seen from whichever workspace."""

    home: str
    store: str
    rel: str

    @classmethod
    def memory(cls, home: str, root_key: str, rel: str) -> FileRef:
        """A memory, by the root it lies in."""
        return cls(home, root_key, rel)

    @classmethod
    def companion(cls, home: str, path: Path) -> FileRef:
        """A file that the agent loads beside its memories, by its path."""
        return cls(home, "companion", str(path))


@dataclass(frozen=True, slots=True)
class Address:
    """How the workbench reaches the file: a memory path in a context, or a companion."""

    context: ScopeContext
    path: str
    companion: Companion | None = None

    @property
    def name(self) -> str:
        return self.companion.label if self.companion else self.path.rpartition("/")[2]

    @property
    def label(self) -> str:
        return str(self.companion.path) if self.companion else self.path


@dataclass(frozen=True, slots=True)
class Buffer:
    """One open file. `modified`: its text is not that of `base`. `banner`: what a person has to be asked.
    `style`: whose byte order mark and line breaks the text has while there is no `base`."""

    ref: FileRef
    address: Address
    base: FileText | None
    disk: FileText | None
    modified: bool = False
    banner: Banner = ""
    style: FileText | None = None

    @property
    def expected_sha256(self) -> str | None:
        """What a save must find on disk; None: no file."""
        return self.base.sha256 if self.base is not None else None

    @property
    def read_only(self) -> str:
        return self.base.read_only if self.base is not None else ""

    @property
    def refusal(self) -> Refusal | None:
        """Why its whole store is read-only, where a person may decide otherwise."""
        refusal = self.base.refusal if self.base is not None else None
        return refusal if refusal is not None and refusal.permissible else None

    @property
    def note(self) -> str:
        return self.base.note if self.base is not None else ""


def opened(ref: FileRef, address: Address, found: FileText) -> Buffer:
    """A file as it was just read: nothing edited, nothing kept."""
    return Buffer(ref, address, found, found)


def typed(buffer: Buffer, modified: bool) -> Buffer:
    """The text changed, or was undone back to `base`; while a person has to decide that is no matter."""
    if buffer.banner == "conflict":
        return replace(buffer, modified=True)
    after = replace(buffer, modified=modified)
    if not modified and buffer.disk is None:
        return replace(after, banner="gone")
    return after


def seen_on_disk(buffer: Buffer, found: FileText | None, text: str) -> tuple[Buffer, Effect]:
    """`found` is on disk now (None: no file) while the buffer's text on disk would be `text`. `merge`: the
    text has to be merged with `disk`, and `merged` told."""
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
        return replace(buffer, disk=found), "none"  # this very version is being decided about
    if found.read_only:
        return replace(buffer, disk=found, banner="conflict"), "none"
    return replace(buffer, disk=found), "merge"


def merged(buffer: Buffer, base: FileText | None, modified: bool) -> Buffer:
    """The text holds what the disk has, except where `base` differs from it: there a person decides.
    `modified`: it is not that of the disk."""
    undecided = base is not buffer.disk
    return replace(buffer, base=base, modified=modified or undecided, banner="conflict" if undecided else "")


def reopened(buffer: Buffer, base: FileText | None) -> Buffer:
    """A merge was undone: the text grew from `base` again, and a person decides about what came since."""
    same = base is not None and buffer.disk is not None and base.sha256 == buffer.disk.sha256
    if same or buffer.disk is None:
        return replace(buffer, base=base)
    return replace(buffer, base=base, modified=True, banner="conflict", style=buffer.base or buffer.style)


def saved(buffer: Buffer, found: FileText, still_modified: bool) -> Buffer:
    """A save ended with `found` on disk; `still_modified`: somebody typed on meanwhile."""
    return replace(buffer, base=found, disk=found, modified=still_modified, banner="")


def kept_mine(buffer: Buffer) -> Buffer:
    """The person's text wins: the next save replaces exactly the version that was shown, or creates the
    file. What nobody may write over (it is no text, or too large) stays a conflict."""
    if buffer.disk is not None and buffer.disk.read_only:
        return buffer
    return replace(buffer, base=buffer.disk, modified=True, banner="", style=buffer.base or buffer.style)


def from_draft(
    buffer: Buffer, base: FileText | None, style: FileText | None, disk: FileText | None
) -> Buffer:
    """A draft's text is back. It grew from `base` (None: there was no file) while `disk` stands now: where
    they differ a person decides, as for any conflict."""
    same = (base.sha256 if base else None) == (disk.sha256 if disk else None)
    banner: Banner = "" if same else "conflict"
    if disk is None:
        banner = "deleted"
    return replace(
        buffer, base=disk if same else base, disk=disk, modified=True, banner=banner, style=base or style
    )


def taken_theirs(buffer: Buffer) -> tuple[Buffer, Effect]:
    """The version on disk wins. Without one there is nothing to take."""
    if buffer.disk is None:
        return buffer, "none"
    return replace(buffer, base=buffer.disk, modified=False, banner=""), "follow"


def moved(buffer: Buffer, ref: FileRef, address: Address) -> Buffer:
    """The file was renamed by us."""
    return replace(buffer, ref=ref, address=address)
