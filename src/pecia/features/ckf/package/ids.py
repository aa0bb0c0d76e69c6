"""Stable ids: the same when a source is compiled again. Pure; derived from text, no counters."""

import hashlib
import re
from collections.abc import Container

from pecia.features.ckf.package.fields import SECTION_BY_KEY
from pecia.kernel.text.slug import name_slug

ID_WORDS = 6
# The prefix of a text that an id is derived from; the rest only matters for the hash.
MAX_STEM_CHARS = 120


class IdAllocator:
    """Allocates the ids of one package.

    Cached by text: one sentence often gives several items.
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._stems: dict[str, str] = {}

    def allocate(self, section: str, words: str) -> str:
        stem = self._stems.get(words)
        if stem is None:
            stem = self._stems[words] = _stem(words[:MAX_STEM_CHARS])
        found = _distinct(_prefix(section), stem, words, self._taken)
        self._taken.add(found)
        return found


def make_id(section: str, words: str, taken: Container[str] = ()) -> str:
    """`<prefix>_<first words>`; a hash if that is taken or has no Latin word."""
    return _distinct(_prefix(section), _stem(words), words, taken)


def _distinct(prefix: str, stem: str, words: str, taken: Container[str]) -> str:
    start = f"{prefix}_{stem}" if stem else prefix
    if stem and start not in taken:
        return start
    digest = hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()
    size = 6
    while (found := f"{start}_{digest[:size]}") in taken and size < len(digest):
        size += 2
    number = 2
    # Reached only if the same text occurs more often than the hash has digits.
    while found in taken:
        found = f"{start}_{digest}_{number}"
        number += 1
    return found


def _prefix(section: str) -> str:
    prefixes = SECTION_BY_KEY[section].prefixes
    assert prefixes, f"items of {section} have no id"
    return prefixes[0]


def _stem(words: str) -> str:
    # Only the first words are needed of a text that may be long.
    found = _WORD.findall(name_slug(words[:400]))
    content = [it for it in found if len(it) > 2 or it.isdigit()]
    return "_".join((content or found)[:ID_WORDS])


_WORD = re.compile(r"[a-z0-9]+")
