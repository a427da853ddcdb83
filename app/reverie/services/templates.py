"""Templates of new memories: Reverie's for each scope, and a person's own files `<config>/templates/*.md`.

A template is plain text in which `{{title}}` and `{{date}}` are filled in. A person's directory may contain
any files. A file is accepted if it is a regular text file of limited size with a name that the agents accept
and that is printable. Other files are left out, which is logged.

Threading: any thread but the GUI's (`filled` and `title_of` are pure). Failure: files that cannot be read are
left out; a missing resource of Reverie's is a bug.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path

from reverie.agents.scopes import Scope
from reverie.errors import PathRuleError
from reverie.files.directory import Directory, SwappedError
from reverie.memory.paths import parse_memory_path
from reverie.resources import resource
from reverie.services.views import Template

_log = logging.getLogger("reverie.templates")
SUFFIX = ".md"
_MOST = 50
_LARGEST_TEMPLATE = 64 * 1024
_MOST_NAME = 60


def all_templates(own: Path) -> tuple[Template, ...]:
    """Return Reverie's templates by scope and name, then a person's own in the directory `own`.

    The directory may be missing.
    """
    ours = [
        Template(file.stem, file.read_text(encoding="utf-8"), scope)
        for scope in Scope
        for file in sorted(resource(f"templates/{scope.value}").glob(f"*{SUFFIX}"))
    ]
    return (*ours, *_own(own))


def filled(text: str, path: str, now_ms: int) -> str:
    """Return the content of a new memory at `path`: `text` with title and date filled in.

    `now_ms`: the present time in UTC ms. The date is in this machine's time zone.
    """
    date = time.strftime("%Y-%m-%d", time.localtime(now_ms / 1000))
    return text.replace("{{date}}", date).replace("{{title}}", title_of(path))


def title_of(path: str) -> str:
    """Return the title for a file name: `deploy-notes.md` -> `Deploy notes`."""
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
        data = directory.read(name, _LARGEST_TEMPLATE + 1)
        text = data.decode("utf-8")
    except (OSError, SwappedError, UnicodeDecodeError):
        return None
    return None if len(data) > _LARGEST_TEMPLATE or "\0" in text else text


def _is_plain(name: str) -> bool:
    """Return True if agents would accept this name for a memory, and the name is short and printable."""
    try:
        parse_memory_path(f"/memories/global/{name}")
    except PathRuleError:
        return False
    return not name.startswith(".") and name.isprintable() and len(name) <= _MOST_NAME
