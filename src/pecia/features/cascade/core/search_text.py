"""The indexed text of a concept: effective text, and dissent. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from pecia.features.cascade.core.resolve import (
    cut_at_override,
    merge_frontmatter,
    merge_sections,
    sort_contributions,
)
from pecia.features.cascade.core.view import CascadeView
from pecia.features.cascade.model import ConceptDocument
from pecia.kernel.errors import Json


@dataclass(frozen=True, slots=True)
class ConceptText:
    """Effective text and dissent of a concept."""

    frontmatter: Mapping[str, Json]
    headings: str
    body: str
    dissent: str = ""

    def frontmatter_texts(self) -> Iterator[str]:
        """The frontmatter's searchable texts."""
        yield text_or_empty(self.frontmatter.get("description"))
        tags = self.frontmatter.get("tags")
        listed = (
            [text_or_empty(it) for it in tags] if isinstance(tags, list) else [text_or_empty(tags)]
        )
        yield " ".join(listed)


def extract_concept_text(view: CascadeView, concept: str) -> ConceptText:
    """The text of a concept. With a single layer there is nothing to merge."""
    found = view.contributions(concept)
    if not found:
        # Removed meanwhile; the removal is processed as a change later.
        return ConceptText({}, "", "")
    document = found[0].document
    if len(found) == 1 and document.ready is None and "override=" not in document.text:
        return _single_layer_text(document)
    active = cut_at_override(sort_contributions(found))
    frontmatter, _ = merge_frontmatter(active)
    sections = merge_sections(active)
    shown = [it for it in sections if not it.suppressed]
    # A hidden section is indexed by its heading: that it is hidden may be the answer.
    headings = "\n".join(_strip_heading_marks(it.section.clean or "") for it in sections)
    body = "\n\n".join(f"{it.section.heading or ''}\n\n{it.content}" for it in shown)
    overruled = "\n\n".join(it.content for section in shown for it in section.conflicts)
    return ConceptText(frontmatter, headings, body, overruled)


def text_or_empty(value: Json) -> str:
    """The string, else an empty one."""
    return value if isinstance(value, str) else ""


def _single_layer_text(document: ConceptDocument) -> ConceptText:
    body = document.text[document.start :]
    headings = "\n".join(map(_strip_heading_marks, _HEADING.findall(f"\n{body}")))
    return ConceptText(document.frontmatter, headings, body)


@lru_cache(4096)
def _strip_heading_marks(heading: str) -> str:
    """The text of a heading; cached, as many documents share headings."""
    return _MARKS.sub(" ", heading)


_MARKS = re.compile(r"^#+|\{[^{}]*\}")
_HEADING = re.compile(r"\n(#{1,6}[ \t].*)")
