"""What spares the tests their overhead still finds its place in pytest, and hides nothing."""

from __future__ import annotations

import gc

import pytest

from helpers import thrift


def _report(when: str, outcome: str) -> pytest.TestReport:
    return pytest.TestReport("a::b", ("a", 1, "b"), {}, outcome, None, when)  # type: ignore[arg-type]


@pytest.mark.parametrize("when", ["setup", "call", "teardown"])
@pytest.mark.parametrize("outcome", ["passed", "failed", "skipped"])
def test_only_a_good_set_up_or_tear_down_is_not_told(when: str, outcome: str) -> None:
    spared = thrift._Sparing().pytest_report_to_serializable(_report(when, outcome))
    assert (spared is not None) is (outcome == "passed" and when != "call")


def test_garbage_is_looked_for_while_tests_run() -> None:
    assert gc.isenabled()


def test_a_worker_tells_what_is_read(pytestconfig: pytest.Config) -> None:
    if not hasattr(pytestconfig, "workerinput"):
        pytest.skip("needs a worker of pytest-xdist")
    assert any(isinstance(each, thrift._Sparing) for each in pytestconfig.pluginmanager.get_plugins()) or (
        pytestconfig.option.verbose >= 0
        or pytestconfig.option.xmlpath
        or pytestconfig.option.durations is not None
    )
