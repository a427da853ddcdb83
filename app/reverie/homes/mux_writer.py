"""What mux's memory writer (System 1) keeps where, and what `config.json` says of it (formats/mux.md
section 14).

Pure: nothing is read from disk here. Nothing in the file raises: a value of the wrong type is passed over,
but for the interval, which is handed on as it stands so that whoever schedules can say what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.homes.mux_config import MetadataId, find_entry
from reverie.homes.mux_models import below, model_string
from reverie.homes.mux_names import project_id

if TYPE_CHECKING:
    from reverie.homes.agents import WriterPlace, WriterWishes
    from reverie.homes.listing import Workspace

STATE_FILE = "system1-memory-writer-state.json"
AGENT = "system1_memory_writer"
INTERVAL = "memoryWriterIntervalMessages"
_INSTRUCTIONS = ("AGENTS.md", "AGENT.md", "CLAUDE.md")


def writer_place(
    root: Path, workspace_id: str, project_path: str | None, listed: Workspace | None
) -> WriterPlace:
    """`workspace_id` is a plain directory name."""
    from reverie.homes.agents import WriterPlace  # late: no name that is listed needs it

    identity = project_id(project_path) if project_path else ""
    # Where the agent works first; the project's own directory for one that was never checked out.
    checkouts = [Path(path) for path in (listed.path if listed else "", project_path or "") if path]
    return WriterPlace(
        state_file=root / "sessions" / workspace_id / STATE_FILE,
        dump_directory=root / "debug_obj" / workspace_id / AGENT,
        memory_file=root / "memories" / f"{identity}.md" if identity else None,
        memory_id=identity,
        instructions=tuple(root / name for name in _INSTRUCTIONS),
        context_instructions=tuple(path / name for path in checkouts for name in _INSTRUCTIONS),
    )


def writer_wishes(config: object, workspace_id: str, metadata_id: MetadataId) -> WriterWishes:
    """What the config says of the memory writer for this workspace; its own settings before the defaults."""
    from reverie.homes.agents import WriterWishes  # late, as above

    entry: Mapping[str, Any] = find_entry(config, workspace_id, metadata_id) or {}
    defaults = below(config, "agentAiDefaults", AGENT)
    own = model_string(below(entry, "aiSettingsByAgent", AGENT).get("model"))
    usual = model_string(below(entry, "aiSettings").get("model"))
    return WriterWishes(
        enabled=defaults.get("enabled") is not False,
        interval=below(config, "taskSettings").get(INTERVAL),
        model=own or model_string(defaults.get("modelString")),
        default_model=usual or model_string(below(config).get("defaultModel")),
    )
