"""Records are found by the words in which they are shown, not by those of their file format."""

from __future__ import annotations

from pathlib import Path

from helpers.loki_home import NOON, LokiMaker, error
from reverie.compose import open_parts
from reverie.files.watch import Changes
from reverie.memory.catalogue_scan import SEARCHED_BYTES
from reverie.profile import Profile
from reverie.services.search import SearchService

LONG = "harbour\n" * 12_000  # more than a glance at the file


def made(maker: LokiMaker, tmp_path: Path) -> SearchService:
    desk = SearchService()
    desk.add(open_parts(maker.project, Profile.under(tmp_path / "profile"), lambda: NOON))
    desk.update()
    return desk


def names(desk: SearchService, query: str) -> list[str]:
    return sorted(hit.path.rpartition("/")[2] for hit in desk.search(query).hits)


def test_what_is_shown_is_what_is_found(tmp_path: Path) -> None:
    maker = LokiMaker(tmp_path / "project")
    maker.episode(1, name="short", errors=[error(message="the pier was naïve")])
    path = maker.episode(2, name="long", errors=[error(message=f"{LONG} lighthouse")])
    maker.file("memory/decisions.md", "outcome of it all\n")
    maker.json("memory/vectors/huge.json", {"pile": "x" * SEARCHED_BYTES, "last": "unseen"})
    maker.json("memory/ledgers/list.json", ["pier"])
    desk = made(maker, tmp_path)
    # The file spells it with an escape, and its keys are no words of anybody.
    assert names(desk, "naïve") == ["short.json"]
    assert names(desk, "errors_encountered") == []
    assert names(desk, '"errors encountered"') == []
    # The words of the rendering, at their place in it, beyond the beginning of a long one, too.
    (hit,) = [each for each in desk.search('"no resolution yet"').hits if "short" in each.path]
    start, end = hit.snippet.hits[0]
    assert hit.snippet.text[start:end].lower().startswith("no")
    (hit,) = desk.search("lighthouse").hits
    assert "lighthouse" in hit.snippet.text
    assert names(desk, "/light.ouse/") == ["long.json"]
    assert names(desk, "outcome") == ["decisions.md", "long.json", "short.json"]
    assert "huge.json" in names(desk, "huge")
    # A change is followed.
    maker.episode(2, name="long", errors=[error(message="a buoy")])
    desk.note(hit.home_id, Changes(frozenset([path]), False, 1, ()))
    desk.update()
    assert names(desk, "lighthouse") == []
