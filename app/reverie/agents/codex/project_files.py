"""The files of Codex's store that are about a project.

Threading: any thread but the GUI's. Failure: files that cannot be read are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from reverie.agents.base import Companion
from reverie.agents.codex.locations import normalised_cwd
from reverie.agents.codex.store import HANDBOOK, SUMMARY, file_rule
from reverie.agents.reading import cached_until_changed, file_names, read_beginning
from reverie.agents.scopes import Scope
from reverie.files.directory import read_regular
from reverie.text.summaries import first_heading
from reverie.values import replace

MOST_SUMMARIES = 200
"""Maximum number of summaries for one project, the newest by name."""
_HEAD_BYTES = 4096
_DOCUMENT_BYTES = 4 << 20
_HERE = "Shown here because the file is about this project."
_ELSEWHERE = "Open the file under Global to edit it."
_CWD = re.compile(r"^cwd:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_APPLIES = re.compile(r"^applies_to:[^\n]*?\bcwd=([^;\n]+)", re.MULTILINE)


def project_files(store: Path, project_path: str) -> Iterator[Companion]:
    """Yield the files in the memory directory `store` about the project `project_path`, each read-only.

    These are MEMORY.md (version 1) and memory_summary.md (version 2) if they have a part about the project,
    and the summaries of rollouts that ran in it, newest first. The files are listed under the project and
    edited under Global (formats/codex.md sections 3 and 10.4).
    """
    wanted = {project_path, normalised_cwd(project_path)}
    for name, note in ((HANDBOOK, _handbook_note), (SUMMARY, _summary_note)):
        said = note(store / name, wanted)
        if said:
            yield _shown(store, store / name, said)
    names = (name for name in reversed(file_names(store / "rollout_summaries", [])) if name.endswith(".md"))
    paths = (store / "rollout_summaries" / name for name in names)
    own = ((path, *_head(path)) for path in paths)
    of_project = ((path, title) for path, cwd, title in own if cwd in wanted)
    for path, title in islice(of_project, MOST_SUMMARIES):
        # The name alone: all lie in one directory, which would push what differs out of a narrow row.
        shown = _shown(store, path, "The cwd line of the file names this project.")
        yield replace(shown, label=path.name, about=title)


def _shown(store: Path, path: Path, note: str) -> Companion:
    label = path.relative_to(store).as_posix()
    rule = file_rule("v2", label)
    reason = _ELSEWHERE if rule.kind == "editable" else rule.sentence
    return Companion(Scope.PROJECT, path, label, True, note, read_only=f"{_HERE} {reason}")


def _handbook_note(path: Path, wanted: set[str]) -> str:
    """Return a note with the titles and line numbers of the task groups about a project in the file `path`.

    Empty if there are none. `wanted`: the spellings of the project's path.
    """
    found, first, title = [], 0, ""
    lines = _lines(path)
    for number, line in enumerate((*lines, "# Task Group: "), start=1):
        if line.startswith("# Task Group: "):
            block = "\n".join(lines[first - 1 : number - 1]) if first else ""
            if any(cwd.strip() in wanted for cwd in _APPLIES.findall(block)):
                found.append(f"{title} (lines {first}-{number - 1})")
            first, title = number, line.removeprefix("# Task Group: ").strip()
    return f"Task groups about this project: {', '.join(found)}." if found else ""


def _summary_note(path: Path, wanted: set[str]) -> str:
    """Return a note with the line numbers of the section about a project in the memory summary `path`.

    Empty if there is no such section. `wanted`: the spellings of the project's path, one of which is the
    heading of the section.
    """
    first = 0
    lines = _lines(path)
    for number, line in enumerate((*lines, "## "), start=1):
        if first and re.match(r"#{1,3} ", line):
            return f"Lines {first}-{number - 1} are about this project."
        if line.startswith("### ") and line.removeprefix("### ").strip().strip("`") in wanted:
            first = number
    return ""


def _lines(path: Path) -> list[str]:
    try:
        return read_regular(path, _DOCUMENT_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _head(path: Path) -> tuple[str, str]:
    try:
        return _head_of(path)
    except OSError:
        return "", ""


@cached_until_changed(4096)
def _head_of(path: Path) -> tuple[str, str]:
    """Return the `cwd:` line and the first heading of a rollout summary; empty strings if missing."""
    beginning = read_beginning(path, _HEAD_BYTES)
    head = beginning.decode("utf-8", "replace").replace("\r\n", "\n")
    found = _CWD.search(head.partition("\n\n")[0])
    return found[1] if found else "", first_heading(beginning)
