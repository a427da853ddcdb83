"""Faults of stored data, of clocks and of names. See `fault_room`."""

from __future__ import annotations

import json
import locale
import os
import shutil
import sqlite3
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from helpers.benches import NOW, contents
from helpers.fault_room import ACME, NOTE, Case, NotHereError, Room
from reverie.clock import DAY_MS, HOUR_MS

YEAR_MS = 365 * DAY_MS
JUMPS = (0, -10 * YEAR_MS, 30 * YEAR_MS, -1, HOUR_MS, -NOW + 1)


def clock_jumps(room: Room) -> None:
    """Dreams, edits and undo while the clock goes back and forward by years."""
    room.build_ui()
    before, made = room.memories(), []
    for jump in JUMPS if room.full else JUMPS[:3]:
        now = NOW + jump
        record = room.expect(0, "consolidate", "--engine", "rules", now=now)
        made.append((record["runId"], now))
        status = room.expect(0, "status", now=now)
        room.check(status["workspaceRecord"]["lastRunAt"] == now, f"{jump}: it is not the run made last")
        room.expect(0, "context", now=now)
        room.run("sweep", "--dry-run", now=now)
    room.check(len({run for run, _now in made}) == len(made), "two runs have one id")
    shown = [run["id"] for run in room.expect(0, "runs", now=NOW - 5 * YEAR_MS)]
    room.check(set(shown) == {run for run, _now in made}, "not every run is listed")
    for run in room.expect(0, "runs"):
        if run["outcome"] == "completed":
            room.expect(0, "revert", run["id"], now=NOW - 20 * YEAR_MS)
    room.same(before, room.memories(), "after every run was taken back")
    usage = json.loads((room.home / "memory-meta.json").read_bytes())["entries"]
    room.check(all(_is_count(entry) for entry in usage.values()), "a count or time below zero was written")
    room.messages.append(f"{len(made)} dreams at {len(made)} times, taken back at another: no byte lost")


def _is_count(entry: dict[str, Any]) -> bool:
    return all(value >= 0 for value in entry.values() if isinstance(value, int | float))


def damaged_history(room: Room) -> None:
    """The history's repository is damaged in several ways: a new one begins, the old one is kept."""
    from reverie.services.workbench import Workbench

    place, kinds = room.place, ("HEAD", "objects", "refs", "config", "all")
    for kind in kinds if room.full else ("objects",):
        room.build_ui(place / kind)
        edits, context = room.edits()
        edits.save(context, NOTE, "first\n", edits.read(context, NOTE).sha256)
        before = room.memories()
        (repository,) = (room.profile / "data" / "history").glob("*.git")
        _damage(repository, kind)
        kept = contents(repository)
        room.expect(0, "tree")
        edits, context = room.edits()
        edits.save(context, NOTE, "second\n", edits.read(context, NOTE).sha256)
        workbench = Workbench(room.parts())
        workbench.start_history()
        aside = list((room.profile / "data" / "history").glob("*.git.damaged-*"))
        room.check(len(aside) == 1, f"{kind}: {len(aside)} old histories are kept")
        for old in aside:
            now = contents(old)
            room.check(
                all(now.get(name) == kept[name] for name in kept), f"{kind}: the old one is not as it was"
            )
        said = [entry.text for entry in room.parts().activity.read() if entry.event == "history.damaged"]
        room.check(len(said) == 1, f"{kind}: Activity tells of it {len(said)} times")
        room.messages += [f"{kind}: {text}" for text in said]
        changed = {**before, "memory/global/testing.md": b"second\n"}
        room.same(changed, room.memories(), f"{kind} damaged")
        undo = edits.delete(context, NOTE)
        edits.undo(undo)
        room.same(changed, room.memories(), f"{kind}: a delete undone from the new history")


def _damage(repository: Path, kind: str) -> None:
    if kind == "objects":
        shutil.rmtree(repository / "objects")
        (repository / "objects").mkdir()
    elif kind == "refs":
        for ref in (repository / "refs").rglob("*"):
            if ref.is_file():
                ref.write_bytes(b"\0" * 40)
    else:
        for path in repository.rglob("*") if kind == "all" else [repository / kind]:
            if path.is_file():
                path.chmod(0o600)
                path.write_bytes(b"\xff\0garbage")


DAMAGES = (
    b"\xff\xfe\0",
    b"[watch\n",
    b"",
    b"[watch]\nquiet_ms = 'soon'\n",
    b"[dream]\ntime_limit_s = -1\nengine = 7\n",
    b"watch = 3\n",
    b"[[providers.ollama]]\n" * 3,
    b"a = " + b"[" * 100_000,
)


