"""The part of the tour on a project of loki-mode: its lessons and what of them is told, anti-patterns alike,
crashes, and the two changes. The project is made for it and thrown away with the tour's copy."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from PySide6.QtWidgets import QApplication

from reverie.ui.main_window import MainWindow
from reverie.ui.theme import dark_palette

Picture = Callable[..., None]
Wait = Callable[[str, Callable[[], bool]], None]

_FINGERPRINT = "9b1f0c44d7e2a6b8" * 4
_OTHER = "42d0aa7716fe0c3d" * 4
_FAILED = (
    (1, "ImportError", f"phase=ACT; signature: load_feed > parse_stops; fp={_FINGERPRINT[:12]}", ""),
    (4, "ImportError", f"phase=ACT; signature: load_feed > parse_stops; fp={_FINGERPRINT[:12]}", ""),
    (6, "IterationError", "phase=VERIFY; exit=1", "The fixtures had to be rebuilt first."),
    (9, "Friction", f"phase=VERIFY; friction=gate_failure; fp={_OTHER[:12]}", ""),
    (80, "IterationError", "phase=REFLECT; exit=2", ""),
)


def make_loki_project(project: Path, now_s: int) -> None:
    """A store with failures of the last days, three anti-patterns alike, and crashes of two kinds."""
    store = project / ".loki"
    for number, (hours, kind, message, resolution) in enumerate(_FAILED):
        when = datetime.fromtimestamp(now_s - hours * 3600, UTC)
        episode = {
            "id": f"ep-{when:%Y-%m-%d}-{number}",
            "task_id": f"iteration-{12 - number}",
            "timestamp": f"{when:%Y-%m-%dT%H:%M:%S}Z",
            "context": {"phase": "ACT", "goal": "Import the timetable of the harbour line"},
            "outcome": "failure",
            "errors_encountered": [{"type": kind, "message": message, "resolution": resolution}],
        }
        _write(store / "memory" / "episodic" / f"{when:%Y-%m-%d}" / f"task-{episode['id']}.json", episode)
    alike = {
        "pattern": "Avoid: IterationError",
        "category": "anti-pattern",
        "conditions": ["When encountering: IterationError"],
        "incorrect_approach": "",
        "confidence": 0.5,
    }
    patterns = [
        {"id": "sem-0000000a", **alike, "correct_approach": "", "source_episodes": ["ep-a"]},
        {"id": "sem-0000000b", **alike, "correct_approach": "", "source_episodes": ["ep-b"]},
        {
            "id": "sem-0000000c",
            **alike,
            "correct_approach": "Rebuild the fixtures before the checks",
            "source_episodes": ["ep-c"],
        },
        {
            "id": "sem-0000000d",
            "pattern": "Avoid: ImportError",
            "category": "anti-pattern",
            "incorrect_approach": "Import the feed parser at module level",
            "correct_approach": "Import it where a feed is read",
        },
    ]
    _write(store / "memory" / "semantic" / "patterns.json", {"version": "1.1.0", "patterns": patterns})
    frames = ["load_feed", "parse_stops"]
    kinds: list[tuple[str, str, list[str], str | None]] = [("ImportError", _FINGERPRINT, frames, None)] * 3
    kinds.append(("Friction", _OTHER, [], "gate_failure"))
    for number, (kind, fingerprint, signature, friction) in enumerate(kinds):
        at = now_s - 3600 * (number + 1)
        crash = {
            "captured_at": f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}Z",
            "error_class": kind,
            "exit_code": 1,
            "fingerprint": fingerprint,
            "friction_kind": friction,
            "os": "Linux",
            "rarv_phase": "ACT",
            "redactions_count": 2,
            "rules_version": "1.0",
            "stack_signature": signature,
        }
        _write(store / "crash" / f"{fingerprint}-{at}.json", crash)


def _write(path: Path, record: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2), encoding="utf-8")


def show_loki(
    window: MainWindow, directory: Path, picture: Picture, wait: Wait, narrow: tuple[int, int]
) -> None:
    """Pictures of what was learnt of failing, light, dark and narrow."""
    from reverie.clock import system_clock
    from reverie.ui.settle import is_loaded

    project = directory / "harbour-line"
    make_loki_project(project, system_clock() // 1000)
    window.homes.open(project)

    def picked() -> bool:
        sessions = window.homes.sessions
        session = next((each for each in sessions if each.info.root.parent.name == project.name), None)
        return session is not None and window.picker.pick_project(
            session.info.id, str(session.info.root.parent)
        )

    late = window.late
    wait("the project of loki-mode", picked)
    wait("its trees", lambda: late.has_failures and is_loaded(window))
    late.show_failures()
    tab, control = late.failures, late.failures_control
    wait("its failures", lambda: control.is_settled and len(tab.list.shown) > 1)
    picture("80-lessons")
    tab.list.setCurrentIndex(tab.list.rows.index(1, 0))
    light = QApplication.palette()
    QApplication.setPalette(dark_palette())
    picture("81-lessons-dark")
    QApplication.setPalette(light)
    tab.resolve.click()
    if control.dialog is not None:
        picture("82-resolution", control.dialog)
        control.dialog.reject()
    tab.bar.setCurrentIndex(1)
    tab.goal.setText("import feeds")
    picture("83-anti-patterns")
    tab.merge.click()
    if control.dialog is not None:
        picture("84-merge-anti-patterns", control.dialog)
        control.dialog.reject()
    tab.goal.clear()
    tab.bar.setCurrentIndex(2)
    picture("85-crashes")
    size = window.size()
    window.picker.hide()
    wait("the window to ask for less room", lambda: window.minimumWidth() <= narrow[0])
    window.resize(*narrow)
    tab.bar.setCurrentIndex(0)
    picture("86-lessons-narrow")
    QApplication.setPalette(dark_palette())
    tab.bar.setCurrentIndex(2)
    picture("87-crashes-narrow-dark")
    QApplication.setPalette(light)
    window.show_memory()
    window.picker.show()
    window.resize(size)
