"""What seven thousand tests would each pay for nothing: collections of garbage that is none, a watchdog
thread, and messages between processes that nobody reads.

- What the collection of the tests made lives to the end, so the garbage collector does not look at it, until
  the first window ends (`reverie.ui.window.main_window` lets go of all that is frozen).
- Tracebacks of all threads are told when a test hangs (`_HANGS_S`). pytest's own setting starts and ends a
  thread for each test; here one serves the tests of half a minute.
- A worker of pytest-xdist tells of a test whatever somebody could ask for: a set-up or tear-down that simply
  went well is told only when durations or a report file want it.

This leans on names of pytest and pytest-xdist that are not public: `test_thrift.py` notices when they change.
"""

from __future__ import annotations

import faulthandler
import gc
import time
from typing import Any

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

_HANGS_S = 120.0
_REARMED_S = 30.0
_UNREAD = {"logstart", "logfinish"}
_SPARED: dict[str, Any] = {"spared": True}
_armed: float | None = None

# Until the end of the collection nothing can be garbage worth the search.
gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    faulthandler.cancel_dump_traceback_later()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    global _armed
    now = time.monotonic()
    if _armed is None or now - _armed > _REARMED_S:
        _armed = now
        stderr = item.config.stash[fault_handler_stderr_fd_key]
        faulthandler.dump_traceback_later(_HANGS_S + _REARMED_S, file=stderr)


def pytest_exception_interact() -> None:
    # pytest's own plugin has ended the watch, as somebody may sit in a debugger.
    global _armed
    _armed = None


def pytest_configure(config: pytest.Config) -> None:
    plugins = config.pluginmanager.get_plugins()
    interactor: Any = next((plugin for plugin in plugins if hasattr(plugin, "sendevent")), None)
    options = config.option
    if interactor is None or options.verbose >= 0 or options.xmlpath or options.durations is not None:
        return
    send = interactor.sendevent

    def send_what_is_read(name: str, **said: Any) -> None:
        if name not in _UNREAD and not (name == "testreport" and said["data"].get("spared")):
            send(name, **said)

    interactor.sendevent = send_what_is_read
    config.pluginmanager.register(_Sparing())


class _Sparing:
    @pytest.hookimpl(tryfirst=True)
    def pytest_report_to_serializable(self, report: Any) -> dict[str, Any] | None:
        when = getattr(report, "when", None)
        return dict(_SPARED) if when in ("setup", "teardown") and report.outcome == "passed" else None
