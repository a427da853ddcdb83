"""The report card of a consolidation: computes from the texts before and after which facts were preserved.

Rules, a model or the agent itself may have made the change; it is graded the same way. Grading uses no model.
In doubt it decides against the change: a fact that cannot be found again counts as lost, a sentence without a
source as invented.

Only facts of files that changed are graded. `kept` counts the facts that exist somewhere afterwards, even
reworded; a fact whose meaning changed counts as kept and is also listed in `changed`.

Pure; any thread. `check` is called every few facts and may raise to stop.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from urllib.parse import unquote

from reverie.claims.checking import CheckedClaim, in_one_line
from reverie.claims.finding import find_claims
from reverie.jobs.consolidate.facts import (
    VALUES,
    WHOLE,
    Compared,
    Contradictions,
    Fact,
    FactIndex,
    FactMatcher,
    FactPartner,
    are_crossed,
    are_excluding,
    are_versions,
    compare,
    front_matter_lines,
    is_generalised,
    read_facts,
    words_left,
)
from reverie.runs.card import BeforeAfter, BrokenLink, ChangedFact, PlacedFact, ReportCard, What
from reverie.text.patterns import pattern_of
from reverie.text.summaries import estimate_tokens

_SOURCES = 4
_SOURCED = 0.6
_REWRITTEN = 0.7
_IS_TIME = pattern_of(r"(?:last[-_ ]?)?(?:modified|updated|changed)(?:[-_ ]?at)?")
# The weight of new words from which a fact counts as invented: if it extends a fact, and if it rewords one.
_ADDED = 2.0
_REWORDED = 3.0

Texts = Mapping[str, str]
Loaded = Callable[[Texts], Texts]
"""A function that returns the texts that an agent loads at the start of a session, out of all `texts`.

