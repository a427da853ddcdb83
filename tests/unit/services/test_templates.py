"""Templates of new memories: ours for each scope, a person's own only where they can be trusted."""

from __future__ import annotations

import os
from pathlib import Path

from helpers.benches import NOW
from reverie.agents.scopes import Scope
from reverie.services.templates import all_templates, filled, title_of


def test_each_scope_has_templates_and_all_their_placeholders_are_filled(tmp_path: Path) -> None:
    ours = all_templates(tmp_path / "none")
    assert {template.scope for template in ours} == set(Scope)
    for template in ours:
        text = filled(template.text, "/memories/global/deploy-notes.md", NOW)
        assert "Deploy notes" in text
        assert "{{" not in text
    assert title_of("/memories/global/a/__b--c.md") == "B c"
    assert title_of("/memories/global/---.md") == "---"
    assert filled("{{date}} {{other}}", "/memories/global/x.md", NOW).endswith(" {{other}}")


def test_a_persons_own_are_offered_for_every_scope_and_what_is_odd_is_left_out(tmp_path: Path) -> None:
    own = tmp_path / "templates"
    own.mkdir()
    (own / "standup.md").write_text("# {{title}}\n")
    (own / "notes.txt").write_text("no template")
    (own / ".hidden.md").write_text("x")
    (own / "evil\u202edm.md").write_text("x")
    (own / "line\nbreak.md").write_text("x")
    (own / ("long" * 20 + ".md")).write_text("x")
    (own / "large.md").write_text("x" * 70_000)
    (own / "binary.md").write_bytes(b"\xff\xfe")
    (own / "nul.md").write_bytes(b"a\0b")
    (own / "folder.md").mkdir()
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (own / "link.md").symlink_to(secret)
    os.mkfifo(own / "pipe.md")
    found = [(template.name, template.text, template.scope) for template in all_templates(own)]
    assert found[-1] == ("standup", "# {{title}}\n", None)
    assert [name for name, _text, scope in found if scope is None] == ["standup"]
