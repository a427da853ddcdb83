"""Run a sample of the collected tests: `--sample 12 --sample-seed TEXT` runs about one in twelve.

The seed decides which, so a run can be repeated, and runs with other seeds reach the other tests.
"""

from __future__ import annotations

import zlib

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sampled")
    group.addoption("--sample", type=int, default=1, metavar="N", help="run about one test in N")
    group.addoption("--sample-seed", default="", metavar="TEXT", help="another text, other tests")


def is_chosen(test: str, seed: str, share: int) -> bool:
    """Whether the test of this name is among the one in `share` that `seed` chooses."""
    return zlib.crc32(f"{seed}\n{test}".encode()) % share == 0


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    share, seed = config.getoption("sample"), config.getoption("sample_seed")
    if share > 1:
        left_out = [item for item in items if not is_chosen(item.nodeid, seed, share)]
        items[:] = [item for item in items if is_chosen(item.nodeid, seed, share)]
        config.hook.pytest_deselected(items=left_out)
