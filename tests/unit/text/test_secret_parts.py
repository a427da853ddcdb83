"""What spares a text a pattern spares it none that would have found something; the table of services is in
order; no pattern uses what old Pythons match wrongly."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reverie
from helpers.profiles import examples
from reverie import resources as program_resources
from reverie.resources import resources_directory
from reverie.text import redact, secret_shapes
from reverie.text import redact as secret_prose
from reverie.text import secret_values as secret_names
from reverie.text.redact import find_secrets
from reverie.text.secret_table import LONG_WORD, Prefixed, Shaped, secret_table, secret_words

TABLE = secret_table()
PREFIXED, PATTERNS, NEARBY = TABLE.prefixed, TABLE.patterns, TABLE.nearby
_LINE = "the password key token of this is "  # so that a row of `nearby` counts


def _body(row: Prefixed) -> str:
    """Characters that may follow the prefix, letters and digits changing often."""
    letters = [char for char in row.alphabet if char.isalpha()]
    digits = [char for char in row.alphabet if char.isdigit()]
    body = [
        (letters[number * 7 % len(letters)], digits[number * 3 % len(digits)]) for number in range(row.least)
    ]
    return "".join(pair[number % 3 == 1] for number, pair in enumerate(body))


@pytest.mark.parametrize("row", PREFIXED, ids=lambda row: row.prefix)
def test_a_row_finds_what_it_describes_and_nothing_shorter(row: Prefixed) -> None:
    value = row.prefix + _body(row)
    found = find_secrets(f"We use {value} here.")
    assert [secret.kind for secret in found] == ["provider-key"], value
    assert value.endswith(f"We use {value} here."[found[0].start : found[0].end])
    too_short = row.prefix + _body(row)[:3]
    assert not any(secret.kind == "provider-key" for secret in find_secrets(f"We use {too_short} here."))


@pytest.mark.parametrize("row", PREFIXED, ids=lambda row: row.prefix)
def test_a_mask_behind_a_prefix_is_no_secret(row: Prefixed) -> None:
    filler = next((char for char in "xXaA0" if char in row.alphabet), "0")
    assert not find_secrets(f"Set it to {row.prefix}{filler * max(row.least, 8)} first.")


def test_prefixes_are_unique_and_every_row_names_its_source() -> None:
    assert len({row.prefix for row in PREFIXED}) == len(PREFIXED)
    assert all(row.service and len(row.source) > 6 for row in (*PREFIXED, *PATTERNS, *NEARBY))
    assert len({row.service for row in (*PREFIXED, *PATTERNS, *NEARBY)}) >= 120


def test_the_file_holds_every_row() -> None:
    assert (len(PREFIXED), len(PATTERNS), len(NEARBY)) == (250, 31, 48)
    assert all(len(set(row.alphabet)) == len(row.alphabet) >= 22 for row in PREFIXED)
    assert all(10 <= row.least <= 100 for row in PREFIXED)
    assert sum(row.exact for row in PREFIXED) == 10
    assert sum(row.random for row in PREFIXED) == 30


@pytest.fixture
def resources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory of resources of its own, and nothing remembered of the real one."""
    monkeypatch.setattr(program_resources, "resources_directory", lambda: tmp_path)
    caches = (secret_table, secret_shapes._rows, secret_shapes.prefixes_pattern)
    for each in caches:
        each.cache_clear()
    yield tmp_path
    for each in caches:
        each.cache_clear()


@pytest.mark.parametrize("search", [find_secrets, redact.redact], ids=["find", "redact"])
def test_nothing_is_redacted_without_the_table(search: Callable[[str], object], resources: Path) -> None:
    text = "We use sk-ant-api03-a1B2c3D4e5F6g7H8i9J0 here."
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match=r"secrets\.toml"):
            search(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("patterns = [", "patterns = "),  # no TOML
        ("nearby = [", "far = ["),  # a part is missing
        ('"url-safe", 12', '"url-save", 12'),  # no such alphabet
        ('["OpenAI", "sk-proj-", ', '["OpenAI", '),  # a row lacks a field
        ('"random"]', '"randon"]'),
    ],
)
def test_a_damaged_table_is_an_error_that_names_the_file(old: str, new: str, resources: Path) -> None:
    text = (resources_directory() / "secrets.toml").read_text("utf-8")
    assert old in text
    (resources / "secrets.toml").write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(ValueError, match=r"'secrets\.toml' is damaged"):
        find_secrets("We use sk-ant-api03-a1B2c3D4e5F6g7H8i9J0 here.")


