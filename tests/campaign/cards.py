"""Report cards over notes that agents wrote in public repositories: is each kind of harm named, is honest
work left in peace, how long does it take, and what do the runs of the rules engine do to the facts?

The notes lie outside of the project, as `DIR/OWNER+NAME/PATH` (`--notes DIR`); none of their text is in
it. Repositories are split by their names: what was tuned has seen the half "tune" only, so the other one is
what counts. Without notes, the part says so and uses those of our own.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from helpers.card_cases import HARMS, PROJECT, Harm, is_named, judged, make_case, own_notes
from helpers.samples import copy_sample
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.jobs.consolidate.card import report_card
from reverie.jobs.consolidate.engine import RulesEngine
from reverie.jobs.consolidate.run import DreamRequest
from reverie.profile import Profile
from reverie.runs.card import card_from_json

EACH = 30
CLEAN = 240
SEED = 20_261_123
_MOST = 40
_LARGEST = 100_000
_SHARE = 0.95
_ALARMS = 0.02
_SECONDS = 1.0

Stores = Mapping[str, Mapping[str, str]]


def run(directory: Path, place: Path | None) -> tuple[list[str], bool]:
    """The campaign part. `place`: where the notes are."""
    stores = read_stores(place) if place else {"our/own": own_notes()}
    told = [f"{len(stores)} stores" if place else "--notes names no notes; those of our own are used"]
    kept = True
    for half in ("tune", "held") if place else ("",):
        chosen = {name: notes for name, notes in stores.items() if not half or half_of(name) == half}
        more, good = harms(chosen, half)
        told, kept = [*told, *more], kept and (good or half == "tune")
    more, good = rules(directory, stores)
    seconds = list(times(stores))
    told += [*more, f"CPU seconds for 200 files of which a consolidation changes some: {seconds}"]
    told.append(f"... and where it turns 8 of them upside down: {list(times_of_rewriting(stores))}")
    return told, kept and good and max(seconds) <= _SECONDS


def read_stores(place: Path) -> dict[str, dict[str, str]]:
    """The notes of each repository that has at least two, by memory path."""
    found: dict[str, dict[str, str]] = {}
    for directory in sorted(each for each in place.iterdir() if each.is_dir()):
        notes = {}
        for path in sorted(directory.rglob("*.md")):
            if path.is_file() and path.stat().st_size <= _LARGEST:
                text = path.read_text("utf-8", "replace")
                if len(text.split()) > 1:  # else it was a link to another file
                    notes[f"{PROJECT}/{path.relative_to(directory)}"] = text
        if len(notes) >= 2:
            chosen = random.Random(SEED).sample(sorted(notes), min(_MOST, len(notes)))
            found[directory.name.replace("+", "/", 1)] = {path: notes[path] for path in sorted(chosen)}
    return found


def half_of(repository: str) -> str:
    """The half a repository belongs to, by its name."""
    return "tune" if sha256(repository.lower().encode()).digest()[0] % 2 else "held"


def harms(stores: Stores, half: str) -> tuple[list[str], bool]:
    """How many of each kind are named, and how many alarms honest work raises."""
    named, made = Counter[str](), Counter[str]()
    for harm in (*HARMS, ""):
        for good in cases(stores, harm, EACH if harm else CLEAN):
            made[harm] += 1
            named[harm] += good
    lines = [f"{half} {harm or 'clean'}: {named[harm]} of {made[harm]}" for harm in (*HARMS, "")]
    all_named, all_made = (sum(found[harm] for harm in HARMS) for found in (named, made))
    alarms = made[""] - named[""]
    lines.append(f"{half}: {all_named} of {all_made} named, {alarms} of {made['']} false alarms")
    return lines, all_named >= _SHARE * all_made > 0 and alarms <= _ALARMS * made[""]


def cases(stores: Stores, harm: Harm, count: int) -> Iterator[bool]:
    """Whether the card is right, for so many cases of stores drawn by lot."""
    names, found = sorted(stores), 0
    for number in range(60 * count):
        if found == count:
            return
        name = random.Random(f"{SEED}{harm}{number}").choice(names)
        for case, card in judged(stores[name], harm, count=1, seed=SEED + number, tries=1):
            found += 1
            yield is_named(case, card)


def rules(directory: Path, stores: Stores) -> tuple[list[str], bool]:
    """What the runs of the rules engine do to the facts of every store."""
    facts = lost = changed = invented = held = changes = 0
    for number, notes in enumerate(stores.values()):
        home = copy_sample("mux-home", directory / str(number), whole=False)
        for path in (home / "memory").rglob("*.md"):
            path.unlink()
        for path, text in notes.items():
            file = home / "memory" / "global" / path.removeprefix(f"{PROJECT}/").replace(".", "_", 1)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        parts = open_parts(home, Profile.under(directory / f"profile-{number}"), system_clock)
        context = parts.home.context(workspace_id=None, project_path=None, project_given=True)
        for _round in range(10):
            result = parts.dreams.run(DreamRequest(context), RulesEngine())
            card = card_from_json(result.details.get("card"))
            if card is None or result.outcome == "unchanged":
                break
            facts, lost = facts + card.facts, lost + card.facts - card.kept
            changed, invented = changed + len(card.changed), invented + len(card.invented)
            changes += len(result.ops)
            held += result.outcome == "held"
            if result.outcome != "completed":
                break
    told = (
        f"rules engine: {changes} changes; kept {facts - lost} of {facts} facts, {changed} changed, "
        f"{invented} without a source, {held} runs held"
    )
    return [told], not (lost or changed or invented)


def times(stores: Stores) -> Iterator[float]:
    """CPU seconds of the card of a scripted consolidation of 200 files, one with each kind of harm."""
    for seed, harm in enumerate(HARMS):
        case = next(filter(None, (make_case(str(n), _many(stores, seed), harm, seed) for n in range(40))))
        yield _seconds(case.before, case.after)


def times_of_rewriting(stores: Stores) -> Iterator[float]:
    """The same where 8 of the files are turned upside down, so that hardly a fact stands where it stood."""
    for seed in range(3):
        before = _many(stores, seed)
        after = dict(before)
        for path in random.Random(seed).sample(sorted(before), 8):
            after[path] = "\n".join(reversed(before[path].split("\n")))
        yield _seconds(before, after)


def _many(stores: Stores, seed: int) -> dict[str, str]:
    every = [text for notes in stores.values() for text in notes.values()]
    chosen = random.Random(seed).choices(every, k=200)
    return {f"{PROJECT}/{number}.md": text for number, text in enumerate(chosen)}


def _seconds(before: Mapping[str, str], after: Mapping[str, str]) -> float:
    started = time.process_time()
    report_card(before, after)
    return round(time.process_time() - started, 2)
