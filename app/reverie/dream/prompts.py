"""What a model is told for a dream: the instructions, the rails as the guard has them, and the list of notes.

The rails in the text are rendered from the guard's own `Rails`, so the two cannot disagree (a test compares
them). Everything that comes from a memory, its name and description included, stands between two marks with a
random part, which text in a memory cannot know and so cannot close.

Pure functions; the words are in `resources/prompts/`.
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie.agent.prompting import Marks, prompt_words
from reverie.dream.coverage import Trigger
from reverie.dream.rules import Note
from reverie.homes.scopes import Caps, Scope
from reverie.memory.frontmatter import description
from reverie.runs.guard import Rails

_NOTES_LISTED = 2000
_OF_INDEXES = (
    "Notes marked as index list the others. Their lines follow by themselves what you create, merge, rename "
    "or delete; an index is never deleted or renamed."
)
_OF_DOCUMENTS = (
    "Notes marked as document have a form that the agent checks. Edit lines in them, keep their first line "
    "and their headings, and never delete or rename them."
)


class Fence(Marks):
    """The marks around text of memories."""

    kind = "notes"


def built_in_instructions() -> str:
    """The instructions of a dream where the home has none of its own."""
    return prompt_words("dream")


def system_prompt(instructions: str, rails: Rails, trigger: Trigger, caps: Caps, fence: Fence) -> str:
    """Everything that does not depend on the notes. `instructions`: the home's own, or the built-in ones."""
    parts = [instructions.strip()]
    if trigger == "archive":
        with_project = Scope.PROJECT in rails.scopes
        parts.append(prompt_words("dream-archive" if with_project else "dream-archive-no-project").strip())
    parts.append(rails_text(rails, caps))
    parts.append(fence.told("Text of notes"))
    return "\n\n".join(parts) + "\n"


def rails_text(rails: Rails, caps: Caps) -> str:
    """The limits that the guard enforces, in words."""
    lines = [
        "Limits of this run, which the tool enforces:",
        f"- Scopes you may read and change: {', '.join(scope_names(rails))}.",
        f"- At most {rails.budget} changes; every create, str_replace, insert, delete or rename counts as "
        "one, also one that fails. Viewing is free.",
        "- Notes marked as pinned may be edited, never deleted or renamed, nor may a directory above them.",
        f"- A note holds at most {caps.file_bytes:,} bytes.",
    ]
    kept = [scope.value for scope in Scope if scope in rails.undeletable]
    if kept:
        lines.append(f"- Nothing may be deleted from {' or '.join(kept)} memory.")
    if not caps.descriptions:
        lines.append("- This agent reads no front matter: write no description, and add no front matter.")
    if rails.of_records:
        lines.append(f"- {rails.of_records}")
    if rails.dry_run:
        lines.append("- This is a rehearsal: your changes are shown to a person and not carried out.")
    return "\n".join(lines)


def scope_names(rails: Rails) -> list[str]:
    """The scopes of the rails as the paths a model uses, narrowest first."""
    order = (Scope.WORKSPACE, Scope.PROJECT, Scope.GLOBAL)
    return [f"/memories/{scope.value}/" for scope in order if scope in rails.scopes]


def task_prompt(notes: Sequence[Note], caps: Caps, fence: Fence) -> str:
    """What there is: one line per note, with its size, whether it is pinned, and its description."""
    lines = [_line(note, caps) for note in notes[:_NOTES_LISTED]]
    omitted = len(notes) - len(lines)
    if omitted:
        lines.append(f"({omitted} more: view the directories)")
    listed = fence.around("\n".join(lines)) if lines else "There are none."
    of_indexes = f"{_OF_INDEXES}\n\n" if any(note.index for note in notes) else ""
    of_indexes += f"{_OF_DOCUMENTS}\n\n" if any(note.document for note in notes) else ""
    return f"Look after these {len(notes)} notes.\n\n{of_indexes}{listed}\n"


def _line(note: Note, caps: Caps) -> str:
    told = note.said or description(note.text.encode("utf-8")[: caps.description_prefix_bytes], caps).text
    facts = f"{len(note.text.encode('utf-8')):,} bytes" + (", pinned" if note.protected else "")
    facts += ", index" if note.index else ", document" if note.document else ""
    return f"{note.path} ({facts})" + (f": {told}" if told else "")
