"""Texts with private data planted in them, and a check whether any of it survives redaction."""

from __future__ import annotations

import base64
import random
import string
import unicodedata
from urllib.parse import quote

from reverie.failures.redaction import PrivatePlaces, redact_text

PLACES = PrivatePlaces(
    "/srv/work/night-bus", "/srv/people/ada", ("nightowl/night-bus", "nightowl", "night-bus")
)
ALNUM = string.ascii_letters + string.digits


def planted(rng: random.Random) -> tuple[str, str]:
    """Something private as a text may hold it, and the part that must be gone."""

    def chars(count: int, of: str = ALNUM) -> str:
        # No word of a mark, so that finding it again means that it survived.
        return "".join(rng.choice(of) for _ in range(count - 1)) + "7"

    secret, name = chars(rng.randint(30, 50)), chars(9, string.ascii_lowercase)
    address = ".".join(str(rng.randint(100, 255)) for _ in range(4))
    v6 = ":".join(f"{rng.randint(4096, 65535):x}" for _ in range(8))
    key = base64.b64encode(secret.encode()).decode()
    return rng.choice(
        [
            (f"sk-ant-{secret}", secret),
            (f"sk-{secret}", secret),
            (f"ghp_{secret}", secret),
            (f"xoxb-{secret}", secret),
            (f"Bearer {secret}", secret),
            (f"AIza{secret}", secret),
            (f"eyJ{name}.{name}.{secret}", secret),
            (f"{rng.choice(['API_KEY', 'db-password', 'X.token', 'authToken'])}={secret}", secret),
            (f'"{name}_secret": "{secret} {name}"', secret),
            (f"Authorization: Token {secret}", secret),
            (f"ftp://{name}:{secret}@host/", secret),
            (f"-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----", key),
            (f"/home/{name}/x", name),
            (f"/Users/{name}", name),
            (rf"C:\Users\{name}\y", name),
            (f"{name}@{name}.example.org", name),
            (address, address),
            (v6, v6),
            (f"https://github.com/{name}/{name}x.git", name),
            ("/srv/people/ada/.ssh", "/srv/people/ada"),
            ("nightowl/night-bus", "nightowl"),
        ]
    )


def disguised(rng: random.Random, plant: str) -> str:
    """A plant as programs and jokers spell it."""
    at = rng.randrange(1, len(plant))
    odd = plant[at]
    return rng.choice(
        [
            plant[:at] + rng.choice("\u200b\u200d\u00ad\ufeff\u202e") + plant[at:],
            plant[:at] + (chr(ord(odd) + 0xFEE0) if "!" <= odd <= "~" else odd) + plant[at + 1 :],
            plant.replace("/", "\\/"),
            "".join(f"\\u{ord(char):04x}" if char in "@/:=" else char for char in plant),
            plant.replace("\n", "\\n"),
            quote(plant),
            quote(plant, safe=""),
        ]
    )


def survivors_in_disguise(count: int, seed: int) -> list[str]:
    """What is left of this many disguised plants, with the text."""
    rng = random.Random(seed)
    found: list[str] = []
    for _ in range(count):
        plant, private = planted(rng)
        text = (
            rng.choice(["see ", "(", '"', "x=", ""]) + disguised(rng, plant) + rng.choice([" end", ")", ""])
        )
        clean, _count = redact_text(text, PLACES)
        plain = "".join(char for char in clean if unicodedata.category(char) != "Cf")
        if private in unicodedata.normalize("NFKC", plain) or redact_text(clean, PLACES)[0] != clean:
            found.append(f"{plant!r} as {text!r} in {clean!r}")
    return found


def survivors(seed: int, prose: list[str]) -> list[str]:
    """Plants one private thing behind each piece of prose; what of it is left, with the text."""
    rng = random.Random(seed)
    plants = [planted(rng) for _ in prose]
    gap = rng.choice([" ", "\n", "\t", " | "])
    text = "".join(f"{words}{gap}{plant}{gap}" for words, (plant, _) in zip(prose, plants, strict=True))
    clean, count = redact_text(text, PLACES)
    left = [f"{plant!r} in {clean!r}" for plant, private in plants if private in clean]
    return left if count or not plants else [*left, f"nothing was counted in {text!r}"]


def many_survivors(count: int, seed: int) -> list[str]:
    """`survivors` for this many texts."""
    rng = random.Random(seed)
    letters = "abc xyz.,:;=()[]{}\"'\n/\\-"
    found: list[str] = []
    for _ in range(count):
        prose = ["".join(rng.choices(letters, k=rng.randint(0, 30))) for _ in range(rng.randint(1, 5))]
        found += survivors(rng.getrandbits(32), prose)
    return found
