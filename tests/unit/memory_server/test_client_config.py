"""What is added to the configuration of each client."""

from __future__ import annotations

import json
import shlex
import tomllib

import pytest

from reverie.cli.main import parse
from reverie.memory_server.client_config import TOKEN_VARIABLE, config_text

COMMAND = ("/opt/reverie", "mcp", "--home", '/home/dev/a "b"/.claude')
URL = "http://127.0.0.1:8123/mcp"


def text_for(client: str, url: str = "") -> str:
    return config_text(
        client, command=COMMAND, url=url, tools=("view", "create"), environment={"XDG_RUNTIME_DIR": "/run/x"}
    )


def json_below(text: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(text[text.index("\n{") :])
    return found


def test_claude_code_gets_a_command_and_a_rule_that_allows_the_tools() -> None:
    text = text_for("claude")
    words = shlex.split(text.splitlines()[1])
    assert words[:5] == ["claude", "mcp", "add", "--scope", "user"]
    assert words[words.index("--") + 1 :] == list(COMMAND)
    assert words[5:8] == ["reverie", "-e", "XDG_RUNTIME_DIR=/run/x"]
    assert json_below(text) == {"permissions": {"allow": ["mcp__reverie__view", "mcp__reverie__create"]}}
    words = shlex.split(text_for("claude", URL).splitlines()[1])
    assert words[-1] == f"Authorization: Bearer ${{{TOKEN_VARIABLE}}}"


def test_codex_waits_for_the_server() -> None:
    server = tomllib.loads(text_for("codex"))["mcp_servers"]["reverie"]
    assert [server["command"], *server["args"]] == list(COMMAND)
    assert server["required"] is True
    assert server["env_vars"] == ["XDG_RUNTIME_DIR"]
    server = tomllib.loads(text_for("codex", URL))["mcp_servers"]["reverie"]
    assert (server["url"], server["bearer_token_env_var"]) == (URL, TOKEN_VARIABLE)
    assert "command" not in server


@pytest.mark.parametrize(
    ("client", "key", "url"),
    [("vscode", "servers", "url"), ("cursor", "mcpServers", "url"), ("gemini", "mcpServers", "httpUrl")],
)
def test_other_clients_get_json(client: str, key: str, url: str) -> None:
    server = json_below(text_for(client))[key]["reverie"]  # type: ignore[index]
    assert [server["command"], *server["args"]] == list(COMMAND)
    assert server["env"] == {"XDG_RUNTIME_DIR": "/run/x"}
    server = json_below(text_for(client, URL))[key]["reverie"]  # type: ignore[index]
    assert server[url] == URL
    assert TOKEN_VARIABLE in server["headers"]["Authorization"]
    assert "command" not in server


def test_every_client_that_the_command_offers_has_a_text() -> None:
    for client in ("claude", "codex", "vscode", "cursor", "gemini"):
        assert parse(["mcp", "--print-config", client]).print_config == client
        assert "reverie" in text_for(client)
    with pytest.raises(SystemExit):
        parse(["mcp", "--print-config", "another"])