def damaged_settings(room: Room) -> None:
    """Settings that cannot be read: defaults and a sentence; a save keeps what was there."""
    from reverie.settings import Settings, WatchSettings, load_settings, save_settings

    room.build_ui()
    before = room.memories()
    file = room.profile / "config" / "config.toml"
    file.parent.mkdir(parents=True)
    for number, damage in enumerate(DAMAGES if room.full else DAMAGES[::3]):
        file.write_bytes(damage)
        room.expect(0, "tree")
        room.expect(0, "consolidate", "--engine", "rules", "--dry-run")
        settings, problems = load_settings(file)
        room.check(settings == Settings() and (problems or not damage), f"damage {number} is not told")
        room.check(file.read_bytes() == damage, f"damage {number}: looking changed the file")
        room.messages += [problem[:200] for problem in problems]
        save_settings(file, Settings(watch=WatchSettings(quiet_ms=99)), clock=lambda: NOW)
        room.check(load_settings(file)[0].watch.quiet_ms == 99, f"damage {number}: a save does not last")
        aside = [path.read_bytes() for path in file.parent.glob("config.toml.unreadable-*")]
        mended = damage in aside or not damage or b"\n" in damage[:-1] or damage == b"watch = 3\n"
        room.check(mended, f"damage {number} is not kept")
        for path in file.parent.glob("config.toml.unreadable-*"):
            path.unlink()
    room.same(before, room.memories(), "with damaged settings")


def two_versions(room: Room) -> None:
    """A newer Reverie and a newer agent have written here: nothing of theirs is lost, nothing stops."""
    room.build_ui()
    before = room.memories()
    run = room.expect(0, "consolidate", "--engine", "rules")["runId"]
    room.expect(0, "search", "deploy")
    _newer_agent(room.home)
    config = room.profile / "config" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("version = 99\n[watch]\nquiet_ms = 200\nfuture = 'yes'\n[dimension]\nx = 1\n")
    (record,) = (room.profile / "data" / "runs").rglob("record.json")
    record.write_text(json.dumps({**json.loads(record.read_bytes()), "version": 99, "future": {"a": [1]}}))
    homes = room.profile / "data" / "homes.json"
    known = json.loads(homes.read_bytes())
    known |= {"version": 99, "future": True}
    for home in known["homes"].values():
        home["colour"] = "blue"
    homes.write_text(json.dumps(known))
    _newer_run(record)
    _newer_index(room.profile)
    settings = config.read_bytes()
    for words in (
        ("tree",),
        ("status",),
        ("runs",),
        ("context",),
        ("search", "deploy"),
        ("doctor", "--self"),
    ):
        code, _answer = room.run(*words)
        room.check(code == 0 or words[0] == "doctor", f"{words[0]} ended with {code}")
    edits, context = room.edits()
    room.refused("a pin in a home of a version that is not known", lambda: edits.pin(context, [NOTE], True))
    room.run("doctor", "--fix", "known-layout", "--workspace", ACME)  # 1: other checks find something
    edits, context = room.edits()
    edits.pin(context, [NOTE], True)
    room.expect(0, "revert", run)
    room.expect(0, "consolidate", "--engine", "rules")
    room.check(config.read_bytes() == settings, "the settings were changed")
    said = json.loads(record.read_bytes())
    room.check(said.get("future") == {"a": [1]}, "a field of a newer run record is lost")
    told = json.loads(homes.read_bytes())
    room.check(told.get("future") is True and "blue" in str(told), "a field of newer homes.json is lost")
    for name in ("memory-meta.json", "memory-consolidation.json"):
        text = (room.home / name).read_text()
        room.check('"future"' in text and '"deeper"' in text, f"{name}: what is not known here is lost")
    for entry in room.expect(0, "runs"):
        if entry["id"] != run and not entry["reverted"] and entry["kind"] == "dream":
            room.expect(0, "revert", entry["id"])
    room.same(before, room.memories(), "between two versions")
    room.messages.append(
        f"settings, records, sidecars and index of a newer version: kept, {len(told)} fields"
    )


def _newer_agent(home: Path) -> None:
    for name in ("memory-meta.json", "memory-consolidation.json"):
        path = home / name
        data = json.loads(path.read_bytes())
        data |= {"version": 99, "future": {"deeper": [1, {"x": None}]}}
        for bucket in data.values():
            for entry in bucket.values() if isinstance(bucket, dict) else ():
                if isinstance(entry, dict):
                    entry["deeper"] = {"y": 1}
        path.write_text(json.dumps(data, indent=2))


