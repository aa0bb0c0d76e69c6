"""A standing page: what holds now of a project or a person, as Markdown that can be edited. Pure.

Each memory is an item of a list with a link that has its id. `core/page_items.py` reads it back.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pecia.features.memory.core.format import format_time
from pecia.features.memory.core.page_items import PageItems, flatten, read_items
from pecia.features.memory.core.search.conversation import named_speaker
from pecia.features.memory.model import Memory

STANDING_TITLE = "Standing instructions and preferences"
FACTS_TITLE = "What holds"
_AS_OF = re.compile(r"^as_of: *(\S+)\s*$", re.MULTILINE)
_COMPLETE = re.compile(r"^complete: *true\s*$", re.MULTILINE)
_FRONT = re.compile(r"\A---\r?\n(.*?)\r?\n---\r?\n", re.DOTALL)


@dataclass(frozen=True, slots=True)
class EditedPage:
    """`as_of`: when the page was made. `is_complete`: it had every memory there was, so that one
    that is missing was taken out."""

    as_of: datetime
    is_complete: bool
    items: PageItems


def render_page(title: str, memories: Sequence[Memory], at: datetime, *, is_complete: bool) -> str:
    """The page, most often said first."""
    order = sorted(memories, key=lambda it: (-it.times, -it.last_said_at.timestamp(), str(it.id)))
    standing = [it for it in order if it.facts.get("standing")]
    facts = [it for it in order if not it.facts.get("standing")]
    parts = [
        f"---\nas_of: {format_time(at)}\ncomplete: {str(is_complete).lower()}\n---\n",
        f"# {title}\n",
    ]
    for name, group in ((STANDING_TITLE, standing), (FACTS_TITLE, facts)):
        if group:
            parts.append(f"## {name}\n\n" + "\n".join(map(_format_line, group)) + "\n")
    if not memories:
        parts.append("Nothing is remembered here yet.\n")
    return "\n".join(parts)


def parse_page(text: str) -> EditedPage | None:
    """The edited page; None where it does not say when it was made."""
    front = _FRONT.match(text)
    moment = _AS_OF.search(front[1]) if front else None
    if front is None or moment is None:
        return None
    try:
        at = datetime.fromisoformat(moment[1])
    except ValueError:
        return None
    is_complete = _COMPLETE.search(front[1]) is not None
    items = read_items(text[front.end() :])
    return EditedPage(at if at.tzinfo else at.replace(tzinfo=UTC), is_complete, items)


def is_about(memory: Memory, person: str) -> bool:
    """Whether a memory names somebody, or is something that they said."""
    name = flatten(person)
    if (named_speaker(memory) or "").casefold() == name.casefold():
        return True
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", memory.text, re.IGNORECASE) is not None


def _format_line(memory: Memory) -> str:
    said = "said once" if memory.times == 1 else f"said {memory.times} times"
    by = named_speaker(memory)
    proof = f"{said}, last {memory.last_said_at.date().isoformat()}{f' by {by}' if by else ''}"
    # A bracket in a name would end the link's text.
    proof = proof.replace("[", "(").replace("]", ")")
    return f"- {flatten(memory.text)} ([{proof}](memory:{memory.id}))"
