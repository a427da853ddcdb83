"""What is taken out of a file before it is loaded, and what it imports; each case as the program does it."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from helpers.claude_home import imports_in
from reverie.agents.claude.instruction_text import (
    is_limited,
    loaded_lines,
    loaded_text,
    may_be_imported,
    mentions_in,
    why_not_imported,
)


@pytest.mark.parametrize(
    ("text", "loaded"),
    [
        ("\ufeff\ufeffa\u00a0", "a"),
        ("---\nx: y\n---\n\n\na", "a"),
        ("\ufeff---\nx: y\n---\na", "a"),
        ("--- \nx: y\n--- \na", "a"),
        ("---\n- ]\n---a", "a"),
        ("---\nx: |\n  ---\n  q\n---\na", "q\n---\na"),
        ("\n---\nx: y\n---\na", "---\nx: y\n---\na"),
        ("---x\ny\n---\na", "---x\ny\n---\na"),
        ("---\nx: y\na", "---\nx: y\na"),
        ("---\nx: y\n---\n", ""),
        ("a\r\nb <!-- c -->\r\nd\r\n", "a\r\nb <!-- c -->\r\nd"),
        ("a\r\n<!-- c -->\r\nd", "a\nd"),
        ("a\n\n\n\n<!-- x -->\n\n\n\nb", "a\n\n\n\nb"),
        ("   <!-- x -->y\nb", "y\nb"),
        ("a\n    <!-- x -->\nb", "a\n    <!-- x -->\nb"),
        ("- a\n<!-- x -->\nb", "- a\nb"),
        ("- a\n  <!-- x -->\nb", "- a\n  <!-- x -->\nb"),
        ("> <!-- x -->\nb", "> <!-- x -->\nb"),
        ("```\n<!-- x -->\n```\n<!-- y -->", "```\n<!-- x -->\n```"),
        ("<!-- x\n\ny --> z <!-- w -->\nb", "z \nb"),
        ("<!-- x --> z <!-- w\nq --> v\nb", "z <!-- w\nq --> v\nb"),
        ("<!-- x\nb", "<!-- x\nb"),
        ("<!-->\nb", "<!-->\nb"),
        ("<div>\n<!-- x -->\n</div>", "<div>\n<!-- x -->\n</div>"),
        ("<!-- x --><div>\n<!-- y -->\n</div>\n\nb", "<div>\n</div>\n\nb"),
        ("<!-- x -->\n    indented", "indented"),
        ("- a\n\n\n<!-- x -->\n\n\n- b", "- a\n\n\n- b"),
    ],
)
def test_front_matter_and_block_comments_go_and_the_rest_is_trimmed(text: str, loaded: str) -> None:
    assert loaded_text(text) == loaded
    said, numbers = loaded_lines(text)
    assert said == loaded
    assert len(numbers) == (loaded.count("\n") + 1 if loaded else 0)


def test_each_loaded_line_has_its_number_in_the_file() -> None:
    text = "---\nx: y\n---\n\none\n<!-- gone\n\nfar -->\ntwo\n<!-- a\nb --> three\n"
    loaded, numbers = loaded_lines(text)
    lines = text.split("\n")
    assert [lines[number - 1] for number in numbers] == ["one", "two", "b --> three"]
    assert loaded == "one\ntwo\n three"


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("See @a.md, @b.md and @c.md.", ("a.md,", "b.md", "c.md.")),
        ("**@a.md** _@b.md_ ***@c.md***", ("a.md", "b.md", "c.md")),
        ("**@a.md", ()),
        ("a_@a.md_b x*@b.md*y", ()),
        ("[@a.md](x) [t](@b.md) ![@c.md](y)", ("a.md",)),
        ("[@a.md] [@b.md][r]\n\n[r]: z", ("b.md",)),
        ("[r]: @a.md", ()),
        ("(@a.md) x@a.md @@a.md @#a.md @üa.md", ()),
        ("\\@a.md \\`@b.md\\`", ("b.md",)),
        ("`x`@a.md `@b.md`", ("a.md",)),
        ("`x\n@a.md`", ()),
        ("`x\n\n@a.md`", ("a.md`",)),
        ("a\n    @a.md\n\n    @b.md", ("a.md",)),
        ("- a\n\n    @a.md\n\n      @b.md", ("a.md",)),
        ("- ```\n  @a.md\n  ```\n> ~~~\n> @b.md\n> ~~~\n> @c.md", ("c.md",)),
        ("| @a.md | b |\n|---|---|", ("a.md",)),
        ("# @a.md\n- [ ] @b.md\n> > @c.md", ("a.md", "b.md", "c.md")),
        ("<div>\n@a.md\n</div>\n\n@b.md", ("b.md",)),
        ("a <b>@a.md</b> <br>@b.md", ("a.md", "b.md")),
        ("<!-- x -->@a.md\n\nb <!-- @b.md --> @c.md", ("a.md", "c.md")),
        ("<script>\n\n@a.md\n</script>\n@b.md", ("b.md",)),
        ("@a.md#part @a.md", ("a.md",)),
        ("@with\\ space.md @~/x @/y", ("with space.md", "~/x", "/y")),
        ("---\nx: '@a.md'\n---\n@b.md", ("b.md",)),
        ("@a.md\r\n@b.md\r@c.md", ("a.md", "b.md", "c.md")),
        ("```x\n@a.md\n``` y\n```\n@b.md", ("b.md",)),
        ("``` `x`\n@a.md\n```", ()),
    ],
)
def test_an_import_is_looked_for_in_plain_text_only(text: str, imports: tuple[str, ...]) -> None:
    assert imports_in(text) == imports


@pytest.mark.parametrize(
    ("value", "limited"),
    [
        ('"**"', False),
        ("[]", False),
        ("", False),
        ("5", False),
        ("{a: b}", False),
        ('[""]', False),
        ('" ** "', False),
        ('"**,**"', False),
        ('"**/**"', False),
        ('"/**"', False),
        ('\n  - "**"\n  - "**"', False),
        ('"**/*"', True),
        ('"*"', True),
        ('["**", "src/**"]', True),
        ("src/**, **", True),
        ("**/*.ts", True),
        ("[**/*.ts]", True),
        ('"{**,a}"', True),
        ('"."', True),
        ('"**/"', True),
    ],
)
def test_a_rule_is_limited_by_any_pattern_that_leaves_something_out(value: str, limited: bool) -> None:
    assert is_limited(f"---\npaths: {value}\n---\ntext") is limited


def test_only_paths_at_the_top_of_real_front_matter_limit_a_rule() -> None:
    for text in (
        "\n---\npaths: x\n---\n",
        "---\nmetadata:\n  paths: x\n---\n",
        "---\nPaths: x\n---\n",
        "paths: x",
    ):
        assert not is_limited(text)
    assert is_limited('---\nx: : :\npaths: "a"\n---\n'), "other keys may be broken"


def test_a_file_is_imported_by_its_ending() -> None:
    for name in ("a.md", "A.TXT", ".env", "Makefile", ".hidden", "a.b.c", "x.d.ts"):
        assert may_be_imported(name), name
    for name in (
        "a.mdc",
        "a.markdown",
        "a.jsonl",
        "a.json5",
        "a.svg",
        "a.png",
        "a.tf",
        ".env.local",
        "a.",
        "a.md.",
    ):
        assert not may_be_imported(name), name


@pytest.mark.parametrize(
    "text", ["`a" * 50_000, "[a](" * 20_000, "a <!-- " * 20_000, "*a @" * 50_000, ">" * 50_000]
)
def test_odd_texts_end(text: str) -> None:
    assert imports_in(text + " @x y") is not None
    assert loaded_text(text)


def test_comments_that_never_end_keep_nobody_busy() -> None:
    began = time.monotonic()
    rest = "<!-- " * 20_000
    assert loaded_text(f"<!-- a --> b <!-- c -->{rest}\nd") == f"b {rest}\nd".strip()
    assert time.monotonic() - began < 2


def test_a_list_of_paths_that_is_indented_by_tabs_limits_a_rule() -> None:
    assert is_limited("---\npaths:\n\t- src/**\n\t- lib/**\n---\ntext")
    assert not is_limited('---\npaths:\n\t- "**"\n---\ntext')


FILES = frozenset({"a.md", "my notes.md", "b.mdc", "deep/c.md"})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("See @a.md: it says", "sign-behind"),
        ("See @a.md, @deep/c.md;", "sign-behind"),
        ("(see @a.md)", "sign-behind"),
        ("At its end @a.md.", "sign-behind"),
        ("(@a.md)", "sign-before"),
        ("See @my notes.md", "blank"),
        ("See @b.mdc", "kind"),
        ("See @gone.md", "missing"),
        ("See @gone.txt.", "missing"),
        ("See @a.md", None),
        ("See @my\\ notes.md", None),
        ("**@a.md**", None),
        ("`@gone.md` and ask @mia, @types/node, @dataclass", None),
    ],
)
def test_an_import_that_loads_nothing_has_a_reason(text: str, problem: str | None) -> None:
    found = (why_not_imported(each, FILES.__contains__, too_deep=False) for each in mentions_in(text))
    assert list(dict.fromkeys(each for each in found if each)) == ([problem] if problem else [])


def test_a_mention_knows_its_line() -> None:
    (mention,) = mentions_in("---\nx: y\n---\n\nnothing\nSee @a.md: x\n")
    assert (mention.target, mention.line) == ("a.md:", 6)


def test_of_a_text_full_of_mentions_the_first_ones_have_their_lines() -> None:
    text = "".join(f"See @n{number}.md: x\n" for number in range(3000))
    found = mentions_in(text)
    assert len(found) == 3000
    assert [each.line for each in found[:500]] == list(range(1, 501))
    assert {each.line for each in found[500:]} == {0}


def test_the_parser_is_imported_only_for_a_text_that_needs_it() -> None:
    code = (
        "import sys; from reverie.agents.claude.instruction_text import loaded_text, mentions_in; "
        "loaded_text('# Plain'); mentions_in('# Plain'); assert 'markdown_it' not in sys.modules; "
        "mentions_in('@a.md'); assert 'markdown_it' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
