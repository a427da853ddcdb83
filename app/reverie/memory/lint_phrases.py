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

_PATTERNS = (
    rf"\b{_SET_ASIDE}{_S}(?:(?:all|any|every|the|of|your|these|those|my){_S}){{0,4}}{_FIRST}{_S}"
    rf"(?:\w{{1,20}}{_S}){{0,2}}{_ORDERS}\b",
    rf"\b{_SET_ASIDE}{_S}(?:all|any|everything|anything){_S}(?:(?:of|the|your|that|you|i|was|were|have|been){_S})"
    rf"{{0,4}}(?:instructions|said|told|above(?!{_S}the))\b",
    rf"\b(?:do{_S}not|don['’]t|never|without){_S}(?:ever{_S})?(?:tell|telling|inform|informing|alert|alerting"
    rf"|notify|notifying|mention(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)){_S}"
    rf"(?:(?:this|that|it|anything|to|about){_S}){{0,3}}(?:the|your|any){_S}{_PERSON}\b",
    rf"\b(?:hide|conceal){_S}(?:this|that|it|these|what){_S}(?:\w{{1,20}}{_S}){{0,4}}from{_S}(?:the|your){_S}{_PERSON}\b",
    rf"\byou{_S}are{_S}(?:now|no{_S}longer){_S}(?:an?|the|in|bound|restricted|limited|under)\b",
    rf"\b(?:pretend|act|behave){_S}(?:as{_S}if{_S}|like{_S}|to{_S}be{_S}|that{_S})?(?:you{_S}(?:are|were|have){_S})"
    rf"(?:\w{{1,20}}{_S}){{0,3}}(?:unrestricted|jailbroken|no{_S}(?:rules|restrictions|limits)|without{_S}restrictions)\b",
    rf"\b(?:reveal|print|show|repeat|output|leak|display|send){_S}(?:me{_S})?(?:your|the){_S}"
    rf"(?:(?:full|entire|hidden|exact|whole){_S}){{0,2}}(?:system{_S}prompt|system{_S}message|hidden{_S}instructions"
    rf"|initial{_S}(?:prompt|instructions))\b",
    rf"\b(?:send|post|upload|exfiltrate|transmit|forward|email|leak){_S}(?:(?:\w{{1,20}}|all|the|any|every){_S}){{0,4}}"
    rf"{_SECRETS}{_S}(?:[\w.,]{{1,30}}{_S}){{0,6}}?to{_S}(?:<)?(?:https?://|[\w.+-]{{1,60}}@)",
    rf"\b(?:disable|bypass|circumvent|turn{_S}off){_S}(?:(?:all|any|the|your|its){_S}){{0,3}}"
    rf"(?:safety|guardrails?|content{_S}filters?|safeguards?|security{_S}(?:checks?|policies))\b",
    rf"\b(?:the{_S})?(?:ai|assistant|model|agent|llm){_S}(?:reading|that{_S}reads|who{_S}reads|processing){_S}"
    rf"(?:this|these)\b",
    r"(?:^|\n)[ \t>*#]{0,8}(?:new|updated|real|actual)[ \t]{1,4}(?:system[ \t]{1,4})?"
    r"instructions?[ \t]{0,4}:",
    r"<\|(?:im_start|im_end|system|user|assistant|endoftext|begin_of_text|start_header_id)\|>",
    r"\[/?INST\]|<</?SYS>>|</?(?:system|system[-_]prompt|system[-_]reminder|system[-_]message)>",
    r"(?:^|\n)#{2,4}[ \t]{1,4}(?:system|system prompt|instruction)[ \t]{0,4}:",
    # The same wishes in other languages that are met often.
    rf"\b(?:ignorier|missacht|vergiss|vergess)\w{{0,3}}{_S}(?:(?:bitte|alle|die|deine|jegliche|sämtliche){_S}){{0,3}}"
    rf"(?:vorherig|bisherig|obig|vorig|früher|vorangegangen)\w{{0,3}}{_S}(?:anweisung|instruktion|regel|vorgabe)\w{{0,3}}",
    rf"\bignor(?:e|ez|er){_S}(?:(?:toutes|les|tes|vos){_S}){{0,3}}(?:instructions|consignes|règles){_S}(?:précédentes|antérieures|ci-dessus)",
    rf"\bignora(?:d|r)?{_S}(?:(?:todas|las|tus){_S}){{0,3}}(?:instrucciones|reglas){_S}(?:anteriores|previas)",
    r"(?:忽略|无视|忘记|無視)(?:之前|以上|上述|先前|前面|所有|的|全部|一切){0,4}(?:指令|指示|提示|说明|命令|規則|规则)",
    r"(?:以前|上記|これまで)の(?:すべての)?(?:指示|命令|ルール)を(?:無視|忘れ)",
    rf"игнорируй(?:те)?{_S}(?:(?:все|любые){_S})?(?:предыдущие|прежние){_S}(?:инструкции|указания)",
)
_PHRASE = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.IGNORECASE)
# One of these stands in every phrase: most notes need no further look.
_HINT = re.compile(
    r"ignor|disregard|forget|overrid|bypass|overlook|discard|tell|inform|alert|notify|mention|reveal|disclos"
    r"|hide|conceal|you[\s>*_`\"'“”-]{1,8}are|pretend|act|behave|print|show|repeat|output|leak|display|send|post"
    r"|upload|exfiltrat|transmit|forward|email|disable|circumvent|turn|reading|reads|processing|instruction"
    r"|<\||inst\]|sys>>|system|vergiss|vergess|missacht|忽略|无视|忘记|無視|忘れ|игнорируй",
    re.IGNORECASE,
)


def instruction_lines(text: str) -> list[int]:
    """The lines, from 1, on which such a phrase begins; each once. Letters of other widths and styles
    count as the plain ones. Give the text without what is invisible in it."""
    if _HINT.search(text) is None and text.isascii():
        return []
    # Compatibility forms have line breaks only where the text has them, so lines keep their numbers.
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    lines: list[int] = []
    line, counted = 1, 0
    for match in _PHRASE.finditer(plain):
        start = match.start() + (len(match[0]) - len(match[0].lstrip("\n")))
        line += plain.count("\n", counted, start)
        counted = start
        if not lines or lines[-1] != line:
            lines.append(line)
    return lines
