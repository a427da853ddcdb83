"""The displayed names of findings, and the rule which findings mark a row of the tree.

A finding is something in a memory that may need the user's attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reverie.ui.display_text import tr

if TYPE_CHECKING:
    from reverie.memory.listing import LintFinding


def kind_name(kind: str) -> str:
    """Return the displayed name of a kind of finding, in two or three words."""
    return {
        "front-matter": tr("Front matter"),
        "cut": tr("Cut description"),
        "conflict": tr("Unfinished merge"),
        "placeholder": tr("Lost text"),
        "over-cap": tr("Not seen by the agent"),
        "not-utf8": tr("Not valid UTF-8"),
        "nul": tr("NUL byte"),
        "secret": tr("Secret-like text"),
        "hidden": tr("Hidden characters"),
        "bidi": tr("Reading direction"),
        "instruction": tr("Instruction-like text"),
        "description": tr("No description"),
        "empty": tr("Empty"),
        "stale": tr("Stale"),
    }.get(kind, kind)


def headline(finding: LintFinding) -> str:
    """Return a text with the kind, line and explanation of a finding.

    For example: `Secret-like text, line 4: This looks like …`.
    """
    name = kind_name(finding.kind)
    where = (
        tr("{what}, line {line}").format(what=name, line=f"{finding.line:,}") if finding.line > 1 else name
    )
    return f"{where}: {finding.sentence}"


def is_marked(findings: Sequence[LintFinding]) -> bool:
    """Return True if the row of a memory with these findings gets a mark.

    Findings of the severity `note` cause no mark, because otherwise half of all rows would have one.
    """
    return any(finding.severity != "note" for finding in findings)
