"""Which files are never opened, by their names and places."""

from __future__ import annotations

from pathlib import Path

import pytest

from reverie.agents.never_opened import never_opened

CREDENTIALS = [
    "/u/.env", "/u/shop/.env.local", "/u/shop/.env.production", "/u/prod.env", "/u/.envrc", "/u/.netrc",
    "/u/_netrc", "/u/.kube/config", "/u/.config/gh/hosts.yml", "/u/.npmrc", "/u/.pypirc",
    "/u/.docker/config.json", "/u/.pgpass", "/u/.bash_history", "/u/.zsh_history", "/u/.python_history",
    "/u/.psql_history", "/u/.ssh/config", "/u/.ssh/id_ed25519", "/u/keys/id_rsa", "/u/keys/id_rsa.bak",
    "/u/tls/server.pem", "/u/tls/server.key", "/u/a.p12", "/u/.aws/credentials", "/u/.aws/config",
    "/u/.azure/msal_token_cache.json", "/u/.config/gcloud/credentials.db", "/u/credentials",
    "/u/credentials.json", "/u/credentials.toml", "/u/.cargo/credentials.toml", "/u/.git-credentials",
    "/u/.claude/.credentials.json", "/u/.codex/auth.json", "/u/.claude.json", "/u/.m2/settings.xml",
    "/u/vault.kdbx", "/u/.gnupg/secring.gpg", "/u/.terraform.d/credentials.tfrc.json", "/u/prod.tfvars",
    "/u/secrets.yaml", "/u/service-account-prod.json", "/u/.vault-token", "/u/.my.cnf", "/u/KUBECONFIG",
    "/u/Server.PEM", "/etc/shadow", "/etc/passwd", "/u/.config/rclone/rclone.conf",
    "/u/.local/share/keyrings/login.keyring", "/u/.huggingface/token",
]  # fmt: skip
SYSTEM = [
    "/proc/self/environ",
    "/proc/1/cmdline",
    "/sys/kernel/x",
    "/dev/zero",
    "/dev/tty",
    "/run/secrets/db",
]
HARMLESS = [
    "/u/CLAUDE.md", "/u/docs/credentials.md", "/u/docs/secrets.md", "/u/.env.example", "/u/.env.sample",
    "/u/keys.md", "/u/tokens.txt", "/u/keyboard.txt", "/u/environment.txt", "/u/history.md",
    "/u/.ssh-notes.md", "/u/kube/config", "/u/docker/config.json", "/u/package.json", "/u/id_mapping.csv",
    "/u/monkey.txt", "/u/keys/server.pub", "/u/gh/readme.txt", "/dev/shm/notes.md", "/processes/a.md",
    "/u/devices.txt", "/u/password-policy.txt",
]  # fmt: skip


@pytest.mark.parametrize("path", CREDENTIALS)
def test_credentials_are_never_opened(path: str) -> None:
    assert never_opened(Path(path))


@pytest.mark.parametrize("path", SYSTEM)
def test_files_of_the_system_are_never_opened(path: str) -> None:
    assert never_opened(Path(path))


@pytest.mark.parametrize("path", HARMLESS)
def test_other_files_may_be_opened(path: str) -> None:
    assert not never_opened(Path(path))


def test_one_path_of_several_is_enough() -> None:
    assert never_opened(Path("/u/notes.md"), Path("/u/.ssh/notes.md"))
