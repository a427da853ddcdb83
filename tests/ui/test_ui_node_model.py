"""The item model replays any change of its tree: Qt's own tester is content, indexes keep their row."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QAbstractItemModel, QModelIndex, QPersistentModelIndex
from PySide6.QtTest import QAbstractItemModelTester

from reverie.ui.tree import node_model
from reverie.ui.tree.node_model import NodeModel
from reverie.ui.tree.rows import RowNode

NAMES = st.sampled_from("abcdefg")
# Trees of trees take Hypothesis long to draw; the campaign has its own number.
FEW = settings(max_examples=max(15, settings.default.max_examples // 3))


def _nodes(depth: int) -> st.SearchStrategy[tuple[RowNode, ...]]:
    below = _nodes(depth - 1) if depth else st.just(())
    node = st.builds(RowNode, NAMES, st.integers(0, 2), below)
    return st.lists(node, unique_by=lambda node: node.key, max_size=4).map(tuple)


TREES = _nodes(2).map(lambda children: RowNode("", None, children))


def shown(model: QAbstractItemModel, parent: QModelIndex | None = None) -> tuple[Any, ...]:
    """What a view would read, through the model's interface only."""
    parent = parent if parent is not None else QModelIndex()
    rows = []
    for row in range(model.rowCount(parent)):
        index = model.index(row, 0, parent)
        assert model.parent(index) == parent
        rows.append((model.data(index), shown(model, index)))
    return tuple(rows)


def told(node: RowNode) -> tuple[Any, ...]:
    return tuple((child.key, told(child)) for child in node.children)


def watched_by_qt(model: QAbstractItemModel) -> QAbstractItemModelTester:
    return QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Warning)


@settings(FEW, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TREES, min_size=2, max_size=4), st.booleans())
def test_the_model_shows_each_tree_it_is_given(qapp: object, trees: list[RowNode], touched: bool) -> None:
    model = NodeModel()
    watching = watched_by_qt(model)
    for tree in trees:
        model.set_tree(tree)
        if touched:  # otherwise most levels were never asked for: the other path
            assert shown(model) == told(tree)
    assert shown(model) == told(trees[-1])
    del watching


@settings(FEW, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TREES, TREES)
def test_an_index_that_survives_points_at_the_same_row(qapp: object, old: RowNode, new: RowNode) -> None:
    model = NodeModel()
    watching = watched_by_qt(model)
    model.set_tree(old)
    held = {model.keys(index): QPersistentModelIndex(index) for index in model.walk()}
    model.set_tree(new)
    remaining = {model.keys(index) for index in model.walk()}
    for keys, index in held.items():
        assert index.isValid() == (keys in remaining)
        if index.isValid():
            assert model.keys(index) == keys
    del watching


def test_a_changed_row_is_told_and_nothing_else_is(qtbot: Any, qtmodeltester: Any) -> None:
    model = NodeModel()
    qtmodeltester.check(model)
    keep = RowNode("keep", 1)
    model.set_tree(RowNode("", None, (keep, RowNode("b", 1), RowNode("c", 1), RowNode("d", 1))))
    assert len(shown(model)) == 4
    changed: list[tuple[int, int]] = []
    model.dataChanged.connect(lambda first, last: changed.append((first.row(), last.row())))
    with qtbot.assertNotEmitted(model.rowsInserted), qtbot.assertNotEmitted(model.rowsRemoved):
        model.set_tree(RowNode("", None, (keep, RowNode("b", 2), RowNode("c", 2), RowNode("d", 1))))
    assert changed == [(1, 2)]


def test_all_rows_are_told_once_for_each_level_that_was_asked_for(qapp: object) -> None:
    model = NodeModel()
    inner = tuple(RowNode(f"i{number}", None) for number in range(3))
    model.set_tree(RowNode("", None, (RowNode("open", 1, inner), RowNode("shut", 1, inner))))
    assert not model.index_of(("open", "i1"), made=True).isValid(), "nobody asked for it"
    assert model.index_of(("open", "i1")).isValid()
    assert model.index_of(("open", "i1"), made=True).isValid()
    changed: list[tuple[int, int]] = []
    model.dataChanged.connect(lambda first, last: changed.append((first.row(), last.row())))
    model.touch_all()
    assert changed == [(0, 1), (0, 2)]


