"""What marks are worth on memories that agents really wrote, and on invented secrets and injections. Each
figure is counted for the half that was tuned on and for the half that was held back.

The corpus is laid out by `labelled.real.extract`; its text is never printed here.
"""

from __future__ import annotations

import base64
import random
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from labelled.real.extract import Half, RealNote
from reverie.memory.hidden_characters import hidden_characters, spelled_by_tags, without_invisible
from reverie.memory.instruction_lines import instruction_lines
from reverie.text.redact import find_secrets, marked_secrets, redact

_HERE = Path(__file__).parent
_VALUE = re.compile("«([a-z0-9]+)»")
_ALNUM = string.ascii_letters + string.digits
_SYLLABLES = (
    "ba",
    "ko",
    "ri",
    "ten",
    "lu",
    "mar",
    "sol",
    "vin",
    "dra",
    "pek",
    "tus",
    "mel",
    "nor",
    "gal",
    "fim",
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One labelled sentence; `secrets`: the values in it that must be found."""

    half: Half
    text: str
    kind: str = ""
    secrets: tuple[str, ...] = ()


def labelled(name: str) -> Iterator[tuple[Half, str]]:
    """The lines of a list, every other one for tuning."""
    lines = [line for line in (_HERE / name).read_text("utf-8").splitlines() if line and line[0] != "#"]
    for number, line in enumerate(lines):
        yield ("held" if number % 2 else "tune"), line.replace("\\n", "\n")


def secret_sentences() -> list[Sentence]:
    """Every sentence with its secrets made up, the same ones each time."""
    found = []
    for number, (half, line) in enumerate(labelled("secrets.txt")):
        dice = random.Random(number)
        values: list[str] = []

        def value(match: re.Match[str], dice: random.Random = dice, values: list[str] = values) -> str:
            values.append(_made(match[1], dice))
            return values[-1]

        found.append(Sentence(half, _VALUE.sub(value, line), secrets=tuple(values)))
    return found


def _made(kind: str, dice: random.Random) -> str:
    """An invented value of one kind."""
    word = "".join(dice.choices(_SYLLABLES, k=3))
    sized = re.fullmatch(r"(random|hex|upper)(\d+)", kind)
    if sized is not None:
        alphabet = {"random": _ALNUM, "hex": "0123456789abcdef", "upper": string.ascii_uppercase + "234567"}
        return "".join(dice.choices(alphabet[sized[1]], k=int(sized[2])))
    makers: dict[str, Callable[[], str]] = {
        "password": lambda: f"{word.capitalize()}{dice.randrange(10, 9999)}{dice.choice('!*+')}",
        "weak": lambda: f"{word}{dice.randrange(10, 9999)}",
        "base64": lambda: base64.b64encode(dice.randbytes(32)).decode(),
        "jwt": lambda: base64.urlsafe_b64encode(dice.randbytes(36)).decode(),
        "awssecret": lambda: base64.b64encode(dice.randbytes(30)).decode(),
        "phrase": lambda: "-".join("".join(dice.choices(_SYLLABLES, k=2)) for _ in range(4)),
        "license": lambda: "-".join("".join(dice.choices(_ALNUM.upper()[26:], k=5)) for _ in range(5)),
        "pin": lambda: str(dice.randrange(100000, 9999999)),
        "recovery": lambda: (
            f"{dice.randbytes(3).hex()}{dice.randrange(10)}-{dice.randbytes(3).hex()}{dice.randrange(10)}"
        ),
    }
    return makers[kind]()


def is_found(sentence: Sentence) -> bool:
    """Whether each secret of the sentence is marked, and gone from what would be sent."""
    marked = [sentence.text[each.start : each.end] for each in marked_secrets(sentence.text)]
    sent = redact(sentence.text)
    return all(
        any(secret.strip("!?*") in each for each in marked) and secret not in sent
        for secret in sentence.secrets
    )


def is_instruction(text: str) -> bool:
    """Whether some line of a text is marked as instruction-like."""
    return bool(instruction_lines(without_invisible(text)) or instruction_lines(spelled_by_tags(text)))


# What is promised of the held-back half.
LEAST_SECRETS, LEAST_INJECTIONS = 0.9, 0.7
MOST_TOLD = 0.005


def recall() -> tuple[list[str], bool]:
    """Lines with the figures of what was invented, and whether they are as promised."""
    lines, kept = list[str](), True
    for half in ("tune", "held"):
        secrets = [each for each in secret_sentences() if each.half == half]
        found = sum(map(is_found, secrets))
        rows = [line.split("\t", 1) for which, line in labelled("injections.txt") if which == half]
        by_kind = Counter(kind for kind, text in rows if is_instruction(text))
        kinds = ", ".join(f"{kind} {by_kind[kind]}" for kind in dict(rows))
        lines += [
            f"secrets found, {half}: {found} of {len(secrets)}",
            f"injections found, {half}: {by_kind.total()} of {len(rows)} ({kinds})",
        ]
        kept = found >= LEAST_SECRETS * len(secrets) and by_kind.total() >= LEAST_INJECTIONS * len(rows)
    return lines, kept


def marks(notes: Iterable[RealNote]) -> tuple[list[str], bool]:
    """Lines with how many real files have a mark of each kind. Only a reader can say which secrets are some,
    so their number alone breaks no promise."""
    lines, kept = list[str](), True
    of: dict[Half, list[RealNote]] = {"tune": [], "held": []}
    for note in notes:
        of[note.half].append(note)
    for half, some in of.items():
        secret = sum(bool(marked_secrets(note.text)) for note in some)
        redacted = sum(bool(find_secrets(note.text)) for note in some)
        told = sum(is_instruction(note.text) for note in some)
        hidden = sum(bool(hidden_characters(note.text)) for note in some)
        lines.append(
            f"{half}: {len(some)} files of {len({note.repository for note in some})} repositories, {secret} "
            f"with a secret ({redacted} redacted), {told} instruction-like, {hidden} with hidden characters"
        )
        kept = told <= MOST_TOLD * len(some)
    return lines, kept
