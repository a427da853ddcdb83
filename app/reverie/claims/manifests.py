"""The definitions in the manifests of a project: scripts, targets, packages and versions.

Manifests are only parsed as text and never run; a manifest that cannot be parsed defines nothing.

Pure. Failure: none.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

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
    """The scripts and the package versions that one manifest, such as `package.json`, defines."""

    scripts: Mapping[str, str] = field(default_factory=dict)
    """The command of each script or target, empty if not known.

    The keys are names such as `npm build`, `make test`, `cargo server`.
    """
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The declared versions of each package, by its name as spelt by `package_name`."""


NOTHING = Manifest()


def is_manifest(name: str) -> bool:
    """Return whether files with this name define scripts or package versions, as `package.json` does."""
    return _BY_NAME.match(name) is not None


def package_name(name: str) -> str:
    """Return a package name in a spelling that is the same for all its variants, so that it can be compared.

    `Next.js` and `next` both become `next`; `Tailwind CSS` becomes `tailwindcss`.
    """
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    return _ALIASES.get(plain, plain)


@lru_cache(4096)
def parse_manifest(name: str, text: str) -> Manifest:
    """Return the scripts and versions that the manifest `text` defines; `name` is its file name."""
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


def _numbers(text: str) -> tuple[int, ...]:
    found = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(map(int, found[0].split("."))) if found else ()


def agrees(claimed: str, declared: str) -> bool:
    """Return whether a declared version (`^14.2.3`, `>=3.11,<4`) matches a claimed one (`14`, `3.11+`)."""
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
    # A range also allows versions above its lower bound, up to its upper one.
    if declared.lstrip().startswith(">") and wanted >= base:
        upper = re.search(r"<\s*(\d+(?:\.\d+)*)", declared)
        return upper is not None and wanted < _numbers(upper[1])
    return False


def as_claimed(claimed: str, declared: str) -> str:
    """Return a declared version, written like the version that a note claims.

    The result has as many numbers as `claimed`, and the same text before and after them: for the claimed
    version `v13.1+` and the declared version `^14.2.3` it is `v14.2+`.
    """
    base = _numbers(declared)
    length = len(_numbers(claimed))
    front = re.match(r"^[^\d]*", claimed)
    back = re.search(r"(?:\.x)?\+?$", claimed)
    return f"{front[0] if front else ''}{'.'.join(map(str, base[:length]))}{back[0] if back else ''}"
