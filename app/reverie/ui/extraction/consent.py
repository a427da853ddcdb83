"""What is asked before rollouts leave this machine for the first time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.ui.consent import ConsentDialog
from reverie.ui.shown import visible

if TYPE_CHECKING:
    from reverie.services.views import ConsentView


class RolloutConsent(ConsentDialog):
    """The same question; what a thread holds is not read before it is answered."""

    def _facts(self, consent: ConsentView, engine: str) -> str:
        facts = (
            self.tr("The model {engine} reads the threads named first, and may read the memories after them.")
            .format(engine=visible(engine)),
            self.tr("What looks like a secret to Reverie is replaced by a placeholder and is not sent."),
            self.tr("You are asked once for this home and destination."),
        )  # fmt: skip
        return " ".join(facts)
