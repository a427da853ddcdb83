"""The report card of a consolidation: what became of the facts, computed from the texts before and after.

It does not matter who made the change: the rules, a model, the agent itself. Nothing here asks a model, and
nothing is guessed in favour of the change: a fact that cannot be found again counts as lost, a sentence
without a source as invented.

Facts are those of the files that changed. `kept` counts those that stand somewhere afterwards, also in other
words; one that changed in meaning is kept and listed under `changed`.

Pure; any thread. `check` is called every few facts and may raise to stop.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple
from urllib.parse import unquote

from reverie.claims.checking import CheckedClaim, in_one_line
from reverie.claims.finding import find_claims
from reverie.jobs.consolidate.facts import (
    VALUES,
    Compared,
    Contradictions,
    Fact,
    FactIndex,
    are_crossed,
    are_versions,
    compare,
    front_matter_lines,
    is_generalised,
    read_facts,
)
from reverie.jobs.consolidate.rules.wording import WordToken, excludes, read_wording
from reverie.runs.card import BeforeAfter, BrokenLink, ChangedFact, PlacedFact, ReportCard, What
from reverie.text.summaries import estimate_tokens

_SOURCES = 4
_SOURCED = 0.6
# What a fact may say beyond its sources, by weight of words: where it only adds to one, and where it rewords.
_WHOLE = 0.95
_REWRITTEN = 0.7
_FEW_WORDS = 2.0
_IS_TIME = re.compile(r"(?:last[-_ ]?)?(?:modified|updated|changed)(?:[-_ ]?at)?")
_ADDED = 2.0
_REWORDED = 3.0

Texts = Mapping[str, str]
Loaded = Callable[[Texts], Texts]
"""Which text of each memory an agent gets when a session starts, out of the texts of all; what it makes of
them itself, such as an index, under a name of its own."""


def report_card(
    before: Texts,
    after: Texts,
    *,
    final: Texts | None = None,
    loaded: Loaded | None = None,
    stale: Sequence[CheckedClaim] = (),
    check: Callable[[], None] = lambda: None,
) -> ReportCard:
    """The card of a change from `before` to `after`: all texts that an agent has, by memory path. `final`:
    those after with what only follows, such as the lines of an index; links and sizes are those of it.
    `stale`: what was not true any more before; to write what is true instead changes no meaning."""
    final = after if final is None else final
    touched = [path for path in {**before, **after} if before.get(path) != after.get(path)]
    if not touched:
        return ReportCard()
    known = StaleStatements(stale)
    grader = _Grader(before, after, touched, known, check)
    grader.run()
    start_before, start_after = (loaded(texts) if loaded else {} for texts in (before, final))
    return ReportCard(
        grader.total,
        grader.total - len(grader.lost),
        tuple(grader.changed),
        tuple(_placed(fact) for fact in grader.invented),
        tuple(_placed(fact) for fact in grader.lost),
        tuple(_below_cut(before, final, start_before, start_after)),
        grader.contradictions(),
        tuple(broken_links(before, final)),
        BeforeAfter(*(sum(map(estimate_tokens, start.values())) for start in (start_before, start_after))),
        BeforeAfter(len(stale), known.left(after, touched)),
    )


def _placed(fact: Fact) -> PlacedFact:
    return PlacedFact(fact.path, fact.line, fact.text)


class _Partner(NamedTuple):
    """What a fact may have become, or what may have become it."""

    fact: Fact
    compared: Compared


class _Grader:
    """Looks for each fact of the files that changed: word for word, then in other words, then anywhere."""

    def __init__(
        self,
        before: Texts,
        after: Texts,
        touched: Collection[str],
        stale: StaleStatements,
        check: Callable[[], None],
    ) -> None:
        self._check = check
        self._stale = stale
        self._texts_before, self._texts_after = before, after
        self._others = {path: text for path, text in before.items() if path not in touched}
        self._before = [fact for path in touched if path in before for fact in read_facts(path, before[path])]
        self._after = [fact for path in touched if path in after for fact in read_facts(path, after[path])]
        self._other_facts: list[Fact] | None = None
        self._keys = [
            fact
            for path in touched
            if path in before and path in after
            for fact in front_matter_lines(path, before[path])
        ]
        self.total = sum(fact.counts for fact in self._before) + len(self._keys)
        self.lost: list[Fact] = []
        self.invented: list[Fact] = []
        self._changes: dict[tuple[Fact, Fact], What] = {}
        self._partners: dict[int, list[_Partner]] = defaultdict(list)

    def run(self) -> None:
        """Fill `lost`, `changed` and `invented`."""
        stands, stood = _by_key(self._after), _by_key(self._before)
        self._front_matter()
        self._moved(stands, stood)
        names = self._names = Names(
            self._texts_before, self._texts_after, stands, stood, self._stale.corrected
        )
        missing = [
            names.before(fact) for fact in self._before if fact.key not in stands and fact.kind != "key"
        ]
        new = [names.after(fact) for fact in self._after if fact.key not in stood and fact.kind != "key"]
        now = {names.after(fact).key for fact in self._after} if missing else set[str]()
        then = {names.before(fact).key for fact in self._before} if new else set[str]()
        if missing or new:
            others = {fact.key for fact in self._others_facts()}
            self._find(
                [fact for fact in missing if fact.key not in now and fact.key not in others],
                fresh := [fact for fact in new if fact.key not in then and fact.key not in others],
            )
            self._sources(fresh)

    @property
    def changed(self) -> Iterator[ChangedFact]:
        """What says something else."""
        for (fact, other), what in self._changes.items():
            yield ChangedFact(fact.path, fact.line, fact.text, other.text, what, other.path, other.line)

    def contradictions(self) -> BeforeAfter:
        """Those among all texts."""
        others = Contradictions(self._others_facts())
        return BeforeAfter(
            Contradictions(self._before, others).count, Contradictions(self._after, others).count
        )

    def _others_facts(self) -> list[Fact]:
        if self._other_facts is None:
            self._other_facts = []
            for path, text in self._others.items():
                self._check()
                self._other_facts += map(self._names.before, read_facts(path, text))
        return self._other_facts

    @cached_property
    def _others_index(self) -> FactIndex:
        return FactIndex(self._others_facts())

    # The front matter of files that stay

    def _front_matter(self) -> None:
        """Look for each line of a file's front matter in its front matter afterwards: nowhere else an agent
        reads it. Of two equal keys one may go."""
        for path in {fact.path for fact in self._keys}:
            now = {fact.key: fact for fact in front_matter_lines(path, self._texts_after[path])}
            names = {key.partition(":")[0]: fact for key, fact in now.items()}
            for fact in self._keys:
                if fact.path != path or self._stale.corrected(fact.key) in now or fact.key in now:
                    continue
                name, _colon, value = fact.key.partition(":")
                other = names.get(name)
                if other is None or (value and not other.key.partition(":")[2].strip()):
                    self.lost.append(fact)
                elif not _IS_TIME.fullmatch(name):
                    self._change(fact, other, "name")

    # Word for word, under another heading

    def _moved(self, stands: Mapping[str, Sequence[Fact]], stood: Mapping[str, Sequence[Fact]]) -> None:
        for key, facts in stood.items():
            now = stands.get(key)
            if now is None or not facts[0].counts:
                continue
            places = {fact.place.casefold() for fact in facts}
            for fact in facts:
                if all(_excluding(fact.place, each.place) for each in now):
                    self._change(fact, now[0], "place")
            for each in now:
                if (
                    each.place.casefold() not in places
                    and all(_excluding(each.place, fact.place) for fact in facts)
                    and not all(_excluding(fact.place, other.place) for fact in facts for other in now)
                ):
                    self._change(facts[0], each, "place")

    # In other words

    def _find(self, missing: Sequence[Fact], new: Sequence[Fact]) -> None:
        among_new = FactIndex(new)
        everywhere: FactIndex | None = None
        for fact in missing:
            self._check()
            matcher, alike = _Matcher(fact), among_new.like(fact)
            partner = matcher.best(alike)
            if not fact.counts or (partner is not None and self._is_edited(fact, partner)):
                if partner is not None and not matcher.is_split(alike):
                    self._judge(fact, partner)
                continue
            everywhere = everywhere or FactIndex(self._after, self._others_index)
            near = [*alike, *everywhere.like(fact)]
            if any(matcher.stands_in(each) for each in near) or matcher.is_split(near):
                continue
            if partner is not None:
                self._judge(fact, partner)
            elif not self._names.is_entry_of_gone(fact):
                self.lost.append(fact)

    def _is_edited(self, fact: Fact, partner: _Partner) -> bool:
        """Whether it was rewritten where it stands, so that no other place counts."""
        compared = partner.compared
        if compared.is_contained or self._names.heir(fact.path) != partner.fact.path:
            return compared.is_contained
        return _is_version(compared) or compared.of_first >= _REWRITTEN

    def _judge(self, fact: Fact, partner: _Partner) -> None:
        compared, other = partner.compared, partner.fact
        self._partners[id(other)].append(partner._replace(fact=fact))
        if compared.what:
            self._change(fact, other, compared.what)
        elif fact.counts and is_generalised(fact, other, compared):
            self._change(fact, other, "generalised")

    def _change(self, fact: Fact, other: Fact, what: What) -> None:
        self._changes[fact, other] = what

    # Where new sentences come from

    def _sources(self, new: Sequence[Fact]) -> None:
        """`invented`, and values of two facts in one."""
        index: FactIndex | None = None
        changed = {id(other) for _fact, other in self._changes}
        for fact in new:
            self._check()
            partners = self._partners.get(id(fact), [])
            left = _left(fact, [each.fact for each in partners])
            if not left and len(partners) < 2:
                continue
            # What is new was read with the names of memories as they are now; its sources have to be as well.
            index = index or FactIndex(
                [*map(self._names.before, self._before), *self._stale.facts()], self._others_index
            )
            became = {id(each.fact) for each in partners}
            sources = [each for each in index.like(fact, most=_SOURCES) if id(each) not in became]
            entry = self._names.is_entry_of(fact)
            sources += [each for each in self._after if each.path == entry] if entry else []
            if any(fact.key in each.key for each in sources) and not partners:
                continue  # a piece of one
            if self._mixes(fact, partners, sources):
                continue
            if id(fact) not in changed and _is_invented(fact, partners, sources):
                version = next((each for each in sources if _is_version(compare(each, fact))), None)
                if version is None:
                    self.invented.append(fact)
                else:
                    self._change(version, fact, compare(version, fact).what or "number")

    def _mixes(self, fact: Fact, partners: Sequence[_Partner], sources: Sequence[Fact]) -> bool:
        """Whether it has values of two facts as if they were of one."""
        found = False
        for number, partner in enumerate(partners):
            others = [each.fact for each in partners if each is not partner]
            instead = {token.canon for token in partner.compared.more_second if token.kind in VALUES}
            takes = any(instead & each.wording.canons for each in others) and bool(partner.compared.what)
            both = any(are_versions(partner.fact, each, fact) for each in (*others[number:], *sources))
            crossed = any(are_crossed(partner.fact, each, fact) for each in others[number:])
            if takes or both or crossed:
                self._change(partner.fact, fact, "merged")
                found = True
        return found


def _by_key(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    found: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        found[fact.key].append(fact)
    return found


def _comparable(fact: Fact, other: Fact) -> bool:
    return (fact.kind == "label") == (other.kind == "label") and (fact.kind == "code") == (
        other.kind == "code"
    )


def _excluding(place: str, other: str) -> bool:
    if place.casefold() == other.casefold() or not place or not other:
        return False
    return excludes(read_wording(place).seen, read_wording(other).seen)


def _is_version(compared: Compared) -> bool:
    """Whether it is the same but for another number."""
    return compared.what in ("number", "version") and compared.context >= _WHOLE


class _Matcher:
    """One fact beside others, each of which it is compared with once."""

    def __init__(self, fact: Fact) -> None:
        self.fact = fact
        self._known: dict[int, Compared] = {}

    def to(self, other: Fact) -> Compared:
        """How it compares to `other`, which lives as long as this does."""
        known = self._known.get(id(other))
        if known is None:
            known = self._known[id(other)] = compare(self.fact, other)
        return known

    def best(self, candidates: Iterable[Fact]) -> _Partner | None:
        """The one that keeps the most of it; None where none is about the same."""
        partners = [_Partner(each, self.to(each)) for each in candidates if _comparable(self.fact, each)]
        return max(
            (each for each in partners if each.compared.is_about_the_same),
            key=lambda each: (
                each.compared.is_contained,
                each.compared.of_first + each.compared.of_second,
                not each.compared.what,
            ),
            default=None,
        )

    def stands_in(self, other: Fact) -> bool:
        """Whether all of it is said there; few words are found anywhere, so they have to stand together."""
        if self.fact.wording.weight < _FEW_WORDS:
            return self.fact.key in other.key
        compared = self.to(other)
        return compared.is_contained and compared.of_first >= _WHOLE

    def is_split(self, candidates: Iterable[Fact]) -> bool:
        """Whether several of them together say it, and nothing else."""
        candidates = list(dict.fromkeys(candidates))
        rest = self.fact.key
        for key in sorted({each.key for each in candidates}, key=len, reverse=True):
            rest = rest.replace(key, "", 1)
        if len(rest) <= (1 - _WHOLE) * len(self.fact.key):
            return True
        compared = ((each, self.to(each)) for each in candidates)
        pieces = [each for each, found in compared if found.of_second >= _WHOLE and not found.what]
        return len(pieces) > 1 and not _left(self.fact, pieces)


def _left(fact: Fact, sources: Iterable[Fact]) -> list[WordToken]:
    """Its tokens that stand in none of the sources, but those that say little."""
    canons = set[str]().union(*(each.wording.canons for each in sources))
    return [each for each in fact.wording.tokens if each.canon not in canons and each.kind != "weak"]


def _is_invented(fact: Fact, partners: Sequence[_Partner], sources: Sequence[Fact]) -> bool:
    """Whether it says more than what it came from, as far as that is known."""
    left = _left(fact, (*(each.fact for each in partners), *sources))
    paired = {id(each) for partner in partners for each in partner.compared.more_second}
    left = [each for each in left if not partners or id(each) in paired]
    if any(each.kind in ("number", "identifier") for each in left):
        return True
    if fact.kind == "label" or not left:
        return False
    weight = sum(each.weight for each in left)
    adds = any(each.compared.of_first >= _WHOLE for each in partners)
    return weight > (1 - _SOURCED) * fact.wording.weight or weight >= (_ADDED if adds else _REWORDED)


class StaleStatements:
    """What was not true any more before a change, and what is true instead."""

    def __init__(self, stale: Sequence[CheckedClaim]) -> None:
        self._stale = stale
        now = defaultdict[str, set[str]](set)
        for claim in stale:
            now[claim.token].add(claim.replacement)
        self._now = {token: found for token, (found, *more) in now.items() if found and not more}
        tokens = sorted(self._now, key=len, reverse=True)
        self._tokens = re.compile(rf"(?<![\w/.-])(?:{'|'.join(map(re.escape, tokens))})(?![\w/-]|\.\w)")

    def corrected(self, text: str) -> str:
        """The text with what is true now."""
        return self._tokens.sub(lambda match: self._now[match[0]], text) if self._now else text

    def corrected_texts(self, texts: Texts) -> Texts:
        """All of them with what is true now."""
        return {path: self.corrected(text) for path, text in texts.items()} if self._now else texts

    def facts(self) -> Iterator[Fact]:
        """What the repository says of it, as sources of what a run writes."""
        for claim in self._stale:
            yield from read_facts("", f"{in_one_line(claim)}\n")

    def left(self, after: Texts, touched: Collection[str]) -> int:
        """How many are left after the change."""
        tokens = {claim.token for claim in self._stale}
        if not tokens:
            return 0
        again = (find_claims(after[path], path) for path in touched if path in after)
        found = sum(claim.token in tokens and not claim.muted for claims in again for claim in claims)
        return found + sum(claim.path not in touched for claim in self._stale)


# Links and names of memories: which memory each means, what is broken, and which say the same once a memory
# has another name. One that went lives on under the name of the one that has most of its facts.


_MARKDOWN = re.compile(r"\]\(\s*<?([^()\s<>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_WIKI = re.compile(r"\[\[([^\[\]|#\n]+)")
_NAMED = re.compile(r"(?<![\w/.-])(?:\.{0,2}/)*[\w.-]+(?:/[\w.-]+)*\.md\b")
_ENTRY = re.compile(r"^(?:\*\*)?(?:\[[^\[\]]*\]\(<?([^()\s<>#]+)[^()]*\)|`?([\w./-]+\.md)`?\s*[:—–-])")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class Places:
    """The memories of a store, to be found by what a text calls them."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._by_name: dict[tuple[str, str], list[str]] = defaultdict(list)
        for path in texts:
            name = path.rpartition("/")[2].casefold()
            self._by_name[_scope(path), name].append(path)
            self._by_name[_scope(path), name.removesuffix(".md")].append(path)

    def has(self, path: str) -> bool:
        """Whether there is a memory of this path."""
        return path in self._texts

    def of(self, path: str, target: str) -> str:
        """The memory that `target` means in the text of `path`; empty where there is none, or several."""
        scope = _scope(path)
        for name in (target, f"{target}.md"):
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
            for found in (beside, name, f"{scope}/{name.lstrip('/')}"):
                if found in self._texts:
                    return found
        named = self._by_name.get((scope, target.rpartition("/")[2].casefold()), ())
        alike = [each for each in named if each.endswith(f"/{target.lstrip('./')}") or "/" not in target]
        alike = alike or [each for each in named if target.removesuffix(".md") in each]
        return alike[0] if len(alike) == 1 else ""


