"""Above `agents/` no module knows an agent by name: it asks for a capability of the home, or the registry.

The few that are about one agent only are listed with their reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import reverie
from helpers.thrift import no_search_for_garbage
from reverie.agents.discovery import KINDS

APP = Path(reverie.__file__).parent
NAMES = frozenset(kind.kind for kind in KINDS)
_FAILURES = "records what loki-mode's own hooks left out; a hook runs it, without opening a home"
_CONTEXT = "says word for word what each agent loads; an agent without a recipe here has a home all the same"
EXCEPTIONS = {
    "reverie.context": _CONTEXT,
    "reverie.failures": _FAILURES,
    "reverie.services.failures": _FAILURES,
    "reverie.cli.failures": _FAILURES,
    "reverie.memory_server.client_config": "prints the configuration to add for each client, by its name",
    "reverie.jobs.extraction": "does Codex's own extraction over again, in Codex's file formats",
}
"""Module or package: why it may name an agent. They ask for a capability (`Home.failures`, `Home.extraction`)
before they do anything."""


def names_of_agents(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each import of an agent's package, and of each comparison with an agent's name."""
    if not any(name in source for name in NAMES):
        return  # most modules; parsing one takes a hundred times as long
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Compare):
            values = (node.left, *node.comparators)
            constants = {
                constant.value
                for value in values
                for constant in ast.walk(value)
                if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
            }
            if constants & NAMES:
                yield node.lineno, ast.unparse(node)
            continue
        else:
            continue
        for module in modules:
            if module.split(".")[:2] == ["reverie", "agents"] and module.split(".")[2:3][0] in NAMES:
                yield node.lineno, module


def is_excepted(module: str) -> bool:
    return any(module == each or module.startswith(f"{each}.") for each in EXCEPTIONS)


def module_of(path: Path) -> str:
    parts = path.relative_to(APP.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_module_above_agents_names_an_agent() -> None:
    found = {}
    with no_search_for_garbage():
        for path in sorted(APP.rglob("*.py")):
            module = module_of(path)
            if not module.startswith("reverie.agents") and not is_excepted(module):
                found |= {f"{module}:{line}": text for line, text in names_of_agents(path.read_text("utf-8"))}
    assert found == {}


def test_every_exception_is_still_one() -> None:
    naming = {
        module_of(path)
        for path in APP.rglob("*.py")
        if is_excepted(module_of(path))
        if any(True for _ in names_of_agents(path.read_text("utf-8")))
    }
    unused = {each for each in EXCEPTIONS if not any(f"{name}.".startswith(f"{each}.") for name in naming)}
    assert unused == set()


def test_what_names_an_agent_is_found() -> None:
    for line in (
        "from reverie.agents.codex.home import CodexHome",
        "from reverie.agents.codex import home",
        "from reverie.agents import codex",
        "import reverie.agents.loki.records",
        "def f():\n    from reverie.agents.mux import home",
        "home.kind == 'loki'",
        "home.kind in ('mux', 'codex')",
    ):
        assert list(names_of_agents(line)), line
    for line in ("from reverie.agents.base import Home", "home.kind == other.kind", "print('loki')"):
        assert not list(names_of_agents(line)), line
