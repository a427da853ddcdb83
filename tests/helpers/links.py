"""Symlinks that cannot be resolved: a chain longer than any system's limit, and a circle."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

CHAIN = 1_500
"""More links than Python before 3.13 follows, too, which calls itself for each."""


def endless_link(link: Path) -> Path:
    """Make `link` the first of a chain of links beside it that ends in a file. Returns the file."""
    end = link.with_name(f"{link.name}-end")
    end.write_text("the end of the chain\n", encoding="utf-8")
    names = [link.name, *(f"{link.name}-{number}" for number in range(CHAIN)), end.name]
    for name, target in pairwise(names):
        link.with_name(name).symlink_to(target)
    return end


def circle(link: Path) -> None:
    """Make `link` lead to another link, which leads back."""
    other = link.with_name(f"{link.name}-back")
    link.symlink_to(other.name)
    other.symlink_to(link.name)
