"""What the manifests of a project define: scripts, targets, packages, versions.

Manifests are parsed by their text alone and never run; whatever cannot be parsed defines nothing.

Pure. Failure: none.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from reverie.claims.repository import HistoryCommit, ProjectRepository
from reverie.values import Struct, field

_BY_NAME = re.compile(
    r"^(?:package\.json|deno\.jsonc?|composer\.json|pyproject\.toml|Cargo\.toml|rust-toolchain(?:\.toml)?|go\.mod|go\.work"
    r"|(?:GNU)?[Mm]akefile|.+\.mk|\.?[Jj]ustfile|.+\.just|requirements[\w.-]*\.txt|\.nvmrc|\.node-version|\.python-version"
    r"|\.tool-versions|mise\.toml|\.mise\.toml|(?:docker-)?compose[\w.-]*\.ya?ml|pnpm-workspace\.yaml|Pipfile|setup\.cfg"
    r"|Dockerfile[\w.-]*)$"
)
_ALIASES = {
    **dict.fromkeys(("nodejs", "node"), "node"),
    **dict.fromkeys(("golang", "go"), "go"),
    **dict.fromkeys(("postgresql", "postgres"), "postgres"),
    **dict.fromkeys(("nextjs", "next"), "next"),
    **dict.fromkeys(("vuejs", "vue"), "vue"),
    **dict.fromkeys(("expressjs", "express"), "express"),
    **dict.fromkeys(("nestjs", "nestjscore"), "nestjscore"),
    **dict.fromkeys(("reactjs", "react"), "react"),
    **dict.fromkeys(("tailwind", "tailwindcss"), "tailwindcss"),
    **dict.fromkeys(("angular", "angularcore"), "angularcore"),
    **dict.fromkeys(("threejs", "three"), "three"),
    **dict.fromkeys(("nuxtjs", "nuxt"), "nuxt"),
    **dict.fromkeys(("prisma", "prismaclient"), "prisma"),
}
RUNTIMES = frozenset(("node", "npm", "pnpm", "yarn", "bun", "deno", "python", "go", "rust"))


class Manifest(Struct, frozen=True):
    """What one file defines."""

    scripts: Mapping[str, str] = field(default_factory=dict)
    """`npm build`, `make test`, `cargo server`, and what it runs."""
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Declared versions by package, the names as `package_name` spells them."""


NOTHING = Manifest()


def is_manifest(name: str) -> bool:
    """Whether a file of this name defines scripts or packages."""
    return _BY_NAME.match(name) is not None


