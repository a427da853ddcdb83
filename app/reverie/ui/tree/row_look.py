"""The look of a row: the values that a painter needs, and the look of each row of the memory tree.

Nothing here imports what draws or edits a row.

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
    """Everything that a painter needs to draw a row, fetched in one call across the language border.

    All texts are safe to draw.
    """

    name: str
    detail: str = ""
    icon: str = ""
    use: str = ""
    """Right-aligned."""
    has_use: bool = False
    """Reserve the space of `use`, so that the marks of all rows line up."""
    bold: bool = False
    italic: bool = False
    quiet: bool = False
    pinned: bool = False
    pin_unknown: bool = False
    """The running agent has not yet read that the memory was pinned or unpinned."""
    badge: str = ""
    """N, M or D: what another program did to the file unseen."""
    loaded: LoadState | Literal[""] = ""
    warning: bool = False
    modified: bool = False
    flag: bool = False
    lock: str = ""
    """The icon of a row that cannot be edited."""
    cut_end: bool = False
    """Elide the end of the name (a sentence); other names are elided in the middle."""
    struck: bool = False
    """The file was deleted."""


def plain_look(data: RowData | None, *, lock: str = "") -> RowLook:
    """Return the look of a row, as far as its data alone determines it.

    `lock` is the icon for rows that cannot be edited.
    """
    match data:
        case FileData():
            return RowLook(visible(data.name), icon="file", has_use=True, lock=lock)
        case FolderData():
            return RowLook(visible(data.name), f"{data.notes:,}", "folder", lock=lock)
        case ScopeData():
            return _of_scope(data)
        case GoneData():
            return RowLook(
                visible(data.name), tr("deleted"), "file", has_use=True, badge="D", quiet=True, struck=True
            )
        case CompanionData():
            return _of_companion(data)
        case NoticeData():
            return _of_notice(data)
    return RowLook("")


def _of_scope(data: ScopeData) -> RowLook:
    return RowLook(
        scope_name(data.scope),
        "" if data.reason else display_text.notes(data.notes),
        data.scope.value,
        bold=True,
        warning=bool(data.problems),
        quiet=bool(data.reason),
    )


def _of_companion(data: CompanionData) -> RowLook:
    companion = data.companion
    detail = _when_read(companion.loading) if companion.exists else tr("not there yet")
    detail = tr("read-only") if companion.read_only else detail
    detail = visible(companion.about) or detail
    return RowLook(visible(companion.label), detail, "companion", italic=True, quiet=not companion.exists)


def _when_read(loading: Loading) -> str:
    """Say when the agent reads a file that it loads beside its memories."""
    if loading in ("start", "unopened"):
        return tr("instructions file")
    if loading == "on-demand":
        return tr("read when it is needed")
    if loading == "approval":
        return tr("read once it was approved")
    return tr("read by a part of the agent") if loading == "elsewhere" else tr("not read by the agent")


def _of_notice(data: NoticeData) -> RowLook:
    text = data.text or tr("Nothing here yet. Ctrl+N creates the first memory.")
    if data.kind == "filtered":
        text = tr("None here.")
    return RowLook(visible(text), italic=True, quiet=True)
