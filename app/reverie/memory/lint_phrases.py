"""Text that speaks to a model instead of noting something: phrases that are typical of prompt injection.

An own list, kept short: a note that says how to work ("never push to main") is what memories are for, so only
phrases count that try to set other instructions aside, hide something from the person, change who the model
is, fetch its prompt, carry secrets away or imitate the frame of a chat. A find is a reason to read the line,
no more. Pure; every repetition in a pattern is bounded, so time is linear in the text.
"""

from __future__ import annotations

import re
import unicodedata

# Between two words: spaces, a line break, quoting and emphasis.
_S = r"[\s>*_`\"'“”-]{1,8}"
_ORDERS = (
    r"(?:instruction|prompt|rule|direction|directive|guideline|command|message|context|policie|policy)s?"
)
_FIRST = r"(?:previous|prior|above|earlier|preceding|foregoing|existing|original|initial|other|system|your)"
_SET_ASIDE = r"(?:ignore|disregard|forget|override|bypass|overlook|discard)"
_PERSON = r"(?:user|human|developer|operator|owner|person)s?"
_SECRETS = r"(?:api[ _-]?keys?|credentials?|passwords?|secrets?|(?:access )?tokens?|ssh[ _-]?keys?|\.env\b)"

# Lower-case pieces of which each group must stand in a text before its pattern is worth trying.
_ASIDE_WORDS = ("ignore", "disregard", "forget", "override", "bypass", "overlook", "discard")
_FIRST_WORDS = tuple(_FIRST.removeprefix("(?:").removesuffix(")").split("|"))
_ORDER_WORDS = (
    "instruction",
    "prompt",
    "rule",
    "directi",
    "guideline",
    "command",
    "message",
    "context",
    "polic",
)
_PERSON_WORDS = ("user", "human", "developer", "operator", "owner", "person")
_SECRET_WORDS = ("key", "credential", "password", "secret", "token", ".env")

