"""Texts put together by length, so that little is computed for padding. Pure."""

from collections.abc import Iterator, Sequence

BATCH_TOKENS = 2048


def batches(lengths: Sequence[int], most: int = BATCH_TOKENS) -> Iterator[list[int]]:
    """The numbers of all texts, in batches of like length that pad to `most` tokens or fewer.

    A text that is longer alone is a batch alone.
    """
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda it: (lengths[it], it)):
        # Sorted, the newest is the longest, to which all of the batch is padded.
        if batch and (len(batch) + 1) * lengths[number] > most:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
