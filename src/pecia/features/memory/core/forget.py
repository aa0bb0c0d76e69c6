"""Which memories say what is to be forgotten, and nothing beside it. Pure."""

from pecia.features.memory.core.compare.similarity import TermQuery
from pecia.features.memory.core.compare.statement import read_statement
from pecia.features.memory.core.sentence import split_sentences
from pecia.features.memory.core.utterance import ForgetExtent

# Of the terms of a memory, those that the claim must have: one may be an `actually`.
MIN_CLAIMED = 0.8


def says_only(what: str, memory: str, extent: ForgetExtent) -> bool:
    """Whether a memory that speaks of something would be forgotten with it, and nothing else.

    A claim ends what says the same: neither its denial, nor what has other names or numbers. A
    topic ends no memory that has sentences about something else.
    """
    if extent == "all":
        return True
    if extent == "claim":
        claimed, said = read_statement(what), read_statement(memory)
        is_same = claimed.negations == said.negations and not said.anchors - claimed.anchors
        return is_same and TermQuery(memory).coverage(what) >= MIN_CLAIMED
    terms = TermQuery(what)
    sentences = split_sentences(memory)
    return len(sentences) < 2 or all(terms.coverage(it) == 1 for it in sentences)
