"""A home whose projects are real repositories below tmp_path, with orphaned stores."""

from __future__ import annotations

import json
from pathlib import Path

from reverie.agents.mux.names import project_dir_name

NOTE = "---\ndescription: How it is deployed\n---\n"


class LostHome:
    """`root` is the home, `work` where projects stand."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path / "home"
        self.work = tmp_path / "work"
        self.root.mkdir()
        self.work.mkdir()
        self.list()

    def list(self, *paths: Path | str) -> None:
        """What config.json lists from now on."""
        pairs = [[str(path), {"workspaces": []}] for path in paths]
        (self.root / "config.json").write_text(json.dumps({"projects": pairs}), encoding="utf-8")

    def repository(self, name: str, *, seed: str = "", remote: str = "", commits: int = 1) -> Path:
        """A repository; the same `seed` gives the same root commit."""
        import pygit2

        path = self.work / name
        path.mkdir(parents=True)
        repository = pygit2.init_repository(str(path))
        author = pygit2.Signature("A", "a@example.org", 1_700_000_000, 0)
        tree = repository.TreeBuilder().write()
        parents: list[pygit2.Oid] = []
        for number in range(commits):
            message = f"{seed or name} {number}"
            parents = [repository.create_commit("HEAD", author, author, message, tree, parents)]
        if remote:
            repository.remotes.create("origin", remote)
        repository.free()
        return path

    def store(self, project: Path | str, **files: str | bytes) -> Path:
        """A project's store; a file is named by its keyword, where `__` stands for a slash."""
        directory = self.root / "memory" / "project" / project_dir_name(str(project))
        self.fill(directory, **files)
        return directory

    @staticmethod
    def fill(directory: Path, **files: str | bytes) -> None:
        for name, content in files.items():
            file = directory / (name.replace("__", "/") + ".md")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
