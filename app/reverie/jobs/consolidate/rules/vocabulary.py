"""Words that the judgement of near-duplicates knows: data only, no rule.

Everything is lower case and stemmed at load by the caller where it says so. English is covered best; German,
French and Spanish have function words, negations, numbers, days and months; Chinese, Japanese and Korean have
negations and function characters. A word that is missing here makes the judgement miss a duplicate, never
merge wrongly: unknown words count as carrying meaning.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from functools import lru_cache


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _groups(text: str) -> tuple[frozenset[str], ...]:
    return tuple(_words(line) for line in text.strip().splitlines())


def _one_of(*, words: tuple[str, ...], marks: tuple[str, ...]) -> str:
    """A pattern for any of these; `words` begin where a word begins. Each begins with a plain character: to
    look at that one first makes a search nine times as fast."""

    def by_first(patterns: tuple[str, ...]) -> str:
        first = "".join(sorted({pattern[0] for pattern in patterns}))
        return f"(?=[{first}])(?:{'|'.join(patterns)})"

    return rf"\b{by_first(words)}|{by_first(marks)}"


# Carry no meaning of their own; dropped after negations and relations have been read off them.
ENGLISH_FUNCTION_WORDS = _words(
    """
    a an the this that these those it its he she him her his we our us you your they them their i my me is
    are was were be been being am do does did done has have had will would shall can could may might of in
    on at to from by for with as into onto via per about around out over under between during within
    through and or but so then than also too if when while where which who whom whose what how there here
    because since until till before after once already just only even still again both either such same
    own very more most less least each every any all some other another own up down note self let lets get
    gets eg ie etc vs nb not no never none nor neither without cannot
    """
)
FUNCTION_WORDS = ENGLISH_FUNCTION_WORDS | _words(
    """
    der die das den dem des ein eine einen einem einer eines und oder aber auch noch nur schon dann wenn
    als wie ist sind war waren wird werden wurde wurden sein hat haben hatte kann können soll sollen muss
    müssen darf dürfen es er sie wir ihr ich man sich im in am an auf aus bei mit nach von vom vor zu zum
    zur für über unter um durch jede jeder jedes jeden jedem alle allen nicht kein keine keinen keinem
    keiner nie niemals ohne statt bitte le la les un une des du de d l et ou mais aussi est sont était
    sera être a ont avoir il elle ils elles on nous vous ce cet cette ces se s sa son ses leur leurs en
    dans sur sous avec pour par à au aux que qui quand si comme chaque tous toutes tout toute ne n pas
    plus jamais sans el los las una unos unas y o pero del al es son fue ser se su sus lo con por para
    como cada no nunca sin и в во на с со к по за из от до у о об не нет ни это как для при что же
    """
)

# Say little by themselves: they support a match but neither make nor break it.
WEAK_WORDS = _words(
    """
    use uses used using put puts go goes going gone make makes made keep keeps kept hold holds held stay stays
    set sets need needs needed must should ought have has take takes took give gives gave come comes came
    happen happens say says said explain explains describe describes tell tells mean means look looks like see
    sees seen show shows shown work works want wants wanted live lives lived run runs ran start starts begin
    begins allow allows allowed way ways thing things kind one part example default defaults defaulted usually
    always general generally currently valid respect respects honour honor apply applies applied limited
    locally please write writes written send sends sent soon least most people immer jetzt zuerst danach erst
    dabei dazu braucht brauchen gilt gelten toujours doit doivent faut utiliser siempre debe deben usar
    """
)

# Different words for the same thing, one set a line. Only words that can be exchanged in a note about a
# project.
SYNONYMS = _groups(
    """
    max maximum maximal maximale höchstens
    min minimum minimal mindestens
    char character chars characters zeichen caractère caractères
    delete deletes deleted deletion remove removes removed removal löschen gelöscht erase drop dropped
    prefer prefers preferred favour favor
    message messages msg msgs
    config configuration configs settings setting
    dir directory directories folder folders
    repo repository repositories
    doc docs documentation
    env environment environments
    dependency dependencies dep deps
    dev development
    prod production
    info information
    param parameter parameters params
    arg argument arguments args
    id ids identifier identifiers
    auth authentication
    db database databases
    app application applications
    test tests testing
    pr prs pull-request
    use uses used using
    need require requires required
    require must
    check checks verify verifies verified
    fix fixes fixed repair repaired
    begin begins start starts
    end ends finish finishes finished
    create creates created creation add adds added adding
    change changes changed modify modifies modified modification
    update updates updated
    fast quick quickly
    big large
    small tiny
    secret secrets
    credential credentials
    daily nightly
    weekly
    monthly
    yearly annually annual
    regex regexp
    readme
    colour color colours colors
    behaviour behavior
    centre center centred centered
    grey gray greyed grayed
    licence license
    catalogue catalog
    initialise initialize
    optimise optimize
    normalise normalize
    cancelled canceled
    labelled labeled
    e-mail email mail
    beside next-to
    try tries attempt attempts
    wrap wraps wrapped wrapping
    plural plurals
    """
)

# Markers in names, descriptions and headings that tell one subject from another, by class.
ENVIRONMENT_MARKERS = {
    "prod": "production", "production": "production", "produktion": "production", "live": "production",
    "staging": "staging", "stage": "staging", "stg": "staging", "preprod": "staging", "dev": "development",
    "development": "development", "sandbox": "sandbox", "qa": "qa", "uat": "uat", "canary": "canary",
    "preview": "preview",
}  # fmt: skip
STATUS_MARKERS = _words(
    """
    old legacy deprecated obsolete archive archived previous prev former outdated superseded historical
    new next proposed proposal draft wip future planned upcoming alt alternative retired
    alt veraltet früher neu entwurf
    ancien ancienne obsolète nouveau nouvelle brouillon
    旧 废弃 过时 古い 新
    """
)
# Folders whose files are about one entity each: there the name is the subject.
ENTITY_FOLDERS = _words(
    """
    people person persons team teams members users customers clients accounts contacts vendors partners
    authors services service modules components packages apps machines hosts servers clusters nodes devices
    regions projects repos repositories incidents postmortems outages meetings daily journal diary log logs
    weekly sprints releases changelog changelogs environments envs deployments tables schema schemas countries
    cities offices leute kunden personen dienste rechner vorfälle besprechungen personnes équipe clients
    services réunions 人员 客户 服务 メンバー 顧客
    """
)
# Words in file names that name no subject.
FILLER_NAME_WORDS = _words(
    """
    note notes notizen memo misc info stuff things tips tip doc docs readme about overview summary general
    common copy copies kopie copie dup duplicate duplicates backup bak orig original version final tmp temp
    untitled unnamed more extra other another again rule rules guide guidelines guideline policy policies
    convention conventions style styles how to howto the a an of for and my our what where which we i is are
    do does works work file files text txt md markdown memory memories list listing details left right one two
    first second
    """
)
# Of those, the ones that make the worse name of two.
POOR_NAME_WORDS = _words(
    """
    note notes notizen memo misc stuff things copy copies kopie copie dup duplicate duplicates backup bak orig
    tmp temp untitled unnamed more extra other another again old new alt draft final
    """
)
PLACEHOLDERS = _words("todo tbd wip n/a na none nothing empty placeholder fixme tba nil")

# A statement with one of these says that something in its note, or another note, does not hold (any more).
CONTRADICTION_CUES = _one_of(
    words=(
        r"contradict(?:s|ed|ion|ory)?\b", r"conflicts? with\b", r"supersed(?:e|es|ed|ing)\b", r"outdated\b",
        r"out of date\b", r"obsolete\b", r"deprecated\b",
        r"no longer (?:true|valid|correct|the case|applies|holds|current)\b", r"replaced by\b",
        r"replaces the\b", r"stale\b", r"was wrong\b", r"were wrong\b", r"incorrect\b", r"not true\b",
        r"disagrees?\b", r"used to be\b", r"formerly\b", r"previously\b", r"kept for reference\b",
        r"see instead\b", r"retracted\b", r"withdrawn\b", "correction:", "update:", "edit:", r"historical\b",
        r"v\d+ stays?\b", r"stays? (?:readable|until|for now)\b", r"unlike\b", r"as opposed to\b",
        r"in contrast\b", r"anymore\b", r"not any more\b", r"what not to\b", r"how not to\b",
        r"things not to\b", "veraltet", "überholt", "widerspr(?:icht|uch)", r"ersetzt durch\b",
        r"gilt nicht mehr\b", "nicht mehr gültig", r"früher\b", "obsol[eè]te", "périmé", "contredit",
        r"remplacé(?:e|s|es)? par\b", r"n'est plus\b", r"ne sont plus\b", "obsoleto", "anticuad",
        "contradice", "reemplazad", r"ya no\b", "устарел", "противоречит", r"больше не\b",
    ),
    marks=(
        "~~", "<!--", "过时", "废弃", "已弃用", "矛盾", "不再", "古い情報", "廃止", "非推奨", "더 이상",
        "폐기",
    ),
)  # fmt: skip
FUTURE_CUES = (
    r"\b(?:will|going to|plan to|plans to|planned|planning|upcoming|from next|"
    r"geplant|künftig|zukünftig|prévue?s?|planeado|próximamente|будет|будут|план)\b|"
    r"予定|计划|将要|예정"
)
FORMER_CUES = (
    r"(?<!\bis )(?<!\bare )(?<!\bbe )\bused to\b|\bformerly\b|\bpreviously\b|\buntil recently\b|"
    r"\bback then\b|\b(?:früher|ehemals|autrefois|antes era|раньше)\b|以前|かつて|曾经|예전"
)
FUTURE_TRIGGERS = _words("will going plan plans planned planning upcoming next geplant planeado")
FORMER_TRIGGERS = _words("used formerly previously recently back ehemals autrefois antes")
PAST_WORDS = _words("was were war waren wurde wurden était étaient fue era eran был была были")

NUMBER_WORDS = {
    "zero": "0", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "fifteen": "15", "twenty": "20", "thirty": "30",
    "forty": "40", "fifty": "50", "sixty": "60", "ninety": "90", "hundred": "100", "thousand": "1000",
    "twice": "2", "thrice": "3", "half": "1/2", "dozen": "12",
    "zwei": "2", "drei": "3", "vier": "4", "fünf": "5", "sechs": "6", "sieben": "7", "acht": "8",
    "neun": "9", "zehn": "10", "zwölf": "12", "zwanzig": "20", "dreißig": "30", "hundert": "100",
    "zweimal": "2", "deux": "2", "trois": "3", "quatre": "4", "cinq": "5", "sept": "7", "huit": "8",
    "neuf": "9", "dix": "10", "douze": "12", "vingt": "20", "trente": "30",
    "tres": "3", "cuatro": "4", "cinco": "5", "seis": "6", "siete": "7", "ocho": "8", "diez": "10",
    "два": "2", "две": "2", "три": "3", "четыре": "4", "пять": "5", "десять": "10",
}  # fmt: skip
# "one" is as often a pronoun as a number: it counts as a number only against another one.
ONE_WORDS = _words("one single eins один одна")
# Before a unit these count one of it ("an hour").
ARTICLES = _words("a an ein eine einen einer einem un une una")

UNITS = {
    unit: canon
    for canon, units in {
        "ms": "ms msec msecs millisecond milliseconds millis millisekunden millisecondes 毫秒 ミリ秒",
        "us": "us µs μs microsecond microseconds micros",
        "s": "s sec secs second seconds sekunde sekunden seconde secondes segundos 秒 초 секунд секунды",
        "min": "m min mins minute minutes minuten minuto minutos 分 分钟 分鐘 분 минут минуты",
        "h": "h hr hrs hour hours stunde stunden std heure heures horas uhr 小时 小時 時間 時 시간 시",
        "d": "d day days tag tage tagen jour jours día días 天 日間 일 дней дня",
        "w": "week weeks woche wochen semaine semaines semana semanas 周 週間 주",
        "mo": "month months monat monate monaten mois mes meses 个月 ヶ月 개월",
        "y": "year years jahr jahre jahren an ans année años 年 년",
        "B": "byte bytes oktett octets", "kB": "kb kilobyte kilobytes ko", "KiB": "kib kibibyte kibibytes",
        "MB": "mb megabyte megabytes mo", "MiB": "mib mebibyte mebibytes", "GB": "gb gigabyte gigabytes go",
        "GiB": "gib gibibytes", "TB": "tb terabyte terabytes", "TiB": "tib",
        "%": "% percent per-cent prozent pct pour-cent",
        "EUR": "eur € euro euros", "USD": "usd $ dollar dollars", "GBP": "gbp £", "px": "px pixel pixels",
        "rps": "rps", "Hz": "hz", "kHz": "khz", "MHz": "mhz", "GHz": "ghz",
    }.items()
    for unit in units.split()
}  # fmt: skip

MONTHS = {
    name: str(number)
    for names in (
        "january february march april may june july august september october november december",
        "jan feb mar apr may jun jul aug sep oct nov dec",
        "januar februar märz april mai juni juli august september oktober november dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    )
    for number, name in enumerate(names.split(), start=1)
}

# Negations that reach forward to the end of their clause, and those that colour the whole clause (the
# negation stands behind what it negates).
NEGATIONS_FORWARD = _words(
    """
    not no never none nor neither non without cannot avoid avoids avoided avoiding except unless stop nothing
    nobody statt anstatt ohne außer vermeide vermeiden sans aucun aucune éviter évitez évite sauf ne n sin
    nunca evita evitar excepto ningún ninguna no не нет без никогда
    """
)
NEGATIONS_CLAUSE = _words(
    """
    nicht kein keine keinen keinem keiner nie niemals nirgends verboten untersagt jamais interdit interdite
    prohibido prohibida forbidden prohibited disallowed banned unsupported нельзя запрещено niet geen nooit
    zonder não nem sem nie bez nigdy inte ikke ej aldrig utan uten eikä ei älä nem nu fără değil tidak jangan
    tanpa không đừng δεν μην χωρίς nelze nesmí нема لا ليس بدون لم لن לא בלי אין
    """
)
# Words that say that something is not settled, or not wanted: both statements or headings must have them, or
# none.
HEDGES = _words(
    """
    todo tbd fixme decide deciding whether consider considering considered proposal proposed propose maybe
    perhaps might idea ideas unclear unsure guess assume assumption allegedly supposedly probably possibly
    likely question questions untested unverified unconfirmed experiment experimental experimentally wish
    wishlist eventually vielleicht vermutlich wahrscheinlich überlegen idee ideen offen unklar peut-être
    probablement idée idées quizás quizá probablemente idea
    """
)
# Verbs and adjectives that take back what stands beside them: both statements must have them, or none.
NEGATING = _words(
    """
    exclude excludes excluded excluding skip skips skipped skipping ignore ignores ignored ignoring omit omits
    omitted bypass bypasses bypassed disable disables disabled reject rejects rejected refuse refuses refused
    deny denies denied stop stops stopped prevent prevents prevented block blocks blocked forbid forbids
    suspend suspends suspended pause paused revoke revokes revoked cancel cancels cancelled canceled lack
    lacks lacking fail fails failed exempt exempted discontinue discontinued retire retired drop drops dropped
    missing unavailable temporarily temporary provisional sometimes rarely seldom partly partially
    occasionally almost nearly formerly instead optionally hardly only ausgeschlossen übersprungen ignoriert
    deaktiviert gesperrt vorübergehend manchmal selten teilweise nur exclu exclue exclus ignoré désactivé
    temporairement parfois rarement seulement uniquement excluido omitido desactivado temporalmente solo sólo
    """
)
STRONG_MODALS = _words("must shall required mandatory muss müssen doit doivent debe deben должен должны")
WEAK_MODALS = _words(
    "may can could might optional optionally kann können darf dürfen peut peuvent puede pueden может"
)
GERMAN_ARTICLES = _words("der die das den dem des ein eine einen einem einer")
LOADED_HEADINGS = (
    HEDGES
    | STATUS_MARKERS
    | _words(
        """
    anti antipattern antipatterns pitfall pitfalls mistake mistakes bad wrong cons pros rejected declined
    abandoned avoid avoided dont don't never forbidden wontfix discarded removed failed before after done open
    resolved blocked vorher nachher falsch fehler verworfen abgelehnt erledigt erreurs rejeté rejetée mauvais
    """
    )
)
# Words that put things in a sequence: with them the order of words matters.
SEQUENCE = _words(
    "then afterwards thereafter subsequently dann danach anschließend puis ensuite luego después затем потом"
)
# Connectors that bound how long something holds.
HOLDING = _words("until till since bis seit jusque depuis hasta desde")
PRONOUNS = _words(
    "it they this that these those he she es sie dies diese dieser dieses er il elle ils elles ce cela eso"
)
NEGATED_PERMISSION = _words("forbidden prohibited disallowed banned verboten untersagt interdit prohibido")
# Words that end what a negation reaches.
BOUNDARIES = _words("and but aber sondern und mais et pero y while whereas но и")
# Words after which a relation changes its meaning with its object.
RELATIONS = _words(
    """
    from to before after until till since into onto above below under over against via than
    von vom zu zum zur nach vor bis seit aus
    de vers avant après depuis jusque
    desde hasta antes después hacia
    """
)
PASSIVE_BY = _words("by von vom durch par por")
# What these introduce can stand anywhere in a sentence without changing who does what.
PREPOSITIONS = RELATIONS | _words(
    """
    in on at for with during via through within per into across between among beside about around
    im in am an auf bei beim mit für durch während pro über unter neben zwischen innerhalb
    dans sur sous chez pour avec pendant entre en
    con para en sobre entre durante
    перед после для с со в во на из от до к ко при через без
    """
)

CJK_NEGATION = (
    r"ไม่|ห้าม|नहीं|मत |बिना|没|沒|勿|别|別に|禁止|不(?!同|断|變|变|仅|但|过|論|论|足|可避免)|"
    r"无(?!论|線|线)|無し|ない|ません|ずに|不可|なし|避け"
)
CJK_NOT_NEGATION = (
    r"なければ(?:ならない|なりません|いけない)|ねばならない|ないと(?:いけない|だめ)|"
    r"なくては(?:ならない|いけない)|なくても(?:よい|いい)|だけでなく|不可欠|不可避|不仅|不但|不论|无论"
)
HANGUL_NEGATION = r"않|없|금지|지 ?마|지 ?말|못 ?하|(?:^|\s)안\s"
HANGUL_PARTICLES = r"(?:은|는|이|가|을|를|의|에|에서|에게|로|으로|와|과|도|만|까지|부터|한다|하다|합니다|다)$"
HAN_FUNCTION = frozenset("的了是在和与请要会可个用使内中上下之其该此等及或并也都就还再以为由被把将")


# Folding of words and phrases: what is written differently and means the same becomes the same.
#
# Typographic characters, Markdown's emphasis and links, fixed phrases ("at most", "instead of"), inflection
# and a list of synonyms. Nothing here depends on context; what a sentence says is read in `wording`.
#
# Pure.


_QUOTES = str.maketrans(
    {
        **dict.fromkeys("“”„«»", '"'),
        **dict.fromkeys("‘’ʼ", "'"),
        **dict.fromkeys("–—", " - "),
        **dict.fromkeys("✓✔✅☑", " yes "),
        **dict.fromkeys("✗✘❌❎", " no "),
        **dict.fromkeys("→⇒", " -> "),
        **dict.fromkeys("…\u00a0\u202f", " "),
        **dict.fromkeys("、，", ","),
        "：": ":",
        "；": ";",
    }
)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\(<?([^()\s]*)>?[^()]*\)")
_EMPHASIS = re.compile(r"(?<![\w/*.])(?:\*{1,3}|_{1,3}|~~)(?=\S)|(?<=[^\s/*])(?:\*{1,3}|_{1,3}|~~)(?![\w/*])")
_UPPER, _LOWER = " bound:upper ", " bound:lower "
# Each phrase with the words of which one must be there: most statements have none and skip the search.
_PHRASES = tuple(
    (frozenset(triggers.split()), re.compile(pattern, re.IGNORECASE), replacement)
    for triggers, pattern, replacement in (
        ("most exceed exceeding", r"\bat most\b|\bnot exceed(?:ing)?\b", _UPPER),
        ("more longer", r"\b(?:no more|not more|no longer) than\b", _UPPER),
        ("less fewer", r"\b(?<!no )(?<!not )(?:less|fewer) than\b", _UPPER),
        ("up", r"\bup to\b", _UPPER),
        ("under below", r"\b(?:under|below)(?= \d)", _UPPER),
        ("zu weniger", r"\bbis zu\b|\bweniger als\b", _UPPER),
        ("plus moins", r"\bau plus\b|\b(?<!au )moins de\b", _UPPER),
        ("máximo sumo menos", r"\bcomo máximo\b|\ba lo sumo\b|\b(?<!al )menos de\b", _UPPER),
        ("max maximum höchstens maximal", r"\b(?:max|maximum|höchstens|maximal)(?:\.|\b)(?: of\b)?", _UPPER),
        ("least less fewer", r"\bat least\b|\b(?:no|not) (?:less|fewer) than\b", _LOWER),
        ("more greater", r"\b(?:more|greater) than\b", _LOWER),
        ("over above", r"\b(?:over|above)(?= \d)", _LOWER),
        ("exceed exceeds exceeding", r"\bexceed(?:s|ing)?\b", _LOWER),
        (
            "mehr moins plus menos más",
            r"\bmehr als\b|\bau moins\b|\bplus de(?= \d)|\bal menos\b|\bmás de\b",
            _LOWER,
        ),
        (
            "minimum mindestens minimal min",
            r"\b(?:minimum|mindestens|minimal|min(?=\.? \d))\b(?: of\b)?",
            _LOWER,
        ),
        ("instead rather opposed", r"\binstead of\b|\brather than\b|\bas opposed to\b", " statt "),
        ("lieu plutôt lugar", r"\bau lieu de\b|\bplutôt que\b|\ben lugar de\b", " statt "),
        ("prior", r"\bprior to\b", " before "),
        ("has have had", r"\b(?:has|have|had) to\b", " must "),
        ("pull", r"\bpull[ -]requests?\b", " pr "),
        ("next", r"\bnext to\b", " beside "),
        ("third", r"\bthird[ -]part(?:y|ies)\b", " thirdparty "),
        ("standard", r"\bstandard library\b", " stdlib "),
        ("order", r"\bin order to\b", " to "),
        ("soon once", r"\bas soon as\b|\bonce\b(?= (?:the|a|an|it|they|all)\b)", " when "),
        ("e i z p example", r"\be\.g\.|\bi\.e\.|\bz\. ?b\.|\bfor example\b|\bp\. ?ex\.", " "),
        ("day", r"\b(?:every|each|per) day\b", " daily "),
        ("hour", r"\b(?:every|each|per) hour\b", " hourly "),
        ("week", r"\b(?:every|each|per) week\b", " weekly "),
        ("year", r"\b(?:every|each|per) year\b", " yearly "),
        ("month", r"\b(?:every|each|per|a) month\b", " monthly "),
        ("cent", r"\b(?:per|pour) cent\b", " percent "),
        ("can", r"\bcan ?not\b", " cannot "),
        ("longer more", r"\bno longer\b|\bnot any ?more\b", " not "),
        ("free", r"\bfree of\b", " without "),
        ("t", r"\b(\w+?)n't\b", r" \1 not "),
    )
)
_TRIGGERS = frozenset().union(*(triggers for triggers, _pattern, _replacement in _PHRASES))
_COMPARISON = re.compile(r"(?<=\s)(?:<=|<)(?=\s?\d)|≤|(?<=\s)(?:>=|>)(?=\s?\d)|≥")
_PLAIN_WORD = re.compile(r"[^\W\d_]+")
_EAST_ASIAN = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af々ー"
_SCRIPT_CHANGE = re.compile(rf"(?<=[{_EAST_ASIAN}])(?=[A-Za-z0-9`#])|(?<=[A-Za-z0-9`%])(?=[{_EAST_ASIAN}])")


def word(canon: str) -> str:
    """The folded form of one lower-case word: inflection off, synonyms on one of them."""
    return _SYNONYM.get(canon) or _SYNONYM.get(stem(canon)) or stem(canon)


@lru_cache(maxsize=65536)
def stem(text: str) -> str:
    """Light: plural, -ing, -ed, -ly, -ion and a final e go; short words and other scripts stay."""
    if len(text) < 4 or not text.isascii():
        return text
    for ending, replacement, least in _ENDINGS:
        if text.endswith(ending) and len(text) - len(ending) >= least:
            text = text[: len(text) - len(ending)] + replacement
            if ending in ("ing", "ed") and len(text) > 3 and text[-1] == text[-2] and text[-1] in "bdfgmnprt":
                text = text[:-1]
            break
    return text[:-1] if len(text) > 3 and text.endswith("e") else text


_ENDINGS = (
    ("ies", "y", 2), ("ied", "y", 2), ("sses", "ss", 2), ("xes", "x", 2), ("ches", "ch", 2),
    ("shes", "sh", 2), ("ingly", "", 3), ("edly", "", 3), ("ally", "al", 3), ("ings", "", 3), ("ing", "", 3),
    ("eed", "eed", 1), ("ions", "", 4), ("ion", "", 4), ("ed", "", 3), ("ly", "", 4), ("'s", "", 2),
    ("ss", "ss", 1), ("us", "us", 1), ("is", "is", 1), ("s", "", 3),
)  # fmt: skip
_SYNONYM: dict[str, str] = {}
for _group in SYNONYMS:
    _first = min(_group, key=lambda text: (len(stem(text)), text))
    for _text in _group:
        _SYNONYM.setdefault(_text, stem(_first))


def fold_text(text: str) -> str:
    """Markup, typographic characters and fixed phrases folded; code spans lose their marks."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_QUOTES)).translate(_QUOTES)
        text = _SCRIPT_CHANGE.sub(" ", text)
    if "](" in text:
        text = _LINK.sub(r"\1 \2", text)
    text = _EMPHASIS.sub("", text) if "*" in text or "_" in text or "~" in text else text
    triggers = _TRIGGERS.intersection(_PLAIN_WORD.findall(text.casefold()))
    if triggers:
        for wanted, pattern, replacement in _PHRASES:
            if not wanted.isdisjoint(triggers):
                text = pattern.sub(replacement, text)
    if _COMPARISON.search(text):
        text = _COMPARISON.sub(lambda match: _UPPER if match[0] in "<=≤" else _LOWER, text)
    return text


