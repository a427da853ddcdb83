"""The redactor on notes as people write them: sentences, lists, tables, commands, several languages."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.harmless_lines import harmless_lines
from helpers.profiles import TEST_PROFILE
from reverie.text.redact import find_secrets, redact

_LABELLED = Path(__file__).parents[2] / "labelled" / "harmless_lines.txt"
# Made up for the tests, and taken apart so that scanners of repositories do not take them for real ones.
_RANDOM = "q7Zx2Lk9" + "Vb4Tn8Wc" + "3Rm6Yp1H"
_HEX = "3f9a0c17" * 4
_PHRASE = "otter maple copper violet tunnel harbor pepper walnut silver rocket candle meadow"


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        # names of two words, and names in one word
        (f"API key: {_RANDOM}", _RANDOM),
        (f"the access key = {_RANDOM}", _RANDOM),
        (f"Groq key: {_RANDOM}", _RANDOM),
        ("db password: correcthorse", "correcthorse"),
        ("db_pass=hunter2", "hunter2"),
        ("DBPASSWORD=letmeinnow", "letmeinnow"),
        ("PGPASSWORD=letmeinnow psql", "letmeinnow"),
        (f"OPENAI_KEY={_RANDOM}", _RANDOM),
        (f"STRIPE_SIGNING_KEY={_HEX}", _HEX),
        ("pass: hunter2", "hunter2"),
        ("user: ada, pw: hunter2", "hunter2"),
        ('"auth": "YWRhOmh1bnRlcjI="', "YWRhOmh1bnRlcjI="),
        # sentences
        ("The staging password is hunter2.", "hunter2"),
        ("The password for the staging database is now `Tr0ub4dor&3`, ask Ada.", "Tr0ub4dor&3"),
        ("Log in as ada with password hunter2 and press Enter.", "hunter2"),
        ("hunter2 is the staging password", "hunter2"),
        ("Password changed to Winter2026!", "Winter2026"),
        ("The passphrase is maple-otter-copper-violet", "maple-otter-copper-violet"),
        ("credentials: admin / hunter2", "hunter2"),
        (f"We put {_RANDOM} into the token field.", _RANDOM),
        (f"Datadog wants the API key {_HEX} in the header", _HEX),
        ('smtp password is "quartzmarble"', "quartzmarble"),
        ("db creds: app/hunter22", "hunter22"),
        ("smtp: user ada, pass hunter22", "hunter22"),
        (f"Use {_HEX} as bearer token for the API", _HEX),
        (f"the encryption key ({_HEX}) must not change", _HEX),
        (f"I saved the token ({_RANDOM}) in the keychain", _RANDOM),
        # lists, tables, the next line
        ("- **Password:** hunter2", "hunter2"),
        ("| db password | hunter2 |", "hunter2"),
        ("| host | password |\n|---|---|\n| db1 | hunter2 |\n| db2 | maple77! |", "maple77!"),
        ("password:\n  hunter2\n", "hunter2"),
        ("Password:\n\n```\nhunter2\n```\n", "hunter2"),
        ("<password>hunter2</password>", "hunter2"),
        (f'<add key="ApiKey" value="{_RANDOM}"/>', _RANDOM),
        # commands and files
        ("export PGPASSWORD='correct horse battery'", "correct horse battery"),
        (f"TWILIO_AUTH={_HEX}", _HEX),
        (f"KEY1={_RANDOM}{_RANDOM[:6]}", _RANDOM),
        ("curl -u ada:hunter2 https://x.test", "hunter2"),
        ("docker login -u ada -p hunter2 registry.test", "hunter2"),
        ("sshpass -p hunter2 ssh host", "hunter2"),
        ("sshpass -p'letmein' ssh host", "letmein"),
        ("redis-cli -h cache -a hunter2 ping", "hunter2"),
        ("echo hunter2 | docker login --password-stdin", "hunter2"),
        ("db1.test:5432:app:ada:hunter2", "hunter2"),
        ("Server=db;User Id=sa;Password=hunter2;", "hunter2"),
        ("jdbc:oracle:thin:ada/hunter2@db:1521/x", "hunter2"),
        (f"git clone https://{_RANDOM}@git.test/x.git", _RANDOM),
        # the forms that a second list of 200 showed
        ("DB pass -> hunter22", "hunter22"),
        ("Das Passwort lautet Jh2-L4Zg-OuTa7.", "Jh2-L4Zg-OuTa7"),
        ("- Zugangsdaten Router: admin / Winter2026#", "Winter2026#"),
        ("2FA seed: 33RPDCULBA6Z4IDCEC67PNXFZLN5732R", "33RPDCULBA6Z4IDCEC67PNXFZLN5732R"),
        (f"shared secret {_HEX}", _HEX),
        (f"X-ClickHouse-Key: {_RANDOM[:14]}", _RANDOM[:14]),
        (f'mnemonic: "{_PHRASE}"', _PHRASE),
        (f"Seed phrase: {_PHRASE}", _PHRASE),
        ("htpasswd -b -c users ada hunter22", "hunter22"),
        ("xfreerdp /u:ada /p:hunter22 /v:box", "hunter22"),
        ("snmpwalk -v3 -A hunter22 box", "hunter22"),
        ("net user ada hunter22 /add", "hunter22"),
        ("requirepass hunter22", "hunter22"),
        (f"-----BEGIN OpenVPN Static key V1-----\n{_HEX}\n-----END OpenVPN Static key V1-----", _HEX),
        (f"Public-Lines: 1\nAAAA\nPrivate-Lines: 1\n{_RANDOM}{_RANDOM}\nPrivate-MAC: 00", _RANDOM),
        # names that only look like a sentence or a fingerprint
        ("TEST_PASS=sommerzeit", "sommerzeit"),
        ('test_pw = "Sommerzeit"', "Sommerzeit"),
        (f"GPG_KEY={_RANDOM * 200}", _RANDOM),
        (f"[the token is {_RANDOM[:16]}](https://git.test/x)", _RANDOM[:16]),
        (f"Write the mnemonic down. Mnemonic: {_PHRASE}", _PHRASE),
        # other languages
        ("Das Passwort für Staging lautet hunter2.", "hunter2"),
        ("Kennwort (Test): Herbst2026", "Herbst2026"),
        ("Le mot de passe est hunter2.", "hunter2"),
        ("La contraseña de la base es hunter2", "hunter2"),
        ("A senha do banco é hunter2", "hunter2"),
        ("La password è hunter2", "hunter2"),
        ("Пароль от базы: hunter2", "hunter2"),
        ("Пароль это hunter2", "hunter2"),
        ("数据库密码是hunter2", "hunter2"),
        ("密码:hunter2", "hunter2"),
        ("パスワードはhunter2です", "hunter2"),
        ("비밀번호는 hunter2", "hunter2"),
        (f"API-Schlüssel: {_RANDOM}", _RANDOM),
        (f"Ключ API: {_RANDOM}", _RANDOM),
        # what cannot be seen, and what is written in another way
        ("gsk_" + _RANDOM[:12] + "\u200b" + _RANDOM[12:], _RANDOM[12:]),
        ("pass\u00adword: hunter2", "hunter2"),
        ("sk\\_live\\_" + _RANDOM, _RANDOM),
        ("ｐａｓｓｗｏｒｄ＝hunter2", "hunter2"),
    ],
)
def test_secrets_of_notes_go(text: str, gone: str) -> None:
    assert gone in text
    clean = redact(text)
    assert gone not in clean
    assert "[redacted:" in clean
    assert redact(clean) == clean


@pytest.mark.parametrize(
    "text",
    [
        "aws ecr get-login-password --region us-east-1",
        "  pattern: (API_KEY|SECRET|TOKEN)\\s*=\\s*[\"']",
        "first login. Requires `/scim/v2/Users` and `/scim/v2/Groups` endpoints",
        "Use Docker secrets in Swarm/K8s",
        "ViewState[AntiXsrfTokenKey] = Page.ViewStateUserKey;",
        "secret = ecdh.Derive(Key.Import(partnerPublicKey, CngKeyBlobFormat.EccPublicBlob));",
        "sign in with ID token ([e2337ba](https://git.test/a/commit/e2337bad535598d9f751505de52a18c59f1505c3))",
        "Our GPG key: 13BB3A34C9E380258CE43D595CB150B31F6426BC",
        "- If tests pass: Continue",
        "| GPG key | 13BB3A34C9E380258CE43D595CB150B31F6426BC |",
        "<gpgKey>13BB3A34C9E380258CE43D595CB150B31F6426BC</gpgKey>",
    ],
)
def test_text_of_real_documentation_stays(text: str) -> None:
    assert redact(text) == text


def test_harmless_lines_that_speak_of_secrets_stay() -> None:
    lines = _LABELLED.read_text("utf-8").splitlines()
    assert len(lines) >= 100
    assert [line for line in lines if redact(line) != line] == []
    whole = "\n".join(lines)
    assert redact(whole) == whole, "nor do they make a secret of each other"


def test_of_5000_harmless_lines_hardly_any_is_altered() -> None:
    count = 5_000 if TEST_PROFILE == "campaign" else 2_000
    altered = [line for line in harmless_lines(count, seed=11) if redact(line) != line]
    assert len(altered) * 1000 <= 5 * count, altered


def test_spans_are_those_of_the_text_as_it_is_written() -> None:
    text = "x\u200by password: hun\u200bter2 z"
    (secret,) = find_secrets(text)
    assert text[secret.start : secret.end] == "hun\u200bter2"


WORST = [
    "password ",
    "password is ",
    "the password is the ",
    "key key_",
    "api_",
    "a_key ",
    "пароль ",
    "密码",
    "密码是",
    "| password ",
    "| password | a |\n",
    "|",
    "<password>",
    "<a b>c",
    "curl -u a:",
    "-u a",
    "login -p ",
    "sshpass ",
    "htpasswd -b a ",
    "config set a.",
    "echo a|",
    "cookie: sid=",
    "cookie:sid",
    "re_",
    "re_a1",
    "tskey-",
    "live_test_",
    "AKIA",
    "a.b.c:",
    "a1b2c3d4-",
    "0/1",
    ":5432:a:",
    "a:5432:b:c\n",
    "https://a",
    "https://a@",
    "jdbc:oracle:a:b/",
    "application password ",
    "credentials ",
    "creds a/",
    "password\n",
    "password:\n\n",
    "hunter2 is the ",
    "seed phrase is a ",
    "aws key " + "A" * 39 + " ",
    "twilio token " + "a1" * 15 + " ",
    "\u200b",
    "pass\u200b",
    "\\_",
    "＝",
    "password=" + "a1" * 500,
    "a" * 3000 + " password ",
    "-u a -p",
    " -b a",
    "a:a@",
    "pw-a1-",
    "a1=pw ",
    "cGFzc3dvcmQ6IGFi",
    "70617373776f7264",
    "name='a' >",
]


_LONG = 60_000 if TEST_PROFILE == "campaign" else 20_000


@pytest.mark.parametrize("piece", WORST)
def test_no_repetition_makes_it_slow(piece: str) -> None:
    # Were any of these more than linear, the run would take minutes.
    redact(piece * (_LONG // len(piece)))


@pytest.mark.parametrize(
    "piece",
    ["password is Zx9Qm2kVbTn8Wc, ", "wifi-pw-Zx9Qm2kVbTn8Wc.md ", "cGFzc3dvcmQ6IFp4OVFtMmtWYlRuOFdj "],
)
def test_four_times_the_text_takes_four_times_the_work(piece: str) -> None:
    once, often = (_calls(redact, piece * count) for count in (100, 400))
    assert often < 4.4 * once


def _calls(function: Callable[[str], object], text: str) -> int:
    """How many functions are called for one text."""
    function(text)  # patterns are compiled once
    count = 0

    def seen(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        function(text)
    finally:
        sys.setprofile(before)
    return count


def test_one_long_line_of_everything_is_no_slower_than_its_length() -> None:
    rng = random.Random(5)
    text = "".join(rng.choice(WORST) for _ in range(3_000))[:80_000]
    redact(text)
    redact(text.replace("\n", " "))
