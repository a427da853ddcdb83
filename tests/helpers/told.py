"""The name under which a test adds a line to the end of the report.

Example: `record_property(TOLD, "files 12")`.
"""

from __future__ import annotations

import pytest

TOLD = "measures"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    # The reports come from the workers, with what the tests recorded.
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, value in report.user_properties:
                if name == TOLD and report.when == "call":
                    terminalreporter.write_line(f"  {name}: {value}")
