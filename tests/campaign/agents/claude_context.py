# ruff: noqa: E501 - the texts of a case stay whole
"""What Claude Code loads, against what Reverie says it would load: byte for byte, in order.

Each case is a small project of its own. The program runs one prompt in it; what it recorded as loaded (the
`instructions` attachment) and what the model was sent must equal Reverie's view of the same session. The
program's own sentences around the files, such as its warning below a cut index, are left out of the
comparison: only the files' text counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from campaign.agents.base import Outcome, Programs
from campaign.agents.claude_program import ClaudeProgram, git, sent_files
from helpers.context_homes import view_at
from reverie.agents.base import TranscriptSource
from reverie.agents.claude.home import ClaudeHome
from reverie.agents.claude.instruction_text import loaded_text
from reverie.agents.claude.settings import Machine, companions, managed_directory
from reverie.agents.scopes import Scope
from reverie.context.view import ContextEntry, ContextView, load_states

Loaded = list[tuple[str, str]]
"""Paths and texts, in order."""
_OWN = re.compile(r"CLAUDE_CODE_|CLAUDE_COWORK_")
_WARNING = re.compile(r"\n\n> [A-Z]+: MEMORY\.md is .*\Z", re.DOTALL)

RULE = "what Reverie says is loaded is what the program loads and sends, byte for byte"
OUTSIDE = "a memory outside of the project that its own settings name is not read, and a sentence says so"
MARKS = (
    "x@a.md (@b.md) **@c.md** [@d.md](x) [t](@e.md)\n\n- `@f.md` @g.md\n\n      @h.md\n\n> @i.md\n> ```\n> @j.md\n> ```\n\n"
    "<div>\n@k.md\n</div>\n\na <b>@l.md</b> <!-- @m.md --> @n.md#part\n<!-- @o.md\n-->@p.md\n\n~~~\n@q.md\n~~~\n"
    "@r.md, \\@s.md @./t.md @sub/../u.md\n| @v.md | w |\n|---|---|\n[z]: @w.md\n\n    @x.md\n***@y.md***\n"
)
_LONG = (
    "- [Chart](chart.md) — the waters of this chart, drawn by hand in a bad winter, for nobody in particular"
)


@dataclass(slots=True)
class Case:
    """One project and how the program is started in it."""

    name: str
    files: Mapping[str, str | bytes]
    """By path: below the project; `~/` below the user's directory; `memory/` in the project's memory."""
    cwd: str = ""
    """Where the session works, below the project."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Symbolic links: path -> target, as in `files`."""
    worktrees: tuple[str, ...] = ()
    """Worktrees to add, below the project. They get what `files` has, committed; `later` is not in them."""
    later: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    added: tuple[str, ...] = ()
    """Directories that the session gets by `--add-dir`, below the project."""
    least: int = 1
    """How many files must be loaded at least, so that no case compares nothing with nothing."""


def _settings(**values: object) -> str:
    return json.dumps(values)


def _chain(count: int) -> dict[str, str]:
    return {f"n{number}.md": f"{number} @n{number + 1}.md" for number in range(count)}


_RULES = {
    f".claude/rules/{name}.md": f"---\npaths: {value}\n---\n{name}"
    for name, value in {
        "all": '"**"', "none": "[]", "empty": "", "number": "5", "map": "{a: b}", "blank": '[""]', "spaces": '" ** "',
        "twice": '"**,**"', "deep": '"**/**"', "root": '"/**"', "star": '"*"', "files": '"**/*"',
        "both": '["**", "src/**"]', "comma": "src/**, **", "plain": "**/*.ts", "flow": "[**/*.ts]", "braces": '"{**,a}"',
        "dot": '"."', "slash": '"**/"', "broken": '"x"\ny: : :',
    }.items()
}  # fmt: skip
_AGENTS = {
    "AGENTS.md": "---\npaths: x\n---\nagents @b.md <!-- stays -->\n<!-- gone -->\n",
    ".claude/AGENTS.md": "more",
    "AGENTS.local.md": "never",
    "b.md": "imported",
    ".claude/rules/r.md": "a rule",
}
_CHECKOUT = {
    "CLAUDE.md": "root",
    ".claude/CLAUDE.md": "dot",
    ".claude/rules/a.md": "rule",
    "sub/CLAUDE.md": "sub",
}
_EXCLUDED = {
    "CLAUDE.md": "root @imp.md @docs/d.md",
    "imp.md": "imp",
    "docs/d.md": "d",
    ".claude/rules/a.md": "a",
    ".claude/rules/b/c.md": "c",
    "CLAUDE.local.md": "local",
    ".claude/CLAUDE.md": "dot",
    "memory/MEMORY.md": "- a",
}


