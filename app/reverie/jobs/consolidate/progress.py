"""What a running dream tells those who wait for it.

Values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class DreamProgress:
    """What a running dream is doing now; `op` is the newest journal entry, where there is one."""

    step: str
    done: int = 0
    total: int = 0
    op: Mapping[str, Any] | None = None
