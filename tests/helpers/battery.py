"""Runs the cases of `tests/end2end/battery/*.jsonl`: rules of the agent's format as data, one case a line.

A case is `{"rule": the rule in words, "home": "small" (default) or the name of a sample, "steps": [...]}`;
`"projects"` replaces the project list of the small home. Steps, in order:

    {"hand": {path in the home: content}}      another program writes, or deletes (null)
    {"ask": request, "ok": M}                  one line of `reverie memory`; it succeeds with output M
    {"ask": request, "no": [fragments]}        it is refused; the error holds the fragments
    {"ask": request, "gets": M}                its whole answer is M
    {"line": text, "no": [fragments]}          a raw line
    {"run": [words], "exit": 0, "gets": M, "err": [fragments]}    another command, with --json
    {"disk": {path: content or null}}          what is there now, byte for byte
    {"meta": {logical key: entry or null}}     entries of memory-meta.json, field for field
    {"untouched": true}                        nothing changed (bytes, modes, mtimes) since the last "hand"

Content is text, `{"json": value}`, `{"hex": bytes}`, `{"link": target}` or `{"dir": true}`; a `#` in a path
written with `{"many": n, "text": text}` is numbered from 0000. Anywhere `{"$repeat": [text, times], "$then":
text}` stands for long text and `{"$sha256": text}` for its hash. In an M, objects need hold only what is
named, lists must agree in full, and these stand for a value: `{"$has": [fragments]}`, `{"$lacks":
[fragments]}`, `{"$count": n}`, `{"$with": [items]}`, `{"$absent": true}`.

Whatever a case says, every answer has exactly the keys that its kind may have, and a session in which every
request is refused leaves the home as it was.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from helpers.benches import NOW
from helpers.samples import copy_sample, snapshot

BATTERY = Path(__file__).parent.parent / "end2end" / "battery"
SMALL = [
    ["/projects/demo", {"workspaces": [{"id": "w1", "path": "/src/a"}, {"id": "w2", "path": "/src/b"}]}],
    ["/tmp/we ird:proj", {"workspaces": [{"id": "w3", "path": "/src/c"}]}],
    ["/home/alice/mux", {"workspaces": [{"id": "w4", "path": "/src/d"}]}],
]
_SUCCESSES = ({"output"}, {"content", "sha256"}, {"sha256"}, {"entries"})
_FAILURES = ({"error"}, {"error", "kind"})

Speak = Callable[[Path, Path, Sequence[str]], list[dict[str, Any]]]


def cases(name: str) -> list[dict[str, Any]]:
    """Return the cases of one file of the battery."""
    lines = (BATTERY / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def speak_here(home: Path, profile: Path, lines: Sequence[str]) -> list[dict[str, Any]]:
    """Run `reverie memory` in this process; return one answer for each line."""
    given = io.TextIOWrapper(io.BytesIO("\n".join(lines).encode("utf-8", "surrogatepass")))
    with _standard_input(given):
        code, out, err = run_here(home, profile, "memory")
    assert (code, err) == (0, "")
    return [json.loads(line) for line in out.split("\n") if line]


def run_here(home: Path, profile: Path, *words: str, now: int = NOW) -> tuple[int, str, str]:
    """Run one command in this process; return (exit code, standard output, standard error)."""
    from reverie.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["--home", str(home), "--profile", str(profile), "--now", str(now), *words])
    return code, out.getvalue(), err.getvalue()


def small_home(directory: Path, projects: Any = None) -> Path:
    """A new home `directory/home` with the project paths of the sheet's test vectors, and no memory yet."""
    home = directory / "home"
    (home / "sessions").mkdir(parents=True)
    listed = {"projects": SMALL if projects is None else projects}
    (home / "config.json").write_text(json.dumps(listed, indent=2), "utf-8")
    return home


def play(case: dict[str, Any], directory: Path, speak: Speak = speak_here) -> None:
    """Run one case in `directory`; an `AssertionError` names the rule and the step that does not hold."""
    kind = case.get("home", "small")
    if kind == "small":
        home = small_home(directory, case.get("projects"))
    else:
        home = copy_sample(kind, directory, whole=True)
    _Play(case, home, directory / "profile", speak).run()


def put(home: Path, files: dict[str, Any]) -> None:
    """Write, link or delete files as another program would."""
    for name, content in files.items():
        if isinstance(content, dict) and "many" in content:
            for number in range(content["many"]):
                _put(home / name.replace("#", f"{number:04}"), content["text"])
        else:
            _put(home / name, content)


def expand(value: Any) -> Any:
    """Return `value` with its `$repeat` and `$sha256` replaced by what they stand for."""
    if isinstance(value, dict) and "$repeat" in value:
        text, times = value["$repeat"]
        return text * times + str(value.get("$then", ""))
    if isinstance(value, dict) and "$sha256" in value:
        return hashlib.sha256(str(expand(value["$sha256"])).encode()).hexdigest()
    if isinstance(value, dict):
        return {key: expand(item) for key, item in value.items()}
    return [expand(item) for item in value] if isinstance(value, list) else value


def differences(expected: Any, found: Any, at: str = "answer") -> Iterator[str]:
    """Where `found` is not as `expected`; see the module's docstring for what `expected` may hold."""
    if isinstance(expected, dict) and any(key.startswith("$") for key in expected):
        yield from _special(expected, found, at)
    elif isinstance(expected, dict) and isinstance(found, dict):
        for key, item in expected.items():
            if item == {"$absent": True}:
                if key in found:
                    yield f"{at}.{key} is there: {found[key]!r}"
            elif key not in found:
                yield f"{at}.{key} is missing"
            else:
                yield from differences(item, found[key], f"{at}.{key}")
    elif isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            yield f"{at} has {len(found)} items, not {len(expected)}: {found!r:.2000}"
        for number, (item, other) in enumerate(zip(expected, found, strict=False)):
            yield from differences(item, other, f"{at}[{number}]")
    elif expected != found or isinstance(expected, bool) != isinstance(found, bool):
        yield f"{at} is {found!r:.1000}, not {expected!r:.1000}"


