"""The texts of the window and their translations: `resources/translations/reverie_<language>.ts` and `.qm`.

Run by `dev.py translate` inside the environment. Texts are found in the source by its syntax tree, because
Qt's own `lupdate` does not follow helpers such as `tr` and `counted`; `lrelease`, which comes with PySide6,
makes the `.qm`, which git ignores. The `.ts` contains no line numbers, so it changes only when a text
changes; an unused text is removed. A new text that is equal to one in another context takes its translation.

    translations.py             update, and tell how many texts are missing
    translations.py --missing   print the missing ones as JSON: {context: {text: ""}}, ["", ""] for counts
    translations.py --compile   make the `.qm` of each `.ts`, nothing else
    translations.py --fill FILE take translations from such JSON; the context "*" stands for any

Failure: a text that is not a literal cannot be found; it is reported, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "app" / "reverie"
FOLDER = ROOT / "resources" / "translations"
LANGUAGES = ("de",)
HELPERS = ("tr", "_tr", "_", "translatable")
_SAYS_TEXTS = re.compile(
    r"_CONTEXT\b|\b(?:tr|_tr|_|translatable|counted|phrase|plural|translate|QT_TRANSLATE_NOOP)\s*\("
)
"""Matches sources that can contain a text or a context.

Only these are parsed, because parsing the others would take seconds.
"""

_PHRASES = "reverie.ui.display_text"
"""The module whose context has the texts of the packages below the window."""

Key = tuple[str, str]
"""A context and a text."""
Forms = tuple[str, ...]
"""One translation, or singular and plural for a counted text; empty ones are missing."""


@dataclass
class Texts:
    """The texts found in the source.

    `keys`: all texts. `counted`: the texts that contain `%n`, a number. `problems`: sentences about texts
    that could not be found.
    """

    keys: set[Key] = field(default_factory=set)
    counted: set[Key] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)


def texts_of(sources: Path = SOURCES) -> Texts:
    """Return every text below `sources` that is passed to a translation function."""
    found = Texts()
    files = {path: path.read_text(encoding="utf-8") for path in sorted(sources.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in files.items() if _SAYS_TEXTS.search(text)}
    contexts = {_module(path, sources): "" for path in files}
    contexts |= {_module(path, sources): _context(tree) for path, tree in trees.items()}
    for path, tree in trees.items():
        _Finder(found, path, _module(path, sources), tree, contexts).visit(tree)
    return found


def _module(path: Path, sources: Path) -> str:
    return ".".join((sources.name, *path.relative_to(sources).with_suffix("").parts))


def _context(tree: ast.Module) -> str:
    """Return the translation context that the texts of a module have.

    It is the constant `_CONTEXT` of the module, or the name that the module's own helper passes.
    """
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if "_CONTEXT" in names and isinstance(node.value.value, str):
                return node.value.value
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in HELPERS:
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Constant):
                    return str(call.args[0].value)
    return ""


class _Finder(ast.NodeVisitor):
    """A visitor of one module that finds its texts.

    `HELPERS` are functions that take a text; their context is the module that defines them.
    """

    def __init__(
        self, found: Texts, path: Path, module: str, tree: ast.Module, contexts: Mapping[str, str]
    ) -> None:
        self._found, self._path, self._own, self._contexts = found, path, contexts[module], contexts
        self._classes: list[str] = []
        self._from: dict[str, str] = {}
        shorter: list[tuple[str, str]] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for name in node.names:
                    whole = f"{node.module}.{name.name}"
                    source = whole if whole in contexts else node.module
                    self._from[name.asname or name.name] = contexts.get(source, "")
            # A shorter name within a function: `tr = words.tr`.
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute):
                owner, target = node.value.value, node.targets[0]
                if isinstance(owner, ast.Name) and isinstance(target, ast.Name):
                    shorter.append((target.id, owner.id))
        for short, owned in shorter:
            if owned in self._from:
                self._from[short] = self._from[owned]

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._classes.append(node.name)
        self.generic_visit(node)
        self._classes.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        # The helpers themselves hand on what they are given.
        if node.name not in (*HELPERS, "counted", "said", "translated"):
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        call, owner = node.func, ""
        if isinstance(call, ast.Attribute):
            owner = call.value.id if isinstance(call.value, ast.Name) else "?"
            name = call.attr
        elif isinstance(call, ast.Name):
            name = call.id
        else:
            return
        if (name == "translate" and owner == "QCoreApplication") or name == "QT_TRANSLATE_NOOP":
            self._take(node.args[1], next(self._literals(node.args[0]), self._own), node)
        elif name == "tr" and not owner and len(node.args) == 2:
            # Short for QCoreApplication.translate.
            self._take(node.args[1], next(self._literals(node.args[0]), self._own), node)
        elif name in ("counted", "plural") and len(node.args) >= 3:
            self._take(node.args[1], self._contexts.get(_PHRASES, ""), node, counted=True)
        elif name == "phrase" and node.args:
            self._take(node.args[0], self._contexts.get(_PHRASES, ""), node)
        elif name == "check" and len(node.args) == 3:
            # The decorator of the Doctor's checks: a name and two titles.
            for fact in node.args[1:]:
                self._take(fact, self._contexts.get(_PHRASES, ""), node)
        elif name in HELPERS and node.args:
            if owner == "self":
                context = self._classes[-1] if self._classes else ""
            elif owner:
                context = self._from.get(owner, "")
            else:
                context = self._from.get(name, self._own)
            self._take(node.args[0], context, node, counted=len(node.args) > 2)

    def _take(self, text: ast.expr, context: str, call: ast.Call, *, counted: bool = False) -> None:
        literals = list(self._literals(text))
        if not literals and _is_from_table(text):
            return  # its texts are marked where the table stands
        if not literals or not context:
            place = f"{self._path.relative_to(self._path.parents[3])}:{call.lineno}"
            self._found.problems.append(
                f"{place}: {ast.unparse(call)[:80]} has no literal text or no context."
            )
        for literal in literals:
            self._found.keys.add((context, literal))
            if counted:
                self._found.counted.add((context, literal))

    def _literals(self, node: ast.expr) -> Iterator[str]:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.IfExp):
            yield from self._literals(node.body)
            yield from self._literals(node.orelse)


def _is_from_table(node: ast.expr) -> bool:
    """Return True if a text is taken from a table of the module itself, such as `_REASONS[entry.reason]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
        if isinstance(node, ast.Name) and node.id.isupper():
            return True
    return False


def read_ts(path: Path) -> dict[Key, Forms]:
    """Return the translations in the `.ts` file at `path`, with empty texts for missing translations.

    Returns no translations if the file does not exist.
    """
    if not path.exists():
        return {}
    read: dict[Key, Forms] = {}
    for context in ElementTree.parse(path).getroot().iter("context"):
        name = context.findtext("name", "")
        for message in context.iter("message"):
            said = message.find("translation")
            assert said is not None
            forms = tuple(form.text or "" for form in said.iter("numerusform"))
            read[name, message.findtext("source", "")] = forms or (said.text or "",)
    return read


def updated(texts: Texts, known: Mapping[Key, Forms]) -> dict[Key, Forms]:
    """Return a translation for each text in the source: its own in `known`, else that of an equal text.

    `known`: the translations until now. A text without a translation gets empty forms.
    """
    elsewhere = {(text, len(forms)): forms for (_context, text), forms in known.items() if all(forms)}
    result: dict[Key, Forms] = {}
    for key in sorted(texts.keys):
        size = 2 if key in texts.counted else 1
        forms = known.get(key, ())
        if len(forms) != size or not all(forms):
            forms = elsewhere.get((key[1], size), ("",) * size)
        result[key] = forms
    return result


def ts_text(language: str, translations: Mapping[Key, Forms], counted: set[Key]) -> str:
    """Return the content of the `.ts` file for `language`; `counted` are the texts that contain a number."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<!DOCTYPE TS>"]
    lines.append(f'<TS version="2.1" language="{language}" sourcelanguage="en">')
    for context in sorted({context for context, _text in translations}):
        lines += ["<context>", f"    <name>{escape(context)}</name>"]
        for (owner, text), forms in translations.items():
            if owner == context:
                lines += _message(text, forms, counted=(owner, text) in counted)
        lines.append("</context>")
    return "\n".join([*lines, "</TS>", ""])


def _message(text: str, forms: Forms, *, counted: bool) -> list[str]:
    missing = "" if all(forms) else ' type="unfinished"'
    numerus = ' numerus="yes"' if counted else ""
    if counted:
        inner = "".join(f"<numerusform>{escape(form)}</numerusform>" for form in forms)
    else:
        inner = escape(forms[0])
    return [
        f"    <message{numerus}>",
        f"        <source>{escape(text)}</source>",
        f"        <translation{missing}>{inner}</translation>",
        "    </message>",
    ]


def filled(
    translations: Mapping[Key, Forms], given: Mapping[str, Mapping[str, str | list[str]]]
) -> dict[Key, Forms]:
    """Return `translations` with the ones in `given` added.

    `given`: context, text and translation, in the format that `--missing` prints; the context `*` stands for
    any.
    """
    result = dict(translations)
    for (context, text), forms in translations.items():
        said = given.get(context, {}).get(text) or given.get("*", {}).get(text)
        new = (said,) if isinstance(said, str) else tuple(said or ())
        if len(new) == len(forms) and all(new):
            result[context, text] = new
    return result


def missing_in(translations: Mapping[Key, Forms]) -> dict[str, dict[str, str | list[str]]]:
    """Return the texts without a translation, by context, in the format that `--missing` prints."""
    missing: dict[str, dict[str, str | list[str]]] = {}
    for (context, text), forms in translations.items():
        if not all(forms):
            missing.setdefault(context, {})[text] = "" if len(forms) == 1 else ["" for _form in forms]
    return missing


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py translate", description="Update the translations.")
    parser.add_argument("--missing", action="store_true", help="print what is missing as JSON")
    parser.add_argument("--fill", type=Path, metavar="FILE", help="take translations from such JSON")
    parser.add_argument("--compile", action="store_true", help="only compile the translations")
    options = parser.parse_args()
    if options.compile:
        for file in FOLDER.glob("*.ts"):
            compile_ts(file)
        return 0
    texts = texts_of()
    given = json.loads(options.fill.read_text(encoding="utf-8")) if options.fill else {}
    FOLDER.mkdir(exist_ok=True)
    for language in LANGUAGES:
        file = FOLDER / f"reverie_{language}.ts"
        translations = filled(updated(texts, read_ts(file)), given)
        file.write_text(ts_text(language, translations, texts.counted), encoding="utf-8", newline="\n")
        compile_ts(file)
        missing = missing_in(translations)
        if options.missing:
            print(json.dumps(missing, ensure_ascii=False, indent=1))
        count = sum(map(len, missing.values()))
        sys.stderr.write(f"{file.name}: {len(translations)} texts, {count} missing\n")
    for problem in texts.problems:
        sys.stderr.write(problem + "\n")
    return 1 if texts.problems else 0


def compile_ts(file: Path) -> None:
    """Create the `.qm` file beside the `.ts` file `file`, with a program that comes with PySide6."""
    import PySide6

    name = "lrelease.exe" if sys.platform == "win32" else "lrelease"
    program = Path(PySide6.__path__[0]) / name
    subprocess.run([program, "-silent", file, "-qm", file.with_suffix(".qm")], check=True)


if __name__ == "__main__":
    sys.exit(main())