def _cases() -> Iterator[Case]:
    settings, local = ".claude/settings.json", ".claude/settings.local.json"
    yield Case(
        "every file, in order",
        {
            "~/.claude/CLAUDE.md": "user @style.md @~/far.md",
            "~/.claude/style.md": "style",
            "~/far.md": "far",
            "~/.claude/rules/u.md": "user rule",
            "~/work/CLAUDE.md": "above",
            "CLAUDE.md": "root @docs/a.md",
            "docs/a.md": "imported",
            ".claude/CLAUDE.md": "dot",
            ".claude/rules/r.md": "rule",
            "CLAUDE.local.md": "local",
            "memory/MEMORY.md": "- [A](a.md)",
            "memory/a.md": "a",
        },
        least=10,
    )
    lines = [f"- a line {number}" for number in range(260)]
    lines[3], lines[230] = "- [A](a.md)", "- [B](b.md)"
    yield Case(
        "memories listed, cut off and not listed",
        {
            "memory/MEMORY.md": "\n".join(lines),
            **{f"memory/{name}.md": f"---\nname: {name}\ndescription: d\n---\ntext" for name in "abc"},
            "CLAUDE.md": "root",
            ".claude/rules/limited.md": "---\npaths: src/**\n---\nlimited",
        },
        least=2,
    )
    yield Case(
        "a subdirectory",
        {
            "CLAUDE.md": "root @in.md @s/ins.md",
            "in.md": "in",
            "s/ins.md": "ins",
            "s/CLAUDE.md": "s @../in.md",
        },
        "s",
        least=3,
    )
    yield Case(
        "front matter",
        {
            "CLAUDE.md": "---\nx: y\n---\n\nroot @a.md",
            "a.md": "---\nb\n--- \na",
            "memory/MEMORY.md": "---\nx: y\n---\n- a",
        },
        least=3,
    )
    yield Case(
        "front matter of odd forms",
        {
            "CLAUDE.md": "@a.md @b.md @c.md @d.md @e.md",
            "a.md": "---\nx: |\n  ---\n  q\n---\na",
            "b.md": "\n---\nx\n---\nb",
            "c.md": "---x\ny\n---\nc",
            "d.md": "---\n---d",
            "e.md": "---\nx: y\n",
        },
        least=6,
    )
    yield Case(
        "byte order marks",
        {
            "CLAUDE.md": "\ufeffroot\ufeff @a.md",
            "a.md": "\ufeff---\nx: y\n---\na",
            "memory/MEMORY.md": "\ufeff- a",
        },
        least=3,
    )
    yield Case(
        "line breaks",
        {
            "CLAUDE.md": "root\r\n@a.md\r\n@b.md\r\nx\ry",
            "a.md": "a\r\n<!-- gone -->\r\nb\r\n",
            "b.md": "---\r\nx: y\r\n---\r\na\r\nb <!-- c -->\r\n",
            "memory/MEMORY.md": "- a\r\n- b\r\n",
        },
        least=4,
    )
    yield Case(
        "comments",
        {
            "CLAUDE.md": "a <!-- stays -->\n<!-- gone -->\n- x\n  <!-- stays -->\n- y\n<!-- gone -->rest\n```\n<!-- stays -->\n```\n    <!-- stays -->\n\n   <!-- gone\n\nfar --> rest\n> <!-- stays -->\n\n<div>\n<!-- stays -->\n</div>\n\n<!-- a --> <!-- b --> <!-- stays\n",
            "memory/MEMORY.md": "- a\n<!-- gone -->\n- b <!-- stays -->",
        },
        least=2,
    )
    yield Case("a comment that never ends", {"CLAUDE.md": "a\n<!-- b\n@c.md", "c.md": "c"})
    yield Case(
        "files that say nothing",
        {
            "CLAUDE.md": "<!-- x -->",
            ".claude/CLAUDE.md": " \n",
            "CLAUDE.local.md": "---\nx: y\n---\n",
            "memory/MEMORY.md": "<!-- x -->",
            "~/.claude/CLAUDE.md": "user",
        },
    )
    yield Case(
        "what is no UTF-8",
        {"CLAUDE.md": b"caf\xe9 \xff\xfe x \xf0\x9f\x98 y @a.md", "a.md": "a".encode("utf-16")},
        least=2,
    )
    yield Case(
        "imports in every form",
        {"CLAUDE.md": MARKS, **{f"{name}.md": name for name in "abcdefghijklmnopqrstuvwxy"}},
        least=12,
    )
    yield Case("imports four deep", {"CLAUDE.md": "@n0.md", **_chain(8)}, least=5)
    yield Case(
        "imports that meet again", {"CLAUDE.md": "@n0.md @n3.md @n5.md @CLAUDE.md", **_chain(8)}, least=8
    )
    yield Case(
        "imports by a rule",
        {".claude/rules/a.md": "@../../n2.md @b.txt", ".claude/rules/b.txt": "@../../n7.md", **_chain(9)},
        least=3,
    )
    yield Case(
        "endings of imports",
        {
            "CLAUDE.md": " ".join(f"@{name}" for name in _NAMES),
            **{name: f"@of/{name}.txt" for name in _NAMES},
            **{f"of/{name}.txt": name for name in _NAMES},
        },
        least=2 * 20,
    )
    yield Case(
        "imports from outside",
        {
            "CLAUDE.md": "@../out.md @~/far.md @in.md @lo.md",
            "~/work/out.md": "out",
            "~/far.md": "far",
            "in.md": "in",
            "CLAUDE.local.md": "@../out.md",
        },
        links={"lo.md": "~/work/out.md"},
        least=3,
    )
    yield Case(
        "an import through a link",
        {"CLAUDE.md": "@l.md @real.md", "real.md": "real"},
        links={"l.md": "real.md"},
        least=2,
    )
    yield Case("paths of rules", _RULES, least=9)
    yield Case(
        "paths of rules that are indented by tabs",
        {
            ".claude/rules/limited.md": "---\npaths:\n\t- src/**\n---\nlimited",
            ".claude/rules/all.md": '---\npaths:\n\t- "**"\n---\nall',
        },
    )
    yield Case(
        "imports that load nothing",
        {
            "CLAUDE.md": "".join(f"{line}\n" for line in _IN_VAIN),
            "my notes.md": "notes",
            "kind.mdc": "kind",
            **{f"{name}.md": name for name in "abcdefg"},
        },
    )
    yield Case(
        "what a limited rule imports",
        {".claude/rules/c.md": "---\npaths: x/**\n---\n@../../t.md", "t.md": "t"},
    )
    yield Case(
        "a limited rule that is imported",
        {"CLAUDE.md": "@.claude/rules/c.md", ".claude/rules/c.md": "---\npaths: x/**\n---\nc"},
        least=2,
    )
    yield Case(
        "paths in other files",
        {"CLAUDE.md": "---\npaths: x/**\n---\nroot @i.md", "i.md": "---\npaths: x/**\n---\ni"},
        least=2,
    )
    yield Case(
        "the order of rules",
        {
            f".claude/rules/{name}.md": name
            for name in ("z", "a", "m/q", "m/b", "B", ".h/x", "n/o/p", "0", "y y")
        },
        least=9,
    )
    yield Case(
        "names that are no rules",
        {
            ".claude/rules/a.md": "a",
            ".claude/rules/b.MD": "b",
            ".claude/rules/c.mdc": "c",
            ".claude/rules/d.txt": "d",
        },
    )
    yield Case(
        "links of rules",
        {".claude/rules/a.md": "a", "docs/in.md": "in", "folder/x.md": "x", "~/work/far/out.md": "out"},
        links={
            ".claude/rules/in.md": "docs/in.md",
            ".claude/rules/f": "folder",
            ".claude/rules/out.md": "~/work/far/out.md",
            ".claude/rules/far": "~/work/far",
            ".claude/rules/round": ".claude/rules",
            ".claude/rules/gone.md": "nowhere.md",
        },
        least=3,
    )
    yield Case("rules that are a link", {"rr/a.md": "a"}, links={".claude/rules": "rr"})
    yield Case(
        "links of the user's rules",
        {"CLAUDE.md": "root", "~/work/far/out.md": "out"},
        links={"~/.claude/rules/far": "~/work/far"},
        least=2,
    )
    yield Case(
        "a CLAUDE.md that is a link out",
        {"~/work/ext.md": "ext @o.md", "o.md": "o", "~/work/o.md": "o"},
        links={"CLAUDE.md": "~/work/ext.md"},
    )
    yield Case(
        "AGENTS.md",
        {
            **_AGENTS,
            "~/work/AGENTS.md": "above",
            "~/.claude/CLAUDE.md": "user",
            "~/.claude/AGENTS.md": "counts as above",
        },
        least=7,
    )
    yield Case(
        "AGENTS.md in a subdirectory",
        {**_AGENTS, "s/AGENTS.md": "s", "s/.claude/rules/s.md": "rule", "t/AGENTS.md": "on demand"},
        "s",
        least=5,
    )
    for name in ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"):
        yield Case(f"AGENTS.md beside {name}", {**_AGENTS, name: "says something"}, least=2)
    yield Case(
        "AGENTS.md beside CLAUDE files that say nothing",
        {**_AGENTS, "CLAUDE.md": "<!-- x -->", "CLAUDE.local.md": "---\nx: y\n---\n"},
        least=4,
    )
    yield Case(
        "AGENTS.md beside one that is too large", {**_AGENTS, "CLAUDE.md": "x" * ((4 << 20) + 1)}, least=4
    )
    yield Case("AGENTS.md below a CLAUDE.md", {**_AGENTS, "~/work/CLAUDE.md": "above"}, least=2)
    yield Case("AGENTS.md that CLAUDE.md imports", {**_AGENTS, "CLAUDE.md": "@AGENTS.md"}, least=4)
    yield Case("AGENTS.md that CLAUDE.md links to", _AGENTS, links={"CLAUDE.md": "AGENTS.md"}, least=3)
    yield Case(
        "AGENTS.md beside an excluded CLAUDE.md",
        {**_AGENTS, "CLAUDE.md": "x", settings: _settings(claudeMdExcludes=["**/CLAUDE.md"])},
        least=4,
    )
    yield Case(
        "files of megabytes",
        {
            "CLAUDE.md": "x" * (4 << 20),
            ".claude/CLAUDE.md": "y" * 1_500_000,
            "CLAUDE.local.md": "z" * ((4 << 20) + 1),
        },
        least=2,
    )
    for patterns in (
        ["**/CLAUDE.md"],
        ["**/rules/**"],
        ["**/imp.md", "**/b"],
        ["!**/CLAUDE.md"],
        ["**/{imp,d}.md", "*.md"],
        ["**/[ab].md"],
        ["**"],
    ):
        yield Case(
            f"excluded: {', '.join(patterns)}", {**_EXCLUDED, settings: _settings(claudeMdExcludes=patterns)}
        )
    yield Case(
        "excludes of every settings file",
        {
            **_EXCLUDED,
            settings: _settings(claudeMdExcludes=["**/imp.md"]),
            local: _settings(claudeMdExcludes=["**/d.md"]),
            "~/.claude/settings.json": _settings(claudeMdExcludes=["**/a.md"]),
            "~/.claude/settings.local.json": _settings(claudeMdExcludes=["**/c.md"]),
        },
        least=5,
    )
    yield Case(
        "a worktree inside",
        {**_CHECKOUT, "~/work/CLAUDE.md": "above"},
        ".claude/worktrees/w",
        worktrees=(".claude/worktrees/w",),
        later={"CLAUDE.local.md": "local", ".claude/rules/u.md": "untracked", "memory/MEMORY.md": "- main"},
        least=6,
    )
    yield Case(
        "a worktree inside, deeper",
        _CHECKOUT,
        "sub/w/sub",
        worktrees=("sub/w",),
        later={"CLAUDE.local.md": "local", "sub/CLAUDE.local.md": "sub local", "memory/MEMORY.md": "- main"},
        least=6,
    )
    yield Case(
        "a worktree beside",
        _CHECKOUT,
        "../beside",
        worktrees=("../beside",),
        later={"CLAUDE.local.md": "local", "memory/MEMORY.md": "- main"},
        least=4,
    )
    yield Case(
        "AGENTS.md in a worktree inside",
        {**_AGENTS, "s/AGENTS.md": "s", "s/.claude/rules/s.md": "rule"},
        ".claude/worktrees/w/s",
        worktrees=(".claude/worktrees/w",),
        later={"CLAUDE.md": "of the main checkout"},
        least=5,
    )
    memory = {
        "CLAUDE.md": "root",
        "notes/p/MEMORY.md": "- p",
        "notes/l/MEMORY.md": "- l",
        "~/notes/u/MEMORY.md": "- u",
        "memory/MEMORY.md": "- usual",
    }
    # The program follows a project's settings anywhere; Reverie only inside of the checkout (`_outside`).
    places = {name: _settings(autoMemoryDirectory=f"~/work/p/notes/{name}") for name in "pl"}
    places["u"] = _settings(autoMemoryDirectory="~/notes/u")
    yield Case("memory moved by the project", {**memory, settings: places["p"]}, least=2)
    yield Case(
        "memory moved by the project's local settings",
        {**memory, settings: places["p"], local: places["l"]},
        least=2,
    )
    yield Case(
        "memory moved by the user",
        {**memory, "~/.claude/settings.json": places["u"], "~/.claude/settings.local.json": places["l"]},
        least=2,
    )
    yield Case(
        "memory moved by both",
        {**memory, settings: places["p"], "~/.claude/settings.json": places["u"]},
        least=2,
    )
    yield Case(
        "memory moved by where the session works",
        {**memory, "s/.claude/settings.json": places["p"], settings: places["l"]},
        "s",
        least=2,
    )
    yield Case(
        "memory moved by a path with dots",
        {**memory, settings: _settings(autoMemoryDirectory="~/work/p/src/../notes/p")},
        least=2,
    )
    yield Case(
        "memory moved by a path that does not count",
        {**memory, settings: _settings(autoMemoryDirectory="notes/p")},
        least=2,
    )
    yield Case(
        "memory moved by an environment in settings",
        {
            **memory,
            "~/.claude/settings.json": _settings(
                env={"CLAUDE_CODE_REMOTE_MEMORY_DIR": "/nowhere/to/be/found"}
            ),
        },
    )
    for name, files, env in _switches(settings):
        yield Case(f"memory switched: {name}", {**memory, **files}, environment=env)
    yield Case(
        "nothing at all",
        {**memory, settings: _settings(env={"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1"})},
        least=0,
    )
    for name, text in _indexes():
        yield Case(f"the index: {name}", {"memory/MEMORY.md": text})
    yield Case(
        "an index that is a link out",
        {"~/notes/else.md": "- else"},
        links={"memory/MEMORY.md": "~/notes/else.md"},
    )
    yield Case(
        "an index that is a link inside",
        {"memory/idx.md": "- idx"},
        links={"memory/MEMORY.md": "memory/idx.md"},
    )
    yield Case(
        "a memory directory that is a link", {"~/notes/m/MEMORY.md": "- m"}, links={"memory": "~/notes/m"}
    )
    extra = {
        "CLAUDE.md": "root",
        **{
            f"extra/{name}": name
            for name in (
                "CLAUDE.md",
                ".claude/CLAUDE.md",
                ".claude/rules/r.md",
                "CLAUDE.local.md",
                "AGENTS.md",
            )
        },
    }
    for value in ("1", "yes", "0"):
        yield Case(
            f"--add-dir with {value}",
            extra,
            environment={"CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": value},
            arguments=("--add-dir", "extra"),
            added=("extra",) if value != "0" else (),
        )