def test_many_runs_of_changed_rows_are_told_as_one(qapp: object) -> None:
    model = NodeModel()
    model.set_tree(RowNode("", None, tuple(RowNode(f"n{number:02d}", 0) for number in range(40))))
    shown(model)
    changed: list[tuple[int, int]] = []
    model.dataChanged.connect(lambda first, last: changed.append((first.row(), last.row())))
    model.set_tree(RowNode("", None, tuple(RowNode(f"n{number:02d}", number % 2) for number in range(40))))
    assert changed == [(1, 39)]


def test_a_wide_level_shows_a_batch_and_more_on_demand(
    qtbot: Any, qtmodeltester: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_model, "BATCH", 10)
    model = NodeModel()
    qtmodeltester.check(model)
    names = [f"n{number:02}" for number in range(35)]
    model.set_tree(RowNode("", None, tuple(RowNode(name, 0) for name in names)))
    assert (model.rowCount(), model.hidden_rows()) == (10, 25)
    with qtbot.waitSignal(model.rowsInserted):
        model.reveal_more()
    assert model.rowCount() == 20
    assert not model.index_of(("n30",)).isValid()
    assert model.index_of(("n30",), reveal=True).row() == 30
    model.set_tree(RowNode("", None, tuple(RowNode(name, 0) for name in names[5:])))
    assert shown(model) == told(RowNode("", None, tuple(RowNode(name, 0) for name in names[5:35])))
    model.reveal_more(everything=True)
    assert model.hidden_rows() == 0


@settings(FEW, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TREES, min_size=2, max_size=4))
def test_who_asks_for_more_while_rows_are_replaced_gets_no_row_of_the_old_tree(
    qapp: object, trees: list[RowNode]
) -> None:
    """As a view does whose scroll bar moves because rows went."""
    model = NodeModel()

    def ask(*_told: object) -> None:
        for index in (QModelIndex(), *list(model.walk())):
            model.reveal_more(index)
        for name in "abcdefg":
            model.index_of((name, name), reveal=True)

    for signal in (model.rowsInserted, model.rowsRemoved, model.rowsMoved):
        signal.connect(ask)
    for tree in trees:
        model.set_tree(tree)
        assert shown(model) == told(tree)


def test_what_goes_wrong_while_rows_are_replaced_is_told_and_the_new_tree_is_shown(
    qapp: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, wanted = NodeModel(), RowNode("", None, (RowNode("b", 0), RowNode("c", 0)))
    model.set_tree(RowNode("", None, (RowNode("a", 0), RowNode("b", 0))))
    assert shown(model)

    def fails(*_rows: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(node_model, "steps", fails)
    with pytest.raises(ZeroDivisionError):
        model.set_tree(wanted)
    assert shown(model) == told(wanted)


def test_a_bug_in_a_value_is_raised_once_and_then_nothing_is_shown(qapp: object) -> None:
    class Broken(NodeModel):
        def value(self, node: RowNode, role: int) -> Any:
            raise ZeroDivisionError

    model = Broken()
    model.set_tree(RowNode("", None, (RowNode("a", 0),)))
    with pytest.raises(ZeroDivisionError):
        model.data(model.index(0))
    assert model.data(model.index(0)) is None


def test_ids_are_not_used_twice(qapp: object) -> None:
    model = NodeModel()
    model.set_tree(RowNode("", None, (RowNode("a", 0),)))
    stale = model.index(0).internalId()
    model.set_tree(RowNode("", None, ()))
    model.set_tree(RowNode("", None, (RowNode("b", 0),)))
    assert model.index(0).internalId() != stale
