"""Generated passwords are found whatever stands around them; names of secrets are not taken for secrets."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.fresh_forms import FRESH_FILE_NAMES, FRESH_TEXTS, Carrier, drawn
from helpers.profiles import a_share, examples
from helpers.secret_forms import (
    EARLIER,
    EARLIER_NAMES,
    FRESH,
    FRESH_NAMES,
    HELD,
    HELD_NAMES,
    TUNED,
    TUNED_NAMES,
    write,
)
from reverie.text.redact import find_secrets, marked_secrets, redact
from reverie.text.secret_values import is_drawn

_SEEDS = range(examples(8))


@pytest.mark.parametrize(
    "forms",
    [TUNED | TUNED_NAMES, EARLIER | EARLIER_NAMES, HELD | HELD_NAMES, FRESH | FRESH_NAMES],
    ids=["tuned", "earlier", "held back", "fresh"],
)
def test_of_generated_passwords_at_most_one_in_a_hundred_stays_whatever_is_around_them(forms: dict) -> None:  # type: ignore[type-arg]
    texts = [write(forms, form, seed) for form in forms for seed in _SEEDS]
    left = [(each.form, secret) for each in texts for secret in each.secrets if secret in redact(each.text)]
    assert len(left) * 100 <= sum(len(each.secrets) for each in texts), left


@pytest.mark.parametrize(
    ("carriers", "seed"), [(FRESH_TEXTS, 7_401), (FRESH_FILE_NAMES, 7_402)], ids=["texts", "names of files"]
)
def test_of_fresh_forms_at_most_one_secret_in_a_hundred_stays(
    carriers: Mapping[str, Carrier], seed: int
) -> None:
    texts = drawn(carriers, seed, examples(4) * len(carriers))
    left = [(each.form, secret) for each in texts for secret in each.secrets if secret in redact(each.text)]
    assert len(left) * 100 <= sum(len(each.secrets) for each in texts), left


def test_drawn_values_differ_from_words_and_names() -> None:
    rng = random.Random(7)
    for alphabet in (string.ascii_letters, string.ascii_letters + string.digits):
        drawn = ["".join(rng.choices(alphabet, k=14)) for _ in range(500)]
        assert sum(map(is_drawn, drawn)) >= 490
    names = (
        "AuthTokenStore PasswordResetController authentication postgresql-client kubernetes-dashboard "
        "OAuth2PasswordBearer configuration_file MasterUserPassword internationalization Datenbankpasswort "
        "wachtwoordbeheer contrase databaseConnectionPool"
    )
    assert [name for name in names.split() if is_drawn(name)] == []


@pytest.mark.parametrize(
    "text",
    [
        "SECRET=app/config",
        "Secret: kv/data/team-a/stripe",
        "secret: arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf",
        "The secret is arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-Xk29Qd",
        "security group for the secrets proxy: sg-0a1b2c3d4e5f67890",
        "- Secrets (ADR-0032)",
        "The password policy is NIST-800-63B",
        "Generate the password with `openssl passwd -apr1`",
        'pass `nextToken` to the next call: "nextToken": "AAMA-EFRSURBSGhtL3FhNkRXTzZzR2pVeQ"',
        "continuation token: CAoQAA4kJdXk3lwZx9Qm2",
        "The login token is stored in AuthTokenStore",
        "password reset: PasswordResetController.handleReset()",
        'ca: "urn:k8s:secret:tls:ca"',
        "check claimed files; the tests pass before isDlqJob runs",
        "6. Store App ID and private key as secrets (T011-T012)",
    ],
)
def test_the_name_of_a_secret_is_no_secret(text: str) -> None:
    assert find_secrets(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "API key (sk-proj-xxxxxxxx)",
        "postgres://postgres:postgres@localhost:5432/postgres",
        "MINIO_ROOT_PASSWORD=minioadmin",
        "caSecret: redis-ca",
        "client_secret=admin-yyy",
        '$env:NEO4J_PASSWORD="найденный_пароль"',
        "Пароль сбросится на `neo4j/neo4j`",
        'password: c2VjdXJlLXBhc3N3b3Jk  # "secure-password"',
    ],
)
def test_examples_and_what_every_local_store_begins_with_get_no_mark(text: str) -> None:
    assert marked_secrets(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        # the name of something that is not the secret
        "browser, email (`IMAP+SMTP`), image generation, credentials",
        "Password hashing: `@node-rs/argon2` (Argon2id). Rate limiting",
        "- **JWT**: SimpleJWT with 1-hour access tokens",
        "password: ${{ secrets.X }}\n      - uses: a-sh/setup-uv@e58605a9b6da7c637471fab8847a5e5a6b8df081",
        "uses: docker/login-action@b45d80f862d83dbcd57f89517bcf500b2ab88fb2 # v4",
        "deploy.ps1 [-ResourceGroup neo4j-aks-rg] [-Password $p]",
        'echo "Stripe secrets are configured!${NC}"',
        '[[ "$secret" == "smtp-user" ]]',
        '"determinism_pass": 0.98,',
        'textbox "Password" [ref=e2], button "Submit"',
        "seeds an admin (`ada` / `adalovelace04@example.com` / password: `1`)",
        "postgresql://postgres:your-password@db.rdhpjmjfdrpyirnuxdrm.example.co:5432/x",
        "# Generated secrets - 2025-09-16T13:08:07.723907",
        "Connection secret: `ACME_AZURE_BLOB_CONNECTION`",
        # a word of a window in another language
        '"password": "Heslo",',
        '"password": "E-Mail-Kennwort",',
        '"confirm_password": "確認密碼"',
        # a variable, a mask, a part of a variable, a placeholder
        'sqlcmd -P "$BW_PASSWORD" -d "$BW_DB_NAME"',
        'echo "$RUN_USER_NAME:root" | chpasswd',
        "https://mcp.example.com/sse?token=e8********************42",
        'secret="${admin_secret:0:32}"',
        'export PGPASSWORD="${PGPASSWORD:-releviz}"',
        "JWT_SECRET=test_jwt_secret_dummy_0123456789",
        'JWT_SECRET="cambiar-en-produccion"',
        "AUTH_SECRET=REEMPLAZAR",
        'API_KEY = "sk-12345"',
        'gh secret set PHONE_ID --body "987654321098765"',
        "│  Pincode         400001             │",
        "# -----BEGIN RSA PRIVATE KEY-----\n# privatekeyprivatekeyprivatekeyprivatekey\n",
    ],
)
def test_what_real_files_have_beside_words_for_secrets_gets_no_mark(text: str) -> None:
    assert marked_secrets(text) == ()


@given(
    st.lists(
        st.sampled_from(
            ["password", " is ", ": ", "\n", "Zx9Qm2kVbTn8Wc", "QvkRtbWzPxLmNd", "-", "=", "\\n", '"']
        ),
        max_size=12,
    ),
    st.sampled_from(sorted(TUNED | EARLIER)),
    st.integers(0, 3),
)
def test_redacting_twice_is_redacting_once(pieces: list[str], form: str, seed: int) -> None:
    text = "".join(pieces) + write(TUNED | EARLIER, form, seed).text
    once = redact(text)
    assert redact(once) == once


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")], ids=["dense", "spaced"])
def test_a_mark_leaves_the_json_around_it_whole(ascii_only: bool, separators: tuple[str, str]) -> None:
    forms = TUNED | EARLIER | HELD | FRESH
    for form in forms:
        for seed in a_share(_SEEDS, 4):
            texts = [{"text": write(forms, form, seed).text}, {"role": "another"}]
            clean = redact(json.dumps(texts, ensure_ascii=ascii_only, separators=separators))
            assert json.loads(clean)[1] == {"role": "another"}, clean


def test_a_secret_behind_escapes_is_found_where_it_stands() -> None:
    for text in (
        r'{"dsn": "redis:\/\/:QvkRtbWzPxLmNd@cache"}',
        "u=mysql%3A%2F%2Froot%3AQvkRtbWzPxLmNd%40db",
        r'"say \u0022password\u0022: \"QvkRtbWzPxLmNd\""',
    ):
        (secret,) = find_secrets(text)
        assert text[secret.start : secret.end] == "QvkRtbWzPxLmNd"
