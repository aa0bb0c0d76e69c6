"""Ids that stay the same when a source is compiled again. Pure; never counts."""

import hashlib
import re
from collections.abc import Container

from pecia.kernel.text.slug import name_slug
from pecia.rooms.ckf.package.fields import SECTION_BY_KEY

WORDS = 6


def new_id(section: str, words: str, taken: Container[str] = ()) -> str:
    """`<prefix>_<first words>`; when that is taken or has no Latin word, a hash of the words."""
    prefixes = SECTION_BY_KEY[section].prefixes
    assert prefixes, f"items of {section} have no id"
    stem = "_".join([prefixes[0], *_slugs(words)[:WORDS]])
    if stem != prefixes[0] and stem not in taken:
        return stem
    digest = hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()
    size = 6
    while (found := f"{stem}_{digest[:size]}") in taken and size < len(digest):
        size += 2
    number = 2
    # Only the same words said more often than a hash has digits come this far.
    while found in taken:
        found = f"{stem}_{digest}_{number}"
        number += 1
    return found


def _slugs(words: str) -> list[str]:
    # The whole text may be long, and only its first words are wanted.
    found = _WORD.findall(name_slug(words[:400]))
    content = [it for it in found if len(it) > 2 or it.isdigit()]
    return content or found


_WORD = re.compile(r"[a-z0-9]+")