def test_a_table_without_rows_is_damaged(resources: Path) -> None:
    empty = "[alphabets]\n[secrets]\nprefixed = []\npatterns = []\nnearby = []\n"
    (resources / "secrets.toml").write_text(empty, "utf-8")
    with pytest.raises(ValueError, match="lacks rows"):
        find_secrets("We use sk-ant-api03-a1B2c3D4e5F6g7H8i9J0 here.")


@pytest.fixture
def own_words(resources: Path) -> Iterator[Path]:
    """The table of services as it is, and a place for the words."""
    (resources / "secrets.toml").write_bytes((resources_directory() / "secrets.toml").read_bytes())
    secret_words.cache_clear()
    yield resources / "secret_words.toml"
    secret_words.cache_clear()


def test_nothing_is_redacted_without_the_words(own_words: Path) -> None:
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match=r"secret_words\.toml"):
            redact.redact("The password is a1B2c3D4e5F6g7H8i9J0.")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[words]", "[words"),  # no TOML
        ("gives = ", "takes = "),  # a list is missing
        ("[options]", "[choices]"),
        ("example_parts = ", "example_parts = 7  # "),  # of another kind
        ("fillers = '''", "fillers = ''''''\nmore = '''"),  # an empty list
    ],
)
def test_damaged_words_are_an_error_that_names_the_file(old: str, new: str, own_words: Path) -> None:
    text = (resources_directory() / "secret_words.toml").read_text("utf-8")
    assert old in text
    own_words.write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(ValueError, match=r"'secret_words\.toml' is damaged"):
        redact.redact("The password is a1B2c3D4e5F6g7H8i9J0.")


@pytest.mark.parametrize("row", PATTERNS, ids=lambda row: row.service)
@settings(max_examples=examples(30, least=5))
@given(data=st.data())
def test_whatever_a_pattern_matches_holds_its_word(row: Shaped, data: st.DataObject) -> None:
    match = data.draw(st.from_regex(row.pattern).map(re.compile(row.pattern).search))
    assert match is not None
    assert row.word in match[0]
    if row.is_one_word:
        assert len(match[0]) >= LONG_WORD
        assert not any(map(str.isspace, match[0]))


@pytest.mark.parametrize("row", NEARBY, ids=lambda row: row.service)
@settings(max_examples=examples(20, least=5))
@given(data=st.data())
def test_a_value_counts_only_beside_the_name_of_its_service(row: object, data: st.DataObject) -> None:
    assert isinstance(row, type(NEARBY[0]))
    value = data.draw(st.from_regex(row.pattern, fullmatch=True))
    alone = f"It was {value} all the time."
    assert not any(secret.kind == "token" for secret in find_secrets(alone))


_PIECES = (
    "sk-ant-", "ghp_", "github_pat_", "glpat-", "AKIA", "a1B2c3D4e5F6g7H8i9J0", "eyJhbGciOiJI", ".",
    "Bearer ", "BASİC ", "baſic ", "Authorization: ", "authorızation: ", "x://me:", "@host", "mysql ", "-p",
    "default ", "password ", "PassWord", "PASSWD=", "apiKey: ", "api_token", "hunter2", "=", ": ", '"', "\n",
    " ", "\\n", "İ", "\u0307", "пароль ", "密码", "clé ", "| ", "sshpass -p ", "curl -u ", "me:x1y2z3 ",
)  # fmt: skip


@settings(max_examples=examples(500))
@given(st.lists(st.sampled_from(_PIECES), max_size=12).map("".join))
def test_what_is_found_is_the_same_as_if_every_line_and_word_were_searched(text: str) -> None:
    found = find_secrets(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secret_shapes, "holds_any", lambda _text, _parts: True)
        patch.setattr(redact, "_LEAST_ALONE", 0)
        patch.setattr(redact, "secret_lines", _all_lines)
        assert find_secrets(text) == found


