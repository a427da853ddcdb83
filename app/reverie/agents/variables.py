"""The environment variables by which Reverie finds and understands the agents' homes.

The agents' other variables are ignored, because an agent sets some of them for every program that it starts,
for example for a command of Reverie.
"""

from __future__ import annotations

AGENT_VARIABLES = frozenset(
    {
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY",
        "CLAUDE_CODE_DISABLE_CLAUDE_MDS",
        "CLAUDE_CODE_REMOTE",
        "CLAUDE_CODE_REMOTE_MEMORY_DIR",
        "CLAUDE_CODE_SIMPLE",
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE",
        "CODEX_HOME",
        "CODEX_SQLITE_HOME",
        "DO_NOT_TRACK",
        "HOME",
        "LOKI_FAILURE_MEMORY",
        "LOKI_MEMORY_BASE_PATH",
        "LOKI_TELEMETRY",
        "LOKI_TELEMETRY_DISABLED",
        "MUX_ROOT",
        "NODE_ENV",
        "TZ",
        "XUM_ROOT",
    }
)