_IN_VAIN = (
    "@a.md: it says", "See @b.md, and", "(see @c.md)", "(@d.md)", "At its end @e.md.", "[@f.md]", '"@g.md"', "@my notes.md",
    "@kind.mdc", "@gone.md", "Ask @mia or @types/node.",
)  # fmt: skip
_NAMES = [
    "a.py", "b.mdc", "c.markdown", "d.json5", "e.jsonl", "f.svg", "g.ipynb", "h.tf", "i.png", "j.MD", "k.d.ts", "l.csv", "m.tsv",
    "n.lock", "o.log", "p.rst", "q.yaml", "r.toml", "s.sh", "t.sql", "u.vue", "v.tex", "w.erb", "x.mdx", "y.hcl", "z.patch",
    ".hidden", "Makefile", "noext", "aa.gradle", "ab.rake", "ac.dockerfile", "ad.xyz", "ae.text",
]  # fmt: skip


def _switches(settings: str) -> Iterator[tuple[str, dict[str, str], dict[str, str]]]:
    variable = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
    off = _settings(autoMemoryEnabled=False)
    yield "off by the project", {settings: off}, {}
    yield (
        "off by the user, on by the project",
        {settings: _settings(autoMemoryEnabled=True), "~/.claude/settings.json": off},
        {},
    )
    yield "off in settings that do not count", {"~/.claude/settings.local.json": off}, {}
    yield "off by a variable", {}, {variable: "1"}
    yield "off by a variable in settings", {settings: _settings(env={variable: "1"})}, {}
    yield "on by a variable", {"~/.claude/settings.json": off}, {variable: "0"}
    yield "off with an empty variable", {"~/.claude/settings.json": off}, {variable: ""}
    yield (
        "on by the settings' variable",
        {"~/.claude/settings.json": _settings(env={variable: "0"})},
        {variable: "1"},
    )


