"""Balance documents: they keep the average length of a field at one constant. Pure.

BM25 divides the length of a text by the average of the index, and the engine computes that over
all texts of a tenant. With the chunks of a file come documents of a filler term, so that all of
them together are as long on average as the constant of each field. Then no file changes the
average, whatever its length: else hidden files would move the scores of visible ones.

Lengths are ones that the engine stores exactly: after deletions, a merge adds up what it stored.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import count

# A letter for Unicode, and blank. No stemmer changes it, and no query looks for it.
FILLER = "\u3164"

# Above this the engine stores lengths in steps: 8 for each power of two.
_LAST_EXACT = 40
_STEPS_BEGIN = 24
_STEP_BITS = 4


@lru_cache(4096)
def floor_length(tokens: int) -> int:
    """The longest length up to this one that the engine stores exactly."""
    if tokens <= _LAST_EXACT:
        return tokens
    beyond = tokens - _STEPS_BEGIN
    shift = beyond.bit_length() - _STEP_BITS
    return _STEPS_BEGIN + (beyond >> shift << shift)


@lru_cache(4096)
def ceil_length(tokens: int) -> int:
    """The shortest length from this one on that the engine stores exactly."""
    floor = floor_length(tokens)
    if floor == tokens:
        return tokens
    return floor + (1 << (tokens - _STEPS_BEGIN).bit_length() - _STEP_BITS)


def balance(
    lengths: Sequence[Mapping[str, int]], averages: Mapping[str, int]
) -> list[dict[str, int]]:
    """How many fillers each balance document of a file has, by field.

    `lengths` are those of its chunks, each one that the engine stores exactly. `averages` are the
    constants of the fields.
    """
    totals = {it: sum(held.get(it, 0) for held in lengths) for it in averages}
    least = max(-(-totals[it] // average) for it, average in averages.items()) - len(lengths)
    for extra in count(max(1, least)):
        documents = len(lengths) + extra
        parts = {it: _split(averages[it] * documents - total) for it, total in totals.items()}
        if all(len(it) <= extra for it in parts.values()):
            return [
                {name: held[at] for name, held in parts.items() if at < len(held)}
                for at in range(extra)
            ]
    raise AssertionError("unreachable")


@lru_cache(1024)
def fillers(tokens: int) -> str:
    """A text of so many tokens that nobody finds."""
    return " ".join([FILLER] * tokens)


def _split(tokens: int) -> list[int]:
    """The length as a sum of few that the engine stores exactly."""
    found: list[int] = []
    while tokens:
        found.append(floor_length(tokens))
        tokens -= found[-1]
    return found
