"""Scopes: the directories of memories in a home, the rules for changing them, and their limits.

Every agent's home describes its memories with these values; nothing here is specific to an agent.

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
"""The key for companions (files that an agent loads beside its memories) in history and journals; their root
is the home itself."""


class Scope(StrEnum):
    """The range for which a memory holds: everything (`global`), one project or one workspace."""

    GLOBAL = "global"
    PROJECT = "project"
    WORKSPACE = "workspace"


class ScopeUnavailable(Unavailable):
    """The error for a scope that a context does not have."""

    scope: Scope
    gap: ProjectGap | None
    """The reason why the context has no project; None if the scope is missing for another reason."""
    permanent: bool
    """Whether the agent has no such scope in any context, so that nothing is ever consolidated there."""

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
    """The reason why a context has no project scope."""

    NO_PROJECT = "no-project"
    """There is no project."""
    MULTI_PROJECT = "multi-project"
    """There are several projects."""
    UNKNOWN = "unknown"
    """The home's list cannot be read at the moment."""


FrontMatterRules = Literal["strict", "lenient"]
"""The way in which an agent reads front matter (`memory.front_matter_rules`).

`strict`: as YAML behind plain fences, as mux does. `lenient`: as Claude Code does.
"""


class Caps(Struct, frozen=True):
    """The limits of one agent. Bytes are UTF-8 bytes, chars UTF-16 code units."""

    file_bytes: int
    files_per_scope: int
    description_chars: int
    description_prefix_bytes: int
    """The number of bytes at the beginning of a file in which the agent searches for a description."""
    view_depth: int
    """The number of levels that the command `view` lists below a directory."""
    descriptions: bool = True
    """Whether the agent reads a description from a note's front matter; if not, Reverie writes none."""
    front_matter: FrontMatterRules = "strict"
    """The rules by which the agent finds and reads front matter."""
    undescribed: str = ""
    """A regular expression of the whole paths of files that need no description, such as an index.

    Empty if there are none.
    """


class ScopeContext(Struct, frozen=True):
    """The ids that turn a memory path into a file: those of a workspace and of a project, if any.

    Exactly one of `project_path` and `project_gap` is set.
    """

    workspace_id: str | None
    project_path: str | None
    project_gap: ProjectGap | None = None
    """The reason why there is no project; None if there is one."""
    store: str = ""
    """The key (`ScopeRoot.key`) of the store to use as the project scope, in place of the project's own.

    Set for a lost store (`OrphanedStores.lost_stores`), and for a store of an old version of Codex, which had
    one for each working directory. Empty: the project's own store.
    """
    dreams_as: str | None = None
    """The project for which consolidations of this context are recorded; None: `project_path`.

    Empty: no project, and consolidations leave project memory unchanged.
    """

    @property
    def covered_project(self) -> str | None:
        """The project for which consolidations of this context are recorded; None if there is none."""
        return self.project_path if self.dreams_as is None else self.dreams_as or None

    def for_dreams(self) -> ScopeContext:
        """Return the context of the memories that a consolidation of this context may change."""
        if self.dreams_as != "":
            return self
        return replace(self, project_path=None, project_gap=ProjectGap.MULTI_PROJECT, dreams_as=None)


class ScopeRoot(Struct, frozen=True):
    """One directory of memories."""

    scope: Scope
    key: str
    """The name of the root in its home, which never changes.

    It is `global`, `project/<dirName>` or `workspace/<id>`.
    """
    directory: Path
    usage_prefix: str | None
    """The beginning of the keys of its files in the record of uses and pins.

    None if the owner is unknown.
    """
    without: str = ""
    """A regular expression for paths below the directory that do not belong to this root.

    They belong to other roots or to the agent's housekeeping, and so does everything below them. Empty for
    none.
    """
    private: bool = False
    """Whether the root and everything created in it is accessible to its owner only."""
    newest: int = 0
    """The number of notes that the agent reads; 0 if it reads all.

    They are those that `scanned` matches, and of these the last changed ones.
    """
    scanned: str = ""
    """A regular expression of whole paths; see `newest`."""
    read_only: str = ""
    """The reason, as a sentence, why nothing in the root may be written; empty if writing is allowed."""
    empty: str = ""
    """A sentence about the purpose of a root in which the agent reads nothing that a person writes.

    It is shown while the root is empty, instead of the offer to create a memory. Empty for any other root.
    """
    headed: str = ""
    """A regular expression of the whole paths of files that may be described by their first heading.

    The heading is used if their front matter has no description. Empty if there are no such files.
    """

    def leaves_out(self, rel: str) -> bool:
        """Return whether the file `rel` below the directory does not belong to this root's memories."""
        if not self.without:
            return False
        parts = rel.split("/")
        paths = ("/".join(parts[:length]) for length in range(1, len(parts) + 1))
        return any(re.fullmatch(self.without, path) for path in paths)


def escape_key(component: str) -> str:
    """Return `component`, a part of the key of a memory's usage record, with `:` and `%` escaped.

    So the keys of different files never collide (formats/mux.md section 8).
    """
    return component.replace("%", "%25").replace(":", "%3A")


def unescape_key(component: str) -> str:
    """Return the original of `component`, a part of a key that `escape_key` has escaped."""
    return component.replace("%3A", ":").replace("%25", "%")


class FileRule(Struct, frozen=True):
    """The rule that says whether a file of a memory root may be changed by a person or by Reverie."""

    kind: Literal["editable", "generated", "read-only"] = "editable"
    """`generated`: the agent makes the file again, so an edit would be lost.

    `read-only`: it must not be changed, for example because it is a record or a server keeps it.
    """
    sentence: str = ""
    """The reason for `kind`, for a person; for an `editable` file, advice for a person who edits it."""
    deletable: bool = False
    """Whether a file that must not be edited may be deleted as a whole, and restored.

    While Reverie does this, it holds the lock file that the agent uses beside the file.
    """


EDITABLE = FileRule()


class Refusal(Struct, frozen=True):
    """The reason why Reverie writes nothing into a store, although it reads the store."""

    reason: Literal["unknown-layout", "not-in-use"]
    """Reverie does not know this layout or version, or the agent does not use this store."""
    store: str
    """The key of the store; empty for the whole home."""
    title: str
    evidence: str
    """The file, the value in it, and the values that Reverie knows.

    A permission covers exactly this text.
    """
    next_step: str
    permissible: bool = True
    """Whether a person may permit Reverie to write anyway."""


FileRole = Literal["memory", "index", "document", "notes", "log", "kept"]
"""The role of a file in a consolidation.

`index`: lists the others and is updated with them; never merged, renamed or deleted. `document`: holds many
memories in an order of its own; a model may edit it, rules leave it alone, and it is never merged, renamed or
deleted. `notes`: those of one session, `log`: the agent's record of a day, `kept`: maintained by the agent;
no consolidation changes any of these.
"""

DescriptionState = Literal["ok", "none", "malformed", "unclosed", "not-text"]
"""The state of a description in a file's front matter."""
