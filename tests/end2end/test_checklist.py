"""Which test covers which item of the edge-case checklist of the agent's format (formats/mux.md section 15).

A test is named by its node id below `tests/`, a line of the battery as `<file>.jsonl::<how its rule begins>`.
Items of services that do not exist yet are listed in `LATER`; none is left out.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

from helpers.battery import BATTERY, cases

TESTS = Path(__file__).parent.parent
COMMANDS = "unit/memory/test_commands.py::"
GUARD = "unit/runs/test_guard.py::"
DREAM = "unit/dream/test_service.py::"
DREAMS = "end2end/test_dreams.py::"

COVERED: dict[str, dict[str, tuple[str, ...]]] = {
    "Service": {
        "create and view per scope": (
            COMMANDS + "test_a_created_memory_can_be_viewed_in_each_scope",
            "paths.jsonl::5 create and save make the root of each scope",
        ),
        "project write never touches the checkout": (
            "context.jsonl::3 a project memory is written below the home and never into the project",
        ),
        "no project identity and _multi give recoverable errors": (
            "context.jsonl::3 an empty or _multi project identity is no project, in two different words",
            "context.jsonl::2 anything in the bucket _multi is multi-project",
            COMMANDS + "test_project_commands_without_a_single_project_are_recoverable_errors_of_two_kinds",
        ),
        "nested parents": ("commands.jsonl::6 create needs path and file_text, makes parents",),
        "existing file": ("commands.jsonl::6 create over a file and over a directory",),
        "same basename in two parents": ("context.jsonl::3 two projects of one name in two parents",),
        "hostile basename": ("context.jsonl::3 a hostile project path gives one plain directory",),
        "each bad path": (
            "paths.jsonl::5 every command refuses a segment for: empty",
            "paths.jsonl::5 every command refuses a segment for: '..'",
            "paths.jsonl::5 every command refuses a segment for: '~'",
            "paths.jsonl::5 every command refuses a segment for: backslash",
            "paths.jsonl::5 every command refuses a segment for: encoded",
            "paths.jsonl::5 every command refuses a segment for: control",
            "paths.jsonl::5 every command refuses a segment for: < >",
            "paths.jsonl::5 a path begins with /memories",
            "paths.jsonl::5 the first segment is one of the three scopes",
            "paths.jsonl::5 the first rule that fails gives the error",
        ),
        "mutate scope root": (
            "commands.jsonl::6 delete takes a file, or a directory",
            "commands.jsonl::6 rename refuses, in order: a scope root",
            "commands.jsonl::4 a scope takes 1,000 files and no more",
        ),
        "depth 2 and dotfiles": (
            "commands.jsonl::6 view of a directory is two levels deep",
            "paths.jsonl::5 a dot file can be made and read but is never listed",
        ),
        "root lists all": ("commands.jsonl::6 view of the root lists all scopes",),
        "offset and limit": ("commands.jsonl::6 a file is viewed with numbered lines",),
        "missing": ("commands.jsonl::6 a missing scope root views as an empty directory",),
        "unique, none and ambiguous replace": (
            "commands.jsonl::6 str_replace replaces the only match",
            "commands.jsonl::6 str_replace refuses, in order",
            "commands.jsonl::6 overlapping matches count as several",
        ),
        "insert at 0 and out of range": (
            "commands.jsonl::6 insert puts text after a line",
            "commands.jsonl::6 insert refuses lines outside 0..N",
        ),
        "recursive delete": ("commands.jsonl::6 delete takes a file, or a directory",),
        "cross-scope and onto-existing rename": ("commands.jsonl::6 rename refuses, in order: a scope root",),
        "symlinked dir write and symlinked file read outside root refused": (
            "paths.jsonl::5 a symlink that leads outside is refused by every command",
            "paths.jsonl::5 a dangling symlink never makes a file outside",
            "unit/memory/test_paths.py::test_no_symlink_arrangement_leads_outside",
        ),
        "byte cap on create and on edit": ("commands.jsonl::4 the byte cap counts UTF-8 bytes",),
        "null-sha create, conflict on existing, on stale, on deleted": (
            "commands.jsonl::6 save with null makes a file",
            "commands.jsonl::6 save with a hash writes only over the text that has it",
        ),
        "cap as plain error": (
            "commands.jsonl::6 save to a directory, a scope, a bad field or over the cap",
        ),
        # The file system is the bus: a refused command that leaves the home as it was is one nobody hears of.
        "events only on success": ("end2end/test_battery_memory.py::test_rule_holds",),
        "concurrent inserts": (COMMANDS + "test_concurrent_inserts_all_arrive",),
        "global seen from another workspace": ("context.jsonl::3 global and project memory are shared",),
        "over-size external file refused without full read": (
            "end2end/test_battery_memory.py::test_a_file_far_over_the_cap_is_refused_without_being_read",
            "commands.jsonl::4 a file of exactly 102,400 bytes is read",
        ),
        "reads create no roots": ("paths.jsonl::5 reads never make a root",),
        "bad names excluded from index": ("index.jsonl::7 names that a command would refuse are left out",),
        "1000 cap and sort order under the cap": (
            "index.jsonl::7 the first 1,000 files after sorting make the index",
            "commands.jsonl::4 a scope takes 1,000 files and no more",
            "paths.jsonl::5 a listing is ordered by UTF-16 code unit",
        ),
        "description hardening and malformed YAML": (
            "index.jsonl::7 a description comes from front matter at byte 0",
            "index.jsonl::7 only a description that is a string counts",
            "index.jsonl::7 white space is folded",
            "index.jsonl::7 200 UTF-16 units are kept",
            "index.jsonl::7 a block must close within the first 4,096 bytes",
            "index.jsonl::7 malformed YAML, no mapping and an unclosed block",
        ),
        "UI reads not counted": ("meta.jsonl::8 reads by people, listings, the index, failed commands",),
        "rename moves and delete drops stats, subtree too": (
            "meta.jsonl::8 a rename moves the key and every key below it",
            "meta.jsonl::8 a delete drops the key and every key below it",
        ),
        "failing command not counted": (
            "meta.jsonl::8 reads by people, listings, the index, failed commands",
        ),
    },
    "Meta": {
        "`:` and `%` in components never collide": (
            "meta.jsonl::8 components that hold : and % never collide",
            "unit/homes/test_mux_names.py::test_keys_of_different_components_never_collide",
        ),
        "corrupt file": ("meta.jsonl::8 a sidecar that is no JSON object is no entries",),
        "odd entries": (
            "meta.jsonl::8 odd entries are coerced one by one on load",
            "meta.jsonl::8 all-default entries go on the next save",
        ),
        "unpin keeps stats": ("meta.jsonl::8 a pin counts a use, an unpin keeps the statistics",),
        "subtree rename and remove": (
            "meta.jsonl::8 a rename moves the key and every key below it",
            "meta.jsonl::8 a delete drops the key and every key below it",
        ),
        "bad stat values": (
            "meta.jsonl::8 odd entries are coerced one by one on load",
            "meta.jsonl::8 numbers that JavaScript reads as Infinity count as none",
            "meta.jsonl::8 a fractional count is floored",
        ),
    },
    "Rails": {
        "in-scope apply": ("rails.jsonl::10 a run changes workspace, project and global memory",),
        "project with and without identity": (
            "rails.jsonl::10 a run changes workspace, project and global memory",
            "rails.jsonl::10 without a single project every change of project memory is refused",
        ),
        "pins direct and in subtree": (
            "rails.jsonl::10 a pinned file may be edited, never deleted or renamed",
            "rails.jsonl::10 a directory that holds a pinned file",
        ),
        "concurrent calls never exceed budget": (
            "end2end/test_battery_rails.py::test_concurrent_requests_never_exceed_the_budget",
            GUARD + "test_no_sequence_of_requests_leaves_the_rails",
        ),
        "reads continue after budget": ("rails.jsonl::10 accepted changes cost one of eight",),
        "dry-run costs budget": ("rails.jsonl::10 a dry run costs budget",),
        "failed dispatch journaled": (
            "rails.jsonl::10 accepted changes cost one of eight",
            GUARD + "test_a_failing_request_costs_and_is_journaled_with_the_reason",
        ),
    },
    "Orchestration": {
        # Listeners are told by the write of the sidecar, which the watcher delivers.
        "no-op run notifies": (
            "coverage.jsonl::10 a run with nothing to do is a success",
            DREAM + "test_a_settled_home_is_a_success_that_changes_no_memory_and_saves_coverage",
        ),
        "single and multi-project coverage": (
            "coverage.jsonl::9 a run writes one and the same record under its workspace and its project",
            "coverage.jsonl::9 a multi-project run writes no project record",
        ),
        "real-bucket multi-project": (
            "context.jsonl::2 a workspace of an ordinary bucket that lists two projects",
            "context.jsonl::2 a task of an ordinary bucket that lists two projects",
            DREAMS + "test_a_workspace_over_several_projects_has_no_project_tree_row_or_record",
        ),
        "separate coverages": (
            DREAMS + "test_siblings_share_project_and_global_and_keep_their_own_workspace_row",
            DREAMS + "test_a_run_of_one_project_leaves_the_coverage_and_files_of_others",
        ),
        "old sidecar": (
            "coverage.jsonl::9 a sidecar from before projects were known",
            "coverage.jsonl::9 the legacy sample says never for the project",
        ),
        "malformed harvest record": ("coverage.jsonl::9 the buckets are read apart and item by item",),
        "prune to 20": ("coverage.jsonl::9 saving moves records that the agent would choke on aside",),
        "stale pending -> failed": ("coverage.jsonl::9 a pending harvest older than 5 minutes",),
        "debounce vs manual and archive": ("coverage.jsonl::10 compaction and launch wait 6 hours",),
        "in-flight refusal": (DREAM + "test_a_second_dream_is_refused_with_the_reason_while_one_runs",),
        "failed stream not journaled": (
            "end2end/test_battery_rails.py::test_a_failed_run_journals_nothing_as_applied_and_covers_nothing",
        ),
        "corrupt sidecar": (
            "coverage.jsonl::9 a damaged sidecar is never read as more than never",
            "coverage.jsonl::9 a corrupt sidecar is set aside before a run writes a new one",
        ),
        "no re-qualification by a run's own writes": (
            DREAM + "test_the_dreams_own_writes_never_look_newer_than_its_coverage",
            "unit/runs/test_revert.py::test_a_revert_never_makes_a_memory_look_freshly_written",
        ),
    },
}

LATER = {
    "Service": ("preloading not counted", "read-only agents"),
    "Orchestration": (
        "harvest before dream",
        "coalesced duplicates",
        "queue behind active",
        "archived mid-harvest -> archive trigger",
        "completed boundary not re-harvested",
        "retry failed",
        "archive queued",
        "override and malformed override",
    ),
    "Sweep": (
        "idle only",
        "archived skipped",
        "cap",
        "project-only one sibling",
        "project debounce",
        "legacy record does not suppress",
        "cap not spent on skips",
        "one run for global",
    ),
    "Harvest": ("all",),
    "Hot set": ("all",),
    "System B": ("all",),
}

_ITEMS = [
    pytest.param(item, tests, id=f"{part}: {item}")
    for part, items in COVERED.items()
    for item, tests in items.items()
]


@pytest.mark.parametrize(("item", "tests"), _ITEMS)
def test_item_of_the_checklist_has_its_tests(item: str, tests: tuple[str, ...]) -> None:
    assert tests, item
    for name in tests:
        place, _, rest = name.partition("::")
        if place.endswith(".jsonl"):
            found = [rule for rule in _rules(place) if rule.startswith(rest)]
            assert found, f"{name} names no line of the battery"
        else:
            assert rest in _functions(place), f"there is no test {name}"


def test_no_item_is_both_covered_and_left_for_later() -> None:
    for part, items in LATER.items():
        assert not set(items) & COVERED.get(part, {}).keys()


@functools.cache
def _rules(name: str) -> tuple[str, ...]:
    return tuple(case["rule"] for case in cases((BATTERY / name).stem))


@functools.cache
def _functions(place: str) -> frozenset[str]:
    tree = ast.parse((TESTS / place).read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))
