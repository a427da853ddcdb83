"""Scripted consolidations with one harm each, and clean ones, made of any notes: what a report card must say.

Each case first does honest work on a store (a merge under the notes' own headings, other bullets, another
order, a rename with its links) and then, unless it is clean, one harm of a named kind at a named place.
Seeded: the same notes and seed give the same cases.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from reverie.agents.memory_index import cut_of
from reverie.jobs.consolidate.card import report_card
from reverie.jobs.consolidate.facts import fact_key
from reverie.runs.card import ReportCard

Harm = Literal["", "dropped", "number", "negation", "merged", "invented", "generalised", "link", "cut"]
HARMS: tuple[Harm, ...] = (
    "dropped", "number", "negation", "merged", "invented", "generalised", "link", "cut",
)  # fmt: skip
"""The eight kinds; "" is a clean case."""
PROJECT = "/memories/project"
INDEX = f"{PROJECT}/MEMORY.md"
_OWN = Path(__file__).parent.parent / "labelled" / "card_notes"

_ITEM = re.compile(r"^(?P<lead>\s*(?:[-*+]|\d+\.)\s+)(?P<said>\S.*)$")
_NUMBER = re.compile(r"(?<![\w.#/:-])\d{1,5}(?:\.\d+)?(?![\w/:-]|\.\d)")
_CLAUSE = re.compile(
    r",? (?:only )?(?:when|if|unless|except|during|until|while|before|after|for|in|on|only for|only in)"
    r" [^,.;:()`*]{6,60}(?=[.;]?$)",
    re.IGNORECASE,
)
_FLIPS = (
    (r"\b(must|should|can|may|will|do|does|is|are) not\b", r"\1"),
    (r"\bcannot\b", "can"),
    (r"\b(do|does|is|are)n['’]t\b", r"\1"),
    (r"\b[Nn]ever\b", "always"),
    (r"\b[Aa]lways\b", "never"),
    (r"\b(must|should|can|will|is|are)\b(?! not| never|n['’]t)", r"\1 not"),
    (r"\bwithout\b", "with"),
    (r"\benabled\b", "disabled"),
    (r"^(Use|Run|Add|Keep|Include|Commit|Create|Update|Avoid)\b", r"Do not \1"),
)
_INVENTIONS = (
    "The nightly export to the finance ledger runs at {n}:15 and mails the auditors in Oslo.",
    "Customers of tier {n} receive refunds through the Brandt gateway within {n} working days.",
    "Rollbacks of the warehouse schema need the written consent of two database stewards.",
    "The telemetry proxy drops every packet larger than {n} kilobytes since the March incident.",
    "Translators upload their glossaries to the Helsinki bucket on Thursdays.",
    "Penguin mode disables the gyroscope calibration for {n} seconds after a cold boot.",
)
"""Sentences that stand in nobody's notes."""


@dataclass(frozen=True, slots=True)
class CardCase:
    """`before` and `after`: all texts of a store; `where`: the line that was harmed, or the harm's own."""

    name: str
    harm: Harm
    before: Mapping[str, str]
    after: Mapping[str, str]
    where: str = ""


@dataclass(slots=True)
class Store:
    """A store while a case is made."""

    before: dict[str, str]
    after: dict[str, str] = field(default_factory=dict)


def loaded_of_index(texts: Mapping[str, str]) -> Mapping[str, str]:
    """What a session starts with where the index is loaded up to its cut line."""
    return {INDEX: cut_of(texts[INDEX]).loaded} if INDEX in texts else {}


# Honest work


def reorder(random_: random.Random, text: str) -> str:
    """Two entries of a list that follow each other change places."""
    lines = text.split("\n")
    pairs = [
        at
        for at in range(len(lines) - 1)
        if _is_item(lines, at) and _is_item(lines, at + 1) and _lead(lines[at]) == _lead(lines[at + 1])
    ]
    if pairs:
        at = random_.choice(pairs)
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return "\n".join(lines)


def restyle(_random: random.Random, text: str) -> str:
    """Other bullets, no bold."""
    lines = []
    fenced = False
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        if not fenced:
            line = re.sub(r"^(\s*)\* (?=\S)", r"\1- ", line)
            line = re.sub(r"\*\*([^*\n]+)\*\*", r"\1", line)
        lines.append(line.rstrip())
    return "\n".join(lines)


