"""Claims of real notes checked against their repositories: how often an alarm is right.

The labelled set (`tests/labelled/claims.jsonl`) names public repositories, two commits of each, notes, lines
and tokens, and what a person found to be so; no text of theirs is in it. A note as it was `written` is
checked against the repository as it was when it was `checked`. `heldOut` rows are of repositories that were
fetched after the rules were made.

`python tests/campaign/claims.py REPOSITORIES` measures; `... --candidates FILE` writes what to label next:
the statements of these repositories with what the checker finds, and with what the `git` program says of
paths as a second opinion. REPOSITORIES holds bare ones, `owner+name/repo` or `owner/name.git`.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

sys.path.insert(0, str(Path(__file__).parent.parent))

from reverie.claims.checking import CheckedClaim, CheckedNote, ClaimChecker
from reverie.claims.repository import HistoryCommit, ProjectRepository

LABELLED = Path(__file__).parent.parent / "labelled" / "claims.jsonl"
STALE = ("gone", "moved", "changed")
WELL_KEPT = (
    *("openai/openai-agents-python", "modelcontextprotocol/python-sdk", "charmbracelet/crush"),
    *("marimo-team/marimo", "wandb/wandb"),
)
"""Projects whose notes are looked after: what is found in them is looked at one by one."""
_NOTE = re.compile(
    r"(?:^|/)(?:CLAUDE|AGENTS|GEMINI)\.md$|(?:^|/)(?:\.serena/memories|memory-bank)/.*\.md$|copilot-instructions\.md$"
)
_SKIPPED = re.compile(r"(?:^|/)(?:fixtures|testdata|templates?|node_modules)/")


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled statement."""

    repository: str
    written: str
    checked: str
    note: str
    line: int
    kind: str
    token: str
    verdict: str
    to: str = ""
    held_out: bool = False


@dataclass(slots=True)
class Tally:
    """What came of measuring."""

    alarms: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    stale: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    moved: int = 0
    right_place: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """The share of alarms that are right."""
        return self.right.total() / max(1, self.alarms.total())

    def recall(self, kinds: Iterable[str]) -> float:
        """The share of stale statements of these kinds that were found."""
        chosen = list(kinds)
        return sum(self.found[k] for k in chosen) / max(1, sum(self.stale[k] for k in chosen))

    def lines(self) -> Iterator[str]:
        """The figures, as sentences."""
        kinds = sorted(self.stale | self.alarms)
        each = ", ".join(f"{k} {self.right[k]} of {self.alarms[k]}" for k in kinds if self.alarms[k])
        counts = f"{self.right.total()} of {self.alarms.total()}"
        yield f"alarms that are right: {self.precision:.3f} ({counts}): {each}"
        for title, chosen in (("paths", PATHS), ("commands", ("command",))):
            total = sum(self.stale[k] for k in chosen)
            yield f"stale {title} that were found: {self.recall(chosen):.3f} of {total}"
        yield f"right new place: {self.right_place} of {self.moved}"


PATHS = ("path", "file", "dir", "link", "fileline")


class _AsOf(ClaimChecker):
    """Takes every line as written at one commit."""

    written: HistoryCommit

    def _origins(self, note: CheckedNote, lines: set[str]) -> dict[str, HistoryCommit]:
        return dict.fromkeys(lines, self.written)


def rows() -> list[Row]:
    """The labelled set."""
    found = []
    for line in LABELLED.read_text(encoding="utf-8").splitlines():
        data = json.loads(line)
        data["held_out"] = data.pop("heldOut", False)
        found.append(Row(**data))
    return found


def place_of(repositories: Path, name: str) -> Path | None:
    """Where a repository lies, if it does."""
    plain = name.replace("/", "+", 1)
    places = (repositories / plain / "repo", repositories / f"{plain}.git", repositories / f"{name}.git")
    return next((place for place in places if place.exists()), None)


def check_as_written(
    place: Path, written: str, checked: str
) -> tuple[list[CheckedNote], list[CheckedClaim]] | None:
    """The notes of one commit checked against another one; None if that is no descendant within reach."""
    repository, then = ProjectRepository(place, checked), ProjectRepository(place, written)
    commit = repository.commit_of(written)
    if commit is None:
        return None
    checker = _AsOf(repository)
    checker.written = commit
    notes = []
    for path, (oid, mode) in sorted(then.now.files.items()):
        data = (
            then.blob(oid) if _NOTE.search(path) and not _SKIPPED.search(path) and mode != 0o120000 else None
        )
        if data:
            notes.append(CheckedNote(path, data.decode("utf-8", "replace"), path))
    return notes, checker.check(notes)


def measure(repositories: Path, labelled: Iterable[Row]) -> Tally:
    """The checker against the labels."""
    tally, groups = Tally(), defaultdict[tuple[str, str, str], list[Row]](list)
    for row in labelled:
        groups[row.repository, row.written, row.checked].append(row)
    for (name, written, checked), group in groups.items():
        place = place_of(repositories, name)
        done = check_as_written(place, written, checked) if place is not None else None
        if done is None:
            tally.wrong.append(f"{name} is not there")
            continue
        found = {(claim.path, claim.line, claim.token): claim for claim in done[1]}
        for row in group:
            _count(tally, row, found.get((row.note, row.line, row.token)))
    return tally