def _scope(path: str) -> str:
    return "/".join(path.split("/")[:3])


class Names:
    """What facts mean whatever the memories they name are called by now."""

    def __init__(
        self,
        before: Texts,
        after: Texts,
        stands: Mapping[str, Sequence[Fact]],
        stood: Mapping[str, Sequence[Fact]],
        corrected: Callable[[str], str] = str,
    ) -> None:
        """`corrected`: a text with what is true now in place of what is stale."""
        self._corrected = corrected
        self._before, self._after = Places(before), Places(after)
        self._heirs = _heirs(before, after, stands, stood)

    def before(self, fact: Fact) -> Fact:
        """A fact that stood before."""
        return self._meant(fact, self._before)

    def after(self, fact: Fact) -> Fact:
        """A fact that stands now."""
        return self._meant(fact, self._after)

    def heir(self, path: str) -> str:
        """The memory that has its facts now: itself, or the one that took them over."""
        return self._heirs.get(path, path)

    def is_entry_of_gone(self, fact: Fact) -> bool:
        """Whether it is a line of an index about a memory that went, whose own facts are looked for."""
        return (path := self._entry(fact, self._before)) != "" and not self._after.has(path)

    def is_entry_of(self, fact: Fact) -> str:
        """The memory that a line of an index is about now; empty where it is none."""
        return self._entry(fact, self._after)

    @staticmethod
    def _entry(fact: Fact, places: Places) -> str:
        found = _ENTRY.match(fact.text)
        return places.of(fact.path, unquote(found[1] or found[2])) if found else ""

    def _meant(self, fact: Fact, places: Places) -> Fact:
        def name(match: re.Match[str]) -> str:
            found = places.of(fact.path, match[0])
            return self._heirs.get(found, found) or match[0]

        def slug(match: re.Match[str]) -> str:
            found = places.of(fact.path, match[1].strip())
            return f"[[{self._heirs.get(found, found) or match[1]}"

        text = self._corrected(fact.text)
        if ".md" in text or "[[" in text:
            text = _WIKI.sub(slug, _NAMED.sub(name, text))
        return fact.meaning(text)


