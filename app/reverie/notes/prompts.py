"""What a model that updates notes is told: our rules, then notes and conversation between marks that nothing
in them can close. The limits in it are those that are checked. Pure functions; the words are in
`resources/prompts/notes*.md`.

A person's own prompt takes the place of the instructions, not of the rules; `{{currentNotes}}` and
`{{notesPath}}` in it are replaced in one pass, other names stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from reverie.agent.prompting import between, prompt_words
from reverie.notes.engine import NotesTask
from reverie.notes.material import as_json
from reverie.notes.sections import SECTION_TOKENS, TOTAL_TOKENS, reminder_of

_PLACE = re.compile(r"\{\{(\w+)\}\}")


def system_prompt(mark: str) -> str:
    """The rules that hold whatever the instructions say."""
    rules = with_values(
        prompt_words("notes-rules"), {"sectionTokens": str(SECTION_TOKENS), "totalTokens": str(TOTAL_TOKENS)}
    )
    return (
        f"{rules.strip()}\n\n"
        f"What you are to read stands between lines that begin with `<<<` and lines `>>>`, with {mark}.\n"
    )


def user_message(task: NotesTask, notes: str, mark: str) -> str:
    """Instructions, the notes as they are, the conversation, and what is too long."""
    told = task.prompt or prompt_words("notes")
    values = {"currentNotes": between("session-notes", notes, mark), "notesPath": task.path}
    parts = [with_values(told, values).strip()]
    if "{{currentNotes}}" not in told:
        parts.append(values["currentNotes"])
    parts.append(between("conversation (JSON, oldest first)", as_json(task.messages), mark))
    if too_long := reminder_of(notes):
        parts.append(f"These limits are exceeded:\n{too_long}")
    return "\n\n".join(parts) + "\n"


def reminder(broken: str, too_long: str) -> str:
    """What is said once more after the model is done; empty where there is nothing to say."""
    parts = []
    if broken:
        parts.append(f"{broken} {prompt_words('notes-reminder').strip()}")
    if too_long:
        parts.append(f"The notes are too long now:\n{too_long}")
    return "\n\n".join(parts)


def with_values(text: str, values: Mapping[str, str]) -> str:
    """`text` with each `{{name}}` that is known replaced, in one pass."""
    return _PLACE.sub(lambda match: values.get(match[1], match[0]), text)