# Words that exclude each other: antonyms, days, environments, systems, states.
#
# When each of two statements has another word of such a group, they do not say the same; when each of two
# names has, the notes are about different things. A word may stand in several groups.
#
# Pure data and one question about it.


def _exclusion_groups(text: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(line.split()) for line in text.strip().splitlines())


# Words of which two different ones cannot both hold: when each of two statements has another one of a group,
# they do not say the same. Antonyms, environments, days, months, systems, languages, states.
EXCLUSIVE = _exclusion_groups(
    """
    enable disable
    enabled disabled
    activate deactivate
    aktiviert deaktiviert
    aktivieren deaktivieren
    activer désactiver
    activé désactivé
    active inactive
    allow deny block
    include exclude
    add remove
    lock unlock
    encrypt decrypt
    encode decode
    upload download
    push pull fetch
    import export
    importer exporter
    read write
    reader writer
    server client
    frontend backend
    front back
    start stop
    open close
    opened closed
    accept reject
    accepted rejected
    approve reject
    increase decrease reduce
    raise lower
    required optional
    mandatory optional
    obligatoire facultatif facultative
    erforderlich optional
    public private
    internal external
    inbound outbound
    input output
    incoming outgoing
    synchronous asynchronous
    sync async
    ascending descending
    asc desc
    bound:upper bound:lower
    before after
    old new
    vor nach
    avant après
    antes después
    until since
    true false
    on off
    pass fail
    success failure
    manual automatic
    manually automatically
    manuell automatisch
    local remote
    online offline
    left right
    top bottom
    upper lower
    uppercase lowercase
    horizontal vertical
    above below
    inside outside
    inner outer
    first second third fourth last
    newest oldest
    latest oldest
    high low
    higher lower
    long short
    longer shorter
    hot cold
    warm cold
    strict loose lenient
    mutable immutable
    stateful stateless
    eager lazy
    optimistic pessimistic
    primary secondary replica standby
    leader follower
    master slave
    parent child
    source target
    producer consumer
    sender receiver
    hard soft
    tabs spaces
    tab space
    single double triple
    even odd
    hourly daily weekly biweekly monthly quarterly yearly
    morning afternoon evening night
    vormittag nachmittag abend
    matin soir
    monday tuesday wednesday thursday friday saturday sunday
    montag dienstag mittwoch donnerstag freitag samstag sonntag
    montags dienstags mittwochs donnerstags freitags samstags sonntags
    lundi mardi mercredi jeudi vendredi samedi dimanche
    lunes martes miércoles jueves viernes sábado domingo
    january february march april june july august september october november december
    januar februar märz april mai juni juli august september oktober november dezember
    janvier février mars avril mai juin juillet août septembre octobre novembre décembre
    q1 q2 q3 q4
    production staging development sandbox preview qa uat preprod canary demo
    produktion staging
    linux macos windows freebsd
    ubuntu debian fedora alpine arch
    ios android web desktop
    laptop desktop
    phone tablet laptop desktop
    x86 arm
    amd64 arm64
    postgres mysql mariadb sqlite oracle mssql mongodb
    kafka rabbitmq nats sqs
    redis memcached
    typescript javascript python rust go java kotlin swift ruby php scala elixir
    react vue svelte angular
    npm pnpm yarn bun
    pip poetry uv conda
    aws gcp azure
    github gitlab bitbucket
    english german french spanish italian portuguese japanese chinese korean russian polish dutch
    deutsch englisch französisch spanisch
    français anglais allemand espagnol
    light dark
    hell dunkel
    clair sombre
    white black
    red green blue yellow orange purple
    done open running pending blocked
    erledigt offen
    fini ouvert
    resolved unresolved
    decided undecided considering
    draft final
    eu us apac
    europe america asia
    admin viewer editor guest
    unit integration endtoend e2e
    sunrise sunset
    launch sunset
    http https
    tcp udp
    json xml yaml toml csv
    get post put patch
    eur usd gbp chf jpy
    north south east west
    fast slow
    serial parallel
    sequential parallel
    always sometimes
    immer manchmal
    toujours parfois
    always rarely
    some none
    all some few
    yes no
    ja nein
    oui non
    bump pin
    """
)

