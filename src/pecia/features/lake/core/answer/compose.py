"""An answer out of quotations: a model's sentences that are borne out, or the passages alone. Pure.

Nothing is shown that no quotation supports. What a model said beyond its quotations is replaced by
them, and what it quoted wrongly is left out; both are counted.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pecia.features.lake.core.answer.prompt import ClaimedSentence
from pecia.features.lake.core.answer.quotation import (
    FileQuotation,
    QuotablePassage,
    deduplicate,
    locate_quotation,
    quote,
    split_sentences,
)
from pecia.features.lake.core.answer.support import is_borne_out
from pecia.kernel.text.markdown.frontmatter import find_body_start
from pecia.kernel.text.span import Span
from pecia.kernel.tool.passages import Excerpt

MAX_PASSAGES = 6
MAX_PASSAGE_CHARS = 900
# Rows around the one that matched say little.
MAX_TABLE_CHARS = 400
# A passage that answers stands out by its match; where none does, the nearest are alike. Chosen on
# questions with and without the text that answers them: ADR 470 has the curve.
MIN_LEAD = 0.16
LEAD_OVER = 5
# The match of a text on the subject that does not answer, where fewer were found.
USUAL_MATCH = 0.2
MAX_UNSURE_PASSAGES = 3
# Without a model, passages behind the likeliest that are less likely than this share of it are not
# shown.
MIN_MATCH_SHARE = 0.5
# A dump of numbers has a word here and there; none that was asked for makes it evidence.
MAX_NUMBERS_PER_WORD = 5
_WORD = re.compile(r"[^\W\d_]{2,}|[\u3040-\u9fff]")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class SupportedSentence:
    """A sentence with its quotations. Empty where only they are shown."""

    text: str
    quotations: tuple[FileQuotation, ...]


@dataclass(frozen=True, slots=True)
class CheckedReply:
    """What holds of a model's answer. `dropped` sentences had no quotation that holds;
    `reworded` said more than theirs, which are shown instead."""

    sentences: tuple[SupportedSentence, ...]
    dropped: int = 0
    reworded: int = 0


def check_reply(
    claimed: Sequence[ClaimedSentence], passages: Sequence[QuotablePassage]
) -> CheckedReply:
    """The sentences that their quotations bear out."""
    sentences: list[SupportedSentence] = []
    dropped = reworded = 0
    for it in claimed:
        found = deduplicate(_locate(it, passages))
        if not found:
            dropped += 1
        elif _says_no_more(it.text, found):
            sentences.append(SupportedSentence(it.text, tuple(found)))
        else:
            reworded += 1
            sentences.append(SupportedSentence("", tuple(found)))
    return CheckedReply(tuple(_drop_repeated(sentences)), dropped, reworded)


def keep_verified(
    sentences: Sequence[SupportedSentence], verified: Sequence[FileQuotation]
) -> list[SupportedSentence]:
    """The sentences of which every quotation was verified."""
    held = {it.place for it in verified}
    return [it for it in sentences if all(quoted.place in held for quoted in it.quotations)]


def stands_out(passages: Sequence[QuotablePassage]) -> bool:
    """Whether the likeliest passage is much likelier than the fifth."""
    matches = sorted((it.match or 0.0 for it in passages), reverse=True)
    if not matches:
        return False
    other = matches[LEAD_OVER - 1] if len(matches) >= LEAD_OVER else USUAL_MATCH
    return matches[0] - other >= MIN_LEAD


def select_passages(
    passages: Sequence[QuotablePassage], *, is_unsure: bool = False
) -> list[FileQuotation]:
    """The likeliest passages, verbatim, those of one file together, the best file first. Fewer
    where none is said to answer."""
    most = MAX_UNSURE_PASSAGES if is_unsure else MAX_PASSAGES
    shown = [
        (it, excerpt)
        for it in _select_likely(passages)[:most]
        for excerpt in it.excerpts[:1]
        if _has_words(excerpt)
    ]
    # Frontmatter tells what a text is about, and is quoted where no text answers.
    texts = [(it, excerpt) for it, excerpt in shown if _matched_in_text(excerpt)] or shown
    quoted = [_quote_around_match(it, excerpt) for it, excerpt in texts]
    files = [*dict.fromkeys(it.place[:2] for it in quoted)]
    return sorted(quoted, key=lambda it: files.index(it.place[:2]))


def _select_likely(passages: Sequence[QuotablePassage]) -> list[QuotablePassage]:
    """Those that rank as high as the likeliest, and of the others those that are likely too.

    Rank knows more than the match where languages differ: a text in that of the question, with
    few of its words, comes before the likelier one in another.
    """
    best = max((it.match or 0.0 for it in passages), default=0.0)
    first = next((at for at, it in enumerate(passages) if it.match == best), 0)
    return [
        it
        for at, it in enumerate(passages)
        if at <= first or it.match is None or it.match >= best * MIN_MATCH_SHARE
    ]


def _has_words(excerpt: Excerpt) -> bool:
    """Whether what ranked is more than numbers. The header of a table says what its numbers are."""
    core = _within(excerpt, excerpt.core).of(excerpt.text)
    words = len(_WORD.findall(excerpt.prefix_at(excerpt.core.start) + core))
    return words > 0 and (
        bool(excerpt.marks) or words * MAX_NUMBERS_PER_WORD >= len(_NUMBER.findall(core))
    )


def _locate(
    claimed: ClaimedSentence, passages: Sequence[QuotablePassage]
) -> Iterator[FileQuotation]:
    for it in claimed.quotes:
        if 1 <= it.passage <= len(passages):
            found = locate_quotation(passages[it.passage - 1], it.words)
            if found is not None:
                yield found


def _says_no_more(text: str, quotations: Sequence[FileQuotation]) -> bool:
    languages = [it.passage.chunk.language for it in quotations]
    return is_borne_out(text, [it.text for it in quotations], languages)


def _drop_repeated(sentences: Sequence[SupportedSentence]) -> Iterator[SupportedSentence]:
    """Without quotations alone that another sentence shows."""
    shown = {it.place for sentence in sentences if sentence.text for it in sentence.quotations}
    for it in sentences:
        if it.text or any(quoted.place not in shown for quoted in it.quotations):
            shown |= {quoted.place for quoted in it.quotations}
            yield it


def _quote_around_match(passage: QuotablePassage, excerpt: Excerpt) -> FileQuotation:
    """Whole sentences around what matched, in the chunk that was found, as many as fit."""
    core = _within(excerpt, excerpt.core)
    if _matched_in_text(excerpt):
        core = Span(min(max(core.start, _body_start(excerpt)), core.end), core.end)
    is_table = excerpt.text.startswith("|", core.start)
    limit = MAX_TABLE_CHARS if is_table else MAX_PASSAGE_CHARS
    if core.size <= limit:
        return quote(passage, excerpt, core)
    sentences = [
        it for it in split_sentences(excerpt.text) if it.end > core.start and it.start < core.end
    ]
    first = last = _best_row(excerpt, sentences) if is_table else _first_touched(excerpt, sentences)
    while True:
        # What follows first: answers follow.
        if last + 1 < len(sentences) and _fits(sentences[first], sentences[last + 1], limit):
            last += 1
        elif first > 0 and _fits(sentences[first - 1], sentences[last], limit):
            first -= 1
        else:
            break
    return quote(passage, excerpt, Span(sentences[first].start, sentences[last].end))


def _first_touched(excerpt: Excerpt, sentences: Sequence[Span]) -> int:
    """The first sentence with words that matched."""
    focus = _within(excerpt, excerpt.focus)
    touched = (
        number
        for number, it in enumerate(sentences)
        if it.end > focus.start and it.start < max(focus.end, focus.start + 1)
    )
    return next(touched, 0)


def _best_row(excerpt: Excerpt, rows: Sequence[Span]) -> int:
    """The first of the rows with most words that matched."""
    marks = [_within(excerpt, it).start for it in excerpt.marks]
    held = [sum(it.start <= mark < it.end for mark in marks) for it in rows]
    return held.index(max(held))


def _matched_in_text(excerpt: Excerpt) -> bool:
    """Whether the body has as many words of the question as the frontmatter above it."""
    return _within(excerpt, excerpt.focus).start >= _body_start(excerpt)


def _body_start(excerpt: Excerpt) -> int:
    return find_body_start(excerpt.text) if excerpt.start == 0 else 0


def _fits(first: Span, last: Span, limit: int) -> bool:
    return last.end - first.start <= limit


def _within(excerpt: Excerpt, span: Span) -> Span:
    size = len(excerpt.text)
    start = min(max(span.start - excerpt.start, 0), size)
    return Span(start, min(max(span.end - excerpt.start, start), size))