def _special(expected: dict[str, Any], found: Any, at: str) -> Iterator[str]:
    for fragment in expected.get("$has", ()):
        if fragment not in found:
            yield f"{at} lacks {fragment!r}: {found!r:.1000}"
    for fragment in expected.get("$lacks", ()):
        if fragment in found:
            yield f"{at} has {fragment!r}: {found!r:.1000}"
    if "$count" in expected and len(found) != expected["$count"]:
        yield f"{at} has {len(found)} items, not {expected['$count']}"
    for item in expected.get("$with", ()):
        if not any(not [*differences(item, other)] for other in found):
            yield f"{at} has nothing like {item!r}: {found!r:.2000}"


class _Play:
    """The run of one case."""

    def __init__(self, case: dict[str, Any], home: Path, profile: Path, speak: Speak) -> None:
        self._rule = case["rule"]
        self._steps = case["steps"]
        self._home = home
        self._profile = profile
        self._speak = speak
        self._before = snapshot(home)

    def run(self) -> None:
        waiting: list[dict[str, Any]] = []
        for step in self._steps:
            if "ask" in step or "line" in step:
                waiting.append(step)
                continue
            self._session(waiting)
            waiting = []
            self._other(step)
        self._session(waiting)

    def _session(self, steps: list[dict[str, Any]]) -> None:
        if not steps:
            return
        before = snapshot(self._home)
        lines = [step["line"] if "line" in step else json.dumps(expand(step["ask"])) for step in steps]
        answers = self._speak(self._home, self._profile, lines)
        self._check(len(answers) == len(steps), f"{len(steps)} lines, {len(answers)} answers")
        for step, answer in zip(steps, answers, strict=True):
            self._check_answer(step, answer)
        if not any(answer["success"] for answer in answers):
            self._check(snapshot(self._home) == before, "a refused request changed the home")

    def _check_answer(self, step: dict[str, Any], answer: dict[str, Any]) -> None:
        shown = f"{step.get('ask', step.get('line'))!r:.300}"
        others = answer.keys() - {"success"}
        kinds = _SUCCESSES if answer.get("success") is True else _FAILURES
        self._check(others in kinds, f"{shown}: an answer has no such keys: {answer!r:.1000}")
        if "ok" in step:
            expected: Any = {"success": True, "output": step["ok"]}
        elif "no" in step:
            expected = {"success": False, "error": {"$has": step["no"]}}
        else:
            expected = step["gets"]
        self._check_all(differences(expand(expected), answer), shown)

    def _other(self, step: dict[str, Any]) -> None:
        if "hand" in step:
            put(self._home, step["hand"])
            self._before = snapshot(self._home)
        elif "disk" in step:
            for name, content in step["disk"].items():
                self._check_disk(name, content)
        elif "meta" in step:
            entries = json.loads((self._home / "memory-meta.json").read_bytes())["entries"]
            for key, entry in step["meta"].items():
                self._check(entries.get(key) == entry, f"{key} is {entries.get(key)}, not {entry}")
        elif "run" in step:
            self._command(step)
        else:
            self._check(step == {"untouched": True}, f"unknown step {step!r}")
            self._check(snapshot(self._home) == self._before, "the home was touched")

    def _command(self, step: dict[str, Any]) -> None:
        code, out, err = run_here(self._home, self._profile, *step["run"], "--json")
        shown = " ".join(step["run"])
        self._check(code == step.get("exit", 0), f"{shown} ended with {code}: {err}")
        if "gets" in step:
            self._check_all(differences(expand(step["gets"]), json.loads(out)), shown)
        self._check_all(differences({"$has": step.get("err", [])}, err, "stderr"), shown)

    def _check_disk(self, name: str, content: Any) -> None:
        path = self._home / name
        if content is None:
            self._check(not path.is_symlink() and not path.exists(), f"{name} is there")
        elif isinstance(content, dict) and "json" in content:
            self._check_all(differences(content["json"], json.loads(path.read_bytes()), name), name)
        elif content == {"dir": True}:
            self._check(path.is_dir(), f"{name} is no directory")
        else:
            self._check(path.is_file(), f"{name} is missing")
            data = path.read_bytes()
            self._check(data == _bytes(content), f"{name} holds {data[:500]!r}")

    def _check(self, holds: bool, problem: str) -> None:
        assert holds, f"{self._rule}: {problem}"

    def _check_all(self, problems: Iterator[str], shown: str) -> None:
        for problem in problems:
            self._check(False, f"{shown}: {problem}")


@contextlib.contextmanager
def _standard_input(text: io.TextIOWrapper) -> Iterator[None]:
    before, sys.stdin = sys.stdin, text
    try:
        yield
    finally:
        sys.stdin = before


def _put(path: Path, content: Any) -> None:
    if content is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, dict) and "link" in content:
        path.symlink_to(content["link"])
    elif content == {"dir": True}:
        path.mkdir()
    elif isinstance(content, dict) and "json" in content:
        path.write_text(json.dumps(expand(content["json"]), indent=2), "utf-8")
    else:
        path.write_bytes(_bytes(content))


def _bytes(content: Any) -> bytes:
    if isinstance(content, dict) and "hex" in content:
        return bytes.fromhex(content["hex"])
    return str(expand(content)).encode()
