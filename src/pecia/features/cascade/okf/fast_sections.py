"""Fast path for the sections of a document in which every `#` line is a heading.

The full parser scans every line, which is too slow for a cascade of 60,000 concepts. Falls back
wherever a fence, a tag, an indent or an odd line end might hide a heading; a property test compares
it with the full parser.
"""

import re
from functools import lru_cache
from itertools import pairwise

from pecia.features.cascade.model import ConceptSection
from pecia.kernel.text.markdown.heading import Heading, read_heading
from pecia.kernel.text.slug import github_slug


def parse_sections_fast(text: str, start: int) -> list[ConceptSection] | None:
    """The sections of the body from `start`, or None to fall back to the full parser."""
    follows_line = start > 0 and text[start - 1] == "\n"
    if not follows_line or any(it in text for it in _HIDING):
        return None
    cuts = [it.span(1) for it in _HEADING.finditer(text, start - 1)]
    first = cuts[0][0] if cuts else len(text)
    found = [ConceptSection("", None, None, 0, _lines(text, start, first))] if first > start else []
    for (at, after), (end, _) in pairwise([*cuts, (len(text), 0)]):
        found.append(_section(text[at:after], _lines(text, after + 1, end)))
    return found if _are_distinct(found) else None


def _section(source: str, lines: tuple[str, ...]) -> ConceptSection:
    heading, key, slug = _parse_heading(source)
    return ConceptSection(
        key,
        heading.source,
        heading.clean,
        heading.level,
        lines,
        heading.attributes.get("updated") or None,
        heading.attributes.get("override") or None,
        slug,
        heading.anchor is not None,
    )


@lru_cache(4096)
def _parse_heading(source: str) -> tuple[Heading, str, str]:
    """A heading, its key and its slug. Cached: documents share most of their headings."""
    level = len(source) - len(source.lstrip("#"))
    heading = read_heading(source, level, underlined=False)
    key = " ".join((heading.anchor or heading.text).lower().split())
    return heading, key, github_slug(heading.plain)


def _lines(text: str, start: int, end: int) -> tuple[str, ...]:
    """Lines without their ends. Text after the last newline is a line too."""
    lines = text[start:end].split("\n")
    is_last_line = end == len(text) and text.endswith("\n")
    return tuple(lines if lines[-1] or is_last_line else lines[:-1])


def _are_distinct(found: list[ConceptSection]) -> bool:
    """Whether no duplicate key needs a number."""
    headed = [it for it in found if it.heading is not None]
    keys, slugs = {it.key for it in headed}, {it.slug for it in headed}
    return "" not in keys and len(keys) == len(headed) == len(slugs)


_HEADING = re.compile(r"\n(#{1,6}(?:[ \t].*)?)$", re.MULTILINE)
# Fences, tags, other line ends, and headings that may belong to a list.
_HIDING = ("```", "~~~", "<", "\r", "\n #", "\n  #", "\n   #")