A text that the agent generates, such as an index, has its own name in the result.
"""


def report_card(
    before: Texts,
    after: Texts,
    *,
    final: Texts | None = None,
    loaded: Loaded | None = None,
    stale: Sequence[CheckedClaim] = (),
    check: Callable[[], None] = lambda: None,
) -> ReportCard:
    """Return the report card of a change of memories: which facts were lost, changed, kept or invented.

    `before` and `after` are all texts that an agent has, by memory path. `final`: the texts after the change
    with updated indexes and links, from which links and sizes are computed; None: `after`. `loaded` returns
    the texts that a session loads at its start; None: unknown, then sizes and facts that are no longer loaded
    are missing from the card. `stale` are the statements that were no longer true before; correcting one does
    not count as a change of meaning. `check` may raise to stop.
    """
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


class _Grader:
    """The comparison that finds which facts of the changed files were lost, changed or invented.

    It searches each fact by its exact words, then among rewordings, then in all other files. `touched`: the
    paths of the changed files.
    """

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
        self._partners: dict[int, list[FactPartner]] = defaultdict(list)

    def run(self) -> None:
        """Compare all facts; fill `lost`, `invented` and the changes for `changed`."""
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
        """The facts whose meaning changed."""
        for (fact, other), what in self._changes.items():
            yield ChangedFact(fact.path, fact.line, fact.text, other.text, what, other.path, other.line)

    def contradictions(self) -> BeforeAfter:
        """Return the numbers of contradictions among all texts, before and after the change."""
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

    def _front_matter(self) -> None:
        """Compare the front matter of files that still exist, line by line.

        A line must remain in the front matter, because an agent reads it nowhere else. One of two equal keys
        may be dropped.
        """
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

    def _moved(self, stands: Mapping[str, Sequence[Fact]], stood: Mapping[str, Sequence[Fact]]) -> None:
        """Record facts with unchanged text that are now under a heading that gives them another meaning.

        `stood` and `stands` are the facts before and after the change, by their text without case and markup.
        """
        for key, facts in stood.items():
            now = stands.get(key)
            if now is None or not facts[0].counts:
                continue
            places = {fact.place.casefold() for fact in facts}
            for fact in facts:
                if all(are_excluding(fact.place, each.place) for each in now):
                    self._change(fact, now[0], "place")
            for each in now:
                if (
                    each.place.casefold() not in places
                    and all(are_excluding(each.place, fact.place) for fact in facts)
                    and not all(are_excluding(fact.place, other.place) for fact in facts for other in now)
                ):
                    self._change(facts[0], each, "place")

    def _find(self, missing: Sequence[Fact], new: Sequence[Fact]) -> None:
        """Search for the facts `missing`, which have no exact match after the change, and record the result.

        A fact counts as reworded, changed or lost. `new`: the facts that had no exact match before the
        change; these are searched first, then all facts.
        """
        among_new = FactIndex(new)
        everywhere: FactIndex | None = None
        for fact in missing:
            self._check()
            matcher, alike = FactMatcher(fact), among_new.like(fact)
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

    def _is_edited(self, fact: Fact, partner: FactPartner) -> bool:
        """Return True if `fact` was rewritten in place as `partner`; other places are then not searched."""
        compared = partner.compared
        if compared.is_contained or self._names.heir(fact.path) != partner.fact.path:
            return compared.is_contained
        return _is_version(compared) or compared.of_first >= _REWRITTEN

    def _judge(self, fact: Fact, partner: FactPartner) -> None:
        compared, other = partner.compared, partner.fact
        self._partners[id(other)].append(partner._replace(fact=fact))
        if compared.what:
            self._change(fact, other, compared.what)
        elif fact.counts and is_generalised(fact, other, compared):
            self._change(fact, other, "generalised")

    def _change(self, fact: Fact, other: Fact, what: What) -> None:
        self._changes[fact, other] = what

    def _sources(self, new: Sequence[Fact]) -> None:
        """Record the facts in `new` that are invented: no fact before the change states their content.

        Also records facts that mix the values of two facts.
        """
        index: FactIndex | None = None
        changed = {id(other) for _fact, other in self._changes}
        for fact in new:
            self._check()
            partners = self._partners.get(id(fact), [])
            left = words_left(fact, [each.fact for each in partners])
            if not left and len(partners) < 2:
                continue
            # New facts use the present names of memories, so their sources have to use them as well.
            index = index or FactIndex(
                [*map(self._names.before, self._before), *self._stale.facts()], self._others_index
            )
            became = {id(each.fact) for each in partners}
            sources = [each for each in index.like(fact, most=_SOURCES) if id(each) not in became]
            entry = self._names.is_entry_of(fact)
            sources += [each for each in self._after if each.path == entry] if entry else []
            if any(fact.key in each.key for each in sources) and not partners:
                continue  # part of an old fact
            if self._mixes(fact, partners, sources):
                continue
            if id(fact) not in changed and _is_invented(fact, partners, sources):
                version = next((each for each in sources if _is_version(compare(each, fact))), None)
                if version is None:
                    self.invented.append(fact)
                else:
                    self._change(version, fact, compare(version, fact).what or "number")

    def _mixes(self, fact: Fact, partners: Sequence[FactPartner], sources: Sequence[Fact]) -> bool:
        """Return True if the new fact `fact` mixes values of two facts as if they were one; record this then.

        `partners`: the old facts of which it is a rewording. `sources`: other old facts with similar words.
        """
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


def _is_version(compared: Compared) -> bool:
    """Return True if the two compared facts are the same except for a number."""
    return compared.what in ("number", "version") and compared.context >= WHOLE


def _is_invented(fact: Fact, partners: Sequence[FactPartner], sources: Sequence[Fact]) -> bool:
    """Return True if a new fact states more than the old facts from which it may come.

    `partners`: the old facts of which it is a rewording. `sources`: other old facts with similar words.
    """
    left = words_left(fact, (*(each.fact for each in partners), *sources))
    paired = {id(each) for partner in partners for each in partner.compared.more_second}
    left = [each for each in left if not partners or id(each) in paired]
    if any(each.kind in ("number", "identifier") for each in left):
        return True
    if fact.kind == "label" or not left:
        return False
    weight = sum(each.weight for each in left)
    adds = any(each.compared.of_first >= WHOLE for each in partners)
    return weight > (1 - _SOURCED) * fact.wording.weight or weight >= (_ADDED if adds else _REWORDED)


class StaleStatements:
    """The statements that were no longer true before a change, with their corrections."""

    def __init__(self, stale: Sequence[CheckedClaim]) -> None:
        self._stale = stale
        now = defaultdict[str, set[str]](set)
        for claim in stale:
            now[claim.token].add(claim.replacement)
        self._now = {token: found for token, (found, *more) in now.items() if found and not more}
        tokens = sorted(self._now, key=len, reverse=True)
        self._tokens = re.compile(rf"(?<![\w/.-])(?:{'|'.join(map(re.escape, tokens))})(?![\w/-]|\.\w)")

    def corrected(self, text: str) -> str:
        """Return `text` with each value that is no longer true replaced by the true one."""
        return self._tokens.sub(lambda match: self._now[match[0]], text) if self._now else text

    def corrected_texts(self, texts: Texts) -> Texts:
        """Return all texts with each value that is no longer true replaced by the true one, by path."""
        return {path: self.corrected(text) for path, text in texts.items()} if self._now else texts

    def facts(self) -> Iterator[Fact]:
        """Yield the true statements of the repository as facts, from which a run may take its text."""
        for claim in self._stale:
            yield from read_facts("", f"{in_one_line(claim)}\n")

    def left(self, after: Texts, touched: Collection[str]) -> int:
        """Return the number of statements that are still not true after the change.

        `after`: all texts by path; `touched`: the paths that changed.
        """
        tokens = {claim.token for claim in self._stale}
        if not tokens:
            return 0
        again = (find_claims(after[path], path) for path in touched if path in after)
        found = sum(claim.token in tokens and not claim.muted for claims in again for claim in claims)
        return found + sum(claim.path not in touched for claim in self._stale)


_MARKDOWN = pattern_of(r"\]\(\s*<?([^()\s<>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_WIKI = pattern_of(r"\[\[([^\[\]|#\n]+)")
_NAMED = re.compile(r"(?<![\w/.-])(?:\.{0,2}/)*[\w.-]+(?:/[\w.-]+)*\.md\b")
_ENTRY = pattern_of(r"^(?:\*\*)?(?:\[[^\[\]]*\]\(<?([^()\s<>#]+)[^()]*\)|`?([\w./-]+\.md)`?\s*[:—–-])")
_SCHEME = pattern_of(r"[A-Za-z][A-Za-z0-9+.-]*:")


class Places:
    """The memories of a store, found by the names that texts use for them."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._by_name: dict[tuple[str, str], list[str]] = defaultdict(list)
        for path in texts:
            name = path.rpartition("/")[2].casefold()
            self._by_name[_scope(path), name].append(path)
            self._by_name[_scope(path), name.removesuffix(".md")].append(path)

    def has(self, path: str) -> bool:
        """Return whether there is a memory with this path."""
        return path in self._texts

    def of(self, path: str, target: str) -> str:
        """Return the path of the memory that `target`, a link or name in the text of `path`, leads to.

        Returns an empty text if there is none, or if several could be meant.
        """
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
    """The names that memories have after a change, so that a rename alone does not change a fact's meaning.

    A deleted memory is represented by the memory that has most of its facts.
    """

    def __init__(
        self,
        before: Texts,
        after: Texts,
        stands: Mapping[str, Sequence[Fact]],
        stood: Mapping[str, Sequence[Fact]],
        corrected: Callable[[str], str] = str,
    ) -> None:
        """Compare the memories before and after a change.

        `stood` and `stands` are the facts before and after, by their text without case and markup.
        `corrected` replaces stale values (no longer true) in a text by true ones.
        """
        self._corrected = corrected
        self._before, self._after = Places(before), Places(after)
        self._heirs = _heirs(before, after, stands, stood)

    def before(self, fact: Fact) -> Fact:
        """Return `fact`, from a text before the change, with the present names of memories in its `meant`."""
        return self._meant(fact, self._before)

    def after(self, fact: Fact) -> Fact:
        """Return `fact`, from a text after the change, with the present names of memories in its `meant`."""
        return self._meant(fact, self._after)

    def heir(self, path: str) -> str:
        """Return the memory that has the facts of `path` now: itself or, if it is gone, its successor."""
        return self._heirs.get(path, path)

    def is_entry_of_gone(self, fact: Fact) -> bool:
        """Return True if the fact is a line of an index about a deleted memory.

        Such a line is not graded, because the facts of that memory are.
        """
        return (path := self._entry(fact, self._before)) != "" and not self._after.has(path)

    def is_entry_of(self, fact: Fact) -> str:
        """Return the path of the memory that a line of an index is about now; empty for any other fact."""
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
    """Return for each deleted memory the memory that has most of its facts now, as paths.

    A memory without such a successor is left out. `stood` and `stands` are the facts before and after, by
    their text without case and markup.
    """
    gone = {path for path in before if path not in after}
    holders: dict[str, Counter[str]] = {path: Counter() for path in gone}
    for key, facts in stood.items() if gone else ():
        for path in {fact.path for fact in facts if fact.path in gone}:
            holders[path].update({fact.path for fact in stands.get(key, ())})
    return {path: found.most_common(1)[0][0] for path, found in holders.items() if found}


def broken_links(before: Texts, after: Texts) -> Iterator[BrokenLink]:
    """Yield links and names of memories that lead nowhere after the change, but led somewhere before.

    Also yields new links that lead nowhere.
    """
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
    """Yield (line number, target, is_link) for each link to a memory and each file name in a text.

    The third part is True for a link and False for a mere file name.
    """
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


def _below_cut(before: Texts, after: Texts, start_before: Texts, start_after: Texts) -> Iterator[PlacedFact]:
    """Yield facts that a session loaded at its start before the change, and that it no longer loads.

    Facts that no memory has any more are left out. `start_before` and `start_after`: the texts that a session
    loads at its start, before and after the change.
    """
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