_PATTERNS: tuple[tuple[tuple[tuple[str, ...], ...], str], ...] = (
    (
        (_ASIDE_WORDS, _FIRST_WORDS, _ORDER_WORDS),
        rf"\b{_SET_ASIDE}{_S}(?:(?:all|any|every|the|of|your|these|those|my){_S}){{0,4}}{_FIRST}{_S}"
        rf"(?:\w{{1,20}}{_S}){{0,2}}{_ORDERS}\b",
    ),
    (
        (_ASIDE_WORDS, ("all", "any", "every"), ("instructions", "said", "told", "above")),
        rf"\b{_SET_ASIDE}{_S}(?:all|any|everything|anything){_S}(?:(?:of|the|your|that|you|i|was|were|have|been){_S})"
        rf"{{0,4}}(?:instructions|said|told|above(?!{_S}the))\b",
    ),
    (
        (
            ("not", "don", "never", "without"),
            ("tell", "inform", "alert", "notify", "mention", "reveal", "disclos"),
            _PERSON_WORDS,
        ),
        rf"\b(?:do{_S}not|don['’]t|never|without){_S}(?:ever{_S})?(?:tell|telling|inform|informing|alert|alerting"
        rf"|notify|notifying|mention(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)){_S}"
        rf"(?:(?:this|that|it|anything|to|about){_S}){{0,3}}(?:the|your|any){_S}{_PERSON}\b",
    ),
    (
        (("hide", "conceal"), ("from",), _PERSON_WORDS),
        rf"\b(?:hide|conceal){_S}(?:this|that|it|these|what){_S}(?:\w{{1,20}}{_S}){{0,4}}from{_S}(?:the|your){_S}{_PERSON}\b",
    ),
    (
        (("you",), ("are",), ("now", "longer")),
        rf"\byou{_S}are{_S}(?:now|no{_S}longer){_S}(?:an?|the|in|bound|restricted|limited|under)\b",
    ),
    (
        (
            ("pretend", "act", "behave"),
            ("you",),
            ("unrestricted", "jailbroken", "rules", "restrictions", "limits"),
        ),
        rf"\b(?:pretend|act|behave){_S}(?:as{_S}if{_S}|like{_S}|to{_S}be{_S}|that{_S})?(?:you{_S}(?:are|were|have){_S})"
        rf"(?:\w{{1,20}}{_S}){{0,3}}(?:unrestricted|jailbroken|no{_S}(?:rules|restrictions|limits)|without{_S}restrictions)\b",
    ),
    (
        (("system", "hidden", "initial"), ("prompt", "message", "instructions"), ("your", "the")),
        rf"\b(?:reveal|print|show|repeat|output|leak|display|send){_S}(?:me{_S})?(?:your|the){_S}"
        rf"(?:(?:full|entire|hidden|exact|whole){_S}){{0,2}}(?:system{_S}prompt|system{_S}message|hidden{_S}instructions"
        rf"|initial{_S}(?:prompt|instructions))\b",
    ),
    (
        (
            ("send", "post", "upload", "exfiltrate", "transmit", "forward", "email", "leak"),
            _SECRET_WORDS,
            ("http", "@"),
        ),
        rf"\b(?:send|post|upload|exfiltrate|transmit|forward|email|leak){_S}(?:(?:\w{{1,20}}|all|the|any|every){_S}){{0,4}}"
        rf"{_SECRETS}{_S}(?:[\w.,]{{1,30}}{_S}){{0,6}}?to{_S}(?:<)?(?:https?://|[\w.+-]{{1,60}}@)",
    ),
    (
        (
            ("disable", "bypass", "circumvent", "turn"),
            ("safety", "guardrail", "filter", "safeguard", "security"),
        ),
        rf"\b(?:disable|bypass|circumvent|turn{_S}off){_S}(?:(?:all|any|the|your|its){_S}){{0,3}}"
        rf"(?:safety|guardrails?|content{_S}filters?|safeguards?|security{_S}(?:checks?|policies))\b",
    ),
    (
        (("ai", "assistant", "model", "agent", "llm"), ("reading", "reads", "processing"), ("this", "these")),
        rf"\b(?:the{_S})?(?:ai|assistant|model|agent|llm){_S}(?:reading|that{_S}reads|who{_S}reads|processing){_S}"
        rf"(?:this|these)\b",
    ),
    (
        (("new", "updated", "real", "actual"), ("instruction",)),
        r"(?:^|\n)[ \t>*#]{0,8}(?:new|updated|real|actual)[ \t]{1,4}(?:system[ \t]{1,4})?"
        r"instructions?[ \t]{0,4}:",
    ),
    (
        (("<|",), ("|>",)),
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|begin_of_text|start_header_id)\|>",
    ),
    (
        (("inst]", "sys>>", "system>", "system-", "system_"),),
        r"\[/?inst\]|<</?sys>>|</?(?:system|system[-_]prompt|system[-_]reminder|system[-_]message)>",
    ),
    (
        (("##",), ("system", "instruction")),
        r"(?:^|\n)#{2,4}[ \t]{1,4}(?:system|system prompt|instruction)[ \t]{0,4}:",
    ),
    # The same wishes in other languages that are met often.
    (
        (("ignorier", "missacht", "vergiss", "vergess"), ("anweisung", "instruktion", "regel", "vorgabe")),
        rf"\b(?:ignorier|missacht|vergiss|vergess)\w{{0,3}}{_S}(?:(?:bitte|alle|die|deine|jegliche|sämtliche){_S}){{0,3}}"
        rf"(?:vorherig|bisherig|obig|vorig|früher|vorangegangen)\w{{0,3}}{_S}(?:anweisung|instruktion|regel|vorgabe)\w{{0,3}}",
    ),
    (
        (("ignore", "ignorer", "ignorez"), ("précédentes", "antérieures", "ci-dessus")),
        rf"\bignor(?:e|ez|er){_S}(?:(?:toutes|les|tes|vos){_S}){{0,3}}(?:instructions|consignes|règles){_S}(?:précédentes|antérieures|ci-dessus)",
    ),
    (
        (("ignora",), ("anteriores", "previas")),
        rf"\bignora(?:d|r)?{_S}(?:(?:todas|las|tus){_S}){{0,3}}(?:instrucciones|reglas){_S}(?:anteriores|previas)",
    ),
    (
        (("忽略", "无视", "忘记", "無視"),),
        r"(?:忽略|无视|忘记|無視)(?:之前|以上|上述|先前|前面|所有|的|全部|一切){0,4}(?:指令|指示|提示|说明|命令|規則|规则)",
    ),
    (
        (("無視", "忘れ"),),
        r"(?:以前|上記|これまで)の(?:すべての)?(?:指示|命令|ルール)を(?:無視|忘れ)",
    ),
    (
        (("игнорируй",),),
        rf"игнорируй(?:те)?{_S}(?:(?:все|любые){_S})?(?:предыдущие|прежние){_S}(?:инструкции|указания)",
    ),
)
_PHRASES = tuple((needs, re.compile(pattern)) for needs, pattern in _PATTERNS)


def instruction_lines(text: str) -> list[int]:
    """The lines, from 1, on which such a phrase begins; each once, in order. Letters of other widths and
    styles count as the plain ones. Give the text without what is invisible in it."""
    # Neither folding makes or takes a line break, so lines keep their numbers.
    plain = (text if text.isascii() else unicodedata.normalize("NFKC", text)).lower()
    starts = set()
    for needs, phrase in _PHRASES:
        if all(any(word in plain for word in group) for group in needs):
            starts |= {match.end() - len(match[0].lstrip("\n")) for match in phrase.finditer(plain)}
    lines: list[int] = []
    line, counted = 1, 0
    for start in sorted(starts):
        line += plain.count("\n", counted, start)
        counted = start
        if not lines or lines[-1] != line:
            lines.append(line)
    return lines
