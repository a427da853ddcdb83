"""mux's own settings of a consolidation and of the memory writer (formats/mux.md sections 10 and 14).

Pure; any thread. Failure: never raises, whatever the content; a value of the wrong type counts as absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.base import Workspace
from reverie.agents.known_layouts import MUX_WRITER_STATE

if TYPE_CHECKING:
    from reverie.agents.capabilities import AgentWriterConfig, WriterPlace
from reverie.agents.mux.config import MetadataId, find_entry
from reverie.agents.mux.names import project_id

_DREAM = "dream"
_MODEL = re.compile(r"[^\s:]+:\S+")


def dream_model(
    config: object, workspace_id: str | None, metadata_id: MetadataId = lambda _name: None
) -> str | None:
    """Return the model that mux itself would consolidate with (formats/mux.md section 10), or None.

    `config`: the decoded `config.json`. The model is the first of: the workspace's own model for
    consolidations (dreams), the home's default for consolidations, the workspace's model, the home's default
    model. `workspace_id` None: only those of the home. A value of the wrong type counts as absent.
    `metadata_id` returns the id of an old workspace, given the name of its directory.
    """
    return next(
        (model for model in _candidates(config, workspace_id, metadata_id) if model is not None), None
    )


def dream_enabled(config: object) -> bool:
    """Return whether `config`, the decoded `config.json`, lets mux consolidate; True without a setting."""
    return below(config, "agentAiDefaults", _DREAM).get("enabled") is not False


def _candidates(config: object, workspace_id: str | None, metadata_id: MetadataId) -> Iterator[str | None]:
    entry: Mapping[str, Any] = {}
    if workspace_id is not None:
        entry = find_entry(config, workspace_id, metadata_id) or {}
    yield model_string(below(entry, "aiSettingsByAgent", _DREAM).get("model"))
    yield model_string(below(config, "agentAiDefaults", _DREAM).get("modelString"))
    yield model_string(below(entry, "aiSettings").get("model"))
    yield model_string(below(config).get("defaultModel"))


def below(value: object, *keys: str) -> Mapping[str, Any]:
    """Return the object that is nested at `keys` in `value`; empty if one is missing or no object."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def model_string(value: object) -> str | None:
    """Return `value` if it is a model string (`provider:model`), or None."""
    if not isinstance(value, str) or not _MODEL.fullmatch(value.strip()):
        return None
    return value.strip()


AGENT = "system1_memory_writer"
INTERVAL = "memoryWriterIntervalMessages"
_INSTRUCTIONS = ("AGENTS.md", "AGENT.md", "CLAUDE.md")


def writer_place(
    root: Path, workspace_id: str, project_path: str | None, listed: Workspace | None
) -> WriterPlace:
    """Return the files of the memory writer, System 1, for a workspace (formats/mux.md section 14).

    `workspace_id` is a plain directory name. `project_path`: the project's path in config.json; None if the
    workspace has none. `listed`: the workspace in config.json; None if it is not listed.
    """
    from reverie.agents.capabilities import WriterPlace  # late: no name that is listed needs it

    identity = project_id(project_path) if project_path else ""
    # Where the agent works first; the project's own directory for one that was never checked out.
    checkouts = [Path(path) for path in (listed.path if listed else "", project_path or "") if path]
    return WriterPlace(
        state_file=root / "sessions" / workspace_id / MUX_WRITER_STATE,
        dump_directory=root / "debug_obj" / workspace_id / AGENT,
        memory_file=root / "memories" / f"{identity}.md" if identity else None,
        memory_id=identity,
        instructions=tuple(root / name for name in _INSTRUCTIONS),
        context_instructions=tuple(path / name for path in checkouts for name in _INSTRUCTIONS),
    )


def writer_config(config: object, workspace_id: str, metadata_id: MetadataId) -> AgentWriterConfig:
    """Return the settings of the memory writer for a workspace: its own, else the defaults of the home.

    `config`: the decoded `config.json`.

    A value of the wrong type counts as absent, except for the interval: it is passed on unchanged, so that
    the scheduler can report the problem. `metadata_id` returns the id of an old workspace, given the name of
    its directory.
    """
    from reverie.agents.capabilities import AgentWriterConfig  # late, as above

    entry: Mapping[str, Any] = find_entry(config, workspace_id, metadata_id) or {}
    defaults = below(config, "agentAiDefaults", AGENT)
    own = model_string(below(entry, "aiSettingsByAgent", AGENT).get("model"))
    usual = model_string(below(entry, "aiSettings").get("model"))
    return AgentWriterConfig(
        enabled=defaults.get("enabled") is not False,
        interval=below(config, "taskSettings").get(INTERVAL),
        model=own or model_string(defaults.get("modelString")),
        default_model=usual or model_string(below(config).get("defaultModel")),
    )
