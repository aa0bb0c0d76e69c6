"""A text as its sentences, and which of them ask for something without a question mark. Pure.

A full stop does not end a sentence behind an abbreviation (`Mr. Byrne`, `z. B.`), a date or another
ordinal number (`am 18. Dezember`, `im 3. Stock`). Where it is open the parts stay together: two
facts in one memory are both found, half a fact is lost.
"""

import re

_SENTENCE = re.compile(
    r"[^.!?…。！？]+(?:[.!?…](?=\S)[^.!?…。！？]*)*(?:[。！？]+|[.!?…]+(?=\s|$)|$)\s*"
)
# Before a name, a number or what they shorten.
_TITLES = (
    "dr|mr|mrs|ms|mx|prof|st|sr|sra|srta|dra|hr|fr|fa|dipl|ing|mag|sig|dott|avv|rev|capt|gen|col|lt|"
    "sgt|hon|jr|mme|mlle|mevr|dhr|drs|ir|mw|ca|approx|inkl|incl|exkl|excl|zzgl|abzgl|bspw|ggf|evtl|"
    "vgl|sog|bzgl|max|min|mind|vs|dept|geb|gest|verh|gegr|bearb|hrsg|südl|nördl|östl|westl|tel|fig|"
    "abb|vol|kap|art|abs|par|op|cf|al|aka|st[äa]dt|str|ave|blvd|rd"
)
_MONTHS = (
    "jan|feb|febr|mar|mär|apr|mai|jun|jul|aug|sep|sept|oct|okt|nov|dec|dez|ene|abr|ago|dic|févr|avr|"
    "juil|déc|fev|set|out|gen|giu|lug|ott|mrt|mei"
)
# One letter (`J. Smith`, `z. B.`), or letters with stops between them (`e.g.`); `I` is a word.
_SHORT = re.compile(
    rf"(?:^|[\s(\"'„“])(?:(?!I\.)[^\W\d_]|(?:[^\W\d_]\.)+[^\W\d_]|(?:{_TITLES})|\w+str)\.$",
    re.IGNORECASE,
)
_BEFORE_NUMBER = re.compile(
    rf"\b(?:no|nos|nr|nro|num|núm|p|pp|pag|pág|s|{_MONTHS})\.$", re.IGNORECASE
)
_ENDS_IN_NUMBER = re.compile(r"(?:^|\s)\d{1,3}\.$")
# `bzw.`, `etc.`, `a.m.` may end a sentence as well.
_MAY_END = re.compile(r"\b(?:bzw|usw|etc|u\.?a|a\.m|p\.m|vh|resp|inc|ltd|co)\.$", re.IGNORECASE)
_ORDINAL = re.compile(
    r"\b(?:am|vom|zum|der|den|dem|die|das|des|im|beim|ab|bis|jede[nmrs]?|unser\w*|mein\w*|ein\w*|"
    r"und|seit|ihr\w*|sein\w*|kein\w*|diese[rnms]?|mandag|tirsdag|onsdag|torsdag|fredag|lørdag|"
    r"søndag|det|w|dnia|do|od)\s+\d{1,3}\.$",
    re.IGNORECASE,
)
_MONTH_NAME = re.compile(
    r"(?:januar|jänner|februar|feber|märz|april|mai|juni|juli|august|september|oktober|november|"
    r"dezember|marts|maj|december|mars|januari|februari|augusti|desember|stycznia|lutego|marca|"
    r"kwietnia|maja|czerwca|lipca|sierpnia|września|października|listopada|grudnia)\b",
    re.IGNORECASE,
)