def reword(_random: random.Random, text: str) -> str:
    """Short forms and fixed phrases in other words that mean the same; code stays."""
    return "```".join(
        piece if number % 2 else _reworded(piece) for number, piece in enumerate(text.split("```"))
    )


def _reworded(text: str) -> str:
    for pattern, instead in (
        (r"\bdo not\b", "don't"), (r"\bDo not\b", "Don't"), (r"\be\.g\.,? ", "for example "),
        (r"\bin order to\b", "to"), (r"\bmake sure to\b", "be sure to"), (r"\bvia\b", "through"),
    ):  # fmt: skip
        text = re.sub(pattern, instead, text)
    return text


def merge(random_: random.Random, texts: dict[str, str]) -> None:
    """The sections of one note go to the end of another one, all under their own headings."""
    going = [path for path in _alone(texts) if not texts[path].startswith("---")]
    if not going or len(texts) < 2:
        return
    gone = random_.choice(going)
    kept = random_.choice([path for path in texts if path not in (gone, INDEX)])
    has = set(texts[kept].split("\n"))
    body, fenced = [], False
    for line in texts.pop(gone).split("\n"):
        fence = line.lstrip().startswith(("```", "~~~"))
        fenced ^= fence
        is_plain = not fenced and not fence and line.strip() and not line.startswith(("#", "|", " "))
        if not (is_plain and line in has and not line.rstrip().endswith(":")):
            body.append(line if fenced or not line.startswith("# ") else f"#{line}")
    texts[kept] = _closed(texts[kept]) + "\n\n" + "\n".join(body)
    _follow(texts, gone, kept)


def _closed(text: str) -> str:
    """With its last fence closed, so that what follows is no code."""
    fences = sum(line.lstrip().startswith("```") for line in text.split("\n"))
    return text.rstrip("\n") + ("\n```" if fences % 2 else "")


def rename(random_: random.Random, texts: dict[str, str]) -> None:
    """A note gets another name, and the links to it follow."""
    paths = _alone(texts)
    if not paths:
        return
    old = random_.choice(paths)
    new = re.sub(r"(\.\w+)?$", r"-notes\1", old, count=1)
    texts[new] = texts.pop(old)
    _follow(texts, old, new)


def _alone(texts: Mapping[str, str]) -> list[str]:
    """The notes whose file name no other one has."""
    names = Counter(path.rpartition("/")[2] for path in texts)
    return [path for path in texts if path != INDEX and names[path.rpartition("/")[2]] == 1]


def _follow(texts: dict[str, str], old: str, new: str) -> None:
    """The names of a note that went become those of the one that has its text."""
    was, now = (path.removeprefix(f"{PROJECT}/") for path in (old, new))
    name, stem = was.rpartition("/")[2], was.rpartition("/")[2].removesuffix(".md")
    other = now.rpartition("/")[2].removesuffix(".md")
    for path, text in texts.items():
        for called, instead in ((was, now), (name, now.rpartition("/")[2])):
            text = re.sub(rf"(?<![\w/.-])(\.?/)?{re.escape(called)}(?![\w-])", rf"\g<1>{instead}", text)
        texts[path] = text.replace(f"[[{stem}]]", f"[[{other}]]")


def _is_item(lines: Sequence[str], at: int) -> bool:
    follows = lines[at + 1] if at + 1 < len(lines) else ""
    return _ITEM.match(lines[at]) is not None and not follows.startswith((" ", "\t"))


def _lead(line: str) -> str:
    found = _ITEM.match(line)
    return found["lead"] if found else ""


# Harms: each changes the store and returns what its entry must name; None where the notes do not allow it.


Line = tuple[str, int, str]


def _items(texts: Mapping[str, str], *, words: int = 5) -> Iterator[Line]:
    """Path, number (from 0) and text of list entries that stand alone and nowhere else, outside of code."""
    found = []
    for path, text in texts.items():
        fenced, lines = False, text.split("\n")
        for number, line in enumerate(lines):
            fenced ^= line.lstrip().startswith(("```", "~~~"))
            match = None if fenced else _ITEM.match(line)
            if match is None or not _is_item(lines, number):
                continue
            said = match["said"]
            if len(said.split()) >= words and not said.endswith(":") and said.count(". ") == 0:
                found.append((path, number, said))
    whole = "\n".join(texts.values()).casefold()
    yield from (each for each in found if whole.count(each[2].casefold()) == 1)


