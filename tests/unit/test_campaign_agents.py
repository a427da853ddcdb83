"""The frame of the campaign part `agents`: what it installs, runs, counts and reports. The programs here are
tiny scripts; what the checks themselves find is not tested here."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from campaign.agents import layout, layout_checks, part
from campaign.agents.base import Programs
from campaign.agents.install import Installed, Sources, install

NOTHING = Installed(Programs(), {}, ())


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of commands that comes first; the test writes `npm` into it."""
    commands = tmp_path / "commands"
    commands.mkdir()
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    return commands / "npm"


INSTALLS = """
echo "$@" >> "$LOG"
case "$1" in
view) echo 9.9.9 ;;
config) echo somewhere ;;
install)
  for last; do :; done
  case "$last" in
  *codex*) name=codex ;; *claude*) name=claude ;; bun*) name=bun ;; *) exit 1 ;;
  esac
  mkdir -p node_modules/.bin && printf '#!/bin/sh\\ntrue\\n' > node_modules/.bin/$name
  chmod +x node_modules/.bin/$name ;;
esac
"""


def test_the_pinned_versions_are_installed_once_and_used_again(
    npm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "npm.log"
    monkeypatch.setenv("LOG", str(log))
    script(npm, INSTALLS)
    sources = Sources(tmp_path / "cache")
    first = install(sources)
    assert first.programs.codex
    assert first.programs.claude
    assert first.programs.codex.is_file()
    assert first.versions["Codex"] in first.programs.codex.as_posix()
    installs = [line for line in log.read_text().splitlines() if line.startswith("install")]
    assert len(installs) == 4  # the fourth is loki-mode, which this npm does not have
    log.write_text("")
    again = install(sources)
    assert again.programs == first.programs
    assert [line for line in log.read_text().splitlines() if "codex" in line or "bun" in line] == []
    assert not list((tmp_path / "cache").glob("installing-*"))


def test_the_newest_version_is_asked_for_and_installed_beside_the_pinned_one(
    npm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOG", str(tmp_path / "npm.log"))
    script(npm, INSTALLS)
    pinned = install(Sources(tmp_path / "cache"))
    latest = install(Sources(tmp_path / "cache", latest=True))
    assert latest.versions["Codex"] == "9.9.9"
    assert latest.programs.codex != pinned.programs.codex
    assert pinned.programs.codex
    assert pinned.programs.codex.is_file()


def test_a_registry_out_of_reach_is_a_sentence_without_an_address(npm: Path, tmp_path: Path) -> None:
    script(npm, 'echo "npm error network request to https://example.invalid/x failed" >&2; exit 1')
    told = install(Sources(tmp_path / "cache"))
    assert told.programs == Programs()
    assert "Codex is not there: npm install failed (network request to the registry failed)" in told.missing
    assert not any("://" in sentence for sentence in told.missing)
    assert not list((tmp_path / "cache").glob("codex-*"))


def test_a_package_that_the_registry_does_not_have_is_told_as_that(npm: Path, tmp_path: Path) -> None:
    script(npm, 'printf "npm error code E404\\nnpm error 404 Not Found\\n" >&2; exit 1')
    told = install(Sources(tmp_path / "cache"))
    says = "npm install failed (npm knows no package of this name and version)"
    assert f"loki-mode is not there: {says}" in told.missing


def test_without_npm_every_program_has_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    told = install(Sources(tmp_path / "cache"))
    assert told.programs == Programs()
    assert len(told.missing) == 5
    assert "Claude Code is not there: npm is not installed on this machine" in told.missing


def test_a_package_without_its_command_is_not_kept(npm: Path, tmp_path: Path) -> None:
    script(npm, "true")
    told = install(Sources(tmp_path / "cache"))
    assert told.programs.codex is None
    assert any("no command codex" in sentence for sentence in told.missing)
    assert not list((tmp_path / "cache").glob("codex-*"))


def test_mux_is_laid_out_from_a_named_commit_without_the_libraries_of_its_window(
    npm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOG", str(tmp_path / "npm.log"))
    script(npm, INSTALLS)
    checkout = tmp_path / "checkout"
    (checkout / "src").mkdir(parents=True)
    for name in ("src/a.ts", "tsconfig.json", "tsconfig.main.json", "bunfig.toml", "secret.txt"):
        (checkout / name).write_text("\n")
    libraries = {"ai": "1", "react-dom": "2", "electron": "3"}
    (checkout / "package.json").write_text(json.dumps({"version": "1.2.3", "dependencies": libraries}))
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        subprocess.run([*git, *words], cwd=checkout, check=True)
    told = install(Sources(tmp_path / "cache", mux=checkout, mux_revision="HEAD"))
    assert told.programs.mux
    assert told.versions["mux"].startswith("1.2.3 at ")
    assert json.loads((told.programs.mux / "package.json").read_text())["dependencies"] == {"ai": "1"}
    assert (told.programs.mux / "src" / "a.ts").is_file()
    assert not (told.programs.mux / "secret.txt").exists()

    unknown = install(Sources(tmp_path / "cache", mux=checkout, mux_revision="nowhere"))
    assert unknown.programs.mux is None
    assert any("no git repository with the commit nowhere" in each for each in unknown.missing)


def test_loki_mode_comes_from_a_directory_or_from_the_newest_commit_of_a_mirror(
    npm: Path, tmp_path: Path
) -> None:
    script(npm, "exit 1")
    checkout = tmp_path / "checkout"
    (checkout / "memory").mkdir(parents=True)
    for name in ("memory/engine.py", "demo.gif"):
        (checkout / name).write_text("\n")
    (checkout / "package.json").write_text('{"version": "9.9.0"}')
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        subprocess.run([*git, *words], cwd=checkout, check=True)
    assert install(Sources(tmp_path / "cache", loki=checkout)).programs.loki == checkout
    mirror = tmp_path / "mirror"
    subprocess.run(["git", "clone", "-q", "--bare", checkout, mirror], check=True)
    told = install(Sources(tmp_path / "cache", loki=mirror))
    assert told.programs.loki
    assert told.versions["loki-mode"].startswith("9.9.0 at ")
    assert (told.programs.loki / "memory" / "engine.py").is_file()
    assert not (told.programs.loki / "demo.gif").exists()
    gone = install(Sources(tmp_path / "cache", loki=tmp_path / "nowhere"))
    assert any("there is no directory" in each for each in gone.missing)


# Running


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An importable package for modules of checks, as `campaign.agents` is one."""
    place = tmp_path / "fake_checks"
    place.mkdir()
    (place / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "fake_checks", raising=False)
    return place


def module(package: Path, name: str, body: str) -> None:
    head = "from campaign.agents.base import Outcome\ndef checks(programs, directory):\n"
    (package / f"{name}.py").write_text(head + "".join(f"    {line}\n" for line in body.splitlines()))


def run(tmp_path: Path, name: str, limit: float = 60) -> part.Report:
    return part.run_module(name, NOTHING, tmp_path / "run" / name, "fake_checks", limit)


def is_running(process: int) -> bool:
    """Whether a process lives; one that only waits to be collected does not."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_the_outcomes_of_a_module_are_counted_and_its_problems_are_told(
    tmp_path: Path, package: Path
) -> None:
    module(
        package,
        "good",
        "yield Outcome('looking changes nothing', 12)\n"
        "yield Outcome('a write is loaded', 3, ('x.md is not in the prompt',))\n"
        "yield Outcome.skip('tmux sessions', 'tmux is not there')",
    )
    report = run(tmp_path, "good")
    assert [each.cases for each in report.outcomes] == [12, 3, 0]
    assert report.problems == ("x.md is not in the prompt",)
    lines = report.lines()
    assert "2 rules, 15 cases, problems: 1" in lines[0]
    assert "  looking changes nothing: 12 cases" in lines
    assert "  PROBLEM: x.md is not in the prompt" in lines
    assert "  tmux sessions: not tried: tmux is not there" in lines


def test_of_many_problems_of_one_rule_the_first_are_told_and_all_counted(
    tmp_path: Path, package: Path
) -> None:
    module(package, "poor", "yield Outcome('bytes', 30, tuple(f'file {n}' for n in range(30)))")
    report = run(tmp_path, "poor")
    assert len(report.problems) == 30
    assert "problems: 30" in report.lines()[0]
    assert report.lines()[-1] == "  and 10 more problems"
    assert "  PROBLEM: file 0" in report.lines()


def test_a_module_that_is_not_there_is_reported_as_not_run(tmp_path: Path, package: Path) -> None:
    report = run(tmp_path, "later")
    assert report.lines() == ["**later**: not run (there is no such module yet)"]
    assert not report.problems


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            "yield Outcome('one', 1)\nraise ValueError('the transcript has no end')",
            "the transcript has no end",
        ),
        ("yield Outcome('one', 1)\nimport os; os._exit(3)", "ended with code 3"),
        ("yield Outcome('one', 1)\nyield 5", "TypeError"),
    ],
)
def test_a_broken_module_is_a_problem_and_what_it_found_before_counts(
    tmp_path: Path, package: Path, body: str, says: str
) -> None:
    module(package, "broken", body)
    report = run(tmp_path, "broken")
    assert report.outcomes[0].rule == "one"
    assert len(report.problems) == 1
    assert says in report.problems[0]


