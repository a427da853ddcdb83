"""How a row of the memory tree looks, as far as its data alone tells: the tree and the first look say it
alike. Pure but for the translation; nothing here needs what draws or edits a row."""

from __future__ import annotations

from reverie.homes.listing import Loading
from reverie.ui import words
from reverie.ui.memory.tree_nodes import CompanionData, FileData, FolderData, NoticeData, RowData, ScopeData
from reverie.ui.row_look import RowLook
from reverie.ui.shown import visible
from reverie.ui.translation import tr


def plain_look(data: RowData | None, *, lock: str = "") -> RowLook:
    """A row without what other parts of the window know of it. `lock`: the sign of what is not for
    editing."""
    match data:
        case FileData():
            return RowLook(visible(data.name), icon="file", has_use=True, lock=lock)
        case FolderData():
            return RowLook(visible(data.name), str(data.notes), "folder", lock=lock)
        case ScopeData():
            return _of_scope(data)
        case CompanionData():
            return _of_companion(data)
        case NoticeData():
            return _of_notice(data)
    return RowLook("")


def _of_scope(data: ScopeData) -> RowLook:
    return RowLook(
        words.scope_name(data.scope),
        "" if data.reason else words.notes(data.notes),
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
    """When the agent reads a file that it loads beside its memories."""
    if loading in ("start", "unopened"):
        return tr("read by the agent")
    if loading == "on-demand":
        return tr("read when it is needed")
    if loading == "approval":
        return tr("read once it was approved")
    return tr("read by a part of the agent") if loading == "elsewhere" else tr("not read by the agent")


def _of_notice(data: NoticeData) -> RowLook:
    text = data.text or tr("Nothing here yet. Ctrl+N creates the first memory.")
    if data.kind == "unchanged":
        text = tr("Nothing changed since you last looked.")
    return RowLook(visible(text), italic=True, quiet=True)
