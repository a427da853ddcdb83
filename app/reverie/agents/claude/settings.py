"""The settings and instruction files of Claude Code for a working directory.

Settings (formats/claude-code.md sections 12.1.9 and 12.1.10) are read from these files, the strongest first:
the administrator's, the project's local file, the project's shared file, the user's. `settings.local.json` in
the agent's home is not read. Each file may have an `env` block; its variables take precedence over those of
the process, but a project may not use them to choose the memory directory.

Reverie does not use a memory directory that also contains transcripts, credentials or a whole disk, because
it would treat every file in it as a memory. A repository is written by others, so a directory from its own
settings must also be inside the checkout, with links resolved. The agent itself does use such directories,
and `refused` reports this.

Instruction files (formats/claude-code.md sections 7 and 12.1) are listed in the order in which the agent
loads them:

1. the files of administrators and of the user, which are loaded for every project;
2. the files from the root of the disk down to the working directory;
3. the memories of sub-agents in the project.

- Later files take precedence.
- Imports are listed after the file that imports them, at most four levels deep, each file once.
- `AGENTS.md` is loaded only if no CLAUDE file of a project has content.
- Of the main checkout around a nested worktree, only `CLAUDE.local.md` is loaded.
- Rules are listed in the order in which the system lists their directory; symlinks in it are resolved.
- Files of a project belong to its repository, so they are outside of the home.
- System files and credentials are neither listed nor opened, even if a file imports or links to them.
- An import from outside of the project is listed but not opened.

Threading: any thread but the GUI's. Failure: a file that cannot be read counts as missing and imports
nothing; `settings_problems` names broken files of the home.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from reverie.agents.base import Companion, Loading
from reverie.agents.capabilities import FailedImport
from reverie.agents.claude.instruction_text import (
    Mention,
    is_limited,
    loaded_text,
    may_be_imported,
    mentions_in,
    why_not_imported,
)
from reverie.agents.never_opened import CREDENTIAL, UNAPPROVED, may_be_named, never_opened
from reverie.agents.path_patterns import Glob
from reverie.agents.reading import as_object, cached_until_changed, file_names, is_entry, read_json, texts_of
from reverie.agents.scopes import Scope
from reverie.errors import UserError
from reverie.files.atomic import atomic_write
from reverie.files.directory import (
    is_directory,
    is_file,
    is_link,
    is_there,
    read_regular,
    real_path,
    walk_paths,
)
from reverie.values import Struct

_POINTER_BYTES = 16 << 10
_CACHE_BYTES = 4 << 20
_MOST_KEPT = 5_000


class Machine(Struct, frozen=True):
    """The environment variables and directories of this machine that Claude Code reads."""

    env: Mapping[str, str]
    home_dir: Path
    """The user's home directory."""
    managed: Path
    """The directory of an administrator's settings and instructions."""

    @classmethod
    def this(cls) -> Machine:
        """Return the values of this machine and of the person who runs Reverie."""
        home = os.path.expanduser("~")  # noqa: PTH111 - Path.home raises where there is no user
        return cls(os.environ, Path(home), managed_directory())


def managed_directory() -> Path:
    """Return the directory of an administrator's settings and instructions on this system."""
    if sys.platform == "darwin":
        return Path("/Library/Application Support/ClaudeCode")
    if sys.platform == "win32":
        return Path("C:/Program Files/ClaudeCode")
    return Path("/etc/claude-code")


def canonical_root(cwd: str) -> str:
    """Return the root of the repository that contains `cwd`; for a worktree, the main checkout's root.

    Outside of a repository, and for a missing directory, the directory itself is returned. Git is not run:
    only `.git` is read, and for a worktree the two small files that lead to the main checkout. A worktree is
    accepted only if the repository lists it as well, so that no file in a checkout can redirect Reverie to
    the memory of another project (formats/claude-code.md sections 2 and 12.1.11).
    """
    path = Path(cwd)
    found = _checkout(path) if path.is_absolute() and is_directory(path) else None
    return cwd if found is None else found[1] or str(found[0])


def _checkout(path: Path) -> tuple[Path, str | None] | None:
    """Return the checkout around `path`, and its main repository if it is a worktree; None for none."""
    for place in (path, *path.parents):
        git = place / ".git"
        if is_directory(git):
            return place, None
        if is_file(git):
            return place, _of_worktree(place, git)
    return None


