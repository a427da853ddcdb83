"""What a model is told in both stages. The rails in the text are rendered from the guard's own values, and
everything that comes from a rollout or a memory stands between two marks with a random part, which nothing in
it can know and so cannot close. Pure functions; the words are in `resources/prompts/rollout-*.md`.
"""

from __future__ import annotations

from reverie.agent.prompting import Marks, prompt_words
from reverie.rollouts.artifacts import HANDBOOK, INDEX, SKILLS
from reverie.rollouts.items import PromptText
from reverie.rollouts.stage_one import RolloutSource
from reverie.rollouts.stage_two import StageTwoGuard, Staging


class Evidence(Marks):
    """The marks around text of a rollout or a memory."""

    kind = "evidence"


def trace_system(marks: Evidence) -> str:
    """The instructions of stage one."""
    return f"{_text('rollout-trace')}\n\n{marks.told('The record')}\n"


def trace_task(source: RolloutSource, prompt: PromptText, title: str, marks: Evidence) -> str:
    """The rollout of one thread. `title` is as it may be shown."""
    cut = " Its middle was left out." if prompt.truncated else ""
    told = "\n".join(
        line
        for line in (
            f"cwd: {source.cwd}",
            f"branch: {source.git_branch}" if source.git_branch else "",
            f"title: {title}" if title else "",
        )
        if line
    )
    evidence = marks.around(f"{told}\n\n{prompt.text}")
    return f"{prompt.items} items.{cut}\n\n{evidence}\n"


def trace_reminder() -> str:
    """What a model is told that answered stage one with something else than it should."""
    return _text("rollout-trace-reminder")


def consolidation_system(guard: StageTwoGuard, staging: Staging, marks: Evidence) -> str:
    """The instructions of stage two, with the limits as the guard has them."""
    rails = (
        "Limits of this run, which the tool enforces:\n"
        f"- Written may be /memories/project/{HANDBOOK} and files in /memories/project/{SKILLS}/; "
        "nothing else.\n"
        f"- At most {guard.rails.budget} changes; one that fails counts too. Viewing is free.\n"
        f"- A file holds at most {staging.caps.file_bytes:,} bytes."
    )
    return f"{_text('rollout-consolidate')}\n\n{rails}\n\n{marks.told('Text of memories')}\n"


def consolidation_task(staging: Staging, marks: Evidence) -> str:
    """The index in full, and what traces there are."""
    index = next((trace.text for trace in staging.traces if trace.rel == INDEX), "")
    files = [
        f"/memories/project/{trace.rel} ({len(trace.text.encode()):,} bytes)"
        for trace in staging.traces
        if trace.rel != INDEX
    ]
    told = marks.around("\n".join([f"cwd: {staging.cwd}", "", index, *files]))
    return f"Write the handbook of this directory.\n\n{told}\n"


def _text(name: str) -> str:
    return prompt_words(name).strip()
