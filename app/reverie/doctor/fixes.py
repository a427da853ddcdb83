"""The fixes: each changes one thing that is Reverie's own, or the mode or name of a file the writer writes.

The agent's configuration is never changed; where only that could help, the evidence says what to do by hand.
Failure: `apply` raises `UserError`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reverie.agents.scopes import Refusal, Scope, ScopeRoot
from reverie.doctor.facts import DoctorHome, DoctorHooks, Maker, WorkspaceFacts
from reverie.doctor.findings import Finding, Fix, ago
from reverie.errors import StoreError, UserError, user_error_from_os
from reverie.files.atomic import atomic_write
from reverie.files.directory import ensure_private, walk_paths
from reverie.memory.attribution import WriteLog
from reverie.memory.store import sha256_of_bytes
from reverie.memory.write_guard import write_locks
from reverie.settings import BackgroundTable, Settings, System1Settings, load_settings, save_settings

RULES = "rules"


class Fixes:
    """What can be mended for one home. Settings are read anew when a fix is applied, so that one made
    meanwhile is kept."""

    def __init__(self, parts: DoctorHome, hooks: DoctorHooks) -> None:
        self._parts = parts
        self._hooks = hooks

    def switch_writer_on(self) -> Fix:
        return Fix("Switch the memory writer on", lambda: self._system1(enabled=True))

    def set_interval(self, turns: int) -> Fix:
        def apply() -> None:
            # A value that does not count stands in the file until another one than the default is written.
            self._system1(interval=turns + 1)
            self._system1(interval=turns)

        return Fix(f"Set the interval to {turns}", apply)

    def set_target(self, target: str) -> Fix:
        words = {"project-file": "the project's one file", "project-memory": "a project memory"}
        return Fix(f"Write to {words[target]}", lambda: self._system1(target=target))

    def use_rules(self) -> Fix:
        return Fix("Let the rules engine write", lambda: self._system1(model=RULES))

    def keep_traces_of_failures(self) -> Fix:
        return Fix("Keep traces of failures", lambda: self._system1(traces="failures"))

    def switch_background_on(self) -> Fix:
        return Fix("Switch background runs on for this home", lambda: self._background(enabled=True))

    def raise_budget(self) -> Fix:
        def apply() -> None:
            settings, _problems = load_settings(self._parts.profile.settings_file)
            now = settings.background.of(self._parts.home_id)
            self._background(
                runs_per_day=min(1000, max(12, now.runs_per_day * 2)),
                tokens_per_day=min(1_000_000_000, max(1_000_000, now.tokens_per_day * 2)),
            )

        return Fix("Double the budget of this home", apply)

    def dream_by_rules(self) -> Fix:
        def change(settings: Settings) -> Settings:
            return settings.model_copy(update={"dream": settings.dream.model_copy(update={"engine": RULES})})

        return Fix("Let the rules engine dream", lambda: self._change(change))

    def watch_with(self, polling: str) -> Fix:
        def change(settings: Settings) -> Settings:
            return settings.model_copy(
                update={"watch": settings.watch.model_copy(update={"polling": polling})}
            )

        words = {"auto": "Watch as the system allows", "always": "Look again and again instead"}
        return Fix(words[polling], lambda: self._change(change))

    def make_writable(self, path: Path) -> Fix:
        def apply() -> None:
            self._parts.write_guard.require()
            try:
                mode = stat.S_IMODE(path.stat().st_mode)
                path.chmod(mode | stat.S_IWUSR | (stat.S_IXUSR if path.is_dir() else 0))
            except OSError as error:
                raise user_error_from_os(error, f"{path} was not made writable.") from error

        return Fix(f"Make {path.name} writable", apply)

    def set_aside(self, path: Path) -> Fix:
        """Kept under a name nobody reads, never removed."""

        def apply() -> None:
            self._parts.write_guard.require()
            stamp = self._parts.clock()
            for number in range(100):
                renamed = path.with_name(f"{path.name}.unreadable-{stamp}" + (f"-{number}" if number else ""))
                if not os.path.lexists(renamed):
                    try:
                        path.rename(renamed)
                    except OSError as error:
                        raise user_error_from_os(error, f"{path.name} was not moved aside.") from error
                    return
            raise StoreError(f"{path.name} was not moved aside.", next_step="Move it away by hand.")

        return Fix(f"Move {path.name} aside", apply)

    def write_anyway(self, refusals: Sequence[Refusal]) -> Fix:
        """Write into stores whose layout or version Reverie does not know; a person has to choose it."""
        evidence = " ".join(each.evidence for each in refusals)
        return Fix("Write anyway", lambda: self._parts.write_guard.permit(refusals), evidence)

    def take_away(self, directory: Path, *, empty: bool) -> Fix:
        """Keep a directory of ours that switches the agent's memory off, outside of the home; an empty one
        only goes."""

        return take_away_fix(self._parts, directory, empty=empty)

    def run_writer(self) -> Fix | None:
        act = self._hooks.run_writer
        return None if act is None else Fix("Run the memory writer now", act)

    def debug_logging(self) -> Fix | None:
        act = self._hooks.set_debug
        return None if act is None else Fix("Switch debug logging on", act)

    def _background(self, **update: Any) -> None:
        def change(settings: Settings) -> Settings:
            own = settings.background.of(self._parts.home_id).model_copy(update=update)
            table = BackgroundTable({**settings.background.root, self._parts.home_id: own})
            return settings.model_copy(update={"background": table})

        self._change(change)

    def _system1(self, **update: Any) -> None:
        def change(settings: Settings) -> Settings:
            section = System1Settings.model_validate({**settings.system1.model_dump(), **update})
            return settings.model_copy(update={"system1": section})

        self._change(change)

    def _change(self, change: Callable[[Settings], Settings]) -> None:
        path = self._parts.profile.settings_file
        settings, _problems = load_settings(path)
        save_settings(path, change(settings), clock=self._parts.clock)
        self._parts.forget_settings()


# The agent's own gates (`Home.checks`) as findings. A directory can switch an agent's memory off by being
# there. Where every file in it is as Reverie wrote it, a fix copies the files into Reverie's own directory,
# compares them, and removes each if it is still the same, under the agent's lock. What somebody else put
# there stays; an empty directory has a fix of its own.


_MOST_FILES = 10_000
_SENTENCES: Mapping[Maker, str] = {
    "reverie": "Reverie made it.",
    "nobody": "It is empty.",
    "others": "It holds files that Reverie did not write or cannot read; it is left alone.",
}


def agent_findings(facts: WorkspaceFacts, fixes: Fixes) -> tuple[Finding, ...]:
    """In the agent's own order."""
    found = []
    for check, maker in facts.agent_checks:
        fix, evidence = None, check.evidence
        if check.at is not None:
            evidence = f"{evidence} ({ago(facts.now, check.at)})"
        if check.suspect is not None and maker is not None:
            evidence = f"{evidence} {_SENTENCES[maker]}"
            if maker != "others":
                fix = fixes.take_away(check.suspect, empty=maker == "nobody")
        found.append(Finding(check.check, check.title, check.state, evidence, fix))
    return tuple(found)