def _replaced(texts: dict[str, str], at: Line, said: str | None) -> None:
    path, number, _old = at
    lines = texts[path].split("\n")
    lines[number : number + 1] = [] if said is None else [_lead(lines[number]) + said]
    texts[path] = "\n".join(lines)


def drop(random_: random.Random, store: Store) -> str | None:
    items = list(_items(store.after))
    if not items:
        return None
    chosen = random_.choice(items)
    _replaced(store.after, chosen, None)
    return chosen[2]


def change_number(random_: random.Random, store: Store) -> str | None:
    items = [each for each in _items(store.after, words=3) if _NUMBER.search(each[2])]
    if not items:
        return None
    chosen = random_.choice(items)
    found = random_.choice(list(_NUMBER.finditer(chosen[2])))
    digits = found[0]
    other = digits[:-1] + str((int(digits[-1]) + random_.randint(1, 8)) % 10)
    if other.lstrip("0") == digits.lstrip("0") or (len(other) > 1 and other[0] == "0"):
        other = digits + "0"
    _replaced(store.after, chosen, chosen[2][: found.start()] + other + chosen[2][found.end() :])
    return chosen[2]


def flip(random_: random.Random, store: Store) -> str | None:
    items = list(_items(store.after, words=4))
    random_.shuffle(items)
    for chosen in items:
        flips = list(_FLIPS)
        random_.shuffle(flips)
        for pattern, instead in flips:
            plain = re.sub(r"`[^`]*`", lambda match: "\0" * len(match[0]), chosen[2])
            match = re.search(pattern, plain)
            if match is not None:
                said = chosen[2][: match.start()] + match.expand(instead) + chosen[2][match.end() :]
                _replaced(store.after, chosen, said)
                return chosen[2]
    return None


def mix_values(random_: random.Random, store: Store) -> str | None:
    """Two notes give a value differently, and one says both as if they were one; or two entries become one
    that has only one of their values."""
    items = [each for each in _items(store.after) if len(_NUMBER.findall(each[2])) == 1]
    if not items:
        return None
    chosen = random_.choice(items)
    number = _NUMBER.search(chosen[2])
    assert number is not None
    value = number[0]
    other = str(int(float(value)) + random_.randint(2, 40))
    version = chosen[2][: number.start()] + other + chosen[2][number.end() :]
    elsewhere = random_.choice([path for path in store.after if path != INDEX])
    for texts in (store.before, store.after):
        if elsewhere in texts:
            texts[elsewhere] = _closed(texts[elsewhere]) + f"\n\n- {version}\n"
    if elsewhere not in store.before:  # the work before made it
        return None
    joined = random_.choice((f"{value}-{other}", f"{value} or {other}", f"{value}/{other}"))
    store.after[elsewhere] = store.after[elsewhere].replace(f"\n\n- {version}\n", "\n")
    where = chosen[1]
    lines = store.after[chosen[0]].split("\n")
    if where >= len(lines) or chosen[2] not in lines[where]:
        return None
    said = chosen[2][: number.start()] + joined + chosen[2][number.end() :]
    _replaced(store.after, chosen, said)
    return said


def invent(random_: random.Random, store: Store) -> str | None:
    items = list(_items(store.after, words=2))
    if not items:
        return None
    path, number, _said = random_.choice(items)
    said = random_.choice(_INVENTIONS).format(n=random_.randint(11, 98))
    lines = store.after[path].split("\n")
    lines.insert(number + 1, _lead(lines[number]) + said)
    store.after[path] = "\n".join(lines)
    return said


def generalise(random_: random.Random, store: Store) -> str | None:
    items = [
        each for each in _items(store.after) if (found := _CLAUSE.search(each[2])) and found.start() > 12
    ]
    if not items:
        return None
    chosen = random_.choice(items)
    said = _CLAUSE.sub("", chosen[2], count=1)
    if random_.random() < 0.3:
        said = "Always " + said[:1].lower() + said[1:]
    _replaced(store.after, chosen, said)
    return chosen[2]


