"""A pattern that is compiled at its first use is a pattern like any other."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from reverie.text.patterns import pattern_of


def test_it_does_what_a_compiled_pattern_does() -> None:
    lazy, compiled = (
        pattern_of(r"(?P<key>\w+)=(\d+)", re.IGNORECASE),
        re.compile(r"(?P<key>\w+)=(\d+)", re.I),
    )
    text = "A=1, b=22"
    assert lazy.findall(text) == compiled.findall(text)
    assert lazy.sub(r"\2", text) == compiled.sub(r"\2", text) == "1, 22"
    assert [match["key"] for match in lazy.finditer(text)] == ["A", "b"]
    assert (lazy.pattern, lazy.flags, lazy.groups) == (compiled.pattern, compiled.flags, compiled.groups)


def test_it_is_compiled_at_its_first_use_only() -> None:
    broken = pattern_of("(")
    with pytest.raises(re.error):
        broken.search("")
    assert not hasattr(pattern_of("a"), "__len__")


def test_a_command_that_lists_a_tree_imports_no_consolidation() -> None:
    listing = "import sys; import reverie.cli.memory, reverie.services.command_views;"
    names = "print(*(name for name in sys.modules if name.startswith('reverie.jobs.consolidate.')))"
    call = [sys.executable, "-c", f"{listing} {names}"]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    loaded = {name.rpartition(".")[2] for name in done.stdout.split()}
    assert loaded & {"coverage", "findings", "harvest", "facts", "wording"} == {"coverage"}
