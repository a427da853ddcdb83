"""Templates of new memories: ours for each scope, and a person's own files `<config>/templates/*.md`.

A template is plain text in which `{{title}}` and `{{date}}` are filled in. What lies in a person's directory
may come from anywhere: only regular files whose name the agents would accept and that can be shown as it is,
that are text and not large; the rest is left out, and said in the log.

Threading: any thread but the GUI's (`filled` and `title_of` are pure). Failure: what cannot be read is left
out; a resource of ours that is missing is a bug.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from pathlib import Path

from reverie.agents.scopes import Scope
from reverie.errors import PathRuleError
from reverie.files.directory import Directory, SwappedError
from reverie.memory.paths import parse_memory_path
from reverie.resources import resource

_log = logging.getLogger("reverie.templates")

SUFFIX = ".md"
_MOST = 50
_MOST_BYTES = 64 * 1024
_MOST_NAME = 60


@dataclass(frozen=True, slots=True)
class Template:
    """`name`: of the file without its suffix. `scope` None: a person's own, for every scope."""

    name: str
    text: str
    scope: Scope | None = None


def all_templates(own: Path) -> tuple[Template, ...]:
    """Ours by scope and name, then those in the directory `own`, which need not exist."""
    ours = [
        Template(file.stem, file.read_text(encoding="utf-8"), scope)
        for scope in Scope
        for file in sorted(resource(f"templates/{scope.value}").glob(f"*{SUFFIX}"))
    ]
    return (*ours, *_own(own))


def filled(text: str, path: str, now_ms: int) -> str:
    """The text of a new memory at `path`. The date is the one of this machine's clock and zone."""
    date = time.strftime("%Y-%m-%d", time.localtime(now_ms / 1000))
    return text.replace("{{date}}", date).replace("{{title}}", title_of(path))


def title_of(path: str) -> str:
    """`deploy-notes.md` -> `Deploy notes`."""
    name = path.rpartition("/")[2].removesuffix(SUFFIX)
    words = " ".join(name.replace("_", " ").replace("-", " ").split()) or name
    return words[:1].upper() + words[1:]


def _own(own: Path) -> list[Template]:
    found: list[Template] = []
    try:
        with Directory.open(own) as directory:
            names = sorted(entry.name for entry in directory.names() if entry.name.endswith(SUFFIX))
            for name in names[:_MOST]:
                text = _text(directory, name)
                if text is None:
                    _log.info("the template %r is left out", name)
                else:
                    found.append(Template(name.removesuffix(SUFFIX), text))
    except FileNotFoundError:
        return []
    except OSError as error:
        _log.info("the templates in %s are left out: %s", own, error)
    return found


def _text(directory: Directory, name: str) -> str | None:
    if not _is_plain(name):
        return None
    try:
        data = directory.read(name, _MOST_BYTES + 1)
        text = data.decode("utf-8")
    except (OSError, SwappedError, UnicodeDecodeError):
        return None
    return None if len(data) > _MOST_BYTES or "\0" in text else text


def _is_plain(name: str) -> bool:
    """A name that agents would accept for a memory, and that looks like what it is."""
    try:
        parse_memory_path(f"/memories/global/{name}")
    except PathRuleError:
        return False
    return not name.startswith(".") and name.isprintable() and len(name) <= _MOST_NAME
