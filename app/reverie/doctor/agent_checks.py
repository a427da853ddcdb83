"""The agent's own gates (`Home.checks`) as findings, and the way back where Reverie itself shut one.

A directory can switch an agent's memory off by being there. Where every file in it is as Reverie wrote it, a
fix takes it away: its files are copied into Reverie's own directory, compared, and only then removed one by
one, each if it is still the same; directories go when they are empty. What somebody else put there stays.
Nobody knows who made an empty directory; a fix of its own removes it. All of this happens under the agent's
own lock, and what is there is judged again under it.

Threading: blocks on disk. Failure: `MendableError`; what was copied stays copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from reverie.doctor.facts import Facts, Maker, Parts
from reverie.doctor.findings import Finding, Fix
from reverie.doctor.fixes import Fixes
from reverie.errors import MendableError, StoreError, mendable_from_os
from reverie.files.atomic import atomic_write
from reverie.files.descent import walk_paths
from reverie.files.directory import ensure_private
from reverie.homes.scopes import Scope, ScopeRoot
from reverie.memory.attribution import ActorLog
from reverie.memory.store import sha256_of_bytes
from reverie.memory.write_lock import write_locks

_MOST_FILES = 10_000
_SENTENCES: Mapping[Maker, str] = {
    "reverie": "Reverie made it.",
    "nobody": "It is empty.",
    "others": "It holds files that Reverie did not write or cannot read; it is left alone.",
}


def agent_findings(facts: Facts, fixes: Fixes) -> tuple[Finding, ...]:
    """In the agent's own order."""
    found = []
    for check, maker in facts.agent_checks:
        fix, evidence = None, check.evidence
        if check.suspect is not None and maker is not None:
            evidence = f"{evidence} {_SENTENCES[maker]}"
            if maker != "others":
                fix = fixes.take_away(check.suspect, empty=maker == "nobody")
        found.append(Finding(check.check, check.title, check.state, evidence, fix))
    return tuple(found)


def maker_of(actors: ActorLog, directory: Path) -> Maker:
    """Who wrote what a directory holds: Reverie all files, as they are; nobody, where it holds none; or
    others, also where that cannot be known."""
    try:
        contents = {path: sha256_of_bytes(path.read_bytes()) for path in _files(directory)}
        if not contents:
            return "nobody"
        return "reverie" if set(actors.actors_of(contents)) == set(contents) else "others"
    except (OSError, MendableError):
        return "others"


def take_away(parts: Parts, directory: Path) -> None:
    """Keep its files in Reverie's own directory and remove what is ours of it, under the agent's own lock.
    Raises `Busy` while the agent holds that."""
    _refuse_others(parts, directory)
    root = ScopeRoot(Scope.GLOBAL, "", directory, None)
    with write_locks(parts.home, (root,), lock_dir=parts.profile.locks):
        _refuse_others(parts, directory)
        _take_away(parts, directory)


def _refuse_others(parts: Parts, directory: Path) -> None:
    if maker_of(parts.actors, directory) == "others":
        raise StoreError(
            f"{directory.name}/ was left as it is.",
            cause="It holds files or links that Reverie did not write, or cannot be read.",
            next_step="Look at it, and remove it by hand if you do not need it.",
        )


def _take_away(parts: Parts, directory: Path) -> None:
    kept = parts.profile.ensure(parts.profile.own_sidecars(parts.home_id)) / f"taken-{parts.clock()}"
    try:
        for path in _files(directory):
            data, copy = path.read_bytes(), kept / path.relative_to(directory)
            ensure_private(copy.parent)
            atomic_write(copy, data)  # durable before the original goes
            if copy.read_bytes() == data == path.read_bytes():
                path.unlink()
        for found in reversed([found for found, _directories, _names in walk_paths(directory, _raise)]):
            Path(found).rmdir()
    except OSError as error:
        raise mendable_from_os(error, f"{directory.name}/ was not removed.") from error


def take_away_fix(parts: Parts, directory: Path, *, empty: bool) -> Fix:
    """The fix for a directory that is ours, or empty."""
    title = f"Remove the empty {directory.name}/" if empty else f"Take {directory.name}/ away"
    return Fix(title, lambda: take_away(parts, directory))


def _files(directory: Path) -> Iterator[Path]:
    """Every entry that is no directory. Raises `OSError` for what no file of ours is: a link, a device, more
    than a person writes."""
    if directory.is_symlink():
        raise OSError(f"{directory} is a link")
    count = 0
    for found, directories, names in walk_paths(directory, onerror=_raise):
        # `walk_paths` counts links to directories among the directories, and does not follow them.
        links = [name for name in directories if Path(found, name).is_symlink()]
        for name in (*links, *names):
            count += 1
            path = Path(found, name)
            if count > _MOST_FILES or path.is_symlink() or not path.is_file():
                raise OSError(f"{path} is not a file")
            yield path


def _raise(error: OSError) -> None:
    raise error
