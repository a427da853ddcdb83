"""Error messages for the case that no window can be shown.

This module does not use Qt, so that a command can print them before it loads Qt or starts anything. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

NO_WINDOW = (
    "The commands work without a display: reverie homes, tree, status, consolidate, runs.\n"
    "To save a picture of the window: reverie --demo --screenshot reverie.png"
)


def display_problem(environment: Mapping[str, str], platform: str) -> str:
    """Return a sentence on why no window can be shown here, with the next step; empty if one can."""
    if platform != "linux" or environment.get("QT_QPA_PLATFORM"):
        return ""
    if environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"):
        return ""
    return "reverie: there is no display. " + NO_WINDOW


def unreachable_display(messages: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return a sentence on why Qt could not show a window, with the next step.

    `messages` are the messages that Qt itself has printed.
    """
    text = "\n".join(messages)
    if "could not connect to display" in text or "Failed to create wl_display" in text:
        name = environment.get("WAYLAND_DISPLAY") or environment.get("DISPLAY") or ""
        return (
            f"reverie: cannot connect to the display {name}. "
            "Check that it is running and that you have permission to use it.\n" + NO_WINDOW
        )
    return (
        "reverie: Qt could not open a window on this machine; a system library may be missing. "
        "Run reverie doctor --self to see which one.\n" + NO_WINDOW
    )
