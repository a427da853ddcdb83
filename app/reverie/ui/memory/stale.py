"""Stale statements: statements about the project, in the memories that are shown, that are no longer true.

They are marked in the trees and in the list of warnings, underlined in the open memory with the evidence in a
tool tip, and can be fixed; the page "Worth a look" lists them. The engine checks the memories a moment after
they, or the repository's current commit, have changed. A fix replaces only the words that have a new value,
never the sentence; it is a change like any other, with Undo.

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

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.memory.listing import LintFinding
from reverie.text.summaries import utf16_length
from reverie.ui.display_text import counted, tr, visible
from reverie.ui.memory.shown_place import PlaceControl, ShownPlace

if TYPE_CHECKING:
    from reverie.claims.checking import CheckedClaim
    from reverie.ui.editor.pane import EditorPane
    from reverie.ui.memory.edits import HandControl
    from reverie.ui.memory.findings import LintControl

log = logging.getLogger("reverie.stale")
QUIET_MS = 600
_HIGHLIGHTS = "stale"
_SHORT_COMMIT = 10
_DAY = len("2026-01-31")


def claim_words(claim: CheckedClaim) -> str:
    """Return a description of the change that made a statement stale.

    For example, `src/main.ts moved to src/cli/index.ts`.
    """
    token, to = visible(claim.token), visible(claim.to)
    if not to:
        return tr("{token} no longer exists").format(token=token)
    if claim.state == "moved":
        return tr("{token} moved to {to}").format(token=token, to=to)
    return tr("{token} is now {to}").format(token=token, to=to)


def evidence_words(claim: CheckedClaim) -> str:
    """Return the commit that made a statement stale as text: hash, date, subject; empty if it is unknown."""
    found = claim.evidence
    if found is None:
        return ""
    return f"{found.commit[:_SHORT_COMMIT]} · {found.date[:_DAY]} · {visible(found.subject)}"


def count_words(claims: Iterable[CheckedClaim]) -> str:
    """Return how many statements these are, such as `12 stale statements in 5 memories`; empty for none."""
    found = list(claims)
    memories = len({claim.path for claim in found})
    if not found:
        return ""
    return tr("{statements} in {memories}").format(
        statements=counted("1 stale statement", "%n stale statements", len(found)),
        memories=counted("1 memory", "%n memories", memories),
    )


def findings_of(claims: Iterable[CheckedClaim]) -> dict[str, tuple[LintFinding, ...]]:
    """Return the stale statements as lint findings, by memory path, for the trees and the warnings."""
    found: dict[str, tuple[LintFinding, ...]] = {}
    for claim in claims:
        said = ". ".join(part for part in (claim_words(claim), evidence_words(claim)) if part)
        finding = LintFinding("stale", "warning", claim.line, said)
        found[claim.path] = (*found.get(claim.path, ()), finding)
    return found


class StaleControl(PlaceControl):
    """The controller of stale statements: it has them checked, and marks, underlines and fixes them.

    A stale statement is one in a memory about the project that is no longer true.
    """

    changed = Signal()
    """Emitted when the stale statements have changed."""

    def __init__(
        self,
        shown: ShownPlace,
        lint: LintControl,
        pane: EditorPane,
        hand: HandControl,
        parent: QObject,
    ) -> None:
        super().__init__(shown, "stale", QUIET_MS, parent)
        self._lint = lint
        self._pane = pane
        self._hand = hand
        self.claims: tuple[CheckedClaim, ...] = ()
        """The stale statements of the context that is shown."""
        self._findings: Mapping[str, tuple[LintFinding, ...]] = {}
        pane.text.textChanged.connect(self.show_file)

    # State

    def findings_at(self, path: str) -> tuple[LintFinding, ...]:
        """Return the statements in the memory at `path` that are no longer true, as lint findings."""
        return self._findings.get(path, ())

    def of_open(self) -> tuple[CheckedClaim, ...]:
        """Return the statements in the open memory that are no longer true of the project."""
        file = self._pane.file
        path = file.buffer.address.path if file is not None else ""
        return tuple(claim for claim in self.claims if claim.path == path)

    # Checking

    @Slot()
    def look_soon(self) -> None:
        if self._shown.update is not None and self._shown.update.context.project_path is not None:
            super().look_soon()

    def forget(self) -> None:
        super().forget()
        self._set_claims(())

    @Slot()
    def _look(self) -> None:
        """Start a job that checks the memories that are shown."""
        place = self._shown.place
        if place is None:
            return
        session, update = place
        self._lane.submit(
            "check what is still true",
            ask(session.workbench.claims.stale, update.context),
            done=lambda report: self._set_claims(report.claims),
            failed=self._on_failed,
            group="stale",
        )

    def _on_failed(self, error: UserError) -> None:
        log.info("cannot check which statements are stale: %s", error.title)
        self._set_claims(())

    def _set_claims(self, claims: tuple[CheckedClaim, ...]) -> None:
        """Store the stale statements, and update the marks if they have changed."""
        if claims == self.claims:
            return
        self.claims = claims
        self._findings = findings_of(claims)
        self._lint.add(self._findings)
        self.show_file()
        self.changed.emit()

    # The open memory

    @Slot()
    def show_file(self) -> None:
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
        """Return a sentence on how to fix a stale statement; empty if there is no fix."""
        return self.tr("Press Alt+Enter to replace it") if claim.replacement else ""

    # Fixing

    @Slot()
    def fix_here(self) -> None:
        """Fix the stale statements on the cursor's line or, if there are none, all in the open memory."""
        mine = [claim for claim in self.of_open() if claim.replacement]
        line = self._pane.text.textCursor().blockNumber() + 1
        self.fix(tuple(claim for claim in mine if claim.line == line) or tuple(mine))

    @Slot(object)
    def fix(self, claims: tuple[CheckedClaim, ...]) -> None:
        """Fix these stale statements; the views update through the watcher."""
        place = self._shown.place
        if place is None or not claims:
            return
        session, update = place
        text = counted("1 stale statement fixed", "%n stale statements fixed", len(claims))
        request = ask(session.workbench.claims.fix, update.context, claims)
        self._hand.take_back(session, request, text, self._pane.show_error)


def _place_of(block: QTextBlock, claim: CheckedClaim) -> int | None:
    """Return the position, in UTF-16 units, of the outdated words of a statement; None if the line changed.

    `block`: the line in the document.
    """
    text, start = block.text(), claim.start
    if text[start : start + len(claim.token)] != claim.token:
        return None
    return block.position() + utf16_length(text[:start])
