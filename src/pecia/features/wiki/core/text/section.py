"""One section of a document, named by its heading path. Pure."""

from dataclasses import dataclass

from pecia.features.wiki.core.edit import Position, join_blocks, with_line_ends_of
from pecia.kernel.errors import Conflict, Json, NotFound
from pecia.kernel.text.markdown.sections import MarkdownSection, read_outline
from pecia.kernel.text.span import Span

SEPARATOR = ">"
MAX_NAMED = 50


@dataclass(frozen=True, slots=True)
class SectionExtent:
    """A section with those below it. `body` begins after its heading."""

    path: tuple[str, ...]
    span: Span
    body: Span


def find_section(text: str, heading: str) -> SectionExtent:
    """The section of a heading path such as `Setup > Linux`; its last parts suffice."""
    outline = read_outline(text).sections
    wanted = [_fold(it) for it in heading.split(SEPARATOR)]
    found = [it for it in outline if it.heading and _ends_in(it, wanted)]
    if len(found) > 1:
        # A section that is named in full is meant, though others end alike.
        found = [it for it in found if len(it.path) == len(wanted)] or found
    if not found:
        known: list[Json] = [_show_path(it) for it in outline if it.heading]
        raise NotFound(
            f"no section {heading!r}", field="heading", allowed=known[:MAX_NAMED], of=len(known)
        )
    if len(found) > 1:
        raise Conflict(
            f"several sections are called {heading!r}",
            field="heading",
            allowed=[_show_path(it) for it in found[:MAX_NAMED]],
            hint="Name the headings above it too; where the whole path is the same, use find.",
        )
    section, end = found[0], found[0].span.end
    for it in outline[outline.index(section) + 1 :]:
        if len(it.path) <= len(section.path) or it.path[: len(section.path)] != section.path:
            break
        end = it.span.end
    return SectionExtent(section.path, Span(section.span.start, end), Span(section.body.start, end))


def write_section(text: str, heading: str, given: str, where: Position) -> str:
    """The document after a write to one section, whose heading stays."""
    found = find_section(text, heading)
    given = with_line_ends_of(text, given)
    line_end = "\r\n" if "\r\n" in text else "\n"
    was, after = found.body.of(text), text[found.body.end :]
    if where == "replace":
        body = given
    else:
        first, second = (was, given) if where == "append" else (given, was)
        body = join_blocks(first, second, line_end) if was.strip() else given
    head = text[: found.body.start]
    if not head.endswith("\n"):
        head += line_end
    made = join_blocks(head, body, line_end)
    return join_blocks(made, after, line_end) if after else made


def _ends_in(section: MarkdownSection, wanted: list[str]) -> bool:
    return [_fold(it) for it in section.path][-len(wanted) :] == wanted


def _fold(words: str) -> str:
    return " ".join(words.casefold().split())


def _show_path(section: MarkdownSection) -> str:
    return f" {SEPARATOR} ".join(section.path)
