"""What somebody says to a memory: what of it is kept, and why the rest is not. Pure.

Statements, decisions, preferences, instructions, corrections and plans are kept; greetings, thanks,
questions and one-off requests are not. `Remember …` is obeyed whatever follows, `Forget …` too.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

# Longer texts and those with lines of their own are kept whole or not at all.
MAX_SENTENCE_CHARS = 600
MAX_STANDING_CHARS = 600


class Standing(StrEnum):
    """What holds for everything that is asked later."""

    INSTRUCTION = "instruction"
    PREFERENCE = "preference"


@dataclass(frozen=True, slots=True)
class Utterance:
    """`kept` is the text to store; empty where nothing is. `forgotten`: what is to be forgotten.
    `skipped` are the parts that are not kept, each with the reason."""

    kept: str = ""
    forgotten: str = ""
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def reason(self) -> str:
        return "; ".join(dict.fromkeys(why for _, why in self.skipped))


_I = re.IGNORECASE
_POLITE = (
    r"(?:please,?\s+|pls\s+|bitte\s+|por\s+favor,?\s+|"
    r"(?:can|could|would|will)\s+you\s+(?:please\s+)?)*"
)
_REMEMBER = re.compile(
    rf"\s*{_POLITE}"
    r"(?:(?:remember|memori[sz]e|keep\s+in\s+mind|do(?:n['’]t|\s+not)\s+forget|note(?:\s+to\s+self)?)"
    r"(?:(?:\s+(?:this|the\s+following)(?:\s+fact)?)?\s*[:：]|\s+that\b(?!\s*[:,]))"
    r"|(?:merke?\s+dir(?:\s+bitte)?|denk\s+daran|retiens|souviens-toi|recuerda)\s*[:：,]"
    r"|(?:recuerda|acu[ée]rdate\s+de|anota|apunta)\s+que\b"
    r"|(?:retiens|souviens-toi|rappelle-toi|note)\s+qu(?:e\b|['’]))\s*",
    _I,
)
_FORGET = re.compile(
    rf"\s*{_POLITE}(?:forget|vergiss|oublie|olvida|esque[cç]a|dimentica|vergeet|забудьте|забудь)\b"
    r"(?:,?\s+(?:that|que|dass|che|dat|что|about|what\s+i\s+said\s+about|"
    r"(?:everything|all|anything)(?:\s+(?:that\s+)?(?:you\s+know|i\s+(?:said|told\s+you)))?\s+about))?"
    r"[\s:,]+(?P<what>\S.*)",
    _I | re.DOTALL,
)
_POINTING = frozenset(
    ("that", "it", "this", "them", "das", "es", "dies", "eso", "esto", "ello", "ça", "cela")
)
UNCLEAR = "it does not say what to forget: name it, as in `Forget that the gate is blue`"
_OFF_THE_RECORD = re.compile(
    rf"\s*{_POLITE}(?:do(?:n['’]t|\s+not)|never)\s+(?:remember|memori[sz]e)\s+"
    r"(?:this|that|it|anything|any\s+of\s+this|the\s+following|what)\b",
    _I,
)
_SENTENCE = re.compile(r"[^.!?…]+(?:[.!?…](?=\S)[^.!?…]*)*(?:[.!?…]+(?=\s|$)|$)\s*")
_OPENER = re.compile(
    r"\s*(?:hi|hello|hey|good (?:morning|evening|night|afternoon)|thanks?(?: you)?"
    r"(?: so much| a lot)?|thx|bye|hallo|danke|merci|bonjour|hola)\b(?: there| all| everyone)?",
    _I,
)
# A wish for whoever is spoken to: nothing is said of anything else.
_WISH = re.compile(
    r"(?:i |we )?(?:hope|wish|trust|nice|good|glad|great|lovely)\b.*\byou\w*\b.*", _I
)
_HYPOTHESIS = re.compile(
    r"\s*(?:(?:let['’]?s )?(?:suppose|imagine|pretend)\b|let['’]?s (?:say|assume)\b|what if\b|"
    r"hypothetically\b|if (?:i|we|you) (?:were|had)\b)",
    _I,
)
# `Let's` with what somebody settles on is a decision.
_DECISION = re.compile(
    r"\s*let['’]?s (?:go (?:with|for)|use|stick|keep|choose|pick|take|settle|agree|call|drop|"
    r"postpone|not)\b",
    _I,
)
_PRAISE = (
    r"(?:(?:that|this|it|which)(?:['’]s)?\s+)?(?:sounds|looks|seems|is|was|works)?\s*"
    r"(?:really |very |so )?"
    r"(?:good|great|fine|perfect|nice|lovely|right|cool|helpful|excellent|awesome)"
)
_PAUSE = (
    r"let me (?:think|see|look|check)"
    r"(?:\s+(?:about|at|on|over|it|that|this|for|a|again|first|second|moment|minute))*"
)
_CHAT = re.compile(
    r"\s*(?:ok(?:ay)?|yes|yep|no|nope|sure|right|done|great|cool|nice|perfect|lol|haha+|hm+|wow|fine|"
    r"sounds good|got it|i see|never mind|let me think|that (?:helps|worked|works|is (?:it|great))|"
    r"you'?re welcome|no problem)\b"
    r"(?:[\s,]+(?:please|thanks?|thank you|so much|that (?:helps|worked)|let me think|"
    r"then|so|a lot))*\W*",
    _I,
)
_TALK = re.compile(rf"\s*(?:{_PRAISE}|{_PAUSE})\W*", _I)
_STATUS = re.compile(
    r"\s*(?:(?:running|executing|loading|calling|searching|processing)\b.{0,60}(?:\.\.\.|…)\s*"
    r"|(?:task|all|everything|operation)\s+(?:is\s+)?(?:completed?|done|finished)\b.*)",
    _I,
)
_AUX = r"(?:do|does|did|is|are|am|was|were|can|could|should|would|will|has|have|had|may|might|must)"
_QUESTION = re.compile(
    rf"\s*(?:(?:and|so|but|then)\s+)?(?:(?:what|who|whom|whose|where|why|how|which)\b(?:\W+\w+){{0,3}}?\W+{_AUX}\b"
    r"|(?:wer|wie|was|wo|wann|warum|welche[rs]?|où|quand|pourquoi|comment|quel(?:le)?|dónde|cuándo|cómo)\b.*\?"
    rf"|{_AUX}\s+(?:you|i|we|they|he|she|it|there|the|my|our|your|this|that)\b.*\?)",
    _I | re.DOTALL,
)
_STANDING = re.compile(
    r"\s*(?:please\s+|bitte\s+)?(?:always|never|from now on|whenever|every time|in (?:the )?future|"
    r"when(?:ever)? (?:i|we|you)\b|"
    r"do(?:n['’]t| not) (?!know|think|have|want|like|need|remember|see)|"
    r"use\b|prefer\b|avoid\b|keep (?:answers|replies|responses|it|your)|"
    r"(?:answer|reply|respond|speak)(?: \w+)? (?:in|with|briefly|short|only|always)\b|write in\b|"
    r"call me\b|address\b|format\b|stick to\b|limit\b|ab sofort|immer\b|nie(?:mals)?\b|antworte\b|"
    r"toujours\b|ne .* jamais\b|siempre\b|nunca\b)",
    _I,
)
# `Why I have never seen it` tells of the past.
_STANDING_INSIDE = re.compile(
    r"(?<!have )(?<!has )(?<!had )(?<!['’]ve )(?<!\bi )(?<!\bwe )"
    r"\b(?:always|never|from now on|whenever|every time|each time|immer|toujours|siempre)\b",
    _I,
)
_PREFERENCE = re.compile(
    r"\s*(?:i(?:['’]d| would)? (?:really |strongly |much )?(?:prefer|rather|like|love|enjoy|hate|"
    r"dislike)|i (?:only|usually|generally|don['’]t) (?:drink|eat|use|like|want|work)|i want\b|"
    r"my (?:preference|favou?rite)\b|je préfère|ich (?:mag|bevorzuge)|prefiero)\b",
    _I,
)
# What somebody wants to do now, and no preference.
_WISH_OF_NOW = re.compile(
    r"\s*i(?:['’]d| would)? (?:really |just |also )?(?:want|like|love) (?:you )?to\b"
    r"(?! (?:always|never)\b)",
    _I,
)
# In the middle of a sentence, or of a question about something else.
_PREFERENCE_INSIDE = re.compile(
    r"(?<!should )(?<!do )(?<!would )(?<!did )(?<!can )(?<!if )(?<!whether )"
    r"\b(?:(?:i|we)(?:['’]d| would)? (?:really |strongly |much |usually |generally )?prefer|"
    r"my preference (?:is|for)|je préfère|ich bevorzuge|prefiero)\b",
    _I,
)
_REQUEST = re.compile(
    r"\s*(?:please\s+|bitte\s+|(?:can|could|would|will) you (?:please )?|i need you to |help me )?"
    r"(?:write|show|tell|search|find|look up|list|summari[sz]e|explain|translate|fix|create|make|"
    r"generate|give|draft|add|remove|delete|update|refactor|implement|review|check|run|open|help|"
    r"remind|describe|compare|suggest|recommend|plan|book|order|clean|set up|build|test|debug|"
    r"proofread|introduce|calculate|convert|read|print|send|rewrite|edit|continue|go on|stop|wait|"
    r"look|let'?s|do|try|start)\b",
    _I,
)
_WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_CODE = re.compile(r"```|`[^`\n]+`|\$[A-Z_]{2,}|\b[\w-]+/[\w./-]+\.\w{1,8}\b|\w\(.*\)|=>|;\s*$|::")
_SPEAKER = re.compile(r"\s*[A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*)?:\s")


def read_utterance(message: str) -> Utterance:
    """What of a message is kept, forgotten or left out."""
    plain = message.strip()
    command = _REMEMBER.match(plain)
    if command is not None:
        fact = plain[command.end() :].strip()
        asked = (
            plain[: command.end()].lower().lstrip().startswith(("can", "could", "will", "would"))
        )
        fact = fact.rstrip("?").rstrip() if asked else fact
        if not fact.endswith(("?", "？")):
            return Utterance(fact if len(fact.split()) > 1 else plain)
    if _OFF_THE_RECORD.match(plain):
        return Utterance(skipped=((plain, "you asked not to remember it"),))
    forget = _FORGET.match(plain)
    if forget is not None and not plain.lower().startswith(("don", "do not")):
        what = forget["what"].strip()
        if what.strip(" .!…").lower() in _POINTING:
            return Utterance(skipped=((plain, UNCLEAR),))
        return Utterance(forgotten=what)
    return _read_sentences(plain)


def read_standing(text: str) -> Standing | None:
    """Whether a text is, or has, an instruction or a preference for all that is asked later."""
    if len(text) > MAX_STANDING_CHARS or _SPEAKER.match(text) or "```" in text:
        return None
    for sentence in _split(text):
        if _PREFERENCE_INSIDE.search(sentence):
            return Standing.PREFERENCE
        if sentence.rstrip().endswith("?") or _QUESTION.match(sentence):
            continue
        if _STANDING.match(sentence) or (
            _REQUEST.match(sentence) and _STANDING_INSIDE.search(sentence)
        ):
            return Standing.INSTRUCTION
        if _PREFERENCE.match(sentence) and not _WISH_OF_NOW.match(sentence):
            return Standing.PREFERENCE
    return None


def _read_sentences(plain: str) -> Utterance:
    if not plain:
        return Utterance(skipped=(("", "it is blank"),))
    if len(plain) > MAX_SENTENCE_CHARS or "\n" in plain:
        why = _skip_reason(plain)
        return Utterance(skipped=((plain, why),)) if why else Utterance(plain)
    kept: list[str] = []
    skipped: list[tuple[str, str]] = []
    for sentence in _split(plain):
        why = _skip_reason(sentence)
        if why is None:
            kept.append(sentence)
        else:
            skipped.append((sentence, why))
    return Utterance(" ".join(kept), skipped=tuple(skipped))


def _split(text: str) -> list[str]:
    return [it for it in (found.strip() for found in _SENTENCE.findall(text)) if it]


def _is_chat(text: str) -> bool:
    """Small talk, or several of it one after the other."""
    parts = [it for it in re.split(r"[,;]\s*|\s+-\s+", text.strip(" .!…")) if it]
    return bool(parts) and all(_CHAT.fullmatch(it) or _TALK.fullmatch(it) for it in parts)


def _skip_reason(sentence: str) -> str | None:
    """Why a sentence is not kept; None where it is."""
    opener = _OPENER.match(sentence)
    rest = sentence[opener.end() :].strip(" ,!.-") if opener else sentence
    if opener and (len(rest.split()) < 4 or _WISH.fullmatch(rest)):
        return "it is a greeting"
    if _CHAT.fullmatch(rest) or _is_chat(rest):
        return "it is small talk"
    if _STATUS.fullmatch(rest):
        return "it is a status line"
    if rest.endswith(("?", "？")) or _QUESTION.match(rest):
        return "it is a question"
    if _HYPOTHESIS.match(rest):
        return "it is a supposition"
    if _STANDING.match(rest) or _STANDING_INSIDE.search(rest) or _DECISION.match(rest):
        return None
    if _REQUEST.match(rest) and not _CODE.search(rest):
        return "it is a request, not something to remember"
    if len(_WORDS.findall(rest)) < 2 + (not _CODE.search(rest)) and not _PREFERENCE.match(rest):
        return None if _is_short_statement(rest) else "it says too little"
    return (
        None
        if _has_verb(rest) or _PREFERENCE.match(rest) or _CODE.search(rest)
        else "it says nothing about anything"
    )


def _is_short_statement(text: str) -> bool:
    """`I'm vegetarian`: few words, and a whole statement."""
    return bool(re.match(r"(?:i['’]?m|i am|we are|it is|it['’]s)\s+\w", text, _I))


def _has_verb(text: str) -> bool:
    """Whether a text may have a verb: nobody knows them all, so four words are enough."""
    return len(_WORDS.findall(text)) >= 4 or bool(_VERB.search(text))


_VERB = re.compile(
    r"\b(?:is|are|am|was|were|has|have|had|be|will|can|must|should|\w+s|\w+ed|hash|use|ist|sind|est|es)\b",
    _I,
)