# In names and titles these are subjects: two notes that name different ones are about different things.
_PRODUCTS = """
    postgres postgresql mysql mariadb sqlite oracle mssql mongodb cassandra dynamodb redis memcached
    etcd clickhouse snowflake bigquery redshift kafka rabbitmq nats sqs pulsar elasticsearch opensearch
    solr docker podman kubernetes nomad terraform ansible helm nginx apache caddy traefik envoy haproxy
    prometheus grafana loki datadog sentry jenkins circleci argocd vault consul aws gcp azure heroku
    cloudflare fastly vercel netlify github gitlab bitbucket jira linear slack teams discord zoom python
    javascript typescript java kotlin scala ruby php golang rust swift elixir haskell react vue svelte
    angular django flask fastapi rails laravel spring express webpack vite rollup esbuild npm pnpm yarn
    poetry pip uv conda maven gradle cargo bazel jest vitest pytest playwright cypress selenium linux
    macos windows ubuntu debian fedora ios android firefox chrome safari vim emacs vscode zsh bash fish
    tmux stripe paypal twilio sendgrid
"""
PRODUCTS = frozenset(map(word, _PRODUCTS.split()))


def _numbers_by_word() -> dict[str, tuple[int, ...]]:
    groups: dict[str, set[int]] = defaultdict(set)
    for number, group in enumerate(EXCLUSIVE):
        for each in group:
            groups[word(each)].add(number)
    return {each: tuple(sorted(numbers)) for each, numbers in groups.items()}


_GROUPS_OF = _numbers_by_word()


def excludes(a: frozenset[str], b: frozenset[str], *, strict: bool = False) -> bool:
    """Whether each side has a word of a group that the other side has another word of.

    `strict`: of groups of more than three (days, systems) both must have the same words if they have any.
    """
    of_a, of_b = _members(a), _members(b)
    for group in of_a.keys() & of_b.keys():
        if of_a[group] - of_b[group] and of_b[group] - of_a[group]:
            return True
        if strict and len(EXCLUSIVE[group]) > 3 and of_a[group] != of_b[group]:
            return True
    return False


def excluding_words(seen: frozenset[str]) -> frozenset[str]:
    """Those of some words that exclude any other."""
    return frozenset(word(each) for each in seen if each in _GROUPS_OF or word(each) in _GROUPS_OF)


def _members(seen: frozenset[str]) -> dict[int, set[str]]:
    """By group, the words of it that were seen."""
    members: dict[int, set[str]] = defaultdict(set)
    for each in seen:
        for group in _GROUPS_OF.get(each) or _GROUPS_OF.get(word(each), ()):
            members[group].add(word(each))
    return members
