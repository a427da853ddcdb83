"""Statements in Markdown that a repository can confirm: paths, commands, names, versions, ports, links.

They are found in code spans, fences, directory trees and prose, whatever the language of the prose. The
search also accepts doubtful names, because a name that never matched the repository is not reported later.
A statement about the past, the future or something absent (plans, logs, negations, "A -> B") is found too and
marked as muted: it may hold, but it is never stale.

Pure. Failure: none; any text has zero or more claims.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePosixPath

from reverie.resources import resource_table
from reverie.text.patterns import pattern_of
from reverie.values import Struct, replace

MOST_LINES = 20_000
MOST_CHARS = 2_000
"""The length from which a line counts as data and not as prose."""


class ClaimKind(StrEnum):
    """What a claim (a statement of a note that a repository can confirm) is about.

    `PATH`: a path with a folder; `FILE`: the name of a file. `SYMBOL`: a name in code. `ENV`: an environment
    variable. `DEPENDENCY`: a version of a package. `FILELINE`: a line of a file. `LINK`: a link to a file.
    """

    PATH = "path"
    FILE = "file"
    DIR = "dir"
    COMMAND = "command"
    SYMBOL = "symbol"
    ENV = "env"
    DEPENDENCY = "dependency"
    PORT = "port"
    FILELINE = "fileline"
    LINK = "link"


class Claim(Struct, frozen=True):
    """One statement of a note, in one line, that a repository can confirm."""

    line: int
    """The line number, counted from 1."""
    start: int
    """The position of the token in the line, in characters."""
    kind: ClaimKind
    token: str
    """The text as written in the line, which a fix replaces."""
    value: str
    """What the claim names: a path, a name or a port; for a command its tool and target: `npm build`.

    A path has no leading `./`, and no slash at its beginning or end.
    """
    detail: str = ""
    """A version, a line number, `tree` (an entry of a directory tree) or `wiki` (a wiki link); else empty."""
    text: str = ""
    """The whole line, stripped, by which the commit that added it is found."""
    history: bool = False
    """Whether the name or the title of the note says that it is about the past, or a plan."""
    muted: str = ""
    """The reason why the claim is never reported as stale: `plan`, `log`, `negated`, `arrow`.

    Empty if it may be.
    """


# The patterns mute too much rather than too little: a missed stale claim does less harm than a false one.
_TABLE = resource_table("claims.toml")


def _pattern(part: str, name: str) -> re.Pattern[str]:
    return pattern_of("".join(_TABLE[part][name]), re.IGNORECASE)


_LOG_NAMES = _pattern("names", "log")
_PLAN_NAMES = _pattern("names", "plan")
_KEPT_DIRECTORIES = _pattern("names", "directories")
_PLAN_DIRECTORIES = ("plan", "task", "tarefa", "tarea", "tâche", "計画", "计划", "任务", "계획")
_LIVING_NAMES = _pattern("names", "living")
_OLD_SECTIONS = _pattern("sections", "log")
_PLAN_SECTIONS = _pattern("sections", "plan")
_NEGATED = _pattern("sentences", "negated")
_PLANNED = _pattern("sentences", "planned")
_REPORTED = _pattern("sentences", "reported")
_ARROW = _pattern("sentences", "arrow")
_DATED = _pattern("sentences", "dated")
_NUMBERED = pattern_of(r"[(\[]?\bv?\d+(?:[.-]\d+)+(?:[.-]\w+)*[)\]]?", re.IGNORECASE)
"""Matches a version or a date, with its brackets."""
_SENTENCE_END = pattern_of(r"(?<=[.!?;])\s+|(?<=[。！？；])")


def note_is_muted(path: str) -> str:
    """Return the reason to mute all claims of the note at `path` because of its name or its folder.

    A muted claim is never reported as stale. The reason is `log` or `plan`; empty if there is none.
    """
    path = unicodedata.normalize("NFC", path)
    name = path.removesuffix(".md")
    if _LIVING_NAMES.search(path):
        return ""
    kept = _KEPT_DIRECTORIES.search(path)
    if kept:
        return "plan" if kept[0].strip("/_").casefold().startswith(_PLAN_DIRECTORIES) else "log"
    if _LOG_NAMES.search(PurePosixPath(name).name):
        return "log"
    return "plan" if _PLAN_NAMES.search(PurePosixPath(name).name) else ""


_CODE = pattern_of(r"`[^`]*`|[A-Za-z0-9_@.-]*[/\\.][A-Za-z0-9_@./-]+|[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)+")


@lru_cache(256)
def _muted_by(sentence: str) -> str:
    """Return the reason why claims in a sentence are never reported as stale (muted); empty if they may be.

    Cached, because it is called for each claim in the sentence.
    """
    if _ARROW.search(sentence):
        return "arrow"
    # The words in a file name mean nothing: `old.py`, `delete-user.ts`.
    sentence = _CODE.sub("`", sentence)
    if _DATED.search(sentence) or _REPORTED.search(sentence):
        return "log"
    if _NEGATED.search(sentence):
        return "negated"
    return "plan" if _PLANNED.search(sentence) else ""


_EXTENSIONS = frozenset(_TABLE["words"]["extensions"].split())
_NAMED_FILES = frozenset(_TABLE["words"]["files"].split())
_PLACEHOLDER = pattern_of(
    r"[<>{}*?|\"'`\\^%=,;!&]|\.\.\.|…|(?:^|[/_.-])(?:foo|bar|baz|qux|xx+|yyy+|zzz+|your|placeholder|path[/_-]?to)(?:[/_.-]|$)"
    r"|(?-i:YYYY|MM-DD|X{3,}|\b[A-Z]?NAME\b)|(?:^|/)\.\.(?:/|$)"
    r"|(?:^|/)(?:x|my-?(?:app|project|file|module|component|feature))(?:[/.]|$)"
    r"|^example$",
    re.IGNORECASE,
)
_ELSEWHERE = pattern_of(
    r"^(?:~|\$|[A-Za-z]:[\\/]|/(?:usr|etc|var|opt|tmp|home|Users|dev|proc|sys|root|bin|mnt|private|Applications|Library)/)"
    r"|://|^(?:www\.|https?:)|(?:^|/)(?:node_modules|\.venv|venv|site-packages|__pycache__|\.git)(?:/|$)|^@|^-"
)
_SEGMENT = r"[\w.@+$()\[\]-]+"
_IN_PROSE = pattern_of(
    r"(?<![\w./@:~$<{*\\-])(?P<path>(?:\./|/)?(?:[A-Za-z0-9_.@+-]+/)+(?:[A-Za-z0-9_.@+-]*[A-Za-z0-9_])?"
    r"|\.?[A-Za-z0-9_-][A-Za-z0-9_.-]*\.(?P<ext>[A-Za-z][A-Za-z0-9]{0,9}))(?P<line>:\d+(?:-\d+)?)?(?![\w/*<{$(-])"
)
_WHOLE_PATH = pattern_of(rf"^(?:\./|/)?{_SEGMENT}(?:/{_SEGMENT})*/?$")
_FILE_LINE = pattern_of(r"^(?P<path>[^\s:#]+\.\w+)(?P<mark>:|#L)(?P<line>\d+)(?P<rest>(?:[-:]L?\d+)?)$")
_ENV = pattern_of(r"(?<![\w$.-])\$?\{?(?P<name>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\}?(?![\w(-]|\.\w)")
_SYMBOL = pattern_of(r"^(?:[A-Za-z_$][\w$]*(?:\.|::|#))*(?P<name>[A-Za-z_$][\w$]{2,})(?P<call>\(.{0,60}\))?$")
_CALL = pattern_of(r"(?<![\w.`/-])(?P<name>[A-Za-z_]\w{3,})\(\)")
_PORT = pattern_of(
    r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?::(?P<local>\d{2,5}))(?!\d)"
    r"|(?:\b(?:ports?|Ports?|PORTS?|puerto|Puerto|porta|порт)|端口|ポート|포트)\W{0,6}?(?P<named>\d{2,5})(?![\w.]\d|\w)"
)
_DEPENDENCY = pattern_of(
    r"(?<![\w@/.-])(?P<name>@?[A-Za-z][\w./@-]*(?: [A-Z][A-Za-z]+){0,1}(?:\.js|\.JS)?)"
    r"(?P<gap>@|==|>=|~=|: |\s?\(| (?:version |ver\. )?|\*\* ?\(?:? ?|`\*?\*?:? )"
    r"(?P<version>[~^>=v]{0,2}\d{1,4}(?:\.\d+){0,3}(?:\.x)?\+?)(?![\w.%]\w|\w|/|-\d|:\d|\s?(?:ms|s|px|MB|GB|KB|%|files|tests|minutes|seconds)\b)"
)
_OR_HIGHER = pattern_of(r"\s*(?:or (?:higher|later|newer|above)|and (?:up|above|later)|以上|及以上)")
_NO_PACKAGES = frozenset(_TABLE["words"]["no_packages"].split())
_MARKDOWN_LINK = pattern_of(r"!?\[[^\]\[]{0,300}\]\(\s{0,3}<?(?P<target>[^)\s>(]{1,300})>?[^)]{0,200}\)")
_WIKI_LINK = pattern_of(r"\[\[(?P<target>[^\]\[|#\n]{1,200})(?:[|#][^\]\[]{0,200})?\]\]")
_BOLD = pattern_of(r"\*\*(?![/*\s])([^*\n]+?)\*\*(?!/)")
_SPAN = pattern_of(r"(?P<ticks>`+)(?P<body>[^`].*?)(?P=ticks)(?!`)")


_RUNNERS = frozenset(("npm", "pnpm", "yarn", "bun"))
_NOT_SCRIPTS = frozenset(_TABLE["words"]["no_scripts"].split())
_COMMAND = pattern_of(
    r"^(?:[A-Z][A-Z0-9_]*=\S+\s+)*(?P<whole>(?P<tool>npm|pnpm|yarn|bun|make|just|poetry|uv|cargo|go)\s+(?P<rest>\S.*))$"
)
_BARE_COMMAND = pattern_of(
    r"^\s*(?:[-*+]\s+|\d+[.)]\s+)?(?:\$\s+)?(?P<command>(?:(?:npm|pnpm|yarn|bun) run|make|just) [a-z][^`]*)$"
)
_SCRIPT_NAME = pattern_of(r"^[A-Za-z][\w:.@/-]*$")
_OPTION_WITH_VALUE = frozenset(_TABLE["words"]["options_with_value"].split())


def _command(text: str) -> tuple[str, str] | None:
    """Return the token and the value of the claim in a shell command, as in `Claim`.

    The token is the command up to and including the name of a script, target or package: `npm run build`,
    with the value `npm build`. None if the command names nothing in the repository.
    """
    found = _COMMAND.match(text)
    if found is None:
        return None
    tool, words = found["tool"], found["rest"].split()
    used, name = _script(tool, words)
    if tool in ("uv", "poetry", "bun") and ("/" in name or "." in name):
        return None  # a file, which is found as a path
    if not name or not _SCRIPT_NAME.match(name.removeprefix("./")) or _PLACEHOLDER.search(name):
        return None
    pieces, end = [tool, *words[:used]], 0
    for piece in pieces:
        end = found["whole"].index(piece, end) + len(piece)
    return found["whole"][:end], f"{'npm' if tool in _RUNNERS else tool} {name}"


def _script(tool: str, words: list[str]) -> tuple[int, str]:
    """Return (count, name): the script that a command runs, and the number of words up to and including it.

    `tool`: the program, such as `npm`; `words`: the words after it. If the command runs no script, the name
    is empty and the count has no meaning.
    """
    at = 0
    if tool == "go":
        targets = [i for i, word in enumerate(words) if word.startswith("./") and word != "./..."]
        if words[0] not in ("run", "build", "test", "install") or not targets:
            return 0, ""
        return targets[0] + 1, words[targets[0]].removesuffix("/...")
    if tool == "cargo":
        for i, word in enumerate(words[:-1]):
            if word in ("-p", "--package", "--bin", "--example"):
                return i + 2, words[i + 1]
        return 0, ""
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _OPTION_WITH_VALUE else 1
    if at >= len(words):
        return 0, ""
    if tool in ("poetry", "uv"):
        if words[at] != "run" or at + 1 >= len(words):
            return 0, ""
        return at + 2, words[at + 1]
    if tool in _RUNNERS:
        explicit = words[at] in ("run", "run-script")
        at += explicit
        while at < len(words) and words[at].startswith("-"):
            at += 2 if words[at] in _OPTION_WITH_VALUE else 1
        if at >= len(words) or (not explicit and words[at] in _NOT_SCRIPTS):
            return 0, ""
        return at + 1, words[at]
    return at + 1, words[at] if "=" not in words[at] else ""


class _LineContext(Struct):
    """A line of a note: its number, its text, and the reason why its claims are muted (empty for none)."""

    number: int = 0
    text: str = ""
    muted: str = ""


def find_claims(text: str, path: str = "", *, everything: bool = False) -> tuple[Claim, ...]:
    """Return the claims of a note (statements that a repository can confirm), in order.

    `path` is the path of the note; if its name or title shows that the note states no facts, such as
    `plan.md`, all claims are muted, which means that they are never reported as stale. With `everything`,
    they are marked as `history` instead.
    """
    lines = text.splitlines()[:MOST_LINES]
    title = _title_of(lines)
    titled = _title_muted_by(lines[title - 1].lstrip("# ")) if title else ""
    named = note_is_muted(path) if path else ""
    found = dict[tuple[int, int], Claim]()
    for place, part in _parts(lines, title, "" if everything else titled):
        for claim in part:
            reason = claim.muted or ("" if everything else named) or place.muted
            known = found.get((claim.line, claim.start))
            if known is None or len(claim.token) > len(known.token):
                found[claim.line, claim.start] = replace(
                    claim, muted=reason, text=place.text.strip(), history=bool(named or titled)
                )
    inner = set[tuple[int, int]]()
    for claim in found.values():
        spans = (
            (c.start, c.start + len(c.token))
            for c in found.values()
            if c.line == claim.line and c is not claim
        )
        if any(start <= claim.start and claim.start + len(claim.token) <= end for start, end in spans):
            inner.add((claim.line, claim.start))
    return tuple(found[key] for key in sorted(found.keys() - inner))


def _parts(lines: list[str], title: int, titled: str) -> Iterator[tuple[_LineContext, list[Claim]]]:
    """Yield the context and the claims of each line of a note; the context contains the line.

    `title`: the number of the line with the title, 0 if there is none. `titled`: the reason to mute the whole
    note because of its title.
    """
    at, intro = _after_front_matter(lines), ""
    sections, parents = list[tuple[int, str]](), list[tuple[int, str]]()
    yield from _description(lines[:at], titled)
    while at < len(lines):
        line = lines[at]
        fence = re.match(r"^\s*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,})\s*([\w+-]*)", line)
        if fence:
            closing = re.compile(rf"^\s*{re.escape(fence[1][0])}{{{len(fence[1])},}}\s*$")
            end = next((i for i in range(at + 1, len(lines)) if closing.match(lines[i])), len(lines))
            muted = next((reason for _level, reason in sections if reason), "") or intro
            for place, claims in _fence(lines, at + 1, end, fence[2].lower()):
                place.muted = place.muted or muted
                yield place, claims
            at = end + 1
            continue
        at += 1
        if len(line) > MOST_CHARS:
            continue
        heading = re.match(r"^\s{0,3}(#{1,6})\s+(.*)", line)
        if heading:
            level = len(heading[1])
            about = titled if at == title else _section(heading[2])
            sections = [known for known in sections if known[0] < level] + [(level, about)]
            parents, intro = [], ""
        muted = next((reason for _level, reason in sections if reason), "")
        if not line.strip():
            continue
        item = re.match(r"^(\s*)(?:[-*+•]|\d+[.)])\s+", line)
        if item:
            parents = [known for known in parents if known[0] < len(item[1])]
            above = next((reason for _indent, reason in parents if reason), "")
            own = _muted_by(line) if line.rstrip().endswith((":", "：", ":**")) else ""
            parents.append((len(item[1]), own))
            muted = muted or above or intro
        elif not heading and not line.startswith((" ", "\t", "|")):
            parents = []
            ends = line.rstrip().rstrip("*_").endswith((":", "：")) or re.fullmatch(r"\s*\*\*.+\*\*\s*", line)
            intro = (_section(line) or _muted_by(line)) if ends else ""
        yield _LineContext(at, line, muted), _prose(at, line, _around(lines, at - 1))


def _after_front_matter(lines: list[str]) -> int:
    if lines[:1] == ["---"]:
        return next((i + 1 for i in range(1, min(len(lines), 200)) if lines[i].strip() in ("---", "...")), 0)
    return 0


def _description(front: list[str], muted: str) -> Iterator[tuple[_LineContext, list[Claim]]]:
    """Yield the lines of the description in the front matter `front`, with their claims.

    A description summarises the note, and an agent reads it first. The other keys contain no claims. `muted`:
    the reason to mute all claims of the note; empty for none.
    """
    first = next((at for at, line in enumerate(front) if line.startswith("description:")), -1)
    if first < 0:
        return
    behind = next((at for at in range(first + 1, len(front)) if front[at][:1] not in (" ", "\t")), len(front))
    lines = front[first:behind]
    around, position = "\n".join(lines), 0
    for number, line in enumerate(lines, first + 1):
        if len(line) <= MOST_CHARS:
            yield _LineContext(number, line, muted), _prose(number, line, (around, position))
        position += len(line) + 1


def _title_of(lines: list[str]) -> int:
    """Return the number of the line, counted from 1, that is the note's title: its only first-level heading.

    0 if there is none.
    """
    found, fence = list[int](), ""
    for number, line in enumerate(lines, 1):
        mark = re.match(r"^\s*(`{3,}|~{3,})", line)
        if mark:
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        elif not fence and re.match(r"^\s{0,3}#\s+\S", line):
            found.append(number)
    return found[0] if len(found) == 1 else 0


def _title_muted_by(title: str) -> str:
    """Return the reason to mute the whole note because of its title; empty if there is none.

    A version or date at the beginning of the title is such a reason, because reports and releases are titled
    like that. Elsewhere in the title it belongs to the note or its subject and mutes nothing.
    """
    if _NUMBERED.match(title.lstrip(" *_`")):
        return _section(title)
    return _section(re.sub(r"\s+", " ", _NUMBERED.sub(" ", title)).strip())


def _section(title: str) -> str:
    if _OLD_SECTIONS.search(title) or _DATED.search(title):
        return "log"
    return "plan" if _PLAN_SECTIONS.search(title) else ""


_STARTS_BLOCK = pattern_of(r"^\s*(?:[-*+•]\s|\d+[.)]\s|#|\||>|`{3}|~{3}|$)")


def _around(lines: list[str], at: int) -> tuple[str, int]:
    """Return the paragraph that contains line `at` (an index of `lines`), and the offset of the line in it.

    The offset is in characters. Of a long paragraph, only about 12 lines before and after the line are
    returned.
    """
    first = at
    while (
        first > 0 and at - first < 12 and not _STARTS_BLOCK.match(lines[first]) and lines[first - 1].strip()
    ):
        first -= 1
        if _STARTS_BLOCK.match(lines[first]) and not re.match(r"^\s*(?:[-*+•]\s|\d+[.)]\s)", lines[first]):
            first += 1
            break
    last = at
    while last + 1 < len(lines) and last - at < 12 and not _STARTS_BLOCK.match(lines[last + 1]):
        last += 1
    before = "\n".join(lines[first:at])
    return "\n".join(lines[first : last + 1]), len(before) + (1 if before else 0)


def _sentence(around: tuple[str, int], start: int) -> str:
    text, offset = around
    position = offset + start
    begin = end = None
    for mark in _SENTENCE_END.finditer(text):
        if mark.end() <= position:
            begin = mark.end()
        elif mark.start() >= position:
            end = mark.start()
            break
    return text[begin or 0 : end if end is not None else len(text)]


def _prose(number: int, line: str, around: tuple[str, int]) -> list[Claim]:
    claims = list[Claim]()
    rest = line
    if line.lstrip().startswith("<!--"):
        return claims
    for span in _SPAN.finditer(line):
        body = span["body"]
        start = span.start("body") + len(body) - len(body.lstrip())
        claims += _span(number, start, body.strip())
        rest = rest[: span.start()] + "\0" * (span.end() - span.start()) + rest[span.end() :]
    for pattern in (_MARKDOWN_LINK, _WIKI_LINK):
        for link in pattern.finditer(rest):
            target = link["target"]
            claims += _link(number, link.start("target"), target, wiki=pattern is _WIKI_LINK)
            rest = rest[: link.start()] + "\0" * (link.end() - link.start()) + rest[link.end() :]
    # Bold words are not globs.
    rest = _BOLD.sub(lambda bold: f"\0\0{bold[1]}\0\0", rest)
    claims += _paths_in(number, rest)
    claims += _names_in(number, rest)
    claims += _versions_in(number, line)
    bare = _BARE_COMMAND.match(line)
    command = _command(bare["command"]) if bare else None
    if bare and command is not None:
        claims.append(Claim(number, bare.start("command"), ClaimKind.COMMAND, *command))
    return [_judged(claim, around) for claim in claims]


def _judged(claim: Claim, around: tuple[str, int]) -> Claim:
    text, offset = around
    end = text.find("\n", offset)
    own_line = text[offset : end if end >= 0 else len(text)]
    muted = "arrow" if _ARROW.search(own_line) else _muted_by(_sentence(around, claim.start))
    if not muted and _DATED.search(own_line):
        muted = "log"
    return replace(claim, muted=muted) if muted else claim


def _span(number: int, start: int, body: str) -> Iterator[Claim]:
    """Yield the claims of a code span with the text `body`, in line `number` from column `start` on."""
    line_of = _FILE_LINE.match(body)
    if line_of and not _ELSEWHERE.search(body) and not _PLACEHOLDER.search(line_of["path"]):
        yield Claim(number, start, ClaimKind.FILELINE, body, plain_path(line_of["path"]), line_of["line"])
        return
    command = _command(body.removeprefix("$ "))
    if command is not None:
        yield Claim(number, start + body.index(command[0]), ClaimKind.COMMAND, *command)
        return
    if " " in body:
        yield from _versions_in(number, body, start)
        yield from _paths_in(number, body, start, shell=True)
        yield from _names_in(number, body, start)
        return
    kind = _path_kind(body)
    if kind is not None:
        yield Claim(number, start, kind, body, plain_path(body))
        return
    env = _ENV.fullmatch(body) or re.fullmatch(r"(?P<name>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)=.*", body)
    if env:
        yield Claim(number, start + env.start("name"), ClaimKind.ENV, env["name"], env["name"])
        return
    versions = list(_versions_in(number, body, start))
    yield from versions
    symbol = _SYMBOL.match(body)
    if (
        symbol
        and not versions
        and (symbol["call"] or _is_name(symbol["name"]))
        and not _PLACEHOLDER.search(symbol["name"])
    ):
        yield Claim(number, start + symbol.start("name"), ClaimKind.SYMBOL, symbol["name"], symbol["name"])
    yield from _ports_in(number, body, start)


def _is_name(word: str) -> bool:
    """Return whether a word is spelled like a name in code: in camel case or snake case."""
    return (
        bool(re.search(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]", word))
        and len(word) >= 5
        and not word.isupper()
    )


def _path_kind(text: str) -> ClaimKind | None:
    if (
        len(text) < 3
        or len(text) > 300
        or not _WHOLE_PATH.match(text)
        or _ELSEWHERE.search(text)
        or _PLACEHOLDER.search(text)
        or not re.search(r"[^\W\d]", text)
    ):
        return None
    name = text.rstrip("/").rpartition("/")[2]
    if text.endswith("/"):
        return ClaimKind.DIR
    ending = name.rpartition(".")[2].lower() if "." in name.lstrip(".") else ""
    known = ending in _EXTENSIONS or name in _NAMED_FILES
    if "/" in text.lstrip("/").removeprefix("./"):
        return ClaimKind.PATH
    if text.startswith(("/", "./")) and not known:
        return None
    return ClaimKind.FILE if known or re.fullmatch(r"\.[a-z][\w.-]{3,}", name) else None


def plain_path(path: str) -> str:
    """Return `path` without a leading `./` and without slashes at its beginning and end."""
    return path.removeprefix("./").strip("/")


def _paths_in(number: int, text: str, offset: int = 0, *, shell: bool = False) -> Iterator[Claim]:
    for found in _IN_PROSE.finditer(text):
        path = found["path"]
        if not shell and not found["ext"] and "." not in path.rpartition("/")[2] and not path.endswith("/"):
            continue  # and/or, client/server
        # A sentence may end in a dot.
        path = path.rstrip(".")
        kind = _path_kind(path)
        if kind is None or (kind is ClaimKind.DIR and path.count("/") < 2 and not shell and len(path) < 5):
            continue
        if found["line"]:
            token = path + found["line"]
            number_of = found["line"][1:].partition("-")[0]
            yield Claim(
                number, offset + found.start(), ClaimKind.FILELINE, token, plain_path(path), number_of
            )
        else:
            yield Claim(number, offset + found.start(), kind, path, plain_path(path))


def _names_in(number: int, text: str, offset: int = 0) -> Iterator[Claim]:
    for env in _ENV.finditer(text):
        if not _PLACEHOLDER.search(env["name"]):
            yield Claim(number, offset + env.start("name"), ClaimKind.ENV, env["name"], env["name"])
    for call in _CALL.finditer(text):
        if _PLACEHOLDER.search(call["name"]):
            continue
        yield Claim(number, offset + call.start("name"), ClaimKind.SYMBOL, call["name"], call["name"])


def _versions_in(number: int, text: str, offset: int = 0) -> Iterator[Claim]:
    for found in _DEPENDENCY.finditer(text):
        name = found["name"].rstrip(".-")
        if (
            name.lower() in _NO_PACKAGES
            or name.rpartition(" ")[2].lower() in _NO_PACKAGES
            or name.count("/") > 1
        ):
            continue
        # Only the version, if emphasis or similar stands between name and version.
        start = found.start("version") if re.search(r"[*`(:]", found["gap"]) else found.start()
        version = found["version"].removeprefix("v")
        if _OR_HIGHER.match(text, found.end()) and not version.endswith("+"):
            version += "+"
        yield Claim(number, offset + start, ClaimKind.DEPENDENCY, text[start : found.end()], name, version)
    yield from _ports_in(number, text, offset)


def _ports_in(number: int, text: str, offset: int) -> Iterator[Claim]:
    for found in _PORT.finditer(text):
        group = "local" if found["local"] else "named"
        if 80 <= int(found[group]) <= 65535:
            yield Claim(number, offset + found.start(group), ClaimKind.PORT, found[group], found[group])


def _link(number: int, start: int, target: str, *, wiki: bool) -> Iterator[Claim]:
    path = target.partition("#")[0].partition("?")[0]
    if (
        not path
        or "://" in target
        or target.startswith(("mailto:", "#", "/", "tel:"))
        or re.search(r"[<>{}*$]", path)
    ):
        return
    if not wiki and "." not in path.rpartition("/")[2] and not path.endswith("/"):
        return
    yield Claim(number, start, ClaimKind.LINK, path, path, "wiki" if wiki else "")


_SHELLS = frozenset(("", *_TABLE["words"]["shells"].split()))
_BRANCH = pattern_of(r"^(?P<lead>[\s│|┃]*(?:[├└┣┗|+`\\][─━-]+\s?))(?P<name>[^\s#←(│]+)(?P<rest>.*)$")
_ROOT = pattern_of(r"^\s*(?P<name>(?:\./)?[\w.@-]+(?:/[\w.@-]+)*/|\.)\s*(?:#.*|\(.*|-\s.*|←.*)?$")
_INDENTED = pattern_of(r"^(?P<lead>\s*)(?P<name>[\w.@+\[\]()-]+/?)\s*(?P<rest>(?:#|-\s|←|//|—|–).*)?$")


def _fence(
    lines: list[str], first: int, end: int, language: str
) -> Iterator[tuple[_LineContext, list[Claim]]]:
    body = lines[first:end]
    if any(_BRANCH.match(line) for line in body):
        yield from _tree(body, first)
        return
    is_shell = language in _SHELLS
    if is_shell and _is_indented_tree(body):
        yield from _tree(body, first, indented=True)
        return
    for at, line in enumerate(body, first + 1):
        stripped = line.strip()
        if not stripped or len(line) > MOST_CHARS:
            continue
        code = re.sub(r"\s+(?:#|//)\s.*$", "", line)
        muted = _muted_by(line) if not is_shell or line != code or stripped.startswith("#") else ""
        claims = list[Claim]()
        if is_shell and not stripped.startswith("#"):
            claims += _shell_line(at, code)
        elif not is_shell:
            claims += [
                c
                for c in _paths_in(at, line)
                if "/" in c.value and c.kind is ClaimKind.PATH and "." in c.value
            ]
        yield _LineContext(at, line, muted), claims


def _shell_line(number: int, code: str) -> Iterator[Claim]:
    position = 0
    for part in re.split(r"(\s*(?:&&|\|\||;|\|)\s*)", code):
        text = part.strip().removeprefix("$ ").removeprefix("> ")
        start = code.index(part, position) + part.find(text) if text else position
        position += len(part)
        command = _command(text)
        if command is not None:
            yield Claim(number, start + text.index(command[0]), ClaimKind.COMMAND, *command)
    yield from _paths_in(number, code, shell=True)
    yield from _ports_in(number, code, 0)
    for env in re.finditer(r"(?:^|\s|export )([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)=", code):
        yield Claim(number, env.start(1), ClaimKind.ENV, env[1], env[1])


def _is_indented_tree(body: list[str]) -> bool:
    rows = [line for line in body if line.strip()]
    entries = [found for line in rows if (found := _INDENTED.match(line))]
    return (
        len(rows) >= 3
        and len(entries) == len(rows)
        and sum(found["name"].endswith("/") for found in entries) >= 2
        and any(found["lead"] for found in entries)
    )


def _tree(
    body: list[str], first: int, *, indented: bool = False
) -> Iterator[tuple[_LineContext, list[Claim]]]:
    """Yield each entry of a drawn tree: its line, and the claim with its path from the root of the tree.

    `body`: the lines of the tree. `first`: the number of the line before it. `indented`: the tree is drawn by
    indentation alone.
    """
    stack = list[tuple[int, str]]()
    base = ""
    for number, line in enumerate(body, first + 1):
        found = (_INDENTED if indented else _BRANCH).match(line)
        if not found:
            root = _ROOT.match(line)
            if root:
                stack, base = [], plain_path(root["name"]) if root["name"] != "." else ""
                if base and not _PLACEHOLDER.search(base):
                    yield (
                        _LineContext(number, line),
                        [Claim(number, root.start("name"), ClaimKind.DIR, root["name"], base, "tree")],
                    )
            continue
        name, depth = found["name"].rstrip(",:"), found.start("name")
        stack = [known for known in stack if known[0] < depth]
        plain = plain_path(name)
        path = "/".join([*(part for _depth, part in stack), plain])
        stack.append((depth, plain))
        if (
            _PLACEHOLDER.search(path)
            or _ELSEWHERE.search(path)
            or not re.search(r"\w", plain)
            or plain == "etc"
        ):
            continue
        is_file = not name.endswith("/") and ("." in plain.lstrip(".") or plain in _NAMED_FILES)
        kind = ClaimKind.FILE if is_file else ClaimKind.DIR
        muted = _muted_by(found["rest"] or "")
        value = f"{base}/{path}" if base else path
        claim = Claim(number, depth, kind, name, value, "tree", muted=muted)
        yield _LineContext(number, line, muted), [claim]
