"""Commands in processes of their own, on a home alone and on the same home with an engine that runs."""

from __future__ import annotations

import difflib
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from helpers.benches import contents
from helpers.forked_commands import run_command
from reverie.engine.channel import CallMessage
from reverie.engine.client import EngineClient
from reverie.engine.engine import ProfileEngine
from reverie.engine.process import serve
from reverie.engine.reach import connect
from reverie.engine.server import CallControl
from reverie.profile import Profile

_RUN_ID = re.compile(r"\b1\d{12}-[0-9a-f]{8}\b")
_NEW = re.compile(
    r"\b(?:179[5-9]|1[89]\d\d)\d{9}\b"  # milliseconds
    r"|\b20\d\d-\d\d-\d\d[T ]\d\d[:-]\d\d(?:[:-]\d\d(?:\.\d+)?)?Z?"
    r"|\b(?:\d+ (?:seconds?|minutes?|min|hours?|h) ago|just now)\b"
    r"|(?<=\"durationMs\": )\d+"
    r"|\b[\d.]+ [KMGT]iB(?= are free)"  # others write there, too
    r"|(?<=, score )\d[-\d.e]*"  # it fades with time
    r"|(?<=\"id\": \")[0-9a-f]{16}(?=\")|(?<=/traces/)[0-9a-f]{16}"  # of a home
)


@dataclass(frozen=True)
class Answer:
    """What one command answered."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str


class Commands:
    """Runs commands on one home; `words`: what each begins with."""

    def __init__(self, home: Path, profile: Path) -> None:
        self.home = home
        self.profile = profile
        self.answers: list[Answer] = []

    def __call__(self, *words: str, given: str = "") -> Answer:
        options = ("--profile", self.profile, "--home", self.home)
        done = run_command(*options, *words, given=given, directory=self.home.parent)
        self.answers.append(Answer(words, done.returncode, done.stdout, done.stderr))
        return self.answers[-1]


Session = Callable[[Commands], None]


@dataclass(frozen=True)
class Compared:
    """What a session of commands came to, ids and times aside."""

    answers: tuple[Answer, ...]
    files: dict[str, str]


def alone_and_with_engine(
    make_home: Callable[[Path], Path], directory: Path, session: Session, *, settings: str = ""
) -> tuple[Compared, Compared, list[str]]:
    """Run the same session twice at one place, alone and with an engine; also return what that was asked.

    `settings` is the TOML of the profile's settings.
    """
    _new_profile(directory / "profile", settings)
    alone = _one(make_home, directory, session)
    _new_profile(directory / "profile", settings)
    with running_engine(directory / "profile") as asked:
        beside = _one(make_home, directory, session)
    return alone, beside, asked


def _new_profile(directory: Path, settings: str) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    if settings:
        file = Profile.under(directory).settings_file
        file.parent.mkdir(parents=True)
        file.write_text(settings, encoding="utf-8")


def _one(make_home: Callable[[Path], Path], directory: Path, session: Session) -> Compared:
    place = directory / "place"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    commands = Commands(make_home(place), directory / "profile")
    session(commands)
    plain = _Plain()
    answers = tuple(
        Answer(tuple(map(plain, each.words)), each.code, plain(each.out), plain(each.err))
        for each in commands.answers
    )
    files = contents(commands.home)
    return Compared(answers, {plain(name): plain(files[name].decode("latin-1")) for name in sorted(files)})


class _Plain:
    """Texts with the ids of runs numbered as they come, and without the times of now."""

    def __init__(self) -> None:
        self._runs: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        named = _RUN_ID.sub(lambda found: self._runs.setdefault(found[0], f"RUN{len(self._runs)}"), text)
        return _NEW.sub("NEW", named)


@contextmanager
def running_engine(directory: Path) -> Iterator[list[str]]:
    """The engine of the profile in `directory`, in this process, which a client holds; what it is asked."""
    profile = Profile.under(directory)
    asked: list[str] = []
    switching, run_apart = sys.getswitchinterval(), ProfileEngine.run_apart

    def noted(engine: ProfileEngine, call: CallMessage, control: CallControl) -> bytes | None:
        asked.append(call.method)
        return run_apart(engine, call, control)

    ready = threading.Event()
    serving = threading.Thread(target=partial(serve, profile, ready=ready.set, linger_s=0.05))
    ProfileEngine.run_apart = noted  # type: ignore[method-assign]
    try:
        serving.start()
        assert ready.wait(60)
        holding = EngineClient(partial(connect, profile))
        holding.connect()
        try:
            yield asked
        finally:
            holding.stop()
            serving.join(60)
    finally:
        ProfileEngine.run_apart = run_apart  # type: ignore[method-assign]
        sys.setswitchinterval(switching)


def differences(alone: Compared, beside: Compared) -> list[str]:
    """Alone `-`, with an engine `+`; none: they are the same."""
    found: list[str] = []
    for one, other in zip(alone.answers, beside.answers, strict=True):
        for name in ("words", "code", "out", "err"):
            found += _unlike(f"{' '.join(one.words)}: {name}", getattr(one, name), getattr(other, name))
    for name in sorted(alone.files.keys() | beside.files.keys()):
        found += _unlike(name, alone.files.get(name), beside.files.get(name))
    return found


def _unlike(name: str, one: object, other: object) -> list[str]:
    if one == other:
        return []
    lines = difflib.unified_diff(str(one).splitlines(), str(other).splitlines(), name, name, "", "", 0, "")
    return list(lines)


def last_run(commands: Commands) -> str:
    """The id of the newest run."""
    found = re.search(_RUN_ID, commands("runs", "--limit", "1").out)
    assert found is not None
    return found[0]
