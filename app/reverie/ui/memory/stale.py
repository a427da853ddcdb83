"""Stale statements: statements about the project, in the memories that are shown, that are no longer true.

They are marked in the trees and in the list of warnings, underlined in the open memory with the evidence in a
tool tip, listed on a page, and can be fixed. The engine checks the memories a moment after they, or the
repository's current commit, have changed. A fix replaces only the words that have a new value, never the
sentence; it is a change like any other, with Undo.

Threading: GUI thread; the engine is called in jobs on a lane of their own, since the first check of a long
history takes seconds. Failure: without a result nothing is marked, and the log has the reason; a failed fix
is shown in the editor.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QTextBlock
from PySide6.QtWidgets import QWidget

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.memory.listing import LintFinding
from reverie.text.summaries import utf16_length
from reverie.ui.appearance import GAP, MARGIN
from reverie.ui.display_text import as_tooltip, counted, tr, visible
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane, single_shot
from reverie.ui.widgets.controls import FitPushButton, WrapLabel, embolden
from reverie.ui.widgets.layouts import FlowLayout, column
from reverie.ui.widgets.lists import LineList, LineModel, TwoLines

if TYPE_CHECKING:
    from reverie.agents.base import LoadState
    from reverie.claims.checking import CheckedClaim
    from reverie.claims.project import ClaimReport
    from reverie.ui.editor.pane import EditorPane
    from reverie.ui.memory.edits import HandControl, ShownPlace
    from reverie.ui.memory.findings import LintControl
    from reverie.ui.session import HomeSession, TreeUpdate
    from reverie.ui.tree.model import MemoryTreeModel

log = logging.getLogger("reverie.stale")
QUIET_MS = 600
_HIGHLIGHTS = "stale"
_SHORT_COMMIT = 10
_DAY = len("2026-01-31")
_MOST_LOADED: Mapping[LoadState | str, int] = {"full": 0, "part": 1, "line": 2, "listed": 2}


def claim_words(claim: CheckedClaim) -> str:
    """Return a description of the change that made a claim stale, e.g.

    `src/main.ts moved to src/cli/index.ts`.
    """
    token, to = visible(claim.token), visible(claim.to)
    if not to:
        return tr("{token} no longer exists").format(token=token)
    if claim.state == "moved":
        return tr("{token} moved to {to}").format(token=token, to=to)
    return tr("{token} is now {to}").format(token=token, to=to)


def evidence_words(claim: CheckedClaim) -> str:
    """Return a text about the commit that made a claim stale: hash, date and subject; empty if unknown."""
    found = claim.evidence
    if found is None:
        return ""
    return f"{found.commit[:_SHORT_COMMIT]} · {found.date[:_DAY]} · {visible(found.subject)}"


def count_words(claims: Iterable[CheckedClaim]) -> str:
    """Return a count such as `12 stale statements in 5 memories`; empty for none."""
    found = list(claims)
    memories = len({claim.path for claim in found})
    if not found:
        return ""
    return tr("{statements} in {memories}").format(
        statements=counted("1 stale statement", "%n stale statements", len(found)),
        memories=counted("1 memory", "%n memories", memories),
    )


def findings_of(claims: Iterable[CheckedClaim]) -> dict[str, tuple[LintFinding, ...]]:
    """Return the claims as lint findings, by memory path, for the trees and the list of warnings."""
    found: dict[str, tuple[LintFinding, ...]] = {}
    for claim in claims:
        said = ". ".join(part for part in (claim_words(claim), evidence_words(claim)) if part)
        finding = LintFinding("stale", "warning", claim.line, said)
        found[claim.path] = (*found.get(claim.path, ()), finding)
    return found


class ClaimModel(LineModel):
    """A list model of stale statements, one per row."""

    def look(self, value: CheckedClaim) -> TwoLines:
        place = tr("{path}, line {line}").format(
            path=visible(value.path.removeprefix("/memories/")), line=f"{value.line:,}"
        )
        evidence = evidence_words(value)
        below = f"{place} · {evidence}" if evidence else place
        return TwoLines(claim_words(value), below, sign="warning", cut="end", cut_below="end")

    def spoken(self, value: CheckedClaim) -> str:
        look = self.look(value)
        return f"{look.title}, {look.below}"

    def tooltip(self, value: CheckedClaim) -> str:
        return as_tooltip(claim_words(value), evidence_words(value), value.path)


class StalePage(QWidget):
    """A page with all stale statements of the project that is shown, first those in fully loaded memories."""

    opened = Signal(object)
    """Emitted with a claim when the user wants to see its line in the editor."""
    fix_wanted = Signal(object)
    """Emitted with the claims that the user wants to fix."""

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Stale statements"))
        self._claims: tuple[CheckedClaim, ...] = ()
        self.title = WrapLabel()
        embolden(self.title, 1.15)
        self.note = WrapLabel()
        self.list = LineList(ClaimModel(), icons)
        self.list.setAccessibleName(self.tr("Stale statements"))
        self.fix = FitPushButton(self.tr("&Fix"), self.tr("Replace the outdated part of this statement"))
        self.fix_all = FitPushButton(
            self.tr("Fix &all"), self.tr("Update all statements whose new value is known")
        )
        self.open = FitPushButton(self.tr("&Open"), self.tr("Show the line in the editor"))
        self.fix.clicked.connect(self._on_fix)
        self.fix_all.clicked.connect(self._on_fix_all)
        self.open.clicked.connect(self._on_open)
        self.list.opened.connect(self.opened)
        self.list.picked.connect(self._follow)
        row = FlowLayout(self.fix, self.fix_all, self.open)
        column(self, self.title, self.note, row, self.list, grows=self.list, margin=MARGIN, gap=GAP)
        self.show_report((), "", known=False)

    @property
    def current(self) -> CheckedClaim | None:
        """The selected claim."""
        found: CheckedClaim | None = self.list.current_value
        return found

    def show_report(self, claims: tuple[CheckedClaim, ...], note: str, *, known: bool) -> None:
        """Show the claims in the given order.

        `note` describes the limits of the check; `known` is False while there is no result.
        """
        self._claims = claims
        none = self.tr("No stale statements found") if known else self.tr("Not checked")
        self.title.say(count_words(claims) or none)
        self.note.say(note)
        self.note.setVisible(bool(note))
        self.list.set_values((f"{claim.path} {claim.line} {claim.token}", claim) for claim in claims)
        if claims and not self.list.currentIndex().isValid():
            self.list.setCurrentIndex(self.list.rows.index(0, 0))
        self._follow()

    @Slot()
    def _follow(self) -> None:
        """Enable the buttons for the selected claim."""
        current = self.current
        self.open.setEnabled(current is not None)
        self.fix.setEnabled(current is not None and bool(current.replacement))
        self.fix_all.setEnabled(any(claim.replacement for claim in self._claims))

    @Slot()
    def _on_open(self) -> None:
        if self.current is not None:
            self.opened.emit(self.current)

    @Slot()
    def _on_fix(self) -> None:
        if self.current is not None:
            self.fix_wanted.emit((self.current,))

    @Slot()
    def _on_fix_all(self) -> None:
        self.fix_wanted.emit(tuple(claim for claim in self._claims if claim.replacement))


class StaleControl(QObject):
    """Controller of the stale statements: checks, marks, underlines and fixes them."""

    open_wanted = Signal(str)
    """Emitted with the path of a memory to open."""
    page_wanted = Signal(object)
    """Emitted with the page to show it, or with None to show the editor again."""
    changed = Signal()
    """Emitted when the stale statements have changed."""

    def __init__(
        self,
        shown: ShownPlace,
        model: MemoryTreeModel,
        lint: LintControl,
        pane: EditorPane,
        hand: HandControl,
        icons: Icons,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._shown = shown
        self._model = model
        self._lint = lint
        self._pane = pane
        self._hand = hand
        self._icons = icons
        self._session: HomeSession | None = None
        self._known: ClaimReport | None = None
        self._findings: Mapping[str, tuple[LintFinding, ...]] = {}
        self._page: StalePage | None = None
        self._wanted: CheckedClaim | None = None
        self._lane = Lane("stale", self)
        self._quiet = single_shot(self, QUIET_MS, self._look)
        pane.text.textChanged.connect(self._underline)
        model.loaded_changed.connect(self._show_page)

    # State

    @property
    def page(self) -> StalePage:
        """The page, created on first use."""
        if self._page is None:
            self._page = StalePage(self._icons)
            self._page.opened.connect(self._open)
            self._page.fix_wanted.connect(self.fix)
            self._show_page()
        return self._page

    @property
    def is_page_shown(self) -> bool:
        return self._page is not None and self._page.isVisible()

    @property
    def is_settled(self) -> bool:
        """Whether no check is pending or running."""
        return not self._quiet.isActive() and not self._lane.busy

    @property
    def claims(self) -> tuple[CheckedClaim, ...]:
        """The stale statements of the context that is shown."""
        return self._known.claims if self._known is not None else ()

    def findings_at(self, path: str) -> tuple[LintFinding, ...]:
        """Return the stale statements of a memory as lint findings."""
        return self._findings.get(path, ())

    def of_open(self) -> tuple[CheckedClaim, ...]:
        """Return the stale statements of the open memory."""
        file = self._pane.file
        path = file.buffer.address.path if file is not None else ""
        return tuple(claim for claim in self.claims if claim.path == path)

    def set_session(self, session: HomeSession | None) -> None:
        """Set the home to show; None means no home."""
        if self._session is not None:
            self._session.project_changed.disconnect(self._quiet.start)
        self._forget()
        self._session = session
        if session is not None:
            session.project_changed.connect(self._quiet.start)

    def follow(self, update: TreeUpdate) -> None:
        """Start a check, after a delay, for the updated trees."""
        if update.other:
            self._forget()
        if not update.names_only and update.context.project_path is not None:
            self._quiet.start()

    def stop(self) -> None:
        """End the lane when the window closes."""
        self._quiet.stop()
        self._lane.stop()

    @Slot()
    def toggle_page(self) -> None:
        """Show the page beside the trees or, if it is shown, the editor."""
        self.page_wanted.emit(None if self.is_page_shown else self.page)

    # Checking

    def _forget(self) -> None:
        """Clear the claims; called when another home or context is shown."""
        self._quiet.stop()
        self._lane.abandon("stale")
        self._take(None)

    @Slot()
    def _look(self) -> None:
        """Start a job that checks the memories that are shown."""
        session, update = self._shown.session, self._shown.update
        if session is None or update is None:
            return
        self._lane.submit(
            "check what is still true",
            ask(session.workbench.claims.stale, update.context),
            done=self._take,
            failed=self._on_failed,
            group="stale",
        )

    def _on_failed(self, error: UserError) -> None:
        log.info("cannot check which statements are stale: %s", error.title)
        self._take(None)

    def _take(self, report: ClaimReport | None) -> None:
        """Store a report (None: there is no result), and update marks and page if it has changed."""
        if report == self._known:
            return
        self._known = report
        self._findings = findings_of(self.claims) if self.claims else {}
        self._lint.add(self._findings)
        self._underline()
        self._show_page()
        self.changed.emit()

    @Slot()
    def _show_page(self) -> None:
        """Show the report on the page, sorted by how much of each memory the agent loads."""
        if self._page is None:
            return
        report = self._known
        by_load = sorted(self.claims, key=lambda each: _MOST_LOADED.get(self._model.loaded_at(each.path), 3))
        note = " ".join((report.problem, *report.limits)).strip() if report is not None else ""
        self._page.show_report(tuple(by_load), visible(note), known=report is not None)

    # The open memory

    @Slot()
    def show_file(self) -> None:
        """Underline the stale statements of the file in the editor, and go to a claim that waits for it."""
        self._underline()
        wanted, file = self._wanted, self._pane.file
        if wanted is not None and file is not None and file.buffer.address.path == wanted.path:
            self._wanted = None
            self._pane.text.go_to_line(wanted.line)
            self._pane.focus_text()

    @Slot()
    def _underline(self) -> None:
        """Underline the stale statements in the editor, with the evidence as tool tips."""
        document, spans, tips = self._pane.text.document(), [], []
        for claim in self.of_open():
            start = _place_of(document.findBlockByNumber(claim.line - 1), claim)
            if start is None:
                continue
            end = start + utf16_length(claim.token)
            spans.append((start, end, _HIGHLIGHTS))
            said = (claim_words(claim), evidence_words(claim), self._remedy(claim))
            tips.append((start, end, "\n".join(part for part in said if part)))
        self._pane.text.set_highlights(_HIGHLIGHTS, spans)
        self._pane.text.set_text_tips(tips)

    def _remedy(self, claim: CheckedClaim) -> str:
        """Return a hint on how to fix a claim; empty if there is no fix."""
        return self.tr("Alt+Enter replaces it") if claim.replacement else ""

    def _open(self, claim: CheckedClaim) -> None:
        """Open the memory of a claim at its line."""
        self._wanted = claim
        self.page_wanted.emit(None)
        self.open_wanted.emit(claim.path)
        self.show_file()

    # Fixing

    @Slot()
    def fix_here(self) -> None:
        """Fix the stale statements on the cursor's line or, if there are none, all in the open memory."""
        mine = [claim for claim in self.of_open() if claim.replacement]
        line = self._pane.text.textCursor().blockNumber() + 1
        self.fix(tuple(claim for claim in mine if claim.line == line) or tuple(mine))

    @Slot(object)
    def fix(self, claims: tuple[CheckedClaim, ...]) -> None:
        """Fix the claims; the views update through the watcher."""
        session, update = self._shown.session, self._shown.update
        if session is None or update is None or not claims:
            return
        text = counted("1 stale statement fixed", "%n stale statements fixed", len(claims))
        request = ask(session.workbench.claims.fix, update.context, claims)
        self._hand.take_back(session, request, text, self._pane.show_error)


def _place_of(block: QTextBlock, claim: CheckedClaim) -> int | None:
    """Return the position of the claim's token in the document, in UTF-16 units; None if the line changed."""
    text, start = block.text(), claim.start
    if text[start : start + len(claim.token)] != claim.token:
        return None
    return block.position() + utf16_length(text[:start])
