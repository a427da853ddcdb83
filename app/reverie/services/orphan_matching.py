"""To which live project a lost store belongs, by evidence. Pure: identities in, an order out.

The strongest sort of evidence decides, weaker ones break ties: the home itself names the owner; the same root
commit; the same remote; the same name. Two projects with the same evidence are never told apart by guessing:
then there is no best match, and a person chooses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from reverie.homes.listing import LostStore
from reverie.homes.scopes import Scope
from reverie.services.repository_identity import Identity

EvidenceKind = Literal["owner", "root", "remote", "name"]
ORDER: tuple[EvidenceKind, ...] = ("owner", "root", "remote", "name")
_NAME = re.compile(r"[^\w]+|_")
_SHOWN_HEX = 10


@dataclass(frozen=True, slots=True)
class LiveProject:
    """A project that the home lists. `there`: its directory can be reached now."""

    path: str
    name: str
    there: bool
    identity: Identity | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that speaks for a match; `value` is what both have: a shortened commit, an address, a name,
    the file that names the owner."""

    kind: EvidenceKind
    value: str


@dataclass(frozen=True, slots=True)
class Match:
    """A project that a store may belong to, strongest evidence first."""

    project_path: str
    name: str
    evidence: tuple[Evidence, ...]

    @property
    def rank(self) -> tuple[bool, ...]:
        kinds = {each.kind for each in self.evidence}
        return tuple(kind in kinds for kind in ORDER)


def matches(
    store: LostStore, identity: Identity | None, projects: Iterable[LiveProject]
) -> tuple[Match, ...]:
    """The projects that something speaks for, best first. Projects that are not there count only where the
    home itself names them."""
    if store.scope is Scope.GLOBAL:
        return ()
    found = [
        Match(project.path, project.name, evidence)
        for project in projects
        if not (store.kind == "missing-project" and project.path == store.former_path)
        and (evidence := tuple(_evidence(store, identity, project)))
    ]
    return tuple(sorted(found, key=lambda match: (tuple(not has for has in match.rank), match.project_path)))


def best(found: Sequence[Match]) -> Match | None:
    """The first, unless the second has the same evidence."""
    if not found or (len(found) > 1 and found[0].rank == found[1].rank):
        return None
    return found[0]


def _evidence(store: LostStore, identity: Identity | None, project: LiveProject) -> Iterable[Evidence]:
    if store.owner and store.owner == project.path:
        yield Evidence("owner", store.former_source)
    if not project.there:
        return
    if identity is not None and project.identity is not None:
        for root in sorted(set(identity.roots) & set(project.identity.roots))[:1]:
            yield Evidence("root", root[:_SHOWN_HEX])
        for remote in sorted(set(identity.remotes) & set(project.identity.remotes))[:1]:
            yield Evidence("remote", remote)
    last = project.path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    if store.name and _folded(store.name) in (_folded(last), _folded(project.name)):
        yield Evidence("name", last)


def _folded(name: str) -> str:
    """Names are compared as people read them: without case and signs."""
    return _NAME.sub("-", name.casefold())
