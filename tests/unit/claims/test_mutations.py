"""Repositories that change under a note: what held and does not any more is stale, with its place and commit.

Each kind of change is made many times over with other names; the suite makes some, in a campaign
(`REVERIE_TEST_PROFILE=campaign`) there are more than three hundred.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from helpers.git_project import GitProject
from helpers.isolation import TEST_PROFILE
from reverie.claims.checking import CheckedClaim, CheckedNote, ClaimChecker
from reverie.claims.repository import ProjectRepository

ROUNDS = 16 if TEST_PROFILE == "campaign" else 2
NAME = "AGENTS.md"
_WORDS = ("order", "basket", "invoice", "ledger", "parser", "router", "worker", "signal", "vector", "bridge")


@dataclass
class Made:
    """A project of its own names, and what is expected of one claim."""

    project: GitProject
    random: random.Random
    token: str = ""
    state: str = ""
    to: str = ""
    subject: str = ""

    def word(self) -> str:
        return f"{self.random.choice(_WORDS)}{self.random.randrange(100, 999)}"

    def text(self, lines: int = 12) -> str:
        return "".join(f"{self.word()} = {self.random.random()}\n" for _ in range(lines))

    def note(self, line: str) -> str:
        return f"# Project\n\n{line}\n"

    def expect(self, token: str, state: str, to: str = "", subject: str = "") -> None:
        self.token, self.state, self.to, self.subject = token, state, to, subject


def renamed(made: Made) -> None:
    old, new = f"src/{made.word()}.py", f"src/{made.word()}.py"
    made.project.commit({old: made.text(), NAME: made.note(f"The entry is `{old}`.")})
    made.project.move(old, new, "Rename it")
    made.expect(old, "moved", new, "Rename it")


def renamed_and_edited(made: Made) -> None:
    old, new, body = f"src/{made.word()}.py", f"lib/{made.word()}.py", made.text(40)
    made.project.commit({old: body, NAME: made.note(f"See {old} first.")})
    made.project.commit({old: None, new: body + made.text(4)}, "Rework it")
    made.expect(old, "moved", new, "Rework it")


def deleted(made: Made) -> None:
    old = f"docs/{made.word()}.md"
    made.project.commit({old: made.text(), NAME: made.note(f"Read `{old}`.")})
    made.project.commit({f"src/{made.word()}.py": made.text()}, "Something else")
    made.project.commit({old: None}, "Drop the page")
    made.expect(old, "gone", "", "Drop the page")


def moved_twice(made: Made) -> None:
    old, middle, new = (f"{made.word()}/{made.word()}.ts" for _ in range(3))
    made.project.commit({old: made.text(), NAME: made.note(f"- `{old}`: the start")})
    made.project.move(old, middle, "First move")
    made.project.commit({f"{made.word()}.md": "x"})
    made.project.move(middle, new, "Second move")
    made.expect(old, "moved", new, "First move")


def moved_and_deleted(made: Made) -> None:
    old, middle = (f"{made.word()}/{made.word()}.ts" for _ in range(2))
    made.project.commit({old: made.text(), NAME: made.note(f"- `{old}`: the start")})
    made.project.move(old, middle, "Move")
    made.project.commit({middle: None}, "Drop")
    made.expect(old, "gone", "", "Move")


def directory_moved(made: Made) -> None:
    old, new = f"src/{made.word()}", f"packages/{made.word()}"
    files = {f"{old}/{made.word()}.py": made.text() for _ in range(5)}
    made.project.commit({**files, NAME: made.note(f"Handlers live in `{old}/`.")})
    gone, *_others = files
    made.project.commit({gone: None}, "Drop one")
    made.project.move(old, new, "Move them")
    made.expect(f"{old}/", "moved", new, "Move them")


def directory_deleted(made: Made) -> None:
    old = f"tools/{made.word()}"
    files = {f"{old}/{made.word()}.py": made.text() for _ in range(3)}
    made.project.commit({**files, "keep.py": "x", NAME: made.note(f"Helpers are in `{old}/`.")})
    made.project.commit(dict.fromkeys(files), "Drop the tools")
    made.expect(f"{old}/", "gone", "", "Drop the tools")


def tree_entry(made: Made) -> None:
    old, new = f"{made.word()}.py", f"{made.word()}.py"
    tree = f"```\nproject/\n├── src/\n│   ├── {old}   # start\n│   └── util.py\n└── README.md\n```"
    files = {f"src/{old}": made.text(), "src/util.py": made.text(), "README.md": "x"}
    made.project.commit({**files, NAME: made.note(tree)})
    made.project.move(f"src/{old}", f"src/{new}", "Rename")
    made.expect(old, "moved", f"src/{new}", "Rename")


def script_removed(made: Made) -> None:
    name, other = made.word(), made.word()
    package = json.dumps({"scripts": {name: "x", other: "y"}})
    made.project.commit({"package.json": package, NAME: made.note(f"```bash\nnpm run {name}\n```")})
    made.project.commit({"package.json": json.dumps({"scripts": {other: "y"}})}, "Fewer scripts")
    made.expect(f"npm run {name}", "gone", "", "Fewer scripts")


def script_renamed(made: Made) -> None:
    name, other = made.word(), made.word()
    made.project.commit(
        {
            "package.json": json.dumps({"scripts": {name: "vite build"}}),
            NAME: made.note(f"Run `pnpm {name}`."),
        }
    )
    made.project.commit({"package.json": json.dumps({"scripts": {other: "vite build"}})}, "Rename it")
    made.expect(f"pnpm {name}", "changed", f"pnpm {other}", "Rename it")


def target_removed(made: Made) -> None:
    name = made.word()
    made.project.commit(
        {"Makefile": f"{name}: x\n\techo\nall:\n\techo\n", NAME: made.note(f"- `make {name}`")}
    )
    made.project.commit({"Makefile": "all:\n\techo\n"}, "One target")
    made.expect(f"make {name}", "gone", "", "One target")


def version_bumped(made: Made) -> None:
    name, old, new = (
        made.word().rstrip("0123456789"),
        made.random.randrange(2, 9),
        made.random.randrange(10, 19),
    )
    package = json.dumps({"dependencies": {name: f"^{old}.2.1"}})
    made.project.commit({"package.json": package, NAME: made.note(f"Built with {name} {old}.")})
    made.project.commit({"package.json": json.dumps({"dependencies": {name: f"^{new}.0.0"}})}, "Bump")
    made.expect(f"{name} {old}", "changed", f"{name} {new}", "Bump")


def dependency_removed(made: Made) -> None:
    toml = '[project]\nname = "a"\ndependencies = ["%s==3.4.1", "httpx>=0.28"]\n'
    name = made.word().rstrip("0123456789")
    made.project.commit({"pyproject.toml": toml % name, NAME: made.note(f"- `{name}==3.4.1` for the wire")})
    made.project.commit({"pyproject.toml": toml % "other"}, "Without it")
    made.expect(f"{name}==3.4.1", "gone", "", "Without it")


def port_changed(made: Made) -> None:
    old, new = made.random.randrange(3000, 5000), made.random.randrange(6000, 9000)
    made.project.commit(
        {"app.py": f"import x\nx.run(port={old})\n", NAME: made.note(f"It listens on port {old}.")}
    )
    made.project.commit({"app.py": f"import x\nx.run(port={new})\n"}, "Another port")
    made.expect(str(old), "changed", str(new), "Another port")


def symbol_removed(made: Made) -> None:
    name = f"make_{made.word()}"
    made.project.commit({"a.py": f"def {name}():\n    pass\n", NAME: made.note(f"Call `{name}()`.")})
    made.project.commit({"a.py": "def other():\n    pass\n"}, "Another way")
    made.expect(name, "gone", "", "Another way")


def variable_removed(made: Made) -> None:
    name = f"APP_{made.word().upper()}"
    made.project.commit(
        {"a.py": f'import os\nos.environ["{name}"]\n', NAME: made.note(f"Set `{name}` first.")}
    )
    made.project.commit({"a.py": "import os\n"}, "No variable")
    made.expect(name, "gone", "", "No variable")


def line_moved(made: Made) -> None:
    lines = [f"value_{made.word()} = {i}" for i in range(30)]
    made.project.commit({"a.py": "\n".join(lines), NAME: made.note("The limit: `a.py:12`.")})
    made.project.commit({"a.py": "\n".join(["import os", "import sys", *lines])}, "Imports")
    made.expect("a.py:12", "moved", "a.py:14", "Imports")


def link_moved(made: Made) -> None:
    made.project.commit({"docs/a.md": made.text(), NAME: made.note("See [the page](docs/a.md#top).")})
    made.project.move("docs/a.md", "pages/b.md", "Pages")
    made.expect("docs/a.md", "moved", "pages/b.md", "Pages")


def _quiet(line: str) -> Callable[[Made], None]:
    def mutate(made: Made) -> None:
        path = f"src/{made.word()}.py"
        made.project.commit({path: made.text(), "x.py": "x", NAME: made.note(line.format(path))})
        made.project.commit({path: None}, "Drop")
        made.expect(path, "unknown")

    return mutate


def branch_only(made: Made) -> None:
    """What is on another branch alone never held here."""
    path = f"src/{made.word()}.py"
    made.project.commit({"x.py": "x"})
    before = dict(made.project.files)
    base = made.project.head()
    made.project.commit({path: made.text()}, "On a branch", base, branch="other")
    made.project.switch(before)
    made.project.commit({NAME: made.note(f"Later in `{path}`.")})
    made.expect(path, "unknown")


def merged(made: Made) -> None:
    """The commit on the branch is the evidence, not the merge."""
    path = f"src/{made.word()}.py"
    base = made.project.commit({path: made.text(), NAME: made.note(f"Start at `{path}`.")})
    before = dict(made.project.files)
    side = made.project.commit({path: None}, "Drop on a branch", base, branch="other")
    made.project.switch(before)
    main = made.project.commit({"y.py": "y"}, "Meanwhile")
    made.project.commit({path: None}, "Merge it", main, side)
    made.expect(path, "gone", "", "Drop on a branch")


def written_after(made: Made) -> None:
    """A line that was written once the file was gone says nothing that held."""
    path = f"src/{made.word()}.py"
    made.project.commit({path: made.text(), "x.py": "x"})
    made.project.commit({path: None})
    made.project.commit({NAME: made.note(f"Use `{path}`.")})
    made.expect(path, "unknown")


def ignored_now(made: Made) -> None:
    path = f"out/{made.word()}.json"
    made.project.commit({path: made.text(), "x.py": "x", NAME: made.note(f"Results are in `{path}`.")})
    made.project.commit({path: None, ".gitignore": "/out/\n"}, "Generated")
    made.expect(path, "unknown")


def came_back(made: Made) -> None:
    path, text = f"src/{made.word()}.py", made.text()
    made.project.commit({path: text, NAME: made.note(f"Use `{path}`.")})
    made.project.commit({path: None})
    made.project.commit({path: text})
    made.expect(path, "holds")


STALE = (
    *(
        renamed,
        renamed_and_edited,
        deleted,
        moved_twice,
        moved_and_deleted,
        directory_moved,
        directory_deleted,
    ),
    *(tree_entry, script_removed, script_renamed, target_removed, version_bumped, dependency_removed),
    *(port_changed, symbol_removed, variable_removed, line_moved, link_moved, merged),
)
QUIET: dict[str, Callable[[Made], None]] = {
    "negated": _quiet("Do not use `{}`."),
    "gone in words": _quiet("The old `{}` was removed."),
    "german": _quiet("`{}` gibt es nicht mehr, es wurde entfernt."),
    "japanese": _quiet("`{}` は削除されました"),
    "planned": _quiet("- [ ] write `{}`"),
    "to be": _quiet("The parser will be moved into `{}`."),
    "arrow": _quiet("`{}` -> `src/elsewhere.py`"),
    "dated": _quiet("- 2026-01-02: wrote `{}`"),
    "log section": _quiet("## Changelog\n\n- `{}` with a parser"),
    "next steps": _quiet("## Next steps\n\n- cover `{}`"),
    "list of what is gone": _quiet("Removed files:\n\n- `{}`\n"),
    "struck out": _quiet("~~`{}`~~"),
}
UNKNOWN = (branch_only, written_after, ignored_now)


def check(project: GitProject) -> list[CheckedClaim]:
    repository = ProjectRepository(project.path)
    text = repository.text_at(None, NAME) or ""
    return ClaimChecker(repository).check([CheckedNote(NAME, text, NAME)])


def made_by(mutate: Callable[[Made], None], tmp_path: Path, seed: int) -> tuple[Made, CheckedClaim]:
    made = Made(GitProject(tmp_path / "project"), random.Random(f"{mutate.__name__}{seed}"))
    mutate(made)
    (claim,) = [one for one in check(made.project) if one.token == made.token]
    return made, claim


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("mutate", STALE, ids=lambda one: one.__name__)
def test_what_held_and_does_not_any_more_is_told(
    mutate: Callable[[Made], None], seed: int, tmp_path: Path
) -> None:
    made, claim = made_by(mutate, tmp_path, seed)
    assert (claim.state, claim.to) == (made.state, made.to)
    assert claim.evidence is not None
    assert claim.evidence.subject == made.subject


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("name", QUIET)
def test_what_a_note_only_tells_of_raises_no_alarm(name: str, seed: int, tmp_path: Path) -> None:
    made, claim = made_by(QUIET[name], tmp_path, seed)
    assert claim.state == made.state


@pytest.mark.parametrize("mutate", [*UNKNOWN, came_back], ids=lambda one: one.__name__)
def test_what_never_held_or_holds_again_is_not_stale(mutate: Callable[[Made], None], tmp_path: Path) -> None:
    made, claim = made_by(mutate, tmp_path, 0)
    assert claim.state == made.state
    assert claim.evidence is None


@pytest.mark.parametrize(
    "token",
    [
        "src/<name>.py",
        "path/to/file.py",
        "src/*.py",
        "~/x.py",
        "/usr/bin/env.py",
        "../other/a.py",
        "src/foo.py",
    ],
)
def test_placeholders_and_other_places_are_no_claims(token: str, tmp_path: Path) -> None:
    project = GitProject(tmp_path / "project")
    project.commit({"src/foo.py": "x", NAME: f"Use `{token}` here.\n"})
    project.commit({"src/foo.py": None, "src/b.py": "y"})
    assert [claim for claim in check(project) if claim.state.is_stale] == []


def test_a_submodule_says_nothing(tmp_path: Path) -> None:
    project = GitProject(tmp_path / "project")
    project.commit({"vendor/lib/a.py": "x = 1\n" * 20, NAME: "Read `vendor/lib/a.py`.\n"})
    project.commit({"vendor/lib/a.py": None, "x.py": "x"})
    project.entry("vendor/lib", "1" * 40, 0o160000)
    (claim,) = check(project)
    assert claim.state == "unknown"
