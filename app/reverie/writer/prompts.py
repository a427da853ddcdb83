"""What the writer's model is told: the instructions, then everything it may read, between marks that nothing
in it can close. Pure functions; the words are in `resources/prompts/writer*.md`.
"""

from __future__ import annotations

from reverie.agent.prompting import between, prompt_words
from reverie.writer.engine import WriterTask


def system_prompt(mark: str, instructions: str = "") -> str:
    """`instructions`: the home's own in place of the built-in ones; what they cannot take away follows."""
    rule = f"What you are to read stands between lines that begin with `<<<` and lines `>>>`, with {mark}."
    own = f"{instructions.strip()}\n\n{prompt_words('writer-rules').strip()}" if instructions.strip() else ""
    return f"{own or prompt_words('writer').strip()}\n\n{rule}\n"


def user_message(task: WriterTask, memory: str, mark: str) -> str:
    """Everything there is to read, the events last."""
    parts = [f"projectId: {task.memory_id}"]
    for name, text in (
        ("global-instructions", task.instructions),
        ("context-instructions", task.context_instructions),
        ("memory-file", memory),
    ):
        if text is not None:
            parts.append(between(name, text, mark))
    parts.append(between("conversation-events (JSON, oldest first)", task.events.as_json(), mark))
    return "\n\n".join(parts) + "\n"


def reminder() -> str:
    """What is said before the second attempt."""
    return prompt_words("writer-reminder").strip()
