"""The test of redaction finds every way of knowing a secret that stops working."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType

import pytest

from reverie.text import redact as secret_prose
from reverie.text import redaction_check as redact_check
from reverie.text import secret_shapes
from reverie.text import secret_values as secret_names
from reverie.text.redaction_check import PLANTED, failed_checks

_NEVER = re.compile(r"(?!)")


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    failed_checks.cache_clear()
    yield
    failed_checks.cache_clear()


def test_all_that_is_planted_is_found_and_there_is_a_dozen() -> None:
    assert failed_checks() == ()
    assert len(PLANTED) >= 12


@pytest.mark.parametrize(
    ("module", "name", "missed"),
    [
        (secret_shapes, "prefixes_pattern", "a key in the middle of a word"),
        (secret_shapes, "_KEY_BEGIN", "a private key"),
        (secret_shapes, "_JWT", "a signed token"),
        (secret_shapes, "_SCHEME", "a header"),
        (secret_shapes, "_USER_INFO", "a password in an address"),
        (secret_names, "_NAMED", "an assignment"),
        (secret_prose, "_secret_word", "a sentence"),
    ],
)
def test_a_pattern_that_finds_nothing_any_more_is_noticed(
    module: ModuleType, name: str, missed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = (lambda: _NEVER) if callable(getattr(module, name)) else _NEVER
    monkeypatch.setattr(module, name, broken)
    for also in ("_HEADER",) if name == "_SCHEME" else ():
        monkeypatch.setattr(module, also, _NEVER)
    assert missed in failed_checks()


def test_a_redactor_that_takes_everything_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact_check, "redact", lambda _text: "[redacted:token]")
    assert len(failed_checks()) == len(PLANTED)


def test_the_answer_is_remembered_for_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert failed_checks() == ()
    monkeypatch.setattr(redact_check, "redact", lambda text: text)
    assert failed_checks() == ()
