"""Secrets that no word for a secret announces: logins as `name / password`, PINs, recovery codes, licences,
and what something is signed with.

Each rule begins at a word of its own, in the languages that notes are written in, and then looks at a bounded
piece of the same line. Invariant: time is linear in the text. Pure; any thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reverie.text.secret_values import (
    SecretSpan,
    holds_any,
    is_file_name,
    is_hex,
    is_mixed,
    is_password_like,
    is_placeholder,
    is_random,
)

_ACCOUNT = (
    r"(?<![\w/.@-])(?:accounts?|users?|logins?|basic auth|credentials?|creds|konto|benutzer|zugang(?:sdaten)?"
    r"|comptes?|utilisateur|identifiants?|cuentas?|usuarios?|credenciales|contas?|credenciais|credenziali|utente|логин"
    r"|уч[её]тн\w{0,12}|пользовател\w{0,3})(?![\w.])|账号|帐号|账户|帳號|帳戶|アカウント|ログイン|계정"
)
_LOGIN = re.compile(
    rf"(?:{_ACCOUNT})"
    r"""(?:[^\n|/:=(]{0,48}[:=(]|(?=[ ]))[ `*"']{0,4}"""
    r"""(?P<name>[\w.+-]{2,40}(?P<mail>@[\w-]{1,40}(?:\.[\w-]{1,40}){1,4})?)[`*"']{0,3}"""
    r"""(?:[ ]/[ ]|[/:][ ]?|(?(mail),[ ]|(?!)))[`*"']{0,3}(?P<value>[^\s`"',;|()/<>]{5,80})"""
)
_ACCOUNT_HINTS = (
    "account", "user", "login", "basic auth", "cred", "konto", "benutzer", "zugang", "compte", "utilisateur",
    "identifiant", "cuenta", "usuario", "conta", "utente", "логин", "уч", "пользовател", "账", "帐", "帳",
    "アカウント", "ログイン", "계정",
)  # fmt: skip
_CLOSING = "*)]}.,;:"
_SPECIAL = re.compile(r"[!@#$%^&*?~+=§€£]")

_PIN = re.compile(
    r"(?<![a-z])(?:pin(?:[ -]?(?:code|number|nummer))?(?![a-z])"
    r"|(?:unlock|door|alarm|entry|gate|safe|voicemail|access) code|(?:zugangs|tür|entsperr)code"
    r"|code (?:d'accès|pin|de déverrouillage)|código (?:de acceso|de acesso|pin)"
    r"|codice (?:di accesso|pin|di sblocco)|пин(?:-код)?(?!\w)|код доступа|解锁码|暗証番号|비밀 코드)"
    r"""[^\n.:=\d|]{0,40}(?:[:=][ ]?|(?:is|ist|lautet|est|es|é|è|is now|—|-)[ ]|[ ])[`"'*]{0,3}"""
    r"(?P<value>\d{4,10})(?![\w.,%-]?\w)"
)
_PIN_HINTS = ("pin", "code", "codice", "código", "пин", "код", "解锁码", "暗証番号", "코드")
_YEAR = re.compile(r"(?:19|20)\d\d")

_CODES = re.compile(
    r"(?:(?:recovery|backup|rescue|emergency|scratch|2fa|wiederherstellungs|notfall|reserve)[ -]?codes?"
    r"|codes? de (?:secours|récupération)|códigos? de (?:recuperación|respaldo|recuperação|backup)"
    r"|codic[ei] di (?:recupero|backup)|резервн\w{1,3} код\w{0,2}"
    r"|恢复代码|恢复码|備用碼|リカバリーコード|バックアップコード|복구 코드)"
    r"[^\n:=]{0,48}[:=]"
)
_CODE = re.compile(r"""[\s,;`"'*-]{1,12}([A-Za-z0-9]{4,12}(?:-[A-Za-z0-9]{4,12}){1,5})(?![\w-])""")
_MOST_CODES = 20

_LICENCE = re.compile(
    r"(?:licen[cs]e|product|serial|activation|registration|lizenz|seriennummer|licencia|licença|licenza|лицензи|许可证|"
    r"序列号|ライセンス|シリアル|라이선스)[^\n]{0,60}?(?<![\w-])(?P<value>[a-z0-9]{4,8}(?:-[a-z0-9]{4,8}){2,7})(?![\w-])"
)

_SIGNED = re.compile(
    r"(?:sign(?:ed|s|ing)?|encrypt(?:ed|s)?|authenticat\w{1,5}|hmac|signiert|verschlüsselt|signé\w?|chiffré\w?|firmad[oa]"
    r"|cifrad[oa]|assinad[oa]|firmat[oa]|подписан\w?)[ ](?:with|using|mit|avec|con|com|ключом)[ ]"
    r"""(?:[a-zа-я]{1,10}[ ]){0,3}[`"']?(?P<value>[a-z0-9+/=_-]{24,200})(?![\w-])"""
)


def login_secrets(text: str, small: str) -> Iterator[SecretSpan]:
    """Spans of these. `small`: the text in small letters, of the same length."""
    if "/" in text or ":" in text or "," in text:
        yield from _logins(text, small)
    if holds_any(small, _PIN_HINTS):
        for match in _PIN.finditer(small):
            value = match["value"]
            if not (len(value) == 4 and _YEAR.match(value)):
                yield *match.span("value"), "password"
    for opening in _CODES.finditer(small) if "код" in small or "cod" in small or not small.isascii() else ():
        yield from _codes(text, opening.end())
    for match in _LICENCE.finditer(small):
        start, end = match.span("value")
        value = text[start:end]
        if value.isupper() and any(map(is_mixed, value.split("-"))) and not is_placeholder(value):
            yield start, end, "token"
    for match in _SIGNED.finditer(small):
        start, end = match.span("value")
        value = text[start:end]
        # In capitals it is the fingerprint of a key.
        if is_random(value) or (is_hex(value) and is_mixed(value) and not value.isupper()):
            yield start, end, "token"


def _logins(text: str, small: str) -> Iterator[SecretSpan]:
    if not holds_any(small, _ACCOUNT_HINTS):
        return
    for match in _LOGIN.finditer(small):
        start = match.start("value")
        value = text[start : match.end("value")].rstrip(_CLOSING)
        if not is_password_like(value) or not is_mixed(value) or is_file_name(value):
            continue
        is_strong = _SPECIAL.search(value[1:]) is not None
        if is_strong or match["mail"] or sum(map(str.isdigit, value)) >= 3:
            yield start, start + len(value), "password"


def _codes(text: str, position: int) -> Iterator[SecretSpan]:
    """The codes in a row, each on a line of its own or not."""
    for _ in range(_MOST_CODES):
        code = _CODE.match(text, position)
        if code is None:
            return
        position = code.end()
        if is_mixed(code[1]):
            yield *code.span(1), "password"