def _indexes() -> Iterator[tuple[str, str]]:
    yield "200 lines", "\n".join(f"- {number}" for number in range(200))
    yield "201 lines", "\n".join(f"- {number}" for number in range(201))
    yield (
        "200 lines and what is taken out",
        "\n\n---\n\n\n".lstrip()
        + "x: y\n---\n\n<!-- for\n\npeople -->\n\n"
        + "\n".join(f"- {number}" for number in range(200))
        + "\n\n",
    )
    yield "250 lines with Windows breaks", "\r\n".join(f"- {number}" for number in range(250))
    yield "25,000 characters", "x" * 25_000
    yield "25,001 characters", "x" * 24_998 + "\nab"
    yield "one more behind a break", "x" * 25_000 + "\nab"
    yield "characters that are two units", "\n".join("😀" * 100 for _number in range(150))
    yield "characters that are two bytes", "\n".join("ü" * 499 for _number in range(60))
    yield "lines, then characters", "\n".join([_LONG * 2] * 300)
    yield "one long line", "x" * 30_000
    yield "a long second line", "- a\n" + "x" * 30_000


def checks(programs: Programs, directory: Path) -> Iterator[Outcome]:
    """One outcome for each case."""
    if programs.claude is None:
        yield Outcome.skip(RULE, "Claude Code is not there")
        return
    for number, case in enumerate(_cases()):
        # A home for each: settings and files of the user count for every project.
        with ClaudeProgram(programs.claude, directory / f"{number:02}") as program:
            yield Outcome(f"{RULE}: {case.name}", 1, tuple(_problems(program, case)))
    with ClaudeProgram(programs.claude, directory / "outside") as program:
        yield Outcome(OUTSIDE, 1, tuple(_outside(program)))


