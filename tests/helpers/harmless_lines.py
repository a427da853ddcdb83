"""Lines that speak of secrets, keys and hashes and hold none: made from templates, with a seed."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from hashlib import sha1, sha256

_NOUNS = [
    "password",
    "token",
    "secret",
    "key",
    "credential",
    "passphrase",
    "API-key",
    "access-token",
    "signing-key",
    "login",
    "Passwort",
    "contraseña",
    "senha",
]
_THINGS = [
    "database",
    "staging",
    "registry",
    "cache",
    "worker",
    "billing",
    "search",
    "mail",
    "queue",
    "gateway",
]
_NAMES = [
    "user_id",
    "session_store",
    "get_token",
    "parse_key_value",
    "TokenBucket",
    "cacheKey",
    "load_secrets",
    "fetchToken",
    "keyOf",
]
_WORDS = [
    "required",
    "optional",
    "rotated",
    "stored",
    "expired",
    "shared",
    "hidden",
    "checked",
    "renewed",
    "short",
    "missing",
    "wrong",
    "encrypted",
    "hashed",
    "valid",
]
_TEMPLATES = (
    "The {thing} {noun} is {word}.",
    "- {noun} of the {thing}: {word}, see docs/{thing}.md",
    "* Rotate the {thing} {noun} every {number} days; the last time was 2026-0{digit}-1{digit}.",
    "{NOUN}_TTL_SECONDS={number}00",
    "{NOUN}_FILE=/run/secrets/{thing}",
    "{NOUN}=${{{NOUN}}}",
    "{noun}: <{thing}-{noun}>",
    "`{name}()` returns the {noun} of the {thing} or raises `{name}Error`.",
    "| {thing} {noun} | {word} | {number} |",
    "| `{noun}` | string | {word} |",
    "commit {sha1} makes the {thing} {noun} {word}",
    "{thing}-{number}.tar.gz  sha256 {sha256}",
    "{thing} run {uuid} ended; {noun} {word}",
    "{noun} = {name}({thing})",
    "self.{noun} = {thing}.{name}",
    'const {name} = await {thing}.{noun}("{word}")',
    "    assert {thing}_{noun} is not None, '{noun} {word}'",
    "See https://docs.example.com/{thing}/{noun}s#{word}-{number} for {noun}s.",
    "Das {thing}-Passwort ist {word}, bitte im Tresor nachsehen.",
    "Le mot de passe de {thing} est {word}.",
    "La contraseña de {thing} es {word}.",
    "Пароль для {thing} {word} и хранится в сейфе.",
    "{thing} 的密码是 {word}",
    "{thing}のパスワードは{word}です。",
    "Version {digit}.{number}.{digit} of {thing} limits {noun}s to {number} bytes ({number} MB in all).",
    "{number} tests pass, {digit} fail: {thing}_{noun}_test.py::test_{word}",
    "image: registry.example.com/{thing}/{noun}@sha256:{sha256}",
    "{thing} uses {algorithm} for each {noun}.",
    "curl -H 'Authorization: Bearer ${NOUN}' https://{thing}.example.com/v{digit}/{noun}",
    '"{noun}s": {{"max": {number}, "unit": "{word}"}},',
)
_ALGORITHMS = [
    "sha256",
    "argon2id",
    "bcrypt",
    "PBKDF2-SHA512",
    "AES-256-GCM",
    "HS256",
    "RS256",
    "ed25519",
    "x25519",
    "oauth2",
    "base64",
]


def harmless_lines(count: int, seed: int) -> Iterator[str]:
    """`count` of them."""
    rng = random.Random(seed)
    for _ in range(count):
        noun, number = rng.choice(_NOUNS), rng.randrange(10, 99)
        yield rng.choice(_TEMPLATES).format(
            noun=noun,
            NOUN=noun.upper().replace("-", "_"),
            thing=rng.choice(_THINGS),
            name=rng.choice(_NAMES),
            word=rng.choice(_WORDS),
            algorithm=rng.choice(_ALGORITHMS),
            number=number,
            digit=number % 9 + 1,
            sha1=sha1(rng.randbytes(8)).hexdigest(),
            sha256=sha256(rng.randbytes(8)).hexdigest(),
            uuid=uuid.UUID(int=rng.getrandbits(128), version=4),
        )
