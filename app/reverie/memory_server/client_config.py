"""The text that a person adds to the configuration of a client, so that it starts or reaches the server.

Formats of the clients: Claude Code 2.1, Codex CLI 0.169, VS Code, Cursor, Gemini CLI. Pure.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

TOKEN_VARIABLE = "REVERIE_MCP_TOKEN"
"""The environment variable with the token of the server, for the server and for its clients."""
PASSED_ON = ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")
"""The variables that determine the profile and the engine; some clients pass on none of them."""


def config_text(
    client: str, *, command: Sequence[str], url: str, tools: Sequence[str], environment: Mapping[str, str]
) -> str:
    """Return the lines that a person adds to the configuration of a client of the memory server.

    `client`: `claude`, `codex`, `vscode`, `cursor` or `gemini`. `url`: the address of a server that the
    client reaches over HTTP; if it is empty, the client starts a server of its own. `command`: the words of
    the command that it starts the server with. `environment`: name -> value of the environment variables that
    a server started in this way needs. `tools`: the names of the tools that Claude Code should run without
    asking; other clients ignore them.
    """
    if client == "claude":
        return _claude(command, url, tools, environment)
    if client == "codex":
        return _codex(command, url, environment)
    server: dict[str, Any] = {"command": command[0], "args": list(command[1:])}
    if environment:
        server["env"] = dict(environment)
    if url:
        variable = f"${TOKEN_VARIABLE}" if client == "gemini" else f"${{env:{TOKEN_VARIABLE}}}"
        named = {"httpUrl": url} if client == "gemini" else {"url": url}
        server = {**named, "headers": {"Authorization": f"Bearer {variable}"}}
    if client == "gemini":
        title = '~/.gemini/settings.json; with "trust": true, Gemini CLI does not ask for each call'
        return _file(title, {"mcpServers": {"reverie": {**server, "timeout": 30_000, "trust": False}}})
    if client == "cursor":
        return _file("~/.cursor/mcp.json", {"mcpServers": {"reverie": server}})
    title = ".vscode/mcp.json of a project, or `MCP: Open User Configuration`"
    return _file(title, {"servers": {"reverie": {"type": "http" if url else "stdio", **server}}})


def _claude(command: Sequence[str], url: str, tools: Sequence[str], environment: Mapping[str, str]) -> str:
    if url:
        header = f"Authorization: Bearer ${{{TOKEN_VARIABLE}}}"
        words = ["--transport", "http", "reverie", url, "--header", header]
    else:
        passed = (word for name, value in environment.items() for word in ("-e", f"{name}={value}"))
        words = ["reverie", *passed, "--", *command]
    title = "~/.claude/settings.json, so that Claude Code does not ask for each call"
    allowed = {"permissions": {"allow": [f"mcp__reverie__{tool}" for tool in tools]}}
    adding = shlex.join(["claude", "mcp", "add", "--scope", "user", *words])
    return f"// Run once:\n{adding}\n\n{_file(title, allowed)}"


def _codex(command: Sequence[str], url: str, environment: Mapping[str, str]) -> str:
    server: dict[str, Any] = {"command": command[0], "args": list(command[1:])}
    if environment:
        server["env_vars"] = list(environment)
    if url:
        server = {"url": url, "bearer_token_env_var": TOKEN_VARIABLE}
    # JSON's strings and lists are TOML, too.
    lines = (f"{name} = {json.dumps(value)}" for name, value in server.items())
    title = "# ~/.codex/config.toml; `required`: the first turn waits for the tools"
    more = "required = true", "startup_timeout_sec = 60"
    return "\n".join((title, "[mcp_servers.reverie]", *lines, *more, ""))


def _file(title: str, content: Any) -> str:
    return f"// {title}\n{json.dumps(content, indent=2, ensure_ascii=False)}\n"
