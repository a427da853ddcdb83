"""Which directories belong to the same project: rules on the identities of their repositories.

A project is a repository, or a folder of one: repositories with a root commit in common are the same project,
else those with the same address of the main remote. Where a fork, a rewritten history, a shallow clone or a
history without an address makes this uncertain, a person is asked, and until then the projects stay separate.
A directory outside of all repositories is a project of its own, until a person gives several the same name.

Pure; any thread.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Literal

from reverie.agents.base import Identity
from reverie.values import Struct

Verdict = Literal["same", "fork", "rewritten", "unsure", "different"]
"""The relation of two repositories; `same_project` asks a person about `fork`, `rewritten` and `unsure`.

`fork`: a common root commit, but other addresses. `rewritten`: the same address, but no common root commit.
`unsure`: the evidence is too weak, for example because one of them is a shallow clone.
"""
Answer = Literal["same", "apart"]
"""A person's answer whether two repositories are one project."""

_CASELESS_HOSTS = ("github.com/", "gitlab.com/", "bitbucket.org/", "dev.azure.com/", "codeberg.org/")
"""Hosts that ignore the case of a repository's path."""
_NOT_IN_SLUG = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 40


def same_project(one: Identity, other: Identity) -> Verdict:
    """Return how the projects with these two identities are related.

    `same` and `different` are certain. A person must decide about `fork` (a common root commit, but other
    addresses), `rewritten` (the same address, but no common root commit) and `unsure`.
    """
    if one.below != other.below:
        return "different"
    if one.common and one.common == other.common:
        return "same"
    address = _same_address(one, other)
    if one.roots and other.roots:
        if set(one.roots).isdisjoint(other.roots):
            return "rewritten" if address == "same" else "different"
        if address in ("same", "similar"):
            return "same"
        if address == "none":
            # A history may contain that of another project, which was merged into it.
            return "same" if one.roots == other.roots else "unsure"
        return "fork"
    if address == "same":
        return "same"
    if address in ("similar", "shared") or _name(one) == _name(other) != "":
        return "unsure"
    return "different"


def _same_address(one: Identity, other: Identity) -> Literal["same", "similar", "shared", "other", "none"]:
    """Return how the addresses of the main remotes of two repositories are related.

    `same`: they are equal, or one repository was cloned from the other. `similar`: they differ only in the
    case of a path, which may matter. `shared`: they differ, but the repositories have another remote in
    common. `other`: the repositories have no remote in common. `none`: at least one repository has no remote.
    """
    if _is_clone_of(one, other) or _is_clone_of(other, one):
        return "same"
    if not one.remotes or not other.remotes:
        return "none"
    first, second = one.origin, other.origin
    if first and second:
        if first == second:
            return "same"
        if first.casefold() == second.casefold():
            return "same" if first.casefold().startswith(_CASELESS_HOSTS) else "similar"
    return "other" if set(one.remotes).isdisjoint(other.remotes) else "shared"


def _is_clone_of(one: Identity, other: Identity) -> bool:
    """Return whether `one` was cloned from the directory of `other` on this machine."""
    return one.origin != "" and one.origin == _folder(other)


def _name(identity: Identity) -> str:
    """Return the name of a repository: the last part of its main remote's address, else of its path."""
    path = identity.origin or _folder(identity)
    return path.rpartition("/")[2].casefold()


def _folder(identity: Identity) -> str:
    """Return the path of the repository on this machine, without `.git` at its end.

    A clone of the repository has this path as the address of its remote.
    """
    return identity.common.removesuffix("/.git").removesuffix(".git")


def answer_key(identity: Identity) -> str:
    """Return the text under which a person's answer about this repository is stored.

    It is equal for all checkouts with the same main remote and root commits; a shallow clone has no root
    commits.
    """
    known = (identity.origin, *identity.roots) if identity.origin or identity.roots else (identity.common,)
    return "|".join((*known, f"/{identity.below}"))


class ProjectPlace(Struct, frozen=True):
    """A directory that may belong to a project, and the identity of its repository."""

    path: str
    """The path of the directory; that of the notes, if the directory of their project is unknown."""
    identity: Identity | None = None
    """None if the directory is in no repository, or if its repository is unknown."""
    name: str = ""
    """The name that a person gave the project of a directory outside of all repositories; else empty."""


class Question(Struct, frozen=True):
    """The question to a person, whether two projects are one."""

    groups: tuple[int, int]
    """The positions of the projects in `Grouping.groups`."""
    reason: Verdict
    """Why it is uncertain whether they are one."""
    places: tuple[str, str]
    """The paths of two directories, one in each project, between which the relation is uncertain."""
    keys: tuple[str, str]
    """The keys under which the answer is stored (`answer_key`)."""


class Grouping(Struct, frozen=True):
    """Directories grouped into projects, and questions to a person about projects that may be one."""

    groups: tuple[tuple[ProjectPlace, ...], ...]
    questions: tuple[Question, ...]


