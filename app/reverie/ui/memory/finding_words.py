"""What a finding is called, and whether a row of the tree wears a mark for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reverie.ui.translation import tr

if TYPE_CHECKING:
    from reverie.memory.lint import LintFinding


def kind_name(kind: str) -> str:
    """What a finding is about, in two words."""
    return {
        "front-matter": tr("Front matter"),
        "over-cap": tr("Not seen by the agent"),
        "not-utf8": tr("Not valid UTF-8"),
        "nul": tr("NUL byte"),
        "secret": tr("Secret-like text"),
        "hidden": tr("Hidden characters"),
        "bidi": tr("Reading direction"),
        "instruction": tr("Instruction-like text"),
        "description": tr("No description"),
        "empty": tr("Empty"),
    }.get(kind, kind)


def headline(finding: LintFinding) -> str:
    """`Secret-like text, line 4: This looks like …`"""
    name = kind_name(finding.kind)
    where = (
        tr("{what}, line {line}").format(what=name, line=f"{finding.line:,}") if finding.line > 1 else name
    )
    return f"{where}: {finding.sentence}"


def is_marked(findings: Sequence[LintFinding]) -> bool:
    """Whether a row of the tree wears a mark for them: not for notes alone, or half of all rows would wear
    one."""
    return any(finding.severity != "note" for finding in findings)
