"""Quotations: where a model's quoted words stand in a passage, and the whole sentence there. Pure.

A model only points: what is shown is the text of the file at that place. It is widened to whole
sentences, so that no words are shown without the "not" or "if" before them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pecia.kernel.corpus.search.hydrate import HydratedChunk
from pecia.kernel.text.span import Span
from pecia.kernel.tool.passages import Excerpt

MAX_QUOTED_CHARS = 2_000
"""What a model may quote at once."""
MAX_SENTENCE_CHARS = 800
"""A longer sentence is taken for a table or code: then lines are the limits."""


@dataclass(frozen=True, slots=True)
class QuotablePassage:
    """A passage that was found: what a model is shown, and what may be quoted from it."""

    chunk: HydratedChunk
    uri: str
    title: str
    where: str
    kind: str
    excerpts: tuple[Excerpt, ...]
    match: float | None = None


@dataclass(frozen=True, slots=True)
class FileQuotation:
    """Words of a file: `text` is its canonical text at `span`, in this revision. `header` is that
    of the table whose rows they are."""

    source_id: str
    key: str
    revision: int
    span: Span
    text: str
    passage: QuotablePassage
    header: str = ""

    @property
    def place(self) -> tuple[str, str, int, int]:
        return self.source_id, self.key, self.span.start, self.span.end


def locate_quotation(passage: QuotablePassage, words: str) -> FileQuotation | None:
    """The sentences in which these words stand; None where they do not stand there as they are.

    Only white space may differ.
    """
    pieces = words[: MAX_QUOTED_CHARS + 1].split()
    if not pieces or len(words) > MAX_QUOTED_CHARS:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, pieces)))
    for excerpt in passage.excerpts:
        for found in pattern.finditer(excerpt.text):
            span = Span(*found.span())
            if _stands_alone(excerpt.text, span):
                return quote(passage, excerpt, widen_to_sentences(excerpt.text, span))
    return None


def quote(passage: QuotablePassage, excerpt: Excerpt, span: Span) -> FileQuotation:
    """The quotation of a span of an excerpt, without white space around it."""
    text = span.of(excerpt.text)
    kept = text.strip()
    start = excerpt.start + span.start + len(text) - len(text.lstrip())
    it, header = passage.chunk, excerpt.prefix_at(start) if kept.startswith("|") else ""
    return FileQuotation(
        it.source_id, it.key, it.revision_id, Span(start, start + len(kept)), kept, passage, header
    )


def widen_to_sentences(text: str, span: Span) -> Span:
    """The span from the start of its first sentence to the end of its last.

    An item of a list comes with the line that introduces it: "Not covered are:" is part of what it
    says.
    """
    first = max((it for it in _breaks(text, _SENTENCE_BREAK) if it <= span.start), default=0)
    first = _find_introduction(text, first)
    last = min((it for it in _breaks(text, _SENTENCE_BREAK) if it >= span.end), default=len(text))
    if last - first <= max(MAX_SENTENCE_CHARS, 2 * span.size):
        return Span(first, last)
    first = max((it for it in _breaks(text, _LINE_BREAK) if it <= span.start), default=0)
    last = min((it for it in _breaks(text, _LINE_BREAK) if it >= span.end), default=len(text))
    return Span(first, last)


def deduplicate(quotations: Iterable[FileQuotation]) -> list[FileQuotation]:
    """Each place once, in order; one inside another is left out."""
    kept: list[FileQuotation] = []
    for it in quotations:
        if not any(_holds(other, it) for other in kept):
            kept = [other for other in kept if not _holds(it, other)]
            kept.append(it)
    return kept


def split_sentences(text: str) -> Sequence[Span]:
    """The sentences of a text, without gaps."""
    cuts = [0, *_breaks(text, _SENTENCE_BREAK), len(text)]
    return [Span(start, end) for start, end in pairwise(cuts) if start < end]


def split_statements(text: str) -> Sequence[Span]:
    """The same, with what a colon introduces joined to its introduction."""
    found: list[Span] = []
    for it in split_sentences(text):
        lead = _find_introduction(text, it.start)
        while found and found[-1].end > lead:
            found.pop()
        found.append(Span(min(lead, it.start), it.end))
    return found


def _find_introduction(text: str, start: int) -> int:
    """Where the line starts that introduces what starts there, and the items of a list before it;
    the same place where there is none."""
    at = start
    while at > 0:
        previous = max((it for it in _breaks(text[:at].rstrip(), _SENTENCE_BREAK)), default=0)
        if text[:at].rstrip().endswith((":", "：")):
            return previous
        if not (_ITEM.match(text, at) and _ITEM.match(text, previous)):
            break
        at = previous
    return start


def _holds(outer: FileQuotation, inner: FileQuotation) -> bool:
    return outer.place[:2] == inner.place[:2] and (
        outer.span.start <= inner.span.start and inner.span.end <= outer.span.end
    )


def _stands_alone(text: str, span: Span) -> bool:
    """Whether it neither starts nor ends within a word: "able" is not said by "unable"."""
    before, after = text[span.start - 1 : span.start], text[span.end : span.end + 1]
    starts_in = before.isalnum() and text[span.start].isalnum() and before.isascii()
    ends_in = after.isalnum() and text[span.end - 1].isalnum() and after.isascii()
    return not (starts_in or ends_in)


def _breaks(text: str, pattern: re.Pattern[str]) -> Iterator[int]:
    return (it.end() for it in pattern.finditer(text))


# A point after an initial or a number ends nothing for sure: then more is quoted, never less.
_SENTENCE_BREAK = re.compile(
    r"(?<![\s.][A-Za-z0-9])[.!?][\"')\]»”]*\s+(?=[^\sa-z])"
    r"|[。！？]\s*"
    r"|\n[ \t]*\n\s*"
    r"|\n(?=[ \t]*(?:[-*•+|#>]|\d+[.)])\s)"
)
_ITEM = re.compile(r"\s*(?:[-*•+]|\d+[.)])\s")
_LINE_BREAK = re.compile(r"\n+")