def group_places(places: Sequence[ProjectPlace], answers: Mapping[tuple[str, str], Answer]) -> Grouping:
    """Return directories grouped into projects, and the questions about projects that may be one.

    Two groups are joined if all their directories are the same by `same_project` or by an answer, or if a
    person answered `same` about two of them: an uncertain relation alone joins nothing. `answers`: a person's
    answers, by the sorted pair of `answer_key`s. Projects are in the order of their first directory.
    """
    group_of = list(range(len(places)))
    members = {number: [number] for number in group_of}
    verdicts: dict[tuple[int, int], tuple[Verdict, Answer | None]] = {}

    def verdict(one: int, other: int) -> tuple[Verdict, Answer | None]:
        pair = (min(one, other), max(one, other))
        if pair not in verdicts:
            verdicts[pair] = _verdict(places[one], places[other], answers)
        return verdicts[pair]

    def are_same(one: int, other: int) -> bool:
        found, answer = verdict(one, other)
        return answer == "same" or (found == "same" and answer is None)

    candidates = sorted(_candidates(places, answers), key=lambda pair: (_strength(places, pair), pair))
    for one, other in candidates:
        first, second = sorted((group_of[one], group_of[other]))
        if first == second or not are_same(one, other):
            continue
        if verdict(one, other)[1] == "same" or all(
            are_same(mine, theirs) for mine in members[first] for theirs in members[second]
        ):
            for each in members[second]:
                group_of[each] = first
            members[first] += members.pop(second)
    order = {group: number for number, group in enumerate(sorted(members, key=lambda at: min(members[at])))}
    questions: dict[tuple[int, int], Question] = {}
    for one, other in candidates:
        found, answer = verdict(one, other)
        groups = order[group_of[one]], order[group_of[other]]
        mine, theirs = places[one].identity, places[other].identity
        if groups[0] == groups[1] or answer is not None or found == "different" or not (mine and theirs):
            continue
        pair = min(groups), max(groups)
        # The group of `one` accepts `other`, but not all of the other group: a third directory is uncertain.
        reason: Verdict = "unsure" if found == "same" else found
        paths = (places[one].path, places[other].path)
        keys = (answer_key(mine), answer_key(theirs))
        if groups[0] > groups[1]:
            paths, keys = (paths[1], paths[0]), (keys[1], keys[0])
        known = questions.get(pair)
        if known is None or (known.reason == "unsure" and reason != "unsure"):
            questions[pair] = Question(pair, reason, paths, keys)
    return Grouping(
        tuple(tuple(places[each] for each in sorted(members[at])) for at in order), tuple(questions.values())
    )


def _verdict(
    one: ProjectPlace, other: ProjectPlace, answers: Mapping[tuple[str, str], Answer]
) -> tuple[Verdict, Answer | None]:
    """Return how two directories are related by `same_project`, and what a person answered about them.

    `answers`: a person's answers, by the sorted pair of `answer_key`s. The second value is None if a person
    has not answered about the two.
    """
    if one.path == other.path or (one.name and one.name == other.name):
        return "same", None
    if one.identity is None or other.identity is None:
        return "different", None
    first, second = sorted((answer_key(one.identity), answer_key(other.identity)))
    found = same_project(one.identity, other.identity)
    return found, None if first == second else answers.get((first, second))


def _candidates(
    places: Sequence[ProjectPlace], answers: Mapping[tuple[str, str], Answer]
) -> set[tuple[int, int]]:
    """Return the pairs of directories that have anything in common; all others are different projects."""
    answered: dict[str, set[str]] = {}
    for pair in answers:
        for key in pair:
            answered.setdefault(key, set()).add(f"answer {pair}")
    together: dict[str, list[int]] = {}
    for number, place in enumerate(places):
        features = {place.path, f"name {place.name}" if place.name else place.path}
        if place.identity is not None:
            one = place.identity
            features.update((*one.roots, *(each.casefold() for each in one.remotes), one.common))
            features.add(f"name {_name(one)}")
            features.add(_folder(one).casefold())
            features.update(answered.get(answer_key(one), ()))
        for feature in features - {"", "name "}:
            together.setdefault(feature, []).append(number)
    return {pair for numbers in together.values() for pair in combinations(numbers, 2)}


def _strength(places: Sequence[ProjectPlace], pair: tuple[int, int]) -> int:
    """Return a rank of the evidence that two directories are one project: 0 is the strongest."""
    one, other = (places[number].identity for number in pair)
    if one is None or other is None or (one.common and one.common == other.common):
        return 0
    shared_roots = not set(one.roots).isdisjoint(other.roots)
    return 3 - 2 * (_same_address(one, other) == "same") - shared_roots


def new_slug(name: str, identities: Iterable[Identity], path: str, taken: Iterable[str]) -> str:
    """Return a short name for a project that is safe in file names and not in `taken`.

    Two machines give the same repository the same slug, if its name is the same on both. `name`: the name for
    people; `identities`: those of its directories; `path`: the directory of a project without a repository.
    """
    key = path
    for one in identities:
        repository = next(iter(one.roots), one.origin)
        if repository:
            key = f"{repository}/{one.below}"
            break
    digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
    words = _NOT_IN_SLUG.sub("-", name.casefold()).strip("-")[:_LONGEST_NAME].strip("-") or "project"
    known = set(taken)
    return next(
        slug for length in range(8, 65) if (slug := f"{words}-{digest[:length]}") not in known or length == 64
    )
