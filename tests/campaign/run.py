"""The campaign: the full counts that the promises are made with, and a report of what came of them.

`python packaging/dev.py campaign` runs it. Each part is the code the suite runs with small counts. Exit 1
when any promise was broken.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from campaign import cards, churn, claims, faults, leaks, mutations, paths, repositories, sweep, whole_suite
from campaign.agents import part as agents_part
from campaign.agents.install import Sources, default_cache
from helpers import ssh_machine
from helpers.claude_home import ClaudeHomeMaker, look_at_many
from helpers.co_typists import run_co_typists
from helpers.counters import count_in_two_processes
from helpers.crowd import crowd as run_crowd
from helpers.engine_kills import cut_connections, kill_engines
from helpers.extraction_kills import run_kills as run_extraction_kills
from helpers.hostile_frames import send_hostile_frames
from helpers.kills import a_plan, run_kills
from helpers.long_rollouts import measured
from helpers.samples import copy_sample
from helpers.suspended import suspend_all
from helpers.typists import run_typists

Part = Callable[[Path], tuple[list[str], bool]]


def kills(directory: Path) -> tuple[list[str], bool]:
    """At least 200 kills: every named step of every job, and random moments."""
    tally = run_kills(directory, a_plan(each_step=6, at_random=25), seed=20_261_121)
    return tally.lines(), not tally.problems and sum(tally.kills.values()) >= 200


def counters(directory: Path) -> tuple[list[str], bool]:
    """2 x 2,000 usage updates and 2 x 200 coverage updates."""
    counted = count_in_two_processes(copy_sample("mux-home", directory), directory / "profile", 2000, 200)
    return [
        f"{counted.uses} usage and {counted.coverages} coverage updates by two processes",
        f"problems: {len(counted.problems)}",
        *counted.problems,
    ], not counted.problems


def drafts(directory: Path) -> tuple[list[str], bool]:
    """100 windows killed while somebody types: every draft is offered at the next start, byte for byte."""
    tally = run_typists(directory, kills=70, at_random=30, seed=20_261_121)
    return tally.lines(), not tally.problems and tally.kills == 100


def engine(directory: Path) -> tuple[list[str], bool]:
    """200 kills of the engine under a window with text typed, runs under way, trees loading; 100,000 bad
    frames sent to both ends of its wire."""
    sent = send_hostile_frames(directory, frames=100_000, seed=20_261_125)
    tally = kill_engines(directory, kills=200, seed=20_261_122)
    kept = not tally.problems and tally.kills.total() == 200
    return [*tally.lines(), *sent.lines()], kept and not sent.problems


def coediting(directory: Path) -> tuple[list[str], bool]:
    """10,000 rounds of one person typing and another rewriting the same file, 400 more in a real window."""
    from reverie.ui.app import make_application

    make_application()
    tally = run_co_typists(directory, rounds=10_000, seed=20_261_121)
    told, kept = _in_full("tests/ui/test_ui_co_typists.py", "400 rounds in a real window")
    return [*tally.lines(), *told], kept and not tally.problems and tally.rounds == 10_000


def hostile(_directory: Path) -> tuple[list[str], bool]:
    """5,000 random command sequences of a hostile model against the rails."""
    return _in_full("tests/unit/jobs/consolidate/test_hostile_model.py", "5000 sequences")


def programs(_directory: Path) -> tuple[list[str], bool]:
    """Two programs and a window write 1,000 times each; 20,000 random and hostile calls and messages."""
    return _in_full("tests/unit/memory_server", "3 x 1,000 writes, 20,000 hostile calls and messages")


def tables(_directory: Path) -> tuple[list[str], bool]:
    """The tables of which the suite tries a share, in full."""
    told, kept = list[str](), True
    project = Path(__file__).parent.parent.parent
    for file in sorted((project / "tests").rglob("test_*.py")):
        if "a_share(" in file.read_text(encoding="utf-8"):
            name = file.relative_to(project).as_posix()
            more, good = _in_full(name, name)
            told, kept = [*told, *more], kept and good
    return told, kept


def writer(_directory: Path) -> tuple[list[str], bool]:
    """The memory writer killed at every step of a write; 200 turns seen by two processes."""
    return _in_full("tests/end2end/test_writer.py", "kills at each step of a write, 200 turns for two")


def extraction(directory: Path) -> tuple[list[str], bool]:
    """84 extractions killed at named steps; every fault of a service in both stages; a rollout of 100 MB."""
    tally = run_extraction_kills(directory, 84, seed=20_261_121)
    told, kept = _in_full("tests/end2end/test_extract_model.py", "every fault in both stages")
    short, long = (measured(directory / f"{size}-mb", size << 20) for size in (25, 100))
    small = long.peak_mib < 150
    linear = long.seconds < 8 * short.seconds
    told += [f"100 MB: {long.peak_mib:.0f} MiB, {long.seconds:.1f} s; 25 MB: {short.seconds:.1f} s"]
    return [*tally.lines(), *told], kept and small and linear and not tally.problems


def notes(_directory: Path) -> tuple[list[str], bool]:
    """Session notes killed at every step of a write; a transcript of 100 MB in bounded memory."""
    told, kept = _in_full("tests/end2end/test_notes.py", "kills at each step of a write of session notes")
    more, small = _in_full("tests/unit/agents/test_claude_reading.py", "a transcript of 100 MB")
    return [*told, *more], kept and small


def tour(_directory: Path) -> tuple[list[str], bool]:
    """Every picture of the tour is taken, nothing in it is cut off, pale, nameless or out of reach, and
    only a copy is touched."""
    told, kept = _in_full("tests/ui/test_ui_tour.py", "every picture of the tour")
    more, clean = _in_full("tests/ui/test_ui_audit.py", "every page and dialog in three looks")
    return [*told, *more], kept and clean


def late(_directory: Path) -> tuple[list[str], bool]:
    """The tests of the window twice, with a watcher and jobs that are late."""
    told, kept = list[str](), True
    for seed in ("1", "2"):
        environment = {"REVERIE_LATE_SEED": seed, "PYTHONPATH": str(Path(__file__).parent.parent)}
        options = ("-n3", "-p", "helpers.late_views")
        more, good = _in_full("tests/ui", f"late by chance, seed {seed}", *options, **environment)
        told, kept = [*told, *more], kept and good
    return told, kept


def claude(directory: Path) -> tuple[list[str], bool]:
    """500 projects with 5,000 sessions, 3 GB of transcripts; the list reads the heads of a bounded few."""
    seen = look_at_many(ClaudeHomeMaker(directory), projects=500, sessions=10, size=600_000)
    opened = seen.transcripts_opened
    told = [
        f"{seen.workspaces:,} sessions, beginnings of transcripts read: {len(opened)}",
        f"names of the first place after {seen.tree_s:.2f} s, all places after {seen.all_s:.2f} s",
    ]
    return told, seen.workspaces == 5_000 and len(opened) == len(set(opened)) <= 500 * 5


def _in_full(tests: str, counts: str, *options: str, **environment: str) -> tuple[list[str], bool]:
    """Tests that make their full counts in a campaign. With an environment of their own: that one instead."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options, tests],
        cwd=Path(__file__).parent.parent.parent,
        env={**os.environ, **(environment or {"REVERIE_TEST_PROFILE": "campaign"})},
        capture_output=True,
        text=True,
        check=False,
    )
    last = [line for line in done.stdout.splitlines() if line.strip()][-1:]
    return [counts, *(last if done.returncode else ["problems: 0"])], done.returncode == 0