def _count(tally: Tally, row: Row, claim: CheckedClaim | None) -> None:
    state = claim.state.value if claim is not None else "unknown"
    is_stale, is_alarm = row.verdict in STALE, state in STALE
    tally.stale[row.kind] += is_stale
    tally.alarms[row.kind] += is_alarm
    tally.right[row.kind] += is_alarm and is_stale
    tally.found[row.kind] += is_alarm and is_stale
    if row.verdict == "moved" and is_alarm:
        tally.moved += 1
        to = claim.to if claim is not None else ""
        tally.right_place += to.rstrip("/") == row.to.rstrip("/")
    if is_stale != is_alarm:
        tally.wrong.append(f"{row.repository} {row.note}:{row.line} {row.token}: {state}, not {row.verdict}")


# What a part of the campaign says.


def measured(repositories: Path | None) -> tuple[list[str], bool]:
    """The whole labelled set, and the false alarms of projects that are well kept."""
    if repositories is None or not repositories.is_dir():
        return ["name a directory of bare repositories with --repositories"], False
    told, kept, known = list[str](), True, rows()
    for title, part in (
        ("all", known),
        ("held out", [row for row in known if row.held_out]),
    ):
        tally = measure(repositories, part)
        told += [f"{title}: {len(part)} statements of {len({row.repository for row in part})} repositories"]
        told += tally.lines()
        kept &= tally.precision >= 0.97 and tally.recall(PATHS) >= 0.9 and tally.recall(("command",)) >= 0.9
        kept &= tally.right_place >= 0.9 * tally.moved
    for name in WELL_KEPT:
        place = place_of(repositories, name)
        if place is not None:
            alarms, notes = _alarms_now(place)
            told.append(f"{name}: {len(alarms)} alarms in {notes} notes as they are now")
            told += [
                f"  {claim.path}:{claim.line} {claim.token} {claim.state} {claim.to}" for claim in alarms
            ]
    return told, kept


def _alarms_now(place: Path) -> tuple[list[CheckedClaim], int]:
    repository = ProjectRepository(place)
    notes = [
        CheckedNote(path, data.decode("utf-8", "replace"), path)
        for path, (oid, mode) in repository.now.files.items()
        if _NOTE.search(path) and not _SKIPPED.search(path) and mode != 0o120000
        if (data := repository.blob(oid))
    ]
    return [claim for claim in ClaimChecker(repository).check(notes) if claim.state.is_stale], len(notes)


# Candidates for labels.


def _git(place: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(place), *words], capture_output=True, check=False)
    return done.stdout.decode("utf-8", "surrogateescape")


def candidates(repositories: Path) -> Iterator[dict[str, object]]:
    """Statements of every repository with a note, as the checker and the `git` program see them."""
    for directory in sorted(repositories.glob("*+*/repo")):
        changed = _git(directory, "log", "--format=%H", "--first-parent", "--", *_NOTE_PATHS).split()
        checked = _git(directory, "rev-parse", "HEAD").strip()
        if not changed:
            continue
        written = changed[int(len(changed) * 0.55)]
        done = check_as_written(directory, written, checked)
        if done is None:
            continue
        then, now = (
            set(_git(directory, "ls-tree", "-r", "--name-only", at).splitlines()) for at in (written, checked)
        )
        endings = [
            {"/".join(parts[i:]) for parts in _with_parents(files) for i in range(len(parts))}
            for files in (then, now)
        ]
        for claim in done[1]:
            plain = claim.token.removeprefix("./").strip("/").partition(":")[0]
            yield {
                "repository": directory.parent.name.replace("+", "/", 1),
                "written": written,
                "checked": checked,
                "note": claim.path,
                "line": claim.line,
                "kind": claim.kind.value,
                "token": claim.token,
                "verdict": claim.state.value,
                "to": claim.to,
                "git": plain in endings[0] and plain not in endings[1],
            }


_NOTE_PATHS = ("*CLAUDE.md", "*AGENTS.md", "*GEMINI.md", ".serena/memories", "memory-bank")


def _with_parents(files: set[str]) -> Iterator[tuple[str, ...]]:
    for file in files:
        yield PurePosixPath(file).parts
    yield from {parent.parts for file in files for parent in PurePosixPath(file).parents if parent.parts}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", type=Path)
    parser.add_argument(
        "--candidates", type=Path, metavar="FILE", help="write what to label next, as JSON lines"
    )
    parser.add_argument("--wrong", action="store_true", help="list what differs from the labels")
    arguments = parser.parse_args()
    if arguments.candidates:
        with arguments.candidates.open("w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(one)}\n" for one in candidates(arguments.repositories))
        return 0
    told, kept = measured(arguments.repositories)
    if arguments.wrong:
        told += measure(arguments.repositories, rows()).wrong
    print("\n".join(told))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
