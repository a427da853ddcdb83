"""Which statements are found in a note, of which kind, and at which place of the line."""

from __future__ import annotations

import unicodedata

import pytest

from reverie.claims.checking import CheckedClaim, ClaimState, fixed
from reverie.claims.finding import ClaimKind, find_claims
from reverie.claims.manifests import agrees, as_claimed, package_name, parse_manifest

FOUND = {
    "Run `src/app/main.py` first.": [("path", "src/app/main.py")],
    "Siehe src/app/main.py, dann weiter.": [("path", "src/app/main.py")],
    "入口は`src/app/main.py`です": [("path", "src/app/main.py")],
    "**src/utils/**: helpers": [("dir", "src/utils/")],
    "(see packages/cli/src/types.ts)": [("path", "packages/cli/src/types.ts")],
    "configs (.eslintrc.cjs, .prettierrc.cjs)": [("file", ".eslintrc.cjs"), ("file", ".prettierrc.cjs")],
    "`app/(shell)/[id]/page.tsx`": [("path", "app/(shell)/[id]/page.tsx")],
    "`src/a.py:12-20` does it": [("fileline", "src/a.py:12-20")],
    "`src/a.py#L7`": [("fileline", "src/a.py#L7")],
    "`npm run build:all -- --watch`": [("command", "npm run build:all")],
    "`pnpm --filter web dev`": [("command", "pnpm --filter web dev")],
    "`yarn install` then `yarn lint`": [("command", "yarn lint")],
    "```\ncd web && npm run dev\nmake -C api test\n```": [
        ("command", "npm run dev"),
        ("command", "make -C api test"),
    ],
    "`cargo run -p server`": [("command", "cargo run -p server")],
    "`go run ./cmd/api`": [("command", "go run ./cmd/api")],
    "`uv run src/tool.py`": [("path", "src/tool.py")],
    "Call `makeThing()` or `snake_name`.": [("symbol", "makeThing"), ("symbol", "snake_name")],
    "Set `APP_URL` and DB_NAME.": [("env", "APP_URL"), ("env", "DB_NAME")],
    "React 18.2 and `next@14.1.0`": [("dependency", "React 18.2"), ("dependency", "next@14.1.0")],
    "- **pnpm**: 8.0.0 or higher": [("dependency", "8.0.0")],
    "on port 3000, http://localhost:8080/x": [("port", "3000"), ("port", "8080")],
    "[a](docs/a.md#top) and [[other-note]]": [("link", "docs/a.md"), ("link", "other-note")],
    "and/or, TCP/IP, 12/24, e.g. this": [],
    "https://example.com/a/b.py and ~/.config/x.toml": [],
    "![x](http://a.b/c.png) `git status` `ls -la`": [],
}


@pytest.mark.parametrize("text", FOUND)
def test_statements_are_found_with_their_kind_and_place(text: str) -> None:
    found = find_claims(text)
    assert [(claim.kind.value, claim.token) for claim in found] == FOUND[text]
    lines = text.splitlines()
    for claim in found:
        assert lines[claim.line - 1][claim.start :].startswith(claim.token)


@pytest.mark.parametrize(
    "tree",
    [
        "```\nproject/\n├── src/\n│   ├── a.py  # start\n│   └── deep/\n│       └── b.py\n└── c.md\n```",
        "```\nproject/\n|-- src/\n|   |-- a.py\n|   `-- deep/\n|       `-- b.py\n`-- c.md\n```",
        "```\nproject/\n  src/\n    a.py\n    deep/\n      b.py\n  c.md\n```",
    ],
)
def test_a_drawn_tree_gives_whole_paths(tree: str) -> None:
    values = [
        claim.value.removeprefix("project/") for claim in find_claims(tree) if claim.token != "project/"
    ]
    assert values == ["src", "src/a.py", "src/deep", "src/deep/b.py", "c.md"]


