"""What a finding is called, and whether a row of the tree wears a mark for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

if TYPE_CHECKING:
    from reverie.memory.lint import LintFinding

_CONTEXT = "findings"


def _(text: str) -> str:
    return QCoreApplication.translate(_CONTEXT, text)


def kind_name(kind: str) -> str:
    """What a finding is about, in two words."""
    return {
        "front-matter": _("Front matter"),
        "over-cap": _("Not seen by the agent"),
        "not-utf8": _("Not valid UTF-8"),
        "nul": _("NUL byte"),
        "secret": _("Secret-like text"),
        "hidden": _("Hidden characters"),
        "bidi": _("Reading direction"),
        "instruction": _("Instruction-like text"),
        "description": _("No description"),
        "empty": _("Empty"),
    }.get(kind, kind)


def headline(finding: LintFinding) -> str:
    """`Secret-like text, line 4: This looks like …`"""
    name = kind_name(finding.kind)
    where = _("{what}, line {line}").format(what=name, line=f"{finding.line:,}") if finding.line > 1 else name
    return f"{where}: {finding.sentence}"


def is_marked(findings: Sequence[LintFinding]) -> bool:
    """Whether a row of the tree wears a mark for them: not for notes alone, or half of all rows would wear
    one."""
    return any(finding.severity != "note" for finding in findings)
