"""Derived hits below what they repeat: an agent's note, a memory or a package says again what a
file says, and the file is the one to cite. Pure.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from pecia.kernel.corpus.file_uri import file_uri
from pecia.kernel.corpus.keyword.analysis.token_filters import remove_stop_words
from pecia.kernel.corpus.keyword.analysis.tokenizer import tokenize
from pecia.kernel.corpus.search.hydrate import ChunkId, HydratedChunk, SearchHit

# Of the words of a derived text, how many the original has; fewer where it names the original.
MIN_REPEATED = 0.8
MIN_REPEATED_CITED = 0.5
# With fewer words than this, a text repeats anything by chance.
MIN_WORDS = 3


def rank_below_originals(
    hits: Sequence[SearchHit], derived: Collection[ChunkId]
) -> list[SearchHit]:
    """The hits with each derived one after the first original that it repeats, which it names.

    Ranks stay with their places. Originals among the hits are those that the caller may see.
    """
    held = [(it, _words(_context(it))) for it in hits if it.passage.id not in derived]
    order: list[SearchHit] = []
    placed: set[ChunkId] = set()
    waiting: dict[ChunkId, list[SearchHit]] = {}
    for it in hits:
        source = _find_repeated(it.passage, held) if it.passage.id in derived else None
        marked = it if source is None else replace(it, repeats=source)
        if source is None or source.id in placed:
            placed.add(it.passage.id)
            order += [marked, *waiting.pop(it.passage.id, ())]
        else:
            waiting.setdefault(source.id, []).append(marked)
    return [
        replace(it, rank=place.rank) if it.rank != place.rank else it
        for it, place in zip(order, hits, strict=True)
    ]


def _find_repeated(
    derived: HydratedChunk, originals: Sequence[tuple[SearchHit, frozenset[str]]]
) -> HydratedChunk | None:
    words = _words(_URI.sub(" ", derived.text), derived.language)
    if len(words) < MIN_WORDS:
        return None
    for hit, held in originals:
        is_cited = file_uri(hit.passage.source_id, hit.passage.key) in derived.text
        least = MIN_REPEATED_CITED if is_cited else MIN_REPEATED
        if len(words & held) >= least * len(words):
            return hit.passage
    return None


def _context(hit: SearchHit) -> str:
    """The original with what is said of it: title, headings and neighbours."""
    return " ".join((hit.passage.title, *hit.passage.headings, hit.window.readable))


def _words(text: str, language: str = "") -> frozenset[str]:
    return frozenset(tokenize(" ".join(remove_stop_words(text)), language or "en"))


_URI = re.compile(r"\w+://\S+")
