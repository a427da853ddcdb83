"""Scopes: where memories live in a home, who may change them, and within which limits.

Every agent's home speaks of its memories in these words; nothing here knows an agent. Values only.

Threading: immutable, so any thread.
"""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Literal

from reverie.errors import Unavailable
from reverie.values import Struct, replace

COMPANIONS = "companions"
"""The key under which the files that an agent loads beside its memories are kept in history and journals;
their root is the home itself."""


class Scope(StrEnum):
    """What a memory belongs to."""

    GLOBAL = "global"
    PROJECT = "project"
    WORKSPACE = "workspace"


class ScopeUnavailable(Unavailable):
    """The scope does not exist for this context, and why. `gap` tells the two reasons apart. `permanent`: the
    agent has no such scope in any context, so nothing is ever consolidated there."""

    scope: Scope
    gap: ProjectGap | None
    permanent: bool

    def __init__(
        self,
        scope: Scope,
        gap: ProjectGap | None,
        title: str,
        *,
        cause: str,
        next_step: str = "",
        permanent: bool = False,
    ) -> None:
        super().__init__(title, cause=cause, next_step=next_step)
        self.scope = scope
        self.gap = gap
        self.permanent = permanent


class ProjectGap(StrEnum):
    """Why a context has no project scope."""

    NO_PROJECT = "no-project"
    MULTI_PROJECT = "multi-project"
    UNKNOWN = "unknown"
    """What the home lists cannot be read at the moment."""


FrontMatterRules = Literal["mux", "claude-code"]
"""By whose rules front matter is read and written (`memory.front_matter_rules`)."""


class Caps(Struct, frozen=True):
    """The limits of one agent. Bytes are UTF-8 bytes, chars UTF-16 code units."""

    file_bytes: int
    files_per_scope: int
    description_chars: int
    description_prefix_bytes: int
    view_depth: int
    descriptions: bool = True
    """Whether the agent reads a description from a note's front matter; where not, Reverie writes none."""
    front_matter: FrontMatterRules = "mux"
    undescribed: str = ""
    """The files that need no description, such as an index: a regular expression that matches the whole
    path; empty for none."""


class ScopeContext(Struct, frozen=True):
    """The ids that turn a memory path into a file. Exactly one of `project_path` and `project_gap` is set.
    `store`: the key of a project store that nobody owns, reached as the project scope; such a context comes
    from `Home.lost_stores` only."""

    workspace_id: str | None
    project_path: str | None
    project_gap: ProjectGap | None = None
    store: str = ""
    dreams_as: str | None = None
    """The project that consolidations of this context are recorded for: None for `project_path`, empty for
    none, and then they leave project memory alone."""

    @property
    def covered_project(self) -> str | None:
        """The project whose coverage record counts here; None for none."""
        return self.project_path if self.dreams_as is None else self.dreams_as or None

    def for_dreams(self) -> ScopeContext:
        """What a consolidation of this context may reach."""
        if self.dreams_as != "":
            return self
        return replace(self, project_path=None, project_gap=ProjectGap.MULTI_PROJECT, dreams_as=None)


class ScopeRoot(Struct, frozen=True):
    """One directory of memories. `key` names it inside its home for ever: `global`, `project/<dirName>`,
    `workspace/<id>`. `usage_prefix` begins the logical keys of its files; None where nobody knows the
    owner. `without`: what this regular expression matches in full, by its path below the directory, belongs
    to other roots or is the agent's housekeeping, with all below it; empty for none. `private`: what is made
    in it, and the root itself, is for its owner only. `read_only`: why nothing in it may be written, as a
    sentence; empty where it may."""

    scope: Scope
    key: str
    directory: Path
    usage_prefix: str | None
    without: str = ""
    private: bool = False
    newest: int = 0
    """Of the notes that `scanned` matches the agent looks through so many, those changed last; 0 for all."""
    scanned: str = ""
    """A regular expression of whole paths, see `newest`."""
    read_only: str = ""
    empty: str = ""
    """What this root is for, as a sentence, where the agent reads nothing that a person writes there. Shown
    while the root is empty, instead of the offer to create a memory."""
    headed: str = ""
    """The files (a regular expression that matches the whole path) whose first heading describes them, where
    no front matter does; empty for none."""

    def leaves_out(self, rel: str) -> bool:
        """Whether `rel` is none of this root's memories."""
        if not self.without:
            return False
        parts = rel.split("/")
        paths = ("/".join(parts[:length]) for length in range(1, len(parts) + 1))
        return any(re.fullmatch(self.without, path) for path in paths)


def escape_key(component: str) -> str:
    """One component of a logical key, so that keys of different components never collide (formats/mux.md
    section 8)."""
    return component.replace("%", "%25").replace(":", "%3A")


def unescape_key(component: str) -> str:
    """What `escape_key` made a component of."""
    return component.replace("%3A", ":").replace("%25", "%")


class FileRule(Struct, frozen=True):
    """Who may change a file of a memory root. `generated`: the agent makes it anew, so that an edit would be
    lost; `read-only`: it is not ours to change, for example a record or what a server keeps. `sentence` says
    so to a person; of an `editable` one it is what whoever edits it has to know. Reverie's own runs obey it
    like people. `deletable`: it may go as a whole all the same, and come back, under the agent's own lock
    beside it."""

    kind: Literal["editable", "generated", "read-only"] = "editable"
    sentence: str = ""
    deletable: bool = False


EDITABLE = FileRule()


class Refusal(Struct, frozen=True):
    """Why Reverie writes nothing into a store. Reading goes on."""

    reason: Literal["unknown-layout", "not-in-use"]
    """A machine word: Reverie does not know this layout or version, or the agent does not use this store."""
    store: str
    """The key of the store; empty for the whole home."""
    title: str
    evidence: str
    """Which file holds what, and what Reverie knows instead. A permission covers exactly this text."""
    next_step: str
    permissible: bool = True
    """Whether a person may have Reverie write anyway."""


FileRole = Literal["memory", "index", "document", "notes", "log", "kept"]
"""What a file is to a dream. `index`: lists the others and follows them; never merged, renamed or deleted.
`document`: holds many memories in an order of its own; a model may edit it, rules leave it alone, and it is
never merged, renamed or deleted.
`notes`: those of one session, `log`: what the agent wrote down of a day, `kept`: what it looks after by
itself; no dream touches any of these."""

DescriptionState = Literal["ok", "none", "malformed", "unclosed", "not-text"]
"""What a file has of a description in its front matter."""
