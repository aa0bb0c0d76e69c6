"""Splits the text into retrieval chunks and single statements. Pure.

Chunks leave out nothing but white space between them, so the package contains every sentence and
every number of the source.
"""

from collections.abc import Iterator

from pecia.features.ckf.heuristic.candidate import ItemCandidate
from pecia.features.ckf.heuristic.cues.kind import CueKind
from pecia.features.ckf.heuristic.extract.rules import make_short_name
from pecia.features.ckf.heuristic.parse.blocks import BlockShape
from pecia.features.ckf.heuristic.parse.text import ParsedText, Sentence
from pecia.features.ckf.heuristic.rate import KindEstimate
from pecia.features.ckf.package.checks.source import extract_numbers
from pecia.kernel.errors import Json
from pecia.kernel.text.span import Span

# At this size the aim is few chunks, so they do not end at titles.
LARGE_CHARS = 3000


def extract_chunks(parsed: ParsedText, size: int) -> list[ItemCandidate]:
    """Whole sentences, about `size` characters per chunk, split at titles where possible."""
    found: list[ItemCandidate] = []
    run: list[Sentence] = []
    for line in parsed.lines:
        if run and _is_full(run, line, size):
            found += _chunks_of(parsed, run, size)
            run = []
        run.append(line)
    if run:
        found += _chunks_of(parsed, run, size)
    return found


def extract_statements(
    parsed: ParsedText, estimate: KindEstimate, *, every: bool
) -> Iterator[ItemCandidate]:
    """Sentences that state something, one item each; with `every`, all of them."""
    for line in parsed.lines:
        if not (line.is_statement or line.block.shape is BlockShape.ROW):
            continue
        home = estimate.home(line.span.start)
        if every or home != "none" or extract_numbers(line.text):
            tags: list[Json] = [it.value for it in _TAGS if it in line.kinds]
            fields: dict[str, Json] = {"statement": line.text, "type": _type(line, home)}
            if tags:
                fields["tags"] = tags
            yield ItemCandidate("atomic_units", line.text, fields, (line,))


def _is_full(run: list[Sentence], line: Sentence, size: int) -> bool:
    used = line.span.start - run[0].span.start
    if used + line.span.size > size:
        return True
    return line.title and used > size // 2 and size < LARGE_CHARS


def _chunks_of(parsed: ParsedText, run: list[Sentence], size: int) -> Iterator[ItemCandidate]:
    first = run[0]
    start = first.block.span.start if first.opens_block else first.span.start
    part = parsed.parts[first.part]
    title = part.title or make_short_name(first.text) or first.text
    for span in split_span(parsed.text, Span(start, run[-1].span.end), 2 * size):
        words = span.of(parsed.text)
        fields: dict[str, Json] = {"title": title, "compressed_knowledge": words}
        if len(run) > 1 and part.path and part.path != title:
            fields["standalone_context"] = part.path
        whole = Sentence(words, span, first.block, False, False, first.part)
        yield ItemCandidate("retrieval_chunks", f"{title} {words}", fields, (whole,))


def split_span(text: str, span: Span, size: int) -> Iterator[Span]:
    """The span, or its pieces split at white space if it is far too long.

    A run of characters that could be one number is never split.
    """
    start = span.start
    while span.end - start > size:
        cut = text.rfind(" ", start + size // 2, start + size)
        if cut < 0:
            cut = start + size
            while cut < span.end and is_numeric(text[cut - 1]) and is_numeric(text[cut]):
                cut += 1
        yield Span(start, cut)
        start = cut
        while start < span.end and text[start].isspace():
            start += 1
    if start < span.end:
        yield Span(start, span.end)


def is_numeric(char: str) -> bool:
    return char.isdecimal() or char in _JOINERS


def _type(line: Sentence, home: str) -> str:
    if home in _TYPE_BY_HOME:
        return _TYPE_BY_HOME[home]
    return "claim" if line.own & _CLAIMS else "fact"


_JOINERS = ".,:/-"
_CLAIMS = frozenset({CueKind.OPINION, CueKind.HEDGE})
_TYPE_BY_HOME = {
    "rule": "rule",
    "exception": "rule",
    "step": "rule",
    "definition": "definition",
}
_TAGS = (
    CueKind.EXCEPTION,
    CueKind.OVERRIDE,
    CueKind.SCOPE,
    CueKind.PRECONDITION,
    CueKind.SEQUENCE,
    CueKind.TEMPORAL,
    CueKind.PROHIBITION,
)
