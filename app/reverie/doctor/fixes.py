"""The fixes: each changes one thing that is Reverie's own, or the mode or name of a file the writer writes.

The agent's configuration is never changed; where only that could help, the evidence says what to do by hand.
Failure: `apply` raises `MendableError`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from reverie.doctor.facts import Desk, Parts
from reverie.doctor.findings import Fix
from reverie.errors import StoreError, mendable_from_os
from reverie.homes.scopes import Refusal
from reverie.settings import BackgroundTable, Settings, System1Settings, load_settings, save_settings

RULES = "rules"


class Fixes:
    """What can be mended for one home. Settings are read anew when a fix is applied, so that one made
    meanwhile is kept."""

    def __init__(self, parts: Parts, desk: Desk) -> None:
        self._parts = parts
        self._desk = desk

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
                raise mendable_from_os(error, f"{path} was not made writable.") from error

        return Fix(f"Make {path.name} writable", apply)

    def move_aside(self, path: Path) -> Fix:
        """Kept under a name nobody reads, never removed."""

        def apply() -> None:
            self._parts.write_guard.require()
            stamp = self._parts.clock()
            for number in range(100):
                aside = path.with_name(f"{path.name}.unreadable-{stamp}" + (f"-{number}" if number else ""))
                if not os.path.lexists(aside):
                    try:
                        path.rename(aside)
                    except OSError as error:
                        raise mendable_from_os(error, f"{path.name} was not moved aside.") from error
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
        from reverie.doctor.agent_checks import take_away_fix

        return take_away_fix(self._parts, directory, empty=empty)

    def run_writer(self) -> Fix | None:
        act = self._desk.run_writer
        return None if act is None else Fix("Run the memory writer now", act)

    def debug_logging(self) -> Fix | None:
        act = self._desk.set_debug
        return None if act is None else Fix("Switch debug logging on", act)

    def _background(self, **wishes: Any) -> None:
        def change(settings: Settings) -> Settings:
            own = settings.background.of(self._parts.home_id).model_copy(update=wishes)
            table = BackgroundTable({**settings.background.root, self._parts.home_id: own})
            return settings.model_copy(update={"background": table})

        self._change(change)

    def _system1(self, **wishes: Any) -> None:
        def change(settings: Settings) -> Settings:
            section = System1Settings.model_validate({**settings.system1.model_dump(), **wishes})
            return settings.model_copy(update={"system1": section})

        self._change(change)

    def _change(self, change: Callable[[Settings], Settings]) -> None:
        path = self._parts.profile.settings_file
        settings, _problems = load_settings(path)
        save_settings(path, change(settings), clock=self._parts.clock)
        self._parts.forget_settings()