def _problems(program: ClaudeProgram, case: Case) -> Iterator[str]:
    root = _build(program, case)
    cwd = (root / case.cwd).resolve()
    answer = program.ask(cwd, "hi", *case.arguments, **case.environment)
    if not answer.session or not answer.requests:
        yield f"the program did not run: {answer.output[:200]}"
        return
    recorded = _recorded(program, answer.session)
    sent = [(str(each.path), _WARNING.sub("", each.text)) for each in sent_files(answer.requests[0])]
    home = ClaudeHome(program.home, machine=_machine(program, case))
    said = _said(home, program, answer.session)
    if case.added:
        said = _with_added(said, program, case, root, cwd)
    yield from _differences("recorded", recorded, said)
    yield from _differences("sent", [each for each in sent if each[1]], said)
    if not case.added:  # only the command line of that session tells of those
        yield from _states(home, answer.session, dict(recorded))
    if len(recorded) < case.least:
        yield f"only {len(recorded)} files were loaded; the case needs {case.least}"


def _states(home: ClaudeHome, session: str, sent: Mapping[str, str]) -> Iterator[str]:
    """Compare the state of each file with what was sent of it: `sent` has the texts by path."""
    context = home.context(workspace_id=session)
    directory = home.scope_root(context, Scope.PROJECT).directory
    prefix = "/memories/project/"
    index = sent.get(str(directory / "MEMORY.md"), "")
    for key, state in load_states(view_at(home, context, 0)).items():
        path = str(directory / key.removeprefix(prefix)) if key.startswith(prefix) else key
        if (state in ("full", "part")) != (path in sent):
            yield f"{path} is “{state}”, but it was {'' if path in sent else 'not '}sent"
        elif state in ("full", "part") and Path(path).is_file():
            whole = loaded_text(Path(path).read_bytes().decode("utf-8", "replace"))
            is_whole = sent[path].splitlines() == whole.splitlines()
            if (state == "full") != is_whole:
                yield f"{path} is “{state}”, but {'all' if is_whole else 'a part'} of it was sent"
        if (state == "line") != (key.startswith(prefix) and f"]({key.removeprefix(prefix)})" in index):
            yield f"{path} is “{state}”; its line was {'not ' if state == 'line' else ''}sent"
    for each in home.failed_imports(context):
        bare = each.file.parent / each.written.removeprefix("@").rstrip(".,:;)")
        if str(bare) in sent:
            yield f"{each.written} is said to load nothing, but {bare} was sent"
    named = {key if not key.startswith(prefix) else "" for key in load_states(view_at(home, context, 0))}
    for path in sent:
        if path not in named and path != str(directory / "MEMORY.md"):
            yield f"{path} was sent, but has no state"