def _heirs(
    before: Texts,
    after: Texts,
    stands: Mapping[str, Sequence[Fact]],
    stood: Mapping[str, Sequence[Fact]],
) -> dict[str, str]:
    """For each memory that went, the one that has most of its facts."""
    gone = {path for path in before if path not in after}
    holders: dict[str, Counter[str]] = {path: Counter() for path in gone}
    for key, facts in stood.items() if gone else ():
        for path in {fact.path for fact in facts if fact.path in gone}:
            holders[path].update({fact.path for fact in stands.get(key, ())})
    return {path: found.most_common(1)[0][0] for path, found in holders.items() if found}


def broken_links(before: Texts, after: Texts) -> Iterator[BrokenLink]:
    """Links and names of memories that lead to nothing afterwards, where they led somewhere before or are
    new."""
    then, now = Places(before), Places(after)
    gone = [path for path in before if path not in after]
    moved = {target: path for path in gone for _line, target, _link in _links(before[path])}
    for path, text in after.items():
        if text == before.get(path) and not gone:
            continue
        own = {target for _line, target, _link in _links(before.get(path, ""))}
        for line, target, is_link in _links(text):
            if now.of(path, target):
                continue
            came_with = moved.get(target, "")
            led = (target in own and then.of(path, target)) or (came_with and then.of(came_with, target))
            is_new = target not in own and not came_with and is_link and target.endswith(".md")
            if led or is_new:
                yield BrokenLink(path, line, target)