def _all_lines(text: str, _small: str) -> list[tuple[int, int]]:
    found, position = [], 0
    for line in text.split("\n"):
        found.append((position, position + len(line)))
        position += len(line) + 1
    return found


def test_every_word_that_makes_a_name_a_secret_makes_its_line_one_to_search() -> None:
    words = {
        *secret_words().password_names, *secret_words().token_names, *secret_words().password_endings,
        *secret_words().foreign_passwords, *secret_words().foreign_tokens, "key", "pass",
    }  # fmt: skip
    for word in words:
        assert secret_names.secret_lines(f"a\nthe {word} b\nc", f"a\nthe {word} b\nc"), word
        assert len(secret_names.secret_lines(f"a\nthe {word} b\nc", f"a\nthe {word} b\nc")) == 1, word


@pytest.mark.parametrize(
    "word", ["пароль", "密码", "contraseña", "senha", "mot de passe", "Kennwort", "密钥", "パスワード"]
)
def test_every_word_of_a_sentence_makes_its_line_one_to_search(word: str) -> None:
    text = f"x\nthe {word} y"
    small = secret_names.small_letters(text)
    assert secret_prose._secret_word().search(small)
    assert secret_names.secret_lines(text, small)


def test_a_key_of_letters_and_digits_alone_is_found_however_short_keys_may_be() -> None:
    shortest = "AKIA" + "A1B2C3D4E5F6G7H8"
    assert [secret.kind for secret in find_secrets(shortest)] == ["provider-key"]
    assert len(shortest) >= redact._LEAST_ALONE


# In Python before 3.11.5 possessive quantifiers and atomic groups match wrongly: secrets stayed in the text.
_FAULTY = re.compile(r"(?<!\\)(?:[*+?]|\{\d*,?\d*\})\+|\(\?>")


def test_no_pattern_of_the_program_uses_what_old_pythons_match_wrongly() -> None:
    assert [
        source for source in ("a++", "[ab]{1,2}+c", "(?:x)?+", "(?>a)") if not _FAULTY.search(source)
    ] == []
    faulty = [
        f"{path.name}:{pattern}"
        for path in sorted(Path(reverie.__file__).parent.rglob("*.py"))
        for pattern in _patterns_of(path)
        if _FAULTY.search(_outside_classes(pattern))
    ]
    assert faulty == []


def test_no_pattern_of_the_resources_uses_what_old_pythons_match_wrongly() -> None:
    tables = sorted(resources_directory().glob("*.toml"))
    assert "secrets.toml" in {path.name for path in tables}
    texts = [text for path in tables for text in _texts(tomllib.loads(path.read_text("utf-8")))]
    patterns = {row.pattern for row in (*PATTERNS, *NEARBY)}
    assert patterns <= set(texts)
    patterns |= {text for text in texts if _is_pattern(text)}
    assert [pattern for pattern in patterns if _FAULTY.search(_outside_classes(pattern))] == []


def _texts(value: object) -> list[str]:
    """Every text in the value of a TOML file."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in _texts(each)]


def _patterns_of(path: Path) -> list[str]:
    """Every text of a module that is, or may be a part of, a regular expression."""
    source = path.read_text("utf-8")
    if "import re" not in source or not _FAULTY.search(source):
        return []
    tree = ast.parse(source)
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    texts += [
        node.value.decode("latin-1")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, bytes)
    ]
    return [text for text in texts if _is_pattern(text)]


def _is_pattern(text: str) -> bool:
    return any(part in text for part in ("(?", "\\", "[A-Za-z", "[^", "0-9]"))


def _outside_classes(pattern: str) -> str:
    """The pattern with every class in square brackets as one letter, and without escaped signs."""
    bare = re.sub(r"\\.", "e", pattern, flags=re.DOTALL)
    return re.sub(r"\[\^?\]?[^\]]*\]", "c", bare)
