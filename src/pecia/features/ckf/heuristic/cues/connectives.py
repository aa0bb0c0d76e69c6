"""Words that link sentences or ask, and so open no condition, in five languages. Pure.

`In addition, …`, `for example`, `determine if …`, `as if written …`
"""

import re

# Phrases that link a sentence to the one before; they limit nothing.
_LINKS = (
    r"in (?:addition|particular|general|fact|contrast|practice|short|summary|turn|other words"
    r"|this way|that way|order to\b[^,]*)",
    r"for (?:example|instance|this reason|that reason|more \w+|further \w+|now|convenience)",
    r"in (?:each |any |every )?such (?:an? )?(?:case|instance|event)s?",
    r"by (?:contrast|the way|the same token)|on the other hand|at the same time|with that said",
    r"instead|therefore|thus|hence|however|moreover|furthermore|similarly|likewise|also|so|note"
    r"|please note",
    r"zum beispiel|beispielsweise|im (?:allgemeinen|übrigen|folgenden|gegensatz dazu)|mit anderen"
    r" worten|in der praxis|daher|deshalb|außerdem|allerdings|jedoch|zudem|ebenso|somit"
    r"|stattdessen",
    r"par exemple|en (?:outre|effet|particulier|général|revanche|pratique|d'autres termes)"
    r"|pour (?:cela|cette raison|plus d\w+[^,]*)|donc|ainsi|cependant|toutefois|de plus|également"
    r"|à la place|au contraire",
    r"por ejemplo|en (?:particular|general|cambio|efecto|la práctica|otras palabras|resumen)"
    r"|para (?:ello|más \w+[^,]*)|por (?:lo tanto|tanto|eso|esta razón)|además|sin embargo"
    r"|asimismo|no obstante|en su lugar",
    r"por exemplo|em (?:particular|geral|resumo|outras palavras|contrapartida|seguida)"
    r"|na prática|no entanto|para (?:isso|mais \w+[^,]*)|por (?:isso|esta razão)|portanto"
    r"|além disso|assim|todavia|também|em vez disso|não obstante",
)
_LINK = re.compile(rf"(?:{'|'.join(_LINKS)})\W*", re.IGNORECASE | re.DOTALL)
_LINK_FIRST = re.compile(rf"(?:{'|'.join(_LINKS)}),\s+(?=\S)", re.IGNORECASE | re.DOTALL)
# One adverb before a comma: `Finally, …`, `Actually, …`, `Finalement, …`
_ADVERB = re.compile(r"[^\W\d_]{3,}(?:ly|ment|mente),?", re.IGNORECASE)
# Before `if`: a verb that asks whether, or the `as` of a comparison.
_ASKS = re.compile(
    r"(?:\b(?:as|como|comme|als"
    r"|determin\w+|decid\w+|checks?|checking|checked|see|know\w*|asks?|asking|verif\w+|tests?"
    r"|tell\w*|wonder\w*|find out|indicat\w+|specif\w+|controls?"
    r"|vérifi\w+|savoir|détermin\w+|demand\w+|indiqu\w+|décid\w+|précis\w+"
    r"|comprueb\w+|comprobar|saber|determinar|pregunt\w+|indica\w*|verificar"
    r"|perguntar|descobrir|veja)(?:\s+(?:out|you|me|us|for sure))?)\s*\Z",
    re.IGNORECASE,
)
# A word that the cue belongs to: `based upon it`, `have provided an address`, `as provided in …`
_BELONGS = {
    "upon": re.compile(
        r"\b(?:agree|act|bas|build|built|call|confer|depend|draw|impos|incumbent|binding|insist|rel"
        r"|touch)[a-z]*\s*\Z",
        re.IGNORECASE,
    ),
    "provided": re.compile(
        r"\b(?:ha(?:ve|s|d)|is|are|was|were|be|been|being|as|otherwise|expressly)\s*\Z",
        re.IGNORECASE,
    ),
}
# A clause that only says what follows from the condition before it.
_RESULT = re.compile(
    r",\s(?:and\s)?(?:so|daher|deshalb|donc|así que|por lo que|portanto|por isso)\s", re.IGNORECASE
)
_RESULT_LAST = re.compile(r"\b(?:so|daher|deshalb|donc|portanto|and so)\Z", re.IGNORECASE)
# They limit a rule only beside a number: `at least 18`; not `at least one of its members`.
_QUANTITIES = frozenset(
    {
        *("at least", "at most", "up to", "no more than", "not more than", "no less than"),
        *("less than", "more than", "fewer than", "greater than", "below", "above", "alone"),
        *("mindestens", "höchstens", "maximal", "minimal", "bis zu", "weniger als", "mehr als"),
        *("unter", "über", "ebenfalls", "zusätzlich", "hinsichtlich", "in bezug auf"),
        *("au moins", "au plus", "au maximum", "au minimum", "moins de", "plus de", "également"),
        *("al menos", "por lo menos", "como máximo", "como mínimo", "menos de", "más de"),
        *("también", "pelo menos", "no máximo", "no mínimo", "mais de", "também"),
    }
)
_NUMBER = re.compile(r"\W{0,3}(?:[^\W\d_]{1,9}\W{1,2}){0,2}\d")
# `Where possible`: an adjective alone is no clause.
_ELLIPSIS_WORDS = """
possible necessary appropriate required applicable needed feasible practicable available möglich
nötig notwendig erforderlich zutreffend nécessaire requis posible necesario necesaria aplicable
possível necessário necessária aplicável
"""
_ELLIPSES = frozenset(_ELLIPSIS_WORDS.split())
_WINDOW = 48


def is_link(words: str) -> bool:
    """Whether the words only link a sentence to the one before, or comment on it."""
    return (_LINK.fullmatch(words) or _ADVERB.fullmatch(words)) is not None


def strip_link(words: str) -> str:
    """The words without a link before them: `Therefore, only staff`."""
    found = _LINK_FIRST.match(words)
    return words[found.end() :] if found else words


def is_ellipsis(words: str) -> bool:
    return words.strip(" ,").lower() in _ELLIPSES


def asks_whether(text: str, at: int) -> bool:
    """Whether `if` at this offset asks or compares: `check if …`, `as if …`"""
    return _ASKS.search(text, max(0, at - _WINDOW), at) is not None


def belongs_before(words: str, text: str, at: int) -> bool:
    """Whether the cue at this offset belongs to the verb before it and opens no clause."""
    pattern = _BELONGS.get(words)
    return pattern is not None and pattern.search(text, max(0, at - _WINDOW), at) is not None


def cut_result(words: str) -> str:
    """A condition without the result that follows it: `once you cancel, so save first`."""
    found = _RESULT.search(words)
    return words[: found.start()] if found else words


def ends_in_result(words: str) -> bool:
    return _RESULT_LAST.search(words) is not None


def lacks_number(words: str, text: str, end: int) -> bool:
    """Whether a cue names a quantity, but no number follows it."""
    return words in _QUANTITIES and _NUMBER.match(text, end) is None