def maker_of(actors: WriteLog, directory: Path) -> Maker:
    """Who wrote what a directory holds: Reverie all files, as they are; nobody, where it holds none; or
    others, also where that cannot be known."""
    try:
        contents = {path: sha256_of_bytes(path.read_bytes()) for path in _files(directory)}
        if not contents:
            return "nobody"
        return "reverie" if set(actors.actors_of(contents)) == set(contents) else "others"
    except (OSError, UserError):
        return "others"


def take_away(parts: DoctorHome, directory: Path) -> None:
    """Keep its files in Reverie's own directory and remove what is ours of it, under the agent's own lock.
    Raises `Busy` while the agent holds that."""
    _refuse_others(parts, directory)
    root = ScopeRoot(Scope.GLOBAL, "", directory, None)
    with write_locks(parts.home, (root,), lock_dir=parts.profile.locks):
        _refuse_others(parts, directory)
        _take_away(parts, directory)


def _refuse_others(parts: DoctorHome, directory: Path) -> None:
    if maker_of(parts.actors, directory) == "others":
        raise StoreError(
            f"{directory.name}/ was left as it is.",
            cause="It holds files or links that Reverie did not write, or cannot be read.",
            next_step="Look at it, and remove it by hand if you do not need it.",
        )


def _take_away(parts: DoctorHome, directory: Path) -> None:
    kept = parts.profile.ensure(parts.profile.own_sidecars(parts.home_id)) / f"taken-{parts.clock()}"
    try:
        for path in _files(directory):
            data, copy = path.read_bytes(), kept / path.relative_to(directory)
            ensure_private(copy.parent)
            atomic_write(copy, data)  # durable before the original goes
            if copy.read_bytes() == data == path.read_bytes():
                path.unlink()
        for found in reversed([found for found, _directories, _names in walk_paths(directory, _raise)]):
            Path(found).rmdir()
    except OSError as error:
        raise user_error_from_os(error, f"{directory.name}/ was not removed.") from error


def take_away_fix(parts: DoctorHome, directory: Path, *, empty: bool) -> Fix:
    """The fix for a directory that is ours, or empty."""
    title = f"Remove the empty {directory.name}/" if empty else f"Take {directory.name}/ away"
    return Fix(title, lambda: take_away(parts, directory))


def _files(directory: Path) -> Iterator[Path]:
    """Every entry that is no directory. Raises `OSError` for what no file of ours is: a link, a device, more
    than a person writes."""
    if directory.is_symlink():
        raise OSError(f"{directory} is a link")
    count = 0
    for found, directories, names in walk_paths(directory, onerror=_raise):
        # `walk_paths` counts links to directories among the directories, and does not follow them.
        links = [name for name in directories if Path(found, name).is_symlink()]
        for name in (*links, *names):
            count += 1
            path = Path(found, name)
            if count > _MOST_FILES or path.is_symlink() or not path.is_file():
                raise OSError(f"{path} is not a file")
            yield path


def _raise(error: OSError) -> None:
    raise error