def _links(text: str) -> Iterator[tuple[int, str, bool]]:
    """Line, target and whether it is a link, not only a name."""
    if "](" not in text and "[[" not in text and ".md" not in text:
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if ".md" not in line and "](" not in line and "[[" not in line:
            continue
        targets: dict[str, bool] = {}
        for found in _MARKDOWN.findall(line):
            targets[unquote(found).split("#")[0]] = True
        for found in _WIKI.findall(line):
            targets[found.strip()] = True
        for found in _NAMED.findall(line):
            targets.setdefault(found, False)
        for target, is_link in targets.items():
            if target and not target.startswith("#") and not _SCHEME.match(target):
                yield number, target, is_link


# The cut


def _below_cut(before: Texts, after: Texts, start_before: Texts, start_after: Texts) -> Iterator[PlacedFact]:
    """Facts that a session started with and that still stand in the files, but are loaded no more."""
    if not start_before:
        return
    loaded = {fact.key for path, text in start_after.items() for fact in read_facts(path, text)}
    missed = {
        fact.key: fact
        for path, text in start_before.items()
        for fact in read_facts(path, text)
        if fact.counts and fact.key not in loaded
    }
    if not missed:
        return
    seen = set[str]()
    for path in sorted(after, key=lambda path: path not in start_before):
        text = after[path]
        if path in start_before or before.get(path) != text:
            for fact in read_facts(path, text):
                if fact.key in missed and fact.key not in seen:
                    seen.add(fact.key)
                    yield _placed(fact)