def test_a_module_that_cannot_be_imported_is_a_problem(tmp_path: Path, package: Path) -> None:
    (package / "torn.py").write_text("import a_module_that_nobody_has\n")
    report = run(tmp_path, "torn")
    assert len(report.problems) == 1
    assert "a_module_that_nobody_has" in report.problems[0]
    assert not report.not_run


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the system does not show environments")
def test_a_module_that_takes_too_long_is_ended_with_every_process_of_its_own(
    tmp_path: Path, package: Path
) -> None:
    child = tmp_path / "child.pid"
    module(
        package,
        "slow",
        "import subprocess, time\n"
        "from pathlib import Path\n"
        "started = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        f"Path({str(child)!r}).write_text(str(started.pid))\n"
        "yield Outcome('one', 1)\n"
        "time.sleep(60)",
    )
    started = time.monotonic()
    report = run(tmp_path, "slow", limit=3)
    assert time.monotonic() - started < 30
    assert "slow took longer than 3 s and was ended" in report.problems[0]
    assert report.outcomes[0].rule == "one"
    assert report.notes == ("processes that were still running and were ended: sleep",)
    assert not is_running(int(child.read_text()))


def test_a_module_has_a_home_of_its_own_and_nothing_of_this_machines_agents(
    tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "CODEX_HOME",
        "CLAUDE_CONFIG_DIR",
        "ANTHROPIC_API_KEY",
        "HTTPS_PROXY",
        "https_proxy",
        "TMUX",
    ):
        monkeypatch.setenv(name, "of this machine")
    module(
        package,
        "looks",
        "import os, tempfile\n"
        "from pathlib import Path\n"
        "lines = [f'{k}={v}' for k, v in os.environ.items() if v == 'of this machine']\n"
        "lines += [f'HOME={Path.home()}', f'TMP={tempfile.gettempdir()}']\n"
        "lines += ['PROXY=' + os.environ['NO_PROXY'], f'WORK={directory}']\n"
        "yield Outcome('looks', 1, tuple(lines))",
    )
    own = tmp_path / "run" / "looks"
    assert run(tmp_path, "looks").problems == (
        f"HOME={own / 'home'}",
        f"TMP={own / 'tmp'}",
        "PROXY=127.0.0.1,localhost",
        f"WORK={own / 'work'}",
    )