@pytest.mark.parametrize(
    ("text", "muted"),
    [
        ("Never edit `src/a.py`.", "negated"),
        ("`src/a.py` is gone.", "negated"),
        ("`src/a.py` → `src/b.py`", "arrow"),
        ("## Roadmap\n\n- `src/a.py`", "plan"),
        ("## Recent changes\n\n- `src/a.py`", "log"),
        ("- [ ] `src/a.py`", "log"),
        ("- Added `src/a.py`", "log"),
        ("Not so.\n\nBut `src/a.py` is.", ""),
        ("It lives in\n`src/a.py` and is\nnot used.", "negated"),
        ("Keep it. Start at `src/old/remove-user.py`.", ""),
        ("Built with `src/a.py`.", ""),
        ("Update `src/a.py` by hand.", ""),
        ("## Before committing\n\n- `src/a.py`", ""),
        ("# Developer guide (v2.3.1)\n\n- `src/a.py`", ""),
        ("# Project memory 2026-01-02\n\n- `src/a.py`", ""),
        ("# Notes on Qt 6.10.1 [2026.01.02]\n\n```\n# a comment\n```\n\n- `src/a.py`", ""),
        ("# 2026-01-02 Login broken\n\n- `src/a.py`", "log"),
        ("# v1.2.3\n\n- `src/a.py`", "log"),
        ("# Release v1.2.3 notes\n\n- `src/a.py`", "log"),
        ("# Version history since v1.2.3\n\n- `src/a.py`", "log"),
        ("# Login done ✅\n\n- `src/a.py`", "log"),
        ("# App 1.2.3\n\n- `src/a.py`\n\n# App 1.2.2\n\n- `src/b.py`", "log"),
        ("# Guide\n\n## App 1.2.3\n\n- `src/a.py`", "log"),
        ("## Próximos passos\n\n- `src/a.py`", "plan"),
        ("## Plano de migração\n\n- `src/a.py`", "plan"),
        ("## Tarefas pendentes\n\n- `src/a.py`", "plan"),
        ("## Hoja de ruta\n\n- `src/a.py`", "plan"),
        ("## Étapes suivantes\n\n- `src/a.py`", "plan"),
        ("## 향후 계획\n\n- `src/a.py`", "plan"),
        ("## 今後の課題\n\n- `src/a.py`", "plan"),
        ("O módulo `src/a.py` deverá validar.", "plan"),
        ("O arquivo `src/a.py` deve ser criado.", "plan"),
        ("Le module `src/a.py` est prévu.", "plan"),
        ("O módulo `src/a.py` valida o pedido.", ""),
        ("It pretends to be `src/a.py`, in both data planes.", ""),
    ],
)
def test_what_a_note_denies_plans_or_reports_is_marked(text: str, muted: str) -> None:
    assert [claim.muted for claim in find_claims(text)][:1] == [muted]


@pytest.mark.parametrize(
    ("path", "muted"),
    [
        ("memory-bank/progress.md", "log"),
        ("memory-bank/journal/x.md", "log"),
        (".serena/memories/fix_2025-01-02.md", "log"),
        ("docs/plans/x.md", "plan"),
        ("docs/planos/x.md", "plan"),
        ("tarefas/x.md", "plan"),
        ("memory-bank/plano-de-testes.md", "plan"),
        ("memory-bank/planejamento.md", "plan"),
        ("memory-bank/proximos_passos.md", "plan"),
        ("memory-bank/feuille-de-route.md", "plan"),
        ("memory-bank/实施计划.md", "plan"),
        ("memory-bank/로드맵.md", "plan"),
        ("memory-bank/relatorio.md", "log"),
        ("memory-bank/progresso.md", "log"),
        ("relatórios/x.md", "log"),
        (unicodedata.normalize("NFD", "relatórios/x.md"), "log"),
        ("memory-bank/control-planes.md", ""),
        ("memory-bank/arquitetura.md", ""),
        (".serena/memories/task_completion_checklist.md", ""),
        (".serena/memories/suggested_commands.md", ""),
        ("CLAUDE.md", ""),
    ],
)
def test_the_name_of_a_note_tells_what_it_is(path: str, muted: str) -> None:
    assert [claim.muted for claim in find_claims("`src/a.py`", path)] == [muted]


def test_front_matter_is_no_statement_and_a_fence_ends_where_it_ends() -> None:
    assert find_claims("---\nname: src/a.py\n---\ntext\n") == ()
    text = "````md\n```bash\nnpm run a\n```\n````\n\nNever `src/b.py`.\n"
    assert [claim.muted for claim in find_claims(text) if claim.token == "src/b.py"] == ["negated"]


