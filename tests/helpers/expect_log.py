"""A log record of WARNING or above that no test asked for fails the test.

A test that provokes one on purpose declares it:

    def test_limit_is_named_once(expect_log):
        expect_log(r"raise fs\\.inotify\\.max_user_watches")   # a regular expression, searched in the message

An expected record that never comes fails the test too; `count=` fixes how many there must be, and
`count=None` allows any number, none included.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class _Expected:
    pattern: str
    logger: str
    count: int | None
    seen: int = 0

    def takes(self, record: logging.LogRecord) -> bool:
        below = record.name == self.logger or record.name.startswith(self.logger + ".")
        return (not self.logger or below) and re.search(self.pattern, record.getMessage()) is not None


@dataclass
class ExpectLog:
    """Call it with a pattern, before or after the record comes. `records` holds every WARNING and above."""

    records: list[logging.LogRecord] = field(default_factory=list)
    _expected: list[_Expected] = field(default_factory=list)

    def __call__(self, pattern: str, *, logger: str = "", count: int | None = 1) -> None:
        self._expected.append(_Expected(pattern, logger, count))

    def complaints(self) -> list[str]:
        """What was logged unasked, and what was asked for and not logged."""
        found = []
        for record in self.records:
            match = next((expected for expected in self._expected if expected.takes(record)), None)
            if match is None:
                found.append(
                    f"unexpected log record: {record.levelname} {record.name}: {record.getMessage()}"
                )
            else:
                match.seen += 1
        for expected in self._expected:
            if expected.count is not None and expected.seen != expected.count:
                found.append(
                    f"expected {expected.count} log records like {expected.pattern!r}, saw {expected.seen}"
                )
        return found


class _Collector(logging.Handler):
    def __init__(self, records: list[logging.LogRecord]) -> None:
        super().__init__(logging.WARNING)
        self._records = records

    def emit(self, record: logging.LogRecord) -> None:
        self._records.append(record)


@contextmanager
def warnings_collected(complaints: list[str]) -> Iterator[ExpectLog]:
    """Collects warnings of the whole process; what was not expected, or never came, is added."""
    expectations = ExpectLog()
    collector = _Collector(expectations.records)
    logging.getLogger().addHandler(collector)
    yield expectations
    logging.getLogger().removeHandler(collector)
    complaints += expectations.complaints()