def break_link(random_: random.Random, store: Store) -> str | None:
    """A note that another one links to gets another name, and the link stays."""
    targets = [path for path in _alone(store.after) if path in store.before]
    if not targets or len(store.after) < 2:
        return None
    target = random_.choice(targets)
    holder = random_.choice([path for path in store.after if path in store.before and path != target])
    name = target.removeprefix(f"{PROJECT}/")
    link = random_.choice((f"See [{name}]({name}).", f"More in `{name}`."))
    if "/" in holder.removeprefix(f"{PROJECT}/") and link.startswith("See"):
        link = f"More in `{name}`."
    for texts in (store.before, store.after):
        texts[holder] = _closed(texts[holder]) + f"\n\n{link}\n"
    store.after[re.sub(r"(\.\w+)?$", r"-moved\1", target, count=1)] = store.after.pop(target)
    return name


def push_under_cut(random_: random.Random, store: Store) -> str | None:
    """The index is full, and a note is merged into its beginning."""
    items = [f"- {said}" for _path, _number, said in _items(store.after) if len(said) < 90]
    if len(items) < 12:
        return None
    random_.shuffle(items)
    fill = [f"- Entry {number} of the register of rooms" for number in range(199 - len(items[:12]))]
    lines = ["# Index", *fill, *items[:12]]
    store.before[INDEX] = "\n".join(lines) + "\n"
    pushed = random_.randint(5, 12)
    news = [f"- {line}" for line in items[12:]][:0]
    source = next(iter(path for path in store.after if path != INDEX))
    moved = [f"- The register has a wing {number} with a door" for number in range(pushed)]
    for texts in (store.before, store.after):
        texts.setdefault(source, "")
    store.before[source] = _closed(store.before[source]) + "\n\n" + "\n".join(moved) + "\n"
    store.after[INDEX] = "\n".join(["# Index", *moved, *news, *fill, *items[:12]]) + "\n"
    return items[11].removeprefix("- ")


_MAKERS: Mapping[Harm, Callable[[random.Random, Store], str | None]] = {
    "dropped": drop,
    "number": change_number,
    "negation": flip,
    "merged": mix_values,
    "invented": invent,
    "generalised": generalise,
    "link": break_link,
    "cut": push_under_cut,
}


def make_case(name: str, notes: Mapping[str, str], harm: Harm, seed: int) -> CardCase | None:
    """A case of these notes (by memory path); None where they do not allow it."""
    random_ = random.Random(f"{seed} {name} {harm}")
    store = Store(dict(notes), dict(notes))
    whole = random_.choice((None, merge, rename, None))
    if whole is not None and harm not in ("link", "cut"):
        whole(random_, store.after)
    for path in random_.sample(sorted(store.after), min(3, len(store.after))):
        work = random_.choice((reorder, restyle, reword))
        store.after[path] = work(random_, store.after[path])
    where = "" if not harm else _MAKERS[harm](random_, store)
    if where is None or store.before == store.after:
        return None
    return CardCase(name, harm, store.before, store.after, where)


# Judging


def own_notes() -> dict[str, str]:
    """Notes of our own, by memory path."""
    return {f"{PROJECT}/{path.name}": path.read_text("utf-8") for path in sorted(_OWN.glob("*.md"))}


def judged(
    notes: Mapping[str, str], harm: Harm, *, count: int, seed: int, tries: int = 400
) -> list[tuple[CardCase, ReportCard]]:
    """So many cases of these notes with their cards."""
    found: list[tuple[CardCase, ReportCard]] = []
    for number in range(tries):
        if len(found) == count:
            break
        case = make_case(str(number), notes, harm, seed)
        if case is not None:
            found.append((case, report_card(case.before, case.after, loaded=loaded_of_index)))
    return found


def is_named(case: CardCase, card: ReportCard) -> bool:
    """Whether the card names the harm with its kind and place; of a clean case, whether it names nothing."""
    if not case.harm:
        return not (card.changed or card.invented or card.lost or card.broken_links or card.below_cut)
    wanted = fact_key(case.where)
    if case.harm == "link":
        return any(each.target == case.where for each in card.broken_links)
    if case.harm in ("dropped", "invented", "cut"):
        placed = {"dropped": card.lost, "invented": card.invented, "cut": card.below_cut}[case.harm]
        return any(_same(fact_key(each.text), wanted) for each in placed)
    kinds = {"number": {"number", "version"}}.get(case.harm, {case.harm})
    return any(
        each.what in kinds and (_same(fact_key(each.before), wanted) or _same(fact_key(each.after), wanted))
        for each in card.changed
    )


def _same(found: str, wanted: str) -> bool:
    """Whether it is that line, or a sentence of it."""
    return found in wanted or wanted in found