def _outside(program: ClaudeProgram) -> Iterator[str]:
    """The one place where Reverie does not follow the program, on purpose: a repository is written by others."""
    files = {
        "CLAUDE.md": "root",
        "~/notes/o/MEMORY.md": "- outside",
        ".claude/settings.json": _settings(autoMemoryDirectory="~/notes/o"),
    }
    case = Case("memory moved out of the project", files, least=2)
    root, outside = _build(program, case), program.user / "notes/o"
    answer = program.ask(root, "hi")
    if not any(path == str(outside / "MEMORY.md") for path, _text in _recorded(program, answer.session)):
        yield "the program did not load the memory outside of the project"
    home = ClaudeHome(program.home, machine=_machine(program, case))
    directory = home.scope_root(home.context(workspace_id=answer.session), Scope.PROJECT).directory
    if directory.is_relative_to(outside):
        yield f"Reverie follows the project's settings to {directory}"
    if not any(f"names {outside} for the memories" in each for each in home.contents().problems):
        yield "no sentence names the place that the program uses"


def _build(program: ClaudeProgram, case: Case) -> Path:
    root = program.project("p")

    def place(rel: str) -> Path:
        if rel.startswith("~/"):
            return program.user / rel[2:]
        if rel == "memory" or rel.startswith("memory/"):
            return program.memory(root) / rel.removeprefix("memory").removeprefix("/")
        return root / rel

    def write(files: Mapping[str, str | bytes]) -> None:
        for rel, text in files.items():
            path = place(rel)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())

    write(case.files)
    for rel, target in case.links.items():
        place(rel).parent.mkdir(parents=True, exist_ok=True)
        place(rel).symlink_to(place(target))
    if case.worktrees:
        git(root, "add", "-A")
        git(root, "commit", "-qm", "first")
        for number, rel in enumerate(case.worktrees):
            git(root, "worktree", "add", "-q", "-b", f"w{number}", str((root / rel).resolve()))
    write(case.later)
    (root / case.cwd).mkdir(parents=True, exist_ok=True)
    return root


