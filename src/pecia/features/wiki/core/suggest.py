"""Unlinked mentions of a document in other documents. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pecia.features.wiki.core.metadata import extract_snippet
from pecia.kernel.text.links.extract import find_block_links
from pecia.kernel.text.links.name_index import NameIndex, folder_of
from pecia.kernel.text.markdown.blocks import BlockKind, MarkdownBlock, scan_blocks
from pecia.kernel.text.markdown.frontmatter import find_body_start
from pecia.kernel.text.span import Span, find_position

INDEX_NAMES = ("index", "readme", "report", "spec")
MAX_PARENTS = 3


def find_parent_candidates(name: str, names: NameIndex) -> list[str]:
    """From the nearest folder upwards, at most three, and never the document itself."""
    found: list[str] = []
    folder = folder_of(name)
    while True:
        lead = f"{folder}/" if folder else ""
        leaf = folder.rpartition("/")[2]
        for word in (*INDEX_NAMES, *((leaf,) if leaf else ())):
            path = f"{lead}{word}".casefold()
            named = (it for it in names.find_by_suffix(path) if it.casefold() == path)
            found += [it for it in named if it != name and it not in found][:1]
        if not folder or len(found) >= MAX_PARENTS:
            return found[:MAX_PARENTS]
        folder = folder_of(folder)


READABLE = (BlockKind.TEXT, BlockKind.HEADING, BlockKind.TABLE, BlockKind.HTML)


@dataclass(frozen=True, slots=True)
class LinkSuggestion:
    """The position in code points, and the link to insert."""

    source: str
    text: str
    offset: int
    line: int
    column: int
    excerpt: str
    replacement: str


@dataclass(frozen=True, slots=True)
class SuggestionResult:
    """`truncated`: the time limit was reached before every document was searched."""

    mentions: tuple[LinkSuggestion, ...]
    truncated: bool


def suggest_links(
    name: str,
    labels: Iterable[str],
    documents: Iterable[tuple[str, str]],
    is_time_up: Callable[[bool], bool],
) -> SuggestionResult:
    """Mentions in these documents, most mentions first. `is_time_up` is asked with whether there
    is anything to show yet."""
    wanted = compile_labels(labels)
    found: list[list[LinkSuggestion]] = []
    truncated = False
    for source, text in documents if wanted else ():
        if is_time_up(bool(found)):
            truncated = True
            break
        if source != name and (mentions := [*_find_mentions(source, text, name, wanted)]):
            found.append(mentions)
    found.sort(key=lambda it: (-len(it), it[0].source))
    return SuggestionResult(tuple(it for mentions in found for it in mentions), truncated)


def compile_labels(labels: Iterable[str]) -> re.Pattern[str] | None:
    """Any of the labels as whole words, longest first; None where there is none."""
    words = sorted({it.strip() for it in labels if it.strip()}, key=lambda it: (-len(it), it))
    if not words:
        return None
    either = "|".join(r"\s+".join(map(re.escape, it.split())) for it in words)
    return re.compile(rf"(?<![^\W_])(?:{either})(?![^\W_])", re.IGNORECASE)


def _find_mentions(
    source: str, text: str, name: str, wanted: re.Pattern[str] | None
) -> Iterator[LinkSuggestion]:
    if wanted is None or not wanted.search(text):
        return
    blocks = scan_blocks(text, find_body_start(text))
    taken = sorted(_unlinkable_spans(text, blocks), key=lambda it: it.start)
    position = 0
    for block in blocks:
        if block.kind not in READABLE:
            continue
        for match in wanted.finditer(text, block.span.start, block.span.end):
            # Both are in order: each is passed once.
            while position < len(taken) and taken[position].end <= match.start():
                position += 1
            if position < len(taken) and taken[position].start < match.end():
                continue
            at = find_position(text, match.start())
            yield LinkSuggestion(
                source,
                match[0],
                match.start(),
                at.line,
                at.column,
                extract_snippet(text, match.start(), match.end()),
                _format_link(name, match[0], in_table=block.kind is BlockKind.TABLE),
            )


def _unlinkable_spans(text: str, blocks: Sequence[MarkdownBlock]) -> list[Span]:
    """Where no link can be inserted: in links, images and code."""
    links = [it.span for it in find_block_links(text, list(blocks))]
    code = [
        it
        for block in blocks
        if block.kind in READABLE
        for it in _inline_code_spans(text, block.span)
    ]
    return [*links, *code]


def _inline_code_spans(text: str, block: Span) -> Iterator[Span]:
    """Between runs of equally many backticks. Linear: each run is visited once."""
    runs = [(it.start(), it.end()) for it in _TICKS.finditer(text, block.start, block.end)]
    last = {end - start: start for start, end in runs}
    opened: tuple[int, int] | None = None
    for start, end in runs:
        if opened is None:
            # An unclosed run is text.
            opened = (start, end - start) if last[end - start] > start else None
        elif end - start == opened[1]:
            yield Span(opened[0], end)
            opened = None


def _format_link(name: str, words: str, *, in_table: bool) -> str:
    if words == name:
        return f"[[{name}]]"
    # In a table, a bare pipe would end the cell.
    pipe = "\\|" if in_table else "|"
    return f"[[{name}{pipe}{' '.join(words.split())}]]"


_TICKS = re.compile(r"`+")
