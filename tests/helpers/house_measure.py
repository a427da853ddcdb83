"""The measure of the house: files, code lines, who imports whom, circles, late imports, doubled class names.

Run as a program it prints them: `PYTHONPATH=tests python -m helpers.house_measure [ROOT]`.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

APP = Path(__file__).resolve().parents[2] / "app"
_NO_CODE = frozenset(
    (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
)


@dataclass(frozen=True)
class Module:
    """One file of the program."""

    name: str
    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @cached_property
    def code_lines(self) -> int:
        """Lines with a token that is neither a comment nor a documenting string."""
        texts: set[int] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                texts.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        code: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in _NO_CODE:
                code.update(range(token.start[0], token.end[0] + 1))
        return len(code - texts)

    @cached_property
    def late_imports(self) -> tuple[int, ...]:
        """The lines of imports inside of functions."""
        lines = set()
        for function in ast.walk(self.tree):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for node in ast.walk(function):
                    if isinstance(node, (ast.Import, ast.ImportFrom)):
                        lines.add(node.lineno)
        return tuple(sorted(lines))

    @property
    def classes(self) -> Iterator[str]:
        return (node.name for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))


def modules_of(app: Path = APP) -> dict[str, Module]:
    """Every module of the program by its dotted name."""
    found = {}
    for path in sorted(app.rglob("*.py")):
        name = ".".join(path.relative_to(app).with_suffix("").parts).removesuffix(".__init__")
        found[name] = Module(name, path, path.read_text("utf-8"))
    return found


def imports_of(modules: Mapping[str, Module]) -> dict[str, set[str]]:
    """Module -> the modules that it imports in any way: at the top, in a function, for types only."""
    graph: dict[str, set[str]] = {name: set() for name in modules}
    for name, module in modules.items():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    graph[name].add(whole if whole in modules else node.module)
            elif isinstance(node, ast.Import):
                graph[name].update(alias.name for alias in node.names)
        graph[name] = {other for other in graph[name] if other in modules and other != name}
        graph[name] = {other for other in graph[name] if modules[other].path.name != "__init__.py"}
    return graph


def circles_of(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules that reach each other (Tarjan's strongly connected components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    circles: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in graph[name]:
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                circles.append(sorted(group))

    for name in graph:
        if name not in index:
            visit(name)
    return circles


def single_importers(graph: Mapping[str, set[str]]) -> dict[str, str]:
    """Module -> the only one that imports it."""
    importers: dict[str, set[str]] = defaultdict(set)
    for name, others in graph.items():
        for other in others:
            importers[other].add(name)
    return {name: next(iter(users)) for name, users in importers.items() if len(users) == 1}


def doubled_classes(modules: Mapping[str, Module]) -> dict[str, list[str]]:
    """Class names that more than one module defines."""
    owners: dict[str, set[str]] = defaultdict(set)
    for module in modules.values():
        for name in module.classes:
            owners[name].add(module.name)
    return {name: sorted(found) for name, found in owners.items() if len(found) > 1}


def made_of_types_only(module: Module) -> set[str]:
    """Names that are imported for the type checker and used at run time all the same; mypy allows it."""
    typed: set[str] = set()
    for block in module.tree.body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
            typed.update(alias.asname or alias.name for node in imports for alias in node.names)
    harmless: set[ast.AST] = set()
    for node in ast.walk(module.tree):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            harmless.update(ast.walk(part) if isinstance(part, ast.AST) else ())
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            imports = [inner for inner in ast.walk(node) if isinstance(inner, ast.ImportFrom)]
            own = {alias.asname or alias.name for inner in imports for alias in inner.names}
            own |= {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
            harmless.update(
                inner for inner in ast.walk(node) if isinstance(inner, ast.Name) and inner.id in own
            )
    names = (node for node in ast.walk(module.tree) if isinstance(node, ast.Name) and node not in harmless)
    return {node.id for node in names if node.id in typed}


def main() -> None:
    modules = modules_of(Path(sys.argv[1]) / "app" if len(sys.argv) > 1 else APP)
    graph = imports_of(modules)
    longest = max((module.lines, module.name) for module in modules.values())
    report = [
        f"files: {len(modules)}",
        f"code lines: {sum(module.code_lines for module in modules.values())}",
        f"longest file: {longest[1]}, {longest[0]} lines",
        f"late imports: {sum(len(module.late_imports) for module in modules.values())}",
        *(f"circle: {' '.join(circle)}" for circle in circles_of(graph)),
        *(f"class twice: {name}: {' '.join(places)}" for name, places in doubled_classes(modules).items()),
        *(f"only {user} imports {name}" for name, user in sorted(single_importers(graph).items())),
    ]
    sys.stdout.write("\n".join(report) + "\n")


if __name__ == "__main__":
    main()