# A question word before the verb that a question has there: `wer zu spät kommt, zahlt` and `wie
# besprochen` are none, nor is a heading.
_ASKED = {
    "wer|was|wo|wann|warum|wie|wohin|woher|womit|wen|wem|weshalb": (
        r"(?:ist|sind|war|waren|hat|haben|hei(?:ß|ss)en|heißt|läuft|liegt|wird|werden|kann|können|"
        r"soll|muss|gilt|kostet|lautet|findet|bekomme)"
    ),
    r"(?:wie\s+(?:viele?|lange|hoch|groß|oft|teuer)|welche[rsmn]?)\s+\w+(?:\s+\w+)?": (
        r"(?:ist|sind|hat|haben|gilt|gibt|nutzen|verwenden|benutzen|kostet|läuft|wird|werden)"
    ),
    "qui|où|quand|comment|combien|quel(?:le)?s?": r"(?:est|sont|a|s['’]appelle|coûte|dois|faut)",
    "quién(?:es)?|cuándo|dónde|cómo|cuál(?:es)?|cuánto|qué": (
        "(?:es|son|está|están|se|hay|cuesta|fue)"
    ),
    "quem|onde|como|qual|quais|quanto": "(?:é|são|está|fica|se|custa|foi)",
    "chi|come|quanto|qual|quali": "(?:è|sono|si|costa)",
    "wie|waar|wanneer|wat|hoe|hoeveel|welke": ("(?:is|zijn|heeft|heet|kost|ligt|staat|kan|moet)"),
}
_UNMARKED = re.compile(
    r"\s*(?:(?:und|also|aber|et|y|e|en)\s+)?(?:"
    + "|".join(rf"(?:{words})\s+{verbs}\b" for words, verbs in _ASKED.items())
    + r"|qu['’]est-ce\b|(?:dov|qual|cos|com|quand)['’]è\b)[^:.!]*$",
    re.IGNORECASE,
)
_WONDERS = (
    r"i(?:['’]m| am)? (?:just )?wonder(?:ing)?|i['’]?d like to know|i want to know|"
    r"ich frage mich|ich (?:wüsste|wüßte) gern(?:e)?|"
    r"ich (?:möchte|will|würde gerne?) (?:gern(?:e)? )?wissen|"
    r"je me demande|me pregunto|pergunto-me|me pergunto|mi chiedo|mi domando|ik vraag me af"
)
_WONDERED = (
    r"who|whom|whose|what|where|when|why|how|which|if|whether|"
    r"wer|wen|wem|was|wo|wann|warum|wie|welche\w*|ob|"
    r"qui|où|quand|comment|pourquoi|quel\w*|combien|si|ce que|"
    r"quién|qué|dónde|cuándo|cómo|cuál|cuánto|quem|o que|onde|como|qual|se|"
    r"chi|che|dove|quando|come|quale|perché|wat|waar|wanneer|hoe|of"
)
_WONDER = re.compile(rf"\s*(?:{_WONDERS})\b[\s,]*(?:{_WONDERED})\b", re.IGNORECASE)
# `Zeig mir …`: a command with the pronoun of who says it. `Dinos is our cat`.
_REQUESTS = (
    r"(?:zeige?|sage?|nenne?|erzähle?|gib|suche?|erkläre?|schreibe?|schicke?|hilf|liste|übersetze?)"
    r"\s+(?:mir|uns)\b",
    r"fasse?\s+.+\szusammen\W*$",
    r"liste\s+.+\sauf\W*$",
    r"(?:montre|dis|donne|explique|trouve|cherche|raconte|envoie)(?:z|s)?-(?:moi|nous)\b",
    r"(?:muéstra|enséña|di|explíca|búsca|da|cuénta|envía|resúme)(?:me|nos)\b",
    r"(?:mostra|mostre|diz|diga|dá|explica|explique|procura|conta|envia)-(?:me|nos)\b",
    r"(?:mostra|dim|spiega|da|cerca|raccont[ao]|trova|manda)(?:mi|ci)\b",
    r"(?:vertel|zeg|geef|stuur|toon|wijs)\s+(?:me|mij|ons)\b",
    r"laat\s+(?:me|mij|ons)\b.*\bzien\b",
)
_PLEASE = r"(?:(?:bitte|por favor|s['’]il (?:te|vous) pla[iî]t|per favore|alsjeblieft),?\s+)?"
_REQUEST = re.compile(
    rf"\s*{_PLEASE}(?:{'|'.join(_REQUESTS)})(?!\s+(?:is|ist|est)\b)", re.IGNORECASE
)


def asks_unmarked(sentence: str) -> bool:
    """Whether a sentence is a question without its mark, or what somebody asks themselves."""
    return _UNMARKED.match(sentence) is not None or _WONDER.match(sentence) is not None


def requests_something(sentence: str) -> bool:
    """Whether it asks for something to be done now, in other languages than English."""
    return _REQUEST.match(sentence) is not None


def split_sentences(text: str) -> list[str]:
    sentences: list[str] = []
    for part in (it.strip() for it in _SENTENCE.findall(text)):
        if part and sentences and _goes_on(sentences[-1], part):
            sentences[-1] += f" {part}"
        elif part:
            sentences.append(part)
    return sentences


def _goes_on(before: str, part: str) -> bool:
    if not before.endswith(".") or before.endswith(".."):
        return False
    begins_low, begins_with_number = part[0].islower(), part[0].isdigit()
    if _MAY_END.search(before):
        return begins_low
    if _SHORT.search(before):
        return True
    if _BEFORE_NUMBER.search(before):
        return begins_with_number
    if _ENDS_IN_NUMBER.search(before):
        is_date = _MONTH_NAME.match(part) is not None
        return begins_low or begins_with_number or is_date or _ORDINAL.search(before) is not None
    return False