class NestedWorktree(Struct, frozen=True):
    """A worktree that lies inside the main checkout of its own repository."""

    root: Path
    """The worktree."""
    main: Path
    """The main checkout."""

    def hides(self, place: Path) -> bool:
        """Return whether `place` is in the main checkout and not in the worktree.

        The agent does not load the repository's files from such a place, because the worktree has a copy.
        """
        return place.is_relative_to(self.main) and not place.is_relative_to(self.root)


def nested_worktree(cwd: str) -> NestedWorktree | None:
    """Return the worktree that contains `cwd` if it lies inside its main checkout; None otherwise."""
    place, main = _checkout(Path(cwd)) or (Path(cwd), None)
    if main is None or not place.is_relative_to(main) or str(place) == main:
        return None
    return NestedWorktree(place, Path(main))


class Checkouts:
    """The repository roots of working directories.

    Roots of worktrees are stored in `file` (None: not stored), because the repository of a removed worktree
    cannot be found any more.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._kept: dict[str, str] | None = None

    def root(self, cwd: str) -> str:
        """Return the repository root of the working directory `cwd`, as `canonical_root` does.

        For a worktree that was removed, returns the root that it had.
        """
        if is_directory(Path(cwd)):
            root = canonical_root(cwd)
            if not Path(cwd).is_relative_to(root):
                self.keep(cwd, root)
            return root
        with self._lock:
            kept = self._all().get(cwd)
        return kept or _root_by_place(cwd) or cwd

    def keep(self, cwd: str, root: str) -> None:
        """Store `root` as the repository root of the worktree `cwd`."""
        with self._lock:
            kept = self._all()
            if kept.get(cwd) == root:
                return
            kept.pop(cwd, None)
            kept[cwd] = root
            for oldest in list(kept)[: max(0, len(kept) - _MOST_KEPT)]:
                del kept[oldest]
            if self._file is not None:
                with contextlib.suppress(OSError, UserError):  # it is learned again
                    self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                    atomic_write(self._file, json.dumps(kept, indent=0).encode(), mode=0o600)

    def _all(self) -> dict[str, str]:
        if self._kept is None:
            data: object = None
            if self._file is not None:
                with contextlib.suppress(OSError, ValueError):
                    data = read_json(self._file, _CACHE_BYTES)
            self._kept = {cwd: root for cwd, root in as_object(data).items() if isinstance(root, str)}
        return self._kept


def _root_by_place(cwd: str) -> str:
    """Return the repository of `cwd`, a removed worktree that the agent made in `.claude/worktrees/`.

    Empty for any other directory.
    """
    path = Path(cwd)
    for place in (path, *path.parents):
        if place.parent.name == "worktrees" and place.parent.parent.name == ".claude":
            main = place.parent.parent.parent
            return canonical_root(str(main)) if os.path.lexists(main / ".git") else ""
    return ""


def _of_worktree(place: Path, git: Path) -> str | None:
    """Return the main repository of the worktree `place`; None for anything else, such as a submodule.

    `git`: the file `.git` in it. A worktree only counts if its repository refers back to it.
    """
    pointer = _line(git)
    if not pointer.startswith("gitdir:"):
        return None
    own = Path(real_path(place / pointer.removeprefix("gitdir:").strip()))
    common_line, back = _line(own / "commondir"), _line(own / "gitdir")
    if not common_line or not back:
        return None
    common = Path(real_path(own / common_line))
    if own.parent != common / "worktrees" or real_path(own / back) != real_path(git):
        return None
    return str(common.parent) if common.name == ".git" else str(common)


def _line(path: Path) -> str:
    try:
        text = read_regular(path, _POINTER_BYTES).decode("utf-8", "surrogateescape").strip()
    except OSError:
        return ""
    return "" if "\0" in text else text


_SETTINGS_BYTES = 4 << 20
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_MOST_PATTERNS = 500
_LONGEST_PATTERN = 1_000

PATH_OVERRIDE = "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"
REMOTE_BASE = "CLAUDE_CODE_REMOTE_MEMORY_DIR"
_DISABLE = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
_NOTHING = ("CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_DISABLE_CLAUDE_MDS")
"""Environment variables that keep the agent from loading any file, both instructions and memory."""
_NOT_BY_PROJECTS = frozenset({PATH_OVERRIDE, REMOTE_BASE})
_REFUSED = (
    "{source} names {directory} for the memories, and Claude Code uses this directory. Reverie shows "
    "the default place, because {why}. {advice}"
)
_ADVICE = "Set a directory that contains only memories."
_OUTSIDE = "a file in the project names the directory, and it is outside the project"
_WHOLE = "it contains the project's own files"
_ADVICE_INSIDE = "Set a directory inside the project, or set one in your own settings.json."


class MemorySettings(Struct, frozen=True):
    """The settings about the memory of one working directory."""

    directory: Path | None = None
    """The directory for the memory; None: the default."""
    off: str = ""
    """The reason why the memory is off, in a few words; empty if it is on."""
    refused: str = ""
    """A message about a setting that the agent uses but Reverie does not; empty if there is none."""
    source: str = ""
    """The setting that names `directory`; empty if there is none."""
    by_project: bool = False
    """Whether a file in the project itself names the directory, even if Reverie does not use it."""


class _File(Struct, frozen=True):
    path: Path
    data: Mapping[str, Any]
    of_project: bool


def memory_settings(config: Path, cwd: str | None, machine: Machine) -> MemorySettings:
    """Return the memory settings for the working directory `cwd`; None: those that apply everywhere.

    `config`: the agent's home. `machine`: the environment and the directories outside of the home.
    """
    files = list(_files(config, cwd, machine))
    env = _environment(files, machine)
    directory, source, by_project = _absolute(env.get(PATH_OVERRIDE), machine.home_dir), PATH_OVERRIDE, False
    for file in files:
        if directory is None:
            directory = _absolute(file.data.get("autoMemoryDirectory"), machine.home_dir)
            source, by_project = f"autoMemoryDirectory in {file.path}", file.of_project
    off = _off(env, files)
    if directory is None:
        return MemorySettings(None, off)
    why, advice = _why_not(directory, config), _ADVICE
    if not why and by_project and cwd is not None:
        why, advice = _why_not_by_project(directory, cwd, machine), _ADVICE_INSIDE
    if why:
        refused = _REFUSED.format(source=source, directory=directory, why=why, advice=advice)
        return MemorySettings(None, off, refused, by_project=by_project)
    return MemorySettings(directory, off, "", source, by_project)


_NO_COMPACTION = ("DISABLE_COMPACT", "DISABLE_AUTO_COMPACT")


def keeps_no_notes(config: Path, cwd: str | None, machine: Machine) -> Literal["", "remote", "no-compaction"]:
    """Return the reason why the agent writes no session notes in a working directory; empty if it does.

    It writes none if it runs remotely, or if automatic compaction, for which the notes are made, is off.
    `config`: the agent's home. `cwd`: the working directory; None: only the settings of the administrator and
    the user are read. `machine`: the environment and the directories outside of the home.
    """
    files = list(_files(config, cwd, machine))
    env = _environment(files, machine)
    if env.get("CLAUDE_CODE_REMOTE", "").strip().lower() in _TRUE:
        return "remote"
    if any(env.get(name, "").strip().lower() in _TRUE for name in _NO_COMPACTION):
        return "no-compaction"
    said = (file.data.get("autoCompactEnabled") for file in files)
    return "no-compaction" if next((each for each in said if isinstance(each, bool)), True) is False else ""


def loads_nothing(config: Path, cwd: str | None, machine: Machine) -> str:
    """Return the name of an environment variable that turns off loading of all instructions, or "".

    `config`: the agent's home. `cwd`: the working directory; None: only the settings of the administrator and
    the user are read. `machine`: the environment and the directories outside of the home.
    """
    env = _environment(list(_files(config, cwd, machine)), machine)
    return next((name for name in _NOTHING if env.get(name, "").strip().lower() in _TRUE), "")


def excluded_patterns(config: Path, cwd: str | None, machine: Machine) -> tuple[PathPattern, ...]:
    """Return `claudeMdExcludes` of every settings file: patterns of absolute paths that are never loaded.

    `config`: the agent's home. `cwd`: the working directory; None: only the settings of the administrator and
    the user are read. `machine`: the directories outside of the home.
    """
    found: dict[str, None] = {}
    for file in _files(config, cwd, machine):
        found.update(dict.fromkeys(filter(None, texts_of(file.data.get("claudeMdExcludes")))))
    return tuple(PathPattern(each) for each in list(found)[:_MOST_PATTERNS])


def settings_files(config: Path, cwd: str | None, machine: Machine) -> tuple[Path, ...]:
    """Return the paths of the settings files, the strongest first; they need not exist.

    `config`: the agent's home. `cwd`: the working directory; None: only the files of the administrator and
    the user. `machine`: the directories outside of the home.
    """
    parts = machine.managed / "managed-settings.d"
    managed = [parts / name for name in reversed(file_names(parts, [])) if name.endswith(".json")]
    found = [*managed, machine.managed / "managed-settings.json"]
    if cwd:
        found += [Path(cwd) / ".claude" / name for name in ("settings.local.json", "settings.json")]
    return (*found, config / "settings.json")


def settings_problems(config: Path) -> tuple[str, ...]:
    """Return a message if the settings in the home `config` cannot be read, else an empty tuple."""
    try:
        read_json(config / "settings.json", _SETTINGS_BYTES)
    except FileNotFoundError:
        return ()
    except OSError as error:
        return (f"settings.json cannot be read: {error.strerror or error}.",)
    except ValueError as error:
        return (f"settings.json is not valid JSON: {error}.",)
    return ()


def memory_base(config: Path, machine: Machine) -> Path:
    """Return the directory that contains `projects/` with the memories.

    This is the agent's home, `config`, unless the environment of a session names another directory.
    `machine`: the environment without the agent's settings, and the directories outside of the home.
    """
    env = _environment(list(_files(config, None, machine)), machine)
    return Path(env[REMOTE_BASE]) if env.get(REMOTE_BASE) else config


class PathPattern:
    """A pattern from settings, for whole absolute paths; the syntax is that of `Glob`.

    With `!` in front it matches everything else. An invalid or very long one matches nothing.
    """

    def __init__(self, pattern: str) -> None:
        self._negated = pattern.startswith("!") and not pattern.startswith("!(")
        self._glob: Glob | None = None
        if len(pattern) <= _LONGEST_PATTERN:
            with contextlib.suppress(ValueError):
                self._glob = Glob(pattern[1:] if self._negated else pattern)

    def matches(self, path: str) -> bool:
        """Return whether the pattern matches this path."""
        return self._glob is not None and self._glob.matches(path) is not self._negated


def _files(config: Path, cwd: str | None, machine: Machine) -> Iterator[_File]:
    user = config / "settings.json"
    for path in settings_files(config, cwd, machine):
        try:
            data = read_json(path, _SETTINGS_BYTES)
        except (OSError, ValueError):
            continue
        if isinstance(data, dict):
            inside = cwd is not None and path.is_relative_to(cwd) and path != user
            yield _File(path, data, inside)


def _environment(files: list[_File], machine: Machine) -> dict[str, str]:
    """Return the environment of a session: that of `machine`, overridden by `env` in the settings `files`.

    `files` are in the order of strength; the values of stronger settings override those of weaker ones.
    """
    env = dict(machine.env)
    for file in reversed(files):
        for name, value in as_object(file.data.get("env")).items():
            if file.of_project and name in _NOT_BY_PROJECTS:
                continue
            if isinstance(value, bool):
                env[name] = "true" if value else "false"
            elif isinstance(value, (str, int, float)):
                env[name] = str(value)
    return env


def _off(env: Mapping[str, str], files: list[_File]) -> str:
    switch = env.get(_DISABLE, "").strip().lower()
    if switch in _TRUE:
        return f"{_DISABLE} is set"
    for name in _NOTHING:
        if env.get(name, "").strip().lower() in _TRUE:
            return f"{name} is set"
    if env.get("CLAUDE_CODE_REMOTE", "").strip().lower() in _TRUE and not env.get(REMOTE_BASE):
        return "the agent runs remotely without a memory directory"
    for file in files:
        enabled = file.data.get("autoMemoryEnabled")
        if isinstance(enabled, bool):
            # A variable that denies switching it off outranks the setting.
            return "" if enabled or switch in _FALSE else f"autoMemoryEnabled is false in {file.path.name}"
    return ""


def _why_not(directory: Path, config: Path) -> str:
    """Return the reason why Reverie does not accept a directory for memories; empty if it does.

    `config`: the agent's home.
    """
    if len(directory.parts) <= 2:
        return "everything below this directory would be treated as a memory"
    if never_opened(directory / "x", _real(directory) / "x"):
        return "it contains credentials or system files"
    place, home = _real(directory), _real(config)
    projects = home / "projects"
    inside = place.is_relative_to(projects) and "memory" not in place.relative_to(projects).parts[1:2]
    return "it contains transcripts" if inside or home.is_relative_to(place) else ""


def _why_not_by_project(directory: Path, cwd: str, machine: Machine) -> str:
    """Return the reason to refuse a memory directory that a file in the project names; empty for none.

    The directory must lie inside the checkout or repository of the working directory `cwd`.
    """
    real, user, here = _real(directory), _real(machine.home_dir), Path(cwd)
    checkout = next((place for place in (here, *here.parents) if is_there(place / ".git")), here)
    places = {_real(place) for place in (here, checkout, canonical_root(cwd))}
    # A checkout around the user's directory, as some keep their dotfiles, would make everything "inside".
    roots = [root for root in places if not user.is_relative_to(root)]
    inside = [real.relative_to(root) for root in roots if real.is_relative_to(root)]
    if not inside:
        return _OUTSIDE
    # The checkout itself, what is around the working directory, and git's own files are no memories.
    if any(root.is_relative_to(real) for root in roots) or any(".git" in rel.parts for rel in inside):
        return _WHOLE
    return ""


def _real(path: Path | str) -> Path:
    return Path(os.path.normcase(real_path(path)))


def _absolute(value: object, home_dir: Path) -> Path | None:
    """Return the value of a setting as an absolute directory, `..` resolved; None if it is no absolute path.

    `~/` at its beginning stands for `home_dir`.
    """
    if not isinstance(value, str) or "\0" in value or value in ("", "~", "~/"):
        return None
    path = home_dir / value[2:] if value.startswith("~/") else Path(value)
    return Path(os.path.normpath(path)) if path.is_absolute() else None


DEEPEST = 4
"""Maximum depth of imports."""
MOST_BYTES = 4 << 20
"""Maximum size of a file in bytes; a larger file is not loaded at all."""
_MOST_FILES = 1000
_MOST_JUDGED = 500
"""Maximum number of mentions in one file that are checked for failed imports."""
_CLAUDE = ("CLAUDE.md", ".claude/CLAUDE.md")
_AGENTS = ("AGENTS.md", ".claude/AGENTS.md")
_LOCAL = "CLAUDE.local.md"

_SOME_FILES = "Loaded only for the files that its front matter names."
_APPROVED = (
    "Outside the project: loaded only if approved. Claude Code asks once and stores your choice in a "
    "file that Reverie never opens."
)
_MANAGED = "Set by an administrator for all users of this computer."
_REPOSITORY = "Belongs to the project's repository, so other people may receive your change."
_PRIVATE = "In the project, but private to this computer."
_NO_CLAUDE = "Loaded because the project has no CLAUDE.md with content."
_A_CLAUDE = "Not loaded: Claude Code reads AGENTS.md only if the project has no CLAUDE.md with content."
_EXCLUDED = "Not loaded: excluded by claudeMdExcludes in the settings."
_TOO_LARGE = "Not loaded: it is larger than 4 MB."
_NOTES_UNUSED = "Current versions of Claude Code do not write or read session notes."
_ONE_AGENT = "Only this subagent reads the file."


def companions(
    config: Path, cwd: str | None, machine: Machine, added: Sequence[Path] = ()
) -> tuple[Companion, ...]:
    """Return every existing instruction file, and the usual ones (such as CLAUDE.md) even if missing.

    `config`: the agent's home. `cwd`: the working directory; None if there is none or it is unknown.
    `machine`: the environment and the directories outside of the home. `added`: the directories that a
    session gets by `--add-dir`, if CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD makes their files count.
    """
    return tuple(_ordered(config, cwd, machine, added, judging=False).found)


def failed_imports(config: Path, cwd: str | None, machine: Machine) -> tuple[FailedImport, ...]:
    """Return the imports that load nothing, in the instruction files of a working directory.

    `config`: the agent's home. `cwd`: the working directory; None: only the files of the administrator and
    the user are read. `machine`: the environment and the directories outside of the home.
    """
    return tuple(_ordered(config, cwd, machine, (), judging=True).failed)


def _ordered(
    config: Path, cwd: str | None, machine: Machine, added: Sequence[Path], *, judging: bool
) -> _Order:
    """Return the instruction files in the order in which they are loaded.

    `config`: the agent's home. `cwd`: the working directory; None: without the files of a project. `machine`:
    the environment and the directories outside of the home. `added`: more directories whose files are loaded
    (`--add-dir`). `judging`: whether to collect also the imports that load nothing, in `failed` of the
    result.
    """
    order = _Order(config, machine, Path(cwd) if cwd else None, judging=judging)
    order.add(
        _Origin(Scope.GLOBAL, _MANAGED, "managed"), machine.managed / "CLAUDE.md", "CLAUDE.md (managed)"
    )
    order.add_rules(_Origin(Scope.GLOBAL, _MANAGED, "managed"), machine.managed / ".claude" / "rules")
    user = _Origin(Scope.GLOBAL, "", "user")
    order.add(user, config / "CLAUDE.md", "CLAUDE.md", expected=True)
    order.add_rules(user, config / "rules")
    for name in ("template.md", "prompt.md"):
        path = config / "session-memory" / "config" / name
        order.add_unread(Scope.GLOBAL, path, path.relative_to(config).as_posix(), _NOTES_UNUSED)
    if cwd and is_directory(Path(cwd)):
        order.add_project(Path(cwd), added)
    for name, note in (("agent-memory", _REPOSITORY), ("agent-memory-local", _PRIVATE)):
        closed: list[OSError] = []
        for path in _notes_in(Path(cwd) / ".claude" / name, closed) if cwd else ():
            order.add_unread(Scope.PROJECT, path, order.called(path), f"{_ONE_AGENT} {note}")
        for error in closed:
            order.add_closed(Scope.PROJECT, error)
    return order


class _Origin(Struct, frozen=True):
    """The owner of an instruction file; it decides which imports and links of the file are followed."""

    scope: Scope
    note: str
    """A note, for a person, that is shown with each file of this owner; may be empty."""
    kind: str
    """The kind of the owner.

    `managed`: imports are ignored, and no setting excludes the file. `user`: imports and links may lead
    anywhere. `project`: they may lead only into the working directory.
    """


class _Version(Struct, frozen=True):
    """The parts of an instruction file's text that decide which files the agent loads."""

    mentions: tuple[Mention, ...] = ()
    """The paths after an `@` in the text."""
    limited: bool = False
    """Whether the text is a rule for some files only."""
    empty: bool = True
    """Whether the agent loads nothing of the text."""