def _newer_run(record: Path) -> None:
    """A run of a kind and with an outcome that this version does not know."""
    run_id = f"{NOW - 5}-0000abcd"
    new = record.parent.parent / run_id / "record.json"
    new.parent.mkdir()
    new.write_text(
        json.dumps({**json.loads(record.read_bytes()), "id": run_id, "outcome": "dreamt", "kind": "x"})
    )


def _newer_index(profile: Path) -> None:
    index = profile / "cache" / "catalogue.sqlite"
    if index.exists():
        connection = sqlite3.connect(index)
        connection.execute("PRAGMA user_version = 9999")
        connection.close()


LONG = "ä" * 127 + "a"  # 255 bytes
ODD_NAMES = (
    "with space.md",
    "\U0001f9e0 \U0001f1e9\U0001f1ea.md",
    "ñ.md",
    "n\u0303.md",
    "שלום.md",
    "İstanbul ıI.md",
    f"{'x' * 252}.md",
    f"{'ä' * 126}.md",
    "'quoted'.md",
    "new\u2028line.md",
    "100% [*] {x}.md",
)


def odd_names(room: Room) -> None:
    """Homes, profiles and memories with spaces, emoji and names of 255 bytes, in several locales."""
    place = room.place / "with space \U0001f9e0 \u0130" / LONG
    for number, name in enumerate(
        ("C", "tr_TR.UTF-8", "de_DE.UTF-8", "ja_JP.EUC-JP") if room.full else ("C",)
    ):
        os.environ["LC_ALL"] = os.environ["LANG"] = name
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            room.messages.append(f"the locale {name} is not installed: only the environment says it")
        room.build_ui(place / str(number))
        before = room.memories()
        edits, context = room.edits()
        for each in ODD_NAMES:
            text = f"# {each}\n- kept: {each}\n"
            edits.save(context, f"/memories/global/{each}", text, None)
            path = room.home / "memory" / "global" / each
            room.check(path.read_bytes() == text.encode(), f"{each!r} is not as saved")
        made = room.memories()
        room.expect(0, "consolidate", "--engine", "rules")
        room.settled(made, f"{name}: a dream among odd names")
        tree = json.dumps(room.expect(0, "tree"), ensure_ascii=False)
        room.check(
            all(json.dumps(each, ensure_ascii=False) in tree for each in ODD_NAMES), f"{name}: not listed"
        )
        save = partial(edits.save, context, f"/memories/global/{LONG}b", "x", None)
        room.refused("a name of 256 bytes", save)
        for undo in [edits.delete(context, f"/memories/global/{each}") for each in ODD_NAMES]:
            edits.undo(undo)
        room.same(made, room.memories(), f"{name}: deletes undone")
        room.check(before.items() <= made.items(), f"{name}: the others changed")


ZONES = ("UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Apia", "Australia/Lord_Howe", "Asia/Kathmandu")


def time_zones(room: Room) -> None:
    """Ages and exact times in zones, across both changes of summer time and a day that was left out."""
    from reverie.ui.display_text import exact_time, relative_time

    if not hasattr(time, "tzset"):
        raise NotHereError("this system has no tzset")
    step = 1 if room.full else 29
    for zone in ZONES:
        os.environ["TZ"] = zone
        time.tzset()
        begin = (
            datetime(2025, 12, 30, tzinfo=UTC)
            if zone != "Pacific/Apia"
            else datetime(2011, 12, 20, tzinfo=UTC)
        )
        previous = ""
        for hour in range(0, 24 * 400, step):
            then = begin + timedelta(hours=hour)
            then_ms = int(then.timestamp() * 1000)
            wanted = then.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M:%S")
            room.check(exact_time(then_ms) == wanted, f"{zone}: {exact_time(then_ms)} for {wanted}")
            ago = relative_time(then_ms + HOUR_MS, then_ms)
            room.check((ago.unit, ago.count) == ("hours", 1), f"{zone} {wanted}: an hour is {ago}")
            previous = previous or wanted
        day = relative_time(NOW + 2 * DAY_MS, NOW)
        room.check((day.unit, day.count) == ("days", 2), f"{zone}: two days are {day}")
    os.environ["TZ"] = "Pacific/Apia"
    time.tzset()
    room.build_ui()
    first = room.expect(0, "status")
    os.environ["TZ"] = "America/St_Johns"
    time.tzset()
    room.check(room.expect(0, "status") == first, "what is recorded depends on the zone")
    room.messages.append(
        f"{len(ZONES)} zones, a year of hours each: exact times of the zone, ages of the clock"
    )


CASES: dict[str, Case] = {
    "clock jumps": clock_jumps,
    "damaged history": damaged_history,
    "damaged settings": damaged_settings,
    "two versions on one profile": two_versions,
    "odd names and locales": odd_names,
    "time zones and summer time": time_zones,
}
