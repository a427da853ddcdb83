"""The fixes of the Doctor.

A fix changes one setting or file of Reverie, or the permissions or name of a file of the memory writer. The
agent's configuration is never changed; if only such a change would help, the evidence of the finding
describes how to make it by hand. Failure: `Fix.apply` raises `UserError`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from reverie.agents.scopes import Refusal
from reverie.doctor.facts import DoctorHome, DoctorHooks
from reverie.doctor.findings import Fix
from reverie.doctor.leftovers import take_away
from reverie.errors import StoreError, user_error_from_os
from reverie.settings import BackgroundSettings, BackgroundTable, Settings, change_settings
from reverie.text.summaries import Phrase, phrase

RULES = "rules"


class Fixes:
    """The available fixes for one home; each method returns a fix without applying it.

    When a fix is applied, it reads the settings again, so that other changes made meanwhile are kept.
    """

    def __init__(self, parts: DoctorHome, hooks: DoctorHooks) -> None:
        self._parts = parts
        self._hooks = hooks

    def switch_writer_on(self) -> Fix:
        """Return the fix that turns the memory writer on."""
        return self._set(phrase("Turn on"), "system1", enabled=True)

    def set_interval(self, turns: int) -> Fix:
        """Return the fix that makes the memory writer run after every `turns` turns."""
        label = phrase("Set the interval to {turns}", turns=turns)
        # An invalid value stays in the file until a value other than the default is written.
        first, then = (self._set(label, "system1", interval=value) for value in (turns + 1, turns))

        def apply() -> None:
            first.apply()
            then.apply()

        return Fix(label, apply)

    def set_target(self, target: str) -> Fix:
        """Return the fix that sets which file the memory writer writes.

        `target` is `project-file` (the agent's single file of the project) or `project-memory` (a file in the
        directory of project memories).
        """
        labels = {
            "project-file": phrase("Write to the project's single file"),
            "project-memory": phrase("Write to a project memory"),
        }
        return self._set(labels[target], "system1", target=target)

    def use_rules(self) -> Fix:
        """Return the fix that makes the memory writer work by rules, without a model."""
        return self._set(phrase("Write without a model"), "system1", model=RULES)

    def keep_traces_of_failures(self) -> Fix:
        """Return the fix that makes Reverie store traces of failed writer runs."""
        return self._set(phrase("Keep traces of failures"), "system1", traces="failures")

    def switch_background_on(self) -> Fix:
        """Return the fix that turns background runs on."""
        return self._set_background(phrase("Turn on"), lambda _now: {"enabled": True})

    def raise_budget(self) -> Fix:
        """Return the fix that doubles the daily budget of background runs: their number and their tokens.

        The new budget is at least 12 runs and a million tokens, at most 1,000 runs and a billion tokens.
        """

        def doubled(now: BackgroundSettings) -> dict[str, Any]:
            return {
                "runs_per_day": min(1000, max(12, now.runs_per_day * 2)),
                "tokens_per_day": min(1_000_000_000, max(1_000_000, now.tokens_per_day * 2)),
            }

        return self._set_background(phrase("Double the daily budget of this home"), doubled)

    def dream_by_rules(self) -> Fix:
        """Return the fix that makes consolidations work by rules, without a model."""
        return self._set(phrase("Consolidate without a model"), "dream", engine=RULES)

    def watch_by_events(self) -> Fix:
        """Return the fix that makes Reverie notice changes by events of the system, where there are any."""
        return self._set(phrase("Watch by events"), "watch", polling="auto")

    def make_writable(self, path: Path) -> Fix:
        """Return the fix that makes a file or directory writable for its owner."""

        def apply() -> None:
            self._parts.write_guard.require()
            try:
                mode = stat.S_IMODE(path.stat().st_mode)
                path.chmod(mode | stat.S_IWUSR | (stat.S_IXUSR if path.is_dir() else 0))
            except OSError as error:
                raise user_error_from_os(error, f"Could not make {path} writable.") from error

        return Fix(phrase("Make {name} writable", name=path.name), apply)

    def set_aside(self, path: Path) -> Fix:
        """Return the fix that renames an unreadable file of the memory writer, so that no program reads it.

        The file stays in its directory and is never deleted.
        """

        def apply() -> None:
            self._parts.write_guard.require()
            stamp = self._parts.clock()
            for number in range(100):
                renamed = path.with_name(f"{path.name}.unreadable-{stamp}" + (f"-{number}" if number else ""))
                if not os.path.lexists(renamed):
                    try:
                        path.rename(renamed)
                    except OSError as error:
                        raise user_error_from_os(error, f"Could not rename {path.name}.") from error
                    return
            raise StoreError(f"Could not rename {path.name}.", next_step="Rename or move the file yourself.")

        return Fix(phrase("Rename {name} and keep it as a backup", name=path.name), apply)

    def write_anyway(self, refusals: Sequence[Refusal]) -> Fix:
        """Return the fix that permits writing to stores whose layout or version Reverie does not know.

        `refusals`: the reasons why Reverie does not write to these stores.
        """
        evidence = " ".join(each.evidence for each in refusals)
        return Fix(phrase("Write anyway"), lambda: self._parts.write_guard.permit(refusals), evidence)

    def take_away(self, directory: Path, *, empty: bool) -> Fix:
        """Return the fix that removes `directory`, whose existence switches the agent's memory off.

        Reverie made the directory. Its files are moved out of the home. `empty`: True if there are none.
        """
        name = directory.name
        label = phrase("Remove the empty {name}/" if empty else "Move {name}/ out of the home", name=name)
        return Fix(label, lambda: take_away(self._parts, directory))

    def run_writer(self) -> Fix | None:
        """Return the fix that runs the memory writer now; None if this process cannot run it."""
        act = self._hooks.run_writer
        return None if act is None else Fix(phrase("Run the memory writer now"), act)

    def debug_logging(self) -> Fix | None:
        """Return the fix that turns debug logging on; None if this process cannot do that."""
        act = self._hooks.set_debug
        return None if act is None else Fix(phrase("Turn on debug logging"), act)

    def _set(self, label: Phrase, section: str, **values: Any) -> Fix:
        """Return the fix with this label that sets some values in one section of the settings."""

        def change(settings: Settings) -> Settings:
            plain = settings.model_dump()
            plain[section] |= values
            return Settings.model_validate(plain)

        return self._changing(label, change)

    def _set_background(self, label: Phrase, update: Callable[[BackgroundSettings], dict[str, Any]]) -> Fix:
        """Return the fix that changes the background settings of the home.

        `update` returns the new values, given the settings until now.
        """

        def change(settings: Settings) -> Settings:
            now = settings.background.of(self._parts.home_id)
            table = {**settings.background.root, self._parts.home_id: now.model_copy(update=update(now))}
            return settings.model_copy(update={"background": BackgroundTable(table)})

        return self._changing(label, change)

    def _changing(self, label: Phrase, change: Callable[[Settings], Settings]) -> Fix:
        def apply() -> None:
            profile = self._parts.profile
            change_settings(profile.settings_file, change, profile.locks, clock=self._parts.clock)
            self._parts.forget_settings()

        return Fix(label, apply)
