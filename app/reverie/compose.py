"""Builds a home with all its services from a profile, a clock and a directory.

This is the only place that chooses the classes of the services. Nothing here is global, and nothing is
imported or opened before it is needed, so a command that lists a tree does not load the history or the
settings.

Threading: blocks on disk; any thread but the GUI's. Failure: `UserError`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.agents.base import DiscoveredHomes, Home, LoadState
from reverie.agents.capabilities import AgentWriterConfig
from reverie.agents.discovery import User, find_homes, find_projects, open_home
from reverie.agents.identity import HomeRegistry, OpenedHome
from reverie.clock import Clock
from reverie.errors import StoreError, UserError
from reverie.profile import Profile
from reverie.text.summaries import phrase

if TYPE_CHECKING:
    from reverie.agents.scopes import ScopeContext
    from reverie.claims.checking import CheckedClaim
    from reverie.doctor.facts import DoctorHooks
    from reverie.services.container import HomeContainer
    from reverie.settings import Settings


def look_for_homes() -> DiscoveredHomes:
    """Search for the homes (state directories) of this user's agents, such as `~/.codex`.

    Returns the homes, and the places that could not be read.
    """
    return find_homes(os.environ, Path.home())


def look_for_stores(found: DiscoveredHomes, profile: Profile) -> DiscoveredHomes:
    """Search for agents' homes inside projects, such as `.loki` directories.

    The projects are those that the homes in `found` list. Returns the homes inside projects, and the places
    that could not be read. `profile` has the directory for caches.
    """
    return find_projects(found.homes, Path.home(), profile.homes_cache, os.environ)


def open_parts(
    path: Path, profile: Profile, clock: Clock, env: Mapping[str, str] | None = None
) -> HomeContainer:
    """Open the home at `path`; return the container with its services.

    `profile`: the directories of Reverie's own files; `clock`: the source of the current time. `env`: the
    environment variables of the agents; None: those of this process. Raises `Unavailable` if `path` is no
    home of a known kind.
    """
    # Late: a window imports this module but opens no home itself.
    from reverie.services.container import HomeContainer, HomeKey

    home_dir = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home raises where there is no user
    user = User(os.environ if env is None else env, home_dir)
    home: Home = open_home(path, profile.homes_cache, user)
    registry = HomeRegistry(profile.registry, lock_dir=profile.locks, clock=clock)
    identity = registry.identify(home.root, kind=home.kind)

    def settings() -> Settings:
        from reverie.settings import load_settings

        return load_settings(profile.settings_file)[0]

    opened = OpenedHome(registry, identity, home.root, kind=home.kind)
    key = HomeKey(home, identity.id, identity.adoptable, opened.require)
    return HomeContainer(key, profile, clock, settings, _stale_claims, _loaded_files)


def _stale_claims(
    parts: HomeContainer, context: ScopeContext, check: Callable[[], None]
) -> tuple[CheckedClaim, ...]:
    # Late, as above.
    from reverie.services.workbench import Workbench

    claims = Workbench(parts).claims
    try:
        return claims.stale(context, check=check).claims
    finally:
        claims.close()


def _loaded_files(parts: HomeContainer, context: ScopeContext, at: int) -> Mapping[str, LoadState]:
    # Late, as above.
    from reverie.context.gather import gather
    from reverie.context.recipes import AGENTS, next_session
    from reverie.services.workbench import Workbench

    if parts.home.kind not in AGENTS:
        return {}
    facts = gather(parts.home, context, Workbench(parts).view(context).scopes, times=(at,))
    return next_session(facts, at)[0]


def adopt_home(path: Path, known_id: str, profile: Profile, clock: Clock) -> None:
    """Register the home at `path` as the known home with the id `known_id`, which was moved there.

    From then on, the home has that id, with its history and runs. Raises `StoreError` if there is no such id,
    or if the known home still exists at its old place.
    """
    registry = HomeRegistry(profile.registry, lock_dir=profile.locks, clock=clock)
    registry.adopt(open_home(path).root, known_id)


def doctor_hooks(parts: HomeContainer, context: ScopeContext) -> DoctorHooks:
    """Return the functions with which the Doctor finds and tests models, and runs the memory writer.

    The Doctor is the part of Reverie that finds out why a run did nothing. `parts`: the services of the home;
    `context`: the workspace to examine.
    """
    from reverie.doctor.facts import DoctorHooks, ModelFacts
    from reverie.services.models import Models

    models, workspace_id = Models(parts), context.workspace_id

    def dream_model() -> ModelFacts:
        parts.forget_settings()
        choice = models.choose(context, parts.settings.dream.engine)
        return ModelFacts(choice.engine, choice.reason, models.obstacle(choice.engine))

    def writer_model() -> ModelFacts:
        from reverie.services.background import WriterEngines

        settings = parts.read_settings().system1
        if workspace_id is None:
            return ModelFacts(settings.model or "rules", phrase("No workspace is selected."))
        parts.forget_settings()
        sessions, writer = parts.home.sessions, parts.home.writer
        session = None if sessions is None else sessions.session_place(workspace_id)
        turns = () if session is None or writer is None else writer.transcript(workspace_id).newest_turns()
        turn_model = next((turn.model for turn in reversed(turns) if turn.event == "turn-end"), None)
        engines = WriterEngines(parts, models)
        config = AgentWriterConfig(enabled=False) if writer is None else writer.writer_config(workspace_id)
        try:
            name, why = engines.choose(settings, config, turn_model)
        except UserError as error:
            return ModelFacts(settings.model, phrase("It is chosen in the settings."), str(error))
        return ModelFacts(name, why)

    def run_writer() -> None:
        from reverie.services.background import open_writer

        outcome = open_writer(parts, by_hand=True).run_now(workspace_id or "", force=True)
        if not outcome.succeeded:
            raise StoreError(
                "The memory writer could not run.", cause=outcome.summary, next_step=outcome.next_step
            )

    return DoctorHooks(
        model=writer_model,
        dream_model=dream_model,
        probe=models.test,
        run_writer=None if workspace_id is None else run_writer,
    )
