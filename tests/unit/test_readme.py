"""README, CONTRIBUTING and guide agree with the program: commands, layers, files, and where texts go."""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path

import pytest

import dev
import translations
from reverie import agents
from reverie.agents.base import Home
from reverie.cli.main import COMMANDS, build_parser
from reverie.llm import catalogue

PAGES = {name: (dev.ROOT / name).read_text(encoding="utf-8") for name in dev.OWN_TEXTS}
README, CONTRIBUTING = PAGES["README.md"], PAGES["CONTRIBUTING.md"]
GUIDE = "\n".join(text for name, text in PAGES.items() if name.startswith("resources/guide/"))
PRIVACY = PAGES["resources/guide/privacy.md"]
LONGEST_README = 8192
"""Bytes: what a stranger reads in two minutes."""
_ROW = re.compile(r"^\| (`reverie.+?) \| (.+?) \|$", re.MULTILINE)
_EVERYWHERE = {"--help", "--home", "--profile", "--json", "--now", "--version", "--workspace", "--project"}
"""Said once, above the table."""
CLAIMS = (
    *("local-only", "only locally", "never leaves", "nothing leaves", "stays on your machine", "100 % local"),
    *("verlässt diesen rechner", "nur lokal", "bleibt auf ihrem rechner"),
)


def anchors(text: str) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^a-z0-9 -]", "", head.lower()).replace(" ", "-") for head in heads}


def options(parser: argparse.ArgumentParser) -> set[str]:
    return {name for action in parser._actions for name in action.option_strings if name.startswith("--")}


def parsers() -> dict[str, argparse.ArgumentParser]:
    (found,) = (
        action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction)
    )
    return dict(found.choices)


def table() -> dict[str, str]:
    """The first column of the command table by command; the window's is empty."""
    rows: dict[str, str] = {}
    for usage, _does in _ROW.findall(PAGES["resources/guide/commands.md"]):
        for one in re.findall(r"`reverie(.*?)`", usage):
            name = one.split()[0] if one.split() and one.split()[0] in COMMANDS else ""
            rows[name] = rows.get(name, "") + one
    return rows


def test_the_table_has_every_command_and_no_other() -> None:
    assert table().keys() == {"", *COMMANDS} == {"", *parsers()}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_names_no_option_that_a_command_does_not_have(name: str) -> None:
    assert set(re.findall(r"--[a-z-]+", table()[name])) <= options(parsers()[name])


def test_the_window_has_what_the_table_says_and_the_table_has_all_of_it() -> None:
    named = set(re.findall(r"--[a-z-]+", table()[""])) | _EVERYWHERE
    assert options(build_parser()) <= named <= options(build_parser()) | _EVERYWHERE


def test_the_layers_that_are_drawn_are_those_that_are_checked() -> None:
    contracts = tomllib.loads((dev.ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    packages = {name for layer in contracts["contracts"][0]["layers"] for name in re.findall(r"\w+", layer)}
    plan = CONTRIBUTING.split("## Layers")[1].split("\n## ")[0]
    assert {name for name in packages if not re.search(rf"\b{name}\b", plan)} == set()


def test_every_link_leads_to_a_file_and_a_heading_that_are_there() -> None:
    for name, text in PAGES.items():
        place = (dev.ROOT / name).parent
        for target in re.findall(r"\]\(([^)]+)\)", text):
            path, _, anchor = target.partition("#")
            if target.startswith("http"):
                continue
            file = place / path if path else None
            assert file is None or file.exists(), target
            if anchor:
                assert anchor in anchors(text if file is None else file.read_text("utf-8")), target


def test_the_readme_is_short_and_has_one_picture() -> None:
    assert README.count("![") == 1
    assert len(README.encode()) <= LONGEST_README


def test_the_guide_leads_to_each_of_its_pages() -> None:
    pages = {Path(name).name for name in PAGES if name.startswith("resources/guide/")}
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", PAGES["resources/guide/README.md"])) == pages - {"README.md"}


def test_the_members_of_a_new_home_are_those_that_contributing_lists() -> None:
    steps = CONTRIBUTING.split("### Adding a home")[1].split("### Adding a provider")[0]
    assert {name for name in Home.__abstractmethods__ if f"`{name}" not in steps} == set()
    assert (Path(agents.__file__).parent / "discovery.py").exists()


def test_the_names_that_a_new_provider_needs_are_there() -> None:
    steps = CONTRIBUTING.split("### Adding a provider")[1].split("\n## ")[0]
    for name in ("_KNOWN", "_wire"):
        assert f"`{name}`" in steps
        assert hasattr(catalogue, name)


def everything_said() -> dict[str, str]:
    """The texts of the window in both languages, and those of the command line."""
    german = translations.read_ts(dev.ROOT / "resources" / "translations" / "reverie_de.ts")
    window = [text for _context, text in german] + [form for forms in german.values() for form in forms]
    helps = [parser.format_help() for parser in (build_parser(), *parsers().values())]
    return {"README": README, "guide": GUIDE, "window": "\n".join(window), "commands": "\n".join(helps)}


@pytest.mark.parametrize("where", ["README", "guide", "window", "commands"])
def test_no_text_says_that_everything_stays_on_this_machine(where: str) -> None:
    said = " ".join(everything_said()[where].split()).lower()
    for claim in CLAIMS:
        assert claim not in said


def test_the_readme_says_that_a_remote_model_gets_memory_text_and_names_the_provider() -> None:
    for text in (README.split("## Privacy")[1].split("\n## ")[0], PRIVACY):
        privacy = " ".join(text.split())
        assert "A remote model gets memory text" in privacy
        sent = "sends memories, and any other text it reads, such as parts of a transcript,"
        assert f"{sent} to the provider of that model" in privacy
