"""The piece of a text that shows why it was found: a slice, with slices of it marked. Pure."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from pecia.kernel.corpus.keyword.analysis.tokenizer import TermToken, find_terms, tokenize_query
from pecia.kernel.corpus.keyword.query.parser import Query
from pecia.kernel.text.chunks.window import trim_to_words
from pecia.kernel.text.span import Span

MAX_SNIPPET_CHARS = 300


@dataclass(frozen=True, slots=True)
class Snippet:
    """`text` is the text at `span`, exactly. `marks` are spans of the same text, inside it."""

    span: Span
    text: str
    marks: tuple[Span, ...]

    @property
    def start(self) -> int:
        return self.span.start

    @property
    def end(self) -> int:
        return self.span.end

    @property
    def html(self) -> str:
        """HTML, escaped; matches in `mark`."""
        return self.highlight("<mark>", "</mark>", escape)

    def highlight(
        self, before: str = "**", after: str = "**", spell: Callable[[str], str] = str
    ) -> str:
        """The snippet with signs around matches; `spell` writes the rest."""
        pieces: list[str] = []
        at = self.start
        for mark in self.marks:
            pieces += (spell(self._between(at, mark.start)), before)
            pieces += (spell(self._between(mark.start, mark.end)), after)
            at = mark.end
        return "".join((*pieces, spell(self._between(at, self.end))))

    def _between(self, start: int, end: int) -> str:
        return self.text[start - self.start : end - self.start]


def build_snippet(
    text: str, query: Query, language: str = "", *, limit: int = MAX_SNIPPET_CHARS
) -> Snippet:
    """At most `limit` characters, where most words of the query stand together.

    Without any of them, the beginning. It starts and ends between words where there are any.
    """
    found = find_terms(text, tokenize_query(query, language), language)
    core = _best_run(found, limit)
    span = trim_to_words(text, _whole_signs(text, _around(text, core, limit), core), core)
    inside = [it for it in found if span.start <= it.start and it.end <= span.end]
    return Snippet(span, span.of(text), tuple(_joined(inside)))


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


def _around(text: str, core: Span, limit: int) -> Span:
    """The core in the midst of as much as fits, more before or after where the text ends."""
    spare = max(0, limit - core.size)
    after = min(len(text) - core.end, spare - min(core.start, spare // 2))
    before = min(core.start, spare - after)
    return Span(core.start - before, core.end + after)


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


def _joined(found: Sequence[TermToken]) -> list[Span]:
    """Marks that overlap or touch, as pairs of signs do, are one."""
    marks: list[Span] = []
    for it in found:
        if marks and it.start <= marks[-1].end:
            marks[-1] = Span(marks[-1].start, max(it.end, marks[-1].end))
        else:
            marks.append(Span(it.start, it.end))
    return marks
