"""Installs the programs that the checks run, into a cache directory that the next run uses again.

Codex, Claude Code, bun and loki-mode are published packages and come through npm as it is set up on this
machine. mux's memory services are laid out from a git checkout (or a bare mirror) whose path a person gives,
with the libraries they need installed by bun.

Invariants: nothing is written outside of the cache. An installation is made beside its place and renamed when
it is complete, so that an interrupted one is never used. Failure: what cannot be installed is None in
`Programs`, and a sentence says why; nothing raises.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .base import Programs

NPM_LIMIT_S = 900.0
MUX_REVISION = "f2160b194"
"""The commit of mux that its checks were written against."""
_HEAVY = (
    *("electron", "duckdb", "sharp", "radix", "react", "novnc", "ghostty", "lottie", "recharts", "xterm"),
    *("node-pty", "happy-dom", "ciao", "dnd-kit", "motion", "lucide", "streamdown", "rehype", "remark"),
    "posthog",
)
"""Libraries of mux's window and native add-ons, by a part of their name; its services need none of them."""
# A mirror may lack large files, and no check needs a picture.
_NO_PICTURES = (".", *(f":(exclude,glob)**/*.{end}" for end in ("gif", "mp4", "webm", "png", "jpg")))
_ADDRESS = re.compile(r"\b[a-z+]+://\S+")


@dataclass(frozen=True, slots=True)
class Published:
    """A program on npm."""

    title: str
    """Its name as its maker writes it."""
    package: str
    command: str
    """The command, or for a program that is used as a directory the name of its package's directory."""
    version: str
    """The version that the checks were written against."""


CODEX = Published("Codex", "@openai/codex", "codex", "0.169.0")
CLAUDE = Published("Claude Code", "@anthropic-ai/claude-code", "claude", "2.1.331")
BUN = Published("bun", "bun", "bun", "1.4.5")
LOKI = Published("loki-mode", "loki-mode", "loki", "9.22.12")


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the programs come from."""

    cache: Path
    latest: bool = False
    """The newest published versions instead of those that the checks were written against."""
    mux: Path | None = None
    """A git checkout or bare mirror of mux."""
    mux_revision: str = ""
    """Any name git knows for a commit; empty for `MUX_REVISION`, or the newest commit with `latest`."""
    loki: Path | None = None
    """A directory, git checkout or bare mirror of loki-mode; None to try npm."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What could be installed."""

    programs: Programs
    versions: Mapping[str, str]
    """The version of each program that is there, by title."""
    missing: tuple[str, ...]
    """A sentence for each program that is not there."""


class _Missing(Exception):
    """A program cannot be had; the text says why."""


