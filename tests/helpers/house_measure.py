"""Measures of the source tree: code lines, imports, circles, banners, value classes, forwarders, docstrings.

`tests/unit/test_house.py` holds each measure as a ratchet that may only fall. Run as a program it
prints them: `PYTHONPATH=tests python -m helpers.house_measure [ROOT]`.
"""

from __future__ import annotations

import ast
import io
import json
import subprocess
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


_VALUES = frozenset(("Struct", "NamedTuple", "dataclass"))


def _forwards(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    body = function.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    if len(body) != 1 or not isinstance(body[0], (ast.Return, ast.Expr)):
        return False
    call = body[0].value
    call = call.value if isinstance(call, ast.Await) else call
    if not isinstance(call, ast.Call) or function.decorator_list:
        return False
    taken = function.args
    own = {one.arg for one in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)} - {"self"}
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    names = {one.id for one in given if isinstance(one, ast.Name)}
    return all(isinstance(one, ast.Name) for one in given) and names == own and _is_dotted(call.func)


def _is_dotted(node: ast.expr) -> bool:
    """Whether an expression is a name with nothing but attributes after it."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def docstring_findings(root: Path) -> dict[str, int]:
    """Count the findings of ruff's rules for docstrings that begin with a verb and a one-line summary."""
    words = [
        "check",
        "--select",
        "D401,D205",
        "--output-format",
        "json",
        "--isolated",
        "--no-cache",
        "--exit-zero",
        str(root),
    ]
    done = subprocess.run([sys.executable, "-m", "ruff", *words], capture_output=True, text=True, check=True)
    found = {"D205": 0, "D401": 0}
    for finding in json.loads(done.stdout):
        found[finding["code"]] += 1
    return found


@dataclass(frozen=True)
class Module:
    """One file of the program."""

    name: str
    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree; a walk costs as much as parsing does."""
        return tuple(ast.walk(self.tree))

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @cached_property
    def code_lines(self) -> int:
        """Lines with a token that is neither a comment nor a documenting string."""
        texts: set[int] = set()
        for node in self.nodes:
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
        for function in self.nodes:
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for node in ast.walk(function):
                    if isinstance(node, (ast.Import, ast.ImportFrom)):
                        lines.add(node.lineno)
        return tuple(sorted(lines))

    @property
    def classes(self) -> Iterator[str]:
        return (node.name for node in self.nodes if isinstance(node, ast.ClassDef))

    @cached_property
    def banners(self) -> tuple[int, ...]:
        """The first lines of comments at column 0 that head a chapter: blank lines before and after them."""
        lines = ["", *self.text.splitlines(), ""]
        head = self.tree.body[0].end_lineno or 0 if self.tree.body else 0
        found, number = [], head + 1
        while number < len(lines):
            begins, after = number, number
            while after < len(lines) and lines[after].startswith("#"):
                after += 1
            if (
                after > begins
                and not lines[begins - 1].strip()
                and not lines[min(after, len(lines) - 1)].strip()
            ):
                found.append(begins)
            number = max(after, begins + 1)
        return tuple(found)

    @cached_property
    def value_classes(self) -> tuple[str, ...]:
        """The classes that hold values: Structs, named tuples and dataclasses."""
        found = []
        for node in self.nodes:
            if isinstance(node, ast.ClassDef):
                marks = [ast.unparse(base) for base in (*node.bases, *node.decorator_list)]
                if any(mark.split("(")[0].split(".")[-1] in _VALUES for mark in marks):
                    found.append(node.name)
        return tuple(found)

    @cached_property
    def forwarders(self) -> tuple[str, ...]:
        """The functions that only pass their own arguments on to one other call."""
        functions = (node for node in self.nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
        return tuple(node.name for node in functions if _forwards(node))


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
        for node in module.nodes:
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
    if not typed:
        return typed
    harmless: set[ast.AST] = set()
    for node in module.nodes:
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            harmless.update(ast.walk(part) if isinstance(part, ast.AST) else ())
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            imports = [inner for inner in ast.walk(node) if isinstance(inner, ast.ImportFrom)]
            own = {alias.asname or alias.name for inner in imports for alias in inner.names}
            own |= {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
            harmless.update(
                inner for inner in ast.walk(node) if isinstance(inner, ast.Name) and inner.id in own
            )
    names = (node for node in module.nodes if isinstance(node, ast.Name) and node not in harmless)
    return {node.id for node in names if node.id in typed}


def measures_of(modules: Mapping[str, Module]) -> dict[str, float]:
    """Return each measure by name; less is better, but for the number of files, which is only told."""
    each = modules.values()
    lines = sum(module.code_lines for module in each)
    sizes = sorted(module.code_lines for module in each)
    return {
        "files": len(modules),
        "median code lines of a file": sizes[len(sizes) // 2],
        "files under 100 code lines": sum(size < 100 for size in sizes),
        "files over 400 code lines": sum(size > 400 for size in sizes),
        "code lines": lines,
        "banners": sum(len(module.banners) for module in each),
        "value classes": sum(len(module.value_classes) for module in each),
        "value classes per 1,000 lines": round(
            1000 * sum(len(module.value_classes) for module in each) / lines, 2
        ),
        "forwarders": sum(len(module.forwarders) for module in each),
        "late imports": sum(len(module.late_imports) for module in each),
    }


def main() -> None:
    root = Path(sys.argv[1]) / "app" if len(sys.argv) > 1 else APP
    modules = modules_of(root)
    graph = imports_of(modules)
    report = [
        *(f"{name}: {value:g}" for name, value in measures_of(modules).items()),
        *(f"{code}: {count}" for code, count in docstring_findings(root).items()),
        *(f"circle: {' '.join(circle)}" for circle in circles_of(graph)),
        *(f"class twice: {name}: {' '.join(places)}" for name, places in doubled_classes(modules).items()),
    ]
    sys.stdout.write("\n".join(report) + "\n")


if __name__ == "__main__":
    main()
