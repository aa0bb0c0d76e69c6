"""What somebody says to a memory: what of it is kept, and why the rest is not. Pure.

Statements, decisions, preferences, instructions, corrections and plans are kept; greetings, thanks,
questions and one-off requests are not. `Remember …` is obeyed whatever follows, `Forget …` too.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from pecia.features.memory.core.classify.chatter import is_chatter, is_program_text
from pecia.features.memory.core.classify.instruction import sounds_standing
from pecia.features.memory.core.compare.correction import CONTEXT_MARK, with_context
from pecia.features.memory.core.compare.phrases import LANGUAGES, score_languages
from pecia.features.memory.core.compare.vocabulary import VOCABULARY
from pecia.features.memory.core.sentence import asks_unmarked, requests_something, split_sentences

# Longer texts and those with lines of their own are kept whole or not at all.
MAX_SENTENCE_CHARS = 600
MAX_STANDING_CHARS = 600
# Of a statement in a script without spaces.
MIN_UNSPACED_CHARS = 5
# Of a sentence that begins with an article, to be understood alone.
MIN_ARTICLE_WORDS = 5


ForgetExtent: TypeAlias = Literal["claim", "topic", "all"]
"""`that A is B`; a word for something; everything about it."""


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
    extent: ForgetExtent = "topic"
    skipped: tuple[tuple[str, str], ...] = ()
    parts: tuple[str, ...] = ()

    @property
    def facts(self) -> list[str]:
        """What is kept, a text for each fact that can be understood alone."""
        if len(self.parts) > 1:
            return [*self.parts]
        return split_facts(self.kept)

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
    r"(?:(?:remember|memori[sz]e|keep\s+in\s+mind|do(?:n['’]t|\s+not)\s+forget|note(?:\s+to\s+self)?"
    r"|(?:note|write|jot)\s+down|(?:make|take)\s+(?:a\s+)?note(?:\s+of\s+it)?)"
    r"(?:(?:\s+(?:this|the\s+following)(?:\s+fact)?)?\s*[:：]|\s+that\b(?!\s*[:,]))"
    r"|(?:merke?\s+dir(?:\s+bitte)?|denke?\s+daran|retiens|souviens-toi|recuerda|lembra|lembre|"
    r"memoriza|ricorda(?:ti)?|onthoud|запомни(?:те)?|запам['’]ятай(?:те)?|zapamiętaj|kom\s+ihåg|husk)"
    r"(?:\s*,\s*(?:dass|что|що|że)\b|\s*[:：,])"
    r"|(?:lembr[ae]|lembra-te\s+de|lembre-se\s+de|anot[ae])\s+que\b"
    r"|(?:ricorda(?:ti)?|tieni\s+a\s+mente)\s+che\b"
    r"|(?:onthoud\s+dat|kom\s+ihåg\s+att|husk\s+at|(?:za)?pamiętaj,?\s+że)\b"
    r"|(?:请|請)?(?:帮我|幫我)?(?:记住|記住|记得|記得|记下|記下)\s*[:：,，]?"
    r"|(?:覚えておいて|覚えて|記憶して)(?:ください|下さい|くださいね|ね)?\s*[:：、,。]"
    r"|기억해\s*(?:줘|주세요|두세요)?\s*[:：,.]"
    r"|(?:recuerda|acu[ée]rdate\s+de|anota|apunta)\s+que\b"
    r"|(?:retiens|souviens-toi|rappelle-toi|note)\s+qu(?:e\b|['’]))\s*",
    _I,
)
_FORGET = re.compile(
    rf"\s*{_POLITE}(?:forget|vergiss|oublie|olvida|esque[cç]a|dimentica|vergeet|забудьте|забудь|zapomnij|glöm|glem)\b"
    r"(?:,?\s+(?:(?P<claim>that|que|dass|che|dat|что|що|że|att|at)|about|what\s+i\s+said\s+about|"
    r"(?P<all>(?:everything|all|anything)(?:\s+(?:that\s+)?(?:you\s+know|i\s+(?:said|told\s+you)))?"
    r"\s+about)))?"
    r"[\s:,]+(?P<what>\S.*)",
    _I | re.DOTALL,
)
# In scripts without spaces, and where the verb comes last.
_REMEMBER_LAST = re.compile(
    r"(?P<fact>.{4,}?)(?:(?:こと)?を?、?(?:覚えておいて|覚えて|記憶して)(?:ください|下さい|ね)*"
    r"|(?:를|을|라고|다고)?\s*기억해\s*(?:줘|주세요|두세요)?)[。.!！]*",
    re.DOTALL,
)
_FORGET_UNSPACED = re.compile(
    r"(?:请|請)?(?:忘记|忘記|忘掉|忘了)\s*[:：,，]?\s*(?P<what>\S.*)", re.DOTALL
)
_FORGET_LAST = re.compile(
    r"(?P<what>.{2,}?)(?:(?:のこと|こと)?[をは]?忘れて(?:ください|下さい|ね)*|(?:를|을)?\s*잊어\s*(?:줘|주세요)?)[。.!！]*",
    re.DOTALL,
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
# `Remember that A and that B` is two facts.
_FURTHER = re.compile(
    r",?\s+(?:and\s+that|und\s+dass|et\s+que|y\s+que|e\s+que|e\s+che|en\s+dat|и\s+что|i\s+że)\s+",
    _I,
)
_OPENER = re.compile(
    r"\s*(?:hi|hello|hey|good (?:morning|evening|night|afternoon)|thanks?(?: you)?"
    r"(?: so much| a lot)?|thx|bye|hallo|danke|merci|bonjour|hola)\b(?: there| all| everyone)?",
    _I,
)
# Chinese and Japanese.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_UNSPACED_GREETING = re.compile(
    r"\s*(?:你好|您好|早上好|晚上好|谢谢|謝謝|再见|こんにちは|こんばんは|おはよう|ありがとう)"
)
# `请…`, `…してください`: somebody is to do something now.
_UNSPACED_REQUEST = re.compile(
    r"\s*(?:请|請|帮我|幫我)|.*(?:ください|下さい|てくれ|주세요|줘)[。.!！]*$"
)
_UNSPACED_QUESTION = re.compile(r".*(?:吗|嗎|呢|か|까|나요)[。.？?]*$", re.DOTALL)
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
# `Yes, please do that`: it says nothing without what it answers.
_ASSENT = re.compile(
    r"\s*(?:(?:yes|yep|yeah|ok(?:ay)?|sure|no|right|great|perfect|fine|then|and|please)[\s,]+)*"
    r"(?:go ahead|go for it|go on|carry on|keep going|make it so|please do|do (?:it|that|so|this)|"
    r"(?:do |take |use )?(?:that|this|the (?:first|second|third|last|other|former|latter)) "
    r"(?:one|option))"
    r"(?:[\s,]+(?:please|then|now|thanks?|thank you|again|instead))*\W*",
    _I,
)
_STATUS = re.compile(
    r"\s*(?:(?:running|executing|loading|calling|searching|processing)\b.{0,60}(?:\.\.\.|…)\s*"
    r"|(?:task|all|everything|operation)\s+(?:is\s+)?(?:completed?|done|finished)\b.*)",
    _I,
)
_UNDO = re.compile(r"\s*(?:please )?undo(?: (?:that|this|it|the last(?: \w+)?))?\W*", _I)
_NOTHING_TOLD = (
    (_STATUS, "it is a status line"),
    (_UNDO, "memory_undo takes something back, with the id that was told for it"),
)
_AUX = r"(?:do|does|did|is|are|am|was|were|can|could|should|would|will|has|have|had|may|might|must)"
_QUESTION = re.compile(
    rf"\s*(?:(?:and|so|but|then)\s+)?(?:(?:what|who|whom|whose|where|why|how|which)\b(?:\W+\w+){{0,3}}?\W+{_AUX}\b"
    r"|(?:wer|wie|was|wo|wann|warum|welche[rs]?|où|quand|pourquoi|comment|quel(?:le)?|dónde|cuándo|cómo)\b.*\?"
    rf"|{_AUX}\s+(?:you|i|we|they|he|she|it|there|the|my|our|your|this|that)\b.*\?)",
    _I | re.DOTALL,
)
# `Never mind the last thing`, `always a pleasure`.
_NO_COMMAND = re.compile(
    r"\s*(?:never (?:mind|heard|been|seen|knew|ever)\b|never again\W*$|"
    r"always (?:a|an|happy|nice|good|great|glad|been|was|is|has)\b|"
    r"nie(?:mals)? (?:gehört|gesehen|wieder)\b|immer (?:gern|gerne|wieder|noch)\b|"
    r"toujours (?:pas|un plaisir)\b|siempre (?:un placer|igual)\b)",
    _I,
)
_NEVER_MIND = re.compile(
    r"\s*(?:never mind\b|nevermind\b|schon gut\b|peu importe\b|no importa\b)", _I
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
# `If I ask for a label, make it A6`: a command behind the condition.
_CONDITIONAL = re.compile(
    r"\s*if (?:i|we|you)\b(?! (?:were|had|could|would|was)\b)[^,.!?]{2,100},\s*"
    r"(?:then\s+)?(?:please\s+)?(?:always\s+|never\s+|do(?:n['’]t|\s+not)\s+)?"
    r"(?:make|use|answer|reply|respond|write|show|tell|ask|explain|translate|give|add|include|"
    r"leave|keep|put|call|send|suggest|list|summari[sz]e|check|run|format|start|stop|warn|remind|"
    r"say|quote|cite|link|name|round|convert|prefer|avoid|assume|treat|skip|mention|offer)\b",
    _I,
)
# `Réponds toujours en français`: behind the verb that a command begins with, in languages in which
# no subject stands there; in others (`Ana siempre llega tarde`) behind verbs of commands; or in
# front.
_EVER_BEHIND_VERB = r"(?:immer|nie|niemals|toujours|jamais|altijd|nooit|alltid|altid|aldrig|aldri)"
_EVER_ELSEWHERE = r"(?:siempre|nunca|sempre|jamais|zawsze|nigdy|всегда|никогда|завжди|ніколи)"
_COMMAND_VERB = rf"(?:{'|'.join(VOCABULARY['command_verbs'])})(?:me|mi)?"
_EVER_COMMAND = re.compile(
    rf"\s*(?:(?P<verb>[^\W\d_]+(?:['’][^\W\d_]+)?)\s+{_EVER_BEHIND_VERB}|{_EVER_BEHIND_VERB}|"
    rf"(?:{_COMMAND_VERB}\s+)?(?:{_EVER_ELSEWHERE})|{_COMMAND_VERB}\s+mai)\b\s+\w",
    _I,
)
_ALWAYS_UNSPACED = re.compile(r"\s*(?:请|請)?(?:总是|總是|永远|永遠|一律|始终|始終|以后都|以後都)")
# `Write dates as YYYY-MM-DD in all reports`.
_FORMAT = re.compile(
    r"\s*(?:please\s+)?(?:write|format|spell|express|give|show|state|display|round)\s+"
    r"(?:\w+\s+){0,3}?(?:as|in|with|without|to)\b.*\b(?:in|on|for)\s+(?:all|every|each|any)\b",
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
    if command is None and (last := _REMEMBER_LAST.fullmatch(plain)):
        return Utterance(last["fact"].strip())
    if command is not None:
        fact = plain[command.end() :].strip()
        asked = (
            plain[: command.end()].lower().lstrip().startswith(("can", "could", "will", "would"))
        )
        fact = fact.rstrip("?").rstrip() if asked else fact
        if not fact.endswith(("?", "？")):
            is_told = len(fact.split()) > 1 or (_is_unspaced(fact) and len(fact) > 1)
            return Utterance(fact if is_told else plain, parts=tuple(_FURTHER.split(fact)))
    if _OFF_THE_RECORD.match(plain):
        return Utterance(skipped=((plain, "you asked not to remember it"),))
    forget = _FORGET.match(plain) or _FORGET_UNSPACED.match(plain) or _FORGET_LAST.fullmatch(plain)
    if forget is not None and not plain.lower().startswith(("don", "do not")):
        what = forget["what"].strip()
        if what.strip(" .!…").lower() in _POINTING:
            return Utterance(skipped=((plain, UNCLEAR),))
        named = forget.groupdict()
        extent = "claim" if named.get("claim") else "all" if named.get("all") else "topic"
        return Utterance(forgotten=what, extent=extent)
    return _read_sentences(plain)


def read_standing(text: str) -> Standing | None:
    """Whether a text is, or has, an instruction or a preference for all that is asked later."""
    if len(text) > MAX_STANDING_CHARS or _SPEAKER.match(text) or "```" in text:
        return None
    for sentence in split_sentences(text):
        if _PREFERENCE_INSIDE.search(sentence):
            return Standing.PREFERENCE
        if sentence.rstrip().endswith("?") or _QUESTION.match(sentence):
            continue
        if is_instruction(sentence) or (
            _REQUEST.match(sentence) and _STANDING_INSIDE.search(sentence)
        ):
            return Standing.INSTRUCTION
        if _PREFERENCE.match(sentence) and not _WISH_OF_NOW.match(sentence):
            return Standing.PREFERENCE
    return None


def is_instruction(sentence: str) -> bool:
    """Whether a sentence begins as an instruction for all that is asked later."""
    if _NO_COMMAND.match(sentence):
        return False
    patterns = (_STANDING, _CONDITIONAL, _FORMAT, _ALWAYS_UNSPACED)
    if any(it.match(sentence) for it in patterns) or _is_ever_command(sentence):
        return True
    is_of_now = _HYPOTHESIS.match(sentence) or _WISH_OF_NOW.match(sentence)
    return not is_of_now and not requests_something(sentence) and sounds_standing(sentence)


def _is_ever_command(sentence: str) -> bool:
    """`Schreibe nie ohne Anrede`, not `sie ist nie zu Hause`: its first word is no pronoun."""
    found = _EVER_COMMAND.match(sentence)
    if found is None:
        return False
    verb = (found["verb"] or "").lower()
    return not any(verb in it.light or verb in it.words["speaker"] for it in LANGUAGES)


def _read_sentences(plain: str) -> Utterance:
    if not plain:
        return Utterance(skipped=(("", "it is blank"),))
    if is_program_text(plain):
        return Utterance(skipped=((plain, "it is the output of a program, or code"),))
    if len(plain) > MAX_SENTENCE_CHARS or "\n" in plain:
        why = _skip_reason(plain)
        return Utterance(skipped=((plain, why),)) if why else Utterance(plain)
    kept: list[str] = []
    skipped: list[tuple[str, str]] = []
    before = ""
    for sentence in split_sentences(plain):
        why = _skip_reason(sentence)
        if why is None:
            points = before.endswith("?") and _points_back(sentence)
            kept.append(with_context(sentence, before) if points else sentence)
        else:
            skipped.append((sentence, why))
        before = sentence
    return Utterance(" ".join(kept), skipped=tuple(skipped))


def _is_chat(text: str) -> bool:
    """Small talk, or several of it one after the other."""
    if _CHAT.fullmatch(text) or _ASSENT.fullmatch(text):
        return True
    parts = [it for it in re.split(r"[,;]\s*|\s+-\s+", text.strip(" .!…")) if it]
    return bool(parts) and all(_CHAT.fullmatch(it) or _TALK.fullmatch(it) for it in parts)


def _skip_reason(sentence: str) -> str | None:
    """Why a sentence is not kept; None where it is."""
    opener = _OPENER.match(sentence)
    if _is_unspaced(sentence):
        return _skip_unspaced(sentence)
    rest = sentence[opener.end() :].strip(" ,!.-") if opener else sentence
    if opener and (len(rest.split()) < 4 or _WISH.fullmatch(rest)):
        return "it is a greeting"
    if _NEVER_MIND.match(rest) or _is_chat(rest):
        return "it is small talk"
    if why := next((why for it, why in _NOTHING_TOLD if it.fullmatch(rest)), None):
        return why
    if rest.endswith(("?", "？")) or _QUESTION.match(rest) or asks_unmarked(rest):
        return "it is a question"
    if _HYPOTHESIS.match(rest):
        return "it is a supposition"
    return _skip_statement(rest)


def _skip_statement(rest: str) -> str | None:
    if is_instruction(rest) or _STANDING_INSIDE.search(rest) or _DECISION.match(rest):
        return None
    is_request = _REQUEST.match(rest) and not _CODE.search(rest)
    if is_request or requests_something(rest):
        return "it is a request, not something to remember"
    if len(_WORDS.findall(rest)) < 2 + (not _CODE.search(rest)) and not _PREFERENCE.match(rest):
        return None if _is_short_statement(rest) else "it says too little"
    if is_chatter(rest):
        return "it is talk about what is being done or said now"
    says_something = _has_verb(rest) or _PREFERENCE.match(rest) or _CODE.search(rest)
    return None if says_something else "it says nothing about anything"


def _is_unspaced(text: str) -> bool:
    """Whether most of a text is in a script without spaces."""
    return 2 * len(_UNSPACED.findall(text)) > sum(it.isalnum() for it in text)


def _skip_unspaced(sentence: str) -> str | None:
    """The same for scripts without spaces, where words are not counted."""
    if _UNSPACED_GREETING.match(sentence):
        return "it is a greeting"
    if _UNSPACED_QUESTION.fullmatch(sentence) or sentence.endswith(("?", "？")):
        return "it is a question"
    if _UNSPACED_REQUEST.match(sentence):
        return "it is a request, not something to remember"
    said = sum(it.isalnum() for it in sentence)
    return None if said >= MIN_UNSPACED_CHARS else "it says too little"


def _points_back(sentence: str) -> bool:
    """Whether a sentence has a pronoun and no name or noun with an article that it may stand for:
    `we sell them at 18 pounds`."""
    words = _WORDS.findall(sentence)
    place = next((n for n, it in enumerate(words) if it.lower() in _PRONOUNS), None)
    if place is None:
        return False
    before = words[:place]
    is_named = any(it[0].isupper() and it.lower() not in _SPEAKERS for it in before[1:])
    return not is_named and _ARTICLES.isdisjoint(it.lower() for it in before)


_PRONOUNS = frozenset(
    ("it", "it's", "them", "they", "they're", "those", "these", "he", "he's", "she", "she's", "him")
)


def split_facts(text: str) -> list[str]:
    """The sentences of a short text, one by one where each says what it is about: it begins with
    its speaker, with a name or another word that is no pronoun, or it is a longer one with an
    article. What does not is kept with the sentence before it: `My car is a Skoda. The tyres are
    new.`"""
    sentences = split_sentences(text)
    if len(sentences) < 2 or len(text) > MAX_SENTENCE_CHARS or "\n" in text:
        return [text] if text else []
    if not _have_subjects(text, sentences):
        return [text]
    light = frozenset[str]().union(*(it.light for it in LANGUAGES if it.code in _WITH_SUBJECT))
    facts: list[str] = []
    for sentence in sentences:
        words = [it.lower() for it in _WORDS.findall(sentence)]
        is_alone = len(words) > 2 and (
            words[0] in _SPEAKERS
            or words[0] not in light | _LINKING
            # `The tyres are new.` goes on with what was said before it.
            or (words[0] in _ARTICLES and len(words) >= MIN_ARTICLE_WORDS)
        )
        is_cut = bool(facts) and (
            _ABBREVIATED.search(facts[-1]) is not None or sentence.startswith(CONTEXT_MARK)
        )
        if facts and (is_cut or not is_alone):
            facts[-1] += f" {sentence}"
        else:
            facts.append(sentence)
    return facts


def _have_subjects(text: str, sentences: list[str]) -> bool:
    """Whether it is in a language whose sentences have a subject: `Es alérgica` leaves it out."""
    scores = score_languages(text)
    mine = max(it for code, it in scores.items() if code in _WITH_SUBJECT)
    theirs = max(it for code, it in scores.items() if code not in _WITH_SUBJECT)
    if abs(mine - theirs) > 1:
        return mine > theirs
    verbs = VOCABULARY["verbs"]
    return all(not verbs.isdisjoint(it.lower().rstrip(".!").split()) for it in sentences)


_WITH_SUBJECT = frozenset(("en", "de", "fr", "nl", "sv", "da", "no"))
_SPEAKERS = frozenset(
    (
        *("i", "i'm", "i've", "my", "we", "our", "ich", "mein", "meine", "wir", "unser", "unsere"),
        *("je", "mon", "ma", "mes", "nous", "notre", "nos", "ik", "mijn", "wij", "onze"),
        *("jag", "min", "mitt", "jeg", "vi", "vår", "vores"),
    )
)
_ARTICLES = frozenset(("the", "a", "an", "der", "die", "das", "ein", "eine", "le", "la", "les"))
# They go on with what was said before.
_LINKING = frozenset(
    (
        *("it", "it's", "he", "he's", "she", "she's", "they", "they're", "this", "that", "that's"),
        *("these", "those", "there", "here", "his", "her", "its", "their", "also", "but", "so"),
        *("then", "because", "however", "therefore", "otherwise", "both", "either", "neither"),
        *("another", "one", "such", "same", "instead", "except", "only", "still", "yet", "again"),
        *("actually", "correction", "sorry", "no", "yes", "now", "since", "until", "before"),
        *("dies", "diese", "dieser", "dieses", "dort", "deshalb", "außerdem", "sonst", "beide"),
        *("cela", "ça", "celui", "donc", "alors", "aussi", "daar", "dus", "ook", "daarom"),
        *("han", "hon", "hun", "den", "det", "de", "där", "der", "också", "også", "jetzt", "nu"),
    )
)
_ABBREVIATED = re.compile(
    r"\b(?:\w{1,2}|mrs|prof|dipl|ing|etc|bzw|usw|approx|dept|inc|ltd|str|ave|tel|nos?|vol|fig)\.$",
    _I,
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
