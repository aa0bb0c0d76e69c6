"""What a concept is found by: the words that hold, and those that were overruled. Pure."""

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
    """What a concept says, and what was said against it."""

    frontmatter: Mapping[str, Json]
    headings: str
    body: str
    dissent: str = ""

    def frontmatter_texts(self) -> Iterator[str]:
        """What the frontmatter says of the concept."""
        yield text_or_empty(self.frontmatter.get("description"))
        tags = self.frontmatter.get("tags")
        listed = (
            [text_or_empty(it) for it in tags] if isinstance(tags, list) else [text_or_empty(tags)]
        )
        yield " ".join(listed)


def extract_concept_text(view: CascadeView, concept: str) -> ConceptText:
    """The words of a concept. Where one layer alone speaks, there is nothing to merge."""
    found = view.contributions(concept)
    if not found:
        # It went while others were read, and what is gone is looked at again.
        return ConceptText({}, "", "")
    document = found[0].document
    if len(found) == 1 and document.ready is None and "override=" not in document.text:
        return _single_layer_text(document)
    active = cut_at_override(sort_contributions(found))
    frontmatter, _ = merge_frontmatter(active)
    sections = merge_sections(active)
    shown = [it for it in sections if not it.suppressed]
    # A hidden section is found by its heading: that it is hidden may be the answer.
    headings = "\n".join(_strip_heading_marks(it.section.clean or "") for it in sections)
    body = "\n\n".join(f"{it.section.heading or ''}\n\n{it.content}" for it in shown)
    overruled = "\n\n".join(it.content for section in shown for it in section.conflicts)
    return ConceptText(frontmatter, headings, body, overruled)


def text_or_empty(value: Json) -> str:
    """A text, and nothing where there is none."""
    return value if isinstance(value, str) else ""


def _single_layer_text(document: ConceptDocument) -> ConceptText:
    body = document.text[document.start :]
    headings = "\n".join(map(_strip_heading_marks, _HEADING.findall(f"\n{body}")))
    return ConceptText(document.frontmatter, headings, body)


@lru_cache(4096)
def _strip_heading_marks(heading: str) -> str:
    """The words of a heading, which many documents share."""
    return _MARKS.sub(" ", heading)


_MARKS = re.compile(r"^#+|\{[^{}]*\}")
_HEADING = re.compile(r"\n(#{1,6}[ \t].*)")