def test_a_fix_touches_the_token_alone() -> None:
    text = "a `x.py` b `x.py`\r\nc `y.py`\n"
    claims = [
        CheckedClaim("n", 1, 12, ClaimKind.FILE, "x.py", ClaimState.MOVED, "z.py", "long-z.py"),
        CheckedClaim("n", 1, 3, ClaimKind.FILE, "x.py", ClaimState.MOVED, "z.py", "z.py"),
        CheckedClaim("n", 2, 3, ClaimKind.FILE, "other", ClaimState.MOVED, "z.py", "z.py"),
        CheckedClaim("n", 2, 3, ClaimKind.FILE, "y.py", ClaimState.GONE),
    ]
    assert fixed(text, claims) == "a `z.py` b `long-z.py`\r\nc `y.py`\n"


@pytest.mark.parametrize(
    ("claimed", "declared", "holds"),
    [
        ("18", "^18.2.0", True),
        ("18.2", "18.2.1", True),
        ("18", "19.0.0", False),
        ("18+", ">=20", True),
        ("20+", ">=18", False),
        ("3.11", ">=3.10,<4", True),
        ("3.11", ">=3.10", False),
        ("^14.0.0", "^14.2.3", True),
        ("5.x", "~5.4", True),
        ("18", "workspace:*", False),
    ],
)
def test_a_version_agrees_as_far_as_it_is_said(claimed: str, declared: str, holds: bool) -> None:
    assert agrees(claimed, declared) is holds


def test_a_new_version_is_said_like_the_old_one() -> None:
    assert [as_claimed(old, "^15.3.1") for old in ("14", "14.2", "v14.2.0", "14.x", "14+")] == [
        *("15", "15.3", "v15.3.1", "15.x", "15+")
    ]
    assert {package_name(name) for name in ("Next.js", "next", "NextJS")} == {"next"}


@pytest.mark.parametrize(
    ("name", "text", "scripts", "versions"),
    [
        ("package.json", '{"scripts": {"a": "b"}, "engines": {"node": ">=20"}}', {"npm a"}, {"node"}),
        ("package.json", "[1, {", set(), set()),
        (
            "Makefile",
            "all test: x\n\techo\nVAR := 1\n.PHONY: lint\n",
            {"make all", "make test", "make lint"},
            set(),
        ),
        ("justfile", "@build target='x':\n  echo\nname := 'a'\n", {"just build"}, set()),
        (
            "pyproject.toml",
            '[project]\ndependencies=["a>=1"]\n[project.scripts]\nx="y:z"\n',
            {"poetry x", "uv x"},
            {"a", "python"},
        ),
        (
            "Cargo.toml",
            '[package]\nname="p"\n[dependencies]\nserde={version="1.0"}\n',
            {"cargo p"},
            {"serde"},
        ),
        (
            "go.mod",
            "module a\n\ngo 1.22\n\nrequire (\n\tgithub.com/x/chi/v5 v5.0.1\n)\n",
            set(),
            {"go", "chi", "githubcomxchiv5"},
        ),
        ("requirements-dev.txt", "# c\nhttpx==0.28.1 ; x\n-r a.txt\n", set(), {"httpx"}),
        ("docker-compose.yml", "services:\n  db:\n    image: postgres:15.2\n", set(), {"postgres"}),
    ],
)
def test_manifests_define_scripts_and_versions(
    name: str, text: str, scripts: set[str], versions: set[str]
) -> None:
    manifest = parse_manifest(name, text)
    assert set(manifest.scripts) == scripts
    assert {key for key, found in manifest.versions.items() if any(found)} <= versions
    assert versions - {"python"} <= set(manifest.versions)


def test_a_description_states_what_the_note_states_and_other_keys_nothing() -> None:
    """D6."""
    note = (
        "---\nname: src/a.py\ndescription: The state lives in `src/b.py`,\n  loaded by `src/c.py`.\n"
        "paths: src/*.ts\n---\n"
    )
    found = [(claim.token, claim.line, claim.muted) for claim in find_claims(note + "\n# The state\n")]
    assert found == [("src/b.py", 3, ""), ("src/c.py", 4, "")]
    muted = find_claims("---\ndescription: Remove `src/b.py` and never use `src/c.py`\n---\n")
    assert [claim.muted for claim in muted] == ["negated", "negated"]
    dated = find_claims(note + "\n# 2025-03-01: moved the state\n")
    assert {claim.muted for claim in dated} == {find_claims("# 2025-03-01: moved\n\n`src/b.py`\n")[0].muted}
