"""The registry of the window's actions.

Menus, tool bars, context menus, the palette and the sheet of shortcuts are made from it. Each action is a row
of data: its id, texts, keys and icon, the name of the window's slot, and a rule. The rule is a function of an
`ActionState` that returns whether the action is possible, so all conditions are in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Literal

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from reverie.ui.display_text import translatable as _
from reverie.ui.display_text import translated
from reverie.ui.icons import Icons
from reverie.values import Struct


class ActionState(Struct, frozen=True):
    """The facts about the window from which rules decide whether an action is possible."""

    home: bool = False
    """True if a home is shown."""
    closable: bool = False
    """True if there is a home that can be closed."""
    context: bool = False
    """True if the memories of a workspace, project or home are shown."""
    file: bool = False
    """True if the selected row is a memory."""
    folder: bool = False
    """True if the selected row is a folder."""
    companion: bool = False
    """True if the selected row is a companion (a file that the agent loads beside its memories)."""
    on_disk: bool = False
    """True if the selected row is a file or folder on this machine."""
    pinned: bool = False
    """True if the selected row is a pinned memory."""
    open_file: bool = False
    """True if a file is open."""
    writable: bool = False
    """True if the open file can be edited."""
    modified: bool = False
    """True if the open file has unsaved text, or was deleted on disk."""
    any_modified: bool = False
    """True if some open file has unsaved text."""
    conflicts: bool = False
    """True if the user must decide about conflicts in the open file."""
    undo: bool = False
    """True if there is a change of memories that can be undone."""
    redo: bool = False
    """True if there is an undone change of memories that can be made again."""
    running: bool = False
    """True if a consolidation of this window is running."""
    can_consolidate: bool = False
    services: bool = False
    """True if the shown home has background services that can be paused or resumed."""
    agent_jobs: bool = False
    """True if the agent reports background jobs of its own."""
    can_extract: bool = False
    """True if memories can be extracted from the conversations of the shown home."""
    can_note: bool = False
    """True if the notes of the shown session can be updated."""
    can_tell: bool = False
    """True if the user can write a note to the agent."""
    failures: bool = False
    """True if the agent of the shown home learns from failures."""
    fixable: bool = False
    """True if a statement in the open memory is stale and can be fixed."""
    beside: str = ""
    """The page that is shown in place of the editor: `context` or `failures`; empty for neither."""


Rule = Callable[[ActionState], bool]


def always(_now: ActionState) -> bool:
    """Return True, as the rule of an action that is always possible."""
    return True


class ActionSpec(Struct, frozen=True):
    """One action of the window, such as Save, as a row of the registry."""

    id: str
    menu: str
    """The key of its menu in `MENUS`."""
    text: str
    """The text in the menu, with `&` before its mnemonic."""
    slot: str
    """The dotted name of a method of the window."""
    keys: tuple[str, ...] = ()
    """The shortcuts, portable between systems; the first is shown."""
    icon: str = ""
    tip: str = ""
    """The tool tip; empty: the text in the menu."""
    rule: Rule = always
    """The rule that decides from the facts about the window whether the action is possible."""
    separator: bool = False
    """True if the menu has a separator above the action."""
    checkable: bool = False
    """True if the action has a check mark."""
    where: Literal["window", "tree", "editor"] = "window"
    """The part of the window in which the shortcuts work.

    `tree` or `editor`: they work only while the tree or the editor has the focus. So in the editor, Del and
    Ctrl+Z act on the text, and Ctrl+F searches in the file instead of in the memories.
    """
    destructive: bool = False
    """True if the action removes something, so that the palette never suggests it."""


class ActionRow(Struct, frozen=True):
    """An action as the palette lists it."""

    id: str
    text: str
    """The text of the action, translated, without `&` before the mnemonic."""
    menu: str
    """The title of its menu, translated, without `&` before the mnemonic."""
    keys: str
    """The shortcuts in one text."""
    icon: str
    """The name of the icon."""
    rule: Rule
    """The rule that decides from the facts about the window whether the action is possible."""
    destructive: bool = False
    """True if the action removes something."""


MENUS: tuple[tuple[str, str], ...] = (
    ("file", _("&File")),
    ("edit", _("&Edit")),
    ("memory", _("&Memory")),
    ("dream", _("&Consolidate")),
    ("view", _("&View")),
    ("help", _("&Help")),
)

ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec("home.open", "file", _("&Open folder…"), "dialogs.open_home", ("Ctrl+O",), "open",
               _("Open the home directory of an agent")),
    ActionSpec("home.demo", "file", _("Try the &demo"), "open_demo", (), "home",
               _("Open a temporary copy of the demo home")),
    ActionSpec("home.close", "file", _("Cl&ose home"), "close_home", (), "",
               _("Remove the selected home from the list; its files remain on disk"),
               lambda now: now.closable, destructive=True),
    ActionSpec("file.save", "file", _("&Save"), "tab.editor.save", ("Ctrl+S",), "save",
               _("Save the open memory"), lambda now: now.modified and now.writable, separator=True),
    ActionSpec("file.save-all", "file", _("Save a&ll"), "tab.editor.save_all", ("Ctrl+Shift+S",), "",
               _("Save every edited memory"), lambda now: now.any_modified),
    ActionSpec("file.reload", "file", _("&Reload from disk"), "tab.editor.reload", (), "",
               _("Show the version on disk; Ctrl+Z restores your text"), lambda now: now.open_file),
    ActionSpec("settings.open", "file", _("Se&ttings…"), "dialogs.open_settings", ("Ctrl+,",), "",
               _("Set the engine, models, keys and background runs"), separator=True),
    ActionSpec("window.quit", "file", _("&Quit"), "close", ("Ctrl+Q",), separator=True),
    ActionSpec("edit.find", "edit", _("&Find in this memory"), "tab.pane.view.open_find", ("Ctrl+F",), "",
               _("Find text or a regular expression in the open memory"), lambda now: now.open_file,
               where="editor"),
    ActionSpec("edit.find-next", "edit", _("Find &next"), "tab.pane.view.find_next", ("F3",), "",
               _("Go to the next match"), lambda now: now.open_file, where="editor"),
    ActionSpec("edit.find-previous", "edit", _("Find &previous"), "tab.pane.view.find_previous",
               ("Shift+F3",), "", _("Go to the previous match"), lambda now: now.open_file, where="editor"),
    ActionSpec("edit.replace", "edit", _("&Replace…"), "tab.pane.view.open_replace", ("Ctrl+R",), "",
               _("Find and replace in the open memory"), lambda now: now.open_file and now.writable,
               where="editor"),
    ActionSpec("edit.front", "edit", _("Front &matter"), "tab.pane.view.toggle_form", ("Ctrl+Shift+D",),
               "form", _("Edit the description and other keys of the open memory in a form"),
               lambda now: now.open_file, separator=True, checkable=True),
    ActionSpec("conflict.next", "edit", _("Next c&onflict"), "tab.co_editing.next_conflict", ("F8",), "",
               _("Go to the next conflict between your text and the file on disk"), lambda now: now.conflicts,
               separator=True),
    ActionSpec("conflict.previous", "edit", _("Previous confli&ct"), "tab.co_editing.previous_conflict",
               ("Shift+F8",), "", _("Go to the previous conflict"), lambda now: now.conflicts),
    ActionSpec("conflict.mine", "edit", _("&Use mine"), "tab.co_editing.keep_mine", ("F9",), "",
               _("Resolve this conflict with your lines"), lambda now: now.conflicts),
    ActionSpec("conflict.theirs", "edit", _("Use &theirs"), "tab.co_editing.take_theirs", ("Shift+F9",), "",
               _("Resolve this conflict with the lines on disk"), lambda now: now.conflicts),
    ActionSpec("conflict.both", "edit", _("Use &both"), "tab.co_editing.keep_both", ("Ctrl+F9",), "",
               _("Resolve this conflict with your lines, followed by the lines on disk"),
               lambda now: now.conflicts),
    ActionSpec("editor.source", "edit", _("&Source"), "tab.pane.view.show_source", ("Ctrl+Alt+1",),
               "source", _("Show the source text"), lambda now: now.open_file, separator=True,
               checkable=True),
    ActionSpec("editor.side", "edit", _("Side &by side"), "tab.pane.view.show_side", ("Ctrl+Alt+2",),
               "side", _("Show the source and the rendered text side by side"),
               lambda now: now.open_file, checkable=True),
    ActionSpec("editor.preview", "edit", _("&Preview"), "tab.pane.view.show_preview", ("Ctrl+Alt+3",),
               "preview", _("Show the rendered text"), lambda now: now.open_file, checkable=True),
    ActionSpec("editor.wrap", "edit", _("&Wrap long lines"), "tab.pane.view.toggle_wrap", ("Alt+Z",), "",
               _("Wrap lines at the edge of the editor"), separator=True, checkable=True, where="editor"),
    ActionSpec("editor.lines", "edit", _("Line n&umbers"), "tab.pane.view.toggle_line_numbers", (), "",
               _("Show line numbers"), checkable=True),
    ActionSpec("editor.zoom-in", "edit", _("Zoom &in"), "tab.pane.view.zoom_in", ("Ctrl++", "Ctrl+="), "",
               _("Larger text in the editor"), where="editor"),
    ActionSpec("editor.zoom-out", "edit", _("Zoom &out"), "tab.pane.view.zoom_out", ("Ctrl+-",), "",
               _("Smaller text in the editor"), where="editor"),
    ActionSpec("editor.zoom-reset", "edit", _("Usual si&ze"), "tab.pane.view.zoom_reset", ("Ctrl+0",), "",
               _("Set the editor's text to the size of the interface text"), where="editor"),
    ActionSpec("memory.new", "memory", _("&New memory…"), "tab.hand.new_memory", ("Ctrl+N",), "new",
               _("Create a memory"), lambda now: now.context),
    ActionSpec("memory.open", "memory", _("&Edit"), "tab.edit_selected", (), "file",
               _("Open the selected memory in the editor"), lambda now: now.file or now.companion),
    ActionSpec("memory.pin", "memory", _("&Pin"), "tab.hand.toggle_pin", ("Ctrl+Shift+K",), "pin",
               _("A pinned memory is never deleted or renamed by a consolidation"),
               lambda now: now.file, checkable=True, separator=True),
    ActionSpec("memory.rename", "memory", _("&Rename"), "tab.hand.rename_selected", ("F2",), "rename",
               _("Rename the selected memory or folder"),
               lambda now: now.file or now.folder, where="tree"),
    ActionSpec("memory.move", "memory", _("&Move to…"), "tab.hand.move_selected", ("Ctrl+Shift+M",), "",
               _("Move the selection to another folder or scope; pins and use counts are kept"),
               lambda now: now.file or now.folder),
    ActionSpec("memory.delete", "memory", _("&Delete"), "tab.hand.delete_selected", ("Del",), "delete",
               _("Delete the selection; you can undo this"), lambda now: now.file or now.folder,
               where="tree", destructive=True),
    ActionSpec("memory.undo", "memory", _("&Undo last change"), "tab.edits.undo", ("Ctrl+Z",), "undo",
               _("Undo the last deletion, move, rename, pin, merge, restore or change of a record"),
               lambda now: now.undo, where="tree"),
    ActionSpec("memory.redo", "memory", _("Red&o last change"), "tab.edits.redo", ("Ctrl+Shift+Z", "Ctrl+Y"),
               "", _("Redo the last undone change"), lambda now: now.redo, where="tree"),
    ActionSpec("memory.duplicate", "memory", _("Duplic&ate"), "tab.hand.duplicate", (), "",
               _("Create a copy of the selected memory beside it"), lambda now: now.file),
    ActionSpec("memory.compare", "memory", _("C&ompare"), "tab.comparing.compare", ("Ctrl+Shift+B",), "side",
               _("Show two selected memories side by side, and copy differences from one to the other"),
               lambda now: now.file),
    ActionSpec("memory.copy-path", "memory", _("Copy &path"), "tab.hand.copy_path", ("Ctrl+Shift+C",), "copy",
               _("Copy the memory path"), lambda now: now.file or now.folder, separator=True),
    ActionSpec("memory.copy-file-path", "memory", _("Copy file pat&h"), "tab.hand.copy_file_path", (), "",
               _("Copy the path of the file on disk"),
               lambda now: now.file or now.folder or now.companion),
    ActionSpec("memory.reveal", "memory", _("Show in file mana&ger"), "tab.hand.show_in_file_manager", (), "",
               _("Open the folder of the selected file in the file manager"),
               lambda now: now.on_disk),
    ActionSpec("memory.export", "memory", _("E&xport…"), "tab.transfer.export", (), "",
               _("Copy the selected memories, folders or scopes to a zip file or a folder"),
               lambda now: now.context and not now.companion, separator=True),
    ActionSpec("memory.import-file", "memory", _("&Import…"), "tab.transfer.import_file", (), "",
               _("Propose memories from a zip file or a text file; you review them before anything changes"),
               lambda now: now.context),
    ActionSpec("memory.import-folder", "memory", _("Import f&older…"), "tab.transfer.import_folder", (), "",
               _("Propose memories from a folder; you review them before anything changes"),
               lambda now: now.context),
    ActionSpec("memory.history", "memory", _("&History"), "lazy_tabs.show_history", ("Ctrl+H",), "runs",
               _("Show who changed the memory, when and how, and restore earlier versions"),
               lambda now: now.context),
    ActionSpec("memory.seen", "memory", _("&Mark all as seen"), "tab.mark_seen", (), "check",
               _("Mark every memory that someone else edited as seen"), lambda now: now.context),
    ActionSpec("memory.fix-stale", "memory", _("&Fix stale statements"), "tab.stale.fix_here",
               ("Alt+Return",), "",
               _("Update outdated paths, versions and commands in this line or, if it has none, in "
"the whole memory"),
               lambda now: now.fixable),
    ActionSpec("memory.duplicates", "memory", _("Find d&uplicates"), "tab.worth.show_duplicates",
               ("Ctrl+Shift+U",), "",
               _("Compare memories with the same content side by side, and keep one or merge them"),
               lambda now: now.context, separator=True),
    ActionSpec("memory.trash", "memory", _("&Deleted memories"), "lazy_tabs.show_deleted",
               ("Ctrl+Shift+T",), "trash",
               _("Show the deleted memories and who deleted them, and restore them"), lambda now: now.home),
    ActionSpec("dream.run", "dream", _("C&onsolidate"), "tab.dreams.run_now", ("Ctrl+Return",),
               "consolidate",
               _("Merge duplicates and tidy up with the engine selected in Settings"),
               lambda now: now.can_consolidate),
    ActionSpec("dream.preview", "dream", _("&Preview (dry run)"), "tab.dreams.preview",
               ("Ctrl+Shift+Return",), "preview",
               _("Show what a consolidation would change, and choose which changes to apply"),
               lambda now: now.can_consolidate),
    ActionSpec("dream.rules", "dream", _("Run with &rules"), "tab.dreams.run_rules", (), "consolidate",
               _("Consolidate without a model"), lambda now: now.can_consolidate,
               separator=True),
    ActionSpec("dream.model", "dream", _("Run with &model…"), "tab.dreams.run_model", (), "consolidate",
               _("Consolidate with a model of your choice"), lambda now: now.can_consolidate),
    ActionSpec("dream.cancel", "dream", _("C&ancel the running consolidation"), "tab.dreams.jobs.cancel",
               ("Ctrl+.",), "cancel", _("Stop before the next change"), lambda now: now.running),
    ActionSpec("services.pause", "dream", _("Pause &background services"), "lazy_tabs.toggle_pause", (), "",
               _("Cancel background runs in this home and start no more until you resume"),
               lambda now: now.services, checkable=True, separator=True),
    ActionSpec("dream.runs", "dream", _("&Last runs"), "lazy_tabs.show_runs", ("Ctrl+Shift+R",), "runs",
               _("Show what past runs changed, and undo them"), lambda now: now.home, separator=True),
    ActionSpec("dream.extract", "dream", _("E&xtract rollouts…"), "tab.extraction.show", ("Ctrl+Shift+E",),
               "consolidate", _("Extract memories from Codex threads and merge them"),
               lambda now: now.can_extract),
    ActionSpec("dream.tell", "dream", _("&Tell Codex…"), "tab.telling.show", (), "",
               _("Write a note for Codex to add to its memory"), lambda now: now.can_tell),
    ActionSpec("dream.notes", "dream", _("Update session &notes"), "tab.notes.update_now", ("Ctrl+Shift+N",),
               "", _("Update the selected session's notes now, even if the thresholds for an update are "
"not reached"),
               lambda now: now.can_note),
    ActionSpec("dream.agent-jobs", "dream", _("The agent's background &jobs…"), "lazy_tabs.show_agent_jobs",
               (), "", _("Show the agent's own records of its extractions and consolidations"),
               lambda now: now.agent_jobs),
    ActionSpec("view.goto", "view", _("&Go to…"), "dialogs.show_goto", ("Ctrl+P",), "",
               _("Find a memory, workspace, home or setting by name")),
    ActionSpec("view.palette", "view", _("Command &palette…"), "dialogs.show_palette",
               ("Ctrl+Shift+P", "Ctrl+K"), "", _("Find a command by name")),
    ActionSpec("view.picker", "view", _("Show &homes"), "toggle_picker", ("Ctrl+B",), "",
               _("Show or hide the list of homes"), checkable=True),
    ActionSpec("view.refresh", "view", _("&Refresh"), "refresh", ("F5",), "refresh",
               _("Read all files again"), lambda now: now.home),
    ActionSpec("view.expand", "view", _("&Expand all"), "tab.tree.expandAll", (), "",
               _("Expand every folder"), lambda now: now.context, separator=True),
    ActionSpec("view.collapse", "view", _("&Collapse all"), "tab.tree.collapse_folders", (), "",
               _("Collapse every folder"), lambda now: now.context),
    ActionSpec("view.sort-name", "view", _("Sort by &name"), "tab.order.by_name", (), "",
               _("Use the agent's own order"), separator=True, checkable=True),
    ActionSpec("view.sort-recent", "view", _("Sort by last c&hange"), "tab.order.by_recent", (), "",
               _("Show the most recently changed memories first in each folder"), checkable=True),
    ActionSpec("view.sort-use", "view", _("Sort by &use"), "tab.order.by_use", (), "",
               _("Show the most used memories first in each folder"), checkable=True),
    ActionSpec("view.sort-size", "view", _("Sort by si&ze"), "tab.order.by_size", (), "",
               _("Show the largest memories first in each folder"), checkable=True),
    ActionSpec("view.only-changed", "view", _("&Only what changed"), "tab.order.toggle_only_changed",
               ("Ctrl+Shift+G",), "edited",
               _("Show only memories changed by someone else since you last viewed them"), checkable=True),
    ActionSpec("view.memory", "view", _("Show &memories"), "show_memory", ("Ctrl+1",), "",
               _("Show memories, editor and consolidation"), separator=True),
    ActionSpec("view.orphans", "view", _("Show &orphaned stores"), "show_orphans", ("Ctrl+Shift+O",),
               "orphan",
               _("Show memories that no project or workspace uses, and merge them into the right project"),
               lambda now: now.home),
    ActionSpec("view.changes", "view", _("Show chan&ges"), "lazy_tabs.show_changes", ("Ctrl+2",), "",
               _("Show what changed and who changed it, and undo changes")),
    ActionSpec("view.traces", "view", _("Show &traces"), "lazy_tabs.show_traces", ("Ctrl+3",), "",
               _("Show each run's prompt, input and actions, and why a run wrote nothing")),
    ActionSpec("view.log", "view", _("Show &log"), "lazy_tabs.show_log", (), "",
               _("Show what the background services did, and why")),
    ActionSpec("view.checks", "view", _("Show all che&cks"), "lazy_tabs.show_checks", (), "",
               _("Diagnose why the memory writer or a consolidation did not run")),
    ActionSpec("view.transcripts", "view", _("Show tra&nscripts"), "lazy_tabs.show_transcripts",
               ("Ctrl+4",), "",
               _("Show your conversations with the agent, session by session")),
    ActionSpec("view.context", "view", _("As the agent &sees it"), "lazy_tabs.toggle_context",
               ("Ctrl+Shift+A",), "agent",
               _("Show exactly what the agent loads now, and why each memory is included or not"),
               checkable=True),
    ActionSpec("view.stale", "view", _("Still &true?"), "tab.worth.toggle_stale", ("Ctrl+Shift+Y",), "check",
               _("Show statements about the project that are no longer true, and since which commit"),
               lambda now: now.context, checkable=True),
    ActionSpec("view.worth", "view", _("&Worth a look"), "tab.worth.toggle_page", ("Ctrl+Shift+W",),
               "warning",
               _("Show memories that repeat or contradict each other, superseded statements, secrets "
"and more"),
               lambda now: now.context, checkable=True),
    ActionSpec("view.inspector", "view", _("&About this memory"), "tab.inspector.toggle", ("Ctrl+I",), "info",
               _("Show usage, size, recent changes and warnings for the open memory"),
               lambda now: now.open_file, checkable=True),
    ActionSpec("view.failures", "view", _("Feedback for the next &attempt"), "lazy_tabs.toggle_failures",
               ("Ctrl+Shift+L",), "", _("Show the lessons, warnings and crashes that the agent learns from"),
               lambda now: now.failures, checkable=True),
    ActionSpec("view.to-homes", "view", _("Go to &homes"), "focus_picker", ("Alt+1",), separator=True),
    ActionSpec("view.to-tree", "view", _("Go to &memories"), "focus_tree", ("Alt+2",)),
    ActionSpec("view.search", "view", _("&Search everything"), "focus_search", ("Ctrl+Shift+F", "Ctrl+F"), "",
               _("Search the names and contents of all memories in all open homes"), lambda now: now.home),
    ActionSpec("view.to-editor", "view", _("Go to &editor"), "focus_editor", ("Alt+3",)),
    ActionSpec("view.next-pane", "view", _("Next p&ane"), "next_pane", ("F6",), "",
               _("Go to the next list or text area in the current tab"), separator=True),
    ActionSpec("view.previous-pane", "view", _("Pre&vious pane"), "previous_pane", ("Shift+F6",), "",
               _("Go to the previous list or text area in the current tab")),
    ActionSpec("view.next-tab", "view", _("Ne&xt tab"), "next_tab", ("Ctrl+Tab",)),
    ActionSpec("view.previous-tab", "view", _("Previous ta&b"), "previous_tab", ("Ctrl+Shift+Tab",)),
    ActionSpec("help.shortcuts", "help", _("&Keyboard shortcuts"), "dialogs.show_shortcuts", ("F1", "Ctrl+/"),
               "keyboard"),
    ActionSpec("help.privacy", "help", _("&Privacy…"), "dialogs.show_privacy", (), "",
               _("Show what Reverie reads, what it never reads, what runs in the background, and "
"where text is sent")),
    ActionSpec("help.about", "help", _("&About Reverie"), "dialogs.show_about", ()),
)  # fmt: skip

PICKER_MENU = ("home.close", "home.open")
TREE_MENU = (
    "memory.open", "memory.new", "memory.pin", "memory.rename", "memory.move", "memory.duplicate",
    "memory.compare",
    "memory.delete", "memory.copy-path", "memory.copy-file-path", "memory.reveal", "memory.export",
    "memory.history",
)  # fmt: skip
CONSOLIDATE_MENU = (
    "dream.preview", "dream.rules", "dream.model", "dream.extract", "dream.tell", "dream.notes", "dream.runs",
    "dream.agent-jobs",
)  # fmt: skip

WITHOUT_MENU = {
    "view.sort-name", "view.sort-recent", "view.sort-use", "view.sort-size", "view.only-changed",
    "view.to-homes", "view.to-tree", "view.to-editor",
    "view.next-pane", "view.previous-pane", "view.next-tab", "view.previous-tab",
}  # fmt: skip
"""The actions that are not in the menu bar, because a button or a key is nearer."""
OF_SOME_AGENTS = {"dream.extract", "dream.tell", "dream.notes", "dream.agent-jobs", "view.failures"}
"""The actions that menus show only while the home can do them."""
_CONTEXTS = {
    "window": Qt.ShortcutContext.WindowShortcut,
    "tree": Qt.ShortcutContext.WidgetWithChildrenShortcut,
    "editor": Qt.ShortcutContext.WidgetWithChildrenShortcut,
}


class Actions(QObject):
    """The actions of one window: for each row of `ACTIONS`, a QAction that calls a method of the window."""

    def __init__(self, window: QObject, icons: Icons) -> None:
        super().__init__(window)
        self._made: dict[str, QAction] = {}
        self.state = ActionState()
        for spec in ACTIONS:
            action = QAction(translated(spec.text), window)
            action.setObjectName(spec.id)
            if spec.icon:
                action.setIcon(icons.icon(spec.icon))
            action.setShortcuts([QKeySequence(key) for key in spec.keys])
            action.setShortcutContext(_CONTEXTS[spec.where])
            tip = translated(spec.tip) if spec.tip else action.text().replace("&", "").rstrip("…")
            action.setStatusTip(tip)
            action.setToolTip(self._tooltip(tip, action))
            action.setCheckable(spec.checkable)
            action.triggered.connect(attrgetter(spec.slot)(window))
            self._made[spec.id] = action
        self._enable()

    def __getitem__(self, id_: str) -> QAction:
        return self._made[id_]

    def update_state(self, now: ActionState) -> None:
        """Enable the actions that are possible in this state, and disable the others."""
        if now != self.state:
            self.state = now
            self._enable()
        self._made["memory.pin"].setChecked(now.pinned)

    def _enable(self) -> None:
        for spec in ACTIONS:
            can = spec.rule(self.state)
            self._made[spec.id].setEnabled(can)
            self._made[spec.id].setVisible(can or spec.id not in OF_SOME_AGENTS)

    def fill_menu(self, menu: QMenu, ids: Iterable[str]) -> None:
        """Add the actions with these ids to the end of `menu`.

        A separator precedes an action if its row in `ACTIONS` says so, except at the top of the menu.
        """
        separators = {spec.id: spec.separator for spec in ACTIONS}
        for id_ in ids:
            if separators[id_] and not menu.isEmpty():
                menu.addSeparator()
            menu.addAction(self._made[id_])

    def menu(self, ids: Iterable[str], parent: QWidget) -> QMenu:
        """Return a context menu of the actions with these ids."""
        menu = QMenu(parent)
        self.fill_menu(menu, ids)
        return menu

    def fill_menu_bar(self, bar: QMenuBar) -> None:
        """Add all menus, with their actions, to the menu bar."""
        for key, title in MENUS:
            menu = bar.addMenu(translated(title))
            menu.setToolTipsVisible(True)
            shown = [spec.id for spec in ACTIONS if spec.menu == key]
            self.fill_menu(menu, (id_ for id_ in shown if id_ not in WITHOUT_MENU))
        for id_ in WITHOUT_MENU:
            bar.window().addAction(self._made[id_])  # else their keys would do nothing

    def of_tree(self) -> tuple[QAction, ...]:
        """Return the actions whose keys work only while the memory tree has the focus.

        The caller adds them to the tree, which Qt requires for such keys.
        """
        return tuple(self._made[spec.id] for spec in ACTIONS if spec.where == "tree")

    def of_editor(self) -> tuple[str, ...]:
        """Return the ids of the actions in the Edit menu, which the caller adds to the editor pane."""
        return tuple(spec.id for spec in ACTIONS if spec.menu == "edit")

    def rows(self) -> tuple[ActionRow, ...]:
        """Return all actions, menu by menu, for the palette."""
        return tuple(
            ActionRow(spec.id, _plain(self._made[spec.id].text()), _plain(translated(title)),
                      _keys(self._made[spec.id]), spec.icon, spec.rule, spec.destructive)
            for key, title in MENUS for spec in ACTIONS if spec.menu == key
        )  # fmt: skip

    def shortcuts(self) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
        """Return the content of the dialog of keyboard shortcuts, one pair for each menu.

        A pair has the title of the menu, and the (text, keys) pairs of its actions that have keys.
        """
        sheet = []
        for key, title in MENUS:
            rows = [(_plain(self._made[spec.id].text()), _keys(self._made[spec.id]))
                    for spec in ACTIONS if spec.menu == key and spec.keys]  # fmt: skip
            sheet.append((_plain(translated(title)), tuple(rows)))
        return tuple(sheet)

    @staticmethod
    def _tooltip(tip: str, action: QAction) -> str:
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        return f"{tip} ({keys})" if keys else tip


def _plain(text: str) -> str:
    return text.replace("&", "").rstrip("…")


def _keys(action: QAction) -> str:
    native = QKeySequence.SequenceFormat.NativeText
    return ", ".join(sequence.toString(native) for sequence in action.shortcuts())
