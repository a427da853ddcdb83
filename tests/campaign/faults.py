"""Every fault in full: more amounts of free space, every step, 50,000 files. The report has each case with
what Reverie said."""

from __future__ import annotations

from pathlib import Path

from helpers.fault_room import FaultRoom, names

_MOST_TOLD = 12


def run(directory: Path) -> tuple[list[str], bool]:
    """Each case, its messages and what was wrong; kept when no byte was lost and every message was clear."""
    told, kept = [], True
    with FaultRoom() as room:
        for case in names():
            report = room.happen(case, directory, full=True)
            kept = kept and not report["problems"]
            verdict = f"not here ({report['skipped']})" if report["skipped"] else "intact"
            told.append(f"**{case}**: {'BROKEN' if report['problems'] else verdict}")
            said = [text.replace(str(directory), "…") for text in report["messages"]]
            told += [f"  {text}" for text in said[:_MOST_TOLD]]
            if len(said) > _MOST_TOLD:
                told.append(f"  and {len(said) - _MOST_TOLD} more")
            told += [f"  PROBLEM: {problem}" for problem in report["problems"][:20]]
    return told, kept
