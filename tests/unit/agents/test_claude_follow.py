"""Index and links follow what a dream merged, renamed, deleted and made, and nothing else changes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from reverie.agents.capabilities import ConsolidatedFile, RootChange
from reverie.agents.memory_index import follow

INDEX = (
    "# Memory\r\n\r\n- [Build](build.md) — how to build\r\n- [Make](make.md) — make targets\r\n\r\nProse.\r\n"
)


def change(
    files: Mapping[str, str],
    gone: Mapping[str, str] | None = None,
    *,
    moved: Mapping[str, str] | None = None,
    merged: Mapping[str, str] | None = None,
    created: tuple[str, ...] = (),
    names: Mapping[str, str] | None = None,
) -> RootChange:
    named = names or {}

    def read(texts: Mapping[str, str]) -> dict[str, ConsolidatedFile]:
        return {
            rel: ConsolidatedFile(text, named.get(rel, ""), f"about {rel}") for rel, text in texts.items()
        }

    return RootChange(read(files), read(gone or {}), moved or {}, merged or {}, created)


def test_the_line_of_a_merged_memory_goes_where_its_heir_has_one() -> None:
    after = follow(
        change({"MEMORY.md": INDEX, "build.md": ""}, {"make.md": ""}, merged={"make.md": "build.md"})
    )
    assert after == {"MEMORY.md": INDEX.replace("- [Make](make.md) — make targets\r\n", "")}


def test_the_line_of_a_merged_memory_becomes_that_of_an_heir_without_one() -> None:
    after = follow(change({"MEMORY.md": INDEX, "ci.md": ""}, {"make.md": ""}, merged={"make.md": "ci.md"}))
    assert after == {"MEMORY.md": INDEX.replace("(make.md)", "(ci.md)")}


def test_a_line_goes_with_its_memory_and_the_new_one_gets_one_below_the_last() -> None:
    files = {"MEMORY.md": INDEX, "build.md": "", "new.md": ""}
    after = follow(change(files, {"make.md": ""}, created=("new.md",)))
    line = "- [new](new.md) — about new.md"
    assert after["MEMORY.md"] == INDEX.replace("- [Make](make.md) — make targets", line)


def test_a_link_by_the_name_in_front_matter_stays_where_the_file_is_renamed() -> None:
    files = {"MEMORY.md": INDEX, "built.md": "", "make.md": "see [[build]]"}
    named = change(files, moved={"build.md": "built.md"}, names={"built.md": "build"})
    assert follow(named) == {"MEMORY.md": INDEX.replace("(build.md)", "(built.md)")}
    unnamed = follow(change(files, moved={"build.md": "built.md"}))
    assert unnamed["make.md"] == "see [[built]]"


def test_a_renamed_memory_keeps_its_line_and_every_link_to_it() -> None:
    files = {
        "MEMORY.md": INDEX,
        "sub/build-it.md": "see [make](make.md)",
        "other.md": "[[build]] and [[make]]",
    }
    after = follow(change({**files, "make.md": ""}, moved={"build.md": "sub/build-it.md"}))
    assert after == {
        "MEMORY.md": INDEX.replace("(build.md)", "(sub/build-it.md)"),
        "other.md": "[[build-it]] and [[make]]",
        "sub/build-it.md": "see [make](../make.md)",
    }


def test_links_to_a_merged_memory_lead_to_its_heir_by_path_by_file_name_and_by_name() -> None:
    files = {
        "MEMORY.md": INDEX,
        "build.md": "",
        "other.md": "[m](make.md) [[make]] [[make-targets]] `[[make]]`",
    }
    names = {"make.md": "make-targets", "build.md": "the-build"}
    after = follow(change(files, {"make.md": ""}, merged={"make.md": "build.md"}, names=names))
    assert after["other.md"] == "[m](build.md) [[build]] [[the-build]] `[[make]]`"


def test_a_name_that_another_memory_has_too_is_left_alone() -> None:
    files = {"MEMORY.md": "- [[twin]]\n", "one.md": "[[twin]]"}
    names = {"one.md": "twin", "two.md": "twin"}
    assert follow(change(files, {"two.md": ""}, names=names)) == {}
    assert follow(change(files, {"two.md": ""}, merged={"two.md": "one.md"}, names=names)) == {}


@pytest.mark.parametrize(
    "index",
    [
        "Look at [make](make.md) before anything else.\n",
        "- [Make](make.md) and [Build](build.md)\n",
        "```\n- [Make](make.md)\n```\n",
    ],
)
def test_prose_lines_of_several_and_code_are_left_to_a_person(index: str) -> None:
    assert follow(change({"MEMORY.md": index, "build.md": ""}, {"make.md": ""})) == {}


def test_nothing_is_added_where_there_is_no_index() -> None:
    assert follow(change({"new.md": ""}, {"make.md": ""}, created=("new.md",))) == {}


def test_each_index_is_about_the_files_of_its_own_folder() -> None:
    files = {
        "a/MEMORY.md": "- [x](x.md)\n",
        "a/x.md": "",
        "b/MEMORY.md": "- [x](x.md)\n- [y](y.md)\n",
        "b/y.md": "",
        "loose.md": "[[x]]",
    }
    assert follow(change(files, {"b/x.md": ""})) == {"b/MEMORY.md": "- [y](y.md)\n"}
    moved = follow(change(files, moved={"b/x.md": "a/x.md"}))
    assert moved == {"b/MEMORY.md": "- [y](y.md)\n"}


def test_what_is_listed_already_is_not_listed_again() -> None:
    files = {"MEMORY.md": "- [[new]]\n", "new.md": ""}
    assert follow(change(files, created=("new.md",))) == {}
