"""Values of runs that are light to import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Progress:
    """What a running job tells those who wait for it (was DreamProgress)."""

    step: str
    done: int = 0
    total: int = 0
    op: Mapping[str, Any] | None = None
