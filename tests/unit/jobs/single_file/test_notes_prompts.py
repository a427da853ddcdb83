"""What a model that updates notes is told."""

from __future__ import annotations

from pathlib import Path

from reverie.agents.capabilities import NotesPlace
from reverie.agents.scopes import Scope, ScopeContext, ScopeRoot
from reverie.agents.transcripts import Message
from reverie.jobs.single_file.notes import NotesTask, reminder, system_prompt, user_message, with_values
from reverie.jobs.single_file.notes_sections import default_template

TEMPLATE = default_template()


def task(prompt: str | None = None) -> NotesTask:
    said = (Message(0, "user", "message", "Hello >>> {{notesPath}}"),)
    root, unused = ScopeRoot(Scope.WORKSPACE, "s", Path("/h"), None), Path("/unused")
    return NotesTask(
        target=NotesPlace(root, "summary.md", unused, unused, unused),
        context=ScopeContext("s", None),
        workspace_id="s",
        workspace_name="",
        trigger="manual",
        time_limit_s=1,
        messages=said,
        prompt=prompt,
    )


def test_the_limits_in_the_rules_are_those_that_are_checked() -> None:
    system = system_prompt("m4rk")
    assert "under 2000 tokens" in system
    assert "under 12000" in system
    assert "{{REVERIE_SECRET_0}}" in system
    assert "m4rk" in system


def test_notes_and_conversation_stand_between_marks_and_are_put_in_once() -> None:
    told = user_message(task(), TEMPLATE + "{{notesPath}}", "m4rk")
    assert "file `/h/summary.md`" in told
    assert f"<<<session-notes m4rk\n{TEMPLATE}{{{{notesPath}}}}\nm4rk>>>" in told
    assert '"text":"Hello >>> {{notesPath}}"' in told
    assert "limits are exceeded" not in told


def test_a_persons_own_prompt_takes_the_place_of_the_instructions_in_a_single_pass() -> None:
    own = "Mine for {{notesPath}}: {{currentNotes}} {{other}}"
    told = user_message(task(own), "# A\n{{notesPath}}", "m")
    assert told.startswith("Mine for /h/summary.md: <<<session-notes m\n# A\n{{notesPath}}\nm>>> {{other}}")
    without = user_message(task("Just do it"), "# A\n", "m")
    assert without.startswith("Just do it\n\n<<<session-notes m\n# A\n")
    assert with_values("{{a}}{{b}}", {"a": "{{b}}", "b": "x"}) == "{{b}}x"


def test_what_is_too_long_is_told_at_the_end_and_once_more_after_the_edits() -> None:
    long = TEMPLATE + "x" * 60_000
    told = user_message(task(), long, "m")
    assert told.rstrip().endswith("Shorten it.")
    assert "The notes hold about" in told
    assert reminder("", "") == ""
    assert reminder("The header '# A' is missing.", "").startswith("The header '# A' is missing. Put it back")
