"""Values that look drawn by chance are hidden from a model also where nothing names them."""

from __future__ import annotations

import random
import string

import pytest

from reverie.llm.vault import Vault
from reverie.text.chance import mixed_values, values_of_access
from reverie.text.redact import marked_secrets, possible_secrets
from reverie.text.secret_values import small_letters


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("When it asks, type 8OkDYE93mHt632nN and hit enter.", "8OkDYE93mHt632nN"),
        ("no wait, it's 74&Comet-mango now", "74&Comet-mango"),
        ('Lena: "just use 2365+Drizzle-jasper, everybody does"', "2365+Drizzle-jasper"),
        ("2. Press admin\n3. Then Grav4l#48", "Grav4l#48"),
        ("jenkins => root => ugDOaYRRf86", "ugDOaYRRf86"),
        ("Kibana: ana.souza/candle&Quartz7881", "candle&Quartz7881"),
        ("Use pxl_prod_ztjH7OdxSaG8R3Z5kWQab8MCX8F3Kde there.", "ztjH7OdxSaG8R3Z5kWQab8MCX8F3Kde"),
        ("The disk unlocks with badger noodle gravel nectar fiddle.", "badger noodle gravel nectar fiddle"),
        ("LUKS, passphrase tulip.raven.willow.mosaic", "tulip.raven.willow.mosaic"),
        ("The alarm: the code is 41525303.", "41525303"),
        ("recovery codes\n349c0-3931d\n228eb-345c4", "228eb-345c4"),
        ("Licence key: 4A5A2-M2TZN-M288D-XDTRS", "4A5A2-M2TZN-M288D-XDTRS"),
        ("Their API key is d4551efd-68b9-4008-a64e-58ba50d72794.", "d4551efd-68b9-4008-a64e-58ba50d72794"),
        ("sign in as `admin` with `Dagger_badger.9089`", "Dagger_badger.9089"),
    ],
)
def test_a_value_drawn_by_chance_is_hidden_from_a_model_and_comes_back(text: str, secret: str) -> None:
    vault = Vault()
    hidden = vault.hide(text)
    assert secret not in hidden
    assert vault.restore(hidden) == text


@pytest.mark.parametrize(
    "text",
    [
        "See issue repo#1234, C++17, Python3.11+ and utf-8.",
        "uses: actions/checkout@34e114876b0b11c390a56381ad16ebd13914f8d5",
        "The commit is c94ce9fb468520275223c153574b00df6fe4bcc9.",
        "GET https://example.com/a?page=2&size=50&sort=name1",
        "npm install left-pad@1.3.0 && npm run build2",
        "const userName2 = items[0].displayName1 + 3;",
        "| 2026-11-25 | 14:05:33 | 10.20.4.17 |",
        "Mail ada+news12@example.com about /srv/app/config2.yaml.",
        "The consolidation writes notes about background workers daily.",
    ],
)
def test_names_numbers_paths_and_code_are_left(text: str) -> None:
    assert possible_secrets(text) == ()


def test_many_hidden_values_hide_nothing_else() -> None:
    vault = Vault()
    text = "".join(
        f"The key of box {number} is d4551efd-68b9-4008-a64e-58ba50d7{number:04}.\n" for number in range(120)
    )
    hidden = vault.hide(text)
    assert hidden.count("The key of box") == 120
    assert vault.restore(hidden) == text


def test_what_only_chance_tells_is_not_marked_in_a_note() -> None:
    text = "When it asks, type 8OkDYE93mHt632nN and go on."
    assert possible_secrets(text)
    assert marked_secrets(text) == ()


def test_values_of_random_letters_and_digits_are_found_in_plain_sentences() -> None:
    rng = random.Random(91)
    values = ["".join(rng.choices(string.ascii_letters + string.digits, k=16)) for _ in range(300)]
    missed = [value for value in values if not list(mixed_values(f"Then use {value} for the replica."))]
    assert len(missed) <= 25  # words by chance, such as BeABTtlhJmwJHjBx


@pytest.mark.parametrize(
    "piece",
    ["aB3$", "1a-", "ab12.", "word ", "key=", "%20", "A1B2-", "\\u0041", "x/", "key\n", "_*~", "a.", "key1"],
)
def test_time_is_linear_in_the_text(piece: str) -> None:
    # Were this more than linear, the run would take minutes.
    text = "log in " + piece * (400_000 // len(piece))
    found = (list(mixed_values(text)), list(values_of_access(text, small_letters(text))))
    assert len(found) == 2
