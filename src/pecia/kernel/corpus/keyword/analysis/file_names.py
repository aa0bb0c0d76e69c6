"""Names of files as words, and words of a question as names. Pure."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pecia.kernel.corpus.keyword.analysis.token_filters import split_name

_WORD = re.compile(r"[^\W_]+")


def split_file_name(name: str) -> list[str]:
    """What a path or a title is found by: `2023Q2` by `2023q2`, `2023`, `q`, `2` and `q2`."""
    return list(dict.fromkeys(it for word in _WORD.findall(name) for it in _words(word)))


def join_neighbours(words: Sequence[str]) -> list[str]:
    """Neighbours as one word, as names of files often have them: `blue harbor` as `blueharbor`."""
    return [one + other for one, other in pairwise(words) if one.isalpha() and other.isalpha()]


def _words(word: str) -> Iterator[str]:
    # Most words are of one piece.
    if word.isascii() and (word.isdigit() or (word.isalpha() and word.islower())):
        yield word
        return
    whole, *parts = split_name(word).split()
    yield whole
    yield from parts
    yield from (one + other for one, other in pairwise(parts))
