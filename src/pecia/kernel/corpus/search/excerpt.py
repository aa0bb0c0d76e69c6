"""What is shown of a hit: a window of its chunk and the neighbours, and a snippet, the piece of the
chunk that shows why it was found. Pure.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Protocol

from pecia.kernel.corpus.keyword.analysis.tokenizer import TermToken, find_terms, interpret_query
from pecia.kernel.corpus.keyword.query.parser import Query
from pecia.kernel.text.span import Span, split_lines

MAX_SNIPPET_CHARS = 300
MAX_WINDOW_CHARS = 1800
NEIGHBOUR_REACH = 1

_GAP = re.compile(r"\s+")
_MARKUP = re.compile("[&<>\"']")
_MAX_WORD_CHARS = 100
_TABLE_RULE = re.compile(r"\|[\s:|-]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_LAST_HEADING = re.compile(r"(?:^|\n)(?:#{1,6} [^\n]*|[ \t]*(?:[-*+]|\d{1,3}[.)]))\s*\Z")


class WindowSlice(Protocol):
    """As much of a chunk as a window needs. Slices follow each other without a gap."""

    @property
    def seq(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def prefix(self) -> str: ...


@dataclass(frozen=True, slots=True)
class WindowSize:
    """At most `limit` characters, out of the hit and `reach` chunks on either side of it."""

    limit: int = MAX_WINDOW_CHARS
    reach: int = NEIGHBOUR_REACH


@dataclass(frozen=True, slots=True)
class TextWindow:
    """`text` is the text at `span` exactly. `truncated` says that the chunks held more."""

    first_seq: int
    last_seq: int
    span: Span
    text: str
    prefix: str
    truncated: bool

    @property
    def readable(self) -> str:
        """The text with the header of the table that it starts in."""
        return self.prefix + self.text


DEFAULT_WINDOW_SIZE = WindowSize()


@dataclass(frozen=True, slots=True)
class Snippet:
    """`text` is the text at `span`, exactly. `marks` are spans of the same text, inside it, and
    `terms` counts the different terms there."""

    span: Span
    text: str
    marks: tuple[Span, ...]
    terms: int

    @property
    def start(self) -> int:
        return self.span.start

    @property
    def end(self) -> int:
        return self.span.end

    @property
    def html(self) -> str:
        """HTML, escaped; matches in `mark`."""
        # Most texts have nothing to escape, and a snippet has a dozen pieces.
        return self.highlight("<mark>", "</mark>", escape if _MARKUP.search(self.text) else str)

    def highlight(
        self, before: str = "**", after: str = "**", spell: Callable[[str], str] = str
    ) -> str:
        """The snippet with signs around matches; `spell` writes the rest."""
        pieces: list[str] = []
        at, offset = 0, self.span.start
        for mark in self.marks:
            start, end = mark.start - offset, mark.end - offset
            pieces += (spell(self.text[at:start]), before, spell(self.text[start:end]), after)
            at = end
        return "".join((*pieces, spell(self.text[at:])))


def build_window(
    chunks: Sequence[WindowSlice],
    seq: int,
    size: WindowSize = DEFAULT_WINDOW_SIZE,
    focus: Span | None = None,
) -> TextWindow:
    """The window around the chunk with that `seq`, which is one of `chunks`.

    The hit comes first: it is kept whole if it fits, else from a little before `focus`, the match
    itself. What is left of the limit goes to both neighbours, more to one if the other needs less.
    """
    number = next(i for i, it in enumerate(chunks) if it.seq == seq)
    around = chunks[max(0, number - size.reach) : number + size.reach + 1]
    offset = around[0].start
    text = "".join(it.text for it in around)
    hit_start = chunks[number].start - offset
    hit = Span(hit_start, hit_start + len(chunks[number].text))
    wish = focus.start - offset if focus else hit.start
    kept = _fit_window(text, hit, wish, size.limit)
    inside = [it for it in around if _meets(it, offset, kept)] or [chunks[number]]
    return TextWindow(
        inside[0].seq,
        inside[-1].seq,
        Span(offset + kept.start, offset + kept.end),
        kept.of(text),
        inside[0].prefix,
        truncated=kept.size < len(text),
    )


def build_snippet(
    text: str, query: Query, language: str = "", *, limit: int = MAX_SNIPPET_CHARS
) -> Snippet:
    """At most `limit` characters, where most words of the query stand together.

    Without any of them, the beginning. It starts and ends between words where there are any.
    """
    found = _find_asked(text, query, language)
    core = _best_run(found, limit)
    span = trim_to_words(text, _whole_signs(text, _around(text, core, limit), core), core)
    inside = [it for it in found if span.start <= it.start and it.end <= span.end]
    terms = len({it.term for it in inside})
    return Snippet(span, span.of(text), tuple(_join_marks(inside)), terms)


def _find_asked(text: str, query: Query, language: str) -> list[TermToken]:
    """Where the words of the query stand, or their translations where more of those do."""
    found = [
        [
            TermToken(aliases.get(it.term, it.term), it.start, it.end)
            for it in find_terms(text, (*terms, *aliases), language)
        ]
        for terms, aliases in interpret_query(query, language)
    ]
    return max(found, key=lambda tokens: len({it.term for it in tokens}))


def _fit_window(text: str, hit: Span, wish: int, limit: int) -> Span:
    if len(text) <= limit:
        return Span(0, len(text))
    if hit.size > limit:
        start = max(hit.start, min(wish - limit // 4, hit.end - limit))
        return trim_to_words(text, Span(start, start + limit), Span(wish, wish))
    return trim_to_words(text, _around(text, hit, limit), hit)


def _meets(chunk: WindowSlice, offset: int, kept: Span) -> bool:
    start = chunk.start - offset
    return start < kept.end and start + len(chunk.text) > kept.start


def _best_run(found: Sequence[TermToken], limit: int) -> Span:
    """The first stretch of at most `limit` with the most different terms, then the most of all."""
    held: dict[str, int] = {}
    best, best_worth, first = (0, 0), (0, 0), 0
    for last, (term, _, end) in enumerate(found):
        held[term] = held.get(term, 0) + 1
        while end - found[first].start > limit and first < last:
            gone = found[first].term
            held[gone] -= 1
            if not held[gone]:
                del held[gone]
            first += 1
        worth = (len(held), last - first + 1)
        if worth > best_worth:
            start = found[first].start
            best, best_worth = (start, min(end, start + limit)), worth
    return Span(*best)


def _whole_signs(text: str, span: Span, core: Span) -> Span:
    """No accent without its letter at the start, and none left behind at the end."""
    start, end = span.start, span.end
    while start < core.start and _is_combining(text, start):
        start += 1
    while end > max(start, core.end) and end < len(text) and _is_combining(text, end):
        end -= 1
    return Span(start, end)


def _is_combining(text: str, at: int) -> bool:
    return bool(unicodedata.combining(text[at])) or text[at] in "\u200d\ufe0f"


def _join_marks(found: Sequence[TermToken]) -> list[Span]:
    """Marks that overlap or touch, as pairs of signs do, are one."""
    marks: list[Span] = []
    for it in found:
        if marks and it.start <= marks[-1].end:
            marks[-1] = Span(marks[-1].start, max(it.end, marks[-1].end))
        else:
            marks.append(Span(it.start, it.end))
    return marks


def _around(text: str, core: Span, limit: int) -> Span:
    """The core in the midst of as much as fits, more before or after where the text ends."""
    spare = max(0, limit - core.size)
    after = min(len(text) - core.end, spare - min(core.start, spare // 2))
    before = min(core.start, spare - after)
    return Span(core.start - before, core.end + after)


def trim_to_words(text: str, span: Span, core: Span) -> Span:
    """The span without the halves of words at its ends, as long as the core stays in it."""
    start, end = span.start, span.end
    if start and not text[start - 1].isspace():
        gap = _GAP.search(text, start, max(start, core.start))
        start = gap.end() if gap else start
    if end < len(text) and not text[end].isspace():
        gaps = list(_GAP.finditer(text, max(core.end, end - _MAX_WORD_CHARS), end))
        end = gaps[-1].start() if gaps else end
    return Span(start, end)


def trim_to_sentences(text: str, span: Span, kept: Span) -> Span:
    """The span from the start of a row, sentence or word to the end of one; it loses little."""
    little = span.size // 4
    start, end = _row_start(text, span.start), span.end
    if start == span.start > 0:
        first = _SENTENCE_END.search(text, start - 1, min(kept.start, start + little))
        start = first.end() if first else start
    if end < len(text):
        ends = list(_SENTENCE_END.finditer(text, max(kept.start + 1, end - little), end + 1))
        row = _row_start(text, end)
        end = row if kept.start < row < end else ends[-1].start() if ends else end
    return trim_to_words(text, Span(start, end), Span(min(kept.start, end), min(kept.start, end)))


def drop_last_headings(text: str, span: Span, kept: int) -> Span:
    """The span without headings and list markers at its end whose text is cut off; `kept` stays."""
    end = span.end
    while found := _LAST_HEADING.search(text, max(kept, span.start), end):
        end = found.start()
    return Span(span.start, end)


def _row_start(text: str, at: int) -> int:
    """The start of the row of a pipe table that a position is in; else the position."""
    start = text.rfind("\n", 0, at) + 1
    return start if text.startswith("|", start) else at


def find_table_header(text: str, at: int) -> str:
    """The header of the pipe table whose rows a position is among; empty if it is in none."""
    top = start = _row_start(text, at)
    while text.startswith("|", start):
        top = start
        if start == 0:
            break
        start = text.rfind("\n", 0, start - 1) + 1
    header = split_lines(text[top:at])[:2]
    is_table = len(header) == 2 and _TABLE_RULE.fullmatch(header[1].strip()) is not None
    return "".join(header) if is_table else ""