class _Order:
    """A collector of instruction files in loading order: each file once, followed by its imports.

    The files are in `found`, failed imports in `failed`.
    """

    def __init__(self, config: Path, machine: Machine, cwd: Path | None, *, judging: bool) -> None:
        """Create a collector without files.

        `config`: the agent's home. `cwd`: the working directory; None: no project. `machine`: the
        environment and the directories outside of the home. `judging`: whether to collect, in `failed`, the
        imports that load nothing.
        """
        self.found: list[Companion] = []
        self.failed: list[FailedImport] = []
        self._judging = judging
        self._machine = machine
        self._config = config
        self._cwd = cwd
        self._seen: set[str] = set()
        self._excluded = excluded_patterns(config, None if cwd is None else str(cwd), machine)

    def add_project(self, cwd: Path, added: Sequence[Path]) -> None:
        nested = nested_worktree(str(cwd))
        places = (*reversed(cwd.parents), cwd)
        shown = [place for place in places if nested is None or not nested.hides(place)]
        shared, private = (_Origin(Scope.PROJECT, note, "project") for note in (_REPOSITORY, _PRIVATE))
        speaks = any(self._says_something(place / name) for place in shown for name in _CLAUDE) or any(
            self._says_something(place / _LOCAL) for place in places
        )
        began = len(self.found)
        for place in places:
            if place in shown:
                own = place == cwd
                for name in _CLAUDE:
                    self.add(shared, place / name, expected=own and name == _CLAUDE[0])
                self.add_rules(shared, place / ".claude" / "rules")
                for name in _AGENTS:
                    self._add_agents(shared, place / name, speaks=speaks)
            self.add(private, place / _LOCAL, expected=place == cwd)
        if not speaks:
            self.found[began:] = _agents_first(self.found[began:])
        for place in added:
            for name in _CLAUDE:
                self.add(shared, place / name)
            self.add_rules(shared, place / ".claude" / "rules")
            self.add(private, place / _LOCAL)

    def add(
        self,
        origin: _Origin,
        path: Path,
        label: str = "",
        *,
        expected: bool = False,
        note: str = "",
        depth: int = 0,
        rule: bool = False,
    ) -> None:
        """Add a file and its imports.

        `origin`: the owner of the file. `label`: the name for display; empty: the short path that `called`
        returns. `expected`: add the file even if it does not exist. `note`: a note for a person; empty: the
        note of `origin`. `depth`: the number of imports that lead to the file. `rule`: whether it is a
        rule file, which may be loaded for some files only.
        """
        there = is_file(path)
        real = real_path(path)
        if not (there or expected):
            return
        if there and origin.kind == "project" and self._name_credential(origin, path, real):
            return
        if self._is_taken(path, real):
            return
        self._seen.add(real)
        label = label or self.called(path)
        version, loading, why = self._judge(origin, path, rule=rule)
        parts = (why, note, origin.note if not note else "")
        words = " ".join(part for part in parts if part)
        self.found.append(Companion(origin.scope, path, label, there, words, loading=loading))
        if not there or loading in ("excluded", "too-large"):
            return
        for number, mention in enumerate(version.mentions):  # those of a rule for some files count, too
            if self._judging and number < _MOST_JUDGED:
                self._note_failure(path, label, mention, too_deep=depth >= DEEPEST)
            if depth < DEEPEST and not mention.joined:
                self._import(origin, label, self._target(path, mention.target), depth + 1)

    def _note_failure(self, path: Path, label: str, mention: Mention, *, too_deep: bool) -> None:
        """Record a mention of a file if it is an import that loads nothing.

        `path`, `label`: the path and displayed name of the file with the mention. `too_deep`: whether the
        mention is at a level of imports that the agent does not load.
        """

        def is_there(target: str) -> bool:
            return is_file(self._target(path, target))

        problem = why_not_imported(mention, is_there, too_deep=too_deep)
        if problem is not None and len(self.failed) < _MOST_FILES:
            self.failed.append(FailedImport(path, label, f"@{mention.target}", problem, mention.line))

    def _name_credential(self, origin: _Origin, path: Path, real: str) -> bool:
        """Return True if a project file may hold credentials, and list it without opening it.

        `origin`: the owner of the file. `real`: `path` with symlinks resolved. For any other file, returns
        False and does nothing.
        """
        resolved = Path(real)
        if real in self._seen or not never_opened(path, resolved) or not may_be_named(path, resolved):
            return False
        if not self._inside(resolved):
            return False
        self._seen.add(real)
        self._list(origin.scope, path, CREDENTIAL, "unopened", unopened=CREDENTIAL)
        return True

    def add_rules(self, origin: _Origin, directory: Path) -> None:
        """Add to `found` every rule file in a directory and below, in the order that the system lists.

        `origin`: the owner of the files.
        """
        if self._excludes(origin, directory):
            return
        if is_link(directory):
            directory = Path(real_path(directory))
            if origin.kind == "project" and not self._inside(directory):
                return
        self._add_rules(origin, directory, {})

    def add_unread(self, scope: Scope, path: Path, label: str, note: str) -> None:
        """Add an existing file that is not loaded as an instruction file.

        Another part of the agent reads it, or nothing does in present versions; `note` explains this. `scope`
        and `label`: the scope and the name under which the file is shown.
        """
        real = real_path(path)
        if is_file(path) and not self._is_taken(path, real):
            self._seen.add(real)
            self._list(scope, path, note, "elsewhere", label=label)

    def add_closed(self, scope: Scope, error: OSError) -> None:
        """Add to the result, `found`, an entry for a folder that could not be listed.

        `error`: the error that the system reported; `error.filename` is the folder, and the entry shows the
        reason. `scope`: the scope under which the entry is shown. Nothing is added for a missing folder, or
        once there are `_MOST_FILES` entries.
        """
        if isinstance(error, FileNotFoundError | NotADirectoryError) or len(self.found) >= _MOST_FILES:
            return
        path = Path(error.filename)
        why = f"This folder cannot be read: {error.strerror}."
        self._list(scope, path, why, "unopened", unopened=why)

    def _list(
        self, scope: Scope, path: Path, note: str, loading: Loading, *, label: str = "", unopened: str = ""
    ) -> None:
        """Add the entry of an existing file that is not loaded at the start; its name is `label` or short."""
        name = label or self.called(path)
        self.found.append(Companion(scope, path, name, True, note, loading=loading, unopened=unopened))

    def called(self, path: Path) -> str:
        """Return a path for display: relative to the working directory or the home of the agent or user."""
        for place, before in ((self._cwd, ""), (self._config, ""), (self._machine.home_dir, "~/")):
            if place is not None and path.is_relative_to(place):
                return before + path.relative_to(place).as_posix()
        return str(path)

    def _add_agents(self, origin: _Origin, path: Path, *, speaks: bool) -> None:
        if not speaks:
            self.add(origin, path, note=f"{_NO_CLAUDE} {_REPOSITORY}")
            return
        real = real_path(path)
        if is_file(path) and not self._is_taken(path, real):
            # A CLAUDE.md may import it or be a link to it: whatever comes later may still load it.
            self._list(origin.scope, path, _A_CLAUDE, "replaced")

    def _import(self, origin: _Origin, label: str, target: Path, depth: int) -> None:
        if origin.kind == "managed" or not may_be_imported(target.name) or not is_file(target):
            return
        if origin.kind == "project" and not self._inside(target):
            real = real_path(target)
            if not self._is_taken(target, real):
                self._seen.add(real)
                note = f"Imported by {label}. {_APPROVED}"
                self._list(origin.scope, target, note, "approval", unopened=UNAPPROVED)
            return
        self._forget_unread(target)
        self.add(origin, target, note=f"Imported by {label}.", depth=depth)

    def _forget_unread(self, path: Path) -> None:
        """Remove the "not loaded" entry of an AGENTS.md that is loaded after all."""
        self.found = [each for each in self.found if each.loading != "replaced" or each.path != path]

    def _add_rules(self, origin: _Origin, directory: Path, visited: dict[str, None]) -> None:
        real = real_path(directory)
        if real in visited or len(self.found) >= _MOST_FILES:
            return
        visited[real] = None
        try:
            with os.scandir(directory) as listed:
                entries = list(listed)
        except OSError as error:
            self.add_closed(origin.scope, error)
            return
        for entry in entries:
            path = Path(entry.path)
            if is_entry(entry, os.DirEntry.is_symlink):
                path = Path(real_path(path))
                if origin.kind == "project" and not self._inside(path):
                    continue
            if is_directory(path):
                self._add_rules(origin, path, visited)
            elif entry.name.endswith(".md"):
                self.add(origin, path, rule=True)

    def _judge(self, origin: _Origin, path: Path, *, rule: bool) -> tuple[_Version, Loading, str]:
        if self._excludes(origin, path):
            return _Version(), "excluded", _EXCLUDED
        try:
            if path.stat().st_size > MOST_BYTES:
                return _Version(), "too-large", _TOO_LARGE
            version = _read_version(path)
        except OSError:
            return _Version(), "start", ""
        if rule and version.limited:
            return version, "on-demand", _SOME_FILES
        return version, "start", ""

    def _says_something(self, path: Path) -> bool:
        """Return whether the agent loads a text from the file at `path`, such as a CLAUDE.md of the project.

        False for a missing or empty file, and for one that was added before.
        """
        real = real_path(path)
        if real in self._seen or not is_file(path) or never_opened(path, Path(real)):
            return False
        version, loading, _why = self._judge(_Origin(Scope.PROJECT, "", "project"), path, rule=False)
        return loading == "start" and not version.empty

    def _excludes(self, origin: _Origin, path: Path) -> bool:
        if origin.kind == "managed":
            return False
        return any(pattern.matches(str(path)) for pattern in self._excluded)

    def _is_taken(self, path: Path, real: str) -> bool:
        return real in self._seen or len(self.found) >= _MOST_FILES or never_opened(path, Path(real))

    def _target(self, path: Path, target: str) -> Path:
        # Of a link, imports are relative to the file that it leads to.
        folder = Path(real_path(path)).parent if is_link(path) else path.parent
        whole = self._machine.home_dir / target[2:] if target.startswith("~/") else folder / target
        return Path(os.path.normpath(str(whole).replace("\0", "")))

    def _inside(self, path: Path) -> bool:
        return self._cwd is not None and Path(real_path(path)).is_relative_to(real_path(self._cwd))


