"""The appearance of the rows of the memory tree: the values from which a row is painted.

This module imports no module that draws or edits rows.

Threading: GUI thread, for the translated texts. Failure: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from reverie.agents.base import Loading
from reverie.ui import display_text
from reverie.ui.display_text import scope_name, tr, visible

if TYPE_CHECKING:
    from reverie.agents.base import LoadState
from reverie.ui.tree.memory_tree import (
    CompanionData,
    FileData,
    FolderData,
    GoneData,
    NoticeData,
    RowData,
    ScopeData,
)


class RowLook(NamedTuple):
    """Everything that the delegate needs to paint a row, so that it calls the model only once per row.

    All texts are safe to draw.
    """

    name: str
    detail: str = ""
    icon: str = ""
    use: str = ""
    """The use count, right-aligned; empty for none."""
    has_use: bool = False
    """True to reserve the space of a use count, so that the marks of all rows line up."""
    bold: bool = False
    italic: bool = False
    quiet: bool = False
    """True to paint the row in a less visible colour."""
    pinned: bool = False
    pin_unknown: bool = False
    """True if the running agent has not yet read that the memory was pinned or unpinned."""
    badge: str = ""
    """The change by another program that the user has not seen; empty for none.

    N: new. M: modified. D: deleted.
    """
    loaded: LoadState | Literal[""] = ""
    """How much of the memory the agent loads, shown by a sign; empty for no sign."""
    warning: bool = False
    """True to show the warning sign: the agent does not see the memory, or a directory cannot be read."""
    modified: bool = False
    """True to show that the file has unsaved text."""
    flag: bool = False
    """True to show the warning sign: the memory needs attention, because it is too large or has a finding."""
    lock: str = ""
    """The name of the icon of a row that cannot be edited; empty for none."""
    cut_end: bool = False
    """True to shorten the name at its end, because it is a sentence; other names are cut in the middle."""
    struck: bool = False
    """True to strike out the name, because the file was deleted."""


def plain_look(data: RowData | None, *, lock: str = "") -> RowLook:
    """Return the look of a row as far as it depends only on the row's data.

    `lock`: the name of the icon for a row that cannot be edited; empty for no icon.
    """
    match data:
        case FileData():
            return RowLook(visible(data.name), icon="file", has_use=True, lock=lock)
        case FolderData():
            return RowLook(visible(data.name), f"{data.notes:,}", "folder", lock=lock)
        case ScopeData():
            return RowLook(
                scope_name(data.scope),
                "" if data.reason else display_text.notes(data.notes),
                data.scope.value,
                bold=True,
                warning=bool(data.problems),
                quiet=bool(data.reason),
            )
        case GoneData():
            return RowLook(
                visible(data.name), tr("deleted"), "file", has_use=True, badge="D", quiet=True, struck=True
            )
        case CompanionData():
            return _of_companion(data)
        case NoticeData():
            return _of_notice(data)
    return RowLook("")


def _of_companion(data: CompanionData) -> RowLook:
    companion = data.companion
    detail = _when_read(companion.loading) if companion.exists else tr("not created yet")
    detail = tr("read-only") if companion.read_only else detail
    detail = visible(companion.about) or detail
    return RowLook(visible(companion.label), detail, "companion", italic=True, quiet=not companion.exists)


def _when_read(loading: Loading) -> str:
    """Return a few words about when the agent reads a companion, such as "read when needed"."""
    if loading in ("start", "unopened"):
        return tr("instructions file")
    if loading == "on-demand":
        return tr("read when needed")
    if loading == "approval":
        return tr("read after approval")
    return tr("not loaded as instructions") if loading == "elsewhere" else tr("not read by the agent")


def _of_notice(data: NoticeData) -> RowLook:
    text = data.text or tr("No memories yet. Press Ctrl+N to create the first one.")
    if data.kind == "filtered":
        text = tr("No matching memories.")
    return RowLook(visible(text), italic=True, quiet=True)
