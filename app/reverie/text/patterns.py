"""Regular expressions that are compiled when they are first used.

A command that lists a tree imports modules with some three hundred patterns and uses ten of them. Compiling
all of them took a quarter of its time.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _LazyPattern:
    """A regular expression that is compiled when one of its methods or attributes is first used."""

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        # From now on the attribute is found without this method, as fast as that of a compiled pattern.
        found = self.__dict__[name] = getattr(re.compile(*self._arguments), name)
        return found


def pattern_of(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that behaves like `re.compile(pattern, flags)` but is compiled at its first use.

    Call its methods; functions of `re` that take a pattern do not accept it.
    """
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))
