"""The memory server as a process: what real programs see of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from helpers.command_pairs import running_engine
from helpers.expect_log import ExpectLog
from helpers.forked_commands import run_command
from helpers.isolation import TEST_PROFILE
from helpers.memory_clients import INITIALIZE, StdioClient, hostile_lines, leftovers
from helpers.samples import copy_sample
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.files.child import own_command
from reverie.profile import Profile
from reverie.services.workbench import Workbench

TOKEN = "0123456789abcdef-test"
ACME = "a1f3c9e2b7"
TESTING = "/memories/global/testing.md"
APP = Path(__file__).resolve().parents[3] / "app" / "reverie"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return copy_sample("mux-home", tmp_path)


@pytest.fixture
def engine(tmp_path: Path, expect_log: ExpectLog) -> Iterator[list[str]]:
    # The index of a home is read by a process, and the next one may still be starting at the end.
    expect_log("did not end and is killed", count=None)
    with running_engine(tmp_path / "profile") as asked:
        yield asked


def command(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    options = ("--home", home, "--profile", home.parent / "profile")
    return run_command(*options, *words, given="", directory=home.parent)


def test_a_program_reads_writes_and_is_refused_and_its_writes_are_undone_by_a_command(
    home: Path, engine: list[str]
) -> None:
    client = StdioClient(home, home.parent / "profile", "--workspace", ACME, "--allow-writes", "global")
    assert "You may change global memory." in client.welcome["instructions"]
    assert f"- {TESTING}: Testing habits that apply everywhere" in client.welcome["instructions"]
    assert client.welcome["serverInfo"]["name"] == "reverie"
    assert len(client.ask("tools/list")["result"]["tools"]) == 8
    assert client.call("view", path=TESTING, view_range=[2, 2]) == (
        True,
        "2\tdescription: Testing habits that apply everywhere",
    )
    before = (home / "memory/global/testing.md").read_bytes()
    assert client.call("str_replace", path=TESTING, old_str="Testing habits", new_str="Habits")[0]
    refused = client.call("create", path="/memories/project/new.md", file_text="x")
    assert refused[0] is False
    assert "may read project memory but not change it" in refused[1]
    assert client.call("nothing")[0] is False
    assert client.leave() == 0
    assert "agent_commands.execute" in engine, "the work is done by the engine that windows use"

    listed = json.loads(command(home, "changes", "--by", "claude-code", "--json").stdout)
    assert [(each["actor"], each["files"]) for each in listed] == [
        ("claude-code", [{"path": TESTING, "verb": "edit"}])
    ]
    done = command(home, "revert", listed[0]["id"][:12])
    assert (done.returncode, done.stdout) == (0, "Undid the change by claude-code.\n"), done.stderr
    assert (home / "memory/global/testing.md").read_bytes() == before
    again = command(home, "revert", listed[0]["id"][:12])
    assert again.returncode == 1
    assert "Nothing is left to undo" in again.stderr
    assert "No change ID begins with “0000000”" in command(home, "revert", "0000000").stderr
    assert command(home, "revert", "0000000", "--path", TESTING).returncode == 2


def test_the_settings_permit_a_program_by_its_name(home: Path, engine: list[str]) -> None:
    settings = Profile.under(home.parent / "profile").settings_file
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[mcp.allow_writes]\n"codex-mcp-client" = ["global"]\n')
    new = {"path": "/memories/global/new.md", "file_text": "x\n"}
    stranger = StdioClient(home, home.parent / "profile", name="stranger")
    assert "You may only read them." in stranger.welcome["instructions"]
    assert stranger.call("create", **new)[0] is False
    settings.write_text('[mcp.allow_writes]\n"*" = ["global"]\n')
    assert stranger.call("create", **new)[0] is True, "the settings are read again for each call"
    stranger.leave()


def test_two_programs_and_the_engine_write_at_once_and_nothing_is_lost(home: Path, engine: list[str]) -> None:
    count = 1_000 if TEST_PROFILE == "campaign" else 8
    profile = home.parent / "profile"
    names = ("claude-code", "codex")
    programs = [StdioClient(home, profile, "--allow-writes", "global", name=name) for name in names]
    shared = "/memories/global/shared.md"
    assert programs[0].call("create", path=shared, file_text="start\n")[0]
    failures: list[str] = []

    def write(client: StdioClient, name: str) -> None:
        for number in range(count):
            answers = [
                client.call("create", path=f"/memories/global/{name}/{number}.md", file_text=f"{number}\n"),
                client.call("insert", path=shared, insert_line=1, insert_text=f"{name} {number}"),
            ]
            failures.extend(text for succeeded, text in answers if not succeeded)

    threads = [threading.Thread(target=write, args=pair) for pair in zip(programs, names, strict=True)]
    for thread in threads:
        thread.start()
    bench = Workbench(open_parts(home, Profile.under(profile), system_clock))
    context = bench.context(None, None)
    for number in range(count):
        bench.save(context, f"/memories/global/window-{number}.md", f"{number}\n", None)
    for thread in threads:
        thread.join()
    assert failures == []
    expected = {f"{name} {number}" for name in names for number in range(count)}
    assert set((home / "memory/global/shared.md").read_text().splitlines()) == {"start", *expected}
    for number in range(count):
        for place in (*(f"{name}/{number}" for name in names), f"window-{number}"):
            assert (home / f"memory/global/{place}.md").read_text() == f"{number}\n"
    for client in programs:
        assert client.leave() == 0


def test_hostile_messages_neither_end_the_server_nor_fill_its_memory(home: Path, engine: list[str]) -> None:
    client = StdioClient(home, home.parent / "profile", *(f"--allow-writes={each}" for each in SCOPES))
    assert client.call("view")[0]
    before = client.peak_mib()
    count = 10_000 if TEST_PROFILE == "campaign" else 120
    for number, line in enumerate(hostile_lines(count, seed=20_261_126)):
        client.send(line)
        if number % 50 == 49:
            client.ask("ping")  # reads the answers before it, so that no pipe is full
    assert client.call("view", path="/memories/global")[0]
    assert client.peak_mib() < before + 200
    assert leftovers(home) == []
    assert client.leave() == 0


SCOPES = ("workspace", "project", "global")


def test_over_http_a_token_a_host_and_an_origin_are_required(home: Path, engine: list[str]) -> None:
    words = ("mcp", "--home", str(home), "--profile", str(home.parent / "profile"), "--http", "0")
    environment = {**os.environ, "REVERIE_MCP_TOKEN": TOKEN}
    server = subprocess.Popen(own_command(*words), stderr=subprocess.PIPE, env=environment)
    assert server.stderr is not None
    url = server.stderr.readline().decode().split()[-1]
    good = {
        "Authorization": f"Bearer {TOKEN}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    client = {"clientInfo": {"name": "web", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {**INITIALIZE, **client}}

    def status(**headers: str) -> int:
        named = {**good, **{name.replace("_", "-"): value for name, value in headers.items()}}
        sent = {name: value for name, value in named.items() if value}
        return httpx.post(url, json=message, headers=sent, trust_env=False, timeout=60).status_code

    try:
        assert url.startswith("http://127.0.0.1:")
        assert status() == 200
        assert status(Authorization="") == 401
        assert status(Authorization="Bearer wrong") == 401
        assert status(Authorization=f"Bearer {TOKEN}x") == 401
        assert status(Authorization=f"Basic {TOKEN}") == 401
        assert status(Host="attacker.example") == 421
        assert status(Origin="https://attacker.example") == 403
        too_long = {**message, "x": "y" * (5 << 20)}
        assert httpx.post(url, json=too_long, headers=good, trust_env=False, timeout=60).status_code == 413
    finally:
        server.terminate()
        server.wait(60)
        server.stderr.close()


def test_a_weak_token_is_refused(home: Path, engine: list[str]) -> None:
    words = own_command("mcp", "--home", str(home), "--profile", str(home.parent / "profile"), "--http", "1")
    weak = subprocess.run(
        words, env={**os.environ, "REVERIE_MCP_TOKEN": "short"}, capture_output=True, text=True, check=False
    )
    assert weak.returncode == 1
    assert "at least 16 ASCII characters" in weak.stderr


def test_without_the_extra_a_sentence_says_how_to_install_it(home: Path) -> None:
    code = (
        "import sys; sys.modules['mcp_types'] = None; from reverie.cli.main import main;"
        f"sys.exit(main(['mcp', '--home', {str(home)!r}, '--profile', {str(home.parent / 'profile')!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the optional package mcp_types is not installed" in done.stderr
    assert "reverie[mcp]" in done.stderr


def test_the_sdk_is_imported_by_one_module_only() -> None:
    names = {
        file.relative_to(APP).as_posix()
        for file in APP.rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.match(r"\s*(?:import|from) (?:mcp|mcp_types)\b", line)
    }
    assert names == {"memory_server/serving.py"}