def _agents_first(found: list[Companion]) -> list[Companion]:
    """Return the files `found` with those in a nested `.claude` directory moved to the end.

    This is the loading order if the working directory is itself below a `.claude`, for example a worktree
    that the agent made: the files in its own `.claude` are loaded after every plain AGENTS.md. An import
    stays behind the file that imports it.
    """
    early: list[Companion] = []
    late: list[Companion] = []
    place = early
    for each in found:
        if not each.note.startswith("Imported by "):  # an import stays behind its file
            place = late if each.path.parts.count(".claude") > 1 else early
        place.append(each)
    return early + late


@cached_until_changed(4096)
def _read_version(path: Path) -> _Version:
    text = read_regular(path, MOST_BYTES).decode("utf-8", "replace")
    return _Version(mentions_in(text), is_limited(text), not loaded_text(text))


def _notes_in(directory: Path, closed: list[OSError]) -> Iterator[Path]:
    """Yield the path of every Markdown file below `directory`, sorted; links to directories are not followed.

    `closed` gets the errors of folders that could not be listed.
    """
    found: list[Path] = []
    for folder, folders, names in walk_paths(directory, onerror=closed.append):
        folders.sort()
        found += [Path(folder) / name for name in names if name.endswith(".md")]
        if len(found) > _MOST_FILES:
            break
    yield from sorted(found)
