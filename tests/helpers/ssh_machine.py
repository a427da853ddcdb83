"""Another machine: a real `sshd` on the loopback, with keys, a home and a profile of its own.

It runs as the user of the tests. Where root runs them, `sshd` needs its directory `/run/sshd`, which no test
makes. `ssh` is reached through a program of that name in `client`, which belongs first on the PATH.
"""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from helpers.isolation import home_environment
from helpers.samples import copy_sample
from reverie.profile import Profile
from reverie.services.machines import MachineAddress

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
SSH = shutil.which("ssh")
NAME = "elsewhere"
_START_S = 20.0


def missing() -> str:
    """Why there can be no such machine here; empty where there can be one."""
    if os.name != "posix" or SSHD is None or SSH is None or shutil.which("ssh-keygen") is None:
        return "needs the programs sshd, ssh and ssh-keygen"
    if os.geteuid() == 0 and not Path("/run/sshd").is_dir():
        return "sshd as root needs the directory /run/sshd"
    return ""


@dataclass(slots=True)
class SshMachine:
    """A machine that answers. `end` it."""

    directory: Path
    home: Path
    profile: Profile
    environment: Mapping[str, str]
    """What its `reverie` runs with."""
    client: Path
    """Put this first on the PATH."""
    process: subprocess.Popen[bytes]

    @property
    def address(self) -> MachineAddress:
        return MachineAddress(NAME)

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(_START_S)


def start_machine(directory: Path) -> SshMachine:
    """Start one with the sample home of mux in `directory`."""
    directory.mkdir()
    there, client, bin_ = directory / "there", directory / "client", directory / "bin"
    for each in (there, client, bin_):
        each.mkdir()
    for key in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / key)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    shutil.copy(directory / "user.pub", directory / "authorized")
    port = _free_port()
    kept = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    environment = {**home_environment(there), **kept}
    _script(bin_ / "reverie", environment, [sys.executable, "-P", "-m", "reverie", '"$@"'])
    home = copy_sample("mux-home", there)
    home = home.rename(there / ".mux")
    (directory / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {directory}/host\nPidFile none\nUsePAM no\n"
        f"AuthorizedKeysFile {directory}/authorized\nStrictModes no\nPasswordAuthentication no\n"
        "KbdInteractiveAuthentication no\nPermitRootLogin yes\nMaxStartups 100\nLogLevel VERBOSE\n"
        f"SetEnv HOME={there} PATH={bin_}:/usr/bin:/bin\n"
    )
    host_key = (directory / "host.pub").read_text()
    (directory / "known").write_text(f"[127.0.0.1]:{port} {host_key}")
    (directory / "ssh_config").write_text(
        f"Host {NAME}\n HostName 127.0.0.1\n Port {port}\n User {getpass.getuser()}\n"
        f" UserKnownHostsFile {directory}/known\n GlobalKnownHostsFile none\n IdentitiesOnly yes\n"
        f" IdentityFile {directory}/user\n"
    )
    _script(client / "ssh", {}, [str(SSH), "-F", str(directory / "ssh_config"), '"$@"'])
    with (directory / "sshd.log").open("wb") as log:
        process = subprocess.Popen(
            [str(SSHD), "-D", "-e", "-f", str(directory / "sshd_config")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    profile = Profile(
        *(there / each / "reverie" for each in (".config", ".local/share", ".cache", ".local/state"))
    )
    machine = SshMachine(directory, home, profile, environment, client, process)
    until = time.monotonic() + _START_S
    while True:
        with socket.socket() as trying:
            if trying.connect_ex(("127.0.0.1", port)) == 0:
                return machine
        if process.poll() is not None or time.monotonic() > until:
            machine.end()
            raise AssertionError((directory / "sshd.log").read_text())
        time.sleep(0.02)


def _script(file: Path, environment: Mapping[str, str], command: list[str]) -> None:
    lines = [f"export {name}='{value}'" for name, value in environment.items()]
    file.write_text("\n".join(["#!/bin/sh", *lines, f"exec {' '.join(command)}"]) + "\n")
    file.chmod(0o755)


def _free_port() -> int:
    with socket.socket() as trying:
        trying.bind(("127.0.0.1", 0))
        port: int = trying.getsockname()[1]
        return port
