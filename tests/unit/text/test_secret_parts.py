"""What spares a text a pattern spares it none that would have found something."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.text import redact, secret_names, secret_shapes
from reverie.text.redact import find_secrets

_SHAPES = (
    (secret_shapes._PROVIDER_KEY, secret_shapes._PROVIDERS_OWN),
    (secret_shapes._PLAIN_SK, ("sk-",)),
    (secret_shapes._JWT, ("eyJ",)),
    (secret_shapes._HEADER, ("authorization",)),
    (secret_shapes._SCHEME, ("bearer", "basic")),
    (secret_shapes._ADDRESS, ("://",)),
    (secret_shapes._MYSQL, ("mysql", "mariadb")),
    (secret_shapes._NETRC, ("machine", "default")),
)
_PIECES = (
    "sk-ant-", "ghp_", "github_pat_", "glpat-", "AKIA", "a1B2c3D4e5F6g7H8i9J0", "eyJhbGciOiJI", ".",
    "Bearer ", "BASİC ", "baſic ", "Authorization: ", "authorızation: ", "x://me:", "@host", "mysql ", "-p",
    "default ", "password ", "PassWord", "PASSWD=", "apiKey: ", "api_token", "hunter2", "=", ": ", '"', "\n",
    " ", "\\n", "İ", "\u0307",
)  # fmt: skip


@pytest.mark.parametrize(("pattern", "parts"), _SHAPES)
@settings(max_examples=examples(100))
@given(data=st.data())
def test_whatever_a_pattern_matches_holds_one_of_its_parts(
    pattern: re.Pattern[str], parts: tuple[str, ...], data: st.DataObject
) -> None:
    text = data.draw(st.from_regex(pattern))
    lowered = secret_shapes.lowered(text) if pattern.flags & re.IGNORECASE else text
    assert secret_shapes.holds_any(lowered, parts)


@settings(max_examples=examples(500))
@given(st.lists(st.sampled_from(_PIECES), max_size=12).map("".join))
def test_what_is_found_is_the_same_as_if_every_pattern_were_tried(text: str) -> None:
    found = find_secrets(text)
    with pytest.MonkeyPatch.context() as patch:
        for module in (secret_shapes, secret_names):
            patch.setattr(module, "holds_any", lambda _text, _parts: True)
        patch.setattr(redact, "_LEAST_ALONE", 0)
        assert find_secrets(text) == found


def test_the_parts_of_names_are_in_every_word_that_makes_a_name_a_secret() -> None:
    for word in secret_names._PASSWORDS | secret_names._TOKENS | {"key"}:
        assert secret_shapes.holds_any(word, secret_names._IN_SUCH_NAMES), word


def test_a_key_of_letters_and_digits_alone_is_found_however_short_keys_may_be() -> None:
    shortest = "AKIA" + "A1B2C3D4E5F6G7H8"
    assert [secret.kind for secret in find_secrets(shortest)] == ["provider-key"]
    assert len(shortest) >= redact._LEAST_ALONE