def _recorded(program: ClaudeProgram, session: str) -> Loaded:
    found: Loaded = []
    # Not by `splitlines`: a text may hold other separators of lines.
    for line in program.transcript(session).read_text(encoding="utf-8").split("\n"):
        row = json.loads(line) if line else {}
        attached = row.get("attachment") or {}
        if attached.get("type") == "instructions":
            found += [(each["path"], _WARNING.sub("", each["content"])) for each in attached["files"]]
    return found


def _machine(program: ClaudeProgram, case: Case) -> Machine:
    env = program.environment(**case.environment)
    return Machine(
        {name: value for name, value in env.items() if _OWN.match(name)}, program.user, managed_directory()
    )


def _said(home: ClaudeHome, program: ClaudeProgram, session: str) -> Loaded:
    home.described_source(TranscriptSource(session, "session", program.transcript(session)))
    context = home.context(workspace_id=session)
    view = view_at(home, context, 0)
    index = home.scope_root(context, Scope.PROJECT).directory / "MEMORY.md"
    found = [(str(entry.file), entry.text) for entry in _loaded(view, "instructions")]
    if not home.memory_off(context):
        found += [(str(index), entry.text) for entry in _loaded(view, "index-file") if entry.text]
    return [] if home.loads_nothing(context) else found


