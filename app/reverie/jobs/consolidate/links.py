"""Links and names of memories in texts: which memory each means, what is broken, and which say the same once
a memory has another name.

A memory that went lives on under the name of the one that has most of its facts. Pure; any thread.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

from reverie.jobs.consolidate.facts import Fact
from reverie.runs.card import BrokenLink

Texts = Mapping[str, str]

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
    ) -> None:
        self._before, self._after = Places(before), Places(after)
        self._heirs = _heirs(before, after, stands, stood)

    def before(self, fact: Fact) -> Fact:
        """A fact that stood before."""
        return self._meant(fact, self._before)

    def after(self, fact: Fact) -> Fact:
        """A fact that stands now."""
        return self._meant(fact, self._after)

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

        if ".md" not in fact.text and "[[" not in fact.text:
            return fact
        return fact.meaning(_WIKI.sub(slug, _NAMED.sub(name, fact.text)))


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
