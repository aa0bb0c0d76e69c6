"""Signs of the shape of a sentence: an instruction, a meaning without its term. Pure.

And whether it follows a duty that it may take back, or a title that asks what something is.
"""

import re
from collections.abc import Iterator

from pecia.features.ckf.heuristic.cues.kind import CueKind
from pecia.features.ckf.heuristic.parse.text import Sentence

_HEAD_CHARS = 200


def iter_shape_signs(line: Sentence, lowered: str, before: Sentence | None) -> Iterator[str]:
    """`lowered` is the sentence in lower case."""
    if _IMPERATIVE.match(lowered):
        yield "imperative"
    if not line.is_statement:
        return
    if _VERB_BEFORE_TERM.match(lowered):
        yield "verb_before_term"
    yield from _noun_signs(lowered)
    if before is None:
        return
    if before.title:
        if _ASKING_TITLE.match(before.text.lower()):
            yield "title_asks"
    elif not before.own.isdisjoint(_DUTIES):
        yield "after_duty"


def _noun_signs(lowered: str) -> Iterator[str]:
    """Whether it begins with a noun that no verb follows, or only in a relative clause."""
    if not _NOUN_FIRST.match(lowered):
        return
    relative = _RELATIVE_START.search(lowered)
    head = lowered[: relative.start()] if relative else lowered
    if _FINITE.search(head[:_HEAD_CHARS]) is None:
        yield "verbless"
        yield "verbless&relative_clause" if relative else "verbless&no_relative"


# The article, pronoun or possessive that follows the verb of an instruction: `Raise a …`.
_OBJECT = (
    r"an?|the|your|any|all|each|every|this|these|those|it|them|its|their|only|no|up|out|down|sure"
    r"|to"
    r"|in|on|for|that|if|with|from|as|new"
)
_NO_VERBS = (
    r"(?!(?:a|an|the|this|these|those|that|it|its|he|she|we|you|they|there|here|when|where|while|if"
    r"|as|at|by|for|from|in|into|of|on|to|with|without|after|before|and|or|but|so|then|thus|since"
    r"|because|although|though|unless|until|all|any|both|each|every|some|most|many|much|few|several"
    r"|no|none|not|one|two|three|only|even|just|also|such|same|other|another|what|which|who|whose"
    r"|how|why|under|over|about|between|during|through|within|upon|once|whether|like|our|your|their"
    r"|his|her|my|more|less|than|up|out|off|again|next|last|first|instead|because|despite|except"
    r"|per|via|yes|is|are|was|were|has|have|had|can|could|may|might|must|shall|should|will|would"
    r"|does|did|part|access|support|due|according|prior|subject|note|back|set|side|data|half|none"
    r"|either|neither|nothing|anyone|everyone|however|moreover|further|rather|along|among|around"
    r"|against|across|beyond|behind|above|below|beside|near|outside|inside|throughout|toward)\s)"
)
# An instruction in English, by its shape: a plain word, then an object or a preposition.
_IMPERATIVE = re.compile(
    rf"(?:[*+-]\s)?{_NO_VERBS}(?![a-z]+(?:ing|ed|ly|ions?|ity|ness|ers?|ments?|ants?|s)\s)"
    rf"[a-z]{{2,12}} (?:{_OBJECT})\b"
)
# A meaning without its term: `An environment for …`, `Anlagen, die …`; no verb before `that`.
_NOUN_FIRST = re.compile(
    r"\W{0,3}(?:(?:an?|the|any|one|those|someone|something|eine?[rsnm]?|der|die|das|jede[rs]?|alle"
    r"|une?|les?|la|ce(?:lui|lle)|ensemble|tou(?:te?s?|s)|un[oa]?s?|el|l[oa]s|tod[oa]s?|conjunto"
    r"|uma?s?|os?|as?|qualquer)\s|l['’])"
)
_RELATIVE_START = re.compile(
    r"\b(?:that|which|who|whose|where|used|for|der|die|das|den|dessen|deren|qui|que|dont|où|lequel"
    r"|laquelle|cuyo|cuya|donde|cujo|cuja|onde)\b"
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|may|might|must|will|would|shall|should|do|does"
    r"|did|ist|sind|war|waren|hat|haben|wird|werden|kann|können|muss|müssen|darf|dürfen|soll|sollen"
    r"|est|sont|a|ont|était|peut|peuvent|doit|doivent|fait|es|son|está|están|ha|han|fue|puede"
    r"|pueden|debe|deben|tiene|tienen|é|são|tem|têm|foi|pode|podem|deve|devem|fica|ficam)\b"
)
# The verb or preposition stands before what is defined: `Sont meubles …`, `Als Hersteller gilt …`
_VERB_BEFORE_TERM = re.compile(
    r"\W{0,4}(?:sont|est|es|son|é|são|constitu\w+|se consideran?|consideram?-se|tendr\w+|als|unter"
    r"|par|por)\s"
)
# A title that asks what something is: `What X is and what it is used for`, `Qu'est-ce que …`
_ASKING_TITLE = re.compile(r"\W*(?:\d\W*)*(?:what|was|qu|qué|o que|cómo)\b")
_DUTIES = frozenset({CueKind.OBLIGATION, CueKind.PROHIBITION, CueKind.PERMISSION})
