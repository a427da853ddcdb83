"""The redactor: what is a secret goes, what only speaks of secrets stays, and no input makes it slow."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helpers.isolation import TEST_PROFILE
from reverie.text.redact import find_secrets, redact

# Made up for the tests, and taken apart so that scanners of repositories do not take them for real ones.
_BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
_BEGIN, _END = "-----BEGIN " + "RSA PRIVATE KEY-----", "-----END " + "RSA PRIVATE KEY-----"
_JWT = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dozjgNryP4J3jVmNHl0w5N"
_A40 = "a1B2c3D4e5F6g7H8i9J0" * 2

PROVIDER_KEYS = [
    "sk-" + _A40,
    "sk-" + "abcdefghijklmnopqrstuvwx",
    "sk-test-" + "1234567890abcdef",
    "sk-test-" + "FAKE-FAKE-FAKE-FAKE-0000000000",
    "sk-ant-" + "api03-" + _A40 + "-_AA",
    "sk-proj-" + _A40,
    "sk-or-v1-" + _A40,
    "sk" + "_live_" + _A40,
    "ghp" + "_" + _A40[:36],
    "gho" + "_" + _A40[:36],
    "github" + "_pat_" + "11ABCDEFG0" + _A40,
    "xox" + "b-1234567890-abcdefghij",
    "xox" + "p-1234567890-1234567890-abc",
    "xox" + "a-2-abcdefghijkl",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "glpat" + "-abcdefghij1234567890",
    "npm" + "_" + _A40[:36],
    "hf" + "_" + _A40[:34],
]


@pytest.mark.parametrize("key", PROVIDER_KEYS)
@pytest.mark.parametrize(
    "around", ["{}", "use {} here", "x={}", '{{"a": "{}"}}', "({})", "`{}`", "a\n{}\nb", "see {}."]
)
def test_provider_keys_go_wherever_they_stand(key: str, around: str) -> None:
    clean = redact(around.format(key))
    assert key not in clean
    assert "[redacted:provider-key]" in clean
    assert clean.replace("[redacted:provider-key]", "") == around.format("")


@pytest.mark.parametrize("key", [*PROVIDER_KEYS, f"token: {_A40}", "mysql -pGeh31mQx9", "password: hunter2x"])
@pytest.mark.parametrize("before", ["\n", "\r\n", "\t"])
def test_a_secret_at_the_start_of_a_line_is_known_in_json_too(key: str, before: str) -> None:
    text = json.dumps({"text": f"use this{before}{key}{before}thanks"})
    clean = redact(text)
    secret = key.rpartition(" ")[2].removeprefix("-p")
    assert secret not in clean
    assert clean.count("[redacted:") == 1
    for twice in (json.dumps(text), json.dumps(json.dumps(text))):
        assert secret not in redact(twice)
    assert json.loads(clean)["text"].startswith(f"use this{before}")


@pytest.mark.parametrize("key", PROVIDER_KEYS)
@pytest.mark.parametrize(
    "around",
    [
        "\x1b[1;32m{}\x1b[0m",
        "\\u001b[32m{}\\u001b[0m",
        r"\033[0;31m{}\033[0m",
        r"\u003c{}\u003e",
        "x%3D{}%26y",
        "\x1b[01;31m\x1b[K{}\x1b[m\x1b[K",
        "\\u001b[01;31m\\u001b[K{}\\u001b[m\\u001b[K",
        r"\x1b[01;31m\x1b[K{}\x1b[m\x1b[K",
        "x%3d{}%0a",
        r"x\x3d{}\x0a",
        r"\f{}\f",
        r"\b{}\b",
        r"\v{}\v",
        r"\012{}\012",
        r"\0{}\0",
        r"x\U0000003d{}\U0000000a",
        "x=3D{} y",
    ],
)
def test_a_provider_key_is_known_behind_a_colour_and_behind_an_escape(key: str, around: str) -> None:
    clean = redact(around.format(key))
    assert clean == around.format("[redacted:provider-key]")


@pytest.mark.parametrize("blank", ["\u2028", "\x85", "\u1680", "\x1c"])
def test_a_cell_of_a_table_may_hold_nothing_but_an_odd_blank(blank: str) -> None:
    row = f"| password | Qx7rT9mm-83 | {blank} |"
    assert redact(row) == row.replace("Qx7rT9mm-83", "[redacted:password]")


def test_what_looks_like_an_escape_may_be_two_characters_of_a_password() -> None:
    assert redact(r"postgres://ada:Qx7\rT9mm@db/x") == "postgres://ada:[redacted:url-password]@db/x"
    assert redact(r'{"password": "Wx\t9fQz-83"}') == '{"password": "[redacted:password]"}'


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"{_BEGIN}\n{_BODY}\n{_BODY}\n{_END}\n", "[redacted:private-key]\n"),
        (f"key:\n  {_BEGIN}\n  {_BODY}\n  {_END}", "key:\n  [redacted:private-key]"),
        (f"> {_BEGIN}\n> {_BODY}\n> {_END} done", "> [redacted:private-key] done"),
        (json.dumps({"k": f"{_BEGIN}\n{_BODY}\n{_END}\n"}), '{"k": "[redacted:private-key]\\n"}'),
        (f"{_BEGIN.replace(' ', chr(10))}\n{_BODY}\n{_END}", "[redacted:private-key]"),
        (f"{_BEGIN.replace('RSA', 'OPENSSH')}\n{_BODY}\nwas cut", "[redacted:private-key]\nwas cut"),
        (
            f"{_BEGIN}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB12\n\n{_BODY}",
            "[redacted:private-key]",
        ),
        (f"{_BEGIN}\\n{_BODY}\\n{_BODY}", "[redacted:private-key]"),
        (f"{_BEGIN.replace('RSA ', '')}{_BODY}{_END.replace('RSA ', '')}", "[redacted:private-key]"),
        (f"{_BEGIN}\n{_BODY}\n{_BEGIN}\n{_BODY}\n{_END}", "[redacted:private-key]"),
    ],
)
def test_private_keys_go_whole_broken_quoted_escaped_or_cut_off(text: str, clean: str) -> None:
    assert redact(text) == clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"jwt {_JWT} end", "jwt [redacted:jwt] end"),
        (f"Authorization: Bearer {_JWT}", "Authorization: Bearer [redacted:jwt]"),
        ("Authorization: Bearer abcdefgh", "Authorization: Bearer [redacted:auth-header]"),
        (
            "authorization: Basic " + base64.b64encode(b"me:secret").decode(),
            "authorization: Basic [redacted:auth-header]",
        ),
        ('"Authorization": "token abc123def456"', '"Authorization": "token [redacted:auth-header]"'),
        (
            "curl -H 'Authorization: Bearer abc.def-123'",
            "curl -H 'Authorization: Bearer [redacted:auth-header]'",
        ),
        ("sent bearer 0a1b2c3d4e5f60718293 to it", "sent bearer [redacted:auth-header] to it"),
        ("Basic " + base64.b64encode(b"me:secret pass").decode(), "Basic [redacted:auth-header]"),
        ("postgres://app:s3cr3t@db:5432/x", "postgres://app:[redacted:url-password]@db:5432/x"),
        ("https://me:p@ss@host/path", "https://me:[redacted:url-password]@host/path"),
        ("redis://:pw123@cache:6379", "redis://:[redacted:url-password]@cache:6379"),
        (
            "https://hooks.slack.com/services/" + "T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
            "https://hooks.slack.com/services/[redacted:provider-key]",
        ),
    ],
)
def test_tokens_headers_and_credentials_in_addresses_go(text: str, clean: str) -> None:
    assert redact(text) == clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("DB_PASSWORD=letmein", "DB_PASSWORD=[redacted:password]"),
        ("export PASSWORD=correct_horse\n", "export PASSWORD=[redacted:password]\n"),
        ("password: hunter2", "password: [redacted:password]"),
        ("password: >-\n  hunter2\nnext: 1\n", "password: >-\n  [redacted:password]\nnext: 1\n"),
        ("token: |2+\r\n    abcdEFGH1234zz", "token: |2+\r\n    [redacted:token]"),
        ("Password: hunter2 (changed in May)", "Password: [redacted:password] (changed in May)"),
        ("**Password:** hunter2", "**Password:** [redacted:password]"),
        ("- **password**: `hunter2`", "- **password**: `[redacted:password]`"),
        ('password = "correct-horse"', 'password = "[redacted:password]"'),
        ("db.password='s3cr3t!'", "db.password='[redacted:password]'"),
        ('{"clientSecret": "abcd-efgh"}', '{"clientSecret": "[redacted:password]"}'),
        ('{"api_key": "0123456789abcdef"}', '{"api_key": "[redacted:token]"}'),
        (json.dumps(json.dumps({"apiKey": "0123456789abcdef"})), '"{\\"apiKey\\": \\"[redacted:token]\\"}"'),
        ("x-api-key: 0123456789abcdef", "x-api-key: [redacted:token]"),
        ("ACCESS_TOKEN=0a1b2c3d4e5f", "ACCESS_TOKEN=[redacted:token]"),
        (
            "https://x.test/?q=1&token=0a1b2c3d4e5f&page=2",
            "https://x.test/?q=1&token=[redacted:token]&page=2",
        ),
        ("run --token 0a1b2c3d4e5f --verbose", "run --token [redacted:token] --verbose"),
        ("mysql --password=hunter22 db", "mysql --password=[redacted:password] db"),
        ("mysql --password hunter22 db", "mysql --password [redacted:password] db"),
        ("mysql -u root -phunter db", "mysql -u root -p[redacted:password] db"),
        (
            "/usr/bin/mysqldump -h db1 '-phunter' shop",
            "/usr/bin/mysqldump -h db1 '-p[redacted:password]' shop",
        ),
        ("mariadb-admin -p'two words' ping", "mariadb-admin -p'[redacted:password]' ping"),
        (
            'sh: mysql -proot | tee -pfile; mysql -p"a;b"',
            'sh: mysql -p[redacted:password] | tee -pfile; mysql -p"[redacted:password]"',
        ),
        (
            "machine git.test login ada password hunter",
            "machine git.test login ada password [redacted:password]",
        ),
        (
            "machine git.test\n  login ada\n\tpassword hunter\nmacdef",
            "machine git.test\n  login ada\n\tpassword [redacted:password]\nmacdef",
        ),
        (
            'machine localhost password "a b" login ada',
            'machine localhost password "[redacted:password]" login ada',
        ),
        (
            "machine h login a account b password x1",
            "machine h login a account b password [redacted:password]",
        ),
        ("default login anonymous password me@here", "default login anonymous password [redacted:password]"),
        (
            json.dumps("machine a.b login c\npassword dog7"),
            '"machine a.b login c\\npassword [redacted:password]"',
        ),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY",
            "aws_secret_access_key = [redacted:token]",
        ),
        ('token: str = "0a1b2c3d4e5f"', 'token: str = "[redacted:token]"'),
        ("AccountKey=0a1b2c3d4e5f==;Suffix=x", "AccountKey=[redacted:token];Suffix=x"),
        ("TOKEN_GITHUB=0a1b2c3d4e5f60718293", "TOKEN_GITHUB=[redacted:token]"),
        ("DB_PASSWORD=ab=cd=12", "DB_PASSWORD=[redacted:password]"),
        ("API_KEY_2: 0a1b2c3d4e5f", "API_KEY_2: [redacted:token]"),
        ("secret: |\n", "secret: |\n"),
        ('password="$Tr0ng!pw"', 'password="[redacted:password]"'),
        ("password='(abc)123'", "password='[redacted:password]'"),
        ("password: [brackets]1", "password: [redacted:password]"),
        ("PASSWORD=%7Bx1%7D", "PASSWORD=[redacted:password]"),
        ('password="half of it', 'password="half of it'),
        ('password="cutoff', 'password="[redacted:password]'),
        ("token=sk-ant-" + _A40, "token=[redacted:provider-key]"),
        ('password="ab-' + _JWT + '-cd"', 'password="[redacted:jwt]"'),
    ],
)
def test_values_of_secret_names_go_and_all_else_stays(text: str, clean: str) -> None:
    assert redact(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "",
        "token budget: 12000",
        "max_tokens: 128000",
        "tokens: 12000",
        "token: 12000000000",
        "token_count=5",
        "password policy",
        "The password policy: at least 12 characters.",
        "password: |\n  a sentence about it\n",
        "password: |\nhunter2 at the margin\n",
        "password: required by the API",
        "Password: see the vault of the team",
        "password: string",
        "password: null",
        "secret: true",
        "password_min_length = 12",
        "token: the thing that the server gives back",
        "token: bearer",
        "api_key: str",
        "api_key: Optional[str]",
        "def login(password: str, token: str) -> None:",
        "password = get_password()",
        "password = os.environ['DB_PASSWORD']",
        "password = request.form.get('password')",
        "password = user_password",
        "connect(password=user_password)",
        "token = self.token",
        "token = current_token",
        "const token = await fetchToken();",
        "API_KEY=${OPENAI_API_KEY}",
        "api_key: $OPENAI_API_KEY",
        "password: {{ db_password }}",
        "api_key: <your key>",
        'api_key: "<your-key-1234>"',
        'password: "{password}"',
        "password=$db_password",
        "password=$(cat secret1)",
        "password: ********",
        "password: %DB_PASSWORD%",
        'password: "Enter your password"',
        '"password": "password"',
        '<input type="password" name="password">',
        "token: docs/tokens-2024.md",
        "secret: /run/secrets/db_1",
        "token_url: https://auth.example.com/oauth2/token",
        "password_reset_url=https://example.com/reset2",
        "if token == expected_token:",
        "set the token, then the password; both expire",
        "Authorization: required for every call",
        "Authorization: header missing",
        "bearer authentication",
        "Basic internationalization of the interface",
        "sk-learn-pipelines-and-feature-selection",
        "sk-learn-2024-migration-notes",
        "ask-me-anything-about-the-build-1",
        "hf_transfer is a package, npm_config_cache a variable",
        "the header is eyJ and the rest is base64",
        "http://localhost:3000/@scope/pkg",
        "https://example.com:8443?mail=a@b.test",
        "mailto:someone@example.com",
        "git@github.com:owner/repo.git",
        "postgres://app:${DB_PASSWORD}@db/x",
        "Look for a line with -----BEGIN PRIVATE KEY----- in the log",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0B\n-----END CERTIFICATE-----",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "id: 550e8400-e29b-41d4-a716-446655440000",
        "keyboard: qwerty12345, monkey=banana12345",
        "[redacted:password] and api_key=[redacted:token]",
        "mysql -p prompts for the password",
        "mysql -u root -p$MYSQL_PWD -P 3306",
        "mysql -p${PASS} and mysql -p<password>",
        "docker run --name mysql -p3306:3306 -p127.0.0.1:33060:33060 mysql:8",
        "mysql < dump.sql; ssh -p2222 host",
        "pip install mysqlclient -python3",
        "the machine needs login and password rotation",
        "by default login and password for the demo are shown",
        "a machine with a login: password reset",
        "machine git.test login ada password $TOKEN",
        "machine git.test login ada",
    ],
)
def test_prose_code_and_placeholders_stay(text: str) -> None:
    assert redact(text) == text


_FRAGMENTS = st.one_of(
    st.sampled_from(
        [
            *("password", "token", "api_key", "secret", "Authorization", "Bearer ", "Basic ", "--", "-----"),
            *(
                "=",
                ":",
                ": ",
                " = ",
                '"',
                "'",
                "`",
                "\\",
                '\\"',
                "\n",
                " ",
                "/",
                "@",
                "://",
                ".",
                "*",
                "[",
                "(",
                "{",
            ),
            *(
                "hunter2",
                "a1b2c3d4e5f6",
                "letmein",
                "[redacted:",
                "redacted",
                "token]",
                "str",
                "&",
                ",",
                "é",
                "\ud800",
            ),
            *("https", "postgres://u:p@h", _JWT, _BEGIN, _END, _BODY, "eyJabcdefgh.abcdefgh", *PROVIDER_KEYS),
        ]
    ),
    st.text(max_size=4),
)


@given(st.lists(_FRAGMENTS, max_size=14).map("".join))
@example("passwordpassword;eyJabcdefgh.abcdefgh=passwordhunter2")
@example(f"password{_JWT}=Bearer password")
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(st.lists(_FRAGMENTS, max_size=14).map("".join))
def test_spans_are_in_order_inside_the_text_and_never_overlap(text: str) -> None:
    position = 0
    for secret in find_secrets(text):
        assert position <= secret.start < secret.end <= len(text)
        position = secret.end


@given(st.lists(_FRAGMENTS, max_size=6).map("".join), st.sampled_from(PROVIDER_KEYS), st.text(max_size=6))
def test_a_provider_key_behind_a_boundary_is_always_found(before: str, key: str, after: str) -> None:
    start = len(before) + 1
    found = find_secrets(f"{before} {key} {after}")
    assert any(secret.start <= start and start + len(key) <= secret.end for secret in found)


WORST = [
    "token: |\n  ",
    "mysql ",
    "mysql -p",
    " -px mysql",
    "machine a login b ",
    "machine a.b\\n",
    "default login ",
    "eyJ",
    "eyJaaaaaaaaaa",
    "eyJaaaaaaaaaa.",
    "a",
    "a.",
    "a1",
    "-",
    "-----BEGIN ",
    _BEGIN,
    _BEGIN + "\n" + _BODY + "\n",
    "-----BEGIN A A A A ",
    "password=",
    "password=$",
    "password:$",
    "password: a ",
    "password: hunter ",
    "password: hunter,",
    'password="',
    "password='\\",
    'password=\\"',
    "token=\"token='token=`",
    'token="a b',
    "token=a.",
    "token=a(",
    "token: str ",
    "a://a:",
    "a://a:a@",
    "a://:@",
    "Authorization: a ",
    "Bearer ",
    "Basic QUFBQUFBQUFBQUFB",
    "sk-",
    "sk-a-",
    "ghp_",
    "hooks.slack.com/services/aaaaaa/",
    "--token ",
    "--token -",
    "\\",
    '"',
    " ",
    "\n",
]


_LONG = 50_000 if TEST_PROFILE == "campaign" else 20_000


@pytest.mark.parametrize("piece", WORST)
def test_no_repetition_makes_it_slow(piece: str) -> None:
    # Were any of these more than linear, the run would take minutes.
    redact(piece * (_LONG // len(piece)))


@pytest.mark.parametrize("text", ["密码是:;;;;;", "Notiz: 密码 ******", "пароль: ......"])
def test_a_word_for_a_secret_before_signs_only_is_no_trouble(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("end", ["m", "K", "H", "J", "h", "A"])
@pytest.mark.parametrize("start", ["\\x1b[", "\\u001b[", "\\033[", "\x1b["])
def test_a_password_after_any_escape_of_a_terminal_is_redacted(start: str, end: str) -> None:
    text = redact(f"{start}2{end}PASSWORD=q7Zx2Lk9Vb4T")
    assert text.startswith(f"{start}2{end}")
    assert text.endswith("[redacted:password]")
    assert "q7Zx" not in text