def _with_added(said: Loaded, program: ClaudeProgram, case: Case, root: Path, cwd: Path) -> Loaded:
    """With the directories that no file tells of: only the command line of that session does."""
    added = [root / rel for rel in case.added]
    found = companions(program.home, str(cwd), _machine(program, case), added)
    texts = [
        (str(each.path), loaded_text(each.path.read_text()))
        for each in found
        if each.exists and each.loading == "start"
    ]
    return texts + [each for each in said if each[0].endswith("MEMORY.md")]


def _loaded(view: ContextView, key: str) -> list[ContextEntry]:
    part = next((part for part in view.parts if part.key == key), None)
    return [] if part is None else [entry for entry in part.loaded if key == "instructions" or entry.text]


def _differences(what: str, theirs: Loaded, ours: Loaded) -> Iterator[str]:
    if [_bytes(text) for _path, text in theirs] == [_bytes(text) for _path, text in ours] and [
        path for path, _text in theirs
    ] == [path for path, _text in ours]:
        return
    for path, text in theirs:
        mine = dict(ours).get(path)
        if mine is None:
            yield f"{what}, not said: {path} {text[:60]!r}"
        elif _bytes(mine) != _bytes(text):
            yield f"{what} otherwise: {path} {text[:60]!r} … {text[-40:]!r}, said {mine[:60]!r} … {mine[-40:]!r}"
    known = dict(theirs)
    yield from (f"said, not {what}: {path} {text[:60]!r}" for path, text in ours if path not in known)
    if sorted(known) == sorted(dict(ours)):
        yield f"{what} in another order: {list(known)}, said {list(dict(ours))}"


def _bytes(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")