def test_the_part_is_kept_without_problems_and_broken_with_one(
    tmp_path: Path, package: Path, npm: Path
) -> None:
    script(npm, "exit 1")
    module(package, "fine", "yield Outcome('fine', 1200)")
    module(package, "bad", "yield Outcome('bad', 1, ('it is not',))")
    sources = Sources(tmp_path / "cache")
    told, kept = part.run(tmp_path / "a", sources, modules=("fine", "later"), package="fake_checks")
    assert kept
    assert "1,200 cases against real programs, problems: 0" in told
    assert any(line.startswith("Codex is not there") for line in told)
    assert "nothing was checked against a real program" not in told
    told, kept = part.run(tmp_path / "c", sources, modules=("later",), package="fake_checks")
    assert told[-1] == "nothing was checked against a real program"
    told, kept = part.run(tmp_path / "b", sources, modules=("fine", "bad"), package="fake_checks")
    assert not kept
    assert "1,201 cases against real programs, problems: 1" in told


def test_a_program_that_writes_into_the_persons_own_home_is_a_problem(
    tmp_path: Path, package: Path, npm: Path
) -> None:
    script(npm, "exit 1")
    (Path.home() / ".claude").mkdir()
    module(
        package,
        "stray",
        f"from pathlib import Path\nPath({str(Path.home())!r}, '.codex').mkdir()\nyield Outcome('fine', 1)",
    )
    told, kept = part.run(tmp_path / "a", Sources(tmp_path / "c"), modules=("stray",), package="fake_checks")
    assert not kept
    assert "PROBLEM: made in the home of the person who runs this: .codex" in told


