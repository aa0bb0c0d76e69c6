"""Diff of two lists of trace rows, which have no ids. Pure and symmetric."""

from collections import Counter

import orjson

from pecia.features.ckf.package.diff.items import MAX_LABEL_CHARS, SectionDiff
from pecia.features.ckf.package.model import Item, text_of


def diff_trace(a: list[Item], b: list[Item], *, ordered: bool) -> SectionDiff:
    """Rows are equal or not. A row's path counts only if the order of items does."""
    keys_a, keys_b = [_key(it, ordered) for it in a], [_key(it, ordered) for it in b]
    shared = Counter(keys_a) & Counter(keys_b)
    return SectionDiff(
        added=_rest(b, keys_b, shared),
        removed=_rest(a, keys_a, shared),
        unchanged=shared.total(),
        reordered=ordered and keys_a != keys_b and Counter(keys_a) == Counter(keys_b),
    )


def _rest(rows: list[Item], keys: list[bytes], shared: Counter[bytes]) -> list[Item]:
    left = Counter(shared)
    found: list[Item] = []
    for row, key in zip(rows, keys, strict=True):
        if left[key]:
            left[key] -= 1
        else:
            found.append(_summarize(row))
    return found


def _summarize(row: Item) -> Item:
    return {
        "id": text_of(row, "extracted_item_id"),
        "label": text_of(row, "source_excerpt")[:MAX_LABEL_CHARS],
    }


def _key(row: Item, ordered: bool) -> bytes:
    kept = row if ordered else {k: it for k, it in row.items() if k != "extracted_item_path"}
    return orjson.dumps(kept, option=orjson.OPT_SORT_KEYS)
