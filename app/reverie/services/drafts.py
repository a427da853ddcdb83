"""Drafts: text that was typed and not saved, kept outside the home so that a crash or a kill loses none.

Layout: `<state>/drafts/<home id>/<sha256 of store and path>-<instance>.json`, mode 0600 in a directory of
0700, written atomically. The name is made of digests only, so no memory's name can lead it elsewhere, and of
the window that typed, so that two windows, or a draft kept for later and new typing, never share a file. A
draft carries a checksum of its own: what does not match is renamed aside (`.damaged`), told once and never
deleted.

A draft is offered when the process that typed it is gone; those of a living one are its own affair. One whose
text stands in the file by now has done its work and is removed.

Threading: blocking, any thread but the GUI's. Failure: `UserError`. Nothing of a draft is ever logged.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reverie.agents.base import Companion
from reverie.agents.scopes import ProjectGap, ScopeContext
from reverie.errors import UserError, user_error_from_os
from reverie.files.atomic import atomic_write, sweep_temporaries
from reverie.files.directory import ensure_private
from reverie.files.locks import ProcessId, is_alive, this_process
from reverie.files.paths import read_regular
from reverie.memory.paths import parse_memory_path
from reverie.profile import Profile
from reverie.services.container import HomeContainer
from reverie.services.edits import CompanionFiles, UserEdits
from reverie.services.views import FileText

COMPANION_STORE = "companion"
_NAME = re.compile(r"[0-9a-f]{64}-[0-9a-f]{8}\.json", re.ASCII)
_STALE_S = 3600.0


@dataclass(frozen=True, slots=True)
class Draft:
    """Text as it would be written, byte order mark and line breaks included, and what it grew from.

    `store` and `rel` name the file for ever (a scope root's key, or `companion` and the path); `path` and
    `context` are how it was reached (`path` is empty for a companion). `base_sha256` is None where no file
    was there; `base` then still tells the style of the line breaks. `cursor` counts UTF-16 units.
    """

    store: str
    rel: str
    path: str
    context: ScopeContext
    content: str
    base: str | None
    base_sha256: str | None
    cursor: int
    at_ms: int
    overwritten: bool = False
    """Whether it was saved, and another program overwrote it."""

    @property
    def label(self) -> str:
        return self.path or self.rel


@dataclass(frozen=True, slots=True)
class Offer:
    """A draft of a process that is gone, beside the file as it stands now. `gap`: why it cannot go back
    there, or empty."""

    name: str
    draft: Draft
    disk: FileText | None
    companion: Companion | None = None
    gap: str = ""

    @property
    def changed(self) -> bool:
        """The file is not the one the draft grew from any more."""
        return (self.disk.sha256 if self.disk is not None else None) != self.draft.base_sha256


@dataclass(frozen=True, slots=True)
class Offers:
    """What is offered, newest first, and the files that were set aside as damaged just now."""

    offers: tuple[Offer, ...] = ()
    damaged: tuple[Path, ...] = ()


def drafts_directory(profile: Profile, home_id: str) -> Path:
    """Where the drafts of a home lie."""
    return profile.state / "drafts" / home_id


def draft_name(store: str, rel: str, instance: str) -> str:
    """The file of a draft. `instance`: 8 hex digits of the window."""
    digest = hashlib.sha256(f"{store}\0{rel}".encode("utf-8", "surrogatepass")).hexdigest()
    name = f"{digest}-{instance}.json"
    if not _NAME.fullmatch(name):
        raise ValueError("an instance is 8 hex digits")
    return name


class DraftService:
    """The drafts of one home, as the window `instance` writes and sees them."""

    def __init__(self, parts: HomeContainer, instance: str) -> None:
        self._parts = parts
        self._instance = instance
        self._directory = drafts_directory(parts.profile, parts.home_id)

    def keep(self, draft: Draft, *, replaces: Iterable[str] = ()) -> str:
        """Write a draft, durably, then remove those it replaces. Its file name."""
        name = draft_name(draft.store, draft.rel, self._instance)
        ensure_private(self._directory)
        atomic_write(self._directory / name, _document(draft, this_process()), mode=0o600)
        self.drop(old for old in replaces if old != name)
        return name

    def drop(self, names: Iterable[str]) -> None:
        """Remove drafts: their text was saved or thrown away."""
        for name in names:
            if not _NAME.fullmatch(name):
                raise ValueError("no name of a draft")
            try:
                with contextlib.suppress(FileNotFoundError):
                    (self._directory / name).unlink()
            except OSError as error:
                raise user_error_from_os(error, "A draft was not removed.") from error

    def offered(self) -> Offers:
        """Every draft that nobody is typing in any more."""
        offers: list[Offer] = []
        damaged: list[Path] = []
        for name in self._names():
            try:
                found = self._read(name)
            except ValueError:
                damaged.append(self._set_aside(name))
                continue
            if found is not None and not self._is_used(name, found[1]):
                offer = self._offer(name, found[0])
                if offer is not None:
                    offers.append(offer)
        offers.sort(key=lambda offer: offer.draft.at_ms, reverse=True)
        return Offers(tuple(offers), tuple(damaged))

    def offer(self, name: str) -> Offer | None:
        """One draft beside its file as it stands now; None where it is no longer there or has done its
        work."""
        try:
            found = self._read(name)
        except ValueError:
            self._set_aside(name)
            return None
        return self._offer(name, found[0]) if found is not None else None

    def _names(self) -> list[str]:
        try:
            names = sorted(entry.name for entry in os.scandir(self._directory))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise user_error_from_os(error, "The drafts were not listed.") from error
        sweep_temporaries(self._directory, older_than_s=_STALE_S)
        return [name for name in names if _NAME.fullmatch(name)]

    def _read(self, name: str) -> tuple[Draft, ProcessId] | None:
        try:
            data = read_regular(self._directory / name)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise user_error_from_os(error, "A draft was not read.") from error
        return _parsed(data)

    def _is_used(self, name: str, owner: ProcessId) -> bool:
        if name.endswith(f"-{self._instance}.json"):
            return True
        # A window of this very process that is closed by now left it.
        return owner.pid != os.getpid() and is_alive(owner)

    def _set_aside(self, name: str) -> Path:
        renamed = self._directory / f"{name}.{os.urandom(4).hex()}.damaged"
        try:
            (self._directory / name).rename(renamed)
        except OSError as error:
            raise user_error_from_os(error, "A damaged draft was not set aside.") from error
        return renamed

    def _offer(self, name: str, draft: Draft) -> Offer | None:
        companion: Companion | None = None
        disk: FileText | None = None
        gap = ""
        try:
            if draft.store == COMPANION_STORE:
                companion = self._companion(draft)
                disk = CompanionFiles(self._parts).read(companion)
            else:
                self._require_same_store(draft)
                disk = UserEdits(self._parts).read(draft.context, draft.path)
        except UserError as error:
            gap = "" if error.reason == "missing" else str(error)
        if disk is not None and disk.read_only:
            gap = disk.read_only
        elif disk is not None and disk.content == draft.content:
            self.drop([name])
            return None
        return Offer(name, draft, disk, companion, gap)

    def _companion(self, draft: Draft) -> Companion:
        for companion in self._parts.home.companions(draft.context):
            if str(companion.path) == draft.rel:
                return companion
        raise UserError("The agent does not load this file any more.", next_step="Copy the text out.")

    def _require_same_store(self, draft: Draft) -> None:
        scope = parse_memory_path(draft.path).scope
        if scope is None or self._parts.home.scope_root(draft.context, scope).key != draft.store:
            raise UserError(
                "The memories this draft belongs to are not there any more.", next_step="Copy the text out."
            )


def _document(draft: Draft, owner: ProcessId) -> bytes:
    context = draft.context
    body: dict[str, Any] = {
        "store": draft.store,
        "rel": draft.rel,
        "path": draft.path,
        "workspace": context.workspace_id,
        "project": context.project_path,
        "gap": context.project_gap.value if context.project_gap is not None else None,
        "content": draft.content,
        "base": draft.base,
        "baseSha256": draft.base_sha256,
        "cursor": draft.cursor,
        "at": draft.at_ms,
        "owner": [owner.pid, owner.started, owner.boot],
    }
    if draft.overwritten:
        body["overwritten"] = True
    return json.dumps({"check": _check(body), "draft": body}).encode("ascii")


def _check(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode("ascii")).hexdigest()


def _parsed(data: bytes) -> tuple[Draft, ProcessId]:
    """Raises ValueError for what is damaged. The checksum stands for the types of every field."""
    try:
        document = json.loads(data)
        body = document["draft"]
        if _check(body) != document["check"]:
            raise ValueError("the checksum is another")
        gap = body["gap"]
        context = ScopeContext(
            body["workspace"], body["project"], ProjectGap(gap) if gap is not None else None
        )
        draft = Draft(
            store=body["store"],
            rel=body["rel"],
            path=body["path"],
            context=context,
            content=body["content"],
            base=body["base"],
            base_sha256=body["baseSha256"],
            cursor=body["cursor"],
            at_ms=body["at"],
            overwritten=bool(body.get("overwritten", False)),
        )
        return draft, ProcessId(*body["owner"])
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError("a field is missing") from error