def failures(directory: Path) -> tuple[list[str], bool]:
    """20,000 texts with something private in them; 2 x 500 patterns by two writers of one file."""
    from helpers.loki_home import LokiMaker
    from helpers.pattern_writers import write_in_two_processes
    from helpers.planted import many_survivors
    from reverie.clock import system_clock
    from reverie.compose import open_parts
    from reverie.profile import Profile
    from reverie.services.failures import RecordEdits

    left = many_survivors(20_000, seed=20_261_121)
    maker = LokiMaker(directory / "project")
    maker.episode(1)
    parts = open_parts(maker.project, Profile.under(directory / "profile"), system_clock)
    lost = write_in_two_processes(maker, RecordEdits(parts), 500)
    return [f"{len(left)} planted things survived", f"{len(lost)} patterns were lost", *left, *lost], not (
        left or lost
    )


def real(directory: Path) -> tuple[list[str], bool]:
    """Marks and search on memories that agents wrote in public repositories, laid out by
    `labelled/real/extract.py` (`--real-notes`); invented secrets and injections without it, too; and
    consolidation of successive versions (`--repositories`)."""
    from labelled.real import answers, measure, versions
    from labelled.real.extract import listed_repositories, read_notes

    told, kept = measure.recall()
    if REAL_NOTES is None:
        return [*told, "no real notes: name where they are with --real-notes"], False
    notes = read_notes(REAL_NOTES)
    listed, there = set(listed_repositories()), {note.repository for note in notes}
    told.append(
        f"{len(listed & there)} of {len(listed)} listed repositories are here, {len(there - listed)} others"
    )
    more, marked = measure.marks(notes)
    found, answered = answers.figures(directory, notes)
    lines, done = [*told, *more, *found], kept and marked and answered
    if REPOSITORIES is None:
        return [*lines, "no versions: name bare repositories with --repositories"], False
    places = sorted(each for each in REPOSITORIES.iterdir() if "+" in each.name)
    compared, merged = versions.figures(versions.read_versions(places))
    return [*lines, *compared], done and merged


