"""How often search finds the note a question is about, among all notes of the corpus in one home."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from labelled.real.extract import Half, RealNote, half_of
from reverie.agents.mux.names import project_dir_name
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.profile import Profile
from reverie.services.search import SearchService
from reverie.services.views import SearchPlace

_PROJECTS = "/home/dev/projects"
_FIRST = 5
# Over all projects of a half, and from inside the one that a question is about.
LEAST_ANSWERED, LEAST_INSIDE = 50 / 60, 0.9


@dataclass(frozen=True, slots=True)
class Question:
    """A question and where its answer stands."""

    repository: str
    path: str
    text: str

    @property
    def half(self) -> Half:
        return half_of(self.repository)

    @property
    def project(self) -> str:
        return project_of(self.repository)


def questions() -> list[Question]:
    """The labelled questions."""
    lines = (Path(__file__).parent / "questions.tsv").read_text("utf-8").splitlines()
    return [Question(*line.split("\t")) for line in lines if line and line[0] != "#"]


def project_of(repository: str) -> str:
    """The project that a repository is in the home."""
    return f"{_PROJECTS}/{re.sub(r'[^a-z0-9]+', '-', repository.lower())}"


def note_name(path: str) -> str:
    """How a memory of a repository is called in the home: without the folder that every one is in."""
    parts = [part for part in PurePosixPath(path).parts if not part.startswith(".")]
    kept = [part for part in parts if part not in ("memories", "memory-bank", "steering")]
    return "-".join(kept or parts[-1:])


def make_home(root: Path, notes: Iterable[RealNote]) -> None:
    """A mux home with a project for each repository."""
    projects = []
    for note in notes:
        project = project_of(note.repository)
        file = root / "memory" / "project" / project_dir_name(project) / note_name(note.path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(note.text, "utf-8")
        if not projects or projects[-1][0] != project:
            name = f"{len(projects):010x}"
            (root / "sessions" / name / "memory").mkdir(parents=True, exist_ok=True)
            workspace = {"path": f"{project}/.work", "id": name, "name": "main"}
            projects.append([project, {"workspaces": [workspace]}])
    (root / "config.json").write_text(json.dumps({"projects": projects}))


def open_search(directory: Path) -> SearchService:
    """Search over the home at `directory/home`, its index up to date."""
    parts = open_parts(directory / "home", Profile.under(directory / "profile"), system_clock)
    service = SearchService()
    service.add(parts)
    service.update()
    return service


def is_answered(service: SearchService, question: Question, text: str, *, inside: bool) -> bool:
    """Whether the note is among the first hits; `inside`: asked from the project it belongs to."""
    place = SearchPlace(question.project) if inside else None
    hits = service.search(text, place=place).hits[:_FIRST]
    wanted = note_name(question.path)
    return any(hit.project_path == question.project and hit.path.endswith(f"/{wanted}") for hit in hits)


def keywords_of(note: str) -> str:
    """What one types who knows the words: the rarest-looking three words of the first heading or line."""
    line = next((line for line in note.splitlines() if line.strip(" #-*")), "")
    words = sorted(set(re.findall(r"\w{4,}", line)), key=lambda word: (-len(word), word))
    return " ".join(words[:3])


def figures(directory: Path, notes: Sequence[RealNote]) -> tuple[list[str], bool]:
    """Lines with how many questions were answered, and whether those are enough. Each half is a home of its
    own, and then both together are one; what is asked for holds in the halves. A question whose note is not
    among `notes` is left out, and that is said."""
    lines, answered, inside = list[str](), 0, 0
    there = {(note.repository, note.path) for note in notes}
    askable = [each for each in questions() if (each.repository, each.path) in there]
    if missing := len(questions()) - len(askable):
        lines.append(f"{missing} questions left out: their notes are not here")
    halves: tuple[Half, ...] = ("tune", "held")
    for name in (*halves, ""):
        kept = [note for note in notes if name in ("", half_of(note.repository))]
        asked = [each for each in askable if name in ("", each.half)]
        make_home(directory / (name or "all") / "home", kept)
        service = open_search(directory / (name or "all"))
        found = sum(is_answered(service, each, each.text, inside=False) for each in asked)
        within = sum(is_answered(service, each, each.text, inside=True) for each in asked)
        texts = {(note.repository, note.path): note.text for note in kept}
        typed = [(each, keywords_of(texts[each.repository, each.path])) for each in asked]
        known = sum(is_answered(service, each, words, inside=False) for each, words in typed if words)
        lines.append(
            f"questions answered in the first {_FIRST} of {len(kept):,} notes, {name or 'both halves'}: "
            f"{found} of {len(asked)} over all projects, {within} from inside the project, "
            f"{known} by keywords"
        )
        if name:
            answered, inside = answered + found, inside + within
    count = len(askable)
    return lines, count > 0 and answered >= LEAST_ANSWERED * count and inside >= LEAST_INSIDE * count
