"""Every kind of run has its texts in one table, and the views take them from there."""

from __future__ import annotations

from typing import get_args

import pytest

from reverie.runs.record import RunKind
from reverie.ui import run_labels
from reverie.ui.run_labels import LABELS, RUN_KINDS, kind_title
from reverie.values import replace


def test_every_kind_of_run_has_its_texts_once() -> None:
    assert sorted(labels.kind for labels in RUN_KINDS) == sorted(get_args(RunKind))


def test_a_kind_that_is_not_known_is_called_by_its_own_name() -> None:
    assert kind_title("dance") == "dance"


def test_a_kind_is_called_as_its_row_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(run_labels.LABELS, "dance", replace(LABELS["harvest"], title="Dance"))
    assert kind_title("dance") == "Dance"