def package_name(name: str) -> str:
    """One spelling for `Next.js`, `next`, `Tailwind CSS` and `tailwindcss`."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    return _ALIASES.get(plain, plain)


@lru_cache(4096)
def parse_manifest(name: str, text: str) -> Manifest:
    """What the manifest called `name` defines."""
    versions, scripts = dict[str, tuple[str, ...]](), dict[str, str]()
    try:
        for package, version in _packages(name, text):
            key = package_name(package)
            if version and key:
                versions[key] = (*versions.get(key, ()), version)
        scripts = dict(_scripts(name, text))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return Manifest(scripts, versions)
    return Manifest(scripts, versions)


def _scripts(name: str, text: str) -> Iterable[tuple[str, str]]:
    if name == "package.json":
        for script, body in _mapping(json.loads(text), "scripts").items():
            yield f"npm {script}", str(body)
    elif re.search(r"makefile$|\.mk$", name, re.IGNORECASE):
        for line in text.splitlines():
            targets = re.match(
                r"^([A-Za-z0-9_/%-][A-Za-z0-9_./%-]*(?:[ \t]+[A-Za-z0-9_./%-]+)*)[ \t]*::?(?!=)(.*)", line
            )
            for target in targets[1].split() if targets else ():
                yield f"make {target}", ""
            if line.startswith(".PHONY"):
                yield from ((f"make {target}", "") for target in line.partition(":")[2].split())
    elif re.search(r"justfile$|\.just$", name, re.IGNORECASE):
        for line in text.splitlines():
            recipe = re.match(r"^@?([A-Za-z_][\w-]*)(?:[ \t][^:]*)?:(?!=)", line) or re.match(
                r"^alias ([\w-]+)", line
            )
            if recipe:
                yield f"just {recipe[1]}", ""
    elif name == "pyproject.toml":
        data = tomllib.loads(text)
        tools = (_mapping(data, "project", "scripts"), _mapping(data, "tool", "poetry", "scripts"))
        for tool in (*tools, _mapping(data, "tool", "pdm", "scripts")):
            for script, body in tool.items():
                yield f"poetry {script}", str(body)
                yield f"uv {script}", str(body)
    elif name == "Cargo.toml":
        data = tomllib.loads(text)
        package = _mapping(data, "package").get("name")
        if package:
            yield f"cargo {package}", ""
        for kind in ("bin", "example"):
            yield from ((f"cargo {one['name']}", str(one.get("path", ""))) for one in data.get(kind, ()))


def _packages(name: str, text: str) -> Iterable[tuple[str, str]]:
    if name in ("package.json", "composer.json"):
        data = json.loads(text)
        for group in (
            *("dependencies", "devDependencies", "peerDependencies", "optionalDependencies"),
            *("require", "require-dev", "engines", "volta", "resolutions"),
        ):
            yield from ((package, str(version)) for package, version in _mapping(data, group).items())
        yield from ((p, str(v)) for p, v in _mapping(data, "pnpm", "overrides").items())
        manager = str(data.get("packageManager") or "")
        if "@" in manager:
            yield manager.partition("@")[0], manager.partition("@")[2].partition("+")[0]
    elif name == "pnpm-workspace.yaml":
        for found in re.finditer(
            r"^[ \t]+['\"]?(@?[\w./-]+)['\"]?:[ \t]*['\"]?([~^>=]*\d[\w.-]*)", text, re.MULTILINE
        ):
            yield found[1], found[2]
    elif name == "pyproject.toml":
        yield from _python_packages(tomllib.loads(text))
    elif name == "Pipfile":
        data = tomllib.loads(text)
        for group in ("packages", "dev-packages"):
            yield from ((package, str(spec)) for package, spec in _mapping(data, group).items())
        yield "python", str(_mapping(data, "requires").get("python_version", ""))
    elif name.startswith("requirements") or name == "setup.cfg":
        yield from (_requirement(line) for line in text.splitlines())
    elif name == "Cargo.toml":
        yield from _cargo_packages(tomllib.loads(text))
    elif name.startswith("rust-toolchain"):
        version = re.search(r"(?<!\d)(\d+\.\d+(?:\.\d+)?)", text)
        yield "rust", version[1] if version else ""
    elif name in ("go.mod", "go.work"):
        for found in re.finditer(
            r"^(?:require[ \t]+|[ \t]+)?(go|[\w.-][\w-]*\.[\w./-]+)[ \t]+v?(\d[\w.+-]*)", text, re.MULTILINE
        ):
            module = re.sub(r"/v\d+$", "", found[1]).rpartition("/")[2]
            yield module, found[2]
            yield found[1], found[2]
    elif name in (".nvmrc", ".node-version"):
        yield "node", text.strip().removeprefix("v")
    elif name == ".python-version":
        yield "python", text.split()[0] if text.split() else ""
    elif name in (".tool-versions", "mise.toml", ".mise.toml"):
        for found in re.finditer(r"^\"?([\w-]+)\"?(?:[ \t]*=[ \t]*\"|[ \t]+)(\d[\w.]*)", text, re.MULTILINE):
            yield found[1], found[2]
    elif "compose" in name or name.startswith("Dockerfile"):
        pattern = r"(?:image:\s*['\"]?|^FROM\s+(?:--\S+\s+)?)([\w./-]+):v?(\d[\w.]*)"
        for found in re.finditer(pattern, text, re.MULTILINE | re.IGNORECASE):
            yield found[1].rpartition("/")[2], found[2]


def _python_packages(data: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    project = _mapping(data, "project")
    groups: list[Any] = [project.get("dependencies") or ()]
    groups += _mapping(data, "project", "optional-dependencies").values()
    groups += _mapping(data, "dependency-groups").values()
    for group in groups:
        yield from (_requirement(line) for line in group if isinstance(line, str))
    yield "python", str(project.get("requires-python", ""))
    poetry = _mapping(data, "tool", "poetry")
    parts = [_mapping(poetry, "dependencies"), _mapping(poetry, "dev-dependencies")]
    parts += [_mapping(one, "dependencies") for one in _mapping(poetry, "group").values()]
    for part in parts:
        for package, spec in part.items():
            yield package, str(spec.get("version", "") if isinstance(spec, dict) else spec)


def _cargo_packages(data: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    tables = [
        _mapping(data, *path) for path in (("dependencies",), ("dev-dependencies",), ("build-dependencies",))
    ]
    for table in (*tables, _mapping(data, "workspace", "dependencies")):
        for package, spec in table.items():
            yield package, str(spec.get("version", "") if isinstance(spec, dict) else spec)
    for place in (("package",), ("workspace", "package")):
        yield "rust", str(_mapping(data, *place).get("rust-version", ""))


def _requirement(line: str) -> tuple[str, str]:
    found = re.match(r"^\s*([A-Za-z][\w.-]*)(?:\[[^\]]*\])?\s*\(?\s*((?:==|>=|~=|>|<=|<|!=)[^;#)]*)?", line)
    return (found[1], (found[2] or "").strip()) if found else ("", "")


def _mapping(data: Any, *path: str) -> Mapping[str, Any]:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


# Versions.


def _numbers(text: str) -> tuple[int, ...]:
    found = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(map(int, found[0].split("."))) if found else ()


def agrees(claimed: str, declared: str) -> bool:
    """Whether a declared version (`^14.2.3`, `>=3.11,<4`) is what a note says (`14`, `14.2`, `3.11+`)."""
    wanted, base = _numbers(claimed), _numbers(declared)
    if not wanted or not base:
        return False
    if claimed.endswith("+") or claimed.startswith((">", "^", "~")):
        at_least = base[: len(wanted)] >= wanted[: len(base)]
        return (
            at_least
            if claimed.endswith("+") or claimed.startswith(">")
            else base[:1] == wanted[:1] and at_least
        )
    length = min(len(wanted), len(base))
    if base[:length] == wanted[:length]:
        return True
    # A range allows what is above its lower bound, as far as it goes.
    if declared.lstrip().startswith(">") and wanted >= base:
        upper = re.search(r"<\s*(\d+(?:\.\d+)*)", declared)
        return upper is not None and wanted < _numbers(upper[1])
    return False


def as_claimed(claimed: str, declared: str) -> str:
    """A declared version in the form in which a note claims one: `14.2` where it says `13.1`."""
    base = _numbers(declared)
    length = len(_numbers(claimed))
    front = re.match(r"^[^\d]*", claimed)
    back = re.search(r"(?:\.x)?\+?$", claimed)
    return f"{front[0] if front else ''}{'.'.join(map(str, base[:length]))}{back[0] if back else ''}"


# Which names and numbers occur in the texts of a repository: symbols, environment variables, ports.
#
# Prose, lock files and minified code do not count: that a note names a thing is no proof that it is there.
# What was read is kept by its object, so that after a commit only new objects are read.
#
# Threading: as `claims.repository`. Failure: none; texts above a bound are left out, which `limits` says.


MOST_BYTES = 256 << 20
MOST_OLD_BLOBS = 10_000
_MOST_PLACES = 12
_NO_CODE = re.compile(
    r"\.(?:md|mdx|mdc|rst|txt|adoc|lock|svg|png|jpe?g|gif|ico|woff2?|ttf|pdf|zip|gz|map|snap|csv|tsv|ipynb|po|jsonl|parquet)$"
    r"|\.min\.(?:js|css)$|(?:^|/)(?:package-lock\.json|pnpm-lock\.yaml|go\.sum|bun\.lockb|uv\.lock|LICENSE|CHANGELOG[^/]*)$"
    r"|(?:^|/)(?:node_modules|vendor|third_party|dist)/",
    re.IGNORECASE,
)
_NONE = frozenset[bytes]()
_NUMBERS = re.compile(rb"(?<![\w.])\d{2,5}(?![\w.]\d|\w)")
_SPACED = bytes(
    one if chr(one).isascii() and (chr(one).isalnum() or one == ord("_")) else 32 for one in range(256)
)
"""To split a text into words, in a third of the time that a pattern takes."""


class RepositoryWords:
    """The words of a repository's files as it stands now, and of what it held before."""

    def __init__(self, repository: ProjectRepository) -> None:
        self._repository = repository
        self._wanted = set[bytes]()
        self._found: dict[str, frozenset[bytes]] = {}
        self._old: dict[bytes, frozenset[bytes]] = {}
        self._bytes = 0
        self._lost: dict[bytes, list[tuple[int, str]]] = {}

    def present(self, words: Iterable[str]) -> set[str]:
        """Those of `words`, and of all that were asked for before, that are there now: in a file, or as the
        name of one."""
        asked = {word.encode() for word in words}
        if not asked <= self._wanted:
            self._wanted |= asked
            self._found.clear()
            self._old.clear()
            self._bytes = 0
        if not self._wanted:
            return set()
        repository = self._repository
        stems = {name.partition(".")[0] for name in repository.now.names}
        present = {word for word in self._wanted if word.decode() in stems}
        for path, (oid, mode) in repository.now.files.items():
            known = self._found.get(oid)
            if known is None:
                known = frozenset[bytes]()
                if mode != 0o120000 and not _NO_CODE.search(path) and self._bytes < MOST_BYTES:
                    data = repository.read(oid) or b""
                    self._bytes += len(data)
                    known = self._wanted_in(data)
                self._found[oid] = known
            present |= known
        if self._bytes >= MOST_BYTES:
            repository.limits.add(f"Names were looked up in {MOST_BYTES >> 20} MiB of files only.")
            return {word.decode() for word in self._wanted}
        return {word.decode() for word in present}

    def _wanted_in(self, data: bytes) -> frozenset[bytes]:
        found = self._wanted.intersection(data.translate(_SPACED).split())
        numbers = {word for word in found if word.isdigit()}
        if numbers:
            found = (found - numbers) | numbers.intersection(_NUMBERS.findall(data))
        return frozenset(found) if found else _NONE

    def look_for(self, words: Iterable[str], since: int) -> None:
        """Find which files lost these words, that do not occur now, after the commit at place `since`.
        One pass over the texts that were changed or deleted, newest first, for all of them."""
        repository, seen = self._repository, set[bytes]()
        wanted = {word.encode() for word in words}
        self._lost = {word: [] for word in wanted}
        for at in range(repository.newest, since) if wanted else ():
            for change in repository.changes_of(at):
                if change.status == "A" or change.raw in seen or _NO_CODE.search(change.path):
                    continue
                if len(seen) >= MOST_OLD_BLOBS:
                    repository.limits.add(f"Names were looked up in {MOST_OLD_BLOBS:,} older texts only.")
                    return
                seen.add(change.raw)
                known = self._old.get(change.raw)
                if known is None:
                    known = self._old[change.raw] = self._wanted_in(repository.read(change.blob) or b"")
                for word in wanted & known:
                    self._lost[word].append((at, change.path))

    def places(self, commit: HistoryCommit, word: str) -> list[str]:
        """The files that lost `word` after a commit, those that did last first."""
        found = (path for at, path in self._lost.get(word.encode(), ()) if at < commit.at)
        return list(dict.fromkeys(found))[:_MOST_PLACES]
