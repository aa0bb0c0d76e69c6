"""What a concept is found by: the words that hold, and those that were overruled. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from pecia.kernel.errors import Json
from pecia.rooms.cascade.model import Document
from pecia.rooms.cascade.resolve import above_cut, in_order, merge_frontmatter, merge_sections
from pecia.rooms.cascade.view import View


@dataclass(frozen=True, slots=True)
class Words:
    """What a concept says, and what was said against it."""

    frontmatter: Mapping[str, Json]
    headings: str
    body: str
    overruled: str = ""

    def about(self) -> Iterator[str]:
        """What the frontmatter says of the concept."""
        yield plain_text(self.frontmatter.get("description"))
        tags = self.frontmatter.get("tags")
        listed = [plain_text(it) for it in tags] if isinstance(tags, list) else [plain_text(tags)]
        yield " ".join(listed)


def read_words(view: View, concept: str) -> Words:
    """The words of a concept. Where one layer alone speaks, there is nothing to merge."""
    found = view.contributions(concept)
    if not found:
        # It went while others were read, and what is gone is looked at again.
        return Words({}, "", "")
    document = found[0].document
    if len(found) == 1 and document.ready is None and "override=" not in document.text:
        return _alone(document)
    active = above_cut(in_order(found))
    frontmatter, _ = merge_frontmatter(active)
    sections = merge_sections(active)
    shown = [it for it in sections if not it.suppressed]
    # A hidden section is found by its heading: that it is hidden may be the answer.
    headings = "\n".join(_unmarked(it.section.clean or "") for it in sections)
    body = "\n\n".join(f"{it.section.heading or ''}\n\n{it.content}" for it in shown)
    overruled = "\n\n".join(it.content for section in shown for it in section.conflicts)
    return Words(frontmatter, headings, body, overruled)


def plain_text(value: Json) -> str:
    """A text, and nothing where there is none."""
    return value if isinstance(value, str) else ""


def _alone(document: Document) -> Words:
    body = document.text[document.start :]
    headings = "\n".join(map(_unmarked, _HEADING.findall(f"\n{body}")))
    return Words(document.frontmatter, headings, body)


@lru_cache(4096)
def _unmarked(heading: str) -> str:
    """The words of a heading, which many documents share."""
    return _MARKS.sub(" ", heading)


_MARKS = re.compile(r"^#+|\{[^{}]*\}")
_HEADING = re.compile(r"\n(#{1,6}[ \t].*)")
