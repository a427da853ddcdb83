"""How a person wants the window to look. By itself, because it is read before anything is painted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """How the window looks, as `settings.WindowSettings` has it."""

    font_size: int = 0
    language: str = "system"
    theme: str = "system"
