"""The agent's own redaction, and what Reverie adds to it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.jobs.extraction.stage_one import redacted
from reverie.text.codex_redaction import codex_redact
from reverie.text.redact import find_secrets

R = "[REDACTED_SECRET]"
KEY = "sk-" + "a1B2" * 5


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"key {KEY} end", f"key {R} end"),
        ("sk-short123", "sk-short123"),
        (f"risk-{'x' * 20}", f"ri{R}"),
        ("AKIA0123456789ABCDEF", R),
        ("XAKIA0123456789ABCDEF", "XAKIA0123456789ABCDEF"),
        ("AKIA0123456789ABCDEFG", "AKIA0123456789ABCDEFG"),
        ("AKIA0123456789abcdef", "AKIA0123456789abcdef"),
        ("Authorization: bearer abcdefghijklmnop", f"Authorization: Bearer {R}"),
        ("Bearer\n  abc.def-ghi_jkl.mno", f"Bearer {R}"),
        ("Bearer short", "Bearer short"),
        ("api_key=12345678", f"api_key={R}"),
        ("API-KEY: 'abcdefgh'", f"API-KEY: '{R}'"),
        ('apikey = "longenough1"', f'apikey = "{R}"'),
        ("password:\n  hunter2hunter2", f"password:\n  {R}"),
        ("token\n=\nabcdefgh rest", f"token\n=\n{R} rest"),
        ("secret=short", "secret=short"),
        ("tokens: abcdefghij", "tokens: abcdefghij"),
        ("my_token: abcdefghij", "my_token: abcdefghij"),
        (f"token={KEY}", f"token={R}"),
    ],
)
def test_the_four_redactions_in_their_order(text: str, wanted: str) -> None:
    assert codex_redact(text) == wanted


@given(st.text(alphabet="sk-ABeaertoken:= \n'\"0123456789AKI", max_size=80))
@settings(max_examples=examples(100))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = codex_redact(text)
    assert codex_redact(once) == once


def test_a_secret_that_the_agent_does_not_know_does_not_get_into_a_memory_either() -> None:
    text = "push with ghp_" + "a1B2c3D4" * 5 + " please"
    assert find_secrets(text)
    assert redacted(text) == f"push with {R} please"
    for name in ("token=", "password: ", "Fix it. password: ", "Bearer "):
        assert redacted(f"{name}hunter2hunter2hunter2") == f"{name}{R}"
        assert redacted(f"{name}{R} now") == f"{name}{R} now"
