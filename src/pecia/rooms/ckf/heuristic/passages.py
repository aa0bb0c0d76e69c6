"""The text itself, cut into chunks that can be found and into single statements. Pure.

Chunks are slices that leave nothing out but white space between them, so every sentence and every
number of the source is in the package whole.
"""

from collections.abc import Iterator

from pecia.kernel.errors import Json
from pecia.kernel.text.span import Span
from pecia.rooms.ckf.heuristic.blocks import Shape
from pecia.rooms.ckf.heuristic.candidate import Candidate
from pecia.rooms.ckf.heuristic.cues.kind import Kind
from pecia.rooms.ckf.heuristic.reading import Line, Reading
from pecia.rooms.ckf.heuristic.rules import short_name
from pecia.rooms.ckf.package.check_source import number_tokens

# Chunks of this size are made to be few, so they do not end at titles.
LARGE = 3000


def chunks(reading: Reading, size: int) -> list[Candidate]:
    """Runs of whole sentences of about `size` characters, cut at titles where they can be."""
    found: list[Candidate] = []
    run: list[Line] = []
    for line in reading.lines:
        if run and _is_full(run, line, size):
            found += _chunks_of(reading, run, size)
            run = []
        run.append(line)
    if run:
        found += _chunks_of(reading, run, size)
    return found


def statements(reading: Reading, *, every: bool) -> Iterator[Candidate]:
    """Sentences that carry a cue or a number, or all of them, each as one unit."""
    for line in reading.lines:
        if not (line.tells or line.block.shape is Shape.ROW):
            continue
        if every or line.own or number_tokens(line.text):
            tags: list[Json] = [it.value for it in _TAGS if it in line.kinds]
            fields: dict[str, Json] = {"statement": line.text, "type": _type(line)}
            if tags:
                fields["tags"] = tags
            yield Candidate("atomic_units", line.text, fields, (line,))


def _is_full(run: list[Line], line: Line, size: int) -> bool:
    used = line.span.start - run[0].span.start
    if used + line.span.size > size:
        return True
    return line.title and used > size // 2 and size < LARGE


def _chunks_of(reading: Reading, run: list[Line], size: int) -> Iterator[Candidate]:
    first = run[0]
    start = first.block.span.start if first.opens_block else first.span.start
    part = reading.parts[first.part]
    title = part.title or short_name(first.text) or first.text
    for span in pieces(reading.text, Span(start, run[-1].span.end), 2 * size):
        words = span.of(reading.text)
        fields: dict[str, Json] = {"title": title, "compressed_knowledge": words}
        if len(run) > 1 and part.path and part.path != title:
            fields["standalone_context"] = part.path
        whole = Line(words, span, first.block, False, False, first.part)
        yield Candidate("retrieval_chunks", f"{title} {words}", fields, (whole,))


def pieces(text: str, span: Span, size: int) -> Iterator[Span]:
    """The span itself, or, where it is far too long, pieces cut at white space.

    A run of characters that could be one number is never cut, however long it is.
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


def _type(line: Line) -> str:
    for kinds, name in _TYPES:
        if not line.own.isdisjoint(kinds):
            return name
    return "fact"


_JOINERS = ".,:/-"
_TYPES = (
    ({Kind.OPINION, Kind.HEDGE}, "claim"),
    (
        {
            Kind.OBLIGATION,
            Kind.PROHIBITION,
            Kind.EXCEPTION,
            Kind.OVERRIDE,
            Kind.CONDITION,
            Kind.PRECONDITION,
            Kind.PERMISSION,
        },
        "rule",
    ),
    ({Kind.ADVICE}, "heuristic"),
    ({Kind.DEFINITION}, "definition"),
)
_TAGS = (
    Kind.EXCEPTION,
    Kind.OVERRIDE,
    Kind.SCOPE,
    Kind.PRECONDITION,
    Kind.SEQUENCE,
    Kind.TEMPORAL,
    Kind.PROHIBITION,
)
