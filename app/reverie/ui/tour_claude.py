"""The part of the tour on a home of Claude Code: an index with its cut and what is to mend in it, a rename
with all that follows, and the notes of a session. The home is made for it and thrown away with the tour's
copy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QApplication

from reverie.ui.main_window import MainWindow
from reverie.ui.theme import dark_palette

Picture = Callable[..., None]
Wait = Callable[[str, Callable[[], bool]], None]

_SESSION = "3f2c1b0a-1111-4222-8333-444455556666"
_CWD = "/projects/shop"
_INDEX = "/memories/project/MEMORY.md"
_TOPIC = (
    "---\nname: {name}\ndescription: {said}\nmetadata:\n  node_type: memory\n  type: project\n---\n{body}\n"
)
_LINES = 206


def make_claude_home(root: Path) -> None:
    """A home with one project whose index has outgrown what is loaded, and one session with notes."""
    place = root / "projects" / "-projects-shop"
    memory = place / "memory"
    (memory / "topics").mkdir(parents=True)
    (root / "settings.json").write_text("{}\n", encoding="utf-8")
    typed = {"display": "Fix the deploy", "timestamp": 1, "project": _CWD}
    (root / "history.jsonl").write_text(json.dumps(typed) + "\n", encoding="utf-8")
    lines = [
        "- [Deploy](deploy.md) — through the canary cluster first",
        "- [Staging](staging.md) — the old staging machine",
        "- [Tests](tests.md) — which tests to run before a commit, in which order, what each costs, and "
        "who to ask when one of them fails again without a reason that anybody understands",
    ]
    texts = {"deploy": "See [[tests]].", "tests": "Run make check.", "release": "Tag after the deploy."}
    for name, body in texts.items():
        text = _TOPIC.format(name=name, said=f"What to know of the {name}", body=body)
        (memory / f"{name}.md").write_text(text, encoding="utf-8")
    for number in range(_LINES - len(lines)):
        name = f"finding-{number:03}"
        lines.append(f"- [Finding {number}](topics/{name}.md) — what was found out on day {number}")
        text = _TOPIC.format(name=name, said=f"Found out on day {number}", body=f"Number {number}.")
        (memory / "topics" / f"{name}.md").write_text(text, encoding="utf-8")
    (memory / "MEMORY.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [
        _said("user", "1", "Fix the deploy", None),
        _said("assistant", "2", "The canary was skipped.", "1"),
    ]
    (place / f"{_SESSION}.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )


def _said(role: str, uuid: str, text: str, parent: str | None) -> dict[str, object]:
    content: object = text if role == "user" else [{"type": "text", "text": text}]
    return {
        "type": role,
        "uuid": uuid,
        "parentUuid": parent,
        "timestamp": "2026-08-06T10:00:00.000Z",
        "sessionId": _SESSION,
        "cwd": _CWD,
        "isSidechain": False,
        "message": {"role": role, "content": content},
    }


def show_claude(
    window: MainWindow, directory: Path, picture: Picture, wait: Wait, narrow: tuple[int, int]
) -> None:
    """Pictures of a Claude Code home, light, dark and narrow."""
    from reverie.ui.settle import is_loaded

    home = directory / "claude-home"
    make_claude_home(home)
    window.homes.open(home)

    def picked() -> bool:
        session = next((each for each in window.homes.sessions if each.info.root.name == home.name), None)
        return session is not None and window.picker.pick(session.info.id, workspace_id=_SESSION)

    def shown() -> bool:
        session = window.session
        return session is not None and session.info.root.name == home.name and is_loaded(window)

    wait("the Claude Code home", picked)
    wait("its trees", shown)
    tab, control = window.tab, window.tab.index_care
    wait("the index", lambda: tab.tree.select_path(_INDEX))
    wait("the care of the index", lambda: control.panel.isVisible() and not control.looking)
    wait("the notes", lambda: tab.notes.row.isVisible())
    picture("70-index")
    tab.pane.text.go_to_line(201)
    light = QApplication.palette()
    QApplication.setPalette(dark_palette())
    picture("71-index-cut-dark")
    QApplication.setPalette(light)
    control.rename({"/memories/project/tests.md": "/memories/project/testing.md"}, _nothing)
    wait("the plan of a rename", lambda: control.dialog is not None)
    if control.dialog is not None:
        picture("72-index-rename", control.dialog)
        control.dialog.reject()
    tab.notes.update_now()
    wait("the update of the notes", lambda: not tab.notes.running)
    wait("the notes in the tree", lambda: tab.tree.select_path("/memories/workspace/summary.md"))
    wait("the notes in the editor", lambda: tab.pane.file is not None and not control.panel.isVisible())
    picture("73-session-notes")
    wait("the index again", lambda: tab.tree.select_path(_INDEX))
    wait("its care again", lambda: control.panel.isVisible())
    size = window.size()
    window.picker.hide()
    wait("the window to ask for less room", lambda: window.minimumWidth() <= narrow[0])
    window.resize(*narrow)
    picture("74-index-narrow")
    window.picker.show()
    window.resize(size)


def _nothing(_not_followed: str) -> None:
    """Nothing follows this rename, so there is nothing to see."""