def packages(_directory: Path) -> tuple[list[str], bool]:
    """Wheel, one-folder program and Debian package: built, then started from a place of their own."""
    done = subprocess.run(
        [sys.executable, Path(__file__).parent.parent.parent / "packaging" / "package.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    return [line.strip() for line in done.stderr.splitlines()], done.returncode == 0


def suspended(directory: Path) -> tuple[list[str], bool]:
    """Every kind of change suspended at every step, while another process comes first. Some 20 minutes."""
    tally = suspend_all(directory, seed=20_261_122, limit_s=3600)
    return tally.lines(), not tally.problems


def crowd(directory: Path) -> tuple[list[str], bool]:
    """Two windows' clients, `watch` and six commands on one home at once for a minute: one engine, no lost
    update, no process left."""
    found = run_crowd(directory, 60.0)
    return found.told(), not found.problems


SOAK_S = 1800.0


def cuts(directory: Path) -> tuple[list[str], bool]:
    """50 cuts of the connection to another machine, with text typed and runs under way: nothing is lost."""
    if reason := ssh_machine.missing():
        return [reason], False
    machine = ssh_machine.start_machine(directory / "machine")
    before, os.environ["PATH"] = os.environ["PATH"], f"{machine.client}:{os.environ['PATH']}"
    try:
        tally = cut_connections(machine, directory, cuts=50, seed=20_261_122)
    finally:
        os.environ["PATH"] = before
        machine.end()
    return tally.lines(), not tally.problems and tally.kills.total() == 50


def soak(directory: Path) -> tuple[list[str], bool]:
    """Half an hour of writer, dream, agent and person in one window with its engine (`--seconds`)."""
    from helpers.soak import soak as soaked_for

    soaked = soaked_for(directory, SOAK_S, seed=20_261_121, flat=True)
    return [f"{SOAK_S:.0f} seconds", *soaked.lines()], not soaked.problems


def agents(directory: Path) -> tuple[list[str], bool]:
    """Reverie against the published programs of the agents, which work for scripted models."""
    place = AGENT_HOMES or directory
    return agents_part.run(place, AGENTS, modules=AGENT_CHECKS, limit=AGENT_MINUTES * 60)


def report_cards(directory: Path) -> tuple[list[str], bool]:
    """240 scripted consolidations with eight kinds of harm and 240 clean ones; the rules' own runs."""
    return cards.run(directory, NOTES)


def stale(_directory: Path) -> tuple[list[str], bool]:
    """The labelled statements of real notes, checked against their repositories (`--repositories`)."""
    return claims.measured(REPOSITORIES)


def pythons(directory: Path) -> tuple[list[str], bool]:
    """The whole suite in fresh clones: each minor version of Python, the system's own, and `--pythons`."""
    return whole_suite.run_pythons(directory, PYTHONS)


PYTHONS: tuple[Path, ...] = ()
REPOSITORIES: Path | None = None
AGENTS = Sources(default_cache())
AGENT_CHECKS = agents_part.MODULES
AGENT_MINUTES = agents_part.LIMIT_S / 60
AGENT_HOMES: Path | None = None
NOTES: Path | None = None
REAL_NOTES: Path | None = None


PARTS: dict[str, Part] = {
    "agents": agents,
    "soak": soak,
    "cards": report_cards,
    "faults": faults.run,
    "sweep": sweep.run,
    "mutations": mutations.run,
    "failures": failures,
    "leaks": leaks.run,
    "kills": kills,
    "cuts": cuts,
    "suspended": suspended,
    "tables": tables,
    "counters": counters,
    "paths": paths.run_paths,
    "symlinks": paths.run_symlinks,
    "churn": churn.run,
    "hostile": hostile,
    "programs": programs,
    "drafts": drafts,
    "engine": engine,
    "crowd": crowd,
    "coediting": coediting,
    "writer": writer,
    "notes": notes,
    "claude": claude,
    "tour": tour,
    "late": late,
    "extraction": extraction,
    "claims": stale,
    "repositories": repositories.run,
    "real": real,
    "packages": packages,
    "user": whole_suite.run_user,
    "pythons": pythons,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", type=Path, default=Path(tempfile.gettempdir()) / "reverie-campaign.md")
    parser.add_argument("--seconds", type=float, default=SOAK_S, help="how long the soak takes")
    parser.add_argument("--agents-cache", type=Path, default=default_cache(), help="where programs are kept")
    parser.add_argument("--latest", action="store_true", help="the newest published versions of the agents")
    parser.add_argument(
        "--mux-checkout",
        type=Path,
        default=os.environ.get("REVERIE_MUX_CHECKOUT"),
        help="a git checkout or bare mirror of mux (REVERIE_MUX_CHECKOUT)",
    )
    parser.add_argument("--mux-revision", default="", help="the commit of mux that is laid out")
    parser.add_argument(
        "--loki",
        type=Path,
        default=os.environ.get("REVERIE_LOKI"),
        help="a directory or git checkout of loki-mode (REVERIE_LOKI); without it, npm is asked",
    )
    parser.add_argument("--agent-checks", nargs="+", choices=agents_part.MODULES, default=agents_part.MODULES)
    parser.add_argument(
        "--agent-minutes", type=float, default=AGENT_MINUTES, help="the limit for each module"
    )
    parser.add_argument(
        "--agent-homes", type=Path, help="an empty directory where the homes are kept afterwards"
    )
    parser.add_argument(
        "--pythons",
        nargs="+",
        type=Path,
        default=[],
        metavar="PATH",
        help="interpreters to test with, too",
    )
    parser.add_argument("--notes", type=Path, help="notes of repositories, as DIR/OWNER+NAME/PATH")
    parser.add_argument(
        "--repositories", type=Path, help="bare public repositories, `owner+name/repo`, for the part `claims`"
    )
    parser.add_argument("--real-notes", type=Path, help="where labelled/real/extract.py laid them out")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="only these parts")
    arguments = parser.parse_args()
    globals().update(
        SOAK_S=arguments.seconds,
        AGENTS=Sources(
            arguments.agents_cache,
            arguments.latest,
            arguments.mux_checkout,
            arguments.mux_revision,
            arguments.loki,
        ),
        AGENT_CHECKS=tuple(arguments.agent_checks),
        AGENT_MINUTES=arguments.agent_minutes,
        PYTHONS=tuple(arguments.pythons),
        NOTES=arguments.notes and arguments.notes.absolute(),
        REPOSITORIES=arguments.repositories,
        REAL_NOTES=arguments.real_notes,
        AGENT_HOMES=arguments.agent_homes and arguments.agent_homes.absolute(),
    )
    # What a part started is ended by its own clean-up, which a plain SIGTERM would skip.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    lines, broken = ["# Campaign", ""], 0
    for name in arguments.parts or PARTS:
        with tempfile.TemporaryDirectory(prefix=f"reverie-{name}-") as directory:
            started = time.monotonic()
            told, kept = PARTS[name](Path(directory))
            seconds = time.monotonic() - started
        broken += not kept
        section = [
            f"## {name}: {'kept' if kept else 'BROKEN'} ({seconds:.0f} s)",
            *(f"- {line}" for line in told),
            "",
        ]
        lines += section
        sys.stdout.write("\n".join(section) + "\n")
        sys.stdout.flush()
    arguments.report.write_text("\n".join(lines), encoding="utf-8")
    sys.stdout.write(f"report: {arguments.report}\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
