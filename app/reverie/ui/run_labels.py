"""The displayed names of the kinds of runs, and the translation of runs' summaries.

The texts are only marked for translation here; they are translated where they are shown.

Threading: any.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from reverie.text.summaries import Phrase, phrase, plural
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.runs.record import RunKind
from reverie.ui.display_text import said, translated, visible
from reverie.ui.display_text import translatable as _


class RunKindLabels(Struct, frozen=True):
    """The texts about one kind of run, not translated yet.

    To add a kind of run, add a row to `RUN_KINDS`, its name to `runs.record.RunKind`, and its job.
    """

    kind: RunKind
    title: str
    """The name of one run in a list."""
    plural: str
    """The name of the filter that shows only runs of this kind."""
    by: str
    """The name by which this kind of run is shown as the author of a text."""


RUN_KINDS = (
    RunKindLabels("dream", _("Consolidation"), _("Consolidations"), _("by a consolidation")),
    RunKindLabels("decision", _("Decision"), _("Decisions"), _("by your decision")),
    RunKindLabels("import", _("Import"), _("Imports"), _("by an import")),
    RunKindLabels("writer", _("Memory writer"), _("Memory writer"), _("by the memory writer")),
    RunKindLabels("harvest", _("Picked up"), _("Picked up"), _("from the conversation")),
    RunKindLabels("extract", _("Extraction"), _("Extractions"), _("by an extraction")),
    RunKindLabels("notes", _("Session notes"), _("Session notes"), _("by an update of the session notes")),
    RunKindLabels("revert", _("Undo"), _("Undos"), _("by your undo")),
)
"""The labels of all kinds, in the order in which views list them."""


LABELS: dict[str, RunKindLabels] = {labels.kind: labels for labels in RUN_KINDS}


BY: dict[str, str] = {labels.kind: labels.by for labels in RUN_KINDS}


def kind_title(kind: str) -> str:
    """Return the translated name of a run of this kind; for an unknown kind, the kind itself."""
    labels = LABELS.get(kind)
    return visible(kind) if labels is None else translated(labels.title)


_CLAUSES = (
    plural("merged 1 group of similar records", "merged %n groups of similar records", 0),
    plural("merged 1 exact duplicate", "merged %n exact duplicates", 0),
    plural("merged 1 near-duplicate", "merged %n near-duplicates", 0),
    plural("merged 1 memory that another one contains", "merged %n memories that others contain", 0),
    plural(
        "updated the paths of moved files in 1 memory", "updated the paths of moved files in %n memories", 0
    ),
    plural(
        "removed 1 note from a conversation that other memories already contain",
        "removed %n notes from conversations that other memories already contain",
        0,
    ),
    plural("deleted 1 empty file", "deleted %n empty files", 0),
    plural("wrote or repaired 1 description", "wrote or repaired %n descriptions", 0),
    plural("tidied 1 file", "tidied %n files", 0),
    plural("1 more change waits for the next run", "%n more changes wait for the next run", 0),
    plural("1 pair of memories is worth a look", "%n pairs of memories are worth a look", 0),
    plural("restored 1 file", "restored %n files", 0),
    plural("reapplied 1 file", "reapplied %n files", 0),
    plural("1 change", "%n changes", 0),
    phrase("{large} has everything that {small} states"),
    phrase("{newer} is the later version of {older}"),
    phrase("{newer} was written later than {older}"),
    phrase("{newer} says that this is done"),
    phrase("{newer} says that {instead} has replaced {gone}"),
    phrase("you chose {stays} over {goes}"),
    phrase("according to the repository, {token} is {to} now"),
    phrase("the agent reads only a part of this description"),
    phrase("no change fits within the limits of a run"),
    phrase("no changes needed"),
    phrase("nothing needed changing"),
    phrase("nothing was restored"),
    phrase("nothing was changed"),
    phrase("cancelled"),
    phrase("the changes to undo no longer existed"),
    phrase("all changes were rejected in review"),
    phrase("applied {done} of {count} reviewed changes"),
    phrase("the session notes were updated"),
    phrase("held for review: it would lose {share} % of the lines in {scope} memory"),
    phrase("held for review: some facts would change"),
    plural("held for review: import of 1 file", "held for review: import of %n files", 0),
    phrase("held for review: it would delete lines of {paths} that exist nowhere else"),
)
"""The sentences that the rules engine writes, without the initial capital and the full stop."""


_OLDER = (
    (r"of like records$", "of similar records"),
    (r"^followed moved", "updated the paths of moved"),
    (r"^dropped 1 picked-up note ", "removed 1 note from a conversation "),
    (r"^dropped ([\d,]+) picked-up notes ", r"removed \1 notes from conversations "),
    (r"(?<=that other memories) contain$", " already contain"),
    (r"^wrote or mended", "wrote or repaired"),
    (r"^([\d,]+ files?) put back$", r"restored \1"),
    (r"^no change fits the budget$", "no change fits within the limits of a run"),
    (r"^nothing was put back$", "nothing was restored"),
    (r"^what was to be taken back had gone already$", "the changes to undo no longer existed"),
    (r"^all of it was rejected", "all changes were rejected"),
    (r": not every fact would stay as it is$", ": some facts would change"),
    (r"that are nowhere else$", "that exist nowhere else"),
)
"""Patterns of wordings that older versions wrote into summaries, with their replacements."""


_LEFT_PAIRS = re.compile(r"\b\d+ pairs? of memories (?:is|are) worth a look")


_SENTENCE = re.compile(r"(?<=[.!?]) +")


_CLAUSE = re.compile(r"; ")


_HOLE = re.compile(r"%n|\\\{(\w+)\\\}")


def summary_words(summary: str) -> str:
    """Return a run's summary in the language of the window, safe to show.

    Summaries are stored in English. The sentences that the rules engine writes are translated, also those of
    older versions; other text, such as that of a model, stays as it is.
    """
    return " ".join(_sentence(each) for each in _SENTENCE.split(summary)) if summary else ""


def left_pairs(summary: str) -> bool:
    """Return True if a run's summary says that there are pairs of memories for the user to check."""
    return bool(_LEFT_PAIRS.search(summary))


def _sentence(text: str) -> str:
    body = text.removesuffix(".")
    clauses = [_clause(each) for each in _CLAUSE.split(body)]
    if any(each is None for each in clauses):
        return visible(text)
    found = "; ".join(each for each in clauses if each is not None)
    return visible(found[:1].upper() + found[1:] + text[len(body) :])


def _clause(text: str) -> str | None:
    """Return the translation of one clause of a summary; None if the rules engine does not write it."""
    lower = text[:1].lower() + text[1:]
    for older, current in _OLDER:
        lower = re.sub(older, current, lower)
    for pattern, known in _patterns():
        match = pattern.fullmatch(lower)
        if match is None:
            continue
        if known.number is None:
            return said(Phrase(known.template, match.groupdict()))
        number = int(match["n"].replace(",", "")) if "n" in match.groupdict() else 1
        return said(Phrase(known.template, known.values, number, known.one))
    return None


@cache
def _patterns() -> Sequence[tuple[re.Pattern[str], Phrase]]:
    found = []
    for known in _CLAUSES:
        texts = [known.template] if known.number is None else [known.one, known.template]
        for text in texts:
            found.append((re.compile(_HOLE.sub(_place, re.escape(text))), known))
    return found


def _place(hole: re.Match[str]) -> str:
    return rf"(?P<{hole[1]}>.+?)" if hole[1] else r"(?P<n>[\d,]+)"
