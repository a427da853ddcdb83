"""Detection of values that look random, wherever they are in a text.

The rules of `text.redact` need a word, a name or a format that indicates a secret. People also write
passwords without any of these: "type 8OkDYE93mHt632nN when it asks". A value that only this module finds is
replaced in text that is sent to a model, because it can be restored in the model's answer. It is not marked
as a secret in a displayed memory.

There are two levels. `mixed_values` finds, anywhere, values that mix letters, digits and signs as no name
does, or whose letters and digits alternate at random. `values_of_access` finds, near a word of access (log
in, unlock, cookie, licence, in many languages), also values that are names elsewhere, such as words joined
with a number, UUIDs, long numbers, PINs, groups of letters, and several words in a row.

Pure; any thread. Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reverie.text import secret_values as its
from reverie.text.patterns import pattern_of
from reverie.text.secret_table import secret_words
from reverie.text.secret_values import SecretSpan

# An escape is no part of the value behind it.
_TOKEN = pattern_of(
    r"\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|.)|%[0-9A-F]{2}|((?:[A-Za-z0-9!#$&*+./:=?@^_~-]"
    r"|%(?![0-9A-F]{2})){7,400})"
)
_LEAD = pattern_of(r"[A-Za-z_-][A-Za-z0-9_.-]{0,60}(?:={1,2}|:)(?!/{2})")
_EMPHASIS = "*_~"
_TAIL = ".:,;=/-"
_SIGN_INSIDE = pattern_of(r"[!$%^&*+?#@~=]")
# Addresses, versions, escapes, variables and operators: signs that are no part of a password.
_OF_TEXT = pattern_of(
    r"[@#&?%=+$.]|--?[A-Za-z]|[^@]{1,64}@[\w-]+\.[\w.-]{2,}|[A-Za-z]+\*+\Z|[\w./-]+@[0-9a-f]{7,40}\Z"
    r"|.*(?:A-Z|a-z|0-9|://|==|>=|<=|!=|&&.|\+\+|\*\*|::|->|=>|\.\.|//|%[0-9A-Fa-f]{2}|&[a-z]+;"
    r"|[?&][\w.\[\]-]+=|\$[A-Za-z_{(]{3}|\\)"
)
# Numbers of issues and versions, anchors, sums: no part of a password unless a word of access is near.
_OF_NAMES = pattern_of(
    r"[A-Za-z./-]+[#@]v?[\d.]+\Z|[\w./-]+#[A-Za-z][\w.-]*\Z|[\w.-]+[+~@^][\w.-]+\Z"
    r"|[A-Za-z][a-z]*-?v?[\d.]+[+!?~%&]+\Z|.*[=&]\Z|.*/.*/"
)
# Digits in the middle of letters, and words joined with numbers, as people write passwords.
_CHOSEN = pattern_of(
    r"(?=.*[A-Z])(?=(?:\D*\d){2}).*[A-Za-z]\d[A-Za-z]{2,}.*[!@$%&*?#+]"
    r"|[A-Za-z]{3,}[@_.!#$%&*+-]\d{3,}[A-Z][A-Za-z]{2,}\Z"
    r"|(?=.*[A-Z])[A-Za-z]{4,}\d{3,}[!$*#%&]{1,3}\Z|[A-Z][a-z]{2,}(?:19|20)\d\d[!?$*#%&]{1,3}\Z"
)
_WORD_AND_NUMBER = pattern_of(r"[A-Z]?[a-z]+(?:[A-Z][a-z]+)*\d{1,4}\Z|[A-Z]+\d{1,5}\Z|[a-z]{1,3}\d+\Z")
_LINES_NEAR = 5
_PUBLIC = pattern_of(
    r"(?i)integrity|checksum|fingerprint|\bsha\d{1,3}\b|sha\d{1,3}-|\bmd5\b|\betag\b|digest"
    r"|public key|publishable"
    r"|(?:next|page|continuation|sync)[ _]?token|\bid\b|nonce|cursor"
)
_ACCESS = pattern_of(
    r"connect|identified|hmac|cipher|decrypt|\baes\b|sasl|chap\b|_pw\b|plaintext|\bdsn\b|\bsig=|expect\b"
    r"|pas+w|passcode|pass ?phrase|log(?:ged)? ?[io]n|sign(?:ed)? ?in|unlock|opens? with|\bsudo\b"
    r"|wi-?fi|wlan|\bssid|\bpsk\b"
    r"|\bkeys?\b|\bcodes?\b|\bpins?\b|\bpuk\b|secret|token|cred|\bauth|cookie|session|licen[cs]"
    r"|serial|activation|recovery"
    r"|backup code|webhook|\bhook\b|\bmaster\b|\bluks\b|vault|\bseed\b|encrypt|access|\badmin\b"
    r"|\broot\b|\buser|account"
    r"|\benter\b|\btype\b|\bjust use\b|\bpw\b|\bpwd\b|\bpriv\b|community|\balarm|\bdisarm|\bdoor\b"
    r"|\bsafe\b|private"
    r"|kennw|kennung|zugang|anmeld|einlog|melde|sperr|schlüssel|freischalt|tür|tresor|wörter"
    r"|wiederherst|gilt|geheim"
    r"|mot de passe|mdp|connect|s'ouvre|clé|clef|phrase secr|sésame|identifiant|accès|tape"
    r"|contraseñ|clave|entra|acced|escribir|inicia|acceso|parola|chiave|accedi|senha|chave|acesso"
    r"|wachtwoord|sleutel|toegang"
    r"|has[lł]|klucz|kod|zalog|dostęp|şifre|parol|anahtar|giriş|kurtarma|парол|ключ|код|вход|доступ"
    r"|зайд|токен|войти|мереж"
    r"|lösen|nyckel|adgang|nøgle|kode|tilgang|salasana|avain|tunnus|heslo|klíč|přihl|přístup|jelsz"
    r"|kulcs|kód|belép|cheie|acces"
    r"|パスワ|暗証|キー|ログイン|鍵|密|口令|令牌|账号|帳號|登录|登錄|비번|비밀|암호|키|로그인|토큰|κωδικ|κλειδ|συνθηματικ|كلمة|رمز|مفتاح|דבר"
    r"|סיסמ|מפתח|पासवर्ड|कुंजी|टोकन|mật|khóa|mk |sandi|kunci|รหัส|กุญแจ"
)
# A key printed in groups, some of which mix letters and digits.
_GROUPS = pattern_of(
    r"(?<![\w./-])(?:(?=[A-Z0-9-]{0,60}(?:\d[A-Z]|[A-Z]\d"
    r"|(?:[A-Z]{4,8}-){3}))[A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){1,12}"
    r"|(?=[a-z0-9-]{0,60}(?:\d[a-z]|[a-z]\d))[a-z0-9]{5}(?:-[a-z0-9]{5}){1,5}"
    r"|\d{4,6}(?:[ -]\d{4,6}){2,8}|\d{4} \d{4}"
    r"|[a-z0-9]{4}(?: [a-z0-9]{4}){3,11})(?![\w/-])"
)
_LONG_NUMBER = pattern_of(r"(?<![\w./:+-])\d{8,20}(?![\w/:-]|\.\d)")
_WORDS = pattern_of(
    r"(?<![\w./:@-])[^\W\d_A-Z]{3,12}(?P<sign>[-.])[^\W\d_A-Z]{3,12}(?:(?P=sign)[^\W\d_A-Z]{3,12}){2"
    r",14}(?![\w./(-]"
    r")"
)
_WORDS_AND_NUMBER = pattern_of(
    r"(?=.*[A-Z.]|.*\d{4})(?:[A-Za-z]{3,12}[._-]){2,4}\d{3,6}\Z"
    r"|[A-Za-z]{3,12}[._-]\d{3,6}[._-][A-Za-z]{3,12}\Z"
    r"|[a-z]{3,}[A-Z][a-z]{2,}\d{2,5}\Z|[a-z]{4,}\d{2,5}[a-z]{4,}\Z|(?:[A-Z][a-z]{2,}){2,}\d{3,5}\Z"
    r"|(?=.*[A-Z])[A-Za-z0-9]{4,}_\d{3,5}\Z|[A-Z][a-z]{3,}\d{3,5}_{1,2}\Z"
)
_MACHINE = pattern_of(
    r"[0-9a-fA-F]{24,128}(?![\w-])|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\w-])"
)
_NAMES_A_KEY = pattern_of(
    r"key|token|secret|pas+w|auth|hook|private|invite|cookie|cl[ée]|schlüssel|klucz|half|ключ|密|キー|키|مفتاح"
)
_NAMES_NO_KEY = pattern_of(
    r"(?:\bid|_id|sha\d*|md5|commit|hash|digest|ref|rev|checksum|integrity|@"
    r"|fingerprint)[\"'`*]{0,2}[ ]?[:=]?[ ]?[\"'`]?\Z"
)
_PHRASE_HINT = pattern_of(
    r"phrase|\bwords?\b|to open|abrir|\bzip\b|\bboot|wallet|recupera|\bthen\b|unlocks?\b"
    r"|opens? with|\bmaster\b|\bseed|mnemonic|wörter|sperr|secrète"
    r"|escribir|palabras|frase|parole|шифр|фраз|слов"
)
_PIN_HINT = pattern_of(
    r"(?<!exit )(?<!status )(?<!error )(?<!return )\b(?:pin|puk|passcode|combination|keypad|safe"
    r"|alarm|bike lock|intercom|door|unlock)"
    r"|(?<!exit )(?<!status )(?<!error )\bcode|kod\b|kodu|tresor|código|codice|combinazione"
    r"|digicode|coffre|pincode|abre con|コード|код|密码|비밀번호"
)
_PIN = pattern_of(r"(?<![\w./:+#-])\d{4,8}(?![\w/:-]|\.\d)")
_CRYPT = pattern_of(r"\$(?:[1-9]|2[abxy]|y|argon2i?d?)\$[./A-Za-z0-9$=,]{8,200}")
_DSN = pattern_of(r"(?<=://)[0-9a-f]{32}(?=@)")
_SPACED_WORDS = pattern_of(r"(?<![\w./-])[^\W\d_A-Z]{3,10}(?: [^\W\d_A-Z]{3,10}){3,23}(?![\w/-])")
_REACH = 60


def mixed_values(text: str) -> Iterator[SecretSpan]:
    """Yield the spans (start, end, kind) of values that look random, whatever text is around them."""
    return _mixed_values(text, 0, len(text), is_near=False)


def _mixed_values(text: str, start: int, end: int, *, is_near: bool) -> Iterator[SecretSpan]:
    for match in _TOKEN.finditer(text, start, end):
        for at, value in _values_in(match[1], match.start()) if match[1] else ():
            if is_mixed_value(value, is_near=is_near) and not _is_public(text, at):
                yield at, at + len(value), "token"


def _is_public(text: str, at: int) -> bool:
    """Return whether the text near the value at index `at` announces a public value, such as a checksum."""
    line = text.rfind("\n", max(0, at - _REACH), at)
    return _PUBLIC.search(text, max(line, at - _REACH, 0), at + 8) is not None


def _values_in(token: str, at: int) -> Iterator[tuple[int, str]]:
    """Yield (position, value) for the values in the word `token`; two if it has the form `name/password`.

    A name in front of a value (`pwd=...`) and Markdown emphasis around it are not part of the value. `at`:
    the position of the word in the text.
    """
    lead = _LEAD.match(token)
    while lead is not None:
        at, token = at + lead.end(), token[lead.end() :]
        lead = _LEAD.match(token)
    bare = token.lstrip(_EMPHASIS)
    at, token = at + len(token) - len(bare), bare.rstrip(_EMPHASIS + _TAIL)
    one, slash, other = token.partition("/")
    if slash and "/" not in other:
        yield at, one
        yield at + len(one) + 1, other
    else:
        yield at, token


def is_mixed_value(value: str, *, is_near: bool) -> bool:
    """Return whether a value mixes letters, digits and signs as no name does, or looks random.

    `is_near`: whether a word such as "login" or "unlock" is near; the conditions are then less strict.
    """
    if (
        not 8 <= len(value) <= 200
        or its.is_placeholder(value)
        or its.is_hash_like(value)
        or its.is_place(value)
    ):
        return False
    letters, digits = sum(map(str.isalpha, value)), sum(map(str.isdigit, value))
    if letters < 3 or not digits:
        return False
    if _CHOSEN.match(value) is not None and not its.is_file_name(value):
        return True
    if _SIGN_INSIDE.search(value) is not None:
        if _OF_TEXT.match(value) is not None or (not is_near and _OF_NAMES.match(value) is not None):
            return False
        is_varied = value.lower() != value or its.drawn_bits(value) >= 4.7
        return digits >= 2 and (is_varied or is_near)
    if is_near and _WORDS_AND_NUMBER.match(value) is not None:
        return True
    if not value.replace("-", "").replace("_", "").isalnum() or _WORD_AND_NUMBER.match(value) is not None:
        return False
    pieces = re.split(r"[-_]", value)
    if any(len(piece) >= 16 and its.is_random(piece) and its.drawn_bits(piece) >= 4.9 for piece in pieces):
        return True
    if len(pieces) > 1:
        return False
    if is_near:
        return digits >= 2 and its.is_drawn(value, bits=4.4)
    least = 5.2 if len(value) >= 11 else 5.6
    return value.lower() != value and its.drawn_bits(value) >= least


def values_of_access(text: str, small: str) -> Iterator[SecretSpan]:
    """Yield the spans of values that are probably secrets because a word such as "login" or "unlock" is near.

    Without such a word, the same values could be names. Near means: on the same line, or among the four
    non-empty lines before. Password hashes and keys in addresses (`https://<key>@host`) are found anywhere.
    `small`: the text in lower case, of equal length.
    """
    for pattern in (_CRYPT, _DSN):
        for match in pattern.finditer(text):
            yield *match.span(), "token"
    reach = 0
    for start, end in _lines(text):
        if _ACCESS.search(small, start, min(end, start + 4_000)) is not None:
            reach = _LINES_NEAR
        if reach and end > start:
            reach -= 1
            yield from _on_line(text, small, start, end)


_QUOTED = pattern_of(r"""(["'`])([^\s"'`]{7,64})\1""")
_ODD = pattern_of(r"[!#$%&()*+,;:<=>?@^\[\]{}~]")
_OF_CODE = pattern_of(r"://|\w\(\)|\w\[\d*\]|[A-Za-z]{3,}[(:]|\$\{|\{\{|%[sd]|\\[A-Za-z]|</|/>")


def _is_odd(value: str) -> bool:
    """Return whether a quoted value mixes letters, digits and several signs, unlike code and patterns."""
    signs, kinds = len(_ODD.findall(value)), sum(map(str.isdigit, value))
    return signs >= 2 and kinds >= 1 and any(map(str.isalpha, value)) and _OF_CODE.search(value) is None


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, end
        start = end + 1


def _on_line(text: str, small: str, start: int, end: int) -> Iterator[SecretSpan]:
    yield from _mixed_values(text, start, end, is_near=True)
    for match in _QUOTED.finditer(text, start, end):
        if _is_odd(match[2]):
            yield *match.span(2), "token"
    for pattern in (_GROUPS, _LONG_NUMBER):
        for match in pattern.finditer(text, start, end):
            yield *match.span(), "token"
    for match in _PIN.finditer(text, start, end):
        if _PIN_HINT.search(small, max(start, match.start() - _REACH // 2), match.start()) is not None:
            yield *match.span(), "token"
    for match in _MACHINE.finditer(text, start, end):
        before = small[max(start, match.start() - _REACH) : match.start()]
        if _NAMES_A_KEY.search(before) is not None and _NAMES_NO_KEY.search(before) is None:
            yield *match.span(), "token"
    for match in _WORDS.finditer(text, start, end):
        near = max(0, match.start() - _REACH), match.start()
        is_named = match["sign"] == "-" and _NAMES_A_KEY.search(small, *near) is not None
        if is_named or _PHRASE_HINT.search(small, *near) is not None:
            yield *match.span(), "token"
    for match in _SPACED_WORDS.finditer(text, start, end):
        if _PHRASE_HINT.search(small, max(0, match.start() - _REACH), match.end()) is not None:
            yield from _phrase(match)


def _phrase(match: re.Match[str]) -> Iterator[SecretSpan]:
    """Yield the span of each series of at least four words in `match` that are not typical of sentences.

    Words of less than four characters and the words in `SecretWords.sentence` are typical of sentences.
    """
    common = secret_words().sentence
    run: tuple[int, int, int] | None = None
    for word in re.finditer(r"\S+", match[0]):
        if word[0] in common or len(word[0]) < 4:
            if run is not None and run[2] >= 4:
                yield match.start() + run[0], match.start() + run[1], "token"
            run = None
        else:
            run = (word.start() if run is None else run[0], word.end(), 1 if run is None else run[2] + 1)
    if run is not None and run[2] >= 4:
        yield match.start() + run[0], match.start() + run[1], "token"