def test_every_module_of_the_list_has_checks_or_is_not_there_yet() -> None:
    for name in part.MODULES:
        if (Path(part.__file__).parent / f"{name}.py").exists():
            done = subprocess.run(
                [sys.executable, "-c", f"from campaign.agents.{name} import checks"],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr


# Layouts


def codex_home(home: Path) -> Path:
    """A home of Codex as far as the known layout goes."""
    day = home / "sessions" / "2026" / "11" / "22"
    day.mkdir(parents=True)
    name = "rollout-2026-11-22T09-43-27-01a202a3-9fdf-7bf0-aea4-3591453f881b.jsonl"
    row = {"type": "session_meta", "payload": {"id": "x", "cwd": "/x"}}
    (day / name).write_text(json.dumps(row) + "\n")
    with sqlite3.connect(home / "memories_v2_1.sqlite") as books:
        for table, columns in (("_sqlx_migrations", "version"), ("jobs", "kind, job_key, status")):
            books.execute(f"CREATE TABLE {table} ({columns})")
    books.close()
    return home


def known(tmp_path: Path) -> layout.Facts:
    file = tmp_path / "layouts.json"
    layout.learn("codex", "1.0", [codex_home(tmp_path / "known")], file)
    return layout.known_layout("codex", file)


def seen(home: Path) -> layout.Facts:
    return layout.read_layout(home, layout.SHAPES["codex"])


def test_a_home_of_the_known_layout_differs_in_nothing_whatever_its_ids_and_days_are(tmp_path: Path) -> None:
    home = codex_home(tmp_path / "home")
    day = home / "sessions" / "2027" / "01" / "02"
    day.mkdir(parents=True)
    (day / "rollout-2027-01-02T10-00-00-01b302a3-9fdf-7bf0-aea4-3591453f8000.jsonl").write_text("")
    assert layout.differences(known(tmp_path), seen(home)) == []


def test_each_difference_of_a_layout_has_a_name(tmp_path: Path) -> None:
    home = codex_home(tmp_path / "home")
    (home / "memories_v3" / "deep").mkdir(parents=True)
    rollout = next(home.rglob("rollout-*.jsonl"))
    with rollout.open("a") as file:
        file.write(json.dumps({"type": "session_meta", "payload": {"mood": "x"}}) + "\n")
        file.write(json.dumps({"type": "event_msg", "payload": {"type": "dreamt"}}) + "\n")
    with sqlite3.connect(home / "memories_v2_1.sqlite") as books:
        books.execute("CREATE TABLE shelves (id)")
        books.execute("ALTER TABLE jobs ADD COLUMN moon")
        books.execute("ALTER TABLE jobs DROP COLUMN status")
    books.close()
    assert sorted(layout.differences(known(tmp_path), seen(home))) == [
        "no column status in jobs of memories_v2_1.sqlite any more",
        "unknown column moon in jobs of memories_v2_1.sqlite",
        "unknown directory memories_v3 in the home",
        "unknown key mood in session_meta in transcripts",
        "unknown kind of record event_msg dreamt in transcripts",
        "unknown table shelves in memories_v2_1.sqlite",
    ]


def test_a_difference_is_told_with_the_program_and_its_version(tmp_path: Path) -> None:
    program = script(tmp_path / "codex-of-tomorrow", "echo codex-cli 0.170.0")
    home = codex_home(tmp_path / "home")
    (home / "memories_v3").mkdir()

    def make(_driver: object, _program: Path, _directory: Path) -> list[Path]:
        return [home, home]

    outcome = layout_checks.check("codex", program, "layout", make, tmp_path)
    assert "Codex 0.170.0: unknown directory memories_v3 in the home" in outcome.problems
    assert len(set(outcome.problems)) == len(outcome.problems)
    assert outcome.cases > 10
    assert layout_checks.check("codex", None, "layout", make, tmp_path).skipped == "Codex is not there"
    later = layout_checks.check("codex", program, "driver_of_tomorrow", make, tmp_path)
    assert later.skipped == "its driver driver_of_tomorrow is not there yet"


def test_what_cannot_be_read_is_a_difference_and_no_crash(tmp_path: Path) -> None:
    home = codex_home(tmp_path / "home")
    (home / "memories_v2_1.sqlite").write_bytes(b"no database at all, but long enough to be read as one")
    next(home.rglob("rollout-*.jsonl")).write_bytes(b'{"type": \xff\nnot JSON\n[1]\n')
    told = layout.differences(known(tmp_path), seen(home))
    assert any(line.startswith("unknown table <unreadable: ") for line in told)


def test_reading_a_layout_opens_no_credential_and_changes_nothing(tmp_path: Path) -> None:
    home = codex_home(tmp_path / "home")
    (home / "auth.json").write_text('{"token": "x"}')
    (home / "auth.json").chmod(0)
    names = sorted(path.name for path in home.rglob("*"))
    facts = seen(home)
    assert "auth.json" in facts["entries"][""]
    assert "token" not in json.dumps({kind: list(map(sorted, each.values())) for kind, each in facts.items()})
    assert sorted(path.name for path in home.rglob("*")) == names


def test_the_known_layouts_hold_names_and_no_content() -> None:
    told = layout.KNOWN.read_text("utf-8")
    assert set(json.loads(told)) == set(layout.SHAPES)
    assert "/work/" not in told
    assert not any(word in told for word in ("harbour", "lighthouse", "alpha", "mia"))
