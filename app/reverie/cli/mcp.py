"""The command `mcp`: serve the memories of a home to other programs over the Model Context Protocol.

The server is a client of the engine, which it starts if none runs. Standard output belongs to the protocol;
everything for people goes to stderr.
"""

from __future__ import annotations

import os
import secrets
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.agents.scopes import Scope, ScopeContext
from reverie.cli.answers import DONE, print_json, print_text, trouble
from reverie.cli.homes import the_root
from reverie.cli.main import Invocation
from reverie.engine.client import EngineClient
from reverie.engine.reach import connect
from reverie.errors import Ambiguous, StoreError, Unavailable
from reverie.files.child import own_command
from reverie.memory_server.client_config import PASSED_ON, TOKEN_VARIABLE, config_text
from reverie.memory_server.tools import READING, WRITING, MemoryTools
from reverie.settings import load_settings

if TYPE_CHECKING:
    from reverie.services.views import HomeInfo

EXTRA = "mcp>=2.3,<3"
_TOKEN_CHARS = 16


def mcp(session: Invocation) -> int:
    """Serve the memories of a home to other programs over the Model Context Protocol.

    Without `--http`, it serves one client over standard input and output, until that client disconnects; with
    `--http`, it serves any number until Ctrl+C. With `--print-config`, it only prints the configuration that
    a client needs. Returns the exit code. Raises `Unavailable` if the extra package `mcp` is not installed.
    """
    arguments = session.arguments
    if arguments.print_config:
        text = _config(session)
        if session.as_json:
            print_json({"client": arguments.print_config, "config": text})
        else:
            print_text(text, end="")
        return DONE
    try:
        serving = import_module("reverie.memory_server.serving")  # late: the extra may be missing
    except ModuleNotFoundError as error:
        raise Unavailable(
            "`reverie mcp` cannot start:",
            cause=f"the optional package {error.name} is not installed.",
            next_step=f"Install Reverie as `reverie[mcp]`, or run `pipx inject reverie '{EXTRA}'`.",
        ) from error
    token = _token() if arguments.http is not None else ""
    session.engine = EngineClient(partial(connect, session.profile))
    info = session.engine.services.open(the_root(session)).info
    tools = MemoryTools(session.engine, info, _context(session, info), partial(_writable, session))
    if arguments.http is None:
        serving.serve_streams(tools)
    else:
        serving.serve_http(tools, arguments.http, token, lambda port: trouble(f"Serving at {_url(port)}"))
    return DONE


def _token() -> str:
    """Return the token that clients must send: the one in the environment, or a new one, which is printed.

    Raises `StoreError` if the one in the environment is too short or has characters that cannot be used.
    """
    token = os.environ.get(TOKEN_VARIABLE, "")
    if not token:
        token = secrets.token_urlsafe(32)
        trouble(f"Token for this run, unless {TOKEN_VARIABLE} is set: {token}")
    if len(token) < _TOKEN_CHARS or not token.isascii() or not token.isprintable() or " " in token:
        raise StoreError(
            f"{TOKEN_VARIABLE} cannot be used.",
            cause=f"A token must have at least {_TOKEN_CHARS} ASCII characters and must not contain spaces.",
            next_step="Set it to a random token, or unset it so that Reverie creates one.",
        )
    return token


def _url(port: int) -> str:
    return f"http://127.0.0.1:{port}/mcp"


def _writable(session: Invocation, program: str) -> frozenset[Scope]:
    """Return the scopes whose memories the client `program` may change, by the settings and `--allow-writes`.

    The settings are read again each time.
    """
    permitted = load_settings(session.profile.settings_file)[0].mcp.allow_writes
    named = (*permitted.get("*", ()), *permitted.get(program, ()), *(session.arguments.allow_writes or ()))
    return frozenset(map(Scope, named))


def _context(session: Invocation, info: HomeInfo) -> ScopeContext:
    """Return the context of the workspace or project in the options, else of the current directory's project.

    If the home does not list a project for the current directory, the context has the global memory only.
    """
    assert session.engine is not None
    workspace, project = session.arguments.workspace, session.arguments.project
    known = {each.id for each in info.contents.workspaces()}
    if workspace is not None and workspace not in known:
        raise Ambiguous(
            f"This home has no workspace {workspace}.", choices=(), next_step="`reverie homes` lists them."
        )
    if workspace is None and project is None:
        here = Path.cwd()
        above = [each.path for each in info.contents.projects if here.is_relative_to(each.path)]
        project = max(above, key=len, default=None)
    return session.engine.home(info.root, info.id).context(workspace, project)


def _config(session: Invocation) -> str:
    """Return the text that configures a client to use a server with the options of this command."""
    arguments = session.arguments
    words = ["mcp", "--home", str(the_root(session).absolute())]
    for option in ("profile", "project"):
        if getattr(arguments, option) is not None:
            words += [f"--{option}", str(Path(getattr(arguments, option)).absolute())]
    words += [] if arguments.workspace is None else ["--workspace", arguments.workspace]
    for scope in arguments.allow_writes or ():
        words += ["--allow-writes", scope]
    return config_text(
        arguments.print_config,
        command=own_command(*words),
        url="" if arguments.http is None else _url(arguments.http),
        tools=(*READING, *(WRITING if arguments.allow_writes else ())),
        environment={name: os.environ[name] for name in PASSED_ON if os.environ.get(name)},
    )
