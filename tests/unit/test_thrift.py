"""What spares the tests their overhead hides nothing."""

from __future__ import annotations

import gc


def test_garbage_is_looked_for_while_tests_run() -> None:
    assert gc.isenabled()
