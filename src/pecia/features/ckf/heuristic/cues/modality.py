"""Modal verbs and the clause they stand in, in five languages.

A modal of the main clause obliges or permits; in `the one that must answer first` it only
describes. Evidence for the estimate in `probability.py`; alone, it makes no item.
"""

import re
from collections.abc import Iterator

from pecia.features.ckf.heuristic.cues.forms import RELATIVE_WORDS

_WORDS_BY_CLASS = {
    "must": """
        must shall muss muß müssen müsste müssten doit doivent devez devra devront debe deben
        deberá deberán debes deve devem deverá deverão
    """,
    "should": """
        should soll sollen sollte sollten devrait devraient devriez debería deberían deveria
        deveriam recommended empfohlen recommandé recomienda recomendado recomendável recomenda
    """,
    "may": "may darf dürfen podrá podrán poderá poderão pourra pourront",
    "can": """
        can cannot could kann können könnte könnten peut peuvent pouvez puede pueden puedes pode
        podem
    """,
    "need": """
        need needs required requires brauchen braucht benötigt benötigen erforderlich nécessite
        nécessaire faut necesita necesitas necesario requiere precisa precisam necessário requer
    """,
    "will": "will wird werden",
}
_CLASS_BY_WORD = {word: name for name, words in _WORDS_BY_CLASS.items() for word in words.split()}
_MODALS = frozenset(_CLASS_BY_WORD)
_NEGATION_WORDS = "not never nicht nie kein keine keinen ne n pas jamais no nunca não"
_NEGATIONS = frozenset(_NEGATION_WORDS.split())
_READER_WORDS = "you sie du ihr vous usted tú você vocês"
_READER = frozenset(_READER_WORDS.split())
_BEFORE, _AFTER = 2, 3
# RFC 2119 writes its key words in capitals.
_KEY_WORD = re.compile(r"\b(?:MUST|SHALL|SHOULD|MAY|REQUIRED|RECOMMENDED|OPTIONAL)\b")
_CLOSES_CLAUSE = ",;.:"


def iter_modal_signs(
    text: str, lowered: str, words: list[str], distinct: set[str]
) -> Iterator[str]:
    """The class of the first modal, its clause, its negation and whether it tells the reader."""
    if _MODALS.isdisjoint(distinct):
        return
    at = next(place for place, it in enumerate(words) if it in _MODALS)
    name = _CLASS_BY_WORD[words[at]]
    clause = "side" if _is_subordinate(words, at, lowered) else "main"
    yield f"modal:{name}:{clause}"
    around = words[max(0, at - _BEFORE) : at + _AFTER]
    if not _NEGATIONS.isdisjoint(around):
        yield f"modal_not:{name}"
    if not _READER.isdisjoint(around):
        yield f"modal_you:{name}"
    if _KEY_WORD.search(text) and not text.isupper():
        yield "modal_key"


def _is_subordinate(words: list[str], at: int, lowered: str) -> bool:
    """After a relative pronoun; or, as in German, at the end of its clause."""
    if not RELATIVE_WORDS.isdisjoint(words[:at]):
        return True
    end = lowered.find(words[at]) + len(words[at])
    return lowered[end : end + 1] in _CLOSES_CLAUSE
