"""The vault: no secret leaves, every text comes back exactly, and no placeholder is ever written down."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.errors import StoreError
from reverie.llm.vault import _LOOK_ALIKE, Vault
from reverie.text.redact import find_secrets

# Made up, and taken apart so that scanners of repositories do not take them for real ones.
_A40 = "a1B2c3D4e5F6g7H8i9J0" * 2
KEY = "sk-ant-" + "api03-" + _A40
BODY = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw", "ggSjAgEAAoIBAQC7VJTUt9Us8cKjabcdefg0", "Zm9vYmFyMTIz=="]
PRIVATE_KEY = "\n".join(["-----BEGIN " + "RSA PRIVATE KEY-----", *BODY, "-----END " + "RSA PRIVATE KEY-----"])
ENCRYPTED_KEY = "\n".join(
    [
        "-----BEGIN " + "RSA PRIVATE KEY-----",
        "Proc-Type: 4,ENCRYPTED",
        "DEK-Info: AES-128-CBC,0123456789ABCDEF",
        "",
        *BODY,
        "-----END " + "RSA PRIVATE KEY-----",
    ]
)
PIECES = [
    KEY,
    f"token={_A40}",
    "password: hunter2xyz\n",
    "password: SECRET_1a\n",
    'db_password = "E_SECRET_1"',
    PRIVATE_KEY + "\n",
    ENCRYPTED_KEY,
    ENCRYPTED_KEY.replace("\n", "\r\n"),
    "-----BEGIN " + "PRIVATE KEY-----",
    "https://ada:pa55word@example.org/",
    "Authorization: Bearer abcdef0123456789",
    "{{REVERIE_SECRET_1}}",
    "{{REVERIE_SECRET_2",
    "REVERIE_SECRET_3}}",
    "{{reverie-secret_1}}",
    "{{REVERIE_SECRET_",
    "{",
    "}",
    "{{",
    "\n",
    " ",
    "\r\n",
    "1\t",
    "> ",
    "password: ",
    "bearer ",
    "ordinary words ",
    "é😀\u2028",
    "\n\n",
    "\x0b \x85",
    "| token |",
]
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6))).map("".join)


def numbered(text: str) -> str:
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(text.split("\n"), 1))


@given(st.lists(texts, max_size=3))
def test_every_text_comes_back_exactly_and_what_leaves_holds_no_secret(parts: list[str]) -> None:
    vault = Vault()
    for text in parts:
        hidden = vault.hide(text)
        assert not find_secrets(hidden)
        assert vault.restore(hidden) == text


@pytest.mark.parametrize("blank", ["", " ", "\t", "\x0b", "\u2028"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_key_with_an_empty_line_comes_back_exactly(newline: str, blank: str) -> None:
    text = ENCRYPTED_KEY.replace("\n\n", f"\n{blank}\n{blank}\n").replace("\n", newline)
    vault = Vault()
    hidden = vault.hide(f"{text}{newline}after")
    assert not any(line in hidden for line in BODY)
    assert vault.restore(hidden) == f"{text}{newline}after"


@given(texts)
def test_scrubbing_what_is_hidden_changes_nothing(text: str) -> None:
    vault = Vault()
    hidden = vault.hide(text)
    assert vault.scrub(hidden) == hidden


def test_the_same_secret_has_the_same_token_everywhere() -> None:
    vault = Vault()
    first, second = vault.hide(f"use {KEY} here"), vault.hide(f"and\n{KEY}")
    token = first.removeprefix("use ").removesuffix(" here")
    assert second == f"and\n{token}"
    assert vault.secrets_hidden == 1


def test_a_known_secret_is_hidden_without_the_name_that_gave_it_away() -> None:
    vault = Vault()
    vault.learn("password: hunter2xyz\n")
    assert "hunter2xyz" not in vault.hide("log in with hunter2xyz, please")
    assert "hunter2xyz" not in vault.scrub("I shall keep hunter2xyz")


def test_a_known_secret_is_hidden_in_json_whatever_is_escaped_there() -> None:
    vault = Vault()
    events = [{"text": "password: 'ab\"c1\\d9'\n"}, {"output": ["", {KEY: 1}]}]
    vault.learn(events)
    for value in ('ab"c1\\d9', KEY):
        text = json.dumps([f"x\n{value}\ny"], ensure_ascii=False)
        hidden = vault.hide(text)
        assert json.dumps(value, ensure_ascii=False)[1:-1] not in hidden
        assert vault.restore(hidden) == text


def test_all_texts_of_a_json_value_are_hidden_names_too() -> None:
    vault = Vault()
    token = vault.hide(KEY)
    assert vault.hide_in([{KEY: (KEY, 1, None)}]) == [{token: [token, 1, None]}]


def test_text_about_secrets_stays_as_it_is() -> None:
    vault = Vault()
    text = "The token budget is 12000; never log a password. `{{ template }}` {braces}"
    assert vault.hide(text) == text
    assert vault.secrets_hidden == 0


def test_a_line_of_a_numbered_view_restores_to_the_line_of_the_file() -> None:
    vault = Vault()
    file = f"# Deploy\n\n  {PRIVATE_KEY.replace(chr(10), chr(10) + '  ')}\n\nEnd\n"
    shown = vault.hide(numbered(file))
    assert not any(line in shown for line in BODY)
    for number, (line, real) in enumerate(zip(shown.split("\n"), file.split("\n"), strict=True), 1):
        assert line.startswith(f"{number}\t")
        assert vault.restore(line.removeprefix(f"{number}\t")) == real


def test_half_a_key_is_hidden_once_the_whole_is_known() -> None:
    vault = Vault()
    vault.learn(PRIVATE_KEY)
    half = numbered("\n".join(BODY[1:]))
    assert not any(line in vault.hide(half) for line in BODY)
    assert vault.restore(vault.hide(half)) == half


@pytest.mark.parametrize(
    "text",
    [
        "{{REVERIE_SECRET_2}}",
        "{{REVERIE_SECRET_0}}",
        "{{REVERIE_SECRET_01}}",
        "{{REVERIE_SECRET_1}",
        "REVERIE_SECRET_1",
        "{{ REVERIE_SECRET_1 }}",
        "{{reverie_secret_1}}",
        "{{REVERIE\\_SECRET\\_1}}",
        "{{REVERIE_SECRET_999999999999}}",
    ],
)
def test_an_unknown_or_damaged_token_is_refused_by_name(text: str) -> None:
    vault = Vault()
    vault.hide(KEY)
    with pytest.raises(StoreError) as refused:
        vault.restore(f"key is {text}, ok")
    assert refused.value.reason == "placeholder"
    assert KEY not in str(refused.value)


def test_restoring_goes_all_the_way_down() -> None:
    vault = Vault()
    token = vault.hide(KEY)
    value: Any = {"a": [f"x {token}", 1, None, {"b": token}], "c": True}
    assert vault.restore_in(value) == {"a": [f"x {KEY}", 1, None, {"b": KEY}], "c": True}
    assert vault.holds_token(value)
    assert not vault.holds_token({"a": ["x", 1, None]})
    with pytest.raises(StoreError):
        vault.restore_in({token: 1})


def test_a_look_alike_in_a_memory_survives_beside_a_real_secret() -> None:
    vault = Vault()
    text = f"docs say {{{{REVERIE_SECRET_1}}}} and the key is {KEY}"
    hidden = vault.hide(text)
    assert vault.restore(hidden) == text
    assert vault.secrets_hidden == 1


@settings(max_examples=examples(300))
@given(st.from_regex(_LOOK_ALIKE))
def test_every_look_alike_holds_the_word_that_it_is_looked_for_by(text: str) -> None:
    assert "secret" in text.lower()
