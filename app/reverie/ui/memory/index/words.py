"""What is said of an index: its findings as sentences of one line, and what a press does about them."""

from __future__ import annotations

from reverie.homes.claude_index import INDEX, MOST_CHARS, MOST_LINES, WISHED_CHARS, Finding, IndexReport
from reverie.ui.shown import visible
from reverie.ui.translation import counted, tr

GRAVE = frozenset({"over-lines", "over-chars", "no-file", "dangling"})


def summary(report: IndexReport) -> str:
    """The whole index in a line or two."""
    cut = report.cut
    parts = []
    if cut.line is not None:
        parts.append(
            tr(
                "The agent loads {loaded} of {lines} lines: what stands below the dashed line is not read."
            ).format(loaded=cut.line - 1, lines=cut.lines)
        )
        if report.fallen:
            parts.append(counted(tr("1 entry falls off."), "%n entries fall off.", len(report.fallen)))
    count = sum(each.problem not in ("over-lines", "over-chars", "falls-off") for each in report.findings)
    if count:
        parts.append(counted(tr("1 thing to mend"), "%n things to mend", count) + ".")
    return " ".join(parts)


def sentence(finding: Finding) -> str:
    """One finding in one line."""
    about, rel, line = visible(finding.about), visible(finding.rel), finding.line
    if finding.problem == "dangling" and finding.rel != INDEX:
        return tr("{file}, line {line}: nothing is called “{name}”").format(file=rel, line=line, name=about)
    said = {
        "over-lines": tr("{about} lines; the agent loads the first {most}"),
        "over-chars": tr("{about} characters; the agent loads the first {chars}"),
        "falls-off": tr("Line {line}: “{about}” is not loaded"),
        "no-file": tr("Line {line}: there is no file “{about}”"),
        "listed-twice": tr("Line {line}: “{about}” is listed already"),
        "long-line": tr("Line {line}: longer than {wished} characters"),
        "unlisted": tr("“{file}” has no line here"),
        "dangling": tr("Line {line}: nothing is called “{about}”"),
        "duplicate-name": tr("“{file}”: another memory is called “{about}”, too"),
        "no-description": tr("“{file}” has no description"),
    }[finding.problem]
    return said.format(
        line=line, about=about, file=rel, most=MOST_LINES, chars=f"{MOST_CHARS:,}", wished=WISHED_CHARS
    )


def mend_name(kind: str) -> str:
    return {"add": tr("&Add its line"), "drop": tr("&Drop the line"), "shorten": tr("&Shorten the line")}[
        kind
    ]


def mend_tip(kind: str) -> str:
    return {
        "add": tr("Add a line for this memory below the last entry; nothing else changes"),
        "drop": tr("Take this line out of the index; nothing else changes"),
        "shorten": tr("Cut this line at a word; its links stay, and nothing else changes"),
    }[kind]


def mended(kind: str) -> str:
    return {
        "add": tr("A line was added to the index"),
        "drop": tr("The line was taken out of the index"),
        "shorten": tr("The line was shortened"),
    }[kind]
