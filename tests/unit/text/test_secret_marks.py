"""Which secrets get a mark, and that whatever has one is never sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.harmless_lines import harmless_lines
from labelled.real.measure import LEAST_SECRETS, is_found, secret_sentences
from reverie.text.redact import describes_itself, find_secrets, marked_secrets, redact

_SAMPLES = Path(__file__).parents[2] / "samples"
# Made up, and taken apart so that scanners of repositories do not take them for real ones.
_RANDOM = "q7Zx2Lk9" + "Vb4Tn8Wc" + "3Rm6Yp1H"
_HEX = "3f9a0c17" * 4


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"**API Key:** `{_RANDOM}`", _RANDOM),
        (f"AES_KEY=/{_RANDOM}", f"/{_RANDOM}"),
        ("Test user: qa@example.com / Maplewood7329!", "Maplewood7329"),
        ("Basic auth for staging: preview / Maplewood7329!", "Maplewood7329"),
        ("测试账号：test01 / Maplewood7329!", "Maplewood7329"),
        ("Credenziali: admin / Maplewood7329!", "Maplewood7329"),
        ("PIN of the admin panel: 384485", "384485"),
        ("The unlock code of the tablet is 384485.", "384485"),
        ("Recovery codes for the account: 5ca77b7-3961613, 0be1144-77a2310", "0be1144-77a2310"),
        ("The license key is K8XEM-5PB6E-XWQ8G-VE8FS-35D54.", "K8XEM-5PB6E-XWQ8G-VE8FS-35D54"),
        (f"The webhook is signed with {_HEX}, keep it in sync.", _HEX),
        (f"| Service | Key |\n|---|---|\n| Weather | `{_HEX}` |", _HEX),
        ("If it asks for a password, type maplewood7329.", "maplewood7329"),
        ("postgres://app:Maplewood7329@db.internal:5432/app", "Maplewood7329"),
    ],
)
def test_what_is_one_has_a_mark(text: str, secret: str) -> None:
    assert [text[each.start : each.end].rstrip("!") for each in marked_secrets(text)][-1:] == [secret]


@pytest.mark.parametrize(
    "text",
    [
        "JWT_SECRET=<generated-with-openssl-rand-base64-32>",
        "database_password: <base64-encoded-password>",
        "SECRET_KEY=your-256-bit-secret-key",
        '"password": "SecurePass123!"',
        '"password": "SecureP@ssw0rd123"',
        "senha: SenhaSegura123!",
        "POSTGRES_PASSWORD=postgres",
        "POSTGRES_USER=ledger POSTGRES_PASSWORD=ledger",
        "DATABASE_URL=postgresql://app:app@localhost:5432/app",
        "Keys encrypted under the master password in `sha256-<hex>.json` files",
        "DB_PASSWORD=\nDB_PORT=5432\n",
        "| Secret | In CI |\n|---|---|\n| `KEYSTORE_BASE64` | yes |",
        "var existingSecret = await GetExistingSecretByName(name)",
        "secret: secret.base32",
        "- Password Manager: +$5/month",
        "The second pass: S721128 has six parameters now",
        "- **Linting MUST pass**: flake8 without errors",
        "| **인증** | JWT | python-jose==3.3.0 |",
        "$deployToken = [Environment]::GetEnvironmentVariable('DEPLOY_TOKEN')",
        "task.setvariable variable=CONNECTION;isOutput=true;isSecret=true]$connection",
        'ADMIN_PASSWORD="[設定されたパスワード]"',
        'SIGNING_KEY="-----BEGIN ' + "PRIVATE KEY-----\\n...\\n-----END " + 'PRIVATE KEY-----"',
        "Login -> home: fill:#36873f, credential 503 timeout/DNS/5xx/429/malformed",
        '"access_token": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9..."',
        "Users: admin / editor, account: see docs/accounts.md",
        "GPIO PIN 13 is the LED; the code of 2024 is frozen",
        "AWS login, credential | `signing-in-to-the-cloud`",
    ],
)
def test_what_stands_for_one_has_none(text: str) -> None:
    assert marked_secrets(text) == ()


def test_what_leaves_the_machine_is_stricter_than_what_is_marked() -> None:
    texts = [
        *(each.text for each in secret_sentences()),
        *harmless_lines(400, seed=20_261_123),
        *(path.read_text("utf-8", "replace") for path in sorted(_SAMPLES.rglob("*.md"))),
    ]
    marked = 0
    for text in texts:
        found = set(find_secrets(text))
        sent = redact(text)
        for each in marked_secrets(text):
            marked += 1
            assert each in found
            assert text[each.start : each.end] not in sent or text.count(text[each.start : each.end]) > 1
    assert marked >= 90  # there was something to compare
    # Not the other way round: what stands for a secret is redacted, too.
    assert not marked_secrets("DB_PASSWORD=postgres")
    assert redact("DB_PASSWORD=postgres") == "DB_PASSWORD=[redacted:password]"


@pytest.mark.parametrize(
    "text",
    [
        "PASSWORD=correct_horse",
        'check_pass "PH10-FIX tagged"',
        "Password guessing               SRP-6a + rate limiting",
        "STRIPE_SECRET_KEY: sk_live_ci01234567890123456789",
        "RESEND_WEBHOOK_SECRET: whsec_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "QA_LOGIN_SECRET: ci-qa-login-secret-012345678901234567890123",
        "var authorization = await GetAuthorizationAsync(id)",
        "ETCD_INITIAL_CLUSTER_TOKEN=k8s_events_etcd",
        "doveadm pw -s SSHA256 -p ${random}",
        "(SHA1 of given password: [a-f0-9]+)",
        "passphrase: 'word',",
        "ADMIN_PASSWORD=kerberos",
        "restic repo passphrase: vortex-walnut-anchor-badger-hinge",
        "OTP_SECRET=xxxxxyyyyy",
        "password: Z2lyb3BvcHM=  # the word giropops",
    ],
)
def test_values_of_words_names_and_counting_are_hidden_and_not_marked(text: str) -> None:
    assert marked_secrets(text) == ()
    assert "PH10" in text or "SRP" in text or find_secrets(text)


@pytest.mark.parametrize("half", ["tune", "held"])
def test_invented_secrets_in_real_sentences_are_found(half: str) -> None:
    some = [each for each in secret_sentences() if each.half == half]
    missed = [each.text for each in some if not is_found(each)]
    assert len(missed) <= (1 - LEAST_SECRETS) * len(some), missed


@pytest.mark.parametrize(
    "value", ["Maplewood7329!", _RANDOM, _HEX, "ArthurGeorge116", "otter-maple-copper-violet"]
)
def test_a_real_value_does_not_describe_itself(value: str) -> None:
    assert not describes_itself(value)


@pytest.mark.parametrize(
    "text",
    [
        "let mut header = jsonwebtoken::Header::new(Algorithm::RS256);",
        'rpassword = "7.5.4"',
        "DB_ROOTPASSWORD=  #only needed for install.",
        "--set auth.initialPassword='choose-one'",
        "gcloud secrets versions access latest --secret=confirmed-backend-version",
        'nginx.ingress.kubernetes.io/auth-secret: "shop-ingress-users"',
        '$Extra["app_secret"]  = Read-Host "Enter the app secret"',
        "password: {{ .Values.storage.password | b64enc | quote }}",
        "docker build --secret=id=apps_json,src=apps.json .",
        "[![codecov](https://codecov.io/badge.svg?token=VK6OUPJ3TY)](https://codecov.io/gh/a/b)",
        "PASSWORD=\"${PASSWORD:-$(python3 -c 'import secrets')}\"",
        "APP_KEY=SomeRandomString3232RandomString",
        "expect(password!.length).toBe(12);",
        "fastcgi_pass php:9000;",
        "ALTER SESSION SET PASSWORD_CONTAINER=ORCLPDB1;",
        "config.omniauth :google_oauth2, ENV.fetch('GOOGLE_OAUTH_KEY')",
        "redacts the password (`crates/memory/src/external.rs:33-58`).",
        "MYSQL_ROOT_PASSWORD: Pa$$w0rd",
        "aws_secret: ENC[AES256_GCM,data:P3vN6O28hfg7SyhwZBWC0xeLa2BZvkH5,iv:bdfeR3F78JCLUysr==]",
    ],
)
def test_code_versions_names_and_requests_for_a_value_are_not_marked(text: str) -> None:
    assert marked_secrets(text) == ()