def default_cache() -> Path:
    """Where programs are kept when nobody says otherwise."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "reverie" / "campaign-agents"


def install(sources: Sources) -> Installed:
    """Install what is not in the cache yet."""
    cache = sources.cache.absolute()
    cache.mkdir(parents=True, exist_ok=True)
    versions: dict[str, str] = {}
    missing: list[str] = []

    def command(published: Published) -> Path | None:
        try:
            version, place = _from_npm(published, sources.latest, cache)
        except _Missing as why:
            missing.append(f"{published.title} is not there: {why}")
            return None
        versions[published.title] = version
        return place / "node_modules" / ".bin" / published.command

    codex, claude, bun = command(CODEX), command(CLAUDE), command(BUN)
    mux = loki = None
    try:
        mux, versions["mux"] = _mux(sources, cache, bun)
    except _Missing as why:
        missing.append(f"mux is not there: {why}")
    try:
        loki, versions["loki-mode"] = _loki(sources, cache)
    except _Missing as why:
        missing.append(f"loki-mode is not there: {why}")
    return Installed(Programs(codex, claude, bun, mux, loki), versions, tuple(missing))


def without_foreign_hosts(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with the loopback reached directly, whatever proxy there is."""
    return {**environment, "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}


# npm


def _from_npm(published: Published, latest: bool, cache: Path) -> tuple[str, Path]:
    version = _npm(cache, cache, "view", published.package, "version") if latest else published.version
    place = cache / f"{published.command}-{version}"
    if not place.is_dir():
        with tempfile.TemporaryDirectory(dir=cache, prefix="installing-") as new:
            part = Path(new, "program")
            part.mkdir()
            (part / "package.json").write_text('{"private": true}\n')
            wanted = f"{published.package}@{version}"
            _npm(cache, part, "install", "--no-audit", "--no-fund", "--loglevel=error", wanted)
            if not _is_there(published, part):
                raise _Missing(f"npm installed {wanted}, which has no command {published.command}")
            _finish(part, place)
    return version, place


def _is_there(published: Published, place: Path) -> bool:
    return (place / "node_modules" / ".bin" / published.command).exists()


def _npm(cache: Path, directory: Path, *arguments: str) -> str:
    """What npm prints. It keeps its own settings, but has its cache and its home in ours."""
    npm = shutil.which("npm")
    if npm is None:
        raise _Missing("npm is not installed on this machine")
    own = next((v for name, v in os.environ.items() if name.lower() == "npm_config_userconfig"), "")
    environment = {
        **os.environ,
        "HOME": str(_home(cache)),
        "npm_config_userconfig": own or str(Path.home() / ".npmrc"),
        "npm_config_cache": str(cache / "npm"),
        "npm_config_update_notifier": "false",
        "npm_config_fetch_retries": "1",
    }
    done = _run([npm, *arguments], directory, without_foreign_hosts(environment))
    return done.stdout.strip()


def _run(
    command: Sequence[str | Path], directory: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    name = " ".join([Path(command[0]).name, str(command[1])])
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=NPM_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _Missing(f"{name} took longer than {NPM_LIMIT_S:.0f} s") from None
    except OSError as error:
        raise _Missing(f"{name} could not start ({error.strerror})") from None
    if done.returncode:
        raise _Missing(f"{name} failed ({_reason(done.stderr or done.stdout)})")
    return done


def _reason(printed: str) -> str:
    """The line of a program's output that says most, without addresses."""
    if "E404" in printed:
        return "npm knows no package of this name and version"
    lines = [re.sub(r"^(npm )?(error|ERR!|fatal:) ?", "", line).strip() for line in printed.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("A complete log", "npm warn"))]
    told = next((line for line in lines if " " in line), lines[0] if lines else "it said nothing")
    return _ADDRESS.sub("the registry", told)[:200]


def _home(cache: Path) -> Path:
    home = cache / "home"
    home.mkdir(exist_ok=True)
    return home


def _finish(part: Path, place: Path) -> None:
    try:
        part.rename(place)
    except OSError:
        if not place.is_dir():  # another run was faster
            raise


# mux and loki-mode


def _mux(sources: Sources, cache: Path, bun: Path | None) -> tuple[Path, str]:
    if sources.mux is None:
        raise _Missing("give a git checkout of it with --mux-checkout or REVERIE_MUX_CHECKOUT")
    if bun is None:
        raise _Missing("its services run under bun, which is not there")
    commit = _commit(sources.mux, sources.mux_revision or ("HEAD" if sources.latest else MUX_REVISION))
    place = cache / f"mux-{commit[:12]}"
    if not place.is_dir():
        with tempfile.TemporaryDirectory(dir=cache, prefix="installing-") as new:
            part = Path(new, "mux")
            names = ("src", "package.json", "tsconfig.json", "tsconfig.main.json", "bunfig.toml")
            _lay_out(sources.mux, commit, part, names)
            _keep_what_services_need(part / "package.json")
            environment = {
                **os.environ,
                "HOME": str(_home(cache)),
                "BUN_INSTALL_CACHE_DIR": str(cache / "bun-packages"),
                # bun does not read npm's own settings in another home.
                "npm_config_registry": _npm(cache, cache, "config", "get", "registry"),
            }
            words: list[str | Path] = [bun, "install", "--production", "--ignore-scripts"]
            _run(words, part, without_foreign_hosts(environment))
            _finish(part, place)
    agent = Path(__file__).with_name("mux_agent.ts")
    if agent.is_file():
        shutil.copyfile(agent, place / "agent.ts")
    return place, f"{_version_in(place)} at {commit[:12]}"


def _loki(sources: Sources, cache: Path) -> tuple[Path, str]:
    if sources.loki is None:
        version, place = _from_npm(LOKI, sources.latest, cache)
        return place / "node_modules" / LOKI.package, version
    if not sources.loki.is_dir():
        raise _Missing(f"there is no directory {sources.loki}")
    if (sources.loki / "package.json").is_file():
        return sources.loki.absolute(), _version_in(sources.loki)
    commit = _commit(sources.loki, "HEAD")
    place = cache / f"loki-mode-{commit[:12]}"
    if not place.is_dir():
        with tempfile.TemporaryDirectory(dir=cache, prefix="installing-") as new:
            _lay_out(sources.loki, commit, Path(new, "loki"), _NO_PICTURES)
            _finish(Path(new, "loki"), place)
    return place, f"{_version_in(place)} at {commit[:12]}"


def _commit(repository: Path, revision: str) -> str:
    if not repository.is_dir():
        raise _Missing(f"there is no directory {repository}")
    words = ["git", "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"]
    try:
        return _run(words, repository, os.environ).stdout.strip()
    except _Missing:
        raise _Missing(f"{repository} is no git repository with the commit {revision}") from None


def _lay_out(repository: Path, commit: str, place: Path, names: Sequence[str]) -> None:
    """Write those files of a commit to `place` that `names` (git's path specifications) select."""
    place.mkdir()
    archive = place.with_name("commit.tar")
    _run(["git", "archive", "--format=tar", f"--output={archive}", commit, *names], repository, os.environ)
    with tarfile.open(archive) as tar:
        # Python before 3.11.4 has no filters; the archive is git's own, of a commit that was named by hand.
        if hasattr(tarfile, "data_filter"):
            tar.extractall(place, filter="data")
        else:
            tar.extractall(place)


def _keep_what_services_need(package: Path) -> None:
    told = json.loads(package.read_text("utf-8"))
    for name in ("patchedDependencies", "trustedDependencies"):
        told.pop(name, None)
    told["devDependencies"] = {}
    told["dependencies"] = {
        name: version
        for name, version in told["dependencies"].items()
        if not any(part in name for part in _HEAVY)
    }
    package.write_text(json.dumps(told, indent=1), "utf-8")


def _version_in(place: Path) -> str:
    try:
        version = json.loads((place / "package.json").read_text("utf-8"))["version"]
    except (OSError, ValueError, LookupError, TypeError):
        return "an unknown version"
    return str(version)
